"""Synthetic microdata you can publish and do statistics on.

>>> import understudy as us
>>> [facts.name for facts in us.list_methods()][:2]
['marginals', 'aim']
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from understudy.errors import UnderstudyError, UnderstudyWarning

if TYPE_CHECKING:
    from understudy.data.sql import Query
    from understudy.dp.guarantee import Guarantee
    from understudy.evaluate.evaluate import evaluate, risk
    from understudy.evaluate.tradeoff import tradeoff
    from understudy.inference.combining import pool
    from understudy.inference.places import places
    from understudy.inference.waves import waves
    from understudy.metadata.codebook import read_codebook
    from understudy.methods.registry import list_methods
    from understudy.release.release import Release
    from understudy.report.results_page import plot, results_page
    from understudy.schema import Schema
    from understudy.steward.draft import check, draft
    from understudy.workflow.amend import answer, plan_answer
    from understudy.workflow.analyze import analyze
    from understudy.workflow.calibrate import calibrate
    from understudy.workflow.choose import Choice, choose, plan_choice
    from understudy.workflow.options import RunOptions, SynthesisOptions
    from understudy.workflow.plan import Plan, plan
    from understudy.workflow.read import (
        read_estimates,
        read_measurements,
        read_noisy_measurements,
        read_places,
    )
    from understudy.workflow.regress import regress
    from understudy.workflow.sample import sample
    from understudy.workflow.synthesize import reserve, synthesize
    from understudy.workflow.synthesizer import Synthesizer
    from understudy.workflow.verdict import plan_verdict, verdict

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Guarantee",
    "Plan",
    "Query",
    "Release",
    "RunOptions",
    "Schema",
    "SynthesisOptions",
    "Synthesizer",
    "UnderstudyError",
    "UnderstudyWarning",
    "analyze",
    "answer",
    "calibrate",
    "check",
    "choose",
    "draft",
    "evaluate",
    "list_methods",
    "places",
    "plan",
    "plan_answer",
    "plan_choice",
    "plan_verdict",
    "plot",
    "pool",
    "read_codebook",
    "read_estimates",
    "read_measurements",
    "read_noisy_measurements",
    "read_places",
    "regress",
    "reserve",
    "results_page",
    "risk",
    "sample",
    "synthesize",
    "tradeoff",
    "verdict",
    "waves",
]

_HOMES = {
    "Choice": "workflow.choose",
    "Guarantee": "dp.guarantee",
    "Plan": "workflow.plan",
    "Query": "data.sql",
    "Release": "release.release",
    "RunOptions": "workflow.options",
    "Schema": "schema",
    "SynthesisOptions": "workflow.options",
    "Synthesizer": "workflow.synthesizer",
    "analyze": "workflow.analyze",
    "answer": "workflow.amend",
    "calibrate": "workflow.calibrate",
    "check": "steward.draft",
    "choose": "workflow.choose",
    "draft": "steward.draft",
    "evaluate": "evaluate.evaluate",
    "list_methods": "methods.registry",
    "places": "inference.places",
    "plan": "workflow.plan",
    "plan_answer": "workflow.amend",
    "plan_choice": "workflow.choose",
    "plan_verdict": "workflow.verdict",
    "plot": "report.results_page",
    "pool": "inference.combining",
    "read_codebook": "metadata.codebook",
    "read_estimates": "workflow.read",
    "read_measurements": "workflow.read",
    "read_noisy_measurements": "workflow.read",
    "read_places": "workflow.read",
    "regress": "workflow.regress",
    "reserve": "workflow.synthesize",
    "results_page": "report.results_page",
    "risk": "evaluate.evaluate",
    "sample": "workflow.sample",
    "synthesize": "workflow.synthesize",
    "tradeoff": "evaluate.tradeoff",
    "verdict": "workflow.verdict",
    "waves": "inference.waves",
}
"""Public name → the module it comes from."""


def __getattr__(name: str) -> Any:
    """A public name when it is first asked for: the libraries behind all of them take seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    value = getattr(import_module(f"understudy.{_HOMES[name]}"), name)
    if name == "Release":
        _compare_pages()
    globals()[name] = value
    return value


def _compare_pages() -> None:
    """Tell releases what renders the pages that are compared as one is loaded."""
    from understudy.release.release import render_pages_by

    def render(release: Any) -> Any:
        from understudy.workflow.pages import pages  # loads what draws them: only to compare

        return pages(release)

    render_pages_by(render)


def __dir__() -> list[str]:
    """Public names, and those that every module has."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


class _Package(ModuleType):
    """This package, where a room never hides a public name.

    When a room is first imported it becomes an attribute of the package, after which `evaluate`
    would be the room of that name, no longer the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
