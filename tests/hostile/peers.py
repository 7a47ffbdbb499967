"""The tables of the campaign through scikit-learn's estimators beside ours: a table of verdicts.

``python -m tests.hostile.peers`` in the root of the repository. Every estimator gets every table
once, with nine neighbours and without patches, in a forked process, and has 30 seconds for it. What
is asked of a result is what all eight have: a shape, finite numbers, and the places of the plain
table (bit for bit; the rank correlation of distances where only the unit differs).
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

from .data import TABLES
from .judging import CLEAR, CRASH, EXPECTED, HANG, RIGHT, UNCLEAR, WRONG, is_clear

SECONDS = 30
VERDICTS = (RIGHT, CLEAR, UNCLEAR, WRONG, HANG, CRASH)
EUCLIDEAN: dict[str, Any] = {"divergence": "euclidean", "n_neighbors": 9, "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "PatchIsomap": lambda: PatchIsomap(scaling="classical", **EUCLIDEAN),
    "Isomap": lambda: Isomap(n_neighbors=9),
    "PatchLLE": lambda: PatchLLE(**EUCLIDEAN),
    "LocallyLinearEmbedding": lambda: LocallyLinearEmbedding(n_neighbors=9, random_state=0),
    "PatchEigenmaps": lambda: PatchEigenmaps(**EUCLIDEAN),
    "SpectralEmbedding": lambda: SpectralEmbedding(
        affinity="nearest_neighbors", n_neighbors=9, random_state=0
    ),
    "PatchTSNE": lambda: PatchTSNE(perplexity=5, n_iter=10, **EUCLIDEAN),
    "TSNE": lambda: TSNE(perplexity=5, max_iter=260, random_state=0),
}


class LateError(Exception):
    """A fit takes too long."""


def verdict(make: Any, name: str) -> str:
    """Return what comes of one table."""
    table = TABLES[name](np.random.default_rng(0))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            places = make().fit_transform(table.X)
            plain = None if table.plain is None else make().fit_transform(table.plain[0])
        except LateError:
            return HANG
        except EXPECTED as error:
            return CLEAR if is_clear(str(error)) else UNCLEAR
        except Exception:  # noqa: BLE001  (this is what is looked for)
            return UNCLEAR
    right = places.shape[1:] == (2,) and np.isfinite(places).all() and not table.refused
    if right and plain is not None:
        right = _same(places, plain, exact=table.exact)
    if not right:
        return WRONG
    odd = [w for w in warned if issubclass(w.category, RuntimeWarning)]
    return UNCLEAR if any("encountered" in str(w.message) for w in odd) else RIGHT


def _same(places: Any, plain: Any, *, exact: bool) -> bool:
    if exact:
        return bool(np.array_equal(places, plain))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(spearmanr(pdist(places), pdist(plain)).statistic > 0.999)


def in_child(make: Any, name: str) -> str:
    """Return what comes of one table in a forked process, which may crash."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, _late)
        signal.alarm(SECONDS)
        os.write(into, verdict(make, name).encode())
        os._exit(0)
    os.close(into)
    found = os.read(out, 100).decode()
    os.waitpid(child, 0)
    os.close(out)
    return found or CRASH


def _late(*_: Any) -> None:
    raise LateError


def main() -> None:
    sys.stdout.write("| estimator | tables | " + " | ".join(VERDICTS) + " |\n")
    sys.stdout.write("|---" * (len(VERDICTS) + 2) + "|\n")
    for label, make in ESTIMATORS.items():
        counts: Counter[str] = Counter()
        for name in TABLES:
            if "tsne" in label.lower() and name.startswith("unit"):
                continue  # whose optimiser takes rounding errors to other places
            counts[in_child(make, name)] += 1
        row = " | ".join(str(counts[one]) for one in VERDICTS)
        sys.stdout.write(f"| `{label}` | {counts.total()} | {row} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
