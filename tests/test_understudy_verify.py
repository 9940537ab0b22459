"""The checker that stands by itself: of no code of ours, in step with the specification."""

import ast
import hashlib
import inspect
import json
import re
import shutil
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
import understudy_verify
from altered_releases import base
from understudy._storage import make_key
from understudy.dp.gate import load_mechanisms
from understudy.errors import ReleaseError, SchemaError, SignatureError
from understudy.mechanisms.regression import MECHANISMS as REGRESSIONS
from understudy.mechanisms.regression import CubeLaplace
from understudy.release.consistency import STYLE_SHEETS
from understudy.release.folder import write_signature
from understudy.release.noise_check import PURCHASES
from understudy.release.shape import Kind, _Manifest
from understudy.schema.columns import KINDS
from understudy_verify import (
    DRAWS,
    HOLDS,
    LAWS,
    RULES,
    SHAPE,
    SHEETS,
    STORED,
    Release,
    main,
    misfit,
    verify,
)

ROOT = Path(__file__).parents[1]
SOURCE = Path(inspect.getfile(understudy_verify)).read_text(encoding="utf-8")
SPECIFICATION = "".join(
    (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("release-format", "manifest", "steps")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    base("gaussian", place)
    return place / "gaussian"


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["understudy-verify", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().out


def test_it_imports_nothing_of_ours():
    imports = [
        node
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        name.split(".")[0]
        for node in imports
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
        )
    }
    assert names <= set(sys.stdlib_module_names) | {"pyarrow", "cryptography"}


NAMED = {
    "": "manifest",
    **{name: name for name in ("guarantee", "budget", "inference", "expected")},
    **{"ledger": "step", "measurements": "measurement", "analyses": "analysis"},
    **{"amendments": "amendment", "network": "edge", "answers": "answer"},
    "public_inputs": "public input",
    "contradictions": "contradiction",
    **{"choice": "choice", "candidates": "candidate", "accept": "criterion"},
    "minimum_count": "minimum count",
}
"""How the checker calls an entry of a manifest by its name."""


def entries(model, name=""):
    """Entries of the shape of a manifest by their table, those that may lack with a mark behind."""
    found = {}
    fields = model.model_fields.items()
    found[NAMED[name]] = {key + "?" * (not field.is_required()) for key, field in fields}
    for key, field in fields:
        for one in re.findall(r"shape\.(_\w+)", str(field.annotation)):
            inner = getattr(sys.modules[model.__module__], one, None)
            if hasattr(inner, "model_fields"):
                found |= entries(inner, key)
    return found


def listed_entries():
    """What the checker lists, by table."""
    return {name: set(own) for name, own in SHAPE.items()}


def test_its_entries_are_those_of_the_manifest():
    """A manifest that gets another entry gets it there and in the specification."""
    theirs = listed_entries()
    theirs["manifest"] -= {"format", "files"}
    assert entries(_Manifest) == theirs
    kinds = {
        one.strip("[]").split(" or ")[0].strip("[]")
        for own in SHAPE.values()
        for one in own.values()
    }
    assert kinds <= set(SHAPE) | set(HOLDS)


def test_an_entry_too_many_is_seen_on_every_level():
    assert misfit({"more": 1}, "budget")
    budget = {"epsilon": "1", "delta": "0", "unit": "epsilon", "amount": "1"}
    assert misfit(budget, "budget") == ""
    assert misfit(budget | {"amount": "1 "}, "budget") == ".amount"
    assert misfit([budget, budget | {"unit": "eps"}], "[budget]") == ".1.unit"
    assert misfit(None, "expected or null") == ""


NUMBERS = [
    "",
    " 1",
    "1 ",
    "1\n",
    "+1",
    "-1",
    "1_0",
    "1e1",
    "٣",
    "1/0",
    "1 /2",
    "0x1",
    "½",
    "1.",
    ".5",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_in_other_digits_is_none(text):
    """As strict as the shape of a manifest: what Python would read as a number is refused."""
    assert not HOLDS["decimal"](text)
    assert not HOLDS["part"](text)
    assert text == "1e1" or not HOLDS["scale"](text)


@pytest.mark.parametrize("path", listed_entries())
def test_the_specification_names_every_entry(path):
    assert [
        name for name in listed_entries()[path] if f"`{name.rstrip('?')}`" not in SPECIFICATION
    ] == []


def test_the_specification_names_every_word_that_a_folder_may_use():
    names = {kind.name for kind in load_mechanisms()} - {
        "random order",
        "votes on a claim",
    }
    words = {
        *names - {"linear regression"},
        *REGRESSIONS.values(),
        *(kind.value for kind in Kind),
        *RULES,
        *KINDS,
    }
    assert [word for word in sorted(words) if f"`{word}`" not in SPECIFICATION] == []


def test_it_knows_every_draw_kind_and_law():
    """The table of mechanisms is compared in `tests/attacks/test_relabelled_steps.py`."""
    swept = {one.mechanism for one in PURCHASES if set(one.kinds) & {"draws", "sweeps"}}
    assert set(DRAWS) == swept - {"noisy rows"}
    assert {kind.value for kind in Kind if kind.has_cells} == STORED
    laws = {law for one in PURCHASES for law in one.laws if law not in DRAWS}
    laws -= {"none", "diverse rows", "Dirichlet–multinomial", "fixed prior"}
    assert {law for _, law in LAWS} == laws | {"discrete_cube_laplace"}


def test_the_command_says_a_line_for_each_rule(folder, monkeypatch, capsys):
    code, out = run(monkeypatch, capsys, folder)
    assert code == 0
    assert [line[13:].split()[0] for line in out.splitlines()] == list(RULES)
    code, out = run(monkeypatch, capsys, folder, "--json")
    assert [one["rule"] for one in json.loads(out)] == list(RULES)
    code, out = run(monkeypatch, capsys, folder, "--key", "00" * 32)
    assert code == 2
    assert "broken       signature" in out


def test_no_folder_makes_it_fail(tmp_path, monkeypatch, capsys):
    for text in ("", "[]", "{", '{"format": 2}', "[" * 10_000):
        (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
        assert run(monkeypatch, capsys, tmp_path)[0] == 2
    assert run(monkeypatch, capsys, tmp_path / "nowhere")[0] == 2


@pytest.mark.parametrize(
    ("lacking", "rules"),
    [
        ("pyarrow.parquet", {"cells", "sets"}),
        ("cryptography.hazmat.primitives.asymmetric.ed25519", {"signature"}),
    ],
)
def test_without_a_library_it_says_what_it_did_not_check(
    folder, tmp_path, monkeypatch, lacking, rules
):
    make_key(tmp_path / "key.pem")
    us.Release.load(folder).save(tmp_path / "signed", sign=tmp_path / "key.pem")
    monkeypatch.setitem(sys.modules, lacking, None)
    found = {rule: (state, why) for rule, state, why in verify(tmp_path / "signed")}
    unchecked = {rule for rule, (state, _) in found.items() if state == "not checked"}
    assert unchecked == rules
    assert all("is not installed" in found[rule][1] for rule in rules)


# --- noise that no folder of the contract tests has ----------------------------------------------


@pytest.mark.parametrize(("noise", "bought"), [(1, True), (Fraction(99, 100), False)])
def test_noise_of_a_cube_follows_from_its_price(noise, bought):
    """As the mechanism itself states it, and with a scale that is another; no release has it."""
    release, step, dimension = Release(Path()), Fraction(1, 64), 5
    cube = CubeLaplace(scale=Fraction(128 * Fraction(noise)), dimension=dimension)
    release.promise, release.unit, release.public = {"leaks": []}, "epsilon", False
    release.noises = {}
    words = f"density ∝ exp(−‖v‖∞/s), s = {cube.scale * step}, in {dimension} dimensions"
    words += f", on the lattice of step {step}"
    entry = {"number": 1, "mechanism": "K-norm mechanism", "query": "", "cells": dimension}
    entry |= {"sensitivity": "L∞ = 2", "noise": words}
    assert release._buys(entry, Fraction(1), None) == bought
    spread = release.noises[1].spread(dimension)
    assert spread == pytest.approx(cube.stddev * float(step), rel=1e-9)
    assert spread != pytest.approx(cube.stddev * float(step) * 1.01, rel=1e-4)


# --- signatures ----------------------------------------------------------------------------------


def test_a_signed_release_says_by_whom(folder, tmp_path):
    """Both programs check it, with the key that was given in another way and without."""
    key, other = make_key(tmp_path / "key.pem"), make_key(tmp_path / "other.pem")
    place = us.Release.load(folder).save(tmp_path / "signed", sign=tmp_path / "key.pem")
    assert us.Release.load(place).signed_by == us.Release.load(place, signer=key).signed_by == key
    assert us.Release.load(folder).signed_by == ""
    states = {
        named: {r: s for r, s, _ in verify(place, named)}["signature"]
        for named in (None, key, other)
    }
    assert states == {None: "ok", key: "ok", other: "broken"}
    with pytest.raises(ReleaseError, match="signed by another key"):
        us.Release.load(place, signer=other)
    with pytest.raises(ReleaseError, match="is not signed"):
        us.Release.load(folder, signer=key)


def test_a_signature_is_of_the_whole_folder(folder, tmp_path):
    """Claim attacked: nothing of a signed release can be altered, checksums redone or not."""
    make_key(tmp_path / "key.pem")
    place = us.Release.load(folder).save(tmp_path / "signed", sign=tmp_path / "key.pem")
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    (place / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False), encoding="utf-8")
    with pytest.raises(ReleaseError, match="not of this text"):
        us.Release.load(place)
    assert {rule: state for rule, state, _ in verify(place)}["signature"] == "broken"
    (place / "manifest.sig").write_text("{}", encoding="utf-8")
    with pytest.raises(ReleaseError, match="does not hold"):
        us.Release.load(place)


def test_the_command_signs_a_release_and_shows_who_did(folder, tmp_path, monkeypatch, capsys):
    from understudy.cli.app import main as program

    def command(*arguments):
        monkeypatch.setattr("sys.argv", ["understudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            program()
        return ended.value.code or 0, capsys.readouterr()

    place = us.Release.load(folder).save(tmp_path / "r")
    key = make_key(tmp_path / "key.pem")
    code, said = command("sign", place, tmp_path / "key.pem")
    assert code == 0
    assert key in said.out
    assert command("show", place, "--signer", key)[1].out.count(key) == 1
    assert json.loads(command("show", place, "--json")[1].out)["signed_by"] == key
    code, said = command("show", place, "--signer", "00" * 32)
    assert (code, said.err.count("\n")) == (2, 1)


def test_a_key_that_cannot_sign_is_refused_before_anything_is_spent(tmp_path, monkeypatch, capsys):
    from understudy.cli.app import main as program

    pl.DataFrame({"x": [True] * 9}).write_csv(tmp_path / "rows.csv")
    schema = '[columns.x]\nkind = "boolean"\nsource = "s"\nreviewed = true'
    (tmp_path / "schema.toml").write_text(schema, encoding="utf-8")
    (tmp_path / "key.pem").write_text("no key", encoding="utf-8")
    (tmp_path / "key.pem").chmod(0o600)
    asked = ["synthesize", tmp_path / "rows.csv", "--schema", tmp_path / "schema.toml", "-e", 1]
    asked += ["--out", tmp_path / "out", "--sign", tmp_path / "key.pem"]
    monkeypatch.setattr("sys.argv", ["understudy", *map(str, asked)])
    with pytest.raises(SystemExit) as ended:
        program()
    assert ended.value.code == 2
    assert "no private key of Ed25519" in capsys.readouterr().err
    assert {one.name for one in tmp_path.iterdir()} == {"rows.csv", "schema.toml", "key.pem"}
    release = us.synthesize(pl.DataFrame({"x": [True] * 9}), us.Schema.loads(schema), epsilon=1)
    with pytest.raises(SignatureError):
        release.save(tmp_path / "out", sign=tmp_path / "key.pem")
    assert not (tmp_path / "out").exists()


# --- numerics ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["rho", "half_mu_squared"])
def test_its_numerics_agree_with_ours(unit):
    """Budgets from next to nothing to next to no privacy; noise at prices of any size."""
    from fractions import Fraction

    from understudy.dp.budget import Budget, pure_within
    from understudy.dp.calibration import gaussian_variance

    accounting = "gdp" if unit == "half_mu_squared" else "zcdp"
    for epsilon in ("0.001", "0.5", "3", "40", "2000"):
        for delta in ("0.2", "1e-6", "1e-30", "1e-290"):
            budget = Budget.of(epsilon, delta, accounting)
            log = np.log(float(budget.delta))
            sides = [
                understudy_verify.log_delta(unit, float(budget.amount) * (1 + side), float(epsilon))
                for side in (-1e-8, 1e-8)
            ]
            assert sides[0] <= log <= sides[1], (epsilon, delta)
    for price in (Fraction(1, 10**6), Fraction(1, 9), Fraction(1, 7), Fraction(3), Fraction(900)):
        ours = pure_within(price, accounting)
        assert float(understudy_verify.pure_epsilon(price, unit) / ours) == pytest.approx(
            1, rel=2e-11
        )
        for squared in (1, 2):
            ours = gaussian_variance(price, accounting=accounting, squared=squared)
            theirs = understudy_verify.gaussian_variance(price, unit, Fraction(squared))
            assert float(theirs / ours) == pytest.approx(1, rel=2e-11)


def test_a_named_key_fails_closed(folder, tmp_path, monkeypatch, capsys):
    """Claim attacked: with a key, exit code 0 says that its signature holds, and nothing less."""
    signed = shutil.copytree(folder, tmp_path / "r")
    public = make_key(tmp_path / "key")
    assert run(monkeypatch, capsys, signed, "--key", public)[0] == 2, "it is not signed"
    write_signature(signed, tmp_path / "key")
    assert run(monkeypatch, capsys, signed, "--key", f" {public.upper()} ")[0] == 0
    for key in ("", " ", "00", "0" * 64, f"{public}00"):
        assert run(monkeypatch, capsys, signed, "--key", key)[0] == 2, key
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [one for one in sys.modules if one.startswith("cryptography.")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert run(monkeypatch, capsys, signed, "--key", public)[0] == 2, "no library to check it"
    code, said = run(monkeypatch, capsys, signed)
    assert code == 0
    assert "not installed" in said


def test_an_error_is_named_by_its_kind_and_shows_nothing(folder, tmp_path, monkeypatch):
    """A fault of the checker is no fault of the folder's form, and its text may hold anything."""

    def failing(_self):
        raise ZeroDivisionError("a secret cell")

    monkeypatch.setattr(Release, "_sets", failing)
    said = {rule: (state, words) for rule, state, words in verify(folder)}
    assert said["sets"][0] == "broken"
    assert "ZeroDivisionError" in said["sets"][1]
    assert "secret" not in str(said)
    assert "malformed" not in str(said)


def test_style_sheets_of_pages_are_those_that_the_format_names():
    """Whoever changes a style sheet adds its checksum to the specification and to both checkers."""
    from understudy.report import text as text_module

    page = text_module.template("base.html.jinja").render(title="")
    sheet = page.partition("<style>")[2].partition("</style>")[0].strip()
    checksum = hashlib.sha256(sheet.encode()).hexdigest()
    assert checksum in SHEETS == STYLE_SHEETS
    assert all(one in SPECIFICATION for one in SHEETS)


NAMED_BY_RULES = {
    "levels": 'kind = "categorical"\nlevels = ["true", "false", "1", "01", "2020-01-01"]\n'
    'missing = ["", 9]',
    "an empty level": 'kind = "ordinal"\nlevels = ["", "low", "(blank)"]\nmissing = ["1.0"]',
    "numbers": 'kind = "ordinal"\nlevels = [1, 2.5, 3]\nmissing = ["", -1.5]',
    "truth values": 'kind = "boolean"\nmissing = ["", "x", 9]',
    "whole numbers": 'kind = "integer"\nlower = 0\nupper = 5\nmissing = ["", 99, "x"]',
    "real numbers": 'kind = "continuous"\nlower = 0\nupper = 5\nspikes = [0, 2.5]\nmissing = [""]',
    "days": 'kind = "date"\nlower = 2020-01-01\nupper = 2020-03-01\nbins = 61\n'
    'missing = ["", 9999-12-31]',
    "moments": 'kind = "datetime"\nlower = 2020-01-01T00:00:00\nupper = 2020-01-01T23:00:00\n'
    'resolution = "hour"\nbins = 24\nmissing = ["", 2999-01-01T00:00:00]',
    "hours": 'kind = "time"\nresolution = "hour"\nmissing = ["", "x"]',
}
VALUES_IN_RULES = (
    *('""', "true", "false", '"true"', '"True"', "0", "0.0", "-0.0", '"0"', "1", "1.0", '"1"'),
    *('"01"', '"1.0"', "2.5", '"2.5"', '"2.50"', "3", "9", '"9"', "99", '"99"', "-1.5", '"x"'),
    *("2020-01-01", '"2020-01-01"', "2020-01-01T00:00:00", "2020-01-01T05:00:00", "2999-01-01"),
    *("9999-12-31", "2999-01-01T00:00:00", '"2999-01-01T00:00:00"', "10:00:00", '"10:00:00"'),
    *("10:59:59", "4", "5"),
    *('"low"', '"(blank)"', '"(empty)"', "23:59:59", "2020-01-01T23:59:59"),
)


@pytest.mark.parametrize("kind", NAMED_BY_RULES)
@pytest.mark.nightly(every=3)
def test_a_value_in_a_rule_names_the_same_state_here_as_when_loading(kind):
    """In whatever way it is written; as a hand wrote it, and as a release has it."""
    beside = 'reviewed = true\n[columns.g]\nkind = "categorical"\nlevels = ["u", "v"]\n'
    named = set()
    for value in VALUES_IN_RULES:
        for chosen in (value, f'["", {value}]'):
            text = f"[columns.x]\n{NAMED_BY_RULES[kind]}\n{beside}[[forbidden]]\n"
            text += f'where = {{ x = {chosen}, g = "v" }}\n'
            try:
                schema = us.Schema.loads(text)
            except SchemaError:
                continue
            ours = schema.forbidden[0].states(schema.columns)["x"]
            for written in (text, schema.dumps()):
                content = tomllib.loads(written)
                column = understudy_verify.Column(content["columns"]["x"])
                assert column.find_states(content["forbidden"][0]["where"]["x"]) == ours, chosen
            named |= ours
    assert len(named) > 2
