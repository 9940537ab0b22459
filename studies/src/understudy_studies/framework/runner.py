"""The runner of all studies: run what is missing, summarise, write the page.

Everything random in a chunk follows from its key (`chunk_files`), so `results.csv` depends on
study, repetitions and seed alone: not on the number of processes, nor on how often the run was
interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic

from understudy._parallel import processors
from understudy.errors import StudyError
from understudy_studies.framework import chunk_files, page_writer
from understudy_studies.framework.charts import render
from understudy_studies.framework.chunk_files import SOFTWARE, Chunk
from understudy_studies.framework.chunk_workers import simulate
from understudy_studies.framework.study import Row, RunRecord, ScenarioT, Study

MARK = "study.json"
CHUNKS = "chunks"
RESULTS = "results.csv"
PAGE = "index.html"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class _Part(Generic[ScenarioT]):
    """A scenario, and the chunks that its repetitions are divided into."""

    scenario: ScenarioT
    chunks: tuple[Chunk, ...]

    @property
    def repetitions(self) -> int:
        return sum(chunk.repetitions for chunk in self.chunks)


def run_study(
    study: Study[ScenarioT],
    out: str | Path,
    *,
    reps: int | None = None,
    jobs: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Run a study, or go on with it, and write its results, figures and page.

    Chunks of repetitions run in processes of their own. Each finished chunk is kept in
    `out/chunks` and not run again; Ctrl-C keeps those that are finished. A script that calls this
    needs the guard `if __name__ == "__main__":`, as for any new processes.

    Args:
        study: what is simulated.
        out: folder of the results; new, or one of the same study.
        reps: repetitions of every scenario, or of the one with most (`Study.repetitions_of`); by
            default those of the study.
        jobs: number of processes; by default one per processor that may be used.
        seed: everything random follows from it; at least 0.
        progress: called with a stage, and how many repetitions of how many are done.

    Returns:
        Path of the page, `out/index.html`.

    Raises:
        StudyError: the folder holds something else or cannot be written, or a number does not fit.
    """
    _require_numbers(reps=reps, jobs=jobs, seed=seed)
    folder = Path(out)
    _open_folder(folder, study)
    tell = progress or (lambda _stage, _done, _total: None)
    parts = [
        _Part(
            scenario,
            tuple(chunk_files.divide(study, scenario, study.repetitions_of(scenario, reps), seed)),
        )
        for scenario in study.scenarios()
    ]
    _simulate_missing(study, parts, folder / CHUNKS, jobs or processors(), tell)
    tell("Writing results", 0, 1)
    results, seconds = _summaries(study, parts, folder / CHUNKS)
    run_record = _conduct(study, parts, reps, seed, seconds)
    _write(folder, study, results, run_record)
    tell("Writing results", 1, 1)
    return folder / PAGE


def _simulate_missing(
    study: Study[ScenarioT],
    parts: Sequence[_Part[ScenarioT]],
    folder: Path,
    jobs: int,
    tell: Progress,
) -> None:
    work = [(part.scenario, chunk) for part in parts for chunk in part.chunks]
    missing = [one for one in work if chunk_files.read(folder, one[1]) is None]
    total = sum(chunk.repetitions for _, chunk in work)
    finished = total - sum(chunk.repetitions for _, chunk in missing)
    tell("Simulating", finished, total)

    def done(chunk: Chunk) -> None:
        nonlocal finished
        finished += chunk.repetitions
        tell("Simulating", finished, total)

    try:
        if missing:
            simulate(study.run, missing, folder, jobs=jobs, done=done)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _summaries(
    study: Study[ScenarioT], parts: Sequence[_Part[ScenarioT]], folder: Path
) -> tuple[list[Row], float]:
    """Rows of `results.csv`, parameters first, and the seconds that all chunks took."""
    results: list[Row] = []
    seconds = 0.0
    for part in parts:
        rows: list[Row] = []
        for chunk in part.chunks:
            found = chunk_files.read(folder, chunk)
            if found is None:
                raise StudyError(
                    f"A finished chunk in {str(folder)!r} was changed or removed meanwhile; run "
                    "the same command again."
                )
            rows += found[0]
            seconds += found[1]
        parameters = {**asdict(part.scenario), "repetitions": part.repetitions}
        results += [parameters | row for row in study.summarise(part.scenario, rows)]
    return results, seconds


def _conduct(
    study: Study[ScenarioT],
    parts: Sequence[_Part[ScenarioT]],
    reps: int | None,
    seed: int,
    seconds: float,
) -> RunRecord:
    asked = "" if reps is None else f" --reps {reps}"
    repetitions = [part.repetitions for part in parts]
    return RunRecord(
        command=f"understudy study {study.name} --out DIR{asked} --seed {seed}",
        seed=seed,
        repetitions=(min(repetitions, default=0), max(repetitions, default=0)),
        scenarios=len(parts),
        software=SOFTWARE,
        seconds=seconds,
    )


def _write(folder: Path, study: Study[Any], results: list[Row], run_record: RunRecord) -> None:
    """Results first, the page last, so that a page never stands beside older results."""
    page_text = study.page_text(results, run_record)
    drawn = [render(chart) for chart in page_text.charts]
    files = {
        RESULTS: _csv(results).encode(),
        MARK: _mark(study, run_record),
        f"{study.name}.md": page_writer.markdown(study, page_text, run_record).encode(),
    }
    for picture in drawn:
        files |= {
            f"figures/{picture.name}.svg": picture.svg.encode(),
            f"figures/{picture.name}.png": picture.png,
        }
    files[PAGE] = page_writer.html(study, page_text, run_record, drawn).encode()
    try:
        (folder / "figures").mkdir(exist_ok=True)
        for name, content in files.items():
            chunk_files.replace(folder / name, content)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _open_folder(folder: Path, study: Study[Any]) -> None:
    """Make the folder, or see that it is one of the same study, before anything is simulated."""
    try:
        if folder.is_dir() and any(folder.iterdir()) and _study_in(folder) != study.name:
            raise StudyError(
                f"The output {str(folder)!r} is not a folder of the study {study.name}; choose "
                "another folder, or remove it first."
            )
        (folder / CHUNKS).mkdir(parents=True, exist_ok=True)
        if not (folder / MARK).exists():
            chunk_files.replace(folder / MARK, _mark(study))
    except OSError as error:
        raise _unwritable(folder, error) from None


def _study_in(folder: Path) -> str:
    try:
        return str(json.loads((folder / MARK).read_text(encoding="utf-8"))["study"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""


def _mark(study: Study[Any], run_record: RunRecord | None = None) -> bytes:
    run = {} if run_record is None else {"run": asdict(run_record)}
    content = {"study": study.name, "title": study.title, "version": study.version, **run}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _csv(results: Sequence[Row]) -> str:
    """Results as CSV; numbers to six digits, which is more than their Monte Carlo error."""
    names = list(dict.fromkeys(name for row in results for name in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in results)
    return stream.getvalue()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _require_numbers(*, reps: int | None, jobs: int | None, seed: int) -> None:
    for name, value, least in (("reps", reps, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value is not None and (isinstance(value, bool) or value != int(value) or value < least):
            raise StudyError(f"{name} must be a whole number, at least {least}.")


def _unwritable(folder: Path, error: OSError) -> StudyError:
    return StudyError(f"The output {str(folder)!r} cannot be written: {error.strerror}.")
