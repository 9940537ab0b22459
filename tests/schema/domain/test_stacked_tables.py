"""Tables of drawn records: the compiled loops against numpy's slow one."""

import numpy as np
import pytest

from understudy.schema.domain import table_counts


def slowly(states, sizes, tables, weight):
    found = []
    for one in tables:
        table = np.zeros([sizes[j] for j in one])
        for k in range(states.shape[1]):
            table[tuple(states[j, k] for j in one)] += weight
        found.append(table.reshape(-1))
    return np.concatenate([*found, np.zeros(0)])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("largest", [5, 700])
@pytest.mark.nightly(every=3)
def test_as_counted_one_by_one(seed, largest):
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(1, 6, 5), largest]
    n = int(rng.integers(0, 200))
    states = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.int32)
    tables = [tuple(rng.permutation(6)[: rng.integers(0, 6)].tolist()) for _ in range(12)]
    found = table_counts(states, sizes, tables, weight=0.5)
    np.testing.assert_allclose(found, slowly(states, sizes, tables, 0.5), rtol=1e-6)


def test_tables_and_columns_may_be_none():
    assert table_counts(np.zeros((2, 3), dtype=np.int32), (1, 1), []).shape == (0,)
    assert table_counts(np.zeros((0, 3), dtype=np.int32), (), [()]).tolist() == [3.0]


def test_states_up_to_the_last_are_told_apart():
    """256 states fit eight bits, 257 do not."""
    for size in (256, 257):
        states = np.array([[0, size - 1, size - 1]], dtype=np.int32)
        found = table_counts(states, (size,), [(0,)])
        assert (found[0], found[-1], found.sum()) == (1, 2, 3)
