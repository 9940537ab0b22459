"""Workbooks: one cell, of whatever kind and wherever it is, costs its own row and no other."""

import re
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from made_workbook import day, fault, number, text, truth, write_workbook
from understudy.data import excel
from understudy.data.csv import MALFORMED
from understudy.data.excel import narrow_workbook, premises_of_sheet
from understudy.data.sources import open_rows
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.steward.check import check
from understudy.steward.draft import draft_schema

pytest.importorskip("fastexcel", reason="the extra files is not installed")

HEAD = [text("x"), text("y")]
ROWS = [[number(k % 7), text("uv"[k % 2])] for k in range(6)]


def at(column, cell):
    """A cell in a column of its own, whatever stands beside it."""
    return lambda place: cell(column + re.sub(r"^\D+", "", place))


def read(path):
    return open_rows(path).lazy.collect()


CELLS = {
    "text": text("odd"),
    "number": number("1e308"),
    "no number": number("abc"),
    "a day": day(43831.5),
    "a day far off": day(1e9),
    "truth": truth(1),
    "fault": fault("#N/A"),
    "formula": lambda place: f'<c r="{place}"><f>A2</f><v>3</v></c>',
    "formula without a value": lambda place: f'<c r="{place}"><f>A2</f></c>',
    "escaped control character": text("_x0000_"),
    "long": text("x" * 40_000),
    "style alone": lambda place: f'<c r="{place}" s="1"/>',
}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("column", ["A", "B", "C", "D", "AZ", "CV", "XFD"])
@pytest.mark.nightly(diagonal=True)
def test_a_cell_costs_its_own_row(kind, column, tmp_path):
    path, cell = tmp_path / "a.xlsx", at(column, CELLS[kind])
    write_workbook(path, [HEAD, *ROWS])
    before = read(path)
    if column in "AB":
        odd = [cell, text("u")] if column == "A" else [number(1), cell]
    else:
        odd = [number(1), text("u"), cell]
    write_workbook(path, [HEAD, *ROWS[:3], odd, *ROWS[3:]])
    after = read(path)
    assert after.columns == ["x", "y"]
    assert pl.concat([after[:3], after[4:]]).equals(before)
    if column not in "AB":
        # What the library reads as no value is no cell.
        seen = kind not in ("fault", "formula without a value", "style alone", "a day far off")
        assert after.row(3) == ((MALFORMED, MALFORMED) if seen else ("1", "u"))


def test_a_cell_left_of_the_columns_costs_its_own_row(tmp_path):
    path = tmp_path / "a.xlsx"
    shifted = [[None, *row] for row in (HEAD, *ROWS)]
    write_workbook(path, shifted)
    before = read(path)
    write_workbook(path, [*shifted, [text("left"), number(1), text("u")]])
    assert read(path)[:-1].equals(before)
    assert read(path).row(-1) == (MALFORMED, MALFORMED)


def test_faults_of_the_first_row_are_told(tmp_path):
    path = tmp_path / "a.xlsx"
    for head, said in (
        ([text("x"), None, text("y")], "no name in the first row of column 2"),
        ([text("x"), text("x")], "two columns named 'x'"),
        ([text(""), text("")], "no name in the first row"),
    ):
        write_workbook(path, [head, *ROWS])
        with pytest.raises(DataError, match=said):
            read(path)


def test_a_time_of_day_is_no_moment(tmp_path):
    path = tmp_path / "a.xlsx"
    moments = [[day(value)] for value in (0.5, 43831, 43831.25)]
    write_workbook(path, [[text("x")], *moments])
    assert read(path)["x"].to_list() == ["12:00:00", "2020-01-01", "2020-01-01 06:00:00"]


def rewritten(path, change):
    """The only sheet of a workbook, changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


PLACES = {
    "as usual": lambda xml: xml,
    "prefixes": lambda xml: (
        xml.replace(b"<", b"<x:").replace(b"<x:/", b"</x:").replace(b"xmlns=", b"xmlns:x=")
    ),
    "single quotes": lambda xml: xml.replace(b'r="XFD4"', b"r='XFD4'"),
}


@pytest.mark.parametrize("how", PLACES)
def test_a_sheet_with_a_cell_far_away_is_written_anew(how, tmp_path):
    """Otherwise the library makes room for 16,384 columns of every row."""
    path = tmp_path / "a.xlsx"
    odd = [number(1), text("u"), at("XFD", truth(1)), at("XFD", truth(1))]
    write_workbook(path, [HEAD, *ROWS[:2], odd, *ROWS[2:]])
    rewritten(path, PLACES[how])
    assert narrow_workbook(path) is not None
    found = read(path)
    write_workbook(path, [HEAD, *ROWS[:2], [number(1), text("u"), truth(1)], *ROWS[2:]])
    assert narrow_workbook(path) is None
    assert found.equals(read(path))
    assert found.row(2) == (MALFORMED, MALFORMED)


@pytest.mark.parametrize("n_faults", [1, 3, 64, 65, 200])
def test_cells_without_a_value_stay_so_where_a_sheet_is_written_anew(n_faults, tmp_path):
    """A row is read alike, whether another one has a cell far away or not."""
    path = tmp_path / "a.xlsx"
    faults = [number(1), text("u")]
    faults += [at(excel._letters(3 + k), fault("#N/A")) for k in range(n_faults)]
    write_workbook(path, [HEAD, *ROWS, faults])
    alone = read(path)
    write_workbook(path, [HEAD, *ROWS, faults, [number(1), text("u"), at("XFD", truth(1))]])
    assert read(path)[:-1].equals(alone)
    assert alone.row(-1) == (("1", "u") if n_faults <= 64 else (MALFORMED, MALFORMED))


@pytest.mark.nightly
def test_a_cell_far_away_takes_no_memory(tmp_path):
    """30,000 rows of 16,384 columns took 15 GB, and more than a minute."""
    path = tmp_path / "a.xlsx"
    rows = [[number(k), text("u")] for k in range(30_000)]
    write_workbook(path, [HEAD, [number(1), text("u"), at("XFD", truth(1))], *rows])
    begun = time.monotonic()
    assert read(path)["y"].value_counts(sort=True).rows() == [("u", 30_000), (MALFORMED, 1)]
    assert time.monotonic() - begun < 60


def test_cells_that_do_not_say_where_they_are_follow_each_other(tmp_path):
    path = tmp_path / "a.xlsx"
    write_workbook(path, [HEAD, *ROWS])
    before = read(path)

    def bare(xml):
        for k in range(1, len(ROWS) + 2):
            for letter in "AB":
                xml = xml.replace(f' r="{letter}{k}"'.encode(), b"")
        return xml

    rewritten(path, bare)
    assert narrow_workbook(path) is not None
    assert read(path).equals(before)


@pytest.mark.parametrize("last", [1, 26, 27, 89, 702, 703, 16_384])
def test_columns_beyond_a_letter_are_found(last):
    far = excel._beyond(excel._letters(last))
    for number_ in (1, 26, 27, 52, 53, 88, 90, 676, 677, 701, 702, 703, 704, 16_383, 16_384):
        place = f'<c r="{excel._letters(number_)}7">'.encode()
        assert bool(far.search(place)) == (number_ > last)
        assert excel._number(excel._letters(number_)) == number_


def test_wide_formats_are_said_to_be():
    assert "whole rectangle" in premises_of_sheet(Path("a.ODS")).unproved[0]
    assert premises_of_sheet(Path("a.xlsx")).unproved == ()


def test_a_draft_and_a_check_tell_of_rows_with_a_cell_beside_the_columns(tmp_path):
    """Once, and not as a value of every column."""
    path = tmp_path / "a.xlsx"
    beside = [number(1), text("u"), text("beside")]
    write_workbook(path, [HEAD, *ROWS * 50, beside, beside])
    text_of_draft = draft_schema(str(path))
    assert "\\u0000" not in text_of_draft
    schema = Schema.loads(text_of_draft)
    assert schema.columns["y"].levels == ("u", "v")
    (finding,) = check(str(path), schema).findings
    assert (finding.column, finding.count) == (None, 2)
    assert "beside its columns" in finding.problem
