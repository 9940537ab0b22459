"""What a law of a number is made of: a regression of responses z on the rows of a design X.

Arrays alone: the law of a column (`number_law`) makes z and X of records, and cuts what is large.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.column_model import Floats, Theta

Integers = NDArray[np.int64]


class Regression(Protocol):
    """A regression with a proper prior. Of n records; p is the number of columns of X."""

    def draws(
        self, responses: Floats, design: Floats, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws from the posterior under record weights. CONFIDENTIAL.

        Args:
            responses: z, shape (n,).
            design: X, its first column 1, shape (n, p).
            weights: α in [0, 1], shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.

        Returns:
            Arrays with a leading axis (S,).
        """
        ...

    def log_likelihoods(self, draws: Theta, responses: Floats, design: Floats) -> Floats:
        """Log f(z_i | x_i, θ_s), shape (S, n). CONFIDENTIAL."""
        ...

    def log_contributions(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        """Log c_i(θ_s): 0 at α = 0 and log f at α = 1, shape (S, n). CONFIDENTIAL."""
        ...

    def numbers(self, theta: Theta, design: Floats, uniforms: Floats) -> Floats:
        """New responses, a function of the arguments alone.

        Args:
            theta: one draw, without leading axis.
            design: X of the new records.
            uniforms: in (0, 1), shape (2, n): for the component and for the number.
        """
        ...

    def labels(self, theta: Theta, responses: Floats, design: Floats, uniforms: Floats) -> Integers:
        """Components of records given their own responses. CONFIDENTIAL.

        Args:
            theta: one draw.
            responses: z, shape (n,).
            design: X, shape (n, p).
            uniforms: in (0, 1), shape (n,).
        """
        ...

    def labelled(self, theta: Theta, design: Floats, labels: Integers, uniforms: Floats) -> Floats:
        """New responses from given components. CONFIDENTIAL if the labels are.

        Args:
            theta: one draw.
            design: X of the new records.
            labels: a component each; -1 has one drawn by its probability.
            uniforms: as in `numbers`.
        """
        ...
