"""What a plan and a release say where nothing that is bought tells of two columns together."""

import warnings
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.cli.console import progress
from understudy.inference.declared import public_delta

LEVELS = ", ".join(f'"{k}"' for k in range(20))
COLUMN = """
[columns.{}]
kind = "ordinal"
levels = [{}]
reviewed = true
source = "law"
"""


def schema(columns="abc", rows='rows = "private"\nrow_limit = 20000'):
    return us.Schema.loads(rows + "".join(COLUMN.format(name, LEVELS) for name in columns))


def said(*args, **more):
    told = us.plan(schema(*args), **{"epsilon": 1, **more}).remarks
    return [one for one in told if one.startswith("Without δ")]


def test_without_delta_a_plan_says_that_pairs_are_not_answered_and_what_buys_them():
    (sentence,) = said()
    assert "as δ = 5e-7" in sentence
    assert "20,000, the declared limit of rows" in sentence
    (sentence,) = said("abc", 'rows = "public"\nn_rows = 6366')
    assert "as δ = 1e-6" in sentence
    for none in ('rows = "private"', 'rows = "public"\nn_rows = 0'):
        (sentence,) = said("abc", none)
        assert "a public number of rows" in sentence


@pytest.mark.parametrize(
    "asked",
    [
        {"delta": "1e-6"},
        {"analyses": ["table a + b"]},
        {"method": "laplace", "options": {"form": "lazy"}},
        {"budget": {"answers": "0.5"}},
        {"method": "marginals"},
    ],
    ids=str,
)
def test_nothing_is_said_where_something_tells_of_two_columns(asked):
    assert not said(**asked)


def test_nothing_is_said_of_one_column_or_of_a_small_table():
    assert not said("a")
    assert not said("ab", method="laplace")


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 10**12))
def test_the_delta_is_at_most_one_in_a_hundred_rows_and_not_far_below(rows):
    share = Fraction(public_delta(rows)) * 100 * rows
    assert Fraction(1, 2) <= share <= 1


def made(**more):
    """A small release; whatever it warns of is an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = pl.DataFrame(dict.fromkeys("abc", [str(k) for k in range(20)] * 20))
        return us.synthesize(rows, schema(), epsilon=1, insecure_noise_seed=1, **more)


def test_a_release_says_the_same_as_its_plan_before_anything_is_spent():
    (sentence,) = said()
    with pytest.raises(us.UnderstudyWarning) as told:
        made()
    assert str(told.value) == sentence


@pytest.mark.parametrize("asked", [{"delta": "1e-6"}, {"analyses": ["table a + b"]}], ids=str)
def test_a_release_says_nothing_where_something_tells_of_two_columns(asked):
    assert made(**asked).manifest.n_rows > 0


@pytest.mark.parametrize("quiet", [False, True])
def test_the_terminal_says_it_in_a_line_unless_quiet(quiet, capsys):
    (sentence,) = said()
    with progress(quiet=quiet):
        rows = pl.DataFrame(dict.fromkeys("abc", [str(k) for k in range(20)] * 20))
        us.synthesize(rows, schema(), epsilon=1, insecure_noise_seed=1)
    assert capsys.readouterr().err.splitlines() == ([] if quiet else [sentence])
