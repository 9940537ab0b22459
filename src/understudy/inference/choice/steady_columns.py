"""Whether noise leaves the spread of columns as it is, so that a model may divide by it.

A coefficient is a covariance over a variance. Redrawn sets count the noise in both as far as that
is a small part of the variance; of a level of thirty records, and noise of twenty, it is most of
it, and the coefficient has no normal error, nor one that a few sets show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.inference.estimates.analysis_records import Records, is_grouping
from understudy.schema import Schema

MOST: Final = 0.2
"""Standard deviation of a variance over sets, in parts of it: a level has five of its noise."""


def are_steady(tables: Sequence[pl.DataFrame], schema: Schema, columns: Sequence[str]) -> bool:
    """Whether the variances of some columns differ little from set to set.

    Args:
        tables: several sets.
        schema: of the release.
        columns: of a question; of levels each has a variance of its own.
    """
    found = [_variances(Records.complete_of(table, schema, columns)) for table in tables]
    spread, middle = np.std(found, axis=0, ddof=1), np.mean(found, axis=0)
    return bool((spread <= MOST * middle).all())


def _variances(records: Records) -> Floats:
    """Of each number, and of each level's indicator, among complete records."""
    variances = []
    for name, states in records.states.items():
        column = records.schema.columns[name]
        if name in records.numbers:
            variances.append(np.var(records.numbers[name]) if len(states) else 0.0)
        elif is_grouping(column) or column.n_ordinary == 2:
            shares = np.bincount(states, minlength=column.n_ordinary) / max(len(states), 1)
            variances += (shares * (1 - shares)).tolist()
        else:
            variances.append(np.var(states) if len(states) else 0.0)
    return np.array(variances, dtype=np.float64)
