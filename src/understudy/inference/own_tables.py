"""Tables that are counted for one question, and what they answer.

What rests on counts alone is told best by a table that has no more cells than the question tells
apart: each record adds noise to one of them, however many there are, but an answer has the noise of
all cells that it sums. So a number that a condition compares with 63 has two bins in it, below 63
and from there on; a condition on codes counts those that meet it together, and all others; a
condition is a column of two states. Groups, columns that are crossed, and the number whose quantile
is asked for have the states or bins that they have in the schema, as far as the condition leaves
them any records.

Such questions are shares and counts of a condition, or among the records of one; odds ratios and
tests of independence of conditions; quantiles by a group or of some records; and tables of three
columns or more, as second moments tell two at a time.

**Levels that a question does not tell apart** are counted as one.

Of a column of 600 occupations `job in ["teacher", "nurse"]` asks for two groups. A table of the
question counts these, and each of its answers has the noise of few cells. What is public alone
decides on them: the question and the schema.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from understudy._arrays import Z_95, Floats
from understudy.dp.released import Bins
from understudy.errors import InferenceError, SchemaError
from understudy.features.grids import LineCells, even_bins, is_plain
from understudy.inference import formulas
from understudy.inference.conditions import (
    UntoldError,
    fewest_bins,
    is_in_slot,
    require_told,
    state_values,
)
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import Counted, estimate_counts, table_estimates
from understudy.inference.noisy_tables import MOST_CELLS, NoisyCounts, counts_states
from understudy.inference.quantiles import count_quantiles, expected_halves
from understudy.inference.question import SHARES, TWO_WAY, Estimand, group_terms
from understudy.inference.records import ABSENT, Records
from understudy.inference.two_way import (
    crossed_cells,
    require_possible,
    table_cells,
    traits_of,
    two_way_estimate,
)
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Categorical, Ordinal, Schema
from understudy.schema.coarsening import Groups, cuts_of, grouped_column, in_these_bins
from understudy.schema.expressions import python_tree, read_name, tree_text


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


@dataclass(frozen=True)
class OwnTable:
    """A table that is counted for one question.

    Attributes:
        columns: of it, in the order of the schema.
        bins: of numbers, where these are others than those of the schema.
        groups: column → group of each of its states, where levels are counted together.
        even: numbers whose quantile is asked for and whose bins nobody declared. They are counted
            in bins with about as many records each, where their number lines are released.
    """

    columns: tuple[str, ...]
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)
    even: tuple[str, ...] = ()


def own_table(estimand: Estimand, schema: Schema) -> OwnTable | None:
    """The table that a question needs of its own; None where others answer it.

    Args:
        estimand: the question.
        schema: public.

    Raises:
        InferenceError: no bins tell its conditions, nobody can meet one, or the table has too many
            cells.
    """
    if not is_counted(estimand):
        return None
    return _own_table(estimand, _Same(schema))


@dataclass(frozen=True, eq=False)
class _Same:
    """A schema that is equal to itself alone, since whole ones take long to compare."""

    schema: Schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.schema is self.schema


@lru_cache(maxsize=64)
def _own_table(estimand: Estimand, of: _Same) -> OwnTable:
    """The same of a question that is counted; a plan asks for it many times."""
    schema, kept = of.schema, _ungrouped_columns(estimand, of.schema)
    bins, levels = fewest_bins(estimand, schema, kept), fewest_groups(estimand, schema, kept)
    even = _of_even_bins(estimand, schema)
    found = OwnTable(estimand.columns, bins, levels.groups, even)
    told = levels.stand_ins(schema.with_bins(bins))
    require_told(estimand, told)
    _require_values(estimand, told)
    cells = told.table(found.columns).n_cells
    if cells > MOST_CELLS:
        raise InferenceError(
            f"The table of {', '.join(found.columns)} that {estimand.text!r} needs has {cells:,} "
            f"cells, more than {MOST_CELLS:,}; declare fewer bins, or leave a column out."
        )
    return found


def tables_that_tell(
    estimand: Estimand,
    measurements: Sequence[Measurement],
    schema: Schema,
    *,
    weighted: bool = False,
) -> Iterator[tuple[Measurement, Schema, bool]]:
    """Tables in states of their own that count what a question asks for.

    Args:
        estimand: the question.
        measurements: of a release.
        schema: of the release.
        weighted: whether those are meant that sum weights, in any states.

    Yields:
        A table, the schema in its states, and whether it tells which records lack a value: not
        where it counts them together with levels that no record of the condition has.
    """
    if not is_counted(estimand):
        return
    asked, kept = {*estimand.columns}, _ungrouped_columns(estimand, schema)
    fixed = kept if estimand.kind != "quantile" else set[str]()
    kind = Kind.WEIGHTED_TABLE if weighted else Kind.TABLE
    for one in measurements:
        apart = asked & set(one.bins)
        plain = replace(one, groups={}) if one.beside else one
        if apart & fixed or not (weighted or apart or asked & set(one.groups)):
            continue
        if not counts_states(plain, estimand.columns, kind):
            continue
        levels = groups_that_tell(estimand, schema, kept, one.groups)
        if levels is None or levels.groups.keys() != one.groups.keys():
            continue
        told = levels.stand_ins(schema.with_bins(one.bins))
        try:
            require_told(estimand, told)
            _require_values(estimand, told)
        except UntoldError:
            continue
        lacking = all(
            levels.groups[name].index(group) >= schema.columns[name].n_ordinary
            for name, own in levels.absent.items()
            for group in own
        )
        yield replace(plain, bins={}), told, lacking


def counted_answer(estimand: Estimand, table: Measurement, schema: Schema) -> Counted:
    """The answer of a table that counts what a question asks for.

    Args:
        estimand: the question.
        table: that tells it.
        schema: in the bins of the table.

    Raises:
        InferenceError: the answer is lost in noise, or the schema forbids a cell.
    """
    if estimand.kind == "quantile":
        return count_quantiles(estimand, [table], schema)
    if estimand.kind not in TWO_WAY:
        return estimate_counts(estimand, [table], schema)
    traits = traits_of(estimand, schema)
    cells = table_cells(traits, [table], schema, estimand.where)
    assert cells is not None
    pooled = two_way_estimate(estimand, cells, traits, schema)
    noise = float(np.sqrt(table.stddev**2 * table.domain(schema).n_cells))
    return Counted(pooled, cells.dropped, noise, varied=False)


def expected_parts(
    estimand: Estimand,
    schema: Schema,
    rows: pl.DataFrame,
    stddev: float,
    lined: Collection[str] = (),
) -> list[tuple[str, float, float]]:
    """Expected half-widths of intervals of 95 % that a question's own table gives.

    Args:
        estimand: a question that has one.
        schema: public.
        rows: that stand for those of the release.
        stddev: of the noise in a cell.
        lined: numbers whose number lines are released before.

    Returns:
        Name of each estimate, and half of its interval by noise, and by sampling; NaN for a group
        without records.

    Raises:
        InferenceError: as for `own_table`, or the answer is lost in noise.
    """
    own = own_table(estimand, schema)
    assert own is not None
    even = [name for name in own.even if name in lined]
    bins = {**own.bins, **bins_of_lines(even, schema, counts_on_lines(even, schema, rows))}
    records = own_records(estimand, rows, schema, bins)
    told = records.schema
    if estimand.kind == "quantile":  # of all cells some may count
        scores = cell_scores(estimand, told)
        counting = float((scores.quantity != ABSENT).mean()) if estimand.where else 1.0
        return expected_halves(estimand, estimand.scores(records), told, stddev * counting**0.5)
    sizes = [told.columns[name].size for name in own.columns]
    cells = np.ravel_multi_index([records.states[name] for name in own.columns], sizes)
    counts = np.bincount(cells, minlength=int(np.prod(sizes))).astype(np.float64)
    allowed = told.table(own.columns).allowed_mask().reshape(-1).astype(np.float64)
    table = NoisyCounts(counts, stddev**2 * allowed)
    if estimand.kind in TWO_WAY:
        traits = traits_of(estimand, told)
        crossed = crossed_cells(traits, table, told, estimand.where)
        pooled = two_way_estimate(estimand, crossed, traits, told)
    else:
        pooled = table_estimates(estimand, table, told, 1).pooled
    variance, share = np.diag(pooled.covariance), pooled.synthesis_share
    parts = (Z_95 * np.sqrt(variance * part) for part in (share, 1 - share))
    each = zip(pooled.names, *(part.tolist() for part in parts), strict=True)
    return [one for one in each if np.isfinite(one[1:]).any()]  # a test has no width


def own_records(
    estimand: Estimand,
    rows: pl.DataFrame,
    schema: Schema,
    bins: Bins,
    beside: tuple[str, ...] = (),
) -> Records:
    """Records in the states of a question's own table, those with a value of each column.

    Args:
        estimand: the question.
        rows: in the schema.
        schema: public.
        bins: of numbers, where these are others than those of the schema.
        beside: further columns that they have.
    """
    levels = fewest_groups(estimand, schema, _ungrouped_columns(estimand, schema))
    told = schema.with_bins(bins)
    fine = Records.complete_of(rows, told, tuple(dict.fromkeys((*estimand.columns, *beside))))
    coarse = {name: np.array(own)[fine.states[name]] for name, own in levels.groups.items()}
    records = replace(fine, schema=levels.stand_ins(told), states={**fine.states, **coarse})
    counted = [~np.isin(coarse[name], own) for name, own in levels.absent.items()]
    return records.take(np.logical_and.reduce(counted)) if counted else records


def is_counted(estimand: Estimand) -> bool:
    """Return whether counts of cells have the whole answer, and moments do not have it as well."""
    if estimand.kind == "table" and len(estimand.levels) > 2:
        return True
    if estimand.kind == "quantile":
        return bool(estimand.groups or estimand.conditions)
    if estimand.kind in TWO_WAY:
        terms, _ = group_terms(estimand.kind, estimand.formula)
        plain = all(read_name(term) in estimand.columns for term in terms)
        return bool(estimand.where) or not plain
    counted = estimand.kind in SHARES or estimand.called == "count"
    return counted and bool(estimand.conditions or estimand.expression)


def _ungrouped_columns(estimand: Estimand, schema: Schema) -> set[str]:
    """Columns whose states are told apart one by one."""
    kept = {*estimand.levels, *estimand.groups}
    if estimand.kind == "quantile":
        kept |= {*estimand.used}
    elif estimand.kind in TWO_WAY:
        terms, _ = group_terms(estimand.kind, estimand.formula)
        kept |= {read_name(term) for term in terms} & {*schema.names}
    return kept


def _of_even_bins(estimand: Estimand, schema: Schema) -> tuple[str, ...]:
    """Numbers whose quantile is asked for, and whose bins nobody declared."""
    if estimand.kind != "quantile":
        return ()
    columns = ((name, schema.columns[name]) for name in estimand.used)
    return tuple(
        name
        for name, column in columns
        if name not in estimand.groups
        and isinstance(column, NUMERIC)
        and cuts_of(column) is not None
        and not (is_plain(column) or is_in_slot(name, schema))
    )


def bins_of_lines(names: Iterable[str], schema: Schema, lines: Mapping[str, Floats]) -> Bins:
    """Bins of numbers with about as many records each.

    Args:
        names: of the numbers.
        schema: public.
        lines: column → counts of the cells of its line.
    """
    found = {}
    for name in names:
        column = schema.columns[name]
        if name in lines and isinstance(column, NUMERIC):
            cells = LineCells.of_line(schema, name)
            found[name] = even_bins(lines[name], cells, column)
    return {
        name: bins for name, bins in found.items() if not in_these_bins(schema.columns[name], bins)
    }


def counts_on_lines(names: Iterable[str], schema: Schema, rows: pl.DataFrame) -> dict[str, Floats]:
    """Counts of records in the cells of number lines.

    Args:
        names: of the numbers.
        schema: public.
        rows: synthetic ones, or such as stand for others.
    """
    found = {}
    for name in names:
        column = schema.columns[name]
        if isinstance(column, NUMERIC):
            cells = LineCells.of_line(schema, name)
            numbers = Records.of(rows, schema, (name,)).numbers[name]
            states = Records.states_of(numbers[np.isfinite(numbers)], cells.column)
            found[name] = np.bincount(states, minlength=cells.size).astype(np.float64)
    return found


def _require_values(estimand: Estimand, schema: Schema) -> None:
    """Refuse what states do not tell of terms, or of an expression that is true or false.

    Raises:
        UntoldError: some bin has numbers of both kinds.
        InferenceError: the expression cannot be computed, or two traits never meet.
    """
    if estimand.kind in TWO_WAY:
        for term in group_terms(estimand.kind, estimand.formula)[0]:
            if read_name(term) not in schema.columns:
                state_values(term, schema)
        require_possible(traits_of(estimand, schema), schema, estimand.where)
    elif estimand.kind != "quantile" and estimand.expression:
        state_values(estimand.expression, schema)
