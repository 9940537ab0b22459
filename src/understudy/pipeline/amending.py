"""Paid answers: a question after a release is measured, and becomes part of the release.

An analyst works on synthetic records, and sends a question file
(`understudy.inference.question_file`). What it costs and how wide the intervals will be is known
before anything is spent (`plan_answer`). Then the rows are asked once more through a gate whose
ledger goes on where that of the release ended (`answer`), so that the amended release states what
has been paid in all. Its new measurements estimate what the old ones estimate, with noise of their
own: whoever analyses the amended release has the mean of all of them by precision.

What is bought: `understudy.pipeline.purchases`.

**Budget.** ε is what the question adds to the ε of the release, at the same δ. In ρ or μ²/2 it may
spend the difference of the two stated budgets, which is all that the longer ledger allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy import engine as engines
from understudy.arguments import path_of, require_function, require_whole
from understudy.errors import CheckpointError, MethodError, NotPrivateError, ReleaseError
from understudy.inference.question_file import QuestionFile, question_file
from understudy.pipeline.describe import stated
from understudy.pipeline.gates import open_gate, summed_rows
from understudy.pipeline.interruption import Progress
from understudy.pipeline.late_needs import require_late_needs, telling_what_was_spent
from understudy.pipeline.outlay import outlay_of
from understudy.pipeline.page_set import pages
from understudy.pipeline.purchases import Purchase, purchases
from understudy.pipeline.run_spending import spending
from understudy.privacy.accounting.budget import Budget, Number, sequential
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.checkpoint.journal import open_journal
from understudy.privacy.checkpoint.left_run import remove as remove_checkpoint
from understudy.privacy.gate import Gate
from understudy.privacy.mechanism import Charge
from understudy.privacy.noise.randomness import Randomness, SeededRandomness, randomness_of
from understudy.privacy.terms import terms_of
from understudy.release import Measurement, Release
from understudy.release.amendment import Amendment, name_of
from understudy.release.bundle import digest
from understudy.release.place import MANIFEST
from understudy.release.promise_check import stated_budget
from understudy.schema import Schema


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
        """
        place = path_of("The folder of a release", folder, ReleaseError)
        release = Release.load(place)
        promise = release.guarantee
        if promise.epsilon is None or not release.manifest.secure:
            raise NotPrivateError(
                f"The release {str(place)!r} is not private, so that no finite ε could be stated "
                "of it and an answer together; amend a release with a guarantee."
            )
        return cls(release, digest(place / MANIFEST), stated_budget(release.manifest.budget))

    def extended(self, epsilon: Number) -> Budget:
        """The stated budget of the release and a question together.

        Args:
            epsilon: what the question adds to ε.
        """
        added = Budget.of(epsilon)
        return Budget(
            self.budget.epsilon + added.epsilon, self.budget.delta, self.budget.approximate
        )

    def left(self, budget: Budget) -> Fraction:
        """What a budget that extends the stated one allows after what was paid.

        Args:
            budget: of the release and a question together.
        """
        return budget.amount - sequential(entry.spent or Fraction(0) for entry in self.entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was paid for it."""
        kept_in = self.budget.accounting
        return tuple(Entry.from_json(entry, kept_in) for entry in self.release.manifest.ledger)


def answer(
    question: object,
    data: object,
    release: str | Path,
    *,
    epsilon: Number,
    insecure_noise_seed: int | None = None,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
    ledger: str | Path | None = None,
    by: str | None = None,
    spill: str | Path | None = None,
    trusted_cluster: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Measure what a question asks, and give back the amended release.

    Args:
        question: the path of a question file, or its content.
        data: the confidential table behind the release: pandas, Polars, Arrow or Spark, or a path.
        release: folder of the release, as it was published.
        epsilon: what the answer adds to the ε of the release; its δ stays.
        insecure_noise_seed: for tests and studies only: the result is **not private**.
        checkpoint: folder that holds, while this runs, what was released and what it cost.
        keep_checkpoint: leave it when the answer is there, for callers that save it first.
        ledger: that governs the population of the rows, as for `synthesize`.
        by: who spends, as for `synthesize`.
        spill: folder for coded rows, as for `synthesize`.
        trusted_cluster: as for `synthesize`.
        progress: called with a stage, and how much of how much is done.

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
    if insecure_noise_seed is not None:
        require_whole("insecure_noise_seed", insecure_noise_seed, MethodError, least=0)
    require_function("progress", progress, MethodError)
    asked, parent = _asked(question), Parent.of(release)
    schema, budget = parent.release.schema, parent.extended(epsilon)
    bought = [purchase for purchase, _ in _priced(asked, parent, budget)]
    seed = insecure_noise_seed
    source = randomness_of(seed)
    place = None if checkpoint is None else path_of("checkpoint", checkpoint, CheckpointError)
    added = _spend(parent, budget)
    outlay = outlay_of(
        schema, budget, ledger, by, spend=added, secure=source.secure, checkpoint=place
    )
    outlay.require_entered(parent.checksum.removeprefix("sha256:"))
    declared = [str(one["kind"]) for one in parent.release.manifest.analyses]
    require_late_needs(source, [*declared, *(one.kind for one in asked.analyses)])
    tell = progress or (lambda _stage, _done, _total: None)
    rows = summed_rows(
        *(data, schema, tell, spill), passes=1 + len(bought), trusted_cluster=trusted_cluster
    )
    identity = {
        **{"question": asked.digest, "release": parent.checksum, "seed": str(seed)},
        **{"epsilon": str(budget.epsilon), "delta": str(budget.delta)},
        **{"accounting": budget.accounting, "neighbours": schema.neighbours},
        **outlay.identity,
    }
    with (
        open_journal(place, identity, 0) as (journal, _),
        spending(outlay, "question", identity, journal, left=parent.left(budget)) as spent,
    ):
        gate = open_gate(rows, budget, source, journal, earlier=parent.entries)
        gate.listen(spent.note)
        with telling_what_was_spent(gate):
            amended = _amended(asked, parent, gate, bought, budget, secure=source.secure)
            spent.settle(gate.guarantee(), amended.manifest.to_json())
    if place is not None and not keep_checkpoint:
        remove_checkpoint(place)
    return replace(amended, entered=spent.entered)


def rehearsed(asked: QuestionFile, parent: Parent, epsilon: Number) -> Release:
    """What an answer would look like if a synthetic set were the confidential table.

    The noise has its true scale and is drawn from a fixed seed; nothing is spent.

    Args:
        asked: the question.
        parent: that it would amend.
        epsilon: what it would add.
    """
    budget = parent.extended(epsilon)
    bought = [purchase for purchase, _ in _priced(asked, parent, budget)]
    schema = parent.release.schema
    rows = engines.Table(parent.release.tables[0][list(schema.names)], schema)
    source: Randomness = SeededRandomness(0)
    gate = open_gate(rows, budget, source, earlier=parent.entries)
    return _amended(asked, parent, gate, bought, budget, secure=source.secure)


def steps_of(asked: QuestionFile, parent: Parent, epsilon: Number) -> tuple[Charge[Any], ...]:
    """What an answer will add to the ledger.

    Args:
        asked: the question.
        parent: that it amends.
        epsilon: what it adds.
    """
    priced = _priced(asked, parent, parent.extended(epsilon))
    return tuple(charge for _, charges in priced for charge in charges)


def _asked(question: object) -> QuestionFile:
    asked = question_file(question)
    if asked.claims:
        raise MethodError("Claims are judged by a verdict and do not amend a release.")
    return asked


def _spend(parent: Parent, budget: Budget) -> Fraction:
    """What a question may spend, in the unit of the ledger."""
    return budget.amount - parent.budget.amount


def _priced(
    asked: QuestionFile, parent: Parent, budget: Budget
) -> tuple[tuple[Purchase, tuple[Charge[Any], ...]], ...]:
    """What is bought and for what, by public facts, so that nothing is refused half-way."""
    schema = parent.release.schema
    asked.require_asked(schema)
    terms, whole = terms_of(schema, budget), _spend(parent, budget)
    return tuple(
        (purchase, purchase.mechanism.price(terms, purchase.share * whole))
        for purchase in purchases(asked.analyses, schema, budget)
    )


def _amended(
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
            budget=stated(budget),
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
    """What holds of a release and an answer together: the later promise, with all that was said."""
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
