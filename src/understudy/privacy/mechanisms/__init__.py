"""TRUSTED one by one: a release rests on those its ledger names. Each file has its proof."""

from typing import Any, Final

from understudy.privacy.mechanism import Mechanism
from understudy.privacy.mechanisms.choices.random_order import RandomOrder
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables, RowCount

MECHANISMS: Final[tuple[type[Mechanism[Any, Any]], ...]] = (
    NoisyTables,
    RandomOrder,
    RowCount,
)
"""All that have a finite cost. The list is closed: a new one is written here, with its proof."""
