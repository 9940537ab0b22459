"""What two groups have of a number: records, their sum, and squares; noisy, or as shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.inverted import require_firm
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.two_way.noisy_cells import NoisyCells

_AGREE = np.array([[1.0, 1, 0, 0, 0, -1, 0], [0, 0, 1, 1, 0, 0, -1]])


@dataclass(frozen=True)
class GroupSums:
    """Sizes, sums and squares of a number in two groups.

    Attributes:
        sizes: n_g, shape (2,).
        totals: S_g, shape (2,).
        squares: Σ y² of both groups.
        noise: covariance of the noise in sizes, totals and squares, shape (5, 5).
        off: how far these may lie off by where numbers lie within cells, a column for each sum that
            cells leave open, shape (5, sums).
    """

    sizes: Floats
    totals: Floats
    squares: float
    noise: Floats
    off: Floats = field(default_factory=lambda: np.zeros((5, 0)))

    @property
    def means(self) -> Floats:
        """Mean of each group, shape (2,)."""
        return np.asarray(self.totals / self.sizes)

    @property
    def within(self) -> float:
        """W."""
        return float(self.squares - (self.totals**2 / self.sizes).sum())

    @property
    def within_slopes(self) -> Floats:
        """Derivatives of W, shape (5,)."""
        return np.array([*self.means**2, *(-2 * self.means), 1.0])


@dataclass(frozen=True)
class Shown:
    """Both groups as the synthetic records have them, or as counts have.

    Attributes:
        group: of each record, or class of records, 0 or 1, shape (N,).
        value: y, shape (N,).
        weight: records that each stands for, shape (N,).
    """

    group: Integers
    value: Floats
    weight: Floats

    @property
    def sums(self) -> GroupSums:
        """Sizes, sums and squares of these records, free of noise."""
        sizes = np.asarray(np.bincount(self.group, self.weight, 2), dtype=np.float64)
        totals = np.asarray(np.bincount(self.group, self.weight * self.value, 2), dtype=np.float64)
        squares = float(self.weight @ self.value**2)
        return GroupSums(sizes, totals, squares, np.zeros((5, 5)))


def counted_sums(cells: NoisyCells, values: Floats) -> GroupSums:
    """Sums from counts of the values of the outcome.

    Args:
        cells: counts of each value by group, shape (k, 2).
        values: numbers, shape (k,).
    """
    k = len(values)
    maps = np.zeros((5, k, 2))
    for group in range(2):
        maps[group, :, group], maps[2 + group, :, group] = 1.0, values
    maps[4] = (values**2)[:, None]
    flat = maps.reshape(5, -1)
    sums = flat @ cells.counts.reshape(-1)
    return GroupSums(sums[:2], sums[2:4], float(sums[4]), flat @ cells.noise @ flat.T)


def moment_sums(matrix: MomentMatrix, value: Floats, present: Floats, groups: Floats) -> GroupSums:
    """Sums from second moments.

    Sizes and sums of both groups were measured, and so were those of all records: they are made to
    agree by generalised least squares, which takes noise off all of them.

    Args:
        matrix: in which every record has a group.
        value: weights of the outcome, 0 for a record without one, shape (s + 1,).
        present: weights of whether a record has an outcome, shape (s + 1,).
        groups: weights of the indicators of both groups, shape (2, s + 1).
    """
    left = np.stack([present, present, value, value, value, present, value])
    right = np.stack([*groups, *groups, value, present, present])
    numbers = np.array(
        [matrix.form(a[None], b[None])[0, 0] for a, b in zip(left, right, strict=True)]
    )
    derivatives = left[:, :, None] * right[:, None, :]
    noise, off = matrix.noise_covariance(derivatives), matrix.cell_offsets(derivatives)
    gain = noise @ _AGREE.T @ np.linalg.pinv(_AGREE @ noise @ _AGREE.T, hermitian=True)
    numbers, noise = numbers - gain @ _AGREE @ numbers, noise - gain @ _AGREE @ noise
    off = off - gain @ _AGREE @ off
    return GroupSums(numbers[:2], numbers[2:4], float(numbers[4]), noise[:5, :5], off[:5])


def require_groups(sums: GroupSums, drawn: Sequence[Shown]) -> list[Shown]:
    """Refuse groups that noise hides, by what the synthetic records have.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.

    Returns:
        The sets that have both groups.

    Raises:
        LostInNoiseError: a group is not clearly above 0 under its noise.
    """
    kept = [shown for shown in drawn if (shown.sums.sizes > 0).all()]
    if not kept:
        raise LostInNoiseError("No synthetic record is in one of the groups; merge it with others.")
    sizes = np.mean([each.sums.sizes for each in kept], axis=0)
    require_firm(sizes, np.diag(sums.noise)[:2], "A group is too small under the privacy noise")
    return kept
