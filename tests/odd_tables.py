"""Small tables at the edges of what a schema can declare, and the whole way that each must go.

One level, an empty level, bounds that are equal, one bin, no rows, one row, rows that fit no state,
rules that leave one record possible, identifiers, relations, derived columns: each is allowed, so
each must end in a whole release, or in a refusal before anything is paid.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st
from pydantic import ValidationError

import understudy as us
import understudy_verify
from understudy.errors import UnderstudyError
from understudy.schema import Schema

TEXTS = ("a", "b", "c", "no", "1", "-1", "0", "x y", "é", "NA", "nan", "true")
QUESTIONS = ("mean", "quantile", "proportion", "table", "total")
OF_TWO: tuple[str, ...] = (
    "ols",
    "logit",
    "poisson",
    "correlation",
    "odds-ratio",
    "independence",
    "ratio",
)


ASKED = 4
"""Columns that are asked about."""
MODELS = ("ols", "logit", "poisson")


@dataclass(frozen=True)
class OddTable:
    """A schema and rows of it.

    Attributes:
        schema: reviewed.
        rows: for it, at times with values that fit no state.
    """

    schema: Schema
    rows: pl.DataFrame

    def __repr__(self) -> str:
        """What reproduces it."""
        return f"{self.schema.dumps()}\n{self.rows.to_dict(as_series=False)}"


@dataclass
class Way:
    """What happened on the way.

    Attributes:
        refused: why nothing was paid; "" if a release was made.
        said: of the questions that were refused, and of more records.
    """

    refused: str = ""
    said: list[str] = field(default_factory=list)


def _codes(draw: Any, taken: Sequence[Any], kind: str) -> dict[str, Any]:
    """Codes of absence."""
    if draw(st.booleans()):
        return {}
    numeric = kind in ("integer", "continuous")
    pool = ["", -9, -8, "?"] if numeric else ["", "?", "99"]
    free = [one for one in pool if one not in taken]
    missing = draw(st.lists(st.sampled_from(free), max_size=2, unique=True))
    told: dict[str, Any] = {"missing": missing} if missing else {}
    rest = [one for one in free if one not in missing]
    if rest and draw(st.integers(0, 3)) == 0:
        told["not_applicable"] = [rest[0]]
        rest = rest[1:]
    if rest and draw(st.integers(0, 3)) == 0:
        told["out_of_domain"] = rest[0]
    return told


def _labels(draw: Any, codes: Sequence[Any]) -> dict[str, Any]:
    texts = [str(one) for one in codes if one != "" and not isinstance(one, bool)]
    if not texts or draw(st.integers(0, 2)):
        return {}
    some = draw(st.lists(st.sampled_from(texts), min_size=1, unique=True))
    return {"value_labels": {text: f"label of {text}" for text in some}}


_DAY = datetime.date(2020, 2, 28)
_ENDS: dict[str, Any] = {
    "date": (_DAY, lambda k: _DAY + datetime.timedelta(days=k)),
    "datetime": (
        datetime.datetime(2020, 2, 28, 23, 59),
        lambda k: datetime.datetime(2020, 2, 28, 23, 59) + datetime.timedelta(seconds=k),
    ),
    "time": (datetime.time(), lambda k: (_START + datetime.timedelta(seconds=k)).time()),
    "duration": ("PT0S", lambda k: f"PT{k}S"),
}
_START = datetime.datetime(2020, 1, 1)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


@st.composite
def odd_column(draw: Any) -> tuple[dict[str, Any], list[Any]]:
    """Entries of a column, and cells that its rows may have."""
    kind = draw(
        st.sampled_from(
            [
                *("categorical", "ordinal", "boolean", "integer", "continuous"),
                *("date", "datetime", "time", "duration", "identifier"),
            ]
        )
    )
    told: dict[str, Any] = {"kind": kind}
    if kind == "identifier":
        return told, ["u"]
    if kind in ("categorical", "ordinal"):
        pool = ["", *TEXTS] if draw(st.booleans()) else [1, 2, 5, -1, 0]
        levels = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique=True))
        told |= {"levels": levels} | _codes(draw, [*levels, *map(str, levels)], kind)
        cells = [None if one == "" else str(one) for one in levels]
    elif kind == "boolean":
        told |= _codes(draw, (), kind)
        cells = draw(st.sampled_from([["true"], ["false"], ["true", "false"]]))
    elif kind in ("integer", "continuous"):
        low = draw(st.sampled_from([0, -3, 7, 10**6]))
        width = draw(st.sampled_from([0, 0, 1, 2, 40, 10**7]))
        told |= {"lower": low, "upper": low + width, **_codes(draw, (), kind)}
        if draw(st.booleans()):
            told["bins"] = draw(st.sampled_from([1, 2, 3]))
        if kind == "continuous":
            told["decimals"] = draw(st.sampled_from([None, 0, 1]))
        if draw(st.integers(0, 2)) == 0:
            told["spikes"] = draw(st.sampled_from([[low], [low + width], []]))
        if draw(st.integers(0, 3)) == 0:
            told["heaps"] = [draw(st.sampled_from([2, 5, 10]))]
        told = {key: value for key, value in told.items() if value is not None}
        cells = [str(low), str(low + width), str(low + width // 2)]
    else:
        units = {"date": ["day"], "duration": [*_SECONDS]}.get(kind, ["second", "minute", "hour"])
        unit = draw(st.sampled_from(units))
        width = draw(st.sampled_from([0, 0, 1, 2, 20])) * (1 if kind == "date" else _SECONDS[unit])
        low, moved = _ENDS[kind]
        told |= {"lower": low, "upper": moved(width), **_codes(draw, (), kind)}
        if kind != "date":
            told["resolution"] = unit
        if draw(st.booleans()):
            told["bins"] = draw(st.sampled_from([1, 2]))
        cells = [str(low).replace(" ", "T"), str(moved(width)).replace(" ", "T")]
    codes = [*told.get("missing", ()), *told.get("not_applicable", ())]
    told |= _labels(draw, [*codes, *told.get("levels", ())])
    cells += [str(code) if code != "" else None for code in codes]
    which = draw(st.integers(0, 5))
    if which == 0:
        cells.append("fits nothing")
    elif which == 1:
        cells = ["fits nothing"]
    return told, cells


@st.composite
def odd_tables(draw: Any) -> OddTable:
    """A table with a schema that can be declared."""
    made = draw(st.lists(odd_column(), min_size=1, max_size=4))
    names = [f"c{k}" for k in range(len(made))]
    columns = {name: told for name, (told, _) in zip(names, made, strict=True)}
    content: dict[str, Any] = {"columns": columns}
    n = draw(st.sampled_from([0, 1, 2, 9, 30, 900]))
    if draw(st.booleans()):
        content |= {"rows": "public", "n_rows": n}
    elif draw(st.booleans()):
        content["row_limit"] = draw(st.sampled_from([1, 2, 40]))
    _relate(draw, content)
    schema = _allowed(content)
    chance = random.Random(draw(st.integers(0, 2**16)))
    rows = {name: chance.choices(cells, k=n) for name, (_, cells) in zip(names, made, strict=True)}
    for name in schema.identifiers:
        rows[name] = [f"u{k}" for k in range(n)]
    given = [*schema.names, *schema.identifiers]
    return OddTable(
        schema, pl.DataFrame({k: rows[k] for k in given}, schema=dict.fromkeys(given, pl.String))
    )


def _relate(draw: Any, content: dict[str, Any]) -> None:
    """A derived column, a forbidden combination, or a relation, at times."""
    columns = content["columns"]
    listed = {n: one["levels"] for n, one in columns.items() if "levels" in one}
    numbers = [n for n, one in columns.items() if one["kind"] in ("integer", "continuous")]
    if numbers and draw(st.integers(0, 4)) == 0:
        columns["derived"] = {
            **{"kind": "integer", "lower": 0, "upper": draw(st.sampled_from([0, 1, 100]))},
            **{"derived": f"{numbers[0]} + 1", "missing": [""]},
        }
    if len(numbers) > 1 and draw(st.integers(0, 2)) == 0:
        sign = draw(st.sampled_from(["<", "<="]))
        content["relations"] = [{"inequality": f"{numbers[0]} {sign} {numbers[1]}"}]
    if len(listed) > 1 and draw(st.booleans()):
        (a, some), (b, others) = [*listed.items()][:2]
        # All combinations but one, or as many as that leaves.
        content["forbidden"] = [
            {"where": {a: one, b: other}}
            for one in some
            for other in others
            if (one, other) != (some[0], others[0])
        ]


def _allowed(content: dict[str, Any]) -> Schema:
    """The schema, reviewed, or without what makes it none."""
    for one in [
        *content["columns"].values(),
        *content.get("forbidden", ()),
        *content.get("relations", ()),
    ]:
        one |= {"reviewed": True}
        if one.get("kind") != "identifier":
            one |= {"source": "made up"}
    try:
        return Schema.model_validate(content)
    except (ValidationError, UnderstudyError):
        for key in ("relations", "forbidden"):
            content.pop(key, None)
        content["columns"].pop("derived", None)
    try:
        return Schema.model_validate(content)
    except (ValidationError, UnderstudyError):
        assume(False)
        raise


def go_the_way(
    schema: Schema, rows: Any, folder: Path, *, formats: Sequence[str] = (), **request: Any
) -> Way:
    """Plan, make, save in all formats, load, verify, analyze and sample.

    Args:
        schema: of the rows.
        rows: as `synthesize` takes them.
        folder: for the release; does not exist yet.
        formats: to be written beside Parquet.
        request: arguments of `synthesize`.

    Raises:
        AssertionError: a refusal came after something was paid, or the release is none.
        Exception: anything that is raised and is no refusal.
    """
    way = Way()
    planned = {
        key: request[key] for key in ("epsilon", "delta", "method", "options") if key in request
    }
    try:
        us.plan(schema, **planned)
    except UnderstudyError as error:
        way.refused = str(error)
    paid = None
    try:
        seeds = {"insecure_noise_seed": 1, "allow_nonprivate": True}
        release = us.synthesize(rows, schema, **seeds, also=formats, **request)
    except UnderstudyError as error:
        paid, way.refused = getattr(error, "__notes__", []), str(error)
    if paid is not None:
        assert paid == [], way.refused
        return way
    assert not way.refused, f"refused by plan alone: {way.refused}"
    release.save(folder, also=formats)
    loaded = us.Release.load(folder)
    broken = [told for told in understudy_verify.verify(folder) if told[1] == "broken"]
    assert not broken, broken
    for frame in ("pandas", "polars", "arrow"):
        us.Release.load(folder, frame=frame).sets[0]
    names = schema.names[:ASKED]
    for name in names:
        for question in QUESTIONS:
            _try(way, partial(us.analyze, loaded, question, name))
    for first, second in pairwise(names):
        for question in OF_TWO:
            between = (
                " ~ " if question in ("ols", "odds-ratio", "standardised-difference") else " + "
            )
            _try(way, partial(us.analyze, loaded, question, f"{first}{between}{second}"))
    _try(way, lambda: us.sample(loaded, 3, seed=1))
    return way


def _try(way: Way, ask: Any) -> None:
    try:
        ask()
    except UnderstudyError as error:
        way.said.append(str(error))
