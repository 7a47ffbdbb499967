"""What tests of the command share: a table, and what a command said."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from patchfold import cli

COORDINATES = ["patchisomap0", "patchisomap1"]


def iris():
    bunch = load_iris(as_frame=True)
    frame = bunch.data.copy()
    frame.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    frame.insert(0, "name", [f"iris {row}" for row in range(150)])
    frame["species"] = bunch.target_names[bunch.target]
    # Two rows of iris are the same, and a model maps both to the place of the first.
    return frame.drop_duplicates(list(frame.columns[1:5])).reset_index(drop=True)


def done(result):
    assert result.exit_code == 0, result.output
    return result


def told(result, code=cli.WRONG):
    """Return the one line that a command ended with; a command to try may follow it."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    *_, line = [line for line in result.stderr.splitlines() if not line.startswith("Try: ")]
    assert line.startswith("Error: "), result.stderr
    return line.removeprefix("Error: ")


def tried(result):
    """Return the words of the command that a refusal offers, without the program's name."""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Try: ")]
    program, *words = shlex.split(line.removeprefix("Try: "))
    assert program == "patchfold"
    return words


def table(rows=30, **columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    return frame.assign(**({"kind": ["x", "y"] * (rows // 2)} | columns))


def refuse(*_):
    raise PermissionError(13, "Permission denied", "iris.csv")
