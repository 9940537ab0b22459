"""The command that draws R-U maps: INTERNAL unless the rows are public."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Delta, Json, LedgerUrl, Quiet, app, listed, method_options
from understudy.cli.json_output import internal_place, print_json, require_new_file, write_text
from understudy.cli.terminal import progress_bar
from understudy.errors import MethodError

if TYPE_CHECKING:
    from understudy.pipeline.interruption import Progress
    from understudy.risk_utility import Tradeoff
    from understudy.schema import Schema


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
    with progress_bar.progress(quiet=quiet or as_json) as tell:
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
    from understudy import risk_utility
    from understudy.demo import demo_data
    from understudy.parallel import processors
    from understudy.privacy.internal import Internal

    risk_utility.Design.of(schema, **asked)  # before the demo is loaded
    made = risk_utility.tradeoff(
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
    from understudy.cli.terminal.evaluation_text import drawn
    from understudy.risk_utility.map_page import page

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
