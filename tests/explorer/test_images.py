"""Pictures are recognised in data, and made small without changing what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from explorer_pages import data_of, unpacked
from patchfold import explore
from patchfold.explorer.images import SHEET, SIDE, pack_images
from patchfold.explorer.packing import ArrayStore

if TYPE_CHECKING:
    from pathlib import Path


def packed(images: Any, n: int) -> Any:
    """Return small pictures as (n, height, width, channels)."""
    store = ArrayStore()
    found = pack_images(images, n, store)
    shape = (-1, found["height"], found["width"], found["channels"])
    return np.concatenate([unpacked(store, sheet).reshape(shape) for sheet in found["sheets"]])


def test_a_page_says_that_it_took_columns_for_pictures() -> None:
    digits = load_digits().data[:60]
    page = explore(digits, n_neighbors=[5], divergences=["kl"])
    assert "64 columns are taken for pictures of 8 x 8 pixels" in page.notes[0]
    data = data_of(page)
    assert (data["images"]["width"], data["images"]["height"]) == (8, 8)
    # A pixel alone says nothing; patches do.
    assert [column["name"] for column in data["columns"]][1:] == ["log density", "strangeness"]
    refused = explore(digits, n_neighbors=[5], divergences=["kl"], images=False)
    assert data_of(refused)["images"] is None
    assert len(data_of(refused)["columns"]) == 64 + 3
    assert not any("pictures" in note for note in refused.notes)
    stacked = explore(digits.reshape(60, 8, 8), n_neighbors=[5], divergences=["kl"])
    assert data_of(stacked)["images"] == data["images"]
    assert "60 pictures of 8 x 8" in stacked.notes[0]


@pytest.mark.parametrize("shape", [(20, 12, 9), (20, 12, 9, 3), (20, 3, 12, 9), (20, 144)])
def test_small_pictures_keep_every_pixel(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    expected = images.reshape(20, 12, 12) if len(shape) == 2 else images
    expected = np.moveaxis(expected, 1, -1) if shape[1] == 3 else expected
    got = packed(images, 20)
    np.testing.assert_array_equal(got.squeeze(), expected)


def test_large_pictures_shrink_to_means_of_their_pixels() -> None:
    images = np.random.default_rng(0).random((3, 2 * SIDE, 2 * SIDE))
    images[0, 0, 0], images[0, 0, 1] = 0, 1
    means = images.reshape(3, SIDE, 2, SIDE, 2).mean(axis=(2, 4))
    low, high = images.min(), images.max()
    got = packed(images, 3)[..., 0]
    np.testing.assert_allclose(got, 255 * (means - low) / (high - low), atol=0.51)


def test_transparent_pixels_are_white_and_sheets_are_joined() -> None:
    n = SHEET + 3
    images = np.zeros((n, 2, 2, 4), dtype=np.uint8)
    images[-1, 0, 0] = [10, 20, 30, 255]
    got = packed(images, n)
    assert (got[:-1] == 255).all()
    np.testing.assert_array_equal(got[-1, 0, 0], [10, 20, 30])


def test_files_are_read(tmp_path: Path) -> None:
    for name, size in (("a.png", (40, 20)), ("b.png", (SIDE, SIDE))):
        Image.new("RGB", size, (200, 0, 0)).save(tmp_path / name)
    got = packed([tmp_path / "a.png", str(tmp_path / "b.png")], 2)
    assert got.shape[1:] == (SIDE, SIDE, 3)
    assert (got[1] == [200, 0, 0]).all()
    assert (got[0, SIDE // 2, SIDE // 2] == [200, 0, 0]).all()
    assert (got[0, 0, 0] == 255).all()


def test_what_is_no_picture_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no picture")
    refused = [
        (np.zeros((3, 8, 8)), "images has 3 pictures for 2 points"),
        (np.zeros((2, 50)), "50 columns, which is no square"),
        (np.zeros((2, 8, 8, 7)), r"shape \(2, 8, 8, 7\)"),
        ([tmp_path / "a.txt"] * 2, r"images\[0\] cannot be read"),
        ([tmp_path / "none.png"] * 2, r"images\[0\] cannot be read"),
    ]
    for images, message in refused:
        with pytest.raises(ValueError, match=message):
            pack_images(images, 2, ArrayStore())
    for wrong in ("a.png", 7, np.array([["a"], ["b"]], dtype=object)):
        with pytest.raises(TypeError, match="images"):
            pack_images(wrong, 2, ArrayStore())
