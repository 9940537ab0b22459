"""Merged states: labels, rules that keep their meaning, and rules that a group would cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import Domain, Schema
from understudy.schema.coarsening import signatures, sum_groups

TEXT = """
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 40, 65, 99]
missing = [""]
source = "codebook"
reviewed = true
[columns.job]
kind = "categorical"
levels = ["none", "worker", "boss", "clerk", "a or b"]
source = "codebook"
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = ["worker", "boss", "clerk"] }
source = "law"
reviewed = true
"""
SCHEMA = Schema.loads(TEXT)


def test_groups_have_labels_that_can_be_told_apart():
    coarse = SCHEMA.with_groups({"job": (0, 1, 1, 1, 0), "age": (0, 1, 1, 1, 2)})
    assert coarse.columns["job"].labels == ("none or a or b", "worker or boss or clerk")
    assert coarse.columns["age"].labels == (
        "0 to 17",
        "18 to 39 or 40 to 64 or 65 to 99",
        "(empty)",
    )
    assert coarse.names == SCHEMA.names
    many = Schema.loads(
        '[columns.x]\nkind = "categorical"\nlevels = ["a", "b", "c", "d", "a … d (4 values)"]\n'
        'source = "codebook"\nreviewed = true'
    )
    labels = many.with_groups({"x": (1, 1, 1, 1, 0)}).columns["x"].labels
    assert labels == ("a … d (4 values)", "a … d (4 values)′")


def test_a_rule_that_no_group_cuts_keeps_its_meaning():
    groups = {"job": (0, 1, 1, 1, 0), "age": (0, 1, 1, 1, 2)}
    coarse = SCHEMA.with_groups(groups)
    fine, merged = SCHEMA.domain.allowed_mask(), coarse.domain.allowed_mask()
    for cell in itertools.product(*map(range, SCHEMA.sizes)):
        assert fine[cell] == merged[groups["age"][cell[0]], groups["job"][cell[1]]]


def test_a_rule_that_a_group_cuts_is_left_out():
    assert SCHEMA.with_groups({"job": (0, 0, 1, 1, 2)}).forbidden == ()
    assert SCHEMA.with_groups({"age": (0, 0, 1, 1, 1)}).forbidden == ()


@pytest.mark.parametrize("groups", [(0, 1), (0, 2, 2, 2, 2), (1, 1, 1, 1, 1), (-1, 0, 0, 0, 0)])
def test_groups_that_do_not_fit_are_refused(groups):
    with pytest.raises(SchemaError, match="'job'"):
        SCHEMA.with_groups({"job": groups})


@st.composite
def domains(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    boxes = []
    for _ in range(draw(st.integers(0, 3))):
        columns = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
        box = {
            j: frozenset(draw(st.sets(st.integers(0, sizes[j] - 1), min_size=1))) for j in columns
        }
        boxes.append(box)
    return Domain(sizes, tuple(boxes))


@settings(derandomize=True, deadline=None)
@given(domains())
def test_states_of_one_signature_can_be_exchanged_in_every_cell(domain):
    mask = domain.allowed_mask()
    for j, found in enumerate(signatures(domain)):
        assert len(found) == domain.sizes[j]
        for one, other in itertools.combinations(range(domain.sizes[j]), 2):
            if found[one] == found[other]:
                assert (np.take(mask, one, axis=j) == np.take(mask, other, axis=j)).all()


def test_a_thousand_rules_have_signatures_too():
    boxes = tuple({0: frozenset({k % 7}), 1: frozenset({k % 5})} for k in range(1000))
    assert [len(set(one.tolist())) for one in signatures(Domain((7, 5), boxes))] == [7, 5]


def test_groups_of_counts_are_summed():
    assert sum_groups(np.array([1.5, 2.0, 4.0]), (1, 0, 1)).tolist() == [2.0, 5.5]
