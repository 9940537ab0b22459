"""Releases that were altered and hashed anew, each so that it breaks a rule of the format.

An alteration is given a folder in memory and random numbers; it alters the folder, or raises
`Absent` where it has nothing to alter. Its name begins with the rule that it breaks.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from understudy.dp.budget import decimal_up
from understudy.release.noise_check import PURCHASES, purchase_of
from understudy.release.shape import Kind

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
_EVERY = """
rows = "private"
row_limit = 500
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
[columns.smokes]
kind = "boolean"
source = "codebook"
reviewed = true
[columns.grade]
kind = "ordinal"
levels = [1, 2, 3]
source = "codebook"
reviewed = true
[columns.born]
kind = "date"
lower = 1930-01-01
upper = 2009-12-31
bins = 4
source = "codebook"
reviewed = true
[columns.admitted]
kind = "datetime"
lower = 2021-01-01T00:00:00
upper = 2021-12-31T23:00:00
resolution = "minute"
bins = 6
source = "codebook"
reviewed = true
[columns.weight]
kind = "integer"
lower = 0
upper = 400
bins = 4
heaps = [10, 5]
source = "codebook"
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 29 }, income = { lower = 50, upper = 100 } }
source = "law"
reviewed = true
"""
BASES: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 3, "method": "independent"},
    "gaussian": {
        "epsilon": 3,
        "delta": "1e-6",
        "method": "independent",
        "budget": {"lines": "0.2"},
    },
    "products": {"epsilon": 3, "delta": "1e-6", "method": "mst", "budget": {"answers": "0.5"}},
    "filtered": {"epsilon": 3, "method": "laplace", "options": {"form": "filtered"}},
    "dense": {"epsilon": 3, "method": "laplace", "options": {"form": "dense"}},
    "replaced": {"epsilon": 2, "method": "marginals", "rows": "public"},
    "times": {"epsilon": 3, "method": "independent", "schema": _TIMES},
    "ranks": {"epsilon": 3, "delta": "1e-6", "method": "marginals", "schema": _TIMES},
    "every kind": {"epsilon": 3, "delta": "1e-6", "method": "marginals", "schema": _EVERY},
    "lazy": {"epsilon": 3, "method": "laplace", "options": {"form": "lazy"}},
    "on a lattice": {"epsilon": 3, "method": "independent", "options": {"noise": "laplace"}},
    "published": {"epsilon": 3, "method": "laplace", "options": {"mode": "paper"}},
    "layers": {"epsilon": 3, "method": "steps", "options": {"layers": 1, "noise": "geometric"}},
    "ranges": {"epsilon": 3, "method": "universal-histogram", "options": {"form": "ranges"}},
    "urn": {"epsilon": 3, "method": "dirichlet"},
    "fixed urn": {"epsilon": 3, "method": "dp-prior", "rows": "public"},
    "distributions": {"epsilon": 3, "method": "empirical-cdf"},
    "sweeps": {"epsilon": 40, "method": "pegs"},
    "noisy rows": {"epsilon": 40, "method": "pegs-tables", "options": {"form": "lazy"}},
    "blocks": {"epsilon": 40, "method": "pegs-reset", "rows": "public"},
    "imputed": {"epsilon": 40, "delta": "1e-6", "method": "perturbed-imputation"},
    "moments": {"epsilon": 9, "method": "modips"},
    "truncated": {
        **{"epsilon": 9, "method": "modips", "rows": "public"},
        "options": {"bounds": "truncate"},
    },
    "network": {"epsilon": 9, "method": "privbayes", "options": {"degree": 1}},
    "split": {"epsilon": 9, "method": "independent", "sets": 2, "options": {"sets": "split"}},
    "not private": {"epsilon": 1, "method": "contingency-table", "allow_nonprivate": True},
    "diverse": {"epsilon": 1, "method": "pegs-diverse", "allow_nonprivate": True},
    "seeded": {"epsilon": 3, "method": "independent", "insecure_noise_seed": 1},
    "regression": {"epsilon": 3, "delta": "1e-6", "regression": "age ~ income"},
    "amended": {"epsilon": 3, "delta": "1e-6", "method": "independent", "amended": True},
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
    described: dict[str, str] = field(default_factory=dict)
    """Checksums that `croissant.json` has, as the release was published."""

    @classmethod
    def read(cls, place: Path) -> Folder:
        names = (one for one in place.rglob("*") if one.is_file())
        files = {one.relative_to(place).as_posix(): one.read_bytes() for one in names}
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        return cls(files, json.loads(files.pop("manifest.json")), described=sums)

    @property
    def has_times(self) -> bool:
        """Whether it is of the schema of times."""
        return b"[columns.stay]" in self.files["schema.toml"]

    def copy(self) -> Folder:
        manifest = json.loads(json.dumps(self.manifest))
        return Folder(dict(self.files), manifest, described=self.described)

    def describe_anew(self) -> None:
        """Have `croissant.json` describe the rows that there are now."""
        text = self.files.get("croissant.json", b"").decode()
        for name, old in self.described.items():
            if name in self.files and name != "croissant.json":
                text = text.replace(old, hashlib.sha256(self.files[name]).hexdigest())
        if text:
            self.files["croissant.json"] = text.encode()

    def cuts_rules(self) -> bool:
        """Whether some measurement has bins of its own that cut the rule of the schema."""
        return any(one["bins"].get("age") == 1 for one in self.manifest["measurements"])

    def lay(self, place: Path) -> Path:
        """Write it, with the checksums of what it holds now."""
        self.describe_anew()
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


def base(name: str, place: Path, *, pages: bool = True) -> Folder:
    """A genuine release of few columns, with its pages or without."""
    asked = dict(BASES[name])
    rows, text = asked.pop("rows", "private"), asked.pop("schema", SCHEMA)
    amended, formula = asked.pop("amended", False), asked.pop("regression", "")
    rng, hour = np.random.default_rng(7), timedelta(hours=1)
    frame = pl.DataFrame(
        {
            "city": rng.choice(["Aa", "Bb", "Cc"], 200),
            "age": rng.integers(30, 90, 200),
            "income": np.round(rng.uniform(0, 100, 200), 1),
            "admitted": [_YEAR + hour * int(k) for k in rng.integers(0, 8760, 200)],
            "arrived": [(_YEAR + hour / 60 * int(k)).time() for k in rng.integers(360, 1440, 200)],
            "stay": [hour * int(k) for k in rng.integers(0, 720, 200)],
            "smokes": rng.random(200) < 0.3,
            "grade": rng.integers(1, 4, 200),
            "born": [_YEAR.date() - timedelta(days=int(k)) for k in rng.integers(9e3, 3e4, 200)],
            "weight": rng.integers(0, 400, 200),
        }
    )
    frame = frame.select(name for name in frame.columns if f"[columns.{name}]" in text)
    n_rows = "n_rows = 200" if rows == "public" else ""
    filled = text.format(rows=rows, n_rows=n_rows) if text is SCHEMA else text
    schema = us.Schema.loads(filled)
    if formula:
        return Folder.read(us.regress(frame, schema, formula, **asked).save(place / name))
    release = us.synthesize(frame, schema, **asked)
    made = (release if pages else replace(release, pages=None)).save(place / name)
    if amended:
        question = {"analyses": [{"kind": "mean", "formula": "income"}]}
        made = us.answer(question, frame, made, epsilon=1).save(place / f"{name} release")
        shutil.rmtree(place / name)
        made.rename(place / name)
        made = place / name
    return Folder.read(made)


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

    def add(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(b"rows")

    folder.after = add


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
    tables = [one for one in folder.manifest["measurements"] if one["name"] and not one["bins"]]
    if not {"city", "age"} <= {name for one in tables for name in one["columns"]}:
        raise Absent
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
    repriced(one_of(paid(folder), rng), unit_of(folder), Fraction(1000))


@alteration
def ledger_has_two_prices_of_a_step(folder: Folder, rng: Rng) -> None:
    entry = one_of(paid(folder), rng)
    entry[unit_of(folder)] = scaled(entry[unit_of(folder)], factor_of(rng))


@alteration
def ledger_is_out_of_order(folder: Folder, rng: Rng) -> None:
    ledger = folder.manifest["ledger"]
    if len(ledger) < 2:
        raise Absent
    ledger[0], ledger[-1] = ledger[-1], ledger[0]


@alteration
def ledger_has_no_price(folder: Folder, rng: Rng) -> None:
    entry = one_of(paid(folder), rng)
    free = one_of([(None, None), ("0", "0")], rng)
    entry[unit_of(folder)], entry[f"{unit_of(folder)}_exact"] = free


def paid(folder: Folder) -> list[dict[str, Any]]:
    """Steps with a finite price above 0."""
    unit = f"{unit_of(folder)}_exact"
    return [one for one in folder.manifest["ledger"] if one[unit] and Fraction(one[unit])]


def with_noise(folder: Folder, rng: Rng) -> dict[str, Any]:
    entry = one_of((one for one in paid(folder) if one["noise"]), rng)
    assert isinstance(entry, dict)
    return entry


def measured(folder: Folder, entry: dict[str, Any]) -> dict[str, Any] | None:
    """What a step measured."""
    told = folder.manifest["measurements"]
    return next((one for one in told if one["ledger_entry"] == entry["number"]), None)


def promised(folder: Folder) -> dict[str, Any]:
    """The guarantee, where there is one."""
    if folder.manifest["guarantee"]["epsilon"] is None:
        raise Absent
    return dict_in(folder.manifest, "guarantee")


def dict_in(content: dict[str, Any], name: str) -> dict[str, Any]:
    inner = content[name]
    assert isinstance(inner, dict)
    return inner


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
    guarantee = promised(folder)
    name = one_of(["epsilon", "delta", "rho", "mu"], rng)
    old = guarantee[name]
    guarantee[name] = "0.01" if old in (None, "0") else scaled(old, factor_of(rng))


@alteration
def guarantee_is_of_another_kind(folder: Folder, rng: Rng) -> None:
    kinds = {"pure", "approximate", "zcdp", "conditional"} - {promised(folder)["kind"]}
    promised(folder)["kind"] = one_of(sorted(kinds), rng)


@alteration
def guarantee_says_something_else(folder: Folder, rng: Rng) -> None:
    guarantee = promised(folder)
    words = [("probability", "likelihood"), ("at most", "about"), ("ε = ", "ε = 0."), (".", "!")]
    guarantee["statement"] = guarantee["statement"].replace(*one_of(words, rng), 1)


@alteration
def guarantee_names_other_neighbours(folder: Folder, rng: Rng) -> None:
    guarantee = folder.manifest["guarantee"]
    others = {"add_remove", "replace"} - {guarantee["neighbours"]}
    guarantee["neighbours"] = others.pop()


@alteration
def guarantee_has_a_leak_or_a_seed(folder: Folder, rng: Rng) -> None:
    promised(folder)
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


# --- what a step can have bought -----------------------------------------------------------------


def mechanism_price(folder: Folder, entry: dict[str, Any]) -> Any:
    exact = entry[f"{unit_of(folder)}_exact"]
    return "none" if exact is None else "paid" if Fraction(exact) else "free"


def relabelled(
    folder: Folder, entry: dict[str, Any], told: dict[str, Any], row: tuple[str, str, str]
) -> None:
    """Another mechanism, kind and law, with all that goes with them as well as can be."""
    mechanism, kind, law = row
    entry["mechanism"], told["kind"], told["law"] = row
    if law == "none":
        entry["noise"], told["scale"], told["stddev"], told["outside"] = "", "0", 0, 0
    if mechanism == "exponential mechanism" and kind != "distribution":
        entry["sensitivity"], entry["noise"] = "score: 1", ""
        entry["query"] = "one of 3 candidates by mutual information"
        entry["cells"] = 1
    if mechanism == "urn draws":
        entry["sensitivity"] = "one record of weight 1"
        price = entry[f"{unit_of(folder)}_exact"]
        how = "Dirichlet–multinomial draws of n records, prior weight"
        entry["noise"] = f"{how} n/(exp({price}) - 1)"
        entry["query"] = f"records of {' × '.join(told['columns'])}"


def of_rows(folder: Folder, rng: Rng) -> tuple[dict[str, Any], dict[str, Any]]:
    """A step with a finite price, and what it measured."""
    both = [(one, measured(folder, one)) for one in paid(folder)]
    entry, told = one_of([(one, told) for one, told in both if told is not None], rng)
    return entry, told


MECHANISM_NAMES = sorted({one.mechanism for one in PURCHASES})
LAW_NAMES = sorted({law for one in PURCHASES for law in one.laws} | {"gaussian", ""})


@alteration
def noise_free_counts_pass_for_a_choice(folder: Folder, rng: Rng) -> None:
    entry, told = of_rows(folder, rng)
    if not told["name"]:
        raise Absent
    promised(folder)
    relabelled(folder, entry, told, ("exponential mechanism", told["kind"], "none"))


@alteration
def noise_free_counts_pass_for_draws(folder: Folder, rng: Rng) -> None:
    entry, told = of_rows(folder, rng)
    if told["kind"] == "draws":
        raise Absent
    law = one_of(["none", "Dirichlet–multinomial", "fixed prior"], rng)
    relabelled(folder, entry, told, ("urn draws", told["kind"], law))


@alteration
def noise_joins_what_does_not_belong_together(folder: Folder, rng: Rng) -> None:
    """A mechanism, a kind and a law, of which no row of the table has all three."""
    entry, told = of_rows(folder, rng)
    row = entry["mechanism"], told["kind"], told["law"]
    other = (one_of(MECHANISM_NAMES, rng), one_of([k.value for k in Kind], rng))
    drawn = (*other, one_of(LAW_NAMES, rng))
    kept = rng.random(3) < 0.5
    new = tuple(old if keep else fresh for old, fresh, keep in zip(row, drawn, kept, strict=True))
    if purchase_of(new[0], "paid", (new[1], new[2])) is not None:
        raise Absent
    relabelled(folder, entry, told, (new[0], new[1], new[2]))


@alteration
def noise_is_of_a_mechanism_that_there_is_not(folder: Folder, rng: Rng) -> None:
    wrong = ["noisy tables", "Noisy table", "exact count", "", "stated elsewhere", "exact table"]
    one_of(paid(folder), rng)["mechanism"] = one_of(wrong, rng)


@alteration
def noise_is_left_out_of_a_table_for_nothing(folder: Folder, rng: Rng) -> None:
    entry, told = of_rows(folder, rng)
    unit = unit_of(folder)
    entry |= {unit: "0", f"{unit}_exact": "0", "noise": "none: unpaid"}
    told |= {"law": "none", "scale": "0", "stddev": 0}


@alteration
def noise_of_another_system_is_promised(folder: Folder, rng: Rng) -> None:
    entry, _ = of_rows(folder, rng)
    promised(folder)
    unit = unit_of(folder)
    entry |= {"mechanism": "stated elsewhere", unit: None, f"{unit}_exact": None}


@alteration
def noise_is_lost_and_measured(folder: Folder, rng: Rng) -> None:
    entry, _ = of_rows(folder, rng)
    entry["noise"] = "none known: the run ended before it had a result"


@alteration
def noise_in_floating_point_is_not_named(folder: Folder, rng: Rng) -> None:
    if not any(told["law"] == "laplace" for told in folder.manifest["measurements"]):
        raise Absent
    old, new = "drawn as floating-point numbers", "drawn as numbers"
    guarantee = folder.manifest["guarantee"]
    guarantee["leaks"] = [one.replace(old, new) for one in guarantee["leaks"]]
    guarantee["statement"] = guarantee["statement"].replace(old, new)
    for name in ("README.md", "report.html"):
        if name in folder.files:
            folder.replace(name, old, new)


@alteration
def noise_was_bought_of_no_number_of_rows(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    gone = next((one for one in m["ledger"] if one["mechanism"] == "noisy count"), None)
    if gone is None:
        raise Absent
    if rng.random() < 0.2:
        gone["mechanism"] = "noisy table"
        return
    m["ledger"].remove(gone)
    for one in m["ledger"]:
        one["number"] -= one["number"] > gone["number"]
    for one in m["measurements"]:
        one["ledger_entry"] -= one["ledger_entry"] > gone["number"]
    for one in m.get("amendments", ()):
        one["entries"] -= 1


@alteration
def noise_of_the_number_of_rows_is_said_to_be_another(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    if rng.random() < 0.5:
        wrong = ["counted", "", m["rows_obtained"] + ".", "declared as public in the schema."]
        wrong += ["bought once for ε = 0.01 (discrete Laplace (geometric), scale 100)"]
        m["rows_obtained"] = one_of(wrong, rng)
    else:
        spread = m["inference"]["rows_stddev"]
        m["inference"]["rows_stddev"] = spread * float(factor_of(rng, 1e-3)) if spread else 2.5


@alteration
def measurements_were_asked_for_in_another_way(folder: Folder, rng: Rng) -> None:
    entry = one_of(paid(folder), rng)
    query = entry["query"]
    others = [one["query"] for one in folder.manifest["ledger"] if one["query"] != query]
    wrong = ["", query + " ", f"all {query}", query.replace(" ", "", 1), "counts by nobody"]
    wrong = [one for one in [*wrong, *others] if one.partition(" ")[0] != query.partition(" ")[0]]
    entry["query"] = one_of(wrong, rng)


@alteration
def cells_of_a_step_are_others(folder: Folder, rng: Rng) -> None:
    entry, told = of_rows(folder, rng)
    if told["kind"] == "choice" and not entry["query"].startswith("one of "):
        raise Absent  # how many nodes or groups there were is its own word
    entry["cells"] += one_of([1, -1], rng) if told["kind"] != "products" else 1


@alteration
def measurements_have_other_totals(folder: Folder, rng: Rng) -> None:
    told = one_of((one for one in folder.manifest["measurements"]), rng)
    if told["kind"] in ("parameters", "sweeps"):
        raise Absent
    totals = dict(told["totals"] or {})
    told["totals"] = totals | {"rows": 200} if rng.random() < 0.5 or not totals else {}


@alteration
def noise_of_draws_is_of_another_weight(folder: Folder, rng: Rng) -> None:
    entry, told = of_rows(folder, rng)
    if told["kind"] not in ("draws", "sweeps") or entry["mechanism"] == "noisy rows":
        raise Absent
    if rng.random() < 0.5:
        told["scale"] = str(Fraction(told["scale"]) * factor_of(rng, 1e-2))
    else:
        entry["sensitivity"] = one_of(["", "one record", entry["sensitivity"] + "."], rng)


@alteration
def manifest_asks_for_other_sets(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    if "sets" not in m["options"]:
        raise Absent
    m["options"]["sets"] = one_of(sorted({"free", "split", "posterior"} - {m["sets_kind"]}), rng)


@alteration
def manifest_has_entries_of_another_type(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    wrong: list[tuple[dict[str, Any], str, Any]] = [
        *((m, "reason", 5), (m, "method", None), (m, "software", {"python": 3})),
        *((m, "sampling_seed", -1), (m, "ended_early", "no"), (m, "rows_obtained", ["x"])),
        *((m, "rows_share", "0.5"), (m, "priority", [1]), (m, "options", {"a": [[1]]})),
        *((m, "sets", 10**7), (m, "n_rows", 2**63), (m, "sets_kind", "Split"), (m, "sets", True)),
        *((m["inference"], "swept", 1), (m["inference"], "prior_weight", -1)),
        *((m["inference"], "modelled", "x"), (m["inference"], "network", {})),
        *((m["guarantee"], "leaks", "x"), (m["guarantee"], "public_inputs", [{"what": ""}])),
        *((m["guarantee"], "kind", "Pure"), (m["budget"], "unit", "eps")),
    ]
    if m["ledger"]:
        step = one_of(m["ledger"], rng)
        wrong += [(step, "cells", -1), (step, "cells", 1.5), (step, "query", None)]
    if m["measurements"]:
        told = one_of(m["measurements"], rng)
        wrong += [(told, "columns", "x"), (told, "outside", "0"), (told, "stddev", -1)]
        wrong += [(told, "totals", [1]), (told, "bins", []), (told, "groups", {"x": [-1]})]
        wrong += [(told, "stddev", 1e-300), (told, "threshold", "1"), (told, "ledger_entry", 1.0)]
        wrong += [(told, "name", "../x"), (told, "outside", 2.0**128), (told, "kind", "Table")]
    part, name, value = one_of(wrong, rng)
    part[name] = value


def in_other_digits(text: str, rng: Rng) -> str:
    """A number as nobody writes it, which some programs would read all the same."""
    arabic = text.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    return str(one_of([f"{text} ", f" {text}", f"+{text}", f"0_{text}", arabic, f"{text}\n"], rng))


@alteration
def ledger_has_numbers_in_other_digits(folder: Folder, rng: Rng) -> None:
    m, unit = folder.manifest, unit_of(folder)
    entry = one_of(paid(folder), rng)
    places: list[tuple[dict[str, Any], str]] = [(entry, unit), (entry, f"{unit}_exact")]
    places += [(m["budget"], name) for name in ("epsilon", "delta", "amount")]
    places += [(one, "scale") for one in m["measurements"] if one["law"] != "none"]
    part, name = one_of(places, rng)
    part[name] = in_other_digits(part[name], rng)


@alteration
def noise_has_numbers_in_other_digits(folder: Folder, rng: Rng) -> None:
    entry = with_noise(folder, rng)
    numbers = re.findall(r"(?<![0-9.])[0-9]+(?:/[0-9]+)?(?![0-9.])", entry["noise"])
    old = one_of(numbers, rng)
    twice = f"{2 * Fraction(old).numerator}/{2 * Fraction(old).denominator}"
    new = one_of([in_other_digits(old, rng), twice], rng)
    entry["noise"] = new.join(entry["noise"].split(old, 1))
    told = measured(folder, entry)
    if told is not None and told["scale"] == old:
        told["scale"] = new


@alteration
def files_are_hidden(folder: Folder, rng: Rng) -> None:
    store, double = b"\0\0\0\1Bud1", b"\0\5\x16\7"
    name, content = one_of(
        [
            *((".rows.csv", b"rows"), (".DS_Store", b"rows"), (".git/config", b"[core]")),
            *((".DS_Store", store * 10_000), ("._nothing", double), ("noisy/.hidden", b"")),
            *(("._README.md", b"rows"), (".directory", b"rows"), ("synthetic/.x/a", b"rows")),
            *((".manifest.sig", b"{}"), (".ds_store", store), ("x.DS_Store", store)),
        ],
        rng,
    )

    def hide(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_bytes(content)

    folder.after = hide


@alteration
def schema_allows_fewer_rows(folder: Folder, rng: Rng) -> None:
    if folder.manifest["n_rows"] < 2:
        raise Absent
    folder.replace("schema.toml", "row_limit = 500", f"row_limit = {int(rng.integers(1, 3))}")


@alteration
def ledger_has_amendments_that_measured_what_was_there(folder: Folder, rng: Rng) -> None:
    m = folder.manifest
    if not m.get("amendments"):
        raise Absent
    first = m["amendments"][0]["entries"]
    told = one_of((one for one in m["measurements"] if one["name"]), rng)
    old = f"noisy/{told['name']}.parquet"
    later = told["ledger_entry"] > first
    told["name"] = "table-99" if later else "amendment-1-table-99"
    folder.files[f"noisy/{told['name']}.parquet"] = folder.files.pop(old)


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
    if not {"age", "income"} <= set(told["columns"]) or told["bins"]:
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
    if folder.cuts_rules():
        raise Absent
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
        except (Absent, KeyError, pl.exceptions.PolarsError):
            continue
        return name, folder
