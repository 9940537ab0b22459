"""Whether a step of a ledger asked for what it measured: its query in words, and how many numbers.

What was asked follows from the schema and from the measurement, but for what a mechanism was told
besides: how many candidates there were, by which score they were judged, and how deep a tree is.
That is the word of the publisher.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from understudy.privacy.mechanisms.counts.hierarchy_layer import range_query
from understudy.privacy.mechanisms.counts.noisy_table import query_of
from understudy.privacy.mechanisms.sums.scatter import holding_cells
from understudy.release.drawing_keys import key_of
from understudy.release.measurement import binned_schema
from understudy.release.measurement_kind import Kind
from understudy.schema import NUMERIC, Column, Schema

_NUMBER = "[1-9][0-9,]*"
_SCORE = "(AIC|BIC)"
_SWEPT: Final[Mapping[str, str]] = {
    "noisy rows": "records of {} from a noisy table for each column",
    "perturbed sweeps": f"records after (1 sweep|{_NUMBER} sweeps) of {{}}",
    "blocks with reset": f"records in (one block|blocks of {_NUMBER}) with reset of {{}}",
    "perturbed imputation": "records imputed over {}",
}

Asked = tuple[str, Collection[int]]
"""A pattern of the query, and how many numbers it may be of."""


@dataclass(frozen=True)
class Told:
    """A step with its measurement.

    Attributes:
        entry: of the ledger.
        data: of the measurement, in the manifest.
        schema: of the release.
    """

    entry: Mapping[str, Any]
    data: Mapping[str, Any]
    schema: Schema

    @property
    def kind(self) -> Kind:
        """Of the measurement."""
        return Kind(self.data["kind"])

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the measurement."""
        return tuple(self.data["columns"])

    @property
    def joined(self) -> str:
        """Its columns as they stand in a query, for a pattern."""
        return re.escape(" × ".join(self.columns))

    @cached_property
    def binned(self) -> Schema:
        """The schema in its bins and groups."""
        return binned_schema(self.data, self.schema)

    @property
    def allowed(self) -> int:
        """Cells of its table that can occur."""
        return self.binned.table(self.columns).n_allowed


def is_asked(entry: Mapping[str, Any], data: Mapping[str, Any] | None, schema: Schema) -> bool:
    """Whether query and number of cells of a step are those of its measurement.

    Args:
        entry: step of the ledger, with a finite price.
        data: entry of its measurement in the manifest, of a kind that the step can have; None
            where nothing was measured.
        schema: of the release.
    """
    rule = None if data is None else _RULES.get(Kind(data["kind"]))
    if data is None or rule is None:  # priced again by the mechanism itself, which compares both
        return True
    query, cells = rule(Told(entry, data, schema))
    return entry["cells"] in cells and re.fullmatch(query, str(entry["query"])) is not None


def _table(told: Told) -> Asked:
    """Counts of all cells that can occur, and of what is out of domain."""
    if told.entry["mechanism"] == "noisy ranges":
        return _ranges(told)
    return re.escape(query_of(told.columns)), (told.allowed + 1,)


def _leaf_sums(told: Told) -> Asked:
    return re.escape(query_of(told.schema.names)), (told.binned.domain.n_allowed + 1,)


def _ranges(told: Told) -> Asked:
    """Ranges beyond the last state are counted, too, and are in no file."""
    query = re.escape(range_query(told.columns[0], max(0, told.entry["cells"] - 1)))
    return query, range(told.data["cells"] + 1, 2**63)


def _nodes(told: Told) -> Asked:
    return f"counts of the nodes of layer {_NUMBER}", (told.data["cells"] + 1,)


def _line(told: Told) -> Asked:
    return f"counts of {told.joined} on its number line", (told.data["cells"] + 1,)


def _heaps(told: Told) -> Asked:
    return f"counts of {told.joined} by its heaps", (told.data["cells"] + 1,)


def _moment(told: Told) -> Asked:
    """Sums by cell, or a scatter within cells.

    A column of a single bin among those of the table may be summed by another step; it then
    stands in no query.
    """
    summed = tuple(dict.fromkeys(told.data["of"]))
    others = [name for name in told.columns if name not in summed]
    optional = {name for name in others if _has_one_bin(told.binned.columns[name])}
    word, link = _MOMENTS[told.kind]
    query, of = str(told.entry["query"]), f"{word} of {' and '.join(summed)}"
    rest = "".join(f"({re.escape(f'{name} × ')}){'?' * (name in optional)}" for name in others)
    by = query.removeprefix(of + link) + " × " if query.startswith(of + link) else ""
    query = re.escape(query if re.fullmatch(rest, by) and (by or query == of) else of + link)
    if told.kind is Kind.SCATTER:
        return query, (1,)
    return query, (int(holding_cells(told.binned, told.columns, summed[0]).sum()),)


def _has_one_bin(column: Column) -> bool:
    bins = [one for one in getattr(column, "intervals", ()) if not one.spike]
    return isinstance(column, NUMERIC) and len(bins) == 1


def _choice(told: Told) -> Asked:
    single = rf"one of {_NUMBER} candidates by \S.*"
    if re.fullmatch(single, told.entry["query"]):
        return single, (1,)
    layer = "(a column that divides each node of|the columns that divide) layer [0-9]+"
    return f"({layer}|two groups of columns), by {_SCORE}", range(1, 2**63)


def _parameters(told: Told) -> Asked:
    how = rf"(one of {_NUMBER}|a walk of {_NUMBER} steps) by \S.*"
    return f"parameters over {told.joined}: {how}", (1,)


def _distribution(told: Told) -> Asked:
    return f"distribution of {told.joined}", (told.allowed,)


def _sweeps(told: Told) -> Asked:
    """Records drawn column by column, by a table of each column and its key."""
    sizes = dict(zip(told.schema.names, told.binned.sizes, strict=True))
    query = _SWEPT[told.entry["mechanism"]].format(told.joined)
    tables = [key_of(text, told.schema.names) or ("",) for text in told.data["of"]]
    if told.columns != told.schema.names or [table[0] for table in tables] != [*sizes]:
        return query, ()
    if told.entry["mechanism"] == "perturbed imputation":  # a draw of each column in each sweep
        return query, range(len(sizes), 2**63, len(sizes))
    return query, (sum(math.prod(sizes[name] for name in table) for table in tables),)


_MOMENTS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.SUMS: ("sum", " by "),
    Kind.MEANS: ("mean", " by "),
    Kind.SCATTER: ("scatter", " within "),
}
_RULES: Final[Mapping[Kind, Callable[[Told], Asked]]] = {
    **dict.fromkeys((Kind.TABLE, Kind.CELLS, Kind.TOTALS), _table),
    **dict.fromkeys(_MOMENTS, _moment),
    Kind.LEAF_SUMS: _leaf_sums,
    Kind.NODES: _nodes,
    Kind.RANGES: _ranges,
    Kind.LINE: _line,
    Kind.HEAPS: _heaps,
    Kind.CHOICE: _choice,
    Kind.PARAMETERS: _parameters,
    Kind.DISTRIBUTION: _distribution,
    Kind.SWEEPS: _sweeps,
}
