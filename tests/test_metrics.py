"""What holds for all measures; intrinsic dimension and purity."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_s_curve, make_swiss_roll

from configurations import configuration, rotation
from patchfold import GaussianPatch, PatchIsomap, PatchLLE, metrics
from patchfold.graph.geodesics import shortest_paths

SIZES = st.integers(4, 25)
SEEDS = st.integers(0, 2**32 - 1)


POINTS = np.random.default_rng(0).standard_normal((6, 2))


@given(SIZES, SEEDS, st.floats(1e-3, 1e3))
def test_an_embedding_that_keeps_all_distances_is_perfect(n, seed, scale):
    X = configuration(n, seed)
    Y = scale * X @ rotation(4) + 1
    found = metrics.coranking(X, Y)
    for measure in (found.trustworthiness, found.continuity, found.overlap, found.rnx):
        np.testing.assert_array_equal(measure, 1.0)
    assert found.auc_log_rnx == pytest.approx(1, abs=1e-12)
    assert metrics.residual_variance(cdist(X, X), Y) == pytest.approx(0, abs=1e-12)
    assert metrics.stress(cdist(X, X), Y) == pytest.approx(0, abs=1e-12)
    assert metrics.rank_correlation(pdist(X), pdist(Y)) == pytest.approx(1, abs=1e-12)


@given(SIZES, SEEDS, st.floats(1e-3, 1e3))
def test_no_measure_depends_on_where_an_embedding_lies_how_it_is_turned_and_its_unit(
    n, seed, scale
):
    X, Y = configuration(n, seed), configuration(n, seed + 1, 3)
    moved = scale * Y @ rotation(3) + 1
    first, second = metrics.coranking(X, Y), metrics.coranking(X, moved)
    np.testing.assert_array_equal(first.trustworthiness, second.trustworthiness)
    np.testing.assert_array_equal(first.continuity, second.continuity)
    np.testing.assert_array_equal(first.overlap, second.overlap)
    D = cdist(X, X)
    for measure in (
        lambda Y: metrics.residual_variance(D, Y),
        lambda Y: metrics.stress(D, Y),
        lambda Y: metrics.rank_correlation(D, pdist(Y)),
    ):
        assert measure(Y) == pytest.approx(measure(moved), abs=1e-9)


def test_results_depend_on_neither_threads_nor_blocks():
    X, Y = configuration(200, 0), configuration(200, 1, 2)
    D = cdist(X, X)
    whole = metrics.coranking(X, Y), metrics.residual_variance(D, Y), metrics.stress(D, Y)
    with sklearn.config_context(working_memory=0.05):
        parts = (
            metrics.coranking(X, Y, n_jobs=2),
            metrics.residual_variance(D, Y, n_jobs=2),
            metrics.stress(D, Y, n_jobs=2),
        )
    np.testing.assert_array_equal(whole[0].trustworthiness, parts[0].trustworthiness)
    np.testing.assert_array_equal(whole[0].continuity, parts[0].continuity)
    np.testing.assert_array_equal(whole[0].overlap, parts[0].overlap)
    assert whole[1:] == parts[1:]


# ---------------------------------------------------------------- dimension


def noisy(U, seed=0):
    """Put points into ten dimensions, turned and with a little noise."""
    noise = 0.01 * np.random.default_rng(seed).standard_normal((len(U), 10))
    return U @ rotation(10)[: U.shape[1]] + noise


def uniform(d):
    return np.random.default_rng(0).uniform(size=(400, d))


def sphere():
    X = configuration(400, 0, 3)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def helix():
    t = 9 * uniform(1)[:, 0]
    return np.column_stack([np.cos(t), np.sin(t), t / 3])


@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
@pytest.mark.parametrize(
    ("X", "dimension"),
    [
        (noisy(uniform(1)), 1),
        (helix(), 1),
        (make_s_curve(400, random_state=0)[0], 2),
        *((noisy(uniform(d)), d) for d in (2, 3, 4, 5)),
        (sphere(), 3),
    ],
    ids=["line", "helix", "s-curve", "2-cube", "3-cube", "4-cube", "5-cube", "sphere"],
)
def test_the_intrinsic_dimension_is_found(X, dimension, divergence):
    found = metrics.intrinsic_dimension(
        X, PatchIsomap(divergence=divergence, patch=GaussianPatch())
    )
    assert found.dimension == dimension
    assert found.residual_variances.shape == (10,)


@pytest.mark.slow
def test_a_swiss_roll_has_two_dimensions_by_default():
    X, _ = make_swiss_roll(1000, noise=0.3, random_state=0)
    assert metrics.intrinsic_dimension(X).dimension == 2


def test_the_curve_is_that_of_separate_embeddings_and_the_estimator_is_left_alone():
    X = load_iris().data
    estimator = PatchIsomap(n_components=3, n_neighbors=30)
    found = metrics.intrinsic_dimension(X, estimator, max_components=4)
    for d in range(1, 5):
        isomap = PatchIsomap(n_components=d, n_neighbors=30, scaling="classical").fit(X)
        alone = metrics.residual_variance(shortest_paths(isomap.graph_), isomap.embedding_)
        assert found.residual_variances[d - 1] == pytest.approx(alone, abs=1e-9)
    assert estimator.n_components == 3
    assert not hasattr(estimator, "embedding_")


@pytest.mark.slow
def test_many_points_are_looked_at_from_some_of_them_and_give_the_same_every_time():
    X = noisy(np.random.default_rng(0).uniform(size=(metrics.MOST_SOURCES + 100, 2)))
    estimator = PatchIsomap(n_neighbors=8, divergence="euclidean")
    first, second = (metrics.intrinsic_dimension(X, estimator, max_components=3) for _ in range(2))
    isomap = PatchIsomap(3, n_neighbors=8, divergence="euclidean", scaling="classical").fit(X)
    every = metrics.residual_variance(shortest_paths(isomap.graph_), isomap.embedding_)
    assert first.residual_variances[-1] == pytest.approx(every, rel=0.05)
    np.testing.assert_array_equal(first.residual_variances, second.residual_variances)


def test_components_without_variance_add_nothing():
    # The matrix of a line has one positive eigenvalue; the others are zero up to rounding.
    X = np.arange(12.0)[:, None]
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=2, divergence="euclidean"))
    assert found.dimension == 1
    np.testing.assert_allclose(found.residual_variances, 0, atol=1e-12)


def test_few_points_limit_the_components():
    X = configuration(6, 0, 2)
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=5, divergence="euclidean"))
    assert found.residual_variances.shape == (5,)
    assert found.dimension == 2


def test_points_in_one_place_have_one_dimension():
    X = np.ones((20, 3))
    found = metrics.intrinsic_dimension(X, PatchIsomap(n_neighbors=5), max_components=3)
    assert found.dimension == 1
    np.testing.assert_array_equal(found.residual_variances, 0)


@pytest.mark.parametrize("d", [5, 20])
def test_a_curve_that_does_not_flatten_is_reported(d):
    X = np.random.default_rng(0).uniform(size=(300, d))
    with pytest.warns(UserWarning, match=r"does not flatten within max_components=3 .* raise"):
        found = metrics.intrinsic_dimension(
            X, PatchIsomap(divergence="euclidean"), max_components=3
        )
    assert found.dimension == 3


def test_only_isomap_has_nested_components():
    with pytest.raises(TypeError, match=r"is not a PatchIsomap.*give one, or None"):
        metrics.intrinsic_dimension(POINTS, PatchLLE())


# ---------------------------------------------------------------- purity


def test_purity_counts_the_commonest_class_of_each_cluster():
    X, y = load_iris(return_X_y=True)
    clusters = KMeans(5, n_init=1, random_state=0).fit_predict(X)
    expected = sum(max(np.sum(y[clusters == c] == k) for k in range(3)) for c in range(5)) / 150
    assert metrics.purity(y, clusters) == pytest.approx(expected, abs=1e-15)
    assert metrics.purity(np.array(["a", "b", "c"])[y], clusters + 7) == metrics.purity(y, clusters)
    assert metrics.purity(y, np.arange(150)) == 1
    assert metrics.purity(y, np.zeros(150)) == pytest.approx(1 / 3)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.intrinsic_dimension(POINTS, max_components=0), r"max_components=0 is too"),
        (lambda: metrics.purity([0, 1], [0]), r"shapes \(2,\) and \(1,\); give one label per"),
        (lambda: metrics.purity([], []), r"shapes \(0,\) and \(0,\)"),
    ],
)
def test_bad_arguments_are_named_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
