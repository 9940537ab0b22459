"""AIC's and BIC's sensitivity by enumeration, the law of a layer of choices, and of two groups."""

from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln, xlogy

from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import Choice
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.papers import hierarchy_mechanisms
from understudy.papers.hierarchy_mechanisms import ORDER_READ, ColumnSplits, GroupSplit
from understudy.schema import Partition, Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

SIZES = (2, 3, 5)


def slow_aic(counts, states=None):
    """As the formula stands, K public unless said otherwise."""
    n = sum(counts)
    likelihood = gammaln(n + 1) - xlogy(n, n) if n else 0.0
    likelihood += sum(float(xlogy(k, k) - gammaln(k + 1)) for k in counts)
    return -2 * likelihood + 2 * (len(counts) if states is None else states)


def compositions(n, parts):
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield (first, *rest)


def added(counts):
    """All neighbours with one record more."""
    for j in range(len(counts)):
        yield tuple(k + (i == j) for i, k in enumerate(counts))


def replaced(counts):
    """All neighbours with one record replaced."""
    for j in (j for j, k in enumerate(counts) if k):
        fewer = tuple(k - (i == j) for i, k in enumerate(counts))
        yield from added(fewer)


def test_it_is_the_formula_for_small_and_for_large_counts():
    for counts in [(0, 0), (3, 1, 0), (63, 65, 64), (10**4, 1, 0, 7)]:
        assert hierarchy_mechanisms.aic(np.array(counts)) == pytest.approx(
            slow_aic(counts), abs=1e-7
        )


def test_large_counts_lose_no_digits():
    """Neighbours of 10¹² records differ by 2(g(n) − g(n_j)); the plain formula is off by 10⁻³."""
    n = 10**12
    before, after = hierarchy_mechanisms.aic(np.array([[n, 0], [n, 1]]))
    assert after - before == pytest.approx(2, abs=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
def test_its_sensitivity_with_a_public_number_of_states_is_two_and_adding_moves_it_up(n):
    for counts in compositions(n, 3):
        value = slow_aic(counts)
        changes = [slow_aic(other) - value for other in added(counts)]
        assert all(-1e-9 <= change < 2 for change in changes)
        assert all(abs(slow_aic(other) - value) < 2 for other in replaced(counts))


def test_two_is_approached_and_four_with_occupied_states():
    n = 1000
    public = slow_aic((n, 1, 0)) - slow_aic((n, 0, 0))
    occupied = slow_aic((n, 1, 0), states=2) - slow_aic((n, 0, 0), states=1)
    assert 1.998 < public < 2
    assert 3.998 < occupied < 4


def slow_bic(counts):
    """As the formula stands."""
    return slow_aic(counts) + len(counts) * (np.log(max(sum(counts), 1)) - 2)


def test_bic_is_the_formula():
    for counts in [(0, 0), (1, 0), (3, 1, 0), (63, 65, 64), (10**4, 1, 0, 7)]:
        assert hierarchy_mechanisms.bic(np.array(counts)) == pytest.approx(
            slow_bic(counts), abs=1e-7
        )


@pytest.mark.parametrize("states", [1, 2, 3, 5])
def test_the_sensitivity_of_bic_is_attained_by_the_second_record_and_adding_moves_it_up(states):
    bound = float(hierarchy_mechanisms.sensitivity((states,)))
    up, across = [0.0], [0.0]
    for n in range(8):
        for counts in compositions(n, states):
            value = slow_bic(counts)
            up += [slow_bic(other) - value for other in added(counts)]
            across += [abs(slow_bic(other) - value) for other in replaced(counts)]
    assert min(up) > -1e-9
    assert max(up) <= bound
    if states > 1:  # with a single state there is no record of another
        assert max(up) == pytest.approx(bound, abs=1e-8)
        assert slow_bic((1, 1) + (0,) * (states - 2)) == pytest.approx(bound, abs=1e-8)
    assert max(across) < 2


def test_groups_differ_by_less_than_two_or_four():
    rng = np.random.default_rng(0)
    groups = hierarchy_mechanisms.ordered_groups(range(3))
    records = list(product(*(range(k) for k in SIZES)))
    largest = {"add_remove": 0.0, "replace": 0.0}

    def scores(rows):
        each = [slow_aic(np.bincount(rows[:, j], minlength=k)) for j, k in enumerate(SIZES)]
        return hierarchy_mechanisms.group_scores(np.array(each), groups)

    for _ in range(25):
        n = rng.integers(1, 60)
        column_models = [rng.dirichlet(np.full(k, 0.2)) for k in SIZES]
        rows = np.column_stack(
            [rng.choice(k, n, p=p) for k, p in zip(SIZES, column_models, strict=True)]
        )
        before = scores(rows)
        for record in records:
            more, other = np.vstack([rows, record]), rows.copy()
            other[0] = record
            for kind, changed in (("add_remove", more), ("replace", other)):
                largest[kind] = max(largest[kind], np.abs(scores(changed) - before).max())
    assert (
        1.9 < largest["add_remove"] < hierarchy_mechanisms.aic_group_sensitivity("add_remove") == 2
    )
    assert 3 < largest["replace"] < hierarchy_mechanisms.aic_group_sensitivity("replace") == 4


def joint_changes(slow, absolute):
    """Largest change of any score of groups, over all small tables and all their neighbours."""
    groups = (
        hierarchy_mechanisms.unordered_groups if absolute else hierarchy_mechanisms.ordered_groups
    )(range(3))
    largest = {"add_remove": 0.0, "replace": 0.0}

    def scores(rows):
        each = [
            slow(np.bincount([row[j] for row in rows], minlength=k)) if rows else slow([0] * k)
            for j, k in enumerate((2, 3, 2))
        ]
        found = hierarchy_mechanisms.group_scores(np.array(each), groups)
        return np.abs(found) if absolute else found

    known = {}
    for n in range(4):
        for rows in combinations_with_replacement(RECORDS, n):
            known[rows] = scores(rows)
    for rows, before in known.items():
        for record in RECORDS:
            if len(rows) < 3:
                more = known[tuple(sorted((*rows, record)))]
                largest["add_remove"] = max(largest["add_remove"], np.abs(more - before).max())
            for i in range(len(rows)):
                other = known[tuple(sorted((*rows[:i], record, *rows[i + 1 :])))]
                largest["replace"] = max(largest["replace"], np.abs(other - before).max())
    return largest


@pytest.mark.parametrize("absolute", [False, True])
def test_differences_of_groups_keep_to_the_stated_change_and_their_absolute_values_too(absolute):
    """All tables of up to three records over 2 × 3 × 2 cells, and all their neighbours."""
    sizes = (2, 3, 2)
    of_aic, of_bic = joint_changes(slow_aic, absolute), joint_changes(slow_bic, absolute)
    for relation in ("add_remove", "replace"):
        assert of_aic[relation] < float(hierarchy_mechanisms.aic_group_sensitivity(relation))
        assert of_bic[relation] < float(hierarchy_mechanisms.bic_group_sensitivity(sizes, relation))
    # AIC's own bound would not do: the second record moves the penalties apart.
    assert of_bic["add_remove"] > 0.4 * float(hierarchy_mechanisms.sensitivity(sizes))


def test_a_moved_record_changes_bic_groups_by_more_than_four_where_states_are_many():
    """So under replace the bound is the larger of 4 and Δ; a record may leave the domain."""
    assert hierarchy_mechanisms.bic_group_sensitivity((2, 3), "replace") == 4
    assert (
        hierarchy_mechanisms.bic_group_sensitivity((2, 9), "replace")
        == hierarchy_mechanisms.sensitivity((9,))
        > 4
    )


def test_five_columns_fall_into_two_groups_in_15_ways():
    groups = hierarchy_mechanisms.unordered_groups(range(5))
    both = {frozenset({frozenset(group), frozenset(range(5)) - set(group)}) for group in groups}
    assert len(groups) == len(both) == 15
    assert all(0 in group for group in groups)


def test_the_score_of_a_group_is_the_difference_of_means():
    scores = np.array([1.0, 5.0, 9.0])
    groups = hierarchy_mechanisms.ordered_groups(range(3))
    found = dict(zip(groups, hierarchy_mechanisms.group_scores(scores, groups), strict=True))
    assert found == pytest.approx({(0,): 6, (1,): 0, (2,): -6, (0, 1): 6, (0, 2): 0, (1, 2): -6})


# --- the law of a whole layer, over all neighbours of small tables ------------------------------

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "categorical"
levels = ["r", "s", "t"]
reviewed = true
[columns.c]
kind = "boolean"
reviewed = true
"""
SCHEMA = Schema.loads(f'rows = "private"\n{COLUMNS}')
LEVELS = (["x", "y"], ["r", "s", "t"], [False, True])
RECORDS = list(product(range(2), range(3), range(2)))


def layer_noise(rows, rate, slow=slow_aic):
    """Log probability of every pair of choices below a root divided by a, by the definition."""
    node_distributions = []
    for node in range(2):
        inside = [row for row in rows if row[0] == node]
        found = [
            slow([sum(row[j] == k for row in inside) for k in range(size)])
            for j, size in ((1, 3), (2, 2))
        ]
        weights = -rate * np.array(found)
        node_distributions.append(weights - np.logaddexp.reduce(weights))
    return np.add.outer(*node_distributions)


@pytest.mark.parametrize("slow", [slow_aic, slow_bic])
@pytest.mark.parametrize(
    ("relation", "rate", "epsilon"), [("add_remove", 1.0, 1.0), ("replace", 0.5, 1.0)]
)
def test_a_whole_layer_costs_epsilon_once(relation, rate, epsilon, slow):
    """All tables of up to two records, some of three, and tables where the bound is nearly met."""
    rate /= 2 if slow is slow_aic else float(hierarchy_mechanisms.sensitivity((2, 3, 2)))
    heavy = [((0, 0, 0),) * 40, ((0, 0, 0),) * 40 + ((1, 0, 0),) * 40]
    tables = [t for n in range(3) for t in combinations_with_replacement(RECORDS, n)] + heavy
    tables += combinations_with_replacement(RECORDS[::2], 3)
    largest = 0.0
    for rows in tables:
        before = layer_noise(rows, rate, slow)
        others = [[*rows, record] for record in RECORDS]
        if relation == "replace":
            others = [
                [*rows[:i], record, *rows[i + 1 :]]
                for i in {0, len(rows) - 1}
                if rows
                for record in RECORDS
            ]
        for other in others:
            largest = max(largest, float(np.abs(layer_noise(other, rate, slow) - before).max()))
    # Choices among two columns whose BICs both rise lose part of what the bound allows for.
    assert (0.5 if slow is slow_aic else 0.2) * epsilon < largest < epsilon


TABLES = {}


def table(rows, schema=SCHEMA):
    """Rows under a schema, coded once."""
    key = tuple(rows), id(schema)
    if key not in TABLES:
        TABLES[key] = read(rows, schema)  # and it keeps the schema
    return TABLES[key]


def read(rows, schema):
    labels = [tuple(levels[k] for levels, k in zip(LEVELS, row, strict=True)) for row in rows]
    types = {"a": pl.String, "b": pl.String, "c": pl.Boolean}
    return Table(pl.DataFrame(labels, schema=types, orient="row"), schema)


def door(rows, epsilon="1", seed=1, schema=SCHEMA):
    return open_gate(table(rows, schema), Budget.of(epsilon, 0), SeededRandomness(seed))


def test_the_gate_draws_that_law():
    """χ² over the four outcomes of 4,000 layers, by day of 500; false alarms 1 in 1,000."""
    from scipy import stats

    rows = [(0, 0, 0)] * 3 + [(0, 1, 1), (1, 2, 0), (1, 2, 1)]
    tree = Partition(SCHEMA.domain).divide([(0,)])
    found = np.zeros((2, 2))
    draws, engine = (4_000 if NIGHT else 500), table(rows)
    for k in range(draws):
        if k % 20 == 0:  # a ledger of thousands of entries is slow to add up
            gate = open_gate(engine, Budget.of(20, 0), SeededRandomness(k))
        splits = gate.ask(ColumnSplits(tree), spend=F(1)).value
        found[splits[0][0] - 1, splits[1][0] - 1] += 1
    column_model = np.exp(layer_noise(rows, 0.5))
    assert stats.chisquare(found.ravel(), draws * column_model.ravel()).pvalue > 1e-3
    # Power: the two-sided rate would be told apart.
    other = np.exp(layer_noise(rows, 0.25))
    assert stats.chisquare(found.ravel(), draws * other.ravel()).pvalue < 1e-6


def test_a_large_budget_takes_the_smallest_aic_and_empty_nodes_are_divided_too():
    rows = [(0, 0, 0)] * 9 + [(0, 1, 1)] * 9 + [(0, 2, 0)] * 9
    gate = door(rows, epsilon=2000)
    tree = Partition(SCHEMA.domain)
    tree = tree.divide(gate.ask(ColumnSplits(tree), spend=F(1000)).value)
    # All are x: that column explains nothing, and its AIC is the smallest.
    best = min(
        (slow_aic([sum(r[j] == k for r in rows) for k in range(s)]), j)
        for j, s in enumerate((2, 3, 2))
    )
    assert tree.splits[0] == ((best[1],),)
    deeper = tree.divide(gate.ask(ColumnSplits(tree), spend=F(1000)).value)
    assert len(deeper.splits[1]) == 2
    assert all(len(split) == 1 for split in deeper.splits[1])


def test_the_release_of_a_choice_names_columns_alone():
    gate = door([(0, 0, 0)])
    gate.ask(ColumnSplits(Partition(SCHEMA.domain)), spend=F(1, 2))
    (entry,) = gate.ledger
    assert entry.query == "a column that divides each node of layer 0, by AIC"
    assert entry.sensitivity == "score: 2, monotone"
    (choice,) = gate.measured
    assert isinstance(choice.value, Choice)
    assert set(choice.value.columns) < {"a", "b", "c"}


def test_groups_are_chosen_by_the_larger_difference():
    rows = [(0, k % 3, k % 2) for k in range(60)]
    gate = door(rows, epsilon=2000)
    found = gate.ask(GroupSplit(Partition(SCHEMA.domain)), spend=F(2000)).value
    scores = [
        slow_aic([sum(r[j] == k for r in rows) for k in range(s)]) for j, s in enumerate((2, 3, 2))
    ]
    groups = hierarchy_mechanisms.ordered_groups(range(3))
    best = groups[int(np.argmax(hierarchy_mechanisms.group_scores(np.array(scores), groups)))]
    assert found == (best,)


def means(rows, slow=slow_aic):
    return np.array(
        [slow([sum(r[j] == k for r in rows) for k in range(s)]) for j, s in enumerate((2, 3, 2))]
    )


@pytest.mark.parametrize("utility", ["aic", pytest.param("bic", marks=pytest.mark.nightly)])
def test_two_groups_have_the_law_of_their_absolute_difference(utility):
    """χ² over the three ways of 4,000 choices at ε = 1, by day of 1,000; false alarms 10⁻³."""
    from scipy import stats

    rows = [(0, 0, 0)] * 4 + [(0, 1, 1)]
    slow = slow_aic if utility == "aic" else slow_bic
    delta = 2 if utility == "aic" else float(hierarchy_mechanisms.sensitivity((2, 3, 2)))
    groups = hierarchy_mechanisms.unordered_groups(range(3))
    scores = np.abs(hierarchy_mechanisms.group_scores(means(rows, slow), groups))
    law = np.exp(8 * scores / (2 * delta))
    law /= law.sum()
    found, draws, engine = np.zeros(3), 4_000 if NIGHT else 1_000, table(rows)
    tree = Partition(SCHEMA.domain)
    for k in range(draws):
        if k % 20 == 0:
            gate = open_gate(engine, Budget.of(160, 0), SeededRandomness(k))
        (group,) = gate.ask(GroupSplit(tree, utility, apart=True), spend=F(8)).value
        found[groups.index(group)] += 1
    assert gate.ledger[0].query == f"two groups of columns, by {utility.upper()}"
    assert stats.chisquare(found, draws * law).pvalue > 1e-3
    flatter = np.exp(8 * scores / (2 * 1.5 * delta))
    assert stats.chisquare(found, draws * flatter / flatter.sum()).pvalue < 1e-3


def test_the_order_of_two_groups_is_a_choice_of_its_own_or_read_as_published():
    rows = [(0, k % 3, k % 2) for k in range(60)]
    groups = hierarchy_mechanisms.ordered_groups(range(3))
    scores = hierarchy_mechanisms.group_scores(means(rows), groups)
    best = groups[int(np.argmax(scores))]  # (0,): all records are of one state
    other = tuple(j for j in range(3) if j not in best)
    tree = Partition(SCHEMA.domain)
    gate = door(rows, epsilon=4000)
    (group,) = gate.ask(GroupSplit(tree, apart=True), spend=F(2000)).value
    assert set(group) in (set(best), set(other))
    assert gate.ask(GroupSplit(tree, groups=(other, best)), spend=F(2000)).value == (best,)
    assert [entry.cells for entry in gate.ledger] == [3, 2]
    assert ORDER_READ not in gate.guarantee().leaks
    for seed in range(5):
        published = door(rows, epsilon=2000, seed=seed)
        asked = GroupSplit(tree, apart=True, mode="paper")
        assert published.ask(asked, spend=F(2000)).value == (best,)
        assert ORDER_READ in published.guarantee().leaks
        assert len(published.ledger) == 1


@pytest.mark.parametrize("groups", [[], [(0, 1, 2)], [()], [(1, 0)], [(0, 7)], [(0, 0)]])
def test_groups_that_leave_no_other_are_refused(groups):
    gate = door([])
    with pytest.raises(MethodError, match="leaves others"):
        gate.ask(GroupSplit(Partition(SCHEMA.domain), groups=groups), spend=F(1, 2))
    assert not gate.ledger


def test_bic_divides_a_node_by_the_smallest_and_its_sensitivity_is_told():
    rows = [(k % 2, 0, k % 2) for k in range(60)]
    gate = door(rows, epsilon=2000)
    found = gate.ask(ColumnSplits(Partition(SCHEMA.domain), "bic"), spend=F(2000)).value
    assert found == ((int(np.argmin(means(rows, slow_bic))),),)
    (entry,) = gate.ledger
    assert entry.query == "a column that divides each node of layer 0, by BIC"
    assert entry.sensitivity == "score: 5 · log 2, monotone"


def test_under_replace_the_rate_is_halved():
    schema = Schema.loads(f'rows = "public"\nn_rows = 2\n{COLUMNS}')
    gate = door([(0, 0, 0), (1, 1, 1)], schema=schema)
    gate.ask(ColumnSplits(Partition(schema.domain)), spend=F(1, 2))
    assert gate.ledger[0].sensitivity == "score: 2"
    gate.ask(GroupSplit(Partition(schema.domain)), spend=F(1, 2))
    assert gate.ledger[1].sensitivity == "score: 4"


def test_no_rows_and_an_overdraft():
    gate = door([], epsilon="0.00001")
    assert len(gate.ask(ColumnSplits(Partition(SCHEMA.domain)), spend=F(1, 10**5)).value) == 1
    with pytest.raises(InsufficientBudgetError):
        gate.ask(ColumnSplits(Partition(SCHEMA.domain)), spend=F(1))


def test_a_tree_of_other_columns_is_refused():
    other = Schema.loads('rows = "private"\n' + COLUMNS.replace('"r", ', ""))
    with pytest.raises(MethodError, match="another schema"):
        door([]).ask(ColumnSplits(Partition(other.domain)), spend=F(1, 2))
