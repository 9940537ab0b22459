"""Rules that codebooks state: derived columns where they can be said, notes where they cannot."""

import pytest

from understudy.metadata.codebook import read_codebook
from understudy.metadata.variables import derived_of, target_of, with_rules_that_hold
from understudy.schema import Schema

COLUMNS = Schema.loads(
    """
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 120
    [columns.Weight]
    kind = "continuous"
    lower = 20
    upper = 250
    decimals = 1
    [columns.height]
    kind = "continuous"
    lower = 0.5
    upper = 2.5
    decimals = 2
    [columns.area]
    kind = "continuous"
    lower = 0
    upper = 9
    [columns.region]
    kind = "categorical"
    levels = [1, 2, 3]
    [columns.bmi]
    kind = "continuous"
    lower = 0
    upper = 900
    decimals = 1
    [columns.group]
    kind = "ordinal"
    levels = [1, 2, 3]
    [columns.zone]
    kind = "categorical"
    levels = ["n", "s"]
    [columns.old]
    kind = "boolean"
    """
).columns


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        ("COMPUTE bmi = weight / (height ** 2).", "bmi", "Weight / height ** 2"),
        ("gen double bmi = Weight/height^2", "bmi", "Weight / height ** 2"),
        ("bmi = WEIGHT / HEIGHT ** 2", "bmi", "Weight / height ** 2"),
        ("Weight / height ** 2", "bmi", "Weight / height ** 2"),
        ("compute bmi = ABS(weight - 70).", "bmi", "abs(Weight - 70)"),
        ("COMPUTE old = age GE 65.", "old", "age >= 65"),
        (
            "COMPUTE old = (age >= 65 AND region = 1 OR age > 90).",
            "old",
            "age >= 65 and region == 1 or age > 90",
        ),
        (
            "RECODE age (LO THRU 17=1) (18 THRU 64=2) (65 THRU HI=3) INTO group.",
            "group",
            "cut(age, 18, 65)",
        ),
        (
            "RECODE AGE (0 thru 17=1)(17 thru 64=2)(64 thru 120=3) INTO GROUP",
            "group",
            "cut(age, 18, 65)",
        ),
        (
            "RECODE height (lo thru 1.2=1)(1.21 thru 1.8=2)(1.81 thru hi=3) INTO group",
            "group",
            "cut(height, 1.21, 1.81)",
        ),
        (
            "RECODE region (1,2='n') (3='s') INTO zone.",
            "zone",
            {"of": "region", "levels": {"n": [1, 2], "s": [3]}},
        ),
        (
            "RECODE region (1 thru 2='n') (3='s') INTO zone.",
            "zone",
            {"of": "region", "levels": {"n": [1, 2], "s": [3]}},
        ),
    ],
)
def test_what_can_be_said_is_a_rule(command, name, expected):
    assert derived_of((command,), name, COLUMNS) == expected
    assert target_of(command).casefold() in (name, "")


@pytest.mark.parametrize(
    ("commands", "name"),
    [
        (("COMPUTE bmi = weight / height.", "IF (age < 2) bmi = 0."), "bmi"),
        (("IF (age > 2) bmi = weight.",), "bmi"),
        (("DO IF: COMPUTE bmi = weight / height.",), "bmi"),
        (("gen bmi = Weight / height if age > 2",), "bmi"),
        (("egen bmi = mean(Weight)",), "bmi"),
        (("COMPUTE bmi = MEAN(weight, height).",), "bmi"),
        (("COMPUTE bmi = unknown * 2.",), "bmi"),
        (("COMPUTE bmi = bmi * 2.",), "bmi"),
        (("COMPUTE bmi = 3.",), "bmi"),
        (("COMPUTE other = weight / 2.",), "bmi"),
        (("weight measured by the interviewer",), "bmi"),
        (("__import__('os').system('true') + age",), "bmi"),
        (("(lambda: age)() + 1",), "bmi"),
        (("[age for age in (1,)][0] + 1 + Weight.real",), "bmi"),
        (("(" * 900 + "age" + ")" * 900 + " + 1",), "bmi"),
        (("age + " * 1000 + "1",), "bmi"),
        (("RECODE age (LO THRU 17=1) (18 THRU 64=2) (ELSE=3) INTO group.",), "group"),
        (("RECODE age (LO THRU 17=1) (20 THRU 64=2) (65 THRU HI=3) INTO group.",), "group"),
        (("RECODE age (18 THRU HI=2) (LO THRU 17=1) INTO group.",), "group"),
        (("RECODE age (5 THRU 17=1) (18 THRU 64=2) (65 THRU HI=3) INTO group.",), "group"),
        (("RECODE area (LO THRU 2=1) (2 THRU 4=2) (4 THRU HI=3) INTO group.",), "group"),
        (("RECODE age (LO THRU 64=3) (65 THRU 80=2) (81 THRU HI=1) INTO group.",), "group"),
        (("RECODE region (1='n') (1,2,3='s') INTO zone.",), "zone"),
        (("RECODE region (1='north') (2,3='s') INTO zone.",), "zone"),
        (("RECODE region (1='n') (2,3=SYSMIS) INTO zone.",), "zone"),
    ],
)
def test_what_cannot_be_said_is_none(commands, name):
    assert derived_of(commands, name, COLUMNS) is None


SPS = """
VARIABLE LABELS age 'Age' weight 'Weight' height 'Height' bmi 'BMI' grp 'Group' odd 'Odd'.
VALUE LABELS grp 1 'child' 2 'adult'.
FORMATS age (F3.0) weight (F5.1) height (F4.2) bmi (F5.1) odd (F3.0).
COMPUTE BMI = Weight / (height ** 2).
RECODE AGE (LO THRU 17=1) (18 THRU HI=2) INTO grp.
DO IF (age > 3).
COMPUTE odd = age * 2.
END IF.
COMPUTE scratch = age * 2.
"""
DDI = """<codeBook>
<stdyDscr><citation><titlStmt><titl>Health</titl></titlStmt></citation></stdyDscr>
<dataDscr>
<var name="age"><labl>Age</labl><valrng><range min="0" max="99"/></valrng>
 <varFormat type="numeric"/></var>
<var name="twice"><labl>Twice</labl><varFormat type="numeric"/>
 <derivation var="age"><drvdesc>Twice the age</drvdesc>
 <drvcmd syntax="SPSS">COMPUTE twice = age * 2.</drvcmd></derivation></var>
<var name="words"><labl>Words</labl><valrng><range min="0" max="9"/></valrng>
 <varFormat type="numeric"/><derivation><drvdesc>By hand</drvdesc></derivation></var>
</dataDscr></codeBook>"""
LIFECYCLE = """<DDIInstance><ProcessingInstructionScheme><GenerationInstruction><ID>g1</ID>
<CommandCode><Command><CommandContent>twice = age * 2</CommandContent></Command></CommandCode>
</GenerationInstruction></ProcessingInstructionScheme>
<VariableScheme>
<Variable><ID>a</ID><VariableName><String>age</String></VariableName><VariableRepresentation>
<NumericRepresentation><NumberRange><Low>0</Low><High>99</High></NumberRange>
<NumericTypeCode>Integer</NumericTypeCode></NumericRepresentation></VariableRepresentation></Variable>
<Variable><ID>b</ID><VariableName><String>twice</String></VariableName><VariableRepresentation>
<ProcessingInstructionReference><ID>g1</ID></ProcessingInstructionReference>
<NumericRepresentation><NumericTypeCode>Integer</NumericTypeCode></NumericRepresentation>
</VariableRepresentation></Variable></VariableScheme></DDIInstance>"""


def book(tmp_path, name, text):
    place = tmp_path / name
    place.write_text(text, encoding="utf-8")
    return read_codebook(place)


def test_syntax_proposes_what_it_computes_and_notes_the_rest(tmp_path):
    found = book(tmp_path, "health.sps", SPS)
    assert found.columns["grp"].derived == "cut(age, 18)"
    assert found.asked["bmi"].entries["derived"] == "weight / height ** 2"
    assert found.asked["bmi"].needed == ("lower", "upper")
    assert found.asked["bmi"].entries["missing"] == ("",)  # a height of 0 has no such value
    assert "COMPUTE odd = age * 2" in found.notes["odd"]
    assert "scratch" not in found.order
    text = found.dumps()
    assert 'derived = "weight / height ** 2"' in text
    assert "reviewed = true" not in text.split("format = 1")[1]


@pytest.mark.parametrize(("name", "text"), [("h.xml", DDI), ("l.xml", LIFECYCLE)])
def test_ddi_states_rules_and_bounds_follow_from_them(tmp_path, name, text):
    found = book(tmp_path, name, text)
    twice = found.columns["twice"]
    assert twice.derived == "age * 2"
    assert twice.bounds == (0, 198)
    assert not twice.reviewed
    if name == "h.xml":
        assert "By hand" in found.notes["words"]


def test_a_rule_falls_with_what_it_rests_on(tmp_path):
    found = book(tmp_path, "h.xml", DDI)
    alone = found.only(["twice"])
    assert alone.columns["twice"].derived is None
    both = with_rules_that_hold(found.columns)
    assert both["twice"].derived == "age * 2"


SDV = """{"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {
 "start": {"sdtype": "numerical", "computer_representation": "Int64"},
 "end": {"sdtype": "numerical", "computer_representation": "Int64"}},
 "constraints": [CONSTRAINT, {"constraint_class": "FixedCombinations"}, 5]}"""


@pytest.mark.parametrize(
    ("constraint", "relation"),
    [
        (
            '{"constraint_class": "Inequality", "constraint_parameters": {"low_column_name": '
            '"start", "high_column_name": "end", "strict_boundaries": true}}',
            "start < end",
        ),
        (
            '{"constraint": "sdv.constraints.tabular.GreaterThan", "low": "start", "high": "end"}',
            "start <= end",
        ),
        ('{"constraint_class": "Inequality", "constraint_parameters": {"low_column_name": 3}}', ""),
        (
            '{"constraint_class": "Inequality", "constraint_parameters": {"low_column_name": '
            '"start", "high_column_name": "gone"}}',
            "",
        ),
    ],
)
def test_inequalities_of_constraints_are_relations_to_be_confirmed(tmp_path, constraint, relation):
    found = book(tmp_path, "people.json", SDV.replace("CONSTRAINT", constraint))
    entries = found.proposed_relations(found.order)
    assert [one["inequality"] for one in entries] == ([relation] if relation else [])
    if relation:
        assert f'[[relations]]\ninequality = "{relation}"' in found.dumps()
        assert not any(one["reviewed"] for one in entries)
        assert found.proposed_relations(["start"]) == []
