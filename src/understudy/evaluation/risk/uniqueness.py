"""Uniqueness: are records that stand alone among the synthetic rows alone in the population too?

A row is *unique* if no other row of its table has the same keys. A unique original record is easy
to recognise; if the record with its keys is unique among the synthetic rows as well, an intruder
may take the one for the other. Uniqueness depends on how many rows a table has, so originals and
control are compared in equal numbers. A guess does the same with synthetic rows whose columns are
shuffled one by one, so that nothing but their marginals is left.

Perturbed rows are often *more* unique than original ones, which is no risk by itself: only being
unique in both counts, beyond what the control shows.

Sources: Dale & Elliot (2001), J. Royal Statistical Society A 164, 427-447; Park & Ghosh (2014),
    Transactions on Data Privacy 7, 253-282, §4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.record_matching import States, numbered, occurrences

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Uniqueness:
    """Which rows are unique on the keys.

    Attributes:
        synthetic: of the synthetic rows, shape (m,).
        synthetic_too: of the unique synthetic rows, whose keys are unique among the originals too.
        originals_too: of the unique originals, whose keys are unique among the synthetic rows too.
    """

    synthetic: Marks
    synthetic_too: Marks
    originals_too: Marks


def uniqueness(originals: States, synthetic: States) -> Uniqueness:
    """Compare two tables on the keys.

    Args:
        originals: keys of original (or control) rows, shape (n, k).
        synthetic: keys of the synthetic rows, shape (m, k).
    """
    one, other = numbered(originals, synthetic)
    alone, alone_synthetic = occurrences(one, one) == 1, occurrences(other, other) == 1
    return Uniqueness(
        alone_synthetic,
        (occurrences(other, one) == 1)[alone_synthetic],
        (occurrences(one, other) == 1)[alone],
    )


def shuffled(rows: States, rng: np.random.Generator) -> States:
    """The rows with each column shuffled by itself.

    Args:
        rows: shape (m, k).
        rng: what the order is drawn with.
    """
    return np.asarray(rng.permuted(rows, axis=0))
