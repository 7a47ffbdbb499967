"""Edges are lines with colours that grow with the divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm

from drawing import drawn, full, ring
from patchfold.plotting import plot_patches


def test_every_edge_is_a_line_between_its_points_with_the_largest_divergence_on_top() -> None:
    patches = full()
    i, j = ring(12)
    values = np.random.default_rng(1).permutation(12).astype(float)
    lines = drawn(plot_patches(patches, edges=(i, j), values=values), LineCollection)
    order = np.argsort(values)
    ends = patches.points[:, :2]
    expected = np.stack([ends[i[order]], ends[j[order]]], axis=1)
    np.testing.assert_array_equal(np.array(lines.get_segments()), expected)
    np.testing.assert_array_equal(lines.get_array(), values[order])
    assert (np.diff(lines.get_linewidth()) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        np.zeros(12),
        np.full(12, 3.0),
        np.r_[np.zeros(11), 1.0],
        np.r_[np.zeros(6), np.ones(6)],
        np.r_[np.linspace(1, 2, 11), 1e12],
        np.r_[np.linspace(1, 2, 11), 1e-300],
        np.linspace(1e-30, 2e-30, 12),
        np.arange(12, dtype=np.float32),
        list(range(12)),
    ],
    ids=[
        "zeros",
        "equal",
        "one-positive",
        "half-zero",
        "huge",
        "tiny",
        "all-tiny",
        "float32",
        "list",
    ],
)
def test_any_divergences_have_colours_that_grow_with_them(values: Any) -> None:
    ax = plot_patches(full(), edges=ring(12), values=values)
    lines = drawn(ax, LineCollection)
    places = lines.norm(lines.get_array())
    assert np.isfinite(places).all()
    assert (np.diff(places) >= 0).all()
    assert 0 <= places.min() <= places.max() <= 1


def test_ordinary_edges_keep_different_colours_beside_an_outlier() -> None:
    values = np.r_[np.linspace(1, 2, 99), 1e4]
    ax = plot_patches(full(100), edges=ring(100), values=values)
    places = drawn(ax, LineCollection).norm(values)
    assert places[98] - places[0] > 0.03
    assert places[98] < 0.5


def test_large_divergences_that_differ_little_use_the_whole_scale_beside_a_zero() -> None:
    values = np.r_[0.0, np.linspace(3e5, 4e5, 99)]
    ax = plot_patches(full(100), edges=ring(100), values=values)
    lines = drawn(ax, LineCollection)
    assert np.median(np.asarray(lines.norm(values))) < 0.7
    assert lines.colorbar.extend == "min"


def test_a_single_edge_is_drawn() -> None:
    ax = plot_patches(full(), edges=([0], [5]), values=[0.25])
    assert len(drawn(ax, LineCollection).get_segments()) == 1


def test_no_edges_are_drawn_from_empty_lists() -> None:
    ax = plot_patches(full(), edges=([], []), values=[])
    assert not [artist for artist in ax.collections if isinstance(artist, LineCollection)]


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.linspace(0, 3, 11), 47.0],
        np.linspace(40, 47, 12),
        np.r_[np.logspace(-5, 1, 11), 47],
        np.full(12, 47.0),
    ],
    ids=["outlier", "narrow", "wide", "equal"],
)
def test_the_colour_bar_names_round_values_up_to_the_largest_divergence(values: Any) -> None:
    ax = plot_patches(full(), edges=ring(12), values=values, label="kl")
    bar = drawn(ax, LineCollection).colorbar
    assert bar.ax.get_ylabel() == "kl"
    ticks = bar.get_ticks()
    assert ticks[-1] == 47
    assert (np.diff(ticks) > 0).all()
    assert 3 <= len(ticks) <= 15
    np.testing.assert_allclose([float(t.get_text()) for t in bar.ax.get_yticklabels()], ticks)


def test_the_colour_bar_can_be_left_out() -> None:
    ax = plot_patches(full(), edges=ring(12), values=np.arange(12), colorbar=False)
    assert ax.figure.axes == [ax]


def test_colours_and_their_scale_can_be_given() -> None:
    scale = LogNorm(1, 100)
    values = np.arange(12.0)
    ax = plot_patches(full(), edges=ring(12), values=values, cmap="cividis", norm=scale)
    lines = drawn(ax, LineCollection)
    assert lines.norm is scale
    assert lines.get_cmap().name == "cividis"
