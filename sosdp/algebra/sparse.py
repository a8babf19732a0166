"""Sparse polynomials as arrays of terms, and sums of them: what ``Polynomial`` gives operators.

Arithmetic rounds nothing. Exact coefficients stay in int64, Python's integers or Fractions. Floats stay
floats where every number that occurs is one, which the scales show before, or ``terms.merge`` while it adds;
otherwise integers times one power of two take their place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra import terms as merging
from sosdp.algebra.coefficients import (
    DENOMINATOR_BITS,
    INT_LIMIT,
    NO_SCALE,
    Number,
    Scale,
    as_coefs,
    binary,
    floats,
    from_whole,
    lifted,
    lows,
    multiplied,
    object_array,
    over_one,
    plain,
    scale_of,
    whole,
)
from sosdp.algebra.variables import variable_id, variable_name

_set = object.__setattr__

_FEW = 40  # terms of a sum that is looked at before its scales
_CONSTANT = mono.constant()
_ZERO_KEY = np.zeros(1, dtype=np.uint64)

P = TypeVar("P", bound="Sparse")


class Sparse:
    """An immutable polynomial as arrays, one element a term.

    ``monos`` (t, w) int32: sorted, left-padded rows of variable ids; ``keys`` (t,) uint64: the additive hash
    of each row, in increasing order; ``coefs`` (t,): int64, object (Python integers and Fractions) or
    float64. No coefficient is zero; the zero polynomial has t = 0.
    """

    __slots__ = tuple("monos coefs keys _hash _scale _least _whole _ratio _second _summands".split())

    monos: np.ndarray
    coefs: np.ndarray
    keys: np.ndarray
    _hash: int | None
    _scale: Scale | None  # of the coefficients, when it was wanted
    _least: bool  # whether it is known to be the least one
    # of what was computed from floats and had to be done in integers: these, of which ``coefs`` are made when
    # they are read: times ``2**_scale.unit``
    _whole: np.ndarray | None
    # of exact fractions: integers over one denominator, of which ``coefs`` are made when they are read
    _ratio: tuple[np.ndarray, int] | None
    _second: np.ndarray | None  # the second keys, when they were wanted
    # of a sum that was not looked at yet: a list shared by the partial sums of one chain, and how many of its
    # elements are this one's; the arrays are made when they are first read (``__getattr__``)
    _summands: tuple[list[Any], int] | None

    @classmethod
    def _make(
        cls: type[P], monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray, scale: Scale | None = None
    ) -> P:
        """Wrap arrays that already satisfy every invariant of the class; they become read-only."""
        coefs.flags.writeable = False
        self = cls._wrap(monos, keys, scale)
        _set(self, "coefs", coefs)
        return self

    @classmethod
    def _wrap(cls: type[P], monos: np.ndarray, keys: np.ndarray, scale: Scale | None) -> P:
        self = object.__new__(cls)
        monos.flags.writeable = False
        keys.flags.writeable = False
        _set(self, "monos", monos)
        _set(self, "keys", keys)
        _set(self, "_hash", None)
        _set(self, "_scale", scale)
        _set(self, "_least", False)
        _set(self, "_whole", None)
        _set(self, "_ratio", None)
        _set(self, "_second", None)
        _set(self, "_summands", None)
        return self

    @classmethod
    def _of_whole(cls: type[P], monos: np.ndarray, k: np.ndarray, keys: np.ndarray, scale: Scale) -> P:
        """The polynomial with coefficients ``k * 2**unit`` of this scale, which came of floats."""
        monos, k, keys = merging.without_zeros(monos, k, keys)
        self = cls._wrap(monos, keys, scale)
        _set(self, "_whole", k)
        return self

    @classmethod
    def _of_ratio(cls: type[P], monos: np.ndarray, k: np.ndarray, keys: np.ndarray, denominator: int) -> P:
        """The polynomial with the exact coefficients ``k / denominator``."""
        monos, k, keys = merging.finish(monos, k, keys)
        common = math.gcd(int(np.gcd.reduce(k)) if k.size else 0, denominator)
        k = k // common if k.size and common > 1 else k
        if common == denominator:
            return cls._make(*merging.finish(monos, k, keys))
        self = cls._wrap(monos, keys, None)
        _set(self, "_ratio", (k, denominator // common))
        return self

    @classmethod
    def _later(cls: type[P], summands: list[Any], count: int) -> P:
        """The sum of the first elements of a list, which is merged when it is first looked at."""
        self = object.__new__(cls)
        _set(self, "_hash", None)
        _set(self, "_least", False)
        _set(self, "_second", None)
        _set(self, "_summands", (summands, count))
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in ("monos", "coefs", "keys", "_scale", "_whole", "_ratio"):
            raise AttributeError(f"a polynomial has no attribute {name!r}")
        if self._summands is None:
            if self._ratio is not None:
                k, denominator = self._ratio
                coefs = object_array(plain(Fraction(i, denominator)) for i in k.tolist())
            else:
                coefs = from_whole(self._whole, self._scale.unit)  # type: ignore[arg-type, union-attr]
            coefs.flags.writeable = False
            _set(self, "coefs", coefs)
            return coefs
        summands, count = self._summands
        merged = total(summands[:count], type(self))
        for slot in ("monos", "keys", "_scale", "_whole", "_ratio"):
            _set(self, slot, getattr(merged, slot))
        if merged._whole is None and merged._ratio is None:
            _set(self, "coefs", merged.coefs)
        _set(self, "_summands", None)
        return getattr(self, name)

    @classmethod
    def from_arrays(cls: type[P], monos: np.ndarray, coefs: Any) -> P:
        """Polynomial from monomial rows (m, w) of variable ids, 0 for padding, in any order and with
        repetitions.

        ValueError for rows and coefficients that do not match, unknown ids, NaN or infinite coefficients.
        """
        given = np.asarray(monos)
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"monomial rows hold integer ids, not {given.dtype}")
        monos = np.array(given, dtype=mono.MONOMIAL, ndmin=2)
        coefs = as_coefs(coefs)
        if monos.ndim != 2 or monos.shape[0] != coefs.size:
            raise ValueError(
                f"{coefs.size} coefficients need a monomial array with as many rows, not shape {monos.shape}"
            )
        if monos.size:
            if int(monos.min()) < 0:
                raise ValueError("a variable id is negative")
            largest = int(monos.max())
            if largest:
                variable_name(largest)
        monos.sort(axis=1)
        if monos.shape[1] == 0:
            monos = np.zeros((monos.shape[0], 1), dtype=mono.MONOMIAL)
        return cls._merged(mono.trim(monos), coefs, mono.keys(monos))

    @classmethod
    def _merged(cls: type[P], monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray) -> P:
        """Polynomial from sorted rows with their keys, in any order and with repetitions."""
        monos, coefs, keys = merging.without_zeros(monos, coefs, keys)
        return summed(monos, keys, [cls._make(monos, coefs, keys)], coefs.size)

    @classmethod
    def of_number(cls: type[P], number: Number) -> P:
        """The constant polynomial with this value."""
        if number == 0:
            return cls._make(_CONSTANT[:0], np.zeros(0, dtype=np.int64), _ZERO_KEY[:0])
        if isinstance(number, Fraction):
            number = plain(number)
        if isinstance(number, int) and -INT_LIMIT < number < INT_LIMIT:
            scale = Scale(0, (abs(number) - 1).bit_length())
            return cls._make(_CONSTANT, np.array([int(number)]), _ZERO_KEY, scale)
        coefs = np.array([number]) if type(number) is float else object_array([number])
        return cls._make(_CONSTANT, coefs, _ZERO_KEY)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("polynomials are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("polynomials are immutable")

    def __len__(self) -> int:
        raise TypeError("a polynomial has no len(); the number of its terms is p.coefs.size")

    def __bool__(self) -> bool:
        return self.keys.size > 0

    @property
    def from_floats(self) -> bool:
        """Whether floats occur, or occurred in what this was computed from."""
        return self._whole is not None or (self._ratio is None and self.coefs.dtype == np.float64)

    def ratio(self) -> tuple[np.ndarray, int] | None:
        """Integers and the denominator over which they are the exact coefficients; None where it is long."""
        if self._ratio is None and self.coefs.dtype != np.int64:
            _set(self, "_ratio", over_one(self.coefs))
        known = self._ratio or (None if self.coefs.dtype == object else (self.coefs, 1))
        return None if known is None or known[1].bit_length() > DENOMINATOR_BITS else known

    @property
    def in_integers(self) -> bool:
        """Whether the coefficients are in int64."""
        return self._whole is None and self._ratio is None and self.coefs.dtype == np.int64

    @property
    def has_floats(self) -> bool:
        """Whether every coefficient is a float, or a small integer, without being looked at one by one."""
        return self._whole is None and (self.coefs.dtype == np.float64 or self.scale().fits_floats)

    def scale(self, least: bool = False) -> Scale:
        """A scale of the coefficients, the least one if wanted."""
        if self._scale is None or (least and not self._least and self._whole is None):
            _set(self, "_scale", scale_of(self.coefs))
            _set(self, "_least", True)
        return self._scale  # type: ignore[return-value]

    def whole(self, scale: Scale) -> np.ndarray:
        """The integers k of the coefficients ``k * 2**unit``, for a scale that holds them."""
        own = self.scale()
        k = whole(self.coefs, own) if self._whole is None else self._whole
        return lifted(k, own.unit - scale.unit, scale)

    @property
    def second_keys(self) -> np.ndarray:
        """Keys of the rows from the secret weights of this process, by which ``keys`` are checked."""
        if self._second is None:
            _set(self, "_second", mono.second_keys(self.monos))
        return self._second  # type: ignore[return-value]

    @property
    def degree(self) -> int:
        """Total degree; 0 for constants, the zero polynomial included."""
        return 0 if self.is_constant else self.monos.shape[1]

    @property
    def variable_ids(self) -> np.ndarray:
        """Sorted ids of the variables that occur, int32."""
        return merging.distinct_ids(self.monos)

    @property
    def is_exact(self) -> bool:
        """Whether no float occurs, nor occurred in what this was computed from."""
        return not self.from_floats

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return self.keys.size == 0 or (self.keys.size == 1 and self.monos.item(-1) == 0)

    @property
    def is_variable(self) -> bool:
        """Whether this is a single variable with coefficient 1."""
        return self.monos.shape == (1, 1) and bool(self.coefs[0] == 1) and bool(self.monos[0, 0])

    @property
    def constant(self) -> Number:
        """Coefficient of the monomial 1."""
        first = self.keys.size > 0 and self.keys.item(0) == 0 and not self.monos[0].any()
        return self.coefs.item(0) if first else 0

    def as_float(self: P) -> P:
        """The same polynomial with float64 coefficients; ValueError if one is too large for a float."""
        if self.coefs.dtype == np.float64:
            return self
        return self._make(*merging.finish(self.monos, floats(self.coefs), self.keys))

    def as_exact(self: P) -> P:
        """The same polynomial with integers and Fractions in the place of floats."""
        return self if self.is_exact else self._make(self.monos, binary(self.coefs).copy(), self.keys)


def display_order(monos: np.ndarray) -> np.ndarray:
    """Positions of the rows in reading order: highest degree first, then lexicographic in the variables."""
    columns = [monos[:, j] for j in range(monos.shape[1] - 1, -1, -1)]
    return np.lexsort([*columns, -mono.degrees(monos)])


def to_variable_id(value: Any) -> int:
    """Id of a variable given as a polynomial or by name; TypeError or ValueError for anything else."""
    if isinstance(value, str):
        return variable_id(value)
    if isinstance(value, Sparse):
        if value.is_variable:
            return int(value.monos[0, 0])
        raise ValueError(f"{value!r} is not a variable")
    if getattr(value, "is_Symbol", False):  # sympy's
        return variable_id(value.name)
    raise TypeError(f"expected a variable or its name, not {type(value).__name__}")


def union_of_ids(polynomials: Sequence[Sparse]) -> np.ndarray:
    """Sorted ids of all variables that occur in the polynomials, int32."""
    parts = [p.monos.reshape(-1) for p in polynomials]
    return merging.distinct_ids(np.concatenate(parts) if parts else np.zeros(0, dtype=mono.MONOMIAL))


_ONE = Scale(0, 0)  # that of the number 1


class Domain(NamedTuple):
    """The coefficients of some lists of polynomials, in one array a list.

    ``scale``: of the sums of products; ``whole``: whether the arrays hold integers, and what is computed is
    ``2**-scale.unit`` times what is meant; ``checked``: whether sums have to be looked at while they are
    added; ``denominator``: the arrays hold integers, and what is computed is so many times what is meant.
    """

    arrays: list[np.ndarray]
    scale: Scale
    whole: bool = False
    checked: bool = False
    denominator: int = 1


def domains(lists: Sequence[Sequence[Sparse]], summands: int) -> Iterator[Domain]:
    """What to try, one after the other, for sums of so many products of one polynomial of each list."""
    flat = [p for polynomials in lists for p in polynomials]
    floating = any(p.from_floats for p in flat)
    if not floating and any(p._ratio is not None or p.coefs.dtype == object for p in flat):
        integers = _integers(lists, summands)
        if integers is not None:
            yield integers
            return
    for least in (False, True):
        scales = [[p.scale(least) for p in ps] for ps in lists]
        parts = [own[0] if len(own) == 1 else Scale.sums(own, 1) for own in scales]
        scale = parts[0].times(parts[1] if len(parts) == 2 else _ONE, summands)
        if scale.fits_integers if not floating else scale.fits_floats:
            break
        if all(p._least or p._whole is not None for p in flat):
            break
    if not floating:
        exact = [[p.coefs for p in polynomials] for polynomials in lists]
        small = scale.fits_integers and scale.unit == 0
        yield Domain([_joined(arrays, small) for arrays in exact], scale)
        return
    if scale.fits_floats and all(s.fits_floats for s in parts):
        yield Domain([_together([floats(p.coefs) for p in ps]) for ps in lists], scale)
        return
    if scale.bits >= NO_SCALE.bits:
        yield from domains([[p.as_exact() for p in polynomials] for polynomials in lists], summands)
        return
    if all(p.has_floats for p in flat):
        yield Domain([_together([floats(p.coefs) for p in ps]) for ps in lists], scale, checked=True)
    arrays = []
    for polynomials, own in zip(lists, parts):
        broad = own if scale.fits_integers else own._replace(bits=scale.bits)
        arrays.append(_together([p.whole(broad) for p in polynomials]))
    yield Domain(arrays, scale, whole=True)


def _integers(lists: Sequence[Sequence[Sparse]], summands: int) -> Domain | None:
    """Exact polynomials as integers over one denominator a list; None where one is long."""
    arrays, scale, denominator = [], _ONE, 1
    for polynomials in lists:
        ratios = [known for p in polynomials if (known := p.ratio()) is not None]
        if len(ratios) < len(polynomials):
            return None
        common = math.lcm(*(below for _, below in ratios))
        parts = [multiplied(k, common // below) for k, below in ratios]
        arrays.append(_joined(parts, True))
        denominator *= common
        scale = scale.times(scale_of(arrays[-1]) if arrays[-1].dtype == np.int64 else NO_SCALE)
    scale = scale.times(_ONE, summands)
    if not scale.fits_integers:
        arrays = [k.astype(object) for k in arrays]
    return Domain(arrays, scale, denominator=denominator)


def _together(arrays: list[np.ndarray]) -> np.ndarray:
    """One array of several; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _joined(arrays: list[np.ndarray], small: bool) -> np.ndarray:
    """Exact coefficients in one array: int64 if all are, and if sums are ``small``."""
    if small and all(c.dtype == np.int64 for c in arrays):
        return np.concatenate(arrays)
    return np.concatenate([c.astype(object) for c in arrays])


def summed(monos: np.ndarray, keys: np.ndarray, summands: Sequence[P], repeated: int = 1) -> P:
    """The sum of polynomials, whose rows and keys stand one after the other, each perhaps ``repeated``."""
    kind = type(summands[0])
    if keys.size <= _FEW and any(p.from_floats for p in summands) and all(p.has_floats for p in summands):
        first, merged, coefs = merging.merge(keys, np.concatenate([floats(p.coefs) for p in summands]), monos)
        if merged.size == keys.size:  # nothing was added up, so nothing was rounded
            return kind._make(*merging.finish(mono.trim(monos[first]), coefs, merged))
    for domain in domains([summands], len(summands) * repeated):
        (coefs,) = domain.arrays
        try:
            first, merged, coefs = merging.merge(
                keys, coefs, monos, low=lows(coefs) if domain.checked else None
            )
        except merging.Rounded:
            continue
        return finished(kind, monos[first], coefs, merged, domain)
    raise AssertionError("the last domain rounds nothing")


def finished(kind: type[P], monos: np.ndarray, coefs: np.ndarray, keys: np.ndarray, domain: Domain) -> P:
    """The polynomial that was computed in a domain."""
    if domain.denominator > 1:
        return kind._of_ratio(mono.trim(monos), coefs, keys, domain.denominator)
    if domain.whole:
        return kind._of_whole(mono.trim(monos), coefs, keys, domain.scale)
    scale = None if coefs.dtype == object or domain.checked else domain.scale
    monos, coefs, keys = merging.finish(monos, coefs, keys)
    return kind._make(mono.trim(monos), coefs, keys, scale)


def total(items: Sequence[P], kind: type[P]) -> P:
    """Sum of polynomials, merged once."""
    summands = [p for p in items if p]
    if len(summands) < 2:
        return summands[0] if summands else kind.of_number(0)
    monos = mono.concatenate([p.monos for p in summands])
    return summed(monos, np.concatenate([p.keys for p in summands]), summands)
