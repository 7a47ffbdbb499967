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
from patchfold.evaluation.comparison import NEAREST, umap
from patchfold.graph.geodesics import shortest_paths
from patchfold.solvers.scaling import classical_mds

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Doubles, Floats, Indices


# The names of the papers' tables; PELLE writes ISOMAP and HLLE where others write ISO and HLAP.
METHODS = ("PCA", "KPCA", "ISO", "ISOMAP", "LLE", "HLLE", "HLAP", "LTSA", "LAP", "UMAP")

LAP_NOTE = (
    "Laplacian eigenmaps (LAP) is scikit-learn's SpectralEmbedding, as in the authors' programs: "
    "equal weights for all neighbours, the point itself among them, and the symmetric normalised "
    "Laplacian. The papers write heat-kernel weights."
)

# With fewer edges than this share of all pairs, shortest paths were found by Dijkstra's algorithm.
SPARSE_SHARE = 0.25


def embed(
    method: str,
    X: Doubles,
    n_neighbors: int = 40,
    random_state: int | None = 0,
) -> Doubles:
    """Embed standardised points in the plane by a method the papers compare with.

    The methods of :data:`METHODS` are principal components, kernel principal components (Gaussian
    kernel, gamma one over the number of columns), Isomap, locally linear embedding, its Hessian
    variant, local tangent space alignment, Laplacian eigenmaps (:data:`LAP_NOTE`) and UMAP. All but
    the two kinds of principal components have neighbours. An iterative eigensolver starts where
    ``random_state`` says, which is also the seed of UMAP.

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
        values, vectors = np.linalg.eig(np.atleast_2d(np.cov(X.T)))
        return np.asarray((X @ vectors[:, np.argsort(values)[:-3:-1]]).real)
    if method == "KPCA":
        model = KernelPCA(2, kernel="rbf", random_state=random_state)
    elif method in {"ISO", "ISOMAP"}:
        return _isomap(X, n_neighbors)
    elif method == "LAP":
        edges = neighbor_graph(X, n_neighbors, mode="connectivity", include_self=True)
        X = 0.5 * (edges + edges.T)
        model = SpectralEmbedding(2, affinity="precomputed", random_state=random_state)
    elif method == "UMAP":
        model = umap(2, n_neighbors, random_state)
    else:
        kind = {"LLE": "standard", "LTSA": "ltsa"}.get(method, "hessian")
        model = LocallyLinearEmbedding(
            n_components=2,
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


def classifiers() -> dict[str, Callable[[], Any]]:
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
        "MPL": lambda: MLPClassifier((100,), activation="logistic", max_iter=5000, random_state=0),
        "GPC": lambda: GaussianProcessClassifier(random_state=0),
        "RFC": lambda: RandomForestClassifier(random_state=0),
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


def scaled(distances: Floats) -> Doubles:
    """Scale distances classically into the plane, pairs without a path taken for equal."""
    distances[np.isinf(distances)] = 0
    values, vectors, _ = classical_mds(distances, 2)
    return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))


def _search(n: int, n_neighbors: int) -> str:
    return "kd_tree" if n_neighbors < n // 2 else "brute"


def _isomap(X: Doubles, n_neighbors: int) -> Doubles:
    graph = neighbor_graph(X, n_neighbors)
    if graph.nnz >= SPARSE_SHARE * len(X) ** 2:
        graph.eliminate_zeros()
    # A stored zero would vanish in the union of both directions.
    graph.data = np.maximum(graph.data, np.finfo(float).tiny)
    return scaled(shortest_paths(csr_array(graph.maximum(graph.T))))


# ---------------------------------------------------------------- the k-d tree before 1.0

# The tree's own constants: points in a leaf, and the most columns that get a tree at all.
LEAF_SIZE = 30
MOST_COLUMNS = 15
# Distances as equal as this may be equal squares; the search below then compares the squares.
EQUAL = 1e-9


def old_neighbors(X: Doubles, k: int) -> Indices:
    """Return the ``k`` neighbours of every row, as ``kneighbors_graph`` before 1.0 chose them.

    Columns of whole numbers are full of equal distances, and then the order in which a k-d tree
    meets the points decides. Tables of ELAP (2021) come out to the last digit with the order of
    that time and not with today's: releases since 1.0 divide the nodes of the tree differently.
    Only rows whose k-th and next distance are equal are searched here; for all others there is no
    choice. Indices rise in every row; ``k`` is at most two less than there are points.

    Examples
    --------
    >>> old_neighbors(np.array([[0.0], [1.0], [3.0], [6.0], [10.0]]), 2)
    array([[1, 2],
           [0, 2],
           [0, 1],
           [2, 4],
           [2, 3]])
    """
    search = NearestNeighbors(n_neighbors=k + 1).fit(X)
    distances, indices = search.kneighbors()
    found = np.sort(indices[:, :k], axis=1)
    if X.shape[1] <= MOST_COLUMNS and k < len(X) // 2:  # else all distances were sorted
        tied = distances[:, k] - distances[:, k - 1] <= EQUAL * distances[:, k]
        if tied.any():
            tree = _Tree(X)
            for row in np.flatnonzero(tied):
                found[row] = np.sort(tree.others(int(row), k))
    return found.astype(np.intp)


class _Tree:
    """A tree of nodes 0, 1, 2 ...; the halves of node i are 2 i + 1 and 2 i + 2."""

    def __init__(self, X: Doubles) -> None:
        n = len(X)
        levels = int(np.log2(max(1, (n - 1) / LEAF_SIZE))) + 1
        self.order = np.arange(n)
        self.slices = [slice(0, n)]
        while len(self.slices) < 2**levels - 1:
            part = self.slices[(len(self.slices) - 1) // 2]
            middle = part.start + (part.stop - part.start) // 2
            self._divide(X, part, middle)
            self.slices += [slice(part.start, middle), slice(middle, part.stop)]
        self.X = X[self.order]
        self.low = np.array([self.X[part].min(axis=0) for part in self.slices])
        self.high = np.array([self.X[part].max(axis=0) for part in self.slices])
        self.place = np.argsort(self.order)

    def _divide(self, X: Doubles, part: slice, middle: int) -> None:
        """Quickselect along the widest column, the last value as the pivot."""
        order = self.order
        values = X[order[part]]
        column = X[:, np.argmax(values.max(axis=0) - values.min(axis=0))]
        left, right = part.start, part.stop - 1
        while True:
            pivot, last = left, column[order[right]]
            for i in range(left, right):
                if column[order[i]] < last:
                    order[i], order[pivot] = order[pivot], order[i]
                    pivot += 1
            order[pivot], order[right] = order[right], order[pivot]
            if pivot == middle:
                return
            left, right = (pivot + 1, right) if pivot < middle else (left, pivot - 1)

    def others(self, row: int, k: int) -> Indices:
        """Return the k nearest of the other points: k + 1 nearest, without the point itself."""
        x = self.X[self.place[row]]
        squares = _sum_of_squares(x - self.X)
        outside = np.maximum(self.low - x, 0) + np.maximum(x - self.high, 0)
        bounds = _sum_of_squares(outside)
        heap = [(np.inf, -1)] * (k + 1)
        stack = [0]
        while stack:
            node = stack.pop()
            if bounds[node] > heap[0][0]:
                continue
            halves = [2 * node + 1, 2 * node + 2]
            if halves[0] < len(self.slices):
                # The nearer half is on top of the stack, the first one of two as near.
                stack += halves[::-1] if bounds[halves[0]] <= bounds[halves[1]] else halves
                continue
            part = self.slices[node]
            for i in part.start + np.flatnonzero(squares[part] < heap[0][0]):
                if squares[i] < heap[0][0]:
                    _replace_largest(heap, (squares[i], i))
        found = np.array([i for _, i in heap])
        own = np.flatnonzero(found == self.place[row])
        # The point itself is missing only where all k + 1 are duplicates of it. Then the first one
        # was left out after sorting, and sorting more than three equals put the last one first.
        away = own[0] if len(own) else (k if k >= 3 else 0)
        return np.asarray(self.order[np.delete(found, away)])


def _replace_largest(heap: list[tuple[Any, Any]], entry: tuple[Any, Any]) -> None:
    """Put an entry in place of the heap's largest one, which stands first."""
    i, size = 0, len(heap)
    while (child := 2 * i + 1) < size:
        if child + 1 < size and heap[child + 1][0] > heap[child][0]:
            child += 1
        if heap[child][0] <= entry[0]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry


def _sum_of_squares(differences: Doubles) -> Doubles:
    """Add column after column: another order would round differently and undo equalities."""
    total = np.zeros(len(differences))
    for column in differences.T:
        total += column * column
    return total
