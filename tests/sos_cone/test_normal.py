"""The linear algebra of the method at points against its definition, and the dispatcher's estimates."""

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.solve.sos_cone.newton import longest
from sosdp.relaxation.solve.sos_cone.normal import Factored, NotDefinite
from tests.refusals import each, refusals

test_an_indefinite_matrix_has_no_factor = refusals(
    *each(
        lambda refused: refused(),
        (
            lambda: Factored(np.diag([1.0, -1.0, 2.0])),
            lambda: Factored(np.diag([1.0, 0.0, 2.0]), regularise=False),
        ),
        None,
        NotDefinite,
    )
)


def test_the_longest_step_is_from_below():
    generator = np.random.default_rng(4)
    for count, size in ((1, 2), (5, 11), (1, 60), (3, 30), (1, 230)):
        change = generator.standard_normal((count, size, size))
        change = change + change.transpose(0, 2, 1)
        s = generator.random((count, size)) + 0.5
        h = 1 / np.sqrt(s)
        least = np.linalg.eigvalsh(h[:, :, None] * change * h[:, None, :]).min()
        truth = min(1.0, -1.0 / least)
        assert truth - 0.032 <= longest(s, change, 1.0) <= truth + 1e-12
        assert longest(s, change, 0.5 * truth) == 0.5 * truth


def test_goldstein_price_of_degree_14_is_not_at_the_floor_any_more():
    a, b = x = sd.variables("x", 2)
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    other = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    result = sd.minimize(one * other, sd.System(*[4 - v**2 >= 0 for v in x]), 14, solver="sos_cone")
    assert result.bound == pytest.approx(3, abs=1e-4) and 3 - 1e-4 <= result.certified_bound <= 3
