"""Releases that were altered and hashed anew, each so that it breaks a rule of the format.

An alteration is given a folder in memory and random numbers; it alters the folder, or raises
`Absent` where it has nothing to alter. Its name begins with the rule that it breaks.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from understudy.privacy.accounting.budget import decimal_up

SCHEMA = """
rows = "{rows}"
{n_rows}
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb", "Cc"]
source = "codebook"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 89
bins = 3
missing = [""]
source = "codebook"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 2
spikes = [0]
decimals = 1
not_applicable = [-1]
source = "codebook"
reviewed = true
[[forbidden]]
where = {{ age = {{ lower = 0, upper = 29 }}, income = {{ lower = 50, upper = 100 }} }}
source = "law"
reviewed = true
"""
_TIMES = """
rows = "private"
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb", "Cc"]
source = "codebook"
reviewed = true
[columns.patient]
kind = "identifier"
pattern = "P{:03}"
source = "none needed"
reviewed = true
[columns.admitted]
kind = "datetime"
lower = 2021-01-01T00:00:00
upper = 2021-12-31T23:00:00
resolution = "hour"
bins = 6
source = "codebook"
reviewed = true
[columns.arrived]
kind = "time"
resolution = "minute"
source = "codebook"
reviewed = true
[columns.stay]
kind = "duration"
lower = "PT0S"
upper = "P30D"
resolution = "hour"
source = "codebook"
reviewed = true
[[forbidden]]
where = { arrived = { lower = 00:00:00, upper = 05:59:00 }, city = "Cc" }
source = "law"
reviewed = true
"""
BASES: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 3, "method": "independent"},
    "gaussian": {"epsilon": 3, "delta": "1e-6", "method": "independent", "lines_share": "0.2"},
    "products": {"epsilon": 3, "delta": "1e-6", "method": "mst", "answers_share": "0.5"},
    "filtered": {"epsilon": 3, "method": "laplace", "options": {"form": "filtered"}},
    "dense": {"epsilon": 3, "method": "laplace", "options": {"form": "dense"}},
    "replaced": {"epsilon": 2, "method": "marginals", "rows": "public"},
    "times": {"epsilon": 3, "method": "independent", "schema": _TIMES},
    "ranks": {"epsilon": 3, "delta": "1e-6", "method": "marginals", "schema": _TIMES},
}
"""What the releases that are altered were asked for."""


class Absent(Exception):
    """A folder has nothing that this alteration alters."""


@dataclass
class Folder:
    """A release folder in memory.

    Attributes:
        files: name → bytes, without the manifest.
        manifest: its content; checksums are computed when it is laid out.
        after: what is done to the folder once it is laid out.
        text: of the manifest in the place of its content, or None.
    """

    files: dict[str, bytes]
    manifest: dict[str, Any]
    after: Callable[[Path], None] | None = None
    text: Callable[[str], str] | None = None

    @classmethod
    def read(cls, place: Path) -> Folder:
        names = (one for one in place.rglob("*") if one.is_file())
        files = {one.relative_to(place).as_posix(): one.read_bytes() for one in names}
        return cls(files, json.loads(files.pop("manifest.json")))

    @property
    def has_times(self) -> bool:
        """Whether it is of the schema of times."""
        return b"[columns.stay]" in self.files["schema.toml"]

    def copy(self) -> Folder:
        return Folder(dict(self.files), json.loads(json.dumps(self.manifest)))

    def lay(self, place: Path) -> Path:
        """Write it, with the checksums of what it holds now."""
        for name, content in self.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        listed = {
            name: "sha256:" + hashlib.sha256(content).hexdigest()
            for name, content in sorted(self.files.items())
            if name != "manifest.sig"
        }
        text = json.dumps(self.manifest | {"files": listed}, ensure_ascii=False)
        (place / "manifest.json").write_text(
            self.text(text) if self.text else text, encoding="utf-8"
        )
        if self.after:
            self.after(place)
        return place

    def table(self, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Alter a table."""
        out = io.BytesIO()
        change(pl.read_parquet(io.BytesIO(self.files[name]))).write_parquet(out)
        self.files[name] = out.getvalue()

    def replace(self, name: str, old: str, new: str) -> None:
        """Alter a text, wherever it stands in a file."""
        text = self.files[name].decode()
        if old not in text:
            raise Absent
        self.files[name] = text.replace(old, new).encode()


def base(name: str, place: Path) -> Folder:
    """A genuine release of few columns."""
    asked = dict(BASES[name])
    rows, text = asked.pop("rows", "private"), asked.pop("schema", SCHEMA)
    rng, hour = np.random.default_rng(7), timedelta(hours=1)
    frame = pl.DataFrame(
        {
            "city": rng.choice(["Aa", "Bb", "Cc"], 200),
            "age": rng.integers(30, 90, 200),
            "income": np.round(rng.uniform(0, 100, 200), 1),
            "admitted": [_YEAR + hour * int(k) for k in rng.integers(0, 8760, 200)],
            "arrived": [(_YEAR + hour / 60 * int(k)).time() for k in rng.integers(360, 1440, 200)],
            "stay": [hour * int(k) for k in rng.integers(0, 720, 200)],
        }
    )
    frame = frame.select(name for name in frame.columns if f"[columns.{name}]" in text)
    n_rows = "n_rows = 200" if rows == "public" else ""
    filled = text.format(rows=rows, n_rows=n_rows) if text is SCHEMA else text
    schema = us.Schema.loads(filled)
    return Folder.read(us.synthesize(frame, schema, **asked).save(place / name))


_YEAR = datetime(2021, 1, 1)
Rng = np.random.Generator
ALTERATIONS: dict[str, Callable[[Folder, Rng], None]] = {}


def alteration(function: Callable[[Folder, Rng], None]) -> Callable[[Folder, Rng], None]:
    """Enter an alteration under its name."""
    ALTERATIONS[function.__name__.replace("_", " ")] = function
    return function


def one_of(things: Any, rng: Rng) -> Any:
    things = list(things)
    if not things:
        raise Absent
    return things[int(rng.integers(len(things)))]


# --- manifest and files --------------------------------------------------------------------------


@alteration
def manifest_has_a_name_twice(folder: Folder, rng: Rng) -> None:
    name = one_of(folder.manifest, rng)
    folder.text = lambda text: text.replace(f'"{name}":', f'"{name}": 0, "{name}":', 1)


@alteration
def manifest_has_a_number_that_is_not_finite(folder: Folder, rng: Rng) -> None:
    word = one_of(["NaN", "Infinity", "-Infinity", "1e999"], rng)
    folder.manifest["n_rows"] = 123454321
    folder.text = lambda text: text.replace("123454321", word)


@alteration
def manifest_has_an_entry_too_many(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    one_of([m, m["guarantee"], m["budget"], m["inference"], *m["ledger"]], rng)["more"] = 1


@alteration
def manifest_lacks_an_entry(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    part = one_of([m, m["inference"], *m["ledger"], *m["measurements"]], rng)
    known = ["method", "noise", "mechanism", "law", "scale", "stddev", "swept"]
    del part[one_of([name for name in known if name in part], rng)]


@alteration
def manifest_is_of_another_format(folder: Folder, rng: Rng) -> None:
    folder.manifest["format"] = one_of([0, 3, "2", True, 2.5, None], rng)


@alteration
def manifest_has_numbers_of_another_kind(folder: Folder, rng: Rng) -> None:
    name = one_of(["sets", "n_rows", "secure"], rng)
    folder.manifest[name] = one_of(["2", -1, None, [1], 0.5], rng)


@alteration
def files_holds_one_that_is_not_listed(folder: Folder, rng: Rng) -> None:
    name = one_of(["internal.html", "noisy/more.parquet", "synthetic/set-9.parquet", "x"], rng)
    folder.after = lambda place: (place / name).write_bytes(b"rows") and None


@alteration
def files_lists_one_that_no_release_has(folder: Folder, rng: Rng) -> None:
    name = one_of(["internal.html", "noisy/more.parquet", "rows.csv", "synthetic/set-9.csv"], rng)
    folder.files[name] = b"rows"


@alteration
def files_lacks_one(folder: Folder, rng: Rng) -> None:
    needed = (n for n in folder.files if n.endswith((".parquet", ".toml", ".md")))
    del folder.files[one_of(needed, rng)]


@alteration
def files_were_changed(folder: Folder, rng: Rng) -> None:
    name = one_of(folder.files, rng)
    folder.after = lambda place: (place / name).write_bytes(b"other") and None


@alteration
def files_lead_elsewhere(folder: Folder, rng: Rng) -> None:
    name = one_of(folder.files, rng)

    def link(place: Path) -> None:
        there = place.parent / "elsewhere"
        there.unlink(missing_ok=True)
        (place / name).rename(there)
        (place / name).symlink_to(there)

    folder.after = link


@alteration
def signature_is_of_nothing(folder: Folder, rng: Rng) -> None:
    word = one_of(["5e", "ab", "c3"], rng)
    signed = {"algorithm": "ed25519", "public_key": word * 32, "signature": word * 64}
    change = one_of([{}, {"algorithm": "rsa"}, {"signature": "00"}, {"more": 1}], rng)
    folder.files["manifest.sig"] = json.dumps(signed | change).encode()


# --- schema --------------------------------------------------------------------------------------


@alteration
def schema_is_none(folder: Folder, rng: Rng) -> None:
    wrong = [
        ('kind = "integer"', 'kind = "number"'),
        ("[columns.age]", "[columns.age"),
        ('    "Bb",', '    "Aa",'),
        ("bins = 3", "bins = 1000"),
        ("upper = 89", "upper = -1"),
        ("spikes = [\n    0.0,", "spikes = [\n    400.0,"),
        ("format = 1", "format = 7"),
    ]
    folder.replace("schema.toml", *one_of(wrong, rng))


@alteration
def schema_has_other_states_than_were_measured(folder: Folder, rng: Rng) -> None:
    wrong = [('"Bb"', '"Bbb"'), ("bins = 3", "bins = 6"), ("lower = 0\n", "lower = 1\n")]
    folder.replace("schema.toml", *one_of(wrong, rng))


@alteration
def schema_has_other_neighbours(folder: Folder, rng: Rng) -> None:
    private, public = 'rows = "private"', 'rows = "public"'
    here = private.encode() in folder.files["schema.toml"]
    more = public + f"\nn_rows = {folder.manifest['n_rows']}"
    folder.replace("schema.toml", *((private, more) if here else (public, private)))


# --- budget, ledger, noise, guarantee ------------------------------------------------------------


def unit_of(folder: Folder) -> str:
    return str(folder.manifest["budget"]["unit"])


def scaled(text: str, factor: Fraction) -> str:
    return decimal_up(Fraction(text) * factor)


def factor_of(rng: Rng, least: float = 1e-4) -> Fraction:
    """Below or above 1, by a part in 10 000 to the whole."""
    size = Fraction(float(np.exp(rng.uniform(np.log(least), 0)))).limit_denominator(10**6)
    return 1 + size if rng.random() < 0.5 else 1 / (1 + size)


@alteration
def budget_states_another_amount(folder: Folder, rng: Rng) -> None:
    budget = folder.manifest["budget"]
    budget["amount"] = scaled(budget["amount"], factor_of(rng))


@alteration
def budget_states_another_epsilon(folder: Folder, rng: Rng) -> None:
    name = one_of(["epsilon", "delta"], rng)
    stated = folder.manifest["budget"][name]
    folder.manifest["budget"][name] = scaled(stated, factor_of(rng)) if stated != "0" else "0.1"


@alteration
def budget_is_in_another_unit(folder: Folder, rng: Rng) -> None:
    others = {"epsilon", "rho", "half_mu_squared"} - {unit_of(folder)}
    folder.manifest["budget"]["unit"] = one_of(sorted(others), rng)


def repriced(entry: dict[str, Any], unit: str, factor: Fraction) -> None:
    price = Fraction(entry[f"{unit}_exact"]) * factor
    entry[f"{unit}_exact"], entry[unit] = str(price), decimal_up(price)


@alteration
def ledger_costs_more_than_the_budget(folder: Folder, rng: Rng) -> None:
    repriced(one_of(folder.manifest["ledger"], rng), unit_of(folder), Fraction(1000))


@alteration
def ledger_has_two_prices_of_a_step(folder: Folder, rng: Rng) -> None:
    entry = one_of(folder.manifest["ledger"], rng)
    entry[unit_of(folder)] = scaled(entry[unit_of(folder)], factor_of(rng))


@alteration
def ledger_is_out_of_order(folder: Folder, rng: Rng) -> None:
    ledger = folder.manifest["ledger"]
    if len(ledger) < 2:
        raise Absent
    ledger[0], ledger[-1] = ledger[-1], ledger[0]


@alteration
def ledger_has_no_price(folder: Folder, rng: Rng) -> None:
    entry = one_of(folder.manifest["ledger"], rng)
    free = one_of([(None, None), ("0", "0")], rng)
    entry[unit_of(folder)], entry[f"{unit_of(folder)}_exact"] = free


def with_noise(folder: Folder, rng: Rng) -> dict[str, Any]:
    return dict_of(one for one in folder.manifest["ledger"] if one["noise"])(rng)


def dict_of(things: Any) -> Callable[[Rng], dict[str, Any]]:
    return lambda rng: one_of(things, rng)


@alteration
def noise_was_bought_for_less(folder: Folder, rng: Rng) -> None:
    factor = 1 / (1 + Fraction(float(np.exp(rng.uniform(-6, 1)))).limit_denominator(10**6))
    repriced(with_noise(folder, rng), unit_of(folder), factor)


@alteration
def noise_is_of_another_scale(folder: Folder, rng: Rng) -> None:
    """In ledger and measurement alike."""
    entry = with_noise(folder, rng)
    told = [
        one for one in folder.manifest["measurements"] if one["ledger_entry"] == entry["number"]
    ]
    if not told:
        raise Absent
    old, factor = told[0]["scale"], factor_of(rng, 1e-3)
    new = str(Fraction(old) * factor)
    entry["noise"] = entry["noise"].replace(old, new)
    gauss = told[0]["law"] == "discrete_gaussian"
    told[0]["scale"] = new
    told[0]["stddev"] *= float(factor) ** (0.5 if gauss else 1)


@alteration
def noise_has_another_sensitivity(folder: Folder, rng: Rng) -> None:
    entry = with_noise(folder, rng)
    wrong = ["L1 = 1/2", "L1 = 3", "L2 = 0.5", "L2 = √3", "", "none", "L1 = 0"]
    entry["sensitivity"] = one_of(wrong, rng)


@alteration
def noise_is_of_other_words(folder: Folder, rng: Rng) -> None:
    entry = with_noise(folder, rng)
    wrong = ["", "none", "discrete Laplace", "none: unpaid", entry["noise"].replace("scale ", "")]
    wrong += [entry["noise"] + ".", entry["noise"].replace("1", "2", 1), "Laplace, scale 1/0"]
    new = one_of(wrong, rng)
    if new == entry["noise"]:
        raise Absent
    entry["noise"] = new


@alteration
def noise_is_monotone_where_records_are_replaced(folder: Folder, rng: Rng) -> None:
    choices = (one for one in folder.manifest["ledger"] if one["sensitivity"].startswith("score: "))
    entry = one_of(choices, rng)
    if folder.manifest["guarantee"]["neighbours"] != "replace":
        raise Absent
    entry["sensitivity"] += ", monotone"


@alteration
def guarantee_has_another_number(folder: Folder, rng: Rng) -> None:
    guarantee = folder.manifest["guarantee"]
    name = one_of(["epsilon", "delta", "rho", "mu"], rng)
    old = guarantee[name]
    guarantee[name] = "0.01" if old in (None, "0") else scaled(old, factor_of(rng))


@alteration
def guarantee_is_of_another_kind(folder: Folder, rng: Rng) -> None:
    kinds = {"pure", "approximate", "zcdp", "conditional"} - {folder.manifest["guarantee"]["kind"]}
    folder.manifest["guarantee"]["kind"] = one_of(sorted(kinds), rng)


@alteration
def guarantee_says_something_else(folder: Folder, rng: Rng) -> None:
    guarantee = folder.manifest["guarantee"]
    words = [("probability", "likelihood"), ("at most", "about"), ("ε = ", "ε = 0."), (".", "!")]
    guarantee["statement"] = guarantee["statement"].replace(*one_of(words, rng), 1)


@alteration
def guarantee_names_other_neighbours(folder: Folder, rng: Rng) -> None:
    guarantee = folder.manifest["guarantee"]
    others = {"add_remove", "replace"} - {guarantee["neighbours"]}
    guarantee["neighbours"] = others.pop()


@alteration
def guarantee_has_a_leak_or_a_seed(folder: Folder, rng: Rng) -> None:
    if rng.random() < 0.5:
        folder.manifest["secure"] = False
    else:
        folder.manifest["guarantee"]["leaks"] = ["The rows."]


@alteration
def ledger_has_amendments_that_bought_nothing(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    entries = one_of([len(m["ledger"]), len(m["ledger"]) + 3, 1], rng)
    one = {"parent": "sha256:" + "0" * 64, "entries": entries, "budget": m["budget"]}
    more = {"title": "", "asked_by": "", "chosen": "", "analyses": []}
    m["amendments"] = [one | more]


# --- measurements and cells ----------------------------------------------------------------------


@alteration
def measurements_were_paid_by_no_step_of_their_own(folder: Folder, rng: Rng) -> None:
    told = folder.manifest["measurements"]
    if len(told) < 2:
        raise Absent
    wrong = [0, len(folder.manifest["ledger"]) + 1, told[0]["ledger_entry"]]
    told[-1]["ledger_entry"] = one_of(wrong, rng)


@alteration
def measurements_state_another_noise(folder: Folder, rng: Rng) -> None:
    told = one_of((one for one in folder.manifest["measurements"] if one["name"]), rng)
    name = one_of(["scale", "stddev", "law"], rng)
    if name == "stddev":
        told[name] *= float(factor_of(rng))
    elif name == "scale":
        told[name] = str(Fraction(told[name]) * factor_of(rng))
    else:
        told[name] = one_of(["none", "gaussian", "truncated_laplace"], rng)


@alteration
def measurements_are_of_nobodys_columns(folder: Folder, rng: Rng) -> None:
    told = one_of((one for one in folder.manifest["measurements"] if one["columns"]), rng)
    told["columns"][int(rng.integers(len(told["columns"])))] = "nobody"


@alteration
def measurements_are_of_another_kind(folder: Folder, rng: Rng) -> None:
    told = one_of((one for one in folder.manifest["measurements"] if one["name"]), rng)
    told["kind"] = one_of(["totals", "exact", "choice", "none", "rows"], rng)


def stored(folder: Folder, rng: Rng, *kinds: str) -> tuple[dict[str, Any], str]:
    told = one_of((one for one in folder.manifest["measurements"] if one["kind"] in kinds), rng)
    return told, f"noisy/{told['name']}.parquet"


@alteration
def cells_are_cut_or_doubled(folder: Folder, rng: Rng) -> None:
    told, name = stored(folder, rng, "table", "line", "products", "ranks")
    cut = rng.random() < 0.5
    folder.table(name, lambda t: t.head(t.height - 1) if cut else pl.concat([t, t.head(1)]))
    told["cells"] += -1 if cut else 1


@alteration
def measurements_have_ranks_of_nobody(folder: Folder, rng: Rng) -> None:
    told, _ = stored(folder, rng, "ranks")
    told["ranks"]["nobody"] = told["ranks"].pop(one_of(told["ranks"], rng))


@alteration
def cells_are_out_of_order(folder: Folder, rng: Rng) -> None:
    _, name = stored(folder, rng, "table", "line", "cells")
    folder.table(name, lambda t: t.reverse())


@alteration
def cells_are_more_than_stated(folder: Folder, rng: Rng) -> None:
    told, _ = stored(folder, rng, "table", "line", "products", "ranks", "cells")
    told["cells"] += int(rng.integers(1, 9))


@alteration
def cells_hold_no_number(folder: Folder, rng: Rng) -> None:
    _, name = stored(folder, rng, "table", "line", "products", "ranks", "cells")
    wrong = one_of([float("nan"), float("inf"), None], rng)

    def change(table: pl.DataFrame) -> pl.DataFrame:
        *_, last = table.columns
        values = table.get_column(last).cast(pl.Float64).to_list()
        values[int(rng.integers(len(values)))] = wrong
        return table.with_columns(pl.Series(last, values, dtype=pl.Float64))

    folder.table(name, change)


@alteration
def cells_have_another_axis(folder: Folder, rng: Rng) -> None:
    _, name = stored(folder, rng, "table", "line", "cells")

    def change(table: pl.DataFrame) -> pl.DataFrame:
        first = table.columns[0]
        levels = [f"{one}?" for one in table.schema[first].categories]
        moved = pl.Series(first, levels, dtype=pl.Enum(levels)).gather(
            table.get_column(first).to_physical()
        )
        return table.with_columns(moved)

    folder.table(name, change)


@alteration
def cells_are_below_their_threshold(folder: Folder, rng: Rng) -> None:
    _, name = stored(folder, rng, "cells")
    folder.table(name, lambda t: t.with_columns(count=pl.lit(0, t.schema["count"])))


@alteration
def cells_that_cannot_occur_hold_records(folder: Folder, rng: Rng) -> None:
    told, name = stored(folder, rng, "table")
    if not {"age", "income"} <= set(told["columns"]):
        raise Absent
    young, rich = pl.col("age") == "0 to 29", pl.col("income") == "[50, 100]"
    folder.table(
        name,
        lambda t: t.with_columns(count=pl.when(young & rich).then(5).otherwise(pl.col("count"))),
    )


# --- sets and pages ------------------------------------------------------------------------------

SET = "synthetic/set-1.parquet"


@alteration
def sets_have_other_rows_or_columns(folder: Folder, rng: Rng) -> None:
    changes: list[Callable[[pl.DataFrame], pl.DataFrame]] = [
        lambda t: t.head(t.height - 1),
        lambda t: pl.concat([t, t]),
        lambda t: t.drop(t.columns[1]),
        lambda t: t.with_columns(more=1),
        lambda t: t.select(t.columns[::-1]),
        lambda t: t.rename({"city": "town"}),
    ]
    folder.table(SET, one_of(changes, rng))


@alteration
def sets_have_other_types(folder: Folder, rng: Rng) -> None:
    kinds = [("age", pl.Float64), ("age", pl.String), ("income", pl.Float32)]
    if folder.has_times:
        kinds = [("admitted", pl.Date), ("stay", pl.Int64), ("arrived", pl.String)]
    name, kind = one_of(kinds, rng)
    folder.table(SET, lambda t: t.cast({name: kind}))


@alteration
def sets_have_values_that_no_column_has(folder: Folder, rng: Rng) -> None:
    wrong = [("age", 90), ("age", -1), ("income", 100.1), ("income", -2.0), ("income", None)]
    wrong += [("income", float("nan")), ("income", float("inf")), ("city", "Dd"), ("city", None)]
    if folder.has_times:
        wrong = [("admitted", _YEAR - timedelta(hours=1)), ("stay", timedelta(days=31))]
        wrong += [("admitted", _YEAR + timedelta(minutes=5)), ("stay", timedelta(minutes=90))]
        wrong += [("arrived", time(10, 0, 1)), ("patient", "P000"), ("patient", None)]
    name, value = one_of(wrong, rng)

    def change(table: pl.DataFrame) -> pl.DataFrame:
        column = table.get_column(name)
        values, kind = column.to_list(), column.dtype
        values[int(rng.integers(len(values)))] = value
        if name == "city" and value is not None:
            kind = pl.Enum([*kind.categories, value])  # type: ignore[attr-defined]
        return table.with_columns(pl.Series(name, values, dtype=kind))

    folder.table(SET, change)


@alteration
def sets_have_rows_that_cannot_be(folder: Folder, rng: Rng) -> None:
    at = int(rng.integers(100))

    def change(table: pl.DataFrame) -> pl.DataFrame:
        here = pl.int_range(pl.len()) == at % table.height
        if folder.has_times:
            early, last = pl.lit(time(3), pl.Time), pl.lit("Cc", table.schema["city"])
            return table.with_columns(
                arrived=pl.when(here).then(early).otherwise(pl.col("arrived")),
                city=pl.when(here).then(last).otherwise(pl.col("city")),
            )
        young, rich = pl.lit(12, pl.Int64), pl.lit(80.0)
        return table.with_columns(
            age=pl.when(here).then(young).otherwise(pl.col("age")),
            income=pl.when(here).then(rich).otherwise(pl.col("income")),
        )

    folder.table(SET, change)


@alteration
def sets_have_identifiers_in_another_order(folder: Folder, rng: Rng) -> None:
    if not folder.has_times:
        raise Absent
    folder.table(SET, lambda table: table.with_columns(pl.col("patient").reverse()))


@alteration
def sets_are_more_than_there_are(folder: Folder, rng: Rng) -> None:
    folder.manifest["sets"] += int(rng.integers(1, 5))


@alteration
def pages_say_another_size(folder: Folder, rng: Rng) -> None:
    name = one_of((n for n in folder.files if n in ("README.md", "report.html")), rng)
    folder.replace(name, f"ε = {folder.manifest['guarantee']['epsilon']}", "ε = 0.01")


@alteration
def pages_say_another_method_or_number(folder: Folder, rng: Rng) -> None:
    name = one_of((n for n in folder.files if n in ("README.md", "report.html")), rng)
    m = folder.manifest
    words = [f"“{m['method']}”", f"{m['n_rows']:,} rows", f"{m['sets']} synthetic table"]
    folder.replace(name, one_of(words, rng), "something else")


@alteration
def pages_say_another_promise(folder: Folder, rng: Rng) -> None:
    name = one_of((n for n in folder.files if n in ("README.md", "report.html")), rng)
    words = [("whatever is", "nothing"), ("at most", "about"), ("probability", "likelihood")]
    folder.replace(name, *one_of(words, rng))


def altered(bases: list[Folder], rng: Rng) -> tuple[str, Folder]:
    """A base with an alteration of it, both at random; its name."""
    while True:
        name = one_of(ALTERATIONS, rng)
        folder = one_of(bases, rng).copy()
        try:
            ALTERATIONS[name](folder, rng)
        except (Absent, KeyError):
            continue
        return name, folder
