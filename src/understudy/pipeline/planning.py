"""What a release would measure and cost, from public facts alone: no rows, no engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.arguments import require_mapping, require_text, require_whole
from understudy.errors import MethodError
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Method
from understudy.inference.declared_analyses import (
    DeclaredAnalysis,
    Expected,
    columns_of,
    declared_analyses,
)
from understudy.methods.auto import ASSUMED_ROWS, choose
from understudy.methods.configuration import configure
from understudy.pipeline.budget_shares import (
    DEFAULT_ROWS_SHARE,
    budget_of,
    rows_noise,
    rows_part,
    scored_columns,
    stated_share,
    usual_share,
)
from understudy.privacy.accounting.budget import Budget, Number, decimal_up
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.privacy.noise.calibration import (
    calibrate,
    describe,
)
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema

if TYPE_CHECKING:
    from understudy.release import Release


@dataclass(frozen=True)
class Plan:
    """What a release would cost and measure, from public facts alone.

    Attributes:
        method: its name.
        options: its options, defaults included.
        reason: why it was chosen, if it was chosen automatically.
        budget: the stated budget.
        neighbours: neighbouring relation.
        sets: number of synthetic tables.
        sets_kind: "free" or "split".
        rows_noise: how the number of rows is obtained, in words.
        setup: what is measured once, before the fits.
        tables: what one fit measures.
        fits: how many fits there are.
        remarks: what else there is to know, in sentences.
        expected: how exact answers to declared analyses will be, for `assumed_rows` records.
        memory_mb: memory beyond the rows, in megabytes; an estimate (`understudy.families.effort`).
        seconds: time beyond reading the rows, in seconds; an estimate.
    """

    method: str
    options: dict[str, Any]
    reason: str
    budget: Budget
    neighbours: str
    sets: int
    sets_kind: str
    rows_noise: str
    setup: tuple[PlannedTable, ...]
    tables: tuple[PlannedTable, ...]
    fits: int
    remarks: tuple[str, ...]
    memory_mb: float
    seconds: float
    expected: tuple[Expected, ...] = ()
    assumed_rows: int = 0

    def __repr__(self) -> str:
        """One line."""
        sets = f"{self.sets} {self.sets_kind} {'set' if self.sets == 1 else 'sets'}"
        steps = len(self.setup) + self.fits * len(self.tables)
        budget = f"ε = {decimal_up(self.budget.epsilon)}"
        budget += f", δ = {decimal_up(self.budget.delta)}" if self.budget.delta else ""
        return (
            f"Plan({self.method}, {budget}, {sets}, {steps:,} {'step' if steps == 1 else 'steps'})"
        )


@dataclass(frozen=True)
class Request:
    """Everything that can be checked, and refused, without looking at the rows.

    Attributes:
        schema: the public schema.
        budget: the stated budget.
        method: the configured method.
        name: its name.
        reason: why it was chosen, if it was chosen automatically; else "".
        sets: number of synthetic tables.
        rows_spend: what buys the number of rows.
        answers_spend: what buys second moments, for answers; 0 for none.
        analyses: declared ones; second moments are of their columns alone, if there are any.
    """

    schema: Schema
    budget: Budget
    method: Method
    name: str
    reason: str
    sets: int
    rows_spend: Fraction
    answers_spend: Fraction = Fraction(0)
    analyses: tuple[DeclaredAnalysis, ...] = ()

    def tables(self) -> tuple[PlannedTable, ...]:
        """What one fit measures."""
        return self.method.plan(self.schema, self.fit_spend, self.budget)

    @property
    def answers(self) -> ScoreMoments | None:
        """What is asked for the sake of answers; None where nothing is to be spent on it."""
        columns = columns_of(self.analyses, self.schema) or scored_columns(self.schema)
        return ScoreMoments(columns) if self.answers_spend else None

    @property
    def draws_records(self) -> bool:
        """Whether drawing records is the mechanism, so that no seed may fix which are drawn."""
        return any(step.records for step in self.tables())

    def setup(self) -> tuple[PlannedTable, ...]:
        """What is measured once, before the fits."""
        steps = self.method.plan_setup(self.schema, self.setup_spend, self.budget)
        if self.answers is None:
            return steps
        asked, names = self.answers, [self.answers.columns]
        about = self.schema, self.answers_spend, self.budget
        return announced(asked, *about, names, form=Form.MOMENTS) + steps

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else there is to know, in sentences."""
        said = self.method.remarks(self.schema)
        return said + self.method.cautions(self.schema, self.fit_spend, self.budget)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the method, defaults included."""
        options = asdict(self.method).items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in options}

    @property
    def fits(self) -> int:
        """Number of fits."""
        return self.sets if self.method.sets == "split" else 1

    @property
    def setup_spend(self) -> Fraction:
        """What may be spent once, before the fits."""
        return self._method_spend * self.method.setup_share(self.schema)

    @property
    def fit_spend(self) -> Fraction:
        """What one fit may spend."""
        return (self._method_spend - self.setup_spend) / self.fits

    @property
    def _method_spend(self) -> Fraction:
        return self.budget.amount - self.rows_spend - self.answers_spend

    @property
    def identity(self) -> dict[str, str]:
        """What makes this request the same as another, in public terms."""
        text = self.schema.released().dumps()
        return {
            "schema": hashlib.sha256(text.encode("utf-8")).hexdigest(),
            "method": self.name,
            "options": json.dumps(self.options, sort_keys=True, default=str),
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "accounting": self.budget.accounting,
            "sets": str(self.sets),
            "rows_share": str(self.rows_spend / self.budget.amount),
            "answers_share": str(self.answers_spend / self.budget.amount),
            "analyses": json.dumps([asdict(analysis) for analysis in self.analyses]),
            "version of understudy": version("understudy"),
        }

    @property
    def rows_words(self) -> str:
        """How the number of rows is obtained."""
        if self.schema.rows == "public":
            return "declared as public in the schema"
        distribution = calibrate(
            rows_noise(self.budget),
            spend=self.rows_spend,
            accounting=self.budget.accounting,
            neighbours=self.schema.neighbours,
        )
        cost = f"{self.budget.unit} = {decimal_up(self.rows_spend)}"
        return f"bought once for {cost} ({describe(distribution)})"


def request_of(
    schema: Schema | str | Path,
    *,
    method: str,
    epsilon: Number,
    delta: Number,
    sets: int,
    options: Mapping[str, Any] | None,
    rows_share: Number,
    answers_share: Number | None = None,
    analyses: object = None,
) -> Request:
    """Check a request; arguments and errors are those of `plan`."""
    schema = given_schema(schema)
    schema.require_reviewed()
    require_whole("sets", sets, MethodError, least=1)
    require_text("method", method, MethodError, "marginals")
    require_mapping("options", options or {}, MethodError, '{"form": "dense"}')
    share = rows_part(rows_share)
    stated = Budget.of(epsilon, delta)
    automatic = method == "auto"
    name, reason = choose(schema, stated.epsilon, stated.delta) if automatic else (method, "")
    configured = configure(name, options or {})
    budget = budget_of(epsilon, delta, configured, schema)
    rows_spend = budget.amount * share if schema.rows == "private" else Fraction(0)
    declared = declared_analyses(analyses, schema)
    usual = usual_share(schema, budget, automatic=automatic, declared=bool(declared))
    share = usual if answers_share is None else stated_share(answers_share)
    answers = (budget.amount - rows_spend) * share
    return Request(schema, budget, configured, name, reason, sets, rows_spend, answers, declared)


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: str = "auto",
    sets: int = 1,
    options: Mapping[str, Any] | None = None,
    rows_share: Number = DEFAULT_ROWS_SHARE,
    answers_share: Number | None = None,
    analyses: object = None,
    assume_rows: int | None = None,
    like: Release | None = None,
) -> Plan:
    """What a release would measure and cost, and how exact it would be. No data are read.

    Args:
        schema: a reviewed schema, or the path of its file.
        epsilon: ε of the whole release.
        delta: δ of the whole release; 0 for pure differential privacy.
        method: a name in the table of methods, or "auto".
        sets: number of synthetic tables.
        options: options of the method.
        rows_share: share of the budget that buys the number of rows, where that is private.
        answers_share: part of the rest that buys second moments of all columns, from which linear
            models, correlations and group means are answered; by default a quarter for an
            automatic release with δ above 0, half where analyses are declared, else nothing.
        analyses: what the release is to answer (`inference.declared_analyses`), such as "ols income
            ~ age + sex"; then second moments are bought of their columns alone.
        assume_rows: number of records for which widths are expected; 1,000 if it is private.
        like: an earlier release that stands for the population there; else even records do.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget.
        MethodError: unknown method or option, or one that does not fit the schema.
        InferenceError: not an analysis.
    """
    request = request_of(
        schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        sets=sets,
        options=options,
        rows_share=rows_share,
        answers_share=answers_share,
        analyses=analyses,
    )
    tables, setup = request.tables(), request.setup()
    assumed = assume_rows or request.schema.n_rows or ASSUMED_ROWS
    expected: tuple[Expected, ...] = ()
    if request.analyses and request.answers:
        from understudy.pipeline.expected_answers import expected_answers  # loads statistics

        drawn, asked = like.tables[0] if like else None, (request.analyses, request.schema)
        expected = expected_answers(*asked, setup[0], n_rows=assumed, like=drawn)
    effort = request.method.effort(request.schema, tables, request.budget)
    return Plan(
        method=request.name,
        options=request.options,
        reason=request.reason,
        budget=request.budget,
        neighbours=request.schema.neighbours,
        sets=sets,
        sets_kind=request.method.sets,
        rows_noise=request.rows_words,
        setup=setup,
        tables=tables,
        fits=request.fits,
        remarks=request.remarks,
        memory_mb=round(effort.memory_mb, 1),
        seconds=round(effort.shared + request.fits * effort.seconds, 2),
        expected=expected,
        assumed_rows=assumed if expected else 0,
    )
