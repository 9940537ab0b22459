"""The methods that the studies of the pMSE mechanism compare: they are those of releases."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import log_softmax, softmax

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.inference.private_regression import coefficients
from understudy.mechanisms.regression import Regression
from understudy.mechanisms.selection import select
from understudy.mechanisms.sums import Moments
from understudy.mechanisms.urn import Urn
from understudy.papers.bayesian_models import LocationStatistics, Mixture
from understudy.papers.trees_exact import Stumps
from understudy.papers.trees_greedy import Greedy
from understudy.workflow.gates import open_gate
from understudy_studies.snoke_slavkovic_2018 import (
    candidates,
    comparators,
    limits,
    methods,
    proposals,
    searches,
    walks,
)
from understudy_studies.snoke_slavkovic_2018.candidates import (
    DEPTH_1,
    DEPTH_2,
    PARTITIONS,
    PRIOR,
    TRUTH,
)
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER, SMALLER
from understudy_studies.snoke_slavkovic_2018.limits import TiltedPrior
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS, Regressions, fitted, records
from understudy_studies.snoke_slavkovic_2018.regressions import simulation as regression

pytestmark = pytest.mark.usefixtures("few_partitions")

TABLES = records(Regressions.of(TRUTH, (3,)), N_ROWS, np.random.default_rng(1))
HERE = candidates.theta_of(Regressions.of(TRUTH))
LEVEL = 1e-6


def gate_of(table, reach, bins, seed):
    rows = pl.DataFrame({"x1": table[:, 0], "x2": table[:, 1]})
    schema = candidates.schema_of(reach, bins)
    return open_gate(Table(rows, schema), Budget.of(50.0), SeededRandomness(seed))


@pytest.mark.parametrize("k", [0, 1, 17, 500])
@pytest.mark.nightly(every=4)
def test_simulated_sets_are_those_of_the_generator(k):
    """Numbers, and states but for numbers on the edge of a cell."""
    theta = candidates.points()[k]
    uniforms = np.full((2, 2, N_ROWS), 0.5)
    uniforms[:, 1] = stats.norm.cdf(candidates.omega()).T
    drawn = candidates.GENERATOR.records(theta, uniforms)
    found = candidates.simulated(theta, bounded=True)
    for j, name in enumerate(("x1", "x2")):
        assert drawn[name].numbers == pytest.approx(found[:, j], abs=1e-9)
        assert (drawn[name].states != candidates.cells(found)[:, j]).mean() < 0.001


def test_parameters_go_to_the_units_of_columns_and_back():
    assert candidates.theta_of(candidates.regressions_of(candidates.points())) == pytest.approx(
        candidates.points()
    )
    back = np.array(candidates.regressions_of(HERE))
    assert back == pytest.approx(np.array(Regressions.of(TRUTH)))


def test_omega_is_even():
    """Means, deviations and correlation are those of the law to less than half an error."""
    omega = candidates.omega()
    assert omega.shape == (N_ROWS, 2)
    assert np.abs(omega.mean(axis=0)).max() < 0.5 / math.sqrt(N_ROWS)
    assert omega.std(axis=0) == pytest.approx([1, 1], abs=0.5 / math.sqrt(2 * N_ROWS))
    assert abs(np.corrcoef(omega.T)[0, 1]) < 0.5 / math.sqrt(N_ROWS)


def test_depth_1_on_cells_is_the_best_stump():
    codes = candidates.cells(TABLES)
    others = candidates.cells(candidates.simulated(candidates.points()[:20]))
    trees = candidates.trees_of(DEPTH_1)
    for one in others:
        assert trees.smallest_sse(codes[0], one) == pytest.approx(
            Stumps().smallest_sse(codes[0], one)
        )


def test_scores_are_those_of_the_classes():
    q = searches.scores(TABLES[:1], DEPTH_2)
    trees = candidates.trees_of(DEPTH_2)
    codes = candidates.cells(TABLES[0])
    for k in (0, 3, 700):
        other = candidates.cells(candidates.simulated(candidates.points()[k], bounded=True))
        assert q[0, k] == trees.smallest_sse(codes, other)


def test_draws_have_the_law_of_the_exponential_mechanism():
    """Both samplers fit it, and it rejects a rate that is a tenth too large. False alarm: 1e-6."""
    q = np.array([0.0, 1.0, 2.5, 3.0, 4.0])
    rate, n = searches.rate(1.0), 40_000
    expected = softmax(rate * q)
    assert rate == pytest.approx((N_ROWS + 1) / (2 * N_ROWS))
    rng, source = np.random.default_rng(4), SeededRandomness(4)
    drawn = searches.chosen(np.broadcast_to(rate * q, (n, 5)), rng)
    exact = [
        select(
            q,
            epsilon=Fraction(1),
            sensitivity=Fraction(N_ROWS, N_ROWS + 1),
            monotone=False,
            feasible=None,
            source=source,
        )
        for _ in range(4_000)
    ]
    for found in (drawn, exact):
        counts = np.bincount(found, minlength=5)
        assert stats.chisquare(counts, counts.sum() * expected).pvalue > LEVEL
    wrong = softmax(1.1 * rate * q)
    assert stats.chisquare(np.bincount(drawn, minlength=5), n * wrong).pvalue < LEVEL


@pytest.mark.parametrize(
    "name",
    [DEPTH_1, *(pytest.param(name, marks=pytest.mark.nightly) for name in (DEPTH_2, PARTITIONS))],
)
def test_one_grid_keeps_its_promise_for_neighbours(name):
    """One record replaced by others, near and far: scores and probabilities move within bounds."""
    neighbours = np.repeat(TABLES[:1], 5, axis=0)
    for k, place in enumerate(((9.0, 9.0), (-9.0, 9.0), (0.0, 0.0), (0.5, -4.0)), start=1):
        neighbours[k, np.argmax(TABLES[0, :, 0])] = place
    q = searches.scores(neighbours, name)
    moved = np.abs(q[1:] - q[0]).max()
    assert 0 < moved <= N_ROWS / (N_ROWS + 1)
    log_shares = log_softmax(searches.rate(1.0) * q, axis=1)
    assert np.abs(log_shares[1:] - log_shares[0]).max() <= 1.0


def test_published_exponent_is_that_of_the_paper():
    """ε·n·pMSE/2 at ε/m, in units of q."""
    assert limits.published_rate(2.0, 10) == pytest.approx(0.2 * N_ROWS / 2 / (2 * N_ROWS))


def test_finer_points_are_those_of_the_narrower_prior():
    expected = PRIOR.around(HERE, 0.4).points(searches.FINER)
    assert searches.around(HERE, 0.4) == pytest.approx(expected)


@pytest.mark.nightly
def test_with_a_large_budget_searches_take_the_best():
    """Rounds come nearer than their first one; columns come nearer still."""
    trees, codes = candidates.trees_of(DEPTH_2), candidates.cells(TABLES[0])
    q = searches.scores(TABLES[:1], DEPTH_2)

    def sse(theta):
        return trees.smallest_sse(
            codes, candidates.cells(candidates.simulated(theta, bounded=True))
        )

    rng = np.random.default_rng(1)
    grid = searches.on_one_grid(q, (1e4,), rng)[0, 0]
    rounds = searches.in_rounds(TABLES[:1], q, (1e4,), rng)[0, 0]
    columns = searches.by_column(TABLES[:1], (1e4,), rng)[0, 0]
    assert sse(grid) == pytest.approx(q.max(), abs=0.1)
    assert sse(columns) > sse(rounds) > sse(grid)


@pytest.mark.parametrize("shares", [proposals.DEEP, proposals.ALL_DEPTHS])
@pytest.mark.nightly(every=2)
def test_limits_stand_for_the_prior(shares):
    """Without a score the law is the prior: its mass, means and deviations come out."""
    points = proposals.weighted(5, shares)
    theta, weights = points.theta, np.exp(points.prior)
    assert len(theta) == pytest.approx(proposals.CANDIDATES, abs=5)
    assert weights.sum() == pytest.approx(1, abs=0.05)
    mean = weights @ theta / weights.sum()
    assert (mean - PRIOR.means) / PRIOR.stddevs == pytest.approx(np.zeros(5), abs=0.2)
    square = weights @ (theta - PRIOR.means) ** 2 / weights.sum()
    assert np.sqrt(square) / PRIOR.stddevs == pytest.approx(np.ones(5), abs=0.25)
    law = TiltedPrior(points, np.zeros((1, len(theta))), 1.0)
    drawn = law.drawn(5_000, np.random.default_rng(2))[0]
    assert (drawn.mean(axis=0) - mean) / PRIOR.stddevs == pytest.approx(np.zeros(5), abs=0.1)


@pytest.mark.parametrize("k", range(10))
def test_densities_of_proposals_are_those_of_their_points(k):
    """Points are images of a uniform place, so the density is 1 over the volume of its image."""
    one, step = proposals.proposals()[k], 1e-5
    places = np.random.default_rng(k).uniform(0.05, 0.95, (20, 5))
    columns = [
        (one.at(places + step * side) - one.at(places - step * side)) / (2 * step)
        for side in np.eye(5)
    ]
    volumes = np.abs(np.linalg.det(np.stack(columns, axis=-1)))
    assert one.log_density(one.at(places)) == pytest.approx(-np.log(volumes), abs=1e-4)


def test_ridges_leave_both_columns_as_they_are():
    theta = proposals.Ridge(1e-6).at(np.random.default_rng(1).random((50, 5)))
    mean, first, intercept, slope, residual = candidates.regressions_of(theta)
    assert mean == pytest.approx(np.zeros(50), abs=1e-4)
    assert first == pytest.approx(np.ones(50), abs=1e-4)
    assert intercept + slope * mean == pytest.approx(np.zeros(50), abs=1e-4)
    assert np.hypot(slope * first, residual) == pytest.approx(np.full(50, math.sqrt(2)), abs=1e-4)
    assert slope.min() < -0.5
    assert slope.max() > 1.2


def test_limits_are_right_for_a_score_with_a_known_integral():
    """A normal bump about the truth under both priors; the effective number of equal weights."""
    width = 0.15 * PRIOR.stddevs
    points = proposals.weighted(5, proposals.DEEP)
    bump = -0.5 * (((points.theta - HERE) / width) ** 2).sum(axis=1)[None]
    flat = proposals.flat_stddevs()
    total = flat**2 + width**2
    expected = np.log10(np.e) * (np.log(width**2 / total) - HERE**2 / total).sum() / 2
    assert TiltedPrior(points, bump, 1.0).log_odds() == pytest.approx([expected], abs=0.05)
    even = TiltedPrior(points, -points.prior[None], 1.0)
    assert even.effective() == pytest.approx([len(points.theta)])


def test_greedy_scores_are_means_over_sets_of_greedy_trees():
    theta = proposals.weighted(5, proposals.DEEP).theta[::200]
    condition = CONDITIONS[SMALLER]
    tables, rng = TABLES[:2, : condition.n_rows], np.random.default_rng(7)
    worlds = rng.standard_normal((3, condition.n_rows, 2))
    found = limits.greedy_scores(tables, theta, condition.trees(2, None), worlds)
    for depth, q in zip((2, None), found, strict=True):
        trees = Greedy(depth=depth, complexity=condition.complexity, rule="stop")
        sets = [[candidates.sets_of(k, w, bounded=False) for w in worlds] for k in theta]
        expected = [
            [np.mean([trees.smallest_sse(one, other) for other in each]) for each in sets]
            for one in tables
        ]
        assert q == pytest.approx(np.array(expected))


def test_all_studies_stop_their_trees_by_one_rule():
    rules = {one.rule for name, one in CONDITIONS.items() if "pruned" not in name}
    assert rules == {"stop"}
    assert CONDITIONS[PAPER].n_rows == N_ROWS


def test_walks_leave_the_data_if_the_budget_is_small():
    """With a large budget the walk stays where trees see little, with a tiny one it drifts away."""
    condition = CONDITIONS[SMALLER]
    table, trees = TABLES[0, : condition.n_rows], condition.unlimited

    def distance(epsilon):
        source = SeededRandomness(5)
        end = walks.walked(table, trees, epsilon, source, sets=1, steps=100)
        return float(
            np.abs(np.array(candidates.regressions_of(end)) - np.array(fitted(table))).max()
        )

    assert distance(100.0) < 0.3
    assert distance(1e-5) > 0.5
    assert distance(1e-5) == distance(1e-5)


def test_one_repetition_of_noisy_bayes_is_what_the_gate_gives():
    """But for the lattice of the gate's exact sums."""
    found = comparators.noisy_bayes(
        TABLES[:1], 4.0, 20.0, sets=1, rng=np.random.default_rng(3), randomness=SeededRandomness(3)
    )
    gate = gate_of(TABLES[0], 4.0, 1, 3)
    moments = gate.ask(Moments(["x1", "x2"], [], mode="paper"), spend=Fraction(20))
    first, second, xx, xy, yy = (float(np.ravel(one.value.values)[0]) for one in moments)
    model = Mixture(comparators.bounds_of(4.0), np.ones((1, 2), bool), np.ones(1, bool))
    statistics = LocationStatistics(
        np.array([[float(N_ROWS)]]),
        np.array([[[first, second]]]),
        np.array([[[xx, xy], [xy, yy]]]),
        float(N_ROWS),
        exact=True,
    )
    rng = np.random.default_rng(3)
    expected = model.predict(model.posterior(statistics, rng), N_ROWS, rng).values
    assert found[0] == pytest.approx(expected, abs=0.01)


def test_noise_of_bayes_has_the_scale_of_a_fifth_of_the_budget():
    """R·5/ε for sums and (n − 1)/n·R₁R₂·5/ε for scatters."""
    ranges = 2 * 4.0 * candidates.SPREADS
    scales = [one.distribution.scale for one in comparators.planned(4.0, Fraction(1, 2))]
    within = (N_ROWS - 1) / N_ROWS * np.outer(ranges, ranges)
    expected = [*ranges, within[0, 0], within[0, 1], within[1, 1]]
    assert scales == pytest.approx(10 * np.array(expected), rel=1e-6)


def test_one_repetition_of_a_smoothed_histogram_is_what_the_gate_gives():
    smoothing = comparators.smoothing_of(methods.SMOOTHED, 4.0, 30.0)
    sides = smoothing.sides
    found = comparators.smoothed_histogram(
        TABLES[:1], 4.0, smoothing, np.random.default_rng(3), SeededRandomness(3)
    )
    released = gate_of(TABLES[0], 4.0, int(sides[0]), 3).ask(
        Urn(columns=("x1", "x2"), reinforced=False, n_rows=N_ROWS), spend=Fraction(30)
    )
    corner = np.stack(released.value.columns, axis=1)
    low = comparators.bounds_of(4.0)[:, 0]
    expected = low + (corner + np.random.default_rng(3).random(corner.shape)) * (-2 * low / sides)
    assert found[0, 0] == pytest.approx(expected)


def test_weights_of_smoothed_histograms_are_what_their_names_say():
    """A record more in a bin of weight w multiplies the probability of a draw by up to 1 + 1/w."""

    def cost(method, epsilon):
        return math.log1p(1 / comparators.smoothing_of(method, 4.0, epsilon).prior)

    for epsilon in (0.25, 4.0):
        assert cost(methods.PER_RECORD, epsilon) == pytest.approx(epsilon)
        assert cost(methods.SMOOTHED, epsilon) == pytest.approx(epsilon / N_ROWS)
        assert cost(methods.AS_PRINTED, epsilon) == pytest.approx(math.log1p(epsilon))
    assert comparators.smoothing_of(methods.AS_PRINTED, 4.0, 1.0).sides.tolist() == [45, 45]
    assert comparators.smoothing_of(methods.AS_PRINTED, 2.0, 1.0).sides.tolist() == [23, 23]


@pytest.mark.parametrize("name", regression.MECHANISMS)
@pytest.mark.nightly(every=3)
def test_one_repetition_of_a_regression_is_what_the_gate_gives(name):
    draw = regression._coefficients(regression.MECHANISMS[name])
    found = draw(TABLES[:1], 4.0, 2.0, np.random.default_rng(1), SeededRandomness(7))
    asked = Regression(response="x2", predictors=("x1",), mechanism=regression.MECHANISMS[name])
    released = gate_of(TABLES[0], 4.0, 1, 7).ask(asked, spend=Fraction(2))
    noisy = released.value
    solved = coefficients(
        noisy.statistics,
        noisy.equations,
        noisy.bounds,
        stddev=released.noise.stddev,
        n_rows=noisy.n_rows,
    )
    assert found[0] == pytest.approx(solved.coefficients)


def test_synthesis_without_privacy_recovers_the_regression():
    """300 sets: the mean slope is off by less than six of its errors."""
    sets = comparators.without_privacy(TABLES, 100, np.random.default_rng(6))
    found, target = fitted(sets), fitted(TABLES)
    error = 6 * math.sqrt(2 / N_ROWS / 100)
    assert found.slope.mean(axis=1) == pytest.approx(target.slope, abs=error)
    assert found.intercept.mean(axis=1) == pytest.approx(target.intercept, abs=error)


def test_every_method_says_what_its_budget_is_worth():
    assert {methods.worth(one) for one in methods.STRICT} == {methods.PURE}
    assert (
        methods.worth(methods.published(2, 1))
        == methods.worth(methods.walking(10))
        == methods.VIOLATED
    )
    assert methods.worth(methods.within(methods.PER_RECORD, 2.0)) == methods.MUCH_MORE
    assert methods.worth(methods.within(methods.AS_PRINTED, 2.0)) == methods.FITTED
    assert methods.worth(methods.within(methods.FUNCTIONAL_8, 2.0)) == methods.PURE
    assert methods.worth(methods.averaged(methods.NON_PRIVATE)) == methods.NONE
    assert methods.worth(methods.LIMIT) == methods.CONDITIONAL
