"""Output perturbation: the minimiser of a strongly convex program, released with Gaussian noise.

How far the minimiser moves between neighbouring data sets follows from strong convexity alone; what a solver
returns is charged by its certified distance to the minimiser. Only an upper triangle with a fixed diagonal,
or a vector, is released, on a public grid with Gaussian noise.

Proofs: docs/proofs/strongly_convex.md (sensitivity), docs/proofs/gaussian_release.md (noise)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
import sosdp.privacy.randomness as noise
from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import finite, nonnegative, positive, settle
from sosdp.privacy.grid_gaussian import grid_gaussian
from sosdp.privacy.guarantee.condition import Charged, Condition, Fact, given, held_for, resting_on
from sosdp.privacy.guarantee.evidence import proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_down, float_up
from sosdp.privacy.inputs import floats
from sosdp.privacy.terms import Terms, on_terms

Solver = Callable[[Any], tuple[npt.NDArray[np.float64], float | np.floating[Any]]]
"""data -> (approximate minimiser, certified distance to the exact one)"""


@dataclass(frozen=True)
class StrongConvexProgram:
    """minimise f_D over a closed convex set K_D, f_D kappa-strongly convex, with what is claimed about
    neighbours.

    f is kappa-strongly convex when f(Z) >= f(X) + <g, Z - X> + (kappa/2) |Z - X|^2. The claims below are
    public knowledge supplied by whoever states the program, for all ordered neighbours D, D' (h = f_D' -
    f_D):

    Attributes:
        kappa: strong convexity, > 0.
        fixed_set: K_D is the same for every D.
        alpha, radius: at the minimiser X of D there is Z in K_D' with |f_D(X) - f_D'(Z)| <= alpha and
            |X - Z| <= radius. With a fixed set, |h| <= alpha on K gives this with radius 0 (the default).
        oscillation: h varies by at most this over K (fixed set only).
        lipschitz: h is Lipschitz on K with this constant (fixed set only).
        proof: why these numbers hold. A `Fact` is what the library or a page of docs/proofs has proven; on
            any other sentence, or none, a release is heuristic (`falsify_program` tries to refute them).
        solve: for `check_closeness`. adjacency: of `proof`; None where a release says it.

    Raises:
        ValueError: a number out of range, no claim at all, or a fixed-set claim for a moving set.

    Source: Lemma 4.1 of the private stochastic-block-model paper (mode "paper") and its sharper forms.
    """

    kappa: float
    fixed_set: bool = True
    alpha: float | None = None
    radius: float | None = None
    oscillation: float | None = None
    lipschitz: float | None = None
    proof: str = ""
    solve: Solver | None = field(default=None, compare=False, repr=False)
    adjacency: str | None = None

    def __post_init__(self) -> None:
        settle(self, kappa=finite(self.kappa, "kappa", "> 0"))
        for name in ("alpha", "radius", "oscillation", "lipschitz"):
            if getattr(self, name) is not None:
                settle(self, **{name: finite(getattr(self, name), name, ">= 0")})
        if not self.fixed_set:
            for name in ("oscillation", "lipschitz"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} bounds need the same feasible set for all data; leave it out")
            if self.alpha is not None and self.radius is None:
                raise ValueError("with a set that moves with the data, alpha needs a radius beside it")
        self._check_claims()
        settle(self, proof=held_for(self.proof, self))

    def _check_claims(self) -> None:
        if self.alpha is None and self.oscillation is None and self.lipschitz is None:
            raise ValueError("no closeness claim given: supply alpha (and radius), oscillation or lipschitz")

    def sensitivity(self, mode: str = "tight") -> float:
        """Proven bound on the distance of the minimisers of neighbours, rounded up.

        "paper": sqrt(12 alpha / kappa), only where radius^2 <= alpha / kappa or the set is fixed.
        "tight": the least of radius + sqrt(2 alpha / kappa) and, for a fixed set, sqrt(2 alpha / kappa),
        sqrt(oscillation / kappa), lipschitz / kappa, among those whose inputs were supplied.

        Raises:
            ValueError: unknown mode, or "paper" where its lemma does not apply.
        """
        if mode == "paper":
            return self._paper()
        if mode == "tight":
            return min(self._tight_bounds())
        raise ValueError(f'mode must be "tight" or "paper", got {mode!r}')

    def _paper(self) -> float:
        if self.alpha is None:
            raise ValueError('the published lemma needs alpha; give it, or use mode "tight"')
        alpha, kappa = Fraction(self.alpha), Fraction(self.kappa)
        if not self.fixed_set and Fraction(self.radius or 0.0) ** 2 > alpha / kappa:
            raise ValueError(
                "the published lemma needs radius^2 <= alpha / kappa, which does not hold here; "
                'use mode "tight", or supply a larger alpha'
            )
        return calibrate.root_up(12 * alpha / kappa)

    def _tight_bounds(self) -> list[float]:
        kappa = Fraction(self.kappa)
        bounds = []
        if self.alpha is not None:
            root = calibrate.root_up(2 * Fraction(self.alpha) / kappa)
            bounds.append(root if self.fixed_set else float_up(Fraction(root) + Fraction(self.radius or 0.0)))
        if self.oscillation is not None:
            bounds.append(calibrate.root_up(Fraction(self.oscillation) / kappa))
        if self.lipschitz is not None:
            bounds.append(float_up(Fraction(self.lipschitz) / kappa))
        return bounds

    def near(self) -> str:
        """That minimisers of neighbours are near, as a sentence that is as strong as `proof`."""
        text = f"minimisers of neighbours are at most {self.sensitivity()!r} apart"
        return resting_on(self.proof, f"{text}: {self.proof}" if self.proof else text)

    def effective_sensitivity(self, eta_max: float, mode: str = "tight") -> float:
        """Sensitivity of what the solver returns: sensitivity + 2 eta_max, rounded up.

        `eta_max` is the certified distance to the minimiser that every run must reach; fixed before the data
        are seen.
        """
        eta = nonnegative(eta_max, "eta_max")
        return float_up(Fraction(self.sensitivity(mode)) + 2 * eta)


@dataclass(frozen=True)
class ProjectionProgram(StrongConvexProgram):
    """Project Y_D onto a fixed convex set whose entries lie in [low, high]: f = |X - Y_D|_F^2, kappa = 2.

    Claims: the l1 norm of Y_D - Y_D' over entries that are not fixed is at most `shift_l1`, its Frobenius
    norm at most `shift_frobenius`. Then t = |X_D - X_D'| satisfies t^2 <= <Y' - Y, X' - X> <= shift_l1 (high
    - low), and t <= shift_frobenius; "paper" uses alpha = 2 shift_l1 max(|low|, |high|).

    Raises:
        ValueError: as for StrongConvexProgram; low > high.
    """

    kappa: float = 2.0
    shift_l1: float = 0.0
    shift_frobenius: float | None = None
    low: float = -1.0
    high: float = 1.0

    def _check_claims(self) -> None:
        if self.kappa != 2.0 or not self.fixed_set:
            raise ValueError("a projection has kappa = 2 and a fixed set; use StrongConvexProgram otherwise")
        settle(self, shift_l1=finite(self.shift_l1, "shift_l1", "> 0"))
        if self.shift_frobenius is not None:
            settle(self, shift_frobenius=finite(self.shift_frobenius, "shift_frobenius", "> 0"))
        settle(self, low=finite(self.low, "low"), high=finite(self.high, "high"))
        if self.low > self.high:
            raise ValueError(f"entries must lie in an interval [low, high], got [{self.low}, {self.high}]")

    def _paper(self) -> float:
        if self.alpha is not None:
            return super()._paper()
        reach = max(abs(Fraction(self.low)), abs(Fraction(self.high)))
        return calibrate.root_up(12 * (2 * Fraction(self.shift_l1) * reach) / 2)

    def _tight_bounds(self) -> list[float]:
        width = Fraction(self.high) - Fraction(self.low)
        bounds = [calibrate.root_up(Fraction(self.shift_l1) * width), *super()._tight_bounds()]
        if self.shift_frobenius is not None:
            bounds.append(float_up(Fraction(self.shift_frobenius)))
        return bounds


@dataclass(frozen=True)
class NoisyArray:
    """Released integers: the private value is `counts` on the public `grid`; floats are a view of them.

    Attributes:
        counts: int64 array.
        grid: a power of two.
        scale: standard deviation of the noise in the units of the values (public; None where not known).
    """

    counts: npt.NDArray[np.int64]
    grid: float
    scale: float | None

    def values(self) -> npt.NDArray[np.float64]:
        """counts * grid in float64 (post-processing of the counts)."""
        with np.errstate(all="ignore"):
            return np.asarray(self.counts * self.grid, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Counts, grid and scale, ready for json."""
        return {"counts": self.counts.tolist(), "grid": self.grid, "scale": self.scale}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoisyArray):
            return NotImplemented
        return (
            self.grid == other.grid
            and self.scale == other.scale
            and np.array_equal(self.counts, other.counts)
        )


@dataclass(frozen=True)
class Fixed:
    """What is known of every minimiser, for all data.

    Attributes:
        low, high: public box that contains every entry.
        diagonal: the fixed diagonal of a matrix.
        fallback: data-independent matrix (or constant off-diagonal entry) released where the certificate
            failed.
    """

    low: float = -1.0
    high: float = 1.0
    diagonal: float = 1.0
    fallback: npt.ArrayLike | float = 0.0


ABOVE = Fact("half of the squared Frobenius distance lies above the diagonal")


@gathering(Fixed, "known")
@on_terms("projection.gaussian", needs="adjacency", takes="epsilon delta rho calibration backend proof")
def release_symmetric(
    terms: Terms,
    matrix: npt.ArrayLike,
    *,
    sensitivity_frobenius: float,
    eta_max: float,
    certified_eta: float | None,
    solver_complete: Fact | bool = False,
    private_diagnostics: dict[str, Any] | None = None,
    known: Fixed,
) -> Release:
    """Release a symmetric matrix with a public diagonal by Gaussian noise above the diagonal.

    Args:
        terms: epsilon and delta, or rho; with calibration "paper" pass the published sensitivity as well. The
            proof is that of sensitivity and certificate; without one they are a condition of the release.
        matrix: (n, n) computed minimiser; only the entries above the diagonal are read.
        sensitivity_frobenius: proven bound on the Frobenius distance of the exact minimisers of neighbours.
        eta_max: public; certified Frobenius distance from the minimiser that every run has to reach.
        certified_eta: private; the distance certified for this run, None if none was (must cover all float
            error up to `matrix`).
        solver_complete: public; the `Fact` that the solver reaches eta_max on every data set. False: the
            guarantee rests on a condition. True: somebody says so, and the guarantee is heuristic.
        private_diagnostics: for whoever holds the data.
        known: the fields of `Fixed`, as keywords: low, high (entries are clipped to them), diagonal, and the
            fallback that is released when certified_eta > eta_max.

    Returns:
        Release whose value is a `NoisyArray` of shape (n, n), symmetric, with `diagonal` (rounded to the
        grid).

    Raises:
        ValueError: shape or public arguments out of range; never because of the entries or of certified_eta.

    Source: docs/proofs/strongly_convex.md, docs/proofs/gaussian_release.md. Cost: 0.1 microseconds a pair
    (15 with OpenDP).
    """
    values = floats(matrix)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.shape[0] < 2:
        raise ValueError(f"a square matrix of side at least 2 is needed, got shape {values.shape}")
    n = values.shape[0]
    upper = np.triu(np.ones((n, n), dtype=bool), 1)  # a mask: an eighth of the memory of index arrays
    eta = nonnegative(eta_max, "eta_max")
    exact = positive(sensitivity_frobenius, "sensitivity_frobenius")
    frobenius = exact + 2 * eta
    # |dX|_F^2 counts each pair twice and the diagonal never moves: the triangle moves by |dX|_F / sqrt 2.
    triangle = calibrate.root_up(frobenius**2 / 2)
    # before it is known whether it is needed: a bad shape must raise on all data sets alike
    substitute = np.broadcast_to(floats(known.fallback), (n, n))
    if not np.isfinite(substitute).all():
        raise ValueError("fallback must be a finite number, or a matrix of finite numbers")
    # NaN and None count as failed; nothing is raised, for that would tell about the data.
    failed = certified_eta is None or not certified_eta <= float_down(eta)
    facts = _solver_assumptions(terms.proof, float(eta), float_up(exact), solver_complete)
    vector = release_vector(
        replace(terms, public={**terms.public, "n": n}, proof=ABOVE).assuming(*facts),
        (substitute if failed else values)[upper],
        sensitivity=triangle,
        low=known.low,
        high=known.high,
        private_diagnostics={
            **(private_diagnostics or {}),
            "certified_eta": certified_eta,
            "fallback_used": failed,
        },
    )
    noisy: NoisyArray = vector.value
    counts = np.zeros((n, n), dtype=np.int64)
    counts[upper] = noisy.counts
    counts += counts.T
    diagonal = float_up(Fraction(finite(known.diagonal, "diagonal")))
    reach = abs(diagonal)
    np.fill_diagonal(counts, noise.quantise(diagonal, noisy.grid, low=-reach, high=reach))
    return vector.postprocess(NoisyArray(counts, noisy.grid, noisy.scale))


@on_terms("gaussian", needs="adjacency", takes="epsilon delta rho calibration backend proof")
def release_vector(
    terms: Terms,
    values: npt.ArrayLike,
    *,
    sensitivity: float | Fraction,
    low: float,
    high: float,
    private_diagnostics: dict[str, Any] | None = None,
) -> Release:
    """Release an array with Gaussian noise on a public grid.

    Args:
        terms: as for `release_symmetric`.
        values: array of public shape; clipped to the public box [low, high], NaN replaced by its point
            nearest 0.
        sensitivity: bound on the l2 distance between the arrays of neighbours; without a proof (`Terms`) a
            condition of the release. A `Fraction` is one of exact numbers; a float has to include the error
            of the values, which is charged.

    Raises:
        ValueError: public arguments out of range; never because of the entries.
    """
    array = floats(values)
    low, high = float_down(Fraction(finite(low, "low"))), float_up(Fraction(finite(high, "high")))
    if low > high:
        raise ValueError(f"the public box needs low <= high, got [{low}, {high}]")
    moved = float_up(positive(sensitivity, "sensitivity"))
    plan = grid_gaussian(
        replace(terms, proof=""),
        sensitivity=moved,
        count=array.size,
        largest=max(abs(low), abs(high)),
        law="discrete" if terms.backend == "opendp" else "rounded",
    )
    counts = noise.quantise(array, plan.grid, low=low, high=high)
    bits = None if terms.backend == "opendp" else terms.bits()
    drawn = noise.gaussian(
        array.shape,
        plan.scale,
        plan.grid,
        law=plan.law,
        backend=terms.backend,
        source=bits,
        insecure_seed=None if bits else terms.insecure_seed,
    )
    basis = Fact if isinstance(sensitivity, Fraction) else Charged
    near = given(f"the arrays of neighbours are at most {moved!r} apart in l2", terms.proof, basis)
    return terms.seal(
        NoisyArray(noise.add(counts, drawn), plan.grid, plan.scale),
        terms.guarantee(near, *map(basis, plan.assumptions())),
        bits or noise.generator_assumption(terms.backend),
        evidence=proven_by("gaussian_release", *plan.laws()),
        private=private_diagnostics,
    )


def reaching(distance: float, always: Fact | bool, otherwise: str = "") -> str:
    """That every run of a solver certifies this distance: a condition, or as strong as what proves it.

    `otherwise` says what follows where a run does not.
    """
    text = f"the solver certifies a distance of at most {float(distance)!r}"
    if always is False:
        return Condition(f"condition: {text} on both neighbouring data sets{otherwise}")
    why = always if isinstance(always, str) else ""
    return resting_on(why, f"{text} on every data set{why and f': {why}'}")


def _solver_assumptions(
    proof: str, eta_max: float, sensitivity: float, solver_complete: Fact | bool
) -> tuple[str, ...]:
    otherwise = (
        "; a run that does not releases a data-independent matrix with the same noise, and such data sets "
        "are outside the claim"
    )
    return (
        given(
            f"l2 (Frobenius) sensitivity of the exact minimiser at most {sensitivity!r}; certified solver "
            f"distance of {eta_max!r} charged twice; the certificate is evaluated in float64, its "
            "rounding bounded and included",
            proof,
            Charged,
        ),
        reaching(eta_max, solver_complete, otherwise),
    )
