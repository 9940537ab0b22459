"""How far records of a block of PeGS.rs are from the original, by their place in it.

The first record of a block starts from a seed, which is a real record as published; each other one
starts from the record before. So records drift, with the reset and without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from understudy.papers.gibbs_mechanisms import Chains, chain_records, even_weights, state_weight
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.study import TextTable
from understudy_studies.park_ghosh_2014 import patient_case
from understudy_studies.park_ghosh_2014.key_readings import PUBLISHED
from understudy_studies.park_ghosh_2014.pegs_papers import BLOCK
from understudy_studies.park_ghosh_2014.prepared import Pool, hashed
from understudy_studies.park_ghosh_2014.table_distances import marginal_distance

EPSILONS = (0.1, 1.0, 100.0)
SHOWN = (1, 2, 3, 5, 10)
"""Places in a block."""
N_RECORDS = 10_000
"""A thousand at each place."""
SEED = 4


@dataclass(frozen=True)
class Drift:
    """Marginal distances of records by their place in a block.

    Attributes:
        reset: of the places `SHOWN`, where rows are uniform once drawn from.
        kept: the same, where they are not.
    """

    reset: tuple[float, ...]
    kept: tuple[float, ...]


@cache
def drift(name: str, epsilon: float) -> Drift:
    """The drift of a case at one ε for each record; computed once in each process."""
    case = patient_case.find(name)
    sweep, rows = hashed(name, PUBLISHED)
    pool = Pool(sweep.domain.sizes, records=case.table)
    alpha = state_weight(Fraction(str(epsilon)) * BLOCK / len(case.sizes))
    found = []
    for resetting in (True, False):
        drawn = chain_records(
            rows,
            even_weights(rows, alpha),
            replace(sweep, domain=pool),
            N_RECORDS,
            unit=alpha.denominator,
            chains=Chains(length=BLOCK, resetting=resetting),
            randomness=Streams(SEED).randomness("drift"),
        )
        states = np.stack(drawn.columns)
        found.append(
            tuple(
                marginal_distance(case, case.table, states[:, place - 1 :: BLOCK])
                for place in SHOWN
            )
        )
    return Drift(*found)


def table(case: patient_case.Case) -> TextTable:
    """The drift at some ε."""
    rows = []
    for epsilon in EPSILONS:
        found = drift(case.name, epsilon)
        for words, own in (("PeGS.rs", found.reset), ("the same without reset", found.kept)):
            rows.append((words, f"{epsilon:g}", *(f"{one:.2f}" for one in own)))
    return TextTable(
        caption=f"Records by their place in a block of {BLOCK}, as published: marginal distance of "
        f"{N_RECORDS // BLOCK:,} records of each place. The first starts from a real record, each "
        "other one from the record before; without the reset ε is not met",
        headings=("way", "ε", *(f"{_ordinal(place)} record" for place in SHOWN)),
        rows=tuple(rows),
    )


def _ordinal(place: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(place, f"{place}th")
