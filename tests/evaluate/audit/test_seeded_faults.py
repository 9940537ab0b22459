"""Classic mistakes, put into the code one at a time: an audit or the gate must notice each of them.

Noise is seeded, so that a fault is caught in each run or in none. Without a fault none of these
audits gives an alarm (`test_the_same_audits_are_silent_without_a_fault`). No fault of a scale is
larger than a factor of two in ε.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from understudy.data import sources
from understudy.data.base import ExactTable
from understudy.dp import calibration, distributions
from understudy.dp.mechanism import answer
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError
from understudy.evaluate import audit as audits
from understudy.evaluate.audit import (
    LINES,
    AuditCase,
    audit,
    distinguish,
    matrix,
    observations_of,
    stated_by,
)
from understudy.mechanisms import selection, selection_scores, sparse_tables
from understudy.mechanisms import tables as tables_module
from understudy.workflow import synthesize
from understudy.workflow.request import Request

Patch = pytest.MonkeyPatch


def line(method: str, **wanted: object) -> AuditCase:
    """The line of a method with such options, or such other attributes."""
    options = wanted.pop("options", None)
    return next(
        one
        for one in LINES
        if one.method == method
        and (options is None or one.options == options)
        and all(getattr(one, name) == value for name, value in wanted.items())
    )


ADDED = line("laplace", options={"noise": "geometric"})
REPLACED = next(one for one in LINES if "noise=geometric, a record replaced" in str(one))
GAUSSIAN, GAUSSIAN_REPLACED = (one for one in LINES if one.method == "independent" and one.worst)
_, CHOICE = (one for one in LINES if one.method == "a choice between two")
FILTERED = line("laplace", options={"form": "filtered"})
LAZY = line("laplace", options={"form": "lazy"})
PAIR = line("independent", delta="0.000001", worst=False)
STRANGER = replace(ADDED, neighbour=(*ADDED.rows, {"a": "nobody"}))
SECOND = replace(ADDED, rows=(*ADDED.rows, {"a": "y"}), neighbour=(*ADDED.neighbour, {"a": "y"}))


def sensitivity_1_for_replaced(patch: Patch) -> None:
    patch.setattr(calibration, "l1_sensitivity", lambda _neighbours: 1)


def squared_sensitivity_1_for_replaced(patch: Patch) -> None:
    patch.setattr(calibration, "l2_sensitivity_squared", lambda _neighbours: 1)


def monotone_rule_for_a_score_that_is_not(patch: Patch) -> None:
    patch.setattr(selection_scores.DistanceFromModel, "monotone", True)


def half_forgotten_in_the_exponent(patch: Patch) -> None:
    exact = selection.rate_of

    def twice(epsilon, sensitivity, *, monotone):
        return 2 * exact(epsilon, sensitivity, monotone=monotone)

    patch.setattr(selection, "rate_of", twice)


def the_likeliest_always_wins(patch: Patch) -> None:
    patch.setattr(selection, "select", lambda values, **_how: int(np.argmax(values)))


def noise_reused(patch: Patch) -> None:
    """Each step draws the words that the first one drew."""

    class Again(SeededRandomness):
        def words(self, n):
            self.go_to(0)
            return super().words(n)

    patch.setattr(audits, "randomness_of", Again)


def seed_fixed(patch: Patch) -> None:
    patch.setattr(audits, "randomness_of", lambda _seed: SeededRandomness(7))


def one_draw_for_all_cells(patch: Patch) -> None:
    patch.setattr(
        tables_module,
        "perturb",
        lambda counts, noise, source: counts + noise.sample(1, source)[0],
    )


def a_count_left_exact(patch: Patch) -> None:
    _noise_but_in(patch, lambda counts: np.arange(len(counts)) == len(counts) - 1)


def no_noise_in_empty_cells(patch: Patch) -> None:
    _noise_but_in(patch, lambda counts: counts == 0)


def _noise_but_in(patch: Patch, spared: Callable[[np.ndarray], np.ndarray]) -> None:
    exact = tables_module.perturb

    def perturb(counts, noise, source):
        return np.where(spared(counts), counts, exact(counts, noise, source))

    patch.setattr(tables_module, "perturb", perturb)


def clamped_before_the_noise(patch: Patch) -> None:
    """Small counts are taken for none: a record more may then count for two."""
    exact = tables_module.perturb
    patch.setattr(
        tables_module,
        "perturb",
        lambda counts, noise, source: exact(np.where(counts < 2, 0, counts), noise, source),
    )


def a_record_counted_twice(patch: Patch) -> None:
    """What is out of domain is put into the first cell as well."""
    fold = ExactTable.fold.__func__

    def twice(kind, table):
        exact = fold(kind, table)
        inside = exact.inside.copy()
        inside.flat[0] += exact.outside
        return kind(inside, exact.outside)

    patch.setattr(ExactTable, "fold", classmethod(twice))


def a_private_number_of_rows_in_the_chunks(patch: Patch) -> None:
    """Sets are drawn with as many records as there are rows, and not as were bought."""
    drawn = synthesize.drawn_tables
    exact: list[int] = []
    run = tables_module.RowCount.run

    def counted(self, rows, charges, source):
        exact[:] = [rows.total()]
        return run(self, rows, charges, source)

    def chunked(models, _n_rows, *rest, **how):
        return drawn(models, exact[0], *rest, **how)

    patch.setattr(tables_module.RowCount, "run", counted)
    patch.setattr(synthesize, "drawn_tables", chunked)


def an_exact_number_of_rows(patch: Patch) -> None:
    patch.setattr(
        tables_module.RowCount,
        "run",
        lambda _self, rows, _charges, _source: answer(rows.total(), counts_rows=True),
    )


def empty_cells_never_reach_the_threshold(patch: Patch) -> None:
    patch.setattr(sparse_tables, "successes", lambda _n, _p, _source: 0)


def empty_cells_never_drawn(patch: Patch) -> None:
    patch.setattr(sparse_tables, "binomial", lambda _n, _p, _uniform: 0)


def half_the_scale(patch: Patch) -> None:
    exact = calibration.pure_within
    patch.setattr(calibration, "pure_within", lambda spend, unit: 2 * exact(spend, unit))


def a_quarter_of_the_variance(patch: Patch) -> None:
    exact = calibration.unit_variance
    patch.setattr(calibration, "unit_variance", lambda spend: exact(spend) / 4)


def rounded_to_one_side(patch: Patch) -> None:
    """Noise that is never negative: a count is an upper bound on the truth."""
    exact = distributions.DiscreteLaplace.sample
    patch.setattr(
        distributions.DiscreteLaplace,
        "sample",
        lambda self, size, source: np.abs(exact(self, size, source)),
    )


def a_stop_that_looks_at_the_rows(patch: Patch) -> None:
    """A callback that keeps the rows ends the rounds where there are many."""
    exact = audits.open_gate

    def stopped(engine, *rest):
        return exact(engine, *rest, stop=lambda: engine.total().expose() > 8)

    patch.setattr(audits, "open_gate", stopped)


@dataclass(frozen=True)
class Fault:
    """A mistake, the audit that notices it, and from how many releases of each table."""

    inject: Callable[[Patch], None]
    line: AuditCase
    releases: int = 1_600

    def __str__(self) -> str:
        return self.inject.__name__


ROUNDS = line("aim", delta="0")
FAULTS = (
    Fault(sensitivity_1_for_replaced, REPLACED),
    Fault(squared_sensitivity_1_for_replaced, GAUSSIAN_REPLACED, 16_000),
    Fault(monotone_rule_for_a_score_that_is_not, CHOICE, 4_000),
    Fault(half_forgotten_in_the_exponent, CHOICE, 4_000),
    Fault(the_likeliest_always_wins, CHOICE, 400),
    Fault(noise_reused, ADDED, 400),
    Fault(seed_fixed, ADDED, 100),
    Fault(one_draw_for_all_cells, ADDED),
    Fault(a_count_left_exact, STRANGER, 400),
    Fault(no_noise_in_empty_cells, ADDED, 400),
    Fault(clamped_before_the_noise, SECOND, 4_000),
    Fault(a_record_counted_twice, STRANGER, 8_000),
    Fault(a_private_number_of_rows_in_the_chunks, ADDED, 400),
    Fault(an_exact_number_of_rows, ADDED, 400),
    Fault(empty_cells_never_reach_the_threshold, FILTERED, 400),
    Fault(empty_cells_never_drawn, LAZY, 400),
    Fault(half_the_scale, ADDED, 600),
    Fault(a_quarter_of_the_variance, GAUSSIAN, 4_000),
    Fault(rounded_to_one_side, ADDED, 400),
    Fault(a_stop_that_looks_at_the_rows, ROUNDS, 400),
)


def some() -> list[object]:
    """All of them: one by day, by night those of 400 releases, and of those none in rounds."""
    longer = {str(fault) for fault in FAULTS if fault.releases > 400 or fault.line is ROUNDS}
    return [
        pytest.param(
            fault,
            marks=pytest.mark.audit if str(fault) in longer else pytest.mark.nightly,
            id=str(fault),
        )
        if fault.inject is not seed_fixed
        else pytest.param(fault, id=str(fault))
        for fault in FAULTS
    ]


@pytest.mark.parametrize("fault", some())
def test_a_fault_is_caught(fault, monkeypatch):
    fault.inject(monkeypatch)
    found = audit(fault.line, releases=fault.releases, seed=1)
    assert found.alarm, found.to_json()


@pytest.mark.audit
def test_the_same_audits_are_silent_without_a_fault():
    asked = {str(fault.line): fault.line for fault in FAULTS}
    assert not [name for name, its in asked.items() if audit(its, releases=400, seed=2).alarm]


@pytest.mark.nightly
def test_a_column_that_one_row_gives_another_type_is_caught(monkeypatch):
    """A pandas column of texts, read as numbers as long as every row of it can be."""
    exact = sources.pandas_column

    def guessed(series):
        numbers = pd.to_numeric(series, errors="coerce")
        return exact(series if numbers.isna().any() else numbers.astype(str) + "0")

    monkeypatch.setattr(sources, "pandas_column", guessed)
    levels = ADDED.schema.replace('["x", "y"]', '["1", "2"]')
    trial = replace(ADDED, schema=levels).trial()
    tables = [pd.DataFrame({"a": ["1"] * 8 + more}) for more in ([], ["odd"])]
    found = [observations_of(trial, rows, range(400)) for rows in tables]
    names, _ = matrix([*found[0], *found[1]])
    sides = [matrix(one, names)[1] for one in found]
    shown = distinguish(*sides, names, stated_by(trial, tables[0]))
    assert shown.certain > 2


@pytest.mark.parametrize("share", ["rows", "sets"])
def test_what_is_spent_twice_is_refused_by_the_ledger(share, monkeypatch):
    """What the number of rows costs, or what other sets cost, is not taken off the budget."""
    spent = Request.fit_spend.fget

    def too_much(self):
        return self.budget.amount if share == "rows" else spent(self) * self.sets

    monkeypatch.setattr(Request, "fit_spend", property(too_much))
    options = {} if share == "rows" else {"sets": "split"}
    wrong = replace(ADDED, options=options, sets=1 if share == "rows" else 2)
    with pytest.raises(BudgetError):
        audit(wrong, releases=100, seed=1)
