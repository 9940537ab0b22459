"""Levels of places in a schema: what fits, exact totals from a public file, what is kept."""

import numpy as np
import pytest

from schemas import column
from understudy.dp.guarantee import public_inputs
from understudy.errors import SchemaError
from understudy.schema import Schema

PLACES = """
[[relations]]
hierarchy = ["area", "county"]
within = { south = ["s1"], north = ["n1", "n2"] }
"""
RULE = """
[[forbidden]]
where = { county = "south", sex = "f" }
"""
COLUMNS = "\n".join(
    [
        column("county", "categorical", levels=["north", "south"]),
        column("area", "categorical", levels=["n1", "s1", "n2"]),
        column("village", "categorical", levels=["v1"], missing=["?"]),
        column("sex", "categorical", levels=["f", "m"]),
        column("age", "integer", lower=0, upper=90),
    ]
)
TOTALS = """
[[geography.invariants]]
level = "county"
totals = { north = 30, south = 12 }
source = "law of the census"
"""


def schema_of(geography, more=PLACES):
    return Schema.loads(f"[geography]\n{geography}\n{COLUMNS}{more}")


def test_levels_lie_within_each_other_as_the_hierarchies_say():
    schema = schema_of('spine = ["county", "area"]\nby = ["sex", "age"]')
    parents = schema.geography.parents(schema.columns, schema.relations)
    assert [one.tolist() for one in parents] == [[0], [0, 0], [0, 1, 0]]
    assert schema.geography.tables == (("county", "sex", "age"), ("area", "sex", "age"))


@pytest.mark.parametrize(
    ("geography", "message"),
    [
        ('by = ["sex"]', "spine is needed"),
        ('spine = ["countie"]', "no measured column"),
        ('spine = ["county"]\nby = ["county"]', "named twice"),
        ('spine = ["area", "county"]', "no hierarchy"),
        ('spine = ["age"]', "need to be levels"),
        ('spine = ["village"]', "none of them absent"),
        ('spine = ["county", "area"]\nshares = [1]', "for each level"),
        ('spine = ["county", "area"]\nshares = [1, 0]', "above 0"),
        ('spine = ["area"]' + TOTALS, "no such level"),
        ('spine = ["county"]' + TOTALS.replace("south", "west"), "for each place"),
        ('spine = ["county"]' + TOTALS.replace("12", "-1"), "0 or more"),
        ('spine = ["county"]' + TOTALS.replace("law of the census", ""), "source"),
        ('spine = ["county"]' + TOTALS + TOTALS, "twice"),
        (
            'spine = ["county"]' + TOTALS + TOTALS.replace('"county"', '"all"')
            .replace("north = 30, south = 12", "all = 43"),
            "not the sums",
        ),
        ('spine = ["county"]\nlevels = 3', "levels"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(geography, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(geography)


def test_a_rule_that_forbids_cells_of_a_table_is_told():
    with pytest.raises(SchemaError, match="county × sex"):
        schema_of('spine = ["county"]\nby = ["sex"]', PLACES + RULE)
    assert schema_of('spine = ["county"]', PLACES + RULE).geography.spine == ("county",)


def test_exact_totals_may_stand_in_a_file_beside_the_schema(tmp_path):
    by_file = '{ file = "census.csv", place = "code", value = "persons" }'
    text = TOTALS.replace("{ north = 30, south = 12 }", by_file)
    path = tmp_path / "schema.toml"
    path.write_text(f'[geography]\nspine = ["county"]{text}\n{COLUMNS}', encoding="utf-8")
    for content, message in [
        ("code,persons\nnorth,30\nsouth,some\n", "no whole number"),
        ("code,people\nnorth,30\nsouth,12\n", "no column 'persons'"),
        ("code,persons\nnorth,30\nnorth,12\n", "twice"),
    ]:
        (tmp_path / "census.csv").write_text(content, encoding="utf-8")
        with pytest.raises(SchemaError, match=message):
            Schema.load(path)
    (tmp_path / "census.csv").write_text("code,persons\nsouth,12\nnorth,30\n", encoding="utf-8")
    schema = Schema.load(path)
    assert schema == schema_of('spine = ["county"]' + TOTALS, "")
    assert Schema.loads(schema.dumps()) == schema, "a release refers to no file"
    (one,) = schema.geography.invariants
    assert np.array_equal(schema.geography.totals(one, schema.columns), [30, 12])


def test_the_guarantee_names_exact_totals_with_their_source():
    schema = schema_of('spine = ["county"]' + TOTALS)
    (told,) = (one for one in public_inputs(schema) if "exact totals" in one.what)
    assert ("county" in told.what, told.source) == (True, "law of the census")


def test_parts_of_a_table_have_places_where_all_their_columns_are():
    schema = schema_of('spine = ["county"]\nby = ["sex"]' + TOTALS)
    assert schema.part(["county", "sex"]).geography == schema.geography
    assert schema.part(["county", "age"]).geography.spine == ()
    assert schema.with_bins({"age": 3}).geography == schema.geography
    assert schema.with_groups({"sex": (0, 0)}).geography.spine == ()
