"""A file is there whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchfold.tables.files import UNFINISHED, remove_unfinished, write_whole


@pytest.mark.parametrize("content", ["süß\n", b"\x00\xff"])
def test_text_and_bytes_are_written_and_replace_what_was_there(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    for _ in range(2):
        write_whole(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_another_run_removed_before_its_move_is_written_again(tmp_path, monkeypatch):
    move = Path.replace

    def first_fails(self, target):
        monkeypatch.setattr(Path, "replace", move)
        self.unlink()
        return move(self, target)

    monkeypatch.setattr(Path, "replace", first_fails)
    write_whole(tmp_path / "a.txt", "text\n")
    assert (tmp_path / "a.txt").read_bytes() == b"text\n"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, problem):
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")

    def fails(descriptor):
        raise problem

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(type(problem)) as caught:
        write_whole(path, "new")
    if isinstance(problem, OSError):
        assert caught.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_place_of_the_file_stays(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="a"):
        write_whole(tmp_path / "a", "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_link_keeps_pointing_to_the_file(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    write_whole(link, "text")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "text"


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.txt"
    path.touch()
    for mode in (0o600, 0o640):
        path.chmod(mode)
        write_whole(path, "text")
        assert path.stat().st_mode & 0o777 == mode


def test_a_file_that_cannot_be_written_to_stays(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match=r"a\.txt"):
        write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_stays_one():
    write_whole(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


def test_only_leftovers_with_the_given_start_are_removed(tmp_path):
    for name in (f"a.1{UNFINISHED}", f"b.1{UNFINISHED}", "a.txt"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path, "a")
    assert {path.name for path in tmp_path.iterdir()} == {f"b.1{UNFINISHED}", "a.txt"}
