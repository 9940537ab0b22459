"""Coverage of declared answers about members of units, over samples drawn anew from populations.

    python benchmarks/member_coverage.py [--samples 50] [--epsilon 4] [--releases 0] [--seed 1]
        [--population families same couples]

Three made populations, in which members of one unit are alike:

* *families*: up to four members, alike in wage and fitness;
* *same*: up to six members, most of them of nearly one wage, and larger units have less;
* *couples*: mostly two, of two sexes; the wage goes with the other's sex.

Each sample is one of the population anew. Its exact moments have noise of the scale that a request
for these analyses pays for, drawn afresh; then the estimator of a release answers. What moments do
not say is taken from synthetic units: of *drawn* these are the sample's own, of *mixed* each member
is one of another unit in the same slot, so that nobody is alike. Truths are the population's; of
totals the sample's own, since these have errors of noise alone. Kinds count together, with the
question whose intervals cover least beside them.

With `--releases` as many whole releases of *families* are made, of new samples: limits of numbers,
synthetic records and all.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Page

import understudy as us
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.errors import InferenceError
from understudy.inference.declared import DeclaredAnalysis
from understudy.inference.moment_answers import MeasuredAnswer
from understudy.inference.second_moments import MomentSource
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.schema import Schema
from understudy.workflow.expected_answers import Assumed
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.plan import state_assumptions
from understudy.workflow.request import request_of

DELTA, POPULATION = "1e-6", 60_000
SCHEMA = """
[unit]
table = "household"
[tables.household]
key = "hid"
[tables.household.columns.region]
kind = "categorical"
levels = ["A", "B", "C"]
reviewed = true
[tables.person]
of = "household"
key = "hid"
rows_per_unit = {slots}
order = ["-age"]
reviewed = true
[tables.person.columns.age]
kind = "integer"
lower = 0
upper = 99
reviewed = true
[tables.person.columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[tables.person.columns.wage]
kind = "continuous"
lower = 0
upper = 100
decimals = 2
reviewed = true
[tables.person.columns.fit]
kind = "categorical"
levels = ["n", "y"]
missing = ["?"]
reviewed = true
"""
ANALYSES = (
    "mean wage",
    "mean wage ~ sex",
    "proportion fit",
    "proportion fit ~ region",
    "total sex",
    "ols wage ~ sex + age",
    "ols wage ~ region + sex",
    "correlation age + wage",
)
Persons = dict[str, np.ndarray]
Draw = Callable[[np.ndarray, np.ndarray, np.random.Generator], Persons]


def families(home: np.ndarray, region: np.ndarray, rng: np.random.Generator) -> Persons:
    """Alike in wage and fitness, by a third to a half."""
    units, k = len(region), len(home)
    alike, sex = rng.normal(size=units)[home], rng.integers(2, size=k)
    age = 40 + 12 * rng.normal(size=units)[home] + 14 * rng.normal(size=k)
    wage = 50 + 4 * sex + 0.1 * (age - 40) + 3 * region[home] + 8 * alike + 8 * rng.normal(size=k)
    fit = alike + rng.normal(size=k) + 0.01 * (age - 40) > 0
    return {"age": age, "sex": sex, "wage": wage, "fit": fit}


def same(home: np.ndarray, region: np.ndarray, rng: np.random.Generator) -> Persons:
    """Nearly one wage in each unit, and less in larger ones; sexes go together."""
    units, k = len(region), len(home)
    alike, size = rng.normal(size=units)[home], np.bincount(home)[home]
    sex = (0.8 * rng.normal(size=units)[home] + rng.normal(size=k) > 0).astype(int)
    age = 40 + 20 * rng.normal(size=units)[home] + 4 * rng.normal(size=k)
    wage = 65 - 4 * size + 3 * sex + 12 * alike + 3 * rng.normal(size=k)
    return {"age": age, "sex": sex, "wage": wage, "fit": alike + 0.3 * rng.normal(size=k) > 0.8}


def couples(home: np.ndarray, region: np.ndarray, rng: np.random.Generator) -> Persons:
    """One of each sex by turns; the variance of wages differs by sex, and the tail is long."""
    units, k = len(region), len(home)
    turn = np.arange(k) - np.flatnonzero(np.r_[True, np.diff(home) > 0])[home]
    sex = (turn + rng.integers(2, size=units)[home]) % 2
    alike = rng.normal(size=units)[home]
    age = 45 + 15 * alike + 3 * rng.normal(size=k)
    wage = 12 * np.exp(0.5 * alike + 0.3 * sex * rng.normal(size=k)) + 4 * (1 - sex)
    return {"age": age, "sex": sex, "wage": wage, "fit": rng.normal(size=k) > alike}


@dataclass(frozen=True)
class Population:
    """A made population.

    Attributes:
        draw: columns of the members of units.
        sizes: chance of each number of members, from 1.
        units: in a sample.
    """

    draw: Draw
    sizes: tuple[float, ...]
    units: int

    @property
    def schema(self) -> Schema:
        """Of both tables."""
        return Schema.loads(SCHEMA.format(slots=len(self.sizes)))

    def tables(self, units: int, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
        """Units and their members."""
        size = 1 + rng.choice(len(self.sizes), size=units, p=self.sizes)
        home, region = np.repeat(np.arange(units), size), rng.integers(3, size=units)
        own = self.draw(home, region, rng)
        fit = np.where(own["fit"], "y", "n")
        persons = {
            "hid": home,
            "age": np.clip(np.rint(own["age"]), 0, 99).astype(int),
            "sex": np.where(own["sex"] == 1, "m", "f"),
            "wage": np.clip(own["wage"], 0, 100).round(2),
            "fit": np.where(rng.random(len(home)) < 0.05, "?", fit),
        }
        letters = np.array(list("ABC"))[region]
        return {
            "household": pl.DataFrame({"hid": np.arange(units), "region": letters}),
            "person": pl.DataFrame(persons),
        }

    def wide(self, units: int, rng: np.random.Generator) -> pl.DataFrame:
        """The same, a row a unit."""
        schema = self.schema
        return open_rows(self.tables(units, rng), schema).lazy.collect().select(schema.names)


POPULATIONS = {
    "families": Population(families, (0.25,) * 4, 1_500),
    "same": Population(same, (0.3, 0.3, 0.15, 0.15, 0.06, 0.04), 2_000),
    "couples": Population(couples, (0.15, 0.7, 0.15), 1_500),
}


def mixed(wide: pl.DataFrame, schema: Schema, rng: np.random.Generator) -> pl.DataFrame:
    """Members of each slot among the units that have it, so that those of one are not alike."""
    form = schema.members
    assert form is not None
    changed = {}
    for j in range(2, form.rows_per_unit + 1):
        own = wide.select(name for name in wide.columns if name.endswith(f"_{j}"))
        there = np.flatnonzero((wide[form.size].cast(pl.String).cast(pl.Int64) >= j).to_numpy())
        place = np.arange(len(wide))
        place[there] = rng.permutation(there)
        changed |= {name: own[name].gather(place) for name in own.columns}
    return wide.with_columns(**changed)


def noisy(source: MomentSource, rng: np.random.Generator) -> MomentSource:
    """What was measured: with noise of its scale."""
    drawn = rng.normal(size=len(source.numbers)) * np.sqrt(source.variances)
    return replace(source, numbers=source.numbers + drawn)


def answers(
    population: Population, epsilon: str, samples: int, seed: int
) -> Iterator[dict[tuple[str, str], tuple[np.ndarray, ...]]]:
    """Of each sample: lower and upper ends and the truths, by analysis and synthetic units.

    Args:
        population: that samples are of.
        epsilon: of the request.
        samples: how many.
        seed: of all draws.
    """
    rng, schema, n = np.random.default_rng(seed), population.schema, population.units
    how = SynthesisOptions(analyses=list(ANALYSES), assume_rows=n, method="independent")
    request = request_of(schema, epsilon=epsilon, delta=DELTA, how=how)
    stated = state_assumptions(request, n)

    def moments(rows: pl.DataFrame) -> list[MomentSource]:
        found = []
        for asked, stddev in stated["steps"]:
            scores = asked.scores(schema, pure=False)
            exact = Table(rows, schema).score_products(scores).expose()
            sums = stack_sums(exact, scores) / ONE
            found.append(MomentSource.from_values(scores, sums, stddev, pure=False))
        return found

    def ask(
        rows: pl.DataFrame,
        sources: list[MomentSource],
        analysis: DeclaredAnalysis,
        number: tuple[float, float],
    ) -> MeasuredAnswer:
        answer = Assumed((sources, ()), schema, rows, number).answer(analysis)
        assert answer is not None
        return answer

    large = population.wide(POPULATION, rng)
    exact = [replace(one, variances=0 * one.variances) for one in moments(large)]
    known, stddev = (float(POPULATION), 0.0), stated["rows_stddev"]
    truths = {one: ask(large, exact, one, known).pooled.estimate for one in request.analyses}
    for _ in range(samples):
        rows = population.wide(n, rng)
        own = moments(rows)
        drawn = [noisy(one, rng) for one in own]
        found, number = {}, (n + stddev * rng.normal(), stddev)
        for shape, units in (("drawn", rows), ("mixed", mixed(rows, schema, rng))):
            for one in request.analyses:
                truth = truths[one]
                if one.kind == "total":
                    truth = ask(rows, own, one, (float(n), 0.0)).pooled.estimate
                try:
                    ends = ask(units, drawn, one, number).pooled.interval()
                except InferenceError:  # lost in the noise
                    ends = (np.full(len(truth), np.nan),) * 2
                found[str(one), shape] = (*ends, truth)
        yield found


def hits_of(
    population: Population, epsilon: str, samples: int, seed: int = 1
) -> dict[tuple[str, str], np.ndarray]:
    """Whether intervals hold the truth, by analysis and synthetic units, shape (samples, k)."""
    hits = defaultdict(list)
    for found in answers(population, epsilon, samples, seed):
        for key, (low, high, truth) in found.items():
            hits[key].append(covered(low, high, truth))
    return {key: np.array(own) for key, own in hits.items()}


def covered(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether intervals hold truths; NaN where there is no answer."""
    return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))


def released(population: Population, epsilon: str, releases: int) -> dict[str, np.ndarray]:
    """The same of whole releases."""
    rng, schema, n = np.random.default_rng(2), population.schema, population.units
    large = population.tables(POPULATION, rng)
    hits = defaultdict(list)
    exact = us.synthesize(
        large, schema, epsilon=10_000, delta=DELTA, method="independent", analyses=[*ANALYSES]
    )
    for _ in range(releases):
        both = population.tables(n, rng)
        made = us.synthesize(
            both, schema, epsilon=epsilon, delta=DELTA, method="independent", analyses=[*ANALYSES]
        )
        for text in ANALYSES:
            kind, _, formula = text.partition(" ")
            truth = us.analyze(exact, kind, formula).pooled.estimate
            if kind == "total":
                own = both["person"][formula]
                truth = own.sum() if own.dtype.is_numeric() else [(own == s).sum() for s in "fm"]
            low, high = us.analyze(made, kind, formula).pooled.interval()
            hits[text].append(covered(low, high, np.asarray(truth)))
    return {key: np.array(own) for key, own in hits.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--epsilon", default="4")
    parser.add_argument("--releases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--population", nargs="+", default=[*POPULATIONS])
    given = parser.parse_args()
    page = Page("population", "synthetic units", "kind", "covered, %", "least, %", "of")
    for name in given.population:
        population = POPULATIONS[name]
        found = hits_of(population, given.epsilon, given.samples, given.seed)
        if given.releases and name == "families":
            own = released(population, given.epsilon, given.releases)
            found |= {(text, "released"): hits for text, hits in own.items()}
        for shape in dict.fromkeys(shape for _, shape in found):
            for kind in dict.fromkeys(text.partition(" ")[0] for text, _ in found):
                of_kind = {
                    text: np.nanmean(hits, axis=0)
                    for (text, own), hits in found.items()
                    if own == shape and text.startswith(kind)
                }
                least = min(of_kind, key=lambda text: of_kind[text].min())
                mean = np.concatenate([*of_kind.values()]).mean()
                row = f"{100 * mean:.1f}", f"{100 * of_kind[least].min():.1f}", least
                page.add_row(name, shape, kind, *row)
    Console(width=120).print(page)


if __name__ == "__main__":
    main()
