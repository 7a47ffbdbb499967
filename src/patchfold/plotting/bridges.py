"""Suspicious edges over an embedding, or over any two columns of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchfold.base.validation import check_count
from patchfold.plotting.embedding import plot_embedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from patchfold.analysis.bridges import Bridges


def plot_bridges(
    places: Any,
    bridges: Bridges,
    y: Any = None,
    *,
    most: int | None = None,
    cmap: Any = "viridis",
    ax: Axes | None = None,
) -> Axes:
    """Draw points, and the suspicious edges between them, wider and darker by their score.

    Parameters
    ----------
    places : array of shape (n, n_components)
        Where the fitted points are drawn, by the first two columns: an embedding, or columns of
        the data.
    bridges : Bridges
        What ``bridges()`` of a fitted estimator returns.
    y : array of shape (n,) or None
        Classes or numbers to colour points by, as in :func:`plot_embedding`.
    most : int or None
        Draw so many edges at most, the most suspicious ones.
    cmap : str or Colormap
        Colours of numbers.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from patchfold import PatchIsomap
    >>> from patchfold.datasets import make_manifold
    >>> roll = make_manifold("swiss-roll", 500, random_state=0)
    >>> isomap = PatchIsomap(n_neighbors=40).fit(roll.X)
    >>> ax = plot_bridges(isomap.embedding_, isomap.bridges(), most=100)
    >>> ax.figure.savefig("bridges.png")  # doctest: +SKIP
    """
    shown = bridges if most is None else bridges[: check_count("most", most)]
    return plot_embedding(
        places,
        y,
        edges=(shown.source, shown.target),
        values=shown.score,
        cmap=cmap,
        label="score of suspicious edges",
        ax=ax,
    )
