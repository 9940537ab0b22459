"""R-U maps: the risk of a release against its utility, by method and budget.

Each method is run at each budget, several times, and every release is scored on two axes: what an
intruder gains (the budget ε itself, or a measured risk), and what an analyst loses. A map shows
where the lines of the methods lie; lower left is better.

**A map is internal.** It is computed from the rows without a budget, so it, and a choice of ε or of
a method that follows from it, is outside any ε. Draw it on public rows, on simulated ones, or on a
release of an earlier year with the same schema.

For the same reason the noise of these releases need not be secret: none of them is ever written or
published. It is seeded, and the same seed gives the same map.

Sources:
    Duncan, Keller-McNulty & Stokes (2001), "Disclosure Risk vs. Data Utility: The R-U
    Confidentiality Map", National Institute of Statistical Sciences; used for perturbed Gibbs
    samplers by Park & Ghosh (2014), section 4.3.

**Draw a map: run methods over budgets with repetitions, and summarise.**

**What is asked of a map, checked from public facts alone before any row is read.**

**What a map found: risk and utility at each point, with their Monte Carlo intervals.**

**One repetition of one point: make a release, score it, forget it.**

**The axes.** The risk is the budget itself, or what an attack gains. ε bounds what any intruder can
learn, whatever he knows; a measured risk is what one named attack gained on these rows, and says
nothing of others. The two belong together.

Both attacks are those of `understudy.evaluate`, against people held out: what an intruder
learns about these too, he has learned of the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl
from scipy import stats

from understudy._arrays import Floats
from understudy._parallel import in_chunks, single_threaded
from understudy._validation import (
    require_extra,
    require_function,
    require_list,
    require_mapping,
    require_number,
    require_whole,
)
from understudy.dp.budget import Budget, Number, decimal_up
from understudy.dp.confidential import Internal
from understudy.errors import BudgetError, MethodError, nearest, suggestion
from understudy.evaluate.attack_setup import (
    Scene,
    States,
    area_under_curve,
    over_sets,
    scale_places,
)
from understudy.evaluate.attacks import distances_to_nearest, infer_level
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.evaluate import LOSSES, Pairing, hold_out, losses, rows_in_memory
from understudy.methods.registry import METHODS, configure
from understudy.release.release import Release
from understudy.report.svg import nice_ticks
from understudy.schema import Schema
from understudy.schema.schema import LedgerBinding, given_schema
from understudy.workflow.gates import NOTICE
from understudy.workflow.governance import enter_use
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.request import request_of
from understudy.workflow.synthesize import synthesize

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
    places = [scale_places(column) for column in scene.columns]

    def closeness(targets: States) -> Floats:
        distances = np.mean(
            [distances_to_nearest(targets, rows, places) for rows in scene.sets], axis=0
        )
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


@dataclass(frozen=True)
class Setting:
    """One point of a map.

    Attributes:
        method: its name.
        epsilon: the budget; None for a method without a guarantee, which has none.
    """

    method: str
    epsilon: Fraction | None

    @property
    def words(self) -> str:
        """The budget as text; "" where there is none."""
        return "" if self.epsilon is None else decimal_up(self.epsilon)


@dataclass(frozen=True)
class Design:
    """A map as it was asked for.

    Attributes:
        schema: the public schema.
        methods: names, each once.
        options: method → its options.
        epsilons: budgets, ascending, each once.
        delta: δ of every release.
        repetitions: releases at each point.
        risk: a name of `RISKS`.
        utility: names of `understudy.evaluate.evaluate.LOSSES`.
        holdout: share of the rows that are held out for a measured risk.
        keys: columns that an intruder knows.
        secrets: columns that an intruder wants to know.
        seed: everything random follows from it.
    """

    schema: Schema
    methods: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    epsilons: tuple[Fraction, ...]
    delta: Fraction
    repetitions: int
    risk: str
    utility: tuple[str, ...]
    holdout: float
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    seed: int

    @classmethod
    def of(
        cls,
        schema: Schema | str | Path,
        *,
        methods: Sequence[str],
        epsilons: Sequence[Number],
        delta: Number = 0,
        repetitions: int = 5,
        risk: str = "epsilon",
        utility: Sequence[str] = ("two-way",),
        holdout: float = 0.2,
        keys: Sequence[str] = (),
        secrets: Sequence[str] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int = 0,
    ) -> Design:
        """Check what was asked; arguments as in `tradeoff`.

        Raises:
            SchemaError: not reviewed.
            MethodError: an unknown method, option, risk, loss or column, or a number out of range.
            BudgetError: not a budget.
        """
        schema = given_schema(schema)
        schema.require_reviewed()
        chosen = options or {}
        require_mapping("options", chosen, MethodError, '{"laplace": {"form": "dense"}}')
        require_list("epsilons", epsilons, BudgetError, "[0.1, 1]")
        require_number("holdout", holdout, MethodError, 0.2)
        _require_methods(methods, chosen)
        if not epsilons:
            raise MethodError("A map needs at least one ε.")
        budgets = [Budget.of(epsilon, delta) for epsilon in epsilons]
        _require_known("risk", [risk], RISKS)
        _require_known("utility", utility, LOSSES)
        if "specks" in utility:
            require_extra("evaluate", "The loss specks")
        _require_numbers(repetitions, seed, holdout)
        _require_columns(schema, keys, secrets)
        known = tuple(keys)
        if RISKS[risk].needs_secrets and not known:
            known = tuple(name for name in schema.names if name not in secrets)
        RISKS[risk].require(known, tuple(secrets))
        return cls(
            # Its releases stay inside, and are entered together as one internal use.
            schema=schema.model_copy(update={"ledger": LedgerBinding()}),
            methods=tuple(dict.fromkeys(methods)),
            options={name: dict(given) for name, given in chosen.items()},
            epsilons=tuple(sorted({budget.epsilon for budget in budgets})),
            delta=budgets[0].delta,
            repetitions=repetitions,
            risk=risk,
            utility=tuple(dict.fromkeys(utility)),
            holdout=float(holdout),
            keys=known,
            secrets=tuple(secrets),
            seed=seed,
        )

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All points of the map, method by method."""
        return tuple(
            Setting(method, epsilon)
            for method in self.methods
            for epsilon in (self.epsilons if is_private(method) else (None,))
        )

    def cost(self, setting: Setting) -> Budget | None:
        """Compute what a release of a point may spend at most; None for one without a guarantee."""
        if setting.epsilon is None:
            return None
        return Budget.of(setting.epsilon, self.delta, "gdp")

    def refusal(self, setting: Setting) -> str:
        """Explain why a method cannot be run so, by the schema alone; "" if it can."""
        try:
            request = request_of(
                self.schema,
                epsilon=self.budget(setting),
                delta=self.delta,
                how=SynthesisOptions(
                    method=setting.method, options=self.options.get(setting.method)
                ),
            )
            request.tables()
            request.setup()
        except MethodError as error:
            return str(error)
        return ""

    def budget(self, setting: Setting) -> Fraction:
        """ε that is asked for; a method that has none is asked with any."""
        return Fraction(1) if setting.epsilon is None else setting.epsilon


def is_private(method: str) -> bool:
    """Return whether a method has a guarantee at all, so that ε means something."""
    return method not in METHODS or METHODS[method].private


def _require_methods(methods: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> None:
    if not methods or isinstance(methods, str):
        raise MethodError("A map needs at least one method, as a list of names.")
    for name, given in options.items():
        require_mapping(f"options of {name}", given, MethodError, '{"form": "dense"}')
    for name in methods:
        if name != "auto":
            configure(name, options.get(name, {}))
    for name in options:
        if name not in methods:
            raise MethodError(f"There are options for {name!r}, which is no method of this map.")


def _require_known(what: str, names: Sequence[str], known: Collection[str]) -> None:
    if not names or isinstance(names, str):
        raise MethodError(f"A map needs at least one {what}, as a list of names.")
    for name in names:
        if name not in known:
            hint = suggestion(name, known)
            raise MethodError(f"There is no {what} {name!r}{hint}; known: {', '.join(known)}.")


def _require_numbers(repetitions: int, seed: int, holdout: float) -> None:
    for what, value, least in (("repetitions", repetitions, 1), ("seed", seed, 0)):
        require_whole(what, value, MethodError, least=least)
    if not 0 < holdout < 1:
        raise MethodError("holdout must be a share between 0 and 1; the default is 0.2.")


def _require_columns(schema: Schema, keys: Sequence[str], secrets: Sequence[str]) -> None:
    for what, names in (("keys", keys), ("secrets", secrets)):
        if isinstance(names, str):
            raise MethodError(f"{what} must be a list of columns.")
        for name in names:
            if name not in schema.names:
                close = nearest(name, schema.names)
                hint = f"did you mean {close!r}?" if close else "it is not in the schema."
                raise MethodError(f"{what} names {name!r}, which is no column; {hint}")
    both = [name for name in keys if name in secrets]
    if both:
        raise MethodError(f"{both[0]!r} cannot be both a key and a secret.")


LEVEL = 0.95

STAMP = "internal: compares with confidential data, not for release"
LEAK = (
    "Choosing ε, or a method, by looking at this map is itself a leak outside ε: the choice would "
    "follow from the confidential rows, and no budget pays for it. Choose on public or simulated "
    "rows of the same schema, such as a release of last year."
)
PUBLIC = (
    "Made from rows that were declared public, so it may guide the choice of ε and of a method; "
    "that they are public, or simulated, is the word of whoever drew it."
)
_INTERNAL = {"internal": STAMP.removeprefix("internal: "), "warning": LEAK}


@dataclass(frozen=True)
class Interval:
    """A mean over repetitions, and how exactly it is known.

    Attributes:
        mean: of the repetitions.
        half: half the width of its interval, t · s/√R; None for fewer than two repetitions.
    """

    mean: float
    half: float | None = None

    @classmethod
    def over(cls, values: Sequence[float], level: float = LEVEL) -> Interval:
        """The mean of R repetitions with its t interval, which takes the mean for normal.

        Args:
            values: one per repetition, at least one.
            level: confidence level in (0, 1).

        Example:
            >>> found = Interval.over([1.0, 3.0])
            >>> found.mean, round(found.half, 2)
            (2.0, 12.71)
        """
        n, mean = len(values), float(np.mean(values))
        if n < 2 or not math.isfinite(mean):
            return cls(mean)
        reach = float(stats.t.ppf((1 + level) / 2, n - 1))
        return cls(mean, reach * float(np.std(values, ddof=1)) / math.sqrt(n))

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end; both the mean where there is no interval."""
        half = self.half or 0.0
        return self.mean - half, self.mean + half

    def to_json(self) -> dict[str, float | None]:
        """Plain data; None where something is not known."""
        low, high = self.ends
        known = self.half is not None
        return {
            "mean": self.mean if math.isfinite(self.mean) else None,
            "low": low if known else None,
            "high": high if known else None,
        }


@dataclass(frozen=True)
class TradeoffPoint:
    """One method at one budget.

    Attributes:
        method: its name.
        epsilon: the budget as text; "" of a method without a guarantee.
        risk: the measured risk; None where risk is ε itself, or if it was refused.
        utility: loss → its value, lower is better; empty if it was refused.
        refused: why the method could not be run so; "" if it could.
    """

    method: str
    epsilon: str
    risk: Interval | None
    utility: dict[str, Interval]
    refused: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "epsilon": self.epsilon or None,
            "risk": self.risk.to_json() if self.risk else None,
            "utility": {name: loss.to_json() for name, loss in self.utility.items()},
            "refused": self.refused or None,
        }


@dataclass(frozen=True)
class Tradeoff:
    """An R-U map.

    Attributes:
        title: title of the table.
        public: whether the rows are public, in the word of whoever asked.
        n_rows: rows that each release was made from.
        n_control: rows that were held out.
        methods: names, in order.
        options: method → its options, where some were given.
        delta: δ of every release, as text.
        repetitions: releases at each point.
        risk: a name of `RISKS`.
        utility: names of losses.
        keys: columns that the intruder knows.
        secrets: columns that the intruder wants to know.
        seed: everything random follows from it.
        points: method by method, budgets ascending.
    """

    title: str
    public: bool
    n_rows: int
    n_control: int
    methods: tuple[str, ...]
    options: dict[str, dict[str, Any]]
    delta: str
    repetitions: int
    risk: str
    utility: tuple[str, ...]
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    seed: int
    points: tuple[TradeoffPoint, ...]

    def __repr__(self) -> str:
        """Describe it without a figure."""
        stamp = "public rows" if self.public else "INTERNAL"
        return f"Tradeoff({stamp}, {len(self.points)} points of {', '.join(self.methods)})"

    def of(self, method: str) -> tuple[TradeoffPoint, ...]:
        """Points of one method that could be run."""
        return tuple(point for point in self.points if point.method == method and not point.refused)

    @property
    def refused(self) -> tuple[TradeoffPoint, ...]:
        """Points that could not be run."""
        return tuple(point for point in self.points if point.refused)

    def to_json(self) -> dict[str, Any]:
        """Plain data for machines; stamped internal unless the rows are public."""
        stamp = {"public": PUBLIC} if self.public else _INTERNAL
        named = ("title", "n_rows", "n_control", "delta", "repetitions", "risk", "seed")
        listed = ("methods", "utility", "keys", "secrets")
        return {
            **stamp,
            **{name: getattr(self, name) for name in named},
            **{name: list(getattr(self, name)) for name in listed},
            "options": {name: _plain(given) for name, given in self.options.items()},
            "points": [point.to_json() for point in self.points],
        }


def _plain(options: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}


Task = tuple[Setting, int]
"""A point, and the number of a repetition."""


@dataclass(frozen=True)
class Outcome:
    """The scores of one release.

    Attributes:
        risk: the measured risk; None where risk is ε itself.
        losses: loss → its value.
        refused: why there was no release; "" if there was.
    """

    risk: float | None
    losses: dict[str, float]
    refused: str = ""


@dataclass(frozen=True)
class Parts:
    """The rows of a repetition. CONFIDENTIAL.

    Attributes:
        schema: of the members; a public number of rows is theirs.
        members: rows that the release is made from.
        control: rows that are held out; None if none are.
    """

    schema: Schema
    members: pl.DataFrame = field(repr=False)
    control: pl.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Trial:
    """Rows, and what is asked of them. CONFIDENTIAL.

    Attributes:
        design: what is asked.
        rows: the table.
    """

    design: Design
    rows: pl.DataFrame = field(repr=False)

    def run(self, setting: Setting, repetition: int) -> Outcome:
        """Make one release and score it against the rows it was made from.

        Its noise is seeded: it is never published. Everything random follows from the seed of the
        design, the method, the budget and the number of the repetition; another method or budget
        in the design changes nothing. Members and control are the same for all methods and
        budgets of one repetition, so that these are compared on the same rows.
        """
        design, parts = self.design, self.parts(repetition)
        name = f"{setting.method} {setting.words} {repetition}"
        try:
            release = self._release(parts, setting, _seed(design.seed, "release", name))
        except (MethodError, BudgetError) as error:
            return Outcome(None, {}, str(error))
        pairing = Pairing.of(design.schema, parts.members, release.tables, design.seed)
        risk = self._risk(pairing.comparison, parts.control, _seed(design.seed, "risk", name))
        return Outcome(risk, losses(pairing, design.utility))

    def parts(self, repetition: int) -> Parts:
        """The rows of a repetition: all of them, or members and control if risk is measured."""
        design = self.design
        if RISKS[design.risk].measure is None:
            return Parts(design.schema, self.rows)
        rng = np.random.default_rng(_seed(design.seed, "split", str(repetition)))
        members, control = hold_out(self.rows, design.holdout, rng)
        schema = design.schema
        if schema.rows == "public":
            schema = schema.model_copy(update={"n_rows": members.height})
        return Parts(schema, members, control)

    @cached_property
    def n_rows(self) -> tuple[int, int]:
        """Rows that each release is made from, and rows that are held out."""
        parts = self.parts(0)
        return parts.members.height, 0 if parts.control is None else parts.control.height

    def _risk(
        self, comparison: Comparison, control: pl.DataFrame | None, seed: int
    ) -> float | None:
        if control is None:
            return None
        design = self.design
        scene = scene_of(comparison, control, keys=design.keys, secrets=design.secrets, seed=seed)
        return RISKS[design.risk].of(scene)

    def _release(self, parts: Parts, setting: Setting, seed: int) -> Release:
        return synthesize(
            parts.members,
            parts.schema,
            epsilon=self.design.budget(setting),
            delta=self.design.delta,
            method=setting.method,
            options=self.design.options.get(setting.method),
            insecure_noise_seed=seed,
            allow_nonprivate=True,
            frame="polars",
            progress=_not_ended_early,
        )


def run_some(trial: Trial, tasks: Sequence[Task]) -> list[Outcome]:
    """Some repetitions, with one thread: the same numbers in whatever process."""
    with single_threaded():
        return [trial.run(setting, repetition) for setting, repetition in tasks]


def _not_ended_early(stage: str, _done: int, _total: int) -> None:
    """Ctrl-C ends the map; a method in rounds would take it for a wish to make fewer of them."""
    if stage == NOTICE:
        raise KeyboardInterrupt


def _seed(seed: int, purpose: str, name: str) -> int:
    """A seed of its own for each purpose, 128 bits."""
    sequence = np.random.SeedSequence([seed, *f"{purpose} {name}".encode()])
    return int.from_bytes(sequence.generate_state(4, np.uint32).astype("<u4").tobytes(), "little")


Progress = Callable[[str, int, int], None]

DEFAULT_METHODS = ("marginals", "mst", "privbayes", "independent")
DEFAULT_EPSILONS: tuple[Number, ...] = ("0.1", "0.3", "1", "3", "10")
DEFAULT_UTILITY = ("one-way", "two-way", "specks")
_STAGE = "Making releases and scoring them"


@overload
def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: Literal[True],
    methods: Sequence[str] = ...,
    epsilons: Sequence[Number] = ...,
    delta: Number = ...,
    repetitions: int = ...,
    risk: str = ...,
    utility: Sequence[str] = ...,
    holdout: float = ...,
    keys: Sequence[str] = ...,
    secrets: Sequence[str] = ...,
    options: Mapping[str, Mapping[str, Any]] | None = ...,
    seed: int = ...,
    workers: int = ...,
    ledger: str | Path | None = ...,
    progress: Progress | None = ...,
) -> Tradeoff: ...


@overload
def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: Literal[False] = ...,
    methods: Sequence[str] = ...,
    epsilons: Sequence[Number] = ...,
    delta: Number = ...,
    repetitions: int = ...,
    risk: str = ...,
    utility: Sequence[str] = ...,
    holdout: float = ...,
    keys: Sequence[str] = ...,
    secrets: Sequence[str] = ...,
    options: Mapping[str, Mapping[str, Any]] | None = ...,
    seed: int = ...,
    workers: int = ...,
    ledger: str | Path | None = ...,
    progress: Progress | None = ...,
) -> Internal[Tradeoff]: ...


def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: bool = False,
    methods: Sequence[str] = DEFAULT_METHODS,
    epsilons: Sequence[Number] = DEFAULT_EPSILONS,
    delta: Number = 0,
    repetitions: int = 5,
    risk: str = "epsilon",
    utility: Sequence[str] = DEFAULT_UTILITY,
    holdout: float = 0.2,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    workers: int = 1,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Tradeoff] | Tradeoff:
    """An R-U map of methods over budgets. INTERNAL on confidential rows.

    Choosing ε, or a method, by looking at a map of confidential rows is a leak outside ε. Draw it
    on public or simulated rows of the same schema, such as a release of an earlier year.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder); of units
            with members two by name, which are a row a unit. Held in memory.
        schema: a reviewed schema, or the path of its file.
        public: the rows are public or simulated, so that the map is not internal. Only whoever has
            the rows can know that.
        methods: names in the table of methods, or "auto". One without a guarantee is run once, as
            a point without ε.
        epsilons: ε of the releases.
        delta: δ of the releases; 0 for pure differential privacy.
        repetitions: releases at each point; from two on there are Monte Carlo intervals.
        risk: "epsilon", or a measured one: "attribute" (how much better an intruder guesses the
            secrets of people in the release from their keys than those of people held out) or
            "membership" (how well nearness to the release tells members from people held out).
        utility: losses, lower is better: "one-way", "two-way", "conditional", "specks" or
            "intervals" (`understudy.evaluate.evaluate`).
        holdout: share of the rows that are held out, where risk is measured.
        keys: for "attribute", columns that an intruder knows; all but the secrets if none.
        secrets: for "attribute", columns that he wants to know.
        options: method → its options.
        seed: everything random follows from it, the noise of these releases included, which are
            never published; the number of workers changes nothing.
        workers: processes. With several, a script needs the guard `if __name__ == "__main__":`.
        ledger: that governs the population of the rows, as for `synthesize`; a map of rows that are
            not public is entered there as internal, with the sum of its releases.
        progress: called with a stage, and how much of how much is done.

    Returns:
        The map, as an `Internal` value unless the rows are public. A method that refuses a budget
        or the schema is listed with its reason.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget.
        MethodError: an unknown method, option, risk, loss or column, a number out of range, or no
            method can be run.
        DataError: a structural fault of the data, or too few rows.
        LedgerError: as `synthesize`.
    """
    design = Design.of(
        schema,
        methods=methods,
        epsilons=epsilons,
        delta=delta,
        repetitions=repetitions,
        risk=risk,
        utility=utility,
        holdout=holdout,
        keys=keys,
        secrets=secrets,
        options=options,
        seed=seed,
    )
    require_whole("workers", workers, MethodError, least=1)
    require_function("progress", progress, MethodError)
    refused = {setting: design.refusal(setting) for setting in design.settings}
    if all(refused.values()):
        raise MethodError(next(iter(refused.values())))
    if not public:
        budgets = [design.cost(setting) for setting, reason in refused.items() if not reason]
        private = None if None in budgets else [one for one in budgets if one is not None]
        repeated = None if private is None else private * design.repetitions
        enter_use(given_schema(schema), "map of methods over budgets", repeated, ledger)
    tradeoff = _draw_map(data, design, refused, public=public, workers=workers, progress=progress)
    return tradeoff if public else Internal(tradeoff)


def _draw_map(
    data: object,
    design: Design,
    refused: Mapping[Setting, str],
    *,
    public: bool,
    workers: int,
    progress: Progress | None,
) -> Tradeoff:
    tell = progress or (lambda _stage, _done, _total: None)
    tell("Reading and coding rows", 0, 1)
    rng = np.random.default_rng(_seed(design.seed, "units", ""))
    trial = Trial(design, rows_in_memory(data, design.schema, rng))
    n_rows, n_control = trial.n_rows
    tell("Reading and coding rows", 1, 1)
    tasks = [
        (setting, k)
        for setting in design.settings
        if not refused[setting]
        for k in range(design.repetitions)
    ]
    tell(_STAGE, 0, len(tasks))
    outcomes = in_chunks(
        partial(run_some, trial),
        tasks,
        workers=workers,
        done=lambda done: tell(_STAGE, done, len(tasks)),
        error=MethodError,
    )
    by_setting: dict[Setting, list[Outcome]] = {setting: [] for setting in design.settings}
    for (setting, _), outcome in zip(tasks, outcomes, strict=True):
        by_setting[setting].append(outcome)
    return Tradeoff(
        title=design.schema.title or "Table",
        public=public,
        n_rows=n_rows,
        n_control=n_control,
        methods=design.methods,
        options={name: dict(given) for name, given in design.options.items()},
        delta=decimal_up(design.delta) if design.delta else "0",
        repetitions=design.repetitions,
        risk=design.risk,
        utility=design.utility,
        keys=design.keys,
        secrets=design.secrets,
        seed=design.seed,
        points=tuple(
            _point(setting, refused[setting], repeated) for setting, repeated in by_setting.items()
        ),
    )


def _point(setting: Setting, refused: str, outcomes: Sequence[Outcome]) -> TradeoffPoint:
    """The summary of a point; one repetition that is refused refuses it."""
    reason = refused or next((outcome.refused for outcome in outcomes if outcome.refused), "")
    if reason:
        return TradeoffPoint(setting.method, setting.words, None, {}, reason)
    risks = [outcome.risk for outcome in outcomes if outcome.risk is not None]
    losses = {
        name: Interval.over([outcome.losses[name] for outcome in outcomes])
        for name in outcomes[0].losses
    }
    risk = Interval.over(np.array(risks).tolist()) if risks else None
    return TradeoffPoint(setting.method, setting.words, risk, losses)
