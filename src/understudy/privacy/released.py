"""What leaves the gate: noisy values that know the noise that is in them.

`Released(` is written only in `understudy.privacy`; a test sees to that. Whatever is computed from
released values is post-processing and needs no further proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise_record import NO_NOISE, Noise
from understudy.privacy.released_draws import (
    Bins,
    Choice,
    ChosenParameters,
    ExactStatistics,
    GibbsDraws,
    Groups,
    KeptColumns,
    PosteriorDraws,
    UrnDraws,
)
from understudy.privacy.released_moments import NoisyMoment, NoisyProducts, NoisyRanks

__all__ = [
    "NO_NOISE",
    "Bins",
    "Choice",
    "ChosenParameters",
    "DrawnDistribution",
    "ExactStatistics",
    "GibbsDraws",
    "Groups",
    "KeptColumns",
    "Noise",
    "NoisyCells",
    "NoisyHeaps",
    "NoisyLine",
    "NoisyMoment",
    "NoisyNodes",
    "NoisyProducts",
    "NoisyRanges",
    "NoisyRanks",
    "NoisySuccesses",
    "NoisyTable",
    "NoisyTotals",
    "PosteriorDraws",
    "Published",
    "Records",
    "Released",
    "UrnDraws",
]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Released(Generic[T_co]):
    """A value that was paid for.

    Attributes:
        value: the noisy value.
        noise: what is in it.
        mechanism: which mechanism made it.
        entry: number of the ledger entry that paid for it (0: declared in the schema, free).
    """

    value: T_co
    noise: Noise
    mechanism: str
    entry: int


@dataclass(frozen=True)
class NoisyTable:
    """A contingency table with noise in every allowed cell, empty ones included.

    Attributes:
        columns: names, one per axis.
        counts: shape of the columns' sizes; structural zeros hold exactly 0.
        outside: noisy number of records that are in no cell, with one of these columns (of a layer
            of a hierarchy: any column) out of domain.
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are; an axis then has one place
            for each group.
    """

    columns: tuple[str, ...]
    counts: NDArray[Any]
    outside: float
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyLine:
    """Noisy numbers of records in the cells of a number line.

    Attributes:
        columns: the column's name, alone.
        counts: of each cell of `understudy.features.line_cells`: states, below, and above; shape
            (cells,).
        outside: noisy number of records with this column out of domain.
        bins: of the line.
    """

    columns: tuple[str]
    counts: NDArray[Any]
    outside: float
    bins: Bins


@dataclass(frozen=True)
class NoisyHeaps:
    """Noisy numbers of records by the way their number is rounded.

    Attributes:
        columns: the column's name, alone.
        counts: of each of `understudy.features.heap_cells`, shape (cells,).
        outside: of records with this column out of domain.
    """

    columns: tuple[str]
    counts: NDArray[Any]
    outside: float


@dataclass(frozen=True)
class NoisyCells:
    """Cells of a noisy table that reached a public threshold; all others count as 0.

    Attributes:
        columns: names, in the order of the mixed-radix code.
        codes: cells, ascending, shape (survivors,).
        counts: noisy ones, each at least the public threshold, shape (survivors,).
        threshold: that one.
        outside: noisy number of records with one of these columns out of domain.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    codes: NDArray[np.int64]
    counts: NDArray[Any]
    threshold: float
    outside: float
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyTotals:
    """Totals of a noisy table that was never written out.

    Attributes:
        columns: names of the table's columns.
        positive_cells: how many cells have a positive noisy count.
        positive_mass: sum of the positive noisy counts.
        outside: noisy number of records with one of these columns out of domain.
    """

    columns: tuple[str, ...]
    positive_cells: int
    positive_mass: float
    outside: float


@dataclass(frozen=True)
class NoisySuccesses:
    """How many records have the second level of a column of two levels, with noise.

    Attributes:
        columns: the column's name, alone.
        successes: noisy number, not clipped.
        n_rows: public number of rows.
    """

    columns: tuple[str]
    successes: float
    n_rows: int


@dataclass(frozen=True)
class DrawnDistribution:
    """Counts of a grid whose cumulative distribution the exponential mechanism chose.

    Attributes:
        columns: names, one per axis.
        counts: chosen count of each cell, shape of the columns' sizes; structural zeros hold 0.
        outside: what is left of the number of rows: records with one of these columns out of
            domain.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    outside: int = 0
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyNodes:
    """Noisy numbers of records in the nodes of one layer of a hierarchy.

    Attributes:
        columns: names of the columns whose state some node fixes.
        states: state of each of these columns in each node, −1 where it is open, shape
            (nodes, columns).
        counts: shape (nodes,).
        outside: noisy number of records with any column out of domain.
        below: where counts are sums of noisy cells never written out, names of their columns.
        summed: then, how many cells are summed in each count, shape (nodes,); else ones.
        totals: then, positive cells and positive mass.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    states: NDArray[np.int64]
    counts: NDArray[Any]
    outside: float
    summed: NDArray[np.int64]
    below: tuple[str, ...] = ()
    totals: Mapping[str, float] | None = None
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyRanges:
    """Noisy numbers of records in disjoint ranges of the states of one column.

    Attributes:
        columns: the column's name, alone.
        edges: first state of each range, ascending, and the end of the last one; states beyond the
            column's cannot occur; shape (ranges + 1,).
        counts: shape (ranges,).
        outside: noisy number of records with this column out of domain.
        bins: bins of a numeric column, where they are not those of the schema.
    """

    columns: tuple[str]
    edges: NDArray[np.int64]
    counts: NDArray[Any]
    outside: float
    bins: Bins = field(default_factory=dict)


Published = (
    NoisyTable
    | NoisyLine
    | NoisyHeaps
    | NoisyCells
    | NoisyTotals
    | NoisySuccesses
    | NoisyMoment
    | NoisyProducts
    | NoisyRanks
    | UrnDraws
    | GibbsDraws
    | DrawnDistribution
    | NoisyNodes
    | NoisyRanges
    | Choice
    | ChosenParameters
    | PosteriorDraws
    | KeptColumns
    | ExactStatistics
)
"""What a release says of its measurements."""


@dataclass(frozen=True)
class Records:
    """Synthetic records drawn by a mechanism.

    Attributes:
        columns: one array of states per column of the schema, each of shape (n,).
    """

    columns: tuple[NDArray[np.int64], ...]
