"""Columns: how states are numbered, which codes are told apart."""

import datetime

import pytest
from pydantic import ValidationError

from understudy.schema import Boolean, Categorical, Continuous, Date, Integer, Ordinal, Schema
from understudy.schema.base import find_duplicate, number_of, same_value, text_of

DAY = datetime.date


def integer(**entries):
    return Integer(kind="integer", **{"lower": 0, "upper": 9, **entries})


def continuous(**entries):
    return Continuous(kind="continuous", **{"lower": 0, "upper": 1, **entries})


def date(**entries):
    return Date(kind="date", **{"lower": DAY(2020, 1, 1), "upper": DAY(2020, 12, 31), **entries})


def test_states_are_levels_then_codes_then_the_declared_out_of_domain():
    column = Categorical(
        kind="categorical",
        levels=("f", 3, 2.0, True, DAY(2020, 1, 1)),
        missing=("", -9),
        not_applicable=("skipped",),
        out_of_domain="other",
    )
    assert column.labels == (
        *("f", "3", "2", "true", "2020-01-01"),
        *("skipped", "(empty)", "-9", "other"),
    )
    assert (column.n_ordinary, column.size) == (5, 9)
    assert column.codes == ("skipped", "", -9, "other")


def test_states_of_numbers_are_intervals_then_codes():
    column = integer(bins=2, spikes=(0,), missing=(-1,))
    assert column.labels == ("0", "0 to 4", "5 to 9", "-1")
    assert column.bounds == (0.0, 9.0)
    assert Boolean(kind="boolean", missing=("",)).labels == ("false", "true", "(empty)")


def test_default_bins():
    assert integer(upper=49).n_ordinary == 50  # one for each value
    assert integer(upper=50).n_ordinary == 20
    assert continuous().n_ordinary == 20
    assert date().n_ordinary == 20


def test_dates_are_days_since_1970():
    column = date(bins=(DAY(2020, 1, 1), DAY(2020, 2, 1), DAY(2020, 12, 31)))
    assert column.bounds == (18262.0, 18627.0)
    assert column.labels == ("2020-01-01 to 2020-01-31", "2020-02-01 to 2020-12-31")


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (3, 3.0, True),
        (3, "3", True),
        (3.0, "3", True),
        ("3", "3.0", False),
        ("03", "3", False),
        ("03", 3, True),
        (True, "true", True),
        (True, 1, False),
        (0.5, "1/2", False),
        ("1_000", 1000, False),
        ("inf", "inf", True),
        (10**400, "x", False),
        (DAY(2020, 1, 1), "2020-01-01", True),
    ],
)
def test_when_two_values_are_one(left, right, same):
    assert same_value(left, right) is same
    assert same_value(right, left) is same
    assert (find_duplicate([left, "in between", right]) == right) is same


def test_what_is_a_number():
    assert [number_of(v) for v in ("1e3", "+.5", " 2. ", -0.0)] == [1000.0, 0.5, 2.0, 0.0]
    nothing = ("", "1_000", "٣", "inf", "nan", "1e400", "0x10", True, DAY(2020, 1, 1), 10**400)
    assert [number_of(v) for v in nothing] == [None] * len(nothing)
    assert text_of(1e20) == "100000000000000000000"


@pytest.mark.parametrize(
    ("build", "phrase"),
    [
        (lambda: Categorical(kind="categorical", levels=(3, "3")), "'3' stands twice"),
        (lambda: Ordinal(kind="ordinal", levels=("a",), missing=("a",)), "'a' stands twice"),
        (lambda: Ordinal(kind="ordinal", levels=(0, 1e300)), "within ±1e\\+30"),
        (lambda: Categorical(kind="categorical", levels=()), "at least 1"),
        (lambda: Categorical(kind="categorical", levels=(float("nan"),)), "cannot be declared"),
        (lambda: integer(missing=(float("inf"),)), "cannot be declared"),
        (lambda: Boolean(kind="boolean", missing=(9, "9")), "declared twice"),
        (lambda: Boolean(kind="boolean", missing=("TRUE",)), "cannot be told from true"),
        (lambda: Boolean(kind="boolean", missing=(0,)), "cannot be told from true"),
        (lambda: Boolean(kind="boolean", out_of_domain="1.0"), "cannot be told from true"),
        (lambda: integer(missing=(9,)), "between lower and upper"),
        (lambda: integer(missing=("09",)), "between lower and upper"),
        (lambda: integer(missing=(99, 99.0)), "declared twice"),
        (lambda: integer(lower=2**53 + 2, upper=2**53 + 3), "within ±2\\^53"),
        (lambda: integer(lower=5, upper=4), "were the two exchanged"),
        (lambda: continuous(lower=float("inf")), "finite"),
        (lambda: continuous(missing=(0.5,)), "between lower and upper"),
        (lambda: date(missing=(DAY(2020, 6, 1),)), "between lower and upper"),
        (lambda: date(missing=("2020-06-01",)), "between lower and upper"),
        (lambda: date(bins=367), "number of values, 366"),
    ],
)
def test_contradictions_are_refused(build, phrase):
    with pytest.raises(ValidationError, match=phrase):
        build()


def test_codes_outside_the_bounds_are_fine():
    assert integer(missing=(-1, "x", "010")).size == 13
    assert date(missing=(-9, 18300, "2020-13-45", DAY(9999, 12, 31))).n_ordinary == 20


def test_a_changed_copy_of_a_schema_is_a_schema_of_its_own():
    schema = Schema(columns={"a": integer(), "b": Boolean(kind="boolean")})
    assert schema.domain.n_cells == 20  # computed once, must not be taken over by the copy
    smaller = schema.model_copy(update={"columns": {"a": integer(upper=4)}})
    assert smaller.domain.n_cells == 5
    with pytest.raises(ValidationError, match="needs n_rows"):
        schema.model_copy(update={"rows": "public"})


def test_a_copy_takes_over_nothing_that_was_computed():
    column = integer(bins=5)
    assert len(column.intervals) == 5
    assert len(column.labels) == 5
    finer = column.model_copy(update={"bins": 10})
    assert len(finer.intervals) == len(finer.labels) == finer.n_ordinary == 10
    assert len(column.intervals) == 5
    assert column.model_copy() == column
