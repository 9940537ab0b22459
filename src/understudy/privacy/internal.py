"""The colour of figures that were computed from the rows without noise: for the steward alone.

**Columns that hardly fit their declaration** are described in coarse words. A release looks the
same whether its columns fit the schema or not: that they do not is known from the rows, and an
error would be an output. So this is no mechanism. It is computed from the rows without noise and
paid by nothing; it comes as `Internal`, is shown at the steward's request alone, and holds words
instead of numbers. Redoing a release because of it is not covered by ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:  # a release refuses internal figures, and is read without an engine
    from understudy.engine import Engine, ExactTable
    from understudy.schema import Column

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Internal(Generic[T_co]):
    """A figure that compares with confidential rows: for the steward, never for a release.

    A release refuses to hold one.

    Attributes:
        value: the figure.
    """

    value: T_co

    def __repr__(self) -> str:
        """What it is, without the figure: notebooks and logs keep what is shown in passing."""
        kind = type(self.value).__name__
        return f"Internal({kind}: compares with confidential rows, not for release; see .value)"


class Diagnostic:
    """How a walk went, how records were weighted, what hardly fits: each mechanism has its own."""


Confide = Callable[[Internal[Diagnostic]], None]
"""Takes what a mechanism tells the steward, and nobody else."""


Words = Literal["nearly nothing fits", "over a tenth does not fit", "nearly everything is missing"]

_NEARLY_ALL = 0.95
_MANY = 0.1


@dataclass(frozen=True)
class Misfits(Diagnostic):
    """What hardly fits.

    Attributes:
        no_rows: whether there is no row at all.
        columns: name of each column concerned, with what is to be said of it.
    """

    no_rows: bool
    columns: tuple[tuple[str, Words], ...]


def misfits(engine: Engine) -> Iterator[Internal[Misfits]]:
    """What hardly fits the schema, if anything; one pass over the rows, if they are not at hand.

    Values under a declared code `out_of_domain` fit: a release tells how many they are.
    """
    n_rows = engine.total().expose()
    columns = engine.schema.columns
    tables = engine.count([(j,) for j in range(len(columns))]).expose()
    notes = tuple(
        (name, words)
        for (name, column), table in zip(columns.items(), tables, strict=True)
        for words in _said(column, table, n_rows)
    )
    if notes or not n_rows:
        yield Internal(Misfits(not n_rows, notes))


def _said(column: Column, table: ExactTable, n_rows: int) -> Iterator[Words]:
    """What is to be said of one column, if anything."""
    first = column.n_ordinary + len(column.not_applicable)
    missing = int(table.inside[first : first + len(column.missing)].sum())
    if table.outside > _NEARLY_ALL * n_rows:
        yield "nearly nothing fits"
    elif table.outside > _MANY * n_rows:
        yield "over a tenth does not fit"
    if missing > _NEARLY_ALL * n_rows:
        yield "nearly everything is missing"
