"""Tables for the commands: read or found by name, with every column given its role."""

import difflib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from shlex import quote
from typing import Any

from patchfold.cli import _options as options
from patchfold.cli._session import Refused, about, say, to_paste, working

# What to do where all columns are texts to read.
NOTHING_ELSE = (
    "No other column is there to embed. Make numbers of texts first, for example by scikit-learn's "
    "TfidfVectorizer and TruncatedSVD; patchfold.explore(numbers, text=texts) then shows both."
)

# What becomes of numbers that share a unit, and how a note calls it.
SCALE_OF = {"pixels": "raw", "grid": "raw", "counts": "counts"}
SCALED = {"standardize": "standardised", "raw": "as they are", "counts": "logarithms of counts"}
# MANY_COLUMNS columns of numbers, or more, may well have one unit.
MANY_COLUMNS = 100


@dataclass(frozen=True)
class TableOptions:
    """What options say about a table: where it is, what its columns are, how they become points."""

    data: options.Data
    target: options.Target = None
    ids: options.Id = None
    info: options.Info = None
    drop: options.Drop = None
    feature: options.Feature = None
    standardize: options.Standardize = None
    categories: options.Categories = "onehot"
    missing: options.Missing = "error"
    dates: options.Dates = False
    decimal: options.Decimal = None
    header: options.Header = None

    def load(self, *, shown: Sequence[str] = (), xy: Sequence[str] = ()) -> Any:
        """Read the table, give every column its role and choose the features.

        Notes of all that was decided are in the selection's. The columns ``shown`` are no features,
        and neither are the pairs ``xy`` of coordinates, if there are others.
        """
        from patchfold.tables import ColumnsError, Roles, check_rows, select

        if self.data == "-" and sys.stdin is not None and sys.stdin.isatty():
            say(["Reading standard input; Ctrl-D ends it."])
        known = {self.target, self.ids, *(self.info or ())}
        told = [name for name in shown if name not in known]
        given = Roles(
            self.target,
            self.ids,
            (*(self.info or ()), *dict.fromkeys(told)),
            tuple(self.drop or ()),
            tuple(self.feature or ()),
        )
        with about(self.data), working(f"Reading {self.data} ..."):
            table = self._read(given)
            roles, notes = _assigned(table, given, xy)
            try:
                selection = select(
                    table.frame,
                    target=roles.target,
                    ids=roles.ids,
                    info=roles.info,
                    drop=roles.drop,
                    missing=self.missing,
                    written=table.kept,
                    decimal=table.decimal,
                    dates=self.dates,
                )
            except ColumnsError as error:
                raise _refused(self.data, error) from error
            check_rows(selection)
        genes = table.genes and replace(table.genes, values=table.genes.values[selection.rows])
        selection = replace(
            selection, roles=roles, shape=table.shape, one_unit=table.one_unit, genes=genes
        )
        selection.notes[:0] = [*table.notes, *notes]
        if self.standardize is None:
            selection.notes.extend(_said_of_units(selection))
        return selection

    def scale(self, selection: Any) -> str:
        """What becomes of numbers: as asked for, else by the unit that they share, if any."""
        if self.standardize is not None:
            return "standardize" if self.standardize else "raw"
        if selection.one_unit:
            return "raw"
        return SCALE_OF.get(unit_of(selection), "standardize")

    def coding(self, selection: Any) -> dict[str, Any]:
        """How columns become points, as arguments of :func:`patchfold.tables.preprocessor`."""
        return {
            "categories": self.categories,
            "scale": self.scale(selection),
            "impute": self.missing == "impute",
        }

    def described(self, selection: Any) -> str:
        """Say in a sentence what was read, and what was made of it."""
        from patchfold.tables.problems import counted

        features = selection.features
        kinds = [features[name].dtype == float for name in features.columns]
        numbers, texts = sum(kinds), len(kinds) - sum(kinds)
        parts = []
        if numbers:
            parts.append(f"{numbers} of numbers ({SCALED[self.scale(selection)]})")
        if texts:
            parts.append(f"{texts} of categories ({self.categories})")
        name = "standard input" if self.data == "-" else self.data
        wide = counted(len(kinds), "feature")
        return f"{name}: {counted(len(features), 'row')}, {wide}: {', '.join(parts)}"

    def _read(self, given: Any) -> Any:
        """Read the file, or load the data set of that name where there is no such file."""
        if self.data != "-" and not Path(self.data).exists():
            table = _dataset(self.data)
            if table is not None:
                return table
        named = [name for name in (given.target, given.ids) if name is not None]
        others = [*given.info, *given.drop, *given.features]
        return read_any(
            self.data,
            layer=getattr(self, "layer", None),  # of cells, where a command takes it
            header=self.header,
            expected=others,
            keep=named,
            decimal=self.decimal,
        )


def _assigned(table: Any, given: Any, xy: Sequence[str]) -> tuple[Any, list[str]]:
    """Give every column its role; coordinates are only shown if there are other features."""
    from patchfold.tables import assign, check_column
    from patchfold.tables.roles import beside_grid

    names = list(table.frame.columns)
    for name in given.features:
        check_column(name, names)
    shown = {name for pair in xy for name in pair_of(pair, names)}
    shown -= set(given.named)
    # Whatever they look like, coordinates are neither ids nor classes.
    roles, notes = assign(table, replace(given, features=(*given.features, *shown)))
    roles = replace(roles, features=given.features)
    if roles.target is None:
        roles, said = _beside_pixels(table.frame, roles)
        notes += said
    roles, said = beside_grid(table.frame, roles)
    notes += said
    apart = {roles.target, roles.ids, *roles.info, *roles.drop}
    if set(names) - apart - shown:
        roles = replace(roles, info=(*roles.info, *(name for name in names if name in shown)))
    return roles, notes


def read_any(source: str, layer: str | None = None, **words: Any) -> Any:
    """Read a table as :func:`patchfold.tables.read_table` does, or a file of cells.

    Genes of the ``layer`` that are expected or kept are columns beside the points of cells.
    """
    from patchfold.tables import TableError, read_table

    if source != "-" and Path(source).is_file():
        with Path(source).open("rb") as file:
            if file.read(8) == b"\x89HDF\r\n\x1a\n":  # the first bytes of every HDF5 file
                named = [*words.get("keep", ()), *words.get("expected", ())]
                return _read_cells(Path(source), named, layer)
    if layer is not None:
        raise TableError(f"--layer {layer} is for a file of cells (.h5ad); leave it out.")
    return read_table(source, **words)


def _read_cells(path: Path, named: Sequence[str], layer: str | None) -> Any:
    """Return the points of an AnnData; coordinates, observations and named genes beside them."""
    import pandas as pd

    from patchfold.base.validation import require
    from patchfold.explorer.given import source_of
    from patchfold.tables import Table, TableError
    from patchfold.tables.problems import check_names

    anndata = require("anndata", "reading .h5ad", extra="anndata")
    try:
        cells = anndata.read_h5ad(path)
    except Exception as error:  # what a file of another kind says of itself leads anywhere
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"this is no AnnData ({reason}); give one that anndata reads.") from error
    try:
        source = source_of(cells, None, layer)
    except ValueError as error:
        raise TableError(str(error)) from error
    features = pd.DataFrame(source.points, columns=[str(name) for name in source.feature_names])
    seen = {
        f"{label} {place}": values
        for label, coordinates in source.embeddings.items()
        for place, values in enumerate(coordinates.T, start=1)
    }
    beside = {str(name): series.to_numpy() for name, series in source.columns.items()} | seen
    if source.genes is not None:
        genes = [name for name in dict.fromkeys(named) if name in source.genes]
        beside |= {name: source.genes.column(name) for name in genes if name not in beside}
    names = "cell" if "cell" not in {*features, *beside} else "cell (name)"
    frame = pd.concat([features, pd.DataFrame({**beside, names: source.ids})], axis=1)
    check_names(list(frame.columns))
    notes = list(source.notes)
    if seen:
        first, second, *_ = seen
        notes.append(
            f"coordinates of the file are beside them (explore --xy '{first},{second}' shows them, "
            "with --method isomap beside a map of patches)"
        )
    return Table(frame, notes, index=names, beside=tuple(beside), one_unit=True, genes=source.genes)


def pair_of(words: str, names: Any) -> tuple[str, str]:
    """Split the words of --xy into two names of columns, which may have commas themselves.

    Examples
    --------
    >>> pair_of("x,y", ["x", "y"]), pair_of("a,b,c", ["a,b", "c"])
    (('x', 'y'), ('a,b', 'c'))
    """
    from patchfold.tables import TableError, check_column

    parts = words.split(",")
    if len(parts) < 2:
        raise TableError(f"--xy {words} names one column; give two, as in --xy x,y.")
    splits = [
        (",".join(parts[:place]).strip(), ",".join(parts[place:]).strip())
        for place in range(1, len(parts))
    ]
    for pair in splits:
        if all(name in names for name in pair):
            return pair
    first, second = splits[0]
    return check_column(first, list(names)), check_column(second, list(names))


def columns(selection: Any) -> dict[str, Any]:
    """Return what a page shows of each row, the target first; None where nothing is.

    Numbers that are written with signs, as in "1.234,50 €", are numbers on the page, too.
    """
    from pandas.api.types import is_numeric_dtype

    from patchfold.explorer.explorer import MOST_COLUMNS

    frame, target, features = selection.others, selection.roles.target, set(selection.features)
    names = list(frame.columns)
    if pixels_of(selection):
        names = [name for name in names if name not in features]
    # What says more than its number stands first.
    order = sorted(names, key=lambda name: (name != target, name in features))
    # The page keeps further numbers in little room: no list of a number each.
    further = {
        name
        for name in order[MOST_COLUMNS:]
        if name in features and frame[name].dtype == selection.features[name].dtype == float
    }
    shown = {
        name: frame[name].to_numpy()
        if name in further
        else [_shown(value) for value in frame[name]]
        for name in order
    }
    for name in (set(order) & features) - further:
        numbers = selection.features[name]
        if numbers.dtype != float or is_numeric_dtype(frame[name]):
            continue
        if name in selection.dates:  # to read as they are written, and to colour by
            shown[f"{name} as a number"] = numbers.tolist()
        else:
            shown[name] = [_shown(value) for value in numbers]
    return shown


def unit_of(selection: Any) -> str:
    """Return the unit that the features share; see :mod:`patchfold.tables.one_unit`."""
    from patchfold.tables.one_unit import unit_of

    return "pixels" if len(selection.shape) > 1 else unit_of(selection.features)


def pixels_of(selection: Any) -> tuple[int, ...]:
    """Return the shape of the images whose pixels the features are; empty where they are none."""
    if len(selection.shape) > 1:
        return tuple(selection.shape)
    side = isqrt(selection.features.shape[1])
    return (side, side) if unit_of(selection) == "pixels" else ()


def _said_of_units(selection: Any) -> list[str]:
    """Say why columns are not standardised, or are though there are many of them."""
    unit, names = unit_of(selection), list(selection.features.columns)
    said = {
        "pixels": f"the features look like the pixels of images of "
        f"{' x '.join(map(str, pixels_of(selection)))}: they are taken as they are (--standardize "
        "gives every pixel the same weight)",
        "grid": f"the features look like a spectrum or another curve, from '{names[0]}' to "
        f"'{names[-1]}': they are taken as they are (--standardize gives every column the same "
        "weight, also where there is no signal)",
        "counts": "the numbers look like counts: every row gets the same sum, then log(1 + x) is "
        "taken (--raw takes them as they are, --standardize gives every column the same weight)",
    }
    if not unit and selection.features.dtypes.eq(float).sum() >= MANY_COLUMNS:
        said[""] = (
            f"{len(names)} columns are standardised, as if each had a unit of its own; if they "
            "have one, such as expression or intensity, use --raw"
        )
    return [said[unit]] if unit in said and not selection.one_unit else []


def _beside_pixels(frame: Any, roles: Any) -> tuple[Any, list[str]]:
    """Take the first or the last column for classes if all the others are pixels of images.

    It is the one that is called otherwise than they are, as "digit" beside "pixel 1", "pixel 2".
    """
    from patchfold.tables.one_unit import pixel_side
    from patchfold.tables.roles import MOST_CLASSES

    apart = {roles.ids, *roles.info, *roles.drop}
    names = [name for name in frame.columns if name not in apart]
    if len(names) < 2 or isqrt(len(names) - 1) ** 2 != len(names) - 1:
        return roles, []
    stems = [re.sub(r"[\d\W_]+", "", str(name)) for name in names]
    for name, stem in ((names[-1], stems[-1]), (names[0], stems[0])):
        if name in roles.features or not 1 < frame[name].nunique() <= MOST_CLASSES:
            continue
        if stems.count(stem) > 1:
            continue
        pixels = frame[[other for other in names if other != name]]
        side = pixel_side(pixels.to_numpy())
        if side is not None:
            note = (
                f"column '{name}' stands beside the pixels of images of {side} x {side} and is "
                f"taken for --target, not embedded (--feature {quote(name)} embeds it)"
            )
            return replace(roles, target=name), [note]
    return roles, []


def images_of(selection: Any) -> Any:
    """Return the images that a page shows of each row, or None."""
    shape = pixels_of(selection)
    return selection.features.to_numpy().reshape(-1, *shape) if shape else None


def row_names(selection: Any) -> Any:
    """Return the column that names the rows; without one, their numbers in the table, from 1."""
    import pandas as pd

    if selection.ids is not None:
        return selection.ids
    taken = "row" in selection.others.columns
    return pd.Series(selection.rows + 1, name="row number" if taken else "row")


def title(data: str) -> str:
    """Return what a page is called."""
    # A name that is no UTF-8 must not keep the page from being that.
    name = Path(data).name.encode(errors="backslashreplace").decode()
    return "standard input" if data == "-" else name


def _shown(value: Any) -> Any:
    if value is None or value != value:  # noqa: PLR0124 - NaN, also that of dates
        return None
    return value if isinstance(value, int | float) else str(value)


def _dataset(name: str) -> Any:
    """Return a registered data set as a table; None where the name looks like a file."""
    import pandas as pd

    from patchfold.datasets import load
    from patchfold.datasets.registry import registry
    from patchfold.tables import Table

    if name not in registry():
        near = difflib.get_close_matches(name, registry(), n=1)
        if near and "." not in name and "/" not in name:
            raise Refused(f"{name}: there is no such file; did you mean the data set '{near[0]}'?")
        return None
    found = load(name)
    frame = pd.DataFrame(found.X, columns=list(found.feature_names))
    for column, values in found.categories.items():
        codes = frame[column].astype(int)
        frame[column] = pd.Categorical.from_codes(codes, categories=list(values))
    target = "target" if "target" not in frame else "target (class)"
    frame[target] = pd.Categorical.from_codes(found.y, categories=list(found.labels))
    return Table(frame, [f"'{name}' is the data set of this name, from {found.source}"])


def _refused(data: str, error: Any) -> Refused:
    """Name all problems of a table, and a command that settles them."""
    name = "standard input" if data == "-" else data
    words = [problem.words for problem in error.problems]
    attempt = NOTHING_ELSE if error.only_texts else f"Try: {to_paste(error.options)}"
    if len(words) == 1:
        return Refused(f"{name}: {words[0]}.", more=[attempt])
    return Refused(
        f"{name}: {len(words)} things keep columns from being features.",
        more=[*(f"- {line}." for line in words), attempt],
    )
