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
    "Claim": "identity",
    "Multiplier": "identity",
    "Proof": "proof",
    "load": "read",
    "save": "write.json",
    "picture": "write.picture",
    "LabelledMatrix": "write.tables",
    "gram_table": "write.tables",
    "moment_table": "write.tables",
    "dual_tables": "write.tables",
    "replay": "into_kernel",
    "extract": "find.extract",
    "decide": "find.extract",
    "FloatCertificate": "find.float_certificate",
    "Outcome": "find.float_certificate",
    "attained": "find.float_certificate",
    "InExpectation": "identity",
    "ProgramCertificate": "find.program",
    "semidefinite_bound": "derive.convex",
    "nearest_correlation_bound": "derive.convex",
    "unique_labels": "derive.convex",
    "Derivation": "derive.calculus",
    "NotDerived": "derive.calculus",
    "Upper": "derive.calculus",
    "assume": "derive.calculus",
    "from_proof": "derive.calculus",
    "square": "derive.calculus",
    "sum_of_squares": "derive.calculus",
    "CertificateError": "find.rounding",
    "NotCertifiable": "find.rounding",
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
