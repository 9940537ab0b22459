"""Records in each state of a column of numbers, as its one-way tables tell them.

A fine table, of which noise is taken (`models.held_states`, `models.number_tails`), and the first
one over runs of its states, if there is one, whose counts have the noise of one state each. A
column measured more than once has the mean of its tables. All of it is post-processing of released
tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from understudy.arrays import Floats
from understudy.families.noisy_marginal import NoisyMarginal
from understudy.models.held_states import held_states
from understudy.models.number_tails import LEAST_HELD, estimated_records, with_runs
from understudy.privacy.noise_record import Noise
from understudy.schema import NUMERIC, Schema


def number_masses(
    schema: Schema,
    marginals: Sequence[NoisyMarginal],
    n_rows: float,
    known: Mapping[str, Floats] | None = None,
) -> dict[str, Floats]:
    """Estimated records in each state of the columns of numbers, with tails (`number_tails`).

    Args:
        schema: states not merged.
        marginals: tables, among them one-way ones, some also over runs of their states.
        n_rows: number of rows.
        known: earlier estimates; states that held hardly anybody then are empty now.
    """
    masses = {}
    for name, marginal in fine_tables(marginals).items():
        column, table = schema.columns[name], marginal.table
        if not isinstance(column, NUMERIC):
            continue
        noisy = marginal.by_state(schema.table((name,)).allowed_mask())
        if known is None:
            inside, normal = n_rows - max(table.outside, 0.0), marginal.noise.family.is_gaussian
            held = held_states(column, noisy.counts, noisy.deviations, inside, normal=normal)
        else:
            held = known[name] > LEAST_HELD
        found = estimated_records(column, noisy.counts, noisy.deviations, n_rows, held)
        over = [m for m in marginals if m.table.columns == (name,) and m.table.groups]
        if over:  # the first was measured before any round
            runs = np.array(over[0].table.groups[name])
            counts, spread = np.asarray(over[0].table.counts), over[0].stddev
            found = with_runs(found, noisy.deviations, runs, counts, spread)
        masses[name] = found
    return masses


def fine_tables(marginals: Sequence[NoisyMarginal]) -> dict[str, NoisyMarginal]:
    """The one-way table of each column in states that are not merged; the mean of several."""
    found: dict[str, NoisyMarginal] = {}
    for marginal in marginals:
        if len(marginal.table.columns) == 1 and not marginal.table.groups:
            (name,) = marginal.table.columns
            found[name] = averaged(found[name], marginal) if name in found else marginal
    return found


def averaged(one: NoisyMarginal, other: NoisyMarginal) -> NoisyMarginal:
    """The mean, by inverse variance, of two tables of the same cells with independent noise.

    Of Gaussian noise that is as good as a single table for the cost of both; of Laplace noise it is
    not. Its noise is named as that of the first.

    Args:
        one: a table.
        other: of the same columns, bins and groups.
    """
    variances = one.stddev**2, other.stddev**2
    share = variances[0] / sum(variances)  # of the other
    counts = np.asarray(one.table.counts, dtype=np.float64)
    counts = counts + share * (np.asarray(other.table.counts) - counts)
    outside = one.table.outside + share * (other.table.outside - one.table.outside)
    variance = share * variances[1]
    noise = Noise(one.noise.distribution, str(variance), math.sqrt(variance))
    return replace(
        one,
        table=replace(one.table, counts=counts, outside=float(outside)),
        noise=noise,
        line=one.line or other.line,
    )
