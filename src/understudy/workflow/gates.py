"""Gates are made here and nowhere else, with the mechanisms of this package and no other.

**What a run needs after it has paid, tried before: a lack of it must be found while ε is whole.**

Pages, their templates and the writer of Parquet are used when a release is saved, and libraries
that take long to load wait for that. One that is damaged or lacking would end the run when all is
paid.

**What whoever waits sees of long work, and how Ctrl-C ends it with a complete release.**

Ctrl-C ends the rounds of a method that measures in rounds. The first Ctrl-C only notes the wish;
the method sees it between two rounds (`gate.stopping`) and ends with what it has paid for. The
second aborts, as the first does with any other method. When to stop is decided by whoever waits,
who has seen nothing but the clock and what was spent; it is no statistic of the rows.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, cast

from understudy.checkpoint.journal import Journal
from understudy.checkpoint.replay import Replay
from understudy.data.base import Engine
from understudy.data.frames import is_spark
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.dp.accountant import Entry, PrivacyAccountant
from understudy.dp.budget import Budget, decimal_up
from understudy.dp.confidential import DiagnosticCallback
from understudy.dp.gate import Gate, Unrecorded
from understudy.dp.randomness import Randomness, SecureRandomness
from understudy.errors import MethodError
from understudy.schema import Schema
from understudy.workflow.options import Progress, RunOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from understudy.methods.base import Method
    from understudy.spark.rows import PartFiles, SparkRows
    from understudy.spark.texts import SparkTexts


_PERHAPS: Final = ("formulaic", "pandas", "pyarrow", "scipy")
"""Used by some runs alone, and slow to load: they must be there."""


def require_late_needs(randomness: Randomness) -> None:
    """Refuse to begin what could not be ended; to be called before anything is paid.

    Args:
        randomness: of the noise; a word of it is drawn and dropped, unless it comes from a seed.

    Raises:
        MethodError: a library is lacking, or cannot be loaded.
    """
    try:
        from understudy.inference import analyze  # noqa: F401
        from understudy.release import readme  # noqa: F401
        from understudy.report.public_page import public_page  # noqa: F401
        from understudy.report.results_page import results_page  # noqa: F401

        lacking = [name for name in _PERHAPS if find_spec(name) is None]
    except ImportError as error:
        raise _unsupported(f"cannot be loaded: {error.msg}") from None
    if lacking:
        raise _unsupported(f"is not installed: {lacking[0]}")
    if isinstance(randomness, SecureRandomness):
        randomness.words(1)


def _unsupported(what: str) -> MethodError:
    return MethodError(
        f"What a release needs when it is written {what}; mend the installation. Nothing was spent."
    )


@contextmanager
def telling_what_was_spent(gate: Gate) -> Iterator[None]:
    """Say with whatever error ends the run what was spent by then, as a note of the error."""
    try:
        yield
    except BaseException as error:
        if gate.ledger:
            unit, of = gate.budget.unit, decimal_up(gate.budget.amount)
            error.add_note(
                f"By then {unit} = {decimal_up(gate.spent)} of {of} was spent, which counts."
            )
        raise


NOTICE = "Finishing with what was paid for; Ctrl-C again aborts (a checkpoint stays)"


@contextmanager
def ending_rounds(
    method: Method, tell: Callable[[str, int, int], None]
) -> Iterator[Callable[[], bool]]:
    """Catch the first Ctrl-C while this is open, for a method in rounds.

    Nothing is changed outside the main thread, or where the program has a handler of its own.

    Args:
        method: that measures.
        tell: is told that the rounds end, as a stage.

    Yields:
        Says whether Ctrl-C was pressed.
    """
    pressed = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            signal.default_int_handler(number, frame)
        pressed.set()
        tell(NOTICE, 0, 1)

    if not (method.rounds and _ours()):
        yield pressed.is_set
        return
    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


def _ours() -> bool:
    """Return whether Ctrl-C comes here and means what it usually does."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def open_gate(
    engine: Engine,
    budget: Budget,
    randomness: Randomness,
    journal: Journal | None = None,
    *,
    allow_nonprivate: bool = False,
    stop: Callable[[], bool] = lambda: False,
    confide: DiagnosticCallback = lambda _told: None,
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

    def record(ledger: PrivacyAccountant) -> Unrecorded:
        for entry in earlier:
            ledger.restore(entry)
        return Unrecorded() if journal is None else Replay(journal, ledger, randomness)

    return Gate(
        engine,
        budget,
        randomness,
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
    tell("Reading and coding rows", 0, 1)
    rows = Table(data, schema, spill=None if spill is None else Path(spill))
    tell("Reading and coding rows", 1, 1)
    return rows


def laid_out(data: object, schema: Schema) -> object:
    """Units with their members as rows of the wide table, of which a step reads some columns.

    Args:
        data: as `synthesize` takes it.
        schema: of the whole table, which says what its members are.

    Returns:
        Data as they are where the schema declares no members.

    Raises:
        DataError: a structural fault of the data.
    """
    flat = schema.members is None and not isinstance(data, Mapping)
    return data if flat else open_rows(data, schema)


def in_spark(place: str, schema: Schema) -> DataFrame | SparkTexts:
    """A Spark data frame, or texts that Spark reads, by path or name, for commands.

    Args:
        place: path of Parquet or of a delimited text, or the name of a table.
        schema: says how a text is written.

    Raises:
        MethodError: no Spark session can be opened.
        DataError: no such path or table.
    """
    from understudy.spark.rows import open_spark

    return open_spark(place, schema)


def summed_rows(
    data: object,
    schema: Schema,
    run: RunOptions,
    *,
    records_for: str = "",
    passes: int = 1,
) -> Table | SparkRows:
    """The same rows, or those of a Spark data frame, which are summed where they are.

    Args:
        data: as `synthesize` takes it.
        schema: of the table.
        run: who waits, the spill, which a Spark data frame does not need, and whether the steward
            vouches for its cluster.
        records_for: what needs whole records, and not sums alone, as a sentence; "" for nothing.
        passes: over the rows at least, where each reads them anew.

    Raises:
        DataError: a structural fault of the data.
        MethodError: whole records are needed, and the data are a Spark data frame.
    """
    if not is_spark(data):
        return coded_rows(data, schema, run.tell, run.spill)
    if records_for:
        raise MethodError(
            f"{records_for} Those of a Spark data frame stay where they are; give a table that is "
            " read in this process, such as a path. Nothing was spent."
        )
    from understudy.spark.rows import SparkRows

    stage = f"Reading and coding rows in Spark, pass 1 of at least {passes}"
    run.tell(stage, 0, 1)
    frame = cast("DataFrame | SparkTexts", data)
    rows = SparkRows(frame, schema, trusted_cluster=run.trusted_cluster)
    run.tell(stage, 1, 1)
    return rows


def part_files(rows: Table | SparkRows) -> PartFiles | None:
    """Return what writes long sets beside the rows: the tasks of Spark, if these hold them.

    Args:
        rows: as `summed_rows` gives them.
    """
    return None if isinstance(rows, Table) else rows.part_files
