"""Parts of long sets: each drawn by itself, from seeds of its own.

What makes them holds released values and seeds alone. It can be pickled, so that other processes
make the same parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.models import Model, Sample
from understudy.models.model import drawn_in_parts, settled
from understudy.pipeline.number_places import Placing, placed
from understudy.privacy.noise.randomness import Randomness
from understudy.release.decoding import decode
from understudy.release.fresh_identifiers import identified
from understudy.release.synthetic_sets import part_sizes
from understudy.schema import Schema


@dataclass(frozen=True)
class Decoder:
    """What gives drawn records their values.

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
        numbers = placed(self.places, self.schema, drawn, rng)
        values = decode(drawn.states, self.schema, rng, numbers)
        # As Polars takes places, and column by column: there is no second copy of all.
        own = pl.Series(order.astype(np.uint32))
        # Polars takes some names for patterns ("^a$"), so a column has its own in the end alone.
        mixed = pl.DataFrame(
            [
                values.drop_in_place(name).alias("").gather(own).alias(name)
                for name in values.columns
            ]
        )
        return identified(mixed, self.schema, start)


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
    """

    models: Sequence[Model]
    whole: Mapping[int, Sample]
    sizes: tuple[int, ...]
    decoder: Decoder
    drawing: tuple[int, ...]
    mixing: tuple[int, ...]

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
        own = [settled(model, rng) for model in models]
        whole = {
            k: _chosen(model.sample(n_rows, rng), secret.permutation(n_rows))
            for k, model in enumerate(own)
            if not drawn_in_parts(model)
        }
        drawing, mixing = rng.integers(2**63, size=2).tolist(), secret.words(4).tolist()
        return cls(own, whole, part_sizes(n_rows), decoder, tuple(drawing), tuple(mixing))

    def __call__(self, k: int, i: int) -> pl.DataFrame:
        """The i-th part of the k-th set, both from 0; the same one each time."""
        rng = np.random.default_rng([*self.drawing, k, i])
        start, size = sum(self.sizes[:i]), self.sizes[i]
        drawn = (
            _chosen(self.whole[k], slice(start, start + size))
            if k in self.whole
            else self.models[k].sample(size, rng)
        )
        order = np.random.default_rng([*self.mixing, k, i]).permutation(size)
        return self.decoder.values(drawn, rng, order, start)


def _chosen(drawn: Sample, rows: NDArray[np.int64] | slice) -> Sample:
    """Some records, in an order."""
    values = {name: numbers[rows] for name, numbers in drawn.values.items()}
    return Sample([column[rows] for column in drawn.states], values)
