"""Estimates from urns: unbiased, with the variance that repetitions show, and measured coverage.

`pytest -s` prints the measured coverage.
"""

import sys
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import column
from understudy.dp.calibration import calibrate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import Urns, urn_ratios, urns_of
from understudy.inference.question import parse
from understudy.mechanisms.urn import draw_urn, prior_weight
from understudy.schema import Schema

pytestmark = pytest.mark.statistical

COLUMNS = (
    column("sex", "categorical", levels=["f", "m"])
    + column("job", "ordinal", levels=["a", "b", "c"], missing=["?"])
    + column("kids", "integer", lower=0, upper=2)
    + """[[forbidden]]
where = { sex = "f", kids = { lower = 2, upper = 2 } }
reviewed = true
"""
)
PUBLIC = Schema.loads('rows = "public"\nn_rows = 1000\n' + COLUMNS)
PRIVATE = Schema.loads(COLUMNS)
N, K = 1_000, 20  # of 24 cells, 4 are forbidden
ALLOWED = PUBLIC.domain.allowed_mask()
WEIGHTS = np.indices((2, 4, 3)).sum(axis=0) + 1.0
POPULATION = np.where(ALLOWED, WEIGHTS * np.array([6, 3, 1, 0.4])[:, None], 0).reshape(-1)
POPULATION /= POPULATION.sum()
ESTIMANDS = [
    ("proportion", "sex"),
    ("proportion", "job ~ sex"),
    ("mean", "kids ~ sex"),
    ("table", "sex + kids"),
    ("total", "job"),
]


def cells_of(drawn):
    """Cells of the full table: listed are all allowed ones, in order."""
    return np.flatnonzero(ALLOWED)[np.where(drawn < 0, ~drawn, drawn)]


def marginal(counts, columns):
    """Counts of the full table, shape (24,), summed to a marginal."""
    others = tuple(j for j, name in enumerate(PUBLIC.names) if name not in columns)
    lead = counts.shape[:-1]
    shaped = counts.reshape(-1, 2, 4, 3).sum(axis=tuple(1 + j for j in others))
    return shaped.reshape(*lead, -1).astype(float)


def urns(columns, epsilon, *, sets=1, reinforced=True, n_rows=N, rows_variance=0.0):
    prior = prior_weight(n_rows, epsilon / sets, reinforced=reinforced)
    behind = marginal(ALLOWED.reshape(-1), columns)
    return Urns(float(prior), behind, n_rows, rows_variance, sets, reinforced), prior


def synthetic(tables, prior, n_rows, reinforced, source):
    """Mean counts of the full table over sets, (repetitions, sets, 24) → (repetitions, 24)."""
    reps, sets = tables.shape[:2]
    real = tables.reshape(-1, 24)[:, ALLOWED.reshape(-1)]
    drawn = cells_of(draw_urn(real, K, prior, n_rows, reinforced=reinforced, randomness=source))
    flat = (np.arange(len(drawn))[:, None] * 24 + drawn).reshape(-1)
    counts = np.bincount(flat, minlength=24 * len(drawn)).reshape(reps, sets, 24)
    return counts.mean(axis=1)


@cache
def repeated(prior, reps, sets, reinforced):
    """One table, and mean counts over sets that are drawn from it anew in each repetition: they
    depend on no estimand."""
    table = np.random.default_rng(1).multinomial(N, POPULATION)
    tables = np.broadcast_to(table, (reps, sets, 24))
    return table, synthetic(tables, prior, N, reinforced, SeededRandomness(2))


@pytest.mark.parametrize("reinforced", [True, False])
@pytest.mark.parametrize(("kind", "formula"), ESTIMANDS)
@pytest.mark.nightly(every=10)
def test_estimates_are_unbiased_and_vary_as_stated(kind, formula, reinforced):
    """5,000 repetitions of two sets from one and the same table. False alarm: a mean leaves 5
    deviations (below 1e-6 each), a variance 10 % (5 deviations), or 16 % by day. ε is such that
    the prior leaves the sizes of groups firm, as the delta method needs."""
    reps, sets, epsilon = 5_000 if NIGHT else 2_000, 2, Fraction(10 if reinforced else 60)
    most = 5 * np.sqrt(2 / reps)
    estimand = parse(kind, formula, PUBLIC)
    scores = cell_scores(estimand, PUBLIC)
    known, prior = urns(estimand.columns, epsilon, sets=sets, reinforced=reinforced)
    table, counts = repeated(prior, reps, sets, reinforced)
    # The law of the marginal follows from that of the full table; so do sums of estimates.
    expected = N * (table + float(prior) * ALLOWED.reshape(-1)) / (N + K * float(prior))
    exact, totals = urn_ratios(marginal(expected, estimand.columns), known, scores)
    noise = totals if kind == "total" else exact.noise
    ratios, _ = urn_ratios(marginal(counts, estimand.columns), known, scores)
    found = ratios.totals if kind == "total" else ratios.estimate
    spread = np.cov(found.T)
    np.testing.assert_allclose(np.diag(spread), np.diag(noise), rtol=most, atol=1e-15)
    unit = np.sqrt(np.diag(noise)) + (np.diag(noise) == 0)  # impossible: no error at all
    np.testing.assert_allclose(
        spread / unit / unit[:, None], noise / unit / unit[:, None], atol=most
    )
    truth = exact.totals if kind == "total" else exact.estimate
    assert (np.abs(found.mean(axis=0) - truth) <= 5 * np.sqrt(np.diag(noise) / reps)).all()
    if kind == "total":
        by_hand = marginal(table, estimand.columns)[scores.quantity >= 0]
        np.testing.assert_allclose(truth, by_hand[: len(truth)])


@pytest.mark.parametrize("rows", ["public", "private"])
@pytest.mark.parametrize("reinforced", [True, False])
@pytest.mark.nightly(every=4)
def test_coverage_from_records_of_urns(rows, reinforced):
    """1,500 samples, each with two sets at ε = 12 in all; false alarm below 10⁻³.

    Naive intervals take the first set for the real table. Private numbers of rows are bought for
    5 % of ε. Intervals of conditional shares and means lean on the delta method.
    """
    reps, sets, epsilon = 1_500, 2, Fraction(12)
    rng = np.random.default_rng(3)
    tables = rng.multinomial(N, POPULATION, size=reps)
    n_rows, variance = np.full(reps, N), 0.0
    if rows == "private":
        distribution = calibrate(
            "geometric", spend=epsilon / 20, accounting="pure", neighbours="add_remove"
        )
        n_rows, variance = (
            N + distribution.sample(reps, SeededRandomness(4)),
            distribution.stddev**2,
        )
        epsilon = epsilon * 19 / 20
    source = SeededRandomness(5)
    lines = [
        "",
        f"coverage of 95 % intervals, {rows} rows, {'' if reinforced else 'not '}reinforced",
    ]
    counts = np.empty((reps, 24))
    priors = {}
    for n in np.unique(n_rows):
        same = np.flatnonzero(n_rows == n)
        priors[n] = urns((), epsilon, sets=sets, reinforced=reinforced, n_rows=int(n))[1]
        repeated = np.repeat(tables[same][:, None], sets, axis=1)
        counts[same] = synthetic(repeated, priors[n], int(n), reinforced, source)
    prior = np.array([float(priors[n]) for n in n_rows])
    for kind, formula in ESTIMANDS[:4]:
        estimand = parse(kind, formula, PUBLIC)
        scores = cell_scores(estimand, PUBLIC)
        behind = marginal(ALLOWED.reshape(-1), estimand.columns)
        y = marginal(counts, estimand.columns)
        known = Urns(prior, behind, n_rows, variance, sets, reinforced)
        plain = Urns(np.array(0.0), behind, n_rows, 0.0, 1, reinforced=False)
        truth = urn_ratios(N * marginal(POPULATION, estimand.columns), plain, scores)[0].estimate[0]
        found, naive = urn_ratios(y, known, scores)[0], urn_ratios(y, plain, scores)[0]
        spread = np.diagonal(found.noise + found.sampling, axis1=1, axis2=2) ** 0.5
        short = np.diagonal(naive.sampling, axis1=1, axis2=2) ** 0.5
        hit = (np.abs(found.estimate - truth) <= 1.96 * spread).mean(axis=0)
        miss = (np.abs(naive.estimate - truth) <= 1.96 * short).mean(axis=0)
        lines.append(f"{kind:10} {formula:12} {hit.round(3)} | naive {miss.round(3)}")
        possible = truth > 0  # an impossible combination is estimated without any error
        assert ((hit >= 0.925) & (hit <= 0.975))[possible].all(), lines
        assert miss[possible].min() < 0.9
    sys.stdout.write("\n".join(lines) + "\n")


def people(counts):
    places = np.unravel_index(np.repeat(np.arange(24), counts), (2, 4, 3))
    levels = (["f", "m"], ["a", "b", "c", "?"], [0, 1, 2])
    columns = zip(PUBLIC.names, levels, places, strict=True)
    return pl.DataFrame({name: np.array(level)[at] for name, level, at in columns})


def release(schema=PUBLIC, method="dirichlet", epsilon=12, sets=2, seed=1):
    table = np.random.default_rng(seed).multinomial(N, POPULATION)
    return us.synthesize(
        people(table),
        schema,
        epsilon=epsilon,
        method=method,
        sets=sets,
        insecure_noise_seed=seed,
    )


@pytest.mark.parametrize("method", ["dirichlet", "dp-prior"])
@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.nightly(every=4)
def test_a_release_is_analysed_by_the_law_of_its_urns(method, sets, tmp_path):
    made = release(method=method, sets=sets)
    found = us.analyze(made, "proportion", "sex")
    prior = float(prior_weight(N, Fraction(12, sets), reinforced=method == "dirichlet"))
    women = np.mean([(one["sex"] == "f").mean() for one in made.tables])
    by_hand = (women * (N + K * prior) - 8 * prior) / N  # 8 of the 20 cells are women's
    np.testing.assert_allclose(found.pooled.estimate, [by_hand, 1 - by_hand], rtol=1e-9)
    q = 1 - women
    f = (N + N + K * prior) / (1 + N + K * prior) if method == "dirichlet" else 1
    noise = ((N + K * prior) / N) ** 2 * f * women * q / (N * sets)
    variance = by_hand * (1 - by_hand) / (N - 1) + noise
    np.testing.assert_allclose(found.pooled.stderr**2, variance, rtol=0.003)
    assert (found.valid, found.pooled.rule, found.pooled.sets) == (True, "noise-aware", sets)
    assert "by the distribution they were drawn from" in found.title
    assert any("outside the schema's domain" in note for note in found.notes)
    made.save(tmp_path / "release")
    again = us.analyze(tmp_path / "release", "proportion", "sex")
    assert again.to_json() == found.to_json()


def test_one_repetition_is_what_analyze_gives():
    made = release(PRIVATE)
    for kind, formula in ESTIMANDS:
        estimand = parse(kind, formula, PRIVATE)
        known = urns_of(made, estimand.columns)
        counts = np.zeros((2, 24))
        for k, table in enumerate(made.tables):
            states = [
                table["sex"].to_physical().to_numpy(),
                ["abc?".index(job) for job in table["job"].to_list()],
                table["kids"].to_numpy(),
            ]
            np.add.at(counts[k], np.ravel_multi_index(states, (2, 4, 3)), 1)
        assert counts.sum() == 2 * made.manifest.n_rows
        parts, totals = urn_ratios(
            marginal(counts.mean(axis=0), estimand.columns), known, cell_scores(estimand, PRIVATE)
        )
        found = us.analyze(made, kind, formula)
        total = kind == "total"
        np.testing.assert_allclose(found.pooled.estimate, parts.totals if total else parts.estimate)
        covariance = totals if total else parts.noise + parts.sampling
        np.testing.assert_allclose(found.pooled.covariance, covariance, atol=1e-15)
        assert found.valid


def test_absent_values_are_left_out_and_counted():
    found = us.analyze(release(epsilon=30), "proportion", "job")
    real = np.random.default_rng(1).multinomial(N, POPULATION).reshape(2, 4, 3).sum(axis=(0, 2))
    np.testing.assert_allclose(found.pooled.estimate, real[:3] / real[:3].sum(), atol=0.08)
    assert found.dropped[0] == pytest.approx(real[3], abs=40)


def test_the_noise_in_a_bought_number_of_rows_is_known():
    distribution = calibrate(
        "geometric", spend=Fraction(12, 20), accounting="pure", neighbours="add_remove"
    )
    assert urns_of(release(PRIVATE), ("sex",)).rows_variance == distribution.stddev**2
    assert urns_of(release(), ("sex",)).rows_variance == 0


def test_models_need_records_that_the_prior_does_not_misplace():
    with pytest.raises(InferenceError, match="misplaced"):
        us.analyze(release(epsilon=1, sets=3), "ols", "kids ~ sex")


def test_a_release_without_records_says_so():
    empty = Schema.loads('rows = "public"\nn_rows = 0\n' + COLUMNS)
    made = us.synthesize(people(np.zeros(24, int)), empty, epsilon=1, method="dp-prior", sets=2)
    with pytest.raises(InferenceError):
        us.analyze(made, "mean", "kids")
