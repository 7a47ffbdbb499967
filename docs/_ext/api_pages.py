"""Write the pages of the API from what the package makes public, before Sphinx reads them.

A class of the root has a page of its own, and so has every public module. A name that is added to
``__all__`` is on the site with the next build. So have a few names that a user gets from a method.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import patchfold

# The classes and functions of the root in the order a reader meets them; others follow.
GROUPS = {
    "Embeddings": ["PatchIsomap", "PatchLLE", "PatchEigenmaps", "PatchTSNE"],
    "The graph and its patches": [
        "PatchSpace",
        "GaussianPatch",
        "Patches",
        "graph.patch_graph.PatchGraph",
        "analysis.bridges.Bridges",
        "graph.geodesics.shortest_paths",
    ],
    "New points and strangers": ["GRNN", "PatchOutliers"],
    "Tables": ["tables.TablePreparation"],
    "Looking": ["explore"],
}
# Public names of modules that are not in the root's list, but that a user meets.
FURTHER_MODULES = ["distributed", "explorer", "papers.tables"]
# A constant has no docstring: Python would show that of int, str or tuple.
CONSTANTS = {
    "divergences.Divergence": "A function of two :class:`~patchfold.Patches` of equal length.",
    "divergences.NAMES": "The names of all divergences, those of :func:`register` included.",
    "neighbors.DEFAULT_NEIGHBORS": "The number of neighbours k, if you give none.",
    "plotting.CHOICE_COLOR": "The colour that marks a choice.",
    "plotting.CLASS_COLORS": "The colours of classes: Okabe and Ito's, then shades between them.",
    "plotting.CURVE_COLOR": "The colour of curves.",
    "selection.NAMES": "The names of all criteria.",
}


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx when the pages are written and which members they leave out."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True}


def skip_inherited(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn documents: get_params, set_output and their like."""
    home = getattr(inspect.unwrap(member), "__module__", None) or ""
    return True if home.split(".")[0] not in {"patchfold", ""} else None


def write_pages(app: Any) -> None:
    """Write one page a class or module, and the table of all."""
    folder = Path(app.srcdir, "api")
    folder.mkdir(exist_ok=True)
    modules = [name for name in patchfold.__all__ if inspect.ismodule(getattr(patchfold, name))]
    modules = sorted({*modules, *FURTHER_MODULES})
    grouped = [name for group in GROUPS.values() for name in group]
    further = [name for name in patchfold.__all__ if name not in {*modules, *grouped}]
    groups = GROUPS | ({"Further": further} if further else {})

    written = {folder / "index.rst"}
    index = [_title("API", "="), INTRODUCTION]
    for title, group in groups.items():
        index += [_title(title, "-"), _table([f"~patchfold.{name}" for name in group])]
        written |= {_write(folder / f"{_last(name)}.rst", _object_page(name)) for name in group}
    index += [_title("Modules", "-"), _module_table(modules)]
    written |= {_write(folder / f"{name}.rst", _module_page(name)) for name in modules}
    pages = sorted(path.stem for path in written if path.stem != "index")
    ordered = [_last(name) for group in groups.values() for name in group]
    ordered += [name for name in pages if name not in ordered]
    index.append(".. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in ordered))
    _write(folder / "index.rst", "\n".join(index))
    for stale in set(folder.glob("*.rst")) - written:
        stale.unlink()


INTRODUCTION = """
Every public name. Estimators follow scikit-learn: ``fit``, ``fit_transform``, ``transform``,
``get_params``, ``set_params`` and ``set_output`` work as they do there.
"""


def _last(name: str) -> str:
    """Return what stands after the last dot."""
    return name.rpartition(".")[2]


def _object_page(name: str) -> str:
    home, _, last = f"patchfold.{name}".rpartition(".")
    value = getattr(import_module(home), last)
    parts = [_title(last, "="), f".. currentmodule:: {home}\n\n{_directive(last, value)}"]
    if inspect.isclass(value) or inspect.isfunction(value):
        parts.append(_title("Examples in the gallery", "-"))
        parts.append(f".. minigallery:: patchfold.{name}\n")
    return "\n".join(parts)


def _module_page(name: str) -> str:
    module = import_module(f"patchfold.{name}")
    full = f"patchfold.{name}"
    public = [key for key in _public(module) if not inspect.ismodule(getattr(module, key))]
    rooted = [key for key in public if key in patchfold.__all__]  # these have pages of their own
    here = [key for key in public if key not in rooted]
    fixed = [
        key for key in here if not callable(getattr(module, key)) or f"{name}.{key}" in CONSTANTS
    ]
    here = [key for key in here if key not in fixed]
    parts = [
        _title(full, "="),
        f".. automodule:: {full}\n   :no-members:\n",
        f".. currentmodule:: {full}\n",
        _table([f"~patchfold.{key}" for key in rooted] + here),
        *(_directive(key, getattr(module, key)) for key in here),
        *(f".. py:data:: {key}\n\n   {CONSTANTS[f'{name}.{key}']}\n" for key in fixed),
    ]
    return "\n".join(parts)


def _public(module: Any) -> list[str]:
    """Return the public names of a module: those it lists, or else those it defines."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    own = module.__name__
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == own
    ]


def _directive(name: str, value: Any) -> str:
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n   :inherited-members:\n"
    if inspect.isfunction(value):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n"


def _table(names: list[str]) -> str:
    return ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {name}\n" for name in names)


def _module_table(modules: list[str]) -> str:
    rows = []
    for name in modules:
        summary = (inspect.getdoc(import_module(f"patchfold.{name}")) or "").split("\n\n")[0]
        rows.append(
            f"   * - :doc:`patchfold.{name} <{name}>`\n     - {' '.join(summary.split())}\n"
        )
    return ".. list-table::\n   :widths: 30 70\n\n" + "".join(rows)


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _write(path: Path, text: str) -> Path:
    # Left alone where nothing changed: Sphinx reads again what is newer.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path
