"""Commands that compare a release with the rows: INTERNAL, their results are not for release.

The command that draws R-U maps: INTERNAL unless the rows are public.

The command that audits methods: what their releases show, against what they promise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import understudy as us
from understudy.cli import console
from understudy.cli.app import (
    SQL,
    Data,
    Delta,
    Json,
    LedgerUrl,
    Members,
    Quiet,
    TableName,
    app,
    given_table,
    internal_place,
    print_json,
    require_new_file,
    split_names,
    split_pairs,
    with_members,
    write_text,
)
from understudy.errors import MethodError

if TYPE_CHECKING:
    from understudy.evaluate.tradeoff import Tradeoff
    from understudy.schema import Schema
    from understudy.workflow.options import Progress


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
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the original rows. INTERNAL: the result is not for release."""
    from understudy.cli.render_evaluation import risk_table, show_evaluation
    from understudy.release.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with console.progress(quiet=quiet or as_json) as tell:
        evaluation = us.evaluate(
            with_members(given_table(data, query, table), members, loaded.schema),
            loaded,
            formulas=formula,
            by=by,
            target=target,
            control=control,
            keys=split_names(keys, loaded.schema.names),
            secrets=split_names(secrets, loaded.schema.names),
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
        show_evaluation(evaluation, place)
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
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a release: what does it disclose? INTERNAL: the result is not for release."""
    from understudy.cli.render_evaluation import show_risks
    from understudy.release.release import Release

    place = None if out is None else internal_place(out)
    loaded = Release.load(release)
    with console.progress(quiet=quiet or as_json) as tell:
        risks = us.risk(
            with_members(given_table(data, query, table), members, loaded.schema),
            loaded,
            control=control,
            keys=split_names(keys, loaded.schema.names),
            secrets=split_names(secrets, loaded.schema.names),
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
        show_risks(risks, place)


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
    members: Members = None,
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

    Draw the map from public or simulated rows of the same schema, such as last year's release. To
    choose ε or a method by a map of confidential rows is a leak that ε does not count.
    """
    from understudy.demo import demo_schema
    from understudy.schema import Schema

    if (data is None) != (schema is None) or (members is not None and data is None):
        raise MethodError("A map of your own rows needs both DATA and --schema.")
    public = public or data is None
    place = _place(out, public=public)
    declared = demo_schema() if schema is None else Schema.load(schema)
    rows = None if data is None else with_members(data, members, declared)
    asked: dict[str, Any] = {
        "methods": _parts(methods),
        "epsilons": _parts(epsilons),
        "delta": delta,
        "repetitions": repetitions,
        "risk": risk,
        "utility": _parts(utility),
        "keys": split_names(keys, declared.names),
        "secrets": split_names(secrets, declared.names),
        "holdout": holdout,
        "options": _by_method(option),
        "seed": seed,
    }
    with console.progress(quiet=quiet or as_json) as tell:
        tradeoff = _map(
            rows, declared, asked, public=public, workers=jobs, ledger=ledger, progress=tell
        )
    _show(tradeoff, place, as_json=as_json, quiet=quiet)


def _place(out: Path | None, *, public: bool) -> Path | None:
    """Choose where the page goes; refuse a file that is there already."""
    if out is None or not public:
        return None if out is None else internal_place(out)
    require_new_file(out)
    return out


def _map(
    data: object,
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
    from understudy.evaluate.tradeoff import Design, tradeoff

    Design.of(schema, **asked)  # before the demo is loaded
    made = tradeoff(
        demo_data() if data is None else data,
        schema,
        public=public,  # type: ignore[call-overload]  # known when it is run
        workers=workers or processors(),
        ledger=ledger,
        progress=progress,
        **asked,
    )
    found: Tradeoff = made.value if isinstance(made, Internal) else made
    return found


def _show(tradeoff: Tradeoff, place: Path | None, *, as_json: bool, quiet: bool) -> None:
    from understudy.cli.render_evaluation import show_tradeoff
    from understudy.evaluate.tradeoff_page import page

    if place is not None:
        write_text(place, page(tradeoff))
    if as_json:
        print_json(tradeoff.to_json())
    elif not quiet:
        show_tradeoff(tradeoff, place)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _by_method(pairs: list[str] | None) -> dict[str, dict[str, str]]:
    """Options by method: "method.name=value" for each."""
    options: dict[str, dict[str, str]] = {}
    for full, value in split_pairs("--option", pairs, "laplace.form=filtered").items():
        method, dot, name = full.partition(".")
        if not dot:
            raise MethodError(
                f"--option {full!r} must name the method too: method.name=value, such as "
                "laplace.form=filtered."
            )
        options.setdefault(method, {})[name] = value
    return options


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
    from understudy.evaluate.audit import add_result, lines_about, lines_left, results
    from understudy.evaluate.audit import audit as audited

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
        from understudy.cli.render_evaluation import show_audit

        show_audit(found)
    earlier = [] if kept is None else [result["alarm"] for result in results(kept)]
    if any([*earlier, *(verdict.alarm for verdict in found)]):
        raise typer.Exit(2)
