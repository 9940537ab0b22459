"""The slow, obvious law of records that are drawn column by column, as an oracle."""

from collections import Counter, defaultdict
from fractions import Fraction as F
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.data.base import ExactCells
from understudy.papers.gibbs_mechanisms import HashedRows


def step(record, column, real, *, sweep, prior, used):
    """New states of a column and their probabilities; `real` are the records that count. The prior
    is one weight, or those of the states of each column."""
    key = tuple(record[j] for j in sweep.given[column])
    weights = {}
    for state in range(sweep.domain.sizes[column]):
        after = (*record[:column], state, *record[column + 1 :])
        if any(all(after[j] in box[j] for j in box) for box in sweep.domain.boxes):
            continue
        alike = sum(
            n
            for row, n in real.items()
            if row[column] == state and tuple(row[j] for j in sweep.given[column]) == key
        )
        added = prior[column][state] if isinstance(prior, tuple) else prior
        weights[after] = (0 if (column, key) in used else alike) + added
    total = sum(weights.values())
    return {after: weight / total for after, weight in weights.items()}, (column, key)


def distribution(rows, sweep, prior, n_rows, *, seed=None, length=1, sweeps=1, reset=False):
    """Probability of every sequence of records, all from one seed or from uniform ones."""
    real = Counter(rows)
    cells = [one for one in product(*map(range, sweep.domain.sizes)) if allowed(one, sweep)]
    seeds = cells if seed is None else [seed]
    paths = {((), None, frozenset()): F(1)}
    for k in range(n_rows):
        found = defaultdict(F)
        for (done, record, used), p in paths.items():
            for start in seeds if k % length == 0 else [record]:
                share = p / len(seeds) if k % length == 0 else p
                fresh = used if k % length else frozenset()
                found[done, start, fresh] += share
        for column in list(range(len(sweep.names))) * sweeps:
            paths, found = found, defaultdict(F)
            for (done, record, used), p in paths.items():
                after, row = step(record, column, real, sweep=sweep, prior=prior, used=used)
                more = used | {row} if reset else used
                for new, q in after.items():
                    found[done, new, more] += p * q
        paths = defaultdict(F)
        for (done, record, used), p in found.items():
            paths[(*done, record), record, used] += p
    outcomes = defaultdict(F)
    for (done, _, _), p in paths.items():
        outcomes[done] += p
    return dict(outcomes)


def allowed(record, sweep):
    return not any(all(record[j] in box[j] for j in box) for box in sweep.domain.boxes)


def tables(rows, sweep):
    """The hashed tables of records; a state equal to a column's size is out of domain."""
    found = []
    for table in sweep.tables:
        sizes = [sweep.domain.sizes[j] for j in table]
        inside = [row for row in rows if all(row[j] < s for j, s in zip(table, sizes, strict=True))]
        places = [[row[j] for j in table] for row in inside]
        codes = np.ravel_multi_index(np.array(places, dtype=int).reshape(-1, len(table)).T, sizes)
        occupied, counts = np.unique(codes, return_counts=True)
        cells = ExactCells(occupied.astype(np.int64), counts, len(rows) - len(inside))
        found.append(HashedRows.of(cells, sizes[-1]))
    return found


@pytest.fixture(scope="session")
def oracle():
    """The law of sweeps, and the tables that kernels draw from."""
    return SimpleNamespace(distribution=distribution, tables=tables, allowed=allowed)


@pytest.fixture(scope="session")
def unchecked():
    """A gate that takes a mechanism with a test's own scores and draws inside, as no gate does."""

    def taking_anything(gate):
        gate._admit = lambda mechanism: mechanism
        return gate

    return taking_anything
