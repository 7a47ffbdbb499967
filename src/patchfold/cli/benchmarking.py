"""``patchfold bench``: the benchmarks of a checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from patchfold.cli._session import Refused


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks. [all but the long studies]"),
    ] = None,
) -> None:
    """Run the benchmarks, side by side with peers on this machine.

    They are part of the source and not of an installed package: this needs a checkout, installed
    with 'pip install -e .[bench]'.
    """
    checkout = _checkout()
    if not (checkout / "benchmarks" / "__main__.py").is_file():
        raise Refused(
            "the benchmarks are not part of an installed package; run this from a checkout that is "
            "installed with: pip install -e '.[bench]'"
        )
    command = [sys.executable, "-m", "benchmarks", *(names or [])]
    raise typer.Exit(subprocess.run(command, cwd=checkout, check=False).returncode)  # noqa: S603


def _checkout() -> Path:
    """Return the folder that this package lies in the sources of, if it does."""
    return Path(__file__).resolve().parents[3]
