"""Estimators on a Dask cluster: the same embedding as in one process, to 1e-6 of its spread."""

from __future__ import annotations

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer

from dask_cluster import without_workers
from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    distributed,
)

on_workers = pytest.mark.xdist_group("cluster")  # one process of pytest has the workers


@pytest.fixture
def in_one_place(monkeypatch):
    """Return an engine that does in this process what workers would."""
    return without_workers(monkeypatch)


@pytest.fixture(
    params=["in-one-place", pytest.param("workers", marks=[on_workers, pytest.mark.long])]
)
def engine(request):
    name = {"in-one-place": "in_one_place", "workers": "client"}[request.param]
    return request.getfixturevalue(name)


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(260, noise=0.5, random_state=1)[0]


@pytest.fixture(scope="module")
def new_points(roll):
    fresh = make_swiss_roll(30, noise=0.5, random_state=2)[0]
    return np.concatenate([fresh, roll[:4]])


def assert_alike(found, expected):
    """Compare embeddings."""
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if found.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * expected.std())


# ---------------------------------------------------------------- with real workers


@on_workers
def test_landmark_isomap_of_a_dask_array_is_that_of_one_process(client, roll, new_points):
    isomap = PatchIsomap(landmarks=70, random_state=0)
    alone, mapped = isomap.fit_transform(roll), isomap.transform(new_points)
    landmarks, values = isomap.landmarks_, isomap.eigenvalues_

    isomap.fit(da.from_array(roll, chunks=(110, 2)))

    assert isomap.embedding_.chunks == ((110, 110, 40), (2,))
    assert_alike(isomap.embedding_.compute(), alone)
    np.testing.assert_array_equal(isomap.landmarks_, landmarks)
    np.testing.assert_allclose(isomap.eigenvalues_, values)
    there = isomap.transform(da.from_array(new_points, chunks=(20, 3)))
    assert there.chunks == ((20, 14), (2,))
    assert_alike(there.compute(), mapped)


@on_workers
def test_lle_of_a_data_frame_is_that_of_one_process(client, roll, new_points):
    frame, new = (pd.DataFrame(X, columns=["x", "y", "z"]) for X in (roll, new_points))
    lle = PatchLLE(lengths="divergence")
    alone, mapped = lle.fit_transform(frame), lle.transform(new)
    lle.fit(dd.from_pandas(frame, npartitions=3))
    assert_alike(lle.embedding_.compute(), alone)
    there = lle.transform(dd.from_pandas(new, npartitions=2))
    assert_alike(there.compute(), mapped)


@on_workers
def test_eigenmaps_of_a_numpy_array_are_those_of_one_process(client, roll):
    eigenmaps = PatchEigenmaps(lengths="divergence")
    alone = eigenmaps.fit_transform(roll)
    found = eigenmaps.set_params(engine=client).fit_transform(roll)
    assert type(found) is np.ndarray
    assert_alike(found, alone)


@on_workers
def test_patch_space_does_not_work_on_a_cluster(client, roll):
    with pytest.raises(ValueError, match="PatchSpace does not work on a cluster"):
        PatchSpace(engine=client).fit(roll)


@on_workers
def test_rows_that_are_not_finite_are_named(client, roll):
    broken = roll.copy()
    broken[130, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PatchIsomap(landmarks=20).fit(da.from_array(broken, chunks=(100, 3)))


# ---------------------------------------------------------------- the same embedding


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        PatchIsomap(landmarks=40, random_state=3),
        PatchLLE(),
        PatchEigenmaps(),
        PatchTSNE(random_state=0, early_exaggeration=1.0),  # which carries rounding errors far
        PatchLLE(divergence="euclidean", weights="entropic"),
    ],
    ids=repr,
)
def test_every_estimator_of_a_data_frame_is_that_of_one_process(
    engine, estimator, roll, new_points
):
    estimator = clone(estimator)
    frame = pd.DataFrame(roll, columns=["x", "y", "z"])
    new = pd.DataFrame(new_points, columns=["x", "y", "z"])
    alone, mapped = estimator.fit_transform(frame), estimator.transform(new)

    estimator.set_params(engine=engine).fit(dd.from_pandas(frame, npartitions=3))

    assert list(estimator.feature_names_in_) == ["x", "y", "z"]
    assert len(estimator.embedding_.chunks[0]) == 3
    assert_alike(estimator.embedding_.compute(), alone)
    there = estimator.transform(dd.from_pandas(new, npartitions=2))
    assert_alike(there.compute(), mapped)


@pytest.mark.slow
def test_a_numpy_array_with_a_client_gives_numpy_arrays(engine, roll, new_points):
    small = roll.astype(np.float32)
    alone = PatchIsomap(n_neighbors=8, landmarks=None).fit(small)
    isomap = PatchIsomap(n_neighbors=8, landmarks=None, engine=engine).fit(small)
    assert type(isomap.embedding_) is np.ndarray
    assert isomap.embedding_.dtype == np.float32
    assert_alike(isomap.embedding_, alone.embedding_)
    np.testing.assert_array_equal(isomap.graph_.indices, alone.graph_.indices)
    np.testing.assert_allclose(isomap.graph_.data, alone.graph_.data, rtol=1e-3)
    new = new_points.astype(np.float32)
    assert_alike(isomap.transform(new), alone.transform(new))


@pytest.mark.parametrize(
    "estimator",
    [
        PatchIsomap(landmarks=40, random_state=3, supervision="dissimilarity"),
        PatchEigenmaps(supervision="cut", lengths="divergence", patch=GaussianPatch()),
        PatchIsomap(landmarks=40, random_state=3, radius=9.0),
    ],
    ids=repr,
)
def test_labels_and_a_radius_do_what_they_do_in_one_process(engine, estimator, roll, new_points):
    y = np.where(roll[:, 1] > 10, "up", "down")
    alone = clone(estimator).fit(roll, y)
    there = clone(estimator).set_params(engine=engine)
    there.fit(da.from_array(roll, chunks=(110, 3)), da.from_array(y, chunks=100))
    assert_alike(there.embedding_.compute(), alone.embedding_)
    assert_alike(there.transform(new_points), alone.transform(new_points))


def test_rows_that_differ_by_their_labels_alone_are_points_of_their_own(engine, roll):
    X, y = np.concatenate([roll[:90], roll[:40]]), np.repeat([0, 1, 0], [60, 60, 10])
    isomap = PatchIsomap(supervision="dissimilarity", landmarks=50, random_state=0)
    alone = isomap.fit_transform(X, y)
    assert_alike(isomap.set_params(engine=engine).fit_transform(X, y), alone)


def test_the_degree_is_chosen_on_a_sample(engine, roll, monkeypatch):
    isomap = PatchIsomap(n_neighbors="auto", landmarks=40, random_state=0)
    alone = clone(isomap).fit(roll)
    there = clone(isomap).set_params(engine=engine).fit(roll)
    assert there.n_neighbors_ == alone.n_neighbors_
    assert_alike(there.embedding_, alone.embedding_)
    sizes, sampled = [], distributed.estimators.sampled
    monkeypatch.setattr(distributed.estimators, "SAMPLE", 65)
    monkeypatch.setattr(
        distributed.estimators, "sampled", lambda *a: sizes.append(len(X := sampled(*a))) or X
    )
    there.fit(roll)
    assert sizes[0] in range(65, 69)
    assert there.n_neighbors_ in (5, 10, 20, 40)
    assert "choosing n_neighbors" in there.fit_report_


def test_a_function_fits_an_estimator_whatever_its_engine_is(engine, roll):
    isomap = PatchIsomap(landmarks=40, random_state=3, engine="threads")
    alone = clone(isomap).fit_transform(roll)
    assert distributed.fit(isomap, roll, engine) is isomap
    assert_alike(isomap.embedding_, alone)
    assert isomap.engine == "threads"
    isomap.fit(roll)  # and then in this process
    np.testing.assert_array_equal(isomap.embedding_, alone)
    np.testing.assert_array_equal(isomap.transform(roll[:2]), alone[:2])
    assert len(pickle.dumps(isomap))


def test_an_approximate_search_tells_its_recall(engine, roll):
    setting = {"divergence": "euclidean", "landmarks": 40, "random_state": 0}
    found = PatchIsomap(knn="approximate", engine=engine, **setting).fit(roll).patch_graph_
    assert 0.9 < found.recall <= 1
    exact = PatchIsomap(knn="exact", engine=engine, **setting).fit(roll).patch_graph_
    assert exact.recall == 1
    assert abs(found.matrix - exact.matrix).sum() < 0.2 * exact.matrix.sum()


@pytest.mark.filterwarnings("ignore:.*samples (have fewer|span):UserWarning")
def test_a_single_point_and_two_points_are_embedded_as_in_one_process(engine):
    one, two = np.ones((12, 3)), np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 4.0]])
    for X in (one, two):
        eigenmaps = PatchEigenmaps(n_neighbors=5)
        alone = eigenmaps.fit_transform(X)
        np.testing.assert_array_equal(eigenmaps.set_params(engine=engine).fit_transform(X), alone)


@pytest.mark.parametrize("estimator", [PatchIsomap(landmarks=30, random_state=0), PatchLLE()])
def test_copies_of_a_row_have_the_places_of_one_process(engine, estimator, roll, new_points):
    X = np.concatenate([roll[:90], np.tile(roll[:1], (40, 1))])
    estimator = clone(estimator)
    alone, mapped = estimator.fit_transform(X), estimator.transform(new_points)
    estimator.set_params(engine=engine).fit(da.from_array(X, chunks=(50, 3)))
    assert_alike(estimator.embedding_.compute(), alone)
    assert_alike(estimator.transform(new_points), mapped)


def test_components_are_joined_as_in_one_process(engine):
    rng = np.random.default_rng(0)
    far = [rng.normal(size=(90, 3)), rng.normal(size=(80, 3)) + 60, [[300.0, 0.0, 0.0]]]
    X = np.concatenate(far)[rng.permutation(171)]
    isomap = PatchIsomap(divergence="euclidean", landmarks=50, random_state=0, n_neighbors=5)
    with pytest.warns(UserWarning, match="components"):
        alone = isomap.fit_transform(X)
    isomap.set_params(engine=engine)
    with pytest.warns(UserWarning, match="3 components|2 components"):
        isomap.fit(da.from_array(X, chunks=(50, 3)))
    assert_alike(isomap.embedding_.compute(), alone)


# ---------------------------------------------------------------- what there is not


def test_a_fit_on_a_cluster_says_what_it_does_not_have(engine, roll):
    isomap = PatchIsomap(divergence="euclidean", landmarks=20, engine=engine)
    with pytest.raises(TypeError, match="a client of a cluster cannot be pickled or saved; set"):
        pickle.dumps(isomap)
    isomap.fit(roll)
    with pytest.raises(
        TypeError, match="lives there and cannot be pickled or saved; bring it here"
    ):
        pickle.dumps(isomap)
    for ask in (
        lambda: isomap.patches_,
        isomap.trust,
        isomap.bridges,
        lambda: isomap.inverse_transform(isomap.embedding_[:2]),
        lambda: isomap.local_loadings(roll[:2]),
        lambda: isomap.off_manifold(roll[:2]),
    ):
        with pytest.raises(
            AttributeError, match=r"a fit on a cluster has no .* bring it here with"
        ):
            ask()
    with pytest.raises(ValueError, match="no rows to a fit on a cluster; fit all rows again"):
        isomap.partial_fit(roll[:5])


def test_a_clone_has_the_same_client(engine):
    isomap = PatchIsomap(n_neighbors=7, engine=engine).set_output(transform="pandas")
    copy = clone(isomap)
    assert copy is not isomap
    assert copy.get_params() == isomap.get_params()
    assert copy.engine is engine
    assert copy._sklearn_output_config == isomap._sklearn_output_config


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"graph": "divergence"}, "use graph='neighbors'"),
        ({"supervision": "cut", "divergence": "euclidean"}, "use a divergence of patches"),
        ({"knn": (np.zeros((2, 1), int), np.ones((2, 1)))}, "use 'auto'"),
        ({"knn": KNeighborsTransformer()}, "use 'auto', 'exact' or 'approximate'"),
        ({"metric": "cosine"}, "divide rows by their length first"),
        ({"out_of_sample": "krr"}, "use 'nystrom'"),
        ({"divergence": "precomputed"}, "give points"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(in_one_place, roll, parameters, message):
    with pytest.raises(ValueError, match=f"does not work on a cluster; {message}"):
        PatchIsomap(engine=in_one_place, **parameters).fit(roll)


def test_sparse_rows_and_measured_values_are_refused(in_one_place, roll):
    with pytest.raises(ValueError, match="a measured y does not work on a cluster; give classes"):
        PatchIsomap(engine=in_one_place, supervision="cut").fit(roll, roll[:, 0])
    with pytest.raises(ValueError, match="a sparse X does not work on a cluster"):
        PatchIsomap(engine=in_one_place).fit(csr_array(roll))


def test_new_rows_with_other_columns_are_refused(in_one_place, roll):
    frame = pd.DataFrame(roll, columns=["x", "y", "z"])
    lle = PatchLLE(divergence="euclidean", engine=in_one_place)
    lle.fit(dd.from_pandas(frame, npartitions=2))
    with pytest.raises(ValueError, match="feature names"):
        lle.transform(dd.from_pandas(frame.rename(columns={"x": "w"}), npartitions=2))
    with pytest.raises(ValueError, match=r"shape .260,.; give rows and columns"):
        lle.transform(da.from_array(roll[:, 0]))


def test_what_works_in_one_process_does_not_gather_dask_arrays(roll):
    rows = da.from_array(roll)
    with pytest.raises(TypeError, match="use a sample of it"):
        PatchSpace().fit(rows)
    with pytest.raises(TypeError, match="use blocks of it"):
        PatchSpace().fit(roll).transform(rows)
    isomap = PatchIsomap(divergence="euclidean").fit(roll)
    with pytest.raises(TypeError, match=r"use X.map_blocks\(estimator.transform\)"):
        isomap.transform(rows)


def test_dask_arrays_without_a_cluster_and_with_threads_are_refused(roll):
    with pytest.raises(TypeError, match="engine='threads' does not work on a cluster"):
        PatchIsomap(engine="threads").fit(da.from_array(roll))
