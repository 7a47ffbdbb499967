"""Arrows of features over an embedding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.quiver import Quiver

from patchfold.plotting import CLASS_COLORS, plot_loadings


def model(slopes: Any, n: int = 400, **more: Any) -> Any:
    """Return what looks like an embedding with the same loadings (d, m) everywhere."""
    rng = np.random.default_rng(0)
    slopes = np.asarray(slopes, dtype=float)
    points = rng.standard_normal((n, slopes.shape[1]))
    points /= points.std(axis=0)
    return SimpleNamespace(
        embedding_=rng.uniform(-1, 1, (n, slopes.shape[0])),
        local_loadings=lambda: np.tile(slopes, (n, 1, 1)),
        patch_graph_=SimpleNamespace(lengths=SimpleNamespace(points=points)),
        **more,
    )


def arrows(ax: Any) -> dict[str, Any]:
    ax.figure.canvas.draw()
    found = [one for one in ax.collections if isinstance(one, Quiver)]
    return {str(one.get_label()): one for one in found}


def test_arrows_point_where_a_feature_moves_points_and_are_as_long_as_it_does() -> None:
    found = arrows(plot_loadings(model([[2.0, 0.0], [0.0, -1.0]]), ["a", "b"]))
    assert list(found) == ["a", "b"]
    np.testing.assert_allclose(found["a"].V, 0, atol=1e-12)
    np.testing.assert_allclose(found["b"].U, 0, atol=1e-12)
    np.testing.assert_allclose(found["b"].V, -found["a"].U / 2)
    assert (found["a"].U > 0).all()
    # Five squares a side, and the longest arrow shorter than a square.
    assert found["a"].N == 25
    assert 0.25 < found["a"].U.max() < 0.4


def test_deviations_of_features_count() -> None:
    same = model([[1.0, 1.0], [0.0, 1.0]])
    same.patch_graph_.lengths.points *= [5.0, 0.01]
    assert list(arrows(plot_loadings(same))) == ["feature 0"]


def test_only_the_strongest_features_are_drawn_and_named_strongest_first() -> None:
    ax = plot_loadings(model([[0.5, 1.0, 0.9, 0.8, 0.0], [0.0] * 5]), list("abcde"), n_features=3)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["b", "c", "d"]
    colors = [one.get_facecolor()[0] for one in arrows(ax).values()]
    np.testing.assert_allclose(colors, [to_rgba(color) for color in CLASS_COLORS[:3]])


def test_a_place_has_few_arrows() -> None:
    found = arrows(plot_loadings(model(np.eye(2).repeat(4, axis=1)), n_features=8))
    assert sum(one.N for one in found.values()) == 3 * 25


def test_the_view_has_room_for_all_arrows() -> None:
    ax = plot_loadings(model([[3.0], [3.0]]), n_places=2)
    (one,) = arrows(ax).values()
    tips = one.XY + np.column_stack([one.U, one.V])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert ((tips > [left, bottom]) & (tips < [right, top])).all()


def test_names_of_columns_are_taken_from_the_model() -> None:
    ax = plot_loadings(model([[1.0, 0.0], [0.0, 1.0]], feature_names_in_=["old", "new"]))
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"old", "new"}


def test_one_component_has_level_arrows_in_given_axes() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot_loadings(model([[1.0, -0.5]]), ax=right) is right
    assert not left.collections
    found = arrows(right)
    assert len(found) == 2
    assert all((one.V == 0).all() and (one.U != 0).all() for one in found.values())


def test_without_slopes_there_are_no_arrows() -> None:
    ax = plot_loadings(model(np.zeros((2, 3))))
    assert arrows(ax) == {}
    assert ax.get_legend() is None


def test_a_name_a_feature_is_needed() -> None:
    with pytest.raises(ValueError, match="feature_names has 1 names for 2 features"):
        plot_loadings(model(np.eye(2)), ["a"])
    with pytest.raises(ValueError, match="n_places=0"):
        plot_loadings(model(np.eye(2)), n_places=0)
    assert plt.get_fignums() == []
