"""What a fit is estimated to need, beside what it needs: the peak of a process of its own.

    python -m benchmarks.memory [--case NAME]

Points lie on a swiss roll, turned into more features, with noise. The peak is that of the
resident memory (``VmHWM``), less what the process has before the fit; compiled code is compiled,
and libraries are loaded, before that. Only Linux tells.
"""

# ruff: noqa: SLF001  (an estimate is asked for by fit alone)

from __future__ import annotations

import argparse
import ctypes
import gc
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
)
from patchfold.graph.lengths import has_patches

# name: estimator, number of points, number of features, type
CASES: dict[str, tuple[Any, int, int, str]] = {
    "isomap, few points": (PatchIsomap(), 3000, 10, "f8"),
    "isomap, all points": (PatchIsomap(), 8000, 10, "f8"),
    "isomap, all points, float32": (PatchIsomap(), 8000, 10, "f4"),
    "isomap, many features": (PatchIsomap(), 4000, 784, "f8"),
    "isomap, many features, some rows twice": (PatchIsomap(), 4000, 784, "f8"),
    "isomap, 500 landmarks": (PatchIsomap(landmarks=500), 30_000, 10, "f8"),
    "isomap, approximate search": (
        PatchIsomap(landmarks=500, knn="approximate", random_state=0),
        40_000,
        10,
        "f8",
    ),
    "isomap, 500 landmarks, k = 40": (PatchIsomap(landmarks=500, n_neighbors=40), 20_000, 3, "f8"),
    "isomap, full covariances": (
        PatchIsomap(
            landmarks=500,
            patch=GaussianPatch(size=80),
            lengths="divergence",
            scaling="classical",
        ),
        8000,
        60,
        "f8",
    ),
    "lle": (PatchLLE(), 30_000, 3, "f8"),
    "lle, k = 30": (PatchLLE(n_neighbors=30), 15_000, 10, "f8"),
    "eigenmaps": (PatchEigenmaps(), 60_000, 3, "f8"),
    "eigenmaps, many features": (PatchEigenmaps(), 20_000, 100, "f4"),
    "tsne": (PatchTSNE(n_iter=1), 12_000, 10, "f8"),
    "space": (PatchSpace(), 100_000, 3, "f8"),
    "space, many features": (PatchSpace(), 20_000, 200, "f8"),
    "space, euclidean": (PatchSpace(divergence="euclidean"), 100_000, 6, "f8"),
}
# The case with copies, and how many of its rows are there twice.
COPIED, COPIES = "isomap, many features, some rows twice", 40
# Points of the first fit, for which code is compiled.
FIRST = 1200


def points(n: int, m: int, dtype: str, copies: int = 0) -> Any:
    """Return points that no fit has to copy: they cannot be written to.

    So many of the first rows are the last ones, too.
    """
    from sklearn.datasets import make_swiss_roll

    random = np.random.default_rng(0)
    roll, _ = make_swiss_roll(n, noise=0.05, random_state=0)
    axes = np.linalg.qr(random.standard_normal((max(m, 3), 3)))[0].T[:, :m]
    X = (roll @ axes + 0.01 * random.standard_normal((n, m))).astype(dtype)
    X[n - copies :] = X[:copies]
    X.flags.writeable = False
    return X


def estimate(estimator: Any, X: Any, *, merged: bool = False) -> int:
    """Return what the estimator will ask for before the first stage of a fit."""
    estimator._cut_to(len(X), given=False)
    estimator.patch_ = estimator._patch_for(len(X)) if has_patches(estimator.divergence) else None
    return int(estimator._bytes(X, estimator._setting(len(X))) + (X.nbytes if merged else 0))


def measured(name: str) -> tuple[int, int]:
    """Return the estimate and the peak of a case in bytes; call it in a fresh process."""
    estimator, n, m, dtype = CASES[name]
    warnings.simplefilter("ignore")
    copies = COPIES if name == COPIED else 0
    estimator.fit(points(FIRST, m, dtype, copies))
    X = points(n, m, dtype, copies)
    expected = estimate(estimator, X, merged=copies > 0)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is used now
    before = _status("VmRSS")
    estimator.fit(X)
    return expected, _status("VmHWM") - before


def in_a_process(name: str) -> tuple[int, int]:
    """Return the estimate and the peak of a case in bytes, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", "--case", name]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
    return int(found[0]), int(found[1])


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--case", choices=CASES, help="print the two numbers of this case alone")
    case = parser.parse_args().case
    if case:
        print(*measured(case))
        return
    print("| fit | points | features | estimate, MB | peak, MB | estimate / peak |")
    print("|---|---|---|---|---|---|")
    for name, (_, n, m, _dtype) in CASES.items():
        expected, peak = in_a_process(name)
        ratio = f"{expected / 1e6:.0f} | {peak / 1e6:.0f} | {expected / peak:.2f} |"
        print(f"| {name} | {n} | {m} | {ratio}", flush=True)


if __name__ == "__main__":
    main()
