"""Compare two rules that remove short circuits: that of patchfold, and that of ORC-ManL.

    python -m benchmarks.curvature [--n 4000] [--k 20] [--seeds 0 1 ...] [--map-seeds 0 1 ...]
                                   [--datasets A ...] [--manifolds B ...] [--jobs N]

Both rules get the same graph of k nearest neighbours. The first table has the share of the bad
edges and of the good edges that each rule removes, and its seconds, the search for neighbours
included. patchfold also stretches edges; "stretched" is the share of the bad edges that it
stretches. As the authors of ORC-ManL do, a sample without a bad edge is drawn again, at most 100
times; "drawn" says how often.

The second table has the rank correlation of distances on a map with the true geodesics, where these
are known: classical Isomap of the whole graph and of the two pruned graphs, all with Euclidean
lengths, and ``PatchIsomap``. Components are joined by their closest pairs. The third table has such
maps of the tuning half of ``benchmarks.geometry``, which chose constants of patchfold.

Finished cells are kept in ``studies/curvature-1/``, and a run that was stopped goes on; raise the
number when something here or in the methods changes. Seconds compare only with ``--jobs 1`` on a
quiet machine.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import pdist, squareform

from benchmarks.curvature import orc
from benchmarks.curvature.samples import KINDS, bad_edges, sample
from benchmarks.geometry import MANIFOLDS, TUNING, coordinates, observed
from benchmarks.kept import kept
from patchfold import PatchIsomap, PatchSpace
from patchfold.graph import components
from patchfold.metrics import rank_correlation

FOLDER = Path("studies/curvature-1")
N, K, SEEDS, MAP_SEEDS = 4000, 20, tuple(range(10)), (0, 1, 2)
# A sample without bad edges is drawn again, at most ATTEMPTS times.
ATTEMPTS = 100
# Maps of benchmarks.geometry: those of the tuning half whose truth takes seconds.
FEW = ("burster", "gait", "statue", "wifi", "grid-cells")
LEVELS, GEOMETRY_K = ("low", "high"), 15
# Lengths are stretched if they exceed the typical ratio to distances by more than rounding.
ROUNDING = 1e-6
# Where distances tie, as of counts, two searches choose different neighbours: at most this share.
TIES = 0.001
RULES = ("ORC-ManL", "patchfold")
MAPS = ("Isomap", *RULES, "PatchIsomap")


def by_curvature(X, k):
    """Return the edges, and which of them ORC-ManL removes."""
    graph = orc.neighbor_graph(X, k)
    return orc.edges_of(graph), orc.pruned(graph, k)[0]


def fitted(estimator, X):
    """Fit without warnings: components are joined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X)


def among(i, j, pairs, n):
    """Tell which edges are among pairs, nearly all of which have to be edges."""
    listed = pairs.min(axis=1) * n + pairs.max(axis=1)
    keys = i * n + j
    strange = int((~np.isin(listed, keys)).sum())
    assert strange <= TIES * len(keys), "both rules have to start from the same edges"
    return np.isin(keys, listed)


def stretched(model, i, j):
    """Tell which edges of the fitted graph are longer than the distance of their centres."""
    centres = np.asarray(model.patches_.means, dtype=float)
    ratios = np.asarray(model.patch_graph_.matrix[i, j], dtype=float).ravel()
    ratios /= np.linalg.norm(centres[i] - centres[j], axis=1)
    return ratios > np.median(ratios[ratios > 0]) * (1 + ROUNDING)


def isomap(X, edges, removed, d):
    """Return the map of classical Isomap without some edges, its components joined."""
    i, j, lengths = (part[~removed] for part in edges)
    _, labels = components.n_components(orc.with_edges(i, j, lengths, len(X)))
    a, b = components.joining_edges(labels, components.closest_points(X, 1))
    i, j = np.concatenate([i, a]), np.concatenate([j, b])
    lengths = np.concatenate([lengths, np.linalg.norm(X[a] - X[b], axis=1)])
    graph = orc.with_edges(i, j, lengths, len(X))
    model = PatchIsomap(d, divergence="precomputed", scaling="classical", n_jobs=1)
    return model.fit_transform(graph)


def drawn(name, n, k, seed):
    """Draw samples until one has a bad edge, at most ATTEMPTS.

    Return the last sample, which of its edges are bad, and how many samples were drawn.
    """
    for attempt in range(ATTEMPTS):
        sampled = sample(name, n, seed, attempt)
        edges = orc.edges_of(orc.neighbor_graph(sampled.X, k))
        bad = bad_edges(name, sampled, *edges)
        if bad.any():
            break
    return sampled, bad, attempt + 1


def pruning(name, n, k, seed):
    """Return what both rules do to the edges of a sample of one of the ten kinds."""
    sampled, bad, attempts = drawn(name, n, k, seed)
    start = perf_counter()
    (i, j, _), first = by_curvature(sampled.X, k)
    middle = perf_counter()
    space = fitted(PatchSpace(n_neighbors=k, n_jobs=1), sampled.X)
    end = perf_counter()
    second = among(i, j, space.patch_graph_.removed, len(sampled.X))
    longer = ~second & stretched(space, i, j)

    def share(mask, of):
        return float(mask[of].mean()) if of.any() else np.nan

    return {
        "drawn": attempts,
        "edges": len(bad),
        "bad": int(bad.sum()),
        "bad removed": [share(removed, bad) for removed in (first, second)],
        "good removed": [share(removed, ~bad) for removed in (first, second)],
        "stretched": [share(longer, of) for of in (bad, ~bad)],
        "seconds": [middle - start, end - middle],
    }


def unrolling(name, n, k, seed):
    """Return the scores of maps of a sample of one of the ten kinds."""
    sampled, _, _ = drawn(name, n, k, seed)
    true = squareform(sampled.geodesics(), checks=False)
    return maps(sampled.X, k, sampled.components, true)


def mapping(name, level, k, seed):
    """Return the scores of maps of one of benchmarks.geometry."""
    true = squareform(MANIFOLDS[name].truth(coordinates(name, seed)), checks=False)
    return maps(observed(name, level, seed), k, MANIFOLDS[name].components, true)


def maps(X, k, d, true):
    """Return the rank correlation of maps with the true geodesics, which may be NaN."""
    edges, first = by_curvature(X, k)
    model = fitted(PatchIsomap(d, n_neighbors=k, n_jobs=1), X)
    second = among(*edges[:2], model.patch_graph_.removed, len(X))
    nothing = np.zeros(len(first), dtype=bool)
    places = [isomap(X, edges, removed, d) for removed in (nothing, first, second)]
    known = np.isfinite(true)
    return {
        name: float(rank_correlation(pdist(place)[known], true[known]))
        for name, place in zip(MAPS, [*places, model.embedding_], strict=True)
    }


def kept_cell(measure, *cell):
    """Return the measures of a cell, from its file or computed and written."""
    name = "-".join([measure.__name__, *map(str, cell)]).replace(" ", "_")
    return kept(FOLDER / f"{name}.json", lambda: measure(*cell))


def warm_up():
    """Compile before anything is timed."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    by_curvature(X, 10)
    fitted(PatchSpace(n_neighbors=10, n_jobs=1), X)


def measured(measure, names, cells, seeds, jobs):
    """Return the measures of all cells, by name and seed."""
    found = Parallel(n_jobs=jobs)(
        delayed(kept_cell)(measure, *cell, seed) for cell in cells for seed in seeds
    )
    rows = range(0, len(found), len(seeds))
    return {name: found[at : at + len(seeds)] for name, at in zip(names, rows, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curvature", description=__doc__)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--map-seeds", nargs="+", type=int, default=list(MAP_SEEDS))
    parser.add_argument("--datasets", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--manifolds", nargs="*", choices=TUNING, default=list(FEW))
    parser.add_argument("--jobs", type=int, default=1)
    asked, _ = parser.parse_known_args()
    warm_up()
    titles = [
        f"mean of seeds {' '.join(map(str, seeds))}" for seeds in (asked.seeds, asked.map_seeds)
    ]
    cells = [(name, asked.n, asked.k) for name in asked.datasets]
    print(f"n = {asked.n}, k = {asked.k}, {titles[0]}")
    report_edges(measured(pruning, asked.datasets, cells, asked.seeds, asked.jobs))
    known = [cell for cell in cells if sample(cell[0], 10, 0).places is not None]
    names = [name for name, *_ in known]
    if known:
        print(f"\nRank correlation of maps, n = {asked.n}, k = {asked.k}, {titles[1]}")
        report_maps(measured(unrolling, names, known, asked.map_seeds, asked.jobs))
    cells = [(name, level, GEOMETRY_K) for name in asked.manifolds for level in LEVELS]
    if not cells:
        return
    print(f"\nRank correlation of maps, tuning half of geometry, k = {GEOMETRY_K}, {titles[1]}")
    names = [f"{name}, {level} noise" for name, level, _ in cells]
    report_maps(measured(mapping, names, cells, asked.map_seeds, asked.jobs))


def report_edges(table):
    """Print what the rules removed: means over seeds."""
    rules = "".join(f"{rule:>10}" for rule in RULES)
    print(f"{'':43}{'bad removed, %':>20}{'':>10}{'good removed, %':>20}{'seconds':>20}")
    print(f"{'':28}{'edges':>7}{'bad':>8}{'':2}{rules}{'stretched':>10}{rules}{rules}{'drawn':>7}")
    for name, cells in table.items():
        # Shares of bad edges are means over the samples that have some.
        found = [cell for cell in cells if cell["bad"]] or cells
        edges, bad, attempts = (
            np.mean([cell[what] for cell in cells]) for what in ("edges", "bad", "drawn")
        )
        removed, lost, longer, seconds = (
            np.mean([cell[what] for cell in some], axis=0)
            for what, some in (
                ("bad removed", found),
                ("good removed", cells),
                ("stretched", found),
                ("seconds", cells),
            )
        )
        print(
            f"{name:28}{edges:7.0f}{bad:8.1f}{'':2}"
            f"{100 * removed[0]:10.1f}{100 * removed[1]:10.1f}{100 * longer[0]:10.1f}"
            f"{100 * lost[0]:10.2f}{100 * lost[1]:10.2f}"
            f"{seconds[0]:10.1f}{seconds[1]:10.1f}{attempts:7.1f}",
            flush=True,
        )


def report_maps(table):
    """Print the scores of maps: means over seeds, and their mean."""
    print(f"{'':28}" + "".join(f"{title:>13}" for title in MAPS))
    means = {
        name: np.mean([[cell[title] for title in MAPS] for cell in cells], axis=0)
        for name, cells in table.items()
    }
    means["mean"] = np.mean(list(means.values()), axis=0)
    for name, row in means.items():
        print(f"{name:28}" + "".join(f"{value:13.3f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
