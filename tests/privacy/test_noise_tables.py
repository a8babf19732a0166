"""Tables and decisions of the array samplers, against ball arithmetic and exact rationals."""

from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy.randomness import cells, exact, tables
from sosdp.privacy.randomness.bits import InsecureBits, RandomBits
from tests.privacy.noise_laws import LAWS

# ------------------------------------------------------------------------------------------------------------
# Tables and decisions against ball arithmetic


def _ideal(law: str, chosen: cells.Direct | cells.Cells, units: float, entries: int) -> list:
    """Ideal probabilities of the entries of a table, and of those beyond it, as balls."""
    import flint

    step = flint.arb(Fraction(units).denominator) / Fraction(units).numerator
    if isinstance(chosen, cells.Direct) and law == "laplace":
        weights = [(-step * abs(a - chosen.reach)).exp() for a in range(2 * chosen.reach + 1)]
        weights.append(2 * (-step * (chosen.reach + 1)).exp() / (1 - (-step).exp()))
    elif isinstance(chosen, cells.Direct):
        inner = [a - chosen.reach for a in range(2 * chosen.reach + 1)]
        outer = [sign * a for a in range(chosen.reach + 1, chosen.reach + entries) for sign in (1, -1)]
        weights = [(-((step * a) ** 2) / 2).exp() for a in inner + outer]
    elif law == "laplace":
        step *= 1 << chosen.shift
        weights = [(-step * a).exp() * (1 - (-step).exp()) for a in range(1022)] + [(-step * 1022).exp()]
    else:
        step *= flint.arb(1 << chosen.shift) / (1 << chosen.fraction_bits)
        weights = [(-((step * a) ** 2) / 2).exp() for a in range(entries)]
    total = sum(weights, flint.arb(0))
    return [weight / total for weight in weights]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("units", [0.1, 0.5, 10.0, 36.4, 40.0, 1e3, 2.0**30, 2.0**40])
def test_tables_round_down_and_the_rest_is_what_is_missing(law: str, units: float) -> None:
    import flint

    chosen = cells.plan(law, units)
    table = chosen.table
    assert sum(table.masses) == 1 << 192
    assert tables.reconstructed(table) == list(table.masses)
    places = 800
    with flint.ctx.workprec(1200):
        missing = table.missing(places)
        # Enough entries beyond the table that what is left out is below 2^-1000.
        ideal = _ideal(law, chosen, units, 3 * len(table.masses) + 40)
        for index, probability in enumerate(ideal[: len(missing) - 1]):
            mass = flint.arb(table.masses[index]) / flint.arb(2) ** 192 if index < table.rest else 0
            assert 0 <= probability - mass  # never above
            scaled = (probability - mass) * flint.arb(2) ** places
            low, high = missing[index]
            assert low - 1 < scaled < high + 1
            assert high - low < 1 << 60
        if table.weights.open_ended:
            left = sum(ideal[len(missing) - 1 :], flint.arb(0)) * flint.arb(2) ** places
            assert left < missing[-1][1] + 1
        assert table.masses[-1] < 1 << (192 - (140 if law != "laplace" else 181))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("units", [37.0, 1e3, 2.0**40])
def test_decisions_at_the_threshold(law: str, units: float) -> None:
    """Digits around the exact threshold, the quick bound and the float margin: all decided as by balls."""
    import flint

    chosen = cells.plan(law, units)
    if isinstance(chosen, cells.Direct):
        pytest.skip("no accept step at this scale")
    digits = 63 - chosen.shift
    generator = np.random.default_rng(6)
    bits = InsecureBits(8)
    rows: list[tuple[int, int, int, int]] = []
    for cell in (
        0,
        1,
        500,
        len(chosen.table.masses) - 2,
        *generator.integers(0, len(chosen.table.masses) - 1, 5),
    ):
        left = int(cell) << chosen.shift
        for offset in {0, (1 << chosen.shift) - 1, int(generator.integers(1 << chosen.shift))}:
            for sign in (0, -1):
                magnitude = left + offset - (sign if law != "rounded" else 0)
                square = law != "laplace"
                gamma = chosen.constant * (magnitude**2 - left**2 if square else magnitude - left)
                near = exact.exp_bounds(gamma.numerator, gamma.denominator, digits)[0] + 1
                quick = int(chosen.quick[cell])
                for base, moves in ((near, (-9, -3, -2, 0, 2, 3, 9)), (quick, (-1, 0, 1))):
                    rows += [(left, offset, sign, base + move) for move in moves]
                width = int(chosen.margin * 2.0**digits)
                rows += [
                    (left, offset, sign, near + move)
                    for move in (-width - 1, -width + 1, width - 1, width + 1)
                ]
    rows = [row for row in rows if 0 <= row[3] < 1 << digits]
    left, offset, sign, known = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    place = left + offset
    hard = np.flatnonzero(known >= chosen.quick[left >> chosen.shift])
    refused = set(cells._refused(place, left, known, sign, hard, chosen, bits).tolist())
    checked = 0
    for at in range(known.size):
        magnitude = int(place[at]) - (int(sign[at]) if law != "rounded" else 0)
        with flint.ctx.workprec(300):
            scale = flint.arb(chosen.constant.numerator) / chosen.constant.denominator
            ends = [
                (-scale * (z**2 - int(left[at]) ** 2 if law != "laplace" else z - int(left[at]))).exp()
                * flint.arb(2) ** digits
                for z in (magnitude, magnitude + (1 if law == "rounded" else 0))
            ]
            if flint.arb(int(known[at]) + 1) < ends[1]:
                assert at not in refused
            elif flint.arb(int(known[at])) > ends[0]:
                assert at in refused
            else:
                continue  # depends on bits not yet drawn
        checked += 1
    assert checked > 0.5 * known.size


@pytest.mark.parametrize("law", LAWS)
def test_all_words_of_a_small_table(monkeypatch: pytest.MonkeyPatch, law: str) -> None:
    """Every 8-bit word of a table with 8 cells, ties integrated out: the law is the masses exactly."""
    design = tables.Design(index_bits=3, compare_bits=5, tail=1, cover=1)
    table = cells.plan(law, 1.1, design).table

    class Every(RandomBits):
        def u32(self, count: int) -> np.ndarray:
            return np.arange(256, dtype=np.uint32)

    settled: list[int] = []
    shift = 192 - 3 - 5
    masses = [0] * 8
    with monkeypatch.context() as patch:
        patch.setattr(tables.AliasTable, "settle", lambda self, word, bits: settled.append(word) or 0)
        drawn = table.draw(256, Every())
    for word, index in enumerate(drawn.tolist()):
        if word not in settled:
            masses[index] += 1 << shift
    for word in settled:
        cell = word & 7
        below = min(max(table.thresholds[cell] - (word >> 3 << shift), 0), 1 << shift)
        masses[cell] += below
        masses[table.aliases[cell]] += (1 << shift) - below
        for value, wanted in ((0, below > 0), ((1 << shift) - 1, below == 1 << shift)):
            index = table.settle(word, _Fixed(value))
            assert index == (cell if wanted else table.aliases[cell])
    assert masses[: len(table.masses)] == list(table.masses)
    assert 0 < len(settled) <= 8


class _Fixed(RandomBits):
    def __init__(self, value: int) -> None:
        super().__init__()
        self.value = value

    def integer(self, count: int) -> int:
        return self.value
