"""A tiny study in a module of its own, so that worker processes can import it."""

import importlib
import sys
from types import ModuleType

import pytest

from understudy.studies import frame, marks, workers
from understudy.studies.drawing import render
from understudy.studies.pmse import candidates, limits

TINY = '''
"""A study of means of dice, which leaves a trace of every chunk that it simulates."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from understudy.studies.montecarlo import mean_and_error
from understudy.studies.study import Account, Drawing, Grid, Study

TRACE = Path(__file__).with_name("trace")
STOP = Path(__file__).with_name("stop")


@dataclass(frozen=True)
class Dice:
    sides: int
    cost: str = "fast"


def run(scenario, repetitions, seed):
    if STOP.exists() and scenario.sides == 20:
        raise RuntimeError("stopped")
    with TRACE.open("a") as trace:
        trace.write(f"{scenario.sides} {repetitions}\\n")
    rows = []
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        throws = np.random.default_rng(child).integers(1, scenario.sides + 1, size=10)
        rows.append({"mean": float(throws.mean()), "even": bool(throws[0] % 2 == 0)})
    return rows


def summarise(scenario, rows):
    mean, error = mean_and_error([row["mean"] for row in rows])
    return [{"estimand": "mean", "mean": mean, "mean_error": error, "even": rows[0]["even"]}]


def account(results, conduct):
    figure = Figure(figsize=(4, 2))
    figure.subplots().plot([row["sides"] for row in results], [row["mean"] for row in results])
    rows = tuple((str(row["sides"]), f"{row['mean']:.2f}") for row in results)
    return Account(
        lead="Means of <dice>.",
        done=("Dice were thrown.",),
        parameters={"throws": "10"},
        findings=("The mean is that of a die.",),
        grids=(Grid("Means", ("sides", "mean"), rows, doubtful=frozenset({(0, 1)})),),
        drawings=(Drawing("means", figure, "Means of dice."),),
    )


def study(version=1, sides=(6, 20), cost="fast"):
    return Study(
        name="dice",
        title="Means of dice",
        source="Pascal (1654)",
        version=version,
        scenarios=lambda: [Dice(n, cost) for n in sides],
        cost_class=lambda scenario: scenario.cost,
        run=run,
        summarise=summarise,
        account=account,
    )
'''


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> ModuleType:
    """The module of the tiny study."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "tiny_study_of_dice.py").write_text(TINY, encoding="utf-8")
    monkeypatch.syspath_prepend(home)
    monkeypatch.delitem(sys.modules, "tiny_study_of_dice", raising=False)
    yield importlib.import_module("tiny_study_of_dice")
    sys.modules.pop("tiny_study_of_dice", None)


@pytest.fixture
def serial(monkeypatch) -> None:
    """Chunks are simulated in this process: starting others takes most of the time of a test."""

    def simulate(run, work, folder, *, jobs, done):
        for scenario, chunk in work:
            workers.simulate_one(run, scenario, chunk, folder)
            done(chunk)

    monkeypatch.setattr(frame, "simulate", simulate)


@pytest.fixture(scope="module")
def few_partitions():
    """Public partitions of the studies of the pMSE mechanism: counting many takes long."""
    caches = candidates.trees_of, candidates.counted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "FIXED_TREES", 4)
        for cached in caches:
            cached.cache_clear()
        yield
    for cached in caches:
        cached.cache_clear()


@pytest.fixture(scope="module")
def few_candidates(few_partitions):
    """The same, and few weighted candidates: greedy trees for many take long."""
    caches = limits.weighted, limits._sets, limits._counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "CANDIDATES", 60)
        for cached in caches:
            cached.cache_clear()
        yield
    for cached in caches:
        cached.cache_clear()


@pytest.fixture(autouse=True)
def look_at_every_figure(monkeypatch):
    """No figure of any study that a test draws lacks a title of an axis, or is past reading.

    Dice are not looked at: their figure is made for the frame alone.
    """

    def looked_at(drawing):
        if drawing.name != "means":
            assert drawing.figure.axes
            assert marks.untitled(drawing.figure) == []
            assert marks.crowded(drawing.figure) == []
        return render(drawing)

    monkeypatch.setattr(frame, "render", looked_at)
