"""How a release was made, for people and machines; it says nothing about the input file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from understudy.functions.declared_network import Edge
from understudy.privacy.accounting.guarantee import Guarantee

PosteriorRule = Literal["partial", "mi"]


@dataclass(frozen=True)
class InferenceFacts:
    """How the sets were made, as far as it matters to whoever computes with them.

    Attributes:
        posterior_rule: the rule that combines posterior sets: "partial" where parameters were drawn
            anew for each set, "mi" where noise was drawn anew on top of noise that all sets share
            (`understudy.inference.choice.rule_table`); None for other kinds of sets.
        swept: whether records were drawn column by column from rows that contradict each other, or
            that were pulled towards an even spread, so that sets keep no table as it was measured.
        shrunk: whether a penalty makes relations between columns weaker, in every set alike.
        independent: whether columns were drawn independently of each other.
        modelled: numeric columns of which a model drew the numbers, not only the bins.
        network: the Bayesian network that sets were drawn from, each column with its parents, which
            stand before it; None without one.
        prior_weight: records that were added to each cell of a measured table.
        leaves_only: whether records were drawn from the cells of the full table alone, where it was
            measured, whatever tables stand above it.
    """

    posterior_rule: PosteriorRule | None = None
    swept: bool = False
    shrunk: bool = False
    independent: bool = False
    modelled: tuple[str, ...] = ()
    network: tuple[Edge, ...] | None = None
    prior_weight: float = 0.0
    leaves_only: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        edges = [{"column": name, "parents": list(given)} for name, given in self.network or ()]
        network = None if self.network is None else edges
        return {**vars(self), "modelled": list(self.modelled), "network": network}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> InferenceFacts:
        """Read back what `to_json` wrote."""
        edges, network = data["network"], None
        if edges is not None:
            network = tuple((one["column"], tuple(one["parents"])) for one in edges)
        return cls(**{**data, "modelled": tuple(data["modelled"]), "network": network})


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
        inference: what whoever computes with the sets must know of how they were made.
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
    inference: InferenceFacts
    ended_early: bool = False
    rows_share: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data, in the present format."""
        return {
            **vars(self),
            "guarantee": self.guarantee.to_json(),
            "ledger": list(self.ledger),
            "inference": self.inference.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], inference: InferenceFacts) -> Manifest:
        """Read back what `to_json` wrote.

        Args:
            data: plain data, in any format that is read.
            inference: what it says for inference, or format 1 left unsaid (`format_1`).
        """
        guarantee, ledger = Guarantee.from_json(data["guarantee"]), tuple(data["ledger"])
        own = {"guarantee": guarantee, "ledger": ledger, "inference": inference}
        return cls(**{**data, **own})
