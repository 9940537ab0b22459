"""A synthesizer in the manner of scikit-learn: `fit` pays once, `sample` never again."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from understudy.dp.budget import Number
from understudy.errors import MethodError, suggestion
from understudy.release.decoding import FrameKind
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.workflow.options import (
    RunOptions,
    SynthesisOptions,
    SynthesizeKeywords,
    gather,
    list_keywords,
)
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
        how: what is to be made of the budget. Use it instead of the keywords that are its fields.
        run: how the fit goes. Use it instead of the keywords that are its fields.
        **keywords: fields of `SynthesisOptions` and `RunOptions`, as for `synthesize`.

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

    @list_keywords(SynthesizeKeywords)
    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        epsilon: Number,
        delta: Number = 0,
        how: SynthesisOptions | None = None,
        run: RunOptions | None = None,
        **keywords: Unpack[SynthesizeKeywords],
    ) -> None:
        gather("Synthesizer", SynthesizeKeywords, keywords, how=how, run=run)  # which refuses
        given: dict[str, Any] = {"schema": schema, "epsilon": epsilon, "delta": delta}
        for name, kind, made in (("how", SynthesisOptions, how), ("run", RunOptions, run)):
            if made is None:
                given |= {one.name: one.default for one in fields(kind)}
            else:
                given[name] = made
        # As given, so that whoever clones it finds the very same objects.
        given |= keywords
        vars(self).update(given)
        self._names = tuple(given)

    def __repr__(self) -> str:
        """One line."""
        state = repr(self.release_) if self._fitted else "not fitted"
        given = vars(self)
        method = vars(given.get("how", self))["method"]
        return f"Synthesizer({method}, ε = {given['epsilon']}, δ = {given['delta']}: {state})"

    def __sklearn_tags__(self) -> Any:
        """Say what it takes: whole tables with gaps and texts, and no target. Only sklearn asks."""
        from sklearn.utils import InputTags, Tags, TargetTags

        table = InputTags(two_d_array=False, categorical=True, string=True, allow_nan=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=table)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what it was made with, by name.

        Args:
            deep: has no effect, since nothing in it has parameters of its own.
        """
        return {name: getattr(self, name) for name in self._names}

    def set_params(self, **params: Any) -> Synthesizer:
        """Change what it will be fitted with.

        Raises:
            MethodError: an unknown name, or it is fitted already.
        """
        self._require_new("a fit with other parameters")
        for name in params:
            if name not in self._names:
                raise MethodError(f"A Synthesizer has no {name!r}{suggestion(name, self._names)}.")
        vars(self).update(params)
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
        given = self.get_params()
        on = {name: given.pop(name) for name in ("schema", "epsilon", "delta")}
        objects = {name: given.pop(name, None) for name in ("how", "run")}
        how, run = gather("Synthesizer", SynthesizeKeywords, given, **objects)
        require_more(request_of(**on, how=how))
        self.release_: Release = synthesize(X, **on, how=how, run=run)
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
