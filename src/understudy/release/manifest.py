"""How a release was made, for people and machines; it says nothing about the input file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from understudy.privacy.accounting.guarantee import Guarantee


@dataclass(frozen=True)
class Manifest:
    """How a release was made. It says nothing about the input file.

    Attributes:
        method: name in the table of methods.
        options: every option of the method, defaults included.
        reason: why this method, where it was chosen automatically; else "".
        sets: number of synthetic tables.
        sets_kind: "free": all drawn from one paid-for fit; "split": each has its own fit and its
            own share of the budget.
        n_rows: rows of each synthetic table.
        rows_obtained: how that number was obtained.
        guarantee: what is promised.
        budget: the stated budget, as decimals.
        ledger: every paid step, as plain data.
        secure: whether the noise came from the operating system's entropy.
        sampling_seed: seed of the sampling after the last paid step; None if it was not seeded.
        software: versions.
        rows_share: part of the budget that bought the number of rows, as a fraction; None where
            nothing was bought, or in a release that does not say.
        ended_early: whether whoever waited ended the rounds of the method before the budget did;
            the ledger then holds less than the budget, and the guarantee is no worse for it.
    """

    method: str
    options: dict[str, Any]
    reason: str
    sets: int
    sets_kind: str
    n_rows: int
    rows_obtained: str
    guarantee: Guarantee
    budget: dict[str, str]
    ledger: tuple[dict[str, Any], ...]
    secure: bool
    sampling_seed: int | None
    software: dict[str, str]
    ended_early: bool = False
    rows_share: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "guarantee": self.guarantee.to_json(), "ledger": list(self.ledger)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Manifest:
        """Read back what `to_json` wrote."""
        guarantee = Guarantee.from_json(data["guarantee"])
        return cls(**{**data, "guarantee": guarantee, "ledger": tuple(data["ledger"])})
