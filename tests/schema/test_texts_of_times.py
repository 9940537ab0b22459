"""Texts beside columns of times in expressions and formulas: numbers of the line, or a sentence."""

import pytest

from understudy.schema import Schema
from understudy.schema.expressions import Expression, times_as_places

COLUMNS = Schema.loads(
    """
    [columns.stay]
    kind = "duration"
    lower = "PT0H"
    upper = "P30D"
    resolution = "hour"
    [columns.day]
    kind = "date"
    lower = 1970-01-01
    upper = 2021-12-31
    [columns."time in"]
    kind = "time"
    resolution = "minute"
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 99
    [columns.sex]
    kind = "categorical"
    levels = ["f", "m"]
    """
).columns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stay > 'P3D'", "stay > 72"),
        ('"P3D" <= stay', "72 <= stay"),
        ("stay >= 'PT90M'", "stay >= 1.5"),  # values are whole hours; the text is not cut to one
        ("day == '1970-01-11' and sex == 'f'", "day == 10 and sex == 'f'"),
        ("`time in` < '08:30'", "`time in` < 510"),
        ("{stay > 'P1D'} ~ age", "{stay > 24} ~ age"),
        ("sex != 'P3D'", "sex != 'P3D'"),
        ("unknown > 'P3D'", "unknown > 'P3D'"),
    ],
)
def test_a_text_beside_a_column_of_times_is_its_place(text, expected):
    assert times_as_places(text, COLUMNS) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stay > '3 weeks'", "times such as 'PT0S'"),
        ("stay > 'P1M'", "times such as"),
        ("day > 'yesterday'", "times such as '1970-01-01'"),
        ("age > '30'", "it holds numbers"),
    ],
)
def test_a_text_that_is_no_value_is_one_sentence(text, said):
    with pytest.raises(ValueError, match="compares") as error:
        times_as_places(text, COLUMNS)
    assert said in str(error.value)


def test_and_and_or_are_the_signs_between_comparisons():
    words = Expression.read("age > 30 and sex == 'f' or age < 3 and age > 1")
    signs = Expression.read("((age > 30) & (sex == 'f')) | ((age < 3) & (age > 1))")
    import ast

    assert ast.dump(words.tree) == ast.dump(signs.tree)
    with pytest.raises(ValueError, match="stand between comparisons"):
        Expression.read("age and sex == 'f'")
