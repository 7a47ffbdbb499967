"""The fits of a page are those of the estimators, with their warnings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import LocallyLinearEmbedding

from explorer_pages import data_of, roll, store_of, turned, unpacked
from patchfold import PatchSpace
from patchfold.embedding.methods import METHODS
from patchfold.explorer import embeddings, explore
from patchfold.explorer.views import placed


def test_warnings_of_fits_become_notes() -> None:
    X = np.concatenate([np.eye(5), 100 + np.eye(5)])
    data = data_of(explore(X, n_neighbors=[2], divergences=["euclidean"]))
    assert "2 components" in data["views"][0]["notes"][0]


def test_notes_say_whose_they_are_each_once() -> None:
    X = np.concatenate([np.eye(5), 100 + np.eye(5)])
    (note,) = explore(X, n_neighbors=[2], methods=["isomap", "eigenmaps"]).notes
    assert note.startswith("isomap, euclidean, k = 2 and 3 more: ")


@pytest.mark.parametrize("method", METHODS)
def test_the_fits_are_those_of_the_estimators(method: str) -> None:
    X, _ = roll(150)
    grid = {"methods": [method], "n_neighbors": [12]}
    view = data_of(page := explore(X, divergences=["kl"], **grid))["views"][0]
    fitted = METHODS[method](n_neighbors=12, random_state=0).fit(X)
    got = unpacked(store_of(page), view["positions"]).reshape(-1, 2)
    np.testing.assert_allclose(got, placed(fitted.embedding_), atol=1e-4)


def test_classical_lle_is_scikit_learns() -> None:
    X, _ = roll(100)
    page = explore(X, methods=["lle"], divergences=["euclidean"], n_neighbors=[10])
    got = unpacked(store_of(page), data_of(page)["views"][0]["positions"]).reshape(-1, 2)
    theirs = LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit_transform(X)
    np.testing.assert_allclose(turned(placed(theirs), got), got, atol=1e-3)


def test_the_slider_has_fewer_steps_for_many_points() -> None:
    assert embeddings.slider(20_000) == (6, 10, 15, 20, 30)
    assert embeddings.slider(50_000) == (10, 15, 20)
    assert embeddings.slider(200_000) == (15,)


def test_no_patch_of_the_slider_has_more_than_half_of_the_points() -> None:
    for n in range(3, 70):
        assert 1 <= max(embeddings.slider(n)) <= max(n // 2, 1)
    X, _ = roll(7)
    assert explore(X).notes == []


@pytest.mark.slow
def test_patches_that_would_fill_memory_are_of_principal_components() -> None:
    few, notes = embeddings.compressed(np.ones((100, 784)))
    assert few.shape == (100, 784)
    assert notes == ()
    # Rows that take no memory, as they are all the same.
    n = 1 + embeddings.MOST_BYTES // (embeddings.DIRECTIONS * 4 * 120)
    factors = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    rows = factors @ np.random.default_rng(1).normal(size=(3, 120)).astype(np.float32)
    points, (note,) = embeddings.compressed(rows[np.arange(n) % 200])
    assert points.shape == (n, embeddings.COMPONENTS)
    assert points.dtype == np.float32
    assert note.startswith("fitted to the leading 100 principal components of the 120 features")
    assert "which hold 100% of the variance" in note
    np.testing.assert_allclose(
        cdist(points[:20], points[:20]), cdist(rows[:20], rows[:20]), rtol=1e-3, atol=1e-3
    )


def test_the_classical_view_shows_the_patches_of_the_other() -> None:
    X, _ = roll(60)
    silent = {"n_jobs": None, "random_state": 0, "step": lambda _: None}
    (alone,) = embeddings.fit_all(X, ["isomap"], ["euclidean"], [8], **silent)
    both = embeddings.fit_all(X, ["isomap"], ["euclidean", "kl"], [8], **silent)
    assert [one.divergence for one in both] == ["euclidean", "kl"]
    np.testing.assert_array_equal(both[0].ellipses, alone.ellipses)
    np.testing.assert_array_equal(both[0].colours, alone.colours)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_page_knows_what_patches_know_once(copies: int) -> None:
    X = np.repeat(roll(60)[0], copies, axis=0)
    silent = {"n_jobs": None, "random_state": 0, "step": lambda _: None}
    fits = embeddings.fit_all(X, ["isomap"], ["euclidean", "kl"], [8, 12], **silent)
    (known,) = [one.known for one in fits if one.known]
    space = PatchSpace(n_neighbors=12).fit(X)
    np.testing.assert_allclose(known["local dimension"], space.patches_.dimension())
    np.testing.assert_allclose(known["log density"], space.patches_.log_density())
    np.testing.assert_allclose(known["strangeness"], -space.score_samples(X), atol=1e-9)
    assert embeddings.known_of(PatchSpace(divergence="euclidean").fit(X), X) == {}


def test_what_patches_know_stands_beside_the_columns_and_never_for_one() -> None:
    X, _ = roll(40)
    values = np.arange(40.0)
    page = explore(X, n_neighbors=[8], columns={"log density": values})
    names = [column["name"] for column in data_of(page)["columns"]]
    assert {"local dimension", "strangeness"} < set(names)
    assert names.count("log density") == 1
