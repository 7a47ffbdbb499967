"""The nearest columns of a matrix of values agree with sorting every row."""

import numpy as np
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import slow_reference as slow
from graphs import as_rows
from patchfold.neighbors.given import nearest_by_value


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 9), st.just(9)), elements=st.integers(0, 3)),
    st.integers(1, 8),
)
def test_nearest_by_value_sorts_columns_by_value_then_index(values, k):
    found = nearest_by_value(values, k, own=False)
    assert as_rows(found) == slow.nearest(values, k, own=False)


@given(hnp.arrays(np.float64, (9, 9), elements=st.integers(0, 3)), st.integers(1, 8))
def test_nearest_by_value_never_names_a_row_its_own_neighbour(values, k):
    before = values.copy()
    assert as_rows(nearest_by_value(values, k, own=True)) == slow.nearest(values, k)
    np.testing.assert_array_equal(values, before)


def test_nearest_by_value_does_not_depend_on_the_block_size():
    values = np.random.default_rng(0).integers(0, 5, (40, 40)).astype(float)
    expected = as_rows(nearest_by_value(values, 6, own=True))
    with sklearn.config_context(working_memory=1e-6):
        found = nearest_by_value(values, 6, own=True)
    assert as_rows(found) == expected
