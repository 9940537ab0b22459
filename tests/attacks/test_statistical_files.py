"""Attacks on files of SPSS, Stata and SAS: one cell of any bytes, which the library balks at.

The claim that all of them try to break: **whatever one cell holds, no other is read otherwise, and
the file is read to its end.**
"""

import struct

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import understudy as us
from night import NIGHT
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.schema import Schema

pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")

WRITERS = {
    ".sav": pyreadstat.write_sav,
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
}
FORMATS = {
    ".sav": ("DATE11", "DATETIME20", "TIME8", "DTIME20", "F8.2"),
    ".dta": ("%td", "%tc", "%tcHH:MM:SS", "%9.2f"),
    ".xpt": ("DATE9", "DATETIME20", "TIME8", "F8"),
}
MARK = 1_234_567.0
"""A number that stands once in a file, and is then replaced by any bytes."""


def refusal(path):
    """The sentence by which a file is refused; "" if it is read."""
    try:
        rows = open_rows(path)
        rows.ask(rows.lazy)
    except us.UnderstudyError as error:
        return str(error)
    return ""


def ibm(number):
    """How SAS transport files write a number: a sign, a power of 16, and 56 bits."""
    power = 0
    while number >= 1:
        number, power = number / 16, power + 1
    return bytes([64 + power]) + int(number * 2**56).to_bytes(7, "big")


WRITTEN = {".sav": struct.pack("<d", MARK), ".dta": struct.pack("<d", MARK), ".xpt": ibm(MARK)}
CELLS = st.binary(min_size=8, max_size=8)


@settings(derandomize=True, deadline=None, max_examples=20 if NIGHT else 5)
@pytest.mark.parametrize("ending", WRITERS)
@example(cell=b"\xff" * 8)
@example(cell=b"\x7f" + b"\xff" * 7)
@example(cell=struct.pack("<d", float("nan")))
@example(cell=struct.pack("<d", float("-inf")))
@example(cell=b"\x01\x00\x00\x00\x00\x00\xe0\x7f")
@example(cell=b"A" + b"\0" * 7)
@example(cell=b"\xc1" + b"\0" * 7)
@given(cell=CELLS)
def test_a_number_of_any_bytes_is_one_cell(ending, cell, tmp_path_factory):
    for written in FORMATS[ending]:
        path = tmp_path_factory.mktemp("one") / f"a{ending}"
        frame = pd.DataFrame({"c": [1.0, MARK, None, 86_400.0]})
        WRITERS[ending](frame, str(path), variable_format={"c": written})
        clean = open_rows(path).lazy.collect().to_series().to_physical().to_list()
        whole = path.read_bytes()
        assert whole.count(WRITTEN[ending]) == 1
        path.write_bytes(whole.replace(WRITTEN[ending], cell))
        found = open_rows(path).lazy.collect().to_series().to_physical().to_list()
        assert [found[0], *found[2:]] == [clean[0], *clean[2:]]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("odd", [b"\xff\xfe\xfd", b"\xc3\xc3\xc3", b"\x00ab", b"\xed\xa0\x80"])
def test_a_text_of_any_bytes_is_one_cell(ending, odd, tmp_path):
    path = tmp_path / f"a{ending}"
    frame = pd.DataFrame({"c": ["abc", "qqq", "", "ab"]})
    WRITERS[ending](frame, str(path))
    whole = path.read_bytes()
    assert whole.count(b"qqq") == 1
    path.write_bytes(whole.replace(b"qqq", odd))
    found = open_rows(path).lazy.collect().to_series().to_list()
    assert [found[0], *found[2:]] == ["abc", "", "ab"]
    against = Schema.loads(
        'row_limit = 9\n[columns.c]\nkind = "categorical"\nlevels = ["abc", "ab"]\nreviewed = true'
    )
    counts = Table(path, against).count([(0,)]).expose()[0]
    assert counts.inside.tolist() == [1, 1]
    assert counts.outside == 2


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_breaks_off_is_one_sentence_without_a_value(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    frame = pd.DataFrame({"secret": ["hidden"] * 500, "n": [MARK] * 500})
    WRITERS[ending](frame, str(path))
    whole = path.read_bytes()
    for share in (0, 0.05, 0.4, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        told = refusal(path)
        assert "hidden" not in told
        assert str(MARK) not in told
        assert not told or told.startswith(f"The file '{path}' ")


@settings(derandomize=True, deadline=None, max_examples=20 if NIGHT else 5)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(data, tmp_path_factory):
    ending = data.draw(st.sampled_from(sorted(WRITERS)))
    path = tmp_path_factory.mktemp("two") / f"a{ending}"
    WRITERS[ending](pd.DataFrame({"c": ["abc", "ab"], "n": [1.0, 2.0]}), str(path))
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(whole))
    told = refusal(path)
    assert not told or told.startswith(f"The file '{path}' ")
