"""The cost that a run may have, and the ledger of the population that it is charged to.

A schema that names its population (`[ledger] population = "…"`) is governed: no run touches its
rows without a reservation in that population's ledger.

What has no finite cost is refused before anything is spent: seeded noise, methods without a
guarantee, published forms that leave statistics unpaid, and schemas with entries that were read off
the rows.

**What a run spends, entered in the ledger of its population before it is spent.**

1. the whole budget of the run is reserved, durably, before its first charge;
2. each charge of the gate is noted there, durably, after the checkpoint has it and before anything
   is computed, with what the run has cost if it ends there (`dp.accountant.RunCost`) and the digest
   of the checkpoint up to it: a checkpoint that was rolled back or cut lacks charges that the
   ledger has, and is refused;
3. when all is measured the reservation settles to what was charged, and a release that is saved
   enters its checksum before it appears under its name.

A run that dies leaves its reservation open: it counts whole until the run is continued, or voided
by `understudy ledger void`, which keeps what was charged.

**Maps and evaluations of governed rows, entered in the ledger of their population.**

They compare with confidential rows, so they are outside ε and stay inside. The ledger has them with
the sum of what the releases behind them cost, which counts against the caps once one is published
(`understudy ledger publish`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from understudy.checkpoint.journal import Journal
from understudy.checkpoint.replay import is_checkpoint
from understudy.dp.accountant import Entry, RunCost
from understudy.dp.budget import Budget
from understudy.dp.guarantee import Guarantee, drafted_leaks
from understudy.errors import CheckpointError, LedgerError
from understudy.ledger.account import NOTHING, Cost
from understudy.ledger.reservation import Reservation, Standing
from understudy.release.consistency import stated_budget
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.workflow.options import RunOptions

if TYPE_CHECKING:
    from understudy.ledger.ledger import PopulationLedger


LEDGER_VARIABLE: Final = "UNDERSTUDY_LEDGER"
BY_VARIABLE: Final = "UNDERSTUDY_BY"


@dataclass(frozen=True)
class ChargedPopulation:
    """The population that a table is of, in its ledger.

    Attributes:
        ledger: open.
        population: its name.
        by: who spends, as the steward's system says; "" if it does not.
    """

    ledger: PopulationLedger
    population: str
    by: str


def account_of(
    schema: Schema, ledger: str | Path | None, by: str | None = None
) -> ChargedPopulation | None:
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
    from understudy.ledger.ledger import PopulationLedger

    opened = PopulationLedger.open(str(url))
    opened.population(population)
    told = os.environ.get(BY_VARIABLE, "") if by is None else by
    return ChargedPopulation(opened, population, told)


@dataclass(frozen=True)
class Outlay:
    """The cost that a run may have, and the account that it is charged to.

    Attributes:
        cost: all that it may cost.
        account: None where no ledger governs the rows.
        reserved: number of the reservation that was made for the run beforehand; None for none.
    """

    cost: Cost
    account: ChargedPopulation | None
    reserved: int | None = None

    @property
    def identity(self) -> dict[str, str]:
        """Part of it that identifies a request, so that its checkpoint is of this ledger alone."""
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
    run: RunOptions,
    *,
    spend: Fraction | None = None,
    private: bool = True,
    room: bool = True,
    selected: bool = False,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Outlay:
    """Settle what a run may cost; refuse before rows are read what the population cannot bear.

    Args:
        schema: of the table.
        budget: whose unit the cost is in.
        run: its ledger, who spends, the source of its noise, what was reserved for it, and its
            checkpoint: one that an earlier run left has its reservation.
        spend: what it may cost; all of the budget if None.
        private: whether its method has a guarantee.
        room: whether the caps must have room for it now.
        selected: whether it is the best of tries, which with δ costs an ε and a δ in no other unit.
        options: of the method.

    Raises:
        LedgerError: as `account_of`; something without a finite cost; or a cap that it would pass.
    """
    amount = budget.amount if spend is None else spend
    cost = Cost(budget.accounting, amount, schema.neighbours)
    if selected and budget.delta:
        cost = Cost("pure", budget.epsilon, schema.neighbours, budget.delta)
    account = account_of(schema, run.ledger, run.by)
    if account is None:
        if run.reservation is not None:
            raise LedgerError("A reservation stands in a ledger, and none governs this table.")
        return Outlay(cost, None)
    for holds, what in (
        (run.secure, "Noise from a seed can be taken off"),
        (private, "A method without a guarantee has no ε"),
        (options.get("mode") != "paper", "A published form may leave statistics unpaid"),
    ):
        if not holds:
            raise LedgerError(f"{what}, so the ledger of {account.population!r} refuses it.")
    if room and (run.place is None or not is_checkpoint(run.place)):
        if run.reservation is None:
            account.ledger.require(account.population, cost)
        else:
            _require_untouched(
                account.ledger.reservation(run.reservation), account.population, cost
            )
    return Outlay(cost, account, run.reservation)


def _require_untouched(reservation: Reservation, population: str, cost: Cost) -> None:
    """Refuse a reservation that is not of this cost, or that a run has begun to spend."""
    if (reservation.population, reservation.cost) != (population, cost):
        raise LedgerError(
            f"Reservation {reservation.number} is for {reservation.cost.words} of "
            f"{reservation.population!r}, and this run may cost {cost.words} of {population!r}; "
            "reserve anew."
        )
    standing = reservation.standing
    if standing.state != "open" or standing.charges:
        state = standing.state if standing.state != "open" else "being spent by another run"
        raise LedgerError(f"Reservation {reservation.number} is {state}; reserve anew.")


_OWN: Final = "reservation"
_NEW: Final = Standing("open", 0, Fraction(0), "", "")


@dataclass
class RunSpending:
    """The spending of one run, as its population's ledger is told; without one nothing happens.

    Attributes:
        reservation: in that ledger; None where none governs the table.
        journal: of the run, if it has one.
        known: how the reservation stood when this run began.
        cost: of the run so far.
        noted: charges so far.
        settled: whether nothing more can be charged.
        charged: whether this run has charged anything.
        by: who spends.
    """

    reservation: Reservation | None = None
    journal: Journal | None = None
    known: Standing = _NEW
    cost: RunCost = field(default_factory=lambda: RunCost("pure", None))
    noted: int = 0
    settled: bool = False
    charged: bool = False
    by: str = ""

    def note(self, entry: Entry) -> None:
        """Enter a charge, before anything is computed for it.

        Raises:
            LedgerError: no finite cost, or a reservation that is closed, or charged by another run.
            CheckpointError: the checkpoint says another thing than the ledger.
        """
        if self.reservation is None:
            return
        if not entry.spent:
            raise LedgerError(
                "A step without a finite cost was asked for, which the ledger of a population "
                "refuses; nothing was computed for it."
            )
        self.cost.add(entry.spent, entry.mechanism, entry.sensitivity)
        self.noted += 1
        if self.noted > self.known.charges:
            journal = self.journal.digest if self.journal else ""
            spent = self._reserved_cost(self.cost.total)
            try:
                self.reservation.charge(spent, journal, number=self.noted)
            except LedgerError:
                with suppress(CheckpointError, LedgerError):  # where that fails the charge counts
                    if self.journal and self.reservation.charges < self.noted:
                        self.journal.withdraw(entry)
                raise
            self.charged = True
            return
        if self.noted == self.known.charges:
            # Older versions noted the sum of prices.
            sums = map(self._reserved_cost, (self.cost.total, self.cost.prices))
            noted = {*map(self.reservation.round_spent, sums)}
            if self.known.spent not in noted:
                raise _rolled_back()

    def _reserved_cost(self, total: Fraction) -> Fraction:
        """Cost of the run so far as its reservation counts it: of a selection with δ all."""
        reserved = self.reservation.cost if self.reservation else None
        return reserved.amount if reserved is not None and reserved.delta else total

    def settle(self, guarantee: Guarantee, made: Mapping[str, Any]) -> None:
        """Settle to what was charged, when all is measured.

        Args:
            guarantee: of what was made.
            made: what will be published, as plain data; its digest is entered.

        Raises:
            LedgerError: what was measured has no finite cost after all; it is not given out.
        """
        if self.reservation is None:
            return
        if guarantee.epsilon is None or guarantee.leaks:
            self.reservation.void(by=self.by)
            self.settled = True
            raise LedgerError(
                "This form leaves statistics unpaid, which the ledger of a population refuses; "
                f"nothing is given out, and what was charged counts. {' '.join(guarantee.leaks)}"
            )
        self.reservation.commit(digest_of(made), by=self.by)
        self.settled = True

    @property
    def entered(self) -> Callable[[str], None] | None:
        """Enters the checksum of a release that is about to appear under its name."""
        if self.reservation is None:
            return None
        return partial(self.reservation.commit, by=self.by)


@contextmanager
def reserve_cost(
    outlay: Outlay,
    what: str,
    request: Mapping[str, Any],
    journal: Journal | None = None,
    *,
    left: Fraction | None = None,
) -> Iterator[RunSpending]:
    """Reserve what a run may cost, or go on with what an earlier run reserved.

    A run that ends in an error settles to what was charged, unless a checkpoint holds what came of
    it: then the reservation stays open for the run that continues. One that was made beforehand
    stays open as well, as long as this run has charged nothing: it was approved, and another run
    may be spending it.

    Args:
        outlay: what it may cost, and the account that it is charged to.
        what: "release", "regression", "question" or "verdict".
        request: what is asked for, as plain public data.
        journal: of the run, if it has one.
        left: what the ledger of the run allows before its first step; what it may cost if None.

    Raises:
        LedgerError: a cap would be exceeded, or what is reserved is for another request.
        CheckpointError: the checkpoint lacks what the ledger has, or its reservation is voided or
            not the one that the run names.
    """
    account = outlay.account
    if account is None:
        yield RunSpending()
        return
    reservation, known = _resume_reservation(account, journal) or (None, _NEW)
    if reservation is None:
        reservation = _take_reservation(outlay, account, what, digest_of(request))
        if journal is not None:
            journal.note(**{_OWN: reservation.number})
    elif outlay.reserved not in (None, reservation.number):
        raise CheckpointError(
            f"This checkpoint goes on with reservation {reservation.number}; name that one, or "
            "none."
        )
    cost = RunCost(outlay.cost.accounting, outlay.cost.amount if left is None else left)
    kept = RunSpending(reservation, journal, known, cost, by=account.by)
    try:
        yield kept
    except BaseException as error:
        own = outlay.reserved is None or kept.charged
        if own and not kept.settled and not (journal and journal.begun):
            _void(reservation, account.by, error)
        raise


def _void(reservation: Reservation, by: str, error: BaseException) -> None:
    """Close the reservation of a run that an error ends; if that fails, the error says so."""
    try:
        reservation.void(by=by)
    except LedgerError:
        error.add_note(f"Reservation {reservation.number} could not be closed and counts whole.")


def _take_reservation(
    outlay: Outlay, account: ChargedPopulation, what: str, request: str
) -> Reservation:
    """Take the reservation that was made for this very request beforehand, or make one."""
    if outlay.reserved is None:
        return account.ledger.reserve(
            account.population, outlay.cost, what, request=request, by=account.by
        )
    reservation = account.ledger.reservation(outlay.reserved)
    _require_untouched(reservation, account.population, outlay.cost)
    if (reservation.what, reservation.request) != (what, request):
        raise LedgerError(
            f"Reservation {reservation.number} is for another request than this: schema, "
            "questions, plan, seed or version have changed since; reserve anew."
        )
    return reservation


def _resume_reservation(
    account: ChargedPopulation, journal: Journal | None
) -> tuple[Reservation, Standing] | None:
    """The reservation of a checkpoint that has the charges of the ledger, and how it stands."""
    number = None if journal is None else journal.notes.get(_OWN)
    if journal is None or number is None:
        return None
    reservation = account.ledger.reservation(int(number))
    standing = reservation.standing
    if standing.state == "void":
        raise CheckpointError(
            f"Reservation {number} of this checkpoint was voided, so that it cannot be continued; "
            "what was charged counts. Remove the checkpoint and ask anew."
        )
    have, known = journal.digests_of_charges, standing.charges
    if known and (len(have) < known or have[known - 1] != standing.anchor):
        raise _rolled_back()
    return reservation, standing


def _rolled_back() -> CheckpointError:
    return CheckpointError(
        "The checkpoint is not the one that the ledger saw last: it was rolled back, cut or "
        "reordered, so that noise would be drawn twice for one charge; it cannot be continued, and "
        "what was charged counts."
    )


def digest_of(request: Mapping[str, Any]) -> str:
    """Return what a ledger knows a request by.

    Args:
        request: what is asked for, as plain public data.
    """
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def enter_evaluation(release: Release, what: str, ledger: str | Path | None) -> None:
    """Enter a comparison of a release with its rows, before they are read; nothing if ungoverned.

    Args:
        release: that is compared.
        what: in a few words.
        ledger: as in `understudy.workflow.governance.account_of`.

    Raises:
        LedgerError: as there.
    """
    promised = release.guarantee.epsilon is not None and not release.guarantee.leaks
    counts = promised and release.manifest.composes
    budgets = [stated_budget(release.manifest.budget)] if counts else None
    enter_use(release.schema, what, budgets, ledger)


def enter_use(
    schema: Schema, what: str, budgets: Sequence[Budget] | None, ledger: str | Path | None
) -> None:
    """Enter what looks at rows and stays inside.

    Args:
        schema: of the rows.
        what: in a few words.
        budgets: of the releases behind it; None where one of them has none.
        ledger: as in `understudy.workflow.governance.account_of`.

    Raises:
        LedgerError: as there.
    """
    account = account_of(schema, ledger)
    if account is not None:
        cost = None if budgets is None else _together(budgets, schema)
        account.ledger.internal(account.population, what, cost, by=account.by)


def _together(budgets: Sequence[Budget], schema: Schema) -> Cost:
    """The sum: in ε where all are pure, else in ρ, where ε counts ε²/2 and μ counts μ²/2."""
    costs = (Cost(budget.accounting, budget.amount, schema.neighbours) for budget in budgets)
    total = sum((cost.amounts for cost in costs), NOTHING)
    if total.pure is not None:
        return Cost("pure", total.pure, schema.neighbours)
    assert total.zcdp is not None, "every budget has a finite ρ"
    return Cost("zcdp", total.zcdp, schema.neighbours)
