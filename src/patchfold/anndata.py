"""Single cells: graphs, embeddings and bridges of an AnnData, in the manner of scanpy.

Every function reads a representation of the cells and writes what it finds into the same object,
where scanpy's functions look for it: ``sc.tl.leiden(adata, neighbors_key="patch")``,
``sc.tl.umap``, ``sc.tl.paga`` and ``sc.pl.embedding(adata, "patch_isomap")`` work on it. Needs
anndata, the extra ``patchfold[anndata]``; scanpy itself is not needed.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from patchfold.base.memory import check_memory
from patchfold.base.validation import check_count, ignored_warnings, is_sparse, require
from patchfold.embedding import PatchIsomap, PatchSpace, PatchTSNE
from patchfold.graph.edges import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from pandas import DataFrame
    from scipy.sparse import csr_array

    from patchfold.analysis.bridges import Bridges
    from patchfold.base.types import Auto, Doubles, Floats


# With more variables than this, scanpy's principal components stand for them, as in scanpy.
MOST_VARIABLES = 50

# Columns of .var with the names that people use, where .var_names are numbers of a catalogue.
SYMBOLS = ("feature_name", "gene_symbols", "gene_symbol", "gene_name", "gene_names", "symbol")
# Names that a message suggests.
MOST_SUGGESTED = 5

# What names begin with, unless key_added says otherwise.
KEY = "patch"

# The connectivity of two cells falls with their length, beside the lengths to this neighbour of
# each (Zelnik-Manor and Perona, 2004).
SCALE_NEIGHBOR = 7


def graph(
    adata: AnnData,
    *,
    n_neighbors: int | Auto = 15,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    random_state: Any = 0,
    key_added: str = KEY,
    copy: bool = False,
    **parameters: Any,
) -> AnnData | None:
    """Write the graph of patches, as ``sc.pp.neighbors`` writes that of points.

    Parameters
    ----------
    adata : AnnData
        Cells by genes.
    n_neighbors : int or "auto", default=15
        Degree of the graph; a cell is not its own neighbour.
    use_rep : str or None
        Which representation to use: a key of ``.obsm``, or ``"X"``. None takes ``.X`` with up to 50
        variables, and ``.obsm["X_pca"]`` with more.
    layer : str or None
        A layer to use instead of ``.X``.
    n_pcs : int or None
        Use the first ``n_pcs`` columns of the representation only, such as principal components.
    random_state : int, RandomState or None, default=0
    key_added : str, default="patch"
        What the names of all that is written begin with.
    copy : bool, default=False
        Whether to return a copy instead of writing into ``adata``.
    **parameters
        Further parameters of :class:`~patchfold.PatchSpace`, such as ``divergence``.

    Returns
    -------
    AnnData or None
        None, or the copy. Written are

        - ``.obsp["patch_distances"]``: the lengths of edges;
        - ``.obsp["patch_connectivities"]``: ``exp(-d^2 / (s_i s_j))`` for a length ``d`` and the
          lengths ``s`` to the seventh neighbour of each end;
        - ``.uns["patch"]``: where these are, and the parameters.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import patchfold
    >>> adata = AnnData(load_iris().data)
    >>> patchfold.anndata.graph(adata, n_neighbors=30)
    >>> adata.uns["patch"]["connectivities_key"]
    'patch_connectivities'
    """
    adata = _target(adata, copy=copy)
    X, read = _representation(adata, use_rep, layer, n_pcs)
    space = PatchSpace(n_neighbors=n_neighbors, random_state=random_state, **parameters).fit(X)
    with ignored_warnings():  # of a view that becomes an object of its own
        _write_graph(adata, space, read, key_added)
    return adata if copy else None


def isomap(
    adata: AnnData,
    n_components: int = 2,
    *,
    n_neighbors: int | Auto = 15,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    random_state: Any = 0,
    key_added: str = KEY,
    copy: bool = False,
    **parameters: Any,
) -> AnnData | None:
    """Write a :class:`~patchfold.PatchIsomap` of the cells, its graph, and how far to trust it.

    Parameters
    ----------
    adata : AnnData
        Cells by genes.
    n_components : int, default=2
        Dimensions of the embedding.
    n_neighbors, use_rep, layer, n_pcs, random_state, key_added, copy
        As in :func:`graph`.
    **parameters
        Further parameters of :class:`~patchfold.PatchIsomap`, such as ``landmarks``.

    Returns
    -------
    AnnData or None
        None, or the copy. Written are what :func:`graph` writes, and

        - ``.obsm["X_patch_isomap"]``: the embedding; ``sc.pl.embedding(adata, "patch_isomap")``
          draws it;
        - ``.obs["patch_trust"]``: how far the neighbours of a cell in the embedding are its
          neighbours in the data, from 0 to 1.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import patchfold
    >>> adata = AnnData(load_iris().data)
    >>> patchfold.anndata.isomap(adata, n_neighbors=30)
    >>> adata.obsm["X_patch_isomap"].shape, "patch_trust" in adata.obs
    ((150, 2), True)
    """
    adata = _target(adata, copy=copy)
    X, read = _representation(adata, use_rep, layer, n_pcs)
    estimator = PatchIsomap(
        n_components, n_neighbors=n_neighbors, random_state=random_state, **parameters
    )
    _embed(adata, estimator.fit(X), read, key_added, "isomap", f"{key_added}_trust")
    return adata if copy else None


def tsne(
    adata: AnnData,
    n_components: int = 2,
    *,
    perplexity: float = 30.0,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    random_state: Any = 0,
    key_added: str = KEY,
    copy: bool = False,
    **parameters: Any,
) -> AnnData | None:
    """Write a :class:`~patchfold.PatchTSNE` of the cells, and how far to trust it.

    Parameters
    ----------
    adata : AnnData
        Cells by genes.
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, default=30.0
        About how many neighbours count.
    use_rep, layer, n_pcs, random_state, key_added, copy
        As in :func:`graph`.
    **parameters
        Further parameters of :class:`~patchfold.PatchTSNE`, such as ``n_neighbors``.

    Returns
    -------
    AnnData or None
        None, or the copy. Written are

        - ``.obsm["X_patch_tsne"]``: the embedding;
        - ``.obs["patch_tsne_trust"]``: as ``"patch_trust"`` of :func:`isomap`.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import patchfold
    >>> adata = AnnData(load_iris().data)
    >>> patchfold.anndata.tsne(adata, n_iter=50)
    >>> adata.obsm["X_patch_tsne"].shape
    (150, 2)
    """
    adata = _target(adata, copy=copy)
    X, _ = _representation(adata, use_rep, layer, n_pcs)
    estimator = PatchTSNE(
        n_components, perplexity=perplexity, random_state=random_state, **parameters
    )
    _embed(adata, estimator.fit(X), None, key_added, "tsne", f"{key_added}_tsne_trust")
    return adata if copy else None


def bridges(
    adata: AnnData,
    groupby: str | None = None,
    *,
    min_score: float = 1.0,
    n_neighbors: int | Auto = 15,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    random_state: Any = 0,
    key_added: str = KEY,
    **parameters: Any,
) -> Bridges:
    """Return the suspicious edges between cells, and write how suspicious those of each cell are.

    Parameters
    ----------
    adata : AnnData
        Cells by genes.
    groupby : str or None
        A column of ``.obs``, such as the types of cells; the table then names those of both ends.
    min_score : float, default=1.0
        The least score of an edge that is listed; 0 lists all edges.
    n_neighbors, use_rep, layer, n_pcs, random_state, key_added
        As in :func:`graph`.
    **parameters
        Further parameters of :class:`~patchfold.PatchSpace`, such as ``divergence``.

    Returns
    -------
    Bridges
        As :meth:`patchfold.PatchSpace.bridges` returns them. Written are

        - ``.uns["patch_bridges"]``: the table as a data frame, with the names of cells;
        - ``.obs["patch_bridge"]``: the highest score of the edges of each cell, 0 for none.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from sklearn.datasets import load_iris
    >>> import patchfold
    >>> iris = load_iris(as_frame=True)
    >>> adata = AnnData(iris.data.to_numpy())
    >>> adata.obs["species"] = iris.target.to_numpy()
    >>> found = patchfold.anndata.bridges(adata, "species", n_neighbors=30)
    >>> table = adata.uns["patch_bridges"]
    >>> table[["source", "target", "source_species", "target_species"]].head(3)
      source target  source_species  target_species
    0     25     98               0               1
    """
    adata = _target(adata, copy=False)
    if groupby is not None and groupby not in adata.obs:
        raise ValueError(
            f"groupby={groupby!r} is no column of adata.obs; choose from "
            f"{', '.join(map(repr, adata.obs.columns)) or 'none, there are no columns'}."
        )
    X, _ = _representation(adata, use_rep, layer, n_pcs)
    space = PatchSpace(n_neighbors=n_neighbors, random_state=random_state, **parameters).fit(X)
    found = space.bridges(min_score)
    labels = None if groupby is None else adata.obs[groupby].to_numpy()
    table = found.to_frame(names=adata.obs_names.to_numpy(), labels=labels)
    table = table.rename(
        columns={f"{end}_label": f"{end}_{groupby}" for end in ("source", "target")}
    )
    worst = np.zeros(adata.n_obs)
    for end in (found.source, found.target):
        np.maximum.at(worst, end, found.score)
    with ignored_warnings():  # of a view that becomes an object of its own
        adata.obs[f"{key_added}_bridge"] = worst
        adata.uns[f"{key_added}_bridges"] = table
    return found


def genes(adata: AnnData, names: str | Sequence[str], *, layer: str | None = None) -> DataFrame:
    """Return the values of genes, to colour a page or a picture by.

    Parameters
    ----------
    adata : AnnData
        Cells by genes.
    names : str or sequence of str
        Names of ``.var_names``, or of a column of ``.var`` with symbols, such as
        ``"feature_name"``.
    layer : str or None
        A layer to take the values from, or ``"X"``. None takes ``.raw`` where there is one, as
        scanpy does, and else ``.X``.

    Returns
    -------
    DataFrame
        A column for each name, with the names of cells as its index.

    Examples
    --------
    >>> from anndata import AnnData
    >>> import numpy as np
    >>> import patchfold
    >>> adata = AnnData(np.eye(3))
    >>> adata.var_names = ["CD3D", "CD8A", "MS4A1"]
    >>> patchfold.anndata.genes(adata, ["CD8A"])
       CD8A
    0   0.0
    1   1.0
    2   0.0
    """
    adata = _target(adata, copy=False)
    from pandas import DataFrame

    found = expression(adata, layer)
    if found is None:
        raise ValueError(
            "adata has no values of genes in memory; use adata.to_memory(), or name a layer."
        )
    wanted = [names] if isinstance(names, str) else list(names)
    values = {name: found.column(name) for name in wanted}
    return DataFrame(values, index=adata.obs_names.copy())


# -------------------------------------------------------------------------------- what is read


@dataclass(frozen=True, eq=False)
class Expression:
    """The values of the variables of an AnnData, found by name."""

    names: list[str]  # as the AnnData has them
    symbols: list[str]  # what people call them; the names where there is nothing else
    values: Any  # cells by variables: an array or a sparse matrix

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self.symbols

    def column(self, name: str) -> Doubles:
        """Return the values of one variable."""
        if name not in self:
            known = [*self.names, *self.symbols]
            lower = {one.lower(): one for one in known}
            near = difflib.get_close_matches(name.lower(), lower, n=MOST_SUGGESTED)
            some = [lower[one] for one in near] or self.titles[:MOST_SUGGESTED]
            words = "similar are" if near else "there are"
            raise ValueError(
                f"names={name!r} is none of the {len(self.names)} genes; "
                f"{words} {', '.join(map(repr, some))}."
            )
        place = (self.names if name in self.names else self.symbols).index(name)
        column = self.values[:, [place]]
        return np.asarray(column.toarray() if is_sparse(column) else column, dtype=float).ravel()

    @property
    def titles(self) -> list[str]:
        """Names to show: the symbol, and the name in brackets where it is another."""
        pairs = zip(self.symbols, self.names, strict=True)
        return [name if symbol == name else f"{symbol} ({name})" for symbol, name in pairs]


def expression(adata: Any, layer: str | None = None) -> Expression | None:
    """Return the values of genes: of a layer, else of ``.raw``, else of ``.X``.

    None where there are none, or where they are not in memory.
    """
    source = adata
    if layer is not None and layer != "X":
        values = adata.layers[_known("layer", layer, adata.layers, "X")]
    elif layer is None and adata.raw is not None:
        source, values = adata.raw, adata.raw.X
    else:
        values = adata.X
    if not (isinstance(values, np.ndarray) or is_sparse(values)):
        return None
    names = [str(name) for name in source.var_names]
    key = next((key for key in SYMBOLS if key in source.var), None)
    symbols = names if key is None else [str(symbol) for symbol in source.var[key]]
    return Expression(names, symbols, values)


def _target(adata: Any, *, copy: bool) -> AnnData:
    """Return the object to write into."""
    kind = require("anndata", "patchfold.anndata", extra="anndata").AnnData
    if not isinstance(adata, kind):
        raise TypeError(
            f"adata is a {type(adata).__name__}; give an AnnData, or an array to the estimators, "
            "such as patchfold.PatchIsomap."
        )
    return adata.copy() if copy else adata


def _representation(
    adata: AnnData, use_rep: str | None, layer: str | None, n_pcs: int | None
) -> tuple[Floats, dict[str, Any]]:
    """Return the points to fit, and what scanpy notes down about where they are from."""
    if use_rep is not None and layer is not None:
        raise ValueError(
            f"use_rep={use_rep!r} and layer={layer!r} exclude each other; give one of them."
        )
    if use_rep is None and layer is None:
        use_rep = _default(adata)
    read: dict[str, Any] = {"use_rep": "X" if layer is not None else use_rep}
    if layer is not None:
        read["layer"] = layer
        X = adata.layers[_known("layer", layer, adata.layers)]
    elif use_rep == "X":
        X = adata.X
    else:
        X = adata.obsm[_known("use_rep", use_rep, adata.obsm, "X")]
    X = _dense(X, f"layer={layer!r}" if layer is not None else f"use_rep={use_rep!r}")
    if n_pcs is not None:
        if check_count("n_pcs", n_pcs) > X.shape[1]:
            raise ValueError(
                f"n_pcs={n_pcs} is more than the {X.shape[1]} columns of the representation; lower "
                "it, or compute more components."
            )
        read["n_pcs"] = int(n_pcs)
        X = X[:, :n_pcs]
    return X, read


def _default(adata: AnnData) -> str:
    if adata.n_vars <= MOST_VARIABLES:
        return "X"
    if "X_pca" not in adata.obsm:
        raise ValueError(
            f"adata has {adata.n_vars} variables and no .obsm['X_pca']; run scanpy.pp.pca(adata) "
            "first, or say use_rep='X' to use all of them."
        )
    return "X_pca"


def _known(parameter: str, name: Any, there: Any, *others: str) -> Any:
    """Refuse a key that does not exist, and name those that do."""
    if name not in there:
        keys = ", ".join(map(repr, [*others, *there.keys()])) or "nothing, there are none"
        raise ValueError(f"{parameter}={name!r} is not in adata; choose from {keys}.")
    return name


def _dense(X: Any, what: str) -> Floats:
    """Return an array in memory; what lies in a file or is not there is refused."""
    if X is None:
        raise ValueError(f"{what} is empty: adata has no .X; name another representation.")
    if is_sparse(X):
        rows, columns = X.shape
        remedy = "use principal components instead: scanpy.pp.pca(adata), use_rep='X_pca'"
        check_memory(X.dtype.itemsize * rows * columns, f"{what} as a dense matrix", remedy)
        return np.asarray(X.toarray())
    if hasattr(X, "iloc"):  # .obsm may hold data frames
        return np.asarray(X.to_numpy())
    if not isinstance(X, np.ndarray):
        raise TypeError(
            f"{what} is a {type(X).__name__} that is not in memory; use adata.to_memory(), or a "
            "representation of .obsm."
        )
    return np.asarray(X)


# -------------------------------------------------------------------------------- what is written


def _embed(
    adata: AnnData, fitted: Any, read: dict[str, Any] | None, key: str, method: str, trust: str
) -> None:
    """Write an embedding and how far to trust it; its graph too, where ``read`` is given."""
    n = adata.n_obs
    trusted = fitted.trust(min(15, n - 2)) if n > 2 else np.ones(n)  # there is no other neighbour
    with ignored_warnings():  # of a view that becomes an object of its own
        adata.obsm[f"X_{key}_{method}"] = fitted.embedding_
        adata.obs[trust] = trusted
        if read is not None:
            _write_graph(adata, fitted, read, key)


def _write_graph(adata: AnnData, fitted: Any, read: dict[str, Any], key: str) -> None:
    """Write a graph where scanpy looks for neighbours."""
    lengths = fitted.graph_
    adata.obsp[f"{key}_distances"] = csr_matrix(lengths)
    adata.obsp[f"{key}_connectivities"] = _connectivities(lengths)
    degree = fitted.n_neighbors_
    if degree is None:  # with a radius
        degree = int(np.ceil(np.diff(lengths.indptr).mean()))
    seed = fitted.random_state
    adata.uns[key] = {
        "connectivities_key": f"{key}_connectivities",
        "distances_key": f"{key}_distances",
        "params": {
            "n_neighbors": degree,
            "method": "patchfold",
            "metric": "euclidean",  # what scanpy compares parts of the graph by
            "divergence": fitted.divergence if isinstance(fitted.divergence, str) else "callable",
            "random_state": int(seed) if isinstance(seed, int | np.integer) else -1,
            **read,
        },
    }


def _connectivities(lengths: csr_array) -> csr_matrix:
    """Return weights from 0 to 1: ``exp(-d^2 / (s_i s_j))``, 1 at length zero."""
    near = rows_of(lengths)
    place = near.indptr[:-1] + np.minimum(near.degrees, SCALE_NEIGHBOR) - 1
    scale = near.distances[place].astype(np.float64)
    i, j, d = near.sources, near.indices, near.distances.astype(np.float64)
    squares = scale[i] * scale[j]
    share = np.divide(np.square(d), squares, out=np.zeros_like(d), where=squares > 0)
    share[(squares == 0) & (d > 0)] = np.inf
    # Leiden and others take what is not stored for no edge: none may vanish.
    weights = np.maximum(np.exp(-share), np.finfo(np.float32).tiny)
    return csr_matrix((weights, j, near.indptr), lengths.shape)
