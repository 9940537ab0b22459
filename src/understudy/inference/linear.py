"""Estimates from noisy second moments: means, shares, correlations and linear models.

Errors count sampling and noise; intervals of ratios are Fieller's (`Inverted`).

With the design X, outcome y and second moments M of all scores, coefficients solve X'X b = X'y,
where X'X = W M Wᵀ and X'y = W M w for the weights W, w of the terms (`affine_weights`). To first
order

    b̂ − β = A⁻¹ (Σ x_i r_i + W E ω),    A = X'X, r = y − x'β, ω = w − Wᵀβ,                     (1)

E the noise in M: noise in the design is in it, times the coefficients. Variance:

* *noise*: exact for (1), number by number (`MomentMatrix.noise_covariance`);
* *sampling*: A⁻¹ B A⁻¹ with B = Σ r²xx', so variances may differ between records (White 1980). B
  has fourth moments, which were not measured. Of a 0/1 outcome they follow: r² has the mean
  p(1 − p) given x, p = x'b cut to [0, 1]. Else the *shape* of B is that of the synthetic records,
  by their own fit, and its *size* that of Σ r² = ωᵀ M ω, which was measured. Records whose relation
  was drawn too weak have the larger residuals that this takes back.

**Noise in the design.** Coefficient k is the ratio of x̃_k'y to x̃_k'x_k, x̃_k what is left of its
predictor when the others are taken out, so its interval is that of `Inverted`: noise that makes the
denominator smaller makes it longer. Where a denominator is not firm under its noise
(`require_firm`), or A is not positive definite, there is no answer.

Sources: White (1980), Econometrica 48, 817-838; noise in all moments as in Sheffet (2017) and
Evans & King (2023), Political Analysis 31, 1-21, whose correction it shares.

**Pearson's correlation of two columns from noisy second moments.**

r = C_xy/S with S = √(C_xx·C_yy) and C the moments about the means. Its interval is that of
`Inverted`, with the noise in C_xy − r·S and in S, to first order. Its sampling variance is that of
the influence of a record, z_x z_y − r(z_x² + z_y²)/2 with z in standard units, over n: right
whatever the distributions (Fisher's z assumes normal ones). It has fourth moments, which are those
of the synthetic records, whose own correlation stands in the influence; and it is no less than
(1 − r²)²/n, that of normal ones. Of members of units it grows as the synthetic units show, and no
less than by products of pairs of members, which were measured (`alike_in_correlation`).

**Means, shares and cross-tabulations, by groups or not, from noisy second moments.**

Each is a ratio R = N/D of sums over the records of a product of two affine functions of scores,
N = l'Mr and D = L'MR: what a record adds, and whether it has a value and belongs to the group. So
who counts is known exactly, absences left out. Intervals are those of `Inverted`, with the noise in
N − R·D and in D; the sampling variance is added, from the sum of squared values, which was measured
for indicators, and for numbers without groups. Within groups the variance of a number is that of
the synthetic records, brought to the size that the measured squares leave within groups.

A group whose size D is not firm under its noise (`are_firm`) has no answer: its numbers are NaN.

**Intervals of ratios by inverting a test, which hold though the denominator is noisy (Fieller).**

An estimate b̂ = N/S has a noisy denominator S: a number of records, or what is left of a predictor
when the others are taken out of it. At the true b the difference N − bS = S(b̂ − b) is 0 but for
errors, whose variance is a quadratic function of b,

    V(b) = v_0 + 2(b̂ − b)·v_1 + (b̂ − b)²·v_2,

v_2 the variance of the noise in S, and v_1 its covariance with that of N − b̂S. So the interval has
every b with S²(b̂ − b)² ≤ z²V(b). It is longer on the side where S may be smaller, and endless
where S is not told from 0. For v_1 = v_2 = 0 it is b̂ ± z√v_0/S. A bound on
a bias is added at both ends.

Source: Fieller (1954), "Some problems in interval estimation", JRSS B 16, 175-185.

**Terms of a formula as affine functions of what is measured, found by looking at what they do.**

A term is affine where it is a sum of functions of one column each: of levels any, of numbers a
linear one (`age`, `age / 10`), or one that changes at the edges of bins only, if these have rows in
the matrix (`age >= 65` where a bin begins at 65). Whether it is follows from its values on a few
public records: a base, the base with one column changed, and many changed at once, on which the sum
must hold. `log(income)` and `sex:region` are none; they would need other moments. Nor is
`age == 40`, which is 0 nearly everywhere: columns of few whole numbers are looked at in each, and
others at the numbers that the formula names too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.features.scores import Limits
from understudy.inference import formulas
from understudy.inference.combining import Pooled, require_level
from understudy.inference.conditions import UntoldError, state_values
from understudy.inference.contributions import edge_variance, sampling_covariance
from understudy.inference.member_slots import (
    Moments,
    SlotMoments,
    cluster_factors,
    similarity,
)
from understudy.inference.question import SHARES, Estimand
from understudy.inference.records import ABSENT, Records, state_places
from understudy.inference.second_moments import (
    FIRM,
    LostInNoiseError,
    MomentMatrix,
    Sums,
    refuse_lost,
)
from understudy.inference.term_moments import TermMatrix
from understudy.schema import NUMERIC, Column, Continuous, Schema
from understudy.schema.expressions import read_name


def are_firm(shown: Floats, squared: Floats) -> NDArray[np.bool_]:
    """Mark denominators that stand out from their noise; arguments as for `require_firm`.

    A variance of next to nothing may come out below 0, as it is a difference.
    """
    return np.asarray(shown >= FIRM * np.sqrt(np.maximum(squared, 0.0)))


def require_firm(shown: Floats, squared: Floats, what: str) -> None:
    """Refuse a denominator that is not told from 0 under its noise.

    Whether there is an answer follows from the synthetic records, not from the noisy denominator
    itself: those that came out too large would be answered more often, and their intervals would
    cover less.

    Args:
        shown: the denominators, as the synthetic records have them, shape (k,).
        squared: variances of the noise in the measured ones, shape (k,).
        what: what they are, as the beginning of a sentence.

    Raises:
        LostInNoiseError: one is below `FIRM` standard deviations.
    """
    firmness = float((shown / np.sqrt(np.maximum(squared, 1e-300))).min())
    if firmness < FIRM:
        raise refuse_lost(what, firmness)


def _no_bound() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Inverted(Pooled):
    """Estimates whose intervals come from inverted tests.

    Attributes:
        denominator: S of each, shape (k,).
        mixed: v_1 of each, shape (k,).
        squared: v_2 of each, shape (k,).
        null: value of the hypothesis that p-values are of.
    """

    denominator: Floats = field(default_factory=_no_bound)
    mixed: Floats = field(default_factory=_no_bound)
    squared: Floats = field(default_factory=_no_bound)
    null: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (k,); infinite where the data do not bound them.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        z2 = self._quantile((1 + level) / 2) ** 2
        leading = self.denominator**2 - z2 * self.squared
        middle, constant = z2 * self.mixed, z2 * self._constant
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(middle**2 + leading * constant)
            above, below = (middle + root) / leading, (root - middle) / leading
        bounded = leading > 0
        known = np.where(np.isnan(self.estimate), np.nan, np.inf)
        lower = np.where(bounded, self.estimate - above - self.bias, -known)
        return lower, np.where(bounded, self.estimate + below + self.bias, known)

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is `null`, by the same tests."""
        off = self.estimate - self.null
        b = np.sign(off) * np.maximum(np.abs(off) - self.bias, 0)
        variance = self._constant + 2 * b * self.mixed + b * b * self.squared
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._two_sided(np.abs(b * self.denominator) / np.sqrt(variance))

    @property
    def _constant(self) -> Floats:
        return np.asarray(np.diag(self.covariance)) * self.denominator**2


@dataclass(frozen=True)
class LinearFit:
    """Coefficients, and the parts of their covariance.

    Attributes:
        estimate: shape (p,).
        noise: by privacy noise, shape (p, p).
        sampling: by sampling, shape (p, p).
        denominator: sum of squares of each predictor when the others are taken out, shape (p,).
        mixed: covariance of its noise with that of the numerator (`Inverted`), shape (p,).
        squared: variance of its noise, shape (p,).
        bias: bound on what was not measured, shape (p,) (`MomentMatrix.bound_hidden`).
        derivatives: of each coefficient in the entries of the matrix, shape (p, R, R).
        of_size: of its denominator, of the same shape.
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    denominator: Floats
    mixed: Floats
    squared: Floats
    bias: Floats
    derivatives: Floats
    of_size: Floats


def least_squares(
    matrix: Sums,
    design: Floats,
    outcome: Floats,
    sets: Sequence[tuple[Floats, Floats]],
    *,
    binary: bool,
    weights: Sums | None = None,
) -> LinearFit:
    """A linear model.

    Args:
        matrix: second moments.
        design: weights of its p terms, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set, which
            the shape of the sampling variance is taken from.
        binary: whether the outcome is 0 or 1.
        weights: second moments by squared weights, where records have weights: the sampling
            variance is that of these.

    Raises:
        LostInNoiseError: predictors are not told apart under the noise.
    """
    gram = matrix.form(design, design)
    inverse = _inverse(gram)
    estimate = inverse @ (design @ matrix.sums @ outcome)
    residual = outcome - estimate @ design
    influence = inverse @ design
    derivatives = influence[:, :, None] * residual
    noise, bias = matrix.noise_covariance(derivatives), matrix.bound_hidden(derivatives)
    variances = np.diag(inverse)
    mixed, squared = _denominator_noise(matrix, influence / variances[:, None], residual)
    scale = 1.0 if weights is None else weight_scale(matrix, [len(y) for y, _ in sets])
    shown = [scale * _own_squares(x) for _, x in sets]
    require_firm(np.mean(shown, axis=0), squared, _NOT_APART)
    spread = matrix if weights is None else weights
    squares = residual @ spread.sums @ residual
    error = np.sqrt(spread.noise_covariance(np.multiply.outer(residual, residual)[None])[0, 0])
    middle = np.mean(
        [
            _middle(y, x, estimate, spread.n, max(squares, 2 * error), binary=binary)
            for y, x in sets
        ],
        axis=0,
    )
    sampling = inverse @ middle @ inverse
    left = influence / variances[:, None]
    of_size = left[:, :, None] * left[:, None, :]
    parts = 1 / variances, mixed, squared, bias, derivatives, of_size
    return LinearFit(estimate, noise, sampling, *parts)


def _own_squares(design: Floats) -> Floats:
    """Sum of squares of each term that others leave, shape (p,); 0 of a term that is 0 for all."""
    inverse = np.diag(np.linalg.pinv(design.T @ design))
    return np.asarray(np.divide(1.0, inverse, out=np.zeros(len(inverse)), where=inverse > 0))


def _inverse(gram: Floats) -> Floats:
    """Of the second moments of the predictors, which must be positive definite."""
    size = np.sqrt(np.maximum(np.diag(gram), 0))
    told = (size > 0).all()
    if not told or np.linalg.eigvalsh(gram / np.outer(size, size)).min() <= _LEAST_APART:
        raise LostInNoiseError(
            f"{_NOT_APART} (their noisy second moments fit no records); take fewer of them."
        )
    return np.asarray(np.linalg.inv(gram))


def _denominator_noise(matrix: Sums, left: Floats, residual: Floats) -> tuple[Floats, Floats]:
    """Covariance of the noise in numerators and denominators, and its variance in these.

    With W the weights of the design, row k of A⁻¹W is x̃_k over its sum of squares S_k, and S_k is 1
    over the k-th diagonal entry of A⁻¹; so `left` has the weights of each x̃_k.
    """
    numerators, own = left[:, :, None] * residual, left[:, :, None] * left[:, None, :]
    both = matrix.noise_covariance(np.concatenate([numerators, own]))
    p = len(left)
    return np.diag(both[:p, p:]), np.diag(both)[p:]


_MOST_VALUES = 2**24
"""Values of a design that show the shape of a sampling variance: of longer sets the first records,
which stand in random order. Else a column of 200 levels would take minutes, and gigabytes."""
_LEAST_APART = 1e-14  # of an eigenvalue of correlations: what is less may be rounding alone
_NOT_APART = "The predictors are not told apart clearly enough under the privacy noise"


def _middle(
    y: Floats, x: Floats, estimate: Floats, n: float, squares: float, *, binary: bool
) -> Floats:
    """Σ r²xx' over n records, from the records of one set."""
    most = _MOST_VALUES // x.shape[1]
    y, x = y[:most], x[:most]
    if binary:
        p = np.clip(x @ estimate, 0.0, 1.0)
        return np.asarray((x.T * (p * (1 - p))) @ x * (n / len(y)))
    own, *_ = np.linalg.lstsq(x, y, rcond=None)
    r2 = (y - x @ own) ** 2
    if not r2.any():
        return np.asarray(x.T @ x * (squares / len(y)))
    return np.asarray((x.T * r2) @ x * (squares / r2.sum()))


@dataclass(frozen=True)
class Correlation:
    """A correlation, and the parts of its variance.

    Attributes:
        estimate: r.
        noise: variance by privacy noise.
        sampling: variance by sampling.
        denominator: S.
        mixed: covariance of the noise in S with that in C_xy − r·S.
        squared: variance of the noise in S.
        bias: bound on what was not measured (`MomentMatrix.bound_hidden`).
    """

    estimate: float
    noise: float
    sampling: float
    denominator: float
    mixed: float
    squared: float
    bias: float


def correlation(
    matrix: Sums, x: Floats, y: Floats, sets: Sequence[tuple[Floats, Floats]]
) -> Correlation:
    """The correlation of two affine functions of scores.

    Args:
        matrix: second moments.
        x: weights, shape (s + 1,).
        y: weights, shape (s + 1,).
        sets: both for the complete records of each synthetic set, shapes (n,).

    Raises:
        LostInNoiseError: a variance is not clearly above 0 under its noise, or no records are left.
    """
    n, sums = matrix.n, matrix.sums
    if n <= 0:
        raise LostInNoiseError("By the noisy counts no record has a value of both columns.")
    centred = []
    for weights in (x, y):
        centred.append(weights - matrix.constant * float(weights @ sums @ matrix.constant) / n)
    a, b = centred
    if not all(len(u) for u, _ in sets):
        raise LostInNoiseError("No synthetic record has a value of both columns.")
    variances = np.array([a @ sums @ a, b @ sums @ b])
    squares = np.stack([np.multiply.outer(a, a), np.multiply.outer(b, b)])
    shown = np.mean([[len(u) * u.var(), len(v) * v.var()] for u, v in sets], axis=0)
    noise = np.diag(matrix.noise_covariance(squares))
    require_firm(shown, noise, "A column varies too little under the privacy noise")
    if variances.min() <= 0:
        raise LostInNoiseError("The noisy second moments of a column fit no records.")
    size = float(np.sqrt(variances.prod()))
    r = float(a @ sums @ b / size)
    root = size / 2 * (squares[0] / variances[0] + squares[1] / variances[1])
    derivatives = np.stack([np.multiply.outer(a, b) - r * root, root])
    both = matrix.noise_covariance(derivatives)
    spread = float(np.mean([np.var(influence_on_correlation(*pair)) for pair in sets]))
    return Correlation(
        estimate=r,
        noise=float(both[0, 0]) / size**2,
        sampling=max(spread, (1 - min(r * r, 1.0)) ** 2) / n,
        denominator=size,
        mixed=float(both[0, 1]),
        squared=float(both[1, 1]),
        bias=float(matrix.bound_hidden(derivatives[:1])[0]) / size,
    )


def influence_on_correlation(x: Floats, y: Floats) -> Floats:
    """Influence of each record on the correlation, shape (n,); 0 where a number does not vary."""
    if not (x.std() > 0 and y.std() > 0):
        return np.zeros(len(x))
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float(np.mean(u * v))
    return np.asarray(u * v - r * (u * u + v * v) / 2)


def alike_in_correlation(r: float, x: float, y: float, crosswise: float) -> float:
    """Return how alike two members of a unit are in their influence, if all numbers are normal.

    With standard normal numbers of both members E u²v² = 1 + 2ρ² and the like, so that all products
    of four follow from those of two.

    Args:
        r: the correlation of the two columns, between −1 and 1.
        x: of the first column of both members.
        y: of the second column of both.
        crosswise: of the first column of one and the second of the other.

    Returns:
        Between 0 and 1.
    """
    both = x * y + crosswise**2 - 2 * r * crosswise * (x + y)
    both += r * r * (x * x + y * y + 2 * crosswise**2) / 2
    alone = (1 - r * r) ** 2
    return min(max(both / alone, 0.0), 1.0) if alone > 0 else 1.0


_CHECKS = 64
_CLOSE = 1e-9
_PLACES = (0.0, 1.0, *np.linspace(0, 1, 63)[1:-1])  # where numbers are looked at, in their bounds
_FEW = 1_000  # whole numbers that are all looked at
_INNER = 3  # and in each bin, beside its ends and the numbers that a formula names

Terms = Callable[[pd.DataFrame], Floats]
"""Values of p terms for each record: shape (records, p)."""


@dataclass(frozen=True)
class _Values:
    """Where a column is looked at.

    Attributes:
        numbers: numbers, or places of levels, shape (values,).
        states: state of each, same shape.
        linear: how many of the first lie anywhere between the bounds; 0 for levels.
    """

    numbers: Floats
    states: Integers
    linear: int


def affine_weights(
    terms: Terms,
    columns: Sequence[str],
    schema: Schema,
    matrix: Moments | TermMatrix,
    named: Sequence[float] = (),
) -> Floats | None:
    """Weights of the rows of the matrix in each term.

    Args:
        terms: to be looked at.
        columns: that they use, all among those of the matrix.
        schema: of the columns.
        matrix: whose rows the weights are for.
        named: numbers that the formula names, at which a term may jump.

    Returns:
        Shape (p, R), for records that have a value in each column; None where a term is not
        affine, or one has a number and another the bins of the same column.

    Raises:
        InferenceError: a term cannot be computed.
    """
    if isinstance(matrix, TermMatrix):
        return matrix.weigh(terms)
    if isinstance(matrix, SlotMoments):
        return matrix.side_by_side(
            lambda part, own: affine_weights(terms, columns, own, part, named)
        )
    values = [
        _column_values(schema.columns[name], named, (name, 0) in matrix.place) for name in columns
    ]
    probes = _probes([len(own.states) for own in values])
    seen = terms(_records(schema, columns, values, probes).frame())
    if not np.isfinite(seen).all():
        return None
    weights = np.zeros((seen.shape[1], len(matrix.sums)))
    weights[:, 0] = seen[0]
    row = 1
    for name, own in zip(columns, values, strict=True):
        change = seen[row : row + len(own.states) - 1] - seen[0]
        weights += _of_column(schema.columns[name], name, own, change, matrix)
        row += len(own.states) - 1
    predicted = _rows(schema, columns, values, probes, matrix) @ weights.T
    size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
    affine = np.abs((predicted - seen) / size).max() <= _CLOSE
    return weights if affine and not _has_both(weights, columns, matrix) else None


def _has_both(weights: Floats, columns: Sequence[str], matrix: MomentMatrix) -> bool:
    """Return whether the number of a column and its bins are used: these have no products."""
    used = np.asarray(weights.any(axis=0))
    for name in columns:
        rows, number = matrix.basis.columns[name], matrix.place.get((name, None))
        if number is not None and used[number] and used[rows].sum() > 1:
            return True
    return False


def limits_met(weights: Floats, matrix: Moments | TermMatrix, schema: Schema) -> Limits:
    """Limits, narrower than the bounds, at which numbers in some terms were cut off.

    What a matrix says of a term that is linear in a number, it says of the number cut off there.

    Args:
        weights: of the terms, shape (p, R).
        matrix: whose rows they weigh.
        schema: of the release.
    """
    if isinstance(matrix, TermMatrix):
        return matrix.limits_met(weights)
    if isinstance(matrix, SlotMoments):
        blocks = zip(matrix.blocks(weights), matrix.parts, matrix.schemas, strict=True)
        found = [limits_met(own, part, of) for own, part, of in blocks]
        return {name: ends for own in found for name, ends in own.items()}
    return {
        name: ends
        for name, ends in matrix.scores.limits.items()
        if ends != schema.columns[name].bounds  # type: ignore[union-attr]
        and weights[:, matrix.place[name, None]].any()
    }


def _of_column(
    column: Column, name: str, values: _Values, change: Floats, matrix: MomentMatrix
) -> Floats:
    """Compute what a column adds to the weights, by its changes against its first value."""
    weights = np.zeros((change.shape[1], len(matrix.sums)))
    seen = np.concatenate([np.zeros((1, change.shape[1])), change])
    if not isinstance(column, NUMERIC):
        rows = [matrix.place[name, state] for state in values.states.tolist()]
        weights[:, rows] = seen.T
        return weights
    low, high = matrix.scores.limits[name]
    if low == high:
        return weights
    slope = change[0] / (values.numbers[1] - values.numbers[0])
    line = np.outer(values.numbers - values.numbers[0], slope)
    size = np.maximum(np.abs(seen).max(axis=0), 1e-300)
    linear = (np.abs(line - seen) <= _CLOSE * size).all(axis=0)
    weights[linear, matrix.place[name, None]] = slope[linear] * (high - low) / 2
    weights[linear, 0] = slope[linear] * ((low + high) / 2 - values.numbers[0])
    if len(values.states) > values.linear:
        first = [int(np.flatnonzero(values.states == k)[0]) for k in range(column.n_ordinary)]
        rows = [matrix.place[name, state] for state in range(column.n_ordinary)]
        weights[np.ix_(~linear, rows)] = seen[first][:, ~linear].T
    return weights


def _rows(
    schema: Schema,
    columns: Sequence[str],
    values: Sequence[_Values],
    probes: Integers,
    matrix: MomentMatrix,
) -> Floats:
    """Return the rows of the matrix for the records that are looked at, shape (records, R)."""
    rows = np.zeros((len(probes), len(matrix.sums)))
    rows[:, 0] = 1
    for j, name in enumerate(columns):
        column, states = schema.columns[name], values[j].states[probes[:, j]]
        if isinstance(column, NUMERIC):
            low, high = matrix.scores.limits[name]
            numbers = values[j].numbers[probes[:, j]]
            half = (high - low) / 2 or 1.0
            rows[:, matrix.place[name, None]] = (numbers - (low + high) / 2) / half
        for state in range(column.n_ordinary):
            if (name, state) in matrix.place:
                rows[:, matrix.place[name, state]] = states == state
    return rows


def _column_values(column: Column, named: Sequence[float], bins: bool) -> _Values:
    """Choose values of a column to look at, bounds first; inside bins only if these have rows."""
    if not isinstance(column, NUMERIC):
        levels = np.arange(column.n_ordinary)
        return _Values(levels.astype(np.float64), levels, 0)
    low, high = column.bounds
    inside = [number for number in named if low <= number <= high]
    numbers = np.append(low + (high - low) * np.array(_PLACES), inside)
    if not isinstance(column, Continuous):
        whole = np.arange(low, high + 1) if high - low < _FEW else numbers
        numbers = np.rint(np.concatenate([[low, high], whole]))
    own = Records.states_of(numbers, column)
    if not bins:
        return _Values(numbers, own, len(numbers))
    places = state_places(column, named, _INNER)
    states = np.repeat(np.arange(len(places)), places.shape[1])
    return _Values(
        np.concatenate([numbers, places.ravel()]), np.concatenate([own, states]), len(numbers)
    )


def _probes(sizes: Sequence[int]) -> Integers:
    """The base, each column changed alone, and many at once: places among the values."""
    rows = [np.zeros(len(sizes), dtype=np.int64)]
    for j, size in enumerate(sizes):
        for place in range(1, size):
            rows.append(np.zeros(len(sizes), dtype=np.int64))
            rows[-1][j] = place
    rng = np.random.default_rng(0)
    mixed = np.stack([rng.integers(0, size, _CHECKS) for size in sizes], axis=1)
    return np.concatenate([np.stack(rows), mixed])


def _records(
    schema: Schema, columns: Sequence[str], values: Sequence[_Values], probes: Integers
) -> Records:
    states: dict[str, Integers] = {}
    numbers: dict[str, Floats] = {}
    for j, name in enumerate(columns):
        states[name] = values[j].states[probes[:, j]]
        if isinstance(schema.columns[name], NUMERIC):
            numbers[name] = values[j].numbers[probes[:, j]]
    return Records(schema, states, numbers)


def absences(
    schema: Schema, columns: Iterable[str], matrix: Moments | TermMatrix
) -> tuple[str, ...]:
    """Columns of which not every record that counts has a value."""
    if isinstance(matrix, SlotMoments):
        pairs = zip(matrix.parts, matrix.schemas, strict=True)
        found = {name for part, own in pairs for name in absences(own, columns, part)}
        return tuple(name for name in columns if name in found)
    coded = (name for name in columns if schema.columns[name].codes)
    return tuple(name for name in coded if name not in matrix.scores.complete)


@dataclass(frozen=True)
class MomentRatios:
    """Ratios, and the parts of their covariance.

    Attributes:
        estimate: shape (k,).
        noise: by privacy noise, shape (k, k).
        sampling: by sampling, shape (k, k).
        sizes: D of each, NaN where it is not firm, shape (k,).
        small: how many groups are not.
        mixed: covariance of the noise in N − R·D with that in D, shape (k,).
        squared: variance of the noise in D, shape (k,).
        dropped: records that are in no group, or have no value; noisy.
        bias: how far each may be off by where numbers lie within cells, shape (k,).
        limits: at which numbers were cut off.
        reach: how far from its ratio what one record has can lie, shape (k,); 0 without weights.
        gradient: derivatives of each in the released numbers, shape (k, numbers + 1); of records
            without weights (k, 0).
        of_size: of its D, of the same shape.
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    sizes: Floats
    small: int
    mixed: Floats
    squared: Floats
    dropped: float
    bias: Floats
    limits: Limits
    reach: Floats
    gradient: Floats
    of_size: Floats


@dataclass(frozen=True)
class _Products:
    """Sums of products of two affine functions.

    Attributes:
        added: l and r of each quantity, both of shape (k, s + 1).
        sizes: L and R of each group, both of shape (groups, s + 1).
        group_of: group of each quantity, shape (k,).
        number: whether l is one of a column of numbers, whose squares are not products.
        squared: weights of l², shape (k, s + 1); None where l is a number or 0 or 1 for all.
    """

    added: tuple[Floats, Floats]
    sizes: tuple[Floats, Floats]
    group_of: Integers
    number: bool
    squared: Floats | None = None

    def totals(self, sums: Floats) -> Floats:
        """Sum what is added to each quantity, by a matrix of sums, shape (k,)."""
        return np.asarray(np.einsum("ki,ij,kj->k", self.added[0], sums, self.added[1]))

    def counts(self, sums: Floats) -> Floats:
        """Sum what is added to each group, by a matrix of sums, shape (groups,)."""
        return np.asarray(np.einsum("gi,ij,gj->g", self.sizes[0], sums, self.sizes[1]))


def moment_ratios(
    estimand: Estimand,
    matrix: Moments,
    schema: Schema,
    sets: Sequence[Records],
    weights: Moments | None = None,
) -> MomentRatios | None:
    """The ratios of means, shares or a table; None where second moments do not give them.

    Args:
        estimand: of columns that the matrix has.
        matrix: second moments.
        schema: of the release.
        sets: complete records of each synthetic set, with the estimand's columns.
        weights: second moments by squared weights, where records have weights: the sampling
            variance is that of weighted ratios.

    Raises:
        InferenceError: a group is too small under its noise.
    """
    if estimand.where:
        both = _by_condition(estimand)
        found = None if both is None else moment_ratios(both, matrix, schema, sets, weights)
        if both is None or found is None:
            return None
        half = _first_half(found)
        small = int(np.isnan(half.sizes).any())
        if small:  # those that meet it; the others stand out
            shown = _shown_sizes(both, sets, 2) * _scale_of(weights, matrix, sets)
            require_firm(shown[:1], half.squared[:1], _TOO_SMALL)
        return replace(half, small=small)
    products = _products(estimand, matrix, schema)
    if products is None:
        return None
    limits = limits_met(products.added[0], matrix, schema)
    sets = [records.cut_off(limits) for records in sets]
    totals, sizes = products.totals(matrix.sums), products.counts(matrix.sums)
    group_of = products.group_of
    by_group = matrix.gradient_of_products(*products.sizes)
    shown = _shown_sizes(estimand, sets, len(sizes)) * _scale_of(weights, matrix, sets)
    noise = matrix.noise_of_pairs(by_group, by_group)
    firm = are_firm(shown, noise)
    if not firm.any():
        require_firm(shown, noise, _TOO_SMALL)
    known = np.where(firm, sizes, np.nan)
    own = known[group_of]
    estimate = totals / own
    numerators = matrix.gradient_of_products(*products.added)
    mixed, squared = np.empty(len(estimate)), noise[group_of]
    for group in range(len(sizes)):
        mine = np.flatnonzero(group_of == group)
        numerators[mine] -= np.multiply.outer(estimate[mine], by_group[group])
        mixed[mine] = matrix.noise_between(by_group[[group]], numerators[mine])[0]
    reach = np.zeros(len(estimate))
    if weights is None:
        squares = _squares(estimand, matrix, products, known, sets)
        sampling = sampling_covariance(estimate, squares, own, group_of)
    else:
        sampling = _weighted_sampling(
            estimand, weights, products, sets, estimate=estimate, sizes=own
        )
        low, high = _span(products.added[0], matrix)
        reach = np.maximum(high - estimate, estimate - low)
    if estimand.kind in SHARES and weights is None:
        place = np.diag_indices(len(estimate))
        sampling[place] = np.maximum(sampling[place], edge_variance(own))
    if isinstance(matrix, SlotMoments):
        alike = likeness(estimand, matrix, schema, sets)
        root = np.sqrt(ratio_growth(estimand, estimate, group_of, sets, alike))
        sampling = sampling * np.multiply.outer(root, root)
    return MomentRatios(
        estimate=estimate,
        noise=matrix.noise_along(numerators) / np.multiply.outer(own, own),
        sampling=sampling,
        sizes=own,
        small=int((~firm).sum()),
        mixed=mixed,
        squared=squared,
        dropped=matrix.n - float(sizes.sum()),
        bias=matrix.within_cells_by(numerators) / own,
        limits=limits,
        reach=reach,
        gradient=numerators[:, :0] if weights is None else numerators / own[:, None],
        of_size=numerators[:, :0] if weights is None else by_group[group_of],
    )


def likeness(
    estimand: Estimand, matrix: SlotMoments, schema: Schema, sets: Sequence[Records]
) -> Floats | None:
    """Correlation of what members of one unit add, by moments or sets, shape (k,).

    Args:
        estimand: what ratios are of.
        matrix: second moments of the members.
        schema: of the members' table.
        sets: members of each synthetic set.

    Returns:
        None where moments do not have what a member adds.
    """
    products = _products(estimand, matrix, schema)
    if products is None:
        return None
    sides = (0, 1) if len(estimand.levels) > 1 else (0,)  # a cell of two traits: of either
    found = [_likeness(estimand, matrix, products, side, sets) for side in sides]
    return np.asarray(np.max(np.stack(found), axis=0))


def _likeness(
    estimand: Estimand,
    matrix: SlotMoments,
    products: _Products,
    side: int,
    sets: Sequence[Records],
) -> Floats:
    values, first, which = np.unique(
        products.added[side], axis=0, return_index=True, return_inverse=True
    )
    which, present = which.reshape(-1), products.sizes[side][products.group_of[first]]
    whole = matrix.sums @ matrix.constant
    overall = (values @ whole) / (present @ whole)
    left, of = [], []
    for records in sets:
        scores, units = estimand.scores(records), records.unit_numbers
        counted = scores.quantity != ABSENT
        value = np.zeros((len(units), len(values)))
        value[counted, which[scores.quantity[counted]]] = scores.value[counted]
        left.append((value - overall)[counted])
        of.append(units[counted])
    shown, company = similarity(left, of)
    measured = matrix.company(values - overall[:, None] * present) / max(company, 1e-300)
    return np.asarray(np.maximum(shown, measured)[which])


def ratio_growth(
    estimand: Estimand,
    estimate: Floats,
    group_of: Integers,
    sets: Sequence[Records],
    alike: Floats | None = None,
) -> Floats:
    """Return the growth of variances of ratios by the likeness of members of units, shape (k,).

    Args:
        estimand: what the ratios are of.
        estimate: the ratios, shape (k,).
        group_of: group of each, shape (k,).
        sets: members of each synthetic set.
        alike: correlation within units by `likeness`, shape (k,); None for that of the sets.
    """
    known = np.zeros(len(estimate)) if alike is None else alike
    found = np.ones((len(sets), len(estimate)))
    for own, records in zip(found, sets, strict=True):
        scores, units = estimand.scores(records), records.unit_numbers
        group = np.where(scores.quantity != ABSENT, group_of[scores.quantity], ABSENT)
        for k in np.flatnonzero(np.isfinite(estimate)):
            mine = np.flatnonzero(group == group_of[k])
            if len(mine):
                value = np.where(scores.quantity[mine] == k, scores.value[mine], 0.0)
                residual, ones = value[:, None] - estimate[k], np.ones((len(mine), 1))
                own[k] = cluster_factors(residual, ones, units[mine], known[k])[0]
    return np.asarray(found.mean(axis=0))


def total_growth(
    estimand: Estimand,
    weights: SlotMoments,
    schema: Schema,
    sets: Sequence[Records],
    factors: Sequence[Floats],
) -> Floats:
    """Return Σ(Σty)², a sum of squares by unit, over Σt²y², since units have several members.

    Its shape is that of the synthetic units; where the moments of what members add are plainly
    larger by pairs of members, theirs counts.

    Args:
        estimand: a total.
        weights: second moments of the members in which they count with t².
        schema: of the members' table.
        sets: members of each synthetic set.
        factors: t of each of them, shapes (n,).

    Returns:
        Shape (k,).
    """
    k = len(estimand.names(schema))
    found = np.ones((len(sets), k))
    for own, records, factor in zip(found, sets, factors, strict=True):
        scores, units = estimand.scores(records), records.unit_numbers
        for quantity in range(k):
            mine = np.flatnonzero(scores.quantity == quantity)
            if len(mine):
                value, t = scores.value[mine, None], factor[mine, None]
                own[quantity] = cluster_factors(value, t, units[mine])[0]
    grown = np.asarray(found.mean(axis=0))
    products = None if estimand.where else _products(estimand, weights, schema)
    if products is None:
        return grown
    left, right = products.added
    alone = next(
        (one for one, other in ((left, right), (right, left)) if (other == weights.constant).all()),
        None,
    )
    if alone is None:
        return grown
    measured = weights.company(weights.of_members(alone, estimand.columns))
    return np.asarray(np.maximum(grown, 1 + measured))


def weight_scale(matrix: Sums, sizes: Sequence[int]) -> float:
    """Records that count in full for each synthetic record, as all of them show.

    Args:
        matrix: second moments of records with weights.
        sizes: of the synthetic sets.
    """
    return max(matrix.n, 0.0) / max(float(np.mean(sizes)), 1.0)


def _scale_of(weights: Moments | None, matrix: Moments, sets: Sequence[Records]) -> float:
    if weights is None:
        return 1.0
    return weight_scale(matrix, [len(records.complete()) for records in sets])


def _weighted_sampling(
    estimand: Estimand,
    weights: Moments,
    products: _Products,
    sets: Sequence[Records],
    *,
    estimate: Floats,
    sizes: Floats,
) -> Floats:
    """Sampling covariance of Hájek ratios R = Σty/Σt, linearised: Σt²(y − R)(y' − R')/(Σt)².

    Quantities of one group are of disjoint records or are the same; of others nothing is shared.

    Args:
        estimand: the question.
        weights: second moments in which records count with t².
        products: of the quantities.
        sets: complete records of each synthetic set.
        estimate: R, shape (k,).
        sizes: Σt in the group of each, NaN where it is not firm, shape (k,).
    """
    group_of = products.group_of
    sums, counts = products.totals(weights.sums), products.counts(weights.sums)
    by_group = weights.gradient_of_products(*products.sizes)
    # A group that stands out has records, however few by their squared weights.
    counts = np.maximum(counts, np.sqrt(weights.noise_of_pairs(by_group, by_group)))
    squares = _squares(estimand, weights, products, counts, sets)
    of_group = counts[group_of]
    crossed = -np.multiply.outer(estimate, sums)
    covariance = crossed + crossed.T + np.multiply.outer(estimate, estimate) * of_group
    covariance *= group_of[:, None] == group_of
    place = np.diag_indices(len(estimate))
    covariance[place] = np.maximum(covariance[place] + squares, 0.0)
    covariance /= np.multiply.outer(sizes, sizes)
    if estimand.kind in SHARES:
        covariance[place] = np.maximum(covariance[place], edge_variance(sizes**2 / of_group))
    return np.asarray(covariance)


def _span(left: Floats, matrix: Moments) -> tuple[Floats, Floats]:
    """The least and the largest that a record can add to each quantity, both of shape (k,).

    Args:
        left: weights of what is added, each of one column, shape (k, R).
        matrix: whose rows they weigh.
    """
    if isinstance(matrix, SlotMoments):
        blocks = zip(matrix.blocks(left), matrix.parts, strict=True)
        lows, highs = zip(*(_span(own, part) for own, part in blocks), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)
    numbers = [row for (_, state), row in matrix.place.items() if state is None]
    states = np.setdiff1d(np.arange(1, left.shape[1]), numbers)
    at_states = left[:, :1] + left[:, np.append(0, states)] * (np.append(0, states) > 0)
    slopes = np.abs(left[:, numbers]).sum(axis=1)
    low = np.minimum(at_states.min(axis=1), left[:, 0] - slopes)
    return low, np.maximum(at_states.max(axis=1), left[:, 0] + slopes)


@dataclass(frozen=True)
class MomentCounts:
    """Numbers of records, or totals of a number, and the covariance of the noise in them.

    Attributes:
        estimate: shape (k,).
        noise: shape (k, k).
        dropped: records that are in no group, or have no value; noisy.
        bias: how far each may be off by where numbers lie within cells, shape (k,).
        limits: column → where its numbers were cut off.
    """

    estimate: Floats
    noise: Floats
    dropped: float
    bias: Floats
    limits: Limits


_Sums = TypeVar("_Sums", MomentRatios, MomentCounts, "WeightedTotals")


def _first_half(sums: _Sums) -> _Sums:
    """Those of the records that meet a condition, by which the others are a group as well."""
    kept = slice(len(sums.estimate) // 2)
    arrays: dict[str, Any] = {
        name: one[kept] if name in ("gradient", "of_size") else one[(kept,) * one.ndim]
        for name, one in vars(sums).items()
        if isinstance(one, np.ndarray)
    }
    return replace(sums, **arrays)


def _by_condition(estimand: Estimand) -> Estimand | None:
    """The same question to those that meet a condition, and to the others; None for more groups."""
    if estimand.split:
        return None
    return replace(estimand, where="", split=estimand.where)


@dataclass(frozen=True)
class WeightedTotals:
    """Weighted totals, and the parts of their covariance.

    Attributes:
        estimate: Σty, shape (k,).
        noise: by privacy noise, shape (k, k).
        squares: Σt²y², shape (k,).
        reach: the largest size of what one record can add, shape (k,).
        gradient: derivatives of each in the released numbers, shape (k, numbers + 1).
        of_size: of the number of records in its group, of the same shape.
    """

    estimate: Floats
    noise: Floats
    squares: Floats
    reach: Floats
    gradient: Floats
    of_size: Floats


def weighted_totals(
    estimand: Estimand,
    matrix: Moments,
    weights: Moments,
    schema: Schema,
    sets: Sequence[Records],
) -> WeightedTotals | None:
    """Totals in which records count with t; None where second moments do not give them.

    Args:
        estimand: a total, of columns that the matrix has.
        matrix: second moments in which records count with t.
        weights: the same with t².
        schema: of the release.
        sets: complete records of each synthetic set.
    """
    if estimand.where:
        both = _by_condition(estimand)
        found = None if both is None else weighted_totals(both, matrix, weights, schema, sets)
        return None if found is None else _first_half(found)
    products = _products(estimand, matrix, schema)
    if products is None:
        return None
    gradient = matrix.gradient_of_products(*products.added)
    squares = _squares(estimand, weights, products, products.counts(weights.sums), sets)
    return WeightedTotals(
        estimate=products.totals(matrix.sums),
        noise=matrix.noise_along(gradient),
        squares=np.maximum(squares, 0.0),
        reach=np.abs(_span(products.added[0], matrix)).max(axis=0),
        gradient=gradient,
        of_size=matrix.gradient_of_products(*products.sizes)[products.group_of],
    )


def moment_counts(estimand: Estimand, matrix: Moments, schema: Schema) -> MomentCounts | None:
    """Return how many records have each level, or a number's total; None if moments do not tell.

    Args:
        estimand: a total, of columns that the matrix has.
        matrix: second moments.
        schema: of the release.
    """
    if estimand.where:
        both = _by_condition(estimand)
        found = None if both is None else moment_counts(both, matrix, schema)
        return None if found is None else _first_half(found)
    products = _products(estimand, matrix, schema)
    if products is None:
        return None
    gradient = matrix.gradient_of_products(*products.added)
    return MomentCounts(
        estimate=products.totals(matrix.sums),
        noise=matrix.noise_along(gradient),
        dropped=matrix.n - float(products.counts(matrix.sums).sum()),
        bias=matrix.within_cells_by(gradient),
        limits=limits_met(products.added[0], matrix, schema),
    )


def _products(estimand: Estimand, matrix: Moments, schema: Schema) -> _Products | None:
    """The products of a question, of all slots side by side; None if not, or of too many."""
    found = _all_products(estimand, matrix, schema)
    fits = found is not None and len(found.added[0]) * len(matrix.numbers) <= _MOST
    return found if fits else None


def _all_products(estimand: Estimand, matrix: Moments, schema: Schema) -> _Products | None:
    if not isinstance(matrix, SlotMoments):
        return _of_records(estimand, matrix, schema)
    pairs = zip(matrix.parts, matrix.schemas, strict=True)
    found = [_of_records(estimand, part, own) for part, own in pairs]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    added, sizes = ([one.added for one in known], [one.sizes for one in known])
    left, right = (np.concatenate([two[k] for two in added], axis=1) for k in (0, 1))
    first, second = (np.concatenate([two[k] for two in sizes], axis=1) for k in (0, 1))
    each = [one.squared for one in known if one.squared is not None]
    squared = np.concatenate(each, axis=1) if each else None
    return replace(known[0], added=(left, right), sizes=(first, second), squared=squared)


def _of_records(estimand: Estimand, matrix: MomentMatrix, schema: Schema) -> _Products | None:
    whole = np.zeros((1, len(matrix.sums)))
    whole[0, 0] = 1
    crossed = (*estimand.levels, *estimand.groups)
    found = [matrix.indicators(schema, name) for name in crossed]
    if estimand.split:
        columns, classes = _classes(estimand.split, matrix, schema)
        if {*columns} & {*crossed, *estimand.used}:
            return None
        crossed, found = (*crossed, estimand.split), [*found, classes]
    each = [rows for rows in found if rows is not None]
    if len(each) < len(found) or (len(crossed) == 1 and _is_binned_alone(estimand, schema)):
        return None
    if estimand.levels and len(crossed) == 1:
        return _of_groups(each[0], each[0].sum(axis=0), whole)
    if estimand.levels and len(crossed) == 2 and not (estimand.groups or estimand.split):
        k, m = len(each[0]), len(each[1])
        cells = np.repeat(each[0], m, axis=0), np.tile(each[1], (k, 1))
        sizes = each[0].sum(axis=0)[None], each[1].sum(axis=0)[None]
        return _Products(cells, sizes, np.zeros(k * m, dtype=np.int64), number=False)
    if estimand.levels:
        return _of_groups(each[0], each[0].sum(axis=0), each[1]) if len(crossed) == 2 else None
    return _of_expression(estimand, matrix, schema, each[0] if each else whole)


def _classes(
    condition: str, matrix: MomentMatrix, schema: Schema
) -> tuple[tuple[str, ...], Floats | None]:
    """Columns of a condition, and weights of those that meet it and those that do not.

    None for a condition that is not one on the states of one column.
    """
    try:
        columns, values = state_values(condition, schema)
    except UntoldError:
        return (), None
    if len(columns) != 1:
        return columns, None
    fails = values[: schema.columns[columns[0]].n_ordinary] != 1
    if fails.all() or not fails.any():
        return columns, None
    return columns, matrix.classes(schema, columns[0], fails.astype(np.int64), 2)


def _of_expression(
    estimand: Estimand, matrix: MomentMatrix, schema: Schema, groups: Floats
) -> _Products | None:
    """Of one column, affine in it, by at most one other."""
    names, n_groups = estimand.used, len(estimand.groups) + bool(estimand.split)
    if len(names) != 1 or n_groups > 1 or names[0] in estimand.groups:
        return None
    named = formulas.constants(formulas.as_formula(estimand.expression))
    weights = affine_weights(lambda frame: _values(estimand, frame), names, schema, matrix, named)
    if weights is None:
        return None
    numeric = isinstance(schema.columns[names[0]], NUMERIC)
    if numeric and not n_groups and not weights[0, matrix.place[names[0], None]]:
        return None  # a condition on one column, which its own table has
    present = matrix.presence(schema, names[0])

    def of_present(own: Floats) -> Floats:
        value = own.copy()
        value[0] = 0
        return np.asarray(value + own[0] * present)  # the constant, for those who have a value

    found = _of_groups(of_present(weights[0])[None], present, groups, number=numeric)
    if numeric:
        return found
    squares = affine_weights(
        lambda frame: _values(estimand, frame) ** 2, names, schema, matrix, named
    )
    if squares is None:
        return None
    squared = np.tile(of_present(squares[0]), (len(groups), 1))
    return replace(found, squared=squared)


def _of_groups(
    values: Floats, present: Floats, groups: Floats, *, number: bool = False
) -> _Products:
    """Compute what records of each group add: values of a group run fastest."""
    k, n_groups = len(values), len(groups)
    added = np.tile(values, (n_groups, 1)), np.repeat(groups, k, axis=0)
    sizes = np.tile(present, (n_groups, 1)), groups
    return _Products(added, sizes, np.repeat(np.arange(n_groups), k), number)


def _values(estimand: Estimand, frame: pd.DataFrame) -> Floats:
    plain = read_name(estimand.expression)
    if plain in frame:
        return np.asarray(frame[plain], dtype=np.float64)[:, None]
    return formulas.evaluate(estimand.expression, frame)[:, None]


def _is_binned_alone(estimand: Estimand, schema: Schema) -> bool:
    """Return whether the shares of one column's bins are asked for, which a table has."""
    return any(isinstance(schema.columns[name], NUMERIC) for name in estimand.levels)


def _squares(
    estimand: Estimand,
    matrix: Moments,
    products: _Products,
    sizes: Floats,
    sets: Sequence[Records],
) -> Floats:
    """Sum what the square of each quantity adds, shape (k,); of a number NaN where the size is."""
    if not products.number:
        squared = products.added[0] if products.squared is None else products.squared
        return replace(products, added=(squared, products.added[1])).totals(matrix.sums)
    value = products.added[0][0]
    whole = float(value @ matrix.sums @ value)
    if not (estimand.groups or estimand.split):
        return np.array([whole])
    within, totals = _within(estimand, sets, len(sizes)), products.totals(matrix.sums)
    # From the mean: far from 0 the noise in squares hides them, and so do groups without a size.
    mean = float(np.nansum(totals * np.isfinite(sizes)) / np.nansum(sizes))
    value = value - mean * products.sizes[0][0]
    whole = float(value @ matrix.sums @ value)
    error = np.sqrt(matrix.noise_covariance(np.multiply.outer(value, value)[None])[0, 0])
    by_size = matrix.gradient_of_products(*products.sizes)[products.group_of]
    moved = matrix.gradient_of_products(*products.added) - mean * by_size
    noise = np.diag(matrix.noise_along(moved))  # which squares of totals have on average
    between = ((totals - mean * sizes) ** 2 - noise) / sizes
    left = max(whole - float(np.nansum(between)), 2 * error)
    shown = float(np.nansum(within * sizes))
    spread = within * left / shown if shown > 0 else np.full(len(sizes), left / np.nansum(sizes))
    return np.asarray(totals**2 / sizes + spread * sizes)


def _within(estimand: Estimand, sets: Sequence[Records], n_groups: int) -> Floats:
    """Variance of the number in each group of the synthetic records."""
    values, groups = [], []
    for records in sets:
        scores = estimand.scores(records)
        values.append(scores.value)
        groups.append(scores.quantity)
    value, group = np.concatenate(values), np.concatenate(groups)
    n = np.maximum(np.bincount(group, minlength=n_groups), 1)
    mean = np.bincount(group, value, n_groups) / n
    overall = value.var() if len(value) else 0.0
    squares = np.bincount(group, (value - mean[group]) ** 2, n_groups)
    few = 20.0  # records' worth of the overall variance, so that small groups have one
    return np.asarray((squares + few * overall) / (n + few))


def _shown_sizes(estimand: Estimand, sets: Sequence[Records], n_groups: int) -> Floats:
    """Records in each group of the synthetic sets, on average, shape (groups,)."""
    sizes = np.zeros(n_groups)
    for records in sets:
        scores = estimand.scores(records)
        sizes += np.bincount(scores.group_of[scores.quantity], minlength=n_groups)
    return sizes / len(sets)


_MOST: Final = 2**26
"""Derivatives of the ratios in the released numbers, at most: half a gigabyte."""

_TOO_SMALL = "A group is too small under the privacy noise"
