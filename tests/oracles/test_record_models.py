"""Densities of single records: right, and the same bits in any company."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from oracles.record_models import NormalRegression, Tabulated, normal_ceiling
from understudy.errors import MethodError


def test_the_ceiling_is_the_supremum_of_the_density_and_of_mixtures():
    assert normal_ceiling(0.2) == pytest.approx(stats.norm.logpdf(0, scale=0.2))
    y = np.linspace(-3, 3, 601)
    mixture = 0.3 * stats.norm.pdf(y, 1, 0.2) + 0.7 * stats.norm.pdf(y, 1.1, 0.25)
    assert np.log(mixture).max() <= normal_ceiling(0.2)
    points = np.array([[0.0, 0.5], [1.0, 0.2], [2.0, 3.0]])
    assert NormalRegression(points).ceiling == normal_ceiling(0.2)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(MethodError, match="ceiling"):
            normal_ceiling(bad)


def test_densities_of_the_regression_are_right_and_owe_nothing_to_the_company():
    rng = np.random.default_rng(8)
    points = np.column_stack([rng.normal(size=(33, 4)), rng.gamma(2, size=33)])
    records = np.column_stack([rng.normal(size=77), np.ones(77), rng.normal(size=(77, 3))])
    model = NormalRegression(points)
    found = model.log_densities(records)
    expected = stats.norm.logpdf(records[:, :1], records[:, 1:] @ points[:, :4].T, points[:, 4])
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    for k in range(77):
        np.testing.assert_array_equal(model.log_densities(records[k : k + 1])[0], found[k])
    order = rng.permutation(77)
    np.testing.assert_array_equal(model.log_densities(records[order]), found[order])
    assert model.log_densities(records[:0]).shape == (0, 33)
    with np.errstate(all="raise"):
        strange = model.log_densities(np.full((1, 5), np.nan))
    assert np.all(np.isnan(strange))


def test_a_table_is_looked_up_and_says_nothing_of_what_it_lacks():
    table = np.log(np.array([[0.2, 0.5], [0.8, 0.5]]))
    model = Tabulated(np.array([[0.2], [0.5]]), table)
    found = model.log_densities(np.array([[1.0], [0.0], [2.0], [-1.0], [0.5], [np.nan]]))
    np.testing.assert_array_equal(found[:2], table[[1, 0]])
    assert np.all(np.isnan(found[2:]))
    assert model.log_densities(np.zeros((0, 1))).shape == (0, 2)


def test_public_mistakes():
    for points in (np.array([[0.0, 0.0]]), np.array([[np.nan, 1.0]]), np.ones(3)):
        with pytest.raises(MethodError, match=r"Candidates|deviation"):
            NormalRegression(points)
    with pytest.raises(MethodError, match="column"):
        Tabulated(np.zeros((3, 1)), np.zeros((2, 4)))
