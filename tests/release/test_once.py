"""What is worked out once for a release: for that one alone, and for each thing by itself."""

from dataclasses import replace

import polars as pl
import pytest

import understudy as us
from schemas import PEOPLE
from understudy.release.release import once


@pytest.fixture(scope="module")
def release():
    rows = pl.DataFrame({"city": ["Aa", "Bb"] * 20, "age": [*range(40)]})
    return us.synthesize(
        rows, us.Schema.loads(PEOPLE), method="independent", epsilon=1, insecure_noise_seed=1
    )


def counted():
    asked = []

    @once
    def rows_and(release, name, *, more=0):
        asked.append(name)
        return release.manifest.n_rows, name, more

    return rows_and, asked


def test_the_same_is_worked_out_once(release):
    rows_and, asked = counted()
    first = rows_and(release, "age")
    assert rows_and(release, "age") is first
    assert rows_and(release, "city") == (release.manifest.n_rows, "city", 0)
    assert rows_and(release, "age", more=1)[2] == 1
    assert asked == ["age", "city", "age"]


def test_another_release_starts_anew(release):
    rows_and, asked = counted()
    other = replace(release, manifest=replace(release.manifest, n_rows=7))
    assert rows_and(release, "x")[0] == release.manifest.n_rows != 7
    assert rows_and(other, "x")[0] == 7
    assert asked == ["x", "x"]


def test_a_measurement_knows_its_cells_by_the_schema_that_it_is_asked_with(release):
    table = next(one for one in release.measurements if one.columns == ("city",))
    schema = release.schema
    domain = table.domain(schema)
    assert table.domain(schema) is domain
    other = us.Schema.loads(PEOPLE)
    assert table.domain(other) is not domain
    assert table.domain(other).sizes == domain.sizes == schema.table(("city",)).sizes
