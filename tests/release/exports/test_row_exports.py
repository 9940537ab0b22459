"""Files of SPSS, Stata and CSV hold what the Parquet files hold, with labels and missing codes."""

import datetime

import numpy as np
import polars as pl
import pytest

import understudy as us
from exported import SCHEMA, release
from schemas import column
from understudy.errors import MethodError, ReleaseError
from understudy.release import tables as tables_module
from understudy.release.decoding import decode
from understudy.release.sets import PartedSets
from understudy.release.tables import formats_of, require_formats, write_rows
from understudy.schema.base import text_of

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat (the extra files) is absent")


@pytest.fixture(scope="module")
def made():
    return release(sets=2)


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory):
    return made.save(tmp_path_factory.mktemp("made") / "r", also="sav, dta,csv")


def words(name, value):
    """What a released value stands for: its label, or itself; slow and obvious."""
    declared = SCHEMA.declared[name]
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    number = float(text) if text.lstrip("-").replace(".", "", 1).isdigit() else None
    for key, label in declared.value_labels.items():
        if key and (key == text or (number is not None and _same(key, number))):
            return label
    return number if number is not None else text


def _same(key, number):
    try:
        return float(key) == number
    except ValueError:
        return False


def read_words(value, labels, name):
    """What a value of a file of SPSS or Stata stands for."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, datetime.date):
        return labels.get(value, value.isoformat())
    told = labels.get(value, value)
    number = isinstance(told, int | float) or told.lstrip("-").isdigit()
    return float(told) if number else told


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_every_value_of_a_file_stands_for_what_was_released(made, folder, ending):
    read = pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta
    for k, table in enumerate(made.tables, start=1):
        frame, told = read(folder / f"synthetic/set-{k}.{ending}", user_missing=True)
        assert list(frame) == [name.replace(" ", "_") for name in table.columns]
        for new, name in zip(frame, table.columns, strict=True):
            labels = dict(told.variable_value_labels.get(new, {}))
            if name == "born" and ending == "sav":  # labels of days come as seconds
                labels = {datetime.date(9999, 12, 31): "unknown"}
            found = [read_words(value, labels, name) for value in frame[new]]
            assert found == [words(name, value) for value in table[name]], name


def test_labels_order_levels_and_missing_codes_of_spss(folder):
    _, told = pyreadstat.read_sav(folder / "synthetic/set-1.sav", user_missing=True)
    assert told.file_label == "Synthetic, not real people: Little survey, set 1"
    assert told.column_names_to_labels["sex"] == "Sex as registered"
    assert told.column_names_to_labels["net_income"] == "net income: Income after tax (euro)"
    assert told.variable_value_labels["sex"] == {2: "female", 1: "male", 9: "refused"}
    assert told.variable_value_labels["region"]["=e"] == "East & <beyond>"
    assert told.variable_value_labels["health"] == {1: "bad", 2: "fair", 3: "good", 9: "refused"}
    assert told.variable_value_labels["age"] == {999: "refused"}
    missing = {name: [(one["lo"], one["hi"]) for one in told.missing_ranges[name]] for name in (
        *("sex", "region", "net_income", "health", "age", "member"),
    )}  # fmt: skip
    assert missing == {
        "sex": [(9, 9)],
        "region": [("x", "x")],
        "net_income": [(-9, -6)],
        "health": [(9, 9)],
        "age": [(999, 999)],
        "member": [(9, 9)],
    }
    assert "moved" not in told.missing_ranges
    assert told.variable_measure["health"] == "ordinal"
    assert told.variable_measure["sex"] == "nominal"
    assert told.variable_measure["age"] == "scale"
    assert told.original_variable_types["net_income"] == "F7.2"


def test_codes_of_absence_are_no_numbers_in_stata(folder):
    frame, told = pyreadstat.read_dta(folder / "synthetic/set-1.dta", user_missing=True)
    assert told.missing_user_values["net_income"] == ["a", "b", "c", "d"]
    assert told.variable_value_labels["net_income"] == {
        **{0: "none", "a": "-7", "b": "-6"},
        **{"c": "refused", "d": "not known"},
    }
    plain, _ = pyreadstat.read_dta(folder / "synthetic/set-1.dta")
    assert plain["net_income"].min() >= 0
    assert set(frame["age"].dropna()) >= {"a"}


def test_letters_of_stata_come_back_as_the_same_letters(tmp_path):
    """A code that is written .b stays .b, and another takes a letter that is free."""
    schema = us.Schema.loads(
        column("age", "integer", lower=0, upper=9, missing=["refused", ".a", ".c"])
    )
    table = pl.DataFrame({"age": ["1", "refused", ".a", ".c"]})
    write_rows([table], schema, tmp_path, ("dta",))
    frame, told = pyreadstat.read_dta(tmp_path / "set-1.dta", user_missing=True)
    assert frame["age"].tolist() == [1, "b", "a", "c"]
    assert told.variable_value_labels == {"age": {"b": "refused"}}


def test_letters_before_any_number_are_no_texts(tmp_path):
    """Of a column that nearly nobody has a value of; what comes first does not set its type."""
    schema = us.Schema.loads(column("age", "integer", lower=0, upper=9, missing=["refused", ""]))
    for rows in (["refused"] * 200 + [None, "7"], ["refused"] * 3 + [None], [None] * 3):
        table = pl.DataFrame({"age": rows}, schema={"age": pl.String})
        write_rows([table], schema, tmp_path, ("dta",))
        frame, told = pyreadstat.read_dta(tmp_path / "set-1.dta", user_missing=True)
        expected = [{"refused": "a", "7": 7.0}.get(value) for value in rows]
        assert [None if one != one else one for one in frame["age"]] == expected
        assert told.readstat_variable_types == {"age": "double"}


@pytest.mark.parametrize("n_labelled", [1, 10, 11, 101])
def test_the_longest_names_of_stata_have_labels(tmp_path, n_labelled):
    """A set of labels is named like its variable, and numbered."""
    names = [f"{'x' * 40}{k}" for k in range(n_labelled)]
    entries = {"kind": "categorical", "levels": ["u", "v"], "reviewed": True}
    schema = us.Schema.model_validate({"columns": dict.fromkeys(names, entries)})
    table = pl.DataFrame({name: pl.Series(["u"], dtype=pl.Enum(["u", "v"])) for name in names})
    write_rows([table], schema, tmp_path, ("dta",))
    frame, told = pyreadstat.read_dta(tmp_path / "set-1.dta")
    assert frame.shape == (1, len(names))
    assert len(told.variable_value_labels) == n_labelled
    assert told.column_labels == names


LEVELS = {
    "plain": ([3, 1, 2], [9], [3, 1, 2, 9]),
    "a code in words": ([3, 1, 20], ["refused"], [3, 1, 20, 99]),
    "broken": ([0.5, 2, 3.25], [], [0.5, 2, 3.25]),
    "texts of numbers": (["7", "8"], ["x"], [7, 8, 9]),
    "leading zeros": (["01", "1"], ["9"], [1, 2, 9]),
    "mixed": ([1, 5, "many"], [2], [1, 2, 3, 9]),
    "truth": ([True, False], [], [1, 0]),
    "a taken code": (["a", "b", "c"], [3], [1, 2, 3, 9]),
}


@pytest.mark.parametrize("case", LEVELS)
def test_levels_and_codes_as_numbers(tmp_path, case):
    """Numbers stay; texts become their places; the label says what is not its own number."""
    levels, missing, expected = LEVELS[case]
    schema = us.Schema.loads(column("x", "categorical", levels=levels, missing=missing))
    states = [np.arange(len(expected))]
    table = decode(states, schema, np.random.default_rng(0))
    write_rows([table], schema, tmp_path, ("sav",))
    frame, told = pyreadstat.read_sav(tmp_path / "set-1.sav", user_missing=True)
    assert frame["x"].tolist() == expected
    texts = [text_of(value) for value in [*levels, *missing]]
    labels = told.variable_value_labels.get("x", {})
    recoded = [text_of(n) for n in expected[: len(levels)]] != texts[: len(levels)]
    for text, number in zip(texts[: len(levels)], expected, strict=False):
        assert labels.get(number) == (text if recoded else None)
    for text, number in zip(texts[len(levels) :], expected[len(levels) :], strict=True):
        assert labels.get(number) == (None if text == str(number) else text)


def test_levels_that_stata_cannot_label_are_counted(tmp_path):
    text = column("x", "categorical", levels=[0.5, 2, 3.25], missing=[-1])
    schema = us.Schema.loads(text + 'value_labels = { "0.5" = "half" }')
    table = pl.DataFrame({"x": [3.25, 0.5, 2.0, -1.0]})
    write_rows([table], schema, tmp_path, ("dta",))
    frame, told = pyreadstat.read_dta(tmp_path / "set-1.dta", user_missing=True)
    assert frame["x"].tolist() == [3, 1, 2, "a"]
    assert told.variable_value_labels["x"] == {1: "half", 2: "2", 3: "3.25", "a": "-1"}


def test_csv_with_labels(made, folder):
    told = pl.read_csv(folder / "synthetic/set-1-labels.csv", infer_schema=False)
    table = made.tables[0]
    assert told.columns == table.columns
    for name in ("sex", "region", "net income"):
        plain = [words(name, value) for value in table[name]]
        found = [
            float(x) if x.replace(".", "").replace("-", "").isdigit() else x for x in told[name]
        ]
        assert found == plain
    assert set(told["age"]) >= {"not asked"}
    guarded = pl.read_csv(folder / "synthetic/set-1.csv", infer_schema=False)
    assert "'=e" in set(guarded["region"])


def test_a_label_of_two_values_stands_with_its_value(tmp_path):
    text = column("city", "categorical", levels=["a", "b", "c"])
    schema = us.Schema.loads(text + 'value_labels = { a = "Oak", b = "Oak", c = "=Elm" }')
    table = pl.DataFrame({"city": pl.Series(["a", "b", "c"], dtype=pl.Enum(["a", "b", "c"]))})
    assert write_rows([table], schema, tmp_path, ("csv",))
    told = (tmp_path / "set-1-labels.csv").read_text().splitlines()
    assert told == ["city", "Oak (a)", "Oak (b)", "'=Elm"]


def test_the_folder_lists_checks_and_reads_them(made, folder, tmp_path):
    loaded = us.Release.load(folder)
    assert [t.equals(u) for t, u in zip(loaded.tables, made.tables, strict=True)] == [True, True]
    readme = (folder / "README.md").read_text()
    assert "set-1.sav" in readme
    assert "set-1.dta" in readme
    assert "set-1-labels.csv" in readme
    changed = folder / "synthetic/set-2.sav"
    content = changed.read_bytes()
    changed.write_bytes(content + b" ")
    with pytest.raises(ReleaseError, match=r"set-2\.sav.*was changed"):
        us.Release.load(folder)
    changed.write_bytes(content)


def test_names_of_every_kind_are_adapted(tmp_path):
    names = ["all", "ALL", "1 a", "a b", "a_b", "ä" * 40, "ä" * 41, "_x", "with", "str8"]
    text = "".join(column(f"'{name}'", "boolean") for name in names)
    schema = us.Schema.loads(text)
    table = pl.DataFrame({name: [True, False] for name in names})
    write_rows([table], schema, tmp_path, ("sav", "dta"))
    for read, longest in ((pyreadstat.read_sav, 64), (pyreadstat.read_dta, 32)):
        ending = read.__name__[-3:]
        frame, told = read(tmp_path / f"set-1.{ending}")
        assert len({name.lower() for name in frame}) == len(names)
        assert all(len(name.encode()) <= longest for name in frame)
        renamed = zip(frame, names, strict=True)
        assert all(told.column_names_to_labels[new] == old for new, old in renamed if new != old)


def test_long_sets_are_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.release.sets.PART_ROWS", 3)
    schema = us.Schema.loads(column("age", "integer", lower=0, upper=9))
    tables = PartedSets(
        1, 7, lambda k, i: pl.DataFrame({"age": [3 * i, 1, 2][: 1 if i == 2 else 3]})
    )
    write_rows(tables, schema, tmp_path, ("csv", "sav"))
    assert {file.name for file in tmp_path.iterdir()} == {
        *("set-1.csv", "set-1-part-001.sav", "set-1-part-002.sav", "set-1-part-003.sav"),
    }
    assert {file.name for file in tmp_path.iterdir()} <= tables_module.possible_files(1, 3)
    frame, _ = pyreadstat.read_sav(tmp_path / "set-1-part-003.sav")
    assert frame["age"].tolist() == [6]


def test_what_cannot_be_written_is_refused_from_the_schema(monkeypatch):
    both_sides = us.Schema.loads(
        column("age", "integer", lower=0, upper=9, missing=[-2, -1, 98, 99])
    )
    with pytest.raises(ReleaseError, match="'age' has missing-value codes on both sides"):
        require_formats(("sav",), both_sides)
    require_formats(("dta", "csv"), both_sides)
    many = us.Schema.loads(column("age", "integer", lower=0, upper=9, missing=list(range(10, 40))))
    require_formats(("sav",), many)
    with pytest.raises(ReleaseError, match="'age' has 30 missing-value codes, and Stata knows 26"):
        require_formats(("dta",), many)
    for asked, why in (
        ("xls", "cannot be written as 'xls'"),
        (3, "must name formats"),
        ([1], "must"),
    ):
        with pytest.raises(ReleaseError, match=why):
            formats_of(asked)
    monkeypatch.setattr("understudy._validation.find_spec", lambda _: None)
    with pytest.raises(MethodError, match="Writing SPSS files needs pyreadstat"):
        require_formats(formats_of("sav"), both_sides)


def test_formats_are_named_in_any_way():
    assert formats_of("sav,DTA") == formats_of(["dta", "sav"]) == ("sav", "dta")
    assert formats_of(csv=True) == ("csv",)
    assert formats_of("csv", csv_raw=True) == ("csv-raw",)
    assert formats_of() == ()


def test_files_can_be_written_elsewhere(made, tmp_path):
    written = made.export(tmp_path / "out", also=["sav"])
    assert [file.name for file in written] == ["set-1.sav", "set-2.sav"]
    with pytest.raises(ReleaseError, match="already exists"):
        made.export(tmp_path / "out", also="sav")
    with pytest.raises(ReleaseError, match="Name a format"):
        made.export(tmp_path / "more", also="")
    assert not (tmp_path / "more").exists()


def test_every_file_that_can_says_that_nobody_in_it_is_real(folder):
    said = "not real people"
    for ending, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        _, told = read(folder / f"synthetic/set-1.{ending}", metadataonly=True)
        assert said in told.file_label
    assert said in pl.read_parquet_metadata(folder / "synthetic/set-1.parquet")["understudy"]
    for name in ("datapackage.json", "croissant.json", "codebook.xml"):
        (file,) = folder.rglob(name)
        assert said in file.read_text(encoding="utf-8")
