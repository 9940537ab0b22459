"""Rare levels are merged along their tree, and never across rules."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.graphical.compression import RARE, merged_branches

CODES = np.arange(27)
BRANCHES = [CODES // 3, CODES // 9]
counts = st.lists(st.floats(-20, 200), min_size=27, max_size=27).map(np.array)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(counts, st.floats(0.1, 10), st.floats(0, 100))
def test_each_group_is_of_the_finest_branch_that_stands_out(noisy, stddev, least):
    groups = merged_branches(noisy, stddev, BRANCHES, least=least)
    heavy = noisy >= max(RARE * stddev, least)
    rest = None
    for group in np.unique(groups):
        member = np.flatnonzero(groups == group)
        enough = noisy[member].sum() >= max(RARE * stddev * np.sqrt(len(member)), least)
        if len(member) > 1:
            assert not heavy[member].any()
        if heavy[member].all():
            assert len(member) == 1
        elif not any(len(set(branch[member])) == 1 and enough for branch in BRANCHES):
            assert rest is None
            rest = group
    assert groups[0] == 0


def test_rules_are_not_crossed():
    rules = CODES % 2
    groups = merged_branches(np.zeros(27), 1.0, BRANCHES, signatures=rules)
    assert groups.tolist() == rules.tolist()
