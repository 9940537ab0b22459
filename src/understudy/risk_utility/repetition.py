"""One repetition of one point: make a release, score it, forget it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from understudy import pipeline
from understudy.errors import BudgetError, MethodError
from understudy.evaluation.comparison import Comparison
from understudy.evaluation.utility.losses import Pairing, losses
from understudy.parallel import single_threaded
from understudy.pipeline.interruption import NOTICE
from understudy.pipeline.release_evaluation import hold_out
from understudy.release import Release
from understudy.risk_utility.map_design import Design, Setting
from understudy.risk_utility.risk_axis import RISKS, scene_of
from understudy.schema import Schema

Task = tuple[Setting, int]
"""A point, and the number of a repetition."""


@dataclass(frozen=True)
class Outcome:
    """What one release scored.

    Attributes:
        risk: the measured risk; None where risk is ε itself.
        losses: loss → its value.
        refused: why there was no release; "" if there was.
    """

    risk: float | None
    losses: dict[str, float]
    refused: str = ""


@dataclass(frozen=True)
class Parts:
    """The rows of a repetition. CONFIDENTIAL.

    Attributes:
        schema: of the members; a public number of rows is theirs.
        members: rows that the release is made from.
        control: rows that are held out; None if none are.
    """

    schema: Schema
    members: pl.DataFrame = field(repr=False)
    control: pl.DataFrame | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Trial:
    """Rows, and what is asked of them. CONFIDENTIAL.

    Attributes:
        design: what is asked.
        rows: the table.
    """

    design: Design
    rows: pl.DataFrame = field(repr=False)

    def run(self, setting: Setting, repetition: int) -> Outcome:
        """Make one release and score it against the rows it was made from.

        Its noise is seeded: it is never published. Everything random follows from the seed of the
        design, the method, the budget and the number of the repetition; another method or budget
        in the design changes nothing. Members and control are the same for all methods and
        budgets of one repetition, so that these are compared on the same rows.
        """
        design, parts = self.design, self.parts(repetition)
        name = f"{setting.method} {setting.words} {repetition}"
        try:
            release = self._release(parts, setting, _seed(design.seed, "release", name))
        except (MethodError, BudgetError) as error:
            return Outcome(None, {}, str(error))
        pairing = Pairing.of(design.schema, parts.members, release.tables, design.seed)
        risk = self._risk(pairing.comparison, parts.control, _seed(design.seed, "risk", name))
        return Outcome(risk, losses(pairing, design.utility))

    def parts(self, repetition: int) -> Parts:
        """The rows of a repetition: all of them, or members and control if risk is measured."""
        design = self.design
        if RISKS[design.risk].measure is None:
            return Parts(design.schema, self.rows)
        rng = np.random.default_rng(_seed(design.seed, "split", str(repetition)))
        members, control = hold_out(self.rows, design.holdout, rng)
        schema = design.schema
        if schema.rows == "public":
            schema = schema.model_copy(update={"n_rows": members.height})
        return Parts(schema, members, control)

    @cached_property
    def n_rows(self) -> tuple[int, int]:
        """Rows that each release is made from, and rows that are held out."""
        parts = self.parts(0)
        return parts.members.height, 0 if parts.control is None else parts.control.height

    def _risk(
        self, comparison: Comparison, control: pl.DataFrame | None, seed: int
    ) -> float | None:
        if control is None:
            return None
        design = self.design
        scene = scene_of(comparison, control, keys=design.keys, secrets=design.secrets, seed=seed)
        return RISKS[design.risk].of(scene)

    def _release(self, parts: Parts, setting: Setting, seed: int) -> Release:
        return pipeline.synthesize(
            parts.members,
            parts.schema,
            epsilon=self.design.budget(setting),
            delta=self.design.delta,
            method=setting.method,
            options=self.design.options.get(setting.method),
            insecure_noise_seed=seed,
            allow_nonprivate=True,
            frame="polars",
            progress=_not_ended_early,
        )


def run_some(trial: Trial, tasks: Sequence[Task]) -> list[Outcome]:
    """Some repetitions, with one thread: the same numbers in whatever process."""
    with single_threaded():
        return [trial.run(setting, repetition) for setting, repetition in tasks]


def _not_ended_early(stage: str, _done: int, _total: int) -> None:
    """Ctrl-C ends the map; a method in rounds would take it for a wish to make fewer of them."""
    if stage == NOTICE:
        raise KeyboardInterrupt


def _seed(seed: int, purpose: str, name: str) -> int:
    """A seed of its own for each purpose, 128 bits."""
    sequence = np.random.SeedSequence([seed, *f"{purpose} {name}".encode()])
    return int.from_bytes(sequence.generate_state(4, np.uint32).astype("<u4").tobytes(), "little")
