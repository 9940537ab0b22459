"""Several measurements of second moments, put together number by number.

Each was paid for by itself, so its noise is independent of that of the others. Every released
number estimates one sum over records, and two measurements may have the same one: of the same
scores, among records that differ at most in those where the scores are 0 anyway. Generalised least
squares of all that was released is then the mean of each number by precision, and noise stays
independent from number to number.

**Which numbers are the same.** Scores of a column are known by what they are of each of its states,
which follows from the column, from whether absent values are left out, and from the unit of the
budget; weights of sums are divided out before. Where a value of the columns C must be there to
count, a score of column c is 0 wherever c is absent. So the sum over records with all of C, of
something that is 0 without columns E, is the sum over records with all of C but E. Measurements
with the columns C and C' have the same number of E wherever C and C' differ in columns of E alone:
the products of income and age among those who told their income are the products among all.

A question about a, b and c needs the numbers of each pair. Where no measurement has one of the
pairs, there is no answer, whatever the others have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import Scores
from understudy.inference.moments.moment_basis import FREE
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.release import Measurement
from understudy.schema import Schema

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class MomentSource:
    """What one measurement has.

    Attributes:
        scores: of its columns.
        numbers: as released, sums divided by their weight, in records, shape (numbers,).
        variances: of the noise in them, same shape.
        pure: whether its budget had no δ, so that levels have indicators and not contrasts.
    """

    scores: Scores
    numbers: Floats
    variances: Floats
    pure: bool = False

    @classmethod
    def of(cls, measurement: Measurement, schema: Schema) -> MomentSource:
        """What a measurement of the kind `Kind.PRODUCTS` has.

        Args:
            measurement: of a release.
            schema: of the release.
        """
        values = np.asarray(measurement.counts, dtype=np.float64)
        pure = measurement.family.is_laplace
        return cls.from_values(measurement.scores(schema), values, measurement.stddev, pure=pure)

    @classmethod
    def from_values(
        cls, scores: Scores, values: Floats, stddev: float, *, pure: bool
    ) -> MomentSource:
        """What numbers as they are released have.

        Args:
            scores: of the columns.
            values: with weights (`NoisyProducts.values`), shape (numbers,).
            stddev: of the noise in each.
            pure: whether the budget had no δ.
        """
        weights = scores.order.weights(float(scores.weight))
        return cls(scores, values / weights, (stddev / weights) ** 2, pure)

    def part(self, columns: Sequence[str]) -> MomentSource:
        """What it has of some columns, with all of those of which values must be there."""
        scores, kept = self.scores.part(columns)
        return MomentSource(scores, self.numbers[kept], self.variances[kept], self.pure)


def joined_matrix(
    sources: Sequence[MomentSource],
    schema: Schema,
    columns: Sequence[str],
    n: tuple[float, float],
) -> MomentMatrix | None:
    """The matrix of some columns from all that was measured; None if a number is lacking.

    That of the very records that have a value of each column is taken first; else that of all.

    Args:
        sources: measurements.
        schema: of the release.
        columns: of the question.
        n: number of records, and the standard deviation of the noise in it.
    """
    names = tuple(name for name in schema.names if name in columns)
    coded = tuple(name for name in names if schema.columns[name].codes)
    parts = list(_parts(sources, names))
    for complete in dict.fromkeys((coded, ())):
        for pure in sorted({source.pure for source in parts}):
            scores = Scores.of(schema, names, complete, pure=pure)
            numbers, variances = averaged(scores, parts)
            if np.isfinite(variances).all():
                return MomentMatrix.of(scores, schema, numbers, variances, n)
    return None


def averaged(scores: Scores, sources: Sequence[MomentSource]) -> tuple[Floats, Floats]:
    """The numbers of some scores, each the mean by precision of those that sources have.

    Args:
        scores: whose numbers are wanted.
        sources: measurements.

    Returns:
        Numbers and their variances, infinite where no source has one, each of shape (numbers,).
    """
    numbers, variances = np.zeros(scores.size), np.full(scores.size, np.inf)
    for source in sources:
        at = _places(source.scores, scores)
        known = at != FREE
        improve(numbers, variances, at[known], source.numbers[known], source.variances[known])
    return numbers, variances


def improve(
    numbers: Floats, variances: Floats, at: Integers, values: Floats, noise: Floats
) -> None:
    """Average some numbers, in place, with others of independent noise, by precision.

    Args:
        numbers: to be improved, shape (numbers,).
        variances: of the noise in them, infinite where nothing is known yet, same shape.
        at: places of those that are known again.
        values: what they are there, shape of `at`.
        noise: variances of these, same shape.
    """
    before = variances[at]
    new = np.isinf(before)
    both = np.where(new, 1.0, before + noise)
    weight = np.where(new, 1.0, np.divide(before, both, out=np.zeros_like(both), where=both > 0))
    numbers[at] += weight * (values - numbers[at])
    variances[at] = np.where(new, noise, weight * noise)


def _parts(sources: Sequence[MomentSource], columns: Sequence[str]) -> Iterator[MomentSource]:
    """What sources have of some columns; nothing where a value of other columns must be there."""
    for source in sources:
        common = set(source.scores.columns) & set(columns)
        if common and set(source.scores.complete) <= common:
            yield source.part(tuple(common))


def _places(own: Scores, wanted: Scores) -> Integers:
    """Where the numbers of some scores stand among those of others; `FREE` where they do not."""
    score = _same_scores(own, wanted)
    counted, sums, products, squares, coded = wanted.order.places
    pair = np.full((len(wanted) + 1,) * 2, FREE, dtype=np.int64)  # the last row for no score
    first, second = wanted.pairs
    pair[first, second] = pair[second, first] = products
    square = dict(zip(wanted.numbers.tolist(), squares.tolist(), strict=True))
    by_code = {
        (one.place, one.column, one.state): at
        for at, one in zip(coded.tolist(), wanted.coded, strict=True)
    }
    found = own.order.joined(
        (
            counted if len(counted) else np.array([FREE]),
            np.append(sums, FREE)[score],
            pair[score[own.pairs[0]], score[own.pairs[1]]],
            _looked_up(square, score[own.numbers].tolist()),
            _looked_up(by_code, [(int(score[s.place]), s.column, s.state) for s in own.coded]),
        )
    )
    return np.where(_among_the_same(own, wanted), found, FREE)


def _looked_up(places: Mapping[Key, int], keys: Sequence[Key]) -> Integers:
    return np.array([places.get(key, FREE) for key in keys], dtype=np.int64)


def _same_scores(own: Scores, wanted: Scores) -> Integers:
    """Which of the wanted scores each is; `FREE` for none."""
    known = {_identity(wanted, place): place for place in range(len(wanted))}
    same = [known.get(_identity(own, place), FREE) for place in range(len(own))]
    return np.array(same, dtype=np.int64)


def _identity(scores: Scores, place: int) -> tuple[str, bool, bytes]:
    """What tells a score from others: its column, and what it is of each state."""
    score = scores.each[place]
    first = scores.places(score.column)[0]
    return score.column, score.number, scores.tables[score.column][:, place - first].tobytes()


def _among_the_same(own: Scores, wanted: Scores) -> NDArray[np.bool_]:
    """Whether numbers are sums over the same records, but for some where they are 0."""
    differing = set(own.complete) ^ set(wanted.complete)
    held = np.array([one.column in differing for one in own.each], dtype=np.int64)
    first, second = own.pairs
    coded = np.array([square.place for square in own.coded], dtype=np.int64)
    none, products = np.zeros(1, dtype=np.int64), held[first] + held[second]
    of = own.order.joined((none, held, products, held[own.numbers], held[coded]))
    return np.asarray(of == len(differing))
