"""Attacks on the steward's desk: by other pages, other browsers, files that lead elsewhere, and by
what files hold. Each is refused with a sentence, or does no harm."""

import os
import re

import pytest
from starlette.websockets import WebSocketDisconnect

from desk_visits import ORIGIN, Visitor, hidden, refusal
from understudy.desk import door, runs
from understudy.errors import DeskError

pytestmark = pytest.mark.whole

SCHEMA = """
title = "People"
rows = "public"
n_rows = 500

[unit]
description = "one person"

[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"

[columns.age]
kind = "integer"
lower = 0
upper = 120
bins = 10
source = "law"
reviewed = true
"""


@pytest.fixture
def visitor(tmp_path):
    found = Visitor(tmp_path)
    found.new_project().write_text("schema.toml", SCHEMA)
    return found


def test_another_name_for_this_machine_is_refused(visitor):
    for host in ("evil.example", "localhost:8765", "127.0.0.1", "127.0.0.1:8766", ""):
        assert visitor.client.get("/", headers={"host": host}).status_code == 421


def test_another_page_in_the_same_browser_is_refused(visitor):
    form = {"csrf": visitor.app.door.csrf, "folder": "x", "do": "new"}
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8766"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert visitor.client.post("/", data=form, headers=headers).status_code == 403
        assert visitor.client.get("/", headers=headers).status_code == 403
    assert not (visitor.root / "x").exists()


def test_a_link_lets_in_once_and_not_for_long(visitor, monkeypatch):
    path = visitor.path_of_link()
    assert visitor.other().get(path).status_code == 303
    assert visitor.other().get(path).status_code == 403
    late = visitor.path_of_link()
    now = visitor.app.door._clock()
    monkeypatch.setattr(visitor.app.door, "_clock", lambda: now + door.LINK_SECONDS + 1)
    assert visitor.other().get(late).status_code == 403
    assert visitor.other().get("/enter?token=").status_code == 403


def test_nobody_is_let_in_by_no_token_at_all(tmp_path):
    visitor = Visitor(tmp_path)
    assert visitor.other().get("/enter").status_code == 403
    assert visitor.other().get("/enter?token=").status_code == 403


def test_a_form_without_the_mark_of_the_session_is_refused(visitor):
    for form in ({}, {"csrf": ""}, {"csrf": "x"}):
        answer = visitor.client.post("/", data={"folder": "x", "do": "new", **form})
        assert answer.status_code == 403
    assert not (visitor.root / "x").exists()


def test_a_second_browser_takes_over_and_the_first_is_out(visitor):
    second = visitor.other()
    assert second.get("/").status_code == 403
    assert second.get("/", headers={"cookie": "understudy_desk_8765=guess"}).status_code == 403
    assert second.get(visitor.path_of_link()).status_code == 303
    assert second.get("/").status_code == 200
    assert visitor.client.get("/").status_code == 403


def test_a_desk_that_was_forgotten_closes(visitor, monkeypatch):
    now = visitor.app.door._clock()
    monkeypatch.setattr(visitor.app.door, "_clock", lambda: now + door.IDLE_SECONDS + 1)
    assert visitor.get("schema").status_code == 403


def test_watching_a_run_keeps_no_session_awake(visitor, monkeypatch):
    now = visitor.app.door._clock()
    for minutes in range(0, 30, 10):
        monkeypatch.setattr(visitor.app.door, "_clock", lambda m=minutes: now + 60 * m)
        assert visitor.get("events").status_code == 200
    monkeypatch.setattr(visitor.app.door, "_clock", lambda: now + door.IDLE_SECONDS + 1)
    assert visitor.get("events").status_code == 403


def test_an_ended_session_is_over(visitor):
    assert visitor.post("/end").status_code == 200
    assert visitor.client.get("/").status_code == 403


def test_other_methods_long_forms_uploads_and_sockets_are_refused(visitor):
    assert visitor.client.put("/").status_code == 405
    assert visitor.client.options("/").status_code == 405
    assert visitor.post("/", folder="x" * door.MOST_BYTES).status_code == 413
    assert visitor.client.post("/", files={"file": b"rows"}).status_code == 415
    with pytest.raises(WebSocketDisconnect), visitor.client.websocket_connect("/"):
        pass


def test_every_answer_says_what_browsers_may_do_with_it(visitor):
    for answer in (
        visitor.get("schema"),
        visitor.get("/static/desk.js"),
        visitor.get("/nothing"),
        visitor.other().get("/"),
        visitor.client.get("/", headers={"host": "evil.example"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    cookie = visitor.other().get(visitor.path_of_link()).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_paths_outside_of_the_roots_are_refused(visitor, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "people.csv").write_text("age\n1\n")
    (visitor.root / "way-out").symlink_to(outside)
    for text in ("../outside", str(outside), "way-out/new", "a\0b", "/etc"):
        assert visitor.post("/", folder=text, do="new").status_code == 422
    fields = {"title": "T", "unit": "one person", "rows": "private", "do": "save"}
    for data in (str(outside / "people.csv"), "way-out/people.csv", "../../etc/passwd"):
        assert "outside" in refusal(visitor.post("file", data=data, **fields))
    listed = visitor.post("file", do="look:" + str(outside), picking="data")
    assert "outside" in refusal(listed)
    assert "people.csv" not in listed.text
    assert "way-out" not in visitor.post("file", do="picking:data").text
    for path in ("/static/..%2Fapp.py", "/static/%2e%2e/app.py", "/p/../../etc/passwd"):
        assert visitor.client.get(path).status_code == 404


def test_a_table_that_became_a_link_is_not_read(visitor, tmp_path_factory):
    secret = tmp_path_factory.mktemp("outside") / "people.csv"
    secret.write_text("sex,age\nf,1\n")
    data = visitor.root / "people.csv"
    data.write_text("sex,age\nf,1\n")
    visitor.project.update(data=str(data))
    data.unlink()
    data.symlink_to(secret)
    visitor.post("schema", do="confidential")
    assert "outside" in refusal(visitor.post("schema", do="check"))


def test_links_in_a_projects_folder_are_not_followed(visitor, tmp_path_factory):
    secret = tmp_path_factory.mktemp("outside") / "schema.toml"
    secret.write_text(SCHEMA)
    place = visitor.project.folder / "schema.toml"
    place.unlink()
    place.symlink_to(secret)
    assert "is a link" in refusal(visitor.get("schema"))
    log = visitor.project.folder / "log.jsonl"
    log.unlink()
    log.symlink_to(secret)
    with pytest.raises(DeskError):
        visitor.project.note("written elsewhere")
    assert secret.read_text() == SCHEMA


@pytest.mark.skipif(os.name == "nt", reason="Folders have other rights there.")
def test_a_project_that_others_may_look_into_is_refused(visitor):
    visitor.project.folder.chmod(0o750)
    answer = visitor.get("schema")
    assert answer.status_code == 404
    assert "chmod 700" in answer.text


def test_a_schema_changed_underneath_is_not_written_over(visitor):
    page = visitor.get("schema")
    place = visitor.project.folder / "schema.toml"
    place.write_text(SCHEMA.replace("120", "99"))
    answer = visitor.post("schema", do="accept", at="0", stamp=hidden(page, "stamp"))
    assert "changed meanwhile" in refusal(answer)
    assert "upper = 99" in place.read_text()
    assert "reviewed = true" not in place.read_text().partition("[columns.age]")[0]


def test_the_second_of_two_tabs_decides_anew(visitor):
    one, other = visitor.get("schema"), visitor.get("schema")
    first = visitor.post("schema", do="accept", at="0", stamp=hidden(one, "stamp"))
    assert first.status_code == 303
    second = visitor.post("schema", do="exclude", at="0", stamp=hidden(other, "stamp"))
    assert "changed meanwhile" in refusal(second)
    assert "[columns.sex]" in (visitor.project.folder / "schema.toml").read_text()


def test_undo_leaves_what_was_changed_elsewhere(visitor):
    stamp = hidden(visitor.get("schema"), "stamp")
    visitor.post("schema", do="accept", at="0", stamp=stamp)
    place = visitor.project.folder / "schema.toml"
    place.write_text(place.read_text() + "# by hand\n")
    assert "changed elsewhere" in refusal(visitor.post("schema", do="undo"))
    assert place.read_text().endswith("# by hand\n")


def test_what_was_approved_is_what_is_released(visitor):
    assert "not approved" in refusal(visitor.post("release", do="start"))
    text = SCHEMA.replace('source = "codebook"', 'source = "codebook"\nreviewed = true')
    visitor.project.write_text("schema.toml", text)
    visitor.post("plan", do="save", epsilon="1", delta="0", sets="1")
    digest = hidden(visitor.get("approve"), "digest")
    visitor.project.write_text("schema.toml", text.replace("120", "99"))
    answer = visitor.post("approve", do="approve", by="A", digest=digest)
    assert "changed since" in refusal(answer)
    digest = hidden(visitor.get("approve"), "digest")
    assert visitor.post("approve", do="approve", by="A", digest=digest).status_code == 303
    visitor.post("plan", do="save", epsilon="9", delta="0", sets="1")
    assert "not approved" in refusal(visitor.post("release", do="start"))
    assert runs.last(visitor.project) == runs.Run()


def test_text_of_files_is_never_markup(visitor):
    hostile = "<script>alert(1)</script>\"' onload=x"
    levels = ", ".join(f'"<img src=x{k}>"' for k in range(10_000))
    name = hostile.replace('"', '\\"')
    text = SCHEMA.replace("[columns.sex]", f'[columns."{name}"]')
    text = text.replace('levels = ["f", "m"]', f"levels = [{levels}]")
    visitor.project.write_text("schema.toml", text)
    for page in ("schema", "questions"):
        answer = visitor.get(page)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert len(answer.text) < 50_000
    typed = visitor.post("questions", do="add", kind="mean", first="", formula=hostile)
    assert typed.status_code == 422
    assert "<script>alert" not in typed.text


def test_letters_that_act_are_shown_as_a_sign(visitor):
    visitor.project.update(step="schema")
    answer = visitor.post("/", folder="\u202eabc\x1b[31m", do="open")
    assert "\u202e" not in answer.text
    assert "\x1b" not in answer.text


def test_a_page_says_nothing_of_what_has_failed(visitor, monkeypatch):
    def fail(_project):
        raise RuntimeError("income 12345 of person 7")

    monkeypatch.setattr(runs, "last", fail)
    answer = visitor.get("schema")
    assert answer.status_code == 500
    assert "12345" not in answer.text


def test_the_internal_page_is_shown_in_the_confidential_view_alone(visitor):
    visitor.project.write_text("internal.html", "<p>internal</p>")
    (visitor.project.folder / "release").mkdir()
    assert visitor.get("framed/internal.html").status_code == 404
    visitor.post("look", do="confidential")
    answer = visitor.get("framed/internal.html")
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    assert [one["page"] for one in visitor.project.log() if "confidential" in one["what"]] == [
        "look"
    ]
    for name in ("manifest.json", "..%2Fproject.toml", "project.toml"):
        assert visitor.get(f"framed/{name}").status_code == 404


def test_nothing_confidential_stands_in_addresses(visitor):
    text = visitor.get("schema").text + visitor.get("questions").text + visitor.get("/").text
    for place in re.findall(r'(?:href|src|action)="([^"]*)"', text):
        assert "age" not in place.removeprefix(ORIGIN)
        assert visitor.project.folder.name not in place
