"""Lipschitz bounds and the weights made from them; and why none of it is differential privacy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from understudy.dp.guarantee import nominal_epsilon
from understudy.errors import MethodError
from understudy.papers.record_weights import (
    lipschitz_bounds,
    raise_weights,
    scalar_weight,
    scaled_risks,
    vector_weights,
)


def chunked(matrix, length):
    """Chunks of draws, and fresh memory each time, as a sampler's would be."""
    return lambda: (matrix[k : k + length].copy() for k in range(0, len(matrix), length))


def slow_bounds(matrix, level, weights):
    """The definition: the whole matrix, sorted maxima, and the draws up to the quantile."""
    sizes = np.abs(matrix) * weights
    by_draw = [max(row, default=0.0) for row in sizes.tolist()]
    rank = max(1, int(np.ceil(round(level * len(by_draw), 9))))
    cut = sorted(by_draw)[rank - 1]
    kept = [row for row, size in zip(sizes.tolist(), by_draw, strict=True) if size <= cut]
    return by_draw, [max(column) for column in zip(*kept, strict=True)], cut


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("length", [1, 7, 100])
def test_bounds_are_those_of_the_whole_matrix(level, length):
    rng = np.random.default_rng(1)
    matrix, weights = rng.normal(-2, 3, (41, 23)), rng.random(23)
    found = lipschitz_bounds(chunked(matrix, length), level=level, weights=weights)
    by_draw, by_record, bound = slow_bounds(matrix, level, weights)
    assert found.by_draw.tolist() == by_draw
    assert found.by_record.tolist() == by_record
    assert found.bound == bound
    assert found.kept.sum() == np.ceil(round(level * 41, 9))
    assert "by_record" not in repr(found)


def test_a_worst_draw_is_dropped_and_says_nothing_of_any_record():
    matrix = np.array([[-1.0, -2.0], [-50.0, -1.0], [-3.0, -2.5]])
    found = lipschitz_bounds(chunked(matrix, 2), level=0.6)
    assert found.kept.tolist() == [True, False, True]
    assert (found.by_record.tolist(), found.bound) == ([3.0, 2.5], 3.0)
    assert lipschitz_bounds(chunked(matrix, 2), level=1).by_record.tolist() == [50.0, 2.5]


def test_a_density_of_zero_or_none_is_an_infinite_bound_unless_its_record_weighs_nothing():
    matrix = np.array([[-1.0, -np.inf, np.nan], [-2.0, -1.0, -1.0]])
    found = lipschitz_bounds(chunked(matrix, 1), level=1)
    assert found.by_record.tolist() == [2.0, np.inf, np.inf]
    assert vector_weights(found.by_record).tolist() == [1.0, 0.0, 0.0]
    without = lipschitz_bounds(chunked(matrix, 1), level=1, weights=np.array([0.5, 0, 0]))
    assert without.by_record.tolist() == [1.0, 0.0, 0.0]


def test_no_records():
    found = lipschitz_bounds(chunked(np.zeros((5, 0)), 2))
    assert (found.by_draw.tolist(), found.bound) == ([0.0] * 5, 0.0)
    assert vector_weights(found.by_record).shape == (0,)
    assert raise_weights(np.zeros(0), found.by_record).shape == (0,)
    assert scalar_weight(1.0, found.bound) == 1.0


def test_public_mistakes():
    matrix = np.zeros((3, 2))
    with pytest.raises(MethodError, match="one draw"):
        lipschitz_bounds(chunked(matrix[:0], 1))
    for level in (0.0, 1.1, np.nan):
        with pytest.raises(MethodError, match="quantile"):
            lipschitz_bounds(chunked(matrix, 1), level=level)
    for second in ([matrix[:2]], []):
        readings = iter([[matrix], second])
        with pytest.raises(MethodError, match="another number"):
            lipschitz_bounds(lambda readings=readings: next(readings))
    with pytest.raises(MethodError, match="scale"):
        vector_weights(np.ones(2), scale=-0.1)
    with pytest.raises(MethodError, match="target"):
        scalar_weight(0.0, 1.0)
    for share in (0.0, 1.5):
        with pytest.raises(MethodError, match="share"):
            raise_weights(np.ones(2), np.ones(2), share=share)


@pytest.mark.parametrize(
    ("scale", "shift", "expected"),
    [
        (0.7, 0.0, [0.7, 0.525, 0.0]),
        (0.7, -0.1, [0.6, 0.425, 0.0]),
        (1.0, 0.0, [1.0, 0.75, 0.0]),
        (2.0, 0.1, [1.0, 1.0, 0.1]),
        (0.0, 0.0, [0.0, 0.0, 0.0]),
    ],
)
def test_weights_of_bounds_one_two_and_five(scale, shift, expected):
    found = vector_weights(np.array([1.0, 2.0, 5.0]), scale=scale, shift=shift)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_weights_of_many_tables_at_once_and_of_equal_records():
    tables = np.random.default_rng(2).gamma(2.0, size=(4, 3, 11))
    together = vector_weights(tables, scale=0.6, shift=-0.1)
    for place in np.ndindex(4, 3):
        np.testing.assert_array_equal(
            together[place], vector_weights(tables[place], scale=0.6, shift=-0.1)
        )
    assert scaled_risks(np.full(5, 3.0)).tolist() == [0.0] * 5
    assert vector_weights(np.array([3.0]), scale=0.7).tolist() == [0.7]


def test_a_scalar_weight_brings_the_bound_to_its_target():
    """The same posterior draws: α·Δ = ε/2, the bound that a vector of weights had."""
    matrix = np.random.default_rng(3).normal(-3, 2, (50, 30))
    bound = lipschitz_bounds(chunked(matrix, 9), level=1).bound
    alpha = scalar_weight(nominal_epsilon(0.25 * bound), bound)
    assert alpha == pytest.approx(0.25)
    weighted = lipschitz_bounds(chunked(matrix, 9), level=1, weights=np.full(30, alpha))
    assert nominal_epsilon(weighted.bound) == pytest.approx(0.5 * bound)
    assert scalar_weight(100 * bound, bound) == 1.0


def test_reweighting_lifts_every_record_to_the_bound_or_to_weight_one():
    rng = np.random.default_rng(4)
    matrix = rng.normal(-3, 2, (50, 30)) * rng.gamma(2.0, size=30)
    alpha = vector_weights(lipschitz_bounds(chunked(matrix, 9), level=1).by_record, scale=0.7)
    before = lipschitz_bounds(chunked(matrix, 9), level=1, weights=alpha)
    raised = raise_weights(alpha, before.by_record)
    after = lipschitz_bounds(chunked(matrix, 9), level=1, weights=raised)
    assert np.all(raised >= alpha)
    assert after.bound == pytest.approx(before.bound)
    lifted = (alpha > 0) & (raised < 1)
    assert 3 < lifted.sum() < 28
    np.testing.assert_allclose(after.by_record[lifted], before.bound)
    half = raise_weights(alpha, before.by_record, share=0.5)
    assert lipschitz_bounds(chunked(matrix, 9), level=1, weights=half).bound == pytest.approx(
        0.5 * before.bound
    )
    both = raise_weights(np.stack([alpha, alpha]), np.stack([before.by_record, before.by_record]))
    np.testing.assert_array_equal(both, np.stack([raised, raised]))
    assert raise_weights(np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.0, 2.0])).tolist() == [
        0,
        1,
        0.5,
    ]
    assert raise_weights(np.array([0.2, 0.5]), np.array([np.inf, 1.0])).tolist() == [0.2, 1.0]


def test_the_nominal_figure_counts_sets_and_is_twice_as_large_under_replace():
    assert nominal_epsilon(7.0) == 14
    assert nominal_epsilon(7.0, sets=20) == 280
    assert nominal_epsilon(7.0, sets=20, neighbours="replace") == 560


# --- the counter-example: 2Δ is not ε ------------------------------------------------------------

CALM = np.array([0.5] * 50 + [1.0] * 50)
OUTLIER = np.array([0.5] * 50 + [1.0] * 49 + [4.0])
"""One record of a hundred replaced. y ~ N(θ, 1)."""


def log_density(y, theta):
    """Shape (draws, n)."""
    return stats.norm.logpdf(y, theta[:, None], 1.0)


def test_one_record_replaced_changes_the_density_by_far_more_than_the_nominal_epsilon():
    """θ ∈ [-3, 3], prior ∝ exp(-θ²/18) on a grid: every parameter stands in the matrix, none is
    dropped, and the law is exact. The two tables call themselves 14.1 and 16.0; it is 348.7."""
    grid = np.linspace(-3, 3, 61)
    distributions, nominal = [], []
    for y in (CALM, OUTLIER):
        matrix = log_density(y, grid)
        alpha = vector_weights(lipschitz_bounds(chunked(matrix, 10), level=1).by_record)
        bounds = lipschitz_bounds(chunked(matrix, 10), level=1, weights=alpha)
        nominal.append(nominal_epsilon(bounds.bound))
        scores = matrix @ alpha - grid**2 / 18
        distributions.append(scores - np.logaddexp.reduce(scores))
    assert nominal == pytest.approx([14.088, 16.018], abs=0.001)
    realised = np.abs(distributions[0] - distributions[1]).max()
    assert realised == pytest.approx(348.743, abs=0.001)
    assert realised > 5 * nominal_epsilon(8.009, neighbours="replace")


def test_so_it_does_at_parameters_that_were_really_drawn():
    """The conjugate posterior, exact densities, prior N(0, 9): 400 draws under α by (1)-(5).

    The outlier takes the whole scale of Δ̃, so that the 99 other records, unchanged, weigh nearly
    1 where they weighed 1/2 on average; the posterior moves by two standard deviations. All draws
    are within a bound that the paper calls ε = 2; their densities differ by e²⁰ and more.
    """
    rng = np.random.default_rng(5)

    def posterior(y, alpha):
        precision = 1 / 9 + alpha.sum()
        return stats.norm((alpha * y).sum() / precision, precision**-0.5)

    distributions, drawn, nominal, shares = [], [], [], []
    for y in (CALM, OUTLIER):
        first = posterior(y, np.ones(100)).rvs(400, random_state=rng)
        alpha = vector_weights(lipschitz_bounds(chunked(log_density(y, first), 50)).by_record)
        distribution = posterior(y, alpha)
        theta = distribution.rvs(400, random_state=rng)
        bounds = lipschitz_bounds(chunked(log_density(y, theta), 50), weights=alpha)
        distributions.append(distribution)
        drawn.append(theta[bounds.kept])
        nominal.append(nominal_epsilon(bounds.bound))
        shares.append(alpha[:99].mean())
    theta = np.concatenate(drawn)
    realised = np.abs(distributions[0].logpdf(theta) - distributions[1].logpdf(theta)).max()
    assert max(nominal) < 2.5
    assert realised > 10
    assert shares[0] == pytest.approx(0.5, abs=0.05)
    assert shares[1] > 0.95
