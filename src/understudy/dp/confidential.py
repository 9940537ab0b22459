"""The rows, as a mechanism sees them that is paid for. CONFIDENTIAL.

**Rows as mechanisms see them that compare whole records, or model numbers. CONFIDENTIAL.**

Whether a row is left out depends on that row alone, so neighbouring tables stay neighbours, or
become equal.

States are those of the coded rows, and where a state is a bin there is a number with it, clipped to
the bounds. Whether a row is in domain depends on that row alone.

**The colour of figures that were computed from the rows without noise: for the steward alone.**

**Columns that hardly fit their declaration** are described in coarse words. A release looks the
same whether its columns fit the schema or not: that they do not is known from the rows, and an
error would be an output. So this is no mechanism. It is computed from the rows without noise and
paid by nothing; it comes as `Internal`, is shown at the steward's request alone, and holds words
instead of numbers. Redoing a release because of it is not covered by ε.

**What is public when a mechanism is asked: how the rows are coded, the accounting, what is left.**

The schema in here is a copy of the one that a method holds, and nobody outside of this room ever
gets it. So whatever was planted on a method's schema, its columns or its domain is never asked
about exact values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Codes
from understudy.dp.accountant import require_payable
from understudy.dp.budget import Accounting, Budget, Neighbours
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.distributions import DiscreteNoise
from understudy.dp.released import Bins, Groups, Released
from understudy.errors import MethodError
from understudy.features.grids import Drawn, NumberCells
from understudy.features.scores import RankScores, ScoreMap, Weighting
from understudy.schema import NUMERIC, Column, Domain, Partition, Schema
from understudy.schema.geography import WHOLE

if TYPE_CHECKING:
    from understudy.data.base import Engine, ExactCells, ExactTable
    from understudy.data.coding import Reading, StateCodes
    from understudy.data.sums import ExactProducts, ExactSums


@dataclass(frozen=True, eq=False, repr=False)
class NumberedRows:
    """All rows, in one order.

    Attributes:
        schema: what they are coded against.
        drawn: column → its values; a state beyond the column's last is out of domain.
    """

    schema: Schema
    drawn: Mapping[str, Drawn]

    @classmethod
    def read(cls, engine: Engine, schema: Schema) -> NumberedRows:
        """Read the input once more, under the schema that it is coded against."""
        readings = engine.read(schema.names).expose()
        pairs = zip(schema.columns.items(), readings, strict=True)
        return cls(
            schema, {name: _convert_reading(column, reading) for (name, column), reading in pairs}
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(next(iter(self.drawn.values())).states)

    def find_known(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Find the rows that have a state of each of some columns, in a possible combination."""
        states = [self.drawn[name].states for name in names]
        return are_known(states, self.schema.table(tuple(names)))

    def of(self, names: Sequence[str], rows: NDArray[np.integer]) -> dict[str, Drawn]:
        """Some columns of some rows, by their numbers; a row may come more than once."""
        return {name: self.drawn[name].take(rows) for name in names}


def _convert_reading(column: Column, reading: Reading) -> Drawn:
    states = reading.replace_outside(column)
    if not isinstance(column, NUMERIC):
        return Drawn(states)
    bins = [k for k, interval in enumerate(column.intervals) if not interval.spike]
    numbers = np.where(np.isin(states, bins), np.clip(reading.number, *column.bounds), np.nan)
    return Drawn(states, numbers)


def known_rows(coded: Sequence[Codes], schema: Schema, columns: Sequence[str]) -> list[Codes]:
    """States of rows with a state of each of some columns, in a combination that can occur.

    Args:
        coded: states of all rows, one array of shape (n,) per column of the schema.
        schema: of the rows.
        columns: names.

    Returns:
        One array per column asked for, each of shape (rows kept,).
    """
    place = {name: j for j, name in enumerate(schema.names)}
    domain = schema.table(tuple(columns))
    states = [coded[place[name]] for name in columns]
    inside = are_known(states, domain)
    return [column[inside] for column in states]


def are_known(states: Sequence[Codes], domain: Domain) -> NDArray[np.bool_]:
    """Find the rows that have a state of each column, in a possible combination; shape (n,).

    Args:
        states: of all rows, one array of shape (n,) per column of the domain.
        domain: of these columns.
    """
    inside = ~domain.find_forbidden(states)
    for column, size in zip(states, domain.sizes, strict=True):
        inside &= column < size
    return inside


T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Internal(Generic[T_co]):
    """A figure that compares with confidential rows: for the steward, never for a release.

    A release refuses to hold one.

    Attributes:
        value: the figure.
    """

    value: T_co

    def __repr__(self) -> str:
        """Describe it without the figure: notebooks and logs keep what is shown in passing."""
        kind = type(self.value).__name__
        return f"Internal({kind}: compares with confidential rows, not for release; see .value)"


class Diagnostic:
    """Facts about a run of a mechanism for the steward alone; of a type for each mechanism."""


DiagnosticCallback = Callable[[Internal[Diagnostic]], None]
"""Takes what a mechanism tells the steward, and nobody else."""


Words = Literal["nearly nothing fits", "over a tenth does not fit", "nearly everything is missing"]

_NEARLY_ALL = 0.95
_MANY = 0.1


@dataclass(frozen=True)
class Misfits(Diagnostic):
    """Values that hardly fit.

    Attributes:
        no_rows: whether there is no row at all.
        columns: name of each column concerned, with what is to be said of it.
    """

    no_rows: bool
    columns: tuple[tuple[str, Words], ...]


def misfits(engine: Engine) -> Iterator[Internal[Misfits]]:
    """Describe what hardly fits the schema, if anything; one pass over the rows, if not at hand.

    Values under a declared code `out_of_domain` fit: a release tells how many they are.
    """
    n_rows = engine.total().expose()
    columns = engine.schema.columns
    tables = engine.count([(j,) for j in range(len(columns))]).expose()
    notes = tuple(
        (name, words)
        for (name, column), table in zip(columns.items(), tables, strict=True)
        for words in _describe_column(column, table, n_rows)
    )
    if notes or not n_rows:
        yield Internal(Misfits(not n_rows, notes))


@dataclass(frozen=True)
class Mismatch(Diagnostic):
    """Exact totals that were declared, and that the rows do not have.

    Attributes:
        levels: of places, at which some differ.
    """

    levels: tuple[str, ...]


def mismatches(engine: Engine) -> Iterator[Internal[Mismatch]]:
    """Name the levels of places at which the rows do not have the declared totals, if any."""
    schema, found = engine.schema, []
    for one in schema.geography.invariants:
        told = schema.geography.totals(one, schema.columns)
        places = () if one.level == WHOLE else (schema.names.index(one.level),)
        counts = engine.count([places]).expose()[0].inside if places else engine.total().expose()
        if not np.array_equal(np.atleast_1d(counts), told):
            found.append(one.level)
    if found:
        yield Internal(Mismatch(tuple(found)))


def _describe_column(column: Column, table: ExactTable, n_rows: int) -> Iterator[Words]:
    """Describe how badly the rows fit one column, if they do."""
    first = column.n_ordinary + len(column.not_applicable)
    missing = int(table.inside[first : first + len(column.missing)].sum())
    if table.outside > _NEARLY_ALL * n_rows:
        yield "nearly nothing fits"
    elif table.outside > _MANY * n_rows:
        yield "over a tenth does not fit"
    if missing > _NEARLY_ALL * n_rows:
        yield "nearly everything is missing"


@dataclass(frozen=True, kw_only=True)
class CodedView:
    """The coding of the rows.

    Attributes:
        schema: the public schema, in these bins and groups; nobody else has this copy.
        bins: bins of numeric columns, where they are not those that were declared.
        groups: how states are merged, where they are.
    """

    schema: Schema
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)

    @property
    def neighbours(self) -> Neighbours:
        """Kind of change that makes two tables neighbours."""
        return self.schema.neighbours

    def places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """Numbers of some columns.

        Raises:
            MethodError: an unknown column, or one that is named twice.
        """
        index = self._index
        unknown = [name for name in names if name not in index]
        if unknown:
            raise MethodError(f"There is no column {unknown[0]!r} in the schema.")
        if len(set(names)) < len(names):
            raise MethodError("A table names each of its columns once.")
        return tuple(index[name] for name in names)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.schema.names)}

    def domain(self, columns: tuple[str, ...]) -> Domain:
        """The cells of a table over some columns."""
        return self.schema.domain.project(self.places(columns))

    def sparse_domain(self, columns: tuple[str, ...]) -> Domain:
        """The cells of a table that is not written out.

        Raises:
            MethodError: no column, or more than 2⁶² cells.
        """
        if not columns:
            raise MethodError("A table that is not written out needs a column.")
        domain = self.domain(columns)
        if domain.n_cells > 2**62:
            raise MethodError(
                f"The full table has about 10^{math.log10(domain.n_cells):.0f} cells, more than "
                "2^62, which 64-bit codes cannot number; take the method independent, or coarser "
                "bins and fewer columns."
            )
        return domain

    def tree_domain(self, partition: Partition) -> Domain:
        """The domain of a tree, which must be that of the schema and small enough to number.

        Its layers are made here, before anything is paid: each record then has its node.

        Raises:
            MethodError: a tree of another schema, or splits of no tree.
        """
        if partition.domain != self.schema.domain:
            raise MethodError("The tree divides the cells of another schema.")
        try:
            _ = partition.layers
        except ValueError as error:
            raise MethodError(f"The splits are those of no tree: {error}.") from None
        return self.sparse_domain(self.schema.names)

    def bins_of(self, columns: tuple[str, ...]) -> Bins:
        """The bins of some columns, where they are not those that were declared."""
        return {name: bins for name, bins in self.bins.items() if name in columns}

    def groups_of(self, columns: tuple[str, ...]) -> Groups:
        """Return how states of some columns are merged, where they are."""
        return {name: groups for name, groups in self.groups.items() if name in columns}

    def rebin(self, bins: Bins) -> CodedView:
        """In other bins.

        Raises:
            SchemaError: bins that do not fit their column.
        """
        schema = self.schema.with_bins(bins)
        return CodedView(schema=schema, bins={**self.bins, **bins}, groups=self.groups)

    def group(self, groups: Mapping[str, tuple[int, ...]]) -> CodedView:
        """With some columns coarser.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        schema = self.schema.with_groups(groups)
        return CodedView(schema=schema, bins=self.bins, groups={**self.groups, **groups})


@dataclass(frozen=True, kw_only=True)
class PublicContext:
    """All that the price of a mechanism may depend on.

    Attributes:
        view: how the rows are coded.
        budget: all that may be spent on the release.
        left: what is left of it.
        n_rows: number of rows, as declared or as bought; None if it is private and not bought yet.
    """

    view: CodedView
    budget: Budget
    left: Fraction
    n_rows: Released[int] | None = None

    @property
    def schema(self) -> Schema:
        """The public schema; a copy that nobody else has."""
        return self.view.schema

    @property
    def neighbours(self) -> Neighbours:
        """Kind of change that makes two tables neighbours."""
        return self.schema.neighbours

    @property
    def accounting(self) -> Accounting:
        """The unit of all costs."""
        return self.budget.accounting

    def require(self, spend: Fraction) -> None:
        """Refuse a cost that cannot be paid.

        Raises:
            MethodError: not positive.
            InsufficientBudgetError: more than is left.
        """
        require_payable(spend, self.left, self.budget)

    def calibrate_noise(self, distribution: NoiseName, spend: Fraction) -> DiscreteNoise:
        """The noise for one contingency table.

        Raises:
            MethodError: noise that does not fit the accounting, or a cost that is not positive.
            BudgetError: more than is left, or next to nothing.
        """
        self.require(spend)
        return calibrate(
            distribution, spend=spend, accounting=self.accounting, neighbours=self.neighbours
        )


def terms_of(schema: Schema, budget: Budget) -> PublicContext:
    """The terms under which a release begins, for plans: nothing is spent, and no rows are near."""
    return PublicContext(view=CodedView(schema=schema), budget=budget, left=budget.amount)


MOST_HELD: Final = 2**24
"""Occupied cells of a huge table that are held at once, at a few dozen bytes each."""


class SecretRows:
    """Exact answers, and what mechanisms remember of these rows from one step to the next.

    Args:
        engine: the rows.
        view: how they are coded.
        tell: takes what a mechanism tells the steward, and nobody else.

    Attributes:
        view: how they are coded; public.
    """

    def __init__(self, engine: Engine, view: CodedView, tell: DiagnosticCallback) -> None:
        self.view = view
        self._secret_engine, self._secret_tell = engine, tell
        self._secret_memory: dict[type, dict[Any, Any]] = {}
        self._secret_coded: list[StateCodes] | None = None
        self._secret_numbers: NumberedRows | None = None

    def __repr__(self) -> str:
        return "SecretRows(withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Confidential rows cannot be pickled or copied.")

    def require_records(self, name: str, *, needed: bool) -> None:
        """Refuse a mechanism that needs `states` or `numbers` where there are sums alone.

        Args:
            name: of the mechanism.
            needed: whether it is such a one.

        Raises:
            MethodError: the engine has no whole records, whatever they are.
        """
        if needed and not self._secret_engine.has_records:
            raise MethodError(
                f"The mechanism {name!r} needs whole records, and these rows give sums alone; "
                "give a table that is read in this process."
            )

    def total(self) -> int:
        """Number of rows, those with out-of-domain values included."""
        return self._secret_engine.total().expose()

    def tables(self, marginals: Sequence[tuple[str, ...]]) -> list[ExactTable]:
        """Contingency tables, in one pass over the rows.

        Args:
            marginals: names of the columns of each.
        """
        places = [self.view.places(names) for names in marginals]
        return self._secret_engine.count(places).expose()

    def cells(self, columns: tuple[str, ...]) -> ExactCells:
        """Occupied cells of one table of up to 2⁶² cells."""
        return self._secret_engine.count_occupied(self.view.places(columns)).expose()

    def cells_in_parts(self, columns: tuple[str, ...]) -> Iterator[ExactCells]:
        """The same, `MOST_HELD` at a time at most, ascending; at least one part."""
        places, start = self.view.places(columns), 0
        while True:
            part = self._secret_engine.count_occupied(places, start=start, most=MOST_HELD).expose()
            yield part
            if len(part.codes) < MOST_HELD:
                return
            start = int(part.codes[-1]) + 1

    def sums(self, columns: tuple[str, ...], of: tuple[str, ...]) -> ExactSums:
        """Sums of bounded numbers, and of their products, by cell of a table.

        Args:
            columns: names of the table's columns.
            of: names of the numbers' columns, each also one of `columns`.
        """
        places = self.view.places(columns), self.view.places(of)
        return self._secret_engine.sums(*places).expose()

    def score_products(self, scores: ScoreMap) -> ExactProducts:
        """Sums of the scores of all records, and of their products, in one pass over the rows."""
        return self._secret_engine.score_products(scores).expose()

    def grouped_products(self, scores: ScoreMap) -> tuple[ExactProducts, ...]:
        """The same of the records in each state of the column that they are taken apart by."""
        return self._secret_engine.grouped_products(scores).expose()

    def weighted_counts(
        self, columns: Sequence[str], weighting: Weighting, groups: Groups
    ) -> NDArray[np.int64]:
        """Sums of the factors of records by cell of a table, in steps of 1/`TICKS`."""
        return self._secret_engine.weighted_counts(columns, weighting, groups).expose()

    def rank_sums(self, scores: RankScores) -> NDArray[np.int64]:
        """Sums of products of the rank scores of all pairs of columns, shape (pairs,)."""
        places = self.view.places(scores.columns)
        return self._secret_engine.rank_sums(places, scores).expose()

    def line_counts(self, lines: Mapping[str, NumberCells]) -> dict[str, NDArray[np.int64]]:
        """Counts over cells of numeric columns, lines or heaps, those out of domain last."""
        return self._secret_engine.line_counts(lines).expose()

    def states(self) -> list[StateCodes]:
        """States of all rows, one array of shape (n,) per column; read once."""
        if self._secret_coded is None:
            self._secret_coded = self._secret_engine.code_rows().expose()
        return self._secret_coded

    def numbers(self) -> NumberedRows:
        """All rows with their numbers; read once."""
        if self._secret_numbers is None:
            self._secret_numbers = NumberedRows.read(self._secret_engine, self.view.schema)
        return self._secret_numbers

    @property
    def engine(self) -> Engine:
        """For scores, which ask for tables of their own."""
        return self._secret_engine

    def memory(self, of: type) -> dict[Any, Any]:
        """Return what one kind of mechanism remembers of these rows; empty at first."""
        return self._secret_memory.setdefault(of, {})

    def tell(self, diagnostic: Diagnostic) -> None:
        """Tell the steward, and nobody else."""
        self._secret_tell(Internal(diagnostic))

    def rebin(self, bins: Bins) -> SecretRows:
        """The same rows, seen through other bins."""
        view = self.view.rebin(bins)
        return SecretRows(self._secret_engine.recode(view.schema), view, self._secret_tell)

    def group(self, groups: Groups) -> SecretRows:
        """The same rows, seen through coarser columns; for counts and choices."""
        view = self.view.group(groups)
        engine = self._secret_engine.group(view.schema, groups)
        return SecretRows(engine, view, self._secret_tell)
