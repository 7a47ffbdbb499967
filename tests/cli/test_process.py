"""The command as a process of its own: exit codes, streams, pipes, signals, and no partial file."""

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
from sklearn.datasets import load_iris

import patchfold

# Without UMAP, which a comparison would compile for half a minute.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.modules["umap"] = None
from patchfold.cli import app
app(prog_name="patchfold")
"""
COMMAND = (sys.executable, "-c", PROGRAM)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(patchfold.__file__).parents[1])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("process")
    frame = load_iris(as_frame=True).frame.drop_duplicates()
    frame.to_csv(folder / "iris.csv", index=False)
    return folder


def start(folder, *words, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT}
    return subprocess.Popen([*COMMAND, *words], cwd=folder, **(pipes | options))  # noqa: S603


def run(folder, *words, given=None):
    process = start(folder, *words, stdin=subprocess.PIPE)
    out, err = process.communicate(given, timeout=120)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


def test_a_table_is_embedded_and_mapped_through_pipes(folder):
    data = (folder / "iris.csv").read_bytes()
    words = ("--target", "target", "--model", "model.skops", "-o", "out.csv", "--json")
    code, out, err = run(folder, "embed", "-", *words, given=data)
    assert (code, json.loads(out)["rows"]) == (0, 149)
    assert "\x1b" not in err  # neither colours nor bars in a pipe
    code, out, err = run(folder, "apply", "model.skops", "-", given=data)
    assert code == 0
    assert out == (folder / "out.csv").read_text(encoding="utf-8")
    assert "149 rows mapped" in err


def test_a_refusal_is_one_line_with_a_command_to_try_and_leaves_no_file(folder):
    (folder / "bad.csv").write_bytes(b"a,b\n1,\n2,3\n4,5\n")
    before = set(folder.iterdir())
    code, out, err = run(folder, "embed", "bad.csv", "-o", "never.csv", "--model", "never.skops")
    assert (code, out) == (2, "")
    assert err.startswith("Error: bad.csv: 1 of 3 rows has a missing value: row 1 ('b');")
    outputs = "-o never.csv --model never.skops"
    assert err.splitlines()[1:] == [f"Try: patchfold embed bad.csv {outputs} --missing impute"]
    assert set(folder.iterdir()) == before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything"
)
def test_files_and_folders_without_permission_are_told(folder):
    closed = folder / "closed.csv"
    closed.write_text("a\n1\n", encoding="utf-8")
    closed.chmod(0)
    assert run(folder, "embed", "closed.csv")[::2] == (2, "Error: closed.csv: permission denied.\n")
    shut = folder / "shut"
    shut.mkdir(mode=0o500)
    code, _, err = run(folder, "embed", "iris.csv", "-o", "shut/out.csv")
    assert code == 2
    assert "cannot be written to" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("words", [["--version"], ["embed", "--help"], ["embed", "iris.csv"]])
def test_a_full_standard_output_is_named(folder, words):
    with Path("/dev/full").open("wb") as full:
        process = start(folder, *words, stdout=full)
        err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 2
    assert err.splitlines()[-1] == "Error: standard output: No space left on device."
    assert "Traceback" not in err


def test_a_reader_that_leaves_early_is_no_error_to_talk_about(folder):
    np.savetxt(folder / "long.csv", np.random.default_rng(0).normal(size=(3000, 2)), delimiter=",")
    process = start(folder, "embed", "long.csv", "--method", "eigenmaps")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) in {0, 1}
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


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


def test_a_page_is_built_without_a_browser(folder):
    words = ("--target", "target", "--neighbors", "8", "--no-open", "-o", "page.html")
    code, out, err = run(folder, "explore", "iris.csv", *words)
    assert (code, out) == (0, "")
    assert "Wrote page.html" in err


def test_a_page_is_served_until_ctrl_c(folder):
    words = ("--target", "target", "--neighbors", "8", "--no-open", "--serve")
    process = start(folder, "explore", "iris.csv", *words)
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


def test_methods_are_compared_and_a_page_is_written(folder):
    frame = load_iris(as_frame=True).frame[::3]
    data = frame.to_csv(index=False, sep=";", decimal=",").encode("utf-8-sig")
    words = ("--target", "target", "--halves", "2", "--divergence", "kl", "-o", "scores.md")
    code, out, err = run(folder, "compare", "-", *words, given=data)
    assert code == 0, err
    header, *lines = out.splitlines()
    assert header.split("\t")[:3] == ["method", "divergence", "accuracy"]
    assert {line.split("\t")[0] for line in lines} >= {"PCA", "t-SNE *", "PatchIsomap", "PatchTSNE"}
    assert "Note: columns are separated by semicolons, decimals by commas." in err
    assert "| PatchIsomap | kl |" in (folder / "scores.md").read_text(encoding="utf-8")


def test_data_sets_are_listed_and_benchmarks_found(folder):
    code, out, _ = run(folder, "datasets")
    assert code == 0
    assert "\nwine\t178\t13\t3\t" in out
    code, out, err = run(folder, "bench", "no-such-benchmark")
    assert (code, out) == (2, "")
    assert "no-such-benchmark" in err or "not part of an installed package" in err


def test_completion_knows_the_commands(folder):
    environment = {
        **ENVIRONMENT,
        "_PATCHFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": "patchfold ex",
        "COMP_CWORD": "1",
    }
    process = start(folder, env=environment)
    out, _ = process.communicate(timeout=60)
    assert out.split() == [b"explore"]
