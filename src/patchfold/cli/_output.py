"""What ``embed``, ``apply`` and ``bridges`` write: tables, and a picture of the embedding."""

import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from patchfold.cli._session import (
    STDOUT,
    Refused,
    about,
    check_outputs,
    print_json,
    print_result,
    say,
    write_outputs,
)

PICTURE_DPI, PICTURE_INCHES = 150, (8.0, 6.0)
# Suspicious edges in a picture: more of them would hide the points.
MOST_EDGES = 300
# The most letters of a class in the legend, which must leave room for the embedding.
LEGEND_LETTERS = 24


def check_files(
    outputs: dict[str, Path | None],
    inputs: Iterable[str | Path],
    endings: Any = None,
    *,
    as_json: bool = False,
) -> str:
    """See that files can be written, before anything is computed.

    The output may have these ``endings``, or those of tables. Return the one that it has; where it
    goes to standard output, the first of them, ".csv" for tables.
    """
    from patchfold.base.validation import require
    from patchfold.tables import check_ending
    from patchfold.tables.writing import ENDINGS

    known = {"model": (".skops",), "html": (".html", ".htm"), "png": (".png",)}
    found = {"output": ".csv" if endings is None else endings[0]}
    if as_json and outputs.get("output") == STDOUT:
        raise Refused("--json and --output - both write to standard output; leave one out.")
    for kind, path in outputs.items():
        if path is not None and not (kind == "output" and path == STDOUT):
            with about(f"--{kind}"):
                found[kind] = check_ending(path, known.get(kind, endings or ENDINGS))
    check_outputs(outputs.values(), inputs)
    if found["output"] == ".parquet":
        require("pyarrow", "writing Parquet")
    if "model" in found:
        require("skops.io", "a model in a file")
    if "png" in found:
        require("matplotlib", "a picture", extra="plot")
    return found["output"]


def columns_beside(selection: Any, *, written: bool) -> list[Any]:
    """Return the columns of the output beside the coordinates, the target as it is written."""
    import pandas as pd

    target = selection.label if written else selection.target
    beside = [column for column in (selection.ids, target) if column is not None]
    if selection.ids is None and len(selection.rows) < selection.n_rows:
        taken = selection.target is not None and selection.target.name == "row"
        beside.insert(0, pd.Series(selection.rows + 1, name="row number" if taken else "row"))
    return beside


def check_names(data: str, beside: list[Any], coordinates: Any) -> None:
    alike = [column.name for column in beside if column.name in set(coordinates)]
    if alike:
        raise Refused(f"{data}: the column '{alike[0]}' has the name of a coordinate; rename it.")


def result_table(beside: list[Any], places: Any, estimator: Any) -> Any:
    """Return the table of the output."""
    import pandas as pd

    names = estimator.get_feature_names_out()
    coordinates = dict(zip(names, places.T, strict=True))
    return pd.DataFrame({column.name: column for column in beside} | coordinates)


def summary_of(
    command: str, data: str, selection: Any, notes: list[str], outputs: dict[str, Path | None]
) -> dict[str, Any]:
    """Return what ``--json`` prints of every command that reads a table."""
    return {
        "command": command,
        "data": data,
        "rows": len(selection.features),
        "rows_left_out": selection.n_rows - len(selection.features),
        "notes": notes,
        "outputs": {kind: str(path) for kind, path in outputs.items() if path is not None},
    }


def finish(
    contents: dict[Path, bytes | str], said: list[str], summary: dict[str, Any] | None, table: Any
) -> None:
    """Write files, say what was done, and print the summary, or a table if there is one."""
    write_outputs(contents)
    say([*said, *(f"Wrote {path}" for path in contents if path != STDOUT)])
    if summary is not None:
        print_json(summary)
    elif table is not None:
        print_result(table)


def encoded(result: Any, ending: str, *, formulas: bool) -> bytes:
    from patchfold.tables import encode_table

    return encode_table(result, ending, formulas=formulas)


def picture(places: Any, target: Any, bridges: Any = None) -> bytes:
    """Draw the embedding and the most suspicious of its edges, without a window anywhere."""
    from matplotlib.figure import Figure

    from patchfold.plotting import plot_bridges, plot_embedding

    figure = Figure(figsize=PICTURE_INCHES, layout="constrained")
    solid = places.shape[1] == 3
    ax = figure.add_subplot(projection="3d" if solid else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of signs that the font lacks
        y = None if target is None else _legible(target)
        if bridges is None:
            plot_embedding(places, y, labels=True, ax=ax)
        else:
            plot_bridges(places, bridges, y, most=MOST_EDGES, ax=ax)
        if not solid:
            ax.spines[["top", "right"]].set_visible(False)
            ax.spines[["bottom", "left"]].set_color("0.8")
            ax.tick_params(colors="0.5", labelsize=8)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=PICTURE_DPI)
    return buffer.getvalue()


def _legible(target: Any) -> Any:
    """Return classes as short texts in which matplotlib sees no formulas and no hidden names."""
    from pandas.api import types

    if types.is_numeric_dtype(target):
        return target
    labels: dict[str, str] = {}
    for name in target.dropna().astype(str).unique():
        short = " ".join(name.split())
        short = short if len(short) <= LEGEND_LETTERS else f"{short[:LEGEND_LETTERS]}..."
        short = short.replace("$", r"\$")
        short = f" {short}" if short.startswith("_") else short
        labels[name] = short if short not in labels.values() else f"{short} ({len(labels)})"
    return target.astype(object).map(lambda name: labels[str(name)], na_action="ignore")
