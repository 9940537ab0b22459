"""Making 1,000 records in each way, by the code that a release calls."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.dp.randomness import Randomness
from understudy.dp.released import Records
from understudy.mechanisms.tables import RowCount
from understudy.mechanisms.urn import prior_weight
from understudy.papers.gibbs_mechanisms import HashedRows, state_weight
from understudy.papers.imputation_draws import imputed_records
from understudy.papers.perturbed_gibbs import block_records, diverse_records, gibbs_records
from understudy.schema import GibbsSweep
from understudy.workflow.analyze import replica_gate
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.request import request_of
from understudy.workflow.synthesize import draw_sets
from understudy_studies.framework.random_streams import Streams
from understudy_studies.park_ghosh_2014 import patient_case
from understudy_studies.park_ghosh_2014.pegs_papers import N_RECORDS, PMI
from understudy_studies.park_ghosh_2014.prepared import Pool, frame, hashed, imputers
from understudy_studies.park_ghosh_2014.record_lines import (
    ALL_FULL,
    EVERY,
    FULL,
    MI,
    PMI_READ,
    ROWS,
    UNIFORM,
    Line,
)

Values = NDArray[np.float64]
States = NDArray[np.int64]

_SWEEPS_UNPERTURBED = 10


def records_of(
    table: patient_case.Case, name: str, epsilon: float | None, streams: Streams
) -> States:
    """States of 1,000 records, shape (d, 1,000); of all rows, where they are left unchanged.

    Args:
        table: the rows.
        name: one of `record_lines.EVERY`.
        epsilon: budget, for each record or for the table; None where there is none.
        streams: everything random.
    """
    line = EVERY[name]
    if line.method and epsilon is not None:
        return _released(table, line, epsilon, streams)
    if name in (PMI, PMI_READ, MI):
        return _imputed(table, line, epsilon, streams)
    if line.diversity is not None:
        return _diverse(table, line, line.diversity, streams.randomness("records"))
    if epsilon is not None:
        return _swept(table, line, epsilon, streams.randomness("records"))
    return _marked(table, name, streams.generator("records"))


def _prepared(table: patient_case.Case, line: Line) -> tuple[GibbsSweep, tuple[HashedRows, ...]]:
    """Sweep and tables; with real records for seeds where the line has them."""
    sweep, rows = hashed(table.name, line.reading)
    if line.reading.read:
        sweep = replace(sweep, domain=Pool(sweep.domain.sizes, records=table.table))
    return sweep, rows


def _swept(table: patient_case.Case, line: Line, epsilon: float, randomness: Randomness) -> States:
    sweep, rows = _prepared(table, line)
    # A block costs as much as each of its tables does; its records share what they may spend.
    shared = (line.block or 1) if line.budget == "record" else 1
    prior = state_weight(Fraction(str(epsilon)) * shared / len(table.sizes))
    asked = (rows, sweep, prior, N_RECORDS)
    if line.block:
        drawn = block_records(*asked, block=line.block, randomness=randomness, shares=line.shares)
    else:
        drawn = gibbs_records(*asked, randomness=randomness, shares=line.shares)
    return _stacked(drawn)


def _diverse(
    table: patient_case.Case, line: Line, diversity: int, randomness: Randomness
) -> States:
    """The rows of what the intruder wants to know are made ℓ-diverse, the others left alone."""
    sweep, rows = _prepared(table, line)
    wanted = table.places((table.intruder.levels, table.intruder.number.column))
    return _stacked(
        diverse_records(
            rows, sweep, N_RECORDS, diversity=diversity, sensitive=wanted, randomness=randomness
        )
    )


def _imputed(
    table: patient_case.Case, line: Line, epsilon: float | None, streams: Streams
) -> States:
    """One sweep for what is paid by the record, several where nothing is."""
    prior, sweeps = None, _SWEEPS_UNPERTURBED
    if epsilon is not None:
        step = Fraction(str(epsilon)) / len(table.sizes)
        prior, sweeps = prior_weight(1, step, reinforced=False), 1
    randomness = streams.randomness("records")
    fitted, domain = imputers(table.name), table.schema.domain
    if line.reading.read:
        domain = Pool(domain.sizes, records=table.table)
    return _stacked(
        imputed_records(fitted, domain, prior, N_RECORDS, sweeps=sweeps, randomness=randomness)
    )


def _released(table: patient_case.Case, line: Line, epsilon: float, streams: Streams) -> States:
    """By a method of the table of methods, as a release is made."""
    order = {"order": list(table.order)} if line.method == "pegs" else {}
    request = request_of(
        table.schema,
        epsilon=line.total(epsilon),
        how=SynthesisOptions(method=line.method, options=dict(line.options) | order),
    )
    seed = int(streams.generator("noise").integers(2**63))
    gate = replica_gate(frame(table.name), table.schema, request.budget, seed)
    gate.ask(RowCount(), spend=request.rows_spend)
    prepared = request.method.setup(gate, request.setup_spend, fits=request.fits)
    (drawn,) = draw_sets(request, prepared, gate, N_RECORDS, streams.generator("records"))
    return np.stack(drawn.states)


def _marked(table: patient_case.Case, name: str, rng: np.random.Generator) -> States:
    """What is drawn without any budget."""
    rows = table.table
    if name == ROWS:
        return rows
    if name in (FULL, ALL_FULL):
        return rows[:, rng.integers(table.n_rows, size=N_RECORDS if name == FULL else table.n_rows)]
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
