"""Scores are drawn as heat maps, curves and profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from drawing import CURVE
from patchfold import PatchIsomap
from patchfold.metrics import IntrinsicDimension
from patchfold.plotting import plot_k_profile, plot_residual_variance, plot_stability
from patchfold.selection import select_n_neighbors


def test_heat_maps_of_stability_share_their_colours_and_say_the_scores() -> None:
    tables = {"a": [[0.1, 0.9], [0.2, np.nan], [0.3, 0.7]], "b": np.ones((3, 2))}
    figure = plot_stability(tables, noises=[0, 0.5, 1], neighbors=[10, 20], label="correlation")
    figure.canvas.draw()
    a, b, bar = figure.axes
    assert [ax.get_title(loc="left") for ax in (a, b)] == ["a", "b"]
    assert [text.get_text() for text in a.texts] == ["0.10", "0.90", "0.20", "0.30", "0.70"]
    assert [text.get_text() for text in a.get_xticklabels()] == ["10", "20"]
    assert [text.get_text() for text in a.get_yticklabels()] == ["0", "0.5", "1"]
    assert a.images[0].get_clim() == b.images[0].get_clim() == (0, 1)
    assert bar.get_ylabel() == "correlation"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "scores is empty"),
        ({"a": [[1]]}, r"scores\['a'\] has shape \(1, 1\) for 1 noises and 2"),
    ],
)
def test_heat_maps_need_tables_of_the_right_shape(scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_stability(scores, noises=[0], neighbors=[10, 20])


def test_the_curve_of_residual_variances_has_the_dimension_marked() -> None:
    ax = plot_residual_variance(IntrinsicDimension(3, CURVE))
    ax.figure.canvas.draw()
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([[1, 2, 3, 4], CURVE]))
    np.testing.assert_array_equal(mark.get_xydata(), [[3, 0.05]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["dimension 3"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of components", "residual variance")
    assert ax.get_ylim()[0] <= 0
    assert all(tick == round(tick) for tick in ax.get_xticks())


@pytest.mark.parametrize("curve", [np.zeros(3), np.array([0.2])], ids=["exact", "one component"])
def test_curves_without_a_fall_are_drawn(curve: Any) -> None:
    ax = plot_residual_variance(IntrinsicDimension(1, curve))
    ax.figure.canvas.draw()
    assert ax.get_ylim()[0] <= 0 < ax.get_ylim()[1]


def test_the_curve_is_drawn_into_given_axes() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot_residual_variance(IntrinsicDimension(3, CURVE), ax=right) is right
    assert not left.lines


def test_a_profile_shows_the_scores_of_each_candidate_and_the_choice() -> None:
    ax = plot_k_profile([5, 10, 20], {"lcmc": [0.2, 0.4, 0.3]}, chosen=10)
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), [[5, 0.2], [10, 0.4], [20, 0.3]])
    assert list(mark.get_xdata()) == [10, 10]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5", "10", "20"]
    assert ax.get_ylabel() == "lcmc"


def test_several_criteria_share_one_scale_and_leave_out_what_was_not_fitted() -> None:
    scores = {"a": [-np.inf, 10.0, 30.0], "b": [0.1, 0.2, 0.15], "c": [1.0, 1.0, 1.0]}
    ax = plot_k_profile([5, 10, 20], scores)
    a, b, c = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(a, [0, 1])
    np.testing.assert_allclose(b, [0, 1, 0.5])
    np.testing.assert_allclose(c, 0.5)


def test_a_score_for_each_candidate_is_needed() -> None:
    with pytest.raises(ValueError, match=r"scores\['a'\] has shape \(2,\) for 3 candidates"):
        plot_k_profile([5, 10, 20], {"a": [1.0, 2.0]})


def test_a_selection_draws_its_own_profile() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    chosen = select_n_neighbors(PatchIsomap(), X, criterion=["lcmc", "area"], candidates=[15, 25])
    ax = chosen.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "lcmc",
        "area",
        f"k = {chosen.n_neighbors}",
    ]
