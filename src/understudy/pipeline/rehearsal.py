"""A release of made-up records, tried before anything is paid: what it breaks at costs no budget.

Files, pages and checks of a release can fail on public facts: the name of a column, a single level,
a code that a format cannot hold. Such a failure must be found while ε is whole. So a few records
are made up from the schema alone, each state of each column among them. They go through all that
the records of the release will go through: the number of rows, number lines, heaps and second
moments are bought of them at the same price, pages and all formats are written, and the folder is
loaded again. The method alone is another one, `independent`, which is fast and takes any schema;
methods are tried by tests. Nothing here sees a row, and noise comes from a seed.

Only `synthesize` rehearses. `regress`, and answers bought after a release, do not: what breaks them
after a charge is finished by `--resume`. The independent checker is left to tests, since it would
take half as long again as loading (30 to 40 ms).
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from understudy.engine import Table
from understudy.errors import BudgetError, MethodError, UnderstudyError, line
from understudy.inference.declared_analyses import ExpectedAnswers
from understudy.methods.configuration import configure
from understudy.pipeline.describe import inference_facts, manifest_of
from understudy.pipeline.gates import open_gate
from understudy.pipeline.measuring import measured
from understudy.pipeline.page_set import pages
from understudy.pipeline.request import Request
from understudy.privacy.noise.randomness import SeededRandomness
from understudy.release import Measurement, Release
from understudy.release.decoding import FrameKind, decode
from understudy.schema import Schema

RECORDS: Final = 32
"""Made-up records, at most: enough for a row of each kind, and few for files and pages."""
_SEED: Final = 0
_PASSED: Final[set[str]] = set()
"""Requests that passed in this process, by a digest of their public facts."""


def rehearse(
    request: Request,
    *,
    expected: ExpectedAnswers | None = None,
    formats: Sequence[str] = (),
    frame: FrameKind | None = None,
) -> None:
    """Make, write and load a release of made-up records; to be called before anything is paid.

    The same request is tried once in a process.

    Args:
        request: what is asked for.
        expected: of its declared analyses.
        formats: in which the sets will be written beside Parquet.
        frame: kind of data frame that will be given back; pandas if None.

    Raises:
        UnderstudyError: a refusal, as the release itself would have met it.
        MethodError: anything else that the release would have broken at.
    """
    tried = _digest(request, formats, frame)
    if tried in _PASSED:
        return
    few = _few(request)
    try:
        few.tables(), few.setup()
    except BudgetError:  # its tables would have less noise to draw than can be drawn exactly
        return
    try:
        release = _made_up(few, expected, frame or "pandas")
        with tempfile.TemporaryDirectory(prefix="understudy-rehearsal-") as folder:
            release.write(Path(folder), formats)
            loaded = Release.load(folder, frame=release.frame, compare_pages=False)
            if not _is_same(release, loaded):  # its pages may be others than were written
                Release.load(folder, frame=release.frame)
        release.sets  # noqa: B018  # data frames are made when they are asked for
    except UnderstudyError:
        raise
    except Exception as error:
        raise MethodError(
            f"A release of made-up records of this schema cannot be written and read back "
            f"({type(error).__name__}: {line(str(error))[:200]}), so the real one is not begun and "
            "nothing was spent; please report this, with the schema if it may be shown."
        ) from error
    _PASSED.add(tried)


def _digest(request: Request, formats: Sequence[str], frame: FrameKind | None) -> str:
    """Of all that the rehearsal rests on: not of the method, which another one stands for."""
    facts = {k: v for k, v in request.identity.items() if k not in ("method", "options", "sets")}
    told = json.dumps([facts, sorted(formats), frame])
    return hashlib.sha256(told.encode("utf-8")).hexdigest()


def _few(request: Request) -> Request:
    """The request for at most `RECORDS` records, by the method that stands for all."""
    schema = request.schema
    entry = "n_rows" if schema.rows == "public" else "row_limit"
    declared = getattr(schema, entry)
    most = RECORDS if declared is None else min(declared, RECORDS)
    return replace(
        request,
        schema=schema.model_copy(update={entry: most}),
        method=configure("independent", {}),
        name="independent",
        reason="",
        sets=1,
        usual_answers=False,  # second moments are bought, however few records there are
    )


def _made_up(request: Request, expected: ExpectedAnswers | None, frame: FrameKind) -> Release:
    schema, source = request.schema, SeededRandomness(_SEED)
    gate = open_gate(_rows(schema), request.budget, source)
    drawing = np.random.default_rng(_SEED), source, None
    n_rows, schema, measurements, tables, _ = measured(request, gate, drawing, lambda *_: None)
    facts = inference_facts(request.method, schema, measurements, n_rows.noise.stddev)
    manifest = manifest_of(request, gate, n_rows, facts, expected, seed=_SEED, secure=False)
    return Release(tables, schema, manifest, measurements, frame, pages=pages)


def _is_same(release: Release, loaded: Release) -> bool:
    """Whether all that pages are rendered from came back as it was, so that they would be too."""
    return (
        (release.schema, release.manifest) == (loaded.schema, loaded.manifest)
        and len(release.measurements) == len(loaded.measurements)
        and all(map(_is_same_measurement, release.measurements, loaded.measurements))
        and all(
            one.schema == other.schema and one.equals(other)
            for one, other in zip(release.tables, loaded.tables, strict=True)
        )
    )


def _is_same_measurement(one: Measurement, other: Measurement) -> bool:
    return one.to_json() == other.to_json() and all(
        mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        for mine, theirs in ((one.codes, other.codes), (one.counts, other.counts))
    )


def _rows(schema: Schema) -> Table:
    """Records with each state of each column in turn, whatever rules say of them together."""
    n = schema.n_rows if schema.rows == "public" else schema.row_limit
    states = [np.arange(n or 0) % column.size for column in schema.columns.values()]
    values = decode(states, schema, np.random.default_rng(_SEED))
    return Table(values[list(schema.names)], schema)
