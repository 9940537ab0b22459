"""Methods as published: what they leave in is stated and stamped, wherever a reader looks."""

from fractions import Fraction

import polars as pl
import pytest

import understudy as us
from understudy.dp.perturbation import FLOATING, HALVED, UNCALIBRATED, overspent
from understudy.mechanisms.sums import BY_COUNT, ONE_CELL
from understudy.papers.exact import UNPAID, UNPAID_QUARTILES

COLUMNS = """
[columns.sick]
kind = "boolean"
source = "codebook"
reviewed = true
[columns.x]
kind = "continuous"
lower = 0
upper = 10
bins = 4
source = "codebook"
reviewed = true
[columns.y]
kind = "continuous"
lower = 0
upper = 1
bins = 2
source = "codebook"
reviewed = true
"""
FRAME = pl.DataFrame(
    {"sick": [True, False] * 20, "x": [k / 4 for k in range(40)], "y": [k / 40 for k in range(40)]}
)
CASES = [
    ("laplace", {}, {FLOATING, HALVED}),
    ("steps", {"layers": 1}, {FLOATING, HALVED, overspent(Fraction(2))}),
    ("steps", {"layers": 3}, {FLOATING, HALVED}),
    ("universal-histogram", {}, {FLOATING, HALVED, overspent(Fraction(3, 2))}),
    ("perturbed-histogram", {}, {FLOATING, HALVED}),
    ("perturbed-histogram", {"bins": "scott"}, {FLOATING, HALVED, UNPAID}),
    ("smoothed-histogram", {"bins": "scott"}, {UNPAID}),
    ("smoothed-histogram", {"bins": "fd"}, {UNPAID_QUARTILES}),
    ("modips", {}, {FLOATING, HALVED, ONE_CELL, BY_COUNT}),
    ("modips", {"bounds": "truncate"}, {FLOATING, HALVED, ONE_CELL, BY_COUNT, UNCALIBRATED}),
]


def schema(rows):
    return us.Schema.loads(("rows = 'public'\nn_rows = 40" if rows == "public" else "") + COLUMNS)


def release(method, options, rows="public", **more):
    more = {"epsilon": 3, "sets": 2, **more}
    return us.synthesize(FRAME, schema(rows), method=method, options=options, **more)


@pytest.mark.parametrize(("method", "options", "leaks"), CASES)
@pytest.mark.nightly(every=3)
def test_what_a_published_form_leaves_in_is_stamped(method, options, leaks, tmp_path):
    found = release(method, {**options, "mode": "paper"})
    promise = found.guarantee
    assert promise.kind == "conditional"
    assert set(promise.leaks) == leaks
    again = us.Release.load(found.save(tmp_path / "release"))
    assert again.guarantee == promise
    page = (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    for leak in leaks:
        assert leak in promise.statement
        assert leak.partition("(")[0] in page.replace("&#39;", "'")


@pytest.mark.parametrize(("method", "options", "leaks"), CASES)
def test_the_strict_form_leaves_nothing_in(method, options, leaks):
    assert leaks
    found = release(method, options)
    assert found.guarantee.kind == "pure"
    assert found.guarantee.leaks == ()


def test_with_private_rows_counts_are_not_halved():
    promise = release("laplace", {"mode": "paper"}, rows="private").guarantee
    assert promise.leaks == (FLOATING,)


def test_means_of_cells_as_published_say_that_their_noise_rests_on_private_counts(tmp_path):
    found = release("modips", {"mode": "paper"})
    steps = [step for step in found.manifest.ledger if step["query"].startswith("mean of ")]
    assert [step["query"] for step in steps] == ["mean of x by sick", "mean of y by sick"] * 2
    assert {step["sensitivity"] for step in steps} == {
        "L1 = 10/n_k, as published",
        "L1 = 1/n_k, as published",
    }
    assert all(step["noise"].endswith("divided by the private n_k of a cell") for step in steps)
    kinds = [one.kind for one in found.measurements]
    assert kinds.count("means") == 4
    assert "sums" not in kinds
    again = us.Release.load(found.save(tmp_path / "release"))
    (first,) = [one for one in again.measurements if one.kind == "means"][:1]
    assert first.frame(again.schema).columns == ["sick", "x", "y", "mean"]


def test_of_a_single_cell_the_sum_is_measured_in_both_modes():
    for mode in ("strict", "paper"):
        numbers = FRAME.select("x")
        of = us.Schema.loads(
            "rows = 'public'\nn_rows = 40\n"
            + COLUMNS[COLUMNS.index("[columns.x]") :].split("[columns.y]")[0]
        )
        found = us.synthesize(numbers, of, method="modips", epsilon=1, options={"mode": mode})
        assert BY_COUNT not in found.guarantee.leaks
        assert "sum of x" in [step["query"] for step in found.manifest.ledger]


def test_what_is_read_without_pay_stands_in_the_ledger():
    steps = release("smoothed-histogram", {"bins": "scott", "mode": "paper"}).manifest.ledger
    unpaid = [step for step in steps if step["noise"] == "none: unpaid"]
    assert [step["query"] for step in unpaid] == [
        "standard deviation of x",
        "standard deviation of y",
    ]
    assert {step["epsilon_exact"] for step in unpaid} == {"0"}
