"""More records of a release, drawn from the model that its sets were drawn from.

The model is a function of what was released (`understudy.pipeline.bootstrap.model_of`), so that
whoever has the folder draws from it as often as they like: no row is near, and nothing is spent.
For the same reason it brings nothing new. However many records are drawn, they know what the noisy
measurements know; a mean over a million of them has the error of those.

Records are drawn in batches. Of each batch those are kept that fit the condition, which is drawing
from the model given the condition; where a model can be given states (`understudy.models.given`)
most of them fit. A batch has at least `LEAST` records, since numbers are spread over bins and runs
for all records of a table together, and a handful would not do.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.arguments import require_whole
from understudy.errors import MethodError
from understudy.families.measurement_plan import Form
from understudy.methods.configuration import configure
from understudy.models import Model
from understudy.models.given_states import given
from understudy.models.model import impossible
from understudy.pipeline.bootstrap import model_of, rebuildable, request_again
from understudy.pipeline.number_places import Placing, placed, places_of
from understudy.pipeline.record_condition import Condition
from understudy.pipeline.request import Request
from understudy.release import Release
from understudy.release.decoding import FrameKind, cells_of, require_frame, to_frame, written
from understudy.release.fresh_identifiers import identified
from understudy.release.release import given_release
from understudy.release.synthetic_sets import PART_ROWS
from understudy.schema.derived_columns import Cells

LEAST: Final = 2**14
RAREST: Final = 10_000
"""Of so many records drawn, at least one must fit the condition."""
_TRIED: Final = 2**20
"""Records that are drawn before that is judged."""


@dataclass(frozen=True, eq=False)
class ReleasedModel:
    """The model behind a release, made again from it.

    Attributes:
        release: the release.
        model: what its sets were drawn from.
        places: how numbers are placed in bins, by column.
    """

    release: Release
    model: Model
    places: Mapping[str, Placing]

    @classmethod
    def of(cls, release: Release) -> ReleasedModel:
        """Make it again.

        Raises:
            MethodError: the release does not hold it; says why, and which methods leave one.
        """
        manifest, schema = release.manifest, release.schema
        model = None
        if manifest.method in rebuildable():
            model = model_of(release, manifest.sets if manifest.sets_kind == "split" else 1)
        if model is None:
            raise MethodError(_refusal(manifest.method, why_not(request_again(release))))
        method = configure(manifest.method, manifest.options)
        rows = float(manifest.n_rows), manifest.inference.rows_stddev
        places = places_of(release.behind_sets, schema, rows, method)
        whole = model.sample(min(max(manifest.n_rows, LEAST), _TRIED), np.random.default_rng(0))
        at = {name: j for j, name in enumerate(schema.names)}
        settled = {name: own.settled(whole.states[at[name]]) for name, own in places.items()}
        return cls(release, model, settled)

    @property
    def note(self) -> str:
        """What goes with records that are drawn, in two sentences."""
        promise = self.release.guarantee.brief
        seeded = "NOT private (seeded noise), " * (not self.release.manifest.secure)
        return (
            f"Synthetic records drawn from the model of a release ({self.release.manifest.method}; "
            f"{seeded}{promise}). They are the same information as the release, and make no "
            "estimate more exact."
        )

    def frame(
        self, n: int, where: object = None, seed: int | None = None, kind: FrameKind | None = None
    ) -> Any:
        """Records as a data frame; arguments and errors are those of `sample`."""
        parts = [*self.parts(n, where, seed)]
        return self._noted(pl.concat(parts), kind or self.release.frame)

    def parts(
        self, n: int, where: object = None, seed: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Records in parts, none too long to hold; arguments and errors are those of `sample`."""
        require_whole("n", n, MethodError, least=0)
        if seed is not None:
            require_whole("seed", seed, MethodError, least=0)
        condition = Condition.of(where, self.release.schema)
        model = self._given(condition)
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
        return self._drawn(n, condition, model, rng)

    def _given(self, condition: Condition) -> Model:
        """The model, told what it can be told of a condition.

        Raises:
            MethodError: no record fits.
        """
        evidence = condition.evidence
        if any(not mask.any() for mask in evidence.values()):
            raise MethodError(f"No value that the schema allows fits {condition.text}; widen it.")
        domain = self.release.schema.domain
        ones = [np.ones(size) * evidence.get(j, True) for j, size in enumerate(domain.sizes)]
        if not domain.has_weight(ones):
            raise MethodError(
                f"The schema forbids every record that fits {condition.text}; widen it."
            )
        model = given(self.model, evidence)
        if model is None:
            raise MethodError(
                f"The model of the release has no record that fits {condition.text}; widen it."
            )
        return model

    def _drawn(
        self, n: int, condition: Condition, model: Model, rng: np.random.Generator
    ) -> Iterator[pl.DataFrame]:
        """Batches until there are enough."""
        schema = self.release.schema
        left, tried, found = n, 0, 0
        while True:
            size = int(np.clip(1.1 * left * max(tried, 1) / max(found, 1), LEAST, PART_ROWS))
            cells = self._batch(size, condition, model, rng)
            fitting = np.flatnonzero(condition.holds(cells))
            tried, found = tried + size, found + len(fitting)
            yield identified(written(_taken(cells, fitting[:left]), schema), schema, n - left)
            left -= min(left, len(fitting))
            if not left:
                return
            if tried >= _TRIED and found * RAREST < tried:
                raise MethodError(
                    f"Of {tried:,} records drawn from the model {found:,} fit {condition.text}, "
                    f"fewer than one in {RAREST:,}; widen it."
                )

    def _batch(
        self, size: int, condition: Condition, model: Model, rng: np.random.Generator
    ) -> dict[str, Cells]:
        """Records in random order, but for those whose states do not fit."""
        schema = self.release.schema
        drawn = model.sample(size, rng)
        values = placed(self.places, schema, drawn, rng)
        fit = np.ones(size, dtype=np.bool_)
        fit[impossible(schema.domain, drawn.states)] = False
        for j, mask in condition.evidence.items():
            fit &= mask[drawn.states[j]]
        rows = rng.permutation(np.flatnonzero(fit))
        kept = {name: numbers[rows] for name, numbers in values.items()}
        return cells_of([column[rows] for column in drawn.states], schema, rng, kept)

    def _noted(self, table: pl.DataFrame, kind: FrameKind) -> Any:
        """A data frame that says what it is, where its kind has a place for that."""
        frame = to_frame(table, self.release.schema, kind)
        if kind == "pandas":
            frame.attrs["understudy"] = self.note
        if kind == "arrow":
            frame = frame.replace_schema_metadata({"understudy": self.note})
        return frame


def why_not(request: Request) -> str:
    """Why no more records can be drawn from a release; "" if they can. From public facts alone.

    Args:
        request: what the release is, or would be, made by.
    """
    if request.draws_records:
        return "drawing records is what its budget pays for, so that more would cost more"
    forms = {step.form for step in request.tables()}
    if request.name not in rebuildable() or forms & {Form.FILTERED, Form.LAZY}:
        return _NOT_KEPT
    return ""


def require_more(request: Request) -> None:
    """Refuse a request whose release would give no more records than its sets.

    Raises:
        MethodError: says why, and which methods would.
    """
    if why := why_not(request):
        raise MethodError(_refusal(request.name, why))


def sample(
    release: Release | str | Path,
    n: int,
    *,
    where: object = None,
    seed: int | None = None,
    frame: FrameKind | None = None,
) -> Any:
    """Draw more records from the model of a release, or records that fit a condition; it is free.

    They are the same information as the release, under the same guarantee: nothing is read but what
    was released. So they make no estimate more exact, and pooling them with the sets gives no valid
    error bars (`analyze` does). Rules, relations and derived columns hold in every record.

    Args:
        release: a release, or the folder of one.
        n: how many, 0 or more.
        where: what they must be: an expression, "(age >= 30) & (sex == 'f')", a list of such, or
            columns with a value, a list of values or a range of two each,
            {"sex": "f", "age": (30, 40)} (`understudy.pipeline.record_condition`). Records are
            those of the model given the condition.
        seed: fixes the records; another one each time if None.
        frame: kind of data frame; by default that of the release.

    Returns:
        A data frame, with the columns and types of the sets. What it is stands in `attrs` of
        pandas, and in the metadata of Arrow, under "understudy".

    Raises:
        MethodError: n, seed or condition cannot be; the condition is impossible, or fits fewer than
            one record in ten thousand; or the method of the release leaves no model in it, as those
            do whose drawing of records is what was paid for.
        ReleaseError: the folder is not a release, or an unknown kind of data frame.
    """
    if frame is not None:
        require_frame(frame)
    return ReleasedModel.of(given_release(release)).frame(n, where, seed, frame)


_NOT_KEPT: Final = "its model does not follow from what it releases"


def _refusal(method: str, why: str) -> str:
    return (
        f"No more records can be drawn from a release of {method}: {why or _NOT_KEPT}. Take its "
        f"sets, or one of the methods {', '.join(rebuildable())}."
    )


def _taken(cells: Mapping[str, Cells], rows: NDArray[np.int64]) -> dict[str, Cells]:
    return {
        name: Cells(one.states[rows], one.numbers[rows] if len(one.numbers) else one.numbers)
        for name, one in cells.items()
    }
