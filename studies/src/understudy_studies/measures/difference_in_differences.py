"""Difference in differences: how far does the interval of each coefficient survive synthesis?

A logistic regression of an outcome of two levels on all other columns, with the product of two of
them: an exposure, and a group that is thought to feel it. The coefficient of the product is the
difference in differences. On the original it is fitted as it is; over m synthetic sets estimates
are combined by T = ū + b/m with its t reference (Reiter 2003). Then the 95 % intervals are compared
by their overlap (Karr et al. 2006).

Where the likelihood has no maximum, estimates are shrunk by a weak normal prior
(`understudy.evaluate.robust_regression`) and this is flagged. It is no rare case here: if
no one in the group 0 can have the outcome (nobody votes unregistered), the coefficient of the group
is infinite, and the exposure, of which only the group 0 tells, and the product have none either.
Overlaps of such coefficients compare one prior with another and come out high, whatever the sets
are worth. The *sum* of exposure and product, the effect of the exposure within group 1, is
identified; it is given beside the others.

Sources:
    Holbein & Hillygus (2016), American Journal of Political Science 60, 364-382, for the model;
    Bowen, Liu & Su (2021), METRON 79, section 4.3, for its use; Karr,
    Kohnen, Oganian, Reiter & Sanil (2006), The American Statistician 60, 224-232; Reiter (2003),
    Survey Methodology 29, 181-188.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy._arrays import Floats
from understudy.evaluate.comparison import Comparison, Rows, distinct
from understudy.evaluate.regression import interval_overlap
from understudy.evaluate.robust_regression import Fit, fit_counts
from understudy.inference.combining import partial_variance
from understudy.schema import NUMERIC, Column, Schema

LEVEL = 0.95


@dataclass(frozen=True)
class Model:
    """The regression. An indicator is of a column's second state, or of each one but the first.

    Attributes:
        outcome: column of two states.
        exposure: column of two states.
        group: column of two states.
        numbers: columns that enter as a number.
    """

    outcome: str
    exposure: str
    group: str
    numbers: tuple[str, ...] = ()

    @property
    def product(self) -> str:
        """Name of the difference in differences."""
        return f"{self.exposure}:{self.group}"

    @property
    def within(self) -> str:
        """Name of the sum: the effect of the exposure within the group."""
        return f"{self.exposure} within {self.group}"


@dataclass(frozen=True)
class Overlaps:
    """Intervals of the original beside those of all sets together.

    Attributes:
        terms: names of the coefficients, the intercept first and the product last.
        overlap: of each coefficient's intervals, shape (p,); 0 where a set cannot estimate it, NaN
            where the original cannot.
        width: synthetic over original width, shape (p,); NaN where one is not known.
        within: overlap of the effect within the group.
        shrunk: whether the original had to be shrunk, and how many sets.
    """

    terms: tuple[str, ...]
    overlap: Floats = field(repr=False)
    width: Floats = field(repr=False)
    within: float
    shrunk: tuple[bool, int]

    @property
    def mean(self) -> float:
        """Mean overlap of all coefficients that the original can estimate."""
        return float(np.nanmean(self.overlap))

    def of(self, term: str) -> float:
        """Overlap of one coefficient."""
        return float(self.overlap[self.terms.index(term)])


def difference_overlaps(
    comparison: Comparison, model: Model, original: Fit | None = None
) -> Overlaps:
    """Fit the regression to the original and to every set, and compare.

    Records with a missing value, or one outside the domain, are left out. A search begins where the
    one before it ended: sets resemble each other.

    Args:
        comparison: original and sets, at least two.
        model: the regression.
        original: the regression on the original, if it is known already.
    """
    schema = comparison.schema
    if original is None:
        original = fit_table(comparison.original, schema, model)
    sets = [original]
    for rows in comparison.sets:
        sets.append(fit_table(rows, schema, model, sets[-1].estimate))
    del sets[0]
    names = (*terms(schema, model), model.within)
    one = _with_sum(original, names.index(model.exposure))
    low, high = one[0] - original.reach * one[1], one[0] + original.reach * one[1]
    pooled = [_with_sum(fit, names.index(model.exposure)) for fit in sets]
    below, above = _pooled_interval([q for q, _ in pooled], [se for _, se in pooled])
    overlap = np.array(
        [
            np.nan if np.isnan(a) else 0.0 if np.isnan(c) else interval_overlap((a, b), (c, d))
            for a, b, c, d in zip(low, high, below, above, strict=True)
        ]
    )
    width = (above - below) / np.where(high > low, high - low, np.nan)
    shrunk = (original.shrunk, sum(fit.shrunk for fit in sets))
    return Overlaps(names[:-1], overlap[:-1], width[:-1], float(overlap[-1]), shrunk)


def fit_table(rows: Rows, schema: Schema, model: Model, start: Floats | None = None) -> Fit:
    """The regression on one table, equal rows counted once.

    Args:
        rows: one array of states per column of the schema, each of shape (n,).
        schema: what the states mean.
        model: the regression.
        start: where a search may begin, shape (p,).
    """
    columns = tuple(schema.columns.values())
    complete = np.ones(len(rows[0]), dtype=np.bool_)
    for codes, column in zip(rows, columns, strict=True):
        complete &= codes < column.n_ordinary
    kept = [codes[complete] for codes in rows]
    first, counts = distinct(kept, [column.n_ordinary for column in columns])
    states = {name: codes[first] for name, codes in zip(schema.names, kept, strict=True)}
    y = (states[model.outcome] == 1).astype(np.float64)
    return fit_counts(y, _design(states, schema, model), counts.astype(np.float64), start)


def terms(schema: Schema, model: Model) -> tuple[str, ...]:
    """Names of the coefficients, in the order of the design."""
    found = ["intercept"]
    for name, column in _predictors(schema, model).items():
        if name in model.numbers or column.n_ordinary == 2:
            found.append(name)
        else:
            found += [f"{name}[{label}]" for label in column.labels[1 : column.n_ordinary]]
    return (*found, model.product)


def _design(states: dict[str, NDArray[np.unsignedinteger]], schema: Schema, model: Model) -> Floats:
    n = len(states[model.outcome])
    parts = [np.ones((n, 1))]
    for name, column in _predictors(schema, model).items():
        if name in model.numbers:
            parts.append(_numbers(column)[states[name]][:, None])
        else:
            parts.append(np.eye(column.n_ordinary)[states[name]][:, 1:])
    both = (states[model.exposure] == 1) & (states[model.group] == 1)
    return np.concatenate([*parts, both[:, None].astype(np.float64)], axis=1)


def _predictors(schema: Schema, model: Model) -> dict[str, Column]:
    return {name: column for name, column in schema.columns.items() if name != model.outcome}


def _numbers(column: Column) -> Floats:
    """The number of each state: the level, or the middle of the bin."""
    if isinstance(column, NUMERIC):
        return np.array([(interval.low + interval.high) / 2 for interval in column.intervals])
    return np.array([float(str(level)) for level in column.levels])


def _with_sum(fit: Fit, exposure: int) -> tuple[Floats, Floats]:
    """Estimates and standard errors, and behind them those of exposure + product."""
    assert fit.covariance is not None
    total = fit.estimate[exposure] + fit.estimate[-1]
    both = fit.covariance[np.ix_([exposure, -1], [exposure, -1])].sum()
    return np.append(fit.estimate, total), np.append(fit.stderr, np.sqrt(np.maximum(both, 0.0)))


def _pooled_interval(estimates: list[Floats], stderrs: list[Floats]) -> tuple[Floats, Floats]:
    """Ends of the combined 95 % intervals; NaN where a set has no estimate."""
    totals = partial_variance(np.stack(estimates), np.stack(stderrs) ** 2)
    quantile = (1 + LEVEL) / 2
    finite = np.where(np.isfinite(totals.df), totals.df, 1.0)
    reach = np.where(np.isinf(totals.df), stats.norm.ppf(quantile), stats.t.ppf(quantile, finite))
    half = reach * np.sqrt(totals.variance)
    return totals.estimate - half, totals.estimate + half
