"""The samplers follow their laws, and nothing between data and noise overflows or depends on the data."""

from __future__ import annotations

import ast
import math
import pathlib
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sosdp.privacy
from sosdp.privacy import audit, noise

FLOOR = 1e-6  # operating-system randomness: a false alarm once in a million runs per test


def _chi_square(drawn: np.ndarray, support: np.ndarray, law: np.ndarray) -> float:
    """p-value of counts on `support`, atoms with small expectation gathered into one."""
    expected = law * drawn.size
    big = expected >= 10.0
    observed = np.array([(drawn == k).sum() for k in support[big]], dtype=float)
    rest_observed = drawn.size - observed.sum()
    rest_expected = drawn.size - expected[big].sum()
    if rest_expected >= 5.0:
        observed = np.append(observed, rest_observed)
        wanted = np.append(expected[big], rest_expected)
    else:
        wanted = expected[big] * observed.sum() / expected[big].sum()
    return float(stats.chisquare(observed, wanted).pvalue)


@pytest.mark.parametrize("units", [0.4, 1.0, 3.7])
@pytest.mark.parametrize("seed", [None, 7])
def test_gaussian_law(units: float, seed: int | None) -> None:
    drawn = noise.gaussian(40_000, units, 1, insecure_seed=seed)
    support, law = audit.discrete_gaussian_law(units)
    assert _chi_square(drawn, support, law) > FLOOR


@pytest.mark.parametrize("units", [0.4, 1.0, 3.7])
@pytest.mark.parametrize("seed", [None, 7])
def test_laplace_law(units: float, seed: int | None) -> None:
    drawn = noise.laplace(40_000, units, 1, insecure_seed=seed)
    law = audit.discrete_laplace_law(units, math.ceil(40 * units) + 2)
    support = np.array(sorted(law))
    assert _chi_square(drawn, support, np.array([law[int(k)] for k in support])) > FLOOR


@pytest.mark.parametrize("units", [2.0**20, 1.37 * 2.0**38])
def test_large_scales(units: float) -> None:
    gaussian = noise.gaussian(20_000, units, 1) / units
    assert stats.kstest(gaussian, "norm").pvalue > FLOOR
    laplace = noise.laplace(20_000, units, 1) / units
    assert stats.kstest(laplace, "laplace").pvalue > FLOOR
    low_bits = noise.gaussian(20_000, units, 1) & 15
    assert stats.chisquare(np.bincount(low_bits, minlength=16)).pvalue > FLOOR


def test_law_with_rounded_scale_is_detectably_not_a_neighbouring_one() -> None:
    """Negative control of the chi-square test: a scale 10 % off is seen."""
    drawn = noise.gaussian(40_000, 3.7, 1, insecure_seed=3)
    support, law = audit.discrete_gaussian_law(3.7 * 1.1)
    assert _chi_square(drawn, support, law) < FLOOR


@pytest.mark.parametrize("seed", [None, 11])
def test_coin_flips(seed: int | None) -> None:
    threshold = (1 << 64) // 5
    flips = noise.coin_flips((300, 700), threshold, insecure_seed=seed)
    assert flips.shape == (300, 700)
    assert stats.binomtest(int(flips.sum()), flips.size, 0.2).pvalue > FLOOR
    pairs = flips.ravel()[:-1].astype(int) + 2 * flips.ravel()[1:]
    expected = np.array([0.64, 0.16, 0.16, 0.04])
    counts = np.bincount(pairs[::2], minlength=4)
    assert stats.chisquare(counts, expected * counts.sum()).pvalue > FLOOR
    assert not noise.coin_flips(1000, 0).any()
    assert noise.coin_flips(1000, 1 << 64).all()
    for bad in (-1, (1 << 64) + 1, 0.5, True):
        with pytest.raises(ValueError, match="threshold"):
            noise.coin_flips(3, bad)  # type: ignore[arg-type]


def test_symmetric_matrix() -> None:
    matrix = noise.symmetric_gaussian(40, 1000.0, 1.0, insecure_seed=1)
    assert matrix.dtype == np.int64
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 0).all()
    upper = matrix[np.triu_indices(40, 1)]
    assert np.unique(upper).size > 700
    assert upper.std() == pytest.approx(1000.0, rel=0.1)
    drawn = noise.symmetric_gaussian(40, 1000.0, 1.0, diagonal=True, insecure_seed=1)
    assert (np.diag(drawn) != 0).sum() > 30


def test_seed_repeats_and_default_does_not() -> None:
    assert (noise.gaussian(50, 1e6, 1, insecure_seed=5) == noise.gaussian(50, 1e6, 1, insecure_seed=5)).all()
    assert (noise.gaussian(50, 1e6, 1) != noise.gaussian(50, 1e6, 1)).any()


def test_shapes() -> None:
    assert noise.gaussian((), 10.0, 1).shape == ()
    assert noise.laplace((2, 3), 10.0, 1).shape == (2, 3)
    assert noise.gaussian(0, 10.0, 1).shape == (0,)


@pytest.mark.parametrize(
    ("scale", "grid"),
    [(0.01, 1.0), (2.0**41, 1.0), (0.0, 1.0), (1.0, 0.0), (math.nan, 1.0), (1.0, math.inf), (-1.0, 1.0)],
)
def test_bad_scales(scale: float, grid: float) -> None:
    with pytest.raises(ValueError, match="scale|grid"):
        noise.gaussian(3, scale, grid)


def test_units_are_rounded_up_only_when_they_must() -> None:
    assert noise.noise_units(3.0, 2.0**-20) == 3.0 * 2.0**20
    third = noise.noise_units(Fraction(10), Fraction(3))
    assert Fraction(third) >= Fraction(10, 3)
    assert Fraction(math.nextafter(third, 0.0)) < Fraction(10, 3)


def test_quantise() -> None:
    values = np.array([0.3, -0.7, math.nan, math.inf, -math.inf, 5.0, 1e308, 5e-324])
    counts = noise.quantise(values, 0.25, low=-1.0, high=1.0)
    assert counts.tolist() == [1, -3, 0, 4, -4, 4, 4, 0]
    assert noise.quantise(math.nan, 0.25, low=0.5, high=1.0, missing=0.8).tolist() == 3
    with pytest.raises(ValueError, match="power of two"):
        noise.quantise(values, 0.3, low=-1.0, high=1.0)
    with pytest.raises(ValueError, match="box"):
        noise.quantise(values, 0.25, low=1.0, high=-1.0)
    with pytest.raises(ValueError, match="grid"):
        noise.quantise(values, 2.0**-70, low=-1.0, high=1.0)


def test_quantisation_slack() -> None:
    generator = np.random.default_rng(0)
    worst = 0.0
    for _ in range(2000):
        first = generator.uniform(-1.2, 1.2, 5)
        second = first + generator.normal(size=5) * 0.2
        grid = 2.0**-3
        counts = noise.quantise(first, grid, low=-1, high=1) - noise.quantise(second, grid, low=-1, high=1)
        excess = np.linalg.norm(counts) - np.linalg.norm(first - second) / grid
        worst = max(worst, excess)
    assert 0.3 < worst <= math.sqrt(5)


def test_sums_saturate_like_unbounded_ones() -> None:
    extremes = [0, 1, -1, noise.LARGEST_DATA, -noise.LARGEST_DATA]
    draws = [0, 5, -5, 2**62, -(2**62), 2**63 - 1, -(2**63), 3 * 2**61 - 1]
    for data in extremes:
        for drawn in draws:
            wanted = min(max(data + drawn, -(2**62)), 2**62)
            assert int(noise.add(np.int64(data), np.int64(drawn))) == wanted


def test_exact_samplers_cost_no_delta() -> None:
    assert noise.tv_log2("discrete", 10**9) == -math.inf
    with pytest.raises(ValueError, match="law"):
        noise.tv_log2("rounded", 1)
    with pytest.raises(ValueError, match="law"):
        noise.gaussian(1, 10.0, 1.0, law="rounded")


def test_old_opendp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.14.1")
    with pytest.raises(RuntimeError, match="biased"):
        noise.gaussian(1, 10.0, 1.0)


def test_predictable_generators_only_behind_insecure_seed() -> None:
    """numpy.random and random appear in no privacy module but noise.py, and there only in the seeded
    branch.
    """
    root = pathlib.Path(sosdp.privacy.__file__).parent
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not any(name.split(".")[-1] in ("random", "secrets") for name in names), path
        lines = path.read_text(encoding="utf-8").splitlines()
        uses = [line.strip() for line in lines if "default_rng" in line]
        if path.name == "noise.py":
            assert all("insecure_seed" in line for line in uses)
            assert len(uses) == 3
        else:
            assert not uses, path
