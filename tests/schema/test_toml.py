"""Schemas as text: exact round trip, order of entries, a sentence per fault, JSON Schema."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from night import NIGHT
from understudy.errors import SchemaError, name_fault
from understudy.schema import (
    Boolean,
    Categorical,
    Continuous,
    Date,
    Datetime,
    Duration,
    Integer,
    Ordinal,
    Rule,
    Schema,
    Time,
    Unit,
)
from understudy.schema.columns import KINDS
from understudy.schema.file_format import FileFormat

reproducible = settings(derandomize=True, deadline=None)
VALIDATOR = jsonschema.Draft202012Validator(Schema.json_schema())
PUBLISHED = Path(__file__).parents[2] / "docs" / "schema.json"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = (
    texts
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.dates()
)
small_floats = st.floats(-1e9, 1e9, allow_nan=False)


@st.composite
def absence(draw):
    """What every column may declare; codes that no value can be confused with."""
    codes = draw(st.lists(texts.map("code ".__add__), unique=True, max_size=4))
    cut = draw(st.integers(0, len(codes)))
    return {
        "missing": (*codes[:cut], *draw(st.sampled_from([(), ("",), (-(10**9) - 1,)]))),
        "not_applicable": tuple(codes[cut:]),
        "out_of_domain": draw(st.sampled_from([None, "elsewhere"])),
        "description": draw(texts),
        "unit": draw(texts),
        "source": draw(texts),
        "reviewed": draw(st.booleans()),
        "confirmed": draw(st.dictionaries(st.sampled_from(["missing", "out_of_domain"]), texts)),
        "drafted": draw(st.dictionaries(texts, texts, max_size=2)),
    }


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(list(KINDS.values())))
    entries = {"kind": kind.__name__.lower(), **draw(absence())}
    if kind in (Categorical, Ordinal):
        entries["levels"] = tuple(draw(st.lists(values, min_size=1, max_size=6)))
    elif kind is Integer:
        entries |= draw(edges(st.integers(-(10**9), 10**9), draw))
    elif kind is Continuous:
        entries |= draw(edges(small_floats, draw))
        entries["decimals"] = draw(st.none() | st.integers(0, 12))
    elif kind is Date:
        entries |= draw(edges(st.dates(), draw))
        entries.pop("spikes", None)
    elif kind in (Datetime, Time):
        ends = st.times() if kind is Time else st.datetimes()
        entries |= draw(edges(ends.map(lambda end: end.replace(microsecond=0)), draw))
        entries.pop("spikes")
        entries["resolution"] = draw(st.sampled_from(["second", "minute", "hour"]))
    elif kind is Duration:
        lower, upper = sorted(draw(st.tuples(st.integers(-5, 99), st.integers(-5, 99))))
        entries |= {"lower": f"{'-' * (lower < 0)}P{abs(lower)}D", "bins": 1}
        entries["upper"] = f"{'-' * (upper < 0)}PT{abs(upper * 24)}H"
    try:
        return kind(**entries)
    except ValidationError:  # levels that are one value, a spike that fills a bin, …
        return Boolean(kind="boolean")


@st.composite
def edges(draw, numbers, _):
    found = sorted(draw(st.sets(numbers, min_size=2, max_size=6)))
    bins = draw(st.sampled_from([tuple(found), 1, 2]))
    spikes = tuple(draw(st.lists(st.sampled_from(found), unique=True, max_size=2)))
    return {"lower": found[0], "upper": found[-1], "bins": bins, "spikes": spikes}


@st.composite
def rules(draw, table):
    where = {}
    for name in draw(st.lists(st.sampled_from(sorted(table)), unique=True, min_size=1)):
        column = table[name]
        named = [*getattr(column, "levels", ()), *column.codes]
        if named:
            where[name] = draw(
                st.sampled_from(named)
                | st.lists(st.sampled_from(named), min_size=1, max_size=2).map(tuple)
            )
        elif isinstance(column, Integer | Date):
            where[name] = {"lower": column.lower, "upper": column.upper}
    return Rule(where=where, source=draw(texts), reviewed=draw(st.booleans())) if where else None


FORMS = [
    FileFormat(),
    FileFormat(separator="\t", quote="", multiline=True),
    FileFormat(separator=";", decimal=",", encoding="cp850", source="x", confirmed={"quote": "y"}),
    FileFormat(reviewed=True, drafted={"separator": "0123456789ab"}),
]


@st.composite
def schemas(draw):
    names = texts.filter(lambda name: not name_fault(name))
    table = draw(st.dictionaries(names, columns(), min_size=1, max_size=4))
    found = [rule for rule in draw(st.lists(rules(table), max_size=3)) if rule is not None]
    public = draw(st.booleans())
    entries = {
        "title": draw(texts),
        "rows": "public" if public else "private",
        "n_rows": draw(st.integers(0, 10**12)) if public else None,
        "row_limit": None if public else draw(st.none() | st.integers(1, 10**12)),
        "unit": Unit(description=draw(texts)),
        "file": draw(st.sampled_from(FORMS)),
        "columns": table,
    }
    try:
        return Schema(**entries, forbidden=tuple(found))
    except ValidationError:  # the rules leave nothing
        return Schema(**entries)


def types_of(value):
    """A value with its types, so that 3 and 3.0 differ."""
    if isinstance(value, dict):
        return {key: types_of(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [types_of(one) for one in value]
    return type(value), value


@pytest.mark.fuzz
@settings(reproducible, max_examples=80 if NIGHT else 12)
@given(schemas())
def test_round_trip_is_exact(schema):
    text = schema.dumps()
    again = Schema.loads(text)
    assert again == schema
    assert types_of(again.model_dump()) == types_of(schema.model_dump())
    assert again.names == schema.names
    assert again.dumps() == text
    assert [column.fingerprints() for column in again.columns.values()] == [
        column.fingerprints() for column in schema.columns.values()
    ]


@settings(reproducible, max_examples=60 if NIGHT else 25)
@given(schemas())
def test_whatever_is_written_fits_the_json_schema(schema):
    VALIDATOR.validate(as_json(schema.dumps()))


def test_columns_keep_their_order_and_entries_get_a_fixed_one():
    text = """
[columns.b]
drafted = { lower = "x" }
confirmed = { upper = "law" }
reviewed = true
source = "law"
missing = [""]
bins = 2
upper = 9
lower = 0
kind = "integer"
[columns.a]
levels = ["z", "y"]
kind = "categorical"
"""
    written = tomllib.loads(Schema.loads(text).dumps())
    assert list(written) == ["format", "rows", "unit", "columns"]
    assert list(written["columns"]) == ["b", "a"]
    entries = ["kind", "lower", "upper", "bins", "missing"]
    entries += ["source", "reviewed", "confirmed", "drafted"]
    assert list(written["columns"]["b"]) == entries
    assert written["columns"]["a"] == {"kind": "categorical", "levels": ["z", "y"]}


def test_whole_numbers_of_a_range_stay_whole():
    text = """
[columns.age]
kind = "integer"
lower = 0
upper = 9
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[[forbidden]]
where = { age = { lower = 0, upper = 4 }, sex = "m" }
"""
    schema = Schema.loads(text)
    assert "age = { lower = 0, upper = 4 }" in schema.dumps()
    assert schema.forbidden[0].text == "age = 0 to 4 and sex = m"


def test_files_are_saved_and_loaded(tmp_path):
    schema = Schema.loads('[columns."ä\\n"]\nkind = "boolean"')
    schema.save(tmp_path / "a.toml")
    assert Schema.load(tmp_path / "a.toml") == schema
    with pytest.raises(SchemaError, match=r"nowhere\.toml' cannot be read: No such file"):
        Schema.load(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe4"')
    with pytest.raises(SchemaError, match="not UTF-8 text"):
        Schema.load(tmp_path / "latin.toml")


def column(kind, rest=""):
    return f'[columns.a]\nkind = "{kind}"\n{rest}'


FAULTS = [
    ("x =", "not valid TOML"),
    ("a" * 3, "not valid TOML"),
    ("x = " + "[" * 5000, "not valid TOML"),
    ("", "columns: this entry is required; add it"),
    ("[columns]", "columns: must not be empty"),
    ("columns = 3", "columns: must be a table that maps"),
    ("[columns]\na = 3", "column 'a': must be a table with an entry `kind`"),
    ("[columns.a]", "column 'a': kind must be one of categorical"),
    (column("text"), "column 'a': kind must be one of categorical"),
    ("format = 2\n" + column("boolean"), "format: must be 1"),
    ('rows = "some"\n' + column("boolean"), 'rows: must be "private" or "public"'),
    ('rows = "public"\n' + column("boolean"), 'rows = "public" needs n_rows'),
    ("n_rows = 5\n" + column("boolean"), 'n_rows is for rows = "public"'),
    ("n_rows = 5.5\n" + column("boolean"), "n_rows: must be a whole number of rows"),
    ("row_limit = 0\n" + column("boolean"), "row_limit: must be at least 1"),
    ('rows = "public"\nn_rows = 1\nrow_limit = 2\n' + column("boolean"), "row_limit is for"),
    ("unit = 3\n" + column("boolean"), "unit: must be a table"),
    ("unit.rows_per_unit = 3\n" + column("boolean"), "unit: rows_per_unit above 1"),
    ("unit.rows = 3\n" + column("boolean"), "unit, rows: there is no such entry"),
    ("rules = 3\n" + column("boolean"), "rules: there is no such entry"),
    (column("boolean", "level = 3"), "column 'a', level: there is no such entry"),
    (column("categorical", "levels = 1"), "'a', levels: must be a list of values"),
    (column("categorical", "levels = [[1]]"), "'a', levels: must be a list of values"),
    (column("categorical", "levels = []"), "'a', levels: must not be empty"),
    (column("categorical", "levels = [nan]"), "NaN and infinity cannot be declared"),
    (column("categorical"), "'a', levels: this entry is required"),
    (column("boolean", "missing = 3"), "'a', missing: must be a list of values"),
    (column("boolean", "out_of_domain = []"), "'a', out_of_domain: must be one value"),
    (column("boolean", "source = 3"), "'a', source: must be text"),
    (column("boolean", 'reviewed = "soon"'), "'a', reviewed: must be true or false"),
    (column("integer", 'lower = "x"\nupper = 5'), "'a', lower: must be a whole number"),
    (column("integer", "lower = 0.5\nupper = 5"), "'a', lower: must be a whole number"),
    (column("integer", "lower = 0\nupper = 5\nbins = 0.5"), "must be a whole number of bins"),
    (column("continuous", "lower = nan\nupper = 5"), "'a', lower: must be a finite number"),
    (column("continuous", "lower = 6\nupper = 5"), "were the two exchanged?"),
    (column("date", "lower = 2020-01-01\nupper = 3"), "'a', upper: must be a date"),
    (column("boolean", "[[forbidden]]\nwhere = {}"), "combination 1, where: must not be empty"),
    (column("boolean", "[[forbidden]]\nwhere = { a = [] }"), "combination 1, where: must be a"),
    (column("boolean", "[[forbidden]]\nwhere = { a = { lower = 1 } }"), "where: must be a table"),
    (column("boolean", '[[forbidden]]\nsource = "x"'), "where: this entry is required"),
    ("forbidden = [3]\n" + column("boolean"), "forbidden combination 1: must be a table"),
    ("forbidden = 3\n" + column("boolean"), "forbidden: must be a list of rules"),
]


@pytest.mark.parametrize(("text", "phrase"), FAULTS, ids=[phrase for _, phrase in FAULTS])
def test_every_fault_is_one_sentence_without_jargon(text, phrase):
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    message = str(caught.value)
    assert phrase in message
    assert message.endswith((".", "?"))
    assert not message.endswith(("..", "?."))
    for jargon in ("tuple", "dictionary", "instance", "validation", "pydantic", "input"):
        assert jargon not in message


def faults_of(text):
    """The lines of a refusal of several faults, without its heading."""
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    heading, *lines = str(caught.value).split("\n")
    assert heading == f"The schema does not hold together, {len(lines)} faults:"
    assert all(line.startswith("  ") and line.endswith((".", "?")) for line in lines)
    return [line.strip() for line in lines]


def test_further_faults_are_told_once_each():
    text = column("integer", 'lower = "x"\nupper = "y"\nbins = "z"')
    assert faults_of(text) == [
        "column 'a', lower: must be a whole number.",
        "column 'a', upper: must be a whole number.",
        "column 'a', bins: must be a whole number of bins, or the list of edges from lower to "
        "upper.",
    ]


MANY = """
titel = "People"
rows = "privat"
[unit]
row_per_unit = 1
[columns.age]
kind = "integer"
lower = 0
uper = 99
missing = 3
[columns.sex]
kind = "categoric"
levels = ["f", "f"]
[columns.income]
kind = "continuous"
lower = 9
upper = 3
spikes = "0"
[columns.job]
kind = "ordinal"
levels = ["none", "some"]
[columns.born]
kind = "date"
lower = 2000-01-01
upper = 2000-01-05
bins = "x"
spikes = [0]
[[forbidden]]
where = { agee = 3, job = "nne" }
[[forbidden]]
were = { job = "none" }
[[forbidden]]
where = { job = { lower = 1, uppr = 3 } }
[[forbidden]]
where = { sex = "x", job = "some" }
"""


def test_all_faults_are_told_together_in_the_order_of_the_file():
    """Misspelt words are one fault each; what hangs on a fault is not blamed for it."""
    found = faults_of(MANY)
    assert found == [
        "titel: there is no such entry (did you mean 'title'?).",
        'rows: must be "private" or "public" (did you mean \'private\'?).',
        "unit, row_per_unit: there is no such entry (did you mean 'rows_per_unit'?).",
        "column 'age', uper: there is no such entry (did you mean 'upper'?).",
        "column 'age', missing: must be a list of values (each text, a number, a date, true or "
        "false).",
        "column 'sex', kind: there is no kind 'categoric' (did you mean 'categorical'?).",
        "column 'sex': 'f' stands twice among the levels and codes (3, 3.0 and '3' are one level); "
        "keep one of them.",
        "column 'income', spikes: must be a list of numbers (whole ones if the column is).",
        "column 'income': lower must be below upper; were the two exchanged?",
        "column 'born', spikes: a column of kind date has no such entry; take it out, or correct "
        "the kind.",
        "column 'born', bins: must be a whole number of bins, or the list of edges from lower to "
        "upper.",
        "forbidden combination 2, were: there is no such entry (did you mean 'where'?).",
        "forbidden combination 3, where: 'job', uppr: there is no such entry (did you mean "
        "'upper'?).",
        "forbidden combination 'agee = 3 and job = nne' names the column 'agee', which the schema "
        "does not have (did you mean 'age'?); correct the name or remove the rule.",
        "forbidden combination 'agee = 3 and job = nne' names the value 'nne' of 'job', which is "
        "neither among its levels nor among its codes (did you mean 'none'?); add it or correct "
        "it.",
        "forbidden combination 'job = 1 to 3' gives a range for 'job', which has levels; list the "
        "levels.",
    ]


NEAR = [
    (column("integer", "lower = 0\nuper = 3"), "column 'a', uper", "upper"),
    (column("integer", "LOWER = 0\nupper = 3"), "column 'a', LOWER", "lower"),
    (column("integer", "lower = 0\nupper = 3\nmising = [9]"), "column 'a', mising", "missing"),
    (column("categoric", 'levels = ["x"]'), "column 'a', kind", "categorical"),
    ('[columns.a]\nkinds = "boolean"', "column 'a', kinds", "kind"),
    ('[colums.a]\nkind = "boolean"', "colums", "columns"),
    ('rows = "privat"\n' + column("boolean"), "rows", "private"),
    ("[unit]\nrows_per_units = 1\n" + column("boolean"), "unit, rows_per_units", "rows_per_unit"),
    ("[[forbiden]]\nwhere = { a = true }\n" + column("boolean"), "forbiden", "forbidden"),
]


@pytest.mark.parametrize(("text", "where", "meant"), NEAR, ids=[where for _, where, _ in NEAR])
def test_a_misspelt_word_is_one_fault_and_names_the_nearest(text, where, meant):
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    message = str(caught.value)
    assert message.startswith(f"The schema does not hold together: {where}: ")
    assert f"(did you mean {meant!r}?)" in message
    assert "required" not in message
    assert "\n" not in message


def test_an_entry_of_another_kind_is_not_called_misspelt():
    with pytest.raises(SchemaError, match=r"'a', decimals: a column of kind integer has no such"):
        Schema.loads(column("integer", "lower = 0\nupper = 3\ndecimals = 1"))


def test_an_entry_that_is_there_is_not_what_is_meant():
    text = column("integer", "lower = 0\nupper = 3\nuppr = 4")
    with pytest.raises(SchemaError, match=r"'a', uppr: there is no such entry; check the spelling"):
        Schema.loads(text)


def test_very_many_faults_are_cut_short():
    text = "".join(f'[columns.c{k}]\nkind = "integer"\nlower = 0\n' for k in range(25))
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    heading, *lines = str(caught.value).split("\n")
    assert heading.endswith("25 faults:")
    assert len(lines) == 21
    assert lines[-1] == "  … and 5 more."


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("x =", "line 1, column 4"),
        ('title = "a"\n[columns.a]\nkind = integer\n', "line 3, column 8"),
        ('[columns.a]\nkind = "integer\n', "line 2, column 16"),
        ("[columns.a]\n[columns.a]\n", "line 2, column 11"),
        ("levels = [\n1,\n", "line 2, column 3"),
    ],
)
def test_faults_of_syntax_name_line_and_column(text, where):
    with pytest.raises(SchemaError, match=f"^The schema is not valid TOML at {where}: .*"):
        Schema.loads(text)


def test_a_number_without_end_is_a_fault_like_any_other():
    with pytest.raises(SchemaError, match="too long"):
        Schema.loads(f"n_rows = {'1' * 5_000}")


@settings(reproducible, max_examples=80 if NIGHT else 12)
@given(schemas(), st.data())
def test_a_spoilt_schema_is_refused_with_its_fault_and_without_a_crash(schema, data):
    """Any entry replaced by something else, anywhere: either it is a schema, or it is told."""
    content = tomllib.loads(schema.dumps())
    places = [(content, key) for key in content]
    places += [(content["columns"], name) for name in content["columns"]]
    places += [(one, key) for one in content["columns"].values() for key in one]
    places += [(rule, key) for rule in content.get("forbidden", ()) for key in rule]
    for table, key in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        spoilt = data.draw(st.sampled_from([3, "x", [], {}, True, {"lower": 1}, [3], -0.5]))
        table[data.draw(st.sampled_from([key, f"{key}s", key[:-1]]))] = spoilt
        if data.draw(st.booleans()):
            table.pop(key, None)
    try:
        Schema.loads(tomli_w.dumps(content))
    except SchemaError as error:
        assert str(error).startswith("The schema does not hold together")  # noqa: PT017


def as_json(text):
    """A TOML document as JSON has it: dates as ISO text."""
    return json.loads(json.dumps(tomllib.loads(text), default=lambda one: one.isoformat()))


GOOD = """
title = "People"
row_limit = 1000
[unit]
rows_per_unit = 1
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 99]
missing = [-9, ""]
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2020-01-01
[columns.job]
kind = "categorical"
levels = ["none", 1, 2.5, true, 2020-01-01]
[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = [1, 2.5] }
"""


def test_the_published_json_schema_is_the_current_one():
    current = json.dumps(Schema.json_schema(), indent=2, ensure_ascii=False) + "\n"
    assert PUBLISHED.read_text(encoding="utf-8") == current


def test_the_json_schema_is_one_and_accepts_a_good_document():
    schema = Schema.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    Schema.loads(GOOD)
    VALIDATOR.validate(as_json(GOOD))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind = "integer"', 'kind = "number"'),
        ("lower = 0\nupper = 99", "upper = 99"),
        ("lower = 0\nupper = 99", "lower = 0.5\nupper = 99"),
        ("missing", "misssing"),
        ('title = "People"', "title = 3"),
        ("rows_per_unit = 1", "rows_per_unit = 2"),
        ("row_limit = 1000", "row_limit = 0"),
        ('levels = ["none", 1, 2.5, true, 2020-01-01]', "levels = []"),
        ("job = [1, 2.5]", "job = []"),
        ("upper = 17 }", "uper = 17 }"),
    ],
)
def test_the_json_schema_refuses_what_the_reader_refuses(old, new):
    bad = GOOD.replace(old, new)
    assert bad != GOOD
    with pytest.raises(SchemaError):
        Schema.loads(bad)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(as_json(bad))


def test_the_json_schema_explains_every_entry():
    definitions = Schema.json_schema()
    for definition in [definitions, *definitions["$defs"].values()]:
        for name, entry in definition["properties"].items():
            assert name == "kind" or entry.get("description"), name
