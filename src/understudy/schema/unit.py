"""Who is protected: the unit whose rows a guarantee is about."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Unit(BaseModel):
    """Who is protected.

    Attributes:
        rows_per_unit: most rows that one protected unit (person, household) can have. Only 1 is
            accepted: group accounting does not exist yet.
        description: the unit in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    rows_per_unit: int = Field(default=1, ge=1, json_schema_extra={"maximum": 1})
    description: str = ""

    @model_validator(mode="after")
    def _one_row(self) -> Unit:
        if self.rows_per_unit > 1:
            raise ValueError(
                "rows_per_unit above 1 is not supported yet (the guarantee would need group "
                "accounting); reduce the table to one row per protected unit and set it to 1"
            )
        return self
