"""Queries of databases, for users of the package and for commands."""

from understudy.engine.reading.databases.query import Query

__all__ = ["Query"]
