"""Losses are the scores of an evaluation, without their nulls; and rows that are held out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from understudy.errors import DataError
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.evaluate import LOSSES, Pairing, hold_out, losses, rows_in_memory
from understudy.evaluate.marginals import conditional_score, total_variation
from understudy.evaluate.propensity import propensity_scores
from understudy.schema import Schema

SCHEMA = Schema.loads(
    """
    [columns.a]
    kind = "categorical"
    levels = ["x", "y"]
    source = "codebook"
    reviewed = true
    [columns.b]
    kind = "integer"
    lower = 0
    upper = 9
    bins = 5
    source = "law"
    reviewed = true
    [columns.c]
    kind = "boolean"
    source = "codebook"
    reviewed = true
    """
)


def sample(n, seed, *, linked=True):
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 2, n)
    other = one * 5 + rng.integers(0, 5, n)
    if not linked:
        other = rng.permutation(other)
    return pl.DataFrame(
        {"a": np.array(["x", "y"])[one], "b": other, "c": rng.random(n) < 0.2 + 0.5 * one}
    )


def test_the_rows_themselves_lose_nothing():
    rows = sample(300, 1)
    assert losses(Pairing.of(SCHEMA, rows, [rows]), list(LOSSES)) == pytest.approx(
        dict.fromkeys(LOSSES, 0.0)
    )


def test_losses_are_the_scores_of_an_evaluation():
    original, sets = sample(400, 1), [sample(300, 2), sample(300, 3, linked=False)]
    found = losses(Pairing.of(SCHEMA, original, sets), list(LOSSES))
    comparison = Comparison.of(SCHEMA, original, sets)
    for name, columns in (
        ("one-way", [(0,), (1,), (2,)]),
        ("two-way", [(0, 1), (0, 2), (1, 2)]),
    ):
        expected = [
            total_variation(one, other)
            for _, one, others in comparison.tables(columns)
            for other in others
        ]
        assert found[name] == pytest.approx(np.mean(expected))
    assert found["conditional"] == pytest.approx(conditional_score(comparison).value)
    scores = {one.name: one.value for one in propensity_scores(comparison)[0]}
    assert found["specks"] == pytest.approx(scores["SPECKS, logistic, with pairs"])


def test_lost_associations_are_seen_by_all_but_single_columns():
    original = sample(2000, 1)
    kept, lost = (
        losses(Pairing.of(SCHEMA, original, [sample(2000, 2, linked=k)]), list(LOSSES))
        for k in (1, 0)
    )
    assert lost["one-way"] == pytest.approx(kept["one-way"], abs=0.02)
    for name in set(LOSSES) - {"one-way"}:
        assert lost[name] > kept[name] + 0.1


def test_a_set_without_rows_has_the_worst_loss():
    rows = sample(50, 1)
    found = losses(Pairing.of(SCHEMA, rows, [rows, rows.clear()]), list(LOSSES))
    assert found == {name: loss.worst for name, loss in LOSSES.items()}


def test_no_loss_exceeds_its_worst():
    rows = sample(200, 1)
    one, other = rows.filter(pl.col("a") == "x"), rows.filter(pl.col("a") == "y")
    found = losses(Pairing.of(SCHEMA, one, [other]), list(LOSSES))
    assert all(0 < found[name] <= loss.worst + 1e-12 for name, loss in LOSSES.items())
    assert found["specks"] == 1.0


def test_rows_are_read_in_their_order_and_only_the_columns_of_the_schema(tmp_path):
    rows = sample(40, 1).with_columns(note=pl.lit("unused"))
    rows.write_csv(tmp_path / "rows.csv")
    for data in (rows, rows.to_pandas(), tmp_path / "rows.csv"):
        found = rows_in_memory(data, SCHEMA)
        assert found.columns == ["a", "b", "c"]
        assert found["b"].cast(pl.Int64).to_list() == rows["b"].to_list()


def test_held_out_rows_and_members_make_up_the_table():
    rows = sample(11, 1).with_row_index("number")
    members, control = hold_out(rows, 0.3, np.random.default_rng(1))
    assert (members.height, control.height) == (8, 3)
    assert sorted([*members["number"], *control["number"]]) == list(range(11))
    again = hold_out(rows, 0.3, np.random.default_rng(2))[1]
    assert not again.equals(control)


@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (2, 0.1), (2, 0.9), (0, 0.5)])
def test_too_few_rows_to_hold_out_are_told(n, share):
    with pytest.raises(DataError, match="too few rows"):
        hold_out(sample(n, 1), share, np.random.default_rng(1))
