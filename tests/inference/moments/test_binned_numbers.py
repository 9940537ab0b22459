"""Questions about numbers in few bins: tables, groups, and conditions at their edges."""

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf

from made_matrices import matrix_of
from schemas import column
from understudy.inference import question
from understudy.inference.moment_answers import answer_of
from understudy.inference.records import Records
from understudy.schema import Schema

SCHEMA = Schema.loads(
    column("age", "integer", lower=20, upper=80, bins=[20, 40, 65, 80])
    + column("pay", "integer", lower=0, upper=100, bins=[0, 20, 50, 100], spikes=[0], missing=[-1])
    + column("sex", "categorical", levels=["f", "m"])
    + column("votes", "boolean")
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    n = 4000
    age, sex = rng.integers(20, 81, n), rng.choice(["f", "m"], n)
    pay = np.where(rng.random(n) < 0.2, 0, np.clip(rng.normal(30 + 0.4 * age, 15, n), 1, 100))
    pay = np.where(rng.random(n) < 0.05, -1, pay.round()).astype(np.int64)
    votes = rng.random(n) < 0.2 + 0.008 * (age - 20)
    return pl.DataFrame({"age": age, "pay": pay, "sex": sex, "votes": votes})


def matrix(rows, stddev=0.0, rng=None):
    return matrix_of(rows, SCHEMA, stddev=stddev, rng=rng)


def ask(kind, formula, moments, rows):
    estimand = question.parse(kind, formula, SCHEMA)
    records = Records.of(rows, SCHEMA, estimand.columns)
    return answer_of(estimand, moments, SCHEMA, [records.take(records.complete())])


def known(rows):
    frame = rows.filter(pl.col("pay") >= 0).to_pandas()
    frame["old"] = (frame["age"] >= 65).astype(float)
    frame["rich"] = (frame["pay"] >= 50).astype(float)
    frame["male"] = (frame["sex"] == "m").astype(float)
    return frame


def test_a_table_of_bins_is_that_of_the_rows(rows):
    answer = ask("table", "age + pay", matrix(rows), rows).pooled
    frame = known(rows)
    ages = np.searchsorted([40, 65], frame["age"], side="right")
    pays = np.where(frame["pay"] == 0, 0, 1 + np.searchsorted([20, 50], frame["pay"], side="right"))
    crossed = np.bincount(4 * ages + pays, minlength=12) / len(frame)
    assert len(answer.names) == 12
    assert sorted(answer.estimate) == pytest.approx(sorted(crossed), abs=1e-3)
    assert answer.estimate[0] == pytest.approx(crossed[0], abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "formula", "condition", "group"),
    [
        ("proportion", "age >= 65 ~ sex", "old", "sex"),
        ("proportion", "pay >= 50 ~ sex", "rich", "sex"),
        ("mean", "{pay >= 50} ~ votes", "rich", "votes"),
    ],
)
def test_a_condition_at_an_edge_by_groups(rows, kind, formula, condition, group):
    answer = ask(kind, formula.replace("{", "(").replace("}", ")"), matrix(rows), rows).pooled
    frame = known(rows) if condition == "rich" else known(rows.with_columns(pay=pl.lit(1)))
    shown = frame.groupby(group)[condition].mean().to_numpy()
    assert answer.estimate == pytest.approx(shown, abs=1e-3)


def test_means_by_bins(rows):
    answer = ask("mean", "pay ~ age", matrix(rows), rows).pooled
    frame = known(rows)
    bins = np.searchsorted([40, 65], frame["age"], side="right")
    assert answer.estimate == pytest.approx(frame.groupby(bins)["pay"].mean().to_numpy(), abs=0.02)


def test_models_of_conditions_at_edges(rows):
    moments = matrix(rows)
    answer = ask("ols", "pay ~ {age >= 65} + sex", moments, rows).pooled
    exact = smf.ols("pay ~ old + male", known(rows)).fit(cov_type="HC0")
    off = np.abs(answer.estimate - exact.params.to_numpy())
    assert (off <= answer.bias + 0.01).all()  # who has no pay may differ by age and sex together
    assert (answer.bias > 0).all()
    assert any("lack a value" in note for note in answer.notes)
    assert answer.stderr == pytest.approx(exact.bse.to_numpy(), rel=0.03)
    got = ask("logit", "{pay >= 50} ~ sex", moments, rows).pooled
    logit = smf.logit("rich ~ male", known(rows)).fit(disp=False)
    assert got.estimate == pytest.approx(logit.params.to_numpy(), abs=0.01)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("ols", "pay ~ {age >= 64}"),  # no edge
        ("ols", "pay ~ {age > 65}"),  # the edge itself lies on the other side
        ("ols", "pay ~ age + {age >= 65}"),  # a number with its own bins was not measured
        ("mean", "pay >= 49"),
    ],
)
def test_other_conditions_have_no_answer(rows, kind, formula):
    assert ask(kind, formula, matrix(rows), rows) is None


@pytest.mark.statistical
@pytest.mark.nightly
def test_intervals_of_tables_and_conditions_cover(rows):
    """60 noisy matrices of the same rows: the noise part alone is judged, at 95 %."""
    rng = np.random.default_rng(2)
    for kind, formula in [("table", "age + pay"), ("proportion", "age >= 65 ~ sex")]:
        truth = ask(kind, formula, matrix(rows), rows).pooled.estimate
        inside = []
        for _ in range(60):
            pooled = ask(kind, formula, matrix(rows, 12.0, rng), rows).pooled
            noise = np.sqrt(np.diag(pooled.covariance) * pooled.synthesis_share)
            inside.append(np.abs(pooled.estimate - truth) <= 1.96 * noise)
        covered = np.mean(inside)
        # At least 120 quantities; their sd is below 2 % if half of them are independent.
        assert 0.89 < covered < 0.99, (formula, covered)
