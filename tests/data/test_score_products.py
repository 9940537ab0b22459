"""Sums of scores and of their products: against a loop over the records, one by one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.data import sums as kernels
from understudy.data.table import Table
from understudy.features.grids import HALF, LineCells
from understudy.features.scores import BINS, UNIT, FeatureMap, contrasts
from understudy.inference.records import Records
from understudy.inference.second_moments import score_values
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
    scores = FeatureMap.of(SCHEMA, SCHEMA.names)
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


def test_numbers_beyond_limits_count_as_the_limits():
    """As if they had been cut off before, whatever lies beyond the bounds as well."""
    frame, limits = rows(300, 6), {"x": (-1.0, 4.0)}
    scores = FeatureMap.of(SCHEMA, SCHEMA.names, limits=limits)
    exact = Table(frame, SCHEMA).score_products(scores).expose()
    x = frame["x"].to_numpy()
    z = np.where(x == 99, 0, np.rint((np.clip(x, -1, 4) - 1.5) / 5 * 2 * HALF)).astype(np.int64)
    place = scores.places("x")[0]
    assert exact.sums[place] == HALF * z.sum()
    first = np.flatnonzero(scores.numbers == place)[0]
    assert exact.squares[first] == 2 * (z**2 - (x != 99) * (HALF**2 // 2)).sum()
    plain = Table(frame, SCHEMA).score_products(SCORED).expose()
    others = np.delete(np.arange(len(scores)), place)
    assert np.array_equal(exact.sums[others], plain.sums[others])


def folder_of(frames, folder):
    """Parquet files, each with the types that its own rows give it."""
    folder.mkdir()
    for k, frame in enumerate(frames):
        frame.write_parquet(folder / f"{k}.parquet")
    return folder


def file_of(frames, file):
    pl.concat([frame.cast(pl.String) for frame in frames]).write_csv(file)
    return file


def objects_of(frames):
    """Rows of Python objects."""
    rows = [row for frame in frames for row in frame.rows()]
    return pd.DataFrame(rows, columns=frames[0].columns, dtype=object)


# A table of some frames one below the other, as each reader gets it.
READERS = {
    "folder": lambda frames, place: folder_of(frames, place / "folder"),
    "file": lambda frames, place: file_of(frames, place / "x.csv"),
    "pandas": lambda frames, _: objects_of(frames),
    "concatenated": lambda frames, _: pd.concat([frame.to_pandas() for frame in frames]),
    "Polars": lambda frames, _: pl.concat([frame.cast(pl.String) for frame in frames]),
    "lazy": lambda frames, _: pl.concat([frame.cast(pl.String).lazy() for frame in frames]),
    "Arrow": lambda frames, _: pa.Table.from_pylist(
        [row for frame in frames for row in frame.cast(pl.String).to_dicts()]
    ),
}
ODD = {
    "a text in a number": {"x": "none"},
    "no number": {"x": "nan"},
    "infinity": {"x": "inf"},
    "beyond all numbers": {"x": "1e999"},
    "far out of range": {"x": "-1e308"},
    "a number": {"x": 0.5},
    "no whole number": {"same": 5.5},
    "a truth": {"x": True},
    "a code": {"x": 99},
    "nothing": {"x": None, "day": None, "same": None, "level": None},
    "empty text": {"x": "", "level": ""},
    "an unknown level": {"level": "unheard of"},
    "a number for a level": {"level": 7},
    "a text for a day": {"day": "soon"},
    "a day that there is not": {"day": "2020-02-30"},
}


SCORED = FeatureMap.of(SCHEMA, SCHEMA.names)
LINED = {name: LineCells.of(SCHEMA, name) for name in ("x", "day", "same")}


def totals(reader, frames, place):
    """All that is summed of frames, which a reader gets one after the other."""
    place.mkdir()
    table = Table(READERS[reader](frames, place), SCHEMA)
    exact = table.score_products(SCORED).expose()
    counts = table.line_counts(LINED).expose()
    sums = exact.sums, exact.products, exact.squares, exact.coded
    return np.concatenate([[exact.count], *sums]), np.concatenate(list(counts.values()))


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """Totals of ordinary rows, by reader."""
    return {
        reader: totals(reader, [rows(40, 2)], tmp_path_factory.mktemp("plain") / "rows")
        for reader in READERS
    }


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.nightly(every=8)
def test_one_odd_row_changes_nothing_of_the_others(reader, odd, before, tmp_path):
    """Whatever stands in one row and whichever reader gets it, the sums of the others are what they
    were, and those of all differ by what the row adds alone, a record at most."""
    ordinary = {"x": 4, "day": "2020-02-29", "same": 5, "level": "mid"}
    row = pl.DataFrame([ordinary | ODD[odd]])
    after = totals(reader, [rows(40, 2), row], tmp_path / "after")
    own = totals(reader, [row], tmp_path / "own")
    for without, whole, alone in zip(before[reader], after, own, strict=True):
        assert np.array_equal(whole, without + alone)
    assert np.abs(own[0]).max() <= UNIT**2
    assert own[1].sum() == len(LINED)
    assert set(own[1]) <= {0, 1}


def test_scores_of_records_are_those_of_the_rows():
    """What a plan assumes of records is what would be measured of them."""
    known = pl.col("x").is_in([-3, 0, 4, 7]) & pl.col("day").dt.year().eq(2020)
    frame = rows(400, 3).filter(known & pl.col("level").is_in(["low", "mid", "high"]))
    scores = FeatureMap.of(SCHEMA, ("x", "day", "level"))
    exact = Table(frame, SCHEMA).score_products(scores).expose()
    z = score_values(scores, SCHEMA, Records.of(frame, SCHEMA, scores.columns))
    first, second = scores.pairs
    assert frame.height > 100
    assert np.allclose(z.sum(axis=0), exact.sums / HALF**2, atol=0.02)
    assert np.allclose((z.T @ z)[first, second], exact.products / HALF**2, atol=0.02)
