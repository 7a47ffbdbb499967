"""Critical-difference diagrams: mean ranks on an axis, and bars over methods that do not differ.

The geometry is computed once and drawn twice: as SVG, which needs no other package, and into axes
of matplotlib.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from patchfold.evaluation.significance import groups
from patchfold.plotting import CHOICE_COLOR, CURVE_COLOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from patchfold.evaluation.significance import Comparison

INK = "#22262b"
PALE = "#8a9099"

# All lengths are those of the SVG, in its pixels.
WIDTH = 600
AXIS = (150, 450)  # from the best to the worst rank; labels stand on both sides
TITLE_Y = 16
DIFFERENCE_Y = 48
AXIS_Y = 84
FIRST_BAR_Y = AXIS_Y + 9
BAR_STEP = 7
LABEL_STEP = 19
FONT_SIZE = 12


@dataclass(frozen=True, slots=True)
class _Line:
    points: tuple[tuple[float, float], ...]
    width: float = 1.0
    color: str = INK


@dataclass(frozen=True, slots=True)
class _Text:
    x: float
    y: float
    text: str
    anchor: str = "middle"
    bold: bool = False


def critical_difference_svg(panels: Sequence[tuple[str, Comparison]]) -> str:
    """Draw diagrams one above the other as one SVG image.

    Parameters
    ----------
    panels : sequence of (title, Comparison)
        What to draw, from the top.

    Returns
    -------
    str
        The element ``<svg>``, as it stands in an HTML page or in a file.

    Examples
    --------
    >>> from patchfold.evaluation.significance import compare
    >>> svg = critical_difference_svg([("example", compare(["a", "b", "c"], [[3, 2, 1]] * 8))])
    >>> svg[:35]
    '<svg xmlns="http://www.w3.org/2000/'
    """
    top, parts = 0, []
    for title, comparison in panels:
        parts.append(f'<g transform="translate(0 {top})">')
        parts.extend(_element(shape) for shape in _shapes(title, comparison))
        parts.append("</g>")
        top += _height(comparison)
    names = escape("; ".join(title for title, _ in panels), quote=True)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        f'height="{top}" font-family="system-ui, sans-serif" font-size="{FONT_SIZE}" '
        f'role="img" aria-label="Critical-difference diagrams: {names}">'
    )
    paper = f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>'
    return "\n".join([head, paper, *parts, "</svg>"])


def plot_critical_difference(
    comparison: Comparison, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw a diagram with matplotlib.

    Parameters
    ----------
    comparison : Comparison
        What :func:`patchfold.evaluation.significance.compare` returns.
    title : str, default=""
        Stands above the diagram.
    ax : Axes or None
        Where to draw. None makes a new figure of the right proportions.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from patchfold.evaluation.significance import compare
    >>> ax = plot_critical_difference(compare(["a", "b", "c"], [[3, 2, 1]] * 8))
    >>> ax.figure.savefig("ranks.png")  # doctest: +SKIP
    """
    height = _height(comparison)
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.figure(figsize=(WIDTH / 80, height / 80)).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    for shape in _shapes(title, comparison):
        if isinstance(shape, _Line):
            x, y = zip(*shape.points, strict=True)
            ax.plot(x, y, color=shape.color, linewidth=shape.width, solid_capstyle="butt")
        else:
            side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
            weight = "bold" if shape.bold else "normal"
            ax.text(
                shape.x,
                shape.y,
                shape.text,
                ha=side,
                va="baseline",
                color=INK,
                weight=weight,
                fontsize=10,
                parse_math=False,
            )
    return ax


def _shapes(title: str, comparison: Comparison) -> Iterator[_Line | _Text]:
    ranks, difference = comparison.ranks, comparison.difference
    yield _Text(WIDTH / 2, TITLE_Y, title, bold=True)
    yield _Text(AXIS[0], DIFFERENCE_Y - 7, f"critical difference {difference:.2f}", "start")
    # A bar longer than the axis says that no two methods can differ.
    reach = min(_place(1 + difference, comparison), WIDTH - 1.0)
    yield _Line(((AXIS[0], DIFFERENCE_Y), (reach, DIFFERENCE_Y)), 2.0, CHOICE_COLOR)
    for end in (AXIS[0], reach):
        yield _Line(((end, DIFFERENCE_Y - 4), (end, DIFFERENCE_Y + 4)), 2.0, CHOICE_COLOR)
    yield _Line(((AXIS[0], AXIS_Y), (AXIS[1], AXIS_Y)))
    for rank in range(1, len(ranks) + 1):
        x = _place(rank, comparison)
        yield _Line(((x, AXIS_Y - 5), (x, AXIS_Y)))
        yield _Text(x, AXIS_Y - 9, str(rank))
    for level, (best, worst) in enumerate(_bars(comparison)):
        y = FIRST_BAR_Y + level * BAR_STEP
        ends = _place(best, comparison) - 3, _place(worst, comparison) + 3
        yield _Line(((ends[0], y), (ends[1], y)), 4.0, CURVE_COLOR)
    yield from _labels(comparison)


def _labels(comparison: Comparison) -> Iterator[_Line | _Text]:
    """Join every method's place on the axis with its name: the better half left, others right."""
    order = sorted(range(len(comparison.ranks)), key=comparison.ranks.__getitem__)
    half = (len(order) + 1) // 2
    first = _first_label_y(comparison)
    left, right = AXIS
    better, worse = order[:half], order[: half - 1 : -1]
    sides = ((better, "end", left - 6, -4), (worse, "start", right + 6, 4))
    for methods, anchor, x, gap in sides:
        for line, method in enumerate(methods):
            y = first + line * LABEL_STEP
            rank, name = comparison.ranks[method], comparison.methods[method]
            place = _place(rank, comparison)
            yield _Line(((place, AXIS_Y), (place, y), (x, y)), color=PALE)
            label = f"{name} {rank:.2f}"
            yield _Text(x + gap, y + 4, label, anchor, bold=name == comparison.control)


def _bars(comparison: Comparison) -> list[tuple[float, float]]:
    """Return from which to which rank methods do not differ: from each other or the control."""
    ranks = comparison.ranks
    if not comparison.control:
        found = groups(ranks, comparison.difference)
        return [(ranks[group[0]], ranks[group[-1]]) for group in found]
    center = ranks[comparison.methods.index(comparison.control)]
    reach = comparison.difference
    return [(max(1.0, center - reach), min(float(len(ranks)), center + reach))]


def _place(rank: float, comparison: Comparison) -> float:
    left, right = AXIS
    return left + (rank - 1) * (right - left) / (len(comparison.ranks) - 1)


def _first_label_y(comparison: Comparison) -> int:
    return FIRST_BAR_Y + len(_bars(comparison)) * BAR_STEP + LABEL_STEP // 2


def _height(comparison: Comparison) -> int:
    lines = (len(comparison.ranks) + 1) // 2
    return _first_label_y(comparison) + lines * LABEL_STEP + LABEL_STEP // 2


def _element(shape: _Line | _Text) -> str:
    if isinstance(shape, _Line):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.color}" '
            f'stroke-width="{shape.width:g}"/>'
        )
    weight = ' font-weight="600"' if shape.bold else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" text-anchor="{shape.anchor}" '
        f'fill="{INK}"{weight}>{escape(shape.text)}</text>'
    )
