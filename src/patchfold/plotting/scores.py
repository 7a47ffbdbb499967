"""Scores to choose parameters by: dimension, number of neighbours, noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.plotting._axes import CHOICE_COLOR, CURVE_COLOR, new_axes, require_matplotlib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from patchfold.base.types import Doubles
    from patchfold.metrics import IntrinsicDimension


def plot_stability(
    scores: Mapping[str, Any],
    noises: Sequence[float],
    neighbors: Sequence[int],
    *,
    label: str = "score",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """Draw scores over noise and number of neighbours side by side, one heat map per method.

    Parameters
    ----------
    scores : mapping of names to arrays of shape (n_noises, n_neighbors)
        NaN where there is no score.
    noises : sequence of n_noises values
        The rows, from above.
    neighbors : sequence of n_neighbors values
        The columns.
    label : str, default="score"
        What the colour bar says.
    limits : two floats, default=(0.0, 1.0)
        The scores at the ends of the colours, the same for all heat maps.

    Returns
    -------
    Figure

    Examples
    --------
    >>> scores = {"Isomap": [[0.99, 0.4], [0.9, 0.3]], "PatchIsomap": [[0.99, 0.98], [0.97, 0.97]]}
    >>> figure = plot_stability(scores, noises=[0, 0.5], neighbors=[10, 20])
    >>> figure.savefig("stability.png")  # doctest: +SKIP
    """
    require_matplotlib()
    from matplotlib import pyplot as plt

    shape = len(noises), len(neighbors)
    tables = {name: np.asarray(table, dtype=np.float64) for name, table in scores.items()}
    if not tables:
        raise ValueError("scores is empty; give at least one, {name: table}.")
    for name, table in tables.items():
        if table.shape != shape:
            raise ValueError(
                f"scores[{name!r}] has shape {table.shape} for {shape[0]} noises and {shape[1]} "
                f"neighbors; give a table of shape {shape}."
            )
    width = 1.2 + len(tables) * (0.6 + 0.45 * shape[1])
    figure = plt.figure(figsize=(width, 1.2 + 0.42 * shape[0]), layout="constrained")
    panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        image = ax.imshow(table, cmap="cividis", vmin=limits[0], vmax=limits[1], aspect="auto")
        for (row, column), score in np.ndenumerate(table):
            if np.isfinite(score):
                bright = score > (limits[0] + limits[1]) / 2
                color = "black" if bright else "white"
                ax.text(column, row, f"{score:.2f}", ha="center", va="center", color=color, size=8)
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_xticks(range(shape[1]), [str(k) for k in neighbors])
        ax.set_yticks(range(shape[0]), [str(noise) for noise in noises])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("neighbours")
    panels[0].set_ylabel("noise")
    figure.colorbar(image, ax=list(panels), label=label, pad=0.02).outline.set_visible(False)
    return figure


def plot_residual_variance(result: IntrinsicDimension, *, ax: Axes | None = None) -> Axes:
    """Draw the residual variance over the number of components, and mark the chosen dimension.

    Parameters
    ----------
    result : IntrinsicDimension
        What :func:`patchfold.metrics.intrinsic_dimension` returns.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from patchfold.metrics import intrinsic_dimension
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> ax = plot_residual_variance(intrinsic_dimension(X))
    >>> ax.figure.savefig("dimension.png")  # doctest: +SKIP
    """
    require_matplotlib()
    from matplotlib.ticker import MaxNLocator

    ax = new_axes() if ax is None else ax
    curve, chosen = result.residual_variances, result.dimension
    ax.plot(np.arange(1, len(curve) + 1), curve, "o-", color=CURVE_COLOR, markersize=4)
    ax.plot(
        [chosen],
        [curve[chosen - 1]],
        "o",
        color=CHOICE_COLOR,
        fillstyle="none",
        markersize=11,
        markeredgewidth=1.5,
        label=f"dimension {chosen}",
    )
    ax.legend(frameon=False)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("number of components")
    ax.set_ylabel("residual variance")
    return ax


def plot_k_profile(
    n_neighbors: Sequence[int],
    scores: Mapping[str, Any],
    *,
    chosen: int | None = None,
    symbol: str = "k",
    ax: Axes | None = None,
) -> Axes:
    """Draw what criteria say of each number of neighbours, and mark the one that was chosen.

    Parameters
    ----------
    n_neighbors : sequence of int
        The candidates.
    scores : mapping
        Name of a criterion to its scores of the candidates, greater being better; infinite ones
        are left out. Scores of several criteria have different units, and are drawn between their
        least and their greatest.
    chosen : int or None
        The candidate to mark.
    symbol : str, default="k"
        What the marked number is called.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = plot_k_profile([5, 10, 20], {"trustworthiness": [0.91, 0.94, 0.93]}, chosen=10)
    >>> ax.figure.savefig("profile.png")  # doctest: +SKIP
    """
    require_matplotlib()
    ks = np.asarray(n_neighbors)
    curves = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    for name, values in curves.items():
        if values.shape != ks.shape:
            raise ValueError(
                f"scores[{name!r}] has shape {values.shape} for {len(ks)} candidates; give one "
                "score a candidate."
            )
    ax = new_axes() if ax is None else ax
    for name, values in curves.items():
        known = np.isfinite(values)
        heights = values[known] if len(curves) == 1 else _between_ends(values[known])
        ax.plot(ks[known], heights, "o-", markersize=4, linewidth=1.2, label=name)
    if chosen is not None:
        label = f"{symbol} = {chosen}"
        ax.axvline(chosen, color=CHOICE_COLOR, linewidth=1.0, linestyle="--", label=label)
    ax.set_xscale("log", base=2)
    ax.set_xticks(ks, [str(k) for k in ks])
    ax.minorticks_off()
    ax.legend(frameon=False)
    ax.set_xlabel("number of neighbours")
    ax.set_ylabel(next(iter(curves)) if len(curves) == 1 else "score, least to greatest")
    return ax


def _between_ends(values: Doubles) -> Doubles:
    """Scale values to reach from 0 to 1; equal ones lie halfway."""
    spread = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / spread if spread > 0 else np.full(len(values), 0.5)
