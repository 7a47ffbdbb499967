"""What a user of scikit-learn's Isomap finds in PatchIsomap without patches."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_blobs, make_s_curve
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
)
from sklearn.pipeline import make_pipeline

from patchfold import PatchIsomap, PatchLLE
from patchfold.datasets import make_manifold

CLASSICAL = {"divergence": "euclidean", "scaling": "classical"}
EVERY = [{"n_neighbors": 24}, {"n_neighbors": None, "radius": np.inf}]

both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32])
all_pairs = pytest.mark.parametrize("neighbors", EVERY, ids=["k", "radius"])


def grid(dtype=np.float64, height=0.0):
    """Five by five points, lifted a little off their plane."""
    flat = np.array(list(itertools.product(range(5), repeat=2)), dtype=float)
    lifted = height * np.random.default_rng(0).standard_normal((25, 1))
    return np.hstack([flat, lifted]).astype(dtype)


@both_types
@all_pairs
def test_a_flat_grid_keeps_all_distances_if_all_points_are_joined(neighbors, dtype):
    X = grid(dtype)
    found = PatchIsomap(**neighbors, **CLASSICAL).fit_transform(X)
    tolerance = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(pdist(found), pdist(X), atol=tolerance)


@both_types
@all_pairs
def test_the_reconstruction_error_and_the_geodesics_are_scikit_learns(neighbors, dtype):
    X = grid(dtype, 0.1)
    ours = PatchIsomap(**neighbors, **CLASSICAL).fit(X)
    theirs = Isomap(**neighbors).fit(X)
    assert ours.dist_matrix_.dtype == ours.embedding_.dtype == dtype
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-6)
    if dtype == np.float64:  # theirs is a small difference of large numbers
        np.testing.assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error())


def test_the_reconstruction_error_counts_landmarks_where_there_are_some():
    X = make_manifold("swiss-roll", 300, random_state=0).X
    model = PatchIsomap(landmarks=60, **CLASSICAL).fit(X)
    rows = model.landmarks_
    H = np.eye(60) - 1 / 60
    shown = squareform(pdist(model.embedding_[rows]))
    kernels = [-H @ D**2 @ H / 2 for D in (model.dist_matrix_[np.ix_(rows, rows)], shown)]
    expected = np.linalg.norm(kernels[0] - kernels[1]) / 60
    assert model.reconstruction_error() == pytest.approx(expected, rel=1e-6)


def test_the_reconstruction_error_of_lle_is_scikit_learns():
    X = make_s_curve(200, random_state=0)[0]
    ours = PatchLLE(n_neighbors=12, divergence="euclidean", reg=1e-3).fit(X)
    theirs = LocallyLinearEmbedding(n_neighbors=12, eigen_solver="dense").fit(X)
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-3)


@pytest.mark.parametrize("name", ["dist_matrix_", "reconstruction_error_"])
def test_what_is_found_when_asked_for_needs_a_fit(name):
    for model in (PatchIsomap(), PatchLLE()):
        assert not hasattr(model, name)


@both_types
@pytest.mark.parametrize(
    "neighbors", [{"n_neighbors": 4}, {"n_neighbors": None, "radius": 0.5}], ids=str
)
def test_points_moved_a_little_move_as_far_as_with_scikit_learn(neighbors, dtype):
    X = make_s_curve(200, random_state=0)[0].astype(dtype)
    moved = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape).astype(dtype)
    ours, theirs = PatchIsomap(10, **neighbors, **CLASSICAL), Isomap(n_components=10, **neighbors)
    gaps, expected = (
        np.linalg.norm(model.fit(X).transform(moved) - model.embedding_, axis=1)
        for model in (ours, theirs)
    )
    np.testing.assert_allclose(gaps, expected, atol=1e-9 if dtype == np.float64 else 0.01)


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has")
def test_a_classifier_after_it_in_a_pipeline_tells_blobs_apart():
    X, y = make_blobs(random_state=0)
    for neighbors in ({"n_neighbors": 5}, {"n_neighbors": None, "radius": 10.0}):
        chain = make_pipeline(PatchIsomap(**neighbors, **CLASSICAL), KNeighborsClassifier())
        assert chain.fit(X, y).score(X, y) > 0.9


@both_types
def test_a_transformer_of_neighbours_before_it_changes_nothing(dtype):
    X = make_s_curve(150, random_state=0)[0].astype(dtype)
    alone = PatchIsomap(n_neighbors=10, **CLASSICAL)
    chain = make_pipeline(
        KNeighborsTransformer(n_neighbors=10),
        PatchIsomap(scaling="classical", divergence="precomputed"),
    )
    np.testing.assert_allclose(chain.fit_transform(X), alone.fit_transform(X), atol=1e-4)


@both_types
def test_a_graph_within_a_radius_is_taken_with_that_radius(dtype):
    X = make_s_curve(150, random_state=0)[0].astype(dtype)
    wide = radius_neighbors_graph(X, 1.5, mode="distance")
    given = PatchIsomap(
        n_neighbors=None, radius=0.8, divergence="precomputed", scaling="classical"
    ).fit(wide)
    expected = PatchIsomap(n_neighbors=None, radius=0.8, **CLASSICAL).fit(X)
    np.testing.assert_allclose(given.embedding_, expected.embedding_, atol=1e-4)
    new = cdist(X[:3] + 0.01, X)
    new[new > 1.5] = 0
    np.testing.assert_allclose(
        given.transform(sparse.csr_array(new)), expected.transform(X[:3] + 0.01), atol=1e-3
    )


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_another_metric_comes_with_a_search_or_as_distances(metric):
    X = make_s_curve(150, random_state=0)[0]
    theirs = Isomap(n_neighbors=8, metric=metric).fit(X)
    search = KNeighborsTransformer(n_neighbors=8, metric=metric)
    by_search = PatchIsomap(n_neighbors=8, knn=search, **CLASSICAL).fit(X)
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    by_distances = PatchIsomap(n_neighbors=8, divergence="precomputed", scaling="classical").fit(D)
    for ours in (by_search, by_distances):
        np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)


def test_a_degree_and_a_radius_exclude_each_other():
    with pytest.raises(ValueError, match=r"n_neighbors=3 and radius=5\.5 exclude each other"):
        PatchIsomap(n_neighbors=3, radius=5.5).fit(grid())
    with pytest.raises(TypeError, match="n_neighbors=None"):
        PatchIsomap(n_neighbors=None).fit(grid())


def test_a_graph_in_parts_is_joined_and_a_given_sparse_one_refused():
    X = np.array([0.0, 1, 2, 5, 6, 7])[:, None]
    with pytest.warns(UserWarning, match="graph has 2 components"):
        joined = PatchIsomap(1, n_neighbors=2, **CLASSICAL).fit(X)
    np.testing.assert_allclose(joined.dist_matrix_, cdist(X, X))
    with pytest.warns(UserWarning, match="graph has 2 components"):
        PatchIsomap(1, n_neighbors=1, divergence="precomputed").fit(cdist(X, X))
    graph = kneighbors_graph(X, 2, mode="distance")
    with pytest.raises(ValueError, match="graph has 2 components"):
        PatchIsomap(1, divergence="precomputed").fit(graph)


def test_names_of_features_out_carry_the_name_of_the_class():
    model = PatchIsomap(**CLASSICAL).fit(grid())
    assert list(model.get_feature_names_out()) == ["patchisomap0", "patchisomap1"]
