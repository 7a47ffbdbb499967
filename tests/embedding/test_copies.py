"""Copies of a row are one point: data that are doubled have the places of the data."""

import pickle
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    papers,
)
from patchfold.cli.model_schema import check_part
from patchfold.cli.models import _without_what_follows as in_a_file

ROLL = make_swiss_roll(70, noise=0.3, random_state=0)[0]
FITTED, NEW = ROLL[:60], ROLL[60:]
CLASSES = np.arange(60) % 3

EMBEDDINGS = {
    "isomap": PatchIsomap(),
    "isomap, landmarks": PatchIsomap(landmarks=20, random_state=0),
    "isomap, classical": PatchIsomap(divergence="euclidean", scaling="classical"),
    "isomap, radius": PatchIsomap(radius=9.0),
    "isomap, given patch": PatchIsomap(patch=GaussianPatch(size=8)),
    "isomap, auto": PatchIsomap(n_neighbors="auto"),
    "isomap, approximate": PatchIsomap(knn="approximate", random_state=0),
    "isomap, krr": PatchIsomap(out_of_sample="krr"),
    "isomap, grnn": PatchIsomap(out_of_sample="grnn"),
    "isomap, labels": PatchIsomap(supervision="dissimilarity"),
    "isomap, under the divergence": PatchIsomap(graph="divergence"),
    "lle": PatchLLE(),
    "lle, entropic": PatchLLE(weights="entropic"),
    "eigenmaps": PatchEigenmaps(),
    "tsne": PatchTSNE(perplexity=5, n_iter=10, random_state=0),
}


def repeated(dtype="f8", times=3, seed=1):
    """Every row several times, mixed but for the first of each, and which row each is."""
    which = np.random.default_rng(seed).permutation(np.repeat(np.arange(60), times - 1))
    which = np.concatenate([np.arange(60), which])
    return FITTED.astype(dtype)[which], which


@pytest.mark.filterwarnings("ignore:supervision")
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_rows_that_are_there_three_times_have_the_places_of_the_points(name):
    estimator = EMBEDDINGS[name]
    X, which = repeated()
    once = estimator.fit(FITTED, CLASSES)
    expected, mapped = once.embedding_, once.transform(NEW)
    again = estimator.fit(X, CLASSES[which])
    np.testing.assert_array_equal(again.embedding_, expected[which])
    np.testing.assert_array_equal(again.transform(NEW), mapped)
    np.testing.assert_array_equal(again.transform(X), again.embedding_)
    assert again.graph_.shape == (180, 180)
    if again.patches_ is not None:
        assert len(again.patches_) == 180
    check_part(in_a_file(pickle.loads(pickle.dumps(again))).patch_graph_, n=180, m=X.shape[1])


@pytest.mark.parametrize("name", ["isomap", "isomap, given patch", "eigenmaps", "lle"])
def test_new_points_have_the_ridge_of_the_points_where_some_rows_are_there_often(name):
    estimator = EMBEDDINGS[name]
    mapped = estimator.fit(FITTED).transform(NEW)
    some = np.concatenate([np.arange(60), np.zeros(40, dtype=int)])  # of another variance
    np.testing.assert_array_equal(estimator.fit(FITTED[some]).transform(NEW), mapped)


def test_float32_copies_are_merged_too():
    X, which = repeated("f4")
    found = PatchIsomap().fit_transform(X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, PatchIsomap().fit_transform(X[:60])[which])


@pytest.mark.parametrize("estimator", [PatchIsomap(), PatchSpace(), PatchLLE()])
def test_geodesics_of_the_graph_are_those_of_the_points(estimator):
    X, which = repeated()
    once = dijkstra(estimator.fit(FITTED).graph_, directed=False)
    graph = estimator.fit(X).graph_
    # SciPy takes stored zeros for edges, and what is not stored for none.
    np.testing.assert_allclose(dijkstra(graph, directed=False), once[which][:, which], rtol=1e-12)


def test_graph_grows_with_the_copies_and_not_with_their_square():
    X = np.concatenate([FITTED, np.repeat(FITTED[:1], 3000, axis=0)])
    isomap, space = PatchIsomap().fit(X), PatchSpace().fit(X)
    assert isomap.graph_.nnz <= PatchIsomap().fit(FITTED).graph_.nnz + 2 * 3000
    assert space.graph_.nnz <= 2 * len(X) * (2 * space.n_neighbors_ + 2)


def test_patches_are_kept_once_and_written_out_when_asked_for():
    X, which = repeated()
    isomap = PatchIsomap().fit(X)
    kept, once = isomap.patch_graph_.patches, PatchIsomap().fit(FITTED).patches_
    assert len(kept) == 60
    assert "patches_of_rows" not in vars(isomap.patch_graph_)  # costs nothing until it is used
    for name in ("means", "points", "variances", "ridge", "roots"):
        expected = getattr(once, name)
        if expected is not None:
            np.testing.assert_array_equal(getattr(kept, name), expected)
            np.testing.assert_array_equal(getattr(isomap.patches_, name), expected[which])
    np.testing.assert_array_equal(isomap.patches_.dimension(), once.dimension()[which])
    assert isomap.patches_ is isomap.patches_
    assert "patches_of_rows" not in isomap.patch_graph_.__getstate__()


def test_bridges_do_not_copy_the_patches_of_distinct_points():
    X, _ = repeated()
    isomap = PatchIsomap().fit(X)
    lengths = isomap.patch_graph_.lengths
    copies = isomap.patch_graph_.copies
    assert lengths.of_distinct(copies).patches is lengths.patches
    assert len(lengths.patches) == len(copies.first)


@pytest.mark.parametrize(
    ("patch_of", "words"),
    [
        (np.zeros(180, dtype=np.intp), "patch_of follows"),
        (np.full(180, 60), "patch_of reach beyond the 60"),
        (np.zeros(179, dtype=np.intp), "shape"),
    ],
)
def test_a_file_with_patches_of_other_rows_is_refused(patch_of, words):
    X, _ = repeated()
    graph = pickle.loads(pickle.dumps(in_a_file(PatchIsomap().fit(X)).patch_graph_))
    check_part(graph, n=180, m=X.shape[1])
    damaged = replace(graph, lengths=replace(graph.lengths, patch_of=patch_of))
    with pytest.raises(ValueError, match=words):
        check_part(damaged, n=180, m=X.shape[1])


def test_space_has_as_many_neighbours_of_every_copy_as_asked_for():
    X, _ = repeated()
    space = PatchSpace(n_neighbors=12)
    graph = space.fit_transform(X)
    assert (np.diff(graph.indptr) > 12).all()
    new = space.transform(NEW)
    assert (np.diff(new.indptr) >= 12).all()
    assert (new.indices < 60).all()  # the first rows, of which none is there twice
    np.testing.assert_array_equal(space.transform(X[:3]).toarray(), graph[:3].toarray())


def test_copies_with_other_labels_are_other_points():
    X = np.concatenate([FITTED, FITTED])
    y = np.concatenate([CLASSES, (CLASSES + 1) % 3])
    isomap = PatchIsomap(supervision="cut")
    assert isomap.fit(X, y).patch_graph_.copies is None
    assert len(isomap.fit(X, np.tile(CLASSES, 2)).patch_graph_.copies.first) == 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*components")
def test_methods_of_the_papers_take_every_row_as_a_point():
    X, _ = repeated()
    for estimator in (papers.isomap_kl(9), papers.x_isomap(), papers.x_tsne(5, random_state=0)):
        assert estimator.fit(X).patch_graph_.copies is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of scikit-learn's: components, and how they are joined
def test_copies_lose_nothing_where_scikit_learn_needs_none():
    """Eight copies of every row: 0.78 before, as a tree joined the components."""
    random = np.random.default_rng(0)
    u, v = 2 * random.random(150), random.random(150)
    X = np.repeat(np.column_stack([u, v, 0.2 * u * u]), 8, axis=0)
    found = PatchIsomap(divergence="euclidean", scaling="classical").fit_transform(X)
    theirs = Isomap(n_neighbors=15).fit_transform(X)
    ours, peer = (spearmanr(pdist(X), pdist(Y))[0] for Y in (found, theirs))
    assert ours >= peer - 1e-3
    assert ours > 0.999


@pytest.mark.parametrize("distinct", [1, 2, 3])
def test_few_distinct_rows_have_as_many_places(distinct):
    X = np.repeat(FITTED[:distinct], 30, axis=0)
    for estimator in (PatchIsomap(), PatchLLE(), PatchEigenmaps()):
        with pytest.warns(UserWarning, match="samples") if distinct > 1 else nullcontext():
            places = estimator.fit_transform(X)
        assert len(np.unique(places, axis=0)) == distinct


@pytest.mark.filterwarnings("ignore:the data have drifted")
@pytest.mark.parametrize("landmarks", [20, None])
def test_rows_are_added_to_copies_as_to_points(landmarks):
    isomap = PatchIsomap(landmarks=landmarks, random_state=0)
    X, which = repeated()
    expected = isomap.fit(FITTED).partial_fit(NEW).embedding_
    found = isomap.fit(X).partial_fit(np.repeat(NEW, 2, axis=0)).embedding_
    np.testing.assert_allclose(found[:180], expected[:60][which])
    np.testing.assert_allclose(found[180:], np.repeat(expected[60:], 2, axis=0), atol=1e-9)
    assert isomap.transform(X).shape == (180, 2)
