"""What is asked of a map, checked from public facts alone before any row is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.arguments import require_list, require_mapping, require_number, require_whole
from understudy.errors import BudgetError, MethodError, nearest, suggestion
from understudy.evaluation.utility.losses import LOSSES
from understudy.extras import require_extra
from understudy.methods import METHODS
from understudy.methods.configuration import configure
from understudy.pipeline.budget_shares import DEFAULT_ROWS_SHARE
from understudy.pipeline.request import request_of
from understudy.privacy.accounting.budget import Budget, Number, decimal_up
from understudy.risk_utility.risk_axis import RISKS
from understudy.schema import Schema
from understudy.schema.given_schema import given_schema
from understudy.schema.ledger_binding import LedgerBinding


@dataclass(frozen=True)
class Setting:
    """One point of a map.

    Attributes:
        method: its name.
        epsilon: the budget; None for a method without a guarantee, which has none.
    """

    method: str
    epsilon: Fraction | None

    @property
    def words(self) -> str:
        """The budget as text; "" where there is none."""
        return "" if self.epsilon is None else decimal_up(self.epsilon)


@dataclass(frozen=True)
class Design:
    """A map as it was asked for.

    Attributes:
        schema: the public schema.
        methods: names, each once.
        options: method → its options.
        epsilons: budgets, ascending, each once.
        delta: δ of every release.
        repetitions: releases at each point.
        risk: a name of `RISKS`.
        utility: names of `understudy.evaluation.utility.losses.LOSSES`.
        holdout: share of the rows that are held out for a measured risk.
        keys: columns that an intruder knows.
        secrets: columns that an intruder wants to know.
        seed: everything random follows from it.
    """

    schema: Schema
    methods: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    epsilons: tuple[Fraction, ...]
    delta: Fraction
    repetitions: int
    risk: str
    utility: tuple[str, ...]
    holdout: float
    keys: tuple[str, ...]
    secrets: tuple[str, ...]
    seed: int

    @classmethod
    def of(
        cls,
        schema: Schema | str | Path,
        *,
        methods: Sequence[str],
        epsilons: Sequence[Number],
        delta: Number = 0,
        repetitions: int = 5,
        risk: str = "epsilon",
        utility: Sequence[str] = ("two-way",),
        holdout: float = 0.2,
        keys: Sequence[str] = (),
        secrets: Sequence[str] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int = 0,
    ) -> Design:
        """Check what was asked; arguments as in `tradeoff`.

        Raises:
            SchemaError: not reviewed.
            MethodError: an unknown method, option, risk, loss or column, or a number out of range.
            BudgetError: not a budget.
        """
        schema = given_schema(schema)
        schema.require_reviewed()
        chosen = options or {}
        require_mapping("options", chosen, MethodError, '{"laplace": {"form": "dense"}}')
        require_list("epsilons", epsilons, BudgetError, "[0.1, 1]")
        require_number("holdout", holdout, MethodError, 0.2)
        _require_methods(methods, chosen)
        if not epsilons:
            raise MethodError("A map needs at least one ε.")
        budgets = [Budget.of(epsilon, delta) for epsilon in epsilons]
        _require_known("risk", [risk], RISKS)
        _require_known("utility", utility, LOSSES)
        if "specks" in utility:
            require_extra("evaluate", "The loss specks")
        _require_numbers(repetitions, seed, holdout)
        _require_columns(schema, keys, secrets)
        known = tuple(keys)
        if RISKS[risk].needs_secrets and not known:
            known = tuple(name for name in schema.names if name not in secrets)
        RISKS[risk].require(known, tuple(secrets))
        return cls(
            # Its releases stay inside, and are entered together as one internal use.
            schema=schema.model_copy(update={"ledger": LedgerBinding()}),
            methods=tuple(dict.fromkeys(methods)),
            options={name: dict(given) for name, given in chosen.items()},
            epsilons=tuple(sorted({budget.epsilon for budget in budgets})),
            delta=budgets[0].delta,
            repetitions=repetitions,
            risk=risk,
            utility=tuple(dict.fromkeys(utility)),
            holdout=float(holdout),
            keys=known,
            secrets=tuple(secrets),
            seed=seed,
        )

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All points of the map, method by method."""
        return tuple(
            Setting(method, epsilon)
            for method in self.methods
            for epsilon in (self.epsilons if is_private(method) else (None,))
        )

    def cost(self, setting: Setting) -> Budget | None:
        """What a release of a point may spend at most; None for one without a guarantee."""
        if setting.epsilon is None:
            return None
        return Budget.of(setting.epsilon, self.delta, "gdp")

    def refusal(self, setting: Setting) -> str:
        """Why a method cannot be run so, as the schema alone tells; "" if it can."""
        try:
            request = request_of(
                self.schema,
                method=setting.method,
                epsilon=self.budget(setting),
                delta=self.delta,
                sets=1,
                options=self.options.get(setting.method),
                rows_share=DEFAULT_ROWS_SHARE,
            )
            request.tables()
            request.setup()
        except MethodError as error:
            return str(error)
        return ""

    def budget(self, setting: Setting) -> Fraction:
        """ε that is asked for; a method that has none is asked with any."""
        return Fraction(1) if setting.epsilon is None else setting.epsilon


def is_private(method: str) -> bool:
    """Whether a method has a guarantee at all, so that ε means something."""
    return method not in METHODS or METHODS[method].private


def _require_methods(methods: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> None:
    if not methods or isinstance(methods, str):
        raise MethodError("A map needs at least one method, as a list of names.")
    for name, given in options.items():
        require_mapping(f"options of {name}", given, MethodError, '{"form": "dense"}')
    for name in methods:
        if name != "auto":
            configure(name, options.get(name, {}))
    for name in options:
        if name not in methods:
            raise MethodError(f"There are options for {name!r}, which is no method of this map.")


def _require_known(what: str, names: Sequence[str], known: Collection[str]) -> None:
    if not names or isinstance(names, str):
        raise MethodError(f"A map needs at least one {what}, as a list of names.")
    for name in names:
        if name not in known:
            hint = suggestion(name, known)
            raise MethodError(f"There is no {what} {name!r}{hint}; known: {', '.join(known)}.")


def _require_numbers(repetitions: int, seed: int, holdout: float) -> None:
    for what, value, least in (("repetitions", repetitions, 1), ("seed", seed, 0)):
        require_whole(what, value, MethodError, least=least)
    if not 0 < holdout < 1:
        raise MethodError("holdout must be a share between 0 and 1; the default is 0.2.")


def _require_columns(schema: Schema, keys: Sequence[str], secrets: Sequence[str]) -> None:
    for what, names in (("keys", keys), ("secrets", secrets)):
        if isinstance(names, str):
            raise MethodError(f"{what} must be a list of columns.")
        for name in names:
            if name not in schema.names:
                close = nearest(name, schema.names)
                hint = f"did you mean {close!r}?" if close else "it is not in the schema."
                raise MethodError(f"{what} names {name!r}, which is no column; {hint}")
    both = [name for name in keys if name in secrets]
    if both:
        raise MethodError(f"{both[0]!r} cannot be both a key and a secret.")
