"""The scores of the utility tables are those of evaluate."""

import json

import numpy as np
import polars as pl
import pytest

import understudy as us
import yardstick
from understudy.demo import demo_data, demo_schema
from understudy.evaluate.comparison import Comparison
from understudy.release.release import Release

AREA = "trained on synthetic, area under the curve"

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def rows():
    return pl.from_pandas(demo_data()[:600])


@pytest.fixture(scope="module")
def release(rows) -> Release:
    return us.synthesize(
        rows, demo_schema(), method="independent", epsilon=1, insecure_noise_seed=1
    )


@pytest.fixture(scope="module")
def found(rows, release):
    comparison = Comparison.of(release.schema, rows, release.tables)
    target = release.schema.names.index("religious")
    return {
        **yardstick.distances(comparison),
        **yardstick.discrimination(comparison),
        **yardstick.kept(comparison, rows, release.tables[0]),
        **yardstick.prediction(comparison, target),
    }


@pytest.fixture(scope="module")
def scores(rows, release):
    return us.evaluate(rows, release, target="religious").value.scores


@pytest.mark.nightly
def test_every_score_is_that_of_evaluate(scores, found):
    told = {yardstick.KEYS[s.definition.name]: s for s in scores if s.definition.short}
    assert {key for key in found if not key.endswith(yardstick.FRESH)} == {*told, "pmse"}
    drawn = {"mean_error", "sd_error", "decile_error"}  # their fresh samples have another stream
    for key, score in told.items():
        assert found[key] == pytest.approx(score.value, abs=1e-12), key
        if key + yardstick.FRESH in found and key not in drawn and "kept" not in key:
            assert found[key + yardstick.FRESH] == pytest.approx(score.null), key
    [ratio] = [s.ratio for s in scores if s.name == "pMSE, logistic, main effects"]
    assert found["pmse"] == pytest.approx(ratio)


@pytest.mark.nightly
def test_records_are_plain_numbers(found):
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_every_key_has_a_heading_and_no_former_one():
    assert not set(yardstick.TITLES) & set(yardstick.FORMER)
    assert all(yardstick.TITLES.values())
    assert {"means_kept", "correlations_kept", "trained_auc"} <= yardstick.HIGH


@pytest.mark.nightly
def test_what_real_rows_reach_does_not_depend_on_the_set(rows, release, scores):
    target = release.schema.names.index("religious")
    other = rows.select(column.shuffle(1) for column in rows)
    comparison = Comparison.of(release.schema, rows, [other])
    reached = yardstick.prediction(comparison, target, real_rows=True)
    nulls = {s.name: s.null for s in scores}
    assert reached["trained_auc"] == nulls[f"{AREA} for religious"]
    assert reached.keys() == {"trained_auc", "trained_accuracy"}


def test_tables_with_too_many_cells_are_left_out(rows, release):
    comparison = Comparison.of(release.schema, rows, release.tables)
    far = yardstick.distances(comparison, most_cells=1)
    assert np.isnan(far["tv2"])
    assert np.isnan(far["three_way"])
    assert far["tv1"] == yardstick.distances(comparison)["tv1"]
