"""A fitted posterior that a gate holds, so that each set gets another draw of the same fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
