"""Values that left the gate: noisy, and with the noise that is in them.

`Released(` is written only in `understudy.dp`; a test sees to that. Whatever is computed from
released values is post-processing and needs no further proof.

**What leaves the gate without numbers of its own: what was chosen, and how records were drawn.**

**What leaves the gate of numbers and scores that are summed, with noise.**

**What a released value says of its noise: which distribution, its parameter, its deviation.**

**Released values whose arrays cannot be written, where those of a release are shown.**
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, Generic, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from understudy.features.scores import Boxes, Weighting

Bins = Mapping[str, int | tuple[Any, ...]]
"""Numeric column → number of bins of equal width, or all edges."""
Groups = Mapping[str, tuple[int, ...]]
"""Column → group of each of its states, in its bins."""


@dataclass(frozen=True)
class UrnDraws:
    """Public facts about records that were drawn from the rows and a prior.

    Attributes:
        columns: names of the columns.
        prior: weight of each cell, in records.
        n_cells: cells that can occur.
        reinforced: whether each draw also adds to the weight of its cell (Dirichlet–multinomial).
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    prior: Fraction
    n_cells: int
    reinforced: bool
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class GibbsDraws:
    """Public facts about records that were drawn column by column, each given some others.

    Attributes:
        columns: names of the columns.
        keys: for each column the names of those that it is drawn given.
        distribution: "perturbed sweeps", "blocks with reset", "noisy rows" or "perturbed
        imputation".
        prior: weight added to each state, in records (of an imputation: in units of probability);
            None where noise was added to the counts instead.
        block: how many records share the rows that reset, where rows do; None otherwise.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    keys: Mapping[str, tuple[str, ...]]
    distribution: str
    prior: Fraction | None = None
    block: int | None = None
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class PosteriorDraws:
    """Public facts about records drawn from a posterior of the exact rows; not private.

    Attributes:
        keys: for each column that is drawn the names of those that it is drawn given, parents
            first.
        given: names of the columns that are published as they stand.
        weights: how records were weighted: "unweighted", "vector", "scalar" or "count".
    """

    keys: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...]
    weights: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return (*self.given, *self.keys)


@dataclass(frozen=True)
class Choice:
    """Columns that the exponential mechanism chose.

    Attributes:
        columns: their names; where a column was chosen with its parents, the column first.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True)
class ChosenParameters:
    """Parameters of a public generator of records, chosen by the exponential mechanism.

    Attributes:
        columns: those that the parameters say how to draw.
        names: of the parameters.
        values: chosen, one for each name.
        bins: bins of its numeric columns, where they are not those of the schema.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[float, ...]
    bins: Bins = field(default_factory=dict)


@dataclass(frozen=True)
class KeptColumns:
    """That columns of all records are published as they stand: every synthetic set has them.

    Attributes:
        columns: names.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True)
class ExactStatistics:
    """That exact statistics of some columns were used; they are not published themselves.

    Attributes:
        columns: columns that they hold together.
    """

    columns: tuple[str, ...]


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
        columns: whose scores (`understudy.features.scores.FeatureMap`).
        values: in records: sums of the scores, times their weight; in front the number of records,
            where only some count; then sums of the products of `Scores.pairs`, of the squares of
            the numbers, less ½, and of these by absence elsewhere (`Scores.coded`).
        noise: in each of them.
        complete: columns of which a record must have a value to count.
        pure: whether the scores are those for noise that goes by sums of sizes.
        limits: column of numbers → where they are cut off, where not at the bounds.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    noise: Noise
    complete: tuple[str, ...] = ()
    pure: bool = False
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyWeighted:
    """Noisy sums over all records of factor times scores, and factor times products of two.

    Attributes:
        columns: whose scores (`understudy.features.scores.FeatureMap`).
        values: in records that count in full: the sum of factors, times the weight of sums; then as
            `NoisyProducts.values`. Taken apart, all of them of each state after the other.
        noise: in each of them.
        column: of the weights.
        bound: the weight of a record that counts in full.
        power: 1 if factors are weights over the bound, 2 if they are the squares of these.
        pure: whether the scores are those for noise that goes by sums of sizes.
        by: column by whose states they are taken apart; "" for sums over all records.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    noise: Noise
    column: str
    bound: float
    power: int
    pure: bool = False
    by: str = ""


@dataclass(frozen=True)
class NoisyWeightedTable:
    """A table of sums of the factors of records, with noise in every allowed cell.

    It is bought for answers alone, and no record is drawn from it.

    Attributes:
        columns: names, one per axis.
        values: in records that count in full, shape of the columns' sizes; structural zeros hold
            exactly 0.
        noise: in each allowed cell.
        weighting: factor of each record.
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    noise: Noise
    weighting: Weighting
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyTerms:
    """Noisy sums over the records that count of scores of terms, and of products of two of them.

    Attributes:
        terms: as texts (`understudy.features.terms.TermMap`).
        values: as `NoisyProducts.values`, with the number of records, or the sum of factors.
        noise: in each of them.
        limits: column of numbers → where they are cut off, where not at the bounds.
        among: boxes of states, in one of which a record that counts lies; () for all.
        weighting: factor of all that a record adds; None if each counts as 1.
    """

    terms: tuple[str, ...]
    values: NDArray[np.float64]
    noise: Noise
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    among: Boxes = ()
    weighting: Weighting | None = None


@dataclass(frozen=True)
class NoisyRanks:
    """Noisy sums over all records of products of the rank scores of two columns.

    Attributes:
        columns: ordered ones.
        values: in records, one for each pair, first < second, shape (pairs,).
        noise: in each of them.
        scores: column → score of each state (`understudy.features.scores.RankScores`).
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are.
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    noise: Noise
    scores: Mapping[str, tuple[int, ...]]
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)


SMALLEST_STDDEV: Final = 2.0**-127
"""Stands for a smaller deviation, as noise at a huge ε has: its square can be divided by."""

LOST: Final = "none known: the run ended before it had a result"
"""Noise, in words, of a step that was charged and of which nothing came."""


class NoiseFamily(StrEnum):
    """Distributions of noise, by the names that stand in ledgers and manifests.

    What is no noise of a known distribution (a draw from rows and a prior, a choice) is `OTHER`.
    """

    NONE = "none"
    DISCRETE_LAPLACE = "discrete_laplace"
    LATTICE_LAPLACE = "lattice_laplace"
    DISCRETE_CUBE_LAPLACE = "discrete_cube_laplace"
    LAPLACE = "laplace"
    TRUNCATED_DISCRETE_LAPLACE = "truncated_discrete_laplace"
    TRUNCATED_LAPLACE = "truncated_laplace"
    DISCRETE_GAUSSIAN = "discrete_gaussian"
    OTHER = "other"

    @classmethod
    def of(cls, name: str) -> NoiseFamily:
        """The distribution of a name."""
        return cls(name) if name in cls.__members__.values() else cls.OTHER

    @property
    def is_none(self) -> bool:
        """True if nothing was added."""
        return self is NoiseFamily.NONE

    @property
    def is_gaussian(self) -> bool:
        """True if its tails are those of a normal distribution."""
        return self is NoiseFamily.DISCRETE_GAUSSIAN

    @property
    def is_laplace(self) -> bool:
        """True if its tails are those of a Laplace distribution."""
        return self not in (NoiseFamily.NONE, NoiseFamily.DISCRETE_GAUSSIAN, NoiseFamily.OTHER)

    @property
    def is_truncated(self) -> bool:
        """True if it was redrawn until it fell within limits, so that it is not centred."""
        return self in (NoiseFamily.TRUNCATED_DISCRETE_LAPLACE, NoiseFamily.TRUNCATED_LAPLACE)

    @property
    def is_whole(self) -> bool:
        """True if noisy counts are whole numbers."""
        return self in (
            NoiseFamily.DISCRETE_LAPLACE,
            NoiseFamily.DISCRETE_CUBE_LAPLACE,
            NoiseFamily.TRUNCATED_DISCRETE_LAPLACE,
            NoiseFamily.DISCRETE_GAUSSIAN,
        )


@dataclass(frozen=True)
class Noise:
    """Noise added to each number of a released value.

    Attributes:
        distribution: name of the distribution ("none" where nothing was added).
        scale: its exact parameter as a fraction: the scale of a Laplace distribution, the variance
            of a Gaussian one.
        stddev: standard deviation of the noise in one number; of noise at least `SMALLEST_STDDEV`.
    """

    distribution: str
    scale: str
    stddev: float

    def __post_init__(self) -> None:
        if self.family not in (NoiseFamily.NONE, NoiseFamily.OTHER):
            object.__setattr__(self, "stddev", max(self.stddev, SMALLEST_STDDEV))

    @property
    def family(self) -> NoiseFamily:
        """Kind of distribution."""
        return NoiseFamily.of(self.distribution)


NO_NOISE = Noise("none", "0", 0.0)


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


LEAST_STDDEV: Final = 1e-6
"""In records: that of whole-number noise at a huge budget underflows when it is squared."""
CLEAR: Final = 4.0
"""Standard deviations by which records out of domain must stand out to be taken off."""


@dataclass(frozen=True)
class NoisyTable:
    """A contingency table with noise in every allowed cell, empty ones included.

    Methods fit models to such tables, and a release is read back as such.

    Attributes:
        columns: names, one per axis.
        counts: shape of the columns' sizes; structural zeros hold exactly 0.
        outside: noisy number of records that are in no cell, with one of these columns (of a layer
            of a hierarchy: any column) out of domain.
        noise: in each allowed cell, and in `outside`.
        bins: bins of its numeric columns, where they are not those of the schema.
        groups: how states of its columns are merged, where they are; an axis then has one place
            for each group.
        beside: whether it was bought for answers alone, and no record is drawn from it.
    """

    columns: tuple[str, ...]
    counts: NDArray[Any]
    outside: float
    noise: Noise
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
    beside: bool = False

    @property
    def stddev(self) -> float:
        """Deviation of the noise, kept above what a fit can tell from none at all."""
        return max(self.noise.stddev, LEAST_STDDEV)

    @property
    def strays(self) -> bool:
        """True if records out of domain clearly stand out."""
        return self.outside > CLEAR * self.stddev


@dataclass(frozen=True)
class NoisyLine:
    """Noisy numbers of records in the cells of a number line.

    Attributes:
        columns: the column's name, alone.
        counts: of each cell of `understudy.features.grids`: states, below, and above; shape
            (cells,).
        outside: noisy number of records with this column out of domain.
        noise: in each cell, and in `outside`.
        bins: of the line.
    """

    columns: tuple[str]
    counts: NDArray[Any]
    outside: float
    noise: Noise
    bins: Bins


@dataclass(frozen=True)
class NoisyHeaps:
    """Noisy numbers of records by the way their number is rounded.

    Attributes:
        columns: the column's name, alone.
        counts: of each of `understudy.features.grids`, shape (cells,).
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
    """The number of records that have the second level of a column of two levels, with noise.

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
    | NoisyWeighted
    | NoisyWeightedTable
    | NoisyTerms
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


T = TypeVar("T")


def read_only(value: T, *, copied: bool = False) -> T:
    """The same value, with an array that cannot be written in the place of each array of it.

    Args:
        value: plain, an array, or tuples, lists, dictionaries and frozen dataclasses of these;
            whatever else is in it stays what it is.
        copied: whether arrays have memory of their own.
    """
    return cast(T, _make_read_only(value, copied=copied))


_SCALARS = (int, float, str, bool, type(None))


def _make_read_only(value: object, *, copied: bool) -> object:
    if type(value) in _SCALARS:  # most of what there is
        return value
    if isinstance(value, np.ndarray):
        array = value.copy() if copied else value.view()
        array.flags.writeable = False
        return array
    if type(value) in (tuple, list):
        parts = cast("tuple[object, ...] | list[object]", value)
        return type(parts)(_make_read_only(part, copied=copied) for part in parts)
    if type(value) is dict:
        return {key: _make_read_only(part, copied=copied) for key, part in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    made = object.__new__(type(value))  # not made anew: its arrays were checked when it was
    for part in fields(value):
        object.__setattr__(
            made, part.name, _make_read_only(getattr(value, part.name), copied=copied)
        )
    return made
