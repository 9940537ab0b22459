"""Whether the synthetic rows and the noisy measurements of a folder are those of its schema.

All questions about rows are asked of a table at once, as expressions that Polars evaluates in its
own threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import and_, or_
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.domain.domain import Domain
from understudy.release.decoding import dtype_of
from understudy.release.measurement import Measurement, stored_columns
from understudy.release.measurement_content import Kind
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Column, Continuous, Schema
from understudy.schema.cell_values import Code, number_of, text_of


def require_named(data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a measurement that speaks of columns that there are not.

    Args:
        data: its entry in the manifest, of the right shape.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    kind, columns, of = Kind(data["kind"]), data["columns"], data["of"]
    used = [*columns, *data["bins"], *data["groups"], *(() if kind.has_keys else of)]
    if not set(used) <= set(schema.names) or len(set(columns)) < len(columns):
        raise Fault("a measurement is of columns that its schema does not have")
    if any(not isinstance(schema.columns[name], NUMERIC) for name in data["bins"]):
        raise Fault("a measurement has bins of a column that is not numeric")
    if kind.is_of_one_column and len(columns) != 1:
        raise Fault(f"a measurement of the kind {kind} needs one column")
    if kind.is_of_numbers and not all(isinstance(schema.columns[n], NUMERIC) for n in of):
        raise Fault("a sum is of a column that is not numeric")
    if kind.has_keys and not all(_is_key(text, schema) for text in of):
        raise Fault("a measurement is drawn given columns that its schema does not have")
    _require_totals(data["totals"], kind)


def require_stored(cells: pl.DataFrame | None, data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a file of cells that is no table of its measurement.

    Args:
        cells: as they were read; None where there is no file.
        data: entry in the manifest.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    if (cells is None) != (not Kind(data["kind"]).has_cells) or (cells is None and data["cells"]):
        raise Fault(f"a measurement of the kind {data['kind']} has cells, or lacks them")
    if cells is None:
        return
    labels, count = stored_columns(data, schema)
    *names, last = cells.columns
    if (names, last) != (list(labels), count):
        raise Fault(f"the table {named(data['name'])} has other columns than its measurement")
    if any(cells.schema[name] != pl.Enum(one) for name, one in labels.items()):
        raise Fault(f"the table {named(data['name'])} has other states than its schema")
    if cells.schema[last] not in (pl.Int64, pl.Float64) or any(cells.null_count().row(0)):
        raise Fault(f"the table {named(data['name'])} has cells without a number")
    if cells.height != data["cells"]:
        raise Fault(f"the table {named(data['name'])} has another number of cells than stated")


def require_cells(one: Measurement, schema: Schema) -> None:
    """Refuse cells that a measurement of this kind cannot have.

    Args:
        one: measurement.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    if not one.name:
        return
    if not np.isfinite(one.counts).all():
        raise Fault(f"the table {named(one.name)} has cells without a number")
    binned = one.binned(schema)
    if one.kind.has_every_cell:
        fits = _is_whole(one, binned.table(one.columns))
    elif one.kind is Kind.CELLS:
        fits = _reaches_threshold(one, binned.table(one.columns))
    elif one.kind is Kind.RANGES:
        fits = _covers_line(one.codes, binned.columns[one.columns[0]].size)
    else:
        fits = _covers_all(one, binned)
    if not fits:
        raise Fault(f"the table {named(one.name)} has other cells than its schema")
    bounded = one.distribution.startswith("truncated") and one.kind is Kind.TABLE
    if (bounded or one.kind is Kind.DISTRIBUTION) and len(one.counts) and one.counts.min() < 0:
        raise Fault(f"the table {named(one.name)} has negative counts, which its law never gives")


def _require_totals(totals: Mapping[str, Any] | None, kind: Kind) -> None:
    wanted, lacking = kind.totals, kind is Kind.LEAF_SUMS and totals is None
    if wanted is not None and not lacking and tuple(totals or ()) != wanted:
        raise Fault(f"a measurement of the kind {kind} has other totals than it should")


def _is_key(text: str, schema: Schema) -> bool:
    """Whether a text reads "column" or "column<-column & column"."""
    name, _, parents = text.partition("<-")
    named_ones = (name, *(parents.split(" & ") if parents else ()))
    return text in schema.names or set(named_ones) <= set(schema.names)


def _is_whole(one: Measurement, domain: Domain) -> bool:
    """Every cell once, in order; what cannot occur holds 0."""
    if not np.array_equal(one.codes, np.arange(domain.n_cells)):
        return False
    return not domain.boxes or not one.counts[~domain.allowed_mask().reshape(-1)].any()


def _reaches_threshold(one: Measurement, domain: Domain) -> bool:
    if one.threshold is None or one.threshold < 1 or not (np.diff(one.codes) > 0).all():
        return False
    columns = np.unravel_index(one.codes, domain.sizes) if domain.sizes else ()
    return bool((one.counts >= one.threshold).all()) and not domain.forbidden(columns).any()


def _covers_line(codes: NDArray[np.int64], size: int) -> bool:
    """Ranges of states that follow each other from the first state to the last."""
    first, last = codes // size, codes % size
    whole = len(codes) > 0 and first[0] == 0 and last[-1] == size - 1
    return bool(whole and (first <= last).all() and (first[1:] == last[:-1] + 1).all())


def _covers_all(one: Measurement, schema: Schema) -> bool:
    """Nodes that together have as many allowed cells as there are."""
    axes = one.of if one.kind is Kind.LEAF_SUMS else one.columns
    sizes = [schema.columns[name].size for name in axes]
    if len(np.unique(one.codes)) < len(one.codes):
        return False
    states = np.stack(np.unravel_index(one.codes, [size + 1 for size in sizes]), axis=1)
    return sum(_cells_of_nodes(states, axes, sizes, schema)) == schema.domain.n_allowed


def _cells_of_nodes(
    states: NDArray[np.int64], axes: Sequence[str], sizes: Sequence[int], schema: Schema
) -> list[int]:
    """Allowed cells of each node; its last state of an axis stands for all."""
    whole, place = schema.domain, [schema.names.index(name) for name in axes]
    if not whole.boxes:
        rest = whole.n_cells // math.prod(sizes)
        factors = np.where(states == sizes, np.array(sizes, dtype=object), 1)
        return [rest * int(one) for one in factors.prod(axis=1)]
    found = []
    for row in states.tolist():
        fixed = [-1] * len(whole.sizes)
        for j, state, size in zip(place, row, sizes, strict=True):
            fixed[j] = -1 if state == size else state
        found.append(whole.fixed(fixed).n_allowed)
    return found


_SLACK = 1e-9
"""Share of its range by which a number may pass a bound: rounding to decimals."""


def require_rows(table: pl.DataFrame, schema: Schema, n_rows: int, kept: Schema) -> None:
    """Refuse a synthetic table that its schema does not allow.

    Args:
        table: as it was read.
        schema: of the release.
        n_rows: how many rows it must have.
        kept: the schema with those rules that every measurement kept.

    Raises:
        Fault: says what does not fit; a column by its name, a row not at all.
    """
    if tuple(table.columns) != schema.names:
        raise Fault("a synthetic table has other columns than its schema")
    if table.height != n_rows:
        raise Fault("a synthetic table has another number of rows than its manifest")
    for name, column in schema.columns.items():
        if table.schema[name] != dtype_of(column):
            raise Fault(f"the column {named(name)} has another type than its schema says")
        if table.get_column(name).null_count() and not _has_empty(column):
            raise Fault(f"the column {named(name)} has empty cells")
    allowed = {name: _allowed(name, column) for name, column in schema.columns.items()}
    found = table.select(one.all().alias(name) for name, one in allowed.items())
    for name in allowed:
        if not found.item(0, name):
            raise Fault(f"the column {named(name)} has values that its schema does not allow")
    # A row that is impossible wherever rounding may have moved it from.
    rules = [
        reduce(and_, (_surely_in(name, kept.columns[name], states) for name, states in one.items()))
        for one in (rule.states(kept.columns) for rule in kept.forbidden)
    ]
    if rules and table.select(reduce(or_, rules).any()).item():
        raise Fault("a synthetic table has rows that its schema declares impossible")


def _has_empty(column: Column) -> bool:
    return "" in (*column.codes, *getattr(column, "levels", ()))


def _allowed(name: str, column: Column) -> pl.Expr:
    """Whether a value is one of the column's; null for an empty cell."""
    dtype, values = dtype_of(column), pl.col(name)
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        slack = _slack(column)
        inside = _number(name, column).is_between(low - slack, high + slack)
        if dtype == pl.String:
            texts = [text_of(code) for code in column.codes if code != ""]
            return inside.fill_null(value=False) | values.is_in(texts)
        return inside if dtype == pl.Date else inside | values.is_in(_numbers(column.codes))
    if dtype == pl.Enum:  # its type has said so
        return pl.lit(value=True)
    if dtype == pl.Boolean:
        return values.is_in([one for one in (*column.levels, *column.codes) if one != ""])
    return values.cast(pl.Float64).is_in(_numbers((*column.levels, *column.codes)))


def _surely_in(name: str, column: Column, states: frozenset[int]) -> pl.Expr:
    """Whether a value has one of the states; a number, wherever in its last digit it lies."""
    values, dtype = pl.col(name), dtype_of(column)
    if not isinstance(column, NUMERIC):
        return _is_one_of(values, dtype, [(*column.levels, *column.codes)[k] for k in states])
    number = _number(name, column)
    found = pl.lit(value=False)
    for low, high in _runs(column, states):
        found |= number.is_between(low, high)
    spikes = {one.low: k in states for k, one in enumerate(column.intervals) if one.spike}
    found &= ~number.is_in([low for low, inside in spikes.items() if not inside])
    if not isinstance(column, Continuous):
        found |= number.is_in([low for low, inside in spikes.items() if inside])
    codes = [code for k, code in enumerate(column.codes, column.n_ordinary) if k in states]
    return found.fill_null(value=False) | _is_one_of(values, dtype, codes)


def _is_one_of(values: pl.Expr, dtype: pl.DataType, wanted: list[Code]) -> pl.Expr:
    """Whether a value is one of these levels or codes; the empty one is a null."""
    named_ones = [one for one in wanted if one != ""]
    if isinstance(dtype, pl.Enum):
        places = {text: k for k, text in enumerate(dtype.categories)}
        found = values.to_physical().is_in([places[text_of(one)] for one in named_ones])
    elif dtype == pl.String:
        found = values.is_in([text_of(one) for one in named_ones])
    elif dtype == pl.Boolean:
        found = values.is_in([bool(one) for one in named_ones])
    elif dtype == pl.Date:
        found = pl.lit(value=False)
    else:
        found = values.cast(pl.Float64).is_in(_numbers(named_ones))
    found = found.fill_null(value=False)
    return found | values.is_null() if len(named_ones) < len(wanted) else found


def _number(name: str, column: Column) -> pl.Expr:
    """Numbers of a column (dates: days since 1970-01-01); null for what is none."""
    values, dtype = pl.col(name), dtype_of(column)
    if column.kind == "date":
        days = values.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.String else values
        return days.cast(pl.Int32)
    return values.cast(pl.Float64, strict=False) if dtype == pl.String else values


def _numbers(values: Iterable[Code]) -> list[float]:
    return [number for one in values if (number := number_of(one)) is not None]


def _slack(column: Column) -> float:
    if not isinstance(column, Continuous):
        return 0.0
    return _SLACK * max(column.upper - column.lower, abs(column.lower), abs(column.upper))


def _runs(column: Column, states: frozenset[int]) -> Iterator[tuple[float, float]]:
    """Ranges of numbers that lie in bins of these states even when they were rounded."""
    assert isinstance(column, NUMERIC)
    bins = [(k in states, one) for k, one in enumerate(column.intervals) if not one.spike]
    margin = 0.0
    if isinstance(column, Continuous):
        margin = (0.5 * 10.0**-column.decimals if column.decimals is not None else 0.0) + _slack(
            column
        )
    for inside, run in groupby(bins, key=lambda pair: pair[0]):
        together = [one for _, one in run]
        if inside:
            first, last = together[0], together[-1]
            # Rounding stops at the bounds, give or take the slack that is let pass there.
            low = first.low + margin if first is not bins[0][1] else first.low - _slack(column)
            high = last.high - margin if last is not bins[-1][1] else last.high + _slack(column)
            yield low, high
