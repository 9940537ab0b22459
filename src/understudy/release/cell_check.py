"""Whether the noisy measurements of a folder are measurements of its schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.domain.domain import Domain
from understudy.release.measurement import Measurement, stored_columns
from understudy.release.measurement_content import Kind
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Schema


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
    bounded = one.law.startswith("truncated") and one.kind is Kind.TABLE
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
