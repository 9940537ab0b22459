"""What an intruder gets from a synthetic table: two guesses about people, and single records.

He guesses about people whose rows are in the table, and about others of the same population. What
he gets right about the others he has learned of the population; only the difference speaks of
disclosure.

Source: Park & Ghosh (2014), §4.4, without the others there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.risk.inference_attacks import infer_level, infer_number, unmatched
from understudy.evaluation.risk.reidentification import uniqueness
from understudy_studies.framework.study import Row
from understudy_studies.park_ghosh_2014.patient_case import Case
from understudy_studies.park_ghosh_2014.table_distances import Measure

States = NDArray[np.int64]
Values = NDArray[np.float64]

TARGETS = 2_000
"""People of the table, and as many others, about whom the intruder guesses in each repetition."""

CONTROL, GUESS = "_control", "_guess"
LEVEL = Measure("level_error", "wrong {levels}", "high")
NUMBER = Measure("number_error", "error in {number}, {unit}", "high")
UNMATCHED = Measure("unmatched", "people without a match", "high")
UNIQUE = Measure("unique", "unique records")
UNIQUE_TOO = Measure("unique_too", "of these, unique in the table too")
ATTACKS = (LEVEL, NUMBER)
RISKS = (*ATTACKS, UNMATCHED, UNIQUE, UNIQUE_TOO)
NAMES = (
    *(f"{measure.name}{suffix}" for measure in ATTACKS for suffix in ("", CONTROL, GUESS)),
    *(measure.name for measure in (UNMATCHED, UNIQUE, UNIQUE_TOO)),
)
"""Columns of `results.csv`."""


def attacked(case: Case, synthetic: States, rng: np.random.Generator) -> Row:
    """What the intruder gets from one synthetic table.

    `level_error` is the share of wrong guesses and `number_error` the mean absolute error about
    people of the table, `…_control` about others, `…_guess` with one guess for everybody in the
    table. `unmatched` is the share of the table's people whose keys no synthetic record has.
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
    keys = case.places(case.intruder.unique)
    alone = uniqueness(case.table[list(keys)].T, synthetic[list(keys)].T)
    found[UNIQUE.name] = float(alone.synthetic.mean())
    found[UNIQUE_TOO.name] = float(alone.synthetic_too.mean()) if alone.synthetic_too.size else 0.0
    return found


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
        found[UNMATCHED.name] = unmatched(level)
    return found
