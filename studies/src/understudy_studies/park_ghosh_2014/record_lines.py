"""The ways to make 1,000 records that are compared: the paper's, ours, and marks beside them.

All budgets are for one record more or less. The paper's ways spend ε for each record, so 1,000·ε
for the table; those of our own are given a total budget. Where no budget is named, the rows are
used as they are: such a line is a mark to compare with, and no release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from understudy.papers.gibbs_mechanisms import EVEN, StateShares
from understudy_studies.park_ghosh_2014.key_readings import (
    OTHERS,
    PUBLIC,
    PUBLISHED,
    Reading,
)
from understudy_studies.park_ghosh_2014.pegs_papers import BLOCK, N_RECORDS, PEGS, PMI, RESET

PEGS_READ, RESET_READ, PMI_READ = (f"{way}, {PUBLISHED.name}" for way in (PEGS, RESET, PMI))
LONG_BLOCK = "PeGS.rs, one block"
LONG_READ = f"{LONG_BLOCK}, {PUBLISHED.name}"
BY_MARGINALS_READ = f"{PEGS}, weights by marginals, {PUBLISHED.name}"
BY_MARGINALS = "pegs, weights by marginals"
TABLES_TOTAL, TABLES = "pegs-tables, same total", "pegs-tables"
MARGINALS = "marginals"
DIVERSITIES = (2, 4, 8)
DIVERSE = tuple(f"{PEGS}, {diversity}-diverse rows" for diversity in DIVERSITIES)
MI, FULL, BOOTSTRAP, UNIFORM = "MI", "contingency table", "marginal bootstrap", "uniform"
ALL_FULL = "contingency table, all rows"
ROWS = "rows unchanged"

Budget = Literal["record", "table", "none"]


@dataclass(frozen=True)
class Line:
    """A way to make records.

    Attributes:
        budget: what ε is for: each record, the whole table, or nothing.
        words: what it is.
        method: name in the table of methods, if it is made by one.
        options: its options.
        block: records of a block with reset; None for none.
        reading: of keys and seeds.
        shares: how weights are divided among states.
        diversity: ℓ of the rows that it is drawn from; None where ε decides.
        epsilons: those that it is made at; () for all.
    """

    budget: Budget
    words: str
    method: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    block: int | None = None
    reading: Reading = PUBLIC
    shares: StateShares = EVEN
    diversity: int | None = None
    epsilons: tuple[float, ...] = ()

    def total(self, epsilon: float) -> float:
        """ε of the table."""
        return epsilon * N_RECORDS if self.budget == "record" else epsilon

    def made_at(self, epsilon: float) -> bool:
        """Whether it is made at this ε."""
        return self.budget != "none" and (not self.epsilons or epsilon in self.epsilons)


_BLOCK = f"blocks of {BLOCK} records with reset"

LINES: dict[str, Line] = {
    PEGS_READ: Line("record", "perturbed Gibbs sampler, one sweep for each record; seeds and "
                    "orders read off the rows, unpaid", reading=PUBLISHED),
    RESET_READ: Line("record", f"{_BLOCK}; seeds and orders read off the rows, unpaid",
                     block=BLOCK, reading=PUBLISHED),
    PMI_READ: Line("record", "perturbed multiple imputation, one sweep for each record; seeds read "
                   "off the rows, unpaid", reading=PUBLISHED),
    LONG_READ: Line("table", "one block of 1,000 records with reset; seed and orders read off the "
                    "rows, unpaid", block=N_RECORDS, reading=PUBLISHED),
    BY_MARGINALS_READ: Line("record", "weights by the marginals of the rows, as much in all as "
                            "even ones; all of it unpaid, so ε is not met",
                            shares=StateShares(form="paper"), reading=PUBLISHED),
    PEGS: Line("record", "perturbed Gibbs sampler, uniform seeds and public orders"),
    RESET: Line("record", f"{_BLOCK}, uniform seeds and public orders", block=BLOCK),
    PMI: Line("record", "perturbed multiple imputation, uniform seeds"),
    LONG_BLOCK: Line("table", "one block of 1,000 records with reset, uniform seed, public orders",
                     block=N_RECORDS),
    BY_MARGINALS: Line("record", "the method pegs, weights by marginals that a tenth buys", "pegs",
                       {"weights": "marginals"}),
    TABLES_TOTAL: Line("record", "all hashed tables with noise, at the total of PeGS",
                       "pegs-tables"),
    TABLES: Line("table", "all hashed tables with noise, at a total of ε", "pegs-tables"),
    MARGINALS: Line("table", "the default method, at a total of ε = 1", "marginals",
                    epsilons=(1.0,)),
    **{name: Line("none", f"PeGS from rows whose entropy is at least log {diversity} in what the "
                  "intruder wants to know; seeds and orders read off the rows",
                  diversity=diversity, reading=PUBLISHED)
       for name, diversity in zip(DIVERSE, DIVERSITIES, strict=True)},
    MI: Line("none", "multiple imputation, nothing perturbed, 10 sweeps"),
    FULL: Line("none", "records of the table drawn with replacement"),
    ALL_FULL: Line("none", "the same, as many as the table has"),
    BOOTSTRAP: Line("none", "columns drawn independently, shares from a Bayesian bootstrap"),
    UNIFORM: Line("none", "all cells alike; nothing of the rows is used"),
    ROWS: Line("none", "the table itself, all of its rows"),
}  # fmt: skip
"""The paper's ways, with its conditions and without unpaid looks, our own, and marks."""

PRIVATE = tuple(name for name, line in LINES.items() if line.budget != "none")
MARKS = tuple(name for name, line in LINES.items() if line.budget == "none")


def under(way: str, reading: Reading) -> str:
    """The name of one of the paper's ways under a reading."""
    return way if reading is PUBLIC else f"{way}, {reading.name}"


VARIANTS: dict[str, Line] = {
    under(way, reading): replace(LINES[way], words="", reading=reading)
    for reading in OTHERS
    for way in (PEGS, RESET, LONG_BLOCK)
}
"""The same under other readings of a key, which sensitivity tables compare."""

EVERY = LINES | VARIANTS


@dataclass(frozen=True)
class Ways:
    """The paper's ways under one reading, by the names of their lines.

    Attributes:
        pegs: perturbed Gibbs sampler.
        reset: in blocks with reset.
        pmi: perturbed multiple imputation.
        block: one long block with reset.
    """

    pegs: str
    reset: str
    pmi: str
    block: str

    @classmethod
    def of(cls, reading: Reading) -> Ways:
        """Those of a reading; the length of a key is no matter to imputation."""
        pmi = PMI_READ if reading.read else PMI
        return cls(under(PEGS, reading), under(RESET, reading), pmi, under(LONG_BLOCK, reading))

    @property
    def three(self) -> tuple[str, str, str]:
        """The three that the paper compares."""
        return self.pegs, self.reset, self.pmi
