"""A map as one self-contained HTML page, stamped internal unless its rows are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from understudy.evaluation.utility.losses import LOSSES
from understudy.methods import METHODS
from understudy.report import number_text as templates
from understudy.report.number_text import figure as written
from understudy.risk_utility import map_results
from understudy.risk_utility.map_figure import Drawing, key, spoken
from understudy.risk_utility.map_results import Point, Tradeoff
from understudy.risk_utility.risk_axis import MOST_TARGETS, RISKS


@dataclass(frozen=True)
class Picture:
    """One figure with its heading.

    Attributes:
        title: what is kept or lost.
        scale: what its upward axis is.
        drawing: the figure.
        logarithmic: whether that axis is.
    """

    title: str
    scale: str
    drawing: Markup
    logarithmic: bool


def page(tradeoff: Tradeoff) -> str:
    """The page: one figure per loss, all numbers, and how they were made.

    Args:
        tradeoff: the map; nothing else is looked at.

    Returns:
        HTML text, the same for the same map.
    """
    context: dict[str, Any] = {
        "map": tradeoff,
        "title": f"Risk and utility: {tradeoff.title}",
        "stamp": map_results.STAMP,
        "leak": map_results.LEAK,
        "public": map_results.PUBLIC,
        "risk": RISKS[tradeoff.risk],
        "most_targets": MOST_TARGETS,
        "losses": [LOSSES[name] for name in tradeoff.utility],
        "pictures": [_picture(tradeoff, name) for name in tradeoff.utility],
        "legend": [(key(k), name) for k, name in enumerate(tradeoff.methods)],
        "headings": _headings(tradeoff),
        "rows": [(row, _cells(row, tradeoff)) for row in tradeoff.points],
        "methods": [_about(name, tradeoff) for name in tradeoff.methods],
        "epsilons": _budgets(tradeoff),
    }
    return templates.template("tradeoff.html.jinja").render(context)


def _picture(tradeoff: Tradeoff, name: str) -> Picture:
    loss, drawing = LOSSES[name], Drawing(tradeoff, name)
    return Picture(
        loss.title, loss.scale, drawing.svg(_spoken(tradeoff, name)), drawing.logarithmic
    )


def _spoken(tradeoff: Tradeoff, name: str) -> str:
    """The means of a figure for those who cannot see it."""
    said = []
    for method in tradeoff.methods:
        values = [
            written(point.utility[name].mean)
            + (f" at ε = {point.epsilon}" if point.epsilon else "")
            for point in tradeoff.of(method)
        ]
        said.append(f"{method}: {', '.join(values) or 'refused'}")
    return f"{LOSSES[name].title}, loss by method and budget. {'; '.join(said)}."


def _headings(tradeoff: Tradeoff) -> list[str]:
    """Names of the cells of a point that has figures."""
    risk = RISKS[tradeoff.risk]
    return [
        *([risk.title] if risk.measure else []),
        *(LOSSES[name].name for name in tradeoff.utility),
    ]


def _cells(point: Point, tradeoff: Tradeoff) -> list[str]:
    """Risk if it was measured, then the losses."""
    risks = [] if point.risk is None else [spoken(point.risk)]
    return [*risks, *(spoken(point.utility[name]) for name in tradeoff.utility if point.utility)]


def _about(name: str, tradeoff: Tradeoff) -> tuple[str, str, str, str]:
    """Name, title, guarantee and options of a method."""
    given = ", ".join(f"{k} = {v}" for k, v in tradeoff.options.get(name, {}).items())
    if name not in METHODS:
        return name, "chosen from schema and budget", "that of the chosen method", given
    facts = METHODS[name].facts
    return name, facts.title, facts.guarantee, given


def _budgets(tradeoff: Tradeoff) -> str:
    return (
        ", ".join(dict.fromkeys(point.epsilon for point in tradeoff.points if point.epsilon))
        or "none"
    )
