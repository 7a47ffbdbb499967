"""The seeds' equations once more, as plainly as they can be written: double loops, dense algebra.

Nothing here is shared with the library. Neighbourhoods are lists of ``(length, index)``, graphs
dictionaries from pairs ``i < j`` to lengths, and eigenproblems are solved in full.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
from scipy.linalg import sqrtm

# ------------------------------------------------------------------- neighbours and patches


def distances(X, Y):
    return np.array([[math.sqrt(sum((x - y) ** 2)) for y in Y] for x in X])


def nearest(D, k=None, radius=None, own=True, ties=None):
    """List the neighbours of every row of a distance matrix, by (distance, tie, index)."""
    ties = D if ties is None else ties
    rows = []
    for i, row in enumerate(D):
        others = [j for j in range(len(row)) if not (own and i == j)]
        others.sort(key=lambda j, i=i, row=row: (row[j], ties[i][j], j))
        found = [(float(row[j]), j) for j in others]
        rows.append(found[:k] if radius is None else [(d, j) for d, j in found if d <= radius])
    return rows


def gaussian(point, members, scale, include_self, center, covariance, gamma):
    """Fit one patch (ISOMAP-KL eq. 23-25; X-space section 2.1 where the centre is the point)."""
    P = [*members, point] if include_self else list(members)
    # Equal patches must come out equal to the last bit, whoever they belong to.
    P = np.array(sorted(P, key=tuple))
    m = len(point)
    if center == "point":
        mean, divisor = point, len(P)
    else:
        mean, divisor = sum(P) / len(P), max(len(P) - 1, 1)
    C = sum(np.outer(p - mean, p - mean) for p in P) / divisor
    ridge = 0.007 * scale if gamma == "auto" else gamma
    if covariance == "ridge-if-singular" and np.linalg.matrix_rank(P - mean) == m:
        ridge = 0.0
    return mean, C + ridge * np.eye(m)


def patches(points, X, neighbors, size=None, **recipe):
    scale = np.mean([np.mean((column - column.mean()) ** 2) for column in X.T])
    setting = {"include_self": True, "center": "mean", "covariance": "ridge", "gamma": "auto"}
    setting |= recipe
    return [
        gaussian(x, [X[j] for _, j in row[:size]], scale, **setting)
        for x, row in zip(points, neighbors, strict=True)
    ]


# ------------------------------------------------------------------- divergences


def divergence(name, a, b):
    # In one order, so that equal patches are equally far from a third to the last bit.
    (mean_a, S_a), (mean_b, S_b) = sorted((a, b), key=lambda patch: tuple(patch[0]))
    if np.array_equal(mean_a, mean_b) and np.array_equal(S_a, S_b):
        return 0.0
    u, G, m = mean_a - mean_b, (S_a + S_b) / 2, len(mean_a)
    inv_a, inv_b, inv_G = np.linalg.inv(S_a), np.linalg.inv(S_b), np.linalg.inv(G)
    traces = np.trace(inv_a @ S_b + inv_b @ S_a)
    jeffreys = u @ (inv_a + inv_b) @ u / 2 + traces / 2 - m
    determinants = np.linalg.det(G) / math.sqrt(np.linalg.det(S_a) * np.linalg.det(S_b))
    bhattacharyya = u @ inv_G @ u / 8 + math.log(determinants) / 2
    generalised = np.linalg.eigvals(inv_a @ S_b).real
    riemann = math.sqrt(sum(np.log(generalised) ** 2))
    value = {
        "kl": jeffreys / 2,
        "jeffreys": jeffreys,
        "bhattacharyya": bhattacharyya,
        "hellinger": math.sqrt(max(0.0, 1 - math.exp(-bhattacharyya))),
        "jeffreys-riemann": math.sqrt(u @ (inv_a + inv_b) @ u / 2) + riemann,
        "bhattacharyya-riemann": math.sqrt(u @ inv_G @ u) + riemann,
        "wasserstein": math.sqrt(
            max(0.0, u @ u + np.trace(S_a + S_b - 2 * sqrtm(sqrtm(S_a) @ S_b @ sqrtm(S_a)).real))
        ),
    }[name]
    return max(0.0, value)


# ------------------------------------------------------------------- graphs


def components(edges, n):
    labels = list(range(n))
    for i, j in edges:
        old, new = labels[j], labels[i]
        labels = [new if label == old else label for label in labels]
    return labels


def join(edges, n, gaps, D):
    """Merge the two components of least distance until one is left (SA-Isomap section 2.1)."""
    added = []
    while True:
        labels = components([*edges, *added], n)
        between = [
            (gaps[i][j], D[i][j], i, j)
            for i in range(n)
            for j in range(i + 1, n)
            if labels[i] != labels[j]
        ]
        if not between:
            return added
        added.append(min(between)[2:])


def dissimilarity(e, a, b, euclidean, mean, alpha=0.5, beta=None):
    """SA-Isomap eq. 1; between the two lengths where a label is missing (None)."""
    beta = mean if beta is None else beta
    if a is None or b is None:
        return e / math.sqrt(beta)
    if a == b:
        return math.sqrt(1 - math.exp(-(e**2) / beta))
    return math.sqrt(max(0.0, math.exp(e**2 / beta) - alpha))


def cut(e, a, b, euclidean, mean):
    """PELLE, conclusion: edges whose ends belong to different classes are removed."""
    return e if a is None or b is None or a == b else math.inf


def min_sum(e, a, b, euclidean, mean):
    """ELAP, conclusion: the minimum of the two lengths within a class, the sum between classes."""
    if a is None or b is None:
        return e
    return min(e, euclidean) if a == b else e + euclidean


class Space:
    """Points, their patches and the joined graph of lengths."""

    def __init__(
        self,
        X,
        k=None,
        name="kl",
        graph="neighbors",
        radius=None,
        size=None,
        rule=None,
        labels=None,
        **recipe,
    ):
        self.X, self.k, self.name, self.rule = X, k, name, rule
        self.graph, self.radius, self.size, self.recipe = graph, radius, size, recipe
        n = len(X)
        D = distances(X, X)
        members = nearest(D, None if radius else max(k, size or 0), radius)
        if name == "euclidean":
            self.patches, between = None, D
        else:
            self.patches = patches(X, X, self.patch_members(members), size, **recipe)
            between = np.zeros((n, n))
            for i in range(n):
                for j in range(i):
                    between[i, j] = divergence(name, self.patches[i], self.patches[j])
                    between[j, i] = between[i, j]
        plain = choice = between
        gaps, ties = (D, D) if name == "euclidean" else (plain, plain)
        if rule is not None:
            self.mean = np.mean([between[i, j] for i in range(n) for j in range(i)])
            self.mean **= 1 if name == "euclidean" else 2
            plain, between = between, np.zeros((n, n))
            for i in range(n):
                for j in range(n):
                    between[i, j] = rule(plain[i, j], labels[i], labels[j], D[i, j], self.mean)
            choice = np.where(np.isinf(between), plain, between)
            gaps = choice if name == "euclidean" else gaps
        if graph == "divergence":
            self.neighbors = [
                [(between[i, j], j) for _, j in row]
                for i, row in enumerate(nearest(choice, k, ties=plain))
            ]
        else:
            self.neighbors = [
                [(between[i, j], j) for _, j in row[:k]] for i, row in enumerate(members)
            ]
        self.neighbors = [[pair for pair in row if pair[0] < math.inf] for row in self.neighbors]
        edges = sorted({(min(i, j), max(i, j)) for i, r in enumerate(self.neighbors) for _, j in r})
        self.n_parts = len(set(components(edges, n)))
        for i, j in join(edges, n, gaps, ties):
            self.neighbors[i].append((choice[i, j], j))
            self.neighbors[j].append((choice[j, i], i))
            edges.append((i, j))
        self.edges = {(i, j): choice[i, j] for i, j in edges}
        for i, row in enumerate(self.neighbors):  # others may still have i for a neighbour
            if not row:
                row.extend((d, a + b - i) for (a, b), d in self.edges.items() if i in (a, b))

    def patch_members(self, members):
        return members if self.radius or self.size else [row[: self.k] for row in members]

    def place(self, Y):
        """List the fitted neighbours of new points, with lengths; their labels are not known."""
        D = distances(Y, self.X)
        members = nearest(
            D, None if self.radius else max(self.k, self.size or 0), self.radius, own=False
        )
        if self.name == "euclidean":
            between = D
        else:
            new = patches(Y, self.X, self.patch_members(members), self.size, **self.recipe)
            between = np.array([[divergence(self.name, a, b) for b in self.patches] for a in new])
        rows = nearest(between, self.k, own=False) if self.graph == "divergence" else members
        lengths = between
        if self.rule is not None:
            lengths = np.array(
                [
                    [self.rule(e, None, None, d, self.mean) for e, d in zip(*row, strict=True)]
                    for row in zip(between, D, strict=True)
                ]
            )
        return [[(lengths[i, j], j) for _, j in row[: self.k]] for i, row in enumerate(rows)]


def geodesics(edges, n):
    """Floyd's and Warshall's algorithm; an edge of length zero is an edge."""
    G = [[0.0 if i == j else math.inf for j in range(n)] for i in range(n)]
    for (i, j), length in edges.items():
        G[i][j] = G[j][i] = min(G[i][j], length)
    for via in range(n):
        through = G[via]
        for i in range(n):
            start = G[i][via]
            G[i] = [min(old, start + onward) for old, onward in zip(G[i], through, strict=True)]
    return np.array(G)


# ------------------------------------------------------------------- embeddings


def isomap(space, d, Y=None):
    """Classical scaling of geodesics (ISOMAP-KL eq. 9-11): all eigenvalues, coordinates, and Y's.

    New points are placed by the distances to all fitted ones (landmark scaling).
    """
    n = len(space.X)
    G = geodesics(space.edges, n)
    H = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(-H @ G**2 @ H / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    coordinates = vectors[:, :d] * np.sqrt(values[:d])
    if Y is None:
        return values, coordinates, None
    rows = []
    for row in space.place(Y):
        path = np.array([min(length + G[j, t] for length, j in row) for t in range(n)])
        b = -H @ (path**2 - (G**2).mean(axis=0)) / 2
        rows.append(b @ vectors[:, :d] / np.sqrt(values[:d]))
    return values, coordinates, np.array(rows)


def entropic_weights(d, reg):
    """PELLE eq. 9, 10, 28, to 40 digits: large divergences leave none of a double's."""
    with mp.workdps(40):
        d = mp.matrix([float(length) for length in d])
        w = mp.lu_solve(d * d.T + mp.mpf(reg) * mp.eye(len(d)), mp.ones(len(d), 1))
        return np.array([float(value / sum(w)) for value in w])


def euclidean_weights(x, members, reg):
    """PELLE eq. 3, 9, 10, with a ridge relative to the trace."""
    C = np.array([[(x - a) @ (x - b) for b in members] for a in members])
    trace = np.trace(C)
    w = np.linalg.solve(C + (reg * trace if trace > 0 else reg) * np.eye(len(C)), np.ones(len(C)))
    return w / sum(w)


def lle(space, d, weights="entropic", reg=0.1, Y=None):
    """PELLE eq. 15, 18: all eigenvalues, coordinates, and those of new points."""

    def rows(points, neighbors):
        W = np.zeros((len(points), len(space.X)))
        for i, row in enumerate(neighbors):
            members = [j for _, j in row]
            if weights == "entropic":
                W[i, members] = entropic_weights(np.array([length for length, _ in row]), reg)
            else:
                W[i, members] = euclidean_weights(points[i], space.X[members], reg)
        return W

    n = len(space.X)
    W = rows(space.X, space.neighbors)
    values, vectors = np.linalg.eigh((np.eye(n) - W).T @ (np.eye(n) - W))
    coordinates = vectors[:, 1 : d + 1]
    placed = None if Y is None else rows(Y, space.place(Y)) @ coordinates
    return values, coordinates, placed


def median_bandwidth(space, power):
    """Take the median positive length, enlarged until exp(-5) is left of the longest needed."""
    n = len(space.X)
    lengths = [length for length in space.edges.values() if length > 0]
    for longest in sorted(set(space.edges.values())):
        kept = [pair for pair, length in space.edges.items() if length <= longest]
        if len(set(components(kept, n))) == 1:
            return max(np.median(lengths) ** power, longest**power / 5)
    raise AssertionError("the graph is not connected")


def eigenmaps(space, d, kernel="gaussian", bandwidth=1.0, laplacian="unnormalized", Y=None):
    """ELAP eq. 42 and algorithm 2, or X-LEM; with the variants of the Laplacian of section II D."""
    n, power = len(space.X), 2 if kernel == "gaussian" else 1
    t = median_bandwidth(space, power) if bandwidth == "median" else bandwidth
    W = np.zeros((n, n))
    for (i, j), length in space.edges.items():
        W[i, j] = W[j, i] = math.exp(-(length**power) / t)
    D = np.diag(W.sum(axis=1))
    if laplacian == "unnormalized":
        values, vectors = np.linalg.eigh(D - W)
    else:
        # D^-1 L f = lambda f, with f' D f = 1.
        root = np.diag(1 / np.sqrt(W.sum(axis=1)))
        values, vectors = np.linalg.eigh(root @ (D - W) @ root)
        vectors = root @ vectors
    coordinates = vectors[:, 1 : d + 1]
    if Y is None:
        return values, coordinates, None
    rows = []
    for row in space.place(Y):
        w = [math.exp(-(length**power) / t) for length, _ in row]
        total = sum(w_j * coordinates[j] for w_j, (_, j) in zip(w, row, strict=True))
        if laplacian == "unnormalized":
            rows.append(total / (sum(w) - values[1 : d + 1]))
        else:
            rows.append(total / (sum(w) * (1 - values[1 : d + 1])))
    return values, coordinates, np.array(rows)
