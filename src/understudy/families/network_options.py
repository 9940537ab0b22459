"""Networks of columns as PrivBayes uses them: declared by the user, or candidates for a choice.

Everything here is public: names, numbers of states and the options.

How large a table may be so that its counts stand out of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from understudy.domain.network import Edge
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.noise.calibration import NoiseName, calibrate
from understudy.schema import Schema

MOST_CANDIDATES = 100_000
"""Candidates that may be scored in one round."""

USUAL_CANDIDATES = 10_000
"""Candidates of a round, where the number of parents may be limited to that end."""

LARGEST_TABLE = 2**22
"""Cells of a candidate's table, unless the column alone has more: each is counted to be scored."""


def declared(schema: Schema, entries: Sequence[str]) -> tuple[Edge, ...]:
    """A network in words: "age", "job<-age", "income<-age&job".

    Args:
        schema: the columns.
        entries: one for each column, parents before children.

    Raises:
        MethodError: entries that are no network over these columns, or a table too large.
    """
    edges = tuple(edge(schema, entry, "network") for entry in entries)
    require_order(schema, edges)
    for column, parents in edges:
        _require_cells(schema, (column, *parents))
    return edges


def require_order(schema: Schema, edges: Sequence[Edge], given: Sequence[str] = ()) -> None:
    """Refuse edges that are no network over the columns that are not given.

    Args:
        schema: the columns.
        edges: one for each column, parents before children.
        given: columns that have none and may be parents of any.

    Raises:
        MethodError: a column twice or absent, a parent twice or not before.
    """
    seen = set(given)
    for column, parents in edges:
        if column in seen:
            raise MethodError(f"The option network has the column {column!r} twice.")
        late = [name for name in parents if name not in seen]
        if late:
            raise MethodError(
                f"The option network names {late[0]!r} as a parent of {column!r} before it has a "
                "line of its own; put it first."
            )
        if len(set(parents)) < len(parents):
            raise MethodError(f"The option network names a parent of {column!r} twice.")
        seen.add(column)
    absent = [name for name in schema.names if name not in seen]
    if absent:
        raise MethodError(
            f"The option network lacks the column {absent[0]!r}; without parents it is an entry "
            "of its name alone."
        )


def edge(
    schema: Schema, entry: str, option: str, example: str = "age, job<-age, income<-age&job"
) -> Edge:
    """A column and what it is drawn given, in words: "age", or "income<-age & job".

    Args:
        schema: the columns.
        entry: the words.
        option: where they stand, for the error.
        example: of what may stand there.

    Raises:
        MethodError: something that is no column.
    """
    names = schema.names
    if entry in names:
        return entry, ()
    column, arrow, listed = entry.partition("<-")
    parents = tuple(part.strip() for part in listed.split("&")) if arrow else ()
    for name in (column.strip(), *parents):
        if name not in names:
            raise MethodError(
                f"The option {option} names {name!r}, which is no column; write it like "
                f'"{example}".'
            )
    return column.strip(), parents


def joints(edges: Sequence[Edge]) -> tuple[tuple[str, ...], ...]:
    """The tables that a network needs: a column with its parents, unless another table has them.

    Columns of a table stand in the order of the network, the one with parents last.

    Example:
        >>> joints((("a", ()), ("b", ("a",)), ("c", ("b", "a")), ("d", ("a",))))
        (('a', 'b', 'c'), ('a', 'd'))
    """
    tables = own_joints(edges)
    sets = [set(table) for table in tables]
    return tuple(
        table
        for k, table in enumerate(tables)
        if not any(sets[k] < other for other in sets) and sets[k] not in sets[:k]
    )


def own_joints(edges: Sequence[Edge]) -> tuple[tuple[str, ...], ...]:
    """A table for every column, with its parents."""
    order = [column for column, _ in edges]
    return tuple((*sorted(parents, key=order.index), column) for column, parents in edges)


def edges_of(tables: Sequence[tuple[str, ...]]) -> tuple[Edge, ...]:
    """The chosen network behind its tables, which stand in its order.

    The columns of the first table follow each other with all before as parents; each later table
    adds its last column. (Of a declared network the option says the edges, not its tables.)

    Example:
        >>> edges_of((("a", "b"), ("b", "c")))
        (('a', ()), ('b', ('a',)), ('c', ('b',)))
    """
    first, *later = tables
    chain = [(column, first[:k]) for k, column in enumerate(first)]
    return (*chain, *((columns[-1], columns[:-1]) for columns in later))


def candidates(
    schema: Schema, chosen: Sequence[str], *, degree: int, cells: float
) -> tuple[tuple[str, ...], ...]:
    """Columns that may come next, each with its largest sets of parents (`parent_sets`).

    Args:
        schema: the columns.
        chosen: those that stand in the network already.
        degree: most parents.
        cells: most cells of a table.

    Returns:
        Names, the column first, parents in the order of `chosen`.
    """
    rest = [name for name in schema.names if name not in chosen]
    return tuple(
        (column, *parents)
        for column in rest
        for parents in parent_sets(schema, column, chosen, degree, cells)
    )


def parent_sets(
    schema: Schema, column: str, chosen: Sequence[str], degree: int, cells: float
) -> Iterator[tuple[str, ...]]:
    """The largest sets of some columns that a column's table may have beside it.

    A set is largest if no column can be added: it has `degree` columns, or the table would have
    more than `cells`.

    Args:
        schema: the columns.
        column: the column.
        chosen: those that may stand in a set.
        degree: most columns of a set.
        cells: most cells of the table; if the column alone has more, the set is empty.
    """
    sizes = {name: schema.columns[name].size for name in (column, *chosen)}
    most = min(degree, len(chosen))
    for width in range(most + 1):
        for parents in combinations(chosen, width):
            n = math.prod(sizes[name] for name in (column, *parents))
            if n > cells and parents:
                continue
            others = [sizes[name] for name in chosen if name not in parents]
            if width == most or n * min(others) > cells:
                yield parents


def most_candidates(n_columns: int, degree: int) -> int:
    """Most candidates of any round, where sets of parents have at most so many columns."""
    return max(
        ((n_columns - i) * math.comb(i, min(degree, i)) for i in range(1, n_columns)), default=0
    )


def usual_degree(n_columns: int) -> int:
    """Most parents for which no round has more than `USUAL_CANDIDATES`; at least 1.

    Example:
        >>> [usual_degree(d) for d in (5, 14, 50, 110)]
        [4, 13, 2, 1]
    """
    degree = 1
    while degree < n_columns - 1 and most_candidates(n_columns, degree + 1) <= USUAL_CANDIDATES:
        degree += 1
    return degree


def require_columns(schema: Schema) -> None:
    """Refuse a column that cannot be counted alone; a public check.

    Raises:
        MethodError: more than `MAX_CELLS` states.
    """
    for name in schema.names:
        _require_cells(schema, (name,))


def _require_cells(schema: Schema, names: tuple[str, ...]) -> None:
    n = math.prod(schema.columns[name].size for name in names)
    if n > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {n:,} cells, too many to write out (at most "
            f"{MAX_CELLS:,}); take fewer parents or coarser bins."
        )


def useful_cells(
    schema: Schema,
    n_rows: int,
    spend: Fraction,
    budget: Budget,
    *,
    distribution: NoiseName,
    theta: float,
) -> float:
    """Cells at which the records in one are θ times the scale of its noise, on average.

    For Laplace noise of scale b that is n/cells ≥ θ·b; other noise counts by its standard
    deviation, which is b·√2 there.

    Args:
        schema: whose neighbours count.
        n_rows: records.
        spend: cost of the table.
        budget: the whole budget, for its accounting.
        distribution: noise.
        theta: least number of records per cell and scale of noise.

    Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4.5.
    """
    noise = calibrate(
        distribution, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours
    )
    return n_rows * math.sqrt(2) / max(theta * noise.stddev, 1e-300)
