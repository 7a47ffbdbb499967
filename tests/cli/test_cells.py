"""Files of cells are tables: points, names of the rows, and what stands beside them."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib

import anndata
import numpy as np
import pandas as pd
import pytest

from command_line import done, told

N = 40


@pytest.fixture
def cells(folder):
    rng = np.random.default_rng(0)
    obs = pd.DataFrame(
        {"cell type": ["T", "B"] * (N // 2), "n genes": rng.integers(500, 900, N)},
        index=[f"AAC{row}-1" for row in range(N)],
    )
    found = anndata.AnnData(rng.poisson(3.0, (N, 12)).astype(np.float32), obs)
    found.obsm["X_pca"] = rng.normal(size=(N, 5)) * [9, 4, 2, 1, 0.5]
    found.obsm["X_umap"] = rng.normal(size=(N, 2))
    found.write_h5ad(folder / "cells.h5ad")
    return found


def described(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def test_a_page_of_cells_has_components_as_they_are_and_annotations(call, folder, cells):
    result = done(call("explore", "cells.h5ad", "--neighbors", 8, "--no-open", "--json"))
    assert json.loads(result.stdout)["features"] == [f"pca {place}" for place in range(1, 6)]
    assert "5 of numbers (as they are)" in result.stderr
    assert "the points are obsm['X_pca'] of the AnnData" in result.stderr
    page = described(folder / "cells-explorer.html")
    assert page["ids"]["texts"] == list(cells.obs_names)
    names = [column["name"] for column in page["columns"]]
    assert names[0] == "cell type"
    assert {"n genes", "umap 1", "umap 2"} <= set(names)
    assert names.index("n genes") < names.index("pca 1")


def test_coordinates_of_cells_are_shown_as_they_are(call, folder, cells):
    words = ("--xy", "umap 1,umap 2", "--no-open")
    done(call("explore", "cells.h5ad", *words))
    (view,) = described(folder / "cells-explorer.html")["views"]
    assert view["method"] == "umap 1, umap 2"


def test_coordinates_of_cells_stand_beside_a_method(call, folder, cells):
    words = ("--xy", "umap 1,umap 2", "--method", "isomap", "--neighbors", 8, "--no-open")
    result = done(call("explore", "cells.h5ad", *words))
    assert "Coordinates as given: umap 1, umap 2, beside isomap" in result.stderr
    views = described(folder / "cells-explorer.html")["views"]
    assert [view["method"] for view in views] == ["PatchIsomap", "umap 1, umap 2"]


def genes(folder):
    """Write a file of cells with forty genes, and their counts in a layer."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (N, 40)).astype(np.float32)
    found = anndata.AnnData(np.log1p(counts), var=pd.DataFrame(index=[f"G{g}" for g in range(40)]))
    found.obsm["X_pca"] = rng.normal(size=(N, 3))
    found.layers["counts"] = counts
    found.write_h5ad(folder / "genes.h5ad")
    return counts


def first_values(path):
    text = path.read_text(encoding="utf-8")
    column = described(path)["columns"][0]
    packed = base64.b64decode(re.search(rf'id="array-{column["values"]}">(.*?)<', text)[1])
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(8, -1)
    return column["name"], np.ascontiguousarray(planes.T).view("<f8").ravel()


def test_every_gene_is_on_the_page_and_one_colours_it(call, folder):
    counts = genes(folder)
    done(call("explore", "genes.h5ad", "--target", "G7", "--neighbors", 8, "--no-open"))
    name, values = first_values(folder / "genes-explorer.html")
    assert name == "G7"
    np.testing.assert_allclose(values, np.log1p(counts[:, 7]), rtol=1e-6)
    further = described(folder / "genes-explorer.html")["further"]["names"]
    assert sorted(further) == sorted(f"G{g}" for g in range(40) if g != 7)


def test_genes_are_those_of_a_layer(call, folder):
    counts = genes(folder)
    words = ("--layer", "counts", "--target", "G7", "--info", "G3", "--neighbors", 8, "--no-open")
    done(call("explore", "genes.h5ad", *words))
    _, values = first_values(folder / "genes-explorer.html")
    np.testing.assert_array_equal(values, counts[:, 7])
    names = [column["name"] for column in described(folder / "genes-explorer.html")["columns"]]
    assert "G3" in names
    refused = call("explore", "genes.h5ad", "--layer", "none", "--no-open")
    assert "layer='none' is not in adata; choose from 'X', 'counts'" in told(refused)


def test_a_layer_of_a_table_is_refused(call, folder):
    pd.DataFrame({"a": range(9), "b": range(9)}).to_csv("plain.csv")
    assert "--layer counts is for a file of cells" in told(
        call("explore", "plain.csv", "--layer", "counts", "--no-open")
    )


def test_every_column_of_a_wide_table_is_on_the_page(call, folder):
    values = np.random.default_rng(0).normal(5, 2, (N, 150))
    table = pd.DataFrame(values, columns=[f"m{place}" for place in range(150)])
    table.to_csv("wide.csv", index=False)
    done(call("explore", "wide.csv", "--neighbors", 8, "--no-open"))
    page = described(folder / "wide-explorer.html")
    near = {column["name"] for column in page["columns"]}
    assert {*page["further"]["names"]} | near >= {*table.columns}
    # Numbers as in the table, not as standardised.
    scale = page["arrays"][page["further"]["values"][0]]["scale"]
    name = page["further"]["names"][0]
    assert scale[0] == pytest.approx(table[name].min(), rel=1e-6)


def test_cells_with_many_variables_alone_are_refused(call, folder):
    rng = np.random.default_rng(0)
    anndata.AnnData(rng.normal(size=(N, 60)).astype(np.float32)).write_h5ad(folder / "many.h5ad")
    assert "many.h5ad: the AnnData has 60 variables" in told(call("explore", "many.h5ad"))


def test_cells_are_embedded_and_new_ones_mapped(call, folder, cells):
    done(call("embed", "cells.h5ad", "-o", "map.csv", "--model", "map.skops", "--neighbors", 8))
    assert pd.read_csv("map.csv")["cell"].tolist() == list(cells.obs_names)
    cells[:9].copy().write_h5ad(folder / "new.h5ad")
    done(call("apply", "map.skops", "new.h5ad", "-o", "new.csv"))
    assert len(pd.read_csv("new.csv")) == 9


def test_cells_without_anndata_or_of_another_kind_are_refused(call, folder, cells, monkeypatch):
    (folder / "other.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    assert told(call("explore", "other.h5ad")).startswith("other.h5ad: this is no AnnData")
    monkeypatch.setitem(sys.modules, "anndata", None)
    assert "pip install 'patchfold[anndata]'" in call("explore", "cells.h5ad").stderr
