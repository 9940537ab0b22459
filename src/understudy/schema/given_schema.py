"""A schema as a public function is given it (itself, or the path of its file); and a safe copy."""

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


def private_copy(schema: Schema) -> Schema:
    """An equal schema of which nothing is shared, made of the entries alone.

    What was put beside the entries (a function in the place of a method, a value in the place of
    one that is computed once) is left behind.
    """
    return Schema.model_validate(Schema.__pydantic_serializer__.to_python(schema, by_alias=True))
