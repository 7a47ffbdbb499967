"""Estimators on a Dask cluster: what they refuse there, fitting, and mapping new rows."""

from __future__ import annotations

from copy import deepcopy
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from patchfold.base.engine import is_client
from patchfold.base.validation import check_columns, warn_user
from patchfold.distributed.connection import Cluster, check_installed, is_collection
from patchfold.distributed.graph import ClusterGraph
from patchfold.distributed.halo import take_rows

if TYPE_CHECKING:
    from patchfold.base.types import Floats
    from patchfold.embedding._base import BasePatchGraph as Estimator
else:
    from sklearn.base import BaseEstimator as Estimator


class FitsOnCluster(Estimator):
    """An embedding whose graph is built on a Dask cluster, if there is one.

    It is embedded there, too, by an estimator that has a way (:meth:`_embed_in_parts`). Others
    embed it in this process, which then holds all edges, but neither points nor patches.
    """

    n_components: Any
    embedding_: Any
    map_: Any
    fit_report_: dict[str, float]

    # The embedding, where this process has computed it; else futures of that of every part.
    _here: Any = None
    _placed_parts: Any = None
    _parted: Any = None  # what places new rows then

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted estimator with equal parameters, and the same client."""
        if not is_client(self.engine):
            return super().__sklearn_clone__()
        plain = type(self)(**{**self.get_params(deep=False), "engine": "auto"})
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(plain, name, deepcopy(getattr(self, name)))
        return clone(plain).set_params(engine=self.engine)

    def __getstate__(self) -> Any:
        """Refuse to be written to a file with what lives on a cluster."""
        if hasattr(self, "patch_graph_") and is_on_cluster(self):
            raise TypeError(
                "a fit on a cluster lives there and cannot be pickled or saved; save its "
                "embedding_, e.g. with dask.array.to_npy_stack, or fit with engine='threads'."
            )
        if is_client(self.engine):
            raise TypeError(
                "a client of a cluster cannot be pickled or saved; set engine='auto' before."
            )
        return super().__getstate__()

    def _fit_on_cluster(self, client: Any, X: Any) -> None:
        """Fit where the rows of ``X`` are."""
        check_installed()
        # Here and not above: most fits need none of it.
        from patchfold.distributed import rows
        from patchfold.distributed.building import build_on_cluster

        self._check_parameters()
        self._check_for_cluster()
        cluster = Cluster(client)
        cluster.check()
        if is_collection(X):
            check_columns(self, _columns(X), reset=True)
        else:
            X = self._validate(X, reset=True)
        self.fit_report_ = {}
        with self._stage("sharing out rows"):
            # A patch that is given is taken literally where its divergence is the length.
            merge = self.patch is None or self.lengths != "divergence"
            shared = rows.share_out(cluster, rows.read(cluster, X), merge=merge)
        n = shared.n
        cut = self._cut_to(n, given=False)
        self.patch_ = self._recipe(n) if self._has_patches() else None
        if cut:
            counted = f"{n} distinct samples" if len(shared.copies) else f"{n} samples"
            warn_user(f"{counted} have fewer neighbours than asked for: {'; '.join(cut)}.")
        graph = build_on_cluster(cluster, shared, self._setting(n), self._stage)
        self.patch_graph_: Any = graph
        self.map_ = None
        self._embed_on_cluster(graph)

    def _check_for_cluster(self) -> None:
        """Refuse parameters that a cluster has no way for, with what to do instead."""
        refused = {
            "divergence": (self._precomputed(), "give points and another divergence"),
            "graph": (self.graph != "neighbors", "use graph='neighbors'"),
            "radius": (self.radius is not None, "use n_neighbors"),
            "supervision": (self.supervision is not None, "leave it at None"),
            "out_of_sample": (not self._by_graph(), "use 'nystrom'"),
            "knn": (not isinstance(self.knn, str), "use 'auto', 'exact' or 'approximate'"),
            "n_neighbors": (isinstance(self.n_neighbors, str), "choose it on a sample"),
        }
        for name, (unknown, remedy) in refused.items():
            if unknown:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} does not work on a cluster; {remedy}, or "
                    "fit a sample with engine='threads'."
                )

    def _embed_on_cluster(self, graph: ClusterGraph) -> None:
        """Embed where the rows are, or else in this process, which then holds all edges."""
        from patchfold.distributed import rows

        cluster, shared = graph.fitted.cluster, graph.fitted.shared
        spanned = min(int(self.n_components), len(graph) - 1)
        self._placed_parts, self._here = self._embed_in_parts(graph, spanned), None
        if self._placed_parts is None:
            with self._stage("collecting the graph"):
                collected = graph.collected()
            self._embed_spanned(collected, merged=len(shared.copies) > 0)
            if rows.are_equal(cluster, shared.chunks):
                self.embedding_[:] = 0  # a single point, wherever rounding takes its copies
            self._here = self.embedding_
            every = self._here if not len(shared.copies) else self._here[shared.numbers(cluster)]
            self.embedding_ = _as_chunks(every, shared.given)
            return
        futures = shared.returned(cluster, self._placed_parts)
        self.embedding_ = rows.as_given(cluster, futures, shared.given, spanned, graph.dtype)

    def _transformed_on_cluster(self, X: Any) -> Any:
        """Map new rows into an embedding on a cluster: an array of dask if ``X`` is one."""
        from patchfold.distributed import rows
        from patchfold.distributed.placing import Placing

        graph: Any = self.patch_graph_
        cluster = graph.fitted.cluster
        if is_collection(X):
            check_columns(self, _columns(X), reset=False)
        else:
            X = self._validate(X, reset=False)
        chunks = rows.read(cluster, X, fitted=False)
        placing = Placing(graph, chunks.futures)
        if self._here is None:
            futures = placing.mapped(self._parted.of_new(placing), self._placed_parts)
            width = int(self.embedding_.shape[1])
            return rows.as_given(cluster, futures, chunks, width, graph.dtype)
        near, same = placing.gathered()
        mapped = self._here[same]
        new = np.flatnonzero(same < 0)
        if len(new):
            places = self._extend(near[new], self._new_points(chunks, new))
            mapped[new] = np.pad(places, ((0, 0), (0, mapped.shape[1] - places.shape[1])))
        return _as_chunks(mapped, chunks)

    def _new_points(self, chunks: Any, new: Any) -> Any:
        """Return some of the new rows, where an embedding in this process asks for them."""
        if not self._needs_points():
            return None
        cluster: Cluster = self.patch_graph_.fitted.cluster
        parts = []
        for start, size, future in zip(chunks.starts, chunks.sizes, chunks.futures, strict=True):
            some = new[(new >= start) & (new < start + size)] - start
            parts += cluster.get([cluster.run(take_rows, future, some)])
        return np.concatenate(parts)

    @property
    def _places(self) -> Floats:
        """The places of the fitted points, in this process."""
        places: Floats = self._here if is_on_cluster(self) else self.embedding_
        return places

    def _embed_in_parts(self, graph: ClusterGraph, n_components: int) -> list[Any] | None:
        """Return futures of the embedding of every part; None where there is no way to do so."""
        return None

    def _needs_points(self) -> bool:
        """Tell whether new points are placed by where they are, and not by lengths alone."""
        return False

    def _by_graph(self) -> bool:
        raise NotImplementedError

    def _embed_spanned(self, graph: Any, *, merged: bool) -> None:
        raise NotImplementedError

    def _extend(self, near: Any, X: Any) -> Floats:
        raise NotImplementedError


def is_on_cluster(estimator: Any) -> bool:
    """Tell whether an estimator was fitted on a cluster."""
    return isinstance(estimator.patch_graph_, ClusterGraph)


def refuse_collection(estimator: Any, X: Any, remedy: str) -> None:
    """Refuse an array or a data frame of dask, which would be gathered in this process."""
    if is_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__} of dask, and {type(estimator).__name__} works in this "
            f"process here; use {remedy}, or X.compute() if it fits."
        )


def _as_chunks(values: Any, chunks: Any) -> Any:
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
