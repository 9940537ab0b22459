"""Paid answers as people see them in a terminal: what one costs, and what it brings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.terminal import MOST_ROWS, escape, out

if TYPE_CHECKING:  # whoever calls has what is shown; nothing heavy is loaded to show help
    from understudy.inference.amended_answers import AmendedAnswer, Told
    from understudy.pipeline.answer_plan import AnswerPlan, ExpectedGain


def planned(plan: AnswerPlan) -> None:
    """What an answer would cost and bring."""
    from understudy.privacy.accounting.budget import decimal_up

    delta = f", δ = {decimal_up(plan.after.delta)}" if plan.after.delta else ""
    title = plan.question.title or "The question"
    out.print(
        f"[bold]{escape(title)}[/bold]: ε = {plan.epsilon} more, "
        f"{decimal_up(plan.before.epsilon)} → {decimal_up(plan.after.epsilon)}{delta} in all."
    )
    for step in plan.steps:
        out.print(escape(f"  {step.query}: {step.noise}"), soft_wrap=True)
    if plan.gains:
        out.print(_gains(plan.gains))
    if len(plan.gains) > MOST_ROWS:
        out.print(f"… and {len(plan.gains) - MOST_ROWS} more estimates (all with --json).")
    for asked, why in plan.refused:
        out.print(f"[bold]No answer is expected[/bold] to {escape(asked)}: {escape(why)}")
    out.print(
        "Rehearsed on a synthetic set, with noise of the true scale. No confidential rows were "
        "read and no budget was spent."
    )


def _gains(gains: tuple[ExpectedGain, ...]) -> Table:
    table = Table(title="Expected 95 % half-widths")
    table.add_column("analysis", overflow="fold")
    table.add_column("estimate", overflow="fold")
    for heading in ("release now", "new alone", "pooled", "wanted"):
        table.add_column(heading, justify="right")
    for gain in gains[:MOST_ROWS]:
        widths = (gain.now, gain.alone, gain.pooled, gain.wanted)
        table.add_row(escape(gain.question), escape(gain.name), *map(_width, widths))
    return table


def answered(answers: list[AmendedAnswer]) -> None:
    """What an answer brought, pooled and alone."""
    from understudy.inference.amended_answers import POOLED_RIGHT

    table = Table(title="Estimates ± half of the 95 % interval")
    table.add_column("analysis", overflow="fold")
    table.add_column("estimate", overflow="fold")
    for heading in ("release before", "new alone", "pooled"):
        table.add_column(heading, justify="right")
    for one in answers:
        for name in one.names[:MOST_ROWS]:
            told = (one.before, one.alone, one.pooled)
            asked = escape(f"{one.kind} {one.formula}")
            table.add_row(asked, escape(name), *(_told(part, name) for part in told))
        if not one.names:
            out.print(f"No answer to {escape(one.kind)} {escape(one.formula)}: ", end="")
            out.print(escape(one.pooled.refused))
    out.print(table)
    out.print(POOLED_RIGHT)


def _told(told: Told, name: str) -> str:
    if name not in told.intervals:
        return "–"
    return f"{told.intervals[name][0]:.4g} ± {_width(told.half_widths[name])}"


def _width(width: float) -> str:
    return f"{width:.2g}" if math.isfinite(width) else "–"
