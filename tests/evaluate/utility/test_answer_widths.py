"""Widths of the release's intervals over those of the rows: against statsmodels and textbooks."""

import math

import numpy as np
import pytest
import statsmodels.formula.api as smf

import understudy as us
from made_matrices import SCHEMA, people
from understudy.data.table import Table
from understudy.evaluate.regression import answer_widths, asked_of, columns_of, records_of
from understudy.evaluate.scores import AnswerWidth

ASKED = [
    "ols y ~ x + sex",
    "correlation x + y",
    "mean wage ~ sex",
    "proportion rare",
    "logit rare ~ np.exp(x)",
    "quantile y",
]
Z = 1.959963984540054


@pytest.fixture(scope="module")
def rows():
    return people(np.random.default_rng(5), 3000)


def released(rows, epsilon, analyses=ASKED, method="independent"):
    asked = {"epsilon": epsilon, "delta": "1e-6", "analyses": analyses, "insecure_noise_seed": 3}
    return us.synthesize(rows, SCHEMA, method=method, **asked)


@pytest.fixture(scope="module")
def release(rows):
    return released(rows, 2)


@pytest.fixture(scope="module")
def found(rows, release):
    return compared(rows, release)


def compared(rows, release):
    names = columns_of(release)
    original = records_of(SCHEMA, names, Table(rows, SCHEMA).read(names).expose())
    return answer_widths(release, original)


def by_question(found, question):
    return {one.term: one for one in found if one.question == question}


def test_the_rows_have_the_intervals_of_the_textbook(rows, found):
    frame = rows.to_pandas()
    fit = smf.ols("y ~ x + sex", frame).fit(cov_type="HC1")
    for term, one in by_question(found, "ols y ~ x + sex").items():
        np.testing.assert_allclose(one.original, fit.conf_int().loc[term], rtol=1e-6)
    r = np.corrcoef(frame["x"], frame["y"])[0, 1]
    (one,) = by_question(found, "correlation x + y").values()
    half = Z * (1 - r**2) / math.sqrt(3000)
    np.testing.assert_allclose(one.original, (r - half, r + half), rtol=1e-9)
    wage = frame[(frame["wage"] >= 0) & (frame["sex"] == "f")]["wage"]
    one = by_question(found, "mean wage ~ sex")["wage | sex[f]"]
    half = Z * wage.std() / math.sqrt(len(wage))
    np.testing.assert_allclose(one.original, (wage.mean() - half, wage.mean() + half), rtol=1e-3)


def test_the_release_has_the_intervals_of_analyze(release, found):
    frame = us.analyze(release, "ols", "y ~ x + sex").to_frame()
    for term, one in by_question(found, "ols y ~ x + sex").items():
        np.testing.assert_allclose(one.released, frame.loc[term, ["lower", "upper"]])
        own = one.original[1] - one.original[0]
        assert one.ratio == pytest.approx(
            (frame.loc[term, "upper"] - frame.loc[term, "lower"]) / own
        )


@pytest.mark.nightly
def test_without_noise_to_speak_of_both_are_as_wide_and_with_it_the_release_is_wider(rows):
    """Errors by sampling have the shape of the records, which keep how x and y go together."""
    few = ["ols y ~ x + sex", "correlation x + y", "proportion sex"]
    near = [one.ratio for one in compared(rows, released(rows, 2_000, few, "marginals"))]
    assert near == pytest.approx([1.0] * len(near), rel=0.15)
    far = [one.ratio for one in compared(rows, released(rows, 1, few, "marginals"))]
    assert len(far) == len(near)
    assert all(b > 1.05 * a for a, b in zip(near, far, strict=True))


def test_what_cannot_be_compared_stands_there_with_the_reason(found):
    assert {one.question for one in found} == set(ASKED)
    (model,) = by_question(found, "logit rare ~ np.exp(x)").values()
    (median,) = by_question(found, "quantile y").values()
    assert model.refused.startswith("No valid error bars")
    assert "textbook" in median.refused
    assert model.ratio is median.ratio is None
    assert model.to_json()["original"] == [None, None]


def test_without_declared_analyses_means_and_shares_are_compared(rows):
    made = us.synthesize(rows, SCHEMA, epsilon=2, method="independent", insecure_noise_seed=1)
    assert {one["kind"] for one in asked_of(made)} == {"mean", "proportion"}
    ratios = [one.ratio for one in compared(rows, made) if not one.refused]
    assert len(ratios) >= 6
    assert min(ratios) > 0.9


def test_an_endless_interval_has_an_infinite_ratio_and_no_number_for_machines():
    one = AnswerWidth("ols y ~ x", "x", (0.0, 1.0), (-math.inf, math.inf))
    assert one.ratio == math.inf
    assert one.to_json()["ratio"] is None
    assert AnswerWidth("mean y", "y", (1.0, 1.0), (0.0, 1.0)).ratio is None
