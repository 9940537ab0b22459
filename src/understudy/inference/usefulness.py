"""Which answers count as such: a valid interval may be so wide that it tells nothing.

An answer *counts* if its interval is finite and at most `WIDEST` times as wide as the rows' own,
the interval that the records themselves would give. Of several estimates at least half must count;
an intercept is none of them. What the rows would give follows from the answer, which knows how much
of its variance is noise, or else from public facts (`inference.expected_widths`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from understudy._arrays import Z_95, Floats
from understudy.inference.combining import Pooled

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
