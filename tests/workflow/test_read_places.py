"""Tables of places that others measured: plain files, files of the Census, published estimates."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import DataError, InferenceError

AREAS = "county,area\nnorth,n1\nnorth,n2\nsouth,s1\n"
TABLE = "area,sex,value\n" + "".join(
    f"{area},{sex},{value}\n"
    for area, values in {"n1": (10, 20), "n2": (30, 45), "s1": (7, 9)}.items()
    for sex, value in zip("fm", values, strict=True)
)
ABOUT = """
[spine]
file = "areas.csv"
levels = ["county", "area"]
[axes]
sex = ["f", "m"]
[stated]
by = "Office"
epsilon = 1
[[tables]]
level = "area"
file = "areas-by-sex.csv"
law = "gaussian"
variance = 9
"""
COUNTIES = """
[[tables]]
level = "county"
file = "counties.csv"
law = "laplace"
variance = 4
"""


def written(folder, more="", **files):
    texts = {
        "areas.csv": AREAS,
        "areas-by-sex.csv": TABLE,
        "counties.csv": "county,value\nsouth,17\nnorth,99\n",
        "places.toml": ABOUT + more,
    }
    for name, text in {**texts, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "places.toml"


def test_places_are_those_of_weighted_least_squares(tmp_path):
    """By hand: the county's total has variance 4 beside 4·9 of its cells' sum."""
    places = us.read_places(written(tmp_path, COUNTIES))
    assert repr(places) == "Places(all 1, county 2, area 3; sex)"
    north = places.total("north")
    assert north.estimate == pytest.approx(105 + 36 / 40 * (99 - 105))
    assert north.error**2 == pytest.approx(36 * 4 / 40)
    assert north.upper - north.estimate == pytest.approx(1.959964 * north.error, rel=1e-6)
    table = places.table("area", ["sex"])
    assert table.columns == ["place", "sex", "estimate", "error", "lower", "upper"]
    assert table["place"].to_list() == ["n1", "n1", "n2", "n2", "s1", "s1"]
    assert table["estimate"][0] == pytest.approx(10 - 36 / 40 * 6 / 4)
    assert table["estimate"].sum() == pytest.approx(places.total("all").estimate)
    assert places.table("n1")["estimate"].to_list() == [pytest.approx(places.total("n1").estimate)]


def test_sums_off_the_spine_count_how_places_lean_on_each_other(tmp_path):
    places = us.read_places(written(tmp_path, COUNTIES))
    both, one, two = places.total(["n1", "n2"]), places.total("n1"), places.total("n2")
    together = places.covariance(["n1"], ["n2"])
    assert together < 0
    assert both.error**2 == pytest.approx(one.error**2 + two.error**2 + 2 * together)
    assert both.error == pytest.approx(places.total("north").error)
    apart = places.difference("n1", "n2")
    assert apart.error**2 == pytest.approx(one.error**2 + two.error**2 - 2 * together)
    assert places.covariance(["n1"], ["s1"]) == 0
    women = places.total(["n1", "s1"], {"sex": "f"})
    assert women.estimate == pytest.approx(
        sum(places.total(k, {"sex": ["f"]}).estimate for k in ("n1", "s1"))
    )


def test_exact_totals_come_from_a_public_file_and_hold(tmp_path):
    exact = '\n[[invariants]]\nlevel = "county"\nfile = "exact.csv"\nsource = "law"\n'
    path = written(tmp_path, exact, **{"exact.csv": "county,value\nnorth,100\nsouth,16\n"})
    places = us.read_places(path)
    assert places.total("north").estimate == pytest.approx(100)
    assert places.total("north").error == pytest.approx(0, abs=1e-9)
    assert places.total("all").error == pytest.approx(0, abs=1e-9)
    assert places.total("n1").error > 1
    unsourced = exact.replace('source = "law"', "")
    with pytest.raises(DataError, match="source"):
        us.read_places(written(tmp_path, unsourced))
    whole = exact + '[[invariants]]\nlevel = "all"\nfile = "all.csv"\nsource = "law"\n'
    with pytest.raises(DataError, match="do not sum"):
        us.read_places(written(tmp_path, whole, **{"all.csv": "value\n117\n"}))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"areas.csv": AREAS + "south,n1\n"}, "lies in two"),
        ({"areas.csv": "area\nn1\n"}, "no column 'county'"),
        ({"areas-by-sex.csv": TABLE + "x9,f,1\n"}, "not declared"),
        ({"areas-by-sex.csv": TABLE.replace("n1,f,10\n", "")}, "each place and cell once"),
        ({"areas-by-sex.csv": TABLE.replace("s1,f", ",f")}, "empty cell"),
        ({"areas-by-sex.csv": TABLE.replace("sex", "gender")}, "others only for axes"),
        ({"places.toml": ABOUT.replace('level = "area"', 'level = "block"')}, "not there"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, files, words):
    with pytest.raises(DataError, match=words):
        us.read_places(written(tmp_path, **files))


def test_unknown_places_and_cells_that_nobody_measured_have_no_answer(tmp_path):
    places = us.read_places(written(tmp_path))
    for ask in (
        lambda: places.total("west"),
        lambda: places.total("north", {"age": "old"}),
        lambda: places.total("north", {"sex": "x"}),
        lambda: places.table("block"),
    ):
        with pytest.raises(InferenceError, match="There is no"):
            ask()
    only = ABOUT.partition("[[tables]]")[0] + COUNTIES
    places = us.read_places(written(tmp_path, **{"places.toml": only}))
    assert places.total("north").estimate == pytest.approx(99)
    with pytest.raises(InferenceError, match="does not tell"):
        places.total("n1")
    assert places.table("county", ["sex"])["error"].is_nan().all()


@pytest.fixture
def census(tmp_path):
    """Two states, three counties; voting age × sex; integer widths and signs differ."""
    rng = np.random.default_rng(3)
    exact = {"AA1": [[5, 40], [6, 51]], "AA2": [[9, 20], [2, 31]], "BB1": [[1, 2], [3, 4]]}
    cells = {code: np.array(table, float) for code, table in exact.items()}
    levels = {
        "US": {"": sum(cells.values())},
        "State": {"AA": cells["AA1"] + cells["AA2"], "BB": cells["BB1"]},
        "County": cells,
    }
    for level, tables in levels.items():
        (tmp_path / level).mkdir()
        for k, (code, table) in enumerate(tables.items()):
            noisy = [
                ("total_dpq", [table.sum()], 4.0),
                ("sex_dpq", table.sum(0), 2.0),
                ("votingage * sex_dpq", table.ravel(), 9.0),
                ("detailed_dpq", table.ravel(), 5.0),
                ("agegroups_dpq", [1.0], 2.0),
            ]
            lines = [
                (code, query, np.round(v + rng.normal(0, s**0.5, len(v))).astype(int).tolist(), s)
                for query, v, s in noisy
            ]
            frame = pl.DataFrame(
                lines,
                schema={
                    "geocode": pl.String,
                    "query_name": pl.String,
                    "value": pl.List(pl.Int32 if k else pl.Int64),
                    "variance": pl.Float64,
                },
                orient="row",
            ).with_columns(sign=pl.lit(None, pl.String))
            if level == "State":
                fixed = {"geocode": [code] * 2, "query_name": ["total_con", "sex_con"]}
                fixed |= {"value": [[int(table.sum())], [0, 0]], "variance": [0.0, 0.0]}
                constraints = pl.DataFrame(fixed, schema_overrides={"value": frame["value"].dtype})
                frame = pl.concat([frame, constraints.with_columns(sign=pl.Series(["=", ">="]))])
            else:
                frame = frame.drop("sign")
            frame.write_parquet(tmp_path / level / f"part-{k}.parquet")
    return tmp_path, levels


def test_noisy_measurement_files_of_the_census(census):
    folder, levels = census
    axes = {"votingage": ["under", "over"], "sex": ["f", "m"]}
    places = us.read_noisy_measurements(folder, [*levels], axes)
    assert repr(places) == "Places(US 1, State 2, County 3; votingage × sex)"
    assert places.total("AA").estimate == pytest.approx(levels["State"]["AA"].sum())
    assert places.total("AA").error == pytest.approx(0, abs=1e-9)
    assert "agegroups_dpq of US" in places.left_aside
    assert "sex_con of State" in places.left_aside
    found = places.table("County", ["votingage", "sex"])
    truth = np.concatenate([table.ravel() for table in levels["County"].values()])
    scaled = (found["estimate"].to_numpy() - truth) / found["error"].to_numpy()
    assert np.abs(scaled).max() < 3.5
    assert found["error"].max() < (9 * 5 / 14) ** 0.5, "better than its two measurements together"
    counties = places.total(["AA1", "BB1"])
    assert abs(counties.estimate - (102 + 10)) < 3.5 * counties.error
    with pytest.raises(DataError, match="check axes"):
        us.read_noisy_measurements(folder, [*levels], {**axes, "sex": ["f", "m", "x"]})
    file = folder / "County" / "part-0.parquet"
    lines = pl.read_parquet(file)
    for broken in (
        lines.with_columns(variance=pl.lit(float("nan"))),
        lines.with_columns(value=pl.col("value").list.eval(pl.element().shift(1))),
    ):
        broken.write_parquet(file)
        with pytest.raises(DataError, match="check axes"):
            us.read_noisy_measurements(folder, [*levels], axes)
    with pytest.raises(DataError, match="no Parquet"):
        us.read_noisy_measurements(folder, ["US", "Tract"], axes)


def test_published_estimates_have_intervals_each_and_no_sums(tmp_path):
    path = tmp_path / "gls.txt"
    path.write_text(
        "geocode|query|estimate|std_dev|query_description\n"
        '01|TOTAL|105.4|2.5|all "persons"\n01|ADULTS|80|3|of voting age\n',
        encoding="utf-8",
    )
    found = us.read_estimates(path)
    answer = found.total("01", "TOTAL", level=0.9)
    assert (answer.estimate, answer.error) == (105.4, 2.5)
    assert answer.upper == pytest.approx(105.4 + 1.644854 * 2.5, rel=1e-6)
    with pytest.raises(InferenceError, match="Sums"):
        found.total("02", "TOTAL")
    (tmp_path / "other.txt").write_text("geocode|query\n1|A\n", encoding="utf-8")
    with pytest.raises(DataError, match="std_dev"):
        us.read_estimates(tmp_path / "other.txt")
