"""Sums of products of rank scores: against a loop over the records, one by one."""

import itertools
import math
from functools import partial

import numpy as np
import polars as pl
import pytest

from understudy.data import sums as kernels
from understudy.data.sums import CodingPass, RankSums
from understudy.data.table import Table
from understudy.features.scores import RankScores
from understudy.schema import Schema

SCHEMA = Schema.loads(
    """
    [columns.mood]
    kind = "ordinal"
    levels = ["low", "mid", "high"]
    missing = ["?"]
    reviewed = true
    [columns.city]
    kind = "categorical"
    levels = ["a", "b"]
    reviewed = true
    [columns.x]
    kind = "integer"
    lower = 0
    upper = 4
    missing = [99]
    out_of_domain = -7
    reviewed = true
    [columns.y]
    kind = "ordinal"
    levels = ["1", "2", "3", "4"]
    reviewed = true
    """
)
PLACES = {name: j for j, name in enumerate(SCHEMA.names)}
# Codes of absence come last, and of x the state that stands for what is out of domain. Together
# scores are longer than may be, or far longer, in part of the records.
USUAL = RankScores(
    {"mood": (-80, 5, 97, 0), "x": (-90, -41, 0, 52, 131, 0, 0), "y": (-9, -3, 4, 70)}
)
FAR = RankScores(
    {"mood": (-256, 3, 99, 0), "x": (-1, 250, 0, 7, 2**20, 0, 9), "y": (1, 0, -256, 2)}
)
BOTH = pytest.mark.parametrize("scores", [USUAL, FAR], ids=["usual", "far"])


def rows(n, seed=1):
    """With values out of domain, codes of absence and empty cells in each column."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "mood": rng.choice(["low", "mid", "high", "?", "unheard of", None], n).tolist(),
            "city": rng.choice(["a", "b", "c"], n).tolist(),
            "x": rng.choice([0, 1, 2, 3, 4, 4, 99, 1234, -50, None], n).tolist(),
            "y": rng.choice(["1", "2", "3", "4", "five"], n).tolist(),
        },
        schema_overrides={"mood": pl.String, "city": pl.String, "y": pl.String, "x": pl.Int64},
    )


def states_of(frame):
    """States of all columns, out of domain last; coded by what `Table` does."""
    return Table(frame, SCHEMA).code_rows().expose()


def slow(states, scores):
    """Sums over records by plain whole numbers; and how many records were too long."""
    pairs = [*itertools.combinations(range(len(scores.columns)), 2)]
    total, far = dict.fromkeys(pairs, 0), 0
    for record in zip(*(states[PLACES[name]].tolist() for name in scores.columns), strict=True):
        vector = [
            own[state] if state < len(own) else 0
            for own, state in zip(scores.tables.values(), record, strict=True)
        ]
        squared = sum(x * x for x in vector)
        if squared > scores.most:
            far += 1
            factor = math.sqrt(scores.most / squared) * (1 - 2**-40)
            vector = [int(x * factor) for x in vector]
            assert sum(x * x for x in vector) <= scores.most
        for i, j in pairs:
            total[i, j] += vector[i] * vector[j]
    return list(total.values()), far


def summed(table, scores):
    places = tuple(PLACES[name] for name in scores.columns)
    return table.rank_sums(places, scores).expose()


@BOTH
@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_sums_are_those_of_a_loop(scores, n):
    frame = rows(n)
    expected, far = slow(states_of(frame), scores)
    found = summed(Table(frame, SCHEMA), scores)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    if n == 500:
        assert 25 < far < 475


def test_absent_and_unknown_values_add_nothing():
    """Whatever the other columns hold; a record in two columns adds to the sum of these alone."""
    moods, numbers = ["?", "unheard of", "low"], [99, 4, None]
    frame = pl.DataFrame({"mood": moods, "city": "a", "x": numbers, "y": ["4", "five", "1"]})
    assert summed(Table(frame, SCHEMA), USUAL).tolist() == [0, -80 * -9, 0]


@BOTH
@pytest.mark.parametrize("batch", [1, 7, 499, 500, 10_000])
@pytest.mark.nightly(diagonal=True)
def test_batches_of_any_size_give_the_same(monkeypatch, scores, batch):
    whole = summed(Table(rows(500), SCHEMA), scores).tolist()
    monkeypatch.setattr(kernels, "BATCH", batch)
    assert summed(Table(rows(500), SCHEMA), scores).tolist() == whole


@BOTH
def test_parts_merged_in_any_order_give_the_same(scores):
    """Some of them without a row; sums travel as plain arrays, which are not altered."""
    frame = rows(500)
    states, whole = states_of(frame), summed(Table(frame, SCHEMA), scores)
    places = tuple(PLACES[name] for name in scores.columns)
    cuts = [0, 0, 3, 200, 201, 440, 500]
    parts = []
    for start, end in itertools.pairwise(cuts):
        part = RankSums(places, scores)
        part.add([states[j][start:end] for j in places])
        parts.append(part.sums())
    for seed in range(6):
        before = [sums[0].copy() for sums in parts]
        merged = RankSums(places, scores)
        for k in np.random.default_rng(seed).permutation(len(parts)):
            merged.merge(parts[k])
        assert np.array_equal(merged.answer(), whole)
        assert all(np.array_equal(a, b[0]) for a, b in zip(before, parts, strict=True))
    both = RankSums(places, scores)
    both.add([states[j][:200] for j in places])
    both.merge(parts[3])
    both.add([states[j][201:] for j in places])
    assert np.array_equal(both.answer(), whole)


@BOTH
def test_the_order_of_the_rows_plays_no_part(scores):
    frame = rows(500)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert np.array_equal(
        summed(Table(frame, SCHEMA), scores), summed(Table(shuffled, SCHEMA), scores)
    )


@BOTH
@pytest.mark.parametrize("groups", [False, True])
def test_rows_that_are_read_again_give_the_same(scores, groups):
    kept, read = Table(rows(500), SCHEMA), Table(rows(500), SCHEMA, keep_bytes=0)
    if groups:
        merged = {"mood": (0, 0, 1, 2)}
        own = {**scores.tables, "mood": (-33, 44, 0)}
        scores = RankScores(own)
        kept, read = (table.group(SCHEMA.with_groups(merged), merged) for table in (kept, read))
    assert np.array_equal(summed(kept, scores), summed(read, scores))


@BOTH
@pytest.mark.parametrize("keep_bytes", [0, 2**30])
def test_groups_count_as_their_states_would_with_the_scores_of_the_groups(scores, keep_bytes):
    """Values out of domain stay there."""
    groups = {"x": (0, 0, 1, 1, 2, 3, 3), "y": (0, 1, 1, 2), "city": (0, 0)}
    coarse = {"mood": scores.tables["mood"], "x": (-150, 20, 140, 0), "y": (-66, 1, 88)}
    fine = {
        name: tuple(own[k] for k in groups[name]) if name in groups else own
        for name, own in coarse.items()
    }
    table = Table(rows(500), SCHEMA, keep_bytes=keep_bytes)
    grouped = table.group(SCHEMA.with_groups(groups), groups)
    found = summed(grouped, RankScores(coarse))
    assert np.array_equal(found, summed(table, RankScores(fine)))
    assert found.tolist() == slow(states_of(rows(500)), RankScores(fine))[0]


@BOTH
@pytest.mark.parametrize("names", [*itertools.permutations(("mood", "x", "y")), ("y", "mood")])
@pytest.mark.nightly(diagonal=True)
def test_columns_in_another_order_than_in_the_schema(scores, names):
    """Sums stand in the order of the scores."""
    chosen = RankScores({name: scores.tables[name] for name in names})
    expected, _ = slow(states_of(rows(300)), chosen)
    for keep_bytes in (0, 2**30):
        table = Table(rows(300), SCHEMA, keep_bytes=keep_bytes)
        assert summed(table, chosen).tolist() == expected


@BOTH
def test_a_pass_that_codes_by_itself_gives_the_same(scores):
    """As parts of the rows far away do it: from values, in batches, over groups or not."""
    places = tuple(PLACES[name] for name in scores.columns)
    groups = {"mood": (0, 0, 1, 2)}
    grouped = RankScores({**scores.tables, "mood": (-33, 44, 0)})
    frame = rows(500)
    table = Table(frame, SCHEMA)
    for own, tables in (({}, scores), (groups, grouped)):
        coding = CodingPass(partial(RankSums, places, tables), SCHEMA, own)
        for start in range(0, 500, 130):
            coding.add(frame[start : start + 130])
        seen = table.group(SCHEMA.with_groups(own), own) if own else table
        assert np.array_equal(coding.answer(), summed(seen, tables))


def test_many_long_records_are_summed_exactly():
    """300,000 alike, 20 columns of the largest score: more than a batch, in whole numbers."""
    scores = RankScores({f"x{k}": (2**20, 0) for k in range(20)})
    states = [np.zeros(300_000, dtype=np.uint8)] * 20
    over = RankSums(tuple(range(20)), scores)
    over.add(states)
    each = int(2**20 * (math.sqrt(scores.most / (20 * 2**40)) * (1 - 2**-40)))
    assert each**2 * 20 <= scores.most
    assert set(over.answer().tolist()) == {300_000 * each**2}
