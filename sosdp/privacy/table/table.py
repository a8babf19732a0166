"""Tables: ask for statistics, see what they will cost in accuracy, then release them from one budget.

Proof: docs/proofs/tables.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from sosdp.privacy.arguments import integer
from sosdp.privacy.files import form_of
from sosdp.privacy.guarantee.adjacency import Adjacency
from sosdp.privacy.guarantee.budget import Budget, BudgetExceeded
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_down, root_down
from sosdp.privacy.schema import Schema, SchemaError
from sosdp.privacy.table import question as ask
from sosdp.privacy.table import synthetic as synthesis
from sosdp.privacy.table.answers import EVERY_LINE, priced, release_table
from sosdp.privacy.table.plan import Plan, planned
from sosdp.privacy.table.question import Question
from sosdp.privacy.table.records import COMPUTED, all_chunks, chunks, is_computed, parts
from sosdp.privacy.table.state import State, fold, merge_into, require_question
from sosdp.privacy.table.statistics import Histogram, column_of
from sosdp.privacy.table.whole import rests_of
from sosdp.privacy.terms import Terms
from sosdp.progress import announced


@dataclass(frozen=True)
class Query:
    """A table and what is asked of it; every method that asks gives a new one.

    Attributes:
        source: where the records are; private, and so not in the repr. question: public. terms: the budget.
        budget: what is drawn from, None where an epsilon was given.
    """

    source: Any
    question: Question
    terms: Terms
    budget: Budget | None = None

    def __repr__(self) -> str:
        groups = f", by {self.question.groups.column}" if self.question.groups else ""
        given = self.budget or f"epsilon {self.terms.pure:g}, {self.question.unit.adjacency}"
        return f"Table({', '.join(self.question.names) or 'nothing asked'}{groups}; {given})"

    def _asking(self, statistic: Any) -> Query:
        return replace(self, question=self.question.asking(statistic))

    def count(self, column: str | None = None, *, missing: bool = False) -> Query:
        """The number of records; of a column, of entries that can be read, or that cannot (`missing`)."""
        return self._asking(ask.counts(self.question.schema, column, missing=missing))

    def sum(self, column: str) -> Query:
        """The sum of a column's entries within their bounds."""
        return self._asking(ask.sums(self.question.schema, column, self.question.interval))

    def mean(self, column: str) -> Query:
        """The mean of a column's entries within their bounds; of dates a date."""
        return self._asking(ask.means(self.question.schema, column, self.question.interval))

    def quantiles(self, column: str, shares: float | Iterable[Any] = (0.25, 0.5, 0.75)) -> Query:
        """Quantiles of a column, one share or several."""
        return self._asking(ask.quantiles(self.question.schema, column, shares, self.question.interval))

    def median(self, column: str) -> Query:
        """The quantile .5 of a column."""
        return self.quantiles(column, 0.5)

    def histogram(self, column: str, bins: int | Sequence[float] | None = None) -> Query:
        """How many entries are in each category, or between edges (`bins`: how many, or the edges).

        A bin holds its lower edge, the last one its upper edge too, as in `numpy.histogram`. Bins of integers
        hold whole numbers each: by default one where there are at most 20, else in at most ten bins.
        """
        return self._asking(ask.histogram(self.question.schema, column, bins))

    def describe(self, columns: Iterable[str] | None = None) -> Query:
        """The number of records; mean and quartiles of columns of numbers, counts of categories."""
        schema, groups = self.question.schema, self.question.groups
        if columns is None:
            every = [column.name for column in schema.columns]
            columns = [name for name in every if groups is None or name != groups.column]
        return replace(
            self, question=self.question.asking(*ask.described(schema, columns, self.question.interval))
        )

    def by(self, column: str, keys: Iterable[Any] | None = None) -> Query:
        """All statistics for each group of records.

        Args:
            column: of categories; then their values are the keys, and every one has its rows. Any other
                column of the table needs `keys`, or a delta: then keys that occur often enough are released.
            keys: public.
        """
        return replace(
            self, question=replace(self.question, groups=ask.groups(self.question.schema, column, keys))
        )

    def plan(self, n: float = 1000) -> Plan:
        """Shares of the budget and expected errors in a group of n records; nothing is read or spent."""
        laws, choice = priced(self.question, self._budgeted())
        return planned(self.question, laws, choice, n)

    def fold(self, part: Any) -> State:
        """The exact integers of one part of the table (a file, a frame, a partition); private, not spent."""
        return _folded(self.question, part)

    def merge(self, first: State, second: State) -> State:
        """The state of two parts together, the first before the second.

        Raises:
            ValueError: one of them was folded for another question.
        """
        return self._merged((first, second))

    @announced("Table: release")
    def release(self, state: State | None = None, *, executor: Any = None) -> Release:
        """Read the table, spend the budget, and answer.

        Args:
            state: of the whole table, made by `fold` and `merge` for this question; by default the source is
                read.
            executor: a `concurrent.futures.Executor` that folds the parts of the source.

        Returns:
            Release of {"rows": [...]}; `release.frame()` is a table of pandas with the columns value, low and
            high.

        Raises:
            ValueError, TypeError: public arguments, or a source of another form. BudgetExceeded: it does not
                fit. Whatever is raised while the table is read, nothing has been spent.
        """
        terms = self._budgeted()
        priced(self.question, terms)
        whole = self._read(executor) if state is None else state
        require_question(whole, self.question)
        if self.budget is not None:
            nothing = State(self.question, rests=whole.rests)
            self.budget.spend(release_table(replace(terms, insecure_seed=None), nothing))
        return release_table(terms, whole)

    @announced("Table: synthetic")
    def synthetic(
        self, rows: int | None = None, *, columns: Iterable[str] | None = None, bins: int = synthesis.BINS
    ) -> Release:
        """Rows that look like the table's, from its columns and from pairs of them along a tree.

        The guarantee is for one replaced record, so the number of records is public, and the table needs
        `adjacency="replace"`; epsilon and delta (or what is left of a budget) are spent once it is read.
        Numbers and dates are drawn evenly within their bins, entries that cannot be read as often as there
        are some. `frame()` of the release has the rows.

        Parameters
        ----------
        rows
            How many; by default as many as the table has.
        columns
            Their names; by default all of the schema.
        bins
            How many equal bins the bounds of numbers and dates are cut into.

        Raises
        ------
        ValueError
            Records are added or removed; statistics or groups were asked for before; no delta; a budget that
            does not suffice; no columns, rows or bins. Nothing was spent then.
        SchemaError
            A schema with owners, or no such column.
        """
        count = None if rows is None else integer(rows, "rows")
        whole, binned, terms = self._synthesis(columns, bins)
        names, sizes = [column_of(one).name for one in binned], [one.width + 1 for one in binned]
        codes = synthesis.encoded(all_chunks(self.source, whole), binned)
        rests = [sentence for part in parts(self.source) for sentence in rests_of(part)]
        terms = terms.assuming(*dict.fromkeys(rests))
        if self.budget is not None:
            nothing = synthesis.encoded([], binned)
            self.budget.spend(synthesis.release_tree(replace(terms, insecure_seed=None), nothing, sizes))
        release = synthesis.release_tree(terms, codes, sizes)
        made = synthesis.rows_of(release.value, len(codes) if count is None else count, binned, terms.bits())
        tree = [[names[parent], names[child]] for parent, child, _ in release.value.pairs]
        return release.postprocess({"rows": made}, public={"columns": names, "tree": tree, "bins": int(bins)})

    def synthetic_plan(
        self, n: int, *, columns: Iterable[str] | None = None, bins: int = synthesis.BINS
    ) -> Plan:
        """How much of a synthetic table of n records is noise; nothing is read or spent. Raises as
        `synthetic`."""
        _, parts, terms = self._synthesis(columns, bins)
        return synthesis.planned(terms, parts, integer(n, "n"))

    def _synthesis(self, columns: Iterable[str] | None, bins: int) -> tuple[Question, list[Histogram], Terms]:
        """The columns of a synthetic table with their bins, and its budget, checked by public facts."""
        question = self.question
        if question.schema.owner is not None:
            raise SchemaError("owner: a synthetic table protects records, not their owners")
        if not question.unit.replaced:
            raise ValueError(
                "adjacency: a synthetic table is private for one replaced record and shows how many there "
                f'are, but here "{question.unit.adjacency}" was asked for: choose adjacency="replace"'
            )
        if question.statistics or question.groups is not None:
            raise ValueError(
                "a synthetic table is one of whole records: ask for no statistics or groups before"
            )
        names = [column.name for column in question.schema.columns] if columns is None else list(columns)
        if not names:
            raise ValueError("columns: at least one is expected")
        parts = [synthesis.binned(question.schema, name, integer(bins, "bins")) for name in names]
        whole, terms = question.asking(*parts), self.terms.assuming(EVERY_LINE)
        if self.budget is not None:
            left = _left(self.budget)
            terms = Terms(**left, assumptions=terms.assumptions, insecure_seed=terms.insecure_seed)
        terms.concentrated  # noqa: B018  a budget out of range is refused before anything is read
        return whole, parts, terms

    def _read(self, executor: Any) -> State:
        mapped = map if executor is None else executor.map
        return self._merged(mapped(partial(_folded, self.question), parts(self.source)))

    def _merged(self, states: Iterable[State]) -> State:
        result = State(self.question)
        for state in states:
            merge_into(result, state)
        return result

    def _budgeted(self) -> Terms:
        """The terms with the epsilon that is left, where a budget was given."""
        if self.budget is None:
            return self.terms
        left = _left(self.budget)
        if "rho" in left:
            return replace(self.terms, epsilon=float_down(root_down(2 * Fraction(left["rho"]))))
        return replace(self.terms, epsilon=left["epsilon"], delta=left["delta"] or None)


def _left(budget: Budget) -> dict[str, Any]:
    """What is left of a budget; BudgetExceeded where that is nothing."""
    left = budget.remaining()
    if not next(iter(left.values())):
        raise BudgetExceeded("nothing is left of the budget: divide it with share() beforehand")
    return left


def Table(
    source: Any,
    schema: Schema | Mapping[str, Any] | str | Path,
    budget: float | Budget,
    *,
    delta: float | None = None,
    adjacency: Adjacency | str | None = None,
    interval: str | None = "noise",
    insecure_seed: int | None = None,
) -> Query:
    """A table whose statistics are released with differential privacy.

        Table("people.csv", "people.schema.json", 1.0).by("region").mean("income").release().frame()

    Args:
        source: a file of lines, a Parquet file, a folder of such files, a data frame, a mapping of columns, a
            list of records (dictionaries), a Dask frame or bag, or `Parts` of these. Read when something is
            released.
        schema: public: a `Schema`, the object of its JSON file, or the path of that file.
        budget: epsilon, or a `Budget`, of which everything that is left is spent.
        delta: for groups whose keys are private.
        adjacency: "add or remove" (default: how many records there are is private) or "replace", of one
            record, or of one user where the schema names the column of owners. `synthetic` needs "replace".
        interval: "noise": every value comes with an interval that holds this table's with probability .95;
            quantiles spend half of their budget on it, other statistics nothing. "sample": counts, histograms
            and means come with one for what the records are a sample of, about right by the normal law; means
            spend a quarter on it. None: no interval.
        insecure_seed: for tests: predictable noise, no guarantee.

    Raises:
        ValueError: public arguments out of range. SchemaError: not a schema.
    """
    known = Schema.of(schema)
    try:
        form_of(known)
    except ValueError as error:
        raise SchemaError(str(error)) from error
    whole = budget if isinstance(budget, Budget) else None
    said = whole.adjacency if whole is not None and adjacency is None else adjacency
    wanted = interval or "none"
    if wanted not in ask.INTERVALS:
        raise ValueError(f"interval must be one of {', '.join(ask.INTERVALS)}, got {interval!r}")
    question = Question(known, ask.unit_in(known, said), interval=wanted)
    terms = Terms(epsilon=None if whole else budget, delta=delta, insecure_seed=insecure_seed)  # type: ignore[arg-type]
    if whole is None:
        terms.pure  # noqa: B018
    return Query(source, question, terms, whole)


def _folded(question: Question, part: Any) -> State:
    """The state of a part. A blank row, or an empty last line, is as good as a record without entries."""
    state = fold(question, chunks(part, question))
    state.rests = (COMPUTED,) if is_computed(part) else ()
    return state
