"""Answers about records that are alike: the part of each variance that is sampling grows."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import SchemaError
from understudy.inference.expected_widths import ExpectedWidths, assumed_words

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
    for end, wider in zip(before.interval(), after.interval(), strict=True):
        reach, further = np.abs(np.array([end, wider]) - before.estimate) - before.bias
        np.testing.assert_allclose(further, reach * after.stderr / before.stderr)
    assert (after.pvalue >= before.pvalue - 1e-12).all()
    assert "design effect 2.25 (report)" in str(other)
    assert "design effect" not in str(one)


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
