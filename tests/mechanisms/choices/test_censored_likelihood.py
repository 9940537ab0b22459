"""The censored posterior: its ε by enumeration, exactly, and what breaks it."""

from __future__ import annotations

import itertools
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from oracles.record_models import NormalRegression, Tabulated
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.selection import lattice_gaps, select, selection_rate
from understudy.papers import generator_scores
from understudy.papers.generator_scores import STEPS, CensoredLikelihood, Censoring
from understudy.papers.record_weights import lipschitz_bounds, vector_weights

FORMS = ("interval", "own-peak", "own-weight", "own-range")
POINTS = np.arange(3.0)[:, None]


def censoring(form, width, high=0.0):
    return Censoring(form=form, width=width, high=high if form == "interval" else None)


def score_of(table, form, width, high=0.0):
    table = np.asarray(table, dtype=float)
    return CensoredLikelihood(
        Tabulated(np.arange(float(table.shape[1]))[:, None], table), censoring(form, width, high)
    )


def rows(*states):
    return np.array(states, dtype=float).reshape(-1, 1)


# --- ε, by enumeration of every table of up to four records --------------------------------------

DENSITIES = np.array([[0.0, -9.0, -4.0], [-9.0, 0.0, -9.0], [-0.3, -0.5, -0.1], [5.0, -5.0, 1.0]])
"""Log densities: states that tell the candidates apart, one that hardly does, one above 1."""
STATES = (0, 1, 2, 3, 9)
"""The last is no state."""


def enumerated(relation, column_model, longest=4):
    """The largest |log ratio| of two neighbouring tables, over all tables and neighbours."""
    cache = {
        table: column_model(rows(*table))
        for n in range(longest + 1)
        for table in itertools.combinations_with_replacement(STATES, n)
    }
    worst = 0.0
    for table, here in cache.items():
        for new in STATES:
            if relation == "add_remove":
                others = [tuple(sorted((*table, new)))]
            else:
                others = [
                    tuple(sorted((*table[:i], *table[i + 1 :], new))) for i in range(len(table))
                ]
            for other in others:
                if other in cache:
                    worst = max(worst, np.abs(here - cache[other]).max())
    return worst


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", [0.25, 1.0, 6.0])
@pytest.mark.parametrize(("relation", "times"), [("add_remove", 1), ("replace", 2)])
def test_the_posterior_spends_its_width_once_or_twice(form, width, relation, times):
    score = score_of(DENSITIES, form, width)
    worst = enumerated(relation, score.log_probabilities)
    assert worst <= times * width + 1e-9
    assert worst > 0.3 * width


@pytest.mark.parametrize("form", ["interval", "own-peak", "own-range"])
@pytest.mark.parametrize(("relation", "times"), [("add_remove", 1), ("replace", 2)])
def test_and_no_less(form, relation, times):
    """At width 6 four records are enough for all of it, up to e^(-2·6)."""
    worst = enumerated(relation, score_of(DENSITIES[:3], form, 6.0).log_probabilities)
    assert worst == pytest.approx(times * 6, abs=1e-4)


def test_no_less_for_narrow_intervals_and_for_weights():
    """Two candidates, n records that prefer one: with counts, 60 of them are one row."""
    for form in FORMS:
        score = score_of([[1.0, -1.0], [-1.0, 1.0]], form, 1.0, high=0.5)
        before = score.log_probabilities(rows(0, 1), np.array([0, 60]))
        added = score.log_probabilities(rows(0, 1), np.array([1, 60]))
        replaced = score.log_probabilities(rows(0, 1), np.array([1, 59]))
        assert np.abs(added - before).max() == pytest.approx(1, abs=1e-9)
        assert np.abs(replaced - before).max() == pytest.approx(2, abs=1e-9)


@pytest.mark.parametrize("form", ["interval", "own-peak"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("epsilon", "width"), [(F := Fraction(6), 6.0), (F, 2.0), (F, 18.0)])
def test_the_exponential_mechanism_spends_epsilon_at_any_width(form, relation, epsilon, width):
    """The law of `select`, from its own integers and its own rate: at most ε, and all but 10⁻³."""
    score = score_of(DENSITIES[:3] * 3, form, width)
    rate = selection_rate(epsilon, monotone=score.monotone and relation == "add_remove")

    def column_model(records, factor=1.0):
        gaps = lattice_gaps(score.evaluate(records), score.sensitivity(relation))
        weights = -factor * float(rate) * gaps
        return weights - np.logaddexp.reduce(weights)

    worst = enumerated(relation, column_model)
    assert 0.999 * 6 < worst <= 6
    # An audit that could not fail would prove nothing.
    assert enumerated(relation, lambda records: column_model(records, 1.1)) > 6


def test_the_worked_example():
    """θ ∈ {1, 2}, equally likely; one record with log densities (0, -1)."""
    score = CensoredLikelihood(
        Tabulated(np.array([[1.0], [2.0]]), np.array([[0.0, -1.0]])), censoring("interval", 1.0)
    )
    found = score.log_probabilities(rows(0))
    np.testing.assert_allclose(np.exp(found), [0.7311, 0.2689], atol=5e-5)
    np.testing.assert_allclose(found - np.log(0.5), [0.3799, -0.6201], atol=5e-5)


def test_what_is_drawn_has_that_law():
    """2,000 draws: within 4.5 standard errors with probability above 0.99999; r = 2 is rejected."""
    score = score_of([[0.0, -1.0]], "interval", 1.0)
    source, draws = SeededRandomness(11), 2_000
    hits = sum(
        select(
            score.evaluate(rows(0)),
            epsilon=Fraction(1),
            sensitivity=score.sensitivity("add_remove"),
            monotone=score.monotone,
            feasible=None,
            source=source,
        )
        == 0
        for _ in range(draws)
    )
    error = np.sqrt(0.7311 * 0.2689 / draws)
    assert abs(hits / draws - 0.7311) < 4.5 * error
    assert abs(hits / draws - 1 / (1 + np.exp(-2))) > 4.5 * error


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**5), Fraction(10**6)])
def test_without_records_candidates_are_as_likely_as_under_the_prior(epsilon):
    for form in FORMS:
        score = score_of(DENSITIES, form, float(epsilon))
        np.testing.assert_allclose(np.exp(score.log_probabilities(rows())), 1 / 3)
        gaps = lattice_gaps(score.evaluate(rows()), score.sensitivity("replace"))
        assert gaps.tolist() == [0, 0, 0]
        args = {"epsilon": epsilon, "sensitivity": Fraction(STEPS), "monotone": True}
        found = select(score.evaluate(rows(0, 0)), feasible=None, source=SecureRandomness(), **args)
        assert found in (0, 1, 2)


# --- contributions -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_contributions_stay_in_the_interval_whatever_comes(form):
    wild = np.random.default_rng(3).standard_cauchy((200, 7)) * 1e3
    wild[:6] = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0])[:, None]
    wild[6, :4], wild[7, 2] = [np.nan, np.inf, -np.inf, 5e-324], np.inf
    for width in (1e-5, 1.0, 1e6):
        how = censoring(form, width, high=0.7)
        found = how.contributions(wild)
        assert found.min() >= -width
        assert found.max() <= 0
        steps = how.steps(wild)
        assert (steps.min(), steps.max()) >= (-STEPS, -STEPS)
        assert steps.max() <= 0
        np.testing.assert_allclose(steps * width / STEPS, found, atol=0.51 * width / STEPS)
        np.testing.assert_array_equal(
            how.contributions(wild.reshape(4, 50, 7)).reshape(200, 7), found
        )
        # A record alone contributes what it contributes among others, to the last step.
        np.testing.assert_array_equal(np.stack([how.steps(row) for row in wild]), steps)


def test_what_each_form_does():
    record = np.array([-1.0, -1.5, -4.0])
    expected = {
        "interval": [-0.5, -1.0, -2.0],
        "own-peak": [0.0, -0.5, -2.0],
        "own-weight": [-1.25, -1.375, -2.0],
        "own-range": [0.0, -1 / 3, -2.0],
    }
    for form, values in expected.items():
        found = censoring(form, 2.0, high=-0.5).contributions(record)
        np.testing.assert_allclose(found, values)
    # One that stays within the width is not touched by a weight.
    quiet = np.array([-0.4, 0.1, 0.0])
    for form, low in (("own-weight", quiet - 1), ("own-range", quiet - 0.1)):
        np.testing.assert_allclose(censoring(form, 2.0).contributions(quiet), low)


def test_a_record_that_is_no_state_says_nothing():
    for form in FORMS:
        score = score_of(DENSITIES, form, 2.0)
        before = score.log_probabilities(rows(0, 1))
        for strange in (-1.0, 4.0, 0.5, np.nan, np.inf):
            np.testing.assert_allclose(score.log_probabilities(rows(0, strange, 1)), before)


def test_sums_are_whole_and_the_same_in_any_order_and_in_any_chunks(monkeypatch):
    rng = np.random.default_rng(4)
    points = np.column_stack([rng.normal(size=(50, 3)), rng.gamma(2, size=50) + 0.1])
    model = NormalRegression(points)
    records = np.column_stack([rng.normal(size=301), np.ones(301), rng.normal(size=(301, 2))])
    score = CensoredLikelihood(model, censoring("own-peak", 1.3))
    found = score.evaluate(records)
    assert np.all(found == np.rint(found))
    np.testing.assert_array_equal(score.evaluate(records[rng.permutation(301)]), found)
    counts = rng.integers(0, 4, 301)
    several = score.evaluate(records, counts)
    monkeypatch.setattr(generator_scores, "_CHUNK", 350)
    np.testing.assert_array_equal(score.evaluate(records), found)
    np.testing.assert_array_equal(score.evaluate(np.repeat(records, counts, axis=0)), several)
    np.testing.assert_array_equal(score.evaluate(records, counts), several)


def test_one_record_more_moves_the_lattice_by_no_more_than_its_room_in_a_huge_table():
    score = score_of([[0.0, -1.0, -0.37], [-1.0, 0.0, -0.21]], "interval", 1.0)
    rng = np.random.default_rng(5)
    for n in (2**23, 2**31, 2**33 - 2):
        for _ in range(30):
            first = int(rng.integers(n))
            before = np.array([first, n - first])
            for more in (np.array([1, 0]), np.array([0, 1])):
                u, v = (score.evaluate(rows(0, 1), c) for c in (before, before + more))
                assert np.all(v <= u)
                steps = [np.rint(np.clip(w * 2.0**-10, -(2.0**50), 2.0**50)) for w in (u, v)]
                assert np.abs(steps[0] - steps[1]).max() <= 2**20 + 1


# --- where the interval lies ---------------------------------------------------------------------

GRID = np.linspace(-3, 3, 61)
NORMALS = NormalRegression(np.column_stack([GRID, np.ones(61)]))


def normal_records(values):
    """y and the constant."""
    return np.column_stack([values, np.ones(len(values))])


def test_the_published_interval_returns_the_prior_and_others_learn():
    """N(θ, 1), 400 records about 1: log f < -0.9 lies below [-1/2, 1/2] wherever θ is."""
    records = normal_records(np.random.default_rng(6).normal(1, 1, 400))
    published = CensoredLikelihood(NORMALS, Censoring(form="interval", width=1, high=0.5))
    np.testing.assert_allclose(np.exp(published.log_probabilities(records)), 1 / 61)
    top = Censoring(form="interval", width=1, high=NORMALS.ceiling)
    for how in (top, censoring("own-peak", 1.0)):
        found = np.exp(CensoredLikelihood(NORMALS, how).log_probabilities(records))
        assert abs(found @ GRID - 1) < 0.15
        assert found @ (GRID - found @ GRID) ** 2 < 0.02


def test_weights_by_the_own_value_lean_to_the_middle_of_the_candidates():
    """4,000 records about 1, candidates about 0: by a quarter, at five times its own spread."""
    records = normal_records(np.random.default_rng(6).normal(1, 1, 4_000))
    how = (censoring(form, 1.0) for form in ("own-peak", "own-range"))
    peak, leaning = (
        np.exp(CensoredLikelihood(NORMALS, one).log_probabilities(records)) for one in how
    )
    assert abs(peak @ GRID - 1) < 0.05
    assert 0.6 < leaning @ GRID < 0.8
    assert leaning @ (GRID - leaning @ GRID) ** 2 < 0.05**2


def divergence(width, n, form="own-peak", epsilon=1.0):
    """Posterior mean of KL(truth ‖ θ), at most 5, for n records of N(1, 1); μ and σ unknown."""
    rng = np.random.default_rng(9)
    stddevs = np.exp(rng.uniform(np.log(0.2), np.log(5), 500))
    points = np.column_stack([rng.normal(0, 3, 500), stddevs])
    score = CensoredLikelihood(NormalRegression(points), censoring(form, width))
    found = score.log_probabilities(normal_records(rng.normal(1, 1, n)), power=epsilon / width)
    far = np.log(stddevs) + (1 + (1 - points[:, 0]) ** 2) / (2 * stddevs**2) - 0.5
    return np.exp(found) @ np.minimum(far, 5)


def test_at_equal_epsilon_a_wide_interval_learns_what_a_narrow_one_mistakes():
    """ε = 1. W = 1, the published choice, ends at a tiny σ; log(σ_max/σ_min) + 4 = 7.2 does not.
    Weights by the own value learn more slowly, and no width changes that."""
    right = np.log(5 / 0.2) + 4
    assert divergence(1.0, 200) > 4
    assert divergence(1.0, 2_000) > 4
    assert divergence(right, 200) < 0.15
    assert divergence(right, 2_000) < 0.03
    for form in ("own-weight", "own-range"):
        assert divergence(right, 2_000, form) > 5 * divergence(right, 200)
        assert divergence(right, 2_000, form) == pytest.approx(divergence(9.0, 2_000, form))


def test_the_own_peak_does_not_depend_on_the_unit():
    rng = np.random.default_rng(7)
    y, points = rng.normal(size=50), np.column_stack([rng.normal(size=20), rng.gamma(3, size=20)])
    found = [
        CensoredLikelihood(
            NormalRegression(unit * points), censoring("own-peak", 1.0)
        ).log_probabilities(normal_records(unit * y))
        for unit in (1.0, 1e4)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


# --- what is refused, and why --------------------------------------------------------------------


def test_weights_from_the_table_have_no_way_in():
    assert {one.name for one in fields(Censoring)} == {"form", "width", "high"}
    with pytest.raises(MethodError, match="censoring bounds nothing"):
        Censoring(form=np.ones(3), width=1.0)
    with pytest.raises(MethodError, match="Weights from the table"):
        Censoring(form="lipschitz", width=1.0)


def test_because_they_break_it():
    """Width 1, on [-1, 0], weights 1 - Δ̃ from the table: one record added moves a log density by
    5.50, where the theorem allows 1; one replaced by 5.36, where it allows 2. Each contribution is
    censored, but all of them move."""
    calm = np.array([0.5] * 50 + [1.0] * 50)
    how = Censoring(form="interval", width=1.0, high=0.0)

    def column_model(y, weighted):
        matrix = stats.norm.logpdf(y, GRID[:, None], 1.0)
        bounds = lipschitz_bounds(lambda: [matrix], level=1)
        alpha = vector_weights(bounds.by_record) if weighted else np.ones(len(y))
        scores = how.contributions(matrix * alpha).sum(axis=1) - GRID**2 / 18
        return scores - np.logaddexp.reduce(scores)

    def realised(other, weighted):
        return np.abs(column_model(calm, weighted) - column_model(other, weighted)).max()

    added, replaced = np.append(calm, 4.0), np.append(calm[:-1], 4.0)
    assert realised(added, weighted=True) == pytest.approx(5.5048, abs=1e-4)
    assert realised(replaced, weighted=True) == pytest.approx(5.3604, abs=1e-4)
    assert realised(added, weighted=False) <= 1
    assert realised(replaced, weighted=False) <= 2


def test_public_mistakes():
    for width in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(MethodError, match="width"):
            Censoring(form="own-peak", width=width)
    for form, high in (("interval", None), ("interval", np.inf), ("own-peak", 0.0)):
        with pytest.raises(MethodError, match="upper end"):
            Censoring(form=form, width=1.0, high=high)


def test_the_score_says_what_it_rests_on():
    score = score_of(DENSITIES, "own-peak", 2.5)
    assert score.bound == "a record's log-likelihood, censored to a width of 2.5"
    assert score.sensitivity("add_remove") == score.sensitivity("replace") == STEPS
    assert score.monotone
    np.testing.assert_array_equal(score.points, POINTS)
