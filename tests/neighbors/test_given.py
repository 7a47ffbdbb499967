"""A transformer of scikit-learn's serves as a search, and so do arrays of neighbours."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import (
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsTransformer,
)

from neighbor_rows import DATA, as_rows
from patchfold.neighbors import (
    ExactNeighbors,
    GivenNeighbors,
    TransformerNeighbors,
    find_neighbors,
)
from patchfold.neighbors.copies import Copies
from patchfold.neighbors.fitted_rows import RowTable


def test_a_transformer_gives_the_exact_neighbours_and_stays_unfitted():
    X = DATA["integers in a tree"]
    transformer = KNeighborsTransformer(n_neighbors=len(X) - 1)
    found = find_neighbors(X, 6, knn=transformer)
    assert as_rows(found) == as_rows(find_neighbors(X, 6))
    assert not hasattr(transformer, "n_samples_fit_")
    search = TransformerNeighbors(transformer, 4).build(X)
    assert as_rows(search.query(X[:3])) == as_rows(ExactNeighbors(4).build(X).query(X[:3]))


def test_a_transformer_keeps_the_type_of_the_points():
    X = DATA["gaussian in a tree"].astype(np.float32)
    assert find_neighbors(X, 3, knn=KNeighborsTransformer(n_neighbors=3)).distances.dtype == X.dtype


def test_a_transformer_that_finds_too_few_is_refused():
    with pytest.raises(ValueError, match=r"found only 5 neigh.*n_neighbors=6 needs.*raise the tra"):
        find_neighbors(DATA["gaussian in a tree"], 6, knn=KNeighborsTransformer(n_neighbors=5))
    with pytest.raises(ValueError, match="found only 0 neighbours"):
        find_neighbors(DATA["gaussian in a tree"], 6, knn=RadiusNeighborsTransformer(radius=1e-9))


class Shaped:
    """A transformer that answers with a given matrix."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X):
        return self

    def transform(self, X):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (sparse.csr_array((4, 5)), r"gave a csr_array of shape \(4, 5\), not a sparse.*\(4, 4\)"),
        (np.ones((4, 4)), "gave a ndarray of shape"),
        (sparse.csr_array(-np.ones((4, 4))), "negative or infinite distances"),
        (sparse.csr_array(np.full((4, 4), np.nan)), "NaN"),
    ],
)
def test_a_transformer_with_a_wrong_answer_is_refused(answer, message):
    with pytest.raises(ValueError, match=message):
        find_neighbors(np.arange(8.0).reshape(4, 2), 2, knn=Shaped(answer))


def test_a_transformer_without_distances_is_refused():
    with pytest.raises(ValueError, match="set its mode='distance'"):
        find_neighbors(np.eye(4), 2, knn=KNeighborsTransformer(mode="connectivity"))


def test_error_of_a_given_search_names_it_and_what_to_do():
    search = TransformerNeighbors(KNeighborsTransformer(n_neighbors=40), 4).build(np.eye(9))
    with pytest.raises(
        ValueError, match=r"knn=KN.* shape \(9, 9\) \(Expected.*\); .*use knn='auto'"
    ):
        search.query()


def arrays(X, k):
    """The k nearest of every row, itself the first, as libraries return them."""
    distances, indices = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(X)
    return indices, distances


def test_arrays_give_the_neighbours_of_an_exact_search():
    X = DATA["gaussian in a tree"]
    indices, distances = arrays(X, 9)
    shuffled = np.random.default_rng(0).permuted(np.arange(9)[None].repeat(len(X), 0), axis=1)
    indices, distances = (np.take_along_axis(one, shuffled, 1) for one in (indices, distances))
    exact = find_neighbors(X, 5)
    for knn in (
        (indices, distances),
        (indices, distances, None),
        GivenNeighbors(indices, distances),
    ):
        found = find_neighbors(X, 5, knn=knn)
        np.testing.assert_array_equal(found.indices, exact.indices)
        np.testing.assert_allclose(found.distances, exact.distances)


def test_new_points_are_searched_among_the_built_ones():
    X = DATA["gaussian in a tree"]
    search = GivenNeighbors(*arrays(X, 6)).build(X)
    assert as_rows(search.query(X[:4] + 0.1)) == as_rows(
        ExactNeighbors(5).build(X).query(X[:4] + 0.1)
    )


def test_missing_and_repeated_neighbours_do_not_count():
    indices = [[1, -1, 2, 1], [0, 0, 1, 2], [-1, 0, 1, 0]]
    distances = [[3, np.inf, 4, 2], [2, 5, 0, 1], [np.nan, 4, 1, 4]]
    found = GivenNeighbors(indices, distances).build(np.arange(3.0)[:, None]).query()
    assert as_rows(found) == [[(2, 1), (4, 2)], [(1, 2), (2, 0)], [(1, 1), (4, 0)]]


def test_copies_of_a_row_are_one_neighbour():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [3.0]])
    copies = Copies.of(RowTable(X))
    found = GivenNeighbors(*arrays(X, 5)).of_distinct(copies).build(X[copies.first]).query()
    assert as_rows(found) == as_rows(find_neighbors(X[copies.first], 2))


@pytest.mark.parametrize(
    ("knn", "message"),
    [
        (([[0.5]], [[1]]), "arrays of float64"),
        (([[1], [0]], [[1.0, 2.0], [1.0, 2.0]]), r"\(2, 1\) and float64 \(2, 2\); give integers"),
        (([[1], [2]], [[1.0], [1.0]]), "indices from 1 to 2 for 2 rows; give rows from 0 to 1"),
        (([[1], [0]], [[1.0], [-1.0]]), "negative or no finite numbers"),
        (([[1], [0]], [[1.0], [np.nan]]), "negative or no finite numbers"),
        (([[1], [0]],), "fewer than two arrays"),
        (([[1], [0]], [[1.0], [1.0]]), "neighbours of 2 rows, and X has 3; give those of the rows"),
    ],
)
def test_arrays_that_are_no_neighbours_are_refused(knn, message):
    with pytest.raises(ValueError, match=message):
        find_neighbors(np.arange(3.0)[:, None], 1, knn=knn)
