"""The figures of each attack on a scene: members beside the control and a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from understudy.arrays import Floats
from understudy.evaluation.risk.attack_setup import (
    Outcome,
    Scene,
    States,
    numbers_of,
    over_sets,
    places_of,
)
from understudy.evaluation.risk.inference_attacks import (
    FALSE_POSITIVES,
    called_members,
    copies,
    infer_level,
    infer_number,
    largest,
    nearest,
    probability_of_truth,
    unmatched,
)
from understudy.evaluation.risk.interpretation import (
    Figure,
    area_under_curve,
    judged,
    mean_error,
    share,
)
from understudy.evaluation.risk.reidentification import (
    Uniqueness,
    identified,
    match,
    shuffled,
    uniqueness,
)
from understudy.evaluation.risk.risk_results import Risk

T = TypeVar("T")

_IDENTIFIED = "re-identification"
_MEMBER = "membership inference"
_UNIQUE = "uniqueness"


def reidentification_risks(scene: Scene) -> tuple[Risk, ...]:
    """Expected risk, true and false match rate."""
    keys, rest = list(scene.keys), list(scene.rest)
    members, control = _both(
        scene,
        lambda targets: identified(
            [
                match(targets[:, keys], targets[:, rest], rows[:, keys], rows[:, rest])
                for rows in scene.sets
            ]
        ),
    )
    guess = _mean(members.guessed)
    return (
        judged(
            _IDENTIFIED,
            "expected risk",
            share(members.expected),
            share(control.expected) if control else None,
            guess,
            note="chance that a synthetic row picked among those with the target's keys agrees "
            "with the target in all other columns",
        ),
        judged(
            _IDENTIFIED,
            "true match rate",
            share(members.true),
            share(control.true) if control else None,
            guess,
            note="targets with one match, which is true",
        ),
        judged(
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
    return judged(
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
        return judged(name, "mean absolute error", None, None, None, perfect=0.0)
    members, control = _both(scene, attack)
    return judged(
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
    """How many targets had no match, in words."""
    other = f" (control: {unmatched(control):.1%})" if control is not None else ""
    return f"no match for {unmatched(members):.1%}{other}: mode or mean of all rows"


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
        judged(
            name,
            "mean given to the truth",
            share(members.found),
            share(control.found) if control else None,
            _mean(members.guessed),
        ),
        judged(
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
    exact = judged(
        _MEMBER,
        "exact copies",
        share(copied.found),
        share(copied_control.found) if copied_control else None,
        _mean(copied.guessed),
        note="targets of which a set holds a copy; guess: as if columns were independent",
    )
    return (*_ranked_risks(scene), exact)


def _ranked_risks(scene: Scene) -> tuple[Risk, ...]:
    """What the distances tell; nothing without a control."""
    if scene.control is None:
        return ()
    places = [places_of(column) for column in scene.columns]

    def distances(targets: States) -> Floats:
        return np.asarray(np.mean([nearest(targets, rows, places) for rows in scene.sets], axis=0))

    near, far = distances(scene.members), distances(scene.control)
    return (
        judged(
            _MEMBER,
            "area under the curve",
            area_under_curve(-near, -far),
            Figure(0.5, (0.5, 0.5), len(far)),
            0.5,
            note="by distance to the nearest synthetic row; 0.5 if members and controls are alike",
        ),
        judged(
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
    guessed = _joint([uniqueness(originals[:, keys], shuffled(rows, rng)) for rows in sets])
    control: list[Figure | None] = [None] * 3
    if held_out is not None:
        control = _joint([uniqueness(held_out[:, keys], rows) for rows in sets])
    guesses = [figure.value if figure else None for figure in guessed]
    n = f"{len(originals):,} rows each" if held_out is not None else "all original rows"
    return (
        judged(
            _UNIQUE,
            "unique synthetic rows",
            members[0],
            None,
            None,
            note="no other row of the set has these keys; no risk by itself, and no control; with "
            f"shuffled columns {guesses[0] or 0.0:.1%}",
        ),
        judged(
            _UNIQUE,
            "in both, of unique synthetic rows",
            members[1],
            control[1],
            guesses[1],
            note=f"original and control by {n}",
        ),
        judged(
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
    """What an attack finds of members, and of the control if there is one."""
    return attack(scene.members), None if scene.control is None else attack(scene.control)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
