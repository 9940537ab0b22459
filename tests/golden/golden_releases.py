"""What the package gives out, as digests: ``python tests/golden/golden_releases.py [--write]``.

A change of structure must leave all of this as it is, bit for bit: a seeded release of each case
of `tests/contract`, its plan, what twelve larger releases answer to the same questions, and the
help of each command. Without `--write` it compares with `golden.json`, says what differs and ends
with exit code 1. With `--write` it stores what there is now: the commit that does so says why.

Noise comes from a seed, so that the releases are stamped as not private. Digests hold for the
versions of libraries and the processor that they were made with, which stand beside them: another
library may round a last digit in another way, and then nothing is compared.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

GOLDEN = Path(__file__).with_name("golden.json")
LIBRARIES = ("numpy", "scipy", "numba", "polars", "pyarrow", "pandas", "typer", "rich")
EPSILON = "7.12345678912"
ASKED: tuple[dict[str, Any], ...] = (
    {"epsilon": 3, "delta": "0.000001", "sets": 5},
    {"epsilon": 3, "delta": "0.000001", "analyses": ["mean income ~ sex"]},
    {"epsilon": 1, "sets": 3},
    {"epsilon": 1, "method": "laplace", "sets": 2},
    {"epsilon": 3, "delta": "0.000001", "method": "independent"},
    {"epsilon": 3, "delta": "0.000001", "method": "marginals", "sets": 2},
    {"epsilon": 3, "delta": "0.000001", "method": "mst"},
    {"epsilon": 3, "method": "aim"},
    {"epsilon": 3, "method": "privbayes"},
    {"epsilon": 3, "method": "steps", "options": {"sets": "split"}, "sets": 3},
    {"epsilon": 3, "method": "pegs-tables", "sets": 2},
    {"epsilon": 3, "method": "modips", "sets": 3},
)
"""Releases of 2,000 rows, each of which is asked all questions."""
QUESTIONS = """
mean age; mean income; mean age ~ sex; mean income ~ job; total income; total income ~ sex
proportion sex; proportion job; proportion smokes; proportion job ~ sex; proportion smokes ~ job
proportion age > 17; proportion {age >= 65}; proportion income > 0; proportion moved
quantile age; quantile income; quantile income ~ sex; correlation age + income
correlation age + smokes; independence sex + job; independence sex + smokes
independence job + smokes; odds-ratio sex + smokes; odds-ratio smokes + {age >= 65}
ratio income ~ sex; ratio age ~ sex; standardised-difference income ~ sex
standardised-difference age ~ smokes; ols income ~ age; ols income ~ age + sex; ols age ~ job
ols log(income + 1) ~ age; logit smokes ~ age; logit smokes ~ sex + job; logit sex ~ income
poisson income ~ sex; poisson age ~ sex; ols income ~ age:sex; mean log(income + 1)
"""


def digest(content: bytes) -> str:
    """The first 64 bits of a SHA-256: enough to see a change."""
    return hashlib.sha256(content).hexdigest()[:16]


def conditions() -> dict[str, str]:
    """What the last digits of a release depend on, beside the package."""
    found = {name: version(name) for name in LIBRARIES}
    simd = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    machine = " ".join((platform.machine(), *simd))
    return found | {"python": platform.python_version(), "machine": machine}


def released(index: int) -> tuple[str, dict[str, Any]]:
    """Files and plan of the contract case with this number."""
    from contract.conftest import CASES, ROWS

    case = CASES[index]
    release = case.release(ROWS["ordinary"], EPSILON, insecure_noise_seed=1)
    with tempfile.TemporaryDirectory() as place:
        found = dict(sorted(files(release.save(Path(place) / "release", csv=True))))
    plan = digest(str(case.plan(len(ROWS["ordinary"]))).encode())
    return str(case), {"plan": plan, "files": found}


def answered(index: int) -> tuple[str, dict[str, str]]:
    """What the release with this number answers."""
    import understudy as us
    from contract.conftest import COLUMNS, people

    schema = us.Schema.loads(f'rows = "private"\nrow_limit = 5000\n{COLUMNS}')
    rows = people(2_000, seed=index).frame
    release = us.synthesize(rows, schema, **ASKED[index], insecure_noise_seed=index)
    return str(ASKED[index]), {question: answer(release, question) for question in questions()}


def questions() -> list[str]:
    """Kind and formula of each."""
    return [one.strip() for one in QUESTIONS.replace("\n", ";").split(";") if one.strip()]


def files(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and digest of each file of a release; what its software was is left out."""
    for file in (one for one in folder.rglob("*") if one.is_file()):
        content = file.read_bytes()
        if file.name == "manifest.json":
            manifest = json.loads(content)
            # Checksums of the other files are theirs; the versions are those of `conditions`.
            manifest = {k: v for k, v in manifest.items() if k not in ("files", "software")}
            content = json.dumps(manifest).encode()
        yield file.relative_to(folder).as_posix(), digest(content)


def answer(release: Any, question: str) -> str:
    """What a release answers to a question: its first numbers and a digest, or why not."""
    import understudy as us

    kind, _, formula = question.partition(" ")
    try:
        found = us.analyze(release, kind, formula).to_json()
    except us.UnderstudyError as refusal:
        return f"refused {digest(str(refusal).encode())}: {str(refusal)[:60]}"
    first = found["terms"][0] if found.get("terms") else {}
    numbers = [first.get(name) for name in ("estimate", "lower", "upper")]
    return f"{digest(json.dumps(found).encode())}: {numbers}"


def helps() -> dict[str, str]:
    """Digest of the help of each command and sub-command."""
    import typer
    from typer.testing import CliRunner

    from understudy.cli.app import app

    def walk(command: Any, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield names
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            yield from walk(inner, (*names, name))

    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    texts = {}
    for names in walk(typer.main.get_command(app), ()):
        shown = runner.invoke(app, [*names, "--help"])
        assert shown.exit_code == 0, (names, shown.output)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.output)
        texts[" ".join(("understudy", *names))] = digest(plain.encode())
    return texts


def everything() -> dict[str, Any]:
    """All that is compared."""
    from contract.conftest import CASES

    with ProcessPoolExecutor() as pool:
        answers = dict(pool.map(answered, range(len(ASKED))))
        cases = dict(pool.map(released, range(len(CASES)), chunksize=4))
    found = {"conditions": conditions(), "cases": cases, "answers": answers, "help": helps()}
    return dict(json.loads(json.dumps(found)))


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two such results differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            yield from differences(before.get(name), now.get(name), f"{path} / {name}")
    elif before != now:
        yield f"{path.removeprefix(' / ')}: {before} -> {now}"


def main() -> int:
    """Compare or write; the exit code."""
    parser = argparse.ArgumentParser(description="Compares golden releases.")
    parser.add_argument("--write", action="store_true", help="store what there is now")
    write = parser.parse_args().write
    before = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if not write and before.get("conditions") != conditions():
        for line in differences(before.get("conditions"), conditions()):
            print(line)
        print("Nothing was compared: digests are of other libraries or another processor.")
        return 1
    now = everything()
    if write:
        text = json.dumps(now, ensure_ascii=False, indent=1)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    found = list(differences(before, now))
    print("\n".join(found[:100]))
    asked = sum(map(len, now["answers"].values()))
    helped = len(now["help"])
    print(
        f"{len(now['cases'])} releases, {asked} answers, {helped} helps: {len(found)} differences"
    )
    return int(bool(found) and not write)


if __name__ == "__main__":
    sys.exit(main())
