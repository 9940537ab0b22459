"""Layers with records out of domain: least squares of the whole, and the closed forms."""

import numpy as np
import pytest

from understudy.models.spine import Hierarchy
from understudy.papers.hierarchical_tree import NoisyLayer, consistent

TREE = Hierarchy((np.array([0]), np.array([0, 0]), np.array([0, 0, 1, 1])))


def layers(rng, lead=()):
    return [
        NoisyLayer(rng.normal(9, 3, (*lead, k)), rng.normal(2, 3, lead), variance)
        for k, variance in ((2, 4.0), (4, 9.0))
    ]


def test_everything_is_weighed_by_its_variance():
    """Against dense least squares over the four leaves and the number out of domain."""
    one, two = layers(np.random.default_rng(0))
    design = np.array(
        [
            [1, 1, 1, 1, 1],
            [1, 1, 0, 0, 0],
            [0, 0, 1, 1, 0],
            [0, 0, 0, 0, 1],
            *np.eye(5),
        ],
        dtype=float,
    )
    noisy = np.array([40, *one.counts, one.outside, *two.counts, two.outside])
    root = 1 / np.sqrt([2.0, 4, 4, 4, 9, 9, 9, 9, 9])
    best = np.linalg.lstsq(design * root[:, None], noisy * root, rcond=None)[0]
    found = consistent(TREE, [one, two], 40, 2.0)
    np.testing.assert_allclose(found[2], best[:4], atol=1e-10)
    np.testing.assert_allclose(found[1], [best[0] + best[1], best[2] + best[3]], atol=1e-10)
    np.testing.assert_allclose(found[0], [best[:4].sum()], atol=1e-10)


def test_sums_of_leaves_weigh_as_the_leaves_would():
    """With the sums of leaves in their place, inner layers are the same."""
    rng = np.random.default_rng(1)
    one, two = layers(rng)
    full = consistent(TREE, [one, two], 40, 0.0)
    sums = NoisyLayer(two.counts.reshape(2, 2).sum(axis=1), two.outside, two.variance, [2, 2])
    inner = Hierarchy((TREE.parents[0], TREE.parents[1], np.array([0, 1])))
    short = consistent(inner, [one, sums], 40, 0.0)
    np.testing.assert_allclose(full[1], short[1], atol=1e-10)


@pytest.mark.parametrize("how", ["gls", "hay", "paper_phantom"])
def test_leading_axes_are_repetitions(how):
    rng = np.random.default_rng(2)
    several, totals = layers(rng, (3,)), np.array([40.0, 50, 60])
    together = consistent(TREE, several, totals, 0.0, how)
    for k in range(3):
        alone = [NoisyLayer(a.counts[k], a.outside[k], a.variance) for a in several]
        for a, b in zip(together, consistent(TREE, alone, totals[k], 0.0, how), strict=True):
            np.testing.assert_allclose(a[k], b)


@pytest.mark.parametrize("how", ["hay", "paper_phantom"])
def test_closed_forms_take_the_mean_number_out_of_domain(how):
    one = [
        NoisyLayer(np.array([10, 20]), 3.0, 1.0),
        NoisyLayer(np.array([4, 5, 9, 12]), 7.0, 1.0),
    ]
    assert consistent(TREE, one, 40, 0.0, how)[0].tolist() == [35]


@pytest.mark.parametrize("how", ["gls", "hay", "paper_phantom"])
def test_a_lone_root_is_the_number_of_rows(how):
    assert consistent(Hierarchy((np.array([0]),)), [], 40, 0.0, how)[0].tolist() == [40]
