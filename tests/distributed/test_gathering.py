"""A fit on a cluster that is brought into this process is one of this process."""

from __future__ import annotations

import pickle

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

from dask_cluster import without_workers
from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, distributed

ESTIMATORS = [
    PatchIsomap(landmarks=40, random_state=3),
    PatchIsomap(landmarks=None, n_neighbors=8),
    PatchLLE(),
    PatchEigenmaps(supervision="cut"),
    PatchIsomap(landmarks=40, random_state=3, radius=9.0),
    PatchIsomap(landmarks=40, random_state=3, supervision="dissimilarity"),
    PatchIsomap(landmarks=40, random_state=3, divergence="euclidean"),
    PatchIsomap(landmarks=40, lengths="divergence", patch=GaussianPatch(8), random_state=0),
]


@pytest.fixture
def engine(monkeypatch):
    return without_workers(monkeypatch)


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(260, noise=0.5, random_state=1)[0]


def assert_close(found, expected):
    tolerance = 1e-6 * expected.std()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_gathered_fit_is_that_of_one_process_and_can_be_pickled(engine, roll, estimator, copies):
    X = np.concatenate([roll, roll[:30]]) if copies else roll
    y = (X[:, 1] > 10).astype(int)
    new = np.concatenate([make_swiss_roll(30, noise=0.5, random_state=2)[0], roll[:4]])
    alone = clone(estimator).fit(X, y)
    there = clone(estimator).set_params(engine=engine)
    there.fit(da.from_array(X, chunks=(110, 3)), y)

    here = pickle.loads(pickle.dumps(distributed.gather(there)))

    assert there.engine is engine
    assert_close(here.embedding_, alone.embedding_)
    assert_close(here.transform(new), alone.transform(new))
    np.testing.assert_array_equal(here.graph_.indices, alone.graph_.indices)
    np.testing.assert_allclose(here.graph_.data, alone.graph_.data, rtol=1e-9)
    assert_close(here.trust(), alone.trust())
    if alone.patches_ is not None:
        assert_close(here.patches_.covariances(), alone.patches_.covariances())
        assert_close(here.patches_.dimension(), alone.patches_.dimension())


def test_an_approximate_fit_is_gathered(engine, roll):
    isomap = PatchIsomap(landmarks=40, random_state=3, knn="approximate", engine=engine).fit(roll)
    here = distributed.gather(isomap)
    assert_close(here.embedding_, isomap.embedding_)
    assert_close(here.transform(roll[:5]), here.embedding_[:5])
    assert np.isfinite(here.transform(roll[:5] + 0.01)).all()


@pytest.mark.filterwarnings("ignore:the data have drifted:UserWarning")
def test_rows_are_added_to_a_gathered_fit(engine, roll):
    isomap = PatchIsomap(landmarks=40, random_state=3, engine=engine).fit(roll[:200])
    here = distributed.gather(isomap)
    alone = PatchIsomap(landmarks=40, random_state=3).fit(roll[:200])
    assert_close(here.partial_fit(roll[200:]).embedding_, alone.partial_fit(roll[200:]).embedding_)


def test_what_is_here_is_not_gathered(roll):
    with pytest.raises(ValueError, match="this PatchLLE was not fitted on a cluster"):
        distributed.gather(PatchLLE().fit(roll))
