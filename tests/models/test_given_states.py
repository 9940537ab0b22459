"""Models given states: what they draw is what they would draw among records that fit."""

import numpy as np
import pytest

from understudy.graphical.conditioning import condition_on
from understudy.models.model import PooledFits
from understudy.models.tables import ProductModel, TableModel
from understudy.schema import Domain

DOMAIN = Domain((3, 4, 2), ({0: frozenset({0}), 1: frozenset({1, 2})},))
EVIDENCE = {0: np.array([True, True, False]), 1: np.array([True, False, True, True])}


def counts(sample):
    table = np.zeros(DOMAIN.sizes)
    np.add.at(table, tuple(sample.states), 1)
    return table


def fits(table):
    for j, mask in EVIDENCE.items():
        table = table * mask.reshape([-1 if i == j else 1 for i in range(3)])
    return table


def product():
    rng = np.random.default_rng(1)
    return ProductModel(DOMAIN, tuple(rng.random(size) for size in DOMAIN.sizes))


def full():
    rng = np.random.default_rng(2)
    codes = DOMAIN.allowed_codes
    return TableModel(DOMAIN, codes, rng.random(len(codes)))


@pytest.mark.parametrize("made", [product, full])
def test_records_are_those_that_fit(made):
    """The two samples differ by chance; χ² < df + 6·√(2·df) but for a false alarm below 1e-6."""
    model = made()
    narrowed = condition_on(model, EVIDENCE)
    some = counts(narrowed.sample(20_000, np.random.default_rng(3)))
    assert some.sum() == fits(some).sum() == 20_000
    others = fits(counts(model.sample(80_000, np.random.default_rng(4))))
    known = (some + others) > 0
    together = (some + others) / (some.sum() + others.sum())
    expected = [one.sum() * together for one in (some, others)]
    statistic = sum(
        ((one - wanted)[known] ** 2 / wanted[known]).sum()
        for one, wanted in zip((some, others), expected, strict=True)
    )
    freedom = known.sum() - 1
    assert statistic < freedom + 6 * np.sqrt(2 * freedom)


def test_evidence_without_weight_is_told():
    weights = (np.array([1.0, 0, 0]), np.array([1.0, 1, 0, 0]), np.ones(2))
    model = ProductModel(DOMAIN, weights)
    assert condition_on(model, {0: np.array([False, True, True])}) is None
    assert condition_on(model, {1: np.array([False, True, False, False])}) is None, (
        "forbidden beside it"
    )
    code = np.array([7], dtype=np.int64)
    table = TableModel(DOMAIN, code, np.ones(1))
    assert condition_on(table, {2: np.array([True, False])}) is None


def test_a_product_without_weight_is_even_among_what_fits():
    model = ProductModel(DOMAIN, tuple(np.zeros(size) for size in DOMAIN.sizes))
    found = counts(condition_on(model, EVIDENCE).sample(8_000, np.random.default_rng(1)))
    assert found.sum() == fits(found).sum()
    assert set(np.flatnonzero(found)) == set(np.flatnonzero(fits(DOMAIN.allowed_mask() * 1.0)))


def test_models_that_cannot_be_told_draw_as_before():
    pooled = PooledFits((full(), full()))
    assert condition_on(pooled, EVIDENCE) is pooled
    even = TableModel(DOMAIN, np.array([0]), np.zeros(1))
    assert condition_on(even, EVIDENCE) is even
    assert condition_on(pooled, {}) is pooled
