"""Means of numbers, kept to what second moments measured of their sums.

A release that is to answer questions measures the sum of each column of numbers, cut off at limits
(`understudy.features.scores`). The counts of its states tell that sum as well, with noise of their
own. Both are put together by precision. Let f be the place of a state between the limits, 0 to 1;
d what the measured sum of places exceeds that of the estimated records by; s the variance of the
measured one, and V that of the estimated one. Then records get weights exp(θf), with the θ that
raises their sum by V/(V + s) of d. How many there are stays, and what hardly holds anybody gets
hardly anybody.

* V is that of counts of states that hold records. Where runs of states were counted by themselves,
  a run has the mean by precision of both counts, at the middle place of its records. No count is
  taken to be further off than by as much as it seems to be.
* s is that of the noise, of how many records have no number, and of where numbers lie within
  states: the mean of each is as likely anywhere between its ends.

Post-processing of released values. Columns with records out of domain are left out: these count as
if they lay in the middle. So are columns of one value, whose sum the number of records tells.

Source: exponential tilting, the weights nearest to even ones of all with a given mean, Csiszár
(1975), Annals of Probability 3(1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.dp.released import Noise, NoisyProducts, NoisyTable
from understudy.features.grids import Numeric
from understudy.features.scores import FeatureMap
from understudy.methods.base import Beside
from understudy.methods.noisy_marginals import Lines, StateCounts, fine_tables, noise_of
from understudy.models.number_line import LEAST_HELD
from understudy.schema import NUMERIC, Schema

_STEEPEST = 50.0  # of θ


@dataclass(frozen=True)
class NumberSum:
    """The measured sum of a column of numbers, cut off at limits that count as −1 and as 1.

    Attributes:
        limits: lower and upper.
        value: sum over all records with a number, in records.
        noise: as it was drawn.
        weight: of sums, by which that is divided.
    """

    limits: tuple[float, float]
    value: float
    noise: Noise
    weight: float

    @property
    def stddev(self) -> float:
        """Of the noise in the sum."""
        return self.noise.stddev / self.weight

    def resample(self, rng: np.random.Generator) -> NumberSum:
        """The same with fresh noise on top."""
        return replace(self, value=self.value + float(noise_of(self.noise, (), rng)) / self.weight)


Sums = Mapping[str, NumberSum]
"""Column → its measured sum."""


def number_sums(beside: Beside, schema: Schema) -> dict[str, NumberSum]:
    """The measured sums of columns of numbers; of several of a column the most precise one.

    Args:
        beside: what was measured beside tables; moments of some records alone tell nothing of all.
        schema: in which it was measured.
    """
    found: dict[str, NumberSum] = {}
    widths: dict[str, float] = {}
    for one in beside:
        if not isinstance(one, NoisyProducts) or one.complete:
            continue
        scores = FeatureMap.of(schema, one.columns, pure=one.pure, limits=one.limits)
        _, sums, _, _, _ = scores.order.split(one.values / scores.factors)
        for place in scores.numbers:
            name = scores.each[place].column
            low, high = scores.limits[name]
            if low == high:
                continue
            own = NumberSum((low, high), float(sums[place]), one.noise, float(scores.weight))
            width = own.stddev * (high - low)
            if width < widths.get(name, np.inf):
                found[name], widths[name] = own, width
    return found


def moved_by_sums(
    schema: Schema,
    marginals: Sequence[NoisyTable],
    lines: Lines,
    masses: Mapping[str, Floats],
    sums: Sums,
) -> dict[str, Floats]:
    """Records that measured sums add to each state of columns of numbers; each sums to 0.

    Args:
        schema: states not merged.
        marginals: tables, among them one-way ones, some also over runs of their states.
        lines: of the columns that have one.
        masses: estimated records in each state, by these alone.
        sums: as measured.
    """
    moved, tables = {}, fine_tables(marginals)
    for name, measured in sums.items():
        column, table = schema.columns[name], tables.get(name)
        if table is None or table.strays or name not in masses:
            continue
        assert isinstance(column, NUMERIC)
        held = masses[name] > LEAST_HELD
        deviations = StateCounts.of(table, held, lines.get(name, ())).deviations
        runs = [m for m in marginals if m.columns == (name,) and m.groups]
        over = (np.array(runs[0].groups[name]), runs[0].stddev) if runs else None
        moved[name] = _shift_by_sum(column, masses[name], deviations, over, measured)
    return moved


def _shift_by_sum(
    column: Numeric,
    masses: Floats,
    deviations: Floats,
    over: tuple[Integers, float] | None,
    measured: NumberSum,
) -> Floats:
    """Records that a measured sum adds to each state of one column, shape (states,)."""
    k, (low, high) = column.n_ordinary, measured.limits
    own, moved = np.maximum(masses[:k], 0.0), np.zeros(len(masses))
    runs, variances = np.arange(len(masses)), deviations**2
    total = float(own.sum())
    if total < LEAST_HELD:
        return moved
    if over is not None:
        runs, spread = over
        each = np.asarray(np.bincount(runs, variances), dtype=np.float64)
        variances = each * spread**2 / (each + spread**2)
    ends = np.array([(one.low, one.high) for one in column.intervals], dtype=np.float64)
    ends = (np.clip(ends, low, high) - low) / (high - low)
    places, reach = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
    mean = float(own @ places) / total
    held = np.bincount(runs[:k], own, len(variances))
    off = np.bincount(runs[:k], own * (places - mean), len(variances))
    doubt = float((off / np.where(held > 0, held, 1.0)) ** 2 @ np.minimum(variances, held**2))
    absent = float(np.delete(variances, np.unique(runs[:k])).sum())
    noise = measured.stddev**2 / 4 + absent * (mean - 0.5) ** 2
    noise += float(((own * reach) ** 2).sum()) / 3
    part = doubt / (doubt + noise) if doubt + noise > 0 else 0.0
    lacking = (measured.value + total) / 2 - total * mean
    moved[:k] = _tilt(own, places, total * mean + part * lacking) - own
    return moved


def _tilt(masses: Floats, places: Floats, wanted: float) -> Floats:
    """The same records by weights exp(θ·place), with such a sum of places as far as θ allows."""
    from scipy.optimize import brentq  # takes long, and not every release needs it

    def tilt(slope: float) -> Floats:
        weighted = masses * np.exp(slope * (places - 0.5))
        return np.asarray(weighted * (masses.sum() / weighted.sum()))

    def shortfall(slope: float) -> float:
        return wanted - float(tilt(slope) @ places)

    if shortfall(-_STEEPEST) <= 0:
        return tilt(-_STEEPEST)
    if shortfall(_STEEPEST) >= 0:
        return tilt(_STEEPEST)
    return tilt(brentq(shortfall, -_STEEPEST, _STEEPEST))
