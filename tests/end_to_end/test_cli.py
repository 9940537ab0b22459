"""The command line from end to end: the whole way from a table to a release, and every mistake.

A mistake ends with exit code 2 and one line on standard error, and leaves nothing behind.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import typer

import understudy as us
from schemas import PEOPLE as SCHEMA
from understudy.cli.app import app
from understudy.demo import demo_schema
from understudy.methods.registry import METHODS

SECRET = "SECRET-VALUE-1234"


@pytest.fixture
def run(monkeypatch, understudy, tmp_path):
    """Run a command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    return understudy


def people(n=60):
    rng = np.random.default_rng(1)
    frame = {"city": rng.choice(["Aa", "Bb", "Cc"], n), "age": rng.integers(0, 100, n)}
    frame["note"] = [SECRET] * n
    rows = pd.DataFrame(frame)
    rows.loc[0, "city"] = SECRET
    return rows


@pytest.fixture
def place(tmp_path):
    """A folder with a table, as CSV and as Parquet, and its schema."""
    people().to_csv(tmp_path / "people.csv", index=False)
    people().to_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def ask(**changes):
    """Arguments of a `synthesize` that works, but for the changes; None leaves an option out."""
    data = changes.pop("data", "people.csv")
    usual = {"schema": "people.toml", "epsilon": "1", "out": "release", "method": "independent"}
    options = usual | changes
    named = [(f"--{key.replace('_', '-')}", value) for key, value in options.items()]
    return [
        "synthesize",
        data,
        *(part for key, value in named if value is not None for part in (key, value)),
    ]


def tree(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# --- the way through --------------------------------------------------------------------------


def test_from_a_draft_to_a_release(run, place):
    people().drop(columns="note").drop(0).to_csv("clean.csv", index=False)
    drafted = run("schema", "draft", "clean.csv", "--out", "drafted.toml")
    assert (drafted.code, drafted.err) == (0, "")
    assert "CONFIDENTIAL" in drafted.out
    draft = Path("drafted.toml").read_text(encoding="utf-8")

    refused = run(*ask(data="clean.csv", schema="drafted.toml"))
    assert refused.code == 2
    assert "not reviewed" in refused.err

    reviewed = draft.replace("reviewed = false", "reviewed = true")
    Path("drafted.toml").write_text(reviewed, encoding="utf-8")
    checked = run("schema", "check", "clean.csv", "drafted.toml")
    assert checked.code == 0
    assert "fits the schema" in checked.out

    planned = run("plan", "--schema", "drafted.toml", "--epsilon", "1")
    assert planned.code == 0
    assert "No data were read" in planned.out

    made = run(*ask(data="clean.csv", schema="drafted.toml", sets="2"))
    assert (made.code, made.err) == (0, "")
    assert "Release written to release/" in made.out
    assert str((place / "release" / "report.html").resolve()) in made.out.replace("\n", "")
    told = " ".join(made.out.split())
    assert "unchanged from a draft" in told
    assert "Conditional differential privacy with nominal ε = 1" in told
    assert "understudy schema check clean.csv drafted.toml" in told

    shown = run("show", "release")
    assert shown.code == 0
    assert "ε = 1" in shown.out
    assert "Conditional" in shown.out


def test_all_faults_of_a_schema_are_told_at_once(run, place):
    spoilt = SCHEMA.replace("upper", "uper").replace("categorical", "categoric")
    (place / "people.toml").write_text(spoilt, encoding="utf-8")
    refused = run(*ask())
    assert refused.code == 2
    _, *lines = refused.err.strip().split("\n")
    assert lines == [
        "  column 'city', kind: there is no kind 'categoric' (did you mean 'categorical'?).",
        "  column 'age', uper: there is no such entry (did you mean 'upper'?).",
    ]
    assert not (place / "release").exists()


@pytest.mark.parametrize(("flag", "first"), [("--csv", "'=Aa"), ("--csv-raw", "=Aa")])
def test_a_csv_guards_formulas_unless_it_is_to_be_raw(run, place, flag, first):
    schema = SCHEMA.replace('["Aa", "Bb", "Cc"]', '["=Aa"]')
    (place / "formulas.toml").write_text(schema, encoding="utf-8")
    # 500 records in domain at ε = 1: no noise that can occur empties the set.
    people(500).assign(city="=Aa").to_csv(place / "formulas.csv", index=False)
    assert run(*ask(data="formulas.csv", schema="formulas.toml"), flag, "--quiet").code == 0
    read = pl.read_csv(place / "release" / "synthetic" / "set-1.csv")
    assert set(read.get_column("city")) == {first}


@pytest.fixture
def kept(place, small):
    """A release in a folder of its own."""
    return shutil.copytree(small.folder / "release", place / "release")


def test_no_draft_goes_into_a_release(run, place, kept):
    refused = run("schema", "draft", "people.csv", "--out", "release/draft.toml")
    assert refused.code == 2
    assert "cannot go into the release" in refused.err
    assert not (kept / "draft.toml").exists()


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_a_release_from_a_file(run, place, data):
    made = run(*ask(data=data, sets="2"), "--csv", "--json")
    assert made.json["guarantee"]["epsilon"] == "1"
    assert made.err == ""
    folder = place / made.json["release"]
    assert tree(folder / "synthetic") == [
        *("set-1.csv", "set-1.parquet", "set-2.csv", "set-2.parquet")
    ]
    table = pl.read_parquet(folder / "synthetic" / "set-1.parquet")
    assert table.columns == ["city", "age"]
    read = pl.read_csv(folder / "synthetic" / "set-1.csv")
    assert read.select(pl.all().cast(pl.String)).equals(table.select(pl.all().cast(pl.String)))
    assert all(SECRET.encode() not in path.read_bytes() for path in folder.rglob("*.*"))
    shown = run("show", folder, "--json").json
    assert shown["n_rows"] == table.height
    assert shown["guarantee"]["statement"] == made.json["guarantee"]["statement"]


def test_quiet_says_nothing(run, place):
    made = run(*ask(), "--quiet")
    assert (made.code, made.out, made.err) == (0, "", "")
    assert (place / "release" / "manifest.json").is_file()


def test_a_plan_reads_no_data(run, place):
    for data in place.glob("people.[cp]*"):
        data.unlink()
    arguments = ["--schema", "people.toml", "--epsilon", "2", "--method", "independent"]
    planned = run("plan", *arguments, "--sets", "3", "--option", "sets=split", "--json").json
    assert planned["budget"] == {"epsilon": "2", "delta": "0"}
    assert (planned["sets"], planned["fits"]) == (3, 3)
    assert [table["columns"] for table in planned["tables"]] == [["city"], ["age"]]
    assert tree(place) == ["people.toml"]
    table = run("plan", *arguments).out
    assert "city" in table
    assert "age" in table


def test_parts_of_the_budget_are_given_together_one_by_one_or_by_former_names(run, place):
    about = ["plan", "--schema", "people.toml", "--epsilon", "2", "--method", "independent"]
    about += ["--json"]
    together = run(*about, "--budget", "answers=.4, lines=.2")
    assert together.json != run(*about).json
    assert run(*about, "--budget", "answers=.4", "--budget", "lines=.2").json == together.json
    former = run(*about, "--answers-share", ".4", "--lines-share", ".2")
    assert former.json == together.json
    assert "--answers-share: a former name; write --budget answers=.4." in former.err
    assert "--lines-share: a former name; write --budget lines=.2." in former.err
    assert together.err == ""
    for command in ("plan", "synthesize"):
        assert "-share" not in run(command, "--help").out


def test_methods_are_listed(run):
    listed = run("methods", "--json").json
    assert [one["name"] for one in listed] == list(METHODS)
    table = run("methods").out
    assert all(name in table for name in METHODS)


def test_options_reach_the_method(run, place):
    made = run(*ask(method="laplace", delta="0"), "-o", "form=filtered", "-o", "threshold=3")
    assert made.code == 0
    options = run("show", "release", "--json").json["options"]
    assert (options["form"], options["threshold"]) == ("filtered", 3)


def test_a_seeded_release_says_that_it_is_not_private(run, place):
    made = run(*ask(insecure_noise_seed="1"))
    assert "NOT private" in " ".join(made.out.split())
    assert run("show", "release", "--json").json["guarantee"]["kind"] == "none"


def test_findings_are_shown_without_values_and_end_with_code_2(run, place):
    checked = run("schema", "check", "people.csv", "people.toml")
    assert checked.code == 2
    assert "Column 'city' holds values that are not among the levels" in checked.out
    assert SECRET not in checked.out
    as_json = run("schema", "check", "people.csv", "people.toml", "--json")
    assert as_json.code == 2
    assert as_json.json["ok"] is False


def test_the_demo_replaces_its_own_folder_only_and_no_link_to_it(run, tmp_path):
    first = run("demo", "--method", "independent")
    assert first.code == 0
    assert "Release written to demo-release/" in first.out
    assert str((tmp_path / "demo-release" / "report.html").resolve()) in first.out.replace("\n", "")
    before = (tmp_path / "demo-release" / "manifest.json").read_bytes()
    again = run("demo", "--sets", "1", "--method", "independent", "--quiet")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert (tmp_path / "demo-release" / "manifest.json").read_bytes() != before
    assert tree(tmp_path / "demo-release" / "synthetic") == ["set-1.parquet"]
    assert tree(tmp_path)[0] == "demo-release"
    (tmp_path / "demo-release").rename(tmp_path / "kept")
    (tmp_path / "demo-release").symlink_to(tmp_path / "kept", target_is_directory=True)
    require_one_sentence(run("demo"), "demo-release", "already exists")
    assert (tmp_path / "kept" / "manifest.json").exists()


@pytest.mark.nightly
def test_the_demo_answers_what_its_survey_was_made_for(run):
    assert run("demo", "--quiet").code == 0
    asked = run("analyze", "demo-release", "logit", "{affairs > 0} ~ religious")
    assert asked.code == 0
    assert "religious" in asked.out


@pytest.mark.parametrize("name", ["mine.txt", "schema.toml"])
def test_the_demo_leaves_a_foreign_folder_alone(run, tmp_path, name):
    (tmp_path / "demo-release").mkdir()
    (tmp_path / "demo-release" / name).write_text(demo_schema().dumps(), encoding="utf-8")
    result = run("demo")
    require_one_sentence(result, "demo-release", "already exists")
    assert tree(tmp_path) == ["demo-release", f"demo-release/{name}"]


# --- mistakes ---------------------------------------------------------------------------------


def require_one_sentence(result, *words):
    assert result.code == 2
    assert result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith("Error: ")
    assert line.endswith((".", "?"))
    assert SECRET not in line
    for word in words:
        assert word in line


def write_schema(text):
    return lambda: Path("people.toml").write_text(text, encoding="utf-8")


def write_table(columns):
    return lambda: pl.DataFrame(columns).write_parquet("people.parquet")


def write_text(name, text):
    return lambda: Path(name).write_text(text, encoding="utf-8")


def cut(name):
    return lambda: Path(name).write_bytes(Path(name).read_bytes()[:-50])


def fill_folder():
    Path("release").mkdir()
    Path("release/mine.txt").write_text("mine")


PARQUET = {"data": "people.parquet"}
NOTHING = lambda: None  # noqa: E731
REVERSED = SCHEMA.replace("lower = 0", "lower = 100")
# What is wrong → how to get there, the arguments, and what the sentence must name.
FAULTS = {
    "column missing": (write_table({"city": [SECRET]}), ask(**PARQUET), ["'age'", "add it"]),
    "schema not reviewed": (
        write_schema(SCHEMA.replace("true", "false")),
        ask(),
        ["'city'", "not reviewed", "reviewed = true"],
    ),
    "schema not TOML": (write_schema("[columns.city"), ask(), [".toml' is not valid TOML"]),
    "bounds reversed": (write_schema(REVERSED), ask(), ["'age'", "lower must be below upper"]),
    "schema without columns": (write_schema(""), ask(), ["columns"]),
    "schema missing": (NOTHING, ask(schema="none.toml"), ["'none.toml'", "cannot be read"]),
    "data missing": (NOTHING, ask(data="none.csv"), ["'none.csv'", "does not exist"]),
    "name of data too long": (NOTHING, ask(data="a" * 300 + ".csv"), ["does not exist"]),
    "name of schema too long": (NOTHING, ask(schema="a" * 300), ["cannot be read"]),
    "data of no known kind": (write_text("people.docx", "x"), ask(data="people.docx"), [".csv"]),
    "folder without data": (lambda: Path("parts").mkdir(), ask(data="parts"), ["Parquet"]),
    "data empty": (write_text("people.csv", ""), ask(), ["people.csv", "empty"]),
    "a header with an open quote": (
        write_text("people.csv", 'city,"age\nAa,3\n'),
        ask(),
        ["people.csv", "header", "quote"],
    ),
    "a header that is not UTF-8": (
        lambda: Path("people.csv").write_bytes(b"city,age\xff\nAa,3\n"),
        ask(),
        ["people.csv", "header", "utf-8", "[file]"],
    ),
    "UTF-16": (
        lambda: Path("people.csv").write_bytes("city,age\nAa,3\n".encode("utf-16")),
        ask(),
        ["people.csv", "UTF-16"],
    ),
    "Parquet cut off": (cut("people.parquet"), ask(**PARQUET), ["people.parquet", "truncated"]),
    "two columns of one name": (
        write_text("people.csv", "city,age,age\nAa,3,4\n"),
        ask(),
        ["'age'", "rename"],
    ),
    "public rows do not fit": (
        write_schema(SCHEMA.replace("row_limit = 1000", 'rows = "public"\nn_rows = 59')),
        ask(),
        ["n_rows = 59", "another number of rows"],
    ),
    **{
        f"epsilon {value}": (NOTHING, ask(epsilon=value), ["epsilon must be"])
        for value in ("0", "-1", "abc", "nan", "inf", "", "1e99999", "1e300")
    },
    "epsilon too small": (NOTHING, ask(epsilon="1e-20"), ["raise epsilon"]),
    "epsilon missing": (NOTHING, ask(epsilon=None), ["--epsilon", "synthesize --help"]),
    **{
        f"delta {value}": (NOTHING, ask(delta=value), ["delta must be"])
        for value in ("1", "-0.1", "abc")
    },
    "delta where there is none": (
        NOTHING,
        ask(delta="0.1", method="laplace"),
        ["laplace", "delta at 0"],
    ),
    **{
        f"rows share {value}": (NOTHING, ask(budget=f"rows={value}"), ["'rows' of the budget must"])
        for value in ("0", "1", "x")
    },
    "a part without a value": (NOTHING, ask(budget="rows"), ["--budget 'rows' must read name"]),
    "a part twice": (NOTHING, ask(budget="rows=.1,rows=.2"), ["--budget gives rows twice"]),
    "no such part": (NOTHING, ask(budget="row=.1"), ["has no part 'row'", "'rows'?"]),
    "parts of all": (NOTHING, ask(budget="answers=.6,lines=.4"), ["leave something"]),
    "output not empty": (fill_folder, ask(), ["'release'", "already exists"]),
    "output a file": (NOTHING, ask(out="people.csv"), ["'people.csv'", "already exists"]),
    "output below a file": (NOTHING, ask(out="people.csv/a/b"), ["not a folder"]),
    "name of output too long": (NOTHING, ask(out="a" * 300), ["cannot be written"]),
    "output a dangling link": (
        lambda: Path("release").symlink_to("nowhere"),
        ask(),
        ["'release'", "already exists"],
    ),
    "method unknown": (NOTHING, ask(method="laplas"), ["'laplas'", "did you mean 'laplace'?"]),
    "option unknown": (
        NOTHING,
        ask(method="laplace", option="froms=lazy"),
        ["'froms'", "did you mean 'form'?"],
    ),
    "option of no value": (NOTHING, ask(option="form"), ["'form'", "name=value"]),
    "option of a bad value": (
        NOTHING,
        ask(method="laplace", option="form=thick"),
        ["'form'", "'dense'"],
    ),
    "option out of range": (
        NOTHING,
        ask(method="laplace", option="threshold=0"),
        ["'threshold'", "greater than or equal to 1"],
    ),
    "sets not a number": (NOTHING, ask(sets="abc"), ["--sets", "synthesize --help"]),
    "no set": (NOTHING, ask(sets="0"), ["sets", "at least 1"]),
    "seed negative": (NOTHING, ask(seed="-1"), ["--seed"]),
    "seed for a drawing mechanism": (
        NOTHING,
        ask(method="laplace", option="form=lazy", seed="1"),
        ["leave seed out"],
    ),
    "switch unknown": (NOTHING, [*ask(), "--sillent"], ["--sillent", "synthesize --help"]),
    "argument too many": (NOTHING, [*ask(), "more"], ["more", "synthesize --help"]),
    "command unknown": (NOTHING, ["synthesise"], ["'synthesise'", "--help"]),
    "not a release": (lambda: Path("parts").mkdir(), ["show", "parts"], ["not a release"]),
    "no release": (NOTHING, ["show", "none"], ["'none'", "not a release"]),
    "draft over a file": (
        NOTHING,
        ["schema", "draft", "people.csv", "-o", "people.toml"],
        ["'people.toml'", "already exists"],
    ),
    "draft below a file": (
        NOTHING,
        ["schema", "draft", "people.csv", "-o", "people.csv/a.toml"],
        ["cannot be written"],
    ),
    "draft of nothing": (
        NOTHING,
        ["schema", "draft", "none.csv", "-o", "x.toml"],
        ["'none.csv'", "does not exist"],
    ),
    "check of nothing": (
        NOTHING,
        ["schema", "check", "none.csv", "people.toml"],
        ["'none.csv'", "does not exist"],
    ),
    "plan without a method": (
        NOTHING,
        ["plan", "--schema", "people.toml", "--epsilon", "1", "-m", "stairs"],
        ["'stairs'", "available"],
    ),
}


@pytest.mark.parametrize(
    "line", [f"Aa,3,{SECRET}", f'Aa,"{SECRET}', f"{SECRET}\xe9,3"], ids=["long", "quote", "latin"]
)
def test_a_malformed_line_stops_no_release_and_is_told_by_schema_check(run, place, line):
    Path("people.csv").write_bytes(f"city,age\nAa,3\n{line}\n".encode("latin-1"))
    made = run(*ask())
    assert made.code == 0
    assert SECRET not in made.out + made.err
    checked = run("schema", "check", "people.csv", "people.toml")
    assert checked.code == 2
    said = " ".join((checked.out + checked.err).split())
    assert "line 3 h" in said
    assert SECRET not in said


@pytest.mark.parametrize(("arrange", "arguments", "words"), FAULTS.values(), ids=FAULTS)
@pytest.mark.nightly(every=3)
def test_a_mistake_ends_with_one_sentence_and_leaves_nothing(run, place, arrange, arguments, words):
    arrange()
    before = tree(place)
    require_one_sentence(run(*arguments), *words)
    assert tree(place) == before


def test_a_release_that_was_tampered_with_is_not_shown(run, kept):
    table = kept / "synthetic" / "set-1.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-1])
    require_one_sentence(run("show", "release"), "'synthetic/set-1.parquet'", "was changed")
    table.unlink()
    require_one_sentence(run("show", "release"), "'synthetic/set-1.parquet'", "lacks")
    table.write_bytes(whole)
    assert run("show", "release").code == 0


def left_behind(place, before):
    """What is there now and was not before, but for the checkpoint: what is paid stays paid."""
    fresh = set(tree(place)) - set(before)
    assert "release.checkpoint" in fresh
    return [one for one in fresh if not one.startswith("release.checkpoint")]


def test_an_interruption_leaves_nothing_but_the_checkpoint(run, place, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    before = tree(place)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        result = run(*ask())
    assert result.code == 130
    assert "release.checkpoint" in result.err
    assert left_behind(place, before) == []
    assert run(*ask(), "--resume").code == 0
    assert not (place / "release.checkpoint").exists()


def test_a_full_disk_leaves_nothing_but_the_checkpoint(run, place, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    before = tree(place)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", full)
        require_one_sentence(run(*ask()), "'release'", "No space left on device")
    assert left_behind(place, before) == []
    assert run(*ask(), "--resume").code == 0
    assert not (place / "release.checkpoint").exists()


# --- as a program -----------------------------------------------------------------------------


def program(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "understudy", *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.nightly
def test_the_package_runs_as_a_program(place):
    made = program(*ask(), "--json", cwd=place)
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["release"] == "release"


def test_a_mistake_of_a_program_shows_no_traceback(place):
    end = program("synthesise", cwd=place)
    said = SimpleNamespace(code=end.returncode, out=end.stdout, err=end.stderr)
    require_one_sentence(said, "'synthesise'", "--help")


def test_without_a_command_the_program_shows_its_help(run):
    shown = run()
    assert shown.code == 2
    assert "synthesize" in shown.out
    assert run("--help").code == 0


# --- the program itself -----------------------------------------------------------------------


def test_help_lists_the_commands_as_a_user_comes_to_them():
    listed = typer.main.get_command(app).list_commands(None)
    assert listed[:6] == ["schema", "plan", "synthesize", "show", "analyze", "waves"]
    assert listed[6:10] == ["sample", "read", "answer", "regress"]
    assert listed[-1] == "study"


def test_the_version_is_told(run):
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out == f"understudy {us.__version__}\n"


def test_a_method_is_shown_with_its_options(run):
    code, out, _ = run("methods", "laplace")
    assert code == 0
    assert "noise on every cell" in out
    for option in ("form", "noise", "threshold", "spurious", "mode"):
        assert option in out
    assert "how many empty cells may survive the threshold" in " ".join(out.split())


def test_the_options_of_a_method_are_told_to_machines(run):
    found = run("methods", "laplace", "--json").json
    assert found["name"] == "laplace"
    options = {one["name"]: one for one in found["options"]}
    assert options["spurious"]["default"] == 10
    assert options["spurious"]["type"] == "number > 0"
    assert all(set(one) == {"name", "type", "default", "meaning"} for one in found["options"])
    assert len(run("methods", "--json").json) == len(METHODS)


def test_an_unknown_method_has_no_options(run):
    code, out, err = run("methods", "laplase")
    assert (code, out) == (2, "")
    assert "did you mean 'laplace'?" in err


def test_empty_sets_say_why_they_are(run, place):
    """60 rows whose number has noise of thousands: about half of the seeds give none."""
    for seed in range(20):
        asked = ask(epsilon="0.01", insecure_noise_seed=str(seed), out=f"release-{seed}")
        told = run(*asked)
        manifest = us.Release.load(f"release-{seed}").manifest
        if manifest.n_rows == 0:
            break
        assert "empty" not in manifest.rows_told
    page = Path(f"release-{seed}/report.html").read_text(encoding="utf-8")
    words = Path(f"release-{seed}/README.md").read_text(encoding="utf-8")
    for text in (told.out, page, words, run("show", f"release-{seed}").out):
        assert "sets are empty: so few rows need a larger epsilon" in " ".join(text.split())
