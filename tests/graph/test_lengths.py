"""How long edges are: stretched distances or divergences, with labels and without."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from equations import normal
from patchfold import GaussianPatch, PatchIsomap, PatchSpace, PatchTSNE, divergences
from patchfold.graph.edges import undirected
from patchfold.graph.lengths import Lengths, even_pairs, step_lengths
from patchfold.graph.short_circuits import RECIPE, Typical, recommended_patch, verdict
from patchfold.neighbors import find_neighbors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_are_as_long_as_their_patches_are_apart_or_stretched(dtype):
    u, v = np.random.default_rng(0).uniform(size=(2, 400))
    X = np.column_stack([u, v, u * v]).astype(dtype)
    fitted = PatchIsomap(n_neighbors=10).fit(X)
    i, j = fitted.graph_.tocoo().coords
    apart = cdist(fitted.patches_.points, fitted.patches_.points)[i, j]
    factors = fitted.graph_.data * fitted.patch_graph_.lengths.typical.distance / apart
    assert fitted.graph_.dtype == dtype
    assert factors.min() >= 1 - 1e-4
    assert factors.max() <= RECIPE.ceiling + 1e-4
    assert np.isclose(factors, 1, rtol=1e-4).mean() >= 0.9


@pytest.mark.filterwarnings("ignore:supervision='dissimilarity' stretches edges:UserWarning")
@pytest.mark.parametrize("rule", ["min-sum", "cut", "dissimilarity"])
@pytest.mark.parametrize("patch", [None, GaussianPatch()], ids=["default", "given"])
def test_lengths_are_what_they_are_called_with_labels_and_without(rule, patch):
    X, y = load_iris(return_X_y=True)
    for supervision in (None, rule):
        setting = {"supervision": supervision, "patch": patch, "n_neighbors": 30}
        found, stretched, plain = (
            PatchSpace(**setting, **lengths).fit(X, y)
            for lengths in ({}, {"lengths": "pruned"}, {"lengths": "divergence"})
        )
        np.testing.assert_array_equal(found.graph_.toarray(), stretched.graph_.toarray())
        assert abs(found.graph_ - plain.graph_).max() > 0
        assert repr(found.patch_) == repr(plain.patch_)


@pytest.mark.parametrize("rule", ["cut", "min-sum"])
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
def test_labels_change_pruned_lengths_too(rule, graph, monkeypatch):
    X, y = load_iris(return_X_y=True)
    X = X[::2] + 1e-3 * normal(0, 75, 4)
    y = y[::2]
    before = np.full((75, 75), np.nan)

    def kept(asked, distances, disagreement, n, n_jobs, device):
        judgement = verdict(asked, distances, disagreement, n, n_jobs)
        own = asked.own
        unit = np.median(distances[asked.nearest & (distances > 0)])
        lengths = distances[own] * judgement.factors[own] / unit
        i, j = asked.i[own], asked.j[own]
        before[i, j] = before[j, i] = lengths
        return judgement

    setting = {"n_neighbors": 20, "lengths": "pruned", "graph": graph}
    plain = PatchIsomap(**setting).fit(X)
    monkeypatch.setattr("patchfold.graph.pruning.verdict", kept)
    labelled = PatchIsomap(**setting, supervision=rule).fit(X, y)
    if graph == "neighbors":  # where labels do not choose the edges
        i, j = plain.graph_.tocoo().coords
        np.testing.assert_allclose(plain.graph_.data, before[i, j], rtol=1e-12)
    i, j = labelled.graph_.tocoo().coords
    within = y[i] == y[j]
    distances = cdist(plain.patches_.points, plain.patches_.points)[i, j]
    distances /= plain.patch_graph_.lengths.typical.distance
    if rule == "cut":
        assert (~within).sum() == 4  # the bridges alone
        np.testing.assert_allclose(labelled.graph_.data[within], before[i, j][within], rtol=1e-9)
        np.testing.assert_allclose(labelled.graph_.data[~within], distances[~within], rtol=1e-9)
    else:
        lengths = np.where(np.isnan(before[i, j]), distances, before[i, j])  # those of bridges
        expected = np.where(within, np.minimum(lengths, distances), lengths + distances)
        np.testing.assert_allclose(labelled.graph_.data, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has")
def test_what_is_typical_does_not_depend_on_the_degree_or_the_perplexity():
    X = normal(7, 1000, 3)  # of patches with 15 neighbours
    expected = PatchSpace(n_neighbors=15).fit(X).patch_graph_.lengths.typical
    for k in (3, 10, 40):
        found = PatchSpace(n_neighbors=k).fit(X)
        assert found.patch_graph_.lengths.typical == expected
    setting = {"patch": recommended_patch(1000), "lengths": "pruned"}
    for perplexity in (1.5, 10.0):
        found = PatchTSNE(perplexity=perplexity, n_iter=1, random_state=0, **setting).fit(X)
        assert found.patch_graph_.lengths.typical == expected


def test_lengths_are_divergences_until_something_is_typical_and_distances_then():
    X = normal(0, 60, 3)
    near = find_neighbors(X, 8)
    patches = GaussianPatch().fit(X, near)
    plain = Lengths(X, patches, "kl")
    i, j, _ = undirected(near)
    np.testing.assert_array_equal(plain.plain(i, j), divergences.paired(patches, i, j))
    learned = plain.pruned(Typical(distance=2.0, divergence=1.0))
    distances = np.linalg.norm(X[i] - X[j], axis=1)
    np.testing.assert_allclose(learned.plain(i, j), distances / 2)


def test_the_mean_length_is_that_of_all_pairs_or_of_an_even_sample():
    i, j = even_pairs(7, 21)
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [
        (a, b) for a in range(7) for b in range(a + 1, 7)
    ]
    i, j = even_pairs(1000, 20_000)
    assert (i != j).all()
    assert (np.bincount(i) == 20).all()
    rng = np.random.default_rng(0)
    for period in (1, 2, 10, 100):  # rows that take turns
        X = 20 * rng.normal(size=(period, 3))[np.arange(1000) % period] + rng.normal(size=(1000, 3))
        every = cdist(X, X)[np.triu_indices(1000, 1)].mean()
        assert np.linalg.norm(X[i] - X[j], axis=1).mean() == pytest.approx(every, rel=0.02)


@pytest.mark.parametrize(("unit", "dtype"), [(1e30, "f4"), (1e-30, "f4"), (1e200, "f8")])
def test_lengths_are_right_where_squares_overflow_or_vanish(unit, dtype):
    steps = np.random.default_rng(0).normal(size=(20, 3))
    steps[3] = 0
    found = step_lengths((steps * unit).astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found / unit, np.sqrt((steps**2).sum(axis=1)), rtol=1e-5)
