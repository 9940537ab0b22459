"""What is audited: every method, on the neighbouring tables that its proofs name.

Tables are as small as the worst case allows: noise of cells that do not differ only hides the one
that does. A record is added to a cell that no other record is in, or replaced by one that shares no
value with it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from understudy.audit.audited_release import Line
from understudy.audit.observation import Observation
from understudy.errors import MethodError, suggestion
from understudy.features.rank_scores import RankScores
from understudy.methods import METHODS
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import CandidateColumns
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows
from understudy.privacy.mechanisms.sums.rank_products import RankProducts
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.privacy.selection.scores import DistanceFromModel
from understudy.schema import GibbsSweep

_LEVELS = """
[columns.{name}]
kind = "categorical"
levels = {levels}
source = "made"
reviewed = true
"""
_NUMBER = """
[columns.z]
kind = "continuous"
lower = 0
upper = 1
bins = 2
decimals = 2
source = "made"
reviewed = true
"""
_ONE = _LEVELS.format(name="a", levels='["x", "y"]')
_TWO = _ONE + _LEVELS.format(name="b", levels='["u", "v"]')
_THREE = _TWO + _LEVELS.format(name="c", levels='["s", "t"]')
_WIDE = _LEVELS.format(name="a", levels=[f"x{k}" for k in range(12)])

Rows = tuple[Mapping[str, Any], ...]


def _schema(columns: str, n_rows: int | None = None) -> str:
    head = (
        'rows = "private"\nrow_limit = 40'
        if n_rows is None
        else f'rows = "public"\nn_rows = {n_rows}'
    )
    return f"{head}\n{columns}"


def _added(columns: str, rows: Rows, record: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": _schema(columns), "rows": rows, "neighbour": (*rows, record)}


def _replaced(columns: str, rows: Rows, record: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": _schema(columns, len(rows)), "rows": rows, "neighbour": (*rows[1:], record)}


_PLAIN: Rows = ({"a": "x"},) * 8
_PAIRS: Rows = ({"a": "x", "b": "u"},) * 8
_TRIPLES: Rows = ({"a": "x", "b": "u", "c": "s"},) * 8
_NUMBERS: Rows = ({"a": "x", "z": 0.25},) * 8

_ONE_TABLE: Final = _added(_ONE, _PLAIN, {"a": "y"})
_ONE_TABLE_REPLACED: Final = _replaced(_ONE, _PLAIN, {"a": "y"})
_PAIR: Final = _added(_TWO, _PAIRS, {"a": "y", "b": "v"})
_PAIR_REPLACED: Final = _replaced(_TWO, _PAIRS, {"a": "y", "b": "v"})
_TRIPLE: Final = _added(_THREE, _TRIPLES, {"a": "y", "b": "v", "c": "t"})
_TRIPLE_TURNED: Final = _replaced(_THREE, _TRIPLES, {"a": "y", "b": "u", "c": "s"})
_NUMBER_ADDED: Final = _added(_ONE + _NUMBER, _NUMBERS, {"a": "y", "z": 0.99})
_EMPTY_CELL: Final = _added(_WIDE, ({"a": "x0"},) * 8, {"a": "x7"})
_ONE_RECORD: Final = _replaced(_ONE, ({"a": "x"},), {"a": "y"})
_SMALL_DELTA: Final[dict[str, Any]] = {"epsilon": "4", "delta": "0.000001"}
"""μ = 0.84: far enough from nothing to be seen, and not so large that all is plain."""

_SWEPT = 20
"""Records that show which counts are above 0: a state of half the weight is absent from 10⁻⁶."""

MANY = 100_000
"""Releases of methods of one measurement, which take a millisecond each."""


_CANDIDATES = (("a",), ("b",))
_ODDS = 3.5
"""Logarithm of the odds against the first candidate, under the one table."""


def opposite_scores(gate: Gate) -> Observation:
    """A choice between two tables of one column, of which a record more moves the scores apart.

    The counts of `a` lie above what is estimated and those of `b` below it, by so much that the
    first is chosen seldom: the probability of that then grows by nearly e^ε. With μ, by which the
    odds are to be even, it is chosen as often as the other.
    """
    records = 8.0
    # Of the scores, whose difference counts by ε/2 for each record.
    apart = 0.0 if gate.budget.delta else 2 * _ODDS / float(gate.budget.amount)
    estimates = np.array([records, 0.0, records + apart, 1.0])
    score = DistanceFromModel(gate.schema, _CANDIDATES, estimates, (1, 1), np.zeros(2))
    chosen = gate.ask(
        CandidateColumns(candidates=_CANDIDATES, score=score), spend=gate.budget.amount
    )
    return {"the first is chosen": float(chosen.value == _CANDIDATES[0])}


def far_ranks(gate: Gate) -> Observation:
    """Products of ranks where a record more has the longest vector that counts.

    With three columns of two states each, scores of one size fill the squared length that counts.
    Replaced by a record of the opposite score in one column, it turns two products around.
    """
    names = gate.schema.names
    size = math.isqrt(RankScores(dict.fromkeys(names, (0, 0))).most // len(names))
    scores = RankScores(dict.fromkeys(names, (-size, size)))
    found = gate.ask(RankProducts(scores), spend=gate.budget.amount).value.values
    return {f"products of pair {k}": float(value) for k, value in enumerate(found)}


def all_moments(gate: Gate) -> Observation:
    """Sums of scores and of products, where a record more has scores as long as there are.

    Two states have scores of one size, so that every record is the longest, and moves every number
    of a pair of columns by as much as is stated.
    """
    found = gate.ask(ScoreMoments(gate.schema.names), spend=gate.budget.amount).value.values
    return {f"moment {k}": float(value) for k, value in enumerate(found)}


def swept_records(gate: Gate) -> Observation:
    """Records of one column, swept through a noisy table of it that is never written out.

    One record is replaced by one of the other state. If the noise leaves a count above 0 for the
    first state alone, all records have it: that is more probable by e^ε, where one record has it.
    """
    names, domain = gate.schema.names, gate.schema.domain
    sweep = GibbsSweep.of(names, domain, {})
    asked = LazyRows(sweep=sweep, sweeps=1, n_rows=_SWEPT)
    states = gate.ask(asked, spend=gate.budget.amount).value.columns[0]
    return {f"records of state {k}": float(np.count_nonzero(states == k)) for k in range(2)}


def _one_measurement() -> Iterator[Line]:
    """At their worst: one table, in which one cell differs (two, where a record is replaced)."""
    for tables in (_ONE_TABLE, _ONE_TABLE_REPLACED):
        for noise in ("geometric", "laplace"):
            yield Line("laplace", options={"noise": noise}, **tables)
        yield Line("independent", **_SMALL_DELTA, **tables)
        yield Line("perturbed-histogram", **tables)
    for form in ("filtered", "lazy"):
        yield Line("laplace", options={"form": form}, **_EMPTY_CELL)
    for name in ("dirichlet", "pegs-tables"):
        yield Line(name, **_ONE_RECORD)
    budgets: tuple[dict[str, Any], ...] = ({}, _SMALL_DELTA)
    for budget in budgets:
        yield Line("a choice between two", probe=opposite_scores, **budget, **_PAIR)
    for tables in (_TRIPLE, _TRIPLE_TURNED):
        yield Line("products of ranks", probe=far_ranks, **_SMALL_DELTA, **tables)
    for budget in budgets:
        yield Line("second moments", probe=all_moments, **budget, **_ONE_TABLE)
        yield Line("second moments", probe=all_moments, **budget, **_ONE_TABLE_REPLACED)
    yield Line("second moments", probe=all_moments, **_SMALL_DELTA, **_PAIR)
    yield Line("records from rows drawn as visited", probe=swept_records, **_ONE_RECORD)


def _others() -> Iterator[Line]:
    """With tables that leave most to see; what their budget is split among hides the rest."""
    yield Line("dirichlet", **_ONE_TABLE_REPLACED)
    yield Line("dp-prior", **_ONE_TABLE_REPLACED)
    yield Line("smoothed-histogram", **_ONE_TABLE_REPLACED)
    yield Line("modips", **_NUMBER_ADDED)
    yield Line("empirical-cdf", **_PAIR)
    for name in ("steps", "universal-histogram", "privbayes", "pegs-tables", "pegs", "pegs-reset"):
        yield Line(name, **_PAIR)
    yield Line("perturbed-imputation", **_PAIR)
    few = {"candidates": 8, "refinements": 1}
    yield Line("pmse", options=few, **_PAIR_REPLACED)
    yield Line("censored-posterior", options=few, **_PAIR_REPLACED)
    for name in ("marginals", "mst", "aim"):
        yield Line(name, **_PAIR)
        yield Line(name, **_SMALL_DELTA, **_PAIR)
    yield Line("marginals", **_SMALL_DELTA, **_PAIR_REPLACED)
    yield Line("marginals", **_SMALL_DELTA, **_TRIPLE)
    yield Line("independent", **_SMALL_DELTA, **_NUMBER_ADDED)


LINES: Final[tuple[Line, ...]] = (
    *(replace(line, releases=MANY, worst=True) for line in _one_measurement()),
    *_others(),
)


def lines_about(methods: Collection[str]) -> tuple[Line, ...]:
    """The lines about some methods; all lines if none is named.

    Raises:
        MethodError: a method that no line is about.
    """
    known = dict.fromkeys(line.method for line in LINES)
    for name in methods:
        if name not in known:
            raise MethodError(
                f"No audit is about {name!r}{suggestion(name, list(known))}; there are those of "
                f"{', '.join(known)}."
            )
    return tuple(line for line in LINES if not methods or line.method in methods)


def unaudited() -> tuple[str, ...]:
    """Methods with a guarantee that no line is about."""
    audited = {line.method for line in LINES}
    return tuple(name for name, kind in METHODS.items() if kind.private and name not in audited)
