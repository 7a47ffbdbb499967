"""Embeddings are those of the seeds' equations, and the classical ones for Euclidean lengths."""

import warnings
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.neighbors import kneighbors_graph

import slow_reference as slow
from equations import (
    DATA,
    DIVERGENCES,
    METHODS,
    PLAIN,
    RECIPES,
    THREE,
    assert_equal_up_to_sign,
    assert_follows_the_equations,
    normal,
    slow_space,
)
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.embedding.lle import entropic_weights
from patchfold.engines import pools
from patchfold.neighbors.neighborhoods import Neighborhoods

JOINED = "the neighbourhood graph has .* components"


# ------------------------------------------------------------------- the seeds' equations


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("estimator", "compute"), METHODS)
def test_every_method_follows_its_equations(estimator, compute, data):
    k = DATA[data][1]
    assert_follows_the_equations(estimator, compute, slow_space(data), n_neighbors=k)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("estimator", "compute"), METHODS)
def test_neighbours_under_the_divergence_follow_the_equations(estimator, compute, data):
    space = slow_space(data, "hellinger", "divergence")
    assert_follows_the_equations(
        estimator,
        compute,
        space,
        n_neighbors=DATA[data][1],
        graph="divergence",
        divergence="hellinger",
    )


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_every_divergence_follows_the_equations(estimator, compute, name, graph):
    space = slow_space("k > m", name, graph)
    assert_follows_the_equations(
        estimator, compute, space, n_neighbors=7, divergence=name, graph=graph
    )


@pytest.mark.parametrize("data", ["k > m", "k < m"])
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_every_patch_follows_the_equations(estimator, compute, recipe, data):
    space = slow_space(data, recipe=recipe)
    patch = GaussianPatch(**RECIPES[recipe])
    k = DATA[data][1]
    assert_follows_the_equations(estimator, compute, space, n_neighbors=k, patch=patch)


@pytest.mark.parametrize(("data", "radius"), [("k > m", 2.5), ("disconnected", 2.2)])
@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_a_radius_follows_the_equations(estimator, compute, data, radius):
    space = slow_space(data, radius=radius)
    assert (space.n_parts > 1) == (data == "disconnected")
    degrees = [len(row) for row in space.neighbors]
    assert min(degrees) < max(degrees)
    estimator = sklearn.clone(estimator).set_params(radius=radius)
    expected = compute(space, None)[1]
    if space.n_parts > 1:
        with pytest.warns(UserWarning, match=r"components.* larger radius"):
            found = estimator.fit_transform(space.X)
    else:
        found = estimator.fit_transform(space.X)
    assert_equal_up_to_sign(found, expected, 1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_a_given_bandwidth_follows_the_equations(kernel):
    setting = {"kernel": kernel, "bandwidth": 2.5, "laplacian": "unnormalized"}
    found = PatchEigenmaps(n_neighbors=7, **PLAIN, **setting).fit(DATA["k > m"][0])
    expected = slow.eigenmaps(slow_space("k > m"), 2, **setting)[1]
    assert_equal_up_to_sign(found.embedding_, expected, 1e-8)
    assert found.bandwidth_ == 2.5


@pytest.mark.parametrize("reg", [1e-6, 1.0, 100.0])
@pytest.mark.parametrize("weights", ["entropic", "euclidean"])
def test_any_regularisation_follows_the_equations(weights, reg):
    estimator = PatchLLE(n_neighbors=5, **PLAIN, weights=weights, reg=reg)
    found = estimator.fit_transform(DATA["k < m"][0])
    expected = slow.lle(slow_space("k < m"), 2, weights, reg)[1]
    assert_equal_up_to_sign(found, expected, 1e-8)


# ------------------------------------------------------------------- the classical methods


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
    ours = PatchIsomap(n_neighbors=k, divergence="euclidean").fit(X)
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
    ours = PatchLLE(n_neighbors=k, divergence="euclidean", weights="euclidean").fit(X)
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


# ------------------------------------------------------------------- new points


NEW = [
    pytest.param(PatchIsomap(), id="isomap"),
    pytest.param(PatchIsomap(divergence="wasserstein", graph="divergence"), id="x-isomap"),
    pytest.param(PatchLLE(weights="entropic"), id="entropic"),
    pytest.param(PatchLLE(weights="euclidean", graph="divergence"), id="x-lle"),
    pytest.param(PatchEigenmaps(), id="eigenmaps"),
    pytest.param(PatchEigenmaps(laplacian="symmetric"), id="normalised"),
    pytest.param(PatchIsomap(divergence="euclidean"), id="classical"),
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


@pytest.mark.parametrize("estimator", NEW)
def test_held_out_points_land_near_their_neighbours(estimator, roll):
    X, Y = roll
    fitted = sklearn.clone(estimator).fit(X)
    nearest = np.argsort(cdist(Y, X), axis=1)[:, :5]
    spread = np.ptp(fitted.embedding_, axis=0)
    gap = np.abs(fitted.transform(Y) - fitted.embedding_[nearest].mean(axis=1)) / spread
    assert np.median(gap) < 0.03
    assert gap.max() < 0.3


def test_a_new_point_beyond_the_radius_is_named():
    fitted = PatchIsomap(radius=4.0).fit(DATA["k > m"][0])
    far = np.array([[0.0, 0, 0], [50.0, 0, 0]])
    with pytest.raises(ValueError, match=r"row 1 of X has no neighbour .*radius=4\.0"):
        fitted.transform(far)


def test_a_new_point_that_loses_all_weight_is_named():
    estimator = PatchEigenmaps(divergence="euclidean", n_neighbors=7, bandwidth=1.0)
    fitted = estimator.fit(DATA["k > m"][0])
    with pytest.raises(
        ValueError, match=r"bandwidth=1 leaves 1 new points .*too far from all fitted points"
    ):
        fitted.transform([[0.0, 0, 0], [500.0, 0, 0]])


def test_new_points_must_have_the_fitted_features():
    fitted = PatchIsomap(n_neighbors=7).fit(DATA["k > m"][0])
    with pytest.raises(ValueError, match="X has 2 features, but PatchIsomap is expecting 3"):
        fitted.transform(np.ones((2, 2)))


# ------------------------------------------------------------------- given distances


GIVEN = [
    pytest.param(PatchIsomap(n_neighbors=7), id="isomap"),
    pytest.param(PatchLLE(n_neighbors=7, weights="entropic"), id="entropic"),
    pytest.param(PatchEigenmaps(n_neighbors=7, bandwidth="median"), id="eigenmaps"),
]


@pytest.mark.parametrize("estimator", GIVEN)
def test_given_distances_or_a_graph_replace_the_points(estimator):
    X, Y = DATA["k > m"][0], normal(8, 5, 3)
    points = sklearn.clone(estimator).set_params(divergence="euclidean").fit(X)
    given = sklearn.clone(estimator).set_params(divergence="precomputed")
    dense = sklearn.clone(given).fit(cdist(X, X))
    directed = kneighbors_graph(X, 7, mode="distance")
    sparse = sklearn.clone(given).fit(directed)
    assert_equal_up_to_sign(dense.embedding_, points.embedding_, 1e-9)
    assert_equal_up_to_sign(sparse.embedding_, points.embedding_, 1e-9)
    assert dense.patches_ is None
    new = points.transform(Y)
    np.testing.assert_allclose(dense.transform(cdist(Y, X)), new, atol=1e-9)
    to_fitted = cdist(Y, X)
    far = np.sort(to_fitted, axis=1)[:, 7:8]
    rows = csr_array(np.where(to_fitted < far, to_fitted, 0))
    np.testing.assert_allclose(sparse.transform(rows), new, atol=1e-9)


@pytest.mark.parametrize("estimator", GIVEN)
def test_the_fitted_graph_given_again_gives_the_same_embedding(estimator):
    X = DATA["k < m"][0]
    fitted = sklearn.clone(estimator).fit(X)
    again = sklearn.clone(estimator).set_params(divergence="precomputed").fit(fitted.graph_)
    assert abs(again.graph_ - fitted.graph_).max() == 0
    if not isinstance(estimator, PatchLLE):  # whose neighbourhoods are directed
        assert_equal_up_to_sign(again.embedding_, fitted.embedding_, 1e-9)


def test_parts_of_given_distances_are_joined_by_the_closest_pair():
    X, k = DATA["disconnected"]
    expected = slow.isomap(slow_space("disconnected", "euclidean"), 2)[1]
    with pytest.warns(UserWarning, match=JOINED):
        found = PatchIsomap(n_neighbors=k, divergence="precomputed").fit_transform(cdist(X, X))
    assert_equal_up_to_sign(found, expected, 1e-8)


def given(X, match, error=ValueError):
    with pytest.raises(error, match=match):
        PatchIsomap(n_neighbors=2, divergence="precomputed").fit(X)


def test_bad_given_distances_are_refused():
    D = cdist(np.arange(8.0)[:, None], np.arange(8.0)[:, None])
    given(D[:, :5], r"needs a square matrix of distances, X has shape \(8, 5\)")
    given(-D, r"needs distances >= 0, X has -7")
    given(csr_array(-D), r"needs distances >= 0, X has -7")
    given(np.where(D == 3, np.nan, D), "NaN")
    given(np.where(D == 3, np.inf, D), "inf")
    apart = np.kron(np.eye(2), np.ones((4, 4)))
    given(csr_array(apart), r"graph has 2 components; add edges until it is connected")


def test_given_distances_have_no_euclidean_weights():
    with pytest.raises(ValueError, match=r"weights='euclidean' needs points.*weights='entropic'"):
        PatchLLE(weights="euclidean", divergence="precomputed").fit(np.ones((9, 9)))


def test_distances_to_another_number_of_points_are_refused():
    D = cdist(DATA["k > m"][0], DATA["k > m"][0])
    fitted = PatchIsomap(n_neighbors=5, divergence="precomputed").fit(D)
    with pytest.raises(ValueError, match="X has 44 features, but PatchIsomap is expecting 45"):
        fitted.transform(D[:2, :44])


# ------------------------------------------------------------------- bandwidths


BANDWIDTH_DATA = {
    "normal": normal(0, 80, 3),
    "far outlier": np.vstack([normal(0, 80, 3), [[1e4, 0, 0]]]),
    "clusters far apart": np.vstack([normal(0, 40, 3), normal(1, 40, 3) + 1e3]),
    "duplicates": np.vstack([normal(0, 20, 3)] * 4),
    "mostly one point": np.vstack([np.zeros((60, 3)), normal(0, 20, 3)]),
    "one point": np.ones((30, 3)),
}


@pytest.mark.parametrize("name", ["kl", "hellinger", "euclidean"])
@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
@pytest.mark.parametrize("data", BANDWIDTH_DATA)
def test_the_median_bandwidth_keeps_the_graph_whole(data, kernel, name):
    X = BANDWIDTH_DATA[data]
    setting = {"kernel": kernel, "bandwidth": "median", "laplacian": "symmetric"}
    estimator = PatchEigenmaps(n_neighbors=8, divergence=name, **setting)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", JOINED, UserWarning)
        estimator.fit(X)
    assert np.isfinite(estimator.embedding_).all()
    assert (estimator.eigenvalues_ > 0).all()


@pytest.mark.filterwarnings("ignore:the embedding is unreadable")  # a pair, a triple and a dot
@pytest.mark.parametrize("laplacian", ["unnormalized", "random-walk", "symmetric"])
@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_a_bandwidth_too_small_is_named(kernel, laplacian):
    estimator = PatchEigenmaps(
        n_neighbors=8, bandwidth=1e-6, kernel=kernel, laplacian=laplacian, divergence="euclidean"
    )
    X = normal(0, 40, 3)
    # A pair and a triple close enough to keep their weights: something is left to embed.
    X = np.vstack([X, X[:2] + 1e-7, X[:1] - 1e-7])
    message = (
        r"bandwidth=1e-06 is small beside the longest edge that the graph needs, .* the graph "
        r"falls into 40 parts, and .* Enlarge bandwidth, or use bandwidth='median'\."
    )
    with pytest.warns(UserWarning, match=message):
        estimator.fit(X)
    assert np.isfinite(estimator.embedding_).all()


def test_points_that_the_bandwidth_isolates_stay_at_the_origin():
    estimator = PatchEigenmaps(2, n_neighbors=8, bandwidth=1e-6, divergence="euclidean")
    with pytest.warns(UserWarning, match="bandwidth=1e-06"):
        assert (estimator.fit_transform(normal(0, 40, 3)) == 0).all()
    X = np.vstack([normal(0, 30, 3), [[50.0, 0, 0]]])
    estimator = PatchEigenmaps(n_neighbors=8, bandwidth=1.0, divergence="euclidean")
    with pytest.warns(UserWarning, match="bandwidth=1 ") as caught:
        embedding = estimator.fit_transform(X)
    assert (embedding[-1] == 0).all()
    assert (embedding[:-1] != 0).any(axis=1).all()
    # Whatever is said, it is said at the line of the call.
    assert {warning.filename for warning in caught} == {__file__}


def test_a_point_next_to_alone_is_warned_of():
    X = np.vstack([normal(0, 30, 3), [[7.0, 0, 0]]])
    with pytest.warns(UserWarning, match="1 points have next to no weight"):
        PatchEigenmaps(n_neighbors=8, divergence="euclidean", bandwidth=1.0).fit(X)


def test_all_divergences_zero_is_warned_of():
    isomap = PatchIsomap(n_neighbors=19, **PLAIN)
    with pytest.warns(UserWarning, match="every patch has the same points"):
        assert (isomap.fit_transform(normal(0, 20, 3)) == 0).all()


@pytest.mark.parametrize("n", [30, 1200])
def test_equal_points_are_embedded_in_one_place(n):
    assert (PatchIsomap(divergence="euclidean").fit_transform(np.ones((n, 2))) == 0).all()


@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1e12, 1e25])
def test_isomap_keeps_its_shape_in_float32_at_any_scale(scale):
    X = normal(1, 60, 3)
    one = PatchIsomap(n_neighbors=8, divergence="euclidean").fit(X.astype(np.float32))
    other = PatchIsomap(n_neighbors=8, divergence="euclidean").fit((scale * X).astype(np.float32))
    assert_equal_up_to_sign(other.embedding_ / np.float32(scale), one.embedding_, 1e-4)
    far = PatchIsomap(n_neighbors=8, divergence="euclidean").fit(X.astype(np.float32))
    assert np.isfinite(far.transform(np.full((1, 3), 1e12, dtype=np.float32))).all()


# ------------------------------------------------------------------- zeros, threads, units


@pytest.mark.parametrize("name", ["kl", "euclidean"])
def test_points_are_connected_through_copies_at_distance_zero(name):
    X = np.repeat(normal(0, 30, 2), 3, axis=0)
    fitted = PatchIsomap(n_neighbors=8, divergence=name).fit(X)
    zeros = fitted.graph_.data == 0
    i, j = (end[zeros] for end in fitted.graph_.tocoo().coords)
    assert np.sum((i // 3 == j // 3) & (i != j)) == 30 * 3 * 2
    copies = fitted.embedding_.reshape(30, 3, 2)
    np.testing.assert_allclose(copies, copies[:, :1].repeat(3, axis=1), atol=1e-8)


def test_zeros_of_a_given_graph_are_edges():
    # A path whose middle edge has length zero.
    i, lengths = np.arange(5), np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    both = np.r_[i, i + 1], np.r_[i + 1, i]
    path = csr_array((np.r_[lengths, lengths], both), shape=(6, 6))
    found = PatchIsomap(1, n_neighbors=2, divergence="precomputed").fit(path)
    place = np.array([0.0, 1, 2, 2, 3, 4]) - 2
    assert_equal_up_to_sign(found.embedding_, place[:, None], 1e-12)


def test_all_points_equal_give_an_embedding_in_one_place():
    found = PatchIsomap(n_neighbors=4).fit_transform(np.ones((12, 3)))
    np.testing.assert_array_equal(found, 0)


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_threads_and_memory_change_no_bit(estimator, compute, graph, monkeypatch):
    X, Y = normal(0, 70, 4), normal(1, 9, 4)
    first = sklearn.clone(estimator).set_params(n_neighbors=8, graph=graph)
    expected = first.fit_transform(X), first.transform(Y)
    for n_jobs, memory, cache_bytes in [(2, 1024, 2**24), (1, 0.01, 2**24), (2, 1024, 1)]:
        monkeypatch.setattr(pools, "CACHE_BYTES", cache_bytes)
        again = sklearn.clone(first).set_params(n_jobs=n_jobs)
        with sklearn.config_context(working_memory=memory):
            found = again.fit_transform(X), again.transform(Y)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("factor", [1e-5, 1e5])
@pytest.mark.parametrize(("estimator", "compute"), METHODS)
def test_divergences_do_not_see_the_unit_of_the_data(estimator, compute, factor):
    X, Y = DATA["k > m"][0], normal(8, 4, 3)
    first = sklearn.clone(estimator).set_params(n_neighbors=7).fit(X)
    scaled = sklearn.clone(first).fit(factor * X)
    np.testing.assert_allclose(scaled.embedding_, first.embedding_, atol=1e-8)
    np.testing.assert_allclose(scaled.transform(factor * Y), first.transform(Y), atol=1e-7)


@pytest.mark.parametrize("name", ["euclidean", "wasserstein"])
def test_lengths_in_the_unit_of_the_data_scale_the_isomap_embedding(name):
    X = DATA["k > m"][0]
    setting = {"n_neighbors": 7, "divergence": name, **PLAIN}
    first = PatchIsomap(**setting).fit_transform(X)
    scaled = PatchIsomap(**setting).fit_transform(1000 * X)
    np.testing.assert_allclose(scaled, 1000 * first, atol=1e-6)
    first, scaled = (PatchEigenmaps(**setting).fit_transform(c * X) for c in (1, 1000))
    np.testing.assert_allclose(scaled, first, atol=1e-8)


@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_the_order_of_the_points_does_not_matter(estimator, compute):
    X = DATA["k > m"][0]
    order = np.random.default_rng(0).permutation(len(X))
    first = sklearn.clone(estimator).set_params(n_neighbors=7).fit_transform(X)
    permuted = sklearn.clone(estimator).set_params(n_neighbors=7).fit_transform(X[order])
    assert_equal_up_to_sign(permuted, first[order], 1e-8)


def test_a_function_of_patches_is_a_divergence():
    X = DATA["k > m"][0]

    def gap_of_means(a, b):
        return np.linalg.norm(a.means - b.means, axis=1)

    isomap = PatchIsomap(n_neighbors=7, divergence=gap_of_means, lengths="divergence")
    fitted = isomap.fit(X)
    i, j = fitted.graph_.tocoo().coords
    expected = np.linalg.norm(fitted.patches_.means[i] - fitted.patches_.means[j], axis=1)
    np.testing.assert_allclose(fitted.graph_.data, expected)


# ------------------------------------------------------------------- parameters


ALL = (PatchIsomap, PatchLLE, PatchEigenmaps)
WRONG = [
    ({"n_neighbors": 0}, r"n_neighbors=0 is too small; give at least 1"),
    ({"n_neighbors": 2.5}, r"n_neighbors=2\.5 is not an integer; give a whole number"),
    ({"n_components": 0}, r"n_components=0 is too small; give at least 1"),
    ({"n_components": 1.5}, r"n_components=1\.5 is not an integer"),
    ({"divergence": "kll"}, r"divergence='kll' is not known; did you mean 'kl'\?"),
    ({"divergence": 3}, r"divergence=3 is not known\. Allowed: 'kl'"),
    ({"graph": "neighbours"}, r"graph='neighbours' is not known; did you mean 'neighbors'\?"),
    ({"patch": 20}, r"patch=20 must be a GaussianPatch, e\.g\. GaussianPatch\(size=20\), or None"),
    ({"patch": GaussianPatch(size=45)}, r"size=45 needs more than 45 samples, got 45; lower"),
    ({"patch": GaussianPatch(covariance="rigde")}, r"covariance='rigde' is not known; did you"),
    ({"radius": 0}, r"radius=0 is not positive"),
    ({"radius": "1"}, r"radius='1' is not a number"),
    ({"radius": 2.0, "graph": "divergence"}, r"radius=2\.0 and graph='divergence' exclude each"),
    ({"lengths": "strechted"}, r"lengths='strechted' is not known; did you mean 'stretched'\?"),
    ({"engine": "thread"}, r"engine='thread' is not known; did you mean 'threads'\?"),
    ({"knn": "exakt"}, r"knn='exakt' is not known; did you mean 'exact'\?"),
]
WRONG_OWN = [
    (PatchLLE, {"weights": "entropy"}, r"weights='entropy' is not known; did you mean"),
    (PatchLLE, {"reg": 0}, r"reg=0 is not positive and finite; give a value above 0"),
    (PatchLLE, {"reg": -1.0}, r"reg=-1\.0 is not positive"),
    (PatchLLE, {"reg": None}, r"reg=None is not a number"),
    (PatchEigenmaps, {"kernel": "gauss"}, r"kernel='gauss' is not known; did you mean 'gaussian'"),
    (PatchEigenmaps, {"laplacian": "normalized"}, r"laplacian='normalized' is not known; did you"),
    (PatchEigenmaps, {"bandwidth": "mean"}, r"bandwidth='mean' is not known.* 'median'"),
    (PatchEigenmaps, {"bandwidth": 0}, r"bandwidth=0 must be positive, or 'median'"),
    (PatchEigenmaps, {"bandwidth": -np.inf}, r"bandwidth=-inf must be positive"),
    (PatchEigenmaps, {"bandwidth": np.nan}, r"bandwidth=nan must be positive"),
    (PatchEigenmaps, {"bandwidth": True}, r"bandwidth=True must be positive"),
    (PatchEigenmaps, {"bandwidth": None}, r"bandwidth=None must be positive"),
]


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [(estimator, *case) for estimator in ALL for case in WRONG] + WRONG_OWN,
)
def test_wrong_parameters_are_named_with_value_and_remedy(estimator, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        estimator(**{"n_neighbors": 7} | parameters).fit(DATA["k > m"][0])


@pytest.mark.parametrize("estimator", ALL)
def test_sparse_points_are_refused_with_a_remedy(estimator):
    with pytest.raises(TypeError, match=r"X is a sparse matrix .*toarray"):
        estimator(n_neighbors=3).fit(csr_array(DATA["k > m"][0]))


# ------------------------------------------------------------------- entropic weights


def rows_of(lengths):
    lengths = [np.asarray(row, dtype=float) for row in lengths]
    return Neighborhoods(
        np.cumsum([0, *map(len, lengths)]),
        np.concatenate([np.arange(len(row)) for row in lengths]),
        np.concatenate(lengths),
    )


@pytest.mark.parametrize("reg", [1e-3, 1.0])
def test_entropic_weights_solve_the_equations_of_the_seed(reg):
    rng = np.random.default_rng(0)
    lengths = [rng.uniform(0, 3, k) for k in (1, 2, 5, 5, 15, 40)]
    solved = [
        np.linalg.solve(np.outer(d, d) + reg * np.eye(len(d)), np.ones(len(d))) for d in lengths
    ]
    expected = np.concatenate([w / w.sum() for w in solved])
    np.testing.assert_allclose(entropic_weights(rows_of(lengths), reg), expected, atol=1e-9)


@pytest.mark.parametrize("largest", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_entropic_weights_are_exact_for_large_divergences(largest):
    rng = np.random.default_rng(1)
    lengths = [largest * rng.uniform(0, 1, 12), largest * 10.0 ** -rng.uniform(0, 8, 12)]
    found = entropic_weights(rows_of(lengths), 1e-3)
    expected = np.concatenate([slow.entropic_weights(row, 1e-3) for row in lengths])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose([found[:12].sum(), found[12:].sum()], 1, rtol=1e-12)


@pytest.mark.parametrize("length", [0.0, 0.1, 1e3])
@pytest.mark.parametrize("k", [1, 3, 7, 30])
def test_equal_divergences_share_the_weight(length, k):
    found = entropic_weights(rows_of([[length] * k]), 1e-3)
    np.testing.assert_allclose(found, 1 / k, rtol=1e-9)


@pytest.mark.parametrize("d", [[1e8 / 3] * 7, [1e8, 1e8 + 1, 1e8 + 3], [5.0] * 3])
def test_entropic_weights_of_large_almost_equal_divergences_are_exact(d):
    with mp.workdps(60):
        column = mp.matrix(d)
        C = column * column.T + mp.mpf(1e-3) * mp.eye(len(d))
        w = mp.lu_solve(C, mp.ones(len(d), 1))
        expected = [float(value / sum(w)) for value in w]
    np.testing.assert_allclose(entropic_weights(rows_of([d]), 1e-3), expected, rtol=1e-9)


# ------------------------------------------------------------------- given distances and radii


def test_a_radius_cuts_given_distances_as_it_cuts_points():
    X = np.random.default_rng(4).normal(size=(60, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the neighbourhood graph has")
        points = PatchIsomap(divergence="euclidean", radius=0.9).fit(X)
        given = PatchIsomap(divergence="precomputed", radius=0.9).fit(cdist(X, X))
    assert points.graph_.nnz == given.graph_.nnz < 60 * 59
    np.testing.assert_allclose(given.graph_.toarray(), points.graph_.toarray(), rtol=1e-12)


def test_a_sparse_graph_needs_no_n_neighbors():
    lengths = csr_array(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1))
    embedding = PatchIsomap(1, divergence="precomputed").fit_transform(lengths)
    np.testing.assert_allclose(np.abs(np.diff(embedding[:, 0])), 1.0, rtol=1e-9)
