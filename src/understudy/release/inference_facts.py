"""What inference needs to know of how the sets were made: facts that stand in the manifest.

They are copied from the method when a release is made. Whoever reads the release asks the manifest,
so that it stays what it was when methods change, and no method is needed to read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from understudy.functions.declared_network import Edge

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
