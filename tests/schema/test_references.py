"""What is said once for many columns reads as if it were written out, or is refused by its place.

The oracle of the properties writes everything out by hand.
"""

import tomllib
from contextlib import suppress

import jsonschema
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.errors import SchemaError
from understudy.schema import Schema, toml
from understudy.schema.references import resolve_references

reproducible = settings(derandomize=True, deadline=None, max_examples=40 if NIGHT else 20)
VALIDATOR = jsonschema.Draft202012Validator(Schema.json_schema())

TEXT = """
[lists.grades]
levels = [1, 2, 3]
value_labels = { 1 = "low", 2 = "middle", 3 = "high", -9 = "not known", -8 = "refused" }
[[defaults]]
columns = ["q*", "age"]
missing = [-9]
source = "codebook"
reviewed = true
[[defaults]]
columns = ["q2"]
source = "codebook, page 2"
[columns.age]
kind = "integer"
lower = 0
upper = 99
missing = [-1]
[columns.q1]
kind = "ordinal"
levels = { list = "grades" }
description = "the first"
confirmed = { levels = "page 1" }
drafted = { levels = "aaaaaaaa" }
[columns.q2]
like = "q1"
drafted = { levels = "bbbbbbbb", missing = "cccccccc" }
[columns.q3]
like = "q2"
kind = "categorical"
missing = []
"""


def test_lists_defaults_and_likeness_stand_for_entries():
    columns = Schema.loads(TEXT).columns
    age, q1, q2, q3 = (columns[name] for name in ("age", "q1", "q2", "q3"))
    assert (age.missing, age.source, age.reviewed) == ((-1,), "codebook", True)
    assert (q1.levels, q1.missing, q1.source) == ((1, 2, 3), (-9,), "codebook")
    labels = {"1": "low", "2": "middle", "3": "high"}
    assert q1.value_labels == {**labels, "-9": "not known"}, "of values that the column has"
    assert (q2.kind, q2.levels, q2.source) == ("ordinal", (1, 2, 3), "codebook")
    assert (q3.kind, q3.missing, q3.value_labels) == ("categorical", (), labels)


def test_what_is_said_of_one_column_alone_is_not_taken_over_but_its_marks_are():
    """Otherwise `like` would be a way around a confirmation, or a mark."""
    columns = Schema.loads(TEXT).columns
    assert columns["q1"].confirmed
    assert not columns["q2"].confirmed
    assert not columns["q2"].description
    assert columns["q2"].drafted == {"levels": "aaaaaaaa bbbbbbbb", "missing": "cccccccc"}
    assert columns["q3"].drafted == columns["q2"].drafted
    real = Schema.loads('[columns.a]\nkind = "categorical"\nlevels = ["x", "y"]').columns["a"]
    text = f"""
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
confirmed = {{ levels = "law" }}
drafted = {{ levels = "{real.fingerprints()["levels"]}" }}
[columns.b]
like = "a"
"""
    columns = Schema.loads(text).columns
    assert (columns["a"].left_as_drafted, columns["b"].left_as_drafted) == ((), ("levels",))


def test_a_schema_that_is_written_refers_to_nothing(tmp_path):
    (tmp_path / "codes.csv").write_text("code,title\nA,apple\nB,pear\n", encoding="utf-8")
    (tmp_path / "a.toml").write_text(
        TEXT + '[columns.c]\nkind = "categorical"\n'
        'levels = { file = "codes.csv", column = "code", labels = "title" }',
        encoding="utf-8",
    )
    schema = Schema.load(tmp_path / "a.toml")
    assert schema.columns["c"].levels == ("A", "B")
    assert schema.columns["c"].value_labels == {"A": "apple", "B": "pear"}
    for text in (schema.dumps(), schema.strip_fingerprints().dumps()):
        content = tomllib.loads(text)
        assert not {"lists", "defaults"} & set(content)
        assert not any("like" in column for column in content["columns"].values())
        assert all(isinstance(one.get("levels", []), list) for one in content["columns"].values())
    assert Schema.loads(schema.dumps()) == schema


COLUMN = '[columns.a]\nkind = "categorical"\n'
FAULTS = [
    ("lists = 3\n" + COLUMN, "lists: must be tables"),
    ("[lists.x]\n" + COLUMN, "list 'x', levels: must be a list of values, or name a file"),
    ('[lists.x]\nlevels = { list = "x" }\n' + COLUMN, "list 'x', levels: must be a list"),
    ("[lists.x]\nlevels = [1]\nlabels = 3\n" + COLUMN, "list 'x', labels: there is no such entry"),
    ("[lists.yes]\nlevels = [1]\n" + COLUMN + 'levels = { list = "yess" }', "did you mean 'yes'?"),
    (COLUMN + 'levels = { list = "x" }', "column 'a', levels: there is no list 'x'"),
    (COLUMN + "levels = { lists = 3 }", "column 'a', levels: must be a list of values, or { list"),
    (
        COLUMN + 'levels = { file = "x.csv", column = "c" }',
        "by a schema that is no file of its own",
    ),
    (COLUMN + 'like = "a"', "the columns 'a' are like one another in a circle"),
    (
        COLUMN + 'like = "b"\n[columns.b]\nlike = "c"\n[columns.c]\nlike = "b"',
        "columns 'b', 'c' are",
    ),
    (COLUMN + "like = 3", "column 'a', like: must be the name of another column"),
    (COLUMN + 'like = "ab"\n[columns.abc]\nkind = "boolean"', "did you mean 'abc'?"),
    ("defaults = 3\n" + COLUMN, "defaults: must be tables [[defaults]]"),
    ("[[defaults]]\nmissing = [1]\n" + COLUMN, "defaults 1, columns: must be a list of names"),
    ('[[defaults]]\ncolumns = ["b*"]\n' + COLUMN, "defaults 1, columns: 'b*' fits no column"),
    ('[[defaults]]\ncolumns = ["*"]\nmising = [1]\n' + COLUMN, "did you mean 'missing'?"),
    ('[[defaults]]\ncolumns = ["*"]\ndrafted = {}\n' + COLUMN, "drafted: no default can be given"),
]


@pytest.mark.parametrize(("text", "phrase"), FAULTS, ids=[phrase for _, phrase in FAULTS])
def test_faults_name_their_place(text, phrase):
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    assert phrase in str(caught.value)


SECRET = "SECRET-VALUE-7"
FILES = [
    ("../x.csv", "code\nA\n", "must stand in the folder of the schema's file, or below"),
    ("/x.csv", "code\nA\n", "must stand in the folder of the schema's file, or below"),
    ("nowhere.csv", None, "cannot be read: No such file"),
    ("x.csv", "kode\nA\n", "has no column 'code', or several, in its first line (did you mean"),
    ("x.csv", "", "has no column 'code'"),
    ("x.csv", "code\n", "holds no code"),
    ("x.csv", f"code,b\n{SECRET}\n", "has line 2 without a code, or of another number of cells"),
    ("x.csv", f"code,b\n,{SECRET}\n", "has line 2 without a code"),
    ("x.csv", f"code\n{SECRET}\nA\n{SECRET}\n", "names the code of line 4 twice"),
    ("x.csv", b"code\n\xff\n", "is not UTF-8 text"),
    ("x.csv", 'code\n"A\n', "is no text file with one code a line"),
]


@pytest.mark.parametrize(("name", "content", "phrase"), FILES, ids=[one[2] for one in FILES])
def test_a_file_that_is_no_list_of_codes_is_refused_without_a_value(
    tmp_path, name, content, phrase
):
    """Claim: rows cannot pass for a code list, and nothing outside the folder is read."""
    folder = tmp_path / "inner"
    folder.mkdir()
    if content is not None and name[0] not in "./":
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    text = COLUMN + f'levels = {{ file = "{name}", column = "code" }}'
    (folder / "a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.load(folder / "a.toml")
    assert phrase in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_release_refers_to_no_file(tmp_path):
    """Claim: whoever loads a release from somebody else reads no file but those of the release."""
    import polars as pl

    import understudy as us

    rows = pl.DataFrame({"a": ["A", "B"] * 50})
    schema = Schema.loads(COLUMN + 'levels = ["A", "B"]\nsource = "x"\nreviewed = true')
    folder = us.synthesize(rows, schema, epsilon=1, method="independent").save(tmp_path / "release")
    (folder / "codes.csv").write_text("code\nA\nB\n", encoding="utf-8")
    place = folder / "schema.toml"
    text = place.read_text(encoding="utf-8")
    changed = text.replace('["A", "B"]', '{ file = "codes.csv", column = "code" }')
    assert changed != text
    place.write_text(changed, encoding="utf-8")
    with pytest.raises(us.UnderstudyError):
        us.Release.load(folder)


names = st.sampled_from(["a", "b", "q1", "q2", "q_3"])


@st.composite
def files(draw):
    """A schema's file with references, and the same written out."""
    found = draw(st.lists(names, min_size=1, unique=True))
    lists = {f"l{k}": [f"v{j}" for j in range(k + 1)] for k in range(3)}
    patterns = draw(
        st.lists(st.sampled_from(["*", *found, *(f"{n[0]}*" for n in found)]), max_size=2)
    )
    defaults = [
        {"columns": [pattern], "source": f"default {k}", "missing": [f"code {k}"]}
        for k, pattern in enumerate(patterns)
    ]
    columns, plain = {}, {}
    for j, name in enumerate(found):
        given = {}
        for one in defaults:
            pattern = one["columns"][0]
            if pattern in ("*", name) or (pattern[-1] == "*" and name.startswith(pattern[:-1])):
                given = {key: value for key, value in one.items() if key != "columns"}
        own = draw(st.sampled_from([{}, {"source": "own"}, {"missing": []}]))
        if j and draw(st.booleans()):
            other = draw(st.sampled_from(found[:j]))
            columns[name] = {"like": other, **own}
            plain[name] = {**given, **plain[other], **own}
        else:
            listed = draw(st.sampled_from(sorted(lists)))
            columns[name] = {"kind": "ordinal", "levels": {"list": listed}, **own}
            plain[name] = {**given, "kind": "ordinal", "levels": lists[listed], **own}
    whole = {"lists": {key: {"levels": some} for key, some in lists.items()}, "columns": columns}
    return {**({"defaults": defaults} if defaults else {}), **whole}, {"columns": plain}


@reproducible
@given(files())
def test_references_read_as_what_they_stand_for(pair):
    content, plain = pair
    assert Schema.loads(tomli_w.dumps(content)) == Schema.loads(tomli_w.dumps(plain))
    VALIDATOR.validate(content)


@reproducible
@given(files())
def test_shared_lists_are_read_back(pair):
    schema = Schema.loads(tomli_w.dumps(pair[1]))
    content = schema.model_dump(exclude_defaults=True, by_alias=True)
    assert Schema.loads(toml.dumps(content, lists=True)) == schema


anything = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3) | names,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["levels", "list", "like", "columns", "drafted", "a"]), inner
        )
    ),
    max_leaves=8,
)


@settings(reproducible, max_examples=100 if NIGHT else 30)
@given(st.fixed_dictionaries({"lists": anything, "defaults": anything, "columns": anything}))
def test_whatever_stands_there_is_resolved_or_refused(content):
    with suppress(SchemaError):
        assert not {"lists", "defaults"} & set(resolve_references(content, None))
