"""Clusters of records in random groups, by a keyed hash of what each record says. CONFIDENTIAL.

A column with `random_groups = true` names the cluster that a record was drawn with, such as its
primary sampling unit. What a record gets is one of the levels, by a keyed hash of that name. The
key is drawn by secure randomness, once for a process: it is independent of all rows, and all
measurements of a run see the same groups.

**What one record can change.** For a fixed key the group of a record is a function of its own name
alone. Two tables that differ by one record therefore have coded tables that differ by one record,
and so have mixtures over keys that are independent of the rows. Every sensitivity stays what it is.
All records of a cluster are in one group, which is what variances need.

A name is read by itself, whatever type its column has: 7, 7.0, "7" and "007" are one cluster, since
readers of files make numbers of texts as long as every row allows it. Absent names are one cluster.

Sources: random groups are those of Wolter (2007), "Introduction to Variance Estimation", chapter 2;
keyed hashes those of Aumasson et al. (2013), "BLAKE2". `tests/data/test_random_groups.py` adds,
removes and retypes records.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.frames import as_text, is_text, plain
from understudy.data.values import as_floats, numbers_of
from understudy.schema.base import EXACT_INTEGER


@cache
def _key() -> bytes:
    """Draw the key of this process."""
    return secrets.token_bytes(32)


def random_groups(values: pl.Series, groups: int, key: bytes | None = None) -> NDArray[np.int64]:
    """The random group of each record, from 0; shape (n,).

    Args:
        values: names of clusters, of any type, shape (n,).
        groups: how many groups there are.
        key: for tests; else the one of this process, drawn by secure randomness.
    """
    names, places = np.unique(_names(plain(values.alias("values"))), return_inverse=True)
    secret = _key() if key is None else key
    found = [int.from_bytes(_digest(name, secret), "big") % groups for name in names]
    return np.array(found, dtype=np.int64)[places]


def _digest(name: str, key: bytes) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()


def _names(values: pl.Series) -> NDArray[np.str_]:
    """Names as texts, each by itself: numbers in one way of writing, whatever type says them."""
    if values.dtype.is_numeric():
        numbers, texts = as_floats(values), np.full(len(values), "")
    else:
        frame = values.to_frame("values")
        text = frame.select(as_text(pl.col("values"), values.dtype).cast(pl.String)).to_series()
        text = text.fill_null("")
        plain_texts = is_text(values.dtype)
        numbers = numbers_of(text) if plain_texts else np.full(len(text), np.nan)
        texts = text.to_numpy().astype(str)
    whole = np.isfinite(numbers) & (np.abs(numbers) <= EXACT_INTEGER) & (numbers % 1 == 0)
    known = np.where(whole, numbers, 0).astype(np.int64).astype(str)
    others = np.array([repr(float(number)) for number in numbers[~whole]], dtype=str)
    width = max(known.dtype.itemsize, others.dtype.itemsize, texts.dtype.itemsize) // 4 or 1
    found = known.astype(f"<U{width}")
    found[~whole] = np.where(np.isnan(numbers[~whole]), texts[~whole], others)
    return found
