"""A calculus of sum-of-squares proofs: adding, multiplying, substituting and chaining exact derivations.

A derivation says that a polynomial is nonnegative (or zero) wherever some equalities h_j = 0 and inequalities
g_i >= 0 hold, and carries the identity that shows it,

    conclusion  =  sum_S  sigma_S * prod_{i in S} g_i  +  sum_j lambda_j h_j,

with sigma_S a list of weighted squares, all over the rationals. The rules are those of the preliminaries of
papers that argue by sum-of-squares proofs (Barak and Steurer 2014; Hopkins and Li 2018): from p >= 0 and
q >= 0 follow p + q >= 0 and p q >= 0; a substitution of polynomials keeps a derivation; and when every
hypothesis of one derivation is the conclusion of others, the two chain (transitivity). ``degree`` is that of
the identity as it stands; ``bound`` is what the rules of the papers promise: the maximum for sums, the sum
for products, the product for chains. Nothing here has to be trusted: every derivation holds a theorem of the
kernel that says what it concludes, made by the kernel's rule for the step, and none is made without;
``proof()`` hands the whole identity to the checker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.exact import Monomial, Rules, fraction, monomials_of, polynomial_of, rational, terms_of
from certificates.identity import Claim, Multiplier
from certificates.kernel import Theorem
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name

Square = tuple[Fraction, Polynomial]  # weight * polynomial ** 2, weight > 0
Index = tuple[int, ...]  # a product of hypotheses, each at most once: even powers are squares

ZERO = Polynomial(0)


class NotDerived(ValueError):
    """A step that the identity does not support; the message says what is left over."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """``conclusion >= 0`` (``== 0`` when ``equality``) from the hypotheses, with the identity that shows it.

    ``squares``: for every product of inequalities (numbers, ascending) its weighted squares; ``cofactors``:
    for every equality its multiplier. Made by `assume`, `square`, a lemma of `certificates.derive.lemmas`, or
    from a solved relaxation with `from_proof`: NotDerived where `theorem`, of the kernel, does not say that
    the conclusion follows from the hypotheses.
    """

    theorem: Theorem = field(repr=False)
    conclusion: Polynomial
    equalities: tuple[Polynomial, ...] = ()
    inequalities: tuple[Polynomial, ...] = ()
    squares: Mapping[Index, tuple[Square, ...]] = field(default_factory=dict)
    cofactors: Mapping[int, Polynomial] = field(default_factory=dict)
    equality: bool = False
    bound: int = 0

    def __post_init__(self) -> None:
        stated = [("==", h) for h in self.equalities] + [(">=", g) for g in self.inequalities]
        known = frozenset().union(*(kernel.assume(kind, in_kernel(p)).hypotheses for kind, p in stated))
        if type(self.theorem) is not Theorem or not self.theorem.hypotheses <= known:
            raise NotDerived("there is no theorem, or it needs other hypotheses")
        if self.theorem.conclusion != in_kernel(self.conclusion) or (
            self.equality and self.theorem.relation != "=="
        ):
            raise NotDerived("the theorem says something else than the conclusion")

    @property
    def degree(self) -> int:
        """Largest degree of a summand of the identity."""
        found = [self.conclusion.degree]
        for index, squares in self.squares.items():
            factors = sum(self.inequalities[k].degree for k in index)
            found += [2 * q.degree + factors for _, q in squares]
        found += [c.degree + self.equalities[k].degree for k, c in self.cofactors.items()]
        return max(found)

    def __add__(self, other: Derivation) -> Derivation:
        """p >= 0 and q >= 0 give p + q >= 0."""
        left, right = _together(self, other)
        squares = dict(left.squares)
        for index, found in right.squares.items():
            squares[index] = squares.get(index, ()) + found
        cofactors = dict(left.cofactors)
        for k, c in right.cofactors.items():
            cofactors[k] = cofactors.get(k, ZERO) + c
        return _make(
            kernel.weighted_sum([(1, left.theorem), (1, right.theorem)]),
            left,
            left.conclusion + right.conclusion,
            squares,
            cofactors,
            left.equality and right.equality,
            max(left.bound, right.bound),
        )

    def __radd__(self, other: Any) -> Derivation:
        """0 + derivation, so that ``sum`` works; NotImplemented for anything else."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __mul__(self, other: Any) -> Derivation:
        """p >= 0 and q >= 0 give p q >= 0; a number >= 0 scales; an equality may be multiplied by anything.

        ValueError for a negative number, or a polynomial that is not known to be nonnegative.
        """
        if not isinstance(other, Derivation):
            return self._scaled(other)
        left, right = _together(self, other)
        if left.equality or right.equality:
            if not left.equality:
                left, right = right, left
            return replace(left.times(right.conclusion), bound=left.bound + right.bound)
        squares: dict[Index, tuple[Square, ...]] = {}
        for first, some in left.squares.items():
            for second, others in right.squares.items():
                index = tuple(sorted(set(first) ^ set(second)))
                twice = math.prod(
                    (left.inequalities[k] for k in set(first) & set(second)), start=Polynomial(1)
                )
                found = tuple((v * w, twice * q * r) for v, q in some for w, r in others)
                squares[index] = squares.get(index, ()) + found
        # (A + L)(B + M) = A B + L (B + M) + A M with L, M in the ideal, A = conclusion - L
        ideal = sum((c * left.equalities[k] for k, c in left.cofactors.items()), start=ZERO)
        cofactors = {k: c * right.conclusion for k, c in left.cofactors.items()}
        for k, c in right.cofactors.items():
            cofactors[k] = cofactors.get(k, ZERO) + (left.conclusion - ideal) * c
        product = left.conclusion * right.conclusion
        theorem = kernel.product(left.theorem, right.theorem)
        return _make(theorem, left, product, squares, cofactors, False, left.bound + right.bound)

    __rmul__ = __mul__

    def _scaled(self, factor: Any) -> Derivation:
        if isinstance(factor, Polynomial) and not factor.is_constant:
            if self.equality:
                return self.times(factor)
            raise ValueError(
                "an inequality can be multiplied by a number >= 0 or by another derivation, not by a "
                "polynomial: write square(q) * derivation for q**2"
            )
        value = _exact(factor)
        if self.equality:
            return self.times(Polynomial(value))
        if value < 0:
            raise ValueError(f"an inequality cannot be multiplied by the negative number {value}")
        squares = (
            {k: tuple((w * value, q) for w, q in found) for k, found in self.squares.items()} if value else {}
        )
        cofactors = {k: c * value for k, c in self.cofactors.items()}
        theorem = kernel.weighted_sum([(value, self.theorem)])
        return _make(theorem, self, self.conclusion * value, squares, cofactors, False, self.bound)

    def times(self, polynomial: Any) -> Derivation:
        """An equality times any polynomial; ValueError for an inequality."""
        if not self.equality:
            raise ValueError("only an equality can be multiplied by a polynomial of any sign")
        p = polynomial if isinstance(polynomial, Polynomial) else Polynomial(_exact(polynomial))
        cofactors = {k: c * p for k, c in self.cofactors.items()}
        theorem = kernel.multiple(self.theorem, in_kernel(p))
        return _make(theorem, self, self.conclusion * p, {}, cofactors, True, self.bound + p.degree)

    def substitute(self, values: Mapping[Any, Any]) -> Derivation:
        """The derivation with polynomials (or numbers) put in for variables, in hypotheses and conclusion
        alike."""
        swap = {v: w if isinstance(w, Polynomial) else Polynomial(_exact(w)) for v, w in values.items()}
        largest = max([1, *(p.degree for p in swap.values())])

        def put(p: Polynomial) -> Polynomial:
            return p.subs(swap)

        fresh = _from_parts(
            tuple(put(h) for h in self.equalities),
            tuple(put(g) for g in self.inequalities),
            {k: tuple((w, put(q)) for w, q in found) for k, found in self.squares.items()},
            {k: put(c) for k, c in self.cofactors.items()},
            put(self.conclusion),
            self.equality,
            self.bound * largest,
        )
        # hypotheses that became equal are one
        return _gathered(fresh)

    def given(self, *premises: Derivation) -> Derivation:
        """Transitivity: every hypothesis that is the conclusion of a premise is replaced by what derives it.

        Hypotheses that no premise concludes stay. A premise must conclude a hypothesis exactly (use
        ``concluding`` to bring it there); NotDerived names one that matches none. The degree of the result
        is at most the product of the degrees, and usually far less: see ``degree`` and ``bound``.
        """
        known = {(p.equality, _key(p.conclusion)): p for p in premises}
        wanted = {(True, _key(h)) for h in self.equalities} | {(False, _key(g)) for g in self.inequalities}
        # an equality h = 0 also serves as the inequality h >= 0
        for key, premise in list(known.items()):
            if key not in wanted and not (premise.equality and (False, key[1]) in wanted):
                raise NotDerived(f"no hypothesis reads {_statement(premise)}")

        def source(p: Polynomial, equality: bool) -> Derivation:
            key = _key(p)
            found = known.get((equality, key)) or (None if equality else known.get((True, key)))
            return found if found is not None else assume(p, equality=equality)

        total = nothing()
        for index, squares in self.squares.items():
            part = sum_of_squares(squares)
            for k in index:
                part = part * source(self.inequalities[k], False)
            total = total + part
        for k, c in self.cofactors.items():
            total = total + source(self.equalities[k], True).times(c)
        longest = max([1, *(p.bound for p in premises)])
        return replace(total, equality=self.equality, bound=max(self.bound, 1) * longest)

    def concluding(self, target: Polynomial) -> Derivation:
        """The same with the conclusion rewritten to ``target`` by the equalities with one or two terms.

        Monomial and binomial equalities (w^2 = w, x y = 0, ...) serve as rewriting rules, and the cofactors
        they cost join the identity. NotDerived says what is left when that does not reach the target.
        """
        rules = Rules([terms_of(h) for h in self.equalities])
        costs: dict[int, dict[Monomial, Any]] = {}
        # negative, for conclusion = target + costs, so that target = conclusion - costs
        difference = terms_of(self.conclusion - target)
        rest = rules.divide(difference, costs)
        if rest:
            raise NotDerived(f"the conclusion differs from what is wanted by {polynomial_of(rest)}")
        cofactors = dict(self.cofactors)
        paid = [(Fraction(1), self.theorem)]
        for k, terms in costs.items():
            if terms:
                cost = polynomial_of(terms)
                cofactors[k] = cofactors.get(k, ZERO) - cost
                equality = kernel.assume("==", in_kernel(self.equalities[k]))
                paid.append((Fraction(-1), kernel.multiple(equality, in_kernel(cost))))
        made = _make(
            kernel.weighted_sum(paid), self, target, self.squares, cofactors, self.equality, self.bound
        )
        return replace(made, bound=max(self.bound, made.degree))

    def reduced(self) -> Derivation:
        """The same with the conclusion in normal form modulo its equalities with one or two terms."""
        costs: dict[int, dict[Monomial, Any]] = {}
        rest = Rules([terms_of(h) for h in self.equalities]).divide(terms_of(self.conclusion), costs)
        return self.concluding(polynomial_of(rest) if rest else ZERO)

    def proof(self, note: str = "") -> Proof:
        """The derivation as a proof for the checker: a claim that the conclusion is nonnegative on the set
        (for an equality: the conclusion and its negative)."""
        targets = (self.conclusion, -self.conclusion) if self.equality else (self.conclusion,)
        claim = Claim("sos", targets, equalities=self.equalities, inequalities=self.inequalities)
        multipliers = []
        for index, squares in sorted(self.squares.items()):
            kind = "sos" if not index else "inequality" if len(index) == 1 else "product"
            basis, gram, denominator = _gram(squares)
            if basis:
                multipliers.append(Multiplier(kind, index, basis, gram, denominator))
        for k, c in sorted(self.cofactors.items()):
            if c.coefs.size:
                multipliers.append(Multiplier("equality", (k,), polynomial=c))
                if self.equality:
                    multipliers.append(Multiplier("equality", (k,), polynomial=-c, target=1))
        return Proof(claim, tuple(multipliers), note)

    def __repr__(self) -> str:
        given = len(self.equalities) + len(self.inequalities)
        return f"Derivation({_statement(self)}; {given} hypotheses, degree {self.degree})"


def assume(hypothesis: Polynomial, equality: bool = False) -> Derivation:
    """The hypothesis itself: p >= 0, or p = 0 with ``equality``, follows from itself."""
    p = _exact_polynomial(hypothesis)
    theorem = kernel.assume("==" if equality else ">=", in_kernel(p))
    if equality:
        cofactors = {0: Polynomial(1)}
        return Derivation(theorem, p, equalities=(p,), cofactors=cofactors, equality=True, bound=p.degree)
    squares: dict[Index, tuple[Square, ...]] = {(0,): ((Fraction(1), Polynomial(1)),)}
    return Derivation(theorem, p, inequalities=(p,), squares=squares, bound=p.degree)


def square(q: Any, weight: Any = 1) -> Derivation:
    """``weight * q**2 >= 0`` for a weight >= 0."""
    return sum_of_squares([(_exact(weight), q)])


def sum_of_squares(squares: Iterable[tuple[Any, Any]]) -> Derivation:
    """``sum of w q**2 >= 0`` for pairs (w, q) with w >= 0; ValueError for a negative weight."""
    found = []
    for weight, q in squares:
        w = _exact(weight)
        if w < 0:
            raise ValueError(f"the weight of a square must be >= 0, not {w}")
        p = _exact_polynomial(q)
        if w and p.coefs.size:
            found.append((w, p))
    total = sum((w * q * q for w, q in found), start=ZERO)
    degree = max((2 * q.degree for _, q in found), default=0)
    theorem = kernel.weighted_sum((w, kernel.square(in_kernel(q))) for w, q in found)
    return Derivation(theorem, total, squares={(): tuple(found)} if found else {}, bound=degree)


def from_proof(proof: Proof, target: int = 0) -> Derivation:
    """A derivation from a proof about the points of a set (a bound, a sum of squares, a refutation).

    ValueError for proofs with matrix inequalities or about distributions: they have no such form.
    """
    claim = proof.claim
    if claim.matrices or claim.expectations or claim.squares or claim.kind == "no_certificate":
        raise ValueError(
            "a derivation is about points, equalities and scalar inequalities: this proof has matrix "
            "inequalities, expectations, or shows that there is no certificate"
        )
    squares: dict[Index, tuple[Square, ...]] = {}
    cofactors: dict[int, Polynomial] = {}
    for m in proof.multipliers:
        if m.target != target:
            continue
        if m.kind == "equality":
            assert m.polynomial is not None
            cofactors[m.index[0]] = cofactors.get(m.index[0], ZERO) + m.polynomial
            continue
        index = tuple(sorted(k for k in set(m.index) if m.index.count(k) % 2))
        twice = math.prod(
            (claim.inequalities[k] ** (m.index.count(k) // 2) for k in set(m.index)), start=Polynomial(1)
        )
        squares[index] = squares.get(index, ()) + tuple((w, twice * q) for w, q in m.squares())
    equalities, inequalities = tuple(claim.equalities), tuple(claim.inequalities)
    made = _from_parts(equalities, inequalities, squares, cofactors, claim.targets[target])
    return replace(made, bound=made.degree)


def in_kernel(p: Polynomial) -> kernel.Polynomial:
    """The polynomial in the kernel's form; NotDerived for names that the kernel does not have."""
    exact = p if p.is_exact else p.as_exact()
    rows = zip(monomials_of(exact.monos), exact.coefs.tolist(), strict=True)
    try:
        return kernel.polynomial({tuple(map(variable_name, row)): Fraction(c) for row, c in rows})
    except kernel.NotProven as error:
        raise NotDerived(str(error)) from None


def nothing() -> Derivation:
    """0 == 0, from no hypotheses: where sums start."""
    return Derivation(kernel.weighted_sum([]), ZERO, equality=True)


def _from_parts(
    equalities: tuple[Polynomial, ...],
    inequalities: tuple[Polynomial, ...],
    squares: Mapping[Index, tuple[Square, ...]],
    cofactors: Mapping[int, Polynomial],
    conclusion: Polynomial,
    equality: bool = False,
    bound: int = 0,
) -> Derivation:
    """A derivation from its identity, which the kernel expands; NotDerived where it is not the conclusion."""
    parts = []
    for index, found in squares.items():
        part = kernel.weighted_sum((w, kernel.square(in_kernel(q))) for w, q in found)
        for k in index:
            part = kernel.product(part, kernel.assume(">=", in_kernel(inequalities[k])))
        parts.append((1, part))
    for k, c in cofactors.items():
        parts.append((1, kernel.multiple(kernel.assume("==", in_kernel(equalities[k])), in_kernel(c))))
    theorem = kernel.weighted_sum(parts)
    return Derivation(theorem, conclusion, equalities, inequalities, squares, cofactors, equality, bound)


class Upper:
    """A chain p <= q <= r <= ... of rewriting steps; ``derivation`` proves (last - first) >= 0.

    ``use`` adds a derived inequality: with one that says right - left >= 0, an occurrence of ``left`` in the
    current polynomial is replaced by ``right``. ``to`` restates the current polynomial modulo equalities.
    """

    def __init__(self, start: Polynomial) -> None:
        self.start = _exact_polynomial(start)
        self.current = self.start
        self.derivation = nothing()

    def use(self, step: Derivation, times: Any = 1) -> Upper:
        """Replace by a derived inequality, ``times`` a number >= 0 or a derivation of something >= 0."""
        part = step * times
        self.derivation = self.derivation + part
        self.current = self.current + part.conclusion
        return self

    def to(self, polynomial: Any, equalities: Sequence[Polynomial] = ()) -> Upper:
        """Restate the current polynomial; NotDerived when the equalities (those used so far and these) do
        not turn one into the other."""
        target = polynomial if isinstance(polynomial, Polynomial) else Polynomial(_exact(polynomial))
        grounds = self.derivation
        for h in equalities:
            grounds = grounds + assume(h, equality=True).times(0)
        self.derivation = grounds.concluding(target - self.start)
        self.current = target
        return self


def _statement(d: Derivation) -> str:
    text = str(d.conclusion)
    return f"{text if len(text) < 80 else text[:77] + '...'} {'==' if d.equality else '>='} 0"


def _exact(value: Any) -> Fraction:
    if isinstance(value, Polynomial):
        if not value.is_constant:
            raise ValueError(f"a number is needed here, not the polynomial {value}")
        return fraction(rational(Fraction(value.constant)))
    return fraction(rational(value))


def _exact_polynomial(value: Any) -> Polynomial:
    if not isinstance(value, Polynomial):
        return Polynomial(_exact(value))
    return value if value.is_exact else value.as_exact()


def same(p: Polynomial, q: Polynomial) -> bool:
    """Whether two exact polynomials have the same terms."""
    return _key(p) == _key(q)


def _key(p: Polynomial) -> frozenset:
    return frozenset((row, (int(c.p), int(c.q))) for row, c in terms_of(p).items())


def _make(
    theorem: Theorem,
    like: Derivation,
    conclusion: Polynomial,
    squares: Mapping[Index, tuple[Square, ...]],
    cofactors: Mapping[int, Polynomial],
    equality: bool,
    bound: int,
) -> Derivation:
    """A derivation from the hypotheses of another, without empty parts."""
    return Derivation(
        theorem,
        conclusion,
        like.equalities,
        like.inequalities,
        {k: v for k, v in squares.items() if v},
        {k: c for k, c in cofactors.items() if c.coefs.size},
        equality,
        bound,
    )


def _together(left: Derivation, right: Derivation) -> tuple[Derivation, Derivation]:
    """Both over the union of their hypotheses."""
    equalities, first_e, second_e = _union(left.equalities, right.equalities)
    inequalities, first_i, second_i = _union(left.inequalities, right.inequalities)
    return (
        _renumbered(left, equalities, inequalities, first_e, first_i),
        _renumbered(right, equalities, inequalities, second_e, second_i),
    )


def _union(
    left: Sequence[Polynomial], right: Sequence[Polynomial]
) -> tuple[tuple[Polynomial, ...], list[int], list[int]]:
    places: dict[frozenset, int] = {}
    kept: list[Polynomial] = []
    numbers: list[list[int]] = []
    for polynomials in (left, right):
        found = []
        for p in polynomials:
            place = places.setdefault(_key(p), len(kept))
            if place == len(kept):
                kept.append(p)
            found.append(place)
        numbers.append(found)
    return tuple(kept), numbers[0], numbers[1]


def _renumbered(
    d: Derivation,
    equalities: tuple[Polynomial, ...],
    inequalities: tuple[Polynomial, ...],
    equality_at: list[int],
    inequality_at: list[int],
) -> Derivation:
    squares: dict[Index, tuple[Square, ...]] = {}
    for index, found in d.squares.items():
        moved = [inequality_at[k] for k in index]
        new = tuple(sorted(k for k in set(moved) if moved.count(k) % 2))
        twice = math.prod((inequalities[k] ** (moved.count(k) // 2) for k in set(moved)), start=Polynomial(1))
        squares[new] = squares.get(new, ()) + tuple((w, twice * q) for w, q in found)
    cofactors: dict[int, Polynomial] = {}
    for k, c in d.cofactors.items():
        cofactors[equality_at[k]] = cofactors.get(equality_at[k], ZERO) + c
    return replace(d, equalities=equalities, inequalities=inequalities, squares=squares, cofactors=cofactors)


def _gathered(d: Derivation) -> Derivation:
    """The same with every hypothesis once."""
    equalities, equality_at, _ = _union(d.equalities, ())
    inequalities, inequality_at, _ = _union(d.inequalities, ())
    return _renumbered(d, equalities, inequalities, equality_at, inequality_at)


def _gram(squares: Sequence[Square]) -> tuple[tuple[Monomial, ...], tuple[tuple[int, ...], ...], int]:
    """Basis, integer Gram matrix and denominator of a list of weighted squares."""
    entries: dict[tuple[Monomial, Monomial], Fraction] = {}
    for weight, q in squares:
        coefficients = [Fraction(c) for c in q.coefs.tolist()]
        rows = monomials_of(q.monos)
        for a, ca in zip(rows, coefficients, strict=True):
            for b, cb in zip(rows, coefficients, strict=True):
                entries[a, b] = entries.get((a, b), Fraction(0)) + weight * ca * cb
    basis = sorted({a for a, _ in entries}, key=lambda row: (len(row), row))
    denominator = math.lcm(*(v.denominator for v in entries.values())) if entries else 1
    gram = tuple(tuple(int(entries.get((a, b), Fraction(0)) * denominator) for b in basis) for a in basis)
    return tuple(basis), gram, denominator
