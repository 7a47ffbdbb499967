"""With Euclidean lengths embeddings are the classical ones, those of scikit-learn."""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.neighbors import kneighbors_graph

from equations import (
    assert_equal_up_to_sign,
)
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE


@cache
def classical_data(name):
    """Points without ties, 30 of them held out; the typical edge has about unit length."""
    if name == "swiss roll":
        X = make_swiss_roll(330, noise=0.1, random_state=0)[0]
    elif name == "s-curve":
        X = make_s_curve(330, noise=0.02, random_state=1)[0]
    elif name == "normal":
        X = np.random.default_rng(2).normal(size=(330, 5))
    else:
        X = load_digits().data[:530]
        X = X + 1e-3 * np.random.default_rng(3).normal(size=X.shape)
    X = X / np.median(np.sort(cdist(X, X), axis=1)[:, 8])
    return X[:-30], X[-30:]


CLASSICAL = ["swiss roll", "s-curve", "normal", "digits"]


# The classical method is computed in double precision; float32 keeps about seven digits of which
# the solution of an eigenproblem loses a few.
DTYPES = [
    pytest.param(np.float64, 1e-6, id="float64"),
    pytest.param(np.float32, 5e-3, id="float32"),
]


every_classical_case = [
    pytest.mark.parametrize(("dtype", "tolerance"), DTYPES),
    pytest.mark.parametrize("k", [8, 15, 30]),
    pytest.mark.parametrize("data", CLASSICAL),
]


def over_classical_cases(test):
    for mark in every_classical_case:
        test = mark(test)
    return test


@over_classical_cases
def test_euclidean_isomap_is_scikit_learns(data, k, dtype, tolerance):
    X, Y = (part.astype(dtype) for part in classical_data(data))
    theirs = Isomap(n_neighbors=k).fit(X.astype(np.float64))
    ours = PatchIsomap(n_neighbors=k, divergence="euclidean", scaling="classical").fit(X)
    assert ours.embedding_.dtype == dtype
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_, tolerance)
    flips = np.where(np.sum(ours.embedding_ * theirs.embedding_, axis=0) < 0, -1, 1)
    expected = theirs.transform(Y.astype(np.float64)) * flips
    scale = np.abs(expected).max()
    np.testing.assert_allclose(ours.transform(Y) / scale, expected / scale, atol=tolerance)


@over_classical_cases
def test_euclidean_lle_is_scikit_learns(data, k, dtype, tolerance):
    X, Y = (part.astype(dtype) for part in classical_data(data))
    theirs = LocallyLinearEmbedding(n_neighbors=k, eigen_solver="dense").fit(X.astype(np.float64))
    ours = PatchLLE(n_neighbors=k, divergence="euclidean", reg=1e-3).fit(X)
    assert ours.embedding_.dtype == dtype
    assert_equal_up_to_sign(ours.embedding_, theirs.embedding_, tolerance)
    flips = np.where(np.sum(ours.embedding_ * theirs.embedding_, axis=0) < 0, -1, 1)
    expected = theirs.transform(Y.astype(np.float64)) * flips
    scale = np.abs(expected).max()
    np.testing.assert_allclose(ours.transform(Y) / scale, expected / scale, atol=tolerance)


@pytest.mark.parametrize("laplacian", ["symmetric", "random-walk"])
@over_classical_cases
def test_euclidean_eigenmaps_are_scikit_learns(data, k, dtype, tolerance, laplacian):
    X = classical_data(data)[0].astype(dtype)
    directed = kneighbors_graph(X.astype(np.float64), k, mode="distance")
    lengths = directed.maximum(directed.T)
    lengths.data = np.exp(-(lengths.data**2))
    theirs = SpectralEmbedding(affinity="precomputed", eigen_solver="arpack", random_state=0)
    setting = {"divergence": "euclidean", "bandwidth": 1.0, "laplacian": laplacian}
    ours = PatchEigenmaps(n_neighbors=k, **setting).fit(X)
    assert ours.embedding_.dtype == dtype
    assert_equal_up_to_sign(ours.embedding_, theirs.fit_transform(lengths), tolerance)
