"""Every option of a relaxation and of its solve, stated once.

The Python functions, the command line and problem files read names, defaults and checks from the fields of
``Options``; a new option is one field here and its use.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, Protocol, TypedDict, TypeVar

from ..progress import stage as stage_begins
from .option_names import check_options

PRODUCTS = ("auto", "putinar", "intervals", "schmudgen")
SPARSITY = ("auto", "dense", "correlative", "term", "chordal", "correlative+term", "correlative+chordal")
SYMMETRY = ("sign", "none", "permutation", "auto")
REDUNDANT = (None, "ball", "box")
_NO_LIMIT = 1e300  # larger numbers mean nothing to a solver
CONES = ("sos", "sdsos", "dsos")


F = TypeVar("F", bound=Callable[..., Any])


class Solves(Protocol):
    """A solver of somebody else; ``sosdp.testing.Solver`` says all."""

    def solve(
        self, program: Any, /, *, tolerance: Any, time_limit: Any, max_iterations: Any, verbose: Any
    ) -> Any:
        """The answer to a conic program."""


class Reduces(Protocol):
    """A reduction of somebody else; ``sosdp.testing.Reduction`` says all."""

    def reduce(self, program: Any, /) -> Any:
        """The program that is solved."""

    def lift(self, program: Any, solution: Any, /) -> Any:
        """The answer to the program that was given."""


class BuildOptions(TypedDict, total=False):
    """The building half of `Options`, as type checkers see the keywords of a function that takes it."""

    products: Literal["auto", "putinar", "intervals", "schmudgen"]
    sparsity: Literal[
        "auto", "dense", "correlative", "term", "chordal", "correlative+term", "correlative+chordal"
    ]
    symmetry: Literal["sign", "none", "permutation", "auto"]
    prune: bool
    quotient: bool | Literal["groebner"]
    term_steps: int | None
    symmetries: Any
    redundant: Literal["ball", "box"] | None
    cone: Literal["sos", "sdsos", "dsos"]
    basis: Any


class SolveOptions(TypedDict, total=False):
    """The solving half of `Options`, as type checkers see the keywords of a function that takes it."""

    solver: str | Solves
    tolerance: float | None
    time_limit: float | None
    certify_bound: bool
    verbose: bool
    callback: Callable[[str, float], Any] | None
    reductions: Sequence[Reduces]


class AllOptions(BuildOptions, SolveOptions, total=False):
    """Every field of `Options` as a keyword."""


class ComplexOptions(SolveOptions, total=False):
    """What a program in complex variables takes."""

    basis: Literal["auto", "holomorphic", "real"]
    sparsity: Any
    symmetry: Any


class OperatorOptions(SolveOptions, total=False):
    """What a program in operators takes."""

    level: int | str
    trace: bool
    sparsity: Literal["term", "correlative", "correlative+term"]
    symmetry: Any
    basis: Any
    complete: bool


class DoorOptions(AllOptions, total=False):
    """What minimize and maximize take, whatever the objective is."""

    level: int | str
    trace: bool
    complete: bool


def spelled_out(*stages: str, without: Collection[str] = ()) -> Callable[[F], F]:
    """Decorator: what `inspect`, completion and documentation see in place of ``**options`` are the names.

    Type checkers read them from the typed dictionaries above; a test compares the two with `Options`.
    """

    def mark(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = {p.name for p in own} | {*without}
        named = [
            inspect.Parameter(
                option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type
            )
            for option in fields(Options)
            if option.metadata["stage"] in stages and option.name not in taken
        ]
        function.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
        return function

    return mark


Check = Callable[[str, Any], Any]  # of an option's name and value: the value to be kept, or ValueError


def _one_of(*allowed: Any) -> Check:
    def check(name: str, value: Any) -> Any:
        if not any(value is a or (isinstance(value, str) and value == a) for a in allowed):
            listed = ", ".join(map(repr, allowed))
            raise ValueError(f"{name}={value!r} is not known; choose one of {listed}")
        return value

    return check


def _must(fits: Callable[[Any], bool], what: str) -> Check:
    def check(name: str, value: Any) -> Any:
        if not fits(value):
            raise ValueError(f"{name} must be {what}, not {_short(value)}")
        return value

    return check


def _positive(name: str, value: Any) -> Any:
    if value is None:
        return None
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not value > 0 or not value < _NO_LIMIT:
        raise ValueError(f"{name} must be a number > 0, got {_short(value)}")
    return float(value) or 5e-324


def _has(value: Any, *methods: str) -> bool:
    """Whether an object, not a class, has these methods."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods)


_flag = _must(lambda value: isinstance(value, bool), "True or False")
_count = _must(lambda v: v is None or (type(v) is int and v > 0), "a positive integer or None")
_solver = _must(
    lambda value: isinstance(value, str) or _has(value, "solve"),
    "a name, or an object with a method solve(program, **options)",
)
_steps = _must(
    lambda value: isinstance(value, (list, tuple)) and all(_has(r, "reduce", "lift") for r in value),
    "a list of objects with methods reduce(program) and lift(program, solution)",
)
_called = _must(lambda value: value is None or callable(value), "a function of a stage and seconds")


def _option(default: Any, stage: str, check: Check | None = None, in_files: bool = True) -> Any:
    return field(default=default, metadata={"stage": stage, "in_files": in_files, "check": check})


@dataclass(frozen=True)
class Options:
    """How a relaxation is built and solved; every reduction can be switched off.

    Building:

    products
        ``putinar`` (none), ``intervals`` (``(x - a)*(b - x)`` for constraints ``x >= a`` and ``x <= b``),
        ``schmudgen`` (of all inequalities up to the degree) or ``auto``: ``putinar``, and ``intervals`` if no
        degree is given and the objective has the least, as there may be no bound without them.
    sparsity
        ``auto`` (the full relaxation: cliques at degree 2, where they are exact, or where a point attains
        their bound; without either only where a dense block would take minutes), ``dense``,
        ``correlative`` (cliques of variables), ``term`` (blocks of basis elements, ``term_steps`` of them or
        until stable), ``chordal`` (the same, smaller and perhaps weaker blocks), ``correlative+term``,
        ``correlative+chordal``.
    symmetry, symmetries
        ``sign``, ``none``, ``permutation`` (sign flips and the generators in ``symmetries``, which imply it)
        or ``auto`` (sign flips and all permutations of variables that are found).
    prune
        Diagonal consistency: basis monomials that cannot occur are left out.
    quotient
        Rewriting rules, or ``groebner`` (and bases of standard monomials for a Groebner basis of the
        equalities).
    redundant
        ``ball`` or ``box``: add such constraints, deduced from the system (``sosdp.reduction.redundant``).
    cone
        ``sos``, or ``sdsos`` or ``dsos``: Gram matrices that are scaled diagonally or diagonally dominant.
    basis
        Monomials of the Gram matrix of the plain square, in place of all of half the degree (in a matrix
        constraint, of each of its rows); multipliers of constraints keep theirs. What their products cannot
        represent is refused.

    Solving:

    solver, tolerance, time_limit
        ``auto`` (by block sizes), a solver's name, ``cvxpy:NAME``, or an object with a method
        ``solve(program, **options)``; its tolerance; seconds.
    certify_bound
        Whether a bound is proven; ``verbose`` prints the solver's log.
    callback
        Called as ``callback(stage, seconds)`` before each stage (``build``, ``solve``, ``certify``) with the
        seconds since the start; what it raises ends the work and reaches the caller.
    reductions
        Objects with methods ``reduce(program)`` and ``lift(program, solution)`` between the conic program and
        its solver, the first applied first (``sosdp.testing`` checks them).

    ValueError, in one line, for a value that an option cannot take.
    """

    # products are a key of their own in a problem file
    products: str = _option("auto", "build", _one_of(*PRODUCTS), in_files=False)
    sparsity: str = _option("auto", "build", _one_of(*SPARSITY))
    symmetry: str = _option("sign", "build", _one_of(*SYMMETRY))
    prune: bool = _option(True, "build", _flag)
    quotient: bool | str = _option(True, "build", _one_of(True, False, "groebner"))
    term_steps: int | None = _option(None, "build", _count)
    symmetries: Any = _option(None, "build", in_files=False)
    redundant: str | None = _option(None, "build", _one_of(*REDUNDANT))
    cone: str = _option("sos", "build", _one_of(*CONES))
    basis: Any = _option(None, "build", in_files=False)
    solver: str | Solves = _option("auto", "solve", _solver)
    tolerance: float | None = _option(None, "solve", _positive)
    time_limit: float | None = _option(None, "solve", _positive)
    certify_bound: bool = _option(True, "solve", _flag, in_files=False)
    verbose: bool = _option(False, "solve", _flag, in_files=False)
    callback: Callable[[str, float], Any] | None = _option(None, "solve", _called, in_files=False)
    reductions: Sequence[Reduces] = _option((), "solve", _steps, in_files=False)

    def __post_init__(self) -> None:
        for option in fields(self):
            if option.metadata["check"] is not None:
                kept = option.metadata["check"](option.name, getattr(self, option.name))
                object.__setattr__(self, option.name, kept)
        if self.symmetries is not None and self.symmetry == "sign":
            object.__setattr__(self, "symmetry", "permutation")
        if (self.symmetry == "permutation") != (self.symmetries is not None):
            raise ValueError(
                "symmetry='permutation' needs generators, symmetries=[{x: y, y: x}, ...]; "
                "symmetry='auto' finds them"
            )
        if self.basis is not None:
            self._check_basis()
        if self.quotient == "groebner" and self.symmetry == "permutation":
            raise ValueError(
                "permutation symmetry cannot be combined with quotient='groebner': the order of the "
                "monomials breaks it; use quotient=True"
            )

    def _check_basis(self) -> None:
        for name, allowed in (("sparsity", ("auto", "dense")), ("symmetry", ("sign", "none"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"basis=... cannot be combined with {name}={getattr(self, name)!r}")
        if self.quotient == "groebner":
            raise ValueError("basis=... cannot be combined with quotient='groebner'")

    def report(self, stage: str, started: float) -> None:
        """Tell the terminal and the callback, if there are any, which stage begins.

        ``started``: of ``time.perf_counter``.
        """
        stage_begins(stage)
        if self.callback is not None:
            self.callback(stage, time.perf_counter() - started)

    def solving(self) -> dict[str, Any]:
        """The options that a solver gets, by name."""
        return {name: getattr(self, name) for name in ("solver", "tolerance", "time_limit", "verbose")}


def _short(value: Any) -> str:
    """The value as a message shows it."""
    return text if len(text := repr(value)) <= 60 else f"{text[:57]}..."


@lru_cache(maxsize=16)
def names(stage: str | None = None, in_files: bool = False) -> tuple[str, ...]:
    """Names of the options of a stage (``build``, ``solve``; None: both), those of problem files only on
    request."""
    return tuple(
        option.name
        for option in fields(Options)
        if stage in (None, option.metadata["stage"]) and (option.metadata["in_files"] or not in_files)
    )


def read_options(
    function: str, given: dict[str, Any], stages: Iterable[str], without: Collection[str] = (), more=()
) -> Options:
    """Checked options of a function that takes those of the given stages; ``more`` are its other arguments.

    Raises TypeError for a name that it does not take, ValueError for a value.
    """
    if given:
        check_options(function, given, (*more, *(n for s in stages for n in names(s) if n not in without)))
    plain = all(isinstance(value, str | int | float | None) for value in given.values())
    return _checked(**given) if plain else Options(**given)


_checked = lru_cache(maxsize=64, typed=True)(Options)
