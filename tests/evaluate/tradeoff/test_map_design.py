"""Every mistake is told from public facts, before a row is read."""

from __future__ import annotations

import inspect
from fractions import Fraction

import pytest

from understudy.cli.evaluate import tradeoff as command
from understudy.errors import BudgetError, MethodError, SchemaError
from understudy.evaluate import tradeoff as tradeoff_module
from understudy.evaluate.tradeoff import Design, tradeoff
from understudy.schema import Schema

GOOD = {"methods": ["independent"], "epsilons": [1]}


class Unreadable:
    """Data that fail the test when anybody looks at them."""

    def __getattribute__(self, name):
        raise AssertionError("the rows were read")


MISTAKES = {
    "no method": ({"methods": []}, "at least one method"),
    "a text for a list": ({"methods": "independent"}, "list of names"),
    "unknown method": ({"methods": ["independant"]}, "did you mean 'independent'"),
    "unknown option": ({"options": {"independent": {"size": 3}}}, "no option 'size'"),
    "options of another": ({"options": {"laplace": {}}}, "no method of this map"),
    "no budget": ({"epsilons": []}, "at least one ε"),
    "unknown loss": ({"utility": ["two-ways"]}, "did you mean 'two-way'"),
    "no loss": ({"utility": []}, "at least one utility"),
    "unknown risk": ({"risk": "members"}, "no risk 'members'"),
    "no secret": ({"risk": "attribute", "keys": ["a"]}, "needs secrets"),
    "all secret": ({"risk": "attribute", "secrets": ["a", "b", "c"]}, "a column besides"),
    "keys for nothing": ({"keys": ["a"]}, "does not use keys"),
    "unknown key": ({"risk": "attribute", "keys": ["aa"], "secrets": ["b"]}, "did you mean 'a'"),
    "key and secret": ({"risk": "attribute", "keys": ["a"], "secrets": ["a"]}, "both a key"),
    "a text for columns": ({"risk": "attribute", "secrets": "a"}, "list of columns"),
    "no repetition": ({"repetitions": 0}, "repetitions must be"),
    "half a repetition": ({"repetitions": 1.5}, "repetitions must be"),
    "negative seed": ({"seed": -1}, "seed must be"),
    "all held out": ({"holdout": 1.0}, "holdout must be"),
    "no worker": ({"workers": 0}, "workers must be"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_before_rows_are_read(mistake, schema):
    asked, words = MISTAKES[mistake]
    with pytest.raises(MethodError, match=words):
        tradeoff(Unreadable(), schema, **{**GOOD, **asked})


@pytest.mark.parametrize("epsilon", [0, -1, "much"])
def test_what_is_no_budget_is_told_before_rows_are_read(epsilon, schema):
    with pytest.raises(BudgetError):
        tradeoff(Unreadable(), schema, methods=["independent"], epsilons=[1, epsilon])


def test_a_schema_must_be_reviewed(schema):
    text = schema.dumps().replace("reviewed = true", "reviewed = false", 1)
    with pytest.raises(SchemaError, match="not reviewed"):
        tradeoff(Unreadable(), Schema.loads(text), **GOOD)


def test_if_nothing_can_be_run_the_first_reason_is_told(schema):
    with pytest.raises(MethodError, match="leave delta at 0"):
        tradeoff(Unreadable(), schema, methods=["laplace"], epsilons=[1], delta=1e-6)


def test_a_design_is_in_order_and_holds_everything_once(schema):
    design = Design.of(
        schema, methods=["independent", "marginals", "independent"], epsilons=["1", 0.1, 1]
    )
    assert design.methods == ("independent", "marginals")
    assert design.epsilons == (Fraction(1, 10), Fraction(1))
    assert [(one.method, one.words) for one in design.settings] == [
        (method, epsilon) for method in ("independent", "marginals") for epsilon in ("0.1", "1")
    ]


def test_a_method_without_guarantee_is_one_point(schema):
    design = Design.of(schema, methods=["multiple-synthesis"], epsilons=[1, 2, 3])
    assert [(one.epsilon, one.words) for one in design.settings] == [(None, "")]


def test_an_intruder_knows_all_but_the_secrets_unless_told(schema):
    design = Design.of(schema, **GOOD, risk="attribute", secrets=["b"])
    assert design.keys == ("a", "c")


def test_the_command_line_has_the_same_defaults():
    ours = inspect.signature(tradeoff).parameters
    for name, given in inspect.signature(command).parameters.items():
        if name in {"methods", "epsilons", "utility"}:
            assert tuple(given.default.split(",")) == tuple(map(str, ours[name].default))
        elif name in {"repetitions", "risk", "holdout", "seed", "public"}:
            assert given.default == ours[name].default
    assert ours["methods"].default == tradeoff_module.DEFAULT_METHODS
