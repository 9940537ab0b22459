"""A model whose columns noise leaves uncertain is no matter of a few sets."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.inference.caveats import MOST, are_steady

SCHEMA = us.Schema.loads(
    '[columns.x]\nkind = "integer"\nlower = 0\nupper = 99\nmissing = [-1]\nreviewed = true\n'
    'source = "made"\n[columns.g]\nkind = "categorical"\nlevels = ["p", "q", "r"]\n'
    'reviewed = true\nsource = "made"\n[columns.t]\nkind = "boolean"\nreviewed = true\n'
    'source = "made"\n[columns.y]\nkind = "ordinal"\nlevels = [0, 1, 2]\nreviewed = true\n'
    'source = "made"\n'
)


def sets(rare, truths, n=4_000):
    """Sets with so many records of the level r, and of the truth value."""
    rng = np.random.default_rng(1)
    for few, true in zip(rare, truths, strict=True):
        yield pl.DataFrame(
            {
                "x": np.where(rng.random(n) < 0.1, -1, rng.integers(0, 100, n)),
                "g": np.where(np.arange(n) < few, "r", rng.choice(["p", "q"], n)),
                "t": np.arange(n) < true,
                "y": rng.integers(0, 3, n),
            }
        )


@pytest.mark.parametrize(
    ("columns", "rare", "truths", "steady"),
    [
        (("x", "y"), (9, 50, 20), (9, 50, 20), True),
        (("x", "g"), (100, 110, 90), (9, 50, 20), True),
        (("x", "g"), (9, 50, 20), (400, 410, 390), False),
        (("y", "t"), (9, 50, 20), (400, 410, 390), True),
        (("y", "t"), (400, 410, 390), (9, 50, 20), False),
        (("y", "t"), (400, 410, 390), (0, 0, 0), True),  # the model itself says that it is none
    ],
)
def test_each_level_counts(columns, rare, truths, steady):
    assert are_steady(list(sets(rare, truths)), SCHEMA, columns) is steady


def test_the_limit_is_a_part_of_the_variance():
    """Counts of 1,000 ± d have variances p(1 − p) whose deviation is .667·d/1,000 of them."""
    for change, steady in ((0.9, True), (1.1, False)):
        d = round(1_000 * MOST * change / 0.667)
        tables = list(sets((50, 50, 50), (1_000 - d, 1_000, 1_000 + d)))
        assert are_steady(tables, SCHEMA, ["t"]) is steady


def test_sets_without_complete_records_are_as_steady_as_nothing():
    empty = [table.head(0) for table in sets((1, 1), (1, 1))]
    assert are_steady(empty, SCHEMA, ["x", "g", "y"])
