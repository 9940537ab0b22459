"""Posterior draws against closed forms, and predictions against their parameters.

Moments of R draws are compared with exact ones within five standard errors (false alarm below 1e-6
per comparison), and a test of power shows that a wrong parameter is found.
"""

import numpy as np
import pytest
from scipy import stats

from understudy.papers import bayesian_models
from understudy.papers.bayesian_models import FLOOR, admissible_root, inverse_wishart_root

R = 40_000


def rng(seed=1):
    return np.random.default_rng(seed)


def product(root):
    """F Fᵀ."""
    return root @ np.swapaxes(root, -1, -2)


def pvalue(draws, distribution):
    """Kolmogorov–Smirnov."""
    return stats.kstest(draws, distribution.cdf).pvalue


# --- Bernoulli and multinomial -------------------------------------------------------------------


@pytest.mark.parametrize("successes", [-5.0, 0, 12.5, 40, 99])
def test_bernoulli_posterior_is_beta_with_successes_clipped(successes):
    drawn = bayesian_models.binomial_posterior(np.full(R, successes), 40, rng())
    s = min(max(successes, 0), 40)
    assert pvalue(drawn, stats.beta(1 / 3 + s, 1 / 3 + 40 - s)) > 1e-4
    assert pvalue(drawn, stats.beta(1 + s, 1 + 40 - s)) < 1e-6


def test_bernoulli_without_rows_is_the_prior():
    assert (
        pvalue(
            bayesian_models.binomial_posterior(np.full(R, 3.0), 0, rng()), stats.beta(1 / 3, 1 / 3)
        )
        > 1e-4
    )
    assert bayesian_models.predict_binomial(np.array([0.3]), 0, rng()).tolist() == [0]
    assert bayesian_models.binomial_records(np.array([0, 0]), 0, rng()).shape == (2, 0)


def test_bernoulli_records_hold_the_predicted_successes_in_random_order():
    found = bayesian_models.binomial_records(np.array([0, 3, 7]), 7, rng())
    assert found.sum(axis=-1).tolist() == [0, 3, 7]
    many = bayesian_models.binomial_records(np.full(R, 3), 7, rng())
    # Each place is a success with probability 3/7; five standard errors.
    assert np.abs(many.mean(axis=0) - 3 / 7).max() < 5 * np.sqrt(3 / 7 * 4 / 7 / R)


def test_multinomial_posterior_is_dirichlet_with_negative_counts_at_zero():
    counts = np.array([3.5, -2.0, 0.0, 10.0])
    drawn = bayesian_models.dirichlet_posterior(np.tile(counts, (R, 1)), rng())
    alpha = np.maximum(counts, 0) + 1 / 3
    assert drawn.sum(axis=-1) == pytest.approx(1)
    for k in range(4):
        assert pvalue(drawn[:, k], stats.beta(alpha[k], alpha.sum() - alpha[k])) > 1e-4


def test_cells_that_cannot_occur_are_never_drawn():
    allowed = np.array([True, False, True])
    drawn = bayesian_models.dirichlet_posterior(
        np.tile([1.0, 50.0, -3.0], (100, 1)), rng(), allowed=allowed
    )
    assert (drawn[:, 1] == 0).all()
    assert (bayesian_models.predict_multinomial(drawn, 20, rng())[:, 1] == 0).all()


def test_without_any_weight_cells_are_alike():
    allowed = np.array([True, False, True])
    drawn = bayesian_models.dirichlet_posterior(np.zeros(3) - 1, rng(), prior=0.0, allowed=allowed)
    assert drawn.tolist() == [0.5, 0, 0.5]


def test_multinomial_records_hold_the_predicted_counts_in_random_order():
    counts = np.array([[[2, 0, 3]], [[0, 5, 0]]])
    found = bayesian_models.multinomial_records(counts, rng())
    assert found.shape == (2, 1, 5)
    assert np.sort(found[0, 0]).tolist() == [0, 0, 2, 2, 2]
    assert (found[1, 0] == 1).all()
    many = bayesian_models.multinomial_records(np.tile([2, 0, 3], (R, 1)), rng())
    assert np.abs((many == 0).mean(axis=0) - 0.4).max() < 5 * np.sqrt(0.24 / R)


def test_two_cells_are_the_bernoulli_model():
    two = bayesian_models.dirichlet_posterior(np.tile([28.0, 12.0], (R, 1)), rng())[:, 1]
    assert (
        stats.ks_2samp(two, bayesian_models.binomial_posterior(np.full(R, 12.0), 40, rng(2))).pvalue
        > 1e-4
    )


# --- normal --------------------------------------------------------------------------------------


def test_normal_posterior_has_the_closed_forms():
    n, bounds = 15, (-10.0, 10.0)
    theta = bayesian_models.normal_posterior(np.full(R, 1.0), 4.0, n, rng(), bounds=bounds)
    assert pvalue(theta.stddev**2, stats.invgamma((n - 1) / 2, scale=(n - 1) * 4 / 2)) > 1e-4
    assert pvalue(theta.stddev**2, stats.invgamma(n / 2, scale=(n - 1) * 4 / 2)) < 1e-6
    # Marginally, (μ − x̄)/(s/√n) is t with n − 1 degrees of freedom.
    assert pvalue((theta.mean - 1) / np.sqrt(4 / n), stats.t(n - 1)) > 1e-4


def test_normal_statistics_are_clipped_to_what_is_possible():
    n, bounds = 50, (0.0, 2.0)
    theta = bayesian_models.normal_posterior(np.full(R, 99.0), 99.0, n, rng(), bounds=bounds)
    most = bayesian_models.most_variance(n, bounds)
    assert most == pytest.approx(np.var([0, 2] * 25, ddof=1))
    assert pvalue(theta.stddev**2, stats.invgamma((n - 1) / 2, scale=(n - 1) * most / 2)) > 1e-4
    assert np.median(theta.mean) == pytest.approx(2, abs=0.02)
    still = bayesian_models.normal_posterior(np.full(3, 1.0), -4.0, n, rng(), bounds=bounds)
    assert still.mean.tolist() == [1, 1, 1]
    assert still.stddev.tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [0, 1])
def test_with_too_few_rows_the_law_does_not_depend_on_the_statistics(n):
    one = bayesian_models.normal_posterior(
        np.array([-1.0, 99.0]), np.array([3.0, 0.0]), n, rng(), bounds=(2, 8)
    )
    assert one.mean.tolist() == [5, 5]
    assert one.stddev.tolist() == [1, 1]


def test_two_rows_give_finite_records():
    theta = bayesian_models.normal_posterior(np.zeros(R), 1.0, 2, rng(), bounds=(-5, 5))
    assert np.isfinite(bayesian_models.predict_normal(theta, 2, rng(), bounds=(-5, 5))).all()


def test_normal_predictions_are_clipped_and_fill_the_given_array():
    theta = bayesian_models.NormalParameters(np.array([0.0, 5.0]), np.array([1.0, 2.0]))
    out = np.empty((2, 100_000))
    found = bayesian_models.predict_normal(theta, 100_000, rng(), bounds=(-1.0, 50.0), out=out)
    assert found is out
    assert (out >= -1).all()
    free = out[0][out[0] > -1]
    assert pvalue(free, stats.truncnorm(-1, np.inf)) > 1e-4
    assert (out[0] == -1).mean() == pytest.approx(stats.norm.cdf(-1), abs=0.006)
    assert pvalue(out[1][out[1] > -1], stats.truncnorm(-3, np.inf, loc=5, scale=2)) > 1e-4


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [0, 1, 20_000])
def test_normal_predictions_take_any_leading_axes(shape, n):
    theta = bayesian_models.NormalParameters(np.zeros(shape), np.ones(shape))
    assert bayesian_models.predict_normal(theta, n, rng(), bounds=(-1, 1)).shape == (*shape, n)


# --- covariance ----------------------------------------------------------------------------------


def test_the_inverse_wishart_law_has_its_mean_and_variance():
    scatter = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
    nu, p = 14.0, 3
    given = np.tile(np.linalg.cholesky(scatter), (R, 1, 1))
    root = inverse_wishart_root(given, np.full(R, nu), rng())
    sigma = product(root)
    mean = scatter / (nu - p - 1)
    # Σ_jj is inverse gamma with shape (ν − p + 1)/2.
    for j in range(p):
        distribution = stats.invgamma((nu - p + 1) / 2, scale=scatter[j, j] / 2)
        assert pvalue(sigma[:, j, j], distribution) > 1e-4
    assert np.abs(sigma.mean(axis=0) - mean).max() < 5 * sigma.std(axis=0).max() / np.sqrt(R)
    reference = stats.invwishart(nu, scatter).rvs(R, random_state=2)
    for j, k in ((0, 1), (1, 2)):
        assert stats.ks_2samp(sigma[:, j, k], reference[:, j, k]).pvalue > 1e-4


def test_an_admissible_scatter_stays_and_any_other_becomes_one():
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert product(admissible_root(good, np.array([5.0, 5.0]))) == pytest.approx(good)
    wild = rng().normal(size=(500, 4, 4)) * 100
    wild += np.swapaxes(wild, -1, -2)
    found = product(admissible_root(wild, np.full((500, 4), 7.0)))
    assert np.linalg.eigvalsh(found).min() > FLOOR / 2
    # Raising eigenvalues adds to the squares, by no more than what was negative.
    assert np.diagonal(found, axis1=1, axis2=2).max() <= 4 * 7


# --- mixture -------------------------------------------------------------------------------------


def everywhere(k, bounds, **more):
    bounds = np.array(bounds, dtype=float)
    return bayesian_models.Mixture(
        bounds, np.ones((k, len(bounds)), bool), np.ones(k, bool), **more
    )


def test_one_cell_and_one_number_are_the_normal_model():
    n, mean, variance = 30, 1.5, 2.0
    model = everywhere(1, [(-4, 6)])
    found = bayesian_models.LocationStatistics(
        np.full((R, 1), float(n)),
        np.full((R, 1, 1), n * (mean - 1)),
        np.full((R, 1, 1), (n - 1) * variance),
    )
    theta = model.posterior(found, rng())
    other = bayesian_models.normal_posterior(np.full(R, mean), variance, n, rng(2), bounds=(-4, 6))
    assert stats.ks_2samp(theta.means[:, 0, 0], other.mean).pvalue > 1e-4
    assert stats.ks_2samp(np.abs(theta.root[:, 0, 0]), other.stddev).pvalue > 1e-4
    distribution = stats.invgamma((n - 1) / 2, scale=(n - 1) * variance / 2)
    assert pvalue(theta.root[:, 0, 0] ** 2, distribution) > 1e-4


def test_one_cell_is_the_multivariate_normal_model():
    n, scatter = 25, np.array([[30.0, 12.0], [12.0, 60.0]])
    theta = everywhere(1, [(-10, 10), (-20, 20)]).posterior(
        bayesian_models.LocationStatistics(
            np.full((R, 1), float(n)),
            np.tile([n * 1.0, n * 2.0], (R, 1, 1)),
            np.tile(scatter, (R, 1, 1)),
        ),
        rng(),
    )
    # Marginally, μ is multivariate t: each coordinate t with n − 1 − p + 1 degrees of freedom.
    df = n - 1 - 2 + 1
    for j, centre in enumerate((1, 2)):
        scale = np.sqrt(scatter[j, j] / (n * df))
        assert pvalue((theta.means[:, 0, j] - centre) / scale, stats.t(df)) > 1e-4
    correlation = np.corrcoef(theta.means[:, 0].T)[0, 1]
    assert correlation == pytest.approx(12 / np.sqrt(30 * 60), abs=0.03)


def test_cells_have_their_means_and_share_a_covariance():
    counts = np.array([400.0, 100.0, 0.0])
    means = np.array([[1.0], [-2.0], [0.0]])
    theta = everywhere(3, [(-5, 5)]).posterior(
        bayesian_models.LocationStatistics(
            np.tile(counts, (R, 1)),
            np.tile(means * counts[:, None], (R, 1, 1)),
            np.full((R, 1, 1), 2.0 * 498),
            exact=True,
        ),
        rng(),
    )
    assert pvalue(theta.root[:, 0, 0] ** 2, stats.invgamma(249, scale=498)) > 1e-4
    for k, n in enumerate((400, 100, 1)):
        assert np.mean(theta.means[:, k, 0]) == pytest.approx(means[k, 0], abs=0.05)
        assert np.std(theta.means[:, k, 0]) == pytest.approx(np.sqrt(2 / n), rel=0.03)


def test_mixture_records_follow_their_parameters():
    theta = bayesian_models.LocationParameters(
        np.array([0.2, 0.8]),
        np.array([[0.0, 1.0], [3.0, -1.0]]),
        np.array([[1.0, 0.0], [0.6, 0.8]]),
    )
    n = 200_000
    found = everywhere(2, [(-50, 50), (-50, 50)]).predict(theta, n, rng())
    assert (found.cells == 1).mean() == pytest.approx(0.8, abs=0.005)
    for k in range(2):
        inside = found.values[found.cells == k]
        assert inside.mean(axis=0) == pytest.approx(theta.means[k], abs=0.03)
        assert np.cov(inside.T) == pytest.approx(np.array([[1, 0.6], [0.6, 1.0]]), abs=0.03)
    clipped = everywhere(2, [(-1, 1), (-1, 1)]).predict(theta, n, rng()).values
    assert np.abs(clipped).max() == 1


def test_noise_in_sparse_tables_does_not_eat_up_the_degrees_of_freedom():
    """Half of the empty cells have a positive noisy count; they must not count as occupied."""
    n, k = 1000, 800
    counts = rng().laplace(0, 2, size=(200, k))
    counts[:, :20] += n / 20
    theta = everywhere(k, [(-5, 5)]).posterior(
        bayesian_models.LocationStatistics(
            counts, np.zeros((200, k, 1)), np.full((200, 1, 1), 1.0 * (n - 20)), n_rows=float(n)
        ),
        rng(),
    )
    assert 1 < np.mean(theta.root**2) < 2.5


def test_a_column_that_is_absent_from_cells_is_estimated_from_the_others():
    """The second number exists in one cell of two only."""
    present = np.array([[True, True], [True, False]])
    model = bayesian_models.Mixture(np.array([[-5.0, 5], [-5, 5]]), present, np.ones(2, bool))
    counts, sigma = np.array([600.0, 400.0]), np.array([[1.0, 0.4], [0.4, 2.0]])
    degrees = np.array([[998.0, 599.0], [599.0, 599.0]])
    theta = model.posterior(
        bayesian_models.LocationStatistics(
            np.tile(counts, (R, 1)),
            np.zeros((R, 2, 2)),
            np.tile(sigma * degrees, (R, 1, 1)),
            exact=True,
        ),
        rng(),
    )
    drawn = product(theta.root)
    for j, nu in enumerate((998, 599)):
        distribution = stats.invgamma((nu - 1) / 2, scale=nu * sigma[j, j] / 2)
        assert pvalue(drawn[:, j, j], distribution) > 1e-4
    assert drawn[:, 0, 1].mean() == pytest.approx(0.4, abs=0.01)


def test_a_column_that_is_hardly_ever_there_does_not_spoil_the_others():
    present = np.array([[True, True], [True, False]])
    model = bayesian_models.Mixture(np.array([[-5.0, 5], [-5, 5]]), present, np.ones(2, bool))
    theta = model.posterior(
        bayesian_models.LocationStatistics(
            np.tile([2.0, 998.0], (R, 1)),
            np.zeros((R, 2, 2)),
            np.tile(np.diag([998.0, 1.0]), (R, 1, 1)),
            exact=True,
        ),
        rng(),
    )
    assert pvalue(product(theta.root)[:, 0, 0], stats.invgamma(997 / 2, scale=998 / 2)) > 1e-4


@pytest.mark.parametrize("statistic", [0.0, 1e9, -1e9])
def test_without_rows_the_law_does_not_depend_on_the_statistics(statistic):
    model = everywhere(2, [(0, 6), (0, 12)])
    scatter = np.full((R, 2, 2), statistic)
    found = bayesian_models.LocationStatistics(
        np.zeros((R, 2)) - 3, np.full((R, 2, 2), statistic), scatter
    )
    theta = model.posterior(found, rng())
    assert np.median(theta.means, axis=0) == pytest.approx(np.array([[3, 6]] * 2), abs=0.1)
    distribution = stats.invgamma((4 - 2 + 1) / 2, scale=4 / 2)
    assert pvalue((product(theta.root))[:, 0, 0], distribution) > 1e-4


def test_any_statistics_give_finite_records():
    source = rng()
    for size in (1e-9, 1.0, 1e12):
        found = bayesian_models.LocationStatistics(
            source.laplace(0, size, (300, 6)),
            source.laplace(0, size, (300, 6, 3)),
            source.laplace(0, size, (300, 3, 3)),
        )
        model = everywhere(6, [(-1, 2), (0, 1e-6), (-1e9, 1e9)])
        drawn = model.predict(model.posterior(found, source), 5, source)
        assert np.isfinite(drawn.values).all()
        assert (drawn.values >= model.bounds[:, 0]).all()
        assert (drawn.values <= model.bounds[:, 1]).all()


# --- leading axes --------------------------------------------------------------------------------


def test_one_repetition_of_many_is_one_alone_in_law():
    """Posterior means of cells for 3 × R repetitions against R single calls would be slow; the
    draws of each repetition must not depend on the others: a permutation of equal statistics."""
    model = everywhere(2, [(-5, 5)])

    def draw(scatter, seed):
        shape = (len(scatter), 2)
        found = bayesian_models.LocationStatistics(
            np.full(shape, 50.0), np.zeros((*shape, 1)), scatter
        )
        return model.posterior(found, rng(seed)).root[:, 0, 0] ** 2

    mixed = np.tile([[[98.0]], [[9.8]]], (R, 1, 1))
    found = draw(mixed, 1)
    alone = draw(np.full((R, 1, 1), 98.0), 2)
    assert stats.ks_2samp(found[::2], alone).pvalue > 1e-4
    assert stats.ks_2samp(found[1::2] * 10, alone).pvalue > 1e-4
    assert abs(np.corrcoef(found[::2], found[1::2])[0, 1]) < 5 / np.sqrt(R)
