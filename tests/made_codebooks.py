"""One small survey, described by hand in every format of codebooks that is read."""

from __future__ import annotations

import json

PEOPLE = {
    "sex": ("categorical", (1, 2), (9,)),
    "mood": ("ordinal", (1, 2, 3), ()),
    "age": ("integer", (0, 120), ()),
}
"""Name → kind, levels or bounds, and codes of *not known*."""

LABELS = {"1": "male", "2": "female", "9": "no answer"}

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
  <stdyDscr><citation><titlStmt><titl>People of a town</titl></titlStmt></citation></stdyDscr>
  <fileDscr ID="F1"><fileTxt><fileName>people.dat</fileName></fileTxt></fileDscr>
  <dataDscr>
    <var name="sex" files="F1" intrvl="discrete" nature="nominal" dcml="0">
      <labl>Sex of the respondent</labl>
      <catgry><catValu>1</catValu><labl>male</labl></catgry>
      <catgry><catValu>2</catValu><labl>female</labl></catgry>
      <catgry missing="Y"><catValu>9</catValu><labl>no answer</labl></catgry>
      <varFormat type="numeric"/>
    </var>
    <var name="mood" files="F1" intrvl="discrete" nature="ordinal" dcml="0">
      <catgry><catValu>1</catValu><labl>bad</labl></catgry>
      <catgry><catValu>2</catValu><labl>so so</labl></catgry>
      <catgry><catValu>3</catValu><labl>good</labl></catgry>
      <varFormat type="numeric"/>
    </var>
    <var name="age" files="F1" intrvl="contin" dcml="0">
      <valrng><range min="0" max="120"/></valrng>
      <varFormat type="numeric"/>
    </var>
  </dataDscr>
</codeBook>
"""

_SPACES = 'xmlns:ddi="ddi:instance:3_3" xmlns:r="ddi:reusable:3_3" xmlns:l="ddi:logicalproduct:3_3"'


def _fragment(text):
    return f"<ddi:Fragment>{text}</ddi:Fragment>"


def _category(name, label, missing="false"):
    return _fragment(
        f'<l:Category isMissing="{missing}"><r:URN>urn:ddi:x:{name}:1</r:URN>'
        f"<r:Label><r:Content>{label}</r:Content></r:Label></l:Category>"
    )


def _codes(name, **categories):
    codes = "".join(
        f"<l:Code><r:CategoryReference><r:Agency>x</r:Agency><r:ID>{category}</r:ID>"
        f"</r:CategoryReference><r:Value>{value[1:]}</r:Value></l:Code>"
        for value, category in categories.items()
    )
    return _fragment(f"<l:CodeList><r:URN>urn:ddi:x:{name}:1</r:URN>{codes}</l:CodeList>")


def _variable(name, representation, label=""):
    told = f"<r:Label><r:Content>{label}</r:Content></r:Label>" if label else ""
    return _fragment(
        f"<l:Variable><r:URN>urn:ddi:x:v-{name}:1</r:URN><l:VariableName><r:String>{name}"
        f"</r:String></l:VariableName>{told}<l:VariableRepresentation>{representation}"
        "</l:VariableRepresentation></l:Variable>"
    )


def _coded(name, level):
    return (
        f'<r:CodeRepresentation classificationLevel="{level}"><r:CodeListReference>'
        f"<r:URN>urn:ddi:x:{name}:1</r:URN></r:CodeListReference></r:CodeRepresentation>"
    )


LIFECYCLE = "".join(
    [
        f"<ddi:FragmentInstance {_SPACES}>",
        _category("m", "male"),
        _category("f", "female"),
        _category("none", "no answer", missing="true"),
        _category("bad", "bad"),
        _category("so", "so so"),
        _category("good", "good"),
        _codes("sexes", _1="m", _2="f", _9="none"),
        _codes("moods", _1="bad", _2="so", _3="good"),
        _variable("sex", _coded("sexes", "Nominal"), "Sex of the respondent"),
        _variable("mood", _coded("moods", "Ordinal")),
        _variable(
            "age",
            "<r:NumericRepresentation><r:NumberRange><r:Low>0</r:Low><r:High>120</r:High>"
            "</r:NumberRange><r:NumericTypeCode>Integer</r:NumericTypeCode></r:NumericRepresentation>",
        ),
        "</ddi:FragmentInstance>",
    ]
)


def _concept(name, notation, label):
    return {"@id": name, "@type": "skos:Concept", "notation": notation, "prefLabel": label}


CDI = json.dumps(
    {
        "@context": "https://example.org/ddi-cdi.jsonld",
        "DDICDIModels": [
            {"@id": "#data", "@type": "WideDataSet", "name": "People of a town"},
            {
                "@id": "#sex",
                "@type": "InstanceVariable",
                "name": {"@type": "ObjectName", "name": "sex"},
                "displayLabel": {
                    "@type": "LabelForDisplay",
                    "locationVariant": {"entryValue": "Sex of the respondent"},
                },
                "takesSubstantiveValuesFrom_SubstantiveValueDomain": "#sexes",
                "takesSentinelValuesFrom": ["#gone"],
            },
            {"@id": "#sexes", "@type": "SubstantiveValueDomain", "takesValuesFrom": "#sex-list"},
            {"@id": "#sex-list", "@type": "CodeList", "has_Code": ["#m", "#f"]},
            {"@id": "#m", "@type": "Code", "uses_Notation": "#one", "denotes_Category": "#male"},
            {"@id": "#one", "@type": "Notation", "content": {"content": "1"}},
            {"@id": "#male", "@type": "Category", "name": "male"},
            _concept("#f", "2", {"@value": "female"}),
            {"@id": "#gone", "@type": "SentinelValueDomain", "takesValuesFrom": "#gone-list"},
            {"@id": "#gone-list", "@type": "skos:ConceptScheme", "skos:hasTopConcept": ["#none"]},
            _concept("#none", "9", "no answer"),
            {
                "@id": "#mood",
                "@type": "InstanceVariable",
                "name": "mood",
                "takesSubstantiveValuesFrom": "#moods",
            },
            {
                "@id": "#moods",
                "@type": "SubstantiveValueDomain",
                "takesValuesFrom": "#mood-list",
                "isDescribedBy": {"classificationLevel": "Ordinal"},
            },
            {"@id": "#mood-list", "@type": "CodeList", "has": ["#k1", "#k2", "#k3"]},
            _concept("#k1", "1", "bad"),
            _concept("#k2", "2", "so so"),
            _concept("#k3", "3", "good"),
            {
                "@id": "#age",
                "@type": "InstanceVariable",
                "name": "age",
                "hasIntendedDataType": "xsd:integer",
                "takesSubstantiveValuesFrom": "#years",
            },
            {"@id": "#years", "@type": "SubstantiveValueDomain", "isDescribedBy": "#about"},
            {
                "@id": "#about",
                "@type": "ValueAndConceptDescription",
                "minimumValueInclusive": "0",
                "maximumValueInclusive": "120",
            },
        ],
    }
)

FRICTIONLESS = json.dumps(
    {
        "title": "People of a town",
        "resources": [
            {
                "name": "people",
                "schema": {
                    "missingValues": [],
                    "fields": [
                        {
                            "name": "sex",
                            "title": "Sex of the respondent",
                            "type": "integer",
                            "categories": [
                                {"value": 1, "label": "male"},
                                {"value": 2, "label": "female"},
                            ],
                            "missingValues": [{"value": "9", "label": "no answer"}],
                        },
                        {
                            "name": "mood",
                            "type": "integer",
                            "categories": [
                                {"value": 1, "label": "bad"},
                                {"value": 2, "label": "so so"},
                                {"value": 3, "label": "good"},
                            ],
                            "categoriesOrdered": True,
                        },
                        {
                            "name": "age",
                            "type": "integer",
                            "constraints": {"minimum": 0, "maximum": 120},
                        },
                    ],
                },
            }
        ],
    }
)

DICTIONARY = """variable,label,code,value,missing,type,lower,upper
sex,Sex of the respondent,1,male,,,,
,,2,female,no,,,
,,9,no answer,yes,,,
mood,,1,bad,,ordinal,,
,,2,so so,,,,
,,3,good,,,,
age,,,,,integer,0,120
"""

SPSS = """* Labels of the survey; it isn't run.
FILE LABEL 'People of a town'.
VARIABLE LABELS sex "Sex of the " + "respondent" /mood ''.
VALUE LABELS sex 1 'male' 2 'female' 9 'no answer'
  /mood 1 'bad' 2 'so so' 3 'good'.
MISSING VALUES sex (9).
VARIABLE LEVEL mood (ORDINAL) /age (SCALE).
FORMATS sex mood age (F3.0).
"""

STATA = """* Labels of the survey; "not run
label data "People of a town"
la var sex "Sex of the respondent" // who answers
label define sexes 1 "male" 2 `"female"' ///
    .a "no answer"
label values sex sexes
"""

DOMAIN = json.dumps(
    {
        "sex": {
            "type": "categorical",
            "levels": ["1", "2", "9"],
            "labels": LABELS,
            "missing": "9",
            "basis": "documented",
            "description": "Sex of the respondent",
        },
        "age": {
            "type": "numeric",
            "lower": 0,
            "upper": 120,
            "integer": True,
            "basis": "documented",
            "nullable": True,
        },
        "income": {"type": "numeric", "lower": 0, "upper": 99.5, "basis": "observed-rounded"},
    }
)

CSVW = json.dumps(
    {
        "@context": "http://www.w3.org/ns/csvw",
        "dc:title": "People of a town",
        "tables": [
            {
                "url": "people.csv",
                "tableSchema": {
                    "primaryKey": "id",
                    "columns": [
                        {"name": "id", "datatype": "string"},
                        {
                            "name": "sex",
                            "titles": {"en": "Sex"},
                            "datatype": {"base": "string", "format": "m|f"},
                        },
                        {
                            "name": "age",
                            "datatype": {"base": "integer", "minimum": 0, "maximum": 120},
                            "required": True,
                        },
                        {"name": "children", "datatype": "nonNegativeInteger", "null": ["NA", "-"]},
                    ],
                },
            }
        ],
    }
)

SDV = json.dumps(
    {
        "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        "primary_key": "id",
        "columns": {
            "id": {"sdtype": "id"},
            "mail": {"sdtype": "email", "pii": True},
            "sex": {"sdtype": "categorical"},
            "mood": {"sdtype": "categorical", "order": ["bad", "good"]},
            "works": {"sdtype": "boolean"},
            "age": {"sdtype": "numerical", "computer_representation": "Int64"},
            "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
        },
    }
)

FULL = {
    "people.xml": DDI,
    "people-3.xml": LIFECYCLE,
    "people.jsonld": CDI,
    "people.json": FRICTIONLESS,
    "people.csv": DICTIONARY,
    "people.sps": SPSS,
}
"""Formats that can say all of `PEOPLE`; the syntax of SPSS says no bounds."""

ALL = {**FULL, "people.do": STATA, "domain.json": DOMAIN, "csvw.json": CSVW, "sdv.json": SDV}
