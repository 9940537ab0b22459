"""Questions that a release is to answer, and the budget that answers them exactly enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from understudy.desk import runs
from understudy.desk.visit import Go, Page, Visit
from understudy.errors import DeskError, MethodError, UnderstudyError
from understudy.inference.declared import DeclaredAnalysis, declared_analyses, public_delta
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import with_condition

if TYPE_CHECKING:
    from understudy.desk.project import Project
    from understudy.workflow.options import SynthesisOptions
    from understudy.workflow.plan import Plan
    from understudy.workflow.planner import Planner

KINDS: Final = (
    ("mean", "the mean of a number", "how large {first} is on average{among}"),
    ("proportion", "shares of levels", "how often each level of {first} occurs{among}"),
    ("total", "the total of a number", "how much {first} there is in all{among}"),
    ("median", "the median of a number", "what half of all lie below in {first}{among}"),
    ("correlation", "the correlation of two numbers", "how {first} and {others} go together"),
    ("independence", "whether two things go together", "whether {first} and {others} go together"),
    ("ols", "a number explained by others", "how {first} goes with {others}"),
    ("logit", "whether something holds, by others", "on what it hangs whether {first}: {others}"),
)
"""Kind of analysis, what it is in words, and the sentence of a question."""
_OF_GROUPS: Final = {"mean", "proportion", "total"}
_MODELS: Final = {"ols", "logit"}
_FIELDS: Final = ("epsilon", "delta", "sets", "answers", "assume_rows")
_SHOWN: Final = 8
"""Estimates of one analysis that are shown; the others are folded."""
_MOST_KEPT: Final = 8
_SLIDER: Final = 500
"""Steps of a slider: each changes the third digit, so that every press of an arrow key counts."""


def _quoted(name: str) -> str:
    from understudy.inference.formulas import quote_name  # loads the library of formulas

    return quote_name(name)


def formula_of(kind: str, first: str, others: Sequence[str]) -> str:
    """Write down a question about columns that were picked.

    Args:
        kind: of analysis.
        first: column that it is about.
        others: what it is explained by, compared with, or split by.

    Raises:
        MethodError: too many columns, or too few.
    """
    names = [_quoted(name) for name in others]
    if kind in _MODELS:
        if not names:
            raise MethodError("Pick at least one column that explains the first.")
        return f"{_quoted(first)} ~ {' + '.join(names)}"
    if kind in ("correlation", "independence"):
        if len(names) != 1:
            raise MethodError("Pick one other column for this question.")
        return f"{_quoted(first)} + {names[0]}"
    if kind in _OF_GROUPS and names:
        return f"{_quoted(first)} ~ {' + '.join(names)}"
    if names:
        raise MethodError("This question is about one column; pick no others.")
    return _quoted(first)


def _schema(visit: Visit) -> Schema | Go:
    if not visit.own.has("schema.toml"):
        return visit.to("schema")
    return Schema.load(visit.own.place("schema.toml"))


def _show_questions(visit: Visit) -> dict[str, Any] | Go:
    schema = _schema(visit)
    if isinstance(schema, Go):
        return schema
    asked = visit.own.read("questions.toml").get("analyses", [])
    return {
        "asked": [(k, _sentence(one), one) for k, one in enumerate(asked)],
        "columns": [(name, isinstance(one, NUMERIC)) for name, one in schema.columns.items()],
        "kinds": KINDS,
        "form": {name: visit.text(name) for name in ("kind", "first", "formula", "where", "who")},
        "others": visit.texts("others"),
        "command": "understudy plan --schema schema.toml --epsilon 1 --analyses questions.toml"
        if asked
        else "understudy plan --schema schema.toml --epsilon 1",
    }


def _sentence(one: dict[str, str]) -> str:
    """A question in words, as far as it was picked and not written."""
    first, _, others = one["formula"].partition("~" if "~" in one["formula"] else "+")
    words = {kind: sentence for kind, _, sentence in KINDS}.get(one["kind"], "{first}, {others}")
    told = ", ".join(part.strip() for part in others.split("+") if part.strip())
    among = f", by {told}" if told and one["kind"] in _OF_GROUPS else ""
    where = f", where {one['where']}" if one.get("where") else ""
    return words.format(first=first.strip(), others=told, among=among) + where


def _act_questions(visit: Visit) -> Go:
    asked = list(visit.own.read("questions.toml").get("analyses", []))
    do = visit.text("do")
    if do == "on":
        visit.own.update(step="plan")
        return visit.to("plan")
    if do.startswith("remove:"):
        number = do.removeprefix("remove:")
        if not number.isdecimal() or int(number) >= len(asked):
            raise DeskError("This question is not there any more.")
        asked.pop(int(number))
    else:
        schema = Schema.load(visit.own.place("schema.toml"))
        kind, formula = visit.text("kind"), visit.text("formula")
        if not formula:
            if not visit.text("first"):
                raise DeskError("Pick the column that the question is about.")
            formula = formula_of(kind, visit.text("first"), visit.texts("others"))
        entry = {"kind": kind, "formula": formula}
        entry |= {"where": visit.text("where")} if visit.text("where") else {}
        entry |= {"asked_by": visit.text("who")} if visit.text("who") else {}
        declared_analyses([entry], schema)
        if entry in asked:
            raise DeskError("This question is there already.")
        asked.append(entry)
    if asked:
        visit.own.write("questions.toml", {"analyses": asked})
    else:
        visit.own.place("questions.toml").unlink(missing_ok=True)
    visit.own.note("questions changed")
    return visit.to("questions")


def _values(visit: Visit, schema: Schema) -> dict[str, str]:
    """What the form says, else the plan that was saved, else what is usual."""
    usual = {"epsilon": "1", "sets": "5", "answers": "", "assume_rows": ""}
    most = schema.most_rows
    usual["delta"] = public_delta(most) if most else "0"
    kept = visit.own.read("plan.toml")
    return {name: visit.text(name, str(kept.get(name, usual[name]))) for name in _FIELDS}


def _wanted(visit: Visit, analyses: Sequence[dict[str, str]]) -> dict[str, str]:
    """Half-widths that are wanted, as typed, by analysis."""
    kept = dict(visit.own.read("plan.toml").get("wanted", {}))
    return {
        text: visit.text(f"wanted_{k}", str(kept.get(text, "")))
        for k, text in enumerate(map(_written, analyses))
    }


def _written(one: dict[str, str]) -> str:
    return str(DeclaredAnalysis(one["kind"], with_condition(one["formula"], one.get("where", ""))))


def options_of(values: dict[str, str], analyses: Sequence[dict[str, str]]) -> SynthesisOptions:
    """Return what is to be made of a budget.

    Args:
        values: fields of a plan, as typed.
        analyses: entries of questions.toml.

    Raises:
        MethodError: a field that is none.
    """
    from understudy.workflow.options import SynthesisOptions

    for name, words in (("sets", "The number of sets"), ("assume_rows", "The number of records")):
        if values[name] and not (values[name].isdecimal() and len(values[name]) < 10):
            raise MethodError(f"{words} is a whole number such as 5.")
    return SynthesisOptions(
        sets=int(values["sets"] or 1),
        budget={"answers": values["answers"]} if values["answers"] else None,
        analyses=[*analyses] or None,
        assume_rows=int(values["assume_rows"]) if values["assume_rows"] else None,
    )


def words_of(values: dict[str, str], *, analyses: bool) -> list[str]:
    """Return the words of a command that say the same.

    Args:
        values: fields of a plan.
        analyses: whether there are any.
    """
    words = ["--schema", "schema.toml", "--epsilon", values["epsilon"], "--delta", values["delta"]]
    words += ["--sets", values["sets"]]
    words += ["--budget", f"answers={values['answers']}"] if values["answers"] else []
    words += ["--assume-rows", values["assume_rows"]] if values["assume_rows"] else []
    return words + (["--analyses", "questions.toml"] if analyses else [])


def _show_plan(visit: Visit) -> dict[str, Any] | Go:
    schema = _schema(visit)
    if isinstance(schema, Go):
        return schema
    schema.require_reviewed()
    analyses = visit.own.read("questions.toml").get("analyses", [])
    values, wanted = _values(visit, schema), _wanted(visit, analyses)
    refused, outlook, own = "", [], None
    try:
        planner = _planner(visit, schema, values, analyses)
        outlook = _outlook(planner.expected(values["epsilon"] or "0"))
        own = account(visit.own, planner.budget(values["epsilon"] or "0"))
    except UnderstudyError as error:
        refused = str(error)
    command = runs.as_typed(["plan", *words_of(values, analyses=bool(analyses))])
    return {
        "values": values,
        "slider": _to_slider(values["epsilon"]),
        "steps_of_slider": _SLIDER,
        "wanted": list(wanted.items()),
        "outlook": outlook,
        "refused": refused,
        "assumed": values["assume_rows"] or schema.n_rows or "1,000",
        "private": schema.rows == "private",
        "unit": schema.unit.description or "one record",
        "account": own,
        "command": command,
    }


def _to_slider(epsilon: str) -> int:
    """Place of an ε on a slider from 0.01 to 20, in equal ratios."""
    try:
        size = min(max(float(epsilon), 0.01), 20.0)
    except ValueError:
        return _SLIDER // 2
    return round(_SLIDER * math.log(size / 0.01) / math.log(2_000))


def _from_slider(text: str) -> str:
    place = min(int(text), _SLIDER) if text.isdecimal() and len(text) < 6 else _SLIDER // 2
    return f"{0.01 * 2_000 ** (place / _SLIDER):.3g}"


def _act_plan(visit: Visit) -> Go | None:
    schema = Schema.load(visit.own.place("schema.toml"))
    analyses = visit.own.read("questions.toml").get("analyses", [])
    do = visit.text("do")
    if do == "slide":
        visit.form["epsilon"] = [_from_slider(visit.text("slider"))]
        return None
    if do == "preview":
        return None
    values, wanted = _values(visit, schema), _wanted(visit, analyses)
    if do == "least":
        asked = {text: _width(typed) for text, typed in wanted.items() if typed}
        found = _planner(visit, schema, values, analyses).least_epsilon(asked)
        visit.form["epsilon"] = [format(found, "f")]
        return None
    plan_of(visit, schema, values, analyses)
    kept = {text: typed for text, typed in wanted.items() if typed}
    visit.own.write("plan.toml", {**values, **({"wanted": kept} if kept else {})})
    visit.own.update(step="approve")
    visit.own.note("plan saved", epsilon=values["epsilon"], delta=values["delta"])
    return visit.to("approve")


def _width(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise MethodError("A half-width is a number such as 500 or 0.02.") from None


def _planner(
    visit: Visit, schema: Schema, values: dict[str, str], analyses: Sequence[dict[str, str]]
) -> Planner:
    """The planner of this very schema and plan, which is kept while they stay the same."""
    from understudy.workflow.planner import Planner

    others = {name: values[name] for name in _FIELDS if name != "epsilon"}
    text = visit.own.place("schema.toml").read_text(encoding="utf-8")
    key = repr((visit.own.id, text, others, analyses))

    def make() -> Planner:
        return Planner(schema, delta=values["delta"] or "0", how=options_of(values, analyses))

    planner: Planner = _kept(visit, key, make)
    return planner


def _kept(visit: Visit, key: str, make: Any) -> Any:
    """What was worked out for the same before; of few things only."""
    with visit.desk.lock:
        known = visit.desk.worked_out
        if key not in known:
            while len(known) >= _MOST_KEPT:
                known.pop(next(iter(known)))
            known[key] = make()
        return known[key]


def plan_of(
    visit: Visit, schema: Schema, values: dict[str, str], analyses: Sequence[dict[str, str]]
) -> Plan:
    """Return the whole plan, which is kept while nothing that it is of changes.

    Args:
        visit: whose.
        schema: reviewed.
        values: fields of the plan.
        analyses: entries of questions.toml.
    """
    from understudy.workflow.plan import plan

    text = visit.own.place("schema.toml").read_text(encoding="utf-8")
    key = repr(("plan", visit.own.id, text, values, analyses))
    how = options_of(values, analyses)
    asked = {"epsilon": values["epsilon"] or "0", "delta": values["delta"] or "0"}
    found: Plan = _kept(visit, key, lambda: plan(schema, **asked, how=how))  # type: ignore[arg-type]
    return found


def _outlook(expected: Sequence[Any]) -> list[dict[str, Any]]:
    """Estimates of each analysis, with what their errors by sampling and by noise take of each."""
    found = []
    for text, group in groupby(expected, key=lambda one: one.analysis):
        rows = list(group)
        told = [] if rows[0].refused else [_bar(one) for one in rows]
        found.append(
            {
                "text": text,
                "refused": rows[0].refused,
                "rows": told[:_SHOWN],
                "more": told[_SHOWN:],
            }
        )
    return found


def _bar(one: Any) -> dict[str, Any]:
    """Of an estimate; parts of its variance, which add up where half-widths do not."""
    part = (one.sampling / one.half_width) ** 2 if one.half_width else 1.0
    return {
        "name": one.name,
        "half": one.half_width,
        "noise": one.noise,
        "sampling": one.sampling,
        "sampled": round(100 * part, 1),
        "noisy": round(100 - 100 * part, 1),
        "times": one.half_width / one.sampling if one.sampling else math.inf,
    }


def account(project: Project, budget: Any) -> dict[str, Any] | None:
    """Return how much of its caps a population has spent, and what a plan would take.

    Args:
        project: that may name a ledger.
        budget: planned.

    Returns:
        What the template needs; None where no ledger governs the project.
    """
    kept = project.read("project.toml")
    if not kept.get("ledger"):
        return None
    from understudy.ledger.account import Cost
    from understudy.ledger.ledger import PopulationLedger

    name = kept["population"]
    try:
        totals = PopulationLedger.open(kept["ledger"]).totals(name)
        cost = Cost(budget.accounting, budget.amount, totals.population.neighbours)
    except UnderstudyError as error:
        return {"population": name, "refused": str(error), "caps": ()}
    return {"population": name, "refused": "", "caps": totals.shares(cost)}


def warm() -> None:
    """Load what plans need before the first one is asked for."""
    import understudy.workflow.expected_answers
    import understudy.workflow.planner  # noqa: F401


QUESTIONS = Page("Questions", "questions", _show_questions, _act_questions)
PLAN = Page("Plan", "plan", _show_plan, _act_plan)
