"""Pages for people: what a release is, how far it can be relied on, and what it promises."""

from understudy.report.internal.internal_page import internal_page
from understudy.report.internal.risk_cards import risk_page
from understudy.report.public.public_page import public_page

__all__ = ["internal_page", "public_page", "risk_page"]
