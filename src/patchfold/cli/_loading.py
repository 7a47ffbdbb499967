"""Tables for the commands: read or found by name, with every column given its role."""

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patchfold.cli import _options as options
from patchfold.cli._session import Refused, about, say, to_paste, working

# What to do where all columns are texts to read.
NOTHING_ELSE = (
    "No other column is there to embed. Make numbers of texts first, for example by scikit-learn's "
    "TfidfVectorizer and TruncatedSVD; patchfold.explore(numbers, text=texts) then shows both."
)

# What became of numbers.
SCALED = {"standardize": "standardised", "raw": "as they are", "counts": "logarithms of counts"}


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
    metric: options.Metric = "euclidean"

    def load(self, *, shown: Sequence[str] = (), xy: Sequence[str] = ()) -> tuple[Any, Any]:
        """Read the table; return what was learned about its columns, and its features.

        Notes of all that was decided are in the selection's. The columns ``shown`` are no features,
        and neither are the pairs ``xy`` of coordinates, if there are others.
        """
        from patchfold.base.validation import check_columns
        from patchfold.tables import ColumnsError, Roles, TablePreparation, check_rows
        from patchfold.tables.preparation import chosen

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
                selection = chosen(table, roles, notes, missing=self.missing, dates=self.dates)
            except ColumnsError as error:
                raise _refused(self.data, error) from error
            check_rows(selection)
            prepare = TablePreparation(
                target=roles.target,
                id=roles.ids,
                info=roles.info,
                drop=roles.drop,
                feature=roles.features,
                scale={None: "auto", True: "standardize", False: "raw"}[self.standardize],
                categories=self.categories,
                missing="impute" if self.missing == "impute" else "error",
                dates=self.dates,
            )
            check_columns(prepare, table.frame, reset=True)
            prepare.fit_selection(selection)
        return prepare, replace(selection, notes=prepare.notes_)

    def described(self, prepare: Any, selection: Any) -> str:
        """Say in a sentence what was read, and what was made of it."""
        from patchfold.tables.problems import counted

        features = selection.features
        kinds = [features[name].dtype == float for name in features.columns]
        numbers, texts = sum(kinds), len(kinds) - sum(kinds)
        parts = []
        if numbers:
            parts.append(f"{numbers} of numbers ({SCALED[prepare.scale_]})")
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

    names = list(table.frame.columns)
    for name in given.features:
        check_column(name, names)
    shown = {name for pair in xy for name in pair_of(pair, names)}
    shown -= set(given.named)
    # Whatever they look like, coordinates are neither ids nor classes.
    roles, notes = assign(table, replace(given, features=(*given.features, *shown)))
    roles = replace(roles, features=given.features)
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


def title(data: str) -> str:
    """Return what a page is called."""
    # A name that is no UTF-8 must not keep the page from being that.
    name = Path(data).name.encode(errors="backslashreplace").decode()
    return "standard input" if data == "-" else name


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
