"""The No-U-Turn sampler walks on the target that it states, and agrees with the Gibbs sampler.

The density itself is checked to rounding in `test_mixture_target`. What runs the sampler needs the
optional extra "numpyro". False alarms: 1e-5 a comparison; of draws that depend on each other, where
the comparison takes means of batches for independent and normal.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import stats

from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.papers import mixture_nuts
from understudy.papers.mixture_gibbs import (
    MixtureGibbs,
    MixturePrior,
    Mixtures,
    log_contributions,
    log_likelihoods,
    mixture_draws,
)
from understudy.papers.mixture_nuts import MixtureNuts, MixtureTarget, check_numpyro, nuts_draws
from understudy.papers.mixture_regression import MixtureRegression

LEVEL = 1e-5
PRIOR = MixturePrior(components=2, coefficient_scale=1.0, noise_scale=0.7, noise_floor=0.2)
needs_numpyro = pytest.mark.skipif(find_spec("numpyro") is None, reason="needs the extra numpyro")


def few():
    """Three records: responses, design, weights."""
    return np.array([-1.5, 0.2, 1.5]), np.ones((3, 1)), np.array([0.3, 0.5, 0.4])


def forty():
    """Two lines with noise, weights from 0 to 1."""
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(40), rng.normal(size=40)])
    first = rng.uniform(size=40) < 0.6
    y = np.where(first, x @ [1.0, 0.5], x @ [-1.0, 0.0]) + 0.4 * rng.normal(size=40)
    return y, x, np.linspace(0, 1, 40)


# --- without the extra ---


def test_one_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(MethodError, match=r"needs NumPyro.*\.\[numpyro\].*gibbs"):
        check_numpyro()
    with pytest.raises(MethodError, match=r"\.\[numpyro\]"):
        MixtureRegression(sampler="nuts")


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"warm_up": -1}, {"thin": 0}])
def test_a_chain_refuses_wrong_numbers(wrong):
    target = MixtureNuts(PRIOR, *few())
    with pytest.raises(ValueError, match="nuts_draws"):
        nuts_draws(target, SeededRandomness(1), **({"draws": 1, "warm_up": 0} | wrong))


def test_a_target_refuses_what_does_not_fit():
    responses, design, weights = few()
    with pytest.raises(MethodError, match="labels, marginal"):
        MixtureNuts(PRIOR, responses, design, weights, power="both")
    with pytest.raises(ValueError, match=r"weights must lie in \[0, 1\]"):
        MixtureNuts(PRIOR, responses, design, 3 * weights)
    with pytest.raises(ValueError, match="a weight is needed"):
        MixtureNuts(PRIOR, responses, design, weights[:2])


def test_keys_are_words_of_the_source():
    keys = mixture_nuts._keys(5, SeededRandomness(2))
    words = SeededRandomness(2).words(5)
    assert keys.shape == (5, 2)
    assert set(keys.ravel().tolist()) == {int(w) >> s & 0xFFFFFFFF for w in words for s in (0, 32)}


# --- with it ---


def predicted(drawn, y, x):
    """What does not depend on the names of components; each of shape (S,)."""
    share, at = np.exp(drawn.log_shares), np.array([1.0, 0.5])[: x.shape[1]]
    middles = drawn.coefficients @ at
    mean = (share * middles).sum(axis=1)
    square = (share * (drawn.variances + middles**2)).sum(axis=1)
    logs = np.concatenate(list(log_likelihoods(drawn, y, x)))
    return {
        "mean": np.arctan(mean),
        "spread": np.log(square - mean**2),
        "likelihood": logs.sum(axis=1),
        "bound": np.log(np.abs(logs).max(axis=1)),
        "unequal": share.max(axis=1),
        "sharpest": np.log(drawn.variances.min(axis=1)),
    }


def batched(values, batches=25):
    return values.reshape(batches, -1).mean(axis=1)


def agreement(one, other, y, x):
    """The p-values of equal means."""
    here, there = predicted(one, y, x), predicted(other, y, x)
    return {
        name: stats.ttest_ind(batched(here[name]), there[name], equal_var=False).pvalue
        for name in here
    }


def by_integration(points, y, x, alpha, power):
    """The target's weights of draws from the prior."""
    if power == "labels":
        (added,) = log_contributions(points, y, x, alpha)
    else:
        (added,) = log_likelihoods(points, y, x)
        added *= alpha
    logs = added.sum(axis=1)
    return np.exp(logs - logs.max())


@needs_numpyro
@pytest.mark.parametrize("power", ["labels", "marginal"])
def test_both_targets_by_integration_over_the_prior(power):
    """n = 3: draws from the prior, weighted by the target; the other form is told apart."""
    y, x, alpha = few()
    points = PRIOR.draw(1, 60_000, SeededRandomness(31)).mixtures
    target = MixtureNuts(PRIOR, y, x, alpha, power)
    drawn = nuts_draws(target, SeededRandomness(32), draws=5000, warm_up=500, thin=4).mixtures
    found, known = predicted(drawn, y, x), predicted(points, y, x)

    def worst(form):
        weights = by_integration(points, y, x, alpha, form)
        weights /= weights.sum()
        values = []
        for name in found:
            mean = weights @ known[name]
            error = np.sqrt(weights**2 @ (known[name] - mean) ** 2)
            parts = batched(found[name])
            error = np.hypot(error, parts.std(ddof=1) / 5)
            values.append(2 * stats.t.sf(abs(parts.mean() - mean) / error, 24))
        return min(values)

    assert worst(power) > LEVEL
    assert worst("labels" if power == "marginal" else "marginal") < LEVEL


@needs_numpyro
def test_it_agrees_with_the_gibbs_sampler():
    """n = 40, weights from 0 to 1: independent chains of Gibbs, one of NUTS; and a wrong power."""
    y, x, alpha = forty()
    chains = 500
    sampler = MixtureGibbs(PRIOR, np.tile(y, (chains, 1)), x, np.tile(alpha, (chains, 1)))
    ends = mixture_draws(sampler, SeededRandomness(41), draws=1, burn_in=250)
    gibbs = Mixtures(ends.log_shares[:, 0], ends.coefficients[:, 0], ends.variances[:, 0])
    for power in ("labels", "marginal"):
        target = MixtureNuts(PRIOR, y, x, alpha, power)
        found = nuts_draws(target, SeededRandomness(42), draws=2000, warm_up=500, thin=2)
        values = agreement(found.mixtures, gibbs, y, x)
        assert found.divergent < 40
        if power == "labels":
            assert min(values.values()) > LEVEL, values
        else:
            assert min(values.values()) < LEVEL, values


@needs_numpyro
def test_which_draws_are_kept_and_what_they_are_drawn_with():
    target = MixtureNuts(PRIOR, *few())
    source = SeededRandomness(51)
    start = PRIOR.draw(1, 1, SeededRandomness(52))
    every = nuts_draws(target, source, draws=8, warm_up=2, start=start)
    assert source.position == 1 + 2 + 8
    third = nuts_draws(target, SeededRandomness(51), draws=2, warm_up=2, thin=4, start=start)
    assert np.array_equal(every.mixtures.coefficients[3::4], third.mixtures.coefficients)
    other = nuts_draws(target, SeededRandomness(53), draws=8, warm_up=2, start=start)
    assert not np.isin(other.mixtures.variances, every.mixtures.variances).any()
    assert every.steps == third.steps >= 8


@needs_numpyro
def test_rows_are_no_part_of_the_program(monkeypatch):
    """Other rows of the same number run what was compiled before: it holds none."""
    traced = []
    density = MixtureTarget.log_density

    def counted(self, *args):
        traced.append(1)
        return density(self, *args)

    monkeypatch.setattr(MixtureTarget, "log_density", counted)
    responses, design, weights = few()
    prior = MixturePrior(components=2, noise_scale=0.71)  # of no other test
    start = prior.draw(1, 1, SeededRandomness(61))
    drawn, counts = [], []
    for shift in (0.0, 3.0):
        target = MixtureNuts(prior, responses + shift, design, weights)
        source = SeededRandomness(62)
        drawn.append(nuts_draws(target, source, draws=8, warm_up=2, start=start).mixtures)
        counts.append(len(traced))
    assert counts[0] == counts[1] > 0
    assert not np.array_equal(drawn[0].coefficients, drawn[1].coefficients)


@needs_numpyro
def test_the_settings_of_the_process_stay():
    import jax

    before = jax.config.jax_enable_x64
    assert jax.numpy.ones(1).dtype == (np.float64 if before else np.float32)
    drawn = nuts_draws(MixtureNuts(PRIOR, *few()), SeededRandomness(71), draws=8, warm_up=2)
    assert drawn.mixtures.variances.dtype == np.float64
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.ones(1).dtype == (np.float64 if before else np.float32)


@needs_numpyro
def test_ties_and_collinear_predictors_go_through():
    """60 equal responses at collinear predictors: scales come near the floor."""
    prior = MixturePrior(components=2)
    target = MixtureNuts(prior, np.zeros(60), np.ones((60, 2)), np.ones(60))
    drawn = nuts_draws(target, SeededRandomness(81), draws=20, warm_up=100).mixtures
    for one in (drawn.log_shares, drawn.coefficients, drawn.variances):
        assert np.isfinite(one).all()
    assert drawn.variances.min() >= prior.noise_floor**2
    assert drawn.variances.min(axis=1).max() < 0.05**2


@needs_numpyro
def test_no_records_give_the_prior():
    target = MixtureNuts(PRIOR, np.empty(0), np.empty((0, 1)), np.empty(0))
    drawn = nuts_draws(target, SeededRandomness(91), draws=4000, warm_up=500, thin=2).mixtures
    fresh = PRIOR.draw(1, 4000, SeededRandomness(92)).mixtures
    for of in (
        lambda m: np.log(m.variances[:, 0]),
        lambda m: np.arctan(m.coefficients[:, 0, 0]),
        lambda m: np.exp(m.log_shares).max(axis=1),
    ):
        assert stats.ttest_ind(batched(of(drawn)), of(fresh), equal_var=False).pvalue > LEVEL
    wide = MixturePrior(components=2, coefficient_scale=1.0, noise_scale=0.9, noise_floor=0.2)
    other = np.log(wide.draw(1, 4000, SeededRandomness(93)).mixtures.variances[:, 0])
    found = batched(np.log(drawn.variances[:, 0]))
    assert stats.ttest_ind(found, other, equal_var=False).pvalue < LEVEL


@needs_numpyro
def test_a_law_of_a_number_takes_it():
    rows, power, start = few(), "marginal", {"draws": 8, "warm_up": 2}
    column_model = MixtureRegression(prior=PRIOR, sampler="nuts", power=power, burn_in=2, thin=1)
    theta = column_model.draws(*rows, SeededRandomness(101), draws=8)
    drawn = nuts_draws(MixtureNuts(PRIOR, *rows, power), SeededRandomness(101), **start).mixtures
    assert theta.keys() == vars(drawn).keys()
    assert all(np.array_equal(theta[name], getattr(drawn, name)) for name in theta)
