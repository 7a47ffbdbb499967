"""Files of cells (.h5ad) as tables: points, coordinates and annotations of an AnnData."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The first bytes of every HDF5 file.
MAGIC = b"\x89HDF\r\n\x1a\n"


def read_any(source: str, **words: Any) -> Any:
    """Read a table as :func:`patchfold.tables.read_table` does, or a file of cells."""
    from patchfold.tables import read_table

    return read_cells(Path(source)) if _is_hdf5(source) else read_table(source, **words)


def read_cells(path: Path) -> Any:
    """Return the points of an AnnData, with its coordinates and observations beside them."""
    import pandas as pd

    from patchfold.explorer.given import source_of
    from patchfold.tables import Table, TableError
    from patchfold.tables.problems import check_names, require

    anndata = require("anndata", "reading .h5ad", extra="anndata")
    try:
        cells = anndata.read_h5ad(path)
    except Exception as error:  # what a file of another kind says of itself leads anywhere
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"this is no AnnData ({reason}); give one that anndata reads.") from error
    try:
        source = source_of(cells, None)
    except ValueError as error:
        raise TableError(str(error)) from error
    features = pd.DataFrame(source.points, columns=[str(name) for name in source.feature_names])
    seen = {
        f"{label} {place}": values
        for label, coordinates in source.embeddings.items()
        for place, values in enumerate(coordinates.T, start=1)
    }
    beside = {str(name): series.to_numpy() for name, series in source.columns.items()} | seen
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
    return Table(frame, notes, index=names, beside=tuple(beside), one_unit=True)


def _is_hdf5(source: str) -> bool:
    if source == "-" or not Path(source).is_file():
        return False
    with Path(source).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
