"""Evaluation knows no estimator: what it measures is given to it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import importlib, json, pkgutil, sys
import patchfold.evaluation as folder
for module in pkgutil.iter_modules(folder.__path__):
    importlib.import_module(f"{folder.__name__}.{module.name}")
print(json.dumps(sorted(name for name in sys.modules if name.startswith("patchfold."))))
"""
LATER = ("selection", "mapping", "embedding", "metrics", "papers", "explorer", "cli")


@pytest.mark.slow
def test_no_later_folder_is_imported():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)  # noqa: S603
    imported = {name.split(".")[1] for name in json.loads(done.stdout)}
    assert "graph" in imported
    assert not imported & set(LATER)
