"""DDI, Frictionless and Croissant say what the schema says, and no figure of the rows."""

import hashlib
import json
import xml.etree.ElementTree as ET

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from exported import SCHEMA, release
from night import NIGHT
from understudy.errors import ReleaseError, name_fault
from understudy.release.export_values import variables
from understudy.release.folder import checksums
from understudy.release.manifest import RENDERED
from understudy.release.metadata import (
    METADATA,
    codebook_xml,
    croissant,
    data_package,
    require_codebook,
    require_croissant,
    require_metadata,
    require_table_schema,
    row_files,
    table_schema,
)
from understudy.release.shape import Fault

DDI = "{ddi:codebook:2_5}"
# Of DDI: whatever counts, sums up or shows the values that there are.
STATISTICS = {"sumStat", "catStat", "undocCod", "TotlResp", "catgryGrp", "nCube", "stdCatgry"}


@pytest.fixture(scope="module")
def made():
    return release(sets=2)


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    return made.save(tmp_path_factory.mktemp("made") / "r")


def test_the_codebook_describes_every_column_and_no_row(made, folder):
    root = ET.fromstring((folder / "codebook.xml").read_bytes())
    assert {one.tag for one in root.iter()} & {f"{DDI}{name}" for name in STATISTICS} == set()
    assert [one.get("name") for one in root.iter(f"{DDI}var")] == list(SCHEMA.declared)
    sex, region, income, *_ = root.iter(f"{DDI}var")
    assert sex.findtext(f"{DDI}labl") == "Sex as registered"
    told = [
        (one.findtext(f"{DDI}catValu"), one.findtext(f"{DDI}labl"), one.get("missType"))
        for one in sex.iter(f"{DDI}catgry")
    ]
    assert told == [("2", "female", None), ("1", "male", None), ("9", "refused", "missing")]
    assert sex.find(f"{DDI}varFormat").get("type") == "numeric"
    assert region.find(f"{DDI}varFormat").get("type") == "character"
    assert [one.findtext(f"{DDI}labl") for one in region.iter(f"{DDI}catgry")][2] == (
        "East & <beyond>"
    )
    assert income.find(f"{DDI}valrng/{DDI}range").attrib == {"min": "0", "max": "1000"}
    assert [one.get("VALUE") for one in income.iter(f"{DDI}item")] == ["-7", "-6", "-9", "-8"]
    assert [one.text for one in root.iter(f"{DDI}caseQnty")] == [str(made.manifest.n_rows)] * 2


def test_two_releases_of_one_schema_differ_in_numbers_of_the_manifest_alone(made):
    """What is written follows from schema and manifest: other rows change nothing."""
    other = release(sets=2)
    assert not other.tables[0].equals(made.tables[0])
    one, two = variables(SCHEMA), variables(other.schema)
    assert codebook_xml(made.manifest, SCHEMA, one) == codebook_xml(made.manifest, SCHEMA, two)
    package = data_package(made.manifest, SCHEMA, made.measurements, parted=False)
    assert package == data_package(made.manifest, SCHEMA, other.measurements, parted=False)


def test_the_data_package_lists_every_table_and_its_types(made, folder):
    content = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    paths = [one["path"] for one in content["resources"]]
    assert {path for path in paths if path.startswith("synthetic/")} == set(
        row_files(checksums(folder))
    )
    assert all((folder / path).is_file() for path in paths)
    table = json.loads((folder / content["resources"][0]["schema"]).read_text(encoding="utf-8"))
    fields = {one["name"]: one for one in table["fields"]}
    assert {name: one["type"] for name, one in fields.items()} == {
        **{"sex": "integer", "region": "string", "net income": "number", "health": "string"},
        **{"age": "integer", "born": "date", "member": "boolean", "moved": "date"},
    }
    assert fields["sex"]["categories"] == [
        {"value": 2, "label": "female"},
        {"value": 1, "label": "male"},
    ]
    assert fields["health"]["categoriesOrdered"] is True
    assert [one["value"] for one in fields["age"]["missingValues"]] == ["refused", ""]
    assert fields["moved"]["constraints"] == {"minimum": "2020-01-01", "maximum": "2020-12-31"}
    assert "constraints" not in fields["net income"]  # its codes lie beyond the bounds


def test_croissant_has_the_files_and_the_columns(made, folder):
    content = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    sums = checksums(folder)
    told = {one["contentUrl"]: one["sha256"] for one in content["distribution"]}
    assert {path: f"sha256:{one}" for path, one in told.items()} == row_files(sums)
    types = {one["name"]: one["dataType"] for one in content["recordSet"][1]["field"]}
    stored = pl.read_parquet_schema(folder / "synthetic/set-2.parquet")
    assert types["sex"] == "sc:Integer"
    assert stored["age"] == pl.String
    assert types["age"] == "sc:Text"  # codes of absence in words


FORGED = {
    "codebook.xml": [
        (">female<", ">male<"),
        ('name="sex"', 'name="gender"'),
        (">Sex as registered<", ">Sex as found<"),
        ('missType="missing"', 'missType="not applicable"'),
        ("<codeBook", '<!DOCTYPE x [<!ENTITY a "b">]><codeBook'),
        ("</codeBook>", ""),
    ],
    "datapackage.json": [
        ('"tableschema.json"', '"other.json"', 1),
        ('"resources"', '"tables"'),
        ("{", "[", 1),
    ],
    "tableschema.json": [
        ('"label": "female"', '"label": "male"'),
        ('"name": "sex"', '"name": "gender"'),
        ('"absence": "missing"', '"absence": "not applicable"'),
        ('"fields"', '"columns"'),
        ('"fields": [', '"fields": ["sex", '),
    ],
    "croissant.json": [
        ("2 = female", "2 = male"),
        ('"name": "sex"', '"name": "gender"'),
        ('"sha256": "', '"sha256": "0'),
        ('"recordSet"', '"records"'),
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in FORGED.items() for change in changes]
)
def test_a_description_that_says_something_else_is_refused(folder, tmp_path, name, change):
    """Claim attacked: labels that were swapped in a file for programs, with checksums made anew."""
    for one in METADATA:
        text = (folder / one).read_text(encoding="utf-8")
        (tmp_path / one).write_text(text, encoding="utf-8")
    text = (folder / name).read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / name).write_text(text.replace(*change), encoding="utf-8")
    listed = dict.fromkeys(METADATA, "") | row_files(checksums(folder))
    with pytest.raises(Fault, match=r"codebook|data package|table schema|Croissant"):
        require_metadata(tmp_path, listed, SCHEMA, 2)


def test_a_release_without_descriptions_is_read(made, folder, tmp_path):
    """Releases of earlier versions have none."""
    place = made.save(tmp_path / "r")
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    for name in (*METADATA, "codebook.html"):
        (place / name).unlink()
        del manifest["files"][name]
    for name in ("README.md", "report.html"):
        page = (place / name).read_text(encoding="utf-8")
        earlier = page.replace(f"{RENDERED}{us.__version__}", f"{RENDERED}0.0.1").encode()
        (place / name).write_bytes(earlier)
        manifest["files"][name] = f"sha256:{hashlib.sha256(earlier).hexdigest()}"
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert us.Release.load(place).manifest == made.manifest
    manifest["files"]["synthetic/set-3.sav"] = manifest["files"]["schema.toml"]
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (place / "synthetic/set-3.sav").write_bytes((place / "schema.toml").read_bytes())
    with pytest.raises(ReleaseError, match=r"set-3\.sav', which is no part of a release"):
        us.Release.load(place)


TEXT = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("\x00\x1b\r\n\t\ufffe&<>\"']\u2028")),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60 if NIGHT else 20, deadline=None, derandomize=True)
@given(TEXT.filter(lambda name: not name_fault(name)), TEXT, TEXT, TEXT)
def test_any_text_goes_through_every_description(made, name, level, label, words):
    """Names, levels, labels and titles of any signs: written, and read as the same."""
    entry = {
        "kind": "categorical",
        "levels": [level, "other 1"],
        "missing": [""],
        "value_labels": {level: label, "": words},
        "description": words,
    }
    schema = us.Schema.model_validate({"title": words, "columns": {name: entry}})
    columns = variables(schema)
    require_codebook(codebook_xml(made.manifest, schema, columns), columns)
    require_table_schema(table_schema(columns), columns)
    sums = {"synthetic/set-1.parquet": "sha256:00"}
    require_croissant(croissant(made.manifest, schema, columns, sums), columns, sums)
