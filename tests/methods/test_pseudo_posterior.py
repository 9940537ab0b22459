"""The pseudo posterior mechanism as a method: options, both uses, what is told and what is not."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import InferenceError, MethodError, NotPrivateError
from understudy.features.design import Features
from understudy.methods.registry import configure
from understudy.papers.categorical_models import StateLogit, StateTable
from understudy.papers.column_models import NumberModel
from understudy.papers.pseudo_posterior import MOST_FEATURES, Modelling
from understudy.papers.sampling_base import NormalLinear
from understudy.schema import Schema

REVIEWED = 'reviewed = true\nsource = "codebook"'
COLUMNS = f"""
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
{REVIEWED}
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 65, 99]
{REVIEWED}
[columns.height]
kind = "continuous"
lower = 0
upper = 3
{REVIEWED}
[columns.income]
kind = "continuous"
lower = -7000
upper = 1800000
bins = [-7000, 0, 20000, 50000, 1800000]
spikes = [0]
decimals = 0
missing = ["?"]
{REVIEWED}
[[forbidden]]
where = {{ age = {{ lower = 0, upper = 17 }}, income = {{ lower = 50000, upper = 1800000 }} }}
{REVIEWED}
"""
N = 400
FAST = {"draws": 20, "burn_in": 20, "thin": 1, "components": 3}
PARTIAL = FAST | {"sensitive": "income"}


def schema(n=N, rows="public"):
    head = f"n_rows = {n}" if rows == "public" else "row_limit = 1000"
    return Schema.loads(f'rows = "{rows}"\n{head}\n{COLUMNS}')


def people(n=N, seed=1):
    """Incomes differ by sex by a factor of seven; children have none."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(0, 100, n)
    income = np.where(sex == "f", 70_000, 10_000) * np.exp(rng.normal(0, 0.3, n))
    income = np.where(age < 18, 0, np.round(income))
    text = [f"{one:.0f}" for one in income]
    text[::29] = ["?"] * len(text[::29])
    height = rng.uniform(0.5, 2.0, n)
    return pl.DataFrame({"sex": sex, "age": age, "height": height, "income": text})


def synthesize(frame=None, of=None, *, options=PARTIAL, sets=2, **more):
    return us.synthesize(
        people() if frame is None else frame,
        schema() if of is None else of,
        method="pseudo-posterior",
        epsilon=1,
        sets=sets,
        options=options,
        allow_nonprivate=True,
        frame="polars",
        **more,
    )


@pytest.fixture(scope="module")
def told():
    """What the steward alone hears of it."""
    return []


@pytest.fixture(scope="module")
def partial(told):
    return synthesize(confide=told.append, sets=3)


def rows_of(frame):
    return list(zip(frame["sex"].cast(pl.String), frame["age"], frame["height"], strict=True))


def numbers(frame):
    return frame["income"].cast(pl.Float64, strict=False).drop_nulls().to_numpy()


# --- partially synthetic ----------------------------------------------------------------------


def test_predictors_are_kept_exactly_in_another_order_and_only_the_sensitive_column_is_new(partial):
    """400 records in random order: that half of them stand where they stood never happens."""
    original = people()
    for one in partial.tables:
        assert Counter(rows_of(one)) == Counter(rows_of(original))
        same_place = np.mean([a == b for a, b in zip(rows_of(one), rows_of(original), strict=True)])
        assert same_place < 0.1
        assert one.schema["age"] == pl.Int64
    first, second, _ = (dict(zip(rows_of(t), t["income"], strict=True)) for t in partial.tables)
    real = dict(zip(rows_of(original), original["income"], strict=True))
    adults = [row for row in real if row[1] >= 18]
    for one, other in ((first, second), (first, real), (second, real)):
        assert np.mean([one[row] == other[row] for row in adults]) < 0.3
    orders = [rows_of(one) for one in partial.tables]
    assert orders[0] != orders[1]


def test_the_new_values_go_with_the_predictors_and_keep_the_rules():
    for one in synthesize(insecure_noise_seed=4).tables:
        adults = one.filter(pl.col("age") >= 18)
        rich, poor = (np.median(numbers(adults.filter(sex=sex))) for sex in ("f", "m"))
        assert rich > 2 * poor
        children = one.filter(pl.col("age") < 18)
        assert np.all(numbers(children) < 50_000)


def test_the_release_says_what_is_kept_and_that_nothing_holds(partial):
    manifest = partial.manifest.to_json()
    assert partial.guarantee.kind == "asymptotic"
    assert "sex, age, height are published as they stand" in partial.guarantee.statement
    ledger = [(one["mechanism"], one["epsilon"]) for one in manifest["ledger"]]
    assert ledger == [("as they stand", None), *[("pseudo posterior", None)] * 3]
    kinds = [(one.kind, one.columns) for one in partial.measurements]
    assert kinds[0] == ("kept", ("sex", "age", "height"))
    assert {kind for kind, _ in kinds[1:]} == {"posterior"}
    assert partial.measurements[1].of == ("income<-sex & age & height",)


def test_a_saved_release_and_its_pages_say_so_too(partial, tmp_path):
    place = partial.save(tmp_path / "out")
    again = us.Release.load(place)
    assert again.guarantee == partial.guarantee
    assert [one.to_json() for one in again.measurements] == [
        one.to_json() for one in partial.measurements
    ]
    page = " ".join((place / "report.html").read_text(encoding="utf-8").split())
    readme = (place / "README.md").read_text(encoding="utf-8")
    for text in (page, readme):
        assert "This release is NOT private at its number of rows." in text
        assert "NOT differentially private at its number of rows" in text
        assert "Each row keeps sex, age, height of a" in text
        assert "is a real person" not in text
    assert "asymptotic only: not private at this number of rows" in page
    assert "No band: this column is published as it stands." in page
    assert "nothing is proven" in page


def test_records_that_do_not_fit_keep_their_predictors_or_get_those_of_others():
    frame = people().with_columns(
        sex=pl.when(pl.int_range(N) < 5).then(pl.lit("zz")).otherwise(pl.col("sex")),
        income=pl.when(pl.int_range(N).is_between(5, 9))
        .then(pl.lit("plenty"))
        .otherwise(pl.col("income")),
    )
    (table,) = synthesize(frame, sets=1).tables
    found, real = Counter(rows_of(table)), Counter(rows_of(frame[5:]))
    assert table.height == N
    assert not real - found
    assert sum((found - real).values()) == 5
    assert set(found) <= set(real)


def test_a_column_of_states_can_be_the_sensitive_one():
    release = synthesize(options=FAST | {"sensitive": "sex, income", "weights": "scalar"}, sets=1)
    (table,) = release.tables
    assert sorted(zip(table["age"], table["height"])) == sorted(  # noqa: B905
        zip(people()["age"], people()["height"])  # noqa: B905
    )
    assert Counter(rows_of(table)) != Counter(rows_of(people()))


# --- fully synthetic --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["public", pytest.param("private", marks=pytest.mark.nightly)])
def test_without_sensitive_columns_all_are_drawn(rows):
    release = synthesize(of=schema(rows=rows), options=FAST, sets=2)
    assert {one.kind for one in release.measurements} == {"posterior"}
    assert release.guarantee.kind == "asymptotic"
    for one in release.tables:
        assert one.filter((pl.col("age") < 18) & one["income"].is_in(["?"]).not_()).height
        children = one.filter(pl.col("age") < 18)
        assert np.all(numbers(children) < 50_000)
        heights = set(one["height"]) & set(people()["height"])
        assert not heights


def test_sets_differ_in_their_parameters_and_not_only_in_their_draws():
    """Without parameters of their own the means of 4 sets from one table's shares vary as draws of
    400 records do; under weights of 0 they come from the prior and vary far more."""
    from_prior = synthesize(options=FAST | {"model": "normal", "scale": 0, "shift": 0}, sets=8)
    shares = [(one["sex"] == "f").mean() for one in from_prior.tables]
    assert np.std(shares) > 3 * np.sqrt(0.25 / N)


def test_a_seed_of_sampling_is_accepted_and_recorded():
    assert synthesize(seed=3, sets=1).manifest.sampling_seed == 3


# --- what is told -----------------------------------------------------------------------------


def test_the_steward_alone_hears_of_weights_and_bounds(partial, told):
    (fitted,) = [one.value for one in told]
    assert fitted.weights.shape == (N,)
    assert fitted.after.bound < fitted.before.bound
    shown = json.dumps(partial.manifest.to_json()) + str(partial.measurements)
    for figure in (fitted.after.bound, fitted.before.bound):
        assert f"{figure:.4g}" not in shown


def test_the_published_form_prints_the_bound():
    told = []
    release = synthesize(options=PARTIAL | {"mode": "paper"}, confide=told.append, sets=3)
    assert release.guarantee.kind == "asymptotic"
    assert f"Δ = {told[0].value.after.bound:.4g}" in release.guarantee.statement


def test_published_values_go_with_the_confidential_ones_beyond_the_parameters():
    """Two groups of incomes far apart that no predictor tells: as published a record stays in its
    own; in strict mode it is in either, by the toss of a coin. 400 records, five standard errors:
    once in 10⁶."""
    frame = people()
    rich = np.random.default_rng(9).random(N) < 0.5
    frame = frame.with_columns(
        age=pl.lit(40), income=pl.Series(np.where(rich, 1_000_000, 1_000).astype(str))
    )
    mine = dict(zip(frame["height"], rich, strict=True))
    shares = {}
    for mode in ("paper", "strict"):
        options = PARTIAL | {"mode": mode, "weights": "unweighted", "burn_in": 60}
        (table,) = synthesize(frame, options=options, sets=1, insecure_noise_seed=2).tables
        high = table["income"].cast(pl.Float64, strict=False).fill_null(0) > 50_000
        drawn = zip(table["height"], high, strict=True)
        shares[mode] = np.mean([mine[height] == one for height, one in drawn])
    assert shares["paper"] > 0.9
    assert abs(shares["strict"] - 0.5) < 5 * 0.5 / np.sqrt(N)


def test_it_needs_permission_before_rows_are_read():
    with pytest.raises(NotPrivateError, match="no differential privacy at the number of rows"):
        us.synthesize(object(), schema(), method="pseudo-posterior", epsilon=1)


# --- options ----------------------------------------------------------------------------------

WRONG = {
    "unknown column": ({"sensitive": "incme"}, "did you mean 'income'"),
    "column twice": ({"sensitive": "income, income"}, "twice"),
    "count of many": ({"weights": "count"}, "one numeric column"),
    "count of states": ({"sensitive": "sex", "weights": "count"}, "one numeric column"),
    "log": ({"sensitive": "income", "transform": "log"}, "'income' goes down to -7000"),
    "log, offset": (
        {"sensitive": "income", "transform": "log", "offset": 7_000},
        "offset above 7000",
    ),
    "offset": ({"offset": 1.0}, "transform=log"),
    "unit": ({"unit": 1.0, "transform": "log"}, "transform=asinh"),
    "bound": ({"bound": 1.0}, "weights=scalar"),
    "paper": ({"mode": "paper"}, "beside others"),
    "paper, normal": ({"mode": "paper", "sensitive": "income", "model": "normal"}, "mixture"),
    "paper, states": ({"mode": "paper", "sensitive": "sex"}, "numeric column"),
    "network": ({"network": "sex, age, height"}, "lacks the column 'income'"),
    "kept in a network": ({"sensitive": "income", "network": "age, income"}, "kept as it stands"),
    "late parent": ({"network": "age<-sex, sex, height, income"}, "before"),
    "no column": ({"network": "sx, age, height, income"}, "'sx', which is no column"),
    "raised": ({"weights": "unweighted", "reweight": 0.5}, "no weights to raise"),
    "quantile": ({"quantile": 0}, "quantile"),
    "intruder": ({"columns": "sex"}, "for count weights"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_before_rows_are_read(options, said):
    with pytest.raises(MethodError, match=said):
        synthesize(object(), options=options)


def test_a_private_number_of_rows_and_kept_columns_do_not_go_together():
    with pytest.raises(MethodError, match='rows = "public"'):
        synthesize(object(), of=schema(rows="private"))


def test_more_sets_than_draws_are_refused():
    with pytest.raises(MethodError, match="take more draws"):
        synthesize(options=PARTIAL | {"draws": 4, "model": "normal"}, sets=4)


def test_plans_say_what_is_published_and_how_long_it_takes():
    plan = us.plan(
        schema(), method="pseudo-posterior", epsilon=1, sets=5, options={"sensitive": "income"}
    )
    said = " ".join(plan.remarks)
    assert "not differentially private at any number of rows" in said
    assert "sex, age, height are published as they stand" in said
    assert "is a spike, a code" not in said  # given all of them, by a logit
    tables = {"sensitive": "income", "states": "table"}
    told = us.plan(schema(), method="pseudo-posterior", epsilon=1, options=tables).remarks
    alone = "Whether income is a spike, a code or another number is drawn given age, height alone"
    assert alone in " ".join(told)
    assert [one.query for one in plan.setup] == ["sex, age, height of every record"]
    assert [one.share for one in plan.tables] == [0]
    two = us.plan(
        schema(), method="pseudo-posterior", epsilon=1, sets=1, options={"sensitive": "income"}
    )
    assert plan.seconds < 1.1 * two.seconds  # chains are run once for all sets
    scalar = {"sensitive": "income", "weights": "scalar"}
    more = us.plan(schema(), method="pseudo-posterior", epsilon=1, options=scalar)
    assert more.seconds == pytest.approx(1.5 * two.seconds, rel=0.02)
    plain = us.plan(schema(), method="pseudo-posterior", epsilon=1, options=tables)
    assert 0.001 < two.seconds - plain.seconds < 0.5  # a logit of 400 records, twice


# --- the laws of columns ----------------------------------------------------------------------


def test_a_number_is_given_all_columns_before_it_and_a_table_the_last_ones():
    column_model = Modelling(regression=NormalLinear(), parents=1, states="table").sequence(
        schema()
    )
    assert column_model.columns == schema().names
    parents = {one.column: one.parents for one in column_model.column_models}
    assert parents == {
        "sex": (),
        "age": ("sex",),
        "height": ("sex", "age"),
        "income": ("sex", "age", "height"),
    }
    kinds = column_model.column_models[3].kinds
    assert kinds.parents == ("height",)


def kinds_of_models(column_model):
    """Column → class and parents of the law of its states or kinds."""
    whole = {
        one.column: one.kinds if isinstance(one, NumberModel) else one
        for one in column_model.column_models
    }
    return {name: one and (type(one), one.parents) for name, one in whole.items()}


def test_states_and_kinds_have_logits_on_all_columns_before_them_where_these_are_small():
    column_model = Modelling(regression=NormalLinear(), parents=1).sequence(schema())
    whole = {"sex": (StateTable, ()), "age": None, "height": None}
    whole["income"] = (StateLogit, ("sex", "age", "height"))
    assert kinds_of_models(column_model) == whole
    given = ("sex", "age", "height")
    for states, kind, parents in (
        ("auto", StateLogit, given),
        ("logit", StateLogit, given),
        ("table", StateTable, ("age", "height")),
    ):
        column_model = Modelling(regression=NormalLinear(), states=states).sequence(schema(), given)
        assert kinds_of_models(column_model) == {"income": (kind, parents)}
    network = ("height", "income<-height", "sex<-income", "age")
    column_model = Modelling(regression=NormalLinear(), network=network).sequence(schema())
    assert kinds_of_models(column_model)["income"] == (StateLogit, ("height",))
    assert kinds_of_models(column_model)["sex"] == (StateLogit, ("income",))


def test_a_logit_of_more_than_200_coefficients_gives_way_to_a_table():
    """Of 21 states given one of 10, or of 12: 200 or 240 coefficients."""
    levels = {"a": 10, "b": 21, "c": 12}
    lines = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[f"l{k}" for k in range(size)]}'
        for name, size in levels.items()
    ]
    of = Schema.loads("row_limit = 9\n" + "\n".join(lines))
    for network, kind in ((("a", "b<-a", "c"), StateLogit), (("c", "b<-c", "a"), StateTable)):
        column_model = Modelling(regression=NormalLinear(), network=network).sequence(of)
        assert kinds_of_models(column_model)["b"] == (kind, (network[0],))
    forced = Modelling(regression=NormalLinear(), states="logit")
    with pytest.raises(MethodError, match=r"logit of 'c' given 'a', 'b'.*states=table"):
        forced.sequence(of)


def test_the_share_of_a_spike_goes_with_predictors_that_a_table_would_not_have():
    """Women have no income, in 400 records; by `parents=1` a table would know the height alone."""
    frame = people().with_columns(
        income=pl.when(pl.col("sex") == "f").then(pl.lit("0")).otherwise(pl.col("income"))
    )
    gaps = {}
    for states in ("auto", "table"):
        how = {"weights": "unweighted", "model": "normal", "parents": 1}
        options = PARTIAL | how | {"states": states}
        (table,) = synthesize(frame, options=options, sets=1, insecure_noise_seed=5).tables
        zero = table["income"].cast(pl.Float64, strict=False).fill_null(1) == 0
        women = table["sex"] == "f"
        gaps[states] = zero.filter(women).mean() - zero.filter(~women).mean()
    assert gaps["auto"] > 0.6
    assert abs(gaps["table"]) < 5 / np.sqrt(N)


def test_a_network_says_the_parents():
    network = ("income", "age<-income", "sex<-age & income", "height")
    column_model = Modelling(regression=NormalLinear(), network=network).sequence(schema())
    assert column_model.columns == ("income", "age", "sex", "height")
    assert [one.parents for one in column_model.column_models] == [
        (),
        ("income",),
        ("age", "income"),
        (),
    ]
    partial = Modelling(regression=NormalLinear(), network=("income<-sex",))
    assert partial.sequence(schema(), ("sex", "age", "height")).column_models[0].parents == ("sex",)


def test_many_columns_are_left_out_of_tables_and_regressions_the_farthest_first():
    wide = "\n".join(
        f'[columns.c{k}]\nkind = "categorical"\nlevels = {[f"l{j}" for j in range(30)]}'
        for k in range(5)
    )
    of = Schema.loads(f'row_limit = 9\n{wide}\n[columns.y]\nkind = "integer"\nlower = 0\nupper = 9')
    column_model = Modelling(regression=NormalLinear(), parents=5).sequence(of)
    assert column_model.column_models[4].parents == ("c3",)  # 30³ probabilities are too many
    assert column_model.column_models[5].parents == ("c3", "c4")
    assert len(Features.of(of, column_model.column_models[5].parents).names) <= MOST_FEATURES


def test_the_table_of_methods_says_that_nothing_is_promised():
    method = configure("pseudo-posterior", {})
    assert not method.private
    assert "none at a finite number of rows" in method.facts.guarantee
    assert method.inference_facts(schema()).modelled == ("age", "height", "income")
    partial = configure("pseudo-posterior", {"sensitive": "income"})
    assert partial.inference_facts(schema()).modelled == ("income",)


# --- inference --------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["vector", "unweighted"])
def test_no_error_bars_for_what_was_drawn(weights):
    release = synthesize(options=PARTIAL | {"weights": weights}, sets=3)
    for columns in ("income", "income ~ age"):
        kind = "ols" if "~" in columns else "mean"
        with pytest.raises(InferenceError, match="some may weigh less"):
            us.analyze(release, kind, columns)


def test_columns_that_are_kept_have_their_own_error_bars(partial):
    """All sets are alike in them: b = 0, and T = ū is what the rows themselves would give."""
    found = us.analyze(partial, "mean", "age")
    ages = people()["age"].to_numpy()
    row = found.to_frame().iloc[0]
    assert row["estimate"] == pytest.approx(ages.mean())
    assert row["stderr"] == pytest.approx(ages.std(ddof=1) / np.sqrt(N), rel=1e-2)
