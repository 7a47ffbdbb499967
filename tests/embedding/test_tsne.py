from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import KNeighborsClassifier

from patchfold import GaussianPatch, PatchSpace, PatchTSNE, divergences
from patchfold.embedding.tsne import (
    PLACING_PERPLEXITY,
    calibrated_distances,
    gaussian_exponents,
    joint_affinities,
    spectral_start,
)
from patchfold.neighbors.given import nearest_by_value
from patchfold.neighbors.neighborhoods import Neighborhoods

# Enough where the facts do not depend on convergence.
QUICK = {"n_iter": 5, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


@pytest.fixture
def without_opentsne(monkeypatch):
    monkeypatch.setitem(sys.modules, "openTSNE", None)


@pytest.fixture(params=["openTSNE", "scikit-learn"])
def optimiser(request):
    if request.param == "openTSNE":
        pytest.importorskip("openTSNE", reason="the optimiser of patchfold[tsne]")
    else:
        request.getfixturevalue("without_opentsne")
    return request.param


def rows(*distances):
    """Neighbourhoods with the given distances, of points that do not matter."""
    degrees = [len(row) for row in distances]
    indices = np.concatenate([np.arange(degree) for degree in degrees])
    return Neighborhoods(np.cumsum([0, *degrees]), indices, np.concatenate(distances))


def weights_of(distances, perplexity):
    weights = np.exp(-gaussian_exponents(rows(np.asarray(distances)), perplexity))
    return weights / weights.sum()


def perplexity_of(p):
    p = p[p > 0]
    return np.exp(-np.sum(p * np.log(p)))


def slow_conditional(d, perplexity):
    """Bisect the precision of one row, as van der Maaten's first program did."""
    low, high, precision = 0.0, np.inf, 1.0
    for _ in range(500):
        p = np.exp(-precision * (d**2 - d.min() ** 2))
        p /= p.sum()
        if perplexity_of(p) > perplexity:
            low = precision
        else:
            high = precision
        precision = 2 * precision if high == np.inf else (low + high) / 2
    return p


# -------------------------------------------------------------------- affinities


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("divergence", ["euclidean", "kl", "hellinger"])
def test_affinities_are_those_of_a_slow_double_loop(iris, divergence, graph):
    X, perplexity, n = iris[::3], 6.5, 50
    patches = GaussianPatch(size=8).fit(X)
    D = divergences.pairwise(patches, divergence)
    C = np.zeros((n, n))
    choosing = D if graph == "divergence" else cdist(X, X)
    for i in range(n):
        others = [j for j in sorted(range(n), key=lambda j, i=i: (choosing[i, j], j)) if j != i]
        neighbors = others[:19]
        C[i, neighbors] = slow_conditional(D[i, neighbors], perplexity)
    setting = {"divergence": divergence, "graph": graph, "perplexity": perplexity}
    plain = {"patch": GaussianPatch(size=8), "lengths": "divergence"}
    model = PatchTSNE(**plain, **setting, **QUICK).fit(X)
    np.testing.assert_allclose(model.affinities_.toarray(), (C + C.T) / (2 * n), atol=1e-10)


def test_rows_of_any_length_and_scale_have_the_perplexity():
    rng = np.random.default_rng(0)
    scales = np.geomspace(1e-150, 1e150, 40)
    near = rows(*(scale * rng.gamma(0.3, size=rng.integers(12, 90)) for scale in scales))
    weights = np.exp(-gaussian_exponents(near, 11.5))
    for start, stop in zip(near.indptr[:-1], near.indptr[1:], strict=True):
        p = weights[start:stop] / weights[start:stop].sum()
        assert np.log(perplexity_of(p)) == pytest.approx(np.log(11.5), abs=1e-6)


def test_a_far_neighbour_does_not_hide_differences_among_the_near():
    near = np.arange(1.0, 40.0)
    with_far = weights_of([*near, 1e12], 10.0)
    np.testing.assert_allclose(with_far[:-1], weights_of(near, 10.0), rtol=1e-6)
    assert with_far[-1] == 0


@pytest.mark.parametrize("distance", [0.0, 1e-300, 2.5, 1e300])
def test_neighbours_at_equal_distances_count_alike(distance):
    np.testing.assert_array_equal(weights_of(np.full(20, distance), 5.0), np.full(20, 0.05))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_errors_do_not_tell_neighbours_apart(dtype):
    distances = (1 + np.finfo(dtype).eps * np.arange(-2.0, 3.0)).repeat(4).astype(dtype)
    np.testing.assert_array_equal(weights_of(distances, 5.0), np.full(20, 0.05))


def test_more_duplicates_than_the_perplexity_are_the_only_neighbours():
    np.testing.assert_array_equal(weights_of([0.0] * 4 + [1.0] * 3, 2.0), [0.25] * 4 + [0.0] * 3)


def test_fewer_neighbours_than_the_perplexity_count_alike():
    np.testing.assert_allclose(weights_of([1.0, 2.0, 3.0], 10.0), np.full(3, 1 / 3))


def test_affinities_do_not_depend_on_threads_or_blocks(iris):
    near = nearest_by_value(cdist(iris, iris), 90, own=True)
    whole = gaussian_exponents(near, 30.0)
    np.testing.assert_array_equal(gaussian_exponents(near, 30.0, n_jobs=2), whole)
    alone = [gaussian_exponents(near[np.array([row])], 30.0) for row in range(len(near))]
    np.testing.assert_array_equal(np.concatenate(alone), whole)


def test_euclidean_affinities_are_those_of_opentsne():
    affinity = pytest.importorskip("openTSNE.affinity", reason="compared with")
    X = np.random.default_rng(0).normal(size=(150, 4))  # no equal distances
    model = PatchTSNE(divergence="euclidean", perplexity=12, **QUICK).fit(X)
    theirs = affinity.PerplexityBasedNN(X, perplexity=12, method="exact").P
    np.testing.assert_allclose(model.affinities_.toarray(), theirs.toarray(), atol=1e-7)


def test_scikit_learn_optimises_the_same_affinities(iris, without_opentsne, monkeypatch):
    optimised = []

    def remember(self, P, degrees_of_freedom, n_samples, X_embedded, **options):
        optimised.append(P.copy())
        self.kl_divergence_ = 0.0
        return X_embedded

    monkeypatch.setattr(TSNE, "_tsne", remember)
    X = np.concatenate([iris, iris[:3], iris[:3]])
    model = PatchTSNE(perplexity=7, **QUICK).fit(X)
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    expected = model.affinities_.toarray()[first][:, first]
    np.testing.assert_allclose(optimised[0].toarray(), expected, atol=1e-9)


def test_the_distances_told_to_scikit_learn_hold_every_affinity(iris):
    near = nearest_by_value(cdist(iris, iris), 20, own=True)
    exponents = gaussian_exponents(near, 7.0)
    distances = calibrated_distances(near, exponents, 25)
    assert np.diff(distances.indptr).min() >= 26  # and the point itself
    told = np.exp(-(distances.toarray()[near.sources, near.indices] ** 2))
    np.testing.assert_allclose(told, np.exp(-exponents), atol=1e-15)


# -------------------------------------------------------------------- the start


def test_the_start_separates_the_halves_of_a_dumbbell():
    X, y = make_blobs([30, 30], centers=[[0.0, 0.0], [8.0, 0.0]], random_state=0)
    near = nearest_by_value(cdist(X, X), 40, own=True)
    P = joint_affinities(near, gaussian_exponents(near, 20.0))
    first = spectral_start(P, 2, 0)[:, 0]
    assert first[y == 0].max() < first[y == 1].min() or first[y == 1].max() < first[y == 0].min()


def test_the_start_is_small_and_no_two_points_coincide():
    near = nearest_by_value(np.zeros((40, 40)), 15, own=True)
    P = joint_affinities(near, gaussian_exponents(near, 5.0))
    start = spectral_start(P, 2, 0)
    assert 0.5e-4 < start.std() < 2e-4
    assert len(np.unique(start, axis=0)) == 40


# -------------------------------------------------------------------- the embedding


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["euclidean", "kl"])
def test_neighbours_stay_neighbours(iris, divergence, optimiser):
    embedding = PatchTSNE(divergence=divergence, random_state=0).fit_transform(iris)
    assert trustworthiness(iris, embedding) >= 0.95


@pytest.mark.slow
def test_digits_of_one_kind_stay_together(optimiser):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    embedding = PatchTSNE(perplexity=15, n_iter=300, random_state=0).fit_transform(X)
    assert trustworthiness(X, embedding) >= 0.95
    assert KNeighborsClassifier(5).fit(embedding, y).score(embedding, y) > 0.95


@pytest.mark.slow
def test_both_optimisers_reach_about_the_same_divergence(iris, monkeypatch):
    pytest.importorskip("openTSNE", reason="compared with scikit-learn")
    one = PatchTSNE(random_state=0).fit(iris).kl_divergence_
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    other = PatchTSNE(random_state=0).fit(iris).kl_divergence_
    # They end in different minima, and in which depends on the processor's rounding.
    assert other == pytest.approx(one, rel=0.25)


@pytest.mark.slow
def test_a_random_state_decides_everything(iris, optimiser):
    first, again, other = (
        PatchTSNE(n_iter=20, random_state=seed).fit_transform(iris) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
def test_any_number_of_components(iris, n_components):
    model = PatchTSNE(n_components, random_state=0).fit(iris)
    assert model.embedding_.shape == (150, n_components)
    assert trustworthiness(iris, model.embedding_) >= 0.9
    assert list(model.get_feature_names_out()) == [f"patchtsne{i}" for i in range(n_components)]


@pytest.mark.filterwarnings("ignore:.*fewer neighbours", "ignore:all divergences are zero")
@pytest.mark.parametrize("X", [np.zeros((30, 3)), np.repeat(np.eye(3), 12, axis=0)])
def test_points_that_coincide_are_embedded(X, optimiser):
    embedding = PatchTSNE(n_neighbors=5, perplexity=4, **QUICK).fit_transform(X)
    assert np.isfinite(embedding).all()


def test_float32_stays_float32(iris, optimiser):
    assert PatchTSNE(**QUICK).fit_transform(iris.astype(np.float32)).dtype == np.float32


@pytest.mark.slow
def test_learning_rate_and_exaggeration_reach_the_optimiser(iris, optimiser):
    usual = PatchTSNE(**QUICK).fit_transform(iris)
    for setting in ({"learning_rate": 33.0}, {"early_exaggeration": 4.0}, {"n_iter": 6}):
        assert not np.array_equal(PatchTSNE(**QUICK | setting).fit_transform(iris), usual)


def test_verbose_shows_the_optimisers_progress_at_two(iris, optimiser, capfd):
    X = iris[::3]
    PatchTSNE(perplexity=5, verbose=1, **QUICK).fit(X)
    brief = capfd.readouterr().out
    assert "[PatchTSNE] embedding" in brief
    PatchTSNE(perplexity=5, verbose=2, **QUICK).fit(X)
    assert len(capfd.readouterr().out) > len(brief)


# -------------------------------------------------------------------- the graph


@pytest.mark.slow
def test_patches_have_n_neighbors_points_whatever_the_perplexity(iris):
    expected = GaussianPatch(size=9).fit(iris)
    for perplexity in (2.0, 20.0):
        for graph in ("neighbors", "divergence"):
            setting = {"n_neighbors": 9, "perplexity": perplexity, "graph": graph}
            setting["lengths"] = "divergence"
            model = PatchTSNE(patch=GaussianPatch(), **setting, **QUICK).fit(iris)
            np.testing.assert_array_equal(model.patches_.means, expected.means)
            assert np.diff(model.graph_.indptr).min() >= 3 * perplexity


def test_a_graph_in_parts_is_embedded_as_it_is():
    X, y = make_blobs([40, 40], centers=[[0.0, 0.0], [1e3, 0.0]], random_state=0)
    model = PatchTSNE(perplexity=5, n_iter=100, random_state=0).fit(X)
    assert model.affinities_[y == 0][:, y == 1].nnz == 0
    assert trustworthiness(X, model.embedding_) >= 0.9


def test_given_divergences_are_fitted_as_points_are(iris, optimiser):
    X, new = iris[::2], iris[1::2] + 1e-3
    settings = {"perplexity": 10, "n_iter": 20, "random_state": 0}
    plain = {"patch": GaussianPatch(), "lengths": "divergence"}
    points = PatchTSNE(graph="divergence", **plain, **settings).fit(X)
    D = divergences.pairwise(points.patches_, "kl")
    given = PatchTSNE(divergence="precomputed", **settings).fit(D)
    np.testing.assert_array_equal(given.embedding_, points.embedding_)
    single = (D == 0).sum(axis=1) == 1  # others are taken for the first they equal
    np.testing.assert_array_equal(given.transform(D)[single], points.embedding_[single])
    found = points.patch_graph_.search.query(new).nearest(15)
    patches = GaussianPatch().fit(X, found, points=new)
    i, j = np.divmod(np.arange(len(new) * len(X)), len(X))
    D = divergences.paired(patches, i, j, "kl", other=points.patches_).reshape(len(new), len(X))
    np.testing.assert_array_equal(given.transform(D), points.transform(new))


def test_a_given_sparse_graph_is_fitted_as_its_distances_are(iris):
    D = cdist(iris, iris) + 1e-3 * (1 - np.eye(150))
    near = nearest_by_value(D, 30, own=True)
    sparse = csr_array((near.distances, near.indices, near.indptr), shape=D.shape)
    settings = {"divergence": "precomputed", "perplexity": 10, **QUICK}
    np.testing.assert_array_equal(
        PatchTSNE(**settings).fit_transform(sparse), PatchTSNE(**settings).fit_transform(D)
    )


def test_a_radius_gives_the_neighbours(iris, optimiser):
    X = load_iris().data[:, :2]
    X = X[np.linalg.norm(X - X.mean(axis=0), axis=1) < 1]
    model = PatchTSNE(radius=1.0, perplexity=4, **QUICK).fit(X)
    assert np.diff(model.graph_.indptr).max() > 12
    assert np.isfinite(model.embedding_).all()


# -------------------------------------------------------------------- few points


def test_a_perplexity_that_few_points_cannot_have_is_cut_to_a_third_of_them(iris):
    with pytest.warns(UserWarning, match=r"^30 samples .*: perplexity=9\.67 instead of 30\.$"):
        cut = PatchTSNE(perplexity=30, **QUICK).fit(iris[:30])
    assert cut.perplexity_ == 29 / 3
    assert cut.perplexity == 30
    fits = PatchTSNE(perplexity=29 / 3, **QUICK).fit(iris[:30])  # without a word
    assert fits.perplexity_ == 29 / 3
    np.testing.assert_array_equal(cut.embedding_, fits.embedding_)
    np.testing.assert_array_equal(cut.affinities_.toarray(), fits.affinities_.toarray())


def test_one_warning_names_all_that_was_cut(iris):
    message = r"^12 samples .*: n_neighbors=11 instead of 15; perplexity=3\.67 instead of 30\.$"
    with pytest.warns(UserWarning, match=message) as caught:
        cut = PatchTSNE(**QUICK).fit(iris[::13])
    assert len(caught) == 1
    assert (cut.n_neighbors_, cut.perplexity_) == (11, 11 / 3)


@pytest.mark.filterwarnings("ignore:.* samples have fewer neighbours than asked for:UserWarning")
@pytest.mark.parametrize(("n", "size"), [(3, 1), (25, 3), (150, 5)])
def test_a_recommended_patch_has_five_points_and_fewer_of_small_data(iris, n, size):
    fitted = PatchTSNE(**QUICK).fit(iris[:n])
    expected = GaussianPatch(size, covariance="low-rank", rank=10, denoise=True).get_params()
    assert fitted.patch_.get_params() == expected


# -------------------------------------------------------------------- refusals


def test_a_radius_has_to_leave_as_many_neighbours_as_the_perplexity(iris):
    with pytest.raises(ValueError, match=r"perplexity=30.0 .* radius=0.4 leaves .* enlarge radius"):
        PatchTSNE(radius=0.4).fit(iris)


def test_a_given_graph_has_to_have_as_many_neighbours_as_the_perplexity(iris):
    graph = PatchSpace(n_neighbors=10).fit_transform(iris[50:])
    with pytest.raises(ValueError, match=r"perplexity=30.0 .* the given graph has a point with 10"):
        PatchTSNE(divergence="precomputed").fit(graph)


@pytest.mark.parametrize(
    ("parameter", "value", "error", "words"),
    [
        ("perplexity", 0.5, ValueError, "perplexity=0.5 is below 1"),
        ("perplexity", 0, ValueError, "perplexity=0 is not positive"),
        ("perplexity", "30", TypeError, "perplexity='30' is not a number"),
        ("learning_rate", "automatic", ValueError, "learning_rate='automatic' is not known"),
        ("learning_rate", -1.0, ValueError, "learning_rate=-1.0 is not positive"),
        ("early_exaggeration", 0.9, ValueError, "early_exaggeration=0.9 is below 1"),
        ("n_iter", 0, ValueError, "n_iter=0 is too small"),
        ("n_iter", 10.0, TypeError, "n_iter=10.0 is not an integer"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(iris, parameter, value, error, words):
    with pytest.raises(error, match=words):
        PatchTSNE(**{parameter: value}).fit(iris)


# -------------------------------------------------------------------- new points


@pytest.fixture(scope="module")
def fitted(iris):
    settings = {"perplexity": 15, "n_iter": 100, "random_state": 0}
    return {
        graph: PatchTSNE(graph=graph, **settings).fit(iris[::2])
        for graph in ("neighbors", "divergence")
    }


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_new_points_do_not_influence_each_other(iris, fitted, graph):
    model, new = fitted[graph], iris[1::2]
    together = model.transform(new)
    alone = np.concatenate([model.transform(new[[row]]) for row in range(len(new))])
    np.testing.assert_array_equal(alone, together)


def test_fitted_points_get_their_place(iris, fitted):
    model = fitted["neighbors"]
    _, first = np.unique(iris[::2], axis=0, return_index=True)
    np.testing.assert_array_equal(model.transform(iris[::2][first]), model.embedding_[first])


@pytest.mark.slow
def test_a_new_point_is_the_weighted_mean_of_its_neighbours(iris):
    X, new = iris[::2], iris[1::2] + 1e-3
    model = PatchTSNE(divergence="euclidean", perplexity=15, **QUICK).fit(X)
    for x, placed in zip(new, model.transform(new), strict=True):
        d = np.linalg.norm(X - x, axis=1)
        nearest = np.argsort(d, kind="stable")[:45]
        weights = slow_conditional(d[nearest], PLACING_PERPLEXITY)
        np.testing.assert_allclose(placed, weights @ model.embedding_[nearest], atol=1e-6)


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_new_points_fall_among_their_class(iris, fitted, graph):
    y = load_iris().target
    model = fitted[graph]
    classifier = KNeighborsClassifier(5).fit(model.embedding_, y[::2])
    assert classifier.score(model.transform(iris[1::2]), y[1::2]) > 0.9


def test_new_points_keep_the_type_of_the_embedding(iris):
    model = PatchTSNE(perplexity=20, **QUICK).fit(iris[::2].astype(np.float32))
    assert model.transform(iris[1::2].astype(np.float32)).dtype == np.float32


def test_more_threads_than_cores_are_no_more_threads():
    X = np.random.default_rng(0).normal(size=(60, 3))
    one, many = (
        PatchTSNE(perplexity=5, n_iter=20, random_state=0, n_jobs=n_jobs).fit_transform(X)
        for n_jobs in (1, 1000)
    )
    np.testing.assert_array_equal(one, many)
