"""The public scale of a number: there and back, bounds, and the unit of densities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import MethodError
from understudy.papers.column_models import REACH, Response
from understudy.schema import Schema

reproducible = settings(derandomize=True, deadline=None)

SCHEMA = Schema.loads(
    """
[columns.income]
kind = "continuous"
lower = -7000
upper = 1800000
[columns.age]
kind = "integer"
lower = 18
upper = 90
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-03-31
[columns.one]
kind = "continuous"
lower = 0
upper = 0.5
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""
)
SCALES = {
    "asinh": Response(form="asinh", low=-7e3, high=1.8e6, unit=18e3),
    "log": Response(form="log", low=-7e3, high=1.8e6, offset=7001.0),
    "identity": Response(form="identity", low=-7e3, high=1.8e6),
}


@pytest.mark.parametrize("form", SCALES)
@reproducible
@given(share=st.floats(0, 1))
@pytest.mark.nightly(every=3)
def test_there_and_back(form, share):
    scale = SCALES[form]
    number = np.array([scale.low + (scale.high - scale.low) * share])
    place = scale.to(number)
    assert abs(place[0]) <= REACH * (1 + 1e-12)
    assert scale.back(place) == pytest.approx(number, rel=1e-9, abs=1e-6)


@reproducible
@given(
    low=st.floats(-1e12, 1e12),
    width=st.floats(0, 1e12),
    unit=st.floats(1e-3, 1e6),
    share=st.floats(0, 1),
)
def test_any_bounds_have_a_scale(low, width, unit, share):
    scale = Response(form="asinh", low=low, high=low + width, unit=unit)
    number = np.clip(np.array([low + width * share]), low, low + width)
    largest = max(abs(low), abs(low + width))
    back = scale.back(scale.to(number))
    assert low <= back[0] <= low + width
    assert abs(back[0] - number[0]) <= 1e-9 * max(largest, unit)


@pytest.mark.parametrize("form", SCALES)
def test_bounds_stand_at_three_and_numbers_keep_their_order(form):
    scale = SCALES[form]
    numbers = np.array([-7e3, -10.0, 0.0, 1.0, 5e4, 1.8e6])
    places = scale.to(numbers)
    assert places[[0, -1]] == pytest.approx([-REACH, REACH])
    assert (np.diff(places) > 0).all()


@pytest.mark.parametrize("form", SCALES)
def test_nothing_comes_back_beyond_the_bounds(form):
    scale = SCALES[form]
    places = np.array([-np.inf, -1e9, -3.1, 0.0, 3.1, 1e9, np.inf, np.nan])
    numbers = scale.back(places)
    assert numbers[:3].tolist() == [-7e3] * 3
    assert numbers[4:7] == pytest.approx([1.8e6] * 3, rel=1e-12)
    assert numbers[:-1].max() <= 1.8e6
    assert np.isnan(numbers[-1])


TRANSFORMED = {
    "asinh": lambda y: np.arcsinh(y / 18e3),
    "log": lambda y: np.log(y + 7001.0),
    "identity": lambda y: y,
}


@pytest.mark.parametrize("form", SCALES)
def test_densities_are_per_unit_of_the_transformed_number(form):
    """log f per t = log f per z + log dz/dt, and the derivative is taken by differences."""
    scale, t = SCALES[form], TRANSFORMED[form]
    pair = np.array([4.9e4, 5.1e4])
    slope = np.diff(scale.to(pair)) / np.diff(t(pair))
    assert scale.log_unit == pytest.approx(np.log(slope[0]), rel=1e-9)


def test_the_currency_does_not_matter_to_asinh_and_logarithm():
    for form, extra in (("asinh", {"unit": 18e3}), ("log", {"offset": 7001.0})):
        cents = {name: 100 * one for name, one in extra.items()}
        one = Response(form=form, low=-7e3, high=1.8e6, **extra)
        other = Response(form=form, low=-7e5, high=1.8e8, **cents)
        y = np.array([-500.0, 3e4])
        assert other.to(100 * y) == pytest.approx(one.to(y))
        assert other.log_unit == pytest.approx(one.log_unit)


def test_the_unit_is_a_thousandth_of_the_larger_bound():
    of = {name: Response.of(name, SCHEMA.columns[name]) for name in ("income", "age", "one")}
    assert [of[name].unit for name in of] == [1.8e3, 0.09, 0.0005]
    assert Response.of("x", SCHEMA.columns["day"]).back(np.zeros(1))[0] > 18e3


def test_a_range_of_one_point():
    for form in ("asinh", "identity"):
        for low in (0.0, 5.0):
            scale = Response(form=form, low=low, high=low)
            assert scale.to(np.array([low])).tolist() == [0.0]
            assert scale.back(np.array([-7.0, 7.0])).tolist() == [low, low]


@pytest.mark.parametrize("offset", [None, 0.0, 7000.0])
def test_a_logarithm_of_no_number_is_refused_with_what_to_do(offset):
    with pytest.raises(MethodError, match=r"'income'.*offset above 7000.*asinh"):
        Response.of("income", SCHEMA.columns["income"], "log", offset=offset)
    assert Response.of("income", SCHEMA.columns["income"], "log", offset=7000.5).offset == 7000.5
    assert Response.of("age", SCHEMA.columns["age"], "log").offset == 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(MethodError, match="'sex' has no numbers"):
        Response.of("sex", SCHEMA.columns["sex"])
    with pytest.raises(MethodError, match=r"'age'.*unit"):
        Response.of("age", SCHEMA.columns["age"], unit=0.0)
    with pytest.raises(MethodError, match="offset"):
        Response(form="log", low=1.0, high=2.0, offset=np.inf)
    with pytest.raises(MethodError, match=r"'age'.*one of asinh"):
        Response.of("age", SCHEMA.columns["age"], "root")
    for ends in ((2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(MethodError, match="bounds"):
            Response(form="identity", low=ends[0], high=ends[1])
