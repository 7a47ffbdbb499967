"""Options that several commands have: wrong values are named, messy tables read or refused."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pandas as pd
import pytest

from command_line import done, table, told
from patchfold import cli, divergences
from patchfold.cli import _options
from patchfold.embedding.methods import METHODS


def test_what_help_names_is_what_there_is():
    assert tuple(divergences.NAMES) == _options.DIVERGENCES
    assert tuple(METHODS) == _options.METHODS


def test_values_of_options_are_completed():
    chosen = _options.chosen("--method", _options.METHODS)
    assert chosen["autocompletion"]("is") == ["isomap"]


def test_few_rows_have_fewer_neighbours(call):
    np.save("few.npy", np.random.default_rng(0).normal(size=(9, 2)))
    note = "Note: 9 samples have fewer neighbours than asked for: --neighbors=8 instead of 15."
    assert note in done(call("embed", "few.npy")).stderr
    assert "--neighbors=8 instead of 9" in done(call("embed", "few.npy", "--neighbors", 9)).stderr


def german(frame):
    return frame.to_csv(index=False, sep=";", decimal=",")


GOOD = {
    "bom": table().to_csv(index=False).encode("utf-8-sig"),
    "utf-16": table().to_csv(index=False).encode("utf-16"),
    "semicolons": table().to_csv(index=False, sep=";").encode(),
    "decimal commas": german(table()).encode(),
    "quoted newlines": table(kind=['x\n"1"', "y"] * 15).to_csv(index=False).encode(),
    "tabs": table().to_csv(index=False, sep="\t").encode(),
    "windows lines": table().to_csv(index=False, lineterminator="\r\n").encode(),
    "gzip": gzip.compress(table().to_csv(index=False).encode()),
    "latin": table(kind=["süß", "herb"] * 15).to_csv(index=False).encode("latin-1"),
    "emoji": table(kind=["🙂", "שלום"] * 15).to_csv(index=False).encode(),
    "a constant column": table(c=1).to_csv(index=False).encode(),
    "script": table(kind=["<script>alert(1)</script>", "</style>"] * 15).to_csv().encode(),
    "markup": table(kind=["[red]x[/red]", ":smile:"] * 15).to_csv(index=False).encode(),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_messy_table_that_can_be_read_is(call, folder, name):
    (folder / "data.csv").write_bytes(GOOD[name])
    done(call("embed", "data.csv", "--target", "kind", "-o", "out.csv"))
    out = pd.read_csv("out.csv")
    assert len(out) == 30
    assert out["kind"].nunique() == 2


BAD = {
    "empty": (b"", "the file is empty"),
    "header only": (b"a,b,kind\n", "there are no rows"),
    "one row": (b"a,b,kind\n1,2,x\n", "one value only, 'x'"),
    "two rows": (b"a,b,kind\n1,2,x\n2,3,y\n", "no arranging of 2 rows"),
    "duplicate names": (b"a,a,kind\n1,2,x\n", "columns 1 and 2 are both named 'a'"),
    "a column all missing": (table(c=None).to_csv(index=False).encode(), "'c' has no values"),
    "one class": (table().assign(kind="x").to_csv(index=False).encode(), "one value only, 'x'"),
    "binary": (bytes(range(256)), "no table but a binary file"),
    "pickle": (pickle.dumps(table()), "no table but a binary file"),
    "missing values": (b"a,b,kind\n1,,x\n2,3,y\n4,5,x\n6,7,y\n", "row 1 ('b')"),
    "ragged": (b"a,b,kind\n1,2,x\n1,2,x,9\n", "row 2 has 4 fields and the row of names 3"),
    "constant": (b"a,kind\n1,x\n1,y\n1,x\n", "no column varies ('a')"),
    "infinite": (b"a,kind\n1,x\ninf,y\n1,x\n", "'a' is infinite in row 2"),
    "no target": (b"a,b\n1,2\n3,4\n5,6\n", "there is no column 'kind'"),
    "only a target": (b"kind\nx\ny\nx\n", "no column is left as a feature"),
    "huge categories": (
        table(2500, c=[f"c{i // 2}" for i in range(2500)]).to_csv(index=False).encode(),
        "'c' has 1250 different texts in 2500 rows, such as 'c0', too many",
    ),
    "a long cell": (
        table(c=["x" * 1_000_000, *map(str, range(29))]).to_csv(index=False).encode(),
        "'c' seems to hold numbers, but row 1 has 'xxx",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["embed", "compare", "explore"])
def test_a_messy_table_that_cannot_be_used_is_refused_in_one_line(call, folder, name, command):
    data, words = BAD[name]
    (folder / "data.csv").write_bytes(data)
    output = "out.csv" if command == "embed" else "out.html"
    result = call(command, "data.csv", "--target", "kind", "-o", output)
    line = told(result)
    assert line.startswith("data.csv: ")
    assert words in line
    assert len(line) < 400
    assert len(result.stderr.splitlines()) == 1 + ("\nTry: patchfold " in result.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "isomp"], "--method='isomp' is not known; did you mean 'isomap'?"),
        (["--divergence", "KL"], "did you mean 'kl'?"),
        (["--neighbors", "many"], "give a whole number from 1, or 'auto'"),
        (["--neighbors", "0"], "give a whole number from 1, or 'auto'"),
        (["--missing", "ignore"], "--missing='ignore' is not known"),
        (["--categories", "hot"], "--categories='hot' is not known"),
        (
            ["--supervised", "--feature", "species"],
            "--supervised needs the column of the classes: --target COL.",
        ),
        (["--decimal", ";"], "--decimal=';' is not known"),
        (["--components", "0"], "--components"),
        (["--no-such-option"], "--no-such-option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_named(call, words, message):
    result = call("embed", "iris.csv", *words)
    assert result.exit_code == cli.WRONG
    assert message in " ".join(result.stderr.split())
