"""What a study tells, as one self-contained HTML page and as Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import escape

from understudy.report.text import clean, number, prose
from understudy_studies.framework.charts import RenderedChart
from understudy_studies.framework.study import PageText, RunRecord, Study, TextTable


def html(
    study: Study[Any], page_text: PageText, run_record: RunRecord, drawn: Sequence[RenderedChart]
) -> str:
    """The page: what was done, parameters, findings, figures, tables."""
    template = _environment().get_template("study.html.jinja")
    return template.render(study=study, page_text=page_text, run_record=run_record, drawn=drawn)


def markdown(study: Study[Any], page_text: PageText, run_record: RunRecord) -> str:
    """The same without figures, for the documentation."""
    parts = [
        "<!-- Written by the study; do not edit. -->",
        f"# {study.title}",
        page_text.lead,
        f"Made by `{run_record.command}` (Understudy {run_record.software}): "
        f"{run_record.repetitions_words} repetitions at each of {run_record.scenarios:,} "
        f"scenarios. Design: {study.source}",
        "## Findings",
        "\n".join(f"* {finding}" for finding in page_text.findings),
        *_comparison(page_text),
        "## What was done",
        *page_text.done,
        "\n".join(f"* **{name}**: {value}" for name, value in page_text.parameters.items()),
        "## Tables",
        *(markdown_table(grid) for grid in page_text.tables),
    ]
    return "\n\n".join(parts) + "\n"


def _comparison(page_text: PageText) -> tuple[str, ...]:
    if page_text.comparison is None:
        return ()
    return "## Beside the paper", markdown_table(page_text.comparison)


def markdown_table(grid: TextTable) -> str:
    """A table in Markdown, under its caption; what is doubtful in bold."""
    rule = ["---"] * grid.words + ["---:"] * (len(grid.headings) - grid.words)
    rows = [
        [f"**{text}**" if (i, j) in grid.doubtful else text for j, text in enumerate(row)]
        for i, row in enumerate(grid.rows)
    ]
    lines = [_line(list(grid.headings)), _line(rule), *(_line(row) for row in rows)]
    table = "\n".join(lines)
    if grid.fold:
        return f"<details><summary>{escape(grid.caption)}</summary>\n\n{table}\n\n</details>"
    return f"**{grid.caption}**\n\n{table}"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        # Frame and style sheet are those of the other pages.
        loader=ChoiceLoader(
            [
                PackageLoader("understudy_studies", "framework"),
                PackageLoader("understudy", "report"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean,
    )
    environment.filters |= {"number": number, "prose": prose}
    return environment
