"""Workbooks for tests, written cell by cell, since a library would make each cell well-formed."""

import zipfile

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def text(value):
    """A cell of text."""
    return lambda place: f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'


def number(value):
    """A cell of a number; whatever stands there in its place."""
    return lambda place: f'<c r="{place}"><v>{value}</v></c>'


def day(value):
    """A number that is shown as a day."""
    return lambda place: f'<c r="{place}" s="1"><v>{value}</v></c>'


def truth(value):
    """A truth value, 0 or 1."""
    return lambda place: f'<c r="{place}" t="b"><v>{value}</v></c>'


def fault(value):
    """An error, such as #N/A."""
    return lambda place: f'<c r="{place}" t="e"><v>{value}</v></c>'


def write_workbook(path, rows, names=("Sheet1",)):
    """Write rows of cells (None for an empty one) to each sheet of a new workbook."""
    lines = []
    for k, row in enumerate(rows, 1):
        cells = (cell(f"{chr(65 + j)}{k}") for j, cell in enumerate(row) if cell is not None)
        lines.append(f'<row r="{k}">{"".join(cells)}</row>')
    sheet = f"<worksheet {MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"
    places = [f"worksheets/sheet{k}.xml" for k in range(1, len(names) + 1)]
    kinds = "".join(
        f'<Override PartName="/xl/{place}" ContentType="{SHEET}.worksheet+xml"/>'
        for place in places
    )
    links = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/worksheet" Target="{place}"/>'
        for k, place in enumerate(places)
    )
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k + 1}" r:id="r{k}"/>' for k, name in enumerate(names)
    )
    styles = (
        f'<styleSheet {MAIN}><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{SHEET}.styles+xml"/>'
            f"{kinds}</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" '
            f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{links}'
            f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        archive.writestr("xl/styles.xml", styles)
        for place in places:
            archive.writestr(f"xl/{place}", sheet)
