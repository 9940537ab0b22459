"""Commands that plan and make releases.

**Commands that sign a release that is made, and that show one and who signed it.**

**The command that writes the synthetic tables of a release for other programs.**

**The command that draws more records from a release, which costs nothing.**

**The command that reads noisy tables of other systems as a release.**
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import understudy as us
from understudy.cli import console, kept_runs, render
from understudy.cli.app import (
    SQL,
    By,
    Data,
    Delta,
    Engine,
    Epsilon,
    Json,
    LedgerUrl,
    Members,
    MethodName,
    Quiet,
    Resume,
    Rows,
    SchemaFile,
    Seed,
    Sets,
    TableName,
    Trusted,
    app,
    given_rows,
    print_json,
    require_new_file,
    run_options,
    shown_table,
    synthesis_options,
    take_options,
    write_text,
)
from understudy.cli.console import Screen, escape, out
from understudy.errors import MethodError, ReleaseError, escape_controls

if TYPE_CHECKING:
    from understudy.schema import Schema


_Signer = Annotated[
    str | None, typer.Option(help="Public key, in hex, of whoever must have signed it.")
]


@app.command("show")
def show_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    signer: _Signer = None,
    as_json: Json = False,
) -> None:
    """Show what a release promises and holds, after checking its files and its signature."""
    from understudy.release.release import Release, render_pages_by
    from understudy.workflow.pages import pages

    render_pages_by(pages)
    loaded = Release.load(release, signer=signer)
    if as_json:
        print_json(
            {
                **loaded.manifest.to_json(),
                "signed_by": loaded.signed_by or None,
                "not_compared": [*loaded.not_compared],
            }
        )
    else:
        render.release(loaded)


@app.command("sign")
def sign_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    key: Annotated[
        Path, typer.Argument(help="File of a private key; understudy ledger key makes one.")
    ],
    quiet: Quiet = False,
) -> None:
    """Sign a release: manifest.sig says who vouches for it. What signed it before is replaced."""
    from understudy.release.folder import clear_unfinished, require_key, write_signature
    from understudy.release.release import Release, render_pages_by
    from understudy.workflow.pages import pages

    require_key(key)
    clear_unfinished(release)
    render_pages_by(pages)
    Release.load(release)  # nobody signs what does not fit itself
    public = write_signature(release, key)
    if not quiet:
        out.print(
            f"{escape(str(release))}/ is signed; give this public key to those who receive it, in "
            f"another way than the release: {public}",
            soft_wrap=True,
        )


Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        help="Write the synthetic tables in these formats too: csv, sav (SPSS), dta (Stata); "
        "as sav,dta, or repeated.",
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="The same as --also csv; an apostrophe stands before texts that a spreadsheet would "
        "run as a formula.",
    ),
]
CsvRaw = Annotated[bool, typer.Option("--csv-raw", help="Write CSV with all texts as they are.")]


@app.command("export")
def export_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    out: Annotated[Path, typer.Argument(help="Folder for the files; must be new, or empty.")],
    also: Also = None,
    csv: Csv = False,
    csv_raw: CsvRaw = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the synthetic tables of a release as CSV, or for SPSS or Stata.

    The release stays as it was published; what is written are files to work with.
    """
    from understudy.release.release import Release
    from understudy.release.tables import formats_of

    formats = formats_of(also or (), csv=csv, csv_raw=csv_raw)
    written = Release.load(release).export(out, also=formats)
    if as_json:
        print_json({"files": [str(file) for file in written]})
    elif not quiet:
        Screen(highlight=False, soft_wrap=True).print(
            "\n".join(str(file) for file in written), markup=False
        )


@app.command("document")
def document_release(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    kind: Annotated[
        str,
        typer.Argument(
            help="registry: the entry of the OpenDP registry (YAML); nist: a sheet by NIST SP "
            "800-226; thresholds: the noise in the words of disclosure control; citation: how it "
            "is cited."
        ),
    ],
    curator: Annotated[
        list[str] | None, typer.Option(help="Who publishes; for registry, may be repeated.")
    ] = None,
    use: Annotated[str, typer.Option(help="What it is for; for registry.")] = "",
    region: Annotated[str, typer.Option(help="Which the data describe; for registry.")] = "",
    published: Annotated[str, typer.Option(help="Day, as 2026-11-28; for registry.")] = "",
    sector: Annotated[str, typer.Option(help="Such as Government; for registry.")] = "",
    why: Annotated[str, typer.Option(help="Why the budget is what it is; for registry.")] = "",
    author: Annotated[
        list[str] | None, typer.Option(help="Who fills in the entry; for registry.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New file; printed if left out.")] = None,
) -> None:
    """Write a document about a release for a registry, an auditor or a lawyer."""
    from understudy.release.manifest import citation
    from understudy.release.release import Release
    from understudy.report import documents

    if kind not in ("registry", "nist", "thresholds", "citation"):
        raise MethodError(f"A document is registry, nist, thresholds or citation, not {kind!r}.")
    loaded = Release.load(release)
    if kind == "registry":
        publication = documents.Publication(
            curators=curator or (),
            use=use,
            region=region,
            published=published,
            authors=author or (),
            sector=sector,
            justification=why,
        )
        text = documents.registry_entry(loaded, publication)
    elif kind == "nist":
        text = documents.nist_sheet(loaded)
    elif kind == "citation":
        text = f"{citation(loaded.manifest, loaded.schema)}\n"
    else:
        text = "\n".join(documents.threshold_words(loaded)) + "\n"
    if out is None:
        Screen(highlight=False, soft_wrap=True).print(text, markup=False, end="")
    else:
        require_new_file(out)
        write_text(out, text)


_AllowNonprivate = Annotated[
    bool,
    typer.Option(
        "--allow-nonprivate",
        help="Permit methods without a guarantee; their release is stamped not private.",
    ),
]
_Sign = Annotated[
    Path | None,
    typer.Option(help="Private key that signs the release; understudy ledger key makes one."),
]


@app.command()
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the release.")] = Path("demo-release"),
    epsilon: Epsilon = "1",
    delta: Delta = "1e-6",
    sets: Sets = 5,
    method: MethodName = "auto",
    quiet: Quiet = False,
) -> None:
    """Release a real survey as synthetic data: the main job in one command.

    What the survey was made for is declared, so that it is measured first and answered with error
    bars. Replaces the output folder only if it holds a release of this survey.
    """
    from understudy.demo import ANALYSES, demo_data, demo_schema
    from understudy.release.folder import remove

    schema = demo_schema()
    if not _is_released(schema, out):  # the demo replaces nothing but its own release
        kept_runs.hold(context, out)
    with kept_runs.announce_kept(None, out), console.progress(quiet=quiet) as tell:
        release = us.synthesize(
            demo_data(),
            schema,
            epsilon=epsilon,
            delta=delta,
            method=method,
            sets=sets,
            analyses=ANALYSES,
            progress=tell,
        )
        tell("Writing the release", 0, 1)
        if _is_released(schema, out):
            remove(out)
        release.save(out)
        tell("Writing the release", 1, 1)
    if not quiet:
        with kept_runs.confirm_release(out):
            render.show_release(release, out)


def _is_released(schema: Schema, folder: Path) -> bool:
    """Return whether a folder is a release with a schema, holds nothing else, and is no link."""
    from understudy.release.folder import open_checked

    if folder.is_symlink():
        return False
    try:
        open_checked(folder)
        return (folder / "schema.toml").read_text(encoding="utf-8") == schema.dumps()
    except (ReleaseError, OSError):
        return False


@app.command()
@take_options("how", synthesis_options)
def plan(
    schema: SchemaFile,
    epsilon: Epsilon,
    *,
    delta: Delta = "0",
    how: Callable[..., Any],
    reserve: Annotated[
        bool,
        typer.Option(
            "--reserve",
            help="Reserve the cost in the ledger of the population, for synthesize --reservation.",
        ),
    ] = False,
    ledger: LedgerUrl = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Show what a release would measure, cost and how exact it would be. Reads no data."""
    from understudy.schema import Schema
    from understudy.workflow.plan import plan as make_plan

    loaded = Schema.load(schema)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "how": how(loaded)}
    planned = make_plan(loaded, **asked)
    number = us.reserve(loaded, **asked, ledger=ledger, by=by) if reserve else None
    if as_json:
        print_json(render.plan_json(planned) | ({} if number is None else {"reservation": number}))
        return
    render.describe_plan(planned)
    if number is not None:
        render.show_entry(number, f"a reservation, for synthesize --reservation {number}")


@dataclass(frozen=True)
class _Making:
    """The options by which a command makes a release, and the place where it goes.

    Attributes:
        out: folder of the release.
        seed: of the sampling.
        also: formats beside Parquet, and so are `csv` and `csv_raw`.
        sign: private key that signs it.
        members: the file of the members.
        query: of a database.
        table: of a database.
        resume: whether an interrupted run goes on.
        as_json: whether JSON is printed.
        quiet: whether nothing is.
    """

    out: Path
    seed: int | None
    also: list[str] | None
    csv: bool
    csv_raw: bool
    sign: Path | None
    members: Path | None
    query: str | None
    table: str | None
    resume: bool
    as_json: bool
    quiet: bool

    def hold(self, context: typer.Context, schema: Schema) -> tuple[str, ...]:
        """Refuse what would break the end of a run, and hold the place of the release.

        Returns:
            The formats of its synthetic tables beside Parquet.
        """
        from understudy.release.folder import require_key
        from understudy.release.tables import formats_of, require_formats

        if self.sign is not None:
            require_key(self.sign)
        kept_runs.hold(context, self.out)
        formats = formats_of(self.also or (), csv=self.csv, csv_raw=self.csv_raw)
        require_formats(formats, schema)
        return formats

    def rows(self, data: str, schema: Schema, engine: Rows = Rows.HERE) -> object:
        """Open the rows."""
        return given_rows(data, self.query, self.table, engine, schema, self.members)

    def make(
        self,
        place: Path | None,
        formats: tuple[str, ...],
        made: Callable[[us.RunOptions], us.Release],
        **run: Any,
    ) -> us.Release:
        """Make the release and write it; then its checkpoint goes.

        Args:
            place: of the checkpoint.
            formats: as `hold` gives them.
            made: makes the release by these options of the run.
            **run: options of the run that are the command's own.
        """
        quiet = self.quiet or self.as_json
        with kept_runs.announce_kept(place, self.out), console.progress(quiet=quiet) as bar:
            tell = kept_runs.note_costs(bar, self.out, place)
            kept: dict[str, Any] = {"checkpoint": place, "keep_checkpoint": True}
            release = made(
                us.RunOptions(**run, **kept, seed=self.seed, progress=tell, also=formats)
            )
            tell("Writing the release", 0, 1)
            release.save(self.out, also=formats, sign=self.sign)
            tell("Writing the release", 1, 1)
        if place is not None:
            kept_runs.remove(place)
        return release

    def show(self, release: us.Release, **told: Any) -> None:
        """Print where the release is, and what it promises.

        Args:
            release: that is written.
            **told: what JSON says beside that.
        """
        if self.as_json:
            told |= {"guarantee": release.guarantee.to_json()}
            print_json({"release": str(self.out), **told})
        elif not self.quiet:
            render.show_release(release, self.out)


def _making(
    out: Annotated[Path, typer.Option("--out", help="Folder of the release; must be new.")],
    seed: Seed = None,
    also: Also = None,
    csv: Csv = False,
    csv_raw: CsvRaw = False,
    sign: _Sign = None,
    members: Members = None,
    query: SQL = None,
    table: TableName = None,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> _Making:
    """Options of the commands that make a release of rows."""
    return _Making(**locals())


@app.command()
@take_options("how", synthesis_options)
@take_options("run", run_options)
@take_options("making", _making)
def synthesize(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    epsilon: Epsilon,
    *,
    making: _Making,
    delta: Delta = "0",
    how: Callable[..., Any],
    run: dict[str, Any],
    reservation: Annotated[
        int | None,
        typer.Option(help="Spend what plan --reserve has reserved under this number.", min=1),
    ] = None,
    allow_nonprivate: _AllowNonprivate = False,
    engine: Engine = Rows.HERE,
    trusted_cluster: Trusted = False,
) -> None:
    """Turn a confidential table into a release.

    Until the release is written, OUT.checkpoint holds what was paid for. Ctrl-C ends the rounds of
    a method that works in rounds and makes the release of that; a second one aborts.
    """
    from understudy.schema import Schema
    from understudy.workflow.request import request_of

    loaded, silent = Schema.load(schema), making.quiet or making.as_json
    formats = making.hold(context, loaded)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "how": how(loaded)}
    place = kept_runs.checkpoint_of(making.out, request_of(loaded, **asked), resume=making.resume)
    rows = making.rows(data, loaded, engine)
    diagnostics: list[Any] = []  # shown when no bar is drawn any more
    release = making.make(
        place,
        formats,
        lambda options: us.synthesize(rows, loaded, **asked, run=options),
        **run,
        reservation=reservation,
        allow_nonprivate=allow_nonprivate,
        trusted_cluster=trusted_cluster,
        confide=None if silent else diagnostics.append,
        # For the eyes of whoever sits there: no file, no pipe and no log has it.
        confide_misfits=sys.stderr.isatty(),
    )
    with kept_runs.confirm_release(making.out):
        making.show(release)
        if not silent and engine is Rows.HERE:
            render.to_be_checked(shown_table(data), schema, making.members)
        for diagnostic in diagnostics:
            render.show_diagnostic(diagnostic)


@app.command()
@take_options("run", run_options)
@take_options("making", _making)
def choose(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    choice: Annotated[
        Path, typer.Option("--choice", help="Candidates and criteria (TOML), named beforehand.")
    ],
    epsilon: Epsilon,
    *,
    making: _Making,
    delta: Delta = "0",
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what tries cost and measure; no data are read.")
    ] = False,
    run: dict[str, Any],
) -> None:
    """Make the best of several releases, with trying and judging inside the budget.

    A secret number of tries is made, and only the best is told. How long that takes must stay with
    the steward.
    """
    from understudy.schema import Schema

    loaded, asked = Schema.load(schema), us.Choice.load(choice)
    planned = us.plan_choice(loaded, asked, epsilon=epsilon, delta=delta)
    if plan:
        if making.as_json:
            print_json(render.choice_json(planned))
        else:
            render.describe_choice(planned)
        return
    formats = making.hold(context, loaded)
    place = kept_runs.place_beside(making.out, resume=making.resume)
    rows = making.rows(data, loaded)
    release = making.make(
        place,
        formats,
        lambda options: us.choose(rows, loaded, asked, epsilon=epsilon, delta=delta, run=options),
        **run,
    )
    with kept_runs.confirm_release(making.out):
        making.show(release, choice=release.manifest.choice)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to see its options too.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods: what each is for, what it promises, what it costs; or one with its options.

    Options are given to synthesize and plan as --option NAME=VALUE, or -o NAME=VALUE.
    """
    if name is not None:
        from understudy.methods.registry import kind_of, options_of

        facts, options = kind_of(name).facts, options_of(kind_of(name))
        if as_json:
            print_json({**vars(facts), "options": [vars(option) for option in options]})
        else:
            render.method(facts, options)
    elif as_json:
        print_json([vars(facts) for facts in us.list_methods()])
    else:
        render.methods(us.list_methods())


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="Folder of the release.")],
    n: Annotated[int, typer.Option("-n", help="How many records.", min=0)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="New file: .parquet, or .csv with texts guarded.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help='What they must be, such as "age >= 30" or "sex == \'f\'"; may be repeated, and '
            "all must hold.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes the records.", min=0)] = None,
    quiet: Quiet = False,
) -> None:
    """Draw more records from the model of a release, or some under a condition; it costs nothing.

    They are the same information as the release, and make no estimate more exact.
    """
    from understudy.release.release import Release
    from understudy.release.sets import write_file
    from understudy.workflow.sample import ReleasedModel

    if out.suffix not in (".parquet", ".csv"):
        raise MethodError(f"The file {str(out)!r} must end in .parquet or .csv.")
    require_new_file(out)
    model = ReleasedModel.of(Release.load(release))
    write_file(model.parts(n, where or None, seed), out, model.note)
    if not quiet:
        render.show_sample(model.note, n, out)


@app.command()
def read(
    measurements: Annotated[
        Path, typer.Argument(help="File (TOML) that says what was measured, and who states what.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the release; must be new.")],
    seed: Annotated[int | None, typer.Option(help="Of the records drawn from the tables.")] = None,
) -> None:
    """Read noisy tables of another system as a release, measured elsewhere.

    It has no guarantee of its own: it names what its publisher states, which we cannot check.
    """
    from understudy.workflow.read import read_measurements

    release = read_measurements(measurements, seed=seed)
    release.save(out)
    number = len(release.measurements)
    screen = Screen(soft_wrap=True, highlight=False)
    told = f"{out}: {number} table{'s' if number != 1 else ''}, measured elsewhere."
    screen.print(escape_controls(told), markup=False)
    screen.print(escape_controls(release.guarantee.statement), markup=False)
