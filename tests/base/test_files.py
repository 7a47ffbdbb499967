"""A file is there whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import patchfold
from patchfold.base.files import MARK, UNFINISHED, write_whole


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


KILLED = """
import os, signal, sys
from pathlib import Path
from patchfold.base.files import write_whole
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
write_whole(Path(sys.argv[1]), "new")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    path = tmp_path / "a[1].txt"
    path.write_text("old", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(patchfold.__file__).parents[1])}
    command = [sys.executable, "-c", KILLED, str(path)]
    ended = subprocess.run(command, env=environment, check=False)  # noqa: S603
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == "old"
    (leftover,) = set(tmp_path.iterdir()) - {path}
    mine = tmp_path / f"{path.name}.december{UNFINISHED}"
    mine.touch()
    write_whole(tmp_path / "other.txt", "text")
    assert leftover.exists()
    write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert set(tmp_path.iterdir()) == {path, mine, tmp_path / "other.txt"}


def test_a_file_that_is_being_written_is_no_leftover(tmp_path, monkeypatch):
    path, flushed = tmp_path / "a.txt", os.fsync

    def writes_another(descriptor):
        monkeypatch.setattr(os, "fsync", flushed)
        write_whole(path, "second")
        assert len(list(tmp_path.iterdir())) == 2

    monkeypatch.setattr(os, "fsync", writes_another)
    write_whole(path, "first")
    assert path.read_text(encoding="utf-8") == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_in_the_way_of_an_unfinished_file_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "0" * 16)
    victim = tmp_path / "victim"
    victim.write_text("old", encoding="utf-8")
    (tmp_path / f"a.txt.{MARK}{'0' * 16}{UNFINISHED}").symlink_to(victim)
    write_whole(tmp_path / "a.txt", "new")
    assert victim.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("name", ["loop", "loop/a.txt"])
def test_links_that_go_in_circles_are_an_error_and_stay(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop") as caught:
        write_whole(tmp_path / name, "text")
    assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "loop").is_symlink()


def test_a_folder_that_vanishes_is_an_error_and_no_endless_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "gone" / "a.txt", "text")


def test_a_new_file_has_the_permissions_of_the_process(tmp_path):
    write_whole(tmp_path / "a.txt", "text")
    (tmp_path / "b.txt").touch()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode
