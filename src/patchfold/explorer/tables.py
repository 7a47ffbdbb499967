"""Data frames on a page: prepared as the command does it, every column shown."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from patchfold.explorer.columns import is_missing
from patchfold.explorer.given import Source, source_of
from patchfold.tables import TablePreparation
from patchfold.tables.preparation import in_parameters, pixel_shape
from patchfold.tables.selection import check_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchfold.tables import Selection


def source_of_table(
    X: Any, embeddings: Mapping[Any, Any] | None, named: Mapping[str, Any], preparation: Any
) -> Source | None:
    """Return the points of a data frame and its columns; None where its numbers are the points.

    ``named`` are parameters of :class:`~patchfold.tables.TablePreparation`, such as the target.
    Without any, and without a preparation or a column of text, numbers are taken as they are.
    """
    if preparation is None:
        preparation = _preparation_of(embeddings)
    if not _is_frame(X):
        given = [f"{name}={value!r}" for name, value in named.items() if value]
        if given or preparation is not None:
            what = given[0] if given else "preparation"
            raise TypeError(f"{what} is for a data frame, and X is none; give pandas.DataFrame(X).")
        return None
    if preparation is None and not any(named.values()) and not _has_text(X):
        return None
    prepare = TablePreparation() if preparation is None else preparation
    if not isinstance(prepare, TablePreparation):
        raise TypeError(
            f"preparation is {prepare!r}; give a TablePreparation, or numbers that are prepared."
        )
    fitted = hasattr(prepare, "coder_")  # that of a model
    with in_parameters("" if fitted else "preparation=TablePreparation(...)"):
        if fitted:
            selection = prepare.selected_again(X, named["id"])
        else:
            prepare = clone(prepare).set_params(**{k: v for k, v in named.items() if v})
            selection = prepare.fit_table(X)
        check_rows(selection)
    if embeddings is not None:  # the estimator of a model was fitted to the prepared points
        embeddings = {label: _of_points(given, prepare, X) for label, given in embeddings.items()}
    return source_of(of_selection(prepare, selection), embeddings)


def column_of(X: Any, name: Any, columns: Any = None) -> str | None:
    """Return the name of a column of a data frame, unless it is one of the other columns."""
    known = _is_frame(X) and isinstance(name, str) and name in list(map(str, X.columns))
    return name if known and (columns is None or name not in columns) else None


def of_selection(prepare: TablePreparation, selection: Selection) -> Source:
    """Return what a page shows of a prepared table."""
    return Source(
        prepare.points(selection),
        columns=_columns(prepare, selection),
        ids=row_names(selection),
        feature_names=list(prepare.get_feature_names_out()),
        genes=selection.genes,
        images=_images(prepare, selection),
        target=None if selection.target is None else str(selection.target.name),
        notes=list(selection.notes),
    )


def row_names(selection: Selection) -> Any:
    """Return the column that names the rows; without one, their numbers in the table, from 1."""
    import pandas as pd

    if selection.ids is not None:
        return selection.ids
    taken = "row" in selection.others.columns
    return pd.Series(selection.rows + 1, name="row number" if taken else "row")


def _columns(prepare: TablePreparation, selection: Selection) -> dict[Any, Any]:
    """Return what a page shows of each row, the target first; None where nothing is.

    Numbers that are written with signs, as in "1.234,50 €", are numbers on the page, too.
    """
    from pandas.api.types import is_numeric_dtype

    from patchfold.explorer.explorer import MOST_COLUMNS

    frame, features = selection.others, set(selection.features)
    names = list(frame.columns)
    if prepare.unit_ == "pixels":
        names = [name for name in names if name not in features]
    # What says more than its number stands first.
    order = sorted(names, key=lambda name: (name != prepare.target_, name in features))
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
        if name not in prepare.dates_:  # the page makes a scale of dates by itself
            shown[name] = [_shown(value) for value in numbers]
    return shown


def _shown(value: Any) -> Any:
    if is_missing(value) or value != value:  # noqa: PLR0124 - NaN of any type
        return None
    return value if isinstance(value, Real) else str(value)


def _images(prepare: TablePreparation, selection: Selection) -> Any:
    """Return the images whose pixels the features are, or None."""
    if prepare.unit_ != "pixels":
        return None
    return selection.features.to_numpy().reshape(-1, *pixel_shape(selection))


def _preparation_of(embeddings: Mapping[Any, Any] | None) -> Any:
    """Return the fitted preparation of the first model that has one."""
    models = [given for given in (embeddings or {}).values() if hasattr(given, "named_steps")]
    return next((model[0] for model in models if isinstance(model[0], TablePreparation)), None)


def _of_points(given: Any, prepare: TablePreparation, X: Any) -> Any:
    """Return what has coordinates of the prepared points; what prepares by itself has the frame."""
    if not (hasattr(given, "named_steps") and isinstance(given[0], TablePreparation)):
        return given
    if given[0] is prepare and len(given) == 2:
        return given[-1]
    return given if hasattr(given[-1], "embedding_") else given.transform(X)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _has_text(frame: Any) -> bool:
    """Whether a column of a frame of pandas or polars holds anything but numbers."""
    return not all(
        dtype.kind in "biuf" if hasattr(dtype, "kind") else dtype.is_numeric()
        for dtype in frame.dtypes
    )
