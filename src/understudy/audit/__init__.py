"""Audits of methods, end to end: lower bounds on what their releases cost, by looking at them."""

from understudy.audit.audit import Verdict, audit
from understudy.audit.audit_lines import LINES, lines_about, unaudited
from understudy.audit.audited_release import Line

__all__ = ["LINES", "Line", "Verdict", "audit", "lines_about", "unaudited"]
