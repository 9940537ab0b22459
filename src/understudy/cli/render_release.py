"""Schemas, methods, releases and analyses as people see them in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from understudy.cli.console import MOST_ROWS, Screen, escape, out, sets_words
from understudy.cli.render import planned_widths

if TYPE_CHECKING:
    from understudy.dp.confidential import Diagnostic, Internal
    from understudy.inference.analysis import Analysis
    from understudy.inference.private_regression import PrivateRegression, RegressionRelease
    from understudy.metadata.codebook import Codebook
    from understudy.methods.base import Facts
    from understudy.methods.registry import Option
    from understudy.papers.generator_scores import Travelled
    from understudy.papers.record_weights import FittedPosterior
    from understudy.release.release import Release
    from understudy.report.results_page import DeclaredResult


_MOST_NAMED = 4  # columns or pairs of them, in a cell


def show_release(release: Release, folder: Path) -> None:
    """Show where a release is, what it promises, and how to look at it."""
    manifest = release.manifest
    out.print(
        f"\n[bold]Release written to {escape(str(folder))}/[/bold]: {manifest.sets} synthetic "
        f"{'sets' if manifest.sets > 1 else 'set'} of {manifest.n_rows:,} rows and "
        f"{len(release.schema.declared)} columns, by the method {escape(manifest.method)}"
        f"{f' (chosen because {escape(manifest.reason)})' if manifest.reason else ''}."
    )
    if manifest.n_rows == 0:
        out.print(f"Number of rows: {escape(manifest.rows_told)}.")
    if manifest.ended_early:
        out.print(
            "The rounds of the method were ended early: less than the budget was spent, and the "
            "guarantee holds as stated."
        )
    if manifest.contradiction:
        out.print(escape(manifest.contradiction))
    if manifest.minimum_count is not None:
        out.print(escape(manifest.minimum_count.told))
    out.print(escape(release.guarantee.statement))
    if words := release.schema.unsaid_words:
        out.print(escape(words), soft_wrap=True)
    report = (folder / "report.html").resolve()
    out.print(f"\nOpen the report in a browser: {escape(str(report))}", soft_wrap=True)
    out.print(
        f"Look at it again here:        understudy show {escape(str(folder))}", soft_wrap=True
    )


def show_sample(note: str, n: int, file: Path) -> None:
    """Show where more records are, and what they are."""
    records = "record" if n == 1 else "records"
    out.print(f"{n:,} {records} written to {escape(str(file))}. {escape(note)}", soft_wrap=True)


def to_be_checked(data: str, schema: Path, members: Path | None = None) -> None:
    """Show how to see whether the data fit, which no release says."""
    more = [] if members is None else ["--members", str(members)]
    command = shlex.join(["understudy", "schema", "check", data, str(schema), *more])
    out.print(
        f"Whether the data fit the schema is confidential, so no release says it; look by: "
        f"{escape(command)}",
        soft_wrap=True,
    )


def show_diagnostic(internal: Internal[Diagnostic]) -> None:
    """Show what the steward alone may know; on the error stream, so that no output holds it."""
    from understudy.dp.confidential import Misfits, Mismatch
    from understudy.papers.generator_scores import Travelled
    from understudy.papers.record_weights import FittedPosterior

    diagnostic, said = internal.value, ""
    if isinstance(diagnostic, Misfits):
        said = _describe_misfits(diagnostic.columns, no_rows=diagnostic.no_rows)
    elif isinstance(diagnostic, Mismatch):
        said = (
            f"the rows do not have the exact totals that the schema declares of "
            f"{', '.join(diagnostic.levels)}. Correct the public file or the data; making the "
            "release again because of this is not covered by ε."
        )
    elif isinstance(diagnostic, Travelled):
        said = _describe_walk(diagnostic)
    elif isinstance(diagnostic, FittedPosterior):
        said = _describe_weights(diagnostic)
    Screen(stderr=True, highlight=False).print(f"INTERNAL, not for release: {escape(said)}")


def _describe_misfits(columns: Iterable[tuple[str, str]], *, no_rows: bool) -> str:
    """Describe what hardly fits, column by column."""
    said = [f"column {name!r}: {words}" for name, words in columns]
    said += ["the data have no rows"] if no_rows else []
    return (
        f"{'; '.join(said)}. `understudy schema check` says why. Making the release again because "
        "of this is not covered by ε."
    )


def _describe_walk(travelled: Travelled) -> str:
    """Describe how a walk went."""
    return (
        f"the walk took {travelled.accepted:.0%} of its steps. From 20 to 50 % it moves well; but "
        "a width chosen by this figure depends on the rows."
    )


def _describe_weights(fitted: FittedPosterior) -> str:
    """Describe how records were weighted, and what bound came of it."""
    import numpy as np

    from understudy.dp.guarantee import nominal_epsilon

    weights, before, after = fitted.weights, fitted.before, fitted.after.bound
    if not len(weights):
        return "no record fits the schema, so that the parameters come from the prior."
    low, middle, high = np.quantile(weights, (0, 0.5, 1))
    plain = "" if before is None else f", and {before.bound:.4g} without weights"
    return (
        f"{len(weights):,} records weigh from {low:.3g} to {high:.3g}, half of them {middle:.3g} "
        f"or less. Their Lipschitz bound is {after:.4g} under these weights{plain}: an ε of "
        f"{nominal_epsilon(after):.4g} a set as the source counts, which is no guarantee."
    )


def show_draft(path: Path) -> None:
    """Show what to do with a drafted schema."""
    out.print(
        f"Draft written to {escape(str(path))}. It is [bold]CONFIDENTIAL[/bold]: what its lines "
        "`drafted` name was read from the rows, and its first lines say what is left out. Next: "
        f"understudy schema review {escape(shlex.quote(str(path)))}. It asks column by column: "
        "replace each entry by what is publicly known, or name the source that confirms it. "
        "What is left as drafted makes the guarantee conditional.",
    )


def show_unit_keys(names: Sequence[str]) -> None:
    """Show which columns may name units of several rows, to whoever sits at the terminal."""
    for name in names:
        key = escape(repr(name))
        out.print(
            f"Rows with the same value of column {key} stand together, a few each. If it names "
            "units, such as the households of persons, the promise must be about units: declare "
            "them and their rows as two tables, \\[tables.household] and \\[tables.person] with "
            f"of, key = {key} and rows_per_unit. A draft with --key {escape(shlex.quote(name))} "
            "proposes both; docs/how-to/households.md shows how.",
            soft_wrap=True,
        )


def from_codebook(path: Path, book: Codebook) -> None:
    """Show what became of a codebook, and what is still to be done."""
    asked = [name for name, one in book.asked.items() if not one.in_words]
    out.print(
        f"Schema written to {escape(str(path))}: {len(book.columns)} of {len(book.order)} "
        f"variables are complete, {len(asked)} lack an entry, {len(book.told)} are left out; its "
        "heading names them. It holds nothing read from rows. Look through it, and set "
        "reviewed = true.",
    )


def show_check(lines: list[str], *, ok: bool, counts: bool, examples: bool) -> None:
    """The findings of a check, one line each, and how to see more of them.

    Args:
        lines: the findings and notes.
        ok: whether everything fits.
        counts: whether they say how many rows are concerned.
        examples: whether they show values.
    """
    told = [word for word, said in (("numbers of rows", counts), ("values", examples)) if said]
    if lines and told:
        out.print(f"CONFIDENTIAL: {' and '.join(told)} below were read from the rows.")
    for line in lines:
        out.print(escape(line), soft_wrap=True)
    if lines and not (counts and examples):
        more = [
            *(["--counts how many rows"] if not counts else []),
            *(["--examples which values"] if not examples else []),
        ]
        out.print(f"Add {' and '.join(more)}; both are CONFIDENTIAL.", soft_wrap=True)
    if ok:
        out.print("Every column fits the schema.")


def show_analysis(analysis: Analysis) -> None:
    """Estimates with their errors, and what these rest on."""
    out.print(escape(analysis.title), style="" if analysis.valid else "bold", soft_wrap=True)
    table = Table(box=None, pad_edge=False)  # names of quantities need the room
    for heading in ("", *analysis.headings):
        table.add_column(
            escape(heading),
            justify="right" if heading else "left",
            overflow="fold",
            no_wrap=bool(heading),
        )
    for row in analysis.rows():
        table.add_row(*map(escape, row))
    out.print(table)
    for note in (analysis.legend, *analysis.notes):
        out.print(escape(note), soft_wrap=True)


def show_regression(found: RegressionRelease, folder: Path | None, *, quiet: bool) -> None:
    """A regression, what was promised for it, and where its release is."""
    if found.analysis is not None:
        show_analysis(found.analysis)
    if folder is None:
        out.print(f"\n{escape(found.guarantee.statement)}")
        out.print("What it was answered from was not kept; --out keeps it for more questions.")
    elif not quiet:
        show_release(found.release, folder)


def coefficients(found: PrivateRegression) -> None:
    """A regression by a published mechanism: coefficients alone, and the promise."""
    mechanism = escape(found.mechanism)
    out.print(f"ols of {escape(found.formula)} by the {mechanism}, without standard errors.")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for name, value in found.coefficients.items():
        table.add_row(escape(name), f"{value:,.6g}")
    out.print(table)
    if found.repaired:
        out.print(f"The noisy matrix was not positive definite; it was repaired by {found.repair}.")
    out.print(f"\n{escape(found.guarantee.statement)}")


def show_results(results: Sequence[DeclaredResult], page: Path | None) -> None:
    """All declared analyses one after the other, and where the page is."""
    if not results:
        out.print("No analyses were declared when this release was made.")
    for result in results:
        asked = f", asked for by {result.asked_by}" if result.asked_by else ""
        out.print(f"\n[bold]{escape(result.question + asked)}[/bold]", soft_wrap=True)
        if result.answer is None:
            out.print(escape(result.refused), soft_wrap=True)
        else:
            show_analysis(result.answer)
        if result.plans:
            out.print(_beside_plan(result))
    if page is not None:
        out.print(f"Results page: {escape(str(page.resolve()))}", soft_wrap=True)


def _beside_plan(result: DeclaredResult) -> Table:
    """Half-widths of intervals, and those of the plan."""
    from understudy.inference.analysis import half_width_text

    halves = result.half_widths
    table = Table(title=f"Half-widths, and those planned for {escape(result.planned_for)}")
    table.add_column("estimate", overflow="fold")
    for heading in ("realised", "planned", "by noise", "by sampling"):
        table.add_column(heading, justify="right")
    for name, plan in result.plans.items():
        noise, sampling, planned = planned_widths(plan)
        realised = half_width_text(halves[name]) if name in halves else "–"
        table.add_row(escape(name), realised, planned, noise, sampling)
    return table


def release(loaded: Release) -> None:
    """Show what a release promises and holds."""
    from understudy.dp.budget import SIGNS

    manifest, promise = loaded.manifest, loaded.guarantee
    out.print(f"[bold]{escape(loaded.schema.heading)}[/bold]")
    out.print(
        f"{sets_words(manifest.sets, manifest.sets_kind)} of {manifest.n_rows:,} rows × "
        f"{len(loaded.schema.declared)} columns; method {escape(manifest.method)}; number of rows "
        f"{escape(manifest.rows_told)}"
    )
    if manifest.contradiction:
        out.print(escape(manifest.contradiction))
    if manifest.minimum_count is not None:
        out.print(escape(manifest.minimum_count.told))
    out.print(f"\n{escape(promise.statement)}\n")
    if (form := loaded.schema.members) is not None:
        out.print(f"{escape(form.told)} Both are in linked/.\n", soft_wrap=True)
    if loaded.schema.unit.told:
        out.print(f"{escape(loaded.schema.unit.told)}\n", soft_wrap=True)
    if loaded.signed_by:
        out.print(f"Signed by the public key {loaded.signed_by}\n", soft_wrap=True)
    if loaded.not_compared:
        out.print(
            f"Rendered by another version and not compared: {', '.join(loaded.not_compared)}. The "
            "promise above is that of the manifest; what else they say is the publisher's word.\n"
        )
    ledger = Table(title="Ledger: every step that touched the rows")
    for heading in ("step", "mechanism", "asked", "cost", "noise"):
        ledger.add_column(heading, overflow="fold")
    for entry in manifest.ledger[:MOST_ROWS]:
        unit = next(name for name in SIGNS if name in entry)
        cost = f"{SIGNS[unit]} = {entry[unit] or '∞'}"
        ledger.add_row(
            str(entry["number"]),
            escape(entry["mechanism"]),
            escape(entry["query"]),
            cost,
            escape(entry["noise"]),
        )
    out.print(ledger)
    if len(manifest.ledger) > MOST_ROWS:
        out.print(f"… and {len(manifest.ledger) - MOST_ROWS} more steps (all with --json).")
    out.print(answers_table(loaded))
    doubtful = [public for public in promise.public_inputs if public.note]
    for public in doubtful:
        out.print(escape(f"Doubtful public input: {public.what}: {public.note}"))


def answers_table(loaded: Release) -> Table:
    """Tabulate which questions are answered with error bars, and how exactly."""
    from understudy.inference.answered_questions import answered_kinds, assumed_words

    caption = assumed_words(loaded.schema)
    table = Table(title="What it answers with error bars", caption=caption, caption_justify="left")
    for heading in ("question", "answered for", "expected half-width"):
        table.add_column(heading, overflow="fold")
    for asked in answered_kinds(loaded):
        line, n = asked.kind, len(asked.answered)
        part = "" if asked.is_complete else f" that were asked about, of {line.possible:,}"
        of = line.possible if asked.is_complete else asked.asked
        many = f"{n:,} of {of:,} {line.what}{part}" if n else "–"
        lost = f", {len(line.found.lost):,} lost in the noise" if line.found.lost else ""
        wide = f", {len(asked.wide):,} too wide to count" if asked.wide else ""
        refused = f", {len(asked.refused):,} refused" if asked.refused else ""
        names = [f"{one.kind} {one.formula}" for one in list(asked.answered.values())[:_MOST_NAMED]]
        more = " …" if n > _MOST_NAMED else ""
        listed = f"\n{escape(', '.join(names) + more)}" if names else ""
        shown = f"{many}{lost}{wide}{refused}{listed}"
        table.add_row(escape(line.question), shown, escape((line.width if n else "") or "–"))
    return table


def show_end(how: str, what: str) -> None:
    """Show how a run ended that somebody ended, and what is left of it."""
    Screen(stderr=True, highlight=False).print(escape(f"{how}; {what}"), soft_wrap=True)


def methods(rows: tuple[Facts, ...]) -> None:
    """The methods, a few lines each."""
    for facts in rows:
        out.print(f"[bold]{facts.name}[/bold]: {escape(facts.title)}")
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(width=13, justify="right", style="dim")
        table.add_column(overflow="fold")
        for heading in ("guarantee", "data", "cost", "paper"):
            table.add_row(heading, escape(getattr(facts, heading)))
        out.print(table)


def method(facts: Facts, options: Sequence[Option]) -> None:
    """One method, and what each of its options means."""
    methods((facts,))
    table = Table(box=None, pad_edge=False, title="Options, as -o NAME=VALUE", title_justify="left")
    for heading in ("option", "value", "default", "meaning"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "option")
    for option in options:
        default = "" if option.default is None else _plain(option.default)
        table.add_row(option.name, *map(escape, (option.type, default, option.meaning)))
    out.print(table)


def _plain(value: object) -> str:
    """A default as it would be given."""
    if isinstance(value, list | tuple | dict):
        return ",".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).lower() if isinstance(value, bool) else str(value)
