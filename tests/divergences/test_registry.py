"""Divergences have names, and users can add their own."""

from __future__ import annotations

import numpy as np
import pytest

from gaussians import small_patches
from patchfold import divergences
from patchfold.divergences import registry


def test_a_callable_serves_as_divergence_and_sees_equally_many_patches_on_both_sides():
    patches = small_patches()

    def gap(a, b):
        assert len(a) == len(b)
        return np.abs(a.means - b.means).max(axis=1)

    expected = np.abs(patches.means[:, None] - patches.means[None]).max(axis=2)
    assert np.array_equal(divergences.pairwise(patches, gap), expected)
    assert np.array_equal(divergences.paired(patches, [3], [7], gap), expected[[3], [7]])


def test_a_registered_name_can_be_used_and_not_taken_twice():
    def gap(a, b):
        return np.abs(a.means - b.means).sum(axis=1)

    divergences.register("test-gap", gap)
    try:
        assert "test-gap" in divergences.NAMES
        patches = small_patches()
        assert divergences.paired(patches, [0], [1], "test-gap") == gap(patches[0], patches[1])
        with pytest.raises(ValueError, match="'test-gap' is taken"):
            divergences.register("test-gap", gap)
    finally:
        del registry._REGISTRY["test-gap"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: divergences.paired(p, [0], [1], "kll"), ValueError, r"'kll'.*'kl'"),
        (lambda p: divergences.pairwise(p, "helinger"), ValueError, "'hellinger'"),
        (lambda p: divergences.paired(p, [0], [1], 3), ValueError, "divergence=3"),
        (lambda p: divergences.register("", len), TypeError, "non-empty string"),
        (lambda p: divergences.register("new", 3), TypeError, "must be callable"),
        (lambda p: divergences.register("kl", len), ValueError, "'kl' is taken"),
    ],
)
def test_a_wrong_name_or_function_is_named_with_what_is_allowed(call, error, words):
    with pytest.raises(error, match=words):
        call(small_patches())
