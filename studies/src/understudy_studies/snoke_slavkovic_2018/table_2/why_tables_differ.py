"""Why points about table 2 that do not fully agree do not."""

from __future__ import annotations

from understudy_studies.framework.verdict_causes import Cause

AMONG_THE_BEST: dict[str, Cause] = {}
COMPARABLE: dict[str, Cause] = {}
FAIR_PRICE: Cause | None = None
VARIANCE: dict[str, Cause] = {}
PRINTED_MEAN: dict[str, Cause] = {}
PRINTED_VARIANCE: dict[str, Cause] = {}
