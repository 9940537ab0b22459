"""How wide five declared questions of several kinds are over the rows' own width, and one alone.

    python benchmarks/declared_widths.py [--n 5000] [--epsilon 1] [--delta 1e-6] [--share S]
        [--layer L] [--releases 0]

Of each population (`populations.py`) five questions are declared together: models with products,
squares and logarithms, means and models of some of the records, tables of three columns,
correlations. What is printed is by the plan, whose records are n of the population: the half-width
of the 95 % interval that is expected over that by sampling alone, in the median over the numbers of
a question, intercepts left out.

* **five**: all five declared, by the usual parts of the budget, or those that are given.
* **alone**: the question alone, by the usual parts.
* **floor**: the question alone, with nine tenths of the budget for it: what no release of five can
  reach.

With `--releases` as many releases are made of each population, and **realised** is the same of
their answers. It runs half a minute, and 15 s more for each release of each population.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import understudy as us
from populations import population
from understudy.inference.declared import Expected
from understudy.schema import Schema
from understudy.workflow.expected_answers import expected_answers
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.plan import state_assumptions
from understudy.workflow.request import request_of

FIVE = {
    "survey": (
        "ols log(pay + 1) ~ age + sex",
        "ols hours ~ age * sex",
        "table sex + works + health",
        "mean pay where works",
        "ols pay ~ age + I(age**2)",
    ),
    "readme": (
        "ols log(income + 1) ~ age + sex",
        "ols income ~ age * sex",
        "table sex + works + age",
        "mean income where works",
        "ols income ~ age + I(age**2)",
    ),
    "skewed": (
        "ols log(income + 1) ~ log(wealth + 1) + age",
        "logit employed ~ age + I(age**2)",
        "mean wealth where sex == 'f'",
        "mean income ~ region where employed",
        "correlation age + income",
    ),
    "heaped": (
        "ols pay ~ age * sex",
        "ols log(pay + 1) ~ hours + sex",
        "table sex + contract + content",
        "mean hours ~ contract where sex == 'f'",
        "ols content ~ age + I(age**2)",
    ),
    "top-coded": (
        "ols log(income + 1) ~ school + sex",
        "ols income ~ school * sex",
        "mean assets where owner",
        "ols income ~ age + I(age**2)",
        "table sex + owner + age",
    ),
    "rare": (
        "ols score ~ age * sex",
        "mean score where disabled",
        "ols score ~ age + I(age**2)",
        "table poor + sex + disabled",
        "ols poor ~ disabled + age",
    ),
}
"""Name of a population → what is declared together."""
SEED = 3


def ratios(answers: Sequence[Expected], text: str) -> float:
    """Width of a question over that by sampling, in the median over its numbers."""
    own = [one for one in answers if one.analysis == text and one.name != "Intercept"]
    found = [one.half_width / one.sampling for one in own if not one.refused and one.sampling]
    return float(np.median(found)) if found else np.inf


def expected(
    schema: Schema,
    rows: pl.DataFrame,
    analyses: Sequence[str],
    given: argparse.Namespace,
    **parts: str,
) -> tuple[Expected, ...]:
    """What a plan expects of analyses, of these rows."""
    how = SynthesisOptions(
        analyses=list(analyses), assume_rows=rows.height, budget=dict(parts) or None
    )
    request = request_of(schema, epsilon=given.epsilon, delta=given.delta, how=how)
    stated = state_assumptions(request, rows.height)
    return expected_answers(request.analyses, schema, like=rows, **stated)


def realised(
    schema: Schema,
    rows: pl.DataFrame,
    analyses: Sequence[str],
    given: argparse.Namespace,
    **parts: str,
) -> Mapping[str, float]:
    """The same of the answers of a release."""
    release = us.synthesize(
        rows,
        schema,
        epsilon=given.epsilon,
        delta=given.delta,
        analyses=list(analyses),
        budget=parts,
    )
    found = {}
    for text in analyses:
        kind, _, formula = text.partition(" ")
        try:
            pooled = us.analyze(release, kind, formula).pooled
        except us.UnderstudyError:
            found[text] = np.inf
            continue
        lower, upper = pooled.interval()
        of_rows = 1.96 * pooled.stderr * np.sqrt(1 - pooled.synthesis_share)
        slopes = [k for k, name in enumerate(pooled.names) if name != "Intercept"]
        found[text] = float(np.median(((upper - lower) / 2 / of_rows)[slopes]))
    return found


def main() -> None:
    """Measure, and print question by question."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=5_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--share", help="of the budget, for what is declared")
    parser.add_argument("--layer", help="of the budget, for moments of all columns")
    parser.add_argument("--releases", type=int, default=0)
    given = parser.parse_args()
    stated = {"answers": given.share, "layer": given.layer}
    parts = {name: own for name, own in stated.items() if own is not None}
    table = Table("population", "question", "five", "alone", "floor", "realised")
    every: list[list[float]] = []
    for name, analyses in FIVE.items():
        whole, rng = population(name), np.random.default_rng(SEED)
        schema = whole.schema("private", given.n)
        rows = whole.people[rng.integers(whole.people.height, size=given.n)]
        together = expected(schema, rows, analyses, given, **parts)
        made = [realised(schema, rows, analyses, given, **parts) for _ in range(given.releases)]
        for text in analyses:
            alone = expected(schema, rows, [text], given, **parts)
            floor = expected(schema, rows, [text], given, answers="0.9", layer="0")
            own = [ratios(one, text) for one in (together, alone, floor)]
            own.append(float(np.median([one[text] for one in made])) if made else np.nan)
            every.append(own)
            table.add_row(name, text, *(f"{one:.2f}" for one in own))
    for words, kept in (
        ("median", np.median),
        ("nine tenths below", lambda a: np.quantile(a, 0.9)),
    ):
        table.add_row("all", words, *(f"{kept(column):.2f}" for column in np.array(every).T))
    for most in (2, 3):
        within = (np.array(every) <= most).mean(axis=0)
        table.add_row("all", f"within {most} times", *(f"{100 * one:.0f} %" for one in within))
    Console().print(table)


if __name__ == "__main__":
    main()
