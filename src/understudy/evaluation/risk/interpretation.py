"""What a figure of an attack amounts to, beside its control and a guess."""

from __future__ import annotations

from understudy.evaluation.risk.proportion_intervals import Figure, difference
from understudy.evaluation.risk.risk_results import MUCH, Interval, Risk, RiskLevel

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
        f"{what} {one.n}"
        for one, what in ((members, "members"), (control, "control"))
        if one is not None and one.n < FEWEST
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
