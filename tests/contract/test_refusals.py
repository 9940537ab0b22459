"""Each code of a refusal is met by a question that anybody may ask."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_matrices import SCHEMA, people
from plain_refusals import require_plain
from understudy.inference.refusals import RefusedError
from understudy.inference.rules import CODES

BOUNDS = us.Schema.loads(
    """
[columns.pay]
kind = "integer"
lower = 0
upper = 100
bins = 10
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
"""
)


@cache
def release(n=3000, seed=1, **made):
    rows = people(np.random.default_rng(5), n)
    return us.synthesize(rows, SCHEMA, insecure_noise_seed=seed, **made)


def bounded(pay=None, sex=None):
    """Rows of which a fifth lie beyond a bound, or have no level."""
    rng = np.random.default_rng(4)
    rows = pl.DataFrame(
        {
            "pay": rng.integers(0, 100, 2000) if pay is None else np.repeat([50, pay], [1600, 400]),
            "sex": np.repeat(["f", "m", sex or "f"], [800, 800, 400]),
        }
    )
    return us.synthesize(rows, BOUNDS, epsilon=2, delta="1e-6", insecure_noise_seed=1)


ASKED = {
    "not-measured": lambda: (release(epsilon=2, method="independent"), "total", "sex + rare"),
    "no-delta": lambda: (release(epsilon="0.5"), "ols", "y ~ x + sex + region + wage"),
    "lost-in-noise": lambda: (
        release(epsilon="0.035", delta="1e-6", analyses=("ols y ~ x + sex",)),
        "ols",
        "y ~ x + sex",
    ),
    "too-few": lambda: (release(3, epsilon="0.05", method="laplace"), "proportion", "sex"),
    "sets-not-valid": lambda: (release(epsilon=2), "poisson", "x ~ log(y + 1)"),
    "bootstrap-not-valid": lambda: (release(epsilon=2), "quantile", "y"),
    "not-told": lambda: (release(epsilon=2), "mean", "x where y >= 0.123"),
    "beyond-bounds": lambda: (bounded(pay=300), "proportion", "pay > 150"),
    "out-of-domain": lambda: (bounded(sex="?"), "ols", "pay ~ sex"),
}


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_met_by_a_question(code):
    made, kind, formula = ASKED[code]()
    ways = {"uncertainty": "bootstrap", "repeats": 39} if code == "bootstrap-not-valid" else {}
    with pytest.raises(RefusedError) as caught:
        us.analyze(made, kind, formula, **ways)
    assert caught.value.code == code
    require_plain(caught.value)
    if code == "no-delta":
        assert "no δ" in caught.value.reason
        assert f"--delta {caught.value.advice.delta} " in str(caught.value)


@pytest.mark.nightly
def test_the_delta_that_lacks_buys_the_answer():
    made, kind, formula = ASKED["no-delta"]()
    with pytest.raises(RefusedError) as caught:
        us.analyze(made, kind, formula)
    advice = caught.value.advice
    bought = release(epsilon=advice.epsilon, delta=advice.delta, analyses=(advice.analysis,))
    assert us.analyze(bought, kind, formula).valid
