"""Methods whose published form makes each set by itself: m runs at ε/m, with choices of their own.

A method chooses what it measures once for all sets, since a choice costs as much whatever it is
used for. The papers on STEPS and PrivBayes divide the whole budget by the number of sets instead
and make each from the beginning. `mode=paper` does that, by running `fit` once for each set, so
that nothing but the budget is shared. What else it stands for is said by the method.

Source: Bowen, Liu & Su (2021), METRON 79, arXiv:1803.06763, §2.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy.families.method import PreparingMethod
from understudy.privacy.noise.perturbation import Mode


@dataclass(frozen=True, kw_only=True)
class PublishedSets(PreparingMethod):
    """A method with a published form of the kind.

    Attributes:
        mode: "strict", or "paper" for the form as published.
    """

    mode: Mode = "strict"

    def __post_init__(self) -> None:
        """As published each set is made by itself."""
        if self.mode == "paper":
            object.__setattr__(self, "sets", "split")

    @property
    def anew(self) -> bool:
        """As published each set has choices of its own."""
        return self.mode == "paper"
