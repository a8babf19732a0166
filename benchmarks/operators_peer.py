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


def solve(data: dict[str, Any]) -> dict[str, Any]:
    """Build and solve a statement: ``letters`` (adjoint: a factor and a letter), ``party`` of each,
    ``rules``, polynomials as lists of (word, coefficient)."""
    from ncpol2sdpa import SdpRelaxation, generate_operators
    from ncpol2sdpa.cvxpy_utils import convert_to_cvxpy
    from sympy import S
    from sympy.physics.quantum.dagger import Dagger

    letters: list[Any] = []
    rules: dict[Any, Any] = {}
    for k, (factor, star) in enumerate(data["letters"]):
        if star < k:
            letters.append(Dagger(letters[star]))
            continue
        letters.append(generate_operators(f"x{k}", 1, hermitian=star == k and factor == 1)[0])
        if star == k and factor != 1:
            rules[Dagger(letters[k])] = factor * letters[k]

    def polynomial(terms: list[Any]) -> Any:
        return sum((c * math.prod(letters[i] for i in word) for word, c in terms), 0)

    start = time.process_time()
    for word, terms in data["rules"]:
        rules[polynomial([(word, 1)])] = polynomial(terms)
    party = data["party"]
    for i, p in enumerate(party):
        for j in range(len(party)):
            if p < party[j]:
                rules[letters[j] * letters[i]] = letters[i] * letters[j]
    mine = [a for a, (_, star) in zip(letters, data["letters"], strict=True) if star >= letters.index(a)]
    relaxation = SdpRelaxation(mine, verbose=0)
    words = [polynomial([(word, 1)]) if word else S.One for word in data["basis"]]
    relaxation.get_relaxation(
        -1 if data["level"] is None else data["level"],
        objective=polynomial(data["target"]),
        substitutions=rules,
        inequalities=[polynomial(p) for p in data["inequalities"]],
        equalities=[polynomial(p) for p in data["equalities"]],
        momentequalities=[polynomial(p) for p in data["state_equalities"]],
        momentinequalities=[polynomial(p) for p in data["state_inequalities"]],
        extramonomials=words if data["level"] is None else None,
    )
    built = time.process_time()
    program = convert_to_cvxpy(relaxation)
    program.solve(solver="CLARABEL")
    seconds = [built - start, time.process_time() - built]
    value = float(program.value) + float(relaxation.constant_term)
    return {"seconds": seconds, "value": value, "moments": relaxation.n_vars}


def _seconds(result: dict[str, Any]) -> float:
    return float(sum(result["seconds"]))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), resource.RLIM_INFINITY))
    given = json.load(sys.stdin)
    result = solve(given)  # the first call loads modules
    print(
        json.dumps(
            min(result, *(solve(given) for _ in range(2)), key=_seconds) if _seconds(result) < 3 else result
        )
    )
