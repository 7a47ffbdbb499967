"""What ``patch=None`` means: denoised, flat patches, no short circuits, and what that does."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from equations import DATA, normal
from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    papers,
)
from patchfold.datasets import make_manifold
from patchfold.graph.edges import symmetric
from patchfold.graph.short_circuits import Candidates, recommended_patch, verdict
from patchfold.metrics import rank_correlation
from patchfold.neighbors import ExactNeighbors, SharedNeighbors

ESTIMATORS = [
    pytest.param(PatchIsomap(), id="isomap"),
    pytest.param(PatchLLE(), id="lle"),
    pytest.param(PatchEigenmaps(), id="eigenmaps"),
    pytest.param(PatchTSNE(perplexity=8, n_iter=20, random_state=0), id="tsne"),
    pytest.param(PatchSpace(), id="space"),
]


# ------------------------------------------------------------------- the steps, one by one


class Slow:
    """The recommended recipe in loops, as its documentation has it, up to the disagreement."""

    def __init__(self, X, k):
        n = len(X)
        self.X, self.k = X, k
        self.size = min(20, round(0.6 * n**0.5))
        self.ridge = 0.007 * np.mean(np.var(X, axis=0))
        self.Z = np.array([self.mean(i, X) for i in range(n)])
        fitted = [self.patch(X[i], self.Z[i], self.nearest(self.Z, i)) for i in range(n)]
        self.places, self.covariances = (np.array(part) for part in zip(*fitted, strict=True))
        near = [(i, j) for i in range(n) for j in self.nearest(X, i)[: min(10, max(k, self.size))]]
        self.near = sorted({(min(pair), max(pair)) for pair in near})
        self.d0 = self.median(self.kl(*self.of(i, j)) for i, j in self.near)
        self.e0 = self.median(self.apart(*self.of(i, j)) for i, j in self.near)
        self.beside = [{sum(pair) - i for pair in self.near if i in pair} for i in range(n)]

    def of(self, i, j):
        return (self.places[i], self.covariances[i]), (self.places[j], self.covariances[j])

    def nearest(self, points, i, at=None):
        """All points but ``i`` itself, nearest first, equal distances by index."""
        distances = np.linalg.norm(points - (points[i] if at is None else at), axis=1)
        return [j for j in np.lexsort((np.arange(len(points)), distances)) if j != i]

    def mean(self, i, points, at=None):
        around = [points[j] for j in self.nearest(points, i, at)[: self.size]]
        return np.mean([points[i] if at is None else at, *around], axis=0)

    def patch(self, x, z, neighbors):
        members = np.array([z, *self.Z[neighbors[: self.size]]])
        covariance = np.cov(members.T) + self.ridge * np.eye(len(x))
        return z + covariance @ (x - z) / np.linalg.eigvalsh(covariance)[-1], covariance

    def new(self, x):
        z = self.mean(None, self.X, x)
        return self.patch(x, z, self.nearest(self.Z, None, z))

    def disagreement(self, a, b):
        return self.kl(a, b) / self.d0

    @staticmethod
    def median(values):
        return np.median([value for value in values if value > 1e-12])

    @staticmethod
    def apart(a, b):
        return np.linalg.norm(a[0] - b[0])

    @staticmethod
    def kl(a, b):
        u, (A, B) = a[0] - b[0], (a[1], b[1])
        P, Q = np.linalg.inv(A), np.linalg.inv(B)
        return max(0, (np.trace(P @ B + Q @ A) / 2 + u @ (P + Q) @ u / 2 - len(u)) / 2)


@pytest.mark.parametrize("data", ["k > m", "k < m", "duplicates"])
def test_the_default_graph_is_that_of_the_recipe_in_loops(data):
    given, k = DATA[data]
    fitted = PatchIsomap(n_neighbors=k).fit(given)
    # Copies of a row are one point, that of its first row.
    first = np.sort(np.unique(given, axis=0, return_index=True)[1])
    X, graph, patches = given[first], fitted.graph_[first][:, first], fitted.patches_[first]
    slow = Slow(X, k)
    own = {(min(a, b), max(a, b)) for a in range(len(X)) for b in slow.nearest(X, a)[:k]}
    edges = sorted(own | set(slow.near))
    disagreement = np.array([slow.disagreement(*slow.of(a, b)) for a, b in edges])
    distances = np.array([slow.apart(*slow.of(a, b)) for a, b in edges])
    common = np.array([len(slow.beside[a] & slow.beside[b]) for a, b in edges])
    i, j = np.array(edges).T
    kept, near = (np.array([edge in some for edge in edges]) for some in (own, set(slow.near)))
    # In loops themselves in tests/graph/test_short_circuits.py.
    asked = Candidates(i, j, kept, near, common)
    lengths = distances / slow.e0 * verdict(asked, distances, disagreement, len(X)).factors
    kept &= np.isfinite(lengths)
    expected = symmetric(i[kept], j[kept], lengths[kept], len(X))
    assert graph.nnz == expected.nnz
    np.testing.assert_allclose(graph.toarray(), expected.toarray(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(patches.means, slow.places, atol=1e-9)
    np.testing.assert_array_equal(patches.points, patches.means)
    np.testing.assert_allclose(patches.covariances(), slow.covariances, atol=1e-9)


@pytest.mark.parametrize("data", ["k > m", "k < m"])
def test_new_points_are_treated_like_the_fitted_ones(data):
    X, k = DATA[data]
    Y = normal(11, 5, X.shape[1])
    slow = Slow(X, k)
    fitted = PatchIsomap(n_neighbors=k).fit(X)
    ways = fitted.graph_.toarray()
    ways[ways == 0] = np.inf
    found = fitted.patch_graph_.neighbors_of_new(Y).matrix(len(X)).toarray()
    expected = np.zeros_like(found)
    for row, y in enumerate(Y):
        near, new = slow.nearest(X, None, y)[:k], slow.new(y)
        disagreement = [slow.disagreement(new, slow.of(j, j)[0]) for j in near]
        lengths = {j: slow.apart(new, slow.of(j, j)[0]) / slow.e0 for j in near}
        trusted = {j for j, value in zip(near, disagreement, strict=True) if value <= 1.5}
        trusted.add(near[int(np.argmin(disagreement))])
        trusted |= {j for j in near for t in trusted if lengths[t] + ways[t, j] <= 1.5 * lengths[j]}
        for j in trusted:
            expected[row, j] = lengths[j]
    assert 0 < np.count_nonzero(expected) < k * len(Y)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("k", [6, 12])
def test_rows_that_lose_short_circuits_are_filled_and_geodesics_stay(k):
    X = make_manifold("swiss-roll", 500, 1.0, 103).X
    held = PatchIsomap(n_neighbors=k).fit(X).graph_
    found = PatchSpace(n_neighbors=k).fit(X)
    assert (np.diff(held.indptr) < k).any()
    assert (np.diff(found.graph_.indptr) >= k).all()
    assert (np.diff(found.transform(X[:50] + 0.1).indptr) >= k).all()
    np.testing.assert_allclose(dijkstra(found.graph_), dijkstra(held), rtol=1e-12)


# ------------------------------------------------------------------- what is added, and to what


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_given_patch_gets_nothing_added(estimator):
    X = DATA["k > m"][0]
    recipe = GaussianPatch()
    found = sklearn.clone(estimator).set_params(n_neighbors=7, patch=recipe).fit(X)
    assert found.patch_ is not recipe
    assert found.patch_.get_params() == recipe.get_params()
    np.testing.assert_array_equal(found.patches_.points, X)
    np.testing.assert_array_equal(found.patches_.means, GaussianPatch(7).fit(X).means)
    assert found.patch_graph_.denoised is None


def low_rank(size):
    return GaussianPatch(size, covariance="low-rank", rank=10, denoise=True)


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:3], ESTIMATORS[4]])
def test_the_default_is_the_recommended_patch_denoised_and_stretched(estimator):
    X = DATA["k > m"][0]
    default = sklearn.clone(estimator).set_params(n_neighbors=7)
    spelled = sklearn.clone(default).set_params(patch=low_rank(4), lengths="pruned")
    found, expected = default.fit(X), spelled.fit(X)
    assert repr(found.patch_) == repr(expected.patch_) == repr(recommended_patch(len(X)))
    np.testing.assert_array_equal(found.graph_.toarray(), expected.graph_.toarray())
    again = sklearn.clone(default).set_params(patch=found.patch_).fit(X)
    np.testing.assert_array_equal(found.graph_.toarray(), again.graph_.toarray())


@pytest.mark.parametrize(("case", "size"), [("k > m", 4), ("blobs", 5)])
def test_the_default_of_tsne_is_the_recipe_with_patches_of_at_most_five_points(case, size):
    X = DATA["k > m"][0] if case == "k > m" else make_blobs(100, 4, random_state=0)[0]
    default = PatchTSNE(perplexity=8, n_iter=20, n_neighbors=7, random_state=0)
    patch = low_rank(size)
    spelled = sklearn.clone(default).set_params(patch=patch, lengths="pruned", n_neighbors=9)
    found, expected = default.fit(X), spelled.fit(X)
    assert found.patch_.get_params() == patch.get_params()
    np.testing.assert_array_equal(found.graph_.toarray(), expected.graph_.toarray())
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)


@pytest.mark.parametrize("setting", [{"patch": GaussianPatch()}, {"lengths": "divergence"}])
def test_tsne_can_be_given_plain_patches_and_their_divergences(setting):
    X = DATA["k > m"][0]
    default = PatchTSNE(perplexity=8, n_iter=1, n_neighbors=7, random_state=0)
    found = sklearn.clone(default).set_params(**setting).fit(X)
    graph = found.patch_graph_
    assert (graph.denoised is None) == graph.pruned
    assert np.abs(found.graph_ - default.fit(X).graph_).max() > 0


def test_nothing_is_added_where_there_are_no_patches():
    X = DATA["k > m"][0]
    found = PatchIsomap(n_neighbors=7, divergence="euclidean").fit(X)
    assert found.patches_ is None
    i, j = found.graph_.tocoo().coords
    np.testing.assert_allclose(found.graph_.data, cdist(X, X)[i, j])


@pytest.mark.parametrize("divergence", ["euclidean", "precomputed"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_lengths_and_patch_have_no_meaning_without_patches(estimator, divergence):
    X = DATA["k > m"][0]
    X = X if divergence == "euclidean" else cdist(X, X)
    estimator = sklearn.clone(estimator).set_params(divergence=divergence, n_neighbors=7)
    if isinstance(estimator, PatchLLE):
        estimator.set_params(weights="entropic")
    plain = sklearn.clone(estimator).fit(X)
    assert plain.patch_ is plain.patches_ is None
    assert not plain.patch_graph_.pruned
    for setting in (
        {"lengths": "pruned"},
        {"lengths": "divergence"},
        {"patch": GaussianPatch()},
    ):
        found = sklearn.clone(estimator).set_params(**setting).fit(X)
        assert found.patch_ is None
        np.testing.assert_array_equal(found.graph_.toarray(), plain.graph_.toarray())


def test_no_preset_of_a_paper_is_changed():
    presets = [papers.isomap_kl, papers.pelle, papers.elap, papers.x_isomap, papers.x_eigenmaps]
    presets += [papers.x_lle, papers.x_tsne, papers.supervised_isomap]
    for preset in presets:
        estimator = preset()
        if estimator.divergence != "euclidean":
            assert estimator.lengths == "divergence"
            assert not estimator.patch.denoise
        assert getattr(estimator, "scaling", "classical") == "classical"


# ------------------------------------------------------------------- invariants


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 0.3, 1e5]), m=st.integers(2, 9))
def test_unit_rotation_and_order_of_the_points_change_nothing(seed, scale, m):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, m)) * np.linspace(2, 0.5, m)
    rotation = np.linalg.qr(rng.normal(size=(m, m)))[0]
    order = rng.permutation(40)
    expected = PatchSpace(n_neighbors=8).fit(X).graph_.toarray()
    for other, rows in ((scale * X, slice(None)), (X @ rotation, slice(None)), (X[order], order)):
        found = PatchSpace(n_neighbors=8).fit(other).graph_.toarray()
        np.testing.assert_allclose(found, expected[rows][:, rows], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:3], ESTIMATORS[4]])
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_threads_and_memory_change_no_bit(estimator, graph):
    X, Y = normal(0, 150, 3), normal(1, 9, 3)
    first = sklearn.clone(estimator).set_params(graph=graph, n_jobs=1).fit(X)
    with sklearn.config_context(working_memory=1):
        again = sklearn.clone(estimator).set_params(graph=graph, n_jobs=2).fit(X)
    np.testing.assert_array_equal(first.graph_.toarray(), again.graph_.toarray())
    one, two = first.transform(Y), again.transform(Y)
    if isinstance(estimator, PatchSpace):
        one, two = one.toarray(), two.toarray()
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("estimator", ESTIMATORS[:4])
def test_new_points_do_not_influence_each_other_and_fitted_ones_keep_their_place(estimator):
    X, Y = normal(0, 80, 3), normal(1, 6, 3)
    fitted = sklearn.clone(estimator).fit(X)
    together = fitted.transform(np.vstack([Y, X[:5]]))
    np.testing.assert_array_equal(together[6:], fitted.embedding_[:5])
    alone = np.vstack([fitted.transform(y[None]) for y in Y])
    np.testing.assert_array_equal(together[:6], alone)


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.parametrize("divergence", ["kl", "hellinger", "wasserstein", "fisher-rao"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_equal_wide_and_single_precision_points_have_a_finite_graph(divergence, dtype):
    rng = np.random.default_rng(0)
    cases = [rng.normal(size=(n, m)) for n, m in ((3, 2), (6, 40), (12, 1), (30, 3))]
    cases += [np.ones((12, 3)), np.repeat(rng.normal(size=(10, 2)), 3, axis=0), np.eye(12)]
    cases += [np.column_stack([rng.normal(size=20) + 1e4, np.zeros(20)])]
    for X in cases:
        fitted = PatchSpace(n_neighbors=min(5, len(X) - 1), divergence=divergence)
        with np.errstate(all="raise", under="ignore"):
            graph = fitted.set_params(lengths="pruned").fit_transform(X.astype(dtype))
        assert graph.dtype == dtype
        assert np.isfinite(graph.data).all()
        assert (graph.data >= 0).all()


# ------------------------------------------------------------------- what it is for


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "k"), [(0.0, 30), (0.75, 6), (0.75, 30)])
def test_k_does_not_matter_on_a_noisy_swiss_roll(noise, k):
    roll = make_manifold("swiss-roll", 1000, noise, 1)
    embedding = PatchIsomap(n_neighbors=k).fit_transform(roll.X)
    assert rank_correlation(cdist(embedding, embedding), roll.geodesics()) >= 0.97


def test_copies_of_few_points_may_share_their_neighbours():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(6, 3)), 30, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapped = PatchIsomap(n_neighbors="auto").fit(X).transform(rng.normal(size=(2, 3)))
    assert np.isfinite(mapped).all()


def test_a_given_search_serves_the_points_and_the_denoised_ones():
    X, new = normal(3, 300, 3), normal(4, 3, 3)
    given = PatchIsomap(n_neighbors=10, knn=ExactNeighbors(20)).fit(X)
    own = PatchIsomap(n_neighbors=10, knn="exact").fit(X)
    np.testing.assert_array_equal(given.transform(new), own.transform(new))


def test_shared_patches_are_those_of_the_type_of_the_points():
    X, knn = normal(5, 60, 4).astype(np.float32), SharedNeighbors()
    for points in (X, X.astype(np.float64)):
        assert PatchIsomap(n_neighbors=6, knn=knn).fit(points).patches_.means.dtype == points.dtype


@pytest.mark.slow
def test_patches_of_one_size_only_are_kept_to_be_shared():
    X, knn = normal(6, 80, 4), SharedNeighbors()
    kept = []
    for k in (20, 15, 10):
        fitted = PatchIsomap(n_neighbors=k, knn=knn, patch=GaussianPatch()).fit(X)
        kept.append(weakref.ref(fitted.patches_))
    del fitted
    gc.collect()
    assert [patches() is None for patches in kept] == [True, True, False]
