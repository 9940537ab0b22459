"""What the internal pages say of disclosure risk: a card for each attack, and all numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from understudy.evaluation.risk.risk_results import MUCH, Risk, Risks
from understudy.report import templates
from understudy.report.internal.risk_charts import attack_chart
from understudy.report.number_text import figure, shortened

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
    judged = [one for one in risks.risks if one.advantage is not None]
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
    found: dict[str, list[Risk]] = {}
    for one in risks:
        found.setdefault(one.attack, []).append(one)
    return found


def worst_level(risks: Sequence[Risk]) -> str:
    """The most alarming level of some figures.

    A figure that cannot be judged counts only where none can.
    """
    levels = {one.level for one in risks if one.advantage is not None} or {"unknown"}
    return next(level for level in _ORDER if level in levels)


def _cards(by_attack: dict[str, list[Risk]]) -> Iterator[Markup]:
    for k, (attack, risks) in enumerate(by_attack.items(), start=1):
        level = worst_level(risks)
        chart = attack_chart(risks, _spoken(attack, risks))
        yield _macro("risk_card")(k, attack[:1].upper() + attack[1:], level, chart, _doubts(risks))


def _spoken(attack: str, risks: Sequence[Risk]) -> str:
    parts = [
        f"{shortened(one.measure, 80)}: members {figure(one.value)}, "
        f"control {figure(one.control)}, guess {figure(one.guess)}, {one.level}"
        for one in risks
    ]
    return f"{shortened(attack, 80)}. {'; '.join(parts)}."


def _doubts(risks: Sequence[Risk]) -> list[tuple[str, str]]:
    """Warnings, each with the figures that it holds for."""
    found: dict[str, list[str]] = {}
    for one in risks:
        if one.warning:
            found.setdefault(one.warning, []).append(shortened(one.measure, 80))
    return [(", ".join(names), warning) for warning, names in found.items()]


def _named(names: Sequence[str]) -> str:
    """Names of columns, the first few of many."""
    shown = ", ".join(shortened(name, 80) for name in names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    return templates.rendered(_macro(macro), items, _ROOM[macro])


def _macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "risk_parts.html.jinja")
