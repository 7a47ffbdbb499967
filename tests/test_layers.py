"""The package as a whole: the order of its folders, the size of its parts, its public names."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "patchfold"
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 600
LONGEST_FUNCTION = 60
MOST_ENTRIES = 25


# Layers that must not know each other stand in one line of pyproject.toml: "a | b".
SIGNS = str.maketrans("|", " ")

# What the root module needs for itself.
PLUMBING = {"Any", "TYPE_CHECKING", "import_module"}

# Import all modules of one layer after the other, each time as if nothing had been imported; only
# other packages stay loaded, which saves most of the time. Print what was loaded of patchfold.
IMPORT_ALONE = """
import importlib, json, pkgutil, sys

def modules_of(name):
    module = importlib.import_module(name)
    yield name
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        yield found.name

loaded = {}
for layer in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.partition(".")[0] == "patchfold"]:
        del sys.modules[name]
    for name in modules_of("patchfold." + layer):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in {"torch", "triton"}:  # optional, and gpu needs them
                raise
    loaded[layer] = [name for name in sys.modules if name.startswith("patchfold.")]
print(json.dumps(loaded))
"""

PUBLIC_NAMES = """
import json, sys
import patchfold

inner = [name for name in json.loads(sys.argv[1]) if hasattr(patchfold, name)]
missing = [name for name in patchfold.__all__ if not hasattr(patchfold, name)]
shown = [name for name in dir(patchfold) if not name.startswith("_")]
print(json.dumps({"all": patchfold.__all__, "inner": inner, "missing": missing, "shown": shown}))
"""


@pytest.mark.slow
def test_no_folder_loads_a_later_one_when_it_is_imported_alone() -> None:
    """Lint follows import statements; this sees imports made by name as well."""
    layers = _layers()
    names = [name for layer in layers for name in layer.translate(SIGNS).split()]
    earlier = {name: _allowed(name, layers) for name in names}
    loaded = _fresh(IMPORT_ALONE, names)
    later = {
        (name, _layer_of(module, names))
        for name in names
        for module in loaded[name]
        if _layer_of(module, names) not in {None, name, *earlier[name]}
    }
    assert later == set()


def test_no_module_is_long() -> None:
    lengths = {_path(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    long = {name: length for name, length in lengths.items() if length > LONGEST_MODULE}
    assert long == {}


@pytest.mark.slow
def test_no_function_is_long() -> None:
    """A docstring does not count: it is read on its own."""
    long = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = _lines(node) - _docstring_lines(node)
                if length > LONGEST_FUNCTION:
                    long[f"{_path(path)} {node.name}"] = length
    assert long == {}


def test_the_root_shows_the_steps_and_little_else() -> None:
    entries = sorted(path.name for path in PACKAGE.iterdir() if path.name != "__pycache__")
    assert len(entries) <= MOST_ENTRIES, entries


@pytest.mark.slow
def test_only_public_names_and_folders_can_be_reached_from_the_root() -> None:
    folders = {path.stem for path in PACKAGE.iterdir()}
    inner = {path.stem for path in MODULES if path.parent != PACKAGE} - folders
    names = _fresh(PUBLIC_NAMES, sorted({*inner, "blocks", "pairs"}))
    public = set(names["all"])
    assert names["missing"] == []
    assert set(names["inner"]) <= public
    assert public <= set(names["shown"]) <= public | folders | PLUMBING


def test_an_unknown_name_of_the_root_is_an_attribute_error() -> None:
    import patchfold

    with pytest.raises(AttributeError, match="no attribute 'blocks'"):
        patchfold.blocks  # noqa: B018


def _layers() -> list[str]:
    """Read the layers of the first contract of import-linter, from the first to the last."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return settings["tool"]["importlinter"]["contracts"][0]["layers"][::-1]


def _allowed(name: str, layers: list[str]) -> set[str]:
    """Name what may be loaded with a layer: all before it."""
    place = next(i for i, layer in enumerate(layers) if name in layer.translate(SIGNS).split())
    return {other for layer in layers[:place] for other in layer.translate(SIGNS).split()}


def _layer_of(module: str, names: list[str]) -> str | None:
    """Name the layer of a module; the root belongs to none."""
    inner = module.removeprefix("patchfold.")
    return next((name for name in names if f"{inner}.".startswith(f"{name}.")), None)


def _path(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return 0 if ast.get_docstring(node, clean=False) is None else _lines(node.body[0])


def _fresh(script: str, argument: list[str]) -> dict[str, list[str]]:
    """Run a script in a new interpreter and read the JSON it prints."""
    command = [sys.executable, "-c", script, json.dumps(argument)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
