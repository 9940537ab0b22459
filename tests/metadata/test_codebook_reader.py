"""Codebooks of all formats: the same facts give the same columns, and no file does harm."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy as us
from made_codebooks import ALL, DDI, FULL, LABELS, PEOPLE
from understudy.errors import SchemaError, UnderstudyError
from understudy.metadata import codebook
from understudy.schema import Schema


@pytest.fixture
def read(tmp_path):
    """Read a codebook of a name and text."""

    def reading(name, content, table=""):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return us.read_codebook(path, table)

    return reading


@pytest.mark.parametrize("name", FULL)
def test_the_same_facts_give_the_same_columns(read, name):
    book = read(name, FULL[name])
    found = {}
    for variable, column in book.columns.items():
        domain = column.levels if hasattr(column, "levels") else (column.lower, column.upper)
        found[variable] = (column.kind, domain, column.missing)
    expected = dict(PEOPLE)
    if name.endswith(".sps"):  # which can name no bounds
        assert expected.pop("age")
        assert book.asked["age"].needed == ("lower", "upper")
        assert book.asked["age"].entries["kind"] == "integer"
    assert found == expected
    assert book.columns["sex"].value_labels == LABELS
    assert book.columns["sex"].description == "Sex of the respondent"
    place = "People of a town" if book.title else name
    assert book.columns["sex"].source == f"{place}, variable sex"
    assert not any(column.reviewed for column in book.columns.values())


@pytest.mark.parametrize("name", ["people.xml", "people-3.xml", "people.jsonld"])
def test_a_range_that_may_have_been_observed_is_left_as_drafted(read, name):
    age = read(name, FULL[name]).columns["age"]
    assert age.left_as_drafted == ("lower", "upper")
    assert read(name, FULL[name]).columns["sex"].drafted == {}


@pytest.mark.parametrize("name", ["people.json", "people.csv"])
def test_a_constraint_is_a_source(read, name):
    age = read(name, FULL[name]).columns["age"]
    assert age.left_as_drafted == ()
    assert not age.is_unsourced


@pytest.mark.parametrize("name", ALL)
def test_the_text_is_a_schema_but_for_what_is_asked_for(read, name):
    book = read(name, ALL[name])
    text = book.dumps()
    asked = {variable: one for variable, one in book.asked.items() if not one.in_words}
    if asked:
        with pytest.raises(SchemaError) as fault:
            Schema.loads(text)
        for variable, one in asked.items():
            assert all(f"column {variable!r}" in str(fault.value) for _ in one.needed)
        assert all(f"'{variable}': add " in text for variable in asked)
        return
    schema = Schema.loads(text)
    assert dict(schema.columns) == book.columns
    with pytest.raises(SchemaError, match="not reviewed"):
        schema.require_reviewed()


def test_the_name_of_a_file_stands_for_a_title(read):
    assert read("my.csv", "variable,type,lower,upper\nage,integer,0,9\n").columns["age"].source == (
        "my.csv, variable age"
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xml", "<codeBook><dataDscr><var name='x'></dataDscr></codeBook>", "line 1 .*well-for"),
        ("a.xml", "<html><p>x</p></html>", "root 'html'.*DDI"),
        ("a.xml", "<?xml version='1.0' encoding='klingon'?><codeBook/>", "UTF-8"),
        ("a.json", '{"a": 1, "a": 2}', "a name twice"),
        ("a.json", '{"a": \n 1', "line 2, column"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", '{"x": 1}', "form that is not known"),
        ("a.csv", b"variable,label\nx,\xff\n", "line 2.*UTF-8"),
        ("a.csv", "name,label\nx,y\n", "line 1.*`variable`"),
        ("a.csv", "", "empty"),
        ("a.docx", "x", "format is not known"),
        ("a.xml", "<codeBook><dataDscr/></codeBook>", "no variable"),
        ("a.xml", "<codeBook><dataDscr><var labl='x'/></dataDscr></codeBook>", "without a name"),
        ("a.csv", "variable,type\nx,text\nx,date\n", "line 3.*another 'type'"),
    ],
)
def test_a_bad_file_is_told_in_one_sentence(read, name, content, words):
    with pytest.raises(SchemaError, match=words) as fault:
        read(name, content)
    assert "\n" not in str(fault.value)
    assert name in str(fault.value) or "codebook" in str(fault.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SchemaError, match=r"cannot be read: No such file"):
        us.read_codebook(tmp_path / "none.xml")


def test_a_variable_described_twice_is_told(read):
    twice = DDI.replace('name="mood"', 'name="sex"')
    with pytest.raises(SchemaError, match="'sex' twice"):
        read("a.xml", twice)


def test_hostile_names_and_labels_stay_within_their_comment_and_key(read):
    name = 'x"]\n[columns.evil]\nkind = "boolean"\n\x1b[31m'
    fields = [{"name": name, "type": "integer"}, {"name": "y" + name, "type": "string"}]
    ok = {"name": "ok", "type": "boolean", "title": "a\nb\x1b[31m"}
    book = read("a.json", json.dumps({"fields": [*fields, ok]}))
    text = book.dumps()
    lines = text.splitlines()
    assert "[columns.evil]" not in lines
    assert "\x1b" not in text
    assert book.columns["ok"].description == "a b\ufffd[31m"
    assert all(one.startswith("#") for one in lines[: lines.index("format = 1") - 1])


@pytest.mark.nightly
def test_a_hundred_thousand_levels(read):
    lines = "".join(f",{k},label {k}\n" for k in range(10**5))
    column = read("a.csv", f"variable,code,value\nicd,,\n{lines}").columns["icd"]
    assert len(column.levels) == len(column.value_labels) == 10**5


def test_one_list_for_many_variables_does_not_grow_without_end(read, monkeypatch):
    monkeypatch.setattr(codebook, "_MOST_CODES", 10**4)
    names = " ".join(f"v{k}" for k in range(2000))
    codes = " ".join(f"{k} 'label {k}'" for k in range(2000))
    with pytest.raises(SchemaError, match="more than 10,000 codes in all"):
        read("a.sps", f"VALUE LABELS {names} {codes}.\n")
    stata = [f'label define l {k} "x", add' for k in range(200)]
    stata += [f"label values v{k} l" for k in range(200)]
    with pytest.raises(SchemaError, match="codes in all"):
        read("a.do", "\n".join(stata))
    ranges = "".join(f"<range min='{k}' max='{k}'/>" for k in range(200))
    book = read(
        "a.xml",
        f"<codeBook><dataDscr><var name='x'><invalrng>{ranges}</invalrng></var>"
        "</dataDscr></codeBook>",
    )
    assert "more than 100 ranges" in book.left_out["x"]


def test_only_some_variables(read):
    book = read("people.csv", FULL["people.csv"])
    assert list(book.only(["age", "sex"]).columns) == ["sex", "age"]
    with pytest.raises(SchemaError, match="did you mean 'mood'"):
        book.only(["mod"])


@pytest.mark.fuzz
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.sampled_from(sorted(ALL)), data=st.data())
def test_a_damaged_codebook_is_read_or_refused(tmp_path, name, data):
    text = ALL[name]
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 12))
    instead = data.draw(
        st.sampled_from(["", '"', "'", "<", "(", "/", ".", "9", "[]", "{}", "null"])
    )
    path = tmp_path / name
    path.write_text(text[:at] + instead + text[at + length :], encoding="utf-8")
    try:
        book = us.read_codebook(path)
        content = book.dumps()
    except UnderstudyError as refusal:
        error = refusal
    else:
        error = None
    if error is not None:
        assert "\n" not in str(error)
        return
    if all(one.in_words for one in book.asked.values()):
        Schema.loads(content)
