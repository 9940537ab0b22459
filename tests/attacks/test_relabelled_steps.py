"""Attacks by steps that are called something else than what they bought.

One table says which kinds of measurements and which laws of noise each mechanism can have. It
stands in the specification, in this package and in the checker, and every combination that it lacks
is refused by both programs.
"""

import itertools
import re
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from altered_releases import (
    LAW_NAMES,
    MECHANISM_NAMES,
    measured,
    mechanism_price,
    paid,
    relabelled,
    unit_of,
)
from night import NIGHT
from understudy.dp.gate import load_mechanisms
from understudy.dp.perturbation import FLOATING
from understudy.dp.released import NoiseFamily
from understudy.errors import ReleaseError
from understudy.mechanisms.regression import MECHANISMS as REGRESSIONS
from understudy.release.manifest import RENDERED
from understudy.release.noise_check import (
    PURCHASES,
    RULES,
    STATED_ELSEWHERE,
    _purchase,
    purchase_of,
)
from understudy.release.shape import Fault, Kind
from understudy_verify import PURCHASES as CHECKED
from understudy_verify import Release, verify

pytestmark = pytest.mark.whole

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
KINDS = [kind.value for kind in Kind]
COMBINATIONS = list(itertools.product(MECHANISM_NAMES, KINDS, LAW_NAMES))
BASES = ("dense", "layers", "moments", "distributions", "urn", "products", "filtered", "sweeps")


def specified():
    """The table of the specification."""
    page = (REFERENCE / "steps.md").read_text("utf-8")
    rows = re.findall(r"^\| `([^`|]+)` \| ([a-z ]+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    words = re.compile("`([^`]+)`")
    return [
        (name, price, tuple(words.findall(kinds)), tuple(words.findall(laws)))
        for name, price, kinds, laws in rows
    ]


def test_the_three_tables_are_one():
    ours = [(one.mechanism, one.price, one.kinds, one.laws) for one in PURCHASES]
    assert ours == CHECKED == specified()


def test_the_table_has_every_mechanism_kind_and_law():
    """One that joins gets a row, or its own releases are refused."""
    named = {kind.name for kind in load_mechanisms()} | {"posterior"}
    named -= {"linear regression", "random order", "votes on a claim"}
    named |= set(REGRESSIONS.values())
    rows = {one.mechanism for one in PURCHASES}
    assert rows == named | {STATED_ELSEWHERE}
    assert {kind for one in PURCHASES for kind in one.kinds} == set(KINDS)
    laws = {law for one in PURCHASES for law in one.laws}
    assert {one.value for one in NoiseFamily} - laws == {"other", "discrete_cube_laplace"}
    assert set(RULES) == {one.mechanism for one in PURCHASES if one.price == "paid"}


def test_a_choice_never_holds_a_table_and_only_a_choice_has_no_noise():
    """Of all combinations: what has a finite price and no noise is a choice or its parameters."""
    free = [
        (mechanism, kind)
        for mechanism, kind, law in COMBINATIONS
        if law == "none" and purchase_of(mechanism, "paid", (kind, law))
    ]
    assert free == [("exponential mechanism", "choice"), ("exponential mechanism", "parameters")]
    assert len(COMBINATIONS) > 5_000


LEAKS = ([], ["The rows."], [FLOATING])


def test_both_programs_read_the_table_alike():
    """Every mechanism, kind, law, price and leak: a row for the one, and the same for the other.
    By day each combination meets each of the leaks and prices, and not all their pairs."""
    checker, found = Release(Path()), 0
    about = itertools.product(enumerate(LEAKS), enumerate(("1/2", "0", None)))
    for ((i, leaks), (j, exact)), (k, row) in itertools.product(about, enumerate(COMBINATIONS)):
        if not NIGHT and (i + j + k) % 3:
            continue
        entry, told = {"number": 1, "mechanism": row[0]}, {"kind": row[1], "law": row[2]}
        checker.promise = {"leaks": leaks, "kind": "none"}
        price = None if exact is None else Fraction(exact)
        for measurement in (told, None):
            theirs = checker._cost(entry, price, measurement)
            try:
                ours = _purchase(entry, exact, measurement, " ".join(leaks)).price
            except Fault:
                ours = ""
            assert ours == theirs, (row, leaks, exact)
            found += ours != ""
    assert found > len(PURCHASES)


@pytest.fixture(scope="module")
def bases(genuine):
    return [genuine(name) for name in BASES]


def refused_by(place):
    try:
        us.Release.load(place)
    except ReleaseError:
        ours = True
    else:
        ours = False
    return ours, any(state == "broken" for _, state, _ in verify(place))


EVERY = 29 if NIGHT else 97


def test_no_combination_that_the_table_lacks_is_believed(bases, tmp_path):
    """Claim attacked: a step is what it is called. Whole folders of every 29th combination, by day
    of every 97th, which meets every mechanism, kind and law; all of them are read from the table
    above."""
    let_pass = []
    wrong = [one for one in COMBINATIONS if purchase_of(one[0], "paid", one[1:]) is None]
    tried = wrong[::EVERY]
    assert [{row[k] for row in tried} for k in range(3)] == [
        set(part) for part in (MECHANISM_NAMES, KINDS, LAW_NAMES)
    ]
    for k, row in enumerate(tried):
        folder = bases[k % len(bases)].copy()
        entries = [(one, told) for one in paid(folder) if (told := measured(folder, one))]
        entry, told = entries[k % len(entries)]
        relabelled(folder, entry, told, row)
        if refused_by(folder.lay(tmp_path / str(k))) != (True, True):
            let_pass.append((BASES[k % len(bases)], row))
    assert let_pass == []


@pytest.mark.parametrize("row", [("exponential mechanism", "table", "none")])
def test_true_counts_do_not_pass_for_a_choice(bases, tmp_path, row):
    """The counts of the rows themselves, as the step of a choice, whose noise is none."""
    folder = bases[0].copy()
    told = next(one for one in folder.manifest["measurements"] if one["kind"] == "table")
    entry = folder.manifest["ledger"][told["ledger_entry"] - 1]
    folder.table(
        f"noisy/{told['name']}.parquet",
        lambda t: t.with_columns(count=pl.lit(3, t.schema["count"]).clip(lower_bound=0)),
    )
    relabelled(folder, entry, told, row)
    place = folder.lay(tmp_path / "r")
    assert mechanism_price(folder, entry) == "paid"
    assert refused_by(place) == (True, True)
    with pytest.raises(ReleaseError, match="cannot have paid for"):
        us.Release.load(place)


def test_what_another_system_states_is_never_promised(bases, tmp_path):
    """It can be held, and then the guarantee is none; every other guarantee is refused."""
    folder = bases[0].copy()
    told = next(one for one in folder.manifest["measurements"] if one["name"])
    entry, unit = folder.manifest["ledger"][told["ledger_entry"] - 1], unit_of(folder)
    entry |= {"mechanism": STATED_ELSEWHERE, unit: None, f"{unit}_exact": None}
    assert refused_by(folder.copy().lay(tmp_path / "promised")) == (True, True)
    guarantee = folder.manifest["guarantee"]
    old, size = guarantee["statement"], f"ε = {guarantee['epsilon']}"
    words = "This release is NOT private: no differential-privacy guarantee holds."
    for kind in ("none", "asymptotic", "pure", "conditional"):
        copy = folder.copy()
        none = {"kind": kind, "epsilon": None, "rho": None, "mu": None, "statement": words}
        copy.manifest["guarantee"] |= none
        for page in ("README.md", "report.html", "codebook.html"):
            copy.replace(page, old, words)
            copy.replace(page, size, "This release is NOT private")
            copy.replace(page, f"{RENDERED}{us.__version__}", f"{RENDERED}0.0.1")
        believed = refused_by(copy.lay(tmp_path / kind)) == (False, False)
        assert believed == (kind == "none"), kind
