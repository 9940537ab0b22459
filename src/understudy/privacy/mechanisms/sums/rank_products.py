"""Noisy sums of the products of rank scores, of every pair of some ordered columns.

Each record has a vector x of whole scores, no longer than √M after it is shortened
(`understudy.features.rank_scores`). What is released are Σ x_i·x_j for all i < j.

**What one record can change.** Added or removed, its own products, with L = Σx_i² ≤ M:

    Σ_{i<j} x_i²x_j² = (L² − Σx_i⁴)/2 ≤ L²(1 − 1/d)/2 ≤ M²(1 − 1/d)/2,

since Σx_i⁴ ≥ L²/d for d columns (Cauchy–Schwarz). Replaced by y,

    Σ_{i<j} (x_i x_j − y_i y_j)² = (|x|⁴ + |y|⁴ − Σ(x_i² − y_i²)²)/2 − (x·y)² ≤ M²

(multiply out, and Σ_{i<j} x_i x_j y_i y_j = ((x·y)² − Σx_i²y_i²)/2). Sums are whole, in units of
1/`UNIT`², so discrete Gaussian noise costs what it costs for a whole vector of that length
(Canonne, Kamath & Steinke 2020; `understudy.privacy.accounting.gaussian_dp`).

Under pure ε noise goes by the sum of sizes, Σ_{i<j} |x_i x_j| = ((Σ|x_i|)² − L)/2 ≤ L(d − 1)/2,
twice that where a record is replaced: Laplace noise, which drowns all of it in many columns.

Scores come from released tables and bound every record alike, so neither they nor M tell anything
of a record.

Source: the sensitivities are ours; `tests/privacy/mechanisms/sums/test_rank_products.py` enumerates
the neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from understudy.errors import MethodError
from understudy.features.rank_scores import UNIT, RankScores
from understudy.privacy.accounting.budget import Neighbours, pure_within
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.calibration import gaussian_variance, representable
from understudy.privacy.noise.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.privacy.noise.perturbation import too_little
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyRanks, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms

RankNoise = DiscreteGaussian | DiscreteLaplace
STEP: Final = Fraction(1, UNIT**2)
"""One unit of the sums, in records."""
_LARGEST: Final = 2**20  # so that squared lengths are exact
WIDEST: Final = 2**28
"""Largest standard deviation of the noise, in units."""


@dataclass(frozen=True)
class RankProducts(Mechanism[Released[NoisyRanks], RankNoise]):
    """Noisy sums of products of rank scores.

    Attributes:
        scores: public ones, of two columns or more.
    """

    name: ClassVar[str] = "noisy rank products"

    scores: RankScores

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[RankNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: fewer columns than two, an unknown one, scores of other states or too large
                ones.
            BudgetError: more than is left, or next to nothing.
        """
        columns = self.scores.columns
        places = terms.view.places(columns)
        sizes = [terms.schema.sizes[j] for j in places]
        if len(columns) < 2 or sizes != [len(own) for own in self.scores.tables.values()]:
            raise MethodError("Rank products need two columns, and a score for each state.")
        if any(abs(score) > _LARGEST for own in self.scores.tables.values() for score in own):
            raise MethodError(f"Rank scores are {_LARGEST} units at most.")
        terms.require(spend)
        noise, sensitivity = self._noise(terms, spend)
        if isinstance(noise, DiscreteGaussian):
            variance = noise.variance * STEP**2
            recorded = Noise(noise.name, str(variance), noise.stddev * float(STEP))
            kind = "discrete Gaussian, variance"
        else:
            recorded, kind = perturbation.recorded(noise, STEP), "Laplace, scale"
        charge: Charge[RankNoise] = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"sums of products of ranks of {', '.join(columns)}",
            sensitivity=sensitivity,
            noise=f"{kind} {recorded.scale}, on the lattice of step {STEP}",
            cells=len(columns) * (len(columns) - 1) // 2,
            parameter=noise,
            recorded=recorded,
        )
        return (charge,)

    def _noise(self, terms: Terms, spend: Fraction) -> tuple[RankNoise, str]:
        """The noise, in units, and the sensitivity in words."""
        neighbours = terms.view.neighbours
        if terms.accounting == "pure":
            size = absolute_sensitivity(self.scores, neighbours)
            scale = size / pure_within(spend, terms.accounting)
            if scale > WIDEST:
                raise too_little()
            return DiscreteLaplace(representable(scale)), f"L1 ≤ {size * STEP}"
        squared = squared_sensitivity(self.scores, neighbours)
        width = gaussian_variance(spend, accounting=terms.accounting, squared=squared)
        if width > WIDEST**2:
            raise too_little()
        return DiscreteGaussian(representable(width)), f"L2 ≤ √{squared * STEP**2}"

    def run(
        self, rows: SecretRows, charges: tuple[Charge[RankNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyRanks]]:
        """Multiply in one pass, and add noise."""
        exact = rows.rank_sums(self.scores)
        noisy = exact + charges[0].parameter.sample(exact.size, source)
        columns, view = self.scores.columns, rows.view
        values = noisy.astype(np.float64) * float(STEP)
        more = view.bins_of(columns), view.groups_of(columns)
        return answer(NoisyRanks(columns, values, dict(self.scores.tables), *more), None)


def squared_sensitivity(scores: RankScores, neighbours: Neighbours) -> int:
    """Of all sums together, in squared units."""
    most, d = scores.most, len(scores.tables)
    return most**2 if neighbours == "replace" else -(-(most**2) * (d - 1) // (2 * d))


def absolute_sensitivity(scores: RankScores, neighbours: Neighbours) -> int:
    """Of the sum of sizes of all changes, in units."""
    added = scores.most * (len(scores.tables) - 1) // 2
    return 2 * added if neighbours == "replace" else added
