"""A tiny study in a module of its own, so that worker processes can import it."""

import importlib
import sys
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import night
from understudy_studies.framework import charts, chunk_workers, runner
from understudy_studies.framework.chart_marks import MOST_LINES, NAMES
from understudy_studies.framework.charts import render
from understudy_studies.snoke_slavkovic_2018 import candidates, conditions, proposals

HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Leave to the night what is marked so, also where the studies are tested alone."""
    night.register(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Studies run for long: `make check` leaves their tests out."""
    here = cache(lambda file: file.is_relative_to(HERE))
    for item in items:
        if here(item.path):
            item.add_marker(pytest.mark.whole)


TINY = '''
"""A study of means of dice, which leaves a trace of every chunk that it simulates."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy_studies.framework.monte_carlo_error import mean_and_error
from understudy_studies.framework.study import Chart, PageText, Study, TextTable

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


def page_text(results, run_record):
    from matplotlib.figure import Figure  # processes that simulate need none

    figure = Figure(figsize=(4, 2))
    figure.subplots().plot([row["sides"] for row in results], [row["mean"] for row in results])
    rows = tuple((str(row["sides"]), f"{row['mean']:.2f}") for row in results)
    return PageText(
        lead="Means of <dice>.",
        done=("Dice were thrown.",),
        parameters={"throws": "10"},
        findings=("The mean is that of a die.",),
        tables=(TextTable("Means", ("sides", "mean"), rows, doubtful=frozenset({(0, 1)})),),
        charts=(Chart("means", figure, "Means of dice."),),
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
        page_text=page_text,
    )
'''


PROJECT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """What an installation would leave, made of the project file, so that it is what is tested."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = tmp_path_factory.mktemp("site")
    told = folder / f"understudy_studies-{project['version']}.dist-info"
    told.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (told / "METADATA").write_text(head)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (told / "entry_points.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def installed(site, monkeypatch):
    """The studies stand where the command line looks for its commands."""
    monkeypatch.syspath_prepend(site)
    return site


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
            chunk_workers.simulate_one(run, scenario, chunk, folder)
            done(chunk)

    monkeypatch.setattr(runner, "simulate", simulate)


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "CANDIDATES", 60)
        for name, one in conditions.CONDITIONS.items():
            patch.setitem(conditions.CONDITIONS, name, replace(one, worlds=1))
        yield


def untitled_axes(figure: Figure) -> list[str]:
    """Axes that neither have titles nor stand in a row or column that has.

    A title counts for the axes to the right of it, or above it, that have the same limits.
    """
    found = []
    for axes in figure.axes:
        for direction, title in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
            if not title and not any(_titles(other, axes, direction) for other in figure.axes):
                found.append(f"{direction} of {axes.get_title(loc='left')!r}")
    return found


def _titles(other: Axes, axes: Axes, direction: str) -> bool:
    """Whether other axes have a title that holds for these too."""
    here, there = axes.get_position(), other.get_position()
    if direction == "x":
        beside = abs(here.x0 - there.x0) < 0.02 and there.y0 < here.y0
        return beside and bool(other.get_xlabel()) and other.get_xlim() == axes.get_xlim()
    beside = abs(here.y0 - there.y0) < 0.02 and there.x0 < here.x0
    return beside and bool(other.get_ylabel()) and other.get_ylim() == axes.get_ylim()


def crowded_axes(figure: Figure) -> list[str]:
    """Axes with lines of many colours in a row of which none has the names beside the lines."""
    named = {round(axes.get_position().y0, 2) for axes in figure.axes if _is_named(axes)}
    return [
        axes.get_title(loc="left")
        for axes in figure.axes
        if len({line.get_color() for line in axes.get_lines() if _is_long(line)}) > MOST_LINES
        if round(axes.get_position().y0, 2) not in named
    ]


def _is_named(axes: Axes) -> bool:
    return any(text.get_gid() == NAMES for text in axes.texts)


def _is_long(line: Line2D) -> bool:
    return np.size(line.get_xdata()) > 2


@pytest.fixture
def untitled():
    """Names the axes of a figure that no title holds for."""
    return untitled_axes


@pytest.fixture
def crowded():
    """Names the axes of a figure whose lines are past telling apart."""
    return crowded_axes


@pytest.fixture(autouse=True)
def look_at_every_figure(monkeypatch):
    """No figure of any study that a test draws lacks a title of an axis, or is past reading.

    Dice are not looked at: their figure is made for the runner alone. Images are coarse, which the
    drawings beside them are not; and of a test's figures, each of which is drawn, the first alone
    is made an image, which takes as long again.
    """
    saved, images = charts._saved, []

    def saved_once(figure, kind, **options):
        if kind == "png" and images:
            return images[0]
        content = saved(figure, kind, **options)
        if kind == "png":
            images.append(content)
        return content

    def looked_at(chart):
        if chart.name != "means":
            assert chart.figure.axes
            assert untitled_axes(chart.figure) == []
            assert crowded_axes(chart.figure) == []
        return render(chart)

    monkeypatch.setattr(runner, "render", looked_at)
    monkeypatch.setattr(charts, "_saved", saved_once)
    monkeypatch.setattr(charts, "_DPI", 20)
