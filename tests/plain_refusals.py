"""What a refusal is: three lines that an analyst can use."""

from __future__ import annotations

import re

from understudy.inference.rules import CODES
from understudy.methods.registry import METHODS

NAMES = re.compile(rf"\b({'|'.join(METHODS)}|noise-aware|NaN|nan|inf)\b|∞")
"""No analyst can use these; a publisher's command may name a method."""


def require_plain(error):
    """Three lines: why, with the code; what is answered; what to ask for."""
    why, here, ask = str(error).split("\n")
    assert error.code in CODES
    assert re.fullmatch(rf"No valid error bars \({error.code}\): .{{20,600}}\.", why)
    assert re.fullmatch(r"This release (answers|is not known) .+\.", here)
    assert re.fullmatch(r"(Ask|No request to the publisher) .+\.", ask)
    plain = re.sub(r"--method \S+|--option \S+", "", f"{why} {here} {ask}")
    assert not NAMES.search(plain), plain
