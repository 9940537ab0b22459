"""A linear regression as a question to the gate: what is asked, with which noise, and the answer.

The statistics and their sensitivity are in `normal_equations.py`, the noise of the mechanisms in
`functional_noise.py` and `k_norm.py`. Only records count that have a number in each of the columns.
Coefficients follow from the noisy statistics alone (`understudy.inference.private_regression`).

Example:
    >>> noise = plan(NormalEquations(1, counted=False), "replace", "functional", Fraction(1))
    >>> noise.words, round(noise.stddev, 3)
    ('Laplace, scale 5242883/1048576, on the lattice of step 1/1048576', 7.071)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError, suggestion
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.sums.functional_noise import functional_noise
from understudy.privacy.mechanisms.sums.k_norm import CubeLaplace, k_norm_noise
from understudy.privacy.mechanisms.sums.normal_equations import (
    ONE,
    NormalEquations,
    asks_count,
    exact_statistics,
)
from understudy.privacy.mechanisms.sums.scatter import MOST_NUMBERS
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.distributions import DiscreteLaplace
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC, Schema

RegressionMechanism = Literal["functional", "functional-published", "k-norm"]
MECHANISMS: dict[str, str] = {
    "functional": "functional mechanism",
    "functional-published": "functional mechanism, published bound",
    "k-norm": "K-norm mechanism",
}
"""How the ledger calls them."""
MOST_COLUMNS = 101


@dataclass(frozen=True)
class RegressionNoise:
    """The statistics of a regression, and their noise: all public.

    Attributes:
        equations: which statistics.
        share: ε of all of them together, exact.
        distribution: the noise, in lattice steps: of each statistic, or of all together.
        coarseness: whole numbers per lattice step.
        rounded_sensitivity: in lattice steps; in the L1 norm, or of the cube in L∞.
    """

    equations: NormalEquations
    share: Fraction
    distribution: DiscreteLaplace | CubeLaplace
    coarseness: int
    rounded_sensitivity: int

    @property
    def step(self) -> Fraction:
        """One lattice step, in records."""
        return Fraction(self.coarseness, ONE)

    @property
    def sensitivity(self) -> str:
        """In words, for columns scaled to [−1, 1]."""
        norm = "L∞" if isinstance(self.distribution, CubeLaplace) else "L1"
        return f"{norm} = {self.rounded_sensitivity * self.step}"

    @property
    def words(self) -> str:
        """The distribution of the noise."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.words(self.distribution, self.step)
        return (
            f"density ∝ exp(−‖v‖∞/s), s = {self.distribution.scale * self.step}, in "
            f"{self.equations.size} dimensions, on the lattice of step {self.step}"
        )

    @property
    def recorded(self) -> Noise:
        """What the released value says about the noise in each number."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.recorded(self.distribution, self.step)
        scale = str(self.distribution.scale * self.step)
        return Noise(self.distribution.name, scale, self.distribution.stddev * float(self.step))

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise in each statistic, in records."""
        return self.recorded.stddev


@dataclass(frozen=True)
class NoisyRegression:
    """Noisy normal equations of columns that are scaled to [−1, 1] by their bounds.

    Attributes:
        columns: predictors, then the response.
        bounds: lower and upper bound of each (dates: days since 1970-01-01).
        equations: which statistics, in which order.
        statistics: shape (size,), in records.
        n_rows: public number of records, where it is not one of the statistics.
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    equations: NormalEquations
    statistics: NDArray[np.float64]
    n_rows: int | None


@dataclass(frozen=True, kw_only=True)
class Regression(Mechanism[Released[NoisyRegression], RegressionNoise]):
    """Noisy normal equations of a linear regression with an intercept.

    The answer is none of the measurements that a release publishes, since no synthesis rests on it.

    Attributes:
        response: name of a numeric column.
        predictors: names of other numeric columns, at least one.
        mechanism: "k-norm", "functional", or "functional-published" with the published bound.
    """

    name: ClassVar[str] = "linear regression"

    response: str
    predictors: tuple[str, ...]
    mechanism: RegressionMechanism = "k-norm"

    @property
    def columns(self) -> tuple[str, ...]:
        """Predictors, then the response."""
        return (*self.predictors, self.response)

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[RegressionNoise], ...]:
        """One step, in ε, under the name of the mechanism.

        Raises:
            MethodError: columns or a mechanism that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        perturbation.require_pure(terms.accounting)
        terms.require(spend)
        _require(terms.schema, self)
        counted = asks_count(terms.schema, self.columns)
        equations = NormalEquations(len(self.predictors), counted)
        noise = plan(equations, terms.neighbours, self.mechanism, spend)
        charge = Charge(
            spent=spend,
            mechanism=MECHANISMS[self.mechanism],
            query=f"normal equations of {self.response} on {', '.join(self.predictors)}",
            sensitivity=noise.sensitivity,
            noise=noise.words,
            cells=equations.size,
            parameter=noise,
            recorded=noise.recorded,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[RegressionNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyRegression]]:
        """Sum by the codes of the columns, each in a single bin, and add noise."""
        noise, schema = charges[0].parameter, rows.view.schema
        bins = {name: 1 for name in self.columns if _n_bins(schema, name) != 1}
        seen = rows.rebinned(bins) if bins else rows
        columns = [seen.view.schema.columns[name] for name in self.columns]
        exact = exact_statistics(noise.equations, seen.sums(self.columns, self.columns), columns)
        value = NoisyRegression(
            columns=self.columns,
            bounds=tuple(column.bounds for column in columns),  # type: ignore[union-attr]
            equations=noise.equations,
            statistics=sanitise(exact, noise, source),
            n_rows=None if noise.equations.counted else schema.n_rows,
        )
        return answer(value)


def plan(
    equations: NormalEquations,
    neighbours: Neighbours,
    mechanism: RegressionMechanism,
    epsilon: Fraction,
) -> RegressionNoise:
    """The noise of all statistics together.

    Args:
        equations: which statistics.
        neighbours: which tables count as neighbours.
        mechanism: "k-norm", "functional", or "functional-published" with the published bound.
        epsilon: cost.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    distribution: DiscreteLaplace | CubeLaplace
    if mechanism == "k-norm":
        distribution, step, rounded = k_norm_noise(equations, neighbours, epsilon)
    else:
        published = mechanism == "functional-published"
        distribution, step, rounded = functional_noise(equations, epsilon, published=published)
    return RegressionNoise(equations, epsilon, distribution, step, rounded)


def sanitise(
    statistics: NDArray[np.int64], noise: RegressionNoise, source: Randomness
) -> NDArray[np.float64]:
    """Round exact statistics to the lattice and add the noise.

    Args:
        statistics: whole numbers of `NormalEquations`, shape (..., size); leading axes are
            repetitions with independent noise.
        noise: which one.
        source: where it comes from.

    Returns:
        Shape (..., size), in records.
    """
    rounded = (statistics + noise.coarseness // 2) // noise.coarseness
    if isinstance(noise.distribution, CubeLaplace):
        drawn = noise.distribution.sample(math.prod(rounded.shape[:-1]), source)
    else:
        drawn = noise.distribution.sample(rounded.size, source)
    noisy = rounded + drawn.reshape(rounded.shape)
    return np.asarray(noisy.astype(np.float64) * float(noise.step))


def _n_bins(schema: Schema, name: str) -> int:
    column = schema.columns[name]
    intervals = column.intervals if isinstance(column, NUMERIC) else ()
    return sum(not interval.spike for interval in intervals)


def _require(schema: Schema, asked: Regression) -> None:
    """Refuse what no regression can be made of; a public check."""
    if asked.mechanism not in MECHANISMS:
        raise MethodError(
            f"There is no mechanism {asked.mechanism!r} for regressions"
            f"{suggestion(asked.mechanism, MECHANISMS)}; take one of {', '.join(MECHANISMS)}."
        )
    for name in asked.columns:
        if name not in schema.columns:
            near = suggestion(name, schema.names)
            raise MethodError(f"There is no column {name!r} in the schema{near}.")
        column = schema.columns[name]
        if not isinstance(column, NUMERIC):
            raise MethodError(f"The column {name!r} is not numeric, so it has no regression.")
        if column.bounds[0] == column.bounds[1]:
            raise MethodError(f"The column {name!r} has a single possible value; leave it out.")
    if not asked.predictors or len(set(asked.columns)) < len(asked.columns):
        raise MethodError("A regression needs a predictor, and each column once.")
    _require_size(schema, asked.columns)


def _require_size(schema: Schema, columns: Sequence[str]) -> None:
    if len(columns) > MOST_COLUMNS:
        raise MethodError(f"A regression can have at most {MOST_COLUMNS - 1} predictors.")
    sizes = [schema.columns[name].size - _n_bins(schema, name) + 1 for name in columns]
    numbers = math.prod(sizes) * (1 + len(columns) + len(columns) * (len(columns) + 1) // 2)
    if numbers > MOST_NUMBERS:
        raise MethodError(
            f"With {len(columns)} columns and their codes there are {numbers:,} sums, too many to "
            f"hold (at most {MOST_NUMBERS:,}); take fewer predictors, or some without codes."
        )
