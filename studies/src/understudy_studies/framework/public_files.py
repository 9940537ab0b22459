"""Public files of real rows that some studies compare on, kept outside this house.

Where a file is not at hand, the study that needs it says so and does nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from understudy.errors import StudyError

FOLDER = "UNDERSTUDY_DATA"
"""Environment variable with the folder that holds a folder for each file; by default `shared/data`
beside the checkout."""


def path(folder: str, file: str) -> Path:
    """Where a file is looked for.

    Args:
        folder: folder of the file.
        file: its name.
    """
    beside = Path(__file__).parents[5] / "shared" / "data"
    return Path(os.environ.get(FOLDER, beside)) / folder / file


def require(file: Path, *, instead: str) -> None:
    """See that a file is at hand.

    Args:
        file: where it is looked for.
        instead: name of the study that runs without it.

    Raises:
        StudyError: it is not there.
    """
    if not file.is_file():
        raise StudyError(
            f"This study needs the public file {file.name}, which does not come with Understudy; "
            f"put it into a folder {file.parent.name} and name its parent in {FOLDER}. The study "
            f"{instead} runs without it."
        )
