"""Which marginals a release should get right, and how much each of them matters.

A workload is a set of marginals with weights c. A method measures any marginal that is part of one
of them, and prefers those that help most: r has the weight w_r = Σ_s c_s |r ∩ s| over the marginals
s of the workload (McKenna et al. 2022, §3.2). For all k-way marginals that is |r| times a constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import exact
from understudy.privacy.selection.scores import MOST_WEIGHT
from understudy.schema import Schema

MANY_COLUMNS = 25
"""Beyond so many columns the workload is all pairs, else all triples: 17,296 triples of 48."""

FAVOUR = 4
"""How many times as much a marginal counts for each column with priority that it has."""

DEEPEST, FEW_CELLS, MOST_DEEPER = 4, 32, 3_000
"""Columns and cells of a small marginal beyond a workload, and how many of a width there may be."""

MOST_CANDIDATES = 20_000
MOST_TOGETHER = 2**26
"""Cells of all candidates together: they are held twice, as counted and as estimated."""


@dataclass(frozen=True)
class Workload:
    """Candidate marginals, smaller ones first, and their weights.

    Attributes:
        candidates: names of columns, in the order of the schema.
        weights: whole numbers from 1 to `MOST_WEIGHT`.
    """

    candidates: tuple[tuple[str, ...], ...]
    weights: tuple[int, ...]

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        degree: int | None,
        target: str,
        entries: Sequence[str],
        priority: Sequence[str] = (),
    ) -> Workload:
        """The workload that options ask for.

        Args:
            schema: the columns.
            degree: all marginals of so many columns; 3, or 2 for many columns, if None.
            target: a column that all marginals of the workload have, or "".
            entries: marginals as text, "age & job" or with a weight "age & job: 2.5"; nothing else
                then is in the workload.
            priority: columns that matter most: a marginal counts `FAVOUR` times as much for each
                of them that it has.

        Raises:
            MethodError: an unknown column, a weight that is none, or too many marginals.
        """
        for option, names in (("target", [target] if target else []), ("priority", priority)):
            for name in names:
                if name not in schema.names:
                    raise MethodError(f"The option {option} names {name!r}, which is no column.")
        marginals = [_entry(schema, text) for text in entries]
        if not marginals:
            marginals = [(columns, Fraction(1)) for columns in _all_ways(schema, degree, target)]
        mass, favoured = dict.fromkeys(schema.names, Fraction(0)), set(priority)
        for columns, weight in marginals:
            for name in columns:
                mass[name] += weight
        candidates = _parts(schema, [columns for columns, _ in marginals])
        raw = [
            sum((mass[name] for name in columns), Fraction(0))
            * FAVOUR ** len(favoured & set(columns))
            for columns in candidates
        ]
        largest = max(raw)
        weights = tuple(max(1, round(MOST_WEIGHT * mass / largest)) for mass in raw)
        return cls(candidates, weights)

    def telling(self, schema: Schema) -> Workload:
        """Only marginals of columns that have more than one state; all if no pair has."""
        size = dict(zip(schema.names, schema.sizes, strict=True))
        kept = [pair for pair in self._pairs if all(size[name] > 1 for name in pair[0])]
        if not any(len(columns) > 1 for columns, _ in kept):
            return self
        return Workload(*map(tuple, zip(*kept, strict=True)))

    def deeper(self, schema: Schema) -> Workload:
        """With small marginals of more columns as further candidates, where these are not many.

        What columns have in common may show in no marginal of fewer: a label that is the parity of
        three truth values is in none of three columns. Where a table has few cells, it costs little
        to look.
        """
        single = {columns[0]: weight for columns, weight in self._pairs if len(columns) == 1}
        size = dict(zip(schema.names, schema.sizes, strict=True))
        more: list[tuple[str, ...]] = []
        for width in range(1 + max(map(len, self.candidates)), DEEPEST + 1):
            narrow = [name for name in single if size[name] <= FEW_CELLS >> (width - 1)]
            if math.comb(len(narrow), width) > MOST_DEEPER:
                break
            more += [
                columns
                for columns in combinations(narrow, width)
                if math.prod(size[name] for name in columns) <= FEW_CELLS
            ]
        weights = (min(sum(single[name] for name in columns), MOST_WEIGHT) for columns in more)
        return Workload((*self.candidates, *more), (*self.weights, *weights))

    @property
    def _pairs(self) -> Iterator[tuple[tuple[str, ...], int]]:
        return zip(self.candidates, self.weights, strict=True)

    def within(self, schema: Schema, cells: float) -> Workload:
        """Only marginals of at most so many cells; those of a single column stay.

        The largest ones are left out as well where all together exceed `MOST_TOGETHER`.
        """
        kept = small(schema, self.candidates, cells)
        return Workload(
            tuple(self.candidates[k] for k in kept), tuple(self.weights[k] for k in kept)
        )


def small(schema: Schema, candidates: Sequence[tuple[str, ...]], cells: float) -> list[int]:
    """Places of the candidates whose tables can be held in memory together.

    Args:
        schema: the columns.
        candidates: names of columns.
        cells: most cells of a table of several columns; smaller ones are preferred where all of
            them have more than `MOST_TOGETHER`.

    Returns:
        Ascending; candidates of a single column are always among them.
    """
    size = dict(zip(schema.names, schema.sizes, strict=True))
    sizes = [math.prod(size[name] for name in columns) for columns in candidates]
    kept, together = [], 0
    for k in sorted(range(len(candidates)), key=sizes.__getitem__):
        if len(candidates[k]) == 1 or (sizes[k] <= cells and together + sizes[k] <= MOST_TOGETHER):
            kept.append(k)
            together += sizes[k]
    return sorted(kept)


def tied_pairs(schema: Schema, most_cells: float) -> list[tuple[str, ...]]:
    """Pairs that a declared relation ties, each once, in the order of the schema.

    Args:
        schema: the columns and relations.
        most_cells: of the table of a pair; pairs of larger ones are left out.
    """
    names, size = schema.names, {name: column.size for name, column in schema.columns.items()}
    pairs = {tuple(sorted(one.columns, key=names.index)) for one in schema.relations}
    fitting = [pair for pair in pairs if size[pair[0]] * size[pair[1]] <= most_cells]
    return sorted(fitting, key=lambda pair: [names.index(name) for name in pair])


def tied_spend(tied: Sequence[tuple[str, ...]], first: Fraction, rounds: Fraction) -> Fraction:
    """What tables of tied pairs cost: a first round each, half of all rounds at most."""
    return min(first * len(tied), rounds / 2)


def usual_degree(n_columns: int) -> int:
    """Columns of a marginal, where nothing is asked for."""
    return min(n_columns, 3 if n_columns <= MANY_COLUMNS else 2)


def _all_ways(schema: Schema, degree: int | None, target: str) -> Iterator[tuple[str, ...]]:
    names = schema.names
    width = usual_degree(len(names)) if degree is None else min(degree, len(names))
    n = math.comb(len(names) - 1, width - 1) if target else math.comb(len(names), width)
    if n > MOST_CANDIDATES:
        raise MethodError(
            f"There are {n:,} marginals of {width} of {len(names)} columns (at most "
            f"{MOST_CANDIDATES:,}); take a smaller degree, or list a workload."
        )
    return (columns for columns in combinations(names, width) if not target or target in columns)


def _entry(schema: Schema, text: str) -> tuple[tuple[str, ...], Fraction]:
    listed, weight = text, "1"
    if text.rsplit("&", maxsplit=1)[-1].strip() not in schema.names and ":" in text:
        listed, _, weight = text.rpartition(":")
    names = {part.strip() for part in listed.split("&")}
    for name in sorted(names):
        if name not in schema.names:
            raise MethodError(
                f"The option workload names {name!r}, which is no column; write it like "
                '"age & job, age & income: 2".'
            )
    value = exact(weight.strip(), "a weight of the workload")
    if value <= 0:
        raise MethodError("Weights of the workload must be positive.")
    return tuple(name for name in schema.names if name in names), value


def _parts(schema: Schema, marginals: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """All parts of the wanted marginals, and all single columns."""
    parts: set[tuple[str, ...]] = {(name,) for name in schema.names}
    for columns in marginals:
        for width in range(2, len(columns) + 1):
            parts.update(combinations(columns, width))
    if len(parts) > 2 * MOST_CANDIDATES:
        raise MethodError("The workload has too many parts; take marginals of fewer columns.")
    place = {name: j for j, name in enumerate(schema.names)}
    return tuple(
        sorted(parts, key=lambda columns: (len(columns), [place[name] for name in columns]))
    )
