"""Attacks by a crafted release folder: files, texts and numbers that anybody may have written.

`remade` makes the checksums fit again, so that what is refused is refused for what it says.
"""

import contextlib
import copy
import html
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy as us
from night import NIGHT
from understudy.cli import render
from understudy.cli.app import internal_place, print_json, write_text
from understudy.dp.guarantee import Guarantee
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError, ReleaseError, UnderstudyError
from understudy.models.model import InferenceFacts
from understudy.release.consistency import FENCE
from understudy.release.decoding import without_formulas
from understudy.release.folder import clear_unfinished, digest
from understudy.release.manifest import RENDERED, Manifest, promise_lines
from understudy.release.measurement import Measurement
from understudy.release.noise_check import STATED_ELSEWHERE
from understudy_verify import verify

SCHEMA = us.Schema.loads("""
title = "Small"
[columns.city]
kind = "categorical"
levels = ["=cmd|' /C calc'!A1", "@b", "-3", "plain"]
source = "codebook"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 9
missing = [""]
source = "codebook"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 4
spikes = [0]
decimals = 1
not_applicable = [-1]
source = "codebook"
reviewed = true
[columns.member]
kind = "boolean"
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 3 }, member = true }
source = "law"
reviewed = true
""")
_RNG = np.random.default_rng(1)
ROWS = pl.DataFrame(
    {
        "city": _RNG.choice(["@b", "-3", "plain"], 300),
        "age": _RNG.integers(4, 10, 300),
        "income": np.round(_RNG.uniform(0, 100, 300), 1),
        "member": _RNG.random(300) < 0.5,
    }
)
METHODS = {
    "independent": ("independent", {}),
    "filtered": ("laplace", {"form": "filtered"}),
    "sums": ("modips", {}),
    "nodes": ("steps", {}),
    "ranges": ("universal-histogram", {}),
    "sweeps": ("pegs", {}),
    "lines": ("independent", {}),
}
MORE = {"lines": {"delta": "1e-6", "budget": {"lines": "0.2"}}}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A genuine folder of each kind, read once as bytes: name → file → content.

    By day the first has pages.
    """
    found = {}
    for name, (method, options) in METHODS.items():
        more = {"method": method, "options": options, **MORE.get(name, {})}
        release = us.synthesize(ROWS, SCHEMA, epsilon=3, sets=2, **more)
        if not NIGHT and name != "independent":
            release = replace(release, pages=None)
        folder = release.save(tmp_path_factory.mktemp(name) / "r", csv=True)
        files = (file for file in folder.rglob("*") if file.is_file())
        found[name] = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    return found


def laid_out(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def folder(published, tmp_path):
    return laid_out(published["independent"], tmp_path / "r")


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def put(folder, manifest):
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def remade(folder):
    """Checksums of whatever lies there now."""
    manifest = manifest_of(folder)
    files = (one for one in folder.rglob("*") if one.is_file() and one.name != "manifest.json")
    manifest["files"] = {one.relative_to(folder).as_posix(): digest(one) for one in files}
    put(folder, manifest)


def sentence(folder):
    """What loading says; one line, no control characters."""
    with pytest.raises(ReleaseError) as caught:
        us.Release.load(folder)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 600
    return said


# --- names and places ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../secret", "/etc/secret", "a/b", "..", "C:\\x", "x\0y", ".hidden", "a" * 300, "\u202ex"],
)
def test_the_name_of_a_measurement_is_no_path(folder, tmp_path, name):
    """Claim attacked: loading reads nothing outside the folder."""
    secret = tmp_path / "secret.parquet"
    pl.DataFrame({"city": ["x"], "count": [1]}).write_parquet(secret)
    manifest = manifest_of(folder)
    manifest["measurements"][1]["name"] = str(secret)[:-8] if name == "/etc/secret" else name
    put(folder, manifest)
    assert "measurements" in sentence(folder)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/b", "a\\b", "..", "a.b", "é"])
def test_saving_writes_nothing_outside_the_folder(name):
    """Claim attacked: a measurement made by hand cannot be saved anywhere else."""
    with pytest.raises(ReleaseError, match="its file is named so"):
        Measurement("table", (), name=name, distribution="none", scale="0", stddev=0.0, entry=1)


def test_two_measurements_of_one_name_are_not_saved_over_each_other(folder, tmp_path):
    loaded = us.Release.load(folder)
    twice = (*loaded.measurements, loaded.measurements[1])
    with pytest.raises(ReleaseError, match="name each differently"):
        us.Release(loaded.tables, loaded.schema, loaded.manifest, twice).save(tmp_path / "two")
    assert not (tmp_path / "two").exists()


def linked_file(folder):
    table = folder / "noisy" / "table-2.parquet"
    table.rename(folder.parent / "elsewhere.parquet")
    table.symlink_to(folder.parent / "elsewhere.parquet")


def linked_folder(folder):
    (folder / "noisy").rename(folder.parent / "noisy")
    (folder / "noisy").symlink_to(folder.parent / "noisy")


def pipe(folder):
    (folder / "README.md").unlink()
    os.mkfifo(folder / "README.md")


@pytest.mark.parametrize("lead", [linked_file, linked_folder, pipe])
def test_nothing_in_a_folder_leads_out_of_it(folder, lead):
    """Claim attacked: what is loaded is what was published, and reading it ends."""
    lead(folder)
    assert "leads elsewhere" in sentence(folder)


def test_what_nobody_listed_is_neither_loaded_nor_passed_on(folder):
    """Claim attacked: a folder holds what its publisher listed."""
    (folder / "internal.html").write_text("the rows", encoding="utf-8")
    assert "did not list" in sentence(folder)
    remade(folder)
    assert "no part of a release" in sentence(folder)


LEFT = {
    ".DS_Store": b"\0\0\0\1Bud1\0",
    "synthetic/.DS_Store": b"\0\0\0\1Bud1",
    "._README.md": b"\0\5\x16\7\0",
    ".directory": b"[Dolphin]\nTimestamp=2024",
}


def test_what_file_managers_leave_does_no_harm(folder):
    """Somebody looked into the folder, and nothing else: both programs accept it as before."""
    for name, content in LEFT.items():
        (folder / name).write_bytes(content)
    us.Release.load(folder)
    assert {rule: state for rule, state, _ in verify(folder)}["files"] == "ok"


@pytest.mark.parametrize("name", [*LEFT, "._nobody", ".rows.csv", ".git/config", ".x/.DS_Store"])
def test_hidden_files_are_files_like_others(folder, name):
    """Claim attacked: nothing that its publisher did not list travels with a release."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"the rows")
    assert "did not list" in sentence(folder)
    assert {rule: state for rule, state, _ in verify(folder)}["files"] == "broken"


def test_a_signature_that_was_not_finished_is_cleared_by_the_next(folder):
    """A process that died while it signed leaves a hidden file, which signing removes."""
    (folder / ".manifest.sig").write_text("{", encoding="utf-8")
    assert "did not list" in sentence(folder)
    clear_unfinished(folder)
    us.Release.load(folder)


@pytest.mark.parametrize("name", ["README.md", "schema.toml", "synthetic/set-2.parquet"])
def test_what_a_release_needs_is_listed(folder, name):
    (folder / name).unlink()
    assert "lacks its file" in sentence(folder)
    remade(folder)
    assert "does not list" in sentence(folder)


# --- JSON ---------------------------------------------------------------------------------------

DEPTH = 100_000
TEXTS = {
    "nested": ("[" * DEPTH + "]" * DEPTH, "nested too deeply"),
    "nested objects": ('{"a":' * DEPTH + "1" + "}" * DEPTH, "nested too deeply"),
    "twice": ('{"format": 1, "format": 1, "files": {}}', "a name twice"),
    "infinite": ('{"format": 1, "files": {}, "sets": Infinity}', "not finite"),
    "overflow": ('{"format": 1, "files": {}, "sets": 1e999}', "not finite"),
    "nan": ('{"format": NaN, "files": {}}', "not finite"),
    "half a character": ('{"format": 1, "files": {"\\ud800": "x"}}', "half of a character"),
    "digits": ('{"format": 1, "files": {}, "sets": ' + "9" * 5000 + "}", "thousands of digits"),
    "truth": ('{"format": true, "files": {}}', "not a number"),
    "text": ('{"format": "1", "files": {}}', "not a number"),
    "list of files": ('{"format": 1, "files": ["a"]}', "no readable"),
    "numbers of files": ('{"format": 1, "files": {"a": 1}}', "no readable"),
    "not UTF-8": (b'{"format": "\xff"}', "not a release"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_json_of_two_meanings_or_without_end_is_refused(tmp_path, kind):
    """Claim attacked: two readers of a manifest see one manifest, and both come to an end."""
    text, words = TEXTS[kind]
    (tmp_path / "manifest.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert words in sentence(tmp_path)


ENDLESS = {
    "link": lambda manifest: manifest.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "sparse": lambda manifest: manifest.touch() or os.truncate(manifest, 2**36),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_manifest_without_end_is_not_read(tmp_path, kind):
    """Claim attacked: what reads a folder comes to an end, also where its manifest has none."""
    ENDLESS[kind](tmp_path / "manifest.json")
    assert "manifest" in sentence(tmp_path)
    assert verify(tmp_path)[0] == (
        "manifest",
        "broken",
        "manifest.json is no file of its own, or too large",
    )


def test_names_of_files_are_shown_without_what_a_terminal_obeys(folder):
    manifest = manifest_of(folder)
    manifest["files"]["\x1b[2J\u202e"] = "sha256:0"
    put(folder, manifest)
    assert "lacks its file" in sentence(folder)


# --- releases that were altered and hashed anew --------------------------------------------------


def rewritten(folder, name, change):
    file = folder / name
    change(pl.read_parquet(file)).write_parquet(file)
    remade(folder)


def in_rows(change):
    return lambda folder: rewritten(folder, "synthetic/set-2.parquet", change)


def in_cells(change, name="table-2"):
    return lambda folder: rewritten(folder, f"noisy/{name}.parquet", change)


def in_manifest(change):
    def alter(folder):
        manifest = manifest_of(folder)
        change(manifest)
        put(folder, manifest)

    return alter


def in_schema(old, new):
    def alter(folder):
        file = folder / "schema.toml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        remade(folder)

    return alter


def set_at(*path, value):
    def change(manifest):
        for part in path[:-1]:
            manifest = manifest[part]
        manifest[path[-1]] = value

    return in_manifest(change)


def foreign(table):
    levels = [*table.schema["city"].categories, "Atlantis"]
    return table.with_columns(pl.Series("city", ["Atlantis"] * table.height, dtype=pl.Enum(levels)))


def impossible(table):
    return table.with_columns(age=pl.lit(1, pl.Int64), member=pl.lit(value=True))


ALTERED = {
    "column dropped": (in_rows(lambda t: t.drop("age")), "other columns"),
    "column added": (in_rows(lambda t: t.with_columns(x=1)), "other columns"),
    "columns exchanged": (in_rows(lambda t: t.select(t.columns[::-1])), "other columns"),
    "level added": (in_rows(foreign), "another type"),
    "wrong type": (in_rows(lambda t: t.cast({"age": pl.Float64})), "another type"),
    "rows cut": (in_rows(lambda t: t.head(3)), "number of rows"),
    "rows doubled": (in_rows(lambda t: pl.concat([t, t])), "number of rows"),
    "null": (in_rows(lambda t: t.with_columns(member=pl.lit(None, pl.Boolean))), "empty cells"),
    "beyond the bound": (
        in_rows(lambda t: t.with_columns(age=pl.lit(11, pl.Int64))),
        "does not allow",
    ),
    "no number": (in_rows(lambda t: t.with_columns(income=pl.lit(float("nan")))), "not allow"),
    "infinite": (in_rows(lambda t: t.with_columns(income=pl.lit(float("inf")))), "not allow"),
    "undeclared code": (in_rows(lambda t: t.with_columns(income=pl.lit(-2.0))), "not allow"),
    "impossible rows": (in_rows(impossible), "declares impossible"),
    "cells cut": (in_cells(lambda t: t.head(2)), "number of cells"),
    "cells added": (in_cells(lambda t: pl.concat([t, t])), "number of cells"),
    "cells exchanged": (in_cells(lambda t: t.reverse()), "other cells"),
    "cells repeated": (in_cells(lambda t: pl.concat([t.head(1)] * t.height)), "other cells"),
    "cell without a number": (
        in_cells(lambda t: t.with_columns(count=pl.lit(None, pl.Int64))),
        "without a number",
    ),
    "infinite count": (
        in_cells(lambda t: t.with_columns(count=pl.lit(float("-inf")))),
        "without a number",
    ),
    "count of text": (in_cells(lambda t: t.cast({"count": pl.String})), "without a number"),
    "state of another column": (
        in_cells(lambda t: t.with_columns(pl.lit("x", pl.Enum(["x"])).alias(t.columns[0]))),
        "other states",
    ),
    "another axis": (in_cells(lambda t: t.rename({t.columns[0]: "zone"})), "other columns"),
    "more cells stated": (set_at("measurements", 1, "cells", value=9), "number of cells"),
    "columns of nobody": (set_at("measurements", 1, "columns", value=["town"]), "not have"),
    "bins of levels": (set_at("measurements", 1, "bins", value={"city": 3}), "not numeric"),
    "kind without cells": (set_at("measurements", 1, "kind", value="exact"), "have paid for"),
    "unknown kind": (set_at("measurements", 1, "kind", value="rows"), "measurements.1.kind"),
    "endless scale": (set_at("measurements", 1, "scale", value="1/0"), "measurements.1.scale"),
    "negative spread": (set_at("measurements", 1, "stddev", value=-1), "measurements.1.stddev"),
    "entry of nobody": (set_at("measurements", 1, "ledger_entry", value=99), "no entry"),
    "truncated but negative": (
        lambda folder: (
            set_at("measurements", 1, "law", value="truncated_laplace")(folder),
            in_cells(lambda t: t.with_columns(count=pl.lit(-1, pl.Int64)))(folder),
        ),
        "cannot have paid for",
    ),
    "step more than the budget": (
        lambda folder: (
            set_at("ledger", 0, "epsilon", value="9")(folder),
            set_at("ledger", 0, "epsilon_exact", value="9")(folder),
        ),
        "more than the stated budget",
    ),
    "two costs": (set_at("ledger", 0, "epsilon", value="0.01"), "two costs"),
    "free step": (
        lambda folder: (
            set_at("ledger", 0, "epsilon", value=None)(folder),
            set_at("ledger", 0, "epsilon_exact", value=None)(folder),
        ),
        "does not",
    ),
    "step renumbered": (set_at("ledger", 0, "number", value=7), "out of order"),
    "another unit": (set_at("budget", "unit", value="rho"), "contradicts itself"),
    "smaller epsilon": (set_at("guarantee", "epsilon", value="0.5"), "than its stated budget"),
    "smaller budget": (
        lambda folder: (
            set_at("guarantee", "epsilon", value="0.5")(folder),
            set_at("budget", "epsilon", value="0.5")(folder),
            set_at("budget", "amount", value="0.5")(folder),
        ),
        "more than the stated budget",
    ),
    "another sentence": (
        set_at("guarantee", "statement", value="Pure differential privacy with ε = 0.01."),
        "the sentence that states its guarantee",
    ),
    "an invented ρ": (set_at("guarantee", "rho", value="0.1"), "than its stated budget"),
    "an invented μ": (set_at("guarantee", "mu", value="0.1"), "than its stated budget"),
    "another δ": (set_at("guarantee", "delta", value="0.1"), "than its stated budget"),
    "another kind": (set_at("guarantee", "kind", value="approximate"), "of another kind"),
    "conditions of nothing": (set_at("guarantee", "kind", value="conditional"), "another kind"),
    "a leak with a proof": (
        set_at("guarantee", "leaks", value=["The rows."]),
        "than its stated budget",
    ),
    "a spread beyond numbers": (set_at("measurements", 1, "stddev", value=10**400), "stddev"),
    "a spread next to none": (set_at("measurements", 1, "stddev", value=5e-324), "stddev"),
    "other neighbours": (set_at("guarantee", "neighbours", value="replace"), "other neighbours"),
    "seeded and private": (set_at("secure", value=False), "promises what"),
    "options that are no plain values": (set_at("options", value={"x": {"y": {}}}), "options.x"),
    "no word for inference": (in_manifest(lambda m: m.pop("inference")), "'inference'"),
    "a fact of nobody": (set_at("inference", "exact", value=True), "inference.exact"),
    "a fact unsaid": (in_manifest(lambda m: m["inference"].pop("swept")), "inference.swept"),
    "an unknown rule": (set_at("inference", "posterior_rule", value="single"), "posterior_rule"),
    "negative prior": (set_at("inference", "prior_weight", value=-1), "inference.prior_weight"),
    "rule of other sets": (
        set_at("inference", "posterior_rule", value="partial"),
        "another kind of sets",
    ),
    "levels modelled": (set_at("inference", "modelled", value=["city"]), "not numeric"),
    "column of nobody modelled": (set_at("inference", "modelled", value=["town"]), "not numeric"),
    "bins modelled": (set_at("inference", "modelled", value=["income"]), "were measured"),
    "network of others": (
        set_at("inference", "network", value=[{"column": "city", "parents": []}]),
        "its network does not fit its columns",
    ),
    "network in a circle": (
        set_at(
            *("inference", "network"),
            value=[
                {"column": name, "parents": [parent]}
                for name, parent in zip(SCHEMA.names, SCHEMA.names[1:] + SCHEMA.names, strict=False)
            ],
        ),
        "its network does not fit its columns",
    ),
    "network of columns measured apart": (
        set_at(
            *("inference", "network"),
            value=[
                {"column": name, "parents": list(SCHEMA.names[:k])}
                for k, name in enumerate(SCHEMA.names)
            ],
        ),
        "measured with its parents",
    ),
    "entry missing": (in_manifest(lambda m: m.pop("ledger")), "'ledger'"),
    "entry too many": (set_at("more", value=1), "'more'"),
    "sets of text": (set_at("sets", value="2"), "'sets'"),
    "truth for a number": (set_at("sets", value=True), "'sets'"),
    "no sets": (set_at("sets", value=0), "'sets'"),
    "schema with fewer columns": (
        in_schema("[columns.member]", "[columns.other]"),
        "",
    ),
    "schema with other bounds": (in_schema("upper = 9", "upper = 5"), "does not fit itself"),
    "schema that is none": (in_schema("[columns.city]", "[columns.city"), "malformed"),
}


@pytest.mark.parametrize("attack", ALTERED)
def test_a_release_that_was_altered_and_hashed_anew_is_refused(folder, attack):
    """Claim attacked: what a folder says of itself is all of one piece."""
    alter, words = ALTERED[attack]
    us.Release.load(folder)
    alter(folder)
    assert words in sentence(folder)


KINDS = {
    "filtered": ("table-2", "cut"),
    "sums": (None, "cut"),
    "nodes": (None, "cut"),
    "ranges": (None, "cut"),
    "lines": (None, "cut"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["last", "doubled"])
def test_a_noisy_table_of_any_kind_cannot_be_cut_short(published, tmp_path, kind, how):
    """Claim attacked: a table has the cells that its kind has; of a filtered one any may be left
    out, but none below its threshold, none twice."""
    folder = laid_out(published[kind], tmp_path / "r")
    manifest = manifest_of(folder)
    lines = kind == "lines"
    stored = [
        k
        for k, one in enumerate(manifest["measurements"])
        if one["cells"] > 1 and (one["kind"] == "line") >= lines
    ]
    entry = manifest["measurements"][stored[-1]]
    file = folder / "noisy" / f"{entry['name']}.parquet"
    table = pl.read_parquet(file)
    if kind == "filtered":
        low = pl.lit(0, table.schema["count"])
        altered = table.with_columns(count=low) if how == "last" else pl.concat([table, table])
    else:
        cut = table.head(table.height - 1)
        altered = cut if how == "last" else pl.concat([cut, table.head(1)])
    altered.write_parquet(file)
    entry["cells"] = altered.height
    if lines:  # of which the ledger says as well how many cells there are
        manifest["ledger"][entry["ledger_entry"] - 1]["cells"] = altered.height + 1
    put(folder, manifest)
    remade(folder)
    assert "other cells" in sentence(folder)


LINES = {
    "edges not increasing": ({"bins": {"income": [0.0, 50.0, 20.0, 100.0]}}, "malformed"),
    "edges within the bounds": ({"bins": {"income": [0.0, 50.0, 90.0]}}, "malformed"),
    "other edges": ({"bins": {"income": [0.0, 50.0, 100.0]}}, "other states"),
    "no edges": ({"bins": {}}, "other states"),
    "edges of levels": ({"bins": {"city": 2}}, "not numeric"),
    "a column that is not there": ({"columns": ["wealth"], "bins": {}}, "does not have"),
    "a column of levels": ({"columns": ["city"], "bins": {}}, "asks for other numbers"),
    "two columns": ({"columns": ["income", "age"]}, "one column"),
    "no column": ({"columns": []}, "one column"),
    "another kind": ({"kind": "table"}, "cannot have paid for"),
}


@pytest.mark.parametrize("lie", LINES)
def test_a_number_line_has_the_cells_that_it_says(published, tmp_path, lie):
    """Claim attacked: a line is of one numeric column, in edges that its schema could have."""
    folder = laid_out(published["lines"], tmp_path / "r")
    us.Release.load(folder)
    manifest = manifest_of(folder)
    (entry,) = (
        one
        for one in manifest["measurements"]
        if one["kind"] == "line" and one["columns"] == ["income"]
    )
    change, words = LINES[lie]
    entry.update(change)
    put(folder, manifest)
    assert words in sentence(folder)


@pytest.mark.parametrize("command", ["show", "analyze", "evaluate", "risk"])
def test_every_command_refuses_it_in_one_sentence(folder, tmp_path, monkeypatch, capsys, command):
    """Claim attacked: no command works on a folder that does not fit itself."""
    from understudy.cli.app import main

    in_rows(foreign)(folder)
    ROWS.write_csv(tmp_path / "rows.csv")
    rows = str(tmp_path / "rows.csv")
    arguments = {
        "show": [str(folder)],
        "analyze": [str(folder), "mean", "age"],
        "evaluate": [rows, str(folder)],
        "risk": [rows, str(folder)],
    }[command]
    monkeypatch.setattr("sys.argv", ["understudy", command, *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "does not fit itself" in err


# --- what a manifest says for inference ----------------------------------------------------------

LIES = {
    "sums": {
        "normal numbers that are said to be bins": ({"modelled": []}, "than were measured"),
        "one number twice": ({"modelled": ["age", "age", "income"]}, "than were measured"),
        "columns measured together, said to be independent": ({"independent": True}, "together"),
    },
    "sweeps": {"drawn column by column, and denied": ({"swept": False}, "denies it")},
    "shared noise": {
        "noise that sets share, said to be the rows' own": (
            {"posterior_rule": "partial"},
            "other noise",
        ),
        "posterior sets without a rule": ({"posterior_rule": None}, "another kind of sets"),
    },
    "exact": {"noise drawn anew, where there is none": ({"posterior_rule": "mi"}, "other noise")},
}
TELLING = {
    "shared noise": ("marginals", {}, {}),
    "exact": ("multiple-imputation", {}, {"allow_nonprivate": True}),
}


@pytest.mark.parametrize("kind", LIES)
def test_what_is_said_for_inference_fits_what_was_measured(published, tmp_path, kind):
    """Claim attacked: no interval is narrower than the measurements allow, by a false word."""
    if kind in published:
        folder = laid_out(published[kind], tmp_path / "r")
    else:
        method, options, more = TELLING[kind]
        asked = {"epsilon": 3, "method": method, "options": options, "sets": 2}
        folder = us.synthesize(ROWS, SCHEMA, **asked, **more).save(tmp_path / "r")
    us.Release.load(folder)
    whole = manifest_of(folder)
    for name, (lie, words) in LIES[kind].items():
        put(folder, whole | {"inference": whole["inference"] | lie})
        assert words in sentence(folder), name


# --- texts --------------------------------------------------------------------------------------

EVIL = "\x1b]0;pwned\x07\x1b[31m[link=http://evil.example]x[/link]\u202egnp\n\x9b2J<script>alert(1)</script>"


def with_evil_texts(folder):
    manifest = manifest_of(folder)
    manifest["method"] = manifest["reason"] = EVIL
    words = {"mechanism": STATED_ELSEWHERE, "epsilon": None, "epsilon_exact": None}
    words |= {"query": EVIL, "noise": EVIL, "sensitivity": EVIL}  # of another system, any words
    for one in manifest["measurements"]:
        manifest["ledger"][one["ledger_entry"] - 1].update(words)
    guarantee = manifest["guarantee"]
    guarantee["conditions"] = guarantee["leaks"] = [EVIL]
    guarantee |= {"kind": "none", "epsilon": None, "rho": None, "mu": None}
    for public in manifest["guarantee"]["public_inputs"]:
        public.update(what=EVIL, source=EVIL, note=EVIL)
    promise = Guarantee.from_json(manifest["guarantee"])
    manifest["guarantee"]["statement"] = promise.statement
    manifest["software"] = {EVIL: EVIL}
    put(folder, manifest)
    schema = us.Schema.load(folder / "schema.toml").model_copy(update={"title": EVIL})
    schema.save(folder / "schema.toml")
    facts = InferenceFacts.from_json(manifest["inference"])
    told = {k: v for k, v in manifest.items() if k not in {"format", "files", "measurements"}}
    lines = (*promise_lines(Manifest.from_json(told, facts)), f"{RENDERED}0.0.1")
    page = (folder / "report.html").read_text(encoding="utf-8")
    sheet = page[page.index("<style>") : page.index("</style>")]
    shown = "".join(f"<p>{html.escape(one)}</p>" for one in lines)
    body = f'<body><blockquote id="promise">{shown}</blockquote></body>'
    page = f'<!DOCTYPE html><html lang="en"><head>{sheet}</style></head>{body}</html>'
    readme = "\n".join(["# Title", "", FENCE, *lines, "```", ""])
    for name, text in (("README.md", readme), ("report.html", page), ("codebook.html", page)):
        (folder / name).write_text(text, encoding="utf-8")
    remade(folder)


def acts(text):
    return re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text
    )


def test_texts_of_a_folder_do_not_act_in_a_terminal(folder, capsys, monkeypatch):
    """Claim attacked: the terminal shows what a manifest says and obeys none of it."""
    from rich.console import Console

    with_evil_texts(folder)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=200, highlight=False)
    monkeypatch.setattr(render, "out", console)
    loaded = us.Release.load(folder)
    render.release(loaded)
    render.show_release(loaded, folder)
    shown = stream.getvalue()
    assert "\x1b]8" not in shown, "a link was made"
    assert "[link=http" in shown
    assert not acts(re.sub(r"\x1b\[[0-9;]*m", "", shown)), "only styles of our own are left"
    assert "\x1b[31m" not in shown
    print_json(loaded.manifest.to_json())
    out = capsys.readouterr().out
    assert not acts(out)
    assert json.loads(out)["method"] == EVIL


def test_texts_of_a_folder_do_not_act_on_a_page_or_in_a_readme(folder, tmp_path):
    """Claim attacked: pages and the recipient's README show them as texts."""
    from understudy.evaluate.report_page import internal_page
    from understudy.release.readme import readme
    from understudy.report.public_page import codebook_page, public_page

    with_evil_texts(folder)
    loaded = us.Release.load(folder)
    pages = {
        "public": public_page(loaded),
        "internal": internal_page(us.evaluate(ROWS, loaded).value),
        "codebook": codebook_page(loaded),
        "readme": readme(
            *(loaded.manifest, loaded.schema, loaded.measurements),
            formats=("csv", "sav"),
            pages=("report.html", "codebook.html"),
        ),
    }
    for name, text in pages.items():
        assert "<script>alert" not in text, name
        assert not re.search("[\x07\x1b\x9b\u202e]", text), name


def test_a_spreadsheet_runs_no_level(tmp_path):
    """Claim attacked: a CSV opened in a spreadsheet shows levels and runs none; Parquet is as it
    is, and the README says what was done."""
    schema = SCHEMA.model_copy(
        update={"columns": {"+sum": SCHEMA.columns["city"]}, "forbidden": ()}
    )
    rows = pl.DataFrame({"+sum": ["=cmd|' /C calc'!A1", "@b", "-3", "plain"] * 50})
    release = us.synthesize(rows, schema, epsilon=5, seed=1, method="independent")
    guarded = release.save(tmp_path / "guarded", csv=True)
    lines = (guarded / "synthetic" / "set-1.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "'+sum"
    assert set(lines[1:]) == {"'=cmd|' /C calc'!A1", "'@b", "-3", "plain"}
    assert "apostrophe" in (guarded / "README.md").read_text(encoding="utf-8")
    raw = release.save(tmp_path / "raw", csv_raw=True)
    lines = (raw / "synthetic" / "set-1.csv").read_text(encoding="utf-8").splitlines()
    assert set(lines) == {"+sum", "=cmd|' /C calc'!A1", "@b", "-3", "plain"}
    assert "apostrophe" not in (raw / "README.md").read_text(encoding="utf-8")
    for one in (guarded, raw):
        table = us.Release.load(one, frame="polars").tables[0]
        assert table.equals(release.tables[0])


def test_an_apostrophe_makes_no_two_columns_one():
    table = pl.DataFrame({"=x": [1], "'=x": [2], "''=x": [3]})
    assert without_formulas(table).columns == ["'''=x", "'=x", "''=x"]


def test_numbers_and_plain_texts_get_no_apostrophe(tmp_path):
    rows = pl.DataFrame({"x": [-1, 3] * 50})
    schema = us.Schema.loads(
        '[columns.x]\nkind = "integer"\nlower = -5\nupper = 5\nsource = "s"\nreviewed = true'
    )
    out = us.synthesize(rows, schema, epsilon=9, seed=1).save(tmp_path / "r", csv=True)
    assert "'" not in (out / "synthetic" / "set-1.csv").read_text(encoding="utf-8")
    assert "apostrophe" not in (out / "README.md").read_text(encoding="utf-8")


# --- internal pages -----------------------------------------------------------------------------


def test_an_internal_page_goes_into_no_release(folder, tmp_path, monkeypatch):
    """Claim attacked: no internal page is published by lying in a release, whatever its path."""
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "deep").symlink_to(folder / "noisy")
    (tmp_path / "page.internal.html").symlink_to(folder / "page.html")
    monkeypatch.chdir(folder / "noisy")
    for place in (
        folder / "internal.html",
        folder / "noisy" / "internal.html",
        tmp_path / "link" / "internal.html",
        tmp_path / "link" / "noisy" / ".." / "internal.html",
        tmp_path / "deep" / "internal.html",
        tmp_path / "page.internal.html",
        Path("internal.html"),
        Path("../internal.html"),
    ):
        with pytest.raises(MethodError, match="cannot go into the release"):
            internal_place(place)
        with pytest.raises(MethodError, match="cannot go into the release"):
            write_text(place, "the rows")
    assert not (folder / "page.html").exists()


def test_a_manifest_of_something_else_is_no_release(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}', encoding="utf-8")
    assert internal_place(tmp_path / "internal.html") == tmp_path / "internal.html"


def test_a_broken_manifest_beside_rows_still_is_a_release(folder):
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(MethodError, match="cannot go into the release"):
        internal_place(folder / "internal.html")


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("report.html", "report.internal.html"),
        ("report", "report.internal"),
        ("internal.html", "internal.html"),
        ("My-INTERNAL-page.htm", "My-INTERNAL-page.htm"),
        ("a.b.html", "a.b.internal.html"),
    ],
)
def test_an_internal_page_says_so_in_its_name(tmp_path, asked, given):
    """Claim attacked: nobody publishes an internal page for its innocent name."""
    assert internal_place(tmp_path / asked) == tmp_path / given


def test_no_release_is_made_within_another(folder):
    loaded = us.Release.load(folder)
    with pytest.raises(ReleaseError, match="lies in the release"):
        loaded.save(folder / "inner")


# --- any alteration -----------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "0", "1/0", "-1", "1e9", EVIL, "city", "age<-city", "epsilon", "9" * 50]),
    st.text(max_size=5).filter(lambda text: not re.search("[\ud800-\udfff]", text)),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)


def places(content, path=()):
    """All places of plain data."""
    found = [path] if path else []
    if isinstance(content, dict):
        inside = list(content.items())
    else:
        inside = list(enumerate(content)) if isinstance(content, list) else []
    for key, value in inside:
        found += places(value, (*path, key))
    return found


def changed(content, path, value, *, remove):
    content = copy.deepcopy(content)
    parent = content
    for part in path[:-1]:
        parent = parent[part]
    if remove:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return content


def used(folder):
    """Load and use a folder: anything but an error of our own is a fault."""
    with contextlib.suppress(UnderstudyError):
        loaded = us.Release.load(folder)
        render.release(loaded)
        for kind, formula in (
            *(("mean", "age"), ("proportion", "city"), ("table", "city + member")),
            ("quantile", "income"),
        ):
            with contextlib.suppress(UnderstudyError):
                render.show_analysis(us.analyze(loaded, kind, formula))


FUZZ = settings(
    max_examples=40 if NIGHT else 8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.nightly(every=3)
def test_any_change_of_a_manifest_ends_in_a_release_or_a_sentence(published, tmp_path, kind):
    """Claim attacked: no manifest makes a traceback, when it is loaded, shown or analysed.

    40 changes of each kind of release: an entry removed, or replaced by any JSON.
    """
    folder = laid_out(published[kind], tmp_path / "r")
    whole = manifest_of(folder)
    everywhere = places({name: part for name, part in whole.items() if name != "files"})

    @FUZZ
    @given(st.sampled_from(everywhere), JSON, st.integers(0, 9))
    def attack(path, value, dice):
        put(folder, changed(whole, path, value, remove=dice == 0))
        used(folder)

    attack()


def reshaped(table, draw):
    """A table with one thing about it changed."""
    name = draw(st.sampled_from(table.columns))
    dtype = draw(st.sampled_from([pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Binary]))
    how = draw(st.sampled_from(["drop", "rename", "null", "cut", "twice", "type", "value", "sort"]))
    if how == "drop":
        return table.drop(name)
    if how == "rename":
        return table.rename({name: draw(st.text(max_size=4)) + "x"})
    if how == "cut":
        return table.head(draw(st.integers(0, table.height)))
    if how == "twice":
        return pl.concat([table, table])
    if how == "sort":
        return table.sort(name, descending=draw(st.booleans()))
    if how == "value":
        number = draw(
            st.sampled_from([-(2**63), -1, 0, 10, 2**62, float("nan"), float("inf"), 1e300])
        )
        with contextlib.suppress(pl.exceptions.PolarsError, OverflowError, TypeError):
            column = pl.Series(name, [number] * table.height, strict=False)
            return table.with_columns(column.cast(table.schema[name], strict=False))
        return table.head(0)
    empty = pl.Series(name, [None] * table.height, dtype=dtype)
    return table.with_columns(empty if how == "null" else table[name].cast(dtype, strict=False))


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.nightly(every=3)
def test_any_change_of_a_table_ends_in_a_release_or_a_sentence(published, tmp_path, kind):
    """Claim attacked: the same for the rows and the noisy tables, columns and bytes."""
    folder = laid_out(published[kind], tmp_path / "r")
    names = [name for name in published[kind] if name.endswith(".parquet")]

    @FUZZ
    @given(st.data())
    def attack(data):
        name = data.draw(st.sampled_from(names))
        file = folder / name
        content = published[kind][name]
        if data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(content) - 1))
            size = data.draw(st.integers(0, 3))
            file.write_bytes(content[:at] + data.draw(st.binary(max_size=3)) + content[at + size :])
        else:
            table = pl.read_parquet(io.BytesIO(content))
            with contextlib.suppress(pl.exceptions.PolarsError):
                reshaped(table, data.draw).write_parquet(file)
        remade(folder)
        try:
            used(folder)
        finally:
            file.write_bytes(content)

    attack()


@pytest.mark.fuzz
def test_any_change_of_a_schema_ends_in_a_release_or_a_sentence(published, tmp_path):
    """Claim attacked: the same for the lines of the schema."""
    folder = laid_out(published["sums"], tmp_path / "r")
    lines = (folder / "schema.toml").read_text(encoding="utf-8").splitlines()
    number = re.compile(r"-?\d+(\.\d+)?")
    spread = st.sampled_from(["0", "-1", "7", "1e9", "nan", "inf", "1e400", "'x'", "[]", "true"])

    @FUZZ
    @given(
        st.integers(0, len(lines) - 1), st.integers(0, len(lines) - 1), spread, st.integers(0, 3)
    )
    def attack(one, two, value, how):
        text = list(lines)
        if how == 0:
            del text[one]
        elif how == 1:
            text.insert(two, text[one])
        elif how == 2:
            text[one], text[two] = text[two], text[one]
        else:
            text[one] = number.sub(value, text[one], count=1)
        (folder / "schema.toml").write_text("\n".join(text), encoding="utf-8")
        remade(folder)
        used(folder)

    attack()


def test_a_seeded_release_says_so_and_is_read(tmp_path):
    """A release of another kind than those above: not private, by its own account."""
    assert not SeededRandomness.secure
    made = us.synthesize(ROWS, SCHEMA, epsilon=1, method="independent", insecure_noise_seed=1)
    assert us.Release.load(made.save(tmp_path / "r")).guarantee.kind == "none"
