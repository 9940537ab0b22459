"""What attacks find. All of it compares with the rows, so all of it is internal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

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
        level: what follows from the interval of the advantage, by the rule of
            `understudy.evaluation.risk.interpretation`.
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
        """What it is, without a figure."""
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
