"""Commands that compare a release with the rows: INTERNAL, their results are not for release.

**The command that draws R-U maps: INTERNAL unless the rows are public.**

**The command that audits methods: what their releases show, against what they promise.**

**Evaluations, the disclosure risk and R-U maps as people see them in a terminal.**

**Audits as people see them in a terminal.**
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import understudy as us
from understudy.cli import console
from understudy.cli.app import (
    SQL,
    Data,
    Delta,
    Json,
    LedgerUrl,
    Quiet,
    TableName,
    app,
    given_table,
    internal_place,
    listed,
    method_options,
    print_json,
    require_new_file,
    write_text,
)
from understudy.cli.console import escape, out
from understudy.errors import MethodError
from understudy.evaluate.attack_setup import Risk, Risks
from understudy.evaluate.evaluate import LOSSES
from understudy.evaluate.scores import Evaluation, Score
from understudy.evaluate.tradeoff import LEAK, PUBLIC, Interval, Tradeoff
from understudy.evaluate.tradeoff_axes import RISKS
from understudy.report.text import distance, figure, percent

if TYPE_CHECKING:
    from understudy.evaluate.audit import Verdict
    from understudy.schema import Schema
    from understudy.workflow.gates import Progress


Control = Annotated[
    Path | None, typer.Option(help="Rows of people outside the table, held out before synthesis.")
]
Keys = Annotated[
    list[str] | None,
    typer.Option(help="Columns that an intruder knows, as age,sex; all but the secrets if none."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Where the internal page (HTML) goes; its name gets .internal before its ending if "
        "it does not say so.",
    ),
]
Secrets = Annotated[
    list[str] | None, typer.Option(help="Columns that an intruder wants to know, as income.")
]


@app.command()
def evaluate(
    data: Data,
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Page = None,
    by: Annotated[str | None, typer.Option(help="Column whose groups are scored.")] = None,
    target: Annotated[str | None, typer.Option(help="Column that is predicted.")] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", "-f", help="Regression to compare; may be repeated."),
    ] = None,
    control: Control = None,
    keys: Keys = None,
    secrets: Secrets = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    ledger: LedgerUrl = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the original rows. INTERNAL: the result is not for release."""
    from understudy.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with console.progress(quiet=quiet or as_json) as tell:
        evaluation = us.evaluate(
            given_table(data, query, table),
            loaded,
            formulas=formula,
            by=by,
            target=target,
            control=control,
            keys=listed(keys, loaded.schema.names),
            secrets=listed(secrets, loaded.schema.names),
            seed=seed,
            ledger=ledger,
            progress=tell,
        ).value
    if place is not None:
        from understudy.evaluate.report_page import internal_page

        write_text(place, internal_page(evaluation))
    if as_json:
        print_json(evaluation.to_json())
    elif not quiet:
        evaluated(evaluation, place)
        if evaluation.risks is not None:
            risk_table(evaluation.risks)


@app.command()
def risk(
    data: Data,
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Page = None,
    control: Control = None,
    keys: Keys = None,
    secrets: Secrets = None,
    targets: Annotated[int, typer.Option(help="Most targets, and most controls.", min=1)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    ledger: LedgerUrl = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a release: what does it disclose? INTERNAL: the result is not for release."""
    from understudy.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with console.progress(quiet=quiet or as_json) as tell:
        risks = us.risk(
            given_table(data, query, table),
            loaded,
            control=control,
            keys=listed(keys, loaded.schema.names),
            secrets=listed(secrets, loaded.schema.names),
            targets=targets,
            seed=seed,
            ledger=ledger,
            progress=tell,
        ).value
    if place is not None:
        from understudy.evaluate.report_page import risk_page

        write_text(place, risk_page(risks))
    if as_json:
        print_json(risks.to_json())
    elif not quiet:
        attacked(risks, place)


_Data = Annotated[
    Path | None,
    typer.Argument(help="CSV or Parquet (file or folder); the public demo survey if none."),
]
_SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Reviewed schema (TOML).")]
_Methods = Annotated[str, typer.Option(help="Methods, as laplace,marginals.")]
_Epsilons = Annotated[str, typer.Option(help="Budgets, as 0.1,1,10.")]
_Repetitions = Annotated[int, typer.Option(help="Releases at each point.", min=1)]
_Risk = Annotated[str, typer.Option(help="Axis of risk: epsilon, attribute or membership.")]
_Utility = Annotated[
    str, typer.Option(help="Losses: one-way, two-way, conditional, specks, intervals.")
]
_Keys = Annotated[
    list[str] | None,
    typer.Option(help="For attribute: what an intruder knows; all but the secrets if none."),
]
_Secrets = Annotated[list[str] | None, typer.Option(help="For attribute: what he wants to know.")]
_Holdout = Annotated[
    float, typer.Option(help="Share of the rows that is held out for a measured risk.")
]
_Option = Annotated[
    list[str] | None, typer.Option("--option", help="Option of a method, method.name=value.")
]
_Public = Annotated[bool, typer.Option("--public", help="The rows are public or simulated.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Where the page (HTML) goes; an internal one gets .internal before its ending if its "
        "name does not say so.",
    ),
]
_Seed = Annotated[int, typer.Option(help="Everything random follows from it.", min=0)]
_Jobs = Annotated[
    int | None, typer.Option(help="Number of processes; by default one per processor.", min=1)
]


@app.command()
def tradeoff(
    data: _Data = None,
    schema: _SchemaFile = None,
    methods: _Methods = "marginals,mst,privbayes,independent",
    epsilons: _Epsilons = "0.1,0.3,1,3,10",
    delta: Delta = "0",
    repetitions: _Repetitions = 5,
    risk: _Risk = "epsilon",
    utility: _Utility = "one-way,two-way,specks",
    keys: _Keys = None,
    secrets: _Secrets = None,
    holdout: _Holdout = 0.2,
    option: _Option = None,
    public: _Public = False,
    out: _Out = None,
    seed: _Seed = 0,
    jobs: _Jobs = None,
    ledger: LedgerUrl = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw risk against utility for methods and budgets. INTERNAL, unless the rows are public.

    Choosing ε or a method by a map of confidential rows is a leak outside ε: draw it on public or
    simulated rows of the same schema, such as a release of last year.
    """
    from understudy.demo import demo_schema
    from understudy.schema import Schema

    if (data is None) != (schema is None):
        raise MethodError("A map of your own rows needs both DATA and --schema.")
    public = public or data is None
    place = _place(out, public=public)
    declared = demo_schema() if schema is None else Schema.load(schema)
    asked: dict[str, Any] = {
        "methods": _parts(methods),
        "epsilons": _parts(epsilons),
        "delta": delta,
        "repetitions": repetitions,
        "risk": risk,
        "utility": _parts(utility),
        "keys": listed(keys, declared.names),
        "secrets": listed(secrets, declared.names),
        "holdout": holdout,
        "options": _by_method(option),
        "seed": seed,
    }
    with console.progress(quiet=quiet or as_json) as tell:
        tradeoff = _map(
            data, declared, asked, public=public, workers=jobs, ledger=ledger, progress=tell
        )
    _show(tradeoff, place, as_json=as_json, quiet=quiet)


def _place(out: Path | None, *, public: bool) -> Path | None:
    """Where the page goes; a file that is there already is refused."""
    if out is None or not public:
        return None if out is None else internal_place(out)
    require_new_file(out)
    return out


def _map(
    data: Path | None,
    schema: Schema,
    asked: dict[str, Any],
    *,
    public: bool,
    workers: int | None,
    ledger: str | None,
    progress: Progress,
) -> Tradeoff:
    from understudy._parallel import processors
    from understudy.demo import demo_data
    from understudy.dp.confidential import Internal
    from understudy.evaluate import tradeoff as tradeoff_module

    tradeoff_module.Design.of(schema, **asked)  # before the demo is loaded
    made = tradeoff_module.tradeoff(
        demo_data() if data is None else data,
        schema,
        public=public,  # type: ignore[call-overload]  # known when it is run
        workers=workers or processors(),
        ledger=ledger,
        progress=progress,
        **asked,
    )
    tradeoff: Tradeoff = made.value if isinstance(made, Internal) else made
    return tradeoff


def _show(tradeoff: Tradeoff, place: Path | None, *, as_json: bool, quiet: bool) -> None:
    from understudy.evaluate.tradeoff_page import page

    if place is not None:
        write_text(place, page(tradeoff))
    if as_json:
        print_json(tradeoff.to_json())
    elif not quiet:
        drawn(tradeoff, place)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _by_method(pairs: list[str] | None) -> dict[str, dict[str, str]]:
    """Options by method: "method.name=value" for each."""
    options: dict[str, dict[str, str]] = {}
    for full, value in method_options(pairs).items():
        method, dot, name = full.partition(".")
        if not dot:
            raise MethodError(
                f"--option {full!r} must name the method too: method.name=value, such as "
                "laplace.form=filtered."
            )
        options.setdefault(method, {})[name] = value
    return options


_MOST_NAMES = 8
_INTERVAL = 9  # characters of one end of an interval
_WIDE = 110  # characters in which names and intervals fit on their lines
_COLOURS = {"high": "bold red", "raised": "red", "near the control": "green", "unknown": "dim"}


def evaluated(evaluation: Evaluation, page: Path | None) -> None:
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
        "--json, and in docs/utility.md. fresh: what a second sample of the same population would "
        "score (for prediction: a model trained on the original); sd off: distance from that in "
        "standard deviations of chance, ± 2 is within it."
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
            yield f"{what}: {_named(tuple(names))}."


def _score_row(score: Score) -> tuple[str, ...]:
    return (
        f"{score.name} {score.better.arrow}",
        f"{score.value:.3g}",
        "" if score.spread is None else f"{score.spread:.2g}",
        "" if score.null is None else f"{score.null:.3g}",
        "" if score.ratio is None else f"{score.ratio:.2f}",
        "" if score.standardised is None else f"{score.standardised:+.1f}",
    )


def attacked(assessment: Risks, page: Path | None) -> None:
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
    known, wanted = (escape(_named(names)) for names in (assessment.keys, assessment.secrets))
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


def _named(names: tuple[str, ...]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def drawn(tradeoff: Tradeoff, page: Path | None) -> None:
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


_AuditedMethods = Annotated[
    list[str] | None, typer.Argument(help="Methods; all that have a guarantee if none.")
]
_Releases = Annotated[
    int | None,
    typer.Option(
        help="Releases of each of two tables; by default 10,000, and 100,000 of methods that "
        "measure once.",
        min=100,
    ),
]
_Results = Annotated[
    Path | None,
    typer.Option(
        "--results",
        help="File to which each result is added as soon as it is there; lines that have one are "
        "not audited again.",
        dir_okay=False,
    ),
]


@app.command()
def audit(
    methods: _AuditedMethods = None,
    releases: _Releases = None,
    jobs: _Jobs = None,
    kept: _Results = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release made tables many times, and bound what a release costs from below.

    Exit code 2 if a bound is above what is stated.
    """
    from understudy._parallel import processors
    from understudy.evaluate.audit import add_result, lines_left, results
    from understudy.evaluate.audit import audit as audited
    from understudy.evaluate.audit_lines import lines_about

    found = []
    lines = lines_about(methods or ())
    for line in lines if kept is None else lines_left(lines, kept, releases):
        with console.progress(quiet=quiet or as_json) as tell:
            stage = str(line)
            found.append(
                audited(
                    line,
                    releases=releases,
                    jobs=jobs or processors(),
                    progress=lambda done, total, stage=stage, tell=tell: tell(stage, done, total),  # type: ignore[misc]
                )
            )
        if kept is not None:
            add_result(kept, found[-1])
    if as_json:
        print_json([verdict.to_json() for verdict in found])
    elif found and (not quiet or any(verdict.alarm for verdict in found)):
        show_audit(found)
    earlier = [] if kept is None else [result["alarm"] for result in results(kept)]
    if any([*earlier, *(verdict.alarm for verdict in found)]):
        raise typer.Exit(2)
