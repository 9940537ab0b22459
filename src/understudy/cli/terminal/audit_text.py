"""Audits as people see them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.terminal import escape, out

if TYPE_CHECKING:  # whoever calls has what is shown; nothing heavy is loaded to show help
    from understudy.audit import Verdict


def audited(verdicts: Sequence[Verdict]) -> None:
    """What each line promises, and what its releases showed."""
    table = Table(title="What releases cost at least, by events learned from them")
    for heading in ("", "promised", "shown", "could show", "releases"):
        table.add_column(heading, justify="left" if not heading else "right")
    for verdict in verdicts:
        unit = "μ" if verdict.stated.unit == "mu" else "ε"
        table.add_row(
            escape(str(verdict.line)) + " (worst case)" * verdict.line.worst,
            f"{unit} {verdict.stated.value:.3g}",
            f"{verdict.shown.bound:.3g}" + " ALARM" * verdict.alarm,
            f"{verdict.reach:.3g}",
            f"2 × {verdict.shown.n:,}",
        )
    out.print(table)
    alarms = [verdict for verdict in verdicts if verdict.alarm]
    for verdict in alarms:
        likely, rare = verdict.shown.times
        out.print(
            escape(
                f"ALARM: {verdict.line} promises less than it costs. The event “"
                f"{verdict.shown.event}” happened {likely:,} and {rare:,} times in "
                f"{verdict.shown.n:,} releases of each table."
            ),
            soft_wrap=True,
        )
    if not alarms:
        out.print("No bound is above what is promised.")
