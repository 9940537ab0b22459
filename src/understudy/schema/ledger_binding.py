"""Which population a table is of, whose ledger counts what its releases cost."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LedgerBinding(BaseModel):
    """The population whose ledger governs the budget of this table.

    Attributes:
        population: its name in the ledger; "" for a table that no ledger governs. A schema that
            names one is refused wherever the ledger cannot be reached.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    population: str = Field(default="", max_length=200)
