"""The design of a survey in a schema: what fits, what it says of the guarantee, what is kept."""

import pytest

from schemas import column
from understudy.dp.guarantee import design_conditions, public_inputs
from understudy.errors import SchemaError
from understudy.schema import Schema

COLUMNS = "\n".join(
    [
        column("w", "continuous", lower=0.5, upper=8.0),
        column("age", "integer", lower=0, upper=90),
        column("debt", "integer", lower=-5, upper=90),
        column("sex", "categorical", levels=["f", "m"]),
    ]
)


def schema_of(design):
    return Schema.loads(f"[design]\n{design}\n{COLUMNS}")


def test_a_weight_counts_up_to_its_upper_bound_or_what_is_said():
    assert schema_of('weight = "w"').design.bound(schema_of('weight = "w"').columns) == 8.0
    cut = schema_of('weight = "w"\ncontribution = 4')
    assert cut.design.bound(cut.columns) == 4.0
    assert Schema.loads(COLUMNS).design.weight == ""


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ('weight = "v"', "no measured column of numbers"),
        ('weight = "sex"', "no measured column of numbers"),
        ('weight = "debt"', "bounds of 0 or above"),
        ('weight = "w"\ncontribution = 9', "above the upper bound"),
        ('weight = "w"\ncontribution = 0', "contribution"),
        ("contribution = 4", "needs weight"),
        ('weight = "w"\nfixed = "raked"', "fixed"),
        ('weight = "w"\ndeff = { default = 1.4 }', "and source, where"),
        ('weight = "w"\ndeff = { default = 0, source = "report" }', "default, a number above 0"),
        ('weight = "w"\nwieght = "w"', "wieght"),
        ("fpc = { default = 0.2 }", "and source, where"),
        ('fpc = { default = 1.2, source = "plan" }', "numbers from 0 to 1"),
        ('fpc = { source = "plan" }', "needs default or strata"),
        ('fpc = { strata = { f = 0.2 }, source = "plan" }', "no measured column of levels"),
        ('strata = "age"\nfpc = { strata = { f = 0.2 }, source = "plan" }', "no measured column"),
        ('strata = "sex"\nfpc = { strata = { x = 0.2 }, source = "plan" }', "does not declare"),
        (
            'deff = { default = 2.0, source = "report" }\nfpc = { default = 0.2, source = "plan" }',
            "has the gain of a finite population in it",
        ),
    ],
)
def test_what_does_not_fit_is_refused(design, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(design)


def test_a_design_is_written_and_read_again():
    text = (
        'weight = "w"\ncontribution = 4.0\nstrata = "counties"\npsu = "villages"\n'
        'fixed = "adjusted"\ndeff = { default = 1.4, source = "quality report" }'
    )
    schema = schema_of(text)
    assert Schema.loads(schema.dumps()) == schema
    assert schema.design.deff.default == 1.4


def test_parts_without_the_weight_have_no_design():
    schema = schema_of('weight = "w"')
    assert schema.part(["age", "sex"]).design.weight == ""
    assert schema.part(["age", "w"]).design.weight == "w"
    assert schema.with_bins({"w": 3}).design.weight == "w"
    size = schema.columns["w"].size
    assert schema.with_groups({"w": tuple(k // 2 for k in range(size))}).design.weight == ""


def test_the_guarantee_names_the_design_effect_and_what_adjusted_weights_take_for_granted():
    schema = schema_of('weight = "w"\ndeff = { default = 1.4, source = "quality report" }')
    (entry,) = (one for one in public_inputs(schema) if "design effect" in one.what)
    assert (entry.what, entry.source) == ("design effect 1.4", "quality report")
    assert design_conditions(schema) == ()
    (said,) = design_conditions(schema_of('weight = "w"\nfixed = "adjusted"'))
    assert "the weights of all other records are taken as fixed" in said


def test_sampling_fractions_go_by_stratum_and_need_no_weight():
    one = schema_of('fpc = { default = 0.2, source = "plan" }')
    assert one.design.fractions(one.columns) == {"": 0.2}
    assert one.design.effect(one.columns) == pytest.approx(0.8)
    text = (
        'strata = "sex"\nfpc = { default = 0.1, strata = { f = 0.4 }, source = "plan" }\n'
        'deff = { default = 2.0, source = "report", replacement = false }'
    )
    schema = schema_of(text)
    assert schema.design.fractions(schema.columns) == {"f": 0.4, "m": 0.1, "": 0.1}
    assert schema.design.effect(schema.columns) == pytest.approx(1.8)
    assert Schema.loads(schema.dumps()) == schema
    assert any("sampling fractions of strata of sex" in one.what for one in public_inputs(schema))
    weighted = schema_of(f'weight = "w"\n{text}')
    assert weighted.part(["w", "age"]).design.fpc is None
    assert weighted.part(["w", "sex"]).design.fpc == weighted.design.fpc
