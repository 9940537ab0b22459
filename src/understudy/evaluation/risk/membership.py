"""Membership inference: was a person in the table? Judged by the nearest synthetic record.

A synthesizer that copies records leaves synthetic rows closer to members than to other people. The
intruder knows a whole record, measures its distance to the nearest synthetic row, and takes those
with a small one for members.

The distance of two records is the mean over columns of: |difference|/range for columns with an
order (numbers by the middle of their bins, levels by rank), 0 or 1 for all others and for codes of
absence (Gower 1971). With several sets it is the mean of the distances to the nearest row of each.

* *Area under the curve*: probability that a member is nearer than somebody of the control, ties
  counting half; 0.5 if members and controls are alike.
* *True positive rate* at a false positive rate of 1 %: of the members, how many are found by a
  threshold that takes in one in a hundred of the control; among ties the intruder tosses a coin.
  Small in a harmless release, and not averaged over people who are safe anyway.
* *Exact copies*: targets of which a set holds a copy (of the states of all columns).

Costs targets × distinct synthetic rows × columns at most; a row is left as soon as it is further
away than the nearest so far.

Sources: Gower (1971), Biometrics 27, 857-871; Carlini et al. (2022), "Membership inference attacks
    from first principles", IEEE Symposium on Security and Privacy, for the low false positive rate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.evaluation.risk.attack_setup import (
    Outcome,
    States,
    chances,
    numbered,
    occurrences,
)
from understudy.parallel import each

FALSE_POSITIVES = 0.01


def nearest(targets: States, rows: States, places: Sequence[Floats]) -> Floats:
    """Distance of each target to the nearest row, in [0, 1].

    Args:
        targets: states, shape (n, d), d > 0.
        rows: synthetic states, shape (m, d), m > 0.
        places: for each column, the place of each state on its scale in [0, 1]; -1 for states that
            are at distance 1 from every other one.

    Returns:
        Shape (n,).
    """
    _, first = np.unique(numbered(rows)[0], return_index=True)
    distinct = np.ascontiguousarray(rows[np.sort(first)], dtype=np.int32)
    starts = np.cumsum([0, *map(len, places)])
    scale = np.concatenate(places)
    parts = np.array_split(np.ascontiguousarray(targets, dtype=np.int32), os.cpu_count() or 1)
    return np.concatenate(each(lambda part: _nearest(part, distinct, scale, starts), parts))


@compiled
def _nearest(targets: States, rows: States, scale: Floats, starts: Integers) -> Floats:
    n, d = targets.shape
    found = np.empty(n)
    apart = np.empty(len(scale))  # of each state of each column from the target's
    for i in range(n):
        for j in range(d):
            own = starts[j] + targets[i, j]
            for state in range(starts[j], starts[j + 1]):
                both = scale[own] >= 0.0 and scale[state] >= 0.0
                apart[state] = abs(scale[own] - scale[state]) if both else 1.0
            apart[own] = 0.0
        best = float(d)
        for k in range(len(rows)):
            total = 0.0
            for j in range(d):
                total += apart[starts[j] + rows[k, j]]
                if total >= best:
                    break
            best = min(best, total)
            if best == 0.0:
                break
        found[i] = best / d
    return found


def called_members(distances: Floats, control: Floats) -> Floats:
    """Probability that the intruder takes each target for a member.

    The threshold is set so that he takes `FALSE_POSITIVES` of the control for members; targets at
    the threshold itself are taken with the probability that makes this exact.

    Args:
        distances: of the targets, shape (n,).
        control: of the control, shape (m,), m > 0.
    """
    wanted = FALSE_POSITIVES * len(control)
    values, counts = np.unique(control, return_counts=True)
    through = np.cumsum(counts)
    at = int(np.searchsorted(through, wanted))  # the first threshold that takes in enough
    chance = (wanted - (through[at] - counts[at])) / counts[at]
    called = np.where(distances == values[at], chance, distances < values[at])
    return np.asarray(called, dtype=np.float64)


def copies(targets: States, rows: States) -> Outcome:
    """Whether each target has a copy among the rows; by guessing, if columns were independent.

    Args:
        targets: states, shape (n, d).
        rows: synthetic states, shape (m, d), m > 0.
    """
    target, row = numbered(targets, rows)
    found = (occurrences(target, row) > 0).astype(np.float64)
    chance = -np.expm1(len(rows) * np.log1p(-np.minimum(chances(targets, rows), 1 - 1e-16)))
    return Outcome(found, chance, found)
