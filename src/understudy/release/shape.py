"""The shape of a manifest: which entries there are, of which types, within which limits.

A manifest is read from a folder that anybody may have written. Whatever fits this shape can be
worked with without looking again; what it means is compared with the schema and the files in
`release.consistency` and `ledger.verify`.

**What each column is drawn given, as a measurement has it: "column<-column & column".**

**What kinds of measurements there are, and what each of them has.**
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from understudy.dp.budget import UNITS
from understudy.dp.guarantee import Kind as Promise


def key_of(text: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """The column and those that it is drawn given; None if the text is no key.

    Names may hold an arrow or an ampersand themselves.

    Args:
        text: of a measurement.
        names: of all columns.

    Example:
        >>> key_of("a & b<-c & d", ("a & b", "c", "d"))
        ('a & b', 'c', 'd')
        >>> key_of("c", ("c",)), key_of("c<-d", ("c",))
        (('c',), None)
    """
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.fullmatch(f"({one})(?:<-((?:(?:{one}) & )*(?:{one}))?)?", text)
    if found is None:
        return None
    parents: list[str] = []
    rest = found[2] or ""
    while rest:
        first = re.match(f"({one})(?: & (?=(?:(?:{one}) & )*(?:{one})$)|$)", rest)
        assert first is not None  # by the pattern above
        parents.append(first[1])
        rest = rest[first.end() :]
    return (found[1], *parents)


class Kind(StrEnum):
    """What a measurement is, by the word that stands in a manifest."""

    TABLE = "table"
    CELLS = "cells"
    TOTALS = "totals"
    SUCCESSES = "successes"
    SUMS = "sums"
    MEANS = "means"
    SCATTER = "scatter"
    PRODUCTS = "products"
    WEIGHTED = "weighted"
    TERMS = "terms"
    RANKS = "ranks"
    DRAWS = "draws"
    SWEEPS = "sweeps"
    DISTRIBUTION = "distribution"
    NODES = "nodes"
    LEAF_SUMS = "leaf-sums"
    RANGES = "ranges"
    LINE = "line"
    HEAPS = "heaps"
    CHOICE = "choice"
    PARAMETERS = "parameters"
    POSTERIOR = "posterior"
    KEPT = "kept"
    EXACT = "exact"

    @property
    def has_every_cell(self) -> bool:
        """True if every cell of a table has a number in it."""
        return self in (Kind.TABLE, Kind.SUMS, Kind.MEANS, Kind.DISTRIBUTION)

    @property
    def is_joint(self) -> bool:
        """True if it is of all its columns at once, so that records drawn from it relate them."""
        apart = (*_SUMMED, Kind.LINE, Kind.HEAPS)
        return self not in (Kind.CHOICE, *apart)

    @property
    def has_nodes(self) -> bool:
        """True if its numbers belong to nodes of a hierarchy."""
        return self in (Kind.NODES, Kind.LEAF_SUMS)

    @property
    def has_cells(self) -> bool:
        """True if it has numbers of cells, nodes or ranges, in a file of their own."""
        stored = (Kind.CELLS, Kind.RANGES, *_SUMMED, Kind.LINE, Kind.HEAPS)
        return self.has_every_cell or self.has_nodes or self in stored

    @property
    def is_noisy_count(self) -> bool:
        """True if its numbers are counts with noise of their own, one by one."""
        return self in (Kind.TABLE, Kind.NODES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_total(self) -> bool:
        """True if its numbers add up to a noisy number of records."""
        return self.is_noisy_count or self in (Kind.CELLS, Kind.TOTALS)

    @property
    def is_of_numbers(self) -> bool:
        """True if numeric columns are summed."""
        return self in (Kind.SUMS, Kind.MEANS, Kind.SCATTER)

    @property
    def is_of_one_column(self) -> bool:
        """True if it is of one column, never of several."""
        return self in (Kind.SUCCESSES, Kind.RANGES, Kind.LINE, Kind.HEAPS)

    @property
    def has_keys(self) -> bool:
        """True if it says what each column is drawn given."""
        return self in (Kind.SWEEPS, Kind.POSTERIOR)

    @property
    def has_noise(self) -> bool:
        """True if it is noise, or a draw from rows and a prior, that protects it."""
        return self not in (Kind.CHOICE, Kind.PARAMETERS, Kind.POSTERIOR, Kind.KEPT)

    @property
    def has_stddev(self) -> bool:
        """True if one number of it has noise of a known standard deviation."""
        unknown = (Kind.MEANS, Kind.DRAWS, Kind.SWEEPS, Kind.EXACT)
        return self.has_noise and self not in unknown

    @property
    def totals(self) -> tuple[str, ...] | None:
        """Names of its single numbers; None where they are names of its own."""
        if self in (Kind.SWEEPS, Kind.PARAMETERS, Kind.TERMS):
            return None
        return _TOTALS.get(self, ())


_SUMMED = (Kind.PRODUCTS, Kind.WEIGHTED, Kind.TERMS, Kind.RANKS)
_TOTALS = {
    Kind.TOTALS: ("positive_cells", "positive_mass"),
    Kind.LEAF_SUMS: ("positive_cells", "positive_mass"),
    Kind.SUCCESSES: ("successes",),
    Kind.SCATTER: ("scatter",),
    Kind.DRAWS: ("prior", "cells", "reinforced"),
    Kind.WEIGHTED: ("bound", "power"),
}


# The sentence of a guarantee is compared with the one that is computed from its numbers
# (`release.consistency`): with other words of it, there has to be a new format.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Names of measurements, which become names of files."""

MOST = 2.0**127
"""Largest number of records, and size of any other number, that a manifest may state."""


def _of_size(spread: float) -> float:
    """A number whose square is none of those that are too small to divide by."""
    if 0 < spread < 1 / MOST:
        raise ValueError
    return spread


_Decimal = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$", max_length=800)]
_Fraction = Annotated[str, Field(pattern=r"^[0-9]+(/0*[1-9][0-9]*)?$", max_length=4000)]
_Scale = Annotated[
    str,
    Field(pattern=r"^[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?(e[+-]?[0-9]{1,3})?)$", max_length=4000),
]
_Number = Annotated[int | FiniteFloat, Field(ge=-MOST, le=MOST)]
_Spread = Annotated[_Number, Field(ge=0), AfterValidator(_of_size)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Option = str | bool | int | FiniteFloat | None
_Neighbours = Literal["add_remove", "replace"]
SetsKind = Literal["free", "split", "posterior"]
_Unit = Literal["epsilon", "rho", "half_mu_squared"]


class Fault(Exception):
    """What does not fit in a release folder, in words that follow "it does not fit: "."""


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _PublicInput(_Plain):
    what: str
    source: str
    note: str


class _Guarantee(_Plain):
    kind: Promise
    epsilon: _Decimal | None
    delta: _Decimal
    rho: _Decimal | None
    mu: _Decimal | None = None
    neighbours: _Neighbours
    statement: str
    public_inputs: list[_PublicInput]
    conditions: list[str]
    leaks: list[str]


class _Budget(_Plain):
    epsilon: _Decimal
    delta: _Decimal
    unit: _Unit
    amount: _Decimal


class _Entry(_Plain):
    number: int
    mechanism: str
    query: str
    sensitivity: str
    noise: str
    cells: Annotated[int, Field(ge=0)]
    epsilon: _Decimal | None = None
    epsilon_exact: _Fraction | None = None
    rho: _Decimal | None = None
    rho_exact: _Fraction | None = None
    half_mu_squared: _Decimal | None = None
    half_mu_squared_exact: _Fraction | None = None


class _Measurement(_Plain):
    name: Annotated[str, Field(pattern=rf"^(?:{NAME.pattern})?$")]
    kind: Annotated[Kind, Field(strict=False)]  # its word, since a file holds no kinds
    columns: list[str]
    cells: _Count
    outside: _Number
    law: str
    scale: _Scale
    stddev: _Spread
    threshold: _Number | None
    ledger_entry: _Count
    totals: dict[str, _Number | bool] | None
    of: list[str]
    bins: dict[str, int | list[_Number | str]]
    groups: dict[str, list[_Count]] = {}
    ranks: dict[str, list[Annotated[int, Field(ge=-(2**20), le=2**20)]]] = {}
    limits: dict[str, Annotated[list[_Number], Field(min_length=2, max_length=2)]] = {}
    terms: list[str] = []
    among: dict[str, list[_Count]] = {}
    beside: bool = False


class _Edge(_Plain):
    column: str
    parents: list[str]


class _Inference(_Plain):
    posterior_rule: Literal["partial", "mi"] | None
    swept: bool
    shrunk: bool
    independent: bool
    modelled: list[str]
    network: list[_Edge] | None
    prior_weight: Annotated[_Number, Field(ge=0)]
    leaves_only: bool
    rows_stddev: Annotated[_Number, Field(ge=0)] = 0.0


class _Analysis(_Plain):
    kind: str
    formula: str
    asked_by: str


class _Expected(_Plain):
    analysis: str
    name: str
    noise: Annotated[_Number, Field(ge=0)] | None
    sampling: Annotated[_Number, Field(ge=0)] | None
    refused: str
    least: Annotated[_Number, Field(ge=0)] | None = None
    largest: Annotated[_Number, Field(ge=0)] | None = None


class _ExpectedAnswers(_Plain):
    records: _Count
    like: str
    answers: list[_Expected]


class _Amendment(_Plain):
    parent: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    entries: Annotated[int, Field(ge=1)]
    budget: _Budget
    title: str
    asked_by: str
    chosen: Literal["beforehand", "from the release", ""]
    analyses: list[_Analysis]


class _Contradiction(_Plain):
    column: str
    distance: Annotated[_Number, Field(ge=0)]
    noise: Annotated[_Number, Field(ge=0)]


class _Candidate(_Plain):
    method: str
    options: dict[str, _Option | list[_Option] | dict[str, _Option]]
    sets: Annotated[int, Field(ge=1, le=10**6)]


class _Criterion(_Plain):
    columns: list[str]
    most: _Fraction


class _Choice(_Plain):
    candidates: list[_Candidate]
    accept: list[_Criterion]
    law: Literal["geometric", "logarithmic"]
    tries: Annotated[int, Field(ge=2)]
    excess: int
    stddev: Annotated[_Number, Field(ge=0)]
    met: bool


class _KeptCount(_Plain):
    columns: Annotated[list[str], Field(min_length=1)]
    count: Annotated[int, Field(ge=1)]
    most_changed: _Fraction
    changed: list[_Count]
    replaced: list[_Count]
    table: str = ""


class _Manifest(_Plain):
    method: str
    options: dict[str, _Option | list[_Option] | dict[str, _Option]]
    reason: str
    sets: Annotated[int, Field(ge=1, le=10**6)]
    sets_kind: SetsKind
    n_rows: _Count
    rows_obtained: str
    guarantee: _Guarantee
    budget: _Budget
    ledger: list[_Entry]
    secure: bool
    sampling_seed: Annotated[int, Field(ge=0)] | None
    software: dict[str, str]
    ended_early: bool = False
    rows_share: _Fraction | None = None
    answers_share: _Fraction | None = None
    lines_share: _Fraction | None = None
    measurements: list[_Measurement]
    analyses: list[_Analysis] = []
    expected: _ExpectedAnswers | None = None
    layer_share: _Fraction | None = None
    places_share: _Fraction | None = None
    priority: list[str] = []
    amendments: list[_Amendment] = []
    contradictions: list[_Contradiction] = []
    choice: _Choice | None = None
    minimum_count: _KeptCount | None = None
    inference: _Inference


FORMAT: Final = 2
"""The format of a manifest that is written and read."""


def require_shape(content: dict[str, Any]) -> None:
    """Refuse a manifest with an entry too many, too few or of another kind.

    Args:
        content: of the manifest, without its format and files.

    Raises:
        Fault: names the first such entry.
    """
    try:
        _Manifest.model_validate(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise Fault(f"the entry {quote_entry(place)} of its manifest") from None
    for entry in content["ledger"]:
        units = [unit for unit in get_args(_Unit) if unit in entry and f"{unit}_exact" in entry]
        if (
            len(units) != 1
            or sum(key.removesuffix("_exact") in UNITS.values() for key in entry) != 2
        ):
            raise Fault("the entry 'ledger' of its manifest")


def quote_entry(text: str) -> str:
    """A text of a folder as a sentence may hold it: short, and without what a terminal obeys."""
    return repr(text if len(text) <= 60 else text[:60] + "…")
