"""Audits of methods that keep their promise, by the code that makes every release."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import understudy as us
from understudy.cli.app import app
from understudy.errors import MethodError
from understudy.evaluate.audit import (
    LINES,
    audit,
    lines_about,
    list_unaudited,
    matrix,
    observations_of,
    observe_release,
)

WORST = [line for line in LINES if line.worst]
DEFAULT = list({line.method: line for line in LINES if line.probe is None}.values())
BY_DAY = ("laplace", "mst", "dp-prior")  # quick ones: tables, a model, parameters


def test_every_method_with_a_guarantee_has_a_line():
    assert list_unaudited() == ()


@pytest.mark.parametrize(
    ("line", "n", "least"),
    [
        (WORST[0], 800, 0.6),
        *(pytest.param(line, 20_000, 0.7, marks=pytest.mark.audit) for line in WORST),
    ],
    ids=str,
)
@pytest.mark.nightly
def test_the_worst_case_shows_most_of_what_is_stated(line, n, least):
    found = audit(line, releases=n, seed=1)
    assert not found.alarm
    assert found.share > least


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=() if line.method in BY_DAY else pytest.mark.nightly)
        for line in DEFAULT
    ],
    ids=lambda line: line.method,
)
def test_an_audit_sees_what_the_public_door_gives_out(line):
    """The same seeds give the same release, with its measurements, ledger and records."""
    rows = line.frames()[1]
    (audited,) = observations_of(line.trial(), rows, [5])
    release = us.synthesize(
        rows,
        us.Schema.loads(line.schema),
        epsilon=line.epsilon,
        delta=line.delta,
        method=line.method,
        sets=line.sets,
        options=dict(line.options),
        insecure_noise_seed=5,
        frame="polars",
    )
    shown = observe_release(
        SimpleNamespace(value=release.manifest.n_rows),
        release.measurements,
        release.tables,
        [SimpleNamespace(**entry) for entry in release.manifest.ledger],
    )
    assert shown == audited


def test_matrices_hold_what_each_release_shows():
    names, values = matrix([{"a": 1.0}, {"b": 2.0, "a": 3.0}])
    assert names == ("a", "b")
    assert values.tolist() == [[1, 0], [3, 2]]
    assert matrix([{"c": 1.0}], names)[1].tolist() == [[0, 0]]


@pytest.mark.nightly
def test_processes_find_what_one_process_finds():
    line = WORST[0]
    alone, several = (audit(line, releases=100, seed=3, jobs=jobs).to_json() for jobs in (1, 2))
    assert alone == several


def test_too_few_releases_and_unknown_methods_are_refused():
    with pytest.raises(MethodError, match="at least 100 releases"):
        audit(WORST[0], releases=10)
    with pytest.raises(MethodError, match=r"No audit is about 'laplce'.*laplace"):
        lines_about(["laplce"])


def test_the_command_prints_what_it_found():
    asked = ["audit", "dp-prior", "--releases", "100", "--jobs", "1"]
    ran = CliRunner().invoke(app, [*asked, "--json"])
    assert ran.exit_code == 0, ran.output
    (line,) = json.loads(ran.output)
    assert (line["method"], line["alarm"], line["stated"]) == ("dp-prior", False, 2.0)
    told = CliRunner().invoke(app, [*asked, "-q"])
    assert (told.exit_code, told.output) == (0, "")


def test_rows_of_a_line_are_neighbours():
    for line in LINES:
        one, other = line.frames()
        rows = [sorted(map(repr, table.to_dicts())) for table in (one, other)]
        apart = len(set(rows[1]) - set(rows[0]))
        replaced = 'rows = "public"' in line.schema
        assert apart == 1
        assert np.diff([one.height, other.height]).item() == (0 if replaced else 1)


def test_a_line_says_what_it_is_about():
    line = replace(WORST[0], epsilon="3")
    assert str(line) == "laplace, noise=geometric, a record added, 8 × 1, ε = 3"
    assert len({str(line) for line in LINES}) == len(LINES)
