"""How a sweep of PeGS turns a seed into a record, column by column, as in the paper's table 3.

A sweep draws the columns in their order, once each. So after the first i steps a record has its
first i columns from the finished record and the others from its seed: seed and finished record tell
all steps.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.papers.gibbs_mechanisms import state_weight
from understudy.papers.perturbed_gibbs import gibbs_records
from understudy_studies.framework.random_streams import Streams
from understudy_studies.park_ghosh_2014.key_readings import PUBLISHED
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.pegs_papers import N_RECORDS
from understudy_studies.park_ghosh_2014.prepared import Pool, hashed

States = NDArray[np.int64]

SEED = 3


def swept(case: Case, epsilon: float, n_records: int = N_RECORDS) -> tuple[States, States]:
    """Seeds, which are records of the table, and what a sweep makes of them; shape (d, n) each.

    Args:
        case: the table.
        epsilon: for each record.
        n_records: how many.
    """
    sweep, rows = hashed(case.name, PUBLISHED)
    pool = Pool(sweep.domain.sizes, records=case.table)
    prior = state_weight(Fraction(str(epsilon)) / len(case.sizes))
    # A sweep draws its seeds before all else, so the same stream gives them again.
    seeds, source = (Streams(SEED).randomness("trace") for _ in range(2))
    drawn = gibbs_records(rows, replace(sweep, domain=pool), prior, n_records, randomness=source)
    return np.stack(pool.draw(n_records, seeds.uniforms)), np.stack(drawn.columns)


def steps(case: Case, epsilon: float) -> tuple[tuple[str, ...], ...]:
    """Labels of the first record: its seed, then after each step.

    Args:
        case: the table.
        epsilon: for each record.
    """
    seeds, drawn = swept(case, epsilon)
    seed, record = seeds[:, 0], drawn[:, 0]
    labels = [case.schema.columns[name].labels for name in case.schema.names]
    found = []
    for i in range(len(labels) + 1):
        now = [*record[:i], *seed[i:]]
        found.append(tuple(str(own[state]) for own, state in zip(labels, now, strict=True)))
    return tuple(found)


def unchanged(case: Case, epsilon: float) -> tuple[float, float]:
    """Mean number of columns that a sweep leaves as they were, and its standard error."""
    seeds, drawn = swept(case, epsilon)
    kept = (seeds == drawn).sum(axis=0)
    return float(kept.mean()), float(kept.std(ddof=1) / np.sqrt(kept.size))
