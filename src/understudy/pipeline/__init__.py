"""From a table to a release and back: the only room that names an engine and a method together."""

from understudy.pipeline.analysis import analyze, replica_gate
from understudy.pipeline.inside import evaluate, risk
from understudy.pipeline.progress import Progress
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
