"""The fit against a slow minimisation of what is to be minimised, and its odd ends."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy

from understudy.graphical.estimation import Observation, fit_max_entropy, merge_observations


def margin(table, columns):
    """The sum over all other columns, axes in the order given."""
    kept = table.sum(axis=tuple(j for j in range(table.ndim) if j not in columns))
    return kept.transpose([sorted(columns).index(j) for j in columns])


def observed(truth, columns, sigma, rng):
    exact = margin(truth, columns)
    return Observation(columns, exact + rng.normal(0, sigma, exact.shape), sigma**2)


def random_problem(seed, *, n=1000, sigma=10.0, columns=5):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, columns))
    sizes = tuple(rng.integers(1, 5, d).tolist())
    truth = n * rng.dirichlet(np.full(np.prod(sizes), 0.4)).reshape(sizes)
    pool = [one for k in range(1, 4) for one in itertools.permutations(range(d), k)]
    chosen = [pool[k] for k in rng.integers(0, len(pool), rng.integers(1, 7))]
    return sizes, truth, [observed(truth, one, sigma, rng) for one in chosen]


def slow_fit(sizes, observations, n, regularisation, allowed):
    """The primal problem itself, over the logarithms of the allowed cells' weights."""
    cells = np.count_nonzero(allowed)

    def table(v):
        p = np.zeros(sizes)
        weights = np.exp(v - v.max())
        p[allowed] = weights / weights.sum()
        return p

    def loss(v):
        p = table(v)
        value = regularisation * n * (xlogy(p, p).sum() + np.log(cells))
        slope = np.zeros(sizes)
        slope[allowed] = regularisation * n * np.log(np.maximum(p[allowed], 1e-300))
        for one in observations:
            error = n * margin(p, one.columns) - one.counts
            value += (error**2 / one.variance).sum() / 2
            order = np.argsort(one.columns)
            shape = [sizes[j] if j in one.columns else 1 for j in range(len(sizes))]
            slope = slope + (n * error / one.variance).transpose(order).reshape(shape)
        slope = (p * (slope - (p * slope).sum()))[allowed]
        return value, slope

    options = {"maxiter": 4000, "maxfun": 6000, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(loss, np.zeros(cells), jac=True, method="L-BFGS-B", options=options)
    return table(best.x)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.nightly(every=3)
def test_the_fit_minimises_the_primal_problem(seed, ruled):
    sizes, _, observations = random_problem(seed, columns=4)
    rng, allowed, rules = np.random.default_rng(seed), np.ones(sizes, dtype=bool), []
    if ruled and len(sizes) > 1 and min(sizes[:2]) > 1:
        rules = [{0: frozenset({0}), 1: frozenset(rng.choice(sizes[1], 2).tolist())}, {0: {1}}]
        rules = rules[: 1 if sizes[0] < 3 else 2]
        for rule in rules:
            allowed[np.ix_(*[sorted(rule.get(j, range(s))) for j, s in enumerate(sizes)])] = False
    found = fit_max_entropy(
        sizes, observations, 1000, regularisation=0.3, forbidden=rules, tolerance=1e-5, steps=500
    )
    assert found.converged
    assert found.residual <= 1e-5
    expected = 1000 * slow_fit(sizes, observations, 1000, 0.3, allowed)
    everything = tuple(range(len(sizes)))
    np.testing.assert_allclose(found.marginal(everything), expected, atol=0.02)
    assert (found.marginal(everything)[~allowed] == 0).all()


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.nightly(every=12)
def test_marginals_of_any_columns_agree_with_the_full_table(seed):
    """Within cliques, across them, and across parts that share no column."""
    sizes, _, observations = random_problem(seed, columns=7)
    found = fit_max_entropy(sizes, observations, 1000, regularisation=0.03)
    d = len(sizes)
    logs = np.zeros(sizes)
    for columns, theta in found.potentials.items():
        logs = logs + theta.reshape([sizes[j] if j in columns else 1 for j in range(d)])
    p = np.exp(logs - logs.max())
    p *= 1000 / p.sum()
    for k in range(min(d, 4) + 1):
        for columns in itertools.permutations(range(d), k):
            shape = tuple(sizes[j] for j in columns)
            assert found.marginal(columns).shape == shape
            np.testing.assert_allclose(found.marginal(columns), margin(p, columns), atol=1e-8)


def test_parts_without_a_common_column_are_independent():
    rng = np.random.default_rng(0)
    sizes, truth = (2, 3, 4), rng.dirichlet(np.ones(24)).reshape(2, 3, 4) * 500
    observations = [observed(truth, (0, 1), 3, rng), observed(truth, (2,), 3, rng)]
    found = fit_max_entropy(sizes, observations, 500, regularisation=0.1)
    expected = np.multiply.outer(found.marginal((1,)), found.marginal((2,))) / 500
    np.testing.assert_allclose(found.marginal((1, 2)), expected)


def test_columns_that_nothing_was_observed_of_are_uniform():
    found = fit_max_entropy((2, 5), [], 100, regularisation=1.0)
    assert found.converged
    np.testing.assert_allclose(found.marginal((1, 0)), np.full((5, 2), 10.0))


def test_repeats_are_merged_by_inverse_variance_whatever_the_order_of_axes():
    rng = np.random.default_rng(1)
    a, b = rng.normal(20, 5, (2, 3)), rng.normal(20, 5, (3, 2))
    v = rng.uniform(1, 9, (2, 3))
    [one] = merge_observations((2, 3), [Observation((0, 1), a, v), Observation((1, 0), b, 4.0)])
    weights = 1 / v + 1 / 4
    np.testing.assert_allclose(one.counts, (a / v + b.T / 4) / weights)
    np.testing.assert_allclose(one.variance, 1 / weights)


@pytest.mark.parametrize(
    ("columns", "shape", "variance"),
    [
        ((0, 0), (2, 2), 1.0),
        ((2,), (2,), 1.0),
        ((0,), (3,), 1.0),
        ((0,), (2,), 0.0),
        ((0,), (2,), np.inf),
        ((0,), (2,), np.ones(3)),
    ],
)
def test_observations_that_cannot_be_are_refused(columns, shape, variance):
    with pytest.raises(ValueError, match="observation"):
        fit_max_entropy(
            (2, 3), [Observation(columns, np.ones(shape), variance)], 9, regularisation=1.0
        )


@pytest.mark.parametrize(("total", "regularisation"), [(np.nan, 1), (np.inf, 1), (9, 0), (9, -1)])
def test_options_that_cannot_be_are_refused(total, regularisation):
    with pytest.raises(ValueError, match="finite total"):
        fit_max_entropy((2,), [], total, regularisation=regularisation)


def test_rules_that_allow_nothing_are_refused():
    with pytest.raises(ValueError, match="no record"):
        fit_max_entropy((2, 3), [], 9, regularisation=1.0, forbidden=[{0: frozenset({0, 1})}])


@pytest.mark.parametrize("columns", [(0, 0), (0, 5)])
def test_marginals_that_cannot_be_are_refused(columns):
    with pytest.raises(ValueError, match="distinct columns"):
        fit_max_entropy((2, 3), [], 9, regularisation=1.0).marginal(columns)


def test_rules_that_do_not_fit_are_named():
    wide = {j: frozenset({0}) for j in range(3)}
    small = {0: frozenset({1}), 1: frozenset({1})}
    found = fit_max_entropy(
        (20,) * 3, [], 10, regularisation=1.0, forbidden=[wide, small], most_cells=1000
    )
    assert found.unenforced == (wide,)
    assert found.marginal((0, 1))[1, 1] == 0


@pytest.mark.parametrize(
    ("n", "sigma"),
    [(0, 5), (1e-9, 5), (1e6, 50), (1e9, 50), (1e9, 1e-3), (500, 1e-6), (500, 1e6), (1e6, 1e-9)],
)
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.nightly(every=4)
def test_extremes_stay_finite(n, sigma, zero):
    rng = np.random.default_rng(3)
    truth = np.zeros((6, 5, 4)) if zero else n * rng.dirichlet(np.full(120, 0.2)).reshape(6, 5, 4)
    observations = [observed(truth, one, sigma, rng) for one in [(0, 1), (2, 1), (0,), (1,), (2,)]]
    found = fit_max_entropy((6, 5, 4), observations, n, regularisation=0.3 / sigma, steps=60)
    table = found.marginal((0, 1, 2))
    assert np.isfinite(table).all()
    assert table.sum() == pytest.approx(n)
    assert np.isfinite(found.residual)
    assert found.draw(50, rng).shape == (3, 50)


def wide_problem(n, sigma, seed):
    """Nine columns in a chain with extra links, skewed, as in a table of page views."""
    rng = np.random.default_rng(seed)
    sizes = (12,) * 9
    states = np.zeros((9, n), dtype=np.int64)
    for j in range(9):
        fresh = np.minimum(rng.geometric(0.4, n) - 1, 11)
        states[j] = np.where(rng.random(n) < 0.6, states[j - 1] if j else fresh, fresh)
    tables = [(j,) for j in range(9)] + [(j, j + 1) for j in range(8)] + [(0, 2, 3), (4, 6)]
    observations = []
    for one in tables:
        shape = tuple(sizes[j] for j in one)
        cells = np.ravel_multi_index([states[j] for j in one], shape)
        exact = np.bincount(cells, minlength=np.prod(shape)).reshape(shape)
        observations.append(Observation(one, exact + rng.normal(0, sigma, shape), sigma**2))
    return sizes, observations


@pytest.mark.nightly
def test_a_million_records_with_little_noise_really_converge():
    sizes, observations = wide_problem(1_000_000, 50, 0)
    found = fit_max_entropy(sizes, observations, 1e6, regularisation=0.3 / 50, steps=400)
    assert found.converged
    assert found.residual <= 0.02
    for one in observations:  # at the solution, what is left is λσ²θ
        left = one.counts - found.marginal(one.columns)
        pull = 0.3 * 50 * found.potentials[one.columns]
        assert np.sqrt(np.mean((left - pull) ** 2)) < 0.1 * 50


def test_a_fit_that_was_cut_short_says_so():
    sizes, observations = wide_problem(100_000, 50, 0)
    found = fit_max_entropy(sizes, observations, 1e5, regularisation=0.3 / 50, steps=3)
    assert not found.converged
    assert found.steps == 3
    assert found.residual > 0.02


def test_a_warm_start_saves_steps_and_ends_at_the_same_place():
    sizes, observations = wide_problem(100_000, 50, 1)
    options = {"regularisation": 0.3 / 50, "tolerance": 1e-3, "steps": 500}
    before = fit_max_entropy(sizes, observations[:-1], 1e5, **options)
    cold = fit_max_entropy(sizes, observations, 1e5, **options)
    warm = fit_max_entropy(sizes, observations, 1e5, warm=before, **options)
    assert cold.converged
    assert warm.converged
    assert warm.steps < cold.steps
    again = fit_max_entropy(sizes, observations, 1e5, warm=warm, **options)
    assert again.steps == 0
    for one in observations:
        np.testing.assert_allclose(
            warm.marginal(one.columns), cold.marginal(one.columns), atol=0.05 * 50
        )


def test_the_order_of_columns_does_not_matter():
    sizes, _, observations = random_problem(12)
    d = len(sizes)
    turned = [
        Observation(tuple(d - 1 - j for j in o.columns), o.counts, o.variance)
        for o in reversed(observations)
    ]
    options = {"regularisation": 0.03, "tolerance": 1e-7, "steps": 500}
    one = fit_max_entropy(sizes, observations, 1000, **options)
    other = fit_max_entropy(sizes[::-1], turned, 1000, **options)
    np.testing.assert_allclose(
        one.marginal(range(d)), other.marginal(range(d - 1, -1, -1)), atol=1e-4
    )


def test_the_reference_implementation_agrees():
    """Marginals of log-linear models, where the library is installed."""
    mbi = pytest.importorskip("mbi")
    sizes, _, observations = random_problem(4, columns=7)
    found = fit_max_entropy(sizes, observations, 1000, regularisation=0.03)
    names = [str(j) for j in range(len(sizes))]
    domain = mbi.Domain(names, sizes)
    cliques = [tuple(str(j) for j in one) for one in found.potentials]
    factors = {
        clique: mbi.Factor(domain.project(clique), theta)
        for clique, theta in zip(cliques, found.potentials.values(), strict=True)
    }
    vector = mbi.CliqueVector(domain, cliques, factors)
    marginals = mbi.marginal_oracles.brute_force_marginals(vector, 1000.0)
    for clique, columns in zip(cliques, found.potentials, strict=True):
        expected = np.asarray(marginals.project(clique).values)
        np.testing.assert_allclose(found.marginal(columns), expected, rtol=1e-3, atol=1e-2)
