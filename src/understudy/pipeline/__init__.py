"""From a table to a release and back: the only room that names an engine and a method together."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from understudy.pipeline.progress import Progress

if TYPE_CHECKING:
    from understudy.pipeline.analysis import analyze, replica_gate
    from understudy.pipeline.inside import evaluate, risk
    from understudy.pipeline.schema import check, draft
    from understudy.pipeline.synthesis import methods, synthesize

__all__ = [
    "Progress",
    "analyze",
    "check",
    "draft",
    "evaluate",
    "methods",
    "replica_gate",
    "risk",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    """A function when it is first asked for, so that each loads no more than it needs."""
    home: ModuleType
    if name in {"analyze", "replica_gate"}:
        from understudy.pipeline import analysis as home
    elif name in {"evaluate", "risk"}:
        from understudy.pipeline import inside as home
    elif name in {"check", "draft"}:
        from understudy.pipeline import schema as home
    elif name in {"methods", "synthesize"}:
        from understudy.pipeline import synthesis as home
    else:
        raise AttributeError(f"module 'understudy.pipeline' has no attribute {name!r}")
    value = getattr(home, name)
    globals()[name] = value
    return value
