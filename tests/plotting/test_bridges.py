"""Bridges are lines over an embedding, the most suspicious on top."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from drawing import drawn
from patchfold import PatchSpace
from patchfold.datasets import make_manifold
from patchfold.plotting import plot_bridges

ROLL = make_manifold("swiss-roll", 300, 0.0, 0)


@pytest.fixture(scope="module")
def found():
    return PatchSpace(n_neighbors=30).fit(ROLL.X).bridges()


@pytest.mark.slow
def test_every_bridge_is_a_line_between_its_ends(found):
    lines = drawn(plot_bridges(ROLL.coordinates, found), LineCollection)
    at = ROLL.coordinates
    expected = np.stack([at[found.source], at[found.target]], axis=1)[::-1]
    np.testing.assert_array_equal(np.sort(lines.get_array()), np.sort(found.score))
    np.testing.assert_array_equal(lines.get_segments()[-1], expected[-1])


@pytest.mark.slow
def test_only_the_most_suspicious_are_drawn_where_so_many_are_asked_for(found):
    ax = plot_bridges(ROLL.coordinates, found, ROLL.coordinates[:, 0], most=7)
    lines = drawn(ax, LineCollection)
    np.testing.assert_array_equal(np.sort(lines.get_array()), np.sort(found.score[:7]))
    assert lines.colorbar.ax.get_ylabel() == "score of suspicious edges"


def test_no_bridges_are_a_plot_of_the_points(found):
    ax = plot_bridges(ROLL.coordinates, found[:0])
    assert not [artist for artist in ax.collections if isinstance(artist, LineCollection)]


def test_a_wrong_number_is_refused(found):
    with pytest.raises(ValueError, match="most=0 is too small"):
        plot_bridges(ROLL.coordinates, found, most=0)
