"""The engine over a Spark data frame, classic or of Spark Connect: rows are summed where they are.

Every pass computes the data frame anew, in one job (`understudy.engine.spark.jobs`). Whole records
never come to the driver, so mechanisms that need them are refused before anything is paid. All
noise is drawn in the driver, from merged sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import pyarrow as pa

from understudy.engine.coding import Codes, ColumnCoder, Reading
from understudy.engine.confidential import Confidential, ExactTable
from understudy.engine.marginal_counter import in_groups
from understudy.engine.passes import CodePass, CodingPass, RowPass, T
from understudy.engine.reading.column_types import require_columns, require_types
from understudy.engine.reading.readers import open_rows
from understudy.engine.reading.table_rows import FrameKind
from understudy.engine.spark.cluster import premises_of_cluster
from understudy.engine.spark.connect_plan import premises_of_relation
from understudy.engine.spark.jobs import ROOM, Limits, passed
from understudy.engine.spark.part_files import PartFiles
from understudy.engine.spark.plan import premises_of_files, premises_of_plan
from understudy.engine.spark.texts import SparkTexts
from understudy.engine.summed_rows import SummedRows
from understudy.errors import DataError
from understudy.schema import Schema, private_copy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
        super().__init__(schema, private_copy(schema.released()))
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
        """What writes synthetic tables in the tasks of the same session."""
        frame = self._frame
        within = frame.lines if isinstance(frame, SparkTexts) else frame
        return PartFiles(within.sparkSession, self._limits)

    def recoded(self, schema: Schema) -> SparkRows:
        """The same rows, coded against another schema of the same columns."""
        if self._groups:
            raise NotImplementedError("grouped rows cannot be coded again")
        coded_by = private_copy(schema.released())
        return self._seen(schema, coded_by, coded_by, {})

    def grouped(self, schema: Schema, groups: Groups) -> SparkRows:
        """The same rows with states merged into groups, for counts only."""
        return self._seen(schema, schema, self._coded_by, groups)

    def _seen(self, given: Schema, schema: Schema, coded_by: Schema, groups: Groups) -> SparkRows:
        view = object.__new__(SparkRows)
        view.__dict__.update(self.__dict__)
        SummedRows.__init__(view, given, schema)
        view._coded_by, view._groups, view._known = coded_by, groups, {}
        view._behind = self._behind if groups else view._known
        view._n_rows = self._n_rows
        return view

    def coded(self) -> Confidential[list[Codes]]:
        """Whole records stay where they are."""
        self._withhold()

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Whole records stay where they are."""
        self._withhold()

    def _withhold(self) -> NoReturn:
        raise NotImplementedError("whole records of a Spark data frame are not brought together")

    def _first_pass(self) -> None:
        columns = [(j,) for j in range(len(self._schema.names))]
        tables = self._counted(columns)
        self._n_rows = int(tables[0].inside.sum()) + tables[0].outside
        self._require_declared_number()

    def _counted(self, narrow: Sequence[tuple[int, ...]]) -> list[ExactTable]:
        """Tables in as few passes as memory allows; what was counted before is known.

        Methods that choose what to measure ask for the chosen table after all candidates.
        """
        known = {columns: self._recalled(columns) for columns in narrow}
        table_of = {columns: table for columns, table in known.items() if table is not None}
        new = [columns for columns in known if columns not in table_of]
        # Four bytes a cell.
        fitting = self._limits.room // (4 * self._limits.tasks)
        most = max(LEAST_CELLS, min(MOST_CELLS, fitting))
        new += self._ahead(new, most)
        for group in in_groups(new, [self._padded(columns) for columns in new], most):
            table_of |= zip(group, super()._counted(group), strict=True)
        room = KEPT_CELLS - sum(table.inside.size for table in self._known.values())
        for columns in new:
            room -= self._padded(columns)
            if room >= 0:
                self._known[columns] = table_of[columns]
        return [table_of[columns] for columns in narrow]

    def _ahead(self, new: Sequence[tuple[int, ...]], most: int) -> list[tuple[int, ...]]:
        """Pairs that are counted in the same pass, if they fit into it."""
        pairs = set(combinations(range(len(self._schema.names)), 2)).difference(new, self._behind)
        cells = sum(map(self._padded, [*new, *pairs]))
        return sorted(pairs) if new and len(pairs) <= MOST_AHEAD and cells <= most else []

    def _recalled(self, columns: tuple[int, ...]) -> ExactTable | None:
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
        return passed(self._frame, coding, self._limits)

    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        if self._groups:
            raise NotImplementedError("grouped rows have no numbers to sum")
        return passed(self._frame, begun, self._limits)


def is_connected(frame: object) -> bool:
    """Whether a data frame is one of Spark Connect."""
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
