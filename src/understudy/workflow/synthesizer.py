"""A synthesizer in the manner of scikit-learn: `fit` pays once, `sample` never again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from understudy.dp.budget import Number
from understudy.errors import MethodError, suggestion
from understudy.release import Release
from understudy.release.decoding import FrameKind
from understudy.schema import Schema
from understudy.workflow.budget_shares import DEFAULT_ROWS_SHARE
from understudy.workflow.request import request_of
from understudy.workflow.sample import ReleasedModel, require_more
from understudy.workflow.synthesize import synthesize


class Synthesizer:
    r"""Fit once, sample as often as you like; a thin face of `synthesize` and `sample`.

    `get_params` and `set_params` are those of scikit-learn, whose `clone` gives a new one that is
    not fitted. One object is fitted once: fitting again would pay again, so it takes a new one.
    Methods whose drawing of records is what is paid for are refused before anything is read.

    Args:
        schema: a reviewed schema, or the path of its file.
        epsilon: ε of the fit.
        delta: δ of the fit.
        method: a name in the table of methods, or "auto".
        sets: number of synthetic tables in the release.
        options: options of the method.
        analyses: what the release is to answer, as for `synthesize`.
        ledger: URL or path of the ledger that governs the population of the rows.
        by: who spends, for that ledger.

    Attributes:
        release_: the release, once it is fitted: its guarantee, its sets, and `save`.

    Example:
        >>> schema = Schema.loads(
        ...     "n_rows = 300\nrows = 'public'\n[columns.a]\nkind = 'integer'\nlower = 0\n"
        ...     "upper = 1\nsource = 'law'\nreviewed = true\n"
        ... )
        >>> import pandas as pd
        >>> fitted = Synthesizer(schema, epsilon=1, method="independent").fit(
        ...     pd.DataFrame({"a": [0, 1, 1] * 100})
        ... )
        >>> fitted.sample(2, where={"a": 1})["a"].tolist(), fitted.release_.guarantee.brief
        ([1, 1], 'pure, ε = 1')
    """

    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        epsilon: Number,
        delta: Number = 0,
        method: str = "auto",
        sets: int = 1,
        options: Mapping[str, Any] | None = None,
        analyses: object = None,
        ledger: str | Path | None = None,
        by: str | None = None,
    ) -> None:
        # As given, so that whoever clones it finds the very same objects; `fit` checks them.
        self.schema, self.epsilon, self.delta, self.method = schema, epsilon, delta, method
        self.sets, self.options, self.analyses = sets, options, analyses
        self.ledger, self.by = ledger, by

    def __repr__(self) -> str:
        """One line."""
        state = repr(self.release_) if self._fitted else "not fitted"
        return f"Synthesizer({self.method}, ε = {self.epsilon}, δ = {self.delta}: {state})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what it was made with, by name.

        Args:
            deep: has no effect, since nothing in it has parameters of its own.
        """
        return {name: getattr(self, name) for name in _NAMES}

    def set_params(self, **params: Any) -> Synthesizer:
        """Change what it will be fitted with.

        Raises:
            MethodError: an unknown name, or it is fitted already.
        """
        self._require_new("a fit with other parameters")
        for name in params:
            if name not in _NAMES:
                raise MethodError(f"A Synthesizer has no {name!r}{suggestion(name, _NAMES)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: object, y: object = None) -> Synthesizer:
        """Make the release of a confidential table, and pay for it.

        Args:
            X: the table, as for `synthesize`.
            y: has no effect; scikit-learn hands it in.

        Returns:
            Itself.

        Raises:
            MethodError: it is fitted already, or the method leaves no model to sample from; nothing
                was spent.
            UnderstudyError: as `synthesize`.
        """
        self._require_new("a second fit")
        how = {name: value for name, value in self.get_params().items() if name not in _SPENT_ON}
        require_more(request_of(**how, rows_share=DEFAULT_ROWS_SHARE))
        self.release_: Release = synthesize(X, **self.get_params())
        return self

    def sample(
        self,
        n: int = 1,
        *,
        where: object = None,
        seed: int | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """Draw records from what was fitted, for nothing; arguments and errors are `sample`'s.

        Raises:
            MethodError: it is not fitted, or as `sample`.
        """
        if not self._fitted:
            raise MethodError("The Synthesizer is not fitted yet; call fit with the table first.")
        return self._model.frame(n, where, seed, frame)

    @cached_property
    def _model(self) -> ReleasedModel:
        """Made again from the release, as whoever reads it would."""
        return ReleasedModel.of(self.release_)

    @property
    def _fitted(self) -> bool:
        return "release_" in vars(self)

    def _require_new(self, what: str) -> None:
        if self._fitted:
            raise MethodError(
                f"This Synthesizer is fitted, and {what} would pay once more; make a new one, as "
                "sklearn.base.clone does."
            )


_SPENT_ON = ("ledger", "by")
_NAMES = ("schema", "epsilon", "delta", "method", "sets", "options", "analyses", *_SPENT_ON)
