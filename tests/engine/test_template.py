"""Warm solves: new numbers in an old structure give what building anew gives, and nothing is replanned."""

from dataclasses import replace

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation import relaxation as module
from sosdp.relaxation.build.assemble import assemble

x = sd.variables("x", 4)
(t,) = sd.variables("T", 1)


def _same(a, b):
    """Whether two identities have the same columns, up to order, and the same numbers."""
    assert a.columns.shape == b.columns.shape
    left, right = (np.lexsort(i.columns.T[::-1]) for i in (a, b))
    assert np.array_equal(a.columns[left], b.columns[right])
    for part in ("gram", "free", "unknown"):
        one, other = getattr(a, part).toarray()[:, left], getattr(b, part).toarray()[:, right]
        assert np.array_equal(one, other)
    assert np.array_equal(a.target[left], b.target[right])


def _system(k):
    v = sd.variables("v", 2)
    return {
        "inequalities": lambda r: sd.System(x @ x <= r, x[0] * x[1] >= r / 10),
        "equalities": lambda r: sd.System(x @ x == r, x[0] + r * x[1] == 1),
        "binary": lambda r: sd.System([xi * xi == xi for xi in x], r * x[0] + x.sum() <= 3),
        "vanishing": lambda r: sd.System([xi * xi == xi for xi in x], x[0] * x[1] == 0, x.sum() <= r),
        "matrix": lambda r: sd.System(sd.PSD([[r, x[0]], [x[0], 1 + x[1] * r]]), x @ x <= 4),
        "for all": lambda r: sd.System(sd.for_all(v, r * (v @ v) ** 2 - (x[:2] @ v) ** 4 >= 0), x @ x <= 9),
    }[k]


KINDS = ("inequalities", "equalities", "binary", "vanishing", "matrix", "for all")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"products": "schmudgen"}, {"sparsity": "term"}])
def test_filling_is_building(kind, options):
    make = _system(kind)
    objective = (x**2).sum() + x[0] * x[2] - x[1]
    warm = sd.Relaxation(make(2.0), 4, **options)
    warm.assemble(objective)
    warm.assemble(objective)
    for r in (3.0, 0.5, 2.0, 7.25):
        again = sd.Relaxation(make(r), 4, **options)
        again._warm = warm._warm
        before = warm._warm.reused
        filled, _ = again.assemble(3 * (x**2).sum() - x[0] * x[2] + 5 * x[1])
        assert warm._warm.reused == before + 1
        anew, _ = sd.Relaxation(make(r), 4, **options).assemble(3 * (x**2).sum() - x[0] * x[2] + 5 * x[1])
        _same(filled, anew)
        assert [b.kind for b in filled.blocks] == [b.kind for b in anew.blocks]


def test_an_objective_with_the_same_monomials_is_not_planned_again(monkeypatch):
    planned = []
    original = module.plan
    monkeypatch.setattr(module, "plan", lambda *a, **k: planned.append(1) or original(*a, **k))
    relax = sd.Relaxation(sd.System(x @ x <= 1), 4)
    cold = [sd.minimize(c * x[0] + x[1] ** 2, sd.System(x @ x <= 1), 4) for c in (1, 2, 3, -4, 5)]
    planned.clear()
    warm = [relax.minimize(c * x[0] + x[1] ** 2) for c in (1, 2, 3, -4, 5)]
    assert len(planned) == 2 and relax._warm.reused == 3
    for a, b in zip(cold, warm, strict=True):
        assert a.bound == pytest.approx(b.bound, abs=1e-7)
        assert b.certified_bound == pytest.approx(b.bound, abs=1e-5)
    relax.minimize(x[2] ** 3 + x[0])  # another structure
    assert len(planned) == 3


def test_bisection_plans_twice_at_most(monkeypatch):
    planned = []
    original = module.plan
    monkeypatch.setattr(module, "plan", lambda *a, **k: planned.append(1) or original(*a, **k))
    system = sd.System(x[0] ** 2 + x[1] ** 2 <= 1, x[0] + x[1] >= 1, x[0] - x[1] <= t)
    found = sd.Relaxation(system, 2).bisect(t, -3, 3, tolerance=1e-3)
    assert found.low <= -1 <= found.high + 1e-6 and found.high - found.low <= 2e-3
    assert found.solves > 8 and len(planned) == 2


@pytest.mark.parametrize("other", [sd.System(x @ x <= 1, x[0] >= 0), sd.System(x @ x + x[0] ** 3 <= 1)])
def test_a_different_structure_is_noticed(other):
    relax = sd.Relaxation(sd.System(x @ x <= 1), 4)
    for _ in range(2):
        relax.assemble(x[0])
    changed = sd.Relaxation(other, 4)
    changed._warm = relax._warm
    reused = relax._warm.reused
    identity, _ = changed.assemble(x[0])
    assert relax._warm.reused == reused
    _same(identity, sd.Relaxation(other, 4).assemble(x[0])[0])


def test_a_coefficient_that_vanishes_leaves_no_entry():
    make = _system("inequalities")
    relax = sd.Relaxation(make(2.0), 4)
    for _ in range(2):
        relax.assemble(x[0])
    at_zero = sd.Relaxation(make(0.0), 4)
    at_zero._warm = relax._warm
    identity, layout = at_zero.assemble(x[0])
    assert (identity.gram.data != 0).all()
    anew = assemble(identity.blocks, [], x[0], [-1.0 * sd.polynomial(1)], layout.quotient, layout.ids)
    _same(replace(identity, equalities=()), replace(anew, equalities=()))


def test_reductions_that_depend_on_numbers_are_made_anew():
    relax = sd.Relaxation(sd.System(x @ x <= 1), 4, symmetry="auto")
    for c in (1, 2, 3):
        assert relax.minimize(c * (x**4).sum() - (x**2).sum()).status == "optimal"
    assert relax._warm.reused == 0
