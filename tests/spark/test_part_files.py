"""Long sets written in Spark tasks: the files of the same seeds, whatever becomes of a task."""

import hashlib
import os
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from understudy._storage import PARQUET_NOTE
from understudy.release import load, sets
from understudy.spark import rows
from understudy.spark.jobs import Limits
from understudy.spark.rows import PartFiles
from understudy.workflow import synthesize

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")

SCHEMA = """
rows = "private"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
reviewed = true
[columns.wage]
kind = "continuous"
lower = 0
upper = 100
reviewed = true
"""


def digests(folder):
    """Of all files, by name."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
    }


def part(place, kind, i):
    """Some part; tasks leave a mark that they made it, or fail when they first do."""
    mark = Path(place, f"{i}-{os.getpid()}")
    first = not any(Path(place).glob(f"{i}-*"))
    mark.touch()
    if kind == "killed" and first and i == 2:
        os._exit(1)
    if kind == "broken" and i == 2:
        raise ValueError("SECRET")
    return pl.DataFrame({"a": range(i * 10, i * 10 + 10)})


def written(spark, tmp_path, kind="whole", room=2**20):
    """What tasks wrote of four parts, and what one process writes."""
    marks, here, there = (tmp_path / name for name in ("marks", "here", "there"))
    for folder in (marks, here, there):
        folder.mkdir()
    names = [f"part-{i}.parquet" for i in range(4)]
    PartFiles(spark, Limits(4, room))(partial(part, str(marks), kind), [there / n for n in names])
    for i, name in enumerate(names):
        own = pl.DataFrame({"a": range(i * 10, i * 10 + 10)})
        own.write_parquet(here / name, metadata=PARQUET_NOTE)
    made_by = {int(mark.name.partition("-")[2]) for mark in marks.iterdir()}
    assert os.getpid() not in made_by
    return digests(there), digests(here)


@pytest.mark.parametrize("kind", ["whole", "killed"])
@pytest.mark.nightly
def test_tasks_write_what_one_process_writes(spark, tmp_path, kind):
    """Also where a task is killed, and begins again."""
    there, here = written(spark, tmp_path, kind)
    assert there == here


@pytest.mark.nightly
def test_files_are_sent_where_the_folder_is_not_shared(spark, tmp_path, monkeypatch):
    sent = []
    write = rows._write
    monkeypatch.setattr(
        rows,
        "_write",
        lambda content, file, place: (sent.append(file.name), write(content, file, place)),
    )
    monkeypatch.setattr(rows, "_write_part", unshared)
    there, here = written(spark, tmp_path, room=1)
    assert there == here
    assert len(sent) == 4


def unshared(make, files, _unfinished, i):
    """As `_write_part` where the driver's folder is not there."""
    return rows._make_part(make, i)


def test_what_tasks_do_not_write_is_left_to_the_caller(spark, tmp_path):
    there, here = written(spark, tmp_path, "broken")
    assert there.items() < here.items()
    assert "part-2.parquet" not in there


@pytest.fixture
def short_parts(monkeypatch):
    for module in (sets, synthesize, load):
        monkeypatch.setattr(module, "PART_ROWS", 64)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.nightly
def test_a_release_of_a_data_frame_is_written_by_tasks(spark, tmp_path, short_parts, closed):
    """From the same seeds as without Spark; without tasks if the session is lost."""
    ages = [{"sex": "fm"[k % 2], "age": k % 90, "wage": k / 7} for k in range(250)]
    pl.DataFrame(ages).write_parquet(tmp_path / "rows.parquet")
    schema = us.Schema.loads(SCHEMA)
    asked = {"epsilon": 20, "delta": "1e-6", "method": "mst", "insecure_noise_seed": 3}
    here = us.synthesize(tmp_path / "rows.parquet", schema, **asked).save(tmp_path / "here")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    release = us.synthesize(frame, schema, **asked)
    parts = release.tables.part
    assert isinstance(parts, synthesize.DrawnParts)
    used = []
    release.tables._elsewhere = Lost() if closed else Noted(release.tables._elsewhere, used)
    there = release.save(tmp_path / "there")
    own = digests(there / "synthetic" / "set-1")
    assert len(own) > 2
    assert own == digests(here / "synthetic" / "set-1")
    assert used == ([] if closed else [True])
    us.Release.load(there)


class Noted:
    """Notes whether tasks wrote all."""

    def __init__(self, write, used):
        self.write, self.used = write, used

    def __call__(self, make, files):
        self.write(make, files)
        self.used.append(all(file.exists() for file in files))


class Lost(PartFiles):
    """Of a session that was closed."""

    def __init__(self):
        super().__init__(None, Limits(4))
