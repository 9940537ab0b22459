"""Runs of commands that make a release: where their checkpoint is, and what is kept of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from understudy.cli import render
from understudy.cli.app import INTERRUPTED, MACHINE, TERMINATED, Terminated, machine_words
from understudy.errors import CheckpointError, ReleaseError, UnderstudyError, UnsavedError

if TYPE_CHECKING:
    from understudy.workflow.options import Progress
    from understudy.workflow.request import Request


_BYTES_A_VALUE: Final = 8


def hold(context: typer.Context, out: Path) -> None:
    """Hold the place of a release until the command ends, and see that it is fit for one.

    Raises:
        ReleaseError: it is not, or another run holds it.
    """
    from understudy.release.folder import hold_place

    context.with_resource(hold_place(out))


def checkpoint_of(out: Path, request: Request, *, resume: bool) -> Path | None:
    """Choose the checkpoint's place of a release; None where it could not hold what is measured."""
    _require_space(out, request)
    if not request.method.can_resume(request.schema):
        if resume:
            raise CheckpointError(
                f"In this form {request.name} measures more than a checkpoint can hold."
            )
        return None
    return place_beside(out, resume=resume)


def place_beside(out: Path, *, resume: bool) -> Path:
    """Choose where the checkpoint of what goes to a folder is kept.

    Raises:
        CheckpointError: there is one, and it is not asked for, or the other way round.
    """
    from understudy.checkpoint import replay as checkpoints

    place = out.with_suffix(f"{out.suffix}.checkpoint")
    exists = checkpoints.is_checkpoint(place)
    if resume and not exists:
        raise CheckpointError(f"There is no checkpoint {str(place)!r} to go on with.")
    if exists and not resume:
        raise CheckpointError(
            f"An interrupted run left the checkpoint {str(place)!r}. It has spent "
            f"{checkpoints.spent_of(place)}, which counts; go on with it by --resume, or remove it "
            "to begin anew at the same cost once more."
        )
    return place


def _require_space(out: Path, request: Request) -> None:
    """Refuse a disk that has no room for a release of as many rows as are public."""
    from understudy.release.folder import LEAST_SPACE, require_space

    rows = request.schema.n_rows if request.schema.rows == "public" else 0
    values = request.sets * (rows or 0) * len(request.schema.declared)
    require_space(out, LEAST_SPACE + _BYTES_A_VALUE * values)


def note_costs(tell: Progress, out: Path | None, place: Path | None) -> Progress:
    """The listener, which also notes what is spent on the disk where no checkpoint does.

    Args:
        tell: of a run.
        out: of its release.
        place: of its checkpoint.
    """
    if out is None or place is not None:
        return tell
    from understudy.release.folder import note_spending

    def note_and_tell(stage: str, done: int, total: int) -> None:
        if stage.startswith("Measuring") or (stage.startswith("Reading") and done):
            note_spending(out, stage.partition(", ")[2].removesuffix(" spent") or "a part of ε")
        tell(stage, done, total)

    return note_and_tell


def remove(place: Path) -> None:
    """Remove the checkpoint of a release that is written."""
    from understudy.checkpoint import replay as checkpoints

    checkpoints.remove(place)


@contextmanager
def announce_kept(place: Path | None, out: Path | None) -> Iterator[None]:
    """Say what is spent and what is kept of a run that does not come to its end.

    Args:
        place: of its checkpoint.
        out: of its release.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        by_hand = isinstance(error, KeyboardInterrupt)
        how = "Interrupted" if by_hand else "Ended by SIGTERM"
        render.show_end(how, _describe_remains(error, place, out))
        sys.exit(INTERRUPTED if by_hand else TERMINATED)
    except CheckpointError:
        raise
    except (UnderstudyError, *MACHINE) as error:
        if (told := _add_spending(error, place)) is error:
            raise
        raise told from None


@contextmanager
def confirm_release(out: Path | None) -> Iterator[None]:
    """Say that the release stands if it is only that it cannot be told of."""
    try:
        yield
    except OSError as error:
        if out is None:
            raise
        raise ReleaseError(
            f"The release is written to {str(out)!r} and whole, but what there is to say of it "
            f"cannot be shown. {machine_words(error)}"
        ) from None


def _describe_remains(error: BaseException, place: Path | None, out: Path | None) -> str:
    """Describe what is left of a run that somebody ended."""
    if out is not None and out.is_dir() and any(out.iterdir()):
        return f"the release {str(out)!r} was written by then, and is whole."
    if spent := _read_spending(place):
        return (
            f"no release was written. {spent} was spent, which counts, and what was paid for is "
            f"kept in {str(place)!r}: add --resume to the same command to go on, on the same rows."
        )
    return " ".join(["no release was written.", *_notes(error)])


def _add_spending(error: Exception, place: Path | None) -> Exception:
    """The error, with what is spent and kept; the same where there is nothing to add."""
    said = str(error) if isinstance(error, UnderstudyError) else machine_words(error)
    if isinstance(error, UnsavedError):
        said = f"{error.what}."
    if spent := _read_spending(place):
        return CheckpointError(
            f"{said} {spent} was spent, which counts; what was paid for is kept in "
            f"{str(place)!r}; go on by --resume."
        )
    if isinstance(error, UnsavedError):
        return ReleaseError(
            f"{said} Its budget is spent and, since this form keeps no checkpoint, nothing of it "
            "is left."
        )
    if isinstance(error, UnderstudyError):
        return error
    return UnderstudyError(" ".join([said, *_notes(error)]))


def _read_spending(place: Path | None) -> str:
    """Read what the checkpoint has spent; "" without one."""
    from understudy.checkpoint import replay as checkpoints

    return checkpoints.spent_of(place) if place and checkpoints.is_checkpoint(place) else ""


def _notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))
