"""How wide coefficients and correlations are over those of the rows: declared, or by default.

    python benchmarks/answer_widths.py [--n 10000] [--repetitions 6] [--epsilon 1] [--delta 1e-6]

Of the population `survey` (`populations.py`), 14 columns: eight declared analyses over six columns,
eight over ten; the survey's own linear models, differences and correlations
(`natural_questions.py`) beside six declared columns, by the layer of all columns there; and the
same two from the second moments of all columns that an automatic release buys, also with the six
columns as priority columns. The intercepts are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import understudy as us
from natural_questions import QUESTIONS, Question, read
from populations import population
from questions import judged, of_rows
from row_answers import row_answer

SIX = (
    "ols: hours ~ age + sex; works ~ age + sex + married; votes ~ age + sex + works\n"
    "ols: votes ~ married; hours ~ married + sex\n"
    "correlation: hours + age; votes + age; works + age"
)
TEN = (
    "ols: hours ~ age + sex; works ~ age + sex + married; votes ~ age + sex + online + house\n"
    "ols: children ~ age + married; votes ~ region; online ~ age + works\n"
    "correlation: hours + age; age + children"
)
LINEAR = ("difference", "correlation", "ols")
SEED = 5


def declared(asked: Sequence[Question]) -> dict[str, Any]:
    """What asks a release for the answers to some questions."""
    return {"analyses": [f"{one.kind} {one.formula}" for one in asked]}


def widths(
    asked: Sequence[Question], request: dict[str, Any], given: argparse.Namespace
) -> tuple[float, float, float]:
    """Median width over that of the rows, share answered, and coverage."""
    whole, rng = population("survey"), np.random.default_rng(SEED)
    truths = {one: row_answer(one, whole.people, whole) for one in asked}
    by_rows = {one: of_rows(one, truth, whole, given.n, SEED) for one, truth in truths.items()}
    found: list[dict[str, Any]] = []
    for repetition in range(given.repetitions):
        rows = whole.people[rng.integers(whole.people.height, size=given.n)]
        release = us.synthesize(
            rows,
            whole.schema("private", given.n),
            epsilon=given.epsilon,
            delta=given.delta,
            insecure_noise_seed=repetition,
            **request,
        )
        for one, truth in truths.items():
            found += [
                each
                for each in judged(one, truth, by_rows[one], release, whole)
                if each["quantity"] != "Intercept"
            ]
    ratio = np.array([(x["upper"] - x["lower"]) / x["row_width"] for x in found])
    held = np.array([x["lower"] <= x["truth"] <= x["upper"] for x in found])
    known = np.isfinite(ratio)
    return float(np.median(ratio[known])), float(known.mean()), float(held[known].mean())


def main() -> None:
    """Measure, and print a line each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-6")
    given = parser.parse_args()
    own = [one for one in read(QUESTIONS["survey"]) if one.kind in LINEAR]
    own = [Question("ols" if q.kind == "difference" else q.kind, q.formula) for q in own]
    shown = Table("second moments of", "width", "answered", "coverage")
    six, ten = read(SIX), read(TEN)
    first = {"priority": ["hours", "age", "sex", "works", "married", "votes"]}
    for name, asked, request in (
        ("eight declared, six columns", six, declared(six)),
        ("eight declared, ten columns", ten, declared(ten)),
        ("beside these six: the survey's own", own, declared(six)),
        ("all fourteen: the eight over ten", ten, {}),
        ("all fourteen: the survey's own", own, {}),
        ("six with priority: the eight over these", six, first),
        ("six with priority: the survey's own", own, first),
    ):
        width, answered, held = widths(asked, request, given)
        shown.add_row(name, f"×{width:.2f}", f"{answered:.0%}", f"{held:.1%}")
    Console().print(shown)


if __name__ == "__main__":
    main()
