"""A verdict on a claim: what an analyst found on synthetic records, put to the rows.

Random subsets of the confidential rows vote, and the noisy number of yes decides
(`understudy.mechanisms.votes`, `understudy.inference.verdict`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Unpack, cast

from understudy._validation import require_whole
from understudy.dp import perturbation
from understudy.dp.budget import Budget, Number, exact
from understudy.dp.confidential import terms_of
from understudy.dp.gate import Gate
from understudy.dp.randomness import randomness_of
from understudy.errors import MethodError
from understudy.inference.question_file import QuestionFile
from understudy.inference.verdict import (
    DISTANCES,
    LEADS,
    Claim,
    Side,
    Verdict,
    VerdictPlan,
    band_of,
    odds_at,
    odds_of,
    read_claim,
    side_of,
    subsets_for,
    votes_interval,
)
from understudy.mechanisms.votes import VoteNoise, Votes, vote_noise
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.schema import given_schema
from understudy.workflow.gates import (
    coded_rows,
    laid_out,
    open_gate,
    require_late_needs,
    telling_what_was_spent,
)
from understudy.workflow.governance import outlay_of, reserve_cost
from understudy.workflow.options import RunOptions, VerdictKeywords, gather, list_keywords


class _Prepared(NamedTuple):
    """All that is settled before rows are read."""

    schema: Schema
    budget: Budget
    asked: Votes
    noise: VoteNoise
    plan: VerdictPlan


@list_keywords(VerdictKeywords)
def verdict(
    data: object,
    schema: Schema | str | Path,
    claim: str,
    *,
    epsilon: Number,
    delta: Number = 0,
    assume_rows: int | None = None,
    run: RunOptions | None = None,
    **keywords: Unpack[VerdictKeywords],
) -> Verdict:
    """Ask whether the rows bear out a claim, under differential privacy.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        schema: a reviewed schema, or the path of its file.
        claim: such as "ols income ~ age + sex: age > 0", "share sex = f < 0.5" or "mean income >
            30000" (`understudy.inference.verdict`). It must be chosen without a look at the
            rows; synthetic records of a release may be looked at.
        epsilon: ε of the verdict.
        delta: δ of the verdict; 0 for pure differential privacy, which suits a single number best.
        assume_rows: about how many records there are, where their number is private; a public
            guess, never read from the rows, by which the number of subsets is chosen.
        run: how the run goes. Use it instead of the keywords that follow.
        **keywords: fields of `RunOptions`.

    Returns:
        A `Verdict`: "yes", "no" or "undecided", with stated probabilities of error. Whatever the
        rows are, there is one: a subset that cannot tell votes no.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or too little for any verdict.
        InferenceError: a claim that cannot be read, or cannot be made of these columns.
        MethodError: options that do not fit, or too few records.
        DataError: a structural fault of the data; nothing was spent.
        LedgerError: as `synthesize`.
    """
    _, run = gather("verdict", VerdictKeywords, keywords, run=run)
    ready = _prepare(schema, claim, epsilon, delta, assume_rows)
    source = randomness_of(run.insecure_noise_seed)
    outlay = outlay_of(ready.schema, ready.budget, run)
    require_late_needs(source)
    rows = coded_rows(laid_out(data, given_schema(schema)), ready.schema, run.tell, run.spill)
    request = {"claim": ready.plan.claim, "epsilon": str(epsilon), "delta": str(delta)}
    with reserve_cost(outlay, "verdict", request) as spent:
        gate = open_gate(rows, ready.budget, source)
        gate.listen(spent.note)
        with telling_what_was_spent(gate):
            votes = gate.ask(ready.asked, spend=ready.budget.amount).value
            found = _judge_votes(ready, votes, gate)
            spent.settle(found.guarantee, found.to_json())
    return found


def _judge_votes(ready: _Prepared, votes: int, gate: Gate) -> Verdict:
    k, noise = ready.asked.subsets, ready.noise
    return Verdict(
        verdict=cast(Side, side_of(votes, k, noise)),
        votes=votes,
        share=votes_interval(votes, k, noise),
        plan=ready.plan,
        guarantee=gate.guarantee(),
        ledger=gate.ledger,
    )


def plan_verdict(
    schema: Schema | str | Path,
    claim: str,
    *,
    epsilon: Number,
    delta: Number = 0,
    assume_rows: int | None = None,
) -> VerdictPlan:
    """Plan how many subsets vote on a claim, and how sure the verdict is. No data are read.

    Args:
        schema: a reviewed schema, or the path of its file.
        claim: as in `verdict`, and so are the others.
        epsilon: ε of the verdict.
        delta: δ of the verdict.
        assume_rows: about how many records there are, where their number is private.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or too little for any verdict.
        InferenceError: a claim that cannot be read, or cannot be made of these columns.
        MethodError: options that do not fit, or too few records.
    """
    return _prepare(schema, claim, epsilon, delta, assume_rows).plan


def plan_verdicts(
    question: QuestionFile, release: Release, *, epsilon: Number
) -> tuple[VerdictPlan, ...]:
    """Plans for the claims of a question about a release; each has an equal part of ε.

    Args:
        question: with claims.
        release: whose schema and number of records they are about.
        epsilon: ε of all of them together.

    Raises:
        InferenceError: as `plan_verdict`, and so are the others.
    """
    each = exact(epsilon, "epsilon") / len(question.claims)
    rows = max(release.manifest.n_rows, 1)
    return tuple(
        plan_verdict(release.schema, claim, epsilon=each, assume_rows=rows)
        for claim in question.claims
    )


def _prepare(
    schema: Schema | str | Path,
    claim: str,
    epsilon: Number,
    delta: Number,
    assume_rows: int | None,
) -> _Prepared:
    """Whatever does not fit is refused here."""
    schema = given_schema(schema)
    schema.require_reviewed()
    read = read_claim(claim, schema)
    records = _records(schema, assume_rows)
    schema = schema.part(read.columns)
    budget = Budget.of(epsilon, delta)
    noise = vote_noise(budget.amount, budget.accounting)
    asked = read.put_to(subsets_for(records, read.coefficients, noise))
    asked.price(terms_of(schema, budget), budget.amount)
    return _Prepared(
        schema, budget, asked, noise, _plan(read, asked.subsets, records, budget, noise)
    )


def _records(schema: Schema, assumed: int | None) -> int:
    """Return how many records there are, as far as that is public."""
    if assumed is not None:
        require_whole("assume_rows", assumed, MethodError, least=1)
    if schema.n_rows is not None:
        return schema.n_rows
    if assumed is None:
        raise MethodError(
            "The number of rows is private, and the number of subsets goes by it; say about how "
            "many there are, by assume_rows, from what is publicly known."
        )
    return assumed


def _plan(claim: Claim, k: int, records: int, budget: Budget, noise: VoteNoise) -> VerdictPlan:
    band = band_of(k, noise)
    return VerdictPlan(
        claim=claim.text,
        subsets=k,
        records=records,
        noise=perturbation.describe_noise(noise),
        noise_words=perturbation.words(noise),
        band=band,
        by_lead={
            lead: odds_at(lead, k, noise)
            for lead in (times * band for times in LEADS)
            if lead <= k / 2
        },
        by_distance={z: odds_of(z, k, noise) for z in DISTANCES},
        budget=budget,
        notes=claim.notes,
    )
