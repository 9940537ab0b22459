"""What a run cost as it ended: (3) of `dp.gaussian_dp`, against exact trade-off functions.

Every run of a few steps is enumerated, with what is asked after it. Of a pair of neighbours the
loss is a mixture of normal distributions, with one part for each way that the choices can go, so
the trade-off function follows from their distribution functions.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri_exp

from understudy.dp.accountant import CHOICE, RunCost
from understudy.dp.budget import mu_of
from understudy.mechanisms.selection import gdp_cost, selection_epsilon

ROUNDING = 1e-7
SCORE = "score: 1"


class Worst:
    """A pair of neighbours: parts of a mixture of normal losses, by the law of the second one.

    Attributes:
        parts: weight, loss of the choices, and amount of the Gaussian steps.
    """

    def __init__(self, parts):
        self.weights, self.losses, self.amounts = map(np.asarray, zip(*parts, strict=True))

    def mu(self):
        """The largest μ that any threshold on the loss shows."""
        spread = np.sqrt(2 * self.amounts)
        s = np.linspace(-14, 14, 4001)[:, None]
        above = np.log(self.weights) + log_ndtr(-(s - self.losses + self.amounts) / spread)
        below = log_ndtr((s - self.losses - self.amounts) / spread)
        below = np.log(self.weights) + self.losses + below
        alpha, beta = (np.logaddexp.reduce(each, axis=1) for each in (above, below))
        kept = (alpha > -25) & (beta > -25)
        return float((-ndtri_exp(alpha[kept]) - ndtri_exp(beta[kept])).max())


def two_points(epsilon, tilt):
    """Probability of the higher loss, and both losses, of the worst choice at a tilt in (0, 1)."""
    high = tilt * epsilon
    low = high - epsilon
    q = -np.expm1(low) / (np.exp(high) - np.exp(low))
    return q, high, low


def cost_of(steps, budget):
    """The cost of a run of (kind, price) that ends."""
    cost = RunCost("gdp", budget)
    for kind, price in steps:
        cost.add(price, CHOICE if kind == "choice" else "noisy table", SCORE)
    return cost


def futures(steps, budget, tilts, cap, *, spent=None, done=0, loss=0.0, weight=1.0, noise=0.0):
    """Every way that a run can go which ends early if its last choice has the lower loss.

    After its end, whatever it left of the cap is spent with Gaussian noise.
    """
    if done == len(steps):
        ended = cost_of(steps[:done], budget) if spent is None else spent(steps[:done])
        after = float(cap - ended) if spent else float(cap - ended.total)
        yield weight, loss, noise + after
        return
    kind, price = steps[done]
    told = {"spent": spent, "done": done + 1}
    if kind == "noise":
        more = noise + float(price)
        yield from futures(steps, budget, tilts, cap, loss=loss, weight=weight, noise=more, **told)
        return
    left = budget - sum(paid for _, paid in steps[: done + 1])
    epsilon = float(selection_epsilon(price, "gdp", rest=left))
    q, high, low = two_points(epsilon, tilts[done])
    yield from futures(
        steps, budget, tilts, cap, loss=loss + high, weight=weight * q, noise=noise, **told
    )
    stopped = steps[: done + 1]
    yield from futures(
        stopped, budget, tilts, cap, loss=loss + low, weight=weight * (1 - q), noise=noise, **told
    )


def runs():
    """Runs of up to three steps of a budget of 1, that may leave most of it."""
    sizes = [Fraction(1, 20), Fraction(1, 5), Fraction(2, 5)]
    step = [(kind, size) for kind in ("choice", "noise") for size in sizes]
    for length in (1, 2, 3):
        for steps in product(step, repeat=length):
            if any(kind == "choice" for kind, _ in steps) and sum(c for _, c in steps) < 1:
                yield steps


def worst_mu(steps, tilts, cap, *, spent=None):
    return Worst(list(futures(steps, Fraction(1), tilts, cap, spent=spent))).mu()


@pytest.mark.parametrize(
    "tilt", [0.5, *(pytest.param(tilt, marks=pytest.mark.nightly) for tilt in (0.15, 0.85))]
)
def test_runs_cost_what_is_booked_however_they_end(tilt):
    """Every run, all of a cap spent after it: all together is no easier than the cap.

    The cap is what the costliest of the ways that a run can go costs, and a little noise, so that
    the loss has a density. Where a run ends follows from the outcome of its last choice.
    """
    seen = 0
    for steps in runs():
        starts = [steps[: k + 1] for k, (kind, _) in enumerate(steps) if kind == "choice"]
        ends = [cost_of(part, Fraction(1)).total for part in (*starts, steps)]
        cap = max(ends) + Fraction(1, 1000)
        assert worst_mu(steps, [tilt] * 3, cap) <= float(mu_of(cap)) + ROUNDING, steps
        seen += 1
    assert seen > 150


def test_the_sum_of_prices_would_be_too_little():
    """The same enumeration finds it: a choice whose rest nobody spends is dearer than its price."""
    steps = (("choice", Fraction(1, 20)),)
    price = Fraction(1, 20) + Fraction(1, 1000)

    def sum_of_prices(paid):
        return sum(cost for _, cost in paid)

    assert worst_mu(steps, [0.5], price, spent=sum_of_prices) > 1.1 * float(mu_of(price))


def test_a_run_that_ends_after_its_choice_costs_what_the_choice_costs_alone():
    """The case that was booked too low: the price rests on nine times as much that is left."""
    budget, price = Fraction(1, 36), Fraction(1, 360)
    epsilon = selection_epsilon(price, "gdp", rest=budget - price)
    ended = cost_of([("choice", price)], budget)
    assert ended.prices == price
    assert float(ended.total) == pytest.approx(float(gdp_cost(epsilon)), rel=1e-9)
    assert gdp_cost(epsilon) * (1 - Fraction(1, 10**9)) < ended.total
    assert ended.total > price * Fraction(14, 10)


@pytest.mark.parametrize("shares", [(1, 9), (3, 3, 3, 1), (1,) * 40, (5, 1, 5, 1, 5, 1), (9, 1)])
def test_cost_grows_with_each_step_and_ends_at_the_budget(shares):
    """Never less than the prices nor more than the budget, and all of it when all is spent."""
    budget = Fraction(3, 7)
    cost, before = RunCost("gdp", budget), Fraction(0)
    for k, share in enumerate(shares):
        name = CHOICE if k % 2 == 0 else "noisy table"
        cost.add(budget * share / sum(shares), name, SCORE)
        assert before <= cost.total <= budget
        assert cost.prices <= cost.total
        before = cost.total
    assert cost.total == cost.prices == budget


def test_an_unknown_budget_costs_no_less():
    for budget in (Fraction(1, 10), Fraction(1), Fraction(100)):
        known, unknown = cost_of([("choice", Fraction(1, 20))], budget), RunCost("gdp", None)
        unknown.add(Fraction(1, 20), CHOICE, SCORE)
        assert unknown.total >= known.total


@pytest.mark.parametrize(
    ("accounting", "mechanism", "sensitivity"),
    [
        ("pure", CHOICE, SCORE),
        ("zcdp", CHOICE, SCORE),
        ("gdp", "noisy table", "L2 = 1"),
        ("gdp", CHOICE, "distance: 1"),
    ],
)
def test_all_other_steps_cost_their_price(accounting, mechanism, sensitivity):
    cost = RunCost(accounting, Fraction(1))
    for _ in range(3):
        cost.add(Fraction(1, 7), mechanism, sensitivity)
    assert cost.total == Fraction(3, 7)


def test_an_amendment_lets_more_be_spent_after_earlier_steps():
    """What the first steps rested on stays; later ones rest on the larger budget."""
    first = cost_of([("choice", Fraction(1, 20))], Fraction(1))
    early = first.total
    first.allow(Fraction(2))
    assert first.total == early
    first.add(Fraction(1, 20), CHOICE, SCORE)
    same = cost_of([("choice", Fraction(1, 20))] * 2, Fraction(1))
    assert early < same.total < first.total
