"""Why points about regressions that do not fully agree do not."""

from __future__ import annotations

from understudy_studies.framework.verdict_causes import Cause

DEPTHS: dict[tuple[int, int], Cause] = {}
DEPTH_2: dict[str, Cause] = {}
SYNTHESIZERS: dict[tuple[str, str], Cause] = {}
FUNCTIONAL: dict[str, Cause] = {}
NARROW: dict[str, Cause] = {}
LOOSE: Cause | None = None
