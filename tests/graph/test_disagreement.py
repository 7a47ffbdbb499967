"""How much patches disagree: every number against a loop, and what it does not depend on."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_swiss_roll

from gaussians import factored_patches, full_patches
from patchfold import GaussianPatch, Patches, PatchSpace
from patchfold.graph.disagreement import (
    NOISY,
    QUIET,
    Typical,
    leaving,
    medians,
    nearest,
    shares,
)
from patchfold.neighbors import find_neighbors
from patchfold.patches import recommended_patch

SEEDS = st.integers(0, 2**32 - 1)
FORMS = pytest.mark.parametrize("form", ["full", "factored"])


def made(form, rng, n, m, condition=100.0):
    if form == "full":
        return full_patches(rng, n, m, condition)
    return factored_patches(rng, n, m, m - 1 if m < 4 else m - 2, condition)


def slowly_leaving(a, i, b, j):
    """Return the share of every edge from covariances that are written out."""
    A, B = a.covariances(), b.covariances()
    shares = []
    for start, end in zip(i, j, strict=True):
        u = b.points[end] - a.points[start]
        most = 0.0
        for S in (A[start], B[end]):
            values = np.linalg.eigvalsh(S)
            if values[-1] - values[0] > 1e-9 * values[-1] and u.any():
                rayleigh = (u @ S @ u) / (u @ u)
                most = max(most, 1 - (rayleigh - values[0]) / (values[-1] - values[0]))
        shares.append(most)
    return np.array(shares)


# ------------------------------------------------------------------- how far edges leave


@given(SEEDS, st.integers(2, 8), st.sampled_from(["full", "factored"]), st.booleans())
def test_leaving_is_that_of_covariances_written_out(seed, m, form, other):
    rng = np.random.default_rng(seed)
    a = made(form, rng, 12, m)
    b = made(form, rng, 9, m) if other else a
    i, j = rng.integers(0, 12, 30), rng.integers(0, 9, 30)
    found = leaving(a, i, b, j)
    np.testing.assert_allclose(found, slowly_leaving(a, i, b, j), atol=1e-9)
    assert ((found >= 0) & (found <= 1)).all()


@FORMS
@pytest.mark.parametrize("condition", [1.0, 1 + 1e-12, 1e14])
def test_leaving_stays_between_zero_and_one(form, condition):
    rng = np.random.default_rng(0)
    patches = made(form, rng, 40, 5, condition)
    i, j = rng.integers(0, 40, (2, 200))
    with np.errstate(all="raise", under="ignore"):
        found = leaving(patches, i, patches, j)
    assert ((found >= 0) & (found <= 1)).all()


def test_leaving_has_its_ends_along_and_across_a_flat_patch():
    flat = np.stack([np.diag([1.0, 1.0, 0.01])] * 4)
    points = np.array([[0.0, 0, 0], [3.0, 4.0, 0], [0, 0, -2.0], [1.0, 0, 1.0]])
    patches = Patches.from_moments(points, flat)
    found = leaving(patches, np.zeros(4, int), patches, np.arange(4))
    np.testing.assert_allclose(found, [0, 0, 1, 0.5], atol=1e-12)


def test_the_patch_that_is_left_by_more_decides():
    flat, upright = np.diag([1.0, 1.0, 0.01]), np.diag([0.01, 1.0, 1.0])
    points = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    patches = Patches.from_moments(points, np.stack([flat, upright]))
    np.testing.assert_allclose(leaving(patches, np.array([0]), patches, np.array([1])), 1)


@FORMS
@given(SEEDS, st.integers(2, 6))
def test_leaving_does_not_change_when_the_ends_are_exchanged(form, seed, m):
    rng = np.random.default_rng(seed)
    a, b = made(form, rng, 10, m), made(form, rng, 10, m)
    i, j = rng.integers(0, 10, (2, 20))
    np.testing.assert_array_equal(leaving(a, i, b, j), leaving(b, j, a, i))


@given(
    SEEDS,
    st.integers(2, 6),
    st.sampled_from([2.0**-30, 0.3, 1e4]),
    st.sampled_from([0.0, 1.0, 50.0]),
    st.booleans(),
)
def test_rotation_translation_and_unit_of_the_data_change_nothing(seed, m, scale, shift, plain):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, m)) * np.linspace(2, 0.5, m)
    near = find_neighbors(X, 8)
    rotation = np.linalg.qr(rng.normal(size=(m, m)))[0]
    recipe = GaussianPatch() if plain else recommended_patch(30)
    i, j = near.sources, near.indices
    before, after = recipe.fit(X, near), recipe.fit(scale * (X @ rotation + shift), near)
    expected = leaving(before, i, before, j)
    np.testing.assert_allclose(leaving(after, i, after, j), expected, atol=1e-6)


@FORMS
def test_a_step_of_length_zero_leaves_nothing(form):
    rng = np.random.default_rng(0)
    patches = made(form, rng, 6, 4)
    every = np.arange(6)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(leaving(patches, every, patches, every), 0)


@pytest.mark.parametrize(
    "patches",
    [
        Patches.from_moments(np.eye(3), np.stack([2 * np.eye(3)] * 3)),
        Patches.from_factors(np.eye(3), np.zeros((3, 3, 1)), np.zeros((3, 1)), np.ones(3)),
    ],
    ids=["full", "factored"],
)
def test_a_patch_as_wide_in_all_directions_is_left_by_none(patches):
    found = leaving(patches, np.array([0, 1]), patches, np.array([1, 2]))
    np.testing.assert_array_equal(found, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvalues_that_differ_by_rounding_are_equal(dtype):
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(50, 3, 3)))[0]
    round_ = V @ V.transpose(0, 2, 1)  # the identity, nearly
    points = rng.normal(size=(50, 3)).astype(dtype)
    patches = Patches.from_moments(points, ((round_ + round_.mT) / 2).astype(dtype))
    found = leaving(patches, np.arange(49), patches, np.arange(1, 50))
    np.testing.assert_array_equal(found, 0)


@FORMS
def test_threads_and_memory_change_no_bit(form):
    rng = np.random.default_rng(1)
    patches = made(form, rng, 300, 40)
    i, j = rng.integers(0, 300, (2, 4000))
    expected = leaving(patches, i, patches, j, n_jobs=1)
    with sklearn.config_context(working_memory=1):
        found = leaving(patches, i, patches, j, n_jobs=2)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(leaving(patches, i[:1], patches, j[:1]), expected[:1])


@FORMS
def test_no_edges_leave_nothing(form):
    patches = made(form, np.random.default_rng(0), 3, 4)
    none = np.empty(0, np.intp)
    assert leaving(patches, none, patches, none).shape == (0,)


# ------------------------------------------------------------------- what is typical


@given(SEEDS, st.integers(1, 12), st.integers(0, 40))
def test_medians_are_those_of_a_loop(seed, n, size):
    rng = np.random.default_rng(seed)
    rows, values = rng.integers(0, n, size), rng.integers(0, 9, size).astype(float)
    expected = np.zeros(n)
    for row in range(n):
        own = sorted(values[rows == row])
        if own:
            expected[row] = own[(len(own) - 1) // 2]
    np.testing.assert_array_equal(medians(rows, values, n), expected)


def slowly_typical(i, j, values, distances, leaves, offsets, apart):
    """Return the fields of Typical, in loops."""
    n = len(offsets)

    def lower(some):
        return sorted(some)[(len(some) - 1) // 2] if some else 0.0

    def positive(some):
        above = [one for one in some if one > 0]
        return np.median(above) if above else 1.0

    edges = list(zip(i, j, strict=True))
    around = [
        lower([v for edge, v in zip(edges, values, strict=True) if point in edge])
        for point in range(n)
    ]
    for _ in range(6):
        around = [
            lower(
                [around[point]]
                + [around[b] for a, b in edges if a == point]
                + [around[a] for a, b in edges if b == point]
            )
            for point in range(n)
        ]
    return {
        "distance": positive(distances),
        "divergence": positive(values),
        "leaving": max(0.3, np.median(leaves)) if len(leaves) else 0.3,
        "around": around,
        "noise": 2 * np.median(np.square(offsets)) / positive(np.square(apart)),
    }


def assert_typical(found, expected):
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-14, err_msg=name)


@given(SEEDS, st.integers(2, 12), st.integers(0, 30), st.booleans())
def test_what_is_typical_is_that_of_a_loop(seed, n, n_edges, whole):
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, n * n, n_edges))
    i, j = code // n, code % n
    i, j = i[i < j], j[i < j]

    def numbers(size):  # whole ones have zeros and ties
        return rng.integers(0, 4, size).astype(float) if whole else rng.exponential(size=size)

    values, distances, apart = (numbers(len(i)) for _ in range(3))
    leaves, offsets = rng.uniform(size=len(i)), numbers(n)
    found = Typical.of((i, j), values, distances, leaves, offsets, apart)
    assert_typical(found, slowly_typical(i, j, values, distances, leaves, offsets, apart))


def test_zeros_say_nothing_about_what_is_typical():
    edges, zero = (np.array([0, 0, 1]), np.array([1, 2, 2])), np.zeros(3)
    expected = {"distance": 1, "divergence": 1, "leaving": 0.3, "around": zero, "noise": 0}
    assert_typical(Typical.of(edges, zero, zero, zero, zero, zero), expected)
    found = Typical.of(edges, np.array([0.0, 0, 3]), np.array([0.0, 5, 7]), zero, zero, zero)
    assert (found.divergence, found.distance) == (3.0, 6.0)


@given(SEEDS)
def test_the_order_of_edges_and_points_does_not_change_what_is_typical(seed):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(9, 1)
    numbers = rng.exponential(size=(4, len(i)))
    offsets = rng.exponential(size=9)
    points, order = rng.permutation(9), rng.permutation(len(i))
    expected = Typical.of((i, j), *numbers[:3], offsets, numbers[3])
    # The point that was p is points[p] now.
    ends = points[j][order], points[i][order]
    mixed = numbers[:, order]
    found = Typical.of(ends, *mixed[:3], offsets[np.argsort(points)], mixed[3])
    np.testing.assert_array_equal(found.around[points], expected.around)
    for name in ("distance", "divergence", "leaving", "noise"):
        assert getattr(found, name) == getattr(expected, name)


@given(SEEDS, st.integers(2, 30), st.booleans())
def test_what_ends_share_is_that_of_sets(seed, n, whole):
    rng = np.random.default_rng(seed)
    code = np.unique(rng.integers(0, n * n, 12 * n))
    i, j = code // n, code % n
    i, j = i[i < j], j[i < j]
    apart = rng.integers(0, 4, len(i)).astype(float) if whole else rng.exponential(size=len(i))
    pairs = list(zip(i.tolist(), j.tolist(), apart.tolist(), strict=True))
    sets, kept = [{point} for point in range(n)], set()
    for point in range(n):
        edges = [(d, e, a + b - point) for e, (a, b, d) in enumerate(pairs) if point in (a, b)]
        reach = sorted(d for d, _, _ in edges)[min(len(edges), 10) - 1] if edges else 0.0
        sets[point] |= {other for d, _, other in edges if d <= reach}
        kept |= {e for d, e, _ in edges if d <= reach}
    near, led = nearest((i, j), apart, n)
    assert [set(near[[point]].indices.tolist()) for point in range(n)] == sets
    assert set(np.flatnonzero(led).tolist()) == kept
    a, b = rng.integers(0, n, (2, 40))
    expected = [
        len(sets[x] & sets[y]) / min(len(sets[x]), len(sets[y])) for x, y in zip(a, b, strict=True)
    ]
    np.testing.assert_allclose(shares(near, a, b), expected, rtol=1e-15)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_memory_and_threads_do_not_change_what_ends_share(n_jobs):
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(60, 1)
    near, _ = nearest((i, j), rng.exponential(size=len(i)), 60)
    expected = shares(near, i, j)
    with sklearn.config_context(working_memory=0.01):
        np.testing.assert_array_equal(shares(near, i, j, n_jobs=n_jobs), expected)
    assert shares(near, i[:0], j[:0]).shape == (0,)


def test_disagreement_is_the_product_of_both_beside_what_is_typical():
    typical = Typical(1.0, 2.0, 0.4, np.array([1.0, 8.0]), 0.0)
    values, leaves = np.array([2.0, 3.0, 8.0, 0.0]), np.array([0.4, 0.4, 0.8, 1.0])
    around = np.array([1.0, 1.0, 8.0, 1.0])
    found = typical.disagreement(values, leaves, around)
    np.testing.assert_allclose(found, [1 / 1.5, 1, 2 / 1.5, 0])
    assert typical.disagreement(values.astype(np.float32), leaves, around).dtype == np.float64


@pytest.mark.parametrize(
    ("noise", "quiet"),
    [
        (0.0, 1.0),
        (QUIET, 1.0),
        ((QUIET + NOISY) / 2, 0.5),
        (NOISY, 0.0),
        (1.0, 0.0),
        (50.0, 0.0),
    ],
)
def test_distances_are_relied_on_less_the_more_they_are_noise(noise, quiet):
    assert Typical(1.0, 1.0, 0.3, np.ones(2), noise).quiet == pytest.approx(quiet, abs=1e-12)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        (np.float64, 2.0**-330),
        (np.float64, 2.0**230),
        (np.float32, 2.0**-38),
        (np.float32, 2.0**30),
    ],
)
def test_very_small_and_very_large_units_change_nothing(dtype, scale):
    X = make_swiss_roll(200, noise=0.3, random_state=0)[0]
    graphs = [
        PatchSpace(n_neighbors=10).fit((X * unit).astype(dtype)).graph_ for unit in (1.0, scale)
    ]
    assert graphs[0].nnz == graphs[1].nnz
    np.testing.assert_allclose(graphs[1].toarray(), graphs[0].toarray(), rtol=1e-4)
