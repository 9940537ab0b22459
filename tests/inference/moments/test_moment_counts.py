"""Counts of records from second moments: exact without noise, and with their error with it."""

import numpy as np
import pytest

import understudy as us
from schemas import column
from understudy.inference.linear import moment_counts
from understudy.inference.question import parse

N = 2_000
SCHEMA = us.Schema.loads(
    column("sex", "categorical", levels=["f", "m"], missing=["?"])
    + column("works", "boolean")
    + column("pay", "integer", lower=0, upper=80, bins=[0, 40, 80])
)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(4)
    return {
        "sex": rng.choice(["f", "m", "?"], N, p=[0.5, 0.4, 0.1]),
        "works": rng.random(N) < 0.6,
        "pay": rng.integers(0, 81, N),
    }


def cells_of(formula, columns):
    """Whether each record is in each cell."""
    works = columns["works"]
    parts = {"sex": [True], "works ~ sex": [~works, works], "works == True ~ sex": [works]}[formula]
    return [(columns["sex"] == sex) & part for sex in "fm" for part in parts]


@pytest.mark.parametrize("formula", ["sex", "works ~ sex", "works == True ~ sex"])
def test_exact_second_moments_count_exactly(columns, moments_of, formula):
    matrix = moments_of(SCHEMA, columns)
    estimand = parse("count", formula, SCHEMA)
    found = moment_counts(estimand, matrix, SCHEMA)
    cells = cells_of(formula, columns)
    np.testing.assert_allclose(found.estimate, [cell.sum() for cell in cells], atol=1e-6)
    assert found.dropped == pytest.approx((columns["sex"] == "?").sum(), abs=1e-6)


def test_counts_from_noisy_moments_have_their_error(columns, moments_of):
    """The standard error is that of the noise, which is drawn again and again."""
    estimand, rng = parse("count", "works ~ sex", SCHEMA), np.random.default_rng(1)
    found = [
        moment_counts(estimand, moments_of(SCHEMA, columns, 5.0, rng), SCHEMA) for _ in range(300)
    ]
    errors = np.std([one.estimate for one in found], axis=0)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(found[0].noise)), rtol=0.15)


def test_totals_of_numbers_are_left_to_lines_and_tables(columns, moments_of):
    matrix = moments_of(SCHEMA, columns)
    assert moment_counts(parse("total", "pay ~ sex", SCHEMA), matrix, SCHEMA) is None
