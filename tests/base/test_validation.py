"""Input is accepted as promised, or refused with parameter, value and remedy."""

import datetime as dt
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from patchfold import PatchIsomap, PatchSpace
from patchfold.base.validation import (
    check_choice,
    check_count,
    check_jobs,
    check_points,
    check_positive,
    collected_warnings,
    ignored_warnings,
    warn_user,
)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
        (object, np.float64),
    ],
)
def test_floats_keep_their_type_and_other_numbers_become_float64(given, kept):
    X = check_points(np.array([[1, 0], [0, 1]]).astype(given))
    assert X.dtype == kept
    assert X.tolist() == [[1, 0], [0, 1]]


def test_points_that_are_already_right_are_not_copied(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    assert np.shares_memory(check_points(X), X)
    stored = np.memmap(tmp_path / "points", dtype=np.float32, mode="w+", shape=(4, 2))
    assert np.shares_memory(check_points(stored), stored)


def test_fortran_order_becomes_c_order():
    assert check_points(np.asfortranarray(np.ones((3, 2)))).flags.c_contiguous


def test_a_frame_with_numbers_becomes_an_array():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    assert check_points(frame).tolist() == [[1, 0.5, 1], [2, 1.5, 0]]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_sparse_points_become_canonical_csr(container):
    X = check_points(container(np.eye(3, dtype=np.float32)), accept_sparse=True)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.has_canonical_format


def test_duplicate_entries_of_a_sparse_matrix_are_summed_in_a_copy():
    X = sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    assert check_points(X, accept_sparse=True).toarray().tolist() == [[1, 2], [0, 0]]
    assert X.nnz == 3


def test_missing_values_are_counted_and_located():
    X = np.ones((5, 3))
    X[2, 1] = X[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN \(2 values\).*row 2, column 1; drop"):
        check_points(X)
    X[1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"NaN \(2 values\) and infinity \(1 value\).*row 1, .*2;"):
        check_points(X)


def test_missing_values_of_a_frame_are_located_by_column_name():
    frame = pd.DataFrame({"age": [1.0, 2.0], "height": [1.0, None]})
    with pytest.raises(ValueError, match=r"row 1, column 'height'; drop.*SimpleImputer"):
        check_points(frame)


def test_missing_values_of_a_nullable_frame_are_located():
    frame = pd.DataFrame({"age": pd.array([1, None], dtype="Int64"), "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"NaN \(1 value\).*row 1, column 'age'"):
        check_points(frame)


def test_missing_values_of_a_sparse_matrix_are_located():
    X = np.zeros((3, 4))
    X[1, 2] = np.nan
    with pytest.raises(ValueError, match="row 1, column 2"):
        check_points(sparse.csr_array(X), accept_sparse=True)


def test_large_finite_values_are_not_taken_for_infinity():
    assert check_points(np.full((2, 2), 1e308)).max() == 1e308


def test_text_columns_are_named():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"], "day": ["mo", None]})
    with pytest.raises(ValueError, match=r"columns 'colour', 'day'; encode.*OneHotEncoder.*drop"):
        check_points(frame)
    with pytest.raises(ValueError, match=r"text or dates in columns 0, 1; encode"):
        check_points(np.array([["a", "b"], ["c", "d"]]))


def test_text_that_looks_like_numbers_is_refused():
    with pytest.raises(ValueError, match="text or dates in column 1;"):
        check_points(np.array([[1, "2"], [3, "4"]], dtype=object))


def test_categories_and_dates_are_named():
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b"]),
            "code": pd.Categorical([1, 2]),
            "when": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        }
    )
    with pytest.raises(ValueError, match="columns 'kind', 'when';"):
        check_points(frame)


def test_values_that_are_no_numbers_are_refused():
    X = np.ones((2, 2)).astype(object)
    X[0, 0] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        check_points(X)


def test_the_message_of_many_text_columns_stays_short():
    with pytest.raises(ValueError, match="0, 1, 2, 3, 4 and 15 more;"):
        check_points(np.full((2, 20), "a"))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), r"Expected 2D array, got 1D.*shape \(5,\).*Reshape your data.*reshape\(-1, 1"),
        (np.float64(5), r"Expected 2D array, got 0D.*Reshape your data"),
        (np.ones((2, 2, 2)), r"Expected 2D array, got 3D.*reshape\(len\(X\), -1\)"),
        (
            np.ones((12, 0)),
            r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\.",
        ),
        (np.ones((1, 3)), r"X has 1 sample\(s\).*a minimum of 2 is required"),
        (np.ones((0, 3)), r"X has 0 sample\(s\)"),
        (np.ones((3, 2)) * 1j, "Complex data not supported: X has dtype complex128; use X.real"),
        ([[1.0, 2.0], [3.0]], "not a rectangular array"),
    ],
)
def test_arrays_of_the_wrong_form_are_refused_with_a_remedy(X, message):
    with pytest.raises(ValueError, match=message):
        check_points(X)


def test_the_name_of_the_points_appears_in_the_message():
    with pytest.raises(ValueError, match="Y has 1 sample"):
        check_points(np.ones((1, 2)), name="Y")


def test_sparse_points_are_refused_unless_accepted():
    with pytest.raises(TypeError, match=r"sparse matrix.*X\.toarray\(\).*TruncatedSVD"):
        check_points(sparse.eye_array(3))


def test_complex_sparse_points_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        check_points(sparse.csr_array(np.eye(3) * 1j), accept_sparse=True)


def test_an_unknown_choice_gets_the_nearest_name():
    with pytest.raises(ValueError, match=r"divergence='kll' is not known; did you mean 'kl'\? All"):
        check_choice("divergence", "kll", ["kl", "jeffreys"])
    with pytest.raises(ValueError, match="did you mean 'jeffreys'"):
        check_choice("divergence", "Jeffrys", ["kl", "jeffreys"])


@pytest.mark.parametrize("value", ["zzz", None, 3])
def test_a_choice_like_no_name_gets_the_list(value):
    with pytest.raises(ValueError, match=r"is not known\. Allowed: 'kl', 'jeffreys'\."):
        check_choice("divergence", value, ["kl", "jeffreys"])


def test_a_count_may_be_any_kind_of_integer():
    assert check_count("k", np.int16(3)) == 3
    assert check_count("k", 0, minimum=0) == 0


@pytest.mark.parametrize("value", [True, 2.0, "2", None, np.bool_(True)])
def test_a_count_has_to_be_an_integer(value):
    with pytest.raises(TypeError, match=r"k=.* is not an integer; give a whole number"):
        check_count("k", value)


def test_a_count_has_a_minimum():
    with pytest.raises(ValueError, match="k=0 is too small; give at least 1"):
        check_count("k", 0)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_a_radius_has_to_be_positive_and_finite(value):
    with pytest.raises(ValueError, match=r"radius=.* is not positive and finite"):
        check_positive("radius", value)


@pytest.mark.parametrize("value", [True, "1", None])
def test_a_radius_has_to_be_a_number(value):
    with pytest.raises(TypeError, match="is not a number"):
        check_positive("radius", value)


@pytest.mark.parametrize("value", ["2", True, 1.0])
def test_a_number_of_threads_has_to_be_an_integer(value):
    with pytest.raises(TypeError, match=r"n_jobs=.* is not an integer; give a number of threads"):
        check_jobs(value)


def test_no_threads_are_refused_and_none_or_negative_numbers_are_not():
    with pytest.raises(ValueError, match="n_jobs=0 is no number of threads; give at least 1"):
        check_jobs(0)
    assert [check_jobs(value) for value in (None, -1, np.int8(2))] == [None, -1, 2]


@pytest.mark.parametrize("value", ["seed", -1, 1.5, 2**32])
def test_what_is_no_seed_is_refused_even_where_nothing_is_drawn(value):
    with pytest.raises(ValueError, match=r"random_state=.* is no seed; give an integer"):
        PatchIsomap(random_state=value).fit(np.eye(9))


def test_integers_beyond_all_floats_are_refused():
    X = np.ones((3, 2), dtype=object)
    X[1, 0] = 10**400
    with pytest.raises(ValueError, match=r"X has values that are not real numbers.*drop their col"):
        check_points(X)


# ------------------------------------------------------------------- warnings


def hooks():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def test_collected_warnings_belong_to_their_thread():
    before = hooks()
    everyone = threading.Barrier(2)
    found = {}

    def work(name):
        with collected_warnings() as mine:
            everyone.wait()
            warn_user(name)
            everyone.wait()
            found[name] = list(mine)

    run_together(partial(work, "a"), partial(work, "b"))
    assert found == {name: [(name, UserWarning)] for name in "ab"}
    assert hooks() == before
    with pytest.warns(UserWarning, match="to the user again"):
        warn_user("to the user again")


def test_ignored_warnings_of_overlapping_threads_are_shown_again_afterwards():
    before = hooks()
    first_is_in = threading.Event()

    def first():
        with ignored_warnings():
            first_is_in.set()
            warnings.warn("of the first", stacklevel=1)

    def second():
        first_is_in.wait()
        with ignored_warnings():
            warnings.warn("of the second", stacklevel=1)

    run_together(*[first, second] * 3)
    assert hooks() == before


def test_threads_that_choose_their_degree_leave_warnings_as_they_were():
    before = hooks()
    X = np.random.default_rng(0).random((180, 3))
    run_together(*[partial(PatchIsomap(n_neighbors="auto").fit, X[i::3]) for i in range(3)])
    assert hooks() == before


def run_together(*work):
    """Run all in threads, and raise what one of them raises."""
    with ThreadPoolExecutor(len(work)) as threads:
        for running in [threads.submit(one) for one in work]:
            running.result()


TIMES = {
    "datetime": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "date": dt.date(2020, 1, 1),
    "time": dt.time(1),
    "duration": dt.timedelta(days=1),
    "text": "a",
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=lambda f: f.__module__)
@pytest.mark.parametrize("kind", TIMES)
def test_times_and_text_of_any_frame_are_refused_by_column(make, kind):
    value = TIMES[kind]
    for columns in ({"t": [value] * 3}, {"a": [0.5, 1.5, 2.5], "t": [value] * 3}):
        with pytest.raises(ValueError, match=r"text or dates in column 't'; encode them"):
            check_points(make(columns))


def test_all_columns_of_times_and_text_are_named():
    frame = pl.DataFrame({"a": [1, 2], "day": [TIMES["date"]] * 2, "kind": ["x", "y"]})
    with pytest.raises(ValueError, match=r"text or dates in columns 'day', 'kind'; encode"):
        check_points(frame)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_numbers_of_other_frames_become_an_array_and_missing_ones_are_located(make):
    X = check_points(make({"a": [1, 2], "date": [0.5, 1.5], "c": [True, False]}))
    assert X.tolist() == [[1, 0.5, 1], [2, 1.5, 0]]
    with pytest.raises(ValueError, match=r"NaN \(1 value\).*row 1, column 'time'"):
        check_points(make({"a": [1, 2], "time": [1.0, None]}))


def test_columns_of_the_same_name_are_named():
    frame = pd.DataFrame(np.ones((3, 3)), columns=list("aab"))
    with pytest.raises(ValueError, match=r"several columns called 'a'; give each its own name by"):
        check_points(frame)


def test_an_anndata_is_refused_at_once_with_what_to_pass():
    cells = anndata.AnnData(np.ones((5, 2)))
    words = r"X is an AnnData of shape \(5, 2\) and no array; give adata.obsm\['X_pca'\]"
    for call in (check_points, PatchIsomap().fit, PatchSpace().fit_transform):
        with pytest.raises(TypeError, match=words):
            call(cells)


@pytest.mark.parametrize("kind", [RuntimeError, TypeError])
def test_tensors_that_numpy_cannot_read_are_refused_with_a_remedy(kind):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise kind("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(TypeError, match=r"no plain array \(Can't call.*X\.detach\(\)\.cpu\(\)"):
        check_points(Tensor())
