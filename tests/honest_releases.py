"""Honest releases of schemas, methods and options that are drawn at random.

Every kind of column, resolution and code of absence, and rules; methods with their options, as
published and not private; exports, several sets, and amendments.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from understudy.errors import UnderstudyError

Rng = np.random.Generator
NAMES = ("a", "b × c", "counts", "sum of d", "e & f", "größe", "g (last)", "h'", "x_1", "no. 2")
DAY = dt.date(1970, 1, 1)
REVIEWED = 'source = "codebook"\nreviewed = true\n'
KINDS = (
    *("categorical", "ordinal", "boolean", "integer", "continuous"),
    *("date", "datetime", "time", "duration"),
)
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


@dataclass(frozen=True)
class Drawn:
    """A column: its declaration, a value for the rows at random, and its ends if it is a number."""

    kind: str
    declared: str
    value: Callable[[Rng], Any]
    levels: tuple[Any, ...] = ()


def one_of(things: Any, rng: Rng) -> Any:
    things = list(things)
    return things[int(rng.integers(len(things)))]


def quoted(value: object) -> str:
    """As TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def span(seconds: int) -> str:
    """A duration, not always in its shortest form."""
    return f"{'-' * (seconds < 0)}PT{abs(seconds) // 60}M{abs(seconds) % 60}S"


def of_levels(kind: str, rng: Rng) -> Drawn:
    texts = ("Aa", "=1+1", "a or b", "", "1", "01", "(any)", "é ü", "a" * 40, "0 to 4")
    pools: list[tuple[Any, ...]] = [texts, (1, 2, 3, 10, -4), (1.5, 2, 7.25, -0.5)]
    levels = tuple(rng.permutation(len(pool := one_of(pools, rng)))[: int(rng.integers(2, 5))])
    own = tuple(pool[k] for k in levels)
    declared = f"levels = [{', '.join(map(quoted, own))}]\n"
    return Drawn(kind, declared, lambda r: one_of(own, r), own)


def of_truths(rng: Rng) -> Drawn:
    return Drawn("boolean", "", lambda r: bool(r.random() < 0.4), (True, False))


def of_whole_numbers(rng: Rng) -> Drawn:
    low = int(rng.integers(-30, 30))
    high = low + int(one_of([0, 1, 5, 49, 50, 51, 120, 5000], rng))
    declared = f"lower = {low}\nupper = {high}\n"
    width = high - low + 1
    if width > 4 and rng.random() < 0.5:
        declared += f"bins = {one_of([1, 2, 3, [low, low + 2, high]], rng)}\n"
    if width > 50 and rng.random() < 0.4:
        declared += f"spikes = [{low + 1}]\n"
    elif width > 50 and rng.random() < 0.4:
        declared += "heaps = [10, 5]\n"
    return Drawn("integer", declared, lambda r: int(r.integers(low - 1, high + 2)))


def of_real_numbers(rng: Rng) -> Drawn:
    low = float(one_of([0, -0.0, -1.5, 1e-3, -1e6, 0.1], rng))
    high = low + float(one_of([1, 0.3, 1e3, 1e7], rng))
    middle = low + (high - low) / 3
    declared = f"lower = {low!r}\nupper = {high!r}\n"
    if rng.random() < 0.6:
        declared += f"bins = {one_of([1, 2, 7, [low, middle, high]], rng)}\n"
    if rng.random() < 0.3:
        declared += f"spikes = [{one_of([low, middle, high], rng)!r}]\n"
    if rng.random() < 0.5:
        declared += (
            f"decimals = {one_of([0, 1, 3], rng)}\n" if high - low >= 1 else "decimals = 4\n"
        )
    return Drawn("continuous", declared, lambda r: float(r.uniform(low, high)))


def of_days(rng: Rng) -> Drawn:
    low = DAY + dt.timedelta(days=int(rng.integers(-200_000, 200_000)))
    days = int(one_of([0, 1, 18, 400, 9000], rng))
    high = low + dt.timedelta(days=days)
    declared = f"lower = {low}\nupper = {high}\n"
    if days > 20 and rng.random() < 0.5:
        declared += f"bins = [{low}, {low + dt.timedelta(days=7)}, {high}]\n"
    return Drawn("date", declared, lambda r: low + dt.timedelta(days=int(r.integers(0, days + 1))))


def of_moments(rng: Rng) -> Drawn:
    low = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(rng.integers(-(10**10), 10**10)))
    wide = int(one_of([0, 59, 3600, 86_400 * 40, 86_400 * 4000], rng))
    high, unit = low + dt.timedelta(seconds=wide), one_of(["second", "minute", "hour"], rng)
    fraction = one_of(["", ".5"], rng)
    declared = f"lower = {low.isoformat()}{fraction}\nupper = {high.isoformat()}{fraction}\n"
    declared += f'resolution = "{unit}"\n'
    if wide > 86_400 and rng.random() < 0.5:
        middle = low + dt.timedelta(days=3)
        edges = ", ".join(one.isoformat() for one in (low, middle, high))
        declared = declared.replace(".5", "") + f"bins = [{edges}]\n"
    elif wide > 86_400 and rng.random() < 0.3:
        declared += f"bins = {one_of([1, 5], rng)}\n"
    return Drawn(
        "datetime", declared, lambda r: low + dt.timedelta(seconds=int(r.integers(0, wide + 1)))
    )


def of_times(rng: Rng) -> Drawn:
    unit = one_of(["second", "minute", "hour"], rng)
    declared = f'resolution = "{unit}"\n'
    if rng.random() < 0.5:
        declared += (
            f"lower = 06:30:15\nupper = {one_of(['22:59:59', '06:59:00', '23:00:00'], rng)}\n"
        )
        if rng.random() < 0.3:
            declared += "bins = 1\n"
    return Drawn("time", declared, lambda r: dt.time(int(r.integers(7, 22)), int(r.integers(60))))


def of_durations(rng: Rng) -> Drawn:
    unit = one_of(list(UNITS), rng)
    low = int(rng.integers(-90_000, 90_000))
    high = low + int(one_of([0, 100, 7200, 86_400 * 30], rng))
    declared = f'lower = "{span(low)}"\nupper = "{span(high)}"\nresolution = "{unit}"\n'
    if high - low > 86_400 * 3 and rng.random() < 0.5:
        declared += f"bins = {one_of([1, 3], rng)}\n"
    return Drawn(
        "duration", declared, lambda r: dt.timedelta(seconds=int(r.integers(low, high + 1)))
    )


MAKERS: dict[str, Callable[[Rng], Drawn]] = {
    "categorical": lambda rng: of_levels("categorical", rng),
    "ordinal": lambda rng: of_levels("ordinal", rng),
    **{"boolean": of_truths, "integer": of_whole_numbers, "continuous": of_real_numbers},
    **{"date": of_days, "datetime": of_moments, "time": of_times, "duration": of_durations},
}
CODES = (['missing = [""]'], ['missing = ["?"]'], ["not_applicable = [-99999999]"])
CODES += (['out_of_domain = "other"'], ['missing = ["", "?"]', 'out_of_domain = "other"'])


def schema_and_rows(rng: Rng) -> tuple[str, pl.DataFrame]:
    """A schema as text, and rows for it."""
    names = [NAMES[k] for k in rng.permutation(len(NAMES))[: int(rng.integers(2, 5))]]
    drawn = {name: MAKERS[one_of(KINDS, rng)](rng) for name in names}
    n = int(one_of([0, 1, 40, 90], rng))
    public = rng.random() < 0.35
    text = f'rows = "public"\nn_rows = {n}\n' if public else 'rows = "private"\n'
    text += "row_limit = 100\n" if not public and rng.random() < 0.6 else ""
    rows: dict[str, list[Any]] = {}
    for name, column in drawn.items():
        text += f'[columns."{name}"]\nkind = "{column.kind}"\n{column.declared}'
        codes = "\n".join(one_of(CODES, rng)) + "\n" if rng.random() < 0.4 else ""
        if column.kind != "boolean" or "?" in codes or '""' in codes:
            text += codes
        text += REVIEWED
        rows[name] = [None if rng.random() < 0.05 else column.value(rng) for _ in range(n)]
    if rng.random() < 0.25:
        text += (
            f'[columns.patient]\nkind = "identifier"\npattern = "{one_of(["P{:03}", "{}"], rng)}"\n'
        )
        text += REVIEWED
    single = [name for name, column in drawn.items() if column.levels]
    if len(single) > 1 and rng.random() < 0.6:
        one, two = single[:2]
        where = (
            f'"{one}" = {quoted(drawn[one].levels[0])}, "{two}" = {quoted(drawn[two].levels[1])}'
        )
        text += f"[[forbidden]]\nwhere = {{ {where} }}\n{REVIEWED}"
    return text, frame_of(rows, drawn)


def frame_of(rows: dict[str, list[Any]], drawn: dict[str, Drawn]) -> pl.DataFrame:
    kinds = {
        **{"boolean": pl.Boolean, "integer": pl.Int64, "continuous": pl.Float64, "date": pl.Date},
        **{"datetime": pl.Datetime("us"), "time": pl.Time, "duration": pl.Duration("us")},
    }
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=kinds[drawn[name].kind])
            if drawn[name].kind in kinds
            else pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
            for name, values in rows.items()
        ]
    )


METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("auto", {}), ("marginals", {}), ("marginals", {"noise": "laplace"}), ("mst", {})),
    *(("aim", {}), ("independent", {}), ("independent", {"noise": "laplace"})),
    *(("laplace", {"form": form}) for form in ("dense", "filtered", "lazy")),
    *(("laplace", {"noise": "laplace"}), ("laplace", {"mode": "paper"})),
    *(("dirichlet", {}), ("dp-prior", {}), ("empirical-cdf", {}), ("perturbed-histogram", {})),
    *(("perturbed-histogram", {"mode": "paper"}), ("smoothed-histogram", {"bins": 3})),
    *(("steps", {}), ("steps", {"mode": "paper"}), ("steps", {"noise": "laplace"})),
    *(("universal-histogram", {}), ("universal-histogram", {"form": "ranges", "fanout": 2})),
    *(("privbayes", {"degree": 1}), ("pegs-tables", {}), ("pegs-tables", {"form": "lazy"})),
    *(("pegs", {}), ("pegs", {"mode": "paper"}), ("pegs-reset", {}), ("pegs-reset", {"block": 0})),
    *(("perturbed-imputation", {}), ("modips", {}), ("modips", {"mode": "paper"})),
    *(("modips", {"bounds": "truncate"}), ("modips", {"cells": 12})),
    *(("modips", {"model": "multinomial"}), ("modips", {"model": "bernoulli"})),
    *(("multiple-synthesis", {}), ("multiple-imputation", {}), ("contingency-table", {})),
    *(("marginal-bootstrap", {}), ("pegs-diverse", {}), ("pmse", {"candidates": 8})),
    *(("censored-posterior", {"candidates": 8}), ("pseudo-posterior", {"draws": 8})),
)


def honest(rng: Rng, place: Path) -> Iterator[tuple[str, Path]]:
    """Folders of a request at random: a release, and sometimes one amended; none if it is refused.

    Args:
        rng: decides everything but the noise, which is that of a genuine release.
        place: folder for them.
    """
    text, rows = schema_and_rows(rng)
    method, options = one_of(METHODS, rng)
    asked: dict[str, Any] = {
        "method": method,
        "options": options,
        "epsilon": one_of(["0.5", "3", "40"], rng),
        "delta": one_of([0, "1e-6"], rng),
        "sets": one_of([1, 1, 2], rng),
        "allow_nonprivate": True,
        "seed": one_of([None, 3], rng),
    }
    if rng.random() < 0.1:
        asked["insecure_noise_seed"] = 1
    if method in ("auto", "marginals", "independent", "mst") and rng.random() < 0.5:
        asked["budget"] = {"answers": "0.3", "lines": "0.2"}
    also = one_of(["", "", "csv", "dta,csv", "sav"], rng)
    name = f"{method} {options} ε={asked['epsilon']} δ={asked['delta']} {also}\n{text}"
    try:
        schema = us.Schema.loads(text)
        release = us.synthesize(rows, schema, **asked)
    except UnderstudyError:
        return
    try:
        folder = release.save(place / "first", also=also)
    except UnderstudyError:  # a format that cannot hold the names or codes
        folder = release.save(place / "first")
    yield name, folder
    if rng.random() < 0.3:
        columns = tomllib.loads(text)["columns"]
        known = [n for n, one in columns.items() if one["kind"] in ("integer", "continuous")]
        kinds = [("mean", known), ("quantile", known), ("proportion", list(columns))]
        kind, among = one_of(kinds, rng)
        plain = [n for n in among if n.isidentifier() and n != "patient"]
        if plain:
            question = {"analyses": [{"kind": kind, "formula": one_of(plain, rng)}]}
            try:
                amended = us.answer(question, rows, folder, epsilon="0.5")
            except UnderstudyError:
                return
            yield f"amended by {question}: {name}", amended.save(place / "second")
