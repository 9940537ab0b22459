"""A release holds the truth and the noise that it states, in every cell, and nothing else."""

import numpy as np
import pytest

from understudy.data.coding import Coder
from understudy.data.table import Table

TOLERANCE = 0.25
"""Noise beyond it in any cell: probability below 1e-10 per case, by the scales at `Case.huge`."""


def measured(one, schema):
    """Label tuple → noisy count, structural zeros and whatever else stands at 0 left out."""
    frame = one.frame(schema)
    return {row[:-1]: row[-1] for row in frame.iter_rows() if abs(row[-1]) > TOLERANCE}


@pytest.mark.nightly(every=3)
def test_tables_are_the_exact_tables(measuring, released, tables):
    rows = tables["ordinary"]
    release = released(measuring, "ordinary", measuring.huge())
    assert release.manifest.n_rows == len(rows)
    for one in release.measurements:
        exact = (rows.fitting if "nodes" in measuring.forms else rows).counts(one.columns)
        if one.kind not in {"table", "cells", "totals"} or one.bins:
            continue
        if one.kind == "totals":
            assert one.totals["positive_mass"] == pytest.approx(exact.total(), abs=1)
            continue
        noisy = measured(one, release.schema)
        sure = {cell for cell, n in exact.items() if n > (one.threshold or 0)}
        assert sure <= set(noisy) <= set(exact)
        assert noisy == pytest.approx({cell: exact[cell] for cell in noisy}, abs=TOLERANCE)
        assert one.outside == pytest.approx(len(rows) - exact.total(), abs=TOLERANCE)


@pytest.mark.nightly(every=3)
def test_records_are_drawn_from_the_measured_tables(whole, some):
    """Without noise, no synthetic record stands where the measured tables are empty."""
    rows = some(5)
    release = whole.release(rows, whole.huge())
    synthetic = release.tables[0].rows(named=True)
    for one in release.measurements:
        named = [name for name in ("sex", "job", "smokes") if name in one.columns]
        real = {tuple(record[name] for name in named) for record in rows.records}
        assert {tuple(record[name] for name in named) for record in synthetic} <= real


@pytest.mark.nightly(every=3)
def test_cells_come_in_an_order_that_says_nothing(one_set, released):
    for one in released(one_set, insecure_noise_seed=3).measurements:
        assert (np.diff(one.codes) > 0).all()


@pytest.mark.parametrize("seed", [3, 4])
def test_records_stand_only_where_a_noisy_count_is_positive(counting_modelling, released, seed):
    """Unless a table has no positive count at all: then its cells are equally likely."""
    release = released(counting_modelling, insecure_noise_seed=seed)
    names, sizes = release.schema.names, release.schema.sizes
    states = [column.astype(np.int64) for column in Coder(release.schema).code(release.tables[0])]
    for one in release.measurements:
        places = [names.index(name) for name in one.columns]
        cells = np.ravel_multi_index([states[j] for j in places], [sizes[j] for j in places])
        positive = set(one.codes[one.counts > 0].tolist())
        assert not positive or set(cells.tolist()) <= positive


def test_empty_cells_have_noise_too(counting, nobody):
    """A filtered table has about ten survivors: none at all has a probability of e⁻¹⁰."""
    measured = counting.release(nobody, insecure_noise_seed=1).measurements
    assert any(one.counts.any() or (one.totals or {}).get("positive_mass") for one in measured)


@pytest.mark.nightly(every=3)
def test_the_noise_in_empty_cells_is_what_is_stated(dense, nobody):
    """Mean square of 1,500 numbers in units of the stated deviation. Its own deviation is at most
    √(5/1500) = 0.058, so ± 0.35 is left with probability below 1e-5; a scale that is wrong by 30 %
    would give 0.49 or 1.69."""
    rows, schema = nobody.frame, dense.schema(0)
    squares, n, seed = 0.0, 0, 0
    while n < 1500:
        gate = dense.gate(Table(rows, schema), seed)
        dense.ask(gate, gate.budget.amount)
        for released, entry in zip(gate.measured, gate.ledger, strict=True):
            numbers = np.append(released.value.counts, released.value.outside)
            squares += ((numbers / released.noise.stddev) ** 2).sum()
            n += entry.cells
        seed += 1
    assert abs(squares / n - 1) < 0.35
