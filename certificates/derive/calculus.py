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

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.exact import Rules, Terms, fraction, polynomial_of, rational, terms_of, to_kernel
from certificates.identity import Claim, Multiplier, summands
from certificates.kernel import Theorem
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial

Square = tuple[Fraction, Polynomial]  # weight * polynomial ** 2, weight > 0
Index = frozenset[Polynomial]  # a product of hypotheses, each at most once: even powers are squares

ZERO = Polynomial(0)


class NotDerived(ValueError):
    """A step that the identity does not support; the message says what is left over."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """``conclusion >= 0`` (``== 0`` when ``equality``) from the hypotheses, with the identity that shows it.

    ``equalities``, ``inequalities``: the polynomials that are assumed to be 0, or nonnegative; ``squares``:
    for every product of inequalities its weighted squares; ``cofactors``: for every equality its multiplier.
    Made by `assume`, `square`, a lemma of `certificates.derive.lemmas`, or from a solved relaxation with
    `from_proof`: NotDerived where `theorem`, of the kernel, does not say that the conclusion follows.
    """

    theorem: Theorem = field(repr=False)
    conclusion: Polynomial
    equalities: tuple[Polynomial, ...] = ()
    inequalities: tuple[Polynomial, ...] = ()
    squares: Mapping[Index, tuple[Square, ...]] = field(default_factory=dict)
    cofactors: Mapping[Polynomial, Polynomial] = field(default_factory=dict)
    equality: bool = False
    bound: int = 0

    def __post_init__(self) -> None:
        statement = [("==", h) for h in self.equalities] + [(">=", g) for g in self.inequalities]
        known = frozenset().union(*(kernel.assume(kind, in_kernel(p)).hypotheses for kind, p in statement))
        if type(self.theorem) is not Theorem or not self.theorem.hypotheses <= known:
            raise NotDerived("there is no theorem, or it needs other hypotheses")
        weaker = self.equality and self.theorem.relation != "=="
        if weaker or self.theorem.conclusion != in_kernel(self.conclusion):
            raise NotDerived("the theorem says something else than the conclusion")

    @property
    def degree(self) -> int:
        """Largest degree of a summand of the identity."""
        result = [self.conclusion.degree]
        for index, squares in self.squares.items():
            factors = sum(g.degree for g in index)
            result += [2 * q.degree + factors for _, q in squares]
        result += [c.degree + h.degree for h, c in self.cofactors.items()]
        return max(result)

    def __add__(self, other: Derivation) -> Derivation:
        """p >= 0 and q >= 0 give p + q >= 0."""
        return _make(
            kernel.weighted_sum([(1, self.theorem), (1, other.theorem)]),
            (self, other),
            self.conclusion + other.conclusion,
            _merged(self.squares, other.squares),
            _merged(self.cofactors, other.cofactors),
            self.equality and other.equality,
            max(self.bound, other.bound),
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
            return self.times(other) if self.equality else self * square(1, other)
        left, right = (self, other) if self.equality or not other.equality else (other, self)
        bound = left.bound + right.bound
        if left.equality:
            made = left.times(right.conclusion)
            return _make(made.theorem, (left, right), made.conclusion, {}, made.cofactors, True, bound)
        squares = dict[Index, tuple[Square, ...]]()
        for (first, some), (second, others) in itertools.product(left.squares.items(), right.squares.items()):
            twice = math.prod(first & second, start=Polynomial(1))
            result = tuple((v * w, twice * q * r) for v, q in some for w, r in others)
            squares = _merged(squares, {first ^ second: result})
        # (A + L)(B + M) = A B + L (B + M) + A M with L, M in the ideal, A = conclusion - L
        rest = left.conclusion - sum((c * h for h, c in left.cofactors.items()), start=ZERO)
        cofactors = _merged(
            {k: c * right.conclusion for k, c in left.cofactors.items()},
            {k: c * rest for k, c in right.cofactors.items()},
        )
        theorem, product = kernel.product(left.theorem, right.theorem), left.conclusion * right.conclusion
        return _make(theorem, (left, right), product, squares, cofactors, False, bound)

    __rmul__ = __mul__

    def times(self, polynomial: Any) -> Derivation:
        """An equality times any polynomial; ValueError for an inequality."""
        if not self.equality:
            raise ValueError("only an equality can be multiplied by a polynomial of any sign")
        p = _exact_polynomial(polynomial)
        cofactors = {k: c * p for k, c in self.cofactors.items()}
        theorem = kernel.multiple(self.theorem, in_kernel(p))
        return _make(theorem, (self,), self.conclusion * p, {}, cofactors, True, self.bound + p.degree)

    def substitute(self, values: Mapping[Any, Any]) -> Derivation:
        """The derivation with polynomials (or numbers) in place of variables, in the hypotheses too."""
        swap = {v: w if isinstance(w, Polynomial) else Polynomial(_exact(w)) for v, w in values.items()}
        largest = max([1, *(p.degree for p in swap.values())])

        def put(p: Polynomial) -> Polynomial:
            return p.subs(swap)

        total = _expanded(
            [(map(put, index), [(w, put(q)) for w, q in result]) for index, result in self.squares.items()],
            [(put(h), put(c)) for h, c in self.cofactors.items()],
        )
        zeros, bounds = (tuple(dict.fromkeys(map(put, of))) for of in (self.equalities, self.inequalities))
        made = replace(total, conclusion=put(self.conclusion), equalities=zeros, inequalities=bounds)
        return replace(made, equality=self.equality, bound=self.bound * largest)

    def given(self, *premises: Derivation) -> Derivation:
        """Transitivity: every hypothesis that is the conclusion of a premise is replaced by what derives it.

        Hypotheses that no premise concludes stay. A premise must conclude a hypothesis exactly (use
        ``concluding`` to bring it there); NotDerived names one that matches none. The degree of the result
        is at most the product of the degrees, and usually far less: see ``degree`` and ``bound``.
        """
        known = {(p.equality, p.conclusion): p for p in premises}
        wanted = {(True, h) for h in self.equalities} | {(False, g) for g in self.inequalities}
        # an equality h = 0 also serves as the inequality h >= 0
        for key, premise in list(known.items()):
            if key not in wanted and not (premise.equality and (False, key[1]) in wanted):
                raise NotDerived(f"no hypothesis reads {_statement(premise)}")

        def source(p: Polynomial, equality: bool) -> Derivation:
            result = known.get((equality, p)) or (None if equality else known.get((True, p)))
            return result if result is not None else assume(p, equality=equality)

        total = _expanded(self.squares.items(), self.cofactors.items(), source)
        longest = max([1, *(p.bound for p in premises)])
        return replace(total, equality=self.equality, bound=max(self.bound, 1) * longest)

    def concluding(self, target: Polynomial) -> Derivation:
        """The same with the conclusion rewritten to ``target`` by the equalities with one or two terms.

        Monomial and binomial equalities (w^2 = w, x y = 0, ...) serve as rewriting rules, and the cofactors
        they cost join the identity. NotDerived says what is left when that does not reach the target.
        """
        made = self.reduced(target)
        if (rest := made.conclusion - target).coefs.size:
            raise NotDerived(f"the conclusion differs from what is wanted by {rest}")
        return made

    def reduced(self, beside: Polynomial = ZERO) -> Derivation:
        """The same with the conclusion, or what it is more than another polynomial, in normal form modulo its
        equalities with one or two terms."""
        made, costs = self, dict[int, Terms]()
        Rules([terms_of(h) for h in self.equalities]).divide(terms_of(self.conclusion - beside), costs)
        for k, terms in costs.items():
            made = made + assume(self.equalities[k], equality=True).times(-polynomial_of(terms))
        return replace(made, bound=max(self.bound, made.degree))

    def proof(self, note: str = "") -> Proof:
        """A proof for the checker that the conclusion (of an equality: its negative too) is nonnegative."""
        targets = (self.conclusion, -self.conclusion) if self.equality else (self.conclusion,)
        claim = Claim("sos", targets, equalities=self.equalities, inequalities=self.inequalities)
        multipliers = []
        places = [{key: k for k, key in enumerate(listed)} for listed in (self.equalities, self.inequalities)]
        numbered = {tuple(sorted(places[1][k] for k in index)): v for index, v in self.squares.items()}
        for index, squares in sorted(numbered.items()):
            kind = "sos" if not index else "inequality" if len(index) == 1 else "product"
            multipliers.append(Multiplier.of_squares(kind, index, [(w, terms_of(q)) for w, q in squares]))
        for k, c in sorted((places[0][key], c) for key, c in self.cofactors.items()):
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
    one = Polynomial(1)
    if equality:
        return Derivation(theorem, p, (p,), cofactors={p: one}, equality=True, bound=p.degree)
    squares = {frozenset([p]): ((Fraction(1), one),)}
    return Derivation(theorem, p, inequalities=(p,), squares=squares, bound=p.degree)


def square(q: Any, weight: Any = 1) -> Derivation:
    """``weight * q**2 >= 0`` for a weight >= 0."""
    return sum_of_squares([(_exact(weight), q)])


def sum_of_squares(squares: Iterable[tuple[Any, Any]]) -> Derivation:
    """``sum of w q**2 >= 0`` for pairs (w, q) with w >= 0; ValueError for a negative weight."""
    result = []
    for weight, q in squares:
        w = _exact(weight)
        if w < 0:
            raise ValueError(f"the weight of a square must be >= 0: {w} is negative")
        p = _exact_polynomial(q)
        if w and p.coefs.size:
            result.append((w, p))
    total = sum((w * q * q for w, q in result), start=ZERO)
    degree = max((2 * q.degree for _, q in result), default=0)
    theorem = kernel.weighted_sum((w, kernel.square(in_kernel(q))) for w, q in result)
    return Derivation(theorem, total, squares={frozenset(): tuple(result)} if result else {}, bound=degree)


def from_proof(proof: Proof, target: int = 0) -> Derivation:
    """A derivation from a proof about the points of a set (a bound, a sum of squares, a refutation).

    ValueError for proofs with matrix inequalities or about distributions: they have no such form.
    """
    claim, parts = proof.claim, summands(proof, target)
    total = _expanded(
        [(part.factors, part.squares) for part in parts if part.cofactor is None],
        [(part.factors[0], part.cofactor) for part in parts if part.cofactor is not None],
    )
    zeros, bounds = (tuple(dict.fromkeys(of)) for of in (claim.equalities, claim.inequalities))
    made = replace(total, conclusion=claim.targets[target], equalities=zeros, inequalities=bounds)
    return replace(made, equality=False, bound=made.degree)


def in_kernel(p: Polynomial) -> kernel.Polynomial:
    """The polynomial in the kernel's form; NotDerived for names that the kernel does not have."""
    try:
        return to_kernel(p)
    except kernel.NotProven as error:
        raise NotDerived(str(error)) from None


def nothing() -> Derivation:
    """0 == 0, from no hypotheses: where sums start."""
    return Derivation(kernel.weighted_sum([]), ZERO, equality=True)


def _expanded(
    squares: Iterable[tuple[Iterable[Polynomial], Sequence[Square]]],
    cofactors: Iterable[tuple[Polynomial, Polynomial]],
    source: Callable[[Polynomial, bool], Derivation] = assume,
) -> Derivation:
    """Squares times inequalities and cofactors times equalities, each as a source derives it."""
    total = nothing()
    for factors, result in squares:
        total = total + math.prod((source(g, False) for g in factors), start=sum_of_squares(result))
    for h, c in cofactors:
        total = total + source(h, True).times(c)
    return total


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

    def to(self, polynomial: Any) -> Upper:
        """Restate the current polynomial; NotDerived where the equalities do not lead there."""
        target = _exact_polynomial(polynomial)
        self.derivation = self.derivation.concluding(target - self.start)
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
    return value.as_exact() if isinstance(value, Polynomial) else Polynomial(_exact(value))


def _make(
    theorem: Theorem,
    of: Sequence[Derivation],
    conclusion: Polynomial,
    squares: Mapping[Index, tuple[Square, ...]],
    cofactors: Mapping[Polynomial, Polynomial],
    equality: bool,
    bound: int,
) -> Derivation:
    """A derivation from the hypotheses of others, without empty parts."""
    return Derivation(
        theorem,
        conclusion,
        tuple(dict.fromkeys(h for d in of for h in d.equalities)),
        tuple(dict.fromkeys(g for d in of for g in d.inequalities)),
        {k: v for k, v in squares.items() if v},
        {k: c for k, c in cofactors.items() if c.coefs.size},
        equality,
        bound,
    )


def _merged(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> dict[Any, Any]:
    """The sums of the values of both, by key."""
    return {**left, **{k: left[k] + v if k in left else v for k, v in right.items()}}
