"""Attribute inference: from what is known of a target to what is secret.

The intruder takes the synthetic rows that agree with his target in the keys, and answers with the
most frequent secret among them, or with their mean if the secret is a number. Where none agrees,
he answers with the mode or mean of all synthetic rows; how often that happens is told. A guess is
that very answer for everybody.

What he gets right about people outside the table he has learned of the population, not of a person:
only the difference between members and a control speaks of disclosure.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
    synthetic data", Transactions on Data Privacy 7, 253-282, §4.4; without a control there.
"""

from __future__ import annotations

import numpy as np

from understudy.evaluation.risk.record_matching import Integers, Outcome, States, Vector, numbered


def infer_level(
    keys: States, secret: States, synthetic_keys: States, synthetic_secret: States
) -> Outcome:
    """Whether the most frequent secret among the matches is the target's: 1 for right, else 0.

    Of equally frequent secrets the intruder takes the one that is more frequent in all synthetic
    rows, then the one with the lowest state.

    Args:
        keys: states of the targets, shape (n, k).
        secret: their true states, shape (n,).
        synthetic_keys: shape (m, k), m > 0.
        synthetic_secret: shape (m,).
    """
    target, row = numbered(keys, synthetic_keys)
    overall = np.bincount(synthetic_secret)
    mode = _modes(row, synthetic_secret.astype(np.int64), overall, target)
    common = int(overall.argmax())
    matched = mode >= 0
    return Outcome(
        (np.where(matched, mode, common) == secret).astype(np.float64),
        (secret == common).astype(np.float64),
        matched.astype(np.float64),
    )


def infer_number(
    keys: States, secret: Vector, synthetic_keys: States, synthetic_secret: Vector
) -> Outcome:
    """Absolute error of the mean secret among the matches.

    Args:
        keys: states of the targets, shape (n, k).
        secret: their true numbers, shape (n,).
        synthetic_keys: shape (m, k).
        synthetic_secret: shape (m,); rows without a number (NaN) are left out, one has a number.
    """
    present = ~np.isnan(synthetic_secret)
    target, row = numbered(keys, synthetic_keys[present])
    numbers = synthetic_secret[present]
    size = int(max(target.max(initial=0), row.max(initial=0))) + 1
    counts = np.bincount(row, minlength=size)[target]
    sums = np.bincount(row, weights=numbers, minlength=size)[target]
    matched = counts > 0
    answer = np.where(matched, sums / np.maximum(counts, 1), numbers.mean())
    return Outcome(
        np.abs(answer - secret), np.abs(numbers.mean() - secret), matched.astype(np.float64)
    )


def _modes(row: Integers, secret: Integers, overall: Integers, target: Integers) -> Integers:
    """Most frequent secret of the rows with each target's number; -1 if there are none."""
    size = len(overall)
    pair, counts = np.unique(row * size + secret, return_counts=True)
    group, state = pair // size, pair % size
    # The last of each group wins: the most frequent, then common, then low state.
    order = np.lexsort((-state, overall[state], counts, group))
    best = np.full(int(max(target.max(initial=0), row.max(initial=0))) + 1, -1, dtype=np.int64)
    best[group[order]] = state[order]
    return best[target]


def unmatched(outcome: Outcome) -> float:
    """Share of targets without a match, mean over the sets; 0 if there are no targets."""
    return float(1 - outcome.matched.mean()) if len(outcome.matched) else 0.0
