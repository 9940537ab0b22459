"""Scores by rank: against their definition, and vectors that are never longer than they may be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.features.scores import LEAST_SPREAD, RANK_UNIT, REACH, RankScores, shorten_vectors

reproducible = settings(
    derandomize=True, deadline=None, max_examples=300 if NIGHT else 80, database=None
)
LARGEST = 2**20


def mid_ranks(masses, apart=()):
    """Of whole masses: the mean of the places of the records in a state, stretched to (−1, 1)."""
    records = [k for k, mass in enumerate(masses) for _ in range(mass) if k not in apart]
    n, found = len(records), []
    for k in range(len(masses)):
        own = [2 * Fraction(2 * place + 1, 2 * n) - 1 for place in range(n) if records[place] == k]
        before = sum(state < k for state in records)
        found.append(sum(own) / len(own) if own else 2 * Fraction(before, n) - 1)
    return [Fraction(0) if k in apart else rank for k, rank in enumerate(found)]


def slow(masses, apart=()):
    """Scores of the states of one column, by the definition."""
    ranks = mid_ranks(masses, apart)
    inside = [mass * (k not in apart) for k, mass in enumerate(masses)]
    squares = (mass * rank**2 for mass, rank in zip(inside, ranks, strict=True))
    spread = math.sqrt(sum(squares) / sum(inside))
    return [float(RANK_UNIT * rank) / max(spread, LEAST_SPREAD) for rank in ranks]


def scores_of(masses, apart=()):
    return np.array(RankScores.of({"x": masses}, {"x": apart}).tables["x"])


@pytest.mark.parametrize(
    ("masses", "apart"),
    [
        ([30, 40, 30], ()),
        ([1, 2, 3, 4, 5], ()),
        ([0, 7, 0, 0, 5, 1, 0], ()),
        ([10, 20, 30, 99], (3,)),
        ([10, 99, 20, 30, 7], (1, 4)),
        ([1000, 1, 1], ()),
        ([5], ()),
        ([3, 3], (1,)),
    ],
)
def test_scores_are_mid_ranks_over_their_deviation(masses, apart):
    """To the nearest unit; states apart have 0, and their records are nobody's neighbours."""
    found = RankScores.of({"x": [float(mass) for mass in masses]}, {"x": list(apart)}).tables["x"]
    assert all(type(score) is int for score in found)
    assert np.abs(np.array(found) - slow(masses, apart)).max() <= 0.5 + 1e-9
    assert all(found[k] == 0 for k in apart)


@reproducible
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=9).filter(any),
    st.sets(st.integers(0, 8)),
)
def test_scores_of_any_masses_are_those_of_the_definition(masses, apart):
    apart = sorted(k for k in apart if k < len(masses))
    found = scores_of(masses, apart)
    if not any(mass for k, mass in enumerate(masses) if k not in apart):
        assert not found.any()
        return
    assert np.abs(found - slow(masses, apart)).max() <= 0.5 + 1e-9
    inside = [score for k, score in enumerate(found.tolist()) if k not in apart]
    assert inside == sorted(inside)


@reproducible
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=40).filter(any), st.data())
def test_scores_have_mean_0_and_about_squared_length_1(masses, data):
    """By the masses. Each is rounded by half a unit at most; less than 1 where the spread is small,
    and never more. Without the division by the spread the length is about 1/3."""
    apart = data.draw(st.sets(st.integers(0, len(masses) - 1), max_size=2))
    own = np.array([mass * (k not in apart) for k, mass in enumerate(masses)], dtype=float)
    if not own.sum():
        return
    found = scores_of(masses, sorted(apart)) / RANK_UNIT
    shares = own / own.sum()
    mean, squares = found @ shares, found**2 @ shares
    assert abs(mean) <= 0.5 / RANK_UNIT + 1e-9
    assert math.sqrt(squares) <= 1 + 0.5 / RANK_UNIT + 1e-9
    spread = math.sqrt((2 * np.cumsum(shares) - shares - 1) ** 2 @ shares)
    if spread > LEAST_SPREAD:
        assert math.sqrt(squares) >= 1 - 0.5 / RANK_UNIT - 1e-9
    else:
        assert math.sqrt(squares) <= spread / LEAST_SPREAD + 0.5 / RANK_UNIT + 1e-9


def test_a_column_in_which_nearly_all_are_alike_counts_less():
    """Of 1,000 records 990 share a state: the deviation is .1, and counts as .25."""
    found = scores_of([990, 5, 5]) / RANK_UNIT
    squares = found**2 @ np.array([0.99, 0.005, 0.005])
    assert squares == pytest.approx((0.1 / 0.25) ** 2, abs=0.02)
    assert np.abs(found).max() <= 1 / LEAST_SPREAD


def test_no_score_is_more_than_4():
    """Ranks are from −1 to 1, and no deviation counts as less than a quarter."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        masses = rng.gamma(rng.choice([0.05, 1.0]), 100, rng.integers(1, 30))
        assert np.abs(scores_of(masses)).max() <= RANK_UNIT / LEAST_SPREAD


@pytest.mark.parametrize("masses", [[0.0, 0.0], [-3.0, -1.0, 0.0], [0.0], [-5.0, 8.0]])
def test_where_nobody_has_a_place_all_scores_are_0(masses):
    """Negative estimates count as nobody."""
    apart = [k for k, mass in enumerate(masses) if mass > 0]
    assert scores_of(masses, apart).tolist() == [0] * len(masses)


def test_negative_masses_count_as_0():
    assert scores_of([-9.0, 3.0, 5.0]).tolist() == scores_of([0.0, 3.0, 5.0]).tolist()


def test_only_shares_of_masses_matter_and_they_are_left_as_they_were():
    masses = np.array([3.0, -2.0, 5.0, 9.0])
    assert scores_of(masses, [3]).tolist() == scores_of(masses * 1e6, [3]).tolist()
    assert masses.tolist() == [3.0, -2.0, 5.0, 9.0]


@pytest.mark.parametrize("d", [1, 2, 3, 17, 100])
def test_the_longest_vector_that_counts(d):
    """The largest whole number that is not above d + `REACH`·√d squared units; d is usual."""
    scores = RankScores({f"x{k}": (0,) for k in range(d)})
    assert scores.columns == tuple(f"x{k}" for k in range(d))
    more = scores.most - d * RANK_UNIT**2
    assert more > 0
    assert more**2 <= REACH**2 * d * RANK_UNIT**4 < (more + 1) ** 2


numbers = st.integers(-LARGEST, LARGEST)


def squared_lengths(vectors):
    """Exactly."""
    return [sum(int(x) ** 2 for x in row) for row in vectors.tolist()]


@reproducible
@given(
    st.integers(1, 6).flatmap(
        lambda d: st.lists(
            st.lists(numbers | st.integers(-200, 200), min_size=d, max_size=d),
            min_size=1,
            max_size=8,
        )
    ),
    st.integers(0, 40),
    st.integers(0, 2**20),
)
def test_no_vector_is_longer_than_it_may_be(rows, power, offset):
    """And those that are not longer are as they were; what is left is whole, on the same side of
    0 as before and no further from it."""
    most, vectors = offset + 2**power, np.array(rows, dtype=float)
    before = vectors.copy()
    kept = shorten_vectors(vectors, most)
    assert np.array_equal(vectors, before)
    assert kept.shape == vectors.shape
    assert np.array_equal(kept, np.trunc(kept))
    for own, new, long, now in zip(
        vectors, kept, squared_lengths(vectors), squared_lengths(kept), strict=True
    ):
        assert now <= most
        if long <= most:
            assert np.array_equal(own, new)
        assert (own * new >= 0).all()
        assert (np.abs(new) <= np.abs(own)).all()


@reproducible
@given(st.lists(numbers, min_size=1, max_size=50).filter(any))
def test_vectors_at_the_border(row):
    """Exactly as long as may be, they are left; one squared unit more, and every number that is not
    0 loses one."""
    vectors = np.array([row], dtype=float)
    (squared,) = squared_lengths(vectors)
    assert np.array_equal(shorten_vectors(vectors, squared), vectors)
    assert np.array_equal(shorten_vectors(vectors, squared + 1), vectors)
    (one_less,) = shorten_vectors(vectors, squared - 1)
    assert squared_lengths(one_less[None])[0] <= squared - 1
    assert np.array_equal(one_less, vectors[0] - np.sign(vectors[0]))


@pytest.mark.parametrize("times", [2, 3, 7, 1000])
def test_multiples_of_the_longest_are_cut_to_it_or_just_below(times):
    """The quotient is rational, so a factor that is rounded up would pass the border."""
    rng = np.random.default_rng(times)
    longest = rng.integers(-1000, 1000, (500, 7)).astype(float)
    for row, most in zip(longest, squared_lengths(longest), strict=True):
        (kept,) = shorten_vectors(times * row[None], most)
        assert squared_lengths(kept[None])[0] <= most
        assert (np.abs(row) - np.abs(kept) <= 1).all()


@reproducible
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 2**40))
def test_vectors_keep_their_direction_up_to_a_unit(seed, d, most):
    """Each number is that of the vector of the length that is allowed, cut by less than 1."""
    rng = np.random.default_rng(seed)
    vectors = np.rint(rng.normal(0, 2.0 ** rng.integers(0, 18), (20, d)))
    kept = shorten_vectors(vectors, most)
    for own, new, squared in zip(vectors, kept, squared_lengths(vectors), strict=True):
        if squared > most:
            whole = own * math.sqrt(most / squared)
            assert (np.abs(whole - new) < 1 + 1e-5).all()
            assert math.sqrt(new @ new) >= math.sqrt(most) - math.sqrt(d) - 1e-3


def test_each_record_by_itself():
    """What becomes of a vector does not depend on which others stand beside it, nor on order."""
    rng = np.random.default_rng(3)
    vectors = np.rint(rng.normal(0, 90, (400, 9)) * rng.choice([0.5, 1, 40], (400, 1)))
    most = RankScores({f"x{k}": (0,) for k in range(9)}).most
    whole = shorten_vectors(vectors, most)
    assert 50 < (whole != vectors).any(axis=1).sum() < 350
    alone = np.concatenate([shorten_vectors(row[None], most) for row in vectors])
    order = rng.permutation(400)
    assert np.array_equal(whole, alone)
    assert np.array_equal(shorten_vectors(vectors[order], most), whole[order])
    assert np.array_equal(shorten_vectors(vectors[:150], most), whole[:150])
    assert np.array_equal(shorten_vectors(np.asfortranarray(vectors), most), whole)


def test_no_record_and_no_length():
    assert shorten_vectors(np.zeros((0, 3)), 5).shape == (0, 3)
    assert shorten_vectors(np.array([[3.0, -4.0], [0.0, 0.0]]), 0).tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
    ]
