"""Columns of numbers: bounds, bins and spikes on the number line; whole and real ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from understudy.schema.bins import Interval, integer_intervals, real_intervals
from understudy.schema.cell_values import EXACT_INTEGER, Code, number_of, text_of
from understudy.schema.column_base import Declaration, refuse_repeated_code
from understudy.schema.heaps import Heap, HeapAt, Roundings, Steps, fault_of

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
