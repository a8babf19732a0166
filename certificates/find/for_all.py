"""For-all constraints as matrices with free variables, as the kernel states them (docs/proofs/for_all.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import certificates.kernel as kernel
from certificates.exact import from_kernel, monomials_of, to_kernel
from certificates.write.json import ascii_names
from sosdp.algebra.constraint import ForAll
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.sparse import union_of_ids
from sosdp.algebra.variables import known_id, variable_name
from sosdp.relaxation.assemble.forall import inner_basis


def matrices_of(constraints: Sequence[ForAll], tag: str) -> list[tuple[tuple[Polynomial, ...], ...]]:
    """The matrix of each; what is stated twice has the same free variables twice."""
    distinct = [*dict.fromkeys(constraints)]
    return [matrix_of(c, f"{tag}{distinct.index(c)}") for c in constraints]


def matrix_of(constraint: ForAll, tag: str) -> tuple[tuple[Polynomial, ...], ...]:
    """The matrix, semidefinite for some values of its free variables where the polynomial is a sum of squares
    in the quantified ones; `tag` tells its free variables from those of others."""
    called = _names(constraint)
    ids = {name: v for v, name in called.items()}
    statement = to_kernel(constraint.polynomial, called.__getitem__)
    rows = kernel.for_all(statement, [called[int(v)] for v in constraint.over_ids], tag)
    return tuple(tuple(from_kernel(p, lambda n: ids.get(n) or known_id(n)) for p in row) for row in rows)


def places(constraint: ForAll) -> np.ndarray:
    """Which row of that matrix belongs to each of the engine's monomials in the quantified variables."""
    called = _names(constraint)
    rows = [sorted(called[v] for v in row) for row in monomials_of(inner_basis(constraint))]
    return np.argsort(sorted(range(len(rows)), key=lambda k: (len(rows[k]), rows[k])))


def _names(constraint: ForAll) -> dict[int, str]:
    ids = union_of_ids([constraint.polynomial, *constraint.over]).tolist()
    return dict(zip(ids, ascii_names([variable_name(v) for v in ids]), strict=True))
