"""Runs of commands that make a release: where their checkpoint is, and what is kept of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.app import INTERRUPTED
from understudy.cli.terminal import release_text
from understudy.errors import CheckpointError, UnderstudyError

if TYPE_CHECKING:
    from understudy.pipeline.request import Request


def checkpoint_of(out: Path, request: Request, *, resume: bool) -> Path | None:
    """Where the checkpoint of a release is kept; None where it could not hold what is measured."""
    from understudy.privacy.checkpoint import journal as checkpoints

    if not request.method.can_resume(request.schema):
        if resume:
            raise CheckpointError(
                f"In this form {request.name} measures more than a checkpoint can hold."
            )
        return None
    place = (out if out.name else out.resolve()).with_suffix(f"{out.suffix}.checkpoint")
    exists = checkpoints.is_checkpoint(place)
    if resume and not exists:
        raise CheckpointError(f"There is no checkpoint {str(place)!r} to go on with.")
    if exists and not resume:
        raise CheckpointError(
            f"An interrupted run left the checkpoint {str(place)!r}, and what it has spent counts; "
            "go on with it by --resume, or remove it."
        )
    return place


def remove(place: Path) -> None:
    """Remove the checkpoint of a release that is written."""
    from understudy.privacy.checkpoint import journal as checkpoints

    checkpoints.remove(place)


@contextmanager
def keeping(place: Path | None) -> Iterator[None]:
    """Say what is kept of a run that does not come to its end."""
    from understudy.privacy.checkpoint import journal as checkpoints

    try:
        yield
    except KeyboardInterrupt:
        if place is None or not checkpoints.is_checkpoint(place):
            raise
        release_text.synthesis_interrupted(place)
        sys.exit(INTERRUPTED)
    except UnderstudyError as error:
        if isinstance(error, CheckpointError) or not (place and checkpoints.is_checkpoint(place)):
            raise
        raise CheckpointError(
            f"{error} What was paid for is kept in {str(place)!r}; go on by --resume."
        ) from None
