"""The linear algebra of the method at points against its definition, and the dispatcher's estimates."""

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.solve.sos_cone.newton import longest
from sosdp.relaxation.solve.sos_cone.normal import Factored, NotDefinite, squares
from sosdp.relaxation.solve.sos_cone.sampled import SampledBlock, SampledProgram


def programs():
    """Plain blocks, signs, a part of the points only, several rows a point, more points than a panel."""
    generator = np.random.default_rng(0)
    points = 300
    whole = SampledBlock(generator.standard_normal((points, 40)), np.arange(points))
    signed = SampledBlock(
        generator.standard_normal((points, 7)), np.arange(points), np.sign(generator.standard_normal(points))
    )
    part = SampledBlock(generator.standard_normal((90, 5)), np.arange(150, 240))
    double = SampledBlock(generator.standard_normal((200, 4)), np.repeat(np.arange(20, 220, 2), 2))
    f, H = generator.standard_normal(points), np.ones((points, 1))
    for blocks in ((whole,), (whole, signed, part), (whole, double)):
        yield SampledProgram(f, H, np.ones(1), blocks)


def test_the_schur_matrix_is_the_sum_of_squares():
    for program in programs():
        lower = squares(program, [b.rows for b in program.blocks])
        wanted = np.zeros_like(lower)
        for block in program.blocks:
            sign = np.ones(block.owner.size) if block.sign is None else block.sign
            entries = (block.rows @ block.rows.T) ** 2 * np.outer(sign, sign)
            np.add.at(wanted, (block.owner[:, None], block.owner[None, :]), entries)
        assert np.allclose(np.tril(lower), np.tril(wanted), rtol=1e-12, atol=1e-12)


def test_moments_are_adjoint_to_what_matrices_produce():
    generator = np.random.default_rng(1)
    for program in programs():
        x = generator.standard_normal(program.points)
        grams = [g + g.T for g in (generator.standard_normal((b.side, b.side)) for b in program.blocks)]
        left = float(x @ program.produced(grams))
        right = sum(float((b.moment(x) * g).sum()) for b, g in zip(program.blocks, grams, strict=True))
        assert left == pytest.approx(right, rel=1e-10)


@pytest.mark.parametrize("columns", [0, 1, 3, 9])
def test_solves_are_refined(columns):
    generator = np.random.default_rng(3)
    half = generator.standard_normal((200, 200)) * np.logspace(0, -5, 200)
    matrix = half @ half.T
    right = generator.standard_normal((200, columns)) if columns else generator.standard_normal(200)
    result = Factored(np.tril(matrix)).solve(right)
    size = np.abs(matrix).sum(axis=1).max() * np.abs(result).max(initial=0.0)
    assert np.abs(matrix @ result - right).max(initial=0.0) <= 1e-13 * max(size, 1.0)


def test_an_indefinite_matrix_has_no_factor():
    for refused in (
        lambda: Factored(np.diag([1.0, -1.0, 2.0])),
        lambda: Factored(np.diag([1.0, 0.0, 2.0]), regularise=False),
    ):
        with pytest.raises(NotDefinite):
            refused()


def test_the_longest_step_is_from_below():
    generator = np.random.default_rng(4)
    for count, size in ((1, 2), (5, 11), (1, 60), (3, 30), (1, 230)):
        change = generator.standard_normal((count, size, size))
        change = change + change.transpose(0, 2, 1)
        s = generator.random((count, size)) + 0.5
        h = 1 / np.sqrt(s)
        least = np.linalg.eigvalsh(h[:, :, None] * change * h[:, None, :]).min()
        truth = min(1.0, -1.0 / least)
        result = longest(s, change, 1.0)
        assert truth - 0.032 <= result <= truth + 1e-12
        assert longest(s, change, 0.5 * truth) == 0.5 * truth


def test_goldstein_price_of_degree_14_is_not_at_the_floor_any_more():
    a, b = x = sd.variables("x", 2)
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    other = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    result = sd.minimize(one * other, sd.System(*[4 - v**2 >= 0 for v in x]), 14, solver="sos_cone")
    assert result.bound == pytest.approx(3, abs=1e-4) and 3 - 1e-4 <= result.certified_bound <= 3
