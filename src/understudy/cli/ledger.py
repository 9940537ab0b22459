"""Commands of the population ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from understudy.cli import render
from understudy.cli.app import Json, Quiet, ledger_app, print_json, require_new_file, write_text

_Place = Annotated[
    str,
    typer.Option(
        "--ledger",
        "-l",
        envvar="UNDERSTUDY_LEDGER",
        help="Path of the ledger's file, or postgresql://user@host/database.",
    ),
]
_By = Annotated[str, typer.Option(help="Who does this; nobody is named unless you do.")]
_PopulationName = Annotated[str | None, typer.Argument(help="A population; all without one.")]


@ledger_app.command("init")
def ledger_init(ledger: _Place, quiet: Quiet = False) -> None:
    """Make a new ledger: a file, or a table in a database of PostgreSQL that is its own."""
    from understudy.ledger.ledger import PopulationLedger

    made = PopulationLedger.create(ledger)
    if not quiet:
        render.show_new_ledger(made)


@ledger_app.command("population")
def ledger_population(
    name: Annotated[str, typer.Argument(help="By which commands ask for it.")],
    ledger: _Place,
    unit: Annotated[str, typer.Option(help="Whom one row stands for, in words.")],
    governor: Annotated[str, typer.Option(help="Who decides about its caps.")],
    neighbours: Annotated[
        Literal["add_remove", "replace"],
        typer.Option(help="Which tables no release may tell apart."),
    ] = "add_remove",
    epsilon: Annotated[str | None, typer.Option(help="Cap in ε, for all releases.")] = None,
    delta: Annotated[str | None, typer.Option(help="δ of that cap; without it, pure ε.")] = None,
    pure_epsilon: Annotated[str | None, typer.Option(help="Cap in pure ε beside it.")] = None,
    rho: Annotated[str | None, typer.Option(help="Cap in ρ of zCDP.")] = None,
    mu: Annotated[str | None, typer.Option(help="Cap in μ of Gaussian DP.")] = None,
    accounting: Annotated[
        Literal["gdp", "zcdp"],
        typer.Option(help="In which the cap with δ is kept; releases kept in gdp fit both."),
    ] = "gdp",
    selection_epsilon: Annotated[
        str | None,
        typer.Option(help="ε for releases chosen among tries with δ, beside that cap."),
    ] = None,
    selection_delta: Annotated[str | None, typer.Option(help="δ for these.")] = None,
    waves: Annotated[
        int,
        typer.Option(help="For how many waves the caps are; each opens its part of them.", min=1),
    ] = 1,
    by: _By = "",
    quiet: Quiet = False,
) -> None:
    """Enter a population and its caps, which hold for good."""
    from understudy.ledger.account import Caps, Population
    from understudy.ledger.ledger import PopulationLedger

    caps = Caps.of(
        pure=pure_epsilon,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        accounting=accounting,
        selection_epsilon=selection_epsilon,
        selection_delta=selection_delta,
    )
    population = Population(name, unit, governor, neighbours, caps, waves)
    number = PopulationLedger.open(ledger).add(population, by=by)
    if not quiet:
        render.show_entry(number, f"the population {population.name!r}")


@ledger_app.command("wave")
def ledger_wave(
    population: Annotated[str, typer.Argument(help="Whose next wave it is.")],
    ledger: _Place,
    by: _By = "",
    quiet: Quiet = False,
) -> None:
    """Open the next wave of a population, and with it its part of each cap."""
    from understudy.ledger.ledger import PopulationLedger

    wave = PopulationLedger.open(ledger).open_wave(population, by=by)
    if not quiet:
        render.wave_opened(population, wave)


@ledger_app.command("add")
def ledger_add(
    release: Annotated[
        Path, typer.Argument(help="Folder of a release, or checkpoint of an interrupted run.")
    ],
    ledger: _Place,
    population: Annotated[str, typer.Option("--population", "-p", help="Whose rows it is of.")],
    by: _By = "",
    quiet: Quiet = False,
) -> None:
    """Enter what was made without the ledger; what it cost is spent."""
    from understudy.ledger.ledger import PopulationLedger, past_release

    past = past_release(release)
    opened = PopulationLedger.open(ledger)
    number = opened.enter(past, population, by=by)
    if not quiet:
        cost = opened.reservation(number).cost
        render.show_entry(number, f"the {past.kind}, which cost {cost.words}")


@ledger_app.command("show")
def ledger_show(ledger: _Place, population: _PopulationName = None, as_json: Json = False) -> None:
    """Show what populations have spent, what is reserved, and their caps."""
    from understudy.ledger.ledger import PopulationLedger

    opened = PopulationLedger.open(ledger)
    names = [population] if population else [one.name for one in opened.populations()]
    totals = [opened.totals(name) for name in names]
    if as_json:
        print_json({"ledger": opened.id, "totals": [one.to_json() for one in totals]})
    else:
        render.show_ledger(totals)


@ledger_app.command("history")
def ledger_history(
    ledger: _Place, population: _PopulationName = None, as_json: Json = False
) -> None:
    """Show every entry; times are for you, and stand neither in JSON nor in an export."""
    from understudy.ledger.ledger import PopulationLedger

    rows = PopulationLedger.open(ledger).history(population)
    if as_json:
        print_json([json.loads(row.public) for row in rows])
    else:
        render.history(rows)


@ledger_app.command("verify")
def ledger_verify(
    export: Annotated[
        Path | None, typer.Argument(help="An exported ledger, to be checked by itself.")
    ] = None,
    ledger: Annotated[
        str,
        typer.Option("--ledger", "-l", envvar="UNDERSTUDY_LEDGER", help="The ledger to check."),
    ] = "",
    head: Annotated[
        Path | None, typer.Option(help="A head that was exported earlier and kept elsewhere.")
    ] = None,
    signer: Annotated[
        str | None, typer.Option(help="Public key of whoever must have signed the head.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report every entry that was altered, removed, moved or repeated; exit code 2 if there is one.

    Without a head that somebody else has kept, nobody can tell a ledger that was put back from an
    older copy or written anew.
    """
    from understudy.ledger.ledger import PopulationLedger
    from understudy.ledger.verify import read_head, read_json, verify_export

    known = None if head is None else read_head(read_json(head), signer)
    if export is not None:
        faults = verify_export(read_json(export), known, signer if head is None else None)
    else:
        faults = PopulationLedger.open(ledger).verify(known)
    if as_json:
        print_json({"ok": not faults, "faults": faults})
    elif faults or not quiet:
        render.show_faults(faults, with_head=known is not None)
    if faults:
        raise typer.Exit(2)


@ledger_app.command("export")
def ledger_export(
    ledger: _Place,
    head: Annotated[bool, typer.Option("--head", help="Only where the ledger ends.")] = False,
    key: Annotated[
        Path | None, typer.Option("--sign", help="Private key that signs the head.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New file; printed without one.")] = None,
) -> None:
    """Print the ledger, or its head, as JSON for others: dates without times."""
    from understudy.ledger.ledger import PopulationLedger
    from understudy.ledger.verify import export, head_json

    if out is not None:
        require_new_file(out)
    opened = PopulationLedger.open(ledger)
    end, rows = opened.snapshot()
    content: dict[str, Any] = head_json(end, key) if head else export(rows, end, key)
    if out is None:
        print_json(content)
    else:
        write_text(out, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


@ledger_app.command("void")
def ledger_void(
    number: Annotated[int, typer.Argument(help="Of the reservation.")],
    ledger: _Place,
    by: _By = "",
    quiet: Quiet = False,
) -> None:
    """Close the reservation of a run that will make no release; what it was charged stays spent."""
    from understudy.ledger.ledger import PopulationLedger

    reservation = PopulationLedger.open(ledger).reservation(number)
    reservation.void(by=by)
    if not quiet:
        render.show_void(reservation)


@ledger_app.command("publish")
def ledger_publish(
    number: Annotated[int, typer.Argument(help="Of the internal entry.")],
    ledger: _Place,
    by: _By = "",
    quiet: Quiet = False,
) -> None:
    """Count something internal as spent, as it is published; refused beyond a cap."""
    from understudy.ledger.ledger import PopulationLedger

    entered = PopulationLedger.open(ledger).publish(number, by=by)
    if not quiet:
        render.show_entry(entered, f"that entry {number} is published, and its cost spent")


@ledger_app.command("key")
def ledger_key(
    path: Annotated[Path, typer.Argument(help="New file of the private key.")], quiet: Quiet = False
) -> None:
    """Make a key to sign heads with, and print the public one."""
    from understudy._storage import make_key

    public = make_key(path)
    if not quiet:
        render.key_made(path, public)
