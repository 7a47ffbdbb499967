"""What is each part and each number of the recipe worth? Leave it out, or change it, and look.

    python -m benchmarks.ablation [--list] [--half tuning|held-out] [--only parts|numbers|NAME ...]
                                  [--seeds 0 1 ...] [--jobs N] [--picture FILE]

The recipe is that of :mod:`patchfold.graph.short_circuits`. Scores are rank correlations of the
embedding with the true geodesics (rolls, other manifolds, closed surfaces, geometry), and the
accuracy of seven nearest neighbours in the plane (tables, images). A row shows how much a change
gains or loses, the mean over data and seeds, and the standard error of that mean over seeds.
``--half tuning`` takes the half of geometry and the tables that numbers were chosen on; other seeds
than 100 to 129 are other data everywhere else. Finished rows are kept in ``studies/ablation-1/``,
and a run that was stopped goes on; raise the number when the recipe or something here changes.
``--picture`` draws what each part does, and stops.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from benchmarks import stability
from benchmarks.geometry import HELD_OUT, LEVELS, MANIFOLDS, TUNING, coordinates, observed
from benchmarks.geometry.__main__ import truth
from benchmarks.kept import kept
from patchfold import PatchIsomap, datasets
from patchfold.datasets import make_manifold
from patchfold.datasets.loading import at_hand
from patchfold.evaluation.comparison import NEAREST
from patchfold.evaluation.sampling import folds
from patchfold.graph.short_circuits import RECIPE, recommended_patch
from patchfold.metrics import rank_correlation
from patchfold.patches.covariances import AUTO_RIDGE

FOLDER = Path("studies/ablation-1")
SEEDS = (400, 401, 402)
ROLLS = [(noise, k) for noise in (0.5, 1.0) for k in (8, 15, 30)]
OTHERS = {name: how for name, how in stability.MANIFOLDS.items() if name != "swiss-roll"}
CLOSED = ("sphere", "cylinder", "flat torus")
IMAGES, DRAWN = ("mnist", "fashion-mnist", "optdigits", "pendigits"), 1500
LARGEST, SMALLEST = 1000, 60  # rows of a table

# What is left out, and how.
PARTS = {
    "denoising": {"denoise": False},
    "removal": {"product": np.inf},
    "stretching between parts": {"ceiling": 1.0},
    "the rule for bends": {"mutual": np.inf},
    "the second look": {"many": 0.0},
    "least stress": {"scaling": "classical"},
}
# What each number is changed to, one at a time.
NUMBERS = {
    "points": (15, 25),
    "roots": (0.45, 0.75),
    "directions": (5, 20),
    "ridge": (0.003, 0.012),
    "nearest": (8, 12),
    "ordinary": (1.25, 2.0),
    "landmarks": (8, 32),
    "product": (15.0, 40.0),
    "ceiling": (2.5, 6.0),
    "mutual": (0.28, 0.42),
    "kin": (0.5, 0.8),
    "many": (2.0, 2.5, 6.0),
}


def changes():
    """Return all changes of the recipe by name, the recipe itself first."""
    found = {"the recipe": {}} | {f"without {name}": change for name, change in PARTS.items()}
    for name, values in NUMBERS.items():
        found |= {f"{name} = {value:g}": {name: value} for value in values}
    return found


def closed(name, seed, n=600, noise=0.03):
    """Return points on a closed surface, and their true geodesics in the order of pdist."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    around = np.abs(u[:, None] - u)
    around = np.minimum(around, 2 * np.pi - around)
    if name == "sphere":
        X = rng.normal(size=(n, 3))
        X /= np.linalg.norm(X, axis=1)[:, None]
        geodesics = np.arccos(np.clip(X @ X.T, -1, 1))
    elif name == "cylinder":
        X = np.column_stack([np.cos(u), np.sin(u), v / 2])
        geodesics = np.hypot(around, cdist(v[:, None], v[:, None]) / 2)
    else:
        X = np.column_stack([np.cos(u), np.sin(u), np.cos(v), np.sin(v)])
        other = np.abs(v[:, None] - v)
        geodesics = np.hypot(around, np.minimum(other, 2 * np.pi - other))
    return X + noise * rng.normal(size=X.shape), squareform(geodesics, checks=False), X.shape[1]


@cache
def tables(half):
    """Return the names of half of the tables at hand."""
    names = sorted(
        name
        for name, entry in at_hand().items()
        if entry.shape[0] >= SMALLEST and name not in IMAGES
    )
    return names[::2] if half == "tuning" else names[1::2]


def cells(half, seed, first):
    """Return what is embedded: kind, name, and the rest that says which data it is."""
    found = [("rolls", "swiss-roll", noise, k) for noise, k in ROLLS]
    found += [("others", name, 0.5, 15) for name in OTHERS]
    found += [("closed", name, None, 15) for name in CLOSED]
    names = TUNING if half == "tuning" else HELD_OUT
    found += [
        ("geometry", name, level, 15)
        for name in names
        for level in LEVELS
        if name != "fermentation"  # needs chemotools
    ]
    found += [("images", name, None, 15) for name in IMAGES if name in at_hand()]
    if first:  # tables have no seed
        found += [("tables", name, None, 15) for name in tables(half)]
    return [(*cell, seed) for cell in found]


@lru_cache(maxsize=64)
def sample(kind, name, what, seed):
    """Return points, the truth (geodesics of pairs, or classes), and how many components to use."""
    if kind in ("rolls", "others"):
        made = make_manifold(name.split(",")[0], 1000, what, seed, **OTHERS.get(name, {}))
        return made.X, squareform(made.geodesics(), checks=False), 3 if name == "two-rolls" else 2
    if kind == "closed":
        return closed(name, seed)
    if kind == "geometry":
        return observed(name, what, seed), truth(name, seed), MANIFOLDS[name].components
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    if kind == "images":
        rows = np.random.default_rng(seed).choice(len(X), DRAWN, replace=False)
        return X[rows], y[rows], 2
    rows = np.random.default_rng(0).permutation(len(X))[:LARGEST]
    return scale(X)[rows], y[rows], 2


def embedded(cell, change):
    """Return the embedding of a sample by the recipe with a change."""
    kind, name, what, k, seed = cell
    X, _, components = sample(kind, name, what, seed)
    before = asdict(RECIPE)
    # The recipe is frozen for users. In this process alone it is another one for a while.
    for field in change.keys() & before.keys():
        object.__setattr__(RECIPE, field, change[field])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gamma = change.get("ridge", AUTO_RIDGE) * np.var(X, axis=0).mean()
            patch = recommended_patch(len(X))
            patch.set_params(gamma=gamma, denoise=change.get("denoise", True))
            method = PatchIsomap(
                components,
                n_neighbors=min(k, len(X) - 1),
                patch=patch,
                scaling=change.get("scaling", "stress"),
            )
            return np.asarray(method.fit_transform(X), dtype=float)
    finally:
        for field, value in before.items():
            object.__setattr__(RECIPE, field, value)


def score(cell, change):
    """Return the score of one embedding."""
    kind, name, what, _, seed = cell
    _, known, _ = sample(kind, name, what, seed)
    plane = embedded(cell, change)
    if kind in ("tables", "images"):
        knn = KNeighborsClassifier(NEAREST)
        return float(cross_val_score(knn, plane, known, cv=folds(known, 5)).mean())
    finite = np.isfinite(known)
    return float(rank_correlation(pdist(plane)[finite], known[finite]))


def scores_of(half, seed, name, change, first):
    """Return the scores of one change and seed by cell, computed once."""

    def compute():
        return {json.dumps(cell): score(cell, change) for cell in cells(half, seed, first)}

    return kept(FOLDER / half / f"{seed}-{name.replace(' ', '_')}.json", compute)


def report(rows):
    """Print a line a change: by kind, the gain over the recipe and its spread over seeds."""
    base = rows["the recipe"]
    kinds = list(dict.fromkeys(json.loads(cell)[0] for cell in base[0]))

    def means(one, kind):
        of_seeds = [[s for cell, s in seed.items() if json.loads(cell)[0] == kind] for seed in one]
        return np.array([np.mean(scores) for scores in of_seeds if scores])

    print(f"{'':32}" + "".join(f"{kind:>18}" for kind in kinds))
    for name, one in rows.items():
        line = f"{name:32}"
        for kind in kinds:
            values, usual = means(one, kind), means(base, kind)
            if one is base:
                line += f"{values.mean():18.3f}"
                continue
            gains = values - usual
            spread = f" ±{gains.std(ddof=1) / len(gains) ** 0.5:.3f}" if len(gains) > 1 else ""
            line += f"{f'{gains.mean():+.3f}{spread}':>18}"
        print(line, flush=True)


# What shows each part best: the cell of a sample.
SHOWN = {
    "denoising": ("rolls", "swiss-roll", 1.0, 15),
    "removal": ("rolls", "swiss-roll", 0.5, 15),
    "stretching between parts": ("images", "digits", None, 15),
    "the rule for bends": ("geometry", "statue", "low", 15),
    "the second look": ("images", "mnist", None, 15),
    "least stress": ("images", "digits", None, 15),
}


def colors_of(cell):
    """Return what colours the points of a sample: where they lie, or their class."""
    kind, name, what, _, seed = cell
    if kind == "rolls":
        return make_manifold(name, 1000, what, seed).coordinates[:, 0]
    if kind == "geometry":
        return coordinates(name, seed)[:, 0]
    return sample(kind, name, what, seed)[1]


def draw(path, seed):
    """Draw the map of the recipe, and below it the map without a part, a column for each part."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * len(SHOWN), 6.2), layout="constrained")
    axes = figure.subplots(2, len(SHOWN))
    for column, (part, shown) in zip(axes.T, SHOWN.items(), strict=True):
        cell = (*shown, seed)
        for ax, title, change in zip(
            column, ("the recipe", f"without {part}"), ({}, PARTS[part]), strict=True
        ):
            plane = embedded(cell, change)
            cmap = "tab10" if cell[0] == "images" else "viridis"
            ax.scatter(*plane[:, :2].T, c=colors_of(cell), s=3, cmap=cmap, linewidths=0)
            ax.set_aspect("equal", "datalim")
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(title, fontsize=11)
            ax.set_xlabel(f"{cell[1]}: {score(cell, change):.2f}")
    figure.savefig(path, dpi=110)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every tuned number, and stop")
    parser.add_argument("--half", choices=("tuning", "held-out"), default="held-out")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--picture", type=Path)
    asked, _ = parser.parse_known_args()
    if asked.picture:
        draw(asked.picture, asked.seeds[0])
        return
    if asked.list:
        for name, value in (asdict(RECIPE) | {"ridge": AUTO_RIDGE}).items():
            print(f"{name} = {value:g}")
        return
    chosen = changes()
    if asked.only:
        parts = ["the recipe", *(f"without {name}" for name in PARTS)]
        wanted = parts if asked.only == ["parts"] else ["the recipe", *asked.only]
        if asked.only == ["numbers"]:
            wanted = [name for name in chosen if not name.startswith("without ")]
        unknown = [name for name in wanted if name not in chosen]
        if unknown:
            parser.error(f"unknown change {unknown[0]!r}; choose from {', '.join(chosen)}")
        chosen = {name: chosen[name] for name in wanted}
    jobs = [
        (asked.half, seed, name, change, seed == asked.seeds[0])
        for seed in asked.seeds
        for name, change in chosen.items()
    ]
    found = Parallel(n_jobs=asked.jobs)(delayed(scores_of)(*job) for job in jobs)
    rows = {name: [] for name in chosen}
    for (_, _, name, _, _), scores in zip(jobs, found, strict=True):
        rows[name].append(scores)
    seeds = ", ".join(map(str, asked.seeds))
    print(f"{asked.half} half, seeds {seeds}: gains over the recipe by kind of data")
    report(rows)


if __name__ == "__main__":
    # Workers look functions up by the name of this module, not as parts of the program.
    import_module("benchmarks.ablation").main()
