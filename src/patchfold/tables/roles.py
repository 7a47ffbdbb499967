"""What the columns of a table are for: names of rows, classes, things to show, features.

The user names some. Of the others, those that can hardly be features are told by their names and
values; every such decision is noted, with the option that undoes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isqrt
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from patchfold.tables.columns import CODE, FEW_CATEGORIES, PLAIN_NUMBER
from patchfold.tables.dates import are_dates
from patchfold.tables.numbers import is_number, read_numbers
from patchfold.tables.one_unit import grid_columns, is_smooth, pixel_side
from patchfold.tables.problems import listed, quoted

if TYPE_CHECKING:
    from patchfold.tables.table import Table

# Names in small letters, without other signs.
ID_NAMES = frozenset(
    (
        *("id", "ids", "idnr", "nr", "no", "number", "nummer", "index", "key", "uuid"),
        *("guid", "rowid", "row", "rownumber", "rownames", "name", "names", "sample"),
        *("sampleid", "barcode", "accession"),
    )
)
CLASS_NAMES = frozenset(
    (
        *("target", "label", "labels", "class", "classes", "klasse", "species"),
        *("outcome", "diagnosis", "diagnose", "celltype", "category", "kategorie"),
        *("topic", "y"),
    )
)
# Whole numbers with more values than this are measurements, whatever their column is called.
MOST_CLASSES = 100
# Texts that are usually longer name nothing, but are there to be read.
LONGEST_NAME = 60
# Fewer rows may be numbered by chance.
FEWEST_NUMBERED = 10


@dataclass(frozen=True)
class Roles:
    """What columns are for."""

    # Classes or values, and the names of the rows.
    target: str | None = None
    ids: str | None = None
    info: tuple[str, ...] = ()  # columns that are shown, and no features
    drop: tuple[str, ...] = ()  # columns that are left out
    features: tuple[str, ...] = ()  # columns that are features, whatever they look like

    @property
    def named(self) -> list[str]:
        """All columns that have a role, in the order of the options."""
        one = [name for name in (self.target, self.ids) if name is not None]
        return [*one, *self.info, *self.drop, *self.features]


def named_like_a_role(name: str) -> bool:
    """Whether a column is called as ids and classes are.

    Examples
    --------
    >>> named_like_a_role("Sample_ID"), named_like_a_role("width")
    (True, False)
    """
    return _plain(name) in ID_NAMES | CLASS_NAMES


def assign(table: Table, roles: Roles) -> tuple[Roles, list[str]]:
    """Decide what the user left open; return all roles, and what was decided.

    Examples
    --------
    >>> import pandas as pd
    >>> from patchfold.tables import Table
    >>> frame = pd.DataFrame({"nr": range(1, 21), "x": [0.5, 2.5] * 10, "class": list("ab") * 10})
    >>> roles, notes = assign(Table(frame), Roles())
    >>> roles.ids, roles.target
    ('nr', 'class')
    >>> notes[1]
    "column 'nr' numbers the rows and is taken for --id (--feature nr embeds it)"
    """
    notes: list[str] = []
    roles = _with_target(table, roles, notes)
    roles = _with_ids(table, roles, notes)
    apart = [name for name in table.beside if name not in roles.named]
    if apart:
        notes.append(
            f"arrays beside the points are shown and not embedded: {listed(apart)} "
            "(--feature NAME embeds one)"
        )
        roles = replace(roles, info=(*roles.info, *apart))
    if roles.target is None:
        roles = _beside_pixels(table.frame, roles, notes)
    roles, said = beside_grid(table.frame, roles)
    return roles, [*notes, *said]


def beside_grid(frame: Any, roles: Roles) -> tuple[Roles, list[str]]:
    """Show the columns beside a spectrum or another curve, and embed the curve alone.

    Without a target, the first of them that varies becomes it: the time beside the spectra of a
    reaction.

    Examples
    --------
    >>> import pandas as pd
    >>> place = np.arange(400, 500, 2)
    >>> peaks = [np.exp(-(((place - center) / 9) ** 2)) for center in range(430, 470)]
    >>> frame = pd.DataFrame(peaks, columns=place.astype(str))
    >>> roles, notes = beside_grid(frame.assign(minute=np.arange(40) ** 2), Roles())
    >>> roles.target
    'minute'
    """
    apart = {roles.target, roles.ids, *roles.info, *roles.drop}
    names = [str(name) for name in frame.columns if name not in apart]
    curve = grid_columns([name for name in names if frame[name].dtype.kind in "iuf"])
    beside = [name for name in names if name not in {*curve, *roles.features}]
    # Beside more columns than its own it is one of several measurements.
    most = len(curve) > len(beside) > 0
    if not most or not is_smooth(frame[curve].to_numpy(dtype=float)):
        return roles, []
    notes = []
    target = None if roles.target else next((b for b in beside if frame[b].nunique() > 1), None)
    where = f"beside the curve from {quoted(curve[0])} to {quoted(curve[-1])}"
    if target is not None:
        beside.remove(target)
        notes.append(
            f"column {quoted(target)} stands {where} and is taken for --target, not embedded "
            f"(--feature {quote(target)} embeds it)"
        )
    if beside:
        notes.append(
            f"shown and not embedded, as they stand {where}: {listed(beside)} "
            f"(--feature {quote(beside[0])} embeds it)"
        )
    info = (*roles.info, *beside)
    return replace(roles, target=target or roles.target, info=info), notes


def _beside_pixels(frame: Any, roles: Roles, notes: list[str]) -> Roles:
    """Take the first or the last column for classes if all the others are pixels of images.

    It is the one that is called otherwise than they are, as "digit" beside "pixel 1", "pixel 2".
    """
    apart = {roles.ids, *roles.info, *roles.drop}
    names = [name for name in frame.columns if name not in apart]
    if len(names) < 2 or isqrt(len(names) - 1) ** 2 != len(names) - 1:
        return roles
    stems = [re.sub(r"[\d\W_]+", "", str(name)) for name in names]
    for name, stem in ((names[-1], stems[-1]), (names[0], stems[0])):
        if name in roles.features or not 1 < frame[name].nunique() <= MOST_CLASSES:
            continue
        if stems.count(stem) > 1:
            continue
        side = pixel_side(frame[[other for other in names if other != name]].to_numpy())
        if side is not None:
            notes.append(
                f"column {quoted(name)} stands beside the pixels of images of {side} x {side} and "
                f"is taken for --target, not embedded (--feature {quote(name)} embeds it)"
            )
            return replace(roles, target=name)
    return roles


def _with_target(table: Table, roles: Roles, notes: list[str]) -> Roles:
    names = [str(name) for name in table.frame.columns]
    plain = {_plain(name) for name in names}
    like = [
        name
        for name in names
        if name not in roles.named
        and _plain(name) in CLASS_NAMES - ({"y"} if "x" in plain else set())
        and _classes(table.frame[name], sure=_plain(name) == "target")
    ]
    if not like:
        return roles
    if roles.target is not None:
        embedded = [name for name in like if name not in table.beside]
        if embedded:
            notes.append(
                f"{listed(embedded)} may hold classes and is embedded all the same "
                f"(--info {quote(embedded[0])} only shows it)"
            )
        return roles
    notes.append(
        f"column {quoted(like[0])} seems to hold classes and is taken for --target, not embedded "
        f"(--feature {quote(like[0])} embeds it)"
    )
    return replace(roles, target=like[0])


def _with_ids(table: Table, roles: Roles, notes: list[str]) -> Roles:
    frame, taken = table.frame, roles.named
    names = [str(name) for name in frame.columns if name not in {*taken, *table.beside}]
    if roles.ids is None and table.index in names:
        notes.append(f"the index {quoted(table.index)} of the file names the rows (--id)")
        return replace(roles, ids=table.index)
    numbered = [name for name in names if _numbers_rows(frame[name], name)]
    named = [name for name in names if _names_rows(frame[name], name)]
    long = [name for name in named if frame[name].str.len().median() > LONGEST_NAME]
    if long and len(long) < len({*names, *roles.features}):
        notes.append(f"texts to read are shown and not embedded: {listed(long)}")
        roles = replace(roles, info=(*roles.info, *long))
        names = [name for name in names if name not in long]
    found = [*numbered, *(name for name in named if name not in long)]
    # Something has to be left to embed.
    if roles.ids is not None or len(found) == len({*names, *roles.features}):
        return roles
    found.sort(key=lambda name: (_plain(name) not in ID_NAMES, names.index(name)))
    if not found:
        return roles
    first = found[0]
    what = "numbers the rows" if first in numbered else "has another text in every row"
    notes.append(
        f"column {quoted(first)} {what} and is taken for --id (--feature {quote(first)} embeds it)"
    )
    others = [name for name in numbered if name != first]
    if others:
        notes.append(f"shown and not embedded, as they number the rows, too: {listed(others)}")
    return replace(roles, ids=first, info=(*roles.info, *others))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", str(name)).lower()


def _classes(values: Any, *, sure: bool) -> bool:
    """Whether a column can hold classes; one that is surely a target may hold measurements."""
    from pandas.api import types

    known = values.dropna()
    if types.is_numeric_dtype(values) and not types.is_bool_dtype(values):
        if sure:
            return True
        whole = not types.is_complex_dtype(values) and bool((known % 1 == 0).all())
        return whole and known.nunique() <= min(MOST_CLASSES, max(len(known) // 2, 2))
    hashable = known.map(lambda value: isinstance(value, str | bytes | bool)).all()
    return bool(hashable) and 1 < known.nunique() <= max(FEW_CATEGORIES, len(known) // 2)


def _numbers_rows(values: Any, name: str) -> bool:
    """Whether a column counts the rows: in their order, or in any if it is called so."""
    n = len(values)
    if values.dtype.kind not in "iu" or n < FEWEST_NUMBERED or values.isna().any():
        return False
    numbers = values.to_numpy()
    if int(numbers.max()) - int(numbers.min()) != n - 1:
        return False
    if _plain(name) in ID_NAMES:
        numbers = np.sort(numbers)
    return bool((np.diff(numbers) == 1).all())


def _names_rows(values: Any, name: str) -> bool:
    """Whether a column has another text in every row, and no numbers or dates."""
    from pandas.api import types

    n = len(values)
    if not (types.is_object_dtype(values) or types.is_string_dtype(values)):
        return False
    fewest = 2 if _plain(name) in ID_NAMES else FEW_CATEGORIES + 1
    texts = values[values.map(lambda value: isinstance(value, str))]
    if n < fewest or len(texts) < n or texts.nunique() < n:
        return False
    numbers = texts.str.fullmatch(PLAIN_NUMBER) | texts.map(is_number)
    if numbers.mean() >= 0.5 and not texts.str.fullmatch(CODE).any():
        return False
    return not are_dates(values) and read_numbers(values) is None
