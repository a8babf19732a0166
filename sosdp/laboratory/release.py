"""A statistic with a proven sensitivity, released: its exact value on a public grid, with exact noise.

Proof: docs/proofs/stability_statistics.md, section "Release"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from certificates.as_problem import replay
from sosdp.algebra.polynomial import Polynomial
from sosdp.laboratory.domain import Domain, Record
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import changes, symbols
from sosdp.laboratory.tracing import evaluate
from sosdp.privacy.arguments import interval
from sosdp.privacy.guarantee.condition import Charged, Claim, Fact
from sosdp.privacy.guarantee.evidence import Evidence, Law
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_near
from sosdp.privacy.inputs import floats, whole
from sosdp.privacy.mechanisms.basic.average import RESOLUTION, whole_vector
from sosdp.privacy.randomness.exact import discrete_laplace
from sosdp.privacy.terms import Terms, on_terms

STEPS = 1 << 10
"""Steps of the released grid in one sensitivity."""


def check_report(report: StabilityReport) -> None:
    """ValueError (`Undecided`) unless the report is a proven statistic that depends on its records."""
    if report.program is not None and report.records is None:
        raise ValueError("a report about every number of records is not released: give records=")
    if (report.polynomial or report.program) is None or report.domain is None or report.records is None:
        raise ValueError("a report on a program is not released: give private_estimator the program itself")
    if report.polynomial is not None:
        known = {v.name for row in symbols("r", report.records, report.domain.dimension) for v in row}
        if not {v.name for v in report.polynomial.variables} <= known:
            raise ValueError("the polynomial of this report mentions more than its records")
    if not report.sensitivity:
        raise ValueError("this statistic does not depend on its records: there is nothing to release")


@on_terms("private_estimator.statistic", adjacency="one record (replace)")
def release_statistic(
    terms: Terms, report: StabilityReport, data: Any, *, output: tuple[Any, Any] | None = None
) -> Release:
    """The statistic of a proven report, evaluated exactly, plus discrete Laplace noise: pure epsilon.

    Parameters
    ----------
    terms
        epsilon.
    report
        Of `sosdp.stability`, status ``"proven"``.
    data
        n records of the public shape; each is put into its public set by itself.
    output
        Public numbers between which the statistic lies; what is released lies there, and in `value_range`.

    Raises
    ------
    ValueError
        The report proves nothing, or the shape is not the public one; never because of the entries.
    """
    check_report(report)
    ends = [value_range(report), *([] if output is None else [interval(*output)])]
    low, high = (choice(pair[k] for pair in ends) for k, choice in enumerate((max, min)))
    if output is not None and low > high:
        raise ValueError("output: the statistic lies between other numbers than these")
    epsilon, upper = terms.pure, report.sensitivity
    counted, step = whole_value(report, data)
    bits = terms.bits()
    scale = STEPS / Fraction(epsilon)
    noisy = counted + discrete_laplace(scale, bits)
    exact = proves(report)
    held: dict[str, Any] | None = None
    if exact:
        held = report.to_dict()
        held["unit"] = str(STEPS / Fraction(held["upper"]))
    sentence: type[str] = Fact if exact else Charged if report.made else Claim
    near = f"sensitivity of the statistic at most {float(upper):.6g}: {report.statement}"
    return terms.seal(
        float_near(Fraction(min(max(step * noisy, low), high))),
        terms.guarantee(sentence(near)),
        bits,
        evidence=Evidence(
            "docs/proofs/stability_statistics.md", (Law("discrete laplace", (scale, STEPS)),), held
        ),
        public={"n": report.records, "scale": float(step * scale)},
    )


def proves(report: StabilityReport) -> bool:
    """Whether the kernel derives `upper` from the certificates, for this polynomial on this domain.

    The changes of the value are made again here, one for each class of positions, so that a report that
    somebody has edited proves nothing.
    """
    if report.polynomial is None:
        return False
    assert report.domain is not None and report.records is not None
    data = symbols("r", report.records, report.domain.dimension)
    (new,) = symbols("r_new", 1, report.domain.dimension)
    _, parts = changes(report.polynomial, data, new)
    if tuple(parts) != report.positions or len(parts) != len(report.certificates):
        return False
    return all(
        certificate is not None
        and _bounds(certificate, part, report.domain, [*data, new], report.sensitivity)
        for part, certificate in zip(parts.values(), report.certificates, strict=True)
    )


def _bounds(
    certificate: Mapping[str, Any],
    part: Polynomial,
    domain: Domain,
    records: Sequence[Sequence[Polynomial]],
    upper: Fraction,
) -> bool:
    """Whether the kernel derives part <= upper from the certificate, for records in the domain."""
    used = {v.name for v in part.variables}
    kept = [record for record in records if any(v.name in used for v in record)]
    problem = {
        "variables": [v.name for record in kept for v in record],
        "subject_to": [[_terms(g.polynomial), ">= 0"] for record in kept for g in domain.constraints(record)],
        "maximize": _terms(part),
    }
    try:
        bound = replay(certificate, problem).bound
    except Exception:  # whatever is wrong with it: nothing is proven
        return False
    return bound is not None and bound <= upper


def _terms(p: Polynomial) -> list[Any]:
    """An exact polynomial as problem files write it."""
    return [[str(Fraction(c)), dict(powers)] for c, powers in p.as_exact().terms()]


def whole_value(report: StabilityReport, data: Any) -> tuple[int, Fraction]:
    """The statistic in steps of a public size, rounded down: it moves by at most `STEPS`."""
    step = report.sensitivity / STEPS
    return _value(report, inside(report, data)) // step, step


def _value(report: StabilityReport, records: Sequence[Record]) -> Fraction:
    """The statistic of exact records."""
    if report.polynomial is None:
        return Fraction(report.program.value(records))
    point = {f"r{i}_{k}": x for i, record in enumerate(records) for k, x in enumerate(record)}
    return evaluate(report.polynomial, point)


def value_range(report: StabilityReport) -> tuple[Fraction, Fraction]:
    """Public numbers between which the statistic lies: at most n sensitivities away from its values at data
    sets of n equal records, all at one end of the public set. Of a mean, its range; of others a wider one."""
    domain, count = report.domain, report.records
    assert domain is not None and count is not None
    ends = [(mark,) * domain.dimension for mark in domain.marks()]
    values = [_value(report, [end] * count) for end in ends if end in domain]
    away = count * report.sensitivity
    return max(values) - away, min(values) + away


def inside(report: StabilityReport, data: Any) -> list[Record]:
    """Records as exact points of their public set, each by itself; NaN and no numbers become its low end."""
    domain, count = report.domain, report.records
    assert domain is not None
    shape = (domain.dimension,) if domain.dimension > 1 else ()
    table = floats(data, shape)
    if table.shape != (count, *shape):
        raise ValueError(f"data must have the public shape {(count, *shape)}, got {table.shape}")
    return placed(domain, table.reshape(count or 0, domain.dimension).tolist())


def placed(domain: Domain, rows: list[list[float]]) -> list[Record]:
    """Records as exact points of a public set, each by itself; NaN becomes its low end, or 0 in a ball."""
    if domain.radius is not None:
        unit = domain.radius / RESOLUTION
        return [tuple(unit * k for k in whole_vector(row, unit)) for row in rows]
    unit = (domain.high - domain.low) / RESOLUTION
    return [
        tuple(domain.low + unit * whole(value, unit, domain.low, 0, RESOLUTION) for value in row)
        for row in rows
    ]
