"""Pages for people: what a release is, how far it can be relied on, and what it promises."""

from understudy.report.internal import internal_page
from understudy.report.internal_risk import risk_page
from understudy.report.public import public_page

__all__ = ["internal_page", "public_page", "risk_page"]
