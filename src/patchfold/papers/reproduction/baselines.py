"""What the papers compare with: embeddings as their programs call them, and classifiers.

The programs ran with scikit-learn of 2020, which differs from today's in three things that show in
printed digits. It searched with a k-d tree whatever the number of columns, so that duplicates are
at distance zero exactly. Isomap gave pairs that no path joins the distance zero. And where a
quarter of all pairs or more are edges, an edge of length zero was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.manifold import LocallyLinearEmbedding, SpectralEmbedding
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from patchfold.base.validation import check_choice
from patchfold.evaluation.peers import umap
from patchfold.evaluation.prediction import NEAREST
from patchfold.graph.geodesics import shortest_paths
from patchfold.solvers.scaling import classical_mds

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Doubles, Floats


# The names of the papers' tables; PELLE writes ISOMAP and HLLE where others write ISO and HLAP.
METHODS = ("PCA", "KPCA", "ISO", "ISOMAP", "LLE", "HLLE", "HLAP", "LTSA", "LAP", "UMAP")

# With fewer edges than this share of all pairs, shortest paths were found by Dijkstra's algorithm.
SPARSE_SHARE = 0.25


def embed(
    method: str,
    X: Doubles,
    n_components: int = 2,
    n_neighbors: int = 40,
    random_state: int | None = 0,
) -> Doubles:
    """Embed standardised points by a method the papers compare with.

    Parameters
    ----------
    method : str
        One of :data:`METHODS`: principal components, kernel principal components (Gaussian kernel,
        gamma one over the number of columns), Isomap, locally linear embedding, its Hessian
        variant, local tangent space alignment, Laplacian eigenmaps, UMAP.
    X : ndarray of shape (n_samples, n_features)
        The points.
    n_components : int, default=2
        Dimensions of the embedding.
    n_neighbors : int, default=40
        Neighbours, for all but the two kinds of principal components.
    random_state : int or None, default=0
        Where an iterative eigensolver starts, and the seed of UMAP.

    Returns
    -------
    ndarray of shape (n_samples, n_components)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import silhouette_score
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(float(silhouette_score(embed(m, scale(X)), y)), 3) for m in ("ISO", "LLE", "LAP")]
    [0.424, 0.297, 0.54]
    """
    check_choice("method", method, METHODS)
    if method == "PCA":
        return _principal(X, n_components)
    if method == "KPCA":
        model = KernelPCA(n_components, kernel="rbf", random_state=random_state)
    elif method in {"ISO", "ISOMAP"}:
        return _isomap(X, n_components, n_neighbors)
    elif method == "LAP":
        edges = neighbor_graph(X, n_neighbors, mode="connectivity", include_self=True)
        X = 0.5 * (edges + edges.T)
        model = SpectralEmbedding(n_components, affinity="precomputed", random_state=random_state)
    elif method == "UMAP":
        model = umap(n_components, n_neighbors, random_state)
    else:
        kind = {"LLE": "standard", "LTSA": "ltsa"}.get(method, "hessian")
        model = LocallyLinearEmbedding(
            n_components=n_components,
            n_neighbors=n_neighbors,
            method=kind,
            # As the programs do: the iterative solver meets singular matrices here.
            eigen_solver="auto" if method == "LLE" else "dense",
            neighbors_algorithm=_search(len(X), n_neighbors),
            random_state=random_state,
        )
    try:
        return np.asarray(model.fit_transform(X))
    except ValueError as error:
        if "Factor is exactly singular" not in str(error):
            raise
        # Many duplicates; what scikit-learn then recommends.
        return np.asarray(model.set_params(eigen_solver="dense").fit_transform(X))


def classifiers(random_state: int | None = 0) -> dict[str, Callable[[], Any]]:
    """Return how to make each of the papers' eight classifiers, under its printed name.

    The support vector machine has a Gaussian kernel with gamma 1 / 2: ISOMAP-KL calls it linear,
    but its cells come out with this one only. ``MPL`` is the multilayer perceptron.
    """
    return {
        "KNN": lambda: KNeighborsClassifier(n_neighbors=NEAREST),
        "SVM": lambda: SVC(gamma="auto"),
        "NB": GaussianNB,
        "DT": lambda: DecisionTreeClassifier(random_state=0),
        # Small coordinates are no collinear ones: only an exact zero is refused.
        "QDA": lambda: QuadraticDiscriminantAnalysis(tol=0.0),
        "MPL": lambda: MLPClassifier(
            (100,), activation="logistic", max_iter=5000, random_state=random_state
        ),
        "GPC": lambda: GaussianProcessClassifier(random_state=random_state),
        "RFC": lambda: RandomForestClassifier(random_state=random_state),
    }


def neighbor_graph(
    X: Doubles, n_neighbors: int, mode: str = "distance", *, include_self: bool = False
) -> csr_array:
    """Return the graph from each point to its neighbours, as scikit-learn of 2020 found them."""
    model = NearestNeighbors(n_neighbors=n_neighbors, algorithm=_search(len(X), n_neighbors))
    graph = csr_array(model.fit(X).kneighbors_graph(X if include_self else None, mode=mode))
    # SpectralEmbedding takes no longer ones.
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def scaled(distances: Floats, n_components: int) -> Doubles:
    """Scale distances classically, pairs without a path taken for equal."""
    distances[np.isinf(distances)] = 0
    values, vectors, _ = classical_mds(distances, n_components)
    return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))


def _search(n: int, n_neighbors: int) -> str:
    return "kd_tree" if n_neighbors < n // 2 else "brute"


def _principal(X: Doubles, n_components: int) -> Doubles:
    values, vectors = np.linalg.eig(np.atleast_2d(np.cov(X.T)))
    return np.asarray((X @ vectors[:, np.argsort(values)[: -n_components - 1 : -1]]).real)


def _isomap(X: Doubles, n_components: int, n_neighbors: int) -> Doubles:
    graph = neighbor_graph(X, n_neighbors)
    if graph.nnz >= SPARSE_SHARE * len(X) ** 2:
        graph.eliminate_zeros()
    # A stored zero would vanish in the union of both directions.
    graph.data = np.maximum(graph.data, np.finfo(float).tiny)
    return scaled(shortest_paths(csr_array(graph.maximum(graph.T))), n_components)
