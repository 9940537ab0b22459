"""Options that public functions share: what is made of a budget, and how a run goes.

Each of the two is one frozen value, which is checked when it is made. Functions take its fields as
keywords just as well, and gather them here. So an argument is declared, checked and explained once.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from inspect import Parameter
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

from understudy._validation import (
    explain_attributes,
    path_of,
    require,
    require_function,
    require_mapping,
    require_text,
    require_whole,
)
from understudy.dp.budget import Number
from understudy.dp.confidential import DiagnosticCallback
from understudy.errors import CheckpointError, DataError, MethodError, suggestion
from understudy.release.minimum_count import MinimumCount
from understudy.workflow.budget_shares import PARTS, stated_parts

if TYPE_CHECKING:
    from understudy.release.decoding import FrameKind
    from understudy.release.release import Release

Progress = Callable[[str, int, int], None]
"""Called with a stage, and how much of how much is done."""


@dataclass(frozen=True, kw_only=True)
class SynthesisOptions:
    """Options of what is made of a budget: the argument `how` of `synthesize` and `plan`.

    Attributes:
        method: a name in the table of methods, or "auto".
        sets: number of synthetic tables.
        options: options of the method.
        budget: parts of the budget that are not the usual ones, each from 0 to below 1, such as
            {"answers": 0.3}. "rows" is a part of the whole budget and measures the number of rows
            if that is private (0.05 by default). The others are parts of the rest. "answers"
            measures second moments of all columns, for linear models, correlations and group
            means. Its default is a third for an automatic release with δ above 0, half if analyses
            are declared, and nothing otherwise. "lines" measures fine histograms: counts of
            numbers in cells finer than their bins, and beyond their bounds. Records follow them,
            and they tell where second moments cut numbers off. Its default is a tenth for an
            automatic release, or if analyses are declared. "layer" measures second moments of all
            columns beside those of declared analyses. Its default is a tenth for an automatic
            release with δ above 0. "places" measures the tables of the levels of places that the
            schema declares. Its default is a quarter, and no more than the records have.
        analyses: what the release is to answer (`inference.declared`), such as "ols income
            ~ age + sex". Then "answers" measures moments of their columns alone. Choose them
            without a look at the rows: such a choice would tell what ε does not cover.
        priority: names of columns that matter most. A quarter of "answers" measures moments of
            these alone, so questions about them have narrower intervals.
        assume_rows: number of records for which it is said how exact answers are expected to be;
            1,000 if it is private. It must not be read from the rows.
        like: an earlier release, published, that stands for the population there; else even
            records do. Numbers are cut off where it cuts them off, so that answers compare.
        minimum_count: key columns and how often each combination of them that occurs in a synthetic
            set must occur there, such as {"columns": ["region", "sex"], "count": 5}. Records of
            rarer ones get the keys of a near combination. Where more than "most_changed" of them
            (0.05 by default) would change, the release is refused after it was paid, so a
            checkpoint is needed, which continues with other key columns for nothing.

    Raises:
        MethodError: a field of the wrong type or size.
        BudgetError: an unknown part of the budget, or one out of range.

    Example:
        >>> SynthesisOptions(method="mst", sets=5, budget={"answers": "0.3"}).parts
        {'answers': Fraction(3, 10)}
    """

    method: str = "auto"
    sets: int = 1
    options: Mapping[str, Any] | None = None
    budget: Mapping[str, Number] | None = None
    analyses: object = None
    priority: object = None
    assume_rows: int | None = None
    like: Release | None = None
    minimum_count: Mapping[str, Any] | MinimumCount | None = None

    def __post_init__(self) -> None:
        """Refuse what no schema could make right."""
        require_text("method", self.method, MethodError, "marginals")
        require_whole("sets", self.sets, MethodError, least=1)
        require_mapping("options", self.options or {}, MethodError, '{"form": "dense"}')
        stated_parts(self.budget)
        if self.assume_rows is not None:
            require_whole("assume_rows", self.assume_rows, MethodError, least=1)
        if self.minimum_count is not None:
            MinimumCount.of(self.minimum_count)

    @property
    def parts(self) -> dict[str, Fraction]:
        """The parts of the budget that are stated, exactly."""
        return stated_parts(self.budget)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run, and who answers for it: the argument `run` of functions that read rows.

    Attributes:
        seed: seed of the sampling that follows the last paid step; recorded in the manifest.
            It fixes which records are drawn, not their order.
        insecure_noise_seed: for tests and studies only: draw the privacy noise from this seed, so
            that the result is **not private** and stamped so.
        allow_nonprivate: permit methods that publish exact statistics.
        frame: kind of data frame to give back, "pandas", "polars" or "arrow"; by default the kind
            that came in.
        checkpoint: folder that holds, while this runs, what was released and what it cost. A killed
            run leaves it; the same request on the same rows continues from there, and counts a
            charge that nothing came of as spent. Not to be published, copied or deleted while its
            release is wanted.
        keep_checkpoint: leave it when the release is made, for callers that save the release first.
            Without it, what was paid for is in this process alone until it is saved. Remove the
            folder when `Release.save` has returned.
        ledger: URL or path of the ledger that governs the population of the rows; None for the one
            that `UNDERSTUDY_LEDGER` names. A schema with [ledger] is refused without one.
        by: who spends, for that ledger; None for what `UNDERSTUDY_BY` says.
        reservation: number of what was reserved in that ledger for this very request beforehand, by
            `reserve`; None to reserve now.
        spill: folder for coded rows that are too many for memory: then one encrypted file lies
            there, without a name and while this runs. Without it nothing exact is written to disk,
            and each pass reads the input again once codes take more than a gibibyte.
        trusted_cluster: for a Spark data frame whose settings leave the cluster open: whether
            everybody who sees what it sends, writes and shows may see the rows. The manifest says
            so.
        progress: called with a stage, and how much of how much is done. What stands behind a comma
            changes while the stage lasts: "Measuring with noise, 43 % of ε spent".
        confide: gets the diagnostics, when the release is made. They tell how each Markov chain
            went, how records were weighted, and roughly which columns hardly fit the schema. They
            depend on the rows, so they are for the steward alone. Never publish them. To make the
            release again because of them is a leak that ε does not count.
        confide_misfits: whether those of columns and of exact totals are among them.
        also: formats in which the release will be saved beside Parquet, as for `Release.save`.
            They are tried on made-up records before anything is paid.

    Raises:
        MethodError: a seed, a reservation, or what is to be called, of the wrong type.
        ReleaseError: an unknown kind of data frame.
        CheckpointError: a checkpoint that is not a path.
        DataError: a spill that is not a path.
    """

    seed: int | None = None
    insecure_noise_seed: int | None = None
    allow_nonprivate: bool = False
    frame: FrameKind | None = None
    checkpoint: str | Path | None = None
    keep_checkpoint: bool = False
    ledger: str | Path | None = None
    by: str | None = None
    reservation: int | None = None
    spill: str | Path | None = None
    trusted_cluster: bool = False
    progress: Progress | None = None
    confide: DiagnosticCallback | None = None
    confide_misfits: bool = True
    also: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse what would break something after the budget was spent."""
        for name in ("seed", "insecure_noise_seed"):
            if (given := getattr(self, name)) is not None:
                require_whole(name, given, MethodError, least=0)
        if self.reservation is not None:
            require_whole("reservation", self.reservation, MethodError, least=1)
        if self.frame is not None:
            from understudy.release.decoding import require_frame  # a plan needs none of it

            require_frame(self.frame)
        require_function("progress", self.progress, MethodError)
        require_function("confide", self.confide, MethodError)
        for name, refusal in (("checkpoint", CheckpointError), ("spill", DataError)):
            if (given := getattr(self, name)) is not None:
                path_of(name, given, refusal)

    @property
    def place(self) -> Path | None:
        """The folder of the checkpoint."""
        return None if self.checkpoint is None else Path(self.checkpoint)

    @property
    def secure(self) -> bool:
        """True if the noise comes from the operating system's entropy."""
        return self.insecure_noise_seed is None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell whoever waits, if anybody does."""
        if self.progress is not None:
            self.progress(stage, done, total)


class VerdictKeywords(TypedDict, total=False):
    """Fields of `RunOptions` that `verdict` takes."""

    insecure_noise_seed: int | None
    ledger: str | Path | None
    by: str | None
    spill: str | Path | None
    progress: Progress | None


class AnswerKeywords(VerdictKeywords, total=False):
    """Those that `answer` takes."""

    checkpoint: str | Path | None
    keep_checkpoint: bool
    trusted_cluster: bool


class RegressKeywords(AnswerKeywords, total=False):
    """Those that `regress` takes."""

    seed: int | None
    confide: DiagnosticCallback | None
    confide_misfits: bool


class PlanKeywords(TypedDict, total=False):
    """Fields of `SynthesisOptions`, and the former names of parts of the budget."""

    method: str
    sets: int
    options: Mapping[str, Any] | None
    budget: Mapping[str, Number] | None
    analyses: object
    priority: object
    assume_rows: int | None
    like: Release | None
    minimum_count: Mapping[str, Any] | MinimumCount | None
    rows_share: Number
    answers_share: Number | None
    lines_share: Number | None
    layer_share: Number | None


class SynthesizeKeywords(PlanKeywords, RegressKeywords, total=False):
    """All fields of both."""

    allow_nonprivate: bool
    reservation: int | None
    frame: FrameKind | None
    also: str | Sequence[str]


_FORMER: Final = {f"{part}_share": part for part in PARTS[:4]}


def gather(
    function: str,
    known: type[Any],
    keywords: Mapping[str, object],
    *,
    how: SynthesisOptions | None = None,
    run: RunOptions | None = None,
) -> tuple[SynthesisOptions, RunOptions]:
    """Gather the options of a call from objects or keywords.

    Args:
        function: name of what is called.
        known: the keywords that it takes, as a `TypedDict`.
        keywords: that came.
        how: object that came.
        run: object that came.

    Raises:
        TypeError: an unknown keyword.
        MethodError: an object and a keyword that state the same, or what the function has no use
            for; and as both classes.
    """
    names = known.__optional_keys__
    for name in keywords:
        if name not in names:
            near = suggestion(name, names)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{near}")
    made = _make("how", SynthesisOptions, how, _rename_parts(keywords))
    run = _make("run", RunOptions, run, keywords)
    idle = [one.name for one in fields(run) if getattr(run, one.name) != one.default]
    if idle := [name for name in idle if name not in names]:
        raise MethodError(f"{function} has no use for {', '.join(idle)}; leave it out of run.")
    return made, run


_Made = TypeVar("_Made", SynthesisOptions, RunOptions)


def _make(name: str, kind: type[_Made], given: _Made | None, keywords: Mapping[str, Any]) -> _Made:
    """The object that came, or one of keywords."""
    own = {one.name: keywords[one.name] for one in fields(kind) if one.name in keywords}
    if given is None:
        return kind(**own)
    require(isinstance(given, kind), name, f"a {kind.__name__}", given, MethodError)
    if own:
        raise MethodError(
            f"{name} states {', '.join(own)} too; leave the keyword out, or state it in {name}."
        )
    return given


def _rename_parts(keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keywords with parts of the budget in place of their former names, which warn."""
    former = [name for name in _FORMER if name in keywords]
    if not former:
        return keywords
    stated = {_FORMER[name]: keywords[name] for name in former if keywords[name] is not None}
    if keywords.get("budget") is not None:
        raise MethodError(f"budget states what {former[0]} states; leave {former[0]} out.")
    warnings.warn(
        f"{', '.join(former)}: a former name, which the next version drops; write "
        f"budget={{{', '.join(f'{_FORMER[name]!r}: …' for name in former)}}}.",
        DeprecationWarning,
        stacklevel=4,
    )
    others = {name: value for name, value in keywords.items() if name not in _FORMER}
    return others | {"budget": stated}


_Function = TypeVar("_Function", bound=Callable[..., Any])
_KEYWORDS: Final = re.compile(r"^ {4}\*\*keywords: .*(?:\n {8}.*)*", re.MULTILINE)


def list_keywords(known: type[Any]) -> Callable[[_Function], _Function]:
    """Have the signature and the help of a function list the keywords that it gathers.

    Args:
        known: the keywords that it takes, as a `TypedDict`.
    """

    def list_in_docstring(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own, entries = [*signature.parameters.values()][:-1], list[str]()
        for kind in (SynthesisOptions, RunOptions):
            meanings = explain_attributes(kind)
            for one in fields(kind):
                if one.name in known.__optional_keys__:
                    about = {"default": one.default, "annotation": one.type}
                    own.append(Parameter(one.name, Parameter.KEYWORD_ONLY, **about))
                    entries.append(f"    {one.name}: {meanings.get(one.name, '')}")
        function.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        listing = "\n".join(fill(entry, 96, subsequent_indent=" " * 8) for entry in entries)
        function.__doc__ = _KEYWORDS.sub(lambda _: listing, inspect.getdoc(function) or "")
        return function

    return list_in_docstring
