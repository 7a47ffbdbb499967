"""Fits on a GPU: times, peak memory, and agreement with fits in threads.

    python -m benchmarks.gpu [--points 100000 1000000] [--agree 20000] [--repeats 3]

Rows lie on a swiss roll, turned into 50 features, with noise, in float32, and go from host to host.
Fashion-MNIST comes from the folder PATCHFOLD_DATA, if that is set. The first fit of each size is
not timed, because kernels are compiled in it; of the others the median is printed. UMAP of cuML is
run on the same rows if it is installed. ``--device cpu`` tries the program itself on torch's CPU
device, and measures nothing that counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from benchmarks.peers import quality, roll
from patchfold import PatchEigenmaps, PatchIsomap
from patchfold.gpu import devices
from patchfold.graph.geodesics import paths_on, shortest_paths

N_FEATURES = 50
LANDMARKS = 500

# Points whose distances on two maps are ranked.
RANKED = 2000


def rows(n: int) -> Any:
    return roll(n, N_FEATURES)[0].astype(np.float32)


def fashion() -> Any:
    folder = os.environ.get("PATCHFOLD_DATA")
    if not folder:
        return None
    with np.load(Path(folder) / "scale" / "fashion-mnist.npz") as file:
        return file["X"].reshape(len(file["X"]), -1).astype(np.float32)


def waited() -> float:
    """Return the time when the device has done all its work."""
    if devices.DEVICE.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def peak() -> float:
    """Return the peak memory of the device since the last time, in GB."""
    if not devices.DEVICE.startswith("cuda"):
        return float("nan")
    most = torch.cuda.max_memory_allocated() / 1e9
    torch.cuda.reset_peak_memory_stats()
    return most


def timed(name: str, make: Any, X: Any, repeats: int) -> Any:
    """Print the median time of a fit, that of its stages, and the peak memory; return a fit."""
    make().fit(X)
    peak()
    seconds, stages = [], []
    for _ in range(repeats):
        start = waited()
        fitted = make().fit(X)
        seconds.append(waited() - start)
        stages.append(getattr(fitted, "fit_report_", {}))
    listed = ", ".join(f"{stage} {median(one[stage] for one in stages):.2f}" for stage in stages[0])
    size = f"{X.shape[0]} x {X.shape[1]}"
    print(f"{name:16}{size:>16}{median(seconds):9.2f}{peak():9.2f}  {listed}", flush=True)
    return fitted


def isomap(engine: str = "cuda") -> PatchIsomap:
    return PatchIsomap(landmarks=LANDMARKS, knn="exact", engine=engine)


def eigenmaps(engine: str = "cuda") -> PatchEigenmaps:
    return PatchEigenmaps(knn="exact", engine=engine)


def agreement(n: int) -> None:
    """Print where a fit on the device differs from one in threads, and two fits from each other."""
    X = rows(n)
    print(f"\nBeside threads, {n} x {N_FEATURES}")
    for make in (isomap, eigenmaps):
        one, other, again = make("threads").fit(X), make().fit(X), make().fit(X)
        name = type(one).__name__
        first, second = one.patch_graph_, other.patch_graph_
        removed = [set(map(tuple, graph.removed.tolist())) for graph in (first, second)]
        same = set(zip(*first.matrix.nonzero(), strict=True)) & set(
            zip(*second.matrix.nonzero(), strict=True)
        )
        i, j = np.array(sorted(same)).T
        lengths = abs(second.matrix[i, j] / first.matrix[i, j] - 1)
        some = np.random.default_rng(0).permutation(n)[:RANKED]
        ranks = spearmanr(pdist(one.embedding_[some]), pdist(other.embedding_[some])).statistic
        found = [graph.search.on(device).query() for graph, device in moved(first, second)]
        print(f"{name}: other neighbours in {(found[0].indices != found[1].indices).sum()} places")
        print(f"{name}: {len(removed[0])} short circuits, {len(removed[0] ^ removed[1])} differ")
        print(f"{name}: lengths differ by {lengths.max():.1e} of themselves at most")
        print(f"{name}: rank correlation of distances on both maps {ranks:.6f}")
        equal = np.array_equal(other.embedding_, again.embedding_)
        print(f"{name}: two fits have {'the same' if equal else 'OTHER'} bits")
        sources = np.arange(0, n, max(1, n // 100))
        paths = paths_on(devices.DEVICE, first.matrix)(sources).cpu().numpy()
        equal = np.array_equal(paths, shortest_paths(first.matrix, sources))
        print(f"{name}: geodesics of equal lengths have {'the same' if equal else 'OTHER'} bits")


def moved(first: Any, second: Any) -> list[tuple[Any, str | None]]:
    return [(first, None), (second, devices.DEVICE)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--agree", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args()
    devices.DEVICE = asked.device
    card = "torch's CPU device: NO MEASUREMENT"
    if asked.device.startswith("cuda"):
        card = torch.cuda.get_device_name(asked.device)
    print(f"{card}, torch {torch.__version__}, {os.cpu_count()} cores, {platform.platform()}")
    print(f"{'':16}{'rows':>16}{'seconds':>9}{'peak GB':>9}  stages")
    tables = [rows(n) for n in sorted(asked.points)]
    images = fashion()
    for X in tables if images is None else [*tables, images]:
        timed("PatchIsomap", isomap, X, asked.repeats)
        timed("PatchEigenmaps", eigenmaps, X, asked.repeats)
        if find_spec("cuml") is not None:
            from cuml.manifold import UMAP

            timed("UMAP (cuML)", UMAP, X, asked.repeats)
    points, flat = roll(min(asked.points), N_FEATURES)
    trust, geodesic = quality(points, flat, isomap().fit_transform(points.astype(np.float32)))
    print(f"PatchIsomap of {len(points)}: trust {trust:.3f}, geodesic {geodesic:.3f}")
    agreement(asked.agree)


if __name__ == "__main__":
    main()
