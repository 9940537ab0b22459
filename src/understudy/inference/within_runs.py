"""What merged states may hide of a relation: twice what their order within runs adds to it.

Of an ordered column that was measured with others in runs of merged states, a table tells which run
goes with what. Where a record lies in its run follows what its neighbours in the table say of this
run and the next ones (`understudy.models.graphical.run_places`): within a run the relation goes on
as it does from run to run. That is likely, and not known. If numbers change places at random with
others of their run, the relation ends at the run; the difference D of an estimate is what its going
on within runs adds. Intervals have room for a bias of 2·|D|: the relation within runs may be none,
or three times as strong. Outer runs, whose ends lie far out, are where straight lines say too
little, and noise makes them shorter. Nothing of a column by itself changes, nor what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from understudy.arrays import Floats, Integers
from understudy.inference.choice.release_facts import merged_columns
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.estimates.estimators import Question, SetEstimates
from understudy.release import Release
from understudy.release.measurement import groups_of
from understudy.schema import NUMERIC, Schema

ROOM = 2.0
"""Bias that there is room for, in parts of what order within runs adds."""
SEED = 1
"""Of what changes places: an answer to a question is the same each time."""


def hidden(question: Question, release: Release, answer: SetEstimates, schema: Schema) -> Floats:
    """Bound on the bias by merged states, shape (k,); 0 where none is merged.

    Args:
        question: asked of the release.
        release: with its sets.
        answer: of each set.
        schema: in the bins that were measured.

    Raises:
        InferenceError: an estimate that cannot be computed from sets without order within runs.
    """
    names = merged_columns(release.behind_sets, question.columns)
    if len(question.columns) < 2 or not names:
        return np.zeros(len(answer.names))
    groups = groups_of(release.behind_sets)
    rng = np.random.default_rng(SEED)
    tables = [
        scattered(table, schema, {name: groups[name] for name in names}, rng)
        for table in release.tables
    ]
    apart = question.answer(tables, release.schema)
    return np.asarray(ROOM * np.abs((answer.estimates - apart.estimates).mean(axis=0)))


def scattered(
    table: pl.DataFrame,
    schema: Schema,
    groups: Mapping[str, Sequence[int]],
    rng: np.random.Generator,
) -> pl.DataFrame:
    """A set in which values of some columns change places with others of their group.

    Args:
        table: the set.
        schema: in whose states groups are.
        groups: column → group of each state.
        rng: randomness.
    """
    changed = []
    for name, merged in groups.items():
        runs = np.append(merged, -1)[_states(table, schema, name)]
        to, source = np.argsort(runs, kind="stable"), np.lexsort((rng.random(len(runs)), runs))
        order = np.empty(len(runs), dtype=np.int64)
        order[to] = source
        changed.append(table[name].gather(order))
    return table.with_columns(changed)


def _states(table: pl.DataFrame, schema: Schema, name: str) -> Integers:
    """State of each value, `ABSENT` for an absent one, shape (n,)."""
    records, column = Records.of(table, schema, [name]), schema.columns[name]
    if isinstance(column, NUMERIC):
        return Records.states_of(records.numbers[name], column)
    return records.states[name]
