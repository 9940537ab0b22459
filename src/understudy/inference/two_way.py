"""Two traits crossed: tests of independence, classes, groups of a number, and effect sizes.

**What two groups have of a number: records, their sum, and squares; noisy, or as shown.**

**χ² tests of independence on noisy counts, and how far each cell is from what it asks for.**

With margins p̂, q̂ of the counts Ŷ, D = Ŷ − n̂p̂q̂' = (I − p̂1')Ŷ(I − q̂1')' is what each cell has
beyond independence. If the traits are independent, D is the same linear map J of the errors of the
counts, to first order, and those have the covariance diag(λ) + V: by sampling, λ = n̂p̂q̂' (the part
of a fixed n falls out, as Jλ = 0), and by noise. So

    X² = D'(J(diag(λ) + V)J')⁺D is χ² with as many degrees of freedom as the rank, (r−1)(c−1).

Without noise it is Pearson's statistic. The rank is less where a level has neither records nor
noise. λ rests on margins alone, which have many records where cells have few. Noise with the tails
of a Laplace law makes X² vary more: by Σ A²κ, A the diagonal of J'(…)⁺J and κ the fourth cumulants.
Then X²/a is compared with χ² on df/a, which has the same mean and variance (Satterthwaite's way).

The excess shares D/n̂ have intervals too, with the covariance of the counts as they are, since they
are of interest where independence fails; a cell counts as one of 3.84 records at least, as for
shares (`understudy.inference.contributions.edge_variance`). A measure such as Cramér's V
is left out: at 0 it lies on the edge of what is possible, and no interval of it is known to hold
under noise.

Sources: Pearson (1900); Rao & Scott (1981), "The Analysis of Categorical Data From Complex Sample
Surveys", JASA 76, 221-230, for quadratic forms in counts whose covariance is not multinomial;
Satterthwaite (1946), Biometrics 2, 110-114;
Gaboardi, Lim, Rogers & Vadhan (2016), "Differentially Private Chi-Squared Hypothesis Testing",
ICML, and Kifer & Rogers (2017), "A New Class of Private Chi-Square Hypothesis Tests", AISTATS, for
noise in that covariance.

**Noisy counts of the classes of two traits, crossed: from full tables, or from second moments.**

Only records with a value of both count. A table has independent noise in each cell that is not
forbidden; a product of two indicators is a count as well, with the noise of the released numbers
that it is the sum of. Moments have normal noise, tables may have that of a Laplace law. Where a
release has both, that with less noise is taken.

**Traits of a record: the levels of a column, or the values of an expression, as states tell them.**

**Effect sizes of two groups**: odds ratio, ratio of means, standardised difference.

**The odds ratio of a noisy 2 × 2 table, with an interval by test inversion, without logarithms.**

A cell of expected count λ has a count with variance λ by sampling and v by noise. At an odds ratio
θ = λ₁₁λ₀₀/(λ₁₀λ₀₁) the counts fit worst by

    Q(θ) = Σ (ŷ − λ)²/(λ + v),  λ with this odds ratio and (ŷ − λ)/(λ + v) = −s·μ/λ,             (1)

s = 1 for the cells above, −1 for those below: λ is where a quasi-likelihood with that variance is
largest. The interval has every θ with Q(θ) − min Q ≤ χ². Without noise, λ = ŷ + sμ keeps the
margins, and this is Cornfield's interval (Pearson's test), which does not break down where a cell
has few records; the usual error of the log odds ratio, √Σ1/ŷ, does. A cell that is not told from 0
under its noise can have λ = 0, and the interval is open there.

Each λ is a root of a quadratic equation in μ, so all θ on one side of the estimate are run through
along the expected count of the cell that vanishes first.

Noise with the tails of a Laplace law makes large Q more likely: z = √Q is taken for the normal
score that the fourth cumulant of Σ s(ŷ − λ)/λ turns into z (Cornish & Fisher 1938).

Sources: Cornfield (1956), Proc. Third Berkeley Symposium 4, 135-148; McCullagh (1983), "Quasi-
Likelihood Functions", Annals of Statistics 11, 59-67; Gaboardi, Lim, Rogers & Vadhan (2016), ICML,
for tests of counts whose noise is part of the variance.

**The ratio of the means of two groups, as of two risks, from noisy sums.**

    ρ = ȳ₁/ȳ₀,   ȳ_g = S_g/n_g,

of a number or of what is 0 or 1 (then it is a relative risk). Its interval is that of `Inverted`,
with the errors of both means: so it is longer on the side where ȳ₀ may be nearer to 0, and has no
end where ȳ₀ is not told from 0. Sampling variances of the means are those within groups. A share
has its own, and no less than that of `edge_variance`. The variance of a number is that of its
counts within a group where each value was counted; else that of the synthetic records within the
group, brought to the size that the measured squares leave within both.

Source: Fieller (1954), JRSS B 16, 175-185, for the interval of a ratio of two means.

**The standardised difference of two groups (Cohen's d) from noisy sums.**

    d = (ȳ₁ − ȳ₀)/s,   s² = W/(n − 2),   W = Σ y² − S₀²/n₀ − S₁²/n₁,

with n_g records and sum S_g in group g: the difference of means in units of the deviation within
groups. All it needs are n₀, n₁, S₀, S₁ and Σ y². Its interval is that of `Inverted`, with the noise
in ȳ₁ − ȳ₀ − d·s and in s, to first order. Its sampling variance is that of the influence of a
record with u = (y − ȳ_g)/s,

    ±(n/n_g)·u − d(u² − 1)/2,

over n: right whatever the distributions and variances of both groups. Of counts it is known; of
numbers its third and fourth moments are those of the synthetic records, and it is no less than
1/n₀ + 1/n₁ + d²/2n, that of normal numbers with one variance.

Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, ch. 2; Hedges & Olkin
(1985), Statistical Methods for Meta-Analysis, ch. 5, for the variance of normal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, chndtrinc

from understudy._arrays import Floats, Integers
from understudy.errors import InferenceError
from understudy.inference.combining import Pooled, require_level
from understudy.inference.conditions import UntoldError, state_values
from understudy.inference.contributions import edge_variance
from understudy.inference.linear import (
    Inverted,
    require_firm,
)
from understudy.inference.measured_moments import REASON, RULE, matrix_of
from understudy.inference.noisy_tables import NoisyCounts, marginal, pooled_table, select_covering
from understudy.inference.question import Estimand, group_terms
from understudy.inference.records import ABSENT, Records
from understudy.inference.rules import COUNTS_REASON, RuleFacts
from understudy.inference.second_moments import LostInNoiseError, MomentMatrix
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.expressions import read_name


@dataclass(frozen=True)
class Trait:
    """A division of records into k classes.

    Attributes:
        text: as it was written.
        columns: that it uses, in the order of the schema.
        labels: of the classes.
        class_of: class of each combination of states of the columns, the last column fastest;
            `ABSENT` where one has no value.
        values: numbers of the classes, shape (k,); their places where levels are no numbers.
    """

    text: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    class_of: Integers
    values: Floats

    @classmethod
    def of_levels(cls, name: str, schema: Schema) -> Trait:
        """The levels of a column; of one of numbers, its bins."""
        column = schema.columns[name]
        k = column.n_ordinary
        labels = tuple(f"{name}[{label}]" for label in column.labels[:k])
        places = np.arange(column.size)
        return cls(name, (name,), labels, np.where(places < k, places, ABSENT), np.arange(float(k)))

    @classmethod
    def of_values(cls, text: str, schema: Schema) -> Trait:
        """The values of an expression.

        Raises:
            UntoldError: states do not tell them.
            InferenceError: the expression cannot be computed.
        """
        columns, found = state_values(text, schema)
        present = ~np.isnan(found)
        values, place = np.unique(found[present], return_inverse=True)
        class_of = np.full(len(present), ABSENT)
        class_of[present] = place
        truth = np.isin(values, (0.0, 1.0)).all()
        shown = [("false", "true")[int(v)] if truth else f"{v:g}" for v in values]
        return cls(text, columns, tuple(f"{text}[{name}]" for name in shown), class_of, values)

    @classmethod
    def of(cls, text: str, schema: Schema) -> Trait:
        """Both levels of a column that has two, or whether a condition holds.

        Raises:
            UntoldError: states do not tell whether it holds.
            InferenceError: no condition that holds for some and not for others.
        """
        plain = read_name(text)
        if plain in schema.columns:
            return cls.of_levels(plain, schema)
        trait = cls.of_values(text, schema)
        if tuple(trait.values) != (0.0, 1.0):
            raise InferenceError(
                f"Expected a column, or a condition that is true for some and false for others, "
                f"got {text!r}."
            )
        return trait

    def within(self, columns: Sequence[str], schema: Schema) -> Integers:
        """Class of each cell of a table over more columns, in the order of the schema."""
        sizes = [schema.columns[name].size for name in columns]
        own = np.arange(len(self.class_of)).reshape([schema.columns[n].size for n in self.columns])
        axes = tuple(j for j, name in enumerate(columns) if name not in self.columns)
        places = np.broadcast_to(np.expand_dims(own, axes), sizes).reshape(-1)
        return self.class_of[places]

    def of_records(self, records: Records) -> Integers:
        """Class of each of some complete records, shape (n,)."""
        place = np.zeros(len(records.complete()), dtype=np.int64)
        for name in self.columns:
            place = place * records.schema.columns[name].size + records.states[name]
        return self.class_of[place]


MOST_CELLS_CROSSED = 400
_LAPLACE_KURTOSIS = 3.0  # beyond that of a normal law


@dataclass(frozen=True)
class NoisyCells:
    """Counts of r × c cells.

    Attributes:
        counts: shape (r, c).
        noise: covariance of the noise in them, the second trait fastest, shape (r·c, r·c).
        fourth: fourth cumulants of the noise, 0 where it is normal, shape (r, c).
        dropped: records without a value of both traits; noisy.
        rule: what answers.
        reason: why it is valid.
        sources: tables behind the counts.
    """

    counts: Floats
    noise: Floats
    fourth: Floats
    dropped: float
    rule: str
    reason: str
    sources: int

    @property
    def variances(self) -> Floats:
        """Of independent noise that is no less in any sum of cells, shape (r, c).

        Their own where cells share no released number. Else the rows of absolute covariances,
        summed: what that adds to the covariance is diagonally dominant.
        """
        return np.asarray(np.abs(self.noise).sum(axis=1)).reshape(self.counts.shape)


def noisy_cells(
    traits: Sequence[Trait], release: Release, facts: RuleFacts, where: str = ""
) -> NoisyCells | None:
    """The counts with the least noise that a release has; None where it has none.

    Args:
        traits: two, of columns of their own.
        release: that is asked.
        facts: of the question.
        where: condition of the records that count; "" for all.
    """
    schema = release.schema
    matrix = None if where else matrix_of(release, _columns(traits, schema))
    by_moments = None if matrix is None else moment_cells(traits, matrix, schema)
    by_tables = table_cells(traits, release.measurements, schema, where) if facts.full else None
    found = [cells for cells in (by_tables, by_moments) if cells is not None]
    return min(found, key=lambda cells: np.trace(cells.noise), default=None)


def require_few(traits: Sequence[Trait]) -> None:
    """Refuse traits with very many cells.

    Raises:
        InferenceError: there are more than `MOST_CELLS_CROSSED`.
    """
    n_cells = len(traits[0].labels) * len(traits[1].labels)
    if n_cells > MOST_CELLS_CROSSED:
        raise InferenceError(
            f"{traits[0].text} and {traits[1].text} have {n_cells:,} cells, more than "
            f"{MOST_CELLS_CROSSED}; take coarser levels, or conditions."
        )


def require_possible(traits: Sequence[Trait], schema: Schema, where: str = "") -> None:
    """Refuse traits that cannot be crossed freely, among records that meet a condition.

    Raises:
        InferenceError: the schema forbids a cell.
    """
    columns, meets = _columns_met(traits, schema, where)
    allowed = schema.table(columns).allowed_mask().reshape(-1) & meets
    possible = _by_class(allowed.astype(np.float64), traits, columns, schema) > 0
    if not possible.all():
        row, column = np.argwhere(~possible)[0]
        what = f"The schema and the condition {where!r} forbid" if where else "The schema forbids"
        raise InferenceError(
            f"{what} {traits[0].labels[row]} together with {traits[1].labels[column]}, "
            "so the two are not independent, and their odds ratio is 0 or infinite, by declaration."
        )


def table_cells(
    traits: Sequence[Trait], measurements: Sequence[Measurement], schema: Schema, where: str = ""
) -> NoisyCells | None:
    """The counts of full noisy tables, averaged by precision; None where none has the columns.

    Args:
        traits: two, of columns of their own.
        measurements: of a release; those without the columns are passed over.
        schema: in the bins of the tables.
        where: condition of the records that count; "" for all.
    """
    columns, _ = _columns_met(traits, schema, where)
    used = select_covering(measurements, columns)
    if not used:
        return None
    tables = [marginal(measured, columns, schema) for measured in used]
    table = pooled_table(tables)
    fourth = np.zeros_like(table.variances)
    for measured, own in zip(used, tables, strict=True):
        if not measured.family.is_gaussian:
            weights = table.variances / np.where(own.variances > 0, own.variances, 1.0)
            fourth += weights**4 * _LAPLACE_KURTOSIS * measured.stddev**2 * own.variances
    return crossed_cells(traits, table, schema, where, fourth=fourth, sources=len(used))


def crossed_cells(
    traits: Sequence[Trait],
    table: NoisyCounts,
    schema: Schema,
    where: str = "",
    *,
    fourth: Floats | None = None,
    sources: int = 1,
) -> NoisyCells:
    """The cells of two traits, summed from those of a table.

    Args:
        traits: two, of columns of their own.
        table: counts of the columns of both, and of the condition, in the order of the schema.
        schema: in the bins of the table.
        where: condition of the records that count; "" for all.
        fourth: fourth cumulants of its noise, shape (cells,); None where that is normal.
        sources: tables behind it.
    """
    columns, meets = _columns_met(traits, schema, where)
    cumulants = np.zeros_like(table.variances) if fourth is None else fourth
    counts, variances, crossed = (
        _by_class(each * meets, traits, columns, schema)
        for each in (table.counts, table.variances, cumulants)
    )
    return NoisyCells(
        counts=counts,
        noise=np.diag(variances.reshape(-1)),
        fourth=crossed,
        dropped=float((table.counts * meets).sum() - counts.sum()),
        rule="noise-aware",
        reason=COUNTS_REASON,
        sources=sources,
    )


def moment_cells(
    traits: Sequence[Trait], matrix: MomentMatrix, schema: Schema
) -> NoisyCells | None:
    """The counts of second moments; None where a trait is not one of the levels of one column."""
    rows = [class_weights(trait, matrix, schema) for trait in traits]
    left, right = rows
    if left is None or right is None:
        return None
    counts = matrix.form(left, right)
    products = left[:, None, :, None] * right[None, :, None, :]
    noise = matrix.noise_covariance(products.reshape(-1, left.shape[1], right.shape[1]))
    dropped = float(matrix.n - counts.sum())
    return NoisyCells(counts, noise, np.zeros_like(counts), dropped, RULE, REASON, 1)


def class_weights(trait: Trait, matrix: MomentMatrix, schema: Schema) -> Floats | None:
    """Weights of the scores in the indicator of each class, shape (k, s + 1).

    None for a trait that is not one of the levels of one column.

    Args:
        trait: the trait.
        matrix: whose rows the weights are for.
        schema: of the release.
    """
    if len(trait.columns) != 1:
        return None
    return matrix.classes(schema, trait.columns[0], trait.class_of, len(trait.labels))


def _columns_met(
    traits: Sequence[Trait], schema: Schema, where: str
) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Columns of traits and of a condition, and which cells of their table meet it.

    Raises:
        UntoldError: states do not tell the condition.
        InferenceError: it is neither true nor false.
    """
    if not where:
        return _columns(traits, schema), np.array(True)
    condition = Trait.of_values(where, schema)
    if not np.isin(condition.values, (0.0, 1.0)).all():
        raise InferenceError(f"Expected a condition that is true or false, got {where!r}.")
    columns = _columns((*traits, condition), schema)
    place = condition.within(columns, schema)
    return columns, (place != ABSENT) & (condition.values[place] == 1)


def _columns(traits: Sequence[Trait], schema: Schema) -> tuple[str, ...]:
    used = {name for trait in traits for name in trait.columns}
    return tuple(name for name in schema.names if name in used)


def _by_class(
    numbers: Floats | NDArray[np.bool_],
    traits: Sequence[Trait],
    columns: Sequence[str],
    schema: Schema,
) -> Floats:
    """Sums over the cells of a table by the classes of both traits, shape (r, c)."""
    rows, others = (trait.within(columns, schema) for trait in traits)
    shape = len(traits[0].labels), len(traits[1].labels)
    known = (rows != ABSENT) & (others != ABSENT)
    place = rows[known] * shape[1] + others[known]
    return np.asarray(np.bincount(place, numbers[known], shape[0] * shape[1]), float).reshape(shape)


_AGREE = np.array([[1.0, 1, 0, 0, 0, -1, 0], [0, 0, 1, 1, 0, 0, -1]])


@dataclass(frozen=True)
class GroupSums:
    """Sizes, sums and squares of a number in two groups.

    Attributes:
        sizes: n_g, shape (2,).
        totals: S_g, shape (2,).
        squares: Σ y² of both groups.
        noise: covariance of the noise in sizes, totals and squares, shape (5, 5).
        off: how far these may lie off by where numbers lie within cells, a column for each sum that
            cells leave open, shape (5, sums).
    """

    sizes: Floats
    totals: Floats
    squares: float
    noise: Floats
    off: Floats = field(default_factory=lambda: np.zeros((5, 0)))

    @property
    def means(self) -> Floats:
        """Mean of each group, shape (2,)."""
        return np.asarray(self.totals / self.sizes)

    @property
    def within(self) -> float:
        """W."""
        return float(self.squares - (self.totals**2 / self.sizes).sum())

    @property
    def within_slopes(self) -> Floats:
        """Derivatives of W, shape (5,)."""
        return np.array([*self.means**2, *(-2 * self.means), 1.0])


@dataclass(frozen=True)
class Shown:
    """Both groups as the synthetic records have them, or as counts have.

    Attributes:
        group: of each record, or class of records, 0 or 1, shape (N,).
        value: y, shape (N,).
        weight: records that each stands for, shape (N,).
    """

    group: Integers
    value: Floats
    weight: Floats

    @property
    def sums(self) -> GroupSums:
        """Sizes, sums and squares of these records, free of noise."""
        sizes = np.asarray(np.bincount(self.group, self.weight, 2), dtype=np.float64)
        totals = np.asarray(np.bincount(self.group, self.weight * self.value, 2), dtype=np.float64)
        squares = float(self.weight @ self.value**2)
        return GroupSums(sizes, totals, squares, np.zeros((5, 5)))


def counted_sums(cells: NoisyCells, values: Floats) -> GroupSums:
    """Sums from counts of the values of the outcome.

    Args:
        cells: counts of each value by group, shape (k, 2).
        values: numbers, shape (k,).
    """
    k = len(values)
    maps = np.zeros((5, k, 2))
    for group in range(2):
        maps[group, :, group], maps[2 + group, :, group] = 1.0, values
    maps[4] = (values**2)[:, None]
    flat = maps.reshape(5, -1)
    sums = flat @ cells.counts.reshape(-1)
    return GroupSums(sums[:2], sums[2:4], float(sums[4]), flat @ cells.noise @ flat.T)


def moment_sums(matrix: MomentMatrix, value: Floats, present: Floats, groups: Floats) -> GroupSums:
    """Sums from second moments.

    Sizes and sums of both groups were measured, and so were those of all records: they are made to
    agree by generalised least squares, which takes noise off all of them.

    Args:
        matrix: in which every record has a group.
        value: weights of the outcome, 0 for a record without one, shape (s + 1,).
        present: weights of whether a record has an outcome, shape (s + 1,).
        groups: weights of the indicators of both groups, shape (2, s + 1).
    """
    left = np.stack([present, present, value, value, value, present, value])
    right = np.stack([*groups, *groups, value, present, present])
    numbers = np.array(
        [matrix.form(a[None], b[None])[0, 0] for a, b in zip(left, right, strict=True)]
    )
    derivatives = left[:, :, None] * right[:, None, :]
    noise, off = matrix.noise_covariance(derivatives), matrix.cell_offsets(derivatives)
    gain = noise @ _AGREE.T @ np.linalg.pinv(_AGREE @ noise @ _AGREE.T, hermitian=True)
    numbers, noise = numbers - gain @ _AGREE @ numbers, noise - gain @ _AGREE @ noise
    off = off - gain @ _AGREE @ off
    return GroupSums(numbers[:2], numbers[2:4], float(numbers[4]), noise[:5, :5], off[:5])


def require_groups(sums: GroupSums, drawn: Sequence[Shown]) -> list[Shown]:
    """Refuse groups that noise hides, by what the synthetic records have.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.

    Returns:
        The sets that have both groups.

    Raises:
        LostInNoiseError: a group is not clearly above 0 under its noise.
    """
    kept = [shown for shown in drawn if (shown.sums.sizes > 0).all()]
    if not kept:
        raise LostInNoiseError("No synthetic record is in one of the groups; merge it with others.")
    sizes = np.mean([each.sums.sizes for each in kept], axis=0)
    require_firm(sizes, np.diag(sums.noise)[:2], "A group is too small under the privacy noise")
    return kept


_LEAST_CELL = chdtri(1, 0.05)  # records
_RANK = 1e-10
NAME = "χ² of independence"
_LEVEL, _POWER = 0.05, 0.8
TEST_NOTE = (
    "The first row is the test: its statistic, its degrees of freedom and its p-value. The others "
    "are shares of cells less the product of the shares of their levels, 0 if independent."
)
POWER_NOTE = (
    "A test at 5 % finds an association of Cohen's w = {:.2g} in 80 of 100 such releases, and most "
    "weaker ones in fewer; without privacy noise it would be {:.2g}."
)
LARGEST_W = 10.0  # Cohen's w is at most √(k − 1) for k classes


def _note_power(detectable: float, without: float) -> str:
    """Note which association the test would have found."""
    if detectable > LARGEST_W:
        return "No association can be told from none under this noise."
    return POWER_NOTE.format(detectable, without)


@dataclass(frozen=True)
class IndependenceTest:
    """A test of independence.

    Attributes:
        statistic: X².
        df: degrees of freedom.
        pvalue: probability of a larger one under independence.
        detectable: Cohen's w that a test at 5 % finds in 80 % of releases, on average over the
            directions in which cells may deviate; and what it would be without noise.
    """

    statistic: float
    df: int
    pvalue: float
    detectable: tuple[float, float]


@dataclass(frozen=True)
class Independence(Pooled):
    """A test, which has neither error nor interval, and the excess of each cell.

    Attributes:
        test_pvalue: of the test.
    """

    test_pvalue: float = np.nan

    @property
    def pvalue(self) -> Floats:
        """Of the test, and of each excess being 0."""
        each = super().pvalue
        each[0] = self.test_pvalue
        return each


def chi_square(counts: Floats, noise: Floats, fourth: Floats) -> IndependenceTest:
    """Test the independence of rows and columns.

    Args:
        counts: shape (r, c).
        noise: covariance of the noise in them, shape (r·c, r·c).
        fourth: fourth cumulants of the noise, shape (r, c); 0 for normal noise.

    Raises:
        LostInNoiseError: there are no records by the counts, or a trait does not vary.
    """
    r, c = counts.shape
    n = _size(counts)
    p, q = counts.sum(axis=1) / n, counts.sum(axis=0) / n
    linear = _excess_map(p, q)
    expected = n * np.outer(np.maximum(p, 0), np.maximum(q, 0)).reshape(-1)
    kept = np.arange(r * c).reshape(r, c)[:-1, :-1].reshape(-1)  # the others follow from these
    free = linear[kept]
    alone = free @ np.diag(expected) @ free.T
    lengths, axes = np.linalg.eigh(alone + free @ noise @ free.T)
    used = lengths > _RANK * max(lengths.max(initial=0.0), np.finfo(np.float64).tiny)
    turned = (axes[:, used] / np.sqrt(lengths[used])).T
    roots = turned @ free
    df = int(used.sum())
    if not df:
        raise LostInNoiseError("By the counts a trait does not vary, so there is nothing to test.")
    statistic = float(((roots @ counts.reshape(-1)) ** 2).sum())
    heavier = float((roots**2).sum(axis=0) ** 2 @ fourth.reshape(-1))
    stretch = 1 + heavier / (2 * df)
    pvalue = float(chdtrc(df / stretch, statistic / stretch))
    # An effect w has the noncentrality n·w²; of that, noise leaves the part of sampling in all.
    needed = float(chndtrinc(chdtri(df, _LEVEL), df, 1 - _POWER))
    left = float(np.trace(turned @ alone @ turned.T)) / df
    without = math.sqrt(needed / n)
    detectable = without / math.sqrt(left) if left > 0 else math.inf
    return IndependenceTest(statistic, df, pvalue, (detectable, without))


def independence(cells: NoisyCells, traits: Sequence[Trait]) -> Independence:
    """The test, and the excess shares of all cells.

    Args:
        cells: of shape (r, c).
        traits: with r and c classes.

    Raises:
        LostInNoiseError: there are no records by the counts, or a trait does not vary.
    """
    test = chi_square(cells.counts, cells.noise, cells.fourth)
    n, y = _size(cells.counts), cells.counts
    p, q = y.sum(axis=1) / n, y.sum(axis=0) / n
    shares = (y / n).reshape(-1)
    excess = shares - np.outer(p, q).reshape(-1)
    # D/n, free of n: what a change of all counts by one factor would do is nothing.
    slopes = (_excess_map(p, q) - np.outer(excess, np.ones(y.size))) / n
    sampling = np.diag(np.maximum(y.reshape(-1), _LEAST_CELL))
    noise, drawn = slopes @ cells.noise @ slopes.T, slopes @ sampling @ slopes.T
    k = y.size + 1
    covariance = np.full((k, k), np.nan)
    covariance[1:, 1:] = noise + drawn
    share = np.full(k, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        share[1:] = np.diag(noise) / np.diag(noise + drawn)
    names = [f"{row}:{column}" for row in traits[0].labels for column in traits[1].labels]
    return Independence(
        names=(NAME, *names),
        estimate=np.append(test.statistic, excess),
        covariance=covariance,
        df=np.append(float(test.df), np.full(k - 1, np.inf)),
        synthesis_share=share,
        rule=cells.rule,
        sets=cells.sources,
        notes=(TEST_NOTE, _note_power(*test.detectable)),
        test_pvalue=test.pvalue,
    )


def _excess_map(p: Floats, q: Floats) -> Floats:
    """J = (I − p1') ⊗ (I − q1'), shape (r·c, r·c)."""
    rows = np.eye(len(p)) - np.outer(p, np.ones(len(p)))
    columns = np.eye(len(q)) - np.outer(q, np.ones(len(q)))
    return np.asarray(np.kron(rows, columns), dtype=np.float64)


def _size(counts: Floats) -> float:
    n = float(counts.sum())
    if n <= 0:
        raise LostInNoiseError("By the noisy counts there are no records with both traits.")
    return n


_STEPS = np.geomspace(1e-12, 0.5, 300)
_SHARES = np.concatenate([_STEPS, 1 - _STEPS[-2::-1]])
_FINER = 3
_NEWTON = 25
_INNER = np.linspace(0, 1, 65)
OPEN_NOTE = (
    "A cell is not told from 0 under sampling and noise, so the interval has no end on that side."
)


@dataclass(frozen=True)
class _Path:
    """Odds ratios above (or, of the inverse table, below) the estimate, and how badly they fit.

    Attributes:
        theta: odds ratios, shape (points,).
        excess: Q − min Q, same shape.
    """

    theta: Floats
    excess: Floats


def _no_records() -> Floats:
    return np.zeros((2, 2))


@dataclass(frozen=True)
class OddsRatios(Pooled):
    """An odds ratio and its logarithm, with intervals and tests by inversion.

    Attributes:
        counts: ŷ as ((ŷ₀₀, ŷ₀₁), (ŷ₁₀, ŷ₁₁)), shape (2, 2).
        variances: v, shape (2, 2).
        fourth: fourth cumulants of the noise, shape (2, 2).
    """

    counts: Floats = field(default_factory=_no_records)
    variances: Floats = field(default_factory=_no_records)
    fourth: Floats = field(default_factory=_no_records)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (2,); 0 and infinite where a cell may be empty.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        most = float(chdtri(1, 1 - level))
        upper = _farthest(self._table, most)
        lower = 1 / _farthest(self._table[:, ::-1], most)
        with np.errstate(divide="ignore"):
            return np.array([lower, np.log(lower)]), np.array([upper, np.log(upper)])

    @property
    def pvalue(self) -> Floats:
        """Of the hypothesis that the odds ratio is 1, both times, by the same test."""
        p = chdtrc(1, _excess_at_one(self._table))
        return np.array([p, p])

    @property
    def _table(self) -> Floats:
        return np.stack([self.counts, self.variances, self.fourth])


def odds_ratio(cells: NoisyCells, traits: Sequence[Trait]) -> OddsRatios:
    """The odds ratio of the second classes of two traits, and its logarithm.

    Args:
        cells: of shape (2, 2).
        traits: with two classes each.
    """
    y, v = cells.counts, cells.variances
    held = np.maximum(y, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = held[1, 1] * held[0, 0] / (held[1, 0] * held[0, 1])
        sampling, noise = float(np.sum(1 / y)), float(np.sum(v / y**2))
        log = np.log(estimate)
    if not (y > 0).all():
        sampling = noise = np.nan
    scale = np.array([estimate, 1.0])
    text = f"odds ratio of {traits[0].labels[1]} and {traits[1].labels[1]}"
    table = np.stack([y, v, cells.fourth])
    least = min(_cost_of_none(table), _cost_of_none(table[:, ::-1]))
    return OddsRatios(
        names=(text, f"log {text}"),
        estimate=np.array([estimate, log]),
        covariance=(sampling + noise) * np.multiply.outer(scale, scale),
        df=np.full(2, np.inf),
        synthesis_share=np.full(2, noise / (sampling + noise)),
        rule=cells.rule,
        sets=cells.sources,
        notes=(OPEN_NOTE,) if least <= chdtri(1, 0.05) else (),
        counts=y,
        variances=v,
        fourth=cells.fourth,
    )


def _farthest(table: Floats, most: float) -> float:
    """The largest odds ratio that fits up to `most`; infinite where there is none.

    Args:
        table: counts, variances and fourth cumulants, shape (3, 2, 2).
        most: largest Q − min Q.
    """
    if _cost_of_none(table) <= most:
        return float(np.inf)
    ends = []
    for lead in range(2):
        shares = _SHARES
        for _ in range(_FINER):
            path = _path(table, lead, shares)
            fits = np.flatnonzero(path.excess <= most)
            best = fits[path.theta[fits].argmax()]
            shares = _around(shares, best)
        ends.append(float(path.theta[best]))
    return max(ends)


def _excess_at_one(table: Floats) -> float:
    """Q − min Q of the best fit among the odds ratios of 1 and beyond, seen from the estimate."""
    held = np.maximum(table[0], 0.0)
    above, below = held[1, 1] * held[0, 0], held[1, 0] * held[0, 1]
    if above == below:
        return 0.0
    table = table[:, ::-1] if above > below else table
    least = _cost_of_none(table)
    for lead in range(2 if least > 0 else 0):
        shares = _SHARES
        for _ in range(_FINER):
            path = _path(table, lead, shares)
            beyond = np.where(path.theta >= 1, path.excess, np.inf)
            shares = _around(shares, int(beyond.argmin()))
            least = min(least, float(beyond.min()))
    return least


def _cost_of_none(table: Floats) -> float:
    """Q − min Q where one of both cells below has no records."""
    y, v, fourth = table[:, [1, 0], [0, 1]]
    if (y <= 0).any():
        return 0.0
    noisy = v > 0
    if not noisy.any():
        return float(np.inf)
    z = y[noisy] / np.sqrt(v[noisy])
    return float((_as_normal(z, fourth[noisy] / v[noisy] ** 2) ** 2).min())


def _around(shares: Floats, place: int) -> Floats:
    low, high = shares[max(place - 1, 0)], shares[min(place + 1, len(shares) - 1)]
    return np.asarray(low + (high - low) * _INNER)


def _path(table: Floats, lead: int, shares: Floats) -> _Path:
    """Expected counts along which one of both cells below, the leading one, vanishes.

    Args:
        table: counts, those below positive, variances and fourth cumulants, shape (3, 2, 2).
        lead: 0 for the cell (1, 0), 1 for (0, 1).
        shares: of its count that are left, in (0, 1).
    """
    places = [((1, 0), (0, 1))[lead], ((1, 0), (0, 1))[1 - lead], (0, 0), (1, 1)]
    y, v, fourth = (row[tuple(zip(*places, strict=True))][:, None] for row in table)
    lam = y[0] * shares
    push = (y[0] - lam) * lam / (lam + v[0])
    own = [lam, _root(y[1], v[1], -push), _root(y[2], v[2], push), _root(y[3], v[3], push)]
    fit = np.stack(own)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        theta = fit[2] * fit[3] / (fit[0] * fit[1])
        below = y < 0
        least = float((y[below] ** 2 / v[below]).sum())
        excess = ((y - fit) ** 2 / (fit + v)).sum(axis=0) - least
        spread = ((fit + v) / fit**2).sum(axis=0)
        kurtosis = (fourth / fit**4).sum(axis=0) / spread**2
    known = np.isfinite(theta) & np.isfinite(excess) & np.isfinite(kurtosis)
    z = np.sqrt(np.maximum(excess[known], 0.0))
    path = _Path(np.zeros(len(shares)), np.full(len(shares), np.inf))
    path.theta[known], path.excess[known] = theta[known], _as_normal(z, kurtosis[known]) ** 2
    return path


def _as_normal(z: Floats, kurtosis: Floats) -> Floats:
    """The normal score x with x + κ·max(x³ − 3x, 0)/24 = z, elementwise, by Newton's method."""
    if not kurtosis.any():
        return z
    x, a = z.copy(), kurtosis / 24
    for _ in range(_NEWTON):  # from above, on a convex function
        excess = x + a * (x**3 - 3 * x) - z
        x = np.where(z * z > 3, x - excess / (1 + a * (3 * x * x - 3)), z)
    return x


def _root(y: Floats, v: Floats, push: Floats) -> Floats:
    """The larger λ with (λ − y)·λ = push·(λ + v), NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt((y + push) ** 2 + 4 * push * v)
        large = np.where(y + push > 0, (y + push + root) / 2, 2 * push * v / (root - y - push))
        return np.where((push >= 0) | (y + push > 0), large, np.nan)


RATIO_NOTE = "The mean of the second group over that of the first; 1 where both are the same."


def ratio_of_means(
    sums: GroupSums,
    drawn: Sequence[Shown],
    counted: Shown | None,
    *,
    name: str,
    rule: str,
) -> Inverted:
    """The mean of the second group over that of the first.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.
        counted: the same of noisy counts, none below 0, where each value was counted.
        name: of the estimate.
        rule: what answers.

    Raises:
        LostInNoiseError: a group, or the mean of the first, is not clearly off 0 under its noise.
    """
    drawn = require_groups(sums, drawn)
    if sums.sizes.min() <= 1:
        raise LostInNoiseError("The noisy sums of both groups fit no records.")
    first, second = sums.means
    slopes = np.zeros((2, 5))  # of both means in sizes, sums and squares
    slopes[[0, 1], [0, 1]], slopes[[0, 1], [2, 3]] = -sums.means / sums.sizes, 1 / sums.sizes
    noise = slopes @ sums.noise @ slopes.T
    shown = np.array([abs(np.mean([each.sums.means[0] for each in drawn]))])
    require_firm(shown, noise[:1, 0], "The mean of the first group is near 0")
    sampling = _ratio_sampling(sums, drawn, counted)
    ratio = float(second / first)
    turned = np.array([-ratio, 1.0])  # of both means in ȳ₁ − ρȳ₀
    variance = turned @ (noise + np.diag(sampling)) @ turned
    off = float(np.abs(turned @ slopes @ sums.off).sum())
    return Inverted(
        names=(name,),
        estimate=np.array([ratio]),
        covariance=np.array([[variance / first**2]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([turned @ noise @ turned / variance]),
        rule=rule,
        sets=len(drawn),
        notes=(RATIO_NOTE,),
        bias=np.array([off / abs(first)]),
        null=1.0,
        denominator=np.array([first]),
        mixed=np.array([turned @ noise[:, 0] - ratio * sampling[0]]),
        squared=np.array([noise[0, 0] + sampling[0]]),
    )


def _ratio_sampling(sums: GroupSums, drawn: Sequence[Shown], counted: Shown | None) -> Floats:
    """Sampling variances of both means, shape (2,)."""
    values = [each.value for each in ([counted] if counted is not None else drawn)]
    if all(np.isin(value, (0.0, 1.0)).all() for value in values):
        share = np.clip(sums.means, 0.0, 1.0)
        own = share * (1 - share) / np.maximum(sums.sizes - 1, 1.0)
        return np.maximum(own, edge_variance(sums.sizes))
    if counted is not None:
        return np.asarray(_spread(counted) / sums.sizes)
    spread = np.mean([_spread(each) for each in drawn], axis=0)
    left = sums.within / max(float(sums.sizes.sum()) - 2, 1.0)
    noise = float(np.sqrt(sums.within_slopes @ sums.noise @ sums.within_slopes))
    left = max(left, noise / float(sums.sizes.sum()))
    pooled = float(spread @ sums.sizes / sums.sizes.sum())
    return np.asarray(spread * (left / pooled if pooled > 0 else 1.0) / sums.sizes)


def _spread(shown: Shown) -> Floats:
    """Variance of the number within each group, shape (2,)."""
    sums = shown.sums
    squares = np.bincount(shown.group, shown.weight * shown.value**2, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares / sums.sizes - sums.means**2
    return np.asarray(np.maximum(np.nan_to_num(spread), 0.0))


DIFFERENCE_NOTE = "In units of the standard deviation within groups, pooled over both."


def standardised_difference(
    sums: GroupSums,
    drawn: Sequence[Shown],
    counted: Shown | None,
    *,
    name: str,
    rule: str,
) -> Inverted:
    """The difference of the second group and the first, in units of the deviation within.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.
        counted: the same of noisy counts, none below 0, where each value was counted.
        name: of the estimate.
        rule: what answers.

    Raises:
        LostInNoiseError: a group, or the deviation, is not clearly above 0 under its noise.
    """
    drawn = require_groups(sums, drawn)
    _require_spread(sums, drawn)
    n = float(sums.sizes.sum())
    if sums.within <= 0 or sums.sizes.min() <= 0 or n <= 2:
        raise LostInNoiseError("The noisy sums of both groups fit no records.")
    s = float(np.sqrt(sums.within / (n - 2)))
    d = float(sums.means[1] - sums.means[0]) / s
    sign = np.array([-1.0, 1.0]) / sums.sizes
    top = np.array([*(-sign * sums.means), *sign, 0.0])
    bottom = sums.within_slopes / (2 * s * (n - 2))
    bottom[:2] -= s / (2 * (n - 2))
    both = np.stack([top - d * bottom, bottom])
    noise = both @ sums.noise @ both.T
    off = float(np.abs(both[0] @ sums.off).sum())
    sampling = _difference_sampling(sums, drawn, counted, d, s)
    variance = noise[0, 0] / s**2 + sampling
    return Inverted(
        names=(name,),
        estimate=np.array([d]),
        covariance=np.array([[variance]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise[0, 0] / s**2 / variance]),
        rule=rule,
        sets=len(drawn),
        notes=(DIFFERENCE_NOTE,),
        bias=np.array([off / s]),
        denominator=np.array([s]),
        mixed=np.array([noise[0, 1]]),
        squared=np.array([noise[1, 1]]),
    )


def _require_spread(sums: GroupSums, drawn: Sequence[Shown]) -> None:
    """Refuse a deviation that noise hides, by what the synthetic records have."""
    shown = [each.sums for each in drawn]
    slopes = np.mean([each.within_slopes for each in shown], axis=0)
    within = np.array([np.mean([each.within for each in shown])])
    noise = np.array([slopes @ sums.noise @ slopes])
    require_firm(within, noise, "The outcome varies too little under the privacy noise")


def _difference_sampling(
    sums: GroupSums, drawn: Sequence[Shown], counted: Shown | None, d: float, s: float
) -> float:
    """Sampling variance of d."""
    n = float(sums.sizes.sum())
    normal = float((1 / sums.sizes).sum()) + d * d / (2 * n)
    if counted is None:
        spread = [_influence(each, sums.sizes / n, d) for each in drawn]
        return max(float(np.mean(spread)) / n, normal)
    edge = 0.0
    if np.isin(counted.value, (0.0, 1.0)).all():  # shares, of which none has an error of 0
        edge = float(edge_variance(sums.sizes).sum()) / s**2
    return max(_influence(counted, sums.sizes / n, d) / n, edge)


def _influence(shown: Shown, shares: Floats, d: float) -> float:
    """Mean square of the influence of a record, its groups brought to their measured shares."""
    sums = shown.sums
    if not ((sums.sizes > 0).all() and sums.within > 0):
        return 0.0
    s = np.sqrt(sums.within / sums.sizes.sum())
    u = (shown.value - sums.means[shown.group]) / s
    sign = np.where(shown.group == 1, 1.0, -1.0)
    squares = (sign * u / shares[shown.group] - d * (u * u - 1) / 2) ** 2
    weight = shown.weight * shares[shown.group] / sums.sizes[shown.group]
    return float(weight @ squares)


MOST_VALUES = 200


def traits_of(estimand: Estimand, schema: Schema) -> tuple[Trait, ...]:
    """Both traits of a question; of a number that states do not tell, the group alone.

    Args:
        estimand: of a kind of `TWO_WAY`, or `OF_GROUPS`; then the group stands last.
        schema: of the release.

    Raises:
        UntoldError: states do not tell whether a condition holds.
        InferenceError: a term is no condition, or both have very many classes.
    """
    groups, numbers = group_terms(estimand.kind, estimand.formula)
    traits = tuple(Trait.of(term, schema) for term in groups)
    if not numbers:
        require_few(traits)
        return traits
    try:
        outcome = Trait.of_values(numbers[0], schema)
    except UntoldError:
        return traits
    return (outcome, *traits) if len(outcome.values) <= MOST_VALUES else traits


def two_way_estimate(
    estimand: Estimand, cells: NoisyCells, traits: Sequence[Trait], schema: Schema
) -> Pooled:
    """The odds ratio, or the test of independence, of two traits.

    Args:
        estimand: the question.
        cells: counts of both traits, of the records that it is about.
        traits: both.
        schema: in the bins of the counts.

    Raises:
        InferenceError: the schema forbids a cell, or the answer is lost in noise.
    """
    require_possible(traits, schema, estimand.where)
    return (odds_ratio if estimand.kind == "odds-ratio" else independence)(cells, traits)
