"""The paper that these studies follow, and what of it had to be reconstructed."""

from __future__ import annotations

from understudy.studies.study import Grid

SOURCE = (
    "Bowen & Liu (2020), “Comparative study of differentially private data synthesis methods”, "
    "Statistical Science 35, 280-307, arXiv:1602.01063"
)

PAPER_MODE = (
    "Noise is that of the paper: continuous Laplace noise in double precision, with sensitivities "
    "for the removal of a record although the number of records is public. A release in strict "
    "mode has exact discrete noise, and sensitivities that fit its neighbours; its guarantee is "
    "the stated one, and the noise of a count is twice as large."
)


def reconstructed(*rows: tuple[str, str, str]) -> Grid:
    """The table of parameters that are not simply taken over: parameter, status, why."""
    return Grid(
        caption="Parameters that the text of the paper that we have does not show, or only in part",
        headings=("parameter", "status", "why"),
        rows=rows,
        words=3,
    )
