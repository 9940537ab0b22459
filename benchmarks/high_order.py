"""What only many columns together tell: ``python benchmarks/high_order.py``.

Made tables of which no two columns tell the label, after the claim that marginal methods lose them
(Tran et al. 2026, ICML, arXiv:2606.08259):

* `parity of three` and `of four`: ten truth values; the label is the parity of some of them, wrong
  in one of twenty;
* `boards`: noughts and crosses after some moves at random; the label says whether crosses have won;
* `walks`: a walk over 25 places, each step to one of four neighbours or none, likelier the way it
  went before; the label says whether it ends where it began, or beside it.

`ROWS` records with a private number of rows, (1, 10⁻⁶). Releases by each method are judged by the
area under the curve of boosted trees that are trained on records and foretell the label of other
people, and by mean distances of tables of two and three columns. Means over `--runs` releases with
fresh noise; ± is the standard error of the area.

    --runs K        3 if it is not said
    --tables NAME … others
    --epsilon E     1 if it is not said
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import understudy as us
from made_population import levels
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances
from understudy.schema import Schema

ROWS = 20_000
Columns = dict[str, np.ndarray]
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
MOVES = np.array([(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)])
WIDE, STEPS = 5, 5
WAYS: dict[str, dict[str, object]] = {
    "usual release": {},
    "records alone": {"method": "marginals"},
    "label named": {"method": "marginals", "options": {"target": "label"}},
    "aim": {"method": "aim"},
    "mst": {"method": "mst"},
    "independent": {"method": "independent"},
}


def parity(of: int) -> Callable[[np.random.Generator, int], Columns]:
    """Truth values, and the parity of some of them."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        values = rng.integers(0, 2, (10, n))
        wrong = rng.random(n) < 0.05
        return {f"x{j}": own for j, own in enumerate(values)} | {
            "label": (values[:of].sum(axis=0) + wrong) % 2
        }

    return draw


def boards(rng: np.random.Generator, n: int) -> Columns:
    """Noughts and crosses, five to eight marks set at random, crosses first."""
    order = np.argsort(rng.random((n, 9)), axis=1)
    marks = rng.integers(5, 9, n)
    cells = np.zeros((n, 9), dtype=int)
    for turn in range(8):
        at = turn < marks
        cells[np.flatnonzero(at), order[at, turn]] = 1 + turn % 2
    won = np.any([(cells[:, list(line)] == 1).all(axis=1) for line in LINES], axis=0)
    return {f"cell{j}": cells[:, j] for j in range(9)} | {"label": won.astype(int)}


def walks(rng: np.random.Generator, n: int) -> Columns:
    """Places of a walk on a square whose ends meet."""
    place, way = rng.integers(0, WIDE, (n, 2)), rng.integers(0, len(MOVES), n)
    places = [place]
    for _ in range(STEPS):
        turns = rng.random(n) < 0.4
        way = np.where(turns, rng.integers(0, len(MOVES), n), way)
        places.append((places[-1] + MOVES[way]) % WIDE)
    far = np.abs(places[-1] - place)
    home = np.minimum(far, WIDE - far).sum(axis=1) <= 1
    at = {f"place{k}": one @ [WIDE, 1] for k, one in enumerate(places)}
    return at | {"label": home.astype(int)}


TABLES = {
    "parity of three": parity(3),
    "parity of four": parity(4),
    "boards": boards,
    "walks": walks,
}


def area(made: Columns, others: Columns) -> float:
    """Under the curve of boosted trees of records, for other people."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    told, asked = (
        np.column_stack([v for k, v in t.items() if k != "label"]) for t in (made, others)
    )
    if len(np.unique(made["label"])) < 2:
        return 0.5
    categories = np.arange(told.shape[1])
    model = HistGradientBoostingClassifier(categorical_features=categories, random_state=0)
    model.fit(told, made["label"])
    return float(roc_auc_score(others["label"], model.predict_proba(asked)[:, 1]))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=[*TABLES])
    parser.add_argument("--epsilon", default="1")
    asked = parser.parse_args()
    print(f"{'':36}  area            two-way  three-way  CPU s")
    for name in asked.tables:
        rows, others = (TABLES[name](np.random.default_rng(seed), ROWS) for seed in (1, 2))
        sizes = {k: 1 + int(max(rows[k].max(), others[k].max())) for k in rows}
        schema = Schema.model_validate(
            {"rows": "private", "columns": {k: levels(*range(m)) for k, m in sizes.items()}}
        )
        frame = pl.DataFrame(rows)
        print(f"{name + ', the rows':36}  {area(rows, others):.3f}")
        for way, how in WAYS.items():
            found = []
            for _ in range(asked.runs):
                start = time.process_time()
                release = us.synthesize(
                    frame, schema, epsilon=asked.epsilon, delta="1e-6", frame="polars", **how
                )
                taken = time.process_time() - start
                (table,) = release.tables
                made = {k: table[k].cast(pl.Int64).to_numpy() for k in rows}
                pair = Comparison.of(schema, frame, [table])
                far = [float(marginal_distances(pair, k).values.mean()) for k in (2, 3)]
                found.append([area(made, others), *far, taken])
            means, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / asked.runs**0.5
            print(
                f"{name + ', ' + way:36}  {means[0]:.3f} ± {error[0]:.3f}   {means[1]:.4f}   "
                f"{means[2]:.4f}   {means[3]:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
