"""What a mechanism tells the steward, and nobody else: figures that depend on the rows."""

from __future__ import annotations

from collections.abc import Callable

from understudy.privacy.internal import Internal
from understudy.privacy.misfits import Misfits
from understudy.privacy.not_dp.weighted_posterior import FittedPosterior
from understudy.privacy.selection.metropolis import Travelled

Confided = Travelled | FittedPosterior | Misfits
"""How a walk went, how records were weighted and what became of it, or what hardly fits."""
Confide = Callable[[Internal[Confided]], None]
"""Takes what the steward alone may know."""
