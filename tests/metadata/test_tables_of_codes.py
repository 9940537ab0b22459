"""Frictionless, CSVW, SDV, domain.json, dictionaries: what each entry of theirs becomes."""

import json

import pytest

import understudy as us
from made_codebooks import ALL, FRICTIONLESS
from understudy.errors import SchemaError


def read(folder, content, name="a.json", **options):
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return us.read_codebook(path, **options)


def test_constraints_of_frictionless(tmp_path):
    fields = [
        {"name": "a", "type": "string", "constraints": {"enum": ["m", "f"], "required": True}},
        {"name": "b", "type": "integer", "constraints": {"minimum": 0, "exclusiveMaximum": 9}},
        {"name": "c", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
        {"name": "d", "type": "boolean"},
        {"name": "e", "type": "date", "constraints": {"minimum": "2000-01-01"}},
        {"name": "f", "type": "geopoint"},
        {"name": "g", "type": "string", "constraints": {"unique": True}},
        {"name": "h", "type": "string"},
        {"name": "id", "type": "integer"},
    ]
    book = read(tmp_path, {"fields": fields, "primaryKey": ["id"], "missingValues": ["", "NA"]})
    columns = book.columns
    assert (columns["a"].levels, columns["a"].missing) == (("m", "f"), ())
    assert (columns["b"].lower, columns["b"].upper, columns["b"].missing) == (0, 8, ("", "NA"))
    assert columns["c"].levels == ("no", "yes")
    assert columns["d"].kind == "boolean"
    assert book.asked["e"].needed == ("upper",)
    assert list(book.told) == ["f", "g", "h", "id"]
    assert not any(column.drafted for column in columns.values())


def test_kinds_of_absence_of_frictionless(tmp_path):
    absent = [
        {"value": "8", "absence": "not applicable"},
        {"value": "9", "label": "refused"},
        {"value": "x", "absence": "out of domain"},
    ]
    limits = {"minimum": 0, "maximum": 5}
    fields = [{"name": "a", "type": "integer", "constraints": limits, "missingValues": absent}]
    column = read(tmp_path, {"fields": fields}).columns["a"]
    assert (column.not_applicable, column.missing, column.out_of_domain) == ((8,), (9,), "x")


def test_one_resource_of_several(tmp_path):
    package = json.loads(FRICTIONLESS)
    package["resources"].append(
        {"name": "b", "schema": {"fields": [{"name": "z", "type": "year"}]}}
    )
    with pytest.raises(SchemaError, match=r"2 tables.*--table.*'people', 'b'"):
        read(tmp_path, package)
    assert read(tmp_path, package, table="b").order == ("z",)
    with pytest.raises(SchemaError, match="no table 'c'"):
        read(tmp_path, package, table="c")
    package["resources"] = [{"name": "b", "schema": "http://localhost/schema.json"}]
    with pytest.raises(SchemaError, match="another file; give that file"):
        read(tmp_path, package)


def test_csvw(tmp_path):
    book = read(tmp_path, ALL["csvw.json"])
    assert book.columns["Sex"].levels == ("m", "f")
    assert (book.columns["age"].upper, book.columns["age"].missing) == (120, ())
    children = book.asked["children"]
    assert children.entries["lower"] == 0
    assert children.entries["missing"] == ("NA", "-")
    assert list(book.told) == ["id"]


def test_sdv(tmp_path):
    book = read(tmp_path, ALL["sdv.json"])
    needed = {name: one.needed for name, one in book.asked.items()}
    assert needed == {"sex": ("levels",), "age": ("lower", "upper"), "seen": ("kind",)}
    assert book.columns["mood"].levels == ("bad", "good")
    assert book.columns["mood"].kind == "ordinal"
    assert book.columns["works"].kind == "boolean"
    assert list(book.told) == ["id", "mail", "seen"]


def test_sdv_of_before_and_of_several_tables(tmp_path):
    old = {"fields": {"age": {"type": "numerical", "subtype": "integer"}, "k": {"type": "id"}}}
    assert read(tmp_path, old).asked["age"].entries["kind"] == "integer"
    several = {"METADATA_SPEC_VERSION": "V1", "tables": {"a": json.loads(ALL["sdv.json"]), "b": {}}}
    assert "mood" in read(tmp_path, several, table="a").order
    with pytest.raises(SchemaError, match="--table"):
        read(tmp_path, several)


def test_a_domain_marks_what_was_observed(tmp_path):
    book = read(tmp_path, ALL["domain.json"], "domain.json")
    assert (book.columns["sex"].levels, book.columns["sex"].missing) == (("1", "2"), ("9",))
    assert book.columns["age"].missing == ("",)
    assert book.columns["age"].drafted == {}
    assert book.columns["income"].left_as_drafted == ("lower", "upper")


def test_a_dictionary_of_codes(tmp_path):
    content = {
        "sex": {"description": "Sex", "values": {"1": "male", "2": "female"}},
        "income": {"description": "Income", "values": {"N": "child", "min": -5, "max": 900}},
        "job": {"description": "Codes of jobs", "values": None},
    }
    book = read(tmp_path, content)
    assert book.columns["sex"].value_labels == {"1": "male", "2": "female"}
    assert (book.columns["income"].missing, book.columns["income"].lower) == (("N",), -5)
    assert book.columns["income"].left_as_drafted == ("lower", "upper")
    assert book.asked["job"].needed == ("kind",)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_data_dictionary_of_text(tmp_path, separator):
    lines = [
        "Variable,Description,Code,Value label,Missing,Type,Min,Max,Decimals,Unit,Page",
        "sex,Sex,1,male,,,,,,,7",
        ",,2,female,,,,,,,7",
        ",,8,not asked,not applicable,,,,,,7",
        "",
        "income,Income,,,,number,0,9000,2,euro,8",
        "id,,,,,identifier,,,,,9",
    ]
    text = "\r\n".join(line.replace(",", separator) for line in lines)
    book = read(tmp_path, "\ufeff" + text, "a.csv")
    assert book.columns["sex"].not_applicable == (8,)
    income = book.columns["income"]
    assert (income.decimals, income.unit, income.upper) == (2, "euro", 9000)
    assert income.left_as_drafted == ("lower", "upper")
    assert list(book.told) == ["id"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("variable,label,description\n", "two columns .*'label'"),
        ("variable,label\n,x\n", "line 2 .*names no variable"),
        ("variable,label\nx,y,z\n", "line 2 .*more cells"),
        ("variable,value\nx,y\n", "line 2 .*labels no code"),
        ("variable,code,missing\nx,1,perhaps\n", "line 2 .*yes, no or not applicable"),
        ("variable,type\nx,fruit\n", "line 2 .*`type` must be one of integer"),
        ("variable,decimals\nx,-1\n", "line 2 .*whole number"),
        ('variable,label\nx,"y" z\n', "quotes"),
    ],
)
def test_a_bad_line_of_a_dictionary_is_named(tmp_path, lines, words):
    with pytest.raises(SchemaError, match=words):
        read(tmp_path, lines, "a.csv")
