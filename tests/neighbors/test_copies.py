"""Copies of a row are found whatever their order, and named by the first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold.cli.model_schema import check_part
from patchfold.neighbors import ExactNeighbors
from patchfold.neighbors.copies import Copies, DistinctNeighbors
from patchfold.neighbors.fitted_rows import RowTable


def brute_force(rows, codes):
    """First rows, and the number of the point of every row, one row after the other."""
    seen, point = {}, []
    for row, code in zip(rows, codes, strict=True):
        point.append(seen.setdefault((row, code), len(seen)))
    first = [point.index(number) for number in range(len(seen))]
    return first, point


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 1)), min_size=1, max_size=30))
def test_copies_are_those_that_looking_at_every_row_finds(rows):
    values = np.array([value for value, _ in rows], dtype=float)
    codes = np.array([code for _, code in rows])
    table = RowTable(np.column_stack([values, -values]))
    for labels in (None, codes):
        found = Copies.of(table, labels)
        known = np.zeros(len(rows)) if labels is None else labels
        first, point = brute_force(values.tolist(), known.tolist())
        assert found.first.tolist() == first
        assert found.point.tolist() == point
        check_part(found, n=len(rows))


def test_zero_and_minus_zero_are_copies():
    assert len(Copies.of(RowTable(np.array([[0.0], [-0.0]]))).first) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_point_is_found_once_at_its_first_row(dtype):
    points = np.random.default_rng(0).random((20, 3)).astype(dtype)
    X = points[np.random.default_rng(1).permutation(np.repeat(np.arange(20), 3))]
    copies = Copies.of(RowTable(X))
    inner = ExactNeighbors(4).build(X[copies.first])
    search = DistinctNeighbors(inner, copies)
    near = search.query()
    assert len(near) == len(X)
    assert np.isin(near.indices, copies.first).all()
    assert (near.distances > 0).all()
    apart = np.linalg.norm(X[near.sources].astype("f8") - X[near.indices], axis=1)
    np.testing.assert_allclose(near.distances, apart, rtol=1e-6)
    mirrored = search.build(-X)
    np.testing.assert_array_equal(mirrored.query().indices, near.indices)
    assert (mirrored.query(-X[:5]).nearest(1).indices == copies.first[copies.point[:5]]).all()


def test_copies_out_of_a_file_have_to_fit_together():
    copies = Copies(np.array([0, 1]), np.array([0, 1, 0]))
    check_part(copies, n=3)
    for first, point in (([0, 2], [0, 1, 0]), ([0, 1], [0, 1, 7]), ([0], [0, 1, 0])):
        with pytest.raises(ValueError, match=r"first|point"):
            check_part(Copies(np.array(first), np.array(point)), n=3)
    with pytest.raises(ValueError, match="point"):
        check_part(copies, n=4)
