"""Progress of the stages of a fit, on the screen."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from patchfold.base.threads import reported

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def shown(title: str) -> Iterator[None]:
    """Print a stage and its time, with a progress bar on a terminal or in a notebook."""
    # Here and not above: only verbose fits need it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(highlight=False, markup=False, soft_wrap=True)
    # In a notebook rich needs ipywidgets for a bar, and warns at every step without it.
    watched = console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)
    start = time.perf_counter()
    if not watched:
        console.print(f"{title} ...", end="")
        try:
            yield
        finally:
            console.print(f" {time.perf_counter() - start:.1f} s")
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        line = bar.add_task(title, total=None)
        with reported(lambda done, total: bar.update(line, completed=done, total=total)):
            yield
    console.print(f"{title} ... {time.perf_counter() - start:.1f} s")
