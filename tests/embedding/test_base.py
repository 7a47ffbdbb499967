"""What all estimators do with their parameters and with the arrays they are given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE

EMBEDDINGS = [PatchIsomap, PatchLLE, PatchEigenmaps, PatchTSNE]
FIVE = [*EMBEDDINGS, PatchSpace]
X = np.random.default_rng(0).normal(size=(60, 3))
NEW = X[:6] + 0.01

every = pytest.mark.parametrize("estimator", FIVE)


def fitted_to(estimator, points, **setting):
    quick = {"perplexity": 8, "n_iter": 20} if estimator is PatchTSNE else {}
    return estimator(**{"n_neighbors": 8, "random_state": 0} | quick | setting).fit(points)


def placed(fitted, points):
    found = fitted.transform(points)
    return found.toarray() if issparse(found) else found


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("estimator", EMBEDDINGS)
def test_a_number_of_components_may_be_a_small_integer(estimator, kind):
    found = fitted_to(estimator, X, n_components=kind(2), n_neighbors=kind(8))
    np.testing.assert_array_equal(found.embedding_, fitted_to(estimator, X).embedding_)
    assert found.transform(NEW).shape == (6, 2)


@every
@pytest.mark.parametrize(("wrong", "error"), [("2", TypeError), (True, TypeError), (0, ValueError)])
def test_a_wrong_number_of_threads_is_named(estimator, wrong, error):
    with pytest.raises(error, match=f"n_jobs={wrong!r} is no"):
        fitted_to(estimator, X, n_jobs=wrong)


@every
def test_a_wrong_degree_is_refused_even_with_a_radius(estimator):
    with pytest.raises(ValueError, match="n_neighbors=-5 is too small; give at least 1"):
        estimator(radius=2.0, n_neighbors=-5).fit(X)


@every
def test_fits_work_whatever_numpy_does_with_floating_point_errors(estimator):
    expected = fitted_to(estimator, X)
    places = placed(expected, NEW)
    with np.errstate(all="raise"):
        found = fitted_to(estimator, X)
        np.testing.assert_array_equal(placed(found, NEW), places)
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")
    np.testing.assert_array_equal(found.graph_.data, expected.graph_.data)


def writeable():
    return X.copy()


def in_fortran_order():
    return np.asfortranarray(X)


def strided():
    return np.repeat(X, 2, axis=0)[::2]


def frame():
    return pd.DataFrame(X.copy(), columns=list("abc"))


@every
@pytest.mark.parametrize("make", [writeable, in_fortran_order, strided, frame])
def test_points_changed_after_a_fit_change_nothing(estimator, make):
    given = make()
    new = pd.DataFrame(NEW, columns=given.columns) if hasattr(given, "columns") else NEW
    fitted = fitted_to(estimator, given)
    expected = placed(fitted, new)
    if hasattr(given, "columns"):
        for column in given.columns:
            given.loc[:, column] *= 7
    else:
        given *= 7
    np.testing.assert_array_equal(placed(fitted, new), expected)
    np.testing.assert_array_equal(fitted.patch_graph_.lengths.points, X)


def test_points_that_can_only_be_changed_elsewhere_are_copied_too():
    base = X.copy()
    view = base.view()
    view.flags.writeable = False
    fitted = fitted_to(PatchIsomap, view)
    base *= 7
    np.testing.assert_array_equal(fitted.patch_graph_.lengths.points, X)


def test_points_in_a_file_that_is_only_read_are_not_copied(tmp_path):
    np.save(tmp_path / "points.npy", X)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert np.shares_memory(fitted_to(PatchIsomap, mapped).patch_graph_.lengths.points, mapped)


def test_column_names_of_several_levels_are_warned_of():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)))
    X.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    with pytest.warns(UserWarning, match=r"names of several levels.*flatten them"):
        PatchIsomap().fit(X)
