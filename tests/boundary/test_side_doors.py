"""Nothing about the input leaves by the side: not by types, names, order, files or the clock."""

import datetime
import json
import os
import platform
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from understudy.models.model import Sample
from understudy.models.tables import ProductModel, TableModel
from understudy.report.public_page import public_page

pytestmark = pytest.mark.whole

SCHEMA = us.Schema.loads(
    """
row_limit = 5000
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb", "Cc"]
source = "codebook"
reviewed = true
[columns.size]
kind = "integer"
lower = 0
upper = 9
bins = 3
missing = [""]
source = "codebook"
reviewed = true
[columns.since]
kind = "date"
lower = 1990-01-01
upper = 1999-12-31
bins = 4
source = "law"
reviewed = true
"""
)
N_ROWS = 1237
METHODS = [
    ("laplace", {"form": "dense"}),
    ("laplace", {"form": "filtered"}),
    ("laplace", {"form": "lazy"}),
    ("independent", {}),
]


def base() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    days = np.datetime64("1990-01-01", "D") + rng.integers(0, 3652, N_ROWS)
    return pd.DataFrame(
        {
            "city": rng.choice(["Aa", "Bb", "Cc"], N_ROWS),
            "size": rng.integers(0, 10, N_ROWS),
            "since": days.astype("datetime64[s]"),
        }
    )


@pytest.fixture(params=METHODS, ids=lambda one: "-".join([one[0], *one[1].values()]))
def synthesize(request):
    method, options = request.param

    def run(data, **changes):
        chosen = {"epsilon": 1, "sets": 2, "insecure_noise_seed": 3} | changes
        return us.synthesize(data, SCHEMA, method=method, options=options, **chosen)

    run.method = repr(request.param)
    return run


@pytest.fixture(scope="module")
def made():
    return {}


@pytest.fixture
def of_base(synthesize, made):
    """Releases of the unchanged rows, each made once: a release is frozen."""

    def find(**changes):
        key = synthesize.method, repr(changes)
        if key not in made:
            made[key] = synthesize(base(), **changes)
        return made[key]

    return find


def as_text(frame):
    return frame.assign(since=frame["since"].dt.strftime("%Y-%m-%d")).astype(str)


def in_a_file(frame, folder):
    path = folder / "another name.parquet"
    frame.to_parquet(path)
    return path


def cut_up(frame, folder):
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(folder / f"part-{k}.parquet")
    return folder


SAME_ROWS = {
    "another order": lambda frame, _: frame.sample(frac=1, random_state=2),
    "other columns first": lambda frame, _: frame[["since", "size", "city"]],
    "one column more": lambda frame, _: frame.assign(extra=range(N_ROWS)),
    "an index": lambda frame, _: frame.set_index(np.arange(N_ROWS) * 7),
    "floats": lambda frame, _: frame.assign(size=frame["size"].astype("float32")),
    "text": lambda frame, _: as_text(frame),
    "categories": lambda frame, _: frame.assign(
        city=pd.Categorical(frame["city"], ["Cc", "Zz", "Bb", "Aa"], ordered=True)
    ),
    "objects": lambda frame, _: frame.astype(object),
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pl.from_pandas(frame).to_arrow(),
    "a file": in_a_file,
    "a folder": cut_up,
}


@pytest.mark.parametrize("change", SAME_ROWS.values(), ids=SAME_ROWS)
@pytest.mark.nightly(diagonal=True)
def test_how_the_rows_came_in_changes_nothing(synthesize, of_base, tmp_path, change):
    one = of_base(frame="polars")
    two = synthesize(change(base(), tmp_path), frame="polars")
    assert one.manifest == two.manifest
    assert [table.rows() for table in one.tables] == [table.rows() for table in two.tables]
    assert [table.schema for table in one.sets] == [table.schema for table in two.sets]
    for left, right in zip(one.measurements, two.measurements, strict=True):
        assert left.to_json() == right.to_json()
        assert left.codes.tolist() == right.codes.tolist()
        assert left.counts.tolist() == right.counts.tolist()


NEW_ROWS = {
    "ordinary": ["Aa", 3, "1990-01-01"],
    "unknown level": ["Zz", 3, "1990-01-01"],
    "number for a level": [17, 3, "1990-01-01"],
    "empty": [None, None, None],
    "not a number": ["Aa", float("nan"), "1990-01-01"],
    "infinite": ["Aa", float("inf"), "1990-01-01"],
    "out of bounds": ["Aa", -(10**9), "2090-01-01"],
    "no date": ["Aa", 3, "yesterday"],
    "everything": ["", "x", 3.5],
}


@pytest.mark.parametrize("row", NEW_ROWS.values(), ids=NEW_ROWS)
@pytest.mark.nightly(diagonal=True)
def test_one_row_more_changes_nothing_but_counts(synthesize, of_base, row):
    neighbour = as_text(base()).astype(object)
    neighbour.loc[N_ROWS] = row
    one, two = of_base(), synthesize(neighbour)
    left, right = one.manifest.to_json(), two.manifest.to_json()
    assert left | {"n_rows": 0} == right | {"n_rows": 0}
    assert [table.schema for table in one.tables] == [table.schema for table in two.tables]
    assert [str(table.dtypes) for table in one.sets] == [str(table.dtypes) for table in two.sets]
    noisy = {"outside": 0, "totals": 0, "cells": 0}
    for m, n in zip(one.measurements, two.measurements, strict=True):
        assert m.to_json() | noisy == n.to_json() | noisy
        assert m.kind != "table" or m.codes.tolist() == n.codes.tolist()


@pytest.fixture
def secret_input(tmp_path):
    """A file whose folder, name, extra column, values and unknown level all say so."""
    folder = tmp_path / "SECRET-folder"
    folder.mkdir()
    path = folder / "SECRET-name.csv"
    rows = as_text(base()).assign(SECRET_column="SECRET-value")
    rows.loc[3, "city"] = "SECRET-level"
    rows.loc[4, "since"] = "SECRET-day"
    rows.to_csv(path, index=False)
    return path


def texts(folder):
    """Every file of a release as text; Parquet also unpacked, since its pages are compressed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield path.name, pl.read_parquet(path).write_csv()


def test_a_saved_release_says_nothing_of_its_input(synthesize, secret_input, tmp_path):
    folder = synthesize(secret_input).save(tmp_path / "out", csv=True)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = [name for name in (platform.node(), str(tmp_path)) if len(name) > 5]
    for name, text in texts(folder):
        assert not [trace for trace in ["secret", today, *machine] if trace in text.lower()], name
        assert not re.search(r"\d\d:\d\d:\d\d", text), name


def numbers(value):
    """All numbers in plain data, those in texts included; digests left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(key)
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, str) and not value.startswith("sha256:"):
        yield from re.findall(r"\d+(?:\.\d+)?", value.replace(",", ""))
    elif not isinstance(value, str):
        yield repr(value)


def test_the_exact_number_of_rows_is_nowhere_in_the_manifest(synthesize, secret_input, tmp_path):
    """One of the rows has no city, another no date, so N − 1 and N − 2 are exact counts too."""
    release = synthesize(secret_input)
    folder = release.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    exact = {str(n) for n in (N_ROWS, N_ROWS - 1, N_ROWS - 2)}
    assert not exact & set(numbers(manifest))
    assert str(release.manifest.n_rows) in set(numbers(manifest))
    for page in ("README.md", "report.html"):
        text = (folder / page).read_text(encoding="utf-8").replace(",", "")
        assert not exact & set(re.findall(r"\d+", text)), page


@pytest.mark.nightly(every=4)
def test_the_clock_and_the_place_leave_no_trace(synthesize, tmp_path):
    release = synthesize(base())
    one = release.save(tmp_path / "one")
    time.sleep(1.1)
    two = release.save(tmp_path / "elsewhere" / "two")
    files = sorted(path.relative_to(one) for path in one.rglob("*"))
    assert files == sorted(path.relative_to(two) for path in two.rglob("*"))
    for file in files:
        if (one / file).is_file():
            assert (one / file).read_bytes() == (two / file).read_bytes(), file


def test_the_page_is_a_function_of_the_release(synthesize):
    release = synthesize(base())
    assert public_page(release) == public_page(release)


COIN = us.Schema.loads(
    'rows = "public"\nn_rows = 1000\n'
    '[columns.x]\nkind = "boolean"\nsource = "codebook"\nreviewed = true'
)


@pytest.mark.parametrize(
    ("method", "model"), [("laplace", TableModel), ("independent", ProductModel)]
)
def test_synthetic_rows_are_shuffled(monkeypatch, method, model):
    """A model that draws sorted rows: of 500 ones among 1000 rows, the first half holds 250 ± 7.9;
    it leaves ± 48 (six standard deviations) with probability below 1e-8. Unshuffled, it holds 0."""
    monkeypatch.setattr(model, "sample", lambda _self, n, _rng: Sample([np.arange(n) // (n // 2)]))
    rows = pl.DataFrame({"x": [True] * 1000})
    release = us.synthesize(rows, COIN, epsilon=1, method=method, seed=1)
    column = release.tables[0].get_column("x")
    assert column.sum() == 500
    assert abs(column.head(500).sum() - 250) < 48


class Written:
    """Files that Python opens for writing while it listens."""

    def __init__(self):
        self.paths = []
        self.listening = False
        sys.addaudithook(self._hear)

    def _hear(self, event, arguments):
        if self.listening and event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.paths.append(str(path))

    def during(self, action):
        self.listening = True
        try:
            action()
        finally:
            self.listening = False
        # Compiled kernels, which numba keeps beside the source, hold no data.
        return [path for path in self.paths if "__pycache__" not in path]


@pytest.fixture(scope="module")
def written():
    return Written()


def everything_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_nothing_reaches_the_disk_but_the_release(
    synthesize, secret_input, tmp_path, monkeypatch, written
):
    synthesize(base()).save(tmp_path / "first")  # libraries may keep caches of their own: no data
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP", "HOME", "POLARS_TEMP_DIR"):
        monkeypatch.setenv(name, str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(scratch)
    assert written.during(lambda: synthesize(secret_input)) == []
    assert everything_in(scratch) == []
    synthesize(secret_input).save(scratch / "out")
    assert {path.split("/")[0] for path in everything_in(scratch)} == {"out"}
    assert {path.name for path in (scratch / "out").iterdir()} == {
        *("synthetic", "noisy", "schema.toml", "README.md", "report.html", "manifest.json"),
        *("codebook.html", "codebook.xml", "datapackage.json", "tableschema.json"),
        "croissant.json",
    }


def test_the_listener_hears_a_written_file(tmp_path, written):
    assert written.during(lambda: Path(tmp_path / "x").write_text("x")) == [str(tmp_path / "x")]
