"""A certificate replayed in the kernel without a problem file: its claim becomes the problem.

Nothing here has to be trusted: the kernel states what it proves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import certificates.kernel as kernel
from certificates.kernel import Answer

_SIGN = {"upper_bound": "maximize", "lower_bound": "minimize"}


def replay(content: Mapping[str, Any], problem: Mapping[str, Any] | None = None) -> Answer:
    """The kernel's answer to the claim of a certificate, or to a problem file's object (decimals read as
    fractions); raises NotProven, or another error where the certificate is no certificate.

    Not replayed: that a bound is attained, and claims that there is no certificate (`certificates.refute`).
    """
    return kernel.replay(problem_of(content) if problem is None else problem, content)


def problem_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """The claim of a certificate as a problem: every polynomial a list of [coefficient, {name: power}]."""
    claim, names = content["claim"], content["variables"]
    kind = claim["kind"]
    if kind == "program":
        return _program(claim, names)
    number = claim.get("root", [None])[0]  # that is a number, and what is assumed of it, is no problem's
    kept = {k: [p for p in claim.get(k, ()) if not _about(p, number)] for k in ("equalities", "inequalities")}
    variables = [name for v, name in enumerate(names) if v != number]
    out: dict[str, Any] = {"variables": variables, **_set({**claim, **kept}, names)}
    if kind == "infeasible":
        out["feasible"] = True
    elif kind in ("sos", "no_certificate"):
        out["sos"] = [_terms(p, names) for p in claim.get("objectives", [claim.get("objective")])]
    else:
        out[_SIGN[kind]] = _terms(claim["objective"], names)
    if claim.get("in_expectation"):
        out["in_expectation"] = _set(claim["in_expectation"], names)
    if claim.get("squares"):
        out["squares"] = [[w, _terms(p, names)] for w, p in claim["squares"]]
    return out


def _about(p: list, variable: int | None) -> bool:
    return any(v == variable for _, monomial in p for v, _ in monomial)


def values_of(certificate: kernel.Certificate) -> dict[str, Any]:
    """The values that a certificate gives to unknowns, by name."""
    claim = certificate.claim
    return dict(zip(claim["unknowns"], claim.get("values", []), strict=True))


def _program(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Every polynomial on its own set, and the objective."""
    unknowns = [names[v] for v in claim["unknowns"]]
    sets = claim.get("on", [{}] * len(claim["objectives"]))
    of = [{key: [claim[key][i] for i in uses.get(key, ())] for key in claim if key in _SETS} for uses in sets]
    return {
        "variables": [name for name in names if name not in unknowns],
        "sos": [_terms(p, names) for p in claim["objectives"]],
        "on": [_set(kept, names) for kept in of],
    } | ({"unknowns": unknowns, claim["sense"]: _terms(claim["objective"], names)} if unknowns else {})


_SETS = ("equalities", "inequalities", "psd")


def _set(claim: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    statement = [[_terms(p, names), "== 0"] for p in claim.get("equalities", ())]
    statement += [[_terms(p, names), ">= 0"] for p in claim.get("inequalities", ())]
    psd = [[[_terms(p, names) for p in row] for row in matrix] for matrix in claim.get("psd", ())]
    return {"subject_to": statement, "psd": psd}


def _terms(p: list, names: list[str]) -> list:
    return [[c, {names[v]: power for v, power in monomial}] for c, monomial in p]
