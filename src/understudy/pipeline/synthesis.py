"""From a table to a release."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from understudy.engine import Table
from understudy.engine.spark.spark_rows import SparkRows
from understudy.families.method import Facts
from understudy.methods import METHODS
from understudy.pipeline.budget_shares import DEFAULT_ROWS_SHARE
from understudy.pipeline.describe import inference_facts, manifest_of
from understudy.pipeline.gates import open_gate, part_files, summed_rows
from understudy.pipeline.interruption import Progress, ending_rounds
from understudy.pipeline.late_needs import require_late_needs, telling_what_was_spent
from understudy.pipeline.measuring import measured
from understudy.pipeline.outlay import Outlay, outlay_of
from understudy.pipeline.page_set import pages
from understudy.pipeline.rehearsal import rehearse
from understudy.pipeline.release_checks import (
    expected_in,
    require_arguments,
    require_possible,
    resumable_place,
)
from understudy.pipeline.request import Request, request_of
from understudy.pipeline.run_spending import spending
from understudy.privacy.accounting.budget import Number
from understudy.privacy.checkpoint.journal import open_journal
from understudy.privacy.checkpoint.left_run import remove as remove_checkpoint
from understudy.privacy.internal import Confide, Diagnostic, Internal, misfits
from understudy.privacy.noise.randomness import randomness_of
from understudy.release import Release
from understudy.release.decoding import FrameKind
from understudy.release.exports.row_exports import formats_of, require_formats
from understudy.schema import Schema


def list_methods() -> tuple[Facts, ...]:
    """The table of methods."""
    return tuple(kind.facts for kind in METHODS.values())


methods = list_methods
"""Its former name, which is a room of the package as well."""


def synthesize(
    data: object,
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: str = "auto",
    sets: int = 1,
    options: Mapping[str, Any] | None = None,
    rows_share: Number = DEFAULT_ROWS_SHARE,
    answers_share: Number | None = None,
    lines_share: Number | None = None,
    layer_share: Number | None = None,
    analyses: object = None,
    assume_rows: int | None = None,
    like: Release | None = None,
    priority: object = None,
    seed: int | None = None,
    insecure_noise_seed: int | None = None,
    allow_nonprivate: bool = False,
    frame: FrameKind | None = None,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
    ledger: str | Path | None = None,
    by: str | None = None,
    spill: str | Path | None = None,
    trusted_cluster: bool = False,
    progress: Progress | None = None,
    confide: Confide | None = None,
    confide_misfits: bool = True,
    also: str | Sequence[str] = (),
) -> Release:
    """Turn a confidential table into a release.

    Args:
        data: pandas, Polars or Arrow table, the path of a file that holds one (docs/guide/files.md
            has the list), a `Query` of a database, or a Spark data frame, whose rows are summed
            where they are.
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
        lines_share: part of the rest that buys number lines: counts of numbers in finer cells than
            their bins, and beyond their bounds, which records follow too. By default a tenth for an
            automatic release, or where a declared analysis asks for a mean, share, total or
            quantile.
        layer_share: part of the rest that buys second moments of all columns beside those of
            declared analyses; by default a tenth for an automatic release with δ above 0.
        analyses: what the release is to answer, as for `plan`; then answers_share buys moments of
            their columns alone. Chosen by a look at the rows, they would tell what ε does not
            cover.
        assume_rows: number of records for which the manifest says how exact their answers were
            expected to be, as `plan` says it; it must not be read from the rows.
        like: an earlier release, published, that stands for the population there.
        priority: names of columns that matter most, as for `plan`.
        seed: seed of the sampling that follows the last paid step; recorded in the manifest.
            It fixes which records are drawn, not their order.
        insecure_noise_seed: for tests and studies only: draw the privacy noise from this seed, so
            that the release is **not private** and stamped so.
        allow_nonprivate: permit methods that publish exact statistics.
        frame: kind of data frame to give back; by default the kind that came in.
        checkpoint: folder that holds, while this runs, what was released and what it cost. A killed
            run leaves it; the same request on the same rows continues from there, and counts a
            charge that nothing came of as spent. Not to be published, copied or deleted while its
            release is wanted.
        keep_checkpoint: leave it when the release is made, for callers that save the release first:
            without it, what was paid for is in this process alone until it is saved. Remove the
            folder when `Release.save` has returned.
        ledger: URL or path of the ledger that governs the population of the rows; None for the one
            that `UNDERSTUDY_LEDGER` names. A schema with [ledger] is refused without one.
        by: who spends, for that ledger; None for what `UNDERSTUDY_BY` says.
        spill: folder for coded rows that are too many for memory: then one encrypted file lies
            there, without a name and while this runs. Without it nothing exact is written to disk,
            and each pass reads the input again once codes take more than a gibibyte.
        trusted_cluster: for a Spark data frame: whether everybody who can see what its cluster
            sends, writes and shows may see the rows, where its settings do not close that; the
            manifest says so.
        progress: called with a stage, and how much of how much is done. What stands behind a comma
            changes while the stage lasts: "Measuring with noise, 43 % of ε spent".
        confide: gets the diagnostics, when the release is made: how each walk of a method by Markov
            chain went, how records were weighted, and in coarse words which columns hardly fit the
            schema. They depend on the rows: for the steward, never to be published, and no reason
            to make the release again that ε would cover.
        confide_misfits: whether those of columns are among them.
        also: formats in which the release will be saved beside Parquet, as for `Release.save`: they
            are tried on made-up records before anything is paid, as saving itself is in any case.

    Returns:
        The release: synthetic tables, noisy measurements, guarantee and ledger. The first Ctrl-C
        ends the rounds of a method that measures in rounds, and the release is made of what was
        paid for; the second, and the first with any other method, aborts.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget.
        MethodError: unknown method or option, or one that does not fit the schema.
        NotPrivateError: a method without a guarantee, and `allow_nonprivate` is not set; or an
            earlier release in `like` without one.
        DataError: a structural fault of the data, or the spill cannot be written; nothing was
            spent.
        ReleaseError: an unknown kind of data frame, or a format that cannot hold the columns.
        CheckpointError: the checkpoint belongs to another request, is in use or damaged, cannot be
            written, or its budget is spent.
        LedgerError: the population's ledger cannot be reached, or refuses the cost.

        An error that comes after something was paid says in a note what was spent.
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
        lines_share=lines_share,
        layer_share=layer_share,
        analyses=analyses,
        priority=priority,
    )
    require_arguments(seed, insecure_noise_seed, frame, progress, confide)
    require_formats(formats := formats_of(also), request.schema)
    require_possible(request, seed, allow_nonprivate=allow_nonprivate)
    secure = insecure_noise_seed is None
    place = None if checkpoint is None else resumable_place(checkpoint, request)
    outlay = _outlay(request, place, ledger, by, secure=secure)
    expected = expected_in(request, assume_rows, like, secure=secure)
    tell = progress or (lambda _stage, _done, _total: None)
    kinds = [analysis.kind for analysis in request.analyses]
    require_late_needs(randomness := randomness_of(insecure_noise_seed), kinds)
    rehearse(request, expected=expected, formats=formats, frame=frame)
    rows = _rows_for(request, data, tell, spill, trusted_cluster=trusted_cluster)
    # Before anything is paid, since the rows may be read once more; not at all if nobody listens.
    diagnoses: list[Internal[Diagnostic]] = [*misfits(rows)] if confide and confide_misfits else []
    drawn_with = {"seeds": f"{seed}, {insecure_noise_seed}", "permissions": str(allow_nonprivate)}
    identity = {**request.identity, **drawn_with, **outlay.identity}
    with (
        open_journal(place, identity, _entropy(seed, insecure_noise_seed)) as (journal, entropy),
        ending_rounds(request.method, tell) as stop,
        spending(outlay, "release", identity, journal) as spent,
        ExitStack() as telling,
    ):
        gate = open_gate(
            *(rows, request.budget, randomness, journal),
            allow_nonprivate=allow_nonprivate,
            stop=stop,
            confide=diagnoses.append,
        )
        gate.listen(spent.note)
        telling.enter_context(telling_what_was_spent(gate))
        drawing = np.random.default_rng(entropy), randomness, part_files(rows)
        n_rows, schema, measurements, tables = measured(request, gate, drawing, tell)
        _tell_steward(confide, diagnoses)
        facts = inference_facts(request.method, schema, measurements, n_rows.noise.stddev)
        manifest = manifest_of(request, gate, n_rows, facts, expected, seed=seed, secure=secure)
        spent.settle(manifest.guarantee, manifest.to_json())
        release = Release(
            tables=tables,
            schema=schema,
            manifest=manifest,
            measurements=measurements,
            frame=frame or rows.frame_kind,
            pages=pages,
            entered=spent.entered,
        )
    if place is not None and not keep_checkpoint:
        remove_checkpoint(place)
    return release


def _rows_for(
    request: Request,
    data: object,
    tell: Progress,
    spill: str | Path | None,
    *,
    trusted_cluster: bool,
) -> Table | SparkRows:
    return summed_rows(
        *(data, request.schema, tell, spill),
        records_for=request.records_for,
        passes=request.least_passes,
        trusted_cluster=trusted_cluster,
    )


def _outlay(
    request: Request,
    place: Path | None,
    ledger: str | Path | None,
    by: str | None,
    *,
    secure: bool,
) -> Outlay:
    return outlay_of(
        request.schema,
        request.budget,
        ledger,
        by,
        secure=secure,
        private=request.method.private,
        options=request.options,
        checkpoint=place,
    )


def _tell_steward(confide: Confide | None, diagnoses: list[Internal[Diagnostic]]) -> None:
    for diagnosis in diagnoses:
        if confide:
            confide(diagnosis)


def _entropy(seed: int | None, insecure_noise_seed: int | None) -> int:
    """What the sampling is seeded with."""
    if seed is None and insecure_noise_seed is not None:
        seed = insecure_noise_seed
    return secrets.randbits(128) if seed is None else seed
