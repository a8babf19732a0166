"""A certificate replayed in the kernel: factorisations are found here, where nothing has to be trusted.

`replay` takes the object of a certificate file, states its claim (or a given problem) in the kernel, writes
every Gram matrix as a sum of weighted squares, applies the kernel's rules, and returns the kernel's answers.
What is wrong here can make a good certificate fail, never a bad one pass: `kernel.settle` makes the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

import certificates.kernel as kernel
from certificates.checker.semidefinite import cholesky
from certificates.kernel import Answer, Average, NotProven, Polynomial, Theorem

Square = tuple[Fraction, list[Fraction]]  # weight, and the vector that is squared
_SETS = ("equalities", "inequalities", "psd")
_SIGN = {"upper_bound": "maximize", "lower_bound": "minimize"}


def replay(content: Mapping[str, Any], problem: Mapping[str, Any] | None = None) -> list[Answer]:
    """The kernel's answers to the claim of a certificate, or to a problem file's object (decimals read as
    fractions); raises NotProven, or another error where the certificate is no certificate.

    One answer; for a program with unknown coefficients one for each polynomial, and one for its objective.
    Not replayed: that a bound is attained, and claims that there is no certificate (`certificates.refute`).
    """
    claim, names = content["claim"], content["variables"]
    if len(set(names)) < len(names):
        raise NotProven("a name occurs twice")
    if claim["kind"] == "no_certificate":
        raise NotProven("the kernel has no rules for the absence of certificates: see certificates/refute.py")
    bound = Fraction(claim["bound"]) if "bound" in claim else None
    if claim["kind"] == "program":
        return _program(content, names, bound, problem)
    stated = problem_of(claim, names)
    goal = kernel.state(stated if problem is None else problem)
    total = claim.get("objectives", [None])
    found = [_fact(content, stated, goal, k) for k in range(len(total))]
    return [kernel.settle(goal, found, bound)]


def problem_of(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The claim as a problem of the kernel's: every polynomial a list of [coefficient, {name: power}]."""
    kind = claim["kind"]
    out: dict[str, Any] = {"variables": names, **_set(claim, names)}
    if kind == "infeasible":
        out["feasible"] = True
    elif kind == "sos":
        out["sos"] = [_terms(p, names) for p in claim.get("objectives", [claim.get("objective")])]
    else:
        out[_SIGN[kind]] = _terms(claim["objective"], names)
    if claim.get("in_expectation"):
        out["in_expectation"] = _set(claim["in_expectation"], names)
    if claim.get("squares"):
        out["squares"] = [[w, _terms(p, names)] for w, p in claim["squares"]]
    return out


def _set(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    stated = [[_terms(p, names), "== 0"] for p in claim.get("equalities", ())]
    stated += [[_terms(p, names), ">= 0"] for p in claim.get("inequalities", ())]
    psd = [[[_terms(p, names) for p in row] for row in matrix] for matrix in claim.get("psd", ())]
    return {"subject_to": stated, "psd": psd}


def _terms(p: list, names: list[str]) -> list:
    return [[c, {names[v]: power for v, power in monomial}] for c, monomial in p]


def _polynomial(p: list, names: list[str]) -> Polynomial:
    terms = {tuple(names[v] for v, power in m for _ in range(power)): c for c, m in p}
    return kernel.polynomial(terms)


def _program(
    content: Mapping[str, Any], names: list[str], bound: Fraction | None, problem: Mapping[str, Any] | None
) -> list[Answer]:
    """With the values of its unknowns, every polynomial on its own set, and the value of the objective."""
    claim = content["claim"]
    unknown = [names[v] for v in claim["unknowns"]]
    values = dict(zip(unknown, map(Fraction, claim["values"]), strict=True))
    rest = [name for name in names if name not in values]
    answers = []
    for k, p in enumerate(claim["objectives"]):
        uses = claim["on"][k] if "on" in claim else {}
        kept = {key: [claim[key][i] for i in uses.get(key, ())] for key in _SETS}
        stated = {"variables": rest, "unknowns": unknown, "sos": [_terms(p, names)], **_set(kept, names)}
        goal = kernel.state(stated, values)
        answers.append(kernel.settle(goal, [_fact(content, stated, goal, k)]))
    asked = {"variables": [], "unknowns": unknown, claim["sense"]: _terms(claim["objective"], names)}
    zero = kernel.weighted_sum([])
    if problem is not None:
        raise NotProven("a program is replayed as it is stated in the certificate")
    return [*answers, kernel.settle(kernel.state(asked, values), [zero], bound)]


def _fact(content: Mapping[str, Any], stated: Mapping[str, Any], goal: Any, target: int) -> Theorem | Average:
    """The sum of all multipliers of one target."""
    blocks = [b for b in content["multipliers"] if b.get("target", 0) == target]
    used = [b["index"][0] for b in blocks if b["kind"] == "square"]
    if len(set(used)) < len(used):
        raise NotProven("a square of an expectation is used twice")
    facts = _Facts(content, goal)
    on_average = bool(goal.means or goal.squares)
    points: list[tuple[Any, Theorem]] = []
    means: list[tuple[Any, Average]] = []
    for block in blocks:
        if block["kind"] in ("expectation", "expectation_equality", "expectation_psd", "square"):
            means.extend(facts.mean(block))
        else:
            points.append((1, facts.point(block)))
    theorem = kernel.weighted_sum(points)
    if not on_average and not means:
        return theorem
    return kernel.average_sum([(1, kernel.average(theorem)), *means])


class _Facts:
    """The kernel's theorems for the multipliers of a certificate."""

    def __init__(self, content: Mapping[str, Any], goal: Any) -> None:
        claim, self.names = content["claim"], content["variables"]
        self.claim, self.goal = claim, goal
        self.expected = claim.get("in_expectation", {})
        self.cache: dict[tuple[str, int], Any] = {}

    def read(self, p: list) -> Polynomial:
        return _polynomial(p, self.names)

    def assumed(self, key: str, k: int) -> Theorem:
        """The constraint with this number, as it stands in the problem or a positive multiple of that."""
        if (key, k) not in self.cache:
            relation = "==" if key == "equalities" else ">="
            self.cache[key, k] = self.scaled(relation, self.read(self.claim[key][_place(k)]))
        return self.cache[key, k]

    def scaled(self, relation: str, p: Polynomial) -> Theorem:
        if (relation, p) in self.goal.hypotheses:
            return kernel.assume(relation, p)
        for kind, other in self.goal.hypotheses:
            if kind == relation and p.terms and other.terms.keys() == p.terms.keys():
                m = next(iter(p.terms))
                ratio = p.terms[m] / other.terms[m]
                if all(p.terms[n] == ratio * c for n, c in other.terms.items()):
                    return kernel.weighted_sum([(ratio, kernel.assume(relation, other))])
        return kernel.assume(relation, p)  # not in the problem: the kernel will say so

    def matrix(self, listed: list, k: int) -> list[list[Polynomial]]:
        return [[self.read(p) for p in row] for row in listed[_place(k)]]

    def point(self, block: Mapping[str, Any]) -> Theorem:
        """A multiplier about points."""
        kind, index = block["kind"], block.get("index", [])
        if kind == "equality":
            return kernel.multiple(self.assumed("equalities", index[0]), self.read(block["polynomial"]))
        basis = [self.read([["1", m]]) for m in block["basis"]]
        if kind == "psd":
            matrix = self.matrix(self.claim["psd"], index[0])
            forms = [
                (w, kernel.quadratic_form(matrix, _vector(row, basis, block["entry"], len(matrix))))
                for w, row in squares_of(block["gram"])
            ]
            return kernel.weighted_sum(forms)
        if kind not in ("sos", "inequality", "product"):
            raise NotProven(f"no multiplier is of kind {kind!r}")
        found = kernel.weighted_sum(
            (w, kernel.square(_combination(row, basis))) for w, row in squares_of(block["gram"])
        )
        for k in index:
            found = kernel.product(found, self.assumed("inequalities", k))
        return found

    def mean(self, block: Mapping[str, Any]) -> Iterator[tuple[Any, Average]]:
        """A multiplier about expectations: numbers times what is known on average."""
        kind, k = block["kind"], _place(block["index"][0])
        if "polynomial" in block:
            terms = self.read(block["polynomial"]).terms
            if not terms.keys() <= {()}:
                raise NotProven("only a number may multiply an expectation")
            u = terms.get((), Fraction(0))
            if kind == "square":
                weight, p = self.claim["squares"][k]
                yield 1, kernel.mean_square(Fraction(weight), self.read(p), u)
            else:
                yield u, kernel.assume_mean("==", self.read(self.expected["equalities"][k]))
            return
        if any(block["basis"]):
            raise NotProven("only a number may multiply an expectation")
        for w, row in squares_of(block["gram"]):
            if kind == "expectation":
                p = self.read(self.expected["inequalities"][k])
                yield w * sum(row) ** 2, kernel.assume_mean(">=", p)
            else:
                matrix = self.matrix(self.expected["psd"], k)
                numbers = [Fraction(0)] * len(matrix)
                for value, entry in zip(row, block["entry"], strict=True):
                    numbers[_place(entry)] += value
                yield w, kernel.mean_form(matrix, numbers)


def _place(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise NotProven(f"{k!r} is no place in a list")
    return k


def _combination(row: list[Fraction], basis: list[Polynomial]) -> Polynomial:
    terms: dict[tuple[str, ...], Fraction] = {}
    for value, b in zip(row, basis, strict=True):
        for m in b.terms if value else ():
            terms[m] = terms.get(m, Fraction(0)) + value
    return kernel.polynomial(terms)


def _vector(row: list[Fraction], basis: list[Polynomial], entry: list[int], size: int) -> list[Polynomial]:
    """The polynomials that a row of a factor stands for: basis element i belongs to row entry[i]."""
    out = []
    for e in range(size):
        chosen = [value if place == e else Fraction(0) for value, place in zip(row, entry, strict=True)]
        out.append(_combination(chosen, basis))
    if any(not 0 <= _place(e) < size for e in entry):
        raise NotProven("a matrix has no such row")
    return out


def squares_of(gram: Sequence[Sequence[Any]]) -> list[Square]:
    """Weights > 0 and vectors with sum of weight * v v^T the matrix; NotProven when there are none.

    A definite matrix is M M^T + R with short dyadic numbers in M and R diagonally dominant, so that numbers
    stay short; other matrices get an exact LDL^T.
    """
    matrix = [[Fraction(v) for v in row] for row in gram]
    side = len(matrix)
    if any(len(row) != side for row in matrix) or any(
        matrix[i][j] != matrix[j][i] for i in range(side) for j in range(i)
    ):
        raise NotProven("a Gram matrix is not symmetric")
    return _dominant(matrix) or _factor(matrix)


def _dominant(matrix: list[list[Fraction]]) -> list[Square]:
    """The squares of M M^T + R, or [] where that way does not apply."""
    side = len(matrix)
    if side < 3 or any(matrix[i][i] <= 0 for i in range(side)):
        return []
    diagonal = [row[i] for i, row in enumerate(matrix)]
    half = [(d.numerator.bit_length() - d.denominator.bit_length()) // 2 for d in diagonal]
    unit = [Fraction(2) ** h for h in half]
    for bits in (40, 52):
        try:
            scaled = [[float(matrix[i][j] / (unit[i] * unit[j])) for j in range(i + 1)] for i in range(side)]
        except OverflowError:
            return []
        factor = cholesky(scaled, side * 2.0 ** (6 - bits))
        if factor is None:
            return []
        whole = [[round(v * 2.0**bits) for v in row] for row in factor]
        small = Fraction(1, 1 << bits)
        rest = [[Fraction(0)] * side for _ in range(side)]
        for i in range(side):
            for j in range(i + 1):
                product = Fraction(sum(map(mul, whole[i], whole[j])), 1 << 2 * bits) * unit[i] * unit[j]
                rest[i][j] = rest[j][i] = matrix[i][j] - product
        # dominance in the scaled coordinates: vectors unit_i e_i
        size = [[rest[i][j] / (unit[i] * unit[j]) for j in range(side)] for i in range(side)]
        slack = [size[i][i] - sum(abs(v) for v in size[i]) + abs(size[i][i]) for i in range(side)]
        if min(slack) >= 0:
            columns = [[row[k] * small * unit[i] if k <= i else Fraction(0) for i, row in enumerate(whole)]
                       for k in range(side)]  # fmt: skip
            return [(Fraction(1), column) for column in columns] + _differences(size, slack, unit)
    return []


def _differences(size: list[list[Fraction]], slack: list[Fraction], unit: list[Fraction]) -> list[Square]:
    """A diagonally dominant matrix as squares of sums and differences of two coordinates, and of one."""
    side, out = len(size), []
    for i in range(side):
        for j in range(i):
            if size[i][j]:
                vector = [Fraction(0)] * side
                vector[i], vector[j] = unit[i], unit[j] if size[i][j] > 0 else -unit[j]
                out.append((abs(size[i][j]), vector))
        if slack[i]:
            out.append((slack[i], [unit[i] if j == i else Fraction(0) for j in range(side)]))
    return out


def _factor(matrix: list[list[Fraction]]) -> list[Square]:
    rest = [list(row) for row in matrix]
    out: list[Square] = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and any(rest[k][k:])):
            raise NotProven("a Gram matrix is not positive semidefinite")
        if pivot == 0:
            continue
        column = [Fraction(0)] * k + [v / pivot for v in rest[k][k:]]
        out.append((pivot, column))
        for i in range(k, len(rest)):
            if column[i]:
                step = pivot * column[i]
                rest[i] = [v - step * c for v, c in zip(rest[i], column, strict=True)]
    return out
