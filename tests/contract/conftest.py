"""The table of cases: every method, with the options that change what it asks of the gate.

A method that joins `METHODS` is tested with its defaults; a row in `OPTIONS` adds its options.
A test takes cases by naming one of `SELECTIONS` among its arguments.

Not every test meets every case, but any two of test, method, δ, kind of rows and kind of sets meet,
and every method meets each of its options in the tests of ledgers (`meet_in_pairs`).
`make test-all` has every test meet every case.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.methods.plan import PlannedTable
from understudy.methods.registry import METHODS, configure
from understudy.workflow.analyze import rebuildable
from understudy.workflow.budget_shares import budget_of
from understudy.workflow.gates import open_gate

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "independent": [{}, {"noise": "geometric"}, {"noise": "laplace"}],
    "laplace": [
        {"form": form, "noise": distribution}
        for form in ("dense", "filtered", "lazy")
        for distribution in ("geometric", "laplace")
    ]
    + [{"mode": "paper"}],
    "modips": [{}, {"cells": 12}, {"bounds": "truncate"}],
    "perturbed-histogram": [{"form": form} for form in ("dense", "filtered", "lazy")],
    "smoothed-histogram": [{}, {"bins": 3}],
    "steps": [
        {},
        {"layers": 1, "noise": "geometric", "consistency": "gls_inner"},
        {"order": "job+sex, age", "noise": "laplace"},
        {"split": "groups", "consistency": "paper_phantom", "allocation": "leaves"},
        {"mode": "paper"},
        {"split": "groups", "groups": "unordered", "utility": "bic"},
        {"branches": "sex, sex=f: job, sex=f & job=boss: smokes"},
        {"split": "groups", "groups": "unordered", "mode": "paper"},
    ],
    "universal-histogram": [
        {},
        {"order": "age, job"},
        {"form": "ranges", "fanout": 2},
        {"mode": "paper", "layers": 1},
    ],
    "privbayes": [
        {},
        {"degree": 1, "score": "mi"},
        {"degree": 2, "noise": "laplace"},
        {"network": "sex, age<-sex, job<-age, income<-age&job, moved, smokes<-moved"},
        {"mode": "paper", "degree": 1},
    ],
    "pegs-tables": [
        {},
        {"form": "lazy"},
        {"keys": "job<-age & sex, sex<-age & job, income<-job", "noise": "laplace"},
    ],
    "pegs": [{"choice_share": 0.3}, {"keys": "job<-age & sex, income<-job", "sweeps": 2}],
    "pegs-reset": [{"weights": "marginals"}, {"block": 0, "key_limit": 4, "choice_share": 0.3}],
    "pmse": [
        {"candidates": 8, "refinements": 1},
        {"search": "together", "trees": "depth-3", "candidates": 8, "records": 30, "draws": 2},
    ],
    "censored-posterior": [
        {"candidates": 8, "refinements": 1},
        {"candidates": 8, "parents": 2, "censoring": "interval", "width": 3},
    ],
    "pseudo-posterior": [
        {"model": "normal", "draws": 8, "states": "table"},
        {"model": "normal", "draws": 8, "weights": "unweighted", "transform": "identity"},
        {"sensitive": "income, smokes", "components": 2, "draws": 8, "burn_in": 2, "thin": 1},
    ],
    "perturbed-imputation": [{}, {"sweeps": 2, "penalty": 0.01, "most_rows": 10}],
    "mst": [{}, {"noise": "laplace"}],
    "aim": [{}, {"noise": "laplace", "degree": 2, "target": "job"}],
    "marginals": [
        {},
        {"noise": "laplace", "workload": "age & job: 2.5, sex & smokes", "bins": 4},
    ],
    "empirical-cdf": [
        {},
        {"columns": "ordered", "order": ["job", "age", "sex", "moved", "income", "smokes"]},
    ],
}
ALIKE = (
    *("mst", "aim", "pegs-reset", "pegs-diverse", "perturbed-imputation", "contingency-table"),
    *("multiple-imputation", "censored-posterior"),
)
"""Their sets are made by the code of `marginals`, `pegs`, `laplace`, `perturbed-imputation` or
`pmse`."""
COMBINATIONS = (("0", "private"), ("0", "public"), ("0.000001", "private"))
"""δ and rows."""
SETS = ("free", "split", "posterior")
ROW_LIMIT = 60
EPSILON = "7.12345678912"
"""Of releases that tests share: no binary fraction, and few private numbers of rows are clipped."""
LEAST_EPSILON = "0.0000123456789123456789"
"""Of releases that are all noise; more digits than a manifest writes out."""

COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
source = "codebook"
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 65, 99]
missing = [""]
reviewed = true
source = "codebook"
[columns.job]
kind = "ordinal"
levels = ["none", "worker", "boss"]
missing = ["?"]
reviewed = true
source = "codebook"
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 2
spikes = [0]
decimals = 1
not_applicable = [-1]
reviewed = true
source = "codebook"
[columns.moved]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
bins = [2000-01-01, 2005-01-01, 2009-12-31]
reviewed = true
source = "codebook"
[columns.smokes]
kind = "boolean"
missing = [""]
reviewed = true
source = "codebook"
[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = ["worker", "boss"] }
reviewed = true
source = "law"
[[forbidden]]
where = { job = "none", income = { lower = 50, upper = 100 } }
reviewed = true
source = "law"
"""
# For each column its states: a value as it stands in the data, and the label of the state.
STATES: dict[str, list[tuple[Any, str]]] = {
    "sex": [("f", "f"), ("m", "m")],
    "age": [(7, "0 to 17"), (40, "18 to 64"), (99, "65 to 99"), (None, "(empty)")],
    "job": [("none", "none"), ("worker", "worker"), ("boss", "boss"), ("?", "?")],
    "income": [(0.0, "0"), (0.5, "[0, 50)"), (50.0, "[50, 100]"), (-1.0, "-1")],
    "moved": [
        (datetime.date(2004, 12, 31), "2000-01-01 to 2004-12-31"),
        (datetime.date(2005, 1, 1), "2005-01-01 to 2009-12-31"),
    ],
    "smokes": [(True, "true"), (False, "false"), (None, "(empty)")],
}
TYPES = {
    "sex": pl.String(),
    "age": pl.Int64(),
    "job": pl.String(),
    "income": pl.Float64(),
    "moved": pl.Date(),
    "smokes": pl.Boolean(),
}
OUTSIDE = {"sex": "x", "age": 40, "job": "king", "income": 5.0, "moved": None, "smokes": True}
OUTSIDE_LABELS = {
    "sex": None,
    "age": "18 to 64",
    "job": None,
    "income": "[0, 50)",
    "moved": None,
    "smokes": "true",
}


def is_forbidden(record: dict[str, Any]) -> bool:
    """The two rules of the schema, written out by hand."""
    child = record["age"] is not None and record["age"] < 18
    paid = record["income"] is not None and record["income"] >= 50
    return (child and record["job"] in {"worker", "boss"}) or (record["job"] == "none" and paid)


@dataclass(frozen=True)
class People:
    """Rows for the schema, and what an obvious program counts in them.

    Attributes:
        records: one dictionary per row.
        labels: the labels of the row's states; None where a value is out of domain.
    """

    records: tuple[dict[str, Any], ...] = ()
    labels: tuple[dict[str, str | None], ...] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(list(self.records), schema=TYPES)

    @property
    def fitting(self) -> People:
        """Rows with every value in domain: what the layers of a tree of cells count."""
        kept = [k for k, row in enumerate(self.labels) if None not in row.values()]
        records = tuple(self.records[k] for k in kept)
        return People(records, tuple(self.labels[k] for k in kept))

    def counts(self, columns: tuple[str, ...]) -> Counter[tuple[str | None, ...]]:
        """Rows in each occupied cell of a table, those out of domain left out."""
        cells = Counter(tuple(row[name] for name in columns) for row in self.labels)
        return Counter({cell: n for cell, n in cells.items() if None not in cell})

    def __add__(self, other: People) -> People:
        return People(self.records + other.records, self.labels + other.labels)

    def __len__(self) -> int:
        return len(self.records)


NOBODY = People()
STRANGER = People((OUTSIDE,), (OUTSIDE_LABELS,))
# A child with a job: known values in a forbidden combination, which leave the domain together.
IMPOSSIBLE = People(
    (OUTSIDE | {"sex": "f", "age": 7, "job": "worker"},),
    (OUTSIDE_LABELS | {"sex": "f", "age": None},),
)


def people(n: int, seed: int = 0) -> People:
    """Rows inside the domain, drawn cell by cell; one in eight stands in one and the same cell."""
    rng = np.random.default_rng(seed)
    found: list[tuple[dict[str, Any], dict[str, str | None]]] = []
    while len(found) < n:
        states = {name: one[rng.integers(len(one))] for name, one in STATES.items()}
        record = {name: value for name, (value, _) in states.items()}
        if not is_forbidden(record):
            found.append((record, {name: label for name, (_, label) in states.items()}))
        if len(found) % 8 == 7:
            found.append(found[0])
    found = found[:n]
    return People(tuple(record for record, _ in found), tuple(labels for _, labels in found))


def _rows() -> dict[str, People]:
    """Tables by name. Ordinary ones hold rows out of domain too; neighbours differ in one row."""
    one, ordinary = people(1), people(40) + STRANGER + IMPOSSIBLE + IMPOSSIBLE
    return {
        "no rows": NOBODY,
        "one row": one,
        "another row": people(1, seed=5),
        "constant": sum([one] * 30, NOBODY),
        "out of domain": sum([STRANGER, IMPOSSIBLE] * 15, NOBODY),
        "ordinary": ordinary,
        "one more": ordinary + people(1, seed=5),
        "another more": ordinary + people(1, seed=6),
        "a stranger more": ordinary + STRANGER,
    }


ROWS = _rows()


@cache
def _read(text: str) -> us.Schema:
    """A schema is frozen, so that all releases may share the one that was read."""
    return us.Schema.loads(text)


@dataclass(frozen=True)
class Case:
    """A method, its options, and the kind of release that is asked of it."""

    method: str
    options: dict[str, Any] = field(default_factory=dict)
    delta: str = "0"
    rows: str = "private"
    sets: int = 1

    def __str__(self) -> str:
        options = [f"{name}={value}" for name, value in self.options.items()]
        kind = f"{self.sets}-{self.sets_kind}" if self.sets > 1 else "1"
        return "-".join([self.method, *options, f"delta={self.delta}", self.rows, kind])

    @cached_property
    def configured(self) -> Any:
        return configure(self.method, self.options)

    @property
    def sets_kind(self) -> str:
        return str(self.configured.sets)

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """What kind of release it is, but for its method and options."""
        sets = self.sets_kind if self.sets > 1 else "one"
        return {("δ", self.delta), ("rows", self.rows), ("sets", sets)}

    @property
    def unpaid(self) -> bool:
        """Whether a published form leaves something unpaid; that of PrivBayes leaves nothing."""
        return self.options.get("mode") == "paper" and self.method != "privbayes"

    def schema(self, n_rows: int, columns: str = COLUMNS) -> us.Schema:
        """The schema under which a table of so many rows is released."""
        public = self.rows == "public"
        head = f"n_rows = {n_rows}" if public else f"row_limit = {ROW_LIMIT}"
        return _read(f'rows = "{self.rows}"\n{head}\n{columns}')

    def budget(self, epsilon: str = "1") -> Budget:
        return budget_of(epsilon, self.delta, self.configured, self.schema(10))

    def huge(self) -> str:
        """An ε at which noise is next to nothing: ρ grows like ε, noise like 1/√ρ.

        Continuous noise leaves every empty cell some mass, half of them above 0: 768 cells at ε =
        10⁷ give five records one of them with a probability below 1e-4.
        """
        return "10000000"

    def arguments(self, epsilon: str = "1") -> dict[str, Any]:
        return {
            "epsilon": epsilon,
            "delta": self.delta,
            "method": self.method,
            "sets": self.sets,
            "options": self.options,
        }

    def plan(self, n_rows: int, epsilon: str = "1") -> us.Plan:
        return us.plan(self.schema(n_rows), **self.arguments(epsilon))

    @property
    def permission(self) -> dict[str, bool]:
        """What a method without a guarantee needs."""
        return {} if self.configured.private else {"allow_nonprivate": True}

    @cached_property
    def small_plan(self) -> us.Plan:
        """What is planned for ten rows."""
        return self.plan(10)

    @cached_property
    def forms(self) -> set[str]:
        """What kinds of things are measured, once or in each fit.

        Of ten rows single columns may get everything, so that no rounds follow.
        """
        plan = self.plan(10_000)
        return {table.form for table in plan.setup + plan.tables}

    def by_plan(
        self,
        planned: Sequence[PlannedTable],
        steps: Sequence[Any],
        is_choice: Callable[[Any], bool],
    ) -> list[list[Any]]:
        """What was done for each planned table: one step; or any number of rounds of a choice and
        a table each, or choices first, then their tables, once or twice. A fit does not begin with
        a choice where it has rounds, so that their end can be told. Tables of single columns that
        it buys once more, after the first ones or at its end, are theirs. Ranks of which the number
        of rows decides may not be measured at all, nor may rounds be where it decides that single
        columns get everything.
        """
        found, left, again, fits = [], list(steps), [], sum(t.form == "rounds" for t in planned)
        columns, single = next((len(t.columns) for t in planned if t.form == "rounds"), 0), set()
        for table in planned:
            if table.form == "rounds":
                fits -= 1
                chosen = len(list(takewhile(is_choice, left)))
                n = 2 * (chosen if chosen > 1 else len(list(takewhile(is_choice, left[::2]))))
                parts = left[n - chosen : n], left[n : n + chosen]
                first, twice = ([measured_by(one) for one in part] for part in parts)
                if first == twice and not single & {*first}:
                    n += chosen
                more = columns if fits else 0  # of the next fit
                tail = [measured_by(one) in single for one in left[n : n + columns + more]]
                if len(tail) == columns + more and all(tail) and not again:
                    n += columns  # what a forest leaves buys them once more, at the end
                found.append(again + left[:n])
                left, again, single = left[n:], [], set()
                continue
            if table.form == "moments" and table.chosen and not (left and is_ranks(left[0])):
                found.append([])
                continue
            found.append(left[:1])
            left = left[1:]
            last = [measured_by(step) for one in found[-columns:] for step in one]
            if columns and last == [measured_by(step) for step in left[:columns]]:
                left, again = left[columns:], left[:columns]
            single |= {*map(measured_by, found[-1])}
        assert not left
        return found

    def by_rows(self, table: PlannedTable) -> bool:
        """Whether the released number of rows decides what a planned measurement costs.

        It does of ranks, and without δ of single columns, which then get more in one step.
        """
        single = (self.method, self.delta, self.rows) == ("marginals", "0", "private")
        more = single and not self.options.get("one_way_share") and len(table.columns) == 1
        return table.chosen and (table.form == "moments" or more)

    def release(self, rows: People, epsilon: str = "1", **more: Any) -> us.Release:
        schema = self.schema(len(rows))
        arguments = self.arguments(epsilon) | self.permission
        return us.synthesize(rows.frame, schema, **arguments, **more)

    def gate(self, engine: Any, seed: int = 1) -> Gate:
        return open_gate(engine, self.budget(), SeededRandomness(seed), **self.permission)

    def ask(self, gate: Gate, spend: Fraction) -> None:
        """What one fit asks of the gate, once it knows the number of rows."""
        self.configured.fit(gate, spend, 10)


def is_ranks(step: Any) -> bool:
    """Whether a line of a ledger, or a measurement, is of products of ranks."""
    if isinstance(step, dict):
        return step["query"].startswith("sums of products of ranks")
    return step.kind == "ranks"


def measured_by(step: Any) -> Any:
    """What a line of a ledger, or a measurement, is about."""
    return step["query"] if isinstance(step, dict) else (step.columns, step.kind)


def _accepted(case: Case) -> bool:
    try:
        _ = case.small_plan
    except MethodError:
        return False
    return True


def _cases() -> list[Case]:
    """What each method accepts, of: options × δ × private and public rows × sets.

    The first options of a method meet δ = 0 with private and public rows, and δ > 0 with private
    ones, and all kinds of sets, but free ones, which share one fit, with δ = 0 alone; each of the
    others δ = 0, one kind of rows and one kind of sets.
    Methods that share how sets are made with another one (`ALIKE`) make one set.
    """
    found = []
    for name, kind in METHODS.items():
        chooses_sets = "sets" in {one.name for one in fields(kind)}  # type: ignore[arg-type]
        for k, options in enumerate(OPTIONS.get(name, [{}])):
            kinds = SETS if k == 0 else SETS[k % 2 : k % 2 + 1]
            several = [options | {"sets": one} for one in kinds] if chooses_sets else []
            others = "public" if k == 2 else "private"
            for delta, rows in COMBINATIONS if k == 0 else [("0", others)]:
                found.append(Case(name, options, delta, rows))
                if name not in ALIKE and (delta, rows) != ("0", "public"):
                    found += [
                        Case(name, one, delta, rows, 3)
                        for one in several or [options]
                        if delta == "0" or one.get("sets") != "free"
                    ]
    return [case for case in found if _accepted(case)]


CASES = _cases()
ONE_SET = [case for case in CASES if case.sets == 1]
PRIVATE = [case for case in ONE_SET if case.rows == "private"]
PAID = [case for case in ONE_SET if case.configured.private]
OPTIONED = list({(one.method, str(one.options)): one for one in reversed(ONE_SET)}.values())
"""Every method with each of its options, under one δ and with one kind of rows."""
DRAWING = [case for case in ONE_SET if any(step.records for step in case.small_plan.tables)]
MODELLING = [case for case in ONE_SET if case not in DRAWING]
# Those whose noise is a whole number, so that a huge budget leaves none at all.
WHOLE = [case for case in ONE_SET if case.options.get("noise") != "laplace"]
# Those that measure contingency tables and nothing else, and draw records in proportion to them.
# A network's tables each decide on one column only, and its option names columns; so do those of
# sweeps.
TABLES = [
    case
    for case in PAID
    if case.forms <= {"dense", "filtered", "lazy"}
    and "network" not in case.options
    and not case.configured.inference.swept
]
WITHOUT_COUNTS = {"choice", "posterior", "sweeps", "draws", "moments"}
# How the number of rows is bought is the same for all; what follows from it is not.
BUYING = [
    *{one.method: one for one in reversed(PRIVATE) if one.delta == "0"}.values(),
    *[one for one in PRIVATE if one.delta != "0"],
]
ACCOUNTS = {
    one.budget().accounting: one
    for one in sorted((one for one in PRIVATE if one in PAID), key=lambda one: one in TABLES)
}
"""One case for each way to count what is spent."""
RESTORABLE = [case for case in PRIVATE if case.method in rebuildable()]
SELECTIONS = {
    "case": CASES,
    "each_option": CASES,
    "one_set": ONE_SET,
    "paid": PAID,
    "counting": TABLES,
    "measuring": [case for case in CASES if case.forms - WITHOUT_COUNTS],
    "several": [case for case in CASES if case.sets > 1],
    "optioned": OPTIONED,
    "optioned_modelling": [case for case in OPTIONED if case in MODELLING],
    "default": list({case.method: case for case in reversed(ONE_SET)}.values()),
    "private": PRIVATE,
    "rebuildable": [case for case in RESTORABLE if case in MODELLING],
    "divided": [
        case
        for case in CASES
        if case.method in rebuildable()
        and case.sets > 1
        and case.sets_kind == "split"
        and case.rows == "private"
        and case.delta == "0"
    ],
    # What a page tells depends on the method, and on whether its sets share their noise.
    "told": list({(one.method, one.sets, one.sets_kind): one for one in reversed(CASES)}.values()),
    "buying": BUYING,
    "accounting": list(ACCOUNTS.values()),
    # Public rows only take a step away, so that they are asked for where there are no others.
    "continued": list(
        {
            (one.method, str(one.options), one.delta, one.sets): one
            for one in sorted(CASES, key=lambda one: one.rows == "private")
        }.values()
    ),
    "drawing": DRAWING,
    "modelling": MODELLING,
    "dense": [case for case in TABLES if case.forms == {"dense"}],
    "counting_modelling": [case for case in TABLES if case in MODELLING],
    "whole": [
        case
        for case in WHOLE
        if not case.forms & {"moments", "sweeps", "posterior"} and case.forms != {"choice"}
    ],
    "whole_modelling": [case for case in WHOLE if case in MODELLING and case in TABLES],
}


def meet_in_pairs(cases: Sequence[Case], test: str, *, options: bool) -> list[Case]:
    """Take one case of each method, so that all kinds of releases are among them.

    Which one it is rotates with the name of the test: it is the same whatever else runs.

    Args:
        cases: that a test may take.
        test: its name.
        options: take one case of each method with each of its options.
    """
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        named = {k: v for k, v in case.options.items() if k != "sets"} if options else ""
        groups.setdefault((case.method, str(named)), []).append(case)
    met: set[tuple[str, str]] = set()
    taken = []
    for group, among in groups.items():
        turn = crc32(f"{test} {group}".encode()) % len(among)
        best = max(among[turn:] + among[:turn], key=lambda case: len(case.kinds - met))
        met |= best.kinds
        taken.append(best)
    return taken


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    test = metafunc.function.__name__
    for argument, cases in SELECTIONS.items():
        if argument in metafunc.fixturenames:
            pairs = meet_in_pairs(cases, test, options=argument == "each_option")
            metafunc.parametrize(argument, cases if NIGHT else pairs, ids=str)


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    """The whole table."""
    return CASES


@pytest.fixture(scope="session")
def released() -> Callable[..., us.Release]:
    """Releases that several tests look at, each made once: `released(case, "ordinary", epsilon)`.

    A release is frozen, so that no test leaves anything in it for the next one.
    """
    made: dict[str, us.Release] = {}

    def release(case: Case, rows: str = "ordinary", epsilon: str = EPSILON, **more: Any) -> Any:
        key = f"{case}, {rows}, {epsilon}, {more}"
        if key not in made:
            made[key] = case.release(ROWS[rows], epsilon, **more)
        return made[key]

    return release


@pytest.fixture(scope="session")
def saved(
    released: Callable[..., us.Release], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Case], Path]:
    """Folders of `released(case)`, CSV files and no pages, each written once: `saved(case)`."""
    made: dict[str, Path] = {}

    def save(case: Case) -> Path:
        if str(case) not in made:
            folder = tmp_path_factory.mktemp("saved") / "out"
            made[str(case)] = replace(released(case), pages=None).save(folder, csv=True)
        return made[str(case)]

    return save


@pytest.fixture(scope="session")
def accounts() -> dict[str, Case]:
    """One case for each way to count what is spent, by its name."""
    return ACCOUNTS


@pytest.fixture(scope="session")
def epsilon() -> str:
    """What releases that tests share were asked for, unless they say so."""
    return EPSILON


@pytest.fixture(scope="session")
def least_epsilon() -> str:
    """At which a release is all noise."""
    return LEAST_EPSILON


@pytest.fixture(scope="session")
def tables() -> dict[str, People]:
    """Tables by the names that `released` takes."""
    return ROWS


@pytest.fixture(scope="session")
def some() -> Callable[..., People]:
    """Makes rows inside the domain: `some(n)`."""
    return people


@pytest.fixture(scope="session")
def nobody() -> People:
    """No rows."""
    return NOBODY


@pytest.fixture(scope="session")
def stranger() -> People:
    """One row out of domain."""
    return STRANGER


@pytest.fixture(scope="session")
def impossible() -> People:
    """One row in a forbidden combination."""
    return IMPOSSIBLE


@pytest.fixture(scope="session")
def forbidden() -> Callable[[dict[str, Any]], bool]:
    """Whether a record is impossible."""
    return is_forbidden
