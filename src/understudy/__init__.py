"""Synthetic microdata you can publish and do statistics on.

>>> import understudy as us
>>> [facts.name for facts in us.methods()]
['independent', 'laplace']
"""

from understudy.errors import UnderstudyError
from understudy.pipeline import Plan, check, draft, methods, plan, synthesize
from understudy.privacy.guarantee import Guarantee
from understudy.release import Release
from understudy.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "Guarantee",
    "Plan",
    "Release",
    "Schema",
    "UnderstudyError",
    "check",
    "draft",
    "methods",
    "plan",
    "synthesize",
]
