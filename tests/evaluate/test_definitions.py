"""One meaning for each name of a score, wherever it is printed."""

import json

from markupsafe import escape

from understudy.evaluate.marginals import MOST_TRIPLES
from understudy.evaluate.report_page import internal_page
from understudy.evaluate.scores import DEFINITIONS, Better, Headline


def test_names_and_meanings_are_unique():
    assert len({one.name for one in DEFINITIONS.values()}) == len(DEFINITIONS)
    assert len({one.meaning for one in DEFINITIONS.values()}) == len(DEFINITIONS)
    assert {one.better for one in DEFINITIONS.values()} == set(Better)


def test_a_short_name_stands_for_one_score():
    """But for the 3-way distance, whose name says of how many triples it is in a table."""
    short = [one.short for one in DEFINITIONS.values() if one.short and one.short != "tv3"]
    assert len(set(short)) == len(short)
    assert {one.headline for one in DEFINITIONS.values() if one.short == "tv3"} == {
        Headline.THREE_WAY
    }


def test_the_three_way_distance_is_named_by_its_triples():
    assert "total variation, 3-way" not in DEFINITIONS
    assert f"total variation, 3-way ({MOST_TRIPLES} triples)" in DEFINITIONS


def test_headlines_and_variants_say_what_the_names_say():
    """A name is its headline and then its variant, so that a page can show the two apart."""
    for one in DEFINITIONS.values():
        assert one.name.endswith(one.variant)
        assert one.headline or not one.variant
    for headline in Headline:
        names = [one.name for one in DEFINITIONS.values() if one.headline is headline]
        assert names
        assert "worst" not in " ".join(names)


def test_every_score_of_an_evaluation_is_defined(evaluation):
    for score in evaluation.scores:
        found = score.definition
        assert found is DEFINITIONS[found.name]
        assert score.name.startswith(found.name)
        assert found.better == score.better, score.name
    for group in evaluation.subgroups:
        names = zip(group.scores, group.definitions, strict=True)
        assert all(name.startswith(one.name) for name, one in names)


def test_definitions_stand_on_the_page_and_in_the_json(evaluation):
    page = internal_page(evaluation)
    told = {one["name"] for one in json.loads(json.dumps(evaluation.to_json()))["definitions"]}
    assert "total variation, 3-way (all triples)" in told
    for one in evaluation.definitions:
        assert one.name in told
        assert str(escape(one.name)) in page
