"""The design of a survey: weights with a public bound, and what is known of strata and clusters.

A weight is a column of a record's own, with public bounds, so that the guarantee covers it as any
other. It can say nothing of a weight that depends on the records of others, as raked weights do:
such a promise is conditional.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.errors import suggestion
from understudy.schema.columns import NUMERIC, Categorical, Column
from understudy.schema.temporal import Calendar

_MOST_EFFECT: Final = 1000.0
_LEAST_GROUPS: Final = 10


class DesignEffect(BaseModel):
    """The factor by which the variance exceeds that of records drawn one by one with their weights.

    Attributes:
        default: the factor of variances, public.
        source: where it comes from, as a quality report of an earlier wave; never the rows.
        replacement: whether it is against draws with replacement, so that the gain of a finite
            population is in it. False: against draws without, as Kish's and most published ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    default: float = 0.0
    source: str = ""
    replacement: bool = True

    @model_validator(mode="after")
    def _is_public(self) -> Self:
        if not (0 < self.default <= _MOST_EFFECT and self.source.strip()):
            raise ValueError(
                "a design effect needs default, a number above 0, and source, where it is published"
            )
        return self


class SamplingFraction(BaseModel):
    """The sampled part of a finite population; public, and never counted in the rows.

    Attributes:
        default: of the units of the population, whatever stratum; 0 where it is not known.
        strata: level of the column of strata → that of its units, where it is another.
        source: where it comes from, as a sampling plan; never the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    default: float = 0.0
    strata: dict[str, float] = Field(default_factory=dict)
    source: str = ""

    @model_validator(mode="after")
    def _is_public(self) -> Self:
        each = (self.default, *self.strata.values())
        if not (all(0 <= one <= 1 for one in each) and any(each) and self.source.strip()):
            raise ValueError(
                "a sampling fraction needs default or strata, numbers from 0 to 1, and source, "
                "where it is published"
            )
        return self


class Design(BaseModel):
    """The sampling design: how the records of a survey were drawn.

    Attributes:
        weight: column of the weights, numeric with public bounds; "" for a table without.
        contribution: weight that a record counts with at most in answers; the column's upper bound
            if there is none. A smaller one has less noise, and intervals allow for what is cut off.
        strata: what the strata are, in words. With sampling fractions by stratum the column that
            names them.
        psu: what the primary sampling units are, in words; they are not read. With
            variance = "groups" the column that names them, which has `random_groups`; with `dealt`
            one of levels, the numbers of groups.
        fixed: "design": each weight was known before the interviews, whoever else is in the table.
            "adjusted": weights depend on other records too, so that the guarantee is conditional.
        deff: public design effect, by which sampling variances are multiplied; it needs no weight.
        fpc: public sampling fraction of a finite population, by which sampling variances are less;
            it needs no weight either (`understudy.inference.design_effects`).
        variance: "records": of records drawn one by one, times the design effect. "groups": answers
            with weights have that between random groups of primary sampling units.
        dealt: where it is published that the units drawn were dealt to the groups in turn, stratum
            by stratum, before anyone was asked, as a sampling plan; never the rows. Variances
            between groups then have the gain of strata and of a fixed number of units.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    weight: str = ""
    contribution: float | None = Field(default=None, gt=0)
    strata: str = ""
    psu: str = ""
    fixed: Literal["design", "adjusted"] = "design"
    deff: DesignEffect | None = None
    fpc: SamplingFraction | None = None
    variance: Literal["records", "groups"] = "records"
    dealt: str = ""

    @property
    def groups(self) -> str:
        """The column of the random groups that variances are between; "" if they are not."""
        return self.psu if self.variance == "groups" else ""

    def part(self, names: Collection[str]) -> Design:
        """Return what holds of a table without its other columns, or with them coarser.

        Args:
            names: of columns that are measured as they are declared.
        """
        if self.weight not in names:
            return Design()
        changed: dict[str, object] = {}
        if self.groups and self.groups not in names:
            changed |= {"variance": "records", "dealt": ""}
        if self.fpc is not None and self.fpc.strata and self.strata not in names:
            changed["fpc"] = None
        return self.model_copy(update=changed) if changed else self

    def faults(self, columns: Mapping[str, Column]) -> Iterator[str]:
        """List what does not fit the columns that are measured, a sentence each.

        Args:
            columns: name → column.
        """
        if self.fpc is not None:
            yield from self._faults_of_fractions(self.fpc, columns)
        if not self.weight:
            strata = self.strata if self.fpc is not None and self.fpc.strata else ""
            alone = Design(deff=self.deff, fpc=self.fpc, strata=strata)
            if self != alone:
                yield "[design] needs weight, which its entries but deff and fpc are about"
            return
        if self.variance == "groups":
            yield from self._faults_of_groups(columns)
        elif self.dealt:
            yield '[design] dealt is about groups of psu; it needs variance = "groups"'
        column = columns.get(self.weight)
        if not isinstance(column, NUMERIC) or isinstance(column, Calendar):
            yield (
                f"[design] weight names {self.weight!r}, which is no measured column of numbers"
                f"{suggestion(self.weight, [*columns])}; declare it with public bounds"
            )
            return
        low, high = column.bounds
        if low < 0 or high <= 0:
            yield f"the weights of {self.weight} need bounds of 0 or above"
        elif self.contribution is not None and self.contribution > high:
            yield f"[design] contribution is above the upper bound of {self.weight}"

    def _faults_of_fractions(
        self, fpc: SamplingFraction, columns: Mapping[str, Column]
    ) -> Iterator[str]:
        if self.deff is not None and self.deff.replacement:
            yield (
                "[design] deff of draws with replacement has the gain of a finite population in "
                "it; leave fpc out, or say replacement = false if it is of draws without"
            )
        column = columns.get(self.strata)
        if not fpc.strata:
            return
        grouped = isinstance(column, Categorical) and column.random_groups
        if column is None or isinstance(column, NUMERIC) or grouped:
            yield (
                f"[design] strata names {self.strata!r}, which is no measured column of levels"
                f"{suggestion(self.strata, [*columns])}; fpc by stratum needs one"
            )
            return
        labels = column.labels[: column.n_ordinary]
        if unknown := [label for label in fpc.strata if label not in labels]:
            yield (
                f"[design] fpc names a level that {self.strata} does not declare, {unknown[0]!r}"
                f"{suggestion(unknown[0], labels)}"
            )

    def fractions(self, columns: Mapping[str, Column]) -> dict[str, float]:
        """The sampling fraction of each stratum by its level; that of all strata under "".

        Args:
            columns: of the schema; they have the column of strata, where fractions go by it.

        Returns:
            Under "" stands the least, which holds in every stratum; 0 where none is declared.
        """
        if self.fpc is None:
            return {"": 0.0}
        if not self.fpc.strata:
            return {"": self.fpc.default}
        column = columns[self.strata]
        labels = column.labels[: column.n_ordinary]
        found = {label: self.fpc.strata.get(label, self.fpc.default) for label in labels}
        return {**found, "": min(found.values())}

    @property
    def declared_effect(self) -> float:
        """The public design effect; 1 where none is declared."""
        return 1.0 if self.deff is None else self.deff.default

    def effect(self, columns: Mapping[str, Column]) -> float:
        """By what sampling variances are multiplied, as those of draws with replacement."""
        return self.declared_effect * (1 - self.fractions(columns)[""])

    def _faults_of_groups(self, columns: Mapping[str, Column]) -> Iterator[str]:
        column = columns.get(self.psu)
        if not isinstance(column, Categorical) or column.random_groups == bool(self.dealt):
            what = "of levels without random_groups" if self.dealt else "with random_groups"
            meant = "" if self.psu in columns else suggestion(self.psu, [*columns])
            yield (
                f"[design] psu names {self.psu!r}, which is no column {what}{meant}; "
                f'variance = "groups" {"by dealt " * bool(self.dealt)}needs one'
            )
        elif column.codes:
            yield f"every cluster was dealt to a group: leave out the codes of {self.psu}"
        elif column.n_ordinary < _LEAST_GROUPS:
            yield (
                f"[design] variance between the {column.n_ordinary} random groups of {self.psu} is "
                f"too uncertain; declare {_LEAST_GROUPS} levels or more, such as 20"
            )

    def bound(self, columns: Mapping[str, Column]) -> float:
        """The weight that a record counts with at most, B.

        Args:
            columns: of a schema that has a weight.
        """
        column = columns[self.weight]
        assert isinstance(column, NUMERIC)
        return float(column.bounds[1] if self.contribution is None else self.contribution)
