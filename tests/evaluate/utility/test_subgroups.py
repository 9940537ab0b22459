"""Scores by group."""

import numpy as np
import pytest

from understudy.evaluate.marginals import marginal_distances
from understudy.evaluate.propensity import SMALL, subgroup_scores


def test_every_group_of_the_original_is_scored(compare):
    comparison = compare(400)
    groups = subgroup_scores(comparison, 0)
    assert [g.label for g in groups] == ["Aa", "Bb", "Cc", "Dd", "?"]
    assert sum(g.rows for g in groups) == 400
    assert [g.small for g in groups] == [g.rows < SMALL for g in groups]
    assert {g.small for g in groups} == {True, False}
    part = marginal_distances(comparison.where(0, 1), 1)
    others = [k for k, columns in enumerate(part.marginals) if columns != (0,)]
    found = groups[1].scores["total variation, 1-way, other columns"]
    assert found == pytest.approx(part.means[others].mean())


def test_a_group_that_fares_badly_shows(compare):
    comparison = compare(2000)
    for rows in comparison.sets:
        bad = rows[2] == 1
        rows[3][bad] = 0
    good, bad = subgroup_scores(comparison, 2)
    name = "pMSE / fresh, logistic, main effects"
    assert good.scores[name] < 3
    assert bad.scores[name] > 10
    name = "total variation, 1-way, other columns / fresh"
    assert good.scores[name] < 3 < bad.scores[name]


def test_a_group_that_no_set_has(compare):
    comparison = compare(300)
    for rows in comparison.sets:
        rows[0][rows[0] == 3] = 2
    group = subgroup_scores(comparison, 0)[3]
    assert group.scores == {"share, synthetic / original": 0}


def test_scores_are_finite(compare):
    for group in subgroup_scores(compare(60), 1):
        assert np.isfinite(list(group.scores.values())).all()
