"""Sensitivities of strongly convex programs, and the release of their minimisers."""

import math
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.mechanisms.output_perturbation import (
    NoisyArray,
    ProjectionProgram,
    StrongConvexProgram,
    release_symmetric,
    release_vector,
)
from sosdp.privacy.verification.strongly_convex import falsify_program
from tests.refusals import each, refusals, refuse


def sbm_program(n: int, gamma_d: float) -> ProjectionProgram:
    """Scaled projection of the block model: one pair of entries of Y moves by n / (gamma d)."""
    move = n / gamma_d
    return ProjectionProgram(shift_l1=2 * move, shift_frobenius=math.sqrt(2) * move, low=-1.0, high=1.0)


def test_block_model_constants() -> None:
    n, gamma_d = 500, 100.0
    program = sbm_program(n, gamma_d)
    assert program.sensitivity() == pytest.approx(2 * math.sqrt(n / gamma_d))
    assert program.sensitivity("paper") == pytest.approx(math.sqrt(24 * n / gamma_d))
    assert program.sensitivity("paper") / program.sensitivity() == pytest.approx(math.sqrt(6))
    # Beyond gamma d > n/2 the projection is better bounded by being non-expansive.
    assert sbm_program(4, 3.6).sensitivity() == pytest.approx(math.sqrt(2) * 4 / 3.6)


def test_tight_takes_the_least_supplied_bound() -> None:
    assert StrongConvexProgram(2.0, alpha=4.0).sensitivity() == pytest.approx(2.0)
    assert StrongConvexProgram(2.0, alpha=4.0, oscillation=2.0).sensitivity() == pytest.approx(1.0)
    assert StrongConvexProgram(2.0, alpha=4.0, lipschitz=0.5).sensitivity() == pytest.approx(0.25)
    moving = StrongConvexProgram(2.0, fixed_set=False, alpha=4.0, radius=0.5)
    assert moving.sensitivity() == pytest.approx(2.5)
    assert moving.sensitivity("paper") == pytest.approx(math.sqrt(24.0))
    assert moving.effective_sensitivity(0.1) == pytest.approx(2.7)
    assert moving.effective_sensitivity(0.1) >= 2.7


def test_paper_mode_is_refused_outside_its_lemma() -> None:
    distant = StrongConvexProgram(2.0, fixed_set=False, alpha=4.0, radius=1.5)
    assert distant.sensitivity() == pytest.approx(3.5)
    refuse(
        (lambda: distant.sensitivity("paper"), "radius"),
        (lambda: StrongConvexProgram(2.0, lipschitz=1.0).sensitivity("paper"), "alpha"),
        (lambda: distant.sensitivity("best"), "mode"),
    )


def test_published_constant_really_fails_for_large_radius() -> None:
    """Points on a circle: equal values, so alpha = 0, while the minimiser moves by the radius of the
    claim.
    """
    program = StrongConvexProgram(2.0, fixed_set=False, alpha=0.0, radius=1.0)
    assert program.sensitivity() == 1.0
    refuse((lambda: program.sensitivity("paper"), "radius"))


def test_sharp_lemma_on_moving_boxes() -> None:
    """Nearest point of a random box to a random point, both moving: the bound holds and is nearly
    attained.
    """
    generator = np.random.default_rng(5)
    closest = 0.0
    for _ in range(4000):
        low = generator.normal(size=(2, 2))
        high = low + generator.exponential(size=(2, 2))
        target = 2.0 * generator.normal(size=(2, 2))
        if generator.random() < 0.5:  # small moves are where the bound is tight
            shrink = 10.0 ** generator.uniform(-3, 0)
            low[1], high[1], target[1] = (a[0] + shrink * (a[1] - a[0]) for a in (low, high, target))
        best = np.clip(target, low, high)
        alpha = radius = 0.0
        for here, there in ((0, 1), (1, 0)):
            moved = np.clip(best[here], low[there], high[there])
            values = ((best[here] - target[here]) ** 2).sum(), ((moved - target[there]) ** 2).sum()
            alpha = max(alpha, abs(values[0] - values[1]))
            radius = max(radius, float(np.linalg.norm(best[here] - moved)))
        program = StrongConvexProgram(2.0, fixed_set=False, alpha=alpha, radius=radius)
        distance = float(np.linalg.norm(best[0] - best[1]))
        assert distance <= program.sensitivity() * (1 + 1e-12)
        if program.sensitivity() > 0:
            closest = max(closest, distance / program.sensitivity())
    assert closest > 0.8


def _project(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Nearest point of {X symmetric, |X| <= 1 entrywise}: exact."""
    return np.clip(0.5 * (matrix + matrix.T), -1.0, 1.0), 0.0


def _neighbours() -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(2)
    pairs = []
    for _ in range(60):
        matrix = 0.7 * generator.normal(size=(4, 4))
        matrix += matrix.T
        other = matrix.copy()
        i, j = generator.choice(4, 2, replace=False)
        other[i, j] += 2.0
        other[j, i] += 2.0
        pairs.append((matrix, other))
    extreme = np.zeros((4, 4))
    extreme[0, 1] = extreme[1, 0] = -1.0
    distant = extreme.copy()
    distant[0, 1] = distant[1, 0] = 1.0
    return [*pairs, (extreme, distant)]


def _attacked(program: ProjectionProgram):
    """The falsifier on given pairs: every first matrix has one neighbour."""
    pairs = _neighbours()
    others = {first.tobytes(): second for first, second in pairs}
    neighbours = SimpleNamespace(every=lambda first: [others[first.tobytes()]])
    return falsify_program(program, [first for first, _ in pairs], neighbours=neighbours).sensitivity


def test_falsifier_accepts_the_truth_and_refutes_a_lie() -> None:
    report = _attacked(ProjectionProgram(shift_l1=4.0, low=-1.0, high=1.0, solve=_project))
    assert not report.refuted
    assert report.pairs == 61
    assert report.ratio == pytest.approx(1.0)  # attained at the last pair
    lie = ProjectionProgram(shift_l1=2.0, low=-1.0, high=1.0, solve=_project)
    refuted = _attacked(lie)
    assert refuted.refuted and (refuted.worst[0] == _neighbours()[60][0]).all()


def test_falsifier_does_not_blame_solver_error() -> None:
    rough = ProjectionProgram(
        shift_l1=3.9, low=-1.0, high=1.0, solve=lambda matrix: (_project(matrix)[0], 0.1)
    )
    report = _attacked(rough)
    assert report.ratio > 1.0
    assert not report.refuted


def test_firm_non_expansiveness_on_correlation_like_sets() -> None:
    """t^2 <= <Y' - Y, X' - X> on random polyhedral projections (simplex), where nothing is separable."""
    generator = np.random.default_rng(8)

    def simplex(point: np.ndarray) -> np.ndarray:
        ordered = np.sort(point)[::-1]
        excess = (np.cumsum(ordered) - 1.0) / np.arange(1, point.size + 1)
        level = excess[np.nonzero(ordered > excess)[0][-1]]
        return np.maximum(point - level, 0.0)

    for _ in range(500):
        first = generator.normal(size=6)
        second = first + generator.normal(size=6) * 10.0 ** generator.uniform(-2, 1)
        move = simplex(second) - simplex(first)
        assert move @ move <= (second - first) @ move + 1e-12
        program = ProjectionProgram(
            shift_l1=float(np.abs(second - first).sum()),
            shift_frobenius=float(np.linalg.norm(second - first)),
            low=0.0,
            high=1.0,
        )
        assert np.linalg.norm(move) <= program.sensitivity() + 1e-12


# ------------------------------------------------------------------------------------------------------------


def release(matrix: np.ndarray, **more: object):
    arguments: dict = {
        "sensitivity_frobenius": 2.0,
        "eta_max": 0.01,
        "certified_eta": 0.001,
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "one edge",
    }
    return release_symmetric(matrix, **{**arguments, **more})


def test_released_matrix() -> None:
    n = 30
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    made = release(np.outer(signs, signs), epsilon=50.0, insecure_seed=4)
    noisy: NoisyArray = made.value
    matrix = noisy.values()
    assert matrix.shape == (n, n)
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 1.0).all()
    upper = np.triu_indices(n, 1)
    assert (matrix - np.outer(signs, signs))[upper].std() == pytest.approx(noisy.scale, rel=0.15)
    assert made.public == {"n": n}
    assert made.guarantee.kind == "none"


def test_noise_is_calibrated_to_the_triangle_and_the_certificate() -> None:
    from sosdp.privacy import calibrate

    made = release(np.eye(10))
    expected = calibrate.gaussian_sigma_tight(1.0, 1e-6) * (2.0 + 2 * 0.01) / math.sqrt(2)
    assert made.value.scale == pytest.approx(expected, rel=1e-5)
    assert made.value.scale >= expected
    paper = release(np.eye(10), calibration="paper")
    assert paper.value.scale / made.value.scale == pytest.approx(5.38677 / 4.22468, rel=1e-4)
    concentrated = release(np.eye(10), epsilon=None, delta=None, rho=0.5)
    assert concentrated.guarantee.rho == 0.5
    assert concentrated.guarantee.epsilon is None
    assert concentrated.value.scale == pytest.approx(2.02 / math.sqrt(2), rel=1e-5)


@pytest.mark.parametrize("eta", [0.5, math.nan, math.inf, None])
def test_missed_certificate_changes_nothing_that_is_public(eta: float | None) -> None:
    made = release(np.full((12, 12), 0.9), certified_eta=eta, insecure_seed=9)
    plain = release(np.zeros((12, 12)), certified_eta=0.0, insecure_seed=9)
    assert made == plain  # the fallback (zero off the diagonal) was released, with the same noise
    assert made.guarantee == plain.guarantee
    assert made.private_diagnostics["fallback_used"]
    assert not plain.private_diagnostics["fallback_used"]
    assert not pickle.loads(pickle.dumps(made)).private_diagnostics


def test_kind_is_chosen_by_public_knowledge_only() -> None:
    for eta in (0.0, 1.0):
        assert release(np.eye(3), certified_eta=eta).guarantee.kind == "conditional"
        complete = release(np.eye(3), certified_eta=eta, solver_complete=Fact("no solver runs"))
        assert complete.guarantee.conditions[0].startswith("condition: l2 (Frobenius) sensitivity")
        kinds = [
            release(
                np.eye(3), certified_eta=eta, solver_complete=always, proof=Fact("an example")
            ).guarantee.kind
            for always in (Fact("no solver runs"), True, "no solver runs")
        ]
        assert kinds == ["certified", "heuristic", "heuristic"]
    guarantee = release(np.eye(3)).guarantee
    assert any("outside the claim" in line for line in guarantee.assumptions)
    assert any("charged twice" in line for line in guarantee.assumptions)
    assert any("grid" in line for line in guarantee.assumptions)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e308, -1e300, 5e-324])
def test_hostile_entries_raise_and_warn_nothing(poison: float) -> None:
    matrix = np.eye(5)
    matrix[1, 3] = poison
    matrix[4, 0] = poison
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = release(matrix)
        vector = release_vector(
            matrix, sensitivity=1.0, rho=0.1, adjacency="one record (replace)", low=-1.0, high=1.0
        )
    assert made.guarantee == release(np.eye(5)).guarantee
    assert np.isfinite(made.value.values()).all()
    assert np.isfinite(vector.value.values()).all()


def test_lower_triangle_and_diagonal_are_never_read() -> None:
    matrix = np.eye(6)
    other = matrix + np.tril(np.full((6, 6), 7.0))
    assert release(matrix, insecure_seed=2) == release(other, insecure_seed=2)


def test_random_draws_differ() -> None:
    assert release(np.eye(8)) != release(np.eye(8))


test_refusals = refusals(
    *each(
        lambda arguments: StrongConvexProgram(**arguments),
        [
            {"kappa": 0.0, "alpha": 1.0},
            {"kappa": 1.0},
            {"kappa": 1.0, "alpha": -1.0},
            {"kappa": 1.0, "alpha": math.nan},
            {"kappa": 1.0, "fixed_set": False, "alpha": 1.0},
            {"kappa": 1.0, "fixed_set": False, "alpha": 1.0, "radius": 1.0, "lipschitz": 1.0},
        ],
        r"[a-z]",
    ),
    (lambda: ProjectionProgram(), "shift_l1"),
    (lambda: ProjectionProgram(shift_l1=1.0, low=1.0, high=-1.0), "interval"),
    (lambda: ProjectionProgram(kappa=1.0, shift_l1=1.0), "kappa"),
    (lambda: _attacked(ProjectionProgram(shift_l1=2.0)), "solver"),
    *each(
        lambda arguments: release(np.eye(4), **arguments),
        [
            {"epsilon": -1.0},
            {"delta": 1.0},
            {"sensitivity_frobenius": 0.0},
            {"eta_max": -1.0},
            {"eta_max": math.nan},
            {"low": 1.0, "high": -1.0},
            {"calibration": "loose"},
            {"rho": 1.0},
        ],
        r"[a-z]",
    ),
    *each(lambda shape: release(np.zeros(shape)), [(3,), (2, 3), (1, 1), (0, 0)], "square"),
)
