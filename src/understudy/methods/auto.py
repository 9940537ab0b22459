"""What `auto` stands for, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

from understudy.families.fine_bins import fine_bins
from understudy.schema import Schema

AUTO_CELLS = 1_000
"""Cells of a full table that `auto` measures, at most."""
RECORDS_PER_CELL = 4
"""Records per cell and unit of 1/ε from which on it does."""
ASSUMED_ROWS = 1_000
"""Records that it counts on where their number is private."""
MANY_COLUMNS = 100


def choose(schema: Schema, epsilon: Fraction, delta: Fraction = Fraction(0)) -> tuple[str, str]:
    """The method that `auto` stands for, and why; from public facts alone.

    A full table of few cells keeps everything and answers everything; it is taken while the noise
    of all its cells is small beside the records, of which a thousand are assumed where their number
    is private. Beyond, marginals are closer to the rows than any other method here at ε = 1, pure
    or not (`benchmarks/utility.py`); of very many columns a tree of pairs is chosen in less time.
    Marginals are chosen where numbers have the default bins, too: they count these in fine bins,
    where a full table would keep the few.

    Args:
        schema: the public schema.
        epsilon: ε of the release.
        delta: δ of the release.
    """
    n_cells, d = schema.domain.n_allowed, len(schema.names)
    rows = schema.n_rows if schema.rows == "public" else ASSUMED_ROWS
    most = min(AUTO_CELLS, int((rows or 0) * epsilon / RECORDS_PER_CELL))
    cells = (
        f"the full table has {n_cells:,} cells"
        if n_cells < 10**6
        else (f"the full table has about 10^{len(str(n_cells)) - 1} cells")
    )
    fine = fine_bins(schema)
    if n_cells <= most and not delta and not fine:
        return "laplace", f"{cells}, at most {most:,} at this epsilon"
    if d > MANY_COLUMNS:
        return "mst", f"there are {d} columns, more than {MANY_COLUMNS}"
    if n_cells > most:
        why = f"more than {most:,}"
    elif delta:
        why = "and delta above 0 asks for Gaussian noise"
    else:
        why = f"and {next(iter(fine))} has numbers whose bins follow from noisy counts"
    return "marginals", f"{cells}, {why}"
