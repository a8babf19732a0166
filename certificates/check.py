"""Check a sum-of-squares certificate exactly, trusting neither a solver nor the rest of this project.

    python -m certificates.check FILE [--against PROBLEM.sos.json]

A certificate states a claim about polynomials and gives multipliers.  This file reads both, expands

    target = sum_k  <Gram_k, b_k b_k^T> * m_k  +  sum_j  lambda_j h_j

over the rationals in the free polynomial ring, and proves every Gram matrix positive semidefinite with
integer arithmetic.  (A claim that no certificate exists is shown by a functional instead: nonnegative on
everything a certificate is made of, negative on the polynomial.)  There is no tolerance anywhere.  The schema
and the arguments are described in docs/certificates.md and docs/proofs/certificate_claims.md.

One file, standard library only; python-flint makes the matrix products faster when it is installed.  Every
input, however hostile, ends in one of three verdicts: ``valid``, ``invalid`` or ``unreadable``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import certificates.kernel as kernel
from certificates.against import compare
from certificates.checker.points import attained, determined, squares_once
from certificates.checker.reading import (
    FREE_KINDS,
    GRAM_KINDS,
    MAX_BITS,
    MAX_BYTES,
    WORK,
    Invalid,
    Meter,
    Terms,
    Unreadable,
    another_file,
    common_denominator,
    load_json,
    show_number,
)
from certificates.checker.ring import Packed, Ring, bits_in, largest_of, top_power
from certificates.checker.semidefinite import semidefinite
from certificates.checker.stated import Block, Stated, read
from certificates.checker.words import FORMAT as WORDS
from certificates.checker.words import check as check_words
from certificates.checker.words import sentence as sentence_of_words
from certificates.into_kernel import problem_of, values_of
from certificates.kernel_words import NotProven
from certificates.refute import separates

_SLOWER = 20  # times this one, at most: the kernel
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


def _squares(basis: list[int], gram: list[list[int]]) -> Packed:
    """Sum of gram[i][j] * basis[i] * basis[j] over all i, j."""
    out: Packed = {}
    get = out.get
    for i, (key_i, row) in enumerate(zip(basis, gram, strict=True)):
        for key_j, value in zip(basis[:i], row, strict=False):
            if value:
                key = key_i + key_j
                out[key] = get(key, 0) + 2 * value
        key = key_i + key_i
        out[key] = get(key, 0) + row[i]
    return out


def _targets(claim: Stated, goal: kernel.Goal, names: list[str]) -> list[Terms]:
    """The polynomials that the multipliers add up to."""
    if claim.kind == "program":  # with the values of the unknowns, as the kernel states them
        place = {name: k for k, name in enumerate(names)}
        powers = [[(Counter(m), c, p.den) for m, c in p.pairs] for _, p, _ in goal.parts]
        return [
            {tuple(sorted((place[n], k) for n, k in m.items())): (c, den) for m, c, den in listed}
            for listed in powers
        ]
    if claim.kind == "infeasible":
        return [{(): (-1, 1)}]
    if claim.kind == "sos":
        return claim.objectives or [claim.objective]
    sign = 1 if claim.kind == "lower_bound" else -1
    target = {m: (sign * num, den) for m, (num, den) in claim.objective.items()}
    (num, den), bound = target.get((), (0, 1)), claim.bound
    target[()] = (num * bound[1] - sign * bound[0] * den, den * bound[1])
    return [target]


def _identity(
    claim: Stated, targets: list[Terms], blocks: list[Block], names: list[str], meter: Meter
) -> None:
    """Raise Invalid unless every target equals the sum of its multipliers' contributions."""
    power = top_power(targets)
    for block in blocks:
        listed = claim.multiplied(block.kind)
        factors = [[p for row in listed[k] for p in row] if block.entry else [listed[k]] for k in block.index]
        own = 2 * max((k for m in block.basis for _, k in m), default=0) + top_power([block.polynomial])
        power = max(power, own + sum(map(top_power, factors)))
    ring = Ring(len(names), power, meter)
    parts = [[(*ring.pack(target), 1)] for target in targets]
    for block in blocks:
        parts[block.target] += [(packed, den, -1) for packed, den in _contribution(claim, block, ring, meter)]
    for k, pieces in enumerate(parts):
        common = common_denominator({den for _, den, _ in pieces}, meter)
        total: Packed = {}
        get = total.get
        for packed, den, sign in pieces:
            factor = sign * (common // den)
            bits = bits_in(factor, largest_of(packed))
            meter.spend(len(packed) * (ring.cost + (bits >> 5)))
            meter.hold(len(packed), bits + ring.bits)
            for key, value in packed.items():
                total[key] = get(key, 0) + factor * value
        for key, value in total.items():
            if value:
                which = f" of objective {k}" if len(parts) > 1 else ""
                powers = [names[v] if p == 1 else f"{names[v]}**{p}" for v, p in ring.monomial(key)]
                raise Invalid(
                    f"the identity{which} fails at the monomial {'*'.join(powers) or 1}: "
                    f"the two sides differ by {show_number(value, common)}"
                )


def _contribution(claim: Stated, block: Block, ring: Ring, meter: Meter) -> list[tuple[Packed, int]]:
    """What a multiplier adds: integers over a denominator, in parts."""
    listed = claim.multiplied(block.kind)
    factors = [listed[k] for k in block.index]
    if block.kind == "square":
        # w e^2 - u e + u^2 / (4 w) is a square: the contribution u^2 / (4 w) - u p has expectation >= -w e^2
        num, den = block.polynomial.get((), (0, 1))
        weight = claim.squares[block.index[0]][0]
        packed, den_of_it = ring.pack(factors[0])
        linear = ring.product({0: -num}, packed)
        return [(linear, den * den_of_it), ({0: num * num * weight[1]}, 4 * den * den * weight[0])]
    if block.kind in FREE_KINDS:
        (left, den_left), (right, den_right) = ring.pack(block.polynomial), ring.pack(factors[0])
        return [(ring.product(left, right), den_left * den_right)]
    basis = [ring.key(m) for m in block.basis]
    size = len(basis)
    longest = max((max(map(abs, row)) for row in block.gram), default=0)
    meter.spend(size * (size + 1) // 2 * (ring.cost + (longest.bit_length() >> 5)))
    meter.hold(size * (size + 1) // 2, longest.bit_length() + ring.bits)
    if block.kind.endswith("psd"):
        by_entry: dict[tuple[int, int], Packed] = {}
        meter.spend(size * size * 2)
        for i, j in product(range(size), repeat=2):
            found = by_entry.setdefault((block.entry[i], block.entry[j]), {})
            found[basis[i] + basis[j]] = found.get(basis[i] + basis[j], 0) + block.gram[i][j]
        packed_entries = ((found, ring.pack(factors[0][e][f])) for (e, f), found in by_entry.items())
        return [(ring.product(found, p), block.den * den) for found, (p, den) in packed_entries]
    packed, den = _squares(basis, block.gram), block.den
    for factor in factors:
        polynomial, den_of_it = ring.pack(factor)
        packed = ring.product(packed, polynomial)
        den *= den_of_it
        if den.bit_length() > MAX_BITS:
            raise Unreadable(f"a common denominator has more than {MAX_BITS} bits")
    return [(packed, den)]


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
    any input made of JSON types.  Cost: about that of reading the file, plus one Cholesky factorisation
    of every Gram matrix.
    """
    operators = isinstance(certificate, dict) and certificate.get("format") == WORDS
    said: list[str] = []
    try:
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
    whole = meter.left
    claim, blocks, names, functional = read(certificate, meter)
    try:
        goal = kernel.state(problem_of(certificate), values_of(certificate))
    except kernel.NotProven as error:
        raise Unreadable(f"the claim is no statement: {error}") from None
    said.append(sentence(claim, goal, names))
    if claim.kind == "no_certificate":
        separates(claim, functional, len(names), meter)
    squares_once(blocks)
    for k, block in enumerate(blocks):
        if block.kind in GRAM_KINDS and not semidefinite(block.gram, meter):
            of = " ".join([block.kind, *map(str, block.index)])
            raise Invalid(f"the Gram matrix of multiplier {k} ({of}) is not positive semidefinite")
    if claim.kind != "no_certificate":
        _identity(claim, _targets(claim, goal, names), blocks, names, meter)
    if claim.kind == "program" and goal.more[0] != kernel.polynomial({(): Fraction(*claim.bound)}):
        raise Invalid("the bound is not the value of the objective at the values of the unknowns")
    if claim.root is not None:
        meter.spend(_SLOWER * (whole - meter.left))
        try:
            kernel.replay(problem_of(certificate), certificate)
        except kernel.NotProven as error:
            raise Invalid(str(error)) from None
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
    problem = None
    if against is not None:
        try:
            problem = load_json(os.fspath(against), False, max_bytes)
        except (Unreadable, MemoryError) as error:
            return Verdict("unreadable", "", f"{os.fspath(against)}: {error}")
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
    lines = ([f"claim: {verdict.claim}"] if verdict.claim else []) + [str(verdict)]
    for line in lines:
        print(line.encode("ascii", "backslashreplace").decode("ascii"))
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
