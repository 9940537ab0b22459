"""What a Bayesian synthesizer is: models of columns, posteriors under record weights, and draws.

A column model says how a column is distributed given columns before it, with parameters θ that have
a proper prior. It is a frozen configuration of public numbers; rows are handed to it by a verb of
the gate, and what it makes of them is CONFIDENTIAL until that verb lets it out.

Under weights α_i in [0, 1] a record has the power α_i in the likelihood:

    p(θ) · ∏_i c_i(θ),   c_i = f(x_i | θ)^α_i,

or another c_i that is f at α = 1 and 1 at α = 0, which the model then states (a mixture's sampler).

The model of a number is made of a regression of responses z on the rows of a design X. That one
knows arrays alone: the model of the column (`numeric_column`) makes z and X of records, and cuts
what is large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.features.number_line import Drawn
from understudy.privacy.noise.randomness import Randomness

Floats = NDArray[np.float64]
Records = Mapping[str, Drawn]
"""Column → its values in n records; the same n records in all."""
Theta = Mapping[str, Floats]
"""Parameters of a column model: name → array. Arrays of S draws have a leading axis (S,)."""

CHUNK: Final = 1 << 21
"""Numbers in a chunk of a matrix of draws by records, at most (16 MiB); never less than a draw."""


class ColumnModel(Protocol):
    """The model of one column given others, with a prior."""

    @property
    def column(self) -> str:
        """Name of the column."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the columns that it is given."""
        ...

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of θ from the posterior under record weights. CONFIDENTIAL.

        Args:
            records: the column and its parents, n ≥ 0 records.
            weights: α, shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.

        Returns:
            Arrays with a leading axis (S,).
        """
        ...

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i | parents, θ_s). CONFIDENTIAL.

        Returns:
            Chunks of shape (draws in it, n), cut by `slices`, together (S, n).
        """
        ...

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """Log c_i(θ_s): what a record of weight α_i adds to the log of the target. CONFIDENTIAL.

        Returns:
            Chunks as those of `log_likelihoods`; 0 at α = 0, log f at α = 1.
        """
        ...

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """New values of the column, a function of its arguments alone.

        Args:
            theta: one draw, without leading axis.
            drawn: records of the parents at least, n each.
            uniforms: in (0, 1), shape (3, n): for the state or its kind, for the component of a
                mixture, and for the number.
        """
        ...


class StateModel(ColumnModel, Protocol):
    """The model of a column of states, or of the kinds of a numeric one."""

    @property
    def size(self) -> int:
        """How many states or kinds there are."""
        ...


def slices(draws: int, records: int, *, chunk: int = CHUNK) -> Iterator[slice]:
    """How a matrix of S draws by n records is cut, alike in all models.

    Example:
        >>> list(slices(5, 10, chunk=20))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, chunk // max(records, 1))
    for first in range(0, draws, step):
        yield slice(first, min(first + step, draws))


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
