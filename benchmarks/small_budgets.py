"""Records of small budgets beside simpler methods: ``python benchmarks/small_budgets.py``.

Tables with a label. On some the settings of methods were chosen: `clinic` (8 columns of levels, two
of which tell the label), `credit` (numbers and levels, three of which tell it), `odd` (one column
constant, one of 60 codes, one nearly so), `tied` and `short` (six and three columns of one trait),
two of them with each column shuffled by itself, and, with `--data DIR`, `adult_coded`
(`known_tables.py`). Others were held out (`HELD_OUT`). A sample of each is released by default
(answers and lines as usual), by the same method with all of the budget for records, by this with
the label named as its target, and by `mst`, `aim` and `independent`. Means over releases with
paired samples and seeds of

* the two-way distance between the sample and the records;
* the share of rank correlations beyond ± .2 that are kept within .1, none where there is none;
* the area under the curve with which a logistic model of the records foretells the label of other
  people of the same population; but for "label named" nobody is told which column is the label.

Of each method but the first its mean less that of the default is shown, with its standard error; a
star marks what is worse by default than by another method, by more than two of these. Last comes
how much farther the default is than the nearest of `mst`, `aim` and `independent`.

    --runs K        releases of each case, 4 if it is not said
    --tables …, --cases n:ε …, --delta …   other ones
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

import understudy as us
from known_tables import load
from made_population import levels, number
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances
from understudy.schema import Schema, is_ordered

PEOPLE = 20_000
CASES = ("500:0.1", "500:0.3", "500:0.6", "500:1", "1000:1", "2000:1")
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "records alone": {"method": "marginals"},
    "label named": {"method": "marginals"},
    "mst": {"method": "mst"},
    "aim": {"method": "aim"},
    "independent": {"method": "independent"},
}
"""What is released → how."""
STRONG, WITHIN = 0.2, 0.1


@dataclass(frozen=True)
class People:
    """A population with a label.

    Attributes:
        rows: all people.
        declared: columns in the words of a schema.
        label: the column that is foretold; its last value in order is the event.
    """

    rows: pl.DataFrame
    declared: dict[str, Any]
    label: str

    def schema(self) -> Schema:
        """The public schema; the number of rows is private."""
        return Schema.model_validate({"rows": "private", "columns": self.declared})


def _happens(rng: np.random.Generator, odds: np.ndarray) -> np.ndarray:
    return np.where(rng.random(len(odds)) < 1 / (1 + np.exp(-odds)), "yes", "no")


def _parts(values: np.ndarray, *cuts: float) -> np.ndarray:
    """Ranks of parts that have the given shares of the values below them."""
    return np.searchsorted(np.quantile(values, cuts), values)


def clinic(rng: np.random.Generator) -> People:
    """Levels: two of them tell the label."""
    trait, other = rng.normal(size=(2, PEOPLE))
    severity = _parts(trait, 0.2, 0.5, 0.8, 0.95)
    ward = np.array(["a", "b", "c", "d"])[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=PEOPLE)]
    stay = _parts(trait + 1.5 * rng.normal(size=PEOPLE), 0.3, 0.6, 0.8, 0.9, 0.97)
    age = _parts(other, *np.arange(1, 9) / 9)
    odds = 1.3 * (severity - 1.5) + 1.5 * (ward == "c") - 1
    rows = {
        "age": age,
        "sex": np.where(rng.random(PEOPLE) < 0.5, "f", "m"),
        "ward": ward,
        "severity": severity,
        "stay": stay,
        "drugs": _parts(other + rng.normal(size=PEOPLE), 0.3, 0.6, 0.8),
        "day": rng.integers(0, 7, PEOPLE),
        "back": _happens(rng, odds),
    }
    told = {
        "age": levels(*range(9), kind="ordinal"),
        "sex": levels("f", "m"),
        "ward": levels("a", "b", "c", "d"),
        "severity": levels(*range(5), kind="ordinal"),
        "stay": levels(*range(6), kind="ordinal"),
        "drugs": levels(*range(4), kind="ordinal"),
        "day": levels(*range(7)),
        "back": levels("no", "yes"),
    }
    return People(pl.DataFrame(rows), told, "back")


def credit(rng: np.random.Generator) -> People:
    """Numbers and levels: three of them tell the label."""
    trait, other, third = rng.normal(size=(3, PEOPLE))
    income = np.exp(10 + 0.5 * trait)
    loan = np.exp(8.5 + 0.6 * other + 0.3 * trait)
    home = np.where(trait + rng.normal(size=PEOPLE) > 0.3, "own", "rent")
    odds = 1.2 * other - 1.2 * trait + 1.2 * (home == "rent") - 1.5
    rows = {
        "income": np.rint(income).astype(int),
        "loan": np.rint(loan).astype(int),
        "age": np.clip(np.rint(45 + 13 * third), 18, 90).astype(int),
        "years": np.clip(np.rint(8 + 5 * third + 4 * rng.normal(size=PEOPLE)), 0, 40).astype(int),
        "home": home,
        "grade": _parts(trait + 0.8 * rng.normal(size=PEOPLE), 0.1, 0.3, 0.6, 0.85),
        "region": rng.choice(["n", "e", "s", "w"], p=[0.5, 0.3, 0.15, 0.05], size=PEOPLE),
        "purpose": rng.choice([*"abcdef"], size=PEOPLE),
        "phone": np.where(rng.random(PEOPLE) < 0.8, "yes", "no"),
        "default": _happens(rng, odds),
    }
    told = {
        "income": number(0, 200_000),
        "loan": number(0, 100_000),
        "age": number(18, 90),
        "years": number(0, 40),
        "home": levels("own", "rent"),
        "grade": levels(*range(5), kind="ordinal"),
        "region": levels("n", "e", "s", "w"),
        "purpose": levels(*"abcdef"),
        "phone": levels("no", "yes"),
        "default": levels("no", "yes"),
    }
    return People(pl.DataFrame(rows), told, "default")


def odd(rng: np.random.Generator) -> People:
    """A constant, 60 codes, a column that is nearly constant; two others tell the label."""
    trait = rng.normal(size=PEOPLE)
    codes = 1 / np.arange(1, 61)
    score = _parts(trait, 0.25, 0.5, 0.75)
    group = rng.choice([*"xyz"], p=[0.5, 0.3, 0.2], size=PEOPLE)
    rows = {
        "country": np.full(PEOPLE, "here"),
        "code": rng.choice(60, p=codes / codes.sum(), size=PEOPLE),
        "rare": np.where(rng.random(PEOPLE) < 0.01, "yes", "no"),
        "score": score,
        "group": group,
        "rank": _parts(trait + 0.7 * rng.normal(size=PEOPLE), 0.2, 0.4, 0.6, 0.8),
        "event": _happens(rng, 1.5 * (score - 1.5) - 1.5 * (group == "x")),
    }
    told = {
        "country": levels("here", "elsewhere"),
        "code": levels(*range(60)),
        "rare": levels("no", "yes"),
        "score": levels(*range(4), kind="ordinal"),
        "group": levels(*"xyz"),
        "rank": levels(*range(5), kind="ordinal"),
        "event": levels("no", "yes"),
    }
    return People(pl.DataFrame(rows), told, "event")


@dataclass(frozen=True)
class Tied:
    """A population whose columns share a trait, and a label that the first two tell.

    Attributes:
        columns: ordinal ones, levels without order, and numbers, in turn.
        tie: correlation of each column with the trait, before it is cut into states.
        label: what a deviation of the two columns adds to the log odds of the label.
        states: of columns that are no numbers, in turn.
        common: share of the commonest state and of people without the event; even states if 0.
    """

    columns: int
    tie: float
    label: float
    states: tuple[int, ...] = (3, 5, 2, 8)
    common: float = 0.0

    def __call__(self, rng: np.random.Generator) -> People:
        """The people."""
        trait = rng.normal(size=PEOPLE)
        rows: dict[str, Any] = {}
        told: dict[str, Any] = {}
        score = np.zeros(PEOPLE)
        for j in range(self.columns):
            own = self.tie * trait + math.sqrt(1 - self.tie**2) * rng.normal(size=PEOPLE)
            score += own * (j < 2)
            size, name = self.states[j % len(self.states)], f"c{j}"
            if j % 3 == 2:
                rows[name] = np.clip(np.rint(np.exp(7 + 0.5 * own)), 0, 20_000).astype(int)
                told[name] = number(0, 20_000)
                continue
            first = max(self.common, 1 / size)
            cuts = [first + (1 - first) * k / (size - 1) for k in range(size - 1)]
            states = _parts(own, *cuts)
            ordered = j % 3 == 0
            rows[name] = states if ordered else rng.permutation(size)[states]
            told[name] = levels(*range(size), kind="ordinal" if ordered else "categorical")
        odds = self.label * (score - np.quantile(score, max(self.common, 0.5)))
        rows["event"], told["event"] = _happens(rng, odds), levels("no", "yes")
        return People(pl.DataFrame(rows), told, "event")


HELD_OUT = {
    "strong": Tied(8, 0.9, 3.0),
    "weak": Tied(8, 0.35, 0.6),
    "loose": Tied(8, 0.0, 0.0),
    "many": Tied(24, 0.6, 1.5),
    "few": Tied(3, 0.7, 2.0),
    "rare": Tied(8, 0.7, 2.0, states=(12, 4, 2, 9), common=0.85),
}
MADE = {
    "clinic": clinic,
    "credit": credit,
    "odd": odd,
    "tied": Tied(6, 0.85, 2.0, (4, 3, 6)),
    "short": Tied(3, 0.5, 2.0, (6, 3)),
}
APART = " apart"
"""Ends the name of a table each of whose columns is shuffled by itself, so that nothing is tied."""


def people_of(name: str, folder: Path | None) -> People:
    """A population by its name."""
    rng = np.random.default_rng(7)
    if name.endswith(APART):
        people = people_of(name.removesuffix(APART), folder)
        shuffled = {one.name: rng.permutation(one.to_numpy()) for one in people.rows}
        return replace(people, rows=pl.DataFrame(shuffled))
    if name in MADE or name in HELD_OUT:
        return (MADE | HELD_OUT)[name](rng)
    assert folder is not None
    table = load(folder, name)
    columns = table.schema("private").model_dump(exclude_none=True, exclude_defaults=True)
    return People(table.frame, columns["columns"], table.design.target)


def kept(schema: Schema, rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Part of the strong rank correlations of ordered columns that the records keep."""
    names = [name for name, column in schema.columns.items() if is_ordered(column)]
    with np.errstate(invalid="ignore", divide="ignore"):
        ranks = [
            np.nan_to_num(
                np.corrcoef([rankdata(t[name].cast(pl.Float64).fill_null(-1)) for name in names])
            )
            for t in (rows, made)
        ]
    pairs = [(i, j) for i, j in combinations(range(len(names)), 2) if abs(ranks[0][i, j]) > STRONG]
    near = [abs(ranks[0][pair] - ranks[1][pair]) <= WITHIN for pair in pairs]
    return float(np.mean(near)) if pairs else np.nan


def foretold(people: People, made: pl.DataFrame, others: pl.DataFrame) -> float:
    """Area under the curve of a logistic model of the records, for other people."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    schema = people.schema()
    event = str(people.declared[people.label]["levels"][-1])
    truth, label = (t[people.label].cast(pl.String) == event for t in (others, made))
    if label.n_unique() < 2:
        return 0.5
    kinds: dict[str, list[np.ndarray]] = {"levels": [], "numbers": []}
    both = pl.concat([made.select(people.rows.columns), others], how="vertical_relaxed")
    for name, column in schema.columns.items():
        if name != people.label:
            kind = "numbers" if is_ordered(column) and both[name].dtype.is_numeric() else "levels"
            read = both[name].cast(pl.Float64 if kind == "numbers" else pl.String)
            kinds[kind].append(read.fill_null(0 if kind == "numbers" else "").to_numpy())
    parts = [OneHotEncoder().fit_transform(np.stack(kinds["levels"], 1)).toarray()]
    if kinds["numbers"]:
        parts.append(np.stack(kinds["numbers"], 1))
    told = np.hstack(parts)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
    model.fit(told[: len(made)], label.to_numpy())
    return float(roc_auc_score(truth, model.decision_function(told[len(made) :])))


def measure(  # noqa: PLR0917 – for a pool
    name: str, folder: Path | None, case: str, delta: str, run: int, ways: tuple[str, ...]
) -> dict[str, tuple[float, float, float]]:
    """One sample, released in each way: two-way distance, correlations kept, area."""
    people = people_of(name, folder)
    n, epsilon = case.split(":")
    shuffled = people.rows.sample(fraction=1, shuffle=True, seed=run)
    rows, others = shuffled[: int(n)], shuffled[int(n) : int(n) + 5_000]
    schema, found = people.schema(), {}
    for way in ways:
        named = {"options": {"target": people.label}} if way == "label named" else {}
        release = us.synthesize(
            rows,
            schema,
            epsilon=epsilon,
            delta=delta,
            frame="polars",
            insecure_noise_seed=run,
            **WAYS[way],
            **named,
        )
        made = release.tables[0]
        if made.is_empty():
            found[way] = (1.0, 0.0, 0.5)
            continue
        comparison = Comparison.of(schema, rows, [made])
        far = float(marginal_distances(comparison, 2).values.mean())
        found[way] = far, kept(schema, rows, made), foretold(people, made, others)
    return found


def tell(title: str, runs: Iterable[dict[str, tuple[float, float, float]]]) -> None:
    """Print the means of a case."""
    each = {way: np.array([run[way] for run in runs]) for way in WAYS if way in next(iter(runs))}
    first = each["default"] if "default" in each else next(iter(each.values()))
    for way, found in each.items():
        line = f"{title if found is first else '':30} {way:14}"
        for k, good in enumerate((-1, 1, 1)):
            gap = found[:, k] - first[:, k]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            worse = good * gap.mean() > max(2 * error, 1e-9)
            mark = "*" if worse and way not in ("default", "records alone", "label named") else " "
            off = f"{gap.mean():+.3f} ±{error:.3f}{mark}" if found is not first else ""
            line += f"  {found[:, k].mean():.4f} {off:14}"
        print(line, flush=True)
    others = [each[way][:, 0] for way in ("mst", "aim", "independent") if way in each]
    if others and "default" in each:
        nearest = min(others, key=np.mean)
        gap = (first[:, 0] - nearest) / nearest.mean()
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        print(f"{'':30} default beside the nearest: {gap.mean():+.1%} ± {error:.1%}", flush=True)


def main() -> None:
    """Run the cases of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--delta", nargs="+", default=("1e-9", "0"))
    parser.add_argument("--ways", nargs="+", default=tuple(WAYS))
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    apart = ("clinic" + APART, "credit" + APART)
    own = ("adult_coded",) if asked.data else ()
    tables = asked.tables or (*MADE, *apart, *own, *HELD_OUT)
    print(f"{'':45}  {'two-way':21}  {'kept':21}  area")
    with ProcessPoolExecutor(asked.jobs) as pool:
        for name in tables:
            for delta in asked.delta:
                for case in asked.cases:
                    how = [
                        (name, asked.data, case, delta, run, asked.ways)
                        for run in range(asked.runs)
                    ]
                    runs = list(pool.map(measure, *zip(*how, strict=True)))
                    tell(f"{name} {case} δ={delta}", runs)


if __name__ == "__main__":
    main()
