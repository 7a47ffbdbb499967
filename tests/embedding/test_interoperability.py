"""The graph where other libraries take one, and the estimators where scikit-learn takes one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.manifold import TSNE, Isomap, SpectralEmbedding, trustworthiness
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.graph.geodesics import continued_paths, shortest_paths

EMBEDDINGS = [
    PatchIsomap(n_neighbors=30),
    PatchLLE(n_neighbors=30),
    PatchEigenmaps(n_neighbors=30),
    PatchTSNE(perplexity=10, n_iter=20, random_state=0),
]
ESTIMATORS = [PatchSpace(n_neighbors=30), *EMBEDDINGS]

# Three clusters, or samples of them in cross-validation, need not be connected.
parts_are_fine = pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")


def each(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=lambda e: type(e).__name__)


def dense(values):
    return values.toarray() if issparse(values) else np.asarray(values)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def frame():
    return load_iris(as_frame=True).data


@pytest.fixture
def graph(iris):
    """Divergences of iris, connected; each test gets its own, some libraries sort it in place."""
    return PatchSpace(n_neighbors=30).fit_transform(iris[0])


# -------------------------------------------------------------------- the graph, elsewhere


def test_rows_begin_with_the_point_itself_and_are_sorted_by_divergence(iris):
    X = iris[0]
    space = PatchSpace(n_neighbors=30)
    fitted, new = space.fit_transform(X), space.transform(X + 0.01)
    np.testing.assert_array_equal(fitted.indices[fitted.indptr[:-1]], np.arange(150))
    for rows in (fitted, new):
        inside = np.ones(rows.nnz - 1, dtype=bool)
        inside[rows.indptr[1:-1] - 1] = False
        assert (np.diff(rows.data)[inside] >= 0).all()


@parts_are_fine
def test_the_graph_that_is_kept_is_sorted_by_value_too(iris):
    X, y = iris
    space = PatchSpace(n_neighbors=10).fit(X)
    for row in range(len(X)):
        assert (np.diff(space.graph_[[row]].data) >= 0).all()
    own = space.graph_.toarray()
    np.testing.assert_array_equal(own, own.T)
    model = KNeighborsClassifier(5, metric="precomputed").fit(space.graph_, y)
    assert model.score(space.graph_, y) > 0.9  # and no warning


def test_scikit_learns_isomap_finds_the_same_geodesics(iris):
    X = np.unique(iris[0], axis=0)  # copies are one point for us, and several for it
    graph = PatchSpace(n_neighbors=30).fit_transform(X)
    theirs = Isomap(n_neighbors=None, radius=np.inf, metric="precomputed").fit(graph)
    ours = PatchIsomap(n_neighbors=30, scaling="classical").fit(X)
    np.testing.assert_allclose(theirs.dist_matrix_, shortest_paths(ours.graph_), rtol=1e-12)
    np.testing.assert_allclose(
        np.abs(theirs.embedding_), np.abs(ours.embedding_), atol=1e-6 * theirs.embedding_.max()
    )


def test_spectral_embedding_takes_the_graph_as_nearest_neighbours(iris, graph):
    model = SpectralEmbedding(
        affinity="precomputed_nearest_neighbors", n_neighbors=30, random_state=0
    )
    embedding = model.fit_transform(graph)
    assert KNeighborsClassifier(5).fit(embedding, iris[1]).score(embedding, iris[1]) > 0.9


def test_dbscan_finds_the_separate_species(iris, graph):
    setosa = iris[1] == 0
    labels = DBSCAN(eps=2.0, metric="precomputed").fit(graph).labels_
    clustered = labels >= 0
    assert clustered.mean() > 0.9
    assert not set(labels[setosa & clustered]) & set(labels[~setosa & clustered])


def test_hdbscan_takes_the_graph(iris, graph):
    labels = HDBSCAN(metric="precomputed", min_cluster_size=15, copy=True).fit(graph).labels_
    assert labels.max() >= 1
    assert adjusted_rand_score(iris[1] == 0, labels) > 0.4


def test_optics_takes_the_graph(iris, graph):
    model = OPTICS(metric="precomputed", min_samples=10, cluster_method="dbscan", eps=2.0)
    labels = model.fit(graph).labels_
    reached = np.flatnonzero(np.isfinite(model.reachability_))
    assert len(reached) > 140
    assert adjusted_rand_score(iris[1] == 0, labels) > 0.4


def test_a_neighbours_classifier_fits_on_the_graph_and_predicts_new_rows(iris):
    X, y = iris
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    space = PatchSpace(n_neighbors=30)
    classifier = KNeighborsClassifier(5, metric="precomputed")
    classifier.fit(space.fit_transform(X[train]), y[train])
    assert classifier.score(space.transform(X[test]), y[test]) > 0.9


@pytest.mark.parametrize("k", [5, 15])
def test_all_rows_have_as_many_neighbours_as_asked_for_where_short_circuits_are_removed(k):
    X = make_swiss_roll(600, noise=0.5, random_state=1)[0]
    space, isomap = PatchSpace(n_neighbors=k).fit(X[::2]), PatchIsomap(n_neighbors=k).fit(X[::2])
    removed = np.diff(isomap.graph_.indptr) < k
    assert removed.any()
    fitted = np.diff(space.graph_.indptr)
    assert fitted.min() == k
    assert abs(space.graph_ - space.graph_.T).max() == 0
    # Geodesics are the same: none of the edges that fill rows up is a short circuit.
    geodesics = shortest_paths(isomap.graph_)
    np.testing.assert_allclose(shortest_paths(space.graph_), geodesics, rtol=1e-12)
    new = space.transform(X[1::2])
    np.testing.assert_array_equal(np.diff(new.indptr), k)
    i, j = isomap.graph_.nonzero()
    np.testing.assert_array_equal(space.graph_[i, j], isomap.graph_[i, j])
    # Edges of new points, too, lead nowhere that is not reached through those that are trusted.
    trusted = isomap.patch_graph_.neighbors_of_new(X[1::2])
    assert (trusted.degrees < k).any()
    assert (new.toarray()[trusted.sources, trusted.indices] == trusted.distances).all()
    through = continued_paths(geodesics, trusted)
    assert (new.data >= through[new.nonzero()] * (1 - 1e-12)).all()


def test_the_graph_and_a_classifier_form_a_pipeline(iris):
    model = make_pipeline(PatchSpace(n_neighbors=30), KNeighborsClassifier(5, metric="precomputed"))
    assert cross_val_score(model, *iris, cv=3).min() > 0.9


@pytest.mark.slow
def test_scikit_learns_tsne_takes_the_graph(iris, graph):
    model = TSNE(metric="precomputed", perplexity=9, init="random", random_state=0)
    assert trustworthiness(iris[0], model.fit_transform(graph)) > 0.9


# umap-learn's own remarks: what it can not do with distances, that a seed means one thread, and
# that tensorflow is absent.
@pytest.mark.filterwarnings("ignore:using precomputed metric:UserWarning")
@pytest.mark.filterwarnings("ignore:n_jobs value .* overridden to 1:UserWarning")
@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
@pytest.mark.xdist_group("pynndescent")  # UMAP imports it, and that compiles
def test_umap_takes_the_graph(iris, graph):
    umap = pytest.importorskip("umap", reason="umap-learn is one of those that take the graph")
    model = umap.UMAP(n_neighbors=15, metric="precomputed", random_state=0)
    assert trustworthiness(iris[0], model.fit_transform(graph)) > 0.9


@pytest.mark.parametrize("estimator", [PatchIsomap, PatchEigenmaps, PatchTSNE, PatchLLE])
def test_our_own_embeddings_take_the_graph(iris, graph, estimator):
    settings = {
        PatchEigenmaps: {"bandwidth": "median"},
        PatchTSNE: {"perplexity": 10},
        PatchLLE: {"weights": "entropic"},  # the others need points
    }
    model = estimator(n_neighbors=30, divergence="precomputed", **settings.get(estimator, {}))
    assert model.fit_transform(graph).shape == (150, 2)


# -------------------------------------------------------------------- frames and names


@each(EMBEDDINGS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_frames(frame, estimator, library):
    module = pytest.importorskip(library, reason="frames as output")
    model = clone(estimator).set_output(transform=library)
    out = model.fit_transform(frame)
    assert isinstance(out, module.DataFrame)
    assert list(out.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), model.embedding_)
    new = model.transform(frame.iloc[:3] + 0.01)
    assert list(new.columns) == list(out.columns)
    if library == "pandas":
        assert list(new.index) == [0, 1, 2]


def test_a_sparse_graph_names_its_columns_and_refuses_to_become_a_frame(frame):
    space = PatchSpace(n_neighbors=30).fit(frame)
    names = space.get_feature_names_out()
    assert len(names) == len(frame)
    assert names[0] == "patchspace0"
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        space.set_output(transform="pandas").transform(frame)


@each(EMBEDDINGS)
def test_polars_frames_are_points(frame, estimator):
    polars = pytest.importorskip("polars", reason="frames as input")
    given = polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    model = clone(estimator)
    np.testing.assert_array_equal(
        model.fit_transform(given), clone(estimator).fit_transform(frame.to_numpy())
    )
    assert list(model.feature_names_in_) == list(frame.columns)


@each(ESTIMATORS)
def test_columns_are_remembered_and_compared(frame, estimator):
    model = clone(estimator).fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*\nGive X the columns"):
        model.transform(frame.rename(columns=str.upper))


@each(EMBEDDINGS)
def test_components_are_named_after_the_estimator(frame, estimator):
    name = type(estimator).__name__.lower()
    assert list(clone(estimator).fit(frame).get_feature_names_out()) == [f"{name}0", f"{name}1"]


# -------------------------------------------------------------------- copies and pipelines


@each(ESTIMATORS)
def test_a_clone_is_unfitted_and_gives_the_same(iris, estimator):
    X = iris[0]
    model = clone(estimator)
    first = model.fit_transform(X)
    again = clone(model)
    assert not hasattr(again, "graph_")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(dense(again.fit_transform(X)), dense(first))


@each(ESTIMATORS)
def test_a_pickle_places_new_points_alike(iris, estimator):
    X = iris[0]
    model = clone(estimator).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    new = X + 0.01
    np.testing.assert_array_equal(dense(copy.transform(new)), dense(model.transform(new)))


@parts_are_fine
@each(EMBEDDINGS)
def test_a_classifier_behind_an_embedding_knows_the_species(iris, estimator):
    model = make_pipeline(StandardScaler(), clone(estimator), KNeighborsClassifier(7))
    assert cross_val_score(model, *iris, cv=3).mean() > 0.8


@pytest.mark.slow
@parts_are_fine
def test_grid_search_chooses_degree_and_divergence(iris):
    model = make_pipeline(StandardScaler(), PatchIsomap(), KNeighborsClassifier(7))
    grid = {
        "patchisomap__n_neighbors": [10, 20, 30],
        "patchisomap__divergence": ["kl", "euclidean", "hellinger"],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(*iris)
    assert search.best_score_ > 0.9
    assert len(np.unique(search.cv_results_["mean_test_score"])) > 1
    assert search.predict(iris[0]).shape == (150,)


def test_a_neighbours_transformer_searches_for_us():
    X = np.random.default_rng(0).normal(size=(100, 3))  # no equal distances
    search = KNeighborsTransformer(n_neighbors=12)
    own, theirs = (
        PatchSpace(n_neighbors=12, knn=knn).fit_transform(X).toarray() for knn in ("exact", search)
    )
    np.testing.assert_array_equal(theirs, own)


# -------------------------------------------------------------------- words and numbers


@each(ESTIMATORS)
def test_verbose_names_the_stages_and_silence_is_the_default(iris, estimator, capsys):
    clone(estimator).fit(iris[0])
    assert not capsys.readouterr().out
    name = type(estimator).__name__
    fitted = clone(estimator).set_params(verbose=1).fit(iris[0])
    lines = capsys.readouterr().out.splitlines()
    expected = ["neighbours", "patches", "divergences"]
    expected += ["short circuits"] * (estimator.lengths == "pruned")
    expected += ["geodesics"] * (name == "PatchIsomap")
    expected += ["embedding"] * hasattr(estimator, "n_components")
    assert [line.split(" ...")[0] for line in lines] == [f"[{name}] {s}" for s in expected]
    assert all(line.endswith(" s") for line in lines)
    assert list(fitted.fit_report_) == expected
    assert min(fitted.fit_report_.values()) >= 0


@parts_are_fine
@each(ESTIMATORS)
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
def test_two_threads_change_nothing(iris, estimator, graph):
    X = iris[0]
    one, two = (clone(estimator).set_params(graph=graph, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.graph_.toarray(), two.graph_.toarray())
    np.testing.assert_array_equal(dense(one.transform(X + 0.01)), dense(two.transform(X + 0.01)))
    if hasattr(one, "embedding_"):
        np.testing.assert_array_equal(one.embedding_, two.embedding_)


@pytest.mark.slow
@each(ESTIMATORS)
def test_little_memory_changes_nothing(iris, estimator):
    X = iris[0]
    usual = clone(estimator).fit(X)
    with sklearn.config_context(working_memory=0.01):
        small = clone(estimator).fit(X)
        placed = small.transform(X + 0.01)
    np.testing.assert_array_equal(small.graph_.toarray(), usual.graph_.toarray())
    np.testing.assert_array_equal(dense(placed), dense(usual.transform(X + 0.01)))
    if hasattr(usual, "embedding_"):
        np.testing.assert_array_equal(small.embedding_, usual.embedding_)


def test_a_terminal_shows_a_bar_while_a_stage_runs(iris, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    PatchIsomap(n_neighbors=30, verbose=1).fit(iris[0])
    printed = capsys.readouterr().out
    assert "━" in printed
    last = [line for line in printed.splitlines() if " ... " in line][-1]
    assert "[PatchIsomap] embedding ... " in last
