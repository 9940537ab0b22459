"""XML of strangers: no entity grows or fetches, no nesting or size brings the reader down."""

import pytest

import understudy as us
from understudy.errors import SchemaError
from understudy.metadata import source
from understudy.metadata.source import CodebookFile

DOCTYPE = "<!DOCTYPE codeBook [{}]><codeBook><dataDscr><var name='{}'/></dataDscr></codeBook>"


def parsed(folder, text, **options):
    path = folder / "a.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return source.parse_xml(CodebookFile.read(path), **options)


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/hostname">',
        '<!ENTITY % a SYSTEM "http://localhost/x.dtd"> %a;',
    ],
)
def test_entities_are_refused_where_they_are_declared(tmp_path, entities):
    with pytest.raises(SchemaError, match=r"line 1 .*declares entities"):
        parsed(tmp_path, DOCTYPE.format(entities, "x"))


def test_a_document_type_elsewhere_is_not_fetched(tmp_path):
    text = (
        '<!DOCTYPE codeBook SYSTEM "http://localhost:1/x.dtd"><codeBook a="1">x &lt; y</codeBook>'
    )
    root = parsed(tmp_path, text)
    assert (root.name, root.text, root.get("a")) == ("codeBook", "x < y", "1")


def test_depth_and_number_are_limited(tmp_path, monkeypatch):
    with pytest.raises(SchemaError, match="nested too deeply"):
        parsed(tmp_path, "<a>" * 5000 + "</a>" * 5000)
    monkeypatch.setattr(source, "_MOST_ELEMENTS", 10)
    with pytest.raises(SchemaError, match=r"line 3 .*too many elements"):
        parsed(tmp_path, "<a>\n\n" + "<b/>" * 20 + "</a>")


def test_size_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_BYTES", 2**20)
    path = tmp_path / "a.xml"
    path.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(SchemaError, match="more than 1 MiB"):
        us.read_codebook(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_a_file_declares(tmp_path, encoding):
    text = f"<?xml version='1.0' encoding='{encoding}'?><a><b>Größe</b></a>"
    assert parsed(tmp_path, text.encode(encoding)).text_at("b") == "Größe"


def test_bytes_that_do_not_fit_the_encoding_name_their_line(tmp_path):
    with pytest.raises(SchemaError, match=r"line 2 .*UTF-8"):
        parsed(tmp_path, b"<a>\n\xff\xfe</a>")


def test_what_is_skipped_is_in_no_tree_at_any_depth(tmp_path):
    text = "<a><s><b>1</b><s>2</s></s><c><n:s>3</n:s>4</c></a>"
    root = parsed(tmp_path, text, skipped={"s"})
    assert root.whole_text == "4"
    assert [one.name for one in root.below("b", "c", "s")] == ["c"]


def test_paths_and_order(tmp_path):
    root = parsed(tmp_path, "<a><b><c>1</c></b><b><c> 2  x </c></b></a>")
    assert [one.text for one in root.all("b", "c")] == ["1", "2  x"]
    assert root.text_at("b", "c") == "1"
    assert root.first("d") is None
    assert [one.line for one in root.below("c")] == [1, 1]
