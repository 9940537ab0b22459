"""Relations that every original record keeps, and the synthetic records that break them.

Two kinds are looked for, over all pairs of columns:

* **a → b**: a determines b, so that the records of each state of a have one state of b. Both have
  at most 100 states that occur, and a at most one for 20 records, since a key determines
  everything. Missing values are states like any other. A synthetic record with a state of a that
  no original record has breaks nothing. a ↔ b stands for both directions.
* **a ≤ b** between two numbers or two dates, over the records that have both; a = b where both
  directions hold.

What could hardly be broken is no relation: if the two columns were independent, at least 1 % of the
original records, and 20 of them, would have to break it. That leaves out numbers of unlike range,
columns that hardly vary, and what a few records keep by chance.

These are exact statements about the rows. They are internal, and no release may be made from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Codes, Flags, Floats, Integers
from understudy.evaluation.comparison import MOST_CELLS, Comparison, Counts
from understudy.evaluation.definitions import DEFINITIONS
from understudy.evaluation.evaluation_results import Score
from understudy.evaluation.kept_details import RelationKept
from understudy.evaluation.utility.ordered_values import OrderedColumn, Scale

MOST_STATES = 100
RECORDS_A_STATE = 20
FEWEST_BREAKING, LEAST_SHARE = 20, 0.01
_UNSEEN = -1
_GLANCE = 1_000  # records that tell most pairs of numbers to have no order


@dataclass(frozen=True)
class Relation:
    """What every original record keeps.

    Attributes:
        words: the relation in words.
        records: original records that it is about.
        unrelated: share of them that would break it if the columns were independent.
        breaking: which records break it: of each set, shape (n_synthetic,).
    """

    words: str
    records: int
    unrelated: float
    breaking: tuple[Flags, ...]


def relation_scores(
    comparison: Comparison, columns: Sequence[OrderedColumn]
) -> tuple[tuple[Score, ...], tuple[RelationKept, ...]]:
    """Share of synthetic records that break a relation, and every relation, worst first.

    Args:
        comparison: original and sets.
        columns: their ordered columns.

    Returns:
        No score where no relation holds in the original.
    """
    any_broken = [np.zeros(len(rows[0]), dtype=np.bool_) for rows in comparison.sets]
    details = []
    for one in itertools.chain(dependencies(comparison), orders(columns)):
        for k, mask in enumerate(one.breaking):
            any_broken[k] |= mask
        broken = float(np.mean([mask.mean() for mask in one.breaking]))
        details.append(RelationKept(one.words, one.records, broken, one.unrelated))
    if not details:
        return (), ()
    details.sort(key=lambda one: (-one.broken, one.relation))
    note = f"of {len(details):,} that hold in every original record; worst "
    note += f"{details[0].broken:.3g} ({details[0].relation})"
    values = [float(mask.mean()) for mask in any_broken]
    score = Score.over_sets(DEFINITIONS["relations broken"], values, null=0.0, note=note)
    return (score,), tuple(details)


def dependencies(comparison: Comparison) -> Iterator[Relation]:
    """Columns that another one determines."""
    occurring = [len(np.unique(codes)) for codes in comparison.original]
    coarse = [j for j, number in enumerate(occurring) if 2 <= number <= MOST_STATES]
    names = comparison.schema.names
    narrow = [
        pair for pair in itertools.combinations(coarse, 2) if comparison.n_cells(pair) <= MOST_CELLS
    ]
    for (i, j), original, _ in comparison.tables(narrow):
        there, back = _determined(original), _determined(original.T)
        if there is not None:
            words = f"{names[i]} {'→' if back is None else '↔'} {names[j]}"
            yield _dependency(comparison, (i, j), there, back, words)
        elif back is not None:
            yield _dependency(comparison, (j, i), back, None, f"{names[j]} → {names[i]}")


def _determined(counts: Counts) -> tuple[Integers, float] | None:
    """State of the second column for each of the first, and what chance would break; or None."""
    used = counts.sum(axis=1)
    n = int(used.sum())
    if ((counts > 0).sum(axis=1) > 1).any() or (used > 0).sum() * RECORDS_A_STATE > n:
        return None
    states = np.where(used > 0, counts.argmax(axis=1), _UNSEEN)
    second = counts.sum(axis=0) / n
    unrelated = 1 - float(used[used > 0] @ second[states[used > 0]]) / n
    return (states, unrelated) if _matters(unrelated, n) else None


def _matters(unrelated: float, n: int) -> bool:
    return unrelated >= LEAST_SHARE and unrelated * n >= FEWEST_BREAKING


def _dependency(
    comparison: Comparison,
    columns: tuple[int, int],
    there: tuple[Integers, float],
    back: tuple[Integers, float] | None,
    words: str,
) -> Relation:
    first, second = columns
    breaking = []
    for rows in comparison.sets:
        broken = _breaks(there[0], rows[first], rows[second])
        if back is not None:
            broken |= _breaks(back[0], rows[second], rows[first])
        breaking.append(broken)
    return Relation(words, comparison.n_original, there[1], tuple(breaking))


def _breaks(states: Integers, first: Codes, second: Codes) -> Flags:
    known = states[first]
    return np.asarray((known != _UNSEEN) & (known != second))


def orders(columns: Sequence[OrderedColumn]) -> Iterator[Relation]:
    """Numbers, and dates, of which one never exceeds another."""
    comparable = [one for one in columns if one.scale is not Scale.ORDER]
    values = {one.name: one.values(one.original) for one in comparable}
    for a, b in itertools.combinations(comparable, 2):
        if a.scale is not b.scale:
            continue
        x, y = values[a.name], values[b.name]
        if (x[:_GLANCE] > y[:_GLANCE]).any() and (x[:_GLANCE] < y[:_GLANCE]).any():
            continue
        both = np.isfinite(x) & np.isfinite(y)
        below, above = not (x > y).any(), not (x < y).any()  # absent values compare as False
        lower, upper = (a, b) if below else (b, a)
        if not both.any() or not (below or above):
            continue
        unrelated = _exceeding(lower, upper, both)
        if _matters(unrelated, int(both.sum())):
            equal = below and above
            words = f"{lower.name} {'=' if equal else '≤'} {upper.name}"
            breaking = tuple(
                _exceeds(lower.values(p), upper.values(q), equal=equal)
                for p, q in zip(lower.sets, upper.sets, strict=True)
            )
            yield Relation(words, int(both.sum()), unrelated, breaking)


def _exceeds(x: Floats, y: Floats, *, equal: bool) -> Flags:
    return np.asarray((x > y) | (x < y) if equal else x > y)


def _exceeding(lower: OrderedColumn, upper: OrderedColumn, both: Flags) -> float:
    """Probability that a value of the first exceeds one of the second, drawn by itself."""
    first, second = lower.counts(lower.original[both]), upper.counts(upper.original[both])
    under = np.concatenate([[0], np.cumsum(second)])
    smaller = under[np.searchsorted(upper.levels, lower.levels, side="left")]
    n = int(both.sum())
    return float(first @ smaller / (n * n))
