"""What leaves the gate without numbers of its own: what was chosen, and how records were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Bins = Mapping[str, int | tuple[Any, ...]]
"""Numeric column → number of bins of equal width, or all edges."""
Groups = Mapping[str, tuple[int, ...]]
"""Column → group of each of its states, in its bins."""


@dataclass(frozen=True)
class UrnDraws:
    """What is public about records that were drawn from the rows and a prior.

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
    """What is public about records that were drawn column by column, each given some others.

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
    """What is public about records drawn from a posterior of the exact rows; not private.

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
