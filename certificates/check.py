"""Check a sum-of-squares certificate exactly, trusting neither a solver nor the rest of this project.

    python -m certificates.check FILE [--against PROBLEM.sos.json]

A certificate states a claim about polynomials and gives multipliers.  What they prove the kernel says
(`certificates.kernel`), which states the claim; this file reads strictly, limits work, and adds what the
kernel has no rules for: points where a bound is attained, and claims that no certificate exists, which a
functional shows.  There is no tolerance anywhere.  The schema and the arguments are described in
docs/certificates.md and docs/proofs/certificate_claims.md.

Standard library only.  Every input, however hostile, ends in one of three verdicts: ``valid``, ``invalid`` or
``unreadable``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import certificates.kernel as kernel
from certificates.against import PROBLEM_FORMAT, compare
from certificates.as_problem import problem_of
from certificates.checker.points import attained, determined, point_of
from certificates.checker.words import FORMAT as WORDS
from certificates.checker.words import sentence as sentence_of_words
from certificates.kernel import Malformed, NotProven
from certificates.kernel_words import replay as replay_words
from certificates.refute import separates

FORMAT, RESULT_FORMAT = "sosdp-certificate/1", "sosdp-result/1"
WORK = 20_000_000  # steps of about a microsecond
LONGEST = 20_000  # characters of a sentence that is printed without being asked for


@dataclass(frozen=True)
class Verdict:
    """Outcome of a check: `status` is "valid", "invalid" or "unreadable"; truth value: valid."""

    status: str
    claim: str
    reason: str

    def __bool__(self) -> bool:
        return self.status == "valid"

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 unreadable."""
        return {"valid": 0, "invalid": 1}.get(self.status, 2)

    def __str__(self) -> str:
        return self.status if self.status == "valid" else f"{self.status}: {self.reason}"


def digest(certificate: dict) -> str:
    """SHA-256 of the certificate without its "digest", in canonical JSON (sorted keys, ASCII, no spaces)."""
    body = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def check_certificate(
    certificate: Any, against: Any = None, work: int = WORK, longest: int = LONGEST
) -> Verdict:
    """Verdict on a certificate given as the object its JSON file holds.

    `against`: the object of a problem file; the claim must then be about that problem.  `longest`: characters
    up to which the claim is printed in words (all of it, or none of it).  Never raises for what JSON holds.
    Cost: reading it, one elimination of every Gram matrix, and the products of the identity.
    """
    said: list[str] = []
    try:
        with kernel.within(work):
            certificate, against = kernel.shaped(certificate), kernel.shaped(against)
            operators = isinstance(certificate, dict) and certificate.get("format") == WORDS
            (_operators if operators else _polynomials)(certificate, against, said)
        if "digest" in certificate and certificate["digest"] != digest(certificate):
            raise NotProven("the file was changed after it was written: its digest does not match")
        status, reason = "valid", ""
    except NotProven as error:
        status, reason = "unreadable" if isinstance(error, Malformed) else "invalid", str(error)
    except (RecursionError, MemoryError, ImportError) as error:  # no numpy, where the engine states a problem
        status, reason = "unreadable", f"{type(error).__name__}: {str(error)[:200]}"
    words = "".join(said)
    if len(words) > longest:
        words = (
            f"(not printed here, because it is {len(words)} characters long and no part of it may be left "
            "out: --full prints it)"
        )
    return Verdict(status, words, reason)


def _polynomials(content: Any, against: Any, said: list[str]) -> None:
    """Raise NotProven unless a certificate proves its claim; the claim in words is appended."""
    if other := another_file(content):
        raise Malformed(other)
    certificate = kernel.certified(content)
    kernel.shaped(content.get("format"), {FORMAT}, "certificate.format")
    goal = kernel.state(problem_of(certificate), certificate.claim["unknowns"])
    said.append(sentence(certificate, goal))
    if certificate.claim["kind"] == "no_certificate":
        separates(goal, certificate)
    else:
        kernel.replay(goal, certificate)
    if "attained_at" in certificate.claim:
        attained(certificate)
    if "unique" in certificate.claim:
        determined(certificate)
    if against is not None:
        compare(certificate, goal, against)


def another_file(content: Any) -> str:
    """What a JSON object is when it is no certificate but a file that people take for one; "" otherwise."""
    if not isinstance(content, dict) or "claim" in content:
        return ""
    if content.get("format") == RESULT_FORMAT:
        return (
            "this is a result of 'sosdp solve --json', not a certificate: give 'sosdp solve' "
            "--certificate CERT.json as well, and check that file"
        )
    questions = {"minimize", "maximize", "feasible", "sos", "subject_to"}
    if content.get("format") == PROBLEM_FORMAT or ("format" not in content and questions & content.keys()):
        return (
            "this is a problem file, not a certificate: "
            "'sosdp solve PROBLEM.sos.json --certificate CERT.json' makes one, and "
            "'sosdp verify CERT.json --against PROBLEM.sos.json' checks it"
        )
    return ""


def sentence(certificate: kernel.Certificate, goal: kernel.Goal) -> str:
    """The claim in words: what the kernel says, and what is beyond it."""
    claim, kind = certificate.claim, certificate.claim["kind"]
    bound = claim["bound"] if kind in ("lower_bound", "upper_bound") else "0"
    text = goal.show(None if kind == "infeasible" else kernel.number(bound))
    constrained = bool(goal.parts[0][2])
    polynomials = " and ".join(said for said, _, _ in goal.parts)
    if kind == "no_certificate" and constrained:
        matrices = bool(claim.get("psd"))
        rows = "; row e of a matrix G meets monomials b with 2 deg b + deg G_ee at most that" * matrices
        degree = f"degree {claim['degree']} (without products of constraints{rows})"
        return f'there is no sum-of-squares certificate of {degree} that says "{text}"'
    if kind == "no_certificate":
        return f"{polynomials} is not a sum of squares of polynomials"
    if kind == "sos" and constrained:
        return f"{text}, by a sum-of-squares certificate"
    if kind == "sos":
        are = "is a sum" if len(goal.parts) == 1 else "are sums"
        return f"{polynomials} {are} of squares of polynomials"
    if "attained_at" in claim:
        values = [f"{name} = {v}" for name, v in point_of(certificate).items()]
        single = ", with" if goal.about == "real points" else "; among single points with"
        text += f"{single} equality at {', '.join(values)}" + " and nowhere else" * ("unique" in claim)
    return text


def _operators(certificate: dict, against: Any, said: list[str]) -> None:
    """The same for a certificate about operators, by the kernel of words."""
    replay_words(certificate)
    said.append(sentence_of_words(certificate["claim"]))  # names are names once the kernel has read them
    if against is not None:
        from certificates.find.word_claims import differs  # the engine states the problem

        try:
            other = differs(certificate["claim"], against)
        except ValueError as error:  # of the file, or of a level
            raise Malformed(f"problem: {error}") from None
        kernel.need(not other, f"the claim is not about that problem: {other}")


def check_file(
    path: str | os.PathLike[str],
    against: str | os.PathLike[str] | None = None,
    work: int = WORK,
    max_bytes: int = kernel.BYTES,
    longest: int = LONGEST,
) -> Verdict:
    """Verdict on the certificate file `path`; with `against`, also that it is about that problem file."""
    try:
        certificate = kernel.load(os.fspath(path), max_bytes)
        problem = None if against is None else kernel.load(os.fspath(against), max_bytes, problem=True)
    except (Malformed, MemoryError) as error:
        return Verdict("unreadable", "", str(error))
    return check_certificate(certificate, problem, work, longest)


def main(arguments: list[str] | None = None) -> int:
    """Command line: prints the claim in words and the verdict; returns 0 valid, 1 invalid, 2 unreadable."""
    parser = argparse.ArgumentParser(
        "python -m certificates.check", description="Check a certificate exactly."
    )
    option, default = parser.add_argument, "(default %(default)s)"
    option("file", help="certificate file (sosdp-certificate/1)")
    option("--against", metavar="PROBLEM", help="also check that the claim is about this problem file")
    option("--work", type=int, default=WORK, help=f"elementary steps to spend {default}")
    option("--max-bytes", type=int, default=kernel.BYTES, help=f"largest file {default}")
    option("--full", action="store_true", help="print the claim however long it is")
    given = parser.parse_args(arguments)
    longest = 10**9 if given.full else LONGEST
    verdict = check_file(given.file, given.against, given.work, given.max_bytes, longest)
    for line in ([f"claim: {verdict.claim}"] if verdict.claim else []) + [str(verdict)]:
        print(line.encode("ascii", "backslashreplace").decode("ascii"))
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
