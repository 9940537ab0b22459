"""More records of a release, drawn from the model that its sets were drawn from.

The model is a function of what was released (`understudy.workflow.analyze.model_of`), so that
whoever has the folder draws from it as often as they like: no row is near, and nothing is spent.
For the same reason it brings nothing new. However many records are drawn, they know what the noisy
measurements know; a mean over a million of them has the error of those.

Records are drawn in batches. Of each batch those are kept that fit the condition, which is drawing
from the model given the condition; where a model can be given states
(`understudy.graphical.conditioning`) most of them fit. A batch has at least `LEAST` records, since
numbers are spread over bins and runs for all records of a table together, and a handful would not
do.

**A condition on records that are drawn from a released model: read, and told of each record.**

It is written as expressions, which must all hold (`understudy.schema.expressions`)::

    where=["sex == 'f'", "age >= 30 and income / hours > 20", "stay > 'P3D'"]

or column by column::

    where={"sex": "f", "age": (30, 40), "region": ["North", "West"]}

A list names values, one of which the record has; a pair is from the first to the last, ends
included, and None is no end. A value that is absent fits no expression and no pair, and a list that
names its code. Derived columns may be named as others are.
"""

from __future__ import annotations

import ast
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Flags
from understudy._validation import kind_of, require_whole
from understudy.dp.mechanism import Form
from understudy.errors import MethodError, suggestion
from understudy.graphical.conditioning import Evidence, condition_on
from understudy.methods.registry import configure
from understudy.models.counted_members import Counts
from understudy.models.model import Model, impossible
from understudy.release.decoding import (
    FrameKind,
    add_identifiers,
    assemble_table,
    cells_of,
    require_frame,
    to_frame,
)
from understudy.release.release import Release, given_release
from understudy.release.sets import PART_ROWS
from understudy.schema import NUMERIC, Column, Ordinal, Schema, is_ordered
from understudy.schema.base import Code, same_value, text_of
from understudy.schema.columns import Cells
from understudy.schema.expressions import Expression, faults_of, times_as_places, values_of
from understudy.workflow.analyze import model_of, rebuildable, request_again
from understudy.workflow.numbers import Placing, place_numbers, placings_of
from understudy.workflow.request import Request

Span = tuple[float, float]

_ANYWHERE: Final = (-math.inf, math.inf)

_EXAMPLE = "{'sex': 'f', 'age': (30, 40)}, or an expression such as \"age >= 30\""


_UNCOUNTED: Final = (
    "The minimum count of the release holds in its own sets, and not in these records."
)


@dataclass(frozen=True)
class Demand:
    """The values of one column that a condition asks for.

    Attributes:
        fits: which records have it, given the column.
        spans: of a numeric column, between which places its number then lies; any of them.
    """

    fits: Callable[[Cells], Flags]
    spans: tuple[Span, ...] = (_ANYWHERE,)

    def possible(self, column: Column) -> Flags:
        """States in which a record may have it, shape (states,)."""
        every = np.arange(column.size)
        if not isinstance(column, NUMERIC):
            return self.fits(Cells(every, np.empty(0)))
        found = self.fits(Cells(every, np.full(column.size, np.nan)))  # the codes of absence
        for k, one in enumerate(column.intervals):
            found[k] = any(one.low <= high and one.high >= low for low, high in self.spans)
        return found


@dataclass(frozen=True)
class Condition:
    """A condition on drawn records.

    Attributes:
        schema: of the release.
        expressions: all of which must hold.
        demands: of single columns, by name, which must be met as well.
    """

    schema: Schema
    expressions: tuple[Expression, ...] = ()
    demands: Mapping[str, Demand] = field(default_factory=dict)

    @classmethod
    def of(cls, where: object, schema: Schema) -> Condition:
        """Read a condition; None is none.

        Raises:
            MethodError: it is none, or names what the schema does not have.
        """
        if where is None:
            return cls(schema)
        if isinstance(where, str):
            return cls(schema, (_expression(where, schema),))
        if isinstance(where, Mapping):
            _require_known([*where], schema)
            asked = {n: _demand(n, schema.stated[n], wanted) for n, wanted in where.items()}
            return cls(schema, (), asked)
        if isinstance(where, Iterable):
            return cls(schema, tuple(_expression(text, schema) for text in where))
        raise MethodError(f"where must be {_EXAMPLE}, not {kind_of(where)}.")

    @property
    def text(self) -> str:
        """The condition in a sentence."""
        named = [f"“{one.text}”" for one in self.expressions]
        return " and ".join(named) or f"the condition on {', '.join(self.demands)}"

    def holds(self, cells: Mapping[str, Cells]) -> Flags:
        """Mark records that fit.

        Args:
            cells: all declared columns, of n records each.

        Returns:
            Shape (n,).
        """
        columns = self.schema.stated
        fit = np.ones(len(next(iter(cells.values())).states), dtype=np.bool_)
        for name, demand in self.demands.items():
            fit &= demand.fits(cells[name])
        for one in self.expressions:
            numeric = {name for name in one.names if isinstance(columns[name], NUMERIC)}
            numbers = {name: cells[name].numbers for name in numeric}
            states = {n: (columns[n], cells[n].states) for n in one.names if n not in numeric}
            fit &= values_of(one, numbers, states) == 1
        return fit

    @property
    def evidence(self) -> Evidence:
        """States outside of which no record fits, by place of a measured column.

        Numbers that inequalities put in order may leave their bin, so their columns say nothing.
        """
        moved = {n for one in self.schema.relations if one.inequality for n in one.columns}
        found: dict[int, Flags] = {}
        for j, (name, column) in enumerate(self.schema.columns.items()):
            if name in moved and isinstance(column, NUMERIC):
                continue
            told = [demand for one, demand in self._single() if one == name]
            masks = [demand.possible(column) for demand in told]
            if masks and not np.all(masks):
                found[j] = np.logical_and.reduce(masks)
        return found

    def _single(self) -> Iterator[tuple[str, Demand]]:
        """Collect the demands on single columns."""
        yield from self.demands.items()
        for one in self.expressions:
            for part in _parts(one.tree):
                said = Expression(one.text, part)
                if isinstance(part, ast.Compare) and len(said.names) == 1:
                    (name,) = said.names
                    yield name, _read_comparison(name, self.schema.stated[name], part)


def _require_known(names: list[Any], schema: Schema) -> None:
    for name in names:
        if name not in schema.stated:
            close = suggestion(name, schema.stated)
            raise MethodError(f"where names {name!r}, which is no column{close}.")


def _expression(text: object, schema: Schema) -> Expression:
    if not isinstance(text, str):
        raise MethodError(f"where must be {_EXAMPLE}, not a list with {kind_of(text)}.")
    try:
        found = Expression.read(times_as_places(text, schema.stated))
        faults = list(faults_of(found, schema.stated))
    except ValueError as error:
        faults = [str(error)]
    if faults:
        raise MethodError(f"The condition {text[:80]!r} cannot be used: {faults[0]}.")
    if not found.is_truth:
        raise MethodError(f"The condition {text[:80]!r} says neither yes nor no; compare it.")
    if not found.names:
        raise MethodError(f"The condition {text[:80]!r} names no column.")
    return found


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """List the parts that & joins at the top."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        yield from _parts(tree.left)
        yield from _parts(tree.right)
    else:
        yield tree


def _read_comparison(name: str, column: Column, part: ast.Compare) -> Demand:
    """A comparison that names one column."""
    said = Expression(name, part)

    def fits(cells: Cells) -> Flags:
        if isinstance(column, NUMERIC):
            return np.asarray(values_of(said, {name: cells.numbers}, {}) == 1)
        return np.asarray(values_of(said, {}, {name: (column, cells.states)}) == 1)

    left, right, op = part.left, part.comparators[0], type(part.ops[0])
    if isinstance(left, ast.Constant):
        left, right, op = right, left, _TURNED.get(op, op)
    if not (isinstance(left, ast.Name) and isinstance(right, ast.Constant) and op in _SPANS):
        return Demand(fits)
    if not isinstance(column, NUMERIC):
        return Demand(fits)
    return Demand(fits, (_SPANS[op](float(right.value)),))  # type: ignore[arg-type]


_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""What a comparison is with its sides exchanged."""
_SPANS: Final[dict[type[ast.cmpop], Callable[[float], Span]]] = {
    ast.Eq: lambda place: (place, place),
    ast.Lt: lambda place: (-math.inf, place),
    ast.LtE: lambda place: (-math.inf, place),
    ast.Gt: lambda place: (place, math.inf),
    ast.GtE: lambda place: (place, math.inf),
}


def _demand(name: str, column: Column, wanted: object) -> Demand:
    """Read the demand on one column."""
    if isinstance(wanted, tuple):
        return _demand_between(name, column, wanted)
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping)
    values = [*wanted] if several else [wanted]  # type: ignore[misc]  # an Iterable, as was asked
    if not values:
        raise MethodError(f"where lists no value of {name!r}, so that no record fits; name one.")
    for value in values:
        _require_value(name, value)
    each = [_equal(name, column, "" if value is None else value) for value in values]
    return Demand(
        lambda cells: np.logical_or.reduce([one.fits(cells) for one in each]),
        tuple(span for one in each for span in one.spans),
    )


def _equal(name: str, column: Column, value: Any) -> Demand:
    """One value, or a code of absence."""
    levels: tuple[Code, ...] = () if isinstance(column, NUMERIC) else column.levels
    for values, first in ((levels, 0), (column.codes, column.n_ordinary)):
        for state, one in enumerate(values, start=first):
            if same_value(one, value):
                return Demand(partial(_in_state, state), ())
    if value == "":
        raise MethodError(
            f"where asks for an absent value of {name!r}, whose codes do not hold an empty one."
        )
    if not isinstance(column, NUMERIC):
        known = [text_of(level) for level in levels]
        raise MethodError(
            f"where asks for {text_of(value)!r} of {name!r}, which is not one of its values"
            f"{suggestion(text_of(value), known)}."
        )
    place = _place(name, column, value)
    return Demand(lambda cells: cells.numbers == place, ((place, place),))


def _in_state(state: int, cells: Cells) -> Flags:
    return np.asarray(cells.states == state)


def _demand_between(name: str, column: Column, wanted: tuple[Any, ...]) -> Demand:
    """From one value to another."""
    if len(wanted) != 2 or not is_ordered(column):
        raise MethodError(
            f"where gives {name!r} a tuple, which stands for a range of numbers, dates or ordered "
            "levels, (first, last); give a list of values instead."
        )
    first, last = wanted
    low = -math.inf if first is None else _place(name, column, first)
    high = math.inf if last is None else _place(name, column, last)
    if low > high:
        raise MethodError(f"where gives {name!r} a range that ends before it begins; turn it.")

    def fits(cells: Cells) -> Flags:
        places = cells.numbers
        if not isinstance(column, NUMERIC):
            places = np.where(cells.states < column.n_ordinary, cells.states, np.nan)
        return np.asarray((places >= low) & (places <= high))

    return Demand(fits, ((low, high),))


def _require_value(name: str, value: object) -> None:
    """Refuse what is no value of any column."""
    if not (value is None or isinstance(value, bool | int | float | str | date | np.generic)):
        raise MethodError(
            f"where must give {name!r} a value, a list of values or a range (first, last), not "
            f"{kind_of(value)}."
        )


def _place(name: str, column: Column, value: Any) -> float:
    """Place of a value on the number line, or among ordered levels."""
    _require_value(name, value)
    if isinstance(column, Ordinal):
        for k, level in enumerate(column.levels):
            if same_value(level, value):
                return float(k)
        raise MethodError(f"where asks for {text_of(value)!r} of {name!r}, which is no level.")
    assert isinstance(column, NUMERIC)
    place = column.position(value)
    if place is None:
        example = "a date such as 2020-12-31" if column.kind == "date" else "a number"
        raise MethodError(f"where must give {name!r} {example}, not {kind_of(value)}.")
    return place


LEAST: Final = 2**14
RAREST: Final = 10_000
"""Of so many records drawn, at least one must fit the condition."""
_TRIED: Final = 2**20
"""Records that are drawn before that is judged."""


@dataclass(frozen=True, eq=False)
class ReleasedModel:
    """The model behind a release, made again from it.

    Attributes:
        release: the release.
        model: what its sets were drawn from.
        places: how numbers are placed in bins, by column.
    """

    release: Release
    model: Model
    places: Mapping[str, Placing]

    @classmethod
    def of(cls, release: Release) -> ReleasedModel:
        """Make it again.

        Raises:
            MethodError: the release does not hold it; says why, and which methods leave one.
        """
        manifest, schema = release.manifest, release.schema
        model = None
        if manifest.method in rebuildable():
            model = model_of(release, manifest.sets if manifest.sets_kind == "split" else 1)
        if model is None:
            raise MethodError(_refusal(manifest.method, why_not(request_again(release))))
        method = configure(manifest.method, manifest.options)
        rows = float(manifest.n_rows), manifest.inference.rows_stddev
        places = placings_of(release.behind_sets, schema, rows, method)
        whole = model.sample(min(max(manifest.n_rows, LEAST), _TRIED), np.random.default_rng(0))
        at = {name: j for j, name in enumerate(schema.names)}
        settled = {name: own.settle(whole.states[at[name]]) for name, own in places.items()}
        return cls(release, model, settled)

    @property
    def note(self) -> str:
        """Note that goes with drawn records, in two sentences or three."""
        promise = self.release.guarantee.brief
        seeded = "NOT private (seeded noise), " if not self.release.manifest.secure else ""
        return (
            f"Synthetic records drawn from the model of a release ({self.release.manifest.method}; "
            f"{seeded}{promise}). They are the same information as the release, and make no "
            "estimate more exact."
            + (f" {_UNCOUNTED}" if self.release.manifest.minimum_count is not None else "")
        )

    def frame(
        self, n: int, where: object = None, seed: int | None = None, kind: FrameKind | None = None
    ) -> Any:
        """Records as a data frame; arguments and errors are those of `sample`."""
        parts = [*self.parts(n, where, seed)]
        return self._attach_note(pl.concat(parts), kind or self.release.frame)

    def parts(
        self, n: int, where: object = None, seed: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Records in parts, none too long to hold; arguments and errors are those of `sample`."""
        require_whole("n", n, MethodError, least=0)
        if seed is not None:
            require_whole("seed", seed, MethodError, least=0)
        condition = Condition.of(where, self.release.schema)
        model = self._condition_model(condition)
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
        return self._draw_batches(n, condition, model, rng)

    def _condition_model(self, condition: Condition) -> Model:
        """The model, told what it can be told of a condition.

        Raises:
            MethodError: no record fits.
        """
        evidence = condition.evidence
        if any(not mask.any() for mask in evidence.values()):
            raise MethodError(f"No value that the schema allows fits {condition.text}; widen it.")
        domain = self.release.schema.domain
        ones = [np.ones(size) * evidence.get(j, True) for j, size in enumerate(domain.sizes)]
        if not domain.has_weight(ones):
            raise MethodError(
                f"The schema forbids every record that fits {condition.text}; widen it."
            )
        model = condition_on(self.model, evidence)
        if model is None:
            raise MethodError(
                f"The model of the release has no record that fits {condition.text}; widen it."
            )
        return model

    def _draw_batches(
        self, n: int, condition: Condition, model: Model, rng: np.random.Generator
    ) -> Iterator[pl.DataFrame]:
        """Batches until there are enough."""
        schema = self.release.schema
        left, tried, found = n, 0, 0
        while True:
            size = int(np.clip(1.1 * left * max(tried, 1) / max(found, 1), LEAST, PART_ROWS))
            cells = self._batch(size, condition, model, rng)
            fitting = np.flatnonzero(condition.holds(cells))
            tried, found = tried + size, found + len(fitting)
            yield add_identifiers(
                assemble_table(_take_rows(cells, fitting[:left]), schema), schema, n - left
            )
            left -= min(left, len(fitting))
            if not left:
                return
            if tried >= _TRIED and found * RAREST < tried:
                raise MethodError(
                    f"Of {tried:,} records drawn from the model {found:,} fit {condition.text}, "
                    f"fewer than one in {RAREST:,}; widen it."
                )

    def _batch(
        self, size: int, condition: Condition, model: Model, rng: np.random.Generator
    ) -> dict[str, Cells]:
        """Records in random order, but for those whose states do not fit."""
        schema = self.release.schema
        drawn = model.sample(size, rng)
        values = place_numbers(self.places, schema, drawn, rng)
        fit = np.ones(size, dtype=np.bool_)
        fit[impossible(schema.domain, drawn.states)] = False
        counts = Counts.of(schema)
        if counts is not None:
            fit &= counts.agree(drawn.states)
        for j, mask in condition.evidence.items():
            fit &= mask[drawn.states[j]]
        rows = rng.permutation(np.flatnonzero(fit))
        kept = {name: numbers[rows] for name, numbers in values.items()}
        return cells_of([column[rows] for column in drawn.states], schema, rng, kept)

    def _attach_note(self, table: pl.DataFrame, kind: FrameKind) -> Any:
        """A data frame that says what it is, where its kind has a place for that."""
        frame = to_frame(table, self.release.schema, kind)
        if kind == "pandas":
            frame.attrs["understudy"] = self.note
        if kind == "arrow":
            frame = frame.replace_schema_metadata({"understudy": self.note})
        return frame


def why_not(request: Request) -> str:
    """Explain from public facts why no more records can be drawn; "" if they can.

    Args:
        request: what the release is, or would be, made by.
    """
    if request.draws_records:
        return "drawing records is what its budget pays for, so that more would cost more"
    forms = {step.form for step in request.tables()}
    if request.name not in rebuildable() or forms & {Form.FILTERED, Form.LAZY}:
        return _NOT_KEPT
    return ""


def require_more(request: Request) -> None:
    """Refuse a request whose release would give no more records than its sets.

    Raises:
        MethodError: says why, and which methods would.
    """
    if why := why_not(request):
        raise MethodError(_refusal(request.name, why))


def sample(
    release: Release | str | Path,
    n: int,
    *,
    where: object = None,
    seed: int | None = None,
    frame: FrameKind | None = None,
) -> Any:
    """Draw more records from the model of a release, or records that fit a condition; it is free.

    They are the same information as the release, under the same guarantee: nothing is read but what
    was released. So they make no estimate more exact, and pooling them with the sets gives no valid
    error bars (`analyze` does). Rules, relations and derived columns hold in every record.

    Args:
        release: a release, or the folder of one.
        n: how many, 0 or more.
        where: what they must be: an expression, "(age >= 30) & (sex == 'f')", a list of such, or
            columns with a value, a list of values or a range of two each,
            {"sex": "f", "age": (30, 40)}. Records are
            those of the model given the condition.
        seed: fixes the records; another one each time if None.
        frame: kind of data frame; by default that of the release.

    Returns:
        A data frame, with the columns and types of the sets. What it is stands in `attrs` of
        pandas, and in the metadata of Arrow, under "understudy".

    Raises:
        MethodError: n, seed or condition cannot be; the condition is impossible, or fits fewer than
            one record in ten thousand; or the method of the release leaves no model in it, as those
            do whose drawing of records is what was paid for.
        ReleaseError: the folder is not a release, or an unknown kind of data frame.
    """
    if frame is not None:
        require_frame(frame)
    return ReleasedModel.of(given_release(release)).frame(n, where, seed, frame)


_NOT_KEPT: Final = "its model does not follow from what it releases"


def _refusal(method: str, why: str) -> str:
    return (
        f"No more records can be drawn from a release of {method}: {why or _NOT_KEPT}. Take its "
        f"sets, or one of the methods {', '.join(rebuildable())}."
    )


def _take_rows(cells: Mapping[str, Cells], rows: NDArray[np.int64]) -> dict[str, Cells]:
    return {
        name: Cells(one.states[rows], one.numbers[rows] if len(one.numbers) else one.numbers)
        for name, one in cells.items()
    }
