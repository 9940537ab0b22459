"""The features of records, laid out, give the predictors that tables give."""

import numpy as np
import pytest

from understudy.features.design import Features, list_indicated, predictors
from understudy.features.grids import Drawn
from understudy.schema import NUMERIC, Schema

SCHEMA = Schema.loads(
    """
[columns.age]
kind = "integer"
lower = 0
upper = 40
bins = 5
spikes = [0]
missing = [-1]
[columns.sex]
kind = "categorical"
levels = ["f", "m", "x"]
[columns.rank]
kind = "ordinal"
levels = [1, 2, 5, 9]
missing = ["?"]
[columns.yes]
kind = "boolean"
[columns.free]
kind = "continuous"
lower = 10
upper = 20
"""
)


def records(n):
    """States at random; numbers where the state is a bin."""
    rng, found = np.random.default_rng(n), {}
    for name, column in SCHEMA.columns.items():
        states = rng.integers(0, column.size, n)
        numbers = None
        if isinstance(column, NUMERIC):
            numbers = rng.uniform(*column.bounds, n)
            numbers[np.isin(states, list_indicated(column))] = np.nan
        found[name] = Drawn(states, numbers)
    return found


@pytest.mark.parametrize("parents", [(), ("sex",), ("free", "age"), tuple(SCHEMA.columns)])
@pytest.mark.parametrize("n", [0, 200])
def test_the_matrix_times_coefficients_is_the_linear_predictor(parents, n):
    features, drawn = Features.of(SCHEMA, parents), records(n)
    matrix = features.matrix(drawn, n)
    assert matrix.shape == (n, 1 + len(features.names))
    assert matrix.flags.c_contiguous
    assert (matrix[:, 0] == 1).all()
    assert (np.abs(matrix) <= 1).all()
    coefficients = np.random.default_rng(1).normal(size=(3, matrix.shape[1]))
    linear = features.linear(coefficients)
    expected = predictors(linear, features.gather(drawn, n))
    assert matrix @ coefficients.T == pytest.approx(expected, abs=1e-12)


def test_features_of_single_records():
    features = Features.of(SCHEMA, ("age", "rank", "yes"))
    names = ("age", "age = 0", "age = -1", "rank", "rank = ?", "yes = true")
    assert features.names == names
    bins = [k for k, one in enumerate(SCHEMA.columns["age"].intervals) if not one.spike]
    spike = next(k for k, one in enumerate(SCHEMA.columns["age"].intervals) if one.spike)
    drawn = {
        "age": Drawn(np.array([bins[-1], spike, 6]), np.array([40.0, np.nan, np.nan])),
        "rank": Drawn(np.array([0, 3, 4])),
        "yes": Drawn(np.array([0, 1, 1])),
    }
    expected = [[1, 1, 0, 0, -1, 0, 0], [1, 0, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1, 1]]
    assert features.matrix(drawn, 3).tolist() == expected
