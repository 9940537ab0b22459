"""Values that many rows share are kept without a declaration, and where there are none, none are.

Fixed seeds. Shares on a spike are off by the noise of a handful of counts: the limits are some five
standard deviations, so that a right release fails once in a million.
"""

import datetime

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.schema import Schema

SIZE = 5_000
MONEY = {"kind": "continuous", "lower": 0, "upper": 50_000, "decimals": 2}
DAYS = {"kind": "date", "lower": datetime.date(1890, 1, 1), "upper": datetime.date(2030, 12, 31)}


def made(values, told, **asked):
    """A release of a column beside one of levels, as numbers."""
    rng = np.random.default_rng(9)
    rows = pl.DataFrame({"x": values, "c": rng.integers(0, 3, len(values)).astype(str)})
    sourced = {"source": "made", "reviewed": True}
    levels = {"kind": "categorical", "levels": ["0", "1", "2"]}
    schema = Schema.model_validate(
        {"row_limit": 10**6, "columns": {"x": told | sourced, "c": levels | sourced}}
    )
    release = us.synthesize(
        rows, schema, **{"epsilon": 1, "delta": "1e-6", "insecure_noise_seed": 1} | asked,
        frame="polars",
    )  # fmt: skip
    (table,) = release.tables
    return release, table["x"]


def mixed(drawn, *heaps, seed=4):
    rng = np.random.default_rng(seed)
    values, chance, start = drawn(rng), rng.random(SIZE), 0.0
    for value, share in heaps:
        values = np.where((chance >= start) & (chance < start + share), value, values)
        start += share
    return np.clip(np.round(values, 2), 0, 50_000)


def skewed(rng):
    return np.exp(6 + rng.normal(size=SIZE))


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("method", ["auto", "mst", "aim", "independent"])
@pytest.mark.nightly(every=3)
def test_a_heap_of_zeros_is_kept_by_every_method_that_sees_fine_bins(method, delta):
    values = mixed(skewed, (0.0, 0.9))
    _, drawn = made(values, MONEY, method=method, delta=delta)
    assert (drawn == 0).mean() == pytest.approx((values == 0).mean(), abs=0.03)
    assert drawn.mean() < 4 * values.mean()


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("heaps", [((12.41, 0.3),), ((99.99, 0.25), (1_019.5, 0.25))])
@pytest.mark.nightly(every=4)
def test_a_heap_on_any_value_is_kept(heaps, delta):
    values = mixed(skewed, *heaps)
    _, drawn = made(values, MONEY, delta=delta)
    for heap, _ in heaps:
        assert (drawn == heap).mean() == pytest.approx((values == heap).mean(), abs=0.06)


@pytest.mark.parametrize("kind", ["cents", "real", "whole"])
def test_what_is_cut_to_the_upper_bound_lies_there(kind):
    told = {
        "cents": {"kind": "continuous", "lower": 0, "upper": 400, "decimals": 2},
        "real": {"kind": "continuous", "lower": 0, "upper": 400},
        "whole": {"kind": "integer", "lower": 0, "upper": 40_000},
    }[kind]
    values = np.minimum(mixed(skewed) * (100 if kind == "whole" else 1), told["upper"])
    values = values.astype(int) if kind == "whole" else values
    _, drawn = made(values, told)
    share = (values == told["upper"]).mean()
    assert share > 0.4
    assert (drawn == told["upper"]).mean() == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("value", [0.0, 37.5])
@pytest.mark.nightly(every=2)
def test_numbers_without_decimals_keep_heaps_on_round_values(value):
    rng = np.random.default_rng(5)
    values = np.where(rng.random(SIZE) < 0.4, value, np.abs(50 + 20 * rng.normal(size=SIZE)))
    _, drawn = made(values, {"kind": "continuous", "lower": 0, "upper": 1_000})
    assert (drawn == value).mean() == pytest.approx((values == value).mean(), abs=0.05)


def test_a_default_date_is_kept_and_saved(tmp_path):
    rng, heap = np.random.default_rng(6), datetime.date(1900, 1, 1)
    days = pl.Series(np.round(rng.normal(2_000, 3_000, SIZE)).clip(-20_000, 18_000).astype("i4"))
    values = days.cast(pl.Date).to_frame("x").with_columns(k=pl.Series(rng.random(SIZE)))
    column = values.select(pl.when(pl.col("k") < 0.3).then(heap).otherwise(pl.col("x"))).to_series()
    release, drawn = made(column, DAYS)
    assert (drawn == heap).mean() == pytest.approx((column == heap).mean(), abs=0.03)
    loaded = us.Release.load(release.save(tmp_path / "release"))
    more = us.sample(loaded, 4_000, seed=1, frame="polars")["x"]
    assert (more == heap).mean() == pytest.approx((column == heap).mean(), abs=0.04)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("scale", [0.3, 5.0, 300.0])
@pytest.mark.nightly(every=3)
def test_a_column_that_is_merely_dense_near_zero_gets_no_spike(scale, delta):
    """No value of these has more than 4 % of the rows; none of the records has 8 %."""
    values = mixed(lambda rng: rng.exponential(scale, SIZE))
    _, drawn = made(values, MONEY, delta=delta)
    assert drawn.value_counts()["count"].max() < 0.08 * len(drawn)


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("privbayes", {}, True),
        ("laplace", {}, True),
        ("mst", {}, False),
        ("marginals", {}, False),
        ("laplace", {"bins": (0, 1, 10, 100, 50_000)}, False),
    ],
)
def test_other_methods_say_that_numbers_lie_evenly_in_their_bins(method, more, said):
    column = MONEY | more | {"source": "made", "reviewed": True}
    schema = Schema.model_validate({"row_limit": 9_999, "columns": {"x": column}})
    told = us.plan(schema, epsilon=1, method=method).remarks
    assert any("x lie evenly in equal parts of their bounds" in one for one in told) is said


def test_declared_bins_are_those_of_the_published_methods():
    declared = MONEY | {"bins": (0, 1, 10, 100, 50_000)}
    for method in ("mst", "aim", "independent"):
        release, _ = made(mixed(skewed), declared, method=method)
        assert len(release.schema.columns["x"].intervals) == 4
        assert not any(m.bins for m in release.measurements if m.kind == "table")
