"""Further columns: every one is on the page while there is room, and found by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csr_array, triu

from explorer_pages import data_of, roll, store_of, unpacked
from patchfold import PatchSpace, explore
from patchfold.explorer.further import Further, closeness, pack_further
from patchfold.explorer.packing import ArrayStore

if TYPE_CHECKING:
    from patchfold.explorer import Explorer

N = 60


def further_of(page: Explorer) -> dict[str, Any]:
    found, store = data_of(page)["further"], store_of(page)
    return {
        name: unpacked(store, number)
        for name, number in zip(found["names"], found["values"], strict=True)
    }


def columns_of(page: Explorer) -> dict[str, Any]:
    store = store_of(page)
    return {
        one["name"]: unpacked(store, one["values"] if one["kind"] == "number" else one["codes"])
        for one in data_of(page)["columns"]
    }


def cells(n: int = N) -> anndata.AnnData:
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(0.4, (n, 80)).astype(np.float32))
    found = anndata.AnnData(counts.copy(), var=pd.DataFrame(index=[f"G{g}" for g in range(80)]))
    found.raw = found.copy()
    found.layers["counts"] = 7 * counts
    found.X = counts.toarray() - 1
    found.obsm["X_pca"] = rng.normal(size=(n, 4))
    found.obsm["X_umap"] = rng.normal(size=(n, 2))
    found.obs["kind"] = ["T", "B"] * (n // 2)
    return found


def line_graph(n: int) -> csr_array:
    """Each point is joined to the next."""
    return csr_array((np.ones(n - 1), np.arange(1, n), [*range(n), n - 1]), (n, n))


def test_every_feature_of_a_wide_table_is_on_its_page() -> None:
    X = np.random.default_rng(0).normal(size=(N, 300)) * 1000
    names = [f"gene {place}" for place in range(300)]
    page = explore(X, feature_names=names, n_neighbors=[8], divergences=["kl"])
    found = further_of(page)
    assert sorted(found) == sorted(names)
    # 16 bits of a column's range, half a step off at most.
    for name, column in zip(names, X.T, strict=True):
        np.testing.assert_allclose(found[name], column, atol=np.ptp(column) / 65535)
    assert not any("further columns" in note for note in page.notes)


def test_columns_beyond_a_hundred_are_further_ones_and_texts_are_not() -> None:
    X, t = roll(N)
    numbers = {f"c{place}": (t + place).tolist() for place in range(130)}
    page = explore(X, columns={**numbers, "word": list("ab") * (N // 2)}, n_neighbors=[8])
    near = columns_of(page)
    assert "c99" in near
    assert "word" in near
    assert sorted(further_of(page)) == sorted(f"c{place}" for place in range(100, 130))


def test_without_room_for_all_the_ones_that_follow_the_graph_stay() -> None:
    rng = np.random.default_rng(0)
    smooth = np.sin(np.arange(N) / 9)[:, None] + np.arange(5)
    part = Further([f"noise {g}" for g in range(20)], rng.normal(size=(N, 20)))
    other = Further([f"wave {g}" for g in range(5)], smooth)
    described, notes = pack_further([part, other], line_graph(N), ArrayStore(), 5 * 150)
    assert {*described["names"][:5]} == {*other.names}
    shown = len(described["names"])
    assert 5 <= shown < 25
    assert notes[0].startswith(f"{shown} of 25 further columns are on the page")
    assert "columns={name: values} adds others" in notes[0]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_closeness_is_one_minus_geary_s_c(make: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < 0.5)
    X[:, 0] = np.arange(N)
    X[:, 1] = 3.0
    i, j = np.arange(N - 1), np.arange(1, N)
    ends = np.concatenate([i, j])
    found = closeness(make(X), i, j)
    for place in (0, 2, 3, 4, 5):
        x = X[:, place]
        gap = np.mean([(x[a] - x[b]) ** 2 for a, b in zip(i, j, strict=True)])
        assert found[place] == pytest.approx(1 - gap / (2 * np.var(x[ends])), rel=1e-2)
    assert found[0] > 0.99
    assert found[1] == -1


def test_missing_and_huge_values_are_kept_and_counts_are_exact() -> None:
    odd = np.array([[np.nan, 1e300, 0], [2.5, -1e300, 60000], [1, 0, 7]])
    part = Further(["a", "b", "c"], odd)
    store = ArrayStore()
    described, _ = pack_further([part], line_graph(3), store)
    values = dict(zip(described["names"], described["values"], strict=True))
    np.testing.assert_array_equal(unpacked(store, values["a"]), [np.nan, 2.5, 1])
    np.testing.assert_array_equal(unpacked(store, values["c"]), [0, 60000, 7])
    assert dict(zip(described["names"], described["whole"], strict=True))["c"]


@pytest.mark.parametrize(("layer", "factor", "less"), [(None, 1, 0), ("counts", 7, 0), ("X", 1, 1)])
def test_genes_are_those_of_raw_of_a_layer_or_of_x(
    layer: str | None, factor: int, less: int
) -> None:
    adata = cells()
    found = further_of(explore(adata, layer=layer))
    assert sorted(found) == sorted(adata.var_names)
    expected = factor * adata.raw.X.toarray() - less
    for place, name in enumerate(adata.var_names):
        np.testing.assert_array_equal(found[name], expected[:, place])


def test_numbers_beyond_single_precision_are_kept_without_a_warning() -> None:
    values = np.array([[np.nan, 1.0], [1e300, 2.5], [3.0, 1e300]])
    described, _ = pack_further([Further(["a", "b"], values)], line_graph(3), ArrayStore())
    assert sorted(described["names"]) == ["a", "b"]


def test_a_gene_colours_the_page_at_once() -> None:
    adata = cells()
    page = explore(adata, "G17")
    columns = columns_of(page)
    assert next(iter(columns)) == "G17"
    np.testing.assert_array_equal(columns["G17"], adata.raw.X.toarray()[:, 17])
    assert "G17" not in further_of(page)


def test_genes_are_called_by_their_symbols() -> None:
    adata = cells()
    adata.raw.var["feature_name"] = [f"S{g}" for g in range(80)]
    page = explore(adata, "S3")
    np.testing.assert_array_equal(columns_of(page)["S3"], adata.raw.X.toarray()[:, 3])
    assert "S5 (G5)" in further_of(page)


def test_cells_in_a_file_are_shown_without_genes(tmp_path: Any) -> None:
    cells().write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert further_of(explore(backed, layer="X")) == {}
    backed.file.close()


def test_a_layer_without_cells_is_refused() -> None:
    X, _ = roll(N)
    with pytest.raises(ValueError, match="layer='counts' is for an AnnData and X is a ndarray"):
        explore(X, layer="counts")


def test_the_strongest_are_those_of_the_graph_that_is_shown() -> None:
    X, t = roll(N)
    wide = np.column_stack([np.random.default_rng(0).normal(size=(N, 101)), 9 * X, t])
    page = explore(wide, embeddings={"roll": X[:, ::2]}, n_neighbors=[8])
    graph = triu(PatchSpace(n_neighbors=15, random_state=0).fit(wide).graph_, k=1, format="coo")
    expected = closeness(wide, *graph.coords)
    names = [f"feature {place}" for place in np.argsort(-expected, kind="stable")]
    assert data_of(page)["further"]["names"][:4] == names[:4]
