"""Does a degree that follows curvature help? Surfaces whose curvature varies, over noise and k.

ISOMAP-KL ends with the wish for smaller neighbourhoods where the data are bent, by the Hessian. A
surface here is a plane that is bent along one coordinate with a given curvature, so that its true
geodesics are those of the plane. All graphs are parts of one graph of 2 k neighbours, in which an
edge stays if either end counts it among its neighbours; the spanning tree always stays. Three kinds
of graphs (neighbours, ISOMAP-KL, the default recipe) are cut to the same k everywhere, or to k / 2
to 2 k by curvature: by the sizes that ``GaussianPatch(size="adaptive")`` would choose, and by the
Hessian of a quadratic fit. The score is the rank correlation of path lengths with true geodesics.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from patchfold import GaussianPatch, PatchSpace
from patchfold.graph import edges
from patchfold.graph.geodesics import shortest_paths
from patchfold.metrics import rank_correlation
from patchfold.neighbors import find_neighbors
from patchfold.patches.adaptive import adaptive_sizes

N, DEGREES, NOISES, SEEDS = 600, (8, 15, 30), (0.0, 0.05), (700, 701)
LENGTH, WIDTH = 10.0, 3.0
STEPS = 20_001

# The curvature at each place along the surface.
SURFACES = {
    "one hairpin": lambda s: np.where(np.abs(s - LENGTH / 2) < 0.4, np.pi / 0.8, 0.0),
    "three hairpins": lambda s: np.where(
        (s + 0.25) % 2.5 < 0.5, 2 * np.pi * (s // 2.5 % 2 - 0.5), 0
    ),
    "rising waves": lambda s: s / 2 * np.sin(s * s / 2),
    "spiral": lambda s: 1 / (0.4 + 0.25 * s),
    "even bend": lambda s: np.full_like(s, 0.4),
}
GRAPHS = {
    "neighbours": {"divergence": "euclidean"},
    "ISOMAP-KL": {"patch": GaussianPatch(), "lengths": "divergence"},
    "default": {},
}
WAYS = ("k / 2", "k", "2 k", "adaptive", "Hessian")


def bent(surface, noise, seed):
    """Return points of a bent plane, and their true geodesics in the order of pdist."""
    random = np.random.default_rng(seed)
    s = np.linspace(0, LENGTH, STEPS)
    step = LENGTH / (STEPS - 1)
    heading = np.cumsum(SURFACES[surface](s)) * step
    x, y = (np.cumsum(part) * step for part in (np.cos(heading), np.sin(heading)))
    at, across = random.uniform(0, LENGTH, N), random.uniform(0, WIDTH, N)
    X = np.column_stack([np.interp(at, s, x), np.interp(at, s, y), across])
    return X + noise * random.normal(size=X.shape), pdist(np.column_stack([at, across]))


def hessian_degrees(X, near, k):
    """Return degrees between k / 2 and 2 k, as the root of the inverse curvature."""
    curvatures = np.empty(len(X))
    for row in range(len(X)):
        Z = X[near.indices[near.indptr[row] : near.indptr[row] + k]] - X[row]
        _, _, axes = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
        u, v, height = (Z @ axes.T).T
        terms = np.column_stack([u * u / 2, u * v, v * v / 2, u, v, np.ones_like(u)])
        a, b, c = np.linalg.lstsq(terms, height, rcond=None)[0][:3]
        curvatures[row] = np.sqrt(a * a + 2 * b * b + c * c)
    degrees = k * np.sqrt(np.median(curvatures) / np.maximum(curvatures, 1e-12))
    return np.clip(np.rint(degrees), k // 2, 2 * k).astype(np.intp)


def degrees_of(X, near, k):
    """Return the degree of every point, by each way."""
    every = np.ones(len(X), dtype=np.intp)
    return dict(
        zip(
            WAYS,
            (
                k // 2 * every,
                k * every,
                2 * k * every,
                adaptive_sizes(X, near),
                hessian_degrees(X, near, k),
            ),
            strict=True,
        )
    )


def paths(matrix, near, degrees):
    """Return the path lengths in the part of a graph that degrees leave, as pdist orders them."""
    kept = near.nearest(degrees)
    n = matrix.shape[0]
    i, j, _ = edges.undirected(kept)
    rows, columns = matrix.tocoo().coords  # also of edges of length zero
    stays = np.isin(np.minimum(rows, columns) * n + np.maximum(rows, columns), i * n + j)
    lengths = np.maximum(matrix.data, np.finfo(float).tiny)
    tree = minimum_spanning_tree(csr_array((lengths, (rows, columns)), shape=(n, n)))
    cut = csr_array((lengths[stays], (rows[stays], columns[stays])), shape=(n, n))
    found = shortest_paths(cut.maximum(tree).maximum(tree.T).tocsr())
    return squareform(found, checks=False)


def main() -> None:
    print(f"n = {N}, mean over noise {NOISES}, k = {DEGREES} and {len(SEEDS)} seeds")
    print(f"{'':32}" + "".join(f"{way:>10}" for way in WAYS) + f"{'degrees':>18}")
    gains = {kind: [] for kind in GRAPHS}
    for surface in SURFACES:
        scores, spread = {kind: [] for kind in GRAPHS}, []
        for noise in NOISES:
            for seed in SEEDS:
                X, true = bent(surface, noise, seed)
                for k in DEGREES:
                    near = find_neighbors(X, 2 * k)
                    ways = degrees_of(X, near, k)
                    spread.append([ways[way].mean() / k for way in WAYS[-2:]])
                    for kind, how in GRAPHS.items():
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            graph = PatchSpace(n_neighbors=2 * k, **how).fit(X).patch_graph_
                        row = [
                            rank_correlation(paths(graph.matrix, near, ways[way]), true)
                            for way in WAYS
                        ]
                        scores[kind].append(row)
                        gains[kind].append(np.subtract(row[-2:], row[1]))
        mean = np.mean(spread, axis=0)
        for kind, rows in scores.items():
            columns = "".join(f"{value:10.3f}" for value in np.mean(rows, axis=0))
            print(f"{surface:16}{kind:16}{columns}{mean[0]:12.2f} k{mean[1]:6.2f} k", flush=True)
    for kind, rows in gains.items():
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5
        for way, *value in zip(
            WAYS[-2:], mean, error, np.min(rows, 0), np.max(rows, 0), strict=True
        ):
            change = "{:+.3f} ±{:.3f}, from {:+.3f} to {:+.3f}".format(*value)
            print(f"{kind}, {way} against k: {change}")


if __name__ == "__main__":
    main()
