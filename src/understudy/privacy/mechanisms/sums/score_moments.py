"""Noisy second moments of scores: sums over all records, and of products of two scores.

Of d columns each record has scores in [−1, 1] (`understudy.features.column_scores`), those of one
column as a block w_c with at most one entry that is not 0: a number of size at most 1, or an
indicator. What is released is t(w) summed over the records, t the entries of w and the products of
two entries of different blocks, and the squares of numbers. One such matrix serves every linear
model of the columns, their correlations, and the means of one by the levels of another.

**What one record can change.** With w_0 = 1 for the sums, block (c, c') of t is w_c·w_c'ᵀ. Its
squared length is |w_c|²·|w_c'|² ≤ 1, so with d columns, b of them with numbers:

* *added or removed*: L2² at most d + d(d − 1)/2 + b, as the d sums, the pairs and b squares add at
  most 1 each; L1 likewise, as each block has one entry that is not 0. Both are attained.
* *replaced*, u by w: with α = |w_c|², β = |u_c|², ρ = w_c·u_c the squared change of block (c, c')
  is

      α·α' + β·β' − 2ρ·ρ',                                                                   (1)

  linear in (α, β, ρ) of one column while the others are held. The square of a number w adds
  (α − β)², and where a number gives way to a code (or back) α² (or β²).
  (i) *Numbers.* For a number ρ² = αβ. Let P, Q, R be the sums of α', β', ρ' over the other columns
  and w_0, so P, Q ≥ 1. The column adds αP + βQ − 2ρR + (α − β)². A mixture of the two ends
  (1, 1, ±1), with weights (1 ± ρ)/2, adds P + Q − 2ρR, which is more by (1 − α)P + (1 − β)Q −
  (α − β)² ≥ 0, since 1 − min(α, β) ≥ |α − β|. So one of the ends adds at least as much: the
  number stays, or flips from −1 to 1.
  (ii) *Levels* have (α, β, ρ) = (1, 1, 1), (1, 1, 0), or a 0 for what is out of domain, which adds
  no more than (1, 1, 0). So a column keeps its level or changes it.
  (iii) *A number against a code*, or what is out of domain, adds αP + βQ + α² or + β², convex, so
  at most P + Q + 1.

  So the largest change has each column do one of few things: k columns flip their number, l change
  their level (or number against code, a of them with the 1 of (iii)), and r = d + 1 − k − l keep
  what they have, w_0 among them. By (1) two columns add 4 where one flips and the other is kept, 2
  where one changes its level, whatever the other does, and 0 where both flip or both are kept:

      L2² = max 4·k·r + 2·k·l + 2·l·r + l(l − 1) + a.                                        (2)

  It is attained. With numbers alone it is little more than 4⌊(d + 1)²/4⌋ (l = 0, k = ⌈d/2⌉). L1:
  twice the above.

**Records that count.** Where only records with a value of some columns count, how many there are is
one of the sums, w_0 itself. A record that is added changes it by 1: K + 1 in all. If two that count
are exchanged it stays, and (2) holds; if one counts and the other does not, that is an addition.

**Whole numbers.** Scores are whole multiples of 2⁻¹⁵, so the sums are whole in units of 2⁻³⁰
(`understudy.engine.score_products`), the above times 2³⁰ (of its square: 2⁶⁰). Rounded to a public
lattice g times as coarse, a number that changes by v changes by less than |v|/g + 1 steps, and one
that does not stays. One record changes at most K = d(d + 1)/2 + b numbers, a replaced one 2K. So
the L2 sensitivity in steps is below Δ₂·2³⁰/g + √K, the L1 sensitivity at most K +
⌊(Δ₁·2³⁰ − K)/g⌋.

Discrete Gaussian noise of variance v in each number costs (Δ²)/(2v) in zCDP, and the amount of
`understudy.privacy.accounting.gaussian_dp` in GDP, which holds for any whole vector of length Δ;
discrete Laplace noise of scale Δ₁/ε costs ε. The number of records is not among the sums.

Sources: Sheffet (2017), "Differentially Private Ordinary Least Squares", and Wang (2018),
"Revisiting differentially private linear regression", perturb XᵀX once for every model; the
sensitivities are ours. `tests/privacy/mechanisms/sums/test_score_moments.py` enumerates the
neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from understudy.engine.bounded_sums import HALF
from understudy.errors import MethodError
from understudy.features.column_scores import Scores
from understudy.privacy.accounting.budget import Accounting, Neighbours, pure_within
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.sums.moment_noise import rounded_sensitivity
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.calibration import gaussian_variance, representable
from understudy.privacy.noise.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.privacy.noise.perturbation import too_little
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyProducts, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC, Schema

ONE: Final = HALF**2
"""Whole numbers per record."""
MOST_SCORES: Final = 1_000
_WIDEST: Final = 2**28  # of a standard deviation or scale, in lattice steps
_FINEST: Final = 2**16  # steps per record


@dataclass(frozen=True)
class Sensitivity:
    """How much one record can change the sums and products of some columns.

    Attributes:
        numeric: columns of numbers, b.
        levels: columns of levels.
        neighbours: which tables count as neighbours.
        counted: whether the number of records that count is summed as well.
    """

    numeric: int
    levels: int
    neighbours: Neighbours
    counted: bool = False

    @classmethod
    def of(cls, schema: Schema, columns: tuple[str, ...], *, counted: bool = False) -> Sensitivity:
        """Of columns of a schema."""
        numeric = sum(isinstance(schema.columns[name], NUMERIC) for name in columns)
        return cls(numeric, len(columns) - numeric, schema.neighbours, counted)

    @property
    def _added(self) -> int:
        """K: how many numbers an added record changes; it changes each by 1 at most."""
        d = self.numeric + self.levels
        return d * (d + 1) // 2 + self.numeric + self.counted

    @property
    def changed(self) -> int:
        """How many numbers one record can change."""
        return self._added if self.neighbours == "add_remove" else 2 * self._added

    @property
    def l1(self) -> int:
        """In records."""
        return self.changed

    @property
    def squared_l2(self) -> int:
        """In squared records."""
        if self.neighbours == "add_remove":
            return self._added
        return max(self._replaced(), self._added * self.counted)

    def _replaced(self) -> int:
        """The largest of (2)."""
        d, most = self.numeric + self.levels, 0
        for k in range(self.numeric + 1):
            for level in range(d - k + 1):
                kept = d + 1 - k - level
                pairs = 4 * k * kept + 2 * k * level + 2 * level * kept + level * (level - 1)
                most = max(most, pairs + min(level, self.numeric - k))
        return most


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
            MethodError: an unknown column, or more scores than `MOST_SCORES`.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        if not set(self.complete) <= set(self.columns):
            raise MethodError("Records can be asked for values of these columns only.")
        terms.require(spend)
        scores = Scores.of(terms.schema, self.columns, self.complete)
        if not 0 < len(scores) <= MOST_SCORES:
            raise MethodError(
                f"The columns have {len(scores):,} scores, too many (or none) for a matrix of "
                f"their moments (at most {MOST_SCORES:,}); leave out columns of many levels."
            )
        own = Sensitivity.of(terms.schema, self.columns, counted=bool(self.complete))
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
        exact = rows.score_products(Scores.of(rows.view.schema, self.columns, self.complete))
        front = [exact.count] if self.complete else []
        whole = np.concatenate([np.array(front, dtype=np.int64), exact.sums, exact.products])
        rounded = (whole + noise.coarseness // 2) // noise.coarseness
        noisy = rounded + noise.distribution.sample(rounded.size, source)
        values = noisy.astype(np.float64) * float(noise.step)
        return answer(NoisyProducts(self.columns, values, self.complete), None)


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
    words = f"L1 = {own.l1}" if pure else f"L2 = √{own.squared_l2}"
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
        steps = rounded_sensitivity(own.l1 * ONE, own.changed, coarseness)
        return steps / pure_within(spend, accounting)
    scaled = own.squared_l2 * (ONE // coarseness) ** 2
    squared = (math.isqrt(scaled) + 1 + math.isqrt(own.changed) + 1) ** 2
    return gaussian_variance(spend, accounting=accounting, squared=squared)
