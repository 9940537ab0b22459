"""Answers about records that are alike: the part of each variance that is sampling grows."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import SchemaError
from understudy.inference.answered_questions import ExpectedWidths, assumed_words

SCHEMA = """
rows = "public"
n_rows = 3000
[columns.region]
kind = "categorical"
levels = ["north", "south", "west"]
source = "map"
reviewed = true
[columns.works]
kind = "categorical"
levels = ["no", "yes"]
source = "questionnaire"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 10
source = "questionnaire"
reviewed = true
"""
DEFF = '[design]\ndeff = { default = 2.25, source = "report" }\n'
ASKED = [
    ("mean", "age"),
    ("proportion", "works ~ region"),
    ("ols", "age ~ works"),
    ("total", "age"),
]


def released(design):
    rng = np.random.default_rng(8)
    region, works = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)
    age = np.clip(rng.normal(40 + 8 * works, 15), 0, 99).astype(int)
    rows = pl.DataFrame(
        {
            "region": np.array(["north", "south", "west"])[region],
            "works": np.array(["no", "yes"])[works],
            "age": age,
        }
    )
    schema = us.Schema.loads(SCHEMA + design)
    return us.synthesize(rows, schema, epsilon=4, delta=1e-6, insecure_noise_seed=4)


@pytest.fixture(scope="module")
def plain():
    return released("")


@pytest.fixture(scope="module")
def alike():
    return released(DEFF)


@pytest.mark.parametrize(("kind", "formula"), ASKED)
def test_the_sampling_part_is_multiplied_and_that_by_noise_is_not(plain, alike, kind, formula):
    one, other = us.analyze(plain, kind, formula), us.analyze(alike, kind, formula)
    before, after = one.pooled, other.pooled
    assert after.estimate.tolist() == before.estimate.tolist()
    noise, variance = before.synthesis_share * before.stderr**2, before.stderr**2
    np.testing.assert_allclose(after.stderr**2, noise + 2.25 * (variance - noise))
    np.testing.assert_allclose(after.synthesis_share * after.stderr**2, noise)
    middle = before.estimate + before.lean
    for end, wider in zip(before.interval(), after.interval(), strict=True):
        reach, further = np.abs(np.array([end, wider]) - middle) - before.bias
        np.testing.assert_allclose(further, reach * after.stderr / before.stderr)
    assert (after.pvalue >= before.pvalue - 1e-12).all()
    assert "design effect 2.25 (report)" in str(other)
    assert "design effect" not in str(one)


def test_the_interval_of_a_median_is_as_much_longer(plain, alike):
    before, after = (us.analyze(one, "median", "age").pooled for one in (plain, alike))
    lengths = [np.subtract(*pooled.interval()[::-1]) for pooled in (before, after)]
    assert 1 < (lengths[1] / lengths[0])[0] < 1.5


def test_a_test_of_independence_is_as_much_weaker(plain, alike):
    before = us.analyze(plain, "independence", "works + region").pooled
    after = us.analyze(alike, "independence", "works + region").pooled
    assert after.estimate[0] == before.estimate[0]
    assert after.pvalue[0] >= before.pvalue[0]


def test_a_plan_counts_it_too():
    asked = {"epsilon": 4, "delta": 1e-6, "analyses": ["ols age ~ works"]}
    before = us.plan(us.Schema.loads(SCHEMA), **asked).expected
    after = us.plan(us.Schema.loads(SCHEMA + DEFF), **asked).expected
    for one, other in zip(before, after, strict=True):
        assert other.sampling == pytest.approx(1.5 * one.sampling)
        assert other.noise == pytest.approx(one.noise)


def test_expected_widths_of_a_release_count_it_too(plain, alike):
    one, other = ExpectedWidths(plain), ExpectedWidths(alike)
    for kind in ("shares", "correlations", "group_means", "linear"):
        before, after = getattr(one, kind)(), getattr(other, kind)()
        assert before.widths.keys() == after.widths.keys()
        for columns, of_rows in before.of_rows.items():
            of_alike, both = after.of_rows[columns], (before.widths[columns], after.widths[columns])
            assert of_alike == pytest.approx(1.5 * of_rows)
            assert both[1] ** 2 - of_alike**2 == pytest.approx(both[0] ** 2 - of_rows**2, rel=1e-6)
    assert "design effect 2.25 (report)" in assumed_words(alike.schema)
    assert "design effect" not in assumed_words(plain.schema)


def test_other_entries_of_a_design_need_a_weight():
    with pytest.raises(SchemaError, match="needs weight"):
        us.Schema.loads(SCHEMA + '[design]\npsu = "village"\n')


FPC = (
    '[design]\nstrata = "region"\n'
    'fpc = { default = 0.2, strata = { north = 0.6 }, source = "plan of the survey" }\n'
)
REMAINING = {
    ("mean", "age"): [0.8],
    ("proportion", "works ~ region"): [0.4, 0.4, 0.8, 0.8, 0.8, 0.8],
    ("mean", "age where region == 'north'"): [0.4],
    ("mean", "age where region != 'north'"): [0.8],
    ("ols", "age ~ works"): [0.8, 0.8],
    ("total", "works == 'yes'"): [0.8],  # no error but noise, so nothing is less
}


@pytest.fixture(scope="module")
def finite():
    return released(FPC)


@pytest.mark.parametrize("asked", REMAINING)
def test_a_finite_population_leaves_less_of_the_sampling_part_and_all_of_the_noise(
    plain, finite, asked
):
    one, other = us.analyze(plain, *asked), us.analyze(finite, *asked)
    before, after = one.pooled, other.pooled
    noise, variance = before.synthesis_share * before.stderr**2, before.stderr**2
    expected = noise + np.array(REMAINING[asked]) * (variance - noise)
    np.testing.assert_allclose(after.stderr**2, expected)
    np.testing.assert_allclose(after.synthesis_share * after.stderr**2, noise)
    lengths = [np.subtract(*pooled.interval()[::-1]) for pooled in (before, after)]
    assert (lengths[1] <= lengths[0] + 1e-12).all()
    assert "finite population (plan of the survey)" in str(other)
    assert "finite population" not in str(one)


def test_intervals_by_inverted_tests_are_not_shorter_and_say_so(plain, finite):
    one, other = us.analyze(plain, "median", "age"), us.analyze(finite, "median", "age")
    for end, same in zip(one.pooled.interval(), other.pooled.interval(), strict=True):
        assert end.tolist() == same.tolist()
    assert "That the population is finite (fpc) is not counted" in str(other)


def test_a_plan_counts_the_least_fraction():
    asked = {"epsilon": 4, "delta": 1e-6, "analyses": ["ols age ~ works"]}
    before, after = (
        us.plan(us.Schema.loads(SCHEMA + more), **asked).expected for more in ("", FPC)
    )
    for one, other in zip(before, after, strict=True):
        assert other.sampling == pytest.approx(np.sqrt(0.8) * one.sampling)
        assert other.noise == pytest.approx(one.noise)


def _spread(values):
    return np.var(values, ddof=1)


def test_what_remains_of_the_variance_is_enough_in_every_sample_of_small_populations():
    """Over all samples: simple, of strata, and of clusters in two stages."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=8)
    means, shown = zip(
        *((y[list(s)].mean(), _spread(y[list(s)]) / 3) for s in combinations(range(8), 3)),
        strict=True,
    )
    assert np.var(means) == pytest.approx((1 - 3 / 8) * np.mean(shown))

    strata = [rng.normal(size=4), 3 + 2 * rng.normal(size=6)]
    found = []
    for one, two in product(combinations(range(4), 2), combinations(range(6), 2)):
        drawn = [strata[0][list(one)], strata[1][list(two)]]
        z = np.concatenate([4 * drawn[0] / 2, 6 * drawn[1] / 2])  # weighted, so of the total
        found.append((z.sum(), len(z) * _spread(z)))
    totals, shown = np.array(found).T
    assert np.var(totals) <= (1 - 2 / 6) * shown.mean()

    for alike in (1.0, 3.0):  # units of a cluster as chance has them, and more alike
        within = rng.normal(size=(4, 3))
        means = within.mean(axis=1, keepdims=True)
        spread = np.mean([_spread(own) for own in within]) / 3
        units = within - means + means * np.sqrt(alike * spread / _spread(means))
        found = []
        for clusters in combinations(range(4), 2):
            for parts in product(combinations(range(3), 2), repeat=2):
                pairs = zip(clusters, parts, strict=True)
                own = [units[c, list(part)].mean() for c, part in pairs]
                found.append((np.mean(own), _spread(own) / 2))
        drawn, shown = np.array(found).T
        chance = 1 / 2 * 2 / 3  # of a unit
        assert np.var(drawn) <= (1 - chance) * shown.mean() * (1 + 1e-12)
        assert (np.var(drawn) == pytest.approx((1 - chance) * shown.mean())) == (alike == 1)
        assert np.var(drawn) > 1.01 * (1 - 1 / 2) * shown.mean()  # that of a cluster is too much
