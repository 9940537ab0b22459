"""Clusters in random groups: each record's by its own name, whatever the other records are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from understudy.data import coding as module
from understudy.data.coding import random_groups
from understudy.data.table import Table
from understudy.errors import DataError, SchemaError
from understudy.schema import Schema

KEY = bytes(range(32))
SCHEMA = Schema.loads(
    '[columns.psu]\nkind = "categorical"\n'
    f"levels = {list(range(1, 21))}\nrandom_groups = true\nreviewed = true\n"
)


def states(values):
    return Table(pl.DataFrame({"psu": values}), SCHEMA).code_rows().expose()[0].tolist()


def test_a_name_is_one_cluster_however_its_column_writes_it():
    ways = [
        pl.Series([7, 12]),
        pl.Series([7.0, 12.0]),
        pl.Series(["7", "12"]),
        pl.Series(["007", "12.0"]),
        pl.Series(["7", "12"], dtype=pl.Categorical),
    ]
    found = {tuple(random_groups(values, 20, KEY).tolist()) for values in ways}
    assert len(found) == 1
    absent = random_groups(pl.Series([None, "", "A"]), 1000, KEY)
    assert absent[0] == absent[1] != absent[2]
    assert random_groups(pl.Series([None, 1.0]), 1000, KEY)[0] == absent[0]
    large = 2**60  # a column becomes real as soon as one name is absent
    assert random_groups(pl.Series([large]), 10**6, KEY) == random_groups(
        pl.Series([float(large)]), 10**6, KEY
    )


def test_no_record_changes_the_group_of_another():
    """Added or removed, in any place, of any type: neighbours stay neighbours after coding."""
    names = [3, 8, 8, 21, 3, 40]
    before = states(names)
    assert before[1] == before[2]
    assert before[0] == before[4]
    for odd in (None, 99, 2.5, "A-1", "8"):
        values = [*names[:2], odd, *names[2:]]
        if isinstance(odd, str):
            values = [str(value) for value in values]
        column = pl.Series(values, strict=False)
        after = states(column)
        assert after[:2] + after[3:] == before
    for left_out in range(len(names)):
        rest = names[:left_out] + names[left_out + 1 :]
        assert states(rest) == before[:left_out] + before[left_out + 1 :]
    mixed = pd.DataFrame({"psu": [3, 8, 8, "x", 3, 40]}, dtype=object)  # objects, one by one
    coded = Table(mixed, SCHEMA).code_rows().expose()[0].tolist()
    assert coded[:3] + coded[4:] == before[:3] + before[4:]
    order = np.random.default_rng(1).permutation(len(names))
    assert states([names[k] for k in order]) == [before[k] for k in order]


def test_groups_are_even_and_go_by_a_key_that_is_drawn_once():
    names = pl.Series([f"area {k}" for k in range(20_000)])
    counts = np.bincount(random_groups(names, 20, KEY), minlength=20)
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # χ² of 19 beyond its 99.9 % point
    other = random_groups(names, 20, bytes(32))
    assert 800 < (other == random_groups(names, 20, KEY)).sum() < 1200
    assert (random_groups(names, 20) == random_groups(names, 20)).all()
    assert len(module._key()) == 32


def test_names_of_other_kinds_and_codes_are_refused():
    with pytest.raises(DataError, match="names clusters; convert it to text"):
        Table(pl.DataFrame({"psu": [True, False]}), SCHEMA)
    with pytest.raises(SchemaError, match="leave out its codes"):
        Schema.loads(SCHEMA.dumps().replace("random_groups", 'missing = ["?"]\nrandom_groups'))
