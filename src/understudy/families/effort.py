"""How long a fit takes, and how much memory, foretold from public facts alone.

Figures are those of two busy cores, after compiled code was loaded; a factor of two is to be
expected. Dense tables: `benchmarks/dense.py`, 10 to 40 million cells a second. Marginal methods
rest on `benchmarks/marginals.py`, and for very many columns, levels or rows on
`benchmarks/wide_tables.py` and `benchmarks/large_releases.py`:

* counting each candidate once: 1.5·10⁹ records a second and table, of all rows, since one table of
  several columns serves many;
* 25 µs and 1.2 kB for each state of each column, which is named, coded and freed of noise;
* for a tree of pairs, 20 ms for each column, and 0.26 µs for each candidate at each choice;
* in each round, counting all candidates in records drawn from the model: 5·10⁸ a second and table;
  drawing, choosing and fitting: 10 ms, and 1 ms for each column;
* 24 bytes for each value of the rows, which are coded again over groups, and 5 for each of the
  records drawn; 8 bytes for each cell of all candidates together; 12 for each cell of the largest
  model, and 180 for each cell that is measured (`models.graphical.max_entropy`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.errors import MethodError
from understudy.privacy.gate import Gate
from understudy.schema import Schema

DENSE_CELLS = 2**22
"""Cells of the tables of a fit, together, that are written out unless the user says otherwise."""

ASSUMED_ROWS = 50_000
"""Rows that are counted on, where their number is neither public nor limited."""

_COUNTED = 1.5e9
_STATE_SECONDS, _STATE_BYTES = 2.5e-5, 1200
_DRAWN = (20_000, 200_000)
"""Fewest and most records that are drawn from a model to score candidates."""


@dataclass(frozen=True)
class Effort:
    """What one fit takes.

    Attributes:
        memory_mb: memory beyond the rows at its peak, in megabytes.
        seconds: beyond reading the rows.
        shared: seconds that all fits of a release take together, beside those of each.
    """

    memory_mb: float
    seconds: float
    shared: float = 0.0


def dense_effort(n_cells: int, bytes_per_cell: int) -> Effort:
    """For tables that are written out.

    Args:
        n_cells: of all tables of a fit.
        bytes_per_cell: memory for each of them.
    """
    return Effort(bytes_per_cell * n_cells / 1e6, n_cells / 2e7)


def expected_rows(schema: Schema) -> int:
    """The number of rows, or its limit, or `ASSUMED_ROWS`."""
    known = schema.n_rows if schema.rows == "public" else schema.row_limit
    return ASSUMED_ROWS if known is None else known


def pairs_effort(schema: Schema, model_cells: float) -> Effort:
    """For pairs that are counted once and chosen by a model of single columns.

    Args:
        schema: the columns.
        model_cells: most cells of the model.
    """
    d, n = len(schema.names), expected_rows(schema)
    pairs = [a * b for k, a in enumerate(schema.sizes) for b in schema.sizes[:k]]
    cells = sum(size for size in pairs if size <= model_cells)
    model = min(model_cells, sum(sorted(pairs)[-d:]))
    states = sum(schema.sizes)
    memory = 24 * n * d + 16 * cells + 190 * model + _STATE_BYTES * states
    choosing = d * (0.02 + 2.6e-7 * len(pairs))
    return Effort(memory / 1e6, choosing + len(pairs) * n / _COUNTED + _STATE_SECONDS * states)


def rounds_effort(
    schema: Schema,
    candidates: Sequence[tuple[str, ...]],
    *,
    rounds: float,
    n_drawn: int,
    most_cells: float,
    model_cells: float,
) -> Effort:
    """For rounds that choose among candidates.

    Args:
        schema: the columns.
        candidates: names of the columns of each.
        rounds: how many rounds are expected.
        n_drawn: records drawn from the model in each.
        most_cells: of a candidate.
        model_cells: of the model, at most.
    """
    size = dict(zip(schema.names, schema.sizes, strict=True))
    sizes = [math.prod(size[name] for name in columns) for columns in candidates]
    sizes = [cells for cells in sizes if cells <= most_cells]
    d, n = len(schema.names), expected_rows(schema)
    counted = sum(sizes)
    measured = min(model_cells, rounds * max(sizes, default=0))
    states = sum(schema.sizes)
    memory = 24 * n * d + 5 * n_drawn * d + 8 * counted + 12 * model_cells + 180 * measured
    seconds = len(sizes) * n / _COUNTED + _STATE_SECONDS * states
    seconds += rounds * (len(sizes) * n_drawn / 5e8 + 0.01 + 0.001 * d)
    return Effort((memory + _STATE_BYTES * states) / 1e6, seconds)


def records_drawn(n_rows: float) -> int:
    """Records that are drawn from a model of so many to score candidates."""
    return int(min(max(2 * n_rows, _DRAWN[0]), _DRAWN[1]))


def known_rows(gate: Gate) -> int:
    """The number of rows, as declared or bought; its public limit where it was not bought.

    Raises:
        MethodError: neither known nor limited.
    """
    limit = gate.schema.row_limit
    try:
        return gate.n_rows.value
    except MethodError:
        if limit is None:
            raise
        return limit
