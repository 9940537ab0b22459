"""Verbs of the pseudo posterior mechanism: permission, ledger, promise, and what leaves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from understudy.data.base import NO_PREMISES
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.guarantee import Guarantee
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError, NotPrivateError
from understudy.papers.categorical_models import LOGS, StateTable
from understudy.papers.column_models import NO_LABEL, NumberModel, SequentialModel
from understudy.papers.exact import ExactTables
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_regression import MixtureRegression
from understudy.papers.pseudo_posterior import OpenColumns, PosteriorDraw
from understudy.papers.record_weights import PseudoPosterior, Weighting
from understudy.papers.sampling_base import NormalLinear
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 65, 99]
spikes = [50]
missing = [""]
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 2
[[forbidden]]
where = { sex = "m", age = { lower = 0, upper = 17 } }
"""


def schema(n=None):
    head = 'rows = "private"\nrow_limit = 100' if n is None else f'rows = "public"\nn_rows = {n}'
    return Schema.loads(f"{head}\n{COLUMNS}")


def column_model(of, regression=None, given=("sex", "age")):
    income = NumberModel.of(of, "income", given, regression or NormalLinear())
    return SequentialModel((income,), given)


def mechanism(of, *, draws=8, regression=None, **weighting):
    return PseudoPosterior(column_model(of, regression), Weighting(**weighting), draws)


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 100, n)
    frame = {"sex": rng.choice(["f", "m"], n), "age": age, "income": rng.uniform(0, 100, n)}
    return pl.DataFrame(frame)


class Asked(Exception):
    """The engine was asked."""


class Refusing:
    premises, has_records = NO_PREMISES, True

    def __init__(self, of):
        self.schema = of

    def read(self, *_):
        raise Asked


def gate_of(frame, of, *, secure=True, allowed=True, **more):
    source = SecureRandomness() if secure else SeededRandomness(5)
    engine = Refusing(of) if frame is None else Table(frame, of)
    return open_gate(engine, Budget.of(1), source, allow_nonprivate=allowed, **more)


# --- charged first, permitted first -----------------------------------------------------------


def test_without_permission_nothing_is_charged_or_read():
    of = schema(10)
    gate = gate_of(None, of, allowed=False)
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        gate.ask(PosteriorDraw(mechanism(of)))
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        gate.ask(OpenColumns(("sex",)))
    assert gate.ledger == ()


def test_an_infinite_cost_is_charged_before_rows_are_read():
    of = schema(10)
    gate = gate_of(None, of)
    with pytest.raises(Asked):
        gate.ask(PosteriorDraw(mechanism(of)))
    with pytest.raises(Asked):
        gate.ask(OpenColumns(("sex",)))
    assert [one.spent for one in gate.ledger] == [None, None]
    assert [one.mechanism for one in gate.ledger] == ["pseudo posterior", "as they stand"]
    assert gate.remaining == 1


def test_a_law_of_other_columns_is_refused_before_anything_is_charged():
    of = schema(10)
    other = SequentialModel((StateTable("job", 3),))
    gate = gate_of(None, of)
    with pytest.raises(MethodError, match="job"):
        gate.ask(PosteriorDraw(PseudoPosterior(other, Weighting(), 5)))
    with pytest.raises(MethodError, match="job"):
        gate.ask(OpenColumns(("job",)))
    assert gate.ledger == ()


# --- one fit, several draws -------------------------------------------------------------------


def test_sets_get_different_draws_of_one_fit_and_no_more_than_are_sure_to_be_kept():
    of = schema(30)
    told = []
    gate = gate_of(people(30), of, confide=told.append)
    how = mechanism(of, level=0.5)
    drawn = [gate.ask(PosteriorDraw(how, k)).value.theta for k in range(4)]
    assert len({one["income: variances"].item() for one in drawn}) == 4
    (fitted,) = [one.value for one in told]
    kept = fitted.theta["income: variances"][fitted.after.kept]
    assert {one["income: variances"].item() for one in drawn} <= set(kept.ravel().tolist())
    with pytest.raises(MethodError, match="more draws, or fewer sets"):
        gate.ask(PosteriorDraw(how, 4))
    assert len(gate.ledger) == len(gate.measured) == 4
    again = mechanism(of, level=0.5, scale=0.7)  # another mechanism is another fit
    gate.ask(PosteriorDraw(again))
    assert len(told) == 2


def test_an_equal_mechanism_made_anew_is_the_same_fit():
    of, told = schema(30), []
    gate = gate_of(people(30), of, confide=told.append)
    for k in range(3):
        gate.ask(PosteriorDraw(mechanism(of), k))
    assert len(told) == 1


def test_parameters_are_those_of_the_rows_that_fit_the_schema():
    """Exact counts by a prior that weighs next to nothing; five standard errors of a mean of 2,000
    draws are exceeded once in 10⁶."""
    of = schema(8)
    sex = ["f", "f", "f", "m", "m", "f", "zz", "m"]
    age = [20, 30, 40, 50, 60, 70, 20, 5]  # the last one is a combination that cannot occur
    frame = pl.DataFrame({"sex": sex, "age": age, "income": [1.0] * 8})
    table = StateTable("sex", 2, {}, 1e-9)
    how = PseudoPosterior(SequentialModel((table,), ("age",)), Weighting(form="unweighted"), 2_000)
    told = []
    gate_of(frame, of, confide=told.append).ask(PosteriorDraw(how))
    shares = np.exp(told[0].value.theta[f"sex: {LOGS}"])[:, 0, 0]
    error = np.sqrt((4 / 6) * (2 / 6) / 7 / 2_000)
    assert abs(shares.mean() - 4 / 6) < 5 * error
    assert told[0].value.weights.shape == (6,)


def test_a_view_in_other_bins_has_fits_of_its_own():
    of, told = schema(30), []
    gate = gate_of(people(30), of, confide=told.append)
    gate.ask(PosteriorDraw(mechanism(of)))
    view = gate.rebin({"age": (0, 50, 99)})
    with pytest.raises(MethodError, match="another schema"):
        view.ask(PosteriorDraw(mechanism(of)))
    view.ask(PosteriorDraw(mechanism(view.schema)))
    assert len(told) == 2
    assert len(gate.ledger) == 2


@pytest.mark.parametrize("frame", [people(0), people(3).with_columns(sex=pl.lit("zz"))])
def test_no_row_that_fits_gives_the_prior(frame):
    of = schema(len(frame))
    gate = gate_of(frame, of)
    theta = gate.ask(PosteriorDraw(mechanism(of))).value.theta
    assert np.isfinite(theta["income: variances"]).all()
    given = gate.ask(OpenColumns(("sex", "age"))).value
    assert len(given["sex"].states) == len(frame)


# --- columns as they stand --------------------------------------------------------------------


def test_columns_are_published_as_they_stand():
    frame = people(40)
    gate = gate_of(frame, schema(40))
    first = gate.ask(OpenColumns(("age", "sex")))
    assert [one.query for one in gate.ledger] == ["age, sex of every record"]
    states = first.value["sex"].states
    assert [("f", "m")[k] for k in states] == frame["sex"].to_list()
    numbers = first.value["age"].numbers
    known = np.array(frame["age"].to_list(), dtype=float)
    assert np.array_equal(numbers, np.where(known == 50, np.nan, known), equal_nan=True)
    assert first.value["sex"].numbers is None


def test_rows_that_fit_no_state_or_can_not_be_completed_have_the_columns_of_others():
    of = Schema.loads("""
rows = "public"
n_rows = 300
[columns.a]
kind = "categorical"
levels = ["u", "v", "w"]
[columns.b]
kind = "categorical"
levels = ["x", "y"]
[[forbidden]]
where = { a = "w", b = "x" }
[[forbidden]]
where = { a = "w", b = "y" }
""")
    a = ["u"] * 60 + ["v"] * 180 + ["w"] * 30 + ["zz"] * 30
    frame = pl.DataFrame({"a": a, "b": ["x"] * 300})
    states = gate_of(frame, of).ask(OpenColumns(("a",))).value["a"].states
    assert states[:240].tolist() == [0] * 60 + [1] * 180
    # 60 draws with P(v) = ¾: five standard errors, wrong once in 10⁶
    assert abs((states[240:] == 1).sum() - 45) < 5 * np.sqrt(60 * 3 / 16)
    assert set(states[240:]) == {0, 1}


def test_a_private_number_of_rows_forbids_columns_as_they_stand():
    gate = gate_of(people(10), schema())
    with pytest.raises(MethodError, match="number of rows"):
        gate.ask(OpenColumns(("sex",)))
    assert gate.ledger == ()


# --- the promise ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["vector", "scalar", "count"])
def test_the_promise_is_asymptotic_and_says_that_nothing_holds_here(form):
    of = schema(30)
    gate = gate_of(people(30), of)
    gate.ask(PosteriorDraw(mechanism(of, form=form)))
    promise = gate.guarantee()
    assert (promise.kind, promise.epsilon, promise.delta) == ("asymptotic", None, 0)
    assert "NOT differentially private at its number of rows" in promise.statement
    assert "no differential-privacy guarantee holds" not in promise.statement
    assert "replaced" in promise.statement
    assert not promise.leaks
    assert Guarantee.from_json(promise.to_json()) == promise
    gate.ask(OpenColumns(("sex", "age")))
    assert gate.guarantee().kind == "asymptotic"
    assert "sex, age are published as they stand" in gate.guarantee().statement


def test_without_weights_with_exact_tables_or_by_a_seed_the_promise_is_none():
    of = schema(30)
    plain = gate_of(people(30), of)
    plain.ask(PosteriorDraw(mechanism(of, form="unweighted")))
    assert plain.guarantee().kind == "none"
    assert "without weights" in plain.guarantee().statement
    exact = gate_of(people(30), of)
    exact.ask(PosteriorDraw(mechanism(of)))
    exact.ask(ExactTables([("sex",)]))
    assert exact.guarantee().kind == "none"
    assert "Exact statistics" in exact.guarantee().statement
    alone = gate_of(people(30), of)
    alone.ask(OpenColumns(("sex",)))
    assert alone.guarantee().kind == "none"
    assert "without weights" not in alone.guarantee().statement
    seeded = gate_of(people(30), of, secure=False)
    seeded.ask(PosteriorDraw(mechanism(of)))
    assert seeded.guarantee().kind == "none"


def test_figures_of_the_weights_are_for_the_steward_alone():
    of, told = schema(30), []
    gate = gate_of(people(30), of, confide=told.append)
    released = gate.ask(PosteriorDraw(mechanism(of)))
    (fitted,) = [one.value for one in told]
    shown = f"{released!r} {gate!r} {gate.guarantee().to_json()} {gate.ledger} {gate.measured}"
    assert f"{fitted.after.bound:.4g}" not in shown
    assert released.value.labels is None
    assert [one.cells for one in gate.ledger] == [0]


# --- as published -----------------------------------------------------------------------------


def mixed(of, **weighting):
    prior = MixturePrior(components=3, noise_floor=0.01)
    return mechanism(of, regression=MixtureRegression(prior=prior, burn_in=30, thin=1), **weighting)


def test_the_published_form_prints_the_bound_and_its_cost_for_all_sets():
    of, told = schema(60), []
    gate = gate_of(people(60), of, confide=told.append)
    for k in range(3):
        gate.ask(PosteriorDraw(mixed(of), k, "paper"))
    bound = told[0].value.after.bound
    promise = gate.guarantee()
    assert promise.kind == "asymptotic"
    leaks = " ".join(promise.leaks)
    assert f"Δ = {bound:.4g}" in leaks
    assert f"{4 * bound:.4g} the ε of a set, and {12 * bound:.4g} that of all 3 (4mΔ" in leaks
    assert "confidential value" in leaks


def test_the_published_form_without_weights_says_what_it_leaves_in_too():
    of = schema(60)
    gate = gate_of(people(60), of)
    gate.ask(PosteriorDraw(mixed(of, form="unweighted"), mode="paper"))
    promise = gate.guarantee()
    assert promise.kind == "none"
    assert "confidential value" in promise.statement
    assert "without weights" in promise.statement


def test_the_published_form_counts_twice_the_bound_where_a_record_is_added():
    of, told = schema(), []
    gate = gate_of(people(60), of, confide=told.append)
    gate.ask(PosteriorDraw(mixed(of), mode="paper"))
    bound = told[0].value.after.bound
    assert f"{2 * bound:.4g} the ε of a set" in " ".join(gate.guarantee().leaks)
    assert "(2mΔ)" in " ".join(gate.guarantee().leaks)


def test_published_components_go_with_the_confidential_values_row_by_row():
    """Two groups far apart: the component of a record tells its group, whatever its predictors."""
    n = 80
    low = np.arange(n) % 2 == 0
    frame = pl.DataFrame(
        {
            "sex": ["f"] * n,
            "age": np.where(np.arange(n) < 4, 200, 30).tolist(),
            "income": np.where(low, 1.0, 99.0) + np.linspace(0, 0.5, n),
        },
        schema_overrides={"age": pl.Int64},
    ).with_columns(sex=pl.when(pl.int_range(n) < 4).then(pl.lit("zz")).otherwise(pl.col("sex")))
    of = schema(n)
    gate = gate_of(frame, of, secure=False)
    drawn = gate.ask(PosteriorDraw(mixed(of, form="unweighted"), mode="paper"))
    labels = drawn.value.labels["income"]
    assert labels.shape == (n,)
    assert np.all(labels[:4] == NO_LABEL)  # these rows do not fit the schema
    groups = [set(labels[4:][low[4:] == side].tolist()) for side in (True, False)]
    assert not groups[0] & groups[1]
    assert gate.budget.amount == Fraction(1)
