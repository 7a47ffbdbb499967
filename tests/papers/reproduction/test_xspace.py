from __future__ import annotations

import tomllib
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from patchfold import datasets, papers
from patchfold.embedding import PatchIsomap
from patchfold.metrics import purity
from patchfold.papers import tables
from patchfold.papers.reproduction import xspace
from patchfold.papers.reproduction.cells import Task, row_name

PRINTED = {(row_name(cell), cell.column): cell.value for cell in tables.read("xspace", "2")}
SMALL = xspace.Grid(("hellinger", "bhattacharyya"), (3,), (3, 5), (), (5,), (30,), (2,))


def compute(dataset, method, account="equations", tried=None):
    return xspace.compute(Task("xspace", "2", dataset, method, account), tried)


def differences(dataset, method, account):
    """How far a column's three cells are from the printed ones, and that they are all there."""
    results = compute(dataset, method, account)
    assert [result.row.split(" / ")[1] for result in results] == ["ARI", "NMI", "PUR"]
    return [abs(result.value - PRINTED[result.row, method]) for result in results]


# ---------------------------------------------------------------- scores


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=12, max_size=40).filter(
        lambda pairs: len({y for y, _ in pairs}) > 1
    )
)
def test_scores_are_those_of_scikit_learn_with_the_larger_entropy(pairs):
    y, labels = np.array(pairs).T
    expected = [
        adjusted_rand_score(y, labels),
        normalized_mutual_info_score(y, labels, average_method="max"),
        purity(y, labels),
    ]
    np.testing.assert_allclose(xspace.scores(y, labels[None])[0], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
def test_k_means_on_the_points_gives_the_printed_column(name):
    assert max(differences(name, "Euc", "equations")) < 0.0006


@pytest.mark.parametrize("average", ["arithmetic", "geometric", "min"])
def test_no_other_divisor_of_the_information_gives_the_printed_column(average):
    data = datasets.load("wdbc")
    _, (labels,) = xspace._clusterings("wdbc", "Euc")
    found = normalized_mutual_info_score(data.y, labels, average_method=average)
    assert abs(found - PRINTED["wdbc / NMI", "Euc"]) > 0.04


@pytest.mark.parametrize("name", ["ionosphere", "newthyroid", "lymphography", "sonar", "segment"])
def test_k_means_on_the_points_gives_the_printed_column_of_local_data(data_folder, name):
    assert max(differences(name, "Euc", "equations")) < 0.0015


@pytest.mark.parametrize("name", ["glass", "ionosphere", "newthyroid", "lymphography", "sonar"])
def test_two_principal_components_give_the_printed_column_of_local_data(data_folder, name):
    assert max(differences(name, "PCA", "published")) < 0.0006


def test_two_principal_components_and_not_98_percent_of_the_variance_are_printed():
    for name in ("iris", "wine", "wdbc"):
        assert max(differences(name, "PCA", "published")) < 0.0006
    assert compute("iris", "PCA")[0].note == "d=3"
    assert max(differences("iris", "PCA", "equations")) > 0.01


# ---------------------------------------------------------------- embeddings


@pytest.mark.slow
def test_isomap_on_given_divergences_is_the_preset():
    X = datasets.load("wine").X
    D = xspace.distances("wine", "bhattacharyya", 5)
    given = {"divergence": "precomputed", "scaling": "classical"}
    given_all = PatchIsomap(3, n_neighbors=20, **given).fit(D)
    preset = papers.x_isomap(20, 5, 3, divergence="bhattacharyya").fit(X)
    np.testing.assert_allclose(given_all.embedding_, preset.embedding_, rtol=1e-6)


@pytest.mark.slow
def test_lle_is_the_preset_where_the_graph_is_connected_and_neighbours_outnumber_features():
    data = datasets.load("wine")
    tried = xspace.Grid((), (), (), (20,), (), (), ())
    D = xspace.distances("wine", "bhattacharyya", 5)
    embedded = dict(xspace._lle(D, data, tried))
    preset = papers.x_lle(20, 5, 2, divergence="bhattacharyya").fit(data.X)
    np.testing.assert_allclose(np.abs(embedded["k=20, d=2"]), np.abs(preset.embedding_), atol=1e-6)


@pytest.mark.slow
def test_eigenmaps_take_three_quantiles_for_sigma_and_the_classes_for_the_dimension():
    data = datasets.load("wine")
    tried = xspace.Grid((), (), (10,), (), (), (), ())
    D = xspace.distances("wine", "hellinger", 5)
    embedded = dict(xspace._eigenmaps(D, data, tried))
    assert [Y.shape[1] for Y in embedded.values()] == [2, 3, 2, 3, 2, 3]
    graph = papers.x_isomap(10, 5, divergence="hellinger").fit(data.X).graph_
    sigma = float(np.quantile(graph.data, 0.75))
    preset = papers.x_eigenmaps(10, 5, 2, divergence="hellinger", sigma=sigma).fit(data.X)
    found = embedded["k=10, sigma=0.75 quantile, d=2"]
    np.testing.assert_allclose(found, preset.embedding_, atol=1e-8)


@pytest.mark.parametrize(("points", "expected"), [(150, 6), (351, 6), (2310, 3)])
def test_larger_data_sets_have_thinner_grids_within_the_ranges_of_the_paper(points, expected):
    tried = xspace.grid(points)
    assert len(tried.neighbors) == expected
    both = (*tried.sizes, *tried.neighbors, *tried.lle_neighbors, *tried.tsne_sizes)
    assert 3 <= min(both) <= max(both) <= 25
    assert set(tried.divergences) <= set(xspace.DIVERGENCES)


# ---------------------------------------------------------------- tasks and accounts


@pytest.mark.slow
def test_x_isomap_gives_the_printed_cells_of_iris_and_names_the_divergence():
    results = compute("iris", "X-ISM", tried=SMALL)
    assert [round(result.value, 3) for result in results] == [0.818, 0.804, 0.933]
    assert {result.note for result in results} == {"bhattacharyya, m=3, k=3, d=2"}


@pytest.mark.slow
def test_x_isomap_is_computed_with_the_covariance_of_algorithm_1_too():
    results = compute("iris", "X-ISM (Alg. 1)", tried=SMALL)
    assert [result.row for result in results] == ["iris / ARI", "iris / NMI", "iris / PUR"]
    assert "rank=" in results[0].note
    D = xspace.distances("wine", "bhattacharyya", 5, 2)
    preset = papers.x_isomap(20, 5, divergence="bhattacharyya", covariance="hazan", rank=2)
    graph = preset.fit(datasets.load("wine").X).graph_.tocoo()
    np.testing.assert_allclose(graph.data, D[graph.row, graph.col], rtol=1e-6)


def test_choosing_by_half_of_the_classes_gives_a_mean_and_an_interval():
    best, honest = (compute("iris", "X-ISM", account, SMALL) for account in ("equations", "honest"))
    assert honest == compute("iris", "X-ISM", "honest", SMALL)
    for chosen, result in zip(best, honest, strict=True):
        assert result.low < result.value < result.high
        assert result.low <= chosen.value <= result.high


@pytest.mark.slow
def test_t_sne_is_computed_on_given_divergences():
    results = compute("iris", "X-tSNE", tried=SMALL)
    assert results[0].value > 0.7
    assert "m=5, perplexity=30, d=2" in results[0].note


def test_without_local_data_the_shipped_sets_remain(monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    found = xspace.tasks("2", None, ("published", "equations", "honest"), quick=False)
    assert list(dict.fromkeys(task.dataset for task in found)) == [
        "balance",
        "iris",
        "wdbc",
        "wine",
    ]
    printed = {column for _, column in PRINTED}
    assert {task.method for task in found if not task.method.endswith(" (Alg. 1)")} == printed
    assert {task.method.removesuffix(" (Alg. 1)") for task in found} == printed
    assert {task.method for task in found if task.account == "published"} == {"PCA"}


def test_quick_tasks_are_part_of_all_tasks():
    accounts = ("published", "equations", "honest")
    quick = xspace.tasks("2", None, accounts, quick=True)
    assert set(quick) < set(xspace.tasks("2", None, accounts, quick=False))


def test_named_data_sets_are_taken_as_they_are():
    (task,) = xspace.tasks("2", ["corel"], ("published",), quick=False)
    assert task == Task("xspace", "2", "corel", "PCA", "published")


def test_reasons_name_printed_rows_and_columns():
    path = resources.files("patchfold.papers.reproduction") / "reasons" / "xspace.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    assert {row for entry in entries for row in entry.get("rows", [])} <= {r for r, _ in PRINTED}
    assert {name for entry in entries for name in entry["columns"]} <= {c for _, c in PRINTED}
    assert {entry["table"] for entry in entries} == {"2"}
