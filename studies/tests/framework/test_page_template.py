"""The prose of a page: filled from what a study knows, and refused where the template is wrong."""

from importlib.resources import files

import pytest

from understudy.errors import StudyError
from understudy_studies.framework.interval_tally import Estimand
from understudy_studies.framework.page_template import TEMPLATE, parsed, prose_of
from understudy_studies.framework.study import RunRecord

PACKAGE = "understudy_studies.repeated_sampling.bootstrap"
RECORD = RunRecord("understudy study x", 1, (475, 1000), 3, "0.1.0", 1.0)
VALUES = {
    "n_rows": 1000,
    "population": "Nobody.",
    "estimands": (Estimand("share", "proportion", "x", "x", 0.25),),
    "sets": 3,
    "refits": 5,
    "epsilons": (0.5, 2.0),
    "delta": "1e-6",
    "methods": ("a", "b"),
    "run_record": RECORD,
}


def test_the_prose_holds_the_numbers_that_it_is_given():
    prose = prose_of(PACKAGE, **VALUES)
    assert "made from 1,000 people" in prose.lead
    assert prose.done[0] == "Population. Nobody."
    assert "asked for: share (proportion “x”)." in prose.done[1]
    assert prose.parameters["True values"] == "share 0.25"
    assert prose.parameters["Budget"] == "ε = 0.5, 2; δ = 1e-6"
    assert prose.parameters["Monte Carlo error"] == "1 points for a coverage of 95 %"
    assert not any("\n" in text for text in (prose.lead, *prose.done, *prose.parameters.values()))


@pytest.mark.parametrize("missing", VALUES)
def test_a_value_that_is_not_given_is_refused(missing):
    given = {name: value for name, value in VALUES.items() if name != missing}
    with pytest.raises(StudyError, match=f"differ in {missing}"):
        prose_of(PACKAGE, **given)


def test_a_value_that_the_template_does_not_name_is_refused():
    with pytest.raises(StudyError, match="differ in surplus"):
        prose_of(PACKAGE, **VALUES, surplus=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# lead\nA.\n\n# done\nB.\n", "needs the sections"),
        ("# lead\nA.\n\n# done\nB.\n\n# parameters\n* n: 3\n", "must read"),
    ],
)
def test_a_template_that_is_wrong_is_refused(text, said):
    with pytest.raises(StudyError, match=said):
        parsed(text)


def test_the_template_stands_beside_the_study():
    assert (files(PACKAGE) / TEMPLATE).is_file()
