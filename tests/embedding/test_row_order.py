"""Where many distances are equal, the order of rows decides nothing."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE
from patchfold.neighbors.copies import FEW_VALUES, Copies, has_few_values
from patchfold.neighbors.fitted_rows import RowTable


def table(kind):
    random = np.random.default_rng(0)
    if kind == "binary with copies":
        return random.integers(0, 2, (120, 8)).astype(float)
    if kind == "binary":
        return random.integers(0, 2, (120, 30)).astype(float)
    if kind == "answers":
        return random.integers(1, 6, (120, 5)).astype(float)
    return np.hstack([np.eye(4)[random.integers(0, 4, 120)] for _ in range(6)])


TABLES = ["binary with copies", "binary", "answers", "one-hot"]


@pytest.mark.filterwarnings(
    "ignore:.* cannot be read:UserWarning", "ignore:the neighbourhood graph"
)
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "estimator",
    [
        PatchIsomap(),
        PatchIsomap(landmarks=40),
        PatchIsomap(graph="divergence"),
        PatchLLE(),
        PatchEigenmaps(),
    ],
    ids=str,
)
def test_rows_in_another_order_have_the_same_places(estimator, kind):
    X = table(kind)
    order = np.random.default_rng(1).permutation(len(X))
    found, permuted = clone(estimator).fit(X), clone(estimator).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, found.embedding_[order])
    new = np.clip(X[:9] + np.eye(9, X.shape[1]), 0, 5)
    np.testing.assert_allclose(permuted.transform(new), found.transform(new), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* cannot be read:UserWarning")
def test_rows_with_labels_in_another_order_have_the_same_places():
    X, y = table("binary with copies"), np.arange(120) % 3
    order = np.random.default_rng(1).permutation(len(X))
    isomap = PatchIsomap(supervision="cut")
    found, permuted = clone(isomap).fit(X, y), clone(isomap).fit(X[order], y[order])
    np.testing.assert_array_equal(permuted.embedding_, found.embedding_[order])


def test_single_precision_puts_answers_in_the_same_order():
    X = table("answers")
    rows = [RowTable(X.astype(dtype)) for dtype in (np.float64, np.float32)]
    found, single = (Copies.of(one, by_value=True) for one in rows)
    np.testing.assert_array_equal(single.first, found.first)
    rows = [RowTable(sparse.csr_array(X.astype(dtype))) for dtype in (np.float64, np.float32)]
    found, single = (Copies.of(one, by_value=True) for one in rows)
    np.testing.assert_array_equal(single.first, found.first)


def test_tables_of_many_values_keep_their_order():
    random = np.random.default_rng(0)
    assert has_few_values(random.integers(0, FEW_VALUES, (400, 5)))
    assert has_few_values(sparse.csr_array(table("binary")))
    measured = random.integers(0, 2, (400, 5)).astype(float)
    measured[300:, 2] = random.normal(size=100)  # beyond the rows that are looked at first
    assert not has_few_values(measured)
    assert not has_few_values(sparse.csr_array(measured))
    X = np.repeat(random.normal(size=(60, 3)), 2, axis=0)
    copies = PatchIsomap(n_neighbors=5).fit(X).patch_graph_.copies
    np.testing.assert_array_equal(copies.first, np.arange(0, 120, 2))


def test_an_order_of_values_does_not_know_that_of_rows():
    X, labels = table("binary with copies"), np.arange(120) % 2
    order = np.random.default_rng(1).permutation(len(X))
    for codes in (None, labels):
        own = None if codes is None else codes[order]
        found = Copies.of(RowTable(X), codes, by_value=True)
        permuted = Copies.of(RowTable(X[order]), own, by_value=True)
        np.testing.assert_array_equal(X[found.first], X[order][permuted.first])
        np.testing.assert_array_equal(found.point[order], permuted.point)
