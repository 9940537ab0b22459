"""From a table to a release.

**What refuses a release before its rows are read: arguments, permissions, places.**

**What a release is made of: bought, measured and drawn through a gate, and nothing written.**

**The records of every set of a release: free sets from one fit, split sets from a fit each.**

What a release does, and what a bootstrap replicate of it does again, is this one function.

**Parts of long sets: each drawn by itself, from seeds of its own.**

What makes them holds released values and seeds alone. It can be pickled, so that other processes
make the same parts.

**A release of made-up records, tried before anything is paid: what it breaks at costs no budget.**

Files, pages and checks of a release can fail on public facts: the name of a column, a single level,
a code that a format cannot hold. Such a failure must be found while ε is whole. So a few records
are made up from the schema alone, each state of each column among them. They go through all that
the records of the release will go through: the number of rows, number lines, heaps and second
moments are bought of them at the same price, pages and all formats are written, and the folder is
loaded again. The method alone is another one, `independent`, which is fast and takes any schema;
methods are tried by tests. Nothing here sees a row, and noise comes from a seed.

Only `synthesize` rehearses. `regress`, and answers bought after a release, do not: what breaks them
after a charge is finished by `--resume`. The independent checker is left to tests, since it would
take half as long again as loading (30 to 40 ms).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checkpoint.journal import open_journal
from understudy.checkpoint.replay import remove as remove_checkpoint
from understudy.data.table import Table
from understudy.dp.budget import Number
from understudy.dp.confidential import Diagnostic, Internal, misfits, mismatches
from understudy.dp.gate import Gate
from understudy.dp.randomness import Randomness, SeededRandomness, randomness_of
from understudy.dp.released import NoisyTable, Released
from understudy.errors import (
    BudgetError,
    LedgerError,
    MethodError,
    NotPrivateError,
    UnderstudyError,
    UnderstudyWarning,
    line,
)
from understudy.inference.declared import ExpectedAnswers
from understudy.mechanisms.tables import RowCount
from understudy.methods.base import Prepared
from understudy.methods.marginal_based import measured_beside
from understudy.methods.registry import configure
from understudy.models.counted_members import with_counts
from understudy.models.model import Model, Sample, draw_parameters, drawn_in_parts
from understudy.release.decoding import FrameKind, add_identifiers, decode, decode_columns
from understudy.release.manifest import without_places
from understudy.release.measurement import Measurement
from understudy.release.minimum_count import (
    KeptCount,
    KeyMoves,
    MinimumCount,
    counted_table,
    kept_count,
)
from understudy.release.one_way_check import Contradiction, DrawnOneWays, contradictions, own_noise
from understudy.release.release import Release
from understudy.release.sets import PART_ROWS, Elsewhere, PartedSets, part_sizes
from understudy.release.tables import formats_of, require_formats
from understudy.schema import Schema
from understudy.workflow.describe import inference_facts, manifest_of, measurements_of
from understudy.workflow.gates import (
    ending_rounds,
    open_gate,
    part_files,
    require_late_needs,
    summed_rows,
    telling_what_was_spent,
)
from understudy.workflow.governance import Outlay, digest_of, outlay_of, reserve_cost
from understudy.workflow.numbers import Placing, place_numbers, placings_of
from understudy.workflow.options import (
    Progress,
    RunOptions,
    SynthesisOptions,
    SynthesizeKeywords,
    gather,
    list_keywords,
)
from understudy.workflow.pages import pages
from understudy.workflow.plan import expected_of, expected_with_ranges
from understudy.workflow.request import (
    Request,
    adjust_for_row_count,
    limit_numbers,
    request_of,
    without_pairs,
)


def require_possible(request: Request, how: SynthesisOptions, run: RunOptions) -> None:
    """Refuse what does not fit the schema or is not permitted, before rows are read.

    Args:
        request: what is asked for.
        how: the options that it is made of.
        run: how it goes.

    Raises:
        MethodError: what does not fit, a seed where drawing is the mechanism, or more than a
            checkpoint can hold.
        NotPrivateError: a method without a guarantee, without permission; or an earlier release
            without one, as what is expected by it stands in the manifest.
    """
    request.tables()
    request.setup()
    if not (request.method.private or run.allow_nonprivate):
        raise NotPrivateError(
            f"The method {request.name} {request.method.unprotected}; it needs allow_nonprivate "
            "(--allow-nonprivate), and its release is stamped not private."
        )
    if run.seed is not None and request.draws_records:
        raise MethodError(
            f"In this form of {request.name}, drawing records is the privacy "
            "mechanism, so no seed is accepted; leave seed out."
        )
    if run.checkpoint is not None and not request.method.can_resume(request.schema):
        raise MethodError(
            f"In this form the method {request.name} measures more than a checkpoint can hold; "
            "leave checkpoint out."
        )
    if request.minimum_count is not None and run.checkpoint is None:
        raise MethodError(
            "Whether minimum_count can be kept is known when the records are drawn, and then they "
            "are paid for: state a checkpoint, which keeps what was paid for another minimum_count."
        )
    like = how.like
    promised = like is None or (like.guarantee.epsilon is not None and like.manifest.secure)
    if run.secure and not promised:
        raise NotPrivateError(
            "The release in like is not private, and what is expected by it stands in the "
            "manifest; leave like out, and give it to plan alone."
        )


COUNTED: Final = 2**16
"""Records by which sets that are drawn later are compared with what was measured."""


@dataclass(frozen=True)
class Decoder:
    """A decoder that gives drawn records their values.

    Attributes:
        places: how numbers lie within their bins, by column.
        schema: of the release.
    """

    places: Mapping[str, Placing]
    schema: Schema

    def values(
        self, drawn: Sample, rng: np.random.Generator, order: NDArray[np.int64], start: int = 0
    ) -> pl.DataFrame:
        """The values of some records, in an order.

        Args:
            drawn: the records.
            rng: of numbers within bins.
            order: numbers of the records, shape (n,).
            start: how many records of the same set come before.
        """
        numbers = place_numbers(self.places, self.schema, drawn, rng)
        states = drawn.states[::-1]
        del drawn
        # Column by column, each let go as it has its values: there is no second copy of all.
        each = (states.pop() for _ in range(len(states)))
        own = pl.Series(order.astype(np.uint32))  # as Polars takes places
        # Polars takes some names for patterns ("^a$"), so a column has its own in the end alone.
        mixed = pl.DataFrame(
            [
                values.alias("").gather(own).alias(values.name)
                for values in decode_columns(each, self.schema, rng, numbers)
            ]
        )
        return add_identifiers(mixed, self.schema, start)


@dataclass(frozen=True)
class DrawnParts:
    """Makes parts of sets.

    Attributes:
        models: what each set is drawn from.
        whole: records of models that cannot be drawn in parts, drawn before, by set.
        sizes: records of each part.
        decoder: gives them values.
        drawing: seeds of records and of their numbers.
        mixing: seeds of the order.
        moves: of key columns, of each set; none where no minimum count is kept.
    """

    models: Sequence[Model]
    whole: Mapping[int, Sample]
    sizes: tuple[int, ...]
    decoder: Decoder
    drawing: tuple[int, ...]
    mixing: tuple[int, ...]
    moves: tuple[KeyMoves, ...] = ()

    @classmethod
    def of(
        cls,
        models: Sequence[Model],
        n_rows: int,
        decoder: Decoder,
        chance: tuple[np.random.Generator, Randomness],
    ) -> DrawnParts:
        """Parts of sets; what cannot be drawn in parts is drawn now, as states.

        Args:
            models: what each set is drawn from.
            n_rows: records of each set.
            decoder: gives them values.
            chance: of records and of numbers within bins, and of the order.
        """
        rng, secret = chance
        own = [draw_parameters(model, rng) for model in models]
        whole = {
            k: _select_records(model.sample(n_rows, rng), secret.permutation(n_rows))
            for k, model in enumerate(own)
            if not drawn_in_parts(model)
        }
        drawing, mixing = rng.integers(2**63, size=2).tolist(), secret.words(4).tolist()
        return cls(own, whole, part_sizes(n_rows), decoder, tuple(drawing), tuple(mixing))

    def __call__(self, k: int, i: int) -> pl.DataFrame:
        """The i-th part of the k-th set, both from 0; the same one each time."""
        rng = np.random.default_rng([*self.drawing, k, i])
        order = np.random.default_rng([*self.mixing, k, i]).permutation(self.sizes[i])
        # Nobody but the decoder has the records, which lets go of them.
        return self.decoder.values(self._move(k, i, rng), rng, order, sum(self.sizes[:i]))

    def _move(self, k: int, i: int, rng: np.random.Generator) -> Sample:
        """The records of a part, with those moved that a minimum count moves."""
        drawn = self._draw(k, i, rng)
        return self.moves[k].apply(drawn, rng)[0] if self.moves else drawn

    def _draw(self, k: int, i: int, rng: np.random.Generator) -> Sample:
        """The records of a part, before any of them moves."""
        start, size = sum(self.sizes[:i]), self.sizes[i]
        if k in self.whole:
            return _select_records(self.whole[k], slice(start, start + size))
        return self.models[k].sample(size, rng)

    def keep_minimum_count(self, asked: MinimumCount) -> DrawnParts:
        """The same parts with a minimum count; all records are drawn once to count them.

        Raises:
            MethodError: a rule names a key column, so that a part may have no record to copy.
        """
        schema, moves = self.decoder.schema, list[KeyMoves]()
        for k in range(len(self.models)):
            seeds = ([*self.drawing, k, i] for i in range(len(self.sizes)))
            parts = (self._draw(k, i, np.random.default_rng(seed)) for i, seed in enumerate(seeds))
            moves.append(KeyMoves.of(asked, schema, parts))
        for one in moves:
            one.require_some()
        if any(one.ruled for one in moves):
            raise MethodError(
                f"minimum_count is for sets of at most {PART_ROWS:,} records where a rule or a "
                "relation names a key column; name others."
            )
        return replace(self, moves=tuple(moves))

    def one_ways(self) -> tuple[DrawnOneWays, ...]:
        """Count each state in each set, in `COUNTED` records of a model if it has one.

        Sets from one model are counted once.
        """
        schema, found = self.decoder.schema, dict[int, DrawnOneWays]()
        for k, model in enumerate(self.models):
            if k in self.whole:
                found[k] = DrawnOneWays.of(self.whole[k].states, schema)
                continue
            first = self.models.index(model)
            rng = np.random.default_rng([*self.drawing, first])
            if first not in found:
                found[first] = DrawnOneWays.of(model.sample(COUNTED, rng).states, schema)
            found[k] = found[first]
        return tuple(found[k] for k in range(len(self.models)))


def _select_records(drawn: Sample, rows: NDArray[np.int64] | slice) -> Sample:
    """Some records, in an order."""
    values = {name: numbers[rows] for name, numbers in drawn.values.items()}
    return Sample([column[rows] for column in drawn.states], values)


Drawing = tuple[np.random.Generator, Randomness, Elsewhere | None]
"""Chance of records and of their numbers; of their order; and what writes parts in other processes,
if any do."""


def prepared_by(request: Request, gate: Gate) -> Prepared:
    """The method, with what is bought once for all fits; with nothing, where each fit buys its own.

    Args:
        request: what was asked for.
        gate: that knows the number of rows by now.
    """
    if request.method.anew:
        return Prepared(partial(request.method.fit, gate), gate.schema)
    return request.method.setup(gate, request.setup_spend, fits=request.fits)


def draw_sets(
    request: Request, prepared: Prepared, gate: Gate, n_rows: int, rng: np.random.Generator
) -> list[Sample]:
    """Fit, and draw.

    Args:
        request: what was asked for.
        prepared: its method, with what is bought once.
        gate: through which it measures.
        n_rows: records of each set.
        rng: randomness of sampling that follows the last paid step.
    """
    models = fitted_models(request, prepared, gate, n_rows)
    return [model.sample(n_rows, rng) for model in models]


def fitted_models(request: Request, prepared: Prepared, gate: Gate, n_rows: int) -> list[Model]:
    """Fit the model of each set; with the last of them everything is paid.

    Args:
        request: what was asked for.
        prepared: its method, with what is bought once.
        gate: through which it measures.
        n_rows: records of each set.
    """
    per_fit = request.sets // request.fits
    models: list[Model] = []
    for _ in range(request.fits):
        fitted = _fit_sets(request, prepared, gate, n_rows, sets=per_fit)
        if prepared.schema.members is not None:
            values = (outcome.value for outcome in gate.measured)
            measured = [value for value in values if isinstance(value, NoisyTable)]
            fitted = with_counts(fitted, prepared.schema, measured)
        models += [fitted] * per_fit
    return models


def _fit_sets(request: Request, prepared: Prepared, gate: Gate, n_rows: int, *, sets: int) -> Model:
    """A fit; for several posterior sets, what draws parameters for each of them."""
    method, before = request.method, len(gate.measured)
    model = prepared.fit(request.fit_spend, n_rows * sets)
    if sets == 1 or method.sets != "posterior":
        return model
    beside = measured_beside(gate.measured)
    values = [outcome.value for outcome in gate.measured[before:]]
    tables = [value for value in values if isinstance(value, NoisyTable)]
    return method.redrawn(prepared.schema, tables, n_rows, model, beside)


def drawn_tables(
    models: Sequence[Model],
    n_rows: int,
    decoder: Decoder,
    drawing: Drawing,
    tell: Progress,
    *,
    asked: MinimumCount | None = None,
) -> tuple[Sequence[pl.DataFrame], tuple[DrawnOneWays, ...], KeptCount | None]:
    """The sets, each in another order than the one in which its records were drawn.

    With them how often each state stands in each, before records move for a minimum count: in some
    records, of sets that are drawn later. And what the release says of that count.

    Sets of more than `PART_ROWS` records are drawn part by part, and when they are asked for.

    Args:
        models: what each set is drawn from.
        n_rows: records of each set.
        decoder: gives them values.
        drawing: chance, and what writes parts.
        tell: is told how many sets are drawn.
        asked: a minimum count that the sets are to keep.

    Raises:
        MethodError: more records would have to change for it than may.
    """
    rng, secret, elsewhere = drawing
    if n_rows > PART_ROWS:
        parts = DrawnParts.of(models, n_rows, decoder, (rng, secret))
        kept = None
        if asked is not None:
            parts = parts.keep_minimum_count(asked)
            kept = kept_count(asked, [(one.changed, 0) for one in parts.moves], n_rows)
        # Records that are drawn already are not sent around.
        later = None if parts.whole else elsewhere
        return PartedSets(len(models), n_rows, parts, elsewhere=later), parts.one_ways(), kept
    tables, samples = [], [model.sample(n_rows, rng) for model in models]
    one_ways = tuple(DrawnOneWays.of(drawn.states, decoder.schema) for drawn in samples)
    samples, kept = _keep_count(samples, asked, decoder.schema, rng)
    for k, drawn in enumerate(samples, start=1):
        tables.append(decoder.values(drawn, rng, secret.permutation(n_rows)))
        tell("Drawing synthetic sets", k, len(samples))
    return tuple(tables), one_ways, kept


def _keep_count(
    samples: list[Sample], asked: MinimumCount | None, schema: Schema, rng: np.random.Generator
) -> tuple[list[Sample], KeptCount | None]:
    """Whole sets with a minimum count, and what is said of it."""
    if asked is None:
        return samples, None
    n_rows = len(samples[0].states[0])
    table = counted_table(asked.columns, schema)
    moves = [KeyMoves.of(asked, schema, [drawn]) for drawn in samples]
    kept_count(asked, [(one.changed, 0) for one in moves], n_rows)  # refuses before records move
    moved = [one.keep(asked, schema, drawn, rng) for one, drawn in zip(moves, samples, strict=True)]
    return [one[0] for one in moved], kept_count(asked, [one[1:] for one in moved], n_rows, table)


class Made(NamedTuple):
    """The parts of which a release is made.

    Attributes:
        n_rows: the number of rows.
        schema: of the release.
        measurements: what was measured.
        tables: the synthetic tables.
        contradictions: the columns in which these contradict it.
        kept: the minimum count that they keep.
    """

    n_rows: Released[int]
    schema: Schema
    measurements: tuple[Measurement, ...]
    tables: Sequence[pl.DataFrame]
    contradictions: tuple[Contradiction, ...]
    kept: KeptCount | None


def measure_and_draw(
    request: Request,
    gate: Gate,
    drawing: Drawing,
    tell: Progress,
) -> Made:
    """Measure through a gate, and draw.

    Args:
        request: what was asked for.
        gate: that has spent nothing yet.
        drawing: randomness of sampling after the last paid step, and of the order of records; and
            what writes parts of long sets in other processes, if any do.
        tell: who waits.

    Raises:
        MethodError: more records would have to change for a minimum count than may.
    """
    n_rows, request = bought_once(request, gate)
    prepared = prepared_by(request, gate)
    models = _fit_models(request, prepared, gate, n_rows, tell)
    measurements = measurements_of(gate, prepared.schema)
    followed = followed_by(request, prepared.schema, measurements)
    rows = float(n_rows.value), n_rows.noise.stddev
    places = placings_of(followed, prepared.schema, rows, request.method)
    decoder = Decoder(places, prepared.schema)
    tables, one_ways, kept = drawn_tables(
        models, n_rows.value, decoder, drawing, tell, asked=request.minimum_count
    )
    found = contradictions(
        one_ways,
        followed,
        prepared.schema,
        n_rows=rows[0],
        rows_stddev=rows[1],
        own_noise=own_noise(request.method.sets, request.sets),
    )
    return Made(n_rows, prepared.schema, measurements, tables, found, kept)


def followed_by(
    request: Request, schema: Schema, measurements: Sequence[Measurement]
) -> tuple[Measurement, ...]:
    """Return what the records follow, of all that was measured.

    Args:
        request: what was asked for.
        schema: of the release.
        measurements: of it.
    """
    return without_places(measurements, schema, bought=request.places is not None)


def bought_once(request: Request, gate: Gate) -> tuple[Released[int], Request]:
    """The number of rows; lines, heaps, tables of places and moments, if answers are to have them.

    Args:
        request: what was asked for.
        gate: that has spent nothing yet.

    Returns:
        The number, and what is asked for of so many rows.
    """
    n_rows = gate.ask(RowCount(), spend=request.rows_spend)
    request = adjust_for_row_count(request, n_rows.value)
    for asked_lines, spend in request.asked_lines:
        lines = gate.ask(asked_lines, spend=spend)
        if asked_lines.times == 1:
            request = limit_numbers(request, lines, n_rows.value)
    if request.heaps is not None:
        gate.ask(request.heaps, spend=request.heaps_spend)
    if request.places is not None:
        gate.ask(request.places, spend=request.places_spend)
    for asked, spend in request.answers:
        gate.ask(asked, spend=spend)
    return n_rows, request


def _fit_models(
    request: Request, prepared: Prepared, gate: Gate, n_rows: Released[int], tell: Progress
) -> list[Model]:
    """Fit the model of each set, and tell how much of the budget is spent."""
    _tell_spending(gate, tell)
    gate.listen(lambda _entry: _tell_spending(gate, tell))
    models = fitted_models(request, prepared, gate, n_rows.value)
    _tell_spending(gate, tell, done=True)
    return models


def _tell_spending(gate: Gate, tell: Progress, *, done: bool = False) -> None:
    """Tell how much of the budget is spent; a method that is done may leave some of it."""
    percent = int(100 * gate.share_spent)
    stage = f"Measuring with noise, {percent} % of {gate.budget.unit} spent"
    tell(stage, 100 if done else percent, 100)


RECORDS: Final = 32
"""Made-up records, at most: enough for a row of each kind, and few for files and pages."""
_SEED: Final = 0
_PASSED: Final[set[str]] = set()
"""Requests that passed in this process, by a digest of their public facts."""


def rehearse(
    request: Request,
    *,
    expected: ExpectedAnswers | None = None,
    formats: Sequence[str] = (),
    frame: FrameKind | None = None,
) -> None:
    """Make, write and load a release of made-up records; to be called before anything is paid.

    The same request is tried once in a process.

    Args:
        request: what is asked for.
        expected: of its declared analyses.
        formats: in which the sets will be written beside Parquet.
        frame: kind of data frame that will be given back; pandas if None.

    Raises:
        UnderstudyError: a refusal, as the release itself would have met it.
        MethodError: anything else that the release would have broken at.
    """
    tried = _digest(request, formats, frame)
    if tried in _PASSED:
        return
    few = _few(request)
    try:
        few.tables(), few.setup()
    except BudgetError:  # its tables would have less noise to draw than can be drawn exactly
        return
    try:
        release = _made_up(few, expected, frame or "pandas")
        with tempfile.TemporaryDirectory(prefix="understudy-rehearsal-") as folder:
            release.write(Path(folder), formats)
            loaded = Release.load(folder, frame=release.frame, compare_pages=False)
            if not _is_same(release, loaded):  # its pages may be others than were written
                Release.load(folder, frame=release.frame)
        release.sets  # noqa: B018  # data frames are made when they are asked for
    except UnderstudyError:
        raise
    except Exception as error:
        raise MethodError(
            f"A release of made-up records of this schema cannot be written and read back "
            f"({type(error).__name__}: {line(str(error))[:200]}), so the real one is not begun and "
            "nothing was spent; please report this, with the schema if it may be shown."
        ) from error
    _PASSED.add(tried)


def _digest(request: Request, formats: Sequence[str], frame: FrameKind | None) -> str:
    """Of all that the rehearsal rests on: not of the method, which another one stands for."""
    facts = {k: v for k, v in request.identity.items() if k not in ("method", "options", "sets")}
    told = json.dumps([facts, sorted(formats), frame])
    return hashlib.sha256(told.encode("utf-8")).hexdigest()


def _few(request: Request) -> Request:
    """The request for at most `RECORDS` records, by the method that stands for all."""
    schema = request.schema
    entry = "n_rows" if schema.rows == "public" else "row_limit"
    declared = getattr(schema, entry)
    most = RECORDS if declared is None else min(declared, RECORDS)
    return replace(
        request,
        schema=schema.model_copy(update={entry: most}),
        method=configure("independent", {}),
        name="independent",
        reason="",
        sets=1,
        usual_answers=False,  # second moments are bought, however few records there are
        minimum_count=request.minimum_count and replace(request.minimum_count, count=1),
    )


def _made_up(request: Request, expected: ExpectedAnswers | None, frame: FrameKind) -> Release:
    schema, source = request.schema, SeededRandomness(_SEED)
    gate = open_gate(_rows(schema), request.budget, source)
    drawing = np.random.default_rng(_SEED), source, None
    n_rows, schema, measurements, tables, _, kept = measure_and_draw(
        request, gate, drawing, lambda *_: None
    )
    followed = followed_by(request, schema, measurements)
    facts = inference_facts(request.method, schema, followed, n_rows.noise.stddev)
    manifest = manifest_of(
        request, gate, n_rows, facts, expected, kept=kept, seed=_SEED, secure=False
    )
    return Release(tables, schema, manifest, measurements, frame, pages=pages)


def _is_same(release: Release, loaded: Release) -> bool:
    """Return whether all that pages are rendered from came back as it was."""
    return (
        (release.schema, release.manifest) == (loaded.schema, loaded.manifest)
        and len(release.measurements) == len(loaded.measurements)
        and all(map(_is_same_measurement, release.measurements, loaded.measurements))
        and all(
            one.schema == other.schema and one.equals(other)
            for one, other in zip(release.tables, loaded.tables, strict=True)
        )
    )


def _is_same_measurement(one: Measurement, other: Measurement) -> bool:
    return one.to_json() == other.to_json() and all(
        mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        for mine, theirs in ((one.codes, other.codes), (one.counts, other.counts))
    )


def _rows(schema: Schema) -> Table:
    """Records with each state of each column in turn, whatever rules say of them together."""
    n = schema.most_rows
    states = [np.arange(n or 0) % column.size for column in schema.columns.values()]
    values = decode(states, schema, np.random.default_rng(_SEED))
    return Table(values[list(schema.names)], schema)


@list_keywords(SynthesizeKeywords)
def synthesize(
    data: object,
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    how: SynthesisOptions | None = None,
    run: RunOptions | None = None,
    **keywords: Unpack[SynthesizeKeywords],
) -> Release:
    """Turn a confidential table into a release.

    Args:
        data: pandas, Polars or Arrow table, the path of a file that holds one (docs/how-to/files.md
            has the list), a `Query` of a database, or a Spark data frame, whose rows are summed
            where they are. Of units with members two by the names of the schema, as in
            {"household": …, "person": …}, or one of members with the columns of their units.
        schema: a reviewed schema, or the path of its file.
        epsilon: ε of the whole release.
        delta: δ of the whole release: by how much a probability may exceed the factor e^ε of the
            promise. With 0, the default, it is pure differential privacy. A δ above 0, far below
            1 / number of rows such as 1e-9, admits Gaussian noise, which is mostly narrower, and
            second moments, which answer linear models.
        how: what is to be made of the budget. Use it instead of the keywords that are its fields.
        run: how the run goes. Use it instead of the keywords that are its fields.
        **keywords: fields of `SynthesisOptions` and `RunOptions`.

    Warns:
        UnderstudyWarning: no question about two columns is sure of an answer, as in `plan`.

    Returns:
        The release: synthetic tables, noisy measurements, guarantee and ledger. The first Ctrl-C
        ends the rounds of a method that measures in rounds, and the release is made of what was
        paid for; the second, and the first with any other method, aborts.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or parts that it cannot have.
        MethodError: unknown method or option, or one that does not fit the schema; or an object
            beside a keyword that it states too.
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
    how, run = gather("synthesize", SynthesizeKeywords, keywords, how=how, run=run)
    request = request_of(schema, epsilon=epsilon, delta=delta, how=how)
    outlay, expected, randomness = _settle(request, how, run)
    rows = summed_rows(
        data,
        request.schema,
        run,
        records_for=request.records_for,
        passes=request.least_passes,
    )
    for remark in without_pairs(request):
        warnings.warn(remark, UnderstudyWarning, stacklevel=2)
    # Before anything is paid, since the rows may be read once more; not at all if nobody listens.
    diagnoses: list[Internal[Diagnostic]] = []
    if run.confide and run.confide_misfits:
        diagnoses += [*misfits(rows), *mismatches(rows)]
    identity = _identity(request, run, outlay)
    with (
        open_journal(run.place, identity, _entropy(run)) as (journal, entropy),
        ending_rounds(request.method, run.tell) as stop,
        reserve_cost(outlay, "release", identity, journal) as spent,
        ExitStack() as telling,
    ):
        gate = open_gate(
            rows,
            request.budget,
            randomness,
            journal,
            allow_nonprivate=run.allow_nonprivate,
            stop=stop,
            confide=diagnoses.append,
        )
        gate.listen(spent.note)
        telling.enter_context(telling_what_was_spent(gate))
        drawing = np.random.default_rng(entropy), randomness, part_files(rows)
        n_rows, schema, measurements, tables, found, kept = measure_and_draw(
            request, gate, drawing, run.tell
        )
        if run.confide:
            for diagnosis in diagnoses:
                run.confide(diagnosis)
        followed = followed_by(request, schema, measurements)
        facts = inference_facts(request.method, schema, followed, n_rows.noise.stddev)
        manifest = manifest_of(
            request,
            gate,
            n_rows,
            facts,
            expected,
            contradictions=found,
            kept=kept,
            seed=run.seed,
            secure=run.secure,
        )
        spent.settle(manifest.guarantee, manifest.to_json())
        release = Release(
            tables=tables,
            schema=schema,
            manifest=manifest,
            measurements=measurements,
            frame=run.frame or rows.frame_kind,
            pages=pages,
            entered=spent.entered,
        )
    if run.place is not None and not run.keep_checkpoint:
        remove_checkpoint(run.place)
    return release


@list_keywords(SynthesizeKeywords)
def reserve(
    schema: Schema | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    how: SynthesisOptions | None = None,
    run: RunOptions | None = None,
    **keywords: Unpack[SynthesizeKeywords],
) -> int:
    """Reserve a release in the ledger of its population, from its approval to its run.

    No row is read and nothing is spent: the whole cost counts as reserved until `synthesize` with
    `reservation=` spends it, or `PopulationLedger.reservation(number).void()` gives it back. The
    same request, reserved again before it runs, is the same reservation.

    Args:
        schema: as for `synthesize`, and so are all others. The run must have the same.
        epsilon: ε of the whole release.
        delta: δ of the whole release.
        how: what is to be made of the budget.
        run: its ledger, who spends, and what else is to be the same.
        **keywords: fields of `SynthesisOptions` and `RunOptions`.

    Returns:
        The number of the reservation.

    Raises:
        LedgerError: no ledger governs the table, it cannot be reached, or it refuses the cost; or a
            reservation is given.
        SchemaError: as `synthesize`, and so `BudgetError`, `MethodError`, `NotPrivateError` and
            `ReleaseError`, before anything is reserved.
    """
    how, run = gather("reserve", SynthesizeKeywords, keywords, how=how, run=run)
    if run.reservation is not None:
        raise LedgerError("A reservation is made here: leave reservation= out, for synthesize.")
    request = request_of(schema, epsilon=epsilon, delta=delta, how=how)
    outlay, _, _ = _settle(request, how, run, reserving=True)
    account = outlay.account
    if account is None:
        raise LedgerError(
            "No ledger governs this table, so nothing can be reserved; add [ledger] with its "
            "population to the schema, and name the ledger."
        )
    made = account.ledger.reserve(
        account.population,
        outlay.cost,
        "release",
        request=digest_of(_identity(request, run, outlay)),
        by=account.by,
        once=True,
    )
    return made.number


def _settle(
    request: Request, how: SynthesisOptions, run: RunOptions, *, reserving: bool = False
) -> tuple[Outlay, ExpectedAnswers | None, Randomness]:
    """Refuse what can be refused before rows are read, and say what the run may cost.

    A reservation finds its room in the ledger itself, and keeps no ranges of expected answers.
    """
    require_formats(formats := formats_of(run.also), request.schema)
    require_possible(request, how, run)
    outlay = outlay_of(
        request.schema,
        request.budget,
        run,
        private=request.method.private,
        room=not reserving,
        options=request.options,
    )
    expected = expected_of(request, how) if reserving else expected_with_ranges(request, how)[0]
    require_late_needs(randomness := randomness_of(run.insecure_noise_seed))
    rehearse(request, expected=expected, formats=formats, frame=run.frame)
    return outlay, expected, randomness


def _identity(request: Request, run: RunOptions, outlay: Outlay) -> dict[str, str]:
    """Public facts that make a run the same as another."""
    seeds = f"{run.seed}, {run.insecure_noise_seed}"
    drawn_with = {"seeds": seeds, "permissions": str(run.allow_nonprivate)}
    return {**request.identity, **drawn_with, **outlay.identity}


def _entropy(run: RunOptions) -> int:
    """Return what the sampling is seeded with."""
    seed = run.insecure_noise_seed if run.seed is None else run.seed
    return secrets.randbits(128) if seed is None else seed
