"""Pages for people: what a release is, how far it can be relied on, and what it promises."""

from typing import Any

from understudy.report.internal.internal_page import internal_page
from understudy.report.internal.risk_cards import risk_page
from understudy.report.public.codebook_page import codebook_page
from understudy.report.public.public_page import public_page
from understudy.report.public.results_page import results_page

__all__ = ["codebook_page", "internal_page", "plot", "public_page", "results_page", "risk_page"]


def __getattr__(name: str) -> Any:
    """`plot` when it is first asked for: it loads the libraries of statistics."""
    if name != "plot":
        raise AttributeError(f"module 'understudy.report' has no attribute {name!r}")
    from understudy.report.public.forest_plot import plot

    return plot
