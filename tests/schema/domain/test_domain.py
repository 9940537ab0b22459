"""The domain against brute force: counting, recognising and drawing allowed cells."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from understudy.errors import SchemaError
from understudy.schema import Domain
from understudy.schema import domain as domain_module

reproducible = settings(derandomize=True, deadline=None)

# Chance that a correct draw fails one of the chi-square tests below; the seeds are fixed, so a
# test that passes once passes always.
FALSE_ALARM = 1e-6


@st.composite
def domains(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    boxes = []
    for _ in range(draw(st.integers(0, 4))):
        columns = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
        boxes.append(
            {
                j: frozenset(draw(st.sets(st.integers(0, sizes[j] - 1), min_size=1)))
                for j in sorted(columns)
            }
        )
    return Domain(sizes, tuple(boxes))


def is_forbidden(domain, cell):
    """The definition, word for word."""
    return any(all(cell[j] in states for j, states in box.items()) for box in domain.boxes)


def allowed_cells(domain):
    cells = itertools.product(*(range(size) for size in domain.sizes))
    return [cell for cell in cells if not is_forbidden(domain, cell)]


@reproducible
@given(domains())
def test_counts_and_masks_agree_with_brute_force(domain):
    allowed = set(allowed_cells(domain))
    assert domain.n_cells == math.prod(domain.sizes)
    assert domain.n_allowed == len(allowed)
    mask = domain.allowed_mask()
    assert mask.shape == domain.sizes
    assert {tuple(cell) for cell in np.argwhere(mask).tolist()} == allowed
    codes = domain.allowed_codes
    assert codes.tolist() == sorted(np.ravel_multi_index(cell, domain.sizes) for cell in allowed)
    assert not codes.flags.writeable  # it is kept, and shared by all who ask


@reproducible
@given(domains())
def test_cells_by_number_are_the_allowed_ones_in_order(domain):
    allowed = allowed_cells(domain)
    found = domain.cells(np.arange(len(allowed), dtype=np.int64))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == allowed


def test_cells_by_number_are_exact_beyond_what_floats_can_tell_apart():
    """2⁶² − 2⁵² + … cells: the last numbers differ by less than a rounding error of theirs."""
    domain = Domain((2,) * 62, ({0: frozenset({1}), 5: frozenset({0}), 61: frozenset({1})},))
    last = domain.n_allowed - 1
    found = np.array(domain.cells(np.array([0, 1, last - 1, last])))
    assert found.T.tolist() == [
        [0] * 62,
        [0] * 61 + [1],
        [1] * 61 + [0],
        [1] * 62,
    ]
    middle = np.array(domain.cells(np.array([2**61 - 1, 2**61])))  # the last with 0 in front …
    assert middle.T.tolist() == [[0] + [1] * 61, [1] + [0] * 61]


@reproducible
@given(domains())
def test_forbidden_agrees_with_brute_force_and_skips_out_of_domain(domain):
    cells = list(itertools.product(*(range(size + 1) for size in domain.sizes)))
    columns = [np.array(column, dtype=np.uint8) for column in zip(*cells, strict=True)]
    assert domain.find_forbidden(columns).tolist() == [is_forbidden(domain, cell) for cell in cells]


@reproducible
@given(domains(), st.randoms(use_true_random=False))
def test_projection_keeps_the_rules_that_fit(domain, random):
    columns = random.sample(range(len(domain.sizes)), random.randint(1, len(domain.sizes)))
    part = domain.project(columns)
    assert part.sizes == tuple(domain.sizes[j] for j in columns)
    kept = [box for box in domain.boxes if set(box) <= set(columns)]
    for cell in itertools.product(*(range(size) for size in part.sizes)):
        full = dict(zip(columns, cell, strict=True))
        expected = any(all(full[j] in states for j, states in box.items()) for box in kept)
        assert is_forbidden(part, cell) == expected


@settings(reproducible, max_examples=60)
@given(domains(), st.integers(0, 2**32 - 1), st.booleans())
def test_draws_are_allowed_and_of_positive_weight(domain, seed, weighted):
    random = np.random.default_rng(seed)
    allowed = allowed_cells(domain)
    weights = [random.integers(0, 3, size).astype(float) for size in domain.sizes]
    if not allowed:
        with pytest.raises(ValueError, match="forbid every cell"):
            domain.draw(5, random.random)
        return
    drawn = domain.draw(50, random.random, weights if weighted else None)
    cells = set(zip(*(column.tolist() for column in drawn), strict=True))
    assert cells <= set(allowed)
    if weighted:
        mass = cell_masses(domain, allowed, weights)
        assert not mass.any() or all(mass[allowed.index(cell)] > 0 for cell in cells)


RULES = Domain(
    (3, 4, 2, 3),
    (
        {0: frozenset({0}), 1: frozenset({1, 2})},
        {1: frozenset({0, 1}), 3: frozenset({2})},
        {0: frozenset({1, 2}), 2: frozenset({0}), 3: frozenset({0})},
    ),
)
WEIGHTS = [
    np.array([1.0, 2.0, 0.5]),
    np.array([3.0, 0.0, 1.0, 1.0]),
    np.array([1.0, 4.0]),
    np.array([0.2, 0.3, 0.5]),
]


def cell_masses(domain, cells, weights):
    return np.array(
        [math.prod(weights[j][state] for j, state in enumerate(cell)) for cell in cells]
    )


def chi_square_p(domain, drawn, expected):
    """p-value of draws against expected shares of the allowed cells."""
    cells = allowed_cells(domain)
    place = {cell: k for k, cell in enumerate(cells)}
    keys = [place[cell] for cell in zip(*(c.tolist() for c in drawn), strict=True)]
    counts = np.bincount(keys, minlength=len(cells))
    used = expected > 0
    assert not counts[~used].any()
    wanted = expected[used] / expected.sum() * counts.sum()
    statistic = ((counts[used] - wanted) ** 2 / wanted).sum()
    return chi2.sf(statistic, used.sum() - 1)


def test_uniform_draws_have_the_uniform_law():
    drawn = RULES.draw(40_000, np.random.default_rng(1).random)
    expected = np.ones(len(allowed_cells(RULES)))
    assert chi_square_p(RULES, drawn, expected) > FALSE_ALARM


def test_weighted_draws_have_the_product_law_on_allowed_cells():
    drawn = RULES.draw(40_000, np.random.default_rng(2).random, WEIGHTS)
    expected = cell_masses(RULES, allowed_cells(RULES), WEIGHTS)
    assert chi_square_p(RULES, drawn, expected) > FALSE_ALARM


def test_the_chi_square_test_would_notice_ten_per_cent_too_much_in_one_state():
    bent = [WEIGHTS[0], WEIGHTS[1], np.array([1.0, 4.4]), WEIGHTS[3]]
    drawn = RULES.draw(400_000, np.random.default_rng(3).random, bent)
    expected = cell_masses(RULES, allowed_cells(RULES), WEIGHTS)
    assert chi_square_p(RULES, drawn, expected) < FALSE_ALARM


def test_weights_that_leave_nothing_fall_back_to_uniform():
    domain = Domain((2, 2), ({0: frozenset({0}), 1: frozenset({0})},))
    weights = [np.array([1.0, 0.0]), np.array([1.0, 0.0])]  # only the forbidden cell
    drawn = domain.draw(30_000, np.random.default_rng(4).random, weights)
    assert chi_square_p(domain, drawn, np.ones(3)) > FALSE_ALARM


def test_no_uniform_number_leads_to_a_state_of_no_weight():
    domain = Domain((4,))
    weights = [np.array([0.0, 0.7, 0.1, 0.0])]
    for u in (0.0, 5e-324, 0.5, 1 - 2**-53):
        drawn = domain.draw(1, lambda n, u=u: np.full(n, u), weights)
        assert drawn[0][0] in (1, 2)


def inclusion_exclusion(domain):
    """Allowed cells by summing over all sets of rules; exponential in the rules, not in cells."""
    total = 0
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(domain.boxes, k) for k in range(len(domain.boxes) + 1)
    ):
        product = 1
        for j, size in enumerate(domain.sizes):
            states = set(range(size))
            for box in chosen:
                states &= box.get(j, states)
            product *= len(states)
        total += (-1) ** len(chosen) * product
    return total


def test_a_huge_domain_is_counted_exactly():
    random = np.random.default_rng(5)
    boxes = []
    for _ in range(8):
        columns = sorted(random.choice(20, size=random.integers(2, 4), replace=False).tolist())
        boxes.append(
            {
                j: frozenset(random.choice(1000, size=random.integers(1, 900)).tolist())
                for j in columns
            }
        )
    domain = Domain((1000,) * 20, tuple(boxes))
    assert domain.n_cells == 1000**20
    assert domain.n_allowed == inclusion_exclusion(domain)
    drawn = domain.draw(2000, random.random)
    assert not domain.find_forbidden(drawn).any()


def test_many_separate_rules_stay_cheap():
    boxes = tuple({2 * k: frozenset({0}), 2 * k + 1: frozenset({0})} for k in range(40))
    assert Domain((3,) * 80, boxes).n_allowed == 8**40


def test_many_rules_on_one_column_stay_cheap():
    boxes = tuple({0: frozenset({0, 1}), k: frozenset({1})} for k in range(1, 41))
    assert Domain((4,) + (2,) * 40, boxes).n_allowed == 2 + 2 * 2**40


def test_rules_that_interlock_too_much_are_refused(monkeypatch):
    monkeypatch.setattr(domain_module, "MAX_LIVE_SETS", 100)
    boxes = tuple({k: frozenset({0}), 10 + k: frozenset({0})} for k in range(10))
    with pytest.raises(SchemaError, match="interlock"):
        _ = Domain((2,) * 20, boxes).n_allowed


@reproducible
@given(domains(), st.integers(0, 2**32 - 1))
def test_raked_weights_have_the_shares_of_records_that_the_rules_allow(domain, seed):
    """Shares of any allowed records can be had, so they are met; brute force says which these are.

    Shares of few records may have zeros, beside which sweeps come nearer without end.
    """
    mask = domain.allowed_mask()
    if not mask.any():
        return
    rng = np.random.default_rng(seed)
    joint = np.where(mask, rng.exponential(size=domain.sizes), 0.0)
    axes = range(len(domain.sizes))
    shares = [joint.sum(axis=tuple(k for k in axes if k != j)) / joint.sum() for j in axes]
    weights = domain.rake(shares)
    product = np.where(mask, 1.0, 0.0)
    for j, weight in enumerate(weights):
        product = product * weight.reshape([-1 if k == j else 1 for k in axes])
    product /= product.sum()
    for j, share in enumerate(shares):
        found = product.sum(axis=tuple(k for k in axes if k != j))
        assert found == pytest.approx(share, abs=0.01)


def test_raked_weights_are_the_shares_where_no_record_is_allowed():
    domain = Domain((2, 2), ({0: frozenset({0, 1}), 1: frozenset({0})},))
    weights = domain.rake([np.array([1.0, 3.0]), np.array([1.0, 0.0])])
    assert [weight.tolist() for weight in weights] == [[0.25, 0.75], [1.0, 0.0]]
