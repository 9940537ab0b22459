"""How values show themselves in passing: one line, nothing confidential, HTML that is escaped."""

import dataclasses
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us

EVIL = "<script>alert('x')</script>"
SCHEMA = f"""
title = "{EVIL}"
row_limit = 1000
[columns."<b>city</b>"]
kind = "categorical"
levels = ["{EVIL}", "B&b", "Cc"]
source = "codebook"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
source = "law"
reviewed = true
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    city, age = rng.choice([EVIL, "B&b", "Cc"], 311), rng.integers(0, 100, 311)
    return pd.DataFrame({"<b>city</b>": city, "age": age})


@pytest.fixture(scope="module")
def schema():
    return us.Schema.loads(SCHEMA)


@pytest.fixture(scope="module")
def release(rows, schema):
    return us.synthesize(rows, schema, epsilon=1, sets=2, method="laplace")


def test_a_release_is_one_line(release):
    found = re.fullmatch(
        r"Release\(laplace, pure, ε = 1, 2 sets × ([\d,]+) rows × 2 columns\)", repr(release)
    )
    assert found
    assert int(found[1]) == release.manifest.n_rows


def test_a_release_that_is_not_private_says_so(rows, schema):
    seeded = us.synthesize(rows, schema, epsilon=1, insecure_noise_seed=1)
    assert "NOT private" in repr(seeded)
    assert "NOT private" in seeded._repr_html_()
    open_one = us.synthesize(
        rows, schema, epsilon=1, method="contingency-table", allow_nonprivate=True
    )
    assert repr(open_one).startswith("Release(contingency-table, NOT private, ")


def test_a_notebook_shows_a_small_table(release):
    html = release._repr_html_()
    for text in ("laplace", release.guarantee.statement, release.size_words, "report.html"):
        assert text in html
    assert html.count("<tr>") == 3 + 1 + 5
    assert len(html) < 3_000


def test_what_a_notebook_shows_is_escaped(release):
    html = release._repr_html_()
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;city" in html
    assert "<script" not in html
    assert "<b>" not in html


def test_a_notebook_shows_schema_plan_guarantee_and_estimates(release, schema):
    asked = [{"kind": "mean", "formula": "age", "asked_by": EVIL}]
    plan = us.plan(schema, epsilon=1, delta=1e-6, analyses=asked)
    estimates = us.analyze(release, "mean", "age")
    for shown, text in (
        (schema._repr_html_(), "codebook"),
        (plan._repr_html_(), "sd of noise"),
        (plan._repr_html_(), "half-width"),
        (release.guarantee._repr_html_(), release.guarantee.statement),
        (estimates._repr_html_(), estimates.rows()[0][1]),
    ):
        assert text in shown
        assert "<script" not in shown
        assert "<b>" not in shown


def test_a_wide_table_is_cut_in_a_notebook(release):
    wide = pl.DataFrame({f"c{k}": ["x" * 500] for k in range(40)})
    cut = dataclasses.replace(release, tables=(wide,))._repr_html_()
    assert "c7" in cut
    assert "c8" not in cut
    assert "x" * 41 not in cut
    empty = dataclasses.replace(release, tables=(wide.clear(),))._repr_html_()
    assert "First 0 synthetic rows" in empty


def test_a_guarantee_is_one_line_and_prints_its_statement(release):
    assert repr(release.guarantee) == "Guarantee(pure, ε = 1, add_remove, 3 public inputs)"
    assert str(release.guarantee) == release.guarantee.statement


def test_schema_and_plan_are_one_line(schema):
    assert repr(schema) == str(schema) == f"Schema({EVIL!r}, 2 columns, rows private)"
    assert (
        repr(us.plan(schema, epsilon=1, method="laplace"))
        == "Plan(laplace, ε = 1, 1 free set, 1 step)"
    )


def test_a_draft_shows_no_level_and_no_bound(rows):
    """The claim that this tries to break: what was read from the rows is not shown in passing."""
    draft = us.Schema.loads(us.draft(rows))
    for shown in (repr(draft), str(draft), draft._repr_html_()):
        assert EVIL not in shown
        assert str(rows["age"].max()) not in shown


def test_an_analysis_shows_its_table(release):
    analysis = us.analyze(release, "mean", "age")
    assert repr(analysis) == str(analysis)
    assert "lower" in repr(analysis)


def test_figures_of_the_rows_are_not_shown_in_passing(rows, release):
    """The claim that this tries to break: a notebook keeps no confidential figure by accident."""
    found = us.evaluate(rows, release)
    attacks = us.risk(rows, release, control=rows[:50])
    drawn = us.tradeoff(
        rows, release.schema, methods=["laplace"], epsilons=[1], repetitions=1, utility=["one-way"]
    )
    for internal in (found, attacks, drawn):
        for shown in (repr(internal), str(internal), repr(internal.value)):
            assert not re.search(r"\d\.\d", shown)
            assert "311" not in shown  # their exact number
            assert "\n" not in shown
            assert len(shown) < 120
        assert "not for release" in repr(internal)


def test_a_report_of_a_check_shows_no_value_and_no_count(rows, schema):
    wrong = rows.assign(age="SECRET-VALUE-1234")
    report = us.check(wrong, schema)
    assert report.findings
    assert "SECRET" not in repr(report)
    assert "311" not in repr(report)
