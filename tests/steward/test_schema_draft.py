"""Drafting: what becomes what, from every kind of input; nothing crashes; never usable as it is."""

import datetime
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.errors import DataError, SchemaError, name_fault
from understudy.schema import Schema
from understudy.steward.check import check
from understudy.steward.column_draft import round_edges
from understudy.steward.draft import draft_schema

pytestmark = pytest.mark.whole

reproducible = settings(derandomize=True, deadline=None, max_examples=40 if NIGHT else 12)
DAY = datetime.date
RANDOM = np.random.default_rng(7)
N = 200


def drafted(values, **options):
    """The drafted column of one list of values."""
    series = values if isinstance(values, pl.Series) else pl.Series(values, **options)
    return Schema.loads(draft_schema(pl.DataFrame({"c": series}))).columns["c"]


def facts(column):
    """What the column declares, without what every draft says."""
    said = {"source", "reviewed", "confirmed", "drafted", "description", "unit", "random_groups"}
    content = column.model_dump(exclude=said)
    return {key: value for key, value in content.items() if value not in ((), None, {}, "")}


MANY = [round(float(x), 3) for x in RANDOM.normal(50, 10, N)]

CASES = {
    "truth values": ([True, False, None], {"kind": "boolean", "missing": ("",)}),
    "truth words": (["TRUE", "false ", "", "NA"], {"kind": "boolean", "missing": ("", "NA")}),
    "few whole numbers": (
        [17, 66, 20],
        {"kind": "integer", "lower": 17, "upper": 66, "bins": 50},
    ),
    "many whole numbers": (
        [17, 67, 20],
        {"kind": "integer", "lower": 17, "upper": 67, "bins": 20},
    ),
    "whole real numbers": (
        [1.0, 3.0, None, math.nan],
        {"kind": "integer", "lower": 1, "upper": 3, "bins": 3, "missing": ("",)},
    ),
    "whole numbers as text": (
        ["1", " 3.0 ", "2e0", None],
        {"kind": "integer", "lower": 1, "upper": 3, "bins": 3, "missing": ("",)},
    ),
    "words for no value": (
        ["1", "3", "NA", "n/a", "nan", "NULL", ".", "?", " "],
        {
            "kind": "integer",
            "lower": 1,
            "upper": 3,
            "bins": 3,
            "missing": (" ", ".", "?", "NA", "NULL", "n/a", "nan"),
        },
    ),
    "infinite values": (
        ["1", "2", "inf", "-Infinity"],
        {"kind": "integer", "lower": 1, "upper": 2, "bins": 2},
    ),
    "whole numbers of a wide range": (
        [103, 98_765, 7],
        {"kind": "integer", "lower": 0, "upper": 99_000, "bins": 20},
    ),
    "the widest range": (
        [-(2**53), 3, 2**53],
        {"kind": "integer", "lower": -(2**53), "upper": 2**53, "bins": 20},
    ),
    "days of years": (
        [DAY(1999, 2, 3), DAY(2004, 2, 3)],
        {"kind": "date", "lower": DAY(1999, 2, 1), "upper": DAY(2004, 2, 29), "bins": 20},
    ),
    "the last day": (
        [DAY(1, 1, 2), DAY(9999, 12, 30)],
        {"kind": "date", "lower": DAY(1, 1, 1), "upper": DAY(9999, 12, 31), "bins": 20},
    ),
    "one whole number": ([5, 5], {"kind": "integer", "lower": 5, "upper": 5, "bins": 1}),
    "negative zero": ([-0.0, 0.0], {"kind": "integer", "lower": 0, "upper": 0, "bins": 1}),
    "grades": ([0.5, 2.5, 6.0] * 5, {"kind": "ordinal", "levels": (0.5, 2.5, 6.0)}),
    "grades as text": (["0.5", "2.50", "6"] * 5, {"kind": "ordinal", "levels": (0.5, 2.5, 6.0)}),
    "one real number": ([0.5], {"kind": "ordinal", "levels": (0.5,)}),
    "32 bits": (
        pl.Series([0.1, 0.7] * 5, dtype=pl.Float32),
        {"kind": "ordinal", "levels": (0.1, 0.7)},
    ),
    "real numbers": (
        [1000.1321, 1000.8741, 1000.5],
        {"kind": "continuous", "lower": 1000.13, "upper": 1000.88, "bins": 20, "decimals": 4},
    ),
    "days": (
        [DAY(2020, 1, 5), DAY(2020, 1, 1), None],
        {"kind": "date", "lower": DAY(2020, 1, 1), "upper": DAY(2020, 1, 5), "bins": 5}
        | {"missing": ("",)},
    ),
    "midnights": (
        [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)],
        {"kind": "date", "lower": DAY(2020, 1, 1), "upper": DAY(2021, 1, 31), "bins": 20},
    ),
    "days as text": (
        ["2020-01-01", "2020-03-01T00:00", "NA"],
        {"kind": "date", "lower": DAY(2020, 1, 1), "upper": DAY(2020, 3, 1), "bins": 20}
        | {"missing": ("NA",)},
    ),
    "no day": (
        ["2020-02-29", "2019-02-29"],
        {"kind": "categorical", "levels": ("2019-02-29", "2020-02-29")},
    ),
    "text": (
        ["step 10", "step 9", "10", "9", None, "NA"],
        {"kind": "categorical", "levels": ("9", "10", "NA", "step 9", "step 10")}
        | {"missing": ("",)},
    ),
    "leading zeros": (["007", "10", "9"], {"kind": "categorical", "levels": ("007", "9", "10")}),
    "only a word": (["NA", "?"], {"kind": "categorical", "levels": ("?", "NA")}),
    "declared categorical": (
        pl.Series(["2", "1"], dtype=pl.Categorical),
        {"kind": "categorical", "levels": ("1", "2")},
    ),
    "Unicode digits": (["٣", "٤"], {"kind": "categorical", "levels": ("٣", "٤")}),
    "endless digits": (
        ["a" + "9" * 5000, "a" + "8" * 5000, "a0"],
        {"kind": "categorical", "levels": ("a0", "a" + "8" * 5000, "a" + "9" * 5000)},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.nightly(every=2)
def test_what_becomes_what(case):
    values, expected = CASES[case]
    assert facts(drafted(values)) == expected


def test_real_numbers_get_rounded_bounds_and_no_levels():
    column = drafted([*MANY, None])
    assert facts(column)["kind"] == "continuous"
    assert column.lower <= min(MANY)
    assert column.upper >= max(MANY)
    assert (column.lower, column.upper) == (round(column.lower), round(column.upper))
    assert "spikes" not in facts(column)


def test_a_value_that_many_rows_share_is_a_spike():
    zeros = [0.0] * 30  # 30 of 230 rows are more than a tenth
    assert drafted(MANY + zeros).spikes == (0.0,)
    assert drafted(MANY + zeros[:20]).spikes == ()  # 20 of 220 rows are not
    gains = [0] * 100 + RANDOM.integers(1, 10**5, N).tolist()
    assert drafted(gains).spikes == (0,)


def test_spikes_that_fill_a_bin_are_left_out():
    # 51 values in 20 bins: the first holds 0 and 1
    values = [0] * 40 + [1] * 40 + list(range(10, 51, 2)) * 5
    assert facts(drafted(values)) == {"kind": "integer", "lower": 0, "upper": 50, "bins": 20}


CODES = {
    "two codes": ([1, 2] * 5, (1, 2)),
    "flags": (["0", "1"] * 5, (0, 1)),
    "a short list": ([1, 2, 3, 4, 5, 6] * 5, (1, 2, 3, 4, 5, 6)),
    "a code for not known": ([1.0, 2.0, 9.0, None] * 5, (1, 2, 9)),
    "large codes": ([100, 200, 410] * 5, (100, 200, 410)),
    "too few rows": ([1, 2] * 4, None),
    "counts": ([0, 1, 2] * 5, None),
    "counts with a gap": ([0, 1, 2, 3, 4, 8] * 5, None),
    "sizes": (list(range(1, 8)) * 5, None),
    "years": ([2019, 2020, 2021] * 5, None),
    "one value": ([7] * 50, None),
    "many": (list(range(0, 26, 2)) * 5, None),
}


@pytest.mark.parametrize("case", CODES)
def test_few_whole_numbers_that_look_like_codes_are_levels(case):
    values, levels = CODES[case]
    column = drafted(values)
    assert column.kind == ("integer" if levels is None else "categorical")
    assert levels is None or column.levels == levels
    assert levels is None or all(type(level) is int for level in column.levels)


def shares(column, values):
    """Part of the values in each bin."""
    return np.histogram(values, bins=column.bins)[0] / len(values)


@pytest.mark.parametrize("whole", [True, False])
def test_numbers_that_crowd_together_get_round_bins_of_like_many_rows(whole):
    incomes = RANDOM.lognormal(10, 1, 20_000).round(0 if whole else 2)
    column = drafted(incomes)
    edges = column.bins
    assert column.kind == ("integer" if whole else "continuous")
    assert isinstance(edges, tuple)
    assert 15 <= len(edges) - 1 <= 20
    assert (edges[0], edges[-1]) == (column.lower, column.upper)
    assert all(low < high for low, high in itertools.pairwise(edges))
    # Equal bins would hold two thirds of the rows in the first two.
    assert np.histogram(incomes, bins=20)[0][:2].sum() > 0.66 * len(incomes)
    assert shares(column, incomes).max() < 0.12
    digits = [len(f"{edge:.0f}".rstrip("0")) for edge in edges[1:-1]]
    assert max(digits) <= 2


@pytest.mark.parametrize(
    "values",
    [RANDOM.normal(50, 10, 10_000), RANDOM.uniform(0, 1, 500), RANDOM.integers(18, 90, 5_000)],
)
def test_other_numbers_get_bins_of_equal_width(values):
    assert drafted(values).bins == 20


def test_values_that_many_rows_share_do_not_make_numbers_crowded():
    values = np.concatenate([np.zeros(5_000), RANDOM.normal(50, 10, 5_000)])
    column = drafted(values)
    assert (column.bins, column.spikes) == (20, (0.0,))


def test_round_bins_bear_spikes():
    column = drafted(np.concatenate([np.zeros(500), RANDOM.lognormal(10, 1, 2_000)]))
    assert column.spikes == (0.0,)
    assert len(column.bins) > 10


@reproducible
@given(
    st.lists(st.integers(-(10**6), 10**6) | st.integers(0, 30), min_size=2, unique=True),
    st.integers(2, 30),
    st.sampled_from([1, 8, 1000]),
)
def test_round_edges_increase_from_bound_to_bound(numbers, n_bins, divisor):
    values = np.array(sorted(numbers)) / divisor
    rows = np.arange(1, len(values) + 1)
    bounds = (float(values[0]), float(values[-1]))
    edges = round_edges(values, rows, bounds, n_bins, whole=divisor == 1)
    assert (edges[0], edges[-1]) == bounds
    assert list(edges) == sorted(set(edges))
    assert len(edges) <= n_bins + 1
    assert divisor > 1 or all(edge == int(edge) for edge in edges)


LEFT_OUT = {
    "names": ([f"name {k}" for k in range(51)], "looks like an identifier"),
    "many texts": ([f"{k % 1001}x" for k in range(2002)], "looks like an identifier"),
    "very many texts": ([f"{k % 3000}x" for k in range(6000)], "looks like an identifier"),
    "row numbers": (list(range(51)), "looks like an identifier"),
    "large keys": ([2**60, 2**61], "looks like an identifier"),
    "large keys as text": (["1152921504606846976", "7"], "looks like an identifier"),
    "nothing": ([None, None], "holds no value"),
    "empty text": (["", None], "holds no value"),
    "no numbers": ([math.nan, math.inf], "holds no value"),
    "lists": ([[1], [2]], "type cannot be read"),
    "structs": ([{"a": 1}], "type cannot be read"),
    "too wide": ([-1.7e308, 1.7e308, 0.5], "cannot be cut into bins"),
    "too large levels": ([1e300, 0.5] * 30, "cannot be cut into bins"),
    "too narrow": ([1e15 + 0.25, 1e15 + 0.5, 1e15 + 0.125], "cannot be cut into bins"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_is_left_out_is_named_with_the_reason(case):
    values, reason = LEFT_OUT[case]
    name = "odd\nname = 3 #"
    frame = pl.DataFrame({name: values, "kept": [k % 2 for k in range(len(values))]})
    text = draft_schema(frame)
    assert Schema.loads(text).names == ("kept",)
    line = next(line for line in text.splitlines() if "odd" in line)
    assert line.startswith(f"#   {name!r}: ")
    assert reason in line
    with pytest.raises(DataError, match="no column that can be drafted") as caught:
        draft_schema(frame.drop("kept"))
    assert str(caught.value).endswith("write the schema by hand.")


@pytest.mark.parametrize(
    "data", [pl.DataFrame(), pl.DataFrame({"a": []}), pd.DataFrame({"a": [1j]})]
)
def test_a_table_of_nothing_cannot_be_drafted(data):
    with pytest.raises(DataError, match="no column that can be drafted"):
        draft_schema(data)


FRAME = pd.DataFrame(
    {
        "*": [18, 89, *RANDOM.integers(18, 90, N - 2)],
        "^a$": RANDOM.choice(["x", "y"], N),
        "real": MANY,
        "flag": RANDOM.random(N) < 0.5,
        "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(RANDOM.integers(0, 999, N), "D"),
        "score": RANDOM.choice([0.5, 1.5], N),
    }
)


def test_every_kind_of_input_gives_one_draft(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    nullable = FRAME.convert_dtypes()
    polars = pl.from_pandas(FRAME)
    texts = {
        draft_schema(data)
        for data in (
            *(FRAME, nullable, polars, polars.lazy(), polars.to_arrow()),
            *(tmp_path / "a.csv", tmp_path / "a.parquet"),
        )
    }
    assert len(texts) == 1
    assert Schema.loads(texts.pop()).names == tuple(FRAME.columns)


def test_a_draft_says_what_it_is_and_cannot_be_used():
    text = draft_schema(FRAME, title="People")
    assert text.startswith("# CONFIDENTIAL: ")
    assert "do not publish" in text.lower()
    schema = Schema.loads(text)
    assert schema.title == "People"
    left = {name: column.left_as_drafted for name, column in schema.columns.items()}
    assert left == {
        name: tuple(key for key in column.readable if key in column.drafted)
        for name, column in schema.columns.items()
    }
    assert text.count('source = ""') == text.count("reviewed = false") == 1, "for all columns"
    with pytest.raises(SchemaError, match="not reviewed"):
        schema.require_reviewed()


def test_a_changed_entry_is_no_longer_as_drafted():
    text = draft_schema(FRAME).replace("upper = 89", "upper = 99")
    columns = Schema.loads(text).columns
    assert columns["*"].left_as_drafted == ("lower",)
    assert columns["real"].left_as_drafted == ("decimals", "lower", "upper")


cells = st.one_of(
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    st.lists(st.none() | st.sampled_from(["1", "2.5", "NA", "", " ", "inf", "2020-01-01", "true"])),
    st.lists(st.none() | st.floats()),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.none() | st.booleans()),
    st.lists(st.none() | st.dates()),
)


@settings(reproducible, max_examples=150 if NIGHT else 40)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), cells, st.booleans())
def test_no_content_stops_a_draft_and_the_data_fit_it(name, values, categorical):
    series = pl.Series(values or [None])
    if categorical and series.dtype == pl.String:
        series = series.cast(pl.Categorical)
    frame = pl.DataFrame({name: series})
    try:
        schema = Schema.loads(draft_schema(frame))
    except DataError as error:
        unnamed = bool(name_fault(name))
        said = "rename it" if unnamed else "no column that can be drafted"
        assert said in str(error)  # noqa: PT017 - also on success below
        return
    report = check(frame, schema)
    assert all("infinite" in one.problem for one in report.findings)


def test_large_tables_are_drafted_in_few_passes():
    frame = pl.DataFrame({"a": RANDOM.normal(size=400_000), "b": np.arange(400_000) % 7})
    schema = Schema.loads(draft_schema(frame.lazy()))
    assert schema.columns["a"].kind == "continuous"
    assert schema.columns["b"].upper == 6


DECIMALS = {
    "as people write them": (["2.50", "3", "10.00", "7.25"], 2),
    "of real numbers": ([2.5, 3.0, 10.0, 7.125], 3),
    "of 32 bits": (pl.Series([2.5, 3.0, 10.1, 7.25], dtype=pl.Float32), 2),
    "as computers make them": (["0.1", "0.30000000000000004"], None),
    "powers of ten": (["1e-7", "0.25"], None),
    "infinite ones beside": (["inf", "0.25", "7.5"], 2),
}


@pytest.mark.parametrize("case", DECIMALS)
def test_decimals_are_kept_where_people_have_written_them(case):
    values, decimals = DECIMALS[case]
    assert drafted(values).decimals == decimals


def test_negative_zero_is_zero():
    for values in ([-0.0, 0.0, 1.5] * 50, ["-0.0", "1.5"] * 50, [*MANY, *[-0.0] * 200]):
        column = drafted(values)
        named = getattr(column, "levels", None) or column.spikes
        assert 0.0 in named
        assert all(math.copysign(1, value) == 1 for value in named)


CATEGORIES = {
    "unused": (pd.Categorical(["a", "b"] * 30, ["b", "a", "zz"]), "categorical", ("b", "a", "zz")),
    "ordered": (
        pd.Categorical(["low", "high"] * 30, ["low", "mid", "high"], ordered=True),
        *("ordinal", ("low", "mid", "high")),
    ),
    "numbers": (pd.Categorical([3, 1] * 30, [3, 1, 2]), "categorical", (3, 1, 2)),
    "gaps": (pd.Categorical(["a", None] * 30, ["b", "a"]), "categorical", ("b", "a")),
    "nothing": (pd.Categorical([None] * 60, ["b", "a"]), "categorical", ("b", "a")),
    "intervals": (
        pd.cut(pd.Series([5, 15] * 30), [0, 10, 20, 40]).array,
        *("ordinal", ("(0, 10]", "(10, 20]", "(20, 40]")),
    ),
    "truth values": (pd.Categorical([True, False] * 30), "boolean", (False, True)),
    "an Enum": (
        pl.Series(["x", "y"] * 30, dtype=pl.Enum(["y", "z", "x"])),
        "categorical",
        ("y", "z", "x"),
    ),
}


@pytest.mark.parametrize("case", CATEGORIES)
def test_categories_that_a_type_declares_are_levels_used_or_not_in_their_order(case):
    values, kind, levels = CATEGORIES[case]
    make = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    frame = make({"x": values})
    column = Schema.loads(draft_schema(frame)).columns["x"]
    assert (column.kind, column.levels) == (kind, levels)
    assert column.missing == (("",) if case in ("gaps", "nothing") else ())
    assert check(frame, Schema(columns={"x": column})).ok
    assert "levels" in column.left_as_drafted or kind == "boolean"


def test_categories_that_name_the_rows_are_left_out_like_any_texts():
    frame = pd.DataFrame({"x": pd.Categorical([f"name {k}" for k in range(60)]), "y": [1, 2] * 30})
    assert list(Schema.loads(draft_schema(frame)).columns) == ["y"]


@pytest.mark.parametrize("cell", [[1], {"a": 1}, (1, 2), {3}, np.arange(2)])
def test_cells_that_hold_several_values_are_no_levels(cell):
    """Claim: what is written of a list is no value, in a draft as in a release."""
    cells = np.empty(60, dtype=object)
    cells[:] = [cell] * 60
    frame = pd.DataFrame({"x": cells, "y": [1, 2] * 30})
    text = draft_schema(frame)
    assert list(Schema.loads(text).columns) == ["y"]
    assert "'x': its type cannot be read, as that of lists and dictionaries" in text
    mixed = pd.DataFrame({"x": ["a", *cells[:9]]})
    declared = Schema.loads(f"[columns.x]\nkind = 'categorical'\nlevels = ['a', {str(cell)!r}]")
    (found,) = check(mixed, declared).findings
    assert found.count == 9


MOMENTS = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 10)]
TIMED = {
    "pandas": lambda moments, _: pd.DataFrame({"x": moments}),
    "pandas with a zone": lambda moments, _: pd.DataFrame(
        {"x": pd.Series(moments).dt.tz_localize("Asia/Tokyo")}
    ),
    "pandas objects": lambda moments, _: pd.DataFrame({"x": pd.Series(moments, dtype=object)}),
    "arrow": lambda moments, _: pl.DataFrame({"x": moments}).to_arrow(),
    "a file": lambda moments, folder: written(moments, folder / "x.parquet"),
    "a folder": lambda moments, folder: written(moments, folder / "x.parquet").parent,
}


def written(moments, path):
    pl.DataFrame({"x": moments}).write_parquet(path)
    return path


@pytest.mark.parametrize("form", TIMED)
@pytest.mark.nightly(every=2)
def test_no_time_of_day_is_lost_in_silence(form, tmp_path):
    timed = Schema.loads(draft_schema(TIMED[form](MOMENTS, tmp_path))).columns["x"]
    assert (timed.kind, timed.resolution) == ("datetime", "minute")
    assert (timed.lower, timed.upper) == tuple(MOMENTS)
    assert bool(timed.timezone) == (form == "pandas with a zone")
    midnights = TIMED[form]([MOMENTS[0], datetime.datetime(2020, 3, 1)], tmp_path)
    assert Schema.loads(draft_schema(midnights)).columns["x"].kind == "date"


SURVEY = "2024-01-02 10:30:00,3,yes\n2024-01-03 11:00:00,35,no\n" * 10
MORE_LINES = {
    "texts and names of fields": ('Begin,"How old\nare you?",Agree?\n{s},{q1},{q2}\n', 2),
    "units": ("time,years,-\n", 1),
    "a record with a fault": ("2024-01-02 10:30:00,old,yes\n", 0),
    "records": ("", 0),
}


@pytest.mark.parametrize("case", MORE_LINES)
@pytest.mark.nightly(every=2)
def test_lines_of_words_behind_the_names_are_left_out_of_a_draft_and_told(case, tmp_path):
    more, n_lines = MORE_LINES[case]
    path = tmp_path / "a.csv"
    path.write_text(f"Start,Q1,Q2\n{more}{SURVEY}", encoding="utf-8")
    text = draft_schema(path)
    columns = Schema.loads(text).columns
    assert columns["Start"].kind == "datetime"
    assert columns["Q2"].levels == ("no", "yes")
    assert ("old" in columns["Q1"].labels) == (case == "a record with a fault")
    assert ("behind the names of the columns" in text) == bool(n_lines)
    assert ("The first 2 lines" in text) == (n_lines == 2)


@pytest.mark.parametrize("decimal", [".", ","])
def test_units_below_the_names_keep_no_column_from_being_numbers(decimal, tmp_path):
    rows = pd.DataFrame({"a": [k / 7 for k in range(60)], "b": [k / 4 for k in range(60)]})
    head, _, rest = rows.to_csv(sep=";", decimal=decimal, index=False).partition("\n")
    (tmp_path / "a.csv").write_text(f"{head}\nkg;cm\n{rest}", encoding="utf-8")
    columns = Schema.loads(draft_schema(tmp_path / "a.csv")).columns
    assert [column.kind for column in columns.values()] == ["continuous", "continuous"]


LOOKS = {
    "several units": ([f"€ {k}" for k in range(60)] + ["$ 7"], "numbers"),
    "another minus": ([f"\u2212{k}" for k in range(60)], "numbers"),
    "brackets": ([f"({k})" for k in range(1, 60)], "numbers"),
    "other digits": (["\uff11\uff12", "\uff13\uff14"] * 30, "numbers"),
    "underscores": ([f"{k}_000" for k in range(1, 60)], "numbers"),
    "days and years of two digits": ([f"{k}.12.20" for k in range(1, 31)] * 2, "days"),
    "codes": (["00501", "01234"] * 30, ""),
    "words": (["a", "b"] * 30, ""),
    "months": (["Mar-2018", "2018-04"] * 30, ""),
    "plain numbers and words": (["1", "2", "unknown"] * 20, ""),
}


@pytest.mark.parametrize("case", LOOKS)
@pytest.mark.nightly(every=2)
def test_texts_that_look_like_something_else_are_told(case):
    values, meant = LOOKS[case]
    text = draft_schema(
        pl.DataFrame(
            {"x": values, "y": ["a", "b"] * (len(values) // 2) + ["a"] * (len(values) % 2)}
        )
    )
    told = [
        line for line in text.splitlines() if line.startswith("#   'x': ") and "are read as" in line
    ]
    assert len(told) == bool(meant)
    assert not meant or told[0].startswith(f"#   'x': {meant}, which")


DAYS = [datetime.date(2019, 1, 1) + datetime.timedelta(days=17 * k) for k in range(60)]
WRITTEN = {
    "a unit behind": ([f"{k % 20 * 50} EUR" for k in range(60)], "unit", "EUR"),
    "a unit before": ([f"-€ {k % 20 * 50}" for k in range(60)], "unit", "€"),
    "a unit on some": ([*(f"{k} %" for k in range(60)), "7", "NA"], "unit", "%"),
    "points": ([f"{day:%d.%m.%Y}" for day in DAYS] + ["2019-05-05"], "format", "%d.%m.%Y"),
    "no zeros": ([f"{day.month}/{day.day}/{day.year}" for day in DAYS], "format", "%m/%d/%Y"),
    "names": ([f"{day:%d %b %Y}" for day in DAYS], "format", "%d %b %Y"),
    "moments": ([f"{day:%m/%d/%Y} 3:30 PM" for day in DAYS], "format", "%m/%d/%Y %I:%M %p"),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_units_and_formats_of_texts_are_proposed_marked_and_read(case, tmp_path):
    values, entry, written = WRITTEN[case]
    frame = pl.DataFrame({"x": values, "y": "a"})
    frame.write_csv(tmp_path / "a.csv")
    for data in (frame, tmp_path / "a.csv"):
        schema = Schema.loads(draft_schema(data))
        column = schema.columns["x"]
        assert getattr(column, entry) == written
        assert {entry, "lower"} <= set(column.left_as_drafted)
        assert check(data, schema).findings == ()


def test_a_unit_beside_decimal_commas_is_proposed_and_read(tmp_path):
    path = tmp_path / "a.csv"
    cells = [f"1.{k:03},5 EUR;{k * 37 % 60},25" for k in range(100, 160)]
    path.write_text("\n".join(["pay;b", *cells]), encoding="utf-8")
    schema = Schema.loads(draft_schema(path))
    assert (schema.file.decimal, schema.file.thousands) == (",", ".")
    assert (schema.columns["pay"].unit, schema.columns["b"].upper) == ("EUR", 60.0)
    assert check(path, schema).findings == ()


def test_blanks_between_thousands_hide_no_decimal_comma(tmp_path):
    rows = [f"{k % 7} {k * 13 % 1000:03},{k % 90 + 10};a" for k in range(80)]
    (tmp_path / "a.csv").write_text("\n".join(["pay;b", *rows]), encoding="utf-8")
    schema = Schema.loads(draft_schema(tmp_path / "a.csv"))
    assert (schema.file.decimal, schema.file.thousands) == (",", " ")


def test_levels_that_differ_in_blanks_or_case_alone_are_asked_about():
    frame = pl.DataFrame({"x": ["yes", "Yes ", "no"] * 30, "y": ["a", "b", "c"] * 30})
    text = draft_schema(frame)
    assert "#   'x': some levels differ in blanks or in upper and lower case alone" in text
    assert "#   'y'" not in text


def test_the_order_of_day_and_month_is_asked_where_both_fit():
    frame = pl.DataFrame({"x": ["01/02/2020", "11/12/2021"] * 30, "y": ["a", "b"] * 30})
    text = draft_schema(frame)
    assert "one of format = '%d/%m/%Y' or '%m/%d/%Y'" in text
    assert Schema.loads(text).names == ("y",)
