"""Units and members of a release: they link, keep to their rules, and cannot be altered."""

import hashlib
import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import polars.testing
import pytest

import understudy as us
import understudy_verify
from made_members import RULES, SCHEMA, tables
from understudy.data import households as rows_of_units
from understudy.errors import ReleaseError
from understudy.release.decoding import breaks_distances, decode, keep_distances
from understudy.release.households import split, table_schemas
from understudy.schema import Schema
from understudy.schema.columns import Cells
from understudy.schema.households import NO_MEMBER

pytestmark = pytest.mark.whole

BOTH = Schema.loads(SCHEMA + RULES)


@pytest.fixture(scope="module")
def release():
    run = us.RunOptions(insecure_noise_seed=3, seed=4)
    return us.synthesize(
        tables(150, seed=1), BOTH, epsilon=3, method="mst", delta=1e-6, sets=2, run=run
    )


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    place = tmp_path_factory.mktemp("linked") / "release"
    release.save(place, also=("csv",))
    return place


@pytest.fixture(scope="module")
def sets(release):
    return release.linked_sets


def test_no_member_is_an_orphan_and_every_unit_has_as_many_as_it_says(sets):
    for two in sets:
        homes, people = two["household"], two["person"]
        assert people.join(homes, on="hid", how="anti").height == 0
        counted = homes.join(people.group_by("hid").len(), on="hid", how="left")
        assert (counted["len"] == counted["size"].clip(upper_bound=3)).all()
        assert homes["hid"].n_unique() == homes.height


def test_rules_hold_in_every_unit(sets):
    for two in sets:
        people = two["person"]
        roles = people.group_by("hid").agg(
            references=(pl.col("role") == "reference").sum(),
            partners=(pl.col("role") == "partner").sum(),
        )
        assert (roles["references"] == 1).all()
        assert (roles["partners"] <= 1).all()
        assert people.filter((pl.col("age") < 16) & pl.col("work")).height == 0
        parents = people.filter(pl.col("role") == "reference").select("hid", parent="age")
        children = people.filter(pl.col("role") == "child").join(parents, on="hid")
        assert children.height > 50
        assert (children["parent"] >= children["age"] + 14).all()


def test_a_partner_is_older_than_children_who_stand_behind():
    rule = RULES.replace("reference.age >=", "partner.age >=").replace(
        '["reference", "child"]', '["partner", "child"]'
    )
    both, run = tables(300, seed=1), us.RunOptions(insecure_noise_seed=3, seed=4)
    schema = Schema.loads(SCHEMA + rule)
    made = us.synthesize(both, schema, epsilon=3, method="independent", delta=1e-6, run=run)
    (two,) = made.linked_sets
    partners = two["person"].filter(pl.col("role") == "partner").select("hid", other="age")
    children = two["person"].filter(pl.col("role") == "child").join(partners, on="hid")
    assert children.height > 20
    assert (children["other"] >= children["age"] + 14).all()


def test_keys_are_numbers_that_say_nothing(release, sets):
    for two in sets:
        homes = two["household"]
        assert homes["hid"].to_list() == [str(k) for k in range(1, homes.height + 1)]
        # The order is that of the records, which no column follows: of 150 independent ones a
        # correlation is beyond .3 with a probability of 2e-4.
        for name in ("income", "size"):
            values = homes[name].to_numpy().astype(float)
            assert abs(np.corrcoef(np.arange(len(values)), values)[0, 1]) < 0.3
    confidential = {str(key) for key in tables(400, seed=1)["household"]["hid"].to_list()}
    released = {*sets[0]["household"]["hid"].to_list()}
    assert not confidential <= released
    assert "hid" not in release.schema.columns


def of_units_without_ties(file):
    """A release of pairs of unlike age, whose keys and places in both files follow from a number.

    Nobody is cut and no members are alike, so nothing of the rows is left to chance.
    """
    rng = np.random.default_rng(file)
    ages = np.random.default_rng(0).permutation(5_000)[:400] % 80 + 20
    keys = rng.permutation(400) + 1_000 * file
    homes = pl.DataFrame({"hid": keys, "region": ["south", "north"] * 200, "income": ages - 20.0})
    roles, many = ["reference"] * 400 + ["child"] * 400, np.concatenate((ages, ages - 20))
    people = pl.DataFrame({"hid": [*keys, *keys], "role": roles, "age": many, "work": [None] * 800})
    both = {
        name: one[rng.permutation(one.height)]
        for name, one in {"household": homes, "person": people}.items()
    }
    run = us.RunOptions(insecure_noise_seed=3, seed=4)
    released = us.synthesize(both, BOTH, epsilon=3, method="independent", delta=1e-6, run=run)
    return released.linked_sets[0]


def test_neither_keys_nor_places_in_the_files_reach_a_release():
    one, other = of_units_without_ties(1), of_units_without_ties(2)
    for name in ("household", "person"):
        polars.testing.assert_frame_equal(one[name], other[name])


def test_keys_that_follow_the_file_are_noticed(monkeypatch):
    read = rows_of_units._columns_of_units

    def told(homes, names, units):
        first = homes[rows_of_units._KEY].str.head(1)  # 1 in the one file, 2 in the other
        region = first.replace_strict({"1": "north"}, default="south").alias("region")
        return [region, *read(homes, names, units)[1:]]

    monkeypatch.setattr(rows_of_units, "_columns_of_units", told)
    with pytest.raises(AssertionError):
        test_neither_keys_nor_places_in_the_files_reach_a_release()


def test_both_tables_say_what_the_records_say(release, sets):
    for two, wide in zip(sets, release.tables, strict=True):
        assert two["household"].height == wide.height
        members = iter(two["person"].to_dicts())
        for row in wide.to_dicts():
            for j in (1, 2, 3):
                if row[f"role_{j}"] == NO_MEMBER:
                    continue
                member = next(members)
                assert member["hid"] == row["hid"]
                for name in ("role", "age", "work"):
                    value = row[f"{name}_{j}"]
                    told = member[name]
                    assert str(told).lower() == str(value).lower(), name
        assert next(members, None) is None


def test_a_release_is_saved_and_read_with_both_tables(release, folder):
    loaded = us.Release.load(folder, frame="polars")
    for one, other in zip(release.linked_sets, loaded.linked_sets, strict=True):
        for name in ("household", "person"):
            polars.testing.assert_frame_equal(one[name], other[name])
    found = understudy_verify.verify(folder)
    assert {state for _, state, _ in found} == {"ok", "not checked"}
    (says,) = [says for rule, _, says in found if rule == "sets"]
    assert says.endswith("members")


def test_a_flat_release_has_no_linked_sets(release):
    flat = us.synthesize(
        release.linked_sets[0]["household"],
        table_schemas(BOTH)["household"],
        epsilon=1,
        method="independent",
        run=us.RunOptions(insecure_noise_seed=1),
    )
    with pytest.raises(ReleaseError, match="one flat table; use its `sets`"):
        _ = flat.linked_sets


def test_tables_are_released_in_the_kind_that_came_in(folder):
    loaded = us.Release.load(folder, frame="polars")
    types = loaded.linked_sets[0]["person"].schema
    assert types["age"] == pl.Int64
    assert types["work"] == pl.Boolean
    assert isinstance(loaded.linked_sets[0]["household"], pl.DataFrame)


def test_the_package_links_members_to_units(folder):
    package = json.loads((folder / "linked" / "datapackage.json").read_text())
    assert [one["path"] for one in package["resources"]] == [
        *("set-1-household.parquet", "set-1-person.parquet"),
        *("set-2-household.parquet", "set-2-person.parquet"),
    ]
    assert package["resources"][0]["schema"]["primaryKey"] == ["hid"]
    assert package["resources"][3]["schema"]["foreignKeys"] == [
        {"fields": ["hid"], "reference": {"resource": "set-2-household", "fields": ["hid"]}}
    ]


def test_both_tables_are_described_with_types_labels_and_their_key(folder):
    (household, person, *_) = json.loads((folder / "linked" / "datapackage.json").read_text())[
        "resources"
    ]
    fields = {one["name"]: one for one in person["schema"]["fields"]}
    assert list(fields) == ["hid", "role", "age", "work"]
    assert fields["age"]["type"] == "integer"
    assert fields["age"]["constraints"] == {"minimum": 0, "maximum": 99}
    assert fields["role"]["categoriesOrdered"]
    assert not any(NO_MEMBER in json.dumps(one) for one in (household, person))
    types = {one["name"]: one["type"] for one in household["schema"]["fields"]}
    assert types == {"hid": "string", "region": "string", "income": "number", "size": "integer"}


def test_the_codebook_holds_both_tables_as_record_groups_of_one_key(folder):
    ddi = "{ddi:codebook:2_5}"
    root = ET.fromstring((folder / "codebook.xml").read_bytes())
    identifiers = [one.get("ID") for one in root.iter() if one.get("ID")]
    assert len({*identifiers}) == len(identifiers)
    variables = {one.get("ID"): one for one in root.iter(f"{ddi}var")}
    files = {one.get("ID"): one for one in root.iter(f"{ddi}fileDscr")}
    names = {one.findtext(f"{ddi}fileTxt/{ddi}fileName"): key for key, one in files.items()}
    for k in (1, 2):
        own, below = (names[f"linked/set-{k}-{name}"] for name in ("household", "person"))
        groups = [
            files[key].find(f"{ddi}fileTxt/{ddi}fileStrc/{ddi}recGrp") for key in (own, below)
        ]
        assert groups[0].get("recGrp") == groups[1].get("ID")
        for key, group in zip((own, below), groups, strict=True):
            link = variables[group.get("keyvar")]
            assert link.get("name") == "hid"
            assert key in link.get("files").split()
    of_persons = us.read_codebook(folder / "codebook.xml", table="linked/set-2-person")
    assert list(of_persons.order) == ["hid", "role", "age", "work"]
    declared = table_schemas(BOTH)["person"].columns
    assert of_persons.columns["role"].levels == declared["role"].levels


def test_files_of_other_programs_have_labels_of_their_own_table(release, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="an extra is not installed")
    release.export(tmp_path / "files", also=("sav", "dta"))
    for ending, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        rows, told = read(str(tmp_path / "files" / f"set-1-person.{ending}"))
        assert list(rows.columns) == ["hid", "role", "age", "work"]
        assert set(told.variable_value_labels["role"].values()) == {"reference", "partner", "child"}
        homes, _ = read(str(tmp_path / "files" / f"set-1-household.{ending}"))
        assert set(rows["hid"]) <= set(homes["hid"])


@pytest.mark.parametrize("format_", ["csv", "csv-raw"])
def test_exported_csv_has_a_package_that_links_both_tables(release, tmp_path, format_):
    files = {one.name for one in release.export(tmp_path / "files", also=format_)}
    package = json.loads((tmp_path / "files" / "datapackage.json").read_text())
    assert {one["path"] for one in package["resources"]} <= files
    rows = {
        one["name"]: pl.read_csv(tmp_path / "files" / one["path"], infer_schema=False)
        for one in package["resources"]
    }
    links = 0
    for one in package["resources"]:
        assert one["format"] == "csv"
        own, described = rows[one["name"]], one["schema"]
        assert own.columns == [field["name"] for field in described["fields"]]
        for key in described.get("primaryKey", []):
            assert own[key].is_unique().all()
        for link in described.get("foreignKeys", []):
            other = rows[link["reference"]["resource"]][link["reference"]["fields"][0]]
            assert own[link["fields"][0]].is_in(other.implode()).all()
            links += 1
    assert links == len(release.tables)


def test_no_package_describes_what_an_apostrophe_changed_or_what_is_no_csv(release, tmp_path):
    assert not any(one.suffix == ".json" for one in release.export(tmp_path / "a", also="dta"))
    named = Schema.loads(SCHEMA.replace('"partner"', '"=partner"'))
    both = tables(100, seed=1)
    renamed = pl.col("role").str.replace("partner", "=partner", literal=True)
    both["person"] = both["person"].with_columns(renamed)
    how = {"epsilon": 9, "delta": 1e-6, "method": "independent"}
    changed = us.synthesize(both, named, insecure_noise_seed=3, **how)
    assert any("'=partner" in one.read_text() for one in changed.export(tmp_path / "b", also="csv"))
    assert not (tmp_path / "b" / "datapackage.json").exists()


@pytest.fixture
def copied(folder, tmp_path):
    place = tmp_path / "release"
    shutil.copytree(folder, place)
    return place


def seal(place):
    """List all files of a folder in its manifest, as they are now."""
    manifest = json.loads((place / "manifest.json").read_text())
    files = [one for one in place.rglob("*") if one.is_file() and one.name != "manifest.json"]
    manifest["files"] = {
        one.relative_to(place).as_posix(): f"sha256:{hashlib.sha256(one.read_bytes()).hexdigest()}"
        for one in sorted(files)
    }
    (place / "manifest.json").write_text(json.dumps(manifest))


def alter_table(change):
    def alter(place):
        file = place / "linked" / "set-2-person.parquet"
        change(pl.read_parquet(file)).write_parquet(file)

    return alter


def alter_units(change):
    def alter(place):
        file = place / "linked" / "set-1-household.parquet"
        change(pl.read_parquet(file)).write_parquet(file)

    return alter


def alter_package(place):
    file = place / "linked" / "datapackage.json"
    content = json.loads(file.read_text())
    content["resources"][1]["schema"]["foreignKeys"] = []
    file.write_text(json.dumps(content, indent=1) + "\n")


def alter_schema(old, new):
    def alter(place):
        file = place / "schema.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    return alter


def without_members(place):
    content = (place / "schema.toml").read_text()
    head, _, rest = content.partition("[members]\n")
    _, _, behind = rest.partition("\n[columns")
    (place / "schema.toml").write_text(f"{head}[columns{behind}")


ALTERED = {
    "a value": alter_table(lambda t: t.with_columns(age=pl.col("age") + 1)),
    "a truth": alter_table(lambda t: t.with_columns(work=pl.lit(True))),
    "a type": alter_table(lambda t: t.with_columns(pl.col("age").cast(pl.String))),
    "an orphan": alter_table(lambda t: t.with_columns(hid=pl.lit("9999"))),
    "keys in another order": alter_table(lambda t: t.with_columns(hid=pl.col("hid").reverse())),
    "a member less": alter_table(lambda t: t[1:]),
    "a member more": alter_table(lambda t: pl.concat([t, t[:1]])),
    "members in another order": alter_table(lambda t: t.reverse()),
    "a column more": alter_table(lambda t: t.with_columns(more=1)),
    "a column less": alter_table(lambda t: t.drop("work")),
    "no rows": alter_table(lambda t: t.clear()),
    "units: a value": alter_units(lambda t: t.with_columns(size=pl.lit(1, pl.Int64))),
    "units: one less": alter_units(lambda t: t[1:]),
    "units: a slot": alter_units(lambda t: t.with_columns(age_1=1)),
    "the package": alter_package,
    "a file more": lambda place: (place / "linked" / "extra.txt").write_text("x"),
    "a set more": lambda place: shutil.copy(
        place / "linked" / "set-1-person.csv", place / "linked" / "set-3-person.csv"
    ),
    "a table of another name": lambda place: shutil.copy(
        place / "linked" / "set-1-person.parquet", place / "linked" / "set-1-visit.parquet"
    ),
    "a folder within": lambda place: (
        (place / "linked" / "more").mkdir()
        or (place / "linked" / "more" / "set-1-person.csv").write_text("x")
    ),
    "a table less": lambda place: (place / "linked" / "set-1-person.parquet").unlink(),
    "no package": lambda place: (place / "linked" / "datapackage.json").unlink(),
    "no linked tables": lambda place: shutil.rmtree(place / "linked"),
    "no members in the schema": without_members,
    "another name of a table": alter_schema('table = "person"', 'table = "people"'),
    "a hostile name of a table": alter_schema('table = "person"', 'table = "../person"'),
    "both names alike": alter_schema('of = "household"', 'of = "Person"'),
    "another key": alter_schema('key = "hid"', 'key = "region"'),
    "fewer slots": alter_schema("rows_per_unit = 3", "rows_per_unit = 2"),
    "more slots": alter_schema("rows_per_unit = 3", "rows_per_unit = 4"),
    "other columns": alter_schema('"role", "age", "work"', '"role", "age"'),
    "a larger distance": alter_schema("distance = 14", "distance = 40"),
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=[*ALTERED])
@pytest.mark.nightly(every=8)
def test_altered_tables_are_refused_by_whoever_reads_them(alter, copied):
    alter(copied)
    seal(copied)
    with pytest.raises(ReleaseError):
        us.Release.load(copied)
    broken = [rule for rule, state, _ in understudy_verify.verify(copied) if state == "broken"]
    assert broken


def test_a_flat_release_with_linked_tables_is_refused(folder, tmp_path):
    flat = us.synthesize(
        tables(50, seed=2)["household"].drop("hid"),
        BOTH.part(["region", "income"]),
        epsilon=1,
        method="independent",
        run=us.RunOptions(insecure_noise_seed=1),
    )
    place = tmp_path / "flat"
    flat.save(place)
    shutil.copytree(folder / "linked", place / "linked")
    seal(place)
    with pytest.raises(ReleaseError, match="linked tables"):
        us.Release.load(place)
    found = {rule: (state, says) for rule, state, says in understudy_verify.verify(place)}
    assert found["schema"] == ("broken", "it has linked tables of no members")


def drawn(schema, n, seed):
    """Records by chance that the schema allows, as the decoder makes them."""
    rng = np.random.default_rng(seed)
    states = np.stack([rng.integers(0, size, n) for size in schema.sizes])
    keep = np.ones(n, bool)
    for box in schema.domain.boxes:
        hit = np.ones(n, bool)
        for column, allowed in box.items():
            hit &= np.isin(states[column], [*allowed])
        keep &= ~hit
    return [column[keep] for column in states]


@pytest.mark.parametrize("leading", [True, False])
def test_distances_hold_whatever_states_are_drawn(leading):
    order = 'order = ["role", "-age"]' if leading else 'order = ["-age"]'
    rules = RULES if leading else RULES.replace("exactly = 1", "at_most = 2")
    text = SCHEMA.replace('order = ["role", "-age"]', order).replace(
        "bins = [0, 16, 30, 50, 99]", 'bins = [0, 16, 50, 99]\nmissing = [-9, "x"]'
    )
    schema = Schema.loads(text.replace("rows_per_unit = 3", "rows_per_unit = 2") + rules)
    states = drawn(schema, 60_000, 1)
    assert len(states[0]) > 300
    table = decode(states, schema, np.random.default_rng(2))
    assert not breaks_distances(table, schema)
    for row in table.to_dicts():
        ages = {}
        for j in (1, 2):
            if str(row[f"age_{j}"]) not in ("-9", "x", NO_MEMBER):
                ages.setdefault(row[f"role_{j}"], []).append(int(row[f"age_{j}"]))
        for parent in ages.get("reference", ()):
            assert all(parent >= child + 14 for child in ages.get("child", ()))


def test_numbers_stay_in_their_declared_bins_when_a_distance_moves_them():
    states = drawn(BOTH, 200_000, 5)
    cells = {
        name: Cells(codes, np.where(codes < column.n_ordinary, 0.0, np.nan))
        for (name, column), codes in zip(BOTH.columns.items(), states, strict=True)
    }
    rng = np.random.default_rng(6)
    for name in ("age_1", "age_2", "age_3"):
        column = BOTH.columns[name]
        low = np.asarray([one.low for one in column.intervals] + [np.nan])
        high = np.asarray([one.high for one in column.intervals] + [np.nan])
        codes = np.minimum(cells[name].states, column.n_ordinary)
        numbers = np.floor(low[codes] + rng.random(len(codes)) * (high - low + 1)[codes])
        cells[name] = Cells(cells[name].states, numbers)
    moved = keep_distances(cells, BOTH)
    for name in ("age_1", "age_2", "age_3"):
        column = BOTH.columns[name]
        known = cells[name].states < column.n_ordinary
        own = moved[name].numbers[known]
        bounds = [column.intervals[k] for k in cells[name].states[known]]
        assert all(one.low <= number <= one.high for one, number in zip(bounds, own, strict=True))
    assert (moved["age_1"].numbers != cells["age_1"].numbers).any()


def test_a_record_that_breaks_a_distance_is_found():
    table = decode(drawn(BOTH, 100_000, 7), BOTH, np.random.default_rng(8))
    two = table.filter((pl.col("role_2") == "child") & (pl.col("age_1") > 20))
    assert not breaks_distances(two, BOTH)
    broken = two.with_columns(age_1=pl.lit(13, pl.Int64))
    assert breaks_distances(broken, BOTH)


def test_split_takes_units_without_members_apart():
    schema = Schema.loads(SCHEMA.replace('key = "hid"\n', 'key = "hid"\nempty = true\n', 1))
    nobody = [
        one.labels.index(NO_MEMBER) if NO_MEMBER in one.labels else 0
        for one in schema.columns.values()
    ]
    states = [np.append(own, k) for own, k in zip(drawn(schema, 100_000, 9), nobody, strict=True)]
    table = decode(states, schema, np.random.default_rng(1))
    table = table.with_columns(hid=pl.int_range(1, pl.len() + 1).cast(pl.String))
    two = split(table, schema)
    sizes = table["size"].to_numpy()
    assert sizes[-1] == 0
    assert two["household"].height == table.height
    assert two["person"].filter(hid=str(table.height)).height == 0
    assert two["person"].height == int(np.minimum(sizes, 3).sum())
    assert {*two["person"].columns} == {"hid", "role", "age", "work"}


def test_files_beside_the_parquet_files_have_the_same_rows(folder):
    for name in ("household", "person"):
        csv = pl.read_csv(folder / "linked" / f"set-1-{name}.csv", infer_schema=False)
        stored = pl.read_parquet(folder / "linked" / f"set-1-{name}.parquet")
        assert csv.columns == stored.columns
        assert csv.height == stored.height
    assert Path(folder / "linked" / "set-2-person.csv").exists()


def test_no_name_of_a_column_stands_in_the_way_of_taking_records_apart():
    schema = Schema.loads("""
        [tables.home]
        key = "k"
        [tables.person]
        of = "home"
        key = "k"
        rows_per_unit = 2
        [tables.person.columns._row]
        kind = "categorical"
        levels = ["a", "b"]
    """)
    wide = pl.DataFrame(
        {
            "k": ["1", "2", "3"],
            "size": [1, 2, 1],
            "_row_1": ["b", "a", "a"],
            "_row_2": [NO_MEMBER, "b", NO_MEMBER],
        }
    )
    people = split(wide, schema)["person"]
    assert people["k"].to_list() == ["1", "2", "2", "3"]
    assert people["_row"].cast(pl.String).to_list() == ["b", "a", "b", "a"]
