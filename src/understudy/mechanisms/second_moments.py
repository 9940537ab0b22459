"""Noisy second moments of scores: sums over all records, and of products of two scores.

Each record has a short vector of scores for each of some columns. What is released are their sums,
weighted; those of the products of scores of two columns; and centred squares of numbers
(`understudy.features.scores.FeatureMap`). One such matrix serves every linear model of the
columns, their correlations, tables of two, and the means of one by another. What one record can
change is derived below.

**Whole numbers.** Scores are whole multiples of 2⁻¹⁵, so the sums are whole in units of 2⁻³⁰
(`understudy.data.sums`; q is a multiple of ½). Rounded to a public lattice g times as
coarse, a number that changes by v changes by less than |v|/g + 1 steps. Of K numbers the L2
sensitivity in steps is below Δ₂·2³⁰/g + √K, the L1 sensitivity at most K + ⌊(Δ₁·2³⁰ − K)/g⌋.

Discrete Gaussian noise of variance v in each number costs (Δ²)/(2v) in zCDP, and the amount of
`understudy.dp.gaussian_dp` in GDP, which holds for any whole vector of length Δ;
discrete Laplace noise of scale Δ₁/ε costs ε. The number of all records is not among the sums.

Sources: Sheffet (2017), "Differentially Private Ordinary Least Squares", and Wang (2018),
"Revisiting differentially private linear regression", perturb XᵀX once for every model; contrasts
are the residual bases of Xiao et al. (2023), "An Optimal and Scalable Matrix Mechanism for Noisy
Marginals under Convex Loss Functions"; the sensitivities are ours.
`tests/mechanisms/sums/test_second_moments.py` enumerates the neighbours.

**How much one record can change sums of scores, and sums of products of two.**

Each record has a vector w_c of scores for each of d columns (`understudy.features.scores`) with
|w_c|² = α_c: 1 at most for a code, 1 − 1/k at most for one of k levels, for a number little more
than 1. What is summed over the records is q·w_c for the columns (q the weight of sums), w_c·w_c'ᵀ
for the pairs of columns, 2z² − 1 for each number z that is there, and half of the same once more
for each column that has a code of absence in the record.

**What one record can change.** Let A be the sum of the largest α_c, b how many columns have
numbers, J how many have codes, g of them with numbers.

*Added or removed*: the squared length of block (c, c') is α_c·α_c', so

    L2² ≤ q²A + Σ_{c<c'} α_c α_c' + max_m (b − m)(1 + (m + J − g)/4),   0 ≤ m ≤ g,              (1)

m of the columns with numbers being absent: the others' squares count, once as 1 and for each column
that is absent as ½. Squares are convex in z², and so is all of it: a number is at an end or in the
middle, and there it has less.

*Replaced*, u by w: with α = |w_c|², β = |u_c|², ρ = w_c·u_c the squared change of block (c, c') is
αα' + ββ' − 2ρρ', and of the sums q²(α + β − 2ρ). Added up, with Σρ² ≤ Σαβ,

    ½(Σα)² + ½(Σβ)² − ½Σ(α − β)² + q²Σ(α + β) − (Σρ)² − 2q²Σρ
      ≤ (A + q²)² − (Σρ + q²)² − δ,                                                            (2)

where δ ≥ (A/2 + q²)·Σ|α − β| as one of α and β falls short of its largest by that much. Σρ is no
less than −R, R the sum of at most 1/k for k levels (0 without contrasts) and little more than 1 for
numbers, so (2) is at most (A + q²)² − max(0, q² − R)². Squares add, for a number in both records,
(α − β)² times 3½ (4, ½ stands in (2) already) and times how often both records have the same code:
at most J times. With Σ|α − β| ≤ b that is at most max(0, J + 3½ − A/2 − q²)·b more than δ. Where a
number gives way to a code or to what is out of domain, its square adds 1; where a column with codes
changes, each number adds at most ½ (¼ where it has one code only).

L1: of added records, with λ_c the largest sum of sizes of w_c, q Σλ + Σ_{c<c'} λλ' and squares as
in (1) with ½ in place of ¼; of replaced ones twice that.

**Records that count.** Where only records with a value of some columns count, how many there are is
one of the sums: q² more. If two that count are exchanged it stays, and (2) holds; if one counts and
the other does not, that is an addition.

**Terms.** Scores of terms (`understudy.features.terms`) are a vector w_c for each term c, with
|w_c|² ≤ α_c; b are the terms of numbers alone, each in [−1, 1], and J = 0. Nothing above asks how
vectors of different columns hang together, only how long each may be. So all of it holds of terms:
they are vectors like any others, of which a record can have fewer combinations. Where w_c is a
number times contrasts, two of them may point apart by α_c. Squares of numbers have a weight s ≤ 1
there: what they add to a squared length is s² times the above, and s times what they add to a sum
of sizes. So 3½ + J in (2) becomes s²(4 + J) − ½.

**Records with weights.** Where each record counts with a factor t in [0, 1] of its own, it adds tv,
v being all that it would add, its own count included. Added or removed that is no longer than v.
Replaced, tv − t'v' is affine in t and in t', so its length is convex in both and largest where each
is 0 or 1: it is that of v, of v', or of v − v'. So are those of records that count, or do not. The
factor is a function of the record alone, so its powers are such factors too. Whether a record lies
in one of several boxes of states, which may overlap, is a factor of 0 or 1.

**Sums taken apart.** Where sums are taken by the states of a column, a record adds all its vector
to the block of its own state, and nothing to the others. Added or removed that is as long as
before. Replaced in the same state, so is the change; in another state it is v in one block and −v'
in the other: its squared length |v|² + |v'|² is at most twice that of an added record, its sum of
sizes too. Numbers of other blocks do not change. Sums of terms are taken apart alike: nothing here
asks what v is.

**Members of units.** A unit with up to M members is one record, with a vector of scores for each
column of each of its M slots; a slot without a member has a code there. Sums over all members are
sums of the blocks of slots, and those over pairs of members of one unit are blocks of two slots. So
(1) and (2) hold of a whole unit, added with all its members or in place of another, with the
columns of all slots in A, b and J. Nothing is asked of who fills which slot, as long as that is a
function of the unit and of chance alone (`understudy.data.households`).
`tests/mechanisms/sums/test_member_moments.py` enumerates whole households.

The sensitivities are ours; `tests/mechanisms/sums/test_second_moments.py` and
`tests/mechanisms/sums/test_weighted_moments.py` enumerate the neighbours, and
`tests/mechanisms/sums/test_term_moments.py` those of terms.

**Noisy sums of the products of rank scores, of every pair of some ordered columns.**

Each record has a vector x of whole scores, no longer than √M after it is shortened
(`understudy.features.scores`). What is released are Σ x_i·x_j for all i < j.

**What one record can change.** Added or removed, its own products, with L = Σx_i² ≤ M:

    Σ_{i<j} x_i²x_j² = (L² − Σx_i⁴)/2 ≤ L²(1 − 1/d)/2 ≤ M²(1 − 1/d)/2,

since Σx_i⁴ ≥ L²/d for d columns (Cauchy–Schwarz). Replaced by y,

    Σ_{i<j} (x_i x_j − y_i y_j)² = (|x|⁴ + |y|⁴ − Σ(x_i² − y_i²)²)/2 − (x·y)² ≤ M²

(multiply out, and Σ_{i<j} x_i x_j y_i y_j = ((x·y)² − Σx_i²y_i²)/2). Sums are whole, in units of
1/`UNIT`², so discrete Gaussian noise costs what it costs for a whole vector of that length
(Canonne, Kamath & Steinke 2020; `understudy.dp.gaussian_dp`).

Under pure ε noise goes by the sum of sizes, Σ_{i<j} |x_i x_j| = ((Σ|x_i|)² − L)/2 ≤ L(d − 1)/2,
twice that where a record is replaced: Laplace noise, which drowns all of it in many columns.

Scores come from released tables and bound every record alike, so neither they nor M tell anything
of a record.

Source: the sensitivities are ours; `tests/mechanisms/sums/test_rank_products.py` enumerates
the neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.dp import perturbation
from understudy.dp.budget import Accounting, Neighbours, decimal_up, pure_within
from understudy.dp.calibration import gaussian_variance, representable
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.perturbation import too_little
from understudy.dp.randomness import Randomness
from understudy.dp.released import (
    Noise,
    NoisyProducts,
    NoisyRanks,
    NoisyTerms,
    NoisyWeighted,
    Released,
)
from understudy.errors import MethodError
from understudy.features.scores import (
    RANK_UNIT,
    UNIT,
    Boxes,
    FeatureMap,
    Limits,
    RankScores,
    ScoreMap,
    Weighting,
    is_within_bounds,
)
from understudy.features.terms import Term, TermMap
from understudy.mechanisms.sums import rounded_sensitivity
from understudy.schema import NUMERIC, Schema
from understudy.schema.coarsening import state_words

if TYPE_CHECKING:
    from understudy.data.sums import ExactProducts


@dataclass(frozen=True)
class Sensitivity:
    """The largest change of the sums and products of some columns by one record.

    Attributes:
        lengths: largest sum of sizes of the scores of each column, λ.
        squared: largest sum of their squares, α.
        opposed: how far the scores of two records can point apart, −ρ, of each column.
        weight: of the sums, q.
        numeric: columns of numbers, b.
        coded: columns of which absences are told apart by squares, J.
        absent: those of them that have numbers, g.
        of_squares: weight of the squares, at most 1.
        codes: whether one of them has two codes or more.
        counted: whether the number of records that count is summed as well.
        numbers: how many numbers there are in all, K.
        neighbours: which tables count as neighbours.
        apart: whether sums are taken apart by the states of a column.
    """

    lengths: tuple[Fraction, ...]
    squared: tuple[Fraction, ...]
    opposed: tuple[Fraction, ...]
    weight: Fraction
    numeric: int
    coded: int
    absent: int
    of_squares: Fraction
    codes: bool
    counted: bool
    numbers: int
    neighbours: Neighbours
    apart: bool = False

    @classmethod
    def of(cls, schema: Schema, scores: ScoreMap) -> Sensitivity:
        """Of scores of columns or terms of a schema."""
        weighting = scores.weighting
        blocks = 1 if weighting is None else weighting.blocks(schema)
        coded = {
            name
            for name in scores.columns
            if name not in scores.complete and schema.columns[name].codes
        }
        return cls(
            lengths=scores.lengths,
            squared=scores.squared_lengths,
            opposed=scores.opposed,
            weight=scores.weight,
            numeric=len(scores.numbers),
            coded=len(coded),
            absent=sum(isinstance(schema.columns[name], NUMERIC) for name in coded),
            of_squares=scores.of_squares,
            codes=any(len(schema.columns[name].codes) > 1 for name in coded),
            counted=bool(scores.order.counts),
            numbers=scores.size * blocks,
            neighbours=schema.neighbours,
            apart=weighting is not None and bool(weighting.by),
        )

    @property
    def l1(self) -> Fraction:
        """In records."""
        total = sum(self.lengths, Fraction(0))
        pairs = (total * total - sum(x * x for x in self.lengths)) / 2
        sums = self.weight * (total + self.counted)
        added = sums + pairs + self.of_squares * self._squares(Fraction(1, 2))
        return added if self.neighbours == "add_remove" else 2 * added

    @property
    def squared_l2(self) -> Fraction:
        """In squared records."""
        total, q2 = sum(self.squared, Fraction(0)), self.weight * self.weight
        pairs = (total * total - sum(x * x for x in self.squared)) / 2
        squares = self.of_squares**2
        added = q2 * (total + self.counted) + pairs + squares * self._squares(Fraction(1, 4))
        if self.neighbours == "add_remove":
            return added
        least = max(Fraction(0), q2 - sum(self.opposed))
        apart = (total + q2) * (total + q2) - least * least
        most = squares * (self.coded + 4) - Fraction(1, 2) - total / 2 - q2
        steep = max(Fraction(0), most) * self.numeric
        moved = Fraction(self.numeric * self.coded, 2 if self.codes else 4)
        same = apart + steep + squares * (self.numeric + moved)
        return max(same, added * (2 if self.apart else self.counted))

    def _squares(self, beside: Fraction) -> Fraction:
        """Bound what squares of one record can add, those by absence elsewhere `beside` each."""
        levels = self.coded - self.absent
        return max((self.numeric - m) * (1 + (m + levels) * beside) for m in range(self.absent + 1))


ONE: Final = UNIT**2
"""Whole numbers per record."""
WIDEST: Final = 2**28
"""Largest standard deviation or scale of the noise, in lattice steps or units of a sum."""
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
        """True if the noise goes by sums of sizes."""
        return isinstance(self.distribution, DiscreteLaplace)

    @property
    def step(self) -> Fraction:
        """One lattice step, in records."""
        return Fraction(self.coarseness, ONE)

    @property
    def recorded(self) -> Noise:
        """Description of the noise in each number, in records."""
        if isinstance(self.distribution, DiscreteLaplace):
            return perturbation.describe_noise(self.distribution, self.step)
        variance = self.distribution.variance * self.step**2
        stddev = self.distribution.stddev * float(self.step)
        return Noise(self.distribution.name, str(variance), stddev)

    @property
    def words(self) -> str:
        """Its exact parameter, for the ledger."""
        gaussian = isinstance(self.distribution, DiscreteGaussian)
        kind = "discrete Gaussian, variance" if gaussian else "Laplace, scale"
        return f"{kind} {self.recorded.scale}, on the lattice of step {self.step}"


def _charge(
    terms: PublicContext, scores: ScoreMap, spend: Fraction, mechanism: str, of_whom: str
) -> Charge[ProductNoise]:
    """The price of the sums of some scores and of their products.

    Args:
        terms: the public context.
        scores: that are summed.
        spend: part of the budget.
        mechanism: its name.
        of_whom: which records count, and how, as the end of a sentence.

    Raises:
        MethodError: there are no scores.
        BudgetError: the spend is next to nothing.
    """
    if not len(scores):
        raise MethodError("The columns have no scores: each of them has a single state.")
    own, weighting = Sensitivity.of(terms.schema, scores), scores.weighting
    noise = product_noise(own, spend, terms.accounting)
    beside = () if weighting is None else filter(None, (weighting.column, weighting.by))
    return Charge(
        spent=spend,
        mechanism=mechanism,
        query=f"sums and products of {_what(scores)}{of_whom}",
        sensitivity=noise.sensitivity,
        noise=noise.words,
        cells=own.numbers,
        parameter=noise,
        recorded=noise.recorded,
        columns=tuple(dict.fromkeys((*scores.columns, *beside))),
    )


def _what(scores: ScoreMap) -> str:
    if isinstance(scores, TermMap):
        return f"the terms {', '.join(map(str, scores.terms))}"
    return f"scores of {', '.join(scores.columns)}"


@dataclass(frozen=True)
class SecondMoments(Mechanism[Released[NoisyProducts], ProductNoise]):
    """Noisy sums of the scores of some columns, and of their products.

    Attributes:
        columns: names, each once.
        complete: those of them of which a record must have a value to count; () counts all.
        limits: column of numbers → public limits at which its numbers are cut off before they are
            scored, where they are narrower than its bounds. The sensitivity is that of scores in
            [−1, 1], wherever the limits lie.
    """

    name: ClassVar[str] = "noisy score moments"
    form: ClassVar[Form] = Form.MOMENTS

    columns: tuple[str, ...]
    complete: tuple[str, ...] = ()
    limits: Limits = field(default_factory=dict)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[ProductNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: an unknown column, no score, or more than `scores.MOST_SCORES`.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        if not set(self.complete) <= set(self.columns):
            raise MethodError("Records can be asked for values of these columns only.")
        require_limits(self.limits, terms.schema, self.columns)
        terms.require(spend)
        scores = self.scores(terms.schema, pure=terms.accounting == "pure")
        known = f", of records with a value of {', '.join(self.complete)}" if self.complete else ""
        return (_charge(terms, scores, spend, self.name, known),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[ProductNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyProducts]]:
        """Sum and multiply in one pass, round to the lattice, and add noise."""
        noise = charges[0].parameter
        scores = self.scores(rows.view.schema, pure=noise.pure)
        values = noisy_sums(rows.score_products(scores), scores, noise, source)
        about = charges[0].recorded, self.complete, noise.pure, self.limits
        return answer(NoisyProducts(self.columns, values, *about), None)

    def scores(self, schema: Schema, *, pure: bool) -> FeatureMap:
        """The scores that are summed: fewer where noise goes by sums of sizes."""
        return FeatureMap.of(schema, self.columns, self.complete, pure=pure, limits=self.limits)


@dataclass(frozen=True)
class WeightedMoments(Mechanism[Released[NoisyWeighted], ProductNoise]):
    """Noisy sums of the scores of some columns, and of their products, of records with weights.

    Attributes:
        columns: names, each once.
        column: of the weights, a column of numbers.
        bound: the weight of a record that counts in full, B; above 0.
        power: 1: a record counts with w/B; 2: with the square of that.
        by: another column, of levels without codes, by whose states all of it is taken apart, as
            by random groups of clusters; "" for sums over all records.
    """

    name: ClassVar[str] = "noisy weighted moments"
    form: ClassVar[Form] = Form.MOMENTS

    columns: tuple[str, ...]
    column: str
    bound: float
    power: int = 1
    by: str = ""

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[ProductNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: an unknown column, no score, too many, or no weights within bounds.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        require_weights(self._weighting, terms)
        _require_groups(self.by, self.columns, terms)
        terms.require(spend)
        scores = self._scores(terms.schema, pure=terms.accounting == "pure")
        return (_charge(terms, scores, spend, self.name, f", {self._weighting.words}"),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[ProductNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyWeighted]]:
        """Weigh, sum and multiply in one pass, round to the lattice, and add noise."""
        noise = charges[0].parameter
        scores = self._scores(rows.view.schema, pure=noise.pure)
        blocks = rows.grouped_products(scores) if self.by else (rows.score_products(scores),)
        values = np.concatenate([noisy_sums(one, scores, noise, source) for one in blocks])
        about = self.column, self.bound, self.power, noise.pure, self.by
        return answer(NoisyWeighted(self.columns, values, charges[0].recorded, *about), None)

    @property
    def _weighting(self) -> Weighting:
        return Weighting(self.column, self.bound, self.power, self.by)

    def _scores(self, schema: Schema, *, pure: bool) -> FeatureMap:
        return FeatureMap.of(schema, self.columns, pure=pure, weighting=self._weighting)


@dataclass(frozen=True)
class TermMoments(Mechanism[Released[NoisyTerms], ProductNoise]):
    """Noisy sums of the scores of some terms, and of their products.

    Attributes:
        terms: as texts, closed (`understudy.features.terms.close_terms`).
        limits: as of `SecondMoments`.
        among: boxes of states, in one of which a record must lie to count; () if all do.
        weighting: factor of all that a record adds, and by which states of a column all of it is
            taken apart; None if each record counts as 1.
    """

    name: ClassVar[str] = "noisy term moments"
    form: ClassVar[Form] = Form.MOMENTS

    terms: tuple[str, ...]
    limits: Limits = field(default_factory=dict)
    among: Boxes = ()
    weighting: Weighting | None = None

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[ProductNoise], ...]:
        """One step: Gaussian noise under zCDP and GDP, Laplace noise under pure ε.

        Raises:
            MethodError: terms that there are not, or too many; no weights within bounds.
            BudgetError: more than is left, or next to nothing.
        """
        scores = self.scores(terms.schema)
        terms.view.places(scores.columns)
        require_limits(self.limits, terms.schema, scores.columns)
        if self.weighting is not None:
            require_weights(self.weighting, terms)
            _require_groups(self.weighting.by, scores.columns, terms)
        terms.require(spend)
        counted = f", of records with {_words_of(self.among, terms.schema)}" if self.among else ""
        weighted = "" if self.weighting is None else f", {self.weighting.words}"
        return (_charge(terms, scores, spend, self.name, counted + weighted),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[ProductNoise], ...], source: Randomness
    ) -> Outcome[Released[NoisyTerms]]:
        """Make the terms, sum and multiply in one pass, round to the lattice, and add noise."""
        scores, noise = self.scores(rows.view.schema), charges[0].parameter
        apart = self.weighting is not None and self.weighting.by
        blocks = rows.grouped_products(scores) if apart else (rows.score_products(scores),)
        values = np.concatenate([noisy_sums(one, scores, noise, source) for one in blocks])
        about = charges[0].recorded, self.limits, self.among, self.weighting
        return answer(NoisyTerms(self.terms, values, *about), None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the terms, and those by which records count."""
        named = (name for text in self.terms for name in Term.read(text).columns)
        return tuple(dict.fromkeys((*named, *(name for box in self.among for name in box))))

    def scores(self, schema: Schema, *, pure: bool = False) -> TermMap:
        """The scores that are summed, whatever the noise."""
        return TermMap.of(
            schema,
            self.terms,
            limits=self.limits,
            among=self.among,
            weighting=self.weighting,
        )


def _words_of(boxes: Boxes, schema: Schema) -> str:
    """Boxes of states, in words."""
    columns = schema.columns
    return "; or ".join(
        " and ".join(f"{name} = {state_words(columns[name], own)}" for name, own in box.items())
        for box in boxes
    )


def require_weights(own: Weighting, terms: PublicContext) -> None:
    """Refuse what records cannot be weighted by.

    Raises:
        MethodError: an unknown column, or no weights within bounds.
    """
    terms.view.places((own.column,))
    weights = terms.schema.columns[own.column]
    if not isinstance(weights, NUMERIC) or not (
        0 < own.bound <= weights.bounds[1] and own.power in (1, 2)
    ):
        raise MethodError(
            "Records are weighted by a column of numbers, up to a bound above 0 and within its "
            "own, in the power 1 or 2."
        )


def _require_groups(by: str, columns: Sequence[str], terms: PublicContext) -> None:
    """Refuse what sums cannot be taken apart by.

    Raises:
        MethodError: an unknown column, one that is summed, or one of numbers or with codes.
    """
    if not by:
        return
    terms.view.places((by,))
    column = terms.schema.columns[by]
    if by in columns or isinstance(column, NUMERIC) or column.size > column.n_ordinary:
        raise MethodError(
            f"Sums cannot be taken apart by {by!r}: name a column of levels without codes that is "
            "not summed itself."
        )


def noisy_sums(
    exact: ExactProducts, scores: ScoreMap, noise: ProductNoise, source: Randomness
) -> Floats:
    """Sums and products in records, rounded to the lattice and with noise, shape (numbers,).

    Args:
        exact: over the records.
        scores: of what.
        noise: in each.
        source: where it comes from.
    """
    whole = stack_sums(exact, scores)
    rounded = (whole + noise.coarseness // 2) // noise.coarseness
    noisy = rounded + noise.distribution.sample(rounded.size, source)
    return np.asarray(noisy.astype(np.float64) * float(noise.step))


def require_limits(limits: Limits, schema: Schema, columns: Sequence[str]) -> None:
    """Refuse limits that are not ascending numbers within the bounds of a column of numbers.

    Raises:
        MethodError: such limits.
    """
    for name, ends in limits.items():
        if not is_within_bounds(ends, schema.columns[name] if name in columns else None):
            raise MethodError(
                f"The limits of {name} must be two ascending numbers within its bounds."
            )


def stack_sums(exact: ExactProducts, scores: ScoreMap) -> Integers:
    """All that is released of some scores, in units of 1/`ONE` of a record, shape (numbers,).

    Args:
        exact: sums over the records.
        scores: of what.
    """
    twice, halves = int(2 * scores.weight), int(2 * scores.of_squares)
    counted, sums = (own // 2 * twice for own in (np.array([exact.count]), exact.sums))
    squares, coded = (own * halves // 2 for own in (exact.squares, exact.coded))
    return scores.order.join((counted, sums, exact.products, squares, coded))


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
        if width <= (WIDEST if pure else WIDEST**2):
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


RankNoise = DiscreteGaussian | DiscreteLaplace
STEP: Final = Fraction(1, RANK_UNIT**2)
"""One unit of the sums, in records."""
_LARGEST: Final = 2**20  # so that squared lengths are exact


@dataclass(frozen=True)
class RankProducts(Mechanism[Released[NoisyRanks], RankNoise]):
    """Noisy sums of products of rank scores.

    Attributes:
        scores: public ones, of two columns or more.
    """

    name: ClassVar[str] = "noisy rank products"
    form: ClassVar[Form] = Form.MOMENTS

    scores: RankScores

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[RankNoise], ...]:
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
            recorded, kind = perturbation.describe_noise(noise, STEP), "Laplace, scale"
        charge: Charge[RankNoise] = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"sums of products of ranks of {', '.join(columns)}",
            sensitivity=sensitivity,
            noise=f"{kind} {recorded.scale}, on the lattice of step {STEP}",
            cells=len(columns) * (len(columns) - 1) // 2,
            parameter=noise,
            recorded=recorded,
            columns=columns,
        )
        return (charge,)

    def _noise(self, terms: PublicContext, spend: Fraction) -> tuple[RankNoise, str]:
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
        coded = view.bins_of(columns), view.groups_of(columns)
        scores = dict(self.scores.tables)
        return answer(NoisyRanks(columns, values, charges[0].recorded, scores, *coded), None)


def squared_sensitivity(scores: RankScores, neighbours: Neighbours) -> int:
    """Of all sums together, in squared units."""
    most, d = scores.most, len(scores.tables)
    return most**2 if neighbours == "replace" else -(-(most**2) * (d - 1) // (2 * d))


def absolute_sensitivity(scores: RankScores, neighbours: Neighbours) -> int:
    """Of the sum of sizes of all changes, in units."""
    added = scores.most * (len(scores.tables) - 1) // 2
    return 2 * added if neighbours == "replace" else added
