"""Cells: what is read of an AnnData, and what scanpy does with what is written."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from anndata import AnnData, read_h5ad
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.sparse.csgraph import connected_components

import patchfold
from patchfold import PatchIsomap, PatchSpace, PatchTSNE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import scanpy as sc

# scanpy and what it calls warn of their own future.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Observation names are not unique:UserWarning"),
]


@pytest.fixture(scope="module")
def bundled():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = sc.datasets.pbmc68k_reduced()
        patchfold.anndata.isomap(cells)
    return cells


@pytest.fixture
def cells(bundled):
    return bundled.copy()


@pytest.fixture
def small():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 5))
    return AnnData(X, obsm={"X_pca": X[:, :3] + 1}, layers={"twice": 2 * X})


# ------------------------------------------------------------------- what scanpy does with it


@pytest.mark.slow
def test_isomap_writes_the_embedding_its_graph_and_its_trust(cells):
    isomap = PatchIsomap(random_state=0).fit(np.asarray(cells.obsm["X_pca"]))
    np.testing.assert_array_equal(cells.obsm["X_patch_isomap"], isomap.embedding_)
    np.testing.assert_array_equal(cells.obs["patch_trust"], isomap.trust())
    assert abs(cells.obsp["patch_distances"] - csr_matrix(isomap.graph_)).max() == 0
    assert cells.uns["patch"]["params"] == {
        "n_neighbors": 15,
        "method": "patchfold",
        "metric": "euclidean",
        "divergence": "kl",
        "random_state": 0,
        "use_rep": "X_pca",
    }


def test_connectivities_are_symmetric_weights_that_fall_with_the_length(cells):
    weights, lengths = cells.obsp["patch_connectivities"], cells.obsp["patch_distances"]
    assert abs(weights - weights.T).max() == 0
    assert (weights.indptr == lengths.indptr).all()
    assert 0 < weights.data.min() <= weights.data.max() <= 1
    dense = lengths.toarray()
    scale = [np.sort(row[row > 0])[min(6, (row > 0).sum() - 1)] for row in dense]
    for i, j in ((0, lengths[[0]].indices[0]), (5, lengths[[5]].indices[-1])):
        expected = np.exp(-(dense[i, j] ** 2) / (scale[i] * scale[j]))
        assert weights[i, j] == pytest.approx(expected)


@pytest.mark.slow
def test_leiden_finds_the_types_of_cells_on_the_graph(cells):
    setting = {"flavor": "igraph", "n_iterations": 2, "random_state": 0}
    sc.tl.leiden(cells, neighbors_key="patch", key_added="by_key", **setting)
    sc.tl.leiden(cells, obsp="patch_connectivities", key_added="by_graph", **setting)
    assert (cells.obs["by_key"] == cells.obs["by_graph"]).all()
    purity = patchfold.metrics.purity(cells.obs["bulk_labels"], cells.obs["by_key"])
    assert purity > 0.6
    assert 4 < cells.obs["by_key"].nunique() < 25


@pytest.mark.xdist_group("pynndescent")  # UMAP imports it, and that compiles
def test_paga_diffusion_maps_and_umap_work_on_the_graph(cells):
    sc.tl.paga(cells, groups="bulk_labels", neighbors_key="patch")
    types = cells.obs["bulk_labels"].cat.categories
    joined = cells.uns["paga"]["connectivities"].toarray()
    monocytes, dendritic, b = (
        types.get_loc(name) for name in ("CD14+ Monocyte", "Dendritic", "CD19+ B")
    )
    assert joined[monocytes, dendritic] > joined[monocytes, b]
    sc.tl.diffmap(cells, neighbors_key="patch", n_comps=5)
    assert np.isfinite(cells.obsm["X_diffmap"]).all()
    sc.tl.umap(cells, neighbors_key="patch", maxiter=5)
    assert cells.obsm["X_umap"].shape == (700, 2)


def test_the_embedding_is_drawn_by_its_name(cells):
    figure = sc.pl.embedding(cells, "patch_isomap", color="patch_trust", return_fig=True)
    assert figure.axes[0].get_xlabel() == "patch_isomap1"


@pytest.mark.slow
def test_what_is_written_goes_through_a_file(cells, tmp_path):
    patchfold.anndata.bridges(cells, "bulk_labels")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    back = read_h5ad(tmp_path / "cells.h5ad")
    assert back.uns["patch"]["connectivities_key"] == "patch_connectivities"
    assert back.uns["patch"]["params"]["n_neighbors"] == 15
    assert len(back.uns["patch_bridges"]) == len(cells.uns["patch_bridges"])
    np.testing.assert_array_equal(back.obs["patch_bridge"], cells.obs["patch_bridge"])


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has 2 components")
def test_bridges_of_a_differentiation_lead_to_doublets():
    alone = sc.datasets.krumsiek11()
    types = alone.obs["cell_type"].astype(str).to_numpy()
    rows = np.random.default_rng(0).permutation(np.flatnonzero(types != "progenitor"))
    cells = AnnData(np.vstack([alone.X, alone.X[rows[:80].reshape(2, 40)].mean(axis=0)]))
    cells.obs["cell_type"] = [*types, *["doublet"] * 40]
    patchfold.anndata.graph(cells)
    assert connected_components(cells.obsp["patch_connectivities"])[0] == 1
    found = patchfold.anndata.bridges(cells, "cell_type")
    table = cells.uns["patch_bridges"]
    assert list(table.columns[-2:]) == ["source_cell_type", "target_cell_type"]
    assert 20 < len(table) == len(found)
    ends = table[["source_cell_type", "target_cell_type"]].astype(str)
    doublets = (ends == "doublet").any(axis=1).to_numpy()
    assert doublets[:40].mean() > 0.9
    assert doublets.mean() > 2 / 3
    worst = cells.obs["patch_bridge"].to_numpy()
    assert worst.max() == found.score[0]
    assert (worst > 0).sum() == len(set(found.source) | set(found.target))


# ------------------------------------------------------------------- what is read


def test_few_variables_are_used_themselves(small):
    patchfold.anndata.graph(small, n_neighbors=6)
    expected = PatchSpace(n_neighbors=6).fit(small.X).graph_
    assert abs(csr_array(small.obsp["patch_distances"]) - expected).max() == 0
    assert small.uns["patch"]["params"]["use_rep"] == "X"


@pytest.mark.parametrize(
    ("setting", "points"),
    [
        ({"use_rep": "X_pca"}, lambda a: a.obsm["X_pca"]),
        ({"use_rep": "X_pca", "n_pcs": 2}, lambda a: a.obsm["X_pca"][:, :2]),
        ({"use_rep": "X", "n_pcs": 4}, lambda a: a.X[:, :4]),
        ({"layer": "twice"}, lambda a: a.layers["twice"]),
    ],
    ids=["obsm", "some columns", "some variables", "layer"],
)
def test_another_representation_is_used_where_it_is_named(small, setting, points):
    patchfold.anndata.isomap(small, n_neighbors=6, **setting)
    expected = PatchIsomap(n_neighbors=6).fit(points(small)).embedding_
    np.testing.assert_array_equal(small.obsm["X_patch_isomap"], expected)


def test_sparse_matrices_and_data_frames_are_points_too(small):
    expected = PatchIsomap(n_neighbors=6).fit(small.X).embedding_
    frame = small.copy()
    frame.obsm["X_frame"] = small.to_df().set_axis(small.obs_names)
    patchfold.anndata.isomap(frame, n_neighbors=6, use_rep="X_frame")
    np.testing.assert_array_equal(frame.obsm["X_patch_isomap"], expected)
    small.X = csr_matrix(small.X)
    patchfold.anndata.isomap(small, n_neighbors=6)
    np.testing.assert_array_equal(small.obsm["X_patch_isomap"], expected)
    assert issparse(small.X)


def test_tsne_has_its_own_trust(small):
    patchfold.anndata.tsne(small, perplexity=8, n_iter=20)
    expected = PatchTSNE(perplexity=8, n_iter=20, random_state=0).fit(small.X)
    np.testing.assert_array_equal(small.obsm["X_patch_tsne"], expected.embedding_)
    np.testing.assert_array_equal(small.obs["patch_tsne_trust"], expected.trust())
    assert "patch_trust" not in small.obs


@pytest.mark.filterwarnings("ignore:.*samples (have fewer|span):UserWarning")
def test_two_cells_have_no_other_neighbours_to_mistrust():
    cells = AnnData(np.eye(2, 3))
    patchfold.anndata.isomap(cells)
    assert cells.obs["patch_trust"].tolist() == [1.0, 1.0]


def test_a_view_becomes_an_object_of_its_own(small):
    view = small[::2]
    patchfold.anndata.isomap(view, n_neighbors=6)
    assert not view.is_view
    assert view.obsm["X_patch_isomap"].shape == (30, 2)
    assert "X_patch_isomap" not in small.obsm


def test_a_copy_is_returned_where_it_is_asked_for(small):
    for function in (patchfold.anndata.graph, patchfold.anndata.isomap):
        found = function(small, n_neighbors=6, copy=True)
        assert "patch" in found.uns
        assert "patch" not in small.uns
    assert patchfold.anndata.tsne(small, perplexity=8, n_iter=5, copy=True).n_obs == 60


def test_names_begin_with_the_key(small):
    patchfold.anndata.isomap(small, n_neighbors=6, key_added="mine", divergence="hellinger")
    patchfold.anndata.bridges(small, n_neighbors=6, key_added="mine")
    assert {"mine_trust", "mine_bridge"} <= set(small.obs.columns)
    assert "X_mine_isomap" in small.obsm
    assert small.uns["mine"]["distances_key"] == "mine_distances"
    assert small.uns["mine"]["params"]["divergence"] == "hellinger"
    assert "mine_bridges" in small.uns


def test_a_file_is_read_by_what_is_in_memory(small, tmp_path):
    small.write_h5ad(tmp_path / "cells.h5ad")
    backed = read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(
        TypeError, match=r"use_rep='X' is a Dataset that is not in memory; use adata"
    ):
        patchfold.anndata.isomap(backed, n_neighbors=6)
    patchfold.anndata.isomap(backed, n_neighbors=6, use_rep="X_pca")
    assert backed.obsm["X_patch_isomap"].shape == (60, 2)
    backed.file.close()


# ------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"use_rep": "X_umap"}, "use_rep='X_umap' is not in adata; choose from 'X', 'X_pca'"),
        ({"layer": "raw"}, "layer='raw' is not in adata; choose from 'twice'"),
        ({"use_rep": "X", "layer": "twice"}, "use_rep='X' and layer='twice' exclude each other"),
        ({"n_pcs": 9}, "n_pcs=9 is more than the 5 columns of the representation; lower it"),
        ({"n_pcs": 0}, "n_pcs=0 is too small; give at least 1"),
    ],
)
def test_what_is_not_there_is_named(small, setting, message):
    with pytest.raises(ValueError, match=message):
        patchfold.anndata.graph(small, **setting)


def test_many_variables_without_principal_components_are_refused():
    cells = AnnData(np.random.default_rng(0).normal(size=(20, 60)))
    with pytest.raises(
        ValueError, match=r"60 variables and no .obsm\['X_pca'\]; run scanpy.pp.pca"
    ):
        patchfold.anndata.graph(cells)
    patchfold.anndata.graph(cells, use_rep="X", n_neighbors=5)
    empty = AnnData(obs=cells.obs)
    with pytest.raises(ValueError, match=r"use_rep='X' is empty: adata has no .X"):
        patchfold.anndata.graph(empty)


def test_an_unknown_column_is_named(small):
    with pytest.raises(ValueError, match=r"groupby='type' is no column of adata.obs; choose from"):
        patchfold.anndata.bridges(small, "type")


def test_an_array_is_no_anndata():
    with pytest.raises(TypeError, match="adata is a ndarray; give an AnnData, or an array to the"):
        patchfold.anndata.isomap(np.zeros((5, 2)))


def test_without_anndata_a_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"needs anndata; .* pip install 'patchfold\[anndata\]'"):
        patchfold.anndata.isomap(None)


# ------------------------------------------------------------------------------------ genes


def test_genes_are_columns_of_raw_of_a_layer_or_of_x(small):
    small.var_names = list("abcde")
    found = patchfold.anndata.genes(small, ["d", "a"])
    assert list(found) == ["d", "a"]
    assert list(found.index) == list(small.obs_names)
    np.testing.assert_array_equal(found["d"], small.X[:, 3])
    twice = patchfold.anndata.genes(small, "d", layer="twice")
    np.testing.assert_array_equal(twice["d"], 2 * small.X[:, 3])
    small.raw = AnnData(csr_matrix(small.X + 1), var=small.var)
    raw = patchfold.anndata.genes(small, "d")
    np.testing.assert_array_equal(raw["d"], small.X[:, 3] + 1)
    np.testing.assert_array_equal(patchfold.anndata.genes(small, "d", layer="X"), found[["d"]])


def test_genes_are_found_by_their_symbols(small):
    small.var["gene_symbols"] = ["CD3D", "CD8A", "MS4A1", "NKG7", "CST3"]
    found = patchfold.anndata.genes(small, ["CD8A", "4"])
    np.testing.assert_array_equal(found, small.X[:, [1, 4]])


def test_a_gene_that_is_not_there_is_refused_with_those_that_are_like_it(small):
    small.var_names = ["CD3D", "CD8A", "MS4A1", "NKG7", "CST3"]
    with pytest.raises(ValueError, match="names='cd8' is none of the 5 genes; similar are 'CD8A'"):
        patchfold.anndata.genes(small, "cd8")
    with pytest.raises(ValueError, match="there are 'CD3D', 'CD8A'"):
        patchfold.anndata.genes(small, "???")


def test_genes_that_are_not_in_memory_are_refused(small, tmp_path):
    small.write_h5ad(tmp_path / "cells.h5ad")
    backed = read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match="no values of genes in memory"):
        patchfold.anndata.genes(backed, "0")
    backed.file.close()
