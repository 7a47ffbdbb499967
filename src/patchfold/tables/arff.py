"""Attribute-relation files, which declare the kinds of their columns.

SciPy's reader knows neither text columns nor quoted categories; this one leaves only sparse rows
and relations within relations out.
"""

from __future__ import annotations

import re
from typing import Any

from patchfold.tables.problems import TableError, counted, quoted

QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A value, bare or in quotes, up to a comma or the end.
CELL = re.compile(rf"\s*({QUOTED}|[^,'\"][^,]*|)\s*(?=,|$)")
# A name, bare or in quotes, and what follows it.
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|\S+)\s+(.+)", re.IGNORECASE)


def parse_arff(text: str) -> tuple[Any, Any]:
    """Return the rows of an ARFF text as pandas frames: as declared, and as they are written.

    Declared categories keep their order.

    Examples
    --------
    >>> frame, written = parse_arff('''@relation fruit
    ... @attribute 'weight in g' real
    ... @attribute colour {red, 'dark green'}
    ... @data
    ... 150, 'dark green'
    ... ?, red''')
    >>> frame["weight in g"].tolist(), list(frame["colour"].cat.categories)
    ([150.0, nan], ['red', 'dark green'])
    >>> written["weight in g"].tolist()
    ['150', None]
    """
    import pandas as pd

    head, data = _halves(text)
    kinds: dict[str, str] = {}
    for line in head:
        if not line.lower().startswith("@attribute"):
            continue
        found = ATTRIBUTE.match(line)
        if found is None:
            raise TableError(f"the line {quoted(line)} declares no attribute; give name and kind.")
        name = _cells(found[1])[0]
        if name in kinds:
            raise TableError(
                f"two attributes are named {quoted(name)}; give every one a name of its own."
            )
        kinds[name] = found[2].strip()
    if not kinds:
        raise TableError("the ARFF file declares no attributes; give one line for each column.")
    rows = []
    for place, line in enumerate(data, start=1):
        if line.startswith("{"):
            raise TableError("the rows are sparse, {...}; save the table with all values.")
        cells = _cells(line)
        if len(cells) != len(kinds):
            raise TableError(
                f"row {place} has {counted(len(cells), 'value')} for "
                f"{counted(len(kinds), 'attribute')}; give one for each."
            )
        rows.append([None if cell == "?" else cell for cell in cells])
    written = pd.DataFrame(rows, columns=list(kinds), dtype=object)
    typed = {name: _typed(name, written[name], kind) for name, kind in kinds.items()}
    return pd.DataFrame(typed, columns=list(kinds), index=written.index), written


def _halves(text: str) -> tuple[list[str], list[str]]:
    """Return the lines before and after ``@data``, without comments and blank ones."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    places = [place for place, line in enumerate(lines) if line.lower().startswith("@data")]
    if not places:
        raise TableError("the ARFF file has no line '@data'; it seems cut off.")
    return lines[: places[0]], lines[places[0] + 1 :]


def _cells(line: str) -> list[str]:
    """Split a line at commas outside quotes, which are single or double.

    Examples
    --------
    >>> _cells("1, 'a, b', c d, ")
    ['1', 'a, b', 'c d', '']
    """
    cells = []
    start = 0
    while start <= len(line):
        found = CELL.match(line, start)
        if found is None:
            raise TableError(f"the line {quoted(line)} has text beside quotes; quote all of it.")
        cell = found[1].strip()
        if cell[:1] in {"'", '"'} and len(cell) > 1:
            cell = re.sub(r"\\(.)", r"\1", cell[1:-1])
        cells.append(cell)
        start = found.end() + 1
    return cells


def _typed(name: str, values: Any, kind: str) -> Any:
    import pandas as pd

    if kind.startswith("{"):
        declared = _cells(kind.strip("{} \t"))
        unknown = [value for value in values.dropna() if value not in set(declared)]
        if unknown:
            raise TableError(
                f"column {quoted(name)} has the value {quoted(unknown[0])}, which is not declared; "
                "declare it, or correct the value."
            )
        return pd.Categorical(values, categories=list(dict.fromkeys(declared)))
    if kind.lower().split()[0] in {"numeric", "real", "integer"}:
        try:
            return pd.to_numeric(values).astype(float)
        except (ValueError, TypeError) as error:
            raise TableError(
                f"column {quoted(name)} is declared {kind} and is not all numbers ({error})."
            ) from error
    return values
