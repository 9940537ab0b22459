"""Paid answers: a question after a release is measured, and becomes part of the release.

An analyst works on synthetic records, and sends a question file
(`understudy.inference.declared`). What it costs and how wide the intervals will be is known
before anything is spent (`plan_answer`). Then the rows are asked once more through a gate whose
ledger goes on where that of the release ended (`answer`), so that the amended release states what
has been paid in all. Its new measurements estimate what the old ones estimate, with noise of their
own: whoever analyses the amended release has the mean of all of them by precision.

**Budget.** ε is what the question adds to the ε of the release, at the same δ. In ρ or μ²/2 it may
spend the difference of the two stated budgets, which is all that the longer ledger allows.

**What an answer would cost and bring, before anything is spent: rehearsed on a synthetic set.**

A synthetic set of the release stands for the confidential table, and the whole answer is made once
with noise of its true scale from a fixed seed. So the widths are those that the answer would have
if the set were the table. Nothing confidential is read.

**What is bought to answer some analyses of a question after a release.**

A table of its own for what a declared question would have one for, such as shares among some
records, in its own bins and groups (`understudy.inference.own_tables`). Counts of a table, where
two traits or only levels are asked about and the table is small; number
lines for quantiles, totals, shares of conditions on a number and means of functions of it; both
second moments and lines for means of numbers; second moments for everything else. Where a release
has a number in bins that no line divides, its table in these bins stands for the line. Each
analysis has an equal part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np

from understudy._arrays import Floats
from understudy._validation import path_of
from understudy.checkpoint.journal import open_journal
from understudy.checkpoint.replay import remove as remove_checkpoint
from understudy.data.table import Table
from understudy.dp.accountant import Entry
from understudy.dp.budget import Budget, Number, decimal_up, sequential
from understudy.dp.calibration import NoiseName
from understudy.dp.confidential import terms_of
from understudy.dp.gate import Gate
from understudy.dp.guarantee import Guarantee
from understudy.dp.mechanism import Charge, Mechanism
from understudy.dp.randomness import Randomness, SeededRandomness, randomness_of
from understudy.errors import (
    InferenceError,
    MethodError,
    NotPrivateError,
    ReleaseError,
)
from understudy.features.grids import LineCells, is_finer, line_bins
from understudy.features.scores import Limits
from understudy.inference.analysis import half_width_text
from understudy.inference.analyze import amended_answers
from understudy.inference.conditions import UntoldError, require_bins
from understudy.inference.declared import (
    DeclaredAnalysis,
    by_absences,
    by_tables,
    by_terms,
    on_lines,
)
from understudy.inference.measured_moments import limits_of
from understudy.inference.noisy_tables import line_of
from understudy.inference.own_tables import bins_of_lines
from understudy.inference.question import TWO_WAY
from understudy.inference.question_file import QuestionFile, question_file
from understudy.mechanisms.second_moments import SecondMoments
from understudy.mechanisms.tables import NoisyTables, NumberLines
from understudy.methods.plan import natural_noise
from understudy.release.consistency import stated_budget
from understudy.release.folder import MANIFEST, digest
from understudy.release.manifest import Amendment, name_of
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import NUMERIC, Column, Schema
from understudy.workflow.declared_answers import (
    cut_off,
    share_out,
    split_weighted,
    term_moments,
    weighted_answers,
)
from understudy.workflow.describe import state_budget
from understudy.workflow.gates import (
    open_gate,
    require_late_needs,
    summed_rows,
    telling_what_was_spent,
)
from understudy.workflow.governance import outlay_of, reserve_cost
from understudy.workflow.options import AnswerKeywords, RunOptions, gather, list_keywords
from understudy.workflow.pages import pages

MOST_BOUGHT: Final = 4_096
"""Cells of a table that is bought for a question about levels."""
_BY_COUNTS: Final = ("quantile", "proportion", "total")
_OF_LEVELS: Final = ("mean", "proportion", "table", "total")


@dataclass(frozen=True)
class Purchase:
    """One step that is bought for a question.

    Attributes:
        mechanism: that measures.
        share: part of what the question may spend.
    """

    mechanism: Mechanism[Any, Any]
    share: Fraction


def purchases(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    budget: Budget,
    limits: Limits,
    lines: Mapping[str, Floats],
) -> tuple[Purchase, ...]:
    """List the purchases for some analyses; each has an equal part of the whole.

    Args:
        analyses: of a question.
        schema: of the release.
        budget: whose unit decides on the noise.
        limits: at which the release cuts numbers off.
        lines: column → counts of the cells of its number line, where one was released.
    """
    each, noise = Fraction(1, len(analyses)), natural_noise(budget.accounting)
    weighted, analyses = split_weighted(tuple(analyses), schema)
    pure = budget.accounting == "pure"
    parts = [*weighted_answers(weighted, schema, (), pure=pure)] if weighted else []
    of_weights = each * len(weighted)
    found = [Purchase(cut_off(own, limits), part * of_weights) for own, part in parts]
    analyses, own_tables = by_tables(analyses, schema)
    apart = [
        NoisyTables(
            (own.columns,),
            noise,
            beside=True,
            bins={**own.bins, **bins_of_lines(own.even, schema, lines)},
            groups=own.groups,
        )
        for own in own_tables
    ]
    of_levels = [one for one in analyses if _small_table(one, schema)]
    lined = [one for one in analyses if one not in of_levels and on_lines([one], schema)]
    alone = [one for one in lined if _by_counts_alone(one, schema)]
    numbers = [one for one in analyses if one not in of_levels and one not in alone]
    found += [Purchase(asked, each) for asked in apart]
    if of_levels:
        tables = tuple(dict.fromkeys(one.estimand(schema).columns for one in of_levels))
        share = each * len(of_levels)
        found.append(Purchase(NoisyTables(marginals=tables, noise=noise), share))
    halves = [one for one in lined if one not in alone]
    if lined:
        share = each * (len(alone) + Fraction(len(halves), 2))
        found += _buy_counts(on_lines(lined, schema), schema, noise, share)
    weight = each * (len(numbers) - Fraction(len(halves), 2))
    plain, needs = by_terms(numbers, schema)
    of_terms = weight * Fraction(len(needs), max(len(numbers), 1))
    groups = by_absences(plain, schema)
    for coded, columns in groups.items():
        own = {name: ends for name, ends in limits.items() if name in columns}
        bought = SecondMoments(columns, coded, own)
        found.append(Purchase(bought, (weight - of_terms) / len(groups)))
    for asked, part in share_out(term_moments(needs), schema, pure=pure):
        found.append(Purchase(cut_off(asked, limits), part * of_terms))
    return tuple(found)


def _small_table(analysis: DeclaredAnalysis, schema: Schema) -> bool:
    """Return whether it asks about levels or traits of a table that can be counted by cells."""
    asked = analysis.estimand(schema)
    columns = asked.columns
    levels = not any(isinstance(schema.columns[name], NUMERIC) for name in columns)
    counted = asked.kind in TWO_WAY or (levels and asked.kind in _OF_LEVELS)
    return counted and schema.table(columns).n_cells <= MOST_BOUGHT


def _by_counts_alone(analysis: DeclaredAnalysis, schema: Schema) -> bool:
    """Return whether counts of one column have the whole answer, and moments have none."""
    asked = analysis.estimand(schema)
    if len(asked.columns) > 1:
        return False
    return asked.kind in _BY_COUNTS or analysis.formula.strip() not in schema.names


def _buy_counts(
    columns: tuple[str, ...], schema: Schema, noise: NoiseName, share: Fraction
) -> Iterator[Purchase]:
    """Counts of numbers: on number lines, or in the bins of the release where no line is finer."""
    lines = tuple(name for name in columns if _has_line(schema.columns[name], name, schema))
    tables = tuple((name,) for name in columns if name not in lines)
    if lines:
        yield Purchase(NumberLines(lines), share * Fraction(len(lines), len(columns)))
    if tables:
        counted = NoisyTables(marginals=tables, noise=noise)
        yield Purchase(counted, share * Fraction(len(tables), len(columns)))


def _has_line(column: Column, name: str, schema: Schema) -> bool:
    """Return whether the cells of a number line divide the bins that a release has of a column."""
    assert isinstance(column, NUMERIC)
    fine = schema.part([name]).with_bins({name: line_bins(column)}).columns[name]
    assert isinstance(fine, NUMERIC)
    return is_finer(fine, column)


@dataclass(frozen=True)
class Parent:
    """A published release, and how an amendment names it.

    Attributes:
        release: as it was read from its folder.
        checksum: of its manifest.
        budget: that it states.
    """

    release: Release
    checksum: str
    budget: Budget

    @classmethod
    def of(cls, folder: str | Path) -> Parent:
        """Read a release from its folder.

        Raises:
            ReleaseError: it is none.
            NotPrivateError: it has no guarantee that could be extended.
            MethodError: its guarantee adds up with no other.
        """
        place = path_of("The folder of a release", folder, ReleaseError)
        release = Release.load(place)
        promise = release.guarantee
        if promise.epsilon is None or not release.manifest.secure:
            raise NotPrivateError(
                f"The release {str(place)!r} is not private, so that no finite ε could be stated "
                "of it and an answer together; amend a release with a guarantee."
            )
        if not release.manifest.composes:
            raise MethodError(
                f"The release {str(place)!r} was selected among tries with δ, so that its cost is "
                "an ε and a δ to which no answer can be added; make another release."
            )
        return cls(release, digest(place / MANIFEST), stated_budget(release.manifest.budget))

    def extend_budget(self, epsilon: Number) -> Budget:
        """The stated budget of the release and a question together.

        Args:
            epsilon: what the question adds to ε.
        """
        added = Budget.of(epsilon)
        return Budget(
            self.budget.epsilon + added.epsilon, self.budget.delta, self.budget.approximate
        )

    def compute_remainder(self, budget: Budget) -> Fraction:
        """Compute what a budget that extends the stated one leaves after what was paid.

        Args:
            budget: of the release and a question together.
        """
        return budget.amount - sequential(entry.spent or Fraction(0) for entry in self.entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Ledger entries of what was paid for it."""
        kept_in = self.budget.accounting
        return tuple(Entry.from_json(entry, kept_in) for entry in self.release.manifest.ledger)


@list_keywords(AnswerKeywords)
def answer(
    question: object,
    data: object,
    release: str | Path,
    *,
    epsilon: Number,
    run: RunOptions | None = None,
    **keywords: Unpack[AnswerKeywords],
) -> Release:
    """Measure what a question asks, and give back the amended release.

    Args:
        question: the path of a question file, or its content.
        data: the confidential table behind the release: pandas, Polars, Arrow or Spark, or a path.
        release: folder of the release, as it was published.
        epsilon: what the answer adds to the ε of the release; its δ stays.
        run: how the run goes. Use it instead of the keywords that follow.
        **keywords: fields of `RunOptions`.

    Returns:
        The same records, with more measurements; its manifest names the question, and its guarantee
        is that of all that was paid. Save it to a new folder.

    Raises:
        InferenceError: not a question, or one that this schema does not know.
        BudgetError: not a budget.
        ReleaseError: the folder is not a release.
        NotPrivateError: the release has no guarantee.
        DataError: a structural fault of the data; nothing was spent.
        CheckpointError: as `synthesize`.
        LedgerError: as `synthesize`.
    """
    _, run = gather("answer", AnswerKeywords, keywords, run=run)
    asked, parent = _read_question(question), Parent.of(release)
    schema, budget = parent.release.schema, parent.extend_budget(epsilon)
    bought = [purchase for purchase, _ in _price_question(asked, parent, budget)]
    source = randomness_of(run.insecure_noise_seed)
    outlay = outlay_of(schema, budget, run, spend=_spend(parent, budget))
    outlay.require_entered(parent.checksum.removeprefix("sha256:"))
    require_late_needs(source)
    rows = summed_rows(data, schema, run, passes=1 + len(bought))
    seed = str(run.insecure_noise_seed)
    identity = {
        **{"question": asked.digest, "release": parent.checksum, "seed": seed},
        **{"epsilon": str(budget.epsilon), "delta": str(budget.delta)},
        **{"accounting": budget.accounting, "neighbours": schema.neighbours},
        **outlay.identity,
    }
    with (
        open_journal(run.place, identity, 0) as (journal, _),
        reserve_cost(
            outlay, "question", identity, journal, left=parent.compute_remainder(budget)
        ) as spent,
    ):
        gate = open_gate(rows, budget, source, journal, earlier=parent.entries)
        gate.listen(spent.note)
        with telling_what_was_spent(gate):
            amended = _amend_release(asked, parent, gate, bought, budget, secure=source.secure)
            spent.settle(gate.guarantee(), amended.manifest.to_json())
    if run.place is not None and not run.keep_checkpoint:
        remove_checkpoint(run.place)
    return replace(amended, entered=spent.entered)


def rehearse(asked: QuestionFile, parent: Parent, epsilon: Number) -> Release:
    """Return the answer as if a synthetic set were the confidential table.

    The noise has its true scale and is drawn from a fixed seed; nothing is spent.

    Args:
        asked: the question.
        parent: that it would amend.
        epsilon: what it would add.
    """
    budget = parent.extend_budget(epsilon)
    bought = [purchase for purchase, _ in _price_question(asked, parent, budget)]
    schema = parent.release.schema
    rows = Table(parent.release.tables[0][list(schema.names)], schema)
    source: Randomness = SeededRandomness(0)
    gate = open_gate(rows, budget, source, earlier=parent.entries)
    return _amend_release(asked, parent, gate, bought, budget, secure=source.secure)


def steps_of(asked: QuestionFile, parent: Parent, epsilon: Number) -> tuple[Charge[Any], ...]:
    """List what an answer will add to the ledger.

    Args:
        asked: the question.
        parent: that it amends.
        epsilon: what it adds.
    """
    priced = _price_question(asked, parent, parent.extend_budget(epsilon))
    return tuple(charge for _, charges in priced for charge in charges)


def _read_question(question: object) -> QuestionFile:
    asked = question_file(question)
    if asked.claims:
        raise MethodError("Claims are judged by a verdict and do not amend a release.")
    return asked


def _spend(parent: Parent, budget: Budget) -> Fraction:
    """Compute what a question may spend, in the unit of the ledger."""
    return budget.amount - parent.budget.amount


def _price_question(
    asked: QuestionFile, parent: Parent, budget: Budget
) -> tuple[tuple[Purchase, tuple[Charge[Any], ...]], ...]:
    """Price all purchases by public facts, so that nothing is refused half-way."""
    schema = parent.release.schema
    asked.require_asked(schema)
    for analysis in by_tables(asked.analyses, schema)[0]:  # others have bins of their own
        try:
            require_bins(analysis.estimand(schema), schema)
        except UntoldError as error:
            raise UntoldError(f"{error} An amendment keeps the bins of its release.") from None
    terms, whole = terms_of(schema, budget), _spend(parent, budget)
    released = parent.release.measurements
    lines = {
        one.columns[0]: np.asarray(one.counts, dtype=np.float64)
        for name in schema.names
        if (one := line_of(released, name)) is not None
        and len(one.counts) == LineCells.of_line(schema, name).size
    }
    bought = purchases(asked.analyses, schema, budget, limits_of(parent.release), lines)
    return tuple(
        (purchase, purchase.mechanism.price(terms, purchase.share * whole)) for purchase in bought
    )


def _amend_release(
    asked: QuestionFile,
    parent: Parent,
    gate: Gate,
    bought: Sequence[Purchase],
    budget: Budget,
    *,
    secure: bool,
) -> Release:
    """The release with what is bought through a gate that goes on with its ledger."""
    whole = _spend(parent, budget)
    gate.require(whole)
    for purchase in bought:
        gate.ask(purchase.mechanism, spend=purchase.share * whole)
    old, manifest = parent.release, parent.release.manifest
    amendment = Amendment(
        parent=parent.checksum,
        entries=len(manifest.ledger),
        budget=manifest.budget,
        title=asked.title,
        asked_by=asked.asked_by,
        chosen=asked.chosen,
        analyses=tuple(asdict(analysis) for analysis in asked.analyses),
    )
    return replace(
        old,
        measurements=(*old.measurements, *_new(gate, manifest.amendments, old.schema)),
        manifest=replace(
            manifest,
            guarantee=_promise(old.guarantee, gate.guarantee()),
            budget=state_budget(budget),
            ledger=tuple(entry.to_json() for entry in gate.ledger),
            secure=manifest.secure and secure,
            amendments=(*manifest.amendments, amendment),
        ),
        pages=pages,
    )


def _new(gate: Gate, amendments: Sequence[Amendment], schema: Schema) -> Iterator[Measurement]:
    for k, released in enumerate(gate.measured, start=1):
        name = name_of(len(amendments) + 1, k)
        yield Measurement.from_released(released, name, schema)


def _promise(first: Guarantee, later: Guarantee) -> Guarantee:
    """Return the guarantee of a release and an answer together, with all that was said."""
    if later.epsilon is None:
        return later
    conditional = "conditional" in (first.kind, later.kind)
    return replace(
        later,
        kind="conditional" if conditional else later.kind,
        public_inputs=first.public_inputs,
        conditions=tuple(dict.fromkeys((*first.conditions, *later.conditions))),
        leaks=tuple(dict.fromkeys((*first.leaks, *later.leaks))),
    )


_SMALLEST, _LARGEST = 0.001, 10.0
_HALVINGS: Final = 8  # of the logarithm of the range: ε within 4 %


@dataclass(frozen=True)
class ExpectedGain:
    """The expected precision of one estimate.

    Attributes:
        question: kind and formula.
        name: of the estimate.
        now: half-width of the 95 % interval that the release gives; NaN where it gives none.
        alone: from the new measurement.
        pooled: from both.
        wanted: what the question asks for; NaN for any.
    """

    question: str
    name: str
    now: float
    alone: float
    pooled: float
    wanted: float

    @property
    def reached(self) -> bool:
        """True if the pooled interval is as narrow as it is wanted."""
        return math.isnan(self.wanted) or self.pooled <= self.wanted

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for a width that is not known."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class AnswerPlan:
    """The cost and the expected precision of an answer.

    Attributes:
        question: that is asked.
        schema: of the release.
        epsilon: what it adds.
        before: stated budget of the release.
        after: stated budget of both.
        steps: what will stand in the ledger.
        gains: expected widths, for each estimate.
        refused: analyses that would have no answer, with the reason.
    """

    question: QuestionFile
    schema: Schema
    epsilon: Number
    before: Budget
    after: Budget
    steps: tuple[Charge[Any], ...]
    gains: tuple[ExpectedGain, ...]
    refused: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.question.title,
            "epsilon": str(self.epsilon),
            "epsilon_before": decimal_up(self.before.epsilon),
            "epsilon_after": decimal_up(self.after.epsilon),
            "delta": decimal_up(self.after.delta),
            "steps": [{"query": step.query, "noise": step.noise} for step in self.steps],
            "expected": [gain.to_json() for gain in self.gains],
            "refused": [{"question": asked, "reason": why} for asked, why in self.refused],
        }


def plan_answer(
    question: object, release: str | Path, *, epsilon: Number | None = None
) -> AnswerPlan:
    """Plan what an answer would cost and bring. No confidential rows are read.

    Args:
        question: the path of a question file, or its content.
        release: folder of the release, as it was published.
        epsilon: what the answer may add to ε; if None, the least that is expected to reach every
            half-width that the question wants.

    Raises:
        InferenceError: not a question, or neither ε nor a wanted width is given.
        MethodError: no ε up to 10 is expected to reach what is wanted.
        ReleaseError: the folder is not a release.
        NotPrivateError: the release has no guarantee.
    """
    asked, parent = question_file(question), Parent.of(release)
    if epsilon is not None:
        return _plan_epsilon(asked, parent, epsilon)
    if all(map(math.isnan, asked.half_widths)):
        raise InferenceError(
            "Say what the answer may cost (epsilon), or which half_width the question wants."
        )
    return _cheapest(asked, parent)


def _cheapest(asked: QuestionFile, parent: Parent) -> AnswerPlan:
    """By bisection; widths shrink as ε grows."""
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    best = _plan_epsilon(asked, parent, _round_up(_LARGEST))
    if lacking := [gain for gain in best.gains if not gain.reached]:
        first = lacking[0]
        left = half_width_text(first.pooled)
        raise MethodError(
            f"No ε up to {_LARGEST:g} is expected to bring {first.name} of {first.question} to "
            f"± {first.wanted:.3g}; sampling and such a budget leave {left}."
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        plan = _plan_epsilon(asked, parent, _round_up(math.exp(middle)))
        if all(gain.reached for gain in plan.gains):
            best, high = plan, middle
        else:
            low = middle
    return best


def _round_up(epsilon: float) -> Decimal:
    """Two significant digits, upwards."""
    return Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(epsilon)


def _plan_epsilon(asked: QuestionFile, parent: Parent, epsilon: Number) -> AnswerPlan:
    steps = steps_of(asked, parent, epsilon)
    amended = rehearse(asked, parent, epsilon)
    told = amended_answers(amended)[-len(asked.analyses) :]
    gains: list[ExpectedGain] = []
    for one, wanted, term in zip(told, asked.half_widths, asked.terms, strict=True):
        question = f"{one.kind} {one.formula}"
        widths = [part.half_widths for part in (one.before, one.alone, one.pooled)]
        if term and one.names and term not in one.names:
            raise InferenceError(
                f"{question} has no estimate {term!r}; it has {', '.join(one.names[:12])}."
            )
        gains += _gains(question, one.names, widths, wanted, term)
    return AnswerPlan(
        question=asked,
        schema=parent.release.schema,
        epsilon=epsilon,
        before=parent.budget,
        after=parent.extend_budget(epsilon),
        steps=steps,
        gains=tuple(gains),
        refused=tuple(
            (f"{one.kind} {one.formula}", one.pooled.refused) for one in told if not one.names
        ),
    )


def _gains(
    question: str,
    names: tuple[str, ...],
    widths: list[dict[str, float]],
    wanted: float,
    term: str,
) -> Iterator[ExpectedGain]:
    for name in names:
        asked = name == term if term else name != "Intercept"
        now, alone, pooled = (known.get(name, math.nan) for known in widths)
        yield ExpectedGain(question, name, now, alone, pooled, wanted if asked else math.nan)
