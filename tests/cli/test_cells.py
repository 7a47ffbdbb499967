"""Files of cells are tables: points, names of the rows, and what stands beside them."""

from __future__ import annotations

import json
import re
import sys

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
    assert [view["method"] for view in views] == ["umap 1, umap 2", "PatchIsomap"]


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
