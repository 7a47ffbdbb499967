"""Every benchmark can be started: what it imports is there, and its parser is built."""

from __future__ import annotations

import inspect
import pkgutil
import runpy
import sys
from importlib import import_module

import pytest

import benchmarks

# Packages that not every environment of the tests has.
ABSENT = {"pyriemann", "torch", "triton"}

MODULES = sorted(one.name for one in pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))


@pytest.mark.every_case
@pytest.mark.parametrize("name", MODULES)
def test_it_can_be_imported_and_shows_its_help(name, monkeypatch, capsys):
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name in ABSENT:
            return
        raise
    if "ArgumentParser" not in inspect.getsource(module):
        return
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("usage: ")
