"""DDI: statistics of the rows are never read; what its parts mean; codes of absence."""

from pathlib import Path

import pytest

import understudy as us
from made_codebooks import CDI, DDI, LIFECYCLE
from understudy.demo import demo_schema
from understudy.errors import SchemaError


def read(folder, text, name="a.xml", **options):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return us.read_codebook(path, **options)


def ddi(*variables):
    return f"<codeBook><dataDscr>{''.join(variables)}</dataDscr></codeBook>"


def test_statistics_and_frequencies_change_nothing(tmp_path):
    plain = read(tmp_path, DDI)
    statistics = (
        '<sumStat type="min">18</sumStat><sumStat type="max">97</sumStat>'
        '<sumStat type="mean">47.1</sumStat><sumStat type="vald">1234</sumStat>'
    )
    frequency = '<catStat type="freq">617</catStat><catStat type="percent">50</catStat>'
    told = DDI.replace("<varFormat", f"{statistics}<varFormat").replace(
        "</labl></catgry>", f"</labl>{frequency}</catgry>"
    )
    assert told != DDI
    assert read(tmp_path, told) == plain
    assert "617" not in read(tmp_path, told).dumps()


def test_statistics_of_other_kinds_of_ddi_change_nothing(tmp_path):
    statistics = (
        "<l:VariableStatistics><l:SummaryStatistic><r:Value>97</r:Value></l:SummaryStatistic>"
        "<l:Variable><l:VariableName>no</l:VariableName></l:Variable></l:VariableStatistics>"
    )
    told = LIFECYCLE.replace("</ddi:FragmentInstance>", f"{statistics}</ddi:FragmentInstance>")
    assert read(tmp_path, told) == read(tmp_path, LIFECYCLE)
    point = '{"@id": "#about", "@type": "Statistic", "maximumValueInclusive": "97"}, '
    told = CDI.replace('"DDICDIModels": [', f'"DDICDIModels": [{point}')
    assert read(tmp_path, told, "b.jsonld").columns == read(tmp_path, CDI, "b.jsonld").columns


def test_codes_of_absence(tmp_path):
    text = ddi(
        '<var name="x" dcml="0"><invalrng><item VALUE="-1"/><range min="97" max="98"/></invalrng>',
        "<catgry><catValu>1</catValu><labl>a</labl></catgry>",
        "<catgry><catValu>2</catValu><labl>b</labl></catgry>",
        '<catgry missing="Y" missType="inapplicable"><catValu>7</catValu></catgry>',
        '<catgry missing="Y"><catValu/></catgry>',
        '<varFormat type="numeric"/></var>',
    )
    column = read(tmp_path, text).columns["x"]
    assert column.levels == (1, 2)
    assert column.missing == ("", -1, 97, 98)
    assert column.not_applicable == (7,)


def test_formats(tmp_path):
    text = ddi(
        '<var name="a" dcml="2"><varFormat type="numeric"/></var>',
        '<var name="b" dcml="0"><varFormat type="numeric"/></var>',
        '<var name="c"><varFormat type="character"/></var>',
        '<var name="d"><varFormat type="numeric" category="date"/></var>',
        '<var name="e"><varFormat type="numeric" category="time"/></var>',
        '<var name="f"/>',
        '<var name="g" measUnit="euro"><valrng><range min="0" max="9"/></valrng></var>',
    )
    book = read(tmp_path, text)
    kinds = {name: one.entries.get("kind") for name, one in book.asked.items()}
    assert kinds == {"a": "continuous", "b": "integer", "c": "categorical", "d": "date"} | {
        "e": None,
        "f": None,
    }
    assert book.asked["a"].entries["decimals"] == 2
    assert list(book.told) == ["c", "e"]
    assert (book.columns["g"].upper, book.columns["g"].unit) == (9, "euro")


def test_one_of_several_data_files(tmp_path):
    other = '<var name="sex" files="F2"><varFormat type="numeric"/></var></dataDscr>'
    text = DDI.replace("</dataDscr>", other).replace(
        "<dataDscr>",
        '<fileDscr ID="F2"><fileTxt><fileName>b.dat</fileName></fileTxt></fileDscr><dataDscr>',
    )
    with pytest.raises(SchemaError, match="twice; take one out, or say by `table`"):
        read(tmp_path, text)
    assert list(read(tmp_path, text, table="people.dat").order) == ["sex", "mood", "age"]
    assert list(read(tmp_path, text, table="F2").order) == ["sex"]
    with pytest.raises(SchemaError, match=r"no data file 'c'; it has 'people\.dat'"):
        read(tmp_path, text, table="c")


def test_a_pointer_into_the_void_names_its_line(tmp_path):
    broken = LIFECYCLE.replace(
        "urn:ddi:x:moods:1</r:URN></r:CodeListReference>", "no</r:URN></r:CodeListReference>"
    )
    with pytest.raises(SchemaError, match=r"line 1 .*CodeListReference points to something"):
        read(tmp_path, broken)


def test_lifecycle_names_missing_values_by_text_and_by_list(tmp_path):
    text = LIFECYCLE.replace(
        "<l:VariableRepresentation><r:NumericRepresentation>",
        '<l:VariableRepresentation missingValue="998 999" blankIsMissingValue="true">'
        "<r:NumericRepresentation>",
    )
    assert read(tmp_path, text).columns["age"].missing == (998, 999, "")
    managed = (
        "<ddi:Fragment><r:ManagedMissingValuesRepresentation><r:URN>urn:ddi:x:gone:1</r:URN>"
        "<r:MissingCodeRepresentation><r:CodeListReference><r:URN>urn:ddi:x:moods:1</r:URN>"
        "</r:CodeListReference></r:MissingCodeRepresentation>"
        "</r:ManagedMissingValuesRepresentation></ddi:Fragment></ddi:FragmentInstance>"
    )
    pointer = "<r:MissingValuesReference><r:URN>urn:ddi:x:gone:1</r:URN></r:MissingValuesReference>"
    text = LIFECYCLE.replace("</ddi:FragmentInstance>", managed).replace(
        "</r:NumericRepresentation>", f"</r:NumericRepresentation>{pointer}"
    )
    # Codes within the range cannot be codes of absence: the column is left out, and says why.
    assert "between lower and upper" in read(tmp_path, text).left_out["age"]


def test_cdi_as_xml(tmp_path):
    def thing(kind, name, inside):
        return (
            f"<cdi:{kind}><cdi:identifier><cdi:ddiIdentifier><cdi:dataIdentifier>{name}"
            f"</cdi:dataIdentifier></cdi:ddiIdentifier></cdi:identifier>{inside}</cdi:{kind}>"
        )

    def pointer(kind, name):
        return (
            f"<cdi:{kind}><cdi:ddiReference><cdi:dataIdentifier>{name}</cdi:dataIdentifier>"
            f"</cdi:ddiReference></cdi:{kind}>"
        )

    things = [
        thing(
            "InstanceVariable",
            "#v",
            "<cdi:name><cdi:name>sex</cdi:name></cdi:name>"
            + pointer(
                "RepresentedVariable_takesSubstantiveValuesFrom_SubstantiveValueDomain", "#d"
            ),
        ),
        thing(
            "SubstantiveValueDomain",
            "#d",
            pointer("SubstantiveValueDomain_takesValuesFrom_EnumerationDomain", "#l"),
        ),
        thing("CodeList", "#l", pointer("CodeList_has_Code", "#c")),
        thing(
            "Code",
            "#c",
            pointer("Code_denotes_Category", "#k") + pointer("Code_uses_Notation", "#n"),
        ),
        thing("Category", "#k", "<cdi:name><cdi:name>male</cdi:name></cdi:name>"),
        thing("Notation", "#n", "<cdi:content><cdi:content>1</cdi:content></cdi:content>"),
    ]
    space = 'xmlns:cdi="http://ddialliance.org/Specification/DDI-CDI/1.0/XMLSchema/"'
    text = f"<cdi:DDICDIModels {space}>{''.join(things)}</cdi:DDICDIModels>"
    column = read(tmp_path, text).columns["sex"]
    assert (column.levels, column.value_labels) == ((1,), {"1": "male"})


def test_cdi_in_circles_ends(tmp_path):
    text = CDI.replace('"content": {"content": "1"}', '"content": {"@id": "#one"}')
    assert read(tmp_path, text, "a.jsonld").columns["sex"].levels == (2,)


def test_a_codebook_made_by_hand_gives_the_schema_of_the_demo():
    book = us.read_codebook(Path(__file__).with_name("fair.xml"))
    schema = demo_schema()
    assert book.title == schema.title
    for name, column in book.columns.items():
        known = schema.columns[name]
        assert (column.kind, column.levels, column.unit) == (known.kind, known.levels, known.unit)
        assert len(column.value_labels) == len(column.levels)
    assert book.order == schema.names
    assert book.asked["affairs"].needed == ("lower", "upper")
