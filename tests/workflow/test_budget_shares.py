"""What an automatic release buys besides its records."""

import polars as pl
import pytest

import understudy as us
from understudy.release.shape import Kind
from understudy.workflow.budget_shares import MOST_ANSWER_SCORES, scored_columns


def table(*sizes):
    columns = {
        f"c{j}": {"kind": "ordinal", "levels": [*range(size)], "reviewed": True}
        for j, size in enumerate(sizes)
    }
    rows = pl.DataFrame({name: [0] * 50 for name in columns})
    return rows, us.Schema.model_validate({"rows": "private", "columns": columns})


@pytest.mark.parametrize(
    ("sizes", "bought"),
    [
        ((2, 3), ("c0", "c1")),
        ((2, MOST_ANSWER_SCORES + 100), ("c0",)),
        ((1, 2), ("c0", "c1")),
        ((1, MOST_ANSWER_SCORES + 100), ()),
        ((1,), ()),
    ],
)
@pytest.mark.nightly(every=5)
def test_columns_of_a_single_state_are_not_measured_alone(sizes, bought):
    """What is left once the largest are dropped may have nothing to measure: a release goes on."""
    rows, schema = table(*sizes)
    assert scored_columns(schema) == bought
    release = us.synthesize(rows, schema, epsilon=100, delta="1e-6", insecure_noise_seed=1)
    kinds = {one.kind for one in release.measurements}
    assert (Kind.PRODUCTS in kinds) == bool(bought)
