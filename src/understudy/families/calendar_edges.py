"""Edges of bins on the clock and the calendar: minutes, hours, days, weeks, months and years."""

from __future__ import annotations

import datetime

from understudy.schema import Date, Datetime, Time
from understudy.schema.calendar_columns import EPOCH
from understudy.schema.time_texts import DAY_SECONDS

_CLOCK_STEPS = (60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, DAY_SECONDS)
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000)


def calendar_edges(column: Date | Datetime | Time, most: int) -> list[float]:
    """Places on which minutes, hours, days or longer periods begin: the shortest that fit."""
    low, high = (int(bound) for bound in column.bounds)
    per_day = DAY_SECONDS // column.unit_seconds
    for seconds in _CLOCK_STEPS:
        step = seconds // column.unit_seconds
        if step and (high - low) / step < most:
            return [float(k * step) for k in range(low // step + 1, high // step + 1)]
    days = _calendar(low // per_day, high // per_day, most)
    return [day * per_day for day in days]


def _calendar(low: int, high: int, most: int) -> list[float]:
    """Days on which weeks, months or longer periods begin: the shortest that fit."""
    if (high - low) / 7 < most:
        monday = low + (7 - datetime.date.fromordinal(low + EPOCH).weekday()) % 7
        return [float(day) for day in range(monday, high + 1, 7)]
    first, last = (_month(datetime.date.fromordinal(day + EPOCH)) for day in (low, high))
    months = next((m for m in _MONTHS if (last - first) / m < most), _MONTHS[-1])
    begin = [k for k in range(first + 1, last + 1) if k % months == 0]
    return [float(datetime.date(k // 12, k % 12 + 1, 1).toordinal() - EPOCH) for k in begin]


def _month(day: datetime.date) -> int:
    return day.year * 12 + day.month - 1
