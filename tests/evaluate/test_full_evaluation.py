"""Whole evaluations: of copies, of noise, of small and broken tables."""

import json
from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.demo import demo_data, demo_schema
from understudy.dp.confidential import Internal
from understudy.errors import DataError, MethodError, ReleaseError
from understudy.evaluate import evaluate as evaluate_module
from understudy.evaluate import propensity
from understudy.evaluate.scores import Evaluation

MODELS = ("logistic, main effects", "logistic, with pairs", "CART")


def bootstrap(rows, rng):
    chosen = rng.integers(0, len(rows[0]), len(rows[0]))
    return [codes[chosen] for codes in rows]


def independent(rows, rng):
    return [rng.permutation(codes) for codes in rows]


@pytest.fixture(scope="module")
def seen():
    return {}


@pytest.fixture
def demo(release_of, seen):
    """Evaluations of two sets made of the demonstration's rows, each computed once."""

    def evaluate(change):
        if change not in seen:
            data, schema = demo_data(), demo_schema()
            release = release_of(data, schema, change, sets=2)
            seen[change] = us.evaluate(data, release, by="religious").value
        return {score.name: score for score in seen[change].scores}, seen[change]

    return evaluate


@pytest.mark.nightly
def test_a_bootstrap_copy_cannot_be_told_from_the_original(demo):
    """It has the null of sets that were fitted to the original: for equal sizes half the mean of
    pMSE, and less SPECKS, than a fresh sample has. One seed; 5 sd of that null (6e-7 normal)."""
    scores, _ = demo(bootstrap)
    for model in MODELS[:2]:
        score = scores[f"pMSE, {model}"]
        assert score.value == pytest.approx(score.null / 2, abs=5 * score.null_sd / 2)
    for model in MODELS:
        assert scores[f"pMSE, {model}"].value < scores[f"pMSE, {model}"].null
        assert scores[f"SPECKS, {model}"].standardised < 2
    for order in ("1-way", "2-way", "3-way (all triples)"):
        assert scores[f"total variation, {order}"].ratio == pytest.approx(0.72, abs=0.15)
    assert scores["confidence-interval overlap"].value > 0.7
    assert scores["χ² decisions agreeing at 0.05"].value > 0.9


@pytest.mark.nightly
def test_a_fresh_sample_is_at_its_null(release_of):
    """Two random halves. One seed; 5 sd (6e-7 normal), permutation nulls the same."""
    data = demo_data().sample(2000, random_state=3)
    half = len(data) // 2
    other = Table(data.iloc[half:], demo_schema()).code_rows().expose()
    release = release_of(data.iloc[:half], demo_schema(), lambda _rows, _rng: other)
    scores = {s.name: s for s in us.evaluate(data.iloc[:half], release).value.scores}
    for model in MODELS:
        assert abs(scores[f"pMSE, {model}"].standardised) < 5
        assert abs(scores[f"SPECKS, {model}"].standardised) < 5
    for order in ("1-way", "2-way", "3-way (all triples)"):
        assert scores[f"total variation, {order}"].ratio == pytest.approx(1, abs=0.3)


@pytest.mark.nightly
def test_independently_permuted_columns_are_told_apart(demo):
    scores, _ = demo(independent)
    for model in MODELS[1:]:
        assert scores[f"pMSE, {model}"].standardised > 20
        assert scores[f"SPECKS, {model}"].standardised > 10
    assert scores["total variation, 1-way"].value == 0
    assert scores["total variation, 2-way"].ratio > 2
    assert scores["difference of correlation"].value > 0.1
    assert scores["χ² decisions agreeing at 0.05"].value < 0.5


def test_everything_is_found_and_is_plain_data(evaluation):
    found = evaluation
    assert isinstance(found, Evaluation)
    assert (found.n_original, found.sets) == (600, 2)
    assert found.n_synthetic == pytest.approx(600, abs=50)
    assert len(found.marginals) == 6
    assert len(found.pairs) == 15
    assert set(found.propensity) == set(MODELS)
    for grid, *distributions in found.propensity.values():
        assert all(len(distribution) == len(grid) for distribution in distributions)
        assert all(distribution[-1] == pytest.approx(1) for distribution in distributions)
        assert all(np.diff(distribution).min() >= 0 for distribution in distributions)
    assert sum(map(sum, found.agreement)) == 15
    assert {c.model for c in found.coefficients} == {
        f"{name} ~ other columns (ols)" for name in ("affairs", "rate_marriage", "age")
    }
    assert [g.label for g in found.subgroups] == ["1", "2", "3", "4"]
    assert "internal" in json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.nightly
def test_the_same_seed_gives_the_same_result(compare, schema, release_of, draw):
    release = release_of(frame(draw, schema), schema, bootstrap, sets=2)
    data = frame(draw, schema)
    one, two = (us.evaluate(data, release, seed=3).value for _ in range(2))
    np.testing.assert_equal(asdict(one), asdict(two))  # for which nan is nan
    other = us.evaluate(data, release, seed=4).value
    assert other.scores != one.scores
    assert other.marginals == one.marginals


def frame(draw, schema, n=300, seed=9):
    from understudy.release.decoding import decode

    inside = [np.minimum(c, s - 1) for c, s in zip(draw(n, seed), schema.sizes, strict=True)]
    return decode(inside, schema, np.random.default_rng(seed))


@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.nightly
def test_tiny_tables(draw, schema, release_of, n):
    data = frame(draw, schema, n)
    found = us.evaluate(data, release_of(data, schema, bootstrap, sets=2), by="city").value
    json.dumps(found.to_json(), allow_nan=False)
    assert found.warnings


def test_one_column(release_of):
    schema = us.Schema.loads('[columns.x]\nkind = "boolean"\nsource = "codebook"\nreviewed = true')
    data = pl.DataFrame({"x": [True, False] * 50})
    found = us.evaluate(data, release_of(data, schema, bootstrap), by="x").value
    json.dumps(found.to_json(), allow_nan=False)
    assert found.pairs == {}
    assert any("no default regression" in one for one in found.warnings)
    assert "pMSE, logistic, main effects" in {score.name for score in found.scores}


def test_a_column_that_is_missing_throughout(draw, schema, release_of):
    data = frame(draw, schema, 60).with_columns(age=pl.lit(-1))
    found = us.evaluate(data, release_of(data, schema, bootstrap)).value
    assert any("age is not in the default regressions" in one for one in found.warnings)


def test_original_numbers_beyond_the_bounds_stay_as_they_are(draw, schema, release_of):
    data = frame(draw, schema, 100)
    release = release_of(data, schema, bootstrap)
    larger = data.with_columns(pl.when(pl.col("age") > 5).then(900).otherwise("age").alias("age"))
    formula = ["age ~ grade"]
    one, two = (us.evaluate(d, release, formulas=formula).value for d in (data, larger))
    slope, steeper = (next(c for c in e.coefficients if c.term == "grade") for e in (one, two))
    assert steeper.original[0] > 10 * slope.original[0] > 0
    assert steeper.synthetic == slope.synthetic


@pytest.mark.nightly
def test_large_tables_are_thinned_and_say_so(draw, schema, release_of, monkeypatch):
    monkeypatch.setattr(propensity, "MOST_ROWS", 100)
    monkeypatch.setattr(evaluate_module, "MOST_REGRESSION_ROWS", 100)
    data = frame(draw, schema)
    found = us.evaluate(data, release_of(data, schema, bootstrap)).value
    for score in found.scores:
        assert score.name[:4] not in {"pMSE", "SPEC"} or "of each table, drawn" in score.note
    assert found.n_original == 300


@pytest.mark.nightly
def test_the_progress_is_told(draw, schema, release_of):
    stages = {}
    data = frame(draw, schema)
    us.evaluate(
        data,
        release_of(data, schema, bootstrap),
        by="city",
        progress=lambda stage, done, total: stages.setdefault(stage, []).append((done, total)),
    )
    assert len(stages) == 10
    assert all(calls[-1][0] == calls[-1][1] for calls in stages.values())


FAULTS = {
    "column of `by`": ({"by": "cty"}, MethodError, "did you mean 'city'"),
    "column of `target`": ({"target": "x"}, MethodError, "no column of the release"),
    "seed": ({"seed": -1}, MethodError, "at least 0"),
    "formula": ({"formulas": ["age ~ wealth"]}, MethodError, "wealth"),
}


@pytest.mark.parametrize(("options", "kind", "words"), FAULTS.values(), ids=FAULTS)
def test_a_mistake_is_one_sentence(draw, schema, release_of, options, kind, words):
    data = frame(draw, schema)
    with pytest.raises(kind, match=words):
        us.evaluate(data, release_of(data, schema, bootstrap), **options)


def test_data_of_another_schema_are_refused(draw, schema, release_of):
    data = frame(draw, schema)
    release = release_of(data, schema, bootstrap)
    with pytest.raises(DataError, match="lacks the column 'grade'"):
        us.evaluate(data.drop("grade"), release)


def test_there_must_be_rows(draw, schema, release_of):
    data = frame(draw, schema)
    release = release_of(data, schema, bootstrap)
    with pytest.raises(DataError, match="original table has no rows"):
        us.evaluate(data.head(0), release)
    with pytest.raises(DataError, match="synthetic set of the release has no rows"):
        us.evaluate(data, replace(release, tables=(release.tables[0].head(0),)))


def test_a_release_refuses_internal_figures(draw, schema, release_of):
    data = frame(draw, schema, 12)
    release = release_of(data, schema, bootstrap)
    found = us.evaluate(data, release)
    assert isinstance(found, Internal)
    with pytest.raises(ReleaseError, match="internal"):
        replace(release, tables=(found,))
    with pytest.raises(ReleaseError, match="internal"):
        replace(release, measurements=(found,))


def test_nothing_confidential_is_shown_by_accident(compare):
    assert "array" not in repr(compare())
