"""Help names the commands, and shows how they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import patchfold
from command_line import done


def test_the_version_is_printed(call):
    assert done(call("--version")).stdout == f"patchfold {patchfold.__version__}\n"


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_help_names_commands_examples_and_exit_codes(call, words):
    text = call(*words).output
    for word in ("embed", "apply", "compare", "explore", "reproduce", "datasets"):
        assert f"\n  {word} " in text
    for word in ("--install-completion", "Exit codes:", "130  stopped", "patchfold embed iris.csv"):
        assert word in text


@pytest.mark.parametrize(
    "command", ["embed", "apply", "compare", "explore", "reproduce", "datasets"]
)
def test_every_command_has_examples(call, command):
    text = done(call(command, "--help")).stdout
    assert f"\n    patchfold {command}" in text
    assert "None" not in text


def test_the_help_loads_nothing_large():
    program = "import sys, patchfold.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, check=True)  # noqa: S603
    large = {"dask", "distributed", "joblib", "matplotlib", "numba", "pandas", "scipy", "sklearn"}
    assert not large & set(loaded.stdout.decode().split())
