"""Evaluations, the disclosure risk and R-U maps as people see them in a terminal.

Audits as people see them in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.console import escape, out
from understudy.evaluate.attack_setup import Risk, Risks
from understudy.evaluate.evaluate import LOSSES
from understudy.evaluate.scores import Evaluation, Metric
from understudy.evaluate.tradeoff import LEAK, PUBLIC, RISKS, Interval, Tradeoff
from understudy.report.text import distance, figure, percent

if TYPE_CHECKING:
    from understudy.evaluate.audit import Verdict


_MOST_NAMES = 8
_INTERVAL = 9  # characters of one end of an interval
_WIDE = 110  # characters in which names and intervals fit on their lines
_COLOURS = {"high": "bold red", "raised": "red", "near the control": "green", "unknown": "dim"}


def show_evaluation(evaluation: Evaluation, page: Path | None) -> None:
    """The scores of an evaluation, each beside what a fresh sample would have."""
    out.print(
        "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
        f"{evaluation.sets} {'sets' if evaluation.sets > 1 else 'set'} of "
        f"{evaluation.n_synthetic:,} rows by the method {escape(evaluation.method)}, "
        f"beside {evaluation.n_original:,} original rows.",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("score", overflow="fold")
    for heading in ("value", "± sets", "fresh", "ratio", "sd off"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in evaluation.scores:
        table.add_row(*map(escape, _score_row(score)))
    out.print(table)
    out.print(
        "↓ lower is better, ↑ higher, → 1 near 1. What each score is: on the internal page, with "
        "--json, and in docs/evidence/utility.md. fresh: what a second sample of the same "
        "population would score (for prediction: a model trained on the original); sd off: "
        "distance from that in standard deviations of chance, ± 2 is within it."
    )
    for line in _not_kept(evaluation):
        out.print(escape(line), soft_wrap=True)
    if evaluation.median_width is not None:
        out.print(
            f"Intervals of the release are {evaluation.median_width:.2f} times as wide as textbook "
            "ones from the rows (median; all of them on the internal page)."
        )
    for group in (subgroup for subgroup in evaluation.subgroups if subgroup.small):
        out.print(escape(f"Small group: {group.column} = {group.label}, {group.rows} rows."))
    for warning in evaluation.warnings:
        out.print(escape(f"Note: {warning}"), soft_wrap=True)
    if page is not None:
        out.print(f"Internal page: {escape(str(page.resolve()))}", soft_wrap=True)


def _not_kept(evaluation: Evaluation) -> Iterator[str]:
    """Numbers, correlations and relations that are lost, the worst first."""
    numbers = [f"{one.column} ({', '.join(one.lost)})" for one in evaluation.numbers if one.lost]
    pairs = [
        f"{' × '.join(one.columns)} ({one.original:.2f} → {one.synthetic:.2f})"
        for one in evaluation.correlations
        if one.kept < 1
    ]
    relations = [
        f"{one.relation} ({percent(one.broken)} of the records)"
        for one in evaluation.relations
        if one.broken
    ]
    for what, names in (
        ("Numbers that are not kept", numbers),
        ("Correlations that are not kept", pairs),
        ("Relations that are broken", relations),
    ):
        if names:
            yield f"{what}: {_list_names(tuple(names))}."


def _score_row(score: Metric) -> tuple[str, ...]:
    return (
        f"{score.name} {score.better.arrow}",
        f"{score.value:.3g}",
        "" if score.spread is None else f"{score.spread:.2g}",
        "" if score.null is None else f"{score.null:.3g}",
        "" if score.ratio is None else f"{score.ratio:.2f}",
        "" if score.standardised is None else f"{score.standardised:+.1f}",
    )


def show_risks(assessment: Risks, page: Path | None) -> None:
    """The figures of all attacks, with a stamp, and where the page is."""
    out.print(
        "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
        f"{assessment.sets} {'sets' if assessment.sets > 1 else 'set'} of "
        f"{assessment.n_synthetic:,} rows by the method {escape(assessment.method)}, "
        f"attacked with {assessment.n_original:,} original rows"
        f"{f' and {assessment.n_control:,} of a control' if assessment.n_control else ''}.",
        soft_wrap=True,
    )
    risk_table(assessment)
    if page is not None:
        out.print(f"Internal page: {escape(str(page.resolve()))}", soft_wrap=True)


def risk_table(assessment: Risks) -> None:
    """The figures of all attacks, what they mean, and what is doubtful."""
    known, wanted = (escape(_list_names(names)) for names in (assessment.keys, assessment.secrets))
    out.print(f"The intruder knows {known}, and wants to know {wanted}.", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("attack")
    # Narrow terminals break names and intervals into lines, never numbers and levels, nor words.
    most = _INTERVAL if out.width < _WIDE else None
    for heading in ("members", "control", "advantage"):
        table.add_column(heading, justify="right", min_width=_INTERVAL, max_width=most)
    table.add_column("guess", justify="right", no_wrap=True)
    table.add_column("level", no_wrap=True)
    attack = ""
    for risk in assessment.risks:
        if risk.attack != attack:
            attack = risk.attack
            table.add_row(f"[bold]{escape(attack)}[/bold]")
        table.add_row(*_row(risk))
    out.print(table)
    out.print(
        "95 % intervals in brackets. advantage: how much better the attack does on members than on "
        "people outside the table; high if its interval lies above a fifth of what was left to "
        "gain, raised if above 0. ↓ low is dangerous. Guess: without knowing anything of the "
        "target."
    )
    for names, warning in _warnings(assessment.risks):
        out.print(escape(f"Note: {names}: {warning}"), soft_wrap=True)
    for warning in assessment.warnings:
        out.print(escape(f"Note: {warning}"), soft_wrap=True)


def _row(risk: Risk) -> tuple[str, ...]:
    name = f"  {risk.measure}{'' if risk.perfect else ' ↓'}"
    level = f"[{_COLOURS[risk.level]}]{risk.level}[/{_COLOURS[risk.level]}]"
    return (
        escape(name),
        _with_interval(risk.value, risk.interval),
        _with_interval(risk.control, risk.control_interval),
        _with_interval(risk.advantage, risk.advantage_interval),
        "–" if risk.guess is None else _short(risk.guess),
        level,
    )


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None or interval is None:
        return "–"
    return f"{_short(value)} ({_short(interval[0])}, {_short(interval[1])})"


def _short(value: float) -> str:
    """Three places, or three digits of what is large."""
    return figure(value) if abs(value) >= 10 else distance(value).replace("-", "−")


def _warnings(risks: tuple[Risk, ...]) -> list[tuple[str, str]]:
    """Warnings, each with the figures that it holds for."""
    by_warning: dict[str, list[str]] = {}
    for risk in risks:
        if risk.warning:
            by_warning.setdefault(risk.warning, []).append(f"{risk.attack}, {risk.measure}")
    return [("; ".join(names), warning) for warning, names in by_warning.items()]


def _list_names(names: tuple[str, ...]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def show_tradeoff(tradeoff: Tradeoff, page: Path | None) -> None:
    """All figures of a map under its stamp, and where the page is."""
    if tradeoff.public:
        out.print(escape(PUBLIC), soft_wrap=True)
    else:
        out.print(
            "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
            f"{escape(LEAK)}",
            soft_wrap=True,
        )
    out.print(_table(tradeoff))
    measured = RISKS[tradeoff.risk].scale if RISKS[tradeoff.risk].measure else "ε itself"
    out.print(escape(f"Risk: {measured}."), soft_wrap=True)
    for name in tradeoff.utility:
        out.print(escape(f"{name}: {LOSSES[name].scale}; lower is better."), soft_wrap=True)
    out.print(f"Means of {tradeoff.repetitions} releases ± half of the 95 % Monte Carlo interval.")
    for point in tradeoff.refused:
        budget = f" at ε = {point.epsilon}" if point.epsilon else ""
        out.print(escape(f"Refused: {point.method}{budget}: {point.refused}"), soft_wrap=True)
    if page is not None:
        out.print(f"Page: {escape(str(page.resolve()))}", soft_wrap=True)


def _table(tradeoff: Tradeoff) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("method", overflow="fold")
    measured = [tradeoff.risk] if RISKS[tradeoff.risk].measure else []
    for heading in ("ε", *measured, *tradeoff.utility):
        table.add_column(heading, justify="right")
    for point in tradeoff.points:
        if point.refused:
            cells = ["refused"]
        else:
            cells = [_cell(point.risk)] if point.risk else []
            cells += [_cell(point.utility[name]) for name in tradeoff.utility]
        table.add_row(escape(point.method), point.epsilon or "none", *cells)
    return table


def _cell(interval: Interval) -> str:
    return figure(interval.mean) + (
        "" if interval.half is None else f" ± {figure(interval.half, 2)}"
    )


def show_audit(verdicts: Sequence[Verdict]) -> None:
    """Show what each line promises, and what its releases showed."""
    table = Table(title="What releases cost at least, by events learned from them")
    for heading in ("", "promised", "shown", "could show", "releases"):
        table.add_column(heading, justify="left" if not heading else "right")
    for verdict in verdicts:
        unit = "μ" if verdict.stated.unit == "mu" else "ε"
        table.add_row(
            escape(str(verdict.line)) + (" (worst case)" if verdict.line.worst else ""),
            f"{unit} {verdict.stated.value:.3g}",
            f"{verdict.shown.bound:.3g}" + (" ALARM" if verdict.alarm else ""),
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
