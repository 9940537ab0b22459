"""Noisy measurements that leave with a release, so that others can compute with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.privacy.values import (
    Bins,
    DrawnDistribution,
    ExactStatistics,
    NoisyCells,
    NoisyMoment,
    NoisySuccesses,
    NoisyTable,
    NoisyTotals,
    Published,
    Released,
    UrnDraws,
)
from understudy.schema import Schema

Kind = Literal[
    "table", "cells", "totals", "successes", "sums", "scatter", "draws", "distribution", "exact"
]

_WITHOUT_CELLS = ("totals", "successes", "scatter", "draws", "exact")


@dataclass(frozen=True)
class Measurement:
    """One released contingency table, or what is released of it or in its place.

    Attributes:
        name: file name without ending; "" for single numbers, which stand in the manifest alone.
        kind: "table": a noisy count of every cell; "cells": of the cells that reached a public
            threshold; "totals": nothing but totals; "successes": a noisy number of records with the
            second level of a column; "sums": a noisy sum of (value - middle of the bounds) in every
            cell; "scatter": a noisy sum of squares or products about the means of
            the cells; "draws": records drawn from rows and a prior; "distribution": counts that
            the exponential mechanism chose; "exact": statistics without noise, which are not
            published.
        columns: names of the table's columns.
        codes: mixed-radix number of each cell, ascending, the last column running fastest.
        counts: noisy count (or sum) of each of these cells.
        outside: noisy number of records with one of these columns out of domain.
        law: distribution of the noise in each number.
        scale: its exact parameter (Laplace: scale; Gaussian: variance).
        stddev: standard deviation of the noise in one number, before any threshold.
        threshold: public threshold; None where every cell is released.
        entry: ledger entry that paid for it.
        totals: what is released as single numbers: positive cells and positive mass; successes; a
            scatter; the prior weight of a cell, in records, the number of cells, and whether draws
            add weight.
        of: the numeric columns that are summed.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    name: str
    kind: Kind
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
    of: tuple[str, ...] = ()
    bins: Bins = field(default_factory=dict)

    @classmethod
    def from_released(cls, released: Released[Published], name: str, schema: Schema) -> Measurement:
        """The measurement in a released value.

        Args:
            released: what was paid for.
            name: file name without ending, used if cells are released.
            schema: the public schema of the release.
        """
        value, noise = released.value, released.noise
        kind, codes, counts, totals = _content(value)
        bins = value.bins if isinstance(value, _BINNED) else {}
        return cls(
            name="" if kind in _WITHOUT_CELLS else name,
            kind=kind,
            columns=value.columns,
            codes=codes,
            counts=counts,
            outside=float(value.outside) if isinstance(value, _COUNTED) else 0.0,
            law=noise.law,
            scale=noise.scale,
            stddev=noise.stddev,
            entry=released.entry,
            threshold=value.threshold if isinstance(value, NoisyCells) else None,
            totals=totals,
            of=value.of if isinstance(value, NoisyMoment) else (),
            bins={n: b for n, b in bins.items() if getattr(schema.columns[n], "bins", None) != b},
        )

    def binned(self, schema: Schema) -> Schema:
        """The schema in the bins of this measurement.

        Args:
            schema: the public schema of the release.
        """
        return schema.with_bins(self.bins) if self.bins else schema

    def frame(self, schema: Schema) -> pl.DataFrame:
        """The cells as a table: one labelled column per variable, and their `count` (or `sum`).

        Labels are ordered categories in the order of the states.
        """
        schema = self.binned(schema)
        sizes = [schema.columns[name].size for name in self.columns]
        places = np.unravel_index(self.codes, sizes) if sizes else ()
        series = []
        for name, place in zip(self.columns, places, strict=True):
            labels = _distinct(schema.columns[name].labels)
            series.append(pl.Series(name, labels, dtype=pl.Enum(labels)).gather(place))
        return pl.DataFrame([*series, pl.Series(_count_name(self.kind, self.columns), self.counts)])

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
            "of": list(self.of),
            "bins": {name: _plain(bins) for name, bins in self.bins.items()},
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], cells: pl.DataFrame | None, schema: Schema
    ) -> Measurement:
        """Read back what `to_json` and `frame` wrote."""
        columns = tuple(data["columns"])
        bins = {n: b if isinstance(b, int) else tuple(b) for n, b in data["bins"].items()}
        binned = schema.with_bins(bins) if bins else schema
        codes, counts = _cells_of(cells, data["kind"], columns, binned)
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
            of=tuple(data["of"]),
            bins=bins,
        )


_BINNED = (NoisyTable, NoisyCells, NoisyMoment, UrnDraws, DrawnDistribution)
_COUNTED = (NoisyTable, NoisyCells, NoisyTotals, DrawnDistribution)


def _content(
    value: Published,
) -> tuple[Kind, NDArray[np.int64], NDArray[Any], dict[str, float] | None]:
    """Kind, codes and counts of cells, and single numbers."""
    none = np.zeros(0, dtype=np.int64)
    if isinstance(value, ExactStatistics):
        return "exact", none, none, None
    if isinstance(value, NoisyTotals | NoisySuccesses | UrnDraws) or (
        isinstance(value, NoisyMoment) and value.statistic == "scatter"
    ):
        kind, numbers = _numbers(value)
        return kind, none, none, numbers
    if isinstance(value, NoisyCells):
        return "cells", value.codes, value.counts, None
    if isinstance(value, NoisyMoment):
        return "sums", np.arange(value.values.size, dtype=np.int64), value.values, None
    counts = value.counts.reshape(-1)
    codes = np.arange(counts.size, dtype=np.int64)
    return "table" if isinstance(value, NoisyTable) else "distribution", codes, counts, None


def _numbers(
    value: NoisyTotals | NoisySuccesses | UrnDraws | NoisyMoment,
) -> tuple[Kind, dict[str, float]]:
    """Kind and single numbers of what has no cells."""
    if isinstance(value, NoisyTotals):
        totals = {"positive_cells": value.positive_cells, "positive_mass": value.positive_mass}
        return "totals", totals
    if isinstance(value, NoisySuccesses):
        return "successes", {"successes": value.successes}
    if isinstance(value, NoisyMoment):
        return "scatter", {"scatter": float(value.values[0])}
    prior = {"prior": float(value.prior), "cells": value.n_cells}
    return "draws", {**prior, "reinforced": value.reinforced}


def _plain(bins: int | tuple[Any, ...]) -> Any:
    return bins if isinstance(bins, int) else list(bins)


def _cells_of(
    cells: pl.DataFrame | None, kind: Kind, columns: tuple[str, ...], schema: Schema
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
    return np.asarray(codes, dtype=np.int64), cells.get_column(
        _count_name(kind, columns)
    ).to_numpy()


def _count_name(kind: Kind, columns: tuple[str, ...]) -> str:
    """Name of the column of counts or sums, with underscores if a variable is called so."""
    name = "sum" if kind == "sums" else "count"
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
