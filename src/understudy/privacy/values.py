"""What leaves the gate: noisy values that know the noise that is in them.

`Released(` is written only in `understudy.privacy`; a test sees to that. Whatever is computed from
released values is post-processing and needs no further proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Noise:
    """Noise added to each number of a released value.

    Attributes:
        law: name of the distribution ("none" where nothing was added).
        scale: its exact parameter as a fraction: the scale of a Laplace law, the variance of a
            Gaussian one.
        stddev: standard deviation of the noise in one number.
    """

    law: str
    scale: str
    stddev: float


NO_NOISE = Noise("none", "0", 0.0)


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
        outside: noisy number of records with one of these columns out of domain.
    """

    columns: tuple[str, ...]
    counts: NDArray[Any]
    outside: float


@dataclass(frozen=True)
class NoisyCells:
    """Cells of a noisy table that reached a public threshold; all others count as 0.

    Attributes:
        columns: names, in the order of the mixed-radix code.
        codes: cells, ascending, shape (survivors,).
        counts: noisy counts, each at least the threshold, shape (survivors,).
        threshold: the public threshold.
        outside: noisy number of records with one of these columns out of domain.
    """

    columns: tuple[str, ...]
    codes: NDArray[np.int64]
    counts: NDArray[Any]
    threshold: float
    outside: float


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
class Records:
    """Synthetic records drawn by a mechanism.

    Attributes:
        columns: one array of states per column of the schema, each of shape (n,).
        totals: totals of the noisy table behind them.
    """

    columns: tuple[NDArray[np.int64], ...]
    totals: NoisyTotals
