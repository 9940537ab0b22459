"""More records from a release by command."""

import polars as pl
import pyarrow.parquet as pq
import pytest

import understudy as us


def test_records_go_into_a_new_file(understudy, small, tmp_path):
    folder, file = small.folder / "release", tmp_path / "more.parquet"
    conditions = ("--where", "age >= 30", "--where", "city == 'Aa'")
    code, out, _ = understudy("sample", folder, "-n", 40, *conditions, "--seed", 3, "-o", file)
    assert code == 0
    assert "40 records written to" in out
    assert "the same information as the release" in out
    table = pl.read_parquet(file)
    assert table.height == table.filter((pl.col("age") >= 30) & (pl.col("city") == "Aa")).height
    same = us.sample(folder, 40, where=["age >= 30", "city == 'Aa'"], seed=3, frame="polars")
    assert table.equals(same)
    assert table.schema == small.release.tables[0].schema
    assert "same information" in pq.read_schema(file).metadata[b"understudy"].decode()


def test_a_csv_has_its_texts_guarded(understudy, tmp_path):
    schema = us.Schema.loads(
        'rows = "public"\nn_rows = 2\n[columns.a]\nkind = "categorical"\nlevels = ["=1+1", "x"]\n'
        'source = "s"\nreviewed = true\n'
    )
    rows = pl.DataFrame({"a": ["=1+1", "x"]})
    us.synthesize(rows, schema, epsilon=1).save(tmp_path / "release")
    file = tmp_path / "more.csv"
    ask = ("sample", tmp_path / "release", "-n", 3, "--where", "a != 'x'", "--out", file)
    code, out, err = understudy(*ask, "--quiet")
    assert (code, out, err) == (0, "", "")
    assert file.read_text() == "a\n'=1+1\n'=1+1\n'=1+1\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-n", 1, "-o", "more.xls"), "must end in .parquet or .csv"),
        (("-n", 1, "-o", "release/more.csv"), "cannot go into the release"),
        (("-n", 1, "-o", "people.csv"), "already exists; choose another name"),
        (("-n", -1, "-o", "more.csv"), "-n"),
        (("-n", 1, "-o", "more.csv", "--where", "age > 200"), "No value that the schema allows"),
        (("-n", 1, "-o", "more.csv", "--where", "agee > 2"), "did you mean 'age'"),
    ],
)
def test_what_cannot_be_ends_in_a_sentence_and_leaves_no_file(
    understudy, small, monkeypatch, arguments, said
):
    monkeypatch.chdir(small.folder)
    before = sorted(small.folder.iterdir())
    code, out, err = understudy("sample", "release", *arguments)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert sorted(small.folder.iterdir()) == before


MOMENTS = pl.datetime_range(
    pl.datetime(2020, 1, 1), pl.datetime(2020, 12, 30), "1h", eager=True
).sample(400, seed=1)
TIMES = {
    "datetime": (MOMENTS, "lower = 2020-01-01T00:00:00\nupper = 2020-12-31T23:59:59"),
    "date": (MOMENTS.dt.date(), "lower = 2020-01-01\nupper = 2020-12-31"),
    "duration": (MOMENTS - MOMENTS.min(), 'lower = "PT0S"\nupper = "P366D"'),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.nightly
def test_records_of_any_numbers_in_fine_bins_are_drawn_again(kind, tmp_path):
    """The bins of a table are those of its column, in whatever form a release has them."""
    values, bounds = TIMES[kind]
    told = 'source = "s"\nreviewed = true\n'
    schema = us.Schema.loads(
        f'[columns.x]\nkind = "{kind}"\n{bounds}\n{told}'
        f'[columns.g]\nkind = "categorical"\nlevels = ["a", "b"]\n{told}'
    )
    rows = pl.DataFrame({"x": values, "g": ["a", "b"] * 200})
    release = us.synthesize(rows, schema, epsilon=9, delta="1e-6", insecure_noise_seed=1, seed=1)
    release.save(tmp_path / "release")
    drawn = us.sample(tmp_path / "release", 50, seed=1, frame="polars")
    assert drawn.height == 50
    assert drawn.schema == us.Release.load(tmp_path / "release", frame="polars").sets[0].schema
