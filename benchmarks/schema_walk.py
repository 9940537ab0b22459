"""From a survey of 35 columns to a reviewed schema: ``python benchmarks/schema_walk.py``.

A made-up survey of 2,000 people from a fixed seed is drafted, its review is answered through a pipe
as a person with the questionnaire at hand would answer it, and released. Once without a codebook,
and once with the data dictionary that would come with it, a line a code.

Shown are lines of the draft, and of the same draft with an entry and a level a line; decisions; and
entries left as drafted. How long a person takes to read and answer is not measured here.

With ``--keep FOLDER`` rows, dictionary and draft stay there, for a walk by hand.
"""

import argparse
import csv
import io
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Collection, Iterable
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import tomli_w
from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.schema import Schema

N = 2_000
GRADES = {1: "strongly disagree", 2: "disagree", 3: "neither", 4: "agree", 5: "strongly agree"}
NOT_KNOWN = {-8: "refused", -9: "do not know"}
REGIONS = ["Coast", "Hills", "Lakes", "Plain", "River", "Town"]
JOBS = [
    *("armed forces", "clerks", "craft", "elementary", "farming", "machines", "managers"),
    *("professionals", "sales", "technicians"),
]
PARTIES = ["Blue", "Green", "Grey", "Orange", "Purple", "Red", "other", "would not vote"]
CLAIMS = ("taxes", "schools", "roads", "climate", "police", "courts", "media", "science")
TRUSTED = ("parliament", "government", "army", "church", "banks")


def survey() -> pl.DataFrame:
    """The rows."""
    rng = np.random.default_rng(35)
    age = rng.integers(18, 95, N)
    works = (age < 67) & (rng.random(N) < 0.7)
    columns: dict[str, object] = {
        "person_id": [f"P{k:05d}" for k in rng.permutation(N)],
        "sex": rng.integers(1, 3, N),
        "age": age,
        "birth_year": 2024 - age,
        "marital_status": rng.choice([1, 2, 3, 4, 5], N, p=[0.3, 0.45, 0.05, 0.1, 0.1]),
        "isced": rng.integers(0, 9, N),
        "household_size": np.minimum(1 + rng.poisson(1.3, N), 9),
        "children": np.minimum(rng.poisson(0.8, N), 8),
        "region": rng.choice(REGIONS, N),
        "job": [job if w else None for job, w in zip(rng.choice(JOBS, N), works, strict=True)],
        "hours_per_week": [
            int(h) if w else None for h, w in zip(rng.normal(38, 8, N), works, strict=True)
        ],
        "income": np.where(works, rng.lognormal(10, 0.6, N), 0).round(-2),
        "rent": rng.lognormal(6.5, 0.4, N).round(0),
        "has_car": rng.integers(0, 2, N),
        "has_internet": rng.integers(0, 2, N),
        "smoker": rng.choice(["no", "sometimes", "daily"], N, p=[0.7, 0.1, 0.2]),
        "height": rng.normal(172, 9, N).round(1),
        "weight": rng.normal(76, 13, N).round(1),
        "interview_month": rng.integers(3, 8, N),
        "party": rng.choice(PARTIES, N),
    }
    for name in CLAIMS:
        columns[f"view_{name}"] = rng.choice([1, 2, 3, 4, 5, -8, -9], N, p=[0.19] * 5 + [0.025] * 2)
    for name in TRUSTED:
        columns[f"trust_{name}"] = rng.integers(0, 11, N)
    columns["job_satisfaction"] = rng.integers(1, 6, N)
    columns["note"] = [f"note {k} of {N}" for k in rng.permutation(N)]
    return pl.DataFrame(columns)


def dictionary() -> str:
    """The data dictionary: a line a code; what has no codes, its bounds."""
    lines: list[tuple[object, ...]] = []

    def coded(name: str, label: str, codes: dict[object, str], absent: dict[int, str]) -> None:
        lines.extend((name, label, code, value, "", "", "", "") for code, value in codes.items())
        lines.extend(
            (name, label, code, value, "yes", "", "", "") for code, value in absent.items()
        )

    def measured(name: str, label: str, kind: str, lower: object, upper: object) -> None:
        lines.append((name, label, "", "", "", kind, lower, upper))

    def words(texts: list[str]) -> dict[object, str]:
        return {text: text for text in texts}

    lines.append(("person_id", "number of the person", "", "", "", "identifier", "", ""))
    lines.append(("note", "the interviewer's note", "", "", "", "text", "", ""))
    coded("sex", "sex", {1: "male", 2: "female"}, {})
    statuses = ("single", "married", "separated", "divorced", "widowed")
    coded("marital_status", "status", dict(enumerate(statuses, 1)), {})
    coded("isced", "education", {k: f"ISCED {k}" for k in range(9)}, {})
    for name, texts in (("region", REGIONS), ("party", PARTIES)):
        coded(name, name, words(texts), {})
    coded("job", "ISCO, one digit", words(JOBS), {})
    lines.append(("job", "", "", "no job", "yes", "", "", ""))
    coded("smoker", "smokes", words(["no", "sometimes", "daily"]), {})
    for name in ("has_car", "has_internet"):
        coded(name, name, {0: "no", 1: "yes"}, {})
    for name in CLAIMS:
        coded(f"view_{name}", f"more for {name}", dict(GRADES), NOT_KNOWN)
    for name in TRUSTED:
        coded(f"trust_{name}", f"trust in {name}", {k: str(k) for k in range(11)}, {})
    coded("job_satisfaction", "satisfaction", {k: str(k) for k in range(1, 6)}, {})
    for name, upper in (("household_size", 15), ("children", 15)):
        measured(name, name, "integer", name == "household_size", upper)
    measured("age", "age", "integer", 18, 110)
    measured("birth_year", "year", "integer", 1910, 2006)
    measured("interview_month", "month", "integer", 1, 12)
    measured("hours_per_week", "usual hours", "integer", 0, 100)
    for name, upper in (("income", 1_000_000), ("rent", 10_000), ("height", 230), ("weight", 250)):
        measured(name, name, "number", 0, upper)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heading = ("variable", "label", "code", "value", "missing", "type", "lower", "upper")
    writer.writerows([heading, *((one[0], one[1], *map(_text, one[2:])) for one in lines)])
    return text.getvalue()


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


CHANGED = {
    "height": "lower = 0, upper = 230, bins = 23, decimals = 1; judgement",
    "weight": "lower = 0, upper = 250, bins = 25, decimals = 1; judgement",
    "hours_per_week": 'missing = [""]; questionnaire: asked of those who work',
}
"""What is declared from common sense, where no convention and no codebook says it."""


def answers(schema: Schema, accepted: Collection[str]) -> list[str]:
    """What a person with the questionnaire at hand answers.

    Args:
        schema: the draft.
        accepted: columns that come from public sources, and that the rows fit.
    """
    said, last = list[str](), ""
    for number, (name, column) in enumerate(schema.declared.items(), 1):
        if name in accepted:
            continue
        if name in CHANGED and not (column.source and column.left_as_drafted):
            said.append(f"e {CHANGED[name]}")
            continue
        scale = re.match("view_|trust_", name)
        source = "questionnaire, scales" if scale else f"questionnaire, question {number}"
        said.append("=" if source == last else f"c {source}")
        last = source
    return [*said, "yes"]  # where a source is said to have many bounds as the rows have them


def run(*arguments: object, typed: str = "") -> str:
    """A command, as it is typed."""
    command = [sys.executable, "-m", "understudy", *map(str, arguments)]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=True).stdout


def review(
    place: Path, rows: Path, say: Callable[[Schema, Collection[str]], list[str]]
) -> tuple[str, str]:
    """Accept what public sources say, then answer for the others; decisions, and what is left."""
    options, made, left = ("--data", rows, "--accept-sourced"), 0, ""
    drafted = Schema.load(place)
    for answered in (False, True):
        accepted = {name for name, one in Schema.load(place).declared.items() if one.reviewed}
        said = say(drafted, accepted) if answered else ["q"]
        told = run("schema", "review", place, *options, typed="".join(f"{one}\n" for one in said))
        decided = re.search(r"^(\d+) decisions?, (\d+) left as drafted", told, re.MULTILINE)
        assert decided is not None, told
        made, left = made + int(decided[1]), decided[2]
    return str(made), left


def walk(folder: Path, name: str, *options: object) -> tuple[str, ...]:
    """Draft, review and release; what the page shows of it."""
    place = folder / f"{name}.toml"
    run("schema", "draft", folder / "survey.csv", "-o", place, *options)
    text = place.read_text(encoding="utf-8")
    schema = Schema.load(place)
    decisions, left = review(place, folder / "survey.csv", answers)
    run("schema", "check", folder / "survey.csv", place)
    release = us.synthesize(folder / "survey.csv", place, epsilon=1, method="independent")
    long = written_out(schema)
    lines = len(text.splitlines())
    return name, f"{lines:,}", f"{long:,}", decisions, left, release.guarantee.kind


def written_out(schema: Schema) -> int:
    """Lines of the same draft with an entry, and a level, a line."""
    content = tomllib.loads(schema.dumps())
    for column in content["columns"].values():
        column |= {"source": "", "reviewed": False}
        column["drafted"] = 0  # which takes one line
    return len(tomli_w.dumps(content).splitlines())


def stays() -> pl.DataFrame:
    """Hospital stays: dates, codes, scales with absences, and numbers that people round."""
    rng = np.random.default_rng(20)
    n, first = 3_000, date(2023, 1, 1).toordinal()
    admitted, days = first + rng.integers(0, 365, n), np.minimum(rng.exponential(5, n), 60)
    emergency, pulse = rng.random(n) < 0.4, rng.integers(45, 150, n)

    def dated(ordinals: Iterable[int]) -> list[date]:
        return [date.fromordinal(int(one)) for one in ordinals]

    def partly(values: Iterable[object], there: Iterable[bool]) -> list[object]:
        return [one if here else None for one, here in zip(values, there, strict=True)]

    return pl.DataFrame(
        {
            "case_no": [f"H-{k:05d}" for k in rng.permutation(n)],
            "admitted": dated(admitted),
            "discharged": dated(admitted + days.astype(int)),
            "days": days.astype(int),
            "ward": rng.choice(["children", "eye", "geriatrics", "internal", "surgery"], n),
            "diagnosis": rng.choice(["A10", "A20", "B05", "B30", "C11", "D40", "E02", "Z99"], n),
            "sex": rng.choice(["f", "m", "d"], n, p=[0.5, 0.49, 0.01]),
            "age": rng.integers(0, 99, n),
            "insurance": rng.choice([1, 2, 3, 9], n, p=[0.8, 0.12, 0.05, 0.03]),
            "emergency": np.where(emergency, "yes", "no"),
            "triage": partly(rng.integers(1, 6, n).tolist(), emergency),
            "weight_kg": partly(rng.normal(74, 12, n).round(1).tolist(), rng.random(n) > 0.08),
            "pulse": np.where(rng.random(n) < 0.6, pulse // 10 * 10, pulse),
            "pain": np.where(rng.random(n) < 0.1, -1, rng.integers(0, 11, n)),
            "copay": np.where(rng.random(n) < 0.6, 0, rng.uniform(5, 300, n).round(2)),
            "cost": rng.lognormal(8, 0.7, n).round(2),
            "operations": np.minimum(rng.poisson(0.8, n), 7),
            "smoker": rng.choice(["never", "former", "current", "unknown"], n),
            "satisfied": partly(
                rng.choice(["very", "rather", "hardly", "not"], n).tolist(), rng.random(n) < 0.6
            ),
            "readmitted": rng.integers(0, 2, n),
        }
    )


STAYS = {
    "discharged": "e lower = 2023-01-01, upper = 2024-12-31; hospital form",
    "days": "e lower = 0, upper = 730, bins = [0, 1, 2, 3, 5, 7, 10, 14, 30, 60, 730]; judgement",
    "ward": "c list of wards",
    "diagnosis": "c list of diagnoses",
    "sex": 'e levels = ["f", "m", "d"]; hospital form',
    "weight_kg": 'e lower = 0, upper = 300, decimals = 1, missing = [""]; hospital form',
    "pulse": "e lower = 20, upper = 250; hospital form",
    "pain": "e lower = 0, upper = 10, bins = 11, missing = [-1]; hospital form",
    "copay": "c law on copayments",
    "operations": "e lower = 0, upper = 20, bins = 21; judgement",
    "satisfied": 'e kind = "ordinal", levels = ["not", "hardly", "rather", "very"], '
    'missing = [""]; hospital form',
}
"""What is said of a column; the form confirms the others as they stand."""


def answers_on_stays(schema: Schema, accepted: Collection[str]) -> list[str]:
    """What a person with the form of the hospital at hand answers; see `answers`."""
    return [STAYS.get(name, "c hospital form") for name in schema.declared if name not in accepted]


BUDGET = ("--epsilon", 1, "--delta", "1e-6", "--analysis", "mean cost ~ ward")
BESIDE = 4
"""Decisions beside the review: ε, δ, the question that matters most, and the number of sets."""


def whole_way(folder: Path) -> tuple[str, ...]:
    """Every command of the page, on the stays; columns, decisions, and seconds of the machine."""
    rows, place, out = folder / "stays.csv", folder / "stays.toml", folder / "stays"
    table = stays()
    table.write_csv(rows)
    began = time.perf_counter()
    run("schema", "draft", rows, "-o", place)
    decisions, left = review(place, rows, answers_on_stays)
    run("schema", "check", rows, place)
    run("plan", "--schema", place, *BUDGET, "--assume-rows", table.height)
    run("synthesize", rows, "--schema", place, *BUDGET, "--sets", 2, "--out", out)
    run("show", out)
    run("analyze", out, "mean", "cost ~ ward")
    subprocess.run(
        [sys.executable, "-m", "understudy_verify", out], capture_output=True, check=True
    )
    seconds = time.perf_counter() - began
    return str(table.width), str(int(decisions) + BESIDE), left, f"{seconds:.0f}"


def main() -> None:
    """The walks, side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        rows = survey()
        rows.write_csv(folder / "survey.csv")
        (folder / "dictionary.csv").write_text(dictionary(), encoding="utf-8")
        page = Table("", "lines", "a level a line", "decisions", "left as drafted", "guarantee")
        page.add_row(*walk(folder, "rows"))
        page.add_row(*walk(folder, "codebook", "--codebook", folder / "dictionary.csv"))
        Console().print(f"{rows.width} columns, {rows.height:,} rows", page)
        page = Table("columns", "decisions to a release", "left as drafted", "machine's seconds")
        page.add_row(*whole_way(folder))
        Console().print(page)


if __name__ == "__main__":
    main()
