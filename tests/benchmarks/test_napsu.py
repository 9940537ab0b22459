"""The remake of NAPSU-MQ: its noise suffices, and without any it says what the rows say."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import napsu

pytestmark = pytest.mark.whole

SIZES, PAIRS = (2, 3, 2), [(0, 1), (1, 2)]


def test_what_is_left_out_the_others_tell():
    kept = napsu.indicators(SIZES, PAIRS)
    cells = napsu.cells_of(SIZES)
    basis = np.hstack([np.ones((len(cells), 1)), kept])
    assert np.linalg.matrix_rank(basis) == basis.shape[1] == 1 + 1 + 2 + 1 + 2 + 2
    for marginal in PAIRS:
        for levels in product(*(range(SIZES[k]) for k in marginal)):
            told = (cells[:, list(marginal)] == levels).all(axis=1)
            assert np.linalg.lstsq(basis, told.astype(float), rcond=None)[1] == pytest.approx(0)


def test_a_replaced_record_changes_no_more_than_the_noise_is_for():
    kept = napsu.indicators(SIZES, PAIRS)
    most = max(((one - other) ** 2).sum() for one in kept for other in kept)
    assert most <= 2 * len(PAIRS)
    ratio = np.sqrt(2 * len(PAIRS)) / napsu.noise_stddev(1.0, 1e-6, len(PAIRS))
    upper, lower = stats.norm.cdf(ratio / 2 - 1 / ratio), stats.norm.cdf(-ratio / 2 - 1 / ratio)
    assert upper - np.e * lower == pytest.approx(1e-6, rel=1e-6)


def test_the_posterior_is_a_normal_law_of_counts_and_a_normal_prior():
    rng = np.random.default_rng(1)
    queries = napsu.indicators(SIZES, PAIRS)
    posterior = napsu.Posterior(queries, rng.normal(30, 5, queries.shape[1]), 90, 4.0)
    found = []
    for one in (several := rng.normal(size=(3, queries.shape[1]))):
        shares = np.exp(queries @ one) / np.exp(queries @ one).sum()
        covariance = np.cov(queries.T, aweights=shares, bias=True)
        law = stats.multivariate_normal(
            90 * shares @ queries, 90 * covariance + 16 * np.eye(len(covariance))
        )
        found.append(law.logpdf(posterior.noisy) + stats.norm.logpdf(one, 0, 10).sum())
    assert np.diff(posterior.log_density(several)) == pytest.approx(np.diff(found))


def test_rules_by_hand():
    estimates, variances = np.array([[0.0], [2.0], [4.0]]), np.full((3, 1), 1.0)
    lower, upper = napsu.pooled(estimates, variances)  # between 4 · 4/3, within 1
    half = stats.t.ppf(0.975, 2 * (1 - 3 / 16) ** 2) * np.sqrt(16 / 3 - 1)
    assert [lower[0], upper[0]] == pytest.approx([2 - half, 2 + half])


def test_fits_of_counts_are_fits_of_rows():
    rng = np.random.default_rng(2)
    cells, counts = napsu.cells_of((3, 2)), rng.integers(5, 40, 6)
    design, outcome = np.column_stack([np.ones(6), cells[:, 0]]), cells[:, 1].astype(float)
    x, y = np.repeat(design, counts, axis=0), np.repeat(outcome, counts)
    found, _ = napsu.fit("ols", design, outcome, counts)
    assert found == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0])
    found, variances = napsu.fit("logit", design, outcome, counts)
    share = 1 / (1 + np.exp(-x @ found))
    assert x.T @ (y - share) == pytest.approx(0, abs=1e-8)
    information = x.T @ (x * (share * (1 - share))[:, None])
    assert variances == pytest.approx(np.diag(np.linalg.inv(information)))


def test_hardly_any_noise_gives_the_intervals_of_the_rows():
    rng = np.random.default_rng(3)
    cells = napsu.cells_of((2, 2))
    design = np.column_stack([np.ones(4), cells[:, 0]])
    counts = np.array([600, 400, 350, 650])
    tables = napsu.synthetic_counts(counts, (2, 2), [(0, 1)], (np.inf, 1e-6), rng)
    fitted = [napsu.fit("logit", design, cells[:, 1].astype(float), one) for one in tables]
    lower, upper = napsu.pooled(*(np.array(one) for one in zip(*fitted, strict=True)))
    found, variances = napsu.fit("logit", design, cells[:, 1].astype(float), counts)
    width = 2 * 1.96 * np.sqrt(variances)
    # With 100 sets a width has a standard error of about a seventh of it, and so has the middle, of
    # the standard error; of other seeds, one in 400 would be three of them away.
    assert (upper - lower) / width == pytest.approx(1.05, abs=3 / 7)
    assert np.abs((lower + upper) / 2 - found) / np.sqrt(variances) == pytest.approx(0, abs=3 / 7)
