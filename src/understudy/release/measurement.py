"""Noisy measurements that leave with a release, so that others can compute with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.privacy.values import NoisyCells, NoisyTable, NoisyTotals, Released
from understudy.schema import Schema


@dataclass(frozen=True)
class Measurement:
    """One released contingency table, or what is released of it.

    Attributes:
        name: file name without ending; "" for totals, which stand in the manifest alone.
        kind: "table": every cell; "cells": the cells that reached a public threshold; "totals":
            nothing but totals.
        columns: names of the table's columns.
        codes: mixed-radix number of each cell, ascending, the last column running fastest.
        counts: noisy count of each of these cells.
        outside: noisy number of records with one of these columns out of domain.
        law: distribution of the noise in each number.
        scale: its exact parameter (Laplace: scale; Gaussian: variance).
        stddev: standard deviation of the noise in one number, before any threshold.
        threshold: public threshold; None where every cell is released.
        entry: ledger entry that paid for it.
        totals: positive cells and positive mass, of a table that is released as totals alone.
    """

    name: str
    kind: Literal["table", "cells", "totals"]
    columns: tuple[str, ...]
    codes: NDArray[np.int64]
    counts: NDArray[Any]
    outside: float
    law: str
    scale: str
    stddev: float
    entry: int
    threshold: float | None = None
    totals: dict[str, float] | None = None

    @classmethod
    def of(
        cls, released: Released[NoisyTable | NoisyCells | NoisyTotals], name: str
    ) -> Measurement:
        """The measurement in a released value."""
        value, noise = released.value, released.noise
        common = {
            "columns": value.columns,
            "outside": float(value.outside),
            "law": noise.law,
            "scale": noise.scale,
            "stddev": noise.stddev,
            "entry": released.entry,
        }
        if isinstance(value, NoisyTable):
            counts = value.counts.reshape(-1)
            codes = np.arange(counts.size, dtype=np.int64)
            return cls(name=name, kind="table", codes=codes, counts=counts, **common)  # type: ignore[arg-type]
        if isinstance(value, NoisyCells):
            return cls(
                name=name,
                kind="cells",
                codes=value.codes,
                counts=value.counts,
                threshold=value.threshold,
                **common,  # type: ignore[arg-type]
            )
        empty = np.zeros(0, dtype=np.int64)
        totals = {"positive_cells": value.positive_cells, "positive_mass": value.positive_mass}
        return cls(name="", kind="totals", codes=empty, counts=empty, totals=totals, **common)  # type: ignore[arg-type]

    def frame(self, schema: Schema) -> pl.DataFrame:
        """The cells as a table: one labelled column per variable, and their `count`.

        Labels are ordered categories in the order of the states.
        """
        sizes = [schema.columns[name].size for name in self.columns]
        places = np.unravel_index(self.codes, sizes) if sizes else ()
        series = []
        for name, place in zip(self.columns, places, strict=True):
            labels = _distinct(schema.columns[name].labels)
            series.append(pl.Series(name, labels, dtype=pl.Enum(labels)).gather(place))
        return pl.DataFrame([*series, pl.Series(_count_name(self.columns), self.counts)])

    def to_json(self) -> dict[str, Any]:
        """Everything but the cells, for the manifest."""
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": list(self.columns),
            "cells": len(self.codes),
            "outside": self.outside,
            "law": self.law,
            "scale": self.scale,
            "stddev": self.stddev,
            "threshold": self.threshold,
            "ledger_entry": self.entry,
            "totals": self.totals,
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], cells: pl.DataFrame | None, schema: Schema
    ) -> Measurement:
        """Read back what `to_json` and `frame` wrote."""
        columns = tuple(data["columns"])
        codes, counts = _cells_of(cells, columns, schema)
        return cls(
            name=data["name"],
            kind=data["kind"],
            columns=columns,
            codes=codes,
            counts=counts,
            outside=data["outside"],
            law=data["law"],
            scale=data["scale"],
            stddev=data["stddev"],
            threshold=data["threshold"],
            entry=data["ledger_entry"],
            totals=data["totals"],
        )


def _cells_of(
    cells: pl.DataFrame | None, columns: tuple[str, ...], schema: Schema
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    if cells is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    sizes = [schema.columns[name].size for name in columns]
    places = []
    for name in columns:
        labels = _distinct(schema.columns[name].labels)
        texts = cells.get_column(name).cast(pl.String).cast(pl.Enum(labels))
        places.append(texts.to_physical().to_numpy().astype(np.int64))
    codes = (
        np.ravel_multi_index(places, sizes) if places else np.zeros(cells.height, dtype=np.int64)
    )
    return np.asarray(codes, dtype=np.int64), cells.get_column(_count_name(columns)).to_numpy()


def _count_name(columns: tuple[str, ...]) -> str:
    """Name of the column of counts: `count`, or with underscores if a variable is called so."""
    name = "count"
    while name in columns:
        name += "_"
    return name


def _distinct(labels: tuple[str, ...]) -> list[str]:
    """Labels made distinct, should a code be spelled like a bin."""
    result: list[str] = []
    for label in labels:
        distinct = label
        while distinct in result:
            distinct += "′"
        result.append(distinct)
    return result
