"""The bundled demonstration: a real survey on a sensitive subject, and its reviewed schema.

The rows are those of `statsmodels.datasets.fair` (6,366 married women who answered a magazine's
survey in 1974; Fair 1978, "A Theory of Extramarital Affairs", Journal of Political Economy 86).
They ship with statsmodels, not with Understudy.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from understudy._validation import require_extra
from understudy.schema import Schema

ANALYSES: Final = ("mean affairs", "logit {affairs > 0} ~ religious")
"""What the survey was made for: how much of them there is, and among whom."""


def demo_data() -> Any:
    """The survey as a pandas data frame of 6,366 rows and 9 columns.

    Raises:
        MethodError: statsmodels, with which it ships, is not installed.
    """
    require_extra("demo", "The survey of the demo")
    import pandas as pd

    package = find_spec("statsmodels")  # its file alone: to load the library takes half a second
    assert package is not None
    assert package.origin is not None
    table = Path(package.origin).parent / "datasets" / "fair" / "fair.csv"
    return pd.read_csv(table).astype(np.float64)


def demo_schema() -> Schema:
    """The reviewed schema of the survey; every level and bound names its source."""
    return Schema.loads((files(__name__) / "fair.toml").read_text(encoding="utf-8"))
