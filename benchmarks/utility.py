"""How good the tables are that each method makes, and what they cost: docs/evidence/utility.md.

    python benchmarks/utility.py --data DIR --render

Runs every case of `utility_cases.py` with fresh, secure noise, five times, each in a process of its
own, and appends a record per run to a file of JSON lines; what stands there already is not run
again, so a run that was stopped goes on. The folder DIR (or UNDERSTUDY_DATA) holds the tables of
`known_tables.py`; a table that is not there is left out, with a word. A run that had to compile
kernels is done again, so that times are those of a warm cache; what an empty cache costs is
measured by itself, for each method on one table.

    --only REGEX    only cases whose label, such as adult_coded/mst/1/1e-9/public, matches
    --quick         one run of each case, and none with an empty cache
    --runs 0        nothing is run; with --render, the page is written from the records

Records of changed code are not run again by themselves: take another file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import known_tables
import utility_page
from understudy.methods.registry import METHODS, configure
from understudy_studies.framework.chunk_files import sources
from utility_cases import (
    AUTO,
    REFERENCES,
    TABLES,
    Case,
    comparison_cases,
    goal_cases,
    references,
)

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "evidence" / "utility.md"
COLD = 0  # the number of the run with an empty cache; the others count from 1


@dataclass
class Book:
    """The records: one JSON object per line, written as soon as a run ends."""

    path: Path
    records: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read what stands there; a last line that was cut off is dropped."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        if text and not text.endswith("\n"):
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")  # so that the next record does not go on with the cut-off line
        for line in text.splitlines():
            try:
                self.records.append(json.loads(line))
            except json.JSONDecodeError:
                continue

    def holds(self, case: Case, run: int) -> bool:
        """Whether a run is done, or was refused for a reason that holds for all of them."""
        return any(
            one["label"] == case.label and (one["run"] == run or "refused" in one)
            for one in self.records
        )

    def add(self, record: dict[str, Any]) -> None:
        """Append a record."""
        with self.lock:
            self.records.append(record)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


@dataclass(frozen=True)
class Bench:
    """How runs are made.

    Attributes:
        book: where records go.
        folder: of the tables.
        workers: processes at a time.
        limit: seconds after which a run is given up.
        runs: numbers of the runs of each case.
        cold: cases that are also run with an empty cache.
    """

    book: Book
    folder: Path
    workers: int
    limit: float
    runs: tuple[int, ...]
    cold: frozenset[Case]

    def measure(self, cases: list[Case]) -> None:
        """Every run that is not done; the runs of a case follow each other."""
        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(self._measure, cases))

    def _measure(self, case: Case) -> None:
        for run in self.runs:
            if not self.book.holds(case, run):
                self._record(case, run)
        if case in self.cold and not self.book.holds(case, COLD):
            with tempfile.TemporaryDirectory() as empty:
                self._record(case, COLD, NUMBA_CACHE_DIR=empty)

    def _record(self, case: Case, run: int, **environment: str) -> None:
        """One run; again if it compiled what the cache was to hold."""
        found = self._process(case, environment)
        if found.get("compiled") and run != COLD:
            found = self._process(case, environment)
        if "failed" in found:
            print(f"{case.label}: {found['failed']}", file=sys.stderr)
            return
        self.book.add(found | {"label": case.label, "run": run, "sources": sources()})
        print(f"{case.label}, run {run}: {_words(found)}", flush=True)

    def _process(self, case: Case, environment: dict[str, str]) -> dict[str, Any]:
        """The record of one process, with a reason if it was refused or failed."""
        threads = str(max(1, (os.cpu_count() or 1) // self.workers))
        limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
        asked = json.dumps(asdict(case) | {"folder": str(self.folder)})
        try:
            done = subprocess.run(
                [sys.executable, str(HERE / "utility_run.py"), asked],
                env={**os.environ, **dict.fromkeys(limits, threads), **environment},
                capture_output=True,
                text=True,
                timeout=self.limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return asdict(case) | {"refused": f"It takes longer than {self.limit:.0f} s."}
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
            return {"failed": said[0]}
        return dict(json.loads(done.stdout.splitlines()[-1]))


def private_methods() -> list[str]:
    """Methods that have a guarantee as they are."""
    return [name for name in METHODS if configure(name, {}).private]


def wanted(folder: Path, only: str) -> Iterator[Case]:
    """The cases that can be run here; says what cannot, and why."""
    there = [name for name in TABLES if known_tables.is_there(folder, name)]
    for name in TABLES:
        if name not in there:
            print(f"The table {name} is left out: there is no {folder / name} with its domain.")
    cases = [*references(), *goal_cases(), *comparison_cases(private_methods())]
    missing = {case.method for case in cases} - set(METHODS) - {AUTO, *REFERENCES}
    for name in sorted(missing):
        print(f"The method {name} is left out: this version does not have it.")
    for case in dict.fromkeys(cases):
        known = case.table in there and case.method not in missing
        if known and re.search(only, case.label):
            yield case


def cold_cases() -> frozenset[Case]:
    """Cases that tell what an empty cache costs: each method with public rows."""
    return frozenset(case for case in comparison_cases(private_methods()) if case.rows == "public")


def _words(found: dict[str, Any]) -> str:
    if "refused" in found:
        return str(found["refused"])
    scores = ("tv2", "three_way", "specks", "trained_auc", "cpu_s", "peak_mb", "scoring_s")
    return ", ".join(f"{name} {found[name]:.4g}" for name in scores if name in found)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("UNDERSTUDY_DATA"))
    parser.add_argument("--out", type=Path, default=Path("utility.jsonl"))
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds a run may take")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--render", nargs="?", type=Path, const=PAGE, metavar="PAGE")
    return parser.parse_args()


def main() -> int:
    """Measure what is missing, and write the page if asked to."""
    asked = arguments()
    runs = min(asked.runs, 1) if asked.quick else asked.runs
    book = Book(asked.out)
    if runs and asked.data is None:
        print("Say where the tables are: --data DIR, or UNDERSTUDY_DATA.", file=sys.stderr)
        return 2
    if runs:
        cold = frozenset() if asked.quick else cold_cases()
        numbers = tuple(range(1, runs + 1))
        bench = Bench(book, asked.data, asked.workers, asked.limit, numbers, cold)
        bench.measure(list(wanted(asked.data, asked.only)))
    if asked.render:
        asked.render.write_text(utility_page.page(book.records), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
