"""What a released value holds, in the terms in which a measurement stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    NoisyRanks,
    NoisySuccesses,
    NoisyTable,
    NoisyTotals,
    PosteriorDraws,
    Published,
    UrnDraws,
)
from understudy.release.measurement_kind import Kind
from understudy.release.score_cells import pair_codes, product_codes
from understudy.schema import Schema

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
        ranks: score of each state of columns whose ranks are multiplied.
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
