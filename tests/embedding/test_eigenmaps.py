"""Laplacian eigenmaps: bandwidths that keep the graph whole, and those that do not."""

import warnings

import numpy as np
import pytest

import slow_reference as slow
from equations import (
    DATA,
    PLAIN,
    assert_equal_up_to_sign,
    normal,
    slow_space,
)
from patchfold import GaussianPatch, PatchEigenmaps
from patchfold.embedding.eigenmaps import VISIBLE, WEIGHTS
from patchfold.metrics import visible_share

JOINED = "the neighbourhood graph has .* components"


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_a_given_bandwidth_follows_the_equations(kernel):
    setting = {"kernel": kernel, "bandwidth": 2.5, "laplacian": "unnormalized"}
    found = PatchEigenmaps(n_neighbors=7, **PLAIN, **setting).fit(DATA["k > m"][0])
    expected = slow.eigenmaps(slow_space("k > m"), 2, **setting)[1]
    assert_equal_up_to_sign(found.embedding_, expected, 1e-8)
    assert found.bandwidth_ == 2.5


@pytest.mark.parametrize("name", ["kl", "hellinger", "euclidean"])
@pytest.mark.parametrize(("kernel", "power"), [("gaussian", 2), ("exponential", 1)])
def test_pairwise_bandwidths_are_quantiles_of_the_lengths_of_all_pairs(kernel, power, name):
    X, k = DATA["k > m"]
    space = slow_space("k > m", name)
    n = len(X)
    every = [
        np.linalg.norm(X[i] - X[j])
        if name == "euclidean"
        else slow.divergence(name, space.patches[i], space.patches[j])
        for i in range(n)
        for j in range(i)
    ]
    for bandwidth, share in (("0.25", 0.25), ("median", 0.5), ("0.75", 0.75)):
        setting = {"kernel": kernel, "divergence": name, "bandwidth": f"pairwise-{bandwidth}"}
        found = PatchEigenmaps(n_neighbors=k, **PLAIN, **setting).fit(X)
        assert found.bandwidth_ == pytest.approx(np.quantile(every, share) ** power, rel=1e-9)
        same = (
            found.embedding_,
            PatchEigenmaps(
                n_neighbors=k, **PLAIN, **(setting | {"bandwidth": found.bandwidth_})
            ).fit_transform(X),
        )
        np.testing.assert_array_equal(*same)


def test_pairwise_bandwidths_of_graphs_without_short_circuits_are_in_typical_lengths():
    found = PatchEigenmaps(n_neighbors=7, bandwidth="pairwise-median").fit(normal(0, 45, 3))
    points = found.patches_.points
    apart = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(45, 1)]
    expected = np.median(apart) / found.patch_graph_.lengths.typical.distance
    assert found.bandwidth_ == pytest.approx(expected**2)


def test_pairwise_bandwidths_of_given_distances_are_refused_and_of_equal_points_are_positive():
    given = PatchEigenmaps(bandwidth="pairwise-0.25", divergence="precomputed", n_neighbors=5)
    with pytest.raises(ValueError, match=r"bandwidth='pairwise-0\.25' needs points"):
        given.fit(1 - np.eye(20))
    with pytest.raises(ValueError, match=r"bandwidth='mean'.*'pairwise-median'"):
        PatchEigenmaps(bandwidth="mean").fit(normal(0, 45, 3))
    half = np.vstack([np.zeros((30, 3)), normal(0, 10, 3)])
    own = {"patch": GaussianPatch(), "lengths": "divergence", "bandwidth": "pairwise-0.25"}
    with pytest.warns(UserWarning, match="bandwidth="):
        assert PatchEigenmaps(n_neighbors=5, **own).fit(half).bandwidth_ > 0


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


def test_a_new_point_that_loses_all_weight_is_named():
    estimator = PatchEigenmaps(divergence="euclidean", n_neighbors=7, bandwidth=1.0)
    fitted = estimator.fit(DATA["k > m"][0])
    with pytest.raises(
        ValueError, match=r"bandwidth=1 leaves 1 new points .*too far from all fitted points"
    ):
        fitted.transform([[0.0, 0, 0], [500.0, 0, 0]])


def test_all_pairs_are_weighed_by_their_lengths():
    X = normal(0, 12, 3)
    fits = [
        PatchEigenmaps(n_neighbors=11, divergence="euclidean", bandwidth=bandwidth).fit(X)
        for bandwidth in (np.inf, "median")
    ]
    assert np.isfinite(fits[0].bandwidth_)
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)
    assert np.isinf(PatchEigenmaps(n_neighbors=5, divergence="euclidean").fit(X).bandwidth_)


def places(graph, removed, weight):
    """Return the plane of a graph whose short circuits have a weight, by all eigenvectors."""
    W = (graph.toarray() > 0).astype(float)
    for i, j in removed:
        W[i, j] = W[j, i] = max(W[i, j], weight)
    root = np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(len(W)) - W / np.outer(root, root))
    return values[1:3], vectors[:, 1:3] / root[:, None]


def crowded():
    """Return a cloud with two dense spots, whose short circuits hold its picture together."""
    rng = np.random.default_rng(17)
    rng.integers(0, 3, size=(150, 6))
    rng.uniform(size=(3, 80, 3))
    cloud, spot, other = rng.normal(size=(150, 5)), rng.normal(size=(30, 5)), rng.normal(size=5)
    return np.concatenate([cloud, 0.05 * spot + 2 * other, 0.05 * rng.normal(size=(30, 5)) - 2])


@pytest.mark.filterwarnings(f"ignore:{JOINED}")
def test_short_circuits_get_the_least_weight_that_makes_points_visible():
    found = PatchEigenmaps(n_neighbors=10).fit(crowded())
    graph, removed = found.graph_, found.patch_graph_.removed
    assert (graph[removed[:, 0], removed[:, 1]] == 0).all()
    needed = VISIBLE * visible_share(places(graph, removed, 1.0)[1])
    enough = [w for w in (0.0, *WEIGHTS) if visible_share(places(graph, removed, w)[1]) >= needed]
    assert found.short_circuit_weight_ == enough[0] > 0
    values, plane = places(graph, removed, enough[0])
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-8)
    assert_equal_up_to_sign(found.embedding_, plane, 1e-6)


@pytest.mark.filterwarnings("ignore:the embedding is unreadable")  # which the weight is for
@pytest.mark.filterwarnings(f"ignore:{JOINED}")
@pytest.mark.parametrize("setting", [{"bandwidth": "median"}, {"n_components": 1}])
def test_where_weights_are_chosen_or_nothing_is_plotted_short_circuits_have_none(setting):
    found = PatchEigenmaps(n_neighbors=10, **setting).fit(crowded())
    assert found.short_circuit_weight_ == 0
