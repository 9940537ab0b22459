"""A noisy count of the random subsets of the records that say yes to a claim.

Each record goes to one of k subsets, which is drawn for this record alone, evenly, from the secret
source of the noise; never by its content or its place. The claim is tested on each subset by itself
(below), and the number of subsets that say yes is released with noise. k is public.

**Sensitivity.** Let D' be D with the record r *added or removed*. Let each other record have the
same subset under both; that is a coupling, since subsets are drawn independently and evenly. Then
all subsets hold the same records but for one, that of r. A vote follows from the records of its
subset, whatever their order, and from a coin that is drawn for the subset. So one vote differs at
most: the number of yes changes by at most **1**. Let D' be D with r *replaced* by r', and let r'
have the subset of r as well: again the subset of r alone differs, and the number changes by at most
**1**. Both are attained. A contingency table of yes and no would have twice that.

The noise is independent of the subsets and coins a. Given a, the outcomes under D and D' are the
same noise around whole numbers that differ by at most 1; and a has one law under both. So whoever
saw a as well would learn no more than the noise allows: the likelihood ratio of (a, outcome) is at
most e^ε (discrete Laplace, scale 1/ε); the Rényi divergence of order α is a mean over a of
exp((α − 1)·D_α), each at most exp((α − 1)·αρ) (discrete Gaussian, variance 1/(2ρ)); and a test of
size E α(a) has power at most 1 − E G_μ(α(a)) ≤ 1 − G_μ(E α(a)) by convexity of G_μ, the trade-off
of Gaussian DP. Dropping a is post-processing.

**What one record can do to others.** Records that lack a value are left out one by one. A subset
that tells nothing votes no, and no error is raised, whatever the rows are. No vote depends on
another subset or on the order of the table, to the last bit: the records of a subset are sorted by
content, and added up one by one (below). A share is compared with its border by the
binomial test that is right in half of all subsets where it lies at the border, with the coin where
the number of successes is the very middle; everything else by its sign. No proof rests on the law
of the coins.

Sources: Nissim, Raskhodnikova & Smith (2007), "Smooth sensitivity and sampling in private data
analysis" (subsets, and aggregation); Lin & Reiter (2024), arXiv 2404.02519, for claims; Dwork &
Roth (2014), Theorem 3.6; Canonne, Kamath & Steinke (2020), Theorem 4; Dong, Roth & Su (2022).
`tests/mechanisms/counts/test_votes.py` enumerates neighbours and subsets.

**What each subset of records says of a mean, a correlation or a coefficient; kernels.**

Each number follows from the records of its own subset alone, *to the last bit*: a kernel goes
through them one after the other, in their order, and adds up as it goes. Sums that a library takes
apart for speed could depend on where in memory a subset begins, which other records decide.

A subset that tells nothing (too few records, a term that follows from the others, no convergence, a
number that overflows) gives NaN; nothing is raised.

Small subsets are biased, above all where a column is skewed; each estimate is corrected so that
about half of the subsets lie above the truth:

* a mean by μ̂₃/(6σ̂²m), by which its median falls short (Johnson 1978, "Modified t tests and
  confidence intervals for asymmetrical populations", his expansion of the median);
* a correlation by r/(2(m − 1)) on the scale of artanh (Fisher 1921; Hotelling 1953);
* coefficients of a logistic regression by the score of Firth (1993), "Bias reduction of maximum
  likelihood estimates", which is finite under separation too (Heinze & Schemper 2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal

import numpy as np
from scipy.special import bdtr

from understudy._arrays import Flags, Floats, Integers, compiled
from understudy.dp import perturbation
from understudy.dp.budget import Accounting
from understudy.dp.calibration import gaussian_variance, representable
from understudy.dp.confidential import NumberedRows, PublicContext, SecretRows
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.mechanism import Charge, Mechanism, Outcome, answer
from understudy.dp.perturbation import too_little
from understudy.dp.randomness import Randomness
from understudy.dp.released import Released
from understudy.errors import MethodError
from understudy.features.design import (
    Computed,
    LevelValues,
    columns_of,
    term_faults,
    values_of_terms,
    words_of,
)
from understudy.schema import NUMERIC, Column, Schema

LEAST: Final = 1e-9
"""A term follows from others if less of its length than this is left beside them."""
_STEPS: Final = 60
_LONGEST: Final = 3.0  # of a step of Newton's, for terms of variance about 1
_CLOSE: Final = 1e-8


@compiled
def means(values: Floats, starts: Integers) -> Floats:
    """Mean of each subset, corrected for its skewness.

    Args:
        values: of the records, subset by subset, shape (n,).
        starts: where each subset begins, and the end of the last, shape (k + 1,).

    Returns:
        Shape (k,); NaN for a subset without records.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        m = starts[s + 1] - starts[s]
        if m == 0:
            continue
        total = 0.0
        for i in range(starts[s], starts[s + 1]):
            total += values[i]
        mean, second, third = total / m, 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            gap = values[i] - mean
            second += gap * gap
            third += gap * gap * gap
        found[s] = mean + (third / (6 * m * second) if second > 0 else 0.0)
    return found


@compiled
def correlations(x: Floats, y: Floats, starts: Integers) -> Floats:
    """Correlation within each subset, as artanh, corrected for its bias.

    Args:
        x: of the records, subset by subset, shape (n,).
        y: likewise.
        starts: where each subset begins, and the end of the last, shape (k + 1,).

    Returns:
        Shape (k,); NaN for fewer than three records, or where a column is constant.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        m = starts[s + 1] - starts[s]
        if m < 3:
            continue
        x_sum, y_sum = 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            x_sum += x[i]
            y_sum += y[i]
        xx, yy, xy = 0.0, 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            x_gap, y_gap = x[i] - x_sum / m, y[i] - y_sum / m
            xx += x_gap * x_gap
            yy += y_gap * y_gap
            xy += x_gap * y_gap
        if xx > 0 and yy > 0:
            r = xy / np.sqrt(xx) / np.sqrt(yy)
            found[s] = np.arctanh(min(max(r, -1.0), 1.0)) - r / (2 * (m - 1))
    return found


@compiled
def last_coefficients(design: Floats, outcome: Floats, starts: Integers, logit: bool) -> Floats:
    """Coefficient of the last term in each subset, by least squares or a logistic regression.

    Terms before it that follow from others, such as a level that no record of the subset has, are
    left out; the last coefficient is the same whichever of them stay.

    Args:
        design: terms of the records, subset by subset, shape (n, p).
        outcome: shape (n,); 0 or 1 for a logistic regression.
        starts: where each subset begins, and the end of the last, shape (k + 1,).
        logit: whether it is a logistic one.

    Returns:
        Shape (k,); NaN where the subset does not tell.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        first, end = starts[s], starts[s + 1]
        unit, kept, length = _orthonormal(design[first:end])
        if length == 0.0 or kept >= end - first:
            continue
        if logit:
            root = np.sqrt(end - first)
            for j in range(kept):
                for i in range(end - first):
                    unit[j, i] *= root
            found[s] = _firth(unit[:kept], outcome[first:end]) * root / length
        else:
            found[s] = _dot(unit[kept - 1], outcome[first:end]) / length
    return found


@compiled
def _orthonormal(design: Floats) -> tuple[Floats, int, float]:
    """Orthonormal terms, how many stay, and what is left of the last; 0 if it does not stay.

    By the modified method of Gram and Schmidt, in the order of the terms. Shape (p, m); those that
    stay come first.
    """
    m, p = design.shape
    unit, kept, rest = np.empty((p, m)), 0, 0.0
    for j in range(p):
        for i in range(m):
            unit[kept, i] = design[i, j]
        whole = np.sqrt(_dot(unit[kept], unit[kept]))
        for q in range(kept):
            along = _dot(unit[q], unit[kept])
            for i in range(m):
                unit[kept, i] -= along * unit[q, i]
        rest = np.sqrt(_dot(unit[kept], unit[kept]))
        if rest > LEAST * whole and rest < np.inf:
            for i in range(m):
                unit[kept, i] /= rest
            kept += 1
        else:
            rest = 0.0
    return unit, kept, rest


@compiled
def _firth(terms: Floats, outcome: Floats) -> float:
    """The last coefficient of a logistic regression by Firth's score; NaN without convergence.

    Args:
        terms: orthogonal, of mean square 1, shape (p, m).
        outcome: 0 or 1, shape (m,).
    """
    p, m = terms.shape
    beta, mean, weight = np.zeros(p), np.empty(m), np.empty(m)
    for _ in range(_STEPS):
        for i in range(m):
            mean[i] = 1 / (1 + np.exp(-_dot(beta, terms[:, i].copy())))
            weight[i] = mean[i] * (1 - mean[i])
        information = _products(terms, weight)
        if not _factor(information):
            return np.nan
        score = np.zeros(p)
        for i in range(m):
            half = _forward(information, terms[:, i].copy())
            leverage = weight[i] * _dot(half, half)
            for j in range(p):
                score[j] += (outcome[i] - mean[i] + leverage * (0.5 - mean[i])) * terms[j, i]
            weight[i] *= 1 + leverage
        # Of the score as it is, y + h/2 − (1 + h)·π, with leverages held: without them it circles.
        slope = _products(terms, weight)
        if not _factor(slope):
            return np.nan
        step = _backward(slope, _forward(slope, score))
        size = np.max(np.abs(step))
        if not size < np.inf:
            return np.nan
        for j in range(p):
            beta[j] += step[j] * min(1.0, _LONGEST / max(size, _CLOSE))
        if size < _CLOSE:
            return float(beta[p - 1])
    return np.nan


@compiled
def _products(terms: Floats, weight: Floats) -> Floats:
    """Weighted sums of products of two terms, below and on the diagonal, shape (p, p)."""
    p, m = terms.shape
    found = np.zeros((p, p))
    for i in range(m):
        for j in range(p):
            for q in range(j + 1):
                found[j, q] += weight[i] * terms[j, i] * terms[q, i]
    return found


@compiled
def _factor(matrix: Floats) -> bool:
    """Cholesky's factor in the place of a lower triangle; whether there is one."""
    for j in range(len(matrix)):
        for i in range(j, len(matrix)):
            for q in range(j):
                matrix[i, j] -= matrix[i, q] * matrix[j, q]
            if i == j:
                if not matrix[j, j] > 0:
                    return False
                matrix[j, j] = np.sqrt(matrix[j, j])
            else:
                matrix[i, j] /= matrix[j, j]
    return True


@compiled
def _forward(lower: Floats, right: Floats) -> Floats:
    """The solution x of L·x = right."""
    x = right.copy()
    for i in range(len(x)):
        for q in range(i):
            x[i] -= lower[i, q] * x[q]
        x[i] /= lower[i, i]
    return x


@compiled
def _backward(lower: Floats, right: Floats) -> Floats:
    """The solution x of Lᵀ·x = right."""
    x = right.copy()
    for i in range(len(x) - 1, -1, -1):
        for q in range(i + 1, len(x)):
            x[i] -= lower[q, i] * x[q]
        x[i] /= lower[i, i]
    return x


@compiled
def _dot(left: Floats, right: Floats) -> float:
    """Sum of products, one after the other."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


ClaimKind = Literal["share", "mean", "correlation", "ols", "logit"]
MOST_SUBSETS: Final = 2**20
MOST_TERMS: Final = 60
VoteNoise = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, kw_only=True)
class Votes(Mechanism[Released[int], VoteNoise]):
    """Noisy number of subsets that say yes to a claim.

    Records count that have a finite value of the outcome and of each term; numbers beyond their
    bounds count as the bounds.

    Attributes:
        kind: of what is claimed: a share or mean of the outcome, its correlation with the one term,
            or the coefficient of the *last* term in a linear or logistic regression of it.
        outcome: a number, or 0 and 1 for a share and a logistic regression; others do not count.
        design: terms, with the intercept if there is to be one.
        border: with which the estimate is compared.
        above: whether the claim is that it lies above the border; else below.
        subsets: k.
    """

    name: ClassVar[str] = "votes on a claim"
    needs_records: ClassVar[bool] = True

    kind: ClaimKind
    outcome: tuple[LevelValues | Computed, ...]
    border: float
    above: bool
    subsets: int
    design: tuple[tuple[LevelValues | Computed, ...], ...] = ()

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[VoteNoise], ...]:
        """One step: Laplace noise under pure ε, Gaussian noise under zCDP and GDP.

        Raises:
            MethodError: a claim that does not fit the schema, or too many subsets or terms.
            BudgetError: more than is left, or next to nothing.
        """
        self._require(terms)
        terms.require(spend)
        noise = vote_noise(spend, terms.accounting)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"votes of {self.subsets:,} random subsets on {self._words}",
            sensitivity="L1 = 1" if isinstance(noise, DiscreteLaplace) else "L2 = 1",
            noise=perturbation.words(noise),
            cells=1,
            parameter=noise,
            recorded=perturbation.describe_noise(noise),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[VoteNoise], ...], source: Randomness
    ) -> Outcome[Released[int]]:
        """Draw the subsets, let each vote, and add noise to the number of yes."""
        outcome, design = self.records(rows.numbers())
        subset = source.below(self.subsets, len(outcome))
        yes = self.votes(outcome, design, subset, source.uniforms(self.subsets))
        (noise,) = charges[0].parameter.sample(1, source).tolist()
        return answer(int(yes.sum()) + int(noise))

    def records(self, rows: NumberedRows) -> tuple[Floats, Floats]:
        """Outcome, shape (n,), and terms, shape (n, p), of all records; NaN of one without."""
        columns = rows.schema.columns
        names = columns_of((self.outcome, *self.design))
        there = rows.find_known(names)
        states = {name: rows.drawn[name].states for name in names}
        numbers = {
            name: _numbers(columns[name], states[name], rows.drawn[name].numbers)
            for name in names
            if isinstance(columns[name], NUMERIC)
        }
        every = values_of_terms((self.outcome, *self.design), columns, states, numbers, len(there))
        for name in names:
            there &= states[name] < columns[name].n_ordinary
        if self.kind in ("share", "logit"):
            there &= np.isin(every[:, 0], (0.0, 1.0))
        every[~there] = np.nan
        every += 0.0  # −0 is 0: records that are equal are equal to the last bit
        return every[:, 0], every[:, 1:]

    def votes(self, outcome: Floats, design: Floats, subset: Integers, coins: Floats) -> Flags:
        """Compute the vote of each subset.

        Args:
            outcome: of all records, shape (n,).
            design: their terms, shape (n, p).
            subset: that each record is in, shape (n,).
            coins: of the subsets, in (0, 1), shape (k,).

        Returns:
            Shape (k,).
        """
        there = np.flatnonzero(np.isfinite(outcome) & np.isfinite(design).all(axis=1))
        sizes = np.bincount(subset[there], minlength=self.subsets)
        if self.kind == "share":
            successes = np.bincount(subset[there[outcome[there] == 1]], minlength=self.subsets)
            return self._shares_say(successes, sizes, coins)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # By content within a subset: no sum depends on the order in which records were read.
        order = there[np.lexsort((*design[there].T, outcome[there], subset[there]))]
        found = self._estimates(outcome[order], np.ascontiguousarray(design[order]), starts)
        border = math.atanh(self.border) if self.kind == "correlation" else self.border
        return found > border if self.above else found < border  # NaN is neither

    def _shares_say(self, successes: Integers, sizes: Integers, coins: Floats) -> Flags:
        """Test whether each share lies on the side of the claim; at the border, half do."""
        less = np.where(successes > 0, bdtr(np.maximum(successes - 1, 0), sizes, self.border), 0.0)
        place = less + coins * (bdtr(successes, sizes, self.border) - less)
        said = place > 0.5 if self.above else place < 0.5
        return np.asarray(said & (sizes > 0))

    def _estimates(self, outcome: Floats, design: Floats, starts: Integers) -> Floats:
        if self.kind == "mean":
            return means(outcome, starts)
        if self.kind == "correlation":
            return correlations(outcome, design[:, 0].copy(), starts)
        logit = self.kind == "logit"
        return last_coefficients(design, outcome, starts, logit)

    @property
    def _words(self) -> str:
        """The claim in the ledger."""
        terms = [words_of(term) for term in self.design]
        beside = {"correlation": " and ", "ols": " on ", "logit": " on "}.get(self.kind, "")
        last = ": the last term" if self.kind in ("ols", "logit") else ""
        side = ">" if self.above else "<"
        about = f"{self.kind} of {words_of(self.outcome)}{beside}{', '.join(terms)}{last}"
        return f"{about} {side} {self.border:.12g}"

    def _require(self, terms: PublicContext) -> None:
        """Refuse what is no claim about this schema; a public check."""
        if terms.view.groups:
            raise MethodError("A claim is about the columns as they are declared, not merged ones.")
        if not 1 <= self.subsets <= MOST_SUBSETS:
            raise MethodError(f"A claim is put to 1 to {MOST_SUBSETS:,} subsets.")
        few, most = {"share": (0, 0), "mean": (0, 0), "correlation": (1, 1)}.get(
            self.kind, (1, MOST_TERMS)
        )
        if not few <= len(self.design) <= most:
            raise MethodError(
                f"A claim of the kind {self.kind} has {few} to {most} terms; write it so."
            )
        limits = {"share": (0, 1), "correlation": (-1, 1)}.get(self.kind, (-math.inf, math.inf))
        if not limits[0] < self.border < limits[1]:
            raise MethodError(
                f"The border of a claim of the kind {self.kind} must be a number between "
                f"{limits[0]} and {limits[1]}."
            )
        self._require_terms(terms.schema)

    def _require_terms(self, schema: Schema) -> None:
        every = (self.outcome, *self.design)
        for fault in term_faults(every, schema.columns):
            raise MethodError(f"The claim {fault}.")
        if not all(columns_of([term]) for term in (self.outcome, *self.design[-1:])):
            raise MethodError("What is claimed names no column; write one about the records.")


def vote_noise(spend: Fraction, accounting: Accounting) -> VoteNoise:
    """The noise of a number that one record changes by 1, whichever tables are neighbours.

    Args:
        spend: cost, in the unit of the accounting.
        accounting: that unit.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    if accounting == "pure":
        return perturbation.additive(1 / spend)
    try:
        variance = gaussian_variance(spend, accounting=accounting, squared=1)
        return DiscreteGaussian(representable(variance))
    except (ValueError, ZeroDivisionError):
        raise too_little() from None


def _numbers(column: Column, states: Integers, drawn: Floats | None) -> Floats:
    """Numbers of a numeric column, those on spikes too; NaN where absent."""
    assert isinstance(column, NUMERIC)
    assert drawn is not None
    table = np.full(column.size + 1, np.nan)
    for state, interval in enumerate(column.intervals):
        if interval.spike:
            table[state] = interval.low
    return np.where(np.isnan(drawn), table[states], drawn)
