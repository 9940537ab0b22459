"""Probabilistic disclosure: how probable does the release make a target's true secret?

The intruder knows the keys t of his target and weighs every secret that is possible:

    P(J = j | t, Z) ∝ P(t | record j) · P(Z | the secret of record j).

All candidates j have the keys t, so the first factor is the same for all of them, and they differ
by their secret alone. The second is estimated by the share of synthetic rows with the keys t that
carry the secret, with ½ added to each of the S states: (c_v + ½)/(c + S/2). Without a match this is
1/S. What is reported is the probability given to the *true* secret. A guess does the same with all
synthetic rows, whatever their keys.

Sources: Duncan & Lambert (1986), J. Am. Stat. Assoc. 81, 10-18; Reiter (2005), J. Am. Stat. Assoc.
    100, 1103-1112, whose identities are replaced by candidate secrets here, since no synthetic
    row belongs to a person.
"""

from __future__ import annotations

import numpy as np

from understudy.evaluation.risk.proportion_intervals import Figure
from understudy.evaluation.risk.record_matching import (
    Outcome,
    States,
    Vector,
    numbered,
    occurrences,
)


def probability_of_truth(
    keys: States, secret: States, synthetic_keys: States, synthetic_secret: States, states: int
) -> Outcome:
    """Probability that the intruder gives to each target's true secret.

    Args:
        keys: states of the targets, shape (n, k).
        secret: their true states, shape (n,).
        synthetic_keys: shape (m, k).
        synthetic_secret: shape (m,).
        states: number S of states that the secret can have; public.
    """
    target, row = numbered(keys, synthetic_keys)
    both = numbered(np.column_stack([target, secret]), np.column_stack([row, synthetic_secret]))
    count, carrying = occurrences(target, row), occurrences(*both)
    overall = occurrences(secret.astype(np.int64), synthetic_secret.astype(np.int64))
    return Outcome(
        np.asarray((carrying + 0.5) / (count + states / 2), dtype=np.float64),
        np.asarray((overall + 0.5) / (len(row) + states / 2), dtype=np.float64),
        (count > 0).astype(np.float64),
    )


def largest(found: Vector, population: int) -> Figure | None:
    """The largest probability; None if there are no targets.

    Nothing but 1 bounds what the records have that were not drawn, so its interval reaches from the
    largest one to 1, unless all of them were drawn.

    Args:
        found: probabilities, shape (n,).
        population: number of records that the targets were drawn from.
    """
    if not len(found):
        return None
    top = float(found.max())
    return Figure(top, (top, top if len(found) >= population else 1.0), len(found))
