"""The shape of a manifest: which entries there are, of which types, within which limits.

A manifest is read from a folder that anybody may have written. Whatever fits this shape can be
worked with without looking again; what it means is compared with the schema and the files in
`content_check` and `ledger_check`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from understudy.privacy.accounting.budget import UNITS
from understudy.privacy.accounting.guarantee import Kind as Promise
from understudy.release.measurement_kind import Kind

# The sentence of a guarantee is compared with the one that is computed from its numbers
# (`promise_check`): with other words of it, there has to be a new format.
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
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


class _Format1(_Plain):
    method: str
    options: dict[str, Any]
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


class _Format2(_Format1):
    analyses: list[_Analysis] = []
    expected: _ExpectedAnswers | None = None
    layer_share: _Fraction | None = None
    priority: list[str] = []
    amendments: list[_Amendment] = []
    contradictions: list[_Contradiction] = []
    options: dict[str, _Option | list[_Option] | dict[str, _Option]]
    inference: _Inference


_SHAPES: dict[int, type[_Format1]] = {1: _Format1, 2: _Format2}
FORMATS = tuple(_SHAPES)
"""Formats that are read; the last one is written."""


def require_shape(content: dict[str, Any], version: int) -> None:
    """Refuse a manifest with an entry too many, too few or of another kind.

    Args:
        content: of the manifest, without its format and files.
        version: its format, one of `FORMATS`.

    Raises:
        Fault: names the first such entry.
    """
    try:
        _SHAPES[version].model_validate(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise Fault(f"the entry {named(place)} of its manifest") from None
    for entry in content["ledger"]:
        units = [unit for unit in get_args(_Unit) if unit in entry and f"{unit}_exact" in entry]
        if (
            len(units) != 1
            or sum(key.removesuffix("_exact") in UNITS.values() for key in entry) != 2
        ):
            raise Fault("the entry 'ledger' of its manifest")


def named(text: str) -> str:
    """A text of a folder as a sentence may hold it: short, and without what a terminal obeys."""
    return repr(text if len(text) <= 60 else text[:60] + "…")
