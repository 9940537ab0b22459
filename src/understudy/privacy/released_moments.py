"""What leaves the gate of numbers and scores that are summed, with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.released_draws import Bins, Groups


@dataclass(frozen=True)
class NoisyMoment:
    """A noisy sum of bounded numbers by cell, or a noisy scatter pooled within cells.

    Attributes:
        statistic: "sum": of (x - middle of the bounds), by cell; "mean": the same over the number
            of records of the cell, as published; "scatter": Σ (x - x̄)(y - ȳ), the
            means taken within each cell.
        of: the numeric column of a sum; the two columns of a scatter, equal ones for a variance.
        columns: columns of the table of cells; numeric ones among `of` have a single bin there.
        values: sums or means, one per cell in C order, shape (cells,), 0 where the cell has no
            number; or one scatter, shape (1,). In units of the columns.
        bins: the single bins.
    """

    statistic: Literal["sum", "mean", "scatter"]
    of: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyProducts:
    """Noisy sums over all records of scores in [−1, 1], and of products of two of them.

    Attributes:
        columns: whose scores (`understudy.features.column_scores.Scores`).
        values: in records: sums of the scores, times their weight; in front the number of records,
            where only some count; then sums of the products of `Scores.pairs`, of the squares of
            the numbers, less ½, and of these by absence elsewhere (`Scores.coded`).
        complete: columns of which a record must have a value to count.
        pure: whether the scores are those for noise that goes by sums of sizes.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    complete: tuple[str, ...] = ()
    pure: bool = False


@dataclass(frozen=True)
class NoisyRanks:
    """Noisy sums over all records of products of the rank scores of two columns.

    Attributes:
        columns: ordered ones.
        values: in records, one for each pair, first < second, shape (pairs,).
        scores: column → score of each state (`understudy.features.rank_scores.RankScores`).
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    scores: Mapping[str, tuple[int, ...]]
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
