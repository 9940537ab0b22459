"""Private selection: the law of tries, its price by enumeration, and its criterion."""

import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget, rho_within
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.gate import Gate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.private_selection import LawOfTries, PrivateSelection, TableDistance

LAWS = [
    LawOfTries.of_name("geometric", 5),
    LawOfTries.of_name("logarithmic", 5),
    LawOfTries(F(-1, 2), F(1, 9)),
]


def masses(law, most):
    """P(K = k) for k from 1, written out."""
    weights = [1.0]
    for k in range(1, most):
        weights.append(weights[-1] * float(1 - law.gamma) * float((k + law.eta) / (k + 1)))
    weights = np.array(weights)
    return weights / weights.sum()


@pytest.mark.parametrize("law", LAWS)
def test_what_is_said_of_a_law_is_what_its_masses_say(law):
    assert LawOfTries.of_name("logarithmic", 5).expected == pytest.approx(5, rel=0.01)
    p = masses(law, 4000)
    k = np.arange(1, len(p) + 1)
    assert law.expected == pytest.approx(float(p @ k), rel=1e-6)
    for x in (0.0, 0.3, 2 / 3, 1.0):
        assert law.generating_function(x) == pytest.approx(float(p @ x**k), abs=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_tries_are_drawn_by_their_law(law):
    """Chi-square of 1,000 draws, false alarms below 1e-6; other laws fail."""
    source, n = SeededRandomness(7), 1_000
    drawn = np.bincount([min(law.sample(source), 8) for _ in range(n)], minlength=9)[1:]

    def distance(other):
        p = masses(other, 4000)
        expected = n * np.append(p[:7], p[7:].sum())
        return float(((drawn - expected) ** 2 / expected).sum())

    assert distance(law) < 42
    assert all(distance(other) > 100 for other in LAWS if other is not law)


def output_law(law, q):
    """Law of the best of K tries, the best outcome first; summed over K, not by the formula."""
    p = masses(law, 600)
    k = np.arange(1, len(p) + 1)
    worse = 1 - np.cumsum(np.append(0, q))  # that one try is worse than the first j outcomes
    none = np.array([float(p @ np.clip(x, 0, 1) ** k) for x in worse])
    return none[:-1] - none[1:]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_output_changes_by_the_price_at_most(law, epsilon):
    """Every pair of laws on three outcomes whose ratios are at most e^ε, on a grid."""
    grid = [0.001, 0.05, 0.5]
    laws = [(a, b, 1 - a - b) for a, b in product(grid, grid) if a + b < 1]
    worst = 0.0
    for one in laws:
        for up, down in ((epsilon, -epsilon), (-epsilon, epsilon), (epsilon, epsilon)):
            two = (one[0] * math.exp(up), one[1] * math.exp(down))
            two = (*two, 1 - sum(two))
            ratios = [
                abs(math.log(x / y)) if x > 0 < y else math.inf
                for x, y in zip(one, two, strict=True)
            ]
            if max(ratios) > epsilon + 1e-12:
                continue
            changed = np.abs(np.log(output_law(law, one) / output_law(law, two)))
            worst = max(worst, float(changed.max()))
    assert worst <= float(law.factor) * epsilon + 1e-6
    assert worst > epsilon  # a try alone would have cost no more than that


@pytest.mark.parametrize(("name", "tries"), [("geometric", 1000), ("logarithmic", 300)])
def test_the_worst_case_comes_close_to_the_price(name, tries):
    """An outcome right below a better one: at least .9 of the promise is shown."""
    law, epsilon = LawOfTries.of_name(name, tries), 1.0
    q = (0.05, 1e-6, 1 - 0.05 - 1e-6)
    one = (q[0] * math.e, q[1] / math.e, 1 - q[0] * math.e - q[1] / math.e)
    assert max(abs(math.log(x / y)) for x, y in zip(q, one, strict=True)) <= epsilon
    shown = [f(law, q[0] + q[1]) - f(law, q[0]) for f, q in ((below, q), (below, one))]
    assert abs(math.log(shown[0] / shown[1])) >= 0.9 * float(law.factor) * epsilon


def below(law, mass):
    """1 − f(1 − mass): that some try is among the best outcomes of this mass."""
    return 1 - law.generating_function(1 - mass)


SCHEMA = us.Schema.loads(
    "row_limit = 20\n"
    + column("a", "categorical", levels=["x", "y"], source="law")
    + column("b", "categorical", levels=["u", "v"], source="law")
)


def gate_of(records, schema=SCHEMA, epsilon=10**9, seed=1):
    rows = Table(pl.DataFrame(records, schema=["a", "b"], orient="row"), schema)
    return Gate(rows, Budget.of(epsilon), SeededRandomness(seed))


def distance(records, counts, schema=SCHEMA, sets=2):
    """The criterion with noise so small that it is 0."""
    asked = TableDistance((("a", "b"), ("a",)), counts, sets, (1, 0))
    return gate_of(records, schema).ask(asked, spend=F(10**8)).value


COUNTS = (np.array([3, 0, 2, 1, 1]), np.array([3, 3, 1]))
RECORDS = [*product(("x", "y"), ("u", "v")), ("?", "u")]


@pytest.mark.parametrize("start", [[], [("x", "u")], [("x", "u"), ("y", "v"), ("?", "u")]])
def test_the_distance_changes_as_a_count_does(start):
    here = distance(start, COUNTS)
    changes = {abs(distance([*start, more], COUNTS) - here) for more in RECORDS}
    assert changes <= {0, 1}
    assert 1 in changes
    if start:
        changed = {"rows": "public", "n_rows": len(start), "row_limit": None}
        public = SCHEMA.model_copy(update=changed)
        replaced = [
            abs(distance([*start[1:], other], COUNTS, public) - distance(start, COUNTS, public))
            for other in RECORDS
        ]
        assert max(replaced) <= 2


def test_the_distance_is_the_one_that_is_named():
    records = [("x", "u"), ("y", "u"), ("y", "v")]
    # 2·(1,0,1,1,0) against (3,0,2,1,1): |2−3| + 0 + 0 + 1 + 1 = 3, of two sets 1; less 1.
    # 2·(1,2,0) against (3,3,1): 1 + 1 + 1 = 3, of two sets 1; less 0.
    assert distance(records, COUNTS) == 1


def test_the_distance_has_the_noise_of_a_count():
    """Mean square of 4,000 draws at scale 2, by day of 1,000, within six standard errors; ±30 % of
    the scale fails."""
    asked = TableDistance((("a",),), (np.zeros(3, np.int64),), 1, (0,))
    rows = [("x", "u")] * 5
    drawn, n = [], 4_000 if NIGHT else 1_000
    gate = gate_of(rows, epsilon=10**6)
    for _ in range(n):
        drawn.append(gate.ask(asked, spend=F(1, 2)).value - 5)
    square = float(np.mean(np.square(drawn, dtype=float)))
    noise = {scale: DiscreteLaplace(scale).stddev ** 2 for scale in (F(2), F(7, 5), F(13, 5))}
    spread = 6 * noise[F(2)] * math.sqrt(5 / n)
    assert abs(square - noise[F(2)]) < spread
    assert all(abs(square - noise[other]) > spread for other in (F(7, 5), F(13, 5)))


def test_a_selection_is_paid_before_it_draws():
    gate = gate_of([("x", "u")], epsilon=2)
    drawn = gate.ask(PrivateSelection(3, F(1), F(1, 4)), spend=F(2)).value
    assert gate.remaining == 0
    assert set(drawn) <= {0, 1, 2}
    assert len(drawn) >= 1
    for wrong in ((F(-1), F(1, 2)), (F(2), F(1, 2)), (F(1), F(1))):
        with pytest.raises(MethodError, match="law of tries"):
            LawOfTries(*wrong)


def gaussians(rho):
    """Discrete Gaussian numbers that are ρ-zCDP, and the same moved by 1; shape (2, n).

    Tails of less than about 1e-8 count as one outcome, so that floating point can tell masses.
    """
    cut = math.ceil(math.sqrt(18 / rho))
    x = np.arange(-6 * cut, 6 * cut + 1)
    both = np.exp(-rho * np.stack([x, x - 1.0]) ** 2)
    merged = np.clip(x, -cut, cut) + cut
    both = np.stack([np.bincount(merged, own) for own in both])
    return both / both.sum(axis=1, keepdims=True)


def selected(law, q):
    """Law of the best of K tries where the last outcome is the best."""
    up_to = np.clip(np.append(0, np.cumsum(q)), 0, 1)
    return np.diff([law.generating_function(float(x)) for x in up_to])


def divergence(one, other, order):
    """Rényi divergence of two laws on finitely many outcomes."""
    return float(np.log(np.sum(one**order * other ** (1 - order))) / (order - 1))


def orders_of(q):
    """Ways in which outcomes are better or worse, the last one best.

    By number, which is by the ratio of the laws, either way; and the rarest right below the best.
    """
    ways = [np.arange(q.shape[1])]
    for parts in (2, 3, 5):
        best = q.shape[1] // parts
        ways.append(np.concatenate([np.arange(best, q.shape[1]), np.arange(best)[::-1]]))
        ways.append(np.concatenate([np.arange(best)[::-1], np.arange(best, q.shape[1])]))
    return [*ways, *(way[::-1] for way in ways)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rho", [0.02, 0.2])
def test_divergences_of_the_best_keep_to_their_bound_and_exceed_smaller_ones(law, rho):
    """Exact laws of two neighbours; bounds without the choice's part are broken."""
    shares, alone, added = [], [], []
    for order in (1.2, 2.0, 8.0):
        bound = order * rho + law.added_divergence(rho) + math.log(law.expected) / (order - 1)
        for way in orders_of(gaussians(rho)):
            q = gaussians(rho)[:, way]
            one, two = (selected(law, each) for each in q)
            for a, b in ((one, two), (two, one)):
                shown = divergence(a, b, order)
                shares.append(shown / bound)
                alone.append(shown / (order * rho))
                added.append(shown / (bound - law.added_divergence(rho)))
    assert max(shares) <= 1
    assert max(alone) > 1.05  # as if the best of tries cost what one does
    assert (max(added) > 1.05) == (rho == 0.2)  # without C, where the tries are worth much


@pytest.mark.parametrize("name", ["geometric", "logarithmic"])
@pytest.mark.parametrize("epsilon", [1, 4])
def test_epsilon_and_delta_hold_for_the_priced_tries_and_not_for_dearer_ones(name, epsilon):
    law, delta = LawOfTries.of_name(name, 5), F(1, 1000)

    def shown(rho):
        """Largest δ of all ways, by the exact laws."""
        found = []
        for way in orders_of(gaussians(rho)):
            one, two = (selected(law, each) for each in gaussians(rho)[:, way])
            for a, b in ((one, two), (two, one)):
                found.append(np.maximum(a - math.exp(epsilon) * b, 0).sum())
        return max(found)

    rho = law.rho_within(F(epsilon), delta)
    assert law.delta(float(rho), epsilon) <= delta < law.delta(1.01 * float(rho), epsilon)
    assert shown(float(rho)) <= delta
    assert shown(4 * float(rho)) > delta
    assert rho < rho_within(F(epsilon), delta)  # that of a try alone


def test_the_added_part_is_the_least_of_all_orders():
    for law, rho in product(LAWS, (0.001, 0.1, 5.0)):
        tail = -math.log(law.gamma)
        grid = np.append(1, np.geomspace(1, 1e4, 20_000))
        least = float(1 + law.eta) * ((grid - 1) * rho + tail / grid).min()
        assert law.added_divergence(rho) == pytest.approx(least, rel=1e-5)
        assert law.added_divergence(rho) <= least * (1 + 1e-12)


def test_a_selection_is_not_kept_in_gaussian_dp():
    rows = Table(pl.DataFrame([("x", "u")], schema=["a", "b"], orient="row"), SCHEMA)
    gate = Gate(rows, Budget.of(1, "1e-6", "gdp"), SeededRandomness(1))
    with pytest.raises(MethodError, match="pure ε or in ρ"):
        gate.ask(PrivateSelection(2, F(1), F(1, 4)), spend=gate.budget.amount)
