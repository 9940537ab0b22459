"""What a simulation study declares; the runner runs it.

A study is a set of parameter points and a pure function that simulates some repetitions at one of
them. It knows nothing of processes, files or pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    from understudy.methods.base import CostClass

Row = dict[str, Any]
"""One row of results: names → texts, numbers, truth values or None."""

ScenarioT = TypeVar("ScenarioT", bound="DataclassInstance")

REPETITIONS: dict[CostClass, int] = {"fast": 1_000, "slow": 200, "mcmc": 50}
"""How many repetitions a study makes, unless it is told otherwise."""

CHUNK: dict[CostClass, int] = {"fast": 25, "slow": 5, "mcmc": 1}
"""Repetitions that are simulated, written and resumed as one: some seconds of work."""


@dataclass(frozen=True)
class RunRecord:
    """How a study was run.

    Attributes:
        command: the command that runs it again.
        seed: the seed that everything random follows from.
        repetitions: smallest and largest number of repetitions of a scenario.
        scenarios: number of scenarios.
        software: version of Understudy.
        seconds: time that all chunks took together, in seconds of one process.
    """

    command: str
    seed: int
    repetitions: tuple[int, int]
    scenarios: int
    software: str
    seconds: float

    @property
    def repetitions_words(self) -> str:
        """The number of repetitions, or its range.

        Example:
            >>> RunRecord("", 1, (50, 1000), 3, "", 0.0).repetitions_words
            '50 to 1,000'
        """
        low, high = self.repetitions
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    @property
    def minutes_words(self) -> str:
        """The computing time in words.

        Example:
            >>> RunRecord("", 1, (5, 5), 3, "", 800.0).minutes_words
            '13 minutes'
        """
        minutes = self.seconds / 60
        return f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{self.seconds:.0f} seconds"

    @property
    def coverage_error_words(self) -> str:
        """The Monte Carlo error of a coverage at the fewest repetitions, in words.

        Example:
            >>> RunRecord("", 1, (475, 1000), 3, "", 0.0).coverage_error_words
            '1 points for a coverage of 95 %'
        """
        error = 100 * math.sqrt(0.95 * 0.05 / self.repetitions[0])
        return f"{error:.2g} points for a coverage of 95 %"


@dataclass(frozen=True)
class TextTable:
    """A table for people.

    Attributes:
        caption: what it shows.
        headings: one per column.
        rows: texts, as many as headings.
        words: how many columns, from the left, hold words; the others hold numbers.
        doubtful: places (row, column) that the reader should look at.
        fold: whether the page shows it only when asked.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    doubtful: frozenset[tuple[int, int]] = frozenset()
    fold: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure.

    Attributes:
        name: file name without ending.
        figure: drawn with the colours of `understudy_studies.framework.charts`.
        caption: what it shows, in a sentence.
    """

    name: str
    figure: Figure = field(repr=False)
    caption: str


@dataclass(frozen=True)
class PageText:
    """What the page of a study tells.

    Attributes:
        lead: the question and the answer in short.
        done: what was done, in paragraphs.
        parameters: name → value, in words.
        findings: what was found, in sentences.
        tables: numbers for people.
        charts: figures.
        comparison: what a paper says, beside what was found.
    """

    lead: str
    done: tuple[str, ...]
    parameters: Mapping[str, str]
    findings: tuple[str, ...]
    tables: tuple[TextTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    comparison: TextTable | None = None


@dataclass(frozen=True, kw_only=True)
class Study(Generic[ScenarioT]):
    """A simulation study.

    Attributes:
        name: name on the command line.
        title: what it shows, in a line.
        source: the design that it follows, with its paper.
        version: to be raised whenever `run` would give other rows; old chunks are then left alone.
        scenarios: gives the parameter points: frozen dataclasses of texts and numbers, all of one
            kind, no two alike.
        cost_class: how expensive a repetition is at a scenario.
        run: simulates repetitions: (scenario, how many, seed) → rows, one for each repetition or
            sums over all of them, as `summarise` wants them. Pure, so that the same
            arguments give the same rows in any process; a function of a module, since processes
            look it up by its name. The seed is a whole number of 128 bits.
        summarise: (scenario, all of its rows) → rows of `results.csv`, without the parameters of
            the scenario, which the runner puts in front.
        page_text: (rows of `results.csv`, how it was run) → what the page tells.
        repetitions: how many repetitions it makes, unless it is told otherwise, of all scenarios
            or of each; by default what `REPETITIONS` has for its cost.
        chunk: repetitions that are simulated as one; by default what `CHUNK` has for its cost. A
            study that is vectorised over repetitions wants many. Since the randomness of a
            repetition depends on its chunk, another size is another version of the study.
        simulated: whether all of its rows are; otherwise they are public ones.
    """

    name: str
    title: str
    source: str
    version: int
    scenarios: Callable[[], Sequence[ScenarioT]]
    cost_class: Callable[[ScenarioT], CostClass]
    run: Callable[[ScenarioT, int, int], list[Row]]
    summarise: Callable[[ScenarioT, list[Row]], list[Row]]
    page_text: Callable[[list[Row], RunRecord], PageText]
    repetitions: int | Callable[[ScenarioT], int] | None = None
    chunk: int | None = None
    simulated: bool = True

    def repetitions_of(self, scenario: ScenarioT, asked: int | None = None) -> int:
        """How many repetitions a scenario gets.

        Args:
            scenario: one of its scenarios.
            asked: how many are wanted of every scenario; where a study gives each a number of its
                own, of the one with most, and of the others in proportion, at least 1.
        """
        if not callable(self.repetitions):
            return asked or self.repetitions or REPETITIONS[self.cost_class(scenario)]
        own = self.repetitions(scenario)
        if asked is None:
            return own
        return max(1, asked * own // max(self.repetitions(one) for one in self.scenarios()))

    def chunk_of(self, scenario: ScenarioT) -> int:
        """How many repetitions of a scenario are simulated as one."""
        return self.chunk or CHUNK[self.cost_class(scenario)]
