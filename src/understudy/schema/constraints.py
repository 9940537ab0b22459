"""Structural zeros: combinations of values that cannot occur, whoever is in the table.

A rule names, for two or more columns, the values that cannot stand together::

    [[forbidden]]
    where = { voted = "yes", registered = "no" }
    source = "law: only registered persons can vote"

Values of numeric columns are given as a range over whole bins, `{ lower = 0, upper = 15 }`.

**Relations between columns that always hold: inequalities and hierarchies, declared by people.**

    [[relations]]
    inequality = "start <= end"
    source = "a stay cannot end before it begins"

    [[relations]]
    hierarchy = ["county", "state"]
    within = { North = ["a", "b"], South = ["c"] }

They are facts about everybody, as structural zeros are, and are kept in the same way: each becomes
*boxes* of states that cannot stand together, so that every method that keeps to forbidden
combinations keeps to relations (`relation_boxes`). A value that is absent satisfies every relation.

**What relations forbid, as boxes of states; and inequalities one behind the other.**

An inequality s ≤ e forbids, at each threshold t, the states of s from t on beside those of e below
t. The lower ends of the bins of s suffice, and of those that rule out the same states of e the
first: no more boxes than the column with fewer states has states. Finer bins keep the thresholds of
the declared ones, so that a relation costs a model no more cells than the declared bins do. Numbers
of two bins that overlap are put in order when values are drawn (`release.decoding`).

Where s ≤ m and m ≤ e are both declared, s ≤ e follows wherever m has a value, and has boxes of its
own: then any cell that is allowed holds numbers that keep to all inequalities.

**The values that states of an ordered column hold: smallest and largest, and the step between.**
"""

from __future__ import annotations

import ast
import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from understudy.errors import SchemaError, suggestion
from understudy.schema.base import Code, Value, same_value, text_of, time_as_text
from understudy.schema.columns import NUMERIC, Cells, Column, Ordinal
from understudy.schema.expressions import Expression, level_state
from understudy.schema.numeric import Continuous, Integer, Interval
from understudy.schema.temporal import Calendar, Date, Datetime, Duration, Time

_ENDS = {Date: "dates", Datetime: "dates and times", Time: "times of day", Duration: "durations"}
_SUBJECT = "A forbidden combination "
_LONGEST = 80  # of a rule's text in a message


End = Annotated[int | float | datetime.date | str, BeforeValidator(time_as_text)]


class Range(BaseModel):
    """Values from `lower` to `upper`.

    Whole numbers and times include `upper`; real numbers do not, unless it is the column's upper
    bound.

    Attributes:
        lower: first value; an edge of a bin.
        upper: last value; an edge of a bin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    lower: End
    upper: End


class States(BaseModel):
    """States of a column by their numbers: of rules that are made here, not written in a file.

    Attributes:
        states: numbers, ascending.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    states: tuple[int, ...]


Selector = (
    Range | SkipJsonSchema[States] | Annotated[tuple[Value, ...], Field(min_length=1)] | Value
)


class Rule(BaseModel):
    """One forbidden combination: a record that fits every entry of `where` cannot exist.

    Attributes:
        where: column name → the values concerned (one, a list, or a range).
        source: why it cannot occur (law, questionnaire, arithmetic).
        reviewed: somebody has confirmed that it holds for everyone, not only for these rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    where: dict[str, Selector] = Field(min_length=1)
    source: str = ""
    reviewed: bool = False

    @classmethod
    def of_states(cls, box: Mapping[str, frozenset[int]]) -> Rule:
        """The rule that some states cannot stand together."""
        where = {name: States(states=tuple(sorted(states))) for name, states in box.items()}
        return cls(where=where, reviewed=True)

    @property
    def text(self) -> str:
        """The rule in words, for people."""
        return " and ".join(f"{name} = {_selector_text(sel)}" for name, sel in self.where.items())

    def states(self, columns: dict[str, Column]) -> dict[str, frozenset[int]]:
        """State numbers that the rule names in each of its columns.

        Raises:
            SchemaError: an unknown column or value, or a range that cuts a bin.
        """
        return {name: self._states_of(name, columns) for name in self.where}

    def faults(self, columns: dict[str, Column]) -> Iterator[str]:
        """List what in the rule does not fit the columns, one sentence for each of its columns."""
        text = self.text if len(self.text) <= _LONGEST else f"{self.text[:_LONGEST]}…"
        for name in self.where:
            try:
                self._states_of(name, columns)
            except SchemaError as error:
                yield f"forbidden combination {text!r} {str(error).removeprefix(_SUBJECT)}"

    def _states_of(self, name: str, columns: dict[str, Column]) -> frozenset[int]:
        if name not in columns:
            raise SchemaError(
                f"A forbidden combination names the column {name!r}, which the schema does not "
                f"have{suggestion(name, columns)}; correct the name or remove the rule."
            )
        column, selector = columns[name], self.where[name]
        if isinstance(selector, States):
            if not all(0 <= state < column.size for state in selector.states):
                raise SchemaError(
                    f"A forbidden combination names states of {name!r} that there are not; name "
                    "its values instead."
                )
            return frozenset(selector.states)
        if isinstance(selector, Range):
            return _range_states(name, column, selector)
        values = selector if isinstance(selector, tuple) else (selector,)
        return frozenset(_state_of(name, column, value) for value in values)


def _selector_text(selector: Selector) -> str:
    if isinstance(selector, Range):
        return f"{text_of(selector.lower)} to {text_of(selector.upper)}"
    if isinstance(selector, States):
        return f"{len(selector.states)} states"
    if isinstance(selector, tuple):
        return " or ".join(text_of(value) or "(empty)" for value in selector)
    return text_of(selector) or "(empty)"


def _state_of(name: str, column: Column, value: Code) -> int:
    """The state that a value names: by its text, else as a number, else as a bin of its own."""
    levels = () if isinstance(column, NUMERIC) else column.levels
    stated = (*levels, *column.codes)
    first = column.n_ordinary - len(levels)
    texts = [text_of(one) for one in stated]
    if (text := text_of(value)) in texts:
        return first + texts.index(text)
    for k, one in enumerate(stated):
        if same_value(one, value):
            return first + k
    if isinstance(column, NUMERIC):
        place = column.position(value)
        for k, interval in enumerate(column.intervals):
            if interval.low == interval.high == place:
                return k
        raise SchemaError(
            f"A forbidden combination names one value of {name!r} that has no bin of "
            "its own; give a range over whole bins, {lower = …, upper = …}, or "
            "declare the value among the spikes."
        )
    raise SchemaError(
        f"A forbidden combination names the value {text_of(value)!r} of {name!r}, which is neither "
        f"among its levels nor among its codes{suggestion(text_of(value), column.labels)}; add it "
        "or correct it."
    )


def _range_states(name: str, column: Column, limits: Range) -> frozenset[int]:
    if not isinstance(column, NUMERIC):
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r}, which has levels; "
            "list the levels."
        )
    low, high = _place(name, column, limits.lower), _place(name, column, limits.upper)
    whole = isinstance(column, Integer | Calendar)
    inside = set()
    for k, interval in enumerate(column.intervals):
        if _within(interval, low, high, whole=whole, last=column.bounds[1]):
            inside.add(k)
        elif _touches(interval, low, high, whole=whole):
            raise SchemaError(
                f"A forbidden combination cuts the bin {interval.label} of {name!r} "
                "in two; let the range begin and end at edges of bins."
            )
    if not inside:
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r} that holds no bin; "
            "correct its lower and upper."
        )
    return frozenset(inside)


def _place(name: str, column: Integer | Continuous | Calendar, end: Code) -> float:
    place = column.position(end)
    if place is None:
        kind = _ENDS.get(type(column), "numbers")
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r} whose ends are not "
            f"{kind}; correct its lower and upper."
        )
    return place


def _within(interval: Interval, low: float, high: float, *, whole: bool, last: float) -> bool:
    if interval.low < low:
        return False
    if interval.spike and not whole:
        return interval.low < high or high == last == interval.low
    return interval.high <= high


def _touches(interval: Interval, low: float, high: float, *, whole: bool) -> bool:
    if whole:
        return interval.low <= high and interval.high >= low
    if interval.spike:
        return False
    return interval.low < high and interval.high > low


_SHOWN: Final = 'one of two columns, "start <= end" or "start < end"'


class Relation(BaseModel):
    """A relation between columns that holds for everybody: an inequality, or a hierarchy.

    Attributes:
        inequality: "start <= end" or "start < end", of two numeric columns, two dates or two
            ordinal columns with the same levels.
        at: where models keep to an inequality, as numbers or dates; by default the lower ends of
            the bins of the smaller side. Released records keep to it everywhere.
        hierarchy: two columns with levels, the finer one first.
        within: level of the second column → the levels of the first that lie in it; each lies in
            exactly one.
        source: why it holds (law, questionnaire, arithmetic).
        reviewed: somebody has confirmed that it holds for everyone, not only for these rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    inequality: str = ""
    at: tuple[Value, ...] = ()
    hierarchy: tuple[str, ...] = ()
    within: dict[str, tuple[Value, ...]] = {}
    source: str = ""
    reviewed: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.inequality) == bool(self.hierarchy or self.within):
            raise ValueError("needs either an inequality, or a hierarchy with within")
        if self.inequality:
            _sides(self.inequality)
        elif len(self.hierarchy) != 2 or not self.within or self.at:
            raise ValueError('a hierarchy names two columns, ["county", "state"], and needs within')
        return self

    @property
    def text(self) -> str:
        """The relation in words, for people."""
        return self.inequality or " lies within ".join(self.hierarchy)

    @property
    def columns(self) -> tuple[str, str]:
        """The two columns: the smaller and the larger, or the finer and the coarser."""
        if self.inequality:
            return _sides(self.inequality)[:2]
        return self.hierarchy[0], self.hierarchy[1]

    @property
    def is_strict(self) -> bool:
        """True if the two sides of an inequality differ."""
        return bool(self.inequality) and _sides(self.inequality)[2]

    def faults(self, columns: Mapping[str, Column]) -> Iterator[str]:
        """List what in it does not fit the columns, a sentence each.

        Args:
            columns: that are measured.
        """
        place = f"relation {self.text!r} "
        unknown = [name for name in self.columns if name not in columns]
        for name in unknown:
            hint = suggestion(name, columns)
            yield f"{place}names {name!r}, which is no column that is measured{hint}"
        if not unknown and self.columns[0] == self.columns[1]:
            yield f"{place}names one column twice; name two"
        elif not unknown:
            sides = columns[self.columns[0]], columns[self.columns[1]]
            found = _order_faults(self, *sides) if self.inequality else _fault_within(self, *sides)
            yield from (f"{place}{fault}" for fault in found)

    def places(self, column: Column) -> tuple[float, ...]:
        """`at` on the number line of the smaller side."""
        if not isinstance(column, NUMERIC):
            return tuple(float(level_state(self.columns[0], column, value)) for value in self.at)
        found = (column.position(value) for value in self.at)
        return tuple(place for place in found if place is not None)


def _sides(text: str) -> tuple[str, str, bool]:
    """The smaller column, the larger, and whether they differ."""
    try:
        tree = Expression.read(text).tree
    except ValueError:
        raise ValueError(f"the inequality cannot be read; write {_SHOWN}") from None
    sides = (tree.left, tree.comparators[0]) if isinstance(tree, ast.Compare) else ()
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Gt | ast.GtE):
        sides = sides[::-1]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    assert isinstance(tree, ast.Compare) or not names
    if len(names) < 2 or isinstance(tree.ops[0], ast.Eq | ast.NotEq):  # type: ignore[attr-defined]
        raise ValueError(f"an inequality is {_SHOWN}")
    return names[0], names[1], isinstance(tree.ops[0], ast.Lt | ast.Gt)  # type: ignore[attr-defined]


def _order_faults(relation: Relation, left: Column, right: Column) -> Iterator[str]:
    """List what keeps two columns from being compared."""
    if isinstance(left, Ordinal) and isinstance(right, Ordinal):
        if tuple(map(text_of, left.levels)) != tuple(map(text_of, right.levels)):
            yield "compares ordinal columns with other levels; give both the same, in one order"
    elif not (isinstance(left, NUMERIC) and isinstance(right, NUMERIC)):
        yield "compares columns that are not both numeric, dates, or ordinal"
    elif _line(left) != _line(right):
        yield _other_lines(left, right)
    elif any(left.position(value) is None for value in relation.at):
        yield "has an entry in `at` that is no number or date; correct it"


def _line(column: Column) -> tuple[object, ...]:
    """Return what columns share if their places can be compared."""
    return column.line if isinstance(column, Calendar) else ()


def _other_lines(left: Column, right: Column) -> str:
    kinds = [one.kind if isinstance(one, Calendar) else "number" for one in (left, right)]
    if kinds[0] == kinds[1]:
        return "compares columns of another resolution or timezone; give both the same"
    one, other = sorted(kinds, key=lambda kind: kind == "number")
    return f"compares a {one} with a {other}"


def _fault_within(relation: Relation, child: Column, parent: Column) -> Iterator[str]:
    """Describe what is wrong with the levels of a hierarchy."""
    if isinstance(child, NUMERIC) or isinstance(parent, NUMERIC):
        yield "is a hierarchy, and one of its columns has no levels"
        return
    found: list[int] = []
    try:
        for level, values in relation.within.items():
            level_state(relation.hierarchy[1], parent, level)
            found += [level_state(relation.hierarchy[0], child, value) for value in values]
    except ValueError as error:
        yield str(error)
        return
    if len(set(found)) < len(found):
        yield f"has a level of {relation.hierarchy[0]!r} twice in `within`; keep one of them"
    elif len(found) < child.n_ordinary:
        lacking = min(set(range(child.n_ordinary)) - set(found))
        yield (
            f"does not say where {child.labels[lacking]!r} of {relation.hierarchy[0]!r} lies; add "
            "each level to one entry of `within`"
        )


@dataclass(frozen=True, eq=False)
class Grid:
    """Possible values of the ordinary states of a column, on the number line.

    Attributes:
        lows: smallest value of each ordinary state; ordinal levels count 0, 1, 2, …
        highs: largest value, that state included.
        scale: values per unit; 0 where numbers have no grid.

    Example:
        >>> from understudy.schema.columns import Integer
        >>> grid = Grid.of(Integer(kind="integer", lower=0, upper=9, bins=2, spikes=(0,)))
        >>> grid.lows.tolist(), grid.highs.tolist()
        ([0.0, 1.0, 5.0], [0.0, 4.0, 9.0])
    """

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, column: Column) -> Grid:
        """Of a numeric column, or of one with levels."""
        if not isinstance(column, NUMERIC):
            places = np.arange(column.n_ordinary, dtype=np.float64)
            return cls(places, places, 1.0)
        decimals = column.decimals if isinstance(column, Continuous) else 0
        scale = 0.0 if decimals is None else 10.0**decimals
        last = column.bounds[1] if isinstance(column, Continuous) else -math.inf
        return _grid_of(column.intervals, scale, last)

    def from_on(self, values: ArrayLike, *, strict: bool) -> NDArray[np.float64]:
        """The smallest value of the grid from each number on, or above it if strict."""
        places = np.asarray(values, dtype=np.float64)
        if not self.scale:
            return np.nextafter(places, np.inf) if strict else places
        # Numbers of the grid are quotients, so that one is found again exactly.
        near = np.round(places * self.scale)
        below = near / self.scale <= places if strict else near / self.scale < places
        return np.asarray((near + below) / self.scale)

    def up_to(self, values: ArrayLike, *, strict: bool) -> NDArray[np.float64]:
        """The largest value of the grid up to each number, or below it if strict."""
        return -self.from_on(-np.asarray(values, dtype=np.float64), strict=strict)

    def draw(
        self, lows: NDArray[np.float64], highs: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """A value of the grid between each low and high, both included and on it; shape (n,)."""
        shares = rng.random(len(lows))
        if not self.scale:
            return np.clip(lows + shares * (highs - lows), lows, highs)
        first, last = np.round(lows * self.scale), np.round(highs * self.scale)
        places = np.minimum(first + np.floor(shares * (last - first + 1)), last)
        return np.asarray(places / self.scale)


@lru_cache(maxsize=256)  # asked for again for every set, and every threshold
def _grid_of(intervals: tuple[Interval, ...], scale: float, last: float) -> Grid:
    """Bins end before `high`, but for the one that ends at `last` or above."""
    spikes = {one.low for one in intervals if one.spike}
    ends = []
    for one in intervals:
        low, high = float(one.low), float(one.high)
        if not one.spike:
            low, high = _close_bin(low, high, scale, spikes, is_open=high < last)
        ends.append((low, high))
    lows, highs = np.array(ends, dtype=np.float64).T
    for array in (lows, highs):
        array.setflags(write=False)
    return Grid(lows, highs, scale)


def _close_bin(
    low: float, high: float, scale: float, spikes: set[float], *, is_open: bool
) -> tuple[float, float]:
    """The first and the last value of a bin; its middle where it holds none of the grid."""
    if not scale:
        return low, float(np.nextafter(high, low)) if is_open else high
    first = math.ceil(low * scale - 1e-9 * max(1.0, abs(low * scale)))
    last = math.floor(high * scale + 1e-9 * max(1.0, abs(high * scale)))
    taken = {round(spike * scale) for spike in spikes}
    last -= is_open and last / scale >= high
    while first in taken and first < last:
        first += 1
    while last in taken and last > first:
        last -= 1
    if last < first:
        return (low + high) / 2, (low + high) / 2
    return first / scale, last / scale


Box = dict[str, frozenset[int]]
"""Column → states; a record that has one of them in each column cannot exist."""

_MOST_CHAINS: Final = 64
_MOST_STEPS: Final = 500  # of one staircase


@dataclass(frozen=True)
class Chain:
    """Inequalities one behind the other, from the smallest column to the largest.

    Attributes:
        names: columns, ascending.
        strict: whether two neighbours differ; one fewer.
        at: thresholds of the first inequality.
    """

    names: tuple[str, ...]
    strict: tuple[bool, ...]
    at: tuple[float, ...] = ()


def chains(relations: Sequence[Relation], columns: Mapping[str, Column]) -> tuple[Chain, ...]:
    """Every chain of inequalities, single ones included.

    Args:
        relations: of the schema.
        columns: that they name.

    Raises:
        ValueError: inequalities in a circle, or too many chains.
    """
    single = [
        Chain(one.columns, (one.is_strict,), one.places(columns[one.columns[0]]))
        for one in relations
        if one.inequality
    ]
    found, ahead = list(single), list(single)
    while ahead:
        chain = ahead.pop()
        for step in single:
            if step.names[0] == chain.names[-1]:
                if step.names[1] in chain.names:
                    raise ValueError(
                        f"the inequalities of {step.names[0]!r} run in a circle; take one out"
                    )
                longer = Chain(
                    (*chain.names, step.names[1]), (*chain.strict, *step.strict), chain.at
                )
                found.append(longer)
                ahead.append(longer)
        if len(found) > _MOST_CHAINS:
            raise ValueError(
                f"the inequalities form more than {_MOST_CHAINS} chains; take some out"
            )
    return tuple(found)


def relation_boxes(
    relations: Sequence[Relation], columns: Mapping[str, Column]
) -> tuple[tuple[str, Box], ...]:
    """The boxes that relations forbid, each with the text of its relation.

    Args:
        relations: that fit the columns.
        columns: that they name, in any bins.

    Raises:
        ValueError: see `chains`.
    """
    found: list[tuple[str, Box]] = []
    for relation in relations:
        if relation.hierarchy:
            found += [(relation.text, box) for box in _boxes_within(relation, columns)]
    for chain in chains(relations, columns):
        text = "".join(
            f"{name}{' < ' if strict else ' <= '}"
            for name, strict in zip(chain.names, chain.strict, strict=False)
        )
        found += [(text + chain.names[-1], box) for box in _boxes_of(chain, columns)]
    return tuple(found)


def _boxes_within(relation: Relation, columns: Mapping[str, Column]) -> Iterator[Box]:
    """For each level of the coarser column, the finer ones in it beside all others of it."""
    finer, coarser = relation.hierarchy
    whole = range(columns[coarser].n_ordinary)
    for level, values in relation.within.items():
        inside = level_state(coarser, columns[coarser], level)
        states = frozenset(level_state(finer, columns[finer], value) for value in values)
        others = frozenset(whole) - {inside}
        if states and others:
            yield {finer: states, coarser: others}


def _boxes_of(chain: Chain, columns: Mapping[str, Column]) -> Iterator[Box]:
    """The staircase of the first and the last column; those between must have values."""
    first, last = (Grid.of(columns[chain.names[k]]) for k in (0, -1))
    between = {
        name: frozenset(range(columns[name].n_ordinary))
        for name in chain.names[1:-1]
        if columns[name].codes
    }
    places = np.unique(chain.at or first.lows)
    least = places
    for name, apart in zip(chain.names[1:], chain.strict, strict=True):
        least = Grid.of(columns[name]).from_on(least, strict=apart)
    n_below = np.searchsorted(np.sort(last.highs), least, side="left")
    kept = [k for n, k in zip(*np.unique(n_below, return_index=True), strict=True) if n]
    if len(kept) > _MOST_STEPS:
        raise ValueError(
            f"the inequality of {chain.names[0]!r} and {chain.names[-1]!r} has {len(kept):,} steps "
            f"by the bins of these columns; name at most {_MOST_STEPS:,} in `at`"
        )
    for k in kept:
        large = frozenset(np.flatnonzero(first.lows >= places[k]).tolist())
        small = frozenset(np.flatnonzero(last.highs < least[k]).tolist())
        if large:
            yield {chain.names[0]: large, chain.names[-1]: small, **between}


def rebin_relations(
    relations: Sequence[Relation], before: Mapping[str, Column], after: Mapping[str, Column]
) -> tuple[Relation, ...]:
    """The relations of a table in other bins; finer ones keep the thresholds of the former.

    Args:
        relations: that fit the columns.
        before: the columns as they were.
        after: the same in other bins.
    """
    kept = []
    for one in relations:
        if one.inequality and not one.at:
            old, new = (_thresholds(one, columns) for columns in (before, after))
            finer = 0 < len(old) < len(new)
            kept.append(one.model_copy(update={"at": old}) if finer else one)
        else:
            kept.append(one)
    return tuple(kept)


def _thresholds(relation: Relation, columns: Mapping[str, Column]) -> tuple[Code, ...]:
    """Return where the steps of the staircase are, as the first column writes them."""
    name = relation.columns[0]
    chain = Chain(relation.columns, (relation.is_strict,))
    lows = Grid.of(columns[name]).lows
    steps = (float(lows[sorted(box[name])].min()) for box in _boxes_of(chain, columns))
    column = columns[name]
    return tuple(_write_place(column, step) for step in steps)


def _write_place(column: Column, place: float) -> Code:
    """A place on the number line as a schema writes it."""
    if isinstance(column, Calendar):
        return column.entry_at(int(place))
    if isinstance(column, Ordinal):
        return column.levels[int(place)]
    return int(place) if isinstance(column, Integer) else place


def breaks(
    relation: Relation, columns: Mapping[str, Column], cells: Mapping[str, Cells]
) -> NDArray[np.bool_]:
    """Find the records that break a relation; one with an absent value breaks none.

    Args:
        relation: that fits the columns.
        columns: that are measured.
        cells: of its two columns, of n records each.

    Returns:
        Shape (n,).
    """
    one, other = relation.columns
    if relation.inequality and isinstance(columns[one], NUMERIC):
        small, large = cells[one].numbers, cells[other].numbers
        return small >= large if relation.is_strict else small > large
    broken = np.zeros(len(cells[one].states), dtype=np.bool_)
    for _, box in relation_boxes((relation,), columns):
        broken |= np.all([np.isin(cells[name].states, sorted(box[name])) for name in box], axis=0)
    return broken
