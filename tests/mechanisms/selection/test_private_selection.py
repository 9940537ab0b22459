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
from understudy.dp.budget import Budget
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.gate import Gate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.private_selection import LawOfTries, PrivateSelection, TableDistance

LAWS = [
    LawOfTries.named("geometric", 5),
    LawOfTries.named("logarithmic", 5),
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
    assert LawOfTries.named("logarithmic", 5).expected == pytest.approx(5, rel=0.01)
    p = masses(law, 4000)
    k = np.arange(1, len(p) + 1)
    assert law.expected == pytest.approx(float(p @ k), rel=1e-6)
    for x in (0.0, 0.3, 2 / 3, 1.0):
        assert law.generating(x) == pytest.approx(float(p @ x**k), abs=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_tries_are_drawn_by_their_law(law):
    """Chi-square of 5,000 draws, false alarms below 1e-6; other laws fail."""
    source, n = SeededRandomness(7), 5_000
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
    law, epsilon = LawOfTries.named(name, tries), 1.0
    q = (0.05, 1e-6, 1 - 0.05 - 1e-6)
    one = (q[0] * math.e, q[1] / math.e, 1 - q[0] * math.e - q[1] / math.e)
    assert max(abs(math.log(x / y)) for x, y in zip(q, one, strict=True)) <= epsilon
    shown = [f(law, q[0] + q[1]) - f(law, q[0]) for f, q in ((below, q), (below, one))]
    assert abs(math.log(shown[0] / shown[1])) >= 0.9 * float(law.factor) * epsilon


def below(law, mass):
    """1 − f(1 − mass): that some try is among the best outcomes of this mass."""
    return 1 - law.generating(1 - mass)


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


def test_a_selection_is_paid_before_it_draws_and_in_pure_epsilon_alone():
    gate = gate_of([("x", "u")], epsilon=2)
    drawn = gate.ask(PrivateSelection(3, F(1), F(1, 4)), spend=F(2)).value
    assert gate.remaining == 0
    assert set(drawn) <= {0, 1, 2}
    assert len(drawn) >= 1
    rows = Table(pl.DataFrame({"a": ["x"], "b": ["u"]}), SCHEMA)
    approximate = Gate(rows, Budget.of(1, "1e-6"), SeededRandomness(1))
    with pytest.raises(MethodError, match="pure ε"):
        approximate.ask(PrivateSelection(3, F(1), F(1, 4)), spend=F(1, 100))
    for wrong in ((F(-1), F(1, 2)), (F(2), F(1, 2)), (F(1), F(1))):
        with pytest.raises(MethodError, match="law of tries"):
            LawOfTries(*wrong)
