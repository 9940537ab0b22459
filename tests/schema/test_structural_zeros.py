"""Forbidden combinations: from values and ranges to states, and faults in one sentence."""

import datetime

import pytest

from understudy.errors import SchemaError
from understudy.schema import Range, Rule, Schema

COLUMNS = """
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 15, 18, 65, 99]
spikes = [18]
missing = [-9]
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = [0, 10, 50, 100]
spikes = [0, 10, 100]
[columns.job]
kind = "categorical"
levels = ["none", 1, 2.0]
missing = ["", "?"]
[columns.voted]
kind = "boolean"
[columns.born]
kind = "date"
lower = 2000-01-01
upper = 2000-12-31
bins = [2000-01-01, 2000-07-01, 2000-12-31]
missing = [9999-12-31, -9]
"""
SCHEMA = Schema.loads(COLUMNS)


def states(**where):
    found = Rule(where=where).states(SCHEMA.columns)
    return {name: sorted(chosen) for name, chosen in found.items()}


def labels(name, chosen):
    return [SCHEMA.columns[name].labels[k] for k in sorted(chosen)]


def chosen_labels(name, selector):
    return labels(name, Rule(where={name: selector}).states(SCHEMA.columns)[name])


@pytest.mark.parametrize(
    ("name", "selector", "expected"),
    [
        ("job", "none", ["none"]),
        ("job", ("1", 2), ["1", "2"]),
        ("job", "", ["(empty)"]),
        ("voted", True, ["true"]),
        ("voted", "false", ["false"]),
        ("age", -9, ["-9"]),
        ("age", 18, ["18"]),
        ("age", Range(lower=0, upper=14), ["0 to 14"]),
        ("age", Range(lower=0, upper=17.0), ["0 to 14", "15 to 17"]),
        ("age", Range(lower=18, upper=64), ["18", "18 to 64"]),
        ("age", Range(lower=-5, upper=200), ["0 to 14", "15 to 17", "18", "18 to 64", "65 to 99"]),
        ("income", 0, ["0"]),
        ("income", Range(lower=0, upper=10), ["0", "[0, 10)"]),
        ("income", Range(lower=10, upper=50), ["10", "[10, 50)"]),
        ("income", Range(lower=50, upper=100), ["[50, 100]", "100"]),
        ("born", Range(lower="2000-01-01", upper="2000-06-30"), ["2000-01-01 to 2000-06-30"]),
        ("born", datetime.date(9999, 12, 31), ["9999-12-31"]),
        ("born", -9, ["-9"]),
    ],
)
def test_values_and_ranges_name_states(name, selector, expected):
    assert sorted(chosen_labels(name, selector)) == sorted(expected)


@pytest.mark.parametrize(
    ("where", "phrase"),
    [
        ({"sex": "f"}, "names the column 'sex', which the schema does not have"),
        ({"job": "farmer"}, "value 'farmer' of 'job', which is neither"),
        ({"age": 20}, "one value of 'age' that has no bin of its own"),
        ({"age": "x"}, "no bin of its own"),
        ({"age": datetime.date(1970, 1, 19)}, "no bin of its own"),  # day 18 is not the number 18
        ({"age": Range(lower=0, upper=10)}, "cuts the bin 0 to 14 of 'age' in two"),
        ({"age": Range(lower=200, upper=300)}, "holds no bin"),
        ({"age": Range(lower=99, upper=0)}, "holds no bin"),
        ({"age": Range(lower="2000-01-01", upper="2000-06-30")}, "not numbers"),
        ({"income": Range(lower=0, upper=20)}, r"cuts the bin \[10, 50\) of 'income'"),
        ({"job": Range(lower=1, upper=2)}, "has levels; list the levels"),
        ({"born": Range(lower=0, upper=20000)}, "not dates"),
    ],
)
def test_faulty_rules_are_explained_in_one_sentence(where, phrase):
    with pytest.raises(SchemaError, match=phrase) as caught:
        Rule(where=where).states(SCHEMA.columns)
    assert str(caught.value).endswith(".")
    assert not str(caught.value).endswith("..")


def test_several_columns_make_a_box():
    assert states(age=Range(lower=0, upper=17), voted=True) == {"age": [0, 1], "voted": [1]}


def test_a_schema_checks_its_rules_when_it_is_read():
    bad = COLUMNS + '[[forbidden]]\nwhere = { job = "farmer" }\n'
    with pytest.raises(SchemaError, match="'farmer'"):
        Schema.loads(bad)
    nothing_left = COLUMNS + "[[forbidden]]\nwhere = { voted = [true, false] }\n"
    with pytest.raises(SchemaError, match="leave no record possible"):
        Schema.loads(nothing_left)


def test_a_rule_in_words():
    rule = Rule(where={"age": Range(lower=0, upper=17), "voted": True, "job": ("", 1)})
    assert rule.text == "age = 0 to 17 and voted = true and job = (empty) or 1"


def test_rules_must_be_reviewed_too():
    text = COLUMNS.replace("kind =", "reviewed = true\nkind =")
    schema = Schema.loads(text + "[[forbidden]]\nwhere = { voted = true, job = 1 }\n")
    with pytest.raises(SchemaError, match="rule “voted = true and job = 1”"):
        schema.require_reviewed()


def test_a_value_names_the_state_of_its_text_before_one_of_an_equal_number():
    schema = Schema.loads(
        '[columns.x]\nkind = "categorical"\nlevels = ["01", "1", "2.0"]\nmissing = ["1.0", ""]\n'
    )
    told = {1: 1, "01": 0, "1": 1, "1.0": 3, 2: 2, "": 4}
    for value, state in told.items():
        assert Rule(where={"x": value}).states(schema.columns)["x"] == {state}, value
