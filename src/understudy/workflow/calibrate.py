"""Weights of synthetic records that meet public totals: post-processing, which costs nothing.

A release with design weights keeps its guarantee whole, where weights that were adjusted to the
records would not (`understudy.schema.design`). What adjusted weights are for, that tables of the
sample agree with the register, can be had afterwards: the released records are weighted anew so
that they meet totals that are public anyway.

Raking (Deming & Stephan 1940): of all weights that meet the totals, those nearest to the weights d
of the records in relative entropy, w_i = d_i·exp(x_i'λ) (Deville, Särndal & Sautory 1993). λ solves
Σ w_i x_i = T by Newton's method.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from understudy._arrays import Floats
from understudy._validation import kind_of
from understudy.errors import InferenceError, suggestion
from understudy.release.release import Release, given_release

_ROUNDS: Final = 100
_CLOSE: Final = 1e-8  # of a total, within which it is met
_MOST_CHANGE: Final = 50.0  # largest size of x'λ that is tried


@dataclass(frozen=True)
class PublicTotals:
    """Public totals, and where they come from.

    Attributes:
        source: a register or another publication; never the confidential rows.
        levels: column → level → number of units in the population.
        sums: column of numbers → its sum in the population.
    """

    source: str
    levels: Mapping[str, Mapping[str, float]]
    sums: Mapping[str, float]

    @classmethod
    def load(cls, place: str | Path) -> PublicTotals:
        """Read totals from a TOML file: `source`, and the tables `[levels.COLUMN]` and `[sums]`.

        Raises:
            InferenceError: it cannot be read, names no source, or has other entries.
        """
        try:
            content = tomllib.loads(Path(place).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no TOML"
            raise InferenceError(f"The totals {str(place)!r} cannot be read: {reason}.") from None
        return cls.of(content)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> PublicTotals:
        """The totals in plain data.

        Raises:
            InferenceError: there is no source, or another entry or value than there can be.
        """
        known = ("source", "levels", "sums")
        if other := [name for name in content if name not in known]:
            raise InferenceError(
                f"Totals have no entry {other[0]!r}{suggestion(other[0], known)}; they have "
                f"{', '.join(known)}."
            )
        source, levels, sums = (content.get(name) for name in known)
        if not isinstance(source, str) or not source.strip():
            raise InferenceError(
                "Totals need their source, such as source = 'register of residents, 2024'."
            )
        levels, sums = levels or {}, sums or {}
        numbers = [*sums.values(), *(n for own in levels.values() for n in own.values())]
        if not numbers or not all(isinstance(n, int | float) and np.isfinite(n) for n in numbers):
            raise InferenceError(
                "Totals need numbers, as in [levels.region] north = 1200, or [sums] age = 40000."
            )
        return cls(source, levels, sums)


def calibrate(
    records: Release | str | Path | pd.DataFrame,
    totals: str | Path | Mapping[str, Any],
    *,
    weight: str = "",
    into: str = "calibrated_weight",
) -> pd.DataFrame:
    """Weigh synthetic records so that they meet public totals; nothing is spent.

    Args:
        records: a release or its folder, whose first set is taken; or records of one.
        totals: TOML file with `source`, `[levels.COLUMN]` (level = number of units in the
            population) and `[sums]` (column = sum in the population); or the same as a mapping.
        weight: column to begin with; that of the release's schema if "", else 1 for each record.
        into: name of the new column.

    Returns:
        The records with a column of weights w, all above 0, that meet each total to 1e-8 of it.

    Raises:
        InferenceError: totals without a source, of columns or levels that the records do not have,
            or that no positive weights meet.
        ReleaseError: the folder is not a release.
    """
    if isinstance(totals, Mapping):
        wanted = PublicTotals.of(totals)
    elif isinstance(totals, str | Path):
        wanted = PublicTotals.load(totals)
    else:
        raise InferenceError(f"Totals are a file or a mapping, not {kind_of(totals)}.")
    frame, own = _records_of(records)
    weight = weight or own
    if into in frame.columns:
        raise InferenceError(f"The records have a column {into!r} already; name another by into.")
    if weight and weight not in frame.columns:
        raise InferenceError(f"The records have no column {weight!r} to begin with.")
    start = np.ones(len(frame))
    if weight:
        start = pd.to_numeric(frame[weight], errors="coerce").to_numpy(np.float64)
        start = np.nan_to_num(start)
        if (start < 0).any() or not start.any():
            raise InferenceError(f"The column {weight!r} has no weights above 0.")
    return frame.assign(**{into: _rake(*_constraints(frame, wanted), start)})


def _records_of(records: object) -> tuple[pd.DataFrame, str]:
    """The records, and the column of weights that their schema declares."""
    if isinstance(records, pd.DataFrame):
        return records, ""
    release = given_release(records)
    first = release.sets[0]
    frame = first if isinstance(first, pd.DataFrame) else release.tables[0].to_pandas()
    return frame, release.schema.design.weight


def _constraints(frame: pd.DataFrame, wanted: PublicTotals) -> tuple[Floats, Floats]:
    """Return what each record adds to each total, shape (n, k), and the totals, shape (k,)."""
    columns: list[Floats] = []
    aims: list[float] = []
    for name in (*wanted.levels, *wanted.sums):
        if name not in frame.columns:
            raise InferenceError(
                f"There are totals of {name!r}, and the records have no such column"
                f"{suggestion(name, [*map(str, frame.columns)])}."
            )
    for name, numbers in wanted.levels.items():
        values = frame[name].astype(str).to_numpy()
        for level, total in numbers.items():
            columns.append((values == level).astype(np.float64))
            aims.append(float(total))
            if total < 0 or (total > 0 and not columns[-1].any()):
                raise InferenceError(
                    f"There is a total of the level {level!r} of {name}, and no record has it; "
                    "leave it out, or join it with another."
                )
    for name, total in wanted.sums.items():
        numbers_of = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64)
        columns.append(np.nan_to_num(numbers_of))
        aims.append(float(total))
    return np.column_stack(columns), np.array(aims)


def _rake(x: Floats, totals: Floats, start: Floats) -> Floats:
    """Weights d·exp(x'λ) that meet totals."""
    size = np.maximum(np.abs(x).max(axis=0), 1e-300)
    scaled, aims = x / size, totals / size
    slack = np.maximum(np.abs(aims), 1.0)
    power = np.zeros(x.shape[1])

    def weights_at(own: Floats) -> Floats:
        return np.asarray(start * np.exp(np.clip(scaled @ own, -_MOST_CHANGE, _MOST_CHANGE)))

    def miss(own: Floats) -> float:
        return float(np.abs((scaled.T @ weights_at(own) - aims) / slack).max())

    for _ in range(_ROUNDS):
        weights = weights_at(power)
        off = aims - scaled.T @ weights
        if np.abs(off / slack).max() <= _CLOSE:
            return weights
        # Totals of all levels of two columns have the same sum: the matrix is not of full rank.
        step = np.linalg.pinv((scaled.T * weights) @ scaled, hermitian=True) @ off
        length, before = 1.0, miss(power)
        while length > 1e-6 and not miss(power + length * step) < before:
            length /= 2
        power += length * step
    raise InferenceError(
        "No positive weights of these records meet the totals together: do totals of two columns "
        "have the same sum, and are all levels there?"
    )
