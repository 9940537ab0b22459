"""The scene of the attacks: who is attacked, by way of which sets, with what known and wanted.

Which synthetic rows agree with a target is seen by numbers of rows: equal rows have equal numbers.

**What a figure of an attack amounts to, beside its control and a guess, with 95 % intervals.**

The difference of two figures has an interval, too.
The units are the targets of an attack, drawn at random from the members or from the control. The
release is held fixed: what is estimated is the risk of these very synthetic rows.

Sources:
    Share: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    Difference of two shares: Newcombe (1998), Statistics in Medicine 17, 873-890, method 10; of two
    figures of any kind: Zou & Donner (2008), Statistics in Medicine 27, 1693-1702.
    Area under the curve: Newcombe (2006), Statistics in Medicine 25, 559-573, method 5.

**What attacks find. All of it compares with the rows, so all of it is internal.**
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from understudy._arrays import Z_95, Floats, Integers
from understudy.evaluate.comparison import Comparison, Rows, has_order
from understudy.schema import NUMERIC, Column

States = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attack on each target; arrays of shape (n,).

    Attributes:
        found: by the attack.
        guessed: by an intruder who knows nothing of his target.
        matched: share of the sets that have a row with the target's keys.
    """

    found: Floats
    guessed: Floats
    matched: Floats

    @classmethod
    def over_sets(cls, outcomes: Iterable[Outcome]) -> Outcome:
        """Mean over the sets, target by target."""
        several = list(outcomes)
        return cls(
            np.mean([outcome.found for outcome in several], axis=0),
            np.mean([outcome.guessed for outcome in several], axis=0),
            np.mean([outcome.matched for outcome in several], axis=0),
        )


def over_sets(attack: Callable[[States], Outcome], sets: Sequence[States]) -> Outcome:
    """An attack by way of each set, and its mean over them."""
    return Outcome.over_sets(attack(rows) for rows in sets)


def number_rows(*tables: States) -> list[Integers]:
    """Numbers of the rows, from 0 without gaps: equal across all tables exactly for equal rows.

    Args:
        tables: each of shape (its rows, d), of one d; no columns at all make all rows equal.

    Example:
        >>> [one.tolist() for one in number_rows(np.array([[1, 5], [0, 2]]), np.array([[1, 5]]))]
        [[1, 0], [1]]
    """
    rows = np.concatenate(tables)
    number, reach = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        size = int(column.max()) + 1 if len(column) else 1
        if reach * size >= 2**62:  # the same groups by smaller numbers
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            reach = len(number)
        number, reach = number * size + column, reach * size
    renumbered = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return np.split(renumbered, np.cumsum([len(table) for table in tables])[:-1])


def occurrences(targets: Integers, rows: Integers) -> Integers:
    """Count the rows with the number of each target; shape (targets,)."""
    size = int(max(targets.max(initial=0), rows.max(initial=0))) + 1
    return np.bincount(rows, minlength=size)[targets]


def chances(targets: States, rows: States) -> Floats:
    """Probability of each target's states if the columns of the rows were independent.

    Args:
        targets: shape (n, d).
        rows: shape (m, d), m > 0.
    """
    product = np.ones(len(targets))
    for target, column in zip(targets.T, rows.T, strict=True):
        product *= occurrences(target.astype(np.int64), column.astype(np.int64)) / len(rows)
    return product


_STREAM = 40


@dataclass(frozen=True)
class Scene:
    """Rows as arrays of states, one column of the array per column of the table. CONFIDENTIAL.

    Attributes:
        columns: declarations.
        names: names of the columns.
        original: all original rows, shape (n, d).
        held_out: all rows of the control, shape (m, d); None without one.
        members: targets drawn from the original rows.
        control: targets drawn from the control; None without one.
        sets: the synthetic sets.
        keys: columns that the intruder knows.
        secrets: columns that he wants to know.
        seed: of what else is random.
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    original: States = field(repr=False)
    held_out: States | None = field(repr=False)
    members: States = field(repr=False)
    control: States | None = field(repr=False)
    sets: tuple[States, ...] = field(repr=False)
    keys: tuple[int, ...]
    secrets: tuple[int, ...]
    seed: int

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        control: Rows | None,
        keys: tuple[int, ...],
        secrets: tuple[int, ...],
        targets: int,
    ) -> Scene:
        """Draw the targets, without replacement, and arrange the rows.

        Args:
            comparison: original rows and sets.
            control: rows of people outside the table, coded alike.
            keys: columns that the intruder knows.
            secrets: columns that he wants to know.
            targets: most targets of each group.
        """
        original = np.column_stack(comparison.original)
        held_out = None if control is None else np.column_stack(control)
        return cls(
            columns=comparison.columns,
            names=tuple(comparison.schema.names),
            original=original,
            held_out=held_out,
            members=_draw_rows(original, targets, comparison.generator(_STREAM)),
            control=None
            if held_out is None
            else _draw_rows(held_out, targets, comparison.generator(_STREAM, 1)),
            sets=tuple(np.column_stack(rows) for rows in comparison.sets),
            keys=keys,
            secrets=secrets,
            seed=comparison.seed,
        )

    @property
    def rest(self) -> tuple[int, ...]:
        """Columns that the intruder does not know."""
        return tuple(j for j in range(len(self.columns)) if j not in self.keys)

    def generator(self, stream: int) -> np.random.Generator:
        """A source of random numbers of its own for each purpose."""
        return np.random.default_rng([self.seed, _STREAM, 2, stream])

    def equal_numbers(self) -> tuple[States, States | None]:
        """As many original rows as rows of the control, drawn at random; all without a control."""
        if self.held_out is None:
            return self.original, None
        n = min(len(self.original), len(self.held_out))
        rng = self.generator(0)
        return _draw_rows(self.original, n, rng), _draw_rows(self.held_out, n, rng)


def _draw_rows(rows: States, n: int, rng: np.random.Generator) -> States:
    return rows if len(rows) <= n else rows[np.sort(rng.choice(len(rows), n, replace=False))]


def numbers_of(column: Column) -> Floats | None:
    """Number that stands for each state of a numeric column, NaN for codes of absence.

    The middle of a bin; for dates in days. None for a column with levels. The state outside the
    domain is the last one.

    Args:
        column: its declaration.
    """
    if not isinstance(column, NUMERIC):
        return None
    middles = np.full(column.size + 1, np.nan)
    middles[: column.n_ordinary] = [
        (interval.low + interval.high) / 2 for interval in column.intervals
    ]
    return middles


def scale_places(column: Column) -> Floats:
    """Place of each state on the scale of the column in [0, 1]; -1 for states without an order.

    Args:
        column: its declaration.
    """
    places = np.full(column.size + 1, -1.0)
    numbers = numbers_of(column)
    if numbers is not None:
        low, high = column.bounds  # type: ignore[union-attr]  # numeric columns have them
        middle = numbers[: column.n_ordinary]
        places[: column.n_ordinary] = (middle - low) / (high - low) if high > low else 0.0
    elif has_order(column):
        places[: column.n_ordinary] = np.linspace(0, 1, column.n_ordinary)
    return places


MUCH = 0.2
"""Share of what was left to gain from which an advantage over the control counts as high."""

Interval = tuple[float, float]
"""Lower and upper end of a 95 % confidence interval."""
RiskLevel = Literal["high", "raised", "near the control", "unknown"]


@dataclass(frozen=True)
class Risk:
    """One figure of one attack: on members, on non-members, and by guessing.

    The *advantage* is how much better the attack does on members than on the control; this alone is
    what membership in the table costs a person, since the control shows what can be inferred about
    anybody.

    Attributes:
        attack: name of the attack.
        measure: what is counted.
        value: the figure for members; None if it is undefined (no unique match, say).
        interval: its 95 % confidence interval.
        control: the figure for people outside the table; None without a control.
        control_interval: its 95 % confidence interval.
        advantage: how much better for the intruder the first is than the second, > 0 if members are
            more exposed; in the unit of the figure.
        advantage_interval: its 95 % confidence interval.
        guess: the figure of an intruder who ignores what he knows about his target; None if there
            is nothing to guess.
        perfect: the figure of an attack that always succeeds: 1, or 0 where low is dangerous.
        n: targets among the members.
        n_control: targets of the control.
        level: what follows from the interval of the advantage, by the rule
            above.
        warning: "" or why the figure says little.
        note: "" or what to know when reading it.
    """

    attack: str
    measure: str
    value: float | None
    interval: Interval | None
    control: float | None
    control_interval: Interval | None
    advantage: float | None
    advantage_interval: Interval | None
    guess: float | None
    perfect: float
    n: int
    n_control: int
    level: RiskLevel
    warning: str = ""
    note: str = ""

    @property
    def relative(self) -> float | None:
        """The advantage as a share of what was left to gain over the control.

        (r - r_c)/(1 - r_c) for rates (Giomi et al. 2023, Proc. Privacy Enhancing Technologies
        2023(2), 312-328); for errors, the share of the error that vanishes.
        """
        if self.advantage is None or self.control is None or self.control == self.perfect:
            return None
        return self.advantage / abs(self.perfect - self.control)

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {**asdict(self), "relative": self.relative}


@dataclass(frozen=True)
class Risks:
    """All attacks on a release.

    Attributes:
        title: title of the table.
        method: the release's method.
        guarantee: the release's promise, in words.
        n_original: original rows.
        n_control: rows of the control; 0 without one.
        n_synthetic: rows of each set.
        sets: number of sets.
        keys: columns that the intruder knows of his target.
        secrets: columns that he wants to know.
        risks: the figures, attack by attack.
        warnings: what is missing or doubtful.
    """

    title: str
    method: str
    guarantee: str
    n_original: int
    n_control: int
    n_synthetic: int
    sets: int
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    risks: tuple[Risk, ...]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Describe it without a figure."""
        return f"Risks(INTERNAL, {len(self.risks)} figures on a release by {self.method})"

    @property
    def alarming(self) -> tuple[Risk, ...]:
        """The figures that are raised or high."""
        return tuple(risk for risk in self.risks if risk.level in {"high", "raised"})

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; stamped internal."""
        plain = {
            "internal": "compares with confidential data, not for release",
            **{name: value for name, value in vars(self).items() if name != "risks"},
            "risks": [risk.to_json() for risk in self.risks],
        }
        return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}


Values = NDArray[np.floating[Any]] | NDArray[np.bool_]

LEVEL = 0.95


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
    spread = Z_95**2 / n
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
        return (at - area) ** 2 - Z_95**2 * variance(at)

    # At 0 and 1 the variance vanishes, so that an estimate there solves the equation itself.
    hair = 1e-9
    low = optimize.brentq(distance, 0.0, min(area, 1 - hair)) if area > hair else 0.0
    high = optimize.brentq(distance, max(area, hair), 1.0) if area < 1 - hair else 1.0
    return Figure(area, (float(low), float(high)), n)


FEWEST = 100
"""Targets, and controls, below which a figure is called uncertain."""


def level_of(advantage: Interval | None, left: float) -> RiskLevel:
    """Grade an advantage over the control.

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


def judge_figure(
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
    """Explain why a figure says little; "" if it does not."""
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
    """Return whether an attack does better than a guess.

    Where the control scores what a guess does by design (0.5 for an area under the curve), half of
    all harmless releases fall below it by chance, so only an interval below it counts as lost.
    """
    sign = 1 if perfect else -1
    if by_design:
        return max(sign * (end - guess) for end in members.interval) >= 0
    return sign * (members.value - guess) > 0
