"""Pictures of the points: found in the data or given, and made small for the page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isqrt, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from patchfold.tables.one_unit import pixel_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from patchfold.base.types import Doubles
    from patchfold.explorer.packing import ArrayStore

    Bytes = NDArray[np.uint8]

# Small pictures have sides of at most SIDE pixels, and MOST_VALUES values together: at most about
# 20 MB of a page, and usually a third of that.
SIDE, MOST_VALUES = 64, 32_000_000
# The page unpacks SHEET pictures at once.
SHEET = 2048
GREY, COLOUR, WITH_ALPHA = 1, 3, 4


@dataclass(frozen=True, eq=False)
class Pictures:
    """Points as rows of numbers, with their pictures (None: they have none) and what to say.

    Where the numbers are the pixels of the pictures, they are no columns to read, and are called by
    row and column.
    """

    points: Any
    images: Any = None
    pixels: bool = False
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None


def pictures_of(X: Any, images: Any) -> Pictures:
    """Return points and pictures; without any given, look for pixels in the points.

    Points are an array of shape (n, m), (n, height, width) or (n, height, width, channels). Images
    are n pictures, n paths, None to look for pixels in ``X``, or False not to.
    """
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) in {3, 4}:
        points = np.asarray(X).reshape(shape[0], -1)
        if images is False:
            return Pictures(points, pixels=True, names=pixel_names(shape[1:]))
        size = " x ".join(map(str, shape[1:]))
        note = f"X is taken for {shape[0]} pictures of {size} values, which the page shows"
        shown = np.asarray(X) if images is None else images
        return Pictures(points, shown, True, (note,), pixel_names(shape[1:]))
    if images is False:
        return Pictures(X)
    if images is not None:
        # As many values as the points have are their pixels.
        pixels = getattr(images, "shape", ())
        return Pictures(X, images, len(pixels) > 1 and prod(pixels) == prod(shape))
    side = pixel_side(X)
    if side is None:
        return Pictures(X)
    note = (
        f"the {side * side} columns are taken for pictures of {side} x {side} pixels, which the "
        "page shows; give images=False if they are none"
    )
    names = pixel_names((side, side))
    return Pictures(X, np.asarray(X).reshape(-1, side, side), True, (note,), names)


def pixel_names(shape: Sequence[int]) -> tuple[str, ...]:
    """Call the pixels of pictures by row and column, and by channel where there are some.

    Examples
    --------
    >>> pixel_names((1, 2)), pixel_names((1, 1, 3))[-1]
    (('pixel 0, 0', 'pixel 0, 1'), 'pixel 0, 0, 2')
    """
    return tuple("pixel " + ", ".join(map(str, place)) for place in np.ndindex(*shape))


def pack_images(images: Any, n: int, store: ArrayStore) -> dict[str, Any]:
    """Keep small pictures in the store, and describe them."""
    if isinstance(images, str | bytes) or not hasattr(images, "__len__"):
        raise TypeError(
            f"images is {str(images)[:60]!r}; give an array of {n} pictures, or {n} paths."
        )
    if len(images) != n:
        raise ValueError(f"images has {len(images)} pictures for {n} points; give one per point.")
    if all(isinstance(one, str | os.PathLike) for one in images):
        small = _from_files(
            cast("Sequence[Any]", images), max(1, min(SIDE, isqrt(MOST_VALUES // (n * COLOUR))))
        )
    else:
        small = _from_array(np.asarray(images), n)
    sheets = [store.add(small[start : start + SHEET]) for start in range(0, n, SHEET)]
    height, width, channels = small.shape[1:]
    return {
        "width": width,
        "height": height,
        "channels": channels,
        "sheet": SHEET,
        "sheets": sheets,
    }


def _from_array(images: NDArray[Any], n: int) -> Bytes:
    pictures = _in_channels(images)
    height, width, channels = pictures.shape[1:]
    shrink = min(1.0, SIDE / max(height, width), (MOST_VALUES / pictures.size) ** 0.5)
    rows = _shares(max(1, int(height * shrink)), height)
    columns = _shares(max(1, int(width * shrink)), width)
    low, high = _range(pictures)
    parts = []
    for start in range(0, n, SHEET):
        some = np.nan_to_num(pictures[start : start + SHEET].astype(np.float64), nan=low)
        some = np.clip((some - low) / (high - low), 0, 1)
        if channels == WITH_ALPHA:  # on white
            some = 1 + (some[..., :COLOUR] - 1) * some[..., COLOUR:]
        if shrink < 1:
            some = np.einsum("ah,nhwc,bw->nabc", rows, some, columns, optimize=True)
        parts.append(np.round(255 * some).astype(np.uint8))
    return np.concatenate(parts)


def _in_channels(images: NDArray[Any]) -> NDArray[Any]:
    """Return pictures as (n, height, width, channels)."""
    if images.dtype.kind not in "biuf":
        raise TypeError(f"images has values of type {images.dtype}; give numbers, or paths.")
    if images.ndim == 2:
        side = isqrt(images.shape[1])
        if side * side != images.shape[1]:
            raise ValueError(
                f"images has {images.shape[1]} columns, which is no square; give an array of "
                "shape (n, height, width)."
            )
        images = images.reshape(-1, side, side)
    if images.ndim == 3:
        return images[..., None]
    if images.ndim == 4 and images.shape[-1] in {GREY, COLOUR, WITH_ALPHA}:
        return images
    if images.ndim == 4 and images.shape[1] in {GREY, COLOUR}:  # channels first
        return np.moveaxis(images, 1, -1)
    raise ValueError(
        f"images has the shape {images.shape}; give (n, height, width), with 1, 3 or 4 channels "
        "behind, or n paths."
    )


def _range(pictures: NDArray[Any]) -> tuple[float, float]:
    """Return what is black and what is white."""
    if pictures.dtype == np.uint8:
        return 0.0, 255.0
    low, high = float(np.nanmin(pictures)), float(np.nanmax(pictures))
    return (low, high) if high > low else (low, low + 1)


def _shares(small: int, large: int) -> Doubles:
    """Return how much of each of ``large`` pixels is in each of ``small`` ones; rows sum to 1."""
    edges = np.linspace(0, large, small + 1)
    place = np.arange(large)
    ends = np.minimum(edges[1:, None], place + 1) - np.maximum(edges[:-1, None], place)
    return np.asarray(np.clip(ends, 0, None) * small / large)


def _from_files(paths: Sequence[Any], side: int) -> Bytes:
    """Read pictures, each in the middle of a white square."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise ImportError("pictures in files are read by Pillow; pip install pillow.") from error
    small = np.full((len(paths), side, side, COLOUR), 255, dtype=np.uint8)
    for row, path in enumerate(paths):
        try:
            with Image.open(Path(path)) as opened:
                opened.thumbnail((side, side))
                values = np.asarray(opened.convert("RGB"))
        except (OSError, UnidentifiedImageError) as error:
            raise ValueError(f"images[{row}] cannot be read as a picture: {error}") from error
        top, left = ((side - length) // 2 for length in values.shape[:2])
        small[row, top : top + values.shape[0], left : left + values.shape[1]] = values
    return small
