"""Derived columns in a schema: what is measured, the round trip, and every way to be refused."""

import numpy as np
import pytest

from schemas import column
from understudy.errors import SchemaError
from understudy.schema import Schema, private_copy
from understudy.schema.columns import Cells
from understudy.schema.derived import compute_derived, follows

WEIGHT = column("weight", "continuous", lower=30, upper=200, decimals=1)
HEIGHT = column("height", "continuous", lower=1.2, upper=2.2, decimals=2)
COUNTY = column("county", "categorical", levels=["a", "b", "c"])


def bmi(rule="weight / height ** 2", **entries):
    told = {"lower": 10, "upper": 60, "decimals": 1, **entries}
    return column("bmi", "continuous", derived=rule, **told)


CLASS = column("class", "ordinal", levels=["thin", "mid", "big"], derived="cut(bmi, 18.5, 25)")
REGION = """
[columns.region]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
derived = { of = "county", levels = { x = ["a", "b"], y = ["c"] } }
"""
BODY = WEIGHT + CLASS + bmi() + HEIGHT + COUNTY + REGION


def test_a_derived_column_is_declared_and_not_measured():
    schema = Schema.loads(BODY)
    assert tuple(schema.declared) == ("weight", "class", "bmi", "height", "county", "region")
    assert schema.names == ("weight", "height", "county")
    assert schema.domain == Schema.loads(WEIGHT + HEIGHT + COUNTY).domain
    assert tuple(schema.derived) == ("class", "bmi", "region")


def test_it_survives_the_round_trip_copies_and_other_bins():
    schema = Schema.loads(BODY)
    assert (
        Schema.loads(schema.dumps())
        == schema
        == private_copy(schema)
        == schema.strip_fingerprints()
    )
    assert schema.with_bins({"weight": 3}).derived == schema.derived
    assert not schema.part(["weight"]).derived


def test_it_is_reviewed_as_any_column_is():
    with pytest.raises(SchemaError, match="column 'bmi'"):
        Schema.loads(BODY.replace(bmi(), bmi().replace("reviewed = true", ""))).require_reviewed()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("weight / heigth ** 2", "'heigth', which is no column.*did you mean 'height'"),
        ("bmi + weight", "derived in a circle, 'bmi' from 'bmi'"),
        ("weight / (height - 2)", 'may have no value .*declare missing = \\[""\\]'),
        ("(height - 2) ** 0.5", "may have no value"),
        ("weight ** 9 ** 9 ** 9", "may have no value"),
        ("10 ** 400 * weight", "may have no value"),
        ("weight > 3", "gives yes or no, and the column is continuous; make it boolean"),
        ("cut(weight, 3)", "gives levels"),
        ("county + 1", "takes 'county' for a number, and it has levels"),
        ("3", "names no column"),
        ("__import__('os')", "something else than numbers"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rule, said):
    with pytest.raises(SchemaError, match=f"column 'bmi', derived.*{said}|{said}"):
        Schema.loads(WEIGHT + HEIGHT + COUNTY + bmi(rule))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            column("k", "ordinal", levels=["a", "b"], derived="cut(weight, 50, 60)"),
            "gives 3 levels",
        ),
        (column("k", "boolean", derived="county == 'z'"), "'z', which is no level of 'county'"),
        (column("k", "boolean", derived="weight"), "gives a number, and the column is boolean"),
        (REGION.replace('"b"', '"a"'), "twice"),
        (REGION.replace('["a", "b"]', '["a"]'), "every level of 'county'"),
        (REGION.replace('"county", levels', '"state", levels'), "'state', which is no column"),
        (REGION.replace("x = [", "z = ["), "'z', which is no level"),
        (REGION.replace('"county", levels', '"weight", levels'), "cut\\(weight"),
        (
            column("k", "boolean", derived="l") + column("l", "boolean", derived="k"),
            "gives|circle|number",
        ),
    ],
)
def test_rules_of_levels_that_cannot_be_are_refused(made, said):
    with pytest.raises(SchemaError, match=said):
        Schema.loads(WEIGHT + COUNTY + made)


def test_a_circle_of_two_is_refused_and_a_schema_of_rules_alone():
    one = column("k", "integer", lower=0, upper=9, derived="l + 1")
    other = column("l", "integer", lower=0, upper=9, derived="k - 1")
    with pytest.raises(SchemaError, match="derived in a circle"):
        Schema.loads(WEIGHT + one + other)
    with pytest.raises(SchemaError, match="every column is derived"):
        Schema.loads(one)


def test_a_fault_elsewhere_is_not_blamed_on_the_rule():
    with pytest.raises(SchemaError) as error:
        Schema.loads(
            BODY.replace('[columns.height]\nkind = "continuous"', '[columns.height]\nkind = "x"')
        )
    assert "height" in str(error.value)
    assert "bmi" not in str(error.value)


def test_rules_name_columns_called_like_functions_and_with_spaces():
    text = '[columns."my cut"]\nkind = "integer"\nlower = 0\nupper = 9\n' + column(
        "cut", "integer", lower=0, upper=9
    )
    made = column("k", "integer", lower=0, upper=20, derived="cut + `my cut` + abs(cut)")
    cells = Cells(np.zeros(1, dtype=np.int64), np.array([3.0]))
    columns = Schema.loads(text + made).declared
    assert compute_derived(columns, {"cut": cells, "my cut": cells})["k"].numbers.tolist() == [9.0]


def test_values_are_rounded_clipped_and_absent_by_the_declaration():
    schema = Schema.loads(
        column("a", "integer", lower=0, upper=9, missing=[-1])
        + column("b", "integer", lower=0, upper=9)
        + column("q", "continuous", lower=0, upper=2, decimals=1, derived="a / b", missing=[-9])
        + column("big", "boolean", derived="q > 1", missing=[""])
    )
    numbers = {"a": [1.0, 9.0, np.nan, 1.0], "b": [3.0, 1.0, 1.0, 0.0]}
    given = {n: Cells(np.zeros(4, dtype=np.int64), np.array(v)) for n, v in numbers.items()}
    made = compute_derived(schema.declared, given)
    np.testing.assert_equal(made["q"].numbers, [0.3, 2.0, np.nan, np.nan])
    assert made["big"].states.tolist() == [0, 1, 2, 2]
    assert follows("q", schema.declared, {**given, **made}).all()
    off = Cells(made["q"].states, made["q"].numbers + np.array([0.1, 0, 0, 0]))
    assert follows("q", schema.declared, {**given, "q": off}).tolist() == [False, True, True, True]
