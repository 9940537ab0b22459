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


def page(found: Tradeoff) -> str:
    """The page: one figure per loss, all numbers, and how they were made.

    Args:
        found: the map; nothing else is looked at.

    Returns:
        HTML text, the same for the same map.
    """
    context: dict[str, Any] = {
        "map": found,
        "title": f"Risk and utility: {found.title}",
        "stamp": map_results.STAMP,
        "leak": map_results.LEAK,
        "public": map_results.PUBLIC,
        "risk": RISKS[found.risk],
        "most_targets": MOST_TARGETS,
        "losses": [LOSSES[name] for name in found.utility],
        "pictures": [_picture(found, name) for name in found.utility],
        "legend": [(key(k), name) for k, name in enumerate(found.methods)],
        "headings": _headings(found),
        "rows": [(one, _cells(one, found)) for one in found.points],
        "methods": [_about(name, found) for name in found.methods],
        "epsilons": _budgets(found),
    }
    return templates.template("tradeoff.html.jinja").render(context)


def _picture(found: Tradeoff, name: str) -> Picture:
    loss, drawing = LOSSES[name], Drawing(found, name)
    return Picture(loss.title, loss.scale, drawing.svg(_spoken(found, name)), drawing.logarithmic)


def _spoken(found: Tradeoff, name: str) -> str:
    """The means of a figure for those who cannot see it."""
    said = []
    for method in found.methods:
        values = [
            f"{written(one.utility[name].mean)}{f' at ε = {one.epsilon}' if one.epsilon else ''}"
            for one in found.of(method)
        ]
        said.append(f"{method}: {', '.join(values) or 'refused'}")
    return f"{LOSSES[name].title}, loss by method and budget. {'; '.join(said)}."


def _headings(found: Tradeoff) -> list[str]:
    """Names of the cells of a point that has figures."""
    risk = RISKS[found.risk]
    return [*([risk.title] if risk.measure else []), *(LOSSES[name].name for name in found.utility)]


def _cells(point: Point, found: Tradeoff) -> list[str]:
    """Risk if it was measured, then the losses."""
    risks = [] if point.risk is None else [spoken(point.risk)]
    return [*risks, *(spoken(point.utility[name]) for name in found.utility if point.utility)]


def _about(name: str, found: Tradeoff) -> tuple[str, str, str, str]:
    """Name, title, guarantee and options of a method."""
    given = ", ".join(f"{k} = {v}" for k, v in found.options.get(name, {}).items())
    if name not in METHODS:
        return name, "chosen from schema and budget", "that of the chosen method", given
    facts = METHODS[name].facts
    return name, facts.title, facts.guarantee, given


def _budgets(found: Tradeoff) -> str:
    return ", ".join(dict.fromkeys(one.epsilon for one in found.points if one.epsilon)) or "none"
