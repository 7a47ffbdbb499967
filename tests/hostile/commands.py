"""Hostile files, targets and models for the command: a table comes out, or one clear line.

Commands run in a folder of their own, in this process, but for those that are killed.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from patchfold import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 30
METHODS = ("isomap", "lle", "eigenmaps")

# What a line of the command names, beside what messages of the library do.
NAMED = re.compile(r"^Error: ([^ ]+|.*\b(columns?|file|folder|line|model|rows?|table)\b.*): ")

# What the system says of a file says what to do.
SYSTEM = re.compile(
    r"no such file|permission denied|no space left|too many levels|too long", re.IGNORECASE
)


@dataclass
class Call:
    """Words of a command, files before it runs, and what has to come of it."""

    words: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    rows: int | None = None  # of a table that has to come out
    refused: bool = False  # whether a table must not come out
    prepare: Callable[[], Any] | None = None
    keeps: str | None = None  # a file that has to stay as it is where the command fails


class CommandError(Exception):
    """What came of a command: it was *refused* in clear words, is *unclear*, or *silent*."""

    def __init__(self, words: str, kind: str = "unclear") -> None:
        super().__init__(words)
        self.kind = kind


def csv(rows: int = ROWS, seed: int = 0, **text: Any) -> str:
    random = np.random.default_rng(seed)
    return pd.DataFrame(random.normal(size=(rows, 3)), columns=["a", "b", "c"]).to_csv(
        index=False, **text
    )


def _embed(content: bytes | str, name: str = "x.csv", **expected: Any) -> Call:
    data = content.encode() if isinstance(content, str) else content
    return Call(["embed", name, "-o", "out.csv"], {name: data}, **expected)


def _lines(change: Callable[[list[str]], list[str]]) -> str:
    return "\n".join(change(csv().splitlines())) + "\n"


def _npz(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=array)
    return buffer.getvalue()


def _npy(array: Any, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pd.read_csv(io.StringIO(csv())).to_parquet(buffer)
    return buffer.getvalue()


def _bomb_of_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", _npy(np.zeros((2, 2)))[:118] + bytes(400 * 2**20))
    return buffer.getvalue()


POINTS = np.random.default_rng(0).normal(size=(ROWS, 3))

TABLES: dict[str, Callable[[], Call]] = {
    "plain": lambda: _embed(csv(), rows=ROWS),
    "ragged-short": lambda: _embed(_lines(lambda rows: [*rows[:9], "1.0", *rows[9:]])),
    "ragged-long": lambda: _embed(_lines(lambda rows: [*rows[:9], "1,2,3,4,5", *rows[9:]])),
    "nul-bytes": lambda: _embed(csv().encode().replace(b".", b"\0", 3)),
    "latin-1": lambda: _embed(csv().replace("a,", "größe,", 1).encode("latin-1"), rows=ROWS),
    "mixed-encodings": lambda: _embed("größe,b\n".encode() + "1,ü\n".encode("latin-1") * 20),
    "utf-16": lambda: _embed(csv().encode("utf-16"), rows=ROWS),
    "utf-16-cut": lambda: _embed(csv().encode("utf-16")[:-1]),
    "bom": lambda: _embed(csv().encode("utf-8-sig"), rows=ROWS),
    "unclosed-quote": lambda: _embed(csv().replace("\n", '\n"', 1), refused=True),
    "quote-in-the-middle": lambda: _embed(_lines(lambda rows: [*rows[:5], '1,"2,3', *rows[5:]])),
    "duplicate-headers": lambda: _embed(csv().replace("a,b,c", "a,a,a")),
    "empty-headers": lambda: _embed(csv().replace("a,b,c", ",,")),
    "many-columns": lambda: _embed(
        pd.DataFrame(np.random.default_rng(0).normal(size=(20, 10_000)).round(3))
        .add_prefix("c")
        .to_csv(index=False),
        rows=20,
    ),
    "no-rows": lambda: _embed("a,b,c\n", refused=True),
    "one-row": lambda: _embed("a,b\n1,2\n", refused=True),
    "empty": lambda: _embed("", refused=True),
    "blank-lines": lambda: _embed("\n\n\n", refused=True),
    "spaces": lambda: _embed("   \n  \n", refused=True),
    "text-only": lambda: _embed("a,b\n" + "x,y\n" * 20),
    "old-mac-lines": lambda: _embed(csv().replace("\n", "\r"), rows=ROWS),
    "no-last-line-end": lambda: _embed(csv().rstrip("\n"), rows=ROWS),
    "decimal-comma": lambda: _embed(csv(sep=";", decimal=","), rows=ROWS),
    "tabs": lambda: _embed(csv(sep="\t"), "x.tsv", rows=ROWS),
    "infinite": lambda: _embed(_lines(lambda rows: [*rows, "inf,1,2"])),
    "missing": lambda: _embed(_lines(lambda rows: [*rows, ",1,2"])),
    "huge-numbers": lambda: _embed(_lines(lambda rows: [*rows, "1e400,1,2"])),
    "huge-integers": lambda: _embed(_lines(lambda rows: [*rows, f"{10**400},1,2"])),
    "long-cell": lambda: _embed(_lines(lambda rows: [*rows, "x" * 2**20 + ",1,2"])),
    "constant-columns": lambda: _embed("a,b\n" + "1,2\n" * 20),
    "junk": lambda: _embed(np.random.default_rng(0).bytes(5000), refused=True),
    "web-page": lambda: _embed("<!doctype html><html><body>not found</body></html>", refused=True),
    "zip-named-csv": lambda: _embed(_npz(POINTS), "x.csv"),
    "gz-cut": lambda: _embed(gzip.compress(csv().encode())[:-20], "x.csv.gz", refused=True),
    "gz-damaged": lambda: _embed(
        gzip.compress(csv().encode()).replace(b"\x00", b"\x01"), "x.csv.gz", refused=True
    ),
    "gz-with-junk": lambda: _embed(gzip.compress(csv().encode()) + b"junk", "x.csv.gz"),
    "gz-of-text": lambda: _embed(csv(), "x.csv.gz"),
    "gz-bomb": lambda: _embed(gzip.compress(bytes(2**20) * 400, 9), "x.csv.gz", refused=True),
    "npz-cut": lambda: _embed(_npz(POINTS)[:-40], "x.npz", refused=True),
    "npz-bomb": lambda: _embed(_bomb_of_zip(), "x.npz", refused=True),
    "npz-empty": lambda: _embed(b"PK\x05\x06" + bytes(18), "x.npz", refused=True),
    "npy": lambda: _embed(_npy(POINTS), "x.npy", rows=ROWS),
    "npy-cut": lambda: _embed(_npy(POINTS)[:-9], "x.npy", refused=True),
    "npy-of-objects": lambda: _embed(
        _npy(POINTS.astype(object), pickled=True), "x.npy", refused=True
    ),
    "npy-of-one-dimension": lambda: _embed(_npy(POINTS[:, 0]), "x.npy"),
    "parquet": lambda: _embed(_parquet(), "x.parquet", rows=ROWS),
    "parquet-cut": lambda: _embed(_parquet()[:-10], "x.parquet", refused=True),
    "parquet-junk": lambda: _embed(b"PAR1" + bytes(100) + b"PAR1", "x.parquet", refused=True),
    "arff-broken": lambda: _embed(
        "@relation x\n@attribute a {\n@data\n1\n", "x.arff", refused=True
    ),
    "no-such-ending": lambda: _embed(csv(), "x.docx"),
    "no-file": lambda: Call(["embed", "nowhere.csv"], refused=True),
    "a-folder": lambda: Call(["embed", "."], refused=True),
    "null-device": lambda: Call(["embed", "/dev/null"], refused=True),
    "fifo": lambda: Call(
        ["embed", "pipe.csv", "-o", "out.csv"], rows=ROWS, prepare=lambda: _fifo(csv().encode())
    ),
    "fifo-of-nothing": lambda: Call(
        ["embed", "pipe.csv", "-o", "out.csv"], refused=True, prepare=lambda: _fifo(b"")
    ),
}


def _target(target: str, **expected: Any) -> Call:
    return Call(["embed", "x.csv", "-o", target], {"x.csv": csv().encode()}, **expected)


def _fifo(content: bytes) -> None:
    os.mkfifo("pipe.csv")
    path = Path("pipe.csv").absolute()
    threading.Thread(target=lambda: path.write_bytes(content), daemon=True).start()


TARGETS: dict[str, Callable[[], Call]] = {
    "target-full": lambda: _target(
        "full.csv", refused=True, prepare=lambda: Path("full.csv").symlink_to("/dev/full")
    ),
    "target-in-no-folder": lambda: _target("no/where/out.csv", rows=ROWS),
    "target-is-folder": lambda: _target("d", refused=True, prepare=lambda: Path("d").mkdir()),
    "target-is-source": lambda: _target("x.csv", keeps="x.csv"),
    "target-of-unknown-kind": lambda: _target("out.docx", keeps="x.csv"),
    "target-loop": lambda: _target(
        "loop.csv", refused=True, prepare=lambda: Path("loop.csv").symlink_to("loop.csv")
    ),
    "target-below-a-file": lambda: _target("x.csv/out.csv", refused=True, keeps="x.csv"),
    "target-name-too-long": lambda: _target("x" * 300 + ".csv", refused=True),
    "two-outputs-in-one-file": lambda: Call(
        ["embed", "x.csv", "-o", "out.csv", "--html", "out.csv"],
        {"x.csv": csv().encode()},
        refused=True,
    ),
}


def _model() -> bytes:
    """Return a model that the command writes, once a process."""
    if not _MODEL:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            Path("x.csv").write_text(csv())
            words = ["embed", "x.csv", "--model", "m.skops", "-o", "y.csv"]
            CliRunner().invoke(cli.app, words, catch_exceptions=False)
            _MODEL.append(Path("m.skops").read_bytes())
    return _MODEL[0]


_MODEL: list[bytes] = []


def _apply(model: bytes, table: str | None = None, **expected: Any) -> Call:
    files = {"m.skops": model, "new.csv": (csv(7, 1) if table is None else table).encode()}
    return Call(["apply", "m.skops", "new.csv", "-o", "out.csv"], files, **expected)


def _flipped(data: bytes, seed: int) -> bytes:
    random, changed = np.random.default_rng(seed), bytearray(data)
    for place in random.integers(0, len(data), 5):
        changed[place] ^= int(random.integers(1, 256))
    return bytes(changed)


def _rewritten(change: Callable[[bytes], bytes]) -> bytes:
    """Return the model with another description of its parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_model())) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == "schema.json" else data)
    return buffer.getvalue()


def _model_bomb() -> bytes:
    buffer = io.BytesIO(_model())
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(400 * 2**20))
    return buffer.getvalue()


MODELS: dict[str, Callable[[], Call]] = {
    "model": lambda: _apply(_model(), rows=7),
    "model-empty": lambda: _apply(b"", refused=True),
    "model-of-text": lambda: _apply(b"no model\n", refused=True),
    "model-pickled": lambda: _apply(pickle.dumps({"a": 1}), refused=True),
    "model-cut": lambda: _apply(_model()[: len(_model()) // 2], refused=True),
    "model-foreign-zip": lambda: _apply(_npz(POINTS), refused=True),
    "model-bomb": lambda: _apply(_model_bomb(), refused=True),
    "model-of-another-type": lambda: _apply(
        _rewritten(lambda text: text.replace(b"PatchIsomap", b"PatchIsobar")), refused=True
    ),
    "model-runs-code": lambda: _apply(
        _rewritten(lambda text: text.replace(b"PatchIsomap", b"Popen", 1)), refused=True
    ),
    "model-without-names": lambda: _apply(
        _rewritten(lambda text: text.replace(b"patchfold_origin_", b"patchfold_origen_")),
        refused=True,
    ),
    **{
        f"model-altered-{seed}": lambda seed=seed: _apply(_flipped(_model(), seed))
        for seed in range(6)
    },
    "other-columns": lambda: _apply(_model(), "p,q\n1,2\n", refused=True),
    "fewer-columns": lambda: _apply(_model(), "a,b\n1,2\n", refused=True),
    "columns-in-another-order": lambda: _apply(_model(), "c,b,a\n1,2,3\n", rows=1),
    "text-in-new-rows": lambda: _apply(_model(), "a,b,c\n1,2,x\n", refused=True),
    "no-new-rows": lambda: _apply(_model(), "a,b,c\n"),
}

KILLED = ("killed-while-writing", "killed-after-writing")

COMMANDS: dict[str, Callable[[], Call]] = {**TABLES, **TARGETS, **MODELS}
NAMES = (*COMMANDS, *KILLED)


def run(name: str, method: str, remedy: re.Pattern[str]) -> None:
    """Run a command; raise CommandError where it does not do what it has to."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        if name in KILLED:
            _killed(name, method)
            return
        call = COMMANDS[name]()
        for path, data in call.files.items():
            Path(path).write_bytes(data)
        if call.prepare is not None:
            call.prepare()
        words = [*call.words, *(["--method", method] if call.words[0] == "embed" else [])]
        _judge(call, CliRunner().invoke(cli.app, words), remedy)


def _judge(call: Call, result: Any, remedy: re.Pattern[str]) -> None:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise CommandError(f"{type(result.exception).__name__}: {result.exception}")
    if result.exit_code == 0:
        if call.refused:
            raise CommandError("the command accepts what it has to refuse", "silent")
        target = Path(call.words[call.words.index("-o") + 1])
        if target.suffix == ".csv" and call.rows is not None:
            places = pd.read_csv(target).select_dtypes("number").to_numpy()
            if len(places) != call.rows or not np.isfinite(places).all():
                raise CommandError(f"{len(places)} rows come out of {call.rows}", "silent")
        return
    if call.rows is not None:
        raise CommandError(f"the command refuses an ordinary table: {result.stderr[-300:]}")
    message = " ".join(line for line in result.stderr.splitlines() if line.startswith("Error: "))
    if "unexpected" in message or "Traceback" in result.stderr:
        raise CommandError(message or result.stderr[-300:])
    if not (NAMED.search(message) and (remedy.search(message) or SYSTEM.search(message))):
        raise CommandError(f"unclear: {message or result.stderr[-300:]}")
    if call.keeps and Path(call.keeps).read_bytes() != call.files[call.keeps]:
        raise CommandError(f"the command fails and changes {call.keeps}", "silent")
    left = [
        path.name for path in Path().iterdir() if ".part" in path.name or path.name == "out.csv"
    ]
    if left:
        raise CommandError(f"the command fails and leaves {left}", "silent")
    raise CommandError(message, "refused")


def _killed(when: str, method: str) -> None:
    """Kill a command; its target is old or new, and never a half."""
    Path("x.csv").write_text(csv(200))
    Path("out.csv").write_text("old")
    program = "from patchfold.cli import app; app()"
    command = [sys.executable, "-c", program, "embed", "x.csv", "-o", "out.csv"]
    with subprocess.Popen([*command, "--method", method], stderr=subprocess.DEVNULL) as process:  # noqa: S603
        while process.poll() is None and not _writes(when):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
    found = Path("out.csv").read_text()
    if found != "old" and len(found.splitlines()) != 201:
        raise CommandError("a killed command leaves half a file", "silent")
    CliRunner().invoke(cli.app, command[3:])
    left = {path.name for path in Path().iterdir()}
    if len(pd.read_csv("out.csv")) != 200 or left != {"x.csv", "out.csv"}:
        raise CommandError(f"a killed command leaves {sorted(left)}", "silent")


def _writes(when: str) -> bool:
    """Whether a command has begun to write, or has just written."""
    if when == "killed-while-writing":
        return any(".part" in path.name for path in Path().iterdir())
    return Path("out.csv").stat().st_size != len("old")
