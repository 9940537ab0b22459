"""Parts of long synthetic tables, made and written in Spark tasks.

A part is made from released values and its own seed, so it is the same wherever and however often
it is made: a task that is lost and repeated, or run twice, writes the same file. Tasks write where
the driver's folder is theirs too; elsewhere they send their files, a few at a time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa

from understudy.engine.spark.jobs import Limits, collected
from understudy.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST: Final = 2
"""Files of the first job, which shows whether they are sent and how long they are."""

Make = Callable[[int], pl.DataFrame]


@dataclass(frozen=True)
class PartFiles:
    """Writes parts in the tasks of a session.

    Attributes:
        session: classic, or of Spark Connect.
        limits: of its jobs.
    """

    session: SparkSession
    limits: Limits

    def __call__(self, make: Make, files: Sequence[Path]) -> None:
        """Write what can be written; a file that is missing afterwards is for the caller to write.

        Args:
            make: makes a part by its number, from 0; it goes to every task.
            files: of the parts, all in one folder, which exists.
        """
        place = files[0].parent
        open_, closed = (place / f"{token_hex(16)}.unfinished" for _ in range(2))
        open_.mkdir()
        work = partial(_written, make, [str(file) for file in files], str(open_))
        try:
            self._in_jobs(work, files, open_)
        except Exception:  # of Spark, of its tasks, or a session that was closed since
            return
        finally:
            # A task that still runs, for the second time, cannot begin a file here any more.
            open_.rename(closed)
            rmtree(closed)

    def _in_jobs(
        self, work: Callable[[int], bytes], files: Sequence[Path], unfinished: Path
    ) -> None:
        done, following = 0, FIRST
        while done < len(files):
            numbers = range(done, min(done + following, len(files)))
            task = partial(_sent, work, done, version("understudy"))
            parts = self.session.range(0, len(numbers), 1, len(numbers))
            largest = 0
            for i, content in collected(parts, task, "i long, content binary"):
                largest = max(largest, len(content))
                if content:
                    _write(bytes(content), files[i], unfinished)
            done, following = numbers.stop, len(files)
            if largest:
                following = max(1, min(self.limits.tasks, self.limits.room // largest))


def _sent(
    work: Callable[[int], bytes], start: int, released: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What a task does: its parts, one after the other."""
    if version("understudy") != released:
        raise DataError("another version of Understudy")
    for batch in batches:
        for k in batch.column(0).to_pylist():
            columns: list[pa.Array[Any]] = [
                pa.array([start + k], pa.int64()),
                pa.array([work(start + k)], pa.binary()),
            ]
            yield pa.record_batch(columns, names=["i", "content"])


def _written(make: Make, files: Sequence[str], unfinished: str, i: int) -> bytes:
    """Make a part and write it; where the folder is not the driver's, its file as bytes."""
    content = _made(make, i)
    if not os.path.isdir(unfinished):
        return content
    _write(content, Path(files[i]), Path(unfinished))
    return b""


def _made(make: Make, i: int) -> bytes:
    """A part as a file."""
    stream = io.BytesIO()
    make(i).write_parquet(stream)
    return stream.getvalue()


def _write(content: bytes, file: Path, unfinished: Path) -> None:
    """The file as a whole or not at all, and on the disk."""
    whole = unfinished / token_hex(16)
    with whole.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    whole.replace(file)
