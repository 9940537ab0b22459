"""With next to no noise a release holds the truth, so nothing but noise stands between the two."""

import pytest

TOLERANCE = 0.25
"""Noise beyond it in any cell: probability below 1e-10 per case, by the scales at `Case.huge`."""


def measured(one, schema):
    """Label tuple → noisy count, structural zeros and whatever else stands at 0 left out."""
    frame = one.frame(schema)
    return {row[:-1]: row[-1] for row in frame.iter_rows() if abs(row[-1]) > TOLERANCE}


def test_tables_are_the_exact_tables(case, some, stranger):
    rows = some(40) + stranger + stranger
    release = case.release(rows, case.huge())
    assert release.manifest.n_rows == len(rows)
    for one in release.measurements:
        exact = rows.counts(one.columns)
        if one.kind == "totals":
            assert one.totals["positive_mass"] == pytest.approx(exact.total(), abs=1)
            continue
        noisy = measured(one, release.schema)
        sure = {cell for cell, n in exact.items() if n > (one.threshold or 0)}
        assert sure <= set(noisy) <= set(exact)
        assert noisy == pytest.approx({cell: exact[cell] for cell in noisy}, abs=TOLERANCE)
        assert one.outside == pytest.approx(len(rows) - exact.total(), abs=TOLERANCE)


def test_records_are_drawn_from_the_measured_tables(whole, some):
    """Without noise, no synthetic record stands where the measured tables are empty."""
    rows = some(5)
    release = whole.release(rows, whole.huge())
    synthetic = release.tables[0].rows(named=True)
    for one in release.measurements:
        named = [name for name in ("sex", "job", "smokes") if name in one.columns]
        real = {tuple(record[name] for name in named) for record in rows.records}
        assert {tuple(record[name] for name in named) for record in synthetic} <= real
