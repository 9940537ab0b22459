"""Charts of the disclosure risk: members beside the control and a guess."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from understudy.evaluation.risk.risk_results import Risk
from understudy.report.number_text import figure, shortened
from understudy.report.svg import SMALL, WIDTH, Chart, Colour, Panel

_ROW = 58.0  # height of a figure
_LEFT, _RIGHT = 4.0, WIDTH - 4.0
_LETTERS = 38  # most letters of a figure's name


def attack_chart(risks: Sequence[Risk], label: str) -> Markup:
    """The figures of one attack, each on its own scale from 0.

    Rates and probabilities reach to 1; errors to the largest number that is shown.

    Args:
        risks: of one attack.
        label: the chart in words.
    """
    chart = Chart(len(risks) * _ROW + 2)
    panel = chart.canvas()
    for k, risk in enumerate(risks):
        _row(panel, risk, k * _ROW)
    return chart.svg(label)


def scale_of(risk: Risk) -> float:
    """Upper end of a figure's scale."""
    ends = [risk.guess, *(risk.interval or ()), *(risk.control_interval or ())]
    highest = max([x for x in ends if x is not None and math.isfinite(x)], default=1.0)
    return 1.0 if highest <= 1 and risk.measure != "mean absolute error" else 1.05 * highest


def _row(panel: Panel, risk: Risk, top: float) -> None:
    panel.text(0, top + 9, shortened(risk.measure, _LETTERS))
    alarming = risk.level in {"high", "raised"}
    colour = Colour.SPIKE if alarming else Colour.MUTED
    panel.text(WIDTH, top + 9, risk.level, colour, size=SMALL, anchor="right")
    reach = scale_of(risk) or 1.0

    def place(x: float) -> float:
        return _LEFT + (min(max(x, 0.0), reach) / reach) * (_RIGHT - _LEFT)

    panel.segments([(_LEFT, top + 45, _RIGHT, top + 45)], Colour.RULE, 1.0)
    ticks = [place(reach * part) for part in (0, 0.25, 0.5, 0.75, 1)]
    panel.segments([(x, top + 22, x, top + 45) for x in ticks], Colour.RULE, 0.7)
    if reach != 1:
        panel.text(WIDTH, top + 51, figure(reach), Colour.MUTED, size=SMALL, anchor="right")
    if risk.guess is not None and math.isfinite(risk.guess):
        x = place(risk.guess)
        panel.segments([(x, top + 20, x, top + 45)], Colour.ABSENT, 2.0)
    drawn = (risk.interval, risk.value, top + 28), (risk.control_interval, risk.control, top + 38)
    for (interval, value, y), colour in zip(drawn, (Colour.BAR, Colour.ORIGINAL), strict=True):
        if value is not None and interval is not None and all(map(math.isfinite, interval)):
            _whisker(panel, [place(x) for x in (value, *interval)], y, colour)
    if risk.value is None:
        panel.text(WIDTH / 2, top + 33, "undefined", Colour.MUTED, size=SMALL, anchor="center")


def _whisker(panel: Panel, row: Sequence[float], y: float, colour: Colour) -> None:
    """A dot with its whisker: places of the figure and of the ends of its interval."""
    dot, low, high = row
    panel.segments([(low, y, high, y)], colour, 2.0)
    panel.segments([(x, y - 3, x, y + 3) for x in (low, high)], colour, 1.4)
    panel.fill([(dot - 3, y - 3, dot + 3, y + 3)], colour)
