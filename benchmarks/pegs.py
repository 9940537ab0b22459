"""`pegs-tables`: seconds and memory, and its records beside those of other methods.

    python benchmarks/pegs.py [--rows 100000] [--many 1000000]
    python benchmarks/pegs.py --mixing --data DIR
    python benchmarks/pegs.py --utility --data DIR [--out FILE] [--runs 2] [--render [PAGE]]

As it is: CPU seconds and memory of the process at its peak, for a release in both forms, and for
the tables alone at many rows (rows are made up, and coded before the clock starts). Each is
measured in a process of its own, after a small release that loads what is compiled.

With `--mixing`, distances from the rows of a real table by seeds and number of sweeps, ε = 1.

With `--utility`, releases of real tables (`known_tables.py`) at equal total ε and with a public
number of rows, scored by `yardstick.py`; records go to a file of JSON lines as in `utility.py`, and
the page is docs/evidence/pegs-tables.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import known_tables
import understudy as us
import yardstick
from made_up import made_up
from understudy.data.table import Table as Rows
from understudy.dp.randomness import SecureRandomness
from understudy.evaluate.comparison import Comparison
from understudy.methods.registry import configure
from understudy.workflow.budget_shares import budget_of
from understudy.workflow.gates import open_gate
from utility import Bench, Book
from utility_cases import ACS, ADULT, Case

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "evidence" / "pegs-tables.md"
HOSPITAL = "hospital_diabetes130"
SIZES = (6, 3, 10, 8, 30, 26, 14, 18, 71, 10, 4, 4, 3)
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "dense, keys by order": {"order": "x0"},
    "lazy": {"form": "lazy"},
    "lazy, 10,000 keys": {"form": "lazy", "order": "x0", "key_limit": 10_000},
    "lazy, 10^6 keys": {"form": "lazy", "order": "x0", "key_limit": 1_000_000},
}
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pegs-tables", {}),
    ("pegs-tables", {"seeds": "uniform"}),
    ("pegs-tables", {"allocation": "clipped", "seeds": "uniform"}),
    ("pegs-tables", {"form": "lazy"}),
    ("auto", {}),
    ("privbayes", {}),
    ("steps", {}),
    ("laplace", {}),
    ("laplace", {"form": "lazy"}),
    ("pegs-reset", {}),
    ("pegs", {}),
)
EPSILONS = ("0.1", "1", "10")
_SCORED = ("tv1", "tv2", "three_way", "specks", "specks_tree", "trained_auc")
SCORES = {key: yardstick.TITLES[key] for key in _SCORED} | {"cpu_s": "CPU s", "peak_mb": "peak MB"}
PLACES = {"trained_auc": 3, "cpu_s": 1, "peak_mb": 0}


def released(n_rows: int, options: dict[str, Any]) -> float:
    """CPU seconds of a release at ε = 1, reading and coding the rows included."""
    frame, schema = made_up(n_rows, SIZES)
    start = time.process_time()
    us.synthesize(frame, schema, epsilon=1, method="pegs-tables", options=options)
    return time.process_time() - start


def built(n_rows: int, options: dict[str, Any]) -> float:
    """CPU seconds in which keys are bought and all tables measured, rows being coded."""
    frame, schema = made_up(n_rows, SIZES)
    method = configure("pegs-tables", options)
    budget = budget_of(1, 0, method, schema)
    gate = open_gate(Rows(frame, schema), budget, SecureRandomness())
    start = time.process_time()
    method.fit(gate, Fraction(1), 1)
    return time.process_time() - start


def one(what: str, n_rows: int, form: str) -> dict[str, float]:
    """Seconds and memory of this process."""
    measure = {"release": released, "tables": built}[what]
    measure(500, FORMS[form])
    seconds = measure(n_rows, FORMS[form])
    return {"seconds": seconds, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def measured(what: str, n_rows: int, form: str) -> dict[str, float]:
    """The same in a process of its own, as peaks of memory do not go down."""
    command = [sys.executable, __file__, "--one", what, str(n_rows), form]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def timings(n_rows: int, many: int) -> Table:
    """Releases in both forms, and tables at many rows."""
    table = Table("what", "rows", "form", "CPU s", "peak, MB")
    asked = [("release", n_rows, form) for form in FORMS]
    asked += [("tables", many, form) for form in ("dense", "dense, keys by order")]
    for what, n, form in asked:
        found = measured(what, n, form)
        table.add_row(what, f"{n:,}", form, f"{found['seconds']:.2f}", f"{found['mb']:.0f}")
    return table


def mixing(folder: Path) -> Table:
    """Distances of pairs and triples of columns, by seeds and number of sweeps."""
    turns = (1, 3, 5, 10, 20, 100)
    table = Table("table", "seeds", *(f"{k} sweeps" for k in turns))
    for name in (ADULT, HOSPITAL):
        known = known_tables.load(folder, name)
        schema = known.schema("public")
        for seeds in ("chain", "uniform"):
            line = []
            for k in turns:
                options = {"seeds": seeds, "sweeps": k}
                asked: dict[str, Any] = {"method": "pegs-tables", "options": options}
                release = us.synthesize(
                    known.frame, schema, epsilon=1, insecure_noise_seed=1, **asked
                )
                far = yardstick.distances(Comparison.of(schema, known.frame, [release.tables[0]]))
                line.append(f"{far['tv2']:.3f} {far['three_way']:.3f}")
            table.add_row(name, seeds, *line)
    return table


def cases() -> list[Case]:
    """Every method at every ε on two tables, and at ε = 1 on a third."""
    asked = [(table, epsilon) for table in (ADULT, HOSPITAL) for epsilon in EPSILONS]
    asked.append((ACS, "1"))
    return [
        Case(table, method, epsilon, "0", "public", options)
        for table, epsilon in asked
        for method, options in METHODS
    ]


def page(book: Book) -> str:
    """The page, from its records."""
    lines = [
        "<!-- Written by benchmarks/pegs.py; do not edit. -->",
        "",
        "# Gibbs sampling from noisy tables beside other methods",
        "",
        "Real tables, a public number of rows (neighbours differ by one record replaced), δ = 0, "
        "and the same total ε for all. Means of as many releases with fresh, secure noise as "
        '"runs" says. Lower is better, but for AUC. `auto` is the default method. Made by '
        "`python benchmarks/pegs.py --utility --data DIR --render`; the scores are explained in "
        "`docs/evidence/utility.md`, as are CPU seconds and memory.",
        "",
    ]
    notes: list[str] = []
    known = {one["table"] for one in book.records}
    for table in (one for one in (ADULT, HOSPITAL, ACS) if one in known):
        lines += [f"## {table}", "", f"| ε | method | runs | {' | '.join(SCORES.values())} |"]
        lines.append(f"| {' | '.join(['---:'] * (len(SCORES) + 3))} |")
        lines += [_line(book, case, notes) for case in cases() if case.table == table]
        lines.append("")
    lines += [f"[{k}] {note}\n" for k, note in enumerate(notes, start=1)]
    return "\n".join(lines).rstrip() + "\n"


def _line(book: Book, case: Case, notes: list[str]) -> str:
    found = [one for one in book.records if one["label"] == case.label]
    options = ", ".join(f"{name}={value}" for name, value in case.options.items())
    name = f"{case.method} ({options})" if options else case.method
    refused = next((one["refused"] for one in found if "refused" in one), None)
    if refused is not None and refused not in notes:
        notes.append(refused)
    runs = str(len(found)) if refused is None else f"– [{notes.index(refused) + 1}]"
    scores = [_mean(found, score) if refused is None else "–" for score in SCORES]
    return f"| {' | '.join([case.epsilon, name, runs, *scores])} |"


def _mean(found: list[dict[str, Any]], score: str) -> str:
    values = [one[score] for one in found if score in one]
    return f"{statistics.fmean(values):.{PLACES.get(score, 4)}f}" if values else "–"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--mixing", action="store_true")
    parser.add_argument("--utility", action="store_true")
    parser.add_argument("--data", type=Path, default=os.environ.get("UNDERSTUDY_DATA"))
    parser.add_argument("--out", type=Path, default=Path("pegs.jsonl"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds a run may take")
    parser.add_argument("--render", nargs="?", type=Path, const=PAGE, metavar="PAGE")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure, and print or write the page."""
    asked = arguments()
    if asked.one:
        what, n_rows, form = asked.one
        print(json.dumps(one(what, int(n_rows), form)))
        return 0
    if asked.mixing:
        Console().print(mixing(asked.data))
        return 0
    if not asked.utility:
        Console().print(timings(asked.rows, asked.many))
        return 0
    book = Book(asked.out)
    if asked.runs:
        if asked.data is None:
            print("Say where the tables are: --data DIR, or UNDERSTUDY_DATA.", file=sys.stderr)
            return 2
        there = [case for case in cases() if known_tables.is_there(asked.data, case.table)]
        for run in range(1, asked.runs + 1):
            Bench(book, asked.data, 1, asked.limit, (run,), frozenset()).measure(there)
    if asked.render:
        asked.render.write_text(page(book), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
