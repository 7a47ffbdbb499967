"""New points placed by the graph: each by itself, next to their neighbours."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer

from equations import (
    DATA,
)
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.mapping.nystrom import Triangulation, drift
from patchfold.papers import isomap_kl
from patchfold.solvers.scaling import triangulation

NEW = [
    pytest.param(PatchIsomap(), id="isomap"),
    pytest.param(PatchIsomap(divergence="wasserstein", graph="divergence"), id="x-isomap"),
    pytest.param(PatchLLE(weights="entropic"), id="entropic"),
    pytest.param(PatchLLE(weights="euclidean", graph="divergence"), id="x-lle"),
    pytest.param(PatchEigenmaps(), id="eigenmaps"),
    pytest.param(PatchEigenmaps(laplacian="symmetric"), id="normalised"),
    pytest.param(PatchIsomap(divergence="euclidean", scaling="classical"), id="classical"),
]


@pytest.fixture(scope="module")
def roll():
    X, _ = make_swiss_roll(430, noise=0.1, random_state=5)
    return X[:400], X[400:]


@pytest.mark.parametrize("estimator", NEW)
def test_fitted_points_get_exactly_their_place(estimator, roll):
    X, _ = roll
    fitted = sklearn.clone(estimator).fit(X)
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)
    np.testing.assert_array_equal(fitted.transform(X[7:9]), fitted.embedding_[7:9])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", NEW)
def test_new_points_do_not_influence_each_other(estimator, roll):
    X, Y = roll
    fitted = sklearn.clone(estimator).fit(X)
    together = fitted.transform(Y)
    scale = np.abs(fitted.embedding_).max()
    alone = np.vstack([fitted.transform(y[None]) for y in Y])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-12 * scale)
    order = np.random.default_rng(0).permutation(len(Y))
    np.testing.assert_allclose(
        fitted.transform(Y[order]), together[order], rtol=0, atol=1e-12 * scale
    )
    mixed = fitted.transform(np.vstack([Y[:3], X[:2], Y[3:]]))
    np.testing.assert_array_equal(mixed[3:5], fitted.embedding_[:2])
    np.testing.assert_allclose(np.delete(mixed, [3, 4], 0), together, atol=1e-12 * scale)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", NEW)
def test_held_out_points_land_near_their_neighbours(estimator, roll):
    X, Y = roll
    fitted = sklearn.clone(estimator).fit(X)
    nearest = np.argsort(cdist(Y, X), axis=1)[:, :5]
    spread = np.ptp(fitted.embedding_, axis=0)
    places = fitted.transform(Y)
    gap = np.abs(places - fitted.embedding_[nearest].mean(axis=1)) / spread
    assert np.median(gap) < 0.03
    # Beside a short circuit, the nearest points lie on two sheets; every new point is near to one.
    apart = np.abs(places[:, None] - fitted.embedding_[nearest]) / spread
    far = apart.max(axis=2).min(axis=1) >= 0.25
    # A point with two neighbours left may get weights that continue the line through them.
    assert far.sum() <= (getattr(estimator, "weights", None) == "entropic")


def test_a_new_point_beyond_the_radius_is_named():
    fitted = PatchIsomap(radius=4.0).fit(DATA["k > m"][0])
    far = np.array([[0.0, 0, 0], [50.0, 0, 0]])
    with pytest.raises(ValueError, match=r"row 1 of X has no neighbour .*radius=4\.0"):
        fitted.transform(far)


def test_new_points_must_have_the_fitted_features():
    fitted = PatchIsomap(n_neighbors=7).fit(DATA["k > m"][0])
    with pytest.raises(ValueError, match="X has 2 features, but PatchIsomap is expecting 3"):
        fitted.transform(np.ones((2, 2)))


def test_points_near_a_curve_stay_on_it():
    t = np.linspace(0, 1, 120)
    X = np.column_stack([np.cos(9 * t), np.sin(9 * t), 3 * t])
    fitted = isomap_kl(n_neighbors=8).fit(X)
    width = np.ptp(fitted.embedding_[:, 0])
    assert np.ptp(fitted.embedding_[:, 1]) < 1e-6 * width  # a curve has one dimension
    new = fitted.transform(X[:30] + 0.001)
    assert np.abs(new).max() < width


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_far_off_the_manifold_lands_no_farther_than_it_is(dtype):
    u, v = np.random.default_rng(0).random((2, 200))
    X = np.column_stack([2 * u, v, 0.8 * u * u]).astype(dtype)
    fitted = PatchIsomap().fit(X)
    spread = np.ptp(fitted.embedding_)
    for height in (10, 1e4):
        far = fitted.transform(np.array([[1, 0.5, height]], dtype=dtype))
        assert np.isfinite(far).all()
        assert np.abs(far).max() < 2 * height * spread  # the sheet is two wide


def test_a_new_point_whose_place_overflows_is_named():
    given = cdist(DATA["k > m"][0], DATA["k > m"][0]) * 1e-200
    fitted = PatchIsomap(divergence="precomputed", n_neighbors=8).fit(given)
    new = given[:3].copy()
    new[1] += 1.0
    with pytest.raises(ValueError, match=r"row 1 of X lies so far .* overflows; drop the row"):
        fitted.transform(new)


def test_new_point_whose_patch_overflows_is_refused():
    X = np.random.default_rng(0).standard_normal((40, 3))
    patch = GaussianPatch(covariance="diagonal-shrinkage")
    search = KNeighborsTransformer(n_neighbors=20)  # patchfold's own refuse such points themselves
    model = PatchIsomap(divergence="fisher-rao", patch=patch, lengths="divergence", knn=search)
    with pytest.raises(ValueError, match=r"row of X lies so far .* overflows.*; drop the row"):
        model.fit(X).transform(X[:1] + 1e300)


def test_a_grown_frame_brings_geodesics_to_the_units_of_the_first():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(40, 2))
    geodesics = cdist(places[:10], places)
    means, axes = np.square(geodesics[:, :10]).mean(axis=1), triangulation(places[:10])
    first = Triangulation(geodesics[:, :30].T / 2, means / 4, axes * 2, 2.0)
    grown = first.grown(7 * geodesics, np.arange(10))
    np.testing.assert_allclose(grown.paths, geodesics.T / 2, rtol=1e-12)
    np.testing.assert_allclose(grown.of_fitted()[:30], first.of_fitted(), rtol=1e-9)


def test_misfit_and_drift_are_shares_of_geodesics_and_of_the_spread():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(25, 2))
    places[:8] -= places[:8].mean(axis=0)
    geodesics = cdist(places, places[:8])
    axes = triangulation(places[:8])
    frame = Triangulation(geodesics, np.square(geodesics[:8]).mean(axis=1), axes, 1.0)
    at = frame.of_fitted()
    np.testing.assert_allclose(at, places, atol=1e-12)
    assert drift(frame, at, 20, np.arange(8)) == pytest.approx(0, abs=1e-12)
    moved = at.copy()
    moved[20:] += [3.0, 0.0]
    d = cdist(moved[20:], at[:8])
    expected = np.sqrt(np.square(d - geodesics[20:]).sum() / np.square(geodesics[20:]).sum())
    assert frame.misfit(moved[20:], slice(20, None), at[:8]) == pytest.approx(expected)
    lifted = geodesics.copy()
    lifted[20:] = np.sqrt(np.square(lifted[20:]) + 9)  # new points lie above the plane
    above = replace(frame, paths=lifted)
    d = cdist(above.of_fitted()[20:], at[:8])
    expected = np.sqrt(np.square(d - lifted[20:]).sum() / np.square(lifted[20:]).sum())
    assert expected > 0.3
    for places_too in (None, at[:8]):  # wherever they settle
        grown = replace(above, places=places_too)
        assert drift(grown, at, 20, np.arange(8)) == pytest.approx(expected)
    turned = at.copy()
    turned[:8] *= 1.5
    spread = np.sqrt(np.square(turned[:8] - turned[:8].mean(axis=0)).sum())
    shift = np.sqrt(np.square(turned[:8] - at[:8]).sum()) / spread
    assert drift(frame, turned, 20, np.arange(8)) >= shift - 1e-12


def test_a_frame_of_points_in_one_place_does_not_drift():
    frame = Triangulation(np.zeros((5, 2)), np.zeros(2), np.zeros((2, 1)), 1.0)
    grown = frame.grown(np.zeros((2, 5)), np.arange(2))
    assert drift(grown, np.zeros((5, 1)), 4, np.arange(2)) == 0
