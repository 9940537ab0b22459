"""What a run spends, entered in the ledger of its population before it is spent.

1. the whole budget of the run is reserved, durably, before its first charge;
2. each charge of the gate is noted there, durably, after the checkpoint has it and before anything
   is computed, with what the run has cost if it ends there (`accounting.run_cost`) and the digest
   of the checkpoint up to it: a checkpoint that was rolled back or cut lacks charges that the
   ledger has, and is refused;
3. when all is measured the reservation settles to what was charged, and a release that is saved
   enters its checksum before it appears under its name.

A run that dies leaves its reservation open: it counts whole until the run is continued, or voided
by `understudy ledger void`, which keeps what was charged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final

from understudy.errors import CheckpointError, LedgerError
from understudy.pipeline.outlay import Account, Outlay
from understudy.populations.reservation import Reservation, Standing
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.accounting.run_cost import RunCost
from understudy.privacy.checkpoint.journal import Journal

_OWN: Final = "reservation"
_NEW: Final = Standing("open", 0, Fraction(0), "", "")


@dataclass
class Spending:
    """What one run spends, as the ledger of its population is told; without one nothing happens.

    Attributes:
        reservation: in that ledger; None where none governs the table.
        journal: of the run, if it has one.
        known: how the reservation stood when this run began.
        cost: of the run so far.
        noted: charges so far.
        settled: whether nothing more can be charged.
        by: who spends.
    """

    reservation: Reservation | None = None
    journal: Journal | None = None
    known: Standing = _NEW
    cost: RunCost = field(default_factory=lambda: RunCost("pure", None))
    noted: int = 0
    settled: bool = False
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
            self.reservation.charge(self.cost.total, journal, number=self.noted)
            return
        if self.noted == self.known.charges:
            # Older versions noted the sum of prices.
            noted = {*map(self.reservation.kept, (self.cost.total, self.cost.prices))}
            if self.known.spent not in noted:
                raise _rolled_back()

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
        self.reservation.commit(_digest(made), by=self.by)
        self.settled = True

    @property
    def entered(self) -> Callable[[str], None] | None:
        """Enters the checksum of a release that is about to appear under its name."""
        if self.reservation is None:
            return None
        return partial(self.reservation.commit, by=self.by)


@contextmanager
def spending(
    outlay: Outlay,
    what: str,
    request: Mapping[str, Any],
    journal: Journal | None = None,
    *,
    left: Fraction | None = None,
) -> Iterator[Spending]:
    """Reserve what a run may cost, or go on with what an earlier run reserved.

    A run that ends in an error settles to what was charged, unless a checkpoint holds what came of
    it: then the reservation stays open for the run that continues.

    Args:
        outlay: what it may cost, and the account that it is charged to.
        what: "release", "regression", "question" or "verdict".
        request: what is asked for, as plain public data.
        journal: of the run, if it has one.
        left: what the ledger of the run allows before its first step; what it may cost if None.

    Raises:
        LedgerError: a cap would be exceeded.
        CheckpointError: the checkpoint lacks what the ledger has, or its reservation is voided.
    """
    account = outlay.account
    if account is None:
        yield Spending()
        return
    reservation, known = _continued(account, journal) or (None, _NEW)
    if reservation is None:
        reservation = account.ledger.reserve(
            account.population, outlay.cost, what, request=_digest(request), by=account.by
        )
        if journal is not None:
            journal.note(**{_OWN: reservation.number})
    cost = RunCost(outlay.cost.accounting, outlay.cost.amount if left is None else left)
    kept = Spending(reservation, journal, known, cost, by=account.by)
    try:
        yield kept
    except BaseException as error:
        if not kept.settled and not (journal and journal.begun):
            _void(reservation, account.by, error)
        raise


def _void(reservation: Reservation, by: str, error: BaseException) -> None:
    """Close the reservation of a run that an error ends; if that fails, the error says so."""
    try:
        reservation.void(by=by)
    except LedgerError:
        error.add_note(f"Reservation {reservation.number} could not be closed and counts whole.")


def _continued(account: Account, journal: Journal | None) -> tuple[Reservation, Standing] | None:
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


def _digest(request: Mapping[str, Any]) -> str:
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
