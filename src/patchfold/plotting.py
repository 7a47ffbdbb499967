"""Pictures: patches, embeddings, edges coloured by divergence, scores to choose parameters by.

Needs matplotlib, the extra ``patchfold[plot]``, which is imported when a function is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_array_api_obj

from patchfold._namespace import Array, to_numpy
from patchfold._validation import check_choice, check_count, check_points, check_positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colors import AsinhNorm, Normalize
    from matplotlib.figure import Figure

    from patchfold.gaussians import Patches
    from patchfold.metrics import IntrinsicDimension

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

NODES = ("points", "means")

DOT_COLOR = "#8a9099"
ELLIPSE_COLOR = "#1f5fa8"
CURVE_COLOR = ELLIPSE_COLOR
CHOICE_COLOR = "#d55e00"
# Classes, as on the page of the explorer: Okabe and Ito's colours, then shades between them.
CLASS_COLORS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5ca8"),
    *("#004b75", "#8c5f00", "#00634a", "#8f4573", "#8fd0f5", "#f2a07b", "#9c9c5c", "#b9a6dc"),
)
# From thin to wide with the divergence: a handful of short circuits among thousands of edges is
# seen by its width where it is too short to be seen by its colour.
LINE_WIDTHS = (0.3, 1.8)

# Colours start at the first quantile, are linear in the divergence up to the second and logarithmic
# beyond. So ordinary edges stay pale, zeros among large values do not make all of them dark, and a
# few huge values do not make all others look equal.
LINEAR_QUANTILES = (0.05, 0.95)
# The logarithmic part spans no more than this factor, also where nearly all values are zero.
LARGEST_RATIO = 1e6
# Values that differ by a smaller share than this are equal: no scale is stretched over rounding.
EQUAL = 1e-6
# Ticks of the colour bar stand at least this share of its height apart.
TICK_GAP = 0.07


def plot_patches(
    patches: Patches,
    *,
    edges: tuple[Any, Any] | None = None,
    values: Any = None,
    features: Sequence[int] = (0, 1),
    colors: Any = None,
    n_ellipses: int | None = 50,
    n_std: float = 1.0,
    nodes: str = "points",
    cmap: Any = "magma_r",
    norm: Any = None,
    label: str = "divergence",
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw patches as ellipses over their points, and edges coloured by divergence.

    Parameters
    ----------
    patches : Patches
        n patches with two features or more.
    edges : (i, j) or None
        Two arrays of integers of shape (n_edges,), as for :func:`patchfold.divergences.paired`.
    values : array of shape (n_edges,) or None
        The divergence of each edge. Larger ones are drawn wider, and over smaller ones.
    features : two ints, default=(0, 1)
        The features on the horizontal and the vertical axis.
    colors : color, sequence of n colors, or None
        The colours of dots and ellipses, in any form that matplotlib knows.
    n_ellipses : int or None, default=50
        Draw the ellipses of so many patches, chosen to cover the plane. None draws all of them.
    n_std : float, default=1.0
        Half axes of the ellipses, in standard deviations.
    nodes : {"points", "means"}, default="points"
        What the dots are and edges join: the points, or the means of their patches. Ellipses are
        centred at the means.
    cmap : str or Colormap, default="magma_r"
        Colours of the edges.
    norm : Normalize, str or None
        Scale of the colours, as matplotlib takes it. None means about linear between the 5% and
        the 95% quantile of the values, and logarithmic from there to the largest one.
    label : str, default="divergence"
        What the colour bar says.
    colorbar : bool, default=True
        Whether edges get a colour bar.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import GaussianPatch, divergences
    >>> from patchfold.neighbors import find_neighbors
    >>> X = load_iris().data
    >>> near = find_neighbors(X, 10)
    >>> patches = GaussianPatch().fit(X, near)
    >>> edges = near.sources, near.indices
    >>> ax = plot_patches(
    ...     patches, edges=edges, values=divergences.paired(patches, *edges), features=(2, 3)
    ... )
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    """
    _require_matplotlib()
    plane = _check_features(features, patches.n_features)
    check_choice("nodes", nodes, NODES)
    n_std = check_positive("n_std", n_std)
    rgba = _check_colors(colors, len(patches))
    links = _check_edges(edges, values, len(patches))
    centers = _plane(patches.means, plane)
    chosen = _spread_out(centers, n_ellipses)
    ax = _new_axes() if ax is None else ax
    at = _plane(patches.points, plane) if nodes == "points" else centers
    dots = DOT_COLOR if rgba is None else rgba
    ax.scatter(at[:, 0], at[:, 1], s=5, c=dots, linewidths=0, zorder=2)
    if links is not None:
        lines = _draw_edges(ax, at, *links, cmap, norm)
        if colorbar:
            _draw_colorbar(ax, lines, label)
    if len(chosen):
        outline = ELLIPSE_COLOR if rgba is None else rgba[chosen]
        _draw_ellipses(ax, centers[chosen], _spread(patches, plane)[chosen], n_std, outline)
    ax.autoscale_view()
    ax.set_xlabel(f"feature {plane[0]}")
    ax.set_ylabel(f"feature {plane[1]}")
    return ax


def plot_embedding(
    embedding: Any,
    y: Any = None,
    *,
    edges: tuple[Any, Any] | None = None,
    values: Any = None,
    cmap: Any = "viridis",
    edge_cmap: Any = "magma_r",
    label: str = "divergence",
    ax: Axes | None = None,
) -> Axes:
    """Draw an embedding, coloured by classes or numbers, and edges coloured by divergence.

    Parameters
    ----------
    embedding : array of shape (n, n_components)
        The first two components are drawn.
    y : array of shape (n,) or None
        Text, or few different whole numbers, are classes and get a legend, the commonest 15 of
        more than 16 and the others together, beside the axes in a figure that has a layout; other
        numbers get a colour bar. Missing ones are grey.
    edges, values, label
        As for :func:`plot_patches`.
    cmap, edge_cmap : str or Colormap
        Colours of numbers, and of edges.
    ax : Axes or None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from patchfold import PatchIsomap
    >>> X, y = load_iris(return_X_y=True)
    >>> isomap = PatchIsomap(n_neighbors=30).fit(X)
    >>> graph = isomap.graph_.tocoo()
    >>> ax = plot_embedding(isomap.embedding_, y, edges=graph.coords, values=graph.data)
    >>> ax.figure.savefig("embedding.png")  # doctest: +SKIP
    """
    _require_matplotlib()
    at = _double(check_points(_host(embedding), name="embedding", min_samples=1))
    if at.shape[1] < 2:
        at = np.column_stack([at, np.zeros(len(at))])
    at = at[:, :2]
    links = _check_edges(edges, values, len(at))
    groups, numbers = _classes_or_numbers(y, len(at))
    ax = _new_axes() if ax is None else ax
    # Many points are drawn small.
    size = float(np.clip(6000 / len(at), 1.0, 12.0))
    if links is not None:
        _draw_colorbar(ax, _draw_edges(ax, at, *links, edge_cmap, None), label)
    across, up = at[:, 0], at[:, 1]
    for name, who, color in groups:
        ax.scatter(across[who], up[who], s=size, c=color, linewidths=0, zorder=2, label=name)
    if numbers is not None:
        known = np.isfinite(numbers)
        ax.scatter(across[~known], up[~known], s=size, c=DOT_COLOR, linewidths=0, zorder=2)
        dots = ax.scatter(
            across[known], up[known], s=size, c=numbers[known], cmap=cmap, linewidths=0, zorder=2
        )
        bar = ax.figure.colorbar(dots, ax=ax, label=str(getattr(y, "name", None) or ""), pad=0.02)
        bar.outline.set_visible(False)
    elif y is not None:
        _draw_legend(ax)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("component 0")
    ax.set_ylabel("component 1")
    return ax


def plot_stability(
    scores: Mapping[str, Any],
    noises: Sequence[float],
    neighbors: Sequence[int],
    *,
    label: str = "score",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """Draw scores over noise and number of neighbours side by side, one heat map a method.

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
    _require_matplotlib()
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
    _require_matplotlib()
    from matplotlib.ticker import MaxNLocator

    ax = _new_axes() if ax is None else ax
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
    _require_matplotlib()
    ks = np.asarray(n_neighbors)
    curves = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    for name, values in curves.items():
        if values.shape != ks.shape:
            raise ValueError(
                f"scores[{name!r}] has shape {values.shape} for {len(ks)} candidates; give one "
                "score a candidate."
            )
    ax = _new_axes() if ax is None else ax
    for name, values in curves.items():
        known = np.isfinite(values)
        heights = values[known] if len(curves) == 1 else _between_ends(values[known])
        ax.plot(ks[known], heights, "o-", markersize=4, linewidth=1.2, label=name)
    if chosen is not None:
        ax.axvline(chosen, color=CHOICE_COLOR, linewidth=1.0, linestyle="--", label=f"k = {chosen}")
    ax.set_xscale("log", base=2)
    ax.set_xticks(ks, [str(k) for k in ks])
    ax.minorticks_off()
    ax.legend(frameon=False)
    ax.set_xlabel("number of neighbours")
    ax.set_ylabel(next(iter(curves)) if len(curves) == 1 else "score, least to greatest")
    return ax


def _between_ends(values: Floats) -> Floats:
    """Scale values to reach from 0 to 1; equal ones lie halfway."""
    spread = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / spread if spread > 0 else np.full(len(values), 0.5)


def _draw_legend(ax: Axes) -> None:
    """Name the classes beside the axes, where the figure makes room for it, and never over dots."""
    place: dict[str, Any] = {"loc": "best"}
    if ax.figure.get_layout_engine() is not None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    ax.legend(frameon=False, markerscale=2, handletextpad=0.2, **place)


def _new_axes() -> Axes:
    from matplotlib import pyplot as plt

    return plt.figure(layout="constrained").add_subplot()


def _classes_or_numbers(
    y: Any, n: int
) -> tuple[list[tuple[str | None, npt.NDArray[np.bool_], str]], Floats | None]:
    """Return classes as (name, who, colour), or numbers; one class without a name for no ``y``."""
    if y is None:
        return [(None, np.ones(n, dtype=bool), CURVE_COLOR)], None
    given = _host(y)
    if given.shape != (n,):
        raise ValueError(f"y has shape {given.shape} for {n} points; give one value a point.")
    numeric = given.dtype.kind in "iuf"
    if numeric:
        missing = ~np.isfinite(given)
        different = np.unique(given[~missing])
        if len(different) > len(CLASS_COLORS) or (different != np.round(different)).any():
            return [], _double(given)
        words = np.array(
            ["" if lost else str(int(v)) for v, lost in zip(given, missing, strict=True)]
        )
    else:
        cells = given.tolist()
        missing = np.array([cell is None or cell != cell for cell in cells])  # noqa: PLR0124
        words = np.array([str(cell) for cell in cells])
    counts = Counter(words[~missing].tolist())
    own = len(CLASS_COLORS) - (len(counts) > len(CLASS_COLORS))
    names = sorted((name for name, _ in counts.most_common(own)), key=int if numeric else str)
    groups: list[tuple[str | None, npt.NDArray[np.bool_], str]] = [
        (name, (words == name) & ~missing, color)
        for name, color in zip(names, CLASS_COLORS, strict=False)
    ]
    others = ~missing & ~np.isin(words, names)
    if others.any():
        groups.append((f"{len(counts) - len(names)} others", others, DOT_COLOR))
    if missing.any():
        groups.append(("missing", missing, DOT_COLOR))
    return groups, None


def _draw_edges(
    ax: Axes, at: Floats, i: Indices, j: Indices, values: Floats, cmap: Any, norm: Any
) -> LineCollection:
    from matplotlib.collections import LineCollection

    order = np.argsort(values, kind="stable")
    i, j, values = i[order], j[order], values[order]
    lines = LineCollection(
        list(np.stack([at[i], at[j]], axis=1)),
        array=values,
        cmap=cmap,
        norm=_robust_norm(values) if norm is None else norm,
        capstyle="round",
        zorder=1,
    )
    thin, wide = LINE_WIDTHS
    share = np.clip(np.ma.filled(lines.norm(values), 0.0), 0.0, 1.0)
    lines.set_linewidth(list(thin + (wide - thin) * share))
    ax.add_collection(lines, autolim=False)
    return lines


def _draw_ellipses(ax: Axes, center: Floats, covariance: Floats, n_std: float, color: Any) -> None:
    from matplotlib.collections import EllipseCollection

    variances, axes = np.linalg.eigh(covariance)
    diameters = 2 * n_std * np.sqrt(np.clip(variances, 0.0, None))
    ellipses = EllipseCollection(
        diameters[:, 1],
        diameters[:, 0],
        np.degrees(np.arctan2(axes[:, 1, 1], axes[:, 0, 1])),
        units="xy",
        offsets=center,
        offset_transform=ax.transData,
        facecolors="none",
        edgecolors=color,
        linewidths=0.8,
        zorder=3,
    )
    ax.add_collection(ellipses, autolim=False)
    # matplotlib takes an ellipse's centre for its extent, which cuts those at the border.
    reach = n_std * np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    ax.update_datalim(np.concatenate([center - reach, center + reach]))


def _draw_colorbar(ax: Axes, lines: LineCollection, label: str) -> None:
    from matplotlib.colors import AsinhNorm

    scale = lines.norm
    extend = "min" if np.any(np.asarray(lines.get_array()) < np.asarray(scale.vmin)) else "neither"
    bar = ax.figure.colorbar(lines, ax=ax, label=label, extend=extend, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    if isinstance(scale, AsinhNorm):
        ticks = _round_ticks(scale)
        bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
        bar.minorticks_off()


def _robust_norm(values: Floats) -> Normalize:
    """Scale colours linearly for ordinary values and logarithmically for large ones."""
    from matplotlib.colors import AsinhNorm

    largest = float(values.max()) or 1.0
    low, high = (float(value) for value in np.quantile(values, LINEAR_QUANTILES))
    if largest - low <= EQUAL * largest:
        low = 0.0
    return AsinhNorm(max(high, largest / LARGEST_RATIO), vmin=low, vmax=largest, clip=True)


def _round_ticks(scale: AsinhNorm) -> list[float]:
    """Choose round numbers and the largest value, with room between them."""
    from matplotlib.ticker import MaxNLocator

    low, largest = float(scale.vmin or 0.0), float(scale.vmax or 1.0)
    # Fine steps for a narrow range; for a wide one 1, 2 and 5 times powers of ten.
    decades = 10.0 ** np.arange(np.floor(np.log10(largest)) - 6, np.log10(largest) + 1)
    series = np.outer(decades, [1.0, 2.0, 5.0]).ravel()
    candidates = MaxNLocator(6).tick_values(low, largest) if largest < 3 * low else [0.0, *series]
    ticks = [largest]
    for tick in sorted(candidates, reverse=True):
        if low <= tick < largest and float(scale(tick)) < float(scale(ticks[0])) - TICK_GAP:
            ticks.insert(0, float(tick))
    return ticks


def _spread(patches: Patches, plane: tuple[int, int]) -> Floats:
    """Return the covariances of two features, (n, 2, 2), without forming the others."""
    xp = array_namespace(patches.means)
    factor = patches.directions if patches.factored else patches.roots
    rows = xp.stack([factor[:, feature, :] for feature in plane], axis=1)
    if not patches.factored:
        return _double(rows @ xp.matrix_transpose(rows))
    covariance = _double((rows * patches.variances[:, None, :]) @ xp.matrix_transpose(rows))
    return covariance + _double(patches.ridge)[:, None, None] * np.eye(2)


def _plane(points: Array, plane: tuple[int, int]) -> Floats:
    return np.stack([_double(points[:, feature]) for feature in plane], axis=1)


def _double(x: Array) -> Floats:
    return to_numpy(x).astype(np.float64, copy=False)


def _host(x: Any) -> npt.NDArray[Any]:
    return to_numpy(x) if is_array_api_obj(x) else np.asarray(x)


def _spread_out(at: Floats, count: int | None) -> Indices:
    """Choose points that cover the plane: each is the one farthest from those before it."""
    n = len(at)
    if count is None or check_count("n_ellipses", count, minimum=0) >= n:
        return np.arange(n)
    extent = np.ptp(at, axis=0)
    at = (at - at.mean(axis=0)) / np.where(extent > 0, extent, 1.0)
    chosen = np.empty(count, dtype=np.intp)
    gap = np.sum(at**2, axis=1)
    for place in range(count):
        chosen[place] = np.argmax(gap)
        apart = np.sum((at - at[chosen[place]]) ** 2, axis=1)
        gap = apart if place == 0 else np.minimum(gap, apart)
    return chosen


def _check_features(features: Sequence[int], m: int) -> tuple[int, int]:
    given = list(features) if isinstance(features, Iterable) else [features]
    if len(given) != 2:
        raise ValueError(
            f"features={features!r} names {len(given)} feature(s), a plot has two axes; "
            "give two, e.g. features=(0, 1)."
        )
    first, second = (check_count("features", feature, minimum=0) for feature in given)
    if max(first, second) >= m:
        raise ValueError(
            f"features={features!r} is out of range, the patches have {m} feature(s); "
            + (f"choose from 0 to {m - 1}." if m > 1 else "a plot needs at least two.")
        )
    if first == second:
        raise ValueError(f"features={features!r} names one feature twice; give two different ones.")
    return first, second


def _check_colors(colors: Any, n: int) -> Floats | None:
    from matplotlib.colors import to_rgba_array

    if colors is None:
        return None
    try:
        rgba = to_rgba_array(colors)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"colors are not colours of matplotlib ({error}); map labels or numbers to colours "
            "first, e.g. matplotlib.colormaps['tab10'](labels)."
        ) from error
    if len(rgba) not in {1, n}:
        raise ValueError(f"colors has {len(rgba)} entries for {n} patches; give one, or {n}.")
    return np.broadcast_to(rgba, (n, 4))


def _check_edges(edges: Any, values: Any, n: int) -> tuple[Indices, Indices, Floats] | None:
    if edges is None:
        if values is not None:
            raise ValueError("values are given without edges; pass edges=(i, j) as well.")
        return None
    if values is None:
        raise ValueError(
            "edges are given without values, and are coloured by them; "
            "pass values=divergences.paired(patches, i, j)."
        )
    ends = [_host(end) for end in edges] if isinstance(edges, Iterable) else []
    if len(ends) != 2:
        raise ValueError(
            f"edges is a {type(edges).__name__} with {len(ends)} entries; give two arrays (i, j), "
            "such as sources and indices of neighborhoods, or the two columns of an edge list."
        )
    lengths = _host(values)
    i, j = ends
    if i.ndim != 1 or not i.shape == j.shape == lengths.shape:
        raise ValueError(
            f"edges and values have shapes {i.shape}, {j.shape} and {lengths.shape}; "
            "give one entry an edge in each."
        )
    for name, end in zip("ij", ends, strict=True):
        if end.size and (end.dtype.kind not in "iu" or end.min() < 0 or end.max() >= n):
            raise ValueError(
                f"edges: {name} has {end.dtype} values from {end.min()} to {end.max()}; "
                f"give integers from 0 to {n - 1}, the indices of patches."
            )
    good = np.isfinite(lengths) & (lengths >= 0)
    if not good.all():
        raise ValueError(
            f"values has {lengths[~good][0]} at edge {np.argmin(good)}; divergences are finite and "
            "not negative, leave such edges out."
        )
    if not lengths.size:
        return None
    return i.astype(np.intp), j.astype(np.intp), _double(lengths)


def _require_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError("plotting needs matplotlib; pip install 'patchfold[plot]'") from error
