"""Histograms of two numbers within each cell of a table, for many repetitions.

The numbers of bins follow Scott's rule in every cell, with the cell's own standard deviations (the
paper's rule, and a leak). So histograms differ in shape between cells and repetitions; those of one
shape go together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy._arrays import Integers
from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.papers import bayesian_models
from understudy.papers.histograms import scott_bins
from understudy_studies.bowen_liu_2020.mixed.description import Described
from understudy_studies.bowen_liu_2020.mixed.population import BOUNDS, CELLS, NUMBERS, WIDTH, Data
from understudy_studies.framework.interval_tally import Values
from understudy_studies.measures.grouped_histograms import bin_shares

BINS, SIDES = "bins of cell", "bins of number"
"""Bins of a cell, and of one number in it."""


def bins_of(data: Data, exact: Described) -> Integers:
    """Numbers of bins of both numbers in every cell, shape (repetitions, 24, 2); 1 at least.

    A cell with fewer than two records has one bin.
    """
    places = data.places
    size = len(data.cells) * CELLS
    counts = np.maximum(exact.counts, 1)[..., None]
    means = (exact.sums / counts).reshape(size, NUMBERS)
    residuals = data.values.reshape(-1, NUMBERS) - means[places]
    squares = np.stack(
        [np.bincount(places, weights=residuals[:, j] ** 2, minlength=size) for j in range(NUMBERS)],
        axis=1,
    ).reshape(*exact.counts.shape, NUMBERS)
    deviations = np.sqrt(squares / np.maximum(counts - 1, 1))
    return scott_bins(WIDTH, deviations, counts, NUMBERS)


def numbers_of_bins(data: Data, exact: Described) -> Iterator[tuple[str, int, int]]:
    """How often a cell has how many bins: of which cell and number, bins, repetitions."""
    sides = bins_of(data, exact)
    for cell in range(CELLS):
        kinds = {f"{BINS} {cell + 1}": sides[:, cell].prod(axis=-1)}
        kinds |= {f"{SIDES} {j + 1}, {cell + 1}": sides[:, cell, j] for j in range(NUMBERS)}
        for name, numbers in kinds.items():
            for bins, n in zip(*np.unique(numbers, return_counts=True), strict=True):
                yield name, int(bins), int(n)


def records(
    data: Data,
    exact: Described,
    table: Values,
    *,
    scale: float,
    rng: np.random.Generator,
    randomness: Randomness,
) -> tuple[Integers, Values]:
    """Synthetic records of all sets, in no order of use.

    Args:
        data: confidential records.
        exact: their sums.
        table: noisy counts of the cells, shape (repetitions, m, 24).
        scale: of the noise in every bin.
        rng: for post-processing.
        randomness: for privacy noise.

    Returns:
        Place 24 · set + cell of each record, shape (records,), and its numbers, (records, 2).
    """
    sets = table.shape[1]
    sizes = bayesian_models.predict_multinomial(bin_shares(table), data.cells.shape[1], rng)
    shapes = bins_of(data, exact).reshape(-1, NUMBERS)
    found: list[tuple[Integers, Values]] = []
    for shape in np.unique(shapes, axis=0):
        # Histograms of this shape: one for each of some pairs of a repetition and a cell.
        pairs = np.flatnonzero((shapes == shape).all(axis=1))
        repetition, cell = np.divmod(pairs, CELLS)
        counts = _counted(data, pairs, shape)
        repeated = np.repeat(counts[:, None], sets, axis=1)
        shares = bin_shares(perturb(repeated, ContinuousLaplace(scale), randomness))
        drawn = rng.multinomial(sizes[repetition, :, cell], shares)
        place = (repetition[:, None] * sets + np.arange(sets)) * CELLS + cell[:, None]
        found.append(_spread(place, drawn, shape, rng))
    places, values = zip(*found, strict=True)
    return np.concatenate(places), np.concatenate(values)


def _counted(data: Data, pairs: Integers, shape: Integers) -> Integers:
    """Counts of the bins, in C order, shape (pairs, bins), for some cells of some repetitions."""
    number = np.full(len(data.cells) * CELLS, -1)
    number[pairs] = np.arange(len(pairs))
    owner = number[data.places]
    mine = owner >= 0
    scaled = (data.values.reshape(-1, NUMBERS)[mine] - BOUNDS[0]) * (shape / WIDTH)
    states = np.minimum(scaled.astype(np.int64), shape - 1)
    n_bins = int(shape.prod())
    flat = (owner[mine] * shape[0] + states[:, 0]) * shape[1] + states[:, 1]
    return np.bincount(flat, minlength=len(pairs) * n_bins).reshape(len(pairs), n_bins)


def _spread(
    place: Integers, drawn: Integers, shape: Integers, rng: np.random.Generator
) -> tuple[Integers, Values]:
    """Records uniform within their bins."""
    number = drawn.ravel()
    places = np.repeat(np.repeat(place.ravel(), drawn.shape[-1]), number)
    bins = np.repeat(np.tile(np.arange(drawn.shape[-1]), place.size), number)
    states = np.stack(np.divmod(bins, shape[1]), axis=1)
    values = (states + rng.random(states.shape)) * (WIDTH / shape) + BOUNDS[0]
    return places, values
