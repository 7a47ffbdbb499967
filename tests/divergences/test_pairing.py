"""Divergences on edges and on all pairs do not depend on blocks, threads or the array library."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn

from gaussians import NAMES, factored_patches, full_patches, small_patches
from patchfold import GaussianPatch, Patches, PatchIsomap, divergences
from patchfold.divergences import pairing
from patchfold.neighbors import find_neighbors


@pytest.mark.slow
@pytest.mark.some_cases(7)
@pytest.mark.parametrize("size", [4, 12])
@pytest.mark.parametrize("name", NAMES)
def test_values_do_not_depend_on_block_size_or_threads(name, size):
    patches = small_patches(size=size)
    i, j = np.random.default_rng(0).integers(0, 50, (2, 301))
    one, all_pairs = divergences.paired(patches, i, j, name), divergences.pairwise(patches, name)
    with sklearn.config_context(working_memory=0.01):
        assert np.array_equal(divergences.paired(patches, i, j, name, n_jobs=2), one)
        assert np.array_equal(divergences.pairwise(patches, name, n_jobs=2), all_pairs)
    with sklearn.config_context(working_memory=0.001):
        assert np.array_equal(divergences.paired(patches, i, j, name), one)
    assert np.array_equal(all_pairs[i, j], one)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [4, 12])
def test_float32_stays_float32_and_agrees_with_float64(name, size):
    low, high = small_patches(size=size, dtype=np.float32), small_patches(size=size)
    value = divergences.pairwise(low, name)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, divergences.pairwise(high, name), rtol=2e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 12])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_array_namespaces_give_the_same_values(library, size):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    X = np.random.default_rng(1).standard_normal((30, 6))
    expected = GaussianPatch(size=size).fit(X)
    patches = GaussianPatch(size=size).fit(xp.asarray(X))
    i, j = np.triu_indices(30)
    for name in NAMES:
        value = divergences.paired(patches, i, j, name)
        matrix = divergences.pairwise(patches, name)
        assert type(value) is type(matrix) is type(xp.asarray(X))
        reference_ = divergences.paired(expected, i, j, name)
        np.testing.assert_allclose(np.asarray(value), reference_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.asarray(matrix)[i, j], reference_, rtol=1e-9, atol=1e-12)


def own_spread(a, b):
    return np.abs(a.variances - b.variances).mean(axis=1) + np.linalg.norm(
        a.means - b.means, axis=1
    )


@pytest.mark.parametrize("divergence", [*NAMES, own_spread])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_room_for_more_directions_than_are_used_changes_no_bit(divergence, dtype):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 40))
    near = find_neighbors(X.astype(dtype), 12).nearest(np.repeat([4, 12], 60))
    fitted = GaussianPatch().fit(X.astype(dtype), near)
    assert fitted.used_ranks().max() > fitted.used_ranks()[:60].max()
    new = fitted[np.arange(60)]  # as wide as the widest
    narrow = new.narrowed(int(new.used_ranks().max()))
    narrow = Patches(
        narrow.means,
        narrow.points,
        # As it lies in memory where patches are fitted.
        directions=np.ascontiguousarray(narrow.directions.transpose(0, 2, 1)).transpose(0, 2, 1),
        variances=narrow.variances,
        ridge=narrow.ridge,
    )
    i, j = rng.integers(0, 60, 400), rng.integers(0, 120, 400)
    expected = divergences.paired(new, i, j, divergence, other=fitted)
    found = divergences.paired(narrow, i, j, divergence, other=fitted)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ranks", [(2, 4), (4, 2), (1, 4)])
def test_patches_of_different_widths_of_another_namespace_are_compared(ranks):
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    rng = np.random.default_rng(6)
    pair = [factored_patches(rng, 8, 6, rank, 10.0, 1.0) for rank in ranks]
    fields = ("means", "directions", "variances", "ridge")
    others = [
        Patches.from_factors(*(xp.asarray(np.array(getattr(patches, name))) for name in fields))
        for patches in pair
    ]
    rows = np.arange(8)
    for name in NAMES:
        expected = divergences.paired(pair[0], rows, rows, name, other=pair[1])
        found = divergences.paired(others[0], rows, rows, name, other=others[1])
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9)


@pytest.mark.parametrize("forms", ["full, factored", "factored, full", "factored, factored"])
def test_pairs_are_compared_in_the_memory_there_is(monkeypatch, forms):
    rng, m = np.random.default_rng(7), 30
    made = {
        "full": lambda: full_patches(rng, 40, m, 10.0, 1.0),
        "factored": lambda: factored_patches(rng, 40, m, 2, 10.0, 1.0),
    }
    one, other = (made[form]() for form in forms.split(", "))
    lengths = []
    evaluate = pairing._evaluate

    def counted(function, a, b):
        lengths.append(len(a))
        return evaluate(function, a, b)

    monkeypatch.setattr(pairing, "_evaluate", counted)
    i, j = rng.integers(0, 40, (2, 200))
    with sklearn.config_context(working_memory=1):
        divergences.paired(one, i, j, "kl", other=other, n_jobs=2)
    assert sum(lengths) == 200
    numbers = 10 * m * m if "full" in forms else 10 * m + 6 * m * 2
    assert max(lengths) * 8 * numbers <= 2**19


def test_no_edges_give_no_values():
    assert divergences.paired(small_patches(), [], []).shape == (0,)


def test_negative_indices_count_from_the_end():
    patches = small_patches()
    assert divergences.paired(patches, [-1], [0]) == divergences.paired(patches, [49], [0])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: divergences.paired(p, [0], [50]), IndexError, "j refers to patches 50"),
        (lambda p: divergences.paired(p, [0.5], [1]), ValueError, "i must be .* integers"),
        (lambda p: divergences.paired(p, [[0]], [1]), ValueError, "one-dimensional"),
        (lambda p: divergences.paired(p, [0, 1], [1]), ValueError, "2 and 1"),
        (lambda p: divergences.paired(p, [0], [1], lambda a, b: 1.0), ValueError, "one value per"),
        (
            lambda p: divergences.paired(p, [0], [1], lambda a, b: -np.ones(1)),
            ValueError,
            "negative, NaN or infinite",
        ),
        (
            lambda p: divergences.pairwise(p, lambda a, b: np.full(len(b), np.nan)),
            ValueError,
            "negative, NaN or infinite",
        ),
        (lambda p: divergences.kl(p[:2], p[:3]), ValueError, "row by row: got 2 .* and 3"),
        (lambda p: divergences.paired(p.means, [0], [1]), TypeError, "patches is a ndarray"),
    ],
)
def test_bad_input_gets_a_message_that_names_it(call, error, words):
    with pytest.raises(error, match=words):
        call(small_patches())


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16, np.longdouble])
def test_values_of_any_real_type_become_floating(dtype):
    def own(a, b):
        return np.ceil(np.linalg.norm(a.means - b.means, axis=-1)).astype(dtype)

    patches = small_patches()
    i, j = np.arange(10), np.arange(10, 20)
    for values in (divergences.paired(patches, i, j, own), divergences.pairwise(patches, own)):
        assert values.dtype == np.float64
    expected = own(patches[i], patches[j]).astype(float)
    np.testing.assert_array_equal(divergences.paired(patches, i, j, own), expected)
    Y = PatchIsomap(5, n_neighbors=9, divergence=own, lengths="divergence").fit_transform(
        np.random.default_rng(0).random((40, 3))
    )
    assert Y.dtype == np.float64


@pytest.mark.parametrize("dtype", [complex, object, str])
def test_values_that_are_no_real_numbers_are_refused(dtype):
    with pytest.raises(TypeError, match=r"gave values of type .*; return real numbers"):
        divergences.paired(small_patches(), [0], [1], lambda a, b: np.ones(len(a)).astype(dtype))
