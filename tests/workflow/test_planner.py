"""A planner says at any ε what a plan says, and finds the ε of a wanted width."""

import math
from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from night import NIGHT
from understudy.demo import demo_schema
from understudy.errors import InferenceError, MethodError
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.plan import Planner

SCHEMA = demo_schema().part(["age", "yrs_married", "religious", "affairs"])
ANALYSES = ("mean affairs", "ols affairs ~ religious", "correlation age + yrs_married")
HOW = SynthesisOptions(analyses=ANALYSES, assume_rows=6_000)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.nightly(every=2)
def test_widths_at_any_epsilon_are_those_of_plans(delta):
    planner = Planner(SCHEMA, delta=delta, how=HOW)
    for epsilon in ("0.3", "1.7", "3") if NIGHT else ("0.3",):
        planned = us.plan(SCHEMA, epsilon=epsilon, delta=delta, how=HOW).expected
        found = planner.expected_widths(epsilon)
        assert [(one.analysis, one.name, one.refused) for one in found] == [
            (one.analysis, one.name, one.refused) for one in planned
        ]
        np.testing.assert_allclose(
            [one.half_width for one in found], [one.half_width for one in planned], rtol=0.02
        )
        np.testing.assert_allclose(
            [one.noise for one in found], [one.noise for one in planned], rtol=0.05
        )
        assert any(not one.is_sure for one in planned)
        np.testing.assert_allclose(
            [one.ends for one in found], [one.ends for one in planned], rtol=0.05
        )


@pytest.mark.nightly
def test_the_least_epsilon_is_within_two_percent_of_a_grid_search():
    planner = Planner(SCHEMA, delta="1e-6", how=HOW)
    width, text = 0.5, "mean affairs"

    def reached(epsilon):
        planned = us.plan(SCHEMA, epsilon=epsilon, delta="1e-6", how=HOW).expected
        return next(one.half_width for one in planned if one.analysis == text) <= width

    found = float(planner.least_epsilon({text: width}))
    grid = found * 1.01 ** np.arange(-4, 5)
    least = next(epsilon for epsilon in grid if reached(repr(float(epsilon))))
    assert math.isclose(found, least, rel_tol=0.02)


def test_what_no_epsilon_reaches_is_refused_with_what_sampling_leaves():
    planner = Planner(SCHEMA, delta="1e-6", how=HOW)
    with pytest.raises(MethodError, match="sampling alone leaves ±"):
        planner.least_epsilon({"mean affairs": 1e-6})
    with pytest.raises(InferenceError, match="is declared"):
        planner.least_epsilon({"mean children": 1.0})
    with pytest.raises(InferenceError, match="which half-width"):
        planner.least_epsilon({})
    with pytest.raises(MethodError, match="above 0"):
        planner.least_epsilon({"mean affairs": 0})


def test_another_delta_and_other_parts_are_those_of_plans():
    planner = Planner(SCHEMA, delta="1e-6", how=HOW)
    planner.expected_widths(1)
    for delta, parts in (("1e-9", {"answers": "0.7", "lines": "0.05"}), (0, {})):
        how = SynthesisOptions(analyses=ANALYSES, assume_rows=6_000, budget=parts)
        found = planner.beside(delta=delta, how=how)
        planned = us.plan(SCHEMA, epsilon="1.7", delta=delta, how=how)
        assert found.expected_widths("1.7") == planned.expected
        shares = found.shares("1.7")
        assert sum(shares.values()) - shares["rows"] == 1
        assert all(shares[name] == Fraction(stated) for name, stated in parts.items())


def test_without_analyses_nothing_is_expected():
    assert Planner(SCHEMA, how=SynthesisOptions()).expected_widths(1) == ()
