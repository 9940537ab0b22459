"""Long sets come in parts: drawn, written, read and checked without ever being whole in memory."""

import json
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from understudy.errors import ReleaseError
from understudy.release import folder, load
from understudy.release import sets as sets_module
from understudy.release.sets import PartedSets, first_parts, parts_of
from understudy.workflow import synthesize

pytestmark = pytest.mark.whole

SCHEMA = """
rows = "private"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "form"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
source = "form"
reviewed = true
[columns.note]
kind = "categorical"
levels = ["=1", "plain"]
source = "form"
reviewed = true
"""
PART = 64


@pytest.fixture(autouse=True, scope="module")
def _short_parts():
    with pytest.MonkeyPatch.context() as patch:
        for module in (sets_module, synthesize, load):
            patch.setattr(module, "PART_ROWS", PART)
        yield


@pytest.fixture(scope="module")
def release():
    return made()


@pytest.fixture(scope="module")
def place(release, tmp_path_factory):
    return release.save(tmp_path_factory.mktemp("parts") / "r", csv=True)


def rows(n=500):
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], n)
    age = np.where(sex == "f", rng.integers(20, 50, n), rng.integers(40, 99, n))
    return pl.DataFrame({"sex": sex, "age": age, "note": rng.choice(["=1", "plain"], n)})


def made(method="independent", sets=2, delta="1e-6"):
    schema = us.Schema.loads(SCHEMA)
    return us.synthesize(rows(), schema, epsilon=20, delta=delta, method=method, sets=sets)


@pytest.mark.parametrize("method", ["mst", "independent", "laplace", "privbayes", "dirichlet"])
@pytest.mark.nightly(every=5)
def test_parts_are_the_same_whenever_they_are_asked_for_and_have_the_shares_of_the_rows(method):
    release = made(method, sets=1, delta=0)
    assert isinstance(release.tables, PartedSets)
    n = release.manifest.n_rows
    parts = list(parts_of(release.tables, 0))
    assert [part.height for part in parts] == [PART] * (n // PART) + [n % PART] * bool(n % PART)
    again = pl.concat(parts_of(release.tables, 0))
    assert pl.concat(parts).equals(again)
    assert again.equals(release.tables[0])
    assert not parts[0].equals(parts[1])
    # Four deviations of 500 rows and of as many drawn; the noise is far below these.
    for part_of_rows in (again["sex"] == "f", again["note"] == "plain"):
        assert abs(part_of_rows.mean() - 0.5) < 0.13


def test_a_first_part_is_made_once_for_as_long_as_somebody_has_it():
    made_parts = []

    def part(k, i):
        made_parts.append((k, i))
        return pl.DataFrame({"a": [k]})

    sets = PartedSets(2, 3 * PART, part)
    held = first_parts(sets)
    assert first_parts(sets)[1] is held[1]
    assert made_parts == [(0, 0), (1, 0)]
    del held
    first_parts(sets)
    assert len(made_parts) == 4, "nothing is kept for nobody"


def test_records_that_were_paid_for_are_handed_out_once_in_another_order():
    release = made("dirichlet", sets=2, delta=0)
    whole = [table.rows() for table in release.tables]
    assert whole == [table.rows() for table in release.tables]
    assert len(whole[0]) == release.manifest.n_rows


def test_a_release_in_parts_is_saved_loaded_and_read_lazily(release, place, tmp_path):
    names = sorted(path.name for path in (place / "synthetic" / "set-1").iterdir())
    assert names[0] == "part-001.parquet"
    assert len(names) == len(release.tables.sizes)
    loaded = us.Release.load(place, frame="polars")
    for k in range(2):
        assert loaded.tables[k].equals(release.tables[k])
        assert loaded.lazy_sets[k].collect().equals(release.tables[k])
        assert release.lazy_sets[k].collect().equals(release.tables[k])
        written = pl.read_csv(place / "synthetic" / f"set-{k + 1}.csv")
        assert written.height == release.manifest.n_rows
        assert set(written["note"]) == {"'=1", "plain"}
    assert loaded.sets[0].equals(release.sets[0])
    assert [table.height for table in first_parts(loaded.tables)] == [PART, PART]
    again = loaded.save(tmp_path / "again")
    assert us.Release.load(again).tables[1].equals(release.tables[1])
    page = (place / "report.html").read_text(encoding="utf-8")
    assert f"in the first {PART} of each set" in page
    text = (place / "README.md").read_text(encoding="utf-8")
    assert 'pd.read_parquet("release/synthetic/set-1/")' in text
    for shown in (page, text):
        assert "collect(open_dataset(" in shown
        assert "set-1.parquet" not in shown
    assert len(pd.read_parquet(place / "synthetic" / "set-1")) == release.manifest.n_rows
    assert "synthetic rows" in release._repr_html_()


def test_answers_of_a_release_in_parts_are_those_of_the_same_sets_in_one(
    place, tmp_path, monkeypatch
):
    parted = us.Release.load(place)
    whole = us.Release(
        tuple(parted.tables), parted.schema, parted.manifest, parted.measurements, parted.frame
    )
    for question in (("mean", "age"), ("proportion", "sex")):
        assert (
            us.analyze(parted, *question).to_frame().equals(us.analyze(whole, *question).to_frame())
        )
    with monkeypatch.context() as patch:
        for module in (sets_module, synthesize, load):
            patch.setattr(module, "PART_ROWS", 2**20)
        kept = whole.save(tmp_path / "whole")  # as earlier versions wrote it
    assert us.Release.load(kept).tables[1].equals(parted.tables[1])


def forge(place, change):
    """Change files of a release, and do its checksums again."""
    content = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    change(place, content)
    files = [path for path in place.rglob("*") if path.is_file() and path.name != "manifest.json"]
    content["files"] = {path.relative_to(place).as_posix(): folder.digest(path) for path in files}
    (place / "manifest.json").write_text(json.dumps(content), encoding="utf-8")


def of_part(how):
    def change(place, _):
        file = place / "synthetic" / "set-2" / "part-002.parquet"
        table = how(pl.read_parquet(file))
        file.unlink() if table is None else table.write_parquet(file)

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (of_part(lambda _: None), "does not list"),
        (of_part(lambda part: part.head(9)), "another number of rows"),
        (of_part(lambda part: part.with_columns(age=pl.lit(-5, pl.Int64))), "does not allow"),
        (lambda _, content: content.update(n_rows=10**15), "fewer parts"),
        (lambda place, _: (place / "synthetic/set-2/part-999.parquet").touch(), "no part of"),
    ],
)
@pytest.mark.nightly(every=3)
def test_a_part_that_does_not_fit_is_refused(place, tmp_path, change, why):
    copy = shutil.copytree(place, tmp_path / "r")
    forge(copy, change)
    with pytest.raises(ReleaseError, match=why):
        us.Release.load(copy)


def test_a_part_that_cannot_be_made_or_written_leaves_nothing(release, tmp_path):
    def fails(k, i):
        if i == 2:
            raise OSError(28, "No space left on device")
        return release.tables.part(k, i)

    broken = PartedSets(2, release.manifest.n_rows, fails)
    with pytest.raises(ReleaseError, match="space"):
        us.Release(broken, release.schema, release.manifest, release.measurements).save(
            tmp_path / "r"
        )
    assert list(tmp_path.iterdir()) == []


def test_what_measurements_answer_is_the_same_for_long_sets():
    """Sets lend them the shape of what was not measured; a part has it, and no count of it."""
    schema = us.Schema.loads(SCHEMA)
    long = us.synthesize(rows(4_000), schema, epsilon=60, delta="1e-6", insecure_noise_seed=4)
    assert isinstance(long.tables, PartedSets)
    whole = us.Release(tuple(long.tables), long.schema, long.manifest, long.measurements)
    for question in (("ols", "age ~ sex"), ("standardised-difference", "age ~ sex")):
        parted, one = (us.analyze(one, *question).to_frame() for one in (long, whole))
        # Parts of 64 records here: in a release they have a million.
        assert np.allclose(parted["estimate"], one["estimate"], rtol=1e-2)
        assert np.allclose(parted["upper"] - parted["lower"], one["upper"] - one["lower"], rtol=0.2)
