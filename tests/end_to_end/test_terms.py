"""Questions with terms, declared, bought, answered, and read by both readers."""

import json

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy_verify import verify

COLUMNS = "\n".join(
    [
        column("w", "continuous", lower=0.0, upper=4.0, bins=4),
        column("income", "continuous", lower=1.0, upper=100.0, bins=10),
        column("age", "integer", lower=20, upper=79, bins=6),
        column("sex", "categorical", levels=["f", "m"]),
    ]
)
HEAD = 'rows = "public"\nn_rows = 4000\n'
DESIGN = '[design]\nweight = "w"\n'
ASKED = (
    "ols log(income) ~ age + sex",
    "ols income ~ age + I(age**2) + sex:age where age >= 30",
    "std log(income)",
    "correlation log(income) + age where sex == 'f'",
)


def rows():
    rng = np.random.default_rng(4)
    age, man = rng.integers(20, 80, 4_000), rng.random(4_000) < 0.5
    income = np.exp(
        2 + 0.02 * age + 0.3 * man - 0.0001 * (age - 50) ** 2 + rng.normal(0, 0.4, 4_000)
    )
    w = np.where(man, 1.0, 3.0)
    sex = np.where(man, "m", "f")
    return pl.DataFrame({"w": w, "income": np.clip(income, 1, 100), "age": age, "sex": sex})


HOW = {"delta": "1e-6", "method": "independent"}


def release_of(head, analyses=ASKED, **more):
    how = {**HOW, "insecure_noise_seed": 3, "epsilon": 20}
    return us.synthesize(rows(), Schema.loads(head + COLUMNS), analyses=analyses, **how | more)


@pytest.fixture(scope="module")
def release():
    return release_of(HEAD)


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    place = tmp_path_factory.mktemp("terms") / "release"
    release.save(place)
    return place


def fit(outcome, weights, *design):
    x = np.column_stack([np.ones(len(outcome)), *design])
    return np.linalg.solve(x.T @ (x * weights[:, None]), x.T @ (outcome * weights))


def test_declared_terms_are_answered_about_the_rows(release):
    own = rows().to_pandas()
    own["income"] = np.clip(own["income"], *limits_of(release)["income"])
    man = (own["sex"] == "m").to_numpy(dtype=float)
    first = us.analyze(release, "ols", "log(income) ~ age + sex")
    assert first.valid
    truth = dict(
        zip(
            ("Intercept", "age", "sex[T.m]"),
            fit(np.log(own["income"]), one(own), own["age"], man),
            strict=True,
        )
    )
    for name, estimate, error in zip(
        first.pooled.names, first.pooled.estimate, first.pooled.stderr, strict=True
    ):
        assert abs(estimate - truth[name]) < 4 * error
    spread = us.analyze(release, "std", "log(income)")
    assert spread.pooled.estimate[0] == pytest.approx(np.log(own["income"]).std(), rel=0.05)
    women = own[own["sex"] == "f"]
    asked = us.analyze(release, "correlation", "log(income) + age", where="sex == 'f'")
    low, high = asked.pooled.interval()
    assert low[0] < np.corrcoef(np.log(women["income"]), women["age"])[0, 1] < high[0]
    with pytest.raises(us.UnderstudyError, match="sex == 'm'") as refused:
        us.analyze(release, "correlation", "log(income) + age", where="sex == 'm'")
    assert "--analysis" in str(refused.value)  # what would have bought it
    older = us.analyze(release, "ols", "income ~ age + I(age**2) + sex:age", where="age >= 30")
    assert older.valid
    assert len(older.pooled.names) == 4
    with pytest.raises(us.UnderstudyError):  # of other records nothing was bought
        us.analyze(release, "ols", "income ~ age + I(age**2) + sex:age", where="age >= 40")


def one(frame):
    return np.ones(len(frame))


def limits_of(release):
    found = [measured.limits for measured in release.measurements if measured.kind is Kind.TERMS]
    assert found
    return {"income": (1.0, 100.0)} | found[0]


def test_both_readers_accept_what_was_measured_and_see_a_change(folder, release, tmp_path):
    again = us.Release.load(folder)
    kept = [one for one in again.measurements if one.kind is Kind.TERMS]
    assert [one.terms for one in kept] == [
        one.terms for one in release.measurements if one.kind is Kind.TERMS
    ]
    assert ({"age": tuple(range(1, 6))},) in [one.among for one in kept]
    asked = ("ols", "log(income) ~ age + sex")
    same = us.analyze(again, *asked).pooled.estimate
    assert same.tolist() == us.analyze(release, *asked).pooled.estimate.tolist()
    assert {state for _, state, _ in verify(folder)} <= {"ok", "not checked"}
    manifest = folder / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    data = json.loads(text)
    changed = next(
        one for one in data["measurements"] if one["kind"] == "terms" and one.get("among")
    )
    changed["among"] = {"age": [0]}
    try:
        manifest.write_text(json.dumps(data), encoding="utf-8")
        assert "broken" in {state for _, state, _ in verify(folder)}
        with pytest.raises(us.UnderstudyError):
            us.Release.load(folder)
    finally:
        manifest.write_text(text, encoding="utf-8")


def test_plan_says_how_wide_and_refuses_what_cannot_be_bought():
    schema = Schema.loads(HEAD + COLUMNS)
    plan = us.plan(schema, **HOW, epsilon=20, analyses=ASKED[:1])
    widths = {(one.analysis, one.name): one.half_width for one in plan.expected}
    assert widths[ASKED[0], "age"] > 0
    assert not any(one.refused for one in plan.expected)
    with pytest.raises(InferenceError, match=r"declare one above 0"):
        us.plan(
            Schema.loads(HEAD + COLUMNS.replace("lower = 1.0", "lower = 0.0")),
            epsilon=1,
            analyses=ASKED[:1],
        )


@pytest.mark.nightly
def test_records_with_weights_have_weighted_terms():
    asked = "ols log(income) ~ age * sex"
    made = release_of(HEAD + DESIGN, (asked,))
    own = rows().to_pandas()
    own["income"] = np.clip(own["income"], *limits_of(made)["income"])
    man = (own["sex"] == "m").to_numpy(dtype=float)
    found = us.analyze(made, *asked.split(" ", 1))
    assert any(note.startswith("Weighted by w") for note in found.notes)
    truth = fit(np.log(own["income"]), own["w"].to_numpy(), own["age"], man, own["age"] * man)
    named = dict(zip(("Intercept", "age", "sex[T.m]", "age:sex[T.m]"), truth, strict=True))
    for name, estimate, error in zip(
        found.pooled.names, found.pooled.estimate, found.pooled.stderr, strict=True
    ):
        assert abs(estimate - named[name]) < 4 * error


TABLE = "table age + sex + income"


@pytest.mark.nightly
def test_a_declared_table_of_three_columns_is_counted_beside_the_sets(tmp_path):
    made = release_of(HEAD, (TABLE,))
    counted = [one for one in made.measurements if one.columns == ("income", "age", "sex")]
    assert [one.beside for one in counted] == [True]
    assert not any(one in made.behind_sets for one in counted)
    found = us.analyze(made, "table", "age + sex + income")
    assert found.valid
    own = rows()
    second = own["income"].is_between(10.9, 20.8)
    share = ((own["sex"] == "m") & (own["age"] < 30) & second).mean()
    place = (0 * 2 + 1) * 10 + 1  # the first bin of age, men, the second of income
    assert abs(found.pooled.estimate[place] - share) < 5 * counted[0].stddev / 4_000
    made.save(tmp_path / "release")
    assert {state for _, state, _ in verify(tmp_path / "release")} <= {"ok", "not checked"}
    again = us.Release.load(tmp_path / "release")
    assert [one.beside for one in again.measurements] == [one.beside for one in made.measurements]


def test_plan_says_how_wide_cells_are_and_refuses_a_table_of_too_many():
    plan = us.plan(Schema.loads(HEAD + COLUMNS), **HOW, epsilon=1, analyses=[TABLE])
    assert len(plan.expected) == 6 * 2 * 10
    assert all(0 < one.noise < 0.1 for one in plan.expected)
    many = COLUMNS.replace("bins = 10", "bins = 1000")
    with pytest.raises(InferenceError, match="income: it has 1,000, and 83 at most would fit"):
        us.plan(Schema.loads(HEAD + many), epsilon=1, analyses=[TABLE])
    with pytest.raises(us.UnderstudyError, match="age has none: declare some, such as bins = 8"):
        us.plan(Schema.loads(HEAD + COLUMNS.replace("bins = 6", "")), epsilon=1, analyses=[TABLE])


def test_a_declared_quantile_by_group_is_counted_beside_the_sets():
    asked = "median income ~ sex"
    plan = us.plan(Schema.loads(HEAD + COLUMNS), **HOW, epsilon=1, analyses=[asked])
    assert len(plan.expected) == 2
    made = release_of(HEAD, (asked,))
    found = us.analyze(made, "median", "income ~ sex")
    assert found.valid
    low, high = found.pooled.interval()
    for place, sex in enumerate(("f", "m")):
        truth = rows().filter(pl.col("sex") == sex)["income"].median()
        assert low[place] <= truth <= high[place]
        assert (high - low)[place] < 25  # of a range of 99: two bins or three


def test_a_declared_mean_among_numbers_is_bought_in_bins_that_tell_it():
    schema = Schema.loads(HEAD + COLUMNS)
    edge = schema.columns["age"].intervals[2].low
    asked = f"income where age >= {edge:g}"
    found = us.analyze(release_of(HEAD, (f"mean {asked}",)), "mean", asked)
    truth = rows().filter(pl.col("age") >= edge)["income"].mean()
    low, high = found.pooled.interval()
    assert found.valid
    assert low[0] <= truth <= high[0]
    with pytest.raises(InferenceError, match="One begins at"):  # the steward wrote six bins
        us.plan(schema, epsilon=1, analyses=[f"mean income where age >= {edge + 1:g}"])


USUAL = "\n".join(
    [
        column("age", "integer", lower=0, upper=99),
        column("pay", "continuous", lower=0.0, upper=500.0),
        column("sex", "categorical", levels=["f", "m"]),
    ]
)


def staff():
    rng = np.random.default_rng(8)
    age = np.clip(rng.normal(50, 18, 4_000).round(), 0, 99).astype(int)
    pay = np.clip(rng.gamma(3, 30, 4_000) + age, 0, 500)
    return pl.DataFrame({"age": age, "pay": pay, "sex": rng.choice(["f", "m"], 4_000)})


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    """A release that declares conditions which no default bin tells."""
    asked = ["mean pay where age >= 63", "std pay where age < 32", "mean age where pay < 99.5"]
    how = {"delta": "1e-6", "epsilon": 4, "insecure_noise_seed": 5, "method": "independent"}
    made = us.synthesize(staff(), Schema.loads(HEAD + USUAL), analyses=asked, **how)
    place = tmp_path_factory.mktemp("aged") / "release"
    made.save(place)
    return place


def test_a_declared_condition_brings_its_own_bins(aged):
    schema = Schema.loads(HEAD + USUAL)
    plan = us.plan(schema, **HOW, epsilon=4, analyses=["mean pay where age >= 63"])
    assert "Declared conditions begin bins of age at 63." in plan.remarks
    assert not any(one.refused for one in plan.expected)
    release, own = us.Release.load(aged), staff()
    starts = {one.low for one in release.schema.columns["age"].intervals}
    assert {32.0, 63.0} <= starts
    assert len(starts) > 30  # fine bins, as without a condition
    for kind, formula, some, number in [
        ("mean", "pay where age >= 63", own["age"] >= 63, "pay"),
        ("std", "pay where age < 32", own["age"] < 32, "pay"),
        ("mean", "age where pay < 99.5", own["pay"] < 99.5, "age"),
    ]:
        found = us.analyze(release, kind, formula)
        truth = getattr(own.filter(some)[number], kind)()
        low, high = found.pooled.interval()
        assert found.valid
        assert low[0] <= truth <= high[0]
        assert high[0] - low[0] < 30


def test_both_readers_know_the_bins_of_a_condition(aged):
    verify(aged)
    ledger = json.loads((aged / "manifest.json").read_text())["ledger"]
    asked = " ".join(str(entry["query"]) for entry in ledger)
    assert "of records with age = 63 to 99" in asked
    assert "of records with pay = [0, 99.5)" in asked


def test_a_condition_that_a_release_does_not_tell_is_advised_and_then_answered():
    schema = Schema.loads(HEAD + USUAL)
    how = {"delta": "1e-6", "epsilon": 4, "insecure_noise_seed": 5, "method": "independent"}
    coarse = us.synthesize(staff(), schema, **how)
    with pytest.raises(us.UnderstudyError) as refused:
        us.analyze(coarse, "mean", "age where pay < 99.37")
    advice = refused.value.advice
    assert refused.value.code == "not-told"
    assert not advice.cuts
    assert "begins" not in advice.text
    again = how | {"epsilon": advice.epsilon, "delta": advice.delta, "insecure_noise_seed": 6}
    made = us.synthesize(staff(), schema, analyses=[advice.analysis], **again)
    low, high = us.analyze(made, "mean", "age where pay < 99.37").pooled.interval()
    assert 0.3 < (high[0] - low[0]) / 2 / advice.half_width < 3


@pytest.mark.nightly
def test_a_quantile_by_group_is_advised_to_be_declared_and_then_answered(tmp_path):
    """Of a number without declared bins: its table has bins that its fine histogram tells."""
    schema, asked = Schema.loads(HEAD + USUAL), "pay ~ sex where age >= 33"
    how = {"delta": "1e-6", "insecure_noise_seed": 5, "method": "independent"}
    plain = us.synthesize(staff(), schema, epsilon=2, **how)
    with pytest.raises(us.UnderstudyError) as refused:
        us.analyze(plain, "quantile", asked, probability=0.25)
    advice = refused.value.advice
    assert advice.kind == "declare"
    assert f'--analysis "quantile 0.25 {asked}" (expected ± ' in advice.text
    analysis = {"analyses": [advice.analysis], "epsilon": advice.epsilon}
    made = us.synthesize(staff(), schema, **how, **analysis)
    made.save(tmp_path / "release")
    verify(tmp_path / "release")
    release = us.Release.load(tmp_path / "release")
    assert len(release.schema.columns["pay"].intervals) > 30
    found = us.analyze(release, "quantile", asked, probability=0.25)
    low, high = found.pooled.interval()
    own = staff().filter(pl.col("age") >= 33).group_by("sex").agg(pl.col("pay").quantile(0.25))
    truth = own.sort("sex")["pay"].to_numpy()
    assert found.valid
    assert ((low <= truth) & (truth <= high)).all()
    assert 0.3 < np.median(high - low) / 2 / advice.half_width < 3
    (table,) = [one for one in release.measurements if len(one.columns) == 3]
    edges = np.array(table.bins["pay"])
    assert 20 < len(edges) <= 41  # by the line, with about as many records in each
    filled = np.histogram(staff()["pay"], edges)[0]
    assert np.quantile(filled, 0.9) < 3 * np.median(filled)
    plan = us.plan(schema, **HOW, epsilon=advice.epsilon, analyses=[advice.analysis])
    assert {one.name.rpartition("of ")[2] for one in plan.expected} == {
        name.rpartition("of ")[2] for name in found.pooled.names
    }


def test_declared_bins_are_not_cut_and_an_amendment_cuts_none(tmp_path):
    declared = USUAL.replace("lower = 0\nupper = 99", "lower = 0\nupper = 99\nbins = 10")
    assert declared != USUAL
    asked = ["mean pay where age >= 63"]
    with pytest.raises(InferenceError, match="One begins at 60"):
        us.plan(Schema.loads(HEAD + declared), epsilon=1, delta="1e-6", analyses=asked)
    with pytest.raises(InferenceError, match="No declared values of age"):
        us.plan(Schema.loads(HEAD + USUAL), epsilon=1, analyses=["mean pay where age > 200"])
    made = us.synthesize(staff(), Schema.loads(HEAD + USUAL), epsilon=1, method="independent")
    made.save(tmp_path / "release")
    question = {"analyses": [{"kind": "mean", "formula": "age", "where": "pay < 99.37"}]}
    with pytest.raises(InferenceError, match="An amendment keeps the bins of its release"):
        us.answer(question, staff(), tmp_path / "release", epsilon="0.5")


def test_a_condition_is_refused_in_words_where_default_bins_would_not_fit():
    """Spikes fill the first of twenty bins, so the publisher declared others."""
    edges = [0, 8, *range(10, 99, 4), 100]
    number = column("n", "integer", lower=0, upper=100, bins=edges, spikes=[0, 1, 2, 3, 4, 5])
    schema = Schema.loads(HEAD + number + column("pay", "continuous", lower=0.0, upper=9.0))
    rng = np.random.default_rng(1)
    drawn = pl.DataFrame({"n": rng.integers(0, 101, 4_000), "pay": rng.uniform(0, 9, 4_000)})
    made = us.synthesize(drawn, schema, epsilon=1, delta="1e-6", method="independent")
    with pytest.raises(InferenceError, match="never measured together") as refused:
        us.analyze(made, "mean", "pay where n >= 14")
    assert "--analysis" in str(refused.value)


def test_a_regression_alone_takes_products():
    found = us.regress(
        rows(),
        Schema.loads(HEAD + COLUMNS),
        "income ~ age * sex",
        epsilon=20,
        delta="1e-6",
        insecure_noise_seed=3,
    )
    assert not found.refused
    assert found.ledger[0]["mechanism"] == "noisy term moments"
