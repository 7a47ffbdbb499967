"""Back from an embedding to features: errors, time and memory beside PCA's and UMAP's.

    python -m benchmarks.inverse [--datasets digits fashion-mnist] [--dimensions 2 10] [--rolls]
    python -m benchmarks.inverse --datasets digits --dimensions 3 4 5 6 --held-out 100

Half of the points are fitted and half are held out. Each method embeds the first half, maps the
second half, and takes it back. The error is the root mean squared distance from the points held
out, in units of that of PCA with as many components; "fitted" is the same for points of the fit.
"first" is the time of the first call, for one point, "inverse" that of a call for all points held
out, and memory is the most that a process of its own gained in both (Linux). UMAP triangulates the
embedding, which takes for ever in ten dimensions: it is stopped after LIMIT seconds. --held-out
takes that many of the points held out, and --triangulation counts the simplices that UMAP needs.
What is chosen in the library was chosen on mnist, pendigits, satimage, segment, texture and
mfeat-fourier and on rolls of the seeds 11 to 13, never on digits or fashion-mnist.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchTSNE,
    datasets,
)
from patchfold.mapping.inverse import fit_inverse

DIMENSIONS, MOST = (2, 10), 2000
# Seconds, for UMAP in ten dimensions.
LIMIT = 300
REPORTED = ("digits", "fashion-mnist")
IMAGES = ("digits", "fashion-mnist", "mnist")


def umap(d):
    from umap import UMAP

    return UMAP(n_components=d, random_state=0, n_jobs=1)


METHODS = {
    "PCA": PCA,
    "PatchIsomap": PatchIsomap,
    "PatchIsomap, plain patch": lambda d: PatchIsomap(d, patch=GaussianPatch()),
    "PatchIsomap, euclidean": lambda d: PatchIsomap(d, divergence="euclidean", scaling="classical"),
    "PatchLLE": PatchLLE,
    "PatchEigenmaps": PatchEigenmaps,
    "PatchTSNE": lambda d: PatchTSNE(d, random_state=0),
    "UMAP": umap,
}
ROLL_POINTS, NOISES, SEEDS = 2000, (0.1, 0.25, 0.5), (1, 2, 3)
ROLL_METHODS = (PatchIsomap, PatchLLE, PatchEigenmaps, PatchTSNE)


def halves(name):
    """Return the points to fit and those held out, images as they are and tables standardised."""
    X = load_digits().data if name == "digits" else datasets.load(name).X
    X = np.asarray(X, dtype=float)
    rows = np.random.default_rng(0).permutation(len(X))[:MOST]
    X = X[rows] if name in IMAGES else scale(X)[rows]
    return X[: len(X) // 2], X[len(X) // 2 :]


def root_mean_square(X):
    return float(np.sqrt(np.square(X).sum(axis=1).mean()))


def resident(what):
    """Return how many bytes the process holds (VmRSS), or held at most (VmHWM)."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines[what].split()[0])


def measured(name, method, d, most):
    """Return errors, seconds and bytes of one method on one data set."""
    warnings.simplefilter("ignore")
    fitted, new = halves(name)
    new, some = new[:most], min(most, 300)
    model = METHODS[method](d).fit(fitted)
    start = time.perf_counter()
    there = model.transform(new)
    Path("/proc/self/clear_refs").write_text("5")  # forget the most that was held so far
    before, mapped = resident("VmRSS"), time.perf_counter()
    model.inverse_transform(there[:1])  # compiles what UMAP compiles; ours finds its mixture
    ready = time.perf_counter()
    back = model.inverse_transform(there)
    end, after = time.perf_counter(), resident("VmHWM")
    own = model.transform(fitted[:some]) if method == "PCA" else model.embedding_[:some]
    return {
        "new": root_mean_square(back - new),
        "fitted": root_mean_square(model.inverse_transform(own) - fitted[:some]),
        "transform": mapped - start,
        "first": ready - mapped,
        "seconds": end - ready,
        "bytes": after - before,
    }


def apart(name, method, d, most):
    """Measure in a process of its own, whose memory is not that of another method."""
    asked = [sys.executable, "-m", "benchmarks.inverse", "--one", name, method, str(d)]
    asked += ["--held-out", str(most)]
    try:
        done = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=LIMIT)  # noqa: S603
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def images(name, d, most):
    n, m = halves(name)[0].shape
    print(f"{name}: {n} x {m} fitted, {d} dimensions")
    print(f"{'':26}{'new':>7}{'fitted':>8}{'transform':>11}{'first':>8}{'inverse':>9}{'memory':>9}")
    unit = None
    for method in METHODS:
        if method == "PatchTSNE" and d > 2:
            continue  # scikit-learn's, of all pairs
        found = apart(name, method, d, most)
        if found is None:
            print(f"{method:26} not within {LIMIT} s", flush=True)
            continue
        unit = unit or found["new"]
        print(
            f"{method:26}{found['new'] / unit:7.3f}{found['fitted'] / unit:8.3f}"
            f"{found['transform']:10.2f}s{found['first']:7.2f}s{found['seconds']:8.2f}s"
            f"{found['bytes'] / 2**20:6.0f}MiB",
            flush=True,
        )


def triangulation(d):
    """Print what it takes to triangulate UMAP's embedding of the digits, as its inverse does."""
    from scipy.spatial import Delaunay

    places = umap(d).fit(halves("digits")[0]).embedding_
    Path("/proc/self/clear_refs").write_text("5")
    before, start = resident("VmRSS"), time.perf_counter()
    simplices = len(Delaunay(places).simplices)
    seconds, gained = time.perf_counter() - start, resident("VmHWM") - before
    print(f"{d} dimensions: {simplices} simplices, {seconds:.1f} s, {gained / 2**20:.0f} MiB")


def roll(n, noise, seed):
    random = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * random.random(n))
    X = np.column_stack([t * np.cos(t), 21 * random.random(n), t * np.sin(t)])
    return X + noise * random.standard_normal(X.shape)


def across(X):
    """Return the root mean square distance of points from the sheet of the clean roll."""
    from scipy.spatial import KDTree

    t = np.linspace(1.4 * np.pi, 4.6 * np.pi, 200_000)
    sheet = KDTree(np.column_stack([t * np.cos(t), t * np.sin(t)]))
    return float(np.sqrt(np.square(sheet.query(X[:, [0, 2]])[0]).mean()))


def by_transform(method, fitted, new):
    model = method(random_state=0).fit(fitted)
    return model.inverse_transform(model.transform(new))


def by_one_fit(method, fitted, new):
    """Take places of a fit to all points, of which the way back knows half: no transform errs."""
    places = method(random_state=0).fit(np.concatenate([fitted, new])).embedding_
    return fit_inverse(places[: len(fitted)], fitted)(places[len(fitted) :])


def rolls():
    print(
        f"swiss roll, {ROLL_POINTS // 2} fitted, as many held out, error across the sheet / noise"
    )
    print(f"{'noise':32}" + "".join(f"{noise:8}" for noise in NOISES))
    for method, way, remark in (
        *((method, by_transform, "") for method in ROLL_METHODS),
        (PatchLLE, by_one_fit, ", placed by one fit"),
    ):
        shares = []
        for noise in NOISES:
            found = []
            for seed in SEEDS:
                X = roll(ROLL_POINTS, noise, seed)
                back = way(method, X[: ROLL_POINTS // 2], X[ROLL_POINTS // 2 :])
                found.append(across(back) / noise)
            shares.append(np.mean(found))
        row = "".join(f"{share:8.2f}" for share in shares)
        print(f"{method.__name__ + remark:32}{row}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inverse", description=__doc__)
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--rolls", action="store_true")
    parser.add_argument("--held-out", type=int, default=MOST)
    parser.add_argument("--triangulation", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked, _ = parser.parse_known_args()
    warnings.simplefilter("ignore")
    if asked.one:
        name, method, d = asked.one
        print(json.dumps(measured(name, method, int(d), asked.held_out)))
        return
    if asked.triangulation:
        for d in asked.dimensions:
            triangulation(d)
        return
    if asked.datasets or not asked.rolls:
        for name, d in product(asked.datasets or REPORTED, asked.dimensions):
            images(name, d, asked.held_out)
    if asked.rolls or not asked.datasets:
        rolls()


if __name__ == "__main__":
    main()
