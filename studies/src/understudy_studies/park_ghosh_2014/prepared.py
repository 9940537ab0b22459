"""What is computed once from the rows of a case, in each process: hashed tables and regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.papers.gibbs_mechanisms import HashedRows
from understudy.papers.imputation_draws import Imputation, Imputers, fit_imputers
from understudy.papers.pegs_tables import foremost_key, foremost_keys
from understudy.release.decoding import decode
from understudy.schema import Domain, GibbsSweep
from understudy.schema.domain import Uniforms
from understudy_studies.framework.random_streams import Streams
from understudy_studies.park_ghosh_2014 import patient_case
from understudy_studies.park_ghosh_2014.key_readings import Reading

States = NDArray[np.int64]

IMPUTATION = Imputation()
"""How the regressions of PMI and MI are fitted: as a release does by default."""


@cache
def hashed(name: str, reading: Reading) -> tuple[GibbsSweep, tuple[HashedRows, ...]]:
    """The sweep of a case, and its hashed tables; built once in each process.

    Args:
        name: of the case.
        reading: of what a column is drawn given, and of its seeds.
    """
    table = patient_case.find(name)
    if reading.read:
        keys = informed_keys(table, reading)
    else:
        assert reading.limit is not None
        keys = foremost_keys(table.schema, table.order, reading.limit)
    sweep = GibbsSweep.of(table.schema.names, table.schema.domain, keys)
    numbers = sweep.keys_of(list(table.table))
    every = zip(numbers, table.table, table.sizes, strict=True)
    return sweep, tuple(_rows(key, states, size) for key, states, size in every)


def _rows(keys: States, states: States, size: int) -> HashedRows:
    """The hashed table of one column of public records."""
    codes, counts = np.unique(keys * size + states, return_counts=True)
    return HashedRows.of_cells(codes, counts, size)


def informed_keys(table: patient_case.Case, reading: Reading) -> dict[str, tuple[str, ...]]:
    """For each column the others that tell most of it: so many, or as long as the keys are few."""
    names = table.schema.names
    found = {}
    for j, name in enumerate(names):
        told = [mutual_information(table, j, k) if k != j else -1.0 for k in range(len(names))]
        ranked = [names[k] for k in np.argsort(told)[::-1]]
        if reading.limit is None:
            found[name] = tuple(ranked[: reading.columns])
        else:
            found[name] = foremost_key(table.schema, name, ranked, reading.limit)
    return found


def mutual_information(table: patient_case.Case, j: int, k: int) -> float:
    """Mutual information of two columns of the rows, in nats."""
    rows, sizes = table.table, table.sizes
    counts = np.bincount(rows[j] * sizes[k] + rows[k], minlength=sizes[j] * sizes[k])
    p = counts.reshape(sizes[j], sizes[k]) / rows.shape[1]
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    present = p > 0
    return float((p[present] * np.log(p[present] / independent[present])).sum())


@cache
def imputers(name: str) -> Imputers:
    """Regressions of each column on all others, fitted once in each process, the same in all."""
    table = patient_case.find(name)
    return fit_imputers(
        list(table.table), table.sizes, IMPUTATION, Streams(0).randomness("imputers", name)
    )


@cache
def frame(name: str) -> pl.DataFrame:
    """The rows as values."""
    table = patient_case.find(name)
    return decode(list(table.table), table.schema, np.random.default_rng(0))


@dataclass(frozen=True)
class Pool(Domain):
    """A domain whose seeds are real records: the paper's pool, and a leak.

    Attributes:
        records: states of the pool, shape (d, n).
    """

    records: States = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), repr=False)

    def draw(
        self, n: int, uniforms: Uniforms, weights: Sequence[NDArray[np.float64]] | None = None
    ) -> list[NDArray[np.int64]]:
        """Records of the pool, drawn with replacement; weights are not looked at."""
        chosen = (uniforms(n) * self.records.shape[1]).astype(np.int64)
        return list(self.records[:, chosen])
