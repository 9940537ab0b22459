"""What `questions.py` measured, by cell and kind of question, and which quantities fall short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl
from rich.table import Table
from scipy import stats

from natural_questions import ASKED_AS

LEAST, ALARM = 0.93, 0.01
_HEADINGS = (
    *("answered", "coverage", "rows cover", "width", "within 2, 5, 10", "ms"),
    *("a set covers", "statistics", "alone"),
)


@dataclass(frozen=True)
class Cell:
    """What is released.

    Attributes:
        population: a name in `POPULATIONS`.
        n: number of rows.
        rows: "private" or "public".
        delta: of the release.
        epsilon: of the release.
    """

    population: str
    n: int
    rows: str = "private"
    delta: str = "1e-6"
    epsilon: str = "1"


def is_low(covers: np.ndarray, repetition: np.ndarray) -> bool:
    """Whether coverage is below `LEAST` by a binomial test at `ALARM`.

    Args:
        covers: whether each interval covers, shape (intervals,).
        repetition: the release of each, same shape; their intervals may go together.
    """
    share, n = covers.mean(), len(covers)
    excess = np.bincount(repetition, covers - share)
    effect = max(float(excess @ excess) / max(n * share * (1 - share), 1e-9), 1.0)
    held = int(np.ceil(covers.sum() / effect))
    return bool(stats.binom.cdf(held, int(np.ceil(n / effect)), LEAST) < ALARM)


def by_kind(table: pl.DataFrame, cell: Cell | None = None) -> Table:
    """One line for each kind of question, of one cell or of all."""
    shown = Table(
        *("question", *_HEADINGS),
        title=_title(cell) if cell else "All cells",
        box=None,
    )
    own = _of_cell(table, cell) if cell else table
    for kind in [*ASKED_AS, None]:
        part = own if kind is None else own.filter(pl.col("kind") == kind)
        if part.height:
            shown.add_row(kind or "all", *_numbers(part), end_section=kind == "logit")
    return shown


def _numbers(part: pl.DataFrame) -> tuple[str, ...]:
    answered, spent = _mean_of_questions(part, pl.col("counts")), part["ms"].median()
    held = part.filter("counts")
    if not held.height:
        return f"{answered:.0%}", "–", "–", "–", "–", f"{spent:.0f}", *_beside(part)
    low = is_low(held["covers"].to_numpy(), held["repetition"].to_numpy())
    width = held.filter(pl.col("width").is_finite())["width"].median()
    return (
        f"{answered:.0%}",
        f"{held['covers'].mean():.1%}" + (" low" if low else ""),
        f"{held['row_covers'].mean():.1%}",
        "–" if width is None else f"×{width:.2f}",
        ", ".join(f"{_within(part, times):.0%}" for times in (2, 5, 10)),
        f"{spent:.0f}",
        *_beside(part),
    )


def _beside(part: pl.DataFrame) -> tuple[str, str, str]:
    """What a set taken for the rows does, noisy statistics, and questions that stand alone."""
    covers, alone = part["naive_covers"].mean(), part.filter(pl.col("alone").is_finite())["alone"]
    return (
        "–" if covers is None else f"{covers:.0%}",
        _of_statistics(part),
        "–" if not alone.len() else f"×{alone.median():.2f}",
    )


def _of_statistics(part: pl.DataFrame) -> str:
    """How many questions noisy statistics answer, how often they cover and how widely."""
    answered, told = _mean_of_questions(part, pl.col("statistics")), part.filter("statistics")
    if not told.height:
        return f"{answered:.0%}"
    width = told.filter(pl.col("statistics_width").is_finite())["statistics_width"].median()
    return f"{answered:.0%}, {told['statistics_covers'].mean():.1%}, ×{width:.2f}"


def _within(part: pl.DataFrame, times: float) -> float:
    """The mean over questions of the part of their quantities that are told so closely."""
    width = pl.col("width").fill_nan(1.0)  # neither it nor that of the rows has a width
    close = pl.col("counts") & ~(width > times)
    return _mean_of_questions(part, close)


def _mean_of_questions(part: pl.DataFrame, held: pl.Expr) -> float:
    """The mean over questions of the part of their quantities of which something holds."""
    key = [*Cell.__dataclass_fields__, "kind", "asked", "repetition"]
    each = part.group_by(key).agg(held.mean().alias("held"))
    return float(each["held"].mean())  # type: ignore[arg-type]


def by_cell(table: pl.DataFrame, cells: Sequence[Cell]) -> Table:
    """One line for each cell: all questions, and its kinds with low coverage."""
    shown = Table(
        *("cell", *_HEADINGS, "low"),
        title="All cells",
        box=None,
    )
    for cell in cells:
        own = _of_cell(table, cell)
        kinds = [own.filter(pl.col("kind") == kind, "counts") for kind in ASKED_AS]
        low = [
            part["kind"][0]
            for part in kinds
            if part.height and is_low(part["covers"].to_numpy(), part["repetition"].to_numpy())
        ]
        shown.add_row(_title(cell), *_numbers(own), ", ".join(low) or "–")
    return shown


def faults(table: pl.DataFrame, top: int) -> Table:
    """Quantities whose coverage is too low, the worst first."""
    key = [*Cell.__dataclass_fields__, "kind", "asked", "quantity"]
    each = (
        table.filter("counts")
        .group_by(key)
        .agg(
            tried=pl.len(),
            held=pl.col("covers").sum(),
            row_covers=pl.col("row_covers").mean(),
            bias=((pl.col("lower") + pl.col("upper")) / 2 - pl.col("truth")).mean()
            / (pl.col("upper") - pl.col("lower")).mean(),
            width=pl.col("width").median(),
        )
    )
    p = stats.binom.cdf(each["held"].to_numpy(), each["tried"].to_numpy(), LEAST)
    each = each.with_columns(p=pl.Series(p)).filter(pl.col("p") < ALARM / max(each.height, 1))
    shown = Table(
        "cell",
        "question",
        "quantity",
        "coverage",
        "rows",
        "bias / width",
        "width",
        "p",
        title=f"{each.height} quantities fall short",
    )
    for one in each.sort("p").head(top).iter_rows(named=True):
        cell = Cell(*(one[name] for name in Cell.__dataclass_fields__))
        shown.add_row(
            _title(cell),
            f"{one['kind']} {one['asked']}",
            one["quantity"],
            f"{one['held'] / one['tried']:.0%} of {one['tried']}",
            f"{one['row_covers']:.0%}",
            f"{one['bias']:.2f}",
            f"×{one['width']:.2f}",
            f"{one['p']:.0e}",
        )
    return shown


def refusals(table: pl.DataFrame, top: int) -> Table:
    """Why there was no answer, the most frequent reasons first; names of columns left out."""
    asked = table.unique([*Cell.__dataclass_fields__, "asked", "kind", "repetition"])
    shown = Table("kind", "share of questions", "reason", title="Not answered")
    reason = pl.col("refused").map_elements(_reason, return_dtype=pl.String)
    counted = asked.drop_nulls("refused").group_by("kind", reason).len()
    for kind, words, n in counted.sort("len", descending=True).head(top).iter_rows():
        shown.add_row(kind, f"{n / asked.height:.1%}", words)
    wide = table.filter(pl.col("refused").is_null() & ~pl.col("counts")).height
    shown.add_row("any", f"{wide / table.height:.1%} of quantities", "too wide to count")
    return shown


def _reason(text: str) -> str:
    """The clause that says why, without what it names."""
    clause = re.sub(r"^No valid error bars .*?: |\([^)]*\)", "", re.split(r"[;\n]", text)[0])
    return re.sub(r"columns? [\w, ]+? (?=were|was)", "columns … ", clause)[:120]


def _title(cell: Cell) -> str:
    return f"{cell.population}, n = {cell.n}, {cell.rows}, ε = {cell.epsilon}, δ = {cell.delta}"


def _of_cell(table: pl.DataFrame, cell: Cell) -> pl.DataFrame:
    return table.filter(*(pl.col(name) == value for name, value in asdict(cell).items()))
