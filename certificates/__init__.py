"""Exact, independently checkable proofs from solved relaxations.

`check_certificate` and `check_file` need nothing but the standard library; everything else is loaded when
it is first used, so that ``python -m certificates.check`` works where numpy is not installed.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Verdict": "check",
    "check_certificate": "check",
    "check_file": "check",
    "Claim": "proof",
    "Multiplier": "proof",
    "Proof": "proof",
    "load": "io",
    "save": "io",
    "extract": "extraction",
    "FloatCertificate": "extraction",
    "Outcome": "extraction",
    "attained": "extraction",
    "InExpectation": "proof",
    "ProgramCertificate": "programs",
    "semidefinite_bound": "convex",
    "nearest_correlation_bound": "convex",
    "unique_labels": "convex",
    "Derivation": "calculus",
    "NotDerived": "calculus",
    "Upper": "calculus",
    "assume": "calculus",
    "from_proof": "calculus",
    "square": "calculus",
    "sum_of_squares": "calculus",
    "CertificateError": "rounding",
    "NotCertifiable": "rounding",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "check":
        return import_module("certificates.check")
    if name in _HOME:
        return getattr(import_module(f"certificates.{_HOME[name]}"), name)
    raise AttributeError(f"module 'certificates' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
