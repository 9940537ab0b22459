"""Gates are made here and nowhere else, with the mechanisms of this package and no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from understudy.arguments import path_of
from understudy.engine import Engine, Table
from understudy.engine.reading.frame_columns import is_spark
from understudy.engine.spark.part_files import PartFiles
from understudy.engine.spark.session import opened
from understudy.engine.spark.spark_rows import SparkRows
from understudy.engine.spark.texts import SparkTexts
from understudy.errors import DataError, MethodError
from understudy.pipeline.interruption import Progress
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.accounting.ledger import Entry, Ledger
from understudy.privacy.checkpoint.journal import Journal
from understudy.privacy.checkpoint.replay import Replay
from understudy.privacy.earlier_runs import Unrecorded
from understudy.privacy.gate import Gate
from understudy.privacy.internal import Confide
from understudy.privacy.mechanism import Mechanisms
from understudy.privacy.mechanisms import MECHANISMS
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp import WITHOUT_EPSILON
from understudy.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMED: Final[Mechanisms] = (*MECHANISMS, *WITHOUT_EPSILON)
"""All that a gate can be asked for."""


def open_gate(
    engine: Engine,
    budget: Budget,
    randomness: Randomness,
    journal: Journal | None = None,
    *,
    allow_nonprivate: bool = False,
    stop: Callable[[], bool] = lambda: False,
    confide: Confide = lambda _told: None,
    earlier: Sequence[Entry] = (),
) -> Gate:
    """A gate in front of rows.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise.
        journal: open, of this very request; None for a run that cannot be continued.
        allow_nonprivate: as in `Gate`, and so are the others.
        stop: whether whoever waits has asked for an end.
        confide: takes what the steward alone may know.
        earlier: what was paid, out of the same budget, for a release that is amended.
    """

    def record(ledger: Ledger) -> Unrecorded:
        for entry in earlier:
            ledger.restore(entry)
        return Unrecorded() if journal is None else Replay(journal, ledger, randomness)

    return Gate(
        engine,
        budget,
        randomness,
        mechanisms=NAMED,
        allow_nonprivate=allow_nonprivate,
        stop=stop,
        confide=confide,
        record=record,
    )


def coded_rows(
    data: object, schema: Schema, tell: Progress, spill: str | Path | None = None
) -> Table:
    """The rows, read and coded, while it is told so; nothing is spent by it.

    Args:
        data: pandas, Polars or Arrow table, or a path.
        schema: of the table.
        tell: who waits.
        spill: folder for coded rows that are too many for memory.

    Raises:
        DataError: a structural fault of the data, or the spill cannot be written.
    """
    folder = None if spill is None else path_of("spill", spill, DataError)
    tell("Reading and coding rows", 0, 1)
    rows = Table(data, schema, spill=folder)
    tell("Reading and coding rows", 1, 1)
    return rows


def in_spark(place: str, schema: Schema) -> DataFrame | SparkTexts:
    """A Spark data frame, or texts that Spark reads, by path or name, for commands.

    Args:
        place: path of Parquet or of a delimited text, or the name of a table.
        schema: says how a text is written.

    Raises:
        MethodError: no Spark session can be opened.
        DataError: no such path or table.
    """
    return opened(place, schema)


def summed_rows(
    data: object,
    schema: Schema,
    tell: Progress,
    spill: str | Path | None = None,
    *,
    records_for: str = "",
    passes: int = 1,
    trusted_cluster: bool = False,
) -> Table | SparkRows:
    """The same rows, or those of a Spark data frame, which are summed where they are.

    Args:
        data: as `synthesize` takes it.
        schema: of the table.
        tell: who waits.
        spill: as for `coded_rows`; a Spark data frame needs none.
        records_for: what needs whole records, and not sums alone, as a sentence; "" for nothing.
        passes: over the rows at least, where each reads them anew.
        trusted_cluster: whether the steward vouches for a Spark cluster that is not closed.

    Raises:
        DataError: a structural fault of the data.
        MethodError: whole records are needed, and the data are a Spark data frame.
    """
    if not (is_spark(data) or isinstance(data, SparkTexts)):
        return coded_rows(data, schema, tell, spill)
    if records_for:
        raise MethodError(
            f"{records_for} Those of a Spark data frame stay where they are; hand in a table that "
            "is read in this process, such as a path. Nothing was spent."
        )
    stage = f"Reading and coding rows in Spark, pass 1 of at least {passes}"
    tell(stage, 0, 1)
    rows = SparkRows(cast("DataFrame | SparkTexts", data), schema, trusted_cluster=trusted_cluster)
    tell(stage, 1, 1)
    return rows


def part_files(rows: Table | SparkRows) -> PartFiles | None:
    """What writes long sets beside the rows: the tasks of Spark, if these hold them.

    Args:
        rows: as `summed_rows` gives them.
    """
    return rows.part_files if isinstance(rows, SparkRows) else None
