"""An event that tells releases of one table from those of its neighbour, learned from releases.

What is learned on a quarter of the releases (scores) and on another (where to cut which of them) is
tested on the half that neither has seen, so that the bound holds whatever was learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.audit.lower_bounds import ALARM, BOUND, Stated, lower_bound
from understudy.parallel import single_threaded

_SINGLE = 24
"""Numbers of a release that are tried alone: those that differ most."""
_CUTS = 60
_LEARNED = 400
"""Fewest releases of a table from which several numbers are weighed together."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Shown:
    """What an event showed on releases that it was not learned from.

    Attributes:
        bound: lower bound on ε or μ that is too high in 5 of 100 audits at most.
        certain: the same, in one of a million.
        event: in words.
        times: how often it happened under the table where it is likely, and under the other.
        n: releases of each table that were asked.
    """

    bound: float
    certain: float
    event: str
    times: tuple[int, int]
    n: int


@dataclass(frozen=True)
class _Score:
    """A number that each release gets.

    Attributes:
        name: of the number.
        choosing: values of both tables where events are chosen.
        testing: values of both tables where they are tested.
    """

    name: str
    choosing: tuple[NDArray[np.float64], NDArray[np.float64]]
    testing: tuple[NDArray[np.float64], NDArray[np.float64]]


def distinguished(one: Matrix, other: Matrix, names: tuple[str, ...], stated: Stated) -> Shown:
    """Learn an event, and test it.

    Args:
        one: releases of one table, shape (n, numbers), in the order in which they were made.
        other: as many of its neighbour.
        names: of the numbers.
        stated: what is promised.
    """
    quarter, half = len(one) // 4, len(one) // 2
    parts = slice(0, quarter), slice(quarter, half), slice(half, 2 * half)
    learning, choosing, testing = ((one[part], other[part]) for part in parts)
    best, event = -1.0, None
    for score in _scores(learning, choosing, testing, names):
        found, cut, sign, side = _best_event(score.choosing, stated)
        if found > best:
            best, event = found, (score, cut, sign, side)
    assert event is not None
    score, cut, sign, side = event
    hits = [int(np.count_nonzero(sign * values >= cut)) for values in score.testing]
    likely, rare = hits[side], hits[1 - side]
    n = len(testing[0])
    text = f"{score.name} {'≥' if sign > 0 else '≤'} {sign * cut:.4g}"
    return Shown(
        bound=float(lower_bound(likely, rare, n, stated, BOUND)),
        certain=float(lower_bound(likely, rare, n, stated, ALARM)),
        event=text,
        times=(likely, rare),
        n=n,
    )


def _best_event(
    values: tuple[NDArray[np.float64], NDArray[np.float64]], stated: Stated
) -> tuple[float, float, int, int]:
    """The bound, cut, direction and likelier table of the event that shows most."""
    n = len(values[0])
    together = np.concatenate(values)
    best = (-1.0, 0.0, 1, 0)
    for sign in (1, -1):
        cuts = np.unique(np.quantile(sign * together, np.linspace(0, 1, _CUTS), method="higher"))
        hits = [n - np.searchsorted(np.sort(sign * part), cuts, side="left") for part in values]
        for side in (0, 1):
            bounds = lower_bound(hits[side], hits[1 - side], n, stated)
            k = int(np.argmax(bounds))
            best = max(best, (float(bounds[k]), float(cuts[k]), sign, side))
    return best


def _scores(
    learning: tuple[Matrix, Matrix],
    choosing: tuple[Matrix, Matrix],
    testing: tuple[Matrix, Matrix],
    names: tuple[str, ...],
) -> Iterator[_Score]:
    """Single numbers, and two ways to weigh all of them together."""
    spread = np.sqrt(learning[0].var(axis=0) + learning[1].var(axis=0)) + 1e-9
    apart = np.abs(learning[0].mean(axis=0) - learning[1].mean(axis=0)) / spread
    for k in np.argsort(-apart, kind="stable")[:_SINGLE]:
        columns = [
            tuple(np.asarray(part[:, k], dtype=np.float64) for part in parts)
            for parts in (choosing, testing)
        ]
        yield _Score(names[k], (columns[0][0], columns[0][1]), (columns[1][0], columns[1][1]))
    if len(learning[0]) < _LEARNED:
        return
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate(learning)
    which = np.repeat([0, 1], [len(part) for part in learning])
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    trees = HistGradientBoostingClassifier(max_iter=80, max_depth=4, random_state=0)
    for name, model in (("weighed together", linear), ("by trees", trees)):
        with single_threaded():  # several threads wait for each other, busily, over small tables
            model.fit(rows, which)
            scored = [[_scored(model, part) for part in parts] for parts in (choosing, testing)]
        yield _Score(name, (scored[0][0], scored[0][1]), (scored[1][0], scored[1][1]))


def _scored(model: object, rows: Matrix) -> NDArray[np.float64]:
    return np.asarray(model.decision_function(rows), dtype=np.float64)  # type: ignore[attr-defined]
