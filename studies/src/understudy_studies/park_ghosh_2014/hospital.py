"""Real rows in place of the paper's: diabetic inpatients, kept outside this house.

`hospital_diabetes130` holds the first encounter of each of 71,518 patients in 130 hospitals of the
United States, 1999-2008 (Strack et al. 2014, "Impact of HbA1c measurement on hospital readmission
rates", BioMed Research International 781670; UCI repository). Thirteen columns are taken, the
nearest to those of the paper; zip area, charge and severity are not among them.

Where the file is not at hand, the study that needs it says so and does nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Categorical, Ordinal, Schema
from understudy_studies.framework import public_files

States = NDArray[np.int64]

N_ROWS = 64_000
SEED = 1999_2008

WORDS = (
    "Real rows: 64,000 diabetic inpatients, first encounters in 130 hospitals of the United States "
    "1999-2008, public data. Thirteen columns, 9.6·10¹² cells. Another 7,518 patients are held "
    "out. Levels of payer and specialty are read off the file, which is enough for a comparison "
    "on public rows and no example to follow."
)

AGES = np.arange(5.0, 100, 10)
"""Years, by state."""
STAYS = np.arange(1.0, 15)
"""Days, by state."""


@cache
def schema() -> Schema:
    """The schema: 13 columns."""
    return Schema.loads((files(__package__) / "hospital.toml").read_text(encoding="utf-8"))


def path() -> Path:
    """Where the file is looked for."""
    return public_files.path("hospital_diabetes130", "hospital_diabetes130.parquet")


def require() -> None:
    """See that the file is at hand.

    Raises:
        StudyError: it is not.
    """
    public_files.require(path(), instead="pegs")


@cache
def inpatients() -> States:
    """States of all patients in an order of their own, always the same, shape (13, 71,518).

    The first 64,000 are the table; the others are held out.

    Raises:
        StudyError: the file is not at hand.
    """
    require()
    raw = pl.read_parquet(path(), columns=list(schema().names))
    found = np.stack([_states(raw[name], name) for name in schema().names])
    found = found[:, np.random.default_rng(SEED).permutation(found.shape[1])]
    found.flags.writeable = False
    return found


def _states(values: pl.Series, name: str) -> States:
    column = schema().columns[name]
    levels = (
        [str(level) for level in column.levels] if isinstance(column, Categorical | Ordinal) else []
    )
    return values.cast(pl.String).cast(pl.Enum(levels)).to_physical().cast(pl.Int64).to_numpy()
