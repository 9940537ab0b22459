"""Drafts of files that say what their codes stand for."""

import math

import pandas as pd
import pytest

from understudy.schema import Schema
from understudy.steward.check import check
from understudy.steward.draft import draft_schema

pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")

N = 60


def drafted(path, values, **options):
    """The drafted column of a file of SPSS with one variable, and the whole text."""
    pyreadstat.write_sav(pd.DataFrame({"c": values}), str(path / "a.sav"), **options)
    text = draft_schema(path / "a.sav")
    schema = Schema.loads(text)
    assert check(path / "a.sav", schema).ok
    return schema.columns["c"], text


SEX = {"variable_value_labels": {"c": {2.0: "women", 1.0: "men", 3.0: "other", 9.0: "refused"}}}


def test_labelled_codes_are_levels_in_their_order_and_missing_ones_codes(tmp_path):
    values = [1.0, 2.0, 9.0] * 20
    column, _ = drafted(
        tmp_path, values, column_labels={"c": "Sex"}, missing_ranges={"c": [9.0]}, **SEX
    )
    assert (column.kind, column.levels, column.missing) == ("categorical", (2, 1, 3), (9,))
    assert column.value_labels == {"2": "women", "1": "men", "3": "other", "9": "refused"}
    assert column.description == "Sex"
    assert column.left_as_drafted == ("levels", "missing", "value_labels")


def test_empty_cells_are_a_code_where_there_are_any(tmp_path):
    column, _ = drafted(tmp_path, [1.0, 2.0, math.nan], missing_ranges={"c": [9.0]}, **SEX)
    assert column.missing == ("", 9)


@pytest.mark.parametrize(
    ("measure", "labels", "kind"),
    [
        *(("nominal", {}, "categorical"), ("ordinal", {}, "ordinal"), ("scale", {}, "integer")),
        ("ordinal", {1.0: "low", 2.0: "middle", 3.0: "high"}, "ordinal"),
        ("scale", {1.0: "low", 2.0: "middle", 3.0: "high"}, "ordinal"),
        ("scale", {1.0: "never"}, "integer"),
        ("nominal", {1.0: "one"}, "categorical"),
        ("unknown", {1.0: "one", 2.0: "two"}, "categorical"),
    ],
)
def test_the_measurement_level_decides_where_the_labels_do_not(measure, labels, kind, tmp_path):
    column, text = drafted(
        tmp_path,
        [1.0, 2.0, 3.0] * 20,
        variable_measure={"c": measure},
        variable_value_labels={"c": labels} if labels else {},
    )
    assert column.kind == kind
    if kind != "integer":
        assert column.levels == (1, 2, 3)
    assert ("# Labelled values of columns of numbers" in text) == (labels == {1.0: "never"})


def test_ranges_of_missing_codes_leave_the_bounds_alone(tmp_path):
    values = [float(k) for k in range(N)] * 2 + [-99.0, -98.5, 777.0]
    column, _ = drafted(
        tmp_path,
        values,
        missing_ranges={"c": [{"lo": -100.0, "hi": -90.0}, 777.0]},
        variable_measure={"c": "scale"},
    )
    assert (column.kind, column.lower, column.upper) == ("integer", 0, N - 1)
    assert set(column.missing) == {777, -99, -98.5}


def test_decimals_come_from_the_format(tmp_path):
    values = [k / 7 for k in range(N)]
    column, _ = drafted(tmp_path, values, variable_format={"c": "F8.3"})
    assert (column.kind, column.decimals) == ("continuous", 3)
    assert "decimals" in column.left_as_drafted


def test_texts_have_labels_and_missing_codes_too(tmp_path):
    column, _ = drafted(
        tmp_path,
        ["a", "b", "zz", ""] * 15,
        variable_value_labels={"c": {"a": "first", "d": "fourth"}},
        missing_ranges={"c": ["zz"]},
        variable_measure={"c": "nominal"},
    )
    assert (column.levels, column.missing) == (("a", "d", "b"), ("", "zz"))


def test_texts_that_are_numbers_have_labels_beside_missing_codes_without(tmp_path):
    """Levels are the texts that have labels, whatever number a value reads as."""
    labels = {"1": "a", "2": "b", "66": "refused"}
    told, _ = drafted(
        tmp_path,
        ["1", "2", "66", "6"] * 20,
        missing_ranges={"c": ["6", "66"]},
        variable_value_labels={"c": labels},
    )
    assert told.levels == ("1", "2")
    assert sorted(told.missing) == ["6", "66"]
    assert told.value_labels == labels


def test_tags_of_stata_are_missing_codes(tmp_path):
    values = pd.Series([*range(N), *range(N), "a", "b", None], dtype=object)
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"c": values, "when": [0.0] * len(values)}),
        str(path),
        variable_value_labels={"c": {"a": "refused", "c": "never asked"}},
        missing_user_values={"c": ["a", "b", "c"]},
        variable_format={"when": "%tc"},
    )
    text = draft_schema(path)
    column = Schema.loads(text).columns["c"]
    assert (column.kind, column.lower, column.upper) == ("integer", 0, N - 1)
    assert set(column.missing) == {"", ".a", ".b", ".c"}
    assert column.value_labels == {".a": "refused", ".c": "never asked"}
    assert check(path, Schema.loads(text)).ok


def test_a_column_of_missing_codes_alone_is_drafted_if_it_has_labels(tmp_path):
    column, _ = drafted(tmp_path, [9.0] * 5, missing_ranges={"c": [9.0]}, **SEX)
    assert column.levels == (2, 1, 3)
