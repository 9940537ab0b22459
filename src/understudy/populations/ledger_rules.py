"""Whether entries could have come about as they stand: caps kept, runs charged while open."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from understudy.errors import LedgerError
from understudy.populations.account import Account
from understudy.populations.costs import Cost
from understudy.populations.ledger_entries import (
    FORMAT,
    AnyEntry,
    Charged,
    Committed,
    LedgerMade,
    PopulationAdded,
    Published,
    Reserved,
    UsedInside,
    Voided,
    WaveOpened,
)
from understudy.populations.population import likeness


@dataclass
class _Run:
    """A reservation, and how far its run has come."""

    population: str
    cost: Cost
    state: str = "open"
    charges: int = 0
    spent: Fraction = Fraction(0)


@dataclass
class Rules:
    """Entries taken one after the other, each held against all that came before."""

    _accounts: dict[str, Account] = field(default_factory=dict)
    _runs: dict[int, _Run] = field(default_factory=dict)

    def take(self, entry: AnyEntry) -> str:
        """Take the next entry.

        Returns:
            What rule it breaks, after "entry 7 "; "" for none.
        """
        if (entry.number == 1) != isinstance(entry, LedgerMade):
            return "is not where the entry of the ledger itself must be"
        if isinstance(entry, LedgerMade):
            return "" if entry.format == FORMAT else "has an unknown format"
        if isinstance(entry, PopulationAdded):
            return self._add(entry)
        account = self._accounts.get(entry.population)
        if account is None:
            return "is of a population that was not there"
        try:
            return self._of(entry, account)
        except LedgerError as error:
            return f"breaks a cap or a rule of its population: {str(error).rstrip('.')}"

    def _of(
        self,
        entry: WaveOpened | Reserved | UsedInside | Published | Charged | Committed | Voided,
        account: Account,
    ) -> str:
        match entry:
            case WaveOpened():
                return "" if account.open_wave() == entry.wave else "opens another wave"
            case Reserved():
                account.require(entry.cost)
                account.reserve(entry.number, entry.cost)
                self._runs[entry.number] = _Run(entry.population, entry.cost)
            case UsedInside():
                account.keep_inside(entry.number, entry.cost)
            case Published():
                account.require_publishable(entry.internal)
                account.publish(entry.internal)
            case _:
                return self._go_on(entry, account)
        return ""

    def _add(self, entry: PopulationAdded) -> str:
        taken = any(likeness(name) == likeness(entry.population) for name in self._accounts)
        if taken or entry.declared.name != entry.population:
            return "adds a population under a name that is another's"
        self._accounts[entry.population] = Account(entry.declared)
        return ""

    def _go_on(self, entry: Charged | Committed | Voided, account: Account) -> str:
        run = self._runs.get(entry.reservation)
        if run is None or run.population != entry.population:
            return "is about a reservation that was not there"
        if isinstance(entry, Charged):
            return _charge(run, entry)
        again = run.state == "committed" and isinstance(entry, Committed)
        if run.state != "open" and not again:
            return "closes a reservation that was closed"
        if entry.spent != run.spent:
            return "settles a reservation to another sum than was charged"
        run.state = "committed" if isinstance(entry, Committed) else "void"
        account.settle(entry.reservation, entry.spent)
        return ""


def _charge(run: _Run, entry: Charged) -> str:
    if run.state != "open":
        return "charges a reservation that was closed"
    if entry.charge != run.charges + 1 or entry.spent < run.spent:
        return "is no charge that follows the one before it"
    if entry.spent > run.cost.amount:
        return "charges more than was reserved"
    run.charges, run.spent = entry.charge, entry.spent
    return ""
