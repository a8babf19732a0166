"""Polynomials as dictionaries from packed monomials to integers, every step paid for."""

from __future__ import annotations

from certificates.checker.reading import MAX_BITS, Meter, Monomial, Terms, Unreadable, common_denominator

Packed = dict[int, int]  # monomial key -> integer coefficient


class Ring:
    """Packs monomials into integers: the exponent of variable v occupies bits [v*width, (v+1)*width).

    The width holds the largest exponent that any product can reach, so adding keys multiplies monomials.
    """

    def __init__(self, variables: int, power: int, meter: Meter) -> None:
        self.width = max(1, power.bit_length())
        self.meter = meter
        self.bits = variables * self.width  # of the longest key
        self.cost = 1 + (self.bits >> 6)

    def key(self, monomial: Monomial) -> int:
        """The packed form of a monomial."""
        self.meter.spend(self.cost * (1 + len(monomial)))
        return sum(power << (v * self.width) for v, power in monomial)

    def monomial(self, key: int) -> Monomial:
        """The monomial of a packed form."""
        found, mask = [], (1 << self.width) - 1
        while key:  # the lowest bit that is set says which variable comes next
            v = ((key & -key).bit_length() - 1) // self.width
            power = key >> (v * self.width) & mask
            found.append((v, power))
            key -= power << (v * self.width)
            self.meter.spend(4 * self.cost)
        return tuple(found)

    def pack(self, terms: Terms) -> tuple[Packed, int]:
        """A polynomial as integers over a common denominator."""
        common = common_denominator({den for _, den in terms.values()}, self.meter)
        longest = max((abs(num).bit_length() for num, _ in terms.values()), default=0)
        self.meter.spend(len(terms) * (longest + common.bit_length() >> 5))
        self.meter.hold(len(terms), longest + common.bit_length() + self.bits)
        return {self.key(m): num * (common // den) for m, (num, den) in terms.items()}, common

    def product(self, left: Packed, right: Packed) -> Packed:
        """The product of two packed polynomials."""
        bits = largest_of(left).bit_length(), largest_of(right).bit_length()
        if max(bits) > MAX_BITS:
            raise Unreadable(f"a coefficient has more than {MAX_BITS} bits")
        step = 6 + self.cost + (bits[0] + bits[1] >> 5) + (bits[0] >> 6) * (bits[1] >> 6) // 8
        self.meter.spend(len(left) + len(right) + len(left) * len(right) * step)
        self.meter.hold(len(left) * len(right), sum(bits) + self.bits)
        out: Packed = {}
        get = out.get
        for b, q in right.items():
            for a, p in left.items():
                out[a + b] = get(a + b, 0) + p * q
        return out


def bits_in(*numbers: int) -> int:
    """Bits in all the numbers together."""
    return sum(n.bit_length() for n in numbers)


def largest_of(packed: Packed) -> int:
    """The largest absolute value of a coefficient."""
    return max(map(abs, packed.values()), default=0)


def top_power(terms_list: list[Terms]) -> int:
    """The largest exponent of a variable."""
    return max((power for terms in terms_list for m in terms for _, power in m), default=0)
