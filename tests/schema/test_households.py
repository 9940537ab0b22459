"""A schema of two tables: the wide table it stands for, its rules, and every way to be refused."""

import itertools
import json
import tomllib

import jsonschema
import numpy as np
import pytest

from made_members import RULES, SCHEMA
from understudy.errors import SchemaError
from understudy.inference.conditions import schema_that_tells
from understudy.inference.question import parse
from understudy.schema import Schema, private_copy
from understudy.schema.base import text_of
from understudy.schema.households import NO_MEMBER, Members

BOTH = SCHEMA + RULES
_ONE_COLUMN = """
[tables.h]
key = "k"
[tables.p]
of = "h"
key = "k"
rows_per_unit = 3
reviewed = true
"""


def of_members(columns, *, table="", rules="", units=""):
    """A schema of households whose members have the given columns."""
    told = "".join(
        f"[tables.p.columns.{name}]\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in entries.items())
        + "reviewed = true\n"
        for name, entries in columns.items()
    )
    return _ONE_COLUMN.replace('key = "k"\n', f'key = "k"\n{units}', 1) + table + told + rules


ROLE = {"role": {"kind": "ordinal", "levels": ["r", "p", "c"]}}
AGE = {"age": {"kind": "integer", "lower": 0, "upper": 3}}
SEX = {"sex": {"kind": "categorical", "levels": ["f", "m"]}}


def allowed(schema, columns):
    """Combinations of labels of some columns that are allowed, decided one by one."""
    states = [schema.columns[name].labels for name in columns]
    mask = schema.table(columns).allowed_mask()
    return {
        combination: bool(mask[place])
        for place, combination in zip(
            itertools.product(*(range(len(own)) for own in states)),
            itertools.product(*states),
            strict=True,
        )
    }


def test_a_declared_condition_cuts_no_bins_of_one_slot_alone():
    schema = of_members({"age": {"kind": "integer", "lower": 0, "upper": 99}} | ROLE)
    schema = Schema.loads(schema)
    asked = parse("proportion", "age_1 >= 63", schema)
    assert schema_that_tells([asked], schema) is schema


def test_two_tables_are_one_wide_table_with_a_slot_for_each_member():
    schema = Schema.loads(SCHEMA)
    assert [*schema.declared] == [
        *("hid", "region", "income", "size"),
        *("role_1", "age_1", "work_1", "role_2", "age_2", "work_2", "role_3", "age_3", "work_3"),
    ]
    assert schema.unit.table == "household"
    assert schema.unit.description == "a household with all its members"
    form = schema.members
    assert (form.table, form.of, form.key, form.size) == ("person", "household", "hid", "size")
    assert (form.columns, form.rows_per_unit) == (("role", "age", "work"), 3)
    assert form.order == ("role", "-age")
    assert schema.columns["size"].labels == ("1", "2", "3", "4")
    assert NO_MEMBER not in schema.columns["role_1"].not_applicable
    assert schema.columns["role_2"].not_applicable == (NO_MEMBER,)
    assert schema.columns["work_3"].not_applicable == (NO_MEMBER,)
    schema.require_reviewed()


@pytest.mark.parametrize("text", [SCHEMA, BOTH], ids=["plain", "rules"])
def test_the_wide_schema_is_written_and_read_as_it_is(text):
    schema = Schema.loads(text)
    assert Schema.loads(schema.dumps()) == schema == private_copy(schema)
    assert "[tables" not in schema.dumps()
    assert Members.model_validate(schema.members.model_dump()) == schema.members


def test_a_slot_is_empty_in_all_its_columns_exactly_if_the_unit_has_fewer_members():
    schema = Schema.loads(SCHEMA)
    for j in (2, 3):
        for name in ("role", "age", "work"):
            for (size, value), ok in allowed(schema, ["size", f"{name}_{j}"]).items():
                assert ok == ((value == NO_MEMBER) == (int(size) < j)), (size, name, j, value)


def test_units_without_members_are_a_state_where_they_are_declared():
    schema = Schema.loads(of_members(SEX, units="empty = true\n"))
    assert schema.columns["size"].labels == ("0", "1", "2", "3", "4")
    for (size, value), ok in allowed(schema, ["size", "sex_1"]).items():
        assert ok == ((value == NO_MEMBER) == (size == "0"))
    assert schema.domain.n_allowed == 1 + 2 + 4 + 8 + 8


def test_the_size_may_have_another_name():
    schema = Schema.loads(of_members(SEX, units='size = "members"\n'))
    assert [*schema.declared][:2] == ["k", "members"]
    assert schema.members.size == "members"


LEADING, OTHER = 'order = ["role"]\n', ""


def counted(rule, order, columns=ROLE):
    rules = f'[[tables.p.rules]]\n{rule}\nwhere = {{ role = "r" }}\nreviewed = true\n'
    schema = Schema.loads(of_members(columns, table=order, rules=rules))
    slots = [f"role_{j}" for j in (1, 2, 3)]
    return {where for where, ok in allowed(schema, ["size", *slots]).items() if ok}


def compositions():
    """Sizes, and the roles of the members in slots."""
    for size in range(1, 5):
        for own in itertools.product("rpc", repeat=min(size, 3)):
            yield str(size), *own, *[NO_MEMBER] * (3 - len(own))


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ("exactly = 1", lambda n: n == 1),
        ("at_most = 1", lambda n: n <= 1),
        ("at_most = 0", lambda n: n == 0),
        ("at_least = 1", lambda n: n >= 1),
        ("at_most = 2", lambda n: n <= 2),
    ],
)
def test_a_count_with_a_leading_order_allows_what_fits_it_in_that_order(rule, fits):
    found = counted(rule, LEADING)
    for where in compositions():
        roles = [role for role in where[1:] if role != NO_MEMBER]
        if roles == sorted(roles, key="rpc".index):
            assert (where in found) == fits(roles.count("r")), where


@pytest.mark.parametrize("most", [0, 1, 2])
def test_at_most_needs_no_order(most):
    found = counted(f"at_most = {most}", OTHER)
    for where in compositions():
        assert (where in found) == (where.count("r") <= most), where


def test_at_least_two_leave_no_unit_of_one():
    found = counted("at_least = 2", LEADING)
    assert {where[0] for where in found} == {"2", "3", "4"}
    assert all(where[1:3] == ("r", "r") for where in found)


INEQUALITY = (
    '[[tables.p.rules]]\nbetween = {{ role = ["r", "c"] }}\ninequality = "{}"\nreviewed = true\n'
)
ONE = '[[tables.p.rules]]\nexactly = 1\nwhere = { role = "r" }\nreviewed = true\n'
AGES = {"age": {"kind": "integer", "lower": 0, "upper": 5, "bins": [0, 2, 4, 5]}}


@pytest.mark.parametrize("order", [LEADING + "", 'order = ["-age"]\n'], ids=["leading", "other"])
@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("r.age >= c.age + 2", 2),
        ("r.age > c.age", 1),
        ("c.age + 3 <= r.age", None),
        ("c.age <= r.age", 0),
        ("c.age < r.age - 1", 2),
        ("r.age >= c.age - 1", -1),
    ],
)
def test_what_bins_can_tell_of_a_distance_is_forbidden_and_no_more(order, text, least):
    leading = order == LEADING
    rules = (ONE if leading else "") + INEQUALITY.format(text)
    if least is None:
        with pytest.raises(SchemaError, match="must compare a column of the two levels"):
            Schema.loads(of_members({**ROLE, **AGES}, table=order, rules=rules))
        return
    schema = Schema.loads(of_members({**ROLE, **AGES}, table=order, rules=rules))
    (rule,) = schema.members.distances
    assert (rule.larger, rule.smaller, rule.columns) == ("r", "c", ("age", "age"))
    assert (rule.distance, rule.first) == (least, leading)
    bins = {"0 to 1": (0, 1), "2 to 3": (2, 3), "4 to 5": (4, 5)}
    names = ["role_1", "age_1", "role_2", "age_2"]
    for (one, first, two, second), ok in allowed(schema, names).items():
        if NO_MEMBER in (two, second) and (two, second) != (NO_MEMBER, NO_MEMBER):
            continue
        possible = True
        if one == "r" and two == "c":
            possible = bins[first][1] >= bins[second][0] + least
        if one == "c" and two == "r" and not leading:
            possible = bins[second][1] >= bins[first][0] + least
        if leading and (one != "r" or two == "r"):
            possible = False
        assert ok == possible, (one, first, two, second)


def test_an_older_role_that_stands_second_is_compared_in_its_slot_alone():
    rules = ONE + INEQUALITY.replace('["r", "c"]', '["p", "c"]').format("p.age >= c.age + 2")
    schema = Schema.loads(of_members({**ROLE, **AGES}, table=LEADING, rules=rules))
    bins = {"0 to 1": (0, 1), "2 to 3": (2, 3), "4 to 5": (4, 5)}
    names = ["role_2", "age_2", "role_3", "age_3"]
    for (one, first, two, second), ok in allowed(schema, names).items():
        if NO_MEMBER in (one, first, two, second):
            continue
        possible = [one, two] in (["p", "p"], ["p", "c"], ["c", "c"])
        if (one, two) == ("p", "c"):
            possible = bins[first][1] >= bins[second][0] + 2
        assert ok == possible, (one, first, two, second)


FINE = "bins = [0, 3, 6, 10, 16, 20, 25, 35, 45, 55, 65, 75, 85, 99]"


@pytest.mark.parametrize("ruled", [True, False])
@pytest.mark.nightly(every=2)
def test_six_slots_and_fine_bins_need_to_know_where_the_older_one_stands(ruled):
    """With the numbers of those in front, the partner's slot is known; else the fix is told."""
    text = BOTH.replace("rows_per_unit = 3", "rows_per_unit = 6").replace("reference.age", "a.age")
    text = text.replace("bins = [0, 16, 30, 50, 99]", FINE).replace("a.age", "partner.age")
    text = text.replace('["reference", "child"]', '["partner", "child"]')
    assert FINE in text
    if ruled:
        assert Schema.loads(text).domain.n_allowed > 0
        return
    text = text.replace(
        'exactly = 1\nwhere = { role = "reference" }', 'at_most = 6\nwhere = { role = "child" }'
    )
    with pytest.raises(SchemaError, match=r"let `order` begin with 'role' and say by exactly"):
        Schema.loads(text.replace("at_most = 1", "at_most = 6"))


def test_rules_of_one_member_hold_in_every_slot_and_may_name_columns_of_units():
    rules = (
        '[[tables.p.forbidden]]\nwhere = { sex = "m", age = { lower = 0, upper = 1 } }\n'
        'reviewed = true\n[[tables.p.forbidden]]\nwhere = { sex = "f", place = "x" }\n'
        "reviewed = true\n"
    )
    units = '[tables.h.columns.place]\nkind = "categorical"\nlevels = ["x", "y"]\nreviewed = true\n'
    schema = Schema.loads(of_members({**AGE, **SEX}, rules=rules, units=units))
    for j in (1, 2, 3):
        own = allowed(schema, [f"sex_{j}", f"age_{j}"])
        assert [where for where, ok in own.items() if not ok] == [("m", "0"), ("m", "1")]
        with_unit = allowed(schema, ["place", f"sex_{j}"])
        assert [where for where, ok in with_unit.items() if not ok] == [("x", "f")]


def test_relations_of_one_member_hold_in_every_slot():
    numbers = {"kind": "integer", "lower": 0, "upper": 3}
    own = {"begun": numbers, "ended": numbers, "county": {"kind": "categorical", "levels": ["a"]}}
    own["state"] = {"kind": "categorical", "levels": ["A"]}
    rules = (
        '[[tables.p.relations]]\ninequality = "begun <= ended"\nreviewed = true\n'
        '[[tables.p.relations]]\nhierarchy = ["county", "state"]\nwithin = { A = ["a"] }\n'
        "reviewed = true\n"
    )
    schema = Schema.loads(of_members(own, rules=rules))
    names = [one.columns for one in schema.relations]
    assert names == [
        *(("begun_1", "ended_1"), ("begun_2", "ended_2"), ("begun_3", "ended_3")),
        *(("county_1", "state_1"), ("county_2", "state_2"), ("county_3", "state_3")),
    ]


def test_references_within_the_tables_are_written_out():
    shared = """
[lists.yes_no]
levels = ["yes", "no"]
[[defaults]]
columns = ["*"]
source = "codebook"
"""
    text = shared + of_members({}) + '[tables.p.columns.owns]\nkind = "categorical"\n'
    text += 'levels = { list = "yes_no" }\nreviewed = true\n'
    text += '[tables.p.columns.rents]\nlike = "owns"\n'
    text += '[tables.h.columns.pays]\nkind = "categorical"\nlevels = { list = "yes_no" }\n'
    schema = Schema.loads(text + "reviewed = true\n")
    for name in ("owns_1", "rents_1", "pays"):
        assert schema.columns[name].levels == ("yes", "no")
        assert schema.columns[name].source == "codebook"
    assert schema.columns["rents_2"].not_applicable == (NO_MEMBER,)


def test_a_default_may_name_columns_of_one_table_alone():
    shared = '[[defaults]]\ncolumns = ["sex"]\nsource = "register"\n'
    units = '[tables.h.columns.place]\nkind = "categorical"\nlevels = ["x", "y"]\nreviewed = true\n'
    schema = Schema.loads(shared + of_members(SEX, units=units))
    assert schema.columns["sex_2"].source == "register"
    assert schema.columns["place"].source == ""


@pytest.mark.parametrize(
    "entries",
    [
        {"kind": "categorical", "levels": ["a", "b"], "missing": ["?"]},
        {"kind": "boolean", "missing": [""]},
        {"kind": "boolean"},
        {"kind": "integer", "lower": -3, "upper": 40, "missing": [-9], "spikes": [0], "bins": 4},
        {"kind": "continuous", "lower": 0, "upper": 1, "out_of_domain": "odd"},
        {"kind": "date", "lower": "2000-01-01", "upper": "2000-12-31"},
        {"kind": "time"},
        {"kind": "time", "not_applicable": ["never"]},
        {"kind": "duration", "lower": "P0D", "upper": "P3D", "resolution": "hour"},
        {"kind": "datetime", "lower": "2000-01-01 00:00", "upper": "2000-01-02 12:00"},
    ],
    ids=lambda entries: entries["kind"],
)
def test_every_kind_of_column_can_be_one_of_members(entries):
    text = of_members({"one": entries, **SEX})
    for key in ("lower", "upper"):
        if entries["kind"] in ("date", "datetime") and key in entries:
            bare = entries[key].replace(" ", "T") + ":00" * (" " in entries[key])
            text = text.replace(json.dumps(entries[key]), bare)
    schema = Schema.loads(text)
    first, later = schema.columns["one_1"], schema.columns["one_2"]
    assert later.size == first.size + 1
    for (size, value), ok in allowed(schema, ["size", "one_2"]).items():
        assert ok == ((value == NO_MEMBER) == (int(size) < 2)), value
    assert schema.members.member_columns(schema.declared)["one"] == first
    assert Schema.loads(schema.dumps()) == schema


def test_one_slot_and_thirty_are_the_least_and_the_most():
    one = Schema.loads(SCHEMA.replace("rows_per_unit = 3", "rows_per_unit = 1"))
    assert one.members.slots == (("role_1", "age_1", "work_1"),)
    assert not one.forbidden
    many = Schema.loads(BOTH.replace("rows_per_unit = 3", "rows_per_unit = 30"))
    assert len(many.members.slots) == 30
    assert many.columns["size"].labels[-1] == "31"


def without(text, part):
    assert part in text
    return text.replace(part, "")


def put(old, new, text=BOTH):
    assert old in text
    return text.replace(old, new, 1)


FAULTS = {
    "flat columns too": (
        BOTH + '[columns.x]\nkind = "boolean"\nreviewed = true\n',
        r"columns of a schema with \[tables\] stand in its tables, not in \[columns\]",
    ),
    "persons protected": (
        put('table = "household"', 'table = "person"'),
        r"\[unit\] protects 'person', and rules across members.*write table = 'household'",
    ),
    "one table": (
        "[tables.household]\nkey = 'hid'\n",
        r"\[tables\] needs two tables: one of units.*with of = \"household\"",
    ),
    "no tables": ("tables = 3\n", r"tables must be a table of tables"),
    "another parent": (
        put('of = "household"', 'of = "houshold"'),
        r"table 'person', of: there is no table 'houshold'.*household",
    ),
    "no number of slots": (
        without(BOTH, "rows_per_unit = 3\n"),
        r"table 'person', rows_per_unit: Field required",
    ),
    "too many slots": (
        put("rows_per_unit = 3", "rows_per_unit = 31"),
        r"table 'person', rows_per_unit: .*less than or equal to 30",
    ),
    "no key": (put('key = "hid"\n', ""), r"table 'household', key: Field required"),
    "an entry nobody knows": (
        put("rows_per_unit = 3", "rows_per_unit = 3\nrows = 2"),
        r"table 'person', rows: Extra inputs",
    ),
    "two names alike": (
        put("[tables.household.columns.region]", "[tables.household.columns.age_2]"),
        r"two columns of the wide table are called 'age_2'.*rename one",
    ),
    "a column called size": (
        put("[tables.household.columns.region]", "[tables.household.columns.size]"),
        r"two columns of the wide table are called 'size'.*rename one",
    ),
    "a key that is a column": (
        put("[tables.person.columns.work]", "[tables.person.columns.hid]"),
        r"table 'person' declares its key 'hid' as a column.*leave it out",
    ),
    "an identifier of members": (
        BOTH + '[tables.person.columns.pid]\nkind = "identifier"\nreviewed = true\n',
        r"table 'person', column 'pid' is an identifier; leave it out",
    ),
    "a derived column of members": (
        BOTH + '[tables.person.columns.old]\nkind = "integer"\nlower = 0\nupper = 9\n'
        'derived = "age / 10"\nreviewed = true\n',
        r"table 'person', column 'old' is derived; derive it from the released table",
    ),
    "the word for nobody": (
        put('"child"]\nsource', '"no member"]\nsource'),
        r"table 'person', column 'role' has the value 'no member'.*another name",
    ),
    "an order by what is not there": (
        put('order = ["role", "-age"]', 'order = ["role", "-ages"]'),
        r"table 'person', order names 'ages', which is no column of it.*age",
    ),
    "a cut by what is not there": (
        put('order = ["role", "-age"]', 'cut = { first = "rôle", levels = ["reference"] }'),
        r"table 'person', cut names 'rôle', which is no column of it",
    ),
    "a cut of another kind": (
        put('order = ["role", "-age"]', 'cut = "first"'),
        r"table 'person', cut must be \"random\" or a table",
    ),
    "a cut to levels that are not there": (
        put('order = ["role", "-age"]', 'cut = { first = "role", levels = ["boss"] }'),
        r"table 'person', cut names 'boss', which is no level of 'role'",
    ),
    "a rule of nothing": (
        put('exactly = 1\nwhere = { role = "reference" }\n', ""),
        r"table 'person', rules.0: a rule across members has one of exactly",
    ),
    "a rule of two counts": (
        put("exactly = 1\n", "exactly = 1\nat_most = 2\n"),
        r"table 'person', rules.0: a rule across members has one of exactly",
    ),
    "at least without an order": (
        put('order = ["role", "-age"]', 'order = ["-age"]'),
        r"wants at least 1 with certain values of 'role' needs an order that begins with 'role'",
    ),
    "a rule about what is not there": (
        put('exactly = 1\nwhere = { role = "reference" }', 'at_most = 1\nwhere = { rolle = "x" }'),
        r"table 'person': a rule across members names 'rolle', which is no column.*role",
    ),
    "an inequality that is none": (
        put("reference.age >= child.age + 14", "reference is older"),
        r"must compare a column of the two levels in `between`",
    ),
    "an inequality of others": (
        put("reference.age >= child.age + 14", "reference.age >= partner.age"),
        r"must compare a column of the two levels in `between`",
    ),
    "an inequality of levels that are not there": (
        put('["reference", "child"] }', '["reference", "kid"] }').replace("child.age", "kid.age"),
        r"names 'kid', which is no level of 'role'",
    ),
    "an inequality of words": (
        put("reference.age >= child.age + 14", "reference.age >= child.work"),
        r"names 'work', which is no column of numbers of it",
    ),
    "too many combinations": (
        put("rows_per_unit = 3", "rows_per_unit = 30")
        .replace("exactly = 1\n", "at_most = 5\n", 1)
        .replace('order = ["role", "-age"]', 'order = ["-age"]'),
        r"becomes more than 2,000 forbidden combinations; use fewer slots or wider bins",
    ),
    "a fault within a table": (
        put('kind = "boolean"', 'kind = "bool"'),
        r"In the table 'person': .*column 'work'.*kind",
    ),
    "like another table": (
        put('kind = "boolean"', 'like = "region"'),
        r"In the table 'person': .*column 'work', like: must be the name of another column",
    ),
    "a forbidden combination without its columns": (
        put("where = { age = { lower = 0, upper = 15 }, work = true }\n", ""),
        r"table 'person': a forbidden combination needs `where`",
    ),
    "a key with a hidden character": (
        put('key = "hid"', 'key = "h\\u0007id"'),
        r"table 'household', key has a name with the character U\+0007",
    ),
    "several rows of one table": (
        '[unit]\nrows_per_unit = 2\n[columns.x]\nkind = "boolean"\nreviewed = true\n',
        r"declare the units and their rows as two tables",
    ),
}


@pytest.mark.parametrize(("text", "match"), FAULTS.values(), ids=[*FAULTS])
def test_a_fault_is_told_in_words_with_its_table(text, match):
    tomllib.loads(text)
    with pytest.raises(SchemaError, match=f"(?s){match}") as told:
        Schema.loads(text)
    assert "pydantic" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["a/b", "..", "a.b", "haus halt", "häuser", "a-b", "x" * 65, "", "a\\b", "con:", "a\n"]
)
def test_names_of_tables_are_parts_of_names_of_files(name):
    text = SCHEMA.replace("tables.person", f"tables.{json.dumps(name)}")
    with pytest.raises(SchemaError, match=r"no name of a file everywhere.*digits and underscores"):
        Schema.loads(text)
    content = tomllib.loads(Schema.loads(SCHEMA).dumps())
    content["members"]["table"] = name
    with pytest.raises(ValueError, match="no name of a file everywhere"):
        Schema.model_validate(content)


def test_names_of_tables_that_differ_in_case_alone_are_refused():
    text = SCHEMA.replace("tables.person", "tables.Household")
    with pytest.raises(SchemaError, match="both tables have one name"):
        Schema.loads(text)


def changed(change):
    content = tomllib.loads(Schema.loads(BOTH).dumps())
    change(content)
    return content


MEMBER_FAULTS = {
    "a slot that is not there": (
        lambda c: c["members"].update(rows_per_unit=4),
        r"needs the column 'role_4', which the schema does not have",
    ),
    "no size": (
        lambda c: c["members"].update(size="sizes"),
        r"needs the column 'sizes', which the schema does not have",
    ),
    "a key that is measured": (
        lambda c: c["members"].update(key="region"),
        r"has the key 'region', which is no identifier",
    ),
    "slots that differ": (
        lambda c: c["columns"]["role_2"].update(levels=["reference", "partner", "kid"]),
        r"'role', which differs between slots",
    ),
    "an order by what is not there": (
        lambda c: c["members"].update(order=["rolle"]),
        r"names 'rolle', which is no column of 'person'",
    ),
    "a distance of what is not there": (
        lambda c: c["members"]["distances"][0].update(columns=["age", "ages"]),
        r"names 'ages', which is no column of 'person'",
    ),
}


@pytest.mark.parametrize(("change", "match"), MEMBER_FAULTS.values(), ids=[*MEMBER_FAULTS])
def test_the_entry_of_a_wide_table_must_fit_its_columns(change, match):
    content = changed(change)
    content.pop("forbidden")
    with pytest.raises(ValueError, match=match):
        Schema.model_validate(content)


def test_coarser_columns_have_no_members_and_other_bins_keep_them():
    schema = Schema.loads(SCHEMA)
    assert schema.with_bins({"age_2": 1}).members == schema.members
    assert schema.with_groups({"role_2": (0, 0, 1, 2)}).members is None
    assert schema.part(["region"]).members is None


def test_a_cut_may_keep_some_first():
    text = put("reviewed = true", "reviewed = true", SCHEMA)
    text = put('order = ["role", "-age"]', 'cut = { first = "role", levels = ["child"] }', text)
    schema = Schema.loads(text)
    assert schema.members.cut.first == "role"
    assert schema.members.cut.levels == ("child",)
    assert schema.members.order == ("-age",)  # oldest first where nothing is said


def test_every_rule_names_states_that_there_are():
    schema = Schema.loads(BOTH)
    for rule in schema.forbidden:
        assert all(states for states in rule.states(schema.columns).values()), rule.text
    assert np.all([rule.reviewed for rule in schema.forbidden])
    assert text_of(schema.members.distances[0].distance) == "14"
    assert schema.members.distances[0].first


def test_the_published_json_schema_takes_tables():
    validator = jsonschema.Draft202012Validator(Schema.json_schema())
    for text in (SCHEMA, BOTH, Schema.loads(BOTH).dumps()):
        assert not [*validator.iter_errors(tomllib.loads(text))]
    assert [*validator.iter_errors({"title": "neither columns nor tables"})]
    odd = tomllib.loads(BOTH)
    odd["tables"]["person"]["rows_per_unit"] = "three"
    assert [*validator.iter_errors(odd)]
