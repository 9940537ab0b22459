"""Real rows in place of the paper's: public files of the same survey, kept outside this house.

* `ce_diary_2017`: 5,916 consumer units of the Diary survey of 2017, one row each, with family
  income before tax and predictors like the paper's ten.
* `ce_hornby_hu`: 5,571 consumer units of an unnamed quarter, as two of the survey's own
  researchers have packaged them, with income and five predictors. One in twelve reports an income
  of exactly 0, which is a spike of the schema.

Both are public-use microdata of the U.S. Bureau of Labor Statistics, masked and top-coded there.
Where a file is not at hand, the study that needs it says so and does nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Categorical, Schema
from understudy_studies.framework import public_files

Columns = dict[str, NDArray[np.int64]]

DIARY, HORNBY = "ce_diary_2017", "ce_hornby_hu"

DIARY_WORDS = (
    "Real rows: 5,916 consumer units of the Consumer Expenditure Diary Survey 2017, public-use "
    "microdata, the nearest that can be had to the paper’s table: family income, and ten "
    "categorical predictors, one of them (size of the place) in place of the paper’s type of area."
)
HORNBY_WORDS = (
    "Real rows: 5,571 consumer units of the Consumer Expenditure Survey, public-use microdata, "
    "with income and five categorical predictors (age in groups). One income in twelve is exactly "
    "0; it is a spike, whose share has a table of its own, and the mixture has the others."
)

_DIARY = {
    "gender": "Gender",
    "age": "AgeGroup",
    "education": "Education",
    "region": "Region",
    "urban": "Urban",
    "marital": "Marital",
    "place": "PopSize",
    "metropolitan": "MSAStatus",
    "family_size": "FamilySize",
    "earner": "AnyEarner",
    "income": "FamilyIncome",
}
_HORNBY = {
    "age": "Age",
    "urban": "Urban",
    "tenure": "Tenure",
    "education": "Educ",
    "marital": "Marital",
    "income": "Income",
}
_NAMES = {DIARY: _DIARY, HORNBY: _HORNBY}
_AGES = (25, 35, 50, 65)
"""First years of the second and later groups of age."""


@cache
def schema(folder: str) -> Schema:
    """The public schema of a file."""
    text = (files(__package__) / f"{folder}.toml").read_text(encoding="utf-8")
    return Schema.loads(text)


def path(folder: str) -> Path:
    """Where a file is looked for."""
    return public_files.path(folder, f"{folder}.csv")


def require(folder: str) -> None:
    """See that a file is at hand.

    Raises:
        StudyError: it is not.
    """
    public_files.require(path(folder), instead="pseudo-posterior")


@cache
def consumers(folder: str) -> Columns:
    """The rows: states of the predictors, and income in dollars.

    Raises:
        StudyError: the file is not at hand.
    """
    require(folder)
    raw = pl.read_csv(path(folder), infer_schema_length=0)
    found = {own: _column(raw[theirs].fill_null(""), folder, own)
             for own, theirs in _NAMES[folder].items()}  # fmt: skip
    for values in found.values():
        values.flags.writeable = False
    return found


def _column(values: pl.Series, folder: str, name: str) -> NDArray[np.int64]:
    column = schema(folder).columns[name]
    if not isinstance(column, Categorical):
        numbers = np.asarray(values.cast(pl.Float64).to_numpy(), dtype=np.float64)
        return np.rint(numbers).astype(np.int64)
    if folder == HORNBY and name == "age":
        years = values.cast(pl.Int64).to_numpy()
        return np.searchsorted(_AGES, years, side="right").astype(np.int64)
    levels = pl.Enum([str(level) for level in column.levels])
    places = values.cast(levels).to_physical().to_numpy()
    return np.asarray(places, dtype=np.int64)
