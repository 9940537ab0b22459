"""Noisy measurements that leave with a release, so that others can compute with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.domain.domain import Domain
from understudy.errors import ReleaseError
from understudy.features.column_scores import Scores
from understudy.privacy.noise_record import NoiseFamily
from understudy.privacy.released import Bins, Groups, Noise, NoisyTable, Published, Released
from understudy.release.measurement_content import content_of
from understudy.release.measurement_kind import Kind
from understudy.release.shape import NAME
from understudy.release.stored_axes import count_name, stored_axes
from understudy.schema import Schema
from understudy.schema.coarsening import in_these_bins


def kept_columns(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Columns that every synthetic set has as they stand in the rows."""
    return next(
        (measurement.columns for measurement in measurements if measurement.kind is Kind.KEPT), ()
    )


def groups_of(measurements: Sequence[Measurement]) -> Groups:
    """Group of each state of the columns whose states were merged, as last measured."""
    return {name: merged for one in measurements for name, merged in one.groups.items()}


@dataclass(frozen=True)
class Measurement:
    """One released contingency table, or what is released of it or in its place.

    Attributes:
        name: file name without ending; "" for single numbers, which stand in the manifest alone.
        kind: "table": a noisy count of every cell; "cells": of the cells that reached a public
            threshold; "totals": nothing but totals; "successes": a noisy number of records with the
            second level of a column; "line": a noisy count of every cell of a number line, finer
            than a table, and of what lies beyond the bounds; "heaps": of every way in which its
            numbers are rounded; "sums": a noisy sum of (value - middle
            of the bounds) in every cell; "means": the same over its number of records, which
            divides the noise too; "scatter": a noisy sum of squares or products about the means of
            the cells; "products": noisy sums over all records of scores of the columns, and of
            products of two of them; "ranks": noisy sums of products of rank scores of two columns;
            "draws": records drawn from rows and a prior; "sweeps": records
            drawn column by column, each given some others; "distribution": counts that the
            exponential mechanism chose; "nodes": a noisy count of every node of a layer of a
            hierarchy whose nodes fix different columns; "leaf-sums": sums of the noisy cells of a
            full table below such nodes; "ranges": a noisy count of every range of states in a layer
            of a tree of ranges over one column; "choice": columns that the exponential mechanism
            chose, a column before its parents; "parameters": parameters of a public generator of
            records that it chose; "posterior": records drawn from a posterior of the exact rows;
            "kept": columns of all records that every synthetic set has as they stand; "exact":
            statistics without noise, which are not published.
        columns: names of the table's columns.
        codes: mixed-radix number of each cell, ascending, the last column running fastest; of a
            node, with one state more for each column, which says that it is open; of a range, its
            first and last state.
        counts: noisy count (or sum) of each of these cells.
        outside: noisy number of records that are in no cell, with one of these columns (of a layer
            of a hierarchy: any column) out of domain.
        distribution: distribution of the noise in each number.
        scale: its exact parameter (Laplace: scale; Gaussian: variance).
        stddev: standard deviation of the noise in one number, before any threshold.
        threshold: public threshold; None where every cell is released.
        entry: ledger entry that paid for it.
        totals: what is released as single numbers: positive cells and positive mass; successes; a
            scatter; the prior weight of a cell, in records, the number of cells, and whether draws
            add weight; of sweeps, the weight added to each state, and records in a block;
            parameters by name.
        of: the numeric columns that are summed; of products, columns of which a record must have a
            value to count; of leaf sums, the columns that nodes fix; of
            sweeps and posteriors, what each column is drawn given, as in "job<-age & sex".
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are.
        ranks: of ranks, the score of each state of its columns.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    codes: NDArray[np.int64]
    counts: NDArray[Any]
    outside: float
    distribution: str
    scale: str
    stddev: float
    entry: int
    threshold: float | None = None
    totals: dict[str, float] | None = None
    of: tuple[str, ...] = ()
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The kind may be given by its word; a name that would be a path is refused.

        Raises:
            ReleaseError: a name of anything but letters, digits, "-" and "_": a file is named so.
        """
        object.__setattr__(self, "kind", Kind(self.kind))
        if self.name and not NAME.fullmatch(self.name):
            raise ReleaseError(
                f"A measurement cannot be called {self.name[:60]!r}, since its file is named so; "
                "take letters, digits, hyphens and underscores."
            )

    @classmethod
    def from_released(cls, released: Released[Published], name: str, schema: Schema) -> Measurement:
        """The measurement in a released value.

        Args:
            released: what was paid for.
            name: file name without ending, used if cells are released.
            schema: the public schema of the release.
        """
        content, noise = content_of(released.value, schema), released.noise
        declared = schema.columns
        return cls(
            name=name if content.kind.has_cells else "",
            kind=content.kind,
            columns=content.columns,
            codes=content.codes,
            counts=content.counts,
            outside=content.outside,
            distribution=noise.distribution,
            scale=noise.scale,
            stddev=noise.stddev,
            entry=released.entry,
            threshold=content.threshold,
            totals=None if content.totals is None else dict(content.totals),
            of=content.of,
            bins={n: b for n, b in content.bins.items() if not in_these_bins(declared[n], b)},
            groups=dict(content.groups),
            ranks=dict(content.ranks),
        )

    @property
    def family(self) -> NoiseFamily:
        """Which distribution its noise has."""
        return NoiseFamily.of(self.distribution)

    @property
    def noise(self) -> Noise:
        """The noise in each number, as the gate gave it out."""
        return Noise(self.distribution, self.scale, self.stddev)

    def scores(self, schema: Schema) -> Scores:
        """The scores whose sums and products these are; of the kind "products" alone."""
        return Scores.of(schema, self.columns, self.of, pure=self.family.is_laplace)

    def binned(self, schema: Schema) -> Schema:
        """The schema in the bins and groups of this measurement.

        Args:
            schema: the public schema of the release.
        """
        return _coarse(schema, self.bins, self.groups)

    def domain(self, schema: Schema) -> Domain:
        """Its cells in its bins and groups, with the rules over its columns alone.

        Args:
            schema: the public schema of the release; what the last one gave is kept.
        """
        for known, domain in self._last_domain:
            if known is schema:
                return domain
        found = self.binned(schema).table(self.columns)
        self._last_domain[:] = [(schema, found)]
        return found

    @cached_property
    def _last_domain(self) -> list[tuple[Schema, Domain]]:
        return []

    def noisy(self, schema: Schema) -> tuple[NoisyTable, Noise]:
        """The noisy table and its noise, as the gate gave them out.

        Args:
            schema: the public schema of the release.

        Raises:
            ValueError: not every cell of a table was released.
        """
        if self.kind is not Kind.TABLE:
            raise ValueError(f"a measurement of the kind {self.kind} is no table of every cell")
        sizes = self.domain(schema).sizes
        table = NoisyTable(
            self.columns, self.counts.reshape(sizes), self.outside, self.bins, self.groups
        )
        return table, self.noise

    def frame(self, schema: Schema) -> pl.DataFrame:
        """The cells as a table: one labelled column per variable, and their `count` (or `sum`).

        Labels are ordered categories in the order of the states.
        """
        axes = stored_axes(self.kind, self.columns, self.of, self.family, self.binned(schema))
        sizes = [len(states) for states in axes.values()]
        places = np.unravel_index(self.codes, sizes) if axes else ()
        series = [
            pl.Series(states, dtype=pl.Enum(states)).gather(place).alias(name)
            for (name, states), place in zip(axes.items(), places, strict=True)
        ]
        return pl.DataFrame([*series, pl.Series(count_name(self.kind, axes), self.counts)])

    def to_json(self) -> dict[str, Any]:
        """Everything but the cells, for the manifest."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "columns": list(self.columns),
            "cells": len(self.codes),
            "outside": self.outside,
            "law": self.distribution,
            "scale": self.scale,
            "stddev": self.stddev,
            "threshold": self.threshold,
            "ledger_entry": self.entry,
            "totals": self.totals,
            "of": list(self.of),
            "bins": {n: b if isinstance(b, int) else list(b) for n, b in self.bins.items()},
            "groups": {name: list(groups) for name, groups in self.groups.items()},
            **(
                {"ranks": {name: list(own) for name, own in self.ranks.items()}}
                if self.ranks
                else {}
            ),
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], cells: pl.DataFrame | None, schema: Schema
    ) -> Measurement:
        """Read back what `to_json` and `frame` wrote."""
        columns = tuple(data["columns"])
        bins, groups = _bins_in(data), _groups_in(data)
        binned = _coarse(schema, bins, groups)
        kind = Kind(data["kind"])
        axes = stored_axes(kind, columns, tuple(data["of"]), NoiseFamily.of(data["law"]), binned)
        codes, counts = _cells_of(cells, kind, axes)
        return cls(
            name=data["name"],
            kind=kind,
            columns=columns,
            codes=codes,
            counts=counts,
            outside=data["outside"],
            distribution=data["law"],
            scale=data["scale"],
            stddev=data["stddev"],
            threshold=data["threshold"],
            entry=data["ledger_entry"],
            totals=data["totals"],
            of=tuple(data["of"]),
            bins=bins,
            groups=groups,
            ranks={name: tuple(own) for name, own in data.get("ranks", {}).items()},
        )


def stored_columns(data: Mapping[str, Any], schema: Schema) -> tuple[dict[str, list[str]], str]:
    """Columns of a stored table with the labels of their states, and the name of its last one.

    Args:
        data: what `Measurement.to_json` gives.
        schema: the public schema of the release.
    """
    kind, binned = Kind(data["kind"]), binned_schema(data, schema)
    family = NoiseFamily.of(data["law"])
    axes = stored_axes(kind, tuple(data["columns"]), tuple(data["of"]), family, binned)
    return axes, count_name(kind, axes)


def binned_schema(data: Mapping[str, Any], schema: Schema) -> Schema:
    """The schema in the bins and groups of a measurement.

    Args:
        data: what `Measurement.to_json` gives.
        schema: the public schema of the release.
    """
    return _coarse(schema, _bins_in(data), _groups_in(data))


def _bins_in(data: Mapping[str, Any]) -> Bins:
    return {n: b if isinstance(b, int) else tuple(b) for n, b in data["bins"].items()}


def _groups_in(data: Mapping[str, Any]) -> Groups:
    return {name: tuple(merged) for name, merged in data.get("groups", {}).items()}


def _coarse(schema: Schema, bins: Bins, groups: Groups) -> Schema:
    """The schema in other bins, and then with states merged."""
    binned = schema.with_bins(bins) if bins else schema
    return binned.with_groups(groups) if groups else binned


def _cells_of(
    cells: pl.DataFrame | None, kind: Kind, axes: Mapping[str, list[str]]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    if cells is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    places = []
    for name, known in axes.items():
        texts = cells.get_column(name).alias("").cast(pl.String).cast(pl.Enum(known))
        places.append(texts.to_physical().to_numpy().astype(np.int64))
    codes = (
        np.ravel_multi_index(places, [len(states) for states in axes.values()])
        if places
        else np.zeros(cells.height, dtype=np.int64)
    )
    return np.asarray(codes, dtype=np.int64), cells.get_column(count_name(kind, axes)).to_numpy()
