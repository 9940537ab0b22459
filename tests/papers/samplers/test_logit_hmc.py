"""Chains of a logit against numerical integration and closed forms.

Each draw of a test of laws comes from a chain of its own, so that draws are independent. False
alarms: 1e-5 for each comparison.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

from understudy.dp.randomness import SeededRandomness
from understudy.papers.categorical_models import Chains, WeightedLogit, logit_draws, mode_of

LEVEL = 1e-5
S = 4000
ALONE = Chains(chains=S)
COARSE = Chains(chains=S, steps=2, shortest=1.5, longest=2.2, wanted=0)
"""Steps so long that a third of the ends are refused; taking them all would show."""


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield


def drawn(target, how=ALONE, seed=1, draws=S):
    return logit_draws(target, SeededRandomness(seed), draws=draws, how=how)


def logit(design, outcomes, weights, size=1, precisions=None):
    design = np.array(design, dtype=float)
    precisions = np.full(design.shape[1], 0.16) if precisions is None else np.array(precisions)
    return WeightedLogit(
        design, np.array(outcomes), np.array(weights, dtype=float), size, precisions
    )


def grid(target, axis):
    """Points of two coefficients, or one, and their probabilities under the target."""
    count = target.size * target.design.shape[1]
    points = np.stack(np.meshgrid(*[axis] * count, indexing="ij"), axis=-1).reshape(-1, count)
    flat = points.reshape(-1, *target.shape)
    logs = -0.5 * np.sum(target.precisions * flat**2, axis=(1, 2))
    for row, outcome, weight in zip(target.design, target.outcomes, target.weights, strict=True):
        predictors = np.concatenate([np.zeros((len(flat), 1)), flat @ row], axis=1)
        logs += weight * log_softmax(predictors, axis=1)[:, outcome]
    mass = np.exp(logs - logs.max())
    return points, mass / mass.sum()


def p_value(integrated, points, along):
    """That draws have an integrated law in one direction; Kolmogorov and Smirnov."""
    at, mass = integrated
    line = at @ along
    order = np.argsort(line, kind="stable")
    ends, cumulated = line[order], np.cumsum(mass[order]) - mass[order] / 2
    column_model = lambda x: np.interp(x, ends, cumulated)  # noqa: E731
    return stats.kstest(points.reshape(len(points), -1) @ along, column_model).pvalue


LINE = np.linspace(-14, 14, 10_001)
PLANE = np.linspace(-12, 12, 241)
ONE = logit(np.ones((6, 1)), [1, 1, 1, 0, 1, 1], [0.9, 0.2, 0.6, 0.1, 1.0, 0.4])
SEPARATED = logit([[1, -1], [1, -0.5], [1, 1], [1, 0.4]], [0, 0, 1, 1], [1.0, 0.3, 0.5, 1.0])
THREE = logit(np.ones((8, 1)), [2, 1, 2, 2, 2, 0, 2, 1], np.linspace(0.1, 1, 8), size=2)


@pytest.mark.parametrize("how", [ALONE, COARSE])
def test_one_coefficient_by_integration(how):
    found = drawn(ONE, how)
    assert p_value(grid(ONE, LINE), found.points, np.ones(1)) > LEVEL
    wrong = (
        replace(ONE, weights=np.ones(6)),
        replace(ONE, weights=ONE.weights / 2),
        replace(ONE, weights=np.zeros(6)),
        replace(ONE, precisions=np.array([0.3])),
    )
    for other in wrong:
        assert p_value(grid(other, LINE), found.points, np.ones(1)) < LEVEL


@pytest.mark.parametrize("target", [SEPARATED, THREE], ids=["separated", "three outcomes"])
@pytest.mark.parametrize("how", [ALONE, COARSE], ids=["fine", "coarse"])
@pytest.mark.nightly(every=4)
def test_two_coefficients_by_integration(target, how):
    found = drawn(target, how)
    wrong = replace(target, weights=np.ones(len(target.weights)))
    column_models = grid(target, PLANE), grid(wrong, PLANE)
    misses = []
    for along in np.array([[1, 0], [0, 1], [0.6, 0.8], [0.6, -0.8]]):
        right, unweighted = (
            p_value(column_model, found.points, along) for column_model in column_models
        )
        assert right > LEVEL
        misses.append(unweighted)
    assert min(misses) < LEVEL


def test_refusals_are_what_keeps_the_target():
    """Long steps have many ends refused, and the law above is the same."""
    assert drawn(SEPARATED, ALONE).acceptance > 0.9
    assert drawn(SEPARATED, COARSE).acceptance < 0.8


@pytest.mark.nightly
def test_a_flat_prior_gives_dirichlet_shares_with_weights_as_counts():
    """β uniform is Dirichlet(0, 0, 0) for the shares: conjugate, with Σα in the place of counts."""
    rng = np.random.default_rng(2)
    outcomes, weights = np.repeat([0, 1, 2], [12, 8, 30]), rng.uniform(0.1, 1, 50)
    target = logit(np.ones((50, 1)), outcomes, weights, size=2, precisions=[1e-8])
    points = drawn(target).points[:, :, 0]
    shares = np.exp(log_softmax(np.column_stack([np.zeros(S), points]), axis=1))
    totals, plain = (np.bincount(outcomes, by) for by in (weights, np.ones(50)))
    for k in range(3):
        for counts, right in ((totals, True), (plain, False)):
            column_model = stats.beta(counts[k], counts.sum() - counts[k])
            assert (stats.kstest(shares[:, k], column_model.cdf).pvalue > LEVEL) == right


@pytest.mark.parametrize("n", [0, 5])
def test_without_records_or_weights_draws_are_of_the_prior_and_independent(n):
    target = logit(np.ones((n, 2)), np.ones(n, dtype=int), np.zeros(n), 2, [0.16, 4.0])
    found = drawn(target, Chains())
    assert found.acceptance == pytest.approx(1.0)
    for k in range(2):
        assert stats.kstest(found.points[:, k, 0], stats.norm(0, 2.5).cdf).pvalue > LEVEL
        assert stats.kstest(found.points[:, k, 1], stats.norm(0, 0.5).cdf).pvalue > LEVEL


def hundreds(width=2.5, m=6, p=33, n=200, seed=5):
    """Nearly 200 coefficients for 200 records, which features separate; all weights different."""
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.random((n, p - 1)) < 0.3])
    outcomes = (design[:, 1:4] @ [1, 2, 4]).astype(int) % (m + 1)
    return logit(design, outcomes, rng.uniform(size=n), m, np.full(p, width**-2))


@pytest.mark.parametrize("width", [2.5, 6.0])
@pytest.mark.nightly
def test_hundreds_of_coefficients_forget_where_they_began(width):
    """300 chains after the usual burn-in against 300 after three times as many transitions."""
    target = hundreds(width)
    first = drawn(target, Chains(chains=300), seed=6, draws=300)
    later = drawn(target, Chains(chains=300, burn_in=60), seed=7, draws=300)
    assert first.acceptance > 0.5
    heights = [target.evaluate(one.points)[0] for one in (first, later)]
    assert stats.ks_2samp(*heights).pvalue > LEVEL
    for at in (0, 40, 120, 197):
        ends = [one.points.reshape(300, -1)[:, at] for one in (first, later)]
        assert stats.ks_2samp(*ends).pvalue > LEVEL
    start = drawn(target, Chains(chains=300, burn_in=0, shortest=0, longest=1e-9), 8, 300)
    assert stats.ks_2samp(target.evaluate(start.points)[0], heights[1]).pvalue < LEVEL


def test_steps_become_shorter_where_ends_are_refused():
    target = hundreds(6.0)
    fixed, adapted = (drawn(target, Chains(wanted=share), draws=80) for share in (0.0, 0.6))
    assert fixed.steps == 3 < adapted.steps
    assert adapted.acceptance > fixed.acceptance + 0.1
    assert drawn(ONE, Chains(), draws=80).steps == 3
    how = Chains(steps=4, shortest=0.3, longest=0.6, most_steps=5)
    slower = how.slower()
    found = slower.steps, slower.shortest, slower.longest
    assert found == pytest.approx((5, 0.24, 0.48))
    assert slower.slower() == slower


def test_draws_of_a_chain_are_nearly_independent():
    found = drawn(hundreds(), Chains(), draws=800).points.reshape(100, 8, -1)
    centred = found - found.mean(axis=(0, 1))
    apart = (centred[1:] * centred[:-1]).mean(axis=(0, 1)) / centred.var(axis=(0, 1))
    assert np.abs(apart).mean() < 0.6


@pytest.mark.parametrize(
    "target",
    [hundreds(), ONE, SEPARATED, logit(np.ones((0, 2)), np.ones(0, dtype=int), [])],
    ids=["hundreds", "one", "separated", "none"],
)
def test_the_mode_is_where_nothing_rises(target):
    mode = mode_of(target)
    _, (gradient,) = target.evaluate(mode[np.newaxis])
    assert np.abs(gradient).max() < 1e-4


@pytest.mark.parametrize("weight", [1e-300, 1e-9, 1.0])
@pytest.mark.nightly(every=3)
def test_extreme_weights_and_separation_of_thousands(weight):
    n = 3000
    design = np.column_stack([np.ones(n), np.repeat([-1.0, 1.0], n // 2)])
    target = logit(design, np.repeat([0, 1], n // 2), np.full(n, weight))
    found = drawn(target, Chains(), draws=400)
    assert found.acceptance > 0.8
    slopes = found.points[:, 0, 1]
    if weight == 1.0:
        assert 2 < slopes.min() < slopes.max() < 14
    else:
        assert stats.kstest(slopes, stats.norm(0, 2.5).cdf).pvalue > LEVEL


@pytest.mark.parametrize(("draws", "chains", "thin"), [(1, 8, 1), (7, 8, 1), (9, 8, 2), (20, 3, 4)])
def test_numbers_of_draws_and_of_transitions(draws, chains, thin):
    how = Chains(chains=chains, burn_in=2, thin=thin)
    assert drawn(ONE, how, draws=draws).points.shape == (draws, 1, 1)
    side = min(draws, chains)
    assert how.side_by_side(draws) == side
    assert how.transitions(draws) == 3 + thin * (-(-draws // side) - 1)
    assert how.evaluations(draws) == 3 * side * how.transitions(draws)


def test_draws_follow_the_seed():
    one, same, other = (drawn(ONE, Chains(), seed, 9).points for seed in (3, 3, 4))
    assert (one == same).all()
    assert (one != other).all()
