"""Consistency of a folder: its synthetic rows and noisy measurements are those of its schema.

Questions about rows are asked of a whole table, as expressions that Polars evaluates in threads.

**Whether the promise of a manifest is that of its budget, ledger, noise and schema.**

What a manifest says of its guarantee (kind, ε, δ, ρ, μ, neighbours, and the sentence that states
them) is computed anew from the budget, and the ledger is added up; what differs is refused. What is
said besides, conditions, leaks and public inputs, is its publisher's word.

**Whether README and pages say what the manifest says, where readers see it.**

Few people read a manifest. Whoever alters README or a page, and redoes their checksums, would have
readers believe another promise. So each of them holds the promise in one block
(`promise_block`), which must be that of the manifest, and must be seen: outside comments and
whatever may hide it. What may hide it is everything that is not known to show it.

Texts that this version rendered are rendered anew and compared (`require_rendered`). Of texts by
other versions the rest is the publisher's word.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce
from html.parser import HTMLParser
from itertools import groupby, pairwise
from operator import and_, or_
from typing import Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from understudy.dp.accountant import Entry, RunCost
from understudy.dp.budget import UNITS, Approximate, Budget, decimal_up
from understudy.dp.guarantee import Guarantee
from understudy.errors import MethodError, UnderstudyError, escape_controls
from understudy.features.grids import HeapCells, LineCells
from understudy.features.scores import is_within_bounds
from understudy.features.terms import TermMap
from understudy.release.decoding import dtype_of, place_of
from understudy.release.manifest import RENDERED, Manifest, promise_lines, require_chain
from understudy.release.measurement import (
    Measurement,
    among_in,
    block_codes,
    pair_codes,
    stored_columns,
)
from understudy.release.shape import Fault, Kind, key_of, quote_entry
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Domain, Schema
from understudy.schema.base import Code, number_of, text_of


def require_named(data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a measurement that speaks of columns that there are not.

    Args:
        data: its entry in the manifest, of the right shape.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    kind, columns, of = Kind(data["kind"]), data["columns"], data["of"]
    used = [*columns, *data["bins"], *data["groups"], *(() if kind.has_keys else of)]
    if not set(used) <= set(schema.names) or len(set(columns)) < len(columns):
        raise Fault("a measurement is of columns that its schema does not have")
    if any(not isinstance(schema.columns[name], NUMERIC) for name in data["bins"]):
        raise Fault("a measurement has bins of a column that is not numeric")
    if kind.is_of_one_column and len(columns) != 1:
        raise Fault(f"a measurement of the kind {kind} needs one column")
    if kind is Kind.HEAPS and not getattr(schema.columns[columns[0]], "heaps", ()):
        raise Fault("a measurement is of heaps that its schema does not have")
    if kind.is_of_numbers and not all(isinstance(schema.columns[n], NUMERIC) for n in of):
        raise Fault("a sum is of a column that is not numeric")
    if kind is Kind.PRODUCTS and not set(of) <= set(columns):
        raise Fault("products are of records with values of other columns")
    always = kind in (Kind.WEIGHTED, Kind.WEIGHTED_TABLE)
    if always or (kind is Kind.TERMS and (of or data["totals"])):
        _require_weights(data, schema)
    _require_terms(data, schema)
    if data.get("beside") and not kind.may_stand_beside:
        raise Fault("a measurement stands beside the sets, and is no table")
    if [*data.get("ranks", ())] != (columns if kind is Kind.RANKS else []):
        raise Fault("a measurement has scores of other columns")
    limits = data.get("limits", {})
    if limits and not (
        kind in (Kind.PRODUCTS, Kind.TERMS)
        and all(is_within_bounds(ends, schema.columns.get(name)) for name, ends in limits.items())
    ):
        raise Fault("a measurement has limits that its columns do not have")
    if kind.has_keys and not all(_is_key(text, schema) for text in of):
        raise Fault("a measurement is drawn given columns that its schema does not have")
    _require_totals(data["totals"], kind)


def require_stored(cells: pl.DataFrame | None, data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a file of cells that is no table of its measurement.

    Args:
        cells: as they were read; None where there is no file.
        data: entry in the manifest.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    if (cells is None) != (not Kind(data["kind"]).has_cells) or (cells is None and data["cells"]):
        raise Fault(f"a measurement of the kind {data['kind']} has cells, or lacks them")
    if cells is None:
        return
    labels, count = stored_columns(data, schema)
    *names, last = cells.columns
    if (names, last) != (list(labels), count):
        raise Fault(f"the table {quote_entry(data['name'])} has other columns than its measurement")
    if any(cells.schema[name] != pl.Enum(states) for name, states in labels.items()):
        raise Fault(f"the table {quote_entry(data['name'])} has other states than its schema")
    if cells.schema[last] not in (pl.Int64, pl.Float64) or any(cells.null_count().row(0)):
        raise Fault(f"the table {quote_entry(data['name'])} has cells without a number")
    if cells.height != data["cells"]:
        raise Fault(
            f"the table {quote_entry(data['name'])} has another number of cells than stated"
        )


def require_cells(table: Measurement, schema: Schema) -> None:
    """Refuse cells that a measurement of this kind cannot have.

    Args:
        table: measurement, as it was read.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    if not table.name:
        return
    if not np.isfinite(table.counts).all():
        raise Fault(f"the table {quote_entry(table.name)} has cells without a number")
    if table.kind.has_every_cell:
        fits = _is_whole(table, table.domain(schema))
    elif table.kind is Kind.CELLS:
        fits = _reaches_threshold(table, table.domain(schema))
    elif table.kind is Kind.RANGES:
        fits = _covers_line(table.codes, table.bin_schema(schema).columns[table.columns[0]].size)
    elif table.kind in (Kind.LINE, Kind.HEAPS):
        line = LineCells if table.kind is Kind.LINE else HeapCells
        fits = np.array_equal(
            table.codes, np.arange(line.of(table.bin_schema(schema), *table.columns).size)
        )
    elif table.kind is Kind.RANKS:
        binned = table.bin_schema(schema)
        sized = all(binned.columns[k].size == len(own) for k, own in table.ranks.items())
        fits = sized and np.array_equal(table.codes, pair_codes(len(table.columns)))
    elif table.kind is Kind.TERMS:
        fits = np.array_equal(table.codes, block_codes(table.term_scores(schema), schema))
    elif table.kind in (Kind.PRODUCTS, Kind.WEIGHTED):
        fits = np.array_equal(table.codes, block_codes(table.scores(schema), schema))
    else:
        fits = _covers_all(table, table.bin_schema(schema))
    if not fits:
        raise Fault(f"the table {quote_entry(table.name)} has other cells than its schema")
    bounded = table.family.is_truncated and table.kind is Kind.TABLE
    if (bounded or table.kind is Kind.DISTRIBUTION) and (table.counts < 0).any():
        raise Fault(
            f"the table {quote_entry(table.name)} has negative counts, which its noise never gives"
        )


def _require_totals(totals: Mapping[str, Any] | None, kind: Kind) -> None:
    expected, lacking = kind.totals, kind is Kind.LEAF_SUMS and totals is None
    if expected is not None and not lacking and tuple(totals or ()) != expected:
        raise Fault(f"a measurement of the kind {kind} has other totals than it should")


def _require_weights(data: Mapping[str, Any], schema: Schema) -> None:
    weights, totals = [schema.columns[name] for name in data["of"]], data["totals"] or {}
    apart = data["of"][1:]
    fits = (
        len(weights) == 1 + bool(apart)
        and not (apart and data["kind"] == Kind.WEIGHTED_TABLE)
        and isinstance(weights[0], NUMERIC)
        and all(_tells_apart(name, data["columns"], schema) for name in apart)
        and 0 < totals.get("bound", 0) <= weights[0].bounds[1]
        and totals.get("power") in (1, 2)
    )
    if not fits:
        raise Fault("a measurement is weighted by what is no weight")


def _tells_apart(name: str, columns: Sequence[str], schema: Schema) -> bool:
    """Return whether sums of some columns can be taken apart by the states of another."""
    column = schema.columns[name]
    levels = not isinstance(column, NUMERIC) and column.size == column.n_ordinary
    return levels and name not in columns


def _require_terms(data: Mapping[str, Any], schema: Schema) -> None:
    """Refuse terms that its columns do not have; and of any other kind, all of them."""
    terms, among = data.get("terms", []), among_in(data)
    if data["kind"] != Kind.TERMS:
        if terms or among:
            raise Fault("a measurement has terms, and is of none")
        return
    try:
        scores = TermMap.of(schema, terms, among=among)
    except MethodError as error:
        raise Fault(f"a measurement has terms that there are not: {error}") from None
    if list(scores.columns) != data["columns"]:
        raise Fault("a measurement is of other columns than its terms")


def _is_key(text: str, schema: Schema) -> bool:
    """Return whether a text reads "column" or "column<-column & column"."""
    return key_of(text, schema.names) is not None


def _is_whole(table: Measurement, domain: Domain) -> bool:
    """Every cell once, in order; what cannot occur holds 0."""
    if not np.array_equal(table.codes, np.arange(domain.n_cells)):
        return False
    return not domain.boxes or not table.counts[~domain.allowed_mask().reshape(-1)].any()


def _reaches_threshold(table: Measurement, domain: Domain) -> bool:
    if table.threshold is None or table.threshold < 1 or not (np.diff(table.codes) > 0).all():
        return False
    columns = np.unravel_index(table.codes, domain.sizes) if domain.sizes else ()
    return (
        bool((table.counts >= table.threshold).all()) and not domain.find_forbidden(columns).any()
    )


def _covers_line(codes: NDArray[np.int64], size: int) -> bool:
    """Ranges of states that follow each other from the first state to the last."""
    first, last = codes // size, codes % size
    whole = len(codes) > 0 and first[0] == 0 and last[-1] == size - 1
    return bool(whole and (first <= last).all() and (first[1:] == last[:-1] + 1).all())


def _covers_all(table: Measurement, schema: Schema) -> bool:
    """Nodes that together have as many allowed cells as there are."""
    axes = table.of if table.kind is Kind.LEAF_SUMS else table.columns
    sizes = [schema.columns[name].size for name in axes]
    once = len(np.unique(table.codes)) == len(table.codes)
    states = np.stack(np.unravel_index(table.codes, [size + 1 for size in sizes]), axis=1)
    return once and sum(_cells_of_nodes(states, axes, sizes, schema)) == schema.domain.n_allowed


def _cells_of_nodes(
    states: NDArray[np.int64], axes: Sequence[str], sizes: Sequence[int], schema: Schema
) -> list[int]:
    """Allowed cells of each node; its last state of an axis stands for all."""
    whole, place = schema.domain, [schema.names.index(name) for name in axes]
    if not whole.boxes:
        rest = whole.n_cells // math.prod(sizes)
        factors = np.where(states == sizes, np.array(sizes, dtype=object), 1)
        return [rest * int(size) for size in factors.prod(axis=1)]
    n_allowed = []
    for row in states.tolist():
        fixed = [-1] * len(whole.sizes)
        for j, state, size in zip(place, row, sizes, strict=True):
            fixed[j] = -1 if state == size else state
        n_allowed.append(whole.fix_states(fixed).n_allowed)
    return n_allowed


_SLACK = 1e-9
"""Share of its range by which a number may pass a bound: rounding to decimals."""


def require_rows(table: pl.DataFrame, schema: Schema, n_rows: int, kept: Schema) -> None:
    """Refuse a synthetic table that its schema does not allow.

    Args:
        table: as it was read.
        schema: of the release.
        n_rows: how many rows it must have.
        kept: the schema with those rules that every measurement kept.

    Raises:
        Fault: says what does not fit; a column by its name, a row not at all.
    """
    if tuple(table.columns) != tuple(schema.declared):
        raise Fault("a synthetic table has other columns than its schema")
    if table.height != n_rows:
        raise Fault("a synthetic table has another number of rows than its manifest")
    for name, column in schema.stated.items():
        if table.schema[name] != dtype_of(column):
            raise Fault(f"the column {quote_entry(name)} has another type than its schema says")
        if table.get_column(name).null_count() and not _has_empty(column):
            raise Fault(f"the column {quote_entry(name)} has empty cells")
    allowed = {name: _is_allowed(name, column) for name, column in schema.stated.items()}
    within = table.select(expression.all().alias(name) for name, expression in allowed.items())
    for name in allowed:
        if not within.item(0, name):
            raise Fault(f"the column {quote_entry(name)} has values that its schema does not allow")
    # A row that is impossible wherever rounding may have moved it from.
    rules = [
        reduce(
            and_, (_surely_in(name, kept.columns[name], states) for name, states in fixed.items())
        )
        for fixed in (rule.states(kept.columns) for rule in kept.forbidden)
    ]
    if rules and table.select(reduce(or_, rules).any()).item():
        raise Fault("a synthetic table has rows that its schema declares impossible")


def _column(name: str) -> pl.Expr:
    """The column of that very name; Polars takes some names ("*", "^a$") for patterns."""
    return cs.by_name([name]).as_expr()


def _has_empty(column: Column) -> bool:
    return "" in (*column.codes, *getattr(column, "levels", ()))


def _is_allowed(name: str, column: Column) -> pl.Expr:
    """Return whether a value is one of the column's; null for an empty cell."""
    dtype, values = dtype_of(column), _column(name)
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        slack = _slack(column)
        inside = place_of(_column(name), dtype, column).is_between(low - slack, high + slack)
        if dtype == pl.String:
            texts = [text_of(code) for code in column.codes if code != ""]
            return inside.fill_null(value=False) | values.is_in(texts)
        codes = values.cast(pl.Float64).is_in(_numbers(column.codes))
        if isinstance(column, Calendar):  # one between two units has no place
            return pl.when(values.is_not_null()).then(inside.fill_null(value=False))
        return inside | codes
    if dtype == pl.Enum:  # its type has said so
        return pl.lit(value=True)
    if dtype == pl.Boolean:
        return values.is_in([value for value in (*column.levels, *column.codes) if value != ""])
    return values.cast(pl.Float64).is_in(_numbers((*column.levels, *column.codes)))


def _surely_in(name: str, column: Column, states: frozenset[int]) -> pl.Expr:
    """Return whether a value has one of the states; a number, wherever its last digit lies."""
    values, dtype = _column(name), dtype_of(column)
    if not isinstance(column, NUMERIC):
        return _is_one_of(values, dtype, [(*column.levels, *column.codes)[k] for k in states])
    number = place_of(_column(name), dtype, column)
    surely = pl.lit(value=False)
    for low, high in _runs(column, states):
        surely |= number.is_between(low, high)
    spikes = {
        float(spike.low): k in states for k, spike in enumerate(column.intervals) if spike.spike
    }
    surely &= ~number.is_in([low for low, inside in spikes.items() if not inside])
    if not isinstance(column, Continuous):
        surely |= number.is_in([low for low, inside in spikes.items() if inside])
    codes = [code for k, code in enumerate(column.codes, column.n_ordinary) if k in states]
    return surely.fill_null(value=False) | _is_one_of(values, dtype, codes)


def _is_one_of(values: pl.Expr, dtype: pl.DataType, sought: list[Code]) -> pl.Expr:
    """Return whether a value is one of these levels or codes; the empty one is a null."""
    named_ones = [code for code in sought if code != ""]
    if isinstance(dtype, pl.Enum):
        places = {text: k for k, text in enumerate(dtype.categories)}
        matches = values.to_physical().is_in([places[text_of(code)] for code in named_ones])
    elif dtype == pl.String:
        matches = values.is_in([text_of(code) for code in named_ones])
    elif dtype == pl.Boolean:
        matches = values.is_in([bool(code) for code in named_ones])
    elif dtype.is_temporal():
        matches = pl.lit(value=False)
    else:
        matches = values.cast(pl.Float64).is_in(_numbers(named_ones))
    matches = matches.fill_null(value=False)
    return matches | values.is_null() if len(named_ones) < len(sought) else matches


def _numbers(values: Iterable[Code]) -> list[float]:
    return [number for value in values if (number := number_of(value)) is not None]


def _slack(column: Column) -> float:
    if not isinstance(column, Continuous):
        return 0.0
    return _SLACK * max(column.upper - column.lower, abs(column.lower), abs(column.upper))


def _runs(column: Column, states: frozenset[int]) -> Iterator[tuple[float, float]]:
    """Ranges of numbers that lie in bins of these states even when they were rounded."""
    assert isinstance(column, NUMERIC)
    bins = [(k in states, cell) for k, cell in enumerate(column.intervals) if not cell.spike]
    margin = 0.0
    if isinstance(column, Continuous):
        margin = (0.5 * 10.0**-column.decimals if column.decimals is not None else 0.0) + _slack(
            column
        )
    for inside, run in groupby(bins, key=lambda pair: pair[0]):
        together = [cell for _, cell in run]
        if inside:
            first, last = together[0], together[-1]
            # Rounding stops at the bounds, give or take the slack that is let pass there.
            low = first.low + margin if first is not bins[0][1] else first.low - _slack(column)
            high = last.high - margin if last is not bins[-1][1] else last.high + _slack(column)
            yield low, high


_NO_PROMISE = ("none", "asymptotic")


def require_promise(
    manifest: Manifest, stated: Mapping[str, Any], entries: Sequence[int], schema: Schema
) -> None:
    """Refuse a guarantee that its ledger does not carry.

    Args:
        manifest: of the right shape.
        stated: its guarantee, as it stands in the folder.
        entries: for each measurement, the ledger entry that paid for it.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    budget = stated_budget(manifest.budget)
    _require_ledger(manifest.ledger, budget)
    _require_amendments(manifest, budget)
    if not set(entries) <= set(range(1, len(manifest.ledger) + 1)):
        raise Fault("a measurement was paid by no entry of its ledger")
    _require_guarantee(manifest, budget, schema)
    _require_stated(stated, manifest, budget)


def stated_budget(stated: Mapping[str, str]) -> Budget:
    """The budget that a manifest states.

    Args:
        stated: its ε, δ, unit and amount, as decimals.

    Raises:
        Fault: it contradicts itself.
    """
    accounting = next(k for k, unit in UNITS.items() if unit == stated["unit"])
    unit: Approximate = "zcdp" if accounting == "pure" else accounting
    try:
        budget = Budget.of(stated["epsilon"], stated["delta"], unit)
        if budget.accounting == accounting and stated["amount"] == decimal_up(budget.amount):
            return budget
    except UnderstudyError:
        pass
    raise Fault("its stated budget contradicts itself")


def _require_ledger(ledger: Sequence[Mapping[str, Any]], budget: Budget) -> None:
    """Refuse entries out of order, in another unit, or worth more than the budget."""
    unit, spent = budget.unit_name, Fraction(0)
    for number, entry in enumerate(ledger, start=1):
        if entry["number"] != number or unit not in entry:
            raise Fault("its ledger is out of order, or in another unit than its budget")
        exact = entry[f"{unit}_exact"]
        cost = None if exact is None else Fraction(exact)
        if entry[unit] != (None if cost is None else decimal_up(cost)):
            raise Fault("its ledger states two costs of one step")
        spent += cost or 0
    if spent > budget.amount:
        raise Fault("its ledger spends more than the stated budget")


def _require_amendments(manifest: Manifest, budget: Budget) -> None:
    """Refuse amendments that no budget carries: at each, what was paid and what was stated before.

    What an amendment adds to a stated budget is all that it may spend.
    """
    unit = budget.unit_name
    require_chain(manifest.amendments, manifest.ledger, unit)
    stated = [stated_budget(one.budget) for one in manifest.amendments]
    for earlier, later in pairwise([*stated, budget] if stated else []):
        if earlier.amount >= later.amount or earlier.delta != later.delta:
            raise Fault("an amendment adds nothing to the budget before it")
    for amendment, before in zip(manifest.amendments, stated, strict=True):
        paid = manifest.ledger[: amendment.entries]
        if _sum_costs(paid, unit) > before.amount:
            raise Fault("an amendment states a smaller budget before it than was spent")


def _sum_costs(ledger: Sequence[Mapping[str, Any]], unit: str) -> Fraction:
    return sum((Fraction(entry[f"{unit}_exact"] or 0) for entry in ledger), Fraction(0))


def _require_guarantee(manifest: Manifest, budget: Budget, schema: Schema) -> None:
    """Refuse a promise that is more than budget, ledger, noise and schema allow."""
    promise = manifest.guarantee
    if promise.neighbours != schema.neighbours:
        raise Fault("its guarantee is about other neighbours than its schema")
    unit = budget.unit_name
    unpaid = any(entry[unit] is None for entry in manifest.ledger)
    if promise.kind in _NO_PROMISE:
        if promise.epsilon is not None:
            raise Fault("its guarantee names an epsilon and promises none")
        return
    if unpaid or not manifest.secure:
        raise Fault("its guarantee promises what its ledger or its noise does not")
    if schema.rows == "public" and manifest.n_rows != schema.n_rows:
        raise Fault("it has another number of rows than its schema declares")
    if promise.kind not in _kinds(promise, budget):
        raise Fault("its guarantee is of another kind than its budget and its leaks")


def _kinds(promise: Guarantee, budget: Budget) -> set[str]:
    """List kinds of promise for some ε: conditional, if anything left in or unproved is named."""
    if promise.leaks:
        return {"conditional"}
    paid = {"pure"} if budget.accounting == "pure" else {"approximate", "zcdp"}
    return paid | ({"conditional"} if promise.conditions else set())


def _require_stated(stated: Mapping[str, Any], manifest: Manifest, budget: Budget) -> None:
    """Refuse numbers, or a sentence, that are not those of the stated budget."""
    promise, chosen = manifest.guarantee, manifest.choice is not None
    found = replace(promise, epsilon=None, delta=Fraction(0), rho=None, mu=None)
    if promise.kind not in _NO_PROMISE:
        # The best of several tries has no ρ (`mechanisms.private_selection`).
        rho = budget.amount if budget.accounting == "zcdp" and not chosen else None
        found = replace(found, epsilon=budget.epsilon, rho=rho, mu=budget.mu)
    if promise.kind != "asymptotic":
        found = replace(found, delta=budget.delta)
    expected = found.to_json()
    if any(stated[name] != expected[name] for name in stated if name != "statement"):
        raise Fault("its guarantee is another one than its stated budget")
    if stated["statement"] != expected["statement"]:
        raise Fault("the sentence that states its guarantee is not that of its numbers")


FENCE: Final = "```promise"
STYLE_SHEETS: Final = frozenset(
    {"39189f2862ef445dab4d96485ece319fe2bbcd3c6143d4461b3962ed373bdbda"}
)
"""SHA-256 of the style sheets that pages had and have: none hides an element that is checked."""

_SHOWING: Final = frozenset({"html", "body", "main", "section"})
"""What the block of a page may stand in."""
_ELEMENTS: Final = _SHOWING | frozenset(
    {
        "a",
        "article",
        "blockquote",
        "caption",
        "code",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "g",
        "h1",
        "h2",
        "h3",
        "head",
        "header",
        "i",
        "li",
        "meta",
        "nav",
        "p",
        "path",
        "pre",
        "rect",
        "small",
        "span",
        "strong",
        "style",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    }
)
_ALONE: Final = frozenset({"meta", "path", "rect"})
_ATTRIBUTES: Final = frozenset(
    {
        "aria-hidden",
        "aria-label",
        "aria-labelledby",
        "charset",
        "class",
        "colspan",
        "content",
        "d",
        "data-label",
        "height",
        "href",
        "http-equiv",
        "id",
        "lang",
        "name",
        "preserveaspectratio",
        "role",
        "scope",
        "style",
        "tabindex",
        "viewbox",
        "width",
        "x",
        "xmlns",
        "y",
    }
)
_PLAIN_ATTRIBUTES: Final = frozenset({"id", "lang", "aria-label", "aria-labelledby"})
_STYLE = re.compile(r"((fill|stroke(-[a-z]+)?|width):[\w.%()#, -]+;?\s*)*")
_LINK = re.compile(r"#[^\s]*|https?://[^\s]*|[\w./-]*")
_NUMBER = re.compile(r"((?:\d+(?:,\d{3})*)(?:\.\d+)?)", re.ASCII)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_RAW_HTML = re.compile(r"(?<!\\)<[A-Za-z/!?]")
_DEEPEST: Final = 10**9
"""More elements than stand in one another."""


def require_pages(manifest: Manifest, readme: str, pages: Mapping[str, str]) -> None:
    """Refuse a README or page that does not say what the manifest says, or may hide it.

    Args:
        manifest: of the release.
        readme: text of `README.md`.
        pages: file name → text.

    Raises:
        Fault: names the file and what it lacks.
    """
    expected = promise_lines(manifest)
    texts = {"README.md": readme, **pages}
    for name, text in texts.items():
        if not _same(_block(name, text), expected):
            raise Fault(f"{name} states another promise than the manifest")


def rendered_by(name: str, text: str) -> str:
    """The version of this software that says it has rendered a text; "" where none is named.

    Args:
        name: of the file.
        text: its content, which `require_pages` has seen.
    """
    return _block(name, text)[-1].removeprefix(RENDERED)


def is_of_this_version(manifest: Manifest, name: str, text: str) -> bool:
    """Return whether a text can be compared: by this version and the libraries that are here.

    Args:
        manifest: of the release; it names the libraries.
        name: of the file.
        text: its content.
    """
    if rendered_by(name, text) != _version_here("understudy"):
        return False
    named = {k: v for k, v in manifest.software.items() if k != "python"}
    return all(_version_here(library) == told for library, told in named.items())


@lru_cache(maxsize=64)  # of few libraries; finding one takes longer than reading a small page
def _version_here(library: str) -> str | None:
    """The version of a library that is installed; None where it is not."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def require_rendered(name: str, text: str, anew: Iterable[str]) -> None:
    """Refuse a text that is none of those that this version renders.

    Numbers on a page are computed, and may differ in their last digits from one processor to
    another: there they need to agree to a thousandth. Those of the promise were compared exactly.

    Args:
        name: of the file.
        text: its content.
        anew: what this version renders of the release.

    Raises:
        Fault: names the file.
    """
    if not any(_is_rendered(text, one) for one in anew):
        raise Fault(f"{name} is not what this version renders of the release; it was altered")


def _is_rendered(text: str, anew: str) -> bool:
    if text == anew:
        return True
    told, computed = _NUMBER.split(text), _NUMBER.split(anew)
    if not text.startswith("<") or len(told) != len(computed) or told[::2] != computed[::2]:
        return False
    return all(map(_agree, told[1::2], computed[1::2]))


def _agree(told: str, computed: str) -> bool:
    """Return whether two numbers are one, but for how it was rounded."""
    first, second = float(told.replace(",", "")), float(computed.replace(",", ""))
    return abs(first - second) <= 1e-3 * max(abs(first), abs(second))


@lru_cache(maxsize=8)
def _block(name: str, text: str) -> tuple[str, ...]:
    """The lines of the block of a README or page.

    Raises:
        Fault: none, several, one that may be hidden, or a version that is none.
    """
    found = _read_fence(text) if name == "README.md" else _Page.of(name, text).promise
    if found is None:
        raise Fault(f"{name} does not state its promise once, where it is seen")
    lines = [one for one in found.splitlines() if one.strip()]
    stated = lines[-1].removeprefix(RENDERED) if lines else ""
    if not lines or stated == lines[-1] or not re.fullmatch(r"[\w.+!-]{1,40}", stated, re.ASCII):
        raise Fault(f"{name} does not say which version rendered it")
    return tuple(lines)


def _same(block: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    return [_plain(one) for one in block[:-1]] == [_plain(one) for one in expected]


def _read_fence(text: str) -> str | None:
    """Read the text between the fences of the block in Markdown; None where it is not seen once."""
    lines = text.splitlines()
    _require_markdown(text)
    starts = [k for k, one in enumerate(lines) if one.startswith(FENCE)]
    if len(starts) != 1:
        return None
    outside = sum(one.startswith(("```", "~~~")) for one in lines[: starts[0]]) % 2 == 0
    after = lines[starts[0] + 1 :]
    return "\n".join(after[: after.index("```")]) if outside and "```" in after else None


def _require_markdown(text: str) -> None:
    """Refuse HTML in a README, and a head that is not shown: both hide what stands in them.

    Raises:
        Fault: there is some.
    """
    fenced = False
    for one in text.splitlines():
        if one.startswith("```"):
            fenced = not fenced
        elif not fenced and _RAW_HTML.search(one):
            raise Fault("README.md holds HTML, which may hide what it says")
    if not text.startswith("# "):
        raise Fault("README.md does not begin with a title")


class _Page(HTMLParser):
    """The block of a page, where it is seen.

    Elements, attributes and the style sheet are those of a closed list, each element is closed in
    its order, and nothing is left to how a browser mends a page.

    Attributes:
        promise: text of its block; None where it has none.
        stack: elements that are open, and whether each has no attribute that could hide it.
        sheet: text of its style sheet; None where none came yet.
    """

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self.promise: str | None = None
        self._name = name
        self.stack: list[tuple[str, bool]] = []
        self.sheet: str | None = None
        self._depth = _DEEPEST

    @classmethod
    def of(cls, name: str, text: str) -> _Page:
        """Read a page.

        Raises:
            Fault: it holds something that may hide what it says.
        """
        page = cls(name)
        body = text.lstrip()
        if not body.startswith("<!DOCTYPE html>") or re.search(r"<[!?]|</[^a-zA-Z]", body[1:]):
            raise page.odd("markup that browsers read in several ways")
        page.feed(body)
        page.close()
        if page.stack or page.rawdata:
            raise page.odd("an element that is not closed")
        sheet = hashlib.sha256((page.sheet or "").strip().encode()).hexdigest()
        if sheet not in STYLE_SHEETS:
            raise page.odd("another style sheet than its versions had")
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self._require(tag, attrs)
        names = {name for name, _ in attrs}
        if tag == "style" and (self.sheet is not None or self._tags != ["html", "head"]):
            raise self.odd("several style sheets")
        if ("id", "promise") in attrs:
            plain = all(shows for _, shows in self.stack) and {*self._tags} <= _SHOWING
            if self.promise is not None or tag != "blockquote" or names != {"id"} or not plain:
                raise self.odd("a promise twice, or where it may not be seen")
            self.promise, self._depth = "", len(self.stack)
        elif self._is_in_block and (tag, names) != ("p", set()):
            raise self.odd("other elements in its promise than paragraphs")
        self.stack.append((tag, names <= _PLAIN_ATTRIBUTES))
        if tag in _ALONE:
            self.stack.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that closes itself, as some of a picture do; browsers know no other."""
        if tag not in _ALONE:
            raise self.odd("an element that is not closed")
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close an element, the one that was opened last."""
        if self._is_in_block and tag == "p":
            self.promise = f"{self.promise}\n"
        if not self.stack or self.stack.pop()[0] != tag:
            raise self.odd("an element that is not closed")
        if len(self.stack) <= self._depth:
            self._depth = _DEEPEST

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._tags[-1:] == ["style"]:
            self.sheet = (self.sheet or "") + data
        elif self._is_in_block:
            self.promise = f"{self.promise}{data}"

    @property
    def _tags(self) -> list[str]:
        return [tag for tag, _ in self.stack]

    @property
    def _is_in_block(self) -> bool:
        return len(self.stack) > self._depth

    def _require(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Refuse an element or attribute that no page has."""
        given = dict(attrs)
        if tag not in _ELEMENTS or not {*given} <= _ATTRIBUTES or len(given) < len(attrs):
            raise self.odd(f"the element {quote_entry(tag)}, or an attribute of it")
        fits = (
            _STYLE.fullmatch(given.get("style") or ""),
            _LINK.fullmatch(given.get("href") or ""),
            given.get("content") == _POLICY or "http-equiv" not in given,
            "skip" not in (given.get("class") or "").split() or tag == "a",
        )
        if not all(fits):
            raise self.odd(f"an attribute of {quote_entry(tag)} that no page has")

    def odd(self, what: str) -> Fault:
        """Describe a fault of a page that holds something that may hide what it says."""
        return Fault(f"{self._name} holds {what}, which may hide what it says")


def _plain(text: str) -> str:
    """A text on one line, with a sign in the place of what cannot be seen."""
    return " ".join(escape_controls(text).split())


def stage_costs(manifest: Manifest) -> tuple[Fraction, ...]:
    """Return the cost of each amendment, oldest first, and of all, in the budget's unit.

    They are no less than the sums of prices (`RunCost`). Steps of infinite cost are not counted.

    Args:
        manifest: of a release that was checked.
    """
    accounting = stated_budget(manifest.budget).accounting
    entries = [Entry.from_json(entry, accounting) for entry in manifest.ledger]
    stages = [(one.entries, one.budget) for one in manifest.amendments]
    cost, costs, counted = RunCost(accounting, None), [], 0
    for upto, budget in [*stages, (len(entries), manifest.budget)]:
        cost.allow(stated_budget(budget).amount)
        for entry in entries[counted:upto]:
            cost.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)
        costs.append(cost.total)
        counted = upto
    return tuple(costs)
