"""An R-U map as people see it in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from understudy.cli.terminal import escape, out
from understudy.evaluation.utility.losses import LOSSES
from understudy.report.number_text import figure
from understudy.risk_utility.map_results import LEAK, PUBLIC, Interval, Tradeoff
from understudy.risk_utility.risk_axis import RISKS


def drawn(found: Tradeoff, page: Path | None) -> None:
    """All figures of a map under its stamp, and where the page is."""
    if found.public:
        out.print(escape(PUBLIC), soft_wrap=True)
    else:
        out.print(
            "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
            f"{escape(LEAK)}",
            soft_wrap=True,
        )
    out.print(_table(found))
    measured = RISKS[found.risk].scale if RISKS[found.risk].measure else "ε itself"
    out.print(escape(f"Risk: {measured}."), soft_wrap=True)
    for name in found.utility:
        out.print(escape(f"{name}: {LOSSES[name].scale}; lower is better."), soft_wrap=True)
    out.print(f"Means of {found.repetitions} releases ± half of the 95 % Monte Carlo interval.")
    for one in found.refused:
        budget = f" at ε = {one.epsilon}" if one.epsilon else ""
        out.print(escape(f"Refused: {one.method}{budget}: {one.refused}"), soft_wrap=True)
    if page is not None:
        out.print(f"Page: {escape(str(page.resolve()))}", soft_wrap=True)


def _table(found: Tradeoff) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("method", overflow="fold")
    measured = [found.risk] if RISKS[found.risk].measure else []
    for heading in ("ε", *measured, *found.utility):
        table.add_column(heading, justify="right")
    for one in found.points:
        if one.refused:
            cells = ["refused"]
        else:
            cells = [_cell(one.risk)] if one.risk else []
            cells += [_cell(one.utility[name]) for name in found.utility]
        table.add_row(escape(one.method), one.epsilon or "none", *cells)
    return table


def _cell(one: Interval) -> str:
    return figure(one.mean) + ("" if one.half is None else f" ± {figure(one.half, 2)}")
