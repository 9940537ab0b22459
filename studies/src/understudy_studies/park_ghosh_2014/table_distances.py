"""What is measured of a synthetic table: the paper's distances, and what the intruder gets.

The paper's formulas are lost in the text that we have; what is here is our reading of it.

Sources:
    Park & Ghosh (2014), §4.3 and §4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.robust_regression import Fit, fit
from understudy_studies.framework.csv_numbers import joined
from understudy_studies.framework.study import Row
from understudy_studies.measures.rank_sums import Better
from understudy_studies.park_ghosh_2014.patient_case import Case, Regression, find
from understudy_studies.park_ghosh_2014.pegs_papers import N_RECORDS

Values = NDArray[np.float64]
States = NDArray[np.int64]


@dataclass(frozen=True)
class Measure:
    """A number that each synthetic table gets.

    Attributes:
        name: column of `results.csv`.
        words: heading; {given0}, {given1}, {levels} and {number} stand for columns of the case.
        better: whether low or high is good for who uses the records.
    """

    name: str
    words: str
    better: Better = "low"

    def heading(self, case: Case) -> str:
        """The words for one case."""
        return self.words.format(
            given0=case.given[0],
            given1=case.given[1],
            levels=case.intruder.levels,
            number=case.intruder.number.words,
            unit=case.intruder.unit,
        )


MARGINAL = Measure("marginal", "marginal distance")
GIVEN = (
    Measure("given_first", "distance given {given0}"),
    Measure("given_second", "distance given {given1}"),
)
DISTANCES = (MARGINAL, *GIVEN)
LOGISTIC, LINEAR = Measure("logistic", "logistic"), Measure("linear", "linear")
LOGISTIC_ERRORS = Measure("logistic_errors", "logistic, in standard errors")
LINEAR_ERRORS = Measure("linear_errors", "linear, in standard errors")
COEFFICIENTS = (LOGISTIC, LINEAR)
APART = (
    (Measure("first_from_uniform", ""), Measure("first_from_rows", "")),
    (Measure("second_from_uniform", ""), Measure("second_from_rows", "")),
)
"""L1 distances of the two columns that are drawn as histograms from uniform and from the rows."""
COEFFICIENT_TEXTS = ("logistic_coefficients", "linear_coefficients")
HISTOGRAMS = ("histogram_first", "histogram_second")
TEXTS = (*COEFFICIENT_TEXTS, *HISTOGRAMS)
"""Columns of `results.csv` with several numbers, joined by blanks."""

UTILITIES = (*DISTANCES, *COEFFICIENTS, LOGISTIC_ERRORS, LINEAR_ERRORS)


def marginal_distance(case: Case, original: States, synthetic: States) -> float:
    """Mean over the columns of the L1 distance of their distributions; between 0 and 2."""
    return _apart(_marginals(case, original), _marginals(case, synthetic))


def conditional_distance(case: Case, given: str, original: States, synthetic: States) -> float:
    """Mean L1 distance of the other columns' distributions given one column; between 0 and 2.

    The mean is over the other columns and over the original's rows: Σ_g p(g) · mean_j
    ‖p_j|g - p̃_j|g‖₁. A level g without any synthetic record counts 2, the largest distance.

    Args:
        case: the table.
        given: the column that is given.
        original: states, shape (d, n).
        synthetic: states, shape (d, ñ).
    """
    return _apart_given(_conditionals(case, given, original), _conditionals(case, given, synthetic))


def _marginals(case: Case, states: States) -> list[Values]:
    return [_shares(one, size) for one, size in zip(states, case.sizes, strict=True)]


def _apart(one: list[Values], other: list[Values]) -> float:
    return float(np.mean([np.abs(a - b).sum() for a, b in zip(one, other, strict=True)]))


def _conditionals(case: Case, given: str, states: States) -> tuple[Values, list[Values]]:
    """Shares of the levels of a column, and those of each other column within each of them."""
    place, tables = case.place(given), []
    for j, size in enumerate(case.sizes):
        if j != place:
            codes, cells = states[place] * size + states[j], case.sizes[place] * size
            counts = np.bincount(codes, minlength=cells).reshape(-1, size)
            tables.append(counts / np.maximum(counts.sum(axis=1), 1)[:, None])
    return _shares(states[place], case.sizes[place]), tables


def _apart_given(
    original: tuple[Values, list[Values]], synthetic: tuple[Values, list[Values]]
) -> float:
    weight, one = original
    other_weight, other = synthetic
    apart = np.mean([np.abs(a - b).sum(axis=1) for a, b in zip(one, other, strict=True)], axis=0)
    return float(weight @ np.where(other_weight == 0, 2.0, apart))


def coefficients(case: Case, regression: Regression, states: States) -> Fit:
    """A regression on the records that have all of its numbers.

    Args:
        case: the table.
        regression: what is explained by what.
        states: shape (d, n).
    """
    columns = [term.of(case, states) for term in (regression.outcome, *regression.terms)]
    numbers = np.stack(columns)
    y, *x = numbers[:, ~np.isnan(numbers).any(axis=0)]
    return fit(y, np.stack([np.ones(y.size), *x], axis=1), binary=regression.binary)


def coefficient_distance(original: Fit, synthetic: Fit) -> float:
    """‖β - β̃‖₂; what cannot be estimated on the synthetic records counts as no effect, β̃ = 0."""
    return float(np.linalg.norm(original.estimate - np.nan_to_num(synthetic.estimate)))


def errors_apart(original: Fit, synthetic: Fit, n_rows: int) -> float:
    """Mean of |β - β̃| over the standard error of β in a sample of as many records.

    Real records have about 0.8 (√(2/π)), as far as the errors are normal.

    Args:
        original: fit to the rows.
        synthetic: fit to `N_RECORDS` synthetic records.
        n_rows: number of rows.
    """
    sampled = original.stderr * np.sqrt(n_rows / N_RECORDS)
    return float(np.mean(np.abs(original.estimate - np.nan_to_num(synthetic.estimate)) / sampled))


def shares_of(case: Case, column: str, states: States) -> Values:
    """The distribution of a column."""
    place = case.place(column)
    return _shares(states[place], case.sizes[place])


def _shares(states: States, size: int) -> Values:
    return np.asarray(np.bincount(states, minlength=size) / max(states.size, 1))


def measured(case: Case, synthetic: States) -> Row:
    """All utilities of one synthetic table, and what is drawn of it.

    Args:
        case: the table.
        synthetic: states of the synthetic records, shape (d, ñ).
    """
    marginals = original_marginals(case.name)
    row: Row = {MARGINAL.name: _apart(marginals, _marginals(case, synthetic))}
    for measure, given in zip(GIVEN, case.given, strict=True):
        found = _conditionals(case, given, synthetic)
        row[measure.name] = _apart_given(original_conditionals(case.name, given), found)
    for regression, apart, errors in (
        (case.logistic, LOGISTIC, LOGISTIC_ERRORS),
        (case.linear, LINEAR, LINEAR_ERRORS),
    ):
        true = original_fit(case.name, regression.name)
        fitted = coefficients(case, regression, synthetic)
        row[apart.name] = coefficient_distance(true, fitted)
        row[errors.name] = errors_apart(true, fitted, case.n_rows)
        row[f"{regression.name}_coefficients"] = joined(fitted.estimate)
    for k, column in enumerate(case.histograms):
        shares, truth = shares_of(case, column, synthetic), marginals[case.place(column)]
        row[HISTOGRAMS[k]] = joined(shares)
        for measure, other in zip(
            APART[k], (np.full_like(shares, 1 / shares.size), truth), strict=True
        ):
            row[measure.name] = float(np.abs(shares - other).sum())
    return row


@cache
def original_fit(name: str, regression: str) -> Fit:
    """A regression of a case on its rows, once in each process."""
    case = find(name)
    wanted = case.logistic if regression == case.logistic.name else case.linear
    return coefficients(case, wanted, case.table)


@cache
def original_marginals(name: str) -> list[Values]:
    """Shares of the levels of each column of the rows, once in each process."""
    case = find(name)
    return _marginals(case, case.table)


@cache
def original_conditionals(name: str, given: str) -> tuple[Values, list[Values]]:
    """The same given one column, once in each process."""
    case = find(name)
    return _conditionals(case, given, case.table)
