"""The box that holds the minimisers of an objective, and its height there, from exponents of its terms.

Tropical (max-plus) arithmetic: a term c x^a is at most 2^(log2 |c| + a.e) in the box |x_i| <= 2^e_i, and the
largest term stands for their sum. Factors of a few are not seen; powers of ten are.
"""

from __future__ import annotations

import numpy as np

_HIGHEST = 4096.0  # every height is below it: floats are below 2^1024, and squares of them are not
_STEP = 2.0**-4  # of heights: what is made of them is rounded to integers
_OFFSET = 1.0  # powers of two by which a term that lowers may exceed the height: 2 x y is at most x^2 + y^2
_CANCELS = 0.125  # powers of two below the most that a term may have beside squares: nearer ones cancel them
_EQUAL = 1e-9  # differences of rounding in heights and exponents


class Box:
    """The least box 2^e that holds the minimisers, as far as exponents of terms show it.

    At a height H every variable is at most its bound, and at most so large that no power of it alone that
    cannot be negative, c x^d, exceeds 2^H. The least height is the one above which no term that can
    be negative exceeds it in that box, and at which constraints that the origin violates can hold: outside,
    the objective is above its value at the origin. Terms that cancel (the valley of Rosenbrock's function)
    are not seen: minimisers may lie outside, and the height is then too low (``cancels``). O(terms).

    ``terms``: monomials and coefficients of the objective, none zero. ``most``: exponents of the bounds, by
    id (infinite: none), 0 at id 0. ``signs``: by id, 1 where a variable is never negative, -1 never positive.
    """

    def __init__(
        self, terms: tuple[np.ndarray, np.ndarray], most: np.ndarray, signs: np.ndarray | None = None
    ) -> None:
        monos, coefs = terms
        moving = (monos > 0).any(axis=1)
        self.constant = float(np.log2(np.abs(coefs[~moving])).max(initial=-np.inf))
        self.monos, self.log = monos[moving], np.log2(np.abs(coefs[moving]))
        signs = np.zeros(most.size) if signs is None else signs
        free = np.where(signs[self.monos] == 0, self.monos, 0)
        factors = np.sort(self.monos, axis=1)
        power, last = (factors > 0).sum(axis=1), factors.max(axis=1, initial=0)
        alone = ((factors == 0) | (factors == last[:, None])).all(axis=1)
        # factors of either sign in pairs from the largest id on, the last one beside a zero
        even = np.sort(free, axis=1)[:, ::-1]
        even = np.pad(even, ((0, 0), (0, even.shape[1] % 2)))
        square = (even[:, ::2] == even[:, 1::2]).all(axis=1)
        sign = np.prod(np.where(signs[self.monos] < 0, -1, 1), axis=1)
        raises = (coefs[moving] * sign > 0) & square
        holds = raises & alone
        self.lowers = ~raises
        self.variable, self.power, self.level = last[holds], power[holds], self.log[holds]
        self.holds, self.most = holds, most

    def exponents(self, height: float) -> tuple[np.ndarray, np.ndarray]:
        """Of the box at this height, 0 for variables that nothing holds, and how fast they grow with it."""
        candidate = (height - self.level) / self.power
        found = self.most.copy()
        np.minimum.at(found, self.variable, candidate)
        slope = np.zeros(found.size)
        np.maximum.at(slope, self.variable, np.where(candidate <= found[self.variable], 1 / self.power, 0.0))
        return np.where(np.isfinite(found), found, 0.0), slope

    def least(self, violated: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray]:
        """The least height and the exponents of its box; minus infinity for no objective.

        ``violated``: of constraints that the origin violates, monomials and logarithms of their coefficients
        relative to the constant.
        """
        if not self.log.size:
            return -np.inf, self.exponents(np.inf)[0]
        height = self._reaching(self._above(self.lowers, _OFFSET), violated)
        if height == -np.inf:
            # nothing lowers the objective: where its terms meet each other, or the constant
            height = max(self._above(self.holds, 0.0), self.constant)
        if height == -np.inf:
            height = float((self.log + self.exponents(np.inf)[0][self.monos].sum(axis=1)).max())
        return height, self.exponents(height)[0]

    def cancels(self, height: float) -> bool:
        """Whether a term that lowers grows as fast as the height, and is as large as squares allow."""
        exponent, slope = self.exponents(height)
        room = height + _OFFSET - (self.log + exponent[self.monos].sum(axis=1))
        fast = slope[self.monos].sum(axis=1) >= 1 - _EQUAL
        return bool((self.lowers & fast & (room < _CANCELS)).any())

    def _above(self, terms: np.ndarray, offset: float) -> float:
        """The least height above which these terms, divided by 2^offset, are below it.

        Newton's method from above, exact because exponents are concave in the height, with finitely many
        slopes.
        """
        height = _HIGHEST
        log, monos = self.log[terms] - offset, self.monos[terms]
        while True:
            exponent, slope = self.exponents(height)
            room = height - (log + exponent[monos].sum(axis=1))
            steep = slope[monos].sum(axis=1)
            slow = steep < 1 - _EQUAL
            found = height - float((room[slow] / (1 - steep[slow])).min(initial=np.inf))
            if found > height - _STEP / 2 or found == -np.inf:
                return min(found, height)
            height = found

    def _reaching(self, height: float, violated: list[tuple[np.ndarray, np.ndarray]]) -> float:
        """The least height from this one on at which every one of these constraints has a term as large as
        its constant, if it can have one."""
        if not violated:
            return height
        width = max(monos.shape[1] for monos, _ in violated)
        monos = np.vstack([np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m, _ in violated])
        log = np.concatenate([size for _, size in violated])
        starts = np.cumsum([0, *(len(m) for m, _ in violated[:-1])])

        def reached(at: float) -> np.ndarray:
            size = log + self.exponents(at)[0][monos].sum(axis=1)
            return np.asarray(np.maximum.reduceat(size, starts) >= -_EQUAL)

        low, high = max(height, -_HIGHEST), _HIGHEST
        possible = reached(high)
        if reached(low)[possible].all():
            return height
        while high - low > _STEP:
            middle = (low + high) / 2
            low, high = (low, middle) if reached(middle)[possible].all() else (middle, high)
        return high
