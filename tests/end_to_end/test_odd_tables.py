"""What a schema may declare ends in a whole release, or in a refusal before anything is paid.

`ODD_TABLES=2000 pytest tests/end_to_end/test_odd_tables.py` tries as many, and every method.
"""

import json
import os
import sqlite3
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import polars as pl
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy as us
from made_workbook import text, write_workbook
from night import NIGHT
from odd_names import NAMES, NO_NAMES
from odd_tables import go_the_way, odd_tables
from schemas import PEOPLE
from understudy.errors import DataError, MethodError, SchemaError
from understudy.methods.registry import METHODS
from understudy.release import tables
from understudy.release.release import Release
from understudy.report import public_page
from understudy.workflow import synthesize
from understudy.workflow.request import request_of

FORMATS = ("csv", "sav", "dta")
MANY = int(os.environ.get("ODD_TABLES", "0"))
METHOD = st.sampled_from(["auto", *METHODS] if MANY else ["auto", "auto", "independent", "mst"])
REQUESTS = st.fixed_dictionaries(
    {"delta": st.sampled_from([0, "1e-6"]), "epsilon": st.sampled_from(["0.01", "1", "20"])}
)


@settings(
    max_examples=MANY or (40 if NIGHT else 3),
    derandomize=not MANY,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(odd_tables(), REQUESTS, METHOD)
def test_odd_tables_end_in_a_whole_release_or_cost_nothing(odd, request, method):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "release"
        go_the_way(odd.schema, odd.rows, place, formats=FORMATS, method=method, **request)


ONE = {
    "category": 'kind = "categorical"\nlevels = ["u"]',
    "empty category": 'kind = "categorical"\nlevels = [""]',
    "ordinal": 'kind = "ordinal"\nlevels = [3]',
    "integer": 'kind = "integer"\nlower = 3\nupper = 3',
    "real in one bin": 'kind = "continuous"\nlower = 2\nupper = 2.5\nbins = 1',
    "text beside a number": 'kind = "integer"\nlower = 3\nupper = 3\nmissing = ["n/a"]',
    "date": 'kind = "date"\nlower = 2020-02-29\nupper = 2020-02-29\nbins = 1',
    "time": 'kind = "time"\nlower = 10:00:01\nupper = 10:00:01',
    "duration": 'kind = "duration"\nlower = "PT5H"\nupper = "PT5H"\nbins = 1',
}
VALUES = {"real in one bin": "2.5", "date": "2020-02-29", "time": "10:00:01", "duration": "PT5H"}
VALUES |= {"category": "u", "empty category": None}
BESIDE = """
[columns.g]
kind = "categorical"
levels = ["a", "b"]
source = "made up"
reviewed = true
[columns.x]
kind = "continuous"
lower = -5
upper = 5
bins = 8
source = "made up"
reviewed = true
"""


@pytest.mark.parametrize("kind", ONE)
@pytest.mark.parametrize("method", ["auto", "pmse"])
@pytest.mark.parametrize("beside", [BESIDE, ""], ids=["beside others", "alone"])
@pytest.mark.nightly(every=36)
def test_a_column_of_one_value_is_released_and_answered_like_others(kind, method, beside, tmp_path):
    """Of many rows, so that second moments are bought, in which it has no width."""
    n, rng = 2_000 if method == "auto" else 40, np.random.default_rng(1)
    own = f'[columns.one]\n{ONE[kind]}\nsource = "made up"\nreviewed = true\n'
    rows = pl.DataFrame(
        {
            "one": pl.Series([VALUES.get(kind, "3")] * n, dtype=pl.String),
            "g": rng.choice(["a", "b"], n),
            "x": rng.normal(size=n).clip(-5, 5),
        }
    )
    request = {"epsilon": 20, "delta": "1e-6", "method": method, "formats": FORMATS}
    go_the_way(us.Schema.loads(own + beside), rows, tmp_path / "release", **request)


# --- names ------------------------------------------------------------------------------------


def named(names, n=40):
    """A table with columns of these names, levels and whole numbers in turn."""
    rng = np.random.default_rng(3)
    kinds = ["u", "v"], list(range(40))
    return pl.DataFrame({name: rng.choice(kinds[k % 2], n) for k, name in enumerate(names)})


def declared(names):
    """Their schema."""
    levels = {"kind": "categorical", "levels": ["u", "v"], "value_labels": {"u": "a label"}}
    numbers = {"kind": "integer", "lower": 0, "upper": 39}
    told = {"reviewed": True, "source": "made up"}
    columns = {name: (levels, numbers)[k % 2] | told for k, name in enumerate(names)}
    return us.Schema.model_validate({"columns": columns})


def batched(names, n):
    """At most n at a time."""
    return [names[k : k + n] for k in range(0, len(names), n)]


def accepted(draft):
    """A draft as a hurried steward accepts it."""
    return us.Schema.loads(
        draft.replace("reviewed = false", "reviewed = true").replace('source = ""', 'source = "x"')
    )


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(NAMES[::24], id="some"),
        pytest.param(NAMES, id="all", marks=pytest.mark.nightly),
    ],
)
def test_columns_of_any_names_stand_in_one_release(names, tmp_path):
    rows, schema = named(names), declared(names)
    place = tmp_path / "release"
    request = {"epsilon": 100, "method": "independent", "formats": FORMATS}
    assert not go_the_way(schema, rows.head(40), place, **request).refused
    release = us.Release.load(place, frame="polars")
    assert tuple(release.sets[0].columns) == names
    sav, _ = pyreadstat.read_sav(str(place / "synthetic/set-1.sav"))
    dta, _ = pyreadstat.read_dta(str(place / "synthetic/set-1.dta"))
    assert sav.shape[1] == dta.shape[1] == len(names)


@pytest.mark.parametrize(
    "name", ["count", "len", "literal", "index", "*", "^a$", "^.*$", "a\nb", "=1+1", "é" * 32]
)
@pytest.mark.parametrize("values", [["u", "v"], [0, 7], [True, False]], ids=str)
@pytest.mark.nightly(every=30)
def test_a_name_that_libraries_use_themselves_is_as_good_as_any(name, values, tmp_path):
    rows = pl.DataFrame({name: values * 200, "a": ["x", "y", "y", "x"] * 100})
    request = {"epsilon": 50, "delta": "1e-6", "formats": FORMATS}
    assert not go_the_way(accepted(us.draft(rows)), rows, tmp_path / "r", **request).refused


def in_sqlite(rows, folder):
    place = folder / "t.db"
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in rows.columns]
    with sqlite3.connect(place) as base:
        base.execute(f"CREATE TABLE t ({', '.join(quoted)})")
        marks = ", ".join("?" * len(quoted))
        base.executemany(f"INSERT INTO t VALUES ({marks})", rows.rows())
    return us.Query(f"sqlite:///{place}", "SELECT * FROM t")


def in_duckdb(rows, folder):
    import duckdb

    place = folder / "t.duckdb"
    place.unlink(missing_ok=True)
    with duckdb.connect(place) as base:
        base.register("given", rows.to_arrow())
        base.execute("CREATE TABLE t AS SELECT * FROM given")
    return us.Query(f"duckdb:///{place}", "SELECT * FROM t")


def in_workbook(rows, folder):
    """Of 26 columns, which is as many as the maker of workbooks has letters for."""
    lines = [[text(escape(one)) for one in line] for line in (rows.columns, *_texts(rows))]
    write_workbook(folder / "t.xlsx", lines)
    return folder / "t.xlsx"


def _texts(rows):
    return [tuple(map(str, line)) for line in rows.rows()]


def written(rows, folder, ending, how):
    getattr(rows, how)(folder / f"t.{ending}")
    return folder / f"t.{ending}"


def in_lines(rows, folder):
    place = folder / "t.jsonl"
    place.write_text("".join(json.dumps(one) + "\n" for one in rows.to_dicts()), encoding="utf-8")
    return place


READERS = {
    "pandas": lambda rows, _: rows.to_pandas(),
    "arrow": lambda rows, _: rows.to_arrow(),
    "csv": lambda rows, folder: written(rows, folder, "csv", "write_csv"),
    "parquet": lambda rows, folder: written(rows, folder, "parquet", "write_parquet"),
    "arrow file": lambda rows, folder: written(rows, folder, "arrow", "write_ipc"),
    "json lines": in_lines,
    "sqlite": in_sqlite,
    "duckdb": in_duckdb,
    "workbook": in_workbook,
}
ALIKE = {"sqlite": str.lower, "duckdb": str.lower}
"""Where names that differ by their case alone are one."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.nightly(every=10)
def test_every_reader_takes_any_names(reader, tmp_path):
    names = tuple({ALIKE.get(reader, str)(name): name for name in NAMES}.values())
    if reader == "csv":  # a file of several lines a record has to say so
        names = tuple(name for name in names if "\n" not in name)
    if reader == "workbook":  # XML, which drops the ends, and has no such sign
        names = tuple(name for name in names if name == name.strip() and name != "\uffff")
    parts = batched(names, 26) if reader == "workbook" else [names]
    for part in parts:
        data = READERS[reader](named(part, 6), tmp_path)
        report = us.check(data, declared(part))
        assert not report.findings, part


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_is_refused_in_draft_and_schema(name):
    rows = pl.DataFrame({"a": ["x", "y"], name: ["u", "v"]})
    for data in (rows, rows.to_pandas()) if "\x00" not in name else (rows,):
        with pytest.raises(DataError, match=r"^Column 2 of the table has .*; rename it, or leave"):
            us.draft(data)
    told = f"[columns.{json.dumps(name)}]\n{ONE['category']}"
    with pytest.raises(SchemaError, match=r"column 1 has .*; give it another name, in the table"):
        us.Schema.loads(told)


def test_an_unnamed_column_of_a_file_can_be_left_out(tmp_path):
    """As R writes row names: the others are read, and no other column is taken for it."""
    place = tmp_path / "t.csv"
    place.write_text(",column_0\n1,x\n2,y\n", encoding="utf-8")
    schema = us.Schema.loads(
        '[columns.column_0]\nkind = "categorical"\nlevels = ["x", "y"]\nreviewed = true\n'
    )
    for data in (place, pl.read_csv(place, has_header=True).to_pandas()):
        assert not us.check(data, schema).findings


# --- the rehearsal ----------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(synthesize, "_PASSED", set())
    return us.Schema.loads(PEOPLE)


ROWS = pl.DataFrame({"city": ["Aa", "Bb"] * 20, "age": [*range(40)]})


def broken(*_, **__):
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


BROKEN = {
    "a page": (public_page, "_context"),
    "a file": (Release, "_fill_noisy"),
    "loading": (Release, "load"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_breaks_a_release_breaks_one_of_made_up_records_first(what, asked, monkeypatch):
    monkeypatch.setattr(*BROKEN[what], broken)
    with pytest.raises(MethodError, match=r"made-up records .*nothing was spent") as refusal:
        us.synthesize(ROWS, asked, epsilon=1)
    assert not getattr(refusal.value, "__notes__", ())


def test_formats_are_tried_beforehand(asked, monkeypatch):
    monkeypatch.setitem(tables._WRITERS, "dta", broken)
    us.synthesize(ROWS, asked, epsilon=1)
    with pytest.raises(MethodError, match="nothing was spent"):
        us.synthesize(ROWS, asked, epsilon=1, also="sav,dta")


def test_a_request_is_rehearsed_once_and_by_its_public_facts_alone(asked, monkeypatch):
    """Of few records, whatever the schema says of their number; by no row."""
    made = []
    monkeypatch.setattr(Release, "write", lambda release, *_: made.append(release))
    monkeypatch.setattr(Release, "load", lambda *_, **__: made[-1])
    public = asked.model_copy(update={"rows": "public", "n_rows": 10**9, "row_limit": None})
    open_ = asked.model_copy(update={"row_limit": None})
    for schema in (asked, asked, public, open_):
        how = us.SynthesisOptions(method="mst", sets=3)
        synthesize.rehearse(request_of(schema, epsilon="0.001", how=how))
    assert len(made) == 3
    assert all(one.manifest.n_rows <= synthesize.RECORDS for one in made)
    assert not any(one.manifest.secure for one in made)


def test_numbers_far_from_zero_are_released_without_a_warning(asked):
    """Days as a workbook counts them; a warning would be an error here."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"x": 43831 + rng.integers(0, 301, 300), "g": rng.choice(["a", "b"], 300)})
    us.synthesize(rows, accepted(us.draft(rows)), epsilon=100, delta="1e-6", method="independent")


@pytest.mark.parametrize("same", [True, False])
def test_a_rehearsal_renders_a_page_again_only_where_something_came_back_otherwise(
    same, asked, monkeypatch
):
    rendered, drawn = [], public_page._context

    def counted(release, *rest):
        rendered.append(release)
        return drawn(release, *rest)

    assert us.Release.load  # which says what renders pages
    monkeypatch.setattr(public_page, "_context", counted)
    if not same:
        monkeypatch.setattr(synthesize, "_is_same_measurement", lambda *_: False)
    us.synthesize(ROWS, asked, epsilon=1)
    assert len(rendered) == (1 if same else 2)


def test_nothing_of_a_rehearsal_stays_on_the_disk(asked, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    us.synthesize(ROWS, asked, epsilon=1)
    assert list(tmp_path.iterdir()) == []


def test_what_breaks_after_all_is_finished_by_resume(understudy, tmp_path, monkeypatch):
    """A page that only these records break: what was paid for waits until it is mended."""
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("people.csv")
    Path("people.toml").write_text(PEOPLE, encoding="utf-8")
    ask = ["synthesize", "people.csv", "--schema", "people.toml", "--epsilon", "2"]
    ask += ["--method", "mst", "--out", "release"]
    drawn = public_page._context

    def broken_by_these(release, *rest):
        if release.manifest.method != "independent":
            raise np.linalg.LinAlgError
        return drawn(release, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(public_page, "_context", broken_by_these)
        with pytest.raises(np.linalg.LinAlgError):
            understudy(*ask)
    assert not Path("release").exists()
    assert understudy(*ask, "--resume", "--quiet").code == 0
    assert us.Release.load("release").manifest.method == "mst"
