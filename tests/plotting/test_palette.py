"""Classes have the colours that the page gives them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from patchfold.plotting.palette import CLASS_COLORS, _perceived, class_colors

PAGE = Path(__file__).parents[2] / "page" / "src" / "colors.js"


def levels(names: tuple[str, ...]) -> np.ndarray:
    return np.array([[int(name[i : i + 2], 16) for i in (1, 3, 5)] for name in names])


def test_the_first_colours_are_those_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert ", ".join(f'"{name}"' for name in CLASS_COLORS[:8]) in text
    assert ", ".join(f'"{name}"' for name in CLASS_COLORS[8:]) in text


def test_more_colours_begin_with_the_fewer_and_can_be_told_apart() -> None:
    many = class_colors(60)
    assert many[:16] == CLASS_COLORS
    assert many[:40] == class_colors(40)
    seen = _perceived(levels(many))
    gaps = np.linalg.norm(seen[:, None] - seen, axis=2) + np.eye(60)
    assert gaps.min() > 0.04


def test_white_is_light_and_without_colour() -> None:
    np.testing.assert_allclose(_perceived(np.array([[255, 255, 255]])), [[1, 0, 0]], atol=1e-6)
