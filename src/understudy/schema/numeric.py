"""Columns of numbers: bounds, bins and spikes on the number line; whole and real ones.

**Intervals of the number line: public bins, and spikes that are a state of their own.**

**Heaps: numbers that many records share since people round, such as multiples of 1,000.**

`heaps = [1000, 500, 100]` says that incomes are often told in thousands, half thousands or
hundreds. That people round so is public knowledge; how many do is measured. Each number is of one
*class*: that of the first heap on which it lies, else the last class of all. So the classes of
[10, 5] are multiples of 10, odd multiples of 5, and the rest.

A heap need not begin at 0: `{ every = 1, at = 0.99 }` are prices such as 4.99. Columns of time have
heaps in lengths of time: "PT15M" is every quarter of an hour, and { every = "P7D", at =
"2024-01-01" } every Monday.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from understudy.schema.base import (
    CLOSE,
    EXACT_INTEGER,
    Code,
    Declaration,
    Value,
    number_of,
    refuse_repeated_code,
    text_of,
)

MOST_BINS = 10**7
"""Of one column; each is written out, and a schema may come from anybody."""

LARGEST = 1e30
"""Largest real number of a column, and how many times it is as large as the narrowest range."""


@dataclass(frozen=True)
class Interval:
    """A set of numbers that count as one state.

    Attributes:
        low: smallest number of the interval.
        high: largest number; the next bin of a real column begins there.
        label: text for people.
        spike: whether it is one exact value that is kept apart from the bin around it.
    """

    low: float
    high: float
    label: str
    spike: bool = False


@lru_cache(maxsize=4096)  # asked for again whenever a schema's sizes are
def integer_intervals(
    lower: int,
    upper: int,
    bins: int | tuple[int, ...],
    spikes: tuple[int, ...],
    show: Callable[[int], str],
) -> tuple[Interval, ...]:
    """Intervals of the whole numbers lower..upper.

    Args:
        lower: smallest value.
        upper: largest value, included.
        bins: number of bins of (nearly) equal width, or first values of the bins followed by
            `upper`: 0, 5, 10 are the bins 0–4 and 5–10.
        spikes: values that are a state of their own.
        show: text of a whole number (dates are shown as dates).

    Raises:
        ValueError: edges are not increasing from `lower` to `upper`, or a spike is out of range or
            fills a whole bin.
    """
    _check_bounds(lower, upper, allow_equal=True)
    starts = _integer_starts(lower, upper, bins)
    ends = [*(start - 1 for start in starts[1:]), upper]
    _check_spikes(spikes, lower, upper)
    intervals = [Interval(spike, spike, show(spike), spike=True) for spike in spikes]
    for low, high in zip(starts, ends, strict=True):
        if not has_values(low, high, spikes):
            raise ValueError(
                f"bin {show(low)} to {show(high)} holds nothing but spikes; "
                "take them off `spikes`, or widen the bin"
            )
        label = show(low) if low == high else f"{show(low)} to {show(high)}"
        intervals.append(Interval(low, high, label))
    return _in_order(intervals)


def has_values(first: int, last: int, spikes: Collection[float]) -> bool:
    """Return whether a whole number from `first` to `last` is no spike; none is listed."""
    return last - first + 1 > sum(first <= spike <= last for spike in spikes)


def _integer_starts(lower: int, upper: int, bins: int | Sequence[int]) -> list[int]:
    n_values = upper - lower + 1
    if isinstance(bins, int):
        if not 1 <= bins <= n_values:
            raise ValueError(f"bins must lie between 1 and the number of values, {n_values}")
        _require_few(bins)
        return [lower + (n_values * k) // bins for k in range(bins)]
    _check_edges(bins, lower, upper)
    # The last edge closes the last bin; with one value in all, one edge would do.
    return list(bins[:-1])


@lru_cache(maxsize=4096)
def real_intervals(
    lower: float, upper: float, bins: int | tuple[float, ...], spikes: tuple[float, ...]
) -> tuple[Interval, ...]:
    """Intervals [edge, next edge) of the real numbers lower..upper, the last one closed.

    Args:
        lower: smallest value.
        upper: largest value.
        bins: number of bins of equal width, or all edges from `lower` to `upper`.
        spikes: values that are a state of their own, such as the zero of a semicontinuous variable.

    Raises:
        ValueError: bounds reversed or equal, edges not increasing from `lower` to `upper`, spike
            out of range, or numbers whose squares 64 bits may not hold.
    """
    _check_bounds(lower, upper, allow_equal=False)
    if max(-lower, upper) > LARGEST or upper - lower < 1 / LARGEST:
        raise ValueError(
            f"bounds must lie within ±{LARGEST:.0e} and at least {1 / LARGEST:.0e} apart, where "
            "sums of squares can be computed; write the numbers in another unit"
        )
    if isinstance(bins, int):
        if bins < 1:
            raise ValueError("bins must be at least 1")
        _require_few(bins)
        edges = _equal_edges(lower, upper, bins)
    else:
        edges = [float(edge) for edge in bins]
        _check_edges(edges, lower, upper)
    _check_spikes(spikes, lower, upper)
    intervals = [Interval(float(s), float(s), _digits(s), spike=True) for s in spikes]
    for low, high in pairwise(edges):
        closing = "]" if high == edges[-1] else ")"
        intervals.append(Interval(low, high, f"[{_digits(low)}, {_digits(high)}{closing}"))
    return _in_order(intervals)


def _require_few(bins: int) -> None:
    if bins > MOST_BINS:
        raise ValueError(f"bins must be at most {MOST_BINS:,}")


def _equal_edges(lower: float, upper: float, bins: int) -> list[float]:
    edges = [float(edge) for edge in np.linspace(lower, upper, bins + 1)]
    if not all(a < b for a, b in pairwise(edges)):
        raise ValueError(
            "the bins would be narrower than numbers of this size can tell apart; use fewer bins "
            "or other bounds"
        )
    return edges


def _digits(number: float) -> str:
    return f"{number + 0.0:.12g}"  # −0 is written 0


def _in_order(intervals: list[Interval]) -> tuple[Interval, ...]:
    return tuple(sorted(intervals, key=lambda interval: (interval.low, not interval.spike)))


def _check_bounds(lower: float, upper: float, *, allow_equal: bool) -> None:
    if lower > upper or (lower == upper and not allow_equal):
        raise ValueError("lower must be below upper; were the two exchanged?")


def _check_edges(edges: Sequence[float], lower: float, upper: float) -> None:
    increasing = all(a < b for a, b in pairwise(edges))
    if len(edges) < 2 or not increasing or edges[0] != lower or edges[-1] != upper:
        raise ValueError(
            "edges in `bins` must increase from lower to upper, both included; correct them, or "
            "give their number, such as bins = 20"
        )


def _check_spikes(spikes: Sequence[float], lower: float, upper: float) -> None:
    if len(set(spikes)) != len(spikes):
        raise ValueError("a value stands twice among the spikes")
    if any(not lower <= spike <= upper for spike in spikes):
        raise ValueError("every spike must lie between lower and upper")


MOST_HEAPS = 8
_LOOKED_AT = 4096
_ALL = 1.5  # steps of a grid, below which a heap is the grid

Numbers = NDArray[np.float64]


class HeapAt(BaseModel):
    """A heap that does not begin at 0.

    Attributes:
        every: distance of its numbers; of a column of time, a length such as "PT15M" or "P7D".
        at: one of its numbers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    every: Value
    at: Value


Heap = Value | HeapAt


@dataclass(frozen=True)
class Steps:
    """Numbers at equal distances on a column's line.

    Attributes:
        every: distance.
        at: one of them.
    """

    every: float
    at: float

    def nearest(self, numbers: Numbers) -> Numbers:
        """The one next to each number, shape (n,)."""
        return np.asarray(self.at + np.rint((numbers - self.at) / self.every) * self.every)


@dataclass(frozen=True)
class Roundings:
    """The heaps of a column on its line.

    Attributes:
        steps: of each heap, in the order in which they count.
        scale: values of the column's grid per unit; 0 where it has none.

    Example:
        >>> tens = Roundings((Steps(10.0, 0.0), Steps(5.0, 0.0)), 1.0)
        >>> tens.classes(np.array([20.0, 25.0, 27.0])).tolist()
        [0, 1, 2]
    """

    steps: tuple[Steps, ...]
    scale: float

    @property
    def n_classes(self) -> int:
        """One for each heap, and one for the rest."""
        return len(self.steps) + 1

    def classes(self, numbers: Numbers) -> NDArray[np.int64]:
        """Class of each number: the first heap that has it, else the last class; shape (n,).

        What a number's class is follows from the number. One that is as near to a heap as 32 bits
        tell is on it, where numbers have decimals.
        """
        found = np.full(len(numbers), len(self.steps), dtype=np.int64)
        reach = 0.0 if self.scale == 1.0 else CLOSE
        for k in reversed(range(len(self.steps))):
            off = np.abs(numbers - self.steps[k].nearest(numbers))
            near = np.abs(numbers) + abs(self.steps[k].at)
            found[off <= reach * near] = k
        return found

    def among_all(self, low: float, high: float) -> Numbers:
        """Share of each class if every number of a column were as frequent; shape (classes,)."""
        if not self.scale:
            return np.asarray(np.eye(self.n_classes)[-1])
        n_values = int(min(_LOOKED_AT, (high - low) * self.scale + 1))
        numbers = np.round(low * self.scale + np.arange(n_values)) / self.scale
        counts = np.bincount(self.classes(numbers), minlength=self.n_classes)
        return np.asarray(counts / n_values)


def fault_of(roundings: Roundings, bounds: tuple[float, float], entries: tuple[Any, ...]) -> str:
    """Describe what is wrong with heaps, as a sentence without a full stop; "" if nothing is.

    Args:
        roundings: the heaps.
        bounds: of the column.
        entries: as they are declared, for the sentence.
    """
    low, high = bounds
    if len(entries) > MOST_HEAPS:
        return f"has {len(entries)} heaps; at most {MOST_HEAPS} can be told apart"
    for k, entry in enumerate(entries):
        upto = Roundings(roundings.steps[: k + 1], roundings.scale)
        if said := _fault_of_last(upto, low, high):
            named = entry.every if isinstance(entry, HeapAt) else entry
            return f"heap {named!r} {said}"
    return ""


def _fault_of_last(roundings: Roundings, low: float, high: float) -> str:
    """Describe what is wrong with the last heap."""
    step, scale = roundings.steps[-1], roundings.scale
    finest = 0.0 if scale == 1.0 else 4 * CLOSE * max(abs(low), abs(high))
    if not 0 < step.every < np.inf:
        return "must be above 0"
    if step.every <= finest:
        return f"is finer than numbers up to {high:.12g} can be told apart"
    if scale and not _on_grid(step, scale):
        return "does not lie on the values that the column holds"
    if scale and step.every * scale < _ALL:
        return "has every value of the column; take it off"
    if not _has_own(roundings, low, high):
        return (
            "has no number of its own between the bounds; put finer heaps behind coarser ones, and "
            "take off what an earlier one has"
        )
    return ""


def _on_grid(step: Steps, scale: float) -> bool:
    places = np.array([step.every, step.at]) * scale
    return bool((np.abs(places - np.rint(places)) <= 1e-6).all())


@lru_cache(maxsize=1024)  # asked for again whenever a column is made
def _has_own(roundings: Roundings, low: float, high: float) -> bool:
    """Return whether the last heap has a number between the bounds that no earlier one has."""
    last = roundings.steps[-1]
    first = np.ceil((low - last.at) / last.every - 1e-9)
    numbers = last.at + (first + np.arange(_LOOKED_AT)) * last.every
    inside = numbers[(numbers >= low - 1e-9 * abs(low)) & (numbers <= high + 1e-9 * abs(high))]
    return bool((roundings.classes(inside) == len(roundings.steps) - 1).any())


DEFAULT_BINS = 20
ONE_BIN_EACH = 50  # integers with at most this many values get one bin each


class Numeric(Declaration):
    """Bounds, bins and spikes of a column on the number line.

    Attributes:
        lower: smallest value; smaller ones are clipped to it.
        upper: largest value; larger ones are clipped to it.
        bins: a public number of bins of equal width, or the list of public edges from `lower` to
            `upper`.
        spikes: values that many records share exactly (a zero of a semicontinuous variable); each
            has a state of its own.
        heaps: how people round, the coarsest first: [1000, 500] are multiples of 1000, and of 500
            that are none of 1000; { every = 1, at = 0.99 } are 0.99, 1.99, … How many numbers lie
            there is measured by a small table, and so many of the released ones do. Of times,
            lengths such as "PT15M".
    """

    readable: ClassVar[tuple[str, ...]] = ("lower", "upper", "bins", *Declaration.readable)

    heaps: tuple[Heap, ...] = ()

    @model_validator(mode="after")
    def _codes_apart(self) -> Numeric:
        refuse_repeated_code(self.codes)
        low, high = self.bounds
        for code in self.codes:
            place = self.position(code)
            if place is not None and low <= place <= high:
                raise ValueError(
                    f"code {text_of(code)!r} lies between lower and upper, so it cannot be told "
                    "from a value; narrow the bounds or take the code off the list"
                )
        return self

    @model_validator(mode="after")
    def _heaps_fit(self) -> Numeric:
        if self.heaps and self.derived is not None:
            raise ValueError("`heaps` of a derived column follow from its rule; take them off")
        if self.heaps and (fault := fault_of(self.roundings, self.bounds, self.heaps)):
            raise ValueError(f"`heaps`: {fault}")
        return self

    @model_validator(mode="after")
    def _typical_fits(self) -> Numeric:
        typical, (low, high) = getattr(self, "typical", None), self.bounds
        if typical is not None and not low <= typical[0] < typical[1] <= high:
            raise ValueError(
                "`typical` needs two numbers, the lower one first, that lie within the bounds"
            )
        return self

    @property
    def roundings(self) -> Roundings:
        """The heaps, on the number line.

        Raises:
            ValueError: one is no number, or no length of time.
        """
        return Roundings(tuple(self._steps(heap) for heap in self.heaps), self._scale)

    @property
    def _scale(self) -> float:
        """Values per unit of the line; 0 where it has no grid."""
        return 1.0

    def _steps(self, heap: Heap) -> Steps:
        every, at = (heap.every, heap.at) if isinstance(heap, HeapAt) else (heap, None)
        length, start = self._length(every), 0.0 if at is None else self.position(at)
        if length is None:
            raise ValueError(f"`heaps`: {text_of(every)!r} is no {self._length_words}")
        if start is None:
            raise ValueError(f"`heaps`: {text_of(at or '')!r} is no value of the column")
        return Steps(length, start)

    _length_words: ClassVar[str] = "number"

    def _length(self, every: Code) -> float | None:
        """A distance on the line; None if it is none."""
        return number_of(every)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the number line (days and moments: units since 1970-01-01)."""
        raise NotImplementedError

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Ordinary states, in the order of the number line; a spike precedes the bin it is in."""
        raise NotImplementedError

    @property
    def n_ordinary(self) -> int:
        """Number of bins and spikes."""
        return len(self.intervals)

    def position(self, value: Code) -> float | None:
        """Place of a declared value on the number line; None if it has none (text, say)."""
        return number_of(value)

    def _ordinary_labels(self) -> tuple[str, ...]:
        return tuple(interval.label for interval in self.intervals)

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        value = getattr(self, key, None)
        if key == "bins" and isinstance(value, tuple):
            # The outer edges are the bounds, which answer for themselves.
            return [("value", edge) for edge in value[1:-1]]
        if key == "bins":  # a number of bins is no value; the usual one is the same for all rows
            return [(key, value)] if value not in (None, DEFAULT_BINS) else []
        return super()._readings(key)

    @property
    def left_as_drafted(self) -> tuple[str, ...]:
        """Entries in which a value still is one that the draft read, and nothing confirms it.

        A number of bins that follows from the bounds says nothing beyond them.
        """
        follows = getattr(self, "bins", None) == self._usual_bins
        return tuple(k for k in super().left_as_drafted if not (k == "bins" and follows))

    @property
    def _usual_bins(self) -> int:
        """The number of bins that a draft takes, given the bounds alone."""
        return DEFAULT_BINS

    def model_post_init(self, _context: Any, /) -> None:
        """Lay the intervals once, so that bad edges are found when the schema is read."""
        assert self.intervals


class Integer(Numeric):
    """Whole numbers from `lower` to `upper`, both included.

    Attributes:
        typical: between which two numbers some nine in ten of the values lie, by the source; plans
            expect the widths of intervals for it. Nothing else goes by it, and no draft proposes
            it.
    """

    readable: ClassVar[tuple[str, ...]] = ("spikes", "typical", *Numeric.readable)

    kind: Literal["integer"]
    lower: int
    upper: int
    bins: int | tuple[int, ...] | None = None
    spikes: tuple[int, ...] = ()
    typical: tuple[int, int] | None = None

    @field_validator("lower", "upper")
    @classmethod
    def _exact(cls, value: int) -> int:
        if abs(value) > EXACT_INTEGER:
            raise ValueError(
                "must lie within ±2^53; declare identifiers as categorical, or leave them out"
            )
        return value

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return float(self.lower), float(self.upper)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Bins of whole numbers, and spikes."""
        return integer_intervals(self.lower, self.upper, self._bins(), self.spikes, str)

    def _bins(self) -> int | tuple[int, ...]:
        return self._usual_bins if self.bins is None else self.bins

    @property
    def _usual_bins(self) -> int:
        n_values = self.upper - self.lower + 1
        return n_values if n_values <= ONE_BIN_EACH else DEFAULT_BINS


class Continuous(Numeric):
    """Real numbers from `lower` to `upper`.

    Attributes:
        decimals: number of decimals that released values are rounded to.
        typical: between which two numbers some nine in ten of the values lie, by the source; plans
            expect the widths of intervals for it. Nothing else goes by it, and no draft proposes
            it.
    """

    readable: ClassVar[tuple[str, ...]] = ("spikes", "decimals", "typical", *Numeric.readable)

    kind: Literal["continuous"]
    lower: float = Field(allow_inf_nan=False)
    upper: float = Field(allow_inf_nan=False)
    bins: int | tuple[float, ...] = DEFAULT_BINS
    spikes: tuple[float, ...] = ()
    typical: tuple[float, float] | None = None
    decimals: int | None = Field(default=None, ge=0, le=12)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return self.lower, self.upper

    @property
    def _scale(self) -> float:
        return 0.0 if self.decimals is None else 10.0**self.decimals

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Half-open bins (the last one closed), and spikes."""
        return real_intervals(self.lower, self.upper, self.bins, self.spikes)

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        if key == "decimals":  # no value either
            return [] if self.decimals is None else [(key, self.decimals)]
        return super()._readings(key)
