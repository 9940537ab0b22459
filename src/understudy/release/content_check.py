"""Whether the synthetic rows and the noisy measurements of a folder are those of its schema.

Questions about rows are asked of a whole table, as expressions that Polars evaluates in threads.
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
import polars.selectors as cs
from numpy.typing import NDArray

from understudy.domain.domain import Domain
from understudy.features.heap_cells import HeapCells
from understudy.features.line_cells import LineCells
from understudy.release.decoding import dtype_of
from understudy.release.drawing_keys import key_of
from understudy.release.measurement import Measurement, stored_columns
from understudy.release.measurement_kind import Kind
from understudy.release.places_of_values import place_of
from understudy.release.score_cells import pair_codes, product_codes
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Schema
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
    if kind is Kind.HEAPS and not getattr(schema.columns[columns[0]], "heaps", ()):
        raise Fault("a measurement is of heaps that its schema does not have")
    if kind.is_of_numbers and not all(isinstance(schema.columns[n], NUMERIC) for n in of):
        raise Fault("a sum is of a column that is not numeric")
    if kind is Kind.PRODUCTS and not set(of) <= set(columns):
        raise Fault("products are of records with values of other columns")
    if [*data.get("ranks", ())] != (columns if kind is Kind.RANKS else []):
        raise Fault("a measurement has scores of other columns")
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
    if any(cells.schema[name] != pl.Enum(states) for name, states in labels.items()):
        raise Fault(f"the table {named(data['name'])} has other states than its schema")
    if cells.schema[last] not in (pl.Int64, pl.Float64) or any(cells.null_count().row(0)):
        raise Fault(f"the table {named(data['name'])} has cells without a number")
    if cells.height != data["cells"]:
        raise Fault(f"the table {named(data['name'])} has another number of cells than stated")


def require_cells(table: Measurement, schema: Schema) -> None:
    """Refuse cells that a measurement of this kind cannot have.

    Args:
        table: measurement, as it was read.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    if not table.name:
        return
    if not np.isfinite(table.counts).all():
        raise Fault(f"the table {named(table.name)} has cells without a number")
    if table.kind.has_every_cell:
        fits = _is_whole(table, table.domain(schema))
    elif table.kind is Kind.CELLS:
        fits = _reaches_threshold(table, table.domain(schema))
    elif table.kind is Kind.RANGES:
        fits = _covers_line(table.codes, table.binned(schema).columns[table.columns[0]].size)
    elif table.kind in (Kind.LINE, Kind.HEAPS):
        line = LineCells if table.kind is Kind.LINE else HeapCells
        fits = np.array_equal(
            table.codes, np.arange(line.of(table.binned(schema), *table.columns).size)
        )
    elif table.kind is Kind.RANKS:
        binned = table.binned(schema)
        sized = all(binned.columns[k].size == len(own) for k, own in table.ranks.items())
        fits = sized and np.array_equal(table.codes, pair_codes(len(table.columns)))
    elif table.kind is Kind.PRODUCTS:
        fits = np.array_equal(table.codes, product_codes(table.scores(schema)))
    else:
        fits = _covers_all(table, table.binned(schema))
    if not fits:
        raise Fault(f"the table {named(table.name)} has other cells than its schema")
    bounded = table.family.is_truncated and table.kind is Kind.TABLE
    if (bounded or table.kind is Kind.DISTRIBUTION) and (table.counts < 0).any():
        raise Fault(
            f"the table {named(table.name)} has negative counts, which its noise never gives"
        )


def _require_totals(totals: Mapping[str, Any] | None, kind: Kind) -> None:
    expected, lacking = kind.totals, kind is Kind.LEAF_SUMS and totals is None
    if expected is not None and not lacking and tuple(totals or ()) != expected:
        raise Fault(f"a measurement of the kind {kind} has other totals than it should")


def _is_key(text: str, schema: Schema) -> bool:
    """Whether a text reads "column" or "column<-column & column"."""
    return key_of(text, schema.names) is not None


def _is_whole(table: Measurement, domain: Domain) -> bool:
    """Every cell once, in order; what cannot occur holds 0."""
    if not np.array_equal(table.codes, np.arange(domain.n_cells)):
        return False
    return not domain.boxes or not table.counts[~domain.allowed_mask().reshape(-1)].any()


def _reaches_threshold(table: Measurement, domain: Domain) -> bool:
    if table.threshold is None or table.threshold < 1 or not (np.diff(table.codes) > 0).all():
        return False
    columns = np.unravel_index(table.codes, domain.sizes) if domain.sizes else ()
    return bool((table.counts >= table.threshold).all()) and not domain.forbidden(columns).any()


def _covers_line(codes: NDArray[np.int64], size: int) -> bool:
    """Ranges of states that follow each other from the first state to the last."""
    first, last = codes // size, codes % size
    whole = len(codes) > 0 and first[0] == 0 and last[-1] == size - 1
    return bool(whole and (first <= last).all() and (first[1:] == last[:-1] + 1).all())


def _covers_all(table: Measurement, schema: Schema) -> bool:
    """Nodes that together have as many allowed cells as there are."""
    axes = table.of if table.kind is Kind.LEAF_SUMS else table.columns
    sizes = [schema.columns[name].size for name in axes]
    once = len(np.unique(table.codes)) == len(table.codes)
    states = np.stack(np.unravel_index(table.codes, [size + 1 for size in sizes]), axis=1)
    return once and sum(_cells_of_nodes(states, axes, sizes, schema)) == schema.domain.n_allowed


def _cells_of_nodes(
    states: NDArray[np.int64], axes: Sequence[str], sizes: Sequence[int], schema: Schema
) -> list[int]:
    """Allowed cells of each node; its last state of an axis stands for all."""
    whole, place = schema.domain, [schema.names.index(name) for name in axes]
    if not whole.boxes:
        rest = whole.n_cells // math.prod(sizes)
        factors = np.where(states == sizes, np.array(sizes, dtype=object), 1)
        return [rest * int(size) for size in factors.prod(axis=1)]
    n_allowed = []
    for row in states.tolist():
        fixed = [-1] * len(whole.sizes)
        for j, state, size in zip(place, row, sizes, strict=True):
            fixed[j] = -1 if state == size else state
        n_allowed.append(whole.fixed(fixed).n_allowed)
    return n_allowed


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
    if tuple(table.columns) != tuple(schema.declared):
        raise Fault("a synthetic table has other columns than its schema")
    if table.height != n_rows:
        raise Fault("a synthetic table has another number of rows than its manifest")
    for name, column in schema.stated.items():
        if table.schema[name] != dtype_of(column):
            raise Fault(f"the column {named(name)} has another type than its schema says")
        if table.get_column(name).null_count() and not _has_empty(column):
            raise Fault(f"the column {named(name)} has empty cells")
    allowed = {name: _allowed(name, column) for name, column in schema.stated.items()}
    within = table.select(expression.all().alias(name) for name, expression in allowed.items())
    for name in allowed:
        if not within.item(0, name):
            raise Fault(f"the column {named(name)} has values that its schema does not allow")
    # A row that is impossible wherever rounding may have moved it from.
    rules = [
        reduce(
            and_, (_surely_in(name, kept.columns[name], states) for name, states in fixed.items())
        )
        for fixed in (rule.states(kept.columns) for rule in kept.forbidden)
    ]
    if rules and table.select(reduce(or_, rules).any()).item():
        raise Fault("a synthetic table has rows that its schema declares impossible")


def _column(name: str) -> pl.Expr:
    """The column of that very name; Polars takes some names ("*", "^a$") for patterns."""
    return cs.by_name([name]).as_expr()


def _has_empty(column: Column) -> bool:
    return "" in (*column.codes, *getattr(column, "levels", ()))


def _allowed(name: str, column: Column) -> pl.Expr:
    """Whether a value is one of the column's; null for an empty cell."""
    dtype, values = dtype_of(column), _column(name)
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        slack = _slack(column)
        inside = place_of(_column(name), dtype, column).is_between(low - slack, high + slack)
        if dtype == pl.String:
            texts = [text_of(code) for code in column.codes if code != ""]
            return inside.fill_null(value=False) | values.is_in(texts)
        codes = values.cast(pl.Float64).is_in(_numbers(column.codes))
        if isinstance(column, Calendar):  # one between two units has no place
            return pl.when(values.is_not_null()).then(inside.fill_null(value=False))
        return inside | codes
    if dtype == pl.Enum:  # its type has said so
        return pl.lit(value=True)
    if dtype == pl.Boolean:
        return values.is_in([value for value in (*column.levels, *column.codes) if value != ""])
    return values.cast(pl.Float64).is_in(_numbers((*column.levels, *column.codes)))


def _surely_in(name: str, column: Column, states: frozenset[int]) -> pl.Expr:
    """Whether a value has one of the states; a number, wherever in its last digit it lies."""
    values, dtype = _column(name), dtype_of(column)
    if not isinstance(column, NUMERIC):
        return _is_one_of(values, dtype, [(*column.levels, *column.codes)[k] for k in states])
    number = place_of(_column(name), dtype, column)
    surely = pl.lit(value=False)
    for low, high in _runs(column, states):
        surely |= number.is_between(low, high)
    spikes = {
        float(spike.low): k in states for k, spike in enumerate(column.intervals) if spike.spike
    }
    surely &= ~number.is_in([low for low, inside in spikes.items() if not inside])
    if not isinstance(column, Continuous):
        surely |= number.is_in([low for low, inside in spikes.items() if inside])
    codes = [code for k, code in enumerate(column.codes, column.n_ordinary) if k in states]
    return surely.fill_null(value=False) | _is_one_of(values, dtype, codes)


def _is_one_of(values: pl.Expr, dtype: pl.DataType, sought: list[Code]) -> pl.Expr:
    """Whether a value is one of these levels or codes; the empty one is a null."""
    named_ones = [code for code in sought if code != ""]
    if isinstance(dtype, pl.Enum):
        places = {text: k for k, text in enumerate(dtype.categories)}
        matches = values.to_physical().is_in([places[text_of(code)] for code in named_ones])
    elif dtype == pl.String:
        matches = values.is_in([text_of(code) for code in named_ones])
    elif dtype == pl.Boolean:
        matches = values.is_in([bool(code) for code in named_ones])
    elif dtype.is_temporal():
        matches = pl.lit(value=False)
    else:
        matches = values.cast(pl.Float64).is_in(_numbers(named_ones))
    matches = matches.fill_null(value=False)
    return matches | values.is_null() if len(named_ones) < len(sought) else matches


def _numbers(values: Iterable[Code]) -> list[float]:
    return [number for value in values if (number := number_of(value)) is not None]


def _slack(column: Column) -> float:
    if not isinstance(column, Continuous):
        return 0.0
    return _SLACK * max(column.upper - column.lower, abs(column.lower), abs(column.upper))


def _runs(column: Column, states: frozenset[int]) -> Iterator[tuple[float, float]]:
    """Ranges of numbers that lie in bins of these states even when they were rounded."""
    assert isinstance(column, NUMERIC)
    bins = [(k in states, cell) for k, cell in enumerate(column.intervals) if not cell.spike]
    margin = 0.0
    if isinstance(column, Continuous):
        margin = (0.5 * 10.0**-column.decimals if column.decimals is not None else 0.0) + _slack(
            column
        )
    for inside, run in groupby(bins, key=lambda pair: pair[0]):
        together = [cell for _, cell in run]
        if inside:
            first, last = together[0], together[-1]
            # Rounding stops at the bounds, give or take the slack that is let pass there.
            low = first.low + margin if first is not bins[0][1] else first.low - _slack(column)
            high = last.high - margin if last is not bins[-1][1] else last.high + _slack(column)
            yield low, high
