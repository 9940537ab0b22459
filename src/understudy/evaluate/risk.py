"""All attacks on one release: what is asked is checked, the scene is set, the figures follow.

**Disclosure risk: attacks on a release, each with an interval, a control and a naive guess.**

Each file holds one attack, as functions over arrays of coded states that studies call too. All of
it compares with the rows, so all of it is INTERNAL and outside ε.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.data.table import Table
from understudy.dp.confidential import Internal
from understudy.errors import DataError, MethodError
from understudy.evaluate.attack_setup import (
    FEWEST,
    Risk,
    Risks,
    Scene,
    difference,
    number_rows,
    occurrences,
    share,
)
from understudy.evaluate.attacks import (
    attribute_risks,
    membership_risks,
    probabilistic_risks,
    reidentification_risks,
    uniqueness_risks,
)
from understudy.evaluate.comparison import Comparison, Rows, compare, require_columns, require_seed
from understudy.evaluate.prediction import default_target
from understudy.release.release import Release

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
