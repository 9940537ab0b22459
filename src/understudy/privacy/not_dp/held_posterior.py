"""A fitted posterior that a gate holds, so that each set gets another draw of the same fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.not_dp.record_weights import nominal_epsilon
from understudy.privacy.not_dp.weighted_posterior import FittedPosterior, PseudoPosterior
from understudy.privacy.samplers.column_model import Theta


@dataclass(frozen=True, eq=False, repr=False)
class HeldPosterior:
    """CONFIDENTIAL.

    Attributes:
        mechanism: what was fitted; public.
        fitted: its draws and weights.
        rows: numbers of the rows that it was fitted to, shape (n,).
        turns: the draws that are not given out yet.
    """

    mechanism: PseudoPosterior
    fitted: FittedPosterior
    rows: NDArray[np.int64]
    turns: Iterator[Theta]

    @classmethod
    def of(
        cls, mechanism: PseudoPosterior, fitted: FittedPosterior, rows: NDArray[np.int64]
    ) -> HeldPosterior:
        """Before the first draw is given out."""
        kept = range(len(fitted.order))
        return cls(mechanism, fitted, rows, (fitted.draw(k) for k in kept))


def printed_bounds(
    bounds: Sequence[float], neighbours: Neighbours = "add_remove"
) -> tuple[str, ...]:
    """What the published form leaves in: components given the values, and the bounds it prints.

    Args:
        bounds: Δ_α that is printed, one for each set; equal for sets of one fit.
        neighbours: which tables count as neighbours.
    """
    if not bounds:
        return ()
    m, bound = len(bounds), max(bounds)
    one = nominal_epsilon(bound, neighbours=neighbours)
    total = sum(nominal_epsilon(each, neighbours=neighbours) for each in bounds)
    how = "2mΔ" if neighbours == "add_remove" else "4mΔ, twice that of a record added or removed"
    return (
        "Each synthetic value came from a component that was drawn given the confidential value of "
        "the same record, and so depends on it beyond the parameters; no argument covers that.",
        f"As published, the Lipschitz bound of these very rows is printed: Δ = {bound:.4g}. The "
        f"source would call {one:.4g} the ε of a set, and {total:.4g} that of all {m} ({how}); it "
        "is a figure for comparing settings, read off the rows without noise, and no bound.",
    )
