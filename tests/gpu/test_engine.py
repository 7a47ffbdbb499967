"""``engine="cuda"``: the same fits as in threads, on tensors; here on torch's CPU device."""

from __future__ import annotations

import io
import pickle
import sys
import warnings

import numpy as np
import pytest
import sklearn
import torch
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    divergences,
    papers,
)
from patchfold.base import threads
from patchfold.datasets import make_manifold
from patchfold.gpu import devices
from patchfold.neighbors import ApproximateNeighbors, exact
from patchfold.neighbors.protocol import moved
from patchfold.patches.covariances import ESTIMATES
from patchfold.solvers import scaling

ROLL = make_manifold("swiss-roll", 540, random_state=0, noise=0.5).X
X, NEW = ROLL[:500], ROLL[500:]


def assert_same_fit(one, other, *, lengths=1e-5):
    """Check what issue and guide promise of a fit on a GPU beside one in threads."""
    first, second = one.patch_graph_, other.patch_graph_
    np.testing.assert_array_equal(first.neighborhoods.indices, second.neighborhoods.indices)
    np.testing.assert_array_equal(first.removed, second.removed)
    np.testing.assert_array_equal(first.matrix.indices, second.matrix.indices)
    np.testing.assert_allclose(first.matrix.data, second.matrix.data, rtol=lengths)
    assert correlation(one.embedding_, other.embedding_) > 0.9999


def correlation(one, other):
    return spearmanr(pdist(one), pdist(other))[0]


def both(estimator, X=X, y=None):
    fits = []
    for engine in ("threads", "cuda"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fits.append(estimator.__sklearn_clone__().set_params(engine=engine).fit(X, y))
    return fits


# ---------------------------------------------------------------- agreement


@pytest.mark.parametrize(
    "estimator",
    [
        PatchIsomap(landmarks=60),
        PatchIsomap(scaling="classical"),
        PatchIsomap(3, n_neighbors=25, landmarks=None),
        PatchEigenmaps(),
        PatchEigenmaps(bandwidth="median", laplacian="unnormalized"),
        PatchLLE(),
        PatchTSNE(n_iter=20, random_state=0),
        PatchIsomap(divergence="euclidean", landmarks=60),
        PatchIsomap(graph="divergence", landmarks=60),
        PatchIsomap(patch=GaussianPatch("adaptive"), landmarks=60),
    ],
    ids=repr,
)
def test_a_fit_on_a_device_is_the_fit_in_threads(cpu, estimator):
    one, other = both(estimator)
    assert_same_fit(one, other)
    np.testing.assert_allclose(one.transform(NEW), other.transform(NEW), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "preset", [papers.isomap_kl(), papers.x_isomap(), papers.elap(), papers.pelle()], ids=repr
)
def test_the_presets_of_the_papers_work_on_a_device(cpu, preset):
    rows = make_manifold("swiss-roll", 200, random_state=1).X
    one, other = both(preset, rows)
    np.testing.assert_allclose(one.graph_.toarray(), other.graph_.toarray(), rtol=1e-5)
    assert correlation(one.embedding_, other.embedding_) > 0.9999


def test_float32_agrees(cpu):
    one, other = both(PatchIsomap(landmarks=60), X.astype(np.float32))
    assert one.embedding_.dtype == other.embedding_.dtype == np.float32
    assert_same_fit(one, other, lengths=1e-4)


def test_labels_and_copies_count_as_in_threads(cpu):
    rows, y = np.concatenate([X, X[:30]]), np.arange(530) % 3
    y[500:] = y[:30]
    one, other = both(PatchIsomap(supervision="dissimilarity", landmarks=60), rows, y)
    np.testing.assert_allclose(one.graph_.toarray(), other.graph_.toarray(), rtol=1e-5)
    assert correlation(one.embedding_, other.embedding_) > 0.9999
    np.testing.assert_allclose(one.transform(NEW), other.transform(NEW), rtol=1e-4)


def test_eigenvectors_are_found_on_the_device(cpu, monkeypatch):
    from patchfold.gpu.eigenvectors import Filtered

    degrees = []
    monkeypatch.setattr(
        Filtered,
        "filter",
        lambda self, degree, plain=Filtered.filter: degrees.append(degree) or plain(self, degree),
    )
    rows = make_manifold("swiss-roll", 1300, random_state=0).X
    one, other = both(PatchEigenmaps(4), rows)
    assert degrees
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)
    assert_same_fit(one, other)


def test_eigenvectors_of_a_graph_in_parts(cpu):
    rows = make_manifold("swiss-roll", 1300, random_state=0).X
    rows[650:] += 1000
    y = np.arange(1300) // 650
    one, other = both(PatchEigenmaps(2, supervision="cut"), rows, y)
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6, atol=1e-12)
    assert_same_fit(one, other)


def test_stress_of_many_points_is_as_low_on_a_device(monkeypatch):
    monkeypatch.setattr(scaling, "SAMPLED_FROM", 300)
    monkeypatch.setattr(scaling, "SAMPLE", 150)
    squared = np.square(np.linalg.norm(X[:, None] - X, axis=2) / 40)
    start = X[:, :2] - X[:, :2].mean(axis=0)
    expected = scaling.least_stress(squared.copy(), start)
    found = scaling.least_stress(torch.asarray(squared.copy()), start)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_classical_scaling_of_many_points_on_a_device():
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    few = scaling.eigenvectors.Limits(dense=10)
    expected = scaling.classical_mds(distances.copy(), 3, limits=few)
    found = scaling.classical_mds(torch.asarray(distances.copy()), 3, limits=few)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_two_fits_have_the_same_bits(cpu):
    one, other = (PatchIsomap(engine="cuda", landmarks=60).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.graph_.data, other.graph_.data)


# ---------------------------------------------------------------- another device


def test_the_stand_in_refuses_to_mix_devices(elsewhere):
    there = torch.arange(3.0, device=elsewhere)
    assert torch.equal((there + 1).cpu(), torch.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError, match="two devices"):
        there + torch.arange(3.0)


@pytest.mark.parametrize(
    "estimator", [PatchIsomap(landmarks=40), PatchIsomap(), PatchEigenmaps()], ids=repr
)
def test_nothing_is_left_behind_on_the_host(elsewhere, estimator):
    one, other = both(estimator, X[:300])
    assert_same_fit(one, other)
    np.testing.assert_allclose(one.transform(NEW), other.transform(NEW), rtol=1e-4)


def test_eigenvectors_leave_nothing_behind(elsewhere):
    one, other = both(PatchEigenmaps(), make_manifold("swiss-roll", 1100, random_state=0).X)
    assert_same_fit(one, other)


@pytest.mark.parametrize("covariance", sorted(set(ESTIMATES) - {"empirical"}))
def test_every_covariance_and_divergence_works_on_another_device(elsewhere, covariance):
    rows = np.random.default_rng(0).standard_normal((40, 6))
    for size in (4, 12):  # factored and full
        patch = GaussianPatch(size=size, covariance=covariance, rank=2)
        expected, found = patch.fit(rows), patch.fit(torch.asarray(rows, device=elsewhere))
        assert found.means.device.type == elsewhere
        i, j = np.triu_indices(40, 1)
        for name in divergences.NAMES:
            values = divergences.paired(found, i, j, name).cpu()
            reference = divergences.paired(expected, i, j, name)
            np.testing.assert_allclose(values, reference, rtol=1e-7, atol=1e-9)
    pairs = divergences.pairwise(found, "kl").cpu()
    np.testing.assert_allclose(pairs, divergences.pairwise(expected, "kl"), rtol=1e-7)


# ---------------------------------------------------------------- tensors in and out


def test_tensors_come_back_as_tensors_of_their_device(elsewhere):
    there = torch.asarray(X[:300], device=elsewhere)
    isomap = PatchIsomap(landmarks=40)  # "auto" follows the tensor
    places = isomap.fit_transform(there)
    assert places.device.type == isomap.transform(there).device.type == elsewhere
    np.testing.assert_array_equal(places.cpu(), isomap.embedding_)
    assert isinstance(isomap.embedding_, np.ndarray)
    assert isinstance(isomap.transform(X[:300]), np.ndarray)


def test_tensors_of_the_cpu_are_fitted_in_threads():
    isomap = PatchIsomap(landmarks=60)
    places = isomap.fit_transform(torch.asarray(X))
    assert isinstance(places, torch.Tensor)
    np.testing.assert_array_equal(places, PatchIsomap(landmarks=60).fit_transform(X))


def test_a_fit_has_all_that_a_fit_in_threads_has(cpu):
    one, other = both(PatchIsomap(landmarks=60))
    assert vars(one).keys() == vars(other).keys()
    for name in ("trust", "local_loadings"):
        np.testing.assert_allclose(getattr(one, name)(), getattr(other, name)(), rtol=1e-3)
    assert len(one.bridges()) == len(other.bridges())
    back = one.inverse_transform(one.embedding_[:5])
    np.testing.assert_allclose(back, other.inverse_transform(other.embedding_[:5]), rtol=1e-4)
    grown, plain = other.partial_fit(NEW), one.partial_fit(NEW)
    np.testing.assert_allclose(grown.embedding_, plain.embedding_, rtol=1e-4)


def test_a_saved_fit_needs_no_torch(cpu, monkeypatch):
    fitted = PatchIsomap(engine="cuda", landmarks=60).fit(X)
    expected = fitted.transform(NEW)
    file = io.BytesIO()
    pickle.dump(fitted.set_params(engine="threads"), file)
    assert b"torch" not in file.getvalue()
    monkeypatch.setitem(sys.modules, "torch", None)
    loaded = pickle.loads(file.getvalue())
    np.testing.assert_allclose(loaded.transform(NEW), expected, rtol=1e-6)


def test_a_search_that_does_not_see_all_points_tells_its_recall(monkeypatch):
    monkeypatch.setattr(exact, "ALL_SEEN", 400)
    search = exact.ExactNeighbors(5).on("cpu")
    search.build(X[:400]).query()
    with pytest.warns(UserWarning, match="more than 400 points.* found 100.0% of the neighbours"):
        search.build(X).query()


def test_a_space_is_built_on_the_device(cpu):
    one, other = (PatchSpace(engine=engine).fit_transform(X) for engine in ("threads", "cuda"))
    np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-5)


def test_tensors_are_worked_on_in_large_blocks():
    few = threads.block_rows(1, 1)
    with threads.large_blocks(X):
        assert threads.block_rows(1, 1) == few
    with threads.large_blocks(torch.ones(1)):
        assert threads.block_rows(1) == sklearn.get_config()["working_memory"] * 2**20 > few
        assert threads.n_threads(4) == 1


def test_rows_that_cannot_be_written_to_are_fitted(cpu):
    rows = X[:200].copy()
    rows.setflags(write=False)
    fitted = PatchIsomap(engine="cuda", landmarks=20).fit(rows)
    assert fitted.transform(NEW).shape == (40, 2)


# ---------------------------------------------------------------- refusals


def test_without_torch_a_fit_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[gpu\]'"):
        PatchIsomap(engine="cuda").fit(X)


def test_a_build_for_the_cpu_is_refused(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(ValueError, match="build of torch for CUDA"):
        PatchIsomap(engine="cuda").fit(X)


def test_a_machine_without_a_gpu_is_refused(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch finds none"):
        PatchIsomap(engine="cuda").fit(X)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_refused(cpu, dtype):
    with pytest.raises(ValueError, match="too few digits"):
        PatchIsomap().fit(torch.asarray(X).to(dtype))
    with pytest.raises(ValueError, match="float16"):
        PatchIsomap(engine="cuda").fit(X.astype(np.float16))


def test_too_little_memory_is_refused_with_the_figures(cpu, monkeypatch):
    monkeypatch.setattr(devices, "free_bytes", lambda device: 10**6)
    with pytest.raises(MemoryError, match=r"on cpu, needs about 0\.1 GB .* 0\.0 GB"):
        PatchIsomap(engine="cuda").fit(X)


@pytest.mark.parametrize(
    ("parameters", "rows", "words"),
    [
        ({"radius": 3.0, "n_neighbors": None}, X, "radius=3.0 does not .* use n_neighbors"),
        ({"n_neighbors": "auto"}, X, "n_neighbors='auto' does not .* give a number"),
        ({"knn": "approximate"}, X, "knn='approximate' does not .* use 'auto'"),
        ({"divergence": "precomputed"}, np.ones((9, 9)), "divergence='precomputed' does not"),
        ({}, csr_array(np.eye(20)), "X=a sparse matrix does not .* dense"),
    ],
)
def test_what_has_no_way_on_a_gpu_is_refused(cpu, parameters, rows, words):
    with pytest.raises(ValueError, match=words):
        PatchIsomap(engine="cuda", **parameters).fit(rows)


def test_new_points_of_an_approximate_search_are_refused():
    with pytest.raises(ValueError, match="ApproximateNeighbors, which does not run on a GPU"):
        moved(ApproximateNeighbors(15), "cpu")
