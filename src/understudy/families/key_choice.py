"""Which columns each column is drawn given: declared, the foremost of a public order, or bought.

A bought key is chosen for each column by the exponential mechanism among the largest sets of other
columns whose table has few enough cells, by the distance of the column from being independent of
them. The number of candidates is limited by the number of columns in a key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.errors import MethodError
from understudy.families.measurement_plan import PlannedTable, planned_choice
from understudy.families.method import MOST_CELLS
from understudy.families.network_options import LARGEST_TABLE, edge, parent_sets, useful_cells
from understudy.privacy.accounting.budget import Budget, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import CandidateColumns
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.selection.dependence_scores import DistanceFromIndependence
from understudy.schema import GibbsSweep, Schema

MOST_KEYS = 200
"""Candidates for the key of one column, by which the number of its columns is limited."""


def declared_keys(schema: Schema, entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Keys in words: "job<-age & sex", "age<-job"; a column without an entry has no key.

    Args:
        schema: the columns.
        entries: one for each column that has a key.

    Raises:
        MethodError: an entry that cannot be read, or names what is no column.
    """
    keys: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        column, key = edge(schema, entry, "keys", "job<-age & sex, income<-job")
        if column in keys:
            raise MethodError(f"The option keys has the column {column!r} twice.")
        keys[column] = key
    return keys


def ranked_columns(schema: Schema, order: Sequence[str]) -> tuple[str, ...]:
    """All columns in the order in which keys take them; those that an order lacks come last.

    Args:
        schema: the columns.
        order: some of them, the most telling first.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    for name in order:
        if name not in schema.names:
            raise MethodError(f"The option order names {name!r}, which is no column.")
    if len(set(order)) < len(order):
        raise MethodError("The option order has a column twice.")
    return (*order, *(name for name in schema.names if name not in order))


def foremost_key(
    schema: Schema, column: str, ranked: Sequence[str], key_limit: float
) -> tuple[str, ...]:
    """The foremost columns beside a column, as long as their key has few enough values.

    Args:
        schema: the columns.
        column: its name.
        ranked: columns, the most telling first.
        key_limit: most values of the key; a column that would exceed it ends the key.
    """
    key, n_keys = [], 1
    for name in (name for name in ranked if name != column):
        n_keys *= schema.columns[name].size
        if n_keys > key_limit:
            break
        key.append(name)
    return tuple(key)


def foremost_keys(
    schema: Schema, order: Sequence[str], key_limit: float
) -> dict[str, tuple[str, ...]]:
    """The foremost key of each column (`ranked_columns`, `foremost_key`).

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    ranked = ranked_columns(schema, order)
    return {name: foremost_key(schema, name, ranked, key_limit) for name in schema.names}


def require_one_of(keys: Sequence[str], order: Sequence[str]) -> None:
    """Refuse keys beside an order.

    Raises:
        MethodError: both are given.
    """
    if keys and order:
        raise MethodError("The option keys says all that order would; leave one of them out.")


def gibbs_sweep(
    schema: Schema, keys: Sequence[str], order: Sequence[str], key_limit: float
) -> GibbsSweep:
    """The sweep of these options.

    Raises:
        MethodError: options that contradict each other, or do not fit the schema.
    """
    require_one_of(keys, order)
    chosen = declared_keys(schema, keys) if keys else foremost_keys(schema, order, key_limit)
    return GibbsSweep.of(schema.names, schema.domain, chosen)


def most_key_columns(n_columns: int) -> int:
    """Columns of a key, so that no column has more than `MOST_KEYS` candidates; at least 1.

    Example:
        >>> [most_key_columns(d) for d in (2, 8, 13, 21, 22)]
        [1, 7, 2, 2, 1]
    """
    others = n_columns - 1
    most = max((math.comb(others, k) for k in range(others + 1)), default=1)
    if most <= MOST_KEYS:
        return max(1, others)
    width = 1
    while math.comb(others, width + 1) <= MOST_KEYS:
        width += 1
    return width


@dataclass(frozen=True)
class TableLimit:
    """How large the table of a column and its key may be.

    Attributes:
        key_limit: most values of a key; None for as many cells as are θ-useful.
        theta: least number of records per cell and scale of noise, without a key_limit.
        all_cells: most cells of all tables together, without a key_limit, if there is a limit.
    """

    key_limit: float | None
    theta: float
    all_cells: int | None

    def declared(self, schema: Schema, most: float = math.inf) -> tuple[float, ...]:
        """Cells of each column's table by the declared limit of keys."""
        assert self.key_limit is not None
        return tuple(min(self.key_limit * size, most) for size in schema.sizes)

    def cells(
        self, schema: Schema, n_rows: int, spend: Fraction, budget: Budget, distribution: NoiseName
    ) -> tuple[float, ...]:
        """Most cells of each column's table.

        Args:
            schema: the columns.
            n_rows: number of records, as known.
            spend: cost of all tables together.
            budget: the whole budget.
            distribution: noise.
        """
        if self.key_limit is not None:
            return self.declared(schema)
        d = len(schema.names)
        useful = useful_cells(
            schema, n_rows, spend / d, budget, distribution=distribution, theta=self.theta
        )
        most = LARGEST_TABLE if self.all_cells is None else self.all_cells / d
        return (min(useful, most),) * d

    def largest(
        self,
        schema: Schema,
        spend: Fraction,
        budget: Budget,
        distribution: NoiseName,
        *,
        bought: bool,
    ) -> tuple[int, ...]:
        """Cells of the largest table that each column may get, from public facts alone.

        Args:
            schema: the columns.
            spend: cost of all tables together.
            budget: the whole budget.
            distribution: noise.
            bought: whether keys are, by which the number of their columns is limited.
        """
        d = len(schema.names)
        rows = schema.n_rows if schema.rows == "public" else schema.row_limit
        most: tuple[float, ...] = (LARGEST_TABLE,) * d
        if self.key_limit is not None or rows is not None:
            most = self.cells(schema, rows or 0, spend, budget, distribution)
        width, sizes = most_key_columns(d) if bought else d, []
        for j, (size, limit) in enumerate(zip(schema.sizes, most, strict=True)):
            others = sorted((*schema.sizes[:j], *schema.sizes[j + 1 :]), reverse=True)[:width]
            cells = min(limit, LARGEST_TABLE if bought else MOST_CELLS, size * math.prod(others))
            sizes.append(max(size, int(cells)))
        return tuple(sizes)


def key_candidates(schema: Schema, column: str, cells: float) -> tuple[tuple[str, ...], ...]:
    """A column, first, with each largest set of others whose table has so many cells at most.

    Args:
        schema: the columns.
        column: its name.
        cells: most cells of the table; a column with more alone has no key.
    """
    others = tuple(name for name in schema.names if name != column)
    width = most_key_columns(len(schema.names))
    keys = parent_sets(schema, column, others, width, min(cells, LARGEST_TABLE))
    return tuple((column, *key) for key in keys)


def bought_keys(gate: Gate, cells: Sequence[float], spend: Fraction) -> GibbsSweep:
    """A key for each column, chosen for an equal part each.

    Args:
        gate: chooses.
        cells: most cells of each column's table.
        spend: cost of all choices together.
    """
    schema, keys = gate.schema, {}
    shares = split(spend, [1] * len(schema.names))
    for name, most, share in zip(schema.names, cells, shares, strict=True):
        listed = key_candidates(schema, name, most)
        score = DistanceFromIndependence(schema, listed)
        keys[name] = gate.ask(CandidateColumns(listed, score), spend=share).value[1:]
    return GibbsSweep.of(schema.names, schema.domain, keys)


def planned_keys(schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
    """One choice for each column, as `bought_keys` will make it."""
    query = f"one of the candidates by {DistanceFromIndependence.title}"
    return tuple(
        planned_choice(schema, query, share, budget, chosen=True)
        for share in split(spend, [1] * len(schema.names))
    )


def ordered_keys(schema: Schema, order: Sequence[str], cells: Sequence[float]) -> GibbsSweep:
    """For each column the foremost others of an order, as long as its table has few enough cells.

    Args:
        schema: the columns.
        order: columns, the most telling first; those it lacks follow in the order of the schema.
        cells: most cells of each column's table.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    ranked = ranked_columns(schema, order)
    limits = zip(schema.names, cells, schema.sizes, strict=True)
    keys = {name: foremost_key(schema, name, ranked, most / size) for name, most, size in limits}
    return GibbsSweep.of(schema.names, schema.domain, keys)


def distinct_tables(sweep: GibbsSweep) -> tuple[tuple[str, ...], ...]:
    """A table for each set of columns that a sweep needs, for `gibbs_sweep_of_tables` to read off.

    Columns that need the same set share its table; one for which it is not the first table with
    this column stands last. Where two of them had to, each column has a table of its own.

    Example:
        Columns a and b share the table that a is drawn from given b, and b given a:

        >>> from understudy.schema import Domain
        >>> distinct_tables(GibbsSweep(("a", "b", "c"), Domain((2, 2, 2)), ((1,), (0,), (1,))))
        (('b', 'a'), ('b', 'c'))
    """
    separate = own_tables(sweep)
    shared: dict[frozenset[str], tuple[str, ...]] = {}
    for table in separate:
        shared.setdefault(frozenset(table), table)
    first = {name: next(columns for columns in shared if name in columns) for name in sweep.names}
    for table in separate:
        if first[table[-1]] != frozenset(table):
            shared[frozenset(table)] = table
    tables = tuple(shared.values())
    needed = [frozenset(columns) for columns in separate]
    return tables if _read(sweep.names, tables) == needed else separate


def own_tables(sweep: GibbsSweep) -> tuple[tuple[str, ...], ...]:
    """A table for each column, which stands last in it, in the order of the columns."""
    return tuple(tuple(sweep.names[j] for j in places) for places in sweep.tables)


def gibbs_sweep_of_tables(schema: Schema, tables: Sequence[tuple[str, ...]]) -> GibbsSweep:
    """The sweep whose tables were measured: a column is drawn given the others of its table.

    That is the table in which it stands last, or else the first one that has it.

    Args:
        schema: the columns.
        tables: of `distinct_tables` or `own_tables`.
    """
    keys = {}
    for name, table in zip(schema.names, _read(schema.names, tables), strict=True):
        given = next(columns for columns in tables if frozenset(columns) == table)
        keys[name] = tuple(other for other in given if other != name)
    return GibbsSweep.of(schema.names, schema.domain, keys)


def _read(names: Sequence[str], tables: Sequence[tuple[str, ...]]) -> list[frozenset[str]]:
    """The table of each column: the first in which it stands last, or else that has it."""
    last = {table[-1]: table for table in reversed(tables)}
    tables_of = (last.get(name) or next(t for t in tables if name in t) for name in names)
    return [frozenset(table) for table in tables_of]
