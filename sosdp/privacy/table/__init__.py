"""Statistics of tables: counts, sums, means, quantiles and histograms, by groups, with intervals.

What is asked is public (`question`), what is read becomes exact integers (`records`, `state`), and these are
released with noise whose law gives the intervals (`statistics`, `quantiles`, `intervals`, `answers`).
"""

from sosdp.privacy.table.records import Parts
from sosdp.privacy.table.table import Query, Table

__all__ = ["Query", "Parts", "Table"]
