"""What files of SPSS, Stata and SAS say about their variables."""

import pandas as pd
import pytest

from understudy.errors import DataError
from understudy.schema.file_labels import is_statistical, read_file_labels

pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")

FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0],
        "job": ["a", "b", ""],
        "pay": [1.5, -99.0, 7.0],
        "day": [0.0, 1.0, 2.0],
    }
)


def sav(path, **options):
    pyreadstat.write_sav(FRAME, str(path), **options)
    return read_file_labels(path)


def test_a_file_of_spss_tells_all_of_it(tmp_path):
    labels = sav(
        tmp_path / "a.sav",
        file_label="Survey",
        column_labels={"sex": "Sex, as stated"},
        variable_value_labels={"sex": {1: "män", 2: "women", 9: "refused"}, "job": {"a": "none"}},
        missing_ranges={"sex": [9], "pay": [{"lo": -100, "hi": -90}, 7], "job": ["b"]},
        variable_measure={"sex": "nominal", "pay": "scale", "job": "ordinal"},
        variable_format={"pay": "F8.3", "day": "DATE11"},
    )
    assert (labels.title, labels.encoding, labels.has_rows) == ("Survey", "utf-8", True)
    assert list(labels.variables) == ["sex", "job", "pay", "day"]
    sex, job, pay, day = labels.variables.values()
    assert (sex.label, sex.measure, sex.missing_codes) == ("Sex, as stated", "nominal", (9,))
    assert list(sex.value_labels.items()) == [(1, "män"), (2, "women"), (9, "refused")]
    assert (job.holds, job.value_labels, job.missing_codes) == ("text", {"a": "none"}, ("b",))
    assert (pay.measure, pay.decimals, pay.missing_codes) == ("scale", 3, (7,))
    assert pay.missing_ranges == ((-100.0, -90.0),)
    assert [pay.is_missing(code) for code in (-99, -89, 7, "x")] == [True, False, True, False]
    assert (day.holds, day.written) == ("days", "DATE11")


def test_tags_of_stata_are_codes(tmp_path):
    path = tmp_path / "a.dta"
    labels = {"sex": {1: "men", "a": "refused", "z": "gone"}}
    pyreadstat.write_dta(
        FRAME,
        str(path),
        variable_value_labels=labels,
        missing_user_values={"sex": ["a", "z"]},
        variable_format={"pay": "%9.2f", "day": "%td"},
    )
    found = read_file_labels(path).variables
    assert found["sex"].value_labels == {1: "men", ".a": "refused", ".z": "gone"}
    assert found["sex"].missing_codes == (".a", ".z")
    assert (found["pay"].decimals, found["day"].holds) == (2, "days")


@pytest.mark.parametrize(
    ("written", "holds"),
    [
        *(("EDATE10", "days"), ("ADATE8", "days"), ("SDATE10", "days"), ("DATETIME17", "moments")),
        *(("YMDHMS16", "moments"), ("TIME8", "times"), ("DTIME20", "durations")),
        *(
            ("F8.2", "numbers"),
            ("DOLLAR8.2", "numbers"),
            ("WKDAY3", "numbers"),
            ("COMMA9", "numbers"),
        ),
    ],
)
def test_what_a_variable_holds_follows_from_its_format(written, holds, tmp_path):
    path = tmp_path / "a.sav"
    assert sav(path, variable_format={"pay": written}).variables["pay"].holds == holds


def test_a_file_without_rows_is_told_from_one_with(tmp_path):
    for ending, write in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta)):
        for n in (0, 1):
            write(FRAME.head(n), str(tmp_path / f"a{ending}"))
            assert read_file_labels(tmp_path / f"a{ending}").has_rows is bool(n)


def test_labels_in_another_encoding_are_read_as_it_is_told(tmp_path):
    path = tmp_path / "a.xpt"  # such a file does not say how it is written
    pyreadstat.write_xport(FRAME[["sex"]], str(path), column_labels={"sex": "qqq"})
    path.write_bytes(path.read_bytes().replace(b"qqq", "m\xe4n".encode("latin-1")))
    assert read_file_labels(path).variables["sex"].label == "m\ufffdn"
    assert read_file_labels(path, "windows-1252").variables["sex"].label == "män"


def test_what_is_no_such_file(tmp_path):
    assert is_statistical("A.SAV")
    assert is_statistical(tmp_path / "a.sas7bdat")
    assert not is_statistical("a.csv")
    assert not is_statistical(None)
    path = tmp_path / "a.dta"
    for content in (b"", b"no such thing", b"\0" * 400):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read: it is truncated, damaged"):
            read_file_labels(path)
