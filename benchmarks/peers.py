"""patchfold beside its peers, on the same points: time, peak memory and quality.

    python -m benchmarks.peers [--samples 10000] [--features 50] [--neighbors 15] [--repeats 3]
                               [--methods A B ...] [--json FILE] [--store]

The points lie on a swiss roll, turned into all features, with noise. Each method runs in a process
of its own, first on few points, so that nothing is compiled while it is timed. Its time is the
median of the repeats; the ratio is that of the least processor time to the least of scikit-learn's
Isomap, which hardly depends on what else the machine does. The column "before" has the ratio of the
last stored table of these sizes, in benchmarks/peers.json. What got slower by more than the noise
is marked; --store stores this table. Trustworthiness, and the rank correlation of distances in the
embedding with the true geodesics, are those of some of the points. The papers' programs, plain
loops over pairs, run on fewer points, beside patchfold on the same; ratios there are to the first
of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOISE = 0.25
# Points that quality is judged by, and points that a method is tried on before it is timed. The
# latter must be enough for every compiled function to be used.
JUDGED, FIRST = 2_000, 3_000
# Size at which the papers' programs run; one of them takes minutes at it.
LOOP_SAMPLES, LOOP_FEATURES = 2_000, 20
N_JOBS = 2
PACKAGES = (
    "patchfold",
    "scikit-learn",
    "umap-learn",
    "openTSNE",
    "pacmap",
    "tapkee",
    "numpy",
    "scipy",
)
# Landmarks of tapkee's Isomap, as many as PatchIsomap takes.
LANDMARKS = 500


class Setting(NamedTuple):
    """What all methods are measured at."""

    samples: int
    features: int
    neighbors: int
    repeats: int


class Peer(NamedTuple):
    """What is measured: a function that makes an embedding, and the package it needs."""

    embed: Callable[[Floats, int], Any]
    package: str
    loop: bool = False  # runs at the size of the loops


def roll(n: int, n_features: int) -> tuple[Floats, Floats]:
    """Return a swiss roll turned into ``n_features`` features, and its flat coordinates."""
    rng = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    height = 21 * rng.random(n)
    surface = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    turn = np.linalg.qr(rng.standard_normal((n_features, 3)))[0]
    # The length of the spiral, whose radius is its angle.
    length = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    points = surface @ turn.T + NOISE * rng.standard_normal((n, n_features)) / n_features**0.5
    return points, np.stack([length, height], axis=1)


def quality(X: Floats, flat: Floats, embedding: Floats) -> tuple[float, float]:
    """Return the trustworthiness and the rank correlation with the geodesics, of some points."""
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr
    from sklearn.manifold import trustworthiness

    some = np.random.default_rng(1).permutation(len(X))[:JUDGED]
    trust = trustworthiness(X[some], embedding[some], n_neighbors=15)
    correlation = spearmanr(pdist(flat[some]), pdist(embedding[some])).statistic
    return float(trust), float(correlation)


# ---------------------------------------------------------------- the methods


def sklearn_isomap(X: Floats, k: int) -> Any:
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=k, n_jobs=N_JOBS).fit_transform(X)


def sklearn_lle(X: Floats, k: int) -> Any:
    from sklearn.manifold import LocallyLinearEmbedding

    method = LocallyLinearEmbedding(n_neighbors=k, n_jobs=N_JOBS, random_state=0)
    return method.fit_transform(X)


def sklearn_spectral(X: Floats, k: int) -> Any:
    from sklearn.manifold import SpectralEmbedding

    method = SpectralEmbedding(
        affinity="nearest_neighbors", n_neighbors=k, n_jobs=N_JOBS, random_state=0
    )
    return method.fit_transform(X)


def umap(X: Floats, k: int) -> Any:
    from umap import UMAP

    return UMAP(n_neighbors=k, n_jobs=N_JOBS).fit_transform(X)


def open_tsne(X: Floats, k: int) -> Any:
    from openTSNE import TSNE

    return np.asarray(TSNE(perplexity=30, n_jobs=N_JOBS, random_state=0).fit(X))


def pacmap(X: Floats, k: int) -> Any:
    from pacmap import PaCMAP

    return PaCMAP(n_neighbors=k, random_state=0).fit_transform(X)


def tapkee(X: Floats, k: int, method: str, **setting: float) -> Any:
    """Run a method of tapkee, which takes a point per column."""
    import tapkee
    from threadpoolctl import threadpool_limits

    with threadpool_limits(N_JOBS, "openmp"):
        points = np.asfortranarray(X.T)
        return tapkee.embed(points, method=method, num_neighbors=k, target_dimension=2, **setting)


def tapkee_isomap(X: Floats, k: int) -> Any:
    return tapkee(X, k, "isomap")


def tapkee_landmarks(X: Floats, k: int) -> Any:
    return tapkee(X, k, "l-isomap", landmark_ratio=min(1.0, LANDMARKS / len(X)))


def tapkee_lle(X: Floats, k: int) -> Any:
    return tapkee(X, k, "lle")


def patch_isomap(X: Floats, k: int) -> Any:
    from patchfold import PatchIsomap

    return PatchIsomap(n_neighbors=k, n_jobs=N_JOBS).fit_transform(X)


def patch_isomap_exact(X: Floats, k: int) -> Any:
    from patchfold import PatchIsomap

    return PatchIsomap(n_neighbors=k, landmarks=None, n_jobs=N_JOBS).fit_transform(X)


def patch_lle(X: Floats, k: int) -> Any:
    from patchfold import PatchLLE

    return PatchLLE(n_neighbors=k, n_jobs=N_JOBS).fit_transform(X)


def patch_eigenmaps(X: Floats, k: int) -> Any:
    from patchfold import PatchEigenmaps

    return PatchEigenmaps(n_neighbors=k, n_jobs=N_JOBS).fit_transform(X)


def patch_tsne(X: Floats, k: int) -> Any:
    from patchfold import PatchTSNE

    return PatchTSNE(n_neighbors=k, n_jobs=N_JOBS, random_state=0).fit_transform(X)


def loop_kl(mean_i: Floats, mean_j: Floats, covariance_i: Floats, covariance_j: Floats) -> float:
    """Compare two patches as the papers' programs do: nothing is kept for the next pair."""
    inverse, m = np.linalg.inv, len(mean_i)
    if np.linalg.cond(covariance_i) > 1 / np.finfo(float).eps:
        covariance_i = covariance_i + 1e-3 * np.eye(m)
    if np.linalg.cond(covariance_j) > 1 / np.finfo(float).eps:
        covariance_j = covariance_j + 1e-3 * np.eye(m)
    gap = mean_i - mean_j
    squares = gap @ inverse(covariance_i) @ gap + gap @ inverse(covariance_j) @ gap
    product = inverse(covariance_i) @ covariance_j + inverse(covariance_j) @ covariance_i
    return float(np.trace(product) + squares - 2 * m) / 4


def loop_patches(X: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    """Return who is whose neighbour, and the patches, without their own points."""
    from sklearn.neighbors import kneighbors_graph

    n, m = X.shape
    adjacency = kneighbors_graph(X, k).toarray()
    means, covariances = np.zeros((n, m)), np.zeros((n, m, m))
    for i in range(n):
        members = X[adjacency[i] > 0]
        means[i], covariances[i] = members.mean(axis=0), np.cov(members.T)
    return adjacency, means, covariances


def loop_divergences(X: Floats, k: int) -> Floats:
    """Return the matrix of divergences of neighbours."""
    adjacency, means, covariances = loop_patches(X, k)
    n = len(X)
    divergences = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if adjacency[i, j] > 0:
                divergences[i, j] = loop_kl(means[i], means[j], covariances[i], covariances[j])
    return divergences


def loop_lle(X: Floats, k: int) -> Floats:
    """Run PELLE, whose program compares a point with two of its neighbours at a time."""
    from scipy.linalg import eigh

    adjacency, means, covariances = loop_patches(X, k)
    n = len(X)
    weights = np.zeros((n, n))
    for i in range(n):
        near = np.flatnonzero(adjacency[i])
        local = 1e-3 * np.eye(k)
        for p, j in enumerate(near):
            for q, h in enumerate(near):
                to_j = loop_kl(means[i], means[j], covariances[i], covariances[j])
                to_h = loop_kl(means[i], means[h], covariances[i], covariances[h])
                local[p, q] += to_j * to_h
        solved = np.linalg.solve(local, np.ones(k))
        weights[i, near] = solved / solved.sum()
    rest = np.eye(n) - weights
    return np.asarray(eigh(rest.T @ rest, subset_by_index=(1, 2))[1])


def loop_eigenmaps(X: Floats, k: int) -> Floats:
    """Run ELAP, its weights as the paper has them."""
    from scipy.linalg import eigh

    divergences = loop_divergences(X, k)
    weights = np.where(divergences > 0, np.exp(-(divergences**2)), 0)
    weights = np.maximum(weights, weights.T)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(eigh(laplacian, subset_by_index=(1, 2))[1])


def loop_isomap(X: Floats, k: int) -> Floats:
    """Run ISOMAP-KL, with a decomposition of the whole matrix."""
    from scipy.sparse.csgraph import dijkstra

    divergences = loop_divergences(X, k)
    n = len(X)
    paths = dijkstra(np.maximum(divergences, divergences.T), directed=False)
    paths[np.isinf(paths)] = 0
    centre = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ paths**2 @ centre)
    return np.asarray(vectors[:, :-3:-1] * np.sqrt(np.abs(values[:-3:-1])))


PEERS = {
    "Isomap (scikit-learn)": Peer(sklearn_isomap, "scikit-learn"),
    "LLE (scikit-learn)": Peer(sklearn_lle, "scikit-learn"),
    "SpectralEmbedding (scikit-learn)": Peer(sklearn_spectral, "scikit-learn"),
    "UMAP": Peer(umap, "umap-learn"),
    "t-SNE (openTSNE)": Peer(open_tsne, "openTSNE"),
    "PaCMAP": Peer(pacmap, "pacmap"),
    "Isomap (tapkee)": Peer(tapkee_isomap, "tapkee"),
    "Isomap, 500 landmarks (tapkee)": Peer(tapkee_landmarks, "tapkee"),
    "LLE (tapkee)": Peer(tapkee_lle, "tapkee"),
    "PatchIsomap": Peer(patch_isomap, "patchfold"),
    "PatchIsomap, all points": Peer(patch_isomap_exact, "patchfold"),
    "PatchLLE": Peer(patch_lle, "patchfold"),
    "PatchEigenmaps": Peer(patch_eigenmaps, "patchfold"),
    "PatchTSNE": Peer(patch_tsne, "openTSNE"),
    "ISOMAP-KL, loops": Peer(loop_isomap, "patchfold", loop=True),
    "PELLE, loops": Peer(loop_lle, "patchfold", loop=True),
    "ELAP, loops": Peer(loop_eigenmaps, "patchfold", loop=True),
    "PatchIsomap, small": Peer(patch_isomap, "patchfold", loop=True),
    "PatchLLE, small": Peer(patch_lle, "patchfold", loop=True),
    "PatchEigenmaps, small": Peer(patch_eigenmaps, "patchfold", loop=True),
}
# What ratios are of: the first at full size, the first at the size of the loops.
REFERENCES = {False: "Isomap (scikit-learn)", True: "ISOMAP-KL, loops"}


def measure(name: str, setting: Setting) -> dict[str, Any]:
    """Measure one method, in this process."""
    peer = PEERS[name]
    n, m = (LOOP_SAMPLES, LOOP_FEATURES) if peer.loop else (setting.samples, setting.features)
    X, flat = roll(n, m)
    slow = name.endswith("loops")
    if not slow:
        peer.embed(X[:: max(1, len(X) // FIRST)], setting.neighbors)
    seconds, processor = [], []
    for _ in range(1 if slow else setting.repeats):
        start, used = time.perf_counter(), time.process_time()
        embedding = peer.embed(X, setting.neighbors)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    trust, correlation = quality(X, flat, embedding)
    return {
        "method": name,
        "samples": n,
        "features": m,
        "seconds": seconds,
        "processor": processor,
        "peak_gb": peak,
        "trustworthiness": trust,
        "geodesic_correlation": correlation,
    }


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def line(result: dict[str, Any], now: Any, before: Any) -> str:
    """Return a row: ``now`` and ``before`` have the ratios, where they are known."""
    ratios = "".join(f"{row['ratio']:8.3f}" if row else f"{'':8}" for row in (now, before))
    scores = f"{result['trustworthiness']:7.3f}{result['geodesic_correlation']:9.3f}"
    words = f"{result['method']:34}{statistics.median(result['seconds']):9.2f}{ratios}"
    mark = "  slower" if now and before and stored.is_slower(now, before) else ""
    return f"{words}{result['peak_gb']:9.2f}{scores}{mark}"


def commit() -> str:
    """Name the commit that is measured, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--neighbors", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=PEERS, default=list(PEERS), metavar="NAME")
    parser.add_argument("--json", type=Path, help="file for the results", metavar="FILE")
    parser.add_argument("--store", action="store_true", help="compare later runs with this one")
    asked = parser.parse_args()
    setting = Setting(asked.samples, asked.features, asked.neighbors, asked.repeats)
    context = multiprocessing.get_context("spawn")
    results: list[dict[str, Any]] = []
    rows: dict[str, dict[str, float]] = {}
    last = stored.stored(setting._asdict())
    print(f"{setting}, {N_JOBS} threads of {os.cpu_count()} cores")
    if last is not None:
        print(f"before: {last['commit']} on {last['machine']}")
    names = f"{'seconds':>9}{'ratio':>8}{'before':>8}{'peak GB':>9}{'trust':>7}{'geodesic':>9}"
    print(f"{'':34}{names}")
    for name in asked.methods:
        package = PEERS[name].package
        if installed(package) is None:
            print(f"{name:34}not measured, {package} is not installed", flush=True)
            continue
        with ProcessPoolExecutor(1, context) as process:
            results.append(process.submit(measure, name, setting).result())
        rows = stored.rows_of(
            results, {name: REFERENCES[peer.loop] for name, peer in PEERS.items()}
        )
        before = None if last is None else last["rows"].get(name)
        print(line(results[-1], rows.get(name), before), flush=True)
    origin = {
        "commit": commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": N_JOBS,
        "python": platform.python_version(),
        "versions": {package: installed(package) for package in PACKAGES},
    }
    if asked.store:
        stored.store(setting._asdict(), rows, origin, stored.FILE)
        print(stored.FILE)
    if asked.json:
        content = {"setting": setting._asdict(), **origin, "results": results}
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(asked.json)


if __name__ == "__main__":
    main()
