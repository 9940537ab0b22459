"""A gate whose answers are on disk before they are used, so that a killed run can be continued.

**Before and after.** Each charge is written to the journal, and has reached the disk, before the
rows are asked and before its noise is drawn. Each answer is written, and has reached the disk,
before the method sees it.

**Continued**, the method runs again from the start. As long as the journal has answers it gets
those, in order, and ledger, measurements and conditions fill up as they did before; no row is
looked at and nothing is charged. So a method must ask the same questions when it gets the same
answers. One that asks for something else is stopped with an error.

**A charge without an answer counts as spent**: its noise may have been drawn, and nobody can know
that it was not used. The step is paid once more. If R was left before the lost charge and R - L
after it, all later costs shrink by the factor (R - L)/R. So whatever the method planned with R
fits into R - L; it need not know, and sees budget and rest as if nothing had been lost. What it
planned was a sum of at most R, hence the costs are a sum of at most R - L; the ledger refuses any
other.

**Guarantee.** The runs together are one adaptive sequence of paid mechanisms whose costs are all in
one ledger (`understudy.privacy.accounting.ledger`); when a run was killed does not depend on the
rows, or depends on them through what was paid for. A journal holds released values, costs, and
public facts. Its copy must not be continued as well: two continuations draw twice for one charge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from understudy.engine import Engine
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.checkpoint.journal import Journal
from understudy.privacy.checkpoint.json_values import unpack
from understudy.privacy.checkpoint.replay import Recording
from understudy.privacy.diagnostics import Confide
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import Feasible
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.noise.perturbation import Bounds, Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyTable, Released
from understudy.privacy.selection.scores import Score

C = TypeVar("C")
T = TypeVar("T")


class RecordedGate(Gate):
    """A gate with a journal.

    It answers `count_rows`, `count`, `choose`, `choose_columns` and `random_order`; other verbs
    that cost something are refused before anything is computed.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise.
        journal: open, of this very request.
        allow_nonprivate: as in `Gate`.
        stop: as in `Gate`.
    """

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        randomness: Randomness,
        journal: Journal,
        *,
        allow_nonprivate: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(engine, budget, randomness, allow_nonprivate=allow_nonprivate, stop=stop)
        self._recording = Recording(journal, self._ledger, randomness)

    @property
    def remaining(self) -> Fraction:
        """What is left, as a method planned with it: lost charges not counted."""
        factor = self._recording.factor
        return self._ledger.remaining / factor if factor else Fraction(0)

    @property
    def stopping(self) -> bool:
        """Whether to end now; in a continued run, as it was where this one comes by again."""
        with self._recording.turn():
            return self._stopped(self._recording.look(self._stop))

    @verb
    def require(self, spend: Fraction) -> None:
        """As in `Gate`, lost charges not counted."""
        self._ledger.require(spend * self._recording.factor)

    @verb
    def random_order(self, n: HowMany) -> tuple[int, ...]:
        """As in `Gate`; the same one in a continued run."""
        ask = super().random_order
        return self._answered("random_order", {"n": n}, None, lambda _: ask(n), _nothing)

    @verb
    def count_rows(self, *, spend: Fraction) -> Released[int]:
        """As in `Gate`."""
        ask = super().count_rows
        if self.schema.rows == "public":
            return ask(spend=spend)
        asked = {"spend": spend}
        return self._answered(
            "count_rows", asked, spend, lambda cost: ask(spend=cost), self._rows.append
        )

    @verb
    def count(
        self,
        marginals: Sequence[tuple[str, ...]],
        *,
        spend: Fraction,
        law: LawName,
        weights: Sequence[int | Fraction] | None = None,
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> list[Released[NoisyTable]]:
        """As in `Gate`."""
        ask = super().count
        how: dict[str, Any] = {"law": law, "weights": weights, "bounds": bounds, "mode": mode}
        return self._answered(
            "count",
            {"marginals": [list(names) for names in marginals], "spend": spend, **how},
            spend,
            lambda cost: ask(marginals, spend=cost, **how),
            self._measured.extend,
        )

    def _chosen(
        self, candidates: Sequence[C], score: Score, *, spend: Fraction, feasible: Feasible
    ) -> Released[C]:
        """As in `Gate`; a continued run takes the winner by its place among the candidates."""
        ask = super()._chosen
        asked = {"candidates": list(candidates), "score": score.title, "spend": spend}

        def place(cost: Fraction) -> Released[int]:
            winner = ask(candidates, score, spend=cost, feasible=feasible)
            number = candidates.index(winner.value)
            return Released(number, winner.noise, winner.mechanism, winner.entry)

        found = self._answered("choose", asked, spend, place, _nothing)
        return Released(candidates[found.value], found.noise, found.mechanism, found.entry)

    def _answered(
        self,
        verb: str,
        asked: dict[str, Any],
        spend: Fraction | None,
        ask: Callable[[Fraction], T],
        keep: Callable[[T], None],
    ) -> T:
        """The answer from the journal, or a new one that is written down.

        Args:
            verb: of the gate.
            asked: its arguments, public.
            spend: what it costs, lost charges not counted; None for nothing.
            ask: gets a new answer at this cost, and keeps what the verb keeps of it.
            keep: does that with an old one.
        """
        with self._recording.turn():
            if spend is not None:
                self.require(spend)  # what is refused leaves no trace, so it is refused again
            recording, digest = self._recording, _digest({**asked, **self._seen_through()})
            call = recording.next(verb, digest)
            if call is not None and call.answer is not None:
                for condition in call.answer["conditions"]:
                    self._under(condition)
                for leak in call.answer["leaks"]:
                    self._concede(leak)
                found: T = unpack(call.answer["value"])
                keep(found)
                return found
            with recording.asking(verb, digest):
                found = ask((spend or Fraction(0)) * recording.factor)
            promise = {"conditions": list(self._conditions), "leaks": list(self._leaks)}
            recording.answer(verb, digest, found, free=spend is None, **promise)
            return found

    def _seen_through(self) -> dict[str, Any]:
        """Which view of the gate this is."""
        return {"bins": sorted(self._bins.items()), "groups": sorted(self._groups.items())}


def gate_of(
    engine: Engine,
    budget: Budget,
    randomness: Randomness,
    journal: Journal | None,
    *,
    allow_nonprivate: bool = False,
    stop: Callable[[], bool] = lambda: False,
    confide: Confide = lambda _confided: None,
) -> Gate:
    """A gate, with a journal if there is one, which then makes no walks.

    Arguments are those of `RecordedGate`, and of `Gate`.
    """
    if journal is None:
        return Gate(
            engine,
            budget,
            randomness,
            allow_nonprivate=allow_nonprivate,
            stop=stop,
            confide=confide,
        )
    return RecordedGate(
        engine, budget, randomness, journal, allow_nonprivate=allow_nonprivate, stop=stop
    )


def _nothing(_: object) -> None:
    """Nothing is kept of an answer but what is given out."""


def _digest(asked: dict[str, Any]) -> str:
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]
