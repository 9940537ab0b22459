"""Audits of methods, end to end: lower bounds on what their releases cost, by looking at them.

**Audits: what releases of neighbouring tables show, against what they promise.**

For each line many releases are made of both tables. An event is learned on one half of them and
counted on the other, which bounds ε or μ from below (below). A bound
above what is stated, in an audit that errs once in a million, is an alarm: the promise does not
hold. No alarm is no proof; how much of the promise was seen says how hard the audit looked.

Only made tables are released: an audit is about methods, and sees no confidential rows.

Source:
    Ding, Wang, Wang, Zhang & Kifer (2018), "Detecting Violations of Differential Privacy";
    Jagielski, Ullman & Oprea (2020), "Auditing Differentially Private Machine Learning".

**What audits found, kept in a file: a line of JSON for each line that was audited.**

A full audit takes hours. Each result is written as soon as it is there, so an audit that ended
early goes on with what is left, and several processes may divide methods among themselves.

**Lower bounds.** If a mechanism is (ε, δ)-private, an event of probability p under one table has at
least (p − δ) e^−ε under its neighbour; if it is μ-Gaussian private, at least Φ(Φ⁻¹(p) − μ). Turned
round, two frequencies bound ε and μ from below. Both probabilities are bounded exactly (Clopper &
Pearson 1934), each at half of the error, so that a bound is above the truth with a probability of
at most that error.

Sources:
    Dong, Roth & Su (2022), "Gaussian Differential Privacy", Journal of the Royal Statistical
    Society B 84, definition 3; Jagielski, Ullman & Oprea (2020), "Auditing Differentially Private
    Machine Learning", section 3.

**An event that tells releases of one table from those of its neighbour, learned from releases.**

What is learned on a quarter of the releases (scores) and on another (where to cut which of them) is
tested on the half that neither has seen, so that the bound holds whatever was learned.

**Lines of an audit** are every method, on the neighbouring tables that its proofs name. Tables are
as small as the worst case allows: noise of cells that do not differ only hides the one that does. A
record is added to a cell that no other record is in, or replaced by one that shares no value with
it.

**Releases of one table, many times over: by the method and a real gate, without files.**

What stands between a request and its release is what stands there for everybody
(`understudy.workflow.synthesize`). Checks of the request come once; pages and files, which say
nothing beyond, are left out.

A line may be about a single mechanism instead of a method: a *probe* asks the gate, and says what
it was told.

**Everything that a release shows, as numbers with names.**

Counts, totals and parameters, chosen columns, lines of the ledger, the number of rows, what the
synthetic sets hold, and in which order: whatever could tell one table of rows from another.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from understudy._parallel import in_chunks, single_threaded
from understudy._validation import require_extra
from understudy.dp.accountant import Entry
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate
from understudy.dp.randomness import randomness_of
from understudy.dp.released import Released
from understudy.errors import MethodError, suggestion
from understudy.features.scores import RankScores
from understudy.mechanisms.second_moments import RankProducts, SecondMoments
from understudy.mechanisms.selection import CandidateColumns
from understudy.mechanisms.selection_scores import DistanceFromModel
from understudy.methods.registry import METHODS, configure
from understudy.papers.perturbed_gibbs import LazyRows
from understudy.release.measurement import Measurement
from understudy.schema import GibbsSweep, Schema
from understudy.workflow.budget_shares import budget_of
from understudy.workflow.gates import coded_rows, open_gate
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.request import Request, request_of
from understudy.workflow.synthesize import Drawing, measure_and_draw

Unit = Literal["epsilon", "mu"]
BOUND, ALARM = 0.05, 1e-6
"""Error of a stated lower bound, and of an alarm."""


@dataclass(frozen=True)
class Stated:
    """The promise of a release, as far as an audit asks.

    Attributes:
        unit: what is bounded.
        value: ε or μ.
        delta: δ, beside an ε; 0 beside a μ.
    """

    unit: Unit
    value: float
    delta: float = 0.0


def at_least(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Lower bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), n - hits + 1, error)
    return np.where(hits == 0, 0.0, found)


def at_most(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Upper bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - error)
    return np.where(hits == n, 1.0, found)


def lower_bound(
    times: ArrayLike, others: ArrayLike, n: int, stated: Stated, error: float = BOUND
) -> NDArray[np.float64]:
    """Compute what an event shows ε or μ to be at least; never below 0.

    Args:
        times: how often it happened under one table.
        others: how often it happened under the other.
        n: releases of each.
        stated: in which unit, and beside which δ.
        error: probability with which the bound may be too high.

    Example:
        >>> round(float(lower_bound(7311, 2689, 10_000, Stated("epsilon", 1.0))), 2)
        0.96
    """
    likely, rare = at_least(times, n, error / 2), at_most(others, n, error / 2)
    if stated.unit == "mu":
        return np.asarray(np.maximum(0.0, ndtri(likely) - ndtri(rare)))
    with np.errstate(divide="ignore"):
        shown = np.log(np.maximum(likely - stated.delta, 0.0)) - np.log(rare)
        return np.asarray(np.maximum(0.0, shown))


def reach(n: int, stated: Stated) -> float:
    """The lower bound that so many releases show of the hardest mechanism that keeps the promise.

    Under it the best event has the probabilities of randomised response (ε), or of two normal
    distributions at a distance of μ, cut in the middle.

    Args:
        n: releases of each table.
        stated: the promise.
    """
    if stated.unit == "mu":
        likely = 0.5 * math.erfc(-stated.value / 2 / math.sqrt(2))
    else:
        likely = 1 / (1 + math.exp(-stated.value))
    rare = 1 - likely
    return float(lower_bound(round(likely * n), round(rare * n), n, stated))


_SINGLE = 24
"""Numbers of a release that are tried alone: those that differ most."""
_CUTS = 60
_LEARNED = 400
"""Fewest releases of a table from which several numbers are weighed together."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Shown:
    """The frequency of an event on releases that it was not learned from.

    Attributes:
        bound: lower bound on ε or μ that is too high in 5 of 100 audits at most.
        certain: the same, in one of a million.
        event: in words.
        times: how often it happened under the table where it is likely, and under the other.
        n: releases of each table that were asked.
    """

    bound: float
    certain: float
    event: str
    times: tuple[int, int]
    n: int


@dataclass(frozen=True)
class _Score:
    """A number that each release gets.

    Attributes:
        name: of the number.
        choosing: values of both tables where events are chosen.
        testing: values of both tables where they are tested.
    """

    name: str
    choosing: tuple[NDArray[np.float64], NDArray[np.float64]]
    testing: tuple[NDArray[np.float64], NDArray[np.float64]]


def distinguish(one: Matrix, other: Matrix, names: tuple[str, ...], stated: Stated) -> Shown:
    """Learn an event, and test it.

    Args:
        one: releases of one table, shape (n, numbers), in the order in which they were made.
        other: as many of its neighbour.
        names: of the numbers.
        stated: what is promised.
    """
    quarter, half = len(one) // 4, len(one) // 2
    parts = slice(0, quarter), slice(quarter, half), slice(half, 2 * half)
    learning, choosing, testing = ((one[part], other[part]) for part in parts)
    best, event = -1.0, None
    for score in _scores(learning, choosing, testing, names):
        found, cut, sign, side = _best_event(score.choosing, stated)
        if found > best:
            best, event = found, (score, cut, sign, side)
    assert event is not None
    score, cut, sign, side = event
    hits = [int(np.count_nonzero(sign * values >= cut)) for values in score.testing]
    likely, rare = hits[side], hits[1 - side]
    n = len(testing[0])
    text = f"{score.name} {'≥' if sign > 0 else '≤'} {sign * cut:.4g}"
    return Shown(
        bound=float(lower_bound(likely, rare, n, stated, BOUND)),
        certain=float(lower_bound(likely, rare, n, stated, ALARM)),
        event=text,
        times=(likely, rare),
        n=n,
    )


def _best_event(
    values: tuple[NDArray[np.float64], NDArray[np.float64]], stated: Stated
) -> tuple[float, float, int, int]:
    """The bound, cut, direction and likelier table of the event that shows most."""
    n = len(values[0])
    together = np.concatenate(values)
    best = (-1.0, 0.0, 1, 0)
    for sign in (1, -1):
        cuts = np.unique(np.quantile(sign * together, np.linspace(0, 1, _CUTS), method="higher"))
        hits = [n - np.searchsorted(np.sort(sign * part), cuts, side="left") for part in values]
        for side in (0, 1):
            bounds = lower_bound(hits[side], hits[1 - side], n, stated)
            k = int(np.argmax(bounds))
            best = max(best, (float(bounds[k]), float(cuts[k]), sign, side))
    return best


def _scores(
    learning: tuple[Matrix, Matrix],
    choosing: tuple[Matrix, Matrix],
    testing: tuple[Matrix, Matrix],
    names: tuple[str, ...],
) -> Iterator[_Score]:
    """Single numbers, and two ways to weigh all of them together."""
    spread = np.sqrt(learning[0].var(axis=0) + learning[1].var(axis=0)) + 1e-9
    apart = np.abs(learning[0].mean(axis=0) - learning[1].mean(axis=0)) / spread
    for k in np.argsort(-apart, kind="stable")[:_SINGLE]:
        columns = [
            tuple(np.asarray(part[:, k], dtype=np.float64) for part in parts)
            for parts in (choosing, testing)
        ]
        yield _Score(names[k], (columns[0][0], columns[0][1]), (columns[1][0], columns[1][1]))
    if len(learning[0]) < _LEARNED:
        return
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate(learning)
    which = np.repeat([0, 1], [len(part) for part in learning])
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    trees = HistGradientBoostingClassifier(max_iter=80, max_depth=4, random_state=0)
    for name, model in (("weighed together", linear), ("by trees", trees)):
        with single_threaded():  # several threads wait for each other, busily, over small tables
            model.fit(rows, which)
            scored = [[_score_rows(model, part) for part in parts] for parts in (choosing, testing)]
        yield _Score(name, (scored[0][0], scored[0][1]), (scored[1][0], scored[1][1]))


def _score_rows(model: object, rows: Matrix) -> NDArray[np.float64]:
    return np.asarray(model.decision_function(rows), dtype=np.float64)  # type: ignore[attr-defined]


SETS = 2
"""Sets that are looked at; more show the same."""

Observation = dict[str, float]


def observe_release(
    n_rows: Released[int],
    measurements: Sequence[Measurement],
    tables: Sequence[pl.DataFrame],
    ledger: Sequence[Entry],
) -> Observation:
    """Observe what one release shows.

    Args:
        n_rows: its number of rows.
        measurements: what it measured.
        tables: its synthetic sets.
        ledger: what it paid.
    """
    found = {"number of rows": float(n_rows.value), "ledger": float(len(ledger))}
    for place, entry in enumerate(ledger):
        found[f"ledger {place}: {entry.mechanism}, {entry.query}, {entry.cells}"] = 1.0
    for place, measurement in enumerate(measurements):
        found.update(_of_measurement(place, measurement))
    for place, table in enumerate(tables[:SETS]):
        found.update(_of_set(place, table))
    return found


def _of_measurement(place: int, measurement: Measurement) -> Iterator[tuple[str, float]]:
    """Its numbers; which columns it has is one of them, since these may have been chosen."""
    name = f"{place}: {measurement.kind.value} {' '.join(measurement.columns)}"
    yield name, 1.0
    yield f"{name}, outside", float(measurement.outside)
    yield f"{name}, cells", float(len(measurement.codes))
    for code, count in zip(measurement.codes.tolist(), measurement.counts.tolist(), strict=True):
        yield f"{name}, {code}", float(count)
    for key, value in (measurement.totals or {}).items():
        yield f"{name}, {key}", float(value)
    for column, groups in measurement.groups.items():
        yield f"{name}, groups of {column}: {groups}", 1.0
    for column, bins in measurement.bins.items():
        yield f"{name}, bins of {column}: {bins}", 1.0


def _of_set(place: int, table: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Records in each combination of values and of each value, sums, and where they stand."""
    yield f"set {place}", float(table.height)
    if not table.height:
        return
    texts = []
    for name in table.columns:
        values = table.get_column(name).to_list()
        if isinstance(values[0], float):
            given = [value for value in values if value is not None]
            yield f"set {place}, {name}: sum", float(sum(given))
            continue
        texts.append(values)
        for value, n in Counter(values).items():
            yield f"set {place}, {name}: {value}", float(n)
        yield f"set {place}, {name}: first is {values[0]}", 1.0
        yield f"set {place}, {name}: changes", float(np.count_nonzero(_changes(values)))
    if len(texts) > 1:
        for cell, n in Counter(zip(*texts, strict=True)).items():
            yield f"set {place}: {cell}", float(n)


def _changes(values: Sequence[object]) -> NDArray[np.bool_]:
    """Mark changes from one record to the next: sorted records have few of these."""
    return np.array([a != b for a, b in pairwise(values)], dtype=np.bool_)


def matrix(
    observations: Sequence[Observation], names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Observations as rows of a matrix; what one does not show is 0 there.

    Args:
        observations: of as many releases.
        names: of the columns; None for all that occur, in the order of their first sight.

    Returns:
        The names, and numbers of shape (releases, names).
    """
    if names is None:
        names = list(dict.fromkeys(name for one in observations for name in one))
    places = {name: k for k, name in enumerate(names)}
    values = np.zeros((len(observations), len(names)), dtype=np.float32)
    for row, one in enumerate(observations):
        for name, value in one.items():
            if name in places:
                values[row, places[name]] = value
    return tuple(names), values


Probe = Callable[[Gate], Observation]


class Trial(Protocol):
    """A trial of an audit, done anew for each release."""

    @property
    def schema(self) -> Schema:
        """Of the rows."""
        ...

    @property
    def budget(self) -> Budget:
        """Of each release."""
        ...

    def observe(self, gate: Gate, drawing: Drawing) -> Observation:
        """All that one release shows.

        Args:
            gate: that has spent nothing yet.
            drawing: randomness of sampling after the last paid step, and of the order of records.
        """
        ...


@dataclass(frozen=True)
class _Released:
    schema: Schema
    budget: Budget
    request: Request

    def observe(self, gate: Gate, drawing: Drawing) -> Observation:
        n_rows, _, measurements, tables, *_ = measure_and_draw(
            self.request, gate, drawing, _unheard
        )
        return observe_release(n_rows, measurements, tables, gate.ledger)


@dataclass(frozen=True)
class _Probed:
    schema: Schema
    budget: Budget
    probe: Probe

    def observe(self, gate: Gate, drawing: Drawing) -> Observation:
        return self.probe(gate)


@dataclass(frozen=True)
class AuditCase:
    """One line of an audit: a method on two neighbouring tables.

    Attributes:
        method: name in the table of methods.
        schema: TOML text.
        rows: one table, as records.
        neighbour: the other: a record more, or one replaced by another.
        epsilon: ε of each release.
        delta: δ of each release.
        options: of the method.
        sets: synthetic tables of each release.
        releases: of each table, in a full audit.
        probe: what is asked of the gate in place of a method; then `method` is a name for it.
        worst: whether no other pair of tables is easier to tell apart, so that an audit should
            show most of what is stated.
    """

    method: str
    schema: str
    rows: tuple[Mapping[str, Any], ...]
    neighbour: tuple[Mapping[str, Any], ...]
    epsilon: str = "2"
    delta: str = "0"
    options: Mapping[str, Any] = field(default_factory=dict)
    sets: int = 1
    releases: int = 10_000
    probe: Probe | None = None
    worst: bool = False

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return ", ".join(filter(None, (self.method, options, self._tables, self._stated)))

    @property
    def _tables(self) -> str:
        kind = "replaced" if len(self.rows) == len(self.neighbour) else "added"
        records, columns = len(self.rows), len(self.rows[0])
        return f"a record {kind}, {records} × {columns}"

    @property
    def _stated(self) -> str:
        return f"ε = {self.epsilon}" + (f", δ = {self.delta}" if self.delta != "0" else "")

    def trial(self) -> Trial:
        """Return what is done anew for each release."""
        schema = Schema.loads(self.schema)
        if self.probe is not None:
            by_any = configure("independent", {})
            return _Probed(schema, budget_of(self.epsilon, self.delta, by_any, schema), self.probe)
        request = request_of(
            schema,
            epsilon=self.epsilon,
            delta=self.delta,
            how=SynthesisOptions(method=self.method, sets=self.sets, options=dict(self.options)),
        )
        return _Released(request.schema, request.budget, request)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both tables, with one type for each column."""
        whole = pl.DataFrame([*self.rows, *self.neighbour], infer_schema_length=None)
        return whole.head(len(self.rows)), whole.tail(len(self.neighbour))


def stated_by(trial: Trial, rows: pl.DataFrame) -> Stated:
    """Return the promise of each release: μ where it is known, else ε beside δ.

    Args:
        trial: what is done for each release.
        rows: any table.
    """
    engine = coded_rows(rows, trial.schema, _unheard)
    promised = open_gate(engine, trial.budget, randomness_of(None)).guarantee()
    if promised.mu is not None:
        return Stated("mu", float(promised.mu))
    return Stated("epsilon", float(promised.epsilon or 0), float(promised.delta))


def observations_of(
    trial: Trial, rows: pl.DataFrame, seeds: Sequence[int | None]
) -> list[Observation]:
    """Make releases of a table, and look at them.

    Args:
        trial: what is done for each release.
        rows: the table.
        seeds: one for each release; None for the operating system's entropy.
    """
    engine = coded_rows(rows, trial.schema, _unheard)
    found = []
    for seed in seeds:
        randomness = randomness_of(seed)
        gate = open_gate(engine, trial.budget, randomness)
        found.append(trial.observe(gate, (np.random.default_rng(seed), randomness, None)))
    return found


def _unheard(_stage: str, _done: int, _total: int) -> None:
    """Nobody waits for a single release."""


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


def _add_record(columns: str, rows: Rows, record: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": _schema(columns), "rows": rows, "neighbour": (*rows, record)}


def _replace_record(columns: str, rows: Rows, record: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": _schema(columns, len(rows)), "rows": rows, "neighbour": (*rows[1:], record)}


_PLAIN: Rows = ({"a": "x"},) * 8
_PAIRS: Rows = ({"a": "x", "b": "u"},) * 8
_TRIPLES: Rows = ({"a": "x", "b": "u", "c": "s"},) * 8
_NUMBERS: Rows = ({"a": "x", "z": 0.25},) * 8

_ONE_TABLE: Final = _add_record(_ONE, _PLAIN, {"a": "y"})
_ONE_TABLE_REPLACED: Final = _replace_record(_ONE, _PLAIN, {"a": "y"})
_PAIR: Final = _add_record(_TWO, _PAIRS, {"a": "y", "b": "v"})
_PAIR_REPLACED: Final = _replace_record(_TWO, _PAIRS, {"a": "y", "b": "v"})
_TRIPLE: Final = _add_record(_THREE, _TRIPLES, {"a": "y", "b": "v", "c": "t"})
_TRIPLE_TURNED: Final = _replace_record(_THREE, _TRIPLES, {"a": "y", "b": "u", "c": "s"})
_NUMBER_ADDED: Final = _add_record(_ONE + _NUMBER, _NUMBERS, {"a": "y", "z": 0.99})
_EMPTY_CELL: Final = _add_record(_WIDE, ({"a": "x0"},) * 8, {"a": "x7"})
_ONE_RECORD: Final = _replace_record(_ONE, ({"a": "x"},), {"a": "y"})
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
    found = gate.ask(SecondMoments(gate.schema.names), spend=gate.budget.amount).value.values
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


def _one_measurement() -> Iterator[AuditCase]:
    """At their worst: one table, in which one cell differs (two, where a record is replaced)."""
    for tables in (_ONE_TABLE, _ONE_TABLE_REPLACED):
        for noise in ("geometric", "laplace"):
            yield AuditCase("laplace", options={"noise": noise}, **tables)
        yield AuditCase("independent", **_SMALL_DELTA, **tables)
        yield AuditCase("perturbed-histogram", **tables)
    for form in ("filtered", "lazy"):
        yield AuditCase("laplace", options={"form": form}, **_EMPTY_CELL)
    for name in ("dirichlet", "pegs-tables"):
        yield AuditCase(name, **_ONE_RECORD)
    budgets: tuple[dict[str, Any], ...] = ({}, _SMALL_DELTA)
    for budget in budgets:
        yield AuditCase("a choice between two", probe=opposite_scores, **budget, **_PAIR)
    for tables in (_TRIPLE, _TRIPLE_TURNED):
        yield AuditCase("products of ranks", probe=far_ranks, **_SMALL_DELTA, **tables)
    for budget in budgets:
        yield AuditCase("second moments", probe=all_moments, **budget, **_ONE_TABLE)
        yield AuditCase("second moments", probe=all_moments, **budget, **_ONE_TABLE_REPLACED)
    yield AuditCase("second moments", probe=all_moments, **_SMALL_DELTA, **_PAIR)
    yield AuditCase("records from rows drawn as visited", probe=swept_records, **_ONE_RECORD)


def _others() -> Iterator[AuditCase]:
    """With tables that leave most to see; what their budget is split among hides the rest."""
    yield AuditCase("dirichlet", **_ONE_TABLE_REPLACED)
    yield AuditCase("dp-prior", **_ONE_TABLE_REPLACED)
    yield AuditCase("smoothed-histogram", **_ONE_TABLE_REPLACED)
    yield AuditCase("modips", **_NUMBER_ADDED)
    yield AuditCase("empirical-cdf", **_PAIR)
    for name in ("steps", "universal-histogram", "privbayes", "pegs-tables", "pegs", "pegs-reset"):
        yield AuditCase(name, **_PAIR)
    yield AuditCase("perturbed-imputation", **_PAIR)
    few = {"candidates": 8, "refinements": 1}
    yield AuditCase("pmse", options=few, **_PAIR_REPLACED)
    yield AuditCase("censored-posterior", options=few, **_PAIR_REPLACED)
    for name in ("marginals", "mst", "aim"):
        yield AuditCase(name, **_PAIR)
        yield AuditCase(name, **_SMALL_DELTA, **_PAIR)
    yield AuditCase("marginals", **_SMALL_DELTA, **_PAIR_REPLACED)
    yield AuditCase("marginals", **_SMALL_DELTA, **_TRIPLE)
    yield AuditCase("independent", **_SMALL_DELTA, **_NUMBER_ADDED)


LINES: Final[tuple[AuditCase, ...]] = (
    *(replace(line, releases=MANY, worst=True) for line in _one_measurement()),
    *_others(),
)


def lines_about(methods: Collection[str]) -> tuple[AuditCase, ...]:
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


def list_unaudited() -> tuple[str, ...]:
    """Methods with a guarantee that no line is about."""
    audited = {line.method for line in LINES}
    return tuple(name for name, kind in METHODS.items() if kind.private and name not in audited)


_CHUNK = 250
"""Releases that are made in one go."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """The findings of an audit about one line.

    Attributes:
        line: what was audited.
        stated: what its releases promise.
        shown: by what an event showed of releases that it was not learned from.
        reach: what as many releases would show of the hardest mechanism that keeps the promise.
    """

    line: AuditCase
    stated: Stated
    shown: Shown
    reach: float

    @property
    def alarm(self) -> bool:
        """True if the promise does not hold; one of a million audits says so where it does."""
        return self.shown.certain > self.stated.value

    @property
    def share(self) -> float:
        """The lower bound over what is stated."""
        return self.shown.bound / self.stated.value

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "line": str(self.line),
            "method": self.line.method,
            "worst_case": self.line.worst,
            "unit": self.stated.unit,
            "stated": self.stated.value,
            "delta": self.stated.delta,
            "shown": round(self.shown.bound, 4),
            "certain": round(self.shown.certain, 4),
            "reach": round(self.reach, 4),
            "event": self.shown.event,
            "times": list(self.shown.times),
            "releases": 2 * self.shown.n,
            "alarm": self.alarm,
        }


def audit(
    line: AuditCase,
    *,
    releases: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Audit one line.

    Args:
        line: what is audited.
        releases: of each of its tables; None for as many as a full audit makes.
        seed: of all noise, for tests; None for the operating system's entropy, as releases have it.
        jobs: processes.
        progress: called with how many releases of how many are made.

    Raises:
        MethodError: fewer than 100 releases, or scikit-learn is not installed.
    """
    require_extra("evaluate", "An audit")
    n = line.releases if releases is None else releases
    if n < 100:
        raise MethodError(f"An audit needs at least 100 releases of each table, not {n}.")
    tell = progress or (lambda _done, _total: None)
    frames = line.frames()
    work = partial(_observe_chunks, line, seed)
    chunks = [
        (side, start, min(_CHUNK, n - start)) for side in (0, 1) for start in range(0, n, _CHUNK)
    ]
    found = in_chunks(
        work, chunks, workers=jobs, done=lambda k: tell(k, len(chunks)), error=MethodError
    )
    names = tuple(dict.fromkeys(name for its, _ in found for name in its))
    sides = [_together(found[: len(found) // 2], names), _together(found[len(found) // 2 :], names)]
    stated = stated_by(line.trial(), frames[0])
    shown = distinguish(sides[0], sides[1], names, stated)
    return Verdict(line, stated, shown, reach(shown.n, stated))


def _observe_chunks(
    line: AuditCase, seed: int | None, chunks: Sequence[tuple[int, int, int]]
) -> list[tuple[tuple[str, ...], Matrix]]:
    """Observations of some chunks of releases, each chunk as a matrix with its names."""
    trial, frames = line.trial(), line.frames()
    found = []
    for side, start, n in chunks:
        # Streams of both tables are apart: an audit that pairs them would see less noise.
        first = None if seed is None else 2 * (seed * 10**7 + start) + side
        seeds = [None if first is None else first + 2 * k for k in range(n)]
        found.append(matrix(observations_of(trial, frames[side], seeds)))
    return found


def _together(parts: Sequence[tuple[tuple[str, ...], Matrix]], names: tuple[str, ...]) -> Matrix:
    """Matrices below each other, with columns of one order."""
    places = {name: k for k, name in enumerate(names)}
    whole = np.zeros((sum(len(values) for _, values in parts), len(names)), dtype=np.float32)
    row = 0
    for its, values in parts:
        whole[row : row + len(values), [places[name] for name in its]] = values
        row += len(values)
    return whole


def results(path: Path) -> Iterator[dict[str, Any]]:
    """Read audits and their days from a file; nothing if there is no file.

    Raises:
        MethodError: a line of it is no result.
    """
    if not path.exists():
        return
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found = json.loads(text)
            found["line"], found["releases"], found["day"]
        except (ValueError, LookupError, TypeError):
            raise MethodError(f"Line {number} of {path.name} is no result of an audit.") from None
        yield found


def lines_left(
    lines: tuple[AuditCase, ...], path: Path, releases: int | None
) -> tuple[AuditCase, ...]:
    """Those that were not audited yet with as many releases.

    Args:
        lines: what is to be audited.
        path: of the file.
        releases: of each table; None for as many as a full audit makes.
    """
    seen = {found["line"]: int(found["releases"]) for found in results(path)}
    return tuple(line for line in lines if seen.get(str(line), 0) < (releases or line.releases))


def add_result(path: Path, verdict: Verdict) -> None:
    """Write one result below the others."""
    day = datetime.now(UTC).date().isoformat()
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"day": day, **verdict.to_json()}, ensure_ascii=False) + "\n")
