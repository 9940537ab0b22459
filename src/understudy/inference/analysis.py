"""Estimates with their errors, what these rest on, how they are shown, and which tell anything.

Estimates become text that is rounded as their errors allow.

An answer *counts* if its interval is finite and at most `WIDEST` times as wide as the rows' own,
the interval that the records themselves would give. Of several estimates at least half must count;
an intercept is none of them. What the rows would give follows from the answer, which knows how much
of its variance is noise, or else from public facts (`answered_questions.ExpectedWidths`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd

from understudy import _notebook
from understudy._arrays import Z_95, Floats
from understudy.inference.combining import Pooled

OPEN: Final = "open"
"""Stands for an end of an interval that there is none of."""
NO_INFORMATION: Final = "no information"
"""Stands for an interval that has no end: the release says nothing of the quantity."""
_MOST_DIGITS = 8  # after the point; beyond, numbers are written with an exponent
P_VALUES: Final = {
    "quantile": "",
    "median": "",
    "std": "",
    "gini": "",
    "odds-ratio": " p: two-sided, of the odds ratio 1;",
    "ratio": " p: two-sided, of the ratio 1;",
    "independence": " p: of independence, below two-sided of the value 0;",
}
"""What p is, where it is not that of the value 0."""


def half_width_text(width: float, digits: int = 3) -> str:
    """Half the width of an interval, "± 0.12", or that there is no information.

    Args:
        width: the half; infinite where the interval has no end, NaN where there is none.
        digits: that are shown.

    Example:
        >>> half_width_text(0.12345), half_width_text(float("inf"))
        ('± 0.123', 'no information')
    """
    return f"± {width:,.{digits}g}" if math.isfinite(width) else NO_INFORMATION


def row_texts(
    estimate: float, stderr: float, df: float, lower: float, upper: float, *rest: float
) -> tuple[str, ...]:
    """A row of the table of an analysis as text, rounded where the standard error has two digits.

    Args:
        estimate: of a quantity.
        stderr: its standard error; NaN where it has none.
        df: degrees of freedom.
        lower: lower end of the interval.
        upper: upper end.
        rest: p-value, share of synthesis and noise, and bound on the bias by bins.
    """
    pvalue, share, _ = rest
    digits = 1 - math.floor(math.log10(stderr)) if 0 < stderr < math.inf else None
    number, error = _number(estimate, digits), _number(stderr, digits)
    low, high = (_number(v, digits) if math.isfinite(v) else OPEN for v in (lower, upper))
    p = "< 0.001" if pvalue < 0.001 else _number(pvalue, 3)
    if math.isfinite(estimate) and math.isnan(lower):  # of a test's statistic
        low = high = "–"
    elif low == high == OPEN:
        low, high, p = NO_INFORMATION, "", "–"
    percent = f"{round(100 * share)} %" if math.isfinite(share) else "–"
    return number, error, _number(df, 1), low, high, p, percent


def _number(value: float, digits: int | None) -> str:
    if not math.isfinite(value):
        return "–"
    if digits is None or digits > _MOST_DIGITS:
        return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return f"{round(value, digits) + 0.0:,.{max(digits, 0)}f}"


STAMP = "not valid"


@dataclass(frozen=True)
class Analysis:
    """Estimates with their errors, and on what these rest.

    Attributes:
        kind: what was asked for.
        formula: of what.
        pooled: estimates, covariance, degrees of freedom, share of variance by synthesis and noise.
        valid: whether the error bars are valid; False only if asked for `anyway`.
        reason: why this rule, or why no rule is valid.
        notes: what to know when reading the numbers, one sentence each.
        dropped: records left out because a value is absent: one number for each set, or one
            (noisy, so not whole) for an estimate from noisy counts.
        level: confidence level of the intervals shown.
        limits: the answer lies between these, whatever the rows are. Intervals are cut to them
            where people read them, and nowhere else.
        cut_off: column → limits. The answer is about numbers of it cut off there: those beyond
            count as the limits.
        counting: the same in words, "pay above 900 counted as 900"; "" where numbers are as they
            are.
    """

    kind: str
    formula: str
    pooled: Pooled
    valid: bool
    reason: str
    notes: tuple[str, ...]
    dropped: tuple[float, ...]
    level: float = 0.95
    limits: tuple[float, float] = (-math.inf, math.inf)
    cut_off: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    counting: str = ""
    headings: ClassVar[tuple[str, ...]] = (
        *("estimate", "SE", "df"),
        *("lower", "upper", "p", "synth."),
    )

    def to_frame(self) -> pd.DataFrame:
        """One row per quantity; the numbers are as computed, nothing is cut to `limits`."""
        return self.pooled.to_frame(self.level)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "formula": self.formula,
            "cut_off": {name: list(ends) for name, ends in self.cut_off.items()},
            "valid": self.valid,
            "reason": self.reason,
            **self.pooled.to_json(self.level),
            "notes": list(self.notes),
            "dropped": list(self.dropped),
        }

    @property
    def quantity(self) -> str:
        """The estimand: the question, and where its numbers are cut off."""
        return f"{self.kind} of {self.formula}{f', {self.counting}' * bool(self.counting)}"

    @property
    def title(self) -> str:
        """The estimand and the estimator, in a line."""
        reason = self.reason.replace(STAMP, STAMP.upper(), 1)
        return f"{self.quantity}, rule {self.pooled.rule}: {reason}."

    @property
    def legend(self) -> str:
        """Legend of the columns."""
        biased = self.kind not in ("quantile", "median") and self.pooled.bias.any()
        p = P_VALUES.get(self.kind, " p: two-sided, of the value 0;")
        hidden = "; lower and upper allow for what bins, absences or records out of domain hide"
        return (
            f"lower, upper: {100 * self.level:g} % interval;{p} synth.: share of the variance by "
            f"synthesis and privacy noise{hidden * bool(biased)}."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text: name, then one text for each of `headings`."""
        shown = self.to_frame()
        # For people only; an estimate keeps its sign, and only intervals are cut.
        shown[["lower", "upper"]] = shown[["lower", "upper"]].clip(*self.limits)
        return [
            (str(name), *row_texts(*values))
            for name, values in zip(shown.index, shown.to_numpy().tolist(), strict=True)
        ]

    def __repr__(self) -> str:
        """As it is printed."""
        return str(self)

    def _repr_html_(self) -> str:
        shown = _notebook.grid(self.title, ["", *self.headings], self.rows())
        return shown + _notebook.paragraphs([self.legend, *self.notes])

    def __str__(self) -> str:
        """The table, aligned, with the notes below."""
        rows = [("", *self.headings), *self.rows()]
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        return "\n".join([self.title, "", *lines, "", self.legend, *self.notes])


WIDEST: Final = 10.0
"""Times the width of the interval that the records themselves would give."""
COUNTED: Final = (
    f"An answer counts if its interval is at most {WIDEST:g} times as wide as the one that the "
    "records themselves would give."
)
_INTERCEPT = "Intercept"


def counts(width: float, row_width: float) -> bool:
    """Return whether an interval tells something beside that of the rows.

    Args:
        width: of the interval; NaN or infinite where there is none.
        row_width: of that of the rows; 0 where they tell for certain.

    Example:
        >>> counts(9.9, 1), counts(10.1, 1), counts(float("nan"), 1), counts(5, 0)
        (True, False, False, True)
    """
    return math.isfinite(width) and (row_width == 0 or width <= WIDEST * row_width)


def answer_counts(pooled: Pooled, *, expected: bool) -> bool:
    """Return whether an answer counts.

    Args:
        pooled: the estimates.
        expected: whether it counts by public facts, which decides where the answer does not know
            how much of its variance is noise, as that of a quantile.
    """
    lower, upper = pooled.interval()
    reach = pooled.stderr * np.sqrt(np.clip(1 - pooled.synthesis_share, 0, 1))
    found = _each_counts((upper - lower) / 2, Z_95 * reach, expected=expected)
    slopes = [k for k, name in enumerate(pooled.names) if name != _INTERCEPT]
    return 2 * sum(found[k] for k in slopes) >= max(len(slopes), 1)


def _each_counts(widths: Floats, of_rows: Floats, *, expected: bool) -> list[bool]:
    return [
        math.isfinite(width) and (expected if math.isnan(own) else counts(width, own))
        for width, own in zip(widths.tolist(), of_rows.tolist(), strict=True)
    ]
