"""Attacks on the reading of rows: one record that moves the codes of others through its type.

Each attack is a pair of neighbouring tables that an honest reader codes alike but for the one row,
and that a reader by type coded apart. The claim that all of them try to break: **coding is a
function of one cell's value alone.**
"""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.schema import Schema

DAY = datetime.date


def schema(*lines):
    head = 'row_limit = 10000\n[columns.x]\nsource = "codebook"\nreviewed = true\n'
    return Schema.loads(head + "\n".join(lines))


LEVELS_01 = schema('kind = "categorical"', "levels = [0, 1]")
TEXT_01 = schema('kind = "categorical"', 'levels = ["0", "1"]')
WORDS = schema('kind = "categorical"', 'levels = ["True", "False"]')
INTEGER = schema('kind = "integer"', "lower = 0", "upper = 1")
CONTINUOUS = schema('kind = "continuous"', "lower = 0", "upper = 2", "bins = 2", "spikes = [1]")
TRUTH = schema('kind = "boolean"')
DAYS = schema('kind = "categorical"', "levels = [2020-02-29, 1999-12-31]")
TEXT_DAYS = schema('kind = "categorical"', 'levels = ["2020-02-29", "1999-12-31"]')
DATE = schema('kind = "date"', "lower = 1990-01-01", "upper = 2020-12-31", "missing = [-9]")
TENTHS = schema('kind = "categorical"', "levels = [0.1, 0.2]")
EDGES = schema('kind = "continuous"', "lower = 0", "upper = 1", "bins = [0.0, 0.1, 0.7, 1.0]")


def counts(data, against):
    """Exact counts of the states of column x, and of the rows outside; for the test only."""
    found = Table(data, against).count([(0,)]).expose()[0]
    return [*np.asarray(found.inside).tolist(), found.outside]


def distance(one, two):
    """Rows that two neighbouring tables are coded apart by."""
    return sum(abs(a - b) for a, b in zip(one, two, strict=True))


def with_row(frame, value):
    """The frame with one row more, as people add it."""
    longer = frame.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        longer.loc[len(longer)] = [value]
    return longer


TRUTHS = pd.DataFrame({"x": [True] * 300 + [False] * 300})
MOMENTS = pd.DataFrame({"x": pd.to_datetime(["2020-02-29", "1999-12-31"] * 50)})
SHORT = pd.DataFrame({"x": np.array([0.1, 0.2] * 50, dtype="float32")})
DURATIONS = pd.DataFrame({"x": pd.to_timedelta([1, 2] * 50, unit="D")})
PANDAS_ATTACKS = {
    "a blank cell turns truth values into objects: levels 0 and 1": (TRUTHS, None, LEVELS_01),
    "the same with levels as text": (TRUTHS, None, TEXT_01),
    "the same with levels True and False as text": (TRUTHS, "odd", WORDS),
    "the same with whole numbers": (TRUTHS, None, INTEGER),
    "the same with real numbers": (TRUTHS, "odd", CONTINUOUS),
    "the same with truth values": (TRUTHS, "odd", TRUTH),
    "a number turns truth values into numbers": (TRUTHS, 7, WORDS),
    "a word turns moments into objects: days as levels": (MOMENTS, "odd", DAYS),
    "the same with days as text": (MOMENTS, "odd", TEXT_DAYS),
    "the same with dates": (MOMENTS, 10**30, DATE),
    "a word turns 32-bit numbers into objects": (SHORT, "odd", TENTHS),
    "the same at the edges of bins": (SHORT, "odd", EDGES),
    "durations were an error, and a release with one odd value": (DURATIONS, "odd", INTEGER),
    "the same against dates": (DURATIONS, 1, DATE),
    "whole numbers against dates": (pd.DataFrame({"x": [1, 2] * 50}), "odd", DATE),
}


@pytest.mark.parametrize("attack", PANDAS_ATTACKS)
def test_one_row_moves_one_count_of_a_pandas_frame(attack):
    """Claim: a data frame and its neighbour are coded alike but for the one row."""
    frame, odd, against = PANDAS_ATTACKS[attack]
    assert distance(counts(frame, against), counts(with_row(frame, odd), against)) == 1
    as_object = pd.concat([frame, pd.DataFrame({"x": [odd]}, dtype=object)], ignore_index=True)
    assert distance(counts(frame, against), counts(as_object, against)) == 1


def test_the_blank_cell_no_longer_tells_two_tables_apart():
    """Claim: the release of the demonstration with ε ≥ 3.98 at a stated ε = 1 keeps to ε = 1.

    The event was "noisy count of level 0 below 250", which had probability 0 on one side and 1 on
    the other. The noise of both sides is seeded alike, so equal exact counts show as equal noisy
    counts: a shift of one at most in each cell, in every one of 20 releases.
    """

    def level_0(frame, seed):
        release = us.synthesize(
            frame, LEVELS_01, method="laplace", epsilon=1, insecure_noise_seed=seed
        )
        table = next(one for one in release.measurements if one.kind == "table")
        return np.asarray(table.counts).ravel()[0]

    for seed in range(20):
        clean, attacked = (level_0(one, seed) for one in (TRUTHS, with_row(TRUTHS, None)))
        assert abs(clean - attacked) <= 1
        assert clean >= 250
        assert attacked >= 250


def test_a_32_bit_number_is_the_number_that_was_meant():
    """Claim: 0.1 and 0.7 fall alike from 16, 32 and 64 bits, also after they were widened."""
    wanted = counts(pd.DataFrame({"x": [0.1, 0.7]}), EDGES)
    assert wanted == [0, 1, 1, 0]
    short = pd.DataFrame({"x": np.array([0.1, 0.7], dtype="float32")})
    for frame in (short, short.astype("float64"), short.astype(object), pl.from_pandas(short)):
        assert counts(frame, EDGES) == wanted
    levels = schema('kind = "categorical"', "levels = [0.1, 0.7]")
    for frame in (short, short.astype("float64"), short.astype(object), pl.from_pandas(short)):
        assert counts(frame, levels) == [1, 1, 0]


def test_a_number_means_a_level_within_2_to_the_minus_23():
    """Claim: the reach of a numeric level is 2⁻²³ of it; of several the nearest has the number."""
    levels = schema('kind = "ordinal"', "levels = [1.0, 1.00000005, -3.5]")
    reach = 2.0**-23
    values = [1 - reach, 1 - 2 * reach, 1.00000002, 1.00000003, -3.5 * (1 + reach), -3.5 - 4e-6]
    assert counts(pd.DataFrame({"x": values}), levels) == [2, 1, 1, 2]


def test_long_codes_stay_apart():
    """Claim: what is declared as text is compared exactly, whatever type the numbers have."""
    levels = schema('kind = "categorical"', 'levels = ["12345678", "12345679"]')
    for dtype in ("int64", "float64", "object", "str"):
        frame = pd.DataFrame({"x": [12345678, 12345679, 12345680]}).astype(dtype)
        if dtype == "str":
            assert frame["x"].tolist()[0] == "12345678"
        assert counts(frame, levels) == [1, 1, 1]


def test_long_whole_numbers_are_declared_as_text():
    """Claim: no level is a number that 64 bits cannot tell from its neighbours."""
    for level in (2**53 + 1, -(2**53) - 1, 10**30):
        with pytest.raises(us.UnderstudyError, match="declare it as text"):
            schema('kind = "categorical"', f"levels = [{level}]")
    schema('kind = "categorical"', f"levels = [{2**53}, '{2**53 + 3}']")


LOSSY = {
    "a blank cell rounds long whole numbers": ('levels = ["9007199254740993"]', [2**53 + 1, 5]),
    "a reader makes 3 of 03": ('levels = ["03", "3"]', [3, 3]),
    "a reader makes truth values of words": ('levels = ["True", "true"]', [True, False]),
    "a reader cuts the time off": (
        'levels = ["2020-02-29", "2020-02-29 10:00"]',
        pd.to_datetime(["2020-02-29 10:00"] * 2),
    ),
}


@pytest.mark.parametrize("attack", LOSSY)
def test_what_was_lost_before_is_refused_from_the_type_alone(attack):
    """Claim: where a type has lost what the levels need, no row decides about the refusal."""
    levels, values = LOSSY[attack]
    against = schema('kind = "categorical"', levels)
    frame = pd.DataFrame({"x": values})
    for part in (frame, frame.head(0), pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(
            us.UnderstudyError,
            match=r"^Column 'x' has the type .*; convert the column to text\. `understudy",
        ):
            us.synthesize(part, against, epsilon=1)


def test_a_part_of_a_folder_does_not_decide_how_others_are_read(tmp_path):
    """Claim: each file of a folder is read by its own types."""
    pa.parquet.write_table(pa.table({"x": [True] * 50}), tmp_path / "1.parquet")
    clean = counts(tmp_path, LEVELS_01)
    for odd in (["odd"], [None], [0.5], [b"\xff"], [Decimal("2")], [DAY(2020, 1, 1)], [[1]]):
        pa.parquet.write_table(pa.table({"x": odd}), tmp_path / "2.parquet")
        assert distance(clean, counts(tmp_path, LEVELS_01)) == 1
    pa.parquet.write_table(pa.table({"other": [1]}), tmp_path / "2.parquet")
    assert distance(clean, counts(tmp_path, LEVELS_01)) == 1


def test_bytes_in_a_text_column_do_not_hide_the_texts():
    """Claim: one cell of bytes, for which Arrow and Polars make bytes of all, moves one count."""
    against = schema('kind = "categorical"', 'levels = ["a", "b"]')
    texts = ["a", "b"] * 50
    clean = counts(pl.DataFrame({"x": texts}), against)
    for odd in (b"a", b"\xff"):
        for table in (
            pa.table({"x": pa.array([*texts, odd])}),
            pl.DataFrame({"x": [*texts, odd]}, strict=False),
            pd.DataFrame({"x": [*texts, odd]}),
        ):
            assert distance(clean, counts(table, against)) == 1


FAR = {
    "us": pa.array([2**62, 0], pa.timestamp("us", "Asia/Tokyo")),
    "ms": pa.array([2**62, 0], pa.timestamp("ms", "Asia/Tokyo")),
    "days": pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("unit", FAR)
def test_a_moment_far_away_stops_nothing(unit, tmp_path):
    """Claim: no value, however far from all calendars, is an error (Polars breaks off at some)."""
    table = pa.table({"x": FAR[unit]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    for data in (table, pl.from_arrow(table), tmp_path / "x.parquet"):
        for against in (DATE, DAYS, INTEGER):
            assert sum(counts(data, against)) == 2


def test_text_that_is_none_stops_nothing():
    """Claim: broken UTF-8 inside an Arrow text column costs that one cell."""
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "int32")), pa.py_buffer(b"\xffa")]
    )
    against = schema('kind = "categorical"', 'levels = ["a", "b"]')
    assert counts(pa.table({"x": broken}), against) == [1, 0, 1]


def test_a_view_of_text_that_is_none_stops_nothing():
    """Claim: the same where Arrow keeps views of texts; Polars once read beyond their memory."""
    broken = pa.array([b"a", b"\xe9", b"b"]).cast(pa.binary_view()).view(pa.string_view())
    against = schema('kind = "categorical"', 'levels = ["a", "b"]')
    assert counts(pa.table({"x": broken}), against) == [1, 1, 1]


def test_text_that_is_none_stops_nothing_in_a_file(tmp_path):
    """Claim: one broken text in a Parquet file, which few writers look for, costs its own cell."""
    against = schema('kind = "categorical"', 'levels = ["a", "b"]')
    for n, options in ((50, {}), (50, {"use_dictionary": False}), (400_000, {})):
        texts = pa.array([b"a", b"b"] * n).view(pa.string())
        broken = pa.array([b"\xe9"]).view(pa.string())
        odd = pa.chunked_array([texts, broken])
        beside = list(range(2 * n + 1))
        for values in (odd, odd.dictionary_encode()):
            table = pa.table({"a": beside, "x": values, "x.y": odd})
            pa.parquet.write_table(table, tmp_path / "x.parquet", **options)
            assert counts(tmp_path / "x.parquet", against) == [n, n, 1]
    whole = Schema.loads(
        'row_limit = 10\n[columns.x]\nkind="categorical"\nlevels=["a", "b"]\nreviewed=true\n'
        '[columns.a]\nkind="integer"\nlower=0\nupper=999_999\nreviewed=true\n'
    )
    read = Table(tmp_path / "x.parquet", whole).read(["a", "x"]).expose()
    order = np.argsort(read[0].number)
    assert read[0].number[order].tolist() == beside
    assert read[1].states[order].tolist() == [*([0, 1] * n), 2]


class Derived(pd.DataFrame):
    """A table of somebody's own, as geographic libraries have them."""

    @property
    def _constructor(self):
        return Derived


def test_a_table_derived_from_pandas_is_read_like_one():
    """Claim: no other reader, which takes types from all rows, gets hold of such a table."""
    for values, against in (([True, False] * 50, LEVELS_01), ([1, 0] * 50, TEXT_01)):
        clean = counts(pd.DataFrame({"x": values}), against)
        for odd in (None, "odd", 0.5, [1], b"\xff"):
            assert distance(clean, counts(Derived({"x": [*values, odd]}), against)) == 1


@pytest.mark.parametrize("year", [10_000, 123_456, -5])
def test_a_day_beyond_four_digits_is_one_in_no_column(year):
    """Claim: such a day is no level, whether its column holds moments or objects."""
    day = np.datetime64(year - 1970, "Y").astype("datetime64[s]")
    name = str(day.astype("datetime64[D]"))
    against = schema('kind = "categorical"', f'levels = ["{name}", "a"]')
    moments = pd.Series(np.array([day] * 50))
    clean = counts(pd.DataFrame({"x": moments}), against)
    assert clean == [0, 0, 50]
    for odd in (moments, pd.Series([day] * 50, dtype=object)):
        longer = pd.DataFrame({"x": pd.concat([odd.astype(object), pd.Series(["a"])])})
        assert distance(clean, counts(longer, against)) == 1


def test_complex_numbers_are_refused_from_the_type_alone():
    """Claim: no row reads memory in place of empty cells, as pandas leaves them in such columns."""
    masked = pd.DataFrame({"x": pd.Series([1, None, 0], dtype="Int64")})
    for values in (pd.Series([1, 0], dtype="complex64"), with_row(masked, 1j)["x"]):
        if values.dtype.kind == "O" and pd.__version__.startswith("3.0."):  # read one by one
            longer = pd.DataFrame({"x": values})
            assert distance(counts(masked, INTEGER), counts(longer, INTEGER)) == 1
            continue
        assert values.dtype.kind == "c"
        for one in (values, values.head(0), values.astype("category")):
            with pytest.raises(us.UnderstudyError, match="which cannot be read; convert it"):
                counts(pd.DataFrame({"x": one}), INTEGER)


def test_a_number_beyond_64_bits_is_not_told():
    """Claim: no warning, which depends on the rows, comes out of the reading of long doubles."""
    values = np.array([1, np.longdouble("1e400")], dtype=np.longdouble)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counts(pd.DataFrame({"x": values}), INTEGER) == [0, 1, 1]


class Hostile:
    """Raises at whatever it is asked."""

    def _no(self, *_):
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __bool__ = __len__ = _no
    __class__ = property(_no)


def test_a_hostile_object_costs_its_own_cell():
    """Claim: an object that raises at everything neither stops the reading nor moves a count."""
    cells = np.empty(101, dtype=object)
    cells[:100] = [True, False] * 50
    cells[100] = Hostile()
    clean = counts(pd.DataFrame({"x": cells[:100]}), LEVELS_01)
    assert clean == [50, 50, 0]
    assert distance(clean, counts(pd.DataFrame({"x": cells}), LEVELS_01)) == 1
    polars = pl.DataFrame({"x": pl.Series(cells.tolist(), dtype=pl.Object)})
    assert distance(clean, counts(polars, LEVELS_01)) == 1
    assert distance(clean, counts(polars.lazy(), LEVELS_01)) == 1
