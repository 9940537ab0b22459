"""What users look up first: numbers, correlations, groups and relations, one by one. INTERNAL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


def _plain(value: object) -> object:
    """What JSON can hold: None for what is not a finite number."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Detail:
    """A finding with plain fields."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; what is not finite becomes None."""
        return {name: _plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class NumberKept(_Detail):
    """One column of numbers, original beside synthetic; NaN where there is no figure.

    Attributes:
        column: its name.
        original: mean and standard deviation of the original values.
        synthetic: the same, means over the sets.
        absent: share of records without a value, original and mean over the sets.
        relative_error: |difference of means| over |mean|, mean over the sets; NaN where the mean is
            within two standard errors of 0.
        standard_errors: |difference of means| in standard errors of the original mean.
        sd_ratio: synthetic over original standard deviation.
        rank_error: largest distance of a synthetic decile's rank among the original values.
        kept: share of the sets that keep the mean, the standard deviation, the deciles.
    """

    column: str
    original: tuple[float, float]
    synthetic: tuple[float, float]
    absent: tuple[float, float]
    relative_error: float
    standard_errors: float
    sd_ratio: float
    rank_error: float
    kept: tuple[float, float, float]

    @property
    def lost(self) -> tuple[str, ...]:
        """What a set does not keep."""
        names = ("mean", "sd", "deciles")
        return tuple(name for name, share in zip(names, self.kept, strict=True) if share < 1)


@dataclass(frozen=True)
class CorrelationKept(_Detail):
    """Spearman's correlation of two ordered columns, original beside synthetic.

    Attributes:
        columns: names of both.
        original: correlation in the original rows.
        synthetic: mean over the sets.
        kept: share of the sets that keep it; NaN where it is too weak to be judged.
    """

    columns: tuple[str, str]
    original: float
    synthetic: float
    kept: float


@dataclass(frozen=True)
class GroupKept(_Detail):
    """A small group of records: how far its other columns are from the original ones.

    Attributes:
        column: the grouping column.
        label: the group.
        rows: original records in it.
        share: of the original records.
        distance: mean total variation distance of the other columns within the group; mean over
            the sets, 1 in a set without such records.
        fresh: the same for a fresh sample; NaN where no set has such records.
        ungrouped: the same for the columns of all original records, with no trace of the group.
    """

    column: str
    label: str
    rows: int
    share: float
    distance: float
    fresh: float
    ungrouped: float


@dataclass(frozen=True)
class RelationKept(_Detail):
    """A relation that every original record keeps.

    Attributes:
        relation: in words, such as "education → education-num" (the first determines the second).
        records: original records that it is about.
        broken: share of synthetic records that break it, mean over the sets.
        unrelated: share that would break it if the columns were independent.
    """

    relation: str
    records: int
    broken: float
    unrelated: float
