"""What of a paper had to be reconstructed, for the page of a study."""

from __future__ import annotations

from understudy_studies.framework.study import TextTable


def reconstructed(*rows: tuple[str, str, str]) -> TextTable:
    """The table of parameters that are not simply taken over: parameter, status, why."""
    return TextTable(
        caption="Parameters that the text of the paper that we have does not show, or only in part",
        headings=("parameter", "status", "why"),
        rows=rows,
        words=3,
    )
