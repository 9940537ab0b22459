"""The program, which commands join from the files beside it, and options that several share.

Mistakes end it with a sentence.

**Where the output of commands goes: JSON on standard output, texts into new files.**

**The confidential table of a command: a path, or the address of a database with a query of it.**
"""

from __future__ import annotations

import gc
import inspect
import json
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar, cast

import typer
from typer.core import TyperGroup

from understudy.cli import console
from understudy.cli.console import Screen
from understudy.errors import DataError, MethodError, UnderstudyError, escape_controls

if TYPE_CHECKING:
    from understudy.data.sql import Query
    from understudy.schema import Schema


# As a user comes to them.
_ORDER = (
    "schema",
    "plan",
    "synthesize",
    "show",
    "analyze",
    "waves",
    "sample",
    "read",
    "answer",
    "regress",
    "verdict",
    "choose",
    "export",
    "document",
    "evaluate",
    "risk",
    "tradeoff",
    "sign",
    "ledger",
    "desk",
    "methods",
    "audit",
    "demo",
    "study",
    # of `schema`
    "draft",
    "from-codebook",
    "review",
    "check",
)


class _Commands(TyperGroup):
    """All commands, in the order of `_ORDER`; one that it lacks comes last."""

    def list_commands(self, ctx: Any) -> list[str]:
        places = {name: k for k, name in enumerate(_ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: places.get(name, len(_ORDER)))


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
schema_app = typer.Typer(
    cls=_Commands,
    help="Draft, review and check the public schema of a table.",
    no_args_is_help=True,
)
app.add_typer(schema_app, name="schema")
ledger_app = typer.Typer(
    help="Count what releases of the same people cost together, and refuse what is too much.",
    no_args_is_help=True,
)
app.add_typer(ledger_app, name="ledger")

INTERRUPTED, TERMINATED = 130, 143
_SELDOM = 200_000, 20, 50
"""New objects until the next search for garbage, and generations of it: a command mostly loads
libraries and compiles, which makes much that stays, and a seventh of its time was such search."""
MACHINE = (OSError, MemoryError, ImportError)
"""Errors that tell of the machine and not of a mistake."""


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        Screen(highlight=False).print(f"understudy {version('understudy')}")
        raise typer.Exit


@app.callback()
def understudy(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Synthetic microdata you can publish and do statistics on."""


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


def main() -> None:
    """Run the command line; a mistake, or a machine that refuses, ends it with one sentence.

    The exit code is 2 then, 130 after Ctrl-C and 143 after SIGTERM.
    """
    console.tolerate()
    gc.set_threshold(*_SELDOM)
    with _heeding_sigterm():
        try:
            code = app(standalone_mode=False)
            console.flush()
        except UnderstudyError as error:
            _fail(" ".join([str(error), *getattr(error, "__notes__", ())]))
        except typer.TyperException as error:  # a usage error; without a message, help was shown
            if message := error.format_message():
                command = getattr(getattr(error, "ctx", None), "command_path", "understudy")
                end = "" if message.rstrip(".").endswith("?") else "."
                _fail(f"{message.rstrip('.')}{end} See {command} --help.")
            sys.exit(2)
        except MACHINE as error:
            _fail(machine_words(error))
        except Terminated:
            _say("Ended by SIGTERM; nothing was written.")
            sys.exit(TERMINATED)
        if code == INTERRUPTED:
            _say("Interrupted; nothing was written.")
        sys.exit(code)


def machine_words(error: BaseException) -> str:
    """Describe in a sentence what the machine refused.

    Args:
        error: one of `MACHINE`; of what libraries say only that which holds no rows is told.
    """
    if isinstance(error, MemoryError):
        return "The machine has too little memory for this."
    if isinstance(error, ImportError):
        return f"A part of the installation cannot be loaded: {error.msg}."
    return f"The machine refused to go on: {getattr(error, 'strerror', None) or 'an I/O error'}."


@contextmanager
def _heeding_sigterm() -> Iterator[None]:
    """Have SIGTERM end the work as Ctrl-C does, so that it is said what is kept; the next kills."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say(sentence: str) -> None:
    with suppress(OSError):  # nobody reads it; the exit code says it too
        Screen(stderr=True, highlight=False, soft_wrap=True).print(
            escape_controls(sentence), markup=False
        )


def _fail(sentence: str) -> NoReturn:
    _say(f"Error: {sentence}")
    sys.exit(2)


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

Seed = Annotated[
    int | None, typer.Option(help="Seed of the sampling after the last paid step.", min=0)
]
NoiseSeed = Annotated[
    int | None,
    typer.Option(help="For tests only: seed the privacy noise. The release is NOT private.", min=0),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="URL or path of the ledger of the population; by default UNDERSTUDY_LEDGER.",
    ),
]
By = Annotated[
    str | None, typer.Option(help="Who spends, for the ledger; by default UNDERSTUDY_BY.")
]
Spill = Annotated[
    Path | None,
    typer.Option(
        "--spill",
        help="Folder for coded rows that are too many for memory: one encrypted file without a "
        "name, while this runs. Without it they are read again on each pass.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")]

Budget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        help="Parts of the budget, such as answers=.3,lines=.1; may be repeated. The part rows is "
        "of the whole budget and measures the number of rows (by default 0.05). The other parts "
        "are of the rest. The part answers measures second moments, for linear models, "
        "correlations and group means. Its default is 1/3 with the method auto and delta above 0. "
        "With declared analyses it is 0.5, and measures their columns alone. The part lines "
        "measures fine histograms, for quantiles, shares, means of functions and values beyond the "
        "bounds. Its default is 0.1 with the method auto, or if a declared analysis needs them. "
        "The part layer measures second moments of all columns beside those of declared analyses. "
        "Its default is 0.15 with the method auto and delta above 0. The part places measures the "
        "tables of the places in the schema (by default 0.25).",
    ),
]
Priority = Annotated[
    list[str] | None,
    typer.Option(
        "--priority",
        help="Columns that matter most, such as age,income; may be repeated. A quarter of the part "
        "answers measures second moments of these columns alone.",
    ),
]
Analyses = Annotated[
    list[str] | None,
    typer.Option(
        "--analysis",
        help="What the release is to answer, such as 'ols income ~ age + sex'; may be repeated. "
        "Choose it without a look at the rows.",
    ),
]
AnalysesFile = Annotated[
    Path | None, typer.Option("--analyses", help="The same, as a TOML file with tables `analyses`.")
]


def collect_analyses(analyses: list[str] | None, file: Path | None) -> object:
    """Analyses that were declared by option or in a file.

    Raises:
        MethodError: both.
    """
    if analyses and file:
        raise MethodError("Give analyses by --analysis or in one file by --analyses, not both.")
    return file or analyses


AssumeRows = Annotated[
    int | None,
    typer.Option(help="Number of records for which to say how exact answers will be.", min=1),
]
Like = Annotated[
    Path | None,
    typer.Option(help="An earlier release whose records stand for the population there."),
]


Minimum = Annotated[
    int | None,
    typer.Option(
        "--minimum-count",
        help="How often each combination of --keys that occurs in a synthetic set must occur "
        "there. Records of rarer ones get the keys of a near combination, which costs nothing.",
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--keys", help="Key columns of --minimum-count, such as region,sex; may be repeated."
    ),
]
MostChanged = Annotated[
    str | None,
    typer.Option(
        help="Largest share of the records of a set that may change for --minimum-count (0.05). "
        "More is refused, and --resume goes on with other keys."
    ),
]


def _minimum_of(count: int | None, keys: list[str], most: str | None) -> dict[str, Any] | None:
    """Return the minimum count that three options state together.

    Raises:
        MethodError: some of them without the others.
    """
    if count is None:
        if keys or most is not None:
            raise MethodError("--keys and --most-changed belong to --minimum-count; state it too.")
        return None
    return {
        **{"columns": keys, "count": count},
        **({} if most is None else {"most_changed": most}),
    }


_Former = Annotated[str | None, typer.Option(hidden=True)]


def synthesis_options(
    method: MethodName = "auto",
    sets: Sets = 1,
    option: Options = None,
    budget: Budget = None,
    analysis: Analyses = None,
    analyses: AnalysesFile = None,
    assume_rows: AssumeRows = None,
    like: Like = None,
    priority: Priority = None,
    minimum_count: Minimum = None,
    keys: Keys = None,
    most_changed: MostChanged = None,
    rows_share: _Former = None,
    answers_share: _Former = None,
    lines_share: _Former = None,
    layer_share: _Former = None,
) -> Callable[..., Any]:
    """Return the `understudy.SynthesisOptions` of a command, once the schema is known."""
    from understudy.release.release import Release
    from understudy.workflow.options import SynthesisOptions

    parts = [part for text in budget or [] for part in text.split(",")]
    former = {"rows": rows_share, "answers": answers_share}
    former |= {"lines": lines_share, "layer": layer_share}
    for name, value in former.items():
        if value is not None:
            _say(f"--{name}-share: a former name; write --budget {name}={value}.")
            parts.append(f"{name}={value}")
    return lambda schema: SynthesisOptions(
        method=method,
        sets=sets,
        options=split_pairs("--option", option, "form=filtered"),
        budget=split_pairs("--budget", parts, "answers=.3"),
        analyses=collect_analyses(analysis, analyses),
        assume_rows=assume_rows,
        like=None if like is None else Release.load(like),
        priority=split_names(priority, schema.names),
        minimum_count=_minimum_of(minimum_count, split_names(keys, schema.names), most_changed),
    )


def run_options(
    insecure_noise_seed: NoiseSeed = None,
    ledger: LedgerUrl = None,
    by: By = None,
    spill: Spill = None,
) -> dict[str, Any]:
    """Keywords of `understudy.RunOptions` that all commands which spend have in common."""
    return dict(locals())


_Command = TypeVar("_Command", bound=Callable[..., Any])


def take_options(name: str, group: Callable[..., Any]) -> Callable[[_Command], _Command]:
    """Have a command take the options of a group, in place of one parameter.

    Args:
        name: of the parameter, which gets what the group makes of them.
        group: whose parameters are options.
    """

    def add_options(command: _Command) -> _Command:
        own = inspect.signature(command, eval_str=True).parameters
        options = inspect.signature(group, eval_str=True).parameters
        every = [one for k in own for one in (options.values() if k == name else [own[k]])]

        @wraps(command)
        def run(**given: Any) -> Any:
            made = group(**{option: given.pop(option) for option in options})
            return command(**given, **{name: made})

        every = [one.replace(kind=one.KEYWORD_ONLY) for one in every]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        return cast(_Command, run)

    return add_options


def split_pairs(option: str, pairs: list[str] | None, example: str) -> dict[str, str]:
    """Values that an option gives by name: name → text.

    Args:
        option: its name.
        pairs: what was given.
        example: of a pair.

    Raises:
        MethodError: one that does not read name=value, or a name that is given twice.
    """
    values: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise MethodError(f"{option} {pair!r} must read name=value, such as {example}.")
        if name in values:
            raise MethodError(f"{option} gives {name} twice; leave one of them out.")
        values[name] = value
    return values


def split_names(texts: list[str] | None, columns: Sequence[str]) -> list[str]:
    """Names of columns given as "age,sex", or one by one.

    Args:
        texts: what was given; a text that is the name of a column as a whole is that column.
        columns: names of all columns.

    Example:
        >>> split_names(["age, sex", "a,b"], ["age", "sex", "a,b"])
        ['age', 'sex', 'a,b']
    """
    names: list[str] = []
    for text in texts or []:
        names += [text] if text in columns else [part.strip() for part in text.split(",")]
    return [name for name in names if name]


# JSON escapes controls below a space; terminals obey more than those.
_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def print_json(content: Any) -> None:
    """Print plain data as JSON on standard output."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    escaped = _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if not console.holds(escaped):
        escaped = json.dumps(content, indent=2)
    Screen(soft_wrap=True, highlight=False).out(escaped)


def write_text(path: Path, text: str) -> None:
    """Write a text, and never into a release: what is not listed there does not belong there.

    Raises:
        MethodError: it cannot be written, or would lie in the folder of a release.
    """
    _require_outside_releases(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MethodError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def internal_place(out: Path) -> Path:
    """Choose the place of an internal page: named as such, and outside every release.

    Args:
        out: what was asked for. Where its name does not hold "internal", this stands before its
            ending.

    Returns:
        The place.

    Raises:
        MethodError: it is taken, lies in a release, or its folder does not exist.

    Example:
        >>> internal_place(Path("report.html")).name, internal_place(Path("My-Internal.html")).name
        ('report.internal.html', 'My-Internal.html')
    """
    marked = "internal" in out.name.lower()
    place = out if marked or not out.name else out.with_name(f"{out.stem}.internal{out.suffix}")
    require_new_file(place)
    return place


def require_new_file(out: Path) -> None:
    """Refuse, before any work, a page that could not be written.

    Raises:
        MethodError: it is taken, lies in a release, or its folder does not exist.
    """
    _require_outside_releases(out)
    try:
        taken = out.exists() or out.is_symlink()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if taken:
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    if not out.absolute().parent.is_dir():
        raise MethodError(f"The folder of {str(out)!r} does not exist; create it first.")


def _require_outside_releases(out: Path) -> None:
    from understudy.release.folder import release_around

    try:
        within = release_around(out)
    except OSError as error:
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if within is not None:
        raise MethodError(
            f"The file {str(out)!r} cannot go into the release {str(within)!r}, which is published "
            "as it is; choose another place."
        )


TABLE = (
    "The table: a file of CSV, JSON lines, Parquet (or a folder), Arrow, a workbook, SPSS, Stata "
    "or SAS. Or the address of a database, such as sqlite:///people.db, with --query or "
    "--table."
)

Data = Annotated[str, typer.Argument(help=TABLE)]
SQL = Annotated[
    str | None, typer.Option("--query", help="For a database: a SELECT of one table's columns.")
]
TableName = Annotated[
    str | None, typer.Option("--table", help="For a database: a table, instead of --query.")
]


Members = Annotated[
    Path | None,
    typer.Option(
        "--members",
        help="The file of the members, if the schema declares units with members and the table has "
        "the units alone. Without it each row of the table is a member.",
    ),
]


class Rows(StrEnum):
    """Where rows are counted."""

    HERE = "here"
    SPARK = "spark"


Engine = Annotated[
    Rows, typer.Option("--engine", help="Where rows are counted: in this process, or in Spark.")
]
Trusted = Annotated[
    bool,
    typer.Option(
        "--trusted-cluster",
        help="Whoever sees what the Spark cluster sends, writes and shows may see the rows; the "
        "manifest says so.",
    ),
]


def given_rows(
    data: str,
    query: str | None,
    table: str | None,
    engine: Rows,
    schema: Schema,
    members: Path | None = None,
) -> object:
    """Open the rows that a command is to read, in this process or in Spark.

    Args:
        data: a path, an address, or the name of a table that Spark knows.
        query: as for `given_table`.
        table: the same.
        engine: where rows are counted.
        schema: says how a text is written.
        members: as for `with_members`.

    Raises:
        DataError: as by `given_table`, or Spark cannot read it.
        MethodError: no Spark session can be opened.
    """
    return pending_rows(data, query, table, engine, members)(schema)


def with_members(units: object, members: Path | None, schema: Schema) -> object:
    """Return both tables by name if a file of members is given, else the one table as it is.

    Args:
        units: the table of a command.
        members: a path; None if there is no second table.
        schema: says what both are called.

    Raises:
        DataError: it declares one flat table.
    """
    if members is None:
        return units
    if schema.linked is None:
        raise DataError(
            "--members is the file of members of units, and the schema declares one flat table; "
            "leave it out, or declare [tables] of both."
        )
    return {schema.linked.of: units, schema.linked.table: members}


def pending_rows(
    data: str,
    query: str | None,
    table: str | None,
    engine: Rows,
    members: Path | None = None,
) -> Callable[[Schema], object]:
    """Prepare what a command is to read once it may; only then is a Spark session opened.

    Args:
        data: as for `given_rows`, like the others.
        query: the same.
        table: the same.
        engine: the same.
        members: the same.

    Returns:
        What takes the schema and gives the rows.

    Raises:
        DataError: at once as by `given_table`, or where Spark is given a query or two tables.
    """
    if engine is Rows.HERE:
        here = given_table(data, query, table)
        return lambda schema: with_members(here, members, schema)
    if members is not None:
        raise DataError("Units and their members are put together in this process: --engine here.")
    if query is not None or table is not None:
        raise DataError(
            "--query and --table ask a database; with --engine spark give a path, or the name of "
            "a table that Spark knows."
        )
    from understudy.workflow.gates import in_spark

    return partial(in_spark, data)


def given_table(data: str, query: str | None, table: str | None) -> Path | Query:
    """Return what a command is to read.

    Args:
        data: a path, or an address.
        query: a SELECT; for an address alone.
        table: a name; for an address alone.

    Raises:
        DataError: an address without one of them, or with both; a path with one.
    """
    if "://" not in data:
        if query is not None or table is not None:
            raise DataError(
                "--query and --table ask a database; give its address, such as sqlite:///people.db."
            )
        return Path(data)
    from understudy.data.sql import Query

    if (query is None) == (table is None):
        raise DataError("A database needs --query or --table, and not both of them.")
    return Query.table(data, table) if table is not None else Query(data, query or "")


def shown_table(data: str) -> str:
    """Show a table as in a suggested command; an address may hold a password."""
    return "ADDRESS" if "://" in data else data
