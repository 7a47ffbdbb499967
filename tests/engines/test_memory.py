"""Memory is checked before it is needed, and data on disk are never copied to double precision."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from patchfold import GaussianPatch, PatchIsomap, PatchSpace
from patchfold.engines.memory import check_memory
from patchfold.neighbors import find_neighbors

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 1500, 8000, 3


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """48 MB in a file, which would be 96 MB in double precision."""
    path = tmp_path_factory.mktemp("data") / "points.npy"
    points = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES), dtype=np.float32)
    np.save(path, points)
    return np.load(path, mmap_mode="r")


def peak(work):
    """Return what the work gives, and the bytes it had allocated at most."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_neighbours_are_found_beside_one_copy_in_single_precision(mapped):
    _, used = peak(lambda: find_neighbors(mapped, N_NEIGHBORS))
    assert used < 1.9 * mapped.nbytes


def test_patches_are_fitted_in_blocks(mapped):
    near = find_neighbors(mapped, N_NEIGHBORS)
    patches, used = peak(lambda: GaussianPatch().fit(mapped, near))
    assert patches.means.dtype == np.float32
    kept = sum(field.nbytes for field in (patches.means, patches.directions))
    assert used - kept < 1.5 * mapped.nbytes


def test_a_graph_of_distances_needs_no_more_than_its_neighbours(mapped):
    space = PatchSpace(n_neighbors=N_NEIGHBORS, divergence="euclidean")
    fitted, used = peak(lambda: space.fit(mapped))
    assert fitted.graph_.dtype == np.float32
    assert used < 1.9 * mapped.nbytes


def test_mapped_data_give_the_bits_of_data_in_memory(mapped):
    rows, columns = mapped[:200, :50], np.array(mapped[:200, :50])
    first, second = (PatchIsomap(n_neighbors=8).fit(X).embedding_ for X in (rows, columns))
    np.testing.assert_array_equal(first, second)


def test_what_is_not_there_is_refused_with_figures_and_a_remedy():
    words = "a matrix needs about 3.0 GB of memory, and 2.0 GB are available; take fewer rows"
    with pytest.raises(MemoryError, match=words):
        check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: 2 * 10**9)
    check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: 3 * 10**9)
    check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: None)  # not known
