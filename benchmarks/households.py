"""Units with members as one wide table: ``python benchmarks/households.py``.

Two made populations of 6,000 units, six slots for members, four columns of units and six of
members: *households* (people alone, couples, families, three generations, shared homes) and
*patients* with their visits, which have another kind of dependence: a visit is like the visit
before. Each is released with (ε, 10⁻⁶), private rows and whole units as what is protected, in
several canonical orders of members. Means over releases, each with fresh noise.

Beside them stand the floor, units drawn again from their own population; and the flat way, a
release of single members with the columns of their unit beside them, put together by these columns
at random. It has the same promise: a group of six members is protected by a sixth of the budget, in
Gaussian DP.

Scores are total variation distances, means over tables; rows that the cut left out count as well:

* **pairs**: columns of members by columns of other members of their unit, all 21 pairs; **pairs
  worst** the mean of that release which has the largest;
* **four-way**: two columns of one member by the same two of another, two such tables;
* **within 2, within 3**: all pairs and triples of columns of one member;
* **beside**: columns of units by columns of members;
* **unit**: each column of units; **unit worst** the largest of these in any release;
* **counts, joint**: how many members of certain kinds a unit has, each kind and all kinds together.

Orphans are members without a unit, broken are units or members that break a rule. Processor time
is that of the first release of a process; kernels were compiled before, or by itself with --cold.

What a distance comes from is told by a PART:

* *alone*: the budget goes to records, nothing to answers or number lines;
* *exact*: the tables of such a release, chosen at its noise, then counted without noise;
* *slots*: the real units, each slot's members dealt anew among the units that have it;
* *between*: the real units, and each unit's members those of another one of its size.

    --runs K                                 releases of each case, 3 if it is not said
    --cold                                   each release compiles its kernels anew
    --case POPULATION:ORDER:EPSILON[:PART] ...
                                             ORDER is one of a population, "flat" or "floor"
    --json FILE                              scores of every release as well, a line each
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Page

import understudy as us
from made_population import levels, number
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.dp.budget import gdp_epsilon_of, gdp_within
from understudy.release.decoding import decode
from understudy.release.households import split
from understudy.release.shape import Kind
from understudy.schema.households import widen_tables
from understudy.workflow.analyze import model_of

N, SLOTS, DELTA = 6_000, 6, Fraction(1, 10**6)
KEY, SIZE, UNIT, MEMBER = "unit", "size", "units", "members"
SCORES = (
    *("pairs", "pairs worst", "four-way", "within 2", "within 3", "beside", "unit", "unit worst"),
    *("counts", "joint", "orphans", "broken", "cpu", "MB"),
)
Codes = NDArray[np.int64]
Predicates = Mapping[str, pl.Expr]


@dataclass(frozen=True)
class Units:
    """A made population: both tables, and what is public about them.

    Attributes:
        make: units and members of so many units, from a seed.
        unit_columns: declared columns of the units.
        member_columns: declared columns of the members.
        forbidden: what one member cannot be.
        orders: name → canonical order, rules across members, and columns that count members; none
            for the default order.
        four_way: two pairs of columns of members.
        counted: kinds of members that are counted.
        broken: members that break a rule of one member.
    """

    make: Callable[[int, np.random.Generator], tuple[pl.DataFrame, pl.DataFrame]]
    unit_columns: dict[str, Any]
    member_columns: dict[str, Any]
    forbidden: tuple[dict[str, Any], ...]
    orders: dict[str, dict[str, Any]]
    four_way: tuple[tuple[str, str], tuple[str, str]]
    counted: Predicates
    broken: pl.Expr

    def schema(self, order: str) -> us.Schema:
        """The schema of both tables, members in one of the canonical orders."""
        told = {"source": "made", "reviewed": True}
        extra = self.orders[order]
        rules = [{**rule, **told} for rule in extra.get("rules", ())]
        content = {
            "rows": "private",
            "unit": {"table": UNIT, "description": "a unit with all its members"},
            "tables": {
                UNIT: {
                    "key": KEY,
                    "columns": self.unit_columns
                    | {
                        name: {"derived": f"count({MEMBER} where {rule})", **told}
                        for name, rule in extra.get("counts", {}).items()
                    },
                },
                MEMBER: {
                    **{"of": UNIT, "key": KEY, "rows_per_unit": SLOTS, **told},
                    **({"order": extra["order"]} if "order" in extra else {}),
                    "columns": self.member_columns,
                    "forbidden": [{"where": one, **told} for one in self.forbidden],
                    "rules": rules,
                },
            },
        }
        return us.Schema.model_validate(widen_tables(content, us.Schema, None))

    def flat_schema(self) -> us.Schema:
        """The schema of members with the columns of their unit beside them."""
        told = {"source": "made", "reviewed": True}
        size = {"kind": "ordinal", "levels": tuple(range(1, SLOTS + 2)), **told}
        return us.Schema.model_validate(
            {
                "rows": "private",
                "columns": {**self.unit_columns, SIZE: size, **self.member_columns},
                "forbidden": [{"where": one, **told} for one in self.forbidden],
            }
        )


AGES = (0, 3, 6, 10, 16, 20, 25, 35, 45, 55, 65, 75, 85, 99)
YOUNG, GROWN = {"lower": 0, "upper": 15}, {"lower": 16, "upper": 99}
SCHOOLS, ACTIVITIES = ("none", "a", "b", "c", "d", "e", "f"), ("work", "idle", "learn", "retired")


def households(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Households of people alone, couples, families, three generations, and shared homes."""
    kind = rng.choice(5, n, p=[0.33, 0.27, 0.29, 0.06, 0.05])
    units, members = [], []
    for k in range(n):
        wealth, region = rng.normal(), int(rng.choice(9, p=np.arange(9, 0, -1) / 45))
        home = _of_kind(int(kind[k]), rng)
        earned = 0.0
        for role, age, woman in home:
            learnt = wealth + 0.5 * (age < 45) + rng.normal(0, 0.8)
            school, activity = _adult(age, woman, learnt, rng)
            earned += {"work": 2.0 + learnt, "retired": 1.2 + 0.5 * learnt}.get(activity, 0.0)
            ill = 0.03 * age - wealth + rng.logistic()
            health = ("good", "fair", "bad", "poor")[int(np.searchsorted((1.2, 2.8, 4.4), ill))]
            members.append((k, role, age, "f" if woman else "m", school, activity, health))
        age = home[0][1]
        owns = (age - 45) / 12 + wealth + rng.logistic() > 0
        tenure = "own" if owns else str(rng.choice(("rent", "free", "social"), p=(0.7, 0.1, 0.2)))
        rooms = int(np.clip(1 + 0.6 * len(home) + 0.7 * owns + 0.5 * wealth + rng.normal(), 1, 5))
        means = int(np.searchsorted((0.8, 2.0, 3.5, 5.5), earned / len(home) ** 0.5)) + 1
        units.append((k, "ABCDEFGHI"[region], tenure, rooms, means))
    names = (KEY, "role", "age", "sex", "school", "activity", "health")
    return (
        pl.DataFrame(units, (KEY, "region", "tenure", "rooms", "means"), orient="row"),
        pl.DataFrame(members, names, orient="row"),
    )


def _of_kind(kind: int, rng: np.random.Generator) -> list[tuple[str, int, bool]]:
    """Role, age and sex of the members of a household; whom it is named after stands first."""
    woman = bool(rng.random() < 0.5)

    def couple(age: int) -> list[tuple[str, int, bool]]:
        other = woman if rng.random() < 0.03 else not woman
        its = int(np.clip(age + rng.normal(2 if woman else -2, 4), 18, 97))
        return [("partner", age, woman), ("partner", its, other)]

    if kind == 0:
        old = rng.random() < 0.5
        age = int(np.clip(rng.normal(74, 9) if old else rng.normal(40, 13), 18, 97))
        return [("single", age, bool(rng.random() < (0.7 if old else 0.45)))]
    if kind == 1:
        return couple(int(np.clip(rng.normal(60, 14), 19, 97)))
    if kind == 4:
        age = int(np.clip(rng.normal(27, 6), 18, 70))
        near = np.clip(age + rng.normal(0, 4, 1 + rng.poisson(1.6)), 17, 70).astype(int)
        rest = [("other", int(one), bool(rng.random() < 0.5)) for one in near]
        return [("single", age, woman), *rest]
    age = int(np.clip(rng.normal(42, 8), 21, 62))
    alone = rng.random() < 0.18
    home = [("single", age, bool(rng.random() < 0.85))] if alone else couple(age)
    child = age - int(np.clip(rng.normal(28, 4.5), 17, 42))
    for _ in range(1 + rng.poisson(0.95)):
        if child >= 0:
            home.append(("child", child, bool(rng.random() < 0.5)))
        child -= int(rng.integers(1, 5))
    if kind == 3:
        old = int(np.clip(age + rng.normal(28, 4), 50, 97))
        home.append(("other", old, bool(rng.random() < 0.7)))
    return home


def _adult(age: int, woman: bool, learnt: float, rng: np.random.Generator) -> tuple[str, str]:
    """School and activity; children have neither."""
    if age < 16:
        return "young", "young"
    cuts = np.linspace(-1.6, 2.0, len(SCHOOLS) - 1)
    school = SCHOOLS[int(np.searchsorted(cuts, learnt if age > 22 else learnt - 0.8))]
    if age + rng.normal(0, 2.5) > 62:
        return school, "retired"
    if age < 25 and rng.random() < (0.85 if age < 19 else 0.4):
        return school, "learn"
    return school, "work" if rng.random() < 0.84 + 0.04 * learnt - 0.14 * woman else "idle"


WARDS = ("medical", "surgery", "heart", "lung", "children", "other")
DIAGNOSES = tuple("ABCDEFGH")


def patients(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Patients with their visits within a year; the next visit is like the one before."""
    own = np.array([[0.7, 0.3, 0.1, 0.1, 0.05, 0.2], [0.1, 0.8, 0.05, 0.05, 0.05, 0.3]])
    units, visits = [], []
    for k in range(n):
        age = int(rng.choice(8, p=(0.06, 0.06, 0.1, 0.12, 0.16, 0.2, 0.2, 0.1)))
        sex, insured = (
            str(rng.choice(("f", "m"))),
            str(rng.choice(("a", "b", "c"), p=(0.7, 0.2, 0.1))),
        )
        district = "PQRSTU"[int(rng.choice(6, p=(0.3, 0.2, 0.2, 0.1, 0.1, 0.1)))]
        frail = 0.35 * age - 1.5 + rng.normal()
        number_of_visits = 1 + rng.poisson(np.exp(0.4 * frail - 0.4))
        days = np.sort(rng.integers(0, 365, number_of_visits))
        weights = np.exp(rng.normal(0, 0.5, 8) + 0.12 * age * np.linspace(-1, 1, 8))
        diagnosis = int(rng.choice(8, p=weights / weights.sum()))
        for j, day in enumerate(days):
            if j and rng.random() < 0.25:
                diagnosis = int(rng.choice(8, p=weights / weights.sum()))
            sudden = bool(rng.random() < 0.35 + 0.1 * (frail > 0) + 0.2 * (diagnosis % 3 == 0))
            chance = np.roll(own[diagnosis % 2], diagnosis // 2) + 0.02
            chance[4] = 0.6 if age == 0 else 0.01
            ward = WARDS[int(rng.choice(6, p=chance / chance.sum()))]
            stay = int(np.clip(np.exp(0.5 * frail + 0.4 * sudden + 0.8 * rng.normal()) + 1, 1, 6))
            dies = j == len(days) - 1 and rng.random() < 0.03 * np.exp(0.5 * frail)
            end = (
                "dead" if dies else str(rng.choice(("home", "care", "moved"), p=(0.8, 0.12, 0.08)))
            )
            entry = "sudden" if sudden else "planned"
            visits.append((k, int(day), entry, ward, DIAGNOSES[diagnosis], stay, end))
        units.append((k, age, sex, insured, district))
    return (
        pl.DataFrame(units, (KEY, "age", "gender", "insurer", "district"), orient="row"),
        pl.DataFrame(visits, (KEY, "day", "entry", "ward", "cause", "stay", "end"), orient="row"),
    )


POPULATIONS = {
    "households": Units(
        make=households,
        unit_columns={
            "region": levels(*"ABCDEFGHI"),
            "tenure": levels("own", "rent", "free", "social"),
            "rooms": levels(1, 2, 3, 4, 5, kind="ordinal"),
            "means": levels(1, 2, 3, 4, 5, kind="ordinal"),
        },
        member_columns={
            "role": levels("partner", "single", "child", "other", kind="ordinal"),
            "age": number(0, 99, *AGES),
            "sex": levels("f", "m"),
            "school": levels(*SCHOOLS, kind="ordinal", not_applicable=["young"]),
            "activity": levels(*ACTIVITIES, not_applicable=["young"]),
            "health": levels("good", "fair", "bad", "poor", kind="ordinal"),
        },
        forbidden=(
            {"age": GROWN, "activity": "young"},
            {"age": YOUNG, "activity": [*ACTIVITIES]},
            {"age": GROWN, "school": "young"},
            {"age": YOUNG, "school": [*SCHOOLS]},
            {"age": YOUNG, "role": ["partner", "single"]},
        ),
        orders={
            "oldest": {},
            "role": {"order": ["role", "-age"]},
            "counted": {
                "order": ["role", "-age"],
                "counts": {
                    "children": "age < 16",
                    "adults": "age >= 16",
                    "workers": "activity == 'work'",
                },
            },
            "woman": {"order": ["role", "-age", {"among": 2, "by": ["role", "sex"]}]},
            "ruled": {
                "order": ["role", "-age"],
                "rules": [
                    {"at_least": 1, "where": {"role": ["partner", "single"]}},
                    {"at_most": 2, "where": {"role": "partner"}},
                    {"at_most": 1, "where": {"role": "single"}},
                ],
            },
        },
        four_way=(("age", "sex"), ("age", "activity")),
        counted={
            "children": pl.col("age") < 16,
            "adults": pl.col("age") >= 16,
            "workers": pl.col("activity") == "work",
        },
        broken=(pl.col("age") < 16) != (pl.col("activity") == "young"),
    ),
    "patients": Units(
        make=patients,
        unit_columns={
            "age": levels(*range(8), kind="ordinal"),
            "gender": levels("f", "m"),
            "insurer": levels("a", "b", "c"),
            "district": levels(*"PQRSTU"),
        },
        member_columns={
            "day": number(0, 364, 0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 364),
            "entry": levels("sudden", "planned"),
            "ward": levels(*WARDS),
            "cause": levels(*DIAGNOSES),
            "stay": levels(1, 2, 3, 4, 5, 6, kind="ordinal"),
            "end": levels("home", "care", "moved", "dead"),
        },
        forbidden=(),
        orders={
            "latest": {},
            "first": {"order": ["day"]},
            "sudden": {"order": ["entry", "day"]},
        },
        four_way=(("cause", "ward"), ("day", "entry")),
        counted={
            "sudden": pl.col("entry") == "sudden",
            "planned": pl.col("entry") == "planned",
            "surgery": pl.col("ward") == "surgery",
        },
        broken=pl.lit(value=False),
    ),
}


@dataclass(frozen=True)
class Coded:
    """Both tables as codes.

    Attributes:
        units: column → code of each unit.
        members: column → code of each member.
        home: unit of each member.
        counts: kind of members → how many each unit has.
        sizes: column → number of its codes.
    """

    units: dict[str, Codes]
    members: dict[str, Codes]
    home: Codes
    counts: dict[str, Codes]
    sizes: dict[str, int]

    @classmethod
    def of(cls, population: Units, units: pl.DataFrame, members: pl.DataFrame) -> Coded:
        """Code both tables; members stand with the number of their unit."""
        place = pl.DataFrame({KEY: units[KEY], "": np.arange(units.height)})
        home = members.join(place, on=KEY, how="left", maintain_order="left")[""].to_numpy()
        sizes: dict[str, int] = {}
        kinds = members.select(**population.counted).fill_null(value=False)
        counts = {
            name: np.bincount(home[kinds[name].to_numpy()], minlength=units.height).clip(max=6)
            for name in kinds.columns
        }
        return cls(
            {
                name: _coded(units, name, one, sizes)
                for name, one in population.unit_columns.items()
            },
            {
                name: _coded(members, name, one, sizes)
                for name, one in population.member_columns.items()
            },
            home,
            counts,
            sizes | dict.fromkeys(counts, 7),
        )

    def pairs(self) -> tuple[Codes, Codes]:
        """Places of all members and of all others of their units; each pair both ways."""
        order = np.argsort(self.home, kind="stable")
        ends = np.cumsum(np.bincount(self.home))
        found = []
        for first, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
            found += [(a, b) for a, b in product(range(first, end), repeat=2) if a != b]
        one, two = np.array(found, dtype=np.int64).T
        return order[one], order[two]


def _coded(
    table: pl.DataFrame, name: str, declared: dict[str, Any], sizes: dict[str, int]
) -> Codes:
    """Codes of one column: bins of numbers, else places of its levels and codes of absence."""
    if "bins" in declared:
        sizes[name] = len(declared["bins"]) - 1
        ends = np.asarray(declared["bins"][1:-1])
        return np.searchsorted(ends, table[name].cast(pl.Float64).to_numpy(), side="right")
    states = [str(one) for one in (*declared["levels"], *declared.get("not_applicable", ()))]
    sizes[name] = len(states)
    codes = table[name].cast(pl.String).replace_strict(states, list(range(len(states))))
    return codes.to_numpy().astype(np.int64)


def histogram(coded: Mapping[str, Codes], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Shares of the cells of some columns, shape (cells,)."""
    cell = np.ravel_multi_index([*coded.values()], [*sizes])
    counts = np.bincount(cell, minlength=math.prod(sizes))
    return counts / counts.sum()


def tables(one: Coded) -> dict[str, list[NDArray[np.float64]]]:
    """Shares of the cells of every table that is scored, by the name of the score."""
    size = one.sizes

    def table(*columns: tuple[str, Codes]) -> NDArray[np.float64]:
        coded = {f"{k}": codes for k, (_, codes) in enumerate(columns)}
        return histogram(coded, [size[name] for name, _ in columns])

    left, right = one.pairs()
    first = {name: codes[left] for name, codes in one.members.items()}
    second = {name: codes[right] for name, codes in one.members.items()}
    names = [*one.members]
    return {
        "pairs": [
            table((a, first[a]), (b, second[b])) for a, b in combinations_with_replacement(names, 2)
        ],
        "within 2": [
            table((a, one.members[a]), (b, one.members[b])) for a, b in combinations(names, 2)
        ],
        "within 3": [
            table(*((name, one.members[name]) for name in three))
            for three in combinations(names, 3)
        ],
        "beside": [
            table((a, one.units[a][one.home]), (b, one.members[b]))
            for a, b in product(one.units, names)
        ],
        "unit": [table((name, codes)) for name, codes in one.units.items()],
        "counts": [table((name, codes)) for name, codes in one.counts.items()],
        "joint": [table(*one.counts.items())],
    }


def four_way(one: Coded, columns: Sequence[tuple[str, str]]) -> list[NDArray[np.float64]]:
    """Two columns of a member by the same two of another member of its unit."""
    left, right = one.pairs()
    found = []
    for a, b in columns:
        codes = (one.members[a][left], one.members[b][left])
        codes += (one.members[a][right], one.members[b][right])
        sizes = [one.sizes[a], one.sizes[b]] * 2
        found.append(histogram(dict(zip("abcd", codes, strict=True)), sizes))
    return found


def score(population: Units, real: Coded, drawn: Coded) -> dict[str, float]:
    """Total variation distances, by the name of the score."""

    def distances(a: Sequence[NDArray[np.float64]], b: Sequence[NDArray[np.float64]]) -> Codes:
        return np.array([np.abs(x - y).sum() / 2 for x, y in zip(a, b, strict=True)])

    one, two = tables(real), tables(drawn)
    found = {name: float(distances(one[name], two[name]).mean()) for name in one}
    found["pairs worst"] = found["pairs"]
    found["unit worst"] = float(distances(one["unit"], two["unit"]).max())
    both = (four_way(coded, population.four_way) for coded in (real, drawn))
    return found | {"four-way": float(distances(*both).mean())}


def faults(population: Units, order: str, units: pl.DataFrame, members: pl.DataFrame) -> int:
    """Members that break a rule of one member, and units that break one across members."""
    broken = members.filter(population.broken).height
    if population.orders.get(order, {}).get("rules"):
        role = pl.col("role").cast(pl.String)
        numbers = members.group_by(KEY).agg(
            partners=(role == "partner").sum(),
            singles=(role == "single").sum(),
        )
        heads = pl.col("partners") + pl.col("singles")
        few, many = heads == 0, (pl.col("partners") > 2) | (pl.col("singles") > 1)
        broken += numbers.filter(few | many).height
    return broken


def group_epsilon(epsilon: Fraction) -> Fraction:
    """The ε of single members at which a group of as many as there are slots has ε together."""
    return gdp_epsilon_of(gdp_within(epsilon, DELTA) / SLOTS**2, DELTA)


def put_together(
    rows: pl.DataFrame, population: Units, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Units of flat members: at random among those with the same columns of units."""
    names = [*population.unit_columns]
    rows = rows.with_columns(_chance=rng.random(rows.height), _size=pl.col(SIZE).cast(pl.Int64))
    group = pl.struct(*names, "_size").rank("dense").cast(pl.Int64)
    rows = rows.with_columns(_group=group).sort("_group", "_chance")
    place = pl.int_range(pl.len()).over("_group") // pl.col("_size")
    rows = rows.with_columns(pl.struct("_group", place.alias("_p")).rank("dense").alias(KEY))
    return rows.select(KEY, *names).unique(KEY, keep="first"), rows


def wide_rows(population: Units, schema: us.Schema) -> pl.DataFrame:
    """The population, a row a unit, its members in slots."""
    units, members = population.make(N, np.random.default_rng(1))
    return open_rows({UNIT: units, MEMBER: members}, schema).lazy.collect().select(schema.names)


def taken_apart(rows: pl.DataFrame, schema: us.Schema) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Units and members of rows with slots."""
    both = split(rows.with_columns(pl.Series(KEY, np.arange(rows.height))), schema)
    return both[UNIT], both[MEMBER]


def counted_exactly(release: us.Release, population: Units, run: int) -> pl.DataFrame:
    """Records of the model of a release whose tables are counted again, without noise.

    Ranks stay as they were measured.
    """
    schema, found = release.schema, list(release.measurements)
    table = Table(wide_rows(population, schema), schema)
    for k, one in enumerate(found):
        if one.kind is Kind.TABLE:
            places = tuple(map(schema.names.index, one.columns))
            binned = schema.with_bins(one.bins)
            counted = table.recode(binned) if one.bins else table
            grouped = counted.group(binned.with_groups(one.groups), one.groups)
            (exact,) = grouped.count([places]).expose()
            found[k] = replace(one, counts=exact.inside.ravel(), outside=float(exact.outside))
    model = model_of(replace(release, measurements=tuple(found)), 1)
    assert model is not None
    rng = np.random.default_rng(run)
    drawn = model.sample(N, rng)
    return decode(drawn.states, schema, rng, drawn.values)


def dealt_anew(
    rows: pl.DataFrame, schema: us.Schema, part: str, rng: np.random.Generator
) -> pl.DataFrame:
    """Real units with the members of others, slot by slot or all members together."""
    form = schema.members
    assert form is not None
    size = rows[form.size].cast(pl.Int64).to_numpy()
    home = np.arange(rows.height)
    for k in range(1, SLOTS + 1):
        home[size == k] = rng.permutation(home[size == k])
    for j in range(1, SLOTS + 1):
        own = [name for name in rows.columns if name.endswith(f"_{j}")]
        if part == "slots":
            home = np.arange(rows.height)
            home[size >= j] = rng.permutation(home[size >= j])
        rows = rows.with_columns(rows.select(own)[home])
    return rows


def released(
    population: Units, order: str, epsilon: Fraction, run: int, part: str = ""
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables of a release, or what stands in for one."""
    units, members = population.make(N, np.random.default_rng(1))
    rng = np.random.default_rng(1000 + run)
    if part in ("slots", "between"):
        schema = population.schema(order)
        return taken_apart(dealt_anew(wide_rows(population, schema), schema, part, rng), schema)
    if order == "floor":
        chosen = pl.DataFrame({KEY: rng.integers(0, N, N), "_new": np.arange(N)})
        return (
            chosen.join(units, on=KEY).drop(KEY).rename({"_new": KEY}),
            chosen.join(members, on=KEY).drop(KEY).rename({"_new": KEY}),
        )
    if order.startswith("flat"):
        sizes = (
            members.group_by(KEY).len(SIZE).with_columns(pl.col(SIZE).clip(upper_bound=SLOTS + 1))
        )
        rows = members.join(units, on=KEY).join(sizes, on=KEY).drop(KEY)
        if order == "flat":
            spent = group_epsilon(epsilon)
            (rows,) = us.synthesize(
                rows, population.flat_schema(), epsilon=spent, delta=DELTA, method="marginals"
            ).tables
        return put_together(rows, population, rng)
    method = "auto" if order == "auto" else "marginals"
    schema = population.schema(next(iter(population.orders)) if order == "auto" else order)
    both = {UNIT: units, MEMBER: members}
    alone = {"budget": dict.fromkeys(("answers", "lines"), 0)} if part else {}
    release = us.synthesize(both, schema, epsilon=epsilon, delta=DELTA, method=method, **alone)
    if part == "exact":
        return taken_apart(counted_exactly(release, population, run), schema)
    both = release.linked_sets[0]
    return both[UNIT], both[MEMBER]


def scores(name: str, order: str, epsilon: Fraction, run: int, part: str = "") -> dict[str, float]:
    """All figures of one release."""
    population = POPULATIONS[name]
    started = time.process_time()
    units, members = released(population, order, epsilon, run, part)
    cpu = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    real = Coded.of(population, *population.make(N, np.random.default_rng(1)))
    found = score(population, real, Coded.of(population, units, members))
    orphans = members.join(units, on=KEY, how="anti").height
    broken = faults(population, order, units, members)
    return found | {"orphans": orphans, "broken": broken, "cpu": cpu, "MB": peak}


def cases() -> list[str]:
    """What is measured if nothing is said."""
    found = []
    for name, population in POPULATIONS.items():
        found += [f"{name}:{order}:1" for order in ("floor", "flat exact", "flat")]
        found += [f"{name}:{order}:{eps}" for eps in (1, 3) for order in population.orders]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", nargs="+", default=cases())
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--job", nargs=2, help="used by the benchmark itself")
    options = parser.parse_args()
    if options.job:
        (name, order, epsilon, *part), run = options.job[0].split(":"), int(options.job[1])
        print(json.dumps(scores(name, order, Fraction(epsilon), run, *part)))
        return
    page = Page(title=f"{N:,} units, {SLOTS} slots, δ = 10⁻⁶", title_justify="left", box=None)
    for heading in ("", *SCORES):
        page.add_column(heading, justify="right" if heading else "left")
    for case in options.case:
        found = []
        for run in range(options.runs):
            command = [sys.executable, __file__, "--job", case, str(run)]
            with tempfile.TemporaryDirectory() as empty:
                kept = {"NUMBA_CACHE_DIR": empty} if options.cold else {}
                printed = subprocess.run(
                    command, check=True, capture_output=True, text=True, env={**os.environ, **kept}
                ).stdout
            found.append(json.loads(printed.splitlines()[-1]))
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"case": case, "run": run, **found[-1]}) + "\n")
        largest = {"pairs worst", "unit worst", "orphans", "broken", "MB"}
        shown = (
            (max if name in largest else np.mean)([one[name] for one in found]) for name in SCORES
        )
        page.add_row(case, *(f"{v:.4f}" if v < 1 and v else f"{v:.0f}" for v in shown))
    Console(width=160).print(page)


if __name__ == "__main__":
    main()
