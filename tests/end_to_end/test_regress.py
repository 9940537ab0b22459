"""The two published mechanisms of a private regression as a user asks for them."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import BudgetError, DataError, InferenceError, MethodError, SchemaError

SCHEMA = us.Schema.loads("""
row_limit = 100000
[columns.age]
kind = "integer"
lower = 0
upper = 100
missing = [""]
source = "law"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0.0
upper = 5000.0
spikes = [0.0]
source = "codebook"
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
""")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 101, 20_000).astype(float)
    income = np.clip(500 + 20 * age + rng.normal(0, 300, age.size), 0, 5000)
    income[rng.random(age.size) < 0.05] = 0.0
    age[::50] = np.nan
    return pd.DataFrame({"age": age, "income": income, "sex": rng.choice(["f", "m"], age.size)})


def public(n_rows):
    return SCHEMA.model_copy(update={"rows": "public", "n_rows": n_rows, "row_limit": None})


@pytest.mark.parametrize("mechanism", ["functional", "functional-published", "k-norm"])
@pytest.mark.parametrize("schema", [SCHEMA, public(20_000)], ids=["add_remove", "replace"])
def test_coefficients_with_guarantee_and_ledger(people, mechanism, schema):
    found = us.regress(
        people, schema, "income ~ age", epsilon=2, mechanism=mechanism, repair="trim"
    )
    there = people.dropna()
    slope, intercept = np.polyfit(there["age"], there["income"], 1)
    # The noise moves the slope by about 0.2, and the intercept by 10: 10⁻⁹ that this fails.
    assert found.coefficients["age"] == pytest.approx(slope, abs=2)
    assert found.coefficients["Intercept"] == pytest.approx(intercept, abs=100)
    assert found.coefficients["age"] != pytest.approx(slope, abs=1e-9)
    assert not found.repaired
    assert found.noisy.n_rows is None
    assert (found.guarantee.kind, found.guarantee.epsilon) == ("pure", 2)
    assert found.guarantee.neighbours == schema.neighbours
    assert found.guarantee.leaks == ()
    (entry,) = found.ledger
    assert entry.spent == 2
    assert entry.query == "normal equations of income on age"
    assert mechanism.removesuffix("-published") in found.mechanism.lower()
    assert ("published" in found.mechanism) == mechanism.endswith("-published")


def test_the_noise_can_be_seeded_and_is_then_stamped(people):
    ask = lambda seed: us.regress(  # noqa: E731
        people, SCHEMA, "income ~ age", epsilon=1, mechanism="k-norm", insecure_noise_seed=seed
    )
    assert ask(0).coefficients == ask(0).coefficients != ask(1).coefficients
    assert ask(0).guarantee.kind == "none"


@pytest.mark.parametrize(
    ("mechanism", "intercept", "slope"),
    [
        ("functional", 536.1121690463992, 19.8119289654163),
        ("k-norm", 543.7563527280543, 19.226811684457356),
    ],
)
def test_both_give_what_they_always_gave(mechanism, intercept, slope):
    age = np.arange(0, 100, 0.5).round()
    rows = pd.DataFrame({"age": age, "income": 500 + 20 * age, "sex": "f"})
    found = us.regress(
        rows, SCHEMA, "income ~ age", epsilon=3, mechanism=mechanism, insecure_noise_seed=7
    )
    # Up to rounding in the solution of the noisy equations.
    assert found.coefficients["Intercept"] == pytest.approx(intercept, rel=1e-9)
    assert found.coefficients["age"] == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("repair", ["ridge", "trim"])
@pytest.mark.parametrize("epsilon", [1e-5, 1, 10**15])
def test_no_rows_and_any_budget_give_some_answer(repair, epsilon):
    none = pd.DataFrame({"age": [], "income": [], "sex": []}, dtype=float)
    found = us.regress(
        none.astype({"sex": str}),
        SCHEMA,
        "income ~ age",
        epsilon=epsilon,
        mechanism="k-norm",
        repair=repair,
    )
    assert set(found.coefficients) == {"Intercept", "age"}
    assert np.isfinite(list(found.coefficients.values())).all()


def test_exact_numbers_come_back_as_the_budget_grows(people):
    there = people.dropna()
    exact = np.polyfit(there["age"], there["income"], 1)[0]
    errors = [
        abs(
            us.regress(
                people,
                SCHEMA,
                "income ~ age",
                epsilon=epsilon,
                mechanism="k-norm",
                insecure_noise_seed=3,
            ).coefficients["age"]
            - exact
        )
        for epsilon in (F(1, 10), 10, 10**9)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


@pytest.mark.parametrize(
    ("formula", "options", "error"),
    [
        ("income", {}, InferenceError),
        ("income ~ age", {"repair": "none"}, InferenceError),
        ("income ~ age", {"mechanism": "laplace"}, MethodError),
        ("income ~ sex", {}, MethodError),
        ("income ~ height", {}, MethodError),
        ("income ~ age", {"epsilon": 0}, BudgetError),
        ("income ~ age", {"epsilon": 1e-13}, BudgetError),
        ("income ~ age", {"delta": "1e-6"}, MethodError),
        ("income ~ age", {"kind": "logit"}, MethodError),
        ("income ~ age", {"level": 0.9}, MethodError),
        ("income ~ age", {"seed": 0}, MethodError),
        ("income ~ age", {"checkpoint": "folder"}, MethodError),
        ("income ~ age", {"confide": print}, MethodError),
    ],
)
def test_what_does_not_fit_is_refused_before_rows_are_read(formula, options, error, monkeypatch):
    monkeypatch.setattr("understudy.data.table.Table.__init__", None)
    with pytest.raises(error):
        us.regress(object(), SCHEMA, formula, **{"epsilon": 1, "mechanism": "k-norm"} | options)


def test_schemas_and_data_that_do_not_fit_are_refused(people):
    age = SCHEMA.columns["age"].model_copy(update={"reviewed": False})
    drafted = SCHEMA.model_copy(update={"columns": {**SCHEMA.columns, "age": age}})
    with pytest.raises(SchemaError, match="not reviewed"):
        us.regress(people, drafted, "income ~ age", epsilon=1, mechanism="k-norm")
    less = people.drop(columns="age")
    with pytest.raises(DataError):
        us.regress(less, SCHEMA, "income ~ age", epsilon=1, mechanism="k-norm")
