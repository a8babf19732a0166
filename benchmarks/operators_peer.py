"""A relaxation in words by ncpol2sdpa: a program of its own, for a Python that need not have this library.

Reads one statement (JSON, as `operators.statement` writes it) and prints CPU seconds of build and solve, the
value, and the number of moments. Clarabel is called through cvxpy; ncpol2sdpa proves nothing.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from typing import Any


def solve(stated: dict[str, Any]) -> dict[str, Any]:
    """Build and solve a statement: ``letters`` (adjoint: a factor and a letter), ``party`` of each,
    ``rules``, polynomials as lists of (word, coefficient)."""
    from ncpol2sdpa import SdpRelaxation, generate_operators
    from ncpol2sdpa.cvxpy_utils import convert_to_cvxpy
    from sympy import S
    from sympy.physics.quantum.dagger import Dagger

    letters: list[Any] = []
    rules: dict[Any, Any] = {}
    for k, (factor, star) in enumerate(stated["letters"]):
        if star < k:
            letters.append(Dagger(letters[star]))
            continue
        letters.append(generate_operators(f"x{k}", 1, hermitian=star == k and factor == 1)[0])
        if star == k and factor != 1:
            rules[Dagger(letters[k])] = factor * letters[k]

    def polynomial(terms: list[Any]) -> Any:
        return sum((c * math.prod(letters[i] for i in word) for word, c in terms), 0)

    start = time.process_time()
    for word, terms in stated["rules"]:
        rules[polynomial([(word, 1)])] = polynomial(terms)
    party = stated["party"]
    for i, p in enumerate(party):
        for j in range(len(party)):
            if p < party[j]:
                rules[letters[j] * letters[i]] = letters[i] * letters[j]
    mine = [a for a, (_, star) in zip(letters, stated["letters"], strict=True) if star >= letters.index(a)]
    relaxation = SdpRelaxation(mine, verbose=0)
    words = [polynomial([(word, 1)]) if word else S.One for word in stated["basis"]]
    relaxation.get_relaxation(
        -1 if stated["level"] is None else stated["level"],
        objective=polynomial(stated["target"]),
        substitutions=rules,
        inequalities=[polynomial(p) for p in stated["inequalities"]],
        equalities=[polynomial(p) for p in stated["equalities"]],
        momentequalities=[polynomial(p) for p in stated["state_equalities"]],
        momentinequalities=[polynomial(p) for p in stated["state_inequalities"]],
        extramonomials=words if stated["level"] is None else None,
    )
    built = time.process_time()
    program = convert_to_cvxpy(relaxation)
    program.solve(solver="CLARABEL")
    seconds = [built - start, time.process_time() - built]
    value = float(program.value) + float(relaxation.constant_term)
    return {"seconds": seconds, "value": value, "moments": relaxation.n_vars}


def _seconds(found: dict[str, Any]) -> float:
    return float(sum(found["seconds"]))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), resource.RLIM_INFINITY))
    given = json.load(sys.stdin)
    found = solve(given)  # the first call loads modules
    print(
        json.dumps(
            min(found, *(solve(given) for _ in range(2)), key=_seconds) if _seconds(found) < 3 else found
        )
    )
