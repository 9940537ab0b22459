"""Estimates from a release alone; a bootstrap runs methods on rows that the release has drawn.

**The parametric bootstrap: the whole method again, on tables drawn from the released model.**

Everything here is post-processing of a release: the rows that a replicate is made from are drawn
from the model, and no confidential row is near. So noise needs no secure source, and each replicate
has a stream of its own that follows from the seed and its number: results are the same whatever the
number of processes. The model is the one that the sets of a release were drawn from, made again
from what is released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from understudy._parallel import in_chunks, single_threaded
from understudy._validation import require_function, require_number, require_text
from understudy.data.table import Table
from understudy.dp.budget import DEFAULT_ROWS_SHARE, Budget
from understudy.dp.gate import Gate
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NoisyLine, NoisyProducts, NoisyRanks
from understudy.errors import InferenceError
from understudy.inference.analysis import Analysis
from understudy.inference.bootstrap import (
    Answers,
    Outcome,
    analysis_of,
    outcome_of,
    require_askable,
    require_rebuilt,
    require_repeats,
)
from understudy.inference.estimators import Question
from understudy.inference.question import OF_MANY, Estimand, is_of_many
from understudy.inference.refusals import RefusedError
from understudy.methods.base import Beside, Method
from understudy.methods.binning import coarse_again
from understudy.methods.registry import METHODS, configure
from understudy.models.model import Model, PooledFits
from understudy.release.decoding import decode
from understudy.release.release import Release, given_release
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.schema.expressions import with_condition
from understudy.workflow.gates import open_gate
from understudy.workflow.options import Progress, SynthesisOptions
from understudy.workflow.request import Request, request_of
from understudy.workflow.synthesize import bought_once, draw_sets, prepared_by

if TYPE_CHECKING:
    from understudy.inference.estimators import Estimator


def analyze(
    release: Release | str | Path,
    kind: str | Estimator,
    formula: str = "",
    *,
    where: str = "",
    probability: float = 0.5,
    level: float = 0.95,
    anyway: bool = False,
    weighted: bool | None = None,
    uncertainty: Literal["rules", "bootstrap"] = "rules",
    repeats: int = 200,
    interval: Literal["basic", "percentile", "studentised"] = "basic",
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Analysis:
    """Estimate something from a release alone, with error bars that count noise and synthesis.

    Args:
        release: a release, or the folder of one.
        kind: "mean", "proportion", "table", "total", "count", "quantile", "median", "std",
            "gini", "correlation", "odds-ratio", "independence", "standardised-difference",
            "ratio", "ols", "logit" or "poisson"; or a function that takes a data frame and gives
            estimates and their (co)variances.
        formula: an expression, "log(income + 1)", or one by groups, "income ~ sex"; columns to
            cross, "sex + region", or two to relate, "works + {income > 25000}"; for models a
            formula, "income ~ age + C(region)".
        where: a condition, "age >= 65". Other records count as if they were absent. The same as
            the formula "income where age >= 65".
        probability: of a quantile.
        level: confidence level in (0, 1).
        anyway: give numbers even where no rule is valid; they are stamped so.
        weighted: whether records count with the weights of the survey, so that the answer is about
            the population. None: where the schema has a weight, and the kind is "mean",
            "proportion", "table", "total", "count" or "ols"; the answer says so.
        uncertainty: "rules": noisy counts with known noise, or a combining rule for several sets;
            "bootstrap": the whole method is run again on tables drawn from the released model, as
            post-processing (`understudy.inference.bootstrap`).
        repeats: how often, for a bootstrap.
        interval: of a bootstrap.
        seed: of a bootstrap; the answer follows from it, whatever the number of workers.
        workers: processes of a bootstrap. With several, a script needs the guard
            `if __name__ == "__main__":`.
        progress: called with a stage, and how much of how much is done.

    Raises:
        InferenceError: unknown kind or name, no valid rule, or an estimate that cannot be computed;
            says what would work.
        ReleaseError: the folder is not a release.
    """
    from understudy.inference.analyze import UNWEIGHTED_NOTE, analyze_release, as_asked
    from understudy.inference.bootstrap import require_options
    from understudy.inference.estimators import Question
    from understudy.inference.weighted import is_weighted

    loaded = given_release(release)
    require_text("formula", formula, InferenceError, "income ~ age")
    require_text("where", where, InferenceError, "age >= 65")
    if where and callable(kind):
        raise InferenceError("A function is given all complete records; let it select its own.")
    formula = with_condition(formula, where)
    require_number("probability", probability, InferenceError, 0.5)
    require_number("level", level, InferenceError, 0.95)
    require_function("progress", progress, InferenceError)
    if uncertainty == "rules":
        return analyze_release(
            loaded,
            kind,
            formula,
            probability=probability,
            level=level,
            anyway=anyway,
            weighted=weighted,
        )
    if weighted:
        raise InferenceError(
            "A bootstrap draws records without weights; take uncertainty='rules' for a weighted "
            "answer."
        )
    require_options(uncertainty, interval, workers=workers, repeats=repeats)
    question = Question.of(kind, formula, loaded.schema, probability=probability)
    if isinstance(question.asked, Estimand) and is_of_many(question.asked, loaded.schema):
        raise RefusedError("not-measured", OF_MANY, None, anyway=False)
    analysis = bootstrap(
        loaded,
        question,
        replica_gate,
        repeats=repeats,
        interval=interval,
        level=level,
        seed=seed,
        workers=workers,
        anyway=anyway,
        progress=progress,
    )
    if is_weighted(loaded):
        analysis = replace(analysis, notes=(*analysis.notes, UNWEIGHTED_NOTE))
    return as_asked(analysis, kind, formula, loaded.schema)


def replica_gate(rows: pl.DataFrame, schema: Schema, budget: Budget, seed: int) -> Gate:
    """A gate in front of rows that were drawn from a released model, so that nothing is secret.

    Args:
        rows: the drawn table.
        schema: of the release.
        budget: of the release.
        seed: of the noise.
    """
    return open_gate(Table(rows, schema), budget, SeededRandomness(seed))


def rebuildable() -> tuple[str, ...]:
    """Names of the methods whose model can be made again from a release."""
    return tuple(name for name, kind in METHODS.items() if kind.rebuilt is not Method.rebuilt)


def model_of(release: Release, fits: int) -> Model | None:
    """The model that the sets of a release were drawn from, made again; None if it has none.

    Args:
        release: the release.
        fits: how many fits it was made with; records then come from all of them alike.
    """
    schema, manifest = release.schema, release.manifest
    tables = [
        measurement.noisy(schema)
        for measurement in release.behind_sets
        if measurement.kind is Kind.TABLE
    ]
    if manifest.method not in METHODS or not tables:
        return None
    method = configure(manifest.method, manifest.options)
    parts = method.by_fit(schema, tables, fits)
    rebuilt = [
        method.rebuilt(schema, part, manifest.n_rows, _beside(release, k, fits))
        for k, part in enumerate(parts)
    ]
    models = [model for model in rebuilt if model is not None]
    if len(models) < fits:
        return None
    return models[0] if fits == 1 else PooledFits(tuple(models))


def _beside(release: Release, fit: int, fits: int) -> Beside:
    """Lines and second moments bought before the fits, and ranks of one, as the gate gave them."""
    lines: list[NoisyLine] = []
    products: list[NoisyProducts] = []
    ranks: list[NoisyRanks] = []
    for one in release.behind_sets:
        columns, counts, noise = one.columns, np.asarray(one.counts), one.noise
        if one.kind is Kind.LINE:
            lines.append(NoisyLine((columns[0],), counts, one.outside, noise, one.bins))
        elif one.kind is Kind.PRODUCTS:
            about = noise, one.of, one.family.is_laplace, one.limits
            products.append(NoisyProducts(columns, counts, *about))
        elif one.kind is Kind.RANKS:
            ranks.append(NoisyRanks(columns, counts, noise, one.ranks, one.bins, one.groups))
    own = len(ranks) // fits
    return [*lines, *products, *ranks[fit * own : (fit + 1) * own]]


LEAST_POPULATION = 100_000
POPULATION_TIMES = 4
"""The population has so many records, or so many times the rows of the release."""
_STAGE = "Running the method again on tables drawn from its model"

Door = Callable[[pl.DataFrame, Schema, Budget, int], Gate]
"""Opens a gate in front of rows that were drawn from a model, with noise from a seed."""
RefitProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class World:
    """A world in which many records drawn from the released model are the population.

    Tables are drawn from these records, independently and with replacement. (The model itself would
    draw a table systematically: without the chance by which people came into the real one.) So what
    is true in this world is known exactly.

    Attributes:
        population: the records.
        schema: of the release.
        request: what was asked of the method.
        n_rows: rows of a table.
        door: see `Door`.
        questions: that are asked of each replicate.
        seed: everything random follows from it.
    """

    population: pl.DataFrame
    schema: Schema
    request: Request
    n_rows: int
    door: Door
    questions: tuple[Question, ...]
    seed: int

    @classmethod
    def of(
        cls, release: Release, questions: Sequence[Question], door: Door, *, seed: int = 0
    ) -> World:
        """The world of a release.

        Raises:
            InferenceError: its model cannot be made again; says which methods have one.
        """
        if release.manifest.method not in rebuildable():
            require_rebuilt(None, release, questions[0])
        request, n_rows = request_again(release), release.manifest.n_rows
        model = model_of(release, request.fits)
        require_rebuilt(model, release, questions[0])
        assert model is not None
        rng = np.random.default_rng(seed)
        drawn = model.sample(max(LEAST_POPULATION, POPULATION_TIMES * n_rows), rng)
        population = decode(drawn.states, release.schema, rng, drawn.values)
        return cls(population, release.schema, request, n_rows, door, tuple(questions), seed)

    def sample(self, rng: np.random.Generator) -> pl.DataFrame:
        """As many people as the release has rows, drawn independently."""
        return self.population[rng.integers(self.population.height, size=self.n_rows)]

    def truths(self) -> list[Outcome | None]:
        """Answer each question by the population."""
        tables = [self.population]
        return [_answer(question, tables, self.schema) for question in self.questions]


def request_again(release: Release) -> Request:
    """Repeat the request to the method, as far as the release tells it.

    Raises:
        UnderstudyError: it was made by a method that this version does not have, or in another way.
    """
    manifest = release.manifest
    budget = manifest.budget
    return request_of(
        coarse_again(release.schema),
        epsilon=budget["epsilon"],
        delta=budget["delta"],
        how=SynthesisOptions(
            method=manifest.method,
            sets=manifest.sets,
            options=manifest.options,
            budget={
                "rows": manifest.rows_share or DEFAULT_ROWS_SHARE,
                "answers": manifest.answers_share or 0,
                "lines": manifest.lines_share or 0,
                "layer": manifest.layer_share or 0,
                "places": manifest.places_share or 0,
            },
            analyses=manifest.analyses,
            priority=manifest.priority,
        ),
    )


def bootstrap(
    release: Release,
    question: Question,
    door: Door,
    *,
    repeats: int,
    interval: str,
    level: float,
    seed: int = 0,
    workers: int = 1,
    anyway: bool = False,
    progress: RefitProgress | None = None,
) -> Analysis:
    """Answer a question by a parametric bootstrap of the whole release.

    Args:
        release: that is asked.
        question: asked of it.
        door: see `Door`.
        repeats: number of replicates.
        interval: one of `understudy.inference.bootstrap.INTERVALS`.
        level: confidence level in (0, 1).
        seed: everything random follows from it.
        workers: processes.
        anyway: give numbers even where they are not valid, stamped so.
        progress: called with a stage, and how many of how many are done.

    Raises:
        InferenceError: refused, or not to be computed; says why.
    """
    require_askable(release, question, anyway=anyway)
    require_repeats(repeats, level)
    world = World.of(release, [question], door, seed=seed)
    answers = replicates(world, repeats, workers=workers, progress=progress)
    return analysis_of(
        release,
        question,
        answers.truth[0],
        [replicate[0] for replicate in answers.replicates],
        interval=interval,
        level=level,
        anyway=anyway,
    )


def replicate(world: World, number: int) -> list[Outcome | None]:
    """Answer each question by one replicate; None where it cannot be estimated."""
    sequence = np.random.SeedSequence(world.seed, spawn_key=(1, number))
    rng = np.random.default_rng(sequence)
    request = world.request
    gate = world.door(world.sample(rng), request.schema, request.budget, int(rng.integers(2**63)))
    n_rows, request = bought_once(request, gate)
    prepared = prepared_by(request, gate)
    schema = prepared.schema
    drawn = draw_sets(request, prepared, gate, n_rows.value, rng)
    tables = [decode(records.states, schema, rng, records.values) for records in drawn]
    return [_answer(question, tables, schema) for question in world.questions]


def replicates(
    world: World, repeats: int, *, workers: int = 1, progress: RefitProgress | None = None
) -> Answers:
    """Run the method again and again.

    Args:
        world: the world of the replicates.
        repeats: how many.
        workers: processes; 1 for this one. With more, a script needs the guard
            `if __name__ == "__main__":`.
        progress: called with a stage, and how many of how many are done.

    Raises:
        InferenceError: a function that cannot be sent to other processes, or a process was ended.
        KeyboardInterrupt: after what is under way is finished.
    """
    tell = progress or (lambda _stage, _done, _total: None)
    tell(_STAGE, 0, repeats)
    with single_threaded():
        truth = world.truths()
    if workers > 1:
        _require_sendable(world)
    outcomes = in_chunks(
        partial(replicate_some, world),
        range(repeats),
        workers=workers,
        done=lambda done: tell(_STAGE, done, repeats),
        error=InferenceError,
    )
    return Answers(truth, outcomes)


def replicate_some(world: World, numbers: Sequence[int]) -> list[list[Outcome | None]]:
    """Replicates of some numbers, with one thread: the same ones in whatever process."""
    with single_threaded():
        return [replicate(world, number) for number in numbers]


def _require_sendable(world: World) -> None:
    try:
        ForkingPickler.dumps(world.questions)
    except Exception:  # a function within a function, a lambda: libraries raise what they like
        raise InferenceError(
            "The function cannot be sent to other processes, since it is not one of a module; "
            "take workers=1."
        ) from None


def _answer(question: Question, tables: Sequence[pl.DataFrame], schema: Schema) -> Outcome | None:
    try:
        return outcome_of(question.answer(tables, schema))
    except InferenceError:
        return None
