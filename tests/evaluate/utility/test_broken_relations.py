"""Relations that all original records keep, and who breaks them."""

import itertools

import numpy as np
import pytest

import understudy as us
from understudy.evaluate.associations import dependencies, orders, relation_scores
from understudy.evaluate.comparison import NOWHERE, Comparison, OrderedColumn, Scale


def compared(original, *sets, size=8):
    columns = "\n".join(
        f'[columns.c{k}]\nkind = "categorical"\nlevels = {[str(j) for j in range(size)]}\n'
        'source = "codebook"\nreviewed = true'
        for k in range(len(original))
    )
    tables = [[one.astype(np.uint8) for one in table] for table in (original, *sets)]
    return Comparison(us.Schema.loads(columns), tables[0], tuple(tables[1:]))


def line(name, original, *sets, scale=Scale.NUMBER):
    return OrderedColumn(name, scale, np.arange(200.0), original, sets)


def slow_dependencies(rows):
    """Pairs (a, b) such that records equal in a are equal in b, by comparing sets of pairs."""
    found = set()
    for i, j in itertools.permutations(range(len(rows)), 2):
        pairs = set(zip(rows[i].tolist(), rows[j].tolist(), strict=True))
        if len(pairs) == len({a for a, _ in pairs}) and len(set(rows[j].tolist())) > 1:
            found.add((i, j))
    return found


def test_dependencies_are_those_of_slow_search():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 6, 600)
    rows = [a, a // 2, (a + 3) % 6, rng.integers(0, 6, 600), np.zeros(600, int), (a // 2 + 1) % 3]
    found = set()
    for one in dependencies(compared(rows, rows)):
        first, arrow, second = one.words.split()
        pair = int(first[1:]), int(second[1:])
        found |= {pair, pair[::-1]} if arrow == "↔" else {pair}
        assert not any(mask.any() for mask in one.breaking)
    assert found == slow_dependencies(rows)
    assert {(0, 1), (0, 2), (2, 0), (1, 5)} <= found


def test_broken_records_are_counted_once_and_unseen_states_break_nothing():
    a = np.repeat([0, 1, 2, 3], 50)
    original = [a, a // 2, (a // 2 + 1) % 2]
    made = [one.copy() for one in original]
    made[1][:10] = 1  # breaks a → b, and b ↔ c
    made[0][10:30] = 7  # a state of a that no original record has
    scores, details = relation_scores(compared(original, made), [])
    [score] = scores
    assert score.value == pytest.approx(10 / 200)
    by_name = {one.relation: one for one in details}
    assert set(by_name) == {"c0 → c1", "c0 → c2", "c1 ↔ c2"}
    assert by_name["c0 → c1"].broken == pytest.approx(10 / 200)
    assert by_name["c0 → c2"].broken == 0
    assert by_name["c1 ↔ c2"].broken == pytest.approx(10 / 200)
    assert by_name["c0 → c1"].unrelated == pytest.approx(0.5)


def test_keys_and_columns_that_hardly_vary_have_no_relations():
    few = [np.arange(100) // 15, np.arange(100) // 50]  # 7 states, but 100 records
    assert not list(dependencies(compared(few, few)))
    rare = [np.repeat([0, 1], [5, 2_000]), np.repeat([0, 1], [5, 2_000])]
    assert not list(dependencies(compared(rare, rare)))


def test_orders_over_records_with_both_values():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 90, 500)
    b = a + rng.integers(0, 40, 500)
    b[:50] = NOWHERE
    worse = b.copy()
    worse[100:125] = a[100:125] - 1
    worse[worse < 0] = NOWHERE
    columns = [line("a", a, a), line("b", b, worse), line("far", a % 5 + 150, a % 5 + 150)]
    [one] = orders(columns)
    assert (one.words, one.records) == ("a ≤ b", 450)
    assert one.breaking[0].sum() == ((worse != NOWHERE) & (worse < a)).sum() > 20
    chance = np.mean(a[50:, None] > b[None, 50:])
    assert one.unrelated == pytest.approx(chance)


def test_equal_columns_are_one_relation_and_dates_are_no_numbers():
    a = np.arange(100)
    changed = a.copy()
    changed[:7] += 1
    [one] = orders([line("a", a, a), line("b", a, changed)])
    assert one.words == "a = b"
    assert one.breaking[0].sum() == 7
    assert not list(orders([line("a", a, a), line("b", a, a, scale=Scale.DATE)]))
    assert not list(orders([line("a", a, a), line("b", a, a, scale=Scale.ORDER)]))
    nowhere = np.full(100, NOWHERE)
    assert not list(orders([line("a", a, a), line("b", nowhere, a)]))


def test_without_relations_there_is_no_score():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 5, 300), rng.integers(0, 5, 300)]
    assert relation_scores(compared(rows, rows), []) == ((), ())
