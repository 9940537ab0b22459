"""What was made without a ledger: a release, or a run that was interrupted, and what it cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from understudy.arguments import path_of
from understudy.errors import LedgerError
from understudy.populations.costs import Cost
from understudy.privacy.accounting.budget import Accounting, Approximate, Budget
from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.accounting.run_cost import RunCost
from understudy.privacy.checkpoint import left_run as journals
from understudy.privacy.checkpoint.json_values import unpack
from understudy.release import Release
from understudy.release.bundle import digest
from understudy.release.place import MANIFEST
from understudy.release.promise_check import stated_budget
from understudy.release.stage_costs import stage_costs

_NO_PROMISE = ("none", "asymptotic")


@dataclass(frozen=True)
class PastRelease:
    """Something that was made without a ledger.

    Attributes:
        cost: all that it has spent, as it ended.
        digest: SHA-256 of its manifest, or of its journal, by which it is known.
        interrupted: whether it is a run that made no release.
        amended: digest of each release that it amends, with what was spent by then; oldest first.
        what: is made.
    """

    cost: Cost
    digest: str
    interrupted: bool = False
    amended: tuple[tuple[str, Fraction], ...] = ()
    what: Literal["release"] = "release"

    def beyond(self, known: Collection[str]) -> Cost:
        """What it cost beyond the releases that it amends, as far as these are entered.

        Args:
            known: digests that are entered.
        """
        before = [spent for digest, spent in self.amended if digest in known]
        return self.cost.of(self.cost.amount - max(before, default=Fraction(0)))

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "interrupted run" if self.interrupted else "release"


def past_release(folder: str | Path) -> PastRelease:
    """A release, or the checkpoint of an interrupted run, after checking that it is one.

    Args:
        folder: of the release, or of the checkpoint.

    Raises:
        ReleaseError: neither, or a release that does not fit itself.
        CheckpointError: a checkpoint that cannot be read, or in use.
        LedgerError: it has no finite cost, or has spent nothing.
    """
    place = path_of("The folder of a release", folder, LedgerError)
    return _interrupted(place) if journals.is_checkpoint(place) else _released(place)


def manifest_digest(folder: Path) -> str:
    """The digest by which a release is known to a ledger: SHA-256 of its manifest, in hex."""
    return digest(folder / MANIFEST).removeprefix("sha256:")


def _released(place: Path) -> PastRelease:
    manifest = Release.load(place).manifest
    promise = manifest.guarantee
    if promise.kind in _NO_PROMISE or promise.leaks:
        why = promise.brief if promise.kind in _NO_PROMISE else "it left something in, unpaid"
        raise LedgerError(
            f"The release {str(place)!r} has no finite cost ({why}), so no ledger can count it: "
            "what is known of these people has no bound."
        )
    accounting = stated_budget(manifest.budget).accounting
    *before, cost = stage_costs(manifest)
    parents = [one.parent.removeprefix("sha256:") for one in manifest.amendments]
    return PastRelease(
        Cost(accounting, cost, promise.neighbours),
        manifest_digest(place),
        amended=tuple(zip(parents, before, strict=True)),
    )


def _interrupted(place: Path) -> PastRelease:
    request, records, known_by = journals.read(place)
    if "ledger" in request:
        raise LedgerError(
            f"The run of the checkpoint {str(place)!r} is charged to a ledger already; go on with "
            "it by --resume, or close its reservation by understudy ledger void."
        )
    if "neighbours" not in request:
        raise LedgerError(
            f"The checkpoint {str(place)!r} was made by an older version and does not say which "
            "tables are neighbours; go on with it there, and enter its release."
        )
    entries: list[Entry] = [
        unpack(record["entry"]) for record in records if record["kind"] == "charge"
    ]
    if any(entry.spent is None for entry in entries):
        raise LedgerError(
            f"The run of the checkpoint {str(place)!r} has paid for a step without a finite cost, "
            "so no ledger can count it."
        )
    accounting: Accounting = request["accounting"]
    spent = RunCost(accounting, _budget_of(request))
    for entry in entries:
        spent.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)
    cost = Cost(accounting, spent.total, request["neighbours"])
    return PastRelease(cost, known_by, interrupted=True)


def _budget_of(request: Mapping[str, Any]) -> Fraction | None:
    """All that an interrupted run could spend; None where a program of its own made it."""
    if "epsilon" not in request:
        return None
    unit: Approximate = "gdp" if request["accounting"] == "gdp" else "zcdp"
    return Budget.of(request["epsilon"], request.get("delta", 0), unit).amount
