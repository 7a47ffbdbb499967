"""Planted strangers: ``PatchOutliers`` beside LOF, IsolationForest and ECOD on real data.

    python -m benchmarks.strangers [--tables] [--even] [--speed] [--datasets A ...] [--jobs N]
                                   [--picture FILE]

``--tables``: half of a data set (at most 2000 rows, standardised) is fitted, the other half holds
usual points, and strangers of three kinds are planted among them: *shuffled* rows have every value
from another row, *displaced* ones are moved by the distance of their 15th neighbour in a random
direction, and those of an *unseen class* are rows of a class that was not fitted. Strangers *among
the fitted*, one row in twenty, are of the first two kinds, and were fitted with the others. The
number is the area under the ROC curve, over two splits. Constants were chosen on the data sets
TUNED, and the summary is of the others. ``--even``: p-values of new points of manifolds, and the
Kolmogorov-Smirnov test of whether they are even. Finished data sets are kept in
``studies/strangers-2/``, and a run that was stopped goes on; raise the number when something here
or in the methods changes. ``--speed``: time and memory to fit 10 000 points and to score as many,
beside LOF's. ``--picture`` draws p-values of a roll, and of points beside it.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import kstest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.kept import kept
from patchfold import PatchIsomap, PatchOutliers, datasets
from patchfold.datasets import make_manifold
from patchfold.datasets.loading import at_hand
from patchfold.evaluation.sampling import draw as draw_rows

FOLDER = Path("studies/strangers-2")
MOST, LEAST, SEEDS = 2000, 100, (0, 1)
KINDS = ("shuffled", "displaced", "unseen class", "among the fitted")
IMAGES = ("fashion-mnist", "mnist")
TUNED = (
    *("bupa", "glass", "ionosphere", "newthyroid", "pendigits"),
    *("segment", "sonar", "synthetic_control", "wine"),
)
# One in ONE_IN of the fitted rows is a stranger.
ONE_IN = 20
# At most CLASSES classes are left out, the smallest first.
CLASSES, FEWEST = 3, 10


def ecod(X):
    from pyod.models.ecod import ECOD

    fitted = ECOD().fit(X)
    return lambda Q: -fitted.decision_function(Q)


METHODS = {
    "PatchOutliers": lambda X: PatchOutliers().fit(X).score_samples,
    "LOF": lambda X: LocalOutlierFactor(min(20, len(X) - 1), novelty=True).fit(X).score_samples,
    "IsolationForest": lambda X: IsolationForest(random_state=0).fit(X).score_samples,
    "ECOD": ecod,
}


# The scores of the fitted rows themselves.
OWN = {
    **{name: lambda X, fit=METHODS[name]: fit(X)(X) for name in METHODS},
    "LOF": lambda X: LocalOutlierFactor(min(20, len(X) - 1)).fit(X).negative_outlier_factor_,
}


def points(name):
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    rows = draw_rows(len(X), MOST, 0)
    return X[rows], y[rows]


def planted(X, y, seed):
    """Yield the kind of strangers, the rows to fit, usual new rows, and strangers."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(X))
    fitted, held = order[: len(X) // 2], order[len(X) // 2 :]
    scaler = StandardScaler().fit(X[fitted])
    A, B = scaler.transform(X[fitted]), scaler.transform(X[held])
    shuffled = np.column_stack([random.permutation(column) for column in B.T])
    yield "shuffled", A, B, shuffled
    away = NearestNeighbors(n_neighbors=min(15, len(A))).fit(A).kneighbors(B)[0][:, -1:]
    direction = random.standard_normal(B.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    displaced = B + away * direction
    yield "displaced", A, B, displaced
    few = max(1, len(X) // (2 * ONE_IN))
    yield (
        "among the fitted",
        None,
        np.concatenate([A, B[2 * few :]]),
        np.concatenate([shuffled[:few], displaced[few : 2 * few]]),
    )
    classes, counts = np.unique(y, return_counts=True)
    several = (counts >= FEWEST) & (counts <= len(y) / 2)
    for one in classes[several][np.argsort(counts[several], kind="stable")][:CLASSES]:
        known, usual = y[fitted] != one, y[held] != one
        if known.sum() >= LEAST // 4 and (~usual).any() and usual.any():
            yield "unseen class", A[known], B[usual], B[~usual]


def measured(name):
    """Return the area under the curve by kind and method, computed once."""

    def compute():
        X, y = points(name)
        found = {kind: {method: [] for method in METHODS} for kind in KINDS}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in SEEDS:
                for kind, A, usual, strange in planted(X, y, seed):
                    Q = np.concatenate([usual, strange])
                    truth = np.arange(len(Q)) < len(usual)
                    for method, fit in METHODS.items():
                        scores = np.nan_to_num(OWN[method](Q) if A is None else fit(A)(Q))
                        found[kind][method].append(roc_auc_score(truth, scores))
        return {
            kind: {method: float(np.mean(values)) for method, values in by.items()}
            for kind, by in found.items()
            if by["LOF"]
        }

    return kept(FOLDER / f"{name}.json", compute)


def tables(jobs, chosen):
    names = [
        entry.name
        for entry in at_hand().values()
        if entry.shape[0] >= LEAST and entry.name not in IMAGES
    ]
    names = [name for name in names if chosen is None or name in chosen]
    results = Parallel(n_jobs=jobs)(delayed(measured)(name) for name in names)
    print(f"{'data set':34}" + "".join(f"{method:>16}" for method in METHODS) + "  below LOF")
    others = []
    for name, by in zip(names, results, strict=True):
        means = {method: np.mean([one[method] for one in by.values()]) for method in METHODS}
        below = [kind for kind, one in by.items() if one["PatchOutliers"] <= one["LOF"]]
        tuned = name.split("_v")[0] in TUNED
        others += [] if tuned else [by]
        cells = "".join(f"{value:>16.3f}" for value in means.values())
        print(f"{name + (' (tuned)' if tuned else ''):34}{cells}  {', '.join(below)}")
    print(f"\nThe {len(others)} data sets that no constant was chosen on:")
    for kind in KINDS:
        some = [by[kind] for by in others if kind in by]
        means = "".join(f"{m} {np.mean([one[m] for one in some]):.3f}  " for m in METHODS)
        print(f"{kind:18}{means}{above(some)}")
    each = [{m: np.mean([one[m] for one in by.values()]) for m in METHODS} for by in others]
    means = "".join(f"{m} {np.mean([one[m] for one in each]):.3f}  " for m in METHODS)
    print(f"{'mean of these':18}{means}{above(each)}")


def above(found):
    better = sum(one["PatchOutliers"] > one["LOF"] for one in found)
    return f"above LOF on {better} of {len(found)}"


def even(n=1000, new=50, seeds=20):
    """Print whether p-values of new points of manifolds are even: few of many samples each."""
    print(f"{n} points fitted, {new} new ones, {seeds} samples; Kolmogorov-Smirnov")
    for name in ("swiss-roll", "s-curve", "punctured-sphere", "toroidal-helix", "two-rolls"):
        for noise in (0.0, 0.3):
            p = []
            for seed in range(seeds):
                X = make_manifold(name, n + new, noise, seed).X
                X = np.random.default_rng(seed).permutation(X)
                p.append(PatchOutliers().fit(X[:n]).score_samples(X[n:]))
            p = np.exp(np.concatenate(p))
            test = kstest(p, "uniform")
            share = np.mean(p < 0.05)
            print(
                f"{name:18}noise {noise:<5}distance {test.statistic:.3f}  p {test.pvalue:.2f}  "
                f"below 0.05: {share:.3f}"
            )


def speed(n=10_000, m=50, repeats=3):
    """Print the time and memory to fit n points and to score as many, beside LOF's."""
    X, new = np.random.default_rng(0).standard_normal((2, n, m))
    for name in ("PatchOutliers", "LOF"):
        METHODS[name](X[:500])(new[:500])  # what is compiled or imported at first
        seconds = []
        for _ in range(repeats):
            start = perf_counter()
            METHODS[name](X)(new)
            seconds.append(perf_counter() - start)
        tracemalloc.start()
        METHODS[name](X)(new)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"{name:16}{n} x {m}: {min(seconds):.2f} s, {peak:.0f} MiB", flush=True)


def draw(path):
    """Draw p-values of new points of a roll and of points beside it, and where they lie."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X = make_manifold("swiss-roll", 2500, 0.1, 0).X
    fitted, new = X[:2000], X[2000:]
    radius = np.hypot(new[:, 0], new[:, 2])[:, None]
    strange = new * (1 + np.array([1.0, 0.0, 1.0]) / radius)
    isomap = PatchIsomap(landmarks=500, random_state=0).fit(fitted)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for points_, label, colour in (
        (new, "new points of the roll", "C0"),
        (strange, "the same, moved out by 1", "C3"),
    ):
        left.hist(
            isomap.off_manifold(points_),
            np.linspace(0, 1, 21),
            label=label,
            color=colour,
            alpha=0.7,
        )
    left.set(xlabel="p-value of off_manifold", ylabel="points", title="p-values tell strangers")
    left.legend()
    both, p = np.concatenate([new, strange]), isomap.off_manifold(np.concatenate([new, strange]))
    right.scatter(fitted[:, 0], fitted[:, 2], s=3, color="0.8", label="fitted")
    for which, label, colour in (
        (p >= 0.01, "p from 0.01", "C0"),
        (p < 0.01, "p below 0.01", "C3"),
    ):
        right.scatter(both[which, 0], both[which, 2], s=5, color=colour, label=label)
    right.set(aspect="equal", xticks=[], yticks=[], title="the roll from its side")
    right.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, dpi=110)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--even", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--picture", type=Path)
    asked, _ = parser.parse_known_args()
    every = not (asked.tables or asked.even or asked.speed or asked.picture)
    if asked.tables or every:
        tables(asked.jobs, asked.datasets)
    if asked.even or every:
        even()
    if asked.speed or every:
        speed()
    if asked.picture:
        draw(asked.picture)


if __name__ == "__main__":
    main()
