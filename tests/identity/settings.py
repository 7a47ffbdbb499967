"""Settings of all estimators, and what they give: the table that ``test_identity.py`` holds.

Every setting fits an estimator to small data that are always the same. The table keeps the graph,
the embedding and the places of ten new points, bit for bit. A change that is meant to change
results rewrites the table, and says so::

    python -m tests.identity.settings --write

Run it in the root of the repository. Without ``--write`` it only says which settings differ, and
whether the table was written on a machine like this one.

Parameters are written out, even where they are the default: a new default is no new result. The
presets of ``patchfold.papers`` alone are taken as they come.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import warnings
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from llvmlite.binding import get_host_cpu_name
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsTransformer
from threadpoolctl import threadpool_info, threadpool_limits

from patchfold import (
    GRNN,
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    papers,
)
from patchfold.supervision import Dissimilarity

if TYPE_CHECKING:
    from collections.abc import Callable

    Setting = Callable[[], tuple[Any, Any, Any, Any]]
    Arrays = dict[str, np.ndarray]

TABLE = Path(__file__).with_name("table.npz")

# Of data with more points than this, that many rows are kept, evenly spaced.
SMALL, KEPT_ROWS = 80, 40

# Libraries whose other versions may round differently.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "openTSNE", "pynndescent", "pyamg")

# ------------------------------------------------------------------------------------------ data


@cache
def roll(n: int = 66, noise: float = 0.3, dtype: str = "float64") -> tuple[Any, Any, Any]:
    X, t = make_swiss_roll(n + 7, noise=noise, random_state=0)
    return with_new(X.astype(dtype), np.digitize(t, [7.5, 11.0]), n)


@cache
def iris(dtype: str = "float64") -> tuple[Any, Any, Any]:
    """Take every other row; values have one decimal, so that many distances are equal."""
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(0, 150, 2), np.arange(1, 150, 22)])
    return with_new(X[rows].astype(dtype), y[rows], 75)


@cache
def clusters(dtype: str = "float64") -> tuple[Any, Any, Any]:
    """Four clusters in 20 dimensions: patches have fewer points than dimensions."""
    random = np.random.default_rng(1)
    labels = np.arange(71) % 4
    X = 1.5 * random.standard_normal((4, 20))[labels] + random.standard_normal((71, 20))
    return with_new(X.astype(dtype), labels, 64)


@cache
def wide(dtype: str = "float64") -> tuple[Any, Any, Any]:
    """Many clusters in 200 dimensions: factored patches with more than a million numbers."""
    random = np.random.default_rng(3)
    labels = np.arange(907) % 9
    plane = random.standard_normal((5, 200))
    X = random.standard_normal((907, 5)) @ plane + 3 * random.standard_normal((9, 200))[labels]
    X += 0.1 * random.standard_normal(X.shape)
    return with_new(X.astype(dtype), labels, 900)


@cache
def copies() -> tuple[Any, Any, Any]:
    """Points on a grid, so that distances are equal; every third of them twice."""
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0), [0.0, 1.0]), axis=-1)
    X = grid.reshape(-1, 3)[::2]
    X = np.concatenate([X, X[::3]])
    new = np.random.default_rng(2).uniform(0, 6, (7, 3))
    return with_new(np.concatenate([X, new]), (X[:, 0] > 3).astype(int), len(X))


@cache
def distances() -> tuple[Any, Any, Any]:
    X, y, new = roll()
    return cdist(X, X), y, cdist(new, X)


@cache
def sparse_graph() -> tuple[Any, Any, Any]:
    X, y, new = roll()
    return nearest_only(cdist(X, X), 9), y, nearest_only(cdist(new, X), 9)


def with_new(points: Any, labels: Any, n: int) -> tuple[Any, Any, Any]:
    """Return the first ``n`` points and their labels; the others are new, with three old ones."""
    return points[:n], labels[:n], np.concatenate([points[n:], points[[3, 0, n // 2]]])


def nearest_only(D: Any, k: int) -> csr_array:
    """Return the graph with the ``k`` smallest entries of every row, the diagonal among them."""
    columns = np.sort(np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)
    rows = np.repeat(np.arange(len(D)), k)
    values = D[rows, columns.ravel()]
    return csr_array((values, columns.ravel(), np.arange(0, len(rows) + 1, k)), shape=D.shape)


# ---------------------------------------------------------------------------------------- recipes


def recipe(*, denoise: bool = False, **changes: Any) -> dict[str, Any]:
    """Return the arguments of an estimator that make its patches; the only place that knows."""
    patch: dict[str, Any] = {
        "size": None,
        "include_self": True,
        "center": "mean",
        "covariance": "ridge",
        "gamma": "auto",
        "rank": None,
    }
    return {"patch": GaussianPatch(**(patch | changes), denoise=denoise)}


def recommended() -> dict[str, Any]:
    """Return the arguments of an estimator that mean the recommended patches, denoised."""
    return {"patch": None}


SHARED: dict[str, Any] = {
    "n_neighbors": 7,
    "divergence": "kl",
    "lengths": "divergence",
    "graph": "neighbors",
    "radius": None,
    "supervision": None,
    "metric": "euclidean",
    "knn": "auto",
    "n_jobs": None,
    "random_state": 0,
    "verbose": 0,
}
MAPPED: dict[str, Any] = {"out_of_sample": "nystrom"}
OWN: dict[type, dict[str, Any]] = {
    PatchSpace: {},
    PatchIsomap: MAPPED | {"n_components": 2, "scaling": "classical", "landmarks": None},
    PatchLLE: MAPPED | {"n_components": 2, "weights": "euclidean", "reg": 1e-3},
    PatchEigenmaps: MAPPED
    | {
        "n_components": 2,
        "kernel": "gaussian",
        "bandwidth": "median",
        "laplacian": "random-walk",
    },
    PatchTSNE: MAPPED
    | {
        "n_components": 2,
        "perplexity": 4.0,
        "learning_rate": "auto",
        "early_exaggeration": 12.0,
        "n_iter": 20,
    },
}


def setting(
    estimator: Any,
    data: Callable[[], tuple[Any, Any, Any]] = roll,
    patches: dict[str, Any] | None = None,
    **changes: Any,
) -> Setting:
    """Return a function that makes an estimator, points, labels and new points."""

    def make() -> tuple[Any, Any, Any, Any]:
        chosen = recipe() if patches is None else patches
        if "radius" in changes:
            chosen = chosen | {"n_neighbors": None}
        X, y, X_new = data()
        model = estimator(**(SHARED | OWN[estimator] | chosen | changes))
        return model, X, y if model.supervision is not None else None, X_new

    return make


def preset(
    name: str, data: Callable[[], tuple[Any, Any, Any]] = iris, *arguments: Any, **changes: Any
) -> Setting:
    """Return a setting of a system of the papers."""

    def make() -> tuple[Any, Any, Any, Any]:
        X, y, X_new = data()
        model = getattr(papers, name)(*arguments).set_params(**changes)
        return model, X, y if model.supervision is not None else None, X_new

    return make


def squared_gap(a: Any, b: Any) -> Any:
    """Compare two patches by their means alone: a divergence of one's own."""
    return ((a.means - b.means) ** 2).sum(axis=-1)


# --------------------------------------------------------------------------------------- settings

SETTINGS: dict[str, Setting] = {}

# Small enough for the pairs of a small data set not to fit, in MiB.
MEMORY: dict[str, float] = {}

DIVERGENCES = (
    "kl",
    "jeffreys",
    "bhattacharyya",
    "hellinger",
    "jeffreys-riemann",
    "bhattacharyya-riemann",
    "wasserstein",
    "cauchy-schwarz",
    "fisher-rao",
    "calvo-oller",
)
for _name in DIVERGENCES:
    SETTINGS |= {
        f"isomap {_name}, full patches": setting(PatchIsomap, roll, divergence=_name),
        f"space {_name}, factored patches": setting(PatchSpace, clusters, divergence=_name),
    }

COVARIANCES: dict[str, dict[str, Any]] = {
    "empirical": {"size": 12},
    "ridge": {"gamma": 0.05},
    "ridge-if-singular": {"size": 3, "gamma": 0.001},
    "shrinkage": {"gamma": 0.2},
    "diagonal-shrinkage": {},
    "ledoit-wolf": {},
    "oas": {},
    "low-rank": {"rank": 2},
    "hazan": {"rank": 3},
}
for _name, _more in COVARIANCES.items():
    _recipe = recipe(covariance=_name, **_more)
    SETTINGS[f"isomap of {_name} covariances"] = setting(PatchIsomap, iris, _recipe)
    if _name not in {"empirical", "ridge"}:
        SETTINGS[f"space of {_name} covariances, factored"] = setting(
            PatchSpace, clusters, recipe(covariance=_name, **(_more | {"size": 6}))
        )

SETTINGS |= {
    # What patches are made of.
    "isomap centred at the point": setting(PatchIsomap, roll, recipe(center="point")),
    "isomap without the point itself": setting(PatchIsomap, roll, recipe(include_self=False)),
    "isomap, point and not itself": setting(
        PatchIsomap, clusters, recipe(center="point", include_self=False)
    ),
    "isomap, small patches": setting(PatchIsomap, roll, recipe(size=4)),
    "isomap, large patches": setting(PatchIsomap, roll, recipe(size=16)),
    "isomap, adaptive patches": setting(PatchIsomap, roll, recipe(size="adaptive")),
    "space, adaptive patches, factored": setting(PatchSpace, clusters, recipe(size="adaptive")),
    "isomap denoised": setting(PatchIsomap, roll, recipe(denoise=True)),
    "isomap denoised, adaptive": setting(PatchIsomap, roll, recipe(denoise=True, size="adaptive")),
    "space denoised, factored": setting(PatchSpace, clusters, recipe(denoise=True)),
    "lle denoised": setting(PatchLLE, iris, recipe(denoise=True), weights="entropic"),
    "isomap of a given function": setting(PatchIsomap, roll, divergence=squared_gap),
    # Stretched lengths.
    "isomap recommended": setting(PatchIsomap, roll, recommended(), lengths="pruned"),
    "isomap recommended, noise": setting(
        PatchIsomap, partial(roll, 150, 1.0), recommended(), lengths="pruned"
    ),
    "isomap recommended, clusters": setting(PatchIsomap, clusters, recommended(), lengths="pruned"),
    "isomap recommended, copies": setting(PatchIsomap, copies, recommended(), lengths="pruned"),
    "isomap recommended, few neighbours": setting(
        PatchIsomap, iris, recommended(), lengths="pruned", n_neighbors=4
    ),
    "isomap recommended, plain lengths": setting(PatchIsomap, roll, recommended()),
    "isomap recommended, under the divergence": setting(
        PatchIsomap, roll, recommended(), lengths="pruned", graph="divergence"
    ),
    "isomap recommended, radius": setting(
        PatchIsomap, iris, recommended(), lengths="pruned", radius=0.9
    ),
    "lle recommended": setting(PatchLLE, iris, recommended(), lengths="pruned"),
    "eigenmaps recommended": setting(
        PatchEigenmaps, roll, recommended(), lengths="pruned", bandwidth=np.inf
    ),
    "space recommended": setting(PatchSpace, roll, recommended(), lengths="pruned"),
    "space recommended, clusters": setting(PatchSpace, clusters, recommended(), lengths="pruned"),
    "isomap pruned, not denoised": setting(PatchIsomap, roll, lengths="pruned"),
    "isomap pruned by wasserstein": setting(
        PatchIsomap, iris, recipe(denoise=True), lengths="pruned", divergence="wasserstein"
    ),
    "isomap pruned, cut": setting(
        PatchIsomap, iris, recommended(), lengths="pruned", supervision="cut"
    ),
    "tsne pruned": setting(PatchTSNE, iris, recipe(denoise=True), lengths="pruned"),
    # Edges.
    "isomap under the divergence": setting(PatchIsomap, roll, graph="divergence"),
    "isomap under hellinger": setting(
        PatchIsomap, clusters, graph="divergence", divergence="hellinger"
    ),
    "space under the divergence": setting(PatchSpace, iris, graph="divergence"),
    "eigenmaps under the divergence": setting(PatchEigenmaps, iris, graph="divergence"),
    "isomap radius": setting(PatchIsomap, partial(roll, 150, 0.1), radius=4.5),
    "lle radius": setting(PatchLLE, iris, weights="entropic", radius=0.9),
    "space radius": setting(PatchSpace, iris, radius=0.7),
    "isomap of few neighbours, joined": setting(
        PatchIsomap, clusters, recipe(size=6), n_neighbors=2
    ),
    "isomap of copies": setting(PatchIsomap, copies),
    "lle of copies": setting(PatchLLE, copies, weights="entropic"),
    "isomap, neighbours chosen": setting(PatchIsomap, iris, n_neighbors="auto"),
    "lle recommended, neighbours chosen": setting(
        PatchLLE, iris, recommended(), lengths="pruned", n_neighbors="auto"
    ),
    "space, neighbours chosen": setting(PatchSpace, iris, n_neighbors="auto"),
    # The classical methods, and given distances.
    "isomap euclidean": setting(PatchIsomap, roll, divergence="euclidean"),
    "lle euclidean": setting(PatchLLE, roll, divergence="euclidean"),
    "eigenmaps euclidean": setting(PatchEigenmaps, roll, divergence="euclidean"),
    "space euclidean": setting(PatchSpace, roll, divergence="euclidean"),
    "tsne euclidean": setting(PatchTSNE, iris, divergence="euclidean"),
    "isomap of distances": setting(PatchIsomap, distances, divergence="precomputed"),
    "isomap of distances, radius": setting(
        PatchIsomap, distances, divergence="precomputed", radius=8.0
    ),
    "isomap of a sparse graph": setting(PatchIsomap, sparse_graph, divergence="precomputed"),
    "lle of a sparse graph": setting(
        PatchLLE, sparse_graph, divergence="precomputed", weights="entropic"
    ),
    "space of distances": setting(PatchSpace, distances, divergence="precomputed"),
    "space of a sparse graph": setting(PatchSpace, sparse_graph, divergence="precomputed"),
    "isomap of distances, labels": setting(
        PatchIsomap,
        distances,
        divergence="precomputed",
        graph="divergence",
        supervision="min-sum",
    ),
    # Labels.
    "isomap dissimilarity": setting(PatchIsomap, iris, supervision="dissimilarity"),
    "isomap dissimilarity of distances": setting(
        PatchIsomap,
        iris,
        divergence="euclidean",
        graph="divergence",
        supervision=Dissimilarity(alpha=0.2, beta=2.0),
        out_of_sample="krr",
    ),
    "isomap cut": setting(PatchIsomap, iris, supervision="cut", out_of_sample="krr"),
    "isomap min-sum": setting(PatchIsomap, iris, supervision="min-sum", out_of_sample="grnn"),
    "isomap min-sum under the divergence": setting(
        PatchIsomap, clusters, supervision="min-sum", graph="divergence"
    ),
    "lle min-sum": setting(PatchLLE, iris, supervision="min-sum", weights="entropic"),
    "eigenmaps cut": setting(PatchEigenmaps, roll, supervision="cut"),
    "eigenmaps dissimilarity": setting(PatchEigenmaps, iris, supervision="dissimilarity"),
    "space dissimilarity": setting(PatchSpace, iris, supervision="dissimilarity"),
    "space cut": setting(PatchSpace, clusters, supervision="cut"),
    "tsne min-sum": setting(PatchTSNE, iris, supervision="min-sum", out_of_sample="krr"),
    # New points.
    "isomap krr": setting(PatchIsomap, roll, out_of_sample="krr"),
    "isomap grnn": setting(PatchIsomap, roll, out_of_sample="grnn"),
    "isomap grnn object": setting(PatchIsomap, roll, out_of_sample=GRNN(bandwidth=2.0)),
    "isomap regressor": setting(PatchIsomap, roll, out_of_sample=LinearRegression()),
    "lle krr": setting(PatchLLE, iris, out_of_sample="krr"),
    "eigenmaps grnn": setting(PatchEigenmaps, iris, out_of_sample="grnn"),
    # Landmarks, components, threads.
    "isomap of 20 landmarks": setting(PatchIsomap, roll, landmarks=20),
    "isomap of landmarks, always the same": setting(
        PatchIsomap, iris, landmarks=12, random_state=0
    ),
    "isomap of landmarks as they come": setting(PatchIsomap, roll, landmarks="auto"),
    "isomap recommended, 20 landmarks": setting(
        PatchIsomap, roll, recommended(), lengths="pruned", landmarks=20
    ),
    "isomap in 4 dimensions": setting(PatchIsomap, iris, n_components=4),
    "isomap of least stress": setting(
        PatchIsomap, roll, recommended(), lengths="pruned", scaling="stress"
    ),
    "isomap of least stress, landmarks": setting(
        PatchIsomap, iris, recommended(), lengths="pruned", scaling="stress", landmarks=20
    ),
    "isomap of least stress, float32": setting(
        PatchIsomap, partial(iris, "float32"), recommended(), lengths="pruned", scaling="stress"
    ),
    "isomap of two threads": setting(PatchIsomap, roll, n_jobs=2),
    # Searches.
    "isomap exact": setting(PatchIsomap, clusters, knn="exact"),
    "isomap approximate": setting(PatchIsomap, clusters, knn="approximate"),
    "isomap approximate, denoised": setting(
        PatchIsomap, roll, recipe(denoise=True), knn="approximate"
    ),
    "isomap of a given search": setting(
        PatchIsomap, iris, knn=KNeighborsTransformer(n_neighbors=7, mode="distance")
    ),
    "space recommended, given search": setting(
        PatchSpace,
        roll,
        recommended(),
        lengths="pruned",
        knn=KNeighborsTransformer(n_neighbors=9, mode="distance", algorithm="brute"),
    ),
    # Weights and kernels.
    "lle euclidean weights": setting(PatchLLE, roll),
    "lle entropic weights": setting(PatchLLE, roll, weights="entropic"),
    "lle entropic weights, reg": setting(PatchLLE, clusters, weights="entropic", reg=0.1),
    "lle euclidean weights, reg": setting(PatchLLE, clusters, reg=0.05, n_components=3),
    "eigenmaps median": setting(PatchEigenmaps, roll),
    "eigenmaps unnormalized": setting(PatchEigenmaps, roll, laplacian="unnormalized"),
    "eigenmaps symmetric": setting(PatchEigenmaps, iris, laplacian="symmetric"),
    "eigenmaps exponential": setting(PatchEigenmaps, roll, kernel="exponential"),
    "eigenmaps exponential, number": setting(
        PatchEigenmaps, iris, kernel="exponential", bandwidth=30.0, laplacian="symmetric"
    ),
    "eigenmaps number": setting(PatchEigenmaps, iris, bandwidth=25.0, laplacian="unnormalized"),
    "eigenmaps, edges alike": setting(PatchEigenmaps, roll, bandwidth=np.inf),
    # t-SNE.
    "tsne": setting(PatchTSNE, iris),
    "tsne under the divergence": setting(PatchTSNE, clusters, graph="divergence"),
    "tsne in 3 dimensions": setting(PatchTSNE, iris, n_components=3, n_iter=1),
    # Single precision.
    "isomap float32": setting(PatchIsomap, partial(roll, dtype="float32")),
    "isomap float32, factored": setting(PatchIsomap, partial(clusters, "float32")),
    "isomap float32 recommended": setting(
        PatchIsomap, partial(roll, dtype="float32"), recommended(), lengths="pruned"
    ),
    "isomap float32 euclidean": setting(
        PatchIsomap, partial(iris, "float32"), divergence="euclidean", out_of_sample="krr"
    ),
    "lle float32": setting(PatchLLE, partial(iris, "float32"), weights="entropic"),
    "eigenmaps float32": setting(PatchEigenmaps, partial(roll, dtype="float32")),
    "space float32": setting(PatchSpace, partial(clusters, "float32"), divergence="wasserstein"),
    # Beyond a thousand points other solvers and compiled code take over.
    "isomap of many": setting(PatchIsomap, partial(roll, 1100, 0.2), landmarks=60),
    "isomap recommended of many": setting(
        PatchIsomap, partial(roll, 1100, 0.2), recommended(), lengths="pruned"
    ),
    "lle of many": setting(PatchLLE, partial(roll, 1100, 0.2)),
    "eigenmaps of many": setting(PatchEigenmaps, partial(roll, 1100, 0.2), graph="divergence"),
    "isomap of many, factored": setting(PatchIsomap, wide, landmarks=40),
    "space of many, factored, jeffreys": setting(PatchSpace, wide, divergence="jeffreys"),
    "space of many, factored, float32": setting(PatchSpace, partial(wide, "float32")),
    "isomap recommended of many, factored": setting(
        PatchIsomap, wide, recommended(), lengths="pruned", landmarks=40
    ),
    # Too little memory for all pairs: neighbours under the divergence are sought among candidates.
    "isomap among candidates": setting(PatchIsomap, partial(roll, 150, 0.3), graph="divergence"),
    "space among candidates": setting(
        PatchSpace, partial(roll, 150, 0.3), recommended(), lengths="pruned", graph="divergence"
    ),
    # The papers.
    "paper isomap_kl": preset("isomap_kl", iris, 9),
    "paper isomap_kl, factored": preset("isomap_kl", clusters, 6),
    "paper x_isomap": preset("x_isomap", clusters, 6, 7),
    "paper x_isomap, full": preset("x_isomap", roll, 6, 9),
    "paper x_eigenmaps": preset("x_eigenmaps", iris, 7, 8),
    "paper x_lle": preset("x_lle", iris, 8, 8),
    "paper x_tsne": preset("x_tsne", iris, 4.0, 8, n_iter=20, random_state=0),
    "paper pelle": preset("pelle", iris, 9),
    "paper elap": preset("elap", iris, 9),
    "paper supervised_isomap": preset("supervised_isomap", iris, 8),
}
MEMORY |= {"isomap among candidates": 0.1, "space among candidates": 0.1}

# ---------------------------------------------------------------------------------------- results


def computed(name: str) -> Arrays:
    """Fit a setting and return what the table keeps of it.

    Warnings that the settings earn, such as that a graph had to be joined, are no results.
    """
    model, X, y, X_new = SETTINGS[name]()
    memory = MEMORY.get(name, sklearn.get_config()["working_memory"])
    with (
        warnings.catch_warnings(),
        sklearn.config_context(working_memory=memory),
        threadpool_limits(1),  # no result depends on it, and data this small are done sooner
    ):
        warnings.simplefilter("ignore")
        model.fit(X, y)
        placed = model.transform(X_new)
    n = X.shape[0]
    kept = slice(None, None, 1 if n <= SMALL else -(-n // KEPT_ROWS))
    graph = csr_array(model.graph_).sorted_indices()[kept]
    # scipy's type of indices depends on the number of edges.
    starts, ends = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    result = {"indptr": starts, "indices": ends, "lengths": graph.data}
    result["new"] = placed.toarray() if issparse(placed) else placed
    if not isinstance(model, PatchSpace):
        result["embedding"] = model.embedding_[kept]
    return {part: np.asarray(values) for part, values in result.items()}


def fingerprint() -> dict[str, str]:
    """Return what the last bits of a result depend on beside the code."""
    blas = {
        f"{library['internal_api']} {library.get('version')} {library.get('architecture')}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return {
        **{library: metadata.version(library) for library in LIBRARIES},
        "machine": platform.machine(),
        "processor": get_host_cpu_name(),
        "blas": ", ".join(sorted(blas)),
    }


def read(path: Path = TABLE) -> tuple[dict[str, str], dict[str, Arrays]]:
    """Return the fingerprint and the results of a table."""
    with np.load(path) as file:
        about = json.loads(str(file["about"]))
        arrays = {key: file[key] for key in file.files if key != "about"}
    table = {
        name: {part: arrays[key] for part, key in parts.items()}
        for name, parts in about["settings"].items()
    }
    return about["fingerprint"], table


def write(table: dict[str, Arrays], path: Path = TABLE) -> None:
    """Write the results of all settings, and the fingerprint of this machine.

    Arrays that several settings share are written once, under a number.
    """
    keys: dict[Any, str] = {}
    arrays: Arrays = {}
    settings: dict[str, dict[str, str]] = {}
    for name, parts in table.items():
        settings[name] = {}
        for part, values in parts.items():
            bits = values.dtype.str, values.shape, values.tobytes()
            key = keys.setdefault(bits, str(len(keys)))
            arrays[key] = values
            settings[name][part] = key
    about = json.dumps({"fingerprint": fingerprint(), "settings": settings})
    np.savez_compressed(path, about=np.array(about), **arrays)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether two arrays have the same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def differing(a: Arrays, b: Arrays) -> list[str]:
    """Name the parts of two results that are not the same."""
    both = a.keys() & b.keys()
    return [part for part in a | b if part not in both or not same_bits(a[part], b[part])]


def main() -> None:
    """Compute all settings, say which differ from the table, and write it if so wanted."""
    parser = argparse.ArgumentParser(description="Compute the table of results.")
    parser.add_argument("--write", action="store_true", help="keep what was computed")
    parser.add_argument("--table", type=Path, default=TABLE, help="another file than the usual")
    options = parser.parse_args()
    table, slow = {}, {}
    for name in SETTINGS:
        start = time.perf_counter()
        table[name] = computed(name)
        slow[name] = time.perf_counter() - start
    say = sys.stdout.write
    if options.table.exists():
        where, before = read(options.table)
        changed = {
            name: differing(table.get(name, {}), before.get(name, {})) for name in before | table
        }
        for name, parts in changed.items():
            if parts:
                say(f"{name}: {', '.join(parts)}\n")
        machine = "this" if where == fingerprint() else "another"
        say(f"{sum(map(bool, changed.values()))} differ from the table, of {machine} machine\n")
    if options.write:
        write(table, options.table)
    slowest = ", ".join(
        f"{name} {slow[name]:.2f} s" for name in sorted(slow, key=slow.__getitem__)[-3:]
    )
    say(f"{len(table)} settings in {sum(slow.values()):.1f} s; slowest: {slowest}\n")


if __name__ == "__main__":
    main()
