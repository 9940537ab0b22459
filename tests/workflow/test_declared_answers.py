"""What is bought for declared analyses, and how what buys it is divided."""

from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from schemas import column
from understudy.inference.declared import declared_analyses
from understudy.mechanisms.second_moments import SecondMoments, TermMoments
from understudy.schema import Schema
from understudy.workflow.declared_answers import declared_answers, divide

SCHEMA = Schema.loads(
    "\n".join(
        [
            column("x", "continuous", lower=0.0, upper=10.0),
            column("y", "continuous", lower=0.0, upper=10.0),
            column("z", "continuous", lower=0.0, upper=10.0, missing=[-1.0]),
            column("g", "categorical", levels=list("abcdef")),
            column("s", "categorical", levels=["f", "m"]),
        ]
    )
)


def bought(*texts, accounting="zcdp"):
    return declared_answers(declared_analyses(texts, SCHEMA), SCHEMA, accounting)


@pytest.mark.parametrize("accounting", ["zcdp", "pure"])
def test_parts_make_a_whole_and_follow_what_an_answer_needs(accounting):
    """A curve of a number needs more than the mean of a group."""
    texts = "ols y ~ x + I(x**2)", "mean y where s == 'f'"
    found = bought(*texts, accounting=accounting)
    assert sum(part for _, part in found) == 1
    parts = {asked.columns: part for asked, part in found}
    assert parts["x", "y"] > 1.3 * parts["y", "s"]
    assert bought(*texts, accounting=accounting) == found


def test_nested_questions_are_bought_once():
    (asked, part), *others = bought("ols y ~ x * s + g", "ols y ~ x * s", "ols y ~ x * g")
    assert not others
    assert isinstance(asked, TermMoments)
    assert set(asked.terms) == {"g", "s", "x", "y", "g:x", "s:x"}
    assert part == 1


@pytest.mark.parametrize(
    "texts",
    [
        ("ols y ~ x * s", "ols z ~ x * s"),  # z has a code of absence
        ("ols y ~ x * s", "ols y ~ x * s where g == 'a'"),
        ("ols y ~ x", "ols z ~ x"),
    ],
)
def test_questions_about_other_records_are_bought_apart(texts):
    assert len(bought(*texts)) == 2


def test_questions_about_other_columns_are_bought_apart():
    """As a matrix of all columns has products that nobody asks for."""
    apart = bought("correlation x + y", "proportion s ~ g", "ols z ~ x")
    assert [own.columns for own, _ in apart] == [("x", "y"), ("g", "s"), ("x", "z")]
    assert all(isinstance(own, SecondMoments) for own, _ in apart)


def test_one_hard_answer_leaves_the_parts_of_others_apart():
    hard, less, *easy = divide([9.0, 0.7, 0.12, 0.23, 0.23])
    assert hard > less > 2 * max(easy)


def test_no_part_is_far_from_the_middle_one():
    parts = divide([0.0, 1.0, 100.0, 1.0])
    assert sum(parts) == 1
    assert float(max(parts) / min(parts)) == pytest.approx(6, rel=0.02)
    assert divide([0.0, 0.0]) == (Fraction(1, 2), Fraction(1, 2))
    assert divide([]) == ()


def test_parts_make_expected_widths_narrower_than_even_ones():
    """In the mean of squares over those by sampling, for three questions of different kinds."""
    texts = [
        "ols y ~ x + I(x**2)",
        "ols np.log(y + 1) ~ x + s",
        "table g + s",
    ]

    def squares(plan):
        by = {}
        for one in plan.expected:
            by.setdefault(one.analysis, []).append((one.half_width / one.sampling) ** 2)
        return np.mean([np.median(own) for own in by.values()])

    how = {"epsilon": 1, "delta": "1e-6", "assume_rows": 5_000, "budget": {"layer": 0}}
    how |= {"method": "independent"}
    together = us.plan(SCHEMA, analyses=texts, **how)
    alone = {
        text: us.plan(SCHEMA, analyses=[text], **how | {"budget": {"layer": 0, "answers": "0.1"}})
        for text in texts
    }
    even = np.mean([squares(own) for own in alone.values()])
    assert squares(together) < 0.95 * even
