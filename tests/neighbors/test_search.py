"""The search is chosen by size and parameters, and wrong ones are named."""

import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer

from patchfold import PatchIsomap
from patchfold.neighbors import (
    ApproximateNeighbors,
    ExactNeighbors,
    NeighborSearch,
    RadiusNeighbors,
    SharedNeighbors,
    TransformerNeighbors,
    find_neighbors,
    neighbor_search,
    points,
)
from patchfold.neighbors import search as choice
from patchfold.neighbors.search import AutoNeighbors


def test_auto_is_exact_up_to_the_documented_sizes(monkeypatch):
    def kind(n_samples, n_features):
        return type(neighbor_search(n_samples=n_samples, n_features=n_features))

    monkeypatch.setattr(choice, "find_spec", lambda name: types.SimpleNamespace(name=name))
    assert kind(choice.AUTO_EXACT_SAMPLES, 5000) is ExactNeighbors
    assert kind(choice.AUTO_EXACT_SAMPLES + 1, 5000) is AutoNeighbors
    assert kind(60_000, 45) is ExactNeighbors
    assert kind(60_000, 100) is AutoNeighbors
    assert kind(70_000, points.TREE_FEATURES + 1) is AutoNeighbors
    assert kind(choice.AUTO_TREE_SAMPLES, points.TREE_FEATURES) is ExactNeighbors
    assert kind(choice.AUTO_TREE_SAMPLES + 1, points.TREE_FEATURES) is AutoNeighbors
    monkeypatch.setattr(choice, "find_spec", lambda name: None)
    assert kind(10**9, 100) is ExactNeighbors


@pytest.mark.slow
def test_auto_is_exact_where_blocks_leave_out_most_points():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(points.BLOCKS_FROM, 20))
    surface = noise[:, :2] @ rng.normal(size=(2, 20)) + 0.01 * noise
    cost = [ExactNeighbors(3).build(X).cost for X in (surface, noise)]
    assert cost[0] < cost[1] / 2
    assert ExactNeighbors(3).build(noise[:1000]).cost == np.inf
    auto = AutoNeighbors(ApproximateNeighbors(3, random_state=0))
    with pytest.raises(NotFittedError, match="AutoNeighbors is not built"):
        auto.query()
    assert type(auto.build(surface, most=2 * cost[0])) is ExactNeighbors
    assert type(auto.build(noise, most=2 * cost[0])) is ApproximateNeighbors
    shared = SharedNeighbors(auto)
    found = shared.search(3, n_samples=len(surface), n_features=20).build(surface)
    assert type(found.origin) is ExactNeighbors


def test_every_search_satisfies_the_protocol_and_a_copy_of_a_given_one_is_used():
    searches = [
        ExactNeighbors(2),
        RadiusNeighbors(1.0),
        ApproximateNeighbors(2),
        TransformerNeighbors(KNeighborsTransformer(), 2),
    ]
    for search in searches:
        assert isinstance(search, NeighborSearch)
        used = neighbor_search(search, n_samples=10, n_features=2)
        assert used is not search
        assert vars(used) == vars(search)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"n_neighbors": 12}, ValueError, "needs more than 12 samples, got 10; lower .* most 9"),
        ({"n_neighbors": 10}, ValueError, "n_neighbors=10 needs more than 10 samples"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 is too small; give at least 1"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors=2.5 is not an integer"),
        ({"n_neighbors": True}, TypeError, "n_neighbors=True is not an integer"),
        ({"n_neighbors": None}, ValueError, "set n_neighbors or radius"),
        ({"radius": 0}, ValueError, "radius=0 is not positive"),
        ({"radius": -1.0}, ValueError, "radius=-1.0 is not positive"),
        ({"radius": np.nan}, ValueError, "radius=nan is not positive"),
        ({"radius": "1"}, TypeError, "radius='1' is not a number"),
        ({"radius": 1.0, "n_neighbors": 3}, ValueError, "exclude each other; leave n_neighbors"),
        ({"radius": 1.0, "knn": "approximate"}, ValueError, "radius is searched exactly"),
        ({"radius": 1.0, "knn": KNeighborsTransformer()}, ValueError, "exclude each other"),
        ({"radius": 1.0, "knn": ExactNeighbors(3)}, ValueError, "exclude each other"),
        ({"knn": "exakt"}, ValueError, "knn='exakt' is not known; did you mean 'exact'"),
        ({"knn": 3}, TypeError, "knn=3 is neither"),
        ({"knn": [np.eye(9)]}, TypeError, r"^knn=(.|\n){0,80} is neither"),
        ({"knn": KNeighborsTransformer}, TypeError, "is neither"),
        ({"knn": ExactNeighbors}, TypeError, "is neither"),
    ],
)
def test_bad_parameters_are_named_with_value_and_remedy(kwargs, error, message):
    with pytest.raises(error, match=message):
        find_neighbors(np.arange(20.0).reshape(10, 2), **kwargs)


@pytest.mark.parametrize(
    "search",
    [
        ExactNeighbors(2),
        RadiusNeighbors(1.0),
        ApproximateNeighbors(2),
        TransformerNeighbors(KNeighborsTransformer(), 2),
    ],
)
def test_a_query_before_build_is_refused(search):
    with pytest.raises(sklearn.exceptions.NotFittedError, match=r"call build\(X\) before query"):
        search.query()


@pytest.mark.parametrize(
    "search", [ExactNeighbors(2), TransformerNeighbors(KNeighborsTransformer(), 2)]
)
def test_a_query_with_other_features_is_refused(search):
    search.build(np.arange(24.0).reshape(8, 3))
    with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3 features as"):
        search.query(np.ones((1, 2)))


def test_bad_points_are_refused_by_every_search():
    X = np.ones((6, 2))
    X[3, 1] = np.nan
    for search in (ExactNeighbors(2), RadiusNeighbors(1.0)):
        with pytest.raises(ValueError, match="row 3, column 1"):
            search.build(X)
        search.build(np.eye(6, 2))
        with pytest.raises(ValueError, match="NaN"):
            search.query(X)


def test_a_given_search_is_cut_to_the_neighbours_asked_for():
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = find_neighbors(X, 4, knn=ExactNeighbors(7))
    assert (found.degrees == 4).all()


def test_masked_values_are_missing_values():
    masked = np.ma.masked_array(np.ones((4, 2)), mask=np.eye(4, 2, dtype=bool))
    with pytest.raises(ValueError, match="NaN"):
        find_neighbors(masked, 1)


def test_what_two_ask_for_at_once_is_made_once():
    shared = SharedNeighbors()
    everyone, made = threading.Barrier(2), []

    def make():
        time.sleep(0.05)  # so that the other asks meanwhile
        made.append(object())
        return made[-1]

    def ask():
        everyone.wait()
        return shared.once("patches", "key", make)

    with ThreadPoolExecutor(2) as threads:
        first, second = [running.result() for running in [threads.submit(ask) for _ in range(2)]]
    assert first is second
    assert len(made) == 1
    assert shared.once("divergences", "key", make) is not first
    assert shared.once("patches", "key", make) is first
    assert shared.once("patches", "another", make) is not first


class Broken:
    """A search of the user whose results are not what a search has to return."""

    def __init__(self, breaks):
        self.breaks = breaks

    def build(self, X):
        self.points = X
        return self

    def query(self, X=None):
        return self.breaks(find_neighbors(self.points, 20))


@pytest.mark.parametrize(
    ("breaks", "error", "message"),
    [
        (lambda near: None, TypeError, "gave a NoneType"),
        (lambda near: (near.indices, near.distances), TypeError, "gave a tuple"),
        (lambda near: near[np.arange(30)], ValueError, "of 30 rows, and there are 60"),
        (lambda near: replace(near, indices=near.indices + 30), ValueError, "rows from 0 to 59"),
        (lambda near: replace(near, indices=near.indices - 1), ValueError, "rows from 0 to 59"),
        (lambda near: replace(near, distances=-near.distances), ValueError, "negative distances"),
        (lambda near: replace(near, distances=near.distances * np.nan), ValueError, "NaN"),
    ],
)
def test_what_a_given_search_finds_is_checked(breaks, error, message):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(error, match=message):
        PatchIsomap(knn=Broken(breaks)).fit(X)


@pytest.mark.slow
def test_a_search_of_many_points_keeps_no_copies_of_them():
    X = np.random.default_rng(0).normal(size=(points.BLOCKS_FROM, 7))
    search = ExactNeighbors(2).build(X)
    near = search.query()
    assert not any(name in vars(search._space) for name in points.CACHED)
    found = search.query(X[:5])
    np.testing.assert_array_equal(found.indices.reshape(5, 2)[:, 0], np.arange(5))
    np.testing.assert_array_equal(found.indices.reshape(5, 2)[:, 1], near.indices[:10:2])
