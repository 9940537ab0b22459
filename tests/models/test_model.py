"""Records that rules forbid are drawn again, whatever draws them."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from understudy.models.model import Sample, replace_impossible
from understudy.schema import Domain

DOMAIN = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0, 2})},))
WEIGHTS = np.array([[0.1, 0.2, 0.1], [0.25, 0.05, 0.3]])


def sampled(n, rng, weights=WEIGHTS):
    cells = rng.choice(6, size=n, p=weights.reshape(-1))
    return Sample([cells // 3, cells % 3], {"x": cells.astype(float)})


def counts_of(sample):
    return np.bincount(3 * sample.states[0] + sample.states[1], minlength=6)


def test_what_comes_out_has_the_conditional_law():
    """A false alarm has probability 1e-6; the law without its rules is rejected."""
    rng = np.random.default_rng(1)
    found = replace_impossible(sampled(20_000, rng), DOMAIN, lambda n: sampled(n, rng), rng)
    allowed = WEIGHTS.reshape(-1) * DOMAIN.allowed_mask().reshape(-1)
    counts = counts_of(found)
    kept = allowed > 0
    assert counts[~kept].sum() == 0
    expected = 20_000 * allowed[kept] / allowed.sum()
    assert chisquare(counts[kept], expected).pvalue > 1e-6
    assert chisquare(counts[kept], np.full(4, 5_000)).pvalue < 1e-6
    assert (found.values["x"] == 3 * found.states[0] + found.states[1]).all()


def test_what_stays_impossible_is_uniform_over_the_allowed_cells_and_has_no_number():
    only = np.array([[0, 0, 0], [0.5, 0, 0.5]])
    rng, rounds = np.random.default_rng(1), []

    def again(n):
        rounds.append(n)
        return sampled(n, rng, only)

    found = replace_impossible(again(8_000), DOMAIN, again, rng, redraws=3)
    assert rounds == [8_000] * 4
    assert chisquare(counts_of(found)[[0, 1, 2, 4]]).pvalue > 1e-6
    assert np.isnan(found.values["x"]).all()


def test_without_rules_nothing_is_drawn_again():
    rng = np.random.default_rng(1)
    sample = sampled(50, rng)

    def never(_n):
        raise AssertionError

    assert replace_impossible(sample, Domain((2, 3)), never, rng) is sample
