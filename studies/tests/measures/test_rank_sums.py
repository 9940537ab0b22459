"""Ranks with ties, and their sums."""

import numpy as np
import pytest

from understudy_studies.measures.rank_sums import rank_sums, ranks


def slow_rank(values, better):
    """By counting who is ahead."""
    ahead = (lambda a, b: a < b) if better == "low" else (lambda a, b: a > b)
    return [1 + sum(ahead(other, one) for other in values) for one in values]


def test_ranks_are_those_of_counting():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (3, 6, 5)).astype(float)
    better = ("low", "high", "high", "low", "high")
    found = ranks(values, better)
    for batch, expected in zip(values, found, strict=True):
        for j, which in enumerate(better):
            assert expected[:, j].tolist() == slow_rank(batch[:, j], which)
    assert np.array_equal(rank_sums(values, better), found.sum(axis=-1))


def test_ties_share_the_best_rank_and_the_next_are_left_out():
    assert ranks([[0.2], [0.1], [0.1], [0.3]], ["low"])[:, 0].tolist() == [3, 1, 1, 4]


def test_only_the_digits_that_are_shown_count():
    values = [[0.1234], [0.1231], [0.1226]]
    assert ranks(values, ["low"])[:, 0].tolist() == [3, 2, 1]
    assert ranks(values, ["low"], decimals=3)[:, 0].tolist() == [1, 1, 1]


def test_what_is_not_known_is_last():
    assert ranks([[np.nan], [9.0], [1.0]], ["high"])[:, 0].tolist() == [3, 1, 2]
    assert ranks([[np.nan], [9.0], [1.0]], ["low"])[:, 0].tolist() == [3, 2, 1]


def test_measures_must_fit():
    with pytest.raises(ValueError, match="2 measures"):
        ranks([[1.0]], ["low", "high"])
