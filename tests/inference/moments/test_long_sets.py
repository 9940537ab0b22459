"""Linear models of sets with more values than are looked at for the shape of their variance."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.inference import linear

SCHEMA = us.Schema.loads(
    """
    row_limit = 50000
    [columns.pay]
    kind = "integer"
    lower = 0
    upper = 200
    bins = 20
    reviewed = true
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 100
    bins = 20
    reviewed = true
    [columns.job]
    kind = "categorical"
    levels = ["p", "q", "r"]
    reviewed = true
    """
)


def test_some_records_tell_the_shape_of_a_sampling_variance(monkeypatch):
    """It only scatters, by 1/√(records): estimates and the noise in them stay."""
    rng = np.random.default_rng(1)
    age, job = rng.integers(0, 101, 20_000), rng.integers(0, 3, 20_000)
    pay = np.clip(40 + age * (0.3 + rng.random(20_000)), 0, 200).astype(int)
    rows = pl.DataFrame({"pay": pay, "age": age, "job": np.array(["p", "q", "r"])[job]})
    release = us.synthesize(rows, SCHEMA, epsilon=3, delta="1e-6", insecure_noise_seed=1)
    whole = us.analyze(release, "ols", "pay ~ age + job").to_json()["terms"]
    monkeypatch.setattr(linear, "_MOST_VALUES", 20_000)
    part = us.analyze(release, "ols", "pay ~ age + job").to_json()["terms"]
    for one, other in zip(whole, part, strict=True):
        assert one["estimate"] == other["estimate"]
        assert one["stderr"] != other["stderr"]
        assert one["stderr"] == pytest.approx(other["stderr"], rel=0.05)
