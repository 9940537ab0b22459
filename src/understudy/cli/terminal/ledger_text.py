"""Population ledgers as stewards see them in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from understudy.cli.terminal import escape, out

if TYPE_CHECKING:
    from understudy.populations.account import Totals
    from understudy.populations.ledger_row import Row
    from understudy.populations.population_ledger import PopulationLedger
    from understudy.populations.reservation import Reservation

_NEIGHBOURS = {
    "add_remove": "one record is added or removed",
    "replace": "one record is replaced",
}
_DIGEST = 12


def made(ledger: PopulationLedger) -> None:
    """Where a new ledger is, and what comes next."""
    out.print(f"Made the ledger {escape(ledger.place)}, with the id {ledger.id}.", soft_wrap=True)
    out.print("Next: understudy ledger population NAME, with its caps.")


def entered(number: int, what: str) -> None:
    """What was entered."""
    out.print(f"Entered as number {number}: {escape(what)}.", soft_wrap=True)


def voided(reservation: Reservation) -> None:
    """What is left of a reservation that was closed."""
    from understudy.privacy.accounting.budget import decimal_up

    standing = reservation.standing
    out.print(
        f"Reservation {reservation.number} is void: of {escape(reservation.cost.words)} it was "
        f"charged {decimal_up(standing.spent)}, which stays spent.",
        soft_wrap=True,
    )


def shown(totals: Sequence[Totals]) -> None:
    """What populations have spent, and their caps."""
    if not totals:
        out.print("The ledger has no population yet; add one by understudy ledger population.")
    for one in totals:
        _population(one)


def _population(totals: Totals) -> None:
    population = totals.population
    out.print(
        f"\n[bold]{escape(population.name)}[/bold]: one row is one {escape(population.unit)}; "
        f"governed by {escape(population.governor)}; neighbours: "
        f"{_NEIGHBOURS[population.neighbours]}.",
        soft_wrap=True,
    )
    table = Table("", "spent", "reserved", "internal", box=None, pad_edge=False)
    parts = totals.spent, totals.reserved, totals.internal
    table.add_row("ε, pure", *(_number(part.pure) for part in parts))
    table.add_row("ρ of zCDP", *(_number(part.zcdp) for part in parts))
    table.add_row("μ of Gaussian DP", *(_number(part.mu) for part in parts))
    out.print(table)
    if (cap := population.caps.approximate) is not None:
        from understudy.privacy.accounting.budget import decimal_up

        delta = decimal_up(cap.delta)
        out.print(f"Spent and reserved, at δ = {delta}: ε = {_number(totals.epsilon)}")
    waves = f"; {totals.wave} of {population.waves} waves open" if population.waves > 1 else ""
    out.print(f"Caps: {'; '.join(population.caps.words)}{waves}.", soft_wrap=True)
    if totals.open:
        out.print(f"Open reservations: {', '.join(map(str, totals.open))}.", soft_wrap=True)


def wave_opened(population: str, wave: int) -> None:
    """Which wave was opened."""
    out.print(f"Opened wave {wave} of the population {escape(repr(population))}.")


def history(rows: Sequence[Row]) -> None:
    """Every entry on one line; charges of a reservation that follow each other are one."""
    table = Table("", "UTC", "population", "entry", "", "by", box=None, pad_edge=False)
    for (kind, _), group in groupby(rows, key=_run):
        *first, last = group
        said: dict[str, Any] = json.loads(last.public)
        numbers = f"{first[0].number}–{last.number}" if first else str(last.number)
        words = f"{len(first) + 1} charges" if first else kind
        when = last.time.replace("T", " ").rstrip("Z")
        shown = (last.population, words, _words(said), said["by"])
        table.add_row(numbers, when, *(escape(text) for text in shown))
    out.print(table)


def _run(row: Row) -> tuple[str, int]:
    """Charges of one reservation go together; every other entry stands alone."""
    if row.kind != "charge":
        return row.kind, row.number
    return row.kind, json.loads(row.public)["reservation"]


def _words(said: dict[str, Any]) -> str:
    """What an entry says besides."""
    from understudy.populations.costs import Cost
    from understudy.privacy.accounting.budget import decimal_up

    parts = [f"of {said[name]}" for name in ("reservation", "internal") if name in said]
    parts += [said["what"]] if "what" in said else []
    if cost := said.get("cost"):
        parts.append(Cost.from_json(cost).words)
    parts += [f"spent {decimal_up(Fraction(said['spent']))}"] if "spent" in said else []
    parts += [f"{name} {said[name][:_DIGEST]}" for name in ("request", "release") if said.get(name)]
    return ", ".join(parts)


def verified(faults: Sequence[str], *, with_head: bool) -> None:
    """What is wrong, or that nothing is."""
    for fault in faults:
        out.print(escape(fault), soft_wrap=True)
    if not faults:
        out.print(
            "Every entry is as it was written, and follows from those before it."
            + ("" if with_head else " Give --head to tell whether it was put back or written anew.")
        )


def key_made(path: Path, public: str) -> None:
    """Where a private key is, and the public one."""
    out.print(
        f"Wrote the private key to {escape(str(path))}; keep it away from the ledger, and tell "
        f"others the public key:\n{public}",
        soft_wrap=True,
    )


def _number(amount: Fraction | None) -> str:
    from understudy.privacy.accounting.budget import decimal_up

    return "–" if amount is None else decimal_up(amount)
