"""Nothing is asked of the rows before it is paid, and nothing is paid beyond the stated budget."""

from fractions import Fraction

import pytest

from contract.conftest import EPSILON, ROWS
from understudy.data.base import NO_PREMISES
from understudy.errors import InsufficientBudgetError
from understudy.mechanisms.tables import RowCount
from understudy.methods.registry import METHODS


class Asked(Exception):
    """The engine was asked."""


class Refusing:
    """An engine that gives no answer and counts how often it was asked."""

    premises, has_records = NO_PREMISES, True

    def __init__(self, schema, questions=None):
        self.schema = schema
        self.questions = [] if questions is None else questions

    @property
    def asked(self):
        return len(self.questions)

    def recode(self, schema):
        return Refusing(schema, self.questions)

    def total(self, *_, **__):
        self.questions.append(1)
        raise Asked

    count = count_occupied = sums = code_rows = total


def cost(entry, budget):
    return Fraction(entry[f"{budget.unit_name}_exact"])


def test_every_method_has_cases_of_both_kinds_of_rows(cases):
    assert {(one.method, one.rows) for one in cases} == {
        (name, rows) for name in METHODS for rows in ("private", "public")
    }


def require_within_budget(case, release, epsilon):
    if not case.configured.private:
        assert release.guarantee.epsilon is None
        assert "NOT" in release.guarantee.statement
        return
    budget = case.budget(epsilon)
    assert 0 < sum(cost(entry, budget) for entry in release.manifest.ledger) <= budget.amount
    assert release.guarantee.epsilon == Fraction(epsilon)
    assert release.guarantee.delta == Fraction(case.delta)


@pytest.mark.nightly(every=2)
def test_the_steps_never_cost_more_than_the_budget(each_option, released, epsilon):
    require_within_budget(each_option, released(each_option), epsilon)


@pytest.mark.parametrize("tiny", [True, False], ids=["tiny", "huge"])
@pytest.mark.nightly(every=6)
def test_the_steps_never_cost_more_than_any_budget(one_set, released, least_epsilon, tiny):
    epsilon = least_epsilon if tiny else one_set.huge()
    require_within_budget(one_set, released(one_set, "ordinary", epsilon), epsilon)


@pytest.mark.nightly(every=3)
def test_a_fit_is_charged_before_the_rows_are_asked(paid):
    engine = Refusing(paid.schema(10))
    gate = paid.gate(engine)
    with pytest.raises(Asked):
        paid.ask(gate, gate.budget.amount / 2)
    assert engine.asked == 1
    assert gate.ledger
    assert gate.budget.amount / 2 <= gate.remaining < gate.budget.amount


def test_the_number_of_rows_is_charged_before_the_rows_are_asked(private):
    gate = private.gate(Refusing(private.schema(10)))
    with pytest.raises(Asked):
        gate.ask(RowCount(), spend=gate.budget.amount / 3)
    assert gate.remaining == gate.budget.amount * 2 / 3


def test_an_overdraft_is_refused_and_the_rows_are_never_asked(paid):
    engine = Refusing(paid.schema(10))
    gate = paid.gate(engine)
    with pytest.raises(InsufficientBudgetError):
        paid.ask(gate, gate.budget.amount + Fraction(1, 10**12))
    assert engine.asked == 0
    assert gate.remaining == gate.budget.amount


def test_what_was_spent_cannot_be_spent_again(counting):
    engine = Refusing(counting.schema(10))
    gate = counting.gate(engine)
    with pytest.raises(Asked):
        counting.ask(gate, gate.budget.amount)
    with pytest.raises(InsufficientBudgetError):
        counting.ask(gate, Fraction(1, 10**6))
    assert engine.asked == 1


def is_choice(step):
    return step["mechanism"] == "exponential mechanism"


def require_rounds(budget, table, steps, measured, saved):
    """Tables of single columns once more, or at least one round, or both; no round larger than
    planned, none cheaper than the one before it, and all that was planned for them is spent, with
    what was saved before."""
    assert steps
    assert sum(cost(step, budget) for step in steps) == table.share * budget.amount + saved
    if not is_choice(steps[0]):
        assert [m.columns for m in measured[: len(table.columns)]] == [(n,) for n in table.columns]
        steps, measured = steps[len(table.columns) :], measured[len(table.columns) :]
    if [one.kind for one in measured] != ["choice", "table"] * (len(steps) // 2):
        require_forest(steps, measured)
        return
    choices, tables = steps[::2], steps[1::2]
    assert all(is_choice(one) for one in choices)
    assert not any(is_choice(one) for one in tables)
    assert all(one["cells"] <= table.n_cells for one in tables)
    assert [m.columns for m in measured[::2]] == [m.columns for m in measured[1::2]]
    costs = [cost(step, budget) for step in steps]
    assert costs[::2] == sorted(costs[::2])
    assert costs[1::2] == sorted(costs[1::2])


def require_forest(steps, measured):
    """All choices, then their tables, then such tables or single columns again."""
    n = sum(map(is_choice, steps))
    assert all(map(is_choice, steps[:n]))
    chosen = [one.columns for one in measured[:n]]
    assert [one.columns for one in measured[n : 2 * n]] == chosen
    assert {one.columns for one in measured[2 * n :] if len(one.columns) > 1} <= {*chosen}


@pytest.mark.nightly(every=2)
def test_the_plan_is_what_happens(each_option, released, tables, epsilon):
    plan, release = each_option.plan(len(tables["ordinary"]), epsilon), released(each_option)
    steps = [step for step in release.manifest.ledger if step["query"] != "number of rows"]
    planned = plan.setup + plan.tables * plan.fits
    measured = each_option.by_plan(planned, release.measurements, lambda one: one.kind == "choice")
    done = list(zip(planned, each_option.by_plan(planned, steps, is_choice), measured, strict=True))
    saved = Fraction(0)
    for table, some_steps, some_measured in done:
        if table.form == "rounds":
            require_rounds(plan.budget, table, some_steps, some_measured, saved)
            saved = Fraction(0)
        elif each_option.by_rows(table):
            paid = sum(cost(step, plan.budget) for step in some_steps)
            assert paid == 0 or paid >= table.share * plan.budget.amount
            saved += table.share * plan.budget.amount - paid
    assert saved == 0
    done = [one for one in done if one[0].form != "rounds" and not each_option.by_rows(one[0])]
    assert all(len(some_steps) == len(found) == 1 for _, some_steps, found in done)
    planned, steps = [table for table, _, _ in done], [step for _, (step,), _ in done]
    for step, table in zip(steps, planned, strict=True):
        assert step["noise"] == table.noise
        if table.chosen:
            assert step["cells"] <= table.n_cells
        else:
            assert (step["query"], step["cells"]) == (table.query, table.n_cells)
    if each_option.configured.private:
        costs = [cost(step, plan.budget) for step in steps]
        assert costs == [table.share * plan.budget.amount for table in planned]
    assert [(m.stddev, m.threshold) for _, _, (m,) in done] == [
        (table.stddev, table.threshold) for table in planned
    ]
    manifest = release.manifest
    assert (manifest.method, manifest.options) == (plan.method, plan.options)
    assert (manifest.sets, manifest.sets_kind) == (plan.sets, plan.sets_kind)
    assert manifest.rows_obtained == plan.rows_noise
    assert release.guarantee.neighbours == plan.neighbours


@pytest.mark.nightly(every=2)
def test_private_rows_are_bought_once_and_public_ones_not_at_all(case, released):
    steps = [step["query"] for step in released(case).manifest.ledger]
    assert steps.count("number of rows") == (case.rows == "private")


def once_more(release, fixed):
    """Places in the ledger of the second tables of single columns, where each fit has two."""
    bought = next(k for k, step in enumerate(release.manifest.ledger) if "counts" in step["query"])
    ways = {}
    for k, one in enumerate(release.measurements, start=bought):
        if fixed[k] and one.kind == "table" and len(one.columns) == 1 and not one.groups:
            ways.setdefault(one.columns, []).append(k)
    fits = release.manifest.sets if release.manifest.sets_kind == "split" else 1
    return [k for found in ways.values() if len(found) == 2 * fits for k in found[1::2]]


def without_rounds(release, manifest, by_rows):
    """What is said of steps that nothing released has a say in: a choice, the table that it decides
    on, all from a forest's first choice on, tables of single columns that are bought once more, and
    what costs by the number of rows (ranks, and single columns without δ) are left out, and counted
    by what all of them cost."""
    steps = manifest["ledger"]
    after = [False, *(is_choice(step) for step in steps[:-1])]
    fixed = [not is_choice(step) and not chosen for step, chosen in zip(steps, after, strict=True)]
    if any(after) and not after[-1]:  # a forest, whose choices are not the last but one step
        fixed[after.index(True) :] = [False] * (len(steps) - after.index(True))
    budget = next(unit for unit in steps[0] if unit.endswith("_exact"))
    words = "counts by" if budget.startswith("epsilon") else "products of ranks"
    ruled = [k for k, step in enumerate(steps) if by_rows and words in step["query"]]
    for step in (*once_more(release, fixed), *ruled):
        fixed[step] = False
    rest = sum(Fraction(s[budget]) for s, kept in zip(steps, fixed, strict=True) if not kept)
    numbers = [step["query"] != "number of rows" for step in steps]
    kept = [one for one, number in zip(fixed, numbers, strict=True) if number]
    measured = [m for m, one in zip(release.measurements, kept, strict=True) if one]
    ledger = [step for step, one in zip(steps, fixed, strict=True) if one]
    ledger = [{k: v for k, v in one.items() if k != "number"} for one in ledger]
    return (
        manifest | {"ledger": ledger},
        rest,
        [(m.columns, m.distribution, m.scale) for m in measured],
    )


def metadata(release, chosen, rounds=False, by_rows=False):
    """All that is said about a release but what holds noise: the number of rows, the counts, and
    the prior weight of draws, which follows from that number. Where columns are chosen at random,
    also all that follows from this choice is left out."""
    manifest = {k: v for k, v in release.manifest.to_json().items() if k != "n_rows"}
    drawn = {"draws", "sweeps"}
    if rounds:
        return without_rounds(release, manifest, by_rows), [
            table.schema for table in release.tables
        ]
    if chosen:
        follows = {"query", "cells", "sensitivity"}
        steps = [{k: v for k, v in one.items() if k not in follows} for one in manifest["ledger"]]
        inference = {k: v for k, v in manifest["inference"].items() if k != "network"}
        measured = [one.to_json() for one in release.measurements]
        return manifest | {"ledger": steps, "inference": inference}, [
            (one["law"], one["kind"] in drawn or one["scale"]) for one in measured
        ]
    noisy = {"outside", "totals", "cells"}
    tables = [one.to_json() for one in release.measurements]
    kept = [
        {
            k: v
            for k, v in one.items()
            if k not in noisy and (k != "scale" or one["kind"] not in drawn)
        }
        for one in tables
    ]
    sizes = [len(one.codes) for one in release.measurements if one.kind == "table"]
    return manifest, kept, sizes, [table.schema for table in release.tables]


@pytest.mark.nightly(every=3)
def test_neighbours_without_rows_have_the_same_ledger_and_metadata(one_set, released):
    """Of a public number of rows the least neighbours have one row each."""
    base = "no rows" if one_set.rows == "private" else "another row"
    require_same_metadata(one_set, released, base, "one row")


@pytest.mark.nightly(every=3)
def test_neighbouring_tables_have_the_same_ledger_and_metadata(one_set, released):
    base = "ordinary" if one_set.rows == "private" else "another more"
    require_same_metadata(one_set, released, base, "one more")


@pytest.mark.nightly(every=3)
def test_a_neighbour_out_of_domain_has_the_same_ledger_and_metadata(optioned, released):
    base = "ordinary" if optioned.rows == "private" else "another more"
    require_same_metadata(optioned, released, base, "a stranger more")


@pytest.mark.nightly(every=3)
def test_neighbouring_tables_have_the_same_ledger_and_metadata_in_several_sets(several, released):
    base = "ordinary" if several.rows == "private" else "another more"
    require_same_metadata(several, released, base, "one more")


def require_same_metadata(case, released, *neighbours):
    plan = case.plan(max(len(ROWS[neighbours[0]]), 1), EPSILON)
    chosen = any(step.chosen for step in plan.setup + plan.tables)
    rounds = any(step.form == "rounds" for step in plan.tables)
    by_rows = any(case.by_rows(step) for step in case.plan(10, case.huge()).tables)
    one, two = (metadata(released(case, rows), chosen, rounds, by_rows) for rows in neighbours)
    assert one == two
