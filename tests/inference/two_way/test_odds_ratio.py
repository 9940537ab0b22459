"""Odds ratios of noisy counts: Cornfield's interval without noise, and one that holds with it."""

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import Table2x2

from understudy.inference.two_way import OPEN_NOTE, NoisyCells, Trait, odds_ratio

TRAITS = [Trait(name, (name,), (f"{name}[0]", f"{name}[1]"), None, None) for name in "xy"]


def cells_of(counts, sd=0.0, *, heavy=False):
    counts = np.asarray(counts, dtype=np.float64)
    fourth = np.full(counts.shape, 3 * sd**4 * heavy)
    return NoisyCells(counts, sd**2 * np.eye(counts.size), fourth, 0.0, "moments", "", 1)


def asked(counts, sd=0.0, *, heavy=False):
    return odds_ratio(cells_of(counts, sd, heavy=heavy), TRAITS)


def noise(rng, sd, *, heavy):
    return rng.laplace(0, sd / np.sqrt(2), (2, 2)) if heavy else rng.normal(0, sd, (2, 2))


def pearson_at(counts, theta):
    """Pearson's statistic of the table with these margins and another odds ratio."""
    n, rows, columns = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    low, high = max(0, rows[1] + columns[1] - n), min(rows[1], columns[1])

    def table(a):
        return np.array(
            [[n - rows[1] - columns[1] + a, columns[1] - a], [rows[1] - a, a]], dtype=np.float64
        )

    def off(a):
        t = table(a)
        return np.log(t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) / theta)

    fitted = table(optimize.brentq(off, low + 1e-9, high - 1e-9, xtol=1e-12))
    return float(((counts - fitted) ** 2 / fitted).sum())


TABLES = [[[30, 12], [7, 25]], [[900, 60], [30, 10]], [[3, 8], [9, 2]], [[40, 1], [35, 6]]]


@pytest.mark.parametrize("counts", TABLES)
def test_without_noise_it_is_the_textbook_s(counts):
    """Estimate and error by statsmodels; the test of 1 is Pearson's; ends where χ² is 3.84."""
    counts = np.array(counts, dtype=np.float64)
    found, known = asked(counts), Table2x2(counts)
    assert np.allclose(found.estimate, [known.oddsratio, known.log_oddsratio])
    assert found.stderr[1] == pytest.approx(known.log_oddsratio_se)
    pearson = stats.chi2_contingency(counts, correction=False)
    assert found.pvalue == pytest.approx([pearson.pvalue] * 2, rel=2e-3)
    lower, upper = found.interval(0.9)
    for end in (lower[0], upper[0]):
        assert pearson_at(counts, end) == pytest.approx(stats.chi2.ppf(0.9, 1), rel=1e-3)
    assert np.allclose(np.log([lower[0], upper[0]]), [lower[1], upper[1]])


@pytest.mark.parametrize("sd", [0.0, 2.0, 10.0])
@pytest.mark.parametrize("counts", TABLES)
def test_it_does_not_matter_which_trait_comes_first(counts, sd):
    counts = np.array(counts, dtype=np.float64)
    found, turned, inverse = asked(counts, sd), asked(counts.T, sd), asked(counts[::-1], sd)
    assert np.allclose(found.interval(), turned.interval())
    assert np.allclose(found.pvalue, inverse.pvalue)
    (lower, upper), (other_lower, other_upper) = found.interval(), inverse.interval()
    assert [lower[1], upper[1]] == pytest.approx([-other_upper[1], -other_lower[1]])


def test_a_cell_that_is_not_told_from_nobody_leaves_the_interval_open():
    found = asked([[900, 60], [4, 36]], 3.0)
    lower, upper = found.interval()
    assert np.isinf(upper).all()
    assert lower[0] > 20
    assert OPEN_NOTE in found.notes
    below = asked([[900, 60], [-2, 36]], 3.0)
    assert np.isinf(below.estimate[0])
    assert np.isnan(below.stderr).all()
    assert 20 < below.interval()[0][0] < np.inf
    nothing = asked([[-1, 60], [-2, 36]], 3.0)
    assert nothing.interval()[0][0] == 0
    assert np.isinf(nothing.interval()[1][0])
    assert nothing.pvalue[0] == 1


def test_an_empty_cell_without_noise_leaves_one_end():
    found = asked([[50, 10], [0, 20]])
    lower, upper = found.interval()
    assert 5 < lower[0] < np.inf == upper[0]
    assert found.pvalue[0] < 1e-6


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.nightly
def test_the_test_is_the_interval(heavy):
    rng = np.random.default_rng(4)
    for _ in range(60):
        counts = rng.uniform(15, 50, (2, 2))
        found = asked(counts, 4.0, heavy=heavy)
        p = found.pvalue[0]
        lower, upper = found.interval(1 - p**0.98)
        assert lower[0] > 1 or upper[0] < 1
        lower, upper = found.interval(1 - p**1.02)
        assert lower[0] <= 1 <= upper[0]


def test_heavy_tails_make_it_wider():
    counts = [[200, 60], [30, 50]]
    (low, high), (lower, higher) = (
        asked(counts, 8.0, heavy=heavy).interval() for heavy in (False, True)
    )
    assert lower[0] < low[0] < high[0] < higher[0]


REPETITIONS = 150
CASES = {
    "plain": ([[0.4, 0.1], [0.2, 0.3]], 10.0, False),
    "sparse": ([[0.9, 0.06], [0.03, 0.01]], 1.0, False),
    "rare": ([[0.97, 0.005], [0.02, 0.005]], 1.0, True),
    "lost": ([[0.9, 0.06], [0.03, 0.01]], 6.0, True),
}


def covered(case, counted_as, seed=1):
    """Share of intervals that hold the truth, of 1,000 records."""
    shares, sd, heavy = CASES[case]
    shares = np.array(shares)
    truth = shares[0, 0] * shares[1, 1] / (shares[0, 1] * shares[1, 0])
    rng = np.random.default_rng(seed)
    hits = []
    for _ in range(REPETITIONS):
        counts = rng.multinomial(1000, shares.reshape(-1)).reshape(2, 2) * 1.0
        counts += noise(rng, sd, heavy=heavy)
        lower, upper = asked(counts, counted_as * sd, heavy=heavy).interval()
        hits.append(lower[0] <= truth <= upper[0])
    return float(np.mean(hits))


@pytest.mark.statistical
@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.nightly
def test_intervals_cover(case):
    """With cells of 5 and 10 records, and noise as large; a false alarm in 1e-5 of runs a case."""
    assert covered(case, 1.0) >= stats.binom.ppf(1e-5, REPETITIONS, 0.95) / REPETITIONS


@pytest.mark.statistical
def test_noise_that_is_not_counted_is_noticed():
    least = stats.binom.ppf(1e-5, REPETITIONS, 0.95) / REPETITIONS
    assert covered("lost", 0.2) < least
