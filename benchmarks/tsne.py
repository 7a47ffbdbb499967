"""PatchTSNE beside openTSNE's default: processor time, trust, and accuracy of seven neighbours.

    python -m benchmarks.tsne [--data fashion-mnist pendigits] [--samples 4000] [--seed 52]

Data of more than 50 features are reduced to 50 principal components. Both use one thread. The first
fit compiles: run it twice. Of PatchTSNE there is a second row, with as many steps as openTSNE takes
after the exaggerated ones.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

MOST_FEATURES, STEPS = 50, 500


def main() -> None:
    from openTSNE import TSNE
    from sklearn.decomposition import PCA
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    from patchfold import PatchTSNE, datasets
    from patchfold.metrics import trustworthiness

    parser = argparse.ArgumentParser(prog="python -m benchmarks.tsne", description=__doc__)
    parser.add_argument("--data", nargs="+", default=["fashion-mnist", "pendigits"])
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=52)
    asked = parser.parse_args()
    methods = {
        "openTSNE": TSNE(perplexity=30, n_jobs=1, random_state=0).fit,
        "PatchTSNE": PatchTSNE(n_jobs=1, random_state=0).fit_transform,
        f"PatchTSNE, {STEPS} steps": PatchTSNE(
            n_iter=STEPS, n_jobs=1, random_state=0
        ).fit_transform,
    }
    print(f"{'':16}{'':22}{'seconds':>9}{'trust':>8}{'accuracy':>10}")
    for name in asked.data:
        data = datasets.load(name)
        rows = np.random.default_rng(asked.seed).permutation(len(data.X))[: asked.samples]
        X, y = np.asarray(data.X, dtype=np.float64)[rows], np.asarray(data.y)[rows]
        if X.shape[1] > MOST_FEATURES:
            X = PCA(MOST_FEATURES, random_state=0).fit_transform(X)
        for method, embed in methods.items():
            start = time.process_time()
            places = np.asarray(embed(X))
            seconds = time.process_time() - start
            accuracy = cross_val_score(KNeighborsClassifier(7), places, y, cv=5).mean()
            scores = f"{trustworthiness(X, places):8.4f}{accuracy:10.4f}"
            print(f"{name:16}{method:22}{seconds:9.2f}{scores}", flush=True)


if __name__ == "__main__":
    main()
