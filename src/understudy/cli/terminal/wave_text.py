"""Changes between waves as people see them in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.terminal import escape, out

if TYPE_CHECKING:  # whoever calls has what is shown; nothing heavy is loaded to show help
    from understudy.inference.waves import Waves


def changed(found: Waves) -> None:
    """Changes from wave to wave, and the mean over waves."""
    title = f"{found.kind} of {found.formula}: changes, {100 * found.level:g} % intervals"
    table = _table(title, "estimate", "waves", "change")
    for (name, first, last), row in found.changes.iterrows():
        steps = f"{first} → {last}"
        table.add_row(
            escape(str(name)), steps, *_numbers(row["change"], row["lower"], row["upper"])
        )
    out.print(table)
    table = _table("Mean over waves, of what did not change", "estimate", "mean")
    for name, row in found.pooled.iterrows():
        table.add_row(escape(str(name)), *_numbers(row["estimate"], row["lower"], row["upper"]))
    out.print(table)
    out.print(found.assumed)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=escape(title))
    for heading in (*headings, "lower", "upper"):
        table.add_column(heading, justify="left" if heading in ("estimate", "waves") else "right")
    return table


def _numbers(*values: float) -> list[str]:
    return [f"{value:.4g}" for value in values]
