"""pMSE and SPECKS: worked examples, slow obvious forms, and their nulls by simulation."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.tree import DecisionTreeClassifier

from night import NIGHT
from understudy.evaluate.propensity import (
    main_design,
    pmse,
    sd_of_mean,
    simulated_null,
    specks,
    stack_sets,
)
from understudy.evaluate.robust_regression import Logistic


def test_the_worked_example_of_a_tree_of_depth_one():
    """Snoke & Slavković (2018): X = {0, 0, 1}, Z = {0, 1, 1} have pMSE 1/36."""
    x = np.array([[0], [0], [1], [0], [1], [1]])
    label = np.arange(6) >= 3
    tree = DecisionTreeClassifier(max_depth=1).fit(x, label)
    assert pmse(tree.predict_proba(x)[:, 1], 0.5) == pytest.approx(0.027778, abs=1e-6)
    assert specks(tree.predict_proba(x)[:, 1], label) == pytest.approx(1 / 3)


def test_perfect_propensities_give_the_largest_scores():
    label = np.arange(10) >= 6
    assert pmse(label.astype(float), 0.4) == pytest.approx(0.4 * 0.6)
    assert specks(label.astype(float), label) == 1
    assert specks(np.full(10, 0.4), label) == 0


@pytest.mark.parametrize("seed", range(5))
def test_specks_takes_ties_jointly(seed):
    rng = np.random.default_rng(seed)
    p, label = rng.integers(0, 6, 50) / 6, rng.random(50) < 0.4
    slow = max(abs((p[label] <= t).mean() - (p[~label] <= t).mean()) for t in p)
    assert specks(p, label) == pytest.approx(slow)


def test_the_fit_is_that_of_statsmodels(compare):
    comparison = compare(300, 500, sets=1)
    (stack,), _ = stack_sets(comparison)
    design = main_design(stack.rows, comparison.columns)
    model = Logistic(design)
    slow = sm.Logit(stack.synthetic.astype(float), design.toarray()).fit(disp=0).predict()
    assert model.rank == design.shape[1] == np.linalg.matrix_rank(design.toarray())
    np.testing.assert_allclose(model.fit(stack.synthetic), slow, atol=1e-4)
    many = model.fit_many(np.stack([stack.synthetic, ~~stack.synthetic], axis=1))
    np.testing.assert_allclose(many[:, 0], slow, atol=1e-5)
    np.testing.assert_array_equal(many[:, 0], many[:, 1])


def test_columns_that_follow_from_others_do_not_count(compare):
    comparison = compare(300, sets=1)
    twice = [*comparison.original, comparison.original[1]]
    design = main_design(twice, [*comparison.columns, comparison.columns[1]])
    single = main_design(comparison.original, comparison.columns)
    assert Logistic(design).rank == Logistic(single).rank < design.shape[1]


@pytest.mark.statistical
@pytest.mark.parametrize("n_synthetic", [400, 800])
@pytest.mark.nightly(every=2)
def test_the_null_of_logistic_pmse(n_synthetic, compare):
    """Mean over pairs of tables, 80 by day, 4 standard errors: false alarm below 1e-4. A bootstrap
    copy, as from a model that was fitted to the original, is told apart: for it the null is 1 - c
    times.
    """
    fresh, copied, pairs = [], [], 200 if NIGHT else 80
    for seed in range(pairs):
        comparison = compare(400, n_synthetic, sets=1, seed=seed)
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 400, n_synthetic)
        copy = comparison.with_sets([[c[rows] for c in comparison.original]])
        for found, one in ((fresh, comparison), (copied, copy)):
            (stack,), _ = stack_sets(one)
            model = Logistic(main_design(stack.rows, one.columns))
            null = simulated_null(model.rank, 400, n_synthetic)
            found.append((pmse(model.fit(stack.synthetic), stack.share) - null.mean) / null.sd)
    # The large-sample mean is a little too small at this size (2 % or so): 0.1 sd are allowed.
    assert abs(np.mean(fresh)) < 0.1 + 4 / np.sqrt(pairs)
    assert 0.8 < np.std(fresh) < 1.25
    assert np.mean(copied) < -1


def test_the_mean_over_sets_that_share_the_original_varies_as_stated():
    """Logistic pMSE on one normal column is a squared difference of means, nearly: 4,000
    repetitions, tolerance 8 % (about 4 standard errors of a ratio of such standard deviations)."""
    rng = np.random.default_rng(3)
    original = rng.normal(size=(4000, 1)) / np.sqrt(100)
    sets = rng.normal(size=(4000, 5)) / np.sqrt(200)
    scores = (sets - original) ** 2
    share = 200 / 300
    assert scores.mean(axis=1).std() == pytest.approx(
        sd_of_mean(scores[:, 0].std(), share, 5), rel=0.08
    )


@pytest.mark.nightly
def test_kolmogorov_smirnov_distances_follow_the_same_law_nearly():
    """2,000 repetitions; ratios of standard deviations are off by 2 % or so by chance."""
    rng = np.random.default_rng(4)
    label = np.arange(450) >= 150
    scores = []
    for _ in range(2000):
        original = rng.normal(size=150)
        sets = rng.normal(size=(3, 300))
        scores.append([specks(np.concatenate([original, one]), label) for one in sets])
    values = np.array(scores)
    expected = sd_of_mean(values[:, 0].std(), 2 / 3, 3)
    assert values.mean(axis=1).std() == pytest.approx(expected, rel=0.07)
