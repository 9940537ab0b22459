"""What commands show in a terminal: schemas, methods, plans, releases, answers, ledgers."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from understudy.cli.console import MOST_ROWS, Screen, escape, out, sets_words

if TYPE_CHECKING:
    from understudy.dp.confidential import Diagnostic, Internal
    from understudy.inference.analysis import Analysis
    from understudy.inference.analyze import AmendedAnswer, Told
    from understudy.inference.declared import Expected
    from understudy.inference.private_regression import PrivateRegression, RegressionRelease
    from understudy.inference.verdict import Verdict, VerdictPlan
    from understudy.inference.waves import Waves
    from understudy.ledger.account import Totals
    from understudy.ledger.entries import Row
    from understudy.ledger.ledger import PopulationLedger
    from understudy.ledger.reservation import Reservation
    from understudy.metadata.codebook import Codebook
    from understudy.methods.base import Facts
    from understudy.methods.plan import PlannedTable
    from understudy.methods.registry import Option
    from understudy.papers.generator_scores import Travelled
    from understudy.papers.record_weights import FittedPosterior
    from understudy.release.release import Release
    from understudy.report.results_page import DeclaredResult
    from understudy.workflow.amend import AnswerPlan, ExpectedGain
    from understudy.workflow.choose import ChoicePlan
    from understudy.workflow.plan import Plan


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan as plain data; shares and budget as decimals."""
    from understudy.dp.budget import decimal_up

    tables, setup = (
        [{**vars(table), "share": decimal_up(table.share)} for table in part]
        for part in (plan.tables, plan.setup)
    )
    budget = {"epsilon": decimal_up(plan.budget.epsilon), "delta": decimal_up(plan.budget.delta)}
    expected = [
        {**row.to_json(), "half_width": [end if math.isfinite(end) else None for end in row.ends]}
        for row in plan.expected
    ]
    ranges = [row.to_json() for row in plan.ranges]
    parts = {"budget": budget, "setup": setup, "tables": tables}
    parts |= {"expected": expected, "ranges": ranges}
    return {**vars(plan), **parts}


def choice_json(plan: ChoicePlan) -> dict[str, Any]:
    """The plan of a private selection as plain data."""
    shares = plan.shares
    return {
        "epsilon": str(shares.whole.epsilon),
        "delta": str(shares.whole.delta),
        "unit": shares.whole.unit_name,
        "cost_of_a_try": str(shares.one.amount),
        "epsilon_of_a_try": str(shares.one.epsilon),
        "eta": str(plan.law.eta),
        "gamma": str(plan.law.gamma),
        "expected_tries": plan.law.expected,
        "chance_of_a_candidate": plan.chance,
        "stddev_of_the_criterion": plan.stddev,
        "remarks": list(plan.remarks),
        "candidates": [plan_json(one) for one in plan.plans],
    }


def describe_choice(plan: ChoicePlan) -> None:
    """The plan of a private selection: what tries cost, and what each candidate would measure."""
    for remark in plan.remarks:
        out.print(escape(remark))
    out.print(
        f"A given candidate is tried at all with probability {plan.chance:.2g}. Criteria have "
        f"noise of about ±{plan.stddev:,.3g} records."
    )
    for one in plan.plans:
        out.print()
        describe_plan(one)


def describe_plan(plan: Plan) -> None:
    """A plan as a table: what is measured, at which cost, how exactly."""
    from understudy.dp.budget import decimal_up, size_in_signs

    budget = size_in_signs(plan.budget.epsilon, plan.budget.delta)
    if plan.budget.delta:
        kept = f"{plan.budget.unit} = {decimal_up(plan.budget.amount)}"
        if plan.budget.mu is not None:
            kept = f"μ-GDP, μ = {decimal_up(plan.budget.mu)}, {kept}"
        budget += f" ({kept})"
    reason = f" (chosen because {plan.reason})" if plan.reason else ""
    out.print(
        f"[bold]{plan.method}[/bold]{escape(reason)}, {budget}, "
        f"{sets_words(plan.sets, plan.sets_kind)}; neighbours: {plan.neighbours}"
    )
    out.print(escape(f"Number of rows: {plan.rows_noise}."))
    rows = _alike(plan.tables)
    once = " (once)" if plan.fits > 1 else ""
    shown = [_planned_row(row, times, once) for row, times in _alike(plan.setup)]
    shown += [_planned_row(row, times) for row, times in rows[:MOST_ROWS]]
    out.print(_planned_table(shown, (f" (of {plan.fits})" if plan.fits > 1 else "")))
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
        from understudy.inference.analysis import WIDEST

        out.print(_expected_table(plan))
        for row in plan.expected:
            if row.refused:
                _say_refused(row.analysis, row.refused)
        told = [one for one in plan.expected if one.name != "Intercept"]
        if n_wide := sum(not one.counts for one in told):
            out.print(
                f"{n_wide} of {len(told)} estimates will tell little: they are refused, or more "
                f"than {WIDEST:g} times as wide as by sampling alone."
            )
    for remark in plan.remarks:
        out.print(escape(remark), soft_wrap=True)
    out.print(
        f"Beyond the rows: about {max(plan.memory_mb, 0.1):,.1f} MB and "
        f"{max(plan.seconds, 0.01):,.2f} s. "
        "No data were read and no budget was spent."
    )


TYPICAL = "Widths are for numbers of which nine in ten lie within what the schema calls typical."
SPREADS = (
    "Where it says nothing, it depends on how much of their range numbers use. They are taken to "
    "be even between their bounds; or all, or only the outcome, or all but it, to lie in a tenth "
    "of that; or the outcome in less, where bins or decimals allow that. For quantiles by group "
    "they may also be as many in each bin, or skewed within what is typical."
)
REFUSED = "Refused: the largest chance that noise hides what the analysis rests on."


_MOST_ESTIMATES = 12
"""Estimates of an analysis that a plan shows."""


def _expected_table(plan: Plan) -> Table:
    """Tabulate how exact the answers to declared analyses will be.

    Parts of a width are shown where one number says it.
    """
    title = f"Expected 95 % half-widths, for {plan.assumed_rows:,} records"
    table = Table(title=title, box=None, pad_edge=False)
    table.add_column("analysis, estimate", overflow="fold", min_width=20)
    for heading in ("by noise", "by sampling", "together", *["refused"] * bool(plan.ranges)):
        table.add_column(heading, justify="right")
    chances = {row.analysis: row.refusal for row in plan.ranges}
    if plan.ranges:
        spreads = [] if all(row.is_sure for row in plan.ranges) else [SPREADS]
        table.caption, table.caption_justify = " ".join([TYPICAL, *spreads, REFUSED]), "left"
    for analysis, rows in groupby(plan.expected, key=lambda row: row.analysis):
        more = (_percent(chances.get(analysis, 0.0)),) if plan.ranges else ()
        told = [row for row in rows if not row.refused]
        if told:
            table.add_row(f"[bold]{escape(analysis)}[/bold]")
        for row in told[:_MOST_ESTIMATES]:
            table.add_row(*map(escape, (row.name, *planned_widths(row), *more)))
        if len(told) > _MOST_ESTIMATES:
            table.add_row(f"… and {len(told) - _MOST_ESTIMATES} more (all with --json)")
    return table


def planned_widths(row: Expected) -> tuple[str, str, str]:
    """By noise and by sampling, where one number says the width, and by both; as text."""
    from understudy.inference.analysis import half_width_text

    if row.refused:
        return "–", "–", "–"
    parts = [half_width_text(part) if row.is_sure else "–" for part in (row.noise, row.sampling)]
    return parts[0], parts[1], row.words(half_width_text)


def _percent(chance: float) -> str:
    """A chance, which is only as exact as what it assumes."""
    return "< 1 %" if chance < 0.01 else "> 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"


def _planned_table(rows: list[tuple[str, ...]], fits: str) -> Table:
    """The steps of a plan; what no step has is left out."""
    table = Table(title="Measured in one fit" + fits, box=None, pad_edge=False)
    table.add_column("measured", overflow="fold", min_width=20)
    headings = ("form", "cells", "share", "noise, 95 %", "noise mass")
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
    from understudy._arrays import Z_95

    listed, some = ", ".join(row.columns), f"{len(row.columns)} columns"
    names = f"{', '.join(row.columns[:5])} … ({some})" if len(row.columns) > 6 else listed
    is_named = row.form.counts_cells or (row.form == "line" and len(row.columns) == 1)
    form = row.form + (f" ≥ {row.threshold}" if row.threshold is not None else "") + when
    cells = f"{row.n_cells:,}" if row.n_cells < 10**9 else f"10^{math.log10(row.n_cells):.1f}"
    mass = f"{row.noise_mass:,.3g}" if row.form.has_noise_mass else "–"
    query = row.query.replace(listed, some) if len(row.columns) > 3 else row.query
    measured = names if is_named and names else query
    return (
        escape(f"{times} × {measured}" if times > 1 else measured),
        form,
        "≤ " * row.chosen + cells if row.form.has_cells else "–",
        f"{times} × {float(row.share):.2%}" if times > 1 else f"{float(row.share):.2%}",
        f"± {Z_95 * row.stddev:,.3g}" if row.form.has_noise else "–",
        mass,
    )


def describe_answer_plan(plan: AnswerPlan) -> None:
    """Show what an answer would cost and bring."""
    from understudy.dp.budget import decimal_up

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
        _say_refused(asked, why)
    out.print(
        "Rehearsed on a synthetic set, with noise of the true scale. No confidential rows were "
        "read and no budget was spent."
    )


def _say_refused(asked: str, why: str) -> None:
    out.print(f"[bold]No answer is expected[/bold] to {escape(asked)}: {escape(why)}")


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


def show_answers(answers: list[AmendedAnswer]) -> None:
    """Show what an answer brought, pooled and alone."""
    from understudy.inference.analyze import POOLED_RIGHT

    table = Table(title="Estimates ± half of the 95 % interval")
    table.add_column("analysis", overflow="fold")
    table.add_column("estimate", overflow="fold")
    for heading in ("release before", "new alone", "pooled"):
        table.add_column(heading, justify="right")
    for one in answers:
        for name in one.names[:MOST_ROWS]:
            told = (one.before, one.alone, one.pooled)
            asked = escape(one.question)
            table.add_row(asked, escape(name), *(_format_answer(part, name) for part in told))
        if not one.names:
            out.print(f"No answer to {escape(one.kind)} {escape(one.formula)}.")
            out.print(escape(one.pooled.refused), soft_wrap=True)
    out.print(table)
    out.print(POOLED_RIGHT)


def _format_answer(told: Told, name: str) -> str:
    if name not in told.intervals:
        return "–"
    from understudy.inference.analysis import half_width_text

    width = half_width_text(told.half_widths[name], 2)
    estimate = f"{told.intervals[name][0]:.4g} " * math.isfinite(told.half_widths[name])
    return f"{estimate}{width}"


def _width(width: float) -> str:
    return f"{width:.2g}" if math.isfinite(width) else "–"


def show_verdict(verdict: Verdict, *, odds: bool) -> None:
    """A verdict, and perhaps how sure it was to be."""
    for sentence in str(verdict).splitlines():
        out.print(escape(sentence), soft_wrap=True)
    if odds:
        _odds(verdict.plan)


def describe_verdict_plan(plan: VerdictPlan) -> None:
    """Show how a verdict would come about."""
    out.print(
        escape(
            f"{plan.claim}: {plan.subsets:,} random subsets of {plan.records:,} records would "
            f"vote, with noise of standard deviation {plan.noise.stddev:.3g} ({plan.noise_words}), "
            f"for {plan.epsilon}. More than {plan.band:,} votes beyond half decide."
        ),
        soft_wrap=True,
    )
    for note in plan.notes:
        out.print(escape(note), soft_wrap=True)
    _odds(plan)


def _odds(plan: VerdictPlan) -> None:
    """Stated probabilities, by how far the border is from the estimate of all rows."""
    table = Table(title="Standard errors of all rows between estimate and border")
    for heading in ("distance", "right", "undecided", "wrong"):
        table.add_column(heading, justify="right")
    for distance, odds in plan.by_distance.items():
        shown = (f"{100 * part:.1f} %" for part in (odds.right, odds.undecided, odds.wrong))
        table.add_row(f"{distance}", *shown)
    out.print(table)


def show_waves(found: Waves) -> None:
    """Changes from wave to wave, and the mean over waves."""
    from understudy.inference.waves import shown_intervals

    title = f"{found.each[0].quantity}: changes, {100 * found.level:g} % intervals"
    table = _table(title, "estimate", "waves", "change")
    for (name, first, last), row in shown_intervals(found.changes).iterrows():
        table.add_row(escape(str(name)), f"{first} → {last}", *row)
    out.print(table)
    table = _table("Mean over waves, of what did not change", "estimate", "mean")
    for name, row in shown_intervals(found.pooled).iterrows():
        table.add_row(escape(str(name)), *row)
    out.print(table)
    out.print(found.assumed)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=escape(title))
    for heading in (*headings, "lower", "upper"):
        table.add_column(heading, justify="left" if heading in ("estimate", "waves") else "right")
    return table


_NEIGHBOURS = {
    "add_remove": "one record is added or removed",
    "replace": "one record is replaced",
}


def show_new_ledger(ledger: PopulationLedger) -> None:
    """Show where a new ledger is, and what comes next."""
    out.print(f"Made the ledger {escape(ledger.place)}, with the id {ledger.id}.", soft_wrap=True)
    out.print("Next: understudy ledger population NAME, with its caps.")


def show_entry(number: int, what: str) -> None:
    """Show what was entered."""
    out.print(f"Entered as number {number}: {escape(what)}.", soft_wrap=True)


def show_void(reservation: Reservation) -> None:
    """Show what is left of a reservation that was closed."""
    from understudy.dp.budget import decimal_up

    standing = reservation.standing
    out.print(
        f"Reservation {reservation.number} is void: of {escape(reservation.cost.words)} it was "
        f"charged {decimal_up(standing.spent)}, which stays spent.",
        soft_wrap=True,
    )


def show_ledger(totals: Sequence[Totals]) -> None:
    """Show what populations have spent, and their caps."""
    if not totals:
        out.print("The ledger has no population yet; add one by understudy ledger population.")
    for one in totals:
        _population(one)


def _population(totals: Totals) -> None:
    population = totals.population
    out.print(
        f"\n[bold]{escape(population.name)}[/bold]: one row is one {escape(population.unit)}; "
        f"governed by {escape(population.governor)}; neighbours: "
        f"{_NEIGHBOURS[population.neighbours]}.",
        soft_wrap=True,
    )
    table = Table("", "spent", "reserved", "internal", box=None, pad_edge=False)
    parts = totals.spent, totals.reserved, totals.internal
    table.add_row("ε, pure", *(_number(part.pure) for part in parts))
    table.add_row("ρ of zCDP", *(_number(part.zcdp) for part in parts))
    table.add_row("μ of Gaussian DP", *(_number(part.mu) for part in parts))
    if population.caps.selection is not None:
        table.add_row("ε, selections", *(_number(part.selected) for part in parts))
        table.add_row("δ, selections", *(_number(part.delta) for part in parts))
    out.print(table)
    if totals.delta is not None:
        from understudy.dp.budget import decimal_up

        delta = decimal_up(totals.delta)
        out.print(f"Spent and reserved, at δ = {delta}: ε = {_number(totals.epsilon)}")
    waves = f"; {totals.wave} of {population.waves} waves open" if population.waves > 1 else ""
    out.print(f"Caps: {'; '.join(population.caps.words)}{waves}.", soft_wrap=True)
    if totals.open:
        out.print(f"Open reservations: {', '.join(map(str, totals.open))}.", soft_wrap=True)


def wave_opened(population: str, wave: int) -> None:
    """Show which wave was opened."""
    out.print(f"Opened wave {wave} of the population {escape(repr(population))}.")


def history(rows: Sequence[Row]) -> None:
    """Every entry on one line; charges of a reservation that follow each other are one."""
    from understudy.ledger.entries import describe_entries

    table = Table("", "UTC", "population", "entry", "", "by", box=None, pad_edge=False)
    for one in describe_entries(rows):
        shown = (one.population, one.entry, one.about, one.by)
        table.add_row(one.numbers, one.time, *(escape(text) for text in shown))
    out.print(table)


def show_faults(faults: Sequence[str], *, with_head: bool) -> None:
    """Show what is wrong, or that nothing is."""
    for fault in faults:
        out.print(escape(fault), soft_wrap=True)
    if not faults:
        out.print(
            "Every entry is as it was written, and follows from those before it."
            + ("" if with_head else " Give --head to tell whether it was put back or written anew.")
        )


def key_made(path: Path, public: str) -> None:
    """Show where a private key is, and the public one."""
    out.print(
        f"Wrote the private key to {escape(str(path))}; keep it away from the ledger, and tell "
        f"others the public key:\n{public}",
        soft_wrap=True,
    )


def _number(amount: Fraction | None) -> str:
    from understudy.dp.budget import decimal_up

    return "–" if amount is None else decimal_up(amount)


_MOST_NAMED = 4  # columns or pairs of them, in a cell


def show_release(release: Release, folder: Path) -> None:
    """Show where a release is, what it promises, and how to look at it."""
    manifest = release.manifest
    out.print(
        f"\n[bold]Release written to {escape(str(folder))}/[/bold]: {manifest.sets} synthetic "
        f"{'sets' if manifest.sets > 1 else 'set'} of {manifest.n_rows:,} rows and "
        f"{len(release.schema.declared)} columns, by the method {escape(manifest.method)}"
        f"{f' (chosen because {escape(manifest.reason)})' if manifest.reason else ''}."
    )
    if manifest.n_rows == 0:
        out.print(f"Number of rows: {escape(manifest.rows_told)}.")
    if manifest.ended_early:
        out.print(
            "The rounds of the method were ended early: less than the budget was spent, and the "
            "guarantee holds as stated."
        )
    if manifest.contradiction:
        out.print(escape(manifest.contradiction))
    if manifest.minimum_count is not None:
        out.print(escape(manifest.minimum_count.told))
    out.print(escape(release.guarantee.statement))
    if words := release.schema.unsaid_words:
        out.print(escape(words), soft_wrap=True)
    report = (folder / "report.html").resolve()
    out.print(f"\nOpen the report in a browser: {escape(str(report))}", soft_wrap=True)
    out.print(
        f"Look at it again here:        understudy show {escape(str(folder))}", soft_wrap=True
    )


def show_sample(note: str, n: int, file: Path) -> None:
    """Show where more records are, and what they are."""
    records = "record" if n == 1 else "records"
    out.print(f"{n:,} {records} written to {escape(str(file))}. {escape(note)}", soft_wrap=True)


def to_be_checked(data: str, schema: Path, members: Path | None = None) -> None:
    """Show how to see whether the data fit, which no release says."""
    more = [] if members is None else ["--members", str(members)]
    command = shlex.join(["understudy", "schema", "check", data, str(schema), *more])
    out.print(
        f"Whether the data fit the schema is confidential, so no release says it; look by: "
        f"{escape(command)}",
        soft_wrap=True,
    )


def show_diagnostic(internal: Internal[Diagnostic]) -> None:
    """Show what the steward alone may know; on the error stream, so that no output holds it."""
    from understudy.dp.confidential import Misfits, Mismatch
    from understudy.papers.generator_scores import Travelled
    from understudy.papers.record_weights import FittedPosterior

    diagnostic, said = internal.value, ""
    if isinstance(diagnostic, Misfits):
        said = _describe_misfits(diagnostic.columns, no_rows=diagnostic.no_rows)
    elif isinstance(diagnostic, Mismatch):
        said = (
            f"the rows do not have the exact totals that the schema declares of "
            f"{', '.join(diagnostic.levels)}. Correct the public file or the data; making the "
            "release again because of this is not covered by ε."
        )
    elif isinstance(diagnostic, Travelled):
        said = _describe_walk(diagnostic)
    elif isinstance(diagnostic, FittedPosterior):
        said = _describe_weights(diagnostic)
    Screen(stderr=True, highlight=False).print(f"INTERNAL, not for release: {escape(said)}")


def _describe_misfits(columns: Iterable[tuple[str, str]], *, no_rows: bool) -> str:
    """Describe what hardly fits, column by column."""
    said = [f"column {name!r}: {words}" for name, words in columns]
    said += ["the data have no rows"] if no_rows else []
    return (
        f"{'; '.join(said)}. `understudy schema check` says why. Making the release again because "
        "of this is not covered by ε."
    )


def _describe_walk(travelled: Travelled) -> str:
    """Describe how a walk went."""
    return (
        f"the walk took {travelled.accepted:.0%} of its steps. From 20 to 50 % it moves well; but "
        "a width chosen by this figure depends on the rows."
    )


def _describe_weights(fitted: FittedPosterior) -> str:
    """Describe how records were weighted, and what bound came of it."""
    import numpy as np

    from understudy.dp.guarantee import nominal_epsilon

    weights, before, after = fitted.weights, fitted.before, fitted.after.bound
    if not len(weights):
        return "no record fits the schema, so that the parameters come from the prior."
    low, middle, high = np.quantile(weights, (0, 0.5, 1))
    plain = "" if before is None else f", and {before.bound:.4g} without weights"
    return (
        f"{len(weights):,} records weigh from {low:.3g} to {high:.3g}, half of them {middle:.3g} "
        f"or less. Their Lipschitz bound is {after:.4g} under these weights{plain}: an ε of "
        f"{nominal_epsilon(after):.4g} a set as the source counts, which is no guarantee."
    )


def show_draft(path: Path) -> None:
    """Show what to do with a drafted schema."""
    out.print(
        f"Draft written to {escape(str(path))}. It is [bold]CONFIDENTIAL[/bold]: what its lines "
        "`drafted` name was read from the rows, and its first lines say what is left out. Next: "
        f"understudy schema review {escape(shlex.quote(str(path)))}. It asks column by column: "
        "replace each entry by what is publicly known, or name the source that confirms it. "
        "What is left as drafted makes the guarantee conditional.",
    )


def show_unit_keys(names: Sequence[str]) -> None:
    """Show which columns may name units of several rows, to whoever sits at the terminal."""
    for name in names:
        key = escape(repr(name))
        out.print(
            f"Rows with the same value of column {key} stand together, a few each. If it names "
            "units, such as the households of persons, the promise must be about units: declare "
            "them and their rows as two tables, \\[tables.household] and \\[tables.person] with "
            f"of, key = {key} and rows_per_unit. A draft with --key {escape(shlex.quote(name))} "
            "proposes both; docs/how-to/households.md shows how.",
            soft_wrap=True,
        )


def from_codebook(path: Path, book: Codebook) -> None:
    """Show what became of a codebook, and what is still to be done."""
    asked = [name for name, one in book.asked.items() if not one.in_words]
    out.print(
        f"Schema written to {escape(str(path))}: {len(book.columns)} of {len(book.order)} "
        f"variables are complete, {len(asked)} lack an entry, {len(book.told)} are left out; its "
        "heading names them. It holds nothing read from rows. Look through it, and set "
        "reviewed = true.",
    )


def show_check(lines: list[str], *, ok: bool, counts: bool, examples: bool) -> None:
    """The findings of a check, one line each, and how to see more of them.

    Args:
        lines: the findings and notes.
        ok: whether everything fits.
        counts: whether they say how many rows are concerned.
        examples: whether they show values.
    """
    told = [word for word, said in (("numbers of rows", counts), ("values", examples)) if said]
    if lines and told:
        out.print(f"CONFIDENTIAL: {' and '.join(told)} below were read from the rows.")
    for line in lines:
        out.print(escape(line), soft_wrap=True)
    if lines and not (counts and examples):
        more = [
            *(["--counts how many rows"] if not counts else []),
            *(["--examples which values"] if not examples else []),
        ]
        out.print(f"Add {' and '.join(more)}; both are CONFIDENTIAL.", soft_wrap=True)
    if ok:
        out.print("Every column fits the schema.")


def show_analysis(analysis: Analysis) -> None:
    """Estimates with their errors, and what these rest on."""
    out.print(escape(analysis.title), style="" if analysis.valid else "bold", soft_wrap=True)
    table = Table(box=None, pad_edge=False)  # names of quantities need the room
    for heading in ("", *analysis.headings):
        table.add_column(
            escape(heading),
            justify="right" if heading else "left",
            overflow="fold",
            no_wrap=bool(heading),
        )
    for row in analysis.rows():
        table.add_row(*map(escape, row))
    out.print(table)
    for note in (analysis.legend, *analysis.notes):
        out.print(escape(note), soft_wrap=True)


def show_regression(found: RegressionRelease, folder: Path | None, *, quiet: bool) -> None:
    """A regression, what was promised for it, and where its release is."""
    if found.analysis is not None:
        show_analysis(found.analysis)
    if folder is None:
        out.print(f"\n{escape(found.guarantee.statement)}")
        out.print("What it was answered from was not kept; --out keeps it for more questions.")
    elif not quiet:
        show_release(found.release, folder)


def coefficients(found: PrivateRegression) -> None:
    """A regression by a published mechanism: coefficients alone, and the promise."""
    mechanism = escape(found.mechanism)
    out.print(f"ols of {escape(found.formula)} by the {mechanism}, without standard errors.")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for name, value in found.coefficients.items():
        table.add_row(escape(name), f"{value:,.6g}")
    out.print(table)
    if found.repaired:
        out.print(f"The noisy matrix was not positive definite; it was repaired by {found.repair}.")
    out.print(f"\n{escape(found.guarantee.statement)}")


def show_results(results: Sequence[DeclaredResult], page: Path | None) -> None:
    """All declared analyses one after the other, and where the page is."""
    if not results:
        out.print("No analyses were declared when this release was made.")
    for result in results:
        asked = f", asked for by {result.asked_by}" if result.asked_by else ""
        out.print(f"\n[bold]{escape(result.question + asked)}[/bold]", soft_wrap=True)
        if result.answer is None:
            out.print(escape(result.refused), soft_wrap=True)
        else:
            show_analysis(result.answer)
        if result.plans:
            out.print(_beside_plan(result))
    if page is not None:
        out.print(f"Results page: {escape(str(page.resolve()))}", soft_wrap=True)


def _beside_plan(result: DeclaredResult) -> Table:
    """Half-widths of intervals, and those of the plan."""
    from understudy.inference.analysis import half_width_text

    halves = result.half_widths
    table = Table(title=f"Half-widths, and those planned for {escape(result.planned_for)}")
    table.add_column("estimate", overflow="fold")
    for heading in ("realised", "planned", "by noise", "by sampling"):
        table.add_column(heading, justify="right")
    for name, plan in result.plans.items():
        noise, sampling, planned = planned_widths(plan)
        realised = half_width_text(halves[name]) if name in halves else "–"
        table.add_row(escape(name), realised, planned, noise, sampling)
    return table


def release(loaded: Release) -> None:
    """Show what a release promises and holds."""
    from understudy.dp.budget import SIGNS

    manifest, promise = loaded.manifest, loaded.guarantee
    out.print(f"[bold]{escape(loaded.schema.heading)}[/bold]")
    out.print(
        f"{sets_words(manifest.sets, manifest.sets_kind)} of {manifest.n_rows:,} rows × "
        f"{len(loaded.schema.declared)} columns; method {escape(manifest.method)}; number of rows "
        f"{escape(manifest.rows_told)}"
    )
    if manifest.contradiction:
        out.print(escape(manifest.contradiction))
    if manifest.minimum_count is not None:
        out.print(escape(manifest.minimum_count.told))
    out.print(f"\n{escape(promise.statement)}\n")
    if (form := loaded.schema.members) is not None:
        out.print(f"{escape(form.told)} Both are in linked/.\n", soft_wrap=True)
    if loaded.schema.unit.told:
        out.print(f"{escape(loaded.schema.unit.told)}\n", soft_wrap=True)
    if loaded.signed_by:
        out.print(f"Signed by the public key {loaded.signed_by}\n", soft_wrap=True)
    if loaded.not_compared:
        out.print(
            f"Rendered by another version and not compared: {', '.join(loaded.not_compared)}. The "
            "promise above is that of the manifest; what else they say is the publisher's word.\n"
        )
    ledger = Table(title="Ledger: every step that touched the rows")
    for heading in ("step", "mechanism", "asked", "cost", "noise"):
        ledger.add_column(heading, overflow="fold")
    for entry in manifest.ledger[:MOST_ROWS]:
        unit = next(name for name in SIGNS if name in entry)
        cost = f"{SIGNS[unit]} = {entry[unit] or '∞'}"
        ledger.add_row(
            str(entry["number"]),
            escape(entry["mechanism"]),
            escape(entry["query"]),
            cost,
            escape(entry["noise"]),
        )
    out.print(ledger)
    if len(manifest.ledger) > MOST_ROWS:
        out.print(f"… and {len(manifest.ledger) - MOST_ROWS} more steps (all with --json).")
    out.print(answers_table(loaded))
    doubtful = [public for public in promise.public_inputs if public.note]
    for public in doubtful:
        out.print(escape(f"Doubtful public input: {public.what}: {public.note}"))


def answers_table(loaded: Release) -> Table:
    """Tabulate which questions are answered with error bars, and how exactly."""
    from understudy.inference.answered_questions import answered_kinds, assumed_words

    caption = assumed_words(loaded.schema)
    table = Table(title="What it answers with error bars", caption=caption, caption_justify="left")
    for heading in ("question", "answered for", "expected half-width"):
        table.add_column(heading, overflow="fold")
    for asked in answered_kinds(loaded):
        line, n = asked.kind, len(asked.answered)
        part = "" if asked.is_complete else f" that were asked about, of {line.possible:,}"
        of = line.possible if asked.is_complete else asked.asked
        many = f"{n:,} of {of:,} {line.what}{part}" if n else "–"
        lost = f", {len(line.found.lost):,} lost in the noise" if line.found.lost else ""
        wide = f", {len(asked.wide):,} too wide to count" if asked.wide else ""
        refused = f", {len(asked.refused):,} refused" if asked.refused else ""
        names = [f"{one.kind} {one.formula}" for one in list(asked.answered.values())[:_MOST_NAMED]]
        more = " …" if n > _MOST_NAMED else ""
        listed = f"\n{escape(', '.join(names) + more)}" if names else ""
        shown = f"{many}{lost}{wide}{refused}{listed}"
        table.add_row(escape(line.question), shown, escape((line.width if n else "") or "–"))
    return table


def show_end(how: str, what: str) -> None:
    """Show how a run ended that somebody ended, and what is left of it."""
    Screen(stderr=True, highlight=False).print(escape(f"{how}; {what}"), soft_wrap=True)


def methods(rows: tuple[Facts, ...]) -> None:
    """The methods, a few lines each."""
    for facts in rows:
        out.print(f"[bold]{facts.name}[/bold]: {escape(facts.title)}")
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(width=13, justify="right", style="dim")
        table.add_column(overflow="fold")
        for heading in ("guarantee", "data", "cost", "paper"):
            table.add_row(heading, escape(getattr(facts, heading)))
        out.print(table)


def method(facts: Facts, options: Sequence[Option]) -> None:
    """One method, and what each of its options means."""
    methods((facts,))
    table = Table(box=None, pad_edge=False, title="Options, as -o NAME=VALUE", title_justify="left")
    for heading in ("option", "value", "default", "meaning"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "option")
    for option in options:
        default = "" if option.default is None else _plain(option.default)
        table.add_row(option.name, *map(escape, (option.type, default, option.meaning)))
    out.print(table)


def _plain(value: object) -> str:
    """A default as it would be given."""
    if isinstance(value, list | tuple | dict):
        return ",".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).lower() if isinstance(value, bool) else str(value)
