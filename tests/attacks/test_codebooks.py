"""Attacks on codebooks as sources: a value of the rows comes in under the name of a codebook.

The claim: what a codebook may have observed, and what the rows gave beside it, makes the guarantee
conditional and is named, until it is changed or confirmed; and nothing of the rows that a codebook
reports, or that disagrees with it, is told.
"""

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_codebooks import DDI
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SecureRandomness
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

RNG = np.random.default_rng(3)
N = 300
ROWS = pl.DataFrame(
    {
        "sex": RNG.choice([1, 2], N),
        "mood": RNG.choice([1, 2, 3], N),
        "age": RNG.integers(21, 88, N),
    }
)
SEEN = DDI.replace('min="0" max="120"', 'min="21" max="87"')


@pytest.fixture
def book(tmp_path):
    """The path of a codebook with a text."""

    def written(text):
        path = tmp_path / "book.xml"
        path.write_text(text)
        return path

    return written


def promise(text):
    """The guarantee of a release by this schema, once somebody has said that it is reviewed."""
    schema = Schema.loads(text.replace("reviewed = false", "reviewed = true"))
    return open_gate(Table(ROWS, schema), Budget.of(1), SecureRandomness()).guarantee()


def test_a_range_that_a_program_observed_makes_the_guarantee_conditional(book):
    text = us.read_codebook(book(SEEN)).dumps()
    guarantee = promise(text)
    assert guarantee.kind == "conditional"
    assert "Entries of age (lower, upper)" in str(guarantee.leaks)
    assert "sex" not in str(guarantee.leaks)
    changed = text.replace("lower = 21", "lower = 0").replace("upper = 87", "upper = 120")
    assert promise(changed).kind == "pure"
    confirmed = text.replace(
        "lower = 21", 'lower = 21\nconfirmed = { lower = "law", upper = "law" }'
    )
    assert promise(confirmed).kind == "pure"


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_the_name_of_a_codebook_does_not_cover_what_the_rows_gave(book, end):
    other = {"lower": 'max="120"', "upper": 'min="0"'}[end]
    asked = DDI.replace('min="0" max="120"', other)
    text = us.draft(ROWS, codebook=book(asked))
    schema = Schema.loads(text)
    age = schema.columns["age"]
    assert (age.lower, age.upper) == {"lower": (21, 120), "upper": (0, 87)}[end]
    assert age.source == "People of a town, variable age"
    assert end in age.left_as_drafted
    assert promise(text).kind == "conditional"


def test_statistics_of_the_rows_in_a_codebook_reach_nothing(book):
    frequency = '<catStat type="freq">141</catStat></catgry>'
    told = SEEN.replace("</catgry>", frequency).replace(
        "<varFormat", '<sumStat type="max">87.25</sumStat><varFormat'
    )
    assert us.read_codebook(book(told)) == us.read_codebook(book(SEEN))


def test_one_odd_row_changes_nothing_that_the_codebook_says(book):
    path = book(DDI)
    odd = pl.DataFrame({"sex": [7654], "mood": [3], "age": [4321]}, schema=ROWS.schema)
    plain, with_odd = (us.draft(rows, codebook=path) for rows in (ROWS, pl.concat([ROWS, odd])))
    assert Schema.loads(plain).declared == Schema.loads(with_odd).declared
    assert "do not agree" not in plain
    assert "do not agree" in with_odd
    assert "7654" not in with_odd
    assert "4321" not in with_odd
