"""Exact, independently checkable proofs from solved relaxations.

`check_certificate` and `check_file` need nothing but the standard library; everything else is loaded when
it is first used, so that ``python -m certificates.check`` works where numpy is not installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "check": ["Verdict", "check_certificate", "check_file"],
    "words": ["WordProof"],
    "identity": ["Claim", "InExpectation", "Multiplier"],
    "proof": ["Proof"],
    "read": ["load"],
    "write.json": ["save"],
    "write.picture": ["picture"],
    "write.tables": ["LabelledMatrix", "dual_tables", "gram_table", "moment_table"],
    "into_kernel": ["replay"],
    "find.extract": ["decide", "extract", "with_proof"],
    "find.float_certificate": ["FloatCertificate"],
    "find.ways": ["Outcome"],
    "find.optimum": ["attained"],
    "find.program": ["MeasureCertificate", "ProgramCertificate"],
    "derive.convex": ["nearest_correlation_bound", "semidefinite_bound", "unique_labels"],
    "derive.calculus": [
        "Derivation",
        "NotDerived",
        "Upper",
        "assume",
        "from_proof",
        "square",
        "sum_of_squares",
    ],
    "find.rounding": ["CertificateError", "NotCertifiable"],
}
PART_OF = "sosdp"  # tells this package from another one of the name
_HOME = {name: home for home, names in _HOMES.items() for name in names}
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
