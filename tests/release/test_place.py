"""The place of a release: found fit before anything is paid, held by one run, left clean."""

import hashlib
import os
import shutil
import threading
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

import understudy as us
from understudy import _storage
from understudy.errors import ReleaseError, UnsavedError
from understudy.release import folder as folder_module
from understudy.release.folder import hold_place, note_spending, publish, require_new, require_space


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def elsewhere(function):
    """What a function ends in where this thread holds nothing."""
    ended = []

    def run():
        try:
            ended.append(function())
        except ReleaseError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return ended[0]


def hold(path):
    with hold_place(path):
        return "held"


@pytest.mark.parametrize("name", [".", "..", "q/..", "/", "./q/../.."])
def test_a_place_without_a_name_of_its_own_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReleaseError, match="a name of its own"):
        require_new(folder_module.Path(name))


def test_one_run_holds_a_place_and_leaves_it_clean(tmp_path):
    path = tmp_path / "new" / "r"
    with hold_place(path) as folder, hold_place(path) as again:
        assert folder == again
        assert "Another run makes the release" in str(elsewhere(lambda: hold(path)))
        folder.mkdir()
    assert names(tmp_path) == []
    assert elsewhere(lambda: hold(path)) == "held"


def test_whoever_waited_sees_what_was_made_meanwhile(tmp_path, monkeypatch):
    """A run that looked before another one ended is refused under the lock, before it pays."""
    looked = folder_module.require_new
    first = []

    def slow(path):
        looked(path)
        if not first:
            first.append(path)
            path.mkdir()
            (path / "file").touch()

    monkeypatch.setattr(folder_module, "require_new", slow)
    with pytest.raises(ReleaseError, match="already exists"), hold_place(tmp_path / "r"):
        raise AssertionError
    assert names(tmp_path) == ["r"]


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    path, left = tmp_path / "r", tmp_path / ".r.understudy"
    (left / "release" / "synthetic").mkdir(parents=True)
    (left / "lock").touch()
    (tmp_path / ".r.other").mkdir()
    assert hold(path) == "held"
    assert names(tmp_path) == [".r.other"]
    left.mkdir()
    (left / "mine").touch()
    with pytest.raises(ReleaseError, match="holds something else"):
        hold(path)
    assert names(left) == ["mine"]


def test_what_was_spent_without_a_checkpoint_is_said_before_it_is_spent_again(tmp_path):
    path, left = tmp_path / "r", tmp_path / ".r.understudy"
    with hold_place(path):
        note_spending(path, "a part of ε")
        note_spending(path, "43 % of ε")
        shutil.copytree(left, tmp_path / "kept")
    assert names(tmp_path) == ["kept"]
    (tmp_path / "kept").rename(left)
    for _ in range(2):
        with pytest.raises(ReleaseError, match="killed when 43 % of ε was spent, which counts"):
            hold(path)
    shutil.rmtree(left)
    assert hold(path) == "held"


def test_a_full_disk_is_refused(tmp_path, monkeypatch):
    def usage(_):
        return SimpleNamespace(total=100, free=99)

    monkeypatch.setattr(folder_module.shutil, "disk_usage", usage)
    with pytest.raises(ReleaseError, match="1 MB may be needed, and less is free"):
        require_space(tmp_path / "r", 100)
    require_space(tmp_path / "r", 99)
    with pytest.raises(ReleaseError, match="10 MB may be needed"):
        hold(tmp_path / "r")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_found_by_trying(tmp_path, monkeypatch):
    """Root may write by its rights, and cannot on a disk that is mounted for reading."""

    def mkdir(self, mode=0o777):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(folder_module.Path, "mkdir", mkdir)
    with pytest.raises(ReleaseError, match="Read-only file system; choose another place"):
        hold(tmp_path / "r")


def test_all_is_synced_before_the_name_is_there_and_the_name_after(tmp_path, monkeypatch):
    happened, sync, rename = [], os.fsync, folder_module.Path.rename

    def synced(file):
        sync(file)
        happened.append(os.path.basename(os.readlink(f"/proc/self/fd/{file}")))

    def renamed(self, target):
        happened.append("rename")
        return rename(self, target)

    def fill(folder):
        (folder / "noisy").mkdir()
        (folder / "noisy" / "table").write_text("x", encoding="utf-8")

    def told(digest):
        happened.append(digest)

    monkeypatch.setattr(_storage.os, "fsync", synced)
    monkeypatch.setattr(folder_module.Path, "rename", renamed)
    publish(tmp_path / "r", fill, {}, told)
    digest = hashlib.sha256((tmp_path / "r" / "manifest.json").read_bytes()).hexdigest()
    *before, last, following, name = happened[-7:]
    assert sorted(before) == ["manifest.json", "noisy", "release", "table"]
    assert (last, following, name) == (digest, "rename", tmp_path.name)


def test_whoever_is_told_of_a_release_can_stop_it(tmp_path):
    def refuse(_):
        raise KeyError("no")

    made = us.synthesize(
        pl.DataFrame({"b": [True, False] * 9}),
        us.Schema.loads('[columns.b]\nkind = "boolean"\nsource = "c"\nreviewed = true'),
        epsilon=1,
    )
    with pytest.raises(KeyError):
        replace(made, entered=refuse).save(tmp_path / "r")
    assert names(tmp_path) == []
    told = []
    replace(made, entered=told.append).save(tmp_path / "r")
    assert told == [hashlib.sha256((tmp_path / "r" / "manifest.json").read_bytes()).hexdigest()]


@pytest.mark.parametrize("code", [5, 28])
def test_a_disk_that_fails_leaves_nothing_and_the_release_unharmed(tmp_path, monkeypatch, code):
    def fails(_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as failing:
        failing.setattr(_storage.os, "fsync", fails)
        with pytest.raises(UnsavedError, match=r"is spent\. As an object it is unharmed"):
            publish(tmp_path / "r", lambda folder: (folder / "file").touch(), {})
    assert names(tmp_path) == []
