"""Compressed texts: unpacked as they are read, and refused with a sentence where they break off."""

import bz2
import gzip
import lzma
import zipfile

import pyarrow as pa
import pytest

from understudy.data import csv
from understudy.data.sources import open_rows
from understudy.errors import DataError

TEXT = b"a,b\n" + b"1,x\n2,y\n" * 400


def zipped(data, *names):
    sink = pa.BufferOutputStream()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names or ("inner/a.csv",):
            archive.writestr(name, data)
    return sink.getvalue().to_pybytes()


def by_arrow(codec):
    def pack(data):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(data)
        return sink.getvalue().to_pybytes()

    return pack


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": by_arrow("zstd"),
    ".lz4": by_arrow("lz4"),
    ".zip": zipped,
}


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_text_is_the_text(ending, tmp_path):
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(PACKERS[ending](TEXT))
    rows = open_rows(path)
    assert rows.count() == 800
    assert rows.lazy.head(2).collect().rows() == [("1", "x"), ("2", "y")]
    text = list(csv.pieces(path, csv.open_text(path)))
    assert b"".join(text) == TEXT


@pytest.mark.parametrize("ending", PACKERS)
def test_one_that_breaks_off_is_one_sentence(ending, tmp_path):
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(PACKERS[ending](TEXT)[:-12])
    with pytest.raises(DataError, match=r"truncated, damaged, or not what its name says"):
        open_rows(path).count()


@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("folder/",)])
def test_an_archive_holds_one_file(names, tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(b"", *names))
    with pytest.raises(DataError, match="files where one is read; unpack it, and name the file"):
        open_rows(path)


def test_what_a_macintosh_adds_to_an_archive_is_none_of_its_files(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(TEXT, "a.csv", "__MACOSX/._a.csv"))
    assert open_rows(path).count() == 800
