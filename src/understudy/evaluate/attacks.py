"""Attacks on one release: what is asked is checked, the scene is set, the figures follow.

**Disclosure risk** is what an attack gains, with an interval, a control and a naive guess. All of
it compares with the rows, so all of it is INTERNAL and outside ε. Attacks are functions over arrays
of coded states, which studies call too.

**Attacks by inference: what is secret of a target, and whether it was in the table.**

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

**Re-identification: is a synthetic row that agrees with a target in the keys the target?**

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

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy._parallel import each
from understudy.data.table import Table
from understudy.dp.confidential import Internal
from understudy.errors import DataError, MethodError
from understudy.evaluate.attack_setup import (
    FEWEST,
    Figure,
    Outcome,
    Risk,
    Risks,
    Scene,
    States,
    area_under_curve,
    chances,
    difference,
    judge_figure,
    mean_error,
    number_rows,
    numbers_of,
    occurrences,
    over_sets,
    scale_places,
    share,
)
from understudy.evaluate.comparison import Comparison, Rows, compare, require_columns, require_seed
from understudy.evaluate.prediction import default_target
from understudy.release.release import Release


def infer_level(
    keys: States, secret: States, synthetic_keys: States, synthetic_secret: States
) -> Outcome:
    """Return whether the most frequent secret among the matches is the target's: 1 or 0.

    Of equally frequent secrets the intruder takes the one that is more frequent in all synthetic
    rows, then the one with the lowest state.

    Args:
        keys: states of the targets, shape (n, k).
        secret: their true states, shape (n,).
        synthetic_keys: shape (m, k), m > 0.
        synthetic_secret: shape (m,).
    """
    target, row = number_rows(keys, synthetic_keys)
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
    target, row = number_rows(keys, synthetic_keys[present])
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


def compute_unmatched_share(outcome: Outcome) -> float:
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
    target, row = number_rows(keys, synthetic_keys)
    both = number_rows(np.column_stack([target, secret]), np.column_stack([row, synthetic_secret]))
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


def distances_to_nearest(targets: States, rows: States, places: Sequence[Floats]) -> Floats:
    """Distance of each target to the nearest row, in [0, 1].

    Args:
        targets: states, shape (n, d), d > 0.
        rows: synthetic states, shape (m, d), m > 0.
        places: for each column, the place of each state on its scale in [0, 1]; -1 for states that
            are at distance 1 from every other one.

    Returns:
        Shape (n,).
    """
    _, first = np.unique(number_rows(rows)[0], return_index=True)
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
    """Return whether each target has a copy among the rows; by guessing, as if independent.

    Args:
        targets: states, shape (n, d).
        rows: synthetic states, shape (m, d), m > 0.
    """
    target, row = number_rows(targets, rows)
    copied = (occurrences(target, row) > 0).astype(np.float64)
    chance = -np.expm1(len(rows) * np.log1p(-np.minimum(chances(targets, rows), 1 - 1e-16)))
    return Outcome(copied, chance, copied)


@dataclass(frozen=True)
class Matches:
    """The match of each target in one set; arrays of shape (n,).

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
    by_keys, by_rest = number_rows(keys, synthetic_keys), number_rows(rest, synthetic_rest)
    whole = number_rows(*(np.column_stack(both) for both in zip(by_keys, by_rest, strict=True)))
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


def combine_matches(matches: Sequence[Matches]) -> Identified:
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
    real, made = number_rows(originals, synthetic)
    alone, alone_synthetic = occurrences(real, real) == 1, occurrences(made, made) == 1
    return Uniqueness(
        alone_synthetic,
        (occurrences(made, real) == 1)[alone_synthetic],
        (occurrences(real, made) == 1)[alone],
    )


def shuffle_columns(rows: States, rng: np.random.Generator) -> States:
    """The rows with each column shuffled by itself.

    Args:
        rows: shape (m, k).
        rng: what the order is drawn with.
    """
    return np.asarray(rng.permuted(rows, axis=0))


T = TypeVar("T")

_IDENTIFIED = "re-identification"
_MEMBER = "membership inference"
_UNIQUE = "uniqueness"


def reidentification_risks(scene: Scene) -> tuple[Risk, ...]:
    """Expected risk, true and false match rate."""
    keys, rest = list(scene.keys), list(scene.rest)
    members, control = _both(
        scene,
        lambda targets: combine_matches(
            [
                match(targets[:, keys], targets[:, rest], rows[:, keys], rows[:, rest])
                for rows in scene.sets
            ]
        ),
    )
    guess = _mean(members.guessed)
    return (
        judge_figure(
            _IDENTIFIED,
            "expected risk",
            share(members.expected),
            share(control.expected) if control else None,
            guess,
            note="chance that a synthetic row picked among those with the target's keys agrees "
            "with the target in all other columns",
        ),
        judge_figure(
            _IDENTIFIED,
            "true match rate",
            share(members.true),
            share(control.true) if control else None,
            guess,
            note="targets with one match, which is true",
        ),
        judge_figure(
            _IDENTIFIED,
            "false match rate",
            share(members.false),
            share(control.false) if control else None,
            _mean(members.guessed_false),
            perfect=0.0,
            note="false ones among unique matches; low is dangerous",
        ),
    )


def attribute_risks(scene: Scene) -> tuple[Risk, ...]:
    """Each secret in turn: share of levels inferred, or mean absolute error of numbers."""
    return tuple(
        _number_risk(scene, secret, numbers)
        if (numbers := numbers_of(scene.columns[secret])) is not None
        else _level_risk(scene, secret)
        for secret in scene.secrets
    )


def _level_risk(scene: Scene, secret: int) -> Risk:
    keys = list(scene.keys)

    def attack(targets: States) -> Outcome:
        return over_sets(
            lambda rows: infer_level(
                targets[:, keys], targets[:, secret], rows[:, keys], rows[:, secret]
            ),
            scene.sets,
        )

    members, control = _both(scene, attack)
    return judge_figure(
        f"inference of {scene.names[secret]}",
        "share inferred",
        share(members.found),
        share(control.found) if control else None,
        _mean(members.guessed),
        note=f"most frequent level among rows with the target's keys; {_alone(members, control)}",
    )


def _number_risk(scene: Scene, secret: int, numbers: Floats) -> Risk:
    keys = list(scene.keys)
    sets = [rows for rows in scene.sets if not np.isnan(numbers[rows[:, secret]]).all()]

    def attack(targets: States) -> Outcome:
        truth = numbers[targets[:, secret]]
        known, truth = targets[~np.isnan(truth)][:, keys], truth[~np.isnan(truth)]
        return over_sets(
            lambda rows: infer_number(known, truth, rows[:, keys], numbers[rows[:, secret]]), sets
        )

    name = f"inference of {scene.names[secret]}"
    if not sets:
        return judge_figure(name, "mean absolute error", None, None, None, perfect=0.0)
    members, control = _both(scene, attack)
    return judge_figure(
        name,
        "mean absolute error",
        mean_error(members.found),
        mean_error(control.found) if control else None,
        _mean(members.guessed),
        perfect=0.0,
        note="mean of the rows with the target's keys, numbers as the middle of their bins; low is "
        f"dangerous; {_alone(members, control)}",
    )


def _alone(members: Outcome, control: Outcome | None) -> str:
    """Say how many targets had no match."""
    other = f" (control: {compute_unmatched_share(control):.1%})" if control is not None else ""
    return f"no match for {compute_unmatched_share(members):.1%}{other}: mode or mean of all rows"


def probabilistic_risks(scene: Scene) -> tuple[Risk, ...]:
    """Each secret in turn: mean and largest probability of the truth."""
    return tuple(risk for secret in scene.secrets for risk in _probable_risks(scene, secret))


def _probable_risks(scene: Scene, secret: int) -> tuple[Risk, Risk]:
    keys, states = list(scene.keys), scene.columns[secret].size
    members, control = _both(
        scene,
        lambda targets: over_sets(
            lambda rows: probability_of_truth(
                targets[:, keys], targets[:, secret], rows[:, keys], rows[:, secret], states
            ),
            scene.sets,
        ),
    )
    name = f"probability of {scene.names[secret]}"
    return (
        judge_figure(
            name,
            "mean given to the truth",
            share(members.found),
            share(control.found) if control else None,
            _mean(members.guessed),
        ),
        judge_figure(
            name,
            "largest given to the truth",
            largest(members.found, len(scene.original)),
            largest(control.found, len(control.found) + 1) if control else None,
            float(members.guessed.max()) if len(members.guessed) else None,
            comparable=False,
            note="interval: up to 1, since records that were not drawn may have any probability; "
            "no advantage, since a largest value says nothing of the difference",
        ),
    )


def membership_risks(scene: Scene) -> tuple[Risk, ...]:
    """Area under the curve, true positive rate, exact copies."""
    copied, copied_control = _both(
        scene, lambda targets: over_sets(lambda rows: copies(targets, rows), scene.sets)
    )
    exact = judge_figure(
        _MEMBER,
        "exact copies",
        share(copied.found),
        share(copied_control.found) if copied_control else None,
        _mean(copied.guessed),
        note="targets of which a set holds a copy; guess: as if columns were independent",
    )
    return (*_ranked_risks(scene), exact)


def _ranked_risks(scene: Scene) -> tuple[Risk, ...]:
    """Compute the risks that distances show; nothing without a control."""
    if scene.control is None:
        return ()
    places = [scale_places(column) for column in scene.columns]

    def distances(targets: States) -> Floats:
        return np.asarray(
            np.mean([distances_to_nearest(targets, rows, places) for rows in scene.sets], axis=0)
        )

    near, far = distances(scene.members), distances(scene.control)
    return (
        judge_figure(
            _MEMBER,
            "area under the curve",
            area_under_curve(-near, -far),
            Figure(0.5, (0.5, 0.5), len(far)),
            0.5,
            note="by distance to the nearest synthetic row; 0.5 if members and controls are alike",
        ),
        judge_figure(
            _MEMBER,
            f"true positive rate at {FALSE_POSITIVES:.0%} false",
            share(called_members(near, far)),
            share(called_members(far, far)),
            FALSE_POSITIVES,
            note="members found by a threshold that takes in 1 % of the control",
        ),
    )


def uniqueness_risks(scene: Scene) -> tuple[Risk, ...]:
    """Unique synthetic rows, and those unique in both tables."""
    keys = list(scene.keys)
    originals, held_out = scene.equal_numbers()
    rng = scene.generator(1)
    sets = [rows[:, keys] for rows in scene.sets]
    members = _joint([uniqueness(originals[:, keys], rows) for rows in sets])
    guessed = _joint([uniqueness(originals[:, keys], shuffle_columns(rows, rng)) for rows in sets])
    control: list[Figure | None] = [None] * 3
    if held_out is not None:
        control = _joint([uniqueness(held_out[:, keys], rows) for rows in sets])
    guesses = [figure.value if figure else None for figure in guessed]
    n = f"{len(originals):,} rows each" if held_out is not None else "all original rows"
    return (
        judge_figure(
            _UNIQUE,
            "unique synthetic rows",
            members[0],
            None,
            None,
            note="no other row of the set has these keys; no risk by itself, and no control; with "
            f"shuffled columns {guesses[0] or 0.0:.1%}",
        ),
        judge_figure(
            _UNIQUE,
            "in both, of unique synthetic rows",
            members[1],
            control[1],
            guesses[1],
            note=f"original and control by {n}",
        ),
        judge_figure(
            _UNIQUE,
            "in both, of unique original rows",
            members[2],
            control[2],
            guesses[2],
            note=f"original and control by {n}",
        ),
    )


def _joint(outcomes: Sequence[Uniqueness]) -> list[Figure | None]:
    """Shares over the sets; those of several sets are of one table, and count as one set."""
    parts = [
        (outcome.synthetic, outcome.synthetic_too, outcome.originals_too) for outcome in outcomes
    ]
    return [
        share(np.concatenate(marks), repeats=len(outcomes)) for marks in zip(*parts, strict=True)
    ]


def _both(scene: Scene, attack: Callable[[States], T]) -> tuple[T, T | None]:
    """Attack members, and the control if there is one."""
    return attack(scene.members), None if scene.control is None else attack(scene.control)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


Progress = Callable[[str, int, int], None]

TARGETS = 2000
"""Most targets of each group by default: shares are known to ± 2 percentage points or better."""

NO_CONTROL = (
    "No control: without rows of people outside the table nothing tells what the release says of "
    "everybody from what it says of its members, so no advantage is computed and no level given. "
    "Set aside a random tenth or more of the rows before synthesizing, make the release from the "
    "rest, and give the rows set aside as the control."
)
_STAGE = "Attacking the release"
_TOO_MANY = 0.05  # excess of control rows found in the data that is more than coincidence


@dataclass(frozen=True)
class Intruder:
    """Columns that an intruder knows, and those they want to know; positions.

    Attributes:
        keys: columns that he knows.
        secrets: columns that he wants to know.
    """

    keys: tuple[int, ...]
    secrets: tuple[int, ...]

    @classmethod
    def of(cls, comparison: Comparison, keys: Sequence[str], secrets: Sequence[str]) -> Intruder:
        """The intruder that is asked for; by default one who knows all but one column.

        Args:
            comparison: original rows and sets.
            keys: names, all of them columns; none stands for all columns but the secrets.
            secrets: names; none stands for the column that an evaluation predicts by default.

        Raises:
            MethodError: a column is both, or there is none left for the keys or the secrets.
        """
        names = list(comparison.schema.names)
        known = tuple(dict.fromkeys(names.index(name) for name in keys))
        sought = tuple(dict.fromkeys(names.index(name) for name in secrets))
        if both := [names[j] for j in known if j in sought]:
            raise MethodError(
                f"The column {both[0]!r} is among the keys and among the secrets; an intruder does "
                "not look for what he knows."
            )
        if not sought:
            left = [j for j in range(len(names)) if j not in known]
            if not left:
                raise MethodError("All columns are keys, so none is left to be secret.")
            sought = (default_target(comparison, left),)
        if not known:
            known = tuple(j for j in range(len(names)) if j not in sought)
        if not known:
            raise MethodError("All columns are secrets, so an intruder has nothing to match by.")
        return cls(known, sought)


def risks_of(
    release: Release,
    comparison: Comparison,
    control: Table | None,
    intruder: Intruder,
    *,
    targets: int = TARGETS,
    progress: Progress | None = None,
) -> Risks:
    """Attack a release by all means. CONFIDENTIAL until it is wrapped as internal.

    Args:
        release: the release.
        comparison: its sets and the original rows; its seed fixes which rows are targets.
        control: rows of people outside the table; None without any.
        intruder: what he knows and wants.
        targets: most targets of each group.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: the control has no rows.
    """
    rows = None if control is None else control.code_rows().expose()
    if rows is not None and not len(rows[0]):
        raise DataError("The control has no rows; leave it out, or hold out some rows.")
    risks, warnings = assess(comparison, rows, intruder, targets=targets, progress=progress)
    names = comparison.schema.names
    return Risks(
        title=release.schema.heading,
        method=release.manifest.method,
        guarantee=release.guarantee.statement,
        n_original=comparison.n_original,
        n_control=0 if rows is None else len(rows[0]),
        n_synthetic=comparison.n_synthetic,
        sets=len(comparison.sets),
        keys=tuple(names[j] for j in intruder.keys),
        secrets=tuple(names[j] for j in intruder.secrets),
        risks=risks,
        warnings=warnings,
    )


def risk_release(
    table: Table,
    release: Release,
    control: Table | None = None,
    *,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    targets: int = TARGETS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Internal[Risks]:
    """Attack a release of a table; the same seed gives the same result.

    Args:
        table: the original rows, coded against the release's schema.
        release: the release.
        control: rows of people outside the table, coded alike; None without any.
        keys: columns that the intruder knows; all but the secrets if none.
        secrets: columns that he wants to know; the default target of an evaluation if none.
        targets: most targets of each group.
        seed: of every random choice.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: there are no rows, in the original, the control or a set.
        MethodError: an unknown column, one that is key and secret, none left for the one or the
            other, or no number of targets or seed.
    """
    require_seed(seed)
    require_targets(targets)
    require_columns(release.schema, "keys", keys)
    require_columns(release.schema, "secrets", secrets)
    comparison = compare(table, release, seed)
    intruder = Intruder.of(comparison, keys, secrets)
    return Internal(
        risks_of(release, comparison, control, intruder, targets=targets, progress=progress)
    )


def assess(
    comparison: Comparison,
    control: Rows | None,
    intruder: Intruder,
    *,
    targets: int = TARGETS,
    progress: Progress | None = None,
) -> tuple[tuple[Risk, ...], tuple[str, ...]]:
    """Attack a release by all means.

    Args:
        comparison: original rows and sets; its seed fixes which rows are targets.
        control: rows of people outside the table, coded alike; None without any.
        intruder: what he knows and wants.
        targets: most targets of each group.
        progress: called with a stage, and how much of how much is done.

    Returns:
        The figures, attack by attack, and what is missing or doubtful.
    """
    tell = progress or (lambda _stage, _done, _total: None)
    scene = Scene.of(comparison, control, intruder.keys, intruder.secrets, targets)
    attacks = (
        reidentification_risks,
        attribute_risks,
        probabilistic_risks,
        membership_risks,
        uniqueness_risks,
    )
    tell(_STAGE, 0, len(attacks))
    risks: list[Risk] = []
    for k, attack in enumerate(attacks, start=1):
        risks += attack(scene)
        tell(_STAGE, k, len(attacks))
    return tuple(risks), _warnings(scene)


def _warnings(scene: Scene) -> tuple[str, ...]:
    """List what is missing or doubtful about the targets."""
    if scene.held_out is None:
        return (NO_CONTROL,)
    warnings = []
    if len(scene.held_out) < FEWEST:
        warnings.append(
            f"The control has {len(scene.held_out)} rows: intervals are wide; hold out more."
        )
    if overlap := _overlap(scene):
        warnings.append(overlap)
    return tuple(warnings)


def _overlap(scene: Scene) -> str:
    """A warning if the control holds far more rows of the data than coincidence explains.

    A row of the data has a twin among the others as often as a new row of the same population has
    one in the data, nearly.
    """
    assert scene.held_out is not None
    data, control = number_rows(scene.original, scene.held_out)
    twins, copies = share(occurrences(data, data) > 1), share(occurrences(control, data) > 0)
    if twins is None or copies is None or difference(copies, twins)[0] <= _TOO_MANY:
        return ""
    return (
        f"{copies.value:.0%} of the rows of the control are in the data too, but only "
        f"{twins.value:.0%} of the rows of the data have a twin there: the control seems to hold "
        "members. Then it hides risks. Hold out rows that were not synthesized from."
    )


def require_targets(targets: object) -> None:
    """Refuse what is no number of targets.

    Raises:
        MethodError: not a whole number, at least 1.
    """
    if isinstance(targets, bool) or not isinstance(targets, int | np.integer) or targets < 1:
        raise MethodError("The number of targets must be a whole number, at least 1.")
