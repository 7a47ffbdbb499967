"""Data in any unit have the same embedding, or are refused with a remedy."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE

THREE = [PatchIsomap, PatchLLE, PatchEigenmaps]
POWERS = {
    np.float32: [*range(-60, -20, 4), 20, 30, 40],
    np.float64: [*range(-520, -280, 24), -100, 100, 260, 300],
}


def sheet(n, dtype=np.float64):
    u, v = np.random.default_rng(0).random((2, n))
    return np.column_stack([2 * u, v, 0.8 * u * u]).astype(dtype)


def shape(Y):
    return pdist(Y.astype(np.float64) / np.abs(Y).max())


@pytest.mark.parametrize("dtype", POWERS)
@pytest.mark.parametrize("estimator", THREE)
def test_patches_in_ever_smaller_units_have_the_same_embedding_until_refused(estimator, dtype):
    X = sheet(70, dtype)
    expected = shape(estimator(n_neighbors=8).fit_transform(X))
    refused = []
    for power in POWERS[dtype]:
        try:
            Y = estimator(n_neighbors=8).fit_transform(np.ldexp(X, power))
        except ValueError as error:
            assert "rescale X" in str(error) or "float64" in str(error)  # noqa: PT017
            refused.append(power)
        else:
            np.testing.assert_allclose(shape(Y), expected, atol=1e-3)
    assert refused  # the range goes beyond what can be held
    assert {-28, -100} & set(POWERS[dtype]) - set(refused)


@pytest.mark.parametrize("scale", [1e-250, 1e-160, 1e160, 1e250])
@pytest.mark.parametrize("estimator", [*THREE, partial(PatchIsomap, scaling="classical")])
def test_distances_whose_squares_no_number_holds_have_an_embedding(estimator, scale):
    X = sheet(60)
    expected = estimator(divergence="euclidean").fit(X)
    fitted = estimator(divergence="euclidean").fit(X * scale)
    np.testing.assert_allclose(shape(fitted.embedding_), shape(expected.embedding_), atol=1e-5)
    assert np.isfinite(fitted.transform((X[:5] + 0.01) * scale)).all()


def test_a_median_bandwidth_beyond_all_numbers_weighs_all_edges_alike():
    X = sheet(60)
    setting = {"divergence": "euclidean", "n_neighbors": 8}
    alike = PatchEigenmaps(**setting, bandwidth=np.inf).fit_transform(X)
    found = PatchEigenmaps(**setting, bandwidth="median").fit_transform(X * 1e200)
    np.testing.assert_allclose(shape(found), shape(alike), atol=1e-6)
