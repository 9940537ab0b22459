"""The command for analysts: estimates from a release alone.

**The command for releases of the same people over time: what changed, and what did not.**

**The command for a verdict on one claim, and for the plan of one.**
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import understudy as us
from understudy.cli import console, kept_runs, render
from understudy.cli.app import (
    SQL,
    Data,
    Delta,
    Epsilon,
    Json,
    Members,
    Quiet,
    TableName,
    app,
    given_table,
    print_json,
    require_new_file,
    run_options,
    take_options,
    with_members,
    write_text,
)
from understudy.errors import MethodError


@app.command()
def analyze(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    kind: Annotated[
        str | None,
        typer.Argument(
            help="mean, proportion, table, total, count, quantile, median, std, gini, "
            "correlation, odds-ratio, independence, standardised-difference, ratio, ols, logit or "
            "poisson."
        ),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Argument(
            help="A column: 'log(income + 1)', or 'income ~ sex' for groups. Or several columns: "
            "'sex + region' (a table), 'income + age' (a correlation), 'works + sex' (an odds "
            "ratio or a test of independence). Or a model: 'income ~ age + C(region)'."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Where a picture of estimates and intervals (SVG) goes; must be new."),
    ] = None,
    declared: Annotated[
        bool,
        typer.Option(
            "--declared", help="Instead of one question: all that the release was made to answer."
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(help="With --declared: where the results page (HTML) goes; must be new."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give numbers even where no rule is valid, stamped so.")
    ] = False,
    weighted: Annotated[
        bool | None,
        typer.Option(
            "--weighted/--unweighted",
            help="Whether records count with the weights of the survey; by default where the "
            "schema has a weight.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    where: Annotated[
        str, typer.Option(help="Condition such as 'age >= 65'; other records do not count.")
    ] = "",
    probability: Annotated[float, typer.Option(help="Probability of a quantile.")] = 0.5,
    uncertainty: Annotated[
        str,
        typer.Option(
            help="rules (from noisy counts, or how sets differ), or bootstrap (the method is run "
            "again on tables drawn from the released model)."
        ),
    ] = "rules",
    repeats: Annotated[int, typer.Option(help="Replicates of a bootstrap.", min=1)] = 200,
    interval: Annotated[
        str, typer.Option(help="Of a bootstrap: basic, percentile or studentised.")
    ] = "basic",
    seed: Annotated[int, typer.Option(help="Of a bootstrap.", min=0)] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes of a bootstrap; by default one per processor.", min=1),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate from a release alone, with error bars that count sampling, synthesis and noise."""
    from understudy._parallel import processors

    _require_one(kind, formula, declared=declared, plot=plot, page=page)
    for place in filter(None, (plot, page)):
        require_new_file(place)
    if declared:
        _answer_declared(release, page, as_json=as_json, quiet=quiet)
        return
    assert kind is not None
    assert formula is not None
    with console.progress(quiet=quiet or as_json) as tell:
        analysis = us.analyze(
            release,
            kind,
            formula,
            where=where,
            probability=probability,
            level=level,
            anyway=anyway,
            weighted=weighted,
            uncertainty=uncertainty,  # type: ignore[arg-type]  # refused there if it is neither
            repeats=repeats,
            interval=interval,  # type: ignore[arg-type]
            seed=seed,
            workers=jobs or processors(),
            progress=tell,
        )
    if plot is not None:
        from understudy.report.results_page import plot as drawn

        write_text(plot, drawn(analysis))
    if as_json:
        print_json(analysis.to_json())
    else:
        render.show_analysis(analysis)


def _require_one(
    kind: str | None, formula: str | None, *, declared: bool, plot: Path | None, page: Path | None
) -> None:
    """Refuse what is neither one question nor all declared ones.

    Raises:
        MethodError: both, neither, or an option of the other.
    """
    asked = [text for text in (kind, formula) if text is not None]
    if declared and (asked or plot):
        raise MethodError(
            "With --declared all declared analyses are answered; leave kind, formula and --plot "
            "out."
        )
    if not declared and len(asked) < 2:
        raise MethodError(
            "Give a kind and a formula, such as mean 'income ~ sex', or --declared for all that "
            "the release was made to answer."
        )
    if page and not declared:
        raise MethodError("The page has all declared analyses; give --declared with --page.")


def _answer_declared(release: Path, page: Path | None, *, as_json: bool, quiet: bool) -> None:
    """All declared analyses, those without a valid answer too, with the reason."""
    from understudy.release.release import Release
    from understudy.report.results_page import declared_results, results_page

    loaded = Release.load(release)
    if page is not None:
        write_text(page, results_page(loaded))
    if quiet:
        return
    results = declared_results(loaded)
    if as_json:
        print_json([result.to_json() for result in results])
    else:
        render.show_results(results, page)


@app.command()
def waves(
    kind: Annotated[str, typer.Argument(help="Kind of the question, as analyze takes it.")],
    formula: Annotated[str, typer.Argument(help="Of what, as analyze takes it.")],
    releases: Annotated[list[Path], typer.Argument(help="Folders of the waves, in order.")],
    dependence: Annotated[
        str,
        typer.Option(
            help="Of sampling errors over time: any, or 'not negative' (narrower; right for nearly "
            "every panel, and for waves of different people)."
        ),
    ] = "any",
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    as_json: Json = False,
) -> None:
    """What changed between releases of the same people, and the mean of what did not."""
    from understudy.inference.waves import waves as ask

    how: dict[str, Any] = {"level": level, "dependence": dependence}
    found = ask(releases, kind, formula, **how)
    if as_json:
        print_json(found.to_json())
    else:
        render.show_waves(found)


@app.command()
@take_options("run", run_options)
def verdict(
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Reviewed schema (TOML).")],
    claim: Annotated[
        str,
        typer.Argument(
            help="Such as 'ols income ~ age + sex: age > 0', 'share sex = f < 0.5', 'mean income > "
            "30000'. Choose it without a look at the rows."
        ),
    ],
    epsilon: Epsilon,
    *,
    delta: Delta = "0",
    assume_rows: Annotated[
        int | None,
        typer.Option(
            help="About how many records there are, where their number is private: a public guess.",
            min=1,
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show how sure a verdict would be; no data are read.")
    ] = False,
    run: dict[str, Any],
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Spend a budget on one claim: do the confidential rows bear it out?

    Random subsets of the rows vote, and the noisy number of yes decides: yes, no, or undecided.
    """
    from understudy.workflow import verdict as verdicts

    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "assume_rows": assume_rows}
    if plan:
        planned = verdicts.plan_verdict(schema, claim, **asked)
        if as_json:
            print_json(planned.to_json())
        else:
            render.describe_verdict_plan(planned)
        return
    from understudy.schema import Schema

    loaded = Schema.load(schema)
    with kept_runs.announce_kept(None, None), console.progress(quiet=quiet or as_json) as tell:
        found = verdicts.verdict(
            with_members(given_table(data, query, table), members, loaded),
            loaded,
            claim,
            **asked,
            **run,
            progress=tell,
        )
    if as_json:
        print_json(found.to_json())
    else:
        render.show_verdict(found, odds=not quiet)
