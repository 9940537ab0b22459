"""One meaning for each name of a score, wherever it is printed."""

import json

import pytest
from markupsafe import escape

import understudy as us
from understudy.demo import demo_data, demo_schema
from understudy.evaluation.definitions import DEFINITIONS, definition_of
from understudy.evaluation.utility.marginal_distances import MOST_TRIPLES
from understudy.report import internal_page

pytestmark = pytest.mark.whole


def test_names_and_meanings_are_unique():
    assert len({one.name for one in DEFINITIONS.values()}) == len(DEFINITIONS)
    assert len({one.meaning for one in DEFINITIONS.values()}) == len(DEFINITIONS)
    assert {one.better for one in DEFINITIONS.values()} == {"low", "high", "one"}


def test_a_score_of_the_yardstick_is_none_of_evaluate():
    """Their SPECKS, 3-way distance and ratio of pMSE differ, so their names must."""
    for one in DEFINITIONS.values():
        found = definition_of(one.name)
        assert (found is None) == one.yardstick
        assert found is None or found == one


def test_the_three_way_distance_is_named_by_its_triples():
    assert definition_of("total variation, 3-way") is None
    assert definition_of(f"total variation, 3-way ({MOST_TRIPLES} triples)") is not None


@pytest.fixture(scope="module")
def evaluation():
    data = demo_data()[:600]
    release = us.synthesize(
        data, demo_schema(), method="independent", epsilon=1, sets=2, insecure_noise_seed=1
    )
    return us.evaluate(data, release, by="religious").value


def test_every_score_of_an_evaluation_is_defined(evaluation):
    for score in evaluation.scores:
        found = definition_of(score.name)
        assert found is not None, score.name
        assert found.better == score.better, score.name
    for group in evaluation.subgroups:
        assert all(definition_of(name) is not None for name in group.scores)


def test_definitions_stand_on_the_page_and_in_the_json(evaluation):
    page = internal_page(evaluation)
    told = {one["name"] for one in json.loads(json.dumps(evaluation.to_json()))["definitions"]}
    assert "total variation, 3-way (all triples)" in told
    for one in evaluation.definitions:
        assert one.name in told
        assert str(escape(one.name)) in page
