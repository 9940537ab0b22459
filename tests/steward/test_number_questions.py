"""What a draft asks about numbers. Seeds are fixed; each made column is far from every limit."""

import numpy as np
import polars as pl
import pytest

from understudy.schema import Schema
from understudy.steward.draft import draft_schema

RNG = np.random.default_rng(11)
N = 4_000
FINE = RNG.integers(0, 50_000, N)
INCOMES = np.where(RNG.random(N) < 0.5, FINE // 500 * 500, FINE)
CASES = {
    "zeros": (np.where(RNG.random(N) < 0.08, 0, FINE + 1), "spikes = [0]"),
    "a spike": (np.where(RNG.random(N) < 0.9, 0.0, RNG.lognormal(8, 1, N).round(2)), "`spikes`"),
    "heaps": (INCOMES, "heaps = [500]"),
    "tens and fives": (
        np.where(RNG.random(N) < 0.4, FINE % 90 // 10 * 10, FINE % 90 + 10),
        "heaps = [10]",
    ),
    "a code far away": (np.where(RNG.random(N) < 0.003, 99_999_999, FINE), "far from the others"),
    "even numbers": (FINE, None),
    "a grid of hundreds": (FINE // 100 * 100, None),
    "normal ones": (RNG.normal(50, 10, N).round(3), None),
    "lognormal ones": (RNG.lognormal(10, 1, N).round(2), None),
    "few values": (RNG.integers(0, 20, N), None),
    "a code below a scale": (np.where(RNG.random(N) < 0.1, -1, RNG.integers(0, 11, N)), "below 0"),
    "a scale with both signs": (RNG.integers(-5, 6, N), None),
    "a code beside a scale": (
        np.where(RNG.random(N) < 0.1, 9, RNG.integers(1, 6, N)),
        "apart from the others",
    ),
    "a code below few levels": (
        np.where(RNG.random(N) < 0.1, -1, RNG.integers(1, 6, N)),
        "apart from the others",
    ),
    "a scale of five": (RNG.integers(1, 6, N), None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_asked_about_numbers(case):
    values, question = CASES[case]
    text = draft_schema(pl.DataFrame({"q": values}))
    asked = [line for line in text.splitlines() if line.startswith("#   'q': ")]
    assert len(asked) == (question is not None)
    assert question is None or question in asked[0]
    assert ("CONFIDENTIAL: questions that the rows raise" in text) == bool(asked)
    assert getattr(Schema.loads(text).columns["q"], "heaps", ()) == ()


@pytest.mark.parametrize(("zeros", "asked"), [(0.0, False), (0.2, True)])
def test_a_spike_that_a_name_suggests_is_asked_about_only_where_rows_have_it(zeros, asked):
    values = np.where(RNG.random(N) < zeros, 0, RNG.lognormal(8, 0.7, N).round(2) + 1)
    text = draft_schema(pl.DataFrame({"cost": values}))
    assert Schema.loads(text).columns["cost"].spikes == (0,)
    assert ("many rows share values in `spikes`" in text) == asked


def test_no_question_shows_a_value_of_the_rows():
    values = np.where(RNG.random(N) < 0.003, 87_654_321, np.where(RNG.random(N) < 0.2, 4321, FINE))
    text = draft_schema(pl.DataFrame({"q": values}))
    asked = "".join(line for line in text.splitlines() if line.startswith("#   'q': "))
    assert asked.count("?") >= 2
    assert "4321" not in asked
