"""What the internal pages say of disclosure risk: a card for each attack, and all numbers.

A card's chart shows members beside the control and a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from understudy.evaluation.risk.risk_results import MUCH, Risk, Risks
from understudy.report import number_text as templates
from understudy.report.number_text import figure, shortened
from understudy.report.svg import SMALL, WIDTH, Chart, Colour, Panel

STAMP = "internal: compares with confidential data, not for release"
_ROOM = {"risk_card": 120_000, "risk_row": 80_000, "risk_warning": 20_000}
_ORDER = ("high", "raised", "unknown", "near the control")
_MOST_NAMES = 12  # columns that are named


def risk_context(risks: Risks) -> dict[str, Any]:
    """What the templates need of the risk.

    Args:
        risks: what was found.
    """
    by_attack = attacks(risks.risks)
    judged = [risk for risk in risks.risks if risk.advantage is not None]
    return {
        "found": risks,
        "known": _named(risks.keys),
        "wanted": _named(risks.secrets),
        "much": MUCH,
        "judged": len(judged),
        "alarming": len(risks.alarming),
        "cards": templates.fitted(_cards(by_attack), _ROOM["risk_card"], total=len(by_attack)),
        "rows": _rows("risk_row", risks.risks),
        "warnings": _rows("risk_warning", risks.warnings),
    }


def risk_page(risks: Risks) -> str:
    """A page of its own for the steward; stamped internal.

    Args:
        risks: what was found; nothing else is looked at.

    Returns:
        HTML text, the same for the same figures.
    """
    page = templates.template("risk.html.jinja")
    return page.render(stamp=STAMP, title=risks.title, risk=risk_context(risks))


def attacks(risks: Sequence[Risk]) -> dict[str, list[Risk]]:
    """Figures by attack, in order."""
    by_attack: dict[str, list[Risk]] = {}
    for risk in risks:
        by_attack.setdefault(risk.attack, []).append(risk)
    return by_attack


def worst_level(risks: Sequence[Risk]) -> str:
    """The most alarming level of some figures.

    A figure that cannot be judged counts only where none can.
    """
    levels = {risk.level for risk in risks if risk.advantage is not None} or {"unknown"}
    return next(level for level in _ORDER if level in levels)


def _cards(by_attack: dict[str, list[Risk]]) -> Iterator[Markup]:
    for k, (attack, risks) in enumerate(by_attack.items(), start=1):
        level = worst_level(risks)
        chart = attack_chart(risks, _spoken(attack, risks))
        yield _macro("risk_card")(k, attack[:1].upper() + attack[1:], level, chart, _doubts(risks))


def _spoken(attack: str, risks: Sequence[Risk]) -> str:
    parts = [
        f"{shortened(risk.measure, 80)}: members {figure(risk.value)}, "
        f"control {figure(risk.control)}, guess {figure(risk.guess)}, {risk.level}"
        for risk in risks
    ]
    return f"{shortened(attack, 80)}. {'; '.join(parts)}."


def _doubts(risks: Sequence[Risk]) -> list[tuple[str, str]]:
    """Warnings, each with the figures that it holds for."""
    measures: dict[str, list[str]] = {}
    for risk in risks:
        if risk.warning:
            measures.setdefault(risk.warning, []).append(shortened(risk.measure, 80))
    return [(", ".join(names), warning) for warning, names in measures.items()]


def _named(names: Sequence[str]) -> str:
    """Names of columns, the first few of many."""
    shown = ", ".join(shortened(name, 80) for name in names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    return templates.rendered(_macro(macro), items, _ROOM[macro])


def _macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "risk_parts.html.jinja")


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
