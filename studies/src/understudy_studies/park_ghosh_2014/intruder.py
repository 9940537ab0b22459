"""What an intruder gets from a synthetic table: two guesses about people, and single records.

He guesses about people whose rows are in the table, and about others of the same population. What
he gets right about the others he has learned of the population; only the difference speaks of
disclosure.

Source: Park & Ghosh (2014), §4.4, without the others there.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.evaluate.attacks import compute_unmatched_share, infer_level, infer_number
from understudy_studies.framework.study import Row
from understudy_studies.park_ghosh_2014.patient_case import Case, find
from understudy_studies.park_ghosh_2014.table_distances import Measure

States = NDArray[np.int64]
Values = NDArray[np.float64]

TARGETS = 2_000
"""People of the table, and as many others, about whom the intruder guesses in each repetition."""

CONTROL, GUESS, MATCHED = "_control", "_guess", "_matched"
LEVEL = Measure("level_error", "wrong {levels}", "high")
NUMBER = Measure("number_error", "error in {number}, {unit}", "high")
UNMATCHED = Measure("unmatched", "people without a match", "high")
UNIQUE = Measure("unique", "unique records")
UNIQUE_TOO = Measure("unique_too", "of these, unique in the table too")
ATTACKS = (LEVEL, NUMBER)
RISKS = (*ATTACKS, UNMATCHED, UNIQUE, UNIQUE_TOO)
NAMES = (
    *(f"{measure.name}{suffix}" for measure in ATTACKS for suffix in ("", CONTROL, GUESS, MATCHED)),
    *(measure.name for measure in (UNMATCHED, UNIQUE, UNIQUE_TOO)),
)
"""Columns of `results.csv`."""


def attacked(case: Case, synthetic: States, rng: np.random.Generator) -> Row:
    """What the intruder gets from one synthetic table.

    `level_error` is the share of wrong guesses and `number_error` the mean absolute error about
    people of the table, `…_control` about others, `…_guess` with one guess for everybody in the
    table, `…_matched` about those of them alone who have a match (NaN if nobody has). `unmatched`
    is the share of the table's people whose keys no synthetic record has.
    `unique` is the share of synthetic records whose keys occur once among them, `unique_too` the
    share of these whose keys occur once in the table as well.

    Args:
        case: the table, the people held out, and who attacks.
        synthetic: states of the synthetic records, shape (d, ñ).
        rng: chooses the targets.
    """
    found: Row = {}
    for suffix, people in (("", case.table), (CONTROL, case.control)):
        targets = people[:, rng.choice(people.shape[1], TARGETS, replace=False)]
        found |= _guesses(case, targets, synthetic, suffix)
    found[UNIQUE.name], found[UNIQUE_TOO.name] = uniques(case, synthetic)
    return found


def uniques(case: Case, synthetic: States) -> tuple[float, float]:
    """The share of records whose keys occur once, and of these, once in the table too.

    The same as `understudy.evaluate.attacks.uniqueness`, without counting the table
    again for each synthetic one.
    """
    numbers = _unique_keys(case, synthetic)
    alone = numbers[np.bincount(numbers)[numbers] == 1]
    too = float((_table_counts_of(case.name)[alone] == 1).mean()) if alone.size else 0.0
    return alone.size / numbers.size, too


@cache
def _table_counts_of(name: str) -> States:
    case = find(name)
    cells = np.prod([case.sizes[j] for j in case.places(case.intruder.unique)])
    return np.bincount(_unique_keys(case, case.table), minlength=int(cells))


def _unique_keys(case: Case, states: States) -> States:
    """One number for the states of the columns that unique records are looked for by."""
    places = case.places(case.intruder.unique)
    sizes = tuple(case.sizes[j] for j in places)
    return np.asarray(np.ravel_multi_index(tuple(states[list(places)]), sizes))


def _guesses(case: Case, targets: States, synthetic: States, suffix: str) -> Row:
    intruder = case.intruder
    keys = list(case.places(intruder.keys))
    known, matching = targets[keys].T, synthetic[keys].T
    levels = case.place(intruder.levels)
    level = infer_level(known, targets[levels], matching, synthetic[levels])
    truth, offered = (intruder.number.of(case, one) for one in (targets, synthetic))
    sure = ~np.isnan(truth)
    number = infer_number(known[sure], truth[sure], matching, offered)
    found: Row = {
        f"{LEVEL.name}{suffix}": 1 - float(level.found.mean()),
        f"{NUMBER.name}{suffix}": float(number.found.mean()),
    }
    if not suffix:
        found[f"{LEVEL.name}{GUESS}"] = 1 - float(level.guessed.mean())
        found[f"{NUMBER.name}{GUESS}"] = float(number.guessed.mean())
        found[f"{LEVEL.name}{MATCHED}"] = 1 - _mean_where(level.found, level.matched)
        found[f"{NUMBER.name}{MATCHED}"] = _mean_where(number.found, number.matched)
        found[UNMATCHED.name] = compute_unmatched_share(level)
    return found


def _mean_where(found: Values, matched: Values) -> float:
    return float(found[matched > 0].mean()) if matched.any() else math.nan
