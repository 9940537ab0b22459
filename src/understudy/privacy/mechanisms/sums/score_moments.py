"""Noisy second moments of scores: sums over all records, and of products of two scores.

Each record has a short vector of scores for each of some columns. What is released are their sums,
weighted; those of the products of scores of two columns; and centred squares of numbers
(`understudy.features.column_scores.Scores`). One such matrix serves every linear model of the
columns, their correlations, tables of two, and the means of one by another. What one record can
change is derived in `understudy.privacy.mechanisms.sums.score_sensitivity`.

**Whole numbers.** Scores are whole multiples of 2⁻¹⁵, so the sums are whole in units of 2⁻³⁰
(`understudy.engine.score_products`; q is a multiple of ½). Rounded to a public lattice g times as
coarse, a number that changes by v changes by less than |v|/g + 1 steps. Of K numbers the L2
sensitivity in steps is below Δ₂·2³⁰/g + √K, the L1 sensitivity at most K + ⌊(Δ₁·2³⁰ − K)/g⌋.

Discrete Gaussian noise of variance v in each number costs (Δ²)/(2v) in zCDP, and the amount of
`understudy.privacy.accounting.gaussian_dp` in GDP, which holds for any whole vector of length Δ;
discrete Laplace noise of scale Δ₁/ε costs ε. The number of all records is not among the sums.

Sources: Sheffet (2017), "Differentially Private Ordinary Least Squares", and Wang (2018),
"Revisiting differentially private linear regression", perturb XᵀX once for every model; contrasts
are the residual bases of Xiao et al. (2023), "An Optimal and Scalable Matrix Mechanism for Noisy
Marginals under Convex Loss Functions"; the sensitivities are ours.
`tests/privacy/mechanisms/sums/test_score_moments.py` enumerates the neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from understudy.arrays import Integers
from understudy.engine.score_products import ExactProducts
from understudy.errors import MethodError
from understudy.features.column_scores import UNIT, Scores
from understudy.privacy.accounting.budget import Accounting, decimal_up, pure_within
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.sums.moment_noise import rounded_sensitivity
from understudy.privacy.mechanisms.sums.score_sensitivity import Sensitivity
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.calibration import gaussian_variance, representable
from understudy.privacy.noise.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.privacy.noise.perturbation import too_little
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyProducts, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import Schema

ONE: Final = UNIT**2
"""Whole numbers per record."""
_WIDEST: Final = 2**28  # of a standard deviation or scale, in lattice steps
_FINEST: Final = 2**16  # steps per record


@dataclass(frozen=True)
class ProductNoise:
    """Noise of all sums and products; public.

    Attributes:
        distribution: in lattice steps, of each number.
        coarseness: whole numbers per lattice step.
        sensitivity: in words.
    """

    distribution: DiscreteGaussian | DiscreteLaplace
    coarseness: int
    sensitivity: str

    @property
    def pure(self) -> bool:
        """Whether the noise goes by sums of sizes."""
        return isinstance(self.distribution, DiscreteLaplace)

    @property
    def step(self) -> Fraction:
        """One lattice step, in records."""
        return Fraction(self.coarseness, ONE)

    @property
    def recorded(self) -> Noise:
        """What the released value says about the noise in each number, in records."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.recorded(self.distribution, self.step)
        variance = self.distribution.variance * self.step**2
        stddev = self.distribution.stddev * float(self.step)
        return Noise(self.distribution.name, str(variance), stddev)

    @property
    def words(self) -> str:
        """Its exact parameter, for the ledger."""
        gaussian = isinstance(self.distribution, DiscreteGaussian)
        kind = "discrete Gaussian, variance" if gaussian else "Laplace, scale"
        return f"{kind} {self.recorded.scale}, on the lattice of step {self.step}"


@dataclass(frozen=True)
class ScoreMoments(Mechanism[Released[NoisyProducts], ProductNoise]):
    """Noisy sums of the scores of some columns, and of their products.

    Attributes:
        columns: names, each once.
        complete: those of them of which a record must have a value to count; () counts all.
    """

    name: ClassVar[str] = "noisy score moments"

    columns: tuple[str, ...]
    complete: tuple[str, ...] = ()

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[ProductNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: an unknown column, no score, or more than `column_scores.MOST_SCORES`.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        if not set(self.complete) <= set(self.columns):
            raise MethodError("Records can be asked for values of these columns only.")
        terms.require(spend)
        scores = self._scores(terms.schema, pure=terms.accounting == "pure")
        if not len(scores):
            raise MethodError("The columns have no scores: each of them has a single state.")
        own = Sensitivity.of(terms.schema, scores)
        noise = product_noise(own, spend, terms.accounting)
        known = f", of records with a value of {', '.join(self.complete)}" * bool(self.complete)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"sums and products of scores of {', '.join(self.columns)}{known}",
            sensitivity=noise.sensitivity,
            noise=noise.words,
            cells=scores.size,
            parameter=noise,
            recorded=noise.recorded,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[ProductNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyProducts]]:
        """Sum and multiply in one pass, round to the lattice, and add noise."""
        noise = charges[0].parameter
        scores = self._scores(rows.view.schema, pure=noise.pure)
        whole = stacked(rows.score_products(scores), scores)
        rounded = (whole + noise.coarseness // 2) // noise.coarseness
        noisy = rounded + noise.distribution.sample(rounded.size, source)
        values = noisy.astype(np.float64) * float(noise.step)
        return answer(NoisyProducts(self.columns, values, self.complete, noise.pure), None)

    def _scores(self, schema: Schema, *, pure: bool) -> Scores:
        return Scores.of(schema, self.columns, self.complete, pure=pure)


def stacked(exact: ExactProducts, scores: Scores) -> Integers:
    """All that is released of some scores, in units of 1/`ONE` of a record, shape (numbers,).

    Args:
        exact: sums over the records.
        scores: of what.
    """
    twice = int(2 * scores.weight)
    counted, sums = (own // 2 * twice for own in (np.array([exact.count]), exact.sums))
    return scores.order.joined((counted, sums, exact.products, exact.squares, exact.coded))


def product_noise(own: Sensitivity, spend: Fraction, accounting: Accounting) -> ProductNoise:
    """The noise of sums and products, from public facts alone.

    Args:
        own: sensitivity.
        spend: cost of all of them together.
        accounting: its unit.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    pure = accounting == "pure"
    size = decimal_up(own.l1 if pure else own.squared_l2)
    words = f"L1 ≤ {size}" if pure else f"L2 ≤ √{size}"
    coarseness = ONE // _FINEST
    while coarseness <= ONE:
        width = _width(own, spend, accounting, coarseness)
        if width <= (_WIDEST if pure else _WIDEST**2):
            exact = representable(width)
            distribution = DiscreteLaplace(exact) if pure else DiscreteGaussian(exact)
            return ProductNoise(distribution, coarseness, words)
        coarseness *= 4
    raise too_little()


def _width(own: Sensitivity, spend: Fraction, accounting: Accounting, coarseness: int) -> Fraction:
    """Scale of Laplace noise, or variance of Gaussian noise, in lattice steps."""
    if accounting == "pure":
        steps = rounded_sensitivity(math.ceil(own.l1 * ONE), own.numbers, coarseness)
        return steps / pure_within(spend, accounting)
    scaled = math.ceil(own.squared_l2 * Fraction(ONE, coarseness) ** 2)
    squared = (math.isqrt(scaled) + 1 + math.isqrt(own.numbers) + 1) ** 2
    return gaussian_variance(spend, accounting=accounting, squared=squared)
