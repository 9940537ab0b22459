"""Samples that keep to the structural zeros: impossible records are drawn again.

That is exact conditioning on the rules. After some rounds whatever is left is drawn uniformly over
the allowed cells, so that no parameters, rows or noise can make it go on for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Sample
from understudy.schema import Domain

REDRAWS = 100
"""Rounds."""


def conditioned(
    sample: Sample,
    domain: Domain,
    draw: Callable[[int], Sample],
    rng: np.random.Generator,
    *,
    redraws: int = REDRAWS,
) -> Sample:
    """The sample with its impossible records replaced, in place.

    Args:
        sample: records of all columns, rules left aside.
        domain: its rules.
        draw: so many more of the same kind.
        rng: of the last, uniform draw; numbers of these records are left to the bin.
        redraws: most rounds before that.
    """
    bad = impossible(domain, sample.states)
    for _ in range(redraws):
        if not bad.size:
            return sample
        again = draw(len(bad))
        put(sample, bad, again)
        bad = bad[impossible(domain, again.states)]
    if bad.size:
        absent = {name: np.full(len(bad), np.nan) for name in sample.values}
        put(sample, bad, Sample([*domain.draw(len(bad), rng.random)], absent))
    return sample


def put(sample: Sample, rows: NDArray[np.int64], other: Sample) -> None:
    """Write records over others; a sample is written to only while it is being drawn."""
    for mine, theirs in zip(sample.states, other.states, strict=True):
        mine[rows] = theirs
    for name, numbers in other.values.items():
        sample.values[name][rows] = numbers


def impossible(domain: Domain, states: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
    """Numbers of the records that the rules forbid.

    Args:
        domain: with the rules.
        states: one array per column, each of shape (n,).
    """
    if not domain.boxes:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(domain.forbidden(states))
