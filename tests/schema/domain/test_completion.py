"""What rules leave of the columns that records do not have, against the definition."""

from itertools import product

import numpy as np
import pytest

from understudy.schema import Domain
from understudy.schema.domain import completions

DOMAINS = {
    "no rules": Domain((2, 3, 2)),
    "one": Domain((2, 3, 2), ({0: frozenset({1}), 2: frozenset({0})},)),
    "within the given": Domain((2, 3, 2), ({0: frozenset({1}), 1: frozenset({0, 2})},)),
    "all together": Domain(
        (2, 3, 2),
        (
            {0: frozenset({1}), 2: frozenset({0})},
            {0: frozenset({1}), 1: frozenset({2}), 2: frozenset({1})},
            {1: frozenset({0})},
        ),
    ),
}


def allowed(domain, cell):
    return not any(all(cell[j] in box[j] for j in box) for box in domain.boxes)


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("given", [(0,), (0, 1), (1, 0), (2,), (0, 1, 2)])
@pytest.mark.nightly(every=3)
def test_each_record_has_the_cells_that_the_rules_leave(domain, given):
    records = list(product(*(range(domain.sizes[j]) for j in given))) * 3
    states = [np.array(column) for column in zip(*records, strict=True)]
    opened = [j for j in range(3) if j not in given]
    seen = []
    for rows, left in completions(domain, given, states):
        cells = set(product(*map(range, left.sizes))) if left.sizes else {()}
        found = {one for one in cells if allowed(left, one)} if left.n_allowed else set()
        for row in rows.tolist():
            seen.append(row)
            known = dict(zip(given, records[row], strict=True))
            expected = {
                rest
                for rest in product(*(range(domain.sizes[j]) for j in opened))
                if allowed(domain, known | dict(zip(opened, rest, strict=True)))
            }
            assert found == expected
    assert sorted(seen) == list(range(len(records)))


def test_there_are_as_many_groups_as_rules_tell_apart():
    states = [np.arange(1_000) % 2, np.arange(1_000) % 3]
    groups = list(completions(DOMAINS["one"], (0, 1), states))
    assert [len(rows) for rows, _ in groups] == [500, 500]


def test_no_records_have_no_groups():
    assert list(completions(DOMAINS["one"], (0,), [np.zeros(0, dtype=np.int64)])) == []
