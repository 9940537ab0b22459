"""Plans as people see them in a terminal."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table

from understudy.cli.terminal import MOST_ROWS, escape, out, sets_words

if TYPE_CHECKING:  # whoever calls has what is shown; nothing heavy is loaded to show help
    from understudy.families.measurement_plan import PlannedTable
    from understudy.pipeline.planning import Plan


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; shares and budget as decimals."""
    from understudy.privacy.accounting.budget import decimal_up

    tables, setup = (
        [{**vars(table), "share": decimal_up(table.share)} for table in part]
        for part in (plan.tables, plan.setup)
    )
    budget = {"epsilon": decimal_up(plan.budget.epsilon), "delta": decimal_up(plan.budget.delta)}
    expected = [row.to_json() for row in plan.expected]
    ranges = [row.to_json() for row in plan.ranges]
    parts = {"budget": budget, "setup": setup, "tables": tables}
    parts |= {"expected": expected, "ranges": ranges}
    return {**vars(plan), **parts}


def planned(plan: Plan) -> None:
    """A plan as a table: what is measured, at which cost, how exactly."""
    from understudy.privacy.accounting.budget import decimal_up

    budget = f"ε = {decimal_up(plan.budget.epsilon)}"
    if plan.budget.delta:
        kept = f"{plan.budget.unit} = {decimal_up(plan.budget.amount)}"
        if plan.budget.mu is not None:
            kept = f"μ-GDP, μ = {decimal_up(plan.budget.mu)}, {kept}"
        budget += f", δ = {decimal_up(plan.budget.delta)} ({kept})"
    reason = f" (chosen because {plan.reason})" if plan.reason else ""
    out.print(
        f"[bold]{plan.method}[/bold]{escape(reason)}, {budget}, "
        f"{sets_words(plan.sets, plan.sets_kind)}; neighbours: {plan.neighbours}"
    )
    out.print(escape(f"Number of rows: {plan.rows_noise}."))
    rows = _alike(plan.tables)
    shown = [_planned_row(row, times, " (once)") for row, times in _alike(plan.setup)]
    shown += [_planned_row(row, times) for row, times in rows[:MOST_ROWS]]
    out.print(_planned_table(shown, f" (of {plan.fits})" * (plan.fits > 1)))
    if len(rows) > MOST_ROWS:
        out.print(f"… and {len(rows) - MOST_ROWS} more tables (all with --json).")
    if any(row[-1] != "–" for row in shown):
        out.print(
            "Noise mass: records' worth of positive noise that empty cells receive on average; "
            "compare it with the number of rows."
        )
    if plan.priority:
        out.print(
            escape(f"Columns with priority, in moments of their own: {', '.join(plan.priority)}.")
        )
    if plan.expected:
        out.print(_expected_table(plan))
    for remark in plan.remarks:
        out.print(escape(remark), soft_wrap=True)
    out.print(
        f"Beyond the rows: about {max(plan.memory_mb, 0.1):,.1f} MB and "
        f"{max(plan.seconds, 0.01):,.2f} s. "
        "No data were read and no budget was spent."
    )


SPREADS = (
    "Widths are for numbers spread evenly between their bounds. Beside them is what they may be: "
    "numbers are nine in ten within what the schema calls typical; where it says nothing, they are "
    "even, or all, or only the outcome, or all but it, in the lowest tenth of their range. "
    "Refused: the largest chance that noise hides what the analysis rests on."
)


def _expected_table(plan: Plan) -> Table:
    """How exact the answers to declared analyses will be."""
    table = Table(title=f"Expected 95 % half-widths, for {plan.assumed_rows:,} records")
    table.add_column("analysis", overflow="fold")
    for heading in ("estimate", "by noise", "by sampling", "together"):
        table.add_column(heading, justify="right" if heading != "estimate" else "left")
    ranges = {(row.analysis, row.name): row for row in plan.ranges}
    chances = {row.analysis: row.refusal for row in plan.ranges}
    if ranges:
        table.add_column("may be", justify="right")
        table.add_column("refused", justify="right")
        table.caption, table.caption_justify = SPREADS, "left"
    for row in plan.expected:
        parts = row.noise, row.sampling, row.half_width
        widths = [f"± {width:,.3g}" for width in parts]
        shown = (row.refused, "–", "–", "–") if row.refused else (row.name, *widths)
        other = ranges.get((row.analysis, row.name))
        known = other is not None and math.isfinite(other.least)
        ends = _ends(other.least, other.largest) if other and known else "–"
        more = (ends, _percent(chances.get(row.analysis, 0.0))) * bool(ranges)
        table.add_row(escape(row.analysis), *map(escape, (*shown, *more)))
    return table


def _ends(least: float, largest: float) -> str:
    """Between which half-widths an interval may be."""
    more = f"to {largest:,.3g}" if math.isfinite(largest) else "or more"
    return f"± {least:,.3g}" if least == largest else f"± {least:,.3g} {more}"


def _percent(chance: float) -> str:
    """A chance, which is only as exact as what it assumes."""
    return "< 1 %" if chance < 0.01 else "> 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"


def _planned_table(rows: list[tuple[str, ...]], fits: str) -> Table:
    """The steps of a plan; what no step has is left out."""
    table = Table(title="Measured in one fit" + fits)
    table.add_column("measured", overflow="fold")
    headings = ("form", "cells", "share", "noise sd", "95 % of counts within", "noise mass")
    kept = [k for k, _ in enumerate(headings, 1) if any(row[k] != "–" for row in rows)]
    for k in kept:
        table.add_column(headings[k - 1], justify="right")
    for row in rows:
        table.add_row(row[0], *(row[k] for k in kept))
    return table


def _alike(rows: tuple[PlannedTable, ...]) -> list[tuple[PlannedTable, int]]:
    """Steps, and how often each follows itself; the costs of equal steps may differ in a unit."""
    runs: list[tuple[PlannedTable, int]] = []
    for row in rows:
        if runs and replace(runs[-1][0], share=row.share) == row:
            runs[-1] = (row, runs[-1][1] + 1)
        else:
            runs.append((row, 1))
    return runs


def _planned_row(row: PlannedTable, times: int, when: str = "") -> tuple[str, ...]:
    names = ", ".join(row.columns[:6]) + (
        f" … ({len(row.columns)} columns)" if len(row.columns) > 6 else ""
    )
    counted = row.form.counts_cells
    form = row.form + (f" ≥ {row.threshold}" if row.threshold is not None else "") + when
    cells = f"{row.n_cells:,}" if row.n_cells < 10**9 else f"10^{math.log10(row.n_cells):.1f}"
    mass = f"{row.noise_mass:,.3g}" if row.form.has_noise_mass else "–"
    measured = names if counted and names else row.query
    return (
        escape(f"{times} × {measured}" if times > 1 else measured),
        form,
        "up to " * row.chosen + cells if row.form.has_cells else "–",
        f"{times} × {float(row.share):.2%}" if times > 1 else f"{float(row.share):.2%}",
        f"{row.stddev:,.4g}" if row.form.has_noise else "–",
        f"± {1.96 * row.stddev:,.4g}" if row.form.has_noise else "–",
        mass,
    )
