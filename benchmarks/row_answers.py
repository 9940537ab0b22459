"""The answer that the rows themselves give to a question: what is true, and how exact it could be.

Applied to a whole population it is the truth; applied to rows drawn from it, the interval that an
analyst with access would publish: shares by Wilson (1927), means with their variance within groups,
linear models with HC1, logit models from the information matrix, correlations by the variance of
their influence, quantiles by order statistics. All of complete records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from natural_questions import ASKED_AS, Question
from populations import Population
from understudy.inference import formulas
from understudy.inference import question as question_module
from understudy.inference.question import SHARES, Estimand
from understudy.inference.records import Records, is_grouping, level_values
from understudy.inference.regression_models import designs, fit
from understudy.schema import NUMERIC, Schema

Z = float(stats.norm.ppf(0.975))
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowAnswer:
    """Estimates with intervals of nominally 95 %.

    Attributes:
        names: of the quantities.
        estimate: shape (k,); NaN where there are no records.
        lower: shape (k,).
        upper: shape (k,).
        low: the least that each could be whatever the rows, from the schema alone; may be −∞.
        high: the most that it could be.
    """

    names: tuple[str, ...]
    estimate: Floats
    lower: Floats
    upper: Floats
    low: float = -np.inf
    high: float = np.inf


def row_answer(question: Question, rows: pl.DataFrame, population: Population) -> RowAnswer:
    """The answer that rows give.

    Args:
        question: what is asked.
        rows: of the population, or all of it.
        population: whose schema they have.
    """
    schema = population.schema("private", 0)
    asked = question_module.parse(
        ASKED_AS[question.kind], question.formula, schema, probability=question.probability
    )
    records = records_of(rows, schema, asked.columns, population.beyond)
    if asked.kind == "correlation":
        return _correlation(asked, records)
    if asked.kind in {"ols", "logit"}:
        found = _model(asked, records)
        low, high = _range(question.formula.partition("~")[0].strip(), schema)
        apart = question.kind == "difference"
        return replace(found, low=low - high, high=high - low) if apart else found
    return _quantile(asked, records) if asked.kind == "quantile" else _ratios(asked, records)


def records_of(
    rows: pl.DataFrame, schema: Schema, columns: tuple[str, ...], beyond: tuple[str, ...]
) -> Records:
    """Complete records; numbers above the bounds count as they are."""
    numbers = {}
    for name in set(beyond) & set(columns):
        numbers[name] = rows[name].cast(pl.Float64).to_numpy()
        column = schema.columns[name]
        assert isinstance(column, NUMERIC)
        rows = rows.with_columns(pl.col(name).clip(*column.bounds))
    records = Records.of(rows, schema, columns)
    seen = Records(schema, records.states, records.numbers | numbers)
    return seen.take(seen.complete())


def _ratios(asked: Estimand, records: Records) -> RowAnswer:
    scores = asked.scores(records)
    k, groups = len(scores.names), int(scores.group_of.max()) + 1
    group = scores.group_of[scores.quantity]
    size = np.bincount(group, minlength=groups)[scores.group_of].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.bincount(scores.quantity, scores.value, k) / size
        if asked.kind in SHARES:
            centre = (estimate * size + Z**2 / 2) / (size + Z**2)
            half = estimate * (1 - estimate) * size + Z**2 / 4
            half = Z * np.sqrt(half) / (size + Z**2)
            return RowAnswer(scores.names, estimate, centre - half, centre + half, 0.0, 1.0)
        off = (scores.value - estimate[scores.quantity]) ** 2
        half = Z * np.sqrt(np.bincount(scores.quantity, off, k) / (size - 1) / size)
    ends = estimate - half, estimate + half
    return RowAnswer(scores.names, estimate, *ends, *_range(asked.expression, records.schema))


def _quantile(asked: Estimand, records: Records) -> RowAnswer:
    values, p = np.sort(asked.scores(records).value), asked.probability
    n = len(values)
    lower, upper = stats.binom.ppf([0.025, 0.975], n, p).astype(int)
    ends = values[[max(lower - 1, 0), min(upper, n - 1)]]
    estimate = values[min(int(np.ceil(n * p)) - 1, n - 1)]
    found = [np.array([one]) for one in (estimate, *ends)]
    return RowAnswer(("quantile",), *found, *_range(asked.expression, records.schema))


def _model(asked: Estimand, records: Records) -> RowAnswer:
    """Coefficients but for the intercept."""
    laid = designs(asked.kind, asked.formula, [records.frame()])
    estimate, covariance = fit(asked.kind, laid, 0)
    half = Z * np.sqrt(np.diag(covariance))
    kept = np.array([name != "Intercept" for name in laid.names])
    names = tuple(np.array(laid.names)[kept])
    return RowAnswer(names, estimate[kept], (estimate - half)[kept], (estimate + half)[kept])


def _correlation(asked: Estimand, records: Records) -> RowAnswer:
    frame = records.frame()
    x, y = (formulas.evaluate(term, frame) for term in formulas.split_terms(asked.formula))
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = np.array([np.mean(u * v)])
    half = Z * np.std(u * v - r * (u * u + v * v) / 2) / np.sqrt(len(x))
    return RowAnswer(("correlation",), r, r - half, r + half, -1.0, 1.0)


def _range(expression: str, schema: Schema) -> tuple[float, float]:
    """What one record's value of a column could be; without bounds for other expressions."""
    column = schema.columns.get(expression)
    if isinstance(column, NUMERIC):
        return column.bounds
    if column is None or is_grouping(column):
        return -np.inf, np.inf
    numbers = [float(level) for level in level_values(column)]
    return min(numbers), max(numbers)
