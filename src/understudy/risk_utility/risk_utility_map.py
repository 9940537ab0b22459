"""Draw a map: run methods over budgets with repetitions, and summarise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from understudy.arguments import require_function, require_whole
from understudy.errors import MethodError
from understudy.parallel import in_chunks
from understudy.pipeline.internal_uses import enter_use
from understudy.pipeline.release_evaluation import rows_in_memory
from understudy.privacy.accounting.budget import Number, decimal_up
from understudy.privacy.internal import Internal
from understudy.risk_utility.map_design import Design, Setting
from understudy.risk_utility.map_results import Interval, Point, Tradeoff
from understudy.risk_utility.repetition import Outcome, Trial, run_some
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema

Progress = Callable[[str, int, int], None]

DEFAULT_METHODS = ("marginals", "mst", "privbayes", "independent")
DEFAULT_EPSILONS: tuple[Number, ...] = ("0.1", "0.3", "1", "3", "10")
DEFAULT_UTILITY = ("one-way", "two-way", "specks")
_STAGE = "Making releases and scoring them"


@overload
def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: Literal[True],
    methods: Sequence[str] = ...,
    epsilons: Sequence[Number] = ...,
    delta: Number = ...,
    repetitions: int = ...,
    risk: str = ...,
    utility: Sequence[str] = ...,
    holdout: float = ...,
    keys: Sequence[str] = ...,
    secrets: Sequence[str] = ...,
    options: Mapping[str, Mapping[str, Any]] | None = ...,
    seed: int = ...,
    workers: int = ...,
    ledger: str | Path | None = ...,
    progress: Progress | None = ...,
) -> Tradeoff: ...


@overload
def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: Literal[False] = ...,
    methods: Sequence[str] = ...,
    epsilons: Sequence[Number] = ...,
    delta: Number = ...,
    repetitions: int = ...,
    risk: str = ...,
    utility: Sequence[str] = ...,
    holdout: float = ...,
    keys: Sequence[str] = ...,
    secrets: Sequence[str] = ...,
    options: Mapping[str, Mapping[str, Any]] | None = ...,
    seed: int = ...,
    workers: int = ...,
    ledger: str | Path | None = ...,
    progress: Progress | None = ...,
) -> Internal[Tradeoff]: ...


def tradeoff(
    data: object,
    schema: Schema | str | Path,
    *,
    public: bool = False,
    methods: Sequence[str] = DEFAULT_METHODS,
    epsilons: Sequence[Number] = DEFAULT_EPSILONS,
    delta: Number = 0,
    repetitions: int = 5,
    risk: str = "epsilon",
    utility: Sequence[str] = DEFAULT_UTILITY,
    holdout: float = 0.2,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    workers: int = 1,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Tradeoff] | Tradeoff:
    """An R-U map of methods over budgets. INTERNAL on confidential rows.

    Choosing ε, or a method, by looking at a map of confidential rows is a leak outside ε. Draw it
    on public or simulated rows of the same schema, such as a release of an earlier year.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder); held in
            memory.
        schema: a reviewed schema, or the path of its file.
        public: the rows are public or simulated, so that the map is not internal. Only whoever has
            the rows can know that.
        methods: names in the table of methods, or "auto". One without a guarantee is run once, as
            a point without ε.
        epsilons: ε of the releases.
        delta: δ of the releases; 0 for pure differential privacy.
        repetitions: releases at each point; from two on there are Monte Carlo intervals.
        risk: "epsilon", or a measured one: "attribute" (how much better an intruder guesses the
            secrets of people in the release from their keys than those of people held out) or
            "membership" (how well nearness to the release tells members from people held out).
        utility: losses, lower is better: "one-way", "two-way", "conditional", "specks" or
            "intervals" (`understudy.evaluation.utility.losses`).
        holdout: share of the rows that are held out, where risk is measured.
        keys: for "attribute", columns that an intruder knows; all but the secrets if none.
        secrets: for "attribute", columns that he wants to know.
        options: method → its options.
        seed: everything random follows from it, the noise of these releases included, which are
            never published; the number of workers changes nothing.
        workers: processes. With several, a script needs the guard `if __name__ == "__main__":`.
        ledger: that governs the population of the rows, as for `synthesize`; a map of rows that are
            not public is entered there as internal, with the sum of its releases.
        progress: called with a stage, and how much of how much is done.

    Returns:
        The map, as an `Internal` value unless the rows are public. A method that refuses a budget
        or the schema is listed with its reason.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget.
        MethodError: an unknown method, option, risk, loss or column, a number out of range, or no
            method can be run.
        DataError: a structural fault of the data, or too few rows.
        LedgerError: as `synthesize`.
    """
    design = Design.of(
        schema,
        methods=methods,
        epsilons=epsilons,
        delta=delta,
        repetitions=repetitions,
        risk=risk,
        utility=utility,
        holdout=holdout,
        keys=keys,
        secrets=secrets,
        options=options,
        seed=seed,
    )
    require_whole("workers", workers, MethodError, least=1)
    require_function("progress", progress, MethodError)
    refused = {setting: design.refusal(setting) for setting in design.settings}
    if all(refused.values()):
        raise MethodError(next(iter(refused.values())))
    if not public:
        budgets = [design.cost(setting) for setting, reason in refused.items() if not reason]
        private = None if None in budgets else [one for one in budgets if one is not None]
        repeated = None if private is None else private * design.repetitions
        enter_use(given_schema(schema), "map of methods over budgets", repeated, ledger)
    tradeoff = _drawn(data, design, refused, public=public, workers=workers, progress=progress)
    return tradeoff if public else Internal(tradeoff)


def _drawn(
    data: object,
    design: Design,
    refused: Mapping[Setting, str],
    *,
    public: bool,
    workers: int,
    progress: Progress | None,
) -> Tradeoff:
    tell = progress or (lambda _stage, _done, _total: None)
    tell("Reading and coding rows", 0, 1)
    trial = Trial(design, rows_in_memory(data, design.schema))
    n_rows, n_control = trial.n_rows
    tell("Reading and coding rows", 1, 1)
    tasks = [
        (setting, k)
        for setting in design.settings
        if not refused[setting]
        for k in range(design.repetitions)
    ]
    tell(_STAGE, 0, len(tasks))
    outcomes = in_chunks(
        partial(run_some, trial),
        tasks,
        workers=workers,
        done=lambda done: tell(_STAGE, done, len(tasks)),
        error=MethodError,
    )
    by_setting: dict[Setting, list[Outcome]] = {setting: [] for setting in design.settings}
    for (setting, _), outcome in zip(tasks, outcomes, strict=True):
        by_setting[setting].append(outcome)
    return Tradeoff(
        title=design.schema.title or "Table",
        public=public,
        n_rows=n_rows,
        n_control=n_control,
        methods=design.methods,
        options={name: dict(given) for name, given in design.options.items()},
        delta=decimal_up(design.delta) if design.delta else "0",
        repetitions=design.repetitions,
        risk=design.risk,
        utility=design.utility,
        keys=design.keys,
        secrets=design.secrets,
        seed=design.seed,
        points=tuple(
            _point(setting, refused[setting], repeated) for setting, repeated in by_setting.items()
        ),
    )


def _point(setting: Setting, refused: str, outcomes: Sequence[Outcome]) -> Point:
    """The summary of a point; one repetition that is refused refuses it."""
    reason = refused or next((outcome.refused for outcome in outcomes if outcome.refused), "")
    if reason:
        return Point(setting.method, setting.words, None, {}, reason)
    risks = [outcome.risk for outcome in outcomes if outcome.risk is not None]
    losses = {
        name: Interval.over([outcome.losses[name] for outcome in outcomes])
        for name in outcomes[0].losses
    }
    risk = Interval.over(np.array(risks).tolist()) if risks else None
    return Point(setting.method, setting.words, risk, losses)
