"""Evaluations, the disclosure risk and R-U maps as people see them in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from understudy.cli.terminal import escape, out
from understudy.evaluation.evaluation_results import Evaluation, Score
from understudy.evaluation.risk.risk_results import Risk, Risks
from understudy.evaluation.utility.losses import LOSSES
from understudy.report.number_text import distance, figure
from understudy.risk_utility.map_results import LEAK, PUBLIC, Interval, Tradeoff
from understudy.risk_utility.risk_axis import RISKS

_MOST_NAMES = 8
_INTERVAL = 9  # characters of one end of an interval
_WIDE = 110  # characters in which names and intervals fit on their lines
_COLOURS = {"high": "bold red", "raised": "red", "near the control": "green", "unknown": "dim"}


def evaluated(found: Evaluation, page: Path | None) -> None:
    """The scores of an evaluation, each beside what a fresh sample would have."""
    out.print(
        "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
        f"{found.sets} {'sets' if found.sets > 1 else 'set'} of {found.n_synthetic:,} rows by the "
        f"method {escape(found.method)}, beside {found.n_original:,} original rows.",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("score", overflow="fold")
    for heading in ("value", "± sets", "fresh", "ratio", "sd off"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in found.scores:
        table.add_row(*map(escape, _score_row(score)))
    out.print(table)
    out.print(
        "↓ lower is better, ↑ higher, → 1 near 1. What each score is: on the internal page, with "
        "--json, and in docs/utility.md. fresh: what a second sample of the same population would "
        "score (for prediction: a model trained on the original); sd off: distance from that in "
        "standard deviations of chance, ± 2 is within it."
    )
    for group in (one for one in found.subgroups if one.small):
        out.print(escape(f"Small group: {group.column} = {group.label}, {group.rows} rows."))
    for warning in found.warnings:
        out.print(escape(f"Note: {warning}"), soft_wrap=True)
    if page is not None:
        out.print(f"Internal page: {escape(str(page.resolve()))}", soft_wrap=True)


def _score_row(score: Score) -> tuple[str, ...]:
    return (
        f"{score.name} {score.better.arrow}",
        f"{score.value:.3g}",
        "" if score.spread is None else f"{score.spread:.2g}",
        "" if score.null is None else f"{score.null:.3g}",
        "" if score.ratio is None else f"{score.ratio:.2f}",
        "" if score.standardised is None else f"{score.standardised:+.1f}",
    )


def attacked(found: Risks, page: Path | None) -> None:
    """The figures of all attacks, with a stamp, and where the page is."""
    out.print(
        "[bold red]INTERNAL: compares with confidential data, not for release.[/bold red]\n"
        f"{found.sets} {'sets' if found.sets > 1 else 'set'} of {found.n_synthetic:,} rows by the "
        f"method {escape(found.method)}, attacked with {found.n_original:,} original rows"
        f"{f' and {found.n_control:,} of a control' if found.n_control else ''}.",
        soft_wrap=True,
    )
    risk_table(found)
    if page is not None:
        out.print(f"Internal page: {escape(str(page.resolve()))}", soft_wrap=True)


def risk_table(found: Risks) -> None:
    """The figures of all attacks, what they mean, and what is doubtful."""
    known, wanted = (escape(_named(names)) for names in (found.keys, found.secrets))
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
    for one in found.risks:
        if one.attack != attack:
            attack = one.attack
            table.add_row(f"[bold]{escape(attack)}[/bold]")
        table.add_row(*_row(one))
    out.print(table)
    out.print(
        "95 % intervals in brackets. advantage: how much better the attack does on members than on "
        "people outside the table; high if its interval lies above a fifth of what was left to "
        "gain, raised if above 0. ↓ low is dangerous. Guess: without knowing anything of the "
        "target."
    )
    for names, warning in _warnings(found.risks):
        out.print(escape(f"Note: {names}: {warning}"), soft_wrap=True)
    for warning in found.warnings:
        out.print(escape(f"Note: {warning}"), soft_wrap=True)


def _row(one: Risk) -> tuple[str, ...]:
    name = f"  {one.measure}{'' if one.perfect else ' ↓'}"
    level = f"[{_COLOURS[one.level]}]{one.level}[/{_COLOURS[one.level]}]"
    return (
        escape(name),
        _with_interval(one.value, one.interval),
        _with_interval(one.control, one.control_interval),
        _with_interval(one.advantage, one.advantage_interval),
        "–" if one.guess is None else _short(one.guess),
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
    found: dict[str, list[str]] = {}
    for one in risks:
        if one.warning:
            found.setdefault(one.warning, []).append(f"{one.attack}, {one.measure}")
    return [("; ".join(names), warning) for warning, names in found.items()]


def _named(names: tuple[str, ...]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


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
