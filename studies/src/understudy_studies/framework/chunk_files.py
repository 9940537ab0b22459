"""Chunks of repetitions: where their randomness comes from, and their files.

A chunk is named by a digest of everything its rows depend on: study and version, parameters, seed,
place, number of repetitions, version of Understudy, and the sources that a release or an analysis
goes through. So a changed parameter, seed or mechanism finds other files, and never those of
another run. Files appear whole or not at all; one that cannot be read, or holds another chunk than
its name says, counts as not there.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import understudy
from understudy_studies.framework.study import Row, ScenarioT, Study

SOFTWARE = version("understudy")
_SHOWING = {"cli", "demo", "report"}
"""What of Understudy only shows: no row of a chunk goes through it."""


@cache
def sources() -> str:
    """A digest of the code that rows come from, but for that of the study, which has a version."""
    digest = hashlib.sha256()
    for house, file in source_files():
        name = file.relative_to(house).as_posix()
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def source_files() -> list[tuple[Path, Path]]:
    """Files of Understudy that a row may go through, and the measures of studies: (house, file)."""
    house, measures = Path(understudy.__file__).parent, Path(__file__).parents[1] / "measures"
    through = [
        file
        for file in sorted(house.rglob("*.py"))
        if file.relative_to(house).parts[0] not in _SHOWING
    ]
    return [(house, file) for file in through] + [
        (measures.parent, file) for file in sorted(measures.glob("*.py"))
    ]


@dataclass(frozen=True)
class Chunk:
    """Some repetitions at one scenario.

    Attributes:
        study: name of the study.
        version: version of the study.
        scenario: its parameters.
        seed: seed of the whole run.
        place: how many chunks of the scenario come before.
        repetitions: how many repetitions.
    """

    study: str
    version: int
    scenario: dict[str, Any]
    seed: int
    place: int
    repetitions: int

    @property
    def key(self) -> dict[str, Any]:
        """Everything that the rows depend on."""
        return {**asdict(self), "software": SOFTWARE, "sources": sources()}

    @property
    def file_name(self) -> str:
        """A digest of the key."""
        return f"{_digest(self.key)[:24]}.json.gz"

    @property
    def entropy(self) -> int:
        """128 random bits of its own, the same wherever and whenever the chunk is run.

        They depend on the scenario and not on its place among the others, so that a study can get
        another scenario without losing the chunks of those it has.
        """
        stream = int(_digest({"study": self.study, "scenario": self.scenario}), 16)
        sequence = np.random.SeedSequence([self.seed, stream], spawn_key=(self.place,))
        words = sequence.generate_state(4, np.uint32).astype("<u4")
        return int.from_bytes(words.tobytes(), "little")


def divide(
    study: Study[ScenarioT], scenario: ScenarioT, repetitions: int, seed: int
) -> list[Chunk]:
    """The chunks of a scenario; their size depends on study and scenario alone."""
    size, parameters = study.chunk_of(scenario), asdict(scenario)
    return [
        Chunk(study.name, study.version, parameters, seed, place, min(size, repetitions - start))
        for place, start in enumerate(range(0, repetitions, size))
    ]


def write(folder: Path, chunk: Chunk, rows: Sequence[Row], seconds: float) -> None:
    """Write a finished chunk, whole or not at all."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    content = {"key": chunk.key, "seconds": round(seconds, 3), "columns": columns}
    replace(folder / chunk.file_name, gzip.compress(json.dumps(content).encode(), mtime=0))


def read(folder: Path, chunk: Chunk) -> tuple[list[Row], float] | None:
    """Rows and seconds of a finished chunk; None if there is no whole file of it."""
    try:
        content = json.loads(gzip.decompress((folder / chunk.file_name).read_bytes()))
        if content["key"] != json.loads(json.dumps(chunk.key)):
            return None
        columns = content["columns"]
        values = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in values], float(content["seconds"])
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return None


def replace(path: Path, content: bytes) -> None:
    """Put content in the place of a file in one step, so that nobody sees half of it."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(scratch, 0o644)  # like any other file; a scratch file is its owner's alone
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
