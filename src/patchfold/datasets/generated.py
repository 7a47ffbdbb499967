"""Data sets that a rule defines: written here, never downloaded.

Each function returns the coded points, the label of each row, the names of the columns and, for
those that are categorical, the categories in declared order.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Raw(NamedTuple):
    """A data set as its source has it: categories as codes in declared order, labels as text."""

    X: np.ndarray[Any, Any]
    labels: Sequence[str]
    feature_names: Sequence[str]
    categories: Mapping[str, Sequence[str]]


# Which points of the grid were drawn, without putting them back, for the training part of the first
# MONK's problem: bit i stands for row i of the grid. The draw was random; it follows from no rule.
MONKS_1_DRAWN = int(
    "aa00e18ea0854500230082810828090809032007209211014004e1"
    "ab201c48909840db30c5ea08da444438e00884b19602500c240030",
    16,
)

# Rows of the first block of corral in which the correlated bit is not the class (a quarter of 32).
CORRAL_FLIPPED = (4, 6, 8, 10, 14, 16, 24, 31)

TIC_TAC_TOE_LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)


def parity5() -> Raw:
    """All five-bit strings; the class is the parity of the ones."""
    bits = list(product((0, 1), repeat=5))
    return _categorical(
        bits, [str(sum(row) % 2) for row in bits], _bits(*map("Bit_{}".format, "12345"))
    )


def mux6() -> Raw:
    """All six-bit strings, twice: two address bits say which of four data bits is the class."""
    bits = list(product((0, 1), repeat=6)) * 2
    names = ("Address_bit_1", "Address_bit_2", "Bit_0", "Bit_1", "Bit_2", "Bit_3")
    return _categorical(bits, [str(row[2 + 2 * row[0] + row[1]]) for row in bits], _bits(*names))


def corral() -> Raw:
    """Class ``A0 A1 or B0 B1``, one irrelevant bit, and one that mostly agrees with the class.

    The first 32 rows are the grid of the other five bits with a correlated bit that is wrong in a
    quarter of them, the next two times 32 have it right, the last 64 are the grid of all six bits.
    """

    def rule(row: Sequence[int]) -> int:
        return row[0] & row[1] | row[2] & row[3]

    grid = list(product((0, 1), repeat=5))
    bits = [(*row, rule(row) ^ (i in CORRAL_FLIPPED)) for i, row in enumerate(grid)]
    bits += [(*row, rule(row)) for row in grid] * 2
    bits += list(product((0, 1), repeat=6))
    names = ("A0", "A1", "B0", "B1", "Irrelevant", "Correlated")
    return _categorical(bits, [str(rule(row)) for row in bits], _bits(*names))


def monks_1() -> Raw:
    """First MONK's problem: the drawn rows, then the whole grid; class ``a1 = a2 or a5 = 1``."""
    values = [tuple("123"), tuple("123"), tuple("12"), tuple("123"), tuple("1234"), tuple("12")]
    grid = list(product(*(range(len(column)) for column in values)))
    rows = [row for i, row in enumerate(grid) if MONKS_1_DRAWN >> i & 1] + grid
    labels = [str(int(row[0] == row[1] or row[4] == 0)) for row in rows]
    return _categorical(rows, labels, {f"attr{i}": column for i, column in enumerate(values, 1)})


def balance() -> Raw:
    """Every scale with weights and arms of 1 to 5; the class is the side that goes down, or B."""
    scales = list(product(range(1, 6), repeat=4))
    moments = [left * arm - right * other for left, arm, right, other in scales]
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    return Raw(np.array(scales, float), ["BLR"[np.sign(m)] for m in moments], names, {})


def tic_tac_toe() -> Raw:
    """Every board on which a game can end, ``x`` playing first; positive where ``x`` has won.

    Wins come first, then losses, then draws.
    """
    won, lost, drawn = [], [], []
    for board in product("xob", repeat=9):
        x, o = (
            any(all(board[i] == who for i in line) for line in TIC_TAC_TOE_LINES) for who in "xo"
        )
        ahead = board.count("x") - board.count("o")
        if x and not o and ahead == 1:
            won.append(board)
        elif o and not x and ahead == 0:
            lost.append(board)
        elif not (x or o) and ahead == 1 and "b" not in board:
            drawn.append(board)
    names = [
        f"{row}-{column}-square"
        for row, column in product(("top", "middle", "bottom"), ("left", "middle", "right"))
    ]
    codes = [["box".index(cell) for cell in board] for board in won + lost + drawn]
    labels = ["positive"] * len(won) + ["negative"] * len(lost + drawn)
    return _categorical(codes, labels, dict.fromkeys(names, tuple("box")))


GENERATED: dict[str, Callable[[], Raw]] = {
    "balance": balance,
    "corral": corral,
    "monks-problems-1": monks_1,
    "mux6": mux6,
    "parity5": parity5,
    "tic-tac-toe": tic_tac_toe,
}


def _bits(*names: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, ("0", "1"))


def _categorical(
    codes: Iterable[Sequence[int]], labels: Sequence[str], categories: Mapping[str, Sequence[str]]
) -> Raw:
    return Raw(np.array(list(codes), float), labels, tuple(categories), categories)
