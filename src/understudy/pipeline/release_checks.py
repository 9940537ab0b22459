"""What refuses a release before its rows are read: arguments, permissions, places."""

from __future__ import annotations

from pathlib import Path

from understudy.arguments import path_of, require_function, require_whole
from understudy.errors import CheckpointError, MethodError, NotPrivateError
from understudy.inference.declared_analyses import ExpectedAnswers
from understudy.pipeline.interruption import Progress
from understudy.pipeline.planning import expected_of
from understudy.pipeline.request import Request
from understudy.privacy.internal import Confide
from understudy.release import Release
from understudy.release.decoding import FrameKind, require_frame


def require_possible(request: Request, seed: int | None, *, allow_nonprivate: bool) -> None:
    """Refuse what does not fit the schema or is not permitted, before rows are read.

    Args:
        request: what is asked for.
        seed: of the sampling.
        allow_nonprivate: whether exact statistics may be published.

    Raises:
        MethodError: what does not fit, or a seed where drawing is the mechanism.
        NotPrivateError: a method without a guarantee, without permission.
    """
    request.tables()
    request.setup()
    if not (request.method.private or allow_nonprivate):
        raise NotPrivateError(
            f"The method {request.name} {request.method.unprotected}; it needs allow_nonprivate "
            "(--allow-nonprivate), and its release is stamped not private."
        )
    if seed is not None and request.draws_records:
        raise MethodError(
            f"In this form of {request.name}, drawing records is the privacy "
            "mechanism, so no seed is accepted; leave seed out."
        )


def expected_in(
    request: Request, assume_rows: int | None, like: Release | None, *, secure: bool
) -> ExpectedAnswers | None:
    """What the manifest says was expected; never by records without a guarantee, if it has one.

    Args:
        request: with the declared analyses.
        assume_rows: number of records.
        like: an earlier release that stands for the population.
        secure: whether the noise will be from a secure source.

    Raises:
        NotPrivateError: an earlier release without a guarantee.
    """
    promised = like is None or (like.guarantee.epsilon is not None and like.manifest.secure)
    if secure and not promised:
        raise NotPrivateError(
            "The release in like is not private, and what is expected by it stands in the "
            "manifest; leave like out, and give it to plan alone."
        )
    return expected_of(request, assume_rows, like)


def require_arguments(
    seed: int | None,
    insecure_noise_seed: int | None,
    frame: FrameKind | None,
    progress: Progress | None,
    confide: Confide | None,
) -> None:
    """Refuse what would break something after the budget was spent.

    Args:
        seed: of the sampling, and so are the others arguments of `synthesize`.
        insecure_noise_seed: of the noise.
        frame: kind of data frame.
        progress: that is told.
        confide: that is told.

    Raises:
        MethodError: not of its type.
        ReleaseError: an unknown kind of data frame.
    """
    for name, given in (("seed", seed), ("insecure_noise_seed", insecure_noise_seed)):
        if given is not None:
            require_whole(name, given, MethodError, least=0)
    if frame is not None:
        require_frame(frame)
    require_function("progress", progress, MethodError)
    require_function("confide", confide, MethodError)


def resumable_place(checkpoint: str | Path, request: Request) -> Path:
    """The folder of a checkpoint.

    Args:
        checkpoint: as it was given.
        request: whose steps it is to hold.

    Raises:
        MethodError: it measures more than a checkpoint can hold.
        CheckpointError: not a path.
    """
    if not request.method.can_resume(request.schema):
        raise MethodError(
            f"In this form the method {request.name} measures more than a checkpoint can hold; "
            "leave checkpoint out."
        )
    return path_of("checkpoint", checkpoint, CheckpointError)
