"""Diagonally dominant and scaled dominant Gram matrices: exact values, order, certified, honest."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import sosdp as sd
from sosdp.model.options import CONES
from sosdp.relaxation.functionals import gram_factor
from tests.refusals import refuse

x, y, z = sd.variables("x y z")
(b,) = sd.variables("b", 1)
xs = sd.variables("q", 4)


def _quartic(seed: int, homogeneous: bool = False) -> sd.Polynomial:
    rng = np.random.default_rng(seed)
    basis = [m for m in sd.monomials(xs, 4) if m.degree == 4 or not homogeneous]
    return sum((float(c) * m for c, m in zip(rng.normal(size=len(basis)), basis)), sd.polynomial(0))


BALL = sd.System(sum(v * v for v in xs) <= 1)
BOX = sd.System([v * v <= 4 for v in xs])
CUBE = sd.System([v * v == 1 for v in xs])


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("system", [BALL, BOX, CUBE], ids=["ball", "box", "cube"])
def test_smaller_cones_give_smaller_bounds_that_are_still_proven(system, seed):
    f = _quartic(seed)
    best = {c: sd.minimize(f, system, 4, cone=c) for c in CONES}
    assert all(r.status == "optimal" for r in best.values())
    slack = 1e-5
    assert best["dsos"].bound <= best["sdsos"].bound + slack
    assert best["sdsos"].bound <= best["sos"].bound + slack
    assert best["dsos"].bound < best["sos"].bound - 0.01  # the cones differ here
    points = np.random.default_rng(seed).uniform(-1, 1, size=(400, 4))
    points = {"ball": points / 2, "box": 2 * points, "cube": np.sign(points)}[
        "ball" if system is BALL else "box" if system is BOX else "cube"
    ]
    least = min(f(p) for p in [dict(zip(xs, row)) for row in points])
    for result in best.values():
        assert result.certified_bound <= least
        assert result.certified_bound == pytest.approx(result.bound, abs=1e-4)
    assert best["dsos"].sizes["cone"] == "dsos" and "cone" not in best["sos"].sizes


def test_two_variables_where_only_dominance_loses():
    """x^2 + 4 y^2 + 2 b x y: semidefinite and scaled dominant for |b| <= 2, dominant for |b| <= 1."""
    for cone, value in (("dsos", 1.0), ("sdsos", 2.0), ("sos", 2.0)):
        answer = sd.SosProgram([b], cone=cone).require(x**2 + 4 * y**2 + 2 * b * x * y).maximize(b)
        assert answer.bound == pytest.approx(value, abs=1e-6)
        assert value - 1e-5 <= answer.certified_bound <= value


def test_three_variables_where_scaled_dominance_loses():
    """1 on and b off the diagonal: semidefinite for b <= 1, dominant in either sense for b <= 1/2."""
    form = x**2 + y**2 + z**2 + 2 * b * (x * y + y * z + x * z)
    for cone, value in (("dsos", 0.5), ("sdsos", 0.5), ("sos", 1.0)):
        answer = sd.SosProgram([b]).require(form, cone=cone).maximize(b)
        assert answer.bound == pytest.approx(value, abs=1e-6)
        assert value - 1e-5 <= answer.certified_bound <= value


def test_the_linear_program_is_the_one_of_the_definition():
    """Against linprog on all non-negative combinations of b_i^2 g and (b_i +- b_j)^2 g.

    The box has half-width 2: the engine rescales it to a unit box, and dominance must not be."""
    f = _quartic(3)

    def powers(k: int) -> list[tuple[int, ...]]:
        return [e for e in product(range(k + 1), repeat=4) if sum(e) <= k]

    def times(p: dict, q: dict) -> dict:
        out: dict = {}
        for (a, c), (d, e) in product(p.items(), q.items()):
            key = tuple(np.add(a, d))
            out[key] = out.get(key, 0.0) + c * e
        return out

    zero, unit = (0,) * 4, np.eye(4, dtype=int)
    multipliers = [({zero: 1.0}, 2)]
    multipliers += [({zero: 4.0, tuple(2 * unit[i]): -1.0}, 1) for i in range(4)]
    rays = []
    for g, half in multipliers:
        basis = powers(half)
        for i, a in enumerate(basis):
            rays.append(times(times({a: 1.0}, {a: 1.0}), g))
            for c in basis[i + 1 :]:
                for sign in (1.0, -1.0):
                    rays.append(times(times({a: 1.0, c: sign}, {a: 1.0, c: sign}), g))
    row = {e: i for i, e in enumerate(powers(4))}
    A = np.zeros((len(row), len(rays) + 1))
    for j, ray in enumerate(rays):
        for e, value in ray.items():
            A[row[e], j] += value
    A[row[zero], -1] = 1.0
    right = np.zeros(len(row))
    ids = [int(v.variable_ids[0]) for v in xs]
    for mono, c in zip(f.monos, f.coefs):
        right[row[tuple(int((mono == i).sum()) for i in ids)]] += float(c)
    limits = [(0, None)] * len(rays) + [(None, None)]
    known = linprog(np.append(np.zeros(len(rays)), -1.0), A_eq=A, b_eq=right, bounds=limits)
    assert sd.minimize(f, BOX, 4, cone="dsos").bound == pytest.approx(-known.fun, rel=1e-6)


def test_moments_satisfy_the_dual_conditions_only():
    result = sd.minimize(_quartic(0), BALL, 4, cone="sdsos")
    M = result.moment_matrix()
    assert (np.outer(np.diag(M), np.diag(M)) - M**2 >= -1e-6).all()
    assert np.linalg.eigvalsh(M)[0] < -0.01
    assert result.atoms().shape == (0, 4) and not result.exact
    refuse((lambda: gram_factor(result, result.basis_monomials()), "cone='sos'"))
    dominant = sd.minimize(_quartic(0), BALL, 4, cone="dsos").moment_matrix()
    d = np.diag(dominant)
    assert (d[:, None] + d[None, :] - 2 * np.abs(dominant) >= -1e-6).all()


def test_refutations_and_their_absence():
    empty = sd.System(x**2 + y**2 <= 1, x >= 1.5)
    for cone in CONES:
        assert sd.feasible(empty, 2, cone=cone).status == "infeasible"
    subtle = sd.System(x + y + z == 0, x**2 + y**2 + z**2 >= 1, x * y + y * z + x * z >= 0)
    assert sd.feasible(subtle, 2).status == "infeasible"
    for cone in CONES:
        assert sd.feasible(subtle, 2, cone=cone).status in ("infeasible", "optimal")
    unbounded = sd.minimize((x + y + z) ** 2, None, cone="sdsos")
    assert unbounded.status == "unbounded" and "cone='sdsos'" in unbounded.reason


def test_a_dominant_certificate_is_an_ordinary_one():
    from certificates import extract

    p = x**4 + y**4 + x**2 * y**2 - x * y + x
    assert extract(sd.minimize(p, sd.System(x**2 + y**2 <= 4), 4, cone="sdsos")).exact().verify()


@pytest.mark.parametrize("cone", ["sdsos", "dsos"])
def test_symmetry_merges_pieces_without_loss(cone):
    w = sd.variables("w", 5)
    f = sum(v**4 for v in w) - sum(w) ** 2 + 0.5 * sum(v**3 for v in w)
    ball = sd.System(sum(v * v for v in w) <= 3)
    plain = sd.minimize(f, ball, 4, cone=cone)
    merged = sd.minimize(f, ball, 4, cone=cone, symmetries=sd.interchange(w))
    assert merged.bound == pytest.approx(plain.bound, abs=1e-5)
    assert merged.certified_bound == pytest.approx(plain.bound, abs=1e-4)
    assert merged.sizes["cone_pieces"] < plain.sizes["cone_pieces"] / 5


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "options",
    [
        {"sparsity": "term"},
        {"sparsity": "correlative"},
        {"quotient": False},
        {"symmetry": "none", "prune": False},
        {"products": "schmudgen"},
        {"symmetry": "auto"},
        {"solver": "scs", "tolerance": 1e-9},
    ],
    ids=str,
)
def test_together_with_everything_else(options):
    f = x**2 * y - y * z + z**3 - x
    system = sd.System(x**2 <= 1, y**2 <= 1, z**2 <= 1, x + y + z >= -2)
    plain = sd.minimize(f, system, 4, cone="sdsos")
    other = sd.minimize(f, system, 4, cone="sdsos", **options)
    corners = np.array(list(product(np.linspace(-1, 1, 9), repeat=3)))
    corners = corners[corners.sum(axis=1) >= -2]
    least = min(f(x=p, y=q, z=r) for p, q, r in corners)
    assert other.certified_bound <= least
    if "products" in options:
        assert other.bound >= plain.bound - 1e-6
    elif options.get("sparsity") != "correlative":
        assert other.bound == pytest.approx(plain.bound, abs=1e-4)
    else:
        assert other.bound <= plain.bound + 1e-6


def test_matrix_inequalities_expectations_and_for_all():
    v = sd.variables("v", 2)
    matrix = sd.System(sd.PSD([[1 - x, y], [y, 1 + x]]), x**2 + y**2 <= 2)
    whole = sd.minimize(x + y, matrix, 2)
    for cone in ("sdsos", "dsos"):
        answer = sd.minimize(x + y, matrix, 2, cone=cone)
        assert answer.certified_bound <= whole.certified_bound + 1e-6 and answer.certified_bound > -3
    relaxation = sd.Relaxation(sd.System(x**2 <= 4, y**2 <= 4), 2, cone="sdsos")
    moment = relaxation.E(np.array([[2 - x * x, x * y], [x * y, 2 - y * y]], dtype=object))
    assert relaxation.maximize(x + y, subject_to=moment.psd()).certified_bound >= 2
    every = sd.System(sd.for_all(v, v @ v - (x * v[0] + y * v[1]) ** 2 >= 0))
    answer = sd.minimize(x + y, every, 4, cone="sdsos")
    assert answer.certified_bound is not None and answer.certified_bound <= -np.sqrt(2)


def test_programs_mix_cones():
    c, d = sd.variables("c d")
    program = sd.SosProgram([c, d])
    program.require(x**2 + 4 * y**2 + 2 * c * x * y, cone="dsos")
    program.require(x**2 + 4 * y**2 + 2 * d * x * y)
    answer = program.maximize(c + d)
    assert answer.bound == pytest.approx(3, abs=1e-6)
    assert 3 - 1e-4 <= answer.certified_bound <= 3
    t, M = sd.variables("t_dom"), np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 4.0]])
    least = sd.SosProgram([t]).require_psd(M - t * np.eye(3), cone="dsos").maximize(t)
    assert least.bound == pytest.approx((2 * np.diag(M) - M.sum(axis=1)).min(), abs=1e-6)  # Gershgorin


def test_bad_requests():
    refuse(
        (lambda: sd.minimize(x**2, cone="sdd"), "cone='sdd' is not known"),
        (lambda: sd.SosProgram([b]).require(x**2 + b, cone="lp"), "cone='lp' is not known"),
        (lambda: sd.Relaxation(BALL, 2, cone="dsos").to_cvxpy(), "cone='sos'"),
    )
