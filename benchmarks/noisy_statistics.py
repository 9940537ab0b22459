"""Inference from noisy sufficient statistics, beside which answers of a release are measured.

What Asiaee & Pal (2026), "Noise-Calibrated Inference from Differentially Private Sufficient
Statistics in Exponential Families", arXiv:2603.02010, propose, by their abstract: clip the
sufficient statistics of a model, release their sum with Gaussian noise, take it for the exact one,
and add to the variance of the estimate what the noise does to it, to first order. This is a remake
from that description, not their code.

The statistics are those of a normal model of all columns: sums of products of any two of 1, numbers
that their public bounds bring to −1 … 1, whether a number is there, and levels. They get the whole
budget, and no records are made: that is more than a release has for answers. One record of k
columns changes them by no more than √((m² + m)/2), m = 1 + k; a number that may be absent counts as
two columns.

Estimates: shares, tables and means as ratios of two sums, with variances of a binomial or of a
common variance within groups; linear models by least squares, with one variance of the errors;
correlations as of normal numbers. Columns with absent values have no models, since products of
three would be needed. Quantiles, logit models, conditions, bins and logarithms are no functions of
these sums.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from natural_questions import Question
from understudy._arrays import Z_95
from understudy.dp.budget import Budget
from understudy.dp.calibration import gaussian_variance
from understudy.inference.records import is_grouping, level_values
from understudy.schema import NUMERIC, Column, Schema

Floats = NDArray[np.float64]
Ends = tuple[float, float]
Pair = tuple[Floats, Floats]
LEVEL = re.compile(r"\{?(\w+) == '(\w+)'\}?")


@dataclass(frozen=True)
class NoisyStatistics:
    """Noisy sums of products, and what they say.

    Attributes:
        sums: of products of two features, the first of which is 1; shape (k, k).
        stddev: of the noise in each.
        place: feature → where it is; of a column, whether it has a number, or of it and a level.
        schema: of the records.
    """

    sums: Floats
    stddev: float
    place: dict[tuple[str, object], int]
    schema: Schema

    @classmethod
    def of(
        cls,
        rows: pl.DataFrame,
        schema: Schema,
        budget: tuple[str, str],
        rng: np.random.Generator,
    ) -> NoisyStatistics:
        """Those of some rows.

        Args:
            rows: a record each.
            schema: public.
            budget: ε and δ.
            rng: of the noise.
        """
        features, place, most = [np.ones(rows.height)], {("", None): 0}, 1
        for name, column in schema.columns.items():
            own = rows[name]
            if isinstance(column, NUMERIC):
                low, high = column.bounds
                number = own.cast(pl.Float64).to_numpy()
                codes = [code for code in column.codes if not isinstance(code, str)]
                there = ~(np.isnan(number) | np.isin(number, codes))
                scaled = (2 * np.clip(number, low, high) - low - high) / (high - low)
                parts = {"number": np.where(there, scaled, 0.0)}
                if column.size > column.n_ordinary:
                    parts["there"] = there * 1.0
                most += len(parts)
            else:
                same = {level: (own == level).fill_null(False) for level in column.levels}
                parts = {level: one.to_numpy() * 1.0 for level, one in same.items()}
                most += 1
            for key, feature in parts.items():
                place[name, key] = len(features)
                features.append(feature)
        x = np.column_stack(features)
        amount, squared = Budget.of(*budget, "gdp").amount, (most**2 + most) // 2
        squared *= 4 if schema.rows == "public" else 1  # one record is replaced there
        stddev = math.sqrt(gaussian_variance(amount, accounting="gdp", squared=squared))
        noise = np.triu(rng.normal(0.0, stddev, (x.shape[1],) * 2))
        return cls(x.T @ x + noise + np.triu(noise, 1).T, stddev, place, schema)

    def answer(self, asked: Question) -> dict[str, Ends]:
        """Intervals by quantity, nothing for what these sums do not tell."""
        left, _, right = asked.formula.partition("~")
        try:
            with np.errstate(invalid="ignore", divide="ignore"):
                if asked.kind in {"share", "table"}:
                    return self._shares([one.strip() for one in left.split("+")])
                if asked.kind in {"mean", "group mean"}:
                    return self._means(left.strip(), right.strip())
                if asked.kind == "correlation":
                    return self._correlation(*(one.strip() for one in left.split("+")))
                if asked.kind in {"difference", "ols"}:
                    return self._model(left.strip(), [one.strip() for one in right.split("+")])
        except (KeyError, np.linalg.LinAlgError):  # no function of these sums, or lost in noise
            pass
        return {}

    def _product(self, one: Floats, other: Floats) -> float:
        return float(one @ self.sums @ other)

    def _feature(self, name: str, key: object) -> Floats:
        return np.eye(len(self.sums))[self.place[name, key]]

    def _there(self, name: str) -> Floats:
        """Whether a column has a value."""
        column = self.schema.columns[name]
        if column.size == column.n_ordinary:
            return self._feature("", None)
        if isinstance(column, NUMERIC):
            return self._feature(name, "there")
        return np.sum([self._feature(name, level) for level in levels_of(column)], axis=0)

    def _number(self, term: str) -> Floats:
        """A column as a number, or one of its levels."""
        if found := LEVEL.fullmatch(term):
            return self._feature(*found.groups())
        column = self.schema.columns[term]
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            middle = (high + low) / 2 * self._there(term)
            return middle + (high - low) / 2 * self._feature(term, "number")
        if is_grouping(column):
            raise KeyError(term)
        each = zip(column.levels, level_values(column), strict=True)
        return np.sum([float(v) * self._feature(term, one) for one, v in each], axis=0)

    def _noise(self, *changes: Pair) -> float:
        """Variance of a sum of products by the noise."""
        change = np.sum([np.outer(*one) for one in changes], axis=0)
        both = np.triu(change + change.T)
        both[np.diag_indices(len(both))] /= 2
        return self.stddev**2 * float((both**2).sum())

    def _ratio(self, above: Pair, below: Pair) -> tuple[float, float, float]:
        """A ratio of two products, its variance by noise, and the lower product."""
        size = self._product(*below)
        if size <= 0:
            return math.nan, math.nan, math.nan
        ratio = self._product(*above) / size
        change = (above[0] / size, above[1]), (-ratio * below[0] / size, below[1])
        return ratio, self._noise(*change), size

    def _shares(self, names: list[str]) -> dict[str, Ends]:
        found = {}
        first, other = names[0], names[1] if len(names) > 1 else ""
        one = self._feature("", None)
        below = self._there(first), self._there(other) if other else one
        for level in levels_of(self.schema.columns[first]):
            for beside in levels_of(self.schema.columns[other]) if other else (None,):
                at = self._feature(first, level), self._feature(other, beside) if other else one
                share, noise, size = self._ratio(at, below)
                name = f"{first}[{label(level)}]" + f":{other}[{label(beside)}]" * bool(other)
                found[name] = ends(share, noise + max(share * (1 - share), 0) / size)
        return found

    def _means(self, name: str, by: str) -> dict[str, Ends]:
        y, there = self._number(name), self._there(name)
        levels = levels_of(self.schema.columns[by]) if by else ()
        groups = {f"{name} | {by}[{label(one)}]": self._feature(by, one) for one in levels}
        groups = groups or {name: self._feature("", None)}
        each = {key: self._ratio((y, own), (there, own)) for key, own in groups.items()}
        sizes = np.array([size for _, _, size in each.values()])
        between = np.nansum(sizes * np.array([mean for mean, _, _ in each.values()]) ** 2)
        within = max(self._product(y, y) - between, 0.0) / np.nansum(sizes)
        return {key: ends(mean, noise + within / size) for key, (mean, noise, size) in each.items()}

    def _correlation(self, first: str, other: str) -> dict[str, Ends]:
        self._require_complete([first, other])
        one = self._feature("", None)
        n = self._product(one, one)
        u, v = (
            own - self._product(own, one) / n * one for own in map(self._number, (first, other))
        )
        spread = self._product(u, u) / n, self._product(v, v) / n
        if min(spread) <= 0:
            return {}
        u, v = u / math.sqrt(spread[0]), v / math.sqrt(spread[1])
        r = self._product(u, v) / n
        noise = self._noise((u / n, v), (-r / 2 / n * u, u), (-r / 2 / n * v, v))
        return {"correlation": ends(r, noise + max(1 - r**2, 0.0) ** 2 / n)}

    def _model(self, outcome: str, terms: list[str]) -> dict[str, Ends]:
        self._require_complete([outcome, *terms])
        y, one, x = self._number(outcome), self._feature("", None), {}
        for term in terms:
            name = term.removeprefix("C(").removesuffix(")")
            column = self.schema.columns[name]
            if isinstance(column, NUMERIC) or not (name != term or is_grouping(column)):
                x[term] = self._number(name)
            else:
                for level in column.levels[1:]:
                    x[f"{term}[T.{label(level)}]"] = self._feature(name, level)
        design = np.stack([one, *x.values()])
        products = design @ self.sums @ design.T
        np.linalg.cholesky(products)
        inverse = np.linalg.inv(products)
        b = inverse @ design @ self.sums @ y
        off = y - b @ design
        errors = max(self._product(off, off) / self._product(one, one), 0.0)
        rows = inverse @ design
        return {
            name: ends(b[k], self._noise((rows[k], off)) + errors * inverse[k, k])
            for k, name in enumerate(x, 1)
        }

    def _require_complete(self, terms: list[str]) -> None:
        """Raise KeyError where a term is no column, or one with absent values."""
        for term in terms:
            found = LEVEL.fullmatch(term)
            name = found[1] if found else term.removeprefix("C(").removesuffix(")")
            column = self.schema.columns[name]
            if column.size > column.n_ordinary:
                raise KeyError(name)


def levels_of(column: Column) -> tuple[object, ...]:
    """The levels of a column.

    Raises:
        KeyError: it is a number.
    """
    if isinstance(column, NUMERIC):
        raise KeyError("numbers have no levels")
    return column.levels


def label(level: object) -> str:
    """A level as answers name it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def ends(estimate: float, variance: float) -> Ends:
    """An interval of 95 %."""
    half = Z_95 * math.sqrt(variance)
    return estimate - half, estimate + half
