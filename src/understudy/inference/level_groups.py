"""Levels that a question does not tell apart, and schemas in which one stands for all of them.

Of a column of 600 occupations `job in ["teacher", "nurse"]` asks for two groups. A table of the
question counts these, and each of its answers has the noise of few cells. What is public alone
decides on them: the question and the schema.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from understudy.errors import InferenceError, SchemaError
from understudy.inference import formulas
from understudy.inference.conditions import is_in_slot, state_values
from understudy.inference.question import TWO_WAY, Estimand, group_terms
from understudy.schema import Categorical, Ordinal, Schema
from understudy.schema.coarsening import Groups, grouped_column
from understudy.schema.expressions import python_tree, tree_text


@dataclass(frozen=True)
class LevelGroups:
    """Groups of the levels of some columns.

    Attributes:
        groups: column → group of each of its states.
        absent: column → groups whose records do not count: those of absence, and of levels that
            no record of the condition has. They have the last numbers.
    """

    groups: Groups
    absent: Mapping[str, tuple[int, ...]]

    def stand_ins(self, schema: Schema) -> Schema:
        """The schema with one level in the place of each group."""
        return schema.with_stand_ins(self.groups, self.absent) if self.groups else schema


def fewest_groups(estimand: Estimand, schema: Schema, kept: Collection[str]) -> LevelGroups:
    """The fewest groups of levels that tell a question.

    Args:
        estimand: the question.
        schema: public.
        kept: columns whose levels are told apart, as far as records of the condition have them.
    """
    groups, absent = {}, {}
    for name, signs in _signs(estimand, schema, kept).items():
        counted = dict.fromkeys(sign for sign in signs if sign not in _NOT_COUNTED)
        last = [sign for sign in _NOT_COUNTED if sign in signs]
        places = {sign: k for k, sign in enumerate((*counted, *last))}
        own = tuple(places[sign] for sign in signs)
        uncounted = tuple(range(len(counted), len(places)))
        if len({*own}) < len(own) and _can_stand_in(name, schema, own, uncounted):
            groups[name], absent[name] = own, uncounted
    return LevelGroups(groups, absent)


def groups_that_tell(
    estimand: Estimand, schema: Schema, kept: Collection[str], counted: Groups
) -> LevelGroups | None:
    """Groups that were counted, if they tell a question; else None.

    Args:
        estimand: the question.
        schema: public.
        kept: as above.
        counted: column → group of each of its states.
    """
    counted = {name: own for name, own in counted.items() if name in estimand.columns}
    if not counted:
        return LevelGroups({}, {})
    told, absent = _signs(estimand, schema, kept), {}
    for name, own in counted.items():
        each = dict[int, set[tuple[float, ...]]]()
        for group, sign in zip(own, told.get(name, ()), strict=False):
            each.setdefault(group, set()).add(sign)
        apart = {group: signs - {*_NOT_COUNTED} for group, signs in each.items()}
        absent[name] = tuple(sorted(group for group, signs in apart.items() if not signs))
        last = tuple(range(len(each) - len(absent[name]), len(each)))
        mixed = any(signs and len(each[group]) > 1 for group, signs in apart.items())
        if not each or mixed or absent[name] != last:
            return None
        if not _can_stand_in(name, schema, own, last):
            return None
    return LevelGroups(counted, absent)


_NOT_COUNTED: Final = ((-1.0,), ())
"""Signs of levels that no record of the condition has, and of absence."""


def _can_stand_in(
    name: str, schema: Schema, groups: tuple[int, ...], absent: tuple[int, ...]
) -> bool:
    try:
        schema.part([name]).with_stand_ins({name: groups}, {name: absent})
        grouped_column(name, schema.columns[name], groups)
    except SchemaError:
        return False
    return True


def _signs(
    estimand: Estimand, schema: Schema, kept: Collection[str]
) -> dict[str, list[tuple[float, ...]]]:
    """Of each column of levels what a question sees of each state, or one of `_NOT_COUNTED`.

    Columns of which it says something that is not of single levels are left out.
    """
    found = {}
    parts = [*_parts(_texts(estimand), schema)]
    required = [*formulas.required_conditions(estimand.where, schema.names)]
    for name in estimand.columns:
        column = schema.columns[name]
        if not isinstance(column, Categorical | Ordinal) or is_in_slot(name, schema):
            continue
        if isinstance(column, Categorical) and column.random_groups:
            continue
        texts = dict.fromkeys(text for own, text in parts if own == name)
        try:
            told = {text: state_values(text, schema)[1] for text in texts if text}
        except InferenceError:
            continue
        values = [*told.values()]
        met = [told[text] == 1 for own, text in required if own == name and text in told]
        apart = name in kept or "" in texts
        states = range(column.n_ordinary)
        counts = np.logical_and.reduce(met) if met and apart else np.ones(column.size, np.bool_)
        signs = [
            _NOT_COUNTED[0]
            if not counts[k]
            else (float(k),)
            if apart
            else (1.0, *(own[k] for own in values))
            for k in states
        ]
        if not {*signs} <= {*_NOT_COUNTED}:
            found[name] = [*signs, *[_NOT_COUNTED[1]] * (column.size - column.n_ordinary)]
    return found


def _texts(estimand: Estimand) -> Iterator[str]:
    """All that a question says of values."""
    yield from estimand.conditions
    if estimand.kind in TWO_WAY:
        yield from group_terms(estimand.kind, estimand.formula)[0]
    elif estimand.expression:
        yield estimand.expression


def _parts(texts: Iterable[str], schema: Schema) -> Iterator[tuple[str, str]]:
    """The largest parts of some expressions that name one column alone, with that column.

    The text is "" where the column stands by itself, so that its levels are told apart.
    """
    for whole in texts:
        tree = python_tree(whole)
        ahead: list[ast.AST] = [tree]
        while ahead:
            node = ahead.pop()
            columns = formulas.columns_in(node, schema.names)
            if len(columns) > 1:
                ahead += ast.iter_child_nodes(node)
            elif columns and isinstance(node, ast.Name):
                yield min(columns), ""
            elif columns:
                yield min(columns), whole if node is tree else tree_text(node)
