"""Exact, independently checkable proofs from solved relaxations.

`check_certificate` and `check_file` need nothing but the standard library; everything else is loaded when
it is first used, so that ``python -m certificates.check`` works where numpy is not installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Verdict": "check",
    "WordProof": "words",
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
    "with_proof": "find.extract",
    "FloatCertificate": "find.float_certificate",
    "Outcome": "find.ways",
    "attained": "find.optimum",
    "InExpectation": "identity",
    "MeasureCertificate": "find.program",
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
PART_OF = "sosdp"  # tells this package from another one of the name
__all__ = [
    "CertificateError",
    "Claim",
    "Derivation",
    "FloatCertificate",
    "InExpectation",
    "LabelledMatrix",
    "MeasureCertificate",
    "Multiplier",
    "NotCertifiable",
    "NotDerived",
    "Outcome",
    "ProgramCertificate",
    "Proof",
    "Upper",
    "Verdict",
    "WordProof",
    "assume",
    "attained",
    "check_certificate",
    "check_file",
    "decide",
    "dual_tables",
    "extract",
    "from_proof",
    "gram_table",
    "load",
    "moment_table",
    "nearest_correlation_bound",
    "picture",
    "replay",
    "save",
    "semidefinite_bound",
    "square",
    "sum_of_squares",
    "unique_labels",
    "with_proof",
]

if TYPE_CHECKING:
    from .check import Verdict, check_certificate, check_file
    from .derive.calculus import Derivation, NotDerived, Upper, assume, from_proof, square, sum_of_squares
    from .derive.convex import nearest_correlation_bound, semidefinite_bound, unique_labels
    from .find.extract import decide, extract, with_proof
    from .find.float_certificate import FloatCertificate
    from .find.optimum import attained
    from .find.program import MeasureCertificate, ProgramCertificate
    from .find.rounding import CertificateError, NotCertifiable
    from .find.ways import Outcome
    from .identity import Claim, InExpectation, Multiplier
    from .into_kernel import replay
    from .proof import Proof
    from .read import load
    from .words import WordProof
    from .write.json import save
    from .write.picture import picture
    from .write.tables import LabelledMatrix, dual_tables, gram_table, moment_table


def __getattr__(name: str) -> Any:
    if name == "check":
        return import_module("certificates.check")
    if name in _HOME:
        value = getattr(import_module(f"certificates.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'certificates' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
