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
