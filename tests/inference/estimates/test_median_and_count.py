"""Medians and counts: other kinds under names of their own, with the same answers."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.declared import declared_analyses, on_lines

N = 2_000
SCHEMA = us.Schema.loads(
    column("sex", "categorical", levels=["f", "m"], missing=["?"])
    + column("works", "boolean")
    + column("age", "integer", lower=18, upper=80, bins=[18, 40, 65, 80])
    + column("kids", "integer", lower=0, upper=3)
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m", "?"], N, p=[0.5, 0.4, 0.1]),
            "works": rng.random(N) < 0.6,
            "age": rng.integers(18, 81, N),
            "kids": rng.choice(4, N, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


@pytest.fixture(scope="module")
def release(rows):
    return us.synthesize(
        rows, SCHEMA, epsilon=50, method="laplace", options={"form": "dense"}, insecure_noise_seed=2
    )


@pytest.mark.parametrize("formula", ["kids", "age", "kids ~ sex"])
def test_a_median_is_the_quantile_of_one_half(release, formula):
    median, quantile = (us.analyze(release, kind, formula) for kind in ("median", "quantile"))
    assert median.kind == "median"
    assert median.quantity == f"median of {formula}"
    assert [name.split(" | ")[0] for name in median.pooled.names] == [
        f"median of {formula.split(' ~ ')[0]}"
    ] * len(quantile.pooled.names)
    for own, other in zip(median.pooled.interval(), quantile.pooled.interval(), strict=True):
        np.testing.assert_array_equal(own, other)
    assert median.legend == quantile.legend


def test_a_median_has_one_probability(release):
    with pytest.raises(InferenceError, match=r"probability 0\.5; take the kind quantile"):
        us.analyze(release, "median", "kids", probability=0.9)


@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("sex", lambda t: [(t.sex == level).sum() for level in "fm"]),
        ("works", lambda t: t.works.value_counts().sort_index()),
        ("age", lambda t: [t.age.between(*ends).sum() for ends in ((18, 39), (40, 64), (65, 80))]),
        ("{kids >= 2}", lambda t: [(t.kids >= 2).sum()]),
        ("kids >= 2 ~ sex", lambda t: [((t.kids >= 2) & (t.sex == level)).sum() for level in "fm"]),
        (
            "works ~ sex",
            lambda t: [((t.works == w) & (t.sex == s)).sum() for s in "fm" for w in (False, True)],
        ),
    ],
)
def test_a_count_is_a_number_of_records(release, rows, formula, truth):
    answer = us.analyze(release, "count", formula)
    wanted = np.asarray(truth(rows.to_pandas()), dtype=float)
    assert answer.quantity == f"count of {formula}"
    assert (np.abs(answer.pooled.estimate - wanted) <= 5 * answer.pooled.stderr).all()
    assert (answer.pooled.stderr < 5).all()


def test_a_count_is_of_what_is_true_or_false(release):
    with pytest.raises(InferenceError, match="take the kind total"):
        us.analyze(release, "count", "kids + 1")


def test_both_can_be_declared():
    asked = declared_analyses(["median kids", "count {kids >= 2}"], SCHEMA)
    assert [str(one) for one in asked] == ["median kids", "count {kids >= 2}"]
    assert on_lines(asked, SCHEMA) == ("kids",)
