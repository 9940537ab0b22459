"""The words of a release about itself: how it was made, what was measured, what inference needs."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from functools import lru_cache

from understudy.dp.budget import Budget, decimal_up
from understudy.dp.gate import Gate
from understudy.dp.released import Released
from understudy.inference.declared import ExpectedAnswers
from understudy.methods.base import Method
from understudy.models.model import InferenceFacts
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.minimum_count import KeptCount
from understudy.release.one_way_check import Contradiction
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.request import Request, adjust_for_row_count

_SOFTWARE = ("understudy", "numpy", "polars", "numba", "cryptography")


def manifest_of(
    request: Request,
    gate: Gate,
    n_rows: Released[int],
    facts: InferenceFacts,
    expected: ExpectedAnswers | None,
    *,
    contradictions: Sequence[Contradiction] = (),
    kept: KeptCount | None = None,
    seed: int | None,
    secure: bool,
) -> Manifest:
    """Describe in a manifest how a release was made.

    Args:
        request: what was asked.
        gate: that everything was paid through.
        n_rows: as declared or bought.
        facts: what inference needs.
        expected: of the declared analyses; None where nothing is bought for any.
        contradictions: of the sets, in single columns.
        kept: the minimum count that the sets keep.
        seed: of the sampling; None if it was not seeded.
        secure: whether the noise came from the operating system's entropy.
    """
    request = adjust_for_row_count(request, n_rows.value)
    bought = gate.ledger[n_rows.entry - 1].spent if n_rows.entry else None
    return Manifest(
        method=request.name,
        options=request.options,
        reason=request.reason,
        sets=request.sets,
        sets_kind=request.method.sets,
        n_rows=n_rows.value,
        # What was paid in the end: less than was planned, after a lost charge.
        rows_obtained=replace(request, rows_spend=bought or request.rows_spend).rows_words,
        guarantee=gate.guarantee(),
        budget=state_budget(request.budget),
        ledger=tuple(entry.to_json() for entry in gate.ledger),
        secure=secure,
        sampling_seed=seed,
        software=dict(software()),
        inference=facts,
        ended_early=gate.ended_early,
        rows_share=str(request.rows_spend / request.budget.amount) if request.rows_spend else None,
        answers_share=_part(request, request.answers_spend + request.priority_spend),
        lines_share=_part(request, request.lines_spend),
        layer_share=_part(request, request.layer_spend),
        places_share=_part(request, request.places_spend),
        priority=request.priority,
        analyses=tuple(asdict(analysis) for analysis in request.analyses),
        expected=None if expected is None else expected.to_json(),
        contradictions=tuple(contradictions),
        minimum_count=kept,
    )


def state_budget(budget: Budget) -> dict[str, str]:
    """A budget as a manifest states it."""
    return {
        "epsilon": _decimal(budget.epsilon),
        "delta": _decimal(budget.delta),
        "unit": budget.unit_name,
        "amount": decimal_up(budget.amount),
    }


def _part(request: Request, spent: Fraction) -> str | None:
    """Part of what was left after the number of rows; None for nothing."""
    return str(spent / (request.budget.amount - request.rows_spend)) if spent else None


def inference_facts(
    method: Method, schema: Schema, measurements: Sequence[Measurement], rows_stddev: float = 0.0
) -> InferenceFacts:
    """Collect what inference needs of the method, for the manifest.

    Args:
        method: as the release was asked for.
        schema: of the release.
        measurements: of the release, in the order in which they were paid for.
        rows_stddev: of the noise in the number of rows.
    """
    tables = dict.fromkeys(
        measurement.columns for measurement in measurements if measurement.kind is Kind.TABLE
    )
    facts = method.inference_facts(schema)
    return replace(
        facts,
        posterior_rule=facts.posterior_rule if method.sets == "posterior" else None,
        network=method.network_of(schema, tuple(tables)),
        rows_stddev=rows_stddev,
    )


@lru_cache(maxsize=1)  # reading the versions takes longer than a small release
def software() -> Mapping[str, str]:
    """Versions of what a release is made with."""
    versions = {name: importlib.metadata.version(name) for name in _SOFTWARE}
    return {"python": platform.python_version()} | versions


def measurements_of(gate: Gate, schema: Schema) -> tuple[Measurement, ...]:
    """List what was released of the rows, in the order in which it was paid for.

    Args:
        gate: that everything was paid through.
        schema: of the release.
    """
    width = len(str(len(gate.measured)))
    return tuple(
        Measurement.from_released(released, f"table-{k:0{width}d}", schema, gate.schema)
        for k, released in enumerate(gate.measured, start=1)
    )


def _decimal(value: Fraction) -> str:
    """A stated number as its decimal; rounded up where that has no end."""
    with localcontext() as context:
        context.prec, context.traps[Inexact] = 400, True
        try:
            return format(Decimal(value.numerator) / Decimal(value.denominator), "f")
        except Inexact:
            return decimal_up(value)
