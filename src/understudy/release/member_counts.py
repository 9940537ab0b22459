"""Columns that count members, as the members of each released unit have it: post-processing.

Records of a model agree with their members already (`models.counted_members`), but where it has
too few that do, and where a number was moved to keep to an inequality.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema
from understudy.schema.columns import Cells
from understudy.schema.households import slot_column
from understudy.schema.member_counts import count_members


def keep_counts(cells: Mapping[str, Cells], schema: Schema) -> dict[str, Cells]:
    """The columns of some records, in which counts of members are those of the members there are.

    Args:
        cells: the columns that are measured, of n records each.
        schema: of the wide table.
    """
    made = {
        name: Cells(np.zeros(len(own), dtype=np.int64), own.astype(np.float64))
        for name, own in counts_of(cells, schema).items()
    }
    return {**cells, **made}


def counts_of(cells: Mapping[str, Cells], schema: Schema) -> dict[str, NDArray[np.int64]]:
    """Members of each kind that a column counts, in each record; column → shape (n,).

    Args:
        cells: of the slots' columns, of n records each.
        schema: of the wide table.
    """
    form = schema.members
    if form is None or not form.counts:
        return {}
    own = form.member_columns(schema.declared)
    used = dict.fromkeys(name for one in form.counts for name in one.where)
    slots = range(1, form.rows_per_unit + 1)
    there = [{name: cells[slot_column(name, j)] for name in used} for j in slots]
    return count_members(form.counts, own, there)
