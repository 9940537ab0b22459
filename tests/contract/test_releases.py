"""Whatever the rows and the budget, a release keeps to its schema."""

import datetime
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from understudy.models.model import InferenceFacts
from understudy_verify import verify

POLARS = {
    "sex": pl.Enum(["f", "m"]),
    "age": pl.Int64,
    "job": pl.Enum(["none", "worker", "boss", "?"]),
    "income": pl.Float64,
    "moved": pl.Date,
    "smokes": pl.Boolean,
}
PANDAS = {
    "sex": pd.CategoricalDtype(["f", "m"], ordered=False),
    "age": pd.Int64Dtype(),
    "job": pd.CategoricalDtype(["none", "worker", "boss", "?"], ordered=True),
    "income": np.dtype("float64"),
    "moved": np.dtype("datetime64[ms]"),
    "smokes": pd.BooleanDtype(),
}
ARROW = {"age": pa.int64(), "income": pa.float64(), "moved": pa.date32(), "smokes": pa.bool_()}


def fits(record):
    """Whether every value is one that the schema allows, codes of absence included."""
    return (
        record["sex"] in {"f", "m"}
        and (record["age"] is None or record["age"] in range(100))
        and record["job"] in {"none", "worker", "boss", "?"}
        and (record["income"] == -1 or record["income"] * 10 in range(1001))
        and datetime.date(2000, 1, 1) <= record["moved"] <= datetime.date(2009, 12, 31)
        and record["smokes"] in {True, False, None}
    )


def require_schema_kept(case, release, forbidden, rows):
    assert len(release.tables) == case.sets
    assert {table.height for table in release.tables} == {release.manifest.n_rows}
    if case.rows == "public":
        assert release.manifest.n_rows == len(rows)
    for table in release.tables:
        assert dict(table.schema) == POLARS
        for record in table.iter_rows(named=True):
            assert fits(record), record
            assert not forbidden(record), record


@pytest.mark.parametrize("rows", ["no rows", "one row", "ordinary"])
@pytest.mark.nightly(every=5)
def test_any_rows_give_rows_of_the_schema(one_set, released, tables, forbidden, rows):
    require_schema_kept(one_set, released(one_set, rows), forbidden, tables[rows])


@pytest.mark.parametrize("rows", ["constant", "out of domain"])
@pytest.mark.nightly(every=5)
def test_odd_rows_give_rows_of_the_schema(optioned, released, tables, forbidden, rows):
    """With each option; under which δ, and whether their number is public, has no say in it."""
    require_schema_kept(optioned, released(optioned, rows), forbidden, tables[rows])


@pytest.mark.parametrize("rows", ["no rows", "ordinary"])
@pytest.mark.nightly(every=4)
def test_any_rows_give_several_sets_of_the_schema(several, released, tables, forbidden, rows):
    require_schema_kept(several, released(several, rows), forbidden, tables[rows])


@pytest.mark.nightly(every=3)
def test_a_huge_budget_gives_rows_of_the_schema(one_set, released, tables, forbidden):
    release = released(one_set, "ordinary", one_set.huge())
    require_schema_kept(one_set, release, forbidden, tables["ordinary"])


@pytest.mark.nightly(every=3)
def test_a_huge_budget_for_no_rows_gives_rows_of_the_schema(optioned, released, nobody, forbidden):
    release = released(optioned, "no rows", optioned.huge())
    require_schema_kept(optioned, release, forbidden, nobody)


@pytest.mark.nightly(every=3)
def test_a_tiny_budget_gives_rows_of_the_schema(
    one_set, released, tables, forbidden, least_epsilon
):
    """Whatever the rows: at this ε what they are hardly matters, which is what ε says."""
    release = released(one_set, "ordinary", least_epsilon)
    require_schema_kept(one_set, release, forbidden, tables["ordinary"])


@pytest.mark.parametrize(
    ("rows", "epsilon"),
    [("no rows", "0.00001"), ("out of domain", "1"), ("ordinary", "10000000")],
)
@pytest.mark.nightly(every=28)
def test_any_release_can_be_saved_and_read_again(default, released, tmp_path, rows, epsilon):
    release = released(default, rows, epsilon)
    place = release.save(tmp_path / "out", csv=True)
    require_same(release, us.Release.load(place, frame="polars"))
    assert [said for said in verify(place) if said[1] == "broken"] == []


@pytest.mark.nightly(every=2)
def test_every_kind_of_release_is_read_as_it_was_and_accepted(case, released, saved):
    """What loading refuses of a folder that was altered, no method's own release has; nor what the
    independent checker refuses, which knows nothing but the specification. Pages say what a release
    holds, and are not read: `test_every_kind_of_page_is_written` looks at them."""
    require_same(released(case), us.Release.load(saved(case), frame="polars"))
    assert [said for said in verify(saved(case)) if said[1] == "broken"] == []
    require_described(case, released(case), saved(case))


def require_described(case, release, folder):
    """What inference needs of the method stands in the manifest of a release, and in its folder."""
    inference, facts = release.manifest.inference, case.configured.inference_facts(release.schema)
    assert inference.swept == facts.swept
    assert inference.shrunk == facts.shrunk
    assert inference.independent == facts.independent
    assert inference.modelled == facts.modelled
    wanted = facts.posterior_rule if case.sets_kind == "posterior" else None
    assert inference.posterior_rule == wanted
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert content["format"] == 2
    assert InferenceFacts.from_json(content["inference"]) == inference


def require_same(release, again):
    assert again.manifest == release.manifest
    assert again.schema == release.schema
    for one, two in zip(release.tables, again.tables, strict=True):
        assert one.equals(two)
    for one, two in zip(release.measurements, again.measurements, strict=True):
        assert one.to_json() == two.to_json()
        kept = one.counts != 0  # structural zeros need not be written
        assert dict(zip(one.codes[kept], one.counts[kept], strict=True)) == {
            code: count for code, count in zip(two.codes, two.counts, strict=True) if count
        }


@pytest.mark.nightly(every=3)
def test_every_kind_of_page_is_written(told, released):
    release = released(told)
    for page in release.pages(release).values():
        assert page.lstrip().lower().startswith("<!doctype html>")
        assert page.rstrip().endswith("</html>")


TINY = '[columns.x]\nkind = "boolean"\nsource = "codebook"\nreviewed = true'


def nothing_positive(release):
    counts = [m.counts.max(initial=0) for m in release.measurements]
    cells = [(m.totals or {}).get("positive_cells", 0) for m in release.measurements]
    return max(*counts, *cells) <= 0


def test_a_table_without_a_positive_count_still_gives_rows(counting):
    """Rows out of domain leave two empty cells; some seed makes the noise of both negative."""
    rows = pl.DataFrame({"x": ["?"] * 12})
    schema = counting.schema(12, TINY)
    releases = (
        us.synthesize(rows, schema, **counting.arguments(), insecure_noise_seed=seed)
        for seed in range(200)
    )
    found = next(one for one in releases if nothing_positive(one) and one.manifest.n_rows > 5)
    assert found.tables[0].get_column("x").n_unique() == 2


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
@pytest.mark.nightly(every=3)
def test_the_kind_of_frame_that_came_in_goes_out(accounting, some, tmp_path, kind):
    """Of a few methods: all of them read rows of one kind, and make tables whose types were looked
    at above, from which every kind of frame is made by the same code."""
    frame = some(20).frame
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    if kind == "parquet":
        frame.write_parquet(path)
    given = {"pandas": frame.to_pandas, "polars": frame.clone, "arrow": frame.to_arrow}
    data = given.get(kind, lambda: path)()
    arguments = accounting.arguments() | accounting.permission
    out = us.synthesize(data, accounting.schema(20), **arguments).sets[0]
    if kind == "polars":
        assert dict(out.schema) == POLARS
    elif kind == "arrow":
        assert out.column_names == list(POLARS)
        assert {name: out.schema.field(name).type for name in ARROW} == ARROW
    else:
        assert out.columns.tolist() == list(POLARS)
        assert out.dtypes.to_dict() == PANDAS


def test_public_rows_are_exact_and_private_ones_one_number_for_all_sets(several, released):
    release = released(several)
    assert {len(one) for one in release.sets} == {release.manifest.n_rows}
    assert len(release.sets) == several.sets


def numbers_of_rows(case, n_seeds):
    rows, schema = pl.DataFrame({"x": [True] * 30}), case.schema(30, TINY)
    arguments = case.arguments("20") | case.permission
    return [
        us.synthesize(rows, schema, **arguments, insecure_noise_seed=seed).manifest.n_rows
        for seed in range(n_seeds)
    ]


@pytest.fixture(scope="module")
def bought(accounts):
    """Private numbers of rows by seed, for a way to count what is spent, each made once."""
    return cache(lambda name, n: numbers_of_rows(accounts[name], n))


@pytest.mark.nightly(every=3)
def test_the_private_number_of_rows_has_noise_around_the_truth(accounting, bought):
    """Standard deviations of 1.4 (pure) and 1.6: the mean of 60 runs leaves ±1.3 with probability
    below 1e-9 per case, and 60 runs show fewer than four values with less than 1e-6."""
    found = bought(accounting.budget().accounting, 60)
    assert abs(np.mean(found) - 30) < 1.3
    assert len(set(found)) > 3


@pytest.mark.nightly(every=3)
def test_every_method_has_the_private_number_of_rows_that_was_bought(buying, bought):
    """The number is bought first, so that it follows from the seed and from how ε is counted: no
    method adds to its noise, or takes from it."""
    assert numbers_of_rows(buying, 4) == bought(buying.budget().accounting, 4)


@pytest.mark.nightly(every=3)
def test_free_sets_share_one_fit_and_split_sets_have_their_own(several, released, tables, epsilon):
    """Equal noise in all cells of two fits has a probability below 1e-6. The seed is one by which
    the private number of rows is not clipped to 0: drawn records are told apart by their rows."""
    release = released(several, insecure_noise_seed=3)
    plan = several.plan(len(tables["ordinary"]), epsilon)
    per_fit = len(plan.tables)
    left = Fraction(19, 20) if several.rows == "private" else Fraction(1)
    fits = several.sets if several.sets_kind == "split" else 1
    left -= sum(table.share for table in plan.setup)
    if not several.configured.private:
        assert {one.kind for one in release.measurements} <= {"exact", "posterior", "kept"}
        assert not any(one.totals or one.counts.size for one in release.measurements)
        return
    assert sum(table.share for table in plan.tables) == left / fits
    planned = plan.setup + plan.tables * fits
    done = several.by_plan(planned, release.measurements, lambda one: one.kind == "choice")
    assert all(
        len(one) == 1 or t.form == "rounds" or several.by_rows(t)
        for t, one in zip(planned, done, strict=True)
    )
    done = done[len(plan.setup) :]
    if fits == 1:
        return
    for k in range(per_fit):
        found = done[k::per_fit]
        if plan.tables[k].form == "rounds":
            assert all(found)
            continue
        if several.by_rows(plan.tables[k]) and not any(found):
            continue
        found = [one for (one,) in found]
        if found[0].kind in {"choice", "parameters"}:  # all fits may well choose the same
            continue
        shown = [repr((m.counts.tolist(), m.outside, m.totals)) for m in found]
        if found[0].kind in {
            "draws",
            "sweeps",
        }:  # without noise the records themselves differ
            shown = [repr(table.rows()) for table in release.tables]
        assert len(set(shown)) > 1
