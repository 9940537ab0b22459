"""Fieller's interval: its ends solve its equation, and it covers where Wald's does not."""

import numpy as np
import pytest
from scipy import stats

from understudy.errors import InferenceError
from understudy.inference.linear import Inverted, require_firm


def inverted(estimate, variance, denominator, mixed, squared):
    return Inverted(
        names=("b",),
        estimate=np.array([estimate]),
        covariance=np.array([[variance]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([0.5]),
        rule="moments",
        sets=1,
        denominator=np.array([denominator]),
        mixed=np.array([mixed]),
        squared=np.array([squared]),
    )


def test_its_ends_solve_the_equation():
    pooled = inverted(1.5, 0.04, 40.0, 3.0, 25.0)
    z = stats.norm.ppf(0.975)
    for end in np.concatenate(pooled.interval(0.95)):
        away = 1.5 - end
        variance = 0.04 * 40**2 + 2 * away * 3 + away**2 * 25
        assert (40 * away) ** 2 == pytest.approx(z * z * variance)


def test_without_noise_in_the_denominator_it_is_walds():
    lower, upper = inverted(2.0, 0.25, 7.0, 0.0, 0.0).interval(0.9)
    reach = stats.norm.ppf(0.95) * 0.5
    assert (lower[0], upper[0]) == (pytest.approx(2 - reach), pytest.approx(2 + reach))


def test_it_is_endless_where_the_denominator_may_be_0():
    lower, upper = inverted(2.0, 0.25, 7.0, 0.0, 20.0).interval(0.95)
    assert (lower[0], upper[0]) == (-np.inf, np.inf)


def test_p_is_the_level_at_which_an_end_is_0():
    pooled = inverted(0.7, 0.09, 30.0, 2.0, 40.0)
    lower, _ = pooled.interval(1 - float(pooled.pvalue[0]))
    assert lower[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.statistical
def test_it_covers_where_the_usual_interval_does_not():
    rng = np.random.default_rng(4)
    repetitions, b, size, sd = 4_000, 3.0, 40.0, 9.0
    right = usual = 0
    for _ in range(repetitions):
        denominator = size + rng.normal(0, sd)
        estimate = (b * size + rng.normal(0, 5)) / denominator
        v0, v1, v2 = 25 + (estimate * sd) ** 2, -estimate * sd**2, sd**2
        pooled = inverted(estimate, v0 / denominator**2, denominator, v1, v2)
        lower, upper = pooled.interval()
        right += lower[0] <= b <= upper[0]
        usual += abs(estimate - b) <= 1.96 * np.sqrt(v0) / abs(denominator)
    # The sd of a coverage of 4,000 is 0.0034; false alarm below 1e-5.
    assert abs(right / repetitions - 0.95) < 0.016
    assert abs(usual / repetitions - 0.95) > 0.016


def test_a_denominator_that_is_lost_is_refused():
    require_firm(np.array([31.0]), np.array([100.0]), "A group")
    with pytest.raises(InferenceError, match=r"2\.9 standard deviations"):
        require_firm(np.array([31.0, 29.0]), np.array([100.0, 100.0]), "A group")
