"""Noisy measurements that leave with a release, so that others can compute with them.

**What a released value holds, in the terms in which a measurement stores it.**

**Columns of the stored table of a measurement: what its numbers are of, and what they are.**

**How sums of scores and of their products stand in a table: of what, times what, among whom.**
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.dp.released import (
    Bins,
    Choice,
    ChosenParameters,
    DrawnDistribution,
    ExactStatistics,
    GibbsDraws,
    Groups,
    KeptColumns,
    Noise,
    NoiseFamily,
    NoisyCells,
    NoisyHeaps,
    NoisyLine,
    NoisyMoment,
    NoisyNodes,
    NoisyProducts,
    NoisyRanges,
    NoisyRanks,
    NoisySuccesses,
    NoisyTable,
    NoisyTerms,
    NoisyTotals,
    NoisyWeighted,
    NoisyWeightedTable,
    PosteriorDraws,
    Published,
    Released,
    UrnDraws,
)
from understudy.errors import ReleaseError
from understudy.features.grids import HeapCells, LineCells, is_finer, own_bins
from understudy.features.scores import Boxes, CodedSquare, FeatureMap, Limits, ScoreMap, Weighting
from understudy.features.terms import TermMap
from understudy.release.shape import NAME, Kind
from understudy.schema import NUMERIC, Domain, Schema
from understudy.schema.coarsening import in_these_bins, states_in

if TYPE_CHECKING:
    import polars as pl


def product_axes(scores: ScoreMap, schema: Schema) -> dict[str, tuple[str, ...]]:
    """List the factors and the records of each stored sum: a score, times another, among which."""
    each = ("1", *scores.names)
    among = dict.fromkeys(_absence(square) for square in scores.coded)
    labels = (f"{name} = {schema.columns[name].labels[state]}" for name, state in among)
    return {"score": each, "times": each, "among": ("all", *labels)}


def product_codes(scores: ScoreMap) -> NDArray[np.int64]:
    """Codes of all sums: two places, each 0 for the constant 1, then a score; and among whom."""
    order = scores.order
    first, second = (place + 1 for place in scores.pairs)
    constant, sums = np.zeros(1, dtype=np.int64), np.arange(1, len(scores) + 1)
    squares = scores.numbers + 1
    coded = np.array([square.place + 1 for square in scores.coded], dtype=np.int64)
    left = order.join((constant, np.zeros_like(sums), first, squares, coded))
    right = order.join((constant, sums, second, squares, coded))
    places = {one: k for k, one in enumerate(dict.fromkeys(_absence(s) for s in scores.coded), 1)}
    among = np.zeros(order.size, dtype=np.int64)
    among[order.places[-1]] = [places[_absence(square)] for square in scores.coded]
    size = len(scores) + 1
    return np.asarray((left * size + right) * (len(places) + 1) + among)


def block_codes(scores: ScoreMap, schema: Schema) -> NDArray[np.int64]:
    """The same codes, in the block of each state where sums are taken apart.

    Args:
        scores: that are summed.
        schema: that declares their columns.
    """
    codes = product_codes(scores)
    size = math.prod(len(labels) for labels in product_axes(scores, schema).values())
    many = 1 if scores.weighting is None else scores.weighting.blocks(schema)
    return np.asarray((np.arange(many)[:, None] * size + codes).reshape(-1), dtype=np.int64)


def pair_codes(n: int) -> NDArray[np.int64]:
    """Codes of all pairs of n columns, first < second: two places."""
    first, second = np.triu_indices(n, 1)
    return np.asarray(first * n + second, dtype=np.int64)


def _absence(square: CodedSquare) -> tuple[str, int]:
    return square.column, square.state


_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Content:
    """The content of a measurement: a contingency table, or what is told of one or in its place.

    Attributes:
        kind: what it is; `Kind` says what each has in its file.
        columns: names of the table's columns.
        codes: mixed-radix number of each cell, ascending, the last column running fastest; of a
            node, with one state more for each column, which says that it is open; of a range, its
            first and last state.
        counts: noisy count (or sum) of each of these cells.
        outside: noisy number of records that are in no cell, with one of these columns (of a layer
            of a hierarchy: any column) out of domain.
        threshold: public threshold; None where every cell is released.
        totals: what is released as single numbers: positive cells and positive mass; successes; a
            scatter; the prior weight of a cell, in records, the number of cells, and whether draws
            add weight; of sweeps, the weight added to each state, and records in a block;
            parameters by name.
        of: the numeric columns that are summed; of weighted products, terms and tables, the column
            of the weights; of products, columns of which a record must have a
            value to count; of leaf sums, the columns that nodes fix; of
            sweeps and posteriors, what each column is drawn given, as in "job<-age & sex".
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are.
        ranks: of ranks, the score of each state of its columns.
        limits: of products and terms, where numbers of a column were cut off, if not at its bounds.
        terms: whose scores are summed, as texts.
        among: of terms, boxes of states, in one of which a record that counts lies; () for all.
        beside: of a table, with weights or without, whether it was bought for answers alone: no
            record is drawn from it.
    """

    kind: Kind
    columns: tuple[str, ...]
    codes: NDArray[np.int64] = field(default_factory=_NONE.copy)
    counts: NDArray[Any] = field(default_factory=_NONE.copy)
    outside: float = 0.0
    threshold: float | None = None
    totals: Mapping[str, float] | None = None
    of: tuple[str, ...] = ()
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=dict)
    terms: tuple[str, ...] = ()
    among: Boxes = ()
    beside: bool = False


@singledispatch
def content_of(value: Published, schema: Schema) -> Content:
    """The content of a released value.

    Args:
        value: what was paid for.
        schema: the public schema of the release.
    """
    raise TypeError(f"no content is defined for {type(value).__name__}")


@content_of.register
def _(value: NoisyTable, schema: Schema) -> Content:
    return replace(_full(Kind.TABLE, value), groups=value.groups, beside=value.beside)


@content_of.register
def _(value: DrawnDistribution, schema: Schema) -> Content:
    return _full(Kind.DISTRIBUTION, value)


def _full(kind: Kind, value: NoisyTable | NoisyLine | NoisyHeaps | DrawnDistribution) -> Content:
    counts = value.counts.reshape(-1)
    codes = np.arange(counts.size, dtype=np.int64)
    bins = {} if isinstance(value, NoisyHeaps) else value.bins
    return Content(kind, value.columns, codes, counts, float(value.outside), bins=bins)


@content_of.register
def _(value: NoisyLine, schema: Schema) -> Content:
    return _full(Kind.LINE, value)


@content_of.register
def _(value: NoisyHeaps, schema: Schema) -> Content:
    return _full(Kind.HEAPS, value)


@content_of.register
def _(value: NoisyCells, schema: Schema) -> Content:
    cells = value.codes, value.counts, float(value.outside), value.threshold
    return Content(Kind.CELLS, value.columns, *cells, bins=value.bins)


@content_of.register
def _(value: NoisyTotals, schema: Schema) -> Content:
    totals = {"positive_cells": value.positive_cells, "positive_mass": value.positive_mass}
    return Content(Kind.TOTALS, value.columns, outside=float(value.outside), totals=totals)


@content_of.register
def _(value: NoisySuccesses, schema: Schema) -> Content:
    return Content(Kind.SUCCESSES, value.columns, totals={"successes": value.successes})


@content_of.register
def _(value: NoisyMoment, schema: Schema) -> Content:
    if value.statistic == "scatter":
        totals = {"scatter": float(value.values[0])}
        return Content(Kind.SCATTER, value.columns, totals=totals, of=value.of, bins=value.bins)
    codes = np.arange(value.values.size, dtype=np.int64)
    kind = Kind.MEANS if value.statistic == "mean" else Kind.SUMS
    return Content(kind, value.columns, codes, value.values, of=value.of, bins=value.bins)


@content_of.register
def _(value: NoisyProducts, schema: Schema) -> Content:
    scores = FeatureMap.of(schema, value.columns, value.complete, pure=value.pure)
    codes = product_codes(scores)
    content = Content(Kind.PRODUCTS, value.columns, codes, value.values, of=value.complete)
    return replace(content, limits=value.limits)


@content_of.register
def _(value: NoisyWeighted, schema: Schema) -> Content:
    weighting = Weighting(value.column, value.bound, value.power, value.by)
    scores = FeatureMap.of(schema, value.columns, pure=value.pure, weighting=weighting)
    totals = {"bound": value.bound, "power": value.power}
    content = Content(Kind.WEIGHTED, value.columns, block_codes(scores, schema), value.values)
    return replace(content, of=tuple(filter(None, (value.column, value.by))), totals=totals)


@content_of.register
def _(value: NoisyWeightedTable, schema: Schema) -> Content:
    cells, own = value.values.reshape(-1), value.weighting
    codes = np.arange(cells.size, dtype=np.int64)
    content = Content(Kind.WEIGHTED_TABLE, value.columns, codes, cells, of=(own.column,))
    totals = {"bound": own.bound, "power": own.power}
    return replace(content, totals=totals, bins=value.bins, groups=value.groups, beside=True)


@content_of.register
def _(value: NoisyTerms, schema: Schema) -> Content:
    weighting = value.weighting
    scores = TermMap.of(schema, value.terms, among=value.among, weighting=weighting)
    content = Content(Kind.TERMS, scores.columns, block_codes(scores, schema), value.values)
    content = replace(content, terms=value.terms, limits=value.limits, among=value.among)
    if weighting is None:
        return content
    totals = {"bound": weighting.bound, "power": weighting.power}
    return replace(content, of=tuple(filter(None, (weighting.column, weighting.by))), totals=totals)


@content_of.register
def _(value: NoisyRanks, schema: Schema) -> Content:
    codes = pair_codes(len(value.columns))
    content = Content(Kind.RANKS, value.columns, codes, value.values, bins=value.bins)
    return replace(content, groups=value.groups, ranks=value.scores)


@content_of.register
def _(value: UrnDraws, schema: Schema) -> Content:
    prior = {"prior": float(value.prior), "cells": value.n_cells}
    totals = {**prior, "reinforced": value.reinforced}
    return Content(Kind.DRAWS, value.columns, totals=totals, bins=value.bins)


@content_of.register
def _(value: GibbsDraws, schema: Schema) -> Content:
    """Keys stand as in the option `keys`; what does not apply is left out of the totals."""
    totals = {"prior": value.prior, "block": value.block}
    return Content(
        Kind.SWEEPS,
        value.columns,
        totals={name: float(number) for name, number in totals.items() if number is not None},
        of=tuple(f"{name}<-{' & '.join(key)}" for name, key in value.keys.items()),
        bins=value.bins,
    )


@content_of.register
def _(value: NoisyNodes, schema: Schema) -> Content:
    """Codes of nodes have one state more for each column, which says that it is open."""
    binned = schema.with_bins(value.bins) if value.bins else schema
    codes = np.zeros(len(value.states), dtype=np.int64)
    for name, states in zip(value.columns, value.states.T, strict=True):
        size = binned.columns[name].size
        codes = codes * (size + 1) + np.where(states < 0, size, states)
    return Content(
        Kind.LEAF_SUMS if value.below else Kind.NODES,
        value.below or value.columns,
        codes,
        value.counts,
        float(value.outside),
        totals=dict(value.totals) if value.totals else None,
        of=value.columns if value.below else (),
        bins=value.bins,
    )


@content_of.register
def _(value: NoisyRanges, schema: Schema) -> Content:
    """A one-way table if each range is a state; else codes of first and last states."""
    binned = schema.with_bins(value.bins) if value.bins else schema
    size = binned.columns[value.columns[0]].size
    real = value.edges[:-1] < size
    first, last = value.edges[:-1][real], np.minimum(value.edges[1:][real], size) - 1
    alone = bool((first == last).all())
    return Content(
        Kind.TABLE if alone else Kind.RANGES,
        value.columns,
        first if alone else first * size + last,
        value.counts[real],
        float(value.outside),
        bins=value.bins,
    )


@content_of.register
def _(value: ChosenParameters, schema: Schema) -> Content:
    totals = dict(zip(value.names, value.values, strict=True))
    return Content(Kind.PARAMETERS, value.columns, totals=totals, bins=value.bins)


@content_of.register
def _(value: PosteriorDraws, schema: Schema) -> Content:
    """Keys stand as in the option `network`."""
    network = (f"{name}<-{' & '.join(key)}" if key else name for name, key in value.keys.items())
    return Content(Kind.POSTERIOR, value.columns, of=tuple(network))


_BARE = {Choice: Kind.CHOICE, KeptColumns: Kind.KEPT, ExactStatistics: Kind.EXACT}


@content_of.register
def _(value: Choice | KeptColumns | ExactStatistics, schema: Schema) -> Content:
    return Content(_BARE[type(value)], value.columns)


ANY = "(any)"


def stored_axes(
    kind: Kind,
    columns: tuple[str, ...],
    of: tuple[str, ...],
    family: NoiseFamily,
    schema: Schema,
    *,
    terms: tuple[str, ...] = (),
) -> dict[str, list[str]]:
    """Columns of a stored table, each with the labels of its states."""
    if kind in (Kind.PRODUCTS, Kind.WEIGHTED, Kind.TERMS):
        complete = of if kind is Kind.PRODUCTS else ()
        apart = of[1] if kind is not Kind.PRODUCTS and len(of) > 1 else ""
        scores: ScoreMap = (
            TermMap.of(schema, terms)
            if kind is Kind.TERMS
            else FeatureMap.of(schema, columns, complete, pure=family.is_laplace)
        )
        named = product_axes(scores, schema)
        if apart:
            named = {"by": schema.columns[apart].labels, **named}
        return {axis: _distinct(labels) for axis, labels in named.items()}
    if kind is Kind.RANKS:
        return {"score": list(columns), "times": list(columns)}
    if kind is Kind.LINE:
        return {columns[0]: _distinct(LineCells.of(schema, columns[0]).labels)}
    if kind is Kind.HEAPS:
        return {columns[0]: list(HeapCells.of(schema, columns[0]).labels)}
    open_state = (ANY,) * kind.has_nodes
    if kind is Kind.RANGES:
        labels = _distinct(schema.columns[columns[0]].labels)
        return {columns[0]: labels, f"{columns[0]} (last)": labels}
    names = of if kind is Kind.LEAF_SUMS else columns
    return {name: _distinct((*schema.columns[name].labels, *open_state)) for name in names}


def count_name(kind: Kind, axes: Collection[str]) -> str:
    """Name of the column of counts or sums, with underscores if a variable is called so."""
    summed = (Kind.SUMS, Kind.PRODUCTS, Kind.WEIGHTED, Kind.WEIGHTED_TABLE, Kind.TERMS, Kind.RANKS)
    sums = dict.fromkeys(summed, "sum")
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


def kept_columns(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Columns that every synthetic set has as they stand in the rows."""
    return next(
        (measurement.columns for measurement in measurements if measurement.kind is Kind.KEPT), ()
    )


def groups_of(measurements: Sequence[Measurement]) -> Groups:
    """Group of each state of the columns whose states were merged, as last measured for records."""
    of_records = (one for one in measurements if not one.beside)
    return {name: merged for one in of_records for name, merged in one.groups.items()}


@dataclass(frozen=True, kw_only=True)
class Measurement(Content):
    """A released measurement as a release stores it: with a name, its noise, and what paid for it.

    Attributes:
        name: file name without ending; "" for single numbers, which stand in the manifest alone.
        distribution: distribution of the noise in each number.
        scale: its exact parameter (Laplace: scale; Gaussian: variance).
        stddev: standard deviation of the noise in one number, before any threshold.
        entry: ledger entry that paid for it.
    """

    name: str
    distribution: str
    scale: str
    stddev: float
    entry: int

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
    def from_released(
        cls,
        released: Released[Published],
        name: str,
        schema: Schema,
        asked: Schema | None = None,
    ) -> Measurement:
        """The measurement in a released value.

        Args:
            released: what was paid for.
            name: file name without ending, used if cells are released.
            schema: the public schema of the release.
            asked: in whose states it was asked for, of which the release divides bins; None for
                those of the release.
        """
        content, noise = content_of(released.value, schema), released.noise
        if asked is not None and content.among:
            pairs = {name: (asked.columns[name], schema.columns[name]) for name in content.columns}
            among = (
                {name: states_in(*pairs[name], states) for name, states in box.items()}
                for box in content.among
            )
            content = replace(content, among=tuple(among))
        if asked is not None and content.kind.may_stand_beside:
            coarser = _coarser_bins(content.columns, asked, schema)
            content = replace(content, bins={**coarser, **content.bins})
        declared, bins = schema.columns, content.bins.items()
        changed = {n: edges for n, edges in bins if not in_these_bins(declared[n], edges)}
        return cls(
            **vars(content) | {"bins": changed},
            name=name if content.kind.has_cells else "",
            distribution=noise.distribution,
            scale=noise.scale,
            stddev=noise.stddev,
            entry=released.entry,
        )

    @property
    def family(self) -> NoiseFamily:
        """Distribution of its noise."""
        return NoiseFamily.of(self.distribution)

    @property
    def noise(self) -> Noise:
        """The noise in each number, as the gate gave it out."""
        return Noise(self.distribution, self.scale, self.stddev)

    def scores(self, schema: Schema) -> FeatureMap:
        """The scores whose sums and products these are; of the kinds "products" and "weighted"."""
        pure = self.family.is_laplace
        if self.kind is Kind.WEIGHTED:
            return FeatureMap.of(schema, self.columns, pure=pure, weighting=self.weighting)
        return FeatureMap.of(schema, self.columns, self.of, pure=pure, limits=self.limits)

    def term_scores(self, schema: Schema) -> TermMap:
        """The scores whose sums and products these are; of the kind "terms"."""
        return TermMap.of(
            schema,
            self.terms,
            limits=self.limits,
            among=self.among,
            weighting=self.weighting,
        )

    @property
    def weighting(self) -> Weighting | None:
        """The weighting of its records; None where each counts as 1."""
        weighted = (Kind.WEIGHTED, Kind.WEIGHTED_TABLE, Kind.TERMS)
        if self.kind not in weighted or not self.of:
            return None
        totals = self.totals or {}
        apart = self.of[1] if len(self.of) > 1 else ""
        return Weighting(self.of[0], float(totals["bound"]), int(totals["power"]), apart)

    def bin_schema(self, schema: Schema) -> Schema:
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
        found = self.bin_schema(schema).table(self.columns)
        self._last_domain[:] = [(schema, found)]
        return found

    @cached_property
    def _last_domain(self) -> list[tuple[Schema, Domain]]:
        return []

    def noisy(self, schema: Schema) -> NoisyTable:
        """The noisy table, as the gate gave it out.

        Args:
            schema: the public schema of the release.

        Raises:
            ValueError: not every cell of a table was released.
        """
        if self.kind is not Kind.TABLE:
            raise ValueError(f"a measurement of the kind {self.kind} is no table of every cell")
        sizes = self.domain(schema).sizes
        counts = self.counts.reshape(sizes)
        return NoisyTable(self.columns, counts, self.outside, self.noise, self.bins, self.groups)

    def frame(self, schema: Schema) -> pl.DataFrame:
        """The cells as a table: one labelled column per variable, and their `count` (or `sum`).

        Labels are ordered categories in the order of the states.
        """
        import polars as pl  # takes long, and a plan stores no cells

        binned = self.bin_schema(schema)
        axes = stored_axes(self.kind, self.columns, self.of, self.family, binned, terms=self.terms)
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
            **_entry_of("ranks", self.ranks),
            **_entry_of("limits", self.limits),
            **({"terms": list(self.terms)} if self.terms else {}),
            **({"among": _as_stored(self.among)} if self.among else {}),
            **({"beside": True} if self.beside else {}),
        }

    @classmethod
    def from_json(
        cls, data: dict[str, Any], cells: pl.DataFrame | None, schema: Schema
    ) -> Measurement:
        """Read back what `to_json` and `frame` wrote."""
        columns = tuple(data["columns"])
        bins, groups = bins_in(data), groups_in(data)
        binned = _coarse(schema, bins, groups)
        kind = Kind(data["kind"])
        family, terms = NoiseFamily.of(data["law"]), tuple(data.get("terms", ()))
        axes = stored_axes(kind, columns, tuple(data["of"]), family, binned, terms=terms)
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
            ranks={name: tuple(scores) for name, scores in data.get("ranks", {}).items()},
            limits=limits_in(data),
            terms=terms,
            among=among_in(data),
            beside=data.get("beside", False),
        )


def stored_columns(data: Mapping[str, Any], schema: Schema) -> tuple[dict[str, list[str]], str]:
    """Columns of a stored table with the labels of their states, and the name of its last one.

    Args:
        data: what `Measurement.to_json` gives.
        schema: the public schema of the release.
    """
    kind, binned = Kind(data["kind"]), binned_schema(data, schema)
    family = NoiseFamily.of(data["law"])
    terms = tuple(data.get("terms", ()))
    axes = stored_axes(kind, tuple(data["columns"]), tuple(data["of"]), family, binned, terms=terms)
    return axes, count_name(kind, axes)


def binned_schema(data: Mapping[str, Any], schema: Schema) -> Schema:
    """The schema in the bins and groups of a measurement.

    Args:
        data: what `Measurement.to_json` gives.
        schema: the public schema of the release.
    """
    return _coarse(schema, bins_in(data), groups_in(data))


def limits_in(data: Mapping[str, Any]) -> Limits:
    """Read where the numbers of a measurement were cut off.

    Args:
        data: what `Measurement.to_json` gives.
    """
    return {name: (low, high) for name, (low, high) in data.get("limits", {}).items()}


def _coarser_bins(columns: Sequence[str], asked: Schema, schema: Schema) -> dict[str, Any]:
    """The bins of numbers that a table was asked for in, where those of the release divide them."""
    pairs = ((name, asked.columns[name], schema.columns[name]) for name in columns)
    return {
        name: own_bins(own)
        for name, own, fine in pairs
        if isinstance(own, NUMERIC) and isinstance(fine, NUMERIC) and is_finer(fine, own)
    }


def among_in(data: Mapping[str, Any]) -> Boxes:
    """Read in which boxes of states the records of a measurement lie.

    Args:
        data: what `Measurement.to_json` gives.
    """
    stored = data.get("among", [])
    boxes = [stored] if isinstance(stored, Mapping) else stored
    return tuple({name: tuple(states) for name, states in box.items()} for box in boxes)


def _as_stored(boxes: Boxes) -> dict[str, list[int]] | list[dict[str, list[int]]]:
    """Boxes in a manifest: one stands there by itself."""
    stored = [{name: list(states) for name, states in box.items()} for box in boxes]
    return stored[0] if len(stored) == 1 else stored


def _entry_of(name: str, values: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """An entry of the manifest that stands there only where it has something."""
    return {name: {column: list(own) for column, own in values.items()}} if values else {}


def bins_in(data: Mapping[str, Any]) -> Bins:
    """Read in which bins numbers were counted, where not in those of the schema; as above."""
    return {n: b if isinstance(b, int) else tuple(b) for n, b in data["bins"].items()}


def groups_in(data: Mapping[str, Any]) -> Groups:
    """Read which states were counted together; as above."""
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
    import polars as pl

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
