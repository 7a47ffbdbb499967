"""New points: placed in the graph or mapped by regression, each by itself, without labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVR

from patchfold import (
    GRNN,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    metrics,
    papers,
)
from patchfold.neighbors.fitted_rows import RowTable

FOUR = [
    pytest.param(PatchIsomap(), id="isomap"),
    pytest.param(PatchLLE(), id="lle"),
    pytest.param(PatchEigenmaps(), id="eigenmaps"),
    pytest.param(PatchTSNE(perplexity=10, n_iter=50, random_state=0), id="tsne"),
]
MAPS = ["nystrom", "krr", "grnn", KNeighborsRegressor(3)]


def roll(n, seed, noise=0.1):
    """Points of a swiss roll and their places on the unrolled one."""
    X, t = make_swiss_roll(n, noise=noise, random_state=seed)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return X, np.column_stack([arc, make_swiss_roll(n, noise=0, random_state=seed)[0][:, 1]])


@pytest.fixture(scope="module")
def rolls():
    (X, flat), (Y, flat_new) = roll(400, 0), roll(200, 1)
    return X, flat, Y, flat_new


# ------------------------------------------------------------------- nystrom


@pytest.mark.parametrize("estimator", FOUR)
def test_fitted_points_without_patches_have_the_places_they_were_fitted_to(rolls, estimator):
    X, *_ = rolls
    fitted = sklearn.clone(estimator).set_params(divergence="euclidean").fit(X)
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)


# Next to a fitted point, which is then its own nearest neighbour and twice in its patch. Only for
# Isomap's plain lengths does that change nothing (see the next test).
@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "correlation"),
    [
        (PatchIsomap(), 0.99),
        (PatchLLE(divergence="euclidean", weights="euclidean"), 0.99),
        (PatchLLE(weights="euclidean"), 0.99),
        (PatchLLE(divergence="euclidean"), 0.97),
        (PatchLLE(), 0.98),
        (PatchEigenmaps(divergence="euclidean"), 0.99),
        (PatchEigenmaps(), 0.99),
    ],
    ids=lambda value: value if isinstance(value, float) else repr(value),
)
def test_points_next_to_fitted_ones_land_next_to_them(rolls, estimator, correlation):
    X, *_ = rolls
    fitted = sklearn.clone(estimator).fit(X)
    placed = fitted.transform(X + 1e-9)
    assert not np.array_equal(placed, fitted.embedding_)
    found = metrics.rank_correlation(*(cdist(Y, Y) for Y in (placed, fitted.embedding_)))
    assert found > correlation


def test_classical_isomap_takes_points_next_to_fitted_ones_exactly_there(rolls):
    X, *_ = rolls
    fitted = PatchIsomap(divergence="euclidean", scaling="classical").fit(X)
    placed = fitted.transform(X + 1e-9)
    assert not np.array_equal(placed, fitted.embedding_)
    np.testing.assert_allclose(placed, fitted.embedding_, atol=1e-6 * np.ptp(fitted.embedding_))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("name", ["kl", "euclidean"])
def test_held_out_points_are_placed_as_well_as_fitted_ones(name, noise):
    (X, flat), (Y, flat_new) = roll(1000, 0, noise), roll(300, 1, noise)
    k = 15 if name == "kl" else 6
    fitted = PatchIsomap(n_neighbors=k, divergence=name).fit(X)
    placed = fitted.transform(Y)
    of_fitted = metrics.rank_correlation(cdist(*2 * [fitted.embedding_]), cdist(flat, flat))
    of_new = metrics.rank_correlation(cdist(placed, placed), cdist(flat_new, flat_new))
    assert of_new > of_fitted - 0.01


class PlacedByFew(PatchIsomap):
    """Places new points by their geodesics to 250 of the fitted ones."""

    def _embed(self, graph, n_components):
        super()._embed(graph, n_components, placing_points=250)


@pytest.mark.slow
def test_some_geodesics_place_as_well_as_all(rolls):
    X, _, Y, _ = rolls
    all_of_them = PatchIsomap().fit(X)
    expected = all_of_them.transform(Y)
    few = PlacedByFew().fit(X)
    assert (all_of_them._placing.paths.shape, few._placing.paths.shape) == ((400, 400), (400, 250))
    off = np.linalg.norm(few.transform(Y) - expected, axis=1) / np.ptp(expected)
    assert np.median(off) < 0.01
    assert np.quantile(off, 0.99) < 0.05  # one far from all others may be farther off


# ------------------------------------------------------------------- every map


@pytest.mark.slow
@pytest.mark.some_cases(9)
@pytest.mark.parametrize("supervision", [None, "cut"])
@pytest.mark.parametrize("name", MAPS, ids=str)
@pytest.mark.parametrize("estimator", FOUR)
def test_new_points_are_mapped_each_by_itself(rolls, estimator, name, supervision):
    X, flat, Y, _ = rolls
    y = (flat[:, 0] > np.median(flat[:, 0])).astype(int)
    fitted = sklearn.clone(estimator).set_params(supervision=supervision, out_of_sample=name)
    np.testing.assert_array_equal(fitted.fit_transform(X, y), fitted.embedding_)
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)
    together = fitted.transform(Y)
    tolerance = 1e-8 * np.ptp(fitted.embedding_)
    order = np.random.default_rng(0).permutation(len(Y))
    np.testing.assert_allclose(fitted.transform(Y[order]), together[order], atol=tolerance)
    alone = np.vstack([fitted.transform(y[None]) for y in Y[:20]])
    np.testing.assert_allclose(alone, together[:20], atol=tolerance)
    mixed = fitted.transform(np.vstack([Y[:3], X[:2], Y[3:]]))
    np.testing.assert_array_equal(mixed[3:5], fitted.embedding_[:2])
    np.testing.assert_allclose(np.delete(mixed, [3, 4], 0), together, atol=tolerance)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(Y), together)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["krr", "grnn", KernelRidge(kernel="rbf", gamma=0.05, alpha=1e-3)])
def test_a_regression_unrolls_held_out_points(name):
    (X, _), (Y, flat_new) = roll(800, 0), roll(200, 1)
    placed = PatchIsomap(out_of_sample=name).fit(X).transform(Y)
    true = cdist(flat_new, flat_new)
    assert metrics.rank_correlation(cdist(placed, placed), true) > 0.97


@pytest.mark.slow
def test_the_map_is_the_one_that_is_asked_for_with_labels_and_without(rolls):
    X, flat, *_ = rolls
    y = (flat[:, 0] > 40).astype(int)
    for supervision in (None, "cut"):
        assert PatchIsomap(supervision=supervision).fit(X, y).map_ is None
    fitted = PatchIsomap(supervision="cut", out_of_sample="krr").fit(X, y)
    assert isinstance(fitted.map_, Pipeline)
    assert isinstance(fitted.map_[-1], KernelRidge)
    assert isinstance(PatchIsomap(out_of_sample="grnn").fit(X).map_, GRNN)
    regressor = ExtraTreesRegressor(5, random_state=0)
    fitted = PatchIsomap(out_of_sample=regressor).fit(X)
    assert fitted.map_ is not regressor
    assert not hasattr(regressor, "estimators_")


@pytest.mark.slow
def test_one_component_and_float32_keep_their_shape_and_type(rolls):
    X, _, Y, _ = rolls
    for name in [*MAPS, SVR()]:
        fitted = PatchIsomap(1, out_of_sample=name).fit(X.astype(np.float32))
        placed = fitted.transform(Y.astype(np.float32))
        assert placed.shape == (200, 1)
        assert placed.dtype == np.float32


@pytest.mark.parametrize(("fit", "ask"), [("f8", "f4"), ("f4", "f8"), ("f8", "f8"), ("f4", "f4")])
def test_fitted_points_are_known_in_either_precision(rolls, fit, ask):
    X = np.vstack([rolls[0], rolls[0][:5], np.zeros((1, 3))])
    fitted = PatchIsomap(out_of_sample="grnn").fit(X.astype(fit))
    found = fitted.transform(np.where(X == 0, -0.0, X).astype(ask))
    expected = fitted.embedding_.copy()
    expected[400:405] = expected[:5]  # copies have the place of the first
    np.testing.assert_array_equal(found, expected)


def test_rows_are_found_by_all_their_coordinates():
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, (200, 9)).astype(float)  # many copies, many that nearly are
    queries = rng.integers(0, 2, (100, 9)).astype(float)
    expected = [
        next((i for i, point in enumerate(points) if (point == query).all()), -1)
        for query in queries
    ]
    np.testing.assert_array_equal(RowTable(points).find(queries), expected)
    assert -1 in expected


# ------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("kr", "out_of_sample='kr' is not known; did you mean 'krr'"),
        (3, "out_of_sample=3 is neither"),
        (KNeighborsRegressor, "is neither"),
        (SVR(), "MultiOutputRegressor"),
    ],
)
def test_a_wrong_map_is_named(rolls, wrong, words):
    with pytest.raises((TypeError, ValueError), match=words):
        PatchIsomap(out_of_sample=wrong).fit(rolls[0])


def test_given_distances_are_not_regressed_on(rolls):
    X = rolls[0][:100]
    D = cdist(X, X)
    with pytest.raises(ValueError, match=r"out_of_sample='krr' is a regression on points"):
        PatchIsomap(divergence="precomputed", out_of_sample="krr").fit(D)
    y = (X[:, 0] > 0).astype(int)
    assert PatchIsomap(divergence="precomputed", supervision="cut").fit(D, y).map_ is None


@pytest.mark.parametrize("name", MAPS, ids=str)
@pytest.mark.parametrize("estimator", FOUR)
def test_other_columns_are_refused(rolls, estimator, name):
    X, _, Y, _ = rolls
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = sklearn.clone(estimator).set_params(out_of_sample=name).fit(frame)
    new = pd.DataFrame(Y, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted.transform(new[["b", "a", "c"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        fitted.transform(new.rename(columns={"a": "x"}))
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        fitted.transform(new[["a", "b"]])


# ------------------------------------------------------------------- behind a classifier


@pytest.mark.parametrize("name", ["krr", "grnn", "nystrom"])
def test_labels_of_held_out_points_change_no_prediction(rolls, name):
    X, flat, Y, flat_new = rolls
    y, y_new = ((place[:, 0] // 10 % 3).astype(int) for place in (flat, flat_new))
    pipeline = make_pipeline(
        papers.supervised_isomap(10, out_of_sample=name), KNeighborsClassifier()
    )
    # A classifier is fitted to the embedding, which knows the labels, and asked about the map,
    # which does not.
    pipeline.fit(X, y)
    seen = KNeighborsClassifier().fit(pipeline[0].embedding_, y)
    expected = seen.predict(pipeline[0].transform(Y))
    np.testing.assert_array_equal(pipeline.predict(Y), expected)
    permuted = np.random.default_rng(0).permutation(y_new)
    assert pipeline.score(Y, y_new) == np.mean(expected == y_new)
    assert pipeline.score(Y, permuted) == np.mean(expected == permuted)


def test_new_rows_of_a_space_have_the_lengths_of_points_without_labels(rolls):
    X, flat, Y, _ = rolls
    y = (flat[:, 0] > 40).astype(int)
    plain = PatchSpace(lengths="divergence").fit(X).transform(Y[:10])
    for rule in ("cut", "min-sum"):
        found = PatchSpace(supervision=rule, lengths="divergence").fit(X, y).transform(Y[:10])
        np.testing.assert_array_equal(found.toarray(), plain.toarray())
