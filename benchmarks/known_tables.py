"""Five public tables that synthesizers are compared on: rows, schema, and codes to score.

Each is a folder of its own, `NAME/NAME.csv` or `.parquet`, with a `domain.json` that maps each
column to `{"type": "categorical", "levels": [...]}` or `{"type": "numeric", "lower": ..., "upper":
...}`. A schema takes levels and bounds from there; which columns are ordered, and which codes stand
for values that do not apply or are missing, is said below.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.schema import Schema

ADULT_ORDERED = (
    *("age", "fnlwgt", "education-num", "capital-gain", "capital-loss"),
    "hours-per-week",
)
ACS_COLUMNS = (
    *("PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT"),
    *("INDP_CAT", "EDU", "PINCP_DECILE", "DVET", "DREM", "DPHY", "DEYE", "DEAR"),
)
HOSPITAL_COLUMNS = (
    *("race", "gender", "age", "admission_type_id", "discharge_disposition_id"),
    *("admission_source_id", "time_in_hospital", "payer_code", "medical_specialty", "diag_1"),
    *("A1Cresult", "insulin", "readmitted"),
)
LOANS_UNORDERED = (
    *("term", "emp_length", "home_ownership", "verification_status", "loan_status", "purpose"),
    *("addr_state", "debt_settlement_flag", "settlement_status"),
)


@dataclass(frozen=True)
class Design:
    """What there is to know of a table beyond its domain.

    Attributes:
        columns: those that are used, in this order; all if empty.
        ordered: columns whose levels are in order; the others are not, unless `unordered` is given.
        unordered: if given, all other columns are ordered.
        not_applicable: a level that says that the question does not apply.
        last_missing: whether the last level of each column stands for a missing value.
        target: column to predict; without one, only distances are scored.
        most_cells: tables of more cells are left out of the distances.
    """

    columns: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    not_applicable: str = ""
    last_missing: bool = False
    target: str = ""
    most_cells: int | None = None


DESIGNS = {
    "adult_coded": Design(ordered=ADULT_ORDERED, target="income>50K"),
    "nist_acs_national2019": Design(
        columns=ACS_COLUMNS,
        ordered=("AGEP", "NOC", "NPF", "EDU", "PINCP_DECILE"),
        not_applicable="N",
        target="PINCP_DECILE",
    ),
    "hospital_diabetes130": Design(
        columns=HOSPITAL_COLUMNS, ordered=("age", "time_in_hospital"), target="readmitted"
    ),
    "loans_coded": Design(unordered=LOANS_UNORDERED, last_missing=True, most_cells=60_000),
    "msnbc": Design(),
}


@dataclass(frozen=True)
class KnownTable:
    """A table with its domain.

    Attributes:
        design: what is said about it here.
        frame: the rows; a column holds whole numbers where all its levels are.
        levels: column → its levels, as text, in the order of the domain.
    """

    design: Design
    frame: pl.DataFrame
    levels: dict[str, list[str]]

    @property
    def sizes(self) -> list[int]:
        """Number of codes of each column."""
        return [len(levels) for levels in self.levels.values()]

    @property
    def target(self) -> int | None:
        """Place of the column to predict."""
        return list(self.levels).index(self.design.target) if self.design.target else None

    def part(self, n_rows: int) -> KnownTable:
        """So many of its rows, the same ones each time; all if 0."""
        return replace(self, frame=self.frame.sample(n_rows, seed=1)) if n_rows else self

    def schema(self, rows: str) -> Schema:
        """The public schema, with a "public" or a "private" number of rows."""
        head: dict[str, Any] = {"rows": rows}
        if rows == "public":
            head["n_rows"] = self.frame.height
        columns = {name: self._column(name, levels) for name, levels in self.levels.items()}
        return Schema.model_validate({**head, "columns": columns})

    def codes(self, frame: pl.DataFrame) -> NDArray[np.int32]:
        """Rows as codes, the places of values among the levels: shape (rows, columns)."""
        coded = [
            frame[name]
            .cast(pl.String)
            .replace_strict(levels, range(len(levels)), return_dtype=pl.Int32)
            for name, levels in self.levels.items()
        ]
        return np.stack([column.to_numpy() for column in coded], axis=1)

    def _column(self, name: str, levels: list[str]) -> dict[str, Any]:
        """A column in the words of a schema."""
        design = self.design
        ordered = name not in design.unordered if design.unordered else name in design.ordered
        absent = levels[-1:] if design.last_missing else []
        aside = [level for level in levels if level == design.not_applicable]
        said = {"missing": absent, "not_applicable": aside}
        typed = int if _whole(levels) else str
        return {
            "kind": "ordinal" if ordered else "categorical",
            "levels": tuple(typed(one) for one in levels if one not in (*absent, *aside)),
            **{kind: tuple(typed(one) for one in codes) for kind, codes in said.items() if codes},
            "source": "codebook",
            "reviewed": True,
        }


def load(folder: Path, name: str) -> KnownTable:
    """Read one of the tables.

    Args:
        folder: where the folders of the tables are.
        name: one of `DESIGNS`.
    """
    design, place = DESIGNS[name], folder / name
    domain = json.loads((place / "domain.json").read_text(encoding="utf-8"))
    columns = design.columns or tuple(domain)
    levels = {column: _levels(domain[column]) for column in columns}
    frame = _read(place / name).select(
        pl.col(column).cast(pl.Int64 if _whole(levels[column]) else pl.String) for column in columns
    )
    return KnownTable(design, frame, levels)


def is_there(folder: Path, name: str) -> bool:
    """Whether a table and its domain can be read."""
    files = [path for path in (folder / name).glob(f"{name}.*") if path.suffix in _SUFFIXES]
    return bool(files) and (folder / name / "domain.json").exists()


_SUFFIXES = (".csv", ".parquet")


def _read(stem: Path) -> pl.DataFrame:
    """All columns as text."""
    if stem.with_suffix(".parquet").exists():
        return pl.read_parquet(stem.with_suffix(".parquet"))
    return pl.read_csv(stem.with_suffix(".csv"), infer_schema=False)


def _levels(column: dict[str, Any]) -> list[str]:
    if column["type"] == "categorical":
        return list(column["levels"])
    return [str(value) for value in range(column["lower"], column["upper"] + 1)]


def _whole(levels: list[str]) -> bool:
    """Whether all levels are whole numbers, written plainly."""
    return all(level.isdecimal() and str(int(level)) == level for level in levels)
