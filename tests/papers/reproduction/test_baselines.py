"""The methods that the papers compare with are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.preprocessing import scale

from patchfold.papers.reproduction import baselines


@pytest.mark.parametrize("message", ["Factor is exactly singular", "something else"])
def test_lle_is_solved_densely_where_the_iterative_solver_meets_a_singular_matrix(
    monkeypatch, message
):
    class Picky(LocallyLinearEmbedding):
        def fit_transform(self, X, y=None):
            if self.eigen_solver != "dense":
                raise ValueError(message)
            return super().fit_transform(X, y)

    X = scale(load_wine().data)  # in one piece: of two, rounding chooses the coordinates
    expected = baselines.embed("LLE", X, n_neighbors=12)
    monkeypatch.setattr(baselines, "LocallyLinearEmbedding", Picky)
    if message == "something else":
        with pytest.raises(ValueError, match=message):
            baselines.embed("LLE", X, n_neighbors=12)
    else:
        found = baselines.embed("LLE", X, n_neighbors=12)
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-6)


def test_baselines_are_those_of_scikit_learn():
    X = scale(load_wine().data)
    for method, model in [
        ("ISO", Isomap(n_neighbors=12)),
        ("LLE", LocallyLinearEmbedding(n_neighbors=12, random_state=0)),
        ("LAP", SpectralEmbedding(n_neighbors=12, random_state=0)),
    ]:
        ours, theirs = baselines.embed(method, X, n_neighbors=12), model.fit_transform(X)
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6 * np.abs(theirs).max())


def test_isomap_puts_parts_without_a_path_at_distance_zero():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[20:] += 100
    Y = baselines.embed("ISO", X, n_neighbors=5)
    assert np.linalg.norm(Y[:20].mean(axis=0) - Y[20:].mean(axis=0)) < 5


def test_hessian_embedding_and_alignment_unroll_a_plane():
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(150, 2))
    X = plane @ rng.normal(size=(2, 4))
    for method in ("HLLE", "LTSA"):
        Y = baselines.embed(method, X, n_neighbors=12)
        design = np.column_stack([Y, np.ones(len(Y))])
        fitted = design @ np.linalg.lstsq(design, plane, rcond=None)[0]
        np.testing.assert_allclose(fitted, plane, atol=1e-4)


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="method='TSNE' is not known"):
        baselines.embed("TSNE", load_iris().data)
