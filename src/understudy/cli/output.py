"""Where the output of commands goes: JSON on standard output, texts into new files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from understudy.errors import MethodError


def print_json(content: Any) -> None:
    """Print plain data as JSON on standard output."""
    Console(soft_wrap=True, highlight=False).out(json.dumps(content, indent=2, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """Write a text.

    Raises:
        MethodError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MethodError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def require_internal_place(out: Path, release: Path | None = None) -> None:
    """An internal page never goes into its release, if it has one, and replaces nothing."""
    try:
        inside = release is not None and out.resolve().is_relative_to(release.resolve())
        taken = out.exists()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if inside:
        raise MethodError(
            f"The page {str(out)!r} is internal and cannot go into the release; "
            "choose another place."
        )
    if taken:
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    if not out.absolute().parent.is_dir():
        raise MethodError(f"The folder of {str(out)!r} does not exist; create it first.")
