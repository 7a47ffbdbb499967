"""Embeddings are those of the seeds' equations, whatever the order, unit or number of threads."""

import numpy as np
import pytest
import sklearn

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

# ------------------------------------------------------------------- the seeds' equations


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("estimator", "compute"), METHODS)
def test_every_method_follows_its_equations(estimator, compute, data):
    k = DATA[data][1]
    assert_follows_the_equations(estimator, compute, slow_space(data), n_neighbors=k)


@pytest.mark.some_cases(11)
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


@pytest.mark.some_cases(11)
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


# ------------------------------------------------------------------- patches that are all the same


def test_all_divergences_zero_is_warned_of():
    isomap = PatchIsomap(n_neighbors=19, **PLAIN)
    with pytest.warns(UserWarning, match="every patch has the same points"):
        assert (isomap.fit_transform(normal(0, 20, 3)) == 0).all()


# ------------------------------------------------------------------- zeros, threads, units


@pytest.mark.parametrize("name", ["kl", "euclidean"])
def test_points_are_connected_through_copies_at_distance_zero(name):
    X = np.repeat(normal(0, 30, 2), 3, axis=0)
    fitted = PatchIsomap(n_neighbors=8, divergence=name).fit(X)
    zeros = fitted.graph_.data == 0
    i, j = (end[zeros] for end in fitted.graph_.tocoo().coords)
    assert np.sum((i // 3 == j // 3) & (i != j)) == 30 * 2 * 2  # to the first
    copies = fitted.embedding_.reshape(30, 3, 2)
    np.testing.assert_allclose(copies, copies[:, :1].repeat(3, axis=1), atol=1e-8)


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize(("estimator", "compute"), THREE)
def test_threads_and_memory_change_no_bit(estimator, compute, graph):
    X, Y = normal(0, 70, 4), normal(1, 9, 4)
    first = sklearn.clone(estimator).set_params(n_neighbors=8, graph=graph)
    expected = first.fit_transform(X), first.transform(Y)
    # The last leaves room for blocks of one row alone.
    for n_jobs, memory in [(2, 1024), (1, 0.01), (2, 1e-6)]:
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
    isomap = PatchIsomap(**setting, scaling="classical")
    first, scaled = isomap.fit_transform(X), isomap.fit_transform(1000 * X)
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
    ({"patch": GaussianPatch(size=0)}, r"size=0 is too small; give at least 1"),
    ({"patch": GaussianPatch(size="adaptiv")}, r"size='adaptiv' is not known; did you mean"),
    ({"patch": GaussianPatch(covariance="rigde")}, r"covariance='rigde' is not known; did you"),
    ({"radius": 0}, r"radius=0 is not positive"),
    ({"radius": "1"}, r"radius='1' is not a number"),
    ({"radius": 2.0, "graph": "divergence"}, r"radius=2\.0 and graph='divergence' exclude each"),
    ({"lengths": "prunned"}, r"lengths='prunned' is not known; did you mean 'pruned'\?"),
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
