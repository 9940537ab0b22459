"""What a minimum count costs in closeness: ``python benchmarks/minimum_count.py --data DIR``.

A known table is released by `mst` with (1, 10⁻⁹). In a set drawn from it, records of rare key
combinations move to the nearest frequent one (`understudy.release.minimum_count`), or are drawn
again from the model until their combination is a frequent one. Mean total variation distances from
the rows: of all pairs of columns, of pairs without a key column, and of the table of the keys.

    --table NAME   nist_acs_national2019 if it is not said
    --keys A,B     SEX,RAC1P,MSP,EDU if it is not said
    --count K ...  5 and 20 if it is not said
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import understudy as us
from known_tables import KnownTable, load
from understudy.models.model import Model, Sample, put
from understudy.release.decoding import decode
from understudy.release.minimum_count import KeyMoves, MinimumCount
from understudy.schema import Schema
from understudy.workflow.analyze import model_of

ROUNDS = 200


def redrawn(moves: KeyMoves, drawn: Sample, model: Model, rng: np.random.Generator) -> Sample:
    """The records, with those of rare combinations drawn again from the model."""
    found = Sample([column.copy() for column in drawn.states], dict(drawn.values))
    bad = np.arange(len(found.states[0]))
    for _ in range(ROUNDS):
        bad = bad[~moves.stays([column[bad] for column in found.states])]
        if not len(bad):
            break
        put(found, bad, model.sample(len(bad), rng))
    return found


def distances(
    table: KnownTable, codes: NDArray[np.int32], keys: tuple[str, ...]
) -> tuple[float, float, float]:
    """Of all pairs, of those without a key, and of the keys, from the rows."""
    rows, names, sizes = table.codes(table.frame), [*table.levels], table.sizes

    def apart(columns: tuple[int, ...]) -> float:
        shape = [sizes[j] for j in columns]
        each = []
        for one in (rows, codes):
            cells = np.ravel_multi_index([one[:, j] for j in columns], shape)
            each.append(np.bincount(cells, minlength=int(np.prod(shape))) / len(one))
        return float(np.abs(each[0] - each[1]).sum() / 2)

    pairs = {pair: apart(pair) for pair in combinations(range(len(names)), 2)}
    without = [v for pair, v in pairs.items() if not {names[j] for j in pair} & {*keys}]
    own = apart(tuple(names.index(key) for key in keys))
    return float(np.mean([*pairs.values()])), float(np.mean(without)), own


def _row(label: str, found: tuple[float, float, float]) -> None:
    print(f"{label:24}" + "".join(f"{value:12.4f}" for value in found), flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", default="nist_acs_national2019")
    parser.add_argument("--keys", default="SEX,RAC1P,MSP,EDU")
    parser.add_argument("--count", type=int, nargs="*", default=[5, 20])
    given = parser.parse_args()
    keys, table = tuple(given.keys.split(",")), load(given.data, given.table)
    schema: Schema = table.schema("public")
    release = us.synthesize(table.frame, schema, epsilon=1, delta="1e-9", method="mst", seed=1)
    model, rng = model_of(release, 1), np.random.default_rng(1)
    assert model is not None
    drawn = model.sample(table.frame.height, rng)

    def measure(sample: Sample) -> tuple[float, float, float]:
        frame = decode(sample.states, release.schema, rng, sample.values)
        return distances(table, table.codes(frame), keys)

    print(f"{'':24}{'pairs':>12}{'without key':>12}{'keys':>12}")
    _row("as drawn", measure(drawn))
    for count in given.count:
        moves = KeyMoves.of(MinimumCount(keys, count), release.schema, [drawn])
        moved, _ = moves.apply(drawn, rng)
        share = 100 * moves.changed / table.frame.height
        print(f"at least {count}: {share:.2f} % of the records change")
        _row("  moved", measure(moved))
        _row("  redrawn", measure(redrawn(moves, drawn, model, rng)))


if __name__ == "__main__":
    main()
