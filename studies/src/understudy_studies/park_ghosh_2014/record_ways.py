"""The ways to make 1,000 records that are compared, each by the code that a release calls.

All budgets are for one record more or less. The paper's three ways spend ε for each record, so
1,000·ε for the table; those of our own are given a total budget. Where no budget is named, the rows
are used as they are: such a line is a mark to compare with, and no release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy import pipeline
from understudy.pipeline import budget_shares
from understudy.pipeline.request import request_of
from understudy.pipeline.set_drawing import draw_sets
from understudy.privacy.mechanisms.counts.noisy_table import RowCount
from understudy.privacy.mechanisms.records.gibbs_chain import state_weight
from understudy.privacy.mechanisms.records.imputation_draws import imputed_records
from understudy.privacy.mechanisms.records.perturbed_gibbs import gibbs_records
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import block_records
from understudy.privacy.mechanisms.records.urn import prior_weight
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Records
from understudy_studies.framework.random_streams import Streams
from understudy_studies.park_ghosh_2014 import patient_case
from understudy_studies.park_ghosh_2014.pegs_papers import BLOCK, N_RECORDS, PEGS, PMI, RESET
from understudy_studies.park_ghosh_2014.prepared import Pool, frame, hashed, imputers

Values = NDArray[np.float64]
States = NDArray[np.int64]

PEGS_READ, RESET_READ = "PeGS, as published", "PeGS.rs, as published"
LONG_BLOCK = "PeGS.rs, one block"
TABLES_TOTAL, TABLES = "pegs-tables, same total", "pegs-tables"
MARGINALS = "marginals"
MI, FULL, BOOTSTRAP, UNIFORM = "MI", "contingency table", "marginal bootstrap", "uniform"
ROWS = "rows unchanged"

Budget = Literal["record", "table", "none"]


@dataclass(frozen=True)
class Line:
    """A way to make records.

    Attributes:
        budget: what ε is for: each record, the whole table, or nothing.
        words: what it is.
        method: name in the table of methods, if it is made by one.
        options: its options.
        block: records of a block with reset; None for none.
        read: whether seeds and orders of columns are read off the rows, as the paper does.
        most: largest ε that it is made at.
    """

    budget: Budget
    words: str
    method: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    block: int | None = None
    read: bool = False
    most: float = math.inf

    def total(self, epsilon: float) -> float:
        """ε of the table."""
        return epsilon * N_RECORDS if self.budget == "record" else epsilon


LINES: dict[str, Line] = {
    PEGS: Line("record", "perturbed Gibbs sampler, one sweep for each record"),
    RESET: Line("record", f"blocks of {BLOCK} records with reset", block=BLOCK),
    PMI: Line("record", "perturbed multiple imputation, one sweep for each record"),
    PEGS_READ: Line("record", "PeGS with seeds and orders read off the rows, unpaid", read=True),
    RESET_READ: Line("record", "PeGS.rs with seeds and orders read off the rows, unpaid",
                     block=BLOCK, read=True),
    TABLES_TOTAL: Line("record", "all hashed tables with noise, at the total of PeGS",
                       "pegs-tables"),
    TABLES: Line("table", "all hashed tables with noise, at a total of ε", "pegs-tables"),
    LONG_BLOCK: Line("table", "one block of 1,000 records with reset", block=N_RECORDS),
    MARGINALS: Line("table", "the default method, at a total of ε up to 10", "marginals", most=10),
    MI: Line("none", "multiple imputation, nothing perturbed, 10 sweeps"),
    FULL: Line("none", "records of the table drawn with replacement"),
    BOOTSTRAP: Line("none", "columns drawn independently, shares from a Bayesian bootstrap"),
    UNIFORM: Line("none", "all cells alike; nothing of the rows is used"),
    ROWS: Line("none", "the table itself, all of its rows"),
}  # fmt: skip
"""The paper's three ways, six of our own, and five marks to compare with."""

PRIVATE = tuple(name for name, line in LINES.items() if line.budget != "none")
MARKS = tuple(name for name, line in LINES.items() if line.budget == "none")

_SWEEPS_UNPERTURBED = 10


def records_of(
    table: patient_case.Case, name: str, epsilon: float | None, streams: Streams
) -> States:
    """States of 1,000 records, shape (d, 1,000); of all rows, where they are left unchanged.

    Args:
        table: the rows.
        name: one of `LINES`.
        epsilon: budget, for each record or for the table; None where there is none.
        streams: everything random.
    """
    line = LINES[name]
    if line.method and epsilon is not None:
        return _released(table, line, epsilon, streams)
    if name in (PMI, MI):
        return _imputed(table, epsilon, streams)
    if epsilon is not None:
        return _swept(table, line, epsilon, streams.randomness("records"))
    return _marked(table, name, streams.generator("records"))


def _swept(table: patient_case.Case, line: Line, epsilon: float, randomness: Randomness) -> States:
    sweep, rows = hashed(table.name, line.read)
    if line.read:
        sweep = replace(sweep, domain=Pool(sweep.domain.sizes, records=table.table))
    # A block costs as much as each of its tables does; its records share what they may spend.
    shared = (line.block or 1) if line.budget == "record" else 1
    prior = state_weight(Fraction(str(epsilon)) * shared / len(table.sizes))
    if line.block:
        return _stacked(
            block_records(rows, sweep, prior, N_RECORDS, block=line.block, randomness=randomness)
        )
    return _stacked(gibbs_records(rows, sweep, prior, N_RECORDS, randomness=randomness))


def _imputed(table: patient_case.Case, epsilon: float | None, streams: Streams) -> States:
    """One sweep for what is paid by the record, several where nothing is."""
    prior, sweeps = None, _SWEEPS_UNPERTURBED
    if epsilon is not None:
        step = Fraction(str(epsilon)) / len(table.sizes)
        prior, sweeps = prior_weight(1, step, reinforced=False), 1
    randomness = streams.randomness("records")
    fitted = imputers(table.name)
    domain = table.schema.domain
    return _stacked(
        imputed_records(fitted, domain, prior, N_RECORDS, sweeps=sweeps, randomness=randomness)
    )


def _released(table: patient_case.Case, line: Line, epsilon: float, streams: Streams) -> States:
    """By a method of the table of methods, as a release is made."""
    request = request_of(
        table.schema,
        method=line.method,
        epsilon=line.total(epsilon),
        delta=0,
        sets=1,
        options=dict(line.options),
        rows_share=budget_shares.DEFAULT_ROWS_SHARE,
    )
    seed = int(streams.generator("noise").integers(2**63))
    gate = pipeline.replica_gate(frame(table.name), table.schema, request.budget, seed)
    gate.ask(RowCount(), spend=request.rows_spend)
    prepared = request.method.setup(gate, request.setup_spend, fits=request.fits)
    (drawn,) = draw_sets(request, prepared, gate, N_RECORDS, streams.generator("records"))
    return np.stack(drawn.states)


def _marked(table: patient_case.Case, name: str, rng: np.random.Generator) -> States:
    """What is drawn without any budget."""
    rows = table.table
    if name == ROWS:
        return rows
    if name == FULL:
        return rows[:, rng.integers(table.n_rows, size=N_RECORDS)]
    if name == UNIFORM:
        return np.stack([rng.integers(size, size=N_RECORDS) for size in table.sizes])
    drawn = []
    for states, size in zip(rows, table.sizes, strict=True):
        # Independent gamma numbers over their sum are a Dirichlet draw; empty states stay empty.
        weight = rng.gamma(np.bincount(states, minlength=size))
        drawn.append(rng.choice(size, N_RECORDS, p=weight / weight.sum()))
    return np.stack(drawn)


def _stacked(records: Records) -> States:
    return np.stack(records.columns)
