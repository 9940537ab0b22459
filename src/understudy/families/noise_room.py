"""What noise leaves room for, from the number of rows that is declared or was bought.

A table of more cells than this has mostly noise in each of them.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.families.effort import known_rows
from understudy.families.noisy_marginal import LEAST_STDDEV
from understudy.privacy.gate import Gate
from understudy.privacy.noise.calibration import NoiseName, calibrate


def records_per_noise(gate: Gate, noise: NoiseName, spend: Fraction) -> float:
    """Records of all rows, in standard deviations of the noise in one cell of a table.

    Args:
        gate: with the number of rows.
        noise: of the table.
        spend: what the table costs; for nothing there is no room.
    """
    if not spend:
        return 0.0
    found = calibrate(
        noise, spend=spend, accounting=gate.budget.accounting, neighbours=gate.neighbours
    )
    return known_rows(gate) / max(found.stddev, LEAST_STDDEV)
