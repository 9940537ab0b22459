"""Transitional: what verbs still use that are not mechanisms yet. Nothing new goes here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from understudy.domain.cell_tree import Partition
from understudy.domain.domain import Domain
from understudy.engine import Engine, ExactCells
from understudy.engine.coding import Codes
from understudy.errors import NotPrivateError
from understudy.features.column_draws import Drawn
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.gate import Gate, Measured
from understudy.privacy.mechanisms.counts.noisy_table import query_of
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.noise.distributions import NoiseLaw
from understudy.privacy.noise.perturbation import Law, Mode, count_sensitivity, words
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Bins, Groups, Released
from understudy.schema import Schema

PSEUDO_POSTERIOR = "pseudo posterior"
POSTERIOR = "posterior"
AS_THEY_STAND = "as they stand"
_KINDS = {
    PSEUDO_POSTERIOR: Unpaid.WEIGHTED_POSTERIOR,
    POSTERIOR: Unpaid.POSTERIOR,
    AS_THEY_STAND: Unpaid.AS_THEY_STAND,
}


class Door(Gate):
    """What the verbs of the gate share."""

    @property
    def own_schema(self) -> Schema:
        """The private copy."""
        return self._rows.view.schema

    @property
    def _secret_engine(self) -> Engine:
        return self._rows.engine

    @property
    def _secret_randomness(self) -> Randomness:
        return self._source

    @property
    def _secret_confide(self) -> Any:
        return self._rows._secret_tell

    def _remembered(self, what: str, kind: Callable[[], Any]) -> Any:
        return self._rows.memory(Door).setdefault(what, kind())

    @property
    def _secret_posteriors(self) -> dict[str, Any]:
        return self._remembered("posteriors", dict)

    @property
    def _open(self) -> dict[tuple[str, ...], Released[Mapping[str, Drawn]]]:
        return self._remembered("open", dict)

    @property
    def _drawn_from(self) -> list[str]:
        return self._remembered("drawn", list)

    @property
    def _printed(self) -> list[float]:
        return self._promise._printed

    def guarantee(self) -> Guarantee:
        """As in `Gate`."""
        for entry in self.ledger:
            if entry.spent is None and entry.mechanism in _KINDS:
                self._promise.charged(entry.number, _KINDS[entry.mechanism])
        return super().guarantee()

    def _places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return self._rows.view.places(names)

    def _sparse_domain(self, columns: tuple[str, ...]) -> Domain:
        return self._rows.view.sparse_domain(columns)

    def _tree_domain(self, partition: Partition) -> Domain:
        return self._rows.view.tree_domain(partition)

    def _secret_rows(self) -> list[Codes]:
        return self._rows.states()

    def _secret_cells(self) -> ExactCells:
        return self._rows.cells(self.own_schema.names)

    def _calibrate(self, law: LawName, spend: Fraction) -> NoiseLaw:
        return self._terms.calibrated(law, spend)

    def _require_unlimited(self, what: str = "publishes exact statistics") -> None:
        if not self._allow_nonprivate:
            raise NotPrivateError(
                f"This method {what}; it needs allow_nonprivate=True, and its release is stamped "
                "not private."
            )

    def _charge(
        self,
        spend: Fraction,
        mechanism: str,
        query: str,
        law: Law,
        cells: int,
        *,
        mode: Mode = "strict",
    ) -> int:
        return self._ledger.charge(
            spend,
            mechanism,
            query,
            sensitivity=count_sensitivity(law, self.neighbours, mode),
            noise=words(law),
            cells=cells,
        )

    def _declared_rows(self) -> Released[int]:
        return self.n_rows

    def _bins_of(self, columns: tuple[str, ...]) -> Bins:
        return self._rows.view.bins_of(columns)

    def _groups_of(self, columns: tuple[str, ...]) -> Groups:
        return self._rows.view.groups_of(columns)

    def _said(self, **said: tuple[str, ...]) -> None:
        nothing: dict[str, Any] = {"conditions": (), "unproved": (), "leaks": (), "printed": ()}
        self._promise.add(SimpleNamespace(**nothing | said))

    def _under(self, condition: str) -> None:
        self._said(conditions=(condition,))

    def _suppose(self, condition: str) -> None:
        self._said(unproved=(condition,))

    def _concede(self, leak: str) -> None:
        self._said(leaks=(leak,))


__all__ = [
    "AS_THEY_STAND",
    "POSTERIOR",
    "PSEUDO_POSTERIOR",
    "Door",
    "Measured",
    "query_of",
]
