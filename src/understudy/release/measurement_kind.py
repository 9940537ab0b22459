"""What kinds of measurements there are, and what each of them has."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a measurement is, by the word that stands in a manifest."""

    TABLE = "table"
    CELLS = "cells"
    TOTALS = "totals"
    SUCCESSES = "successes"
    SUMS = "sums"
    MEANS = "means"
    SCATTER = "scatter"
    PRODUCTS = "products"
    RANKS = "ranks"
    DRAWS = "draws"
    SWEEPS = "sweeps"
    DISTRIBUTION = "distribution"
    NODES = "nodes"
    LEAF_SUMS = "leaf-sums"
    RANGES = "ranges"
    LINE = "line"
    HEAPS = "heaps"
    CHOICE = "choice"
    PARAMETERS = "parameters"
    POSTERIOR = "posterior"
    KEPT = "kept"
    EXACT = "exact"

    @property
    def has_every_cell(self) -> bool:
        """Whether every cell of a table has a number in it."""
        return self in (Kind.TABLE, Kind.SUMS, Kind.MEANS, Kind.DISTRIBUTION)

    @property
    def is_joint(self) -> bool:
        """Whether it is of all its columns at once, so that records drawn from it relate them."""
        return self not in (Kind.CHOICE, Kind.PRODUCTS, Kind.RANKS, Kind.LINE, Kind.HEAPS)

    @property
    def has_nodes(self) -> bool:
        """Whether its numbers belong to nodes of a hierarchy."""
        return self in (Kind.NODES, Kind.LEAF_SUMS)

    @property
    def has_cells(self) -> bool:
        """Whether it has numbers of cells, nodes or ranges, in a file of their own."""
        stored = (Kind.CELLS, Kind.RANGES, Kind.PRODUCTS, Kind.RANKS, Kind.LINE, Kind.HEAPS)
        return self.has_every_cell or self.has_nodes or self in stored

    @property
    def is_noisy_count(self) -> bool:
        """Whether its numbers are counts with noise of their own, one by one."""
        return self in (Kind.TABLE, Kind.NODES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_total(self) -> bool:
        """Whether its numbers add up to a noisy number of records."""
        return self.is_noisy_count or self in (Kind.CELLS, Kind.TOTALS)

    @property
    def is_of_numbers(self) -> bool:
        """Whether numeric columns are summed."""
        return self in (Kind.SUMS, Kind.MEANS, Kind.SCATTER)

    @property
    def is_of_one_column(self) -> bool:
        """Whether it is of one column, never of several."""
        return self in (Kind.SUCCESSES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_keys(self) -> bool:
        """Whether it says what each column is drawn given."""
        return self in (Kind.SWEEPS, Kind.POSTERIOR)

    @property
    def has_noise(self) -> bool:
        """Whether it is noise, or a draw from rows and a prior, that protects it."""
        return self not in (Kind.CHOICE, Kind.PARAMETERS, Kind.POSTERIOR, Kind.KEPT)

    @property
    def has_stddev(self) -> bool:
        """Whether one number of it has noise of a known standard deviation."""
        unknown = (Kind.MEANS, Kind.DRAWS, Kind.SWEEPS, Kind.EXACT)
        return self.has_noise and self not in unknown

    @property
    def totals(self) -> tuple[str, ...] | None:
        """Names of its single numbers; None where they are names of its own."""
        if self in (Kind.SWEEPS, Kind.PARAMETERS):
            return None
        return _TOTALS.get(self, ())


_TOTALS = {
    Kind.TOTALS: ("positive_cells", "positive_mass"),
    Kind.LEAF_SUMS: ("positive_cells", "positive_mass"),
    Kind.SUCCESSES: ("successes",),
    Kind.SCATTER: ("scatter",),
    Kind.DRAWS: ("prior", "cells", "reinforced"),
}
