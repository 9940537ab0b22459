"""Estimates as text, rounded as their errors allow."""

from __future__ import annotations

import math
from typing import Final

_MOST_DIGITS = 8  # after the point; beyond, numbers are written with an exponent
P_VALUES: Final = {
    "quantile": "",
    "odds-ratio": " p: two-sided, of the odds ratio 1;",
    "ratio": " p: two-sided, of the ratio 1;",
    "independence": " p: of independence, below two-sided of the value 0;",
}
"""What p is, where it is not that of the value 0."""


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
    number, error, low, high = (_number(v, digits) for v in (estimate, stderr, lower, upper))
    p = "< 0.001" if pvalue < 0.001 else _number(pvalue, 3)
    percent = f"{100 * share:.0f} %" if math.isfinite(share) else "–"
    return number, error, _number(df, 1), low, high, p, percent


def _number(value: float, digits: int | None) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if digits is None or digits > _MOST_DIGITS:
        return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
    return f"{round(value, digits) + 0.0:,.{max(digits, 0)}f}"
