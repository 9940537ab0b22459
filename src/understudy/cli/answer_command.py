"""The command that answers a question after a release, for a price that is shown first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import kept_runs
from understudy.cli.app import By, Json, LedgerUrl, NoiseSeed, Quiet, Resume, Spill, app
from understudy.cli.json_output import print_json
from understudy.cli.table_argument import (
    SQL,
    TABLE,
    Engine,
    Rows,
    TableName,
    Trusted,
    pending_rows,
)
from understudy.cli.terminal import answer_text, progress_bar, release_text, verdict_text
from understudy.errors import MethodError

if TYPE_CHECKING:
    from understudy.inference.claims.verdict_result import Verdict
    from understudy.inference.question_file import QuestionFile
    from understudy.pipeline.answer_plan import AnswerPlan
    from understudy.release import Release
    from understudy.schema import Schema


@app.command()
def answer(
    context: typer.Context,
    question: Annotated[Path, typer.Argument(help="Question file (TOML).")],
    data: Annotated[str | None, typer.Argument(help=f"Behind the release. {TABLE}")] = None,
    release: Annotated[
        Path, typer.Option("--release", help="Folder of the release, as it was published.")
    ] = Path("release"),
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            help="What the answer may add to the ε of the release; by default the least that is "
            "expected to reach the half-widths that the question wants.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the amended release; must be new.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what it would cost and bring, and end there.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking once more.")] = False,
    ledger: LedgerUrl = None,
    by: By = None,
    spill: Spill = None,
    query: SQL = None,
    table: TableName = None,
    engine: Engine = Rows.HERE,
    trusted_cluster: Trusted = False,
    insecure_noise_seed: NoiseSeed = None,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer a question that came after a release, and amend the release by the answer.

    Cost and expected widths are shown first; nothing is spent before they are approved.
    """
    from understudy.inference.question_file import question_file
    from understudy.pipeline.answer_plan import plan_answer

    asked = question_file(question)
    rows = None if data is None or plan else pending_rows(data, query, table, engine)
    spent_on: dict[str, Any] = {"ledger": ledger, "by": by, "spill": spill}
    spent_on["insecure_noise_seed"] = insecure_noise_seed
    if asked.claims:
        if out is not None or resume:
            raise MethodError("Claims make no release; leave out --out and --resume.")
        told = None if as_json else not quiet
        _judge(asked, rows, release, epsilon, told=told, yes=yes, **spent_on)
        return
    planned = plan_answer(asked, release, epsilon=epsilon)
    if plan:
        _show(planned, as_json=as_json)
        return
    if rows is None or out is None:
        raise MethodError("An answer needs the confidential table and --out (or --plan alone).")
    if not (as_json or quiet):
        answer_text.planned(planned)
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
        **spent_on,
    )
    if as_json:
        _print_answers(amended, out)


def _show(planned: AnswerPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(planned.to_json())
    else:
        answer_text.planned(planned)


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
    from understudy.inference.amended_answers import amended_answers
    from understudy.pipeline.amending import answer as measure

    place = kept_runs.place_beside(out, resume=resume)
    with kept_runs.keeping(place, out), progress_bar.progress(quiet=not shown) as tell:
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
    with kept_runs.made(out):
        if shown:
            answer_text.answered(amended_answers(amended)[-len(planned.question.analyses) :])
            release_text.released(amended, out)
    return amended


def _judge(
    asked: QuestionFile,
    rows: Callable[[Schema], object] | None,
    release: Path,
    epsilon: str | None,
    *,
    told: bool | None,
    yes: bool,
    **spent_on: Any,
) -> None:
    """Show how sure verdicts would be; with data, and once approved, have the rows judge.

    `told` is None for JSON, else whether to tell more than the verdicts.
    """
    from understudy.pipeline.verdict import plan_verdicts, verdict
    from understudy.release import Release

    if epsilon is None:
        raise MethodError("Verdicts need --epsilon, which the claims of a question share.")
    loaded = Release.load(release)
    plans = plan_verdicts(asked, loaded, epsilon=epsilon)
    if rows is None:
        if told is None:
            print_json([plan.to_json() for plan in plans])
        for plan in plans if told is not None else ():
            verdict_text.planned(plan)
        return
    for plan in plans if told else ():
        verdict_text.planned(plan)
    _require_approved(yes=yes)
    data = rows(loaded.schema)
    found: list[Verdict] = []
    try:
        with kept_runs.keeping(None, None):
            for plan in plans:
                about = {"epsilon": plan.budget.epsilon, "assume_rows": plan.records, **spent_on}
                found.append(verdict(data, loaded.schema, plan.claim, **about))
    finally:  # what is paid for is shown, whatever ends the next one
        if told is None and found:
            print_json([one.to_json() for one in found])
        for one in found if told is not None else ():
            verdict_text.found(one, odds=False)


def _print_answers(amended: Release, out: Path) -> None:
    from understudy.inference.amended_answers import amended_answers

    answers = [one.to_json() for one in amended_answers(amended)]
    print_json({"release": str(out), "guarantee": amended.guarantee.to_json(), "answers": answers})
