"""Attacks on choices: by rules that watch what is drawn, and by rules that say how far it came.

The exponential mechanism pays for one winner. Candidates that are drawn and passed over were not
paid for: whoever sees them, or how many there were, learns more of the rows than ε says.
"""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.graphical.junction_tree import TreeLimit
from understudy.mechanisms.selection import Candidate, CandidateColumns
from understudy.mechanisms.selection_scores import CellCount, DistanceFromModel
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

LEVELS = 12
SCHEMA = Schema.loads(
    f'[columns.a]\nkind = "integer"\nlower = 0\nupper = {LEVELS - 1}\nbins = {LEVELS}\n'
    'source = "codebook"\nreviewed = true\n'
    '[columns.b]\nkind = "boolean"\nsource = "codebook"\nreviewed = true\n'
)
ROWS = pl.DataFrame({"a": [0] * 5 + [1] * 3 + [7], "b": [True, False, True] * 3})

HEARD = []
"""What foreign masks and limits were asked."""


def gate(seed=1, epsilon=1000):
    return open_gate(Table(ROWS, SCHEMA), Budget.of(epsilon), SeededRandomness(seed))


class Watching:
    """A rule that refuses the first candidates it is asked about, and keeps their order."""

    def __init__(self, refuse=4):
        self.order, self.refuse = [], refuse

    def __call__(self, candidate):
        self.order.append(candidate)
        return len(self.order) > self.refuse

    def allows(self, candidate):
        return self(candidate)

    any = __len__ = __iter__ = __array__ = __call__


class WatchingLimit(TreeLimit):
    """A limit on trees that keeps what it is asked about."""

    def allows(self, columns):
        HEARD.append(columns)
        return len(HEARD) > 1


class WatchingMask(np.ndarray):
    """A mask that keeps how it is read."""

    def __getitem__(self, item):
        HEARD.append(item)
        return super().__getitem__(item)

    def any(self):
        HEARD.append("any")
        return True


def test_a_stateful_rule_is_not_accepted():
    """Claim: no code of a caller runs on drawn candidates. The rule below saw up to 32 ordered
    draws for one charge, which is 32 answers for the price of one."""
    door, rule = gate(), Watching()
    with pytest.raises(MethodError, match="takes no Watching as feasible"):
        door.ask(Candidate(range(LEVELS), CellCount((0,)), feasible=rule), spend=Fraction(1))
    with pytest.raises(MethodError, match="takes no function as feasible"):
        door.ask(
            Candidate(range(LEVELS), CellCount((0,)), feasible=lambda _: True), spend=Fraction(1)
        )
    assert (rule.order, door.ledger) == ([], ())


def test_heirs_of_masks_and_limits_are_not_accepted():
    """Claim: a mask is NumPy's own array, a limit this package's own class; neither has ears."""
    door = gate()
    names = (("a",), ("a", "b"))
    score = DistanceFromModel(SCHEMA, names, np.zeros(3 * LEVELS), (1, 1), np.zeros(2))
    limit = WatchingLimit(SCHEMA.sizes, (), 1e9)
    mask = np.ones(2, dtype=np.bool_).view(WatchingMask)
    for foreign in (limit, mask):
        with pytest.raises(MethodError, match="as feasible"):
            door.ask(CandidateColumns(names, score, feasible=foreign), spend=Fraction(1))
    assert (HEARD, door.ledger) == ([], ())


def test_a_limit_whose_method_is_hidden_by_another_asks_its_own():
    """Claim: a function that was put into one genuine limit is never asked."""
    door, asked = gate(), []
    names = (("a", "b"), ("a",))
    score = DistanceFromModel(SCHEMA, names, np.zeros(3 * LEVELS), (1, 1), np.zeros(2))
    limit = TreeLimit(SCHEMA.sizes, (), float(LEVELS))
    vars(limit)["allows"] = lambda columns: asked.append(columns) or len(asked) > 1
    winner = door.ask(CandidateColumns(names, score, feasible=limit), spend=Fraction(900))
    assert winner.value == ("a",), "the other table is larger than the limit"
    assert asked == []


@pytest.mark.parametrize(
    "feasible",
    [
        np.zeros(LEVELS, dtype=np.bool_),
        np.ones(LEVELS - 1, dtype=np.bool_),
        np.ones((LEVELS, 1), dtype=np.bool_),
        np.ones(LEVELS),
        np.ones(LEVELS, dtype=object),
        [True] * LEVELS,
        1,
    ],
)
def test_a_mask_that_would_stop_the_draw_stops_it_before_it_is_paid(feasible):
    """Claim: whether a rule can be followed is public: it is refused unpaid, whatever the rows, and
    never in the midst of a draw, where an error would tell how far the draw came."""
    door = gate()
    with pytest.raises(MethodError):
        door.ask(Candidate(range(LEVELS), CellCount((0,)), feasible=feasible), spend=Fraction(1))
    assert door.ledger == ()


@pytest.mark.parametrize(("marginal", "n"), [((0,), LEVELS - 1), ((0, 1), LEVELS), ((2,), 2)])
def test_a_list_that_the_score_does_not_fit_is_refused_before_it_is_paid(marginal, n):
    """Claim: no error after a charge tells anything, as there is none to provoke here."""
    door = gate()
    with pytest.raises(MethodError, match="score"):
        door.ask(Candidate(range(n), CellCount(marginal)), spend=Fraction(1))
    assert door.ledger == ()


@pytest.mark.statistical
def test_a_choice_with_a_mask_costs_what_it_says():
    """Claim: with a mask the realised loss between neighbouring tables stays within ε = 1.

    Every candidate but the two fullest may win. Of 3,000 choices, by day 400, on each of two
    neighbours, no winner's log ratio exceeds 1 by more than five standard errors (false alarms:
    below 10⁻⁵); the rule that this mask stands in for made the same choice, and saw the
    fullest ones come first.
    """
    mask = np.ones(LEVELS, dtype=np.bool_)
    mask[:2] = False
    tables = [ROWS, pl.concat([ROWS, pl.DataFrame({"a": [7], "b": [True]})])]
    seen = []
    for rows in tables:
        engine, source = Table(rows, SCHEMA), SeededRandomness(5)
        counts = np.zeros(LEVELS)
        for _ in range(3_000 if NIGHT else 400):
            door = open_gate(engine, Budget.of(1), source)
            score = CellCount((0,))
            counts[
                door.ask(Candidate(range(LEVELS), score, feasible=mask), spend=Fraction(1)).value
            ] += 1
        seen.append(counts)
    before, after = seen
    assert before[:2].sum() == after[:2].sum() == 0
    for one, other in zip(before[2:], after[2:], strict=True):
        error = math.sqrt(1 / one + 1 / other)
        assert abs(math.log(other / one)) <= 1 + 5 * error


def test_a_limit_never_wins_for_what_it_forbids_and_takes_the_best_of_the_rest():
    """Claim: candidates beyond a limit are passed over inside, and only the winner leaves: one
    entry, one measurement, and nothing that says how many were passed over."""
    names = (("a", "b"), ("a",), ("b",))
    estimates = np.zeros(2 * LEVELS + LEVELS + 2)
    for seed in range(20):
        door = gate(seed)
        score = DistanceFromModel(SCHEMA, names, estimates, (9, 3, 1), np.zeros(3))
        limit = TreeLimit(SCHEMA.sizes, (), float(LEVELS))
        winner = door.ask(CandidateColumns(names, score, feasible=limit), spend=Fraction(900))
        assert winner.value == ("a",)
        assert len(door.ledger) == len(door.measured) == 1
