"""The exponential mechanism: its law, its feasible candidates, and the ε that it really spends."""

import math
from fractions import Fraction as F
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.dp.randomness import SeededRandomness
from understudy.graphical.junction_tree import TreeLimit
from understudy.mechanisms.selection import (
    LATTICE_BITS,
    first_within,
    lattice_gaps,
    select,
    selection_rate,
    zcdp_cost,
)

# A correct sampler fails one chi-square test with probability 1e-6; seeds are fixed.
LEVEL = 1e-6
SCORES = np.array([1.25, -0.5, 3.1, 2.9, 0.0, 3.0])


def probabilities(scores, *, epsilon, sensitivity, monotone, feasible=None):
    """The law after rounding to the lattice, from the gaps that the sampler uses."""
    rate = selection_rate(epsilon, monotone=monotone)
    exponents = [float(-rate * int(gap)) for gap in lattice_gaps(scores, sensitivity)]
    weights = np.exp(exponents)
    if feasible is not None:
        weights *= feasible
    return weights / weights.sum()


def frequencies(n, source, scores, **options):
    drawn = [select(scores, source=source, **options) for _ in range(n)]
    return np.bincount(drawn, minlength=scores.size)


ODD = np.arange(6) % 2 == 1


@pytest.mark.parametrize(
    ("monotone", "feasible", "epsilon"),
    [(False, None, F(2)), (True, None, F(1, 2)), (False, ODD, F(1, 2)), (True, ODD, F(2))],
)
def test_winners_follow_the_exponential_mechanism(monotone, feasible, epsilon):
    options = {"epsilon": epsilon, "sensitivity": F(3, 2), "monotone": monotone}
    expected = probabilities(SCORES, feasible=feasible, **options)
    ideal = np.exp(float(epsilon / F(3, 2)) / (1 if monotone else 2) * SCORES)
    ideal *= 1 if feasible is None else np.arange(6) % 2
    assert expected == pytest.approx(ideal / ideal.sum(), rel=1e-5)
    seen = frequencies(2500, SeededRandomness(1), SCORES, feasible=feasible, **options)
    alive = expected > 0
    assert seen[~alive].sum() == 0
    assert chisquare(seen[alive], 2500 * expected[alive]).pvalue > LEVEL


@pytest.mark.parametrize("wrong", [F(7, 10), F(13, 10)])
def test_the_same_test_rejects_another_epsilon(wrong):
    options = {"sensitivity": F(1), "monotone": True, "feasible": np.arange(6) < 4}
    seen = frequencies(2500, SeededRandomness(2), SCORES, epsilon=wrong, **options)
    expected = probabilities(SCORES, epsilon=F(1), **options)
    assert chisquare(seen[:4], 2500 * expected[:4]).pvalue < LEVEL


def law_of_a_walk(weights, feasible):
    """What a walk past infeasible candidates does, order by order: the slow form, exactly."""
    found = [F(0)] * len(weights)

    def walk(left, so_far):
        total = sum(weights[i] for i in left)
        for i in left:
            chance = so_far * weights[i] / total
            if feasible[i]:
                found[i] += chance
            else:
                walk([j for j in left if j != i], chance)

    walk(list(range(len(weights))), F(1))
    return found


@pytest.mark.parametrize("feasible", list(product([False, True], repeat=5))[1:])
def test_a_mask_has_the_very_law_of_a_walk_past_infeasible_candidates(feasible):
    """In fractions, over all orders of five candidates, for each of the 31 feasible sets."""
    weights = [F(1), F(1, 3), F(7, 2), F(1, 100), F(2)]
    alone = sum(w for w, allowed in zip(weights, feasible, strict=True) if allowed)
    masked = [w / alone if allowed else F(0) for w, allowed in zip(weights, feasible, strict=True)]
    assert law_of_a_walk(weights, feasible) == masked


PAIRS = ((0, 1), (1, 2), (0, 2), (2,), (0, 1, 2))
LIMIT = TreeLimit((2, 3, 4), ((0, 1), (1, 2)), 20.0)


def test_a_limit_is_followed_by_a_walk_with_the_same_law():
    """Every order in which `first_within` can draw, and with which probability it does."""
    weights = [F(1), F(1, 3), F(7, 2), F(1, 100), F(2)]
    found, paths = [F(0)] * 5, [((), F(1))]
    while paths:
        path, chance = paths.pop()
        ahead = list(path)

        def draw(left, ahead=ahead, path=path, chance=chance):
            if ahead:
                place = ahead.pop(0)
                assert left[place]
                return place
            total = sum(weights[i] for i in np.flatnonzero(left))
            paths.extend(((*path, i), chance * weights[i] / total) for i in np.flatnonzero(left))
            raise StopIteration

        try:
            found[first_within(LIMIT, PAIRS, draw)] += chance
        except StopIteration:
            continue
    allowed = [LIMIT.allows(one) for one in PAIRS]
    assert allowed == [True, True, False, True, False]
    assert found == law_of_a_walk(weights, allowed)


def test_a_mask_of_all_draws_the_same_as_none():
    """Seeded choices stay what they were wherever all candidates are feasible."""
    options = {"epsilon": F(1), "sensitivity": F(1), "monotone": False}
    for seed in range(50):
        plain = select(SCORES, feasible=None, source=SeededRandomness(seed), **options)
        masked = np.ones(6, dtype=np.bool_)
        assert select(SCORES, feasible=masked, source=SeededRandomness(seed), **options) == plain


@pytest.mark.parametrize("feasible", [np.zeros(6, bool), np.ones(5, bool), np.ones((6, 1), bool)])
def test_a_mask_that_leaves_nothing_or_does_not_fit_is_refused(feasible):
    options = {"epsilon": F(1), "sensitivity": F(1), "monotone": False}
    with pytest.raises(ValueError, match="expected"):
        select(SCORES, feasible=feasible, source=SeededRandomness(5), **options)


def test_many_candidates_of_which_the_best_are_infeasible():
    scores = np.random.default_rng(6).normal(size=100_000) * 50
    feasible = np.ones(scores.size, dtype=np.bool_)
    feasible[np.argsort(-scores)[:5000]] = False
    options = {"epsilon": F(8), "sensitivity": F(1), "monotone": True}
    winner = select(scores, feasible=feasible, source=SeededRandomness(6), **options)
    assert feasible[winner]
    assert scores[winner] > np.sort(scores)[-5100]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused_without_showing_any(bad):
    options = {"epsilon": F(1), "sensitivity": F(1), "monotone": False, "feasible": None}
    with pytest.raises(ValueError, match="finite scores") as caught:
        select(np.array([17.25, bad]), source=SeededRandomness(1), **options)
    assert "17" not in str(caught.value)
    assert "nan" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"epsilon": F(0)}, {"epsilon": F(-1)}, {"sensitivity": F(0)}, {"scores": [[1.0]]}]
)
def test_arguments_out_of_range_are_refused(change):
    arguments = {"scores": [1.0], "epsilon": F(1), "sensitivity": F(1), **change}
    scores = np.array(arguments.pop("scores"))
    with pytest.raises(ValueError, match="expected"):
        select(scores, monotone=True, feasible=None, source=SeededRandomness(1), **arguments)


def test_huge_scores_and_tiny_or_huge_epsilon_are_safe():
    source = SeededRandomness(7)
    scores = np.array([1e308, -1e308, 0.0])
    options = {"sensitivity": F(1, 10**6), "monotone": False, "feasible": None, "source": source}
    for epsilon in (F(1, 10**30), F(1, 10**9), F(1), F(10**6), F(10**30)):
        assert select(scores, epsilon=epsilon, **options) in (0, 1, 2)
    assert select(scores, epsilon=F(1), **options) == 0


@pytest.mark.parametrize("monotone", [False, True])
def test_the_rate_never_exceeds_what_is_paid_for_and_fits_64_bits(monotone):
    unit = (1 if monotone else 2) * (2**LATTICE_BITS + 1)
    generator = np.random.default_rng(8)
    for exponent in range(-60, 61):
        epsilon = F(int(generator.integers(2**61, 2**62)), 2**61 - 1) * F(2) ** exponent
        rate = selection_rate(epsilon, monotone=monotone)
        assert rate * unit <= epsilon
        assert rate.numerator <= 2**11
        assert rate.denominator <= 2**61
        if -8 <= exponent <= 4:
            assert rate * unit >= epsilon * (1 - F(1, 10**6))
    assert selection_rate(F(1), monotone=monotone) == F(1, unit)


@pytest.mark.parametrize("sensitivity", [F(1), F(2, 7), F(10**9, 3)])
def test_rounded_scores_of_neighbours_differ_by_no_more_than_stated(sensitivity):
    """Scores at the full distance Δ, at every size up to the clip, against the stated 2ᵏ + 1."""
    generator = np.random.default_rng(9)
    base = generator.normal(size=4000) * float(sensitivity) * 2.0 ** generator.integers(0, 31, 4000)
    for sign in (1, -1):
        moved = base + sign * float(sensitivity) * (1 - 2.0**-50)
        anchored = [np.append(scores, 2.0**62 * float(sensitivity)) for scores in (base, moved)]
        first, second = (lattice_gaps(scores, sensitivity)[:-1] for scores in anchored)
        difference = first - second
        close = np.abs(base) < 2.0**20 * float(sensitivity)
        assert np.all(np.abs(difference) <= 2**LATTICE_BITS + 1)
        assert np.all(np.abs(difference[close]) >= 2**LATTICE_BITS - 1)
        assert np.all(sign * difference >= 0)


def databases(levels, most):
    """All databases of up to ``most`` records over ``levels`` values, as counts."""
    for n in range(most + 1):
        for rows in combinations_with_replacement(range(levels), n):
            yield tuple(rows.count(level) for level in range(levels))


def neighbours(counts):
    for level in range(len(counts)):
        yield (*counts[:level], counts[level] + 1, *counts[level + 1 :])


def counting(counts):
    """Monotone, Δ = 0.7: an added record raises two of the scores, by different amounts."""
    return np.array([0.7 * a + 0.3 * b for a, b in pairwise((*counts, counts[0]))])


def balance(counts):
    """Not monotone, Δ = 0.7: an added record raises one score and lowers the next."""
    return np.array([0.7 * a - 0.7 * b for a, b in pairwise((*counts, counts[0]))])


@pytest.mark.parametrize("feasible", [None, np.array([True, False, True])], ids=["all", "mask"])
@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3)])
@pytest.mark.parametrize(("score", "monotone"), [(counting, True), (balance, False)])
def test_realised_epsilon_and_rho_on_all_neighbours_of_a_small_domain(
    score, monotone, epsilon, feasible
):
    options = {"epsilon": epsilon, "sensitivity": F(7, 10), "monotone": monotone}
    worst = 0.0
    for counts in databases(3, 4):
        p = probabilities(score(counts), feasible=feasible, **options)
        for other in neighbours(counts):
            q = probabilities(score(other), feasible=feasible, **options)
            alive = p > 0
            loss = np.log(p[alive]) - np.log(q[alive])
            worst = max(worst, float(np.abs(loss).max()))
            for alpha, sign in product((1.01, 2, 10, 100), (1, -1)):
                start = p[alive] if sign == 1 else q[alive]
                divergence = math.log(np.sum(start * np.exp((alpha - 1) * sign * loss)))
                bound = (alpha - 1) * alpha * float(zcdp_cost(epsilon))
                assert divergence <= bound * (1 + 1e-9) + 1e-15
    assert worst <= float(epsilon) * (1 + 1e-12)
    assert worst >= 0.4 * float(epsilon)


def test_a_score_called_monotone_that_is_not_would_be_noticed():
    """The enumeration above has the power to see a halved noise."""
    options = {"epsilon": F(1), "sensitivity": F(7, 10), "monotone": True}
    losses = [
        np.log(probabilities(balance(a), **options)) - np.log(probabilities(balance(b), **options))
        for a in databases(3, 4)
        for b in neighbours(a)
    ]
    assert np.max(np.abs(losses)) > 1.2
