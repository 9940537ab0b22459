"""The descriptions that every release has for programs: written, and held against its schema.

All that they say follows from schema and manifest. Whoever changes a folder can make its checksums
fit again, and programs believe these files: so what they say of columns is compared when a release
is read. Releases of earlier versions have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from understudy.release.exports.croissant_export import croissant, require_croissant
from understudy.release.exports.data_package_export import (
    TABLE,
    data_package,
    require_data_package,
    require_table_schema,
    table_schema,
)
from understudy.release.exports.ddi_export import codebook_xml, require_codebook
from understudy.release.exports.variable_facts import variables
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.schema import Schema

CODEBOOK: Final = "codebook.xml"
PACKAGE: Final = "datapackage.json"
CROISSANT: Final = "croissant.json"
METADATA: Final = (CODEBOOK, PACKAGE, TABLE, CROISSANT)


def metadata_texts(
    manifest: Manifest,
    schema: Schema,
    measurements: tuple[Measurement, ...],
    checksums: Mapping[str, str],
    *,
    parted: bool,
) -> dict[str, str]:
    """Name → text of each description.

    Args:
        manifest: how the release was made.
        schema: what is public.
        measurements: that are released.
        checksums: path of each Parquet file of synthetic rows → its SHA-256.
        parted: whether the synthetic tables come in parts.
    """
    columns = variables(schema)
    return {
        CODEBOOK: codebook_xml(manifest, schema, columns),
        PACKAGE: data_package(manifest, schema, measurements, parted=parted),
        TABLE: table_schema(columns),
        CROISSANT: croissant(manifest, schema, columns, checksums),
    }


def require_metadata(folder: Path, files: Mapping[str, str], schema: Schema, n_sets: int) -> None:
    """Refuse descriptions that say something else of columns and files than the release does.

    Args:
        folder: of the release.
        files: path → checksum, as its manifest lists them.
        schema: of the release.
        n_sets: number of synthetic tables.

    Raises:
        Fault: says what does not fit.
    """
    texts = {
        name: (folder / name).read_text(encoding="utf-8") for name in METADATA if name in files
    }
    columns = variables(schema) if texts else ()
    if CODEBOOK in texts:
        require_codebook(texts[CODEBOOK], columns)
    if PACKAGE in texts:
        require_data_package(texts[PACKAGE], n_sets)
    if TABLE in texts:
        require_table_schema(texts[TABLE], columns)
    if CROISSANT in texts:
        require_croissant(texts[CROISSANT], columns, row_files(files))


def row_files(files: Mapping[str, str]) -> dict[str, str]:
    """The files of synthetic rows in Parquet among all files."""
    return {
        name: checksum
        for name, checksum in files.items()
        if name.startswith("synthetic/") and name.endswith(".parquet")
    }
