"""Bridges: which edges are listed, and what stands beside them, against slow evaluations."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse.csgraph import dijkstra

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.analysis.bridges import COLUMNS, detours
from patchfold.datasets import make_manifold
from patchfold.graph.edges import EdgeList, symmetric, undirected
from patchfold.graph.short_circuits import Candidates, verdict
from patchfold.neighbors import find_neighbors

ROLL = make_manifold("swiss-roll", 600, 0.3, 1)
K = 25


@pytest.fixture(scope="module")
def space():
    return PatchSpace(n_neighbors=K).fit(ROLL.X)


def pairs(bridges):
    return set(zip(bridges.source.tolist(), bridges.target.tolist(), strict=True))


def test_all_edges_to_the_nearest_neighbours_are_judged_the_most_suspicious_first(space):
    found = space.bridges(min_score=0)
    i, j, _ = undirected(find_neighbors(ROLL.X, K))
    assert pairs(found) == set(zip(i.tolist(), j.tolist(), strict=True))
    assert (np.diff(found.score) <= 0).all()
    assert (found.source < found.target).all()


def test_listed_are_the_edges_from_a_score_on_that_have_a_long_way_around(space):
    every, some = space.bridges(min_score=0), space.bridges()
    expected = every[(every.score >= 1) & (every.detour > 1)]
    assert 0 < len(some) == len(expected) < len(every)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(some, name), getattr(expected, name))


def test_short_circuits_of_a_roll_are_at_the_top(space):
    found = space.bridges()
    jumps = ROLL.geodesics()[found.source, found.target] > 15
    assert jumps.sum() > 50
    assert jumps[: jumps.sum() // 2].all()
    assert jumps.mean() > 0.8


def test_the_score_follows_from_the_divergence_and_the_way_around(space):
    found, graph = space.bridges(min_score=0), space.patch_graph_
    values = graph.lengths.divergences(found.source, found.target)
    typical = graph.lengths.typical
    np.testing.assert_allclose(found.divergence, values / typical.divergence, rtol=1e-12)
    expected = found.divergence * np.minimum(found.detour, 10) / 40
    np.testing.assert_allclose(found.score, expected, rtol=1e-12)


def test_shared_are_the_near_points_that_both_ends_have(space):
    found, beside = space.bridges(), [set() for _ in ROLL.X]
    for a, b in zip(*undirected(find_neighbors(ROLL.X, 10))[:2], strict=True):
        beside[a].add(b)
        beside[b].add(a)
    ends = zip(found.source, found.target, strict=True)
    assert found.shared.tolist() == [len(beside[a] & beside[b]) for a, b in ends]


def test_removed_edges_are_those_that_the_graph_does_not_have(space):
    found = space.bridges(min_score=0)
    graph = PatchIsomap(n_neighbors=K, landmarks=10).fit(ROLL.X).graph_.toarray()
    np.testing.assert_array_equal(found.removed, graph[found.source, found.target] == 0)
    assert found.removed[:20].any()
    plain = PatchSpace(n_neighbors=K, lengths="divergence").fit(ROLL.X).bridges()
    assert not plain.removed.any()


def test_no_way_around_is_shorter_than_is_said():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 2))
    i, j, _ = undirected(find_neighbors(X, 6))
    distances = np.linalg.norm(X[i] - X[j], axis=1)
    disagreement = 0.6 * np.exp(rng.normal(size=len(i)))
    every = np.ones(len(i), dtype=bool)
    judgement = verdict(Candidates(i, j, every, every, 0 * i), distances, disagreement, 150)
    found = detours(EdgeList(i, j, distances, 150), judgement)
    held = judgement.held
    ways = dijkstra(symmetric(i[held], j[held], distances[held], 150))[i, j] / distances
    open_ = ~judgement.trusted & ~judgement.between
    assert open_.sum() > 20
    assert (found[open_] <= ways[open_] * (1 + 1e-12)).all()
    assert (found[judgement.trusted] == 1).all()
    assert (found[judgement.between & ~judgement.trusted] == np.inf).all()


def test_behind_an_edge_are_the_points_that_trusted_edges_join_its_ends_to(space):
    every = space.bridges(min_score=0)
    trusted = set(pairs(every)) - set(pairs(space.bridges(min_score=1e-300)))
    for edge in (0, 1, 50, len(every) - 1):
        for end, points in zip(
            (every.source[edge], every.target[edge]), every.behind(edge), strict=True
        ):
            expected = {a if b == end else b for a, b in trusted if end in (a, b)}
            assert set(points.tolist()) == expected
            apart = np.linalg.norm(
                space.patches_.points[points] - space.patches_.points[end], axis=1
            )
            assert (np.diff(apart) >= 0).all()


def test_two_clusters_that_touch_are_joined_by_edges_without_a_way_around():
    rng = np.random.default_rng(0)
    plates = rng.uniform(size=(2, 150, 3)) * [4, 4, 0.01]
    plates[1, :, [0, 1, 2]] = plates[1][:, [2, 1, 0]].T + np.array([[4.6], [0], [0.4]])
    space = PatchSpace(n_neighbors=12).fit(np.concatenate(plates))
    found = space.bridges()
    across = (found.source < 150) != (found.target < 150)
    assert across.any()
    assert np.isinf(found.detour[across]).any()


# ------------------------------------------------------------------- every estimator


@pytest.mark.parametrize(
    "estimator",
    [
        PatchIsomap(n_neighbors=10, landmarks=20, random_state=0),
        PatchLLE(n_neighbors=10),
        PatchEigenmaps(n_neighbors=10),
        PatchTSNE(n_neighbors=10, perplexity=5, n_iter=1, random_state=0),
        PatchSpace(n_neighbors=10, graph="divergence"),
        PatchSpace(radius=4.0, patch=GaussianPatch()),
        PatchSpace(n_neighbors=10, lengths="divergence"),
        PatchSpace(n_neighbors=10, supervision="cut"),
    ],
    ids=["isomap", "lle", "eigenmaps", "tsne", "nearest patches", "radius", "divergence", "labels"],
)
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
def test_every_estimator_lists_bridges(estimator):
    y = np.arange(600) % 2
    found = estimator.fit(ROLL.X, y).bridges(min_score=0)
    assert (np.diff(found.score) <= 0).all()
    for name in COLUMNS[2:]:
        values = getattr(found, name)
        assert not np.isnan(values).any()
        assert (values >= 0).all()
    if estimator.supervision is None:  # labels may remove further edges
        graph = estimator.patch_graph_.matrix
        i, j = np.repeat(np.arange(600), np.diff(graph.indptr)), graph.indices
        assert pairs(found[~found.removed]) <= set(zip(i.tolist(), j.tolist(), strict=True))


def test_bridges_do_not_depend_on_threads(space):
    first = space.bridges()
    second = PatchSpace(n_neighbors=K, n_jobs=2).fit(ROLL.X).bridges()
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("divergence", ["euclidean", "precomputed"])
def test_without_patches_there_are_no_bridges(divergence):
    X = ROLL.X[:30]
    X = np.linalg.norm(X[:, None] - X, axis=2) if divergence == "precomputed" else X
    fitted = PatchSpace(n_neighbors=5, divergence=divergence).fit(X)
    with pytest.raises(ValueError, match=f"divergence='{divergence}' has none; fit with another"):
        fitted.bridges()


@pytest.mark.parametrize("wrong", [-1, np.nan])
def test_a_negative_score_is_refused(space, wrong):
    with pytest.raises(ValueError, match=r"min_score=.* is negative; give 0 to list all"):
        space.bridges(min_score=wrong)


def test_copies_of_rows_change_nothing_but_numbers(space):
    order = np.random.default_rng(0).permutation(630) % 600
    first = np.array([np.flatnonzero(order == row)[0] for row in range(600)])
    one, two = space.bridges(), PatchSpace(n_neighbors=K).fit(ROLL.X[order]).bridges()
    assert {frozenset(pair) for pair in zip(first[one.source], first[one.target], strict=True)} == {
        frozenset(pair) for pair in zip(two.source, two.target, strict=True)
    }
    np.testing.assert_allclose(one.score, two.score, rtol=1e-9)
    here, there = one.behind(0)
    if first[one.source[0]] != two.source[0]:
        here, there = there, here
    assert set(first[here]) == set(two.behind(0)[0])
    assert set(first[there]) == set(two.behind(0)[1])


# ------------------------------------------------------------------- tables


def test_a_table_has_one_row_an_edge_and_names_where_they_are_given(space):
    found = space.bridges()
    names = np.array([f"p{place}" for place in range(600)])
    frame = found.to_frame(names=names, labels=ROLL.coordinates[:, 0] > 50)
    assert list(frame.columns) == [*COLUMNS, "source_label", "target_label"]
    assert (frame.source == names[found.source]).all()
    assert (frame.target_label == (ROLL.coordinates[found.target, 0] > 50)).all()
    assert pd.DataFrame(found.columns()).equals(found.to_frame())
    assert pl.DataFrame(found.columns()).shape == (len(found), len(COLUMNS))


@pytest.mark.parametrize("wrong", [["a"], np.zeros((600, 2))])
def test_names_that_do_not_fit_are_refused(space, wrong):
    with pytest.raises(
        ValueError, match=r"names has shape .*give one entry for every fitted point"
    ):
        space.bridges().to_frame(names=wrong)


def test_some_bridges_are_taken_by_place_slice_or_mask(space):
    found = space.bridges()
    assert len(found[3]) == 1
    assert pairs(found[3]) < pairs(found[2:5]) < pairs(found)
    mask = found.removed
    np.testing.assert_array_equal(found[mask].score, found.score[mask])
    np.testing.assert_array_equal(found[2:5].behind(1)[0], found.behind(3)[0])
    assert len(found[:0]) == 0
    assert found[:0].to_frame().empty


def test_bridges_print_a_short_table_and_can_be_pickled(space):
    found = space.bridges()
    lines = repr(found).splitlines()
    assert lines[0].split() == list(COLUMNS)
    assert len(lines) == 12
    assert lines[-1] == f"and {len(found) - 10} more edges"
    assert len(repr(found[:3]).splitlines()) == 4
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


def test_copies_that_are_points_of_their_own_are_listed_as_such():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X = np.concatenate([X, X[:20]])
    papers = {"patch": GaussianPatch(8), "lengths": "divergence"}
    found = PatchSpace(n_neighbors=8, **papers).fit(X).bridges(min_score=0)
    assert found.target.max() == 99


@pytest.mark.filterwarnings("ignore:the neighbourhood graph")
def test_bridges_of_answers_lead_from_lower_to_higher_rows():
    X = np.random.default_rng(0).integers(0, 3, (60, 6)).astype(float)
    space = PatchSpace(n_neighbors=6).fit(X)
    found = space.bridges(0.0)
    assert (found.source < found.target).all()
    # What stands behind an end is nearer to it than to the other end.
    near = [
        np.linalg.norm(X[found.behind(0)[0]] - X[end], axis=1).mean()
        for end in (found.source[0], found.target[0])
    ]
    assert near[0] < near[1]
