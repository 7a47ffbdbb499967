"""What other seeds of the forest give for the accuracies that ELAP and PELLE print.

    python -m benchmarks.forests {elap,pelle} [--rows ROW ...] [--seeds 40]

Both papers average four classifiers, one of them a forest without a seed. For every cell of
docs/reproduction that is more than 0.005 off, the least and the largest mean over the seeds; those
of UMAP share them with five seeds of its own. Data sets come from PATCHFOLD_DATA.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.model_selection import train_test_split

from patchfold.papers import tables
from patchfold.papers.reproduction import baselines, elap, experiment, pelle
from patchfold.papers.reproduction.cells import row_name

TABLES = {"elap": ("II", "ELAP", elap.published), "pelle": ("1", "PELLE", pelle.published)}
UMAP_SEEDS = 5
OFF = 0.005
REPORTS = Path(__file__).parents[1] / "docs" / "reproduction"


def cells_off(paper, table):
    """Return data set, row, method, printed number and K of the cells that do not come out."""
    printed = {(row_name(cell), cell.column): cell.value for cell in tables.read(paper, table)}
    text = (REPORTS / f"{paper}.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()[1:]):
        if (line["table"], line["account"]) != (table, "published"):
            continue
        value = printed[line["row"], line["method"]]
        if abs(round(float(line["value"]), 3) - value) > OFF + 1e-9:
            k = int(line["note"].removeprefix("K=") or 0)
            yield line["data_set"], line["row"], line["method"], value, k


def means(planes, y, seeds):
    """Return the mean accuracies of the classifiers in each plane, for its share of the seeds."""
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.5, random_state=experiment.PUBLISHED_SPLIT
    )
    for plane in planes:
        for seed in range(seeds // len(planes)):
            with mock.patch.object(experiment, "FOREST_SEED", seed):
                yield experiment.accuracy(plane[train], y[train], plane[test], y[test])


def planes_of(method, X, k, own, published):
    if method == own:
        return [published(X, k)]
    if method == "UMAP":
        given = {"n_neighbors": experiment.UMAP_SIZE}
        return [baselines.embed(method, X, random_state=s, **given) for s in range(UMAP_SEEDS)]
    return [experiment.baseline(method, X, experiment.BASELINE_SIZE)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forests", description=__doc__)
    parser.add_argument("paper", choices=TABLES)
    parser.add_argument("--rows", nargs="+")
    parser.add_argument("--seeds", type=int, default=40)
    asked = parser.parse_args()
    table, own, published = TABLES[asked.paper]
    warnings.simplefilter("ignore")  # of graphs in parts, which are what is measured
    for data_set, row, method, printed, k in cells_off(asked.paper, table):
        if asked.rows and row not in asked.rows:
            continue
        X, y = experiment.standardised(data_set)
        found = list(means(planes_of(method, X, k, own, published), y, asked.seeds))
        # Printed digits are rounded, or cut off.
        inside = min(found) - 0.001 <= printed <= max(found) + 0.0005
        told = "within" if inside else "outside"
        print(f"{row:26}{method:8}{printed:.3f}  {min(found):.3f} to {max(found):.3f}  {told}")


if __name__ == "__main__":
    main()
