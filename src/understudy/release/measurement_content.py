"""What a released value holds, in the terms in which a measurement stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.features.column_scores import Scores
from understudy.privacy.released import (
    Bins,
    Choice,
    ChosenParameters,
    DrawnDistribution,
    ExactStatistics,
    GibbsDraws,
    Groups,
    KeptColumns,
    NoisyCells,
    NoisyHeaps,
    NoisyLine,
    NoisyMoment,
    NoisyNodes,
    NoisyProducts,
    NoisyRanges,
    NoisySuccesses,
    NoisyTable,
    NoisyTotals,
    PosteriorDraws,
    Published,
    UrnDraws,
)
from understudy.release.score_cells import product_codes
from understudy.schema import Schema


class Kind(StrEnum):
    """What a measurement is, by the word that stands in a manifest."""

    TABLE = "table"
    CELLS = "cells"
    TOTALS = "totals"
    SUCCESSES = "successes"
    SUMS = "sums"
    MEANS = "means"
    SCATTER = "scatter"
    PRODUCTS = "products"
    DRAWS = "draws"
    SWEEPS = "sweeps"
    DISTRIBUTION = "distribution"
    NODES = "nodes"
    LEAF_SUMS = "leaf-sums"
    RANGES = "ranges"
    LINE = "line"
    HEAPS = "heaps"
    CHOICE = "choice"
    PARAMETERS = "parameters"
    POSTERIOR = "posterior"
    KEPT = "kept"
    EXACT = "exact"

    @property
    def has_every_cell(self) -> bool:
        """Whether every cell of a table has a number in it."""
        return self in (Kind.TABLE, Kind.SUMS, Kind.MEANS, Kind.DISTRIBUTION)

    @property
    def is_joint(self) -> bool:
        """Whether it is of all its columns at once, so that records drawn from it relate them."""
        return self not in (Kind.CHOICE, Kind.PRODUCTS, Kind.LINE, Kind.HEAPS)

    @property
    def has_nodes(self) -> bool:
        """Whether its numbers belong to nodes of a hierarchy."""
        return self in (Kind.NODES, Kind.LEAF_SUMS)

    @property
    def has_cells(self) -> bool:
        """Whether it has numbers of cells, nodes or ranges, in a file of their own."""
        stored = (Kind.CELLS, Kind.RANGES, Kind.PRODUCTS, Kind.LINE, Kind.HEAPS)
        return self.has_every_cell or self.has_nodes or self in stored

    @property
    def is_noisy_count(self) -> bool:
        """Whether its numbers are counts with noise of their own, one by one."""
        return self in (Kind.TABLE, Kind.NODES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_total(self) -> bool:
        """Whether its numbers add up to a noisy number of records."""
        return self.is_noisy_count or self in (Kind.CELLS, Kind.TOTALS)

    @property
    def is_of_numbers(self) -> bool:
        """Whether numeric columns are summed."""
        return self in (Kind.SUMS, Kind.MEANS, Kind.SCATTER)

    @property
    def is_of_one_column(self) -> bool:
        """Whether it is of one column, never of several."""
        return self in (Kind.SUCCESSES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_keys(self) -> bool:
        """Whether it says what each column is drawn given."""
        return self in (Kind.SWEEPS, Kind.POSTERIOR)

    @property
    def has_noise(self) -> bool:
        """Whether it is noise, or a draw from rows and a prior, that protects it."""
        return self not in (Kind.CHOICE, Kind.PARAMETERS, Kind.POSTERIOR, Kind.KEPT)

    @property
    def has_stddev(self) -> bool:
        """Whether one number of it has noise of a known standard deviation."""
        unknown = (Kind.MEANS, Kind.DRAWS, Kind.SWEEPS, Kind.EXACT)
        return self.has_noise and self not in unknown

    @property
    def totals(self) -> tuple[str, ...] | None:
        """Names of its single numbers; None where they are names of its own."""
        if self in (Kind.SWEEPS, Kind.PARAMETERS):
            return None
        return _TOTALS.get(self, ())


_TOTALS = {
    Kind.TOTALS: ("positive_cells", "positive_mass"),
    Kind.LEAF_SUMS: ("positive_cells", "positive_mass"),
    Kind.SUCCESSES: ("successes",),
    Kind.SCATTER: ("scatter",),
    Kind.DRAWS: ("prior", "cells", "reinforced"),
}
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Content:
    """Fields of a measurement that depend on the kind of value; they are explained there.

    Attributes:
        kind: of measurement.
        columns: that it covers.
        codes: of cells or nodes.
        counts: in them.
        outside: noisy number of records out of domain.
        threshold: public threshold.
        totals: single numbers.
        of: columns that are summed, or that nodes fix; of sweeps and posteriors, what each is drawn
            given.
        bins: of numeric columns.
        groups: of states.
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
    return replace(_full(Kind.TABLE, value), groups=value.groups)


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
    scores = Scores.of(schema, value.columns, value.complete, pure=value.pure)
    codes = product_codes(scores)
    return Content(Kind.PRODUCTS, value.columns, codes, value.values, of=value.complete)


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
