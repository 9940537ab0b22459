"""Streams that no text and no reader can end: encodings without our signs, pipes that close."""

from __future__ import annotations

import io
import os
import sys

from rich.console import Console


class Screen(Console):
    """A console that goes on in silence when whoever read it has gone, as `| head` does.

    What a command does besides, such as a release that is paid for, must not end with its reader.
    """

    def on_broken_pipe(self) -> None:
        """Send what follows nowhere."""
        self.quiet = True
        silence(self.file.fileno())


def silence(stream: int) -> None:
    """Let an open stream lead nowhere.

    Args:
        stream: its number.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream)
    finally:
        os.close(nowhere)


def tolerate() -> None:
    """Have signs that an encoding lacks written by their numbers, where they would be an error.

    A stream that is closed leads nowhere from here on: the next file to be opened would get its
    number, and what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write what waits, so that a pipe that is closed says nothing when the process ends.

    Raises:
        OSError: it cannot be written.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except BrokenPipeError:
                silence(stream.fileno())


def is_terminal() -> bool:
    """Whether somebody looks at the output, and no file or pipe keeps it."""
    return sys.stdout is not None and sys.stdout.isatty()


def holds(text: str) -> bool:
    """Whether the output can show a text as it is.

    Args:
        text: to be shown.
    """
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
