"""A transformer of scikit-learn's serves as a search."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from neighbor_rows import DATA, as_rows
from patchfold.neighbors import ExactNeighbors, TransformerNeighbors, find_neighbors


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
