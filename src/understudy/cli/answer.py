"""The command that answers a question after a release, for a price that is shown first.

**The command for one regression: what it needs is released, and its answer shown.**
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import console, kept_runs, render
from understudy.cli.app import (
    SQL,
    TABLE,
    Data,
    Delta,
    Engine,
    Epsilon,
    Json,
    Members,
    Quiet,
    Resume,
    Rows,
    Seed,
    TableName,
    Trusted,
    app,
    given_rows,
    pending_rows,
    print_json,
    run_options,
    shown_table,
    take_options,
)
from understudy.errors import InferenceError, MethodError

if TYPE_CHECKING:
    from understudy.inference.question_file import QuestionFile
    from understudy.inference.verdict import Verdict
    from understudy.release.release import Release
    from understudy.schema import Schema
    from understudy.workflow.amend import AnswerPlan


@app.command()
@take_options("run", run_options)
def answer(
    context: typer.Context,
    question: Annotated[Path, typer.Argument(help="Question file (TOML).")],
    *,
    data: Annotated[str | None, typer.Argument(help=f"Behind the release. {TABLE}")] = None,
    release: Annotated[
        Path, typer.Option("--release", help="Folder of the release, as it was published.")
    ] = Path("release"),
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            help="What the answer may add to the ε of the release. The default is the least that "
            "is expected to reach the half-widths of the question.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the amended release; must be new.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what it would cost and bring, and end there.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking once more.")] = False,
    run: dict[str, Any],
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    engine: Engine = Rows.HERE,
    trusted_cluster: Trusted = False,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer a question that came after a release, and amend the release by the answer.

    Cost and expected widths are shown first; nothing is spent before they are approved.
    """
    from understudy.inference.question_file import question_file
    from understudy.workflow.amend import plan_answer

    asked = question_file(question)
    rows = None if data is None or plan else pending_rows(data, query, table, engine, members)
    if asked.claims:
        if out is not None or resume:
            raise MethodError("Claims make no release; leave out --out and --resume.")
        told = None if as_json else not quiet
        _judge(asked, rows, release, epsilon, told=told, yes=yes, **run)
        return
    planned = plan_answer(asked, release, epsilon=epsilon)
    if plan:
        _show(planned, as_json=as_json)
        return
    if rows is None or out is None:
        raise MethodError("An answer needs the confidential table and --out (or --plan alone).")
    if not (as_json or quiet):
        render.describe_answer_plan(planned)
    if planned.refused and not resume:
        asked_for, why = planned.refused[0]
        raise MethodError(f"No answer is expected to {asked_for}, so nothing was spent. {why}")
    _require_approved(yes=yes or resume)
    kept_runs.hold(context, out)
    amended = _measure(
        planned,
        rows(planned.schema),
        release,
        out,
        resume=resume,
        shown=not (as_json or quiet),
        trusted_cluster=trusted_cluster,
        **run,
    )
    if as_json:
        _print_answers(amended, out)


def _show(planned: AnswerPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(planned.to_json())
    else:
        render.describe_answer_plan(planned)


def _require_approved(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise MethodError("Nobody can be asked here; approve the cost by --yes. Nothing was spent.")
    if not typer.confirm("Spend this?"):
        raise MethodError("Not approved; nothing was spent.")


def _measure(
    planned: AnswerPlan,
    data: object,
    release: Path,
    out: Path,
    *,
    resume: bool,
    shown: bool,
    **how: Any,
) -> Release:
    """Measure, save, and show what it brought."""
    from understudy.inference.analyze import amended_answers
    from understudy.workflow.amend import answer as measure

    place = kept_runs.place_beside(out, resume=resume)
    with kept_runs.announce_kept(place, out), console.progress(quiet=not shown) as tell:
        amended = measure(
            planned.question,
            data,
            release,
            epsilon=planned.epsilon,
            checkpoint=place,
            keep_checkpoint=True,
            progress=tell,
            **how,
        )
        tell("Writing the release", 0, 1)
        amended.save(out)
        tell("Writing the release", 1, 1)
    kept_runs.remove(place)
    with kept_runs.confirm_release(out):
        if shown:
            render.show_answers(amended_answers(amended)[-len(planned.question.analyses) :])
            render.show_release(amended, out)
    return amended


def _judge(
    asked: QuestionFile,
    rows: Callable[[Schema], object] | None,
    release: Path,
    epsilon: str | None,
    *,
    told: bool | None,
    yes: bool,
    **run: Any,
) -> None:
    """Show how sure verdicts would be; with data, and once approved, have the rows judge.

    `told` is None for JSON, else whether to tell more than the verdicts.
    """
    from understudy.release.release import Release
    from understudy.workflow.verdict import plan_verdicts, verdict

    if epsilon is None:
        raise MethodError("Verdicts need --epsilon, which the claims of a question share.")
    loaded = Release.load(release)
    plans = plan_verdicts(asked, loaded, epsilon=epsilon)
    if rows is None:
        if told is None:
            print_json([plan.to_json() for plan in plans])
        for plan in plans if told is not None else ():
            render.describe_verdict_plan(plan)
        return
    for plan in plans if told else ():
        render.describe_verdict_plan(plan)
    _require_approved(yes=yes)
    data = rows(loaded.schema)
    found: list[Verdict] = []
    try:
        with kept_runs.announce_kept(None, None):
            for plan in plans:
                about = {"epsilon": plan.budget.epsilon, "assume_rows": plan.records, **run}
                found.append(verdict(data, loaded.schema, plan.claim, **about))
    finally:  # what is paid for is shown, whatever ends the next one
        if told is None and found:
            print_json([one.to_json() for one in found])
        for one in found if told is not None else ():
            render.show_verdict(one, odds=False)


def _print_answers(amended: Release, out: Path) -> None:
    from understudy.inference.analyze import amended_answers

    answers = [one.to_json() for one in amended_answers(amended)]
    print_json({"release": str(out), "guarantee": amended.guarantee.to_json(), "answers": answers})


USUAL = "sufficient-statistics"
"""`workflow.regress.SUFFICIENT_STATISTICS`, without loading what stands behind it."""


@app.command()
@take_options("run", run_options)
def regress(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, typer.Argument(help="Reviewed schema (TOML).")],
    formula: Annotated[
        str,
        typer.Argument(
            help="Such as 'income ~ age + C(region)'. Choose it without a look at the rows."
        ),
    ],
    epsilon: Epsilon,
    *,
    delta: Delta = "0",
    kind: Annotated[str, typer.Option(help="ols, logit or poisson.")] = "ols",
    mechanism: Annotated[
        str,
        typer.Option(
            help="sufficient-statistics; or k-norm, functional or functional-published (with the "
            "published, larger sensitivity): an ols of numbers for a pure epsilon, without "
            "standard errors."
        ),
    ] = USUAL,
    repair: Annotated[
        str | None,
        typer.Option(
            help="For k-norm and both functional: ridge or trim, where noise leaves no positive "
            "definite matrix."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder that the release is written to; must be new."),
    ] = None,
    seed: Seed = None,
    run: dict[str, Any],
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    engine: Engine = Rows.HERE,
    trusted_cluster: Trusted = False,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Spend a budget on one regression of a confidential table, with standard errors.

    The columns of the formula are released, mostly as noisy second moments, and the regression is
    answered from them. --out keeps the release. Until it is written, OUT.checkpoint keeps what was
    paid for.
    """
    from understudy.schema import Schema
    from understudy.workflow.regress import regress as fit

    if out is not None and mechanism == USUAL:
        kept_runs.hold(context, out)
    loaded = Schema.load(schema)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "kind": kind}
    place = _place(out, mechanism, resume=resume, schema=loaded, formula=formula, **asked)
    asked |= {"mechanism": mechanism, "repair": repair, "level": level, "seed": seed}
    diagnostics: list[Any] = []  # shown when no bar is drawn any more
    if mechanism == USUAL and not (quiet or as_json):
        # For the eyes of whoever sits there: no file, no pipe and no log has what does not fit.
        asked |= {"confide": diagnostics.append, "confide_misfits": sys.stderr.isatty()}
    rows = given_rows(data, query, table, engine, loaded, members)
    with kept_runs.announce_kept(place, out), console.progress(quiet=quiet or as_json) as bar:
        tell = kept_runs.note_costs(bar, out, place)
        ask: Any = fit  # which refuses a mechanism that there is not
        found = ask(
            rows,
            loaded,
            formula,
            **asked,
            **run,
            checkpoint=place,
            keep_checkpoint=True,
            trusted_cluster=trusted_cluster,
            progress=tell,
        )
        if out is not None:
            tell("Writing the release", 0, 1)
            found.save(out)
            tell("Writing the release", 1, 1)
    if place is not None:
        kept_runs.remove(place)
    with kept_runs.confirm_release(out):
        _show_regression(found, mechanism, out, as_json=as_json, quiet=quiet)
        if not (quiet or as_json or engine is Rows.SPARK):
            render.to_be_checked(shown_table(data), schema, members)
        for diagnostic in diagnostics:
            render.show_diagnostic(diagnostic)
    if getattr(found, "refused", ""):
        raise InferenceError(found.refused)


def _show_regression(
    found: Any, mechanism: str, out: Path | None, *, as_json: bool, quiet: bool
) -> None:
    if as_json:
        print_json(found.to_json() | ({} if out is None else {"release": str(out)}))
    elif mechanism == USUAL:
        render.show_regression(found, out, quiet=quiet)
    else:
        render.coefficients(found)


def _place(
    out: Path | None, mechanism: str, *, resume: bool, schema: Schema, formula: str, **asked: Any
) -> Path | None:
    """Choose where the checkpoint is kept, if there is to be one; refuse before rows are read."""
    from understudy.workflow.regress import declare_regression, require_mechanism
    from understudy.workflow.request import request_of

    require_mechanism(mechanism)
    if out is None:
        if resume:
            raise MethodError("A run is gone on with where its release is to be; give --out too.")
        return None
    if mechanism != USUAL:
        raise MethodError(
            f"The mechanism {mechanism} makes no release; leave out --out, or take {USUAL}."
        )
    request = request_of(**declare_regression(schema, formula, **asked))
    return kept_runs.checkpoint_of(out, request, resume=resume)
