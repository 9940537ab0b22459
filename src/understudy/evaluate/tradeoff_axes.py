"""The axes of a map: what risk stands on one of them, which numbers they span, where each stands.

The risk is the budget itself, or what an attack gains. ε bounds what any intruder can learn,
whatever he knows; a measured risk is what one named attack gained on these rows, and says nothing
of others. The two belong together.

Both attacks are those of `understudy.evaluate`, against people held out: what an intruder
learns about these too, he has learned of the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from understudy._arrays import Floats
from understudy.errors import MethodError
from understudy.evaluate.attack_setup import Scene, States, area_under_curve, over_sets, places_of
from understudy.evaluate.attacks import infer_level, nearest
from understudy.evaluate.comparison import Comparison
from understudy.report.svg import nice_ticks

_WIDE = 20.0
"""Losses that lie further apart than so many times are drawn on a logarithmic axis."""
_MARGIN = 0.04


@dataclass(frozen=True)
class Axis:
    """A scale from numbers to points of a drawing.

    Attributes:
        low: number at the start.
        high: number at the end, above it.
        start: place of the first.
        end: place of the second; it may lie before the start.
        logarithmic: whether equal ratios are equally long; both numbers are then above 0.
        ticks: where numbers are written.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return the place of a number; what lies beyond an end stands at it."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def budget_axis(epsilons: Sequence[float], start: float, end: float) -> Axis:
    """A logarithmic axis with the budgets themselves for ticks.

    Args:
        epsilons: ascending, each above 0.
        start: place of its start.
        end: place of its end.
    """
    low, high = (epsilons[0], epsilons[-1]) if epsilons else (1.0, 1.0)
    margin = max((high / low) ** _MARGIN, 1.3)
    return Axis(low / margin, high * margin, start, end, True, tuple(epsilons))


def linear_axis(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis over all of these numbers, with a little room at both ends."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    margin = _MARGIN * (high - low) or 0.05 * max(abs(high), 1.0)
    low, high = low - margin, high + margin
    return Axis(low, high, start, end, False, tuple(nice_ticks(low, high, 6)))


def loss_axis(means: Sequence[float], ends: Sequence[float], start: float, end: float) -> Axis:
    """An axis from 0; a logarithmic one if the means lie far apart.

    Args:
        means: of the points.
        ends: of their whiskers; one that is no positive number does not count on a logarithmic
            axis, where its whisker ends at the edge.
        start: place of its start.
        end: place of its end.
    """
    known = [mean for mean in means if math.isfinite(mean)]
    least, most = min(known, default=0.0), max([*known, *_finite(ends)], default=1.0)
    if not least > 0 or max(known) / least <= _WIDE:
        top = most * (1 + _MARGIN) if most > 0 else 1.0
        return Axis(0.0, top, start, end, False, tuple(nice_ticks(0.0, top, 6)))
    lowest = min([least, *(tip for tip in _finite(ends) if tip > least / 2)])
    low, high = lowest / 1.2, most * 1.2
    return Axis(low, high, start, end, True, _decades(low, high))


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _decades(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 times powers of ten within a range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [leading * 10.0**power for power in powers for leading in (1, 2, 5)]
    return tuple(tick for tick in ticks if low <= tick <= high)


Names = tuple[str, ...]

MOST_TARGETS = 2_000
"""People of either group that are attacked, drawn at random from more."""


@dataclass(frozen=True)
class Risk:
    """A risk axis.

    Attributes:
        name: what users call it by.
        title: what it is, for a heading.
        scale: what the number is.
        measure: computes it on a scene with a control; None for ε, which needs no computing.
        harmless: its value where members are no more exposed than people held out.
        needs_secrets: whether secrets must be given; else neither they nor keys may be.
    """

    name: str
    title: str
    scale: str
    measure: Callable[[Scene], float] | None = None
    harmless: float = 0.0
    needs_secrets: bool = False

    def require(self, keys: Names, secrets: Names) -> None:
        """Refuse keys and secrets that this risk cannot use.

        Raises:
            MethodError: says what to give.
        """
        if self.needs_secrets and not (keys and secrets):
            raise MethodError(
                f"The risk {self.name} needs secrets (columns that an intruder wants to know), and "
                "a column besides them that he knows."
            )
        if not self.needs_secrets and (keys or secrets):
            raise MethodError(
                f"The risk {self.name} does not use keys or secrets; leave them out, or take the "
                "risk attribute."
            )

    def of(self, scene: Scene | None) -> float:
        """The risk of a release; harmless if it has no rows (no scene).

        Raises:
            TypeError: a risk that is not measured.
        """
        if self.measure is None:
            raise TypeError(f"{self.name} is not measured")
        return self.harmless if scene is None else self.measure(scene)


def scene_of(
    comparison: Comparison, control: pl.DataFrame, *, keys: Names, secrets: Names, seed: int
) -> Scene | None:
    """The scene of the attacks on one release; None if one of its sets has no rows.

    Args:
        comparison: the rows that the release was made from, and its synthetic sets.
        control: rows that were held out.
        keys: columns that an intruder knows.
        secrets: columns that an intruder wants to know.
        seed: of drawing the targets.
    """
    if not all(len(rows[0]) for rows in comparison.sets):
        return None
    schema = comparison.schema
    held_out = Comparison.of(schema, control, ()).original
    places = {name: j for j, name in enumerate(schema.names)}
    return Scene.of(
        replace(comparison, seed=seed),
        held_out,
        tuple(places[name] for name in keys),
        tuple(places[name] for name in secrets),
        MOST_TARGETS,
    )


def _attribute(scene: Scene) -> float:
    """Share of secrets (levels, or bins of numbers) inferred of members, less that of others."""
    keys = list(scene.keys)

    def infer_share(targets: States, secret: int) -> float:
        outcome = over_sets(
            lambda rows: infer_level(
                targets[:, keys], targets[:, secret], rows[:, keys], rows[:, secret]
            ),
            scene.sets,
        )
        return float(outcome.found.mean())

    assert scene.control is not None
    control = scene.control
    gains = [
        infer_share(scene.members, secret) - infer_share(control, secret)
        for secret in scene.secrets
    ]
    return float(np.mean(gains))


def _membership(scene: Scene) -> float:
    """Probability that a member is nearer to the release than somebody held out."""
    places = [places_of(column) for column in scene.columns]

    def closeness(targets: States) -> Floats:
        distances = np.mean([nearest(targets, rows, places) for rows in scene.sets], axis=0)
        return np.asarray(-distances)

    assert scene.control is not None
    area = area_under_curve(closeness(scene.members), closeness(scene.control))
    assert area is not None
    return area.value


RISKS = {
    risk.name: risk
    for risk in (
        Risk("epsilon", "Privacy budget", "ε of the release"),
        Risk(
            "attribute",
            "Attribute inference",
            "secrets guessed from keys: share among members less share among people held out",
            _attribute,
            needs_secrets=True,
        ),
        Risk(
            "membership",
            "Membership inference",
            "probability that a member is nearer to the release than somebody held out",
            _membership,
            harmless=0.5,
        ),
    )
}
"""Name → risk."""
