"""Moments, times of day, durations and identifiers in files of SPSS and Stata, and described."""

import datetime

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.release.export_values import variables
from understudy.release.metadata import codebook_xml
from understudy.release.tables import write_rows

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat (the extra files) is absent")

SCHEMA = us.Schema.loads("""
[columns.patient]
kind = "identifier"
pattern = "P{:03}"
reviewed = true
source = "c"
[columns.admitted]
kind = "datetime"
lower = 2020-01-01T00:00:00
upper = 2020-12-31T23:00:00
resolution = "hour"
missing = ["unknown"]
reviewed = true
source = "c"
[columns.seen]
kind = "datetime"
lower = 2020-01-01T00:00:00
upper = 2020-12-31T23:59:59
reviewed = true
source = "c"
[columns.woken]
kind = "time"
missing = ["never", ""]
reviewed = true
source = "c"
[columns.stay]
kind = "duration"
lower = "PT0S"
upper = "P10D"
resolution = "minute"
reviewed = true
source = "c"
""")


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "patient": ["x"] * 100,
            "admitted": rng.choice(["2020-03-01T10:00:00", "2020-05-01T23:00:00", "unknown"], 100),
            "seen": rng.choice(["2020-03-01T10:11:12", "2020-05-01T23:00:01"], 100),
            "woken": rng.choice(["07:30:00", "never", ""], 100),
            "stay": rng.choice(["PT90M", "P2D"], 100),
        }
    )
    return us.synthesize(rows, SCHEMA, epsilon=50, method="independent")


def test_they_come_back_from_every_format(made, tmp_path):
    place = made.save(tmp_path / "r", also="sav,dta,csv")
    assert us.Release.load(place).tables[0].equals(made.tables[0])
    table = made.tables[0]
    spss, told = pyreadstat.read_sav(place / "synthetic/set-1.sav", user_missing=True)
    stata, _ = pyreadstat.read_dta(place / "synthetic/set-1.dta", user_missing=True)
    assert spss["patient"].tolist() == stata["patient"].tolist() == table["patient"].to_list()
    assert [v.isoformat() for v in spss["seen"]] == [v.isoformat() for v in table["seen"]]
    assert [v.isoformat() for v in stata["seen"]] == [v.isoformat() for v in table["seen"]]
    for frame, unknown in ((spss, "9999-12-31T00:00:00"), (stata, "a")):
        found = [v if isinstance(v, str) else v.isoformat() for v in frame["admitted"]]
        assert found == [unknown if v == "unknown" else v for v in table["admitted"]]
    seconds = [v.total_seconds() for v in table["stay"]]
    raw, _ = pyreadstat.read_sav(place / "synthetic/set-1.sav", disable_datetime_conversion=True)
    assert raw["stay"].tolist() == stata["stay"].tolist() == seconds
    assert told.original_variable_types["stay"].startswith("DTIME")
    never = raw["woken"].isna().sum()
    assert never == (table["woken"].is_null() | (table["woken"] == "never")).sum()
    clock = [v for v in stata["woken"] if isinstance(v, datetime.time | datetime.datetime)]
    assert len(clock) == table.height - never
    text = (place / "synthetic/set-1.csv").read_text().splitlines()[1].split(",")
    assert text[0] == "P001"
    assert text[2] == table["seen"][0].isoformat()


def test_they_are_described(made):
    text = codebook_xml(made.manifest, SCHEMA, variables(SCHEMA))
    assert '<range min="2020-01-01T00:00:00" max="2020-12-31T23:00:00" />' in text
    assert 'name="patient"' in text


def test_a_unit_of_hours_is_no_second(tmp_path):
    table = pl.DataFrame({"stay": [datetime.timedelta(hours=3)]})
    text = '[columns.stay]\nkind = "duration"\nlower = "PT0S"\nupper = "P1D"\nresolution = "hour"'
    write_rows([table], us.Schema.loads(text), tmp_path, ("dta",))
    frame, _ = pyreadstat.read_dta(tmp_path / "set-1.dta")
    assert frame["stay"].tolist() == [3 * 3600]
