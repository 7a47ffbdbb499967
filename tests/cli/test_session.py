"""Every trouble ends with one clear line, an exit code, and no half-written file."""

from __future__ import annotations

import io
import os
import sys
import threading

import pytest
from typer.testing import CliRunner

from command_line import refuse, told
from patchfold import cli
from patchfold.cli import _options, _session


def test_places_that_are_no_files_are_refused(call, folder, monkeypatch):
    (folder / "sub").mkdir()
    assert told(call("embed", "sub")) == "sub: this is a folder; name a file in it."
    assert told(call("embed", "nowhere.csv")) == "nowhere.csv: there is no such file."
    assert told(call("embed", "iris.csv/x")).startswith("iris.csv/x: ")
    assert told(call("apply", "nowhere.skops", "iris.csv")).startswith("nowhere.skops: there is no")
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert told(call("embed", "iris.csv", "--id", "name")) == "iris.csv: permission denied."


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("out.xlsx", "the ending of 'out.xlsx' is not known; use .csv or"),
        ("iris.csv", "this is the input"),
        ("sub.csv", "this is a folder"),
        ("iris.csv/out.csv", "is a file and no folder"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused_before_anything_is_read(
    call, folder, monkeypatch, path, words
):
    (folder / "sub.csv").mkdir()
    monkeypatch.setattr("patchfold.tables.read_table", refuse)
    assert words in told(call("embed", "iris.csv", "-o", path))


def test_a_folder_without_permission_is_refused(call, folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to" in told(call("embed", "iris.csv", "-o", "out.csv"))


def test_a_file_without_permission_is_refused(call, folder, monkeypatch):
    (folder / "out.csv").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or path.name != "out.csv")
    assert "this file cannot be written to" in told(call("embed", "iris.csv", "-o", "out.csv"))


def test_two_outputs_of_one_name_are_refused(call):
    line = told(call("explore", "iris.csv", "-o", "out.txt"))
    assert "use .html or .htm" in line
    with pytest.raises(_session.Refused, match="two outputs have this name"):
        _session.check_outputs([_options.Path("a.csv"), _options.Path("a.csv")])


def test_two_outputs_that_meet_through_a_link_are_refused(call, folder):
    (folder / "b.png").symlink_to("a.html")
    words = ("--id", "name", "--html", "a.html", "--png", "b.png")
    line = told(call("embed", "iris.csv", *words))
    assert line == "b.png: a.html is the same file, through a link; give each output its own."
    (folder / "out.csv").symlink_to("iris.csv")
    assert "this is the input" in told(call("embed", "iris.csv", "-o", "out.csv"))


def test_links_that_go_in_circles_are_named(call, folder):
    (folder / "l.csv").symlink_to("l.csv")
    assert told(call("embed", "iris.csv", "-o", "l.csv")).startswith("l.csv: Too many levels of")
    assert told(call("embed", "l.csv", "-o", "out.csv")).startswith("l.csv: Too many levels of")


def test_a_full_disk_is_told_and_leaves_nothing(call, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(_session, "write_whole", full)
    line = told(call("embed", "iris.csv", "--id", "name", "-o", "out.csv"))
    assert line == "out.csv: cannot be written (No space left on device)."


def test_a_missing_package_is_one_line(call, monkeypatch):
    def missing(module, purpose):
        raise ImportError("reading tables needs pandas; install it with: pip install ...")

    monkeypatch.setattr("patchfold.tables.reading.require", missing)
    assert "needs pandas" in told(call("embed", "iris.csv"), cli.FAILED)


@pytest.mark.parametrize(
    ("option", "path", "package"),
    [
        ("--model", "m.skops", "skops"),
        ("--png", "a.png", "matplotlib"),
        ("-o", "a.parquet", "pyarrow"),
    ],
)
def test_a_package_for_an_output_is_missed_before_anything_is_read(
    call, monkeypatch, option, path, package
):
    for name in (package, f"{package}.io"):
        monkeypatch.setitem(sys.modules, name, None)
    line = told(call("embed", "nowhere.csv", option, path), cli.FAILED)
    assert f"needs {package}; install it with: pip install 'patchfold[" in line


def test_an_unexpected_error_is_one_line_unless_debugged(call, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("odd\nthing")

    monkeypatch.setattr("patchfold.tables.check_rows", broken)
    line = told(call("embed", "iris.csv", "--id", "name"), cli.FAILED)
    assert line.startswith("unexpected RuntimeError: odd thing. 'patchfold --debug ...' shows")
    result = CliRunner().invoke(cli.app, ["--debug", "embed", "iris.csv", "--id", "name"])
    assert isinstance(result.exception, RuntimeError)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), cli.STOPPED, "Stopped."),
        (MemoryError("12 GB wanted"), cli.FAILED, "Error: not enough memory (12 GB wanted)"),
    ],
)
def test_a_stop_and_a_lack_of_memory_are_told(call, monkeypatch, error, code, words):
    def ends(*_, **__):
        raise error

    monkeypatch.setattr("patchfold.tables.preparation.select", ends)
    result = call("embed", "iris.csv", "-o", "out.csv")
    assert result.exit_code == code
    assert result.stderr.startswith(words)


def test_lines_say_how_far_it_is_where_there_is_no_terminal(monkeypatch):
    console = _session.Console(file=io.StringIO(), width=80)
    lines = []
    monkeypatch.setattr(_session, "say", lambda notes: lines.extend(notes) or seen.set())
    seen = threading.Event()
    with _session.working("Embedding 9 rows ...", every=0.001):
        assert seen.wait(20)
    assert lines[0] == "Embedding 9 rows ... 0 s"
    lines.clear()
    seen.clear()
    with _session.progress(console, every=0.001) as bar:
        bar.update(bar.add_task("fits", total=4), completed=1)
        lines.clear()
        seen.clear()
        assert seen.wait(20)
    assert lines[-1] == "fits (25% done) 0 s"


def test_a_spinner_shows_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    console = _session.Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(_session, "stderr", lambda: console)
    with _session.working("Embedding ..."):
        pass
    assert "Embedding ..." in screen.getvalue()
