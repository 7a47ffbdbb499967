"""Triton's kernels without a GPU: run by its interpreter, compiled by its compiler.

The interpreter wants to be named before Triton is imported. So whoever tests kernels imports this
first, and the compiler works in another process.
"""

import json
import os
import subprocess
import sys

os.environ["TRITON_INTERPRET"] = "1"

# What is compiled is for Hopper, such as an H200; pointers are aligned, as those of tensors are.
COMPILE = """
import json, re, subprocess, sys, tempfile
from importlib import import_module
from pathlib import Path
import triton
from triton.backends import nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

module, name, kinds, constants, options = json.loads(sys.argv[1])
kernel = getattr(import_module("patchfold.gpu." + module), name)
names = kernel.arg_names
signature = dict(zip(names, kinds + ["constexpr"] * len(constants), strict=True))
aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(kinds) if kind[0] == "*"}
source = ASTSource(kernel, signature, constants, aligned)
found = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
    Path(file.name).write_bytes(found.asm["cubin"])
    tool = Path(nvidia.__file__).parent / "bin" / "cuobjdump"
    used = subprocess.run(
        [tool, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True
    ).stdout
print(json.dumps({
    "registers": int(re.search(r"REG:(\\d+)", used)[1]),
    "spilled": int(re.search(r"STACK:(\\d+)", used)[1]),
    "shared": found.metadata.shared,
    "tensor cores": "wgmma" in found.asm["ptx"],
}))
"""


def use(monkeypatch):
    """Send all searches and paths through the kernels, in tiles and cells of a few points."""
    from patchfold.gpu import geodesics, neighbors

    monkeypatch.setattr(neighbors, "_is_large", lambda points, k: True)
    monkeypatch.setattr(neighbors, "CELL_BLOCKS", 2)
    monkeypatch.setattr(neighbors, "CHUNK", 3)
    monkeypatch.setattr(geodesics, "_has_kernel", lambda lengths: True)
    monkeypatch.setattr(geodesics, "CHUNKS", 3)
    monkeypatch.setattr(geodesics, "ROWS", 8)
    monkeypatch.setattr(geodesics, "LANES", 4)


def compiled(module, name, kinds, constants, **options):
    """Compile a kernel for Hopper, and return what it needs there.

    ``kinds`` are the types of its arguments, in one string.
    """
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    call = [sys.executable, "-W", "ignore", "-c", COMPILE]
    asked = json.dumps([module, name, kinds.split(), constants, options])
    done = subprocess.run(  # noqa: S603
        [*call, asked], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
