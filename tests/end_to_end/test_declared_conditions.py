"""Declared questions about records that meet a condition on a number: bought, answered, refused."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.moment_answers import answer_of_terms
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.term_moments import TermMatrix, needed_terms
from understudy.mechanisms.second_moments import TermMoments
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.gates import open_gate
from understudy_verify import verify

N = 4_000
HEAD = f'rows = "public"\nn_rows = {N}\n'
COLUMNS = [
    column("age", "integer", lower=0, upper=99),
    column("pay", "integer", lower=0, upper=500, bins=[0, 50, 100, 150, 200, 300, 500]),
    column("sex", "categorical", levels=["f", "m"]),
    column("works", "boolean"),
    column("region", "categorical", levels=["a", "b", "c"]),
]
SCHEMA = Schema.loads(HEAD + "".join(COLUMNS))
HOW = {"delta": "1e-6", "method": "independent"}
OLD = "age >= 63"
ASKED = (
    f"odds-ratio works + sex where {OLD}",
    f"independence region + {{{OLD}}}",
    f"proportion works ~ sex where {OLD}",
    "count pay > 90 ~ region where works",
    f"total pay ~ sex where {OLD}",
    f"median pay where {OLD}",
    "mean pay where sex == 'f' or region == 'a'",
    f"total pay where {OLD} or works == 0",
)


def rows():
    rng = np.random.default_rng(8)
    age = np.clip(rng.normal(50, 18, N).round(), 0, 99).astype(int)
    works = rng.random(N) < np.where(age < 63, 0.7, 0.3)
    return pl.DataFrame(
        {
            "age": age,
            "pay": np.clip(rng.gamma(3, 30, N) * (0.5 + works), 0, 500).round().astype(int),
            "sex": np.where(rng.random(N) < 0.4 + 0.2 * works, "m", "f"),
            "works": works,
            "region": rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2]),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    release = us.synthesize(
        rows(), SCHEMA, epsilon=4, analyses=ASKED, insecure_noise_seed=5, assume_rows=N, **HOW
    )
    place = tmp_path_factory.mktemp("conditions") / "release"
    release.save(place)
    verify(place)
    return us.Release.load(place)


@pytest.fixture(scope="module")
def planned():
    return us.plan(SCHEMA, epsilon=4, analyses=ASKED, assume_rows=N, **HOW).expected


def of_the_rows(question):
    """The numbers that the rows have, in the order of an answer."""
    own = rows()
    old = own.filter(pl.col("age") >= 63)
    if question.startswith("odds-ratio"):
        counts = old.group_by("works", "sex").len().sort("works", "sex")["len"].to_numpy()
        ratio = counts[0] * counts[3] / (counts[1] * counts[2])
        return np.array([ratio, np.log(ratio)])
    if question.startswith("independence"):
        aged = own.with_columns(old=pl.col("age") >= 63)
        cells = aged.group_by("region", "old").len().sort("region", "old")["len"].to_numpy()
        shares = cells.reshape(3, 2) / N
        return (shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))).reshape(-1)
    if question.startswith("proportion"):
        true = old.group_by("sex").agg(pl.col("works").mean()).sort("sex")["works"].to_numpy()
        return np.column_stack([1 - true, true]).reshape(-1)
    if question.startswith("count"):
        paid = own.filter(pl.col("works")).with_columns(pl.col("pay") > 90)
        return paid.group_by("region").agg(pl.col("pay").sum()).sort("region")["pay"].to_numpy()
    if question.startswith("mean"):
        return np.array(
            [own.filter((pl.col("sex") == "f") | (pl.col("region") == "a"))["pay"].mean()]
        )
    if question.endswith("or works == 0"):
        return np.array([own.filter((pl.col("age") >= 63) | ~pl.col("works"))["pay"].sum()])
    if question.startswith("total"):
        return old.group_by("sex").agg(pl.col("pay").sum()).sort("sex")["pay"].to_numpy()
    return np.array([old["pay"].median()])


@pytest.mark.parametrize("question", ASKED)
def test_what_was_declared_is_answered_near_the_rows_and_as_planned(made, planned, question):
    """Noise beyond four standard deviations is a false alarm in 6e-5 of numbers."""
    kind, _, formula = question.partition(" ")
    found, truth = us.analyze(made, kind, formula), of_the_rows(question)
    pooled = found.pooled
    assert found.valid
    lower, upper = pooled.interval()
    if kind == "median":
        assert lower[0] <= truth[0] <= upper[0]
        assert upper[0] - lower[0] <= 100  # of a range of 500: two bins
        return
    own = np.isfinite(np.diag(pooled.covariance))
    noise = np.sqrt(np.diag(pooled.covariance) * pooled.synthesis_share)[own]
    assert (np.abs(pooled.estimate[own] - truth) < 4 * noise).all()
    sampling = np.sqrt(np.diag(pooled.covariance) * (1 - pooled.synthesis_share))[own]
    if kind not in {"total", "count"}:
        assert (noise < sampling).all()  # as wide as the rows' own, times less than √2
    expected = [one.noise for one in planned if one.analysis == question]
    assert len(expected) == own.sum()
    assert 0.25 < np.median(expected) / np.median(1.96 * noise) < 4


def test_tables_have_no_more_cells_than_a_condition_tells_apart(made):
    """Two bins of age, whatever bins the release has; those of the number stay the schema's."""
    tables = {
        one.columns: len(one.codes)
        for one in made.measurements
        if one.kind is Kind.TABLE and one.beside
    }
    assert tables == {
        ("age", "sex", "works"): 2 * 2 * 2,
        ("age", "region"): 2 * 3,
        ("pay", "works", "region"): 2 * 2 * 3,
        ("age", "pay"): 2 * 6,
    }
    assert len(made.schema.columns["age"].intervals) > 30


def test_a_table_in_its_own_bins_answers_whatever_it_tells(made):
    """Among others the bins that were declared do not begin at 90."""
    share = us.analyze(made, "proportion", "pay > 90 ~ works")
    paid = rows().with_columns(pl.col("pay") > 90)
    truth = paid.group_by("works").agg(pl.col("pay").mean()).sort("works")["pay"].to_numpy()
    lower, upper = share.pooled.interval()
    assert ((lower <= truth) & (truth <= upper)).all()
    with pytest.raises(us.UnderstudyError, match="never measured together") as refused:
        us.analyze(made, "proportion", "pay > 91 ~ works")
    assert refused.value.advice.analysis == "proportion pay > 91 ~ works"
    assert not refused.value.advice.cuts


def test_a_quantile_names_its_probability_wherever_it_is_asked(made):
    named = f"0.9 pay where {OLD}"
    (planned,) = us.plan(
        SCHEMA, epsilon=4, analyses=[f"quantile {named}"], assume_rows=N, **HOW
    ).expected
    assert planned.name == "90 % quantile of pay"
    found = us.analyze(made, "quantile", named)
    beside = us.analyze(made, "quantile", f"pay where {OLD}", probability=0.9)
    assert found.pooled.interval() == beside.pooled.interval()
    lower, upper = found.pooled.interval()
    old = rows().filter(pl.col("age") >= 63)
    assert lower[0] <= old["pay"].quantile(0.9) <= upper[0]
    with pytest.raises(InferenceError, match="leave one of them out"):
        us.analyze(made, "quantile", named, probability=0.8)


@pytest.mark.parametrize("decimals", [{"decimals": 1}, {}])
def test_above_a_number_is_told_from_at_least_that_number(decimals):
    """Of real numbers many lie at the very border; 95 % intervals, the seed has no false alarm."""
    rng = np.random.default_rng(1)
    km = rng.choice([4.9, 5.0, 5.1, 10.0], N)
    works = rng.random(N) < np.where(km > 5, 0.9, 0.2)
    kept = column("km", "continuous", lower=0, upper=60, **decimals)
    schema = Schema.loads(HEAD + kept + column("works", "boolean"))
    asked = ["proportion works where km > 5", "proportion works where 4.9 < km <= 5"]
    release = us.synthesize(
        pl.DataFrame({"km": km, "works": works}),
        schema,
        epsilon=4,
        analyses=asked,
        insecure_noise_seed=3,
        **HOW,
    )
    for question, meets in zip(asked, (km > 5, km == 5), strict=True):
        lower, upper = us.analyze(release, *question.split(" ", 1)).pooled.interval()
        assert lower[1] <= works[meets].mean() <= upper[1]
        assert upper[1] - lower[1] < 0.1


def test_advice_for_some_of_the_records_is_known_to_work(made):
    asked = "works + sex where age < 40"
    with pytest.raises(us.UnderstudyError) as refused:
        us.analyze(made, "odds-ratio", asked)
    advice = refused.value.advice
    again = us.synthesize(
        rows(),
        SCHEMA,
        epsilon=advice.epsilon,
        analyses=[advice.analysis],
        insecure_noise_seed=6,
        **HOW,
    )
    pooled = us.analyze(again, "odds-ratio", asked).pooled
    lower, upper = pooled.interval()
    assert 0.3 < np.median(upper - lower) / 2 / advice.half_width < 3


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("proportion works where age > pay", "bins of age, pay do not tell"),
        ("proportion works where age > 120", "No declared values of age"),
        ("median pay where pay > 91", "bins of pay do not tell"),
        ("odds-ratio works + {pay >= 100} where sex", "such as \"sex == 'f'\""),
        ("odds-ratio works + sex where works", "the condition 'works' forbid"),
    ],
)
def test_what_no_table_tells_is_refused_before_anything_is_spent(question, words):
    with pytest.raises(InferenceError, match=words):
        us.plan(SCHEMA, epsilon=4, analyses=[question], **HOW)


def test_a_half_that_noise_hides_leaves_the_other_its_answer():
    asked = "std pay ~ {age >= 98}"
    made = us.synthesize(rows(), SCHEMA, epsilon=1, analyses=[asked], insecure_noise_seed=5, **HOW)
    found = us.analyze(made, "std", "pay ~ {age >= 98}")
    pooled = found.pooled
    lower, upper = pooled.interval()
    assert np.isnan([pooled.estimate[0], lower[0], upper[0]]).all()
    truth = rows().filter(pl.col("age") < 98)["pay"].clip(*found.cut_off["pay"]).std()
    assert lower[1] <= truth <= upper[1]
    assert any("age >= 98) are too small" in note for note in pooled.notes)


@pytest.mark.nightly
def test_a_total_has_the_noise_that_it_says():
    """Of 300 errors the mean of squares has sd 0.08, and the mean 0.06: false alarms below 1e-4."""
    asked = "pay ~ sex where works"
    estimand = parse("total", asked, SCHEMA)
    needed = needed_terms(estimand, SCHEMA)
    moments = TermMoments(needed.terms, among=needed.among)
    budget, own = Budget.of(2_000, "1e-6"), rows()
    gate = open_gate(Table(own, SCHEMA), budget, SeededRandomness(3))
    records = [Records.complete_of(own, SCHEMA, estimand.columns)]
    paid = own.filter(pl.col("works")).group_by("sex").agg(pl.col("pay").sum()).sort("sex")
    z = []
    for _ in range(150):
        released = gate.ask(moments, spend=budget.amount / 200)
        scores, stddev = moments.scores(SCHEMA), released.noise.stddev
        matrix = TermMatrix.of(scores, SCHEMA, released.value.values, stddev)
        pooled = answer_of_terms(estimand, matrix, SCHEMA, records).pooled
        z.append((pooled.estimate - paid["pay"].to_numpy()) / pooled.stderr)
    assert abs(np.mean(np.square(z)) - 1) < 0.35
    assert abs(np.mean(z)) < 0.25
