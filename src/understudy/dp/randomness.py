"""Where randomness comes from: 64-bit words, and what is made of them exactly.

Privacy noise is only as good as its bits. `SecureRandomness` expands operating-system entropy with
AES-256 in counter mode; `SeededRandomness` is for tests and simulation studies, and says so
(``secure`` is False), so that a release can refuse it. Both give words; every other draw is
derived from words here, without any rounding that would make one outcome likelier than another.

**Which process this is, also where numbers of processes repeat.**

What must not be used twice (a stream of noise, a budget) belongs to the process that made it. A
forked child has a copy of it. Numbers tell the child from its parent but for two cases: a number
that is used again, and a child in a new PID namespace, in which counting starts again. So forks are
also counted by the interpreter itself: it calls back in each child before any other code runs. The
number is kept beside the count, for forks that the interpreter does not see.

**TRUSTED BASE 2: bits, distributions, exact samplers, calibration.**
"""

import os
import threading
from abc import ABC, abstractmethod
from typing import ClassVar, Final, Never, SupportsIndex

import numpy as np
from numpy.typing import NDArray

LARGEST_BOUND: Final = 2**62

_BUFFER_WORDS: Final = 4096
_CHUNK_BYTES: Final = 1 << 20
_ZEROS: Final = bytes(_CHUNK_BYTES)
# A counter-mode stream differs from truly random bits only in that its 16-byte blocks never
# repeat. Over 2**26 blocks under one key that is noticed with probability below 2**-76.
_BYTES_PER_KEY: Final = 1 << 30

_forks = [0]


def this_process() -> tuple[int, int]:
    """A value that differs between a process and every fork of it."""
    return os.getpid(), _forks[0]


def _count_fork() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_count_fork)


class Randomness(ABC):
    """A stream of independent, uniform 64-bit words, and the exact draws made of them.

    Attributes:
        secure: Whether the words are unpredictable to an adversary.
    """

    secure: ClassVar[bool]

    @abstractmethod
    def words(self, n: int) -> NDArray[np.uint64]:
        """Return ``n`` fresh uniform words, shape ``(n,)``; no word is ever given twice."""

    def uniforms(self, n: int) -> NDArray[np.float64]:
        """Return ``n`` numbers uniform on {1, …, 2⁵³ - 1} / 2⁵³, shape ``(n,)``.

        The interval is open at both ends and the distribution symmetric about ½, so that both
        ``log(u)`` and ``log1p(-u)`` are finite.
        """
        bits = self.words(n) >> np.uint64(11)
        while (zero := np.flatnonzero(bits == 0)).size:
            bits[zero] = self.words(zero.size) >> np.uint64(11)
        return bits.astype(np.float64) * 2.0**-53

    def below(self, bound: int, n: int) -> NDArray[np.int64]:
        """Return ``n`` integers exactly uniform on {0, …, bound - 1}, shape ``(n,)``.

        A word in the last, incomplete block of ``bound`` words is thrown away and redrawn.

        Args:
            bound: Number of outcomes, between 1 and 2⁶².
            n: Number of draws.

        Raises:
            ValueError: If ``bound`` is out of range.
        """
        if not 1 <= bound <= LARGEST_BOUND:
            raise ValueError("below: expected a bound between 1 and 2**62")
        last = np.uint64(2**64 - 2**64 % bound - 1)
        words = self.words(n)
        while (excess := np.flatnonzero(words > last)).size:
            words[excess] = self.words(excess.size)
        return (words % np.uint64(bound)).astype(np.int64)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return an exactly uniform permutation of {0, …, n - 1}, shape ``(n,)``.

        The order of ``n`` distinct independent words is uniform by symmetry. If two words are
        equal (probability below n²/2⁶⁵) all are redrawn, which keeps the symmetry.
        """
        while True:
            words = self.words(n)
            order = np.argsort(words)
            ranked = words[order]
            if not np.any(ranked[1:] == ranked[:-1]):
                return order.astype(np.int64, copy=False)


class _KeyStream:
    """One AES-256-CTR stream, keyed from the operating system and owned by one process."""

    __slots__ = ("_buffer", "_bytes_left", "_encryptor", "_lock", "_position", "owner")

    def __init__(self) -> None:
        self.owner = this_process()
        self._lock = threading.Lock()
        self._buffer = np.zeros(_BUFFER_WORDS, dtype=np.uint64)
        self._position = _BUFFER_WORDS
        self._rekey()

    def words(self, n: int) -> NDArray[np.uint64]:
        # The lock matters: two threads served the same words would publish the same noise.
        with self._lock:
            if n > _BUFFER_WORDS // 4:
                return self._expand(n)
            if self._position + n > _BUFFER_WORDS:
                self._buffer = self._expand(_BUFFER_WORDS)
                self._position = 0
            part = self._buffer[self._position : self._position + n]
            served = part.copy()
            part[:] = 0  # Words that became noise do not stay in this buffer.
            self._position += n
            return served

    def _rekey(self) -> None:
        # Loaded here: a plan draws nothing.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._encryptor = cipher.encryptor()
        self._bytes_left = _BYTES_PER_KEY

    def _expand(self, n: int) -> NDArray[np.uint64]:
        # `update_into` wants one spare block (15 bytes) behind what it writes: two more words.
        words = np.empty(n + 2, dtype=np.uint64)
        target = words.data.cast("B")
        for start in range(0, 8 * n, _CHUNK_BYTES):
            size = min(_CHUNK_BYTES, 8 * n - start)
            if size > self._bytes_left:
                self._rekey()
            self._encryptor.update_into(
                memoryview(_ZEROS)[:size], target[start : start + size + 15]
            )
            self._bytes_left -= size
        return words[:n]


class SecureRandomness(Randomness):
    """Unpredictable words: AES-256 in counter mode, key and nonce from ``os.urandom``.

    Safe to share between threads. In a forked child (`this_process`) the stream starts
    again from fresh entropy, so parent and child never draw the same noise. It cannot be copied or
    pickled, because a copy would repeat the noise, and it never shows its key.

    Sources:
        NIST SP 800-38A (2001), counter mode; Garfinkel & Leclerc (2020), "Randomness Concerns
        when Deploying Differential Privacy".
    """

    secure: ClassVar[bool] = True
    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream = _KeyStream()

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return ``n`` fresh unpredictable words, shape ``(n,)``."""
        # A whole stream is swapped at once: threads of a forked child that race here use two
        # streams with two keys, never one stream with two locks.
        stream = self._stream
        if stream.owner != this_process():
            stream = self._stream = _KeyStream()
        return stream.words(n)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Never:
        raise TypeError("SecureRandomness cannot be copied or pickled: a copy repeats its noise")

    def __repr__(self) -> str:
        return "SecureRandomness(<redacted>)"


class SeededRandomness(Randomness):
    """Reproducible words (Philox) for tests and simulation studies; **not** private.

    Args:
        seed: Non-negative integer; equal seeds give equal streams.

    Attributes:
        position: Number of words given so far.
    """

    secure: ClassVar[bool] = False
    __slots__ = ("_generator", "_seed", "position")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = np.random.Philox(seed)
        self.position = 0

    def go_to(self, position: int) -> None:
        """Go on behind the first ``position`` words of the stream."""
        self._generator = np.random.Philox(self._seed)
        self._generator.random_raw(position, output=False)
        self.position = position

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next ``n`` words of the seeded stream, shape ``(n,)``."""
        self.position += n
        return np.asarray(self._generator.random_raw(n), dtype=np.uint64)

    def __repr__(self) -> str:
        return f"SeededRandomness({self._seed})"


def randomness_of(insecure_seed: int | None) -> Randomness:
    """Unpredictable words, or, for tests and studies only, those of a seed."""
    return SecureRandomness() if insecure_seed is None else SeededRandomness(insecure_seed)
