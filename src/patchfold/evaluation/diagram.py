"""Critical-difference diagrams: mean ranks on an axis, and bars over methods that do not differ.

They are SVG, which needs no other package.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from patchfold.evaluation.significance import groups
from patchfold.plotting import CHOICE_COLOR, CURVE_COLOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchfold.evaluation.significance import Comparison

INK = "#22262b"
PALE = "#8a9099"

# All lengths are those of the SVG, in its pixels.
WIDTH = 600
AXIS = (150, 450)  # from the best to the worst rank; labels stand on both sides
DIFFERENCE_Y = 48
AXIS_Y = 84
FIRST_BAR_Y = AXIS_Y + 9
BAR_STEP = 7
LABEL_STEP = 19


def critical_difference_svg(panels: Sequence[tuple[str, Comparison]]) -> str:
    """Draw diagrams one above the other as one SVG image.

    Parameters
    ----------
    panels : sequence of pairs of str and Comparison
        Titles and what stands under them, from the top. A bar joins methods that do not differ.

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
        parts.extend(_shapes(title, comparison))
        parts.append("</g>")
        lines = (len(comparison.ranks) + 1) // 2
        top += _first_label_y(comparison) + lines * LABEL_STEP + LABEL_STEP // 2
    names = escape("; ".join(title for title, _ in panels), quote=True)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        f'height="{top}" font-family="system-ui, sans-serif" font-size="12" '
        f'role="img" aria-label="Critical-difference diagrams: {names}">'
    )
    paper = f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>'
    return "\n".join([head, paper, *parts, "</svg>"])


def _shapes(title: str, comparison: Comparison) -> Iterator[str]:
    ranks, difference = comparison.ranks, comparison.difference
    yield _text(WIDTH / 2, 16, title, bold=True)
    yield _text(AXIS[0], DIFFERENCE_Y - 7, f"critical difference {difference:.2f}", "start")
    # A bar longer than the axis says that no two methods can differ.
    reach = min(_place(1 + difference, comparison), WIDTH - 1.0)
    yield _line(((AXIS[0], DIFFERENCE_Y), (reach, DIFFERENCE_Y)), 2.0, CHOICE_COLOR)
    for end in (AXIS[0], reach):
        yield _line(((end, DIFFERENCE_Y - 4), (end, DIFFERENCE_Y + 4)), 2.0, CHOICE_COLOR)
    yield _line(((AXIS[0], AXIS_Y), (AXIS[1], AXIS_Y)))
    for rank in range(1, len(ranks) + 1):
        x = _place(rank, comparison)
        yield _line(((x, AXIS_Y - 5), (x, AXIS_Y)))
        yield _text(x, AXIS_Y - 9, str(rank))
    for level, (best, worst) in enumerate(_bars(comparison)):
        y = FIRST_BAR_Y + level * BAR_STEP
        ends = _place(best, comparison) - 3, _place(worst, comparison) + 3
        yield _line(((ends[0], y), (ends[1], y)), 4.0, CURVE_COLOR)
    yield from _labels(comparison)


def _labels(comparison: Comparison) -> Iterator[str]:
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
            yield _line(((place, AXIS_Y), (place, y), (x, y)), color=PALE)
            label = f"{name} {rank:.2f}"
            yield _text(x + gap, y + 4, label, anchor, bold=name == comparison.control)


def _bars(comparison: Comparison) -> list[tuple[float, float]]:
    """Return from which to which rank methods do not differ: from each other or the control."""
    ranks = comparison.ranks
    if comparison.chosen:
        place = dict(zip(comparison.methods, ranks, strict=True))
        ends = [(place[better], place[worse]) for better, worse in comparison.p_values]
        return [(best, worst) for best, worst in ends if worst - best <= comparison.difference]
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


def _line(points: Sequence[tuple[float, float]], width: float = 1.0, color: str = INK) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}"{weight}>'
        f"{escape(text)}</text>"
    )
