"""Sums of scores and of their products: against a loop over the records, one by one."""

import numpy as np
import polars as pl
import pytest

from understudy.engine import Table
from understudy.engine import score_products as kernels
from understudy.engine.bounded_sums import HALF
from understudy.features.column_scores import BINS, Scores, contrasts
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.moments.assumed_moments import score_values
from understudy.schema import Schema

SCHEMA = Schema.loads(
    """
    [columns.x]
    kind = "integer"
    lower = -3
    upper = 7
    missing = [99]
    reviewed = true
    [columns.day]
    kind = "date"
    lower = 2020-01-01
    upper = 2020-12-31
    reviewed = true
    [columns.same]
    kind = "integer"
    lower = 5
    upper = 5
    reviewed = true
    [columns.level]
    kind = "ordinal"
    levels = ["low", "mid", "high"]
    missing = ["?"]
    reviewed = true
    """
)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2019-12-20") + rng.integers(0, 400, n)
    return pl.DataFrame(
        {
            "x": rng.choice([-9, -3, 0, 4, 7, 50, 99], n),
            "day": days,
            "same": rng.choice([5, 5, 6], n),
            "level": rng.choice(["low", "mid", "high", "?", "none of these"], n),
        }
    )


BINNED = np.trunc(HALF * np.sqrt(BINS) * contrasts(11)).astype(np.int64)
LEVELLED = np.trunc(HALF * contrasts(4)).astype(np.int64)


def slow(frame):
    """Whole scores of each record, by the definition, and who has the numbers."""
    scores, present = [], []
    low, high = np.datetime64("2020-01-01"), np.datetime64("2020-12-31")
    for x, day, _same, level in frame.iter_rows():
        inside = min(max(x, -3), 7)
        number = 0 if x == 99 else round((inside - 2) / 10 * 2 * HALF)
        place = (min(max(np.datetime64(day), low), high) - low) / (high - low)
        each = [number, HALF * (x == 99), 0, *(BINNED[inside + 3] * (x != 99))]
        each += [round((place - 0.5) * 2 * HALF), 0, 0, 0]
        names = ("low", "mid", "high", "?")
        each += list(LEVELLED[names.index(level)]) if level in names else [0, 0, 0]
        scores.append(each)
        present.append([x != 99, True, True])
    return np.array(scores), np.array(present)


@pytest.mark.parametrize("batch", [7, 10_000])
def test_sums_are_those_of_a_loop(monkeypatch, batch):
    monkeypatch.setattr(kernels, "BATCH", batch)
    frame = rows(300, 1)
    scores = Scores.of(SCHEMA, SCHEMA.names)
    exact = Table(frame, SCHEMA).score_products(scores).expose()
    z, present = slow(frame)
    first, second = scores.pairs
    assert np.array_equal(exact.sums, HALF * z.sum(axis=0))
    assert np.array_equal(exact.products, (z.T @ z)[first, second])
    centred = z[:, scores.numbers] ** 2 - present * (HALF**2 // 2)
    assert np.array_equal(exact.squares, 2 * centred.sum(axis=0))
    absent = {"x": frame["x"] == 99, "level": frame["level"] == "?"}
    numbers = scores.numbers.tolist()
    coded = [
        centred[absent[square.column].to_numpy(), numbers.index(square.place)].sum()
        for square in scores.coded
    ]
    assert len(coded) == 5
    assert np.array_equal(exact.coded, coded)


def test_one_odd_row_changes_nothing_of_the_others():
    """Whatever stands in one row, the sums of the others are what they were."""
    frame = rows(50, 2).with_columns(pl.col("x").cast(pl.String), pl.col("same").cast(pl.String))
    scores = Scores.of(SCHEMA, SCHEMA.names)
    plain = Table(frame, SCHEMA).score_products(scores).expose()
    for odd in ("nan", "inf", "1e308", "", "true", "-0", "99"):
        more = pl.concat([frame, frame.head(1).with_columns(x=pl.lit(odd))])
        alone = more.tail(1)
        total = Table(more, SCHEMA).score_products(scores).expose()
        own = Table(alone, SCHEMA).score_products(scores).expose()
        assert np.array_equal(total.sums, plain.sums + own.sums)
        assert np.array_equal(total.products, plain.products + own.products)
        assert np.array_equal(total.squares, plain.squares + own.squares)
        assert np.array_equal(total.coded, plain.coded + own.coded)


def test_scores_of_records_are_those_of_the_rows():
    """What a plan assumes of records is what would be measured of them."""
    known = pl.col("x").is_in([-3, 0, 4, 7]) & pl.col("day").dt.year().eq(2020)
    frame = rows(400, 3).filter(known & pl.col("level").is_in(["low", "mid", "high"]))
    scores = Scores.of(SCHEMA, ("x", "day", "level"))
    exact = Table(frame, SCHEMA).score_products(scores).expose()
    z = score_values(scores, SCHEMA, Records.of(frame, SCHEMA, scores.columns))
    first, second = scores.pairs
    assert frame.height > 100
    assert np.allclose(z.sum(axis=0), exact.sums / HALF**2, atol=0.02)
    assert np.allclose((z.T @ z)[first, second], exact.products / HALF**2, atol=0.02)
