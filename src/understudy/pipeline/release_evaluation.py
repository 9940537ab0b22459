"""Comparing a release with the rows it was made from. INTERNAL: outside ε, never to be released.

The rows are held in memory, and a random part of them is held out. A risk that is measured needs
people who are *not* in the release: what an intruder learns about them is what the population tells
of anyone. So some rows are held out before a release is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import polars.selectors as cs

from understudy import engine as engines
from understudy.arguments import require_function, require_list, require_text
from understudy.engine import Table
from understudy.engine.reading.readers import open_rows
from understudy.errors import DataError, MethodError
from understudy.extras import require_extra
from understudy.pipeline.gates import coded_rows
from understudy.pipeline.internal_uses import enter_evaluation
from understudy.pipeline.interruption import Progress
from understudy.privacy.internal import Internal
from understudy.release import Release
from understudy.release.release import given_release
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.evaluation.evaluation_results import Evaluation
    from understudy.evaluation.risk.risk_results import Risks


def rows_in_memory(data: object, schema: Schema) -> pl.DataFrame:
    """The columns of the schema as they are in the data, in the order of the data. CONFIDENTIAL.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        schema: names the columns.

    Raises:
        DataError: a structural fault of the data, or there are no rows.
    """
    opened = open_rows(data, schema)
    Table(opened, schema)  # finds what cannot be read
    rows = opened.ask(opened.lazy.select(cs.by_name(list(schema.names))))
    if not rows.height:
        raise DataError("The table has no rows, so there is nothing to compare with.")
    return rows


def hold_out(
    rows: pl.DataFrame, share: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members, and a control group of non-members, split at random.

    Args:
        rows: the table.
        share: of the rows that become the control group, in (0, 1); rounded to whole rows.
        rng: randomness of the split.

    Raises:
        DataError: there are too few rows for one in each part.
    """
    n_control = round(share * rows.height)
    if not 0 < n_control < rows.height:
        raise DataError(
            "The table has too few rows to hold a part of them out; take more rows, or another "
            "share."
        )
    order = rng.permutation(rows.height)
    control, members = np.sort(order[:n_control]), np.sort(order[n_control:])
    return rows[members], rows[control]


def evaluate(
    data: object,
    release: Release | str | Path,
    *,
    formulas: Sequence[str] | None = None,
    by: str | None = None,
    target: str | None = None,
    control: object = None,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Evaluation]:
    """Compare a release with the rows it was made from. INTERNAL: outside ε, never to be released.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        release: a release, or the folder of one; its schema is what the data are read against.
        formulas: regressions to compare, such as "income ~ age + C(region)"; default ones if none.
        by: column whose groups are scored one by one.
        target: column that is predicted, and first outcome of the default regressions.
        control: rows of people outside the table, for the risk; see `risk`.
        keys: columns that an intruder knows; all but the secrets if none.
        secrets: columns that he wants to know; the target if none.
        seed: of every random choice (permutations, subsamples, test rows).
        ledger: that governs the population of the rows, as for `synthesize`; it is entered there as
            internal, outside ε.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: the data cannot be read, lack a column of the release, or have no rows.
        MethodError: an unknown column, a formula that cannot be computed, or a missing extra.
        ReleaseError: the folder is not a release.
        LedgerError: as `synthesize`.
    """
    from understudy.evaluation.full_evaluation import evaluate_release

    loaded = given_release(release)
    require_function("progress", progress, MethodError)
    if formulas is not None:
        require_list("formulas", formulas, MethodError, "['income ~ age']")
    for name, given in (("by", by), ("target", target)):
        if given is not None:
            require_text(name, given, MethodError, loaded.schema.names[0])
    require_extra("evaluate", "An evaluation")
    require_extra("models", "An evaluation")
    enter_evaluation(loaded, "evaluation of a release", ledger)
    tell = progress or (lambda _stage, _done, _total: None)
    rows = coded_rows(data, loaded.schema, tell)
    return evaluate_release(
        rows,
        loaded,
        formulas=formulas,
        by=by,
        target=target,
        control=None if control is None else engines.Table(control, loaded.schema),
        keys=keys,
        secrets=secrets,
        seed=seed,
        progress=tell,
    )


def risk(
    data: object,
    release: Release | str | Path,
    *,
    control: object = None,
    keys: Sequence[str] = (),
    secrets: Sequence[str] = (),
    targets: int = 2000,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Internal[Risks]:
    """Attack a release: what does it disclose? INTERNAL: outside ε, never to be released.

    Re-identification, inference of attributes, probabilistic disclosure, membership inference and
    uniqueness. Each figure has a 95 % interval, and stands beside the same attack on people who
    were not in the table and beside a guess. With several sets it is the mean over them, target by
    target; intervals count the choice of targets and hold the release fixed.

    Args:
        data: the rows that the release was made from: pandas, Polars or Arrow table, or a path to
            CSV or Parquet (file or folder).
        release: a release, or the folder of one; its schema is what the data are read against.
        control: rows of people outside the table, drawn like those in it: hold some out before
            synthesizing. Without them no level is given.
        keys: columns that the intruder knows of his target; all but the secrets if none.
        secrets: columns that he wants to know; by default the column that `evaluate` predicts.
        targets: most targets, and most controls.
        seed: of every random choice.
        ledger: as for `evaluate`.
        progress: called with a stage, and how much of how much is done.

    Raises:
        DataError: the data or the control cannot be read, lack a column, or have no rows.
        MethodError: an unknown column, one that is key and secret, none left for the one or the
            other, or no number of targets.
        ReleaseError: the folder is not a release.
        LedgerError: as `synthesize`.
    """
    from understudy.evaluation.risk.assess import risk_release

    loaded = given_release(release)
    for name, given in (("keys", keys), ("secrets", secrets)):
        require_list(name, given, MethodError, "['age', 'sex']")
        for column in given:
            require_text(f"an entry of {name}", column, MethodError, "age")
    require_function("progress", progress, MethodError)
    enter_evaluation(loaded, "attacks on a release", ledger)
    tell = progress or (lambda _stage, _done, _total: None)
    tell("Reading and coding rows", 0, 1)
    rows = engines.Table(data, loaded.schema)
    held_out = None if control is None else engines.Table(control, loaded.schema)
    tell("Reading and coding rows", 1, 1)
    return risk_release(
        rows,
        loaded,
        held_out,
        keys=keys,
        secrets=secrets,
        targets=targets,
        seed=seed,
        progress=tell,
    )
