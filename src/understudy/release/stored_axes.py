"""Columns of the stored table of a measurement: what its numbers are of, and what they are."""

from __future__ import annotations

from collections.abc import Collection

from understudy.features.column_scores import Scores
from understudy.features.heap_cells import HeapCells
from understudy.features.line_cells import LineCells
from understudy.privacy.noise_record import NoiseFamily
from understudy.release.measurement_kind import Kind
from understudy.release.score_cells import product_axes
from understudy.schema import Schema

ANY = "(any)"


def stored_axes(
    kind: Kind,
    columns: tuple[str, ...],
    of: tuple[str, ...],
    family: NoiseFamily,
    schema: Schema,
) -> dict[str, list[str]]:
    """Columns of a stored table, each with the labels of its states."""
    if kind is Kind.PRODUCTS:
        scores = Scores.of(schema, columns, of, pure=family.is_laplace)
        named = product_axes(scores, schema)
        return {axis: _distinct(labels) for axis, labels in named.items()}
    if kind is Kind.RANKS:
        return {"score": list(columns), "times": list(columns)}
    if kind is Kind.LINE:
        return {columns[0]: _distinct(LineCells.of(schema, columns[0]).labels)}
    if kind is Kind.HEAPS:
        return {columns[0]: list(HeapCells.of(schema, columns[0]).labels)}
    more = (ANY,) * kind.has_nodes
    if kind is Kind.RANGES:
        labels = _distinct(schema.columns[columns[0]].labels)
        return {columns[0]: labels, f"{columns[0]} (last)": labels}
    names = of if kind is Kind.LEAF_SUMS else columns
    return {name: _distinct((*schema.columns[name].labels, *more)) for name in names}


def count_name(kind: Kind, axes: Collection[str]) -> str:
    """Name of the column of counts or sums, with underscores if a variable is called so."""
    sums = dict.fromkeys((Kind.SUMS, Kind.PRODUCTS, Kind.RANKS), "sum")
    name = (sums | {Kind.MEANS: "mean"}).get(kind, "count")
    while name in axes:
        name += "_"
    return name


def _distinct(labels: tuple[str, ...]) -> list[str]:
    """Labels made distinct, should a code be spelled like a bin."""
    result: dict[str, None] = {}
    for label in labels:
        distinct = label
        while distinct in result:
            distinct += "′"
        result[distinct] = None
    return list(result)
