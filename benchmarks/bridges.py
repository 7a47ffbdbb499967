"""Do bridges find short circuits? Scores of rankings on manifolds whose geodesics are known.

    python -m benchmarks.bridges [--quick] [--seeds 200 201 ...] [--picture FILE]

All edges to the k nearest neighbours are ranked: by ``PatchSpace.bridges(min_score=0)``, and by
what is plainer: the divergence of the two patches, the length of an edge, its betweenness (the
shortest paths that take it; where igraph is installed), and how few neighbours its ends share. An
edge short-circuits the manifold if the true geodesic is more than three times as long as the edge
and four deviations of the noise together, or if its ends lie on separate parts; edges of outliers
do not count. ROC AUC, and the average precision, which asks how many of the edges at the top are
short circuits; means over the seeds with at least five of them. ``--quick`` takes two seeds.
``--picture`` draws what bridges look like on one roll.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.stability import MANIFOLDS
from patchfold import PatchIsomap, PatchSpace
from patchfold.datasets import make_manifold

N = 1000
NOISES, DEGREES, SEEDS = (0.0, 0.5, 1.0), (8, 15, 30), tuple(range(200, 205))
# Longer than an edge and the noise by this factor: a short circuit.
FACTOR, DEVIATIONS = 3.0, 4.0
FEWEST = 5
MEASURES = {"ROC AUC": roc_auc_score, "Average precision": average_precision_score}
RANKINGS = ("bridges", "divergence", "length", "betweenness", "few shared")


def sample(manifold, noise, seed):
    return make_manifold(manifold.split(",")[0], N, noise, seed, **MANIFOLDS[manifold])


def rankings(X, k):
    """Return the ends of all edges, and what they are ranked by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = PatchSpace(n_neighbors=k).fit(X)
    found = space.bridges(min_score=0)
    i, j = found.source, found.target
    length = np.linalg.norm(X[i] - X[j], axis=1)
    ranked = {
        "bridges": found.score,
        "divergence": space.patch_graph_.lengths.divergences(i, j),
        "length": length,
        "few shared": -shared_neighbors(i, j, len(X)),
    }
    if find_spec("igraph"):
        import igraph

        graph = igraph.Graph(n=len(X), edges=np.column_stack([i, j]).tolist())
        ranked["betweenness"] = np.array(graph.edge_betweenness(weights=length.tolist()))
    return i, j, ranked


def shared_neighbors(i, j, n):
    """Return the neighbours that both ends have in common, as a share of those of either."""
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    near = csr_array((np.ones(2 * len(i)), ends), shape=(n, n))
    common = np.asarray(near[i].multiply(near[j]).sum(axis=1)).ravel()
    degrees = np.diff(near.indptr)
    return common / (degrees[i] + degrees[j] - common)


def short_circuits(sampled, i, j, noise):
    """Tell which edges short-circuit the manifold, and which count."""
    counted = sampled.inliers[i] & sampled.inliers[j]
    geodesics = sampled.geodesics()[i, j]
    apart = np.isnan(geodesics)  # on separate parts, or one an outlier
    edges = np.linalg.norm(sampled.X[i] - sampled.X[j], axis=1)
    return apart | (geodesics > FACTOR * (edges + DEVIATIONS * noise)), counted


def score(manifold, noise, k, seed):
    """Return the scores of every ranking by measure, and the number of short circuits."""
    sampled = sample(manifold, noise, seed)
    i, j, ranked = rankings(sampled.X, k)
    true, counted = short_circuits(sampled, i, j, noise)
    count = int(true[counted].sum())
    if count < FEWEST:
        return None, count
    values = [
        [measure(true[counted], ranked[name][counted]) if name in ranked else np.nan]
        for name in RANKINGS
        for measure in MEASURES.values()
    ]
    return np.array(values).reshape(len(RANKINGS), len(MEASURES)).T, count


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bridges", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--picture")
    asked = parser.parse_args(arguments)
    if asked.picture:
        draw(asked.picture)
        return
    seeds = asked.seeds[:2] if asked.quick else asked.seeds
    cells = {}
    for manifold in MANIFOLDS:
        for noise in NOISES:
            for k in DEGREES:
                found = [score(manifold, noise, k, seed) for seed in seeds]
                scores = [scores for scores, _ in found if scores is not None]
                if scores:
                    count = np.mean([count for _, count in found])
                    cells[manifold, f"{noise:g}", str(k), f"{count:.0f}"] = np.mean(scores, axis=0)
    print(f"{N} points, seeds {', '.join(map(str, seeds))}")
    for place, measure in enumerate(MEASURES):
        report(measure, {cell: scores[place] for cell, scores in cells.items()})


def report(measure, cells):
    print(f"\n{measure}\n")
    print("| manifold | noise | k | short circuits | " + " | ".join(RANKINGS) + " |")
    print("|---" * (4 + len(RANKINGS)) + "|")
    table = np.array(list(cells.values()))
    best = np.bincount(np.nanargmax(table, axis=1), minlength=len(RANKINGS))
    rows = {
        **cells,
        ("mean", "", "", ""): table.mean(axis=0),
        ("least", "", "", ""): table.min(axis=0),
    }
    for cell, scores in rows.items():
        print("| " + " | ".join([*cell, *(f"{value:.3f}" for value in scores)]) + " |")
    print("| " + " | ".join([f"best, of {len(cells)}", "", "", "", *map(str, best)]) + " |")


def draw(path):
    """Draw the bridges of one roll over its section, and over its embedding."""
    from matplotlib import pyplot as plt

    from patchfold.plotting import plot_bridges

    roll = sample("swiss-roll", 0.5, 200)
    isomap = PatchIsomap(n_neighbors=20).fit(roll.X)
    found = isomap.bridges()
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    plot_bridges(roll.X[:, [0, 2]], found, title="the roll from its side", ax=axes[0])
    plot_bridges(isomap.embedding_, found, title="PatchIsomap", ax=axes[1])
    figure.savefig(path, dpi=100)
    print(path, len(found), "edges")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
