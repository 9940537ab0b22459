"""An answer counts if its interval is finite and at most ten times that of the rows."""

from math import inf, nan

import numpy as np
import pytest

from understudy.inference.analysis import answer_counts, counts
from understudy.inference.combining import Pooled


def pooled(stderr, noise, names=None):
    """Estimates with a standard error each, of whose variance so much is noise."""
    stderr, noise = np.array(stderr), np.array(noise)
    return Pooled(
        names=tuple(names or (f"q{k}" for k in range(len(stderr)))),
        estimate=np.ones(len(stderr)),
        covariance=np.diag(stderr**2),
        df=np.full(len(stderr), np.inf),
        synthesis_share=noise,
        rule="noise-aware",
        sets=1,
    )


@pytest.mark.parametrize(
    ("width", "of_rows", "known"),
    [(10, 1, True), (10.1, 1, False), (inf, 1, False), (nan, 1, False), (3, 0, True)],
)
def test_ten_times_is_the_most(width, of_rows, known):
    assert counts(width, of_rows) is known


def test_the_share_of_noise_tells_what_the_rows_would_give():
    """99 % of the variance is noise: 10 times; 99.1 %: more."""
    assert answer_counts(pooled([2.0], [0.9899]), expected=False)
    assert not answer_counts(pooled([2.0], [0.991]), expected=True)


def test_at_least_half_of_several_must_count_and_an_intercept_is_none_of_them():
    narrow, wide = 0.5, 0.999
    assert answer_counts(pooled([1, 1], [narrow, wide]), expected=True)
    assert not answer_counts(pooled([1, 1, 1], [narrow, wide, wide]), expected=True)
    model = pooled([1, 1], [narrow, wide], names=["Intercept", "age"])
    assert not answer_counts(model, expected=True)


@pytest.mark.parametrize("expected", [True, False])
def test_public_facts_decide_where_the_share_is_not_known(expected):
    assert answer_counts(pooled([1.0], [nan]), expected=expected) is expected


def test_an_interval_without_an_end_counts_never():
    assert not answer_counts(pooled([inf], [nan]), expected=True)
    assert not answer_counts(pooled([nan], [nan]), expected=True)
