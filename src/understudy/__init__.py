"""Synthetic microdata you can publish and do statistics on.

>>> import understudy as us
>>> [facts.name for facts in us.methods()][:2]
['marginals', 'aim']
"""

from typing import TYPE_CHECKING, Any

from understudy.errors import UnderstudyError
from understudy.pipeline import analyze, check, draft, evaluate, methods, risk, synthesize
from understudy.planning import Plan, plan
from understudy.privacy.guarantee import Guarantee
from understudy.release import Release
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.inference.pooling import pool
    from understudy.pipeline.regression import regress
    from understudy.tradeoffs import tradeoff

__version__ = "0.1.0"

__all__ = [
    "Guarantee",
    "Plan",
    "Release",
    "Schema",
    "UnderstudyError",
    "analyze",
    "check",
    "draft",
    "evaluate",
    "methods",
    "plan",
    "pool",
    "regress",
    "risk",
    "synthesize",
    "tradeoff",
]


def __getattr__(name: str) -> Any:
    """Some names when they are asked for: the libraries of statistics take a second to import."""
    if name == "pool":
        from understudy.inference.pooling import pool

        return pool
    if name == "regress":
        from understudy.pipeline.regression import regress

        return regress
    if name == "tradeoff":
        from understudy.tradeoffs import tradeoff

        return tradeoff
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")
