"""SPECKS on all pairs of columns: the fast search against dense Newton, and how exact it is."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from understudy.evaluate.comparison import Comparison, distinct
from understudy.evaluate.propensity import specks
from understudy_studies.measures import pairwise_logistic
from understudy_studies.measures.indicator_layout import Layout
from understudy_studies.measures.pairwise_logistic import (
    TOLERANCE,
    Memory,
    Search,
    distance,
    fitted_scores,
    pairwise_specks,
)

TIGHT = 1e-9


def dense_specks(comparison, k):
    """The same model written out: indicators of all rows, their products, Newton to the end."""
    one, other = comparison.original, comparison.sets[k]
    rows = [np.concatenate(pair) for pair in zip(one, other, strict=True)]
    synthetic = np.arange(len(rows[0])) >= len(one[0])
    blocks = []
    for j, codes in enumerate(rows):
        reference = np.bincount(comparison.original[j]).argmax()
        seen = np.unique(np.concatenate([comparison.original[j], *(s[j] for s in comparison.sets)]))
        blocks.append([codes == state for state in seen if state != reference])
    columns = [np.ones(len(synthetic)), *itertools.chain(*blocks)]
    for first, second in itertools.combinations(blocks, 2):
        columns += [a & b for a in first for b in second]
    x = np.stack(columns, axis=1).astype(float)
    penalty = np.full(x.shape[1], 0.01)
    penalty[0] = 1e-8
    beta = np.zeros(x.shape[1])
    for _ in range(200):
        mean = expit(x @ beta)
        gradient = x.T @ (synthetic - mean) - penalty * beta
        information = (x * (mean * (1 - mean))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(information, gradient)
        beta = beta + step * min(1.0, 2 / np.abs(step).max())
        if gradient @ step < 1e-12:
            break
    return specks(np.round(x @ beta, 9), synthetic)


@pytest.mark.parametrize(("n", "seed"), [(60, 0), (400, 1), (1500, 2)])
def test_the_fast_search_is_the_dense_one(compare, n, seed):
    comparison = compare(n, sets=2, seed=seed)
    found = pairwise_specks(comparison, tolerance=TIGHT)
    for k in range(2):
        assert found[k] == pytest.approx(dense_specks(comparison, k), abs=1e-6)


def separated(compare, n, share):
    """Sets of which a share of the rows have columns shuffled, so that pairs tell them."""
    comparison = compare(n, sets=5)
    rng = np.random.default_rng(3)
    sets = []
    for one in comparison.sets:
        shuffled = rng.random(len(one[0])) < share
        sets.append([np.where(shuffled, rng.permutation(c), c).astype(c.dtype) for c in one])
    return comparison.with_sets(sets)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.nightly(every=3)
def test_the_default_tolerance_fixes_the_distance_to_a_thousandth(compare, share):
    """Against a search to the end, each set on its own and from nothing."""
    comparison = separated(compare, 20_000, share)
    quick = pairwise_specks(comparison)
    alone = [comparison.with_sets([one]) for one in comparison.sets]
    exact = [pairwise_specks(one, tolerance=TIGHT)[0] for one in alone]
    assert quick == pytest.approx(exact, abs=1e-3)
    assert max(quick) < 0.06 if share == 0 else min(quick) > 0.1


def test_a_search_may_begin_where_another_release_ended(compare):
    """The maximum is one: at a tight tolerance nothing changes, at the default a thousandth."""
    releases = [separated(compare, 3_000, share) for share in (0.3, 0.5)]
    for tolerance, most in ((TIGHT, 1e-6), (TOLERANCE, 1e-3)):
        memory = Memory()
        for one in releases:
            kept = pairwise_specks(one, tolerance=tolerance, memory=memory)
            assert kept == pytest.approx(pairwise_specks(one, tolerance=tolerance), abs=most)
    assert memory.state is not None


def test_what_other_indicators_had_is_not_gone_on_with(compare):
    """A set that has a level more, or one less, is searched from nothing."""
    memory = Memory()
    one = compare(300)
    pairwise_specks(one, memory=memory)
    fewer = [np.zeros_like(one.original[0]), *one.original[1:]]
    other = Comparison(one.schema, fewer, (fewer,))
    assert pairwise_specks(other, memory=memory) == (0.0,)
    assert memory.numbers == Layout.of(other).numbers


def test_where_everything_tells_the_distance_is_one(compare):
    comparison = compare(300, sets=1)
    other = [np.full_like(codes, k) for k, codes in enumerate(comparison.sets[0])]
    comparison = comparison.with_sets([other])
    original = np.stack(comparison.original)
    assert not (original == np.stack(other)[:, :1]).all(axis=0).any()
    assert pairwise_specks(comparison)[0] > 0.99


def test_a_copy_cannot_be_told(compare):
    comparison = compare(500)
    assert pairwise_specks(comparison.with_sets([comparison.original])) == (0.0,)


def test_the_order_of_rows_does_not_matter(compare):
    comparison = compare(700, sets=1)
    order = np.random.default_rng(0).permutation(700)
    shuffled = comparison.with_sets([[codes[order] for codes in comparison.sets[0]]])
    assert pairwise_specks(shuffled) == pairwise_specks(comparison)


def test_weighted_distance_is_that_of_all_rows():
    rng = np.random.default_rng(5)
    for _ in range(50):
        scores = tuple(rng.integers(0, 6, size) / 5 for size in rng.integers(1, 8, 2))
        counts = tuple(rng.integers(1, 4, len(one)) for one in scores)
        rows = [np.repeat(s, c) for s, c in zip(scores, counts, strict=True)]
        label = np.repeat([False, True], [len(one) for one in rows])
        assert distance(scores, counts) == pytest.approx(specks(np.concatenate(rows), label))


def test_gradient_and_information_are_derivatives(compare):
    comparison = compare(80, sets=1)
    layout = Layout.of(comparison)
    tables = (layout.grouped(comparison.original), layout.grouped(comparison.sets[0]))
    search = Search(layout, tables)
    rng = np.random.default_rng(1)
    beta = rng.normal(0, 0.3, layout.n_parameters)
    gradient = search._gradient(search.scores(beta), beta)
    factor, _ = search._factor(search.scores(beta))
    upper = np.triu(factor)
    information = upper.T @ upper
    for _ in range(5):
        way = rng.normal(size=len(beta))
        ahead, behind = (beta + sign * 1e-5 * way for sign in (1, -1))
        values = [search._value(search.scores(one), one) for one in (ahead, behind)]
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(gradient @ way, rel=1e-5)
        gradients = [search._gradient(search.scores(one), one) for one in (ahead, behind)]
        change = (gradients[0] - gradients[1]) / 2e-5
        assert np.allclose(change, -information @ way, rtol=1e-4, atol=1e-5)


def test_the_layout_has_a_parameter_for_each_pair_of_indicators(compare):
    comparison = compare(3000, sets=1)
    states = [
        len(np.union1d(a, b)) for a, b in zip(comparison.original, comparison.sets[0], strict=True)
    ]
    free = [n - 1 for n in states]
    expected = 1 + sum(free) + sum(a * b for a, b in itertools.combinations(free, 2))
    assert Layout.of(comparison).n_parameters == expected


def test_scores_tell_log_odds(compare):
    """At the maximum the fitted probabilities add up to the number of synthetic rows."""
    comparison = compare(400, n_synthetic=600, sets=1)
    ((scores, counts),) = fitted_scores(comparison, tolerance=TIGHT)
    total = sum(float(c @ expit(s)) for s, c in zip(scores, counts, strict=True))
    assert total == pytest.approx(600, abs=1e-3)


def test_distinct_rows_are_counted_whatever_the_number_of_columns():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 3, 400) * 400 for _ in range(9)]
    first, counts = distinct(rows, [1001] * 9)  # 10²⁷ cells
    slow, expected = np.unique(np.stack(rows, axis=1), axis=0, return_counts=True)
    found = np.stack(rows, axis=1)[first]
    order = np.lexsort(found.T[::-1])
    assert np.array_equal(found[order], slow)
    assert np.array_equal(counts[order], expected)


def test_data_frames_are_coded_like_rows(schema, compare):
    from understudy.release.decoding import decode

    comparison = compare(50, sets=2)
    rng = np.random.default_rng(0)
    inside = [np.minimum(c, s - 1) for c, s in zip(comparison.original, schema.sizes, strict=True)]
    frame = decode(inside, schema, rng)
    coded = Comparison.of(schema, frame, [frame.reverse()])
    assert all(np.array_equal(a, b) for a, b in zip(coded.original, inside, strict=True))
    assert all(np.array_equal(a, b[::-1]) for a, b in zip(coded.sets[0], inside, strict=True))


def test_the_prior_hardly_matters(compare, monkeypatch):
    comparison = separated(compare, 4000, 0.3)
    found = pairwise_specks(comparison)
    monkeypatch.setattr(pairwise_logistic, "PRIOR_SD", 100.0)
    assert pairwise_specks(comparison) == pytest.approx(found, abs=2e-3)
