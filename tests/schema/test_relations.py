"""Relations in a schema: which cells they forbid, in which bins, and every way to be refused."""

import itertools
import tomllib

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from schemas import Day, column
from understudy.errors import SchemaError
from understudy.schema import Schema, private_copy
from understudy.schema.constraints import Grid

COUNTY = column("county", "categorical", levels=["a", "b", "c"], missing=["?"])
STATE = column("state", "categorical", levels=["N", "S"])
WITHIN = """
[[relations]]
hierarchy = ["county", "state"]
within = { N = ["a", "b"], S = ["c"] }
"""


def number(name, **entries):
    return column(name, "integer", **{"lower": 0, "upper": 9, **entries})


def inequality(text, **entries):
    told = "".join(f"{key} = {value}\n" for key, value in entries.items())
    return f'\n[[relations]]\ninequality = "{text}"\n{told}reviewed = true\n'


def test_a_hierarchy_forbids_what_lies_elsewhere_and_lets_absence_pass():
    schema = Schema.loads(COUNTY + STATE + WITHIN)
    assert schema.domain.allowed_mask().tolist() == [
        [True, False],
        [True, False],
        [False, True],
        [True, True],
    ]
    assert Schema.loads(schema.dumps()) == schema == private_copy(schema)


BINS = st.sampled_from([1, 2, 3, 5, 10, (0, 3, 4, 9), (0, 8, 9)])


@given(BINS, BINS, st.sampled_from(["s <= e", "s < e", "e > s", "e >= s"]), st.booleans())
@settings(max_examples=60 if NIGHT else 20, deadline=None)
def test_a_cell_is_allowed_just_if_some_numbers_of_its_bins_are_in_order(one, other, text, codes):
    missing = {"missing": [-9, ""]} if codes else {}
    told = number("s", bins=one) + number(
        "e", bins=other, spikes=[4] if other == 2 else [], **missing
    )
    schema = Schema.loads(told + inequality(text))
    mask = schema.domain.allowed_mask()
    s, e = (Grid.of(schema.columns[name]) for name in "se")
    strict = "=" not in text
    for j, k in itertools.product(range(len(s.lows)), range(len(e.lows))):
        values = itertools.product(
            *(range(int(g.lows[i]), int(g.highs[i]) + 1) for g, i in ((s, j), (e, k)))
        )
        assert mask[j, k] == any(a < b if strict else a <= b for a, b in values), (j, k)
    assert mask[:, len(e.lows) :].all()
    assert len(schema.domain.boxes) <= min(len(s.lows), len(e.lows))


def test_a_chain_forbids_what_follows_only_where_the_middle_has_a_value():
    told = number("a", bins=10) + number("b", bins=1, missing=[""]) + number("c", bins=10)
    schema = Schema.loads(told + inequality("a < b") + inequality("b < c"))
    mask = schema.domain.allowed_mask()
    assert [mask[5, 0, 6], mask[5, 0, 7], mask[5, 1, 0]] == [False, True, True]


def test_finer_bins_keep_the_thresholds_and_coarser_ones_make_their_own():
    told = column("s", "date", lower=Day("2000-01-01"), upper=Day("2009-12-31"), bins=10)
    schema = Schema.loads(told + told.replace("columns.s", "columns.e") + inequality("s <= e"))
    fine = schema.with_bins({"s": 300, "e": 300})
    assert len(fine.domain.boxes) == len(schema.domain.boxes) == 9
    assert Schema.loads(fine.dumps()) == fine
    coarse = schema.with_bins({"s": 3, "e": 4})
    assert len(coarse.domain.boxes) == 2
    assert not coarse.relations[0].at


def test_groups_keep_what_does_not_cut_them():
    told = number("s", bins=10) + number("e", bins=10) + inequality("s <= e")
    halves = tuple(int(k >= 5) for k in range(10))
    grouped = Schema.loads(told).with_groups({"s": halves})
    mask = grouped.domain.allowed_mask()
    assert mask.tolist() == [[True] * 10, [False] * 5 + [True] * 5]
    assert private_copy(grouped) == grouped


def test_numbers_of_states_that_there_are_not_are_refused():
    rule = "\n[[forbidden]]\nwhere = { s = { states = [99] }, e = 3 }\n"
    with pytest.raises(SchemaError, match="forbidden combination"):
        Schema.loads(number("s") + number("e") + rule)


def test_ordinal_levels_are_compared_in_their_order():
    low, high = (column(name, "ordinal", levels=["x", "y", "z"]) for name in ("low", "high"))
    mask = Schema.loads(low + high + inequality("low <= high")).domain.allowed_mask()
    np.testing.assert_array_equal(mask, np.triu(np.ones((3, 3), dtype=bool)))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (inequality("s <= f"), "'f', which is no column that is measured"),
        (inequality("s == e"), "an inequality is one of two columns"),
        (inequality("s <= 3"), "an inequality is"),
        (inequality("s <= e <= s"), "cannot be read"),
        (inequality("s + 1 <= e"), "an inequality is"),
        (inequality("s <= s"), "one column twice"),
        (inequality("s <= county"), "not both numeric, dates, or ordinal"),
        (inequality("s <= day"), "a date with a number"),
        (inequality("s <= e") + inequality("e < s"), "circle"),
        (inequality("s <= e", at='["x"]'), "no number or date"),
        (inequality("s <= twice"), "'twice', which is no column that is measured"),
        ('\n[[relations]]\nsource = "x"\n', "needs either an inequality, or a hierarchy"),
        (WITHIN.replace('"county", "state"', '"county"'), "a hierarchy names two columns"),
        (WITHIN.replace('"county", "state"', '"county", "s"'), "no levels"),
        (WITHIN.replace('"b"', '"q"'), "'q', which is no level of 'county'"),
        (WITHIN.replace('["a", "b"]', '["a"]'), "does not say where 'b' of 'county' lies"),
        (WITHIN.replace('["c"]', '["c", "a"]'), "twice"),
        (WITHIN.replace("within", "witin"), "did you mean 'within'"),
        ("\n[[relations]]\ninequality = 3\n", "relation 1, inequality: must be a text such as"),
    ],
)
def test_a_relation_that_cannot_be_is_refused(told, said):
    day = column("day", "date", lower=Day("2000-01-01"), upper=Day("2001-01-01"))
    twice = number("twice", upper=20, derived="s * 2")
    rest = number("s") + number("e") + COUNTY + STATE + day + twice
    with pytest.raises(SchemaError, match=said):
        Schema.loads(rest + told)


def test_too_many_steps_are_refused_and_at_makes_them_few():
    told = number("s", upper=2000, bins=2001) + number("e", upper=2000, bins=2001)
    with pytest.raises(SchemaError, match=r"2,000 steps.*at most 500 in `at`"):
        Schema.loads(told + inequality("s <= e"))
    schema = Schema.loads(told + inequality("s <= e", at="[500, 1000, 1500]"))
    assert len(schema.domain.boxes) == 3
    assert schema.domain.find_forbidden([np.array([500, 499]), np.array([499, 0])]).tolist() == [
        True,
        False,
    ]


def test_a_relation_is_reviewed_as_a_rule_is():
    told = number("s") + number("e") + inequality("s <= e").replace("reviewed = true", "")
    with pytest.raises(SchemaError, match="relation “s <= e”"):
        Schema.loads(told).require_reviewed()


def test_the_json_schema_knows_rules_and_relations():
    twice = number("twice", upper=20, derived="s * 2")
    within = column("coast", "boolean", derived="county == 'a'", missing=[""])
    text = number("s") + number("e") + COUNTY + STATE + twice + within + WITHIN
    text += inequality("s <= e", at="[3, 6]")
    Schema.loads(text)
    validator = jsonschema.Draft202012Validator(Schema.json_schema())
    validator.validate(tomllib.loads(text))
    for old, new in (("within =", "witin ="), ('derived = "s', "derived = 3 #")):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(tomllib.loads(text.replace(old, new)))
