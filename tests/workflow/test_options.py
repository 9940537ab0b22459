"""Options as one object or as keywords: the same release; what is stated twice is refused."""

import inspect
import warnings
from dataclasses import fields

import pandas as pd
import pytest

import understudy as us
from schemas import PEOPLE
from understudy.errors import BudgetError, CheckpointError, DataError, MethodError, ReleaseError
from understudy.workflow.options import PlanKeywords, SynthesizeKeywords

SCHEMA = us.Schema.loads(PEOPLE)
ROWS = pd.DataFrame({"city": ["Aa", "Bb", "Cc", "Aa"] * 25, "age": [*range(100)]})
HOW = {"method": "independent", "sets": 2, "budget": {"rows": "0.1", "answers": "0.3"}}
RUN = {"seed": 3, "insecure_noise_seed": 4, "frame": "polars"}
ON = {"epsilon": 3, "delta": "1e-6"}


class Unreadable:
    """Data that must not be looked at."""


def content(release):
    tables = [table.write_csv() for table in release.tables]
    return tables, release.manifest, [one.to_json() for one in release.measurements]


def test_objects_and_keywords_give_the_same_release():
    how, run = us.SynthesisOptions(**HOW), us.RunOptions(**RUN)
    by_keywords = us.synthesize(ROWS, SCHEMA, **ON, **HOW, **RUN)
    by_objects = us.synthesize(ROWS, SCHEMA, **ON, how=how, run=run)
    mixed = us.synthesize(ROWS, SCHEMA, **ON, how=how, **RUN)
    fitted = us.Synthesizer(SCHEMA, **ON, how=how, **RUN).fit(ROWS).release_
    other = us.synthesize(ROWS, SCHEMA, **ON, how=how, run=us.RunOptions(**RUN | {"seed": 5}))
    for release in (by_objects, mixed, fitted):
        assert content(release) == content(by_keywords)
        assert release.frame == "polars"
    assert content(other) != content(by_keywords)


def test_plans_and_regressions_take_them_too():
    assert us.plan(SCHEMA, **ON, how=us.SynthesisOptions(**HOW)) == us.plan(SCHEMA, **ON, **HOW)
    seeds = {"seed": 3, "insecure_noise_seed": 4}
    asked = (ROWS, SCHEMA, "age ~ city")
    one = us.regress(*asked, **ON, run=us.RunOptions(**seeds))
    assert one.to_json() == us.regress(*asked, **ON, **seeds).to_json()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"how": us.SynthesisOptions(), "sets": 2}, "how states sets too"),
        ({"how": us.SynthesisOptions(), "budget": {"rows": 0.1}}, "how states budget too"),
        ({"run": us.RunOptions(), "seed": 2, "by": "Ann"}, "run states seed, by too"),
        ({"how": {"sets": 2}}, "how must be a SynthesisOptions, not dict"),
        ({"run": us.SynthesisOptions()}, "run must be a RunOptions, not SynthesisOptions"),
    ],
)
def test_what_is_stated_twice_is_refused_before_rows_are_read(more, why):
    with pytest.raises(MethodError, match=why):
        us.synthesize(Unreadable(), SCHEMA, epsilon=1, **more)
    with pytest.raises(MethodError, match=why):
        us.Synthesizer(SCHEMA, epsilon=1, **more)


@pytest.mark.parametrize("name", ["epsilom", "seed_", "rows"])
def test_an_unknown_keyword_is_refused(name):
    with pytest.raises(TypeError, match=rf"synthesize\(\) got an unexpected .* '{name}'"):
        us.synthesize(Unreadable(), SCHEMA, epsilon=1, **{name: 1})
    with pytest.raises(TypeError, match=rf"Synthesizer\(\) got an unexpected .* '{name}'"):
        us.Synthesizer(SCHEMA, epsilon=1, **{name: 1})


def test_a_function_refuses_what_it_has_no_use_for():
    with pytest.raises(TypeError, match=r"plan\(\) got an unexpected keyword argument 'seed'"):
        us.plan(SCHEMA, epsilon=1, seed=1)
    run = us.RunOptions(frame="arrow", also="csv", by="Ann")
    with pytest.raises(MethodError, match="regress has no use for frame, also; leave"):
        us.regress(Unreadable(), SCHEMA, "age ~ city", epsilon=1, run=run)
    with pytest.raises(MethodError, match="answer has no use for frame, also; leave"):
        us.answer({}, Unreadable(), "release", epsilon=1, run=run)
    run = us.RunOptions(checkpoint="here")
    with pytest.raises(MethodError, match="verdict has no use for checkpoint; leave"):
        us.verdict(Unreadable(), SCHEMA, "mean age > 3", epsilon=1, run=run)


@pytest.mark.parametrize(
    ("kind", "given", "error", "why"),
    [
        (us.SynthesisOptions, {"method": 3}, MethodError, "method must be text"),
        (us.SynthesisOptions, {"sets": 0}, MethodError, "sets must be a whole number"),
        (us.SynthesisOptions, {"options": ["form"]}, MethodError, "options must be a mapping"),
        (us.SynthesisOptions, {"assume_rows": 0}, MethodError, "assume_rows must be"),
        (us.SynthesisOptions, {"budget": 0.3}, BudgetError, "budget must be a mapping"),
        (us.SynthesisOptions, {"budget": {"answer": 0.3}}, BudgetError, "did you mean 'answers'"),
        (us.SynthesisOptions, {"budget": {"rows": 0}}, BudgetError, "'rows' of the budget must"),
        (us.SynthesisOptions, {"budget": {"rows": 1}}, BudgetError, "'rows' of the budget must"),
        (us.SynthesisOptions, {"budget": {"lines": -0.1}}, BudgetError, "'lines' of the budget"),
        (us.SynthesisOptions, {"budget": {"layer": "x"}}, BudgetError, "'layer' of the budget"),
        (us.RunOptions, {"seed": -1}, MethodError, "seed must be"),
        (us.RunOptions, {"insecure_noise_seed": True}, MethodError, "insecure_noise_seed must be"),
        (us.RunOptions, {"progress": 3}, MethodError, "progress must be a function"),
        (us.RunOptions, {"confide": "x"}, MethodError, "confide must be a function"),
        (us.RunOptions, {"frame": "excel"}, ReleaseError, "frame must be one of"),
        (us.RunOptions, {"checkpoint": 3}, CheckpointError, "checkpoint must be a path"),
        (us.RunOptions, {"spill": 3}, DataError, "spill must be a path"),
    ],
)
def test_each_is_checked_when_it_is_made(kind, given, error, why):
    with pytest.raises(error, match=why):
        kind(**given)


def test_parts_that_leave_nothing_are_refused():
    budget = {"answers": "0.5", "lines": "0.3", "layer": "0.2"}
    with pytest.raises(BudgetError, match="must leave something for the records"):
        us.synthesize(Unreadable(), SCHEMA, **ON, analyses=["mean age"], budget=budget)


FORMER = ("rows", "answers", "lines", "layer")


@pytest.mark.parametrize("part", FORMER)
@pytest.mark.nightly(every=4)
def test_former_names_of_parts_warn_and_do_the_same(part):
    asked = ON | {"analyses": ["mean age"]}
    with pytest.warns(DeprecationWarning, match=rf"{part}_share.*'{part}'") as caught:
        former = us.plan(SCHEMA, **asked, **{f"{part}_share": "0.2"})
    assert caught[0].filename == __file__
    plain = us.plan(SCHEMA, **asked)
    assert former == us.plan(SCHEMA, **asked, budget={part: "0.2"}) != plain
    with pytest.raises(MethodError, match=rf"budget states what {part}_share states"):
        us.plan(SCHEMA, **asked, **{f"{part}_share": "0.2"}, budget={"rows": "0.1"})


def test_a_former_name_without_a_value_is_the_usual_part():
    with pytest.warns(DeprecationWarning, match="answers_share"):
        former = us.plan(SCHEMA, **ON, answers_share=None)
    assert former == us.plan(SCHEMA, **ON)


def test_no_warning_without_a_former_name():
    with warnings.catch_warnings(record=True) as caught:
        us.plan(SCHEMA, **ON, budget={"answers": 0.2})
    assert not caught


def test_keywords_are_the_fields_of_both():
    named = [{one.name for one in fields(kind)} for kind in (us.SynthesisOptions, us.RunOptions)]
    former = {f"{part}_share" for part in FORMER}
    assert PlanKeywords.__optional_keys__ == named[0] | former
    assert SynthesizeKeywords.__optional_keys__ == named[0] | named[1] | former


@pytest.mark.parametrize(
    ("function", "names", "not_these"),
    [
        (us.synthesize, ("method", "budget", "checkpoint", "also"), ()),
        (us.plan, ("method", "budget", "like"), ("seed", "ledger")),
        (us.regress, ("seed", "confide", "ledger"), ("method", "frame")),
        (us.answer, ("checkpoint", "ledger"), ("seed", "method")),
        (us.verdict, ("ledger", "spill"), ("checkpoint", "method")),
        (us.Synthesizer.__init__, ("method", "ledger"), ()),
    ],
)
def test_signature_and_help_list_the_keywords(function, names, not_these):
    parameters = inspect.signature(function).parameters
    for name in names:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert function is us.Synthesizer.__init__ or f"\n    {name}: " in inspect.getdoc(function)
    assert not {"keywords", *not_these} & parameters.keys()


def test_options_cannot_be_changed():
    how = us.SynthesisOptions(sets=3)
    with pytest.raises(AttributeError):
        how.sets = 4
