"""The engine over a Spark data frame, classic or of Spark Connect: rows are summed where they are.

Every pass computes the data frame anew, in one job (`understudy.spark.jobs`). Whole records
never come to the driver, so mechanisms that need them are refused before anything is paid. All
noise is drawn in the driver, from merged sums.

**Rows in a Spark data frame: each pass is one job, and what leaves a task is its sums alone.**

**Tables of a Spark session by path or name, for commands, which have no data frame to hand in.**

**Parts of long synthetic tables, made and written in Spark tasks.**

A part is made from released values and its own seed, so it is the same wherever and however often
it is made: a task that is lost and repeated, or run twice, writes the same file. Tasks write where
the driver's folder is theirs too; elsewhere they send their files, a few at a time.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import polars as pl
import pyarrow as pa

from understudy._storage import PARQUET_NOTE
from understudy.data.base import Confidential, ExactTable, SummedRows
from understudy.data.coding import ColumnCoder, Reading, StateCodes, is_of_clusters
from understudy.data.csv import is_delimited, numbers_of_schema
from understudy.data.marginals import in_groups
from understudy.data.rows import FrameKind, require_columns, require_types
from understudy.data.sources import open_rows
from understudy.data.sums import CodePass, CodingPass, RowPass, T
from understudy.errors import DataError, MethodError
from understudy.schema import Schema, private_copy
from understudy.spark.jobs import ROOM, Limits, collect_messages, run_pass
from understudy.spark.plan import (
    premises_of_cluster,
    premises_of_files,
    premises_of_plan,
    premises_of_relation,
)
from understudy.spark.texts import SparkTexts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


CLOSED: Final = {
    "spark.io.encryption.enabled": "true",
    "spark.eventLog.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""What a session is opened with. A moment in a file is then the day that it is without Spark, and
rows are handed over in batches that are coded at once."""


_UNPACKED: Final = tuple(
    ending + packed for ending in (".csv", ".tsv", ".txt") for packed in ("", ".gz", ".bz2")
)
"""Endings of texts that Spark gives lines of."""


def open_spark(place: str, schema: Schema) -> DataFrame | SparkTexts:
    """A data frame, or texts, of the session that runs, or of a new one.

    Args:
        place: path of Parquet (file or folder) or of a delimited text, or the name of a table.
        schema: says how a text is written.

    Raises:
        MethodError: pyspark is not installed, or no session can be opened.
        DataError: no such path or table, or a text that Spark cannot read as the schema says.
    """
    if find_spec("pyspark") is None:
        raise MethodError(
            "Spark needs pyspark; install understudy[spark], and a Java of 17 or later."
        )
    session = _session()
    try:
        if is_delimited(place):
            return _texts(session, place, schema)
        is_path = "/" in place or Path(place).exists() or place.endswith((".parquet", ".pq"))
        return session.read.parquet(place) if is_path else session.table(place)
    except DataError:
        raise
    except Exception:  # of Spark, of the virtual machine or of the network: it may quote the data
        raise DataError(
            f"Spark cannot read {place!r}; give the path of Parquet or CSV, or the name of a table."
        ) from None


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("understudy")
    if "SPARK_REMOTE" not in os.environ:  # the settings of a server are not its client's
        for name, value in CLOSED.items():
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise MethodError(
            "No Spark session can be opened; Spark needs a Java of 17 or later, found by "
            f"JAVA_HOME or on the PATH ({type(error).__name__})."
        ) from None


def _texts(session: Any, place: str, schema: Schema) -> SparkTexts:
    """Lines, which tasks split; what cells mean is public, and never guessed from the rows."""
    form = schema.file
    if form.multiline or not place.endswith(_UNPACKED):
        raise DataError(
            "Spark reads texts with one record a line, packed by gzip or bzip2 if at all; convert "
            f"{place!r} to Parquet with all columns as texts, or leave the engine out."
        )
    return SparkTexts.open_texts(session, place, form, numbers_of_schema(schema))


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
        work = partial(_write_part, make, [str(file) for file in files], str(open_))
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
            task = partial(_send_parts, work, done, version("understudy"))
            parts = self.session.range(0, len(numbers), 1, len(numbers))
            largest = 0
            for i, content in collect_messages(parts, task, "i long, content binary"):
                largest = max(largest, len(content))
                if content:
                    _write(bytes(content), files[i], unfinished)
            done, following = numbers.stop, len(files)
            if largest:
                following = max(1, min(self.limits.tasks, self.limits.room // largest))


def _send_parts(
    work: Callable[[int], bytes], start: int, released: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Make the parts of a task, one after the other, and send them."""
    if version("understudy") != released:
        raise DataError("another version of Understudy")
    for batch in batches:
        for k in batch.column(0).to_pylist():
            columns: list[pa.Array[Any]] = [
                pa.array([start + k], pa.int64()),
                pa.array([work(start + k)], pa.binary()),
            ]
            yield pa.record_batch(columns, names=["i", "content"])


def _write_part(make: Make, files: Sequence[str], unfinished: str, i: int) -> bytes:
    """Make a part and write it; where the folder is not the driver's, its file as bytes."""
    content = _make_part(make, i)
    if not os.path.isdir(unfinished):
        return content
    _write(content, Path(files[i]), Path(unfinished))
    return b""


def _make_part(make: Make, i: int) -> bytes:
    """A part as a file."""
    stream = io.BytesIO()
    make(i).write_parquet(stream, metadata=PARQUET_NOTE)
    return stream.getvalue()


def _write(content: bytes, file: Path, unfinished: Path) -> None:
    """The file as a whole or not at all, and on the disk."""
    whole = unfinished / token_hex(16)
    with whole.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    whole.replace(file)


MOST_CELLS, LEAST_CELLS = 2**23, 2**18
"""Of the tables that one pass counts; more of them are counted by several passes. The more tasks
send them, the fewer there are, so that all messages fit into the driver."""

KEPT_CELLS: Final = 2**25
"""Cells of all tables that the driver remembers; a pass costs more than their memory."""

MOST_AHEAD: Final = 500
"""Pairs of columns that are counted before anybody asks, with whatever a pass counts. Another pass
for them would cost much more: reading and coding a row takes as long as hundreds of increments."""

CONNECTED_TASKS: Final = 256
"""Most tasks of a pass where nobody can ask how many run at a time."""

Groups = Mapping[str, Sequence[int]]


class SparkRows(SummedRows):
    """Rows of a Spark data frame, coded against a schema.

    The first pass codes every row, before any budget is spent, and counts each column by itself;
    with it all pairs of columns, if they are few.

    Args:
        frame: classic, or of Spark Connect; or texts, which tasks split into cells.
        schema: what the rows are coded against.
        trusted_cluster: whether the steward vouches for what the settings do not close.

    Raises:
        DataError: a cluster that is not closed, a plan that may have other rows in each pass, a
            column missing or of a type that cannot be read, a job that fails, or another number of
            rows than the schema declares as public.
    """

    has_records = False
    frame_kind: FrameKind = "pandas"

    def __init__(
        self, frame: DataFrame | SparkTexts, schema: Schema, *, trusted_cluster: bool = False
    ) -> None:
        super().__init__(schema, private_copy(schema.strip_fingerprints()))
        within = frame.lines if isinstance(frame, SparkTexts) else frame
        connected = is_connected(within)
        if isinstance(frame, SparkTexts):
            plan = premises_of_files(within)
        else:
            plan = premises_of_relation(within) if connected else premises_of_plan(within)
        cluster = premises_of_cluster(within, connected=connected, trusted=trusted_cluster)
        self.premises = cluster + plan
        self._frame, self._coded_by = frame, self._schema
        self._groups: Groups = {}
        self._limits = Limits(CONNECTED_TASKS) if connected else _limits(within)
        _require_readable(frame, self._schema)
        self._known: dict[tuple[int, ...], ExactTable] = {}
        self._behind = self._known
        self._first_pass()

    def __repr__(self) -> str:
        return f"SparkRows({len(self._schema.names)} columns, rows withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Confidential rows cannot be pickled or copied.")

    @property
    def part_files(self) -> PartFiles:
        """Writer of synthetic tables in the tasks of the same session."""
        frame = self._frame
        within = frame.lines if isinstance(frame, SparkTexts) else frame
        return PartFiles(within.sparkSession, self._limits)

    def recode(self, schema: Schema) -> SparkRows:
        """The same rows, coded against another schema of the same columns."""
        if self._groups:
            raise NotImplementedError("grouped rows cannot be coded again")
        coded_by = private_copy(schema.strip_fingerprints())
        return self._make_view(schema, coded_by, coded_by, {})

    def group(self, schema: Schema, groups: Groups) -> SparkRows:
        """The same rows with states merged into groups, for counts only."""
        return self._make_view(schema, schema, self._coded_by, groups)

    def _make_view(
        self, given: Schema, schema: Schema, coded_by: Schema, groups: Groups
    ) -> SparkRows:
        view = object.__new__(SparkRows)
        view.__dict__.update(self.__dict__)
        SummedRows.__init__(view, given, schema)
        view._coded_by, view._groups, view._known = coded_by, groups, {}
        view._behind = self._behind if groups else view._known
        view._n_rows = self._n_rows
        return view

    def code_rows(self) -> Confidential[list[StateCodes]]:
        """Whole records stay where they are."""
        self._withhold()

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Whole records stay where they are."""
        self._withhold()

    def _withhold(self) -> NoReturn:
        raise NotImplementedError("whole records of a Spark data frame are not brought together")

    def _first_pass(self) -> None:
        columns = [(j,) for j in range(len(self._schema.names))]
        tables = self._count_tables(columns)
        self._n_rows = int(tables[0].inside.sum()) + tables[0].outside
        self._require_declared_number()

    def _count_tables(self, narrow: Sequence[tuple[int, ...]]) -> list[ExactTable]:
        """Tables in as few passes as memory allows; what was counted before is known.

        Methods that choose what to measure ask for the chosen table after all candidates.
        """
        known = {columns: self._recall_table(columns) for columns in narrow}
        table_of = {columns: table for columns, table in known.items() if table is not None}
        new = [columns for columns in known if columns not in table_of]
        # Four bytes a cell.
        fitting = self._limits.room // (4 * self._limits.tasks)
        most = max(LEAST_CELLS, min(MOST_CELLS, fitting))
        new += self._ahead(new, most)
        for group in in_groups(new, [self._count_padded(columns) for columns in new], most):
            table_of |= zip(group, super()._count_tables(group), strict=True)
        room = KEPT_CELLS - sum(table.inside.size for table in self._known.values())
        for columns in new:
            room -= self._count_padded(columns)
            if room >= 0:
                self._known[columns] = table_of[columns]
        return [table_of[columns] for columns in narrow]

    def _ahead(self, new: Sequence[tuple[int, ...]], most: int) -> list[tuple[int, ...]]:
        """Pairs that are counted in the same pass, if they fit into it."""
        pairs = set(combinations(range(len(self._schema.names)), 2)).difference(new, self._behind)
        cells = sum(map(self._count_padded, [*new, *pairs]))
        return sorted(pairs) if new and len(pairs) <= MOST_AHEAD and cells <= most else []

    def _recall_table(self, columns: tuple[int, ...]) -> ExactTable | None:
        """A table that was counted before: as it is, in another order, or before it was grouped."""
        ascending = tuple(sorted(columns))
        counted = self._behind.get(ascending)
        if columns in self._known or counted is None:
            return self._known.get(columns)
        inside = counted.inside.transpose([ascending.index(j) for j in columns])
        for axis, j in enumerate(columns):
            groups = self._groups.get(self._schema.names[j])
            if groups is not None:
                states = np.moveaxis(inside, axis, 0)
                merged = np.zeros((max(groups) + 1, *states.shape[1:]), dtype=np.int64)
                np.add.at(merged, np.asarray(groups), states)
                inside = np.moveaxis(merged, 0, axis)
        return ExactTable(np.ascontiguousarray(inside), counted.outside)

    def _through_codes(self, begun: Callable[[], CodePass[T]]) -> T:
        coding: Callable[[], RowPass[T]]
        coding = partial(CodingPass, begun, self._coded_by, self._groups)
        return run_pass(self._frame, coding, self._limits)

    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        if self._groups:
            raise NotImplementedError("grouped rows have no numbers to sum")
        return run_pass(self._frame, begun, self._limits)


def is_connected(frame: object) -> bool:
    """Return whether a data frame is one of Spark Connect."""
    return any(base.__module__.startswith("pyspark.sql.connect.") for base in type(frame).__mro__)


def _limits(frame: DataFrame) -> Limits:
    """Twice as many tasks as run at a time, so that no long one is waited for; and their room."""
    context: Any = frame.sparkSession.sparkContext
    allowed = context.getConf().get("spark.driver.maxResultSize", "1g")
    most = int(context._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(allowed))
    room = min(ROOM, most // 4) if most else ROOM  # 0 stands for no limit
    return Limits(max(1, 2 * int(context.defaultParallelism)), room)


def _require_readable(frame: DataFrame | SparkTexts, schema: Schema) -> None:
    """Refuse what could not be read, by names and types alone."""
    from pyspark.sql.pandas.types import to_arrow_type

    for name, column in schema.columns.items():
        if is_of_clusters(column):  # each task would draw a key, and divide a cluster
            raise DataError(
                f"Column {name!r} has random_groups, which Spark's tasks cannot share; leave the "
                "engine out, or name the groups in the data."
            )
    if isinstance(frame, SparkTexts):
        require_columns(frame.columns, schema, "The text that Spark reads")
        return
    place, names = "The Spark data frame", [name.lower() for name in frame.columns]
    require_columns(frame.columns, schema, place)
    twice = [name for name in schema.names if names.count(name.lower()) > 1]
    if twice:
        raise DataError(
            f"{place} has two columns that Spark takes for one: {twice[0]!r}; rename one of them."
        )
    types = {}
    for name in schema.names:
        kind = frame.schema[name].dataType
        try:
            types[name] = to_arrow_type(kind, timezone="UTC")
        except Exception:  # each version of Spark has its own for types that Arrow lacks
            raise DataError(
                f"Column {name!r} has the type {kind.simpleString()}, which cannot be read; "
                "convert it to numbers, text or dates."
            ) from None
    empty = pa.schema(list(types.items())).empty_table()
    coders = [ColumnCoder(name, column) for name, column in schema.columns.items()]
    require_types(open_rows(empty), coders)
