"""Estimates from noisy counts: unbiased, and their variance exact.

Two oracles: dense linear algebra over the full table, written out cell by cell from the labels of
the schema, and simulation of the very law of the noise.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import understudy as us
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.contributions import cell_scores, edge_variance, sum_by
from understudy.inference.counts import estimate_counts, ratios
from understudy.inference.noisy_tables import NoisyCounts, marginal, pooled_table
from understudy.inference.quantiles import count_quantiles
from understudy.inference.question import parse
from understudy.inference.records import grid_numbers
from understudy.release.decoding import decode

TABLE = ("sex", "age", "job", "edu")
STDDEV = 3.7


def cells(schema, columns):
    """Every cell as a dictionary of state numbers, in the order of the counts."""
    sizes = [range(schema.columns[name].size) for name in columns]
    return [dict(zip(columns, states, strict=True)) for states in itertools.product(*sizes)]


def is_allowed(schema, cell):
    """The one structural zero, by its labels: nobody under 18 has a job."""
    labels = {name: schema.columns[name].labels[state] for name, state in cell.items()}
    return not (labels.get("age") == "0 to 17" and labels.get("job") in {"worker", "boss"})


@pytest.fixture
def counts(schema):
    rng = np.random.default_rng(5)
    allowed = [is_allowed(schema, cell) for cell in cells(schema, TABLE)]
    return np.where(allowed, rng.integers(-3, 60, len(allowed)), 0)


def middle(low, high):
    return (low + high) / 2


AGE = [middle(0, 17), middle(18, 64), middle(65, 99)]
# Estimand → for each quantity: weight of a cell in the numerator, and in the denominator.
WRITTEN_OUT = {
    ("proportion", "job"): [
        (lambda c, j=j: c["job"] == j, lambda c: c["job"] < 3) for j in range(3)
    ],
    ("mean", "edu"): [(lambda c: [9, 12, 16][c["edu"]], lambda c: True)],
    ("mean", "age ~ sex"): [
        (
            lambda c, s=s: AGE[c["age"]] * (c["sex"] == s) if c["age"] < 3 else 0,
            lambda c, s=s: c["sex"] == s and c["age"] < 3,
        )
        for s in range(2)
    ],
    ("table", "sex + job"): [
        (lambda c, s=s, j=j: c["sex"] == s and c["job"] == j, lambda c: c["job"] < 3)
        for s in range(2)
        for j in range(3)
    ],
    ("proportion", "age >= 18"): [(lambda c: c["age"] in {1, 2}, lambda c: c["age"] < 3)],
    ("proportion", "job ~ sex"): [
        (
            lambda c, s=s, j=j: c["sex"] == s and c["job"] == j,
            lambda c, s=s: c["sex"] == s and c["job"] < 3,
        )
        for s in range(2)
        for j in range(3)
    ],
}


@pytest.mark.parametrize(("kind", "formula"), WRITTEN_OUT)
def test_equals_dense_linear_algebra(schema, measured, counts, kind, formula):
    table = measured(TABLE, counts, STDDEV)
    counted = estimate_counts(parse(kind, formula, schema), [table], schema)
    every = cells(schema, TABLE)
    w, d = (
        np.array([[quantity[k](cell) for cell in every] for quantity in WRITTEN_OUT[kind, formula]])
        for k in range(2)
    )
    r = (w @ counts) / (d @ counts)
    slope = (w - r[:, None] * d) / (d @ counts)[:, None]
    noise = STDDEV**2 * np.diag([float(is_allowed(schema, cell)) for cell in every])
    found = counted.pooled
    np.testing.assert_allclose(found.estimate, r, rtol=1e-10)
    variance = np.diag(found.covariance) * found.synthesis_share
    assert found.bias.any() == (formula == "age ~ sex")
    if not found.bias.any():
        np.testing.assert_allclose(variance, np.diag(slope @ noise @ slope.T), rtol=1e-10)
    # The whole covariance: what is left after the noise is the multinomial sampling covariance.
    scores = cell_scores(parse(kind, formula, schema), schema)
    columns = parse(kind, formula, schema).columns
    parts = ratios(marginal(table, columns, schema), scores)
    np.testing.assert_allclose(parts.noise, slope @ noise @ slope.T, rtol=1e-9, atol=1e-15)
    whole = parts.noise + parts.sampling
    if found.bias.any():  # the largest variance that places within bins can give
        assert (np.diag(found.covariance) >= np.diag(whole)).all()
        np.fill_diagonal(whole, np.diag(found.covariance))
    np.testing.assert_allclose(whole, found.covariance, rtol=1e-12)
    if kind != "mean":
        sizes = d @ counts
        shared = np.array([[(a == b).all() for b in d] for a in d])
        multinomial = (np.diag(r) - np.outer(r, r)) / (sizes - 1) * shared
        np.testing.assert_allclose(parts.sampling, multinomial, rtol=1e-9, atol=1e-15)


def test_totals_equal_sums_and_their_noise(schema, measured, counts):
    table = measured(TABLE, counts, STDDEV)
    every = cells(schema, TABLE)
    found = estimate_counts(parse("total", "job", schema), [table], schema).pooled
    for j in range(3):
        chosen = [cell["job"] == j for cell in every]
        n_noisy = sum(is_allowed(schema, cell) for cell in itertools.compress(every, chosen))
        assert found.estimate[j] == counts[chosen].sum()
        assert found.covariance[j, j] == pytest.approx(STDDEV**2 * n_noisy)
    assert (found.synthesis_share == 1).all()


def test_absent_values_are_left_out_and_counted(schema, measured, counts):
    table = measured(TABLE, counts, STDDEV)
    counted = estimate_counts(parse("mean", "age ~ job", schema), [table], schema)
    every = cells(schema, TABLE)
    absent = [cell["age"] == 3 or cell["job"] == 3 for cell in every]
    assert counted.dropped == counts[absent].sum()
    n_noisy = sum(is_allowed(schema, cell) for cell in itertools.compress(every, absent))
    assert counted.dropped_noise == pytest.approx(STDDEV * np.sqrt(n_noisy))


def test_negative_shares_are_kept(schema, measured):
    counts = np.zeros((2, 4))
    counts[0, 0], counts[1, 2] = 100, -5
    table = measured(("sex", "job"), counts, 2.0)
    found = estimate_counts(parse("proportion", "job", schema), [table], schema).pooled
    assert found.estimate[2] == pytest.approx(-5 / 95)
    own = edge_variance(np.array(95.0))  # p(1 - p) is negative; a share of 3.84 records stands in
    assert found.covariance[2, 2] * (1 - found.synthesis_share[2]) == pytest.approx(own)
    assert found.interval()[0][2] < -5 / 95


def test_a_group_without_records_has_no_estimate(schema, measured):
    table = measured(("sex", "edu"), [[50, 40, 30], [0, -2, 1]], 2.0)
    found = estimate_counts(parse("mean", "edu ~ sex", schema), [table], schema).pooled
    assert np.isfinite(found.estimate[0])
    assert np.isnan(found.estimate[1])
    assert "no records for edu | sex[m]" in found.notes[0]


def test_a_group_that_is_small_beside_its_noise_is_named(schema, measured):
    table = measured(("sex", "edu"), [[50, 40, 30], [5, 2, 3]], 4.0)
    found = estimate_counts(parse("mean", "edu ~ sex", schema), [table], schema).pooled
    assert "only rough" in found.notes[0]
    assert "sex[m]" in found.notes[0]
    assert "sex[f]" not in found.notes[0]


def test_unbiased_with_exact_variance_under_the_law_of_the_noise(schema, measured, counts):
    """20,000 draws of discrete Laplace noise; 6 standard errors, a false alarm in 10⁸."""
    truth = 20.0 * np.maximum(counts, 0)
    distribution = DiscreteLaplace(Fraction(3))
    table = measured(TABLE, truth, distribution.stddev)
    n = 20_000
    noise = distribution.sample(n * truth.size, SeededRandomness(3)).reshape(n, -1)
    allowed = [is_allowed(schema, cell) for cell in cells(schema, TABLE)]
    for kind, formula in [("mean", "age ~ sex"), ("table", "sex + job"), ("proportion", "job")]:
        estimand = parse(kind, formula, schema)
        scores = cell_scores(estimand, schema)
        drawn = marginal(table, estimand.columns, schema, counts=truth + noise * allowed)
        found = ratios(drawn, scores)
        exact = ratios(marginal(table, estimand.columns, schema), scores)
        spread = np.sqrt(exact.total_noise)
        z = (found.totals.mean(axis=0) - exact.totals) / (spread / np.sqrt(n) + 1e-300)
        assert np.abs(z).max() < 6
        # The variance of a sum of Laplace variables is known to about √(5/n) relative to itself.
        np.testing.assert_allclose(found.totals.var(axis=0), exact.total_noise, rtol=6 * 0.016)
        errors = np.sqrt(np.diagonal(exact.noise))
        assert (np.abs(found.estimate.mean(axis=0) - exact.estimate) < 6 * errors / n**0.5).all()
        np.testing.assert_allclose(found.estimate.var(axis=0), errors**2, rtol=6 * 0.016)


def test_repetitions_equal_single_estimates(schema, measured, counts):
    table = measured(TABLE, counts, STDDEV)
    estimand = parse("proportion", "job ~ sex", schema)
    scores = cell_scores(estimand, schema)
    stacked = np.stack([counts, counts + 7, 2 * counts]).astype(float)
    many = ratios(marginal(table, estimand.columns, schema, counts=stacked), scores)
    for k, one in enumerate(stacked):
        alone = ratios(marginal(table, estimand.columns, schema, counts=one), scores)
        for part in ("totals", "sizes", "estimate", "noise", "sampling"):
            np.testing.assert_allclose(getattr(many, part)[k], getattr(alone, part))


def test_marginals_do_not_depend_on_the_order_of_columns(schema, measured, counts):
    table = measured(TABLE, counts, STDDEV)
    shaped = counts.reshape([schema.columns[name].size for name in TABLE])
    turned = measured(TABLE[::-1], shaped.transpose(3, 2, 1, 0), STDDEV)
    for columns in [("job", "sex"), ("age",), TABLE]:
        one, other = (marginal(m, columns, schema) for m in (table, turned))
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.variances, other.variances)


def test_tables_are_pooled_by_inverse_variance(schema, measured, counts):
    full = measured(TABLE, counts, STDDEV)
    small = measured(("job",), [500, 400, 100, 20], 2.0)
    elsewhere = measured(("sex",), [500, 400], 0.1)
    found = estimate_counts(parse("total", "job", schema), [full, small, elsewhere], schema).pooled
    wide = marginal(full, ("job",), schema)
    weights = 1 / wide.variances, np.full(4, 1 / 2.0**2)
    expected = (weights[0] * wide.counts + weights[1] * small.counts) / sum(weights)
    np.testing.assert_allclose(found.estimate, expected[:3])
    np.testing.assert_allclose(np.diag(found.covariance), (1 / sum(weights))[:3])
    assert found.sets == 2


def test_counts_without_noise_outweigh_noisy_ones():
    noisy = NoisyCounts(np.array([10.0, 0.0]), np.array([4.0, 0.0]))
    exact = NoisyCounts(np.array([12.0, 0.0]), np.array([0.0, 0.0]))
    found = pooled_table([noisy, exact, exact])
    assert found.counts.tolist() == [12, 0]
    assert found.variances.tolist() == [0, 0]


def test_numbers_that_stand_for_a_bin_are_those_that_are_drawn(schema):
    rng = np.random.default_rng(1)
    for name in ("age", "income"):
        column, place = schema.columns[name], schema.names.index(name)
        for state in range(column.n_ordinary):
            states = [np.zeros(20_000, dtype=int) for _ in schema.names]
            states[place][:] = state
            drawn = decode(states, schema, rng).get_column(name).to_numpy()
            points = grid_numbers(column, state, 64)
            error = max(drawn.std() / np.sqrt(len(drawn)), 1e-12)
            assert abs(points.mean() - drawn.mean()) < 6 * error + 0.002 * np.ptp(drawn)
            assert abs(points.std() - drawn.std()) < 0.03 * drawn.std() + 1e-12


def test_an_expression_must_be_computed_record_by_record(schema):
    for expression in ("age - age.mean()", "center(income)", "age / age.max()"):
        with pytest.raises(InferenceError, match="depends on the other records"):
            cell_scores(parse("mean", expression, schema), schema)


def test_a_condition_that_cuts_a_bin_takes_its_share_of_it():
    schema = us.Schema.loads(
        '[columns.x]\nkind = "continuous"\nlower = 0\nupper = 8\nbins = 2\n[columns.y]\n'
        'kind = "boolean"'
    )
    scores = cell_scores(parse("proportion", "x > 1", schema), schema)
    assert scores.value.tolist() == [0.75, 1]


@pytest.mark.parametrize("n", [10, 50, 200, 5_000])
def test_intervals_of_rare_shares_cover(n):
    """Exact binomial probabilities, no noise: where none or few of n records have a trait.

    With p(1 - p)/(n - 1) alone nothing is covered where no record has it: for one expected record
    that is 37 % of the time.
    """
    x = np.arange(n + 1)
    share = x / n
    own = share * (1 - share) / (n - 1)
    reach = 1.96 * np.sqrt(np.maximum(own, edge_variance(np.full(n + 1, float(n)))))
    for expected in np.linspace(0.05, 4, 40):
        distribution = stats.binom.pmf(x, n, expected / n)
        assert distribution @ (np.abs(share - expected / n) <= reach) > 0.93
    short = 1.96 * np.sqrt(own)
    assert stats.binom.pmf(x, n, 1 / n) @ (np.abs(share - 1 / n) <= short) < 0.7


def test_the_same_table_twice_is_one_with_half_the_noise_variance(schema, measured, counts):
    asked = parse("quantile", "age", schema)
    twice = count_quantiles(asked, [measured(TABLE, counts, STDDEV)] * 2, schema)
    once = count_quantiles(asked, [measured(TABLE, counts, STDDEV / np.sqrt(2))], schema)
    np.testing.assert_allclose(twice.pooled.estimate, once.pooled.estimate)
    np.testing.assert_allclose(twice.pooled.interval(0.95), once.pooled.interval(0.95))


def test_sums_of_one_table_are_those_of_many_to_the_last_bit():
    rng = np.random.default_rng(3)
    counts, weights = rng.normal(0, 1e3, (4, 500)), rng.normal(size=500)
    index = rng.integers(0, 9, 500)
    together = sum_by(counts, index, weights, 10)
    each = np.stack([sum_by(own, index, weights, 10) for own in counts])
    assert each.dtype == together.dtype == np.float64
    assert each.tobytes() == together.tobytes()
    assert not each[:, 9].any()
