"""The claim of a certificate as a problem, and the kernel's answer to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import certificates.kernel as kernel
from certificates.kernel import Answer, Certificate, Polynomial

_SIGN = {"upper_bound": "maximize", "lower_bound": "minimize"}


def replay(content: Any, problem: Any = None) -> Answer:
    """The kernel's answer to the claim of a certificate, or to a problem file's object (decimals read as
    fractions); NotProven where it has none, Malformed (a NotProven) where the certificate is no certificate.

    Not replayed: that a bound is attained, and claims that there is no certificate (`certificates.refute`).
    """
    certificate = kernel.certified(content)
    return kernel.replay(problem_of(certificate) if problem is None else problem, certificate)


def problem_of(content: Any) -> dict[str, Any]:
    """The claim of a certificate (its file's object, or as the kernel has read it) as a problem: every
    polynomial a list of [coefficient, {name: power}]."""
    certificate = content if type(content) is Certificate else kernel.certified(content)
    claim, names, unknowns = certificate.claim, certificate.names, [*certificate.claim["unknowns"]]
    kind, several = claim["kind"], claim.get("objectives", [claim.get("objective")])
    out: dict[str, Any] = {}
    if kind == "program":
        on = claim.get("on", [{}] * len(several))
        sets = [{key: [claim[key][k] for k in used] for key, used in uses.items()} for uses in on]
        out = {"sos": [*map(_terms, several)], "on": [*map(_set, sets)]}
        out |= {"unknowns": unknowns, claim["sense"]: _terms(claim["objective"])} if unknowns else {}
        return {"variables": [name for name in names if name not in unknowns], **out}
    number = kernel.pick(names, claim["root"][0]) if "root" in claim else ""
    given = {  # that it is a number, and what is assumed of it, is no problem's
        key: [p for p in claim.get(key, []) if not any(number in m for m, _ in p.pairs)]
        for key in ("equalities", "inequalities")
    }
    out = {"variables": [name for name in names if name != number], **_set({**claim, **given})}
    if kind == "infeasible":
        out["feasible"] = True
    elif kind in ("sos", "no_certificate"):
        out["sos"] = [*map(_terms, several)]
    else:
        out[_SIGN[kind]] = _terms(claim["objective"])
    if claim.get("in_expectation"):
        out["in_expectation"] = _set(claim["in_expectation"])
    if claim.get("squares"):
        out["squares"] = [[w, _terms(p)] for w, p in claim["squares"]]
    return out


def _set(of: Mapping[str, Any]) -> dict[str, Any]:
    statement = [[_terms(p), "== 0"] for p in of.get("equalities", ())]
    statement += [[_terms(p), ">= 0"] for p in of.get("inequalities", ())]
    return {"subject_to": statement, "psd": [[[*map(_terms, row)] for row in m] for m in of.get("psd", ())]}


def _terms(p: Polynomial) -> list:
    return [[str(c), dict(Counter(m))] for m, c in p.terms.items()]
