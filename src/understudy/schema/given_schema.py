"""A schema as it is given to a public function: the schema itself, or the path of its file."""

from __future__ import annotations

from pathlib import Path

from understudy.arguments import kind_of
from understudy.errors import SchemaError
from understudy.schema.schema import Schema


def given_schema(schema: object) -> Schema:
    """The schema, read from its file if a path is given.

    Raises:
        SchemaError: neither a schema nor a path, or the file cannot be read or is no schema.
    """
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | Path):
        return Schema.load(schema)
    raise SchemaError(
        "The schema must be a Schema, or the path of its TOML file, not "
        f"{kind_of(schema)}; the data come first, then the schema."
    )
