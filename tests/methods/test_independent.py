"""Independent columns follow their tables, without the noise of states that nobody has."""

import numpy as np
import polars as pl

import understudy as us
from understudy.models.tables import project

SCHEMA = us.Schema.loads(
    'rows = "public"\nn_rows = 400\n[columns.code]\nkind = "categorical"\n'
    f'levels = {[f"c{k}" for k in range(200)]}\nsource = "codebook"\nreviewed = true\n'
)


def test_columns_follow_the_nearest_counts_without_negative_ones():
    """400 records in two of 200 states, noise of scale 2: noise set to 0 where it is negative would
    leave about 200 records' worth in empty states; the nearest counts have less than half of it."""
    rows = pl.DataFrame({"code": ["c3", "c7"] * 200})
    release = us.synthesize(
        rows, SCHEMA, epsilon=1, method="independent", sets=1, seed=1, insecure_noise_seed=1
    )
    noisy = np.asarray(release.measurements[0].counts, dtype=np.float64)
    clipped, nearest = np.maximum(noisy, 0), project(noisy, noisy.sum())
    empty = [k for k in range(200) if k not in (3, 7)]
    assert nearest[empty].sum() < clipped[empty].sum() / 2
    states = [int(code[1:]) for code in release.tables[0]["code"].to_list()]
    drawn = np.bincount(states, minlength=200)
    assert not drawn[nearest == 0].any()
    expected = 400 * nearest / nearest.sum()
    assert (np.abs(drawn - expected) < 6 * np.sqrt(expected + 1)).all()
