"""What one record changes in counts of cells of which it is in one: all of it, by enumeration."""

import itertools

import numpy as np


def assert_one_cell_a_record(exact, records):
    """One record changes no more than is claimed, beside two others, and attains it.

    Args:
        exact: counts of some records, those out of domain last.
        records: of all values of the column's kinds; one of them out of domain, if it can be.
    """
    alone = [exact([record]) for record in records]  # by place: not each can be told from others
    rng = np.random.default_rng(1)
    others = [records[k] for k in rng.integers(len(records), size=2)]
    base = exact(others)
    for k, record in enumerate(records):  # a record is counted alike, whatever is beside it
        assert (exact([*others, record]) == base + alone[k]).all()
    added = np.array(alone)
    assert (np.abs(added).sum(axis=1) == 1).all()
    changes = np.array([a - b for a, b in itertools.product(added, repeat=2)])
    assert np.abs(changes).sum(axis=1).max() == 2
    assert (changes**2).sum(axis=1).max() == 2
