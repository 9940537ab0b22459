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
    """The kind of a measurement, by the word that stands in a manifest."""

    TABLE = "table"
    """Noisy counts.

    Query: `counts by A × B`, or `count` of no column
    Cells: cells that can occur, and one
    File: every combination of states, the last axis running fastest; 0 where states cannot stand
      together. One cell fewer, without those, than its step has
    """
    CELLS = "cells"
    """Noisy counts that reach a threshold.

    Query: as of `table`
    Cells: as of `table`
    File: in the same order, those that reach the threshold, which is at least 1
    """
    TOTALS = "totals"
    """Totals of a table alone.

    Query: as of `table`
    Cells: as of `table`
    """
    SUCCESSES = "successes"
    """A noisy number of records with the second level of a column.

    Query: `successes of A`
    Cells: 1
    """
    SUMS = "sums"
    """Noisy sums of a column of numbers in the cells of others.

    Query: `sum of C by A × B`, of its columns without those that are summed, which have one bin
    Cells: cells that can occur and hold a number of C
    File: as of `table`, but for the cells of its step
    """
    MEANS = "means"
    """The same over the number of records.

    Query: `mean of C by A × B`
    Cells: as of `sums`
    File: as of `sums`
    """
    SCATTER = "scatter"
    """A noisy sum of squares or products about the means of cells.

    Query: `scatter of C and D within A × B`, or of C alone
    Cells: 1
    """
    PRODUCTS = "products"
    """Noisy sums of scores of columns and of their products.

    Query: `sums and products of scores of A, B` (`, of records with a value of A`)
    Cells: rows of its file
    File: sums of scores: `score`, `times`, `among`; none twice
    """
    WEIGHTED = "weighted"
    """The same of records with weights.

    Query: `sums and products of scores of A, B, weighted by w = C up to U` (`w² = C` for the power
      2; `, by D` where sums are taken apart); C and D of `of`, U of `totals` as Python writes a
      float
    Cells: rows of its file
    File: as of `products`. Those that are taken apart have the level of the records in front, `by`
    """
    TERMS = "terms"
    """The same of terms, perhaps of some records alone.

    Query: `sums and products of the terms A, B`, `terms` in their order. With `among`, `, of
      records with C = L or M and D = N`: labels of its states, bins side by side as one range, `63
      to 99` or `[0, 5)`, and spikes behind them; of several boxes, joined by `; or `. With a column
      in `of`, `, weighted by w = C up to U` as above
    Cells: rows of its file
    File: as of `weighted`. A number z in [−1, 1], or its logarithm scaled alike, has in the power k
      the score T_k(z) (Chebyshev). A term's scores are the products of these and of the contrasts
      of its levels
    """
    WEIGHTED_TABLE = "weighted-table"
    """Noisy sums of the weights of records, by cell.

    Query: `sums by A × B, weighted by w = C up to U`, as of `weighted`
    Cells: rows of its file that can occur
    File: as of `table`. It stands `beside` the sets
    """
    RANKS = "ranks"
    """Noisy sums of products of rank scores.

    Query: `sums of products of ranks of A, B`
    Cells: pairs
    File: `score`, `times`: each pair of columns once, the first before the second. The sum over the
      records of the products of their scores. If a record's scores in d columns have a sum of
      squares above d + √(36d/25), one factor makes all smaller first. They are cut towards 0
    """
    DRAWS = "draws"
    """Records drawn from rows and a prior.

    Query: `records of A × B`
    Cells: cells that can occur
    """
    SWEEPS = "sweeps"
    """Records drawn column by column.

    Query: of all measured columns: `records of A × B from a noisy table for each column`, `records
      after N sweeps of …`, `records in blocks of N with reset of …` (`in one block`), `records
      imputed over …`
    Cells: cells of the tables of each column and those that it is drawn given; of imputations a
      multiple of the columns
    """
    DISTRIBUTION = "distribution"
    """Counts chosen by the exponential mechanism.

    Query: `distribution of A × B`
    Cells: cells that can occur
    File: as of `sums`
    """
    NODES = "nodes"
    """Noisy counts of nodes of a hierarchy.

    Query: `counts of the nodes of layer D`
    Cells: rows of its file, and one
    File: states that a node fixes, `(any)` for those that it leaves open; none twice
    """
    LEAF_SUMS = "leaf-sums"
    """Sums of noisy cells below such nodes.

    Query: as of `table`, of all measured columns
    Cells: as of `table`
    File: as of `nodes`
    """
    RANGES = "ranges"
    """Noisy counts of ranges of one column.

    Query: `counts of N ranges of A`; so has a `table` of `noisy ranges`
    Cells: N + 1, more than its file has rows
    File: first and last state of ranges that follow each other from the first state to the last
    """
    LINE = "line"
    """Noisy counts of cells finer than bins.

    Query: `counts of A on its number line`
    Cells: rows of its file, and one
    File: every state of a numeric column, then `below LOWER` and `above UPPER`. Bounds are as
      declared, not cut to whole units, moments with a space for the `T` (`2024-01-31 08:30:00`)
    """
    HEAPS = "heaps"
    """Noisy counts of how numbers are rounded.

    Query: `counts of A by its heaps`
    Cells: rows of its file, and one
    File: zones of the range of a numeric column with `heaps`, from below. In each the classes of
      its heaps, in their order, then `other`: `0 to 999: every 100`. Last `(no class)`, for spikes,
      codes and what lies beyond the bounds. One cell fewer than its step has
    """
    CHOICE = "choice"
    """Columns or groups that were chosen.

    Query: `one of N candidates by SCORE`; `a column that divides each node of layer D, by AIC` (or
      `BIC`), `the columns that divide layer D, by …`, `two groups of columns, by …`
    Cells: 1; the nodes or candidates
    """
    PARAMETERS = "parameters"
    """Parameters that were chosen.

    Query: `parameters over A × B: one of N by SCORE`, `…: a walk of N steps by SCORE`
    Cells: 1
    """
    POSTERIOR = "posterior"
    """Records drawn from a posterior of the exact rows."""
    KEPT = "kept"
    """Columns that every set has as they stand."""
    EXACT = "exact"
    """Statistics without noise, which are not published."""

    @property
    def has_every_cell(self) -> bool:
        """True if every cell of a table has a number in it."""
        whole = (Kind.TABLE, Kind.WEIGHTED_TABLE, Kind.SUMS, Kind.MEANS, Kind.DISTRIBUTION)
        return self in whole

    @property
    def may_stand_beside(self) -> bool:
        """True if it may have been bought for answers alone, in bins and groups of its own."""
        return self in (Kind.TABLE, Kind.WEIGHTED_TABLE)

    @property
    def is_joint(self) -> bool:
        """True if it is of all its columns at once, so that records drawn from it relate them."""
        apart = (*_SUMMED, Kind.WEIGHTED_TABLE, Kind.LINE, Kind.HEAPS)
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
    Kind.WEIGHTED_TABLE: ("bound", "power"),
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
    """A fault of a release folder, in words that follow "it does not fit: "."""


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _PublicInput(_Plain):
    """A value that is taken as public."""

    what: str
    """what is taken as public."""
    source: str
    """where it comes from."""
    note: str
    """a doubt about it, or ""."""


class _Guarantee(_Plain):
    """The promise of a release."""

    kind: Promise
    """the kind of the promise."""
    epsilon: _Decimal | None
    """that of the budget, rounded up; null if the kind is `asymptotic` or `none`."""
    delta: _Decimal
    """that of the budget, rounded up."""
    rho: _Decimal | None
    """the budget's amount; null in another unit, with `choice`, and where ε is null."""
    mu: _Decimal | None = None
    """√(2·amount), rounded up, or null."""
    neighbours: _Neighbours
    """as the schema has it."""
    statement: str
    """the promise in one sentence."""
    public_inputs: list[_PublicInput]
    """what is taken as public. The publisher's word."""
    conditions: list[str]
    """under which the promise holds. The publisher's word."""
    leaks: list[str]
    """what is left in, unpaid. The publisher's word."""


class _Budget(_Plain):
    """The budget of a release."""

    epsilon: _Decimal
    """above 0."""
    delta: _Decimal
    """0 in pure ε."""
    unit: _Unit
    """in which prices add up."""
    amount: _Decimal
    """what may be spent in that unit."""


class _Entry(_Plain):
    """A step of the ledger, with its price in the unit of the budget alone."""

    number: int
    """1, 2, …"""
    mechanism: str
    """its name."""
    query: str
    """what was asked."""
    sensitivity: str
    """in words."""
    noise: str
    """in words."""
    cells: Annotated[int, Field(ge=0)]
    """how many numbers it concerns."""
    epsilon: _Decimal | None = None
    """price in pure ε, rounded up."""
    epsilon_exact: _Fraction | None = None
    """the same, exact."""
    rho: _Decimal | None = None
    """price in ρ, rounded up."""
    rho_exact: _Fraction | None = None
    """the same, exact."""
    half_mu_squared: _Decimal | None = None
    """price in μ²/2, rounded up."""
    half_mu_squared_exact: _Fraction | None = None
    """the same, exact."""


class _Measurement(_Plain):
    """The measurement of a step."""

    name: Annotated[str, Field(pattern=rf"^(?:{NAME.pattern})?$")]
    """of its file: letters, digits, `-` and `_`; "" where it has none."""
    kind: Annotated[Kind, Field(strict=False)]  # its word, since a file holds no kinds
    """one of the kinds of measurements."""
    columns: list[str]
    """that it is of."""
    cells: _Count
    """rows of its file."""
    outside: _Number
    """noisy number of records that are in no cell."""
    law: str
    """of the noise in each number, as its step has it. Draws have their mechanism as law (urns
    `Dirichlet–multinomial` or `fixed prior`). What has no noise has `none`."""
    scale: _Scale
    """parameter of the law, as its step has it. Draws have their weight, what has no noise `0`."""
    stddev: _Spread
    """of the law before truncation or threshold, or 2⁻¹²⁷ if that is less. Draws and what has no
    noise have 0."""
    threshold: _Number | None
    """of filtered cells, else null."""
    ledger_entry: _Count
    """number of the step that paid for it; no two have the same."""
    totals: dict[str, _Number | bool] | None
    """single numbers, or null. Of `weighted`, and of `terms` with a column in `of`, `bound` (above
    0, within the bounds of the weights) and `power` (1 or 2). A record counts with (min(weight,
    bound)/bound)^power, in steps of 2⁻¹⁴."""
    of: list[str]
    """columns that are summed, or that nodes fix. Of products, those of which a record must have a
    value. Of weighted ones and of terms, the numeric column of the weights, if there is one. Of
    both also a column of levels without codes, not among `columns`, by whose states they are taken
    apart."""
    bins: dict[str, int | list[_Number | str]]
    """bins that are not those of the schema."""
    groups: dict[str, list[_Count]] = {}
    """column → group of each state, numbered from 0. Its label joins up to three labels by ` or `,
    of more the first and the last as `a … z (9 values)`."""
    ranks: dict[str, list[Annotated[int, Field(ge=-(2**20), le=2**20)]]] = {}
    """of `ranks`: column → score of each state, in 64ths."""
    limits: dict[str, Annotated[list[_Number], Field(min_length=2, max_length=2)]] = {}
    """of `products` and `terms`: numeric column → where its numbers were cut off before they were
    scored, lower and upper. Ascending, within the bounds; a column whose limits are its bounds
    lacks."""
    terms: list[str] = []
    """of `terms`: products of factors joined by `:`, none twice. A factor is a column (in back
    quotes unless its name is a word), or `log(A)`, `log(A + c)`, `log(A - c)` of a numeric one.
    `**k` may follow, k from 2 to 4. Columns are those of the terms and of `among`, in the order of
    the schema. A record counts if it has a value of each."""
    among: dict[str, list[_Count]] | list[dict[str, list[_Count]]] = {}
    """of `terms`: a box, column → states, one of which a record that counts has; or a list of
    boxes, in one of which it lies."""
    beside: bool = False
    """of a `table`, or a `weighted-table`: true if no record is drawn from it."""


class _Edge(_Plain):
    """A column of a network."""

    column: str
    """its name."""
    parents: list[str]
    """columns that it is drawn given; they stand before it."""


class _Inference(_Plain):
    """Facts that inference needs: the publisher's word where no measurement contradicts it."""

    posterior_rule: Literal["partial", "mi"] | None
    """the rule that combines posterior sets."""
    swept: bool
    """whether records were drawn column by column, or pulled towards an even spread."""
    shrunk: bool
    """whether a penalty makes relations between columns weaker."""
    independent: bool
    """whether columns were drawn independently of each other."""
    modelled: list[str]
    """numeric columns whose numbers a model drew, not only their bins."""
    network: list[_Edge] | None
    """the Bayesian network that sets were drawn from."""
    prior_weight: Annotated[_Number, Field(ge=0)]
    """records that were added to each cell of a measured table."""
    leaves_only: bool
    """whether records were drawn from the cells of the full table alone."""
    rows_stddev: Annotated[_Number, Field(ge=0)] = 0.0
    """standard deviation of the noise in the number of rows; 0 if nothing is said of it."""


class _Analysis(_Plain):
    """A declared analysis."""

    kind: str
    """of the analysis."""
    formula: str
    """what it asks."""
    asked_by: str
    """who asked, or ""."""


class _Expected(_Plain):
    """The expected precision of one answer."""

    analysis: str
    """that it belongs to."""
    name: str
    """of the answer."""
    noise: Annotated[_Number, Field(ge=0)] | None
    """half-width of a 95 % interval by privacy noise alone, at least 0."""
    sampling: Annotated[_Number, Field(ge=0)] | None
    """half-width by sampling alone, at least 0."""
    refused: str
    """why it is refused, or ""."""
    least: Annotated[_Number, Field(ge=0)] | None = None
    """where the width depends on how numbers are spread, the smallest half-width."""
    largest: Annotated[_Number, Field(ge=0)] | None = None
    """the largest; null where it may have no end."""


class _ExpectedAnswers(_Plain):
    """The expected widths of declared answers."""

    records: _Count
    """number of records that the plan took."""
    like: str
    """of which tables the widths are."""
    answers: list[_Expected]
    """one by one."""


class _Amendment(_Plain):
    """A measurement made after the release, for a question."""

    parent: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    """checksum of the manifest that it amends."""
    entries: Annotated[int, Field(ge=1)]
    """how many steps were paid before."""
    budget: _Budget
    """the one before."""
    title: str
    """of the question."""
    asked_by: str
    """who asked."""
    chosen: Literal["beforehand", "from the release", ""]
    """how the question came about."""
    analyses: list[_Analysis]
    """what was asked."""


class _Contradiction(_Plain):
    """A column whose sets contradict its measurements by more than noise and chance explain."""

    column: str
    """its name."""
    distance: Annotated[_Number, Field(ge=0)]
    """share of the records of the worst set that would need another value."""
    noise: Annotated[_Number, Field(ge=0)]
    """the share that noise explains."""


class _Candidate(_Plain):
    """One of the tries' candidates."""

    method: str
    """name of its method."""
    options: dict[str, _Option | list[_Option] | dict[str, _Option]]
    """as stated."""
    sets: Annotated[int, Field(ge=1, le=10**6)]
    """number of its sets, 1 … 10⁶."""


class _Criterion(_Plain):
    """The criterion that a table of a try has to meet."""

    columns: list[str]
    """of the table."""
    most: _Fraction
    """share of its records that may lie in another cell."""


class _Choice(_Plain):
    """The choice of a release among several tries."""

    candidates: list[_Candidate]
    """among which."""
    accept: list[_Criterion]
    """what was asked of them."""
    law: Literal["geometric", "logarithmic"]
    """of the number of tries."""
    tries: Annotated[int, Field(ge=2)]
    """their expected number."""
    excess: int
    """by how many records the worst table of the best try exceeds its limit in L1, with noise."""
    stddev: Annotated[_Number, Field(ge=0)]
    """of that noise."""
    met: bool
    """whether `excess` is 0 or less."""


class _KeptCount(_Plain):
    """The least frequency of combinations of key columns in each set."""

    columns: Annotated[list[str], Field(min_length=1)]
    """of the key, numbers by their declared bin."""
    count: Annotated[int, Field(ge=1)]
    """each combination in a set occurs there so often or more."""
    most_changed: _Fraction
    """the largest share of the records of a set that may have got other keys for that."""
    changed: list[_Count]
    """of each set, how many did."""
    replaced: list[_Count]
    """of each set, how many of these are copies of other records of the set; at most as many."""
    table: str = ""
    """the members' table, if combinations are counted over the members in all slots."""


class _Manifest(_Plain):
    """The fields of a manifest, beside `format` and `files`."""

    method: str
    """its name."""
    options: dict[str, _Option | list[_Option] | dict[str, _Option]]
    """of the method. An option `sets` that is one of the words of `sets_kind` equals it. All else
    is the publisher's word."""
    reason: str
    """why the method was chosen, or ""."""
    sets: Annotated[int, Field(ge=1, le=10**6)]
    """number of sets, 1 … 10⁶."""
    sets_kind: SetsKind
    """`free` sets are drawn from one fit; `split` ones have a fit and share of the budget each."""
    n_rows: _Count
    """records of each set, at most `row_limit`."""
    rows_obtained: str
    """how their number came about: `declared as public in the schema`, or `bought once for U = C
    (NOISE)` with the unit ε, ρ or μ²/2, the rounded price and the noise of the step."""
    guarantee: _Guarantee
    """what is promised."""
    budget: _Budget
    """what may be spent."""
    ledger: list[_Entry]
    """the steps, in their order."""
    secure: bool
    """whether noise came from the operating system's entropy."""
    sampling_seed: Annotated[int, Field(ge=0)] | None
    """seed of what came after the last step. The publisher's word."""
    software: dict[str, str]
    """names → versions. The publisher's word."""
    ended_early: bool = False
    """whether rounds were ended before the budget was spent."""
    rows_share: _Fraction | None = None
    """part of the budget for the number of rows; for people."""
    answers_share: _Fraction | None = None
    """part for second moments; for people."""
    lines_share: _Fraction | None = None
    """part for number lines; for people."""
    measurements: list[_Measurement]
    """what the steps measured."""
    analyses: list[_Analysis] = []
    """declared ones."""
    expected: _ExpectedAnswers | None = None
    """the widths that were expected of their answers."""
    layer_share: _Fraction | None = None
    """part for moments of all columns; for people."""
    places_share: _Fraction | None = None
    """part for tables of places; for people."""
    priority: list[str] = []
    """columns whose moments were bought by themselves; for people."""
    amendments: list[_Amendment] = []
    """what was measured later."""
    contradictions: list[_Contradiction] = []
    """it lacks where there are none, or nothing was compared. A function of the sets and the
    measurements."""
    choice: _Choice | None = None
    """of a release chosen among several tries."""
    minimum_count: _KeptCount | None = None
    """where combinations of columns occur so often or never."""
    inference: _Inference
    """what inference needs."""


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
