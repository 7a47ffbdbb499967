"""How far the two closed forms are from the Fisher-Rao distance, which they enclose.

First on geodesics of known length: Eriksen's exponential gives the geodesic of a start direction,
whose length is the size of the direction. Then on edges of tables, where the distance is the least
over the matrices that lie above the second Gaussian, found by BFGS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, expm, solve_triangular
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from patchfold import Patches, PatchSpace
from patchfold.datasets import make_manifold
from patchfold.divergences import paired

if TYPE_CHECKING:
    from patchfold.base.types import Doubles

GEODESICS, EDGES = 200, 200
NAMES = ("calvo-oller", "fisher-rao")


def geodesic(B: Doubles, x: Doubles) -> tuple[Doubles, Doubles]:
    """Return the Gaussian at the end of the geodesic from N(0, I) with direction (x, -B)."""
    d = len(x)
    A = np.zeros((2 * d + 1, 2 * d + 1))
    A[:d, :d], A[d + 1 :, d + 1 :] = B, -B
    A[:d, d] = A[d, :d] = x
    A[d + 1 :, d] = A[d, d + 1 :] = -x
    G = expm(-A)
    S = np.linalg.inv(G[:d, :d])
    return -S @ G[:d, d], (S + S.T) / 2


def random_geodesic(rng: np.random.Generator, d: int, length: float) -> tuple[Doubles, Doubles]:
    """Return the end of a geodesic of this length from N(0, I)."""
    B, x = rng.standard_normal((d, d)) * 10 ** rng.uniform(-1, 0.5), rng.standard_normal(d)
    B = B + B.T
    size = length / np.sqrt(x @ x + (B * B).sum() / 2)
    return geodesic(size * B, size * x)


def exact(mean_a: Doubles, S_a: Doubles, mean_b: Doubles, S_b: Doubles) -> float:
    """Return the Fisher-Rao distance: the least length of ``ln(Q G Q')`` over the fibre, halved."""
    d = len(mean_a)
    root = cholesky(S_a, lower=True)
    gap = solve_triangular(root, mean_b - mean_a, lower=True)
    S = solve_triangular(root, solve_triangular(root, S_b, lower=True).T, lower=True)
    roots = cholesky((S + S.T) / 2, lower=True)
    F = np.eye(2 * d + 1)
    F[d, :d], F[d + 1 :, d], F[d + 1 :, :d] = gap, -gap, -np.outer(gap, gap) / 2
    F[:, :d] @= np.linalg.inv(roots).T
    F[:, d + 1 :] @= roots
    upper = np.triu_indices(d, 1)

    def half_square(turns: Doubles) -> tuple[float, Doubles]:
        K = np.zeros((d, d))
        K[upper] = turns
        lifted = F.copy()
        lifted[d + 1 :] += (K - K.T) @ F[:d]
        U, s, _ = np.linalg.svd(lifted)
        block = (U[d + 1 :] * (2 * np.log(s))) @ U[:d].T
        return float(np.sum(np.log(s) ** 2)) / 2, (block - block.T)[upper] / 2

    start = np.zeros(d * (d - 1) // 2)
    return float(np.sqrt(2 * minimize(half_square, start, jac=True, method="BFGS").fun))


def show(name: str, patches: Patches, i: Doubles, j: Doubles, lengths: Doubles) -> None:
    errors = [100 * (paired(patches, i, j, bound) / lengths - 1) for bound in NAMES]
    low, high = (f"{np.median(e):8.2f}{e[np.argmax(np.abs(e))]:9.2f}" for e in errors)
    print(f"{name:<28}{np.median(lengths):8.2f}{low}{high}")


def main() -> None:
    print("error in %, the median and the largest")
    print(f"{'':<28}{'length':>8}{'calvo-oller':>17}{'fisher-rao':>17}")
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 12):
        for length in (1.0, 3.0, 10.0):
            ends = [random_geodesic(rng, d, length) for _ in range(GEODESICS)]
            ends.append((np.zeros(d), np.eye(d)))
            patches = Patches.from_moments(*map(np.array, zip(*ends, strict=True)))
            i, j = np.arange(GEODESICS), np.full(GEODESICS, GEODESICS)
            show(f"geodesics, {d} dimensions", patches, i, j, np.full(GEODESICS, length))
    tables = {
        "swiss roll": make_manifold("swiss-roll", 1000, random_state=0).X,
        "iris": load_iris().data,
        "wine": StandardScaler().fit_transform(load_wine().data),
    }
    for name, X in tables.items():
        space = PatchSpace(random_state=0).fit(X)
        graph = space.graph_.tocoo()
        some = rng.choice(graph.nnz, EDGES, replace=False)
        i, j = graph.row[some], graph.col[some]
        patches = space.patches_
        means, S = patches.means, patches.covariances()
        lengths = [exact(means[a], S[a], means[b], S[b]) for a, b in zip(i, j, strict=True)]
        show(f"{name}, edges", patches, i, j, np.asarray(lengths))


if __name__ == "__main__":
    main()
