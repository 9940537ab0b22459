"""Records at given parameters: all columns drawn, or some kept exactly; rules respected."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.dp.randomness import SeededRandomness
from understudy.features.grids import Drawn
from understudy.papers.categorical_models import LOGS, StateTable
from understudy.papers.column_models import NumberModel, PosteriorModel, SequentialModel
from understudy.papers.sampling_base import NormalLinear
from understudy.schema import Schema

SCHEMA = Schema.loads("""
row_limit = 10
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.job]
kind = "categorical"
levels = ["a", "b", "c"]
[columns.income]
kind = "integer"
lower = 0
upper = 100
bins = [0, 50, 100]
[[forbidden]]
where = { sex = "m", job = ["a", "b"] }
[[forbidden]]
where = { sex = "f", income = { lower = 50, upper = 100 } }
""")
JOB = StateTable("job", 3, {"sex": 2})
SEX = StateTable("sex", 2)
INCOME = NumberModel.of(SCHEMA, "income", ("sex",), NormalLinear(), form="identity")
FULL = SequentialModel((SEX, INCOME, JOB))
BESIDE = SequentialModel((JOB,), ("sex", "income"))


def theta(sex=(0.4, 0.6), job=((0.2, 0.3, 0.5), (0.1, 0.1, 0.8)), middle=0.0, stddev=1.0):
    """Incomes have their middle at `middle`, from -3 to 3, whatever the sex."""
    with np.errstate(divide="ignore"):
        return {
            f"sex: {LOGS}": np.log([sex]),
            f"job: {LOGS}": np.log(job),
            "income: coefficients": np.array([[middle, 0.0]])[0],
            "income: variances": np.array(stddev**2),
        }


def require_shape_of(column_model, parameters):
    """The parameters here are shaped as those that the law itself draws."""
    nobody = {"sex": Drawn(np.zeros(0, int)), "job": Drawn(np.zeros(0, int))}
    nobody["income"] = Drawn(np.zeros(0, int), np.zeros(0))
    drawn = column_model.posterior(nobody, np.zeros(0), SeededRandomness(1), draws=2)
    return {name: parameters[name].reshape(one.shape[1:]) for name, one in drawn.items()}


def model(column_model, given=None, **more):
    return PosteriorModel(
        SCHEMA, column_model, require_shape_of(column_model, theta(**more)), given or {}
    )


def keep(n, rng):
    numbers = rng.integers(0, 101, n).astype(np.float64)
    sex = rng.integers(0, 2, n)
    numbers = np.where(sex == 0, np.minimum(numbers, 49), numbers)
    return {"sex": Drawn(sex), "income": Drawn((numbers >= 50).astype(np.int64), numbers)}


def test_all_columns_are_drawn_by_their_laws_given_that_rules_hold():
    """Shares by the definition of conditioning; 40,000 records, five standard errors: once in
    10⁶."""
    found = model(FULL).sample(40_000, np.random.default_rng(1))
    assert not SCHEMA.domain.find_forbidden(found.states).any()
    low = 0.5  # half of the incomes lie below 50, whatever the sex
    weights = {
        (s, j): (0.4, 0.6)[s] * p
        for s, row in enumerate(((0.2, 0.3, 0.5), (0.1, 0.1, 0.8)))
        for j, p in enumerate(row)
    }
    weights = {
        (s, j): w * (low if s == 0 else 1) for (s, j), w in weights.items() if s == 0 or j == 2
    }
    total = sum(weights.values())
    for (s, j), weight in weights.items():
        share = weight / total
        observed = np.mean((found.states[0] == s) & (found.states[1] == j))
        # A third of a bin beside 50 is rounded to it: one percent of the range at most.
        assert abs(observed - share) < 5 * np.sqrt(share * (1 - share) / 40_000) + 0.004
    assert np.array_equal(found.states[2], (found.values["income"] >= 50).astype(np.int64))


def test_kept_columns_are_kept_exactly_and_in_order_and_rules_hold():
    rng = np.random.default_rng(2)
    given = keep(3_000, rng)
    found = model(BESIDE, given).sample(3_000, np.random.default_rng(3))
    assert found.states[0].tolist() == given["sex"].states.tolist()
    assert found.values["income"].tolist() == given["income"].numbers.tolist()
    assert not SCHEMA.domain.find_forbidden(found.states).any()
    women = found.states[1][given["sex"].states == 0]
    shares = np.bincount(women, minlength=3) / len(women)
    assert np.all(np.abs(shares - (0.2, 0.3, 0.5)) < 5 * np.sqrt(0.25 / len(women)))
    assert set(found.states[1][given["sex"].states == 1]) == {2}


def test_what_the_law_never_allows_is_drawn_evenly_from_what_rules_leave():
    given = keep(900, np.random.default_rng(4))
    never = PosteriorModel(
        SCHEMA,
        BESIDE,
        require_shape_of(BESIDE, theta(job=((0.2, 0.3, 0.5), (0.5, 0.5, 0.0)))),
        given,
        redraws=2,
    )
    found = never.sample(900, np.random.default_rng(5))
    assert found.states[0].tolist() == given["sex"].states.tolist()
    assert np.all(found.states[1][given["sex"].states == 1] == 2)
    full = model(FULL, sex=(0.0, 1.0), job=((1, 0, 0), (1, 0, 0)))
    states = (
        PosteriorModel(SCHEMA, FULL, full.theta, redraws=1)
        .sample(50, np.random.default_rng(6))
        .states
    )
    assert not SCHEMA.domain.find_forbidden(states).any()


def test_a_column_of_numbers_that_is_drawn_evenly_has_no_number_of_its_own():
    column_model = SequentialModel((INCOME,), ("sex", "job"))
    given = {"sex": Drawn(np.zeros(20, int)), "job": Drawn(np.arange(20) % 3)}
    parameters = require_shape_of(
        column_model, theta(middle=3.0, stddev=0.011)
    )  # at the upper bound
    found = PosteriorModel(SCHEMA, column_model, parameters, given, redraws=3).sample(
        20, np.random.default_rng(7)
    )
    assert np.all(found.states[2] == 0)
    assert np.isnan(found.values["income"]).all()


def test_the_same_seed_gives_the_same_records_and_no_records_are_none():
    given = keep(50, np.random.default_rng(8))
    one, two = (model(BESIDE, given).sample(50, np.random.default_rng(9)) for _ in range(2))
    assert one.states[1].tolist() == two.states[1].tolist()
    assert [len(column) for column in model(FULL).sample(0, np.random.default_rng(1)).states] == [
        0
    ] * 3
    nobody = {name: one.take(np.zeros(0, int)) for name, one in given.items()}
    assert len(model(BESIDE, nobody).sample(0, np.random.default_rng(1)).states[1]) == 0


def test_another_number_of_records_or_other_columns_are_refused():
    given = keep(5, np.random.default_rng(1))
    with pytest.raises(ValueError, match="a record for each"):
        model(BESIDE, given).sample(6, np.random.default_rng(1))
    with pytest.raises(ValueError, match="the model is given"):
        PosteriorModel(SCHEMA, BESIDE, theta())
    with pytest.raises(ValueError, match="given or drawn"):
        PosteriorModel(SCHEMA, SequentialModel((SEX, INCOME)), theta())
