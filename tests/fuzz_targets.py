"""Places where a file from outside comes in, each as a function of bytes, with files to begin from.

Whatever the bytes are, a target ends quietly: with a result, or with an error of the package that
is one sentence. Anything else that is raised is a fault. `tests/attacks/test_fuzzed_files.py`
tries some hundred changes of each, `benchmarks/fuzz.py` as many as there is time for.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

import understudy as us
import understudy_verify
from made_codebooks import ALL
from understudy.data.table import Table
from understudy.errors import UnderstudyError
from understudy.inference.question import parse
from understudy.inference.question_file import question_file
from understudy.inference.verdict import read_claim
from understudy.schema import Schema

SCHEMA_TEXT = """
rows = "private"
row_limit = 100
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
missing = [-9]
source = "made"
reviewed = true
[columns.job]
kind = "categorical"
levels = ["a", "b", "c"]
source = "made"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 1000
bins = [0.0, 10.5, 1000.0]
decimals = 2
source = "made"
reviewed = true
[columns.since]
kind = "datetime"
lower = 2020-01-01T00:00:00
upper = 2021-01-01T00:00:00
bins = 4
source = "made"
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 19 }, job = "c" }
source = "made"
reviewed = true
"""
SCHEMA = Schema.loads(SCHEMA_TEXT)
QUESTIONS = """
title = "t"
asked_by = "somebody"
chosen = "beforehand"
[[analyses]]
kind = "ols"
formula = "income ~ age + C(job)"
half_width = 5.0
term = "age"
"""
CLAIMS = """title = "t"
asked_by = "somebody"
claims = ["mean income > 300 where age < 30"]
"""
ROWS = b"age,job,income,since\n17,a,3.5,2020-03-01T10:00:00\n-9,b,1e2,\n,x,,2020-13-01\n"
LINES = (
    b'{"age": 17, "job": "a", "income": 3.5}\n{"age": null, "job": "b", "since": "2020-03-01"}\n'
)


@dataclass(frozen=True)
class Target:
    """A place where files come in.

    Attributes:
        run: takes the bytes of a file in; raises at a fault alone.
        seeds: files to begin from.
    """

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


@cache
def _room() -> Path:
    """A folder for files, in memory where there is such a place."""
    held = tempfile.TemporaryDirectory(
        prefix="fuzz", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    )
    _HELD.append(held)
    return Path(held.name)


_HELD: list[tempfile.TemporaryDirectory[str]] = []


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Errors of the package end a target, if each is a sentence."""
    said = "an error"
    try:
        yield
    except UnderstudyError as error:
        said = str(error).strip()
    assert 0 < len(said) < 5_000, "an error says nothing, or more than a page"


def schemas(data: bytes) -> None:
    """What is read as a schema is written and read again, and is the same."""
    with _refusing():
        text = data.decode("utf-8", errors="replace")
        schema = Schema.loads(text)
        assert Schema.loads(schema.dumps()) == schema


def questions(data: bytes) -> None:
    """A question file, and whether the columns that it names are there."""
    place = _room() / "question.toml"
    place.write_bytes(data)
    with _refusing():
        question_file(place).require_asked(SCHEMA)


def formulas(data: bytes) -> None:
    """A kind and a formula, or a claim."""
    text = data.decode("utf-8", errors="replace")
    kind, _, formula = text.partition(" ")
    with _refusing():
        parse(kind, formula, SCHEMA)
    with _refusing():
        read_claim(text, SCHEMA)


def codebooks(data: bytes) -> None:
    """An ending and a codebook; its draft can be read wherever nothing is asked."""
    ending, _, content = data.partition(b"\n")
    shown = ending.decode("ascii", errors="ignore")
    if shown not in _ENDINGS:
        return
    place = _room() / f"book.{shown}"
    place.write_bytes(content)
    with _refusing():
        book = us.read_codebook(place)
        if all(one.in_words for one in book.asked.values()):
            Schema.loads(book.dumps())


def rows(data: bytes) -> None:
    """Text with separators, and JSON lines: whatever the rows hold, they are counted."""
    for name in ("rows.csv", "rows.jsonl"):
        place = _room() / name
        place.write_bytes(data)
        with _refusing():
            Table(place, SCHEMA).count([(0, 1)])


def manifests(data: bytes) -> None:
    """A manifest beside the other files of its release, which both programs read."""
    folder = _released()
    (folder / "manifest.json").write_bytes(data)
    with _refusing():
        us.Release.load(folder)
    assert understudy_verify.verify(folder)


def signatures(data: bytes) -> None:
    """A signature beside its manifest."""
    folder = _released()
    (folder / "manifest.json").write_bytes(_manifest())
    (folder / "manifest.sig").write_bytes(data)
    try:
        with _refusing():
            us.Release.load(folder)
        assert understudy_verify.verify(folder)
    finally:
        (folder / "manifest.sig").unlink()


@cache
def _released() -> Path:
    table = {"age": [17, 40, 60] * 5, "job": ["a", "b", "a"] * 5, "income": [3.0, 20, 500] * 5}
    import pandas as pd

    frame = pd.DataFrame({**table, "since": ["2020-03-01T10:00:00"] * 15})
    release = us.synthesize(frame, SCHEMA, epsilon=2, method="independent", insecure_noise_seed=1)
    folder = _room() / "release"
    release.save(folder)
    return folder


@cache
def _manifest() -> bytes:
    return (_released() / "manifest.json").read_bytes()


_ENDINGS = {Path(name).suffix[1:] for name in ALL}
_SIGNATURE = json.dumps(
    {"algorithm": "ed25519", "public_key": "00" * 32, "signature": "11" * 64}
).encode()


def targets() -> dict[str, Target]:
    """All of them by name."""
    books = (f"{Path(name).suffix[1:]}\n{text}".encode() for name, text in ALL.items())
    asked = (b"ols income ~ age + C(job)", b"table age + job", b"proportion job", b"quantile age")
    claimed = (b"mean income > 300 where age < 30", b"correlation age + income > 0.2")
    return {
        "schemas": Target(schemas, (SCHEMA_TEXT.encode(),)),
        "questions": Target(questions, (QUESTIONS.encode(), CLAIMS.encode())),
        "formulas": Target(formulas, (*asked, *claimed)),
        "codebooks": Target(codebooks, tuple(books)),
        "rows": Target(rows, (ROWS, LINES)),
        "manifests": Target(manifests, (_manifest(),)),
        "signatures": Target(signatures, (_SIGNATURE,)),
    }


TOKENS = tuple(
    b"\" ' < > { } [ ] ( ) , ; : = ~ + - . / \\ 0 1 9 -1 1e999 nan null true 2020-13-40 "
    b"\x00 \xff \xef\xbb\xbf \r \n \t \xc2\xa0 \xe2\x80\xa8 \xf0\x9f\x92\xa9 [[ ]] ]]> <!-- &lt; _ "
    b"99999999999999999999 0x1f inf log( where".split(b" ")
)
"""What is put into files, beside parts of themselves."""


def spliced(target: Target) -> st.SearchStrategy[bytes]:
    """Files to begin from with up to four places changed: cut, filled, or repeated from
    elsewhere."""
    place = st.floats(0, 1, exclude_max=True)
    edit = st.tuples(place, st.integers(0, 40), st.sampled_from(TOKENS) | st.none(), place)

    def changed(seed: bytes, edits: list[tuple[float, int, bytes | None, float]]) -> bytes:
        for at, size, token, source in edits:
            start, other = int(at * len(seed)), int(source * len(seed))
            put = seed[other : other + size] if token is None else token
            seed = seed[:start] + put + seed[start + (0 if token is None else size) :]
        return seed

    return st.builds(changed, st.sampled_from(target.seeds), st.lists(edit, min_size=1, max_size=4))
