"""From how many rows on second moments tell something without δ.

    python benchmarks/pure_moments.py [--epsilon 1]

Their noise follows from public facts. A third of the budget buys the moments of all columns, half
of them numbers in ten bins and half of three levels. With σ the noise in a sum of products, n
records give a correlation an interval √(1 + 9σ²/n) times as wide as the rows' own
(`understudy.inference.answered_questions`), and hide the spread of a number unless n ≥ 3·FIRM·σ.
Rows go by 1/ε², and by 1/ε where the spread decides.
"""

from __future__ import annotations

import argparse
import math

from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.dp.mechanism import Form
from understudy.inference.analysis import WIDEST
from understudy.inference.second_moments import FIRM

NUMBER = 'kind = "integer"\nlower = 0\nupper = 100\nbins = 10\n'
LEVELS = 'kind = "categorical"\nlevels = ["a", "b", "c"]\n'


def noise(columns: int, epsilon: str, delta: str) -> float:
    """Standard deviation of the noise in a sum of products, by the plan of a release."""
    each = "".join(
        f'[columns.c{k}]\nreviewed = true\nsource = "codebook"\n{LEVELS if k % 2 else NUMBER}'
        for k in range(columns)
    )
    planned = us.plan(
        us.Schema.loads(each), epsilon=epsilon, delta=delta, budget={"answers": "1/3"}
    )
    return next(step.stddev for step in planned.setup if step.form is Form.MOMENTS)


def rows_within(stddev: float, times: float) -> int:
    """Rows from which on a correlation has an interval so many times that of the rows."""
    return math.ceil(max(9 * stddev**2 / (times**2 - 1), 3 * FIRM * stddev))


def main() -> None:
    """Print a line for each number of columns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    heads = ("columns", "δ", "noise", "rows for 10 ×", "for 5 ×", "width at 5,000 rows")
    shown = Table(*heads)
    for columns in (2, 4, 6, 8, 10, 12, 14, 20):
        for delta in ("0", "1e-6"):
            stddev = noise(columns, given.epsilon, delta)
            ten, five = rows_within(stddev, WIDEST), rows_within(stddev, 5)
            width = math.sqrt(1 + 9 * stddev**2 / 5_000)
            cells = f"{stddev:.1f}", f"{ten:,}", f"{five:,}", f"× {width:.1f}"
            shown.add_row(str(columns), delta, *cells)
    Console().print(shown)


if __name__ == "__main__":
    main()
