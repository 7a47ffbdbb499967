from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchfold import GaussianPatch, PatchIsomap, PatchLLE
from patchfold.neighbors import ExactNeighbors, find_neighbors
from patchfold.patches.adaptive import adaptive_sizes

SEEDS = st.integers(0, 2**32 - 1)


def sheet(n=600, noise=0.0, seed=0, radius=0.6):
    """A flat sheet that goes on as a cylinder; tells how far along each point lies."""
    rng = np.random.default_rng(seed)
    t, height = rng.uniform(-3, 3, n), rng.uniform(0, 2, n)
    bent = [radius * np.sin(t / radius), radius * (1 - np.cos(t / radius)), height]
    flat = [t, np.zeros(n), height]
    return np.where(t[:, None] < 0, np.transpose(flat), np.transpose(bent)) + noise * (
        rng.standard_normal((n, 3))
    ), t


def slow_size(point, neighbors):
    """Choose a size as the docstring says, one principal component analysis after the other."""
    degree = len(neighbors)
    count = max(3, degree // 4)
    ratios, sizes, dimension = [], [], None
    for stride in (1, 2, 4):
        if stride * count > degree:
            continue
        spreads = np.zeros(len(point))
        for start in range(stride):
            members = [point, *neighbors[start : stride * count : stride]]
            values = np.linalg.svd(members - np.mean(members, axis=0), compute_uv=False) ** 2
            values = np.pad(values, (0, max(0, len(point) - len(values))))
            if dimension is None:
                dimension = round(sum(values) ** 2 / sum(values**2))
                dimension = min(dimension, max(1, count // 2))
            spreads += values[: len(point)]
        ratios.append(sum(spreads[dimension:]) / sum(spreads[:dimension]))
        sizes.append(stride * count)
    if len(sizes) < 2:
        return degree
    sizes[-1] = degree
    return max(s for s, r in zip(sizes, ratios, strict=True) if r <= max(1.2 * min(ratios), 1e-3))


@given(SEEDS, st.integers(2, 6), st.integers(4, 30))
def test_sizes_are_those_of_one_analysis_after_the_other(seed, m, degree):
    X = np.random.default_rng(seed).standard_normal((40, m)) ** 3
    near = find_neighbors(X, degree)
    slow = [
        slow_size(X[i], X[near.indices[near.indptr[i] : near.indptr[i + 1]]]) for i in range(len(X))
    ]
    np.testing.assert_array_equal(adaptive_sizes(X, near), slow)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_patches_are_larger_where_a_sheet_is_flat_than_where_it_is_bent(noise):
    X, t = sheet(2000, noise)
    sizes = adaptive_sizes(X, find_neighbors(X, 60))
    assert np.mean(sizes[t < -0.5]) > 1.4 * np.mean(sizes[t > 0.5])
    assert np.mean(sizes[t < -0.5]) > 50


def test_the_bend_of_a_parabola_has_the_smallest_patches():
    # In equal steps along the curve, so that curvature alone differs.
    x = np.linspace(-3, 3, 1001)
    length = np.concatenate([[0], np.cumsum(np.hypot(np.diff(x), np.diff(x**2)))])
    x = np.interp(np.linspace(0, length[-1], 401), length, x)
    X = np.column_stack([x, x**2])
    sizes = adaptive_sizes(X, find_neighbors(X, 16))
    assert (sizes[np.abs(x) < 0.2] <= 8).all()
    assert (sizes[np.abs(x) > 2] == 16).all()


def test_data_without_any_structure_or_without_normal_directions_have_full_patches():
    rng = np.random.default_rng(0)
    isotropic, line = rng.standard_normal((500, 20)), rng.standard_normal((100, 1))
    assert adaptive_sizes(isotropic, find_neighbors(isotropic, 32)).mean() > 28
    assert (adaptive_sizes(line, find_neighbors(line, 16)) == 16).all()
    plane = (
        np.column_stack([rng.uniform(size=(200, 2)), np.zeros(200)])
        @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    )
    both = adaptive_sizes(plane, find_neighbors(plane, 24))
    assert both.mean() > 20


@given(SEEDS, st.floats(-8, 8), st.integers(2, 5))
def test_sizes_do_not_change_when_data_are_turned_shifted_and_rescaled(seed, power, m):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, m)) ** 3
    near = find_neighbors(X, 20)
    turn = np.linalg.qr(rng.standard_normal((m, m)))[0]
    moved = 10**power * (X @ turn + rng.standard_normal(m))
    np.testing.assert_array_equal(adaptive_sizes(X, near), adaptive_sizes(moved, near))


def test_sizes_lie_between_half_and_twice_the_degree_of_the_graph():
    X, _ = sheet(300)
    estimator = PatchIsomap(n_neighbors=12, patch=GaussianPatch(size="adaptive")).fit(X)
    sizes = adaptive_sizes(X, find_neighbors(X, 24))
    assert set(sizes) <= {6, 12, 24}
    expected = GaussianPatch().fit(X, find_neighbors(X, 24).nearest(sizes))
    np.testing.assert_array_equal(estimator.patches_.means, expected.means)
    np.testing.assert_array_equal(estimator.patches_.covariances(), expected.covariances())


def test_the_graph_has_its_own_degree_whatever_the_sizes():
    X, _ = sheet(300)
    recipe = GaussianPatch(size="adaptive")
    graph = PatchIsomap(n_neighbors=8, patch=recipe, lengths="divergence").fit(X).graph_
    edges = {tuple(sorted(edge)) for edge in zip(*graph.tocoo().coords, strict=True)}
    near = find_neighbors(X, 8)
    assert edges == {tuple(sorted(e)) for e in zip(near.sources, near.indices, strict=True)}


def test_a_new_point_has_the_patch_of_its_own_neighbours():
    X, t = sheet(600)
    fitted, new = X[100:], X[:100]
    recipe = GaussianPatch(size="adaptive")
    estimator = PatchLLE(n_neighbors=10, patch=recipe).fit(fitted)
    assert np.isfinite(estimator.transform(new)).all()
    found = ExactNeighbors(20).build(fitted).query(new)
    sizes = adaptive_sizes(fitted, found, new)
    assert sizes[t[:100] < -0.5].mean() > sizes[t[:100] > 0.5].mean()
    patches = recipe.fit(fitted, found, points=new)
    expected = GaussianPatch().fit(fitted, found.nearest(sizes), points=new)
    np.testing.assert_array_equal(patches.means, expected.means)


def test_radius_neighbourhoods_are_cut_each_by_its_own_size():
    X, _ = sheet(300)
    near = find_neighbors(X, None, radius=0.5)
    sizes = adaptive_sizes(X, near)
    assert (sizes <= near.degrees).all()
    assert (sizes[near.degrees < 6] == near.degrees[near.degrees < 6]).all()
    estimator = PatchIsomap(radius=0.5, patch=GaussianPatch(size="adaptive")).fit(X)
    expected = GaussianPatch().fit(X, near.nearest(sizes))
    np.testing.assert_array_equal(estimator.patches_.means, expected.means)


def test_sizes_do_not_depend_on_threads_and_duplicates_do_no_harm():
    X = np.repeat(sheet(100)[0], 4, axis=0)
    near = find_neighbors(X, 24)
    sizes = adaptive_sizes(X, near)
    np.testing.assert_array_equal(sizes, adaptive_sizes(X, near, n_jobs=2))
    same = np.zeros((30, 2))
    assert (adaptive_sizes(same, find_neighbors(same, 16)) == 16).all()


def test_arrays_of_other_namespaces_have_adaptive_patches_too():
    X, _ = sheet(100)
    plain = GaussianPatch(size="adaptive").fit(X)
    other = GaussianPatch(size="adaptive").fit(array_api_strict.asarray(X))
    np.testing.assert_allclose(np.asarray(other.means), plain.means)


def test_few_points_leave_what_neighbours_there_are():
    X = sheet(20)[0]
    patches = PatchIsomap(n_neighbors=15, patch=GaussianPatch(size="adaptive")).fit(X).patches_
    assert len(patches) == 20


def test_an_unknown_size_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"size='adaptve' is not known; did you mean 'adaptive'"):
        GaussianPatch(size="adaptve").fit(np.zeros((20, 2)))
