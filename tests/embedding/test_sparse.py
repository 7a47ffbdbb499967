"""Sparse rows: neighbours in all columns, patches in the span of the leading directions."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.graph.building import build_graph
from patchfold.graph.patch_graph import GraphSetting
from patchfold.patches.span import DIRECTIONS, Span

FEW = {"n_neighbors": 8}
FIVE = [
    PatchIsomap(**FEW),
    PatchLLE(**FEW),
    PatchEigenmaps(**FEW),
    PatchTSNE(perplexity=5, n_iter=5, random_state=0),
    PatchSpace(**FEW),
]
each = pytest.mark.parametrize("estimator", FIVE, ids=lambda one: type(one).__name__)
in_span = pytest.mark.filterwarnings("ignore:X is sparse")


def counts(n=160, m=400, seed=0):
    """Word counts of texts along one subject: which words are frequent changes slowly."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 1, n)
    words = np.linspace(-0.3, 1.3, m)
    rates = 3 * np.exp(-np.square((t[:, None] - words) / 0.15)) + 0.02
    return sparse.csr_array(random.poisson(rates).astype(float))


def values(result):
    return result.toarray() if hasattr(result, "toarray") else result


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@each
def test_few_columns_are_the_same_dense_and_sparse(estimator, container):
    X = counts(120, DIRECTIONS).toarray()
    found = clone(estimator).fit(container(X[:110]))
    expected = clone(estimator).fit(X[:110])
    assert found.span_ is None
    np.testing.assert_array_equal(
        values(found.transform(container(X))), values(expected.transform(X))
    )
    np.testing.assert_array_equal(values(found.transform(X)), values(expected.transform(X)))


@in_span
@each
def test_rows_of_many_columns_are_fitted_and_placed(estimator):
    X = counts()
    model = clone(estimator).set_params(metric="cosine").fit(X[:150])
    assert (model.span_.n_directions, 0 < model.span_.kept < 1) == (DIRECTIONS, True)
    fitted = values(model.transform(X[:150]))
    known = (
        model.embedding_
        if hasattr(model, "embedding_")
        else values(clone(estimator).set_params(metric="cosine").fit_transform(X[:150]))
    )
    np.testing.assert_array_equal(fitted, known)
    new = values(model.transform(X[150:]))
    assert np.isfinite(new).all()
    np.testing.assert_array_equal(values(model.transform(X[150:].toarray())), new)
    np.testing.assert_array_equal(values(pickle.loads(pickle.dumps(model)).transform(X[150:])), new)
    assert model.score_samples(X[150:]).shape == (10,)


def test_the_words_say_how_many_directions_and_what_is_lost():
    X = counts()
    with pytest.warns(UserWarning, match=r"span of 100 leading directions, which hold \d\d%"):
        PatchIsomap().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PatchIsomap().fit(X[:90])  # which span fewer
        PatchIsomap(divergence="euclidean").fit(X)  # without patches


@in_span
def test_neighbours_are_those_in_all_columns():
    X = counts()
    graph = build_graph(X, GraphSetting(degree=6, divergence="euclidean"))
    dense = build_graph(X.toarray(), GraphSetting(degree=6, divergence="euclidean"))
    np.testing.assert_array_equal(graph.matrix.toarray(), dense.matrix.toarray())


@in_span
def test_isomap_without_patches_is_that_of_dense_rows():
    X = sparse.csr_array(sparse.block_diag([counts(60, 150), counts(60, 150, 1)]))
    model = PatchIsomap(n_neighbors=5, divergence="euclidean", scaling="classical")
    with pytest.warns(UserWarning, match="graph has 2 components"):
        found = clone(model).fit(X[:110])
    with pytest.warns(UserWarning, match="graph has 2 components"):
        expected = clone(model).fit(X[:110].toarray())
    np.testing.assert_allclose(found.dist_matrix_, expected.dist_matrix_, rtol=1e-9)
    np.testing.assert_allclose(
        found.transform(X[110:]), expected.transform(X[110:].toarray()), atol=1e-6
    )


def test_where_the_span_loses_nothing_patches_are_those_of_dense_rows():
    X = counts(90)
    found, expected = PatchSpace(**FEW).fit(X), PatchSpace(**FEW).fit(X.toarray())
    assert found.span_.kept == pytest.approx(1)
    both = found.graph_.toarray(), expected.graph_.toarray()
    np.testing.assert_array_equal(both[0] > 0, both[1] > 0)
    # The ridge is relative to the mean variance of the coordinates, of which there are fewer.
    np.testing.assert_allclose(both[0], both[1], rtol=0.02)


@in_span
def test_the_map_of_texts_follows_their_subject():
    X = TfidfTransformer().fit_transform(counts(300, 2000))
    found = PatchIsomap(metric="cosine").fit_transform(X)[:, 0]
    assert abs(np.corrcoef(np.argsort(np.argsort(found)), np.arange(300))[0, 1]) > 0.95


@in_span
def test_copies_added_rows_and_the_way_back():
    X = counts()
    twice = sparse.csr_array(sparse.vstack([X[:150], X[:20]]))
    model = PatchIsomap(**FEW).fit(twice)
    np.testing.assert_array_equal(model.embedding_[150:], model.embedding_[:20])
    before = model.embedding_
    model.partial_fit(X[150:])
    np.testing.assert_array_equal(model.embedding_[:170], before)
    assert model.embedding_.shape == (180, 2)
    back = model.inverse_transform(model.embedding_)
    assert back.shape == (180, 400)
    here, there = X.toarray()[:150], back[:150]
    assert np.square(there - here).sum() < np.square(here - here.mean(axis=0)).sum()
    assert model.stability(2).shape == (180,)
    assert model.trust().shape == (180,)
    with pytest.raises(ValueError, match="too many for a sparse X"):
        model.local_loadings()


@in_span
def test_a_fit_does_not_change_its_rows_and_keeps_none_of_them():
    X = counts()
    X.data[:5] = 0  # stored zeros
    before = X.copy()
    model = PatchIsomap(**FEW).fit(X)
    places = model.transform(X[:10])
    assert (X.data == before.data).all()
    assert (X.indices == before.indices).all()
    X.data[:] = 1
    np.testing.assert_array_equal(model.transform(before[:10]), places)


@in_span
def test_regressions_and_a_radius_take_sparse_rows():
    X = normalize(counts())
    by_map = PatchIsomap(**FEW, out_of_sample="krr").fit(X[:150])
    by_graph = PatchIsomap(**FEW).fit(X[:150])
    gaps = np.linalg.norm(by_map.transform(X[150:]) - by_graph.transform(X[150:]), axis=1)
    assert gaps.max() < np.ptp(by_graph.embedding_)
    assert PatchIsomap(radius=1.2, n_neighbors=None).fit(X).embedding_.shape == (160, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "correlation"}, "would fill a sparse X"),
        ({"n_neighbors": "auto"}, "X is sparse; give a number"),
    ],
)
def test_what_needs_dense_rows_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        PatchIsomap(**parameters).fit(counts())


def test_a_given_graph_is_no_table_of_rows():
    graph = kneighbors_graph(counts(200).toarray(), 8, mode="distance")
    model = PatchIsomap(divergence="precomputed").fit(graph)
    assert model.span_ is None


def test_coordinates_keep_the_distances_that_the_span_holds():
    X = counts()
    span = Span.of(X, 30)
    dense = X.toarray() - X.toarray().mean(axis=0)
    values = np.linalg.svd(dense, compute_uv=False)
    assert span.kept == pytest.approx(np.square(values[:30]).sum() / np.square(values).sum())
    np.testing.assert_allclose(span.directions @ span.directions.T, np.eye(30), atol=1e-9)
    nearest = span.features(span(X))
    np.testing.assert_allclose(span(sparse.csr_array(nearest)), span(X), atol=1e-8)
    assert np.square(nearest - X.toarray()).sum() == pytest.approx(np.square(values[30:]).sum())
