"""The command as a whole: exit codes, streams, and no partial file.

Only what a process of its own shows runs in one, as it takes a second to import everything: pipes,
signals, a full device, and a model that another process has saved.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import patchfold
from command_line import done, iris
from patchfold import cli

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from patchfold.cli import app
app(prog_name="patchfold")
"""
COMMAND = (sys.executable, "-c", PROGRAM)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(patchfold.__file__).parents[1])}


def start(folder, *words, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT}
    return subprocess.Popen([*COMMAND, *words], cwd=folder, **(pipes | options))  # noqa: S603


# ---------------------------------------------------------------- in a process of its own


@pytest.mark.slow
def test_a_saved_model_maps_a_table_through_pipes(call, folder):
    data = iris().drop(columns="name").to_csv(index=False).encode()
    words = ("--target", "species", "--model", "model.skops", "-o", "out.csv", "--json")
    assert json.loads(done(call("embed", "-", *words, given=data)).stdout)["rows"] == 149
    process = start(folder, "apply", "model.skops", "-", stdin=subprocess.PIPE)
    out, err = process.communicate(data, timeout=120)
    assert process.returncode == 0, err
    assert b"Traceback" not in err
    assert out.decode() == (folder / "out.csv").read_text(encoding="utf-8")
    assert b"149 rows mapped" in err
    assert b"\x1b" not in err  # neither colours nor bars in a pipe


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        pytest.param(["embed", "--help"], marks=pytest.mark.long),
        ["embed", "iris.csv", "--id", "name", "--target", "species"],
    ],
)
def test_a_full_standard_output_is_named(folder, words):
    with Path("/dev/full").open("wb") as full:
        process = start(folder, *words, stdout=full)
        err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 2
    assert err.splitlines()[-1] == "Error: standard output: No space left on device."
    assert "Traceback" not in err
    assert "\x1b" not in err


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error_to_talk_about(folder):
    # More rows than a buffer of Python has room for.
    np.savetxt(folder / "long.csv", np.random.default_rng(0).normal(size=(300, 2)), delimiter=",")
    process = start(folder, "embed", "long.csv", "--method", "eigenmaps")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) in {0, 1}
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_ctrl_c_ends_with_130_and_leaves_no_file(folder):
    os.mkfifo(folder / "pipe.csv")
    before = set(folder.iterdir())
    process = start(folder, "embed", "pipe.csv", "-o", "never.csv")
    with (folder / "pipe.csv").open("wb"):  # opens when the command does, which then waits
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"Stopped.\n")
    assert set(folder.iterdir()) == before


@pytest.mark.slow
def test_a_page_is_served_until_ctrl_c(folder):
    iris()[::5].to_csv(folder / "few.csv", index=False)
    words = ("--id", "name", "--target", "species", "--neighbors", "8", "--no-open", "--serve")
    process = start(folder, "explore", "few.csv", *words)
    host = ""
    for line in process.stderr:
        if line.startswith(b"Serving http://"):
            host = line.decode().split("/")[2]
            break
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/")
    assert connection.getresponse().read().lower().startswith(b"<!doctype html>")
    connection.close()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == b"Stopped serving.\n"
    assert process.returncode == 0


# ---------------------------------------------------------------- in this process


def test_a_refusal_is_one_line_with_a_command_to_try_and_leaves_no_file(call, folder):
    (folder / "bad.csv").write_bytes(b"a,b\n1,\n2,3\n4,5\n")
    before = set(folder.iterdir())
    outputs = ("-o", "never.csv", "--model", "never.skops")
    result = call("embed", "bad.csv", *outputs)
    assert (result.exit_code, result.stdout) == (2, "")
    error, *more = result.stderr.splitlines()
    assert error.startswith("Error: bad.csv: 1 of 3 rows has a missing value: row 1 ('b');")
    assert more == [f"Try: patchfold embed bad.csv {' '.join(outputs)} --missing impute"]
    assert set(folder.iterdir()) == before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything"
)
def test_files_and_folders_without_permission_are_told(call, folder):
    closed = folder / "closed.csv"
    closed.write_text("a\n1\n", encoding="utf-8")
    closed.chmod(0)
    result = call("embed", "closed.csv")
    assert (result.exit_code, result.stderr) == (2, "Error: closed.csv: permission denied.\n")
    (folder / "shut").mkdir(mode=0o500)
    result = call("embed", "iris.csv", "-o", "shut/out.csv")
    assert result.exit_code == 2
    assert "cannot be written to" in result.stderr


def test_a_page_is_built_without_a_browser(call, opened):
    words = ("--id", "name", "--target", "species", "--neighbors", "8", "--no-open")
    result = done(call("explore", "iris.csv", *words, "-o", "page.html"))
    assert result.stdout == ""
    assert "Wrote page.html" in result.stderr
    assert opened == []


@pytest.mark.slow
def test_methods_are_compared_and_a_page_is_written(call, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)  # it would be compiled for half a minute
    frame = iris().drop(columns="name")[::3]
    data = frame.to_csv(index=False, sep=";", decimal=",").encode("utf-8-sig")
    words = ("--target", "species", "--halves", "2", "--divergence", "kl", "-o", "scores.md")
    result = done(call("compare", "-", *words, given=data))
    header, *lines = result.stdout.splitlines()
    assert header.split("\t")[:3] == ["method", "divergence", "accuracy"]
    assert {line.split("\t")[0] for line in lines} >= {"PCA", "t-SNE *", "PatchIsomap", "PatchTSNE"}
    assert "Note: columns are separated by semicolons, decimals by commas." in result.stderr
    assert "| PatchIsomap | kl |" in (folder / "scores.md").read_text(encoding="utf-8")


def test_data_sets_are_listed(call):
    assert "\nwine\t178\t13\t3\t" in done(call("datasets")).stdout


def test_completion_knows_the_commands():
    environment = {
        "_PATCHFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": "patchfold ex",
        "COMP_CWORD": "1",
    }
    result = CliRunner().invoke(cli.app, env=environment, prog_name="patchfold")
    assert result.stdout.split() == ["explore"]
