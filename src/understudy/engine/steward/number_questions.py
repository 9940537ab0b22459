"""What a draft asks about numbers: zeros and other values that many share, heaps, far bounds.

Each of these decides how well records of a release look like the rows, and each is public knowledge
or none: that many earn nothing, that people tell incomes in thousands, that 9999 means "not known".
So the draft asks, and names the entry; a person answers from elsewhere. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.engine.steward.column_profile import Profile, Profiler
from understudy.schema import Column, Continuous, Integer

_MANY = 0.05  # of the rows
_STEPS = (5, 10, 50, 100, 500, 1000)
_OFTEN = 1.5  # times as often as if people did not round so
_FEW_DIFFERENT = 30  # values, of which each has a place of its own anyway
_FAR = 10.0  # times as far from the middle as nearly all are
_NEARLY_ALL = 0.99

Values = NDArray[np.float64]


def questions(column: Column, profile: Profile, profiler: Profiler) -> Iterator[str]:
    """What is to be asked about a column, each as a question without its mark, and without a value.

    Args:
        column: as it is drafted.
        profile: of its values.
        profiler: of its table.
    """
    if not isinstance(column, Integer | Continuous) or column.derived or profile.shape != "number":
        return
    if profile.n_different <= _FEW_DIFFERENT:
        return
    counts = profiler.counts(profile).sort("value")
    values = counts["value"].to_numpy().astype(np.float64)
    rows = counts["rows"].to_numpy().astype(np.float64)
    declared = {float(one) for one in column.spikes}
    if declared:
        yield "many rows share values in `spikes`: is one a code that belongs to `missing`"
    share = rows / rows.sum()
    if 0.0 not in declared and share[values == 0].sum() > _MANY:
        yield "many rows are 0: do spikes = [0] belong to it"
    others = (values != 0) & ~np.isin(values, list(declared))
    steps = _heaps(values[others], share[others] / share[others].sum()) if others.any() else []
    if steps and not column.heaps:
        yield f"many numbers are round: do people tell them so, as in heaps = {steps}"
    if _are_far(values, share, declared):
        yield (
            "a few numbers lie far from the others, and wide bounds make all answers less exact: "
            "are they codes that belong to `missing`, or mistakes"
        )


def _heaps(values: Values, share: Values) -> list[int]:
    """Distances at which numbers are told much more often than finer ones, coarsest first."""
    found: list[tuple[int, float]] = [(1, 1.0)]
    for step in _STEPS:
        finer, of_finer = found[-1]
        on = float(share[values % step == 0].sum())
        if values[-1] - values[0] >= 5 * step and on > _OFTEN * of_finer * finer / step:
            found.append((step, on))
    heaps = []
    for (step, on), (_, coarser) in pairwise([*found[1:], (0, 0.0)]):
        by_chance = (1 - coarser) / step
        # A heap that has all numbers is the column's grid.
        if on - coarser > max(_MANY, _OFTEN * by_chance) and on < 1 - _MANY:
            heaps.append(step)
    return heaps[::-1]


def _are_far(values: Values, share: Values, spikes: set[float]) -> bool:
    """Whether the smallest or largest number lies much farther from the middle than most do."""
    usual = ~np.isin(values, list(spikes))
    values, share = values[usual], share[usual]
    if len(values) <= _FEW_DIFFERENT:
        return False
    up_to = np.cumsum(share) / share.sum()
    low, middle, high = (
        values[np.searchsorted(up_to, q)] for q in (1 - _NEARLY_ALL, 0.5, _NEARLY_ALL)
    )
    above, below = high - middle, middle - low
    far_above = above > 0 and values[-1] - middle > _FAR * above
    return bool(far_above or (below > 0 and middle - values[0] > _FAR * below))
