"""Do amended answers cover, also where noise chose the question?

Run ``python benchmarks/amended_coverage.py``.

A made population in which an outcome depends a little on each of five numbers. Each repetition
draws a sample, releases it (ε = 1, δ = 10⁻⁶,
most of it for second moments), and asks for one slope of the regression on all five
again, at ε = 1 more: once a slope that was fixed beforehand, and once the one whose estimate in the
release lies farthest from 0, in standard errors. The truth is that of the population. Printed is
the share of 95 % intervals that hold it: of the release, of the new measurement alone, of both
pooled; with its Monte Carlo error, and the mean half-width.

    --repetitions K    200 if it is not said
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us
from understudy.inference.analyze import amended_answers

NAMES = [f"x{j}" for j in range(1, 6)]
SLOPES = np.array([0.06, -0.05, 0.04, 0.0, 0.05])
ROWS = 10_000
BUDGET = {
    "epsilon": 1,
    "delta": "1e-6",
    "budget": {"answers": "0.7"},  # second moments, for the most part
}
FORMULA = f"y ~ {' + '.join(NAMES)}"
SPREAD = 0.15  # of each x about 0.5; far enough from both bounds that none is reached


def sample(rng: np.random.Generator) -> pd.DataFrame:
    """Rows of the population; x between 0 and 1, y between 0 and 2."""
    x = np.clip(rng.normal(0.5, SPREAD, (ROWS, len(NAMES))), 0, 1)
    y = np.clip(1 + (x - 0.5) @ SLOPES + rng.normal(0, 0.2, ROWS), 0, 2)
    return pd.DataFrame(dict(zip(NAMES, x.T, strict=True)) | {"y": y}).round(3)


def schema() -> us.Schema:
    """What is public."""
    said = {"kind": "continuous", "lower": 0, "decimals": 3, "source": "made", "reviewed": True}
    columns = {name: {**said, "upper": 1} for name in NAMES} | {"y": {**said, "upper": 2}}
    return us.Schema.model_validate({"rows": "private", "columns": columns})


def chosen(release: us.Release) -> str | None:
    """The slope that lies farthest from 0 in the release, in standard errors."""
    try:
        frame = us.analyze(release, "ols", FORMULA).to_frame()
    except us.UnderstudyError:
        return None
    return str((frame["estimate"] / frame["stderr"]).abs()[NAMES].idxmax())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    repetitions = parser.parse_args().repetitions
    public, truth = schema(), dict(zip(NAMES, SLOPES, strict=True))
    hits, widths = defaultdict(list), defaultdict(list)
    question = {"analyses": [{"kind": "ols", "formula": FORMULA}]}
    for seed in range(repetitions):
        rows = sample(np.random.default_rng(seed))
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "release"
            release = us.synthesize(rows, public, method="independent", **BUDGET)
            replace(release, pages=None).save(folder)
            largest = chosen(us.Release.load(folder))
            (told,) = amended_answers(us.answer(question, rows, folder, epsilon=1))
        for asked, name in (("fixed beforehand", "x3"), ("looked largest", largest)):
            for part in ("before", "alone", "pooled"):
                known = getattr(told, part).intervals
                if name is None or name not in known:
                    continue
                _, low, high = known[name]
                hits[asked, part].append(low <= truth[name] <= high)
                widths[asked, part].append((high - low) / 2)
    print(f"{'question':<18}{'answer':<10}{'answered':>9}{'covered':>9}{'± MC':>7}{'half':>8}")
    for (asked, part), found in hits.items():
        share = float(np.mean(found))
        error = (share * (1 - share) / len(found)) ** 0.5
        half = float(np.mean(widths[asked, part]))
        print(f"{asked:<18}{part:<10}{len(found):>9}{share:>9.3f}{error:>7.3f}{half:>8.3f}")


if __name__ == "__main__":
    main()
