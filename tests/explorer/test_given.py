"""Coordinates of any origin stand on a page: arrays, estimators of others, an AnnData."""

from __future__ import annotations

import re
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold
from explorer_pages import data_of, roll, store_of, unpacked
from patchfold import PatchIsomap, PatchSpace
from patchfold.analysis.trust import pointwise_trust
from patchfold.base.row_metric import in_metric
from patchfold.explorer import Explorer, explore
from patchfold.explorer.given import OFFER, coordinates
from patchfold.explorer.views import placed


def places_of(page: Explorer, view: Any) -> Any:
    return unpacked(store_of(page), view["positions"]).reshape(-1, 2)


def test_coordinates_of_any_origin_are_shown_as_they_are() -> None:
    X, t = roll(60)
    pipeline = make_pipeline(StandardScaler(), Isomap(n_neighbors=8)).fit(X)
    given = {
        "mine": np.column_stack([t, X[:, 1]]),
        "list": X[:, :2].tolist(),
        "float32": X[:, 1:].astype(np.float32),
        "one": X[:, :1],
        "pipeline": pipeline,
        "others": LocallyLinearEmbedding(n_neighbors=8).fit(X),
        "ours": PatchIsomap(n_neighbors=8).fit(X),
    }
    page = explore(X, t, embeddings=given)
    views = data_of(page)["views"]
    assert [view["method"] for view in views] == list(given)
    np.testing.assert_allclose(places_of(page, views[0]), placed(given["mine"]), atol=5e-5)
    assert explore(X, t, embeddings=given).html == page.html


def test_patches_are_fitted_once_for_all_that_has_none() -> None:
    X, t = roll(60)
    plane = np.column_stack([t, X[:, 1]])
    page = explore(X, embeddings={"a": plane, "b": plane[:, ::-1], "c": X[:, :2]})
    first, *others = data_of(page)["views"]
    # A page keeps equal arrays once: the same graph has the same number.
    assert all(view["graph"] == first["graph"] for view in others)
    space = PatchSpace(n_neighbors=15, random_state=0).fit(X)
    assert first["graph"]["edges"] == space.graph_.nnz // 2
    assert first["graph"]["measure"] == "kl"
    assert first["ellipses"] is not None
    assert first["notes"] == [
        "coordinates as given; edges and patches are of X, with 15 neighbours"
    ]
    assert page.notes == [f"a and 2 more: {first['notes'][0]}"]


def test_trust_is_of_the_points_and_the_coordinates() -> None:
    X, t = roll(60)
    plane = placed(np.column_stack([t, np.random.default_rng(0).normal(size=60)]))
    page = explore(X, embeddings={"mine": plane})
    got = unpacked(store_of(page), data_of(page)["views"][0]["trust"])
    (expected,) = pointwise_trust(X, [plane])
    np.testing.assert_array_equal(got, np.round(255 * expected).astype(np.uint8))


def test_coordinates_alone_are_their_own_points() -> None:
    X, _ = roll(40)
    page = explore(None, embeddings={"map": X[:, :2]})
    assert page.notes[0] == (
        "without X, neighbours, patches and trust are those of the coordinates 'map'"
    )
    assert unpacked(store_of(page), data_of(page)["views"][0]["trust"]).min() == 255


@pytest.fixture
def cells() -> Any:
    X, t = roll(50)
    obs = pd.DataFrame(
        {"type": pd.Categorical(np.where(t > 9, "B", "T")), "t": t},
        index=[f"cell {row}" for row in range(50)],
    )
    adata = anndata.AnnData(np.abs(X), obs=obs)
    adata.obsm["X_umap"] = X[:, :2]
    adata.obsm["spatial"] = X[:, 1:]
    adata.obsm["X_pca"] = PCA(3).fit_transform(X)
    adata.obsm["X_many"] = np.ones((50, 9))
    return adata


def test_an_anndata_has_points_coordinates_columns_and_names(cells: Any) -> None:
    page = explore(cells, "type")
    data = data_of(page)
    assert [view["method"] for view in data["views"]] == ["umap", "spatial"]
    assert data["ids"]["texts"][:2] == ["cell 0", "cell 1"]
    assert [column["name"] for column in data["columns"]] == [
        *("type", "t"),
        *("pca 1", "pca 2", "pca 3"),
        *("local dimension", "log density", "strangeness"),
    ]
    assert page.notes[0] == "the points are obsm['X_pca'] of the AnnData"
    assert page.notes[1:3] == ["the maps of the AnnData are umap, spatial", OFFER]
    assert OFFER.startswith('methods=["isomap"] adds a map of patches')
    more = explore(cells, embeddings={"patches": PatchIsomap(n_neighbors=8).fit(cells.X)})
    assert [view["method"] for view in data_of(more)["views"]] == ["umap", "spatial", "patches"]
    assert OFFER not in more.notes


def test_methods_stand_beside_the_coordinates_of_an_anndata(cells: Any) -> None:
    page = explore(cells, methods=["isomap"], n_neighbors=[9])
    views = data_of(page)["views"]
    assert [view["method"] for view in views] == ["PatchIsomap", "umap", "spatial"]
    assert OFFER not in page.notes
    fit = PatchIsomap(n_neighbors=9, random_state=0).fit(cells.obsm["X_pca"])
    assert views[0]["graph"]["edges"] == fit.graph_.nnz // 2
    by_hand = data_of(explore(cells, embeddings={"mine": fit}))["views"]
    shown, expected = (
        unpacked(store_of(made), view["trust"])
        for made, view in ((page, views[0]), (explore(cells, embeddings={"mine": fit}), by_hand[2]))
    )
    np.testing.assert_array_equal(shown, expected)


def test_coordinates_are_not_turned_onto_the_map_of_patches_before_them(cells: Any) -> None:
    page = explore(cells, methods=["isomap"], n_neighbors=[9])
    umap = data_of(page)["views"][1]
    np.testing.assert_allclose(places_of(page, umap), placed(cells.obsm["X_umap"]), atol=5e-5)


def test_what_a_fit_beside_coordinates_has_to_say_is_a_note() -> None:
    apart = np.vstack([np.random.default_rng(0).normal(size=(20, 3)) + 50 * far for far in (0, 1)])
    page = explore(apart, embeddings={"plane": apart[:, :2]}, methods=["isomap"], n_neighbors=[5])
    assert page.notes[0].startswith("PatchIsomap: the neighbourhood graph has 2 components")


def test_what_anndata_isomap_has_written_is_shown(cells: Any) -> None:
    patchfold.anndata.isomap(cells, n_neighbors=9)
    views = data_of(explore(cells))["views"]
    assert [view["method"] for view in views] == ["umap", "spatial", "patch_isomap"]


def test_methods_of_the_same_name_as_coordinates_are_shown_beside_them() -> None:
    X, _ = roll(40)
    given = {"PatchLLE": X[:, :2], "b": X[:, 1:]}
    page = explore(X, embeddings=given, methods=["lle", "isomap"], divergences=["euclidean", "kl"])
    assert [view["method"] for view in data_of(page)["views"]] == [
        *("PatchLLE (fitted)", "PatchLLE", "PatchIsomap", "b")
    ]
    assert {view["graph"]["measure"] for view in data_of(page)["views"]} == {"kl"}


@pytest.mark.parametrize(
    ("coordinates", "remedy"),
    [
        (["X_umap"], "(embeddings={'umap': ...} with X=None shows the coordinates alone)"),
        ([], "(explore(adata.X) insists on all variables)"),
    ],
)
def test_cells_with_many_variables_alone_are_refused_at_once(
    coordinates: list[str], remedy: str
) -> None:
    rng = np.random.default_rng(0)
    obsm = {name: rng.normal(size=(30, 2)) for name in coordinates}
    adata = anndata.AnnData(rng.poisson(1.0, (30, 60)).astype(np.float32), obsm=obsm)
    message = (
        "the AnnData has 60 variables and nothing to compare cells by in .obsm, such as 'X_pca'; "
        f"run scanpy.pp.pca(adata) first {remedy}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        explore(adata)
    bare = anndata.AnnData(obs=adata.obs, obsm=obsm)
    with pytest.raises(ValueError, match="the AnnData has no X and nothing to compare cells by"):
        explore(bare)


def test_an_anndata_without_coordinates_is_embedded(cells: Any) -> None:
    del cells.obsm
    page = explore(cells, n_neighbors=[8])
    assert [view["divergence"] for view in data_of(page)["views"]] == ["euclidean", "kl"]
    assert page.notes[0].startswith("the points are all 3 variables of the AnnData")


X30, T30 = roll(30)


def test_a_fitted_transformer_gives_the_coordinates_of_the_points() -> None:
    scaled = make_pipeline(StandardScaler(), PCA(2)).fit(X30)
    for fitted in (PCA(2).fit(X30), scaled):
        found = coordinates("map", fitted, X30)
        np.testing.assert_array_equal(found, fitted.transform(X30))
    page = explore(X30, embeddings={"PCA": PCA(2).fit(X30), "scaled": scaled})
    assert [view["method"] for view in data_of(page)["views"]] == ["PCA", "scaled"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embeddings": {}}, "embeddings is empty"),
        ({"embeddings": {"a": PCA(2)}}, "embeddings['a'] is a PCA that is not fitted; fit it"),
        ({"embeddings": {"a": PCA(2).fit(X30[:, :2])}}, "embeddings['a'] does not map X (X has 3"),
        ({"embeddings": {"a": TSNE()}}, "embeddings['a'] is a TSNE without embedding_; fit it"),
        ({"embeddings": {"a": X30[:20]}}, "coordinates of 20 points and X has 30"),
        ({"embeddings": {"a": np.full((30, 2), np.nan)}}, "embeddings['a'] contains NaN"),
        ({"y": "kind", "columns": {"t": T30}}, "y='kind' is none of the columns ('t')"),
    ],
)
def test_what_is_wrong_with_coordinates_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        explore(X30, **arguments)
    with pytest.raises(ValueError, match="X is None; give points, or coordinates"):
        explore(None)


def test_a_page_is_made_by_the_metric_that_is_named() -> None:
    random = np.random.default_rng(0)
    angles = np.sort(random.uniform(0, 1.2, 80))
    directions = np.column_stack([np.cos(angles), np.sin(angles), 0.05 * random.normal(size=80)])
    X = directions * random.uniform(1, 30, (80, 1))
    cosine = PatchIsomap(n_neighbors=8, metric="cosine", random_state=0).fit(X)
    for page in (
        explore(X, embeddings={"mine": cosine.embedding_}, metric="cosine"),
        explore(X, n_neighbors=[8], divergences=["kl"], metric="cosine"),
    ):
        (view,), store = data_of(page)["views"], store_of(page)
        (expected,) = pointwise_trust(in_metric(X, "cosine"), [placed(cosine.embedding_)])
        assert np.abs(unpacked(store, view["trust"]) - 255 * expected).max() <= 1
    # The features stay those that were given.
    assert np.abs(unpacked(store, data_of(page)["columns"][0]["values"]) - X[:, 0]).max() < 1e-3
