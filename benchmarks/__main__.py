"""List the benchmarks: ``python -m benchmarks``. ``python -m benchmarks.NAME`` runs one."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def described() -> dict[str, str]:
    """Return the first line of every program's description, by the program's name."""
    found = {}
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if 'if __name__ == "__main__":' in text and path != Path(__file__):
            name = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
            first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
            found[name.removesuffix(".__main__")] = first
    return found


if __name__ == "__main__":
    for name, line in described().items():
        print(f"{name:16}{line}")
