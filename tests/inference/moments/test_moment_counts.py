"""Counts of records from second moments: exact without noise, and with their error with it."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import column
from understudy.inference.linear import moment_counts, moment_ratios
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.second_moments import LostInNoiseError

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


def records_of(schema, columns):
    table = pl.DataFrame(columns)
    return Records.of(table, schema, tuple(columns))


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


@pytest.mark.parametrize(
    ("kind", "formula"),
    [("total", "pay ~ sex"), pytest.param("count", "works ~ sex", marks=pytest.mark.nightly)],
)
def test_sums_of_noisy_moments_have_their_error(columns, moments_of, kind, formula):
    """The standard error is that of the noise, which is drawn again and again; no other fits."""
    estimand, rng = parse(kind, formula, SCHEMA), np.random.default_rng(1)
    noisy = moments_of(SCHEMA, columns, 5.0, rng, draws=300 if NIGHT else 120)
    found = [moment_counts(estimand, matrix, SCHEMA) for matrix in noisy]
    errors = np.std([one.estimate for one in found], axis=0)
    stated = np.sqrt(np.diag(found[0].noise))
    np.testing.assert_allclose(errors, stated, rtol=0.15)
    assert not any(np.allclose(errors, wrong * stated, rtol=0.15) for wrong in (0.7, 1.3))


def test_totals_of_numbers_are_those_of_the_rows(columns, moments_of):
    """Exact sums without noise, by group and among those that meet a condition."""
    matrix, pay = moments_of(SCHEMA, columns), columns["pay"]
    for formula, chosen in (
        ("pay ~ sex", [columns["sex"] == level for level in SCHEMA.columns["sex"].levels]),
        ("pay where works", [columns["works"]]),
        ("pay", [np.ones(len(pay), dtype=bool)]),
    ):
        estimand = parse("total", formula, SCHEMA)
        found = moment_counts(estimand, matrix, SCHEMA)
        assert found.estimate == pytest.approx([pay[own].sum() for own in chosen], abs=1)
        assert found.limits == {}


SOME = [
    ("mean", "pay", "sex == 'f'"),
    ("mean", "pay", "works"),
    ("proportion", "works", "sex == 'm'"),
    ("proportion", "sex", "works"),
    ("mean", "works", "pay >= 40"),
    ("count", "works", "sex == 'f'"),
]


def values_of(kind, formula, columns):
    """What each complete record adds to each quantity."""
    if formula == "sex":
        return [(columns["sex"] == sex).astype(float) for sex in "fm"]
    if kind in ("proportion", "count"):
        return [columns[formula] == truth for truth in (False, True)]
    return [columns[formula].astype(float)]


@pytest.mark.parametrize(("kind", "formula", "where"), SOME)
def test_sums_of_those_that_meet_a_condition_are_exact(columns, moments_of, kind, formula, where):
    matrix = moments_of(SCHEMA, columns)
    estimand = parse(kind, f"{formula} where {where}", SCHEMA)
    met = {
        "works": columns["works"],
        "pay >= 40": columns["pay"] >= 40,
        "sex == 'f'": columns["sex"] == "f",
        "sex == 'm'": columns["sex"] == "m",
    }[where] & ((columns["sex"] != "?") | ("sex" not in (formula, where[:3])))
    added = [values[met] for values in values_of(kind, formula, columns)]
    if kind == "count":
        found = moment_counts(estimand, matrix, SCHEMA)
        wanted = [values.sum() for values in added]
    else:
        records = records_of(SCHEMA, columns).take(columns["sex"] != "?")
        found = moment_ratios(estimand, matrix, SCHEMA, [records])
        wanted = [values.mean() for values in added]
        errors = [np.sqrt(values.var(ddof=1) / len(values)) for values in added]
        # Squares by group are not measured: those of records without a group count as spread.
        ratios = np.sqrt(np.diag(found.sampling)) / errors
        assert ((ratios > 0.97) & (ratios < 1.2)).all()
    np.testing.assert_allclose(found.estimate, wanted, rtol=1e-6)


def test_a_condition_on_the_number_itself_is_left_to_its_line(columns, moments_of):
    matrix = moments_of(SCHEMA, columns)
    estimand = parse("mean", "pay where pay >= 40", SCHEMA)
    assert moment_ratios(estimand, matrix, SCHEMA, [records_of(SCHEMA, columns)]) is None


def test_a_few_records_that_meet_a_condition_are_lost_in_noise(columns, moments_of):
    few = {**columns, "works": np.arange(N) < 20}
    matrix = moments_of(SCHEMA, few, 20.0, np.random.default_rng(1))
    sets = [Records.complete_of(pl.DataFrame(few), SCHEMA, ("works", "pay"))]
    estimand = parse("mean", "pay where works", SCHEMA)
    with pytest.raises(LostInNoiseError, match="too small under the privacy noise"):
        moment_ratios(estimand, matrix, SCHEMA, sets)
    others = moment_ratios(parse("mean", "pay where works == False", SCHEMA), matrix, SCHEMA, sets)
    assert np.isfinite(others.estimate).all()
