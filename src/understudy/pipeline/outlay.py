"""What a run may cost, and the ledger of the population that it is charged to.

A schema that names its population (`[ledger] population = "…"`) is governed: no run touches its
rows without a reservation in that population's ledger (`understudy.pipeline.run_spending`).

What has no finite cost is refused before anything is spent: seeded noise, methods without a
guarantee, published forms that leave statistics unpaid, and schemas with entries that were read off
the rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from understudy.errors import LedgerError
from understudy.populations.costs import Cost
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.accounting.guarantee import drafted_leaks
from understudy.privacy.checkpoint.left_run import is_checkpoint
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.populations.population_ledger import PopulationLedger

LEDGER_VARIABLE: Final = "UNDERSTUDY_LEDGER"
BY_VARIABLE: Final = "UNDERSTUDY_BY"


@dataclass(frozen=True)
class Account:
    """The population that a table is of, in its ledger.

    Attributes:
        ledger: open.
        population: its name.
        by: who spends, as the steward's system says; "" if it does not.
    """

    ledger: PopulationLedger
    population: str
    by: str


def account_of(schema: Schema, ledger: str | Path | None, by: str | None = None) -> Account | None:
    """The account that a run on a table is charged to; None where no ledger governs it.

    Args:
        schema: of the table.
        ledger: URL or path of the ledger; None for the one that the environment names in
            `UNDERSTUDY_LEDGER`.
        by: who spends; None for what the environment says in `UNDERSTUDY_BY`.

    Raises:
        LedgerError: one without the other, a ledger that cannot be reached, or an unknown
            population; or entries of the schema that were read off the rows.
    """
    population = schema.ledger.population
    if ledger is None and not population:
        return None  # also where the environment names a ledger: it governs tables that say so
    url = ledger or os.environ.get(LEDGER_VARIABLE) or None
    if url is None:
        raise LedgerError(
            f"This table is of the population {population!r}, whose ledger governs its budget; "
            f"name the ledger by --ledger (ledger=), or in {LEDGER_VARIABLE}."
        )
    if not population:
        raise LedgerError(
            "A ledger is named, but the schema does not say which population the rows are of; add "
            '[ledger] with population = "…" to it.'
        )
    if leaks := drafted_leaks(schema):
        raise LedgerError(f"What is read off the rows has no finite cost. {leaks[0]}")
    from understudy.populations.population_ledger import PopulationLedger

    opened = PopulationLedger.open(str(url))
    opened.population(population)
    told = os.environ.get(BY_VARIABLE, "") if by is None else by
    return Account(opened, population, told)


@dataclass(frozen=True)
class Outlay:
    """What a run may cost, and the account that it is charged to.

    Attributes:
        cost: all that it may cost.
        account: None where no ledger governs the rows.
    """

    cost: Cost
    account: Account | None

    @property
    def identity(self) -> dict[str, str]:
        """What of it belongs to a request, so that its checkpoint is of this ledger alone."""
        if self.account is None:
            return {}
        return {"ledger": self.account.ledger.id, "population": self.account.population}

    def require_entered(self, release: str) -> None:
        """Refuse to add to a release that the ledger does not count.

        Args:
            release: digest of its manifest.

        Raises:
            LedgerError: it is not entered.
        """
        if self.account and not self.account.ledger.knows(self.account.population, release):
            raise LedgerError(
                f"The ledger of {self.account.population!r} does not count this release, so no "
                "answer to it can be added; enter it by understudy ledger add."
            )


def outlay_of(
    schema: Schema,
    budget: Budget,
    ledger: str | Path | None,
    by: str | None,
    *,
    spend: Fraction | None = None,
    secure: bool = True,
    private: bool = True,
    options: Mapping[str, Any] = MappingProxyType({}),
    checkpoint: Path | None = None,
) -> Outlay:
    """What a run may cost; refused here, before rows are read, if its population cannot bear it.

    Args:
        schema: of the table.
        budget: whose unit the cost is in.
        ledger: as in `account_of`.
        by: as in `account_of`.
        spend: what it may cost; all of the budget if None.
        secure: whether its noise is drawn from a secure source.
        private: whether its method has a guarantee.
        options: of the method.
        checkpoint: place of it; one that an earlier run left has its reservation.

    Raises:
        LedgerError: as `account_of`; something without a finite cost; or a cap that it would pass.
    """
    amount = budget.amount if spend is None else spend
    cost = Cost(budget.accounting, amount, schema.neighbours)
    account = account_of(schema, ledger, by)
    if account is None:
        return Outlay(cost, None)
    for holds, what in (
        (secure, "Noise from a seed can be taken off"),
        (private, "A method without a guarantee has no ε"),
        (options.get("mode") != "paper", "A published form may leave statistics unpaid"),
    ):
        if not holds:
            raise LedgerError(f"{what}, so the ledger of {account.population!r} refuses it.")
    if checkpoint is None or not is_checkpoint(checkpoint):
        account.ledger.require(account.population, cost)
    return Outlay(cost, account)
