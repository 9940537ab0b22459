"""Random streams of a chunk: one for each purpose, all from the seed of the chunk."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from understudy.dp.randomness import SeededRandomness


@dataclass(frozen=True)
class Streams:
    """Streams that do not move when another method or budget joins the study.

    Attributes:
        seed: seed of the chunk, at least 0.
    """

    seed: int

    def generator(self, *purpose: object) -> np.random.Generator:
        """For samples and post-processing."""
        return np.random.Generator(np.random.SFC64(self._sequence("generator", *purpose)))

    def randomness(self, *purpose: object) -> SeededRandomness:
        """For privacy noise: the words that a release would take from its secure source."""
        words = self._sequence("randomness", *purpose).generate_state(4, np.uint32)
        return SeededRandomness(int.from_bytes(words.astype("<u4").tobytes(), "little"))

    def repetitions(self, n: int) -> Iterator[Streams]:
        """Streams of their own for each repetition of a chunk."""
        for k in range(n):
            yield Streams(int(self.generator("repetition", k).integers(2**63)))

    def _sequence(self, *purpose: object) -> np.random.SeedSequence:
        name = "\0".join(map(str, purpose)).encode()
        return np.random.SeedSequence([self.seed, zlib.crc32(name)])
