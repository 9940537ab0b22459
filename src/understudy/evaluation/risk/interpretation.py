"""What a figure of an attack amounts to, beside its control and a guess, with 95 % intervals.

The difference of two figures has an interval, too.
The units are the targets of an attack, drawn at random from the members or from the control. The
release is held fixed: what is estimated is the risk of these very synthetic rows.

Sources:
    Share: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    Difference of two shares: Newcombe (1998), Statistics in Medicine 17, 873-890, method 10; of two
    figures of any kind: Zou & Donner (2008), Statistics in Medicine 27, 1693-1702.
    Area under the curve: Newcombe (2006), Statistics in Medicine 25, 559-573, method 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from understudy.evaluation.risk.risk_results import MUCH, Interval, Risk, RiskLevel

Values = NDArray[np.floating[Any]] | NDArray[np.bool_]

LEVEL = 0.95
_Z = 1.959963984540054  # of a two-sided interval at that level


@dataclass(frozen=True)
class Figure:
    """A figure and how far chance could have moved it.

    Attributes:
        value: the figure.
        interval: its 95 % confidence interval.
        n: number of targets behind it.
    """

    value: float
    interval: Interval
    n: int


def share(values: Values, repeats: int = 1) -> Figure | None:
    """Mean of values between 0 and 1; None if there are none.

    For values of 0 and 1 this is Wilson's interval. Values in between vary less than that; their
    score interval counts n·p(1-p)/s² targets in place of n, so that it never collapses for a mean
    of 0 or 1.

    Args:
        values: shape (n,), each in [0, 1].
        repeats: how often each target stands among the values; they count as n/repeats.
    """
    n = len(values)
    if not n:
        return None
    mean = min(max(float(np.mean(values)), 0.0), 1.0)
    most = mean * (1 - mean)
    excess = float(np.var(values, ddof=1)) / most if n > 1 and most > 0 else 1.0
    counted = max(1, n // repeats)
    effective = counted / min(max(excess, 1 / n), 1.0)
    return Figure(mean, wilson(mean, effective), counted)


def wilson(mean: float, n: float) -> Interval:
    """Wilson's score interval of a share of n trials.

    Example:
        >>> [round(end, 4) for end in wilson(0.0, 10)]
        [0.0, 0.2775]
    """
    spread = _Z**2 / n
    middle = (mean + spread / 2) / (1 + spread)
    half = math.sqrt(mean * (1 - mean) * spread + spread**2 / 4) / (1 + spread)
    # The share lies inside; rounding must not put one of 0 or 1 beside its interval.
    return max(0.0, min(middle - half, mean)), min(1.0, max(middle + half, mean))


def mean_error(values: Values) -> Figure | None:
    """Mean of errors that are at least 0, with Student's interval; None for fewer than two.

    Args:
        values: shape (n,).
    """
    n = len(values)
    if n < 2:
        return None
    mean = float(np.mean(values))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))
    return Figure(mean, (max(0.0, mean - half), mean + half), n)


def difference(first: Figure, second: Figure) -> Interval:
    """95 % interval of `first` - `second`, made of the intervals of both ("square and add").

    Both groups of targets are drawn independently of each other.
    """
    gap = first.value - second.value
    below = math.hypot(first.value - first.interval[0], second.interval[1] - second.value)
    above = math.hypot(first.interval[1] - first.value, second.value - second.interval[0])
    return gap - below, gap + above


def area_under_curve(members: Values, controls: Values) -> Figure | None:
    """Probability that a member scores above a control, ties counting half.

    Both ends solve |estimate - area| = z·sd(area) with the variance that Hanley & McNeil give for
    continuous scores, so that the interval does not collapse at 0 or 1. Ties shrink the variance
    by the factor of the rank test, 1 - Σ(t³ - t)/(N³ - N), which is exact where nothing tells the
    groups apart. The factor is at least 9/N: of N scores that are all tied, up to 3 in N of the
    population may differ.

    Args:
        members: scores, shape (n,); a high one speaks for a member.
        controls: scores, shape (m,).
    """
    n, m = len(members), len(controls)
    if not n or not m:
        return None
    scores = np.concatenate([members, controls])
    ranks = stats.rankdata(scores)
    area = float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))
    half = (n + m) / 2
    tied = np.unique(scores, return_counts=True)[1] / (n + m)
    factor = min(1.0, max(1 - float((tied**3).sum()), 9 / (n + m)))

    def variance(at: float) -> float:
        pairs = 2 * half - 1 - 3 * (half - 1) / ((2 - at) * (1 + at))
        return factor * at * (1 - at) * pairs / (n * m)

    def distance(at: float) -> float:
        return (at - area) ** 2 - _Z**2 * variance(at)

    # At 0 and 1 the variance vanishes, so that an estimate there solves the equation itself.
    hair = 1e-9
    low = optimize.brentq(distance, 0.0, min(area, 1 - hair)) if area > hair else 0.0
    high = optimize.brentq(distance, max(area, hair), 1.0) if area < 1 - hair else 1.0
    return Figure(area, (float(low), float(high)), n)


FEWEST = 100
"""Targets, and controls, below which a figure is called uncertain."""


def level_of(advantage: Interval | None, left: float) -> RiskLevel:
    """What an advantage over the control amounts to.

    The interval of the advantage is divided by what was left to gain over the control. "high": its
    lower end is above `MUCH`. "raised": the lower end is above 0. "near the control": it reaches 0
    and its upper end is at most `MUCH`. "unknown": it reaches from 0 to beyond `MUCH`, so that
    there were too few targets to tell, or there is no control.

    Of harmless figures, where members and controls are alike, 2.5 % are called raised by chance.

    Args:
        advantage: 95 % interval of the advantage; None without a control.
        left: distance of the control from a perfect attack, at least 0.

    Example:
        >>> level_of((0.01, 0.05), 0.5), level_of((-0.02, 0.02), 0.5), level_of((0.2, 0.3), 0.5)
        ('raised', 'near the control', 'high')
    """
    if advantage is None:
        return "unknown"
    if left <= 0:
        return "near the control"
    low, high = advantage[0] / left, advantage[1] / left
    if low > 0:
        return "high" if low > MUCH else "raised"
    return "near the control" if high <= MUCH else "unknown"


def judged(
    attack: str,
    measure: str,
    members: Figure | None,
    control: Figure | None,
    guess: float | None,
    *,
    perfect: float = 1.0,
    comparable: bool = True,
    note: str = "",
) -> Risk:
    """Put a figure beside its control and its guess, and say what follows.

    Args:
        attack: name of the attack.
        measure: what is counted.
        members: the figure for members; None if it is undefined.
        control: the figure for the control; None without one, or if it is undefined.
        guess: the figure of a guess.
        perfect: the figure of a perfect attack, 1 or 0.
        comparable: whether the difference of the two says anything.
        note: what to know when reading it.
    """
    gained, between = None, None
    if comparable and members is not None and control is not None:
        better, worse = (members, control) if perfect else (control, members)
        gained = better.value - worse.value
        between = difference(better, worse)
    return Risk(
        attack=attack,
        measure=measure,
        value=members.value if members else None,
        interval=members.interval if members else None,
        control=control.value if control else None,
        control_interval=control.interval if control else None,
        advantage=gained,
        advantage_interval=between,
        guess=guess,
        perfect=perfect,
        n=members.n if members else 0,
        n_control=control.n if control else 0,
        level=level_of(between, abs(perfect - control.value) if control else 0.0),
        warning=_doubt(members, control, guess, perfect),
        note=note,
    )


def _doubt(
    members: Figure | None, control: Figure | None, guess: float | None, perfect: float
) -> str:
    """Why a figure says little; "" if it does not."""
    if members is None:
        return "Too few targets meet the condition to count anything."
    doubts = []
    if guess is not None and not _beats(members, guess, perfect, by_design=_same(control, guess)):
        doubts.append(
            "The attack loses to guessing, so it is too weak to say anything: "
            "a stronger one may succeed."
        )
    few = [
        f"{what} {group.n}"
        for group, what in ((members, "members"), (control, "control"))
        if group is not None and group.n < FEWEST
    ]
    if few:
        doubts.append(f"Few targets ({', '.join(few)}), so the intervals are wide.")
    return " ".join(doubts)


def _same(control: Figure | None, guess: float) -> bool:
    return control is not None and abs(control.value - guess) < 1e-9


def _beats(members: Figure, guess: float, perfect: float, *, by_design: bool) -> bool:
    """Whether an attack does better than a guess.

    Where the control scores what a guess does by design (0.5 for an area under the curve), half of
    all harmless releases fall below it by chance, so only an interval below it counts as lost.
    """
    sign = 1 if perfect else -1
    if by_design:
        return max(sign * (end - guess) for end in members.interval) >= 0
    return sign * (members.value - guess) > 0
