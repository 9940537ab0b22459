"""The manifest: how a release was made, for people and machines, and whether it is of one piece.

It says nothing about the input file. Its facts and its measurements are held against each other
here, its promise and its ledger in `understudy.release.consistency`.

The width of an interval rests on what a manifest says for inference (`InferenceFacts`),
and checksums can be redone: one that says "partial" of sets that share the noise of their tables
would get intervals that are too narrow. Whatever the measurements show is asked of them here. What
they cannot show is the publisher's word, as the counts are: a folder invented in all its parts
looks like a genuine one.

**Amendments: what was measured after a release was out, to answer a question better.**

An amended release is the same release with more measurements: the same records, the same schema, a
longer ledger, and a promise about all of it together. It names the release that it amends by the
checksum of its manifest, so that a chain of amendments leads back to the first one.

The records were drawn before, so they know nothing of what was measured later; whoever asks how the
sets were made looks at the measurements before the first amendment, without tables of places, which
are for answers (`Release.behind_sets`).

**The promise of a release as README and pages say it word for word, in one block for checkers.**

The sentence itself is `Guarantee.statement` (`dp/guarantee.py`).

In `README.md` it is the one fenced block that begins with ```` ```promise ````, in a page the one
element `<blockquote id="promise">`, with a paragraph for each line. It says what the manifest says,
and which version of this software rendered the text that it stands in
(`docs/reference/release-format.md`, Pages).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Literal

from understudy.dp.budget import size_in_signs
from understudy.dp.guarantee import Guarantee
from understudy.errors import line
from understudy.models.model import Edge, InferenceFacts, require_network
from understudy.release.measurement import Measurement, kept_columns
from understudy.release.minimum_count import KeptCount
from understudy.release.one_way_check import Contradiction, describe_contradictions
from understudy.release.shape import Fault, Kind
from understudy.schema import NUMERIC, Schema

Chosen = Literal["beforehand", "from the release", ""]
"""How a question came about: "beforehand" if no number of the release suggested it; "" unsaid."""


_LATER = "amendment-"


@dataclass(frozen=True)
class Amendment:
    """One question that was paid for after a release.

    Attributes:
        parent: checksum of the manifest of the release that it amends, "sha256:…".
        entries: how many steps of the ledger were paid before.
        budget: the stated budget before, as in the manifest.
        title: of the question.
        asked_by: who asked; "" if that is not said.
        chosen: how the question came about.
        analyses: what was asked: kind and formula.
    """

    parent: str
    entries: int
    budget: dict[str, str]
    title: str
    asked_by: str
    chosen: Chosen
    analyses: tuple[Mapping[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return {**vars(self), "analyses": [dict(analysis) for analysis in self.analyses]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Amendment:
        """Read back what `to_json` wrote."""
        return cls(**{**data, "analyses": tuple(data["analyses"])})


def name_of(amendment: int, table: int) -> str:
    """Name of a measurement of an amendment; both count from 1."""
    return f"{_LATER}{amendment}-table-{table}"


def require_named_later(measurements: Sequence[Measurement], behind: Sequence[Measurement]) -> None:
    """Refuse measurements of an amendment that pass for some that the sets were drawn from.

    Args:
        measurements: of a release.
        behind: those before its first amendment.

    Raises:
        Fault: a name says the one, and the manifest the other.
    """
    first = {one.entry for one in behind}
    named = (one for one in measurements if one.name)
    if any(one.name.startswith(_LATER) == (one.entry in first) for one in named):
        raise Fault("its manifest and the names of its measurements differ on what came later")


def before(
    measurements: Sequence[Measurement], amendments: Sequence[Amendment]
) -> tuple[Measurement, ...]:
    """List what was measured before the first amendment; all of it where there is none."""
    if not amendments:
        return tuple(measurements)
    return tuple(one for one in measurements if one.entry <= amendments[0].entries)


def without_places(
    measurements: Sequence[Measurement], schema: Schema, *, bought: bool
) -> tuple[Measurement, ...]:
    """List what the records follow: no table of places, nor one that was bought for answers alone.

    Tables of places come before a method's own.

    Args:
        measurements: in the order in which they were paid for.
        schema: of the release.
        bought: whether tables of places were.
    """
    wanted = {*schema.geography.tables} if bought else set[tuple[str, ...]]()
    beside = set[int]()
    for one in measurements:
        if one.kind is Kind.TABLE and one.columns in wanted:
            wanted.remove(one.columns)
            beside.add(one.entry)
    return tuple(one for one in measurements if one.entry not in beside and not one.beside)


def bought_by(
    measurements: Sequence[Measurement], amendments: Sequence[Amendment], number: int
) -> tuple[Measurement, ...]:
    """List what one amendment measured.

    Args:
        measurements: of the release.
        amendments: of the release, in order.
        number: of the amendment, from 0.
    """
    first = amendments[number].entries
    last = amendments[number + 1].entries if number + 1 < len(amendments) else None
    return tuple(
        one for one in measurements if first < one.entry and (last is None or one.entry <= last)
    )


def require_chain(
    amendments: Sequence[Amendment], ledger: Sequence[Mapping[str, Any]], unit: str
) -> None:
    """Refuse amendments that bought nothing, or stand in no order.

    Args:
        amendments: of a manifest.
        ledger: of the same.
        unit: of its budget.

    Raises:
        Fault: says what does not fit.
    """
    last = 0
    for amendment in amendments:
        if not last < amendment.entries < len(ledger):
            raise Fault("its amendments are out of order, or measured nothing")
        if amendment.budget["unit"] != unit:
            raise Fault("an amendment is of a release in another unit of budget")
        last = amendment.entries


@dataclass(frozen=True)
class Manifest:
    """The record of how a release was made. It says nothing about the input file.

    Attributes:
        method: name in the table of methods.
        options: every option of the method, defaults included.
        reason: why this method, where it was chosen automatically; else "".
        sets: number of synthetic tables.
        sets_kind: "free": all drawn from one paid-for fit; "split": each has its own fit and its
            own share of the budget.
        n_rows: rows of each synthetic table.
        rows_obtained: how that number was obtained.
        guarantee: what is promised.
        budget: the stated budget, as decimals.
        ledger: every paid step, as plain data.
        secure: whether the noise came from the operating system's entropy.
        sampling_seed: seed of the sampling after the last paid step; None if it was not seeded.
        software: versions.
        inference: what whoever computes with the sets must know of how they were made.
        rows_share: part of the budget that bought the number of rows, as a fraction; None where
            nothing was bought, or in a release that does not say.
        answers_share: part of the rest that bought second moments for answers, as a fraction; None
            where none were bought.
        lines_share: the same of number lines.
        layer_share: the same of moments of all columns beside those of declared analyses.
        places_share: the same of the tables of places that the schema declares.
        priority: columns that a part of `answers_share` bought second moments of by themselves.
        analyses: declared ones: kind, formula, and who asked.
        expected: how exact their answers were to be, by the plan; None where it does not say.
        ended_early: whether whoever waited ended the rounds of the method before the budget did;
            the ledger then holds less than the budget, and the guarantee is no worse for it.
        amendments: what was measured later, for questions that came after the release; budget,
            ledger and guarantee are those of all together.
        contradictions: columns whose records contradict what was measured of them.
        choice: among which candidates it was selected, and how; None where it was not.
        minimum_count: how often combinations of key columns occur in its sets; None where nobody
            asked for that.
    """

    method: str
    options: dict[str, Any]
    reason: str
    sets: int
    sets_kind: str
    n_rows: int
    rows_obtained: str
    guarantee: Guarantee
    budget: dict[str, str]
    ledger: tuple[dict[str, Any], ...]
    secure: bool
    sampling_seed: int | None
    software: dict[str, str]
    inference: InferenceFacts
    ended_early: bool = False
    rows_share: str | None = None
    answers_share: str | None = None
    lines_share: str | None = None
    layer_share: str | None = None
    places_share: str | None = None
    priority: tuple[str, ...] = ()
    analyses: tuple[Mapping[str, str], ...] = ()
    expected: Mapping[str, Any] | None = None
    amendments: tuple[Amendment, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    choice: Mapping[str, Any] | None = None
    minimum_count: KeptCount | None = None

    @property
    def promised_size(self) -> str | None:
        """ε and δ that are promised, in signs; None where nothing is."""
        guarantee = self.guarantee
        if guarantee.epsilon is None or not self.secure:
            return None
        return size_in_signs(guarantee.epsilon, guarantee.delta)

    @property
    def composes(self) -> bool:
        """False if its cost is an ε and a δ alone, which add up with no other in its unit."""
        return self.choice is None or not self.guarantee.delta

    @property
    def rows_told(self) -> str:
        """Source of the number of rows in words, and a remark if sets have none."""
        if self.n_rows > 0 or not self.inference.rows_stddev:
            return self.rows_obtained
        return (
            f"{self.rows_obtained}; it was not above 0 with its noise, so sets are empty: so few "
            "rows need a larger epsilon"
        )

    @property
    def contradiction(self) -> str:
        """Contradictions between sets and measurements, for people; "" where there are none."""
        return describe_contradictions(self.contradictions)

    def to_json(self) -> dict[str, Any]:
        """Plain data, in the present format."""
        found, kept = [one.to_json() for one in self.contradictions], self.minimum_count
        optional = ("places_share", "choice", "minimum_count")
        unused = (name for name in optional if getattr(self, name) is None)
        seldom = ("contradictions", *unused)
        always = {name: value for name, value in vars(self).items() if name not in seldom}
        return {
            **always,
            **({"contradictions": found} if found else {}),
            **({"minimum_count": kept.to_json()} if kept is not None else {}),
            "guarantee": self.guarantee.to_json(),
            "ledger": list(self.ledger),
            "priority": list(self.priority),
            "analyses": [dict(analysis) for analysis in self.analyses],
            "amendments": [amendment.to_json() for amendment in self.amendments],
            "inference": self.inference.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], inference: InferenceFacts) -> Manifest:
        """Read back what `to_json` wrote.

        Args:
            data: plain data, in any format that is read.
            inference: what it says for inference, or format 1 left unsaid (`release.load`).
        """
        guarantee, ledger = Guarantee.from_json(data["guarantee"]), tuple(data["ledger"])
        parts = {"guarantee": guarantee, "ledger": ledger, "inference": inference}
        lists = {name: tuple(data.get(name, ())) for name in ("analyses", "priority")}
        amendments = tuple(map(Amendment.from_json, data.get("amendments", ())))
        found = tuple(Contradiction(**one) for one in data.get("contradictions", ()))
        lists |= {"amendments": amendments, "contradictions": found}
        kept = data.get("minimum_count")
        count = None if kept is None else KeptCount.from_json(kept)
        return cls(**{**data, **parts, **lists, "minimum_count": count})


_OF_NUMBERS = (Kind.PARAMETERS, Kind.POSTERIOR, Kind.EXACT)
"""Kinds of measurements that a model of numbers may rest on, beside sums and scatters."""


def require_facts(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Refuse facts that the measurements contradict.

    Args:
        facts: of the manifest.
        sets_kind: how its sets were made.
        measurements: of the release.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    _require_rule(facts, sets_kind, measurements)
    if not facts.swept and any(measurement.kind is Kind.SWEEPS for measurement in measurements):
        raise Fault("its records were drawn column by column, and its manifest denies it")
    _require_modelled(facts.modelled, measurements, schema)
    if facts.network is not None:
        tables = [
            measurement.columns for measurement in measurements if measurement.kind is Kind.TABLE
        ]
        _require_network(facts.network, tables, schema)
    if facts.independent and any(
        len(measurement.columns) > 1 and measurement.kind.is_joint for measurement in measurements
    ):
        raise Fault("its columns are said to be independent, and were measured together")


def _require_rule(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement]
) -> None:
    """Posterior sets, and no others, have a rule; noise that all sets share needs "mi".

    "partial" takes all that the sets share for the rows' own. So it holds where nothing that was
    measured has noise; and where nothing has, none can have been redrawn.
    """
    if (facts.posterior_rule is not None) != (sets_kind == "posterior"):
        raise Fault("its combining rule is for another kind of sets")
    noisy = any(
        not measurement.family.is_none for measurement in measurements if measurement.kind.is_joint
    )
    if sets_kind == "posterior" and (facts.posterior_rule == "mi") != noisy:
        raise Fault("its combining rule is for other noise than its measurements have")


def _require_modelled(
    modelled: Sequence[str], measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Numbers of a model rest on something that was measured of them, and sums are there for one.

    Columns that were not modelled are known within their bins only, so that a quantile of theirs
    gets an interval over whole bins.
    """
    if not all(isinstance(schema.columns.get(name), NUMERIC) for name in modelled):
        raise Fault("it models numbers of a column that is not numeric")
    summed = {
        name
        for measurement in measurements
        if measurement.kind.is_of_numbers
        for name in measurement.of
    }
    known = {
        name
        for measurement in measurements
        if measurement.kind in _OF_NUMBERS
        for name in measurement.columns
    }
    drawn = set(modelled)
    kept = set(kept_columns(measurements))
    if not summed <= drawn or not drawn <= (summed | known) - kept or len(drawn) < len(modelled):
        raise Fault("it models other numbers than were measured")


def _require_network(
    network: Sequence[Edge], tables: Sequence[tuple[str, ...]], schema: Schema
) -> None:
    """A network has all columns, in order, and a measured table for each with its parents."""
    try:
        require_network(network, schema.names)
    except ValueError:
        raise Fault("its network does not fit its columns") from None
    families = [{column, *parents} for column, parents in network]
    if not all(any(family <= set(table) for table in tables) for family in families):
        raise Fault("its network has a column that was not measured with its parents")


def citation(manifest: Manifest, schema: Schema) -> str:
    """Cite a release in one line: title, size, method, promise and software.

    Its publisher and year are for the publisher to add.

    Args:
        manifest: how the release was made.
        schema: of the release.
    """
    sets = f"{manifest.sets} {'set' if manifest.sets == 1 else 'sets'}"
    promised = manifest.promised_size or "not private"
    version = f" {manifest.software['understudy']}" if "understudy" in manifest.software else ""
    return (
        f"{line(schema.heading)}. Synthetic microdata, {sets}, method "
        f"“{manifest.method}”, {promised}. Made with Understudy{version}."
    )


RENDERED: Final = "Rendered by understudy "
"""How its last line begins; the version follows."""


@cache  # to find it takes longer than to write a README
def running_version() -> str:
    """Return the version of Understudy that runs."""
    return version("understudy")


def promise_block(manifest: Manifest) -> tuple[str, ...]:
    """The lines of the block, as this version renders them.

    Args:
        manifest: of the release.
    """
    return (*promise_lines(manifest), f"{RENDERED}{running_version()}")


def promise_lines(manifest: Manifest) -> tuple[str, ...]:
    """Its lines without the last one: guarantee, its size, tables and method.

    Args:
        manifest: of the release.
    """
    size = manifest.promised_size or "This release is NOT private"
    tables = f"{manifest.sets} synthetic table{'s' if manifest.sets > 1 else ''}"
    made = f"{tables} of {manifest.n_rows:,} rows, made by the method “{manifest.method}”"
    if (kept := manifest.minimum_count) is not None:
        made += f"; combinations of {', '.join(kept.columns)} occur {kept.count} times or never"
    texts = (" ".join(line(text).split()) for text in (manifest.guarantee.statement, size, made))
    return tuple(text.replace("<", "‹").replace(">", "›") for text in texts)
