"""The scalar samplers are exact: intervals contain the truth, decisions match it, laws fit."""

import math
import pickle
import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sosdp.privacy.randomness import bits, exact
from tests.neighbours import p_value
from tests.privacy.mechanism_laws import flip_law
from tests.refusals import each, refusals, refuse

FLOOR = 1e-4  # the streams are fixed, so nothing here flakes


class Scripted(bits.RandomBits):
    """Hands out the given digits, then zeros (or ones), and counts how many were asked for."""

    def __init__(self, first: int, size: int, fill: int = 0) -> None:
        super().__init__()
        self.stock, self.left, self.fill, self.requested = first, size, fill, 0

    def integer(self, count: int) -> int:
        drawn = 0
        for _ in range(count):
            self.left -= 1
            digit = self.stock >> self.left & 1 if self.left >= 0 else self.fill
            drawn = drawn << 1 | digit
        self.requested += count
        return drawn


def test_exp_bounds_contain_the_truth() -> None:
    import flint

    generator = np.random.default_rng(3)
    cases = [(0, 1, 64), (1, 1, 0), (1, 10**30, 200), (10**9, 1, 64), (65, 1, 64), (64, 1, 64), (3, 2, 5000)]
    for _ in range(1500):
        precision = int(generator.integers(1, 500))
        denominator = int(generator.integers(1, 2**40))
        numerator = int(denominator * 2.0 ** generator.uniform(-30, 9))
        cases.append((numerator, denominator, precision))
    for numerator, denominator, precision in cases:
        low, high = exact.exp_bounds(numerator, denominator, precision)
        assert high - low <= 3
        with flint.ctx.workprec(2 * precision + 128):
            truth = (-flint.arb(numerator) / denominator).exp() * flint.arb(2) ** precision
            assert flint.arb(low) <= truth <= flint.arb(high)


@pytest.mark.parametrize("gamma", [Fraction(1, 3), Fraction(7), Fraction(1, 10**12), Fraction(50)])
@pytest.mark.parametrize("fill", [0, 1])
def test_decisions_next_to_the_threshold(gamma: Fraction, fill: int) -> None:
    """Uniform reals that agree with exp(-gamma) in 150 digits and then part from it."""
    import flint

    with flint.ctx.workprec(1000):
        threshold = int(
            ((-flint.arb(gamma.numerator) / gamma.denominator).exp() * flint.arb(2) ** 200)
            .floor()
            .unique_fmpz()
        )
    prefix = threshold >> 50
    for offset in (-2, -1, 0, 1, 2):
        source = Scripted(prefix + offset, 150, fill)
        value = (prefix + offset) << 50 | (fill * ((1 << 50) - 1))
        assert exact.bernoulli_exp(gamma, source) == (value <= threshold)
        assert source.requested >= 128


def test_decisions_exhaustively_on_eight_digits() -> None:
    for numerator in range(40):
        gamma = Fraction(numerator, 7)
        heads = 0
        for first in range(256):
            undecided = {exact.decide_exp(gamma, first, 8, Scripted(0, 0, fill)) for fill in (0, 1)}
            heads += True in undecided
            if len(undecided) == 2:  # the threshold lies within this word
                assert first < 256 * math.exp(-gamma) < first + 1
        assert heads == (256 if numerator == 0 else math.ceil(256 * math.exp(-gamma)))


def test_bernoulli_and_integers() -> None:
    source = bits.InsecureBits(1)
    for n in (1, 2, 3, 7, 10**30):
        drawn = [exact.random_below(n, source) for _ in range(3000)]
        assert 0 <= min(drawn) <= max(drawn) < n
        bins = Counter(value * min(n, 7) // n for value in drawn)
        law = (
            {k: sum(1 for v in range(n) if v * min(n, 7) // n == k) / n for k in range(min(n, 7))}
            if n < 9
            else dict.fromkeys(range(7), 1 / 7)
        )
        if n > 1:
            assert p_value(bins, law) > FLOOR
    # Every denominator up to 16, all words: exact counts.
    for denominator in range(1, 17):
        size = (denominator - 1).bit_length()
        for numerator in range(denominator + 1):
            if math.gcd(numerator, denominator) > 1:
                continue
            accepted = [w for w in range(1 << size) if w < denominator]
            heads = sum(
                exact.bernoulli(Fraction(numerator, denominator), Scripted(w, size)) for w in accepted
            )
            assert heads == numerator


@pytest.mark.parametrize("base", [Fraction(2), Fraction(11, 10), Fraction(10**6 + 1, 10**6)])
def test_levels_are_where_the_exact_law_puts_them(base: Fraction) -> None:
    """For a fixed uniform number the level is the one that exact rationals give."""
    counts = {-2: 3, 0: 1, 4: 10**30, 9: 7, 300: 1 << 200}
    ordered = sorted(counts)
    weights = [counts[level] * base ** (-level) for level in ordered]
    total = sum(weights)
    ends = np.cumsum(np.array(weights, dtype=object))
    generator = np.random.default_rng(4)
    points = [int.from_bytes(generator.bytes(16), "little") for _ in range(200)]
    for end in ends[:-1]:  # and next to every boundary
        points += [int((end / total) * 2**128) + shift for shift in (-1, 0, 1)]
    for point in points:
        if not 0 <= point < 2**128:
            continue
        wanted = next(
            level for level, end in zip(ordered, ends, strict=True) if Fraction(point, 2**128) * total < end
        )
        assert exact.categorical_levels(counts, base, Scripted(point, 128)) == wanted


def test_categorical_laws() -> None:
    source = bits.InsecureBits(5)
    counts = {0: 1, 1: 4, 3: 20, 7: 1000}
    for base, draw in (
        (1.5, lambda: exact.categorical_levels(counts, Fraction(3, 2), source)),
        (math.exp(0.7), lambda: exact.categorical_exp(counts, Fraction(7, 10), source)),
    ):
        weights = {level: count * base**-level for level, count in counts.items()}
        law = {level: weight / sum(weights.values()) for level, weight in weights.items()}
        assert p_value((draw() for _ in range(4000)), law) > FLOOR
    assert exact.categorical_levels([(5, 1)], 2) == 5
    assert exact.categorical_levels({0: 1, 10**6: 1}, 2, Scripted(0, 0)) == 0


def test_bounds_that_are_too_wide_are_refined() -> None:
    """Weights 1/3 and 2/3 offered with useless precision at first: the decision is still the exact one."""
    required = []

    def weights(places: int) -> list[tuple[int, int]]:
        required.append(places)
        if len(required) % 3:
            return [(0, 1 << places), (0, 1 << places)]
        third = (1 << places) // 3
        return [(third, third + 1), (2 * third, 2 * third + 2)]

    for point, wanted in ((0, 0), ((1 << 128) // 3 - 1, 0), ((1 << 128) // 3 + 1, 1), ((1 << 128) - 1, 1)):
        assert exact.categorical_lazy(weights, Scripted(point, 128)) == wanted
    assert len(required) == 12


def test_permute_and_flip_is_the_published_law() -> None:
    source = bits.InsecureBits(6)
    levels = (3, 1, 3, 0)
    drawn = Counter(exact.permute_and_flip(levels, Fraction(1, 2), source) for _ in range(6000))
    assert p_value(drawn, flip_law([3 - level for level in levels], 0.5)) > FLOOR


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(17, 5)])
def test_laplace_law(scale: Fraction) -> None:
    source = bits.InsecureBits(7)
    ratio = math.exp(-1 / scale)
    law = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-200, 201)}
    drawn = Counter(exact.discrete_laplace(scale, source) for _ in range(6000))
    assert p_value(drawn, law) > FLOOR
    wrong = {k: (1 - ratio**0.8) / (1 + ratio**0.8) * ratio ** (0.8 * abs(k)) for k in law}
    assert p_value(drawn, wrong) < FLOOR  # the test can tell a scale 25 % off


@pytest.mark.parametrize("sigma2", [Fraction(1, 4), Fraction(1), Fraction(40, 3)])
def test_gaussian_law(sigma2: Fraction) -> None:
    source = bits.InsecureBits(8)
    weights = {k: math.exp(-k * k / (2 * sigma2)) for k in range(-80, 81)}
    law = {k: weight / sum(weights.values()) for k, weight in weights.items()}
    drawn = Counter(exact.discrete_gaussian(sigma2, source) for _ in range(6000))
    assert p_value(drawn, law) > FLOOR


def test_huge_scales() -> None:
    source = bits.InsecureBits(9)
    scale = Fraction(3**200)
    drawn = [exact.discrete_laplace(scale, source) / scale for _ in range(1500)]
    assert stats.kstest([float(value) for value in drawn], "laplace").pvalue > FLOOR
    normal = [float(Fraction(exact.discrete_gaussian(scale**2, source)) / scale) for _ in range(1500)]
    assert stats.kstest(normal, "norm").pvalue > FLOOR


# ------------------------------------------------------------------------------------------------------------
# Sources


SOURCES = [bits.RandomBits, bits.ChaCha20Bits, lambda: bits.InsecureBits(3)]


@pytest.mark.parametrize("make", SOURCES)
def test_sources_give_fair_bits(make: type[bits.RandomBits]) -> None:
    if make is bits.ChaCha20Bits:
        pytest.importorskip("cryptography")
    source = make()
    drawn = np.concatenate([source.u64(5000).copy() for _ in range(4)])
    assert drawn.dtype == np.uint64
    assert np.unique(drawn).size == 20_000
    ones = sum(int(word).bit_count() for word in drawn)
    assert stats.binomtest(ones, 64 * 20_000).pvalue > 1e-6
    assert source.u32(10).dtype == np.uint32
    for size in (1, 7, 8, 64, 65):
        assert 0 <= source.integer(size) < 1 << size
    top = sum(source.integer(3) for _ in range(4000))
    assert abs(top / 4000 - 3.5) < 0.2


@pytest.mark.parametrize("make", SOURCES)
def test_sources_are_not_shared(make: type[bits.RandomBits]) -> None:
    if make is bits.ChaCha20Bits:
        pytest.importorskip("cryptography")
    source = make()
    caught: list[BaseException] = []

    def use() -> None:
        for draw in (source.u64, source.u32, source.integer):
            try:
                draw(8)
            except RuntimeError as error:
                caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(caught) == 3
    refuse((lambda: pickle.dumps(source), "pickled", TypeError))


def test_keystream_buffer() -> None:
    pytest.importorskip("cryptography")
    source = bits.ChaCha20Bits()
    refuse((lambda: source.u64(bits._BUFFER // 8 + 1), "at most"))
    assert (source.u64(64).copy() != source.u64(64)).all()
    # A new key in time, and the count of what is left is kept.
    source._left = 100
    cipher = source._cipher
    source.u64(64)
    assert source._cipher is not cipher
    assert source._left == bits._REKEY_AFTER - 512


def test_choice_of_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(bits.open_bits(1), bits.InsecureBits)
    assert not bits.open_bits(1).private
    assert type(bits.open_bits(keystream=False)) is bits.RandomBits
    monkeypatch.setattr(bits, "keystream_available", lambda: False)
    assert type(bits.open_bits()) is bits.RandomBits
    assert "ChaCha20" not in bits.generator_assumption()
    monkeypatch.setattr(bits, "keystream_available", lambda: True)
    assert "ChaCha20" in bits.generator_assumption()
    refuse(
        # type: ignore[arg-type]
        (lambda: bits.open_bits("x"), "insecure_seed")
    )


def test_seeded_sources_repeat() -> None:
    first, second, third = (bits.InsecureBits(seed) for seed in (2, 2, 3))
    assert (first.u64(50) == second.u64(50)).all()
    assert first.integer(100) == second.integer(100) != third.integer(100)


test_refusals = refusals(
    (lambda: exact.bernoulli(Fraction(3, 2)), "probability"),
    (lambda: exact.random_below(0), "n >= 1"),
    (lambda: exact.bernoulli_exp(-1), "x >= 0"),
    *each(lambda bad: exact.categorical_levels(bad, 2), ({0: 0}, {0: -1, 1: 2}, {}), "counts|element"),
    (lambda: exact.categorical_levels({0: 1}, 1), "base"),
    (lambda: exact.categorical_exp({0: 1}, 0), "rate"),
    (lambda: exact.permute_and_flip([], 1), "level"),
    *each(exact.discrete_laplace, (0, -1), "scale"),
    *each(exact.discrete_gaussian, (0, -1), "sigma2"),
)
