"""The graph from points, without any estimator: pools of candidates, and what is frozen."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
import sklearn
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from equations import DATA, normal
from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    divergences,
    papers,
)
from patchfold.graph.building import all_pairs_suit, build_graph, joins_points
from patchfold.graph.patch_graph import GraphSetting
from patchfold.graph.short_circuits import recommended_patch
from patchfold.neighbors import ExactNeighbors, SharedNeighbors
from patchfold.supervision import encode


def setting(k, n, patch=None, **others):
    """Return the setting that an estimator with this degree has by default."""
    patch = recommended_patch(n) if patch is None else patch
    return GraphSetting(k, patch=patch, patch_size=patch.reach(k, n), **others)


def assert_same_rows(found, expected):
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


# ------------------------------------------------------------------- as estimators build it


@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("lengths", ["pruned", "divergence"])
def test_estimators_have_the_graph_that_the_steps_build(lengths, graph):
    X, k = DATA["k > m"]
    chosen = {"pruned": lengths == "pruned", "by_divergence": graph == "divergence"}
    built = build_graph(X, setting(k, len(X), **chosen))
    fitted = PatchIsomap(n_neighbors=k, lengths=lengths, graph=graph).fit(X)
    np.testing.assert_array_equal(fitted.graph_.toarray(), built.matrix.toarray())
    assert len(built) == len(X)
    assert fitted.graph_ is fitted.patch_graph_.matrix
    assert fitted.patches_ is fitted.patch_graph_.patches
    Y = normal(9, 6, X.shape[1])
    assert_same_rows(fitted.patch_graph_.neighbors_of_new(Y), built.neighbors_of_new(Y))
    np.testing.assert_array_equal(built.fitted_as(np.vstack([Y, X[3:5]])), [-1] * 6 + [3, 4])


def test_stages_are_entered_in_their_order():
    X, k = DATA["k > m"]
    entered = []

    class Stage:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *_):
            entered.append("")

    build_graph(X, setting(k, len(X), by_divergence=True), stage=Stage)
    stages = ["neighbours", "patches", "neighbours under the divergence", "divergences"]
    stages.append("short circuits")
    assert entered == [name for stage in stages for name in (stage, "")]


@pytest.mark.parametrize(
    ("changes", "n", "m", "expected"),
    [
        ({}, 300, 10, False),
        ({}, 20_000, 10, True),  # no room for the divergences of all pairs
        ({}, 5000, 10_000, True),  # room, and no time
        ({"pruned": True}, 300, 10, True),
        ({"patch": None, "divergence": "euclidean"}, 300, 10, True),
        ({"patch": None, "divergence": "euclidean", "supervision": "cut"}, 300, 10, False),
        ({"patch": None, "divergence": "precomputed"}, 300, 300, False),
    ],
)
def test_points_join_components_where_divergences_cannot(changes, n, m, expected):
    papers = GraphSetting(10, patch=GaussianPatch(), patch_size=20, pruned=False)
    assert joins_points(replace(papers, **changes), n, m, 8) is expected


def test_given_distances_are_not_kept():
    X, k = DATA["k > m"]
    given = GraphSetting(k, divergence="precomputed", supervision="dissimilarity")
    D = cdist(X, X)
    codes = encode(np.arange(len(X)) % 2, len(X), "PatchIsomap")
    built = build_graph(D, given, codes)
    assert built.lengths.points is None
    assert built.lengths.mean == pytest.approx(D[np.triu_indices(len(X), 1)].mean())
    plain = replace(given, supervision=None)
    assert build_graph(D, plain).lengths.known_mean is None


def test_a_graph_does_not_keep_what_estimators_share():
    X, knn = normal(0, 60, 3), SharedNeighbors("exact")
    for k in (20, 10):
        graph = PatchIsomap(n_neighbors=k, knn=knn).fit(X).patch_graph_
        assert graph.setting.knn == "exact"
        assert isinstance(graph.search, ExactNeighbors)
        alone = PatchIsomap(n_neighbors=k, knn="exact").fit(X).patch_graph_
        assert_same_rows(graph.neighbors_of_new(X + 0.1), alone.neighbors_of_new(X + 0.1))


@pytest.mark.parametrize("name", ["kl", "euclidean"])
def test_a_given_search_that_finds_too_few_is_refused(name):
    few = PatchIsomap(knn=ExactNeighbors(10), divergence=name)
    with pytest.raises(ValueError, match=r"ExactNeighbors found only 10 .* 15 are needed .*; give"):
        few.fit(normal(0, 60, 3))
    assert few.set_params(n_neighbors=10).fit(normal(0, 60, 3)).n_neighbors_ == 10


# ------------------------------------------------------------------- pools of candidates


@pytest.mark.parametrize("pruned", [True, False])
def test_a_pool_of_all_points_gives_what_all_pairs_give(pruned):
    X = np.random.default_rng(6).normal(size=(80, 3))
    new = np.random.default_rng(7).normal(size=(5, 3))
    chosen = setting(8, 80, by_divergence=True, pruned=pruned)
    everything = build_graph(X, chosen)
    with sklearn.config_context(working_memory=0.01):
        pooled = build_graph(X, chosen)
        assert_same_rows(pooled.neighbors_of_new(new), everything.neighbors_of_new(new))
    assert (everything.pooled, pooled.pooled) == (False, True)
    assert pooled.reach == 79
    np.testing.assert_array_equal(pooled.matrix.toarray(), everything.matrix.toarray())


def test_a_pool_of_some_points_misses_some_of_the_nearest_patches():
    X = np.random.default_rng(6).normal(size=(300, 3))
    chosen = setting(3, 300, by_divergence=True, pruned=False, joined=False)
    everything = build_graph(X, chosen)
    with sklearn.config_context(working_memory=0.01):
        few = build_graph(X, chosen)
    assert (few.pooled, few.reach) == (True, 30)
    assert abs(few.matrix - everything.matrix).max() > 0


@pytest.mark.parametrize("name", ["euclidean", "kl"])
def test_labels_choose_from_a_pool_of_all_points_as_from_all_pairs(name):
    X, y = (rows[::2] for rows in load_iris(return_X_y=True))
    X = StandardScaler().fit_transform(X)
    patch = None if name == "euclidean" else GaussianPatch(size=7)
    chosen = GraphSetting(
        20,  # each class is one component
        divergence=name,
        patch=patch,
        patch_size=0 if patch is None else 7,
        pruned=False,
        by_divergence=True,
        supervision="dissimilarity",
    )
    codes = encode(y, 75, "PatchIsomap")
    expected = build_graph(X, chosen, codes)
    with sklearn.config_context(working_memory=0.01):
        found = build_graph(X, chosen, codes)
    assert found.pooled
    assert not expected.pooled
    within = y[:, None] == y  # classes are joined by the closest pair where all pairs fit
    found, expected = (graph.matrix.toarray()[within] for graph in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_estimators_have_a_pool_of_ten_candidates_a_neighbour():
    X = normal(6, 150, 3)
    with sklearn.config_context(working_memory=0.01):
        graph = PatchIsomap(n_neighbors=8, graph="divergence").fit(X).patch_graph_
    assert graph.pooled
    assert graph.reach == 80


# ------------------------------------------------------------------- frozen


def parts_of(value, found):
    """Collect the objects that a graph consists of."""
    if not is_dataclass(value) or value in found:
        return found
    found.append(value)
    for field in fields(value):
        parts_of(getattr(value, field.name), found)
    return found


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (PatchIsomap(), {"GraphSetting", "Denoised", "Typical", "Triangulation"}),
        (PatchLLE(lengths="divergence"), {"GraphSetting", "Denoised"}),
        (PatchEigenmaps(patch=GaussianPatch()), {"GraphSetting", "Typical"}),
        (PatchTSNE(n_neighbors=7, perplexity=5, n_iter=1, random_state=0), {"GraphSetting"}),
        (PatchSpace(divergence="euclidean"), {"GraphSetting"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_fit_leaves_is_frozen(estimator, names):
    fitted = estimator.fit(DATA["k > m"][0])
    parts = parts_of(fitted.patch_graph_, [])
    parts = parts_of(getattr(fitted, "_placing", None), parts)
    found = {type(part).__name__ for part in parts}
    assert found >= names | {"PatchGraph"}
    assert found & {"Lengths", "PrunedLengths"}
    for part in parts:
        for field in fields(part):
            with pytest.raises(FrozenInstanceError):
                setattr(part, field.name, None)
        with pytest.raises(FrozenInstanceError):
            part.another = None


# ------------------------------------------------------------------- components


@pytest.mark.parametrize("name", ["isomap_kl", "pelle", "elap", "x_isomap", "x_lle"])
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has")
@pytest.mark.filterwarnings("ignore:bandwidth")
@pytest.mark.filterwarnings("ignore:the embedding is unreadable")
def test_presets_join_components_by_the_closest_pair_under_the_divergence(name):
    X = load_iris().data
    model = getattr(papers, name)(5).set_params(n_components=1)
    model.set_params(patch__size=5) if name.startswith("x_") else None
    graph, D = model.fit(X).graph_, divergences.pairwise(model.patches_, model.divergence)
    near = np.asarray(cdist(X, X) if model.graph == "neighbors" else D.copy())
    np.fill_diagonal(near, np.inf)
    rows = np.argsort(near, axis=1, kind="stable")[:, :5]
    own = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(own, rows, True, axis=1)
    _, labels = connected_components(own, directed=False)
    # Merge the two components with the closest pair until one is left.
    bridges = set()
    while labels.any():
        apart = np.where(labels[:, None] == labels, np.inf, D)
        i, j = np.unravel_index(np.argmin(apart), D.shape)
        bridges.add((min(i, j), max(i, j)))
        labels = np.unique(np.where(labels == labels[i], labels[j], labels), return_inverse=True)[1]
    i, j = np.nonzero(np.triu(graph.toarray() > 0) & ~(own | own.T))
    assert bridges
    assert set(zip(i, j, strict=True)) == bridges
    np.testing.assert_array_equal([graph[pair] for pair in bridges], [D[pair] for pair in bridges])


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has")
def test_the_bridge_of_iris_is_the_shortest_under_the_divergence_and_not_between_near_points():
    X = load_iris().data
    near = papers.x_isomap(5, 5).fit(X)
    D = divergences.pairwise(near.patches_, "jeffreys")
    classes = np.arange(150) < 50
    assert D[np.ix_(classes, ~classes)].min() == pytest.approx(275, abs=1)
    assert near.graph_[classes][:, ~classes].max() == D[np.ix_(classes, ~classes)].min()


def test_estimators_join_components_by_the_closest_points_by_default():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, [3, 0.01, 1], (30, 3)), rng.normal(30, 1, (30, 3))])
    with pytest.warns(UserWarning, match="graph has 2 components"):
        graph = PatchIsomap(n_neighbors=5).fit(X).graph_
    i, j = np.nonzero(graph[:30][:, 30:].toarray())
    apart = cdist(X[:30], X[30:])
    assert [(i, j)] == [np.unravel_index(np.argmin(apart), apart.shape)]


def test_components_are_joined_by_points_where_all_pairs_do_not_fit():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 3)) * [1, 1, 0.01], rng.normal(size=(40, 3)) + 40])
    papers = {"patch": GaussianPatch(8), "lengths": "divergence", "scaling": "classical"}

    def bridge(working_memory):
        with sklearn.config_context(working_memory=working_memory), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = PatchIsomap(n_neighbors=8, **papers).fit(X).graph_
        i, j = graph.tocoo().coords
        return [(a, b) for a, b in zip(i, j, strict=True) if a < 40 <= b]

    apart = cdist(X[:40], X[40:])
    nearest = np.unravel_index(apart.argmin(), apart.shape)
    assert bridge(0.01) == [(nearest[0], 40 + nearest[1])]
    assert bridge(1024) != bridge(0.01)


def test_patches_of_wide_tables_are_compared_among_candidates_where_all_pairs_take_minutes():
    setting = GraphSetting(degree=15, patch=GaussianPatch(size=10), patch_size=10)
    assert all_pairs_suit(setting, 120, 5000, 8)
    assert not all_pairs_suit(setting, 2000, 5000, 8)
    assert all_pairs_suit(setting, 5000, 4000, 8)  # no more columns than rows
    assert not all_pairs_suit(setting, 50_000, 3, 8)  # which do not fit into memory
    assert not all_pairs_suit(setting, 120, 5000, 8, most_work=1e9)
    few = GraphSetting(degree=15, patch=GaussianPatch(covariance="low-rank", rank=2), patch_size=10)
    assert all_pairs_suit(few, 120, 5000, 8, most_work=1e9)
    for plain in (GraphSetting(degree=15, divergence="euclidean"), GraphSetting(degree=15)):
        assert all_pairs_suit(plain, 2000, 5000, 8)
