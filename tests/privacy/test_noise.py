"""The array samplers follow their laws in every branch, and nothing overflows or depends on the data."""

import ast
import math
import pathlib
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sosdp.privacy
from sosdp.privacy import randomness as noise
from sosdp.privacy.randomness import cells, exact, tables
from sosdp.privacy.randomness.bits import InsecureBits, RandomBits
from tests.privacy.noise_laws import FIXED, FLOOR, LAWS, STARVED, chi_square, draw, law_of, starved
from tests.refusals import each, refusals, refuse


@pytest.mark.few(14)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("units", [0.3, 0.4, 1.0, 3.7, 36.4, 37.0, 300.0])
@pytest.mark.parametrize("seed", [None, 7])
def test_laws(law: str, units: float, seed: int | None) -> None:
    drawn = draw(law, 200_000, units, insecure_seed=seed)
    support, probabilities = law_of(law, units, math.ceil(30 * units) + 2)
    assert chi_square(drawn, support, probabilities) > FLOOR


@pytest.mark.parametrize("units", [1000.0, 2.0**20, 1.37 * 2.0**38, 2.0**40])
@pytest.mark.parametrize("law", LAWS)
def test_large_scales(law: str, units: float) -> None:
    drawn = draw(law, 200_000, units, insecure_seed=1)
    shape = "laplace" if law == "laplace" else "norm"
    assert stats.kstest(drawn / units, shape).pvalue > FIXED
    for bits in (1, 4, 6):
        low = np.bincount(drawn & ((1 << bits) - 1), minlength=1 << bits)
        assert stats.chisquare(low).pvalue > FIXED
    ranks = np.digitize(drawn / units, getattr(stats, shape).ppf(np.arange(1, 8) / 8))
    assert stats.chisquare(np.bincount(8 * ranks[:-1:2] + ranks[1::2], minlength=64)).pvalue > FIXED


# ------------------------------------------------------------------------------------------------------------
# Oracles: OpenDP, and Canonne, Kamath and Steinke with their own series for the coin


def _cks_coin(numerator: int, denominator: int, generator: np.random.Generator) -> bool:
    while numerator > denominator:
        if not _cks_coin(1, 1, generator):
            return False
        numerator -= denominator
    k = 1
    while generator.integers(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def _cks_laplace(scale: int, generator: np.random.Generator) -> int:
    while True:
        rest = int(generator.integers(scale))
        if not _cks_coin(rest, scale, generator):
            continue
        while _cks_coin(1, 1, generator):
            rest += scale
        negative = generator.integers(2)
        if negative and rest == 0:
            continue
        return -rest if negative else rest


def _cks_gaussian(sigma: int, generator: np.random.Generator) -> int:
    scale = sigma + 1
    while True:
        drawn = _cks_laplace(scale, generator)
        if _cks_coin((abs(drawn) * scale - sigma**2) ** 2, 2 * sigma**2 * scale**2, generator):
            return drawn


def _two_sample(first: np.ndarray, second: np.ndarray) -> float:
    edges = np.unique(np.quantile(np.concatenate([first, second]), np.arange(1, 30) / 30))
    table = np.array(
        [np.bincount(np.searchsorted(edges, part), minlength=edges.size + 1) for part in (first, second)]
    )
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


@pytest.mark.parametrize("sigma", [3, 50])
def test_against_canonne_kamath_steinke(sigma: int) -> None:
    generator = np.random.default_rng(5)
    reference = np.array([_cks_gaussian(sigma, generator) for _ in range(4000)])
    assert _two_sample(reference, draw("discrete", 40_000, sigma, insecure_seed=2)) > FIXED
    reference = np.array([_cks_laplace(sigma, generator) for _ in range(4000)])
    assert _two_sample(reference, draw("laplace", 40_000, sigma, insecure_seed=2)) > FIXED
    assert _two_sample(reference, draw("laplace", 40_000, 1.25 * sigma, insecure_seed=2)) < FIXED


@pytest.mark.parametrize("units", [0.7, 50.0])
def test_against_opendp(units: float) -> None:
    theirs = noise.gaussian(20_000, units, 1, law="discrete", backend="opendp")
    assert _two_sample(theirs, draw("discrete", 20_000, units)) > FLOOR
    theirs = noise.laplace(20_000, units, 1, backend="opendp")
    assert _two_sample(theirs, draw("laplace", 20_000, units)) > FLOOR
    refuse(
        (lambda: noise.gaussian(3, units, 1, backend="opendp"), "discrete"),
        (lambda: noise.laplace(3, units, 1, backend="opendp", insecure_seed=1), "OpenDP"),
        (lambda: noise.laplace(3, units, 1, backend="numpy"), "backend"),
    )


# ------------------------------------------------------------------------------------------------------------
# Starved designs: the rare branches become common, the law stays


@pytest.mark.slow
@pytest.mark.parametrize("design", STARVED)
@pytest.mark.parametrize(
    ("law", "units"), [("rounded", 1.3), ("rounded", 40.0), ("discrete", 5.0), ("discrete", 53.0)]
)
def test_starved_gaussians(law: str, units: float, design: tables.Design) -> None:
    drawn = starved(law, units, design, 20_000, 11)
    assert chi_square(drawn, *law_of(law, units, math.ceil(40 * units))) > FIXED


@pytest.mark.parametrize("design", STARVED)
@pytest.mark.parametrize("units", [1.5, 6.0, 20.0, 70.0])
def test_starved_laplace(units: float, design: tables.Design) -> None:
    """Overflow entries and restarts carry the tail, which is looked at on its own as well."""
    drawn = starved("laplace", units, design, 20_000, 12)
    support, law = law_of("laplace", units, math.ceil(30 * units))
    assert chi_square(drawn, support, law) > FIXED
    distant = math.ceil(design.cover * units)
    tail = np.abs(drawn) > distant
    beyond = law[np.abs(support) > distant].sum()
    assert stats.binomtest(int(tail.sum()), drawn.size, float(beyond)).pvalue > FIXED
    assert 0.01 < beyond < 0.5
    behind = np.where(np.abs(support) > distant, law, 0.0) / beyond
    assert chi_square(drawn[tail], support, behind) > FIXED


def test_starved_designs_do_exercise_the_rare_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Counter[str]()
    for name in ("decide", "_propose_special", "_direct_special"):
        original = getattr(cells, name)
        monkeypatch.setattr(cells, name, lambda *a, _f=original, _n=name: (count.update([_n]), _f(*a))[1])
    settle = tables.AliasTable.settle
    monkeypatch.setattr(tables.AliasTable, "settle", lambda *a: (count.update(["settle"]), settle(*a))[1])
    rest = tables.AliasTable.draw_rest
    monkeypatch.setattr(tables.AliasTable, "draw_rest", lambda *a: (count.update(["rest"]), rest(*a))[1])
    for law in LAWS:
        starved(law, 70.0, STARVED[1], 3000, 3)
        starved(law, 1.5, STARVED[1], 3000, 3)
        assert count["settle"] > 150
        assert count["decide"] > 100
        assert count["rest"] > 40
        assert count["_propose_special"] > 40
        assert (count["_direct_special"] > 8) == (law != "rounded")
        count.clear()


def test_accepting_every_restart_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: redrawing a rejected restart alone is wrong by 10^-9 in production, and seen here."""
    design = tables.Design(index_bits=3, compare_bits=3, cover=1, margin=0.25)
    original = cells._propose_special

    def wrong(chosen: cells.Cells, cell: int, bits: RandomBits) -> int:
        while (value := original(chosen, cell, bits)) is None:
            pass
        return value

    monkeypatch.setattr(cells, "_propose_special", wrong)
    drawn = starved("laplace", 70.0, design, 100_000, 12)
    assert chi_square(drawn, *law_of("laplace", 70.0, 2100)) < FLOOR
    monkeypatch.undo()
    drawn = starved("laplace", 70.0, design, 100_000, 12)
    assert chi_square(drawn, *law_of("laplace", 70.0, 2100)) > FIXED


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("units", [3.0, 300.0, 2.0**33])
def test_output_is_a_function_of_the_bits_whatever_the_float_margin(law: str, units: float) -> None:
    results = []
    for margin in (0.0, 1e-2, 2.0):
        drawn = np.empty(3000, dtype=np.int64)
        cells.fill(drawn, cells.plan(law, units, tables.Design(margin=margin)), InsecureBits(4))
        results.append(drawn)
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


# ------------------------------------------------------------------------------------------------------------
# Error, guarantees, other samplers


def test_permute_and_flip_is_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    from sosdp.privacy.randomness import choice

    levels = np.random.default_rng(1).integers(0, 30, 4000)
    fast = [noise.permute_and_flip(levels, 0.5, insecure_seed=seed) for seed in range(6)]
    monkeypatch.setattr(choice, "_MARGIN", 2.0)
    assert fast == [noise.permute_and_flip(levels, 0.5, insecure_seed=seed) for seed in range(6)]
    # At the threshold itself: digits next to exp(-gamma).
    monkeypatch.undo()
    for value in (0.3, 2.0, 30.0):
        low, high = exact.exp_bounds(*Fraction(value).as_integer_ratio(), 64)

        class Near(RandomBits):
            word = 0

            def u64(self, count: int) -> np.ndarray:
                return np.full(count, self.word, dtype=np.uint64)

        for word, wanted in ((low - 2, {0, 1}), (high + 1, {1})):
            source = Near()
            source.word = word
            assert {noise.permute_and_flip([0, 1], value, source=source) for _ in range(30)} == wanted


def test_permute_and_flip() -> None:
    source = InsecureBits(9)
    levels = np.array([3, 1, 3, 0])
    drawn = Counter(noise.permute_and_flip(levels, 0.5, source=source) for _ in range(4000))
    other = Counter(exact.permute_and_flip([3, 1, 3, 0], Fraction(1, 2), source) for _ in range(4000))
    assert stats.chi2_contingency([[c[i] for i in range(4)] for c in (drawn, other)]).pvalue > FIXED
    extremes = np.array([-(2**63), 2**63 - 1])
    assert noise.permute_and_flip(extremes, 1.0) == 1
    assert {noise.permute_and_flip(extremes, Fraction(0)) for _ in range(60)} == {0, 1}
    big = np.zeros(100_000, dtype=np.int64)
    big[77] = 60
    assert noise.permute_and_flip(big, 1.0) == 77


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
    refuse(
        # type: ignore[arg-type]
        *each(lambda bad: noise.coin_flips(3, bad), (-1, (1 << 64) + 1, 0.5, True), "threshold")
    )


def test_seed_repeats_and_default_does_not() -> None:
    assert (noise.gaussian(50, 1e6, 1, insecure_seed=5) == noise.gaussian(50, 1e6, 1, insecure_seed=5)).all()
    assert (noise.gaussian(50, 1e6, 1) != noise.gaussian(50, 1e6, 1)).any()


def test_shapes() -> None:
    assert noise.gaussian((), 10.0, 1).shape == ()
    assert noise.laplace((2, 3), 10.0, 1).shape == (2, 3)
    assert noise.gaussian(0, 10.0, 1).shape == (0,)


def test_units_are_rounded_up_only_when_they_must() -> None:
    assert noise.noise_units(3.0, 2.0**-20) == 3.0 * 2.0**20
    third = noise.noise_units(Fraction(10), Fraction(3))
    assert Fraction(third) >= Fraction(10, 3)
    assert Fraction(math.nextafter(third, 0.0)) < Fraction(10, 3)


def test_quantise() -> None:
    values = np.array([0.3, -0.7, math.nan, math.inf, -math.inf, 5.0, 1e308, 5e-324])
    assert noise.quantise(values, 0.25, low=-1.0, high=1.0).tolist() == [1, -3, 0, 4, -4, 4, 4, 0]
    assert noise.quantise(math.nan, 0.25, low=0.5, high=1.0, missing=0.8).tolist() == 3
    refuse(
        (lambda: noise.quantise(values, 0.3, low=-1.0, high=1.0), "power of two"),
        (lambda: noise.quantise(values, 0.25, low=1.0, high=-1.0), "box"),
        (lambda: noise.quantise(values, 2.0**-70, low=-1.0, high=1.0), "grid"),
    )


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


def test_old_opendp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.14.1")
    refuse((lambda: noise.gaussian(1, 10.0, 1.0, law="discrete", backend="opendp"), "biased", RuntimeError))


def test_no_predictable_generator_in_the_package() -> None:
    """Neither numpy.random nor random nor secrets: bits come from `bits.py`; seeds make insecure ones. Those
    of other people's code are set anew for each block (`silence.py`), and nothing is drawn from them."""
    root = pathlib.Path(sosdp.privacy.__file__).parent
    for path in root.rglob("*.py"):
        if path.name == "silence.py":
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not any(name.split(".")[-1] in ("random", "secrets") for name in names), path
        assert "default_rng" not in text, path
        assert "np.random" not in text, path


def test_sources_given_by_the_caller() -> None:
    first, second = (noise.gaussian(50, 1e3, 1, source=InsecureBits(1)) for _ in range(2))
    assert (first == second).all()
    source = InsecureBits(1)
    assert (noise.laplace(50, 1e3, 1, source=source) != noise.laplace(50, 1e3, 1, source=source)).any()
    refuse((lambda: noise.gaussian(5, 1e3, 1, source=source, insecure_seed=1), "both"))


def test_writing_in_place() -> None:
    out = np.empty((3, 4), dtype=np.int64)
    assert noise.gaussian((3, 4), 1e3, 1, insecure_seed=1, out=out) is out
    assert (out == noise.gaussian((3, 4), 1e3, 1, insecure_seed=1)).all()


def test_saturated_laplace_tail() -> None:
    """A run of restarts that would leave 64 bits stops at 3 * 2^61, where `add` would put it anyway."""
    chosen = cells.plan("laplace", 2.0**40)
    assert isinstance(chosen, cells.Cells)

    class Outward(RandomBits):
        left = 1 << 20

        def integer(self, count: int) -> int:
            if count == 10:
                self.left -= 1
                return 1022 if self.left else 0
            return 0

    assert cells._propose_special(chosen, 1022, Outward()) == 3 << 61


test_refusals = refusals(
    *each(lambda bad: noise.permute_and_flip(bad, 1.0), ([], [0.5], [[1]]), "levels"),
    (lambda: noise.permute_and_flip([1], -1.0), "rate"),
    *(
        (lambda grid=grid, scale=scale: noise.gaussian(3, scale, grid), "scale|grid")
        for scale, grid in [
            (0.01, 1.0),
            (2.0**41, 1.0),
            (0.0, 1.0),
            (1.0, 0.0),
            (math.nan, 1.0),
            (1.0, math.inf),
            (-1.0, 1.0),
        ]
    ),
    (lambda: noise.gaussian(5, 1e3, 1, law="normal"), "law"),
    *each(
        lambda bad: noise.gaussian((3, 4), 1e3, 1, out=bad),
        (np.empty((3, 5), dtype=np.int64), np.empty((3, 4)), np.empty((4, 3), dtype=np.int64).T),
        "out must",
    ),
)
