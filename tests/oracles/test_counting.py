"""The compiled counters against slow, obvious ones."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.data import marginals as marginals_module
from understudy.data.marginals import (
    MAX_CODES,
    MarginalCounter,
    OccupiedCounter,
    count_marginals,
    cover,
    decode,
    encode,
)

MOST_CELLS = 10**6 if NIGHT else 2 * 10**5
WIDTHS = (np.uint8, np.uint16, np.uint32)
reproducible = settings(
    derandomize=True, deadline=None, max_examples=150 if NIGHT else 50, database=None
)

small_sizes = st.lists(st.integers(1, 7), min_size=1, max_size=6)
mixed_sizes = st.lists(st.sampled_from([1, 2, 3, 7, 256, 257, 300, 70_000]), min_size=1, max_size=4)


@st.composite
def requests(draw, n_columns):
    """Marginals of arity 0 to 4, in any column order, some of them twice."""
    columns = st.permutations(range(n_columns))
    arity = st.integers(0, min(4, n_columns))
    marginal = st.tuples(columns, arity).map(lambda drawn: tuple(drawn[0][: drawn[1]]))
    chosen = draw(st.lists(marginal, max_size=8))
    return chosen + draw(st.lists(st.sampled_from(chosen), max_size=2) if chosen else st.just([]))


@st.composite
def batches(draw, sizes):
    """Up to three batches, some empty or of one row, whose columns have mixed widths."""
    drawn = []
    for n_rows in draw(st.lists(st.sampled_from([0, 1, 2, 30, 5000]), max_size=3)):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        batch = []
        for size in sizes:
            fitting = [width for width in WIDTHS if np.iinfo(width).max >= size - 1]
            # The square of a uniform variate is skewed: cells with one row and with many occur.
            codes = np.floor(rng.random(n_rows) ** 2 * size)
            codes[: n_rows // 10] = size - 1
            batch.append(codes.astype(draw(st.sampled_from(fitting))))
        drawn.append(batch)
    return drawn


@st.composite
def problems(draw, all_sizes):
    sizes = draw(all_sizes)
    return sizes, draw(requests(len(sizes))), draw(batches(sizes))


def count_by_rows(batches, sizes, marginal):
    """The slow oracle: one unbuffered increment for each row."""
    table = np.zeros([sizes[j] for j in marginal], dtype=np.int64)
    for batch in batches:
        index = tuple(batch[j].astype(np.int64) for j in marginal)
        np.add.at(table, index if index else (), 1 if index else len(batch[0]))
    return table


def assert_counts(counted, sizes, marginals, batches):
    assert len(counted) == len(marginals)
    for table, marginal in zip(counted, marginals, strict=True):
        expected = count_by_rows(batches, sizes, marginal)
        assert table.dtype == np.int64
        assert table.shape == expected.shape
        np.testing.assert_array_equal(table, expected)


@reproducible
@given(problems(small_sizes), st.sampled_from([1, 8, 100, 2**16]))
def test_marginals_equal_row_by_row_counts(problem, cap):
    sizes, marginals, batches = problem
    counter = MarginalCounter(sizes, marginals, cap=cap)
    for batch in batches:
        counter.add(batch)
    assert_counts(counter.tables(), sizes, marginals, batches)


@settings(reproducible, max_examples=60 if NIGHT else 25)
@given(problems(mixed_sizes.filter(lambda sizes: math.prod(sizes) <= MOST_CELLS)))
def test_marginals_of_wide_columns(problem):
    sizes, marginals, batches = problem
    counter = MarginalCounter(sizes, marginals)
    for batch in batches:
        counter.add(batch)
    assert_counts(counter.tables(), sizes, marginals, batches)


@pytest.mark.parametrize("sizes", [(65_536, 1), (1, 65_536), (256, 256), (65_537, 1), (1, 1)])
def test_indices_at_the_edge_of_their_type(sizes):
    """2^16 cells are indexed by 16 bits, one more by 32."""
    columns = [np.array([0, size - 1, size // 2], dtype=np.uint32) for size in sizes]
    wanted = [(0, 1), (1, 0), (0,), ()]
    assert_counts(count_marginals(columns, sizes, wanted), sizes, wanted, [columns])


def test_many_staged_portions(monkeypatch):
    """Rows that fill the staging array several times, and not evenly."""
    monkeypatch.setattr(marginals_module, "_STAGE_BYTES", 1)
    rng = np.random.default_rng(1)
    sizes, wanted = [5, 7, 3], [(2, 0), (1,), (0, 1, 2)]
    columns = [rng.integers(0, size, 3 * 4096 + 11).astype(np.uint8) for size in sizes]
    assert_counts(count_marginals(columns, sizes, wanted), sizes, wanted, [columns])


def test_counts_are_widened_before_they_can_overflow(monkeypatch):
    monkeypatch.setattr(marginals_module, "_NARROW_ROWS", 5)
    batch = [np.array([0, 1, 1], dtype=np.uint8)]
    counter = MarginalCounter([2], [(0,)])
    for n_batches, width in [(1, np.uint32), (2, np.int64), (3, np.int64)]:
        counter.add(batch)
        assert counter._counts.dtype == width
        np.testing.assert_array_equal(counter.tables()[0], [n_batches, 2 * n_batches])


def test_tables_belong_to_the_caller():
    counter = MarginalCounter([2, 3], [(0, 1), (0, 1)])
    counter.add([np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8)])
    first, second = counter.tables()
    first[:] = 9
    assert second.sum() == 1
    assert counter.tables()[0].sum() == 1


def test_strided_and_read_only_columns():
    """Columns of an Arrow batch are read-only, those of a row-major array are strided."""
    rows = np.random.default_rng(2).integers(0, 4, (100, 2)).astype(np.uint8)
    rows.flags.writeable = False
    columns = [rows[:, 0], rows[:, 1]]
    assert_counts(count_marginals(columns, [4, 4], [(1, 0)]), [4, 4], [(1, 0)], [columns])
    np.testing.assert_array_equal(
        encode(columns, [4, 4]), rows.astype(np.int64) @ np.array([4, 1], dtype=np.int64)
    )


U8 = np.array([0, 1, 3], dtype=np.uint8)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ([U8], "expected 2 columns"),
        ([U8, U8[:2]], "as long as"),
        ([U8, U8.reshape(3, 1)], "one-dimensional"),
        ([U8, U8.astype(np.int64)], "unsigned"),
        ([U8, U8 + np.uint8(1)], "column 1 must hold codes below 4"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_whole(columns, complaint):
    counter, occupied = MarginalCounter([4, 4], [()]), OccupiedCounter([4, 4])
    for add in (counter.add, occupied.add):
        with pytest.raises(ValueError, match=complaint):
            add(columns)
    assert counter.tables()[0] == 0
    assert occupied.cells()[0].size == 0


def test_a_dense_table_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="dense table"):
        MarginalCounter([2**16, 2**15, 2], [(0, 1, 2)])


@reproducible
@given(problems(small_sizes | mixed_sizes), st.integers(0, 2**32 - 1))
def test_occupied_cells_equal_a_dictionary_of_rows(problem, seed):
    sizes, _, batches = problem
    rng = np.random.default_rng(seed)
    counter, expected = OccupiedCounter(sizes), Counter()
    for k, batch in enumerate(batches):
        keep = rng.random(len(batch[0])) < 0.5 if k % 2 else None
        counter.add(batch, keep)
        rows = zip(*(column.tolist() for column in batch), strict=True)
        expected.update(row for i, row in enumerate(rows) if keep is None or keep[i])
    codes, counts = counter.cells()
    assert codes.dtype == counts.dtype == np.int64
    assert (np.diff(codes) > 0).all()
    values = zip(*(column.tolist() for column in decode(codes, sizes)), strict=True)
    assert dict(zip(values, counts.tolist(), strict=True)) == expected


def test_occupied_cells_of_many_small_batches():
    """Enough batches that runs of all lengths are merged, also after an early look."""
    rng = np.random.default_rng(3)
    counter, expected = OccupiedCounter([300, 40]), Counter()
    for k in range(100):
        n_rows = int(rng.integers(0, 40))
        batch = [rng.integers(0, 300, n_rows).astype(np.uint16)]
        batch.append(rng.integers(0, 40, n_rows).astype(np.uint8))
        counter.add(batch)
        expected.update((batch[0].astype(int) * 40 + batch[1]).tolist())
        if k == 50:
            counter.cells()
    codes, counts = counter.cells()
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == expected


@reproducible
@given(problems(small_sizes), st.integers(1, 12), st.integers(0, 2))
def test_lowest_cells_are_the_first_of_all_that_are_occupied(problem, most, merged):
    """Whatever the batches, whichever cells are left out, and wherever they were counted."""
    sizes, _, batches = problem
    whole = OccupiedCounter(sizes)
    for batch in batches:
        whole.add(batch)
    codes, counts = whole.cells()
    for start in (0, *(codes[: 2 * most : most] + 1).tolist()):
        counter = OccupiedCounter(sizes, start=start, most=most)
        for k, batch in enumerate(batches):
            if k % 3 < merged:
                other = OccupiedCounter(sizes, start=start, most=most)
                other.add(batch)
                counter.merge(*other.cells())
            else:
                counter.add(batch)
        first = int(np.searchsorted(codes, start))
        found = counter.cells()
        np.testing.assert_array_equal(found[0], codes[first : first + most])
        np.testing.assert_array_equal(found[1], counts[first : first + most])


def test_rows_that_are_not_kept_are_not_looked_at():
    counter = OccupiedCounter([2])
    counter.add([np.array([0, 200, 1], dtype=np.uint8)], np.array([True, False, True]))
    np.testing.assert_array_equal(counter.cells()[0], [0, 1])


@pytest.mark.parametrize("keep", [np.ones(2, dtype=np.bool_), np.ones(3, dtype=np.uint8)])
def test_keep_is_one_boolean_for_each_row(keep):
    with pytest.raises(ValueError, match="one boolean"):
        OccupiedCounter([4]).add([U8], keep)


@reproducible
@given(st.data())
def test_codes_round_trip_up_to_the_largest_domain(data):
    sizes = data.draw(
        st.lists(st.sampled_from([1, 2, 7, 255, 256, 257, 65_536, 65_537, 2**31, 2**32])).filter(
            lambda sizes: sizes and math.prod(sizes) <= MAX_CODES
        )
    )
    rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), max_size=20)
    rows = [*data.draw(rows), tuple(size - 1 for size in sizes), (0,) * len(sizes)]
    columns = [
        np.array(values, dtype=np.min_scalar_type(size - 1))
        for values, size in zip(zip(*rows, strict=True), sizes, strict=True)
    ]
    codes = encode(columns, sizes)
    for row, code in zip(rows, codes.tolist(), strict=True):
        exact = 0
        for value, size in zip(row, sizes, strict=True):
            exact = exact * size + value
        assert code == exact
    for decoded, column in zip(decode(codes, sizes), columns, strict=True):
        assert decoded.dtype == column.dtype
        np.testing.assert_array_equal(decoded, column)


def test_codes_at_the_very_end_of_the_largest_domain():
    sizes = [2**31, 2**31]
    ends = np.array([0, MAX_CODES - 1, MAX_CODES - 2, 2**31], dtype=np.int64)
    np.testing.assert_array_equal(encode(decode(ends, sizes), sizes), ends)
    for outside in (MAX_CODES, -1):
        with pytest.raises(ValueError, match="codes must lie"):
            decode(np.array([outside], dtype=np.int64), sizes)


@pytest.mark.parametrize("sizes", [[], [0], [2**31, 2**31, 2]])
def test_domains_that_cannot_be_coded_are_refused(sizes):
    with pytest.raises(ValueError, match="table"):
        OccupiedCounter(sizes)


@st.composite
def cover_problems(draw):
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7, 300, 70_000]), min_size=1, max_size=8))
    return sizes, draw(requests(len(sizes))), draw(st.sampled_from([1, 10, 1000, 2**16, 2**31]))


@settings(reproducible, max_examples=300 if NIGHT else 50)
@given(cover_problems(), st.randoms(use_true_random=False))
def test_each_marginal_is_covered_within_the_cap(problem, random):
    sizes, marginals, cap = problem
    chosen = cover(sizes, marginals, cap=cap)
    wanted = {frozenset(marginal) for marginal in marginals}
    for marginal, table in zip(marginals, chosen.table_of, strict=True):
        assert set(marginal) <= set(chosen.tables[table])
    for table in chosen.tables:
        assert list(table) == sorted(set(table))
        assert math.prod(sizes[j] for j in table) <= cap or frozenset(table) in wanted
    assert set(chosen.table_of) == set(range(len(chosen.tables)))
    shuffled = random.sample(marginals, len(marginals))
    assert cover(sizes, shuffled, cap=cap).tables == chosen.tables


def grown(sizes, sets, cap):
    """The tables of the greedy cover, slowly: all is worked out anew for every column."""
    left, tables = list(sets), []
    while left:
        table, room = set(left[0]), cap // min(math.prod(sizes[j] for j in left[0]), cap + 1)
        while True:
            rates = []
            for column in set(range(len(sizes))) - table:
                near = [(len(set(one) - table), len(one)) for one in left if column in one]
                gain = sum(0.125 ** (now - 1.0) - 0.125 ** (first - 1.0) for now, first in near)
                if gain > 0 and sizes[column] <= room:
                    rates.append((gain / math.log2(sizes[column] + 1), -column))
            if not rates:
                break
            best = -max(rates)[1]
            table.add(best)
            room //= sizes[best]
        covered = [one for one in left if set(one) <= table]
        tables.append(tuple(sorted({j for one in covered for j in one})))
        left = [one for one in left if one not in covered]
    return tuple(tables)


@reproducible
@given(cover_problems())
def test_tables_grow_by_the_column_that_does_most_for_its_room(problem):
    sizes, marginals, cap = problem
    sets = {tuple(sorted(marginal)) for marginal in marginals}
    ordered = sorted(sets, key=lambda one: (-math.prod(sizes[j] for j in one), one))
    assert cover(sizes, marginals, cap=cap).tables == grown(sizes, ordered, cap)


def test_pairs_share_tables():
    """Seven binary columns fit in one table, whatever pairs of them are asked for."""
    pairs = [(i, j) for i in range(7) for j in range(i)]
    assert cover([2] * 7, pairs).tables == (tuple(range(7)),)


@pytest.mark.parametrize(
    ("sizes", "marginals", "cap", "complaint"),
    [
        ([], [], 10, "at least one column"),
        ([2, 0], [(0,)], 10, "column 1"),
        ([2, 2], [(0, 0)], 10, "once"),
        ([2, 2], [(0, 2)], 10, "numbered"),
        ([2, 2], [(-1,)], 10, "numbered"),
        ([2, 2], [(0,)], 0, "cap"),
    ],
)
def test_inadmissible_requests_are_refused(sizes, marginals, cap, complaint):
    with pytest.raises(ValueError, match=complaint):
        cover(sizes, marginals, cap=cap)
