"""Whether a plot of an embedding can be read: how many points it tells apart, and what spoils it.

Measures of ranks ignore scale: an embedding can keep all neighbours, although one point lies so far
out that all others fall on one dot. These functions look at the plot as a person does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.base.validation import check_count, check_points

if TYPE_CHECKING:
    from patchfold.base.types import Doubles, Indices


# Cells along a side of the raster: about as large as dots of a plot as wide as a hand.
CELLS = 200

# Points counted. More would fill the raster, and large data would seem less readable.
SAMPLE = 2000

# A plot that tells apart a smaller share of its points is unreadable. Of iris, wine, breast cancer
# and digits, raw and standardised, PCA, Isomap and the spectral embedding of scikit-learn with 15
# neighbours have 0.2 to 1.0; pictures of a dot and a few strays have 0.002 to 0.08.
UNREADABLE = 0.1

# ... unless its points are spread along a line, which has 200 cells for 2000 points. No cell of a
# line holds this share of the points unless they crowd at one end; the fullest cell of a plot of
# dots holds 0.06 to 1.
DOT = 0.05

# With fewer different points the share says nothing.
FEWEST = 20

# Outliers that may be to blame, as a share of all points; at least one may.
FEW = 0.02

# Outliers are to blame if a plot without them tells apart GAIN times as many points.
GAIN = 3.0

# A message names at most NAMED rows.
NAMED = 5

# So many numbers of outliers are tried.
TRIALS = 40


@dataclass(frozen=True)
class Unreadable:
    """Why a plot of an embedding cannot be read; as text, a message with a remedy.

    Attributes
    ----------
    share : float
        Share of the different points that the plot tells apart.
    crowd : int
        Points in the fullest cell.
    n_samples : int
    rows : tuple of int
        The few points so far out that the others crowd, the farthest first; empty if no few
        points are to blame.
    """

    share: float
    crowd: int
    n_samples: int
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        told = f"{100 * self.share:.2g} % of the points can be told apart in a plot"
        if not self.rows:
            return (
                f"the embedding is unreadable: {self.crowd} of {self.n_samples} points share one "
                f"dot, and only {told}. Raise n_neighbors, or embed the groups that fall on dots "
                "one by one."
            )
        one = len(self.rows) == 1
        more = f" and {len(self.rows) - NAMED} more" if len(self.rows) > NAMED else ""
        named = ", ".join(map(str, self.rows[:NAMED])) + more
        return (
            f"the embedding is unreadable: row{'' if one else 's'} {named} of X "
            f"{'lies' if one else 'lie'} so far from all others that only {told}. Look at "
            f"{'it and drop it if it is an error' if one else 'them and drop those in error'}, or "
            "draw the embedding with patchfold.plotting.plot_embedding, whose view stays with the "
            "others."
        )


def visible_share(embedding: Any, *, cells: int = CELLS) -> float:
    """Return the share of points that a plot tells apart.

    The plot shows the first two components in the smallest square around all points. The square is
    divided into ``cells`` x ``cells`` equal cells, and the share is the number of cells that hold a
    point, divided by the number of points. Of more than 2000 points a fixed sample of 2000 is
    counted, in the square around all: so the share does not depend on their number. A single
    component is a line in the middle of the square.

    A few hundred well spread points usually have 0.9, ten islands 0.6. Below 0.1 a person sees a
    dot and strays, whatever measures of ranks such as
    :func:`patchfold.metrics.trustworthiness` say. A line of 2000 points or more, which can be read,
    has about 0.1. Only compare embeddings of the same points, or of 2000 points and more: fewer
    points share fewer cells.

    The share does not change when the embedding is moved or rescaled by one factor, or when its
    axes are swapped. It may change when the embedding is rotated.

    Parameters
    ----------
    embedding : array of shape (n_samples, n_components)
    cells : int, default=200
        Cells along a side.

    Returns
    -------
    float
        From ``1 / n_samples``, or 1 / 2000, for points in one place to 1.

    See Also
    --------
    patchfold.metrics.unreadable : Which points spoil a plot.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).uniform(size=(500, 2))
    >>> visible_share(Y)
    0.992
    >>> Y[7] = 1000  # one point far out
    >>> visible_share(Y)
    0.004
    """
    cells = check_count("cells", cells)
    at = _plane(embedding, min_samples=1)
    rows = _sample(len(at))
    return len(np.unique(_codes(at[rows], *_extent(at), cells))) / len(rows)


def unreadable(embedding: Any, points: Any = None) -> Unreadable | None:
    """Return why a plot of the first two components cannot be read, or None if it can.

    A plot is unreadable if it tells apart less than 0.1 of the points, as :func:`visible_share`
    counts them, and one cell holds at least 0.05 of them. A line of many points fills few cells,
    but none with so many. An embedding with a single component, or with fewer than 20 different
    points, is never unreadable.

    The points farthest from the median, at most 0.02 of all, are to blame if a plot without them
    tells apart three times as many. The result names the fewest that make the plot readable, or
    those that improve it most.

    Estimators of this library warn of unreadable embeddings when they are fitted.

    Parameters
    ----------
    embedding : array of shape (n_samples, n_components)
    points : array of shape (n_samples, n_features) or None
        The embedded points: equal rows count once. None means that equal rows of the embedding
        count once.

    Returns
    -------
    Unreadable or None

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).uniform(size=(500, 2))
    >>> unreadable(Y)
    >>> Y[7] = 1000
    >>> unreadable(Y).rows
    (7,)
    >>> print(unreadable(Y))
    the embedding is unreadable: row 7 of X lies so far from all others that only 0.4 % of the ...
    """
    at = _plane(embedding)
    if points is not None:
        points = check_points(points, name="points")
        if len(points) != len(at):
            raise ValueError(
                f"points has {len(points)} rows and embedding has {len(at)}; give the points that "
                "were embedded."
            )
    if np.shape(embedding)[1] < 2:
        return None
    extent = _extent(at)
    rows = _sample(len(at))
    # Most embeddings can be read, and need no closer look.
    if len(np.unique(_codes(at[rows], *extent))) >= UNREADABLE * len(rows):
        return None
    points = at if points is None else points
    rows = rows[np.unique(points[rows], axis=0, return_index=True)[1]]  # different points only
    _, counts = np.unique(_codes(at[rows], *extent), return_counts=True)
    share = len(counts) / len(rows)
    if len(rows) < FEWEST or share >= UNREADABLE or counts.max() < DOT * len(rows):
        return None
    crowd = int(np.bincount(_codes(at, *extent)).max())
    return Unreadable(share, crowd, len(at), _to_blame(at, rows, share))


def _to_blame(at: Doubles, rows: Indices, share: float) -> tuple[int, ...]:
    """Return the fewest of the farthest points without which the plot of ``rows`` can be read."""
    n = len(at)
    most = max(1, int(FEW * n))
    gaps = np.abs(at - np.median(at, axis=0)).max(axis=1)
    far = np.argpartition(gaps, n - most)[n - most :]
    far = far[np.lexsort((far, -gaps[far]))]
    others = np.ones(n, dtype=bool)
    others[far] = False
    low, high = _extent(at[others])
    # Entry c is the extent of all points but the c farthest.
    lows = np.minimum.accumulate(np.vstack([low, at[far[::-1]]]))[::-1]
    highs = np.maximum.accumulate(np.vstack([high, at[far[::-1]]]))[::-1]
    ranks = np.full(n, most)
    ranks[far] = np.arange(most)
    best, blamed = GAIN * share, 0
    for count in np.unique(np.geomspace(1, most, TRIALS).astype(int)):
        left = rows[ranks[rows] >= count]
        found = len(np.unique(_codes(at[left], lows[count], highs[count]))) / max(len(left), 1)
        if found >= best and (not blamed or found > best):
            best, blamed = found, int(count)
        if blamed and best >= UNREADABLE:
            break
    return tuple(far[:blamed].tolist())


def _plane(embedding: Any, min_samples: int = 2) -> Doubles:
    """Return the first two components, halved so that no extent overflows."""
    Y = check_points(embedding, name="embedding", min_samples=min_samples)
    at = np.zeros((len(Y), 2))
    np.multiply(Y[:, :2], 0.5, out=at[:, : Y.shape[1]])
    return at


def _sample(n: int) -> Indices:
    if n <= SAMPLE:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, SAMPLE, replace=False)


def _extent(at: Doubles) -> tuple[Doubles, Doubles]:
    return at.min(axis=0), at.max(axis=0)


def _codes(at: Doubles, low: Doubles, high: Doubles, cells: int = CELLS) -> Indices:
    """Return the cell of every point in the raster of the square around an extent."""
    extent = high - low
    side = float(extent.max()) or 1.0
    places = ((at - low) + (side - extent) / 2) / side
    across, up = np.minimum((places * cells).astype(np.intp), cells - 1).T
    return np.asarray(across * cells + up)
