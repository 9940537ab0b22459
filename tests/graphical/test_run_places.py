"""Places within runs: they follow other columns, and every state keeps its share."""

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from understudy.graphical import compression
from understudy.graphical.compression import (
    POINTS,
    Expansion,
    MarginalModel,
    RunPlaces,
    _log_chances,
)
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.schema import Domain

N, STATES, RUNS = 20_000, 32, 8
GROUPS = np.arange(STATES) // (STATES // RUNS)


def related(correlation):
    """Shares of two ordered columns that go together as normal numbers do, cut at quantiles."""
    middles = norm.ppf((np.arange(STATES) + 0.5) / STATES)
    z = middles[:, None] - correlation * middles
    table = np.exp(-(z**2) / (2 * (1 - correlation**2)))
    for _ in range(200):  # margins as they are cut
        table /= table.sum(axis=1, keepdims=True)
        table /= table.sum(axis=0, keepdims=True)
    return table / table.sum()


def merged(table):
    halves = np.add.reduceat(table, np.arange(0, STATES, STATES // RUNS), axis=0)
    return np.add.reduceat(halves, np.arange(0, STATES, STATES // RUNS), axis=1)


def fit(counts, sizes=(RUNS, RUNS)):
    observed = [Observation((0, 1), np.asarray(counts, float), 1.0)]
    return fit_max_entropy(sizes, observed, N, regularisation=0.01)


def drawn(model_fit, places, seed=1):
    even = Expansion(GROUPS, np.full(STATES, RUNS / STATES))
    model = MarginalModel(Domain((STATES,) * 2), model_fit, {0: even, 1: even}, places=places)
    return np.stack(model.sample(N, np.random.default_rng(seed)).states)


def both(model_fit, runs=range(RUNS)):
    found = {j: RunPlaces.of(model_fit, j, [*runs]) for j in (0, 1)}
    return {j: places for j, places in found.items() if places is not None}


@pytest.mark.parametrize("correlation", [0.6, -0.8])
def test_what_goes_together_within_runs_comes_back(correlation):
    """The table of all states is nearer to the truth, by a third of what merging cost at least.
    Chance alone moves a distance of 1,024 cells by about 0.0015."""
    truth = related(correlation)
    model_fit = fit(N * merged(truth))
    distances = []
    for places in ({}, both(model_fit)):
        a, b = drawn(model_fit, places)
        found = np.bincount(a * STATES + b, minlength=STATES**2).reshape(STATES, STATES) / N
        distances.append(np.abs(found - truth).sum() / 2)
    sampled = np.random.default_rng(3).multinomial(N, truth.reshape(-1)) / N
    least = np.abs(sampled - truth.reshape(-1)).sum() / 2
    apart, together = distances
    assert together - least < (apart - least) * 2 / 3


def test_ranks_go_together_as_much_as_before_merging():
    truth = related(0.9)
    cells = np.random.default_rng(5).choice(STATES**2, 50_000, p=truth.reshape(-1))
    wanted = spearmanr(cells // STATES, cells % STATES).statistic
    model_fit = fit(N * merged(truth))
    a, b = drawn(model_fit, both(model_fit))
    assert abs(spearmanr(a, b).statistic - wanted) < 0.01


@pytest.mark.parametrize("seed", range(5))
def test_each_state_keeps_its_share_to_the_record(seed, monkeypatch):
    """Of those that are drawn; which of them are kept is tested with `balanced_records`."""
    monkeypatch.setattr(compression, "times_drawn", lambda n_rows, columns: 1)
    model_fit = fit(N * merged(related(0.8)))
    states = drawn(model_fit, both(model_fit), seed)
    for column in states:
        counts = np.bincount(column, minlength=STATES).reshape(RUNS, -1)
        assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()


def slow_line(x0, y0, x1, y1, at):
    return y0 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)


def test_chances_between_runs_are_those_of_a_slow_interpolation():
    """Outside the outer middles the line goes on, down to half of the outer run's chance."""
    rng = np.random.default_rng(2)
    pair, masses = rng.random((3, 4)) * 100, np.array([50.0, 10.0, 200.0])
    ends, middles, floors = [50.0, 60.0, 260.0], [25.0, 55.0, 160.0], 0
    for run, states in enumerate(np.exp(_log_chances(pair, masses))):
        for state, chances in enumerate(states):
            means = pair[:, state] / masses
            first = slow_line(25.0, means[0], 55.0, means[1], 0.0)
            last = means[2] + (means[2] - means[1]) * 100.0 / 105.0
            floors += (first < means[0] / 2) + (last < means[2] / 2)
            knots = [0.0, *middles, 260.0]
            values = [max(first, means[0] / 2), *means, max(last, means[2] / 2)]
            for point, chance in enumerate(chances):
                at = ends[run] - masses[run] * (1 - (point + 0.5) / POINTS)
                k = max(j for j in range(4) if knots[j] <= at)
                told = slow_line(knots[k], values[k], knots[k + 1], values[k + 1], at)
                assert chance == pytest.approx(told)
    assert floors


def test_a_relation_goes_on_to_both_ends_of_the_line():
    """Where a chance is a line over the whole of the other column, it is one within outer runs."""
    falls = np.linspace(0.8, 0.2, STATES)
    exact = np.stack([falls, 1 - falls]) / STATES
    coarse = exact.reshape(2, RUNS, -1).sum(axis=2)
    chances = np.exp(_log_chances(N * coarse.T, N * coarse.sum(axis=0)))[:, 0]
    at = (np.arange(RUNS * POINTS) + 0.5) / (RUNS * POINTS) * STATES - 0.5
    np.testing.assert_allclose(
        chances.reshape(-1), np.interp(at, np.arange(STATES), falls), atol=0.02
    )


def test_nothing_is_said_without_a_partner_or_a_second_run():
    apart = fit(np.full((RUNS, RUNS), N / RUNS**2))
    assert RunPlaces.of(apart, 0, [*range(RUNS)]) is None
    together = fit(N * merged(related(0.9)))
    assert RunPlaces.of(together, 0, [3]) is None
    assert RunPlaces.of(together, 0, []) is None


def test_groups_that_are_no_runs_stay_at_random():
    """The last two groups, codes of absence say: all of their records lie at one point. In a
    run points follow the other column: five errors of a correlation of 5,000 records."""
    places = RunPlaces.of(fit(N * merged(related(0.9))), 0, [*range(RUNS - 2)])
    assert places is not None
    rng = np.random.default_rng(1)
    partner = rng.integers(0, RUNS, 10_000)
    for group, follows in ((RUNS - 1, False), (3, True)):
        states = np.stack([np.full(10_000, group), partner]).astype(np.int32)
        points = places.points(states, rng)
        assert points.any() == follows
        assert not follows or abs(np.corrcoef(points, partner)[0, 1]) > 0.07


def test_no_records():
    places = RunPlaces.of(fit(N * merged(related(0.9))), 0, [*range(RUNS)])
    assert places is not None
    assert len(places.points(np.zeros((2, 0), dtype=np.int32), np.random.default_rng(1))) == 0
