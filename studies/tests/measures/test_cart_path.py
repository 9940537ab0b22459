"""Many greedy trees from one growth are those grown one by one."""

import numpy as np
import pytest

from understudy.papers.trees_greedy import Greedy
from understudy_studies.measures.cart_path import GreedyFamily

MEMBERS = tuple(
    Greedy(depth=depth, complexity=complexity, rule=rule)
    for depth in (0, 1, 2, 5, None)
    for complexity in (0.0, 0.001, 0.01, 0.05, 0.5)
    for rule in ("prune", "stop")
)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.nightly(every=6)
def test_members_are_those_grown_one_by_one_to_the_last_digit(seed):
    """With many ties, and with none; tables of unequal size."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 60, 2)
    if seed % 2:
        original, synthetic = rng.integers(0, 5, (n, 3)), rng.integers(1, 6, (m, 3))
    else:
        original, synthetic = rng.normal(size=(n, 2)), rng.normal(0.3, 1.1, size=(m, 2))
    found = GreedyFamily(MEMBERS).sses(original, synthetic)
    assert found.tolist() == [one.smallest_sse(original, synthetic) for one in MEMBERS]
    assert len(set(found.tolist())) > 3 or min(n, m) < 5


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_no_points_of_a_kind(shape):
    tables = [np.arange(2.0 * k).reshape(k, 2) for k in shape]
    assert GreedyFamily(MEMBERS).sses(*tables).tolist() == [0.0] * len(MEMBERS)


@pytest.mark.parametrize("limits", [{"min_leaf": 2}, {"min_split": 3}])
def test_least_sizes_are_refused(limits):
    with pytest.raises(ValueError, match="any size"):
        GreedyFamily((Greedy(), Greedy(**limits)))
