"""Two numbers that follow one another: they do within cells of their table in runs as well."""

import importlib

import numpy as np
import polars as pl
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import norm, spearmanr

import schemas
import understudy as us
from understudy.graphical import compression
from understudy.graphical.compression import Expansion, MarginalModel, RunPlaces, _log_chances
from understudy.graphical.conditioning import ConditionalRecords
from understudy.graphical.estimation import Observation, fit_max_entropy
from understudy.graphical.ridges import (
    MOST_RUNS,
    POINTS,
    Ridge,
    choose_leaders,
    find_ridges,
    has_ridge,
    place_along,
    rank_correlation,
)
from understudy.schema import Domain

N, RUNS = 20_000, 8
STATES = RUNS * POINTS
GROUPS = np.arange(STATES) // POINTS


def related(correlation):
    """Shares of two numbers that go together as normal ones do, cut at quantiles."""
    middles = norm.ppf((np.arange(STATES) + 0.5) / STATES)
    width = np.maximum(np.sqrt(1 - correlation**2), 0.02)
    table = np.exp(-((middles[:, None] - correlation * middles) ** 2) / (2 * width**2))
    for _ in range(200):  # margins as they are cut
        table /= table.sum(axis=1, keepdims=True)
        table /= table.sum(axis=0, keepdims=True)
    return table / table.sum()


def drawn_pair(follow, n=1_000_000):
    """Shares of two numbers, cut at quantiles: the second follows the first in a given way."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    places = [np.argsort(np.argsort(one)) * STATES // n for one in (x, follow(x, rng))]
    return table_of(places) * N / n


def merged(table):
    return table.reshape(RUNS, POINTS, RUNS, POINTS).sum(axis=(1, 3))


def apart(one, other):
    return np.abs(one - other).sum() / 2


def even(table):
    return np.kron(merged(table), np.full((POINTS, POINTS), 1 / POINTS**2))


def table_of(states):
    return np.bincount(states[0] * STATES + states[1], minlength=STATES**2).reshape(STATES, -1) / N


@pytest.mark.parametrize("correlation", [0.9, -0.95, 0.98, 0.995, -0.995])
def test_places_go_along_the_ridge(correlation):
    """What even places in cells lose comes back, but for a quarter of it at most."""
    truth = related(correlation)
    assert apart(place_along(merged(truth)), truth) < apart(even(truth), truth) / 4


@pytest.mark.parametrize(
    ("follow", "part"),
    [
        (lambda x, rng: x + 0.15 * np.exp(0.8 * x) * rng.normal(size=len(x)), 0.4),
        (lambda x, rng: x + 0.1 * rng.standard_t(2, len(x)), 0.3),
        (lambda x, rng: norm.cdf(x) + rng.exponential(0.05, len(x)), 0.7),
        (lambda x, rng: np.where(rng.random(len(x)) < 0.7, x, rng.normal(size=len(x))), 0.8),
    ],
    ids=["wider at one end", "outliers", "skew", "many that do not follow"],
)
@pytest.mark.nightly(every=2)
def test_ridges_need_not_be_normal(follow, part):
    truth = drawn_pair(follow)
    assert abs(rank_correlation(truth)) > 0.6
    noisy = merged(truth) * N + np.random.default_rng(2).normal(0, 20, (RUNS, RUNS))
    found = place_along(np.maximum(noisy, 0))
    assert apart(found / found.sum(), truth) < part * apart(even(truth), truth)


@pytest.mark.parametrize("seed", range(4))
def test_cells_and_places_keep_what_they_hold(seed):
    """Whatever noise did to the table."""
    rng = np.random.default_rng(seed)
    shape = 5 + seed, 9 - seed
    a, b = (np.linspace(0, 1, size) for size in shape)
    pair = 1000 * np.exp(-(((a[:, None] - b) / 0.2) ** 2)) + 10 * rng.normal(size=shape)
    pair = np.maximum(pair, 0)
    found = place_along(pair)
    cells = found.reshape(shape[0], POINTS, shape[1], POINTS).sum(axis=(1, 3))
    np.testing.assert_allclose(cells, pair, rtol=1e-6)
    for axis in (0, 1):
        wanted = np.repeat(pair.sum(axis=axis), POINTS) / POINTS
        np.testing.assert_allclose(found.sum(axis=axis), wanted, rtol=0.02)
    assert (found[np.kron(pair, np.ones((POINTS, POINTS))) > 0] > 0).all()


def test_either_column_may_be_the_first_and_either_end():
    pair = merged(related(0.93))
    pair[2] *= 1.7
    found = place_along(pair)
    np.testing.assert_allclose(place_along(pair.T).T, found, atol=1e-9)
    np.testing.assert_allclose(place_along(pair[::-1])[::-1], found, atol=1e-12)
    np.testing.assert_allclose(place_along(pair[::-1, ::-1])[::-1, ::-1], found, atol=1e-12)


def test_columns_that_hardly_go_together_have_no_ridge():
    assert has_ridge(merged(related(0.9)))
    assert has_ridge(merged(related(-0.9)))
    assert not has_ridge(merged(related(0.7)))
    assert not has_ridge(np.zeros((4, 4)))
    assert not has_ridge(np.ones((1, 6)))
    assert not has_ridge(np.eye(MOST_RUNS + 1))


@pytest.mark.parametrize("pair", [np.eye(3), np.eye(5)[:, ::-1], np.diag([0, 5.0, 0, 9, 1])])
def test_tables_with_nobody_beside_the_ridge(pair):
    """Nor in whole runs: numbers stay finite."""
    found = place_along(pair)
    assert np.isfinite(found).all()
    cells = found.reshape(len(pair), POINTS, len(pair), POINTS).sum(axis=(1, 3))
    np.testing.assert_allclose(cells, pair, rtol=1e-6)


def test_the_correlation_is_that_of_the_ranks():
    rng = np.random.default_rng(4)
    pair = rng.integers(0, 9, (4, 6))
    a, b = np.nonzero(pair)
    ranks = [np.cumsum(one) - one / 2 for one in (pair.sum(axis=1), pair.sum(axis=0))]
    rows = np.repeat(np.stack([ranks[0][a], ranks[1][b]]), pair[a, b], axis=1)
    assert rank_correlation(pair.astype(float)) == pytest.approx(np.corrcoef(rows)[0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_leaders_are_a_spanning_forest_of_the_closest_ridges(seed):
    rng = np.random.default_rng(seed)
    ranks = np.triu(rng.uniform(0.8, 1, (7, 7)) * (rng.random((7, 7)) < 0.4), 1)
    close = {
        j: {int(k): own[k] for k in np.flatnonzero(own)}
        for j, own in enumerate(ranks + ranks.T)
        if own.any()
    }
    leaders = choose_leaders(close)
    forest = minimum_spanning_tree(np.where(ranks > 0, 2 - ranks, 0)).toarray()
    wanted = {frozenset(pair) for pair in np.argwhere(forest > 0).tolist()}
    assert {frozenset(pair) for pair in leaders.items()} == wanted


def test_states_that_are_no_runs_keep_their_chances():
    """The last state of the partner says that a value is missing, of a tenth of the records."""
    along = merged(related(0.95)) * 0.9 * N
    pair = np.column_stack([along, np.linspace(0.5, 1.5, RUNS) * 0.1 * N / RUNS])
    without = _log_chances(pair, pair.sum(axis=1))
    ridge = Ridge(place_along(along), (*range(RUNS),))
    chances = np.exp(ridge.log_chances(without, with_points=False))
    np.testing.assert_allclose(chances[:, -1], np.exp(without[:, -1]), rtol=1e-6)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-6)
    finer = np.exp(ridge.log_chances(without, with_points=True))
    np.testing.assert_allclose(
        finer.reshape(RUNS, RUNS + 1, POINTS, POINTS).sum(axis=2), chances, rtol=1e-5, atol=1e-8
    )


def model(correlation, *, ridges):
    observed = [Observation((0, 1), N * merged(related(correlation)), 1.0)]
    fit = fit_max_entropy((RUNS, RUNS), observed, N, regularisation=0.01)
    runs = {0: [*range(RUNS)], 1: [*range(RUNS)]}
    found, leaders = find_ridges(fit, runs) if ridges else ({}, {})
    places = {j: RunPlaces.of(fit, j, runs[j], found.get(j), leaders.get(j)) for j in runs}
    alike = Expansion(GROUPS, np.full(STATES, 1 / POINTS))
    return MarginalModel(Domain((STATES,) * 2), fit, {0: alike, 1: alike}, places=places)


@pytest.mark.parametrize("correlation", [0.97, -0.99])
def test_records_go_along_the_ridge(correlation, monkeypatch):
    """Of what places that know runs alone lose, beyond what chance does, half comes back at
    least; and each state keeps its share to the record."""
    monkeypatch.setattr(compression, "times_drawn", lambda n_rows, columns: 1)
    truth = related(correlation)
    drawn = {
        ridges: np.stack(
            model(correlation, ridges=ridges).sample(N, np.random.default_rng(1)).states
        )
        for ridges in (False, True)
    }
    before, after = (apart(table_of(drawn[ridges]), truth) for ridges in (False, True))
    by_chance = apart(np.random.default_rng(3).multinomial(N, truth.ravel()) / N, truth.ravel())
    assert after - by_chance < (before - by_chance) / 2
    for column in drawn[True]:
        counts = np.bincount(column, minlength=STATES).reshape(RUNS, -1)
        assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()


def test_records_given_a_state_are_those_of_the_whole_table():
    """Of a run records are drawn of which those that fit are taken: 10,000 records scatter about
    .05 in 64 states."""
    whole, mask = model(0.98, ridges=True), np.arange(STATES) == 21
    given = ConditionalRecords(whole, {0: mask})
    found = np.stack(given.sample(80_000, np.random.default_rng(2)).states)
    other = found[1][mask[found[0]]]
    rng = np.random.default_rng(3)
    drawn = np.concatenate([np.stack(whole.sample(N, rng).states) for _ in range(20)], axis=1)
    wanted = drawn[1][mask[drawn[0]]]
    shares = [np.bincount(one, minlength=STATES) / len(one) for one in (other, wanted)]
    assert apart(*shares) < 0.06


def visits(n):
    """Days in and out, whole numbers; costs with cents, none, missing, or in tens; and ages."""
    rng = np.random.default_rng(5)
    start = (rng.beta(2, 2.5, n) * 340).astype(int)
    stay = np.minimum(rng.geometric(0.2, n) - 1, 24)
    cost = np.exp(rng.normal(4.5, 0.8, n)).clip(1, 2000)
    paid = np.where(rng.random(n) < 0.3, 0.0, (cost * rng.uniform(0.8, 0.9, n)).round(2))
    charged = np.where(rng.random(n) < 0.6, (cost / 10).round() * 10, cost.round())
    found = pl.DataFrame({"start": start, "end": start + stay, "charged": charged, "paid": paid})
    lacking = pl.Series(rng.random(n) < 0.1)
    return found.with_columns(
        pl.when(lacking).then(-9.0).otherwise(pl.col("paid")).alias("paid"),
        pl.col("charged").cast(pl.Int64),
        age=pl.Series(rng.integers(18, 90, n)),
    )


def visits_schema():
    said = {"source": "made", "reviewed": True}
    day = {"kind": "integer", "lower": 0, "upper": 364, **said}
    return us.Schema.model_validate(
        {
            "rows": "private",
            "columns": {
                "start": day,
                "end": day,
                "charged": day | {"upper": 2000, "heaps": [10]},
                "paid": {
                    **{"kind": "continuous", "lower": 0, "upper": 2000, "decimals": 2},
                    **{"spikes": [0], "missing": [-9]},
                    **said,
                },
                "age": day | {"lower": 18, "upper": 89},
            },
            "relations": [{"inequality": "start <= end", **said}],
        }
    )


def released(rows):
    return us.synthesize(
        rows, visits_schema(), epsilon=1, delta=1e-6, insecure_noise_seed=4
    ).tables[0]


def test_a_release_keeps_what_its_schema_says():
    """Ridges act on days and on costs; bounds, grids, rules, heaps, spikes, codes and a column
    beside them stay: shares within .03, more than four errors of noise and rows."""
    rows = visits(8_000)
    made = released(rows)
    assert (made["start"] <= made["end"]).all()
    for name, column in visits_schema().columns.items():
        values = made[name].filter(made[name] != -9)
        assert values.is_between(column.lower, column.upper).all()
    np.testing.assert_allclose(made["paid"] * 100, (made["paid"] * 100).round(), atol=1e-6)
    for counted in (pl.col("paid") == -9, pl.col("paid") == 0, pl.col("charged") % 10 == 0):
        real, found = (one.select(counted.mean()).item() for one in (rows, made))
        assert abs(real - found) < 0.03
    assert abs(spearmanr(made["start"], made["age"]).statistic) < 0.06


@pytest.mark.nightly
def test_lengths_that_no_table_holds_are_nearer_with_ridges(monkeypatch):
    """Of stays, with the same noise, by a seventh at least."""
    rows = visits(8_000)
    made = released(rows)
    methods = importlib.import_module("understudy.methods.noisy_marginals")
    monkeypatch.setattr(methods, "find_ridges", lambda fit, runs: ({}, {}))
    stays = [
        np.bincount(one["end"] - one["start"], minlength=365) / len(one)
        for one in (rows, made, released(rows))
    ]
    assert apart(stays[0], stays[1]) < apart(stays[0], stays[2]) * 6 / 7


def test_a_ridge_of_few_records_leaves_a_column_that_nothing_else_places():
    """Both are known of one in a thousand: too few to place the first, which then leads none."""
    rng, n = np.random.default_rng(2), 20_000
    first = rng.integers(0, 10_000, n)
    second = np.clip(first + rng.normal(0, 300, n), 0, 9_999).astype(int)
    both = rng.random(n) < 0.001
    one = both | (rng.random(n) < 0.3)
    other = both | (~one & (rng.random(n) < 0.4))
    rows = {"a": np.where(one, first, -1), "b": np.where(other, second, -1)}
    rows["s"] = rng.choice(["x", "y"], n)
    numbers = [schemas.column(name, "integer", lower=0, upper=9_999, missing=[-1]) for name in "ab"]
    schema = us.Schema.loads(
        "".join([*numbers, schemas.column("s", "categorical", levels=["x", "y"])])
    )
    release = us.synthesize(
        pl.DataFrame(rows),
        schema,
        epsilon=20,
        delta="1e-6",
        method="mst",
        insecure_noise_seed=2,
    )
    assert release.tables[0].height > 19_000
