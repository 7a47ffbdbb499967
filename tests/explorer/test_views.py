"""A view has the plane, the graph and the ellipses of one fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, triu
from sklearn.base import clone

from explorer_pages import data_of, roll, store_of, unpacked
from patchfold import GaussianPatch, PatchIsomap, divergences
from patchfold.explorer import embeddings, explore, views
from patchfold.explorer.packing import ArrayStore

if TYPE_CHECKING:
    import pytest


def test_the_reference_is_the_middle_k_of_the_first_divergence_of_patches() -> None:
    X, _ = roll(60)
    fits = embeddings.fit_all(
        X,
        ["isomap"],
        ["euclidean", "hellinger", "kl"],
        [5, 7, 9],
        n_jobs=None,
        random_state=0,
        step=lambda _: None,
    )
    assert views._reference(fits) == 4
    made = views.views_of(fits, X)
    np.testing.assert_allclose(made[4].plane, fits[4].plane, atol=1e-9)


def test_a_view_has_every_edge_of_the_graph_once() -> None:
    X, _ = roll(60)
    page = explore(X, n_neighbors=[6], divergences=["kl"])
    graph = PatchIsomap(n_neighbors=6).fit(X).graph_
    data = data_of(page)
    store = store_of(page)
    packed = data["views"][0]["graph"]
    degrees = unpacked(store, packed["degrees"]).astype(int)
    rows = np.repeat(np.arange(60), degrees)
    columns = unpacked(store, packed["targets"]).astype(int)
    expected = triu(graph, k=1).toarray()
    got = csr_array((unpacked(store, packed["lengths"]), (rows, columns)), (60, 60)).toarray()
    np.testing.assert_allclose(got, expected, rtol=2e-4)
    assert packed["edges"] == len(columns) == graph.nnz // 2


def test_edges_of_the_classical_method_are_coloured_by_divergence() -> None:
    X, _ = roll(200)
    page = explore(X, n_neighbors=[20])
    euclidean, kl = (view["graph"] for view in data_of(page)["views"])
    assert euclidean["measure"] == kl["measure"] == "kl"
    assert euclidean["colours"] != euclidean["lengths"]
    # The classical graph has edges more: those that are short circuits.
    assert euclidean["edges"] > kl["edges"]
    patches = PatchIsomap(n_neighbors=20).fit(X).patches_
    store = store_of(page)
    for graph in (euclidean, kl):
        degrees = unpacked(store, graph["degrees"]).astype(int)
        i, j = np.repeat(np.arange(200), degrees), unpacked(store, graph["targets"]).astype(int)
        expected = divergences.paired(patches, i, j, "kl")
        np.testing.assert_allclose(unpacked(store, graph["colours"]), expected, rtol=2e-4)


def test_colours_are_divergences_also_where_lengths_are_none() -> None:
    X, _ = roll(60)
    given = PatchIsomap(n_neighbors=6, patch=GaussianPatch())
    fitted = clone(given).set_params(lengths="divergence").fit(X)
    plain = data_of(explore(X, embeddings={"a": fitted}))["views"][0]["graph"]
    assert plain["colours"] == plain["lengths"]
    fitted = given.fit(X)
    page = explore(X, embeddings={"a": fitted})
    stretched = data_of(page)["views"][0]["graph"]
    assert stretched["colours"] != stretched["lengths"]
    store = store_of(page)
    degrees = unpacked(store, stretched["degrees"]).astype(int)
    i, j = np.repeat(np.arange(60), degrees), unpacked(store, stretched["targets"]).astype(int)
    assert fitted.patches_ is not None
    expected = divergences.paired(fitted.patches_, i, j, "kl")
    np.testing.assert_allclose(unpacked(store, stretched["colours"]), expected, rtol=2e-4)


def test_trust_is_by_the_metric_of_each_fit() -> None:
    X = np.random.default_rng(0).standard_normal((60, 3)) + 1
    X *= np.geomspace(1, 50, 60)[:, None]  # near by direction is not near by place
    fits = {
        metric: PatchIsomap(n_neighbors=8, metric=metric).fit(X)
        for metric in ("euclidean", "cosine")
    }
    page = explore(X, embeddings=fits)
    store = store_of(page)
    for view, fitted in zip(data_of(page)["views"], fits.values(), strict=True):
        np.testing.assert_allclose(unpacked(store, view["trust"]) / 255, fitted.trust(), atol=0.01)
    assert "trust is by the cosine metric, as the fit" in page.notes[-1]


def test_lengths_stay_finite_in_single_precision_and_zero_has_no_sign() -> None:
    got = views._single(np.array([-0.0, 1e300, 0.5]))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [0, np.finfo(np.float32).max, 0.5])
    assert not np.signbit(got).any()


def test_a_graph_of_too_many_edges_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, _ = roll(30)
    fits = embeddings.fit_all(
        X, ["isomap"], ["kl"], [5], n_jobs=None, random_state=0, step=lambda _: None
    )
    (view,) = views.views_of(fits, X)
    n_edges = fits[0].graph.nnz
    monkeypatch.setattr(views, "MOST_EDGES", n_edges - 1)
    assert views.pack_view(view, ArrayStore())["graph"] == {"edges": n_edges}
    monkeypatch.setattr(views, "MOST_EDGES", n_edges)
    assert "targets" in views.pack_view(view, ArrayStore())["graph"]
