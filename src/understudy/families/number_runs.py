"""Runs of fine bins, in which columns of numbers are measured by themselves once more.

Where noise is known to be Gaussian, half of what a column of numbers costs buys its fine bins, and
half the runs that these tell: what a run holds is known by the noise of one cell then.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from understudy.families.measurement_plan import size_weights
from understudy.families.merged_columns import coarse_groups
from understudy.families.noisy_marginal import NoisyMarginal
from understudy.families.number_masses import fine_tables, number_masses
from understudy.models.graphical.merged_state_model import RARE
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.released import Groups
from understudy.schema import NUMERIC, Schema

LEAST_RUNS = 24
"""Runs of a column, even where tables of two have fewer."""
LIGHT = 0.75
"""Deviations of the noise summed over its fine bins that a run holds at least, with room."""
LIGHT_ROOM = 16.0
"""Cells that noise must leave room for in a table of two columns, or it holds as many as others."""


def wide_numbers(schema: Schema, budget: Budget, most: int) -> tuple[str, ...]:
    """Columns of numbers that are measured in fine bins, and then in runs of these.

    Not without δ, where half of the cost is twice the noise, nor where all is one column.

    Args:
        schema: in fine bins.
        budget: for its accounting.
        most: runs of a column; columns with fewer states are measured once.
    """
    if budget.accounting == "pure" or len(schema.names) == 1:
        return ()
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, NUMERIC) and column.size > most
    )


def finer_runs(
    schema: Schema,
    marginals: Sequence[NoisyMarginal],
    n_rows: float,
    wide: tuple[str, ...],
    *,
    bins: int,
    room: float,
) -> Groups:
    """Runs in which columns of numbers are measured by themselves once more.

    Such a run needs no more records than make it worth the noise of one cell: the noise of its fine
    bins, which adds up in it, is gone once it is measured. Of few records those runs are better
    that fine bins tell apart for certain.

    Args:
        schema: in fine bins.
        marginals: a one-way table of each column.
        n_rows: number of rows.
        wide: columns to be measured once more.
        bins: runs of a column in tables of two; about so many of equal mass, `LEAST_RUNS` at least.
        room: cells that noise leaves room for in a table of two columns (`coarse_groups`).
    """
    masses = number_masses(schema, marginals, n_rows)
    ones = [one for name, one in fine_tables(marginals).items() if name in wide]
    rare = LIGHT if room > LIGHT_ROOM else RARE
    most = max(bins, LEAST_RUNS)
    return coarse_groups(schema, ones, most, masses, room=room, rare=rare)


def runs_spend(schema: Schema, bought: Fraction, wide: tuple[str, ...]) -> Fraction:
    """What tables of runs cost: as much as the fine tables of the same columns."""
    fine = dict(zip(schema.names, size_weights(schema, 2 / 3, wide), strict=True))
    again = sum((fine[name] for name in wide), Fraction(0))
    return bought * again / (sum(fine.values()) + again)
