"""Bridges are lines over an embedding, the most suspicious on top."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from patchfold import PatchSpace
from patchfold.datasets import make_manifold
from patchfold.plotting import plot_bridges

ROLL = make_manifold("swiss-roll", 300, 0.0, 0)


@pytest.fixture(scope="module")
def found():
    return PatchSpace(n_neighbors=30).fit(ROLL.X).bridges()


def bridge_lines(ax):
    (lines,) = (one for one in ax.collections if isinstance(one, LineCollection))
    return lines


@pytest.mark.slow
def test_every_bridge_is_a_line_between_its_ends_the_most_suspicious_on_top(found):
    lines = bridge_lines(plot_bridges(ROLL.coordinates, found))
    at = ROLL.coordinates
    order = np.argsort(found.score, kind="stable")
    expected = np.stack([at[found.source], at[found.target]], axis=1)[order]
    np.testing.assert_array_equal(lines.get_segments(), expected)
    widths = np.array(lines.get_linewidths())
    assert (np.diff(widths) >= 0).all()
    assert widths[-1] == 3.0


@pytest.mark.slow
def test_the_picture_says_what_its_lines_mean_and_names_their_ends(found):
    ax = plot_bridges(ROLL.coordinates, found, names=[f"row {row}" for row in range(300)])
    assert ax.get_xlabel().startswith(f"{len(found)} suspicious edges: neighbours in the data")
    named = {text.get_text() for text in ax.texts}
    assert f"row {found.source[0]}" in named
    assert named <= {f"row {row}" for row in [*found.source[:3], *found.target[:3]]}
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    with pytest.raises(ValueError, match="names has 2 names for 300 points"):
        plot_bridges(ROLL.coordinates, found, names=["a", "b"])


@pytest.mark.slow
def test_only_the_most_suspicious_are_drawn_where_so_many_are_asked_for(found):
    ax = plot_bridges(ROLL.coordinates, found, ROLL.coordinates[:, 0], most=7, title="seven")
    assert len(bridge_lines(ax).get_segments()) == 7
    assert ax.get_xlabel().startswith(f"7 of {len(found)} suspicious edges")
    assert ax.get_title() == "seven"


def test_no_bridges_are_a_plot_of_the_points(found):
    ax = plot_bridges(ROLL.coordinates, found[:0])
    assert not [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    assert ax.get_xlabel() == "0 suspicious edges"


def test_names_are_those_of_the_rows_whatever_the_index_of_a_series(found):
    names = pd.Series([f"row {row}" for row in range(300)], index=range(299, -1, -1))
    ax = plot_bridges(ROLL.coordinates, found, names=names)
    assert f"row {found.source[0]}" in {text.get_text() for text in ax.texts}
    with pytest.raises(ValueError, match="names has 2 names for 300 points"):
        plot_bridges(ROLL.coordinates, found, names=names.to_numpy()[:2])


def test_a_wrong_number_is_refused(found):
    with pytest.raises(ValueError, match="most=0 is too small"):
        plot_bridges(ROLL.coordinates, found, most=0)
