"""Sections on the ledger, relations between columns, and sets, worked out from the release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from understudy.dp.budget import SIGNS, UNITS, decimal_up, exact
from understudy.release.consistency import stage_costs
from understudy.release.manifest import Manifest
from understudy.release.measurement import kept_columns
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.report.text import rounded_up, times, with_deviations


@dataclass(frozen=True)
class LedgerRow:
    """One paid step; `share` is its part of the stated budget, None if there is none."""

    number: int
    query: str
    mechanism: str
    cost: str
    share: float | None
    sensitivity: str
    noise: str
    cells: int


@dataclass(frozen=True)
class Ledger:
    """The paid steps, and what they cost together.

    Attributes:
        rows: the steps.
        unit: sign of the unit that the ledger is kept in.
        total: what they cost together.
        stated: stated budget in that unit; "" if the manifest has none.
        words: how that compares with the budget.
    """

    rows: tuple[LedgerRow, ...]
    unit: str
    total: str
    stated: str
    words: str


_EARLY = " Whoever waited for it ended the rounds of the method before the budget did."

_DEARER = (
    " Together they cost more than the sum of their prices: a choice is cheaper where the rest of "
    "the budget is spent after it, and here a part of it was not."
)


def ledger(manifest: Manifest) -> Ledger:
    """The ledger of a release, its total and the stated budget."""
    entries = manifest.ledger
    unit = manifest.budget.get("unit") or next(
        (name for name in SIGNS if any(name in entry for entry in entries)), "epsilon"
    )
    stated = manifest.budget.get("amount", manifest.budget.get(unit, ""))
    amount = exact(stated) if stated else None
    spent = [_read_cost(entry) for entry in entries]
    rows = tuple(
        _ledger_row(entry, cost, amount) for entry, cost in zip(entries, spent, strict=True)
    )
    finite = [cost for cost in spent if cost is not None]
    prices = sum(finite, Fraction(0)) if len(finite) == len(spent) else None
    kept_in_gdp = prices is not None and unit == UNITS["gdp"]
    total = stage_costs(manifest)[-1] if kept_in_gdp else prices
    shown = "∞" if total is None else decimal_up(total)
    words = _compare_costs(total, amount) + _EARLY * manifest.ended_early
    words += _DEARER * (total != prices)
    return Ledger(rows, SIGNS.get(unit, unit), shown, stated, words)


def _read_cost(entry: dict[str, Any]) -> Fraction | None:
    for unit in SIGNS:
        if entry.get(f"{unit}_exact") is not None:
            return Fraction(entry[f"{unit}_exact"])
        if entry.get(unit) is not None:
            return exact(entry[unit])
    return None


def _ledger_row(entry: dict[str, Any], cost: Fraction | None, amount: Fraction | None) -> LedgerRow:
    return LedgerRow(
        number=entry["number"],
        query=entry["query"],
        mechanism=entry["mechanism"],
        cost="∞" if cost is None else rounded_up(cost),
        share=None if cost is None or not amount else float(cost / amount),
        sensitivity=entry["sensitivity"],
        noise=with_deviations(entry["noise"]),
        cells=entry["cells"],
    )


def _compare_costs(total: Fraction | None, amount: Fraction | None) -> str:
    if total is None:
        return "At least one step has an infinite cost: it released exact values, or has no bound."
    if amount is None:
        return ""
    if total > amount:
        # Stated budgets are rounded up, so this is no rounding: say it aloud.
        return "The steps cost more than the stated budget."
    unspent = float((amount - total) / amount) if amount else 0.0
    if unspent < 1e-9:  # the stated budget is a decimal, rounded up
        return "The steps cost exactly the stated budget."
    return f"The steps stay within the stated budget ({100 * unspent:.2g} % unspent)."


@dataclass(frozen=True)
class Relations:
    """Which pairs of columns were measured together.

    Attributes:
        sentence: what this means for the reader.
        groups: tables that cover two columns or more, as text.
    """

    sentence: str
    groups: tuple[str, ...]


def relations(release: Release) -> Relations:
    """Describe the associations that the rows can carry, as far as the measurements tell."""
    n = len(release.schema.names)
    n_pairs = n * (n - 1) // 2
    drawn = [table for table in release.measurements if table.kind is Kind.SWEEPS]
    if drawn:
        given = dict.fromkeys(text for table in drawn for text in table.of)
        return Relations(
            "Associations are kept, weakened, between a column and those that it was drawn given. "
            "Take all others as not preserved.",
            tuple(given),
        )
    if any(table.kind is Kind.PARAMETERS for table in release.measurements):
        return Relations(
            "Associations are those that the generator of the records can express, as strong as "
            "its chosen parameters say. Take all others as not preserved.",
            (),
        )
    posterior = [table for table in release.measurements if table.kind is Kind.POSTERIOR]
    if posterior:
        kept = kept_columns(release.measurements)
        return Relations(_modelled_words(kept), posterior[0].of)
    joint = list(
        dict.fromkeys(
            table.columns
            for table in release.behind_sets
            if len(table.columns) > 1 and table.kind not in (Kind.PRODUCTS, Kind.RANKS)  # of pairs
        )
    )
    groups = tuple(times(columns) for columns in joint)
    if n < 2:
        return Relations("The table has one column, so there are no associations to keep.", ())
    if any(len(columns) == n for columns in joint):
        return Relations(
            "All columns were measured together in one table, so every association is kept as well "
            "as the noise allows; in sparse tables that is not much.",
            groups,
        )
    covered = {frozenset(pair) for columns in joint for pair in combinations(columns, 2)}
    return Relations(_relation_words(release, len(covered), n_pairs), groups)


def _modelled_words(kept: tuple[str, ...]) -> str:
    """Describe what a model fitted to the exact rows keeps, and what is kept without it."""
    whole = f" {', '.join(kept)}: kept as they stand, with all that goes together in them."
    return (
        "Associations are those that the model can express between a column and those that it was "
        f"drawn given, as far as records weigh in it. Take all others as not preserved."
        f"{whole * bool(kept)}"
    )


def _relation_words(release: Release, n_covered: int, n_pairs: int) -> str:
    if release.manifest.inference.independent:
        rules = (
            " Only the declared impossible combinations link columns."
            if release.schema.boxes
            else ""
        )
        return (
            "Columns were drawn independently of each other. Associations between columns are NOT "
            "preserved: cross-tabulations, correlations and regressions on these rows say nothing "
            f"about the confidential table.{rules}"
        )
    if not release.measurements:
        return (
            "The release holds no noisy measurements, so this page cannot tell which associations "
            f"were kept; see the documentation of the method “{release.manifest.method}”."
        )
    if not n_covered:
        return (
            "No released measurement covers two columns together. Take associations between "
            "columns as not preserved."
        )
    return (
        f"{n_covered:,} of {n_pairs:,} pairs of columns were measured together; their association "
        "is kept up to noise. For every other pair the rows show at most what follows indirectly "
        "through measured pairs; take their association as not preserved"
        f"{_rank_words(release)}."
    )


def _rank_words(release: Release) -> str:
    """Of which pairs something more is known; "" where nothing is."""
    ranks = [table for table in release.behind_sets if table.kind is Kind.RANKS]
    if not ranks:
        return ""
    noise = ranks[-1].stddev / max(release.manifest.n_rows, 1)
    return (
        f", but for how far ranks of {len(ranks[-1].columns)} columns with an order go together: "
        f"that was measured for all pairs of them at once, with a noise of about {noise:.2g} in a "
        "correlation, and the rows follow it"
    )


def without_rule(release: Release) -> str:
    """Explain why no rule combines the sets, whatever their number; "" if one may."""
    if any(table.kind is Kind.PARAMETERS for table in release.measurements):
        return (
            "The rows were drawn from a generator whose parameters were chosen, at random and by "
            "how well they suit the confidential rows. How far such a generator is from these is "
            "not known outside and alike in all sets, so no error bars can be given."
        )
    if any(table.kind is Kind.POSTERIOR for table in release.measurements):
        return (
            "The rows were drawn from a model, at parameters of its own for each set, all from a "
            "posterior of the exact rows. What the model misses, and what weights of records take "
            "from it, is not known outside and alike in all sets, so no error bars can be given."
        )
    if release.manifest.inference.swept:
        return (
            "The rows were drawn column by column, from rows of tables that noise or an added "
            "weight had changed. What that does to shares and relations is the same in all sets, "
            "so no combining rule holds; error bars come from released noisy tables alone, for "
            "columns that one of them holds."
        )
    return ""


def sets_words(release: Release) -> str:
    """Describe how the sets were made, and what this means for combining their results."""
    manifest = release.manifest
    if reason := without_rule(release):
        return reason
    if manifest.sets == 1:
        return (
            "There is one synthetic set. Nothing in it shows how much the results would change "
            "with other noise; the released measurements and their scales do."
        )
    if manifest.sets_kind == "split":
        return (
            f"Each of the {manifest.sets} sets has a fit, privacy noise and a share of the budget "
            "of its own. Analyse each set, then combine: differences between sets show the privacy "
            "noise and the drawing of rows, so combining rules that use them can account for both."
        )
    if manifest.inference.posterior_rule == "mi":
        return (
            f"Each of the {manifest.sets} sets comes from the same noisy measurements with as much "
            "noise again on top. Analyse each set, then combine: differences between sets show as "
            "much noise as the sets share, and the rule for multiply imputed data, T = ū + (1 + "
            "1/m)·b, counts both."
        )
    if manifest.sets_kind == "posterior":
        return (
            f"Each of the {manifest.sets} sets was drawn from parameters of its own, all from one "
            "posterior distribution. Analyse each set, then combine: differences between sets show "
            "the uncertainty of the parameters and the drawing of rows."
        )
    return (
        f"All {manifest.sets} sets were drawn from one noisy fit and share the same privacy noise. "
        "Averaging over sets removes the randomness of drawing rows but not the privacy noise, and "
        "differences between sets do not show that noise: combining rules that look at these "
        "differences alone give intervals that are too narrow. Use the released measurements and "
        "their scales to account for the noise."
    )
