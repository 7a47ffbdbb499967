"""Estimators take the neighbours of their rows as arrays."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.datasets import make_manifold
from patchfold.selection import select_n_neighbors

PATCH = {"patch": GaussianPatch(size=8), "n_neighbors": 8}
FIVE = [
    PatchIsomap(**PATCH),
    PatchLLE(**PATCH),
    PatchEigenmaps(**PATCH),
    PatchTSNE(**PATCH, perplexity=4, n_iter=5, random_state=0),
    PatchSpace(**PATCH),
]


def roll(n=120, dtype=np.float64):
    return make_manifold("swiss-roll", n, random_state=0).X.astype(dtype)


def given(X, k=13, **setting):
    distances, indices = NearestNeighbors(n_neighbors=k, **setting).fit(X).kneighbors(X)
    return indices, distances


def values(result):
    return result.toarray() if hasattr(result, "toarray") else result


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", FIVE, ids=lambda one: type(one).__name__)
def test_given_neighbours_make_the_map_that_a_search_for_them_makes(estimator, dtype):
    X = roll(dtype=dtype)
    model = clone(estimator).set_params(knn=given(X[:110])).fit(X[:110])
    expected = clone(estimator).fit(X[:110])
    np.testing.assert_allclose(
        model.graph_.toarray(), expected.graph_.toarray(), rtol=1e-5, atol=1e-7
    )
    assert model.graph_.dtype == dtype
    if not isinstance(estimator, PatchTSNE):  # whose steps double any difference
        places, known = values(model.transform(X)), values(expected.transform(X))
        np.testing.assert_allclose(places, known, atol=1e-3 * np.abs(known).max())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(again.transform(X)), values(model.transform(X)))


def test_the_recommended_patches_are_nearly_those_of_a_search():
    X = roll(400)
    found, expected = PatchIsomap(knn=given(X, 31)).fit(X), PatchIsomap().fit(X)
    both = found.graph_.toarray() > 0, expected.graph_.toarray() > 0
    assert (both[0] & both[1]).sum() > 0.97 * both[1].sum()


def test_copies_of_rows_are_merged_among_given_neighbours():
    X = np.repeat(roll(60), 2, axis=0)
    found = PatchIsomap(**PATCH, knn=given(X, 25)).fit(X)
    expected = PatchIsomap(**PATCH).fit(X)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-6)
    with pytest.raises(ValueError, match=r"knn=\(indices, distances\) has only 7 neighbours of a"):
        PatchIsomap(**PATCH, knn=given(X, 16)).fit(X)


def test_lengths_without_patches_are_the_given_distances():
    X = roll()
    knn = given(X, 9, metric="manhattan")
    space = PatchSpace(divergence="euclidean", n_neighbors=8, knn=knn)
    graph = space.fit(X).graph_.toarray()
    for row in range(len(X)):
        np.testing.assert_allclose(graph[row, knn[0][row, 1:]], knn[1][row, 1:])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda X, knn: PatchIsomap(knn=knn).fit(X), "only 12 neighbours .* and 15 are needed"),
        (
            lambda X, knn: PatchIsomap(knn=knn, n_neighbors="auto").fit(X),
            "several degrees",
        ),
        (lambda X, knn: PatchIsomap(knn=knn, radius=1.0).fit(X), "exclude each other"),
        (lambda X, knn: PatchIsomap(**PATCH, knn=knn).fit(X).stability(), "fits samples"),
        (lambda X, knn: select_n_neighbors(PatchIsomap(knn=knn), X), "are compared on several"),
        (lambda X, knn: PatchIsomap(**PATCH, knn=knn).fit(X[:50]), "of 120 rows, and X has 50"),
    ],
)
def test_what_needs_other_neighbours_is_refused(use, message):
    X = roll()
    with pytest.raises(ValueError, match=message):
        use(X, given(X))


def test_rows_are_not_added_to_given_neighbours():
    X = roll()
    model = PatchIsomap(**PATCH, knn=given(X)).fit(X)
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X)
    assert "are neighbours of the first ones" in str(error.value.__cause__)
