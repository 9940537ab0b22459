"""The runner of studies: what is resumed, what is run again, and that nothing else matters."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import understudy
from understudy.errors import StudyError
from understudy_studies.framework import chunk_files
from understudy_studies.framework.runner import run_study


def trace(tiny) -> Counter[str]:
    """Chunks that were simulated since the last call: "sides repetitions" → how often."""
    found = Counter(tiny.TRACE.read_text().splitlines()) if tiny.TRACE.exists() else Counter()
    tiny.TRACE.unlink(missing_ok=True)
    return found


def test_results_page_and_figures_are_written(tiny, tmp_path, serial):
    page = run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1)
    assert page == tmp_path / "out" / "index.html"
    with (tmp_path / "out" / "results.csv").open() as stream:
        first, second = csv.DictReader(stream)
    assert (first["sides"], second["sides"]) == ("6", "20")
    assert first["repetitions"] == "5"
    assert 2 < float(first["mean"]) < 5
    assert 0 < float(first["mean_error"]) < 1
    assert first["even"] in {"true", "false"}
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert figures == {"means.svg", "means.png"}
    markdown = (tmp_path / "out" / "dice.md").read_text()
    assert f"| 6 | **{float(first['mean']):.2f}** |" in markdown
    assert "understudy study dice --out DIR --reps 5 --seed 1" in markdown


def test_the_page_stands_alone_and_shows_text_as_text(tiny, tmp_path, serial):
    page = run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1).read_text(encoding="utf-8")
    assert "Means of &lt;dice&gt;." in page
    assert page.count("<svg") == 1
    assert "prefers-color-scheme: dark" in page
    addresses = set(re.findall(r'(?:src|href)="([^"#][^"]*)"', page))
    assert addresses == {"results.csv", "figures/means.svg", "figures/means.png"}
    assert str(tmp_path) not in page


def test_a_second_run_simulates_nothing(tiny, tmp_path, serial):
    run_study(tiny.study(), tmp_path / "out", reps=30, jobs=1)
    assert trace(tiny) == {"6 25": 1, "6 5": 1, "20 25": 1, "20 5": 1}
    run_study(tiny.study(), tmp_path / "out", reps=30, jobs=1)
    assert trace(tiny) == {}


@pytest.mark.nightly
def test_more_repetitions_keep_full_chunks(tiny, tmp_path, serial):
    run_study(tiny.study(), tmp_path / "out", reps=25, jobs=1)
    trace(tiny)
    run_study(tiny.study(), tmp_path / "out", reps=50, jobs=1)
    assert trace(tiny) == {"6 25": 1, "20 25": 1}


@pytest.mark.parametrize(
    "change",
    [{"seed": 2}, {"version": 2}, {"sides": (7, 20)}],
    ids=["seed", "version", "parameter"],
)
@pytest.mark.nightly(every=3)
def test_changed_runs_do_not_mix(tiny, tmp_path, serial, change):
    """With a shared folder each run gives what it gives in a folder of its own."""
    seed = change.get("seed", 1)
    study = tiny.study(**{k: v for k, v in change.items() if k != "seed"})
    run_study(tiny.study(), tmp_path / "shared", reps=5, jobs=1)
    trace(tiny)
    run_study(study, tmp_path / "shared", reps=5, jobs=1, seed=seed)
    assert sum(trace(tiny).values()) == (1 if "sides" in change else 2)
    run_study(study, tmp_path / "own", reps=5, jobs=1, seed=seed)
    results = [(tmp_path / name / "results.csv").read_bytes() for name in ("shared", "own")]
    assert results[0] == results[1]


def test_a_study_may_give_each_scenario_a_number_of_its_own(tiny, tmp_path, serial):
    """What is asked for is of the one with most, and of the others in proportion, at least 1."""
    own = {6: 30, 20: 4}
    study = replace(tiny.study(), repetitions=lambda scenario: own[scenario.sides])
    wanted = [
        [study.repetitions_of(one, asked) for one in study.scenarios()]
        for asked in (None, 30, 15, 5, 60)
    ]
    assert wanted == [[30, 4], [30, 4], [15, 2], [5, 1], [60, 8]]
    assert tiny.study().repetitions_of(study.scenarios()[1], 7) == 7
    run_study(study, tmp_path / "out", reps=15, jobs=1)
    with (tmp_path / "out" / "results.csv").open() as stream:
        assert [row["repetitions"] for row in csv.DictReader(stream)] == ["15", "2"]


def test_changed_code_simulates_again(tiny, tmp_path, serial, monkeypatch):
    run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1)
    trace(tiny)
    monkeypatch.setattr(chunk_files, "sources", lambda: "other code")
    run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1)
    assert trace(tiny) == {"6 5": 1, "20 5": 1}


def test_another_seed_gives_other_results(tiny, tmp_path, serial):
    for seed in (1, 2):
        run_study(tiny.study(), tmp_path / str(seed), reps=5, jobs=1, seed=seed)
    first, second = ((tmp_path / str(seed) / "results.csv").read_bytes() for seed in (1, 2))
    assert first != second


@pytest.mark.nightly
def test_results_depend_neither_on_jobs_nor_on_interruption(tiny, tmp_path):
    study = tiny.study(cost="mcmc")  # a chunk for each repetition
    run_study(study, tmp_path / "one", reps=6, jobs=1)
    tiny.STOP.touch()
    with pytest.raises(RuntimeError, match="stopped"):
        run_study(study, tmp_path / "two", reps=6, jobs=2)
    kept = len(list((tmp_path / "two" / "chunks").iterdir()))
    assert 0 < kept < 12
    assert not (tmp_path / "two" / "results.csv").exists()
    tiny.STOP.unlink()
    trace(tiny)
    run_study(study, tmp_path / "two", reps=6, jobs=2)
    assert sum(trace(tiny).values()) == 12 - kept
    results = [(tmp_path / name / "results.csv").read_bytes() for name in ("one", "two")]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda chunk, other: chunk.write_bytes(b""),
        lambda chunk, other: chunk.write_bytes(b"no chunk"),
        lambda chunk, other: chunk.write_bytes(chunk.read_bytes()[:-20]),
        lambda chunk, other: chunk.write_bytes(chunk.read_bytes()[:20] + b"\0" * 60),
        lambda chunk, other: chunk.write_bytes(other.read_bytes()),
        lambda chunk, other: chunk.unlink(),
    ],
    ids=["empty", "text", "cut", "zeros", "another", "gone"],
)
@pytest.mark.nightly(every=6)
def test_a_broken_chunk_is_run_again(tiny, tmp_path, serial, damage):
    run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1)
    before = (tmp_path / "out" / "results.csv").read_bytes()
    trace(tiny)
    damage(*sorted((tmp_path / "out" / "chunks").iterdir()))
    run_study(tiny.study(), tmp_path / "out", reps=5, jobs=1)
    assert sum(trace(tiny).values()) == 1
    assert (tmp_path / "out" / "results.csv").read_bytes() == before


def test_progress_counts_repetitions_and_starts_where_it_left_off(tiny, tmp_path, serial):
    told = []
    run_study(tiny.study(), tmp_path / "out", reps=25, jobs=1)
    run_study(
        tiny.study(), tmp_path / "out", reps=30, jobs=1, progress=lambda *one: told.append(one)
    )
    assert told[:3] == [("Simulating", n, 60) for n in (50, 55, 60)]
    assert told[3:] == [("Writing results", 0, 1), ("Writing results", 1, 1)]


@pytest.mark.nightly
def test_ctrl_c_keeps_finished_chunks(tiny, tmp_path):
    """The signal goes to the whole group, as from a keyboard."""
    script = (
        "if __name__ == '__main__':\n"
        "    import tiny_study_of_dice as t\n"
        "    from understudy_studies.framework.runner import run_study\n"
        f"    run_study(t.study(cost='mcmc'), {str(tmp_path / 'out')!r}, reps=20_000, jobs=2)\n"
    )
    (tiny.TRACE.parent / "script.py").write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(tiny.TRACE.parent / "script.py")],
        stderr=subprocess.PIPE,
        process_group=0,
    )
    folder = tmp_path / "out" / "chunks"
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and not (folder.exists() and len(list(folder.iterdir())) > 9):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=180)
    assert b"KeyboardInterrupt" in stderr
    assert b"Process SpawnProcess" not in stderr
    kept = list(folder.glob("*.json.gz"))
    assert len(kept) > 9
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("content", ["notes.txt", "study.json"])
def test_a_folder_of_something_else_is_refused(tiny, tmp_path, content):
    (tmp_path / content).write_text(json.dumps({"study": "another"}))
    with pytest.raises(StudyError, match="not a folder of the study dice"):
        run_study(tiny.study(), tmp_path)
    assert trace(tiny) == {}


@pytest.mark.parametrize("numbers", [{"reps": 0}, {"jobs": 0}, {"seed": -1}, {"reps": True}])
def test_numbers_that_do_not_fit_are_refused(tiny, tmp_path, numbers):
    with pytest.raises(StudyError, match="must be a whole number, at least"):
        run_study(tiny.study(), tmp_path / "out", **numbers)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_refused(tiny, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="cannot be written"):
        run_study(tiny.study(), tmp_path / "file" / "out", reps=5)


def test_chunks_depend_on_the_code_that_rows_go_through():
    house = Path(understudy.__file__).parent
    known = {file for _, file in chunk_files.source_files()}
    for part in ("data", "dp", "mechanisms", "models", "methods", "papers", "release", "inference"):
        assert (house / part).is_dir()
        assert set((house / part).rglob("*.py")) <= known
    assert {file.name for file in known} >= {"cart_path.py", "pairwise_logistic.py"}
    assert all((house / name).exists() for name in chunk_files._SHOWING)
    assert not {file for file in known if "cli" in file.parts or "report" in file.parts}
