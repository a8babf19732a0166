"""`sosdp verify`: an exact verdict on a certificate file, by the checker that knows nothing of the rest of
sosdp.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections import Counter
from typing import Any

from sosdp.cli.emit import emit, wanted
from sosdp.cli.output import InputError, brief, one_line, warn

COLOURS = {"valid": "bold green", "invalid": "bold red", "unreadable": "bold yellow"}


def run(arguments: Namespace) -> int:
    """Print the claim in words and `valid`, or the first thing that fails; exit 0 valid, 1 invalid, 2
    unreadable.

    A valid proof is also written as LaTeX or Lean where asked for. On a terminal in colour (unless NO_COLOR
    is set), with a line on what the proof is made of; elsewhere two plain lines.
    """
    from certificates.check import LONGEST, Verdict, check_certificate
    from certificates.kernel import Malformed, load

    targets, file, content, problem = wanted(arguments), arguments.file, None, None
    try:
        content = load(file)
        problem = load(arguments.against, problem=True) if arguments.against else None
        longest = 10**9 if arguments.full else LONGEST
        verdict = check_certificate(content, problem, longest=longest)
    except (Malformed, MemoryError) as error:
        verdict = Verdict("unreadable", "", str(error))
    if verdict and targets:
        for option, why_not in emit(loaded(file, content, problem), targets).items():
            warn(f"{targets[option]}: not written: {why_not}")
    if verdict and arguments.kernel:
        print(f"kernel: {replayed(file, content, problem).lstrip()}")
    if verdict and arguments.agda:
        accepted, said = agda(file, content, problem)
        print(f"agda: {'accepted' if accepted else f'refused: {said}'}")
        if not accepted:
            return 1
    if sys.stdout.isatty():
        show(verdict, content, arguments.against)
        return verdict.exit_code
    if verdict.claim:
        print(f"claim: {verdict.claim}")
    if verdict.status == "unreadable":
        # the checker names the file only where the file itself is at fault
        reason = verdict.reason
        named = reason.startswith((file, arguments.against or file))
        line = f"unreadable: {reason}" if named else f"unreadable: {file}: {reason}"
        warn(brief(" ".join(line.split())))
    else:
        print(verdict)
    return verdict.exit_code


def loaded(file: str, content: Any, problem: Any = None) -> Any:
    """The proof in a valid certificate, of the problem's own statement where one is given and is polynomial;
    InputError where it is one that only the checker can hold."""
    from certificates.proof import WordProof
    from certificates.read import from_dict
    from certificates.restate import NotRestated, restated
    from sosdp.model.problem_file import load_problem

    try:
        proof = from_dict(content)
        if problem is None or isinstance(proof, WordProof):
            return proof
        return restated(proof, load_problem(problem))
    except NotRestated as error:
        warn(f"{file}: stated as the certificate does, not as the problem: {error}")
        return proof
    except ValueError as error:
        raise InputError(f"{file}: {one_line(error)}") from error


def replayed(file: str, content: Any, problem: Any) -> str:
    """What the kernel proves from a valid certificate, stated from the problem where one is given.

    Raises InputError where it has no rules for the claim.
    """
    from certificates.as_problem import replay
    from certificates.checker.words import FORMAT
    from certificates.kernel import NotProven
    from certificates.kernel_words import replay as replay_words

    try:
        return replay_words(content) if content["format"] == FORMAT else replay(content, problem).show()
    except NotProven as error:
        raise InputError(f"{file}: --kernel: {error}") from None


def agda(file: str, content: Any, problem: Any = None) -> tuple[bool, str]:
    """Whether Agda accepts a valid certificate (its theorem stated from the problem, where one is given), and
    what it says otherwise.

    Raises InputError where the claim has no Agda form, or Agda is not installed.
    """
    from certificates.agda import AgdaMissing, accepts, prepare
    from certificates.identity import NoForm
    from certificates.proof import WordProof
    from certificates.write.agda import proof_agda

    proof = loaded(file, content, problem)
    if isinstance(proof, WordProof):
        raise InputError(f"{file}: --agda: a proof about operators has no such form")
    try:
        source = proof_agda(proof)
        with tempfile.TemporaryDirectory() as folder:
            return accepts(source, prepare(folder))
    except (NoForm, AgdaMissing) as error:
        raise InputError(f"{file}: --agda: {error}") from None


def show(verdict: Any, content: Any, against: str | None, console: Any = None) -> None:
    """The verdict in colour, with what was compared and what the proof consists of."""
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False) if console is None else console
    if verdict.claim:
        out.print(Text("claim  ", style="bold") + Text(verdict.claim))
    if verdict.status != "unreadable":
        out.print(Text("proof  ", style="bold") + Text(ingredients(content), style="dim"))
    if against is not None and verdict:
        out.print(Text("about  ", style="bold") + Text(f"the problem in {against}", style="dim"))
    out.print(Text(str(verdict), style=COLOURS[verdict.status]))


def ingredients(content: Any) -> str:
    """What a readable certificate is made of: multipliers by kind, sides, longest numeral."""
    from certificates.checker.words import FORMAT
    from certificates.checker.words import ingredients as lines_of

    if content.get("format") == FORMAT:
        return lines_of(content)
    multipliers = content["multipliers"]
    if "functional" in content:
        return f"a functional with {len(content['functional'])} values"
    kinds = Counter(block["kind"] for block in multipliers)
    counted = ", ".join(f"{count} x {kind.replace('_', ' in ', 1)}" for kind, count in kinds.items())
    sides = [len(block["gram"]) for block in multipliers if "gram" in block]
    digits = max(
        (len(entry) for block in multipliers for row in block.get("gram", []) for entry in row), default=0
    )
    matrices = f"; Gram matrices up to side {max(sides)}, numbers up to {digits} characters" if sides else ""
    return f"{counted or 'nothing to add'}{matrices}"
