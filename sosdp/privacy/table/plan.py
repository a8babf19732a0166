"""What a release will cost and how accurate it will be, from public facts, before anything is read.

Proof: docs/proofs/tables.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sosdp.privacy.table.answers import Share
from sosdp.privacy.table.keys import KeyLaw
from sosdp.privacy.table.question import Question
from sosdp.show import html_table

TENTH = 10
"""An answer is useful where its error is below one part in so many."""


@dataclass(frozen=True)
class Plan:
    """Expected absolute errors of every statistic; public.

    Attributes:
        n: records of a group that errors of means and quantiles are for.
        rows: of each statistic, and of each quantile: column, statistic, answers, epsilon, error; enough: the
            number of records of a group from which the error is below a tenth (of their number; of what a sum
            or mean can be).
        least: with private keys, the number of records from which a group is shown with probability 1/2.
    """

    n: float
    rows: tuple[dict[str, Any], ...]
    least: int | None = None

    def frame(self) -> Any:
        """The rows as a frame of pandas."""
        from sosdp.extras import need

        return need("pandas", "a frame").DataFrame(list(self.rows))

    def __repr__(self) -> str:
        lines = [
            f"{' '.join(str(row[key]) for key in ('statistic', 'quantile') if key in row)}"
            f"{'' if row['column'] is None else ' of ' + row['column']}: "
            f"{row['answers']} answer{'s' if row['answers'] > 1 else ''}"
            + (f" at epsilon {row['epsilon']:.4g}, " if "epsilon" in row else ", ")
            + f"expected error {row['error']:.4g} (below a tenth from {row['enough']} records on)"
            for row in self.rows
        ]
        if self.least is not None:
            lines.append(f"a group of {self.least} records is shown with probability 1/2")
        return "\n".join([f"Plan for groups of {self.n:g} records (nothing is read or spent)", *lines])

    def _repr_html_(self) -> str:
        return html_table("Plan", {str(k): line for k, line in enumerate(repr(self).splitlines()[1:], 1)})


def planned(question: Question, shares: list[Share], choice: KeyLaw | None, n: float) -> Plan:
    """The plan for groups of n records."""
    if not n > 0:
        raise ValueError(f"n must be > 0, got {n!r}")
    keys = 1 if question.groups is None or question.groups.public is None else len(question.groups.public)
    unit, times = question.shared
    rows = [
        {
            "column": share.statistic.column.name if share.statistic.column else None,
            "statistic": share.statistic.name,
            **level,
            "answers": keys * part.answers,
            "epsilon": float(epsilon * times),
            "error": part.error(unit, epsilon, n),
            "enough": math.ceil(TENTH * part.spread(unit, epsilon)),
        }
        for share in shares
        for levels in [share.statistic.levels]
        for epsilon in [share.epsilon / len(levels)]
        for level, part in levels
    ]
    return Plan(n, tuple(rows), None if choice is None else choice.top + 1)
