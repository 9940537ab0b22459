"""Widths of declared analyses are told beside those of the rows."""

import argparse

import pytest

from answer_widths import SIX, declared, widths
from natural_questions import read

pytestmark = pytest.mark.whole


@pytest.mark.nightly
def test_widths_of_declared_analyses_are_somewhat_above_those_of_the_rows():
    asked = read(SIX)[:2]
    given = argparse.Namespace(n=5_000, repetitions=1, epsilon="20", delta="1e-6")
    ratio, answered, held = widths(asked, declared(asked), given)
    assert 0.9 < ratio < 2
    assert answered == 1
    assert held >= 0.5
