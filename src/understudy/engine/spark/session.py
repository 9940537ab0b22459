"""Tables of a Spark session by path or name, for commands, which have no data frame to hand in."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from understudy.engine.reading.delimited import is_delimited, numbers_of_schema
from understudy.engine.spark.texts import SparkTexts
from understudy.errors import DataError, MethodError
from understudy.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def opened(place: str, schema: Schema) -> DataFrame | SparkTexts:
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
    return SparkTexts.opened(session, place, form, numbers_of_schema(schema))
