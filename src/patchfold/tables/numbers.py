"""Numbers as people write them: thousands apart, percent signs, money and units."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.sniffing import MISSING_NUMBERS

if TYPE_CHECKING:
    from patchfold.base.types import Doubles


# Spaces that stand between thousands, the narrow and the unbreakable one among them.
SPACES = " \u00a0\u2009\u202f"
MONEY = "$€£¥"
# A sign, money, digits with signs between them, an exponent, and a unit or a percent sign.
WRITTEN = re.compile(
    rf"(?P<sign>[+\-\u2212]?)\s*(?P<money>[{MONEY}]?)\s*"
    rf"(?P<digits>\d[\d.,'\u2019{SPACES}]*|[.,]\d+)(?P<power>[eE][+-]?\d+)?"
    rf"\s*(?P<unit>%|‰|[{MONEY}]|°?[A-Za-zµμΩ][A-Za-z0-9²³/·^]{{0,7}}|°)?"
)
# Digits in threes; what stands between them is one and the same sign.
THREES = re.compile(rf"\d{{1,3}}([.,'\u2019{SPACES}])\d{{3}}(?:\1\d{{3}})*")
# Units that are surely such. Letters behind numbers may be codes, as in 3a and 4b.
UNITS = frozenset(
    (
        *("%", "‰", "°", "°c", "°f", "mm", "cm", "dm", "m", "km", "ft", "mg", "g", "kg"),
        *("lb", "oz", "ml", "cl", "l", "s", "sec", "ms", "min", "h", "hr", "hrs", "kw"),
        *("kwh", "hz", "khz", "mhz", "ghz", "pa", "kpa", "bar", "kj", "kcal", "kb", "mb"),
        *("gb", "tb", "eur", "usd", "chf", "gbp", "jpy", "€", "$", "£", "¥", "yr", "yrs"),
        *("years", "days", "m²", "m³", "km²", "km/h", "m/s", "px", "mmhg", "bpm"),
    )
)

# What is said of a column that has one.
DECIMAL_COMMA = "decimal comma"
POINTS_BETWEEN = "points between thousands"
BETWEEN = {".": "points", ",": "commas", "'": "apostrophes", "\u2019": "apostrophes"}
# What a number without a unit is called among others.
BARE = "no unit"


def read_numbers(cells: Any, decimal: str = ".") -> tuple[Doubles, str] | None:
    """Read a column of texts as numbers; None where some are none, or their units differ.

    Numbers, NaN where there is no text, come with what was understood, for a note. Signs for
    missing numbers, such as ``"-"``, are missing. ``decimal`` is the decimal sign of the file, for
    what could be read both ways, such as ``1.234``.

    Examples
    --------
    >>> import pandas as pd
    >>> read_numbers(pd.Series(["1.234,50 €", "99,00 €"]))
    (array([1234.5,   99. ]), 'decimal comma, points between thousands, in €')
    """
    texts = cells.astype(str).str.strip()
    there = (cells.notna() & ~texts.isin(MISSING_NUMBERS)).to_numpy(dtype=bool)
    parts = [WRITTEN.fullmatch(text) for text in texts[there]]
    if not parts or not all(parts):
        return None
    found = [part for part in parts if part is not None]
    units = {part["unit"] or part["money"] or "" for part in found} - {""}
    bare = sum(not (part["unit"] or part["money"]) for part in found)
    if len(units) > 1 or (units and bare):
        return None
    signs = _signs([part["digits"].rstrip(SPACES) for part in found], decimal)
    if signs is None:
        return None
    point, between = signs
    numbers = [_number(part, point, between) for part in found]
    values = np.full(len(cells), np.nan)
    values[there] = numbers
    unit = next(iter(units), "")
    # Points in whole numbers say enough.
    whole = between == "." and not any("," in part["digits"] for part in found)
    how = [
        *([DECIMAL_COMMA] if point == "," and not whole else []),
        *([f"{BETWEEN.get(between, 'spaces')} between thousands"] if between else []),
        *([f"in {unit}"] if unit else []),
    ]
    return values, ", ".join(how) or "numbers"


def decimal_in(words: str) -> str:
    """Return the decimal sign in what :func:`read_numbers` understood, "" where it tells none.

    Examples
    --------
    >>> decimal_in("decimal comma, in kg"), decimal_in("points between thousands"), decimal_in("")
    (',', ',', '')
    """
    return "," if DECIMAL_COMMA in words or POINTS_BETWEEN in words else ""


def unit_in(words: str) -> str:
    """Return the unit in what :func:`read_numbers` understood, "" where there is none.

    Examples
    --------
    >>> unit_in("decimal comma, in kg"), unit_in("decimal comma")
    ('kg', '')
    """
    found = re.search(r"(?:^|, )in (.*)$", words)
    return found[1] if found else ""


def is_number(text: str) -> bool:
    """Tell whether a text is surely a number, perhaps with thousands apart or a known unit.

    Examples
    --------
    >>> [is_number(text) for text in ("1.234,50", "12 %", "3a", "much")]
    [True, True, False, False]
    """
    part = WRITTEN.fullmatch(text.strip())
    return part is not None and (part["unit"] or "%").lower() in UNITS


def mixed_units(cells: Any) -> list[str]:
    """Return the units of a column of numbers that has several of them, the commonest first.

    Examples
    --------
    >>> import pandas as pd
    >>> mixed_units(pd.Series(["2 kg", "1 kg", "500 g"])), mixed_units(pd.Series(["3a", "4b"]))
    (['kg', 'g'], [])
    """
    known = cells.dropna().astype(str).str.strip()
    parts = [WRITTEN.fullmatch(text) for text in known]
    units = Counter((part["unit"] or part["money"] or BARE) for part in parts if part is not None)
    sure = all(unit.lower() in UNITS for unit in units if unit != BARE)
    differ = all(parts) and sure and len(units) > 1
    return [unit for unit, _ in units.most_common()] if differ else []


def _signs(digits: list[str], decimal: str) -> tuple[str, str] | None:
    """Return the decimal sign and the sign between thousands ("" for none); None if neither fits.

    A reading fits where every cell can be read by it. Of several the first fits best: plain
    numbers, then those of the file's own decimal sign.
    """
    other = "," if decimal == "." else "."
    for point, between in (
        (decimal, ""),
        (decimal, other),
        (decimal, "'"),
        (decimal, "\u2019"),
        *((decimal, space) for space in SPACES),
        (other, ""),
        (other, decimal),
        *((other, space) for space in SPACES),
        (other, "'"),
    ):
        if all(_fits(cell, point, between) for cell in digits):
            return point, between
    return None


def _fits(digits: str, point: str, between: str) -> bool:
    whole, _, rest = digits.partition(point)
    if rest and not rest.isdigit():
        return False
    if whole.isdigit() or (not whole and rest):
        return True
    found = THREES.fullmatch(whole)
    return bool(between) and found is not None and found[1] == between


def _number(part: re.Match[str], point: str, between: str) -> float:
    digits = part["digits"].rstrip(SPACES).replace(between, "") if between else part["digits"]
    number = float(digits.rstrip(SPACES).replace(point, ".") + (part["power"] or ""))
    return number if part["sign"] in {"", "+"} else -number
