"""Words, and the draws made of them: uniform, never repeated, never copied."""

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import chisquare

from understudy.dp import randomness
from understudy.dp.randomness import Randomness, SecureRandomness, SeededRandomness

# Every chi-square test below rejects a correct implementation with probability 1e-6; seeds are
# fixed, so a test that passes once passes always.
FALSE_ALARM = 1e-6
TOP_WORD = 2**64 - 1


class Scripted(Randomness):
    """Gives exactly the words it was told to give."""

    secure = False

    def __init__(self, *script: int) -> None:
        self.script = list(script)

    def words(self, n):
        served, self.script = self.script[:n], self.script[n:]
        assert len(served) == n, "script exhausted"
        return np.array(served, dtype=np.uint64)


def test_only_the_secure_source_calls_itself_secure():
    assert SecureRandomness().secure
    assert not SeededRandomness(1).secure


def test_seeded_streams_are_reproducible_and_differ_by_seed():
    assert np.array_equal(SeededRandomness(5).words(100), SeededRandomness(5).words(100))
    assert not np.array_equal(SeededRandomness(5).words(100), SeededRandomness(6).words(100))


def test_uniforms_are_53_bit_numbers_strictly_between_0_and_1():
    low, high, one = Scripted(1 << 11, TOP_WORD, 1 << 63).uniforms(3)
    assert (low, high, one) == (2.0**-53, 1 - 2.0**-53, 0.5)


def test_a_zero_uniform_is_drawn_again():
    assert Scripted(0, 1 << 63, 5, 3 << 62).uniforms(2).tolist() == [0.75, 0.5]


@pytest.mark.parametrize("source", [SecureRandomness(), SeededRandomness(2)])
def test_words_have_fair_bits(source):
    bits = np.unpackbits(source.words(50_000).view(np.uint8)).reshape(-1, 64)
    # 64 binomial counts, 7 standard deviations: false alarm below 64 * 3e-12.
    assert np.all(np.abs(bits.sum(axis=0, dtype=np.int64) - 25_000) < 7 * np.sqrt(50_000) / 2)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1000, 3 * 2**60])
def test_below_is_uniform(bound):
    draws = SeededRandomness(bound % 97).below(bound, 60_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert draws.max() < bound
    cells = min(bound, 30)
    observed = np.bincount((draws.astype(object) * cells // bound).astype(int), minlength=cells)
    edges = -(-np.arange(cells + 1).astype(object) * bound // cells)
    expected = 60_000 * np.diff(edges).astype(float) / bound
    assert cells == 1 or chisquare(observed, expected).pvalue > FALSE_ALARM


def test_below_throws_incomplete_blocks_away():
    # 2**64 = 3k + 1: only the very last word belongs to no complete block of three.
    assert Scripted(TOP_WORD, TOP_WORD - 1, TOP_WORD, 4).below(3, 2).tolist() == [1, 2]
    # For a power of two every block is complete.
    assert Scripted(TOP_WORD).below(2**62, 1).tolist() == [2**62 - 1]


@pytest.mark.parametrize("bound", [0, -1, 2**62 + 1])
def test_below_refuses_other_bounds(bound):
    with pytest.raises(ValueError, match="bound"):
        SeededRandomness(1).below(bound, 1)


def test_permutations_are_equally_likely():
    source = SeededRandomness(3)
    index = {order: i for i, order in enumerate(permutations(range(4)))}
    seen = np.zeros(24)
    for _ in range(12_000):
        seen[index[tuple(source.permutation(4).tolist())]] += 1
    assert chisquare(seen).pvalue > FALSE_ALARM


def test_permutation_redraws_all_words_when_two_collide():
    assert Scripted(7, 1, 7, 3, 1, 2).permutation(3).tolist() == [1, 2, 0]


def test_empty_draws():
    source = SecureRandomness()
    assert source.words(0).size == 0
    assert source.uniforms(0).size == 0
    assert source.below(7, 0).size == 0
    assert source.permutation(0).size == 0
    assert source.permutation(1).tolist() == [0]


def test_the_secure_stream_is_aes_256_in_counter_mode(monkeypatch):
    entropy = {32: bytes(range(32)), 16: b"\xff" * 16}
    monkeypatch.setattr(os, "urandom", entropy.__getitem__)
    words = SecureRandomness().words(10)
    block = Cipher(algorithms.AES(entropy[32]), modes.ECB()).encryptor()
    counters = [int.from_bytes(entropy[16], "big") + i & (2**128 - 1) for i in range(5)]
    expected = b"".join(block.update(c.to_bytes(16, "big")) for c in counters)
    assert words.tobytes() == expected


def test_the_key_is_renewed(monkeypatch):
    monkeypatch.setattr(randomness, "_BYTES_PER_KEY", 1 << 16)
    keys = []
    monkeypatch.setattr(os, "urandom", lambda n: keys.append(n) or bytes([len(keys)]) * n)
    words = SecureRandomness().words(5 * 8192)
    assert keys.count(32) >= 1
    source = SecureRandomness()
    words = np.concatenate([source.words(4096) for _ in range(5)])
    assert keys.count(32) >= 4
    assert np.unique(words).size == words.size


def test_no_word_is_given_twice_whatever_the_request_sizes():
    source = SecureRandomness()
    sizes = np.random.default_rng(1).integers(0, 3000, 200)
    words = np.concatenate([source.words(int(n)) for n in sizes])
    assert np.unique(words).size == sizes.sum()


def test_served_words_are_erased_from_the_buffer_and_not_shared():
    source = SecureRandomness()
    first = source.words(100)
    assert not np.isin(first, source._stream._buffer).any()
    kept = first.copy()
    source.words(5000)
    assert np.array_equal(first, kept)


def test_threads_never_share_words():
    source = SecureRandomness()
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: source.words(37), range(2000)))
    words = np.concatenate(parts)
    assert np.unique(words).size == words.size


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy])
def test_the_secure_source_cannot_be_copied(attempt):
    with pytest.raises(TypeError, match="copied or pickled"):
        attempt(SecureRandomness())


def test_the_secure_source_shows_nothing():
    assert repr(SecureRandomness()) == str(SecureRandomness()) == "SecureRandomness(<redacted>)"


FORK = """
import os
from understudy.dp.randomness import SecureRandomness
source = SecureRandomness()
source.words(10)                      # both processes hold the rest of this buffer
def report(words):
    return words.astype("<u8").tobytes()
readers = []
for _ in range(2):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, report(source.words(50)))
        os._exit(0)
    os.wait()
    readers.append(os.read(reader, 400))
readers.append(report(source.words(50)))
seen = {part[i:i + 8] for part in readers for i in range(0, 400, 8)}
assert [len(part) for part in readers] == [400] * 3
assert len(seen) == 150, "a forked process repeated the stream"
print("distinct")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_draws_other_words_than_its_parent_and_siblings():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "distinct", done.stderr


@pytest.mark.parametrize("position", [0, 1, 5, 4097])
def test_a_seeded_source_goes_on_where_another_one_stopped(position):
    one, two = SeededRandomness(3), SeededRandomness(3)
    one.words(position)
    two.words(9)
    two.go_to(position)
    assert one.position == two.position == position
    assert two.words(10).tolist() == one.words(10).tolist()
    assert two.position == position + 10
