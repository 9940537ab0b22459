"""Releases of one table, many times over: by the method and a real gate, without files.

What stands between a request and its release is what stands there for everybody
(`understudy.pipeline.measuring`). Checks of the request come once; pages and files, which say
nothing beyond, are left out.

A line may be about a single mechanism instead of a method: a *probe* asks the gate, and says what
it was told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl

from understudy.audit.lower_bounds import Stated
from understudy.audit.observation import Observation, observed
from understudy.methods.configuration import configure
from understudy.pipeline.budget_shares import DEFAULT_ROWS_SHARE, budget_of
from understudy.pipeline.gates import coded_rows, open_gate
from understudy.pipeline.measuring import measured
from understudy.pipeline.request import Request, request_of
from understudy.pipeline.set_drawing import Drawing
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import randomness_of
from understudy.schema import Schema

Probe = Callable[[Gate], Observation]


class Trial(Protocol):
    """What is done anew for each release."""

    @property
    def schema(self) -> Schema:
        """Of the rows."""
        ...

    @property
    def budget(self) -> Budget:
        """Of each release."""
        ...

    def shown(self, gate: Gate, drawing: Drawing) -> Observation:
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

    def shown(self, gate: Gate, drawing: Drawing) -> Observation:
        n_rows, _, measurements, tables, _ = measured(self.request, gate, drawing, _unheard)
        return observed(n_rows, measurements, tables, gate.ledger)


@dataclass(frozen=True)
class _Probed:
    schema: Schema
    budget: Budget
    probe: Probe

    def shown(self, gate: Gate, drawing: Drawing) -> Observation:
        return self.probe(gate)


@dataclass(frozen=True)
class Line:
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
        """What is done anew for each release."""
        schema = Schema.loads(self.schema)
        if self.probe is not None:
            by_any = configure("independent", {})
            return _Probed(schema, budget_of(self.epsilon, self.delta, by_any, schema), self.probe)
        request = request_of(
            schema,
            method=self.method,
            epsilon=self.epsilon,
            delta=self.delta,
            sets=self.sets,
            options=dict(self.options),
            rows_share=DEFAULT_ROWS_SHARE,
        )
        return _Released(request.schema, request.budget, request)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Both tables, with one type for each column."""
        whole = pl.DataFrame([*self.rows, *self.neighbour], infer_schema_length=None)
        return whole.head(len(self.rows)), whole.tail(len(self.neighbour))


def stated_by(trial: Trial, rows: pl.DataFrame) -> Stated:
    """What each release promises: μ where it is known, else ε beside δ.

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
        found.append(trial.shown(gate, (np.random.default_rng(seed), randomness, None)))
    return found


def _unheard(_stage: str, _done: int, _total: int) -> None:
    """Nobody waits for a single release."""
