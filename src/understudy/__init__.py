"""Synthetic microdata you can publish and do statistics on.

>>> import understudy as us
>>> [facts.name for facts in us.list_methods()][:2]
['marginals', 'aim']
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from understudy.errors import UnderstudyError

if TYPE_CHECKING:
    from understudy.inference.combining_rules import pool
    from understudy.inference.waves import waves
    from understudy.pipeline import (
        analyze,
        check,
        draft,
        evaluate,
        list_methods,
        methods,
        risk,
        synthesize,
    )
    from understudy.pipeline.amending import answer
    from understudy.pipeline.answer_plan import plan_answer
    from understudy.pipeline.planning import Plan, plan
    from understudy.pipeline.queries import Query
    from understudy.pipeline.regression import regress
    from understudy.pipeline.sampling import sample
    from understudy.pipeline.synthesizer import Synthesizer
    from understudy.pipeline.verdict import plan_verdict, verdict
    from understudy.privacy.accounting.guarantee import Guarantee
    from understudy.release import Release
    from understudy.report.public.forest_plot import plot
    from understudy.report.public.results_page import results_page
    from understudy.risk_utility import tradeoff
    from understudy.schema import Schema
    from understudy.schema.codebooks import read_codebook

__version__ = "0.1.0"

__all__ = [
    "Guarantee",
    "Plan",
    "Query",
    "Release",
    "Schema",
    "Synthesizer",
    "UnderstudyError",
    "analyze",
    "answer",
    "check",
    "draft",
    "evaluate",
    "list_methods",
    "methods",
    "plan",
    "plan_answer",
    "plan_verdict",
    "plot",
    "pool",
    "read_codebook",
    "regress",
    "results_page",
    "risk",
    "sample",
    "synthesize",
    "tradeoff",
    "verdict",
    "waves",
]


def __getattr__(name: str) -> Any:
    """A public name when it is first asked for: the libraries behind all of them take seconds."""
    if name not in __all__:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    value = getattr(_home(name), name)
    globals()[name] = value
    return value


def _home(name: str) -> ModuleType:
    """The module that a public name comes from."""
    home: ModuleType
    if name == "Schema":
        from understudy import schema as home
    elif name == "read_codebook":
        from understudy.schema import codebooks as home
    elif name == "Guarantee":
        from understudy.privacy.accounting import guarantee as home
    elif name == "Release":
        home = _release()
    elif name == "pool":
        from understudy.inference import combining_rules as home
    elif name == "waves":
        from understudy.inference import waves as home
    elif name == "plot":
        from understudy.report.public import forest_plot as home
    elif name == "results_page":
        from understudy.report.public import results_page as home
    elif name == "tradeoff":
        from understudy import risk_utility as home
    else:
        home = _pipeline_of(name)
    return home


def _release() -> ModuleType:
    """The room of releases, told what renders the pages that are compared as one is loaded."""
    from understudy import release as home
    from understudy.release.release import render_pages_by

    def rendered(release: Any) -> Any:
        from understudy.pipeline.page_set import pages  # loads what draws them: only to compare

        return pages(release)

    render_pages_by(rendered)
    return home


def _pipeline_of(name: str) -> ModuleType:
    """The module of the pipeline that a public name comes from."""
    home: ModuleType
    if name in {"Plan", "plan"}:
        from understudy.pipeline import planning as home
    elif name == "sample":
        from understudy.pipeline import sampling as home
    elif name == "Synthesizer":
        from understudy.pipeline import synthesizer as home
    elif name == "Query":
        from understudy.pipeline import queries as home
    elif name == "regress":
        from understudy.pipeline import regression as home
    elif name == "answer":
        from understudy.pipeline import amending as home
    elif name == "plan_answer":
        from understudy.pipeline import answer_plan as home
    elif name in {"plan_verdict", "verdict"}:
        from understudy.pipeline import verdict as home
    else:
        from understudy import pipeline as home
    return home


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """This package, where a room never hides a public name.

    When a room is first imported it becomes an attribute of the package, after which `methods`
    would be the room of that name, no longer the function. The function to call is `list_methods`;
    `methods` is its former name.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
