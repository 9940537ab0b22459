"""One pass over a Spark data frame: tasks sum their rows, the driver merges what they send.

A task codes its rows with the kernels of this package and sends one message with its sums; nothing
is shuffled, cached or accumulated. Spark takes one message of each part, however often its task is
run again, and no noise is drawn before all of them are merged in the driver. So a task that is lost
and repeated, or run twice, changes nothing.

A message is as long as what is summed, which is public, and occupied cells are padded to a power of
two: so the sizes that Spark's own measures show tell next to nothing.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from understudy.data.frames import arrow_column
from understudy.data.sums import RowPass, T
from understudy.errors import DataError
from understudy.spark.texts import SparkTexts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


BATCH_ROWS: Final = 100_000
"""Rows that are coded at once. Spark sends ten thousand, and each batch has a cost of its own."""

Reader = Callable[[Iterator[pa.RecordBatch]], Iterator[pl.DataFrame]]

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

ROOM: Final = 2**28
"""Bytes of all sums of a pass together, which padding doubles at most. Spark refuses a result of
1 GiB if nobody says else."""


@dataclass(frozen=True)
class Limits:
    """Limits on what a pass may ask of a cluster.

    Attributes:
        tasks: most that are of use.
        room: bytes of the sums of all of them together; where these are longer, tasks are fewer.
    """

    tasks: int
    room: int = ROOM


def run_pass(frame: DataFrame | SparkTexts, begun: Callable[[], RowPass[T]], limits: Limits) -> T:
    """Run a pass over all rows of a data frame and return its answer.

    Args:
        frame: classic, or of Spark Connect; or texts.
        begun: the pass, before the first row; it goes to every task.
        limits: how many tasks there may be.

    Raises:
        DataError: the job failed.
    """
    over = begun()
    size = sum(array.nbytes for array in over.sums())
    tasks = max(1, min(limits.tasks, limits.room // max(1, size)))
    if isinstance(frame, SparkTexts):
        chosen, reading = frame.lines, frame.create_reader(over.names)
    else:
        # By plain names, since Spark looks the others up again without their quotes.
        named = (f"{quote_name(name)} AS c{k}" for k, name in enumerate(over.names))
        chosen, reading = frame.selectExpr(*named), partial(read_frames, tuple(over.names))
    chosen = chosen.coalesce(tasks)
    task = partial(sum_rows, begun, reading, version("understudy"))
    try:
        messages = collect_messages(chosen, task, "sums binary")
    except Exception:  # of Spark, of the virtual machine or of the network: it may quote the data
        raise DataError(
            "The job that reads the Spark data frame failed. Its own message may quote the data "
            "and is in Spark's logs alone. Each executor needs Python with this version of "
            f"Understudy ({version('understudy')}); PYSPARK_PYTHON says where."
        ) from None
    for (message,) in messages:
        over.merge(unpack(bytes(message)))
    return over.answer()


def collect_messages(frame: DataFrame, task: Task, columns: str) -> list[Any]:
    """Collect what tasks send.

    Args:
        frame: whose parts the tasks are given.
        task: what they do.
        columns: of their messages, as Spark writes them.
    """
    with warnings.catch_warnings():
        # Of pandas, which plays no part here: tasks get Arrow's batches.
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        return list(frame.mapInArrow(task, columns).collect())


def quote_name(name: str) -> str:
    """A column's name as Spark takes it for that very name."""
    return "`" + name.replace("`", "``") + "`"


def sum_rows(
    begun: Callable[[], RowPass[T]],
    reading: Reader,
    released: str,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Sum the rows of a task, and send one message.

    What goes wrong is told by its kind alone: Spark shows a task's last words on its pages.

    Args:
        begun: the pass, before the first row.
        reading: what makes rows of the batches.
        released: version of this package in the driver.
        batches: of the task's rows.
    """
    try:
        if version("understudy") != released:
            raise DataError("another version of Understudy")
        over = begun()
        for rows in reading(batches):
            over.add(rows)
        message = pack(over.sums())
    except Exception as error:
        raise RuntimeError(
            f"This part of the rows was not summed: {type(error).__name__}"
        ) from None
    yield pa.record_batch([pa.array([message], pa.binary())], names=["sums"])


def pack(sums: Sequence[NDArray[Any]]) -> bytes:
    """Arrays as one message, padded to a power of two."""
    stream = io.BytesIO()
    np.savez(stream, *sums)
    message = stream.getvalue()
    whole = 1 << (len(message) + 8).bit_length()
    return len(message).to_bytes(8, "little") + message + bytes(whole - len(message) - 8)


def unpack(message: bytes) -> list[NDArray[Any]]:
    """The arrays of a message."""
    length = int.from_bytes(message[:8], "little")
    with np.load(io.BytesIO(message[8 : 8 + length]), allow_pickle=False) as arrays:
        return [arrays[name] for name in arrays.files]


def _gather_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Small batches put together to larger ones."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= BATCH_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def read_frames(names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """Rows of a data frame with columns of their own types.

    Args:
        names: of its columns.
        batches: of a task.
    """
    for table in _gather_batches(batches):
        yield _frame(table, names)


def _frame(table: pa.Table, names: Sequence[str]) -> pl.DataFrame:
    """Columns of a batch, each read value by value as those of an Arrow table."""
    columns = [arrow_column(column) for column in table.columns]
    return pl.DataFrame(
        [
            series.alias(name)
            for series, name in zip(columns, names, strict=True)
            if series is not None
        ]
    )
