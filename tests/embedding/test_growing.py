"""Rows added to a fit: the graph is that of all rows, places stay, and drift is told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone

from patchfold import GaussianPatch, PatchIsomap
from patchfold.datasets import make_manifold
from patchfold.metrics import rank_correlation

ROLL = make_manifold("swiss-roll", 1200, random_state=0).X
SETTING = {"landmarks": 60, "random_state": 0}


def grown(batches, **setting):
    isomap = PatchIsomap(**SETTING | setting)
    for batch in batches:
        isomap.partial_fit(batch)
    return isomap


def in_ten(X, first):
    return [X[:first], *np.array_split(X[first:], 9)]


def assert_same_graph(one, other):
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one.graph_, name), getattr(other.graph_, name))


@pytest.fixture(scope="module")
def ten():
    return grown(in_ten(ROLL, 750))


@pytest.mark.slow
def test_ten_batches_of_a_roll_have_the_graph_and_nearly_the_places_of_one_fit(ten):
    one = PatchIsomap(**SETTING).fit(ROLL)
    assert_same_graph(ten, one)
    assert rank_correlation(pdist(ten.embedding_), pdist(one.embedding_)) > 0.99
    assert 0 < ten.drift_ < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.filterwarnings("ignore:the data have drifted:UserWarning")
@pytest.mark.filterwarnings("ignore:the embedding is unreadable:UserWarning")
@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"divergence": "euclidean", "scaling": "classical"},
        {"patch": GaussianPatch(), "lengths": "divergence", "scaling": "classical"},
    ],
    ids=["default", "classical", "papers"],
)
def test_ten_batches_that_lie_apart_have_the_graph_of_one_fit(setting):
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(40, 3)) + 100 * place * np.eye(3)[place % 3] for place in range(10)]
    found = grown(batches, n_neighbors=6, **setting)
    assert_same_graph(
        found, PatchIsomap(n_neighbors=6, **SETTING, **setting).fit(np.concatenate(batches))
    )


def test_places_of_fitted_points_stay_to_the_last_bit():
    isomap = PatchIsomap(**SETTING)
    places = isomap.partial_fit(ROLL[:800]).embedding_.copy()
    landmarks = isomap.landmarks_.copy()
    for stop in (801, 1000):
        isomap.partial_fit(ROLL[len(isomap.embedding_) : stop])
        np.testing.assert_array_equal(isomap.embedding_[:800], places)
        np.testing.assert_array_equal(isomap.landmarks_, landmarks)
        np.testing.assert_array_equal(isomap.transform(ROLL[:800]), places)
        assert len(isomap.embedding_) == len(isomap.patches_) == len(isomap.patch_graph_) == stop


@pytest.mark.slow
def test_the_first_call_is_a_fit_and_a_fit_can_be_grown():
    first, fitted = PatchIsomap(**SETTING).partial_fit(ROLL[:300]), PatchIsomap(**SETTING)
    fitted.fit(ROLL[:300])
    np.testing.assert_array_equal(first.embedding_, fitted.embedding_)
    assert first.drift_ == fitted.drift_ == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first.partial_fit(ROLL[300:350])
        fitted.partial_fit(ROLL[300:350])
    np.testing.assert_array_equal(first.embedding_, fitted.embedding_)
    assert first.drift_ > 0
    assert fitted.fit(ROLL[:300]).drift_ == 0


@pytest.mark.slow
def test_new_points_are_mapped_beside_those_that_were_added(ten):
    one = PatchIsomap(**SETTING).fit(ROLL)
    new = make_manifold("swiss-roll", 200, random_state=1).X
    places, expected = ten.transform(new), one.transform(new)
    assert rank_correlation(pdist(places), pdist(expected)) > 0.99
    moved = np.linalg.norm(ten.transform(ROLL[1000:] + 1e-9) - ten.embedding_[1000:], axis=1)
    assert np.median(moved) < 0.02 * np.ptp(ten.embedding_)


@pytest.mark.slow
def test_without_landmarks_the_first_points_become_landmarks():
    isomap = grown([ROLL[:800], ROLL[800:850]], landmarks=None)
    assert len(isomap.landmarks_) == 800
    places = PatchIsomap().fit(ROLL[:800]).embedding_
    np.testing.assert_array_equal(isomap.embedding_[:800], places)
    assert isomap.drift_ < 0.1


def test_a_copy_of_a_fitted_row_gets_its_place():
    isomap = grown([ROLL[:800], ROLL[[5, 900, 5]]])
    np.testing.assert_array_equal(isomap.embedding_[[800, 802]], isomap.embedding_[[5, 5]])


def test_rows_that_the_first_did_not_foreshadow_are_a_large_drift():
    rng = np.random.default_rng(0)
    line = np.column_stack([np.linspace(0, 10, 200), 0.05 * rng.normal(size=(200, 2))])
    plane = rng.uniform(size=(300, 3)) * [10, 10, 0.1] - [0, 5, 0]
    isomap = PatchIsomap(**SETTING).partial_fit(line)
    with pytest.warns(UserWarning, match=r"the data have drifted .* fit all 500 rows again"):
        isomap.partial_fit(plane)
    assert isomap.drift_ > 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_taken_in_the_type_of_the_first(dtype):
    isomap = grown([ROLL[:600].astype(dtype), ROLL[600:700].astype(np.float64)])
    assert isomap.embedding_.dtype == isomap.graph_.dtype == dtype
    assert_same_graph(isomap, PatchIsomap(**SETTING).fit(ROLL[:700].astype(dtype)))


@pytest.mark.slow
def test_what_is_chosen_for_the_first_rows_is_kept():
    isomap = grown([ROLL[:600], ROLL[600:700]], n_neighbors="auto")
    assert (
        isomap.n_neighbors_
        == PatchIsomap(**SETTING, n_neighbors="auto").fit(ROLL[:600]).n_neighbors_
    )
    assert len(isomap.embedding_) == 700


def test_neighbours_that_few_first_rows_do_not_have_come_with_more_rows():
    with pytest.warns(UserWarning, match="n_neighbors=9 instead of 15"):
        isomap = PatchIsomap(landmarks=5, random_state=0).partial_fit(ROLL[:10])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        isomap.partial_fit(ROLL[10:100])
    assert isomap.n_neighbors_ == 15


@pytest.mark.slow
@pytest.mark.parametrize("map_", ["krr", "grnn"])
def test_a_regression_is_fitted_to_all_rows(map_):
    isomap = grown([ROLL[:600], ROLL[600:700]], out_of_sample=map_)
    apart = isomap.transform(ROLL[600:700] + 1e-6) - isomap.embedding_[600:]
    assert np.median(np.linalg.norm(apart, axis=1)) < 0.05 * np.ptp(isomap.embedding_)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"supervision": "cut"}, "partial_fit adds rows without labels, and supervision='cut'"),
        ({"divergence": "precomputed"}, "partial_fit adds points, and divergence='precomputed'"),
    ],
)
def test_labels_and_given_distances_have_no_partial_fit(setting, message):
    isomap = PatchIsomap(**setting)
    assert not hasattr(isomap, "partial_fit")
    with pytest.raises(AttributeError) as error:
        isomap.partial_fit(ROLL)
    assert message in str(error.value.__cause__)


def test_wrong_rows_are_refused_and_leave_the_fit_as_it_was():
    isomap = PatchIsomap(**SETTING).fit(pd.DataFrame(ROLL[:300], columns=list("abc")))
    before = dict(vars(isomap))
    with pytest.raises(ValueError, match="feature names should match"):
        isomap.partial_fit(pd.DataFrame(ROLL[:5], columns=list("abd")))
    narrow = pd.DataFrame(ROLL[:5, :2], columns=list("ab"))
    with pytest.raises(ValueError, match="feature names should match"):
        isomap.partial_fit(narrow)
    far = pd.DataFrame(1e200 * ROLL[:5], columns=list("abc"))
    with pytest.raises(ValueError, match="rescale X"):
        isomap.partial_fit(far)
    assert vars(isomap) == before


@pytest.mark.slow
def test_an_unfitted_clone_starts_anew(ten):
    again = clone(ten).partial_fit(ROLL[:100])
    assert len(again.embedding_) == 100


@pytest.mark.slow
def test_growth_does_not_depend_on_threads():
    one, two = (grown([ROLL[:600], ROLL[600:700]], n_jobs=n_jobs) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert one.drift_ == two.drift_
