"""One release of several that could be made, chosen by a criterion inside the budget.

Whoever makes several releases and publishes the one that looks best has spent what all of them
cost, and more if the look was at the rows. Here the looking is a part of the private run:
candidates and criteria are named beforehand, a secret number of tries is made, each with its own
noisy criterion, and the best of them is the release. The theorem and its proof stand in
`mechanisms.private_selection`: with ε₀ for a try the price is (2 + η)ε₀, which is booked as a
whole before the first try. With δ a try has a ρ of zCDP, and the price follows from divergences of
all orders. It is an ε and a δ then and no ρ: such a release is not amended, and the ledger of a
population counts it in a part of its own (`ledger.account`).

What is a secret of the steward: the tries that lost, their number, and how long it took. None of
it is in the release, in messages or in the progress that is told. A checkpoint has all of it, as
it has the noise of each try: it is continued with the tries that were drawn, and must not be
shown.

**Not hidden is the time that the run takes.** It grows with the number of tries.
"""

from __future__ import annotations

import json
import math
import secrets
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy._validation import require, require_mapping, require_whole
from understudy.checkpoint.journal import open_journal
from understudy.checkpoint.replay import TRIES
from understudy.checkpoint.replay import remove as remove_checkpoint
from understudy.data.coding import ColumnCoder
from understudy.dp.accountant import Entry
from understudy.dp.budget import Budget, Number, decimal_up, epsilon_of, exact, size_in_signs
from understudy.dp.calibration import calibrate
from understudy.dp.confidential import misfits, mismatches
from understudy.dp.gate import Gate
from understudy.dp.randomness import Randomness, randomness_of
from understudy.errors import (
    BudgetError,
    CheckpointError,
    MethodError,
    NotPrivateError,
)
from understudy.inference.declared import with_own_bins
from understudy.mechanisms.private_selection import (
    ETAS,
    SELECTION,
    LawName,
    LawOfTries,
    PrivateSelection,
    TableDistance,
    selection_query,
    selection_words,
)
from understudy.mechanisms.tables import MAX_CELLS
from understudy.release.release import Release
from understudy.release.tables import formats_of, require_formats
from understudy.schema import Schema
from understudy.schema.schema import given_schema
from understudy.workflow.describe import inference_facts, manifest_of
from understudy.workflow.gates import (
    open_gate,
    require_late_needs,
    summed_rows,
    telling_what_was_spent,
)
from understudy.workflow.governance import outlay_of, reserve_cost
from understudy.workflow.options import RunOptions, SynthesisOptions
from understudy.workflow.pages import pages
from understudy.workflow.plan import Plan, expected_with_ranges, plan_request
from understudy.workflow.request import Request, request_of
from understudy.workflow.synthesize import (
    Made,
    followed_by,
    measure_and_draw,
    rehearse,
    require_possible,
)

if TYPE_CHECKING:
    import polars as pl

    from understudy.data.base import Engine
    from understudy.inference.declared import ExpectedAnswers
    from understudy.release.manifest import Manifest

CHECK_SHARE: Final = Fraction(1, 10)
"""Part of what a try costs that buys its criterion."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Candidates and the criterion between them; all of it is public and settled beforehand.

    Attributes:
        candidates: what may be made of the budget, each once; methods with a guarantee in pure ε.
        accept: table → largest share of its records that may lie in another cell than the rows do,
            such as {"age & job": 0.05}. The best try is the one that exceeds its limits least.
        tries: expected number of tries, from 2.
        law: of the number of tries: "logarithmic", whose price is twice that of a try, or
            "geometric", whose price is three times that, and which seldom makes one try alone.

    Raises:
        MethodError: no candidate, no criterion, or a field of the wrong type or size.

    Example:
        >>> choice = Choice(
        ...     candidates=[SynthesisOptions(method="mst"), SynthesisOptions(method="aim")],
        ...     accept={"age & job": "0.05"},
        ... )
        >>> choice.law_of_tries.factor
        Fraction(2, 1)
    """

    candidates: Sequence[SynthesisOptions]
    accept: Mapping[str, Number]
    tries: int = 10
    law: LawName = "logarithmic"

    def __post_init__(self) -> None:
        """Refuse what no schema could make right."""
        listed = list(self.candidates)
        kinds = bool(listed) and all(isinstance(one, SynthesisOptions) for one in listed)
        require(kinds, "candidates", "a list of SynthesisOptions", self.candidates, MethodError)
        require_mapping("accept", self.accept, MethodError, '{"age & job": 0.05}')
        require_whole("tries", self.tries, MethodError, least=2)
        if self.law not in ETAS:
            raise MethodError(f"law must be one of {', '.join(ETAS)}.")
        if not self.accept:
            raise MethodError('accept names no table; name one, such as {"age & job": 0.05}.')
        for table, most in self.accept.items():
            if not 0 <= exact(most, f"accept of {table!r}") <= 1:
                raise MethodError(f"accept of {table!r} must be a share from 0 to 1.")

    @classmethod
    def load(cls, path: str | Path) -> Choice:
        """Read a choice from a TOML file with `tries`, `law`, `[accept]` and `[[candidates]]`.

        Args:
            path: of the file.

        Raises:
            MethodError: it cannot be read, or has an entry that a choice does not have.
        """
        try:
            told = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise MethodError(f"The file {str(path)!r} cannot be read as TOML: {error}.") from None
        known = {one.name for one in fields(cls)}
        options = {one.name for one in fields(SynthesisOptions)} - {"like", "assume_rows"}
        candidates = told.pop("candidates", [])
        for entries, names in ((told, known), *((one, options) for one in candidates)):
            if odd := sorted(set(entries) - names):
                raise MethodError(
                    f"The file {str(path)!r} has an entry {odd[0]!r}; it may have "
                    f"{', '.join(sorted(names))}."
                )
        made = [SynthesisOptions(**one) for one in candidates]
        return cls(**{"accept": {}, **told, "candidates": made})

    @property
    def law_of_tries(self) -> LawOfTries:
        """The law of the number of tries."""
        return LawOfTries.of_name(self.law, self.tries)

    def criteria(self, schema: Schema) -> tuple[tuple[tuple[str, ...], Fraction], ...]:
        """Tables that are compared, in the order of the schema's columns, each with its limit.

        Args:
            schema: of the rows.

        Raises:
            MethodError: an unknown column, or a table with too many cells.
        """
        found: dict[tuple[str, ...], Fraction] = {}
        for text, most in self.accept.items():
            wanted = {part.strip() for part in text.split("&")}
            for name in sorted(wanted):
                if name not in schema.names:
                    raise MethodError(f"accept names {name!r}, which is no column.")
            columns = tuple(name for name in schema.names if name in wanted)
            if (cells := schema.table(columns).n_cells) > MAX_CELLS:
                raise MethodError(
                    f"The table of {text} in accept has {cells:,} cells; name fewer columns."
                )
            found[columns] = exact(most)
        return tuple(found.items())


@dataclass(frozen=True)
class Shares:
    """Costs of the parts of a private selection; together they are the budget.

    Attributes:
        whole: of the release; in pure ε, or with δ in ρ.
        one: of a try.
        run: of what it measures and draws.
        check: what buys its criterion, in the unit of the budget.
        tries: what is paid beside the try that is released, for all the others.
    """

    whole: Budget
    one: Budget
    run: Budget
    check: Fraction
    tries: Fraction

    @classmethod
    def of(cls, epsilon: Number, delta: Number, choice: Choice) -> Shares:
        """Divide a budget.

        Args:
            epsilon: ε of the release.
            delta: δ of the release.
            choice: says how many tries are expected, by which law.

        Raises:
            BudgetError: not a budget, or one that no try could have a part of.
        """
        whole, law = Budget.of(epsilon, delta), choice.law_of_tries
        if not whole.delta:
            one = Budget(whole.epsilon / law.factor)
            run = Budget(one.epsilon - one.epsilon * CHECK_SHARE)
        else:
            one = _of_rho(law.rho_within(whole.epsilon, whole.delta), whole.delta)
            run = _of_rho(one.amount * (1 - CHECK_SHARE), whole.delta)
        return cls(whole, one, run, one.amount - run.amount, whole.amount - one.amount)


def _of_rho(rho: Fraction, delta: Fraction) -> Budget:
    """A budget of a δ that allows at most a ρ, and hardly less.

    Raises:
        BudgetError: next to nothing.
    """
    if not rho:
        raise BudgetError("A try would have next to nothing of this budget; take a larger one.")
    return Budget(epsilon_of(rho, delta) * (1 - _ROUNDED), delta)


_ROUNDED: Final = Fraction(1, 10**9)
"""Part of ε by which a budget is lower than what rounding could make of it."""


@dataclass(frozen=True)
class ChoicePlan:
    """The cost and the candidates of a private selection, from public facts alone.

    Attributes:
        shares: what its parts cost.
        law: of the number of tries.
        plans: of the candidates, each at the budget of a try.
        chance: that a given candidate is tried at all.
        stddev: of the noise in the criterion, in records.
        remarks: what else there is to know, in sentences.
    """

    shares: Shares
    law: LawOfTries
    plans: tuple[Plan, ...]
    chance: float
    stddev: float
    remarks: tuple[str, ...]


def plan_choice(
    schema: Schema | str | Path, choice: Choice | str | Path, *, epsilon: Number, delta: Number = 0
) -> ChoicePlan:
    """Plan what a private selection would cost and try. No data are read.

    Args:
        schema: a reviewed schema, or the path of its file.
        choice: candidates and criteria, or the path of their file.
        epsilon: ε of the release, all tries together.
        delta: δ of the release, all tries together.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or parts that it cannot have.
        MethodError: an unknown column in a criterion, or a candidate that does not fit the schema.
        NotPrivateError: a candidate without a guarantee.
    """
    choice = _require_choice(choice)
    schema = _schema_for(given_schema(schema), choice)
    shares, law = Shares.of(epsilon, delta, choice), choice.law_of_tries
    requests = _requests(schema, choice, shares)
    pairs = zip(requests, choice.candidates, strict=True)
    plans = tuple(plan_request(request, how) for request, how in pairs)
    share = 1 - 1 / len(requests)
    noise = calibrate(
        "geometric",
        spend=shares.check,
        accounting=shares.whole.accounting,
        neighbours=schema.neighbours,
    )
    price = f"costs {law.factor} times that"
    if shares.whole.delta:
        price = f"costs {size_in_signs(shares.whole.epsilon, shares.whole.delta)}"
    remarks = (
        f"Each try costs {shares.one.unit} = {decimal_up(shares.one.amount)}; whatever their "
        f"number, the release {price}. About {law.expected:.3g} are made, and one alone with "
        f"probability {_chance_of_one(law):.2g}.",
        "How long the run takes tells of the number of tries, so nobody else may be shown that.",
    )
    return ChoicePlan(shares, law, plans, 1 - law.generating_function(share), noise.stddev, remarks)


def _chance_of_one(law: LawOfTries) -> float:
    """P(K = 1), the slope of f at 0."""
    return law.generating_function(1e-9) / 1e-9


def choose(
    data: object,
    schema: Schema | str | Path,
    choice: Choice | str | Path,
    *,
    epsilon: Number,
    delta: Number = 0,
    run: RunOptions | None = None,
) -> Release:
    """Make the best of several releases, where trying and judging are inside the budget.

    Args:
        data: as for `synthesize`.
        schema: a reviewed schema, or the path of its file.
        choice: candidates and criteria, or the path of their file.
        epsilon: ε of the release, all tries together.
        delta: δ of the release, all tries together.
        run: how it goes. `progress` is told nothing of the tries, and `confide` nothing of them
            but columns that hardly fit.

    Returns:
        The best try as a release. Its manifest names candidates and criteria, and by how many
        records the worst criterion was exceeded, with noise, or that all were met.

    Raises:
        SchemaError: not a schema, or not reviewed.
        BudgetError: not a budget, or parts that it cannot have.
        MethodError: as `plan_choice`; or the best try failed.
        NotPrivateError: a candidate without a guarantee.
        DataError: a structural fault of the data; nothing was spent.
        ReleaseError: a format that cannot hold the columns.
        CheckpointError: as for `synthesize`.
        LedgerError: the population's ledger cannot be reached, or refuses the cost.

    Warns:
        UnderstudyWarning: never of a try.
    """
    run = RunOptions() if run is None else run
    choice = _require_choice(choice)
    schema = _schema_for(given_schema(schema), choice)
    shares, law = Shares.of(epsilon, delta, choice), choice.law_of_tries
    requests = _requests(schema, choice, shares)
    criteria = choice.criteria(schema)
    require_formats(formats := formats_of(run.also), schema)
    randomness = randomness_of(run.insecure_noise_seed)
    expected = [
        expected_with_ranges(request, how)[0]
        for request, how in zip(requests, choice.candidates, strict=True)
    ]
    require_late_needs(randomness)
    for request, how, answers in zip(requests, choice.candidates, expected, strict=True):
        require_possible(request, how, run)
        rehearse(request, expected=answers, formats=formats, frame=run.frame)
    outlay = outlay_of(schema, shares.whole, run, selected=True)
    records = next((one.records_for for one in requests if one.records_for), "")
    rows = summed_rows(data, schema, run, records_for=records)
    told = [*misfits(rows), *mismatches(rows)] if run.confide and run.confide_misfits else []
    identity = {
        "choice": json.dumps([_told_apart(one) for one in requests], sort_keys=True),
        "accept": json.dumps([(names, str(most)) for names, most in criteria]),
        "law": f"{choice.law}, {choice.tries}",
        "seeds": f"{run.seed}, {run.insecure_noise_seed}",
        "epsilon": str(shares.whole.epsilon),
        **({"delta": str(shares.whole.delta)} if shares.whole.delta else {}),
        "accounting": shares.whole.accounting,
        "neighbours": schema.neighbours,
        **outlay.identity,
    }
    with (
        open_journal(run.place, identity, 0) as (journal, _),
        reserve_cost(outlay, "release", identity, journal) as spent,
        ExitStack() as telling,
    ):
        paid = open_gate(rows, shares.whole, randomness, journal)
        paid.listen(spent.note)
        telling.enter_context(telling_what_was_spent(paid))
        asked = PrivateSelection(len(requests), law.eta, law.gamma)
        drawn = paid.ask(asked, spend=shares.whole.amount)
        run.tell(STAGE, 0, 1)
        tries = _Tries(rows, requests, criteria, shares, randomness, run, identity)
        with _silence():
            best = tries.best(drawn.value)
        run.tell(STAGE, 1, 1)
        for diagnosis in told:
            if run.confide:
                run.confide(diagnosis)
        manifest = _manifest(best, choice, shares, expected[best.candidate], run)
        spent.settle(manifest.guarantee, manifest.to_json())
        _, own, measurements, tables, *_ = best.drawn
        release = Release(
            tables=tables,
            schema=own,
            manifest=manifest,
            measurements=measurements,
            frame=run.frame or rows.frame_kind,
            pages=pages,
            entered=spent.entered,
        )
    if run.place is not None and not run.keep_checkpoint:
        remove_checkpoint(run.place)
    return release


STAGE: Final = "Trying candidates, of which nothing is told"


def _require_choice(choice: Choice | str | Path) -> Choice:
    if isinstance(choice, str | Path):
        return Choice.load(choice)
    require(isinstance(choice, Choice), "choice", "a Choice or a path", choice, MethodError)
    return choice


def _schema_for(schema: Schema, choice: Choice) -> Schema:
    """The schema in which candidates are compared: with the bins that any of them declares."""
    for how in choice.candidates:
        _, schema = with_own_bins(how.analyses, schema)
    return schema


def _requests(schema: Schema, choice: Choice, shares: Shares) -> tuple[Request, ...]:
    """Return what each candidate asks for, at the budget of a try without its criterion.

    Raises:
        NotPrivateError: one without a guarantee.
        MethodError: one that publishes something unpaid, or twice the same.
    """
    choice.criteria(schema)
    found: list[Request] = []
    for how in choice.candidates:
        run = shares.run
        request = request_of(
            schema, epsilon=run.epsilon, delta=run.delta, how=how, budget=run if run.delta else None
        )
        if not request.method.private or request.options.get("mode") == "paper":
            raise NotPrivateError(
                f"The candidate {request.name} has no guarantee in this form, which a private "
                "selection needs of each; leave it out."
            )
        request.tables(), request.setup()
        if any(_told_apart(request) == _told_apart(other) for other in found):
            raise MethodError(f"The candidate {request.name} is listed twice; leave one out.")
        found.append(request)
    return tuple(found)


def _told_apart(request: Request) -> dict[str, str]:
    """Return what makes a candidate another one: its criterion rests on the sets that it keeps."""
    return {**request.identity, "minimum_count": str(request.minimum_count)}


@contextmanager
def _silence() -> Any:
    """While this is open no warning is shown, which could tell of a try that lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, eq=False)
class _Tried:
    """A try that came to its end.

    Attributes:
        candidate: its number.
        request: what it asked for.
        gate: through which it was paid.
        excess: of the criterion, with noise: records in which the worst table is too far.
        drawn: what `measure_and_draw` gave.
    """

    candidate: int
    request: Request
    gate: Gate
    excess: int
    drawn: Made


@dataclass(frozen=True, eq=False)
class _Tries:
    """Makes the tries of a private selection, and keeps the best alone.

    Attributes:
        rows: confidential.
        requests: of the candidates.
        criteria: tables and their limits.
        shares: what each part costs.
        randomness: of noise.
        run: how it goes.
        identity: of the whole request.
    """

    rows: Engine
    requests: Sequence[Request]
    criteria: Sequence[tuple[tuple[str, ...], Fraction]]
    shares: Shares
    randomness: Randomness
    run: RunOptions
    identity: Mapping[str, str]

    def best(self, drawn: Sequence[int]) -> _Tried:
        """Try what was drawn, in order; the first of equal ones wins.

        Raises:
            MethodError: every try failed, and so the best of them.
        """
        best: _Tried | None = None
        for number, candidate in enumerate(drawn, start=1):
            tried = self._try(number, candidate)
            if tried is not None and (best is None or tried.excess < best.excess):
                best = tried
        if best is None:
            raise MethodError(
                "No candidate could make a release of what it measured; the budget is spent. Take "
                "candidates with fewer or smaller tables, or a larger epsilon."
            )
        return best

    def _try(self, number: int, candidate: int) -> _Tried | None:
        """Make one run with its criterion; None if it failed, which is the worst outcome.

        How it failed may tell of what it measured, so that it must not end the others.
        """
        request, place = self.requests[candidate], self.run.place
        folder = None if place is None else place / TRIES / str(number)
        identity = {**self.identity, "try": f"{number}, {candidate}"}
        # A stated seed is that of every try: seeds of their own would tell which one won.
        seed = self.run.insecure_noise_seed if self.run.seed is None else self.run.seed
        entropy = secrets.randbits(128) if seed is None else seed
        with open_journal(folder, identity, entropy) as (journal, entropy):
            gate = open_gate(self.rows, self.shares.one, self.randomness, journal)
            try:
                drawing = np.random.default_rng(entropy), self.randomness, None
                made = measure_and_draw(request, gate, drawing, lambda *_: None)
                excess = gate.ask(self._criterion(gate, made), spend=self.shares.check)
            except (CheckpointError, OSError, MemoryError):
                raise  # of the machine, and not of what was measured
            except Exception:
                return None
        return _Tried(candidate, request, gate, excess.value, made)

    def _criterion(self, gate: Gate, made: Made) -> TableDistance:
        """Return the criterion that compares the sets of a try with the rows."""
        n_rows, _, _, tables, *_ = made
        marginals = tuple(names for names, _ in self.criteria)
        counts = [_counts(table, gate.schema, marginals) for table in tables]
        together = tuple(np.sum(own, axis=0) for own in zip(*counts, strict=True))
        allowed = tuple(int(2 * most * n_rows.value) for _, most in self.criteria)
        return TableDistance(marginals, together, len(counts), allowed)


def _counts(
    table: pl.DataFrame, schema: Schema, marginals: Sequence[tuple[str, ...]]
) -> list[NDArray[np.int64]]:
    """Counts of a synthetic set, coded as rows are, each with what is out of domain last."""
    used = dict.fromkeys(name for names in marginals for name in names)
    states = {
        name: ColumnCoder(name, schema.columns[name]).code(table[name]).astype(np.int64)
        for name in used
    }
    found = []
    for names in marginals:
        sizes = tuple(schema.columns[name].size for name in names)
        inside = np.all([states[name] < schema.columns[name].size for name in names], axis=0)
        cells = np.ravel_multi_index([states[name][inside] for name in names], sizes)
        counted = np.bincount(cells, minlength=math.prod(sizes))
        found.append(np.append(counted, int((~inside).sum())).astype(np.int64))
    return found


def _manifest(
    best: _Tried, choice: Choice, shares: Shares, expected: ExpectedAnswers | None, run: RunOptions
) -> Manifest:
    """The manifest of the best try, whose ledger has the price of all."""
    request, gate = best.request, best.gate
    n_rows, schema, measurements, _, found, kept = best.drawn
    followed = followed_by(request, schema, measurements)
    facts = inference_facts(request.method, schema, followed, n_rows.noise.stddev)
    own = manifest_of(
        replace(request, budget=shares.whole),
        gate,
        n_rows,
        facts,
        expected,
        contradictions=found,
        kept=kept,
        seed=run.seed,
        secure=run.secure,
    )
    law, many = choice.law_of_tries, len(choice.candidates)
    selection = Entry(
        number=len(own.ledger) + 1,
        mechanism=SELECTION,
        query=selection_query(many),
        accounting=shares.whole.accounting,
        spent=shares.tries,
        sensitivity=selection_words(law.eta, law.gamma),
        noise="",
        cells=1,
    )
    noise = calibrate(
        "geometric",
        spend=shares.check,
        accounting=shares.whole.accounting,
        neighbours=schema.neighbours,
    )
    told = {
        "candidates": [_named_options(how) for how in choice.candidates],
        "accept": [
            {"columns": list(names), "most": str(most)} for names, most in choice.criteria(schema)
        ],
        "law": choice.law,
        "tries": choice.tries,
        "excess": best.excess,
        "stddev": noise.stddev,
        "met": best.excess <= 0,
    }
    promise = gate.guarantee()
    if promise.epsilon is not None:
        # With δ the best of tries has no ρ, though each of them has.
        promise = replace(promise, epsilon=shares.whole.epsilon, rho=None)
    return replace(
        own,
        guarantee=replace(promise, conditions=(*promise.conditions, TIME_STAYS)),
        ledger=(*own.ledger, selection.to_json()),
        choice=told,
    )


TIME_STAYS: Final = (
    "It is the best of a secret number of tries, and nobody outside learns how long they took."
)
"""What the promise of a private selection rests on beside its mechanisms."""


def _named_options(how: SynthesisOptions) -> dict[str, Any]:
    """A candidate as it was named."""
    options = {
        name: list(v) if isinstance(v, tuple) else v for name, v in (how.options or {}).items()
    }
    return {"method": how.method, "options": options, "sets": how.sets}
