"""From a table to a release and back: the only room that names an engine and a method together."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from understudy.pipeline.interruption import Progress

if TYPE_CHECKING:
    from understudy.pipeline.drafting import check, draft, extremes
    from understudy.pipeline.release_analysis import analyze, replica_gate
    from understudy.pipeline.release_evaluation import evaluate, risk
    from understudy.pipeline.synthesis import list_methods, methods, synthesize

__all__ = [
    "Progress",
    "analyze",
    "check",
    "draft",
    "evaluate",
    "extremes",
    "list_methods",
    "methods",
    "replica_gate",
    "risk",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    """A function when it is first asked for, so that each loads no more than it needs."""
    home: ModuleType
    if name in {"analyze", "replica_gate"}:
        from understudy.pipeline import release_analysis as home
    elif name in {"evaluate", "risk"}:
        from understudy.pipeline import release_evaluation as home
    elif name in {"check", "draft", "extremes"}:
        from understudy.pipeline import drafting as home
    elif name in {"list_methods", "methods", "synthesize"}:
        from understudy.pipeline import synthesis as home
    else:
        raise AttributeError(f"module 'understudy.pipeline' has no attribute {name!r}")
    value = getattr(home, name)
    globals()[name] = value
    return value
