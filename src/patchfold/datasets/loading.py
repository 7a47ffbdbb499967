"""Load a registered data set from the first source that has it, and check that it is the one.

The sources, in order: rules (``generated.py``), scikit-learn's own files, the folder named by the
environment variable ``PATCHFOLD_DATA``, and OpenML through scikit-learn, which keeps what it
downloaded. The folder holds ``<name>.csv.gz`` (a header, the features, last the column
``target``), ``categories.json`` (for each name the categories of its categorical columns in
declared order) and ``scale/<name>.npz`` (arrays ``X`` and ``y``) for larger sets.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import warnings
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import datasets as shipped

from patchfold.base.validation import check_choice, warn_user
from patchfold.datasets.generated import GENERATED, Raw
from patchfold.datasets.registry import Entry, checksum, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER_VARIABLE = "PATCHFOLD_DATA"

# Names under which scikit-learn ships the values themselves.
SHIPPED = {
    "digits": shipped.load_digits,
    "iris": shipped.load_iris,
    "wdbc": shipped.load_breast_cancer,
    "wine": shipped.load_wine,
}


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A loaded data set.

    Attributes
    ----------
    name : str
        The name it is registered under.
    source : str
        Where it came from: "generated", "scikit-learn", "PATCHFOLD_DATA" or "OpenML".
    X : ndarray of shape (n_samples, n_features)
        The points, float64; a category is the integer code of its place in ``categories``.
    y : ndarray of shape (n_samples,)
        The classes as integers, places in ``labels``.
    labels : tuple of str
        The names of the classes.
    feature_names : tuple of str
        The names of the columns.
    categories : dict
        The categories of each categorical column, in the order of their codes.
    """

    name: str
    source: str
    X: np.ndarray[Any, Any] = field(repr=False)
    y: np.ndarray[Any, Any] = field(repr=False)
    labels: tuple[str, ...]
    feature_names: tuple[str, ...] = field(repr=False)
    categories: dict[str, tuple[str, ...]] = field(repr=False)


def load(name: str) -> Dataset:
    """Load a data set by its registered name.

    Parameters
    ----------
    name : str
        One of the names of :func:`available`.

    Returns
    -------
    Dataset
        The points, the classes and their names. Categories have codes in the order of the data
        set's own header.

    Raises
    ------
    ValueError
        If the name is not known, or what was found has other rows, columns or classes than the
        registered data set.
    ConnectionError
        If the data set is only on OpenML, and OpenML cannot be reached.

    Warns
    -----
    UserWarning
        If the values on OpenML are not those that the project was measured with.

    Examples
    --------
    >>> from patchfold import datasets
    >>> wine = datasets.load("wine")
    >>> wine.X.shape, wine.labels
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    >>> datasets.load("balence")
    Traceback (most recent call last):
        ...
    ValueError: name='balence' is not known; did you mean 'balance'? Allowed: ...
    """
    entry = registry()[check_choice("name", name, registry())]
    source = _source(entry)
    raw = _read(entry, source)
    if entry.drop:
        raw = _drop(raw, entry.drop)
    _check(raw, entry, source)
    # The registry's order of classes, if the source spells them alike.
    counted = Counter(raw.labels)
    labels = tuple(entry.classes) if counted.keys() == entry.classes.keys() else sorted(counted)
    places = {label: place for place, label in enumerate(labels)}
    return Dataset(
        name=name,
        source=source,
        X=raw.X,
        y=np.array([places[label] for label in raw.labels]),
        labels=tuple(labels),
        feature_names=tuple(raw.feature_names),
        categories={column: tuple(values) for column, values in raw.categories.items()},
    )


def available() -> list[tuple[Entry, str]]:
    """List every registered data set with the source that :func:`load` would take it from.

    The source is "generated", "scikit-learn", "PATCHFOLD_DATA", "OpenML", or "" for a set that
    is at none of them.

    Examples
    --------
    >>> from patchfold import datasets
    >>> for entry, source in datasets.available():
    ...     if source == "scikit-learn":
    ...         print(entry.name, entry.shape, *entry.papers)
    digits (1797, 64)
    iris (150, 4) isomap-kl xspace
    wdbc (569, 30) xspace
    wine (178, 13) isomap-kl xspace pelle
    """
    return [(entry, _source(entry)) for entry in registry().values()]


def at_hand(names: Sequence[str] | None = None) -> dict[str, Entry]:
    """Return the registered data sets of some names, or of all that need no network."""
    return {
        entry.name: entry
        for entry, source in available()
        if (source not in {"", "OpenML"} if names is None else entry.name in names)
    }


def _source(entry: Entry) -> str:
    if entry.name in GENERATED:
        return "generated"
    if entry.name in SHIPPED:
        return "scikit-learn"
    if _local_file(entry.name):
        return FOLDER_VARIABLE
    return "OpenML" if entry.openml else ""


def _read(entry: Entry, source: str) -> Raw:
    if source == "generated":
        return GENERATED[entry.name]()
    if source == "scikit-learn":
        bunch = SHIPPED[entry.name]()
        labels = [str(bunch.target_names[code]) for code in bunch.target]
        return Raw(bunch.data, labels, [str(column) for column in bunch.feature_names], {})
    path = _local_file(entry.name)
    if path is None:
        return _fetch(entry)
    try:
        return _read_npz(path) if path.suffix == ".npz" else _read_csv(path, entry.name)
    except (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{path.name} in {path.parent} cannot be read: {error} Replace the file, or remove it "
            "to load the data set from elsewhere."
        ) from error


def _local_file(name: str) -> Path | None:
    """Return the file of the data set in the user's folder, or None where there is none."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise NotADirectoryError(
            f"{FOLDER_VARIABLE}={folder!r} is not a folder; name the one with the data sets, or "
            "unset the variable to load from OpenML."
        )
    paths = (Path(folder) / f"{name}.csv.gz", Path(folder) / "scale" / f"{name}.npz")
    return next((path for path in paths if path.is_file()), None)


def _read_npz(path: Path) -> Raw:
    with np.load(path) as arrays:
        X, y = arrays["X"].astype(np.float64), arrays["y"]
    return Raw(X, [str(label) for label in y], [f"pixel{i}" for i in range(X.shape[1])], {})


def _read_csv(path: Path, name: str) -> Raw:
    declared = path.parent / "categories.json"
    known = json.loads(declared.read_text(encoding="utf-8")) if declared.is_file() else {}
    categories = known.get(name, {}).get("categories", {})
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        (*feature_names, last), *rows = csv.reader(file)
    if last != "target":
        raise ValueError(
            f"{path.name} has the last column {last!r}; put the classes there, as 'target'."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(feature_names) + 1:
            raise ValueError(
                f"line {number} has {len(row)} cells, the header {len(feature_names) + 1}."
            )
    columns = list(zip(*rows, strict=True))
    X = np.empty((len(rows), len(feature_names)))
    for place, (column, cells) in enumerate(zip(feature_names, columns, strict=False)):
        try:
            if column in categories:
                codes = {value: code for code, value in enumerate(categories[column])}
                X[:, place] = [codes[cell] for cell in cells]
            else:
                X[:, place] = [float(cell) for cell in cells]
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{path.name} has a value in column {column!r} that is neither a number nor one of "
                f"the column's categories ({error}); list its categories in categories.json."
            ) from error
    return Raw(X, columns[-1], feature_names, categories)


def _fetch(entry: Entry) -> Raw:
    if entry.openml is None:
        raise FileNotFoundError(
            f"name={entry.name!r} is not on OpenML; get it from its authors and put "
            f"{entry.name}.csv.gz (a header, the features, last the column 'target') into the "
            f"folder that {FOLDER_VARIABLE} names."
        )
    openml_name, version = entry.openml
    try:
        with warnings.catch_warnings():
            # Each attempt warns; the error below says it once.
            warnings.filterwarnings("ignore", message="A network error occurred")
            bunch = shipped.fetch_openml(
                openml_name,
                version=version,
                target_column=entry.target or "default-target",
                as_frame=False,
                parser="liac-arff",  # needs no pandas, and keeps the declared order of categories
            )
    except OSError as error:
        raise ConnectionError(
            f"name={entry.name!r} is on OpenML ({openml_name!r}, version {version}), which cannot "
            f"be reached ({error}); connect and try again, or set {FOLDER_VARIABLE} to a folder "
            f"with {entry.name}.csv.gz."
        ) from error
    labels = [str(label) for label in bunch.target]
    return Raw(np.asarray(bunch.data, float), labels, bunch.feature_names, bunch.categories or {})


def _drop(raw: Raw, names: tuple[str, ...]) -> Raw:
    kept = [place for place, column in enumerate(raw.feature_names) if column not in names]
    return Raw(
        raw.X[:, kept],
        raw.labels,
        [raw.feature_names[place] for place in kept],
        {column: values for column, values in raw.categories.items() if column not in names},
    )


def _check(raw: Raw, entry: Entry, source: str) -> None:
    sizes = sorted(Counter(raw.labels).values())
    registered = sorted(entry.classes.values()) or f"{entry.n_classes} classes"
    alike = sizes == registered if entry.classes else len(sizes) == entry.n_classes
    if raw.X.shape != entry.shape or not alike:
        raise ValueError(
            f"name={entry.name!r} from {source} has shape {raw.X.shape} and class sizes {sizes}, "
            f"but {entry.shape} and {registered} are registered; it is another data set or "
            "version, replace it."
        )
    if source not in {FOLDER_VARIABLE, "OpenML"} or not entry.checksum:
        return
    found = checksum(raw.X, raw.labels)
    if found == entry.checksum:
        return
    if source == FOLDER_VARIABLE:
        raise ValueError(
            f"name={entry.name!r} from {source} has the right shape and class sizes, but other "
            f"values (checksum {found}, registered {entry.checksum}); replace the file."
        )
    # OpenML checks its files itself; another spelling of numbers there is no fault.
    warn_user(
        f"name={entry.name!r} from OpenML has the right shape and class sizes, but other values "
        f"than registered (checksum {found} instead of {entry.checksum}); results can differ."
    )
