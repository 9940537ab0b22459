"""The command line: a face without logic of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from understudy import pipeline, planning, terminal
from understudy.demo import demo_data, demo_schema
from understudy.errors import CheckpointError, MethodError, StudyError, UnderstudyError
from understudy.privacy import journal as checkpoints
from understudy.processes import processors
from understudy.release import Release
from understudy.release.folder import remove, require_new
from understudy.report import internal_page
from understudy.schema import Schema

app = typer.Typer(
    help="Synthetic microdata you can publish and do statistics on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
schema_app = typer.Typer(help="Draft and check the public schema of a table.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")

DEMO_MARK = ".made-by-understudy-demo"
INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget ε of the release.")]
Delta = Annotated[str, typer.Option(help="δ of the release; 0 for pure differential privacy.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help="Name of a method, or auto.")]
Sets = Annotated[int, typer.Option("--sets", "-s", help="Number of synthetic tables.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Option of the method, name=value.")
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="Reviewed schema (TOML).")]
RowsShare = Annotated[str, typer.Option(help="Share of the budget that buys the number of rows.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the release.")] = Path("demo-release"),
    epsilon: Epsilon = "1",
    sets: Sets = 5,
    method: MethodName = "auto",
    quiet: Quiet = False,
) -> None:
    """Release a real survey as synthetic data: the main job in one command.

    Replaces the output folder only if a demo made it.
    """
    schema = demo_schema()
    _require_demo_place(out)
    with terminal.progress(quiet=quiet) as tell:
        release = pipeline.synthesize(
            demo_data(), schema, epsilon=epsilon, method=method, sets=sets, progress=tell
        )
        tell("Writing the release", 0, 1)
        if (out / DEMO_MARK).exists():
            remove(out)
        release.save(out)
        (out / DEMO_MARK).touch()
        tell("Writing the release", 1, 1)
    if not quiet:
        terminal.released(release, out)


@schema_app.command("draft")
def schema_draft(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet (file or folder).")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the draft goes.")],
    title: Annotated[str, typer.Option(help="Title of the table.")] = "",
    quiet: Quiet = False,
) -> None:
    """Draft a schema from the data. The draft is CONFIDENTIAL until every entry is reviewed."""
    if out.exists():
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    text = pipeline.draft(data, title=title)
    _write_text(out, text)
    if not quiet:
        terminal.drafted(out)


@schema_app.command("check")
def schema_check(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet (file or folder).")],
    schema: Annotated[Path, typer.Argument(help="Schema (TOML).")],
    counts: Annotated[bool, typer.Option(help="Show how many rows; confidential.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report every column that does not fit its schema; exit code 2 if there is one."""
    report = pipeline.check(data, Schema.load(schema))
    if as_json:
        print_json({"ok": report.ok, "findings": report.lines(counts=counts)})
    elif not quiet or not report.ok:
        terminal.checked(report.lines(counts=counts), ok=report.ok)
    if not report.ok:
        raise typer.Exit(2)


@app.command()
def plan(
    schema: SchemaFile,
    epsilon: Epsilon,
    delta: Delta = "0",
    method: MethodName = "auto",
    sets: Sets = 1,
    option: Options = None,
    rows_share: RowsShare = "0.05",
    as_json: Json = False,
) -> None:
    """Show what a release would measure, cost and how exact it would be. Reads no data."""
    planned = planning.plan(
        Schema.load(schema),
        epsilon=epsilon,
        delta=delta,
        method=method,
        sets=sets,
        options=_options(option),
        rows_share=rows_share,
    )
    if as_json:
        print_json(terminal.plan_json(planned))
    else:
        terminal.planned(planned)


@app.command()
def synthesize(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet (file or folder).")],
    schema: SchemaFile,
    epsilon: Epsilon,
    out: Annotated[Path, typer.Option("--out", help="Folder of the release; must be new.")],
    delta: Delta = "0",
    method: MethodName = "auto",
    sets: Sets = 1,
    option: Options = None,
    rows_share: RowsShare = "0.05",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the sampling after the last paid step.", min=0)
    ] = None,
    insecure_noise_seed: Annotated[
        int | None,
        typer.Option(
            help="For tests only: seed the privacy noise. The release is NOT private.", min=0
        ),
    ] = None,
    allow_nonprivate: Annotated[
        bool,
        typer.Option(
            "--allow-nonprivate",
            help="Permit methods without a guarantee; their release is stamped not private.",
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV beside Parquet.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was interrupted.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turn a confidential table into a release.

    Until the release is written, OUT.checkpoint holds what was paid for. Ctrl-C ends the rounds of
    a method that works in rounds and makes the release of that; a second one aborts.
    """
    require_new(out)
    loaded = Schema.load(schema)
    request: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "method": method,
        "sets": sets,
        "options": _options(option),
        "rows_share": rows_share,
    }
    place = _checkpoint(out, planning.request_of(loaded, **request), resume=resume)
    with _keeping(place), terminal.progress(quiet=quiet or as_json) as tell:
        release = pipeline.synthesize(
            data,
            loaded,
            **request,
            seed=seed,
            insecure_noise_seed=insecure_noise_seed,
            allow_nonprivate=allow_nonprivate,
            checkpoint=place,
            keep_checkpoint=True,
            progress=tell,
        )
        tell("Writing the release", 0, 1)
        release.save(out, csv=csv)
        tell("Writing the release", 1, 1)
    if place is not None:
        checkpoints.remove(place)
    if as_json:
        print_json({"release": str(out), "guarantee": release.guarantee.to_json()})
    elif not quiet:
        terminal.released(release, out)


@app.command()
def methods(as_json: Json = False) -> None:
    """List the methods: what each is for, what it promises, what it costs."""
    if as_json:
        print_json([vars(facts) for facts in pipeline.methods()])
    else:
        terminal.methods(pipeline.methods())


@app.command()
def analyze(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    kind: Annotated[
        str,
        typer.Argument(help="mean, proportion, table, total, quantile, ols, logit or poisson."),
    ],
    formula: Annotated[
        str,
        typer.Argument(
            help="Such as 'log(income + 1)', 'income ~ sex', 'sex + region' (a table) or "
            "'income ~ age + C(region)' (a model)."
        ),
    ],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give numbers even where no rule is valid, stamped so.")
    ] = False,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
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
    with terminal.progress(quiet=quiet or as_json) as tell:
        found = pipeline.analyze(
            release,
            kind,
            formula,
            probability=probability,
            level=level,
            anyway=anyway,
            uncertainty=uncertainty,  # type: ignore[arg-type]  # refused there if it is neither
            repeats=repeats,
            interval=interval,  # type: ignore[arg-type]
            seed=seed,
            workers=jobs or processors(),
            progress=tell,
        )
    if as_json:
        print_json(found.to_json())
    else:
        terminal.analyzed(found)


@app.command()
def evaluate(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet (file or folder).")],
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where the internal page (HTML) goes.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column whose groups are scored.")] = None,
    target: Annotated[str | None, typer.Option(help="Column that is predicted.")] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option("--formula", "-f", help="Regression to compare; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=0)] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a release with the original rows. INTERNAL: the result is not for release."""
    loaded = Release.load(release)
    if out is not None:
        _require_internal_place(out, release)
    with terminal.progress(quiet=quiet or as_json) as tell:
        found = pipeline.evaluate(
            data, loaded, formulas=formula, by=by, target=target, seed=seed, progress=tell
        ).value
    if out is not None:
        _write_text(out, internal_page(found))
    if as_json:
        print_json(found.to_json())
    elif not quiet:
        terminal.evaluated(found, out)


@app.command("show")
def show_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")], as_json: Json = False
) -> None:
    """Show what a release promises and holds, after checking its files."""
    loaded = Release.load(release)
    if as_json:
        print_json(loaded.manifest.to_json())
    else:
        terminal.release(loaded)


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="Name of a study; see --list.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results: new, or one to go on with.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    reps: Annotated[
        int | None,
        typer.Option(help="Repetitions of every scenario; by default what its cost allows.", min=1),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; by default one per processor.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Run a simulation study, or go on with one that was interrupted."""
    from understudy import studies

    if show_list:
        terminal.studies(studies.STUDIES.values())
        return
    chosen = studies.find(name)
    if out is None:
        raise StudyError("A study needs a folder for its results; give --out DIR.")
    try:
        with terminal.progress(quiet=quiet) as tell:
            page = studies.run_study(chosen, out, reps=reps, jobs=jobs, seed=seed, progress=tell)
    except KeyboardInterrupt:
        terminal.study_interrupted(out)
        sys.exit(INTERRUPTED)
    if not quiet:
        terminal.studied(chosen, page)


def print_json(content: Any) -> None:
    """Print plain data as JSON on standard output."""
    Console(soft_wrap=True, highlight=False).out(json.dumps(content, indent=2, ensure_ascii=False))


def _options(pairs: list[str] | None) -> dict[str, str]:
    options = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise MethodError(f"--option {pair!r} must read name=value, such as form=filtered.")
        options[name.strip()] = value.strip()
    return options


def _checkpoint(out: Path, request: planning.Request, *, resume: bool) -> Path | None:
    """Where the checkpoint of a release is kept; None where a run cannot be continued."""
    if not request.method.can_resume(request.schema):
        if resume:
            raise CheckpointError(f"A run of {request.name} in this form cannot be continued.")
        return None
    place = (out if out.name else out.resolve()).with_suffix(f"{out.suffix}.checkpoint")
    found = checkpoints.is_checkpoint(place)
    if resume and not found:
        raise CheckpointError(f"There is no checkpoint {str(place)!r} to go on with.")
    if found and not resume:
        raise CheckpointError(
            f"An interrupted run left the checkpoint {str(place)!r}, and what it has spent counts; "
            "go on with it by --resume, or remove it."
        )
    return place


@contextmanager
def _keeping(place: Path | None) -> Iterator[None]:
    """Say what is kept of a run that does not come to its end."""
    try:
        yield
    except KeyboardInterrupt:
        if place is None or not checkpoints.is_checkpoint(place):
            raise
        terminal.synthesis_interrupted(place)
        sys.exit(INTERRUPTED)
    except UnderstudyError as error:
        if isinstance(error, CheckpointError) or not (place and checkpoints.is_checkpoint(place)):
            raise
        raise CheckpointError(
            f"{error} What was paid for is kept in {str(place)!r}; go on by --resume."
        ) from None


def _require_demo_place(out: Path) -> None:
    """The demo replaces nothing but a folder that it made itself."""
    if not (out / DEMO_MARK).exists():
        require_new(out)


def _require_internal_place(out: Path, release: Path) -> None:
    """An internal page never goes into a release, and replaces nothing."""
    try:
        inside, taken = out.resolve().is_relative_to(release.resolve()), out.exists()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if inside:
        raise MethodError(
            f"The page {str(out)!r} is internal and cannot go into the release; "
            "choose another place."
        )
    if taken:
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    if not out.absolute().parent.is_dir():
        raise MethodError(f"The folder of {str(out)!r} does not exist; create it first.")


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MethodError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def main() -> None:
    """Run the command line; a user's mistake ends with one sentence and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except UnderstudyError as error:
        _fail(str(error))
    except typer.TyperException as error:  # a usage error; without a message, help was shown
        if message := error.format_message():
            command = getattr(getattr(error, "ctx", None), "command_path", "understudy")
            _fail(f"{message.rstrip('.')}. See {command} --help.")
        sys.exit(2)
    if code == INTERRUPTED:
        Console(stderr=True).print("Interrupted; nothing was written.")
    sys.exit(code)


def _fail(sentence: str) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"Error: {sentence}", markup=False)
    sys.exit(2)
