"""Where numbers are cut off by a number line: ``python benchmarks/cut_offs.py``.

Made columns from fixed seeds, each counted on its line with noise as five columns at (1, 1e-6) have
it, 40 times. Shown are the share of the numbers beyond the limits, in the mean and at worst, and
the range within them as a part of that within the bounds. The error is that of the mean: half an
interval by sampling and by the noise of second moments, which grows with the range, and how far
cutting off moves a number on average, over the same without limits. Constants of
`features.grids.find_limits` were chosen by it.
"""

from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from understudy._arrays import Floats
from understudy.features.grids import LineCells, find_limits, line_bins
from understudy.schema import Integer, Schema

SIZES = {1_000: 27.4, 5_000: 19.4, 50_000: 15.0}
"""Number of records, and the standard deviation of the noise in a cell."""
RUNS = 40
Draw = Callable[[np.random.Generator, int], Floats]
COLUMNS: dict[str, tuple[float, Draw]] = {
    "ages, even, 0 to 110": (110, lambda rng, n: rng.integers(18, 91, n).astype(float)),
    "ages, young, 0 to 120": (120, lambda rng, n: rng.normal(38, 16, n)),
    "incomes, 0 to 200,000": (200_000, lambda rng, n: rng.lognormal(10, 0.7, n)),
    "incomes, 0 to 10,000,000": (10_000_000, lambda rng, n: rng.lognormal(10, 0.7, n)),
    "days of a stay, 0 to 365": (365, lambda rng, n: rng.lognormal(1.5, 0.9, n)),
    "charges, 0 to 500,000": (500_000, lambda rng, n: rng.lognormal(9, 1.1, n)),
    "normal, 0 to 1,000": (1_000, lambda rng, n: rng.normal(500, 80, n)),
    "mostly 0, 0 to 10,000": (
        10_000,
        lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2, 500, n)),
    ),
}


def cells_of(upper: float) -> LineCells:
    """The line of whole numbers from 0."""
    entry = f'kind = "integer"\nlower = 0\nupper = {upper:.0f}\nsource = "made"\nreviewed = true'
    schema = Schema.loads(f"[columns.x]\n{entry}\n")
    column = schema.columns["x"]
    assert isinstance(column, Integer)
    return LineCells.of(schema.with_bins({"x": line_bins(column)}), "x")


def error(numbers: Floats, ends: tuple[float, float], stddev: float) -> float:
    """Half an interval of the mean, and how far a number is moved on average."""
    kept, n = np.clip(numbers, *ends), len(numbers)
    noise = stddev * (ends[1] - ends[0])
    half = 1.96 * np.hypot(noise, kept.std() * np.sqrt(n)) / n
    return float(half + np.abs(numbers - kept).mean())


def judge(upper: float, draw: Draw, n: int, stddev: float) -> tuple[float, float, float, float]:
    """Share beyond, in the mean and at worst; range; and error, over those without limits."""
    cells, rng = cells_of(upper), np.random.default_rng(n)
    lows = np.array([one.low for one in cells.column.intervals])
    beyond, ranges, errors = [], [], []
    for _ in range(RUNS):
        numbers = np.clip(np.rint(draw(rng, n)), 0, upper)
        states = np.searchsorted(lows, numbers, "right") - 1
        counts = np.bincount(states, minlength=cells.size) + rng.normal(0, stddev, cells.size)
        ends = find_limits(counts, stddev, cells, n) or (0.0, upper)
        beyond.append(((numbers < ends[0]) | (numbers > ends[1])).mean())
        ranges.append((ends[1] - ends[0]) / upper)
        errors.append(error(numbers, ends, stddev) / error(numbers, (0.0, upper), stddev))
    mean, most, part, told = np.mean(beyond), np.max(beyond), np.mean(ranges), np.mean(errors)
    return float(mean), float(most), float(part), float(told)


def main() -> None:
    """Show all columns."""
    table = Table("column", "records", "beyond, %", "at worst", "range", "error")
    for name, (upper, draw) in COLUMNS.items():
        for n, stddev in SIZES.items():
            mean, most, part, told = judge(upper, draw, n, stddev)
            shown = (f"{100 * mean:.1f}", f"{100 * most:.0f}", f"{part:.2f}", f"{told:.2f}")
            table.add_row(name, f"{n:,}", *shown)
    Console().print(table)


if __name__ == "__main__":
    main()
