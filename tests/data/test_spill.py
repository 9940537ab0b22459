"""Coded rows on disk: equal counts, no name, no plain text, and no trust in what is read back."""

import errno
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from understudy.data import spill
from understudy.data import table as table_module
from understudy.data.spill import LockedKey, Spill
from understudy.data.table import Table
from understudy.errors import DataError
from understudy.schema import Schema

TYPES = [np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32)]
SCHEMA = Schema.loads("""
row_limit = 10000
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "integer"
lower = 0
upper = 299
bins = 300
reviewed = true
[columns.c]
kind = "boolean"
reviewed = true
[[forbidden]]
where = { a = "x", c = true }
reviewed = true
""")
GROUPS = {"b": [k // 100 for k in range(300)]}


def rows(n):
    rng = np.random.default_rng(n)
    return pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "?"], n),
            "b": rng.integers(0, 300, n),
            "c": rng.random(n) < 0.3,
        },
        schema={"a": pl.String, "b": pl.Int64, "c": pl.Boolean},
    )


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(spill, "CHUNK_ROWS", 64)
    monkeypatch.setattr(table_module, "SPILL_BYTES", 0)


def codes(n):
    rng = np.random.default_rng(1)
    return [rng.integers(0, 200, n).astype(dtype) for dtype in TYPES]


def spilled(folder, n, parts=1):
    made = Spill(folder, TYPES)
    columns = codes(n)
    for part in np.array_split(np.arange(n), parts):
        made.add([column[part] for column in columns])
    made.seal()
    return made


def size(made):
    return os.fstat(made._file.fileno()).st_size


def contents(made):
    made._file.seek(0)
    return made._file.read()


# --- what is counted ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 64, 1000])
def test_a_table_with_a_spill_answers_as_one_in_memory(small_chunks, tmp_path, n):
    kept, without = Table(rows(n), SCHEMA), Table(rows(n), SCHEMA, keep_bytes=0)
    on_disk = Table(rows(n), SCHEMA, spill=tmp_path)
    assert (on_disk._kept._spill is not None) == (n > 0)
    marginals = [(0, 1), (2,), (1, 2, 0)]
    for other in (without, on_disk):
        assert other.total().expose() == n
        for one, two in zip(kept.code_rows().expose(), other.code_rows().expose(), strict=True):
            np.testing.assert_array_equal(one, two)
        pairs = [(kept, other), (kept.recode(SCHEMA), other.recode(SCHEMA))]
        grouped = SCHEMA.with_groups(GROUPS)
        pairs += [(kept.group(grouped, GROUPS), other.group(grouped, GROUPS))]
        for first, second in pairs:
            found = first.count(marginals).expose(), second.count(marginals).expose()
            for one, two in zip(*found, strict=True):
                np.testing.assert_array_equal(one.inside, two.inside)
                assert one.outside == two.outside
            cells = first.count_occupied((0, 1)).expose(), second.count_occupied((0, 1)).expose()
            np.testing.assert_array_equal(cells[0].codes, cells[1].codes)
            np.testing.assert_array_equal(cells[0].counts, cells[1].counts)


def test_few_rows_stay_in_memory(tmp_path):
    table = Table(rows(1000), SCHEMA, spill=tmp_path)
    assert table._kept._spill is None
    assert table._kept.in_memory


def test_passes_may_run_side_by_side(small_chunks, tmp_path):
    made, columns = spilled(tmp_path, 200), codes(200)
    for first, second in zip(made.batches(), made.batches(), strict=True):
        for one, two in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, two)
    for one, parts in zip(columns, zip(*made.batches(), strict=True), strict=True):
        np.testing.assert_array_equal(one, np.concatenate(parts))


# --- what is on the disk --------------------------------------------------------------------------


def test_a_spill_has_no_name(small_chunks, tmp_path):
    made = spilled(tmp_path, 200)
    assert size(made) > 0
    assert list(tmp_path.iterdir()) == []


def test_its_size_tells_no_more_than_the_chunks(small_chunks, tmp_path):
    sizes = [size(spilled(tmp_path, n, parts=3)) for n in (1, 63, 64, 65, 128)]
    step = 64 * 7 + 16
    assert sizes == [step, step, step, 2 * step, 2 * step]


def test_chunks_have_a_size_that_follows_from_the_columns():
    assert spill.chunk_rows([np.dtype(np.uint8)] * 16) == 2**18
    for types in ([np.dtype(np.uint32)] * 100, [np.dtype(np.uint16)] * 5000):
        n, width = spill.chunk_rows(types), sum(dtype.itemsize for dtype in types)
        assert n * width <= spill.CHUNK_BYTES < 2 * n * width


def test_nothing_plain_is_written_and_nothing_twice_alike(small_chunks, tmp_path):
    one, two = (Spill(tmp_path, TYPES) for _ in range(2))
    for made in (one, two):
        made.add([np.full(256, 7, dtype) for dtype in TYPES])
        made.seal()
    chunk = 64 * 7 + 16
    chunks = [
        contents(made)[k : k + chunk] for made in (one, two) for k in range(0, 4 * chunk, chunk)
    ]
    assert len(set(chunks)) == 8
    assert all(part.count(7) < 20 for part in chunks)  # of 464 bytes, 2 by chance


@pytest.mark.parametrize("damage", ["a bit", "two chunks change places", "cut off", "of another"])
def test_damage_is_told_and_never_counted(small_chunks, tmp_path, damage):
    made, chunk = spilled(tmp_path, 200), 64 * 7 + 16
    data = bytearray(contents(made))
    if damage == "a bit":
        data[chunk + 5] ^= 1
    elif damage == "two chunks change places":
        data[:chunk], data[chunk : 2 * chunk] = data[chunk : 2 * chunk], data[:chunk]
    elif damage == "cut off":
        made._file.truncate(3 * chunk)
        data = data[: 3 * chunk]
    else:
        data[:chunk] = contents(spilled(tmp_path, 200))[:chunk]
    made._file.seek(0)
    made._file.write(data)
    with pytest.raises(DataError, match="was damaged while it was in use") as told:
        list(made.batches())
    assert told.value.__cause__ is None


KILLED = """
import sys
import numpy as np
from pathlib import Path
from understudy.data.spill import Spill
made = Spill(Path(sys.argv[1]), [np.dtype(np.uint8)])
made.add([np.full(2**18, 7, np.uint8)])
print("written", flush=True)
sys.stdin.read()
"""


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="has no kill that cannot be caught")
def test_a_killed_process_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"written\n"
        assert list(tmp_path.iterdir()) == []
        child.send_signal(signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []


def test_where_files_keep_their_name_what_was_left_is_removed(monkeypatch, tmp_path):
    (tmp_path / ".understudy-spill-left").touch()
    (tmp_path / "theirs").touch()
    spill.require_folder(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(spill, "_NAMED", True)
    spill.require_folder(tmp_path)
    assert [left.name for left in tmp_path.iterdir()] == ["theirs"]


# --- disks that fail ------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(DataError, match="cannot hold a spill: No such file"):
        Table(tmp_path / "rows.parquet", SCHEMA, spill=tmp_path / "x")


@pytest.fixture
def full_disk(monkeypatch):
    """No room for a second chunk."""

    def write(made, at=Spill._write):
        if made._n_chunks:
            made._file = Full()
        at(made)

    class Full:
        def write(self, _data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Spill, "_write", write)


def test_a_full_disk_is_one_sentence(small_chunks, full_disk, tmp_path):
    with pytest.raises(DataError) as told:
        Table(rows(1000), SCHEMA, spill=tmp_path)
    assert "cannot be written: No space left on device; free space there" in str(told.value)
    assert "nothing was spent" in str(told.value)


def test_rows_that_were_paid_for_are_read_again_where_there_is_no_room(
    small_chunks, tmp_path, request
):
    table = Table(rows(1000), SCHEMA, spill=tmp_path)
    request.getfixturevalue("full_disk")
    again = table.recode(SCHEMA)
    assert again._kept.batches() is None
    one, two = (some.count([(0, 1)]).expose()[0] for some in (table, again))
    np.testing.assert_array_equal(one.inside, two.inside)


# --- the key --------------------------------------------------------------------------------------


def test_a_key_is_fresh_and_forgotten():
    one, two = LockedKey(), LockedKey()
    assert one.bytes() != two.bytes()
    assert len(one.bytes()) == 32
    one.forget()
    assert bytes(one.bytes()) == bytes(32)


def test_neither_key_nor_spill_is_shown_or_copied(tmp_path):
    made = spilled(tmp_path, 5)
    for secret in (made, made._key):
        assert secret.__class__.__name__ in repr(secret)
        assert "5" not in repr(secret)
        with pytest.raises(TypeError):
            pickle.dumps(secret)


def test_a_spill_that_is_not_used_any_more_is_closed_and_its_key_forgotten(tmp_path):
    made = spilled(tmp_path, 5)
    file, key = made._file, made._key
    del made
    assert file.closed
    assert bytes(key.bytes()) == bytes(32)
