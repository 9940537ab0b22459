"""Populations and costs for tests, and hands that go past the guards of a ledger."""

import sqlite3
from contextlib import closing
from fractions import Fraction

from understudy.ledger.account import Caps, Cost, Population

REQUEST, RELEASE, JOURNAL = "ab" * 32, "cd" * 32, "ef" * 32


def pure(amount, neighbours="add_remove"):
    return Cost("pure", Fraction(amount), neighbours)


def adults(name="adults", neighbours="add_remove", **caps):
    caps = Caps.of(**(caps or {"epsilon": 3, "delta": "1e-6"}))
    return Population(name, "adult", "census office", neighbours, caps)


def altered(ledger, *statements):
    """Alter the file as its owner can, guards put back: only the chain tells."""
    with closing(sqlite3.connect(ledger.place)) as connection:
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        guards = connection.execute(sql).fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(*statement)
        for _, guard in guards:
            connection.execute(guard)
        connection.commit()
