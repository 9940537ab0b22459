"""A method is published and final, or a family and abstract; nothing in between."""

import inspect
import pkgutil
from dataclasses import fields
from importlib import import_module

import pytest

from understudy.dp.gate import Gate
from understudy.methods.base import Method, NonAdaptiveMethod
from understudy.methods.plan import PlanningGate
from understudy.methods.registry import METHODS

SPECIALISED = {"laplace"}
"""Published methods of which another one is the final special case."""


def heirs(kind):
    """All classes below one, wherever they are declared in the package."""
    for one in kind.__subclasses__():
        if one.__module__.startswith("understudy."):
            yield one
            yield from heirs(one)


def is_final(kind):
    return vars(kind).get("__final__", False)


@pytest.fixture(scope="module", autouse=True)
def _all_families():
    methods = import_module("understudy.methods")
    for found in pkgutil.iter_modules(methods.__path__, "understudy.methods."):
        import_module(found.name)
    assert all(METHODS.values())


@pytest.mark.parametrize("name", METHODS)
def test_a_published_method_is_final_or_has_a_final_special_case(name):
    kind = METHODS[name]
    assert not inspect.isabstract(kind)
    assert is_final(kind) is (name not in SPECIALISED)
    assert kind.__module__.startswith(("understudy.methods.", "understudy.papers."))
    for special in heirs(kind):
        assert special in METHODS.values()
        assert is_final(special)


def test_whatever_is_not_published_is_abstract():
    families = {*heirs(Method)} - {*METHODS.values()}
    assert len(families) > 5
    for kind in families:
        assert inspect.isabstract(kind), kind
        assert kind.__module__.startswith(("understudy.methods.", "understudy.papers.")), kind


def test_only_a_special_case_specialises():
    special = {one.facts.name for name in METHODS for one in heirs(METHODS[name])}
    assert special == {"perturbed-histogram"}


def test_a_method_answers_by_fit_alone():
    """No second way to answer stands beside it, in any method or family."""
    answers = {"fit", "measure", "setup", "plan", "plan_setup"}
    verbs = [(n, one) for kind in (Method, *heirs(Method)) for n, one in vars(kind).items()]
    asked = {
        name
        for name, one in verbs
        if inspect.isfunction(one)
        and name[0] != "_"
        and "gate" in inspect.signature(one).parameters
    }
    assert asked - answers == {"grow"}, "a verb that asks the gate, beside fit and setup"


def test_a_fit_without_choices_is_what_it_measures():
    """Neither the plan nor the fit of such a method says by itself what is asked."""
    for kind in heirs(NonAdaptiveMethod):
        assert kind.fit is NonAdaptiveMethod.fit, kind
        gate = inspect.signature(kind.measure).parameters["gate"]
        assert gate.annotation == "AnyGate", kind
    assert not issubclass(PlanningGate, Gate)
    assert {one.name for one in fields(PlanningGate)} == {"schema", "budget", "steps"}
