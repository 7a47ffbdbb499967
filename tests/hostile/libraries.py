"""Tensors of torch (where it is installed) and AnnData, good and bad.

A tensor has to give the bits of the array, or to be refused. What the functions for an AnnData
write has to be sound, and a refusal writes nothing.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .data import NEW, ROWS, VALUES, sheet
from .settings import build
from .soundness import dense, must

if TYPE_CHECKING:
    from collections.abc import Callable

    Random = np.random.Generator
    Array = np.ndarray[Any, Any]


# ------------------------------------------------------------------------------------------- torch


def _tensor(points: Array) -> Any:
    import torch

    return torch.from_numpy(points.copy())


def _negative_bit(points: Array) -> Any:
    return (_tensor(points) * 1j).conj().imag


TENSORS: dict[str, Callable[[Array], Any]] = {
    "tensor": _tensor,
    "tensor-strided": lambda points: _tensor(points.T.copy()).T,
    "tensor-expanded": lambda points: _tensor(points)[:, :1].expand(-1, 3),
    "tensor-float32": lambda points: _tensor(points).float(),
    "tensor-float16": lambda points: _tensor(points).half(),
    "tensor-int": lambda points: (40 * _tensor(points)).int(),
    "tensor-bool": lambda points: _tensor(points) > 0.5,
}
BAD_TENSORS: dict[str, Callable[[Array], Any]] = {
    "tensor-with-gradient": lambda points: _tensor(points).requires_grad_(),
    "tensor-bfloat16": lambda points: _tensor(points).bfloat16(),
    "tensor-sparse": lambda points: _tensor(points).to_sparse(),
    "tensor-csr": lambda points: _tensor(points).to_sparse_csr(),
    "tensor-nowhere": lambda points: _tensor(points).to("meta"),
    "tensor-complex": lambda points: _tensor(points) + 1j,
    "tensor-negative-bit": _negative_bit,
    "tensor-nan": lambda points: _tensor(np.where(points > 1, np.nan, points)),
    "tensor-flat": lambda points: _tensor(points).ravel(),
}
TORCH: tuple[str, ...] = (*TENSORS, *BAD_TENSORS) if find_spec("torch") else ()

# ----------------------------------------------------------------------------------------- AnnData


def _cells(X: Any, **parts: Any) -> Any:
    from anndata import AnnData

    return AnnData(X, **parts)


def _view(points: Array) -> Any:
    return _cells(np.concatenate([points, points + 9]))[: len(points)]


def _same_names(points: Array) -> Any:
    adata = _cells(points)
    adata.obs_names = ["cell"] * len(points)
    return adata


def _many_genes(points: Array) -> Any:
    return _cells(np.tile(points, (1, 30)))


CELLS: dict[str, Callable[[Array], Any]] = {
    "plain": _cells,
    "float32": lambda points: _cells(points.astype(np.float32)),
    "counts": lambda points: _cells(np.rint(20 * np.abs(points)).astype(np.int64)),
    "sparse": lambda points: _cells(sparse.csr_matrix(np.where(points > 1, points, 0))),
    "view": _view,
    "same-names": _same_names,
    "pca": lambda points: _cells(np.tile(points, (1, 30)), obsm={"X_pca": points}),
}
BAD_CELLS: dict[str, Callable[[Array], Any]] = {
    "nan": lambda points: _cells(np.where(points > 1, np.nan, points)),
    "sparse-nan": lambda points: _cells(sparse.csr_matrix(np.where(points > 1, np.nan, 0))),
    "one-cell": lambda points: _cells(points[:1]),
    "no-cells": lambda points: _cells(points[:0]),
    "no-genes": lambda points: _cells(points[:, :0]),
    "no-x": lambda points: _cells(None, obsm={"other": points}),
    "many-genes": _many_genes,
    "an-array": lambda points: points,
    "a-frame": lambda points: _cells(points).to_df(),
}
FUNCTIONS = ("graph", "isomap", "tsne", "bridges")
ANNDATA = (
    *(f"{function}:{cells}" for cells in (*CELLS, *BAD_CELLS, *VALUES) for function in FUNCTIONS),
    "isomap:bad-layer",
    "isomap:bad-use-rep",
    "isomap:bad-n-pcs",
    "bridges:bad-groupby",
)
BAD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "bad-layer": {"layer": "counts"},
    "bad-use-rep": {"use_rep": "X_umap"},
    "bad-n-pcs": {"n_pcs": 9},
    "bad-groupby": {"groupby": "type"},
}
NAMES = (*TORCH, *ANNDATA)


def run(name: str, word: str, random: Random) -> None:
    """Run a case; raise SilentlyWrongError where a result is not sound."""
    if name in TORCH:
        _fit_tensor(name, word, sheet(random))
        return
    function, what = name.split(":")
    points = VALUES[what](random)[:-NEW] if what in VALUES else sheet(random, ROWS)
    make = {**CELLS, **BAD_CELLS}.get(what, _cells)
    adata = make(points)
    arguments = BAD_ARGUMENTS.get(what, {})
    before = _written(adata)
    try:
        _call(function, adata, **arguments)
    except Exception:
        must(_written(adata) == before, "a refusal leaves something behind")
        raise
    must(what not in BAD_CELLS and not arguments, "it accepts what it has to refuse")
    _check_written(function, adata)


def _fit_tensor(name: str, word: str, points: Array) -> None:
    X, new = points[:ROWS], points[ROWS:]
    bad = name in BAD_TENSORS
    wrap = BAD_TENSORS[name] if bad else TENSORS[name]
    plain = [points, points] if bad else [np.asarray(wrap(part)) for part in (X, new)]
    model = build(word, plain[0]).fit(wrap(X))
    must(not bad, "fit accepts what it has to refuse")
    if name == "tensor-float16":
        plain = [part.astype(np.float64) for part in plain]
    expected = build(word, plain[0]).fit(plain[0])
    found = [dense(model.transform(wrap(part))) for part in (X, new)]
    wanted = [dense(expected.transform(part)) for part in plain]
    must(all(map(np.array_equal, found, wanted)), "a tensor has other places than its array")


def _call(function: str, adata: Any, **arguments: Any) -> None:
    from patchfold import anndata

    if function == "tsne":
        arguments |= {"n_iter": 10, "perplexity": 5.0}
    else:
        arguments |= {"n_neighbors": 9}
    getattr(anndata, function)(adata, **arguments)


def _written(adata: Any) -> Any:
    """Return the names of all that is written in an AnnData."""
    if not hasattr(adata, "obsm"):
        return None
    return {part: sorted(getattr(adata, part).keys()) for part in ("obs", "obsm", "obsp", "uns")}


def _check_written(function: str, adata: Any) -> None:
    n = adata.n_obs
    numbers = []
    if function in {"isomap", "tsne"}:
        places = adata.obsm[f"X_patch_{function}"]
        must(places.shape == (n, 2), f"an embedding of shape {places.shape} for {n} cells")
        trust = adata.obs["patch_trust" if function == "isomap" else "patch_tsne_trust"]
        must(((trust >= 0) & (trust <= 1)).all(), "trust is not between 0 and 1")
        numbers.append(places)
    if function in {"graph", "isomap"}:
        lengths, weights = (adata.obsp[f"patch_{x}"] for x in ("distances", "connectivities"))
        must(lengths.shape == weights.shape == (n, n), "a graph of another number of cells")
        must((lengths.data >= 0).all(), "a length is negative")
        must(((weights.data > 0) & (weights.data <= 1)).all(), "a weight is not in (0, 1]")
        numbers += [lengths.data, weights.data]
    if function == "bridges":
        numbers.append(adata.obs["patch_bridge"].to_numpy())
    must(all(np.isfinite(part).all() for part in numbers), "it writes NaN or infinity")
