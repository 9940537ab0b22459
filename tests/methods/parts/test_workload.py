"""Workloads: which marginals are candidates, and how much each matters."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.mechanisms.selection_scores import MOST_WEIGHT
from understudy.methods import plan
from understudy.methods.plan import Workload, small, usual_degree


def schema(*sizes):
    return us.Schema.loads(
        "\n".join(
            f'[columns.{chr(97 + j)}]\nkind = "integer"\nlower = 0\nupper = {size - 1}\n'
            f'bins = {size}\nreviewed = true\nsource = "codebook"'
            for j, size in enumerate(sizes)
        )
    )


FOUR = schema(2, 3, 4, 5)


def of(entries=(), degree=None, target="", columns=FOUR):
    return Workload.of(columns, degree=degree, target=target, entries=entries)


def by_hand(wanted):
    """Every part of a wanted marginal, and its Σ_s c_s |r ∩ s|, one by one."""
    parts = {(name,) for name in "abcd"}
    for s in wanted:
        parts |= {r for width in range(1, len(s) + 1) for r in combinations(s, width)}
    return {r: sum(c * len({*r} & {*s}) for s, c in wanted.items()) for r in parts}


def require(found, wanted):
    expected = by_hand(wanted)
    assert set(found.candidates) == set(expected)
    assert len(found.candidates) == len(expected)
    unit = MOST_WEIGHT / Fraction(max(expected.values()))
    for one, weight in zip(found.candidates, found.weights, strict=True):
        assert weight == max(1, round(unit * Fraction(expected[one])))


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 9])
def test_all_marginals_of_so_many_columns(degree):
    require(of(degree=degree), dict.fromkeys(combinations("abcd", min(degree, 4)), 1))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_those_that_have_the_target(degree):
    ways = [one for one in combinations("abcd", degree) if "c" in one]
    require(of(degree=degree, target="c"), dict.fromkeys(ways, 1))


def test_listed_ones_with_their_weights():
    wanted = {("a", "b"): 2.5, ("b", "c", "d"): 1, ("d",): 0.25}
    require(of(["b & a: 2.5", "d&b & c", "d: 0.25"]), wanted)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.nightly(every=3)
def test_weights_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    every = [one for width in (1, 2, 3, 4) for one in combinations("abcd", width)]
    chosen = [every[k] for k in rng.choice(len(every), 4, replace=False)]
    wanted = {one: int(rng.integers(1, 9)) for one in chosen}
    require(of([f"{' & '.join(one)}: {c}" for one, c in wanted.items()]), wanted)


def test_all_triples_weigh_as_many_as_they_have_columns():
    found = of()
    for one, weight in zip(found.candidates, found.weights, strict=True):
        assert weight == round(MOST_WEIGHT * len(one) / 3)


def test_candidates_come_smaller_ones_first_and_in_the_order_of_the_schema():
    found = of(["d & a", "c & b"]).candidates
    assert found == (("a",), ("b",), ("c",), ("d",), ("a", "d"), ("b", "c"))


def test_many_columns_take_pairs():
    assert [usual_degree(d) for d in (1, 2, 3, 25, 26)] == [1, 2, 3, 3, 2]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["a & z"], "'z'"),
        (["a & b: 0"], "positive"),
        (["a & b: -1"], "positive"),
        (["a & b: much"], "a weight of the workload"),
    ],
)
def test_what_cannot_be_is_refused(entries, said):
    with pytest.raises(Exception, match=said):
        of(entries)


def test_a_marginal_counts_more_for_each_column_with_priority():
    """A weight of all marginals of three, times 4 for each of b and d; whole numbers to 255."""
    raw = {
        one: weight * 4 ** len({*"bd"} & {*one})
        for one, weight in by_hand(dict.fromkeys(combinations("abcd", 3), 1)).items()
    }
    found = Workload.of(FOUR, degree=3, target="", entries=(), priority=("b", "d"))
    wanted = {one: max(1, round(255 * Fraction(raw[one], max(raw.values())))) for one in raw}
    assert dict(zip(found.candidates, found.weights, strict=True)) == wanted
    with pytest.raises(MethodError, match="priority names 'z'"):
        Workload.of(FOUR, degree=3, target="", entries=(), priority=("z",))


def test_an_unknown_target_and_too_many_marginals_are_refused(monkeypatch):
    with pytest.raises(MethodError, match="'z'"):
        of(target="z")
    monkeypatch.setattr(plan, "MOST_CANDIDATES", 5)
    with pytest.raises(MethodError, match="6 marginals of 2 of 4 columns"):
        of(degree=2)
    assert of(degree=2, target="a").candidates  # only three of them have it


def test_marginals_within_a_size():
    found = of(degree=3)
    few = found.within(FOUR, 12)
    sizes = dict(zip("abcd", (2, 3, 4, 5), strict=True))
    for one, weight in zip(found.candidates, found.weights, strict=True):
        fits = len(one) == 1 or np.prod([sizes[name] for name in one]) <= 12
        assert (one in few.candidates) == fits
        if fits:
            assert few.weights[few.candidates.index(one)] == weight
    assert found.within(FOUR, 1).candidates == (("a",), ("b",), ("c",), ("d",))


def test_the_largest_are_left_out_where_all_together_are_too_many(monkeypatch):
    """Singles have 14 cells, then pairs of 6, 8, 10 and 12: 24 more, and the last is too much."""
    pairs = [*combinations("abcd", 1), *combinations("abcd", 2)]
    monkeypatch.setattr(plan, "MOST_TOGETHER", 14 + 24)
    kept = [pairs[k] for k in small(FOUR, pairs, 10**6)]
    assert kept == [*combinations("abcd", 1), ("a", "b"), ("a", "c"), ("a", "d")]
    monkeypatch.setattr(plan, "MOST_TOGETHER", 1)
    assert [pairs[k] for k in small(FOUR, pairs, 10**6)] == [*combinations("abcd", 1)]


def test_columns_of_one_state_are_no_candidates_unless_no_pair_is_left():
    found = of(degree=2, columns=schema(1, 3, 4)).without_constants(schema(1, 3, 4))
    assert found.candidates == (("b",), ("c",), ("b", "c"))
    whole = of(degree=2, columns=schema(1, 3, 4))
    assert [whole.weights[whole.candidates.index(c)] for c in found.candidates] == [*found.weights]
    none = of(degree=2, columns=schema(1, 1, 4))
    assert none.without_constants(schema(1, 1, 4)) is none


def test_small_marginals_of_more_columns_are_candidates_besides():
    """Beside all triples; of columns with so many states that a table has 32 cells at most."""
    columns = schema(2, 2, 3, 2, 4, 50)
    three = of(degree=3, columns=columns)
    deeper = three.deeper(columns)
    names = columns.names
    assert deeper.candidates[: len(three.candidates)] == three.candidates
    assert deeper.weights[: len(three.weights)] == three.weights
    more = deeper.candidates[len(three.candidates) :]
    sizes = dict(zip(names, columns.sizes, strict=True))
    wide = [*combinations(names, 4), *combinations(names, 5)]
    small_ones = {one for one in wide if np.prod([sizes[k] for k in one]) <= 32}
    assert set(more) == small_ones
    assert len(more) == len(small_ones) == 2
    assert all(0 < weight <= MOST_WEIGHT for weight in deeper.weights)


def test_there_are_no_more_of_them_than_are_worth_a_look(monkeypatch):
    columns = schema(*[2] * 8)
    three = of(degree=3, columns=columns)
    assert len(three.deeper(columns).candidates) == len(three.candidates) + 70 + 56
    with_label = three.deeper(columns, "c").candidates[len(three.candidates) :]
    assert len(with_label) == 35 + 35
    assert all("c" in one for one in with_label)
    monkeypatch.setattr(plan, "MOST_DEEPER", 69)
    assert three.deeper(columns) == three
