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
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.against import compare
from certificates.checker.points import attained, determined
from certificates.checker.reading import (
    MAX_BYTES,
    WORK,
    Invalid,
    Meter,
    Unreadable,
    another_file,
    load_json,
    show_number,
)
from certificates.checker.stated import Stated, read
from certificates.checker.words import FORMAT as WORDS
from certificates.checker.words import check as check_words
from certificates.checker.words import sentence as sentence_of_words
from certificates.into_kernel import problem_of, values_of
from certificates.kernel_words import NotProven
from certificates.refute import separates

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


_MALFORMED = (
    *(RecursionError, MemoryError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError),
    ImportError,  # no numpy, for problems that the engine states
)


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
    up to which the claim is printed in words (all of it, or none of it).  Never raises for
    any input made of JSON types.  Cost: about that of reading the file, plus one elimination of every Gram
    matrix and the products of the identity.
    """
    said: list[str] = []
    try:
        certificate, against = kernel.plain(certificate), kernel.plain(against)
        operators = isinstance(certificate, dict) and certificate.get("format") == WORDS
        (_operators if operators else _polynomials)(certificate, against, Meter(work), said)
        if "digest" in certificate and certificate["digest"] != digest(certificate):
            raise Invalid("the file was changed after it was written: its digest does not match")
        status, reason = "valid", ""
    except Invalid as error:
        status, reason = "invalid", str(error)
    except Unreadable as error:
        status, reason = "unreadable", str(error)
    except _MALFORMED as error:
        status, reason = "unreadable", f"{type(error).__name__}: {str(error)[:200]}"
    words = "".join(said)
    if len(words) > longest:
        words = (
            f"(not printed here, because it is {len(words)} characters long and no part of it may be left "
            "out: --full prints it)"
        )
    return Verdict(status, words, reason)


def _polynomials(certificate: Any, against: Any, meter: Meter, said: list[str]) -> None:
    """Raise Invalid or Unreadable unless a certificate proves its claim; the claim in words is appended."""
    claim, blocks, names, functional = read(certificate, meter)
    try:
        goal = kernel.state(problem_of(certificate), values_of(certificate))
    except kernel.NotProven as error:
        raise Unreadable(f"the claim is no statement: {error}") from None
    said.append(sentence(claim, goal, names))
    if claim.kind == "no_certificate":
        separates(goal, claim.degree, names, functional, meter)
    else:
        with meter.kernel():
            kernel.replay(goal, certificate)
    if claim.attained_at is not None:
        attained(claim, meter)
    if claim.unique:
        determined(claim, blocks, names, meter)
    if against is not None:
        compare(certificate, goal, against)


def sentence(claim: Stated, goal: kernel.Goal, names: list[str]) -> str:
    """The claim in words: what the kernel says, and what is beyond it."""
    bounded = claim.kind in ("lower_bound", "upper_bound")
    text = goal.show(
        None if claim.kind == "infeasible" else Fraction(*claim.bound) if bounded else Fraction(0)
    )
    constrained = bool(goal.parts[0][2])
    polynomials = " and ".join(said for said, _, _ in goal.parts)
    if claim.kind == "no_certificate" and constrained:
        rows = "; row e of a matrix G meets monomials b with 2 deg b + deg G_ee at most that" * bool(
            claim.psd
        )
        degree = f"degree {claim.degree} (without products of constraints{rows})"
        return f'there is no sum-of-squares certificate of {degree} that says "{text}"'
    if claim.kind == "no_certificate":
        return f"{polynomials} is not a sum of squares of polynomials"
    if claim.kind == "sos" and constrained:
        return f"{text}, by a sum-of-squares certificate"
    if claim.kind == "sos":
        are = "is a sum" if len(goal.parts) == 1 else "are sums"
        return f"{polynomials} {are} of squares of polynomials"
    if claim.attained_at is not None:
        values = [f"{name} = {show_number(*v)}" for name, v in zip(names, claim.attained_at, strict=True)]
        single = ", with" if goal.about == "real points" else "; among single points with"
        text += f"{single} equality at {', '.join(values)}" + " and nowhere else" * claim.unique
    return text


def _operators(certificate: dict, against: Any, meter: Meter, said: list[str]) -> None:
    """The same for a certificate about operators, by the kernel of words, which counts its own work."""
    try:
        check_words(certificate)
    except NotProven as error:
        raise Invalid(str(error)) from None
    said.append(sentence_of_words(certificate["claim"]))  # names are names once the kernel has read them
    if against is not None:
        from certificates.find.word_claims import differs  # the engine states the problem

        if other := differs(certificate["claim"], against):
            raise Invalid(f"the claim is not about that problem: {other}")


def _read_as_another(path: str | os.PathLike[str], max_bytes: int) -> str:
    """What a file is that cannot be a certificate; "" if it is nothing known."""
    try:
        return another_file(load_json(os.fspath(path), False, max_bytes))
    except (Unreadable, MemoryError):
        return ""


def check_file(
    path: str | os.PathLike[str],
    against: str | os.PathLike[str] | None = None,
    work: int = WORK,
    max_bytes: int = MAX_BYTES,
    longest: int = LONGEST,
) -> Verdict:
    """Verdict on the certificate file `path`; with `against`, also that it is about that problem file."""
    try:
        certificate = load_json(os.fspath(path), True, max_bytes)
    except (Unreadable, MemoryError) as error:
        # other files may have decimals, which no certificate has
        return Verdict("unreadable", "", f"{os.fspath(path)}: {_read_as_another(path, max_bytes) or error}")
    try:
        problem = None if against is None else load_json(os.fspath(against), False, max_bytes)
    except (Unreadable, MemoryError) as error:
        return Verdict("unreadable", "", f"{against}: {error}")
    return check_certificate(certificate, problem, work, longest)


def main(arguments: list[str] | None = None) -> int:
    """Command line: prints the claim in words and the verdict; returns 0 valid, 1 invalid, 2 unreadable."""
    parser = argparse.ArgumentParser(
        prog="python -m certificates.check", description="Check a certificate exactly."
    )
    parser.add_argument("file", help="certificate file (sosdp-certificate/1)")
    parser.add_argument(
        "--against", metavar="PROBLEM", help="also check that the claim is about this problem file"
    )
    parser.add_argument(
        "--work", type=int, default=WORK, help="elementary steps to spend (default %(default)s)"
    )
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES, help="largest file (default %(default)s)")
    parser.add_argument("--full", action="store_true", help="print the claim however long it is")
    options = parser.parse_args(arguments)
    verdict = check_file(
        options.file, options.against, options.work, options.max_bytes, 10**9 if options.full else LONGEST
    )
    for line in ([f"claim: {verdict.claim}"] if verdict.claim else []) + [str(verdict)]:
        print(line.encode("ascii", "backslashreplace").decode("ascii"))
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
