"""Questions that a release is to answer, and the budget that answers them exactly enough."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from understudy.desk import runs
from understudy.desk.visit import Page, Visit
from understudy.desk.words import N_, _, refusal
from understudy.errors import MethodError, UnderstudyError
from understudy.inference.declared import declared_analyses, public_delta
from understudy.inference.question_file import KINDS, formula_of, sentence_of
from understudy.schema import NUMERIC, Schema
from understudy.workflow.budget_shares import PARTS, settable_parts

if TYPE_CHECKING:
    from understudy.desk.project import Project
    from understudy.workflow.options import SynthesisOptions
    from understudy.workflow.plan import Plan, Planner

FIELDS: Final = ("epsilon", "delta", "sets", "assume_rows", *PARTS)
"""Of a plan; a part that is empty is the usual one."""
_PARTS_IN_WORDS: Final = {
    "rows": (N_("The number of rows"), N_("Of the whole budget; the others share the rest.")),
    "answers": (
        N_("Answers"),
        N_("Moments of the questions’ columns, or of all columns without any."),
    ),
    "lines": (
        N_("Lines of numbers"),
        N_("Fine histograms, for quantiles and what lies beyond bounds."),
    ),
    "layer": (
        N_("All columns"),
        N_("Moments of all columns, beside those of the questions."),
    ),
    "places": (N_("Places"), N_("The tables of places that the schema declares.")),
}
_SHOWN: Final = 8
"""Estimates of one analysis that are shown; the others are folded."""
_MOST_KEPT: Final = 8
_STOPS: Final = {
    "epsilon": [f"{0.01 * 2_000 ** (place / 500):.3g}" for place in range(501)],
    "delta": ["0", *(f"{digit}e-{power}" for power in range(12, 2, -1) for digit in (1, 2, 5))],
    **{part: [f"{place / 100:g}" for place in range(part == "rows", 100)] for part in PARTS},
}
"""Where each slider can stand: every press of an arrow key counts."""


def asked_about(schema: Schema) -> dict[str, Any]:
    """Columns that a question can name: of units with members, those of both tables.

    Args:
        schema: of the release.
    """
    form = schema.members
    if form is None:
        return dict(schema.columns)
    return {**form.unit_columns(schema.columns), **form.member_columns(schema.declared)}


def _show_questions(visit: Visit) -> dict[str, Any]:
    schema, asked = visit.schema(), visit.own.analyses
    return {
        "asked": [(k, sentence_of(one), one) for k, one in enumerate(asked)],
        "columns": [(name, isinstance(one, NUMERIC)) for name, one in asked_about(schema).items()],
        "kinds": KINDS,
        "command": runs.as_typed(["plan", *words_of(visit.own, {"epsilon": "1"})]),
    }


def _act_questions(visit: Visit) -> str:
    asked, do = visit.own.analyses, visit.text("do")
    if do == "on":
        visit.own.update(step="plan")
        return visit.to("plan")
    if do.startswith("remove:"):
        number = do.removeprefix("remove:")
        if not number.isdecimal() or int(number) >= len(asked):
            raise refusal("This question is not there any more.")
        asked.pop(int(number))
    else:
        schema, kind, formula = visit.schema(), visit.text("kind"), visit.text("formula")
        formula = formula or formula_of(kind, visit.text("first"), visit.texts("others"))
        entry = {"kind": kind, "formula": formula}
        told = {"where": visit.text("where"), "asked_by": visit.text("who")}
        entry |= {name: text for name, text in told.items() if text}
        declared_analyses([entry], schema)
        if entry in asked:
            raise refusal("This question is there already.")
        asked.append(entry)
    if asked:
        visit.own.write("questions.toml", {"analyses": asked})
    else:
        visit.own.place("questions.toml").unlink(missing_ok=True)
    visit.own.note("questions changed")
    return visit.to("questions")


def _values(visit: Visit, schema: Schema) -> dict[str, str]:
    """Return the values of the form, else of the plan that was saved, else the usual ones."""
    most = schema.most_rows
    usual = {"epsilon": "1", "sets": "5", "delta": public_delta(most) if most else "0"}
    kept = usual | visit.own.read("plan.toml")
    return {name: visit.text(name, str(kept.get(name, ""))) for name in FIELDS}


def _wanted_widths(visit: Visit, schema: Schema) -> dict[str, str]:
    """Half-widths that are wanted, as typed, by analysis."""
    kept = dict(visit.own.read("plan.toml").get("wanted", {}))
    asked = map(str, declared_analyses(visit.own.analyses, schema))
    return {one: visit.text(f"wanted_{k}", kept.get(one, "")) for k, one in enumerate(asked)}


def _options(project: Project, values: dict[str, str]) -> SynthesisOptions:
    """Return the options that a form states."""
    from understudy.workflow.options import SynthesisOptions

    named = {"sets": _("The number of sets"), "assume_rows": _("The number of records")}
    for name, what in named.items():
        if values[name] and not (values[name].isdecimal() and len(values[name]) < 10):
            raise MethodError(_("%(what)s is a whole number such as 5.", what=what))
    return SynthesisOptions(
        sets=int(values["sets"] or 1),
        budget={part: values[part] for part in PARTS if values.get(part)},
        analyses=project.analyses or None,
        assume_rows=int(values["assume_rows"]) if values["assume_rows"] else None,
    )


def words_of(project: Project, values: dict[str, str]) -> list[str]:
    """Return the words of a command that say the same.

    Args:
        project: whose schema and questions they name.
        values: fields of a plan.
    """
    words = ["--schema", "schema.toml"]
    for name in ("epsilon", "delta", "sets", "assume_rows"):
        words += [f"--{name.replace('_', '-')}", values[name]] if values.get(name) else []
    parts = ",".join(f"{part}={values[part]}" for part in PARTS if values.get(part))
    words += ["--budget", parts] if parts else []
    return words + (["--analyses", "questions.toml"] if project.analyses else [])


def _show_plan(visit: Visit) -> dict[str, Any]:
    schema = visit.schema()
    schema.require_reviewed()
    values, wanted = _values(visit, schema), _wanted_widths(visit, schema)
    refused, outlook, own, shares = "", [], None, dict[str, Fraction]()
    settable = settable_parts(schema, declared=bool(visit.own.analyses))
    try:
        planner = _planner(visit, schema, values)
        shares = planner.shares(values["epsilon"] or "0")
        expected = planner.expected_widths(values["epsilon"] or "0")
        outlook = [(text, [*own]) for text, own in groupby(expected, lambda one: one.analysis)]
        own = account(visit, planner.budget(values["epsilon"] or "0"))
    except UnderstudyError as error:
        refused = str(error)
    return {
        "values": values,
        "sliders": {name: _slider(name, values[name], shares) for name in _STOPS},
        "shown_parts": [(part, *_PARTS_IN_WORDS[part]) for part in settable],
        "records": f"{float(100 * shares['records']):.3g}" if shares else "",
        "wanted": list(wanted.items()),
        "outlook": outlook,
        "most": _SHOWN,
        "refused": refused,
        "assumed": values["assume_rows"] or schema.n_rows or "1,000",
        "private": schema.rows == "private",
        "unit": schema.unit.description or _("one record"),
        "account": own,
        "command": runs.as_typed(["plan", *words_of(visit.own, values)]),
    }


def _slider(name: str, typed: str, shares: Mapping[str, Fraction]) -> tuple[int, int, str]:
    """Its last place, where it stands, and what is usual of a part that nobody states."""
    usual = f"{float(shares[name]):.3g}" if name in shares and not typed else ""
    try:
        size = float(typed or usual or "0")
    except ValueError:  # which is refused beside it
        size = 0.0
    stops = _STOPS[name]
    place = bisect_left(stops, size * (1 - 1e-9), key=float)
    return len(stops) - 1, min(place, len(stops) - 1), usual


def _act_plan(visit: Visit) -> str | None:
    schema, do = visit.schema(), visit.text("do")
    if do.startswith("slide:") and (name := do.removeprefix("slide:")) in _STOPS:
        stops, place = _STOPS[name], visit.number(f"slide_{name}", _("The place of a slider")) or 0
        visit.form[name] = [stops[min(place, len(stops) - 1)]]
        return None
    if do == "preview":
        return None
    values, wanted = _values(visit, schema), _wanted_widths(visit, schema)
    if do == "least":
        asked = {text: _width(typed) for text, typed in wanted.items() if typed}
        found = _planner(visit, schema, values).least_epsilon(asked)
        visit.form["epsilon"] = [format(found, "f")]
        return None
    plan_of(visit, values)
    kept = {text: typed for text, typed in wanted.items() if typed}
    visit.own.write("plan.toml", {**values, **({"wanted": kept} if kept else {})})
    visit.own.update(step="approve")
    visit.own.note("plan saved", epsilon=values["epsilon"], delta=values["delta"])
    return visit.to("approve")


def _width(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise MethodError(_("A half-width is a number such as 500 or 0.02.")) from None


def _planner(visit: Visit, schema: Schema, values: dict[str, str]) -> Planner:
    """The planner of this very schema and plan, which is kept while they stay the same."""
    from understudy.workflow.plan import Planner

    how = _options(visit.own, values)
    delta, others = values["delta"] or "0", {**values, "epsilon": ""}
    near: Planner = _recall(visit, {}, lambda: Planner(schema, delta=delta, how=how))
    made: Planner = _recall(visit, others, lambda: near.beside(delta=delta, how=how))
    return made


def plan_of(visit: Visit, values: dict[str, str]) -> Plan:
    """Return the whole plan, which is kept while nothing that it is of changes.

    Args:
        visit: whose.
        values: fields of the plan.
    """
    from understudy.workflow.plan import plan

    schema, how = visit.schema(), _options(visit.own, values)
    epsilon, delta = values["epsilon"] or "0", values["delta"] or "0"
    made: Plan = _recall(visit, values, lambda: plan(schema, epsilon=epsilon, delta=delta, how=how))
    return made


def _recall(visit: Visit, values: dict[str, str], make: Callable[[], Any]) -> Any:
    """Return a result that was worked out for the same before; few are kept."""
    text = visit.own.place("schema.toml").read_text(encoding="utf-8")
    key = repr((visit.own.id, text, visit.own.analyses, sorted(values.items())))
    with visit.desk.lock:
        known = visit.desk.worked_out
        if key not in known:
            while len(known) >= _MOST_KEPT:
                known.pop(next(iter(known)))
            known[key] = make()
        return known[key]


def account(visit: Visit, budget: Any) -> dict[str, Any] | None:
    """Return how much of its caps a population has spent, and what a plan would take.

    Args:
        visit: whose project may name a ledger.
        budget: planned.

    Returns:
        What the template needs; None where no ledger governs the project.
    """
    kept = visit.own.read("project.toml")
    if not kept.get("ledger"):
        return None
    from understudy.ledger.account import Cost
    from understudy.ledger.ledger import PopulationLedger

    name, approved = kept["population"], kept.get("approved", {})
    try:
        totals = PopulationLedger.open(kept["ledger"]).totals(name)
        own = approved.get("reservation") if approved.get("ledger") == kept["ledger"] else None
        reserved = own if own in totals.open else None
        stands = reserved and approved["digest"] == visit.own.digest()
        cost = Cost(budget.accounting, budget.amount, visit.schema().neighbours)
        caps = totals.shares(planned := None if stands else cost)
    except UnderstudyError as error:
        return {"population": name, "refused": str(error), "caps": ()}
    return {"population": name, "refused": "", "caps": caps, "reserved": reserved, "anew": planned}


def warm() -> None:
    """Load what plans need before the first one is asked for."""
    import understudy.workflow.expected_answers
    import understudy.workflow.plan  # noqa: F401


QUESTIONS = Page(N_("Questions"), "questions", _show_questions, _act_questions)
PLAN = Page(N_("Plan"), "plan", _show_plan, _act_plan)
