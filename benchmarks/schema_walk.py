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
import tomllib
from collections.abc import Collection
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
    "height": ("lower = 0", "upper = 230", "bins = 23", 'source = "judgement"'),
    "weight": ("lower = 0", "upper = 250", "bins = 25", 'source = "judgement"'),
    "hours_per_week": ('missing = [""]', 'source = "questionnaire: asked of those who work"'),
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
            said += ["e", *CHANGED[name], "", "a"]
            continue
        scale = re.match("view_|trust_", name)
        source = "questionnaire, scales" if scale else f"questionnaire, question {number}"
        said.append("=" if source == last else f"c {source}")
        last = source
    return said


def run(*arguments: object, typed: str = "") -> str:
    """A command, as it is typed."""
    command = [sys.executable, "-m", "understudy", *map(str, arguments)]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=True).stdout


def walk(folder: Path, name: str, *options: object) -> tuple[str, ...]:
    """Draft, review and release; what the page shows of it."""
    place = folder / f"{name}.toml"
    run("schema", "draft", folder / "survey.csv", "-o", place, *options)
    text = place.read_text(encoding="utf-8")
    schema = Schema.load(place)
    found = us.check(folder / "survey.csv", schema).findings
    misfits = {finding.column for finding in found}
    accepted = {
        name
        for name, column in schema.declared.items()
        if column.source and not column.left_as_drafted and name not in misfits
    }
    typed = "".join(f"{line}\n" for line in answers(schema, accepted))
    options = ("--accept-sourced", "--data", folder / "survey.csv")
    told = run("schema", "review", place, *options, typed=typed)
    decided = re.search(r"^(\d+) decisions?, (\d+) left as drafted", told, re.MULTILINE)
    assert decided is not None, told
    run("schema", "check", folder / "survey.csv", place)
    release = us.synthesize(folder / "survey.csv", place, epsilon=1, method="independent")
    long = written_out(schema)
    lines = len(text.splitlines())
    return name, f"{lines:,}", f"{long:,}", decided[1], decided[2], release.guarantee.kind


def written_out(schema: Schema) -> int:
    """Lines of the same draft with an entry, and a level, a line."""
    content = tomllib.loads(schema.dumps())
    for column in content["columns"].values():
        column |= {"source": "", "reviewed": False}
        column["drafted"] = 0  # which takes one line
    return len(tomli_w.dumps(content).splitlines())


def main() -> None:
    """Both walks, side by side."""
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


if __name__ == "__main__":
    main()
