"""Waves: releases of the same people over time, what changed between them, and what stayed.

Each wave is a release of its own, with noise of its own, so the noise of two waves is independent.
Sampling errors are not: the same people answer, and how their answers go together over time is what
no release of one wave tells. For a change d = q₂ - q₁ with noise variances n₁², n₂² and sampling
variances s₁², s₂² its variance is

    n₁² + n₂² + s₁² + s₂² - 2 Cov,   -s₁s₂ ≤ Cov ≤ s₁s₂,

so n₁² + n₂² + (s₁ + s₂)² bounds it whatever the dependence (Cauchy–Schwarz), which is the default
here (`dependence="any"`). Where people who lie above the mean tend to do so again, as in nearly
every panel, Cov ≥ 0 and n₁² + n₂² + s₁² + s₂² bounds it (`dependence="not negative"`); that is also
the variance for waves of different people. A mean over waves of what did not change has the
variance Σ w²n² + (Σ w s)² at most: more waves take noise away, and no sampling error of the same
people.

Ends of intervals that are not symmetric are joined side by side (Zou & Donner 2008, "Construction
of confidence limits about effect measures", Statistics in Medicine 27, eq. 5, with the terms above
in the place of independent ones); bounds on bias by bins add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.analysis import NO_INFORMATION, Analysis
from understudy.inference.combining import require_level
from understudy.inference.refusals import RefusedError
from understudy.release.release import Release, given_release

Dependence = Literal["any", "not negative"]


@dataclass(frozen=True)
class Side:
    """The reach of an interval to one side of its estimates, and the parts of that reach.

    Attributes:
        noise: by privacy noise and synthesis, shape (k,).
        sampling: by sampling, shape (k,).
        bias: bound by bins, shape (k,).
    """

    noise: Floats
    sampling: Floats
    bias: Floats

    @classmethod
    def of(cls, reach: Floats, share: Floats, bias: Floats) -> Side:
        """Divide a reach by the share of the variance that is noise; an unknown share is sampling.

        Args:
            reach: from the estimate to the end of its interval, shape (k,).
            share: of the variance that is noise, shape (k,).
            bias: part of the reach, shape (k,).
        """
        bias = np.where(np.isfinite(reach), bias, np.inf)
        inner = np.maximum(np.where(np.isfinite(bias), reach - np.nan_to_num(bias), 0.0), 0.0)
        known = np.clip(np.nan_to_num(share), 0, 1)
        return cls(inner * np.sqrt(known), inner * np.sqrt(1 - known), bias)


def shown_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as they are shown: an interval without an end says nothing.

    Args:
        frame: with a column of estimates, and `lower` and `upper`.
    """
    shown = frame.map(lambda value: f"{value:.4g}")
    shown.loc[~np.isfinite(frame).all(axis=1), ["lower", "upper"]] = NO_INFORMATION, ""
    return shown


@dataclass(frozen=True)
class Waves:
    """One question to every wave, its changes, and its mean over waves.

    Attributes:
        kind: of the question.
        formula: of what.
        each: its answer in every wave, in order.
        names: quantities that all of them have.
        dependence: what is assumed of sampling errors over time.
        level: confidence level.
    """

    kind: str
    formula: str
    each: tuple[Analysis, ...]
    names: tuple[str, ...]
    dependence: Dependence
    level: float

    @property
    def changes(self) -> pd.DataFrame:
        """Each change from wave to wave, and from the first to the last.

        One row per quantity and step: `change`, `lower`, `upper`; indexed by term, `from` and `to`.
        """
        steps = list(pairwise(range(len(self.each))))
        if len(self.each) > 2:
            steps.append((0, len(self.each) - 1))
        rows = [row for first, last in steps for row in self._list_changes(first, last)]
        return pd.DataFrame(rows).set_index(["term", "from", "to"])

    @property
    def pooled(self) -> pd.DataFrame:
        """The mean over waves of each quantity, for one that did not change.

        One row per quantity: `estimate`, `lower`, `upper`. Waves weigh by their precision.
        """
        parts = [self._parts(wave) for wave in range(len(self.each))]
        estimates = np.stack([estimate for estimate, _, _ in parts])
        width = np.stack([low.noise**2 + low.sampling**2 for _, low, _ in parts])
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.where(width > 0, 1 / width, 1e300)
        weights = weights / weights.sum(axis=0)
        found = (weights * estimates).sum(axis=0)
        ends = [
            self._mean_reach([part[side] for part in parts], weights)  # type: ignore[misc]
            for side in (1, 2)
        ]
        return pd.DataFrame(
            {"estimate": found, "lower": found - ends[0], "upper": found + ends[1]},
            index=pd.Index(self.names, name="term"),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "formula": self.formula,
            "dependence": self.dependence,
            "level": self.level,
            "waves": [analysis.to_json() for analysis in self.each],
            "changes": self.changes.reset_index().to_dict(orient="records"),
            "pooled": self.pooled.reset_index().to_dict(orient="records"),
        }

    @property
    def assumed(self) -> str:
        """On what intervals of changes rest, in a sentence."""
        if self.dependence == "any":
            return "Intervals of changes hold however sampling errors of the waves go together."
        return (
            "Intervals of changes hold if sampling errors do not go against each other over time."
        )

    def __str__(self) -> str:
        """Changes, and the mean over waves, as tables."""
        return (
            f"{self.each[0].quantity} over {len(self.each)} waves, {100 * self.level:g} % "
            f"intervals.\n{self.assumed}\n\nChanges\n{shown_intervals(self.changes)}\n\n"
            f"Mean over waves, of what did not change\n{shown_intervals(self.pooled)}"
        )

    def _parts(self, wave: int) -> tuple[Floats, Side, Side]:
        """Estimates of a wave, in the common order, and how far its intervals reach down and up."""
        pooled = self.each[wave].pooled
        low, high = pooled.interval(self.level)
        at = [pooled.names.index(name) for name in self.names]
        estimate, share = pooled.estimate[at], pooled.synthesis_share[at]
        bias, lean = pooled.bias[at], pooled.lean[at]
        down, up = estimate - low[at], high[at] - estimate
        return estimate, Side.of(down, share, bias - lean), Side.of(up, share, bias + lean)

    def _list_changes(self, first: int, last: int) -> list[dict[str, Any]]:
        one, one_down, one_up = self._parts(first)
        two, two_down, two_up = self._parts(last)
        change = two - one
        low, high = change - self._reach(two_down, one_up), change + self._reach(two_up, one_down)
        return [
            {
                **{"term": name, "from": first + 1, "to": last + 1},
                **{"change": change[j], "lower": low[j], "upper": high[j]},
            }
            for j, name in enumerate(self.names)
        ]

    def _reach(self, one: Side, other: Side) -> Floats:
        sampling = (
            (one.sampling + other.sampling) ** 2
            if self.dependence == "any"
            else one.sampling**2 + other.sampling**2
        )
        return np.asarray(np.sqrt(one.noise**2 + other.noise**2 + sampling) + one.bias + other.bias)

    def _mean_reach(self, sides: Sequence[Side], weights: Floats) -> Floats:
        noise = sum(w**2 * side.noise**2 for w, side in zip(weights, sides, strict=True))
        sampling = sum(w * side.sampling for w, side in zip(weights, sides, strict=True))
        bias = sum(w * side.bias for w, side in zip(weights, sides, strict=True))
        return np.asarray(np.sqrt(noise + sampling**2) + bias)


def waves(
    releases: Sequence[Release | str | Path],
    kind: str,
    formula: str,
    *,
    level: float = 0.95,
    dependence: Dependence = "any",
) -> Waves:
    """Ask every wave one question; see what changed, and what the waves say together.

    Args:
        releases: of the same people at several times, in order; each made with a budget of its own.
        kind: as `analyze` takes it.
        formula: as `analyze` takes it.
        level: confidence level in (0, 1).
        dependence: of sampling errors over time: "any", or "not negative".

    Raises:
        InferenceError: fewer than two waves, one that refuses the question, waves without a
            quantity in common, or waves of unlike neighbours.
        ReleaseError: a folder that is not a release.
    """
    from understudy.inference.analyze import analyze_release

    require_level(level)
    if dependence not in ("any", "not negative"):
        raise InferenceError('dependence is "any" or "not negative".')
    if isinstance(releases, str | Path) or len(releases) < 2:
        raise InferenceError("Waves are at least two releases, in the order of time.")
    loaded = [given_release(release) for release in releases]
    if any(one.tables[0].equals(two.tables[0]) for one, two in combinations(loaded, 2)):
        raise InferenceError(
            "Two of these are one release, as it was or amended, so that they share their noise; "
            "give each wave once."
        )
    each = []
    for number, release in enumerate(loaded, start=1):
        try:
            each.append(analyze_release(release, kind, formula, level=level))
        except RefusedError as error:
            reason = f"wave {number} does not answer: {error.reason}"
            raise RefusedError(error.code, reason, error.advice, anyway=False) from None
        except InferenceError as error:
            raise InferenceError(f"Wave {number} does not answer: {error}") from None
    cut = dict.fromkeys(name for analysis in each for name in analysis.cut_off)
    limits = [
        [analysis.cut_off.get(name, release.schema.columns[name].bounds) for name in cut]  # type: ignore[union-attr]
        for analysis, release in zip(each, loaded, strict=True)
    ]
    if any(one != limits[0] for one in limits):
        raise InferenceError(
            f"The waves cut {' and '.join(cut)} off at different limits, so they have no quantity "
            "in common; make later ones with like=, the first release, and they take its limits."
        )
    first, *others = (analysis.pooled.names for analysis in each)
    common = tuple(name for name in first if all(name in names for names in others))
    if not common:
        raise InferenceError("The waves have no quantity in common; ask one that all of them have.")
    return Waves(kind, formula, tuple(each), common, dependence, level)
