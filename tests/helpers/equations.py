"""Data, methods and the comparison with the slow reference that several test files share."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sklearn

import slow_reference as slow
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE


def signed(found, expected):
    """Flip the columns of ``found`` that point the other way."""
    return found * np.where(np.sum(found * expected, axis=0) < 0, -1, 1)


def assert_equal_up_to_sign(found, expected, tolerance):
    """Compare columns with a tolerance relative to the largest entry of each."""
    assert found.shape == expected.shape
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(signed(found, expected) / scale, expected / scale, atol=tolerance)


def normal(seed, n, m):
    return np.random.default_rng(seed).normal(size=(n, m)) * np.linspace(2, 1, m)


def with_duplicates():
    X = normal(3, 36, 3)
    return np.vstack([X, X[:6], X[2:4]])


def three_clusters():
    """Each has more points than k: the graph falls into three parts."""
    rng = np.random.default_rng(6)
    centres = [[0.0, 0, 0], [6.0, 0, 0], [1.8, 7.2, 0.6]]
    return np.vstack([rng.normal(c, 1, (n, 3)) for c, n in zip(centres, (18, 14, 10), strict=True)])


# name: points and k
DATA = {
    "k > m": (normal(0, 45, 3), 7),
    "k < m": (normal(1, 40, 9), 5),
    "duplicates": (with_duplicates(), 6),
    "disconnected": (three_clusters(), 6),
}
DIVERGENCES = ["kl", "bhattacharyya", "hellinger", "jeffreys-riemann", "wasserstein", "euclidean"]
RECIPES = {
    "without the point": {"include_self": False},
    "centred at the point": {"center": "point", "gamma": 0.05},
    "ridge if singular": {
        "include_self": False,
        "covariance": "ridge-if-singular",
        "gamma": 1e-3,
    },
    "of another size": {"size": 10},
}


@cache
def slow_space(data, name="kl", graph="neighbors", recipe=None, radius=None):
    X, k = DATA[data]
    setting = {} if recipe is None else RECIPES[recipe]
    return slow.Space(X, None if radius else k, name, graph, radius, **setting)


# A plain patch, and edges as long as the divergence: the seeds' equations, with nothing added.
PLAIN = {"patch": GaussianPatch(), "lengths": "divergence"}


def estimators(bandwidth="median"):
    """List every method with the slow one it must agree with."""
    yield PatchIsomap(3, **PLAIN, scaling="classical"), lambda space, Y: slow.isomap(space, 3, Y)
    for weights in ("entropic", "euclidean"):
        yield (
            PatchLLE(2, weights=weights, **PLAIN),
            lambda space, Y, weights=weights: slow.lle(space, 2, weights, Y=Y),
        )
    for kernel in ("gaussian", "exponential"):
        for laplacian in ("unnormalized", "random-walk", "symmetric"):
            setting = {"kernel": kernel, "laplacian": laplacian, "bandwidth": bandwidth}
            yield (
                PatchEigenmaps(2, **PLAIN, **setting),
                lambda space, Y, setting=setting: slow.eigenmaps(space, 2, **setting, Y=Y),
            )


def label(estimator):
    own = ("weights", "kernel", "laplacian")
    chosen = [value for key, value in estimator.get_params().items() if key in own]
    return "-".join([type(estimator).__name__, *chosen])


METHODS = [pytest.param(e, f, id=label(e)) for e, f in estimators()]
THREE = [METHODS[0], METHODS[1], METHODS[3]]  # one of each estimator


def assert_same_graph(estimator, space):
    assert estimator.graph_.nnz == 2 * len(space.edges)
    np.testing.assert_allclose(
        [estimator.graph_[i, j] for i, j in space.edges],
        list(space.edges.values()),
        rtol=1e-9,
        atol=1e-9,
    )


def assert_follows_the_equations(estimator, compute, space, y=None, **parameters):
    """Compare the embedding, its spectrum and new points with the slow computation."""
    estimator = sklearn.clone(estimator).set_params(out_of_sample="nystrom", **parameters)
    d = estimator.n_components
    Y = np.random.default_rng(9).normal(size=(4, space.X.shape[1]))
    values, expected, expected_new = compute(space, Y)
    if isinstance(estimator, PatchIsomap):
        gaps, values = -np.diff(values[: d + 1]), values[:d]
    else:
        gaps, values = np.diff(values[: d + 2]), values[1 : d + 1]
    # Eigenvectors are comparable only where their eigenvalues are distinct.
    assert gaps.min() > 1e-5 * np.abs(values).max()
    if space.n_parts > 1 and y is None:
        with pytest.warns(UserWarning, match=f"has {space.n_parts} components"):
            found = estimator.fit_transform(space.X)
    else:
        found = estimator.fit_transform(space.X, y)
    assert_equal_up_to_sign(found, expected, 1e-8)
    np.testing.assert_allclose(estimator.eigenvalues_, values, rtol=1e-7, atol=1e-10)
    assert_same_graph(estimator, space)
    flips = np.where(np.sum(found * expected, axis=0) < 0, -1, 1)
    scale = np.abs(expected_new).max()
    new = estimator.transform(Y) * flips
    np.testing.assert_allclose(new / scale, expected_new / scale, atol=1e-7)
