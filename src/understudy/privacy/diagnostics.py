"""What a mechanism tells the steward, and nobody else: figures that depend on the rows."""

from __future__ import annotations

from collections.abc import Callable

from understudy.privacy.internal import Internal


class Diagnostic:
    """How a walk went, how records were weighted, what hardly fits: each mechanism has its own."""


Confide = Callable[[Internal[Diagnostic]], None]
"""Takes what the steward alone may know."""
