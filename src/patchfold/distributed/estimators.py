"""Fits of estimators on a Dask cluster, and the places of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from patchfold.base.engine import is_collection
from patchfold.base.validation import check_columns, is_sparse
from patchfold.distributed.building import build_on_cluster
from patchfold.distributed.connection import Cluster, check_installed, connected
from patchfold.distributed.placing import NewRows, places_of_fitted, places_of_new
from patchfold.distributed.rows import as_given, read, sampled, share_out
from patchfold.graph.lengths import has_patches
from patchfold.neighbors.neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from patchfold.base.types import Floats
    from patchfold.distributed.graph import ClusterGraph
    from patchfold.distributed.rows import Chunks, Shared

# n_neighbors="auto" is chosen on about SAMPLE rows, which are gathered in this process.
SAMPLE = 2000


def fit(estimator: Any, X: Any, client: Any = "auto", y: Any = None) -> Any:
    """Fit an estimator where the rows of ``X`` are: on the workers of a Dask cluster.

    ``estimator.fit(X, y)`` does the same where ``X`` is of dask, or the parameter ``engine`` is a
    client.

    Parameters
    ----------
    estimator : PatchIsomap, PatchLLE, PatchEigenmaps or PatchTSNE
        It keeps its parameters; ``engine`` may be anything.
    X : array or data frame of dask, or array of shape (n_samples, n_features)
    client : distributed.Client or "auto"
        Whose cluster to use; "auto" means the client of this process.
    y : array of shape (n_samples,) or None
        Classes for ``supervision``, also as an array of dask. They are gathered.

    Returns
    -------
    estimator
        With an ``embedding_`` in what ``X`` was: an array of dask with the same chunks, or one of
        numpy. Its rows, patches and graph stay on the workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from patchfold import PatchIsomap, distributed
    >>> from patchfold.datasets import make_manifold
    >>> rows = da.from_array(make_manifold("swiss-roll", 300, random_state=0).X, chunks=(100, 3))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     distributed.fit(PatchIsomap(landmarks=50), rows, client).embedding_.compute().shape
    (300, 2)
    """
    check_installed()
    cluster = Cluster(connected(client, X))
    estimator._check_parameters()
    _refuse(estimator)
    cluster.check()
    if is_collection(X):
        check_columns(estimator, _columns(X), reset=True)
    elif is_sparse(X):
        raise ValueError(
            "a sparse X does not work on a cluster; use engine='threads', or reduce it, e.g. with "
            "sklearn.decomposition.TruncatedSVD."
        )
    else:
        X = estimator._validate(X, reset=True)
    estimator._forget()
    estimator.fit_report_ = {}
    shared = _shared_out(estimator, cluster, X, y)
    setting = estimator._decided(shared.n, len(shared.given), given=False)
    graph = build_on_cluster(cluster, shared, setting, estimator._stage)
    estimator._on_cluster = _embedded(estimator, graph)
    estimator.patch_graph_, estimator.map_ = graph, None
    return estimator


def _refuse(estimator: Any) -> None:
    """Refuse parameters that a cluster has no way for, with what to do instead."""
    plain = not has_patches(estimator.divergence) and estimator.supervision is not None
    refused = {
        "divergence": (estimator._precomputed(), "give points and another divergence"),
        "graph": (estimator.graph != "neighbors", "use graph='neighbors'"),
        "supervision": (plain, "use a divergence of patches"),
        "out_of_sample": (not estimator._by_graph(), "use 'nystrom'"),
        "metric": (
            estimator.metric != "euclidean",
            ("centre rows and " if estimator.metric == "correlation" else "")
            + "divide rows by their length first",
        ),
        "knn": (not isinstance(estimator.knn, str), "use 'auto', 'exact' or 'approximate'"),
    }
    for name, (unknown, remedy) in refused.items():
        if unknown:
            raise ValueError(
                f"{name}={short(getattr(estimator, name))} does not work on a cluster; {remedy}, "
                "or fit a sample with engine='threads'."
            )


def _shared_out(estimator: Any, cluster: Cluster, X: Any, y: Any) -> Shared:
    """Share the rows out to parts, and choose ``n_neighbors`` where it is left to the data."""
    with estimator._stage("sharing out rows"):
        given = read(cluster, X)
        labels = y.compute() if is_collection(y) and estimator.supervision is not None else y
        codes = estimator._codes(given, labels)
        if codes is not None and codes.dtype.kind == "f":
            raise ValueError(
                "a measured y does not work on a cluster; give classes, e.g. bins by "
                "sklearn.preprocessing.KBinsDiscretizer, or use engine='threads'."
            )
        # A patch that is given is taken literally where its divergence is the length.
        merge = estimator.patch is None or estimator.lengths != "divergence"
        shared = share_out(cluster, given, merge=merge, codes=codes)
    if isinstance(estimator.n_neighbors, str):
        with estimator._stage("choosing n_neighbors"):
            estimator.n_neighbors_ = _chosen_neighbors(estimator, cluster, given, codes)
    return shared


def _chosen_neighbors(estimator: Any, cluster: Cluster, given: Chunks, codes: Any) -> int:
    """Choose ``n_neighbors`` on a sample, in this process."""
    step = max(1, len(given) // SAMPLE)
    X, y = sampled(cluster, given, step), None
    if codes is not None:
        ends = zip(given.starts, given.sizes, strict=True)
        y = np.concatenate([codes[start : start + size : step] for start, size in ends])
    plain = clone(estimator).set_params(engine="threads", verbose=0)
    return int(plain.fit(X, y).n_neighbors_)


@dataclass(frozen=True, eq=False)
class Embedded:
    """An embedding of a graph on a cluster."""

    graph: ClusterGraph
    # Futures of geodesics to landmarks and of places, part by part, if rows are placed where they
    # are, and what a Triangulation needs beside the geodesics
    paths: list[Any]
    places: list[Any]
    frame: dict[str, Any]
    here: Any  # else an estimator with the embedding of the distinct rows in this process

    def transform(self, estimator: Any, X: Any) -> Any:
        """Map new rows into the embedding: an array of dask if ``X`` is one."""
        graph, cluster = self.graph, self.graph.cluster
        if is_collection(X):
            check_columns(estimator, _columns(X), reset=False)
        else:
            X = estimator._validate(X, reset=False)
        chunks = read(cluster, X, fitted=False)
        new, width = NewRows(graph, chunks), int(estimator.embedding_.shape[1])
        if self.here is None:
            how = {"dtype": graph.dtype, "frame": self.frame}
            known = new.near, new.halo.fetch(self.paths), chunks.starts
            futures = new.mapped(cluster.each(places_of_new, *known, **how), self.places)
            return as_given(cluster, futures, chunks, width, graph.dtype)
        return _as_chunks(self._mapped_here(new, chunks), chunks)

    def _mapped_here(self, new: NewRows, chunks: Chunks) -> Floats:
        """Return the places of new rows in an embedding that is in this process."""
        near, same = new.gathered()
        back = np.append(np.argsort(self.graph.numbers), -1)
        near = Neighborhoods(near.indptr, back[near.indices], near.distances)
        same = back[same]
        mapped: Floats = self.here.embedding_[same]
        left = np.flatnonzero(same < 0)
        if len(left):
            X = None
            if self.here._needs_points():
                X = np.concatenate(self.graph.cluster.get(chunks.futures))[left]
            places = self.here._extend(near[left], X)
            mapped[left] = np.pad(places, ((0, 0), (0, mapped.shape[1] - places.shape[1])))
        return mapped


def _embedded(estimator: Any, graph: ClusterGraph) -> Embedded:
    """Embed where the rows are, or else in this process, which then holds all edges."""
    cluster, shared = graph.cluster, graph.shared
    spanned = min(int(estimator.n_components), len(graph) - 1)
    in_parts = estimator._embed_in_parts(graph, spanned)
    if in_parts is not None:
        paths, frame = in_parts
        places = cluster.each(places_of_fitted, paths, dtype=graph.dtype, frame=frame)
        cluster.wait(places)
        estimator.embedding_ = shared.returned(cluster, places, spanned, graph.dtype)
        return Embedded(graph, paths, places, frame, None)
    with estimator._stage("collecting the graph"):
        collected = graph.collected(with_centres=estimator._needs_points())
    estimator._embed_spanned(collected, merged=len(graph) < len(shared.given))
    if len(shared.given) - len(shared.copies) == 1:
        estimator.embedding_[:] = 0  # a single point, wherever rounding takes its copies
    # As it is now, with the places of distinct rows and their graph.
    here = estimator._copied(patch_graph_=collected, _on_cluster=None)
    estimator.embedding_ = _as_chunks(estimator.embedding_[graph.distinct], shared.given)
    return Embedded(graph, [], [], {}, here)


def _as_chunks(values: Any, chunks: Chunks) -> Any:
    """Return an array of numpy as what the user gave: with chunks of dask, if that had some."""
    if chunks.given is None:
        return values
    return import_module("dask.array").from_array(values, chunks=(chunks.given, -1))


def _columns(X: Any) -> Any:
    """Return something small with the columns of an array or a data frame of dask."""
    if hasattr(X, "to_dask_array"):
        return import_module("dask.dataframe.dispatch").make_meta(X)
    if X.ndim != 2:
        raise ValueError(f"X is a dask array of shape {X.shape}; give rows and columns.")
    return np.empty((1, int(X.shape[1])))
