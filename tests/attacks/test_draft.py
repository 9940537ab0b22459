"""Attacks on the stamp: a value that a draft read from the rows leaves under a promise of "pure".

The claim: as long as a value of the draft still stands in a column, and nothing is named that
confirms it, the guarantee of whatever is made is conditional and names column and entry; and the
fingerprints by which it is recognised never leave with a release.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.guarantee import Guarantee
from understudy.dp.randomness import SecureRandomness
from understudy.errors import SchemaError
from understudy.evaluate.tradeoff_page import page
from understudy.release.release import Release
from understudy.schema import Categorical, Continuous, Date, Integer, Schema
from understudy.workflow.gates import open_gate

RNG = np.random.default_rng(3)
N = 400
ROWS = pl.DataFrame(
    {
        "age": RNG.integers(17, 98, N),
        "sex": RNG.choice(["f", "m", "x"], N),
        "income": np.where(RNG.random(N) < 0.3, 0.0, RNG.lognormal(8, 1, N).round(2)),
        "born": pl.Series(["1960-05-01", None, "1999-12-31", "1971-01-02"] * (N // 4)),
    }
)
UNKNOWN = {"age": "c_1", "sex": "c_2", "income": "c_3"}  # of these names no convention knows


def draft_read_from(rows):
    """A draft of which all was read from the rows, whatever the columns are called."""
    text = us.draft(rows.rename(UNKNOWN))
    for name, other in UNKNOWN.items():
        text = text.replace(f"[columns.{other}]", f"[columns.{name}]")
    return text


DRAFT = draft_read_from(ROWS).replace("reviewed = false", "reviewed = true")
REVIEWED = DRAFT.replace('source = ""', 'source = "codebook"')
AGE = Schema.loads(DRAFT).columns["age"]


def guarantee_of(schema):
    """What would be promised, before anything is asked."""
    return open_gate(Table(ROWS, schema), Budget.of(1), SecureRandomness()).guarantee()


def changed(name, text=REVIEWED, **entries):
    """The draft with entries of one column changed, the fingerprints as they were."""
    schema = Schema.loads(text)
    column = schema.columns[name]
    kind = {"categorical": Categorical, "integer": Integer, "date": Date, "continuous": Continuous}
    content = {k: getattr(column, k) for k in column.model_fields_set} | entries
    made = kind[content["kind"]].model_validate({k: v for k, v in content.items() if v is not None})
    return schema.model_copy(update={"columns": {**schema.columns, name: made}})


LOW, HIGH = AGE.lower, AGE.upper
INCOME = Schema.loads(DRAFT).columns["income"]
EDGES = (LOW, 40, 65, HIGH)

ATTACKS = {
    "nothing is changed": ("age", {}, {"lower", "upper"}),
    "other bins": ("age", {"bins": 7}, {"lower", "upper"}),
    "edges of one's own": ("age", {"bins": EDGES}, {"lower", "upper"}),
    "the other bound": ("age", {"lower": 0}, {"upper"}),
    "a bound written as a real number": ("age", {"upper": float(HIGH)}, {"lower", "upper"}),
    "as a real column": (
        "age",
        {"kind": "continuous", "upper": HIGH + 0.0, "lower": -0.5},
        {"upper"},
    ),
    "the maximum as an edge": ("age", {"lower": 0, "upper": 120, "bins": (0, HIGH, 120)}, {"bins"}),
    "the maximum as a spike": ("age", {"lower": 0, "upper": 120, "spikes": (HIGH,)}, {"spikes"}),
    "the minimum as a missing code": (
        "age",
        {"lower": LOW + 1, "upper": 120, "missing": (LOW,)},
        {"missing"},
    ),
    "bounds as levels": (
        "age",
        {"kind": "categorical", "levels": (str(LOW), HIGH, "else")}
        | dict.fromkeys(("lower", "upper", "bins")),
        {"levels"},
    ),
    "levels in another order": ("sex", {"levels": ("x", "m", "f")}, {"levels"}),
    "a level more": ("sex", {"levels": ("f", "m", "x", "unknown")}, {"levels"}),
    "a level less": ("sex", {"levels": ("f",)}, {"levels"}),
    "a level as a code": (
        "sex",
        {"levels": ("female", "male"), "missing": ("x",)},
        {"missing"},
    ),
    "a level as the code of what is outside": (
        "sex",
        {"levels": ("female",), "out_of_domain": "x"},
        {"out_of_domain"},
    ),
    "a code of absence": (
        "born",
        {"lower": "1900-01-01", "upper": "2010-12-31"},
        {"missing"},
    ),
    "a date as text": (
        "born",
        {"lower": "1960-05-01", "upper": "2010-12-31", "missing": ()},
        {"lower"},
    ),
    "spikes": ("income", {"upper": 1e6, "lower": -1.0, "bins": 3}, {"spikes", "decimals"}),
    "a confirmation of something else": (
        "age",
        {"confirmed": {"lower": "law", "bins": "judgement"}},
        {"upper"},
    ),
    "an empty confirmation": (
        "age",
        {"confirmed": {"lower": "", "upper": " \t"}},
        {"lower", "upper"},
    ),
}


@pytest.mark.parametrize(("name", "entries", "left"), ATTACKS.values(), ids=ATTACKS)
def test_no_change_excuses_what_still_stands_as_drafted(name, entries, left):
    """Claim: a value of the draft is recognised in whatever form and entry it stands."""
    schema = changed(name, **entries)
    schema.require_reviewed()
    assert set(schema.columns[name].left_as_drafted) == left
    promise = guarantee_of(schema)
    assert promise.kind == "conditional"
    assert promise.is_nominal
    told = f"{name} ({', '.join(schema.columns[name].left_as_drafted)})"
    assert told in " ".join(promise.leaks)
    assert told in promise.statement


def test_what_was_replaced_is_not_accused():
    """Against a test that cannot fail: where every value is another one, nothing is left."""
    column = changed("age", lower=0, upper=120, bins=(0, 18, 120)).columns["age"]
    assert column.left_as_drafted == ()
    assert changed("sex", levels=("female", "male")).columns["sex"].left_as_drafted == ()


def test_everything_confirmed_is_pure_and_the_stamp_says_where():
    confirmed = {
        name: {key: f"codebook, {key}" for key in column.left_as_drafted}
        for name, column in Schema.loads(REVIEWED).columns.items()
    }
    schema = Schema.loads(REVIEWED)
    for name, places in confirmed.items():
        column = schema.columns[name].model_copy(update={"confirmed": places})
        schema = schema.model_copy(update={"columns": {**schema.columns, name: column}})
    promise = guarantee_of(schema)
    assert (promise.kind, promise.leaks) == ("pure", ())
    sources = {one.what: one.source for one in promise.public_inputs}
    assert sources["levels of sex"] == "codebook; codebook, levels"
    assert not any(one.note for one in promise.public_inputs)


def test_no_release_tells_which_bounds_stand_as_they_were_read_from_the_rows():
    """Claim: a confirmed bound of the draft and one that was changed leave with the same words.

    A reader who knew that a bound is the draft's would know the smallest value but for rounding.
    """
    one = Schema.loads(REVIEWED)
    age = one.columns["age"]
    assert {"lower", "upper"} <= set(age.left_as_drafted)
    left = dict.fromkeys(age.left_as_drafted, "census")
    as_drafted = age.model_copy(update={"source": "census", "confirmed": left})
    changed_since = age.model_copy(update={"source": "census", "drafted": {"lower": "0" * 8}})
    seen = []
    for column in (as_drafted, changed_since):
        schema = one.model_copy(update={"columns": {**one.columns, "age": column}})
        (said,) = (x for x in guarantee_of(schema).public_inputs if x.what.endswith(" of age"))
        seen.append((said, schema.strip_fingerprints().columns["age"]))
    assert seen[0] == seen[1]
    assert seen[0][1].confirmed == seen[0][1].drafted == {}


@pytest.mark.parametrize("n_bins", [37, 81])
def test_a_number_of_bins_that_was_read_from_the_rows_is_left_in(n_bins):
    """Claim: a number of bins tells the range of the rows, unless it follows from the bounds."""
    rows = pl.DataFrame({"a": RNG.integers(3, 40, 5_000)})  # 37 values, each with a bin
    column = Schema.loads(us.draft(rows)).columns["a"]
    assert column.bins == 37
    entries = {"lower": 0, "upper": 120, "bins": n_bins, "drafted": column.drafted}
    other = Integer(kind="integer", **entries)
    assert other.left_as_drafted == (("bins",) if n_bins == 37 else ())
    known = {"lower": "law", "upper": "law"}
    assert column.model_copy(update={"confirmed": known}).left_as_drafted == ()


def test_the_usual_number_of_bins_has_no_fingerprint():
    assert set(AGE.drafted) == {"lower", "upper"}
    assert AGE.bins == 20


def test_a_schema_seen_through_bins_or_groups_is_stamped_too():
    """Claim: coarser states, which hold the drafted values in another form, excuse nothing."""
    schema = Schema.loads(REVIEWED)
    binned = schema.with_bins({"age": 1, "income": 3})
    assert binned.columns["age"].left_as_drafted == ("lower", "upper")
    size = schema.columns["age"].size
    grouped = schema.with_groups({"age": tuple(int(k > 3) for k in range(size))})
    assert grouped.columns["age"].left_as_drafted == ("levels",)
    gate = open_gate(Table(ROWS, schema), Budget.of(1), SecureRandomness())
    promise = gate.guarantee()
    assert promise.kind == "conditional"
    assert gate.rebin({"age": 1}).guarantee() == promise
    assert gate.group({"age": tuple(int(k > 3) for k in range(size))}).guarantee() == promise


def test_groups_are_not_reviewed_by_being_made():
    """Claim: `with_groups` of an unreviewed schema gives no reviewed one."""
    schema = Schema.loads(DRAFT.replace("reviewed = true", "reviewed = false"))
    groups = {name: (0,) * column.size for name, column in schema.columns.items()}
    with pytest.raises(SchemaError, match="not reviewed"):
        schema.with_groups(groups).require_reviewed()


@pytest.mark.parametrize("mechanism", ["sufficient-statistics", "k-norm", "functional"])
def test_a_regression_is_stamped_too(mechanism):
    """Claim: neither a promise without synthetic records nor one of a part of the columns is a way
    around the stamp."""
    schema = Schema.loads(REVIEWED)
    found = us.regress(ROWS, schema, "income ~ age", epsilon=1, mechanism=mechanism)
    assert found.guarantee.kind == "conditional"
    assert "age (lower, upper)" in found.guarantee.statement


@pytest.mark.parametrize("kind", ["pure", "approximate", "zcdp"])
def test_no_guarantee_with_a_leak_can_be_written_down_as_pure(kind):
    """Claim: whoever makes a guarantee, a leak of any kind makes it conditional; in JSON too."""
    promise = Guarantee(kind, 1, 0, "add_remove", leaks=("Something was left in.",))
    assert promise.kind == "conditional"
    content = promise.to_json() | {"kind": kind}  # as older versions wrote it
    assert Guarantee.from_json(content).kind == "conditional"
    assert Guarantee("none", None, 0, "add_remove", leaks=("Counts.",)).kind == "none"
    assert Guarantee("asymptotic", None, 0, "add_remove", leaks=("X.",)).kind == "asymptotic"


@pytest.fixture(scope="module")
def prints():
    """Every fingerprint of the draft."""
    columns = Schema.loads(REVIEWED).columns.values()
    found = {one for column in columns for text in column.drafted.values() for one in text.split()}
    assert len(found) > 8
    return found


def texts(folder):
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            yield path, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            yield path, pl.read_parquet(path).write_csv()


def test_fingerprints_leave_with_no_file(tmp_path, prints):
    """Claim: neither the folder of a release nor its checkpoint holds a fingerprint.

    A value is found from its fingerprint by trying all numbers, so one is as good as the value.
    """
    schema = Schema.loads(REVIEWED)
    made = us.synthesize(
        ROWS,
        schema,
        epsilon=1,
        method="independent",
        checkpoint=tmp_path / "checkpoint",
        keep_checkpoint=True,
    )
    made.save(tmp_path / "release", csv=True)
    seen = [path.name for path, text in texts(tmp_path) if any(one in text for one in prints)]
    assert seen == []
    assert {"schema.toml", "manifest.json", "report.html"} <= {p.name for p, _ in texts(tmp_path)}
    assert made.guarantee.kind == "conditional"
    assert json.loads((tmp_path / "release" / "manifest.json").read_text(encoding="utf-8"))[
        "guarantee"
    ]["leaks"]


def test_fingerprints_leave_with_no_plan_and_no_map(prints):
    """Claim: neither a plan nor an R-U map, nor its page, holds a fingerprint."""
    schema = Schema.loads(REVIEWED)
    drawn = us.tradeoff(ROWS, schema, methods=["independent"], epsilons=[1], repetitions=1)
    plan = us.plan(schema, epsilon=1, method="independent")
    for shown in (json.dumps(drawn.value.to_json()), page(drawn.value), repr(plan)):
        assert not [one for one in prints if one in shown]


def test_fingerprints_leave_with_no_release_made_by_hand(tmp_path, prints):
    """Claim: a release holds no fingerprint, whoever puts it together, nor does what is read."""
    schema = Schema.loads(REVIEWED)
    made = us.synthesize(ROWS, schema, epsilon=1, method="laplace")
    by_hand = Release(made.tables, schema, made.manifest, made.measurements)
    for release in (made, by_hand):
        shown = f"{release!r}{release.schema.dumps()}{release.schema!r}"
        assert not [one for one in prints if one in shown]
    folder = by_hand.save(tmp_path / "release")
    assert not [path for path, text in texts(folder) if any(one in text for one in prints)]


def test_the_schema_of_a_conditional_release_makes_no_other_promise_pure(tmp_path):
    """Claim: what is left in is told again by whoever takes over the schema of a release."""
    schema = Schema.loads(REVIEWED)
    made = us.synthesize(ROWS, schema, epsilon=1, method="independent")
    taken = Schema.load(made.save(tmp_path / "release") / "schema.toml")
    again = us.synthesize(ROWS, taken, epsilon=1, method="independent")
    assert again.guarantee.kind == "conditional"
    assert again.guarantee.leaks == made.guarantee.leaks
    assert taken.strip_fingerprints() == taken


def test_methods_never_see_a_fingerprint(prints):
    """Claim: what stands in front of the gate stays there, in every view."""
    gate = open_gate(Table(ROWS, Schema.loads(REVIEWED)), Budget.of(1), SecureRandomness())
    for one in (gate, gate.rebin({"age": 3}), gate.group({"sex": (0, 1, 1)})):
        assert not [print_ for print_ in prints if print_ in one.schema.dumps()]


def test_no_fault_shows_a_fingerprint_or_a_drafted_value(prints):
    """Claim: what is wrong with a draft is said without what was read from the rows."""
    schema = Schema.loads(REVIEWED)
    with pytest.raises(ValidationError) as caught:
        schema.model_copy(update={"rows": "public"})
    with pytest.raises(ValidationError) as inner:
        schema.columns["age"].model_validate(schema.columns["age"].model_dump() | {"lower": 10**6})
    for shown in (str(caught.value), str(inner.value)):
        assert not [one for one in prints if one in shown]
        assert str(HIGH) not in shown


def test_the_longer_fingerprints_of_earlier_drafts_are_recognised():
    """Claim: a mark that was left with twelve digits holds, now that eight are left."""
    digest = hashlib.sha256(json.dumps(["value", "17"]).encode()).hexdigest()
    entries = {"kind": "integer", "lower": 17, "upper": 120, "drafted": {"lower": digest[:12]}}
    assert Integer(**entries).left_as_drafted == ("lower",)
    assert Integer(**entries | {"lower": 18}).left_as_drafted == ()


def test_a_mark_of_the_older_kind_is_refused_with_the_way_out():
    """Claim: a mark that cannot tell what was changed excuses nothing, not even by accident."""
    text = '[columns.a]\nkind = "integer"\nlower = 3\nupper = 9\ndrafted = "0123456789abcdef"\n'
    with pytest.raises(SchemaError, match=r"column 'a', drafted: .*draft the schema anew"):
        Schema.loads(text)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('confirmed = { uper = "law" }', r"names 'uper'.*did you mean 'upper'"),
        ('confirmed = { kind = "law" }', "names 'kind', which is no entry that could"),
        ('confirmed = { levels = "law" }', "lower, upper, bins"),
        ("confirmed = { upper = true }", "confirmed"),
        ('confirmed = "codebook"', "confirmed: must be a table"),
    ],
)
def test_a_confirmation_of_nothing_is_an_error(text, phrase):
    """Claim: a misspelt confirmation does not pass for one."""
    with pytest.raises(SchemaError, match=phrase):
        Schema.loads(f'[columns.a]\nkind = "integer"\nlower = 3\nupper = 9\n{text}\n')
