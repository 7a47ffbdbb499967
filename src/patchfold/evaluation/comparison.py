"""All estimators beside the classical methods on one table: whose plane tells the target best.

The rows are split into halves, again and again. Everything is fitted to one half, the coding of
columns included; the other half is mapped into the plane, where its targets are predicted by the
nearest neighbours among the first. A method that cannot map new rows is given all rows at once,
without their targets, and marked: it saw the features of the rows it is tested on.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline

from patchfold.embedding import PatchIsomap, PatchSpace
from patchfold.embedding.methods import METHODS, own_parameters
from patchfold.evaluation.intervals import mean_interval
from patchfold.evaluation.peers import umap
from patchfold.evaluation.prediction import accuracy
from patchfold.graph.geodesics import shortest_paths
from patchfold.metrics import stress, trustworthiness, visible_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

# The classes of the rows themselves, without an embedding: what a plane may lose.
ALL_COLUMNS = "all columns"
# Halves have as many test as training rows.
HALVES_OVERLAP = 1.0
# As many nearest rows as the papers' classifier has.
NEAREST = 7
# Neighbourhoods whose trustworthiness is measured, at most; they must be less than half the rows.
TRUST_NEIGHBORS = 15
# Geodesics that planes are held against: of a graph of so many neighbours, from so many rows.
PATH_NEIGHBORS, MOST_SOURCES = 15, 500


@dataclass(frozen=True, eq=False)
class Geodesics:
    """Lengths of shortest paths that all planes of a table are held against.

    Attributes
    ----------
    sources : array of shape (n_sources,)
        The rows that paths start from.
    lengths : array of shape (n_sources, n_samples)
    """

    sources: Indices
    lengths: Floats

    def stress(self, plane: Floats, rows: Indices) -> float:
        """Return the stress of a plane of some rows, see :func:`patchfold.metrics.stress`."""
        places = np.full(self.lengths.shape[1], -1)
        places[rows] = np.arange(len(rows))
        here = np.flatnonzero(places[self.sources] >= 0)
        lengths = self.lengths[np.ix_(here, rows)]
        return stress(lengths, plane, sources=places[self.sources[here]])


@dataclass(frozen=True)
class Method:
    """A way to the plane.

    Attributes
    ----------
    name : str
        The estimator.
    divergence : str
        The divergence; empty for others' methods.
    estimator : object
        Unfitted.
    supervised : bool
        Whether it is fitted with the targets of the training half.
    """

    name: str
    divergence: str
    estimator: Any
    supervised: bool = False

    @property
    def maps(self) -> bool:
        """Whether new rows can be mapped."""
        return self.estimator == "passthrough" or hasattr(self.estimator, "transform")


@dataclass(frozen=True)
class Score:
    """How a method did.

    Attributes
    ----------
    name, divergence : str
        The method.
    mean, low, high : float or None
        Mean over test halves of the accuracy, or of R squared, and its 95 % interval.
    trust : float or None
        Trustworthiness of the plane.
    visible : float or None
        Share of points that a plot of the plane tells apart; None where there is no plane.
    stress : float or None
        Stress of the geodesics in the plane.
    seconds : float
        Of one fit, on average.
    maps, supervised : bool
        As of the method.
    error : str
        Why there are no numbers; empty where there are.
    """

    name: str
    divergence: str
    mean: float | None
    low: float | None
    high: float | None
    trust: float | None
    visible: float | None
    stress: float | None
    seconds: float
    maps: bool
    supervised: bool
    error: str = ""


def methods(
    n_train: int,
    *,
    divergences: Sequence[str],
    n_neighbors: Any = 15,
    classes: bool = True,
    random_state: int = 0,
) -> list[Method]:
    """List what is compared, for training halves of so many rows.

    Examples
    --------
    >>> found = methods(75, divergences=["kl"])
    >>> [method.name for method in found if not method.maps]
    ['spectral embedding', 't-SNE']
    """
    k, seed = n_neighbors, random_state
    plain = k if isinstance(k, int) else min(15, n_train - 1)
    found = [
        Method(ALL_COLUMNS, "", "passthrough"),
        Method("PCA", "", PCA(2, random_state=seed)),
        Method("Isomap", "", Isomap(n_neighbors=plain)),
        Method("LLE", "", LocallyLinearEmbedding(n_neighbors=plain, random_state=seed)),
        Method(
            "spectral embedding",
            "",
            SpectralEmbedding(affinity="nearest_neighbors", n_neighbors=plain, random_state=seed),
        ),
        Method(
            "t-SNE",
            "",
            TSNE(random_state=seed, **own_parameters("tsne", "euclidean", n_train)),
        ),
    ]
    if find_spec("umap"):
        found.append(Method("UMAP", "", umap(2, plain, seed)))
    shared = {"n_neighbors": k, "random_state": seed}
    for name, kind in METHODS.items():
        if name == "tsne" and not find_spec("openTSNE"):
            continue
        for divergence in divergences:
            own = kind(divergence=divergence, **shared, **own_parameters(name, divergence, n_train))
            found.append(Method(kind.__name__, divergence, own))
    if classes:
        for divergence in divergences:
            own = PatchIsomap(divergence=divergence, supervision="dissimilarity", **shared)
            found.append(Method("PatchIsomap, supervised", divergence, own, supervised=True))
    return found


def halves(y: Any, count: int, *, classes: bool, random_state: int = 0) -> list[tuple[Any, Any]]:
    """Split rows into training and test halves, again and again; classes keep their shares."""
    rng = np.random.RandomState(random_state)
    rows, strata = np.arange(len(y)), y if classes else None
    return [
        train_test_split(rows, test_size=0.5, random_state=rng, stratify=strata)
        for _ in range(count)
    ]


def draw(y: Any, size: int, *, random_state: int = 0) -> Any:
    """Draw so many rows at random, in their order; each class has its share, to within a row.

    Examples
    --------
    >>> y = np.array([0] * 8 + [1] * 4)
    >>> np.bincount(y[draw(y, 6)]).tolist()
    [4, 2]
    """
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    # Equal steps from a random start, through the rows class by class.
    return np.sort(order[((np.arange(size) + rng.random()) * len(y) / size).astype(int)])


def geodesics(prepare: Any, features: Any, *, random_state: int = 0) -> Geodesics:
    """Find the geodesics that all planes are held against, from at most 500 rows.

    They are the classical ones, shortest paths through the Euclidean graph of 15 neighbours of all
    rows, whose parts are joined by their closest pairs. No method has a graph of its own here.

    Parameters
    ----------
    prepare : transformer
        Unfitted; makes points of features.
    features : pandas.DataFrame of n_samples rows
    random_state : int
        Seed of the rows that paths start from.
    """
    points = clone(prepare).fit_transform(features)
    n = len(points)
    space = PatchSpace(n_neighbors=min(PATH_NEIGHBORS, n - 1), divergence="euclidean")
    with warnings.catch_warnings():
        # Several components, which were joined.
        warnings.simplefilter("ignore")
        space.fit(points)
    sources = np.sort(np.random.default_rng(random_state).permutation(n)[:MOST_SOURCES])
    return Geodesics(sources, np.asarray(shortest_paths(space.graph_, sources), dtype=np.float64))


def evaluate(
    method: Method,
    prepare: Any,
    features: Any,
    y: Any,
    splits: Sequence[Any],
    *,
    classes: bool,
    paths: Geodesics,
) -> Iterator[Score | None]:
    """Score a method: yield None after each half, and its score at the end.

    Parameters
    ----------
    method : Method
        One of :func:`methods`.
    prepare : transformer
        Unfitted; makes points of features.
    features : pandas.DataFrame of n_samples rows
    y : array of shape (n_samples,)
        Classes, or values.
    splits : sequence of (train, test)
        What :func:`halves` returns.
    classes : bool
        Whether accuracy is measured, or R squared.
    paths : Geodesics
        What :func:`geodesics` returns for the same features.
    """
    scores, trusts, shares, stresses, times = [], [], [], [], []
    whole = None
    try:
        for train, test in splits:
            start = time.perf_counter()
            with warnings.catch_warnings():
                # Disconnected graphs, collinear columns: part of what is compared.
                warnings.simplefilter("ignore")
                if method.maps:
                    plane, new, points = _mapped(method, prepare, features, y, train, test)
                else:
                    whole = whole or _together(method, prepare, features)
                    plane, new, points = whole[0][train], whole[0][test], whole[1][train]
            times.append(time.perf_counter() - start)
            scores.append(_score(plane, y[train], new, y[test], classes))
            trusts.append(_trust(points, plane))
            shares.append(visible_share(plane))
            stresses.append(paths.stress(plane, train))
            yield None
    except Exception as error:  # noqa: BLE001 - one method that fails is told, the others go on
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield Score(
            method.name,
            method.divergence,
            *(None,) * 6,
            0.0,
            method.maps,
            method.supervised,
            reason,
        )
        return
    mean, low, high = mean_interval(scores, overlap=HALVES_OVERLAP)
    yield Score(
        method.name,
        method.divergence,
        mean,
        max(low, 0.0) if classes else low,
        min(high, 1.0),  # of an accuracy as of R squared
        float(np.mean(trusts)),
        None if method.estimator == "passthrough" else float(np.mean(shares)),
        float(np.mean(stresses)),
        float(np.mean(times) if method.maps else np.sum(times)),
        method.maps,
        method.supervised,
    )


def _mapped(
    method: Method, prepare: Any, features: Any, y: Any, train: Any, test: Any
) -> tuple[Floats, Floats, Floats]:
    """Fit one half and map the other; return both, and the points of the first."""
    model = Pipeline([("columns", clone(prepare)), ("embedding", _fresh(method.estimator))])
    plane = model.fit_transform(features.iloc[train], y[train] if method.supervised else None)
    new = model.transform(features.iloc[test])
    return np.asarray(plane), np.asarray(new), model[:1].transform(features.iloc[train])


def _together(method: Method, prepare: Any, features: Any) -> tuple[Floats, Floats]:
    points = clone(prepare).fit_transform(features)
    return np.asarray(_fresh(method.estimator).fit_transform(points)), points


def _fresh(estimator: Any) -> Any:
    return estimator if isinstance(estimator, str) else clone(estimator)


def _score(plane: Floats, y: Any, new: Floats, truth: Any, classes: bool) -> float:
    if classes:
        return accuracy(plane, y, new, truth)
    return float(KNeighborsRegressor(n_neighbors=NEAREST).fit(plane, y).score(new, truth))


def _trust(points: Floats, plane: Floats) -> float:
    k = min(TRUST_NEIGHBORS, (len(points) - 1) // 2 - 1)
    return trustworthiness(points, plane, max(k, 1))
