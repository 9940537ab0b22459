"""Re-identification: is a synthetic row that agrees with a target in the keys the target?

The intruder knows the keys of target i and finds c_i synthetic rows that agree in them. T_i = 1 if
the true record is among these: a row that agrees with the target in all other columns too. He takes
one of them at random.

* *Expected risk*: mean of T_i/c_i over targets (0 where c_i = 0).
* *True match rate*: share of targets with c_i = 1 and T_i = 1.
* *False match rate*: share with T_i = 0 among the targets with c_i = 1; low is dangerous.

The measures were made for tables whose records were altered, where row j comes from person j. No
row of a fully synthetic table comes from a person: "the true record" is a record with the same
states, the expected risk is a mean rather than a sum so that members and controls can be compared,
and several copies of a target among the c_i count as one. A control tells what of it is
coincidence. A guess picks any synthetic row without looking at the keys.

Sources:
    Reiter (2005), "Estimating risks of identification disclosure in microdata", J. Am. Stat. Assoc.
    100, 1103-1112; Reiter & Mitra (2009), "Estimating risks of identification disclosure in
    partially synthetic data", J. Privacy and Confidentiality 1, 99-110.

**Uniqueness.** Are records that stand alone among the synthetic rows alone in the population too?
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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.evaluation.risk.attack_setup import States, numbered, occurrences


@dataclass(frozen=True)
class Matches:
    """How the targets were matched in one set; arrays of shape (n,).

    Attributes:
        count: c_i, synthetic rows that agree in the keys.
        true: those of them that agree in all else too.
        alike: synthetic rows that agree in all columns but the keys.
        n_rows: synthetic rows.
    """

    count: Integers
    true: Integers
    alike: Integers
    n_rows: int

    @property
    def expected(self) -> Floats:
        """T_i/c_i."""
        return np.asarray((self.true > 0) / np.maximum(self.count, 1), dtype=np.float64)

    @property
    def unique(self) -> Floats:
        """1 where there is one match, else 0."""
        return np.asarray(self.count == 1, dtype=np.float64)

    @property
    def unique_and_true(self) -> Floats:
        """1 where there is one match and it is the true record, else 0."""
        return np.asarray((self.count == 1) & (self.true == 1), dtype=np.float64)


def match(keys: States, rest: States, synthetic_keys: States, synthetic_rest: States) -> Matches:
    """Match targets with the rows of one set.

    Args:
        keys: states of the targets, shape (n, k).
        rest: their states in all other columns, shape (n, r); r may be 0.
        synthetic_keys: shape (m, k), m > 0.
        synthetic_rest: shape (m, r).
    """
    by_keys, by_rest = numbered(keys, synthetic_keys), numbered(rest, synthetic_rest)
    whole = numbered(*(np.column_stack(both) for both in zip(by_keys, by_rest, strict=True)))
    return Matches(
        occurrences(*by_keys), occurrences(*whole), occurrences(*by_rest), len(synthetic_keys)
    )


@dataclass(frozen=True)
class Identified:
    """The three measures by target, means over the sets.

    Attributes:
        expected: T_i/c_i, shape (n,).
        true: whether the match is unique and true, shape (n,).
        false: whether a unique match is false, mean over the sets where it is unique; only of the
            targets with a unique match in some set, shape (at most n,).
        guessed: probability that any synthetic row is the target, shape (n,).
        guessed_false: probability that any synthetic row is not like the target beyond the keys,
            shape of `false`.
    """

    expected: Floats
    true: Floats
    false: Floats
    guessed: Floats
    guessed_false: Floats


def identified(matches: Sequence[Matches]) -> Identified:
    """The measures over all sets.

    Args:
        matches: of the same targets with each set, at least one.
    """
    unique = np.sum([matched.unique for matched in matches], axis=0)
    true = np.sum([matched.unique_and_true for matched in matches], axis=0)
    once = unique > 0
    other = np.mean([1 - matched.alike / matched.n_rows for matched in matches], axis=0)
    return Identified(
        expected=np.mean([matched.expected for matched in matches], axis=0),
        true=true / len(matches),
        false=1 - true[once] / unique[once],
        guessed=np.mean([matched.true / matched.n_rows for matched in matches], axis=0),
        guessed_false=other[once],
    )


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
    real, made = numbered(originals, synthetic)
    alone, alone_synthetic = occurrences(real, real) == 1, occurrences(made, made) == 1
    return Uniqueness(
        alone_synthetic,
        (occurrences(made, real) == 1)[alone_synthetic],
        (occurrences(real, made) == 1)[alone],
    )


def shuffled(rows: States, rng: np.random.Generator) -> States:
    """The rows with each column shuffled by itself.

    Args:
        rows: shape (m, k).
        rng: what the order is drawn with.
    """
    return np.asarray(rng.permuted(rows, axis=0))
