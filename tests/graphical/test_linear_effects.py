"""How far columns go together is kept more firmly than single counts."""

import itertools

import numpy as np
import pytest

from understudy.graphical.estimation import (
    FEW_LEVELS,
    SHARE,
    LinearEffects,
    Observation,
    contrasts_of,
    effects_of,
    fit_max_entropy,
)
from understudy.graphical.factors import TreeLayout
from understudy.graphical.junction_tree import JunctionTree
from understudy.schema import Boolean, Categorical, Integer, Ordinal

LEVELS = ("a", "b", "c", "d", "e", "f")


def layout(sizes, *tables):
    return TreeLayout(JunctionTree.of(sizes, tables), tables)


def contrasts(*sizes):
    return {
        j: contrasts_of(Ordinal(kind="ordinal", levels=LEVELS[:n])) for j, n in enumerate(sizes)
    }


@pytest.mark.parametrize("size", [2, 3, 6])
def test_ordered_values_are_evenly_spaced(size):
    [scores] = contrasts_of(Ordinal(kind="ordinal", levels=LEVELS[:size]))
    np.testing.assert_allclose(np.diff(scores), np.diff(scores)[0])
    assert scores.sum() == pytest.approx(0)
    assert np.linalg.norm(scores) == pytest.approx(1)
    assert np.diff(scores)[0] > 0


@pytest.mark.parametrize("size", range(2, FEW_LEVELS + 1))
def test_levels_without_an_order_have_all_contrasts(size):
    found = contrasts_of(Categorical(kind="categorical", levels=LEVELS[:size]))
    np.testing.assert_allclose(found @ found.T, np.eye(size - 1), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)


def test_many_levels_one_level_and_absences_have_none():
    assert contrasts_of(Categorical(kind="categorical", levels=LEVELS)).shape == (0, 6)
    assert contrasts_of(Categorical(kind="categorical", levels=("a",))).shape == (0, 1)
    coded = Ordinal(kind="ordinal", levels=LEVELS[:3], missing=("", "x"))
    assert contrasts_of(coded).shape == (1, 5)
    assert (contrasts_of(coded)[0, 3:] == 0).all()
    assert contrasts_of(Boolean(kind="boolean")).shape == (1, 2)


def test_merged_states_are_spaced_by_their_groups():
    column = Integer(kind="integer", lower=0, upper=5, bins=6, missing=(9,))
    np.testing.assert_allclose(
        contrasts_of(column, (0, 0, 1, 1, 1, 2, 3)), [[-(0.5**0.5), 0, 0.5**0.5, 0]]
    )
    assert contrasts_of(column, (0,) * 6 + (1,)).shape == (0, 2)
    rare = Categorical(kind="categorical", levels=LEVELS)
    assert contrasts_of(rare, (0, 1, 2, 2, 2, 2)).shape == (2, 3)


def test_effects_are_products_of_contrasts():
    place = layout((3, 2, 4), (0, 1, 2))
    scores = contrasts(3, 2, 4)
    found = effects_of(place, (0, 1, 2), scores)
    a, b, c = (scores[j][0] for j in range(3))
    expected = [
        np.einsum(f"{x},{y},abc->abc", u, v, np.ones((3, 2, 4)))
        for (x, u), (y, v) in itertools.combinations(zip("abc", (a, b, c), strict=True), 2)
    ]
    np.testing.assert_allclose(found, expected)
    many = {0: contrasts_of(Categorical(kind="categorical", levels=LEVELS[:3]))}
    assert effects_of(place, (0, 1), many) == []
    assert len(effects_of(place, (0, 1), many | {1: scores[1]})) == 2
    both = {0: many[0], 2: contrasts_of(Categorical(kind="categorical", levels=LEVELS[:4]))}
    assert effects_of(place, (0, 2), both) == []  # none of both together


@pytest.mark.parametrize("seed", range(6))
def test_effects_get_a_part_of_their_variance_and_no_other_noise_changes(seed):
    """S as it is written, dense; and noise that has nothing to do with the effects is D's."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 5, 3).tolist())
    place = layout(sizes, (0, 1), (0, 1, 2))
    ends = [sizes[0] * sizes[1], sizes[0] * sizes[1] * (1 + sizes[2])]
    variance = rng.uniform(0.5, 2, ends[1])
    possible = rng.random(ends[1]) < 0.9
    effects = LinearEffects(place, variance, possible, contrasts(*sizes))
    kept = np.diag(variance)
    for pull, row in zip(kept, np.eye(ends[1]), strict=True):
        effects.take_off(pull, row)
    taken = np.diag(variance) - kept
    for table, cells in (((0, 1), slice(0, ends[0])), ((0, 1, 2), slice(*ends))):
        a = np.stack([place.flatten(e, table) for e in effects_of(place, table, contrasts(*sizes))])
        a, d = a * possible[cells], np.diag(variance[cells])
        # pinv: of few cells that can occur, some effects are made of others
        off = (1 - SHARE) * d @ a.T @ np.linalg.pinv(a @ d @ a.T, rcond=1e-9) @ a @ d
        np.testing.assert_allclose(taken[cells, cells], off, atol=1e-9)
        assert np.linalg.eigvalsh(d - off).min() > 0
        np.testing.assert_allclose(a @ (d - off) @ a.T, SHARE * a @ d @ a.T, atol=1e-9)
    assert (taken[: ends[0], ends[0] :] == 0).all()


def pair(strength, n=3_000, size=5):
    scores = np.linspace(-1, 1, size)
    weights = np.exp(strength * np.outer(scores, scores) - np.add.outer(scores**2, scores**2))
    return n * weights / weights.sum()


def slope(counts):
    scores = np.arange(len(counts), dtype=float)
    p = counts / counts.sum()
    a, b = p.sum(axis=1) @ scores, p.sum(axis=0) @ scores
    return (scores @ p @ scores - a * b) / (p.sum(axis=1) @ scores**2 - a**2)


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 0.02, 0.06), (SHARE, -0.01, 0.01)])
@pytest.mark.nightly(every=2)
def test_a_strong_slope_is_no_longer_too_small(share, least, most):
    """Mean shortfall in 60 noisy tables; bounds are two errors of that mean away, and more."""
    truth, rng, short = pair(3), np.random.default_rng(4), []
    margins = [((j,), truth.sum(axis=1 - j)) for j in range(2)]
    for _ in range(60):
        tables = [((0, 1), truth), *margins]
        seen = [Observation(c, t + rng.normal(0, 20, t.shape), 400.0) for c, t in tables]
        found = fit_max_entropy(
            (5, 5),
            seen,
            3_000,
            regularisation=0.1 / 20,
            contrasts=contrasts(5, 5),
            share=share,
            steps=500,
        )
        short.append(1 - slope(found.marginal((0, 1))) / slope(truth))
    error = np.std(short) / 60**0.5
    assert error < 0.006
    assert least < np.mean(short) < most


def test_a_fit_without_contrasts_is_as_before():
    noisy = pair(3) + np.random.default_rng(1).normal(0, 15, (5, 5))
    arguments = ((5, 5), [Observation((0, 1), noisy, 225.0)], 3_000)
    plain = fit_max_entropy(*arguments, regularisation=0.01)
    empty = fit_max_entropy(*arguments, regularisation=0.01, contrasts={0: np.zeros((0, 5))})
    np.testing.assert_array_equal(plain.marginal((0, 1)), empty.marginal((0, 1)))
