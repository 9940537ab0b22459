"""The command that draws R-U maps: INTERNAL unless the rows are public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.app import Delta, Json, Quiet, app, listed, method_options
from understudy.cli.json_output import internal_place, print_json, require_new_file, write_text
from understudy.cli.terminal import progress_bar
from understudy.errors import MethodError


@app.command()
def tradeoff(
    data: Annotated[
        Path | None,
        typer.Argument(help="CSV or Parquet (file or folder); the public demo survey if none."),
    ] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="Reviewed schema (TOML).")] = None,
    methods: Annotated[
        str, typer.Option(help="Methods, as laplace,marginals.")
    ] = "marginals,mst,privbayes,independent",
    epsilons: Annotated[str, typer.Option(help="Budgets, as 0.1,1,10.")] = "0.1,0.3,1,3,10",
    delta: Delta = "0",
    repetitions: Annotated[int, typer.Option(help="Releases at each point.", min=1)] = 5,
    risk: Annotated[
        str, typer.Option(help="Axis of risk: epsilon, attribute or membership.")
    ] = "epsilon",
    utility: Annotated[
        str, typer.Option(help="Losses: one-way, two-way, conditional, specks, intervals.")
    ] = "one-way,two-way,specks",
    keys: Annotated[
        list[str] | None,
        typer.Option(help="For attribute: what an intruder knows; all but the secrets if none."),
    ] = None,
    secrets: Annotated[
        list[str] | None, typer.Option(help="For attribute: what he wants to know.")
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of the rows that is held out for a measured risk.")
    ] = 0.2,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Option of a method, method.name=value.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="The rows are public or simulated.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Where the page (HTML) goes; an internal one gets .internal before its ending if "
            "its name does not say so.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.", min=0)] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(help="Number of processes; by default one per processor.", min=1),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw risk against utility for methods and budgets. INTERNAL, unless the rows are public.

    Choosing ε or a method by a map of confidential rows is a leak outside ε: draw it on public or
    simulated rows of the same schema, such as a release of last year.
    """
    from understudy import risk_utility
    from understudy.cli.terminal.risk_utility_text import drawn
    from understudy.demo import demo_data, demo_schema
    from understudy.parallel import processors
    from understudy.privacy.internal import Internal
    from understudy.risk_utility.map_page import page
    from understudy.schema import Schema

    if (data is None) != (schema is None):
        raise MethodError("A map of your own rows needs both DATA and --schema.")
    public = public or data is None
    place = out
    if out is not None and public:
        require_new_file(out)
    elif out is not None:
        place = internal_place(out)
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
    risk_utility.Design.of(declared, **asked)  # before the demo is loaded
    with progress_bar.progress(quiet=quiet or as_json) as tell:
        made = risk_utility.tradeoff(
            demo_data() if data is None else data,
            declared,
            public=public,  # type: ignore[call-overload]  # known when it is run
            workers=jobs or processors(),
            progress=tell,
            **asked,
        )
    found = made.value if isinstance(made, Internal) else made
    if place is not None:
        write_text(place, page(found))
    if as_json:
        print_json(found.to_json())
    elif not quiet:
        drawn(found, place)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _by_method(pairs: list[str] | None) -> dict[str, dict[str, str]]:
    """Options by method: "method.name=value" for each."""
    found: dict[str, dict[str, str]] = {}
    for full, value in method_options(pairs).items():
        method, dot, name = full.partition(".")
        if not dot:
            raise MethodError(
                f"--option {full!r} must name the method too: method.name=value, such as "
                "laplace.form=filtered."
            )
        found.setdefault(method, {})[name] = value
    return found
