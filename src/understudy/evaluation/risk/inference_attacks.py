"""Attacks by inference: what is secret of a target, and whether it was in the table.

Attribute disclosure goes from what is known of a target to what is secret.

**Inference.** The intruder takes the synthetic rows that agree with his target in the keys, and
answers with the most frequent secret among them, or with their mean if the secret is a number.
Where none agrees, he answers with the mode or mean of all synthetic rows; how often that happens is
stated. A guess is that very answer for everybody.

What he gets right about people outside the table he has learned of the population, not of a person:
only the difference between members and a control speaks of disclosure.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
    synthetic data", Transactions on Data Privacy 7, 253-282, §4.4; without a control there.

**Probability.** How probable does the release make a target's true secret? The intruder knows the
keys t of his target and weighs every secret that is possible:

    P(J = j | t, Z) ∝ P(t | record j) · P(Z | the secret of record j).

All candidates j have the keys t, so the first factor is the same for all of them, and they differ
by their secret alone. The second is estimated by the share of synthetic rows with the keys t that
carry the secret, with ½ added to each of the S states: (c_v + ½)/(c + S/2). Without a match this is
1/S. What is reported is the probability given to the *true* secret. A guess does the same with all
synthetic rows, whatever their keys.

Sources: Duncan & Lambert (1986), J. Am. Stat. Assoc. 81, 10-18; Reiter (2005), J. Am. Stat. Assoc.
    100, 1103-1112, whose identities are replaced by candidate secrets here, since no synthetic
    row belongs to a person.

**Membership.** Was a person in the table? Judged by the nearest synthetic record. A synthesizer
that copies records leaves synthetic rows closer to members than to other people. The intruder knows
a whole record, measures its distance to the nearest synthetic row, and takes those with a small one
for members.

The distance of two records is the mean over columns of: |difference|/range for columns with an
order (numbers by the middle of their bins, levels by rank), 0 or 1 for all others and for codes of
absence (Gower 1971). With several sets it is the mean of the distances to the nearest row of each.

* *Area under the curve*: probability that a member is nearer than somebody of the control, ties
  counting half; 0.5 if members and controls are alike.
* *True positive rate* at a false positive rate of 1 %: of the members, how many are found by a
  threshold that takes in one in a hundred of the control; among ties the intruder tosses a coin.
  Small in a harmless release, and not averaged over people who are safe anyway.
* *Exact copies*: targets of which a set holds a copy (of the states of all columns).

Costs targets × distinct synthetic rows × columns at most; a row is left as soon as it is further
away than the nearest so far.

Sources: Gower (1971), Biometrics 27, 857-871; Carlini et al. (2022), "Membership inference attacks
    from first principles", IEEE Symposium on Security and Privacy, for the low false positive rate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from understudy.arrays import Floats, Integers, compiled
from understudy.evaluation.risk.attack_setup import (
    Outcome,
    States,
    chances,
    numbered,
    occurrences,
)
from understudy.evaluation.risk.interpretation import Figure
from understudy.parallel import each


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
    keys: States, secret: Floats, synthetic_keys: States, synthetic_secret: Floats
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


def largest(probabilities: Floats, population: int) -> Figure | None:
    """The largest probability; None if there are no targets.

    Nothing but 1 bounds what the records have that were not drawn, so its interval reaches from the
    largest one to 1, unless all of them were drawn.

    Args:
        probabilities: probabilities, shape (n,).
        population: number of records that the targets were drawn from.
    """
    if not len(probabilities):
        return None
    top = float(probabilities.max())
    return Figure(top, (top, top if len(probabilities) >= population else 1.0), len(probabilities))


FALSE_POSITIVES = 0.01


def nearest(targets: States, rows: States, places: Sequence[Floats]) -> Floats:
    """Distance of each target to the nearest row, in [0, 1].

    Args:
        targets: states, shape (n, d), d > 0.
        rows: synthetic states, shape (m, d), m > 0.
        places: for each column, the place of each state on its scale in [0, 1]; -1 for states that
            are at distance 1 from every other one.

    Returns:
        Shape (n,).
    """
    _, first = np.unique(numbered(rows)[0], return_index=True)
    distinct = np.ascontiguousarray(rows[np.sort(first)], dtype=np.int32)
    starts = np.cumsum([0, *map(len, places)])
    scale = np.concatenate(places)
    parts = np.array_split(np.ascontiguousarray(targets, dtype=np.int32), os.cpu_count() or 1)
    return np.concatenate(each(lambda part: _nearest(part, distinct, scale, starts), parts))


@compiled
def _nearest(targets: States, rows: States, scale: Floats, starts: Integers) -> Floats:
    n, d = targets.shape
    distances = np.empty(n)
    apart = np.empty(len(scale))  # of each state of each column from the target's
    for i in range(n):
        for j in range(d):
            actual = starts[j] + targets[i, j]
            for state in range(starts[j], starts[j + 1]):
                both = scale[actual] >= 0.0 and scale[state] >= 0.0
                apart[state] = abs(scale[actual] - scale[state]) if both else 1.0
            apart[actual] = 0.0
        best = float(d)
        for k in range(len(rows)):
            total = 0.0
            for j in range(d):
                total += apart[starts[j] + rows[k, j]]
                if total >= best:
                    break
            best = min(best, total)
            if best == 0.0:
                break
        distances[i] = best / d
    return distances


def called_members(distances: Floats, control: Floats) -> Floats:
    """Probability that the intruder takes each target for a member.

    The threshold is set so that he takes `FALSE_POSITIVES` of the control for members; targets at
    the threshold itself are taken with the probability that makes this exact.

    Args:
        distances: of the targets, shape (n,).
        control: of the control, shape (m,), m > 0.
    """
    taken = FALSE_POSITIVES * len(control)
    values, counts = np.unique(control, return_counts=True)
    through = np.cumsum(counts)
    at = int(np.searchsorted(through, taken))  # the first threshold that takes in enough
    chance = (taken - (through[at] - counts[at])) / counts[at]
    called = np.where(distances == values[at], chance, distances < values[at])
    return np.asarray(called, dtype=np.float64)


def copies(targets: States, rows: States) -> Outcome:
    """Whether each target has a copy among the rows; by guessing, if columns were independent.

    Args:
        targets: states, shape (n, d).
        rows: synthetic states, shape (m, d), m > 0.
    """
    target, row = numbered(targets, rows)
    copied = (occurrences(target, row) > 0).astype(np.float64)
    chance = -np.expm1(len(rows) * np.log1p(-np.minimum(chances(targets, rows), 1 - 1e-16)))
    return Outcome(copied, chance, copied)
