"""Which terms are affine in scores, and with which weights."""

import numpy as np
import pytest

from made_matrices import SCHEMA, matrix, people
from understudy.inference import formulas
from understudy.inference.linear import absences, affine_weights
from understudy.inference.records import Records


@pytest.fixture(scope="module")
def moments():
    rng = np.random.default_rng(1)
    return matrix(rng, people(rng, 50), 0.0)


def weights_of(formula, moments):
    columns = formulas.columns_of(formula, SCHEMA.names)

    def terms(frame):
        return formulas.matrices(formula, frame).to_numpy(np.float64)

    return columns, terms, affine_weights(terms, columns, SCHEMA, moments)


@pytest.mark.parametrize(
    "formula",
    [
        "1 + x",
        "x + sex",
        "C(region) + rare",
        "{x / 10} + {sex == 'm'}",
        "{2 * x - 3 * (region == 'b')}",
        "wage",
        "0 + region",
    ],
)
def test_weights_give_the_values_of_the_terms(formula, moments):
    columns, terms, weights = weights_of(formula, moments)
    rows = people(np.random.default_rng(2), 200)
    records = Records.of(rows, SCHEMA, columns)
    records = records.take(records.complete())
    frame = records.frame()
    scores = np.zeros((len(frame), len(moments.sums)))
    scores[:, 0] = 1
    for (name, state), place in moments.place.items():
        if name not in columns:
            continue
        if state is None:
            low, high = SCHEMA.columns[name].bounds
            scores[:, place] = (2 * frame[name] - low - high) / (high - low)
        else:
            scores[:, place] = records.states[name] == state
    assert np.allclose(scores @ weights.T, terms(frame))


@pytest.mark.parametrize(
    "formula",
    [
        *("log(x + 1)", "{x ** 2}", "{x > 5}", "{(x > 6) & (x < 6.4)}", "{wage == 27}"),
        *("sex:region", "x:sex", "{x * y}", "poly(x, 2)"),
    ],
)
def test_what_is_not_affine_is_noticed(formula, moments):
    assert weights_of(formula, moments)[2] is None


def test_columns_with_codes_are_known(moments):
    assert absences(SCHEMA, SCHEMA.names, moments) == ("wage",)
